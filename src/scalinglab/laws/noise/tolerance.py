"""The SGD noise up to which a network generalises well, by width.

Where less noise than the optimum costs nothing, the best interval is a plateau and its middle says little.
Its upper end is sharp: from there on the error rises. The noise at which the error is a given share above its
best, interpolated in logs between levels, tells how far the batch size may fall or the learning rate rise. If
the optimum is proportional to width (park2019), so is this noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.noise.power import power
from scalinglab.laws.noise.runs import Ends, ends
from scalinglab.laws.noise.selection import Search, resampled
from scalinglab.results.estimate import Estimate

DRAWS = 2000
RISE = 0.25  # of the error above its best
FEWEST = 3  # runs a level
SHARP = 6.0  # standard errors of a level, their median, in the rise at least: else its best is mostly chance
BETWEEN = 0.15  # of a step of the search: what interpolation between two levels may miss


@dataclass(frozen=True)
class Tolerance:
    """The noise at which the error has risen by a share of its best.

    Attributes:
        width: (widths,), in the units of `width_column`.
        width_column: as in `OptimalNoise`.
        noise: (widths,), NaN where the error does not rise as far within the search, or where runs scatter
            too much to tell.
        interval: (2, widths), 95 %, over resampled runs.
        exponent: q of noise ∝ width^q, through the widths that have one.
        rise: the share.
        x: the column that was searched.
    """

    width: np.ndarray
    width_column: str
    noise: np.ndarray
    interval: np.ndarray
    exponent: Estimate
    rise: float
    x: str

    def summary(self) -> str:
        """A table in lines."""
        lines = [f"{self.x} at which the error is {100 * self.rise:g} % above its best"]
        for w, noise, (low, high) in zip(self.width, self.noise, self.interval.T, strict=True):
            said = (
                f"{noise:.3g} [{low:.3g}, {high:.3g}]"
                if np.isfinite(noise)
                else "not within the search, or the runs scatter too much"
            )
            lines.append(f"{w:>8g}  {said}")
        q = self.exponent
        if np.isfinite(q.value):
            lines.append(f"∝ w^q: q = {q.value:.3g}, 95 % [{q.low:.3g}, {q.high:.3g}]")
        return "\n".join(lines)


def tolerance(curves: Curves, *, rise: float = RISE, seed: int = 0, **options: Any) -> Tolerance:
    """How much noise each width takes before its error rises.

    Args:
        curves: runs of a search, see `optimal_noise`.
        rise: by which share of the best error.
        seed: of the resampling.
        options: x, y, width, trained_above and share of `optimal_noise`.
    """
    if not 0 < rise < np.inf:
        raise BadInput(f"rise = {rise:g}: a share of the best error, more than 0")
    found = ends(curves, **options)
    parts = [_of_width(found, one, rise, (seed, k)) for k, one in enumerate(found.searches())]
    noise, drawn = np.array([value for value, _ in parts]), np.stack([draws for _, draws in parts], axis=1)
    known = np.isfinite(noise)
    interval = np.full((2, len(noise)), np.nan)
    missing = np.where(np.isnan(drawn), np.inf, drawn)[:, known]
    interval[:, known] = np.quantile(missing, (0.025, 0.975), axis=0, method="nearest")
    exponent = power(found.widths[known], noise[known], drawn[:, known])
    return Tolerance(found.widths, found.width_column, noise, interval, exponent, rise, found.x)


def _of_width(found: Ends, one: Search, rise: float, seed: tuple[int, int]) -> tuple[float, np.ndarray]:
    """The noise of one width, and that of resampled runs."""
    means = np.vstack([one.mean, resampled(one, DRAWS, seed)[0]])
    errors = -means if found.is_loss else 1 - means
    runs = min(len(scores) for scores, ok in zip(one.scores, one.usable, strict=True) if ok)
    if runs < FEWEST or not rise * errors[0].min() >= SHARP * np.median(one.stderr[one.usable]):
        return float("nan"), np.full(DRAWS, np.nan)
    missed = np.random.default_rng((*seed, 1)).uniform(-BETWEEN, BETWEEN, len(errors))
    missed[0] = 0.0
    values = _crossings(np.log(one.level), errors, rise, missed)
    return float(values[0]), values[1:]


def _crossings(log_level: np.ndarray, errors: np.ndarray, rise: float, missed: np.ndarray) -> np.ndarray:
    """Noise at which each row of errors, (rows, levels), has risen beyond its smallest; NaN if nowhere.

    Each is moved by the share of a step that interpolation may have missed, (rows,).
    """
    rows, levels = np.arange(len(errors)), np.arange(errors.shape[1])
    best = errors.argmin(axis=1)
    limit = np.log((1 + rise) * errors[rows, best])
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.log(errors)
    above = (logs > limit[:, None]) & (levels > best[:, None])
    first = above.argmax(axis=1)
    there = above.any(axis=1)
    before = np.maximum(first - 1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):  # of rows that never rise
        fraction = (limit - logs[rows, before]) / (logs[rows, first] - logs[rows, before])
    # runs that do not train have no error: somewhere before them
    fraction = np.where(np.isfinite(logs[rows, first]) & np.isfinite(fraction), fraction, 0.5)
    found = log_level[before] + (fraction + missed) * (log_level[first] - log_level[before])
    return np.where(there, np.exp(found), np.nan)
