"""The end of training in closed form (bordelon2024, App. C), and ridge regression at any ridge.

Gradient flow from zero ends at the ridgeless solution. With κ from D(κ) = min(N, P), H_k = κ/(κ + λ_k):

    N < P:  L = (Σ λw² H + σ²)/(1 − N/P),                           train = (1 − N/P)² L
    N > P:  L = (Σ λw² H² + σ²)/(1 − γ) + (Σ λw² H + σ²) (P/N)/(1 − P/N),   γ = (1/P) Σ (1 − H)²,   train = 0

With a ridge s > 0 the loss is s s' C₀ + σ² at s = s' = ridge, the same function that the dynamics integrates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import at_most, checked
from scalinglab.theory.dmft.solver.contour import Contour
from scalinglab.theory.dmft.solver.correlation import correlate, respond
from scalinglab.theory.dmft.solver.response import System


@dataclass(frozen=True)
class Final:
    """Losses of the trained model.

    Attributes:
        test_loss: of the mean of ensemble × bags models, σ² included; inf at N = P (double descent).
        train_loss: of the ensemble that shares a bag, on the data of that bag.
        bias: Σ λ_k w_k² H_k², without σ².
        variance_params: what infinitely many initialisations remove.
        variance_data: what infinitely many data sets remove.
        variance_both: their interaction.
        kappa: κ, below which eigenvalues are not learnt.
    """

    test_loss: float
    train_loss: float
    bias: float
    variance_params: float
    variance_data: float
    variance_both: float
    kappa: float


@checked
def final(
    spectrum: Spectrum,
    n_params: float = math.inf,
    n_data: float = math.inf,
    noise: float = 0.0,
    ridge: float = 0.0,
    ensemble: float = 1,
    bags: float = 1,
) -> Final:
    """Losses at t → ∞, or of ridge regression with penalty `ridge` on the kernel of eq. 7.

    Args:
        spectrum: eigenvalues and target power.
        n_params: N, inf for the kernel itself.
        n_data: P, inf for the population.
        noise: σ of the label noise.
        ridge: s ≥ 0 in v = s/(s + K) v(0), K = (AᵀA/N)(ΨᵀΨ/P).
        ensemble: initialisations averaged.
        bags: data sets averaged.

    >>> import scalinglab as sl
    >>> found = final(sl.Spectrum.power_law(1.5, 1.25), n_params=64, n_data=128)
    >>> round(found.train_loss / found.test_loss, 12)  # (1 − N/P)²
    0.25
    """
    if not (n_params > 0 and n_data > 0):
        raise BadInput(f"n_params = {n_params} and n_data = {n_data} must be positive; inf is allowed")
    if not (math.isfinite(noise) and noise >= 0 and math.isfinite(ridge) and ridge >= 0):
        raise BadInput(f"noise = {noise} and ridge = {ridge} must be finite and zero or more")
    at_most(noise=noise, ridge=ridge)
    if not (ensemble >= 1 and bags >= 1):
        raise BadInput(f"ensemble = {ensemble} and bags = {bags} must be 1 or more; inf is allowed")
    system = System(spectrum.nodes(), 1 / n_params, 1 / n_data)
    parts = _ridge(system, ridge, noise) if ridge > 0 else _ridgeless(system, n_params, n_data, noise)
    single, shared, bags_part, bias, residual, kappa = parts
    variance_params, variance_data = bags_part - bias, shared - bias
    finite = math.isfinite(single)
    variance_both = single - shared - variance_params if finite else math.inf
    test = (
        single
        if ensemble == bags == 1
        else bias + variance_params / ensemble + variance_data / bags + variance_both / (ensemble * bags)
    )
    train = residual * ((single + noise**2) / ensemble + (1 - 1 / ensemble) * (shared + noise**2)) if (
        finite and residual > 0
    ) else 0.0  # fmt: skip
    return Final(test + noise**2, train, bias, variance_params, variance_data, variance_both, kappa)


def _ridge(system: System, ridge: float, noise: float) -> tuple[float, float, float, float, float, float]:
    """Single, shared data, shared features, bias (all without σ²), R₁² and κ at s = ridge."""
    kappa = system.real_kappa(np.array([ridge]), system.final_kappa())
    here = Contour(np.array([ridge]), np.ones(1), np.zeros(1, int), ridge)
    points = respond(system, here, kappa + 0j)
    (found, _), square = correlate(system, points), float(kappa[0]) ** 2
    signal = {
        name: square * float(getattr(found, name)[0, 0].real) for name in ("single", "ensemble", "bags")
    }
    noise_single = noise**2 * (float(found.single_noise[0, 0].real) - 1)
    noise_shared = noise**2 * (float(found.ensemble_noise[0, 0].real) - 1)
    bias = square * float(points.parts[0] ** 2 @ system.nodes.power)
    residual = float(points.data_response[0].real) ** 2
    return (
        signal["single"] + noise_single, signal["ensemble"] + noise_shared, signal["bags"], bias, residual,
        float(kappa[0]),
    )  # fmt: skip


def _ridgeless(
    system: System, n_params: float, n_data: float, noise: float
) -> tuple[float, float, float, float, float, float]:
    """The same losses at s → 0, where R₁ or R₃ vanishes."""
    nodes, variance = system.nodes, noise**2
    modes, scarcest = system.n_modes, min(n_params, n_data)
    if scarcest >= modes:  # every mode is learnt: only the noise is left
        if n_params == n_data == modes:
            raise BadInput(
                f"n_params = n_data = n_modes = {modes:g} has no ridgeless limit; give a ridge or use solve()"
            )
        excess = variance * (modes / n_data) / (1 - modes / n_data) if n_data > modes else (
            math.inf if noise else 0.0
        )  # fmt: skip
        return excess, excess, 0.0, 0.0, max(0.0, 1 - modes / n_data) ** 2, 0.0
    kappa = system.kappa_at(scarcest)
    left = kappa / (kappa + nodes.eigenvalues)
    first, second = float(nodes.power @ left), float(nodes.power @ left**2)
    gamma = float(nodes.count @ (1 - left) ** 2)
    data_part, params_part = 1 - gamma / n_data, 1 - gamma / n_params
    shared = (second + variance) / data_part - variance
    pair = kappa * float(nodes.count @ (nodes.eigenvalues / (kappa + nodes.eigenvalues) ** 2))
    remaining = max(0.0, 1 - scarcest / n_params)  # R₃
    features = (remaining * second + pair * first / n_params) / params_part
    if n_params == n_data:
        single = math.inf
    elif n_params < n_data:
        single = (first + variance) / (1 - n_params / n_data) - variance
    else:
        ratio = n_data / n_params
        single = shared + (first + variance) * ratio / (1 - ratio)
    return single, shared, features, second, max(0.0, 1 - scarcest / n_data) ** 2, kappa
