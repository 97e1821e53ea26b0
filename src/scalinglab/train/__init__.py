"""Train networks: one setting to one run's curves, many replicas at once, a tracker for other loops."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from scalinglab.errors import require
from scalinglab.support.lazy import lazily

if TYPE_CHECKING:
    from scalinglab.train.engine import run, run_many
    from scalinglab.train.setting import Setting
    from scalinglab.train.tracker import Tracker

# PyTorch's allocator on ARM gives freed memory back to the system after 10 ms, and every step would ask for
# it again, page by page: a fifth of a step. It reads this when torch is first imported.
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "10000")  # ms

__all__ = ["Setting", "Tracker", "run", "run_many"]

_load, __dir__ = lazily(
    __name__,
    {
        "Setting": "setting", "Tracker": "tracker", "run": "engine",
        "run_many": "engine",
    },
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in __all__:
        require("torch", "train", "training")
    return _load(name)
