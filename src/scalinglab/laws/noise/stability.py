"""Failure rates and the largest stable learning rate (park2019, appendix H).

At every width the share of runs that fail rises from 0 to 1 with the learning rate. The largest stable rate
is where it crosses one half, by interpolation in the log. The paper's claim: ε_max ∝ w^−1 in the standard
scheme and ε_max constant in the NTK scheme, so that the normalized rate is constant in both. The interval
of the exponent comes from resampling runs within width and rate; a crossing is known to half a step of the
search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.noise.power import power
from scalinglab.laws.noise.runs import TRAINED_ABOVE, UNITS, Ends, ends
from scalinglab.results.estimate import Estimate

HALF = 0.5
DRAWS = 2000


@dataclass(frozen=True)
class Stability:
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

    def summary(self) -> str:
        """A table in lines."""
        lines = [f"{self.width_column:>15} {'largest stable rate':>20} {'95 %':>24}"]
        for w, rate, ends_of in zip(self.width, self.largest, self.largest_interval.T, strict=True):
            shown = f"[{ends_of[0]:.3g}, {ends_of[1]:.3g}]" if np.isfinite(rate) else "outside the search"
            lines.append(f"{w:>15g} {rate:>20.4g} {shown:>24}")
        c = self.exponent
        unit = f" ({UNITS[self.width_column]})" if self.width_column in UNITS else ""
        lines.append(
            f"largest stable rate ∝ {self.width_column}^c{unit}: c = {c.value:.3g}, "
            f"95 % [{c.low:.3g}, {c.high:.3g}]"
        )
        return "\n".join(lines)


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
    has_failed = _failures(curves, found, trained_above)
    widths = found.widths
    count, failures = np.zeros((2, len(widths), len(rates)))
    place = np.searchsorted(widths, found.width)
    np.add.at(count, (place, index), 1)
    np.add.at(failures, (place, index), has_failed)
    with np.errstate(invalid="ignore"):
        share = failures / count
    random = np.random.default_rng(seed)
    largest = np.array([_crossing(rates, row, 0.0) for row in share])
    drawn = np.full((DRAWS, len(widths)), np.nan)
    for k in range(len(widths)):
        tried = count[k] > 0
        resampled = random.binomial(count[k, tried].astype(int), _smoothed(failures[k], count[k])[tried],
                                    (DRAWS, int(tried.sum()))) / count[k, tried]  # fmt: skip
        where = random.uniform(-HALF, HALF, DRAWS)
        drawn[:, k] = [_crossing(rates[tried], row, u) for row, u in zip(resampled, where, strict=True)]
    interval = np.full((2, len(widths)), np.nan)
    known = np.isfinite(largest)
    for k in np.flatnonzero(known).tolist():
        interval[:, k] = np.nanquantile(drawn[:, k], (0.025, 0.975))
    exponent = power(widths[known], largest[known], drawn[:, known])
    return Stability(widths, found.width_column, rates, share, largest, interval, exponent)


def _failures(curves: Curves, found: Ends, trained_above: float | None) -> np.ndarray:
    if trained_above is not None:
        return ~found.trained
    return np.asarray(curves.has_diverged[found.frame.index] | ~np.isfinite(found.score))


def _smoothed(failures: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Jeffreys' estimate of the probability of failure: none of five is not never."""
    return np.asarray((failures + 0.5) / (count + 1))


def _crossing(rates: np.ndarray, share: np.ndarray, shift: float) -> float:
    """Rate at which failures reach one half for good, moved by a part of the step there; NaN if nowhere."""
    below = np.flatnonzero(share < HALF)
    if not len(below) or below[-1] == len(share) - 1:
        return float("nan")
    k = int(below[-1])
    low, high = np.log(rates[k]), np.log(rates[k + 1])
    fraction = (HALF - share[k]) / (share[k + 1] - share[k])
    return float(np.exp(low + (high - low) * (fraction + shift)))
