r"""Data manifolds: how dimension sets the exponents (bahri2021, section 2.2 and supplement C).

Points drawn at random from a d-dimensional manifold lie D^(−1/d) apart. A model that agrees with a Lipschitz
target at D training points (Theorem 1), or at P points of its choice (Theorem 2), then has a loss of at
most order D^(−1/d) or P^(−1/d); a loss that is smooth and minimal on the target gains powers:
L ~ D^(−n/d), n = 2 for piecewise constant and n = 4 for piecewise linear models. For kernels the same
geometry is in the spectrum: a kernel with t derivatives on a d-dimensional manifold has eigenvalues
λ_k ≲ k^(−1−t/d), so α_K = t/d (Weyl; Kühn).

Here are manifolds to draw from, the distance of nearest neighbours in closed form, and spectra on the torus.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import betainc, gamma, gammaln

from scalinglab.errors import BadInput, is_whole, nearest
from scalinglab.spectrum import MOST_MODES, Spectrum
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@checked
def sample(manifold: str, dimension: int, n: int, seed: int | list[int] = 0) -> np.ndarray:
    """Points drawn uniformly from a manifold.

    Args:
        manifold: "torus" [0, 1)^d with opposite sides glued, "cube" [0, 1]^d, or "sphere" S^d of radius 1 in
            d + 1 dimensions.
        dimension: d, of the manifold itself.
        n: how many points.
        seed: any seed of `numpy.random.default_rng`.

    Returns:
        Coordinates, shape (n, d), or (n, d + 1) on the sphere.
    """
    _check(manifold, dimension)
    rng = np.random.default_rng(seed)
    if manifold != "sphere":
        return rng.random((n, dimension))
    points = rng.standard_normal((n, dimension + 1))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@checked
def embed(manifold: str, points: np.ndarray) -> np.ndarray:
    """Coordinates in which the manifold is smooth, for kernels on the ambient space.

    The torus becomes d circles of circumference 1 in 2d dimensions; cube and sphere stay as they are.
    """
    if manifold != "torus":
        return points
    angle = 2 * np.pi * points
    return np.concatenate([np.cos(angle), np.sin(angle)], axis=-1) / (2 * np.pi)


@checked
def nearest_neighbours(manifold: str, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances along the manifold from each test point to its nearest training point, and their indices."""
    tree = cKDTree(train, boxsize=1.0 if manifold == "torus" else None)
    distance, index = tree.query(test)
    if manifold == "sphere":
        # from the chord to the arc; between opposite points the chord may be rounded to more than 2
        distance = 2 * np.arcsin(np.minimum(distance / 2, 1))
    return distance, index


@checked
def nearest_distance(manifold: str, dimension: int, n_data: ArrayLike) -> np.ndarray:
    """The mean distance from a random point to the nearest of D others, averaged over their draws.

    E|x − x̂| = ∫ (1 − V(r))^D dr, with V(r) the share of the manifold within r. On the sphere V is a cap and
    the integral is exact; on the torus V is a ball, exact once the ball does not meet itself (the neglected
    part is below (1 − V(1/2))^D); on the cube it is the interior's value: near the faces neighbours are
    further, by a relative D^(−1/d).

    Args:
        manifold: "torus", "cube" or "sphere".
        dimension: d.
        n_data: D, any shape.
    """
    _check(manifold, dimension)
    sizes = np.asarray(n_data, float)
    if not (sizes > 0).all():
        raise BadInput(f"n_data = {sizes.min()} must be positive")
    return _cap(dimension, sizes) if manifold == "sphere" else _ball(dimension, sizes, 0.0)


def _cap(dimension: int, n_data: np.ndarray) -> np.ndarray:
    """∫ (1 − V(r))^D dr on the sphere, by Gauss–Legendre up to where the integrand is 1e-22."""
    flat = _ball(dimension, n_data, _log_sphere_area(dimension))
    far = 50 ** (1 / dimension) * flat / gamma(1 + 1 / dimension)
    end = np.minimum(1.6 * far, math.pi)[..., None, None]  # caps are smaller than flat balls
    x, weight = np.polynomial.legendre.leggauss(16)
    panels = 32
    angle = end * (np.arange(panels)[:, None] + (1 + x) / 2) / panels
    half = betainc(dimension / 2, 0.5, np.sin(angle) ** 2) / 2
    beyond = np.where(angle <= math.pi / 2, 1 - half, half)
    integrand = np.exp(n_data[..., None, None] * np.log(np.maximum(beyond, 1e-300)))
    return np.sum(end * weight / (2 * panels) * integrand, axis=(-1, -2))


def _ball(dimension: int, n_data: ArrayLike, log_volume: float) -> np.ndarray:
    """∫ (1 − r^d ω_d/volume)^D dr = Γ(1 + 1/d) Γ(D + 1)/Γ(D + 1 + 1/d) (volume/ω_d)^(1/d)."""
    size, power = np.asarray(n_data, float), 1 / dimension
    log_unit = dimension / 2 * math.log(math.pi) - gammaln(dimension / 2 + 1)  # ω_d itself is below 1e-308
    # Γ(D+1)/Γ(D+1+p): by its series where the logarithms would cancel
    middle = size + (1 + power) / 2
    series = middle**-power * (1 + (power - power**3) / (24 * middle**2))
    ratio = np.where(size < 300, np.exp(gammaln(size + 1) - gammaln(size + 1 + power)), series)
    return np.asarray(gamma(1 + power) * ratio * np.exp((log_volume - log_unit) * power))


def _log_sphere_area(dimension: int) -> float:
    half = (dimension + 1) / 2
    return float(math.log(2) + half * math.log(math.pi) - gammaln(half))


# --- spectra on the torus ------------------------------------------------------------------------------


@checked
def torus_spectrum(
    dimension: int, smoothness: float, n_modes: int = 100_000, length: float = 1.0
) -> Spectrum:
    """A kernel with t derivatives on the d-torus, and a teacher drawn from it.

    λ_n = (1 + |n|²/length²)^(−(d+t)/2). The modes are the plane waves n ∈ Zᵈ; sorted, they fall as
    k^(−1−t/d). The target has w_k² = 1 in every mode (a teacher from the same kernel), so the loss falls
    with exponent α_K = t/d.

    Args:
        dimension: d.
        smoothness: t > 0: the kernel has about t derivatives.
        n_modes: how many of the largest are kept (whole shells of equal |n|).
        length: wave number below which modes are not yet damped.

    Returns:
        The spectrum, normalised to Σ λ_k = 1, with target power λ_k.
    """
    if not 0 < smoothness <= 1e3:
        raise BadInput(f"smoothness = {smoothness}: a kernel on the torus needs t > 0 (up to 1000)")
    if not 1e-100 <= length <= 1e100:
        raise BadInput(f"length = {length} must be positive (from 1e-100 to 1e100)")
    if not 1 <= n_modes <= MOST_MODES:
        raise BadInput(f"n_modes = {n_modes} must lie between 1 and {MOST_MODES}")
    _check("torus", dimension)
    if dimension == 1:
        shells = np.arange(n_modes // 2 + 1) ** 2
        counts = np.minimum(shells, 1) + 1
    else:
        most = 1  # of |n|²: in many dimensions the first shells have more points than anyone asks for
        while (counts := lattice_points(dimension, most)).sum() < n_modes:
            most *= 2
        shells = np.flatnonzero(counts)
        shells = shells[: int(np.searchsorted(np.cumsum(counts[shells]), n_modes)) + 1]
        counts = counts[shells]
        if (total := sum(map(int, counts))) > MOST_MODES:
            raise BadInput(
                f"dimension = {dimension}: the shells with the first {n_modes} modes have {total}, more than "
                f"{MOST_MODES}; take a smaller dimension or fewer modes"
            )
        counts = counts.astype(np.int64)
    eigenvalues = np.repeat((1 + shells / length**2) ** (-(dimension + smoothness) / 2), counts)
    eigenvalues /= eigenvalues.sum()
    return Spectrum(eigenvalues, eigenvalues)


@checked
def lattice_points(dimension: int, most: int) -> np.ndarray:
    """How many n ∈ Zᵈ have |n|² = m, for m = 0 … most; shape (most + 1,), integers.

    Counts beyond 64 bits are integers of Python (dtype object).

    >>> lattice_points(2, 5).tolist()
    [1, 4, 4, 0, 4, 8]
    """
    _check("torus", dimension)
    # all points of |n|² ≤ most lie in a cube: where it has fewer than 2⁶³, no sum can overflow
    fits = dimension * math.log2(2 * math.isqrt(most) + 1) < 63
    one = np.zeros(most + 1, np.int64 if fits else object)
    squares = np.arange(math.isqrt(most) + 1) ** 2
    one[squares] = 2
    one[0] = 1
    counts = one
    for _ in range(dimension - 1):
        total = np.zeros_like(counts)
        for square, times in zip(squares, one[squares]):
            total[square:] += times * counts[: len(counts) - square]
        counts = total
    return counts


# --- the exponents -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exponents:
    """Exponents of L ~ D^-α (and of P^-α) that the geometry of a d-dimensional manifold gives.

    Attributes:
        lipschitz: 1/d, the bound of Theorems 1 and 2.
        constant: 2/d, a smooth loss and a model that is constant around training points.
        linear: 4/d, a smooth loss and a piecewise linear model.
        kernel: t/d, a kernel with t derivatives and a teacher drawn from it; None where t was not given.
    """

    lipschitz: float
    constant: float
    linear: float
    kernel: float | None


@checked
def exponents(dimension: int, smoothness: float | None = None) -> Exponents:
    """The exponents that dimension d (and a kernel's smoothness t) predict."""
    _check("torus", dimension)
    if smoothness is not None and not smoothness > 0:
        raise BadInput(f"smoothness = {smoothness} must be positive")
    return Exponents(
        1 / dimension,
        2 / dimension,
        4 / dimension,
        None if smoothness is None else smoothness / dimension,
    )


@checked
def interpolation_losses(
    manifold: str,
    dimension: int,
    n_data: ArrayLike,
    target: Callable[[np.ndarray], np.ndarray],
    *,
    power: float = 1.0,
    n_test: int = 2000,
    draws: int = 10,
    seed: int = 0,
) -> np.ndarray:
    """Mean |f − F|^power of the nearest-neighbour model f(x) = F(x̂), which both theorems bound.

    Args:
        manifold: "torus", "cube" or "sphere".
        dimension: d.
        n_data: sizes D of the training set (Theorem 1), or P of the set on which the model agrees (2).
        target: F, a function of points (n, coordinates) → (n,).
        power: 1 for a Lipschitz loss, 2 for the squared error.
        n_test: test points of each draw.
        draws: independent draws of both sets.

    Returns:
        Losses, shape (draws, len(n_data)).
    """
    sizes = np.atleast_1d(np.asarray(n_data, int))
    found = np.empty((draws, len(sizes)))
    for i in range(draws):
        train = sample(manifold, dimension, int(sizes.max()), [seed, i, 0])
        test = sample(manifold, dimension, n_test, [seed, i, 1])
        known, wanted = target(train), target(test)
        for j, size in enumerate(sizes):
            # nested sets: sizes are compared on the same draw, and less scatter is left between them
            _, index = nearest_neighbours(manifold, train[:size], test)
            found[i, j] = np.mean(np.abs(known[index] - wanted) ** power)
    return found


MANIFOLDS = ("cube", "sphere", "torus")


def _check(manifold: str, dimension: int) -> None:
    if manifold not in MANIFOLDS:
        raise BadInput(f"manifold {manifold!r} is unknown; {nearest(manifold, MANIFOLDS)}")
    if not is_whole(dimension) or not 1 <= dimension <= 10**9:
        raise BadInput(f"dimension = {dimension} must be a whole number, 1 or more (up to 1e9)")
