"""The joint Gaussian of y at candidate runs and at targets, and the runs that reduce the variance there most.

The model of ln y (or of y, in a fit of raw values) is

    j(x)ᵀ θ + δ(x) + noise

with j the derivatives of the fitted form by its parameters θ, which have no prior, and δ what the form may
miss (`form_error`). Given the runs at hand this is universal kriging; without δ it is the linearised fit,
with the variance gᵀ M⁻¹ g, M = JᵀJ/v. Errors that runs of one size share (`shared_errors`) are in every run
and in no target, so that one more run of such a size tells little. One more run is a rank-one update.

`best_plan` takes runs greedily, once by variance saved per cost and once by variance saved, as is usual for a
budget; the second plan, the more expensive one, is taken only where it makes the interval a tenth narrower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from scalinglab.laws.fitting import least_squares
from scalinglab.laws.fitting.solution import LEAST_VARIANCE, Solution
from scalinglab.laws.fitting.uncertainty.form_error import FormError
from scalinglab.laws.fitting.uncertainty.shared_errors import SharedErrors

# guard: eigenvalues of M, scaled to a unit diagonal, that are smaller are rounding errors: the runs do not
# determine that direction
ROUNDING = 1e-10


@dataclass(frozen=True)
class Posterior:
    """The Gaussian of y at n candidates and m targets.

    Attributes:
        column: place -> (n + m,), the covariance of that place with every place before new runs.
        cross: (n, m) covariance of candidates and targets now.
        own: (n + m,) variances now.
        noise: variance of one run.
        factors: (n + m,) each, one a new run: the covariance now is that of `column` less Σ f fᵀ.
    """

    column: Callable[[int], np.ndarray]
    cross: np.ndarray
    own: np.ndarray
    noise: float
    factors: tuple[np.ndarray, ...] = ()

    @property
    def variance(self) -> float:
        """Mean over the targets."""
        return max(float(np.mean(self.own[len(self.cross) :])), 0.0)

    def saved(self) -> np.ndarray:
        """(n,) by how much a run at each candidate reduces `variance`."""
        own = np.maximum(self.own[: len(self.cross)], 0.0) + self.noise
        return np.asarray(np.mean(self.cross**2, axis=1) / own)

    def with_run(self, place: int) -> Posterior:
        """The posterior after a run at a candidate."""
        count = len(self.cross)
        covariance = self.column(place) - sum((f[place] * f for f in self.factors), np.zeros(1))
        factor = covariance / np.sqrt(max(self.own[place], 0.0) + self.noise)
        cross = self.cross - np.outer(factor[:count], factor[count:])
        return replace(self, cross=cross, own=self.own - factor**2, factors=(*self.factors, factor))


def after_fit(
    law: Solution, candidates: np.ndarray, targets: np.ndarray, error: FormError | None = None
) -> Posterior:
    """The uncertainty of a fitted law at candidates (n, variables) and targets (m, variables).

    Of several points of a run, which move together, the last counts. Parameters at a bound are free here, so
    that a run that tells whether a floor of 0 is real counts.

    Args:
        error: the form error of the law, if it was computed before.
    """
    count, places = len(candidates), np.vstack([candidates, targets]).T
    error, shared, problem = error or FormError(law), SharedErrors(law), law.problem
    noise = error.run_variance if error.learns else law.variance
    if shared.shows:  # the rest of it is in `shared_covariance`
        noise = noise * shared.alone
    noise = max(noise, LEAST_VARIANCE * law.unit**2)
    points = np.atleast_2d(law.points.x)
    known, weight = points[:, error.rows], problem.weight[0][error.rows]

    def form_covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return error.covariance(a, b) if error.learns else np.zeros((a.shape[1], b.shape[1]))

    def shared_covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return shared.between(a, b) if shared.shows else np.zeros((a.shape[1], b.shape[1]))

    jacobian = problem.jacobian(law.coordinates[None])[0]
    runs, priors = jacobian[error.rows], jacobian[points.shape[1] :]
    # `FormError` takes every second, third … of many runs: each stands for so many
    scatter = noise / (error.every * problem.count[0][error.rows])
    known_covariance = form_covariance(known, known) * np.outer(weight, weight) + shared_covariance(
        known, known
    )
    measured = cho_factor(known_covariance + np.diag(scatter))
    cross_known = form_covariance(places, known) * weight
    cross_known[:count] += shared_covariance(candidates.T, known)
    solved = cho_solve(measured, cross_known.T)
    remaining = derivatives(law, places.T) - solved.T @ runs
    inverse = _inverse(runs.T @ cho_solve(measured, runs) + priors.T @ priors / noise)
    weighted = remaining @ inverse

    @cache  # plans of several budgets take the same runs
    def column(i: int) -> np.ndarray:
        found = (
            weighted @ remaining[i]
            + form_covariance(places, places[:, [i]])[:, 0]
            - cross_known @ solved[:, i]
        )
        found[:count] += shared_covariance(candidates.T, places[:, [i]])[:, 0]
        return np.asarray(found)

    cross = weighted[:count] @ remaining[count:].T + form_covariance(places[:, :count], places[:, count:])
    alone = error.variance(places) if error.learns else 0.0
    own = np.sum(weighted * remaining, axis=1) + alone - np.sum(cross_known * solved.T, axis=1)
    own[:count] += shared.variance if shared.shows else 0.0
    return Posterior(column, cross - cross_known[:count] @ solved[:, count:], own, noise)


def derivatives(law: Solution, sizes: np.ndarray) -> np.ndarray:
    """(n, parameters) of ln f (or f) at sizes (n, variables), by the coordinates in which the fit steps."""
    x = sizes.T if sizes.shape[1] > 1 else sizes[:, 0]
    ones = np.ones((1, len(sizes)))
    problem = least_squares.Problem(law.form, x, ones, ones, ones, law.log, units=law.problem.units)
    return problem.jacobian(law.coordinates[None])[0]


def _inverse(information: np.ndarray) -> np.ndarray:
    """M⁻¹, with a large but finite variance along directions that the runs do not determine."""
    size = np.sqrt(np.diag(information))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(information / np.outer(size, size))
    return np.asarray(vectors / np.maximum(values, ROUNDING) @ vectors.T / np.outer(size, size))


# measured: benchmarks/next_run.py --task lr_bsz --forms 0:2: the same runs with 0.8 and 0.95; the factor by
# which a more expensive plan has to narrow the interval
NARROWER = 0.9
# measured: benchmarks/next_run.py, likewise: R² 0.55, 0.72 and 0.39 with half, once and twice this; the least
# part of the standard deviation at the targets that a run has to save
TOLERANCE = 5e-4
# search: budgets that are tried for a cheaper plan, evenly in the logarithm, and how many times the smallest
# is smaller than the whole budget
BUDGETS, SMALLEST = 7, 1000.0


@dataclass(frozen=True)
class Plan:
    """Candidates to run, in their order.

    Attributes:
        index: (runs,) places among the candidates, each once.
        seeds: (runs,) how many times each.
        before: variance of the predictions now, mean over targets.
        after: (runs,) after all seeds of each.
    """

    index: np.ndarray
    seeds: np.ndarray
    before: float
    after: np.ndarray


def best_plan(
    posterior: Posterior,
    costs: np.ndarray,
    budget: float,
    *,
    seeds: int = 1,
    most: int | None = None,
    tolerance: float = TOLERANCE,
    allowed: np.ndarray | None = None,
) -> Plan:
    """The runs to make next.

    Args:
        costs: (candidates,) of one run each.
        seeds: how many runs of one candidate at most.
        most: how many runs at most.
        tolerance: the least share of the standard deviation at the targets that a run has to save.
        allowed: (candidates,) which of them may be run; by default all.
    """
    times = np.full(len(costs), seeds) if allowed is None else np.where(allowed, seeds, 0)
    limits = costs, budget, times, len(costs) * seeds if most is None else most, tolerance
    (thrifty, left), (thorough, less) = (_greedy(posterior, *limits, per_cost) for per_cost in (True, False))
    chosen = thorough if less < NARROWER**2 * left else thrifty
    index = list(dict.fromkeys(chosen))
    repeats = [chosen.count(i) for i in index]
    after = _left(posterior, list(zip(index, repeats, strict=True)))
    return Plan(np.array(index, int), np.array(repeats, int), posterior.variance, np.array(after))


def cheapest_plan(
    posterior: Posterior, costs: np.ndarray, budget: float, enough: float, otherwise: Plan,
    **limits: Any,
) -> Plan:  # fmt: skip
    """The plan of the smallest of `BUDGETS` that leaves a variance of at most `enough`, without spare runs.

    Args:
        otherwise: the plan of the whole budget, where no smaller one does.
        limits: as in `best_plan`.
    """
    least = float(costs.min())
    for part in np.geomspace(1 / SMALLEST, 1, BUDGETS)[:-1]:
        if part * budget >= least:
            plan = best_plan(posterior, costs, part * budget, **limits)
            if len(plan.after) and plan.after[-1] <= enough:
                return _needed(plan, enough, posterior)
    return _needed(otherwise, enough, posterior)


def _needed(plan: Plan, enough: float, posterior: Posterior) -> Plan:
    """The plan without the runs that it does not need to reach the variance `enough`."""
    count = int(np.argmax(plan.after <= enough)) + 1
    runs = list(zip(plan.index[:count].tolist(), plan.seeds[:count].tolist(), strict=True))
    for run in tuple(runs):
        others = [each for each in runs if each != run]
        if others and _left(posterior, others)[-1] <= enough:
            runs = others
    index, seeds = np.array(runs, int).T
    return Plan(index, seeds, plan.before, np.array(_left(posterior, runs)))


def _left(posterior: Posterior, runs: Sequence[tuple[int, int]]) -> list[float]:
    """The variance after all seeds of each run, (place, seeds)."""
    after = []
    for place, seeds in runs:
        for _ in range(seeds):
            posterior = posterior.with_run(place)
        after.append(posterior.variance)
    return after


def _greedy(
    posterior: Posterior, costs: np.ndarray, budget: float, times: np.ndarray, most: int,
    tolerance: float, per_cost: bool,
) -> tuple[list[int], float]:  # fmt: skip
    """Candidates in the order in which they are taken, and the variance that they leave."""
    chosen: list[int] = []
    times, variance = times.copy(), posterior.variance
    while len(chosen) < most:
        saved = posterior.saved()
        # the standard deviation falls by half of the share of the variance
        worth = (times > 0) & (costs <= budget * (1 + 1e-12)) & (saved > 2 * tolerance * variance)
        if not worth.any():
            break
        best = int(np.argmax(np.where(worth, saved / costs if per_cost else saved, -1.0)))
        posterior = posterior.with_run(best)
        chosen.append(best)
        times[best] -= 1
        budget -= costs[best]
        variance = posterior.variance
    return chosen, variance
