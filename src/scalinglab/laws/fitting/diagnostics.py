"""Is the noise what the fit assumes? Tests of the residuals, and intervals that hold where it is not.

A fit takes residuals to be independent, of one size, and scattered around its form. Three tests, all on the
residuals r = (1 − H) ε of the linearised fit (H its hat matrix), with their distributions under the
assumption drawn, not approximated:

- *correlation along the curve*: Σ r_i r_{i+1}/Σ r², as in Durbin and Watson (1950);
- *a break that the form lacks*: the largest part of Σ r² that a hinge max(0, ln x − ln x_b) explains, over
  all places x_b;
- *noise that depends on size*: the trend of r² with ln x.

Intervals do not wait for a test to reject. They are scaled by the ratio of two intervals of the linearised
fit: the one averaged over noise that grows or falls with size (`statistics.NoiseAverage`), and the usual one.
Correlation joins the average where it is suspected, and always for the points of one or two runs; from fewer
than 20 sizes it cannot be seen, and points count as those of separate runs unless `runs` says otherwise.
Where a break is found, the interval is joined with that of the form plus a bend, averaged over hinges at all
places and a parabola in ln x: a bend is neither noise nor correlation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from scalinglab.laws.fitting.solution import Interval, Solution
from scalinglab.laws.fitting.statistics import NoiseAverage, average_over_noise

FEWEST_SIZES = 8  # below, a test of residuals has no power
DRAWS = 1000
MOST_POINTS = 500  # beyond, neighbours are averaged into this many
TRIED_PLACES = 12  # of a hinge, over which an interval is averaged
STEEPEST_NOISE = 1.0  # largest |γ| in noise ∝ x^γ; noise of a mean over x examples has −1/2
REJECTED = 0.05  # p-value below which a sentence says so
SUSPECTED = 0.2  # below which an interval counts with correlation: one that few points do not show costs more
LEAST_DIRECTION = 1e-6  # part of a column of the Jacobian that is not in the span of the others
ROUNDING = 1e-12  # residuals of ln y that are no noise


@dataclass(frozen=True)
class Diagnosis:
    """Tests of a law's assumptions on its residuals.

    Attributes:
        correlation_pvalue, break_pvalue, noise_pvalue: of the three tests; NaN below eight sizes.
        break_at: the place of the hinge; NaN where not rejected.
        average: the linearised fit averaged over noise; None where residuals cannot be judged.
        bent: the same with a bend, where one was found.
    """

    law: Solution
    correlation_pvalue: float = math.nan
    break_pvalue: float = math.nan
    noise_pvalue: float = math.nan
    break_at: float = math.nan
    average: NoiseAverage | None = None
    bent: NoiseAverage | None = None
    tests: _Tests | None = None

    @property
    def correlation(self) -> float:
        """ρ between neighbours, averaged; 0 where not suspected."""
        found = self.bent or self.average
        return found.mean_correlation if found is not None else 0.0

    @property
    def noise_exponent(self) -> float:
        """γ of noise ∝ x^γ, averaged."""
        found = self.bent or self.average
        return found.mean_noise_exponent if found is not None else 0.0

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is not as the fit assumes, in plain sentences."""
        found = []
        if self.break_pvalue < REJECTED:
            found.append(
                f"Lack of fit: the points bend away from the form near x = {self.break_at:.3g} "
                f"({_p(self.break_pvalue)}); intervals allow for both continuations."
            )
        if self.correlation_pvalue < REJECTED:
            found.append(
                f"Lack of fit: residuals are correlated across sizes ({_p(self.correlation_pvalue)}); "
                f"intervals allow for a correlation of {self.correlation:.2g} between neighbours."
            )
        if self.noise_pvalue < REJECTED:
            found.append(
                f"Noise {'grows' if self.noise_exponent > 0 else 'falls'} with size, about as "
                f"x^{self.noise_exponent:.2g} ({_p(self.noise_pvalue)}); intervals count with it. "
                "Give error= where it is known."
            )
        return tuple(found)

    def adapted(self, x: Any, low: Any, high: Any, level: float, of: str) -> tuple[Any, Any]:
        """The ends of the interval of the law, or of a measurement, at x, with what the noise may be."""
        if self.tests is None:
            return low, high
        at = np.atleast_1d(np.asarray(x, float))
        # noise that grows or falls with size is that of the nearest point beyond the points
        inside = np.clip(np.log(at), self.tests.logs.min(), self.tests.logs.max())
        measured = inside if of == "measurement" else None
        rows, bends = self.tests.gradient(at), self.tests.bends(np.log(at)) if self.bent else None
        with np.errstate(invalid="ignore", divide="ignore"):  # NaN where a form is not positive
            ends = np.log(np.atleast_1d(low)), np.log(np.atleast_1d(high))
            centre = np.log(np.atleast_1d(self.law.predict(at)))
        found = [np.exp(end) for end in self._joined(rows, bends, centre, ends, level, measured)]
        return (found[0], found[1]) if np.ndim(x) else (float(found[0][0]), float(found[1][0]))

    def adapted_ratio(self, both: np.ndarray, low: float, high: float, level: float) -> tuple[float, float]:
        """The ends of the interval of the law at the second size over that at the first."""
        if self.tests is None:
            return low, high
        rows = np.diff(self.tests.gradient(both), axis=0)
        bends = np.diff(self.tests.bends(np.log(both)), axis=1) if self.bent else None
        centre = np.diff(np.log(np.asarray(self.law.predict(both))))
        with np.errstate(divide="ignore"):
            ends = np.log(np.array([low])), np.log(np.array([high]))
        bottom, top = self._joined(rows, bends, centre, ends, level, None)
        return float(np.exp(bottom[0])), float(np.exp(top[0]))

    def _joined(
        self,
        rows: np.ndarray,
        bends: np.ndarray | None,
        centre: np.ndarray,
        ends: tuple[np.ndarray, np.ndarray],
        level: float,
        measured: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ends with what the noise may be, joined with those of the form with a bend, if there is one."""
        if self.bent is None or bends is None or self.tests is None:
            return self._scaled(rows, centre, *ends, level, measured)
        left = self.tests.scatter_left()  # the scatter is that around the bend
        bottom, top = (centre + left * (end - centre) for end in ends)
        below, above = self.bent.ends(_with(rows, bends), level, measured)
        return np.minimum(bottom, centre + below), np.maximum(top, centre + above)

    def adapted_parameters(self, ends: dict[str, Interval], level: float) -> dict[str, Interval]:
        """The intervals of the parameters and of `exponent`, with what the noise may be."""
        if self.tests is None:
            return ends
        found = dict(ends)
        bounds = {p.name: p for p in self.law.form.parameters}
        for name, (centre, row, log) in self.tests.parameter_rows().items():
            given = np.array([ends[name].low]), np.array([ends[name].high])
            with np.errstate(divide="ignore"):
                low, high = (np.log(v) for v in given) if log else given
            low, high = self._scaled(row[None], np.array([centre]), low, high, level, None)
            pair = (np.exp(low[0]), np.exp(high[0])) if log else (low[0], high[0])
            if name in bounds and name != "exponent":
                pair = max(pair[0], bounds[name].low), min(pair[1], bounds[name].high)
            elif name in bounds:  # its bound, not the data, would stop it
                inside = pair[0] > bounds[name].low, pair[1] < bounds[name].high
                pair = pair[0] if inside[0] else -np.inf, pair[1] if inside[1] else np.inf
            found[name] = Interval(float(pair[0]), float(pair[1]))
        return found

    def _scaled(
        self,
        rows: np.ndarray,
        centre: np.ndarray,
        bottom: np.ndarray,
        top: np.ndarray,
        level: float,
        log_x: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ends, scaled on each side by the average's interval over the usual one."""
        assert self.tests is not None
        assert self.average is not None
        if len(self.average.weight) == 1:  # one noise model: that of the fit
            return bottom, top
        below, above = self.average.ends(rows[None], level, log_x)
        half = self.tests.usual(rows, level, log_x is not None)
        # the fitted value stays inside
        down, up = np.maximum(-below / half, 0.0), np.maximum(above / half, 0.0)
        with np.errstate(invalid="ignore"):
            low, high = centre - down * (centre - bottom), centre + up * (top - centre)
        return np.where(np.isfinite(bottom), low, bottom), np.where(np.isfinite(top), high, top)


def diagnose(law: Solution) -> Diagnosis:
    """Test the residuals of a law of one variable, fitted to logarithms."""
    nothing_free = len(law.certificate.at_bound) == len(law.form.names)
    if law.points.x.ndim > 1 or not law.log or law.dof < 1 or nothing_free:
        return Diagnosis(law)
    if np.max(np.abs(law.residuals)) < ROUNDING:
        return Diagnosis(law)
    plain = _Tests(law)
    if law.points.sizes < max(FEWEST_SIZES, len(law.form.parameters) + 4):
        return Diagnosis(law, average=plain.averaged(law.points.along_runs), tests=plain)
    tests, place = plain, math.nan
    break_pvalue = plain.break_pvalue()
    if break_pvalue < REJECTED:
        place = float(np.exp(plain.break_place()))
        tests = _Tests(law, place)
    along_runs = law.points.along_runs
    return Diagnosis(
        law,
        tests.correlation_pvalue,
        break_pvalue,
        tests.noise_pvalue,
        place,
        # each by its own residuals: without the hinge those of a bend are correlated
        average=plain.averaged(along_runs or plain.correlation_pvalue < SUSPECTED),
        bent=plain.averaged(along_runs or tests.correlation_pvalue < SUSPECTED, bent=True)
        if math.isfinite(place)
        else None,
        tests=plain,
    )


class _Tests:
    """The linearised fit of a law, with a hinge at `place` where given, and statistics of its residuals."""

    def __init__(self, law: Solution, place: float = math.nan) -> None:
        self.law = law
        self.robust = bool(np.isfinite(law.delta))
        count = len(law.points.y)
        problem, z = law.problem, law.coordinates
        often = np.sqrt(problem.count[0])[:, None]
        jacobian = problem.jacobian(z[None])[0][:count] * often
        at_bound = np.isin(law.form.names, law.certificate.at_bound)
        self.free = independent(np.where(at_bound, 0.0, jacobian))
        jacobian = jacobian[:, self.free]
        raw = problem.residuals(z[None])[0, :count, None] * often
        jacobian, raw, logs = (
            _in_blocks(v, MOST_POINTS) for v in (jacobian, raw, np.log(law.points.x)[:, None])
        )
        self.scale = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
        self.design, self.logs = jacobian / self.scale, logs[:, 0]
        fitted = self.design
        if math.isfinite(place):
            fitted = np.column_stack([fitted, np.maximum(self.logs - math.log(place), 0.0)])
        self.q, self.r = np.linalg.qr(fitted)
        self.dof = len(self.logs) - self.q.shape[1]
        self.raw = raw[:, 0]
        self.residuals = self.raw - self.q @ (self.q.T @ raw[:, 0])
        self.left = 1 - np.sum(self.q**2, axis=1)  # diagonal of 1 − H
        self.places = np.unique(self.logs)[2:-2]
        hinges = np.maximum(self.logs[None] - self.places[:, None], 0.0)
        self.hinges = hinges - (hinges @ self.q) @ self.q.T
        centred = self.logs - self.logs.mean()
        self.trend = centred / max(float(np.linalg.norm(centred)), 1e-300)

    # --- tests ---------------------------------------------------------------------------------------

    def projected(self, correlation: float = 0.0) -> np.ndarray:
        """(draws, n) residuals of noise with this correlation between neighbours."""
        noise = np.random.default_rng(0).standard_normal((DRAWS, len(self.logs)))
        if correlation:
            noise[:, 1:] *= math.sqrt(1 - correlation**2)
            for i in range(1, noise.shape[1]):
                noise[:, i] += correlation * noise[:, i - 1]
        return np.asarray(noise - (noise @ self.q) @ self.q.T)

    def alike(self, r: np.ndarray) -> np.ndarray:
        return np.asarray(np.sum(r[:, 1:] * r[:, :-1], axis=1) / np.sum(r**2, axis=1))

    def explained(self, r: np.ndarray) -> np.ndarray:
        """(draws, places) the part of Σ r² that each hinge explains."""
        return np.asarray(
            (r @ self.hinges.T) ** 2 / np.sum(self.hinges**2, axis=1) / np.sum(r**2, axis=1)[:, None]
        )

    def bent(self, r: np.ndarray) -> np.ndarray:
        return np.asarray(self.explained(r).max(axis=1))

    def pvalue(self, statistic: Callable[[np.ndarray], np.ndarray], correlation: float = 0.0) -> float:
        """How likely it is as large where noise is even, with this correlation between neighbours."""
        return float(np.mean(statistic(self.projected(correlation)) >= statistic(self.residuals[None])[0]))

    @cached_property
    def correlation_pvalue(self) -> float:
        return self.pvalue(self.alike)

    @cached_property
    def noise_pvalue(self) -> float:
        return self.pvalue(lambda r: np.abs(self.noise_trend(r)))

    def break_pvalue(self) -> float:
        """Of the hinge; under correlated noise where residuals are correlated, which looks like a hinge."""
        independent = self.pvalue(self.bent)
        if independent >= REJECTED or self.correlation_pvalue >= REJECTED:
            return independent
        return self.pvalue(self.bent, self.averaged(correlated=True, even=True).mean_correlation)

    def noise_trend(self, r: np.ndarray) -> np.ndarray:
        squares = r**2 / np.maximum(self.left, 1e-3)
        return np.asarray(squares @ self.trend / squares.mean(axis=1))

    def break_place(self) -> float:
        return float(self.places[np.argmax(self.explained(self.residuals[None])[0])])

    def scatter_left(self) -> float:
        """Standard deviation around the best hinge over that without one, at most 1."""
        left = 1 - float(self.explained(self.residuals[None])[0].max())
        return min(math.sqrt(left * self.dof / max(self.dof - 2, 1)), 1.0)

    # --- intervals -----------------------------------------------------------------------------------

    def averaged(self, correlated: bool, *, even: bool = False, bent: bool = False) -> NoiseAverage:
        """The linearised fit, of the form or of the form with a bend, averaged over noise."""
        designs = _with(self.design, self.bends(self.logs)) if bent else self.design[None]
        # as likely a sharp bend as one that goes on
        share = np.r_[np.full(TRIED_PLACES, 0.5 / TRIED_PLACES), 0.5] if bent else np.ones(1)
        return average_over_noise(
            designs,
            -self.raw,
            self.logs,
            correlated=correlated,
            steepest=0.0 if even else self.steepest_noise,
            robust=self.robust,
            share=share,
        )  # fmt: skip  (residuals are law − measured)

    @property
    def steepest_noise(self) -> float:
        """The largest |γ| in noise ∝ x^γ; 0 where errors are given, which say it."""
        return 0.0 if self.law.points.error is not None else STEEPEST_NOISE

    def bends(self, log_x: np.ndarray) -> np.ndarray:
        """(bends, n) hinges at the tried places, and a parabola in ln x: the bend that goes on.

        The prior of a bend's size is flat in these units: a change of slope, and the points' range.
        """
        hinges = np.maximum(log_x - self.tried_places[:, None], 0.0)
        middle, span = float(self.logs.mean()), max(float(np.ptp(self.logs)), 1e-12)
        return np.concatenate([hinges, ((log_x - middle) / span)[None] ** 2])

    @cached_property
    def tried_places(self) -> np.ndarray:
        """`TRIED_PLACES` of ln x, evenly over those of a hinge that the points do not exclude."""
        left = 1 - self.explained(self.residuals[None])[0]
        worse = (left / max(float(left.min()), 1e-300) - 1) * max(self.dof - 2, 1)
        possible = self.places[worse <= 2 * stats.f.ppf(0.99, 2, max(self.dof - 2, 1))]
        half = float(np.ptp(self.places)) / max(len(self.places) - 1, 1) / 2
        return np.linspace(possible.min() - half, possible.max() + half, TRIED_PLACES)

    def usual(self, rows: np.ndarray, level: float, measured: bool) -> np.ndarray:
        """(quantities,) half the interval of the linearised fit with the scale of the law."""
        law = self.law
        variance = law.variance * len(self.logs) / len(law.points.y)  # of a mean, where points are in blocks
        variance = variance * np.sum(np.linalg.solve(self.r.T, rows.T) ** 2, axis=0)
        noise = law.residual_std**2 if measured else 0.0
        return np.asarray(np.maximum(law.quantile(level) * np.sqrt(variance + noise), 1e-300))

    def gradient(self, at: np.ndarray) -> np.ndarray:
        """(at, p) of ln law with respect to the scaled coordinates."""
        with np.errstate(invalid="ignore", divide="ignore"):  # NaN where a form is not positive
            return self._slopes(lambda values: np.log(self.law.form.function(at, *values)), len(at))

    def parameter_rows(self) -> dict[str, tuple[float, np.ndarray, bool]]:
        """By name of a free parameter, and of `exponent`: value, gradient, and whether of its logarithm."""
        law = self.law
        logs, indices = law.problem.logs, np.flatnonzero(self.free)
        found = {}
        for k, j in enumerate(indices):
            row = np.eye(len(indices))[k] / self.scale[k]
            found[law.form.names[j]] = float(law.coordinates[j]), row, bool(logs[j])
        if law.form.exponent is None or isinstance(law.form.exponent, float):
            return found

        def exponent(values: np.ndarray) -> np.ndarray:
            named = dict(zip(law.form.names, values, strict=True))
            return np.atleast_1d(np.asarray(law.form.get_exponent(law.form.expand(named)), float))

        found["exponent"] = float(exponent(law.values)[0]), self._slopes(exponent, 1)[0], False
        return found

    def _slopes(self, quantity: Callable[[np.ndarray], np.ndarray], count: int) -> np.ndarray:
        """(count, p) of quantities of the parameters, by central differences."""
        problem, z, step = self.law.problem, self.law.coordinates, 1e-5
        columns = np.zeros((count, len(self.scale)))
        for k, j in enumerate(np.flatnonzero(self.free)):
            ends = []
            for sign in (1, -1):
                moved = z.copy()
                moved[j] += sign * step
                ends.append(quantity(problem.to_parameters(moved[None])[0]))
            columns[:, k] = (ends[0] - ends[1]) / (2 * step * self.scale[k])
        return columns


def _with(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """(designs, n, p + 1): the rows (n, p) with each of the columns (designs, n) added."""
    several = np.broadcast_to(rows, (len(columns), *rows.shape))
    return np.concatenate([several, columns[..., None]], axis=-1)


def independent(jacobian: np.ndarray) -> np.ndarray:
    """(p,) whether each column adds a direction to those before it that the points see."""
    size = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-150)  # squares of less are zero
    diagonal = np.abs(np.diag(np.linalg.qr(jacobian / size, mode="r")))
    return np.asarray(diagonal > LEAST_DIRECTION)


def _in_blocks(values: np.ndarray, most: int) -> np.ndarray:
    """(n, …) values, neighbours averaged where n is more than `most`."""
    if len(values) <= most:
        return values
    return np.array([block.mean(axis=0) for block in np.array_split(values, most)])


def _p(value: float) -> str:
    return f"p = {value:.2g}" if value >= 1 / DRAWS else f"p < {1 / DRAWS:g}"
