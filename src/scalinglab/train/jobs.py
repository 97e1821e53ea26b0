"""Job: the training of a group of runs, from the first step to its rows in the store.

On a GPU the host only launches: a checkpoint is measured while the steps after it are queued, and its rows
are written when its numbers have arrived. A job gives up its turn wherever it would have to wait.
"""

from __future__ import annotations

import math
import time
import traceback
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from functools import lru_cache
from typing import Any

import pandas as pd
import torch

from scalinglab import sgd_noise
from scalinglab.curves import Curves
from scalinglab.data import Dataset
from scalinglab.errors import BadInput
from scalinglab.store import Store, StoreError
from scalinglab.store.live import RunWriter
from scalinglab.store.record import flatten
from scalinglab.support.work import phase
from scalinglab.train import memory
from scalinglab.train.batches import Resident, dataset_of
from scalinglab.train.checkpoints import state as states
from scalinglab.train.checkpoints.extra_measurements import Reading, read, without_arrays
from scalinglab.train.checkpoints.measuring import MARGINS, Checkpoint, Measure
from scalinglab.train.checkpoints.saving import Saving
from scalinglab.train.replicas import Group, Snapshot
from scalinglab.train.setting import Setting
from scalinglab.train.training_step import Named

QUEUED = 3  # turns of a group that a GPU may have before it: enough that it never waits for the host
# what is measured on the network itself, which must wait until it has been looked at
WITH_NETWORK = {*MARGINS, "gradient_noise", "kernel"}


def size_of(s: Setting) -> int:
    """Training examples of a run."""
    assert s.n_data is not None
    return s.n_data


class Job:
    """A group of runs with its rows, writers and checkpoint schedule.

    A resumed group may hold runs that are not wanted. Those that are done are trained again from the state,
    unwritten, since a stack of another size rounds differently. The others are left out.
    """

    def __init__(
        self, settings: list[Setting], device: torch.device, store: Store | None, experiment: str | None,
        saving: Saving, wanted: Collection[str], extra: Reading | None = None,
    ) -> None:  # fmt: skip
        self.settings, self.device, self.experiment = settings, device, experiment
        self.store, self.saving, self.extra = store, saving, extra
        self.runs = {s.run: s.identity() for s in settings}
        self.wanted = [s for s in settings if s.run in wanted]
        self.schedules = {s.run: s.checkpoints(size_of(s)).tolist() for s in settings}
        self.checkpoints = sum(len(self.schedules[s.run]) for s in self.wanted)
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in self.runs}
        self.noise = {name: sgd_noise.columns(identity) for name, identity in self.runs.items()}
        self.ends: dict[str, tuple[str, int | None]] = {}
        self.writers: dict[str, RunWriter] = {}
        self.memory = memory.of_group(settings) if device.type == "cuda" else 0.0
        self.saved = math.inf  # when its last state was written; its start counts as one
        self.initial: Future[Named] | None = None  # weights that are being drawn in another thread
        self.pending: Checkpoint | None = None  # measured, and on its way to the host
        self.snapshot: Snapshot | None = None  # of the group at that checkpoint
        self.turns: deque[torch.cuda.Event] = deque()  # ends of the turns that a GPU has before it

    def work(self) -> Iterator[int | Callable[[], bool]]:
        """Train to the end; yields the number of rows written, after every few steps.

        Where it would have to wait for the device it yields a function that returns whether it can go on.
        """
        with ExitStack() as opened:
            if self.store is not None:
                for s in self.wanted:
                    writer, _ = self.store.resume(s.identity(), experiment=self.experiment)
                    opened.callback(writer.close)
                    self.writers[s.run] = writer
            try:
                yield from self._train()
            except StoreError:  # a full disk is no fault of the runs: they go on from their state
                raise
            except Exception:
                for writer in self.writers.values():
                    if not writer.closed:
                        writer.seal("failed", error=traceback.format_exc())
                self._forget()  # a failed run starts anew
                raise
            self._forget()

    def _train(self) -> Iterator[int | Callable[[], bool]]:
        self.saved = time.monotonic()
        with phase("build"):
            self.group = build(self.settings, self.device, self.initial.result() if self.initial else None)
            self.measure = Measure(self.group)
            self._resume()
        while self.group.settings:
            if self.pending is not None and self.pending.ready():
                yield self._collect_checkpoint()
            if not self._may_queue():
                yield self._may_queue
            if not self.group.settings:
                break
            due = min(self._next(s) for s in self.group.settings)
            with phase("steps"):
                self.group.advance(min(due - self.group.step, self.group.tick))
                self._end_of_turn()
            if self.group.step == due:
                if not self._can_measure():
                    yield self._can_measure
                written = self._collect_checkpoint()
                if self.group.settings:
                    self._begin_checkpoint()
                yield written
                if self._needs_result_now():
                    if not self._has_arrived():
                        yield self._has_arrived
                    yield self._collect_checkpoint()
            else:
                yield 0
        del self.group, self.measure, self.initial  # the memory of runs that have ended

    def _next(self, s: Setting) -> int:
        schedule = self.schedules[s.run]
        return schedule[bisect_right(schedule, self.group.step)]

    def _may_queue(self) -> bool:
        """Whether another block of steps may be queued on the GPU; bounds how far the host runs ahead."""
        while self.turns and self.turns[0].query():  # type: ignore[no-untyped-call]
            self.turns.popleft()
        return len(self.turns) < QUEUED

    def _has_arrived(self) -> bool:
        """Whether the last checkpoint can be taken without waiting for it."""
        return self.pending is None or self.pending.ready()

    def _can_measure(self) -> bool:
        """Whether the next checkpoint can begin without waiting for anything."""
        return self._has_arrived() and self.measure.free()

    def _end_of_turn(self) -> None:
        if self.device.type == "cuda":
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record()  # type: ignore[no-untyped-call]
            self.turns.append(event)

    def _begin_checkpoint(self) -> None:
        """Start measuring the runs that are due; results are collected when they arrive."""
        group = self.group
        rows = [r for r, s in enumerate(group.settings) if group.step in self.schedules[s.run]]
        with phase("checkpoints"):
            self.pending = self.measure.begin(rows)
            going_on = any(group.step < total for total in group.totals)
            if self.store is not None and going_on and self.saving.due(self.saved):
                self.snapshot = group.state()

    def _needs_result_now(self) -> bool:
        """Whether the next step needs the result, which may end runs, or the network itself is read."""
        return (
            self.device.type != "cuda"
            or self.group.runs > 1  # runs that end leave the stack
            or self.extra is not None
            or bool(WITH_NETWORK & set(self.group.setting.measure))
            or bool(self.group.setting.metrics)
            or self.group.step >= max(self.group.totals, default=0)
        )

    def _collect_checkpoint(self) -> int:
        """Write the rows of the pending checkpoint, and end the runs that are complete or diverged."""
        if self.pending is None:
            return 0
        group, found, self.pending = self.group, self.pending, None
        with phase("rows"):
            diverged_at = found.diverged_at()
            for r, measured in zip(found.rows, found.result()):
                measured |= self._read_network(r, found.step)
                measured |= self.noise[run := group.settings[r].run]
                self.rows[run].append(measured)
                if run in self.writers:
                    self.writers[run].append(measured)
                self._end_if_over(r, measured, diverged_at[r], found.step)
        written = (
            sum(group.settings[r].run in self.writers for r in found.rows) if self.store else len(found.rows)
        )
        before = group.runs
        self._keep_runs({s.run for s in group.settings if s.run not in self.ends})
        snapshot, self.snapshot = self.snapshot, None
        if snapshot is not None and group.settings:  # a state holds the runs that go on, at the same step
            self._save(snapshot if group.runs == before else group.state())
        return written

    def _read_network(self, r: int, step: int) -> dict[str, Any]:
        """Measurements on a run's network; arrays are kept in the store, if there is one."""
        numbers, arrays = without_arrays(read(self.group, r, self.extra))
        run = self.group.settings[r].run
        if arrays and self.store is not None and run in self.writers:
            self.store.keep_arrays(run, step, arrays)
        return numbers

    def _keep_runs(self, names: Collection[str]) -> None:
        """Go on with some of the runs."""
        rows = [r for r, s in enumerate(self.group.settings) if s.run in names]
        if not rows:
            self.group.settings = []
        elif len(rows) < self.group.runs:
            self.group.keep(rows)
            self.measure.keep(rows)

    def _end_if_over(self, r: int, measured: dict[str, float], diverged_at: int, step: int) -> None:
        """End a run that is complete, that diverged, or that failed by park2019's rule."""
        group, s = self.group, self.group.settings[r]
        late = step > s.fail_after * group.totals[r]
        error = measured.get("test_error", 0.0)
        hopeless = s.fail_below is not None and late and 1 - error < s.fail_below
        # the last update before a checkpoint may be the one that breaks the network
        broken = not math.isfinite(measured["train_loss"])
        if diverged_at >= 0 or hopeless or broken:
            self._end(s, "diverged", diverged_at if diverged_at >= 0 else step)
        elif step >= group.totals[r]:
            self._end(s, "done", None)

    def _end(self, s: Setting, status: str, at: int | None) -> None:
        self.ends[s.run] = (status, at)
        if s.run in self.writers:
            self.writers[s.run].seal(status, diverged_at=at)

    # --- states ----------------------------------------------------------------------------------

    def leave(self) -> None:
        """Save a state now, between two steps, because the process was asked to end."""
        group = getattr(self, "group", None)
        if group is None or not group.settings or not self.writers:
            return
        self._collect_checkpoint()
        if group.settings and self._lacks_checkpoint():
            self._begin_checkpoint()
            self._collect_checkpoint()
        if group.settings:
            self._save(group.state())
            # here, since `close` would not raise what went wrong with it
            self.saving.wait()

    def _lacks_checkpoint(self) -> bool:
        """Whether a checkpoint is due at this very step and was not measured."""
        here = [s for s in self.group.settings if self.group.step in self.schedules[s.run]]
        return any(not self.rows[s.run] or self.rows[s.run][-1]["step"] < self.group.step for s in here)

    def _save(self, snapshot: Snapshot) -> None:
        """Keep the group as it was at a checkpoint whose rows are written."""
        assert self.store is not None
        folder, runs = self.store.path / "state", dict(self.runs)
        rest = {"measure": self.measure.state(), "alive": [s.run for s in self.group.settings]}
        with phase("save"):
            self.saving.write(lambda: states.save(folder, runs, {"group": snapshot.wait(), **rest}))
        self.saved = time.monotonic()

    def _forget(self) -> None:
        if self.store is not None:
            # a state that is still being written would appear after its removal
            self.saving.wait()
            states.forget(self.store.path / "state", list(self.runs))

    def _resume(self) -> None:
        found = states.load(self.store.path / "state", list(self.runs)) if self.store is not None else None
        wanted = {s.run for s in self.wanted}
        if found is None or not self._continues(found):
            along = {name for name in self.runs if name not in wanted and self._done(name)}
            self._keep_runs(wanted | along)
            return
        self._keep_runs(found["alive"])
        self.group.restore(found["group"])
        self.measure.restore(found["measure"])
        left_out = {name for name in self.runs if name not in wanted and not self._done(name)}
        if left_out:
            self.runs = {name: own for name, own in self.runs.items() if name not in left_out}
            self._keep_runs(list(self.runs))

    def _done(self, name: str) -> bool:
        assert self.store is not None
        return self.store.done(self.runs[name])

    def _continues(self, found: dict[str, Any]) -> bool:
        """Whether the rows up to the state are there, those of a discarded or failed run being gone."""
        for s in self.wanted:
            here = {row["step"] for row in self.writers[s.run].rows}
            due = {step for step in self.schedules[s.run] if step <= found["group"]["step"]}
            if s.run not in found["alive"] or not due <= here:
                return False
        return True

    def curves(self) -> Curves:
        """The rows as curves, for runs that are kept nowhere."""
        records: list[dict[str, Any]] = []
        for s in self.settings:
            status, at = self.ends[s.run]
            constant: dict[str, Any] = {"run": s.run, "source": "train", "experiment": self.experiment}
            constant |= {name: flatten(value) for name, value in s.identity().items()}
            constant |= {"status": status, "diverged_at": at}
            records += [{**row, **constant} for row in self.rows[s.run]]
        frame = pd.DataFrame(records)  # at once: a column added to a frame takes longer than a run's rows
        measured = {name for rows in self.rows.values() for row in rows for name in row}
        # the losses of a run that diverged at once are missing, their columns are not
        frame = frame.drop(columns=[c for c in frame if c not in measured and frame[c].isna().all()])
        names = [n for s in self.settings for n in s.identity()]
        return Curves(frame, settings=[n for n in dict.fromkeys(names) if n in frame])


def build(settings: list[Setting], device: torch.device, initial: Named | None = None) -> Group:
    """The group of some runs at their start, its data on the device."""
    dataset = dataset_of(settings[0])
    for s in settings:
        if (s.data_block + 1) * size_of(s) > dataset.n_data:
            block = f" in block {s.data_block}" if s.data_block else ""
            raise BadInput(f"n_data={s.n_data}{block}: {s.dataset} has {dataset.n_data} training examples")
    _check_fit(settings[0], dataset)
    orders = {seed: dataset.order(seed) for seed in {s.seed_of("data") for s in settings}}
    subsets = [
        orders[s.seed_of("data")][s.data_block * size_of(s) : (s.data_block + 1) * size_of(s)]
        for s in settings
    ]
    return Group(settings, resident_of(dataset, device), subsets, initial)


def _check_fit(s: Setting, dataset: Dataset) -> None:
    """Raise if a setting needs something that data of this kind do not have."""
    if not dataset.n_classes:
        here = f"{dataset.name} has real-valued targets"
        if s.loss != "mse" and not s.owns("loss"):
            raise BadInput(f"{here}: set loss='mse'")
        if s.fail_below is not None:
            raise BadInput(f"fail_below={s.fail_below} is an accuracy, and {here}: leave it out")
        if named := MARGINS & set(s.measure):
            raise BadInput(f"measure={min(named)!r} is for classes, and {here}: leave it out")
    if s.augment != "none" and len(dataset.input_shape) != 3:
        raise BadInput(f"augment={s.augment!r} is for images, {dataset.name} has vectors: leave it out")


@lru_cache(maxsize=4)
def resident_of(dataset: Dataset, device: torch.device) -> Resident:
    """The data on the device, placed once for all groups; only the latest few sets stay."""
    return Resident(dataset, device)
