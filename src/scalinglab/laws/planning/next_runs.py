"""What to run next: the runs that, within a FLOP budget, shrink a prediction's interval most.

In the linearised fit the prediction at the target has the variance gᵀ M⁻¹ g, with g its gradient by the
parameters and M = JᵀJ/v the information in the points at hand. A run at x adds j jᵀ/v, j its row of
the Jacobian and v the noise of one point. On a surface of two sizes what the form may miss is unknown as
well, and runs near the target show it (`form_error`). The interval that is narrowed is the one that is
printed for the prediction elsewhere: that of `extrapolate`, or of the law or surface.

Runs are taken greedily, by variance saved per FLOP and by variance saved alone (the usual safeguard for a
budgeted, diminishing return); the second plan, which is the more expensive one, is kept only where it makes
the interval a tenth narrower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard, Unpack

import numpy as np

from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.extrapolation.stacking import extrapolate
from scalinglab.laws.fitting import least_squares
from scalinglab.laws.fitting.data import rising
from scalinglab.laws.fitting.data.from_curves import Rows, is_table
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.fitting.solution import LEAST_VARIANCE, check_sizes
from scalinglab.laws.forms.base import Form
from scalinglab.laws.forms.surfaces import NAMES
from scalinglab.laws.planning.candidates import affordable, price_of, sane_runs
from scalinglab.laws.planning.fitted import law_or_surface
from scalinglab.laws.surface import FLOPS_PER_PARAM_EXAMPLE, Surface
from scalinglab.results.notebook import NotebookResult
from scalinglab.support.words import count, counted, two_digits

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-10  # of the largest eigenvalue of a covariance
NO_EFFECT = 1e-100  # of a parameter on every point at hand
NARROWER = 0.9  # by which factor a more expensive plan has to narrow the interval
WORTH_A_LINE = 1e-3  # of the variance, that a run saves
WORTH, NOTICEABLE = 0.8, 1e-3  # a plan is worth it that narrows the interval so much, and by so much of y
USELESS = 1.0  # half-width, as a fraction of the prediction, from which on it is none


@dataclass(frozen=True)
class NextRuns(NotebookResult):
    """A plan of runs.

    Attributes:
        variables: names of what sets a run's size.
        runs: (runs, variables), in the order in which to make them.
        seeds: (runs,), how many times each.
        cost: (runs,), of all its seeds.
        target: (variables,), where the prediction is wanted.
        prediction: there.
        before: half-width of its 95 % interval now, as a fraction of the prediction.
        after: (runs,), the half-width expected then.
        budget: what may be spent.
        unit: of cost and budget: FLOPs for a surface, examples (say) for a law of n_data; "" where costs do
            not add up.
        notes: what was done to the points of the fit.
        quantity: what is predicted where that is not y itself, such as 1 - y of an accuracy.
    """

    variables: tuple[str, ...]
    runs: np.ndarray
    seeds: np.ndarray
    cost: np.ndarray
    target: np.ndarray
    prediction: float
    before: float
    after: np.ndarray
    budget: float
    unit: str = "FLOPs"
    notes: tuple[str, ...] = ()
    quantity: str = ""

    @property
    def worth_it(self) -> bool:
        """Whether the interval narrows by a fifth, by 0.1 % of the prediction, and is then below ± 100 %."""
        if not len(self.after):
            return False
        then = float(self.after[-1])
        return then <= WORTH * self.before and self.before - then >= NOTICEABLE and then < USELESS

    @property
    def verdict(self) -> str:
        """Whether the plan is worth its cost, in a sentence."""
        if not len(self.runs):
            return f"not worth it: no run within {self._worded(self.budget)} narrows the prediction"
        cost = f"{self._worded(self.cost.sum())} in all" if self.unit else "they"
        if self.after[-1] >= USELESS:
            return f"not worth it: {cost} leave the {self._predicted} open (± 100 % and more)"
        before, then = _percent(self.before), _percent(self.after[-1])
        change = f"narrow the {self._predicted} from ± {before} to ± {then}"
        spent = f"{cost} {change if then != before else f'leave the {self._predicted} at ± {then}'}"
        return f"worth it: {spent}" if self.worth_it else f"not worth it: {spent}"

    def _worded(self, cost: float) -> str:
        return f"{cost:.3g} FLOPs" if self.unit == "FLOPs" else f"{count(cost)} {self.unit}".rstrip()

    @property
    def _predicted(self) -> str:
        return f"prediction of {self.quantity}" if self.quantity else "prediction"

    def notebook_table(self) -> pd.DataFrame:
        """One row a run, in the order in which to make them."""
        import pandas as pd

        table = pd.DataFrame(self.runs.reshape(-1, len(self.variables)), columns=list(self.variables))
        return table.assign(seeds=self.seeds, cost=self.cost, half_width=self.after)

    def summary(self) -> str:
        """A table in lines."""
        place = ", ".join(f"{n} = {v:.3g}" for n, v in zip(self.variables, self.target, strict=True))
        lines = [f"{self._predicted} at {place}: {self.prediction:.4g} ± {_percent(self.before)} (95 %)"]
        if not len(self.runs):
            return lines[0] + f"\nno run fits into {self.budget:.3g} {self.unit}, or none would help"
        lines.append("".join(f"{n:>12}" for n in self.variables) + f"{'seeds':>7}{'cost':>12} {'then ±':>10}")
        for run, seeds, cost, after in zip(self.runs, self.seeds, self.cost, self.after, strict=True):
            sizes = "".join(f"{v:>12.3g}" for v in run)
            lines.append(f"{sizes}{seeds:>7}{cost:>12.3g} {_percent(after):>10}")
        lines.append(
            f"{self.cost.sum():.3g} of {self.budget:.3g} {self.unit}; expected, if runs go on as they do"
        )
        lines.append(self.verdict)
        return "\n".join(lines)


def next_runs(
    given: Law | Surface | Any,
    *,
    budget: float,
    at: Any = None,
    compute: float | None = None,
    x: str | Sequence[str] | None = None,
    y: str | None = None,
    reduce: str = "auto",
    form: str | Form | None = None,
    cost: Callable[..., Any] | None = None,
    candidates: Any = None,
    flops_per_param_example: float = FLOPS_PER_PARAM_EXAMPLE,
    most: int = 8,
    seeds: int = 3,
    **rows: Unpack[Rows],
) -> NextRuns:
    """Which runs, within `budget` FLOPs, would shrink the interval of the prediction at the target most.

    Args:
        given: a `Law`, a `Surface`, or a table of curves, to which one is fitted: a law of the column x, a
            surface of several.
        budget: FLOPs to spend, in the unit of `cost`.
        at: where the prediction matters: a size, or the values of the form's variables, in their order.
        compute: instead of `at`, for a surface: its compute-optimal point for these FLOPs.
        cost: FLOPs of a run, a function of its variables; by default
            flops_per_param_example · n_params · n_data for a surface, and x for a law of one variable
            (`candidates.price_of`).
        candidates: sizes to choose from, (n, variables); by default a grid in the log around the points at
            hand, up to four times beyond the largest, and for a surface with as many examples per parameter
            as were tried, within a factor of two, and n_params within a factor of ten of the best for their
            compute, so that 65 B parameters on 2 B tokens are not proposed. Variables that are no sizes
            take the values that were tried.
        most: how many runs at most.
        seeds: how many runs at most of one size.
        x, y, reduce, rows: columns of a table and which rows of it count, as in `scalinglab.laws.fit`.
        form: any registered form, or a `Form`; by default "auto" of one column x, else "chinchilla".

    The prediction and its interval are those of `extrapolate` for a table of one column x without a form, and
    those of the law or surface otherwise.

    Raises:
        NotDetermined: a curve that bends away from its form, by whose derivatives runs would be chosen, or
            that `extrapolate` does not continue as far as `at`.
    """
    named = None if form == "auto" else form  # a plan needs one form's derivatives
    fitted = law_or_surface(given, x, y, named, reduce, **rows)
    law = fitted.law if isinstance(fitted, Surface) else fitted
    names = law.form.variables
    _require_plannable(law)
    if not budget > 0:
        raise BadInput(f"budget={budget!r} must be a positive cost")
    target = _target(fitted, law.form, at, compute, flops_per_param_example)
    price, unit = (cost, "of that cost") if cost else price_of(names, flops_per_param_example)
    grid = np.asarray(candidates, float)
    if candidates is None:
        grid = sane_runs(law, optimum=isinstance(fitted, Surface))
    grid, prices = affordable(grid.reshape(-1, len(names)), price, budget, unit)
    slopes, inverse, noise = _unknown(fitted, law, np.vstack([grid, target]))
    g, slopes = slopes[-1], slopes[:-1]
    thrifty, thorough = (
        _greedy(inverse, slopes, prices, g, noise, budget, most, seeds, per_cost)
        for per_cost in (True, False)
    )
    chosen, variances = thorough if thorough[1][-1] < NARROWER**2 * thrifty[1][-1] else thrifty
    order = list(dict.fromkeys(chosen))
    times = np.array([chosen.count(i) for i in order], int)
    left = _reached(inverse, slopes[order], times, g, noise) / variances[0]
    if is_table(given) and named is None and len(names) == 1:
        stated = _extrapolated(law, target, variances[0])
    else:
        stated = _of_the_form(fitted, law, target, variances[0])
    return NextRuns(
        names, grid[order], times, prices[order] * times, target, stated.prediction,
        stated.half_width, stated.after(left), float(budget), unit, law.notes,
        "1 - y" if rising.NOTE in law.points.notes else "",
    )  # fmt: skip


def _unknown(fitted: Law | Surface, law: Law, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows r, M⁻¹ and the noise of a run: predictions at places i and k have the covariance rᵢ M⁻¹ rₖ."""
    if _counts_form_error(fitted):
        covariance, noise = fitted.form_error.covariance(places.T)
        values, vectors = np.linalg.eigh(covariance)
        kept = values > ROUNDING * values[-1]
        return vectors[:, kept] * np.sqrt(values[kept]), np.eye(int(kept.sum())), noise
    return rows_of(law, places), inverse_information(law), max(law.variance, LEAST_VARIANCE * law.unit**2)


@dataclass(frozen=True)
class _Stated:
    """A prediction as it is printed, and what runs can narrow of it.

    Attributes:
        prediction: of y.
        half_width: of its 95 % interval, as a fraction of the prediction.
        narrowed: the part of `half_width` that runs narrow; the rest adds to it in squares and stays.
    """

    prediction: float
    half_width: float
    narrowed: float

    def after(self, left: np.ndarray) -> np.ndarray:
        """The half-widths once `left` (runs,) is left of the variance that runs narrow."""
        return np.asarray(np.sqrt(self.half_width**2 - self.narrowed**2 * (1 - left)))


def _extrapolated(law: Law, target: np.ndarray, variance: float) -> _Stated:
    """The prediction of `extrapolate`, which every command prints where no form is named.

    Its interval also holds the scatter of one more run and what the form may miss, which stay.

    Raises:
        NotDetermined: a prediction that is none, or a law without an exponent.
    """
    if law.unidentified:
        raise NotDetermined("the law is not, so it does not tell which run would help; add larger sizes")
    found = extrapolate(law.points.x, law.points.y, at=target)
    prediction = float(found.mean[0])
    half = float(found.high[0] - found.low[0]) / 2 / prediction
    return _Stated(prediction, half, min(_linear_half_width(law, prediction, variance), half))


def _of_the_form(fitted: Law | Surface, law: Law, target: np.ndarray, variance: float) -> _Stated:
    """The prediction of a form that was named: with the interval of the law or surface where it is closed."""
    prediction = float(np.ravel(law.predict(tuple(target) if len(target) > 1 else target))[0])
    half = _linear_half_width(law, prediction, variance)
    if len(target) == 1 or _counts_form_error(fitted):
        low, high = (float(np.ravel(end)[0]) for end in fitted.interval(*target))
        if low > 0 and np.isfinite(high):
            half = (high - low) / 2 / prediction
    return _Stated(prediction, half, half)


def _linear_half_width(law: Law, prediction: float, variance: float) -> float:
    """Half the 95 % interval of the linearised fit, as a fraction of the prediction."""
    return float(law.quantile(0.95) * np.sqrt(variance) / (1.0 if law.log else prediction))


def _counts_form_error(fitted: Law | Surface) -> TypeGuard[Surface]:
    """Whether a run near the target shows what the form misses: on surfaces of two sizes."""
    return isinstance(fitted, Surface) and fitted.law.form.variables == NAMES and fitted.form_error.shows


def _require_plannable(law: Law) -> None:
    """Refuse points that leave no noise, and a curve that does not follow the form.

    What a run would tell of the parameters of another form is no guide.
    """
    if law.dof < 1:
        raise BadInput(
            f"{len(law.points.y)} points for {len(law.form.parameters)} parameters leave no noise to plan "
            "with: measure one more point, or take a form with fewer parameters"
        )
    if len(law.form.variables) == 1 and law.log and law.diagnosis.bend.located:
        raise NotDetermined(
            f"the points bend away from {law.form.equation} near x = {law.diagnosis.bend.place:.3g}, and "
            "runs are chosen by this form: name one that follows them (form=, --form broken_power_law), or "
            "measure more sizes beyond the bend"
        )


def _percent(share: float) -> str:
    """0.0123 as 1.2 %, 2.1 as 210 %."""
    return f"{two_digits(100 * share)} %"


def _target(
    fitted: Law | Surface,
    form: Form,
    at: Any,
    compute: float | None,
    flops_per_param_example: float,
) -> np.ndarray:
    """Where the prediction matters, (variables,)."""
    if compute is not None:
        if not isinstance(fitted, Surface):
            raise BadInput("compute= needs a surface; for a law of one variable give at=")
        best = fitted.compute_optimal(compute, flops_per_param_example=flops_per_param_example)
        at = (best.n_params, best.n_data)
    if at is None:
        raise BadInput("give at= (--at), where the prediction matters, or compute= (--compute) for a surface")
    target, names = np.atleast_1d(np.asarray(at, float)).ravel(), form.variables
    if len(target) != len(names):
        given = ", ".join(f"{v:g}" for v in target)
        raise BadInput(f"at={given} must hold {counted(len(names), 'value')}: {', '.join(names)}")
    check_sizes(tuple(target) if len(names) > 1 else target, form)
    return target


def _reached(
    inverse: np.ndarray, rows: np.ndarray, times: np.ndarray, g: np.ndarray, noise: float
) -> np.ndarray:
    """The variance of the prediction after each of these runs, made so many times each."""
    reached = []
    for row, repeats in zip(rows, times, strict=True):
        for _ in range(repeats):
            inverse = _with_run(inverse, row, noise)
        reached.append(float(g @ inverse @ g))
    return np.array(reached)


def _with_run(inverse: np.ndarray, row: np.ndarray, noise: float) -> np.ndarray:
    """M⁻¹ after one more run, by Sherman and Morrison."""
    carried = inverse @ row
    return np.asarray(inverse - np.outer(carried, carried) / (noise + row @ carried))


def _greedy(
    inverse: np.ndarray, rows: np.ndarray, prices: np.ndarray, g: np.ndarray,
    noise: float, budget: float, most: int, seeds: int, per_cost: bool,
) -> tuple[list[int], list[float]]:  # fmt: skip
    """Indices of the runs taken and the variance of the prediction before and after each."""
    chosen: list[int] = []
    variances = [float(g @ inverse @ g)]
    left = budget
    while len(chosen) < most:
        carried = rows @ inverse
        saved = (carried @ g) ** 2 / (noise + np.sum(carried * rows, axis=1))
        often = np.bincount(np.array(chosen, int), minlength=len(rows)) >= seeds
        saved = np.where((prices <= left) & ~often, saved, -1.0)
        best = int(np.argmax(saved / prices if per_cost else saved))
        if saved[best] <= WORTH_A_LINE * variances[-1]:
            break
        inverse = _with_run(inverse, rows[best], noise)
        chosen.append(best)
        variances.append(float(g @ inverse @ g))
        left -= prices[best]
    return chosen, variances


def rows_of(law: Law, sizes: np.ndarray) -> np.ndarray:
    """∂g(f)/∂z at sizes (n, variables), (n, p)."""
    x = sizes.T if sizes.shape[1] > 1 else sizes[:, 0]
    ones = np.ones((1, len(sizes)))
    return least_squares.Problem(law.form, x, ones, ones, ones, law.log).jacobian(law.coordinates[None])[0]


def inverse_information(law: Law) -> np.ndarray:
    """M⁻¹ of the points at hand; what they do not determine at all is given a large, finite variance.

    Parameters that ended at a bound are free here: a run that shows whether a floor of 0 is one counts.
    """
    problem = law.problem
    jacobian = problem.jacobian(law.coordinates[None])[0] * np.sqrt(problem.counts[0])[:, None]
    size = np.linalg.norm(jacobian, axis=0)
    size = np.where(size > NO_EFFECT, size, 1.0)
    values, vectors = np.linalg.eigh((jacobian / size).T @ (jacobian / size))
    values = np.maximum(values, 1e-10)
    scaled = vectors / values @ vectors.T
    return np.asarray(max(law.variance, LEAST_VARIANCE * law.unit**2) * scaled / size / size[:, None])
