"""Group: many runs of one architecture trained at once on one device.

The runs' parameters are stacked, (runs, …), and one step advances all of them: `torch.vmap` turns dense
layers into batched products and convolutions into grouped ones. A group of one run calls the network
itself. Batches of different sizes are padded to the largest; the padding does not count in the loss. Small
multi-layer perceptrons on a GPU have kernels of their own (`kernels.fused_mlp`). No step waits for the
device: indices, learning rates, dropout masks and the test for divergence are computed there, so that steps
can be captured once as a CUDA graph and replayed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from scalinglab.measure.network_norms.cuda_graphs import Arriving, captured
from scalinglab.support.work import phase
from scalinglab.train import random_numbers as rn
from scalinglab.train.batches import Resident, Stream
from scalinglab.train.evaluation import Evaluation, Evaluator
from scalinglab.train.kernels import fused_mlp
from scalinglab.train.modules.networks import load_tensors
from scalinglab.train.modules.tracing import TIMED, pays
from scalinglab.train.setting import Setting
from scalinglab.train.training_step import (
    Clock,
    Named,
    Program,
    initial_parameters,
    kind_of,
    placed,
    precision,
)
from scalinglab.train.updates.rules import Moments, Rule

# steps in one captured graph, the most first; fused steps are shorter
UNROLL, FUSED_UNROLL = (8, 1), (32, 4, 1)
TICK, FUSED_TICK = 16, 128  # steps that a group takes before the next one on the device has its turn

_STREAMS: dict[tuple[str, int], list[torch.cuda.Stream]] = {}


def streams(device: torch.device, count: int, priority: int = -1) -> list[torch.cuda.Stream]:
    """The first streams of a device, made once: PyTorch has 32 and hands them out again after that.

    Streams of priority 0 give way to those of −1.
    """
    made = _STREAMS.setdefault((str(device), priority), [])
    while len(made) < count:
        made.append(torch.cuda.Stream(device, priority=priority))  # type: ignore[no-untyped-call]
    return made[:count]


_PROGRAMS: dict[tuple[Any, ...], Program] = {}


def program(setting: Setting, resident: Resident, runs: int) -> Program:
    """The program of an architecture, shared by all its groups; only the latest few stay."""
    # a program holds its data, so that no other data can get their id while it is here
    key = (kind_of(setting), id(resident), runs)
    if key not in _PROGRAMS:
        while len(_PROGRAMS) >= 16:
            _PROGRAMS.pop(next(iter(_PROGRAMS)))
        with phase("network"):
            _PROGRAMS[key] = Program(setting, resident, runs)
    return _PROGRAMS[key]


class Snapshot:
    """Tensors at one moment, on their way to the host: training may change them meanwhile."""

    def __init__(self, step: int, tensors: Sequence[Tensor], more: dict[str, Any]) -> None:
        self.step, self.arriving, self.more = step, Arriving(*tensors), more

    def wait(self) -> dict[str, Any]:
        """What `Group.restore` takes."""
        return {"step": self.step, "tensors": self.arriving.wait_all(), "more": self.more}


class Group:
    """Runs that advance together.

    Args:
        settings: of one kind: they differ in seeds, sizes, learning rates and batch sizes only.
        resident: their data.
        subsets: the training examples of each run.
        initial: their initial weights, where they have been drawn before.

    Attributes:
        parameters, buffers: by name, (runs, …).
        batches: examples a step, of each run.
        step: steps done.
        clock: the same on the device, and which runs diverged.
    """

    def __init__(
        self,
        settings: Sequence[Setting],
        resident: Resident,
        subsets: Sequence[np.ndarray],
        initial: Named | None = None,
    ) -> None:
        self.resident, self.device = resident, resident.device
        self.settings, self.setting, self.step = list(settings), settings[0], 0
        self.sizes = [len(subset) for subset in subsets]
        self.totals = [s.total_steps(n) for s, n in zip(settings, self.sizes)]
        seeds = [s.seed_of("order") for s in settings]
        self.batches = [s.batch(size) for s, size in zip(settings, self.sizes)]
        self.stream = Stream(list(subsets), seeds, self.batches, self.device, max(self.totals))
        self.program = program(self.setting, resident, self.runs)
        initial = initial_parameters(settings, self.program.model, resident) if initial is None else initial
        self.parameters = {
            k: placed(initial[k], self.setting, self.device).requires_grad_() for k in self.program.names
        }
        self.buffers = {
            k: placed(v.detach().clone(), self.setting, self.device)
            for k, v in self.program.start_buffers(initial).items()
        }
        self.run_keys = rn.keys(seeds, rn.DROPOUT, self.device)
        self.moments = self.program.rule.start(self.parameters, settings, self.totals)
        self.working = self.program.working(self.parameters)
        self.leaves = self.program.leaves(self.working)
        self.clock = Clock.at_start(self.runs, self.device)
        # of the weights, where it is asked for
        self.average = {} if self.setting.ema is None else {
            name: value.detach().clone() for name, value in self.parameters.items()
        }  # fmt: skip
        self.captures = self.device.type == "cuda" and self.program.captures
        self._choose_steps()
        self.evaluator = Evaluator(self.program, self.stream, self.runs, self.captures)
        self._graphs: dict[int, Callable[[], None]] = {}
        self._step_starts: list[float] = []  # when the first steps began
        self._trace_decided = False  # whether it is decided

    def _choose_steps(self) -> None:
        """Use the kernels for small networks where they suit."""
        self.fused: fused_mlp.FusedSteps | None = None
        if fused_mlp.suits(self.setting, self.device):
            assert isinstance(self.program.rule, Rule)
            assert isinstance(self.moments, Moments)
            self.fused = fused_mlp.FusedSteps(
                self.setting, self.model, self.program.rule, self.resident, self.stream, self.parameters,
                self.moments, self.clock.counter, self.clock.diverged_at,
            )  # fmt: skip
        self.unroll: tuple[int, ...] = FUSED_UNROLL if self.fused else UNROLL
        self.tick = FUSED_TICK if self.fused else TICK
        self.live = self.stream.live

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
        step_key = None
        if self.program.dropout or self.setting.augment != "none":
            step_key = rn.mix(self.run_keys, self.clock.counter)
            for name in self.program.dropout:
                # in place: a captured step reads its keys from this memory
                self.buffers[name].copy_(step_key)
        x, y = self.program.examples(self.stream.index(self.clock.counter)[0].long(), step_key)
        if self.program.random:  # the same numbers after a resume
            # of whole numbers: unlike that of text it is the same in every process
            seed = hash((self.settings[0].seed_of("order"), self.step)) % (1 << 63)
            torch.default_generator.manual_seed(seed)
            if self.device.type == "cuda":
                torch.cuda.manual_seed(seed)
        if self._worth_tracing():
            self.program.trace(self.leaves, self.buffers, x, y)
        losses, buffers, gradients = self.program.gradients(self.leaves, self.buffers, x, y, self.live)
        changed = [(self.buffers[name], new) for name, new in buffers.items()]
        with torch.no_grad(), self._low_priority_stream():
            self.program.finish(
                list(self.parameters.values()), list(self.working.values()), gradients, self.moments,
                changed, losses, self.clock,
            )  # fmt: skip
            if self.setting.ema is not None:
                for name, value in self.average.items():
                    value.lerp_(self.parameters[name], 1 - self.setting.ema)

    def _worth_tracing(self) -> bool:
        """Whether tracing pays for the remaining steps, judged by the time of the first ones."""
        if not self.program.traceable or self._trace_decided or self.live is not None:
            return False
        self._step_starts.append(time.perf_counter())
        if len(self._step_starts) <= TIMED:
            return False
        self._trace_decided = True
        each = float(np.median(np.diff(self._step_starts)))  # a checkpoint between two steps does not count
        return pays(each * (max(self.totals) - self.step))

    def _steps(self, count: int) -> None:
        if self.fused is not None:
            self.fused.steps(count)
            return
        for _ in range(count):
            self._one_step()

    @contextmanager
    def _low_priority_stream(self) -> Iterator[None]:
        """Context of low stream priority, also for graphs captured in it (they keep priorities).

        An update waits for memory and a network computes: where all groups are in line for the same
        processors, networks first, updates fill the gaps and both units are busy.
        """
        if not self.captures:
            yield
            return
        current, low = torch.cuda.current_stream(self.device), streams(self.device, 1, priority=0)[0]
        # the update reads gradients that the current stream computes
        low.wait_stream(current)
        with torch.cuda.stream(low):
            yield
        # the next step reads the weights that the update writes
        current.wait_stream(low)

    def advance(self, steps: int) -> None:
        """Train all runs for this many steps more."""
        end = self.step + steps
        with precision(self.setting, self.device), self._own_random_numbers():
            while self.step < end:
                block = self.stream.fill(self.step, end)
                while self.step < block:
                    count = next(n for n in self.unroll if n <= block - self.step) if self.captures else 1
                    if self._can_capture(count):
                        self._captured(count)()
                    else:
                        count = 1
                        self._steps(1)
                    self.step += count

    @contextmanager
    def _own_random_numbers(self) -> Iterator[None]:
        """Restore PyTorch's generator afterwards, where the network draws random numbers itself."""
        if not self.program.random:
            yield
            return
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            yield

    def _captured(self, steps: int) -> Callable[[], None]:
        """So many steps as a CUDA graph: captured at the first call, replayed afterwards."""
        if steps not in self._graphs:
            with phase("capture"):
                self._capture(steps)
        return self._graphs[steps]

    def _can_capture(self, steps: int) -> bool:
        """Whether so many steps are captured; a network of the user's own may turn out not to allow it."""
        if not self.captures:
            return False
        if self.program.abilities is None or steps in self._graphs:
            return True
        # a capture that fails halfway leaves what its trial steps changed
        kept = [t.clone() for t in self.tensors()]
        try:
            self._captured(steps)
        except RuntimeError:  # it copies from the host, say: its steps are launched one by one
            # trial steps may still be at work on the tensors that are put back
            torch.cuda.synchronize(self.device)
            self.captures, self._graphs = False, {}
            self.evaluator.replays.captures = False
            with torch.no_grad():
                for tensor, value in zip(self.tensors(), kept):
                    tensor.copy_(value)
        return self.captures

    def _capture(self, steps: int) -> None:
        # the trial steps train the runs, which begin after them where they were before
        kept = [t.clone() for t in self.tensors()]
        current = torch.cuda.current_stream(self.device)
        # Libraries keep a workspace for each stream, and a captured graph keeps the workspace of the
        # stream it was captured on. Graphs that run beside each other must not share one: they would
        # wait for each other's flags forever. So a group captures on the stream that it runs on.
        side = streams(self.device, 1)[0] if current == torch.cuda.default_stream(self.device) else current
        side.wait_stream(current)
        with torch.cuda.stream(side):
            if not self._graphs:
                with phase("compile" if self.setting.compile else "capture"):
                    self._steps(3)  # libraries choose and allocate before the capture
            graph, _ = captured(partial(self._steps, steps))
        current.wait_stream(side)
        with torch.no_grad():
            for tensor, value in zip(self.tensors(), kept):
                tensor.copy_(value)
        self._graphs[steps] = graph.replay

    # --- measuring -------------------------------------------------------------------------------

    def evaluate(self, rows: Sequence[int]) -> list[dict[str, float]]:
        """Training and test loss and error of some of the runs; test on the whole test set."""
        return self.begin_evaluation(rows).result()

    def begin_evaluation(self, rows: Sequence[int]) -> Evaluation:
        """Launch `evaluate` on the device; training may continue before the result is read."""
        weights = {k: v.detach() for k, v in self.working.items()}
        averages = {k: v.to(weights[k].dtype) for k, v in self.average.items()}
        return self.evaluator.begin(weights, self.buffers, rows, averages)

    def module(self, row: int) -> nn.Module:
        """The network of one run as it stands, for measurements that take a module."""
        load_tensors(
            self.model, {k: v[row].detach() for k, v in (*self.parameters.items(), *self.buffers.items())}
        )
        for name, p in self.model.named_parameters():
            p.requires_grad_(name in self.parameters)  # measurements leave out what is not trained
        return self.model

    # --- keeping and dropping --------------------------------------------------------------------

    def keep(self, rows: list[int]) -> None:
        """Go on with some of the runs; the others have finished or diverged."""
        self.settings = [self.settings[r] for r in rows]
        self.totals, self.sizes = [self.totals[r] for r in rows], [self.sizes[r] for r in rows]
        self.batches = [self.batches[r] for r in rows]
        self.stream.keep(rows)
        self.parameters = {k: v.detach()[rows].requires_grad_() for k, v in self.parameters.items()}
        self.buffers = {k: v[rows] for k, v in self.buffers.items()}
        self.run_keys, self.clock.diverged_at = self.run_keys[rows], self.clock.diverged_at[rows]
        self.program = program(self.setting, self.resident, self.runs)
        self.working = self.program.working(self.parameters)
        self.leaves = self.program.leaves(self.working)
        self.average = {k: v[rows] for k, v in self.average.items()}
        self.moments.keep(rows, self.parameters)
        self._choose_steps()
        self.evaluator = Evaluator(self.program, self.stream, self.runs, self.captures)
        # captured graphs hold the addresses of the larger stack
        self._graphs = {}
        self._step_starts, self._trace_decided = [], False

    def tensors(self) -> list[Tensor]:
        """Everything that training changes."""
        masters = [*self.parameters.values(), *self.buffers.values(), *self.moments.tensors()]
        masters += self.average.values()
        copies = [w for name, w in self.working.items() if w is not self.parameters[name]]
        clock = (self.clock.counter, self.clock.diverged_at)
        return [*(t.detach() for t in (*masters, *copies)), *clock]

    def state(self) -> Snapshot:
        """Everything that a resumed group needs, on its way to the host."""
        return Snapshot(self.step, self.tensors(), self.moments.more())

    @torch.no_grad()
    def restore(self, state: dict[str, Any]) -> None:
        """Restore the state saved by `state`."""
        self.step = state["step"]
        for tensor, value in zip(self.tensors(), state["tensors"], strict=True):
            tensor.copy_(value)
        self.moments.restore(state.get("more", {}))
