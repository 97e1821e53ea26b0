"""Progress of long computations, on stderr and only in an interactive terminal."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

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
    size = path.stat().st_size
    with path.open("rb", buffering=0) as file:
        if size < LARGE or not sys.stderr.isatty():
            yield io.BufferedReader(file, 1 << 20)
            return
        with reading(path.name, size) as advance:
            yield io.BufferedReader(_Counted(file, advance), 1 << 20)


class _Counted(io.RawIOBase):
    """A file that reports how many bytes were read from it."""

    def __init__(self, file: io.RawIOBase | io.FileIO, advance: Callable[[int], None]) -> None:
        self._file, self._advance = file, advance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer) or 0
        self._advance(count)
        return count
