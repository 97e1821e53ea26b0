"""Grids of settings and the engines that run them: this machine's processes, Ray, Slurm.

>>> from scalinglab.sweep import Grid
>>> grid = Grid({"model": "cnn", "dataset": "digits", "epochs": 5}, axes={"n_data": [100, 200]}, seeds=3)
>>> len(grid.settings())
6

`run` executes the runs that are missing in the store. It tolerates killed workers and a killed driver, and
an interrupted sweep continues where it stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalinglab.support.lazy import lazily

if TYPE_CHECKING:
    from scalinglab.sweep.driver import Outcome, SweepWarning, execute, run
    from scalinglab.sweep.grid import Grid
    from scalinglab.sweep.plan import Plan, Task, make_plan

__all__ = ["Grid", "Outcome", "Plan", "SweepWarning", "Task", "execute", "make_plan", "run"]

__getattr__, __dir__ = lazily(  # a worker starts without pandas
    __name__,
    {
        "Grid": "grid", "Outcome": "driver", "Plan": "plan", "SweepWarning": "driver", "Task": "plan",
        "execute": "driver", "make_plan": "plan", "run": "driver",
    },
)  # fmt: skip
