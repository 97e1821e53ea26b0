"""The next experiments from a pool with costs, for any form: what most reduces the error in a target region.

Given fitted laws, a pool of experiments that could be run, what each costs and the region whose prediction
matters, experiments are taken greedily by how much they reduce the mean variance of the predictions in the
target (V-optimality of the linearised fit, `next_runs` has the algebra), by variance saved per cost and by
variance saved alone; the better of the two plans is kept. Before a first fit is possible (`pilot`), the
variance is that of a Gaussian process on the logarithms of the variables, which knows no form.

`sequence` does both in turn: a pilot, then batches, each after a refit, until the budget is spent or no
affordable experiment would reduce the standard deviation in the target by `tolerance`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.laws import forms
from scalinglab.laws.fitting.fit import fit
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.fitting.solution import LEAST_VARIANCE
from scalinglab.laws.forms.base import Form
from scalinglab.laws.planning.next_runs import inverse_information, rows_of

SHARE = 0.25  # of the budget that is left, spent between two refits
PILOT_SHARE = 0.5  # of the budget, at most, before the first fit
TOLERANCE = 0.01  # of the standard deviation in the target: an experiment that saves less is not worth it
NUGGET = 1e-2  # variance of a measurement in units of the Gaussian process


@dataclass(frozen=True)
class Chosen:
    """Experiments of a pool in the order in which to run them.

    Attributes:
        index: places in the pool.
        cost: of each.
        before: root mean variance of the predictions in the target now, in the fit's unit (of ln y, or of y).
        after: (experiments,), the same after each.
    """

    index: np.ndarray
    cost: np.ndarray
    before: float
    after: np.ndarray

    def summary(self) -> str:
        """A table in lines."""
        if not len(self.index):
            return f"standard deviation in the target {self.before:.3g}; no affordable experiment reduces it"
        lines = [
            f"standard deviation in the target now {self.before:.3g}",
            f"{'experiment':>10}{'cost':>12}{'then':>10}",
        ]
        for row in zip(self.index, self.cost, self.after, strict=True):
            lines.append(f"{row[0]:>10}{row[1]:>12.3g}{row[2]:>10.3g}")
        return "\n".join(lines)


@dataclass(frozen=True)
class SequenceResult:
    """What `sequence` did.

    Attributes:
        index: experiments in the order in which they were run.
        values: (experiments, outputs), what was measured.
        spent: their cost.
        laws: the last fits, one an output.
        stopped: why it ended.
    """

    index: np.ndarray
    values: np.ndarray
    spent: float
    laws: tuple[Law, ...]
    stopped: str


def choose(
    laws: Law | Sequence[Law],
    pool: Any,
    costs: Any,
    target: Any,
    *,
    budget: float,
    taken: Sequence[int] = (),
    most: int | None = None,
    tolerance: float = TOLERANCE,
) -> Chosen:
    """The experiments of the pool that, within the budget, most reduce the error in the target.

    Args:
        laws: one law, or several (one an output) whose mean variance counts.
        pool: (experiments, variables), in the order of the form's variables.
        costs: (experiments,).
        target: (points, variables), where predictions matter.
        budget: what may be spent, in the unit of costs.
        taken: experiments that were run already.
        most: how many at most.
        tolerance: stop where the best experiment reduces the standard deviation by less than this share.
    """
    several = [laws] if isinstance(laws, Law) else list(laws)
    pool, costs, target = _checked(pool, costs, target, len(several[0].form.variables), budget)
    states = [_state(law, pool, target) for law in several]
    allowed = np.ones(len(pool), bool)
    allowed[list(taken)] = False
    return _best_plan(states, costs, budget, allowed, len(pool) if most is None else most, tolerance)


def pilot(pool: Any, costs: Any, target: Any, *, budget: float, count: int, zeros: bool = False) -> Chosen:
    """Experiments to run before anything is known, by a Gaussian process on ln x (on x with `zeros`)."""
    pool, costs, target = _checked(
        pool, costs, target, 1 if np.ndim(pool) == 1 else np.shape(pool)[1], budget
    )
    both = np.vstack([pool, target])
    inputs = both if zeros else np.log(np.maximum(both, 1e-300))
    spread = np.std(inputs, axis=0)
    inputs = (inputs - inputs.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    state = _Process(inputs[: len(pool)], inputs[len(pool) :])
    modest = costs <= max(2 * budget / count, costs.min())  # so that none uses up what the others need
    return _best_plan([state], costs, budget, modest, count, 0.0)


def sequence(
    form: str | Form,
    pool: Any,
    costs: Any,
    target: Any,
    measure: Callable[[np.ndarray], Any],
    *,
    budget: float,
    start: tuple[Sequence[int], Any] | None = None,
    tolerance: float = TOLERANCE,
    options: Mapping[str, Any] | None = None,
) -> SequenceResult:
    """Run experiments of a pool one batch after another, each chosen after a refit.

    Args:
        form: of the law; with several outputs each gets a law of this form.
        measure: places in the pool -> (experiments,) or (experiments, outputs), what was measured there.
        budget: what may be spent in all, what `start` cost included.
        start: (places, values) of experiments that were run already.
        options: of `scalinglab.laws.fit`.
    """
    chosen_form = forms.get(form)
    pool, costs, target = _checked(pool, costs, target, len(chosen_form.variables), budget)
    index: list[int] = []
    values = np.zeros((0, 1))
    if start is not None:
        index = [int(i) for i in start[0]]
        values = np.asarray(start[1], float).reshape(len(index), -1)
    left = budget - float(costs[index].sum())

    def run(places: np.ndarray) -> None:
        nonlocal values, left
        new = np.asarray(measure(places), float).reshape(len(places), -1)
        values = np.vstack([values, new]) if index else new
        index.extend(int(i) for i in places)
        left -= float(costs[places].sum())

    if not index:
        count, zeros = len(chosen_form.parameters) + 1, bool(chosen_form.zeros)
        run(pilot(pool, costs, target, budget=PILOT_SHARE * budget, count=count, zeros=zeros).index)
    stopped = ""
    laws: tuple[Law, ...] = ()
    while not stopped:
        laws = _fits(chosen_form, pool[index], values, options or {})
        free = np.setdiff1d(np.arange(len(pool)), index)
        free = free[costs[free] <= left]
        if not len(free):
            stopped = "the budget is spent"
        elif not laws:  # too few sizes for a fit yet
            run(free[np.argsort(costs[free])[:1]])
        else:
            spend = max(SHARE * left, float(costs[free].min()))
            found = choose(laws, pool, costs, target, budget=spend, taken=index, tolerance=tolerance)
            if not len(found.index) and spend < left:
                found = choose(
                    laws, pool, costs, target, budget=left, taken=index, tolerance=tolerance, most=1
                )
            if len(found.index):
                run(found.index)
            else:
                stopped = f"no affordable experiment saves {tolerance:.0%} of the error in the target"
    return SequenceResult(np.array(index), values, budget - left, laws, stopped)


def _fits(form: Form, x: np.ndarray, values: np.ndarray, options: Mapping[str, Any]) -> tuple[Law, ...]:
    """A law an output; none where the points are too few."""
    given = tuple(x.T) if len(form.variables) > 1 else x[:, 0]
    try:
        return tuple(fit(form, given, column, **options) for column in values.T)
    except ScalinglabError:
        return ()


def _checked(pool: Any, costs: Any, target: Any, count: int, budget: float) -> tuple[np.ndarray, ...]:
    sizes = np.asarray(pool, float).reshape(-1, count)
    prices = np.asarray(costs, float).ravel()
    wanted = np.asarray(target, float).reshape(-1, count)
    if len(prices) != len(sizes):
        raise BadInput(f"{len(sizes)} experiments and {len(prices)} costs: give one cost each")
    if not ((prices > 0) & np.isfinite(prices)).all():
        raise BadInput(f"costs must be positive; one is {prices[~(prices > 0)][0]:g}")
    if not budget > 0:
        raise BadInput(f"budget={budget!r} must be a positive cost")
    return sizes, prices, wanted


# --- what an experiment saves --------------------------------------------------------------------------


class _Fitted:
    """Variance of the predictions in the target under a linearised fit."""

    def __init__(self, inverse: np.ndarray, rows: np.ndarray, target: np.ndarray, noise: float) -> None:
        self.inverse, self.rows, self.target, self.noise = inverse, rows, target, noise

    def variance(self) -> float:
        return float(np.mean(np.sum(self.target @ self.inverse * self.target, axis=1)))

    def saved(self) -> np.ndarray:
        carried = self.rows @ self.inverse
        own = self.noise + np.sum(carried * self.rows, axis=1)
        return np.mean((carried @ self.target.T) ** 2, axis=1) / own

    def take(self, place: int) -> _Fitted:
        carried = self.inverse @ self.rows[place]
        own = self.noise + self.rows[place] @ carried
        return _Fitted(self.inverse - np.outer(carried, carried) / own, self.rows, self.target, self.noise)


class _Process:
    """The same under a Gaussian process: a plane plus a smooth part, before any measurement."""

    def __init__(self, pool: np.ndarray, target: np.ndarray) -> None:
        both = np.vstack([pool, target])
        count = both.shape[1]
        apart = np.sum((both[:, None] - both[None]) ** 2, axis=2)
        kernel = 1 + both @ both.T / count + np.exp(-apart / (2 * count))
        self.cross, self.own = kernel[: len(pool), len(pool) :], np.diag(kernel)[: len(pool)]
        self.pool, self.total = kernel[: len(pool), : len(pool)], np.diag(kernel)[len(pool) :]

    def variance(self) -> float:
        return float(np.mean(self.total))

    def saved(self) -> np.ndarray:
        return np.asarray(np.mean(self.cross**2, axis=1) / (self.own + NUGGET))

    def take(self, place: int) -> _Process:
        after = object.__new__(_Process)
        gain = self.pool[:, place] / (self.own[place] + NUGGET)
        seen = self.cross[place]
        after.cross = self.cross - np.outer(gain, seen)
        after.own = self.own - gain * self.pool[:, place]
        after.pool = self.pool - np.outer(gain, self.pool[place])
        after.total = self.total - seen**2 / (self.own[place] + NUGGET)
        return after


def _state(law: Law, pool: np.ndarray, target: np.ndarray) -> _Fitted:
    rows = rows_of(law, np.vstack([pool, target]))
    noise = max(law.variance, LEAST_VARIANCE * law.unit**2)
    return _Fitted(inverse_information(law), rows[: len(pool)], rows[len(pool) :], noise)


def _best_plan(
    states: list[Any], costs: np.ndarray, budget: float, allowed: np.ndarray, most: int, tolerance: float
) -> Chosen:
    plans = [_greedy(states, costs, budget, allowed, most, tolerance, per_cost) for per_cost in (True, False)]
    index, variances = min(plans, key=lambda plan: plan[1][-1])
    deviations = np.sqrt(np.maximum(variances, 0.0))
    return Chosen(np.array(index, int), costs[np.array(index, int)], float(deviations[0]), deviations[1:])


def _greedy(
    states: list[Any], costs: np.ndarray, budget: float, allowed: np.ndarray, most: int, tolerance: float,
    per_cost: bool,
) -> tuple[list[int], list[float]]:  # fmt: skip
    allowed, left = allowed.copy(), budget
    index: list[int] = []
    variances = [sum(state.variance() for state in states)]
    while len(index) < most:
        saved = sum(state.saved() for state in states)
        saved = np.where(allowed & (costs <= left * (1 + 1e-12)), saved, -1.0)
        best = int(np.argmax(saved / costs if per_cost else saved))
        if saved[best] <= max(0.0, 2 * tolerance * variances[-1]):
            break
        states = [state.take(best) for state in states]
        index.append(best)
        allowed[best] = False
        left -= costs[best]
        variances.append(sum(state.variance() for state in states))
    return index, variances
