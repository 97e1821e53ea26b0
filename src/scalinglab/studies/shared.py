"""Work that entries share: done once in a process, and counted in every entry that uses it.

A function under `shared` is computed once for its arguments and for the store in which runs are kept. A
record names the seconds and the runs of its entry alone: `counted` adds those of shared results that an
earlier entry has computed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import ParamSpec, TypeVar

from scalinglab.studies import trained

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class Work:
    """What an entry or a shared result took.

    Attributes:
        parts: seconds of each shared result that it used, whenever that was computed, and of itself; none
            includes another.
        nested: seconds of the shared results that were computed within it.
        runs: behind it.
    """

    parts: dict[Hashable, float] = field(default_factory=dict)
    nested: float = 0.0
    runs: set[str] = field(default_factory=set)

    @property
    def seconds(self) -> float:
        """With all that it used, each once."""
        return sum(self.parts.values())


_WORK: ContextVar[Work | None] = ContextVar("what is being counted", default=None)


@contextmanager
def counted(name: Hashable) -> Iterator[Work]:
    """Count what is done inside, under this name; what encloses it counts the same parts."""
    work, around, start = Work(), _WORK.get(), time.perf_counter()
    token = _WORK.set(work)
    try:
        with trained.counted() as work.runs:
            yield work
    finally:
        _WORK.reset(token)
        elapsed = time.perf_counter() - start
        work.parts[name] = elapsed - work.nested
        if around is not None:
            around.parts |= work.parts
            around.nested += elapsed


def shared(function: Callable[P, R]) -> Callable[P, R]:
    """Keep what a function returns, with what it took; arguments must be hashable."""
    known: dict[Hashable, tuple[R, Work]] = {}

    @wraps(function)
    def once(*args: P.args, **kwargs: P.kwargs) -> R:
        key = (function.__module__, function.__name__, trained.run_storage(), args, *sorted(kwargs.items()))
        if key not in known:
            with counted(key) as work:
                found = function(*args, **kwargs)
            known[key] = found, work
            return found
        found, work = known[key]
        trained.count(work.runs)
        if (around := _WORK.get()) is not None:
            around.parts |= work.parts
        return found

    once.cache_clear = known.clear  # type: ignore[attr-defined]
    return once
