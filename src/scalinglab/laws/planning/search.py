"""The runs that, within a budget, most reduce the variance of the predictions at the targets.

Runs are taken greedily, by variance saved per cost and by variance saved alone (the usual safeguard for a
budgeted, diminishing return); the second plan, which is the more expensive one, is kept only where it makes
the interval a tenth narrower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.laws.planning.posterior import Posterior

# measured: benchmarks/next_run.py --task lr_bsz --forms 0:2: the same runs with 0.8 and 0.95; factor by which
# a more expensive plan has to narrow the interval
NARROWER = 0.9
# measured: benchmarks/next_run.py, likewise: R² 0.55, 0.72 and 0.39 with half of it, it and twice it; of the
# standard deviation at the targets, that a run has to save: many cheap runs may narrow as much as a few dear
# ones
TOLERANCE = 5e-4
# search: budgets that are tried for a cheaper plan, evenly in the logarithm, and how far below the whole one
# they begin
BUDGETS, SMALLEST = 7, 1000.0


@dataclass(frozen=True)
class Plan:
    """Candidates to run, in their order.

    Attributes:
        index: (runs,) places among the candidates, each once.
        seeds: (runs,) how many times each.
        before: variance of the predictions now, mean over targets, sum over outputs.
        after: (runs,) after all seeds of each.
    """

    index: np.ndarray
    seeds: np.ndarray
    before: float
    after: np.ndarray


def best_plan(
    posteriors: Sequence[Posterior],
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
        posteriors: one an output; their variances are added.
        costs: (candidates,) of one run each.
        seeds: how many runs of one candidate at most.
        most: how many runs at most.
        tolerance: the least share of the standard deviation at the targets that a run has to save.
        allowed: (candidates,) which of them may be run; by default all.
    """
    times = np.full(len(costs), seeds) if allowed is None else np.where(allowed, seeds, 0)
    limits = costs, budget, times, len(costs) * seeds if most is None else most, tolerance
    (thrifty, left), (thorough, less) = (_greedy(posteriors, *limits, per_cost) for per_cost in (True, False))
    chosen = thorough if less < NARROWER**2 * left else thrifty
    index = list(dict.fromkeys(chosen))
    now, after = posteriors, []
    for i in index:
        for _ in range(chosen.count(i)):
            now = [posterior.with_run(i) for posterior in now]
        after.append(_variance(now))
    repeats = np.array([chosen.count(i) for i in index], int)
    return Plan(np.array(index, int), repeats, _variance(posteriors), np.array(after))


def cheapest_plan(
    posteriors: Sequence[Posterior], costs: np.ndarray, budget: float, enough: float, otherwise: Plan,
    **limits: Any,
) -> Plan:  # fmt: skip
    """The runs that leave a variance of at most `enough`, of the plan of the smallest of `BUDGETS` that does.

    Args:
        otherwise: the plan of the whole budget.
        limits: as in `best_plan`.
    """
    least = float(costs.min())
    for part in np.geomspace(1 / SMALLEST, 1, BUDGETS)[:-1]:
        if part * budget >= least:
            plan = best_plan(posteriors, costs, part * budget, **limits)
            if len(plan.after) and plan.after[-1] <= enough:
                return _as_far_as(plan, enough)
    return _as_far_as(otherwise, enough)


def _as_far_as(plan: Plan, enough: float) -> Plan:
    """The first runs of a plan, up to the one that leaves a variance of at most `enough`."""
    count = int(np.argmax(plan.after <= enough)) + 1
    return Plan(plan.index[:count], plan.seeds[:count], plan.before, plan.after[:count])


def _greedy(
    posteriors: Sequence[Posterior], costs: np.ndarray, budget: float, times: np.ndarray, most: int,
    tolerance: float, per_cost: bool,
) -> tuple[list[int], float]:  # fmt: skip
    """Candidates in the order in which they are taken, and the variance that they leave."""
    chosen: list[int] = []
    times, variance = times.copy(), _variance(posteriors)
    while len(chosen) < most:
        saved = sum((posterior.saved() for posterior in posteriors), np.zeros(1))
        # the standard deviation falls by half of the share of the variance
        worth = (times > 0) & (costs <= budget * (1 + 1e-12)) & (saved > 2 * tolerance * variance)
        if not worth.any():
            break
        best = int(np.argmax(np.where(worth, saved / costs if per_cost else saved, -1.0)))
        posteriors = [posterior.with_run(best) for posterior in posteriors]
        chosen.append(best)
        times[best] -= 1
        budget -= costs[best]
        variance = _variance(posteriors)
    return chosen, variance


def _variance(posteriors: Sequence[Posterior]) -> float:
    return sum(max(posterior.variance, 0.0) for posterior in posteriors)
