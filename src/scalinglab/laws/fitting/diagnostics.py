"""Is the noise what the fit assumes? Tests of the residuals, and how much wider an interval has to be.

A fit takes residuals to be independent, of one size, and scattered around its form. Three tests, all on the
residuals r = (1 − H) ε of the linearised fit (H its hat matrix), with their distributions under the
assumption drawn, not approximated:

- *correlation along the curve*: Σ r_i r_{i+1}/Σ r², as in Durbin and Watson (1950);
- *a break that the form lacks*: the largest part of Σ r² that a hinge max(0, ln x − ln x_b) explains, over
  all places x_b;
- *noise that depends on size*: the trend of r² with ln x.

What a test rejects widens the interval of the law, and is said in a sentence:

- correlation ρ between neighbours, or noise ∝ x^γ, change the variance of a prediction g·β from g·PPᵀ·g to
  g·PΩPᵀ·g (P = (JᵀJ)⁻¹Jᵀ, Ω the covariance of the noise), which is scaled by the square root of their ratio;
- a break: the interval is joined with those of the form plus a hinge, at every place that the points do not
  exclude. The scatter is then that around the best hinge, and the other two tests are made there: a bend is
  neither noise nor correlation.

ρ and γ are those at which what was seen, or less, would be seen in one case of four.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from scalinglab.laws.fitting.solution import Solution

FEWEST_SIZES = 8  # below, a test of residuals has no power
DRAWS = 1000
REJECTED = 0.05  # p-value below which an interval is widened and a sentence added
SUSPECTED = 0.2  # below which it is widened for correlation: one that few points do not show costs more
CAUTIOUS = 0.25  # one case of four
CORRELATIONS = np.array([0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95])
NOISE_EXPONENTS = np.linspace(-1.0, 1.0, 21)


@dataclass(frozen=True)
class Diagnosis:
    """Tests of a law's assumptions on its residuals.

    Attributes:
        correlation_pvalue, break_pvalue, noise_pvalue: of the three tests.
        correlation: ρ between neighbours; 0 where not suspected.
        noise_exponent: γ of noise ∝ x^γ; 0 where not rejected.
        break_at: the place of the hinge; NaN where not rejected.
    """

    law: Solution
    correlation_pvalue: float
    break_pvalue: float
    noise_pvalue: float
    correlation: float
    noise_exponent: float
    break_at: float

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is not as the fit assumes, in plain sentences."""
        found = []
        if self.break_pvalue < REJECTED:
            found.append(
                f"Lack of fit: the points bend away from the form near x = {self.break_at:.3g} "
                f"({_p(self.break_pvalue)}); intervals are widened to hold both continuations."
            )
        if self.correlation_pvalue < REJECTED:
            found.append(
                f"Lack of fit: residuals are correlated across sizes ({_p(self.correlation_pvalue)}); "
                f"intervals are widened for a correlation of {self.correlation:.2g} between neighbours."
            )
        if self.noise_pvalue < REJECTED:
            found.append(
                f"Noise {'grows' if self.noise_exponent > 0 else 'falls'} with size, about as "
                f"x^{self.noise_exponent:.2g} ({_p(self.noise_pvalue)}); intervals are adapted to it. "
                "Give error= where it is known."
            )
        return tuple(found)

    def widened(self, x: Any, low: Any, high: Any, level: float) -> tuple[Any, Any]:
        """The ends of the law's interval at x, widened by what the residuals show."""
        if not (self.correlation or self.noise_exponent or np.isfinite(self.break_at)):
            return low, high
        at = np.atleast_1d(np.asarray(x, float))
        bottom, top = np.log(np.atleast_1d(low)), np.log(np.atleast_1d(high))
        centre = np.log(np.atleast_1d(self.law.predict(at)))
        tests = self._tests
        factor = np.ones(len(at))
        if self.correlation or self.noise_exponent:
            factor = np.maximum(tests.factor(at, self.correlation, self.noise_exponent), 1.0)
        broken = np.isfinite(self.break_at)
        narrower = factor * tests.scatter_left() if broken else factor
        bottom, top = centre - narrower * (centre - bottom), centre + narrower * (top - centre)
        # of two parameters, the hinge's slope and its place
        quantile = math.sqrt(2 * float(stats.f.ppf(level, 2, max(tests.dof - 2, 1))))
        for place, reach in tests.possible_places(quantile) if broken else ():
            shift, error = tests.hinged(at, place)
            half = factor * reach * error
            bottom, top = np.minimum(bottom, centre + shift - half), np.maximum(top, centre + shift + half)
        ends = np.exp(bottom), np.exp(top)
        return ends if np.ndim(x) else (float(ends[0][0]), float(ends[1][0]))

    @cached_property
    def _tests(self) -> _Tests:
        return _Tests(self.law)


def diagnose(law: Solution) -> Diagnosis:
    """Test the residuals of a law of one variable, fitted to logarithms at eight sizes or more."""
    nothing = Diagnosis(law, *(float("nan"),) * 3, correlation=0.0, noise_exponent=0.0, break_at=float("nan"))
    rounding = 1e-12
    if (
        law.points.x.ndim > 1
        or not law.log
        or law.points.sizes < max(FEWEST_SIZES, len(law.form.parameters) + 4)
        or np.max(np.abs(law.residuals)) < rounding
    ):
        return nothing
    tests = _Tests(law)
    break_pvalue = tests.break_pvalue()
    place = float("nan")
    if break_pvalue < REJECTED:
        place = float(np.exp(tests.break_place()))
        tests = _Tests(law, place)
    drawn = tests.projected(np.eye(len(tests.logs)))
    alike, trend = (statistic(tests.residuals[None])[0] for statistic in (tests.alike, tests.noise_trend))
    correlation_pvalue = float(np.mean(tests.alike(drawn) >= alike))
    noise_pvalue = float(np.mean(np.abs(tests.noise_trend(drawn)) >= abs(trend)))
    return Diagnosis(
        law,
        correlation_pvalue,
        break_pvalue,
        noise_pvalue,
        correlation=tests.correlation(alike) if correlation_pvalue < SUSPECTED else 0.0,
        noise_exponent=tests.noise_exponent(trend) if noise_pvalue < REJECTED else 0.0,
        break_at=place,
    )


class _Tests:
    """The linearised fit of a law, with a hinge at `place` where given, and statistics of its residuals."""

    def __init__(self, law: Solution, place: float = math.nan) -> None:
        self.law = law
        count = len(law.points.y)
        problem, z = law.problem, law.coordinates
        free = np.array([name not in law.certificate.at_bound for name in law.form.names])
        self.free = free
        self.jacobian = problem.jacobian(z[None])[0][:count, free]
        scale = np.maximum(np.linalg.norm(self.jacobian, axis=0), 1e-300)
        self.scale = scale
        self.logs = np.log(law.points.x)
        hinge = np.maximum(self.logs - math.log(place), 0.0)[:, None] if math.isfinite(place) else ()
        self.q = np.linalg.qr(np.hstack([self.jacobian / scale, *([hinge] if len(hinge) else [])]))[0]
        self.dof = count - self.q.shape[1]
        raw = problem.residuals(z[None])[0, :count]
        self.residuals = raw - self.q @ (self.q.T @ raw)
        self.left = 1 - np.sum(self.q**2, axis=1)  # diagonal of 1 − H
        self.normal = np.random.default_rng(0).standard_normal((DRAWS, count))
        sizes = np.unique(self.logs)
        self.places = sizes[2:-2]
        hinges = np.maximum(self.logs[None] - self.places[:, None], 0.0)
        self.hinges = hinges - (hinges @ self.q) @ self.q.T
        centred = self.logs - self.logs.mean()
        self.trend = centred / np.linalg.norm(centred)

    def projected(self, factor: np.ndarray) -> np.ndarray:
        """(draws, n) residuals of noise with covariance factor · factorᵀ."""
        noise = self.normal @ factor.T
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

    def break_pvalue(self) -> float:
        """Of the hinge; under correlated noise where residuals are correlated, which looks like a hinge."""
        seen, alike = (test(self.residuals[None])[0] for test in (self.bent, self.alike))
        drawn = self.projected(np.eye(len(self.logs)))
        independent = float(np.mean(self.bent(drawn) >= seen))
        if independent >= REJECTED or np.mean(self.alike(drawn) >= alike) >= REJECTED:
            return independent
        correlated = self.projected(self.covariance_factor(self.correlation(alike), 0.0))
        return float(np.mean(self.bent(correlated) >= seen))

    def noise_trend(self, r: np.ndarray) -> np.ndarray:
        squares = r**2 / np.maximum(self.left, 1e-3)
        return np.asarray(squares @ self.trend / squares.mean(axis=1))

    def break_place(self) -> float:
        return float(self.places[np.argmax(self.explained(self.residuals[None])[0])])

    def covariance_factor(self, correlation: float, exponent: float) -> np.ndarray:
        distance = np.abs(np.subtract.outer(np.arange(len(self.logs)), np.arange(len(self.logs))))
        covariance = float(correlation) ** distance if correlation else np.eye(len(self.logs))
        size = np.exp(exponent * (self.logs - self.logs.mean()))
        return np.asarray(np.linalg.cholesky(covariance) * size[:, None])

    def correlation(self, seen: float) -> float:
        """ρ at which one case of four shows `seen` or less."""
        shown = [
            np.quantile(self.alike(self.projected(self.covariance_factor(rho, 0.0))), CAUTIOUS)
            for rho in CORRELATIONS
        ]
        return float(np.interp(seen, np.maximum.accumulate(shown), CORRELATIONS))

    def noise_exponent(self, seen: float) -> float:
        """γ at which one case of four shows a trend nearer to zero."""
        side = np.sign(seen)
        exponents = NOISE_EXPONENTS[NOISE_EXPONENTS >= 0]
        shown = [
            np.quantile(
                side * self.noise_trend(self.projected(self.covariance_factor(0.0, side * g))), CAUTIOUS
            )
            for g in exponents
        ]
        return float(side * np.interp(side * seen, np.maximum.accumulate(shown), exponents))

    def gradient(self, at: np.ndarray) -> np.ndarray:
        """(at, p) of ln law with respect to the scaled coordinates, by central differences."""
        problem, z, step = self.law.problem, self.law.coordinates, 1e-5
        columns = []
        for j, scale in zip(np.flatnonzero(self.free), self.scale, strict=True):
            ends = []
            for sign in (1, -1):
                moved = z.copy()
                moved[j] += sign * step
                values = problem.to_parameters(moved[None])[0]
                ends.append(np.log(self.law.form.function(at, *values)))
            columns.append((ends[0] - ends[1]) / (2 * step * scale))
        return np.array(columns).T

    def factor(self, at: np.ndarray, correlation: float, exponent: float) -> np.ndarray:
        """(at,) standard error under this noise over the one that the fit assumes."""
        scaled = self.jacobian / self.scale
        weights = self.gradient(at) @ np.linalg.pinv(scaled)  # (at, n): what each point does to ln law
        shape = self.covariance_factor(correlation, exponent)
        expected = np.sum((shape - self.q @ (self.q.T @ shape)) ** 2) / self.dof  # of the residual variance
        usual = np.sum(weights**2, axis=1)
        return np.asarray(
            np.sqrt(np.sum((weights @ shape) ** 2, axis=1) / np.maximum(usual, 1e-300) / expected)
        )

    def scatter_left(self) -> float:
        """Standard deviation around the best hinge over that without one, at most 1."""
        left = 1 - float(self.explained(self.residuals[None])[0].max())
        return min(math.sqrt(left * self.dof / max(self.dof - 2, 1)), 1.0)

    def possible_places(self, quantile: float) -> list[tuple[float, float]]:
        """Where a hinge leaves no significantly larger Σ r² than at the best place, as in a profile.

        With each, the standard errors that are left of the quantile there.
        """
        left = 1 - self.explained(self.residuals[None])[0]
        reach = quantile**2 - (left / max(left.min(), 1e-300) - 1) * max(self.dof - 2, 1)
        chosen = np.flatnonzero(reach >= 0)
        return [(float(np.exp(self.places[k])), float(np.sqrt(reach[k]))) for k in chosen]

    def hinged(self, at: np.ndarray, place: float) -> tuple[np.ndarray, np.ndarray]:
        """(at,) by how much ln law changes with a hinge at `place`, and the standard error there."""
        hinge = np.maximum(self.logs - np.log(place), 0.0)
        design = np.column_stack([self.jacobian / self.scale, hinge])
        # residuals are law − measured: the coefficients move the law towards the points
        inverse = np.linalg.pinv(design)
        moved = -(inverse @ self.residuals)
        rest = self.residuals + design @ moved
        variance = rest @ rest / max(self.dof - 2, 1)
        row = np.column_stack([self.gradient(at), np.maximum(np.log(at / place), 0.0)])
        return row @ moved, np.sqrt(variance * np.sum((row @ inverse) ** 2, axis=1))


def _p(value: float) -> str:
    return f"p = {value:.2g}" if value >= 1 / DRAWS else f"p < {1 / DRAWS:g}"
