"""Intrinsic dimension of data from the distances to nearest neighbours.

In d dimensions the ratio of the distances to the k-th and the j-th neighbour (j < k) of a point obeys, with
u = (r_j / r_k)^d, u ~ Beta(j, k−j): locally uniform data need nothing else. The estimators are

| method | from | reference |
| --- | --- | --- |
| `neighbours` | mean of 1/((k−1)⟨log r_k/r_{k−1}⟩) over k = 2, 3, 4 | bahri2021 A.2, Sharma & Kaplan (2020) |
| `two_nn` | the same for k = 2 alone | Facco et al. (2017) |
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scalinglab.errors import BadInput, nearest, require
from scalinglab.results.distributions import Estimate
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.support.validation import checked

METHODS = {"neighbours": 4, "two_nn": 2}  # and how many neighbours each takes


@dataclass(frozen=True)
class Dimension(Worded, Estimate):
    """An intrinsic dimension.

    Attributes:
        stderr: Its standard error: of sampling, with the correlations between neighbouring points; curvature
            and uneven density bias it besides.
        method: "neighbours" or "two_nn".
        n: Points it is based on, without duplicates.
    """

    method: str = ""
    n: int = 0

    def __float__(self) -> float:
        return self.value

    @property
    def remarks(self) -> Iterator[Remark]:
        yield Reason("dimension", value=self.value, stderr=self.stderr, method=self.method, points=self.n)


@checked
def dimension(
    x: ArrayLike,
    method: str = "neighbours",
    max_points: int = 10_000,
    seed: int = 0,
) -> Dimension:
    """The intrinsic dimension of a set of points.

    Args:
        x: Points (n, ...); more axes are flattened.
        method: "neighbours" or "two_nn".
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
    k = METHODS[method]
    if len(points) < k + 2:
        raise BadInput(f"{len(points)} different points: {method} takes {k} neighbours, give {k + 2} points")
    chosen = np.sort(np.random.default_rng(seed).permutation(len(points))[:max_points])
    distances, indices = _neighbours(points, chosen, k)
    logs = np.log(distances)
    # log r_k / r_{k-1}, times k − 1, for k = 2, 3, …: each column has mean 1/d
    inverse = np.arange(1, k) * (logs[:, 1:] - logs[:, :-1])
    estimates = 1 / inverse.mean(0)
    # the change of the mean estimate with each point
    influence = -((inverse - inverse.mean(0)) * estimates**2).mean(1)
    stderr = _error(influence, chosen, indices)
    return Dimension(float(estimates.mean()), stderr, method=method, n=len(points))


def _neighbours(
    points: NDArray[np.float64], chosen: NDArray[np.int64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Distances to the k nearest neighbours of each chosen point, nearest first, and who they are."""
    algorithm = "auto" if points.shape[1] < 15 else "brute"
    neighbors = require("sklearn.neighbors", "train", "measure.dimension")
    search = neighbors.NearestNeighbors(n_neighbors=k + 1, algorithm=algorithm).fit(points)
    indices = search.kneighbors(points[chosen], return_distance=False)[:, 1:]
    # the brute-force search rounds small distances; take them again
    found = np.stack([np.linalg.norm(points[column] - points[chosen], axis=1) for column in indices.T], 1)
    # logarithms follow, and different points may be so close that the distance underflows
    return np.maximum(np.sort(found, axis=1), np.finfo(float).tiny), indices


def _error(influence: NDArray[np.float64], chosen: NDArray[np.int64], indices: NDArray[np.int64]) -> float:
    """Standard error of a mean of influences that are correlated between neighbours."""
    place = np.full(int(max(chosen.max(), indices.max())) + 1, -1)
    place[chosen] = np.arange(len(chosen))
    pairs = np.stack([np.repeat(np.arange(len(chosen)), indices.shape[1]), place[indices].ravel()], 1)
    pairs = np.unique(np.sort(pairs[pairs[:, 1] >= 0], axis=1), axis=0)
    shared = 2 * float(np.sum(influence[pairs[:, 0]] * influence[pairs[:, 1]]))
    own = float(np.sum(influence**2))
    # a sum over pairs that comes out negative is taken as chance: it must not shrink the error
    return math.sqrt(max(own, own + shared)) / len(influence)
