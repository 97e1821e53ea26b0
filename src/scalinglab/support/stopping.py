"""SIGTERM and Ctrl-C as a request, which whoever works reads when nothing is half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

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
