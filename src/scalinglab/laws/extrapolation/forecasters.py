"""Forecasts of a falling curve from its first points: two forms, each with several memories.

    power_law_offset     y    = E + A x^−c,   E, A ≥ 0    (a pure power law where E = 0)
    log_offset           ln y = E + A x^−c,   A ≥ 0       (the local exponent dies out, not the curve)

Real curves follow one form only for a stretch, so a point counts by how recent it is,
w ∝ exp(−ln(x_last/x)/memory), and by the stretch of ln x that it stands for. E and A are linear and solved
for exactly at every exponent of a grid; the forecast is the average over the grid by likelihood, because a
short stretch seldom tells the exponent, and the best one alone would be an accident of the noise. All
memories and exponents are one array operation, so that a curve can be forecast from every one of its points.
"""

from __future__ import annotations

import numpy as np

EXPONENTS = np.geomspace(0.01, 4.0, 48)
MEMORIES = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)  # in units of ln x
NAMES = (
    "last_value",
    *(f"{form}@{memory:g}" for form in ("power_law_offset", "log_offset") for memory in MEMORIES),
)
SMALLEST_VARIANCE = 1e-8  # of ln y: no curve is known better than to 0.01 %


def forecast(log_x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Forecast ln y at ln x = `at` from the points (ln x, y), ascending.

    Returns:
        (forecasts, at), in the order of `NAMES`.
    """
    past, ahead = log_x - log_x[-1], at - log_x[-1]
    recent = np.exp(past[None] / np.array(MEMORIES)[:, None]) * np.gradient(log_x)
    weights = recent / recent.sum(axis=1, keepdims=True)
    effective = 1.0 / (weights**2).sum(axis=1)
    last = np.full((1, at.size), np.log(y[-1]))
    offset = _average(past, y, weights / y**2, ahead, effective, positive=True)
    logs = _average(past, np.log(y), weights, ahead, effective, positive=False)
    return np.concatenate([last, offset, logs])


def _average(
    past: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray,
    ahead: np.ndarray,
    effective: np.ndarray,
    positive: bool,
) -> np.ndarray:
    """(memories, at) ln y of E + A x^−c, averaged over c by likelihood."""
    basis = np.exp(-EXPONENTS[:, None] * past)  # (exponents, points)
    ones = weights.sum(axis=1)
    value, square = weights @ target, weights @ target**2
    power, powers = basis @ weights.T, basis**2 @ weights.T  # (exponents, memories)
    product = (basis * target) @ weights.T
    determinant = ones * powers - power**2 + 1e-300
    slope = (ones * product - power * value) / determinant
    floor = (powers * value - power * product) / determinant
    if positive:
        slope, floor = np.where(floor < 0, product / powers, slope), np.maximum(floor, 0.0)
    rising = slope < 0
    slope, floor = np.where(rising, 0.0, slope), np.where(rising, value / ones, floor)
    misfit = square + ones * floor**2 + powers * slope**2
    misfit = misfit + 2 * (slope * floor * power - floor * value - slope * product)
    least = misfit.min(axis=0)
    variance = np.maximum(least, SMALLEST_VARIANCE) * effective / np.maximum(effective - 3.0, 1.0)
    likelihood = np.exp(-effective * (misfit - least) / (2.0 * variance))
    share = likelihood / likelihood.sum(axis=0)
    curve = floor[..., None] + slope[..., None] * np.exp(-EXPONENTS[:, None] * ahead)[:, None]
    values = np.log(curve) if positive else curve
    found: np.ndarray = np.einsum("em,ema->ma", share, values)
    return found
