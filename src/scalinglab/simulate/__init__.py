"""The solvable models at finite size, drawn at random and trained on this machine.

Each model is a submodule that is loaded when it is first used: ``scalinglab.simulate.perceptron`` and so on.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["perceptron", "random_features"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)  # what a person may want to complete, not what this file imports
