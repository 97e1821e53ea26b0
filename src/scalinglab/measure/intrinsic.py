"""Intrinsic dimension of data from the distances to nearest neighbours.

In d dimensions the ratio of the distances to the k-th and the j-th neighbour (j < k) of a point obeys, with
u = (r_j / r_k)^d, u ~ Beta(j, k−j): locally uniform data need nothing else. The estimators are

| method | from | reference |
| --- | --- | --- |
| `neighbours` | mean of 1/((k−1)⟨log r_k/r_{k−1}⟩) over k = 2, 3, 4 | bahri2021 A.2, Sharma & Kaplan (2020) |
| `two_nn` | the same for k = 2 alone | Facco et al. (2017) |
| `mle` | (k−1) / ⟨Σ_{j<k} log r_k/r_j⟩ | Levina & Bickel (2004), averaged as MacKay & Ghahramani |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scalinglab.errors import BadInput, nearest

METHODS = ("neighbours", "two_nn", "mle")


@dataclass(frozen=True)
class Dimension:
    """An intrinsic dimension.

    Attributes:
        value: The estimate.
        error: Its standard error (of sampling; curvature and density gradients bias it besides).
        method: "neighbours", "two_nn" or "mle".
        n: Points it is based on, without duplicates.
    """

    value: float
    error: float
    method: str
    n: int

    def __float__(self) -> float:
        return self.value

    def summary(self) -> str:
        """One line."""
        return f"intrinsic dimension {self.value:.3g} ± {self.error:.2g} ({self.method}, {self.n} points)"


def dimension(
    x: ArrayLike,
    method: str = "neighbours",
    neighbours: int = 20,
    max_points: int = 10_000,
    seed: int = 0,
) -> Dimension:
    """The intrinsic dimension of a set of points.

    Args:
        x: Points (n, ...); more axes are flattened.
        method: "neighbours", "two_nn" or "mle".
        neighbours: k of the method "mle".
        max_points: Points whose neighbourhoods are used, drawn at random; neighbours are sought in all.
        seed: Seed of that draw.
    """
    if method not in METHODS:
        raise BadInput(f"unknown method {method!r} of the dimension: {nearest(method, METHODS)}")
    points = np.asarray(x, dtype=float)
    points = points.reshape(len(points), -1)
    if not np.isfinite(points).all():
        raise BadInput("the points contain NaN or infinity: remove them first")
    # a duplicate has its neighbour at distance zero
    first = {row.tobytes(): index for index, row in enumerate(np.ascontiguousarray(points))}
    points = points[sorted(first.values())]
    k = {"neighbours": 4, "two_nn": 2, "mle": neighbours}[method]
    if k < 2 or len(points) < k + 2:
        raise BadInput(
            f"{len(points)} different points and {k} neighbours: "
            f"give at least {max(k, 2) + 2} points and 2 neighbours"
        )
    chosen = np.random.default_rng(seed).permutation(len(points))[:max_points]
    logs = np.log(_distances(points, points[chosen], k))
    steps = logs[:, 1:] - logs[:, :-1]  # log r_k / r_{k-1} for k = 2, 3, …
    if method == "mle":
        inverse = (logs[:, -1:] - logs[:, :-1]).sum(1) / (k - 1)
    else:
        orders = np.arange(1, k)
        inverse = orders * steps  # each column has mean 1/d
        if method == "neighbours":
            estimates = 1 / inverse.mean(0)
            value = float(estimates.mean())
            # the columns are independent in the theory of uniform data
            error = float(
                np.sqrt(np.square(estimates * inverse.std(0, ddof=1) / inverse.mean(0)).sum()) / (k - 1)
            )
            return Dimension(value, error / np.sqrt(len(chosen)), method, len(points))
        inverse = inverse[:, 0]
    value = 1 / float(inverse.mean())
    error = value**2 * float(inverse.std(ddof=1)) / np.sqrt(len(chosen))
    return Dimension(value, error, method, len(points))


def _distances(points: NDArray[np.float64], queries: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Distances to the k nearest neighbours of each query (itself left out), nearest first."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=k + 1, algorithm="auto" if points.shape[1] < 15 else "brute").fit(
        points
    )
    indices = search.kneighbors(queries, return_distance=False)
    # the brute-force search rounds small distances; take them again
    differences = points[indices[:, 1:]] - queries[:, None]
    found = np.sort(np.linalg.norm(differences, axis=-1), axis=1)
    return np.maximum(found, np.finfo(float).tiny)
