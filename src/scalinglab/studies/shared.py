"""Work that entries share: done once in a process, and counted in every entry that uses it.

A function under `shared` is computed once for its arguments and for the store in which runs are kept. A
record names the seconds and the runs of its entry alone, with those of shared results that an earlier entry
has computed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import ParamSpec, TypeVar

from scalinglab.studies import trained

P = ParamSpec("P")
R = TypeVar("R")


def shared(function: Callable[P, R]) -> Callable[P, R]:
    """Keep what a function returns, with what it took; arguments must be hashable."""
    known: dict[Hashable, tuple[R, trained.Work]] = {}

    @wraps(function)
    def once(*args: P.args, **kwargs: P.kwargs) -> R:
        key = (function.__module__, function.__name__, trained.run_storage(), args, *sorted(kwargs.items()))
        if key not in known:
            with trained.counted(key) as work:
                found = function(*args, **kwargs)
            known[key] = found, work
            return found
        found, work = known[key]
        trained.include(work)
        return found

    once.cache_clear = known.clear  # type: ignore[attr-defined]
    return once
