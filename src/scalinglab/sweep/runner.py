"""Runner: the interface of a module that executes the runs of a sweep, found by name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from scalinglab.errors import BadInput, nearest

if TYPE_CHECKING:
    from scalinglab.store import Store

Setting = dict[str, Any]
RUNNERS = {"train": "scalinglab.sweep.training"}
NEEDED = ("identity", "alike", "cost", "memory", "capacity", "memory_limit", "devices", "probe", "work")


@dataclass(frozen=True)
class Runner:
    """A module that executes runs; `load` resolves it once per sweep.

    The module has the functions of `NEEDED`, with the arguments of the methods here. `check_here`,
    `tell_changes`, `prepare` and `trials` may be missing, `work` may lack the parameter `group`, `memory`
    and `probe` the parameter `device`.

    Attributes:
        name: by which workers find it too.
        module: with the functions.
    """

    name: str
    module: ModuleType

    def identity(self, setting: Mapping[str, Any]) -> Setting:
        """The checked, complete setting, whose hash names the run."""
        return dict(self.module.identity(setting))

    def alike(self, settings: Sequence[Setting]) -> list[list[Setting]]:
        """Settings that can be done together, in groups."""
        return list(self.module.alike(settings))

    def cost(self, setting: Setting) -> float:
        """How long a run takes, in units that only compare runs."""
        return float(self.module.cost(setting))

    def memory(self, setting: Setting, device: str | None = None) -> float:
        """Bytes that a run adds to a group."""
        return float(self._placed("memory", setting, device))

    def capacity(self, device: str | None) -> int:
        """The largest number of runs in a task."""
        return int(self.module.capacity(device))

    def memory_limit(self, device: str | None, workers: int) -> float:
        """Bytes that a task may take."""
        return float(self.module.memory_limit(device, workers))

    def devices(self) -> list[str | None]:
        """The devices of this machine; None is the runner's choice."""
        return list(self.module.devices())

    def probe(self, settings: Sequence[Setting], device: str | None = None) -> dict[str, Any]:
        """`seconds` and `flops` of a task, from short trials, and maybe the seconds of these, `trials`."""
        return dict(self._placed("probe", settings, device))

    def _placed(self, name: str, what: Any, device: str | None) -> Any:
        """What a function of the module returns, with the device where it takes one."""
        function = getattr(self.module, name)
        return (
            function(what, device) if "device" in inspect.signature(function).parameters else function(what)
        )

    def check_here(self, settings: Sequence[Setting], device: str | None) -> None:
        """Raise before the start if this machine cannot execute the runs."""
        if hasattr(self.module, "check_here"):
            self.module.check_here(settings, device)

    def tell_changes(self, settings: Sequence[Setting], store: Store) -> None:
        """Warn where the store has the same runs, made by code that has changed since."""
        if hasattr(self.module, "tell_changes"):
            self.module.tell_changes(settings, store)

    def prepare(self, settings: Sequence[Setting], device: str | None) -> None:
        """Import and load what runs need, in a worker before its first task."""
        if hasattr(self.module, "prepare"):
            self.module.prepare(settings, device)

    def trials(
        self, tasks: Sequence[Sequence[Setting]], workers: int, device: str | None, loading: float
    ) -> dict[str, Any]:
        """What `probe` finds of some tasks, `tasks`, and the seconds to the first step, `start_up`.

        Args:
            tasks: their settings.
            workers: how many of them to try side by side.
            device: where they compute.
            loading: seconds that the driver of a sweep takes before it starts its workers.
        """
        if hasattr(self.module, "trials"):
            return dict(self.module.trials(tasks, workers, device, loading))
        return {"tasks": [self.probe(settings, device) for settings in tasks], "start_up": loading}

    def work(
        self, settings: Sequence[Setting], store: Store, *, group: Sequence[Setting], **options: Any
    ) -> None:
        """Do runs into a store; `group` are all runs that were planned together, those done included."""
        if "group" in inspect.signature(self.module.work).parameters:
            options["group"] = group
        self.module.work(settings, store, **options)


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
    if missing := [function for function in NEEDED if not hasattr(module, function)]:
        raise BadInput(f"{name!r} is no runner: it lacks {', '.join(missing)}")
    return Runner(name, module)
