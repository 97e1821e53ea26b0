"""Group: many runs of one architecture trained at once on one device.

The runs' parameters are stacked, (runs, …), and one step advances all of them: `torch.vmap` turns dense
layers into batched products and convolutions into grouped ones. A group of one run calls the network
itself. Nothing in a step waits for the device: indices, learning rates, dropout masks and the test for
divergence all live there, so that a step can be captured once as a CUDA graph and replayed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from scalinglab import nets
from scalinglab.nets.parameterization import Network
from scalinglab.train import random_numbers as rn
from scalinglab.train.batches import Resident, Stream
from scalinglab.train.convolution import use_products
from scalinglab.train.optimizers import Optimizer
from scalinglab.train.setting import Setting

EVALUATE = 1 << 14  # examples, all runs together, in one piece of an evaluation


class Group:
    """Runs that advance together.

    Args:
        settings: they differ in seeds, sizes and learning rates only.
        resident: their data.
        subsets: the training examples of each run.

    Attributes:
        parameters, buffers: by name, (runs, …).
        step: steps done.
        diverged: for each run the step at which its loss was first not finite, −1 while it is.
    """

    def __init__(
        self,
        settings: Sequence[Setting],
        resident: Resident,
        subsets: Sequence[Any],
        parallel_step: bool = True,
    ) -> None:
        first = settings[0]
        self.settings, self.setting = list(settings), first
        self.resident, self.device = resident, resident.device
        self.batch_size = first.batch(len(subsets[0]))
        self.totals = [s.total_steps(len(subset)) for s, subset in zip(settings, subsets)]
        self.sizes = [len(subset) for subset in subsets]
        self.stream = Stream(
            list(subsets), [s.seed_of("order") for s in settings], self.batch_size, self.device
        )
        self.model, self.parameters, self.buffers = _stack(settings, resident)
        self.dropout_keys = [n for n in self.buffers if n.endswith(".key")]
        self.run_keys = rn.keys([s.seed_of("order") for s in settings], rn.DROPOUT, self.device)
        self.working = _working_copies(self.model, self.parameters, first.precision)
        self.optimizer = Optimizer(self.model, self.parameters, settings, self.totals)
        self.step = 0
        self.position = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.counter = torch.zeros((), dtype=torch.int64, device=self.device)
        self.diverged = torch.full((len(settings),), -1, dtype=torch.int64, device=self.device)
        self.losses = torch.zeros(len(settings), device=self.device)
        self._forward = self._compiled(self._loss)
        self._update = self._compiled(self.optimizer.apply) if first.compile else self.optimizer.apply
        self._graph: torch.cuda.CUDAGraph | None = None

    @property
    def runs(self) -> int:
        """How many runs the group holds."""
        return len(self.settings)

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function, dynamic=False) if self.setting.compile else function

    # --- one step --------------------------------------------------------------------------------

    def _apply(
        self, weights: dict[str, Tensor], buffers: dict[str, Tensor], x: Tensor
    ) -> tuple[Tensor, dict]:
        """Logits (…, examples, outputs), and the buffers as the network left them."""
        state = {**weights, **buffers}
        logits = functional_call(self.model, state, (x,))
        return logits, {name: state[name] for name in buffers}

    def _loss(self, weights: dict[str, Tensor], buffers: dict[str, Tensor], x: Tensor, y: Tensor) -> Any:
        """Training loss of each run, (runs,), and new buffers."""
        with self._autocast():
            if self.runs == 1:
                logits, new = self._apply(
                    {k: v[0] for k, v in weights.items()}, {k: v[0] for k, v in buffers.items()}, x[0]
                )
                logits, new = logits[None], {k: v[None] for k, v in new.items()}
            else:
                logits, new = torch.vmap(self._apply)(weights, buffers, x)
        return objective(logits.float(), y, self.setting), new

    def _autocast(self) -> contextlib.AbstractContextManager[Any]:
        if self.setting.precision != "bf16":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16, cache_enabled=False)

    def _one_step(self) -> None:
        index = self.stream.indices.index_select(1, self.position)[:, 0]
        step_key = None
        if self.dropout_keys or self.setting.augment != "none":
            step_key = rn.mix(self.run_keys, self.counter)
            for name in self.dropout_keys:
                self.buffers[name].copy_(step_key)
        x, y = self.resident.batch(index, self.setting.augment, step_key)
        losses, buffers = self._forward(self.working, self.buffers, x, y)
        gradients = torch.autograd.grad(losses.sum(), list(self.working.values()))
        with torch.no_grad():
            for name, value in buffers.items():
                if value is not self.buffers[name]:
                    self.buffers[name].copy_(value)
            self.losses.copy_(losses)
            failed = ~torch.isfinite(losses) & (self.diverged < 0)
            self.diverged.copy_(torch.where(failed, self.counter, self.diverged))
            self._update(gradients, self.working, self.counter)
            self.counter += 1
            if not self.stream.full:
                self.position += 1

    def advance(self, steps: int) -> None:
        """Train all runs for this many steps more."""
        end = self.step + steps
        with precision(self.setting, self.device):
            while self.step < end:
                self.stream.fill(self.step)
                self.position.fill_(self.stream.position(self.step))
                block = end if self.stream.full else min(end, self.stream.first + self.stream.steps)
                advance = (
                    self._captured() if self.setting.graphs and self.device.type == "cuda" else self._one_step
                )
                for _ in range(self.step, block):
                    advance()
                self.step = block

    def _captured(self) -> Callable[[], None]:
        """The step as a CUDA graph: captured at the first call, replayed afterwards."""
        if self._graph is None:
            kept = [t.clone() for t in self._state_tensors()]
            side = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
            side.wait_stream(torch.cuda.current_stream(self.device))
            with torch.cuda.stream(side):
                for _ in range(3):  # libraries choose and allocate before the capture
                    self._one_step()
            torch.cuda.current_stream(self.device).wait_stream(side)
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._one_step()
            with torch.no_grad():
                for tensor, value in zip(self._state_tensors(), kept):
                    tensor.copy_(value)
        return self._graph.replay

    # --- measuring -------------------------------------------------------------------------------

    @torch.no_grad()
    def evaluate(self, rows: Sequence[int]) -> list[dict[str, float]]:
        """Training and test loss and error of some of the runs; test on the whole test set."""
        found: list[dict[str, float]] = [{} for _ in rows]
        with precision(self.setting, self.device), _evaluating(self.model):
            for split in ("train", "test"):
                for part, result in self._split(list(rows), split):
                    for place, name, value in result:
                        found[rows.index(part[place])][f"{split}_{name}"] = value
        return found

    def _split(self, rows: list[int], split: str) -> Iterator[tuple[list[int], list[tuple[int, str, float]]]]:
        limit = self.setting.evaluate_at_most
        if split == "test":
            yield rows, self._measure(rows, None, len(self.resident.test_x))
            return
        for size in sorted({self.sizes[r] for r in rows}):
            same = [r for r in rows if self.sizes[r] == size]
            n = min(size, limit)
            yield same, self._measure(same, torch.stack([self.stream.subsets[r][:n] for r in same]), n)

    def _measure(self, rows: list[int], index: Tensor | None, n: int) -> list[tuple[int, str, float]]:
        """Mean loss and error over n examples: given ones for each run, or the test set for all."""
        weights = {k: v.detach()[rows] for k, v in self.working.items()}
        buffers = {k: v[rows] for k, v in self.buffers.items()}
        loss = torch.zeros(len(rows), dtype=torch.float64, device=self.device)
        wrong = torch.zeros(len(rows), dtype=torch.int64, device=self.device)
        piece = max(1, EVALUATE // len(rows))
        for start in range(0, n, piece):
            part = slice(start, min(start + piece, n))
            if index is None:
                x, y = self.resident.inputs(self.resident.test_x[part]), self.resident.test_y[part]
                y = y.expand(len(rows), *y.shape)
            else:
                x, y = self.resident.batch(index[:, part])
            logits = self._logits(weights, buffers, x, shared=index is None).float()
            loss += objective(logits, y, self.setting, plain=True).double() * (part.stop - part.start)
            if self.resident.n_classes:
                wrong += (logits.argmax(-1) != y).sum(-1)
        results = [(place, "loss", value) for place, value in enumerate((loss / n).tolist())]
        if self.resident.n_classes:
            results += [(place, "error", value / n) for place, value in enumerate(wrong.tolist())]
        return results

    def _logits(self, weights: dict, buffers: dict, x: Tensor, shared: bool) -> Tensor:
        with self._autocast():
            if next(iter(weights.values())).shape[0] == 1:
                only_weights, only_buffers = ({k: v[0] for k, v in d.items()} for d in (weights, buffers))
                return self._apply(only_weights, only_buffers, x if shared else x[0])[0][None]
            apply = lambda w, b, inputs: self._apply(w, b, inputs)[0]  # noqa: E731
            return torch.vmap(apply, in_dims=(0, 0, None if shared else 0))(weights, buffers, x)

    def module(self, row: int) -> nn.Module:
        """The network of one run as it stands, for measurements that take a module."""
        state = {k: v[row] for k, v in (*self.parameters.items(), *self.buffers.items())}
        self.model.load_state_dict({k: v.detach() for k, v in state.items()})
        return self.model

    # --- keeping and dropping --------------------------------------------------------------------

    def keep(self, rows: list[int]) -> None:
        """Go on with some of the runs; the others have finished or diverged."""
        self.settings = [self.settings[r] for r in rows]
        self.totals, self.sizes = [self.totals[r] for r in rows], [self.sizes[r] for r in rows]
        self.stream.keep(rows)
        self.parameters = {k: v.detach()[rows].requires_grad_() for k, v in self.parameters.items()}
        self.buffers = {k: v[rows] for k, v in self.buffers.items()}
        self.run_keys, self.diverged, self.losses = (
            self.run_keys[rows],
            self.diverged[rows],
            self.losses[rows],
        )
        self.working = _working_copies(self.model, self.parameters, self.setting.precision)
        old, self.optimizer = (
            self.optimizer,
            Optimizer(self.model, self.parameters, self.settings, self.totals),
        )
        self.optimizer.take(old, rows)
        self._forward = self._compiled(self._loss)
        self._update = self._compiled(self.optimizer.apply) if self.setting.compile else self.optimizer.apply
        self._graph = None

    def _state_tensors(self) -> list[Tensor]:
        masters = [*self.parameters.values(), *self.buffers.values(), *self.optimizer.state()]
        copies = [w for name, w in self.working.items() if w is not self.parameters[name]]
        return [
            *(t.detach() for t in (*masters, *copies)),
            self.position,
            self.counter,
            self.diverged,
            self.losses,
        ]

    def state(self) -> dict[str, Any]:
        """Everything that a resumed group needs, on the CPU."""
        return {"step": self.step, "tensors": [t.detach().cpu().clone() for t in self._state_tensors()]}

    @torch.no_grad()
    def restore(self, state: dict[str, Any]) -> None:
        """Take up where `state` left off."""
        self.step = state["step"]
        for tensor, value in zip(self._state_tensors(), state["tensors"], strict=True):
            tensor.copy_(value)


def objective(logits: Tensor, y: Tensor, setting: Setting, plain: bool = False) -> Tensor:
    """Mean loss over examples for each run: logits (runs, examples, outputs) to (runs,)."""
    if setting.loss == "mse":
        target = F.one_hot(y, logits.shape[-1]).to(logits.dtype) if y.dtype == torch.int64 else y
        return (logits - target).square().mean((-2, -1))
    smoothing = 0.0 if plain else setting.label_smoothing
    each = F.cross_entropy(logits.flatten(0, -2), y.flatten(), reduction="none", label_smoothing=smoothing)
    return each.view(y.shape).mean(-1)


def _stack(settings: Sequence[Setting], resident: Resident) -> tuple[Network, dict, dict]:
    """The network, and the runs' initial parameters and buffers stacked."""
    first = settings[0]
    options = dict(first.model_options)
    if first.dropout is not None:
        options["dropout"] = first.dropout
    models = [
        nets.build(
            first.model, resident.input_shape, resident.n_outputs, width=first.width, depth=first.depth,
            parameterization=first.parameterization, batch_norm=first.batch_norm,
            initialization=first.initialization, seed=s.seed_of("init"), **options,
        )
        for s in settings
    ]  # fmt: skip
    for model in models:
        rn.seed_dropout(model)
    if resident.device.type == "cpu":
        use_products(models[0])
    parameters = {
        name: torch.stack([dict(m.named_parameters())[name].detach() for m in models]).to(resident.device)
        for name, _ in models[0].named_parameters()
    }
    buffers = {
        name: torch.stack([dict(m.named_buffers())[name] for m in models]).to(resident.device)
        for name, _ in models[0].named_buffers()
    }
    model = models[0].to(resident.device).train().requires_grad_(False)
    return model, {k: v.requires_grad_() for k, v in parameters.items()}, buffers


def _working_copies(model: nn.Module, parameters: dict[str, Tensor], precision: str) -> dict[str, Tensor]:
    """What the network computes with: the parameters themselves, or bf16 copies of its weights.

    Only dense and convolutional layers get copies; the optimizer keeps fp32 masters. This is what autocast
    does, without converting every weight again at every step.
    """
    if precision != "bf16":
        return dict(parameters)
    halved = {
        f"{name}.{kind}"
        for name, module in model.named_modules()
        if isinstance(module, (nn.Linear, nn.Conv2d))
        for kind in ("weight", "bias")
    }
    return {
        name: value.detach().to(torch.bfloat16).requires_grad_() if name in halved else value
        for name, value in parameters.items()
    }


@contextlib.contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    model.eval()
    try:
        yield
    finally:
        model.train()


@contextlib.contextmanager
def precision(setting: Setting, device: torch.device) -> Iterator[None]:
    """The flags of PyTorch that a setting means: full fp32 unless it asks for less."""
    if device.type != "cuda":
        yield
        return
    allow = setting.precision != "fp32"
    flags = [(torch.backends.cuda.matmul, "allow_tf32"), (torch.backends.cudnn, "allow_tf32")]
    before = [getattr(where, name) for where, name in flags]
    deterministic = torch.backends.cudnn.deterministic
    try:
        for where, name in flags:
            setattr(where, name, allow)
        torch.backends.cudnn.deterministic = True
        yield
    finally:
        for (where, name), value in zip(flags, before):
            setattr(where, name, value)
        torch.backends.cudnn.deterministic = deterministic
