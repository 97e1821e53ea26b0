r"""Data manifolds: how dimension sets the exponents (bahri2021, section 2.2 and supplement C).

Points drawn at random from a d-dimensional manifold lie D^(−1/d) apart. A model that agrees with a Lipschitz
target at D training points (Theorem 1), or at P points of its choice (Theorem 2), then has a loss of at
most order D^(−1/d) or P^(−1/d); a loss that is smooth and minimal on the target gains powers:
L ~ D^(−n/d), n = 2 for piecewise constant and n = 4 for piecewise linear models. For kernels the same
geometry is in the spectrum: a kernel with t derivatives on a d-dimensional manifold has eigenvalues
λ_k ≲ k^(−1−t/d), so α_K = t/d (Weyl; Kühn).

Here are manifolds to draw from, and the loss of the model that takes the value of the nearest neighbour.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from scalinglab.errors import BadInput, is_whole, nearest
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
def nearest_neighbours(manifold: str, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances along the manifold from each test point to its nearest training point, and their indices."""
    tree = cKDTree(train, boxsize=1.0 if manifold == "torus" else None)
    distance, index = tree.query(test)
    if manifold == "sphere":
        # from the chord to the arc; between opposite points the chord may be rounded to more than 2
        distance = 2 * np.arcsin(np.minimum(distance / 2, 1))
    return distance, index


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
