"""Exponents of a collapse by least squares, with a spline for the master curve; and a critical point.

    ln y + b ln n = Φ(ln x − a ln n)                 (powers of the size)
    y n^b         = Φ((x − x_c) n^−a)                (finite-size scaling at a critical point; a = −1/ν)

For given (a, b, x_c) the coefficients of Φ, a cubic spline with knots at quantiles of the rescaled x, are a
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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.optimize import least_squares

from scalinglab.errors import NotDetermined
from scalinglab.laws.weighing import shares
from scalinglab.results.estimate import Estimate

# search: of master curves, over which exponents are averaged
COEFFICIENTS = (6, 8, 11, 15, 20)
DEGREE = 3  # defined: a cubic spline
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
        x, y: (n,) in logs, or as they are where there is a critical point.
        noise: (n,) standard error of y, up to a common factor.
        critical: whether x is counted from a point to be found.
    """

    which: np.ndarray
    log_size: np.ndarray
    x: np.ndarray
    y: np.ndarray
    noise: np.ndarray
    critical: bool

    def of(self, members: Sequence[int] | np.ndarray) -> Points:
        """The points of some curves."""
        keep = np.isin(self.which, members)
        return Points(
            self.which[keep], self.log_size[keep], self.x[keep], self.y[keep], self.noise[keep], self.critical
        )

    def rescaled(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, y and noise in the units of the master curve, at (a, b) or (a, b, x_c)."""
        if not self.critical:
            return self.x - values[0] * self.log_size, self.y + values[1] * self.log_size, self.noise
        scale = np.exp(values[1] * self.log_size)
        return (self.x - values[2]) * np.exp(-values[0] * self.log_size), self.y * scale, self.noise * scale


@dataclass(frozen=True)
class Master:
    """A spline over rescaled x, with the covariance of its coefficients."""

    knots: np.ndarray
    coefficients: np.ndarray
    covariance: np.ndarray

    @property
    def ends(self) -> tuple[float, float]:
        """Where it begins and ends."""
        return float(self.knots[DEGREE]), float(self.knots[-DEGREE - 1])

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Φ and its standard error at x, NaN outside its range."""
        low, high = self.ends
        inside = (x >= low) & (x <= high)
        basis = _basis(np.clip(x, low, high), self.knots)
        error = np.sqrt(np.einsum("nk,kl,nl->n", basis, self.covariance, basis))
        return np.where(inside, basis @ self.coefficients, np.nan), np.where(inside, error, np.nan)


@dataclass(frozen=True)
class ScalingFit:
    """The exponents that make a collapse best.

    Attributes:
        values: a, b and, where asked, x_c.
        estimates: the same with errors.
        coefficients: of the master curve's spline, those with the lowest AICc.
        noise_factor: s, by which the points scatter more than their stated noise.
    """

    values: np.ndarray
    estimates: tuple[Estimate, ...]
    coefficients: int
    noise_factor: float


def fit(points: Points, starts: np.ndarray) -> ScalingFit:
    """The best exponents from several starts, (starts, 2 or 3).

    Raises:
        NotDetermined: points that do not tell the exponents apart.
    """
    few = COEFFICIENTS[0]
    first = [float(np.sum(projected(points, start, few) ** 2)) for start in starts]
    sides = _scales(points)
    found = [_refine(points, start, few, sides) for start in starts[np.argsort(first)[:3]]]
    values = min(found, key=lambda pair: pair[1])[0]
    reached: dict[int, np.ndarray] = {}
    scores: list[float] = []
    for count in COEFFICIENTS:
        if reached and points.y.size - count - values.size < max(8, points.y.size // 4):
            break
        reached[count], objective = _refine(points, values, count, sides)
        used = count + values.size + 1
        penalty = 2 * used * points.y.size / max(points.y.size - used - 1, 1)
        scores.append(points.y.size * np.log(max(objective, 1e-300)) + penalty)
    weights = shares(-np.array(scores) / 2, NEGLIGIBLE)
    kept = [count for count, weight in zip(reached, weights, strict=True) if weight > 0]
    fits = [_with_errors(points, reached[count], count, sides) for count in kept]
    return averaged(fits, weights[weights > 0], points.y.size)


def averaged(fits: list[ScalingFit], weights: np.ndarray, size: int) -> ScalingFit:
    """Several fits as one."""
    each = np.array([fit.values for fit in fits])
    values = weights @ each
    errors = np.array([[estimate.stderr for estimate in fit.estimates] for fit in fits])
    errors = weights @ np.sqrt(errors**2 + (each - values) ** 2)
    best = fits[int(np.argmax(weights))]
    free = max(size - best.coefficients - values.size, 1)
    estimates = tuple(Estimate.from_stderr(v, e, free) for v, e in zip(values, errors, strict=True))
    return ScalingFit(values, estimates, best.coefficients, best.noise_factor)


def projected(points: Points, values: np.ndarray, count: int) -> np.ndarray:
    """(n,) residuals in units of the noise after the best spline of so many coefficients."""
    x, y, noise = points.rescaled(values)
    basis = _basis(x, _knots(x, count)) / noise[:, None]
    target = y / noise
    q, _ = np.linalg.qr(basis)
    return np.asarray(target - q @ (q.T @ target))


def master_of(points: Points, values: np.ndarray, count: int, factor: float = 1.0) -> Master:
    """The master curve of these points at these exponents; `factor` multiplies their noise."""
    x, y, noise = points.rescaled(values)
    count = int(np.clip(count, DEGREE + 1, max(DEGREE + 1, x.size // 2)))
    knots = _knots(x, count)
    basis = _basis(x, knots) / noise[:, None]
    gram = np.linalg.pinv(basis.T @ basis, hermitian=True)
    return Master(knots, gram @ (basis.T @ (y / noise)), gram * factor**2)


def _knots(x: np.ndarray, count: int) -> np.ndarray:
    inner = np.quantile(x, np.linspace(0, 1, count - DEGREE + 1))
    # a repeated knot would break the curve: quantiles that coincide are spread by a hair of the range
    inner = np.maximum.accumulate(inner) + 1e-9 * (np.ptp(inner) + 1e-300) * np.arange(inner.size)
    return np.concatenate([np.full(DEGREE, inner[0]), inner, np.full(DEGREE, inner[-1])])


def _basis(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    inside = np.clip(x, knots[DEGREE], knots[-DEGREE - 1])
    return np.asarray(BSpline.design_matrix(inside, knots, DEGREE).toarray())


def _scales(points: Points) -> np.ndarray:
    """Steps of the search, one for each exponent: 0.1, and a part of the range of x for x_c."""
    return np.array([0.1, 0.1, 0.05 * np.ptp(points.x)])[: 3 if points.critical else 2]


def _refine(points: Points, start: np.ndarray, count: int, scales: np.ndarray) -> tuple[np.ndarray, float]:
    reached = least_squares(
        lambda z: projected(points, z * scales, count), start / scales, method="lm", diff_step=1e-4,
        xtol=1e-7, ftol=1e-9, max_nfev=60 * (len(start) + 1),
    )  # fmt: skip
    return np.asarray(reached.x * scales), float(2 * reached.cost)


def _with_errors(points: Points, values: np.ndarray, count: int, scales: np.ndarray) -> ScalingFit:
    step = 1e-2 * scales
    jacobian = np.stack(
        [
            (projected(points, values + h, count) - projected(points, values - h, count))
            / (2 * np.abs(h).sum())
            for h in np.diag(step)
        ],
        axis=1,
    )
    residuals = projected(points, values, count)
    free = max(points.y.size - count - values.size, 1)
    gram = (jacobian * scales).T @ (jacobian * scales)
    effects = np.linalg.eigvalsh(gram) if np.isfinite(gram).all() else np.zeros(1)
    if effects.min() < max(LEAST_EFFECT, 1e-12 * effects.max()):
        raise NotDetermined(
            "these curves do not determine the exponents of a collapse: the sizes are too close together, "
            "or the curves are straight lines; add sizes, or points around the bend"
        )
    variance = float(residuals @ residuals) / free
    x, _, noise = points.rescaled(values)
    basis = _basis(x, _knots(x, count)) / noise[:, None]
    q, _ = np.linalg.qr(np.column_stack([basis, jacobian * scales]))
    alone = residuals / np.maximum(1 - np.sum(q**2, axis=1), LEAST_FREE)
    carried = (jacobian * scales * alone[:, None]) @ np.linalg.inv(gram)
    covariance = carried.T @ carried * np.outer(scales, scales) * correlation_factor(points.which, residuals)
    errors = np.sqrt(np.diag(covariance))
    estimates = tuple(Estimate.from_stderr(v, e, free) for v, e in zip(values, errors, strict=True))
    return ScalingFit(values, estimates, count, float(np.sqrt(variance)))


def correlation_factor(which: np.ndarray, residuals: np.ndarray) -> float:
    """(1 + ρ)/(1 − ρ), ρ ≥ 0 the correlation of neighbouring residuals of one curve."""
    same = which[1:] == which[:-1]
    product = float(np.sum((residuals[1:] * residuals[:-1])[same]))
    ends = float(np.sum((0.5 * (residuals[1:] ** 2 + residuals[:-1] ** 2))[same]))
    correlation = float(np.clip(product / max(ends, 1e-300), 0.0, 0.9))
    return (1 + correlation) / (1 - correlation)
