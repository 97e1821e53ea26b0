"""Train networks: one setting to one run's curves, many replicas at once, a tracker for other loops."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalinglab.train.engine import run, run_many
    from scalinglab.train.setting import Setting
    from scalinglab.train.tracker import Tracker

# PyTorch's allocator on ARM gives freed memory back to the system after 10 ms, and every step would ask for
# it again, page by page: a fifth of a step. It reads this when torch is first imported.
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "10000")  # ms

__all__ = ["Setting", "Tracker", "run", "run_many"]

_NAMES = {
    "Setting": "scalinglab.train.setting",
    "Tracker": "scalinglab.train.tracker",
    "run": "scalinglab.train.engine",
    "run_many": "scalinglab.train.engine",
}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'scalinglab.train' has no attribute {name!r}")
    import importlib

    from scalinglab.errors import require

    require("torch", "train", "training")
    value = getattr(importlib.import_module(_NAMES[name]), name)
    globals()[name] = value
    return value
