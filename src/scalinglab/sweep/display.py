"""The live display of a sweep: counts of the runs in the store, whichever process wrote them."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from scalinglab.store import Store
from scalinglab.sweep.plan import Plan

if TYPE_CHECKING:
    from rich.live import Live


class Display:
    """Runs done, running and failed, throughput and time left, on stderr in an interactive terminal."""

    def __init__(self, plan: Plan, store: Store, enabled: bool = True) -> None:
        self.plan, self.store = plan, store
        self.enabled = enabled and sys.stderr.isatty()
        self.start = self.shown = time.monotonic()
        self.cost = {run: task.cost / len(task.settings) for task in plan.tasks for run in task.runs}
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self.enabled:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, ending: bool = False) -> None:
        """Refresh the display, at most once a second."""
        if self._live is None or time.monotonic() - self.shown < 1:
            return
        self.shown = time.monotonic()
        self._live.update(self.render(self.state(), ending), refresh=True)

    def state(self) -> dict[str, Any]:
        """Counts of runs and checkpoints, runs a minute, and seconds left (None while nothing is done)."""
        records = self.store.records()
        mine = {run: records[run].status for run in self.plan.runs if run in records}
        ended = {run for run, status in mine.items() if status in ("done", "diverged", "failed")}
        new = [run for run in ended if run in self.cost]
        elapsed = self.shown - self.start
        finished = sum(self.cost[run] for run in new)
        left = sum(self.cost.values()) - finished
        return {
            "total": len(self.plan.runs),
            "done": sum(status in ("done", "diverged") for status in mine.values()),
            "running": sum(status == "running" for status in mine.values()),
            "failed": sum(status == "failed" for status in mine.values()),
            "rows": sum(records[run].rows or 0 for run in mine),
            "rate": 60 * len(new) / elapsed if elapsed else 0.0,
            "left": elapsed * left / finished if finished else None,
        }

    @staticmethod
    def render(state: dict[str, Any], ending: bool = False) -> str:
        """The state in one or two lines."""
        share = (state["done"] + state["failed"]) / max(1, state["total"])
        bar = "━" * round(30 * share) + "╌" * (30 - round(30 * share))
        text = f"{bar} {state['done']}/{state['total']} runs done, {state['running']} running"
        text += f", {state['failed']} failed" if state["failed"] else ""
        text += f" · {state['rows']:,} checkpoints"  # it moves while long runs end all at once
        text += f" · {state['rate']:.3g} runs/min" if state["rate"] else ""
        text += f" · {clock(state['left'])} left" if state["left"] is not None else ""
        return text + ("\nfinishing what runs; Ctrl-C again stops at once" if ending else "")


def clock(seconds: float) -> str:
    """A duration as readable text.

    >>> clock(75), clock(7260)
    ('1 min 15 s', '2 h 01 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
