"""What to run next: the runs that, within a budget, narrow the interval of predictions most.

Candidates are generated (`candidates`) or given, each with its cost; predictions matter at one target or
more. `posterior` has the joint Gaussian of both and the search. The interval is the one that is printed for
the prediction elsewhere: that of `extrapolate`, or of the law or surface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.extrapolation.stacking import Extrapolation, extrapolate
from scalinglab.laws.fitting.data.from_curves import Rows, is_table
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.fitting.solution import check_sizes
from scalinglab.laws.forms.base import Form
from scalinglab.laws.planning.candidates import (
    BEYOND,
    checked_costs,
    large_enough,
    law_or_surface,
    plausible_runs,
    price_of,
)
from scalinglab.laws.planning.posterior import TOLERANCE, Plan, after_fit, best_plan, cheapest_plan
from scalinglab.laws.surface import FLOPS_PER_PARAM_EXAMPLE, Surface
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.sentences import Column
from scalinglab.results.types import Reason, Remark, TableRows
from scalinglab.support.validation import checked
from scalinglab.support.words import counted

if TYPE_CHECKING:
    import pandas as pd

# chosen: a plan is worth it that narrows the interval by a fifth and by 0.1 % of the prediction
WORTH, NOTICEABLE = 0.8, 1e-3
TIMES = (1.0, 2.0, 4.0)  # chosen: times the cost of the largest run: the budgets that are tried by default
MOST_OF_THE_GAIN = 0.8  # chosen: the default `share` where no budget is given
AHEAD = 10.0  # chosen: times the largest run: the default target
USELESS = 1.0  # defined: an interval of ± 100 % of the prediction reaches 0


@dataclass(frozen=True)
class NextRuns(NotebookResult):
    """A plan of runs.

    Attributes:
        variables: names of what sets a run's size.
        runs: (runs, variables), in the order in which to make them.
        index: (runs,), places among the candidates.
        seeds: (runs,), how many times each.
        cost: (runs,), of all its seeds, in `unit`.
        target: (targets, variables), where predictions are wanted.
        prediction: (targets,), of y there.
        before: half-width of its 95 % interval now, as a fraction of the prediction; root mean square over
            targets.
        after: (runs,), the half-width expected then.
        budget: what may be spent, in `unit`.
        covered: (variables,), the largest over the smallest size of the runs at hand.
        unit: of cost and budget: FLOPs for a surface, x for a law of one variable; "" where costs do not add
            up.
        notes: what was done to the points of the fit.
        quantity: what is predicted where that is not y itself, such as 1 - y of an accuracy.
        largest: cost of the largest run at hand.
        widened: whether no budget was given, so that up to four times `largest` was tried.
    """

    variables: tuple[str, ...]
    runs: np.ndarray
    index: np.ndarray
    seeds: np.ndarray
    cost: np.ndarray
    target: np.ndarray
    prediction: np.ndarray
    before: float
    after: np.ndarray
    budget: float
    covered: tuple[float, ...]
    unit: str = "FLOPs"
    notes: tuple[Reason, ...] = ()
    quantity: str = ""
    largest: float = np.inf
    widened: bool = False

    @property
    def worth_it(self) -> bool:
        """Whether the interval narrows by a fifth, by 0.1 % of the prediction, and is then below ± 100 %."""
        if not len(self.after):
            return False
        then = float(self.after[-1])
        return then <= WORTH * self.before and self.before - then >= NOTICEABLE and then < USELESS

    @property
    def _predicted(self) -> Reason:
        return Reason("prediction_of", of=self.quantity) if self.quantity else Reason("prediction")

    @property
    def verdict(self) -> Reason:
        """By how much the plan narrows the interval; if it is not worth it, why and what would help."""
        about: dict[str, Any] = {"what": self._predicted, "before": self.before}
        times = self.budget / self.largest
        budget = Reason("times_the_largest_size", times=times) if times != 1 else Reason("the_largest_size")
        if self.unit:
            budget = Reason("amount", of=(self.budget, self.unit))
        if not len(self.after):
            return Reason("nothing_narrows", **about, budget=budget)
        then, cost = float(self.after[-1]), float(self.cost.sum())
        about |= {"after": then, "cost": Reason("for_amount", of=(cost, self.unit)) if self.unit else ""}
        if self.worth_it:
            return Reason("narrows", **about | {"cost": self._spent(cost)})
        if then >= USELESS:
            covered, variable = min(zip(self.covered, self.variables, strict=True))
            return Reason("stays_open", **about, covered=covered, size=Column(variable))
        code = "narrows_little_at_most" if self.widened else "narrows_little"
        little = Reason(code, **about, saved=1 - then / self.before, needed=1 - WORTH, budget=budget)
        known = self.before < NOTICEABLE or then <= WORTH * self.before
        return Reason("narrow_already", **about) if known else little

    def _spent(self, cost: float) -> Reason:
        """What the runs of the plan cost together."""
        times = max(cost / self.largest, 1.0)
        beyond = Reason("beyond_largest", times=times) if times > 1 else ""
        if self.seeds.sum() > 1:
            return Reason("in_all", of=(cost, self.unit), beyond=beyond) if self.unit else Reason("they")
        if len(self.variables) == 1 and self.unit in ("", "examples", "tokens"):  # the size is the cost
            return Reason("it_beyond", times=times) if times > 1 else Reason("it")
        return Reason("its_amount", of=(cost, self.unit), beyond=beyond)

    def notebook_table(self) -> pd.DataFrame:
        """One row a run, in the order in which to make them."""
        import pandas as pd

        table = pd.DataFrame(self.runs.reshape(-1, len(self.variables)), columns=list(self.variables))
        return table.assign(seeds=self.seeds, cost=self.cost, half_width=self.after)

    @property
    def remarks(self) -> Iterator[Remark]:
        """The summary as data: the runs, and whether the plan is worth its cost."""
        about = {"what": self._predicted, "before": self.before}
        if len(self.target) == 1:
            place = dict(zip(map(Column, self.variables), map(float, self.target[0]), strict=True))
            yield Reason("plan_at", **about, place=place, value=float(self.prediction[0]))
        else:
            yield Reason("plan_at_places", **about, places=len(self.target))
        allowed = {"budget": self.budget, "unit": self.unit}
        if not len(self.runs):
            yield self.verdict
            return
        columns = zip(self.runs, self.seeds, self.cost, self.after, strict=True)
        rows = [{"sizes": r, "seeds": s, "cost": c, "after": float(a)} for r, s, c, a in columns]
        yield TableRows("plan", rows, sizes=self.variables)
        yield Reason("plan_cost", **allowed, cost=float(self.cost.sum()))
        yield Reason("worth_it" if self.worth_it else "not_worth_it", change=self.verdict)


@checked
def next_runs(
    given: Law | Surface | Any,
    *,
    budget: float | None = None,
    at: Any = None,
    compute: float | None = None,
    x: str | Sequence[str] | None = None,
    y: str | None = None,
    reduce: str = "auto",
    form: str | Form | None = None,
    candidates: Any = None,
    cost: Callable[..., Any] | Sequence[float] | np.ndarray | None = None,
    flops_per_param_example: float = FLOPS_PER_PARAM_EXAMPLE,
    most: int = 8,
    seeds: int = 3,
    tolerance: float = TOLERANCE,
    share: float | None = None,
    continued: Extrapolation | None = None,
    **rows: Unpack[Rows],
) -> NextRuns:
    """Which runs, within `budget`, would narrow the interval of the predictions at the targets most.

    The prediction and its interval are those of `extrapolate` for a table of one column x without a form, and
    those of the law or surface otherwise.

    Args:
        given: a `Law`, a `Surface`, or a table of curves, to which a law of the column x or a surface of
            several is fitted.
        budget: what may be spent, in the unit of `cost`; by default the cost of the largest run at hand, or
            twice or four times that where no cheaper plan is worth it.
        at: where the prediction matters: a size, the values of the form's variables in their order, or
            several such rows, (targets, variables); by default ten times the largest size or compute.
        compute: instead of `at`, for a surface: its compute-optimal point for these FLOPs.
        candidates: runs to choose from, (n, variables); by default a grid in the log around the points at
            hand, up to four times beyond the largest. Of a surface the grid has the examples per parameter
            that were tried, within a factor of two, and n_params within a factor of ten of the best for
            their compute. Variables that are no sizes take the values that were tried.
        cost: of a run, a function of its variables, or the cost of each candidate; by default
            flops_per_param_example · n_params · n_data for a surface, and x for a law of one variable
            (`candidates.price_of`).
        most: how many runs at most.
        seeds: how many runs at most of one candidate.
        tolerance: the least share of the interval that a run has to save.
        share: below 1 the plan is the cheapest that narrows the interval by this share of what the whole
            budget would, unless only the plan of the whole budget is worth it. By default 1 where a budget is
            given, else `MOST_OF_THE_GAIN`.
        x, y, reduce, rows: columns of a table and which rows of it count, as in `scalinglab.laws.fit`.
        form: any registered form, or a `Form`; by default "auto" of one column x, else the average of those
            of surfaces, of which the one with the largest weight decides what a run would tell.
        continued: of a law whose form was not named, what `extrapolate` gives for its points at `nearer(at)`.

    Raises:
        NotDetermined: a curve that bends away from its form, by whose derivatives runs would be chosen, or
            that `extrapolate` does not continue as far as `at`.
    """
    named = None if form == "auto" else form  # a plan needs one form's derivatives
    fitted = law_or_surface(given, x, y, named, reduce, **rows)
    law = fitted.leading.law if isinstance(fitted, Surface) else fitted
    names = law.form.variables
    _require_plannable(law)
    targets = _targets(fitted, law.form, at, compute, flops_per_param_example)
    generated = candidates is None
    if candidates is None:
        candidates = plausible_runs(law, optimum=isinstance(fitted, Surface))
    places = np.asarray(candidates, float).reshape(-1, len(names))
    check_sizes(tuple(places.T) if len(names) > 1 else places[:, 0], law.form)
    price, unit = price_of(names, flops_per_param_example) if cost is None else (cost, "of that cost")
    if budget is None and not callable(price):
        raise BadInput("give budget= (--budget), what may be spent of the costs of these candidates")
    share = (MOST_OF_THE_GAIN if budget is None else 1.0) if share is None else share
    largest = float(np.max(price(*np.atleast_2d(law.points.x)))) if callable(price) else np.inf
    budgets = [times * largest for times in TIMES] if budget is None else [float(budget)]
    prices = checked_costs(price(*places.T) if callable(price) else price, len(places), max(budgets))
    if generated and callable(price) and isinstance(fitted, Surface):
        large = large_enough(places, prices, largest, budgets[0])
        places, prices = places[large], prices[large]
    if not (prices <= budgets[0]).any():
        raise BadInput(
            f"no candidate costs {budgets[0]:.3g} {unit} or less; the cheapest candidate costs "
            f"{prices.min():.3g}"
        )
    error = fitted.leading.form_error if isinstance(fitted, Surface) else None
    posterior = after_fit(law, places, targets, error)
    limits: dict[str, Any] = {"seeds": seeds, "most": most, "tolerance": tolerance}
    deviations = np.sqrt(np.maximum(posterior.own[len(places) :], 0.0))
    if continued is None and is_table(given) and named is None and len(names) == 1:
        continued = extrapolate(law.points.x, law.points.y, at=nearer(targets[:, 0]))
    if continued is not None:
        stated = _extrapolated(law, continued, targets[:, 0], deviations)
    else:
        stated = _of_the_form(fitted, law, targets, deviations)
    known = _stated_variance(law, stated, posterior.variance)
    notes = law.notes + (fitted.others_weigh if isinstance(fitted, Surface) else ())
    covered = tuple(float(each.max() / each.min()) for each in np.atleast_2d(law.points.x))

    def within(limit: float) -> NextRuns:
        def in_full(chosen: Plan) -> NextRuns:
            reach = np.maximum.accumulate(places[chosen.index, 0]) / law.points.x.max(axis=-1).flat[0]
            after = stated.after(np.minimum(chosen.after / known, 1.0), np.maximum(reach, 1.0))
            return NextRuns(
                names, places[chosen.index], chosen.index, chosen.seeds, prices[chosen.index] * chosen.seeds,
                targets, stated.prediction, stated.before, after, limit, covered, unit, notes,
                "1 - y" if law.points.complement else "", largest, budget is None,
            )  # fmt: skip

        plan = best_plan(posterior, prices, limit, **limits)
        whole = in_full(plan)
        if share == 1 or not len(plan.index):
            return whole
        enough = plan.after[-1] + (1 - share) * (known - plan.after[-1])
        cheapest = in_full(cheapest_plan(posterior, prices, limit, enough, plan, **limits))
        return whole if whole.worth_it and not cheapest.worth_it else cheapest

    most_expensive = within(budgets[-1])
    if not most_expensive.worth_it:  # nor is less
        return most_expensive
    return next((found for found in map(within, budgets[:-1]) if found.worth_it), most_expensive)


def _stated_variance(law: Law, stated: _Prediction, variance: float) -> float:
    """The variance of the predictions before any run, at most that of the intervals.

    The posterior counts only the last of several points of a run. Runs of one length then leave an exponent
    open that their checkpoints determine, and a run would seem to tell more than it does.
    """
    if not (law.log and law.points.blocked):
        return variance
    return min(variance, float(np.mean((stated.narrowed / law.quantile(0.95)) ** 2)))


def nearer(targets: Any) -> np.ndarray:
    """Targets, and smaller sizes, as far beyond the data as the targets beyond larger new runs."""
    return np.unique(np.divide.outer(np.atleast_1d(targets), np.geomspace(1, BEYOND, 5)))


@dataclass(frozen=True)
class _Prediction:
    """Predictions as they are printed, and the part of their intervals that runs can narrow.

    Attributes:
        prediction: (targets,) of y.
        half_width: (targets,) of their 95 % intervals, as a fraction of the prediction.
        narrowed: (targets,) the part of `half_width` that is due to the parameters of the law; the rest adds
            to it in squares.
        shrink: (targets,) the factor by which the rest narrows after a run so many times the largest, because
            the target is nearer then; None where it does not.
    """

    prediction: np.ndarray
    half_width: np.ndarray
    narrowed: np.ndarray
    shrink: Callable[[float], np.ndarray] | None = None

    @property
    def before(self) -> float:
        """Root mean square of the half-widths."""
        return float(np.sqrt(np.mean(self.half_width**2)))

    def after(self, left: np.ndarray, times: np.ndarray) -> np.ndarray:
        """(runs,) the root mean square of the half-widths after each run of a plan.

        Args:
            left: (runs,) what is left of the variance of the law, as a share.
            times: (runs,) the largest size then over that of now.
        """
        rest = self.half_width**2 - self.narrowed**2
        shrunk = [1.0 if self.shrink is None else self.shrink(each) ** 2 for each in times]
        return np.array([
            np.sqrt(np.mean(rest * factor + self.narrowed**2 * share))
            for factor, share in zip(shrunk, left, strict=True)
        ])  # fmt: skip


def _extrapolated(law: Law, found: Extrapolation, targets: np.ndarray, deviations: np.ndarray) -> _Prediction:
    """The predictions of `extrapolate`, which every command prints where no form is named.

    Their intervals include the scatter of one more run and what the form may miss; a run narrows these only
    by bringing the target nearer.

    Raises:
        NotDetermined: the points do not determine the exponent of the law.
    """
    if law.unidentified:
        raise NotDetermined(Reason("law_open"))
    halves = (found.high - found.low) / 2 / found.mean

    def at(sizes: np.ndarray) -> np.ndarray:
        return np.asarray(np.interp(np.log(sizes), np.log(found.at), halves))

    half = at(targets)
    narrowed = np.minimum(law.quantile(0.95) * deviations, half)
    mean = found.mean[np.searchsorted(found.at, targets)]
    return _Prediction(mean, half, narrowed, lambda times: at(targets / times) / half)


def _of_the_form(fitted: Law | Surface, law: Law, targets: np.ndarray, deviations: np.ndarray) -> _Prediction:
    """The predictions of a named form, with the intervals of the law or surface where these are finite."""
    columns = tuple(targets.T)
    sizes = dict(zip(law.form.variables, columns, strict=True))
    prediction = np.ravel(fitted.predict(sizes))
    # values of logarithms are relative already; raw ones may have any sign, and few of many be near 0
    scale = prediction if law.log else np.sqrt(np.mean(prediction**2))
    low, high = (np.ravel(end) for end in fitted.interval(sizes))
    closed = np.isfinite(low) & np.isfinite(high) & ((low > 0) | (not law.log))
    linear = law.quantile(0.95) * deviations / (1.0 if law.log else scale)
    half = np.where(closed, (high - low) / 2 / scale, linear)
    return _Prediction(prediction, half, half)


def _require_plannable(law: Law) -> None:
    """Refuse points that show no noise, and a curve that does not follow the form.

    What a run tells of the parameters of a wrong form is no guide.
    """
    if law.dof < 1:
        raise BadInput(
            f"{len(law.points.y)} points for {len(law.form.parameters)} parameters leave no noise to plan "
            "with: measure one more point, or take a form with fewer parameters"
        )
    if len(law.form.variables) == 1 and law.log and law.diagnosis.bend.located:
        place = float(law.diagnosis.bend.place)
        raise NotDetermined(Reason("plan_of_a_bend", equation=law.form.equation, size=Column("x"), at=place))


def _targets(
    fitted: Law | Surface, form: Form, at: Any, compute: float | None, flops_per_param_example: float
) -> np.ndarray:
    """Where predictions matter, (targets, variables)."""
    if at is None and compute is None:
        if isinstance(fitted, Surface) and {*form.variables} == {"n_params", "n_data"}:
            compute = AHEAD * flops_per_param_example * float(np.max(np.prod(fitted.law.points.x, axis=0)))
        elif isinstance(fitted, Law) and len(form.variables) == 1:
            at = AHEAD * np.max(fitted.points.x)
    if compute is not None:
        if not isinstance(fitted, Surface):
            raise BadInput("compute= needs a surface; for a law of one variable give at=")
        best = fitted.compute_optimal(compute, flops_per_param_example=flops_per_param_example)
        at = (best.n_params, best.n_data)
    if at is None:
        raise BadInput("give at= (--at), where the prediction matters, or compute= (--compute) for a surface")
    targets, names = np.atleast_2d(np.asarray(at, float)), form.variables
    if targets.shape[1] != len(names) or not len(targets):
        given = ", ".join(f"{v:g}" for v in targets[0])
        raise BadInput(f"at={given} must hold {counted(len(names), 'value')}: {', '.join(names)}")
    check_sizes(tuple(targets.T) if len(names) > 1 else targets[:, 0], form)
    return targets
