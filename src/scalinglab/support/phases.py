"""Where the host's time goes while networks train: seconds by phase, for benchmarks and for `--json`.

    with phase("build"):
        ...

Phases do not nest: what an inner one takes is not counted for the outer one.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS: defaultdict[str, float] = defaultdict(float)
_inner: list[float] = []  # seconds of the phases inside those that are open


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Count the time of this block."""
    start = time.perf_counter()
    _inner.append(0.0)
    try:
        yield
    finally:
        took = time.perf_counter() - start
        SECONDS[name] += took - _inner.pop()
        if _inner:
            _inner[-1] += took
