"""What the points allow, by refits: pulled aside (profile likelihood), or on resampled runs.

For a quantity q (the law at some x, a parameter, an exponent) the profile is S(t) = min Σ ρ(r) over all
parameters with q = t. The interval of level 1 - a holds the t with 2 (S(t) - S_min)/scale < t²_{1-a/2, n-p}:
Student's quantile instead of the Gaussian one, since the scale is estimated. Profiles follow the curvature of
the problem, so intervals are asymmetric where it is, and infinite where the data give no bound.
`along` walks out on both sides of many quantities at once, each step being one vectorised refit.

Resampled are whole runs, never single points of a run, which are not independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws.fitting import least_squares
from scalinglab.laws.fitting.solution import LEAST_VARIANCE, Solution, sizes_of
from scalinglab.results.distributions import FEWEST, Draws, Interval, interval

Quantity = Callable[[np.ndarray, np.ndarray], np.ndarray]
CLOSE = 1e-2  # search: part of the threshold within which an end is found, the rest being linear
STIFF = 25.0  # search: of the penalty, over the bend of the profile
# guard: largest slope of the root over the linearised one; of a quantity that no pull moves it would diverge
STEEPEST = 1e12
FARTHEST = 200.0  # search: in standard deviations of the linearised quantity; an end beyond is infinite
MOST_STEPS = 40  # search: of a refit before its bracket moves; with 30, ends in curved valleys stop short


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
    best = quantity(base.to_parameters(np.tile(z, (count, 1))), np.arange(count))
    slopes, spread = _linearised(base, z, quantity, count, scatter)
    spread = np.maximum(spread, 1e-12 * np.maximum(np.abs(best), 1e-12))
    # an exponent that is a parameter is asked for twice
    _, once, back = np.unique(np.column_stack([best, slopes]), axis=0, return_index=True, return_inverse=True)
    which, side = np.tile(once, 2), np.repeat([-1.0, 1.0], len(once))
    centre, sigma, every = best[which], spread[which], len(which)

    points, end = np.tile(z, (every, 1)), np.zeros(every)
    inside = points.copy()  # the farthest of each whose root is below the threshold
    goal = threshold * sigma  # how far from the centre the end is looked for
    steepness = np.ones(every)  # of the root there, over that of the linearised problem
    near, far = np.zeros(every), np.full(every, np.inf)  # bracket: roots are below, and above
    running, again = np.ones(every, bool), np.zeros(every, int)
    for _ in range(30):
        rows = np.flatnonzero(running)
        if not len(rows):
            break
        stiffness = STIFF * scatter * (steepness[rows] / sigma[rows]) ** 2
        # a profile of this steepness holds the pull back so far short of its target
        target = centre[rows] + side[rows] * (goal + threshold * sigma / steepness / STIFF)[rows]
        penalty = least_squares.Penalty(partial(_of, quantity, which[rows]), target, stiffness)
        problem = replace(base, penalty=penalty)
        starts = np.stack([points[rows], inside[rows]])
        cost = np.array([problem.objective(problem.residuals(start)) for start in starts])
        start = starts[np.argmin(cost, axis=0), np.arange(len(rows))]
        found = least_squares.minimise(problem, start, iterations=MOST_STEPS, tolerance=1e-8)
        excess = base.objective(base.residuals(found.z)) - bottom
        root = np.sqrt(np.maximum(2 * excess / scatter, 0.0))
        pulled = quantity(base.to_parameters(found.z), which[rows])
        away = side[rows] * (pulled - centre[rows])
        weak, stopped = root < threshold, np.abs(pulled - end[rows]) < 1e-9 * sigma[rows]
        # what is not at rest goes on from where it is, three times at most
        strong = ~weak & (found.converged | (again[rows] == 3))
        again[rows] = np.where(weak | strong, 0, again[rows] + 1)
        inside[rows] = np.where(weak[:, None], found.z, inside[rows])
        points[rows] = found.z
        near[rows] = np.where(weak, np.maximum(near[rows], away), near[rows])
        far[rows] = np.where(strong, np.minimum(far[rows], away), far[rows])
        # at rest the penalty pulls as strongly as the objective rises along the profile: the root's slope
        pull = np.maximum(stiffness * side[rows] * (target - pulled), 0.0)
        rise = pull / scatter / np.maximum(root, threshold / 10)
        with np.errstate(divide="ignore", invalid="ignore"):
            there = away + np.nan_to_num((threshold - root) / rise, nan=np.inf)
        # at a bound, which no pull moves; or farther than any answer, also where the profile levels off
        level = (root > threshold / 2) & found.converged
        beyond = np.where(level, there, away) > FARTHEST * sigma[rows]
        open_ended = weak & (beyond | (stopped & np.isinf(far[rows])) | ~np.isfinite(pulled))
        arrived = np.abs(root - threshold) < CLOSE * threshold
        between_two = far[rows] - near[rows] < 1e-3 * far[rows]
        # a root that seemed too large before its fit had come to rest was not
        far[rows[between_two & weak & ~arrived]] = np.inf
        end[rows] = np.where(arrived & ~open_ended, centre[rows] + side[rows] * there, pulled)
        end[rows] = np.where(open_ended, side[rows] * np.inf, end[rows])
        running[rows] = ~(open_ended | arrived | (between_two & strong))
        between = np.isfinite(far[rows])
        margin = np.where(between, 0.1 * (far - near)[rows], 0.05 * near[rows])
        most = np.where(between, far[rows] - margin, 3 * np.maximum(near, sigma)[rows])
        moved = again[rows] == 0
        goal[rows] = np.where(moved, np.clip(there, near[rows] + margin, most), goal[rows])
        steeper = np.maximum(rise * sigma[rows], np.maximum(steepness[rows] / 10, 1.0))
        steepness[rows] = np.where(moved, np.minimum(steeper, STEEPEST), steepness[rows])
    low, high = end.reshape(2, -1)[:, back.ravel()]
    return low, high


def _of(quantity: Quantity, which: np.ndarray, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return quantity(values, which[rows])


def _linearised(
    problem: least_squares.Problem, z: np.ndarray, quantity: Quantity, count: int, scatter: float
) -> tuple[np.ndarray, np.ndarray]:
    """The slopes of each quantity by the coordinates, and its standard deviation (count,).

    Of the linearised problem, with parameters at bounds held; those that a quantity consists of are let go,
    since it can leave the bound on one side: a floor that is fitted as 0 has an upper end.
    """
    low, high = problem.bounds
    jacobian = problem.jacobian(z[None])[0] * np.sqrt(problem.counts[0])[:, None]
    step = 1e-5 * np.where(problem.logs, 1.0, np.maximum(np.abs(z), 1e-6 * problem.natural_scale))
    slopes = np.empty((count, len(z)))
    everything = np.arange(count)
    for j in range(len(z)):
        up, down = z.copy(), z.copy()
        up[j], down[j] = min(z[j] + step[j], high[j]), max(z[j] - step[j], low[j])
        difference = quantity(problem.to_parameters(np.tile(up, (count, 1))), everything) - quantity(
            problem.to_parameters(np.tile(down, (count, 1))), everything
        )
        slopes[:, j] = difference / (up[j] - down[j])
    # a quantity that leaps (an optimum that does not exist) has no finite spread: the walk finds out
    slopes = np.clip(np.nan_to_num(slopes), -1e60, 1e60)

    def spread(columns: np.ndarray) -> np.ndarray:
        size = np.maximum(np.linalg.norm(jacobian[:, columns], axis=0), least_squares.TINY)
        # directions that the data do not see would be infinitely uncertain: cap them, the walk finds out
        inverse = np.linalg.pinv(jacobian[:, columns] / size, rcond=1e-7) / size[:, None]
        inverse = np.clip(np.nan_to_num(inverse), -1e60, 1e60)
        return np.asarray(np.sqrt(scatter) * np.linalg.norm(slopes[:, columns] @ inverse, axis=1))

    free = (z > low) & (z < high)
    held = spread(np.flatnonzero(free)) if free.any() else np.zeros(count)
    return slopes, held if held.all() else np.where(held > 0, held, spread(np.arange(len(z))))


@dataclass(frozen=True)
class Bootstrap:
    """Refits of a law on resampled runs.

    Attributes:
        law: the fit to all points.
        values: (draws, parameters), the refitted parameters in the form's order.
        runs: how many runs there were to draw from.
        scheme: "resample" or "wild".
        failed: draws whose refit did not come to rest; they are kept.
    """

    law: Solution
    values: np.ndarray
    runs: int
    scheme: str
    failed: int

    def predict(self, x: Any) -> np.ndarray:
        """Every refit at x, (draws, …)."""
        inputs = sizes_of(self.law.form, x)
        sizes = inputs if len(inputs) > 1 else inputs[0]
        extra = (1,) * (inputs.ndim - 1)
        columns = (self.values[:, j].reshape(-1, *extra) for j in range(self.values.shape[1]))
        sizes = sizes[:, None] if len(inputs) > 1 else sizes[None]
        return np.asarray(self.law.form.function(sizes, *columns))

    def interval(self, x: Any, level: float = 0.95) -> Interval:
        """The interval of the law at x."""
        return interval(self.known(self.predict(x)), level)

    def known(self, values: np.ndarray) -> Draws:
        """The distribution of what the refits give, values (draws, …)."""
        return Draws(values, runs=self.runs)

    def errors(self) -> dict[str, float]:
        """One standard error of every parameter."""
        return {n: float(np.std(self.values[:, j], ddof=1)) for j, n in enumerate(self.law.form.names)}


def bootstrap(law: Solution, draws: int = 1000, seed: int = 0, scheme: str = "auto") -> Bootstrap:
    """Refit to resampled runs, all at once; arguments as in `law.bootstrap`."""
    data = law.points
    labels, which = np.unique(data.runs, return_inverse=True)
    if draws < 2:
        raise BadInput(f"draws={draws} must be at least 2")
    if len(labels) < FEWEST:
        raise BadInput(
            f"a bootstrap over runs needs at least {FEWEST} runs, these points come from {len(labels)}"
        )
    if scheme == "auto":
        many = len(labels) >= 10 * len(law.form.parameters)
        scheme = "resample" if many or _cover_sizes(data.x, which) else "wild"
    rng = np.random.default_rng(seed)
    problem = law.problem
    if scheme == "resample":
        drawn = rng.integers(len(labels), size=(draws, len(labels)))
        counts = np.zeros((draws, len(labels)))
        np.add.at(counts, (np.repeat(np.arange(draws), len(labels)), drawn.ravel()), 1)
        problem = replace(problem, count=problem.count * counts[:, which])
    elif scheme == "wild":
        problem = replace(problem, y=redrawn(law, draws, rng))
    else:
        raise BadInput(f"scheme={scheme!r} must be 'auto', 'resample' or 'wild'")
    start = np.tile(law.coordinates, (draws, 1))
    # 1/n of the objective is what one standard error of a parameter changes: a thousandth of it is enough
    found = least_squares.minimise(problem, start, iterations=100, tolerance=1e-3 / len(data.y))
    values = problem.to_parameters(found.z)
    return Bootstrap(law, values, len(labels), scheme, int(np.sum(~found.converged)))


def redrawn(law: Solution, draws: int, rng: np.random.Generator) -> np.ndarray:
    """(draws, points) the law with residuals of whole runs flipped at random, their leverage corrected."""
    labels, which = np.unique(law.points.runs, return_inverse=True)
    flips = rng.choice([-1.0, 1.0], size=(draws, len(labels)))[:, which]
    noise = flips * law.residuals / np.sqrt(np.maximum(1 - leverage(law), 0.05))
    fitted = law.at(law.points.x)
    return np.asarray(fitted * np.exp(noise) if law.log else fitted + noise)


def _cover_sizes(x: np.ndarray, which: np.ndarray) -> bool:
    """Whether runs cover several sizes each, on the whole."""
    flat = x if x.ndim == 1 else np.unique(x, axis=1, return_inverse=True)[1].ravel()
    pairs = {(int(w), float(s)) for w, s in zip(which, flat, strict=True)}
    return len(pairs) > 1.5 * len(np.unique(which))


def leverage(law: Solution) -> np.ndarray:
    """The diagonal of the hat matrix of the linearised fit, at most 0.999: 1 minus it divides residuals."""
    jacobian = law.problem.jacobian(law.coordinates[None])[0] * np.sqrt(law.problem.counts[0])[:, None]
    size = np.maximum(np.linalg.norm(jacobian, axis=0), least_squares.TINY)
    q, _ = np.linalg.qr(jacobian / size)
    return np.minimum(np.sum(q**2, axis=1)[: len(law.points.y)], 0.999)
