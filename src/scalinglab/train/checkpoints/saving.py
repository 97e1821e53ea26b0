"""States for resuming, written beside the training and not more often than their cost allows.

One thread writes; training goes on meanwhile. How often is set by what a state costs: the first one is
written when it is due and timed, and from then on all states together take at most `SHARE` of the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

SHARE = 0.02  # of the time, for all states of a device


class Saving:
    """Writes the states of the groups of one device.

    Args:
        every: Seconds between two states of a group, at least; 0 writes one at every checkpoint, whatever
            it costs.
    """

    def __init__(self, every: float) -> None:
        self.every = every
        self.began = time.monotonic()
        self.spent = 0.0  # seconds, on all states so far
        self.longest = 0.0  # seconds, of one state
        self._writer: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None
        self._writing: list[Callable[[], None]] = []  # what writes that state, with its tensors

    def due(self, since: float) -> bool:
        """Whether a group whose last state is from `since` (`time.monotonic`) may write another."""
        if self.every == 0:
            return True
        now = time.monotonic()
        if now - since < self.every or (self._last is not None and not self._last.done()):
            return False
        return self.spent + self.longest <= SHARE * (now - self.began)

    def write(self, write: Callable[[], None]) -> None:
        """Write a state; raises what went wrong with the one before.

        What `write` holds is freed by the thread that calls this, at the next state or at `wait`. A tensor in
        pinned memory records an event on its stream when it is freed: in the middle of a capture on that
        stream, which another thread cannot know of, the event would become a part of the graph, and the next
        pinned tensor that asks for it would fail.
        """
        self.wait()
        self._writing.append(write)
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1, thread_name_prefix="scalinglab-state")
        self._last = self._writer.submit(self._timed)

    def _timed(self) -> None:
        start = time.monotonic()
        try:
            self._writing[0]()
        finally:
            took = time.monotonic() - start
            self.spent += took
            self.longest = max(self.longest, took)

    def wait(self) -> None:
        """Wait for the state that is being written, and raise what went wrong with it."""
        last, self._last = self._last, None
        try:
            if last is not None:
                last.result()
        finally:
            self._writing.clear()

    def close(self) -> None:
        """Let the state that is being written be finished."""
        if self._writer is not None:
            self._writer.shutdown(wait=True)
