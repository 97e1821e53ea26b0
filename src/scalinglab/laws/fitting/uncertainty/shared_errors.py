"""Errors that runs of one size share: one badly tuned size moves all its runs.

Of a surface over n_params and more, or of repeated sizes of one variable, ln L = ln f + ε with ε of the
covariance

    σ² (1 + λ K),    K = ρ^(distance along n_data) for runs of the same n_params, else 0:

an offset of every size where ρ = 1, an error that fades along n_data where it is less, independent errors
where λ = 0. What λ and ρ are is not known. Linearised in the parameters, every (λ, ρ) gives a Student
distribution by generalised least squares, and these are averaged by the restricted likelihood of the
residuals (`statistics.NoiseAverage`). Intervals are scaled, on each side, by the average's over that of
independent errors: the same whether they are profiles or resampled runs.

Independent errors, offsets and the correlations of an autoregression are as likely before the residuals, a
third each, the latter two even in ln λ. With four sizes these count half, with three they are left out: the
offsets of three sizes and E + A N^-α are the same thing, and the prior alone would speak.
Checkpoints of one run share its errors all but surely.

Of several points of a run, which are resampled together, the one of the largest sizes counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from scalinglab.curves.columns import SAME_SIZE, size_groups
from scalinglab.laws.fitting.solution import ROUNDING, Solution
from scalinglab.laws.fitting.statistics import CORRELATIONS, NoiseAverage, average_of, correlations
from scalinglab.laws.fitting.uncertainty.linear import LinearFit, scaled

# search: λ beside 0; offsets from 1 to 64 times the noise. Smaller ones hardly move an interval: on 5 × 5
# runs, which show little of λ, they would take the prior of those that do
RATIOS = 4.0 ** np.arange(7.0)
SHARED = 2 / 3  # defined: offsets and correlations of the three kinds of errors, none likelier than another
FEWEST_SIZES = 3  # defined: those that E + A N^-α follows, whatever their offsets
SURE = 0.98  # judged: row "surface, checkpoints of 5 runs" of benchmarks/coverage.py; of checkpoints


class SharedErrors:
    """The average over what runs of one size share, for the intervals of one law."""

    def __init__(self, law: Solution) -> None:
        self.law = law
        self.linear = LinearFit(law, law.points.ends_of_runs if law.points.blocked else slice(None))
        self.sizes, self.places = groups(law, self.linear.logs)

    @property
    def shows(self) -> bool:
        """Whether there are runs of the same size, of enough sizes, and residuals to learn from."""
        free = len(self.linear.measured) - self.linear.design.shape[1]
        seen = free >= 1 and np.max(np.abs(self.linear.measured)) > ROUNDING
        return bool(self.law.log and seen and self._prior > 0)

    @cached_property
    def average(self) -> NoiseAverage:
        """The linearised fit averaged over λ and ρ; its first part has independent errors."""
        values = np.column_stack([self.linear.design, self.linear.measured])
        white, prior, correlation, ratio = whitened(values, self.sizes, self.places, self._prior)
        return average_of(
            white[..., :-1], white[..., -1], prior, robust=self._robust, correlation=correlation, ratio=ratio
        )

    def covariance(self, x: np.ndarray) -> np.ndarray:
        """(n, n) of noise with shared errors at x (variables, n), averaged over λ and ρ; mean variance 1."""
        average, shared = self.average, self.between(x, x)
        found = shared + np.eye(len(shared)) * (average.weight @ ((average.ratio > 0) * average.sigma**2))
        return np.asarray(found / np.mean(np.diag(found)))

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(n, m) covariance of what runs at a (variables, n) and b (variables, m) share, averaged."""
        average, count = self.average, a.shape[1]
        with np.errstate(divide="ignore"):
            logs = np.vstack([self.linear.logs.reshape(-1, len(a)), np.log(a).T, np.log(b).T])
        sizes, places = groups(self.law, logs, len(self.linear.logs))
        sizes, places = sizes[-count - b.shape[1] :], places[-count - b.shape[1] :]
        one = sizes[:count, None] == sizes[count:]
        away = np.abs(places[:count, None] - places[count:])
        parts = zip(average.weight, average.sigma, average.ratio, average.correlation, strict=True)
        return np.asarray(one * sum(w * sigma**2 * ratio * rho**away for w, sigma, ratio, rho in parts))

    @property
    def variance(self) -> float:
        """Of what a run shares with others of its size, averaged over λ and ρ."""
        return float(self.average.weight @ (self.average.ratio * self.average.sigma**2))

    @property
    def alone(self) -> float:
        """The part of the variance of a run that is its own."""
        own = float(self.average.weight @ self.average.sigma**2)
        return own / (own + self.variance)

    def widened(
        self,
        quantity: Callable[[np.ndarray], np.ndarray],
        centre: np.ndarray,
        ends: tuple[np.ndarray, np.ndarray],
        level: float,
        measured: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ends of intervals of quantities around `centre`, with what runs of one size may share.

        Args:
            quantity: of the parameters (p,), gives (quantities,).
            measured: whether each is one more run, with an error of its size beside its own.
        """
        if not self.shows:
            return ends
        with np.errstate(invalid="ignore", divide="ignore"):  # NaN where a form is not positive
            rows = np.nan_to_num(self.linear.slopes(quantity, len(centre)), posinf=0.0, neginf=0.0)[None]
        noise_at = np.zeros(len(centre)) if measured else None
        low, high = self.average.known(rows, noise_at).ends(level)
        bottom, top = self._independent.known(rows, noise_at).ends(level)
        middle, half = (bottom + top) / 2, np.maximum((top - bottom) / 2, 1e-300)
        known = np.any(rows[0] != 0, axis=1) | measured
        down, up = (np.where(known, side, 1.0) for side in ((middle - low) / half, (high - middle) / half))
        return scaled(centre, ends, down, up)

    @cached_property
    def _independent(self) -> NoiseAverage:
        """The fit whose errors are independent, alone."""
        design, measured = self.linear.design[None], self.linear.measured[None]
        return average_of(design, measured, np.zeros(1), robust=self._robust)

    @property
    def _prior(self) -> float:
        return several(self.sizes, self.law.points.checkpoints_of > 0)

    @property
    def _robust(self) -> bool:
        return bool(np.isfinite(self.law.delta))

    @property
    def log_alone(self) -> float:
        """ln of the probability that errors are independent; the average leaves out what is negligible."""
        if not self.shows or not self.average.correlation.any():
            return 0.0
        return min(np.log(1 - self._prior) + self._independent.evidence - self.average.evidence, 0.0)

    @property
    def chance(self) -> float:
        """The probability that runs of one size share an error."""
        return float(-np.expm1(self.log_alone))


def groups(
    law: Solution, logs: np.ndarray, count: int | None = None
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """(n,) which n_params each run has, by number, and (n,) where it is along n_data, in typical steps.

    Of one variable runs of the same size are a group. Of several without n_params nothing is shared: every
    run is a size of its own.

    Args:
        logs: (n,), or (n, variables) of a surface.
        count: how many of the first are runs, whose steps are the typical ones; by default all.
    """
    names, zeros = law.form.variables, law.form.zeros
    if logs.ndim == 1 or logs.shape[1] == 1:
        return np.unique(logs, return_inverse=True)[1].ravel(), np.zeros(len(logs))
    if "n_params" not in names or "n_params" in zeros:
        return np.arange(len(logs)), np.zeros(len(logs))
    sizes = size_groups(np.exp(logs[:, names.index("n_params")])).astype(int)
    others = [name for name in ("n_data", "step") if name in names and name not in zeros]
    if not others:
        return sizes, np.zeros(len(sizes))
    place = logs[:, names.index(others[0])]
    made = np.arange(len(place)) < (len(place) if count is None else count)
    steps = np.concatenate([np.diff(np.sort(place[made & (sizes == g)])) for g in np.unique(sizes)])
    steps = steps[steps > SAME_SIZE]
    return sizes, place / (np.median(steps) if len(steps) else 1.0)


def several(sizes: np.ndarray, checkpoints: bool) -> float:
    """The prior probability that points of one size share an error, with these sizes (n,).

    Args:
        checkpoints: whether points of one size are checkpoints of one run.
    """
    count = len(np.unique(sizes))
    if count == len(sizes):
        return 0.0
    return SURE if checkpoints else SHARED * float(np.clip((count - FEWEST_SIZES) / 2, 0.0, 1.0))


def whitened(
    values: np.ndarray, sizes: np.ndarray, places: np.ndarray, chance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Columns (n, m) divided by the root of every covariance: (k, n, m).

    With (k,) the logarithm of the prior of each over the root of its determinant, and (k,) its ρ and its λ; 0
    for independent errors, which come first.

    Args:
        chance: the prior probability that points of one size share an error (`several`).
    """
    labels = np.unique(sizes)
    found, prior = [values[None]], [np.array([np.log(1 - chance)])]
    correlation, ratio = [np.zeros(1)], [np.zeros(1)]
    each = [np.flatnonzero(sizes == label) for label in labels]
    # sizes of as many runs at once, (sizes, runs): one decomposition a size would take most of the time
    counts = sorted({len(rows) for rows in each})
    blocks = [np.array([rows for rows in each if len(rows) == count]) for count in counts]
    # weak ones, too, hardly move an interval and would take the prior of those that do
    along = correlations(max(round(len(sizes) / len(labels)), 2))[CORRELATIONS // 2 + 1 :: 2]
    for rho, share in [(1.0, 0.5), *((float(rho), 0.5 / len(along)) for rho in along)] if chance else ():
        white, size = np.empty((len(RATIOS), *values.shape)), np.zeros(len(RATIOS))
        for rows in blocks:
            variance, axes = np.linalg.eigh(rho ** np.abs(places[rows][..., None] - places[rows][:, None]))
            total = 1 + RATIOS[:, None, None] * np.maximum(variance, 0.0)
            white[:, rows] = (axes / np.sqrt(total)[:, :, None]) @ (axes.swapaxes(1, 2) @ values[rows])
            size += 0.5 * np.log(total).sum(axis=(1, 2))
        found.append(white)
        prior.append(np.log(chance * share / len(RATIOS)) - size)
        correlation.append(np.full(len(RATIOS), rho))
        ratio.append(RATIOS)
    return tuple(map(np.concatenate, (found, prior, correlation, ratio)))  # type: ignore[return-value]
