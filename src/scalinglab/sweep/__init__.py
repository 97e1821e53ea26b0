"""Grids of settings and the engines that run them: this machine's processes, or a Ray cluster.

>>> from scalinglab.sweep import Grid
>>> grid = Grid({"model": "cnn", "dataset": "digits", "epochs": 5}, axes={"n_data": [100, 200]}, seeds=3)
>>> len(grid.settings())
6

`run` does what is missing in the store, survives killed workers and a killed driver, and goes on where it
was interrupted.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalinglab.sweep.grid import Grid
    from scalinglab.sweep.plan import Plan, Task, make_plan
    from scalinglab.sweep.running import Outcome, SweepWarning, execute, run

__all__ = ["Grid", "Outcome", "Plan", "SweepWarning", "Task", "execute", "make_plan", "run"]

_ROOMS = {
    "Grid": "grid", "Plan": "plan", "Task": "plan", "make_plan": "plan",
    "Outcome": "running", "SweepWarning": "running", "execute": "running", "run": "running",
}  # fmt: skip


def __getattr__(name: str) -> Any:  # loaded on use: a worker starts without pandas
    if name not in _ROOMS:
        raise AttributeError(f"module 'scalinglab.sweep' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"scalinglab.sweep.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
