"""`run` and `run_many`: from settings to curves.

Runs that share network, data, batch size and optimizer form a group and train together (`replicas`); runs
may differ in seeds, sizes, learning rates and length. At log-spaced checkpoints the engine reads training
and test loss and error, norms, and whatever the setting asks for; with a store every row is on disk at
once, and a killed run goes on from its last state to the same curve.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from scalinglab import nets
from scalinglab import progress as bars
from scalinglab.curves import Curves
from scalinglab.data import Dataset
from scalinglab.deprecation import renamed_arguments
from scalinglab.errors import BadInput, usable_device
from scalinglab.measure import flops
from scalinglab.measure.functional import paths_exist
from scalinglab.store import Store, StoreError
from scalinglab.store.live import RunWriter
from scalinglab.store.record import flatten
from scalinglab.train import state as states
from scalinglab.train.batches import Resident, dataset_of
from scalinglab.train.extra_measurements import Reading, read
from scalinglab.train.kernels.onednn import small_products, suits
from scalinglab.train.measuring import Measure
from scalinglab.train.replicas import Group, streams
from scalinglab.train.setting import Setting

TICK = 16  # steps that one group takes before the next one on the device has its turn
SAVE_EVERY = 60.0  # seconds
STREAMS = 8  # groups that share a GPU
# the largest stack, and the operations a step below which runs are stacked
STACK = {"cpu": (16, 1e9), "cuda": (64, 5e8)}


@renamed_arguments(also="extra")
def run(
    setting: Setting | Mapping[str, Any],
    *,
    store: Store | str | Path | None = None,
    device: str | None = None,
    progress: bool = True,
    extra: Reading | None = None,
) -> Curves:
    """Train one network and return its curves.

    Args:
        setting: a `Setting`, or a dictionary of its fields.
        store: where to keep rows and state, so that a killed run can go on; None keeps nothing.
        device: "cpu", "cuda", …; the GPU where there is one, by default.
        progress: show a bar where a person is watching.
        also: called with the network, in evaluation mode, at every checkpoint; returns further columns, as
            in ``extra=lambda model: {"kernel": sl.measure.ntk(model, x).trace()}``.

    Returns:
        One row a checkpoint: `step`, `epoch`, `examples`, `compute`, `train_loss`, `train_error`,
        `test_loss`, `test_error`, `norm` and `norm_*`. Early stopping is a reading of the curve:
        ``curves.best("test_error")``.
    """
    return run_many([setting], store=store, device=device, progress=progress, extra=extra)


@renamed_arguments(also="extra", together="max_stacked")
def run_many(
    settings: Sequence[Setting | Mapping[str, Any]],
    *,
    store: Store | str | Path | None = None,
    device: str | None = None,
    max_stacked: int | None = None,
    progress: bool = True,
    experiment: str | None = None,
    save_every: float = SAVE_EVERY,
    extra: Reading | None = None,
) -> Curves:
    """Train many networks at once on one device and return all their curves.

    Args:
        settings: in any order; equal ones are trained once. Those that are done in the store are not
            trained again.
        max_stacked: the largest number of runs whose parameters are stacked; chosen by the network's size
            where not given. On a GPU, groups run beside each other on streams of their own.
        experiment: the study the runs belong to.
        save_every: seconds between two states that a killed run can go on from (with a store).

    See `run` for the rest.
    """
    if isinstance(settings, (Setting, Mapping)):
        raise BadInput("run_many takes a list of settings; for a single one there is run")
    wanted = {s.run: s for s in map(as_setting, settings)}
    if not wanted:
        raise BadInput("no settings: give at least one")
    kept = Store(store) if isinstance(store, (str, Path)) else store
    todo = [s for s in wanted.values() if kept is None or not kept.done(s.identity())]
    jobs = _train(todo, todo, kept, device, max_stacked, progress, experiment, save_every, extra)
    if kept is not None:
        return kept.curves().select(run=list(wanted))
    return Curves.concat([job.curves() for job in jobs])


def train_into(
    store: Store,
    settings: Sequence[Mapping[str, Any]],
    together: Sequence[Mapping[str, Any]],
    *,
    device: str | None = None,
    experiment: str | None = None,
    save_every: float = SAVE_EVERY,
) -> None:
    """Train runs into a store, in the groups of an earlier training that was interrupted.

    Args:
        store: where rows and states are kept.
        settings: of the runs to train; those that are done by now are left alone.
        together: all settings that were trained with them, in the same order, done or not. Groups are formed
            of these: runs that are done train along, unwritten, where others of their group are left, so that
            these get the bits that they would have had without the interruption.
    """
    wanted = [s for s in map(as_setting, settings) if not store.done(s.identity())]
    everything = list(map(as_setting, together))
    _train(wanted, everything, store, device, None, False, experiment, save_every, None)


def _train(
    wanted: Sequence[Setting], together: Sequence[Setting], store: Store | None, device: str | None,
    max_stacked: int | None, progress: bool, experiment: str | None, save_every: float, extra: Reading | None,
) -> list[Job]:  # fmt: skip
    """Train the wanted runs in groups formed of all that belong together; returns the finished jobs."""
    place = torch.device(
        usable_device(device) if device else ("cuda" if torch.cuda.is_available() else "cpu")
    )
    names = {s.run for s in wanted}
    jobs = [
        Job(members, place, store, experiment, save_every, names, extra)
        for members in group(together, place, max_stacked, store)
        if any(s.run in names for s in members)
    ]
    work = _work(jobs, place)
    for _ in bars.track(work, "training", total=sum(job.checkpoints for job in jobs)) if progress else work:
        pass
    return jobs


def as_setting(setting: Setting | Mapping[str, Any]) -> Setting:
    """A setting from what the user gave."""
    if not isinstance(setting, (Setting, Mapping)):
        raise BadInput(f"a setting is a dictionary or a Setting, not {type(setting).__name__}")
    return setting if isinstance(setting, Setting) else Setting.from_dict(setting)


# --- which runs go together ----------------------------------------------------------------------


def group(
    settings: Sequence[Setting],
    device: torch.device,
    max_stacked: int | None = None,
    store: Store | None = None,
) -> list[list[Setting]]:
    """Settings that can be trained side by side, in groups of at most `max_stacked`.

    Runs that were killed together stay together, so that they resume from one state, also with those of them
    that are done by now.
    """
    if max_stacked is not None and max_stacked < 1:
        raise BadInput(f"max_stacked={max_stacked} must be at least 1")
    left = {s.run: s for s in settings}
    groups = _killed(left, store) if store is not None else []
    alike: dict[str, list[Setting]] = {}
    for s in left.values():
        alike.setdefault(s.kind(), []).append(s)
    for members in alike.values():
        members.sort(key=lambda s: s.total_steps(_size(s)))  # those that end together stay together
        size = max_stacked or stack_size(members[0], device)
        groups += [members[start : start + size] for start in range(0, len(members), size)]
    return groups


def _killed(left: dict[str, Setting], store: Store) -> list[list[Setting]]:
    """Groups that have a state in the store; what they hold of the runs that are left is taken out."""
    groups = []
    for runs in states.groups(store.path / "state"):
        if any(name in left for name in runs):
            groups.append([Setting.from_dict(identity) for identity in runs.values()])
            for name in runs:
                left.pop(name, None)
        elif all(store.done(identity) for identity in runs.values()):  # killed between its end and `forget`
            states.forget(store.path / "state", list(runs))
    return groups


def _size(s: Setting) -> int:
    assert s.n_data is not None
    return s.n_data


def step_flops(setting: Setting) -> float:
    """Operations of one training step of a setting's network."""
    dataset = dataset_of(setting)
    options = dict(setting.model_options) | ({} if setting.dropout is None else {"dropout": setting.dropout})
    model = nets.build(
        setting.model, dataset.input_shape, dataset.n_outputs, width=setting.width, depth=setting.depth,
        batch_norm=setting.batch_norm, **options,
    )  # fmt: skip
    return float(flops(model, dataset.input_shape, setting.batch(_size(setting))).step)


def stack_size(setting: Setting, device: torch.device) -> int:
    """How many runs of this network are worth stacking: many small ones, one large one.

    Stacking saves the cost of calling each operation; a network whose operations are large gains nothing
    and runs faster by itself. Both limits are measured: benchmarks/training.py, parts stacking (CPU) and
    scaling (GPU).
    """
    largest, limit = STACK.get(device.type, (1, 0.0))
    return largest if largest > 1 and step_flops(setting) < limit else 1


# --- one group at work ---------------------------------------------------------------------------


class Job:
    """A group with its rows, its writers and its schedule.

    A group that is resumed may hold runs that are not wanted. Those that are done train along from the state
    to their end, unwritten: a stack of another size rounds differently. The others are left out.
    """

    def __init__(
        self, settings: list[Setting], device: torch.device, store: Store | None, experiment: str | None,
        save_every: float, wanted: Collection[str], extra: Reading | None = None,
    ) -> None:  # fmt: skip
        self.settings, self.device, self.experiment = settings, device, experiment
        self.store, self.save_every, self.extra = store, save_every, extra
        self.runs = {s.run: s.identity() for s in settings}
        self.wanted = [s for s in settings if s.run in wanted]
        self.schedules = {s.run: s.checkpoints(_size(s)).tolist() for s in settings}
        self.checkpoints = sum(len(self.schedules[s.run]) for s in self.wanted)
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in self.runs}
        self.ends: dict[str, tuple[str, int | None]] = {}
        self.writers: dict[str, RunWriter] = {}
        self.saved = time.monotonic()

    def work(self) -> Iterator[int]:
        """Train to the end; yields the number of rows written, after every few steps."""
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

    def _train(self) -> Iterator[int]:
        self.group = _build(self.settings, self.device)
        self.measure = Measure(self.group)
        self._resume()
        small = suits(self.settings[0], self.device, self.measure.flops)
        while self.group.settings:
            step = self.group.step
            due = min(self._next(s) for s in self.group.settings)
            with small_products(small):
                self.group.advance(min(due - step, TICK))
                written = self._checkpoint() if self.group.step == due else 0
            yield written

    def _next(self, s: Setting) -> int:
        return next(c for c in self.schedules[s.run] if c > self.group.step)

    def _checkpoint(self) -> int:
        group = self.group
        rows = [r for r, s in enumerate(group.settings) if group.step in self.schedules[s.run]]
        diverged_at = group.clock.diverged_at.tolist()
        for r, measured in zip(rows, self.measure(rows)):
            measured |= read(group, r, self.extra)
            self._append(group.settings[r], measured)
            self._judge(r, measured, diverged_at[r])
        written = sum(group.settings[r].run in self.writers for r in rows) if self.store else len(rows)
        self._keep({s.run for s in group.settings if s.run not in self.ends})
        if self.store is not None and group.settings and time.monotonic() - self.saved >= self.save_every:
            self._save()
        return written

    def _keep(self, names: Collection[str]) -> None:
        """Go on with some of the runs."""
        rows = [r for r, s in enumerate(self.group.settings) if s.run in names]
        if not rows:
            self.group.settings = []
        elif len(rows) < self.group.runs:
            self.group.keep(rows)
            self.measure.keep(rows)

    def _append(self, s: Setting, measured: dict[str, float]) -> None:
        self.rows[s.run].append(measured)
        if s.run in self.writers:
            self.writers[s.run].append(measured)

    def _judge(self, r: int, measured: dict[str, float], diverged_at: int) -> None:
        """End a run that is complete, that diverged, or that failed by park2019's rule."""
        group, s = self.group, self.group.settings[r]
        late = group.step > s.fail_after * group.totals[r]
        hopeless = s.fail_below is not None and late and 1 - measured["test_error"] < s.fail_below
        # the last update before a checkpoint may be the one that breaks the network
        broken = not math.isfinite(measured["train_loss"])
        if diverged_at >= 0 or hopeless or broken:
            self._end(s, "diverged", diverged_at if diverged_at >= 0 else group.step)
        elif group.step >= group.totals[r]:
            self._end(s, "done", None)

    def _end(self, s: Setting, status: str, at: int | None) -> None:
        self.ends[s.run] = (status, at)
        if s.run in self.writers:
            self.writers[s.run].seal(status, diverged_at=at)

    # --- states ----------------------------------------------------------------------------------

    def _save(self) -> None:
        assert self.store is not None
        alive = [s.run for s in self.group.settings]
        state = {"group": self.group.state(), "measure": self.measure.state(), "alive": alive}
        states.save(self.store.path / "state", self.runs, state)
        self.saved = time.monotonic()

    def _forget(self) -> None:
        if self.store is not None:
            states.forget(self.store.path / "state", list(self.runs))

    def _resume(self) -> None:
        found = states.load(self.store.path / "state", list(self.runs)) if self.store is not None else None
        wanted = {s.run for s in self.wanted}
        if found is None or not self._continues(found):
            along = {name for name in self.runs if name not in wanted and self._done(name)}
            self._keep(wanted | along)
            return
        self._keep(found["alive"])
        self.group.restore(found["group"])
        self.measure.restore(found["measure"])
        left_out = {name for name in self.runs if name not in wanted and not self._done(name)}
        if left_out:
            self.runs = {name: own for name, own in self.runs.items() if name not in left_out}
            self._keep(list(self.runs))

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
        frames = []
        for s in self.settings:
            status, at = self.ends[s.run]
            constant = {"run": s.run, "source": "train", "experiment": self.experiment}
            constant |= {name: flatten(value) for name, value in s.identity().items()}
            constant["status"] = status
            frames.append(pd.DataFrame(self.rows[s.run]).assign(**constant, diverged_at=at))
        frame = pd.concat(frames, ignore_index=True)
        measured = {name for rows in self.rows.values() for row in rows for name in row}
        # the losses of a run that diverged at once are missing, their columns are not
        frame = frame.drop(columns=[c for c in frame if c not in measured and frame[c].isna().all()])
        names = [n for s in self.settings for n in s.identity()]
        return Curves(frame, settings=[n for n in dict.fromkeys(names) if n in frame])


def _build(settings: list[Setting], device: torch.device) -> Group:
    dataset = dataset_of(settings[0])
    for s in settings:
        if _size(s) > dataset.n_data:
            raise BadInput(f"n_data={s.n_data}: {s.dataset} has {dataset.n_data} training examples")
    _check_fit(settings[0], dataset)
    orders = {seed: dataset.order(seed) for seed in {s.seed_of("data") for s in settings}}
    subsets = [orders[s.seed_of("data")][: _size(s)] for s in settings]
    group = Group(settings, _resident(dataset, device), subsets)
    if "norm_path" in settings[0].measure and not paths_exist(group.model):
        raise BadInput(
            f"measure='norm_path': paths have no meaning in a {settings[0].model}, with layer norm or "
            "activations other than rectifiers: leave it out"
        )
    return group


def _check_fit(s: Setting, dataset: Dataset) -> None:
    """What a setting asks for and data of this kind do not have."""
    if not dataset.n_classes:
        here = f"{dataset.name} has real-valued targets"
        if s.loss != "mse":
            raise BadInput(f"{here}: set loss='mse'")
        if s.fail_below is not None:
            raise BadInput(f"fail_below={s.fail_below} is an accuracy, and {here}: leave it out")
        if "margin" in s.measure:
            raise BadInput(f"measure='margin' is for classes, and {here}: leave it out")
    if s.augment != "none" and len(dataset.input_shape) != 3:
        raise BadInput(f"augment={s.augment!r} is for images, {dataset.name} has vectors: leave it out")


_RESIDENTS: dict[tuple[int, str], tuple[Any, Resident]] = {}


def _resident(dataset: Any, device: torch.device) -> Resident:
    """The data on the device, placed once for all groups; only the latest few sets stay."""
    key = (id(dataset), str(device))
    if key not in _RESIDENTS:
        if len(_RESIDENTS) >= 4:
            _RESIDENTS.pop(next(iter(_RESIDENTS)))
        _RESIDENTS[key] = (dataset, Resident(dataset, device))
    return _RESIDENTS[key][1]


def _work(jobs: list[Job], device: torch.device) -> Iterator[int]:
    """Let the jobs work, one after another on a CPU, in turns on streams of their own on a GPU."""
    if device.type != "cuda":
        for job in jobs:
            for rows in job.work():
                yield from range(rows)
        return
    waiting, free = list(jobs), streams(device, STREAMS)
    active: list[tuple[Iterator[int], torch.cuda.Stream]] = []
    while waiting or active:
        while waiting and free:
            active.append((waiting.pop(0).work(), free.pop()))
        for turn in list(active):
            with torch.cuda.stream(turn[1]):
                try:
                    rows = next(turn[0])
                except StopIteration:
                    active.remove(turn)
                    free.append(turn[1])
                    continue
            yield from range(rows)
