"""Errors that runs of one size share: one badly tuned size moves all its runs.

Of a surface over n_params and more, ln L = ln f + ε with ε of the covariance

    σ² (1 + λ K),    K = ρ^(distance along n_data) for runs of the same n_params, else 0:

an offset of every size where ρ = 1, an error that fades along n_data where it is less, independent errors
where λ = 0. What λ and ρ are is not known. Linearised in the parameters, every (λ, ρ) gives a Student
distribution by generalised least squares, and these are averaged by the restricted likelihood of the
residuals (`statistics.NoiseAverage`). Intervals are scaled, on each side, by the average's over that of
independent errors: the same whether they are profiles or resampled runs.

The prior has independent errors in one half. The other half is even in ln λ, half of it offsets and half the
correlations of an autoregression. With four sizes the second half counts half, with three it is left out:
the offsets of three sizes and E + A N^-α are the same thing, and the prior alone would speak.

Of several points of a run, which are resampled together, the one of the largest sizes counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from scalinglab.laws.fitting.data.points import SAME_SIZE
from scalinglab.laws.fitting.solution import ROUNDING, Solution
from scalinglab.laws.fitting.statistics import NoiseAverage, average_of, correlations
from scalinglab.laws.fitting.uncertainty.linear import LinearFit, scaled

RATIOS = 4.0 ** np.arange(-2.0, 5.0)  # search: λ beside 0; offsets from 1/4 to 16 times the noise
FEWEST_SIZES = 3  # defined: those that E + A N^-α follows, whatever their offsets


class SharedErrors:
    """The average over what runs of one size share, for the intervals of one law."""

    def __init__(self, law: Solution) -> None:
        self.law = law
        self.linear = LinearFit(law, law.points.ends_of_runs if law.points.blocked else slice(None))
        self.sizes, self.places = self._groups()

    @property
    def shows(self) -> bool:
        """Whether there are runs of the same size, of enough sizes, and residuals to learn from."""
        count, several = len(self.linear.measured), int(self.sizes.max(initial=-1)) + 1
        free = count - self.linear.design.shape[1]
        seen = free >= 1 and np.max(np.abs(self.linear.measured)) > ROUNDING
        return bool(self.law.log and seen and FEWEST_SIZES < several < count)

    @cached_property
    def average(self) -> NoiseAverage:
        """The linearised fit averaged over λ and ρ; its first part has independent errors."""
        sizes = int(self.sizes.max()) + 1
        several = 0.5 * min((sizes - FEWEST_SIZES) / 2, 1.0)
        along = correlations(max(round(len(self.sizes) / sizes), 2))[1::2]
        white, target = [self.linear.design[None]], [self.linear.measured[None]]
        prior, correlation = [np.array([np.log(1 - several)])], [np.zeros(1)]
        for rho, share in [(1.0, 0.5), *((float(rho), 0.5 / len(along)) for rho in along)]:
            roots, size = self._roots(rho)
            white.append(roots @ self.linear.design)
            target.append(roots @ self.linear.measured)
            prior.append(np.log(several * share / len(RATIOS)) - size)
            correlation.append(np.full(len(RATIOS), rho))
        parts = [np.concatenate(part) for part in (white, target, prior)]
        return average_of(*parts, robust=self._robust, correlation=np.concatenate(correlation))

    def _roots(self, rho: float) -> tuple[np.ndarray, np.ndarray]:
        """(λ, n, n) each (1 + λ K)^(−1/2), and (λ,) half the logarithm of its determinant."""
        count = len(self.sizes)
        roots, size = np.zeros((len(RATIOS), count, count)), np.zeros(len(RATIOS))
        for group in range(int(self.sizes.max()) + 1):
            rows = np.flatnonzero(self.sizes == group)
            apart = np.abs(self.places[rows][:, None] - self.places[rows])
            values, axes = np.linalg.eigh(rho**apart)
            total = 1 + RATIOS[:, None] * np.maximum(values, 0.0)
            roots[:, rows[:, None], rows] = (axes / np.sqrt(total)[:, None]) @ axes.T
            size += 0.5 * np.log(total).sum(axis=1)
        return roots, size

    def _groups(self) -> tuple[np.ndarray, np.ndarray]:
        """(n,) which n_params each run has, by number, and (n,) where it is along n_data, in typical steps.

        Without n_params nothing is shared: every run is a size of its own.
        """
        names, logs = self.law.form.variables, self.linear.logs
        if logs.ndim == 1 or "n_params" not in names or "n_params" in self.law.form.zeros:
            return np.arange(len(logs)), np.zeros(len(logs))
        size = logs[:, names.index("n_params")]
        order = np.argsort(size, kind="stable")
        sizes = np.empty(len(size), int)
        sizes[order] = np.cumsum(np.r_[0, np.diff(size[order]) > SAME_SIZE])
        others = [name for name in ("n_data", "step") if name in names and name not in self.law.form.zeros]
        if not others:
            return sizes, np.zeros(len(sizes))
        place = logs[:, names.index(others[0])]
        steps = np.concatenate([np.diff(np.sort(place[sizes == group])) for group in np.unique(sizes)])
        steps = steps[steps > SAME_SIZE]
        return sizes, place / (np.median(steps) if len(steps) else 1.0)

    def widened(
        self,
        quantity: Callable[[np.ndarray], np.ndarray],
        centre: np.ndarray,
        ends: tuple[np.ndarray, np.ndarray],
        level: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ends of intervals of quantities around `centre`, with what runs of one size may share.

        Args:
            quantity: of the parameters (p,), gives (quantities,).
        """
        if not self.shows:
            return ends
        with np.errstate(invalid="ignore", divide="ignore"):  # NaN where a form is not positive
            rows = np.nan_to_num(self.linear.slopes(quantity, len(centre)), posinf=0.0, neginf=0.0)[None]
        low, high = self.average.ends(rows, level)
        bottom, top = self._independent.ends(rows, level)
        middle, half = (bottom + top) / 2, np.maximum((top - bottom) / 2, 1e-300)
        known = np.any(rows[0] != 0, axis=1)
        down, up = (np.where(known, side, 1.0) for side in ((middle - low) / half, (high - middle) / half))
        return scaled(centre, ends, down, up)

    @cached_property
    def _independent(self) -> NoiseAverage:
        """The fit whose errors are independent, alone."""
        design, measured = self.linear.design[None], self.linear.measured[None]
        return average_of(design, measured, np.zeros(1), robust=self._robust)

    @property
    def _robust(self) -> bool:
        return bool(np.isfinite(self.law.delta))

    @property
    def chance(self) -> float:
        """The probability that runs of one size share an error."""
        return float(self.average.weight @ (self.average.correlation > 0)) if self.shows else 0.0
