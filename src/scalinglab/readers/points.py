"""The metrics of a run while it is read, and the table made of them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable

import numpy as np
import pandas as pd

from scalinglab.curves.names import bare, measurement
from scalinglab.readers.tables.naming import is_known

MOST_NUMBERS = 50_000_000  # of the table of a run: 400 MB
MOST_VALUES = MOST_NUMBERS // 2  # of a run while it is read: 400 MB


class MetricPoints:
    """Metrics against steps, 16 bytes a value and at most `MOST_VALUES` whatever the log's size.

    Beyond that, metrics with unknown names are dropped, the last ones first.
    """

    def __init__(self) -> None:
        self._values: dict[str, tuple[array[int], array[float]]] = {}
        self._left_out: list[str] = []
        self._count = 0
        self._most: float = MOST_VALUES

    def __bool__(self) -> bool:
        return bool(self._values)

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics."""
        return list(self._values)

    def add(self, metric: str, step: int, value: float) -> None:
        """Add a value; a later one at the same step replaces it."""
        steps, values = self._values.get(metric) or self._begin(metric)
        steps.append(max(min(step, 2**62), -(2**62)))
        values.append(value)
        self._count += 1
        if self._count > self._most:
            self._leave_out()

    def _begin(self, metric: str) -> tuple[array[int], array[float]]:
        """Start the arrays of a metric; those of a dropped metric are not kept."""
        begun = array("q"), array("d")
        if metric in self._left_out:
            self._count -= 1
        else:
            self._values[metric] = begun
        return begun

    def _leave_out(self) -> None:
        unknown = [m for m in self._values if not is_known(m)]
        while self._count > self._most and unknown:
            self._drop(unknown.pop())
        if self._count > self._most:
            self._most = math.inf

    def _drop(self, metric: str) -> None:
        if metric not in self._left_out:
            self._left_out.append(metric)
        self._count -= len(self._values.pop(metric, ((),))[0])

    def extend(self, other: MetricPoints, rename: Callable[[str], str] = str) -> None:
        """Add all of another's values, under other names where `rename` gives them.

        A metric that either of the two dropped is dropped: a part of it would look complete.
        """
        for metric, (steps, values) in other._values.items():
            mine = self._values.get(rename(metric)) or self._begin(rename(metric))
            mine[0].extend(steps)
            mine[1].extend(values)
        for metric in other._left_out:
            self._drop(rename(metric))
        self._count = sum(len(steps) for steps, _ in self._values.values())
        if self._count > self._most:
            self._leave_out()

    def diverged(self) -> int | None:
        """The step from which on the loss is not finite, if it ends so; the training's where there is one.

        A loss that was evaluated now and then has NaN between, which is no divergence: a final gap counts
        only if it is longer than every other.
        """
        losses = [m for m in self._values if "loss" in bare(m).split("_")]
        losses.sort(key=lambda m: standard(m) != "train_loss")
        if not losses:
            return None
        steps, values = self._values[losses[0]]
        finite = np.flatnonzero(np.isfinite(np.frombuffer(values)))
        ends = np.diff(finite, prepend=-1, append=len(values)) - 1  # lengths of gaps, the last is the end
        return int(steps[len(values) - int(ends[-1])]) if ends[-1] > ends[:-1].max(initial=0) else None

    def frame(self) -> tuple[pd.DataFrame, list[str]]:
        """One row a step, and the metrics left out because the table would not fit into memory."""
        steps = {m: np.frombuffer(s, np.int64) for m, (s, _) in self._values.items()}
        every = np.unique(np.concatenate(list(steps.values()))) if steps else np.zeros(0, np.int64)
        known = sorted(steps, key=lambda m: (not is_known(m), -len(steps[m])))
        kept = set(known[: max(MOST_NUMBERS // max(len(every), 1), 1)])
        columns: dict[str, np.ndarray] = {"step": every}
        for metric in sorted(m for m in kept if bare(m) != "step"):
            column = np.full(len(every), np.nan)
            column[np.searchsorted(every, steps[metric])] = np.frombuffer(self._values[metric][1])
            columns[metric] = column
        return pd.DataFrame(columns), [*self._left_out, *(m for m in steps if m not in kept)]


def standard(metric: str) -> str:
    """The standard name of a metric: the plain loss of a log is the training's."""
    return "train_loss" if bare(metric) == "loss" else measurement(metric) or metric
