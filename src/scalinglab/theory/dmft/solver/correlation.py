"""Correlation functions at a pair of frequencies, in closed form and free of cancellation.

Eliminating C₁, C₂, C₃ from the corrected eq. 34 of bordelon2024 leaves, with S₁ = Σ λ/((κ+λ)(κ'+λ)),
S_w = Σ λw²/((κ+λ)(κ'+λ)) and W' = Σ λw²/(κ'+λ),

    s s' C₀ + σ² = [ σ² (R₃' + κ S₁/N) + κκ' (R₃' S_w + S₁ W'/N) ] / [ R₁ R₃' + S₁ (κ R₁/N + κ' R₃'/P) ]

and s s' C₁ = R₁ R₁' times the same. Models that share the data but not the features (an ensemble) have the
correlation (σ² + κκ' S_w)/(R₁ + κ' S₁/P), those that share the features but not the data (bags)
κκ' (R₃' S_w + S₁ W'/N)/(R₃' + κ S₁/N), and those that share neither κκ' S_w: the bias.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scalinglab.theory.dmft.solver.contour import Contour
from scalinglab.theory.dmft.solver.response import System, resolvent_parts


@dataclass(frozen=True, eq=False)
class Responses:
    """The response functions at the nodes of a contour.

    Attributes:
        contour: the nodes s and their weights, shape (nodes,).
        kappa: κ(s).
        parts: real and imaginary part of 1/(κ + λ), one below the other, shape (2 nodes, spectrum).
        learnt: D(κ).
        data_response: R₁ = 1 − D/P.
        params_response: R₃ = 1 − D/N.
        overlap: W = Σ λw²/(κ + λ).
    """

    contour: Contour
    kappa: np.ndarray
    parts: np.ndarray
    learnt: np.ndarray
    data_response: np.ndarray
    params_response: np.ndarray
    overlap: np.ndarray


def at_points(system: System, contours: list[Contour], edge: float) -> list[Responses]:
    """Solve for the response functions on contours of one length; `edge`: κ at the spectrum's right end."""
    if not contours:
        return []
    s = np.stack([contour.s for contour in contours])
    crossing = np.array([contour.crossing for contour in contours])
    kappa = system.kappa_along(s, system.real_kappa(crossing, edge))
    return [respond(system, contour, row) for contour, row in zip(contours, kappa)]


def respond(system: System, contour: Contour, kappa: np.ndarray) -> Responses:
    """The response functions at known κ."""
    nodes = system.nodes
    parts = np.concatenate(resolvent_parts(kappa, nodes.eigenvalues))
    learnt, overlap = (
        _complex(parts @ weights) for weights in (nodes.count * nodes.eigenvalues, nodes.power)
    )
    data, params = 1 - learnt * system.per_data, 1 - learnt * system.per_params
    return Responses(contour, kappa, parts, learnt, data, params, overlap)


def _complex(parts: np.ndarray) -> np.ndarray:
    """Real parts above imaginary parts, as complex numbers."""
    half = len(parts) // 2
    return parts[:half] + 1j * parts[half:]


def _pair_sums(parts: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ weights/((κ+λ)(κ'+λ)) over pairs of nodes, and over pairs of nodes and conjugates.

    One real, symmetric matrix product gives both, at a quarter of the work of two complex ones.
    """
    weighted = parts * np.sqrt(weights)
    product, half = weighted @ weighted.T, len(parts) // 2
    real, imaginary, mixed = product[:half, :half], product[half:, half:], product[:half, half:]
    return real - imaginary + 1j * (mixed + mixed.T), real + imaginary + 1j * (mixed.T - mixed)


@dataclass(frozen=True, eq=False)
class Correlations:
    """Correlations at pairs of nodes, times s s', signal and unit noise apart; shape (nodes, nodes).

    Each signal is divided by κκ' as well, so that it stays finite where κ → 0.

    Attributes:
        single, single_noise: of one model with itself.
        ensemble, ensemble_noise: of two models that share the data.
        bags: of two models that share the features.
    """

    single: np.ndarray
    single_noise: np.ndarray
    ensemble: np.ndarray
    ensemble_noise: np.ndarray
    bags: np.ndarray


def correlate(system: System, points: Responses) -> tuple[Correlations, Correlations]:
    """Correlations of the nodes with themselves, and with their conjugates."""
    nodes = system.nodes
    pairs = _pair_sums(points.parts, nodes.count * nodes.eigenvalues)
    powers = _pair_sums(points.parts, nodes.power)
    same = _correlate(system, points, pairs[0], powers[0], lambda values: values)
    return same, _correlate(system, points, pairs[1], powers[1], np.conj)


def _correlate(
    system: System,
    points: Responses,
    pair: np.ndarray,
    power: np.ndarray,
    other: Callable[[np.ndarray], np.ndarray],
) -> Correlations:
    kappa, data = points.kappa[:, None], points.data_response[:, None]
    kappa_, params_, overlap_ = (
        other(values) for values in (points.kappa, points.params_response, points.overlap)
    )
    params_part = params_ + system.per_params * kappa * pair  # 1 − S₂/N
    data_part = data + system.per_data * kappa_ * pair  # 1 − S₂/P
    common = params_ * power + system.per_params * pair * overlap_
    # (1 − S₂/N)(1 − S₂/P) − κκ' S₁²/(NP), without its cancellation at N = P
    both = data * params_ + pair * (system.per_params * kappa * data + system.per_data * kappa_ * params_)
    return Correlations(
        common / both, params_part / both, power / data_part, 1 / data_part, common / params_part
    )


def double_integral(amplitude: np.ndarray, same: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """Σ over all pairs of nodes, both halves: amplitude (times, nodes), kernels (nodes, nodes)."""
    part = (amplitude @ same) * amplitude + (amplitude @ cross) * amplitude.conj()
    return 2 * part.sum(axis=1).real


def single_integral(amplitude: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Σ over all nodes, both halves: amplitude (times, nodes), values (nodes,)."""
    return 2 * (amplitude @ values).real


def mode_integral(amplitude: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Σ over all nodes of amplitude/(κ + λ), shape (times, λ); parts as in `Responses`."""
    return 2 * np.concatenate([amplitude.real, -amplitude.imag], axis=1) @ parts
