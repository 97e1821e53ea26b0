"""Forecasts of a falling curve from its first points: two forms, each with several memories, and a trend.

    power_law_offset     y    = E + A x^−c,   E, A ≥ 0    (a pure power law where E = 0)
    log_offset           ln y = E + A x^−c,   A ≥ 0       (the local exponent dies out, not the curve)

Real curves follow one form only for a stretch, so a point counts by how recent it is,
w ∝ exp(−ln(x_last/x)/memory), and by the stretch of ln x that it stands for. E and A are linear and solved
for exactly at every exponent of a grid; the forecast is the average over the grid by likelihood, because a
short stretch seldom determines the exponent, and the best one alone would be an accident of the noise. All
memories and exponents are one array operation, so that a curve can be forecast from every one of its points.

The damped trend assumes no form: a line through the recent ln y against ln x, whose slope dies out ahead,

    ln y(h) = a + b ℓ (1 − e^(−h/ℓ)),   h = ln(x/x_last),

as published curves bend after the last point that was measured. It needs points that are close in ln x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# measured: benchmarks/extrapolation.py, as docs/benchmarks/extrapolation-protocol.md says
EXPONENTS = np.geomspace(0.01, 4.0, 48)  # search: a grid
MEMORIES = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)  # in units of ln x
NAMES = (
    "last_value",
    *(f"{form}@{memory:g}" for form in ("power_law_offset", "log_offset") for memory in MEMORIES),
)
TREND_MEMORY = 0.15  # in ln x
DAMPING = 0.9  # ℓ, in ln x
SMALLEST_VARIANCE = 1e-8  # guard: of ln y; no curve is known better than to 0.01 %


def forecast(log_x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Forecast ln y at ln x = `at` from the points (ln x, y), ascending.

    Returns:
        (forecasts, at), in the order of `NAMES`.
    """
    past, ahead = log_x - log_x[-1], at - log_x[-1]
    recent = np.exp(past[None] / np.array(MEMORIES)[:, None]) * _stretch(log_x)
    weights = recent / recent.sum(axis=1, keepdims=True)
    effective = 1.0 / (weights**2).sum(axis=1)
    last = np.full((1, at.size), np.log(y[-1]))
    basis = np.exp(-EXPONENTS[:, None] * past)  # (exponents, points)
    further = np.exp(-EXPONENTS[:, None] * ahead)[:, None]  # (exponents, 1, at)
    targets, weight = np.stack([y, np.log(y)]), np.stack([weights / y**2, weights])
    offset, logs = _average(basis, targets, weight, further, effective)
    return np.concatenate([last, offset, logs])


@dataclass(frozen=True)
class Line:
    """A weighted line through recent points, ln y = level + slope · ln(x/x_last), of so many points."""

    level: float
    slope: float
    points: float


def recent_line(log_x: np.ndarray, y: np.ndarray, memory: float) -> Line:
    """The line through ln y against ln x in which points fade with their distance from the end."""
    past, logs = log_x - log_x[-1], np.log(y)
    weight = np.exp(past / memory) * _stretch(log_x)
    weight = weight / weight.sum()
    centre, mean = weight @ past, weight @ logs
    slope = weight @ ((past - centre) * (logs - mean)) / (weight @ (past - centre) ** 2)
    return Line(float(mean - slope * centre), float(slope), float(1.0 / (weight @ weight)))


def _stretch(log_x: np.ndarray) -> np.ndarray:
    """(n,) the stretch of ln x that each point stands for, as np.gradient gives it for values."""
    between = np.diff(log_x)
    return np.concatenate([between[:1], 0.5 * (between[1:] + between[:-1]), between[-1:]])


def damped_trend(log_x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Forecast ln y at ln x = `at`, (at,), by the recent line with its slope dying out."""
    line = recent_line(log_x, y, TREND_MEMORY)
    ahead = np.maximum(at - log_x[-1], 0.0)
    return np.asarray(line.level + line.slope * DAMPING * -np.expm1(-ahead / DAMPING))


def _average(
    basis: np.ndarray, target: np.ndarray, weights: np.ndarray, further: np.ndarray, effective: np.ndarray
) -> np.ndarray:
    """(2, memories, at) ln y of E + A x^−c, averaged over c by likelihood: of y with E ≥ 0, and of ln y.

    Args:
        basis: (exponents, points).
        target: (2, points).
        weights: (2, memories, points).
        further: (exponents, 1, at).
        effective: (memories,) how many points count.
    """
    over_points, each = weights.swapaxes(1, 2), target[:, None]
    ones = weights.sum(axis=2)[:, None]  # (2, 1, memories), as are value and square
    value, square = each @ over_points, each**2 @ over_points
    power, powers = basis @ over_points, basis**2 @ over_points  # (2, exponents, memories)
    product = (basis * each) @ over_points
    determinant = ones * powers - power**2 + 1e-300
    slope = (ones * product - power * value) / determinant
    floor = (powers * value - power * product) / determinant
    slope[0] = np.where(floor[0] < 0, product[0] / powers[0], slope[0])
    floor[0] = np.maximum(floor[0], 0.0)
    rising = slope < 0
    slope, floor = np.where(rising, 0.0, slope), np.where(rising, value / ones, floor)
    misfit = square + ones * floor**2 + powers * slope**2
    misfit = misfit + 2 * (slope * floor * power - floor * value - slope * product)
    least = misfit.min(axis=1, keepdims=True)
    variance = np.maximum(least, SMALLEST_VARIANCE) * effective / np.maximum(effective - 3.0, 1.0)
    likelihood = np.exp(-effective * (misfit - least) / (2.0 * variance))
    share = likelihood / likelihood.sum(axis=1, keepdims=True)
    curve = floor[..., None] + slope[..., None] * further
    curve[0] = np.log(curve[0])
    found: np.ndarray = np.einsum("fem,fema->fma", share, curve)
    return found
