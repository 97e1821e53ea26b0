"""scalinglab: measure, explain and predict neural scaling laws.

Whatever makes learning curves (a theory, a simulation, a training run, somebody's logs) writes one
table, `Curves`; whatever fits, draws or plans reads it. Names are loaded when they are first used, so
that ``import scalinglab`` stays fast and needs neither pandas nor torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from scalinglab import (
        board,
        data,
        figures,
        laws,
        measure,
        nets,
        papers,
        readers,
        report,
        simulate,
        sweep,
        theory,
        train,
    )
    from scalinglab.curves import Curves
    from scalinglab.readers import read
    from scalinglab.spectrum import Spectrum
    from scalinglab.store import Store
    from scalinglab.train.tracker import Tracker

# public name -> (module, attribute); None stands for the module itself
_NAMES: dict[str, tuple[str, str | None]] = {
    "Curves": ("scalinglab.curves", "Curves"),
    "Spectrum": ("scalinglab.spectrum", "Spectrum"),
    "Store": ("scalinglab.store", "Store"),
    "Tracker": ("scalinglab.train.tracker", "Tracker"),
    "read": ("scalinglab.readers", "read"),
    **{
        room: (f"scalinglab.{room}", None)
        for room in (
            "board", "data", "figures", "laws", "measure", "nets", "papers",
            "readers", "report", "simulate", "sweep", "theory", "train",
        )
    },
}  # fmt: skip

__all__ = [
    "Curves", "Spectrum", "Store", "Tracker", "board", "data", "figures", "laws", "measure", "nets",
    "papers", "read", "readers", "report", "simulate", "sweep", "theory", "train",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'scalinglab' has no attribute {name!r}")
    module, attribute = _NAMES[name]
    loaded = importlib.import_module(module)
    value = loaded if attribute is None else getattr(loaded, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return ["__version__", *__all__]  # what a person may want to complete, not what this file imports
