r"""Eigenvalues of the kernel of N random features as weighted nodes, for one-pass training.

The residual Λ^½ v of random features follows K̂ = Λ^½ (AᵀA/N) Λ^½, whose eigenvalues are x_i. Training on
fresh data needs two sums over them,

    Σ_i ρ_i g(x_i)   with ρ_i the target's power along eigenvector i,   and   Σ_i x_i² g(x_i),

for functions g that grow slowly off the axis. Infinitely many features have x = λ, and nodes of the spectrum
serve. N features have, with κ(s) of `theory.dmft`, the transforms

    Σ_i ρ_i/(s + x_i) = (κ/s) Σ_k λ_k w_k²/(κ + λ_k)   and   Σ_i x_i/(s + x_i) = D(κ),

so that both sums are integrals around −x. One contour, a hyperbola in y = s/(X + s) with X beyond the largest
eigenvalue, has nodes whose distance to the spectrum falls geometrically towards s = 0; about 200 of them
serve all times from 1 to 10⁹ and more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.dmft.solver.contour import Contour
from scalinglab.theory.dmft.solver.correlation import at_points
from scalinglab.theory.dmft.solver.response import System

ANGLE = math.pi / 4  # at which the branches of the hyperbola leave the spectrum
ACCURACY = 2e-11  # of the trapezoidal sum, e^(−2π·angle/step)
CROSSING = 2.0  # scale of the hyperbola in units of the slowest rate: filters grow by e^(2·CROSSING) on it
SETTLED = 60.0  # times the inverse of the smallest rate: e^-60 of every mode is left


@dataclass(frozen=True, eq=False)
class Modes:
    """Weighted nodes: Σ_i ρ_i g(x_i) = Re Σ power·g(rate), Σ_i x_i² g(x_i) = Re Σ square·g(rate).

    Attributes:
        rate: x, real eigenvalues or complex nodes of a contour around them.
        power: weights of the target's power, the part that no feature reaches included (rate 0).
        square: weights of x².
        largest: the largest eigenvalue.
        smallest: the smallest that is not zero.
    """

    rate: np.ndarray
    power: np.ndarray
    square: np.ndarray
    largest: float
    smallest: float


def modes(
    spectrum: Spectrum, n_params: float, slowest: float, farthest: float, settled: float = SETTLED,
    accuracy: float = ACCURACY,
) -> Modes:  # fmt: skip
    """The nodes of N features.

    Args:
        spectrum: eigenvalues and target power.
        n_params: N; inf for the kernel itself.
        slowest: a rate below which nothing moves within the time asked for, 1/(η t).
        farthest: a rate beyond which the dynamics diverge; the contour stays inside it.
        settled: times the inverse of the smallest rate after which the caller asks for nothing any more.
        accuracy: of sums over a contour.
    """
    if math.isinf(n_params):
        nodes = spectrum.nodes()
        values = nodes.eigenvalues
        return Modes(values, nodes.power, nodes.count * values**2, float(values.max()), float(values.min()))
    system = System(spectrum.nodes(), 1 / n_params, 0.0)
    largest, smallest = system.largest_rate(), system.smallest_rate()[0]
    slowest = max(slowest, smallest / settled)
    contour = surround(largest * min(1.5, math.sqrt(max(1.02, farthest / largest))), slowest, ANGLE, accuracy)
    points = at_points(system, [contour], system.final_kappa())[0]
    s, weight = contour.s, 2 * contour.weight  # the lower half is the conjugate
    return Modes(
        -s, weight * points.kappa / s * points.overlap, -weight * s * points.learnt, largest, smallest
    )


@checked
def drawn_modes(spectrum: Spectrum, n_params: int, seed: int) -> Modes:
    """The nodes of one draw of N features: the eigenvalues of K̂ themselves."""
    root = np.sqrt(spectrum.eigenvalues)
    features = np.random.default_rng(seed).standard_normal((n_params, spectrum.n_modes)) * root
    kernel = features.T / math.sqrt(n_params)  # K̂ = kernel kernelᵀ
    vectors, values, _ = np.linalg.svd(kernel, full_matrices=False)
    target = np.sqrt(spectrum.target_power)
    learnable = (vectors.T @ target) ** 2
    left = max(0.0, float(target @ target - learnable.sum()))
    rate = np.append(values**2, 0.0)
    return Modes(rate, np.append(learnable, left), rate**2, float(rate.max()), float(rate[:-1].min()))


def surround(
    beyond: float, slowest: float, angle: float = ANGLE, accuracy: float = ACCURACY, times: int = 1
) -> Contour:
    """The upper half of the hyperbola in y; `beyond` is X.

    Args:
        slowest: a rate below which nothing moves.
        angle: between its branches and the spectrum, as wide as the filters allow.
        accuracy: of the integrals; what lies beyond y = 2/accuracy, where they fall as 1/y, is cut.
        times: how many times it serves.
    """
    scale, step = min(CROSSING * slowest / beyond, 0.2), -2 * math.pi * angle / math.log(accuracy)
    u = (np.arange(math.ceil(math.log(4 / accuracy / scale) / step)) + 0.5) * step
    y = scale * (1 - math.cos(angle) * np.cosh(u) + 1j * math.sin(angle) * np.sinh(u))
    along = scale * (-math.cos(angle) * np.sinh(u) + 1j * math.sin(angle) * np.cosh(u))
    s = beyond * y / (1 - y)
    tip = scale * (1 - math.cos(angle))
    weight = step * along * beyond / (1 - y) ** 2 / (2j * math.pi)
    return Contour(s, weight, np.arange(times), beyond * tip / (1 - tip))
