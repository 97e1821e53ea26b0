"""The largest stable learning rate of every width (park2019, appendix H).

At every width the share of runs that fail rises from 0 to 1 with the learning rate. The largest stable rate
is where it crosses one half. The paper's claim: ε_max ∝ w^−1 in the standard scheme and ε_max constant in the
NTK scheme, so that the normalized rate is constant in both.

It is interpolated in logs between two rates; intervals come from resampling runs within width and rate, and
from what interpolation may miss: half a step of the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.noise.optimum import powers, statistic
from scalinglab.laws.noise.runs import TRAINED_ABOVE, UNITS, ends
from scalinglab.laws.noise.selection import DRAWS
from scalinglab.results.estimate import Estimate
from scalinglab.results.types import Reason, Remark, TableRows, Worded


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


def stability(curves: Curves, *, trained_above: float | None = None) -> Stability:
    """Failure rates by learning rate and width, and how the largest stable rate depends on width.

    Args:
        curves: runs at several learning rates and widths; a run fails that diverged.
        trained_above: runs that end at or below this accuracy fail as well; None counts divergence alone, as
            in the paper.
    """
    found = ends(
        curves, "learning_rate", trained_above=TRAINED_ABOVE if trained_above is None else trained_above
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
    random = np.random.default_rng(0)
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
    """(rows,) the rate from which on half of the runs fail, of each row of shares; NaN outside the search.

    Args:
        missed: the share of a step of the search by which each is moved.
    """
    stable = share < 0.5
    last = share.shape[1] - 1 - stable[:, ::-1].argmax(axis=1)
    rows, after, log_rates = np.arange(len(share)), np.minimum(last + 1, share.shape[1] - 1), np.log(rates)
    low, high = share[rows, last], share[rows, after]
    with np.errstate(invalid="ignore", divide="ignore"):
        fraction = (0.5 - low) / (high - low)
        found = np.exp(log_rates[last] + (fraction + missed) * (log_rates[after] - log_rates[last]))
    return np.where(stable.any(axis=1) & ~stable[:, -1], found, np.nan)
