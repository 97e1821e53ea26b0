"""The optimal SGD noise of a family of networks (Park et al. 2019, section 3.1).

For every width, runs at several noise scales are averaged over seeds; the best interval holds all noise
scales, next to each other around the best one, whose mean accuracy is within two standard errors of the best.
Its middle is the optimal noise ḡ_opt(w), fitted by ḡ_opt = a w with the R² of that line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput


@dataclass(frozen=True)
class OptimalNoise:
    """Best noise interval per width, and the line through the middles.

    Attributes:
        width: (widths,), increasing.
        noise: (widths,), the middle of each interval.
        low, high: (widths,), its ends.
        accuracy: (widths,), the best mean accuracy.
        stderr: (widths,), its standard error.
        edge: (widths,), whether the interval ends where the search did: the optimum may lie outside.
        slope, slope_error: a of noise = a · width, and one standard error from the scatter about the line.
        r_squared: 1 - Σ(noise - a·width)²/Σ(noise - mean)².
        failed: (widths,), share of runs that did not train; they are not in the means.
    """

    width: np.ndarray
    noise: np.ndarray
    low: np.ndarray
    high: np.ndarray
    accuracy: np.ndarray
    stderr: np.ndarray
    edge: np.ndarray
    slope: float
    slope_error: float
    r_squared: float
    failed: np.ndarray

    def summary(self) -> str:
        """A table in lines."""
        lines = [f"{'width':>8} {'noise':>10} {'interval':>22} {'accuracy':>18}"]
        for i, width in enumerate(self.width):
            note = "  *" if self.edge[i] else ""
            ends = f"[{self.low[i]:.4g}, {self.high[i]:.4g}]"
            accuracy = f"{self.accuracy[i]:.4f} ± {self.stderr[i]:.4f}"
            lines.append(f"{width:>8g} {self.noise[i]:>10.4g} {ends:>22} {accuracy:>18}{note}")
        if self.edge.any():
            lines.append("* the interval reaches the end of the search: the optimum may lie outside")
        lines.append(
            f"noise = a · width: a = {self.slope:.4g} ± {self.slope_error:.2g}, R² = {self.r_squared:.3f}"
        )
        return "\n".join(lines)


def optimal_noise(
    curves: Curves,
    *,
    x: str = "normalized_noise_scale",
    y: str | None = None,
    width: str = "width",
    standard_errors: float = 2.0,
    trained_above: float = 0.2,
) -> OptimalNoise:
    """The best noise interval of every width, and the slope of noise against width.

    Args:
        curves: runs at several widths, noise scales and seeds; the last checkpoint of each run counts.
        x: the column of the noise scale: `normalized_noise_scale`, or any other quantity to be searched for
            its best value (`batch_size`, `learning_rate`).
        y: `test_accuracy` (larger is better), or a column whose name ends in `error` or `loss` (smaller is
            better; an error counts as 1 - accuracy); by default the first of test_accuracy, test_error.
        width: the column of the width.
        standard_errors: how far below the best mean still counts as best.
        trained_above: runs that end at or below this accuracy did not train and are left out (Park et al.
            take 0.2 for ten classes). Not applied to losses.
    """
    column = y or next((c for c in ("test_accuracy", "test_error") if c in curves.frame), "test_error")
    for name in (x, column, width):
        curves[name]  # says which column is missing, and the nearest
    last = _last_checkpoints(curves, [x, width])
    score = last[column].to_numpy(float)
    if column.endswith("error"):
        score = 1 - score
    elif column.endswith("loss"):
        score = -score
    trained = np.isfinite(score) & ~curves.has_diverged[last.index]
    if not column.endswith("loss"):
        trained &= score > trained_above
    widths = np.unique(last[width].to_numpy(float))
    rows = []
    for value in widths:
        chosen = (last[width] == value).to_numpy()
        if not np.any(chosen & trained):
            raise BadInput(
                f"no run of {width} = {value:g} trained: every one ends at {column} no better than chance"
            )
        noise = last[x].to_numpy(float)
        found = best_interval(noise[chosen & trained], score[chosen & trained], standard_errors)
        rows.append((*found, float(np.mean(~trained[chosen]))))
    low, high, best, stderr, edge, failed = (np.array(c) for c in zip(*rows, strict=True))
    middle = (low + high) / 2
    slope, error, r_squared = _line(widths, middle)
    sign = -1.0 if column.endswith("loss") else 1.0
    return OptimalNoise(
        widths, middle, low, high, sign * best, stderr, edge.astype(bool), slope, error, r_squared, failed
    )


def best_interval(
    noise: Sequence[float] | np.ndarray, score: Sequence[float] | np.ndarray, standard_errors: float = 2.0
) -> tuple[float, float, float, float, bool]:
    """The noise scales around the best one whose mean score is within some standard errors of the best.

    Returns:
        Both ends, the best mean, its standard error, and whether an end is the search's own.
    """
    noise, score = np.asarray(noise, float), np.asarray(score, float)
    # the same noise reached by rounding in different ways is the same setting
    key = np.round(np.log(np.maximum(noise, 1e-300)), 9)
    levels, index = np.unique(key, return_inverse=True)
    counts = np.bincount(index)
    mean = np.bincount(index, score) / counts
    place = np.bincount(index, noise) / counts
    best = int(np.argmax(mean))
    members = score[index == best]
    stderr = float(np.std(members, ddof=1) / np.sqrt(len(members))) if len(members) > 1 else 0.0
    enough = mean >= mean[best] - standard_errors * stderr
    low = high = best
    while low > 0 and enough[low - 1]:
        low -= 1
    while high < len(levels) - 1 and enough[high + 1]:
        high += 1
    edge = low == 0 or high == len(levels) - 1
    return float(place[low]), float(place[high]), float(mean[best]), stderr, edge


def _last_checkpoints(curves: Curves, settings: list[str]) -> pd.DataFrame:
    """The last row of every run; without progress every row is the end of a run."""
    if not curves.progress_columns:
        return curves.frame
    frame = curves.frame.sort_values(curves.progress_columns[0], kind="stable")
    return frame.groupby(["run", *settings], sort=False).tail(1)  # in a foreign table undeclared, perhaps


def _line(width: np.ndarray, noise: np.ndarray) -> tuple[float, float, float]:
    slope = float(width @ noise / (width @ width))
    rest = noise - slope * width
    dof = len(width) - 1
    error = float(np.sqrt(rest @ rest / dof / (width @ width))) if dof else float("nan")
    spread = np.sum((noise - noise.mean()) ** 2)
    return slope, error, float(1 - rest @ rest / spread) if spread > 0 else float("nan")
