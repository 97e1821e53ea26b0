"""How many processors there are to use."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _libraries(scipy: bool) -> Any:
    """Those that are loaded; SciPy brings its own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """A context in which linear algebra takes one thread.

    Threads of many small decompositions wait for each other: `answer` on 245 runs takes three times as much
    time with two of them, and on 16 cores that have other work 12 times as much.
    """
    limited: AbstractContextManager[Any] = _libraries("scipy.linalg" in sys.modules).limit(
        limits=1, user_api="blas"
    )
    return limited
