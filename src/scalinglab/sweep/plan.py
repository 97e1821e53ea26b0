"""Planning a sweep: missing runs, tasks, their order, and the estimated cost.

Runs that can be trained together are packed into tasks. A task fits into memory, and tasks are small enough
to keep all workers busy. Costly tasks start first, so that no worker is left with a long run at the end. The
groups are kept in the store, so that an interrupted sweep goes on in the same groups and gives the same bits.
"""

from __future__ import annotations

import heapq
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from scalinglab.curves import plain, run_name
from scalinglab.curves.columns import varying
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.store import Damaged, Store, StoreWarning
from scalinglab.store.checked import read_checked, write_checked
from scalinglab.store.files import quarantine
from scalinglab.support.validation import checked
from scalinglab.support.work import cores
from scalinglab.sweep.grid import Grid, Setting
from scalinglab.sweep.runner import RUNNERS, Runner, load

PROBES = 6  # tasks that a dry run times
BALANCE = 1.1  # a group that costs this many times a worker's share of everything is split
Measure = Callable[[Setting], float]  # of a run: its cost, its memory


@dataclass(frozen=True)
class Task:
    """Runs that one worker executes together.

    Attributes:
        settings: of the runs that are to be done.
        cost, memory: of these runs, and of the whole group.
        group: all runs that were planned to train together, finished ones included: a stack of another size
            rounds differently, so finished runs are trained again beside the others.
    """

    settings: tuple[Setting, ...]
    cost: float
    memory: float
    group: tuple[Setting, ...] = ()

    @property
    def whole(self) -> tuple[Setting, ...]:
        """The group; the runs themselves where nothing else belongs to it."""
        return self.group or self.settings

    @property
    def runs(self) -> list[str]:
        """The names of its runs."""
        return [run_name(setting) for setting in self.settings]


@dataclass(frozen=True)
class Plan(Worded):
    """A sweep before it starts.

    Attributes:
        runs: every run of the grid, by name, with its full setting.
        done, failed: names of runs that are in the store already, and are not done again.
        tasks: what is left, the costly first.
        groups: names of the runs that train together, fixed when the grid is first swept into a store.
    """

    runs: dict[str, Setting]
    done: tuple[str, ...]
    failed: tuple[str, ...]
    tasks: tuple[Task, ...]
    workers: int
    runner: Runner
    groups: tuple[tuple[str, ...], ...] = ()

    @property
    def varied(self) -> set[str]:
        """The settings that differ between the runs."""
        return set(varying(self.runs.values()))

    @property
    def missing(self) -> list[str]:
        """Names of the runs that are left to do."""
        return [run for task in self.tasks for run in task.runs]

    def check_here(self, device: str | None) -> None:
        """Raise before the start if this machine cannot execute the runs."""
        self.runner.check_here([setting for task in self.tasks for setting in task.settings], device)

    @property
    def remarks(self) -> Iterator[Remark]:
        counts = {"done": len(self.done), "failed": len(self.failed), "missing": len(self.missing)}
        yield Reason("sweep_plan", runs=len(self.runs), **counts)
        if self.tasks:
            yield Reason(
                "sweep_tasks", tasks=len(self.tasks), workers=self.workers,
                largest=max(len(task.settings) for task in self.tasks),
                memory=max(1.0, *(task.memory / 1e6 for task in self.tasks)),
            )  # fmt: skip
        if self.failed:
            yield Reason("sweep_failed")

    def estimate(self, device: str | None = None, loading: float = 0.0) -> dict[str, Any]:
        """FLOPs and seconds of what is left, start of the workers included, from short trials of a few tasks.

        The time of a task that was not timed is proportional to its planned cost. Trials run side by side, as
        many as the sweep has workers, at most one a processor.

        Args:
            device: where the tasks compute.
            loading: seconds that the driver of the sweep takes before it starts its workers.
        """
        if not self.tasks:
            return {"flops": 0.0, "seconds": 0.0, "start_up": 0.0, "timed": 0, "trials": []}
        beside = min(self.workers, cores())  # trials run on this machine, the sweep maybe on many
        count = beside * math.ceil(PROBES / beside)  # each has trials until the end
        chosen = sorted({round(k * (len(self.tasks) - 1) / (count - 1)) for k in range(count)})
        settings = [list(self.tasks[k].settings) for k in chosen]
        if self.runner.trials is not None:
            trials = self.runner.trials(settings, beside, device, loading)
        else:
            trials = {"tasks": [self.runner.probe(one, device) for one in settings], "start_up": loading}
        timed = dict(zip(chosen, trials["tasks"], strict=True))
        cost = sum(self.tasks[k].cost for k in chosen)
        rate, flops = (sum(each[what] for each in timed.values()) / cost for what in ("seconds", "flops"))
        seconds = [
            timed[k]["seconds"] if k in timed else rate * task.cost for k, task in enumerate(self.tasks)
        ]
        return {
            "flops": flops * sum(task.cost for task in self.tasks),
            "seconds": trials["start_up"] + _end_of(seconds, self.workers),
            "start_up": trials["start_up"],
            "timed": len(chosen),
            "trials": [each for found in timed.values() for each in found.get("trials", ())],
        }


def _end_of(seconds: Sequence[float], workers: int) -> float:
    """When the last task ends, where each worker takes the next task as soon as it is free."""
    ends = [0.0] * workers
    for each in seconds:
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)


@checked
def make_plan(
    grid: Grid,
    store: Store | None = None,
    *,
    workers: int = 1,
    max_stacked: int | None = None,
    memory_limit: float | None = None,
    device: str | None = None,
    retry_failed: bool = False,
    runner: Runner | None = None,
) -> Plan:
    """Plan the runs of a grid that the store lacks.

    Args:
        workers: how many tasks run at a time.
        max_stacked: the largest number of runs in a task; default: chosen by the runner.
        memory_limit: bytes that one task may use; default: the machine's free memory.
        device: where tasks compute; default: the runner's choice.
        retry_failed: also do again the runs that failed.
        runner: that of the grid, where it is loaded already.
    """
    if max_stacked is not None and max_stacked < 1:
        raise BadInput(f"max_stacked={max_stacked} must be at least 1")
    runner = runner or load(grid.runner)

    def memory(setting: Setting) -> float:
        return runner.memory(setting, device)

    runs: dict[str, Setting] = {}
    for setting in grid.settings():
        full = plain(runner.identity(setting))
        runs[run_name(full)] = full
    if store is not None:
        runner.tell_changes(list(runs.values()), store)
    records = store.records() if store is not None else {}
    status = {run: records[run].status for run in runs if run in records}
    done = tuple(run for run in runs if status.get(run) in ("done", "diverged"))
    failed = () if retry_failed else tuple(run for run in runs if status.get(run) == "failed")
    todo = [setting for run, setting in runs.items() if run not in {*done, *failed}]
    kept = kept_groups(grid, store) if store is not None else []
    grouped = {run for group in kept for run in group}
    groups: list[Sequence[Setting]] = []
    groups += [[runs[run] for run in group if run in runs and run not in failed] for group in kept]
    if max_stacked or memory_limit:  # asked for: it counts more than the bits
        groups = _fitting(groups, memory, max_stacked or len(runs), memory_limit or math.inf)
    new = [setting for setting in todo if run_name(setting) not in grouped]
    size = max_stacked or runner.capacity(device)
    limit = memory_limit or runner.memory_limit(device, workers)
    most = math.inf if max_stacked else BALANCE * sum(map(runner.cost, new)) / workers
    for alike in runner.alike(new) if new else []:
        share = max(1, min(size, math.ceil(len(alike) / workers)))
        ordered = sorted(alike, key=runner.cost)  # those that end together stay together
        for group in _fitting([ordered], memory, share, limit):
            groups += _balanced(group, runner, most)
    tasks = [task for group in groups if (task := _task(group, runner.cost, memory, {*done}))]
    tasks.sort(key=lambda task: -task.cost)
    names = tuple(tuple(map(run_name, group)) for group in groups)
    return Plan(runs, done, failed, tuple(tasks), workers, runner, names)


def _fitting(
    groups: Sequence[Sequence[Setting]], memory: Measure, size: int, limit: float
) -> list[Sequence[Setting]]:
    """Groups of at most `size` runs, and smaller ones where memory does not hold them together."""
    found: list[Sequence[Setting]] = []
    for group in groups:
        for start in range(0, len(group), size):
            found += _halved(group[start : start + size], memory, limit)
    return found


def _halved(group: Sequence[Setting], memory: Measure, limit: float) -> list[Sequence[Setting]]:
    if len(group) > 1 and limit < math.inf and sum(map(memory, group)) > limit:
        half = len(group) // 2
        return _halved(group[:half], memory, limit) + _halved(group[half:], memory, limit)
    return [group]


def _balanced(group: Sequence[Setting], runner: Runner, most: float) -> list[Sequence[Setting]]:
    """Split a group until each part costs at most a worker's share."""
    costs = list(accumulate(map(runner.cost, group)))
    if len(group) == 1 or costs[-1] <= most:
        return [group]
    middle = 1 + min(range(len(group) - 1), key=lambda k: abs(costs[k] - costs[-1] / 2))
    return _balanced(group[:middle], runner, most) + _balanced(group[middle:], runner, most)


def _task(group: Sequence[Setting], cost: Measure, memory: Measure, done: set[str]) -> Task | None:
    """What is left to do of a group."""
    left = tuple(setting for setting in group if run_name(setting) not in done)
    return Task(left, sum(map(cost, left)), sum(map(memory, left)), tuple(group)) if left else None


def split(task: Task) -> list[Task]:
    """Two halves of a task, which together cost what it did."""
    half = len(task.settings) // 2
    return [part(task, settings) for settings in (task.settings[:half], task.settings[half:]) if settings]


def part(task: Task, settings: Sequence[Setting]) -> Task:
    """Some of a task's runs by themselves, with their share of its cost."""
    share = len(settings) / len(task.settings)
    return Task(tuple(settings), task.cost * share, task.memory * share)


def remaining(task: Task, store: Store, statuses: Sequence[str] = ("done", "diverged")) -> Task | None:
    """The runs of a task that the store does not have yet, as a task; None where there are none."""
    left = tuple(s for s in task.settings if store.status(run_name(s)) not in statuses)
    return replace(part(task, left), group=task.whole) if left else None


def _kept(grid: Grid, store: Store, ending: str) -> Path:
    """The file that keeps something about a grid in a store."""
    name = run_name({"grid": json.dumps(plain(grid.to_dict()), sort_keys=True)})
    return store.path / "grids" / f"{name}.{ending}"


def keep_groups(plan: Plan, grid: Grid, store: Store, before: Sequence[Sequence[str]]) -> bool:
    """Keep which runs train together, so that a sweep that goes on gives the bits of one without a stop.

    Returns False, and keeps nothing, where the groups in the store are no longer those of `before`.
    """
    text = json.dumps(plan.groups).encode()
    with store.locked():
        if kept_groups(grid, store) != before:
            return False
        write_checked(_kept(grid, store, "groups"), lambda file: file.writelines([text]))
    return True


def kept_groups(grid: Grid, store: Store) -> list[list[str]]:
    """The groups that an earlier sweep of this grid kept; none where it kept none, or the file is damaged."""
    path = _kept(grid, store, "groups")
    try:
        return [list(group) for group in json.loads(bytes(read_checked(path)))]
    except FileNotFoundError:
        return []
    except Damaged as error:
        moved = quarantine(path, store.path)
        warnings.warn(f"{error}; moved to {moved}: runs are grouped anew", StoreWarning, stacklevel=2)
        return []


def keep_grid(grid: Grid, store: Store, context: Mapping[str, Any]) -> None:
    """Save a grid in the store, so that the sweep can be repeated from it."""
    document = {"grid": plain(grid.to_dict()), **context, "started": time.time()}
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    path = _kept(grid, store, "json")
    with store.locked():
        if not path.exists():
            write_checked(path, lambda file: file.writelines([text.encode()]))


def planned_runs(grid: Grid) -> set[str]:
    """The names of a grid's runs; a custom runner is not imported to complete their settings."""
    complete = load(grid.runner).identity if grid.runner in RUNNERS else dict
    return {run_name(plain(complete(setting))) for setting in grid.settings()}


def kept_grids(store: Store) -> list[Grid]:
    """The grids that were swept into a store, the oldest first."""
    documents = []
    for path in (store.path / "grids").glob("*.json"):
        try:
            document = json.loads(bytes(read_checked(path)))
            documents.append((float(document["started"]), path.name, Grid.from_dict(document["grid"])))
        except (Damaged, ValueError, KeyError, TypeError) as error:
            raise ScalinglabError(
                f"{path} is damaged ({error}): remove it; a sweep with its grid keeps it anew"
            ) from error
    if not documents:
        raise BadInput(f"{store.path} keeps no grid: no sweep was run into it")
    return [grid for *_, grid in sorted(documents, key=lambda found: found[:2])]
