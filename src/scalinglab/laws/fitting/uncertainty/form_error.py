"""What a law may miss: a smooth error of its form, learned from how its residuals move together.

Measured runs follow ln L = ln f(x; θ) + δ(x) + ε with f the form, ε noise and δ the error of the form: a
Gaussian field over the logarithms of the sizes (Matérn, ν = 5/2, range ℓ), as in Kennedy and O'Hagan (2001).
Its size is ρ, the standard deviation of the slope of δ over the local slope of ln f: how much of a local
exponent is the form's mistake. Linearised in θ this is universal kriging: for every (ℓ, ρ) a quantity of the
surface has a Student distribution, and these are averaged by the restricted likelihood of the residuals
(Patterson and Thompson 1971). Half of the prior is on ρ = 0, a form that holds; the other half is even in
ln ρ, from a fiftieth to a third of the slope. Of a range ℓ whose δ explains all residuals before ρ is a third
only the smaller ρ count, so that the prior depends on the residuals.

Of several sizes δ may depend on all of them, or on one alone: an exponent of N that bends moves all runs of
one n_params alike, which a field over all sizes follows only by chance. ρ is then a part of the slope along
that size, and such a δ has 5 % of the prior of all. Errors that runs of one n_params share (`shared_errors`)
explain the same residuals. So runs count in two ways, as independent and with the covariance of shared
errors, each as likely as it explains the residuals together with δ.

Within the runs δ is known as well as the noise allows. Beyond them it continues with the slopes it may have,
so intervals grow with the distance; those of a surface that follows its form hardly change. That a surface
which errs does no worse beyond the runs than residuals show is hope. On public tables, of runs up to twenty
times the compute, it errs `MISSED` times as much, near and far, and more often below the fit than above it:
by `LOWER` standard deviations of δ. Where ρ > 0 the distribution is as much wider and lower there, and a form
that holds is as well known as before. Residuals that δ explains are no noise: where they rule the form out,
the average may be narrower than the interval that takes them for it. The few sizes of a curve in one variable
show little of δ: there the prior counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from scalinglab.laws.fitting.bend import SIGNIFICANT
from scalinglab.laws.fitting.solution import ROUNDING, Solution
from scalinglab.laws.fitting.statistics import HUBER, NEGLIGIBLE
from scalinglab.laws.fitting.uncertainty.linear import LinearFit
from scalinglab.laws.fitting.uncertainty.shared_errors import SharedErrors
from scalinglab.laws.weighing import shares
from scalinglab.results.distributions import median_scale, mixture_quantile, student_log_density

# judged: rows "smooth error", "second power" and "surface, power of a sum" of benchmarks/coverage.py, and
# benchmarks/extrapolation.py --form-errors; the prior
RANGES = (2.0, 4.0, 8.0, 16.0)  # measured: benchmarks/forecasts.py; ℓ in ln size: one to seven decades
# measured: benchmarks/coverage.py, "5 sizes, smooth error, 3 seeds": from 0.01, 0.02 and 0.04 on intervals
# hold 87, 89 and 91 ± 2 % beyond; ρ beside 0, in units in which all residuals are noise
SLOPE_ERRORS = 0.02 * 2.0 ** np.arange(12)
LARGEST = 0.32  # measured: benchmarks/forecasts.py; of ρ, with the noise that δ leaves
# convention: probability of an error of the form, beyond which its residuals count as no noise; rows
# "surface, power of a sum" and "surface, interaction" of benchmarks/coverage.py judge it
RULED_OUT = 1 - SIGNIFICANT
STEP = 0.005  # search: of ln size, of central differences
MOST = 250  # search: runs; of more every second, third, …: what forms may miss costs the cube of their number
# search: of drawing outliers in: part of the noise by which no residual moves any more, steps at most, how
# many of them at once, and logarithm of the odds from which on a field that is behind is left where it is
SETTLED, ROUNDS, FARTHEST, BEHIND = 1e-3, 200, 10.0, 12.0
# measured: benchmarks/surfaces.py --missed; how many times as wide as residuals show it a surface is known
# beyond the runs, where its form errs, and by how many standard deviations of δ losses lie lower there
MISSED, LOWER = 1.25, 0.5
MATERN_SLOPE = np.sqrt(5 / 3)  # defined: sd of the slope of a field of unit variance and ℓ = 1


@dataclass(frozen=True)
class Places:
    """Sums of ln L over sizes: each number is Σ_m weight · ln L(size m).

    Attributes:
        sizes: (variables, numbers, m).
        weight: (numbers, m).
    """

    sizes: np.ndarray
    weight: np.ndarray

    @classmethod
    def values(cls, x: np.ndarray) -> Places:
        """ln L itself at x (variables, n)."""
        return cls(x[..., None], np.ones((x.shape[1], 1)))


@dataclass(frozen=True)
class Field:
    """δ of one range: its covariance at the runs, and the axes along which it moves the contrasts.

    Attributes:
        range: ℓ.
        along: which of the varied sizes it depends on.
        covariance: (n, n) at the runs for unit variance, in units of the noise.
        variance: (contrasts,) along each axis.
        axes: (contrasts, contrasts), in columns.
        ratio: (k,) variances of δ that are tried, over that of the noise.
        noise: (k,) standard deviation of the noise with each.
        weight: (k,) of each in the average, over all fields summing to 1.
    """

    range: float
    along: tuple[int, ...]
    covariance: np.ndarray
    variance: np.ndarray
    axes: np.ndarray
    ratio: np.ndarray
    noise: np.ndarray
    weight: np.ndarray

    @property
    def counts(self) -> bool:
        """Whether it has a part in the average."""
        return bool(self.weight.sum() > ROUNDING)


class FormError:
    """The average over errors of the form of one law, fitted to logarithms by Huber's loss or squares.

    Of several points of a run, which move together, the one of the largest sizes counts.
    """

    def __init__(
        self, law: Solution, shared: SharedErrors | None = None, noise: np.ndarray | None = None
    ) -> None:
        """The average of one law.

        Args:
            shared: errors that runs of one size may share; by default none.
            noise: (runs, runs) covariance of the noise; by default that of independent runs.
        """
        self.law = law
        data = law.points
        sizes = np.atleast_2d(data.x)
        rows = data.ends_of_runs
        self.every = -(-len(rows) // MOST)
        rows = self.rows = rows[:: self.every]
        self.varied = np.ptp(sizes, axis=1) > 0
        # shares, which may be 0, count in units of their spread; sizes by their logarithms
        linear = np.array([name in law.form.zeros for name in law.form.variables])
        self.spread = np.where(linear & self.varied, np.std(sizes, axis=1), np.nan)
        self.logs = self.coordinates(sizes[:, rows])
        self.slopes_at_runs = self.slopes(sizes[:, rows])
        self.linear = LinearFit(law, rows)
        self.weight = (law.problem.weight[0] * np.sqrt(law.problem.count[0]))[rows]
        self.white = None
        if noise is not None:
            variance, axes = np.linalg.eigh(noise)
            self.white = (axes / np.sqrt(variance)) @ axes.T
        basis, triangle = np.linalg.qr(self._whitened(self.linear.design), mode="complete")
        p = triangle.shape[1]
        self.trend, self.contrasts, self.triangle = basis[:, :p], basis[:, p:], triangle[:p]
        self.dof = len(rows) - p
        self.measured = self._whitened(self.linear.measured)
        self.together = shared

    def _whitened(self, values: np.ndarray) -> np.ndarray:
        """Rows of independent runs as they are, of others in combinations whose noise is independent."""
        return values if self.white is None else self.white @ values

    @cached_property
    def residuals(self) -> np.ndarray:
        """(runs,) measured − law, outliers drawn in."""
        return self._without_outliers() if np.isfinite(self.law.delta) and self.shows else self.measured

    @cached_property
    def seen(self) -> np.ndarray:
        """(contrasts,) what residuals show that no parameters of the law explain."""
        return self.contrasts.T @ self.residuals

    @cached_property
    def moved(self) -> np.ndarray:
        """(runs,) what generalised least squares moves of the fit, which took runs for independent."""
        if self.white is None:
            return np.zeros(len(self.rows))
        return self.trend @ (self.trend.T @ self.residuals)

    @cached_property
    def shared(self) -> float:
        """The probability that runs of one size share an error."""
        return self.together.chance if self.together is not None and self.shows else 0.0

    @cached_property
    def sharing(self) -> FormError | None:
        """The average with runs of one size that share an error; None where they do not."""
        if self.together is None or not self.shared:
            return None
        sizes = np.atleast_2d(self.law.points.x)[:, self.rows]
        return FormError(self.law, noise=self.together.covariance(sizes))

    @property
    def shows(self) -> bool:
        """Whether there are residuals of logarithms to learn from."""
        return self.law.log and self.learns

    @property
    def learns(self) -> bool:
        """Whether there are residuals to learn from, of logarithms or of raw values."""
        enough = self.dof >= 1 and self.varied.any()
        return bool(enough and np.max(np.abs(self.contrasts.T @ self.measured)) > ROUNDING * self.law.unit)

    @property
    def chance(self) -> float:
        """The probability that the form errs."""
        if not self.shows:
            return 0.0
        return 1 - sum(share * float(part.fields[0].weight[0]) for share, part in self._parts)

    @cached_property
    def _parts(self) -> list[tuple[float, FormError]]:
        """Independent runs, and those whose size shares an error, each with its probability.

        An offset of a size and a bend explain the same residuals: each is as likely as it is without the
        other, over the probability that it leaves to a form that holds.
        """
        if self.sharing is None or self.together is None:
            return [(1.0, self)]
        # in logarithms: both may be far below the last digit of 1
        odds = np.array([self.together.log_alone, np.log(self.shared)])
        weights = [max(float(part.fields[0].weight[0]), 1e-300) for part in (self, self.sharing)]
        alone, sharing = shares(odds - np.log(weights)).tolist()
        return [(alone, self), (sharing, self.sharing)]

    @property
    def noise(self) -> float:
        """Standard deviation of a residual where the form holds."""
        return float(np.sqrt(np.sum(self.seen**2) / self.dof))

    def coordinates(self, x: np.ndarray) -> np.ndarray:
        """(varied, …) where δ is smooth: ln size, or a share over its spread, at x (variables, …)."""
        spread = self.spread.reshape(-1, *(1,) * (x.ndim - 1))
        with np.errstate(divide="ignore"):
            return np.where(np.isnan(spread), np.log(x), x / spread)[self.varied]

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """(varied, …) slopes of ln f by `coordinates`, at x (variables, …)."""
        found = []
        for j in np.flatnonzero(self.varied):
            up, down = x.astype(float), x.astype(float)
            if np.isnan(self.spread[j]):
                up[j], down[j] = x[j] * np.exp(STEP), x[j] / np.exp(STEP)
                step = 2 * STEP
            else:
                up[j], down[j] = x[j] + STEP * self.spread[j], np.maximum(x[j] - STEP * self.spread[j], 0)
                step = (up[j] - down[j]) / self.spread[j]
            found.append((self._link(up) - self._link(down)) / step)
        return np.array(found)

    @cached_property
    def fields(self) -> list[Field]:
        """δ of every range; ρ = 0, which has none, is the first of the first field."""
        return self._weighed(self.seen)

    def _without_outliers(self) -> np.ndarray:
        """(runs,) residuals with those beyond `HUBER` times the noise around δ drawn in to there.

        Huber's pseudo-values: a residual that its neighbours share is the form's error, however large. With
        the ratio of δ to the noise given, Huber's loss of both is convex and has one minimum, which residuals
        drawn in time and again approach; those of every ratio and range are averaged by how well each
        explains the runs. The noise of Gaussian residuals comes out 5 % too small; intervals, which are
        stretched to those of the fit (`ends`), do not depend on it.
        """
        variance, axes = self._shapes
        axes, measured = self.contrasts @ axes, self.measured
        most = HUBER * median_scale(measured)
        start = np.clip(measured, -most, most)
        ratio = self._ratios(self.contrasts.T @ start)
        left = 1 / (1 + ratio[..., None] * variance[:, None])
        kept = np.tile(start, (*ratio.shape, 1))
        noise, length = np.ones_like(ratio), np.full_like(ratio, np.inf)
        # which fields and ratios still count, and their axes
        near, along = np.ix_(*map(np.arange, ratio.shape)), axes

        def drawn_in(kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            seen = kept @ along
            unexplained = left[near] * seen
            noise = np.sqrt(np.sum(seen * unexplained, axis=-1) / self.dof)
            explained, most = kept - unexplained @ along.swapaxes(1, 2), HUBER * noise[..., None]
            return explained + np.clip(measured - explained, -most, most), noise

        for _ in range(ROUNDS):
            here = kept[near]
            once, _ = drawn_in(here)
            kept[near], noise[near] = twice, _ = drawn_in(once)
            log = self._log_weights(ratio, noise)
            weight = shares(log.ravel()).reshape(log.shape)
            first, second = once - here, twice - once
            if np.all(weight[near][..., None] * np.abs(second) <= SETTLED * noise[near][..., None]):
                break
            # where steps shrink evenly, as far along as they add up to (SQUAREM, Varadhan and Roland 2008)
            size = np.linalg.norm(first, axis=-1)
            far = np.clip(size / np.maximum(np.linalg.norm(second - first, axis=-1), 1e-300), 1.0, FARTHEST)
            far = np.where(size > length[near], 1.0, far)[..., None]
            kept[near], length[near] = here + 2 * far * first + far**2 * (second - first), size
            likely = log > log.max() - BEHIND
            near = np.ix_(likely.any(axis=1), likely.any(axis=0))
            along = axes[near[0].ravel()]
        return np.asarray(np.einsum("fk,fkn->n", weight, kept))

    @cached_property
    def _covariances(self) -> list[tuple[float, tuple[int, ...], np.ndarray]]:
        """Range, sizes and covariance at the runs of every field."""
        found, count = [], int(self.varied.sum())
        alone = [(j,) for j in range(count)] if count > 1 else []
        for along in [tuple(range(count)), *alone]:
            unit = self.weight * _together(self.slopes_at_runs, along)
            kernels = matern(self.logs, self.logs, np.array(RANGES)[:, None, None], along)
            for reach, kernel in zip(RANGES, unit[:, None] * kernels * unit, strict=True):
                found.append((reach, along, self._whitened(self._whitened(kernel).T)))
        return found

    @cached_property
    def _shapes(self) -> tuple[np.ndarray, np.ndarray]:
        """Variances and axes of every field in the contrasts, one below the other."""
        seen = np.array([self.contrasts.T @ at_runs @ self.contrasts for *_, at_runs in self._covariances])
        variances, axes = np.linalg.eigh(seen)
        return np.maximum(variances, 0.0), axes

    def _share_of(self, along: tuple[int, ...]) -> float:
        """The part of the prior of fields over these sizes.

        Errors along one size move the best n_params most: with an even prior its interval is 1.6 times as
        wide where the form holds.
        """
        several = int(self.varied.sum())
        return SIGNIFICANT if len(along) < several else 1 - SIGNIFICANT * several * (several > 1)

    @cached_property
    def _modes(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of every field its variances at the runs (n,) and their axes (n, n)."""
        return [np.linalg.eigh(at_runs) for *_, at_runs in self._covariances]

    def whitened(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns (runs, m) divided by the root of every covariance with an error of the form: (k, runs, m).

        With (k,) the logarithm of the prior of each over the root of its determinant; ρ is part of the slope
        of this law, whatever form the columns are of.
        """
        white, priors, rho = [], [], SLOPE_ERRORS[SLOPE_ERRORS <= LARGEST][::2]
        for (reach, along, _), (variance, axes) in zip(self._covariances, self._modes, strict=True):
            ratio = (rho * reach / MATERN_SLOPE) ** 2 / self.run_variance
            total = 1 + ratio[:, None] * np.maximum(variance, 0.0)
            white.append((axes.T @ values) / np.sqrt(total)[..., None])
            share = self._share_of(along) / len(RANGES) / len(rho)
            priors.append(np.log(share) - 0.5 * np.log(total).sum(axis=1))
        return np.concatenate(white), np.concatenate(priors)

    def _ratios(self, seen: np.ndarray) -> np.ndarray:
        """(fields, k) variances of δ that are tried, over that of the noise; of ρ = 0 first."""
        return np.asarray(self.dof / np.sum(seen**2) * (self._units * np.r_[0.0, SLOPE_ERRORS]) ** 2)

    @property
    def _units(self) -> np.ndarray:
        """(fields, 1) standard deviation of δ of ρ = 1."""
        return np.array([reach for reach, *_ in self._covariances])[:, None] / MATERN_SLOPE

    def _log_weights(self, ratio: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """(fields, k) ln of prior times likelihood of each `ratio`, with so much `noise` beside it."""
        total = 1 + ratio[..., None] * self._shapes[0][:, None]
        likelihood = -0.5 * np.sum(np.log(total), axis=-1) - self.dof * np.log(noise)
        rho = np.sqrt(ratio[:, 1:]) * noise[:, 1:] / self._units
        even = np.maximum(np.gradient(np.log(rho), axis=1), 0.0)  # in ln ρ: of each what is below the largest
        even = np.clip(np.log(LARGEST / rho) + even / 2, 0.0, even)
        share = np.zeros_like(ratio)
        share[:, 1:] = even * np.array([self._share_of(along) for _, along, _ in self._covariances])[:, None]
        # before the residuals, no error is as likely as all errors together; it counts alone where the least
        # ρ that is tried is far more than the residuals show, as of a curve whose values are only rounded
        share[0, 0] = share.sum() or 1.0
        with np.errstate(divide="ignore"):
            return np.asarray(likelihood + np.log(share))

    def _weighed(self, seen: np.ndarray) -> list[Field]:
        """The fields with the weights that contrasts `seen` of the residuals give them."""
        shapes, (variance, axes) = self._covariances, self._shapes
        ratio = self._ratios(seen)
        squares = np.sum((seen @ axes)[:, None] ** 2 / (1 + ratio[..., None] * variance[:, None]), axis=-1)
        noise = np.sqrt(squares / self.dof)
        weight = shares(self._log_weights(ratio, noise))
        return [
            Field(*shape, *parts)
            for shape, *parts in zip(shapes, variance, axes, ratio, noise, weight, strict=True)
        ]

    # --- intervals -----------------------------------------------------------------------------------

    def optimum(self, best: np.ndarray) -> Places:
        """ln n_params and ln loss of the best split of n_params · n_data, near best (2, computes).

        With t = ln n_params along that line the minimum moves by −(dδ/dt)/(d² ln f/dt²).
        """
        step = np.exp(STEP * np.array([-1.0, 0.0, 1.0]))
        sizes = np.array([best[0][:, None] * step, best[1][:, None] / step])
        values = self._link(sizes)
        bend = np.maximum(values[:, 0] - 2 * values[:, 1] + values[:, 2], 1e-12) / STEP**2
        split = np.array([1.0, -1.0]) / (2 * STEP * bend[:, None])
        loss = np.tile([1.0, 0.0], (best.shape[1], 1))
        here = np.repeat(best[..., None], 2, axis=-1)
        return Places(np.concatenate([sizes[..., ::2], here], axis=1), np.concatenate([split, loss]))

    def ends(self, asked: Places, level: float, halves: np.ndarray, measured: bool = False) -> np.ndarray:
        """(2, quantities) how far the ends of the average lie below and above the fitted quantity.

        What is uncertain of the parameters is stretched to the interval that assumes the form: the linearised
        fit knows neither its sides nor, where it is nearly degenerate, its width; where that interval is the
        narrower, what is uncertain of δ shrinks with it. No end is nearer than that interval's; where the
        residuals rule the form out (`RULED_OUT`, whatever the level), than it would be with the noise that δ
        leaves.

        Args:
            halves: (2, quantities) those of the interval that assumes the form; infinite where it is open.
        """
        if not self.shows:
            return halves
        fit, middle, added, noise, weight, first = self._average(asked, measured)
        alone = np.array([1 - self.shared, self.shared][: len(first)])
        spreads = noise[first, None] * np.sqrt(fit[first])
        left = np.sqrt(weight @ noise**2 / (alone @ noise[first] ** 2)) if self.chance > RULED_OUT else 1.0
        found, sides = [], (-1, 1)
        share_of = {side: 0.5 + side * level / 2 for side in sides}
        # both sides count from the median: errors that runs share may move it to an end, or beyond the fit
        centre = mixture_quantile(middle[first], spreads, alone, self.dof, 0.5)
        assumed = [
            side * (mixture_quantile(middle[first], spreads, alone, self.dof, share_of[side]) - centre)
            for side in sides
        ]
        least = np.maximum(SIGNIFICANT * np.sum(assumed, axis=0), 1e-300)
        for side, half, end_of_form in zip(sides, halves, assumed, strict=True):
            share, usual = share_of[side], np.maximum(end_of_form, least)
            stretch = np.where(np.isfinite(half), np.maximum(half - side * centre, least), usual) / usual
            scale = np.minimum(stretch, 1.0)
            spread = noise[:, None] * np.sqrt(np.maximum(fit * stretch**2 + added * scale**2, 1e-300))
            end = side * mixture_quantile(middle, spread, weight, self.dof, share)
            found.append(np.where(np.isfinite(half), np.maximum(end, left * half), half))
        return np.array(found)

    def quantiles(self, asked: Places, shares: tuple[float, ...], noise: float = 0.0) -> np.ndarray:
        """(shares, quantities) how far quantiles of the average lie above the fitted quantity.

        Args:
            noise: variance of one more run over that of the residuals' noise; 0 for the quantity itself.
        """
        if not self.shows:
            return np.zeros((len(shares), len(asked.weight)))
        fit, middle, added, size, weight, _ = self._average(asked, noise)
        spread = size[:, None] * np.sqrt(np.maximum(fit + added, 1e-300))
        kept = weight > NEGLIGIBLE / len(weight)
        parts = middle[kept], spread[kept], weight[kept] / weight[kept].sum()
        return np.array([mixture_quantile(*parts, self.dof, share) for share in shares])

    def log_density(self, asked: Places, above: np.ndarray) -> np.ndarray:
        """(quantities,) ln of the density of one more run `above` the fitted ln L of each place."""
        fit, middle, added, noise, weight, _ = self._average(asked, measured=True)
        spread = noise[:, None] * np.sqrt(fit + added)
        each = student_log_density((above - middle) / spread, self.dof) - np.log(spread)
        return np.asarray(special.logsumexp(each, b=weight[:, None], axis=0))

    def _average(self, asked: Places, measured: float = 0.0) -> tuple[np.ndarray, ...]:
        """The average over errors of the form and noise: parts (k, quantities), their noise and weight (k,).

        The variance of the fitted quantities over that of the noise, the mean of each part and the variance
        that δ adds to it; and which have no error of the form.
        """
        found: list[tuple[np.ndarray, ...]] = []
        first: list[int] = []
        # of levels: what slopes miss, on which the best split of compute rests, was not measured
        beyond = self._beyond(asked) * asked.weight.sum(axis=1)
        missed, lower = 1 + (MISSED - 1) * np.abs(beyond), LOWER * beyond
        for share, part in self._parts:
            shares = part._shares(asked)
            fit = np.maximum(np.sum(shares**2, axis=1) + measured, 1e-300)
            first.append(sum(len(each[3]) for each in found))
            for field in part.fields[:1] + [field for field in part.fields[1:] if field.counts]:
                middle, added = part._predicted(asked, shares, field)
                middle = middle + shares @ part.moved
                wider = np.where(field.ratio[:, None] > 0, missed**2, 1.0)
                added = added * wider
                middle = middle - lower * field.noise[:, None] * np.sqrt(added)
                found.append((fit * wider, middle, added, field.noise, share * field.weight))
        return *(np.concatenate(parts) for parts in zip(*found, strict=True)), np.array(first)

    def _beyond(self, asked: Places) -> np.ndarray:
        """(quantities,) from 0 at the runs to 1 at many times what was spent on the largest of them.

        What counts as spent is the product of the sizes, each to the power of its mean slope.
        """
        if self.varied.sum() < 2:
            return np.zeros(len(asked.weight))
        slopes = -np.mean(self.slopes_at_runs, axis=1)
        slopes = slopes / np.mean(np.abs(slopes))
        spent = np.einsum("v,vqm->qm", slopes, self.coordinates(asked.sizes)).max(axis=1)
        return np.asarray(-np.expm1(-np.maximum(spent - np.max(slopes @ self.logs), 0.0)))

    # --- before a run is made: the planner's prior ------------------------------------------------------

    @cached_property
    def run_variance(self) -> float:
        """Variance of the noise of one run, averaged over errors of the form."""
        return float(sum(field.weight @ field.noise**2 for field in self.fields))

    def covariance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(n, m) of δ at a (variables, n) and b (variables, m) before any run, averaged over its errors."""
        places = [(self.coordinates(x), self.slopes(x)) for x in (a, b)]
        found = np.zeros((a.shape[1], b.shape[1]))
        for size, field in self._sizes:
            first, second = (_together(slopes, field.along) for _, slopes in places)
            between = matern(places[0][0], places[1][0], field.range, field.along)
            found += size * between * np.outer(first, second)
        return found

    def variance(self, x: np.ndarray) -> np.ndarray:
        """(n,) the diagonal of `covariance` at x (variables, n)."""
        slopes = self.slopes(x)
        return np.asarray(sum(size * _together(slopes, field.along) ** 2 for size, field in self._sizes))

    @property
    def _sizes(self) -> list[tuple[float, Field]]:
        """The variance of δ, averaged over ρ, of every field that counts."""
        return [(float(f.weight @ (f.noise**2 * f.ratio)), f) for f in self.fields if f.counts]

    def _predicted(self, asked: Places, shares: np.ndarray, field: Field) -> tuple[np.ndarray, np.ndarray]:
        """(k, quantities) mean of quantity − fitted quantity, and the variance that δ adds over the noise's.

        That is δ at the places of the quantity less what the fit took over of δ at the runs.
        """
        logs = self.coordinates(asked.sizes)
        weight = asked.weight * _together(self.slopes(asked.sizes), field.along)
        at_runs, taken, seen = self._shared(logs, weight, shares, field)
        among = matern(logs, logs, field.range, field.along)
        at_places = np.einsum("qm,qmn,qn->q", weight, among, weight)
        alone = at_places - 2 * np.sum(at_runs * shares, axis=1) + np.sum(taken * shares, axis=1)
        ratio = field.ratio[:, None]
        shrunk = seen[None] / (1 + ratio * field.variance)[:, None]  # (k, quantities, contrasts)
        middle = ratio * (shrunk @ (field.axes.T @ self.seen))
        return middle, np.maximum(ratio * alone - ratio**2 * np.sum(shrunk * seen, axis=-1), 0.0)

    def _shared(
        self, logs: np.ndarray, weight: np.ndarray, shares: np.ndarray, field: Field
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Covariances with δ at the runs, (quantities, runs), of δ and of what the fit took over of it.

        And that of their difference with the contrasts, (quantities, contrasts).
        """
        unit = self.weight * _together(self.slopes_at_runs, field.along)
        at_runs = matern(logs.reshape(len(logs), -1), self.logs, field.range, field.along) * unit
        at_runs = self._whitened(at_runs.T).T
        at_runs = np.einsum("qm,qmn->qn", weight, at_runs.reshape(*weight.shape, -1))
        taken = shares @ field.covariance
        return at_runs, taken, (at_runs - taken) @ self.contrasts @ field.axes

    def _shares(self, asked: Places) -> np.ndarray:
        """(quantities, runs) what the fitted quantity takes over of each run's residual."""

        def quantity(values: np.ndarray) -> np.ndarray:
            return np.asarray(np.sum(self._link(asked.sizes, values) * asked.weight, axis=1))

        gradient = self.linear.slopes(quantity, len(asked.weight))
        return np.asarray(np.linalg.solve(self.triangle.T, gradient.T).T @ self.trend.T)

    def _link(self, x: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
        """(…) ln f at x (variables, …), or f in a fit of raw values; with the fitted or other parameters."""
        form = self.law.form
        with np.errstate(all="ignore"):
            found = form.function(x if len(x) > 1 else x[0], *(self.law.values if values is None else values))
            return np.broadcast_to(np.log(found) if self.law.log else found, x.shape[1:])


def _together(slopes: np.ndarray, along: tuple[int, ...]) -> np.ndarray:
    """(…) root mean square of some of the slopes (varied, …)."""
    return np.asarray(np.sqrt(np.mean(slopes[list(along)] ** 2, axis=0)))


def matern(
    a: np.ndarray, b: np.ndarray, reach: float | np.ndarray, along: tuple[int, ...] | None = None
) -> np.ndarray:
    """(…, n, m) covariance of a field of unit variance at a (variables, …, n) and b (variables, …, m).

    Args:
        along: the variables that it depends on; by default all.
    """
    if along is not None:
        a, b = a[list(along)], b[list(along)]
    distance = np.sqrt(5 * np.sum((a[..., None] - b[..., None, :]) ** 2, axis=0)) / reach
    return np.asarray((1 + distance + distance**2 / 3) * np.exp(-distance))
