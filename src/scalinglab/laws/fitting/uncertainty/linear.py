"""The linearised fit of a law, fitted to logarithms: what tests and intervals stand on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from scalinglab.laws.fitting.solution import Solution

# search: beyond, neighbours are averaged (or left out); 1000 draws, and the cube of it, take a second
MOST_POINTS = 500
# guard: what rounding leaves; part of a column of the Jacobian that is not in the span of the others
LEAST_DIRECTION = 1e-6


class LinearFit:
    """ln y = ln f + J (z − ẑ) + ε around the optimum, with parameters at a bound fixed.

    Attributes:
        law: the fit.
        logs: (n,) ln x, ascending; of a surface (n, variables).
        measured: (n,) measured − law, of logarithms and weighted.
        free: (parameters,) which of them are not at a bound, and seen by the points.
        scale: (p,) norms of the columns of J.
        design: (n, p) J of the free parameters over `scale`.
    """

    def __init__(self, law: Solution, rows: np.ndarray | slice = slice(None)) -> None:
        """Of all points, or of some `rows` of them."""
        self.law = law
        count = len(law.points.y)
        problem, z = law.problem, law.coordinates
        often = np.sqrt(problem.count[0])[:, None]
        jacobian = problem.jacobian(z[None])[0][:count] * often
        # by these rows: the ends of runs may not show a parameter that their other points do
        self.free = independent(np.where(law.at_bound, 0.0, jacobian[rows]))
        measured = -problem.residuals(z[None])[0, :count] * often[:, 0]
        with np.errstate(divide="ignore"):
            sizes = np.log(law.points.x).T
        jacobian, measured, logs = (_in_blocks(v[rows]) for v in (jacobian[:, self.free], measured, sizes))
        self.scale = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
        self.design, self.measured, self.logs = jacobian / self.scale, measured, logs

    @property
    def points_per_block(self) -> float:
        """How many points each of `measured` is the mean of."""
        return len(self.law.points.y) / len(self.logs)

    @cached_property
    def _triangle(self) -> np.ndarray:
        return np.asarray(np.linalg.qr(self.design, mode="r"))

    def half_width(self, rows: np.ndarray, level: float, measured: bool) -> np.ndarray:
        """(quantities,) half the interval of the linearised fit with the scale of the law.

        Args:
            rows: (quantities, p) gradients, as of `slopes`.
            measured: whether the noise of one more point counts.
        """
        law = self.law
        variance = law.variance / self.points_per_block
        variance = variance * np.sum(np.linalg.solve(self._triangle.T, rows.T) ** 2, axis=0)
        noise = law.residual_std**2 if measured else 0.0
        return np.asarray(np.maximum(law.quantile(level) * np.sqrt(variance + noise), 1e-300))

    def slopes(self, quantity: Callable[[np.ndarray], np.ndarray], count: int) -> np.ndarray:
        """(count, p) of quantities of the parameters, by the scaled coordinates; central differences."""
        problem, z, step = self.law.problem, self.law.coordinates, 1e-5
        columns = np.zeros((count, len(self.scale)))
        for k, j in enumerate(np.flatnonzero(self.free)):
            ends = []
            for sign in (1, -1):
                moved = z.copy()
                moved[j] += sign * step
                ends.append(quantity(problem.to_parameters(moved[None])[0]))
            columns[:, k] = (ends[0] - ends[1]) / (2 * step * self.scale[k])
        return columns


def scaled(
    centre: np.ndarray, ends: tuple[np.ndarray, np.ndarray], down: np.ndarray, up: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ends around `centre`, as many times as far from it on each side; the centre stays inside."""
    bottom, top = ends
    with np.errstate(invalid="ignore"):
        low = centre - np.maximum(down, 0.0) * (centre - bottom)
        high = centre + np.maximum(up, 0.0) * (top - centre)
    return np.where(np.isfinite(bottom), low, bottom), np.where(np.isfinite(top), high, top)


def independent(jacobian: np.ndarray) -> np.ndarray:
    """(p,) whether each column adds a direction to those before it that the points see."""
    size = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-150)  # squares of less are zero
    diagonal = np.abs(np.diag(np.linalg.qr(jacobian / size, mode="r")))
    seen = np.zeros(jacobian.shape[1], bool)  # fewer points than columns see no more directions than points
    seen[: len(diagonal)] = diagonal > LEAST_DIRECTION
    return seen


def _in_blocks(values: np.ndarray) -> np.ndarray:
    """(n, …) values, neighbours averaged where n is more than `MOST_POINTS`."""
    if len(values) <= MOST_POINTS:
        return values
    return np.array([block.mean(axis=0) for block in np.array_split(values, MOST_POINTS)])
