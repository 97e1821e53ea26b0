"""Group: many runs of one architecture trained at once on one device.

The runs' parameters are stacked, (runs, …), and one step advances all of them: `torch.vmap` turns dense
layers into batched products and convolutions into grouped ones. A group of one run calls the network
itself. Nothing in a step waits for the device: indices, learning rates, dropout masks and the test for
divergence all live there, so that steps can be captured once as a CUDA graph and replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from scalinglab.measure.functional import evaluating
from scalinglab.train import random_numbers as rn
from scalinglab.train.batches import Resident, Stream
from scalinglab.train.setting import Setting
from scalinglab.train.training_step import Clock, Program, initial, objective, precision

UNROLL = 8  # steps in one captured graph
EVALUATE = {"cpu": 1 << 10, "cuda": 1 << 12}  # examples in one piece of an evaluation, all runs together

_STREAMS: dict[tuple[str, int], list[torch.cuda.Stream]] = {}


def streams(device: torch.device, count: int, priority: int = -1) -> list[torch.cuda.Stream]:
    """The first streams of a device, made once: PyTorch has 32 and hands them out again after that.

    Streams of priority 0 give way to those of −1.
    """
    made = _STREAMS.setdefault((str(device), priority), [])
    while len(made) < count:
        made.append(torch.cuda.Stream(device, priority=priority))  # type: ignore[no-untyped-call]
    return made[:count]


@dataclass(frozen=True)
class Part:
    """Of an evaluation: sums of losses and errors of some runs, on the device."""

    rows: list[int]
    split: str
    examples: int
    loss: Tensor
    wrong: Tensor


_PROGRAMS: dict[tuple[Any, ...], Program] = {}


def program(setting: Setting, resident: Resident, runs: int) -> Program:
    """The program of an architecture, shared by all its groups; only the latest few stay."""
    key = (setting.kind(), id(resident), runs)
    if key not in _PROGRAMS:
        while len(_PROGRAMS) >= 16:
            _PROGRAMS.pop(next(iter(_PROGRAMS)))
        _PROGRAMS[key] = Program(setting, resident, runs)
    return _PROGRAMS[key]


class Group:
    """Runs that advance together.

    Args:
        settings: of one kind: they differ in seeds, sizes and learning rates only.
        resident: their data.
        subsets: the training examples of each run.

    Attributes:
        parameters, buffers: by name, (runs, …).
        step: steps done.
        clock: the same on the device, and which runs diverged.
    """

    def __init__(
        self, settings: Sequence[Setting], resident: Resident, subsets: Sequence[np.ndarray]
    ) -> None:
        self.settings, self.setting = list(settings), settings[0]
        self.resident, self.device = resident, resident.device
        self.sizes = [len(subset) for subset in subsets]
        self.batch_size = self.setting.batch(self.sizes[0])
        self.totals = [s.total_steps(n) for s, n in zip(settings, self.sizes)]
        seeds = [s.seed_of("order") for s in settings]
        self.stream = Stream(list(subsets), seeds, self.batch_size, self.device)
        self.run_keys = rn.keys(seeds, rn.DROPOUT, self.device)
        self.parameters, self.buffers = initial(settings, resident)
        self.program = program(self.setting, resident, self.runs)
        self.moments = self.program.rule.start(self.parameters, settings, self.totals)
        self.working = self.program.working(self.parameters)
        self.leaves = self.program.leaves(self.working)
        self.step = 0
        self.clock = Clock.at_start(self.runs, self.device)
        self.captures = self.setting.graphs and self.device.type == "cuda"
        self._graphs: dict[int, Callable[[], None]] = {}

    @property
    def runs(self) -> int:
        """How many runs the group holds."""
        return len(self.settings)

    @property
    def model(self) -> nn.Module:
        """The network, with no run's weights in particular; see `module`."""
        return self.program.model

    # --- steps -----------------------------------------------------------------------------------

    def _one_step(self) -> None:
        dropout = [name for name in self.buffers if name.endswith(".key")]
        step_key = None
        if dropout or self.setting.augment != "none":
            step_key = rn.mix(self.run_keys, self.clock.counter)
            for name in dropout:
                self.buffers[name].copy_(step_key)
        x, y = self.program.batch(self.stream.indices, self.clock.position, step_key)
        losses, buffers = self.program.loss(self.leaves, self.buffers, x, y)
        gradients = torch.autograd.grad(losses.sum(), list(self.leaves.values()))
        changed = [(self.buffers[name], new) for name, new in buffers.items()]
        with torch.no_grad(), self._giving_way():
            self.program.finish(
                list(self.parameters.values()), list(self.working.values()), gradients, self.moments,
                changed, losses.detach(), self.clock, not self.stream.full,
            )  # fmt: skip

    @contextmanager
    def _giving_way(self) -> Iterator[None]:
        """Work that gives way to that of other groups, while graphs are captured (they keep priorities).

        An update waits for memory and a network computes: where all groups are in line for the same
        processors, networks first, updates fill the gaps and both units are busy.
        """
        if not self.captures:
            yield
            return
        current, low = torch.cuda.current_stream(self.device), streams(self.device, 1, priority=0)[0]
        low.wait_stream(current)
        with torch.cuda.stream(low):
            yield
        current.wait_stream(low)

    def advance(self, steps: int) -> None:
        """Train all runs for this many steps more."""
        end = self.step + steps
        with precision(self.setting, self.device):
            while self.step < end:
                self.stream.fill(self.step)
                self.clock.position.fill_(self.stream.position(self.step))
                block = end if self.stream.full else min(end, self.stream.first + self.stream.steps)
                while self.step < block:
                    count = UNROLL if self.captures and block - self.step >= UNROLL else 1
                    (self._captured(count) if self.captures else self._one_step)()
                    self.step += count

    def _captured(self, steps: int) -> Callable[[], None]:
        """So many steps as a CUDA graph: captured at the first call, replayed afterwards."""
        if steps not in self._graphs:
            kept = [t.clone() for t in self.tensors()]
            self.clock.position.zero_()  # the trial steps stay within the indices
            current = torch.cuda.current_stream(self.device)
            # Libraries keep a workspace for each stream, and a captured graph keeps the workspace of the
            # stream it was captured on. Graphs that run beside each other must not share one: they would
            # wait for each other's flags forever. So a group captures on the stream that it runs on.
            side = (
                streams(self.device, 1)[0] if current == torch.cuda.default_stream(self.device) else current
            )
            side.wait_stream(current)
            with torch.cuda.stream(side):
                for _ in range(0 if self._graphs else 3):  # libraries choose and allocate before the capture
                    self._one_step()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=side):
                for _ in range(steps):
                    self._one_step()
            current.wait_stream(side)
            with torch.no_grad():
                for tensor, value in zip(self.tensors(), kept):
                    tensor.copy_(value)
            self._graphs[steps] = graph.replay
        return self._graphs[steps]

    # --- measuring -------------------------------------------------------------------------------

    def evaluate(self, rows: Sequence[int]) -> list[dict[str, float]]:
        """Training and test loss and error of some of the runs; test on the whole test set."""
        return self.begin_evaluation(rows)()

    def begin_evaluation(self, rows: Sequence[int]) -> Callable[[], list[dict[str, float]]]:
        """Give a device the work of `evaluate`; what is returned waits for it to be done."""
        rows = list(rows)
        parts: list[Part] = []
        with precision(self.setting, self.device), evaluating(self.model), torch.no_grad():
            for size in sorted({self.sizes[r] for r in rows}):  # runs of one size have one shape
                same = [r for r in rows if self.sizes[r] == size]
                n = min(size, self.setting.evaluate_at_most)
                index = torch.stack([self.stream.subsets[r][:n] for r in same])
                parts.append(self._measure(same, "train", index, n))
            parts.append(self._measure(rows, "test", None, len(self.resident.test_x)))

        def collect() -> list[dict[str, float]]:
            found: dict[int, dict[str, float]] = {r: {} for r in rows}
            for part in parts:
                for r, loss, wrong in zip(part.rows, part.loss.tolist(), part.wrong.tolist(), strict=True):
                    found[r][f"{part.split}_loss"] = loss / part.examples
                    if self.resident.n_classes:
                        found[r][f"{part.split}_error"] = wrong / part.examples
            return [found[r] for r in rows]

        return collect

    def _measure(self, rows: list[int], split: str, index: Tensor | None, n: int) -> Part:
        """Sums over n examples: given ones for each run, or the test set for all."""
        weights, buffers = {k: v.detach() for k, v in self.working.items()}, self.buffers
        if rows != list(range(self.runs)):
            weights, buffers = ({k: v[rows] for k, v in part.items()} for part in (weights, buffers))
        loss = torch.zeros(len(rows), dtype=torch.float64, device=self.device)
        wrong = torch.zeros(len(rows), dtype=torch.int64, device=self.device)
        piece = max(1, EVALUATE.get(self.device.type, 1 << 10) // len(rows))
        for start in range(0, n, piece):
            part = slice(start, min(start + piece, n))
            if index is None:
                stored, y = self.resident.test_x[part], self.resident.test_y[part]
                y = y.expand(len(rows), *y.shape)
            else:
                stored, y = self.resident.batch(index[:, part])
            logits = self.program.logits(weights, buffers, self.resident.inputs(stored), shared=index is None)
            loss += objective(logits, y, self.setting, plain=True).double() * (part.stop - part.start)
            if self.resident.n_classes:
                wrong += (logits.argmax(-1) != y).sum(-1)
        return Part(rows, split, n, loss, wrong)

    def module(self, row: int) -> nn.Module:
        """The network of one run as it stands, for measurements that take a module."""
        state = {k: v[row].detach() for k, v in (*self.parameters.items(), *self.buffers.items())}
        self.model.load_state_dict(state)
        return self.model

    # --- keeping and dropping --------------------------------------------------------------------

    def keep(self, rows: list[int]) -> None:
        """Go on with some of the runs; the others have finished or diverged."""
        self.settings = [self.settings[r] for r in rows]
        self.totals, self.sizes = [self.totals[r] for r in rows], [self.sizes[r] for r in rows]
        self.stream.keep(rows)
        self.parameters = {k: v.detach()[rows].requires_grad_() for k, v in self.parameters.items()}
        self.buffers = {k: v[rows] for k, v in self.buffers.items()}
        self.run_keys, self.clock.diverged_at = self.run_keys[rows], self.clock.diverged_at[rows]
        self.program = program(self.setting, self.resident, self.runs)
        self.working = self.program.working(self.parameters)
        self.leaves = self.program.leaves(self.working)
        self.moments.keep(rows)
        self._graphs = {}

    def tensors(self) -> list[Tensor]:
        """Everything that training changes."""
        masters = [*self.parameters.values(), *self.buffers.values(), *self.moments.tensors()]
        copies = [w for name, w in self.working.items() if w is not self.parameters[name]]
        clock = (self.clock.position, self.clock.counter, self.clock.diverged_at)
        return [*(t.detach() for t in (*masters, *copies)), *clock]

    def state(self) -> dict[str, Any]:
        """Everything that a resumed group needs, on the CPU."""
        return {"step": self.step, "tensors": [t.cpu().clone() for t in self.tensors()]}

    @torch.no_grad()
    def restore(self, state: dict[str, Any]) -> None:
        """Take up where `state` left off."""
        self.step = state["step"]
        for tensor, value in zip(self.tensors(), state["tensors"], strict=True):
            tensor.copy_(value)
