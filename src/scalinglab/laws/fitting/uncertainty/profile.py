"""Profile intervals: how far a quantity can be pulled before the fit gets significantly worse.

For a quantity q (the law at some x, a parameter, an exponent) the profile is S(t) = min Σ ρ(r) over all
parameters with q = t. The interval of level 1 - a holds the t with 2 (S(t) - S_min)/scale < t²_{1-a/2, n-p}:
Student's quantile instead of the Gaussian one, since the scale is estimated. Profiles follow the curvature of
the problem, so intervals are asymmetric where it is, and infinite where the data give no bound.

`along` walks out on both sides of many quantities at once, each step being one vectorised refit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from scalinglab.laws.fitting import least_squares
from scalinglab.laws.fitting.solution import LEAST_VARIANCE, Solution

Quantity = Callable[[np.ndarray, np.ndarray], np.ndarray]
CLOSE = 5e-3  # search: part of the threshold within which an end is found, the rest being linear
FARTHEST = 200.0  # search: in standard deviations of the linearised quantity; an end beyond is infinite


def along(law: Solution, quantity: Quantity, count: int, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """The ends of `count` quantities at which √(2 ΔS/scale) reaches `threshold`.

    Args:
        quantity: (parameters (rows, p), which (rows,)) -> values (rows,), `which` in 0 … count-1.

    Returns:
        (low, high), each (count,); infinite where the profile never reaches the threshold.
    """
    base = law.problem
    z = law.coordinates
    bottom = law.objective
    # below what rounding leaves, noise-free data would make every profile infinitely steep
    scatter = max(law.scale, LEAST_VARIANCE * law.unit**2)
    which = np.tile(np.arange(count), 2)
    side = np.repeat([-1.0, 1.0], count)
    best = quantity(base.to_parameters(np.tile(z, (count, 1))), np.arange(count))
    spread = np.maximum(
        _linear_spread(base, z, quantity, count, scatter), 1e-12 * np.maximum(np.abs(best), 1e-12)
    )
    centre, sigma = np.tile(best, 2), np.tile(spread, 2)
    stiffness = 25 * scatter / sigma**2

    points = np.tile(z, (2 * count, 1))
    reach = np.full(2 * count, threshold)  # how far to pull, in sigmas
    near, near_root = np.zeros(2 * count), np.zeros(2 * count)  # bracket: a penalty too weak …
    far, far_root = np.full(2 * count, np.inf), np.full(2 * count, np.inf)  # … and one too strong
    end = np.zeros(2 * count)
    running, again = np.ones(2 * count, bool), np.zeros(2 * count, bool)
    for _ in range(30):
        rows = np.flatnonzero(running)
        if not len(rows):
            break
        target = (centre + side * reach * sigma)[rows]
        penalty = least_squares.Penalty(partial(_of, quantity, which[rows]), target, stiffness[rows])
        found = least_squares.minimise(
            replace(base, penalty=penalty), points[rows], iterations=60, tolerance=1e-8
        )
        excess = base.objective(base.residuals(found.z)) - bottom
        root = np.sqrt(np.maximum(2 * excess / scatter, 0.0))
        points[rows] = found.z
        pulled = quantity(base.to_parameters(found.z), which[rows])
        weak, stopped = root < threshold, np.abs(pulled - end[rows]) < 1e-9 * sigma[rows]
        end[rows] = pulled
        near[rows], near_root[rows] = np.where(weak, [reach[rows], root], [near[rows], near_root[rows]])
        # what is not at rest goes on once from where it is
        strong = ~weak & (found.converged | again[rows])
        far[rows], far_root[rows] = np.where(strong, [reach[rows], root], [far[rows], far_root[rows]])
        # at a bound, which no pull moves, or farther than any answer
        open_ended = np.isinf(far[rows]) & (stopped | (reach[rows] > FARTHEST))
        arrived = np.abs(root - threshold) < CLOSE * threshold
        between_two = far[rows] - near[rows] < 1e-3 * far[rows]
        # a penalty that seemed too strong before its fit had come to rest was not
        far[rows[between_two & weak & ~arrived]] = np.inf
        exact = centre[rows] + (pulled - centre[rows]) * threshold / np.maximum(root, 0.5 * threshold)
        end[rows] = np.where(open_ended, side[rows] * np.inf, np.where(arrived, exact, pulled))
        running[rows] = ~(open_ended | arrived | (between_two & ~weak))
        again[rows] = ~(weak | strong)
        with np.errstate(invalid="ignore"):
            share = np.clip((threshold - near_root) / (far_root - near_root), 0.2, 0.8)
            between = near + share * (far - near)
        beyond = reach * np.clip(threshold / np.maximum(near_root, 1e-6), 1.4, 3.0)
        reach = np.where(again, reach, np.where(np.isinf(far), beyond, between))
    return end[:count], end[count:]


def _of(quantity: Quantity, which: np.ndarray, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return quantity(values, which[rows])


def _linear_spread(
    problem: least_squares.Problem, z: np.ndarray, quantity: Quantity, count: int, scatter: float
) -> np.ndarray:
    """The standard deviation of each quantity in the linearised problem, parameters at bounds held."""
    low, high = problem.bounds
    free = np.flatnonzero((z > low) & (z < high))
    if not len(free):  # all at bounds, which each can leave
        free = np.arange(len(z))
    jacobian = problem.jacobian(z[None])[0][:, free] * np.sqrt(problem.counts[0])[:, None]
    size = np.maximum(np.linalg.norm(jacobian, axis=0), least_squares.TINY)
    # directions that the data do not see would be infinitely uncertain: cap them, the walk finds out
    inverse = np.linalg.pinv(jacobian / size, rcond=1e-7) / size[:, None]
    step = 1e-5 * np.where(problem.logs, 1.0, np.maximum(np.abs(z), 1e-6 * problem.natural_scale))
    slopes = np.empty((count, len(free)))
    everything = np.arange(count)
    for k, j in enumerate(free):
        up, down = z.copy(), z.copy()
        up[j], down[j] = min(z[j] + step[j], high[j]), max(z[j] - step[j], low[j])
        difference = quantity(problem.to_parameters(np.tile(up, (count, 1))), everything) - quantity(
            problem.to_parameters(np.tile(down, (count, 1))), everything
        )
        slopes[:, k] = difference / (up[j] - down[j])
    # a quantity that leaps (an optimum that does not exist) has no finite spread: the walk finds out
    slopes, inverse = (np.clip(np.nan_to_num(v), -1e60, 1e60) for v in (slopes, inverse))
    return np.sqrt(scatter) * np.linalg.norm(slopes @ inverse, axis=1)
