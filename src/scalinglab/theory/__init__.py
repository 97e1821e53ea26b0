"""Exact solutions of the solvable models: perceptron, kernels, random features, mean-field dynamics.

Each model is a submodule that is loaded when it is first used: ``scalinglab.theory.perceptron`` and so on.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "bottlenecks",
    "dmft",
    "infinite_width",
    "kernel",
    "manifolds",
    "perceptron",
    "random_features",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)  # what a person may want to complete, not what this file imports
