"""The loss around the best settings of each size: a valley with the same shape at all sizes.

At size k the runs have settings z (logarithms of learning rate, batch size, …) and a loss L with

    ln L = c_k + S(z − z*_k) + noise,   S(d) = ½ dᵀ H d + Σ t_ijl d_i d_j d_l,

Each size has its own c_k and optimum z*_k; H and t are shared, so that a handful of runs of a size show its
optimum. Runs have the weight e^(−(ln L − c_k)/w), because far from the optimum the loss is no polynomial; w
is the median over sizes of the median of ln L above the best run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from scalinglab.errors import NotConverged, NotDetermined
from scalinglab.results.types import Reason

FARTHEST_STEP = 0.7  # guard: of an optimum in one iteration, about a factor of two
ROUNDS, SETTLED = 60, 1e-4  # guard: iterations, and the step in ln z at which optima have settled


@dataclass(frozen=True)
class Cell:
    """The runs of one size.

    Attributes:
        size: (sizes,), logarithms of n_params, n_data, ….
        z: (runs, settings), logarithms of the settings.
        y: (runs,), ln loss.
    """

    size: np.ndarray
    z: np.ndarray
    y: np.ndarray

    @property
    def best(self) -> np.ndarray:
        """The settings of the run with the lowest loss."""
        return np.asarray(self.z[self.y.argmin()])

    @property
    def varied(self) -> np.ndarray:
        """Which settings have three values or more here, so that an optimum can lie between them."""
        return np.array([len(np.unique(column)) > 2 for column in self.z.T])

    @property
    def edge(self) -> np.ndarray:
        """Which settings are best at the edge of their grid: the optimum may lie outside."""
        inside = (self.best > self.z.min(axis=0)) & (self.best < self.z.max(axis=0))
        return np.asarray(self.varied & ~inside)

    def lost(self, at: np.ndarray) -> float:
        """The loss of the run nearest to the settings `at` over that of the best run, minus one."""
        nearest = ((self.z - at) ** 2).sum(axis=1).argmin()
        return float(np.expm1(self.y[nearest] - self.y.min()))


@dataclass(frozen=True)
class Valleys:
    """The shape that all sizes share, and the optimum of each.

    Attributes:
        cells: the sizes.
        hessian: (settings, settings), H.
        coefficients: of the monomials of S, those of degree two and then perhaps three.
        offsets: (cells,), c_k.
        optima: (cells, settings), z*_k.
        information: (cells, settings, settings), the inverse of an optimum's covariance; singular where a
            setting does not vary at that size.
        noise: standard deviation of ln L around the valley.
        window: w.
    """

    cells: tuple[Cell, ...]
    hessian: np.ndarray
    coefficients: np.ndarray
    offsets: np.ndarray
    optima: np.ndarray
    information: np.ndarray
    noise: float
    window: float

    def above(self, distance: np.ndarray) -> np.ndarray:
        """S at distances (…, settings) from the optimum: the increase of ln loss, never negative."""
        p = self.hessian.shape[0]
        features = monomials(np.atleast_2d(distance), 3 if len(self.coefficients) > p * (p + 1) // 2 else 2)
        return np.maximum(features @ self.coefficients, 0.0)

    def bowl(self, distance: np.ndarray) -> np.ndarray:
        """½ dᵀ H d, the quadratic part of S."""
        return np.asarray(0.5 * np.einsum("...i,ij,...j->...", distance, self.hessian, distance))


def monomials(d: np.ndarray, degree: int) -> np.ndarray:
    """(runs, monomials): all products of two entries of d, and for degree 3 of three."""
    columns = [
        np.prod(d[:, list(which)], axis=1)
        for power in range(2, degree + 1)
        for which in combinations_with_replacement(range(d.shape[1]), power)
    ]
    return np.stack(columns, axis=1)


def fit(cells: Sequence[Cell], names: Sequence[str]) -> Valleys:
    """Fit the shape and the optima; with terms of third degree where these lower the BIC.

    Raises:
        NotDetermined: the loss does not bend along a setting.
    """
    window = max(float(np.median([np.median(c.y - c.y.min()) for c in cells])), 1e-6)
    plain, plain_score = _fit(cells, names, window, 2, None)
    try:
        bent, bent_score = _fit(cells, names, window, 3, plain.optima)
    except (NotDetermined, NotConverged):
        return plain
    return bent if bent_score < plain_score else plain


def _fit(
    cells: Sequence[Cell], names: Sequence[str], window: float, degree: int, start: np.ndarray | None
) -> tuple[Valleys, float]:
    """Gauss–Newton: solve for c, the gradients and the shape, which are linear, then move the optima."""
    p, count = cells[0].z.shape[1], len(cells)
    optima = np.array([c.best for c in cells]) if start is None else start.copy()
    offsets = np.array([c.y.min() for c in cells])
    for _ in range(ROUNDS):
        weights = [np.exp(-np.maximum(c.y - own, 0) / window) for c, own in zip(cells, offsets, strict=True)]
        projected, values, inner = [], [], []
        for cell, weight, optimum in zip(cells, weights, optima, strict=True):
            d, root = cell.z - optimum, np.sqrt(weight)
            line = np.column_stack([np.ones(len(d)), d])
            basis, sizes, _ = np.linalg.svd(line * root[:, None], full_matrices=False)
            basis = basis[:, sizes > 1e-8 * sizes[0]]
            features = monomials(d, degree)
            weighted = np.column_stack([features, cell.y - cell.y.min()]) * root[:, None]
            left = weighted - basis @ (basis.T @ weighted)
            projected.append(left[:, :-1])
            values.append(left[:, -1])
            inner.append((line, features, root))
        design, target = np.concatenate(projected), np.concatenate(values)
        shape = np.linalg.lstsq(design, target, rcond=None)[0]
        hessian = _hessian(shape, p)
        slopes, tops = np.linalg.eigh(hessian)
        flat = bool(slopes[0] <= 0)
        curved = (tops * np.maximum(slopes, 1e-3 * slopes[-1])) @ tops.T if slopes[-1] > 0 else np.eye(p)
        moved = 0.0
        for k, (line, features, root) in enumerate(inner):
            solved = np.linalg.lstsq(
                line * root[:, None], (cells[k].y - features @ shape) * root, rcond=None
            )[0]
            step = np.clip(-np.linalg.solve(curved, solved[1:]), -FARTHEST_STEP, FARTHEST_STEP)
            low, high = cells[k].z.min(axis=0), cells[k].z.max(axis=0)
            target_place = np.clip(optima[k] + step * (0.7 if degree > 2 else 1.0), low - 1, high + 1)
            moved = max(moved, float(np.abs(target_place - optima[k]).max()))
            optima[k], offsets[k] = target_place, solved[0]
        if moved < SETTLED:
            break
    if flat:
        worst = names[int(np.abs(tops[:, 0]).argmax())]
        raise NotDetermined(Reason("valley_flat", setting=worst))
    total = sum(float(w.sum()) for w in weights)
    free = max(total - count * (1 + p) - len(shape), 1.0)
    square = float(((target - design @ shape) ** 2).sum())
    noise2 = max(square / free, 1e-16)
    information = np.empty((count, p, p))
    for k, (line, _, root) in enumerate(inner):
        d = line[:, 1:] - np.average(line[:, 1:], axis=0, weights=root**2)
        information[k] = hessian @ (d.T * root**2 @ d) @ hessian / noise2
    # per run, because the weights, and so their total, differ between the two degrees
    score = np.log(max(square, 1e-16) / total) + len(shape) * np.log(total) / total
    found = Valleys(
        tuple(cells), hessian, shape, offsets, optima, information, float(np.sqrt(noise2)), window
    )
    return found, float(score)


def _hessian(shape: np.ndarray, p: int) -> np.ndarray:
    """H from the coefficients of the products of two entries."""
    hessian = np.zeros((p, p))
    for value, (i, j) in zip(shape, combinations_with_replacement(range(p), 2), strict=False):
        hessian[i, j] += value
        hessian[j, i] += value
    return hessian
