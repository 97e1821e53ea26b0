"""Runner: the functions of a module that executes the runs of a sweep, found by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from scalinglab.errors import BadInput, nearest

Setting = dict[str, Any]
RUNNERS = {"train": "scalinglab.sweep.training"}


def _nothing(*_: Any) -> None:
    """The default of an optional function of a runner."""


@dataclass(frozen=True)
class Runner:
    """The functions of a module that executes runs. Those with a default here are optional.

    Attributes:
        name: by which workers find it too.
        identity: (setting): the checked, complete setting, whose hash names the run.
        alike: (settings): those that can be done together, in groups.
        cost: (setting): how long a run takes, in units that only compare runs.
        memory: (setting, device): bytes that a run adds to a group.
        capacity: (device): the largest number of runs in a task.
        memory_limit: (device, workers): bytes that a task may take.
        devices: (): of this machine; None is the runner's choice.
        probe: (settings, device): `seconds` and `flops` of a task, from short trials, and maybe the seconds
            of these, `trials`.
        work: (settings, store, experiment, device, group): do runs into a store; `group` are all runs that
            were planned together, those done included.
        check_here: (settings, device): raise before the start if this machine cannot execute the runs.
        tell_changes: (settings, store): warn where the store has the same runs, made by code that has changed
            since.
        prepare: (settings, device): import and load what runs need, in a worker before its first task.
        trials: (tasks, workers, device, loading): what `probe` finds of some tasks, `tasks`, as many side by
            side as there are workers, and the seconds to the first step, `start_up`; `loading` are those that
            the driver of a sweep takes before it starts its workers.
    """

    name: str
    identity: Callable[[Mapping[str, Any]], Setting]
    alike: Callable[[Sequence[Setting]], list[list[Setting]]]
    cost: Callable[[Setting], float]
    memory: Callable[[Setting, str | None], float]
    capacity: Callable[[str | None], int]
    memory_limit: Callable[[str | None, int], float]
    devices: Callable[[], list[str | None]]
    probe: Callable[[Sequence[Setting], str | None], dict[str, Any]]
    work: Callable[..., None]
    check_here: Callable[..., None] = _nothing
    tell_changes: Callable[..., None] = _nothing
    prepare: Callable[..., None] | None = None
    trials: Callable[..., dict[str, Any]] | None = None


def load(name: str) -> Runner:
    """A runner by its name: `train`, or the dotted name of a module with the same functions."""
    path = RUNNERS.get(name, name)
    try:
        if not all(part.isidentifier() for part in path.split(".")):  # a path, a relative name, nothing
            raise ModuleNotFoundError(name=path)
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is not None and not path.startswith(error.name):
            raise
        raise BadInput(f"no runner {name!r}; {nearest(name, RUNNERS)} or a module's dotted name") from error
    functions = [f for f in fields(Runner) if f.name != "name"]
    found = {f.name: getattr(module, f.name) for f in functions if hasattr(module, f.name)}
    if missing := [f.name for f in functions if f.default is MISSING and f.name not in found]:
        raise BadInput(f"{name!r} is no runner: it lacks {', '.join(missing)}")
    return Runner(name, **found)
