"""Runs of a pool in batches, as `next_run.py` takes them: a pilot before the first fit, then a refit a batch.

It ends when the budget is spent or no affordable experiment would reduce the standard deviation at the
targets by `tolerance`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from scalinglab.errors import ScalinglabError
from scalinglab.laws import forms
from scalinglab.laws.fitting.fit import fit
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.fitting.uncertainty.form_error import matern
from scalinglab.laws.forms.base import Form
from scalinglab.laws.planning.candidates import checked_costs
from scalinglab.laws.planning.posterior import TOLERANCE, Posterior, after_fit, best_plan
from scalinglab.support.words import percent

# of the budget that is left, spent between two refits
SHARE = 0.25
PILOT_SHARE = 2 * SHARE  # of all of it, at most, before the first fit: two batches
# variance of a run before any fit, where the plane and the smooth part have 1 each: a run that scatters by a
# tenth of what is not known
PILOT_NOISE = 1e-2


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


def sequence(
    form: str | Form,
    pool: Any,
    costs: Any,
    target: Any,
    measure: Callable[[np.ndarray], Any],
    *,
    budget: float,
    start: tuple[Sequence[int], Any] | None = None,
    tolerance: float = 20 * TOLERANCE,  # with less, batches go to runs that say little (tests)
    options: Mapping[str, Any] | None = None,
) -> SequenceResult:
    """Run experiments of a pool one batch after another, each at most once, chosen after a refit.

    Args:
        form: of the law; with several outputs each gets a law of this form.
        pool: (experiments, variables), in the order of the form's variables.
        costs: (experiments,).
        target: (targets, variables), where predictions matter.
        measure: places in the pool -> (experiments,) or (experiments, outputs), what was measured there.
        budget: what may be spent in all, what `start` cost included, in the unit of costs.
        start: (places, values) of experiments that were run already.
        tolerance: the least share of the standard deviation at the targets that a run has to save.
        options: of `scalinglab.laws.fit`.
    """
    chosen = forms.get(form)
    places = np.asarray(pool, float).reshape(-1, len(chosen.variables))
    targets = np.asarray(target, float).reshape(-1, len(chosen.variables))
    done = _Done(chosen, places, checked_costs(costs, len(places), budget), targets, budget)
    if start is not None:
        done.add(start[0], start[1])
    _run_pilots(done, measure, budget)
    while True:
        laws = done.laws(options or {})
        affordable = done.free & (done.costs <= done.left)
        if not affordable.any():
            stopped = "the budget is spent"
            break
        cheapest = float(done.costs[affordable].min())
        if laws:
            batch = _next_batch(done, laws, cheapest, tolerance)
        else:  # too few sizes for a fit yet
            batch = done.pilot(done.left, 1)
            batch = batch if len(batch) else np.flatnonzero(affordable & (done.costs == cheapest))[:1]
        if not len(batch):
            stopped = f"no affordable experiment saves {percent(tolerance)} of the error in the target"
            break
        done.add(batch, measure(batch))
    return SequenceResult(np.array(done.index), done.values, budget - done.left, laws, stopped)


@dataclass
class _Done:
    """Experiments that were run, in their order, what was measured, and what is left of the budget."""

    form: Form
    pool: np.ndarray
    costs: np.ndarray
    targets: np.ndarray
    left: float
    index: list[int] = field(default_factory=list)
    values: np.ndarray = field(default_factory=lambda: np.zeros((0, 1)))

    @property
    def free(self) -> np.ndarray:
        """(experiments,) which were not run yet."""
        return np.asarray(~np.isin(np.arange(len(self.pool)), self.index))

    def add(self, places: Sequence[int] | np.ndarray, values: Any) -> None:
        """Count experiments as run."""
        new = np.asarray(values, float).reshape(len(places), -1)
        self.values = np.vstack([self.values, new]) if self.index else new
        self.index += [int(i) for i in places]
        self.left -= float(self.costs[list(places)].sum())

    def laws(self, options: Mapping[str, Any]) -> tuple[Law, ...]:
        """A law an output; none where the points are too few."""
        x = self.pool[self.index]
        given = tuple(x.T) if len(self.form.variables) > 1 else x[:, 0]
        try:
            return tuple(fit(self.form, given, column, **options) for column in self.values.T)
        except ScalinglabError:
            return ()

    def pilot(self, budget: float, count: int) -> np.ndarray:
        """Up to `count` experiments before a fit is possible."""
        state = before_fit(self.form, self.pool, self.targets)
        for place in self.index:
            state = state.with_run(place)
        # so that none uses up what the others need
        modest = self.costs <= max(2 * budget / count, self.costs[self.free].min(initial=np.inf))
        allowed = self.free & modest
        return best_plan(state, self.costs, budget, most=count, tolerance=0.0, allowed=allowed).index


@dataclass(frozen=True)
class _Outputs:
    """Several outputs of the same experiments, as one posterior whose variance is the sum of theirs."""

    parts: tuple[Posterior, ...]

    @property
    def variance(self) -> float:
        return sum(part.variance for part in self.parts)

    def saved(self) -> np.ndarray:
        return np.asarray(sum(part.saved() for part in self.parts))

    def with_run(self, place: int) -> _Outputs:
        return _Outputs(tuple(part.with_run(place) for part in self.parts))


def before_fit(form: Form, candidates: np.ndarray, targets: np.ndarray) -> Posterior:
    """Before any run: a plane in the logarithms (in shares themselves, which may be 0) plus a smooth part."""
    count, places = len(candidates), np.vstack([candidates, targets])
    places = places if form.zeros else np.log(places)
    spread = np.std(places, axis=0)
    u = ((places - places.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).T
    variables = len(u)

    def covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(1 + a.T @ b / variables + matern(a, b, np.sqrt(variables)))

    own = 2 + np.sum(u**2, axis=0) / variables
    cross = covariance(u[:, :count], u[:, count:])
    return Posterior(lambda i: covariance(u, u[:, [i]])[:, 0], cross, own, PILOT_NOISE)


def _run_pilots(done: _Done, measure: Callable[[np.ndarray], Any], budget: float) -> None:
    """Run one experiment more than the form has parameters, for `PILOT_SHARE` of the budget if possible."""
    wanted, share = len(done.form.parameters) + 1, PILOT_SHARE
    while len(done.index) < wanted:
        cheapest = float(done.costs[done.free].min(initial=np.inf))
        if done.left < cheapest:
            break
        found = done.pilot(max(done.left - (1 - share) * budget, cheapest), wanted - len(done.index))
        if len(found):
            done.add(found, measure(found))
        elif share == 1.0:
            break
        share = 1.0  # what half of the budget does not pay for is paid for by the rest


def _next_batch(done: _Done, laws: tuple[Law, ...], cheapest: float, tolerance: float) -> np.ndarray:
    """The best experiments for `SHARE` of what is left, else the best one for all of it; empty where none."""
    states = [after_fit(law, done.pool, done.targets) for law in laws]
    choose = partial(best_plan, _Outputs(tuple(states)), done.costs, tolerance=tolerance, allowed=done.free)
    spend = max(SHARE * done.left, cheapest)
    found = choose(spend)
    if not len(found.index) and spend < done.left:
        found = choose(done.left, most=1)
    return found.index
