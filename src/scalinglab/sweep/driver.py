"""Running a sweep: the driver submits tasks to an engine and handles failures.

The store is the single source of truth: a run is done if the store records it as done. The task of a worker
that was lost is resubmitted, and never counts against its runs; a task that fails is split until the failing
run is isolated and recorded with its traceback; a store that cannot be written stops the sweep. The first
Ctrl-C lets running tasks finish and starts no more, the second stops at once; SIGTERM, which schedulers send
before they kill, lets workers save the states of their runs and end. All leave a store that the next sweep
continues.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scalinglab._version import __version__
from scalinglab.curves import Curves, run_name
from scalinglab.errors import BadInput
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.store import Record, RunBusy, Store, StoreError
from scalinglab.support.validation import checked
from scalinglab.support.words import counted
from scalinglab.support.work import STOPPED, Request, requests
from scalinglab.sweep.display import Display
from scalinglab.sweep.grid import Grid
from scalinglab.sweep.plan import (
    Plan,
    Task,
    keep_grid,
    keep_groups,
    kept_groups,
    make_plan,
    part,
    remaining,
    split,
)
from scalinglab.sweep.pools.engines import open_pool
from scalinglab.sweep.pools.local_engine import take_turns
from scalinglab.sweep.pools.pool import CRASHED, DIED, Answer, Pool
from scalinglab.sweep.runner import load

COMPACT_FROM = 200  # sealed runs after which they are put into one file
PATIENCE = 40  # times that a run which another process writes is asked for again
LOSSES = 10  # times in a row that a task is lost without a row more, before the sweep goes on without it


class SweepWarning(UserWarning):
    """Some runs of a sweep failed, or files of its store are damaged."""


@dataclass(frozen=True)
class Outcome(Worded):
    """How a sweep ended.

    Attributes:
        plan: what was to be done.
        status: how each run of the grid stands now, by name.
        failed: the records of runs that failed, with their tracebacks.
        interrupted: whether Ctrl-C or SIGTERM ended it.
        seconds: how long it took.
        deaths: why workers died, one text each; what they were doing was done again.
        left: runs that are left unfinished, because whatever ran them was lost again and again.
        quarantined: what was wrong with damaged files, by the paths to which they were moved.
        phases: what the workers spent their time on, in seconds of all of them.
    """

    plan: Plan
    status: dict[str, str]
    failed: dict[str, Record]
    interrupted: bool
    seconds: float
    deaths: tuple[str, ...] = ()
    quarantined: Mapping[str, str] = field(default_factory=dict)
    phases: Mapping[str, float] = field(default_factory=dict)
    left: tuple[str, ...] = ()

    def count(self, *statuses: str) -> int:
        """The number of runs with one of these statuses."""
        return sum(status in statuses for status in self.status.values())

    @property
    def remarks(self) -> Iterator[Remark]:
        counts = tuple(
            Reason("status_count", runs=self.count(kind), status=kind)
            for kind in dict.fromkeys(self.status.values())
        )
        yield Reason("runs_by_status", runs=len(self.status), counts=counts)
        for run, record in self.failed.items():
            why = (record.error or "unknown").strip().splitlines()[-1]
            own = {name: v for name, v in record.setting.items() if name in self.plan.varied}
            yield Reason("failed_run_of" if own else "failed_run", run=run, setting=str(own), why=why)
        if self.failed:
            yield Reason("retry_failed")
        for path, why in self.quarantined.items():
            yield Reason("quarantined", path=path, why=why)
        for cause, times in Counter(self.deaths).items():
            yield Reason("workers_died", times=times, cause=cause)
        if self.left:
            yield Reason("runs_left", runs=len(self.left), losses=LOSSES)
        if (others := self.count("running")) and not self.interrupted:
            yield Reason("run_elsewhere" if others == 1 else "runs_elsewhere", runs=others)
        if self.interrupted:
            yield Reason("interrupted")


@checked
def run(
    grid: Grid | Mapping[str, Any] | str | Path, store: Store | str | Path = "runs", **options: Any
) -> Curves:
    """Run a sweep and return the curves of its runs; see `execute` for the options.

    Raises:
        KeyboardInterrupt: after Ctrl-C or SIGTERM, once everything is safe.
    """
    outcome = execute(grid, store, **options)
    if outcome.interrupted:
        raise KeyboardInterrupt(STOPPED)
    if outcome.failed:
        warnings.warn(outcome.summary(), SweepWarning, stacklevel=2)
    return Store.of(store).curves().select(run=list(outcome.plan.runs))


def as_grid(grid: Grid | Mapping[str, Any] | str | Path) -> Grid:
    """A grid from what the user gave: a Grid, a dictionary, or a TOML file."""
    if isinstance(grid, Grid):
        return grid
    return Grid.read(grid) if isinstance(grid, (str, Path)) else Grid.from_dict(grid)


@checked
def execute(
    grid: Grid | Mapping[str, Any] | str | Path,
    store: Store | str | Path = "runs",
    *,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    partition: str | None = None,
    hours: float | None = None,
    device: str | None = None,
    cpus: float = 1,
    gpus: float = 0,
    max_stacked: int | None = None,
    memory_limit: float | None = None,
    retry_failed: bool = False,
    attempts: int = 5,
    progress: bool = True,
) -> Outcome:
    """Run what is missing of a grid.

    Args:
        grid: a `Grid`, a dictionary, or a TOML file.
        store: the folder that keeps the runs.
        engine: `local`, processes of this machine, `ray` or `slurm`.
        workers: how many tasks at a time; default: one per processor, or one per GPU.
        address: of a Ray cluster; `auto` for the one this machine belongs to.
        partition: where Slurm queues the jobs; default: the cluster's.
        hours: the time limit of a Slurm job (default: 4); while tasks are left another one follows.
        device: where to compute; GPUs are used where there are any.
        cpus: processors that a task needs, on Ray and Slurm.
        gpus: on Ray those that a task needs; on Slurm all together, each a job.
        max_stacked: the largest number of runs in a task.
        memory_limit: bytes a task may take; larger ones are split.
        retry_failed: also do again what failed before.
        attempts: how often a run that crashes its worker (a segmentation fault, an abort) is tried before it
            counts as failed. A worker, node or cluster that is lost uses up none.
        progress: show a live display in an interactive terminal.
    """
    start = time.monotonic()
    grid, store = as_grid(grid), Store.of(store)
    runner = load(grid.runner)
    if engine == "local" and device is None:
        devices: Sequence[str | None] = runner.devices()
    else:  # of other machines it is only known whether they have GPUs
        devices = [device or ("cuda" if gpus else None)]
    # before planning: runs of damaged files are missing
    quarantined = store.repair() if Store.is_store(store.path) else {}
    for path, reason in quarantined.items():
        warnings.warn(f"{reason}; moved to {path}; lost runs are done again", SweepWarning, stacklevel=2)
    with requests() as interrupt:
        pool = open_pool(engine, workers, address, devices, cpus, gpus, partition, hours)
        if engine == "local" and take_turns(pool.slots, devices):
            warnings.warn(
                f"{pool.slots} workers on {counted(len(devices), 'GPU')} compute in turns: start CUDA's MPS "
                "(nvidia-cuda-mps-control -d) before the sweep, and they compute at the same time",
                SweepWarning,
                stacklevel=2,
            )
        try:
            kept = False
            while not kept:  # until no other sweep of this grid has kept its groups meanwhile
                before = kept_groups(grid, store)
                plan = make_plan(
                    grid, store, workers=pool.slots, max_stacked=max_stacked, memory_limit=memory_limit,
                    device=devices[0], retry_failed=retry_failed, runner=runner,
                )  # fmt: skip
                if engine == "local":
                    plan.check_here(device)
                kept = keep_groups(plan, grid, store, before)
            if plan.tasks:
                pool.preflight(store.path.absolute())
            keep_grid(grid, store, {"version": __version__, "engine": engine})
            driver = Driver(plan, grid, store, pool, attempts, interrupt)
            with Display(plan, store, enabled=progress) as display:
                driver.drive(display)
        except BaseException:
            pool.kill()
            raise
        pool.kill() if interrupt.now else pool.close()
    if len(list((store.path / "sealed").glob("*.parquet"))) > COMPACT_FROM:
        store.compact()
    records = store.records()
    status = {name: records[name].status if name in records else "missing" for name in plan.runs}
    failed = {name: records[name] for name, kind in status.items() if kind == "failed"}
    seconds = time.monotonic() - start
    causes, phases = tuple(driver.causes), dict(driver.phases)
    left = tuple(name for name in driver.left if status.get(name) not in ("done", "diverged", "failed"))
    return Outcome(plan, status, failed, interrupt.soon, seconds, causes, quarantined, phases, left)


@dataclass
class Driver:
    """Submits tasks to the pool and handles their results and failures."""

    plan: Plan
    grid: Grid
    store: Store
    pool: Pool
    attempts: int
    interrupt: Request
    waiting: list[Task] = field(default_factory=list)
    running: dict[int, Task] = field(default_factory=dict)
    deaths: dict[tuple[str, ...], int] = field(default_factory=dict)
    suspects: set[tuple[str, ...]] = field(
        default_factory=set
    )  # parts of a group of which one run is to blame
    refusals: dict[tuple[str, ...], int] = field(default_factory=dict)
    losses: dict[tuple[str, ...], int] = field(default_factory=dict)  # in a row, without a row more
    reached: dict[tuple[str, ...], tuple[int, int]] = field(default_factory=dict)  # the furthest so far
    left: list[str] = field(default_factory=list)  # runs that were lost too often
    causes: list[str] = field(default_factory=list)  # of the deaths, for the summary
    phases: Counter[str] = field(default_factory=Counter)  # where the workers' time went, in seconds
    count: int = 0
    asked_to_leave: bool = False

    def drive(self, display: Display) -> None:
        """Submit and collect tasks until all are done or the sweep is interrupted."""
        self.waiting = list(self.plan.tasks)
        while (self.waiting and not self.interrupt.soon) or self.running:
            if self.interrupt.now:
                return
            if self.interrupt.soon and self.running:  # also what waits in a cluster's queue
                self.waiting += [self.running.pop(number) for number in self.pool.withdraw()]
            if self.interrupt.leave and not self.asked_to_leave:
                self.asked_to_leave = True
                self.pool.leave()
            while self.waiting and not self.interrupt.soon and len(self.running) < self.pool.slots:
                self._submit(self.waiting.pop(0))
            for answer in self.pool.wait(0.1):
                self.deal(self.running.pop(answer["task"]), answer)
            display.update(self.interrupt.soon)

    def _submit(self, task: Task) -> None:
        self.count += 1
        self.running[self.count] = task
        message = {"task": self.count, "runner": self.plan.runner.name, "settings": list(task.settings)}
        message |= {"group": list(task.whole)}
        # absolute: a worker may have another working folder
        message |= {"store": str(self.store.path.absolute()), "experiment": self.grid.experiment}
        self.pool.submit({**message, "device": None})

    def deal(self, task: Task, answer: Answer) -> None:
        self.phases.update(answer.get("seconds", {}))
        if answer.get("kind") in (DIED, CRASHED):
            self.causes.append(answer["message"])
        # after an error all of a group are recorded as failed, and maybe one of them is to blame
        sealed = ("done", "diverged", "failed") if answer["ok"] else ("done", "diverged")
        left = remaining(task, self.store, sealed)
        if left is None:
            return
        key, kind = tuple(map(run_name, left.whole)), answer.get("kind", "error")
        if kind == "store":
            raise StoreError(f"the sweep stops: {answer['message']}; everything stored before is intact")
        if kind == "busy":
            self.wait_for_others(left)
            return
        if kind == DIED:
            self.deal_with_loss(left, key)
            return
        if kind == CRASHED:
            self.deaths[key] = self.deaths.get(key, 0) + 1
            if self.deaths[key] < (1 if key in self.suspects else self.attempts):
                self.waiting.insert(0, left)  # in the same group: another one would round differently
                return
        if len(key) > 1:  # one of them is to blame, or they are too many: find out which
            for name in left.runs:  # where the sweep ends before it is found, none of them counts as failed
                if self.store.status(name) == "failed":
                    with suppress(RunBusy):
                        self.store.discard(name)
            parts = split(left)
            self.suspects |= {tuple(part.runs) for part in parts if len(part.runs) > 1}
            self.waiting = parts + self.waiting
        elif self.store.status(key[0]) != "failed":
            self._record(left, answer)

    def deal_with_loss(self, left: Task, key: tuple[str, ...]) -> None:
        """Submit a task again whose worker, node or cluster was lost, in the same group.

        It is no attempt of its runs. Where it is lost `LOSSES` times in a row and no checkpoint more was
        written, its group may be too large for the machine: it is halved. A single run is left unfinished,
        for the next sweep.
        """
        sealed = len(key) - len(left.runs)
        reached = (sealed, sum(self.store.written(name) for name in left.runs))
        further = reached > self.reached.get(key, (-1, -1))
        self.losses[key] = 1 if further else self.losses[key] + 1
        self.reached[key] = max(reached, self.reached.get(key, reached))
        if self.losses[key] < LOSSES:
            self.waiting.insert(0, left)  # in the same group: another one would round differently
        elif len(key) > 1:
            self.waiting = split(left) + self.waiting
        else:
            self.left += left.runs

    def wait_for_others(self, task: Task) -> None:
        """Retry later the runs that another process is writing; run the rest after half the retries."""
        key = tuple(task.runs)
        self.refusals[key] = self.refusals.get(key, 0) + 1
        taken = [s for s in task.settings if self.store.status(run_name(s)) == "running"]
        free = [s for s in task.settings if s not in taken]
        if taken and free and self.refusals[key] > PATIENCE // 2:
            self.waiting.insert(0, part(task, free))
            task = part(task, taken)
            key = tuple(task.runs)
            self.refusals[key] = PATIENCE // 2
        if self.refusals[key] <= PATIENCE:
            time.sleep(0.05)
            self.waiting.append(task)

    def _record(self, task: Task, answer: Answer) -> None:
        """Record a run as failed whose worker could not record it."""
        text = answer.get("text") or answer.get("message") or "it ended without a result"
        writer, _ = self.store.resume(task.settings[0], experiment=self.grid.experiment)
        writer.seal("failed", error=text)


def grids_in(source: Store | str | Path) -> list[Grid]:
    """The grids that were swept into a store."""
    from scalinglab.sweep.plan import kept_grids

    if not Store.is_store(Store.of(source).path):
        raise BadInput(f"{Store.of(source).path} is not a store")
    return kept_grids(Store.of(source))
