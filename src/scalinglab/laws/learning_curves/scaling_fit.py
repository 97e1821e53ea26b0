"""Exponents of a collapse by least squares, with a spline for the master curve.

    ln y + b ln n = Φ(ln x − a ln n)

For given (a, b) the coefficients of Φ, a cubic spline with knots at quantiles of the rescaled x, are a
linear least-squares problem, so that the search is over the exponents alone (variable projection). How many
coefficients Φ needs is not known: the exponents are averaged over several numbers k with the weights of AICc,
and the differences between them count as errors (Buckland, Burnham and Augustin 1997),

    θ = Σ_k w_k θ_k,   stderr = Σ_k w_k √(Cov_k + (θ_k − θ)²),

where the covariance of each comes from the derivative J of the projected residuals r,

    Cov = (JᵀJ)⁻¹ Jᵀ diag(r²/(1 − h)²) J (JᵀJ)⁻¹ (1 + ρ)/(1 − ρ),

with the leverages h: the noise of every point counts as its residual shows it (HC3 of MacKinnon and White
1985), since that of a curve is only known from its own scatter; ρ ≥ 0 is the correlation of neighbouring
residuals of one curve: points of one training move together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.optimize import least_squares

from scalinglab.errors import NotDetermined
from scalinglab.laws.weighing import shares
from scalinglab.results.distributions import Estimate

# search: of master curves, over which exponents are averaged
COEFFICIENTS = (6, 8, 11, 15, 20)
DEGREE = 3  # defined: a cubic spline
SIDE = 0.1  # search: a step of an exponent
# guard: of a point, by which its residual is divided: one that the fit passes through whatever its value has
# none to show
LEAST_FREE = 0.05
# guard: of a step of the search on the squares of the residuals, in units of the noise: below it, and below
# 1e-12 of the largest, a direction is rounding and the exponents are not determined
LEAST_EFFECT = 1e-6
NEGLIGIBLE = 1e-3  # search: weight below which a spline is left out; its errors take as long as a fit


@dataclass(frozen=True)
class Points:
    """What is put on one master curve.

    Attributes:
        which: (n,) the number of the curve; points of one curve follow each other in the order of x.
        log_size: (n,) ln of its size.
        x, y: (n,) in logs.
        noise: (n,) standard error of y, up to a common factor.
    """

    which: np.ndarray
    log_size: np.ndarray
    x: np.ndarray
    y: np.ndarray
    noise: np.ndarray

    def rescaled(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x and y in the units of the master curve, at (a, b)."""
        return self.x - values[0] * self.log_size, self.y + values[1] * self.log_size


@dataclass(frozen=True)
class ScalingFit:
    """The exponents that make a collapse best.

    Attributes:
        values: a and b.
        errors: one standard error of each.
        coefficients: of the master curve's spline, those with the lowest AICc.
    """

    values: np.ndarray
    errors: np.ndarray
    coefficients: int


def fit(points: Points, starts: np.ndarray) -> tuple[Estimate, Estimate]:
    """The best exponents a and b from several starts, (starts, 2).

    Raises:
        NotDetermined: points that do not tell the exponents apart.
    """
    few = COEFFICIENTS[0]
    first = [float(np.sum(projected(points, start, few) ** 2)) for start in starts]
    found = [_refine(points, start, few) for start in starts[np.argsort(first)[:3]]]
    values = min(found, key=lambda pair: pair[1])[0]
    reached: dict[int, np.ndarray] = {}
    scores: list[float] = []
    for count in COEFFICIENTS:
        if reached and points.y.size - count - values.size < max(8, points.y.size // 4):
            break
        reached[count], objective = _refine(points, values, count)
        used = count + values.size + 1
        penalty = 2 * used * points.y.size / max(points.y.size - used - 1, 1)
        scores.append(points.y.size * np.log(max(objective, 1e-300)) + penalty)
    weights = shares(-np.array(scores) / 2, NEGLIGIBLE)
    kept = [count for count, weight in zip(reached, weights, strict=True) if weight > 0]
    fits = [_with_errors(points, reached[count], count) for count in kept]
    return averaged(fits, weights[weights > 0], points.y.size)


def averaged(fits: list[ScalingFit], weights: np.ndarray, size: int) -> tuple[Estimate, Estimate]:
    """a and b of several fits, whose differences count as errors."""
    each = np.array([fit.values for fit in fits])
    values = weights @ each
    errors = weights @ np.sqrt(np.array([fit.errors for fit in fits]) ** 2 + (each - values) ** 2)
    free = max(size - fits[int(np.argmax(weights))].coefficients - values.size, 1)
    a, b = (Estimate.from_stderr(v, e, free) for v, e in zip(values, errors, strict=True))
    return a, b


def projected(points: Points, values: np.ndarray, count: int) -> np.ndarray:
    """(n,) residuals in units of the noise after the best spline of so many coefficients."""
    x, y = points.rescaled(values)
    target = y / points.noise
    q, _ = np.linalg.qr(_basis(x, count) / points.noise[:, None])
    return np.asarray(target - q @ (q.T @ target))


def _basis(x: np.ndarray, count: int) -> np.ndarray:
    """(n, count) the splines that make up a master curve, with knots at quantiles of x."""
    inner = np.quantile(x, np.linspace(0, 1, count - DEGREE + 1))
    # a repeated knot would break the curve: quantiles that coincide are spread by a hair of the range
    inner = np.maximum.accumulate(inner) + 1e-9 * (np.ptp(inner) + 1e-300) * np.arange(inner.size)
    knots = np.concatenate([np.full(DEGREE, inner[0]), inner, np.full(DEGREE, inner[-1])])
    inside = np.clip(x, inner[0], inner[-1])
    return np.asarray(BSpline.design_matrix(inside, knots, DEGREE).toarray())


def _refine(points: Points, start: np.ndarray, count: int) -> tuple[np.ndarray, float]:
    reached = least_squares(
        lambda z: projected(points, z * SIDE, count), start / SIDE, method="lm", diff_step=1e-4,
        xtol=1e-7, ftol=1e-9, max_nfev=60 * (len(start) + 1),
    )  # fmt: skip
    return np.asarray(reached.x * SIDE), float(2 * reached.cost)


def _with_errors(points: Points, values: np.ndarray, count: int) -> ScalingFit:
    step = 1e-2 * SIDE
    jacobian = np.stack(
        [
            (projected(points, values + h, count) - projected(points, values - h, count)) / (2 * step)
            for h in step * np.eye(2)
        ],
        axis=1,
    )
    residuals = projected(points, values, count)
    scaled = jacobian * SIDE
    gram = scaled.T @ scaled
    effects = np.linalg.eigvalsh(gram) if np.isfinite(gram).all() else np.zeros(1)
    if effects.min() < max(LEAST_EFFECT, 1e-12 * effects.max()):
        raise NotDetermined(
            "these curves do not determine the exponents of a collapse: the sizes are too close together, "
            "or the curves are straight lines; add sizes, or points around the bend"
        )
    basis = _basis(points.rescaled(values)[0], count) / points.noise[:, None]
    q, _ = np.linalg.qr(np.column_stack([basis, scaled]))
    alone = residuals / np.maximum(1 - np.sum(q**2, axis=1), LEAST_FREE)
    carried = (scaled * alone[:, None]) @ np.linalg.inv(gram)
    variance = np.sum(carried**2, axis=0) * SIDE**2 * correlation_factor(points.which, residuals)
    return ScalingFit(values, np.sqrt(variance), count)


def correlation_factor(which: np.ndarray, residuals: np.ndarray) -> float:
    """(1 + ρ)/(1 − ρ), ρ ≥ 0 the correlation of neighbouring residuals of one curve."""
    same = which[1:] == which[:-1]
    product = float(np.sum((residuals[1:] * residuals[:-1])[same]))
    ends = float(np.sum((0.5 * (residuals[1:] ** 2 + residuals[:-1] ** 2))[same]))
    correlation = float(np.clip(product / max(ends, 1e-300), 0.0, 0.9))
    return (1 + correlation) / (1 - correlation)
