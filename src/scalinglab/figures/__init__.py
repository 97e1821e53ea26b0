"""Matplotlib figures from curves and laws.

Each kind is a submodule that is loaded when it is first used: ``scalinglab.figures.laws`` and so on.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["collapse", "laws", "style"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
