"""The loss as a surface over parameters and data, and the best use of compute on it.

By default several forms are fitted and averaged, by how well each predicts the runs of the largest compute
from the others (`scalinglab.laws.form_choice`); `form=` takes one. The parameters that are quoted are those
of L(N, D) = E + A N^-α + B D^-β (Hoffmann et al. 2022, eq. 2), which studies compare; predictions, the
optimum and their intervals are those of the average. `scalinglab.laws.forms.surfaces` lists the forms,
`scalinglab.laws.optimum` has the best use of compute.

Intervals come from profile likelihood with Student's quantile below `MANY` runs a parameter and from a
bootstrap over runs from there on. On small designs resampling loses whole sizes, and wild residuals of a fit
that nearly interpolates are far too small; the profile holds there, also where a parameter is at its bound
or barely determined (`benchmarks/coverage.py`). All intervals allow for errors that runs of one n_params
share (`shared_errors`). Intervals of the loss and of the optimum allow for what
the form may miss (`form_error`), and for the choice of the form; those of the parameters assume theirs. What
the runs do not determine raises `NotDetermined`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE
from scalinglab.errors import BadInput, NotDetermined, ScalinglabError, nearest
from scalinglab.laws import form_choice, forms
from scalinglab.laws.fitting import outliers
from scalinglab.laws.fitting.bend import SIGNIFICANT, Bend, of_surface
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.data.from_curves import Table, is_table, points_from
from scalinglab.laws.fitting.data.points import MANY, positive, shaped, two_dimensional
from scalinglab.laws.fitting.fit import few_runs, fit_points, refit
from scalinglab.laws.fitting.fit import fit as fit_form
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.fitting.solution import ROUNDING, Solution, in_order, open_ended, sizes_of
from scalinglab.laws.fitting.statistics import WIDE
from scalinglab.laws.fitting.uncertainty import intervals as interval_engine
from scalinglab.laws.fitting.uncertainty import shared_errors
from scalinglab.laws.fitting.uncertainty.form_error import FormError
from scalinglab.laws.fitting.uncertainty.intervals import Quantity
from scalinglab.laws.fitting.uncertainty.profile import Bootstrap, bootstrap
from scalinglab.laws.fitting.uncertainty.shared_errors import SharedErrors
from scalinglab.laws.forms import search, surfaces
from scalinglab.laws.forms.base import Form, Parameter
from scalinglab.laws.forms.surfaces import NAMES
from scalinglab.laws.optimum import FARTHEST, REACH, Optimal, best_split, rises_with, too_far, why_no_optimum
from scalinglab.results import fits
from scalinglab.results.distributions import OPEN, UNKNOWN, Interval, Mixture, Student, interval, reach
from scalinglab.results.fits import ParameterRow
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.sentences import Column
from scalinglab.results.types import Reason, Remark, inside, weighed
from scalinglab.support.validation import checked
from scalinglab.support.work import one_thread

if TYPE_CHECKING:
    import pandas as pd

REFERENCE = "chinchilla"  # the form whose parameters are quoted, where it is one of those averaged
# published: Hoffmann et al. (2022); Huber's threshold on ln loss, usual for such fits since
USUAL_DELTA = 1e-3
LEAST_SHOWN = 0.005  # defined: weights below it are 0.00 as they are written
# convention: of the width of an interval; a fitted value farther from the median is not the one to quote
ASIDE = 0.1
# convention: resampled sets of runs; of a form that counts little its part of them, and at least so many
DRAWS, FEWEST_DRAWS = 400, 100

if TYPE_CHECKING:
    of_law = cached_property
else:

    class of_law(cached_property):
        """A cached property of `law` that an average of forms shares with the surface of its quoted form.

        An average and its member `alone` have the same `law`: its bootstrap and profiles are computed once.
        """

        def __get__(self, surface, owner=None):
            return super().__get__(None if surface is None else surface.alone, owner)


@dataclass(frozen=True)
class Surface(NotebookResult):
    """A fitted surface; made by `fit`. Parameters are attributes: `.E .A .B .alpha .beta`.

    Attributes:
        law: of the form whose parameters are quoted.
        seed: of the resampling behind the intervals.
        average: surfaces of several forms with their weights, of which predictions, optimum and intervals are
            the average; empty where `law` alone counts.
        draws: how many resampled sets of runs the intervals of many runs come from.
    """

    law: Law
    seed: int = 0
    average: tuple[tuple[float, Surface], ...] = ()
    draws: int = DRAWS

    def __getattr__(self, name: str) -> float:
        if name.startswith("_"):  # what notebooks and copies look for
            raise AttributeError(name)
        parameters: dict[str, float] = object.__getattribute__(self, "law").parameters
        if name not in parameters:
            raise AttributeError(f"this surface has no {name!r}; its parameters: {', '.join(parameters)}")
        return parameters[name]

    @property
    def parameters(self) -> dict[str, float]:
        """The fitted values by name."""
        return self.law.parameters

    @property
    def objective(self) -> float:
        """Σ w ρ(r) at the optimum."""
        return self.law.objective

    @property
    def weights(self) -> dict[str, float]:
        """How much each form counts, the heaviest first; they sum to 1."""
        heaviest = sorted(self.average, key=lambda each: -each[0])
        return {each.law.form.name: weight for weight, each in heaviest} or {self.law.form.name: 1.0}

    @property
    def others_weigh(self) -> tuple[Reason, ...]:
        """The reason that predictions also rest on other forms; empty for a single form."""
        if len(self.average) == 1:
            return (Reason("other_form_weighs", other=self.leading.law.form.name, form=self.law.form.name),)
        shown = {name: weight for name, weight in self.weights.items() if weight >= LEAST_SHOWN}
        about = {"weights": weighed(shown), "form": self.law.form.name}
        return (Reason("other_forms_weigh", **about),) if self.average else ()

    @cached_property
    def alone(self) -> Surface:
        """The surface of the form whose parameters are quoted, without the others."""
        if not self.average:
            return self
        same = (each for _, each in self.average if each.law.form is self.law.form)
        return next(same, Surface(self.law, self.seed))

    @property
    def leading(self) -> Surface:
        """The surface of the form that counts most."""
        return max(self.average, key=lambda each: each[0])[1] if self.average else self

    def predict(self, at: Any = None, **sizes: Any) -> Any:
        """The loss at sizes by name, ``predict(n_params=7e9, n_data=1e11)``: arrays that broadcast.

        Args:
            at: the same in a mapping or frame.
        """
        if not self.average:
            return self.law.predict(at, **sizes)
        log = self.law.log
        mean = sum(w * _inner(each.law.predict(at, **sizes), log) for w, each in self.average)
        return np.exp(mean) if log else mean

    # --- how sure it is --------------------------------------------------------------------------

    @of_law
    def bend(self) -> Bend:
        """Whether residuals bend with size in a way that the form lacks."""
        law, points = self.law, self.law.points
        with np.errstate(divide="ignore"):
            sizes, places = shared_errors.groups(law, np.log(points.x).T)
        chance = shared_errors.several(sizes, points.checkpoints_of > 0)
        return of_surface(
            points,
            lambda: fit_points(
                law.form, points, log=law.log, start=law.values[None], noise=law.noise or None
            ),
            lambda values: shared_errors.whitened(values, sizes, places, chance),
        )

    @property
    def method(self) -> str:
        """Where the intervals come from: "profile" for few runs, "bootstrap" over runs for many."""
        enough = MANY * len(self.law.form.parameters)
        return "bootstrap" if len(np.unique(self.law.points.runs)) >= enough else "profile"

    @of_law
    def form_error(self) -> FormError:
        """What the form may miss, by how the residuals move together."""
        with one_thread():
            return FormError(self.law, self._shared)

    @of_law
    def _shared(self) -> SharedErrors:
        """What runs of one size have in common."""
        return SharedErrors(self.law)

    @property
    def sharing(self) -> float:
        """The probability that runs of one n_params share an error."""
        return self._shared.chance

    def interval(
        self, at: Any = None, *, level: float = 0.95, of: str = "law", assume_form: bool = False,
        **options: Any,
    ) -> Interval:  # fmt: skip
        """The interval of the loss at sizes by name, as in `predict`.

        Args:
            of: "law", or "measurement" for where one more run would fall.
            assume_form: leave out what the form may miss.
            options: `method` and others of `Law.interval`, instead of the surface's own `method`.
        """
        if self.average:
            kept = {"level": level, "of": of, "assume_form": assume_form, **options}
            sizes = {name: options[name] for name in self.law.form.variables if name in options}
            parts = [each.interval(at, **kept) for _, each in self.average]
            middles = [each.median(at, assume_form=assume_form, **sizes) for _, each in self.average]
            return self._mixed(middles, parts, level, self.law.log)
        sizes = {name: options.pop(name) for name in self.law.form.variables if name in options}
        x = in_order(self.law.form, at, sizes)
        form_error = None if assume_form else self.form_error
        if options or of != "law":
            return interval_engine.of_law(
                self.law, x, level, of=of, shared=self._shared, form_error=form_error, **options
            )
        inputs = sizes_of(self.law.form, x)
        quantity = interval_engine.law_at(self.law, inputs.reshape(len(inputs), -1))
        ends = self._ends(quantity, level, form_error, self._shared)
        return ends.through(lambda end: shaped(end, inputs.shape[1:]))

    def median(self, at: Any = None, *, assume_form: bool = False, **sizes: Any) -> Any:
        """The median of the loss at sizes by name, with what the form may miss; of several the mean of ln."""
        if self.average:
            log = self.law.log
            parts = [(w, each.median(at, assume_form=assume_form, **sizes)) for w, each in self.average]
            mean = sum(w * _inner(middle, log) for w, middle in parts)
            return np.exp(mean) if log else mean
        x = sizes_of(self.law.form, in_order(self.law.form, at, sizes))
        quantity = interval_engine.law_at(self.law, x.reshape(len(x), -1))
        found = self._middle(quantity, None if assume_form else self.form_error)
        return shaped(found, x.shape[1:])

    def _middle(self, quantity: Quantity, form_error: FormError | None) -> np.ndarray:
        """(count,) the medians of numbers whose intervals are `_ends`."""
        law, way = self._way
        return interval_engine.median(law, quantity, **way, shared=self._shared, form_error=form_error)

    def _mixed(self, middles: Sequence[Any], parts: Sequence[Interval], level: float, log: bool) -> Interval:
        """The interval of the average, of the median and the interval that each form gives."""
        weight = np.array([w for w, _ in self.average])
        middle, ends = _inner(np.array(middles), log), _inner(np.array(parts), log)
        flat, (low, high) = middle.reshape(len(weight), -1), ends.reshape(len(weight), 2, -1).swapaxes(0, 1)
        average = Mixture(Student.of_ends(flat, low, high, level=level), weight, open_parts=True)
        found = interval(average, level, natural=np.exp if log else None)
        return found.through(lambda end: shaped(end, middle.shape[1:]))

    def _ends(
        self, quantity: Quantity, level: float, form_error: FormError | None = None,
        shared: SharedErrors | None = None, bounds: tuple[Any, Any] | None = None,
    ) -> Interval:  # fmt: skip
        """The interval of every number, by the surface's `method`."""
        law, way = self._way
        return interval_engine.interval(
            law, quantity, level, bounds=bounds, **way, shared=shared, form_error=form_error
        )

    @property
    def _way(self) -> tuple[Solution, dict[str, Any]]:
        """The solution whose intervals are made, and how."""
        if self.method == "bootstrap":
            return self.law, {"drawn": self._bootstrap}
        return self._profiled, {"method": "profile"}

    @of_law
    def _bootstrap(self) -> Bootstrap:
        """Refits on resampled runs."""
        with one_thread():
            return bootstrap(self.law, draws=self.draws, seed=self.seed)

    @of_law
    def _profiled(self) -> Solution:
        return profiled(self.law)

    def parameter_intervals(self, level: float = 0.95) -> dict[str, Interval]:
        """The interval of every free parameter; an infinite end is not determined by the runs."""
        found = self._intervals.get(level) or self._parameter_intervals(level)
        return dict(self._intervals.setdefault(level, found))

    @of_law
    def _intervals(self) -> dict[float, dict[str, Interval]]:
        return {}

    def _parameter_intervals(self, level: float) -> dict[str, Interval]:
        parameters = self.law.form.parameters
        if self.method == "profile" and self._profiled.dof < 1:
            return dict.fromkeys((p.name for p in parameters), OPEN)
        quantity, bounds = interval_engine.parameters_of(self.law), interval_engine.bounds_of(self.law)
        alone = self._ends(quantity, level)
        shared = self._ends(quantity, level, shared=self._shared, bounds=bounds)
        # whether an end is open is for the runs to say; what they share moves those that are closed
        found = {}
        for p, by_runs, ends in zip(parameters, alone.each(), shared.each(), strict=False):
            found[p.name] = ends.where(_closed(p, *by_runs), OPEN)
        return found

    @of_law
    def quoted(self) -> dict[str, float]:
        """The number to quote of every free parameter: the fitted value, or the median where that is another.

        Where runs of one size share errors, the fitted value may stand at an end of its interval.
        """
        found = {name: self.parameters[name] for name in self.law.form.names}
        if self.method == "profile" and self._profiled.dof < 1:
            return found
        middle = self._middle(interval_engine.parameters_of(self.law), None)
        ends = self.parameter_intervals()
        for p, median in zip(self.law.form.parameters, middle, strict=False):
            fitted, median, low, high = found[p.name], float(np.clip(median, *ends[p.name])), *ends[p.name]
            away, width = np.abs(np.diff(_inner(np.array([fitted, median, low, high]), p.log)))[::2]
            found[p.name] = median if away > ASIDE * width else fitted
        return found

    @of_law
    def undetermined(self) -> tuple[str, ...]:
        """The parameters without a value: with an open 95 % interval, or amplitudes known to no order."""
        ends = self.parameter_intervals()
        amplitudes = {p.name for p in self.law.form.parameters if p.log}
        # an amplitude is the term at a size of one, many orders away: wide in six of them is no value
        vast = {n for n in amplitudes if ends[n].high > WIDE**6 * ends[n].low}
        return tuple(n for n in ends if n in vast.union(open_ended(ends)))

    @property
    def determined(self) -> dict[str, float | None]:
        """The parameters, None where the runs do not determine one."""
        return {n: None if n in self.undetermined else v for n, v in self.parameters.items()}

    @property
    def errors(self) -> dict[str, float]:
        """One standard error of every parameter; infinite where it is not determined.

        Of a profile that of a Gaussian with the same 95 % interval, whatever the degrees of freedom.
        """
        if self.method == "bootstrap":
            alone, values = self._bootstrap.errors(), self.law.values
            half = np.array([*alone.values()])
            low, high = self._shared.widened(lambda v: v, values, (values - half, values + half), 0.95)
            return {name: float(error) for name, error in zip(alone, (high - low) / 2, strict=True)}
        width = 2 * reach(0.95)
        return {n: float((high - low) / width) for n, (low, high) in self.parameter_intervals().items()}

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
            self._require_exponents()
        options = (flops_per_param_example, level, intervals, assume_form)
        found = self._averaged_optimum if self.average else self._optimum
        best = found(compute, *options)
        return replace(best, caution=_caution(self.leading.bend)) if intervals else best

    def _averaged_optimum(
        self, compute: Any, flops_per_param_example: float, level: float, intervals: bool, assume_form: bool
    ) -> Optimal:
        """The optimum averaged over the forms that determine one; refused where most weight does not."""
        known, refused = [], []
        for weight, each in self.average:
            try:
                best = each._optimum(compute, flops_per_param_example, level, intervals, assume_form)
                known.append((weight, each, best))
            except NotDetermined as error:
                refused.append((weight, error))
        # a form of little weight that leaves the optimum open would else open the whole interval
        if sum(weight for weight, _ in refused) > 0.5:
            raise max(refused, key=lambda each: each[0])[1]
        whole = sum(weight for weight, *_ in known)
        kept = replace(self, average=tuple((weight / whole, each) for weight, each, _ in known))
        share, found = [weight for weight, _ in kept.average], [best for *_, best in known]

        def mean(name: str) -> Any:
            return np.exp(sum(w * np.log(getattr(best, name)) for w, best in zip(share, found, strict=True)))

        def ends(name: str) -> Interval:
            middles, parts = (
                [getattr(b, f"{name}_{part}") for b in found] for part in ("median", "interval")
            )
            return kept._mixed(middles, parts, level, True) if intervals else parts[0]

        names = ("n_params", "n_data", "loss")
        values = {name: mean(name) for each in names for name in (each, f"{each}_median")}
        values |= {f"{name}_interval": ends(name) for name in names}
        exponent = sum(w * best.exponent for w, best in zip(share, found, strict=True))
        return replace(found[0], exponent=exponent, **values)

    def _optimum(
        self, compute: Any, flops_per_param_example: float, level: float, intervals: bool, assume_form: bool
    ) -> Optimal:
        """The optimum of `law` alone."""
        flat = np.ravel(np.asarray(compute, float))
        product, values = flat / flops_per_param_example, self.law.values[None]
        best = best_split(self.law.form, values, product)[0]
        if (np.abs(np.log(best[0] / best[1])) > 1.9 * REACH).any():
            idle = int(best[0, 0] > best[1, 0])
            code = "loss_rises" if rises_with(self.law, idle) else "no_fall_in_fit"
            raise NotDetermined(Reason(code, size=Column(self.law.form.variables[idle])))
        # the exponent is a difference: forms of other than two powers have none in closed form
        nearby = best_split(self.law.form, values, product * 1.01)[0]
        middle = np.full_like(best, np.nan)
        ends = [UNKNOWN.through(lambda end: np.full_like(flat, end))] * 3
        spent = flops_per_param_example * self.law.points.x[0] * self.law.points.x[1]
        if intervals:
            if far := too_far(flat, spent):
                raise NotDetermined(far)
            ends, middle = self._optimum_ends(best, None if assume_form else self.form_error, level)

        def given(values: np.ndarray) -> Any:
            return shaped(values, np.shape(compute))

        n_params, n_data, loss = map(given, best)
        exponent = given(np.log(nearby[0] / best[0]) / np.log(1.01))
        ends = [each.through(given) for each in ends]
        return Optimal(
            given(flat), n_params, n_data, loss, ends[0], ends[1], ends[2], exponent, level,
            self.method if intervals else "", given(flat / spent.max()), None, given(spent.min() / flat),
            *map(given, middle),
        )  # fmt: skip

    def allocation_exponent(self, level: float = 0.95) -> tuple[float, Interval]:
        """a = β/(α + β) of n_params ∝ compute^a on a sum of two powers, with its interval."""
        names = self.law.form.names
        if not {"alpha", "beta"} <= set(names):
            raise BadInput(f"{self.law.form.name} has no free alpha and beta to take an exponent from")
        self._require_exponents()
        alpha, beta = names.index("alpha"), names.index("beta")

        def quantity(parameters: np.ndarray, _: np.ndarray) -> np.ndarray:
            return np.asarray(parameters[:, beta] / (parameters[:, alpha] + parameters[:, beta]))

        value = float(quantity(self.law.values[None], np.zeros(1))[0])
        self._require_scatter()
        (ends,) = self._ends(Quantity(quantity, np.zeros(1, bool)), level, shared=self._shared).each()
        return value, ends

    def _require_scatter(self) -> None:
        if self.method == "profile" and self._profiled.dof < 1:
            raise NotDetermined(self._few_runs())

    def _few_runs(self) -> Reason:
        runs, parameters = len(np.unique(self.law.points.runs)), len(self.law.form.parameters)
        return Reason("no_freedom", runs=runs, parameters=parameters)

    def _require_exponents(self) -> None:
        """Refuse an optimum that rests on an exponent that the runs leave open."""
        exponents = [p.name for p in self.law.form.parameters if np.isfinite(p.high) and not p.log]
        if lost := [name for name in exponents if name in self.undetermined]:
            raise NotDetermined(why_no_optimum(self.law, lost))

    def _optimum_ends(
        self, best: np.ndarray, form_error: FormError | None, level: float
    ) -> tuple[list[Interval], np.ndarray]:
        """Intervals and middles (3, computes) of n_params, n_data and loss at the optimum, `best`."""
        self._require_scatter()
        form, product, count = self.law.form, best[0] * best[1], best.shape[1]

        def value(parameters: np.ndarray, which: np.ndarray) -> np.ndarray:
            """ln n_params of every compute, then ln loss."""
            found = np.empty(len(which))
            for index in np.unique(which % count):
                rows = which % count == index
                each, back = np.unique(
                    parameters[rows], axis=0, return_inverse=True
                )  # one search for the two
                split = np.log(best_split(form, each, product[[index]])[:, ::2, 0])
                found[rows] = split[back, which[rows] // count]
            return found

        quantity = Quantity(value, np.ones(2 * count, bool), self.form_error.optimum(best[:2]))
        found = self._ends(quantity, level, form_error, self._shared)
        n_params, loss = found.through(lambda end: end[:count]), found.through(lambda end: end[count:])
        if not (n_params.ratio < FARTHEST).all():
            raise NotDetermined(Reason("any_size_fits", size=Column("n_params")))
        middle = self._middle(quantity, form_error).reshape(2, count)
        n_data = n_params.through(lambda end: product / end)
        return [n_params, n_data, loss], np.stack([middle[0], product / middle[0], middle[1]])

    @property
    def _rows(self) -> list[ParameterRow]:
        """The parameters; no value where the runs determine none."""
        rows, errors, ends = [], self.errors, self.parameter_intervals()
        for name, value in self.law.parameters.items():
            if name not in ends:
                rows.append(ParameterRow(name, value, given=self.law.form.given(name)))
            elif name in self.undetermined:
                rows.append(ParameterRow(name, np.nan, *ends[name], determined=False))
            else:
                median = self.quoted[name] if self.quoted[name] != value else np.nan
                rows.append(ParameterRow(name, value, *ends[name], stderr=errors[name], median=median))
        return rows

    def notebook_table(self) -> pd.DataFrame:
        """One row a free parameter; no value where the runs determine none."""
        return fits.table(self._rows)

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
        yield from (row.remark for row in self._rows)
        if self.average:
            yield Reason("forms_averaged", weights=weighed(self.weights))
        if self.method == "profile" and self._profiled.dof < 1:
            yield Reason("intervals_none", why=self._few_runs())
        else:
            yield Reason(f"intervals_{self.method}")

    @property
    def _cautions(self) -> Iterator[Reason]:
        if caution := _caution(self.bend):
            yield Reason("lack_of_fit", why=caution)
        if self.sharing > 1 - SIGNIFICANT:
            yield Reason("sizes_share_errors", chance=self.sharing)


def _inner(values: Any, log: bool) -> Any:
    """ln values for a fit in logarithms, −infinity at 0 and below; else the values."""
    if not log:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(np.maximum(values, 0.0))


def _caution(bend: Bend) -> Reason | None:
    """The caution that residuals bend with size; None without a significant bend."""
    return Reason("residuals_bend", p=bend.pvalue) if bend.seen else None


def _closed(parameter: Parameter, low: float, high: float) -> tuple[bool, bool]:
    """Which ends the runs determine: one at a bound was stopped by it; a natural zero may be an end."""
    margin = 1e-6 * (parameter.high - parameter.low) if np.isfinite(parameter.high - parameter.low) else 0.0
    natural = parameter.low == 0 and not np.isfinite(parameter.high) and not parameter.log
    above = np.isfinite(low) and (low > parameter.low + margin or natural)
    return bool(above), bool(high < parameter.high - margin)


def profiled(law: Solution) -> Solution:
    """The solution whose profiles are the intervals of few runs.

    Squares or Huber's function with a threshold above the scatter: a fit of absolute values (a smaller
    threshold) has no scale to judge a profile by when it passes through five of nine points. Several points
    of a run are not independent: the scale grows by what their residuals have in common, and runs, not
    points, count as degrees of freedom.
    """
    if law.delta < law.residual_std:
        law = fit_points(law.form, law.points, log=law.log)
    if not law.points.blocked:
        return law
    dof = len(np.unique(law.points.runs)) - len(law.form.parameters)
    return replace(law, scale=law.scale * _design_effect(law), dof=min(law.dof, dof))


def _design_effect(law: Solution) -> float:
    """How much more the residuals of runs vary than those of as many independent points; at least 1."""
    r = np.clip(law.problem.residuals(law.coordinates[None])[0, : len(law.points.y)], -law.delta, law.delta)
    _, which = np.unique(law.points.runs, return_inverse=True)
    return float(max(np.sum(np.bincount(which, r) ** 2) / max(np.sum(r**2), 1e-300), 1.0))


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
        given = dict(zip((*NAMES, "loss"), data, strict=False))
        first = given.get("n_params", n_params), given.get("n_data", n_data)
        sizes = _by_name(chosen, {**(variables or {}), **given_sizes}, first)
        loss = given.get("loss", loss)
        if loss is None:
            raise BadInput("loss= is missing: what was measured at every point")
        table = points_from((sizes, loss), None, None, runs=runs, **rows)
    options = {"starts": 8, **options}
    table = replace(table, x=tuple(table.x))
    if search.is_open(chosen):
        rows_of = np.array([np.asarray(values, float) for values in table.x])
        tried = (chosen := search.found_form(chosen.variables, rows_of, np.asarray(table.y, float)),)

    def threshold(tried: Form) -> float | None:
        return _threshold(delta, tried, table.y, table.runs)

    def fitted(tried: Form) -> Law:
        kept = {name: options[name] for name in ("loss", "starts") if name in options}
        return refit(law, tried, delta=threshold(tried), **kept)

    law = fit_form(chosen, table, delta=threshold(chosen), bounds=bounds, **options)
    if chosen.variables == NAMES:
        measured = table.measured if table.names else "loss"
        points.refuse_rising(np.prod(law.points.x, axis=0), law.points.y, ("compute", measured))
    if not (law.form.fixed or law.form.tied or law.form.zeros):
        two_dimensional(law.points.x, chosen.variables)
    # bounds, priors and ties are of the parameters of one form
    alone = bounds or options.get("priors") or options.get("tie")
    found = _averaged(law, () if alone else tried[1:], fitted, seed)
    others = _without_outlier(found, table)
    if others is None:
        return found
    return fit(others, x=chosen.variables, form=form, delta=delta, bounds=bounds, seed=seed, **options)


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
        return Surface(law, seed)
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
    if not weights or set(weights) == {law.form.name}:
        return Surface(law, seed)
    average = []
    for name, weight in weights.items():
        # the parameters of the first form are quoted; of the others a rough quantile moves the average less
        draws = DRAWS if name == law.form.name else max(FEWEST_DRAWS, round(DRAWS * weight))
        average.append((weight, Surface(laws[name], seed, draws=draws)))
    return Surface(law, seed, tuple(average))


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


def _by_name(form: Form, named: Mapping[str, Any], first: tuple[Any, Any]) -> tuple[Any, ...]:
    """The form's variables in order: by name, the first two also by place."""
    given = {"n_params": first[0], "n_data": first[1], **named}
    if wrong := [n for n in named if n not in form.variables]:
        raise BadInput(f"{form.name} has no variable {wrong[0]!r}; {nearest(wrong[0], form.variables)}")
    found = []
    for place, name in enumerate(form.variables):
        value = given.get(name)
        if value is None and place < 2:
            value = first[place]
        if value is None:
            raise BadInput(
                f"{form.name} is a surface over {', '.join(form.variables)}: give {name}= (on the command "
                f"line --var {name}=COLUMN)"
            )
        found.append(value)
    return tuple(found)


__all__ = ["FLOPS_PER_PARAM_EXAMPLE", "Optimal", "Surface", "fit", "surfaces"]
