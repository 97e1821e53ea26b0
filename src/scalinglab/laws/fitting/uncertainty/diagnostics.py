"""Is the noise what the fit assumes? Tests of the residuals, and intervals that hold where it is not.

A fit takes residuals to be independent, of one size, and scattered around its form. Whether the form fits is
the test of `bend`. Two more tests, on the residuals of the linearised fit, with the hinge where one is seen,
with their distributions under the assumption drawn, not approximated:

- *correlation along the curve*: Σ r_i r_{i+1}/Σ r², as in Durbin and Watson (1950);
- *noise that depends on size*: the trend of r² with ln x.

Intervals do not wait for a test to reject. They are scaled by the ratio of two intervals of the linearised
fit: the one averaged over noise that grows or falls with size (`statistics.NoiseAverage`), and the usual one.
Correlation joins the average where it is suspected, and always for the points of one or two runs; from fewer
than 20 sizes it cannot be seen, and points count as those of separate runs unless `runs` says otherwise.
Where a bend is seen, the interval is joined with that of the form plus a bend, averaged over hinges at all
places and a parabola in ln x: a bend is neither noise nor correlation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from scalinglab.laws.fitting import bend
from scalinglab.laws.fitting.bend import CANNOT_TELL, SIGNIFICANT, Bend, BendFamily, Residuals
from scalinglab.laws.fitting.data.points import FEWEST_SIZES
from scalinglab.laws.fitting.solution import ROUNDING, Solution
from scalinglab.laws.fitting.statistics import NoiseAverage, average_over_noise
from scalinglab.laws.fitting.uncertainty.linear import LinearFit, scaled
from scalinglab.results.types import Reason

TRIED_PLACES = 12  # search: of a hinge, over which an interval is averaged
# measured: benchmarks/coverage.py, "one variable, 5 sizes, noise that grows": with 0.5, 1 and 2 intervals
# hold 89, 94 and 95 % at the end and are 6.2, 7.4 and 9.6 % wide; largest |γ| in noise ∝ x^γ
STEEPEST_NOISE = 1.0
# measured: benchmarks/coverage.py: with 0.1, 0.2 and 0.4 intervals hold 88, 89 and 90 % of "offset, 24 sizes,
# AR(1)" beyond, and are 54, 59 and 72 % wide without correlation ("12 sizes, noise that grows"); p-value
# below which an interval counts with correlation
SUSPECTED = 0.2


@dataclass(frozen=True)
class Diagnosis:
    """Tests of a law's assumptions on its residuals.

    Attributes:
        bend: whether the points bend away from the form.
        correlation_pvalue, noise_pvalue: of the two other tests; NaN below eight sizes.
        noise: what intervals are averaged over; None where residuals cannot be judged.
    """

    bend: Bend = CANNOT_TELL
    correlation_pvalue: float = math.nan
    noise_pvalue: float = math.nan
    noise: NoiseModels | None = None

    @property
    def correlation(self) -> float:
        """ρ between neighbours, averaged; 0 where not suspected."""
        return self.noise.best.mean_correlation if self.noise is not None else 0.0

    @property
    def noise_exponent(self) -> float:
        """γ of noise ∝ x^γ, averaged."""
        return self.noise.best.mean_noise_exponent if self.noise is not None else 0.0

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """What is not as the fit assumes."""
        found = []
        if self.bend.located:
            found.append(Reason("bends_off_the_form", at=float(self.bend.place), p=self.bend.pvalue))
        elif self.bend.seen:
            found.append(Reason("means_off_the_form", p=self.bend.pvalue))
        if (p := self.correlation_pvalue) < SIGNIFICANT:
            found.append(Reason("correlated", correlation=self.correlation, p=p))
        if (p := self.noise_pvalue) < SIGNIFICANT:
            found.append(Reason("noise_changes", power=self.noise_exponent, p=p))
        return tuple(found)


def diagnose(law: Solution) -> Diagnosis:
    """Test the residuals of a law of one variable, fitted to logarithms."""
    nothing_free = len(law.certificate.at_bound) == len(law.form.names)
    if law.points.x.ndim > 1 or not law.log or law.dof < 1 or nothing_free:
        return Diagnosis()
    if np.max(np.abs(law.residuals)) < ROUNDING:
        return Diagnosis()
    linear, along_runs = LinearFit(law), law.points.along_runs
    residuals = Residuals.of(linear.measured, linear.design)
    if law.points.sizes < max(FEWEST_SIZES, len(law.form.parameters) + 4):
        averaged = averaged_over_noise(linear, along_runs)
        return Diagnosis(bend.of_sizes(residuals, linear.logs), noise=NoiseModels(linear, averaged))
    places = np.unique(linear.logs)[2:-2]
    hinges = BendFamily(residuals, bend.hinges(linear.logs, places)[..., None])
    correlation_pvalue = residuals.pvalue(_neighbours)
    pvalue = hinges.pvalue()
    if pvalue < SIGNIFICANT and correlation_pvalue < SIGNIFICANT:  # correlated noise looks like a hinge
        even = averaged_over_noise(linear, correlated=True, steepest=0.0)
        pvalue = hinges.pvalue(even.mean_correlation)
    slope, error = hinges.coefficient()
    found = Bend(pvalue, float(np.exp(places[hinges.best])), -slope, error, hinges.dof)
    # each by its own residuals: without the hinge those of a bend are correlated
    averaged = averaged_over_noise(linear, along_runs or correlation_pvalue < SUSPECTED)
    if not found.seen:
        found = replace(found, place=math.nan)
        trend = _noise_pvalue(residuals, linear.logs)
        return Diagnosis(found, correlation_pvalue, trend, NoiseModels(linear, averaged))
    hinge = np.column_stack([linear.design, bend.hinges(linear.logs, places[[hinges.best]])[0]])
    around = Residuals.of(linear.measured, hinge)
    correlation_pvalue = around.pvalue(_neighbours)
    bends = Bends.of(hinges, places, linear.logs)
    bent = averaged_over_noise(linear, along_runs or correlation_pvalue < SUSPECTED, bends=bends)
    models = NoiseModels(linear, averaged, bent, bends, _scatter_left(hinges))
    return Diagnosis(found, correlation_pvalue, _noise_pvalue(around, linear.logs), models)


def _neighbours(r: np.ndarray) -> np.ndarray:
    """(sets,) correlation of neighbours among residuals (sets, n)."""
    return np.asarray(np.sum(r[:, 1:] * r[:, :-1], axis=1) / np.sum(r**2, axis=1))


def _noise_pvalue(residuals: Residuals, log_x: np.ndarray) -> float:
    """Of noise that does not depend on size."""
    trend = log_x - log_x.mean()

    def with_size(r: np.ndarray) -> np.ndarray:
        squares = r**2 / np.maximum(residuals.unfitted, 1e-3)
        return np.asarray(np.abs(squares @ trend) / squares.mean(axis=1))

    return residuals.pvalue(with_size)


def _scatter_left(hinges: BendFamily) -> float:
    """Standard deviation around the best hinge over that without one, at most 1."""
    dof = hinges.residuals.dof
    return min(math.sqrt((1 - float(hinges.shares.max())) * dof / max(dof - 2, 1)), 1.0)


@dataclass(frozen=True)
class Bends:
    """Bends over which an interval is averaged: hinges, and a parabola in ln x, the bend that goes on.

    The prior of a bend's size is flat in these units: a change of slope, and the points' range. A sharp bend
    is as likely as one that goes on.

    Attributes:
        places: ln x of the hinges, evenly over those that the points do not exclude.
        middle, span: of ln x, of the parabola.
    """

    places: np.ndarray
    middle: float
    span: float

    @classmethod
    def of(cls, hinges: BendFamily, places: np.ndarray, log_x: np.ndarray) -> Bends:
        """Those that the points allow, by the hinges at `places`."""
        left, dof = 1 - hinges.shares, max(hinges.residuals.dof - 2, 1)
        worse = (left / max(float(left.min()), 1e-300) - 1) * dof
        possible = places[worse <= 2 * special.fdtri(2, dof, 0.99)]
        half = float(np.ptp(places)) / max(len(places) - 1, 1) / 2
        tried = np.linspace(possible.min() - half, possible.max() + half, TRIED_PLACES)
        return cls(tried, float(log_x.mean()), max(float(np.ptp(log_x)), 1e-12))

    def at(self, log_x: np.ndarray) -> np.ndarray:
        """(bends, …) their columns at ln x."""
        hinges = np.maximum(log_x[None] - self.places.reshape(-1, *(1,) * log_x.ndim), 0.0)
        return np.concatenate([hinges, ((log_x - self.middle) / self.span)[None] ** 2])

    @property
    def share(self) -> np.ndarray:
        """(bends,) prior of each."""
        return np.r_[np.full(TRIED_PLACES, 0.5 / TRIED_PLACES), 0.5]


def averaged_over_noise(
    linear: LinearFit, correlated: bool, *, steepest: float = STEEPEST_NOISE, bends: Bends | None = None
) -> NoiseAverage:
    """The linearised fit, of the form or of the form with a bend, averaged over noise."""
    designs, share = linear.design[None], np.ones(1)
    if bends is not None:
        designs, share = _with(linear.design, bends.at(linear.logs)), bends.share
    if linear.law.points.error is not None:  # which says how the noise depends on size
        steepest = 0.0
    robust = bool(np.isfinite(linear.law.delta))
    return average_over_noise(
        designs,
        linear.measured,
        linear.logs,
        correlated=correlated,
        steepest=steepest,
        robust=robust,
        share=share,
    )


@dataclass(frozen=True)
class NoiseModels:
    """What intervals of a law are averaged over: noise, and a bend where one is seen.

    Attributes:
        average: the linearised fit averaged over noise.
        bent: the same with a bend.
        bends: the bends of `bent`.
        scatter_left: standard deviation around the best hinge over that without one.
    """

    linear: LinearFit
    average: NoiseAverage
    bent: NoiseAverage | None = None
    bends: Bends | None = None
    scatter_left: float = 1.0

    @property
    def best(self) -> NoiseAverage:
        """The average that the points follow."""
        return self.bent or self.average

    def widened(
        self,
        quantity: Callable[[np.ndarray], np.ndarray],
        centre: np.ndarray,
        ends: tuple[np.ndarray, np.ndarray],
        level: float,
        places: tuple[np.ndarray, np.ndarray] | None = None,
        measured: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ends of intervals of quantities around `centre`, with what the noise may be.

        Args:
            quantity: of the parameters (p,), gives (quantities,).
            places: sizes and weights, each (quantities, m), of quantities that are sums of ln law: a bend
                moves them, too.
            measured: whether the noise of one more point at the (one) size of each counts.
        """
        with np.errstate(invalid="ignore", divide="ignore"):  # NaN where a form is not positive
            rows = self.linear.slopes(quantity, len(centre))
        logs = self.linear.logs
        # noise that grows or falls with size is that of the nearest point beyond the points
        noise_at = np.clip(np.log(places[0][:, 0]), logs.min(), logs.max()) if measured and places else None
        if self.bent is None or self.bends is None or places is None:
            return self._scaled(rows, centre, ends, level, noise_at)
        bottom, top = (centre + self.scatter_left * (end - centre) for end in ends)  # that around the bend
        moved = np.sum(self.bends.at(np.log(places[0])) * places[1], axis=-1)  # (bends, quantities)
        bent = self.bent.known(_with(rows, moved), noise_at, self.linear.points_per_block)
        below, above = bent.ends(level)
        return np.minimum(bottom, centre + below), np.maximum(top, centre + above)

    def _scaled(
        self,
        rows: np.ndarray,
        centre: np.ndarray,
        ends: tuple[np.ndarray, np.ndarray],
        level: float,
        noise_at: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ends, scaled on each side by the average's interval over the usual one."""
        if len(self.average.weight) == 1:  # one noise model: that of the fit
            return ends
        below, above = self.average.known(rows[None], noise_at, self.linear.points_per_block).ends(level)
        half = self.linear.half_width(rows, level, noise_at is not None)
        return scaled(centre, ends, -below / half, above / half)


def _with(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """(designs, n, p + 1): the rows (n, p) with each of the columns (designs, n) added."""
    several = np.broadcast_to(rows, (len(columns), *rows.shape))
    return np.concatenate([several, columns[..., None]], axis=-1)
