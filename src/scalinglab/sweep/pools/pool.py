"""Pool: the interface between the driver of a sweep and an engine, and their messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

Task = dict[str, Any]
Answer = dict[str, Any]
DIED = "died"  # what ran the task was lost: infrastructure, which never counts against a run
CRASHED = "crashed"  # the worker ended itself in the task's code (a segmentation fault, an abort, exit)


class Pool(ABC):
    """Workers that execute tasks, on this machine or on others.

    A task is a JSON object; its number, `task`, comes back in the answer. An answer has `ok`; where that is
    false, `kind` and `message`:

    - `error`, `memory`: the run's own exception, and too little memory for its group;
    - `CRASHED`: the worker's process ended itself, in the run's code;
    - `DIED`: infrastructure. The worker was killed from outside (preemption, out of memory by whoever's
      fault), its node, its raylet or the whole cluster is gone. What cannot be told from this counts here;
    - `busy`: another process writes the run; `store`: the store cannot be written.

    Only the first two kinds can make a run failed. A pool promises:

    - one answer to every task that was submitted and not withdrawn, whatever becomes of its worker or host;
    - a task is done once: a pool never submits it again by itself, the driver decides that;
    - the death of one worker costs the task of that worker and no other;
    - a task runs in a process of its own, so that a crash does not end the driver;
    - after `close` or `kill` no worker is left behind.

    `tests/sweep/contract.py` tests these; another implementation inherits the tests.
    """

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many tasks run at a time; more are not submitted. It may change."""

    def preflight(self, store: Path) -> None:
        """Raise `StoreError` where a machine does not see the store's folder."""
        del store  # all workers are on this machine

    @abstractmethod
    def submit(self, task: Task) -> None:
        """Start a task and return at once."""

    @abstractmethod
    def wait(self, seconds: float) -> list[Answer]:
        """Results received so far; waits for the first one, up to the timeout."""

    def withdraw(self) -> list[int]:
        """Take back tasks that no worker has begun, where the pool can tell: they get no answer."""
        return []

    def leave(self) -> None:  # noqa: B027 (to do nothing is a way)
        """Ask workers to save the states of what they do and to end; by default they finish their tasks."""

    @abstractmethod
    def close(self) -> None:
        """Shut down idle workers."""

    @abstractmethod
    def kill(self) -> None:
        """Stop all workers at once; running tasks return no result."""
