"""Long work: its progress on an interactive stderr, its phases, its processors, and requests to stop it."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

T = TypeVar("T")
LARGE = 16 << 20  # bytes of a file from which on a bar is shown


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yield the items with a progress bar that shows the rate and the time left."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(items, description, total=total, console=Console(stderr=True), transient=True)


@contextmanager
def reading(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar of bytes; call what it gives with the number of bytes read."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(description), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """The bytes of a file, with a bar of those read where it is large."""
    if path.stat().st_size < LARGE or not sys.stderr.isatty():
        with path.open("rb", buffering=0) as file:
            yield io.BufferedReader(file, 1 << 20)
        return
    from rich.console import Console
    from rich.progress import open as open_with_bar

    bar: dict[str, Any] = {"console": Console(stderr=True), "transient": True, "description": path.name}
    with open_with_bar(path, "rb", buffering=0, **bar) as raw:  # counts what it reads: here in blocks
        yield io.BufferedReader(cast(io.RawIOBase, raw), 1 << 20)


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _libraries(scipy: bool) -> Any:
    """The thread pools of loaded libraries; SciPy has its own."""
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


# seconds of the host by phase while networks train, for benchmarks and for `--json`
SECONDS: defaultdict[str, float] = defaultdict(float)
_inner: list[float] = []  # seconds of the phases inside those that are open


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Count the time of this block, less that of phases inside it."""
    start = time.perf_counter()
    _inner.append(0.0)
    try:
        yield
    finally:
        took = time.perf_counter() - start
        SECONDS[name] += took - _inner.pop()
        if _inner:
            _inner[-1] += took


# of the KeyboardInterrupt that ends a Python program
STOPPED = "the runs are stopped and their states saved; the same call with the same store goes on from there"


@dataclass
class Request:
    """Whether this process was asked to end.

    Attributes:
        soon: by Ctrl-C or SIGTERM.
        leave: by SIGTERM: whoever sent it waits half a minute or less, as Slurm does.
        now: by a second Ctrl-C.
    """

    soon: bool = False
    leave: bool = False
    now: bool = False


@contextmanager
def requests(wanted: bool = True) -> Iterator[Request]:
    """Record signals in place of what they do otherwise; in the main thread, others get none.

    Args:
        wanted: whether to record anything.
    """
    request = Request()

    def record(number: int, _: Any) -> None:
        if number == signal.SIGINT:
            request.now = request.soon and not request.leave
        else:
            request.leave = True
        request.soon = True

    if not wanted or threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, record) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_by_sigterm() -> None:
    """End this process as SIGTERM ends one that does not listen, so that its parent knows what it was."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.raise_signal(signal.SIGTERM)
