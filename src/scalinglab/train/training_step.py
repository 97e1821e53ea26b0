"""Program: what a step of one architecture computes, written once and compiled once.

A program holds no weights: weights, buffers and data are arguments, stacked (runs, …). All groups of one
architecture and size share a program, so that a hundred runs cost one compilation.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.utils import _pytree as trees

from scalinglab import nets
from scalinglab.curves import run_name
from scalinglab.data import Dataset
from scalinglab.errors import BadInput
from scalinglab.measure import Flops
from scalinglab.measure.cost import flops_of
from scalinglab.measure.evaluation import logits_of
from scalinglab.nets.parameterization import Network, draw
from scalinglab.train import random_numbers as rn
from scalinglab.train.batches import Resident, dataset_of
from scalinglab.train.modules import networks
from scalinglab.train.modules.tracing import traced
from scalinglab.train.setting import SEEDS, Setting
from scalinglab.train.updates.rules import Moments, Rule
from scalinglab.train.updates.torch_optimizers import TorchMoments, TorchRule

Named = dict[str, Tensor]
TRIED = 4  # examples on which a network of the user's own is tried
IGNORED = -100  # a class that PyTorch's losses leave out


@dataclass
class Clock:
    """Progress of a group, on the device.

    Attributes:
        counter: steps done.
        diverged_at: for each run the step at which its loss was first not finite, −1 while it is.
    """

    counter: Tensor
    diverged_at: Tensor

    @classmethod
    def at_start(cls, runs: int, device: torch.device) -> Clock:
        """Before the first step."""
        counter = torch.zeros((), dtype=torch.int64, device=device)
        return cls(counter, torch.full((runs,), -1, dtype=torch.int64, device=device))


class Objective:
    """The loss of runs that share a step: built in, or a function of the user's own."""

    def __init__(self, setting: Setting) -> None:
        data = dataset_of(setting)
        self.setting, self.layout = setting, data.y_layout
        self.ignores = bool(data.n_classes) and any((y == IGNORED).any() for y in (data.train_y, data.test_y))
        self.own: Callable[..., Tensor] | None = setting.own("loss") if setting.owns("loss") else None
        if self.layout is not None and self.own is None:
            raise BadInput(
                f"loss = {setting.loss!r} takes one target, and {setting.dataset} has several: give a loss"
            )
        if isinstance(self.own, type):
            raise BadInput(f"loss = {setting.loss!r} is a class: give what it makes, {self.own.__name__}()")

    def __call__(self, outputs: Any, y: Tensor, plain: bool = False, live: Tensor | None = None) -> Tensor:
        """Mean loss over examples of each run, (runs,); `plain` without label smoothing.

        Outputs are (runs, examples, …), for a loss of the user's own also several in a tuple or dictionary.
        """
        if self.own is None:
            own = f"loss = {self.setting.loss!r} takes a tensor; give a loss of your own, a function of "
            logits = logits_of(outputs, own + "(outputs, targets)")
            # in fp32: bf16 has eight bits for a mean over examples
            return objective(logits.float(), y, self.setting, plain, live, self.counted(y))
        assert live is None
        if len(y) == 1:
            return self.of_run(without_stack(outputs), y[0])[None]
        return torch.vmap(self.of_run)(outputs, y)

    def counted(self, y: Tensor) -> Tensor | None:
        """Which targets count; None where all do."""
        return y != IGNORED if self.ignores else None

    def targets(self, y: Tensor) -> Any:
        """Targets as the user's own functions get them: those of a layout each by itself."""
        return y if self.layout is None else self.layout.parts(y)

    def of_run(self, outputs: Any, y: Tensor) -> Tensor:
        """The loss of one run, (), on outputs (examples, …)."""
        if self.own is None:
            return self(as_stack(outputs), y[None])[0]
        found = self.own(outputs, self.targets(y))
        return found.reshape(()) if isinstance(found, Tensor) and found.numel() == 1 else found


@dataclass(frozen=True)
class Probe:
    """What a network of the user's own, or a built-in one with a loss of the user's own, can do and costs."""

    abilities: networks.Abilities
    cost: Flops


_PROBES: dict[str, Probe] = {}


def is_own(setting: Setting) -> bool:
    """Whether the network or its loss is the user's own, so that the engine has to try them."""
    return setting.owns("model") or setting.owns("loss")


def probe(setting: Setting) -> Probe:
    """Find out, once, what the engine can do with the network of a setting; on a few examples, on the CPU."""
    kind = kind_of(setting, "any")
    if kind not in _PROBES:
        data = dataset_of(setting)
        model = network(setting, data).train()
        few = slice(0, TRIED)
        x = torch.from_numpy(np.ascontiguousarray(data.inputs("train", few)))
        y = torch.from_numpy(np.array(data.train_y[few]))
        abilities = networks.probe_abilities(model, Objective(setting).of_run, x, y)
        _PROBES[kind] = Probe(abilities, flops_of(model, x[:1]))
    return _PROBES[kind]


_SHAPES: dict[str, str] = {}


def kind_of(setting: Setting, batch: int | str | None = None) -> str:
    """Equal for settings whose runs can share a step: `Setting.kind`, and the same shapes of parameters."""
    return setting.kind(batch) + (_shapes(setting) if setting.owns("model") else "")


def _shapes(setting: Setting) -> str:
    """Equal for networks of the user's own whose parameters have the same shapes.

    A factory may make another network for another data size, say.
    """
    identity = {k: v for k, v in setting.identity().items() if k not in SEEDS}
    if (key := run_name(identity)) not in _SHAPES:
        data = dataset_of(setting)
        try:
            with torch.device("meta"):  # no weights are drawn
                model = networks.build(setting, data)
        except BadInput:
            raise
        except Exception:  # a factory that looks at its weights
            model = networks.build(setting, data)
        found = {name: list(value.shape) for name, value in networks.all_tensors(model).items()}
        _SHAPES[key] = run_name({"shapes": found})
    return _SHAPES[key]


class Program:
    """Forward pass, loss and update for a number of runs of one architecture.

    Args:
        setting: of any of the runs; only what they share is used.
        resident: their data, for shapes and normalisation.
        runs: how many are stacked.

    Attributes:
        model: the network, for evaluation and measurements.
        names: of the parameters that are trained.
        abilities: what can be done with a network of the user's own; None for a family of `nets`.
        dropout: buffers that hold the keys of dropout.
        fresh_buffers: its buffers before training.
    """

    def __init__(self, setting: Setting, resident: Resident, runs: int) -> None:
        self.setting, self.resident, self.runs = setting, resident, runs
        # a network of the user's own may count on images that lie in the order of their axes; asked here,
        # since the compiler would trace the search for registered networks
        self.channels_first = setting.owns("model") or not channels_last(setting, resident.device)
        model = network(setting, resident.dataset)
        self.dropout = rn.dropout_keys(model)
        self.names = networks.trained_names(model)
        self.objective = Objective(setting)
        self.abilities = probe(setting).abilities if is_own(setting) else None
        self.model = model.to(resident.device).train()
        kind = TorchRule if setting.owns("optimizer") else Rule
        self.rule: Rule | TorchRule = kind(setting, self.model)
        self.fresh_buffers = {
            name: value.clone() for name, value in networks.untrained_tensors(self.model).items()
        }
        if resident.device.type == "cuda":  # groups on other streams read them
            torch.cuda.current_stream(resident.device).synchronize()
        # the loss is differentiated by the stacked weights, which are put in its place at every call
        self.model.requires_grad_(False)
        self.examples = self._compiled(self._examples)
        self.finish = self._compiled(self._finish)
        self.statistics = [
            f"{name}.{kind}"
            for name, module in self.model.named_modules() if isinstance(module, nn.BatchNorm2d)
            for kind in ("running_mean", "running_var")
        ] if self.abilities is None else list(self.abilities.changes)  # fmt: skip
        self.bf16_names = _bf16_parameters(self.model) if setting.precision == "bf16" else set()
        if self.bf16_names and runs > 1:
            _convert_layer_inputs(self.model)
        self.loss: Callable[..., Any] = self._compiled(self._loss)
        self._is_traced = False

    @property
    def random(self) -> bool:
        """Whether a training pass draws random numbers of PyTorch's generator."""
        return self.abilities is not None and self.abilities.random

    @property
    def captures(self) -> bool:
        """Whether steps on a GPU are captured: where asked for, and of the user's own where they stack."""
        own = self.abilities is not None and self.abilities.stacks
        return (self.setting.graphs or own) and self.rule.captures and not self.random

    @contextlib.contextmanager
    def drawing(self) -> Iterator[None]:
        """Evaluations of networks that draw random numbers: the same numbers each time."""
        if not self.random:
            yield
            return
        devices = [self.resident.device] if self.resident.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(0)
            yield

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function, dynamic=False) if self.setting.compile else function

    def start_buffers(self, initial: Named) -> Named:
        """The runs' buffers before training, (runs, …); a linearised network keeps its initial weights."""
        runs = len(next(iter(initial.values())))
        if self.setting.owns("model"):
            return {name: initial[name] for name in self.fresh_buffers}
        stacked = {name: buffer.expand(runs, *buffer.shape) for name, buffer in self.fresh_buffers.items()}
        if isinstance(self.model, nets.Linearized):
            stacked |= {start: initial[name] for name, start in self.model.starts().items()}
        return stacked

    def apply(self, weights: Named, buffers: Named, x: Tensor) -> tuple[Tensor, Named]:
        """Training logits of one run, (examples, outputs), and the running statistics as they are then."""
        state = {**weights, **buffers}
        logits = functional_call(self.model, state, (x,))
        return logits, {name: state[name] for name in self.statistics}

    def leaves(self, working: Named) -> Named:
        """What the loss is differentiated by: the stacked weights, or those of the only run in their place.

        A gradient of something selected from a stack would be written twice.
        """
        return working if self.runs > 1 else {k: v.detach()[0].requires_grad_() for k, v in working.items()}

    def _examples(self, index: Tensor, key: Tensor | None) -> tuple[Tensor, Tensor]:
        """Inputs and targets of examples (runs, examples), in the precision that the first layer takes.

        key draws the augmentation.
        """
        stored, y = self.resident.batch(index, self.setting.augment, key)
        return self._inputs_in_bf16(self._in_layout(self.resident.inputs(stored))), y

    def _loss(
        self, leaves: Named, buffers: Named, x: Tensor, y: Tensor, live: Tensor | None = None
    ) -> tuple[Tensor, Named]:
        """Training loss of each run, (runs,), on inputs (runs, examples, …), and new running statistics.

        live: (runs, examples), which examples count, where batches differ in size.
        """
        with self.autocast():
            if self.runs == 1:
                outputs, new = self.apply(leaves, _first_run(buffers), x[0])
                outputs, new = as_stack(outputs), {k: v[None] for k, v in new.items()}
            else:
                with self.stacking():
                    outputs, new = torch.vmap(self.apply)(leaves, buffers, x)
        return self.objective(outputs, y, live=live), new

    def gradients(
        self, leaves: Named, buffers: Named, x: Tensor, y: Tensor, live: Tensor | None = None
    ) -> tuple[Tensor, Named, Sequence[Tensor]]:
        """Training losses (runs,), new running statistics, and gradients in the order of the leaves."""
        losses, new = self.loss(leaves, buffers, x, y, live)
        own = self.abilities is not None  # a loss may not depend on every parameter
        found = torch.autograd.grad(losses.sum(), list(leaves.values()), materialize_grads=own)
        return losses.detach(), new, found

    @property
    def traceable(self) -> bool:
        """Whether steps may be traced: stacks of the user's own networks on a CPU."""
        stacks = self.abilities is not None and self.abilities.stacks and self.runs > 1
        return stacks and self.resident.device.type == "cpu" and not self.setting.compile

    def trace(self, leaves: Named, buffers: Named, x: Tensor, y: Tensor) -> None:
        """Trace what `gradients` computes, once for all groups that share the program."""
        if not self.traceable or self._is_traced:
            return
        self._is_traced = True
        names, others = list(leaves), list(buffers)

        def flat(weights: list[Tensor], rest: list[Tensor], x: Tensor, y: Tensor) -> Any:
            losses, new, found = Program.gradients(
                self, dict(zip(names, weights)), dict(zip(others, rest)), x, y
            )
            return losses, [new[name] for name in self.statistics], list(found)

        operations = traced(flat, list(leaves.values()), list(buffers.values()), x, y)
        if operations is None:
            return

        def gradients(
            leaves: Named, buffers: Named, x: Tensor, y: Tensor, live: Tensor | None = None
        ) -> tuple[Tensor, Named, Sequence[Tensor]]:
            losses, new, found = operations(list(leaves.values()), list(buffers.values()), x, y)
            return losses, dict(zip(self.statistics, new)), found

        self.gradients = gradients  # type: ignore[method-assign]

    def _finish(
        self, masters: list[Tensor], working: list[Tensor], gradients: Sequence[Tensor],
        moments: Moments | TorchMoments, buffers: list[tuple[Tensor, Tensor]], losses: Tensor, clock: Clock,
    ) -> None:  # fmt: skip
        """All that a step writes: parameters, buffers (old, new), and the clock."""
        for old, new in buffers:
            old.copy_(new)
        # no branch: the host would wait for the losses, and no graph could be captured
        failed = ~torch.isfinite(losses) & (clock.diverged_at < 0)
        clock.diverged_at.copy_(torch.where(failed, clock.counter, clock.diverged_at))
        if self.runs == 1:
            gradients = [g[None] for g in gradients]
        self.rule.update(masters, working, gradients, moments)  # type: ignore[arg-type]
        clock.counter += 1

    def logits(self, weights: Named, buffers: Named, x: Tensor, shared: bool) -> Any:
        """Outputs of any number of runs, (runs, examples, …), on their own inputs or on shared ones."""
        x = self._in_layout(x)
        with self.autocast():
            if len(next(iter(weights.values()))) == 1:
                outputs = as_stack(
                    self._logits(_first_run(weights), _first_run(buffers), x if shared else x[0])
                )
            else:
                in_dims = (0, 0, None if shared else 0)
                with self.stacking():
                    outputs = torch.vmap(self._logits, in_dims=in_dims)(weights, buffers, x)
            return trees.tree_map_only(Tensor, _in_float32, outputs)

    def _logits(self, weights: Named, buffers: Named, x: Tensor) -> Tensor:
        if self.abilities is None or not self.abilities.differentiates:
            return functional_call(self.model, {**weights, **buffers}, (x,))  # type: ignore[no-any-return]
        with torch.enable_grad():
            outputs = functional_call(self.model, {**weights, **buffers}, (x,))
        return trees.tree_map_only(Tensor, Tensor.detach, outputs)  # type: ignore[no-any-return]

    def _inputs_in_bf16(self, x: Tensor) -> Tensor:
        return x.to(torch.bfloat16) if self.bf16_names and x.is_floating_point() else x

    def _in_layout(self, x: Tensor) -> Tensor:
        """Channels last, but first in full fp32 on a GPU, for which its libraries have the faster kernels."""
        return x.contiguous() if self.channels_first else x

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """Half precision where the setting asks for it."""
        if self.setting.precision != "bf16":
            return contextlib.nullcontext()
        # a captured graph would replay with the cached conversion of old weights
        return torch.autocast(self.resident.device.type, torch.bfloat16, cache_enabled=False)

    def stacking(self) -> contextlib.AbstractContextManager[Any]:
        """What a stack of the user's own networks needs: ours have no fused attention."""
        return contextlib.nullcontext() if self.abilities is None else networks.stacked_attention()

    def working(self, parameters: Named) -> Named:
        """What the network computes with: the parameters themselves, or bf16 copies of its weights.

        Only dense and convolutional layers get copies; the optimizer keeps fp32 masters. This is what
        autocast does, without converting every weight again at every step.
        """
        return {
            name: value.detach().to(torch.bfloat16).requires_grad_() if name in self.bf16_names else value
            for name, value in parameters.items()
        }


def network(setting: Setting, data: Dataset) -> nn.Module:
    """The network of a setting, with its initial weights, for data of this shape."""
    if setting.owns("model"):
        own = networks.build(setting, data)
        rn.seed_dropout(own)
        return own
    return family_network(setting, data)


def family_network(setting: Setting, data: Dataset) -> Network:
    """The network of a setting that names a family of `scalinglab.nets`."""
    if data.x_layout is not None:
        raise BadInput(
            f"model = {setting.model!r} takes one input, and examples of {setting.dataset} have several"
        )
    options = dict(setting.model_options)
    if setting.dropout is not None:
        options["dropout"] = setting.dropout
    model = nets.build(
        setting.model, data.input_shape, data.n_outputs, width=setting.width, depth=setting.depth,
        parameterization=setting.parameterization, batch_norm=setting.batch_norm,
        initialization=setting.initialization, initialization_factor=setting.initialization_factor or 1.0,
        seed=setting.seed_of("init"), **options,
    )  # fmt: skip
    rn.seed_dropout(model)
    return nets.Linearized(model) if setting.linearized else model


def initial_parameters(
    settings: Sequence[Setting], model: nn.Module, resident: Resident | None = None
) -> Named:
    """The runs' initial parameters, stacked, in the host's memory.

    Networks of the user's own are built for it, for the data that they learn, and give their buffers too.
    """
    if isinstance(model, Network):
        columns = [draw(model, s.seed_of("init")) for s in settings]
    else:
        assert resident is not None
        columns = [networks.all_tensors(network(s, resident.dataset)) for s in settings]
    return {name: torch.stack([column[name] for column in columns]) for name in columns[0]}


def channels_last(setting: Setting, device: torch.device) -> bool:
    """Whether images lie in memory with their channels last."""
    return device.type != "cuda" or setting.precision != "fp32"


def placed(value: Tensor, setting: Setting, device: torch.device) -> Tensor:
    """On the device; weights of convolutions as the images lie."""
    if value.ndim == 5 and device.type == "cuda" and channels_last(setting, device):
        # by hand: the memory format `channels_last` is for four axes, and a stack has five
        value = value.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)
    return value.to(device)


def objective(
    logits: Tensor, y: Tensor, setting: Setting, plain: bool = False, live: Tensor | None = None,
    counted: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Mean loss over examples, or over those that are live or targets that are counted, for each run.

    Logits are (runs, examples, outputs), live is (runs, examples), the result (runs,). Text has logits and
    targets at every position, (runs, examples, context, …): an example's loss is the mean over them.
    """
    if setting.loss == "mse":
        target = F.one_hot(y, logits.shape[-1]).to(logits.dtype) if y.dtype == torch.int64 else y
        target = target[..., None] if target.ndim == logits.ndim - 1 else target  # one number an example
        if target.shape != logits.shape:
            raise BadInput(f"outputs {tuple(logits.shape[1:])} and targets {tuple(target.shape[1:])} differ")
        each = (logits - target).square()
        each = each.flatten(2).mean(-1) if each.ndim > 2 else each
    else:
        smoothing = 0.0 if plain else setting.label_smoothing
        each = F.cross_entropy(
            logits.flatten(0, -2), y.flatten(), reduction="none", label_smoothing=smoothing
        )
        each = each.view(y.shape)
        each = each.mean(-1) if each.ndim > 2 else each
    if counted is not None:  # the mean over all of them, as in PyTorch
        share = counted.float().flatten(2).mean(-1) if counted.ndim > 2 else counted.float()
        return each.sum(-1) / share.sum(-1)
    if live is None:
        return each.mean(-1)
    # not a product with `live`: 0 times an infinite loss is NaN
    return torch.where(live, each, 0.0).sum(-1) / live.sum(-1)


def has_other_than_dense(model: nn.Module) -> bool:
    """Whether a network has more than dense layers."""
    layers = [m for m in model.modules() if not list(m.children())]
    return not all(isinstance(m, (nn.Linear, nn.ReLU, nn.Flatten)) for m in layers)


def as_stack(outputs: Any) -> Any:
    """Outputs of one run as those of a stack."""
    return trees.tree_map_only(Tensor, lambda t: t[None], outputs)


def without_stack(outputs: Any) -> Any:
    """Outputs of the only run of a stack."""
    return trees.tree_map_only(Tensor, lambda t: t[0], outputs)


def _in_float32(value: Tensor) -> Tensor:
    return value.float() if value.is_floating_point() else value


def _first_run(values: Named) -> Named:
    return {name: value[0] for name, value in values.items()}


def _bf16_parameters(model: nn.Module) -> set[str]:
    layers = [name for name, m in model.named_modules() if isinstance(m, (nn.Linear, nn.Conv2d))]
    return {f"{name}.{kind}" for name in layers for kind in ("weight", "bias")}


def _convert_layer_inputs(model: nn.Module) -> None:
    """Let layers convert their inputs themselves: autocast does not reach into a stack."""
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            module.register_forward_pre_hook(lambda layer, inputs: (inputs[0].to(layer.weight.dtype),))
        # autocast too computes these in fp32: a variance in bf16 has few digits
        elif isinstance(module, nn.LayerNorm):
            module.register_forward_pre_hook(lambda layer, inputs: (inputs[0].float(),))


@contextlib.contextmanager
def precision(setting: Setting, device: torch.device) -> Iterator[None]:
    """The flags of PyTorch that a setting means: full fp32 unless it asks for less, deterministic kernels."""
    if device.type != "cuda":
        yield
        return
    wanted = [
        (torch.backends.cuda.matmul, "allow_tf32", setting.precision != "fp32"),
        (torch.backends.cudnn, "allow_tf32", setting.precision != "fp32"),
        # other algorithms add in any order, and a resumed run would not repeat its bits
        (torch.backends.cudnn, "deterministic", True),
    ]
    before = [getattr(where, name) for where, name, _ in wanted]
    try:
        for where, name, value in wanted:
            setattr(where, name, value)
        yield
    finally:
        for (where, name, _), value in zip(wanted, before):
            setattr(where, name, value)
