"""The next experiments from a pool with costs, for any form: what most reduces the error in a target region.

Given fitted laws, a pool of experiments that could be run, what each costs and the region whose prediction
matters, experiments are taken greedily by how much they reduce the mean variance of the predictions in the
target, by variance saved per cost and by variance saved alone; the better of the two plans is kept. The
covariance of predictions at x and x' is that of the linearised fit plus that of a doubt about the form,

    j(x)ᵀ M⁻¹ j(x') + τ² k(x, x'),   τ = DOUBT times the spread of the measured values,

with j the derivatives by the parameters and k a Gaussian process on the logarithms of the variables, given
what was measured. Without the doubt many cheap experiments far from the target look as good as one near it;
in truth no form is exact, and a fit to cheap runs carries its error into the target. Before a first fit is
possible (`pilot`), the process alone decides, with a plane added.

`sequence` does both in turn: a pilot, then batches, each after a refit, until the budget is spent or no
affordable experiment would reduce the standard deviation in the target by `tolerance`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.laws import forms
from scalinglab.laws.fitting.fit import fit
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.fitting.solution import LEAST_VARIANCE
from scalinglab.laws.forms.base import Form
from scalinglab.laws.planning.next_runs import inverse_information, rows_of
from scalinglab.support.words import percent

SHARE = 0.25  # of the budget that is left, spent between two refits
PILOT_SHARE = 0.5  # of the budget, at most, before the first fit
TOLERANCE = 0.01  # of the standard deviation in the target: an experiment that saves less is not worth it
NUGGET = 1e-2  # variance of a measurement in units of the Gaussian process
DOUBT = 0.02  # standard deviation of the doubt about a form, in units of the spread of the measured values


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
    doubt: float = DOUBT,
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
        doubt: about the form, as a part of the spread of the measured values; 0 takes the form for exact.
    """
    several = [laws] if isinstance(laws, Law) else list(laws)
    pool, costs, target = _checked(pool, costs, target, len(several[0].form.variables), budget)
    states = [_fitted(law, pool, target, doubt) for law in several]
    allowed = np.ones(len(pool), bool)
    allowed[list(taken)] = False
    return _best_plan(states, costs, budget, allowed, len(pool) if most is None else most, tolerance)


def pilot(
    pool: Any, costs: Any, target: Any, *, budget: float, count: int, zeros: bool = False,
    taken: Sequence[int] = (),
) -> Chosen:  # fmt: skip
    """Experiments to run before anything is known, by a Gaussian process on ln x (on x with `zeros`)."""
    pool, costs, target = _checked(
        pool, costs, target, 1 if np.ndim(pool) == 1 else np.shape(pool)[1], budget
    )
    allowed = np.ones(len(pool), bool)
    allowed[list(taken)] = False
    state = _unfitted(pool, target, zeros)
    for place in taken:
        state = state.take(int(place))
    # so that none uses up what the others need
    modest = allowed & (costs <= max(2 * budget / count, costs[allowed].min(initial=np.inf)))
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
    done = _Done(costs, budget)
    if start is not None:
        done.add(start[0], start[1])
    _run_pilots(done, measure, chosen_form, pool, target, budget)
    while True:
        laws = _fits(chosen_form, pool[done.index], done.values, options or {})
        free = np.setdiff1d(np.arange(len(pool)), done.index)
        free = free[costs[free] <= done.left]
        if not len(free):
            stopped = "the budget is spent"
            break
        if laws:
            places = _next_batch(laws, pool, target, done, float(costs[free].min()), tolerance)
        else:  # too few sizes for a fit yet
            found = pilot(
                pool,
                costs,
                target,
                budget=done.left,
                count=1,
                zeros=bool(chosen_form.zeros),
                taken=done.index,
            )
            places = found.index if len(found.index) else free[np.argsort(costs[free])[:1]]
        if not len(places):
            stopped = f"no affordable experiment saves {percent(tolerance)} of the error in the target"
            break
        done.add(places, measure(places))
    return SequenceResult(np.array(done.index), done.values, budget - done.left, laws, stopped)


@dataclass
class _Done:
    """Experiments that were run, in their order, what was measured, and what is left of the budget."""

    costs: np.ndarray
    left: float
    index: list[int] = field(default_factory=list)
    values: np.ndarray = field(default_factory=lambda: np.zeros((0, 1)))

    def add(self, places: Sequence[int] | np.ndarray, values: Any) -> None:
        """Count experiments as run."""
        new = np.asarray(values, float).reshape(len(places), -1)
        self.values = np.vstack([self.values, new]) if self.index else new
        self.index += [int(i) for i in places]
        self.left -= float(self.costs[list(places)].sum())


def _run_pilots(
    done: _Done, measure: Callable[[np.ndarray], Any], form: Form, pool: np.ndarray, target: np.ndarray,
    budget: float,
) -> None:  # fmt: skip
    """Run one experiment more than the form has parameters, for `PILOT_SHARE` of the budget if possible."""
    wanted, share = len(form.parameters) + 1, PILOT_SHARE
    while len(done.index) < wanted and done.left >= (cheapest := _cheapest(done.costs, done.index)):
        found = pilot(
            pool, done.costs, target, budget=max(done.left - (1 - share) * budget, cheapest),
            count=wanted - len(done.index), zeros=bool(form.zeros), taken=done.index,
        )  # fmt: skip
        if len(found.index):
            done.add(found.index, measure(found.index))
        elif share == 1.0:
            break
        share = 1.0  # what half of the budget does not pay for is paid for by the rest


def _next_batch(
    laws: tuple[Law, ...],
    pool: np.ndarray,
    target: np.ndarray,
    done: _Done,
    cheapest: float,
    tolerance: float,
) -> np.ndarray:
    """The best experiments for `SHARE` of what is left, else the best one for all of it; empty where none."""
    spend = max(SHARE * done.left, cheapest)
    given: dict[str, Any] = {"taken": done.index, "tolerance": tolerance}
    found = choose(laws, pool, done.costs, target, budget=spend, **given)
    if not len(found.index) and spend < done.left:
        found = choose(laws, pool, done.costs, target, budget=done.left, most=1, **given)
    return found.index


def _cheapest(costs: np.ndarray, taken: Sequence[int]) -> float:
    return float(np.delete(costs, list(taken)).min(initial=np.inf))


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


@dataclass(frozen=True)
class _Belief:
    """What is known of the outputs at n places of the pool and m of the target, as a Gaussian.

    Attributes:
        column: place -> (n + m,), its prior covariance with every place.
        cross: (n, m) covariance of pool and target now.
        own: (n + m,) variances now.
        noise: variance of one measurement.
        factors: (n + m,) each, what measurements took: the covariance now is the prior less Σ f fᵀ.
    """

    column: Callable[[int], np.ndarray]
    cross: np.ndarray
    own: np.ndarray
    noise: float
    factors: tuple[np.ndarray, ...] = ()

    def variance(self) -> float:
        """Mean over the target."""
        return float(np.mean(self.own[len(self.cross) :]))

    def saved(self) -> np.ndarray:
        """(n,) by how much a measurement at each place reduces the mean variance in the target."""
        own = np.maximum(self.own[: len(self.cross)], 0.0) + self.noise
        return np.asarray(np.mean(self.cross**2, axis=1) / own)

    def take(self, place: int) -> _Belief:
        """The belief after a measurement there."""
        count = len(self.cross)
        covariance = self.column(place) - sum((f[place] * f for f in self.factors), np.zeros(1))
        factor = covariance / np.sqrt(max(self.own[place], 0.0) + self.noise)
        cross = self.cross - np.outer(factor[:count], factor[count:])
        return replace(self, cross=cross, own=self.own - factor**2, factors=(*self.factors, factor))


def _inputs(*parts: np.ndarray, zeros: bool) -> list[np.ndarray]:
    """Places in the units of the Gaussian process: logarithms, divided by the spread of pool and target."""
    logs = [part if zeros else np.log(np.maximum(part, 1e-300)) for part in parts]
    both = np.vstack(logs[:2])
    spread = np.std(both, axis=0)
    return [(part - both.mean(axis=0)) / np.where(spread > 0, spread, 1.0) for part in logs]


def _near(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(a, b) the kernel of the process: 1 at no distance, fading over about one spread in every variable."""
    apart = np.sum(a**2, axis=1)[:, None] + np.sum(b**2, axis=1) - 2 * a @ b.T
    return np.asarray(np.exp(-np.maximum(apart, 0.0) / (2 * a.shape[1])))


def _unfitted(pool: np.ndarray, target: np.ndarray, zeros: bool) -> _Belief:
    """Before any fit: a plane plus a smooth part."""
    places, wanted = _inputs(pool, target, zeros=zeros)
    both, count = np.vstack([places, wanted]), places.shape[1]

    def covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(1 + a @ b.T / count + _near(a, b))

    own = 2 + np.sum(both**2, axis=1) / count
    return _Belief(lambda i: covariance(both, both[i : i + 1])[:, 0], covariance(places, wanted), own, NUGGET)


def _fitted(law: Law, pool: np.ndarray, target: np.ndarray, doubt: float) -> _Belief:
    """After a fit: its linearised covariance, and the doubt about its form, given what was measured."""
    noise = max(law.variance, LEAST_VARIANCE * law.unit**2)
    inverse, rows = inverse_information(law), rows_of(law, np.vstack([pool, target]))
    measured = np.atleast_2d(law.points.x).T
    places, wanted, known = _inputs(pool, target, measured, zeros=bool(law.form.zeros))
    both, count = np.vstack([places, wanted]), len(pool)
    doubt = (doubt * float(np.std(np.log(law.points.y) if law.log else law.points.y))) ** 2
    root = np.linalg.cholesky(doubt * _near(known, known) + noise * np.eye(len(known)))
    seen = solve_triangular(root, doubt * _near(known, both), lower=True)

    def column(i: int) -> np.ndarray:
        form = rows @ (inverse @ rows[i])
        return np.asarray(form + doubt * _near(both, both[i : i + 1])[:, 0] - seen.T @ seen[:, i])

    carried = rows @ inverse
    cross = carried[:count] @ rows[count:].T + doubt * _near(places, wanted)
    own = np.sum(carried * rows, axis=1) + doubt - np.sum(seen**2, axis=0)
    return _Belief(column, cross - seen[:, :count].T @ seen[:, count:], own, noise)


def _best_plan(
    states: list[_Belief], costs: np.ndarray, budget: float, allowed: np.ndarray, most: int, tolerance: float
) -> Chosen:
    plans = [_greedy(states, costs, budget, allowed, most, tolerance, per_cost) for per_cost in (True, False)]
    index, variances = min(plans, key=lambda plan: plan[1][-1])
    deviations = np.sqrt(np.maximum(variances, 0.0))
    return Chosen(np.array(index, int), costs[np.array(index, int)], float(deviations[0]), deviations[1:])


def _greedy(
    states: list[_Belief], costs: np.ndarray, budget: float, allowed: np.ndarray, most: int, tolerance: float,
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
