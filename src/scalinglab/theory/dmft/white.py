"""The white band-limited model (bordelon2024, App. H): λ_k = 1, so only ν = N/M and α = P/M matter.

All modes are alike and the loss is that of a single mode of eigenvalue 1 and power 1 with N = ν, P = α. The
response is the root of a cubic, s = κ (1 − 1/(α(1+κ))) (1 − 1/(ν(1+κ))). At late times the loss has a peak
at ν = α (double descent); stopped at the best time it falls with ν.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from scalinglab.errors import BadInput
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.dmft.losses import Solution
from scalinglab.theory.dmft.losses import solve as _solve
from scalinglab.theory.dmft.stationary import Final
from scalinglab.theory.dmft.stationary import final as _final

WHITE = Spectrum(np.ones(1), np.ones(1))


@checked
def solve(
    times: ArrayLike, model_ratio: float = math.inf, data_ratio: float = math.inf, noise: float = 0.0
) -> Solution:
    """Losses along gradient flow at ν = N/M = model_ratio and α = P/M = data_ratio."""
    return _solve(WHITE, times, model_ratio, data_ratio, noise)


@checked
def final(model_ratio: float = math.inf, data_ratio: float = math.inf, noise: float = 0.0) -> Final:
    """Losses at t → ∞; infinite at ν = α < 1."""
    return _final(WHITE, model_ratio, data_ratio, noise)


@checked
def kappa(s: np.ndarray, model_ratio: float, data_ratio: float = math.inf) -> np.ndarray:
    """The physical root of the cubic for κ(s), s in the upper half plane or real and positive.

    (κ + 1 − 1/α)(κ + 1 − 1/ν) κ = s (1 + κ)²; of its roots the physical one has 0 ≤ arg κ ≤ arg s.
    """
    s = np.asarray(s, complex)
    a, b = 1 / data_ratio - 1, 1 / model_ratio - 1
    roots = np.stack([np.roots([1, -(a + b) - x, a * b - 2 * x, -x]) for x in s.ravel()])
    angle, limit = np.angle(roots), np.angle(s).ravel()[:, None]
    outside = np.maximum(-angle, 0) + np.maximum(angle - limit, 0) + np.where(np.abs(roots) == 0, np.pi, 0)
    best = np.lexsort((-np.abs(roots), np.round(outside, 7)), axis=1)[:, 0]
    return roots[np.arange(len(roots)), best].reshape(s.shape)


@checked
def slow_transfer(times: np.ndarray, model_ratio: float) -> np.ndarray:
    """H(τ) at infinite data: eq. 110 for small ν, eq. 111 (corrected, e^{−τ} cosh(τ/√ν)) for large ν."""
    t = np.asarray(times, float)
    if not model_ratio > 0 or np.isnan(t).any():
        raise BadInput(f"model_ratio = {model_ratio} must be positive, and times numbers: there is no H(τ)")
    if model_ratio < 1:
        return (1 - model_ratio) + model_ratio * np.exp(-t / model_ratio)
    root = 1 / math.sqrt(model_ratio)
    return (np.exp(-t * (1 - root)) + np.exp(-t * (1 + root))) / 2


@dataclass(frozen=True)
class Stopping:
    """The best time to stop: `time` is inf where the loss falls for ever."""

    time: float
    test_loss: float


@checked
def optimal_stopping(
    spectrum: Spectrum,
    n_params: float = math.inf,
    n_data: float = math.inf,
    noise: float = 0.0,
    latest: float = 1e9,
) -> Stopping:
    """The time of gradient flow at which the test loss is smallest, up to `latest` or the end of training."""
    if not latest > 0:
        raise BadInput(f"latest = {latest} must be a positive time")
    slowest = 1e-2 / float(spectrum.nodes().eigenvalues.max())
    times = np.geomspace(slowest, latest, 20 * max(2, math.ceil(math.log10(latest / slowest))))
    loss = _solve(spectrum, times, n_params, n_data, noise).test_loss
    best = int(np.argmin(loss))
    end = _final(spectrum, n_params, n_data, noise).test_loss
    if end <= loss[best] * (1 + 1e-12):
        return Stopping(math.inf, end)
    low, high = np.log(times[max(0, best - 1)]), np.log(times[min(len(times) - 1, best + 1)])
    found = minimize_scalar(
        lambda x: float(_solve(spectrum, math.exp(x), n_params, n_data, noise).test_loss),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-5},
    )
    return Stopping(math.exp(found.x), float(found.fun))
