"""A surface of one form: its parameters, intervals of the loss, and the best use of compute.

Intervals come from profile likelihood with Student's quantile below `MANY` runs a parameter and from a
bootstrap over runs from there on. On small designs resampling loses whole sizes, and wild residuals of a fit
that nearly interpolates are far too small; the profile holds there, also where a parameter is at its bound
or barely determined (`benchmarks/coverage.py`). All intervals allow for errors that runs of one n_params
share (`shared_errors`). Intervals of the loss and of the optimum allow for what the form may miss
(`form_error`); those of the parameters assume it. What the runs do not determine raises `NotDetermined`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.fitting.bend import Bend, of_surface
from scalinglab.laws.fitting.data.points import MANY, shaped
from scalinglab.laws.fitting.fit import fit_points
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.fitting.solution import Solution, closed, in_order, open_ended, sizes_of
from scalinglab.laws.fitting.statistics import WIDE
from scalinglab.laws.fitting.uncertainty import intervals as interval_engine
from scalinglab.laws.fitting.uncertainty import shared_errors
from scalinglab.laws.fitting.uncertainty.form_error import FormError
from scalinglab.laws.fitting.uncertainty.intervals import Quantity
from scalinglab.laws.fitting.uncertainty.profile import Bootstrap, bootstrap
from scalinglab.laws.fitting.uncertainty.shared_errors import SharedErrors
from scalinglab.laws.optimum import FARTHEST, REACH, Optimal, best_split, rises_with, too_far, why_no_optimum
from scalinglab.results import fits
from scalinglab.results.distributions import OPEN, UNKNOWN, Interval, reach
from scalinglab.results.fits import ParameterRow
from scalinglab.results.sentences import Column
from scalinglab.results.types import Reason
from scalinglab.support.work import one_thread

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 400  # convention: resampled sets of runs
# convention: of the width of an interval; a fitted value farther from the median is not the one to quote
ASIDE = 0.1


@dataclass(frozen=True)
class OneForm:
    """A fitted surface of one form.

    Attributes:
        law: the fit.
        seed: of the resampling behind the intervals.
        draws: how many resampled sets of runs the intervals of many runs come from.
    """

    law: Law
    seed: int = 0
    draws: int = DRAWS

    @property
    def parameters(self) -> dict[str, float]:
        """The fitted values by name."""
        return self.law.parameters

    @property
    def objective(self) -> float:
        """Σ w ρ(r) at the optimum."""
        return self.law.objective

    # --- how sure it is --------------------------------------------------------------------------

    @cached_property
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

    @cached_property
    def form_error(self) -> FormError:
        """What the form may miss, by how the residuals move together."""
        with one_thread():
            return FormError(self.law, self._shared)

    @cached_property
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
        """The interval of the loss at sizes by name, as in `Surface.interval`."""
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
        """The median of the loss at sizes by name, with what the form may miss."""
        x = sizes_of(self.law.form, in_order(self.law.form, at, sizes))
        quantity = interval_engine.law_at(self.law, x.reshape(len(x), -1))
        found = self._middle(quantity, None if assume_form else self.form_error)
        return shaped(found, x.shape[1:])

    def _middle(self, quantity: Quantity, form_error: FormError | None) -> np.ndarray:
        """(count,) the medians of numbers whose intervals are `_ends`."""
        law, way = self._way
        return interval_engine.median(law, quantity, **way, shared=self._shared, form_error=form_error)

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

    @cached_property
    def _bootstrap(self) -> Bootstrap:
        """Refits on resampled runs."""
        with one_thread():
            return bootstrap(self.law, draws=self.draws, seed=self.seed)

    @cached_property
    def _profiled(self) -> Solution:
        return profiled(self.law)

    def parameter_intervals(self, level: float = 0.95) -> dict[str, Interval]:
        """The interval of every free parameter; an infinite end is not determined by the runs."""
        found = self._intervals.get(level) or self._parameter_intervals(level)
        return dict(self._intervals.setdefault(level, found))

    @cached_property
    def _intervals(self) -> dict[float, dict[str, Interval]]:
        return {}

    def _parameter_intervals(self, level: float) -> dict[str, Interval]:
        parameters = self.law.form.parameters
        if self.no_freedom:
            return dict.fromkeys((p.name for p in parameters), OPEN)
        quantity, bounds = interval_engine.parameters_of(self.law), interval_engine.bounds_of(self.law)
        alone = self._ends(quantity, level)
        shared = self._ends(quantity, level, shared=self._shared, bounds=bounds)
        # whether an end is open is for the runs to say; what they share moves those that are closed
        found = {}
        for p, by_runs, ends in zip(parameters, alone.each(), shared.each(), strict=False):
            found[p.name] = ends.where(closed(p, by_runs), OPEN)
        return found

    @cached_property
    def quoted(self) -> dict[str, float]:
        """The number to quote of every free parameter: the fitted value, or the median where that is another.

        Where runs of one size share errors, the fitted value may stand at an end of its interval.
        """
        found = {name: self.parameters[name] for name in self.law.form.names}
        if self.no_freedom:
            return found
        middle = self._middle(interval_engine.parameters_of(self.law), None)
        ends = self.parameter_intervals()
        for p, median in zip(self.law.form.parameters, middle, strict=False):
            fitted, median, low, high = found[p.name], float(np.clip(median, *ends[p.name])), *ends[p.name]
            away, width = np.abs(np.diff(inner_values(np.array([fitted, median, low, high]), p.log)))[::2]
            found[p.name] = median if away > ASIDE * width else fitted
        return found

    @cached_property
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
        self, compute: Any, *, flops_per_param_example: float = FLOPS_PER_PARAM_EXAMPLE,
        level: float = 0.95, intervals: bool = True, assume_form: bool = False,
    ) -> Optimal:  # fmt: skip
        """The best use of compute, as in `Surface.compute_optimal`."""
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
        self.require_exponents()
        alpha, beta = names.index("alpha"), names.index("beta")

        def quantity(parameters: np.ndarray, _: np.ndarray) -> np.ndarray:
            return np.asarray(parameters[:, beta] / (parameters[:, alpha] + parameters[:, beta]))

        value = float(quantity(self.law.values[None], np.zeros(1))[0])
        if why := self.no_freedom:
            raise NotDetermined(why)
        (ends,) = self._ends(Quantity(quantity, np.zeros(1, bool)), level, shared=self._shared).each()
        return value, ends

    @property
    def no_freedom(self) -> Reason | None:
        """Why the runs are too few for any interval; None where they are not."""
        if self.method == "bootstrap" or self._profiled.dof >= 1:
            return None
        runs, parameters = len(np.unique(self.law.points.runs)), len(self.law.form.parameters)
        return Reason("no_freedom", runs=runs, parameters=parameters)

    def require_exponents(self) -> None:
        """Refuse an optimum that rests on an exponent that the runs leave open."""
        exponents = [p.name for p in self.law.form.parameters if np.isfinite(p.high) and not p.log]
        if lost := [name for name in exponents if name in self.undetermined]:
            raise NotDetermined(why_no_optimum(self.law, lost))

    def _optimum_ends(
        self, best: np.ndarray, form_error: FormError | None, level: float
    ) -> tuple[list[Interval], np.ndarray]:
        """Intervals and middles (3, computes) of n_params, n_data and loss at the optimum, `best`."""
        if why := self.no_freedom:
            raise NotDetermined(why)
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
    def rows(self) -> list[ParameterRow]:
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
        return fits.table(self.rows)


def inner_values(values: Any, log: bool) -> Any:
    """ln values for a fit in logarithms, −infinity at 0 and below; else the values."""
    if not log:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(np.maximum(values, 0.0))


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
