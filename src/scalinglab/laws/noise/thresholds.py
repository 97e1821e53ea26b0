"""Where runs give way as a level grows: the largest stable learning rate, and the noise that is tolerated.

Stability (park2019, appendix H): at every width the share of runs that fail rises from 0 to 1 with the
learning rate. The largest stable rate is where it crosses one half. The paper's claim: ε_max ∝ w^−1 in the
standard scheme and ε_max constant in the NTK scheme, so that the normalized rate is constant in both.

Tolerance: where less noise than the optimum costs nothing, the best interval is a plateau and its middle says
little. Its upper end is sharp: from there on the error rises. The noise at which the error is a given share
above its best tells how far the batch size may fall or the learning rate rise. If the optimum is proportional
to width (park2019), so is this noise.

Both are interpolated in logs between two levels; intervals come from resampling runs within width and level,
and from what interpolation may miss: half a step of a search where runs fail or do not, less where an error
rises smoothly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.noise.optimum import powers, statistic
from scalinglab.laws.noise.runs import TRAINED_ABOVE, UNITS, Ends, ends
from scalinglab.laws.noise.selection import DRAWS, Search, resampled
from scalinglab.results.estimate import FEWEST, Estimate
from scalinglab.results.types import Reason, Remark, TableRows, Worded

# measured: benchmarks/noise.py, second table, whose 95 % intervals hold the truth with both
SHARP = 6.0  # standard errors of a level, their median, in the rise at least: else its best is mostly chance
BETWEEN = 0.15  # of a step of the search: what interpolation between two levels may miss


def _interpolated(
    log_level: np.ndarray, values: np.ndarray, limit: Any, before: np.ndarray, missed: Any
) -> np.ndarray:
    """(rows,) the level at which each row of values, (rows, levels), reaches its limit after level `before`.

    A value that is not finite, as at a level where nothing trained, counts as half a step away; `missed` is
    the share of a step by which each is moved.
    """
    rows, after = np.arange(len(values)), np.minimum(before + 1, values.shape[1] - 1)
    low, high = values[rows, before], values[rows, after]
    with np.errstate(invalid="ignore", divide="ignore"):
        fraction = (limit - low) / (high - low)
    fraction = np.where(np.isfinite(high) & np.isfinite(fraction), fraction, 0.5)
    return np.exp(log_level[before] + (fraction + missed) * (log_level[after] - log_level[before]))


# --- stability --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stability(Worded):
    """Largest stable learning rate by width.

    Attributes:
        width: (widths,), in the units of `width_column`.
        width_column: "widening_factor" (w of park2019), "width", or what was asked for.
        rates: (rates,), all learning rates that were tried.
        failed: (widths, rates), share of runs that failed; NaN where nothing was tried.
        largest: (widths,), rate at which half of the runs fail; NaN where the search does not reach it.
        largest_interval: (2, widths).
        exponent: c of largest ∝ width^c, through the widths that have one.
    """

    width: np.ndarray
    width_column: str
    rates: np.ndarray
    failed: np.ndarray
    largest: np.ndarray
    largest_interval: np.ndarray
    exponent: Estimate

    @property
    def remarks(self) -> Iterator[Remark]:
        """What the summary says, as data."""
        rows = [
            {"w": w, "rate": rate,
             "ends": f"[{low:.3g}, {high:.3g}]" if np.isfinite(rate) else Reason("outside_search")}
            for w, rate, (low, high) in zip(self.width, self.largest, self.largest_interval.T, strict=True)
        ]  # fmt: skip
        yield TableRows("stability", rows, {"w": self.width_column})
        known = UNITS.get(self.width_column)
        unit = Reason("in_brackets", text=known) if known else ""
        yield Reason("stable_power", column=self.width_column, unit=unit, of=self.exponent)


def stability(
    curves: Curves, *, width: str | None = None, trained_above: float | None = None, seed: int = 0
) -> Stability:
    """Failure rates by learning rate and width, and how the largest stable rate depends on width.

    Args:
        curves: runs at several learning rates and widths; a run fails that diverged.
        width: the column of the width, see `optimal_noise`.
        trained_above: runs that end at or below this accuracy fail as well; None counts divergence alone, as
            in the paper.
        seed: of the resampling.
    """
    found = ends(
        curves, "learning_rate", None, width, TRAINED_ABOVE if trained_above is None else trained_above
    )
    rates, index = np.unique(found.level, return_inverse=True)
    if len(rates) < 2:
        raise BadInput(f"learning_rate has the value {rates[0]:g} alone: stability needs a search over it")
    has_failed = ~found.trained
    if trained_above is None:
        has_failed = np.asarray(curves.has_diverged[found.frame.index] | ~np.isfinite(found.score))
    widths = found.widths
    count, failures = np.zeros((2, len(widths), len(rates)))
    place = np.searchsorted(widths, found.width)
    np.add.at(count, (place, index), 1)
    np.add.at(failures, (place, index), has_failed)
    with np.errstate(invalid="ignore"):
        share = failures / count
    random = np.random.default_rng(seed)
    largest = np.array([half_fail(rates[tried], row[None, tried])[0] for row, tried in zip(share, count > 0)])
    drawn = np.full((DRAWS, len(widths)), np.nan)
    interval = np.full((2, len(widths)), np.nan)
    known = np.isfinite(largest)
    for k in range(len(widths)):
        tried = count[k] > 0
        runs = count[k, tried].astype(int)
        # Jeffreys' estimate of the probability of failure: none of five is not never
        chance = (failures[k, tried] + 0.5) / (runs + 1)
        shares = random.binomial(runs, chance, (DRAWS, len(runs))) / runs
        drawn[:, k] = half_fail(rates[tried], shares, random.uniform(-0.5, 0.5, DRAWS))
        if known[k]:
            interval[:, k] = np.nanquantile(drawn[:, k], (0.025, 0.975))
    exponent = statistic(powers, widths[known], largest[known], drawn[:, known])
    return Stability(widths, found.width_column, rates, share, largest, interval, exponent)


def half_fail(rates: np.ndarray, share: np.ndarray, missed: Any = 0.0) -> np.ndarray:
    """(rows,) the rate from which on half of the runs fail, of each row of shares; NaN outside the search."""
    stable = share < 0.5
    last = share.shape[1] - 1 - stable[:, ::-1].argmax(axis=1)
    found = _interpolated(np.log(rates), share, 0.5, last, missed)
    return np.where(stable.any(axis=1) & ~stable[:, -1], found, np.nan)


# --- tolerance --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tolerance(Worded):
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

    @property
    def remarks(self) -> Iterator[Remark]:
        """What the summary says, as data."""
        yield Reason("tolerance", x=self.x, rise=100 * self.rise)
        for w, noise, (low, high) in zip(self.width, self.noise, self.interval.T, strict=True):
            code = "tolerated" if np.isfinite(noise) else "not_tolerated"
            yield Reason(code, w=w, noise=noise, low=low, high=high)
        if np.isfinite(self.exponent.value):
            yield Reason("tolerance_power", of=self.exponent)


def tolerance(curves: Curves, *, rise: float = 0.25, seed: int = 0, **options: Any) -> Tolerance:
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
    exponent = statistic(powers, found.widths[known], noise[known], drawn[:, known])
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
    values = risen(np.log(one.level), errors, rise, missed)
    return float(values[0]), values[1:]


def risen(log_level: np.ndarray, errors: np.ndarray, rise: float, missed: np.ndarray) -> np.ndarray:
    """(rows,) the noise at which each row of errors is a share above its smallest; NaN if nowhere."""
    best = errors.argmin(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.log(errors)
    limit = np.log((1 + rise) * errors[np.arange(len(errors)), best])
    above = (logs > limit[:, None]) & (np.arange(errors.shape[1]) > best[:, None])
    before = np.maximum(above.argmax(axis=1) - 1, 0)
    return np.where(above.any(axis=1), _interpolated(log_level, logs, limit, before, missed), np.nan)
