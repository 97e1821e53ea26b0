"""Training for figures: every run is trained once, into one store for each paper and scale.

A figure's function calls `runs` with its settings. `scalinglab reproduce` stores them in
``results/<paper>/runs/<scale>/``: finished runs are read, missing ones are trained, interrupted ones are
resumed, and figures with the same settings share them. Without a store (scale smoke under ``reproduce
check``) runs are trained in memory. `RunStorage` can restrict training to parts of a study and to minutes.

Work that entries share is done once in a process (`shared`), and counted in every entry that uses it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from scalinglab.errors import BadInput

if TYPE_CHECKING:
    import numpy as np

    from scalinglab.curves import Curves
    from scalinglab.store.record import Record
    from scalinglab.train.checkpoints.extra_measurements import Reading

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class RunStorage:
    """The store of runs, and the parts to train now.

    Attributes:
        store: a folder of runs, which is continued, or a table of curves, which is read. None keeps nothing.
        only: parts of a study to train, by name; all by default.
        minutes: after which no other part begins; no bound by default.
    """

    store: Path | None = None
    only: tuple[str, ...] = ()
    minutes: float | None = None


@dataclass
class Work:
    """Time and runs of an entry or a shared result.

    Attributes:
        parts: seconds of each shared result that it used, whenever that was computed, and of itself; none
            includes another.
        nested: seconds of the shared results that were computed within it.
        runs: behind it.
    """

    parts: dict[Hashable, float] = field(default_factory=dict)
    nested: float = 0.0
    runs: set[str] = field(default_factory=set)

    @property
    def seconds(self) -> float:
        """Seconds of all parts, each counted once."""
        return sum(self.parts.values())


IN_MEMORY = RunStorage()
_STORAGE: ContextVar[RunStorage] = ContextVar("where runs are kept", default=IN_MEMORY)
_WORK: ContextVar[Work | None] = ContextVar("what is being counted", default=None)


@contextmanager
def storing_in(store: Path | None, only: Sequence[str] = (), minutes: float | None = None) -> Iterator[None]:
    """Context in which `runs` reads and continues this store; None keeps nothing."""
    token = _STORAGE.set(RunStorage(store, tuple(only), minutes))
    try:
        with counted("all that is kept there"):
            yield
    finally:
        _STORAGE.reset(token)


def run_storage() -> RunStorage:
    """The store of runs in the current context."""
    return _STORAGE.get()


def runs(
    settings: Sequence[Mapping[str, Any]],
    experiment: str,
    *,
    max_stacked: int | None = None,
    extra: Reading | None = None,
) -> Curves:
    """The curves of these settings: read from the store where they are done, trained where they are not.

    Args:
        settings: as `scalinglab.train.run_many` takes them.
        experiment: the study that the runs belong to, such as "fig2".
        max_stacked: the largest number of runs whose parameters are stacked.
        extra: further columns, read off the network at every checkpoint.
    """
    from scalinglab.train import run_many  # loads torch

    store = run_storage().store
    if store is not None and store.is_file():
        return _tabulated(settings, store)
    curves = run_many(settings, store=store, experiment=experiment, max_stacked=max_stacked, extra=extra)
    count(curves.runs)
    return curves


def _tabulated(settings: Sequence[Mapping[str, Any]], table: Path) -> Curves:
    """The runs of these settings in a table of curves, or an error that says how many are missing."""
    from scalinglab.curves import Curves
    from scalinglab.train.engine import as_setting

    curves = Curves.read(table)
    names = list(dict.fromkeys(as_setting(setting).run for setting in settings))
    if missing := len(set(names) - set(curves.runs)):
        raise BadInput(
            f"{table} has {len(names) - missing} of the {len(names)} runs of this figure: "
            "give a store (a folder) with --store to train the others"
        )
    return curves.select(run=names)


def count(runs: Iterable[str]) -> None:
    """Count these runs among those behind the figure that is being made."""
    if (work := _WORK.get()) is not None:
        work.runs.update(runs)


@contextmanager
def counted(name: Hashable) -> Iterator[Work]:
    """Count what is done inside, under this name; what encloses it counts the same parts and runs."""
    work, around, start = Work(), _WORK.get(), time.perf_counter()
    token = _WORK.set(work)
    try:
        yield work
    finally:
        _WORK.reset(token)
        elapsed = time.perf_counter() - start
        work.parts[name] = elapsed - work.nested
        if around is not None:
            around.nested += elapsed
            include(work)


def include(work: Work) -> None:
    """Count what was done, now or earlier, among what is being counted."""
    if (around := _WORK.get()) is not None:
        around.parts |= work.parts
        around.runs |= work.runs


def shared(function: Callable[P, R]) -> Callable[P, R]:
    """Keep what a function returns, with what it took, for its arguments and the store of runs.

    Arguments must be hashable. A record names the seconds and the runs of its entry alone, with those of
    shared results that an earlier entry has computed.
    """
    known: dict[Hashable, tuple[R, Work]] = {}

    @wraps(function)
    def once(*args: P.args, **kwargs: P.kwargs) -> R:
        key = (function.__module__, function.__name__, run_storage(), args, *sorted(kwargs.items()))
        if key not in known:
            with counted(key) as work:
                found = function(*args, **kwargs)
            known[key] = found, work
            return found
        found, work = known[key]
        include(work)
        return found

    once.cache_clear = known.clear  # type: ignore[attr-defined]
    return once


CPU = "CPU"
GAP = 600.0  # seconds; rows of a stack come at once, so that its first took all of the time


@dataclass(frozen=True)
class Training:
    """Time and devices of the training of some runs.

    Attributes:
        runs: how many.
        seconds: during which at least one of them was trained; without runs that were interrupted,
            from whose start to whose end it took ten times as long as for nine in ten of all, and `GAP`.
        gpus: that trained them, by name, with `CPU` where one trained some; none: a CPU trained all.
    """

    runs: int
    seconds: float
    gpus: tuple[str, ...]


def training(figure: Curves) -> Training | None:
    """Time and devices of the runs behind a figure: of its curves, and counted since `storing_in`.

    None where none of them is kept.
    """
    from scalinglab.store import Store

    counting, store = _WORK.get(), run_storage().store
    behind = {*figure.runs, *(counting.runs if counting else ())}
    if store is None or not store.is_dir():
        return None
    records = [record for name, record in Store(store).records().items() if name in behind]
    return training_of(records) if records else None


def training_of(records: Sequence[Record]) -> Training:
    """Time and devices of the training of these runs."""
    spans = sorted((r.started, r.finished) for r in records if r.started and r.finished)
    lengths = sorted(end - start for start, end in spans)
    usual = lengths[int(0.9 * len(lengths))] if lengths else 0.0
    spans = [(start, end) for start, end in spans if end - start <= max(10 * usual, GAP)]
    seconds, until = 0.0, 0.0
    for start, end in spans:
        seconds += max(0.0, end - max(start, until))
        until = max(until, end)
    places = {str(record.meta.get("gpu") or CPU) for record in records}
    return Training(len(records), seconds, () if places == {CPU} else tuple(sorted(places)))


def measured(
    settings: Sequence[Mapping[str, Any]],
    experiment: str,
    measure: Callable[[Sequence[Mapping[str, Any]]], Iterable[Sequence[Mapping[str, float]]]],
) -> Curves:
    """The rows of each setting: read from the store where they are done, measured where they are not.

    For networks that are not trained by `scalinglab.train`. Rows are kept as soon as they are there.

    Args:
        settings: everything that defines the rows.
        measure: takes the settings that are left and returns the rows of each, in the same order.
    """
    import pandas as pd

    from scalinglab.curves import Curves, run_name
    from scalinglab.store import Store
    from scalinglab.store.record import flatten

    place = run_storage().store
    if place is None:
        constant = [
            {"run": run_name(one), **{name: flatten(own) for name, own in one.items()}} for one in settings
        ]
        found = zip(constant, measure(settings), strict=True)
        frame = pd.DataFrame([{**one, **row} for one, rows in found for row in rows])
        names = dict.fromkeys(name for one in settings for name in one)
        return Curves(frame.assign(experiment=experiment), settings=list(names), source="train")
    store = Store(place)
    todo = [one for one in settings if not store.done(one)]
    made = iter(measure(todo))
    for one in todo:
        writer, _ = store.resume(one, experiment=experiment)  # first: a run's time is from here to its end
        with closing(writer):
            for row in next(made):
                writer.append(dict(row))
            writer.seal("done")
    runs = [run_name(one) for one in settings]
    count(runs)
    return store.curves().select(run=runs)


def runs_and_arrays(
    settings: Sequence[Mapping[str, Any]], experiment: str, extra: Reading | None
) -> tuple[Curves, dict[str, dict[int, dict[str, np.ndarray]]]]:
    """Curves as in `runs`, and for each run, by step, the arrays that `extra` returned."""
    from scalinglab.store import Store
    from scalinglab.train import run_many
    from scalinglab.train.engine import as_setting

    own = nullcontext(run_storage().store) if run_storage().store is not None else TemporaryDirectory()
    with own as place:
        assert place is not None
        store = Store(place)
        curves = run_many(settings, store=store, experiment=experiment, extra=extra)
        count(curves.runs)
        names = [as_setting(setting).run for setting in settings]
        return curves, {name: store.arrays(name) for name in names}


def on_gpu() -> bool:
    """Whether runs are trained on a GPU."""
    import torch

    return torch.cuda.is_available()


def usable(name: str) -> bool:
    """Whether a data set is on this machine, or runs on it are in the store."""
    from scalinglab.curves import Curves
    from scalinglab.data import available
    from scalinglab.store import Store

    here, store = bool(available(name)), run_storage().store
    if not here and store is not None and store.is_file():
        return name in set(Curves.read(store).frame.get("dataset", ()))
    if here or store is None or not Store.is_store(store):
        return here
    return name in {str(record.setting.get("dataset")) for record in Store(store).records().values()}
