"""The loss as a surface over parameters and data, and the best use of compute on it.

By default several forms are fitted and averaged, by how well each predicts the runs of the largest compute
from the others (`scalinglab.laws.form_choice`); `form=` takes one. The parameters that are quoted are those
of L(N, D) = E + A N^-α + B D^-β (Hoffmann et al. 2022, eq. 2), which studies compare; predictions, the
optimum and their intervals are those of the average. `scalinglab.laws.forms.surfaces` lists the forms,
`scalinglab.laws.optimum` has the best use of compute.

The interval of the average is that of the mixture of its forms; `scalinglab.laws.one_form` has theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE
from scalinglab.errors import BadInput, NotDetermined, ScalinglabError, nearest
from scalinglab.laws import form_choice, forms
from scalinglab.laws.fitting import outliers
from scalinglab.laws.fitting.bend import SIGNIFICANT, Bend
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.data.from_curves import Table, is_table, points_from
from scalinglab.laws.fitting.data.points import MANY, positive, shaped, two_dimensional
from scalinglab.laws.fitting.fit import few_runs, refit
from scalinglab.laws.fitting.fit import fit as fit_form
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.fitting.solution import ROUNDING
from scalinglab.laws.forms import search, surfaces
from scalinglab.laws.forms.base import Form
from scalinglab.laws.forms.surfaces import NAMES
from scalinglab.laws.one_form import DRAWS, OneForm, inner_values
from scalinglab.laws.optimum import Optimal
from scalinglab.results.distributions import Interval, of_average
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.sentences import Column
from scalinglab.results.types import Reason, Remark, inside, weighed
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    import pandas as pd

REFERENCE = "chinchilla"  # the form whose parameters are quoted, where it is one of those averaged
# published: Hoffmann et al. (2022); Huber's threshold on ln loss, usual for such fits since
USUAL_DELTA = 1e-3
LEAST_SHOWN = 0.005  # defined: weights below it are 0.00 as they are written
FEWEST_DRAWS = 100  # convention: of a form that counts little its part of `DRAWS`, and at least so many


@dataclass(frozen=True)
class Surface(NotebookResult):
    """A fitted surface; made by `fit`. Parameters are attributes: `.E .A .B .alpha .beta`.

    Predictions and the optimum are those of an average of forms; all else is that of `alone` (`OneForm`).

    Attributes:
        alone: the surface of the form whose parameters are quoted.
        average: surfaces of several forms with their weights, of which predictions, optimum and intervals are
            the average; empty where `alone` counts alone.
    """

    alone: OneForm
    average: tuple[tuple[float, OneForm], ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "alone":  # what notebooks and copies look for
            raise AttributeError(name)
        if hasattr(OneForm, name) or name in OneForm.__dataclass_fields__:
            return getattr(self.alone, name)
        if name not in self.alone.parameters:
            shown = ", ".join(self.alone.parameters)
            raise AttributeError(f"this surface has no {name!r}; its parameters: {shown}")
        return self.alone.parameters[name]

    @property
    def law(self) -> Law:
        """The law whose parameters are quoted."""
        return self.alone.law

    @property
    def parts(self) -> tuple[tuple[float, OneForm], ...]:
        """The forms that count, with their weights."""
        return self.average or ((1.0, self.alone),)

    @property
    def weights(self) -> dict[str, float]:
        """How much each form counts, the heaviest first; they sum to 1."""
        heaviest = sorted(self.parts, key=lambda each: -each[0])
        return {each.law.form.name: weight for weight, each in heaviest}

    @property
    def leading(self) -> OneForm:
        """The surface of the form that counts most."""
        return max(self.parts, key=lambda each: each[0])[1]

    @property
    def others_weigh(self) -> tuple[Reason, ...]:
        """The reason that predictions also rest on other forms; empty for a single form."""
        if len(self.average) == 1:
            return (Reason("other_form_weighs", other=self.leading.law.form.name, form=self.law.form.name),)
        shown = {name: weight for name, weight in self.weights.items() if weight >= LEAST_SHOWN}
        about = {"weights": weighed(shown), "form": self.law.form.name}
        return (Reason("other_forms_weigh", **about),) if {*shown} != {self.law.form.name} else ()

    def predict(self, at: Any = None, **sizes: Any) -> Any:
        """The loss at sizes by name, ``predict(n_params=7e9, n_data=1e11)``: arrays that broadcast.

        Args:
            at: the same in a mapping or frame.
        """
        return self._mean([each.law.predict(at, **sizes) for _, each in self.parts])

    def median(self, at: Any = None, **options: Any) -> Any:
        """The median of the loss at sizes by name, with what the form may miss; of several the mean of ln.

        Args:
            at: as in `predict`.
            options: further sizes, and `assume_form`, as in `interval`.
        """
        return self._mean([each.median(at, **options) for _, each in self.parts])

    def interval(self, at: Any = None, *, level: float = 0.95, **options: Any) -> Interval:
        """The interval of the loss at sizes by name, as in `predict`.

        Args:
            options: further sizes; `of`, "law", or "measurement" for where one more run would fall;
                `assume_form`, to leave out what the form may miss; and `method` and others of `Law.interval`,
                instead of the surface's own `method`.
        """
        ends = [each.interval(at, level=level, **options) for _, each in self.parts]
        if len(ends) == 1:
            return ends[0]
        given = {name: v for name, v in options.items() if name in (*self.law.form.variables, "assume_form")}
        return self._mixed([each.median(at, **given) for _, each in self.parts], ends, level, self.law.log)

    def _mean(self, values: Sequence[Any], log: bool | None = None) -> Any:
        """The weighted mean of what each form gives, of logarithms unless the fit is one of raw values."""
        if len(values) == 1:
            return values[0]
        log = self.law.log if log is None else log
        mean = sum(w * inner_values(value, log) for (w, _), value in zip(self.parts, values, strict=True))
        return np.exp(mean) if log else mean

    def _mixed(self, middles: Sequence[Any], parts: Sequence[Interval], level: float, log: bool) -> Interval:
        """The interval of the average, of the median and the interval that each form gives."""
        weight = np.array([w for w, _ in self.parts])
        middle, ends = inner_values(np.array(middles), log), inner_values(np.array(parts), log)
        flat, (low, high) = middle.reshape(len(weight), -1), ends.reshape(len(weight), 2, -1).swapaxes(0, 1)
        found = of_average(flat, (low, high), weight, level, natural=np.exp if log else None)
        return found.through(lambda end: shaped(end, middle.shape[1:]))

    # --- the best use of compute -----------------------------------------------------------------

    def compute_optimal(
        self,
        compute: Any,
        *,
        flops_per_param_example: float = FLOPS_PER_PARAM_EXAMPLE,
        level: float = 0.95,
        intervals: bool = True,
        assume_form: bool = False,
    ) -> Optimal:
        """The n_params and n_data that reach the lowest loss with a compute, k · n_params · n_data.

        Args:
            compute: FLOPs, a number or an array.
            flops_per_param_example: k, the FLOPs of a run divided by n_params · n_data.
            level: of the intervals.
            intervals: False saves the profiles or refits, gives NaN, and refuses open exponents of few runs
                alone.
            assume_form: leave out of the intervals what the form may miss.

        Raises:
            NotDetermined: the runs do not fix an exponent, or a 95 % interval of the optimum is open, or a
                compute is too far from those of the runs.
        """
        positive(compute=compute, flops_per_param_example=flops_per_param_example)
        if intervals or self.method == "profile":  # of few runs the profiles take no time
            self.alone.require_exponents()
        options: dict[str, Any] = {"flops_per_param_example": flops_per_param_example, "level": level}
        known, refused = [], []
        for weight, each in self.parts:
            try:
                best = each.compute_optimal(compute, intervals=intervals, assume_form=assume_form, **options)
                known.append((weight, each, best))
            except NotDetermined as error:
                refused.append((weight, error))
        # a form of little weight that leaves the optimum open would else open the whole interval
        if sum(weight for weight, _ in refused) > 0.5:
            raise max(refused, key=lambda each: each[0])[1]
        whole = sum(weight for weight, *_ in known)
        kept = replace(self, average=tuple((weight / whole, each) for weight, each, _ in known))
        best = kept._averaged([best for *_, best in known], level, intervals)
        return replace(best, caution=_caution(self.leading.bend)) if intervals else best

    def _averaged(self, found: Sequence[Optimal], level: float, intervals: bool) -> Optimal:
        """The average of the optima that each form gives."""
        if len(found) == 1:
            return found[0]
        sizes = ("n_params", "n_data", "loss")
        values = {
            name: self._mean([getattr(best, name) for best in found], log=True)
            for each in sizes
            for name in (each, f"{each}_median")
        }
        for name in sizes if intervals else ():
            middles, ends = ([getattr(b, f"{name}_{part}") for b in found] for part in ("median", "interval"))
            values[f"{name}_interval"] = self._mixed(middles, ends, level, True)
        exponent = sum(w * best.exponent for (w, _), best in zip(self.parts, found, strict=True))
        return replace(found[0], exponent=exponent, **values)

    # --- in words --------------------------------------------------------------------------------

    def notebook_table(self) -> pd.DataFrame:
        """One row a free parameter; no value where the runs determine none."""
        return self.alone.notebook_table()

    @property
    def remarks(self) -> Iterator[Remark]:
        """What the summary says, as data: parameters with intervals, and how sure the optimum is."""
        law = self.law
        variables = tuple(map(Column, law.form.variables))
        yield Reason("surface", form=law.form.name, equation=law.form.equation_of("L"), variables=variables)
        yield from inside([*self._quality, *law.certificate.remarks, *self._cautions], law.points.notes)

    @property
    def _quality(self) -> Iterator[Reason]:
        yield Reason("fitted_points", points=len(self.law.points.y), sizes=self.law.points.sizes)
        yield from (row.remark for row in self.alone.rows)
        if self.average:
            yield Reason("forms_averaged", weights=weighed(self.weights))
        if why := self.alone.no_freedom:
            yield Reason("intervals_none", why=why)
        else:
            yield Reason(f"intervals_{self.method}")

    @property
    def _cautions(self) -> Iterator[Reason]:
        if caution := _caution(self.bend):
            yield Reason("lack_of_fit", why=caution)
        if self.sharing > 1 - SIGNIFICANT:
            yield Reason("sizes_share_errors", chance=self.sharing)


def _caution(bend: Bend) -> Reason | None:
    """The caution that residuals bend with size; None without a significant bend."""
    return Reason("residuals_bend", p=bend.pvalue) if bend.seen else None


@checked
def fit(
    *data: Any,
    n_params: Any = None,
    n_data: Any = None,
    loss: Any = None,
    x: Sequence[str] | None = None,
    y: str | None = None,
    reduce: str = "auto",
    form: str | Form | Sequence[str | Form] = "auto",
    variables: Mapping[str, Any] | None = None,
    delta: float | str | None = "auto",
    runs: Any = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    seed: int = 0,
    where: Mapping[str, Any] | None = None,
    drop_highest: int = 0,
    mixed: bool = False,
    **options: Any,
) -> Surface:
    """Fit a surface: ``fit(n_params, n_data, loss)``, or ``fit(curves, x=("n_params", "n_data"), y="loss")``.

    Args:
        data: n_params, n_data and loss as arrays, or a table: `Curves`, or a pandas frame under standard
            names.
        n_params, n_data, loss: the arrays, by name.
        x, y: names of columns of the table, by default the form's variables (n_params and n_data), and loss.
        reduce, where, mixed: which rows of the table count, as in `scalinglab.laws.fit`. An outlier among
            few runs of a table is left out, up to one point of ten, and noted.
        drop_highest: how many points of the table with the highest y to leave out.
        form: the name of a form of two variables and more (`scalinglab laws forms` lists them), a `Form`,
            several to average, "auto": all forms of the variables, or "search": one that is found for the
            columns x (or `variables`) by backtests (`forms.search`), as "auto" does for three columns and
            more that no form knows. Bounds, priors and ties are of the
            parameters of chinchilla, or of the first, and take that alone.
        variables: the form's variables by name, ``{"n_experts": …}``; they may be given as keywords, too, and
            the first two as `n_params` and `n_data` whatever the form calls them.
        delta: Huber's threshold on the logarithm of the loss: "auto" is 1e-3, as is usual for such fits,
            from 10 runs a parameter on, and taken from the scatter below; None takes it from the scatter,
            infinity is least squares. Far below the scatter the fit is one of absolute values, whose
            bootstrap intervals cover about 97 % at the level 95 % (`benchmarks/coverage.py`).
        runs: the run of each point; points of one run are resampled together.
        bounds, options: as in `scalinglab.laws.fit` (priors, tie, space, …).
        seed: of the resampling behind the intervals.

    >>> import numpy as np
    >>> n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e9, 6), np.geomspace(1e8, 1e11, 6)))
    >>> surface = fit(n, d, 1.8 + 480 * n**-0.35 + 2100 * d**-0.37)
    >>> round(surface.alpha, 8), round(surface.beta, 8)
    (0.35, 0.37)
    """
    named = variables or {} if form == "search" else {**(variables or {}), **options}
    given_names = [n for n, v in named.items() if v is not None]
    tried = forms_of(form, given_names, x)
    chosen = tried[0]
    if len(chosen.variables) < 2:
        known = [n for n, f in forms.FORMS.items() if len(f.variables) > 1]
        way = f"laws.fit ('scalinglab laws fit') fits one variable; {nearest(chosen.name, known)}"
        raise BadInput(f"form={chosen.name!r} is not a surface: {way}")
    given_sizes = {n: v for n, v in options.items() if n in chosen.variables and v is not None}
    options = {n: v for n, v in options.items() if n not in chosen.variables}
    rows: dict[str, Any] = {"where": where, "drop_highest": drop_highest, "mixed": mixed, "reduce": reduce}
    if data and is_table(data[0]):
        policy = options.get("nan_policy", "raise")
        columns = (chosen.variables, "loss")
        table = points_from(data, x, y, columns=columns, runs=runs, nan_policy=policy, **rows)
    else:
        given = {"n_params": n_params, "n_data": n_data, "loss": loss}
        given |= dict(zip(given, data, strict=False))
        sizes = _by_name(chosen, {**(variables or {}), **given_sizes}, given)
        if given["loss"] is None:
            raise BadInput("loss= is missing: what was measured at every point")
        table = points_from((sizes, given["loss"]), None, None, runs=runs, **rows)
    return _fitted(table, tried, delta, bounds, seed, {"starts": 8, **options})


def _fitted(
    table: Table, tried: Sequence[Form], delta: float | str | None, bounds: Any, seed: int,
    options: Mapping[str, Any],
) -> Surface:  # fmt: skip
    """The surface of the points of a table; of few, without an outlier. Arguments as those of `fit`."""
    table = replace(table, x=tuple(table.x))
    chosen, *others = tried
    if search.is_open(chosen):
        sizes = np.array([np.asarray(values, float) for values in table.x])
        chosen = search.found_form(chosen.variables, sizes, np.asarray(table.y, float))

    def threshold(form: Form) -> float | None:
        return _threshold(delta, form, table.y, table.runs)

    def fitted(form: Form) -> Law:
        same = {name: options[name] for name in ("loss", "starts") if name in options}
        return refit(law, form, delta=threshold(form), **same)

    law = fit_form(chosen, table, delta=threshold(chosen), bounds=bounds, **options)
    if chosen.variables == NAMES:
        measured = table.measured if table.names else "loss"
        points.refuse_rising(np.prod(law.points.x, axis=0), law.points.y, ("compute", measured))
    if not (law.form.fixed or law.form.tied or law.form.zeros):
        two_dimensional(law.points.x, chosen.variables)
    # bounds, priors and ties are of the parameters of one form
    alone = bounds or options.get("priors") or options.get("tie")
    found = _averaged(law, () if alone else others, fitted, seed)
    kept = _without_outlier(found, table)
    return found if kept is None else _fitted(kept, tried, delta, bounds, seed, options)


def _without_outlier(fitted: Surface, table: Table) -> Table | None:
    """The points without the one that does not follow the others, where runs are few.

    None where there is none, where it would be more than one point of ten, and of arrays, whose points the
    caller knows.
    """
    notes = fitted.law.points.notes
    outlier = next((note.details for note in notes if note.code in outliers.CODES), None)
    left_out = sum(note.code == outliers.LEFT_OUT for note in notes)
    many = left_out + 1 > outliers.FEW * (len(table.y) + left_out)
    if not table.names or outlier is None or many or not few_runs(fitted.law):
        return None
    at = np.array([*outlier["at"].values()])[:, None]
    wrong = np.isclose(table.x, at, rtol=1e-9).all(axis=0) & (table.y == outlier["measured"])
    kept = replace(table, x=np.asarray(table.x)).keep(~wrong)
    return replace(kept, notes=(*table.notes, Reason(outliers.LEFT_OUT, **outlier)))


def forms_of(
    form: str | Form | Sequence[str | Form], named: Collection[str] = (), x: Sequence[str] | None = None
) -> tuple[Form, ...]:
    """The forms that `fit` averages, that whose parameters are quoted first.

    Args:
        form: as in `fit`.
        named: variables that are given by name, for "auto".
        x: names of columns, for "auto".
    """
    columns = () if x is None or isinstance(x, str) else tuple(x)
    known = {each.variables for each in forms.FORMS.values()}
    if form == "search" or (form == "auto" and len(columns) > len(NAMES) and columns not in known):
        return (search.open_form(columns or tuple(named)),)
    if isinstance(form, Form) or (isinstance(form, str) and form != "auto"):
        return (forms.get(form),)
    found = form_choice.candidates(_variables(x, named)) if form == "auto" else tuple(map(forms.get, form))
    if not found or len({each.variables for each in found}) > 1:
        raise BadInput(f"form={form!r} must be a form, or several of the same variables")
    return tuple(sorted(found, key=lambda each: each.name != REFERENCE))


def _averaged(law: Law, others: Sequence[Form], fitted: Callable[[Form], Law], seed: int) -> Surface:
    """The surface of a law and of the other forms that backtests do not rule out."""
    if law.rms_residual < ROUNDING * law.unit:  # it passes through: nothing to choose
        return Surface(OneForm(law, seed))
    laws = {law.form.name: law}
    runs = len(np.unique(law.points.runs))
    for form in form_choice.judged(runs, [law.form, *others]):
        if form.name not in laws:
            try:
                laws[form.name] = fitted(form)
            except ScalinglabError:  # too few sizes for it
                continue
    weights = form_choice.weights(laws) if len(laws) > 1 else {}
    if REFERENCE not in laws and weights:
        law = laws[max(weights, key=lambda name: weights[name])]
    alone = OneForm(law, seed)
    if not weights or set(weights) == {law.form.name}:
        return Surface(alone)
    # the parameters of `alone` are quoted; of the others a rough quantile moves the average less
    members = {law.form.name: alone}
    for name, weight in weights.items():
        members.setdefault(name, OneForm(laws[name], seed, max(FEWEST_DRAWS, round(DRAWS * weight))))
    return Surface(alone, tuple((weight, members[name]) for name, weight in weights.items()))


def _variables(x: Sequence[str] | None, named: Collection[str]) -> tuple[str, ...]:
    """The variables whose forms "auto" tries: those of the columns x or of the arrays that are named."""
    known = {form.variables for form in forms.FORMS.values() if len(form.variables) > 1}
    if x is not None and not isinstance(x, str) and tuple(x) in known:
        return tuple(x)
    more = [each for each in known if {*named} & {*each} - {*NAMES} and {*each} - {*named} <= {*NAMES}]
    return min(more, key=len) if more else NAMES


def _threshold(delta: float | str | None, form: Form, loss: Any, runs: Any) -> float | None:
    if not isinstance(delta, str):
        return delta
    if delta != "auto":
        raise BadInput(f"delta={delta!r} must be a positive number, 'auto' or None")
    count = np.size(loss) if runs is None else len(np.unique(np.asarray(runs)))
    return USUAL_DELTA if count >= MANY * len(form.parameters) else None


def _by_name(form: Form, named: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[Any, ...]:
    """The form's variables in order: by name, the first two also by place."""
    if wrong := [n for n in named if n not in form.variables]:
        raise BadInput(f"{form.name} has no variable {wrong[0]!r}; {nearest(wrong[0], form.variables)}")
    found = []
    for place, name in enumerate(form.variables):
        value = {**given, **named}.get(name)
        if value is None and place < len(NAMES):
            value = given[NAMES[place]]
        if value is None:
            raise BadInput(
                f"{form.name} is a surface over {', '.join(form.variables)}: give {name}= (on the command "
                f"line --var {name}=COLUMN)"
            )
        found.append(value)
    return tuple(found)


__all__ = ["FLOPS_PER_PARAM_EXAMPLE", "Optimal", "Surface", "fit", "surfaces"]
