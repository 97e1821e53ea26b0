"""Every interval of a law: what is known of any quantity that follows from the parameters, `OfLaw`.

A `Quantity` says how numbers follow from parameters: the law at some sizes, a ratio, a parameter, the size of
the best model. Its interval is made in up to five steps:

1. what parameters the points allow: *profile* likelihood (`profile`) where points are independent, refits on
   resampled runs (`resampling`) where runs have several points each, or where runs are many;
2. the scatter of one more run, where a measurement is asked for;
3. errors that runs of one size share (`shared_errors`);
4. what the noise may be (`diagnostics`): noise that depends on size, is correlated along the curve, or hides
   a bend; of curves;
5. what the form may miss (`form_error`), unless the form is taken for true.

That is one of the distributions of `results.distributions`, which makes every printed interval. What rests on
no law of this kind has no profile and no residuals to resample, and is another of them: `extrapolate` from
eight sizes on (backtests, `extrapolation.bands`), mixtures (`mixing`: a Gaussian process, by runs left out),
runs in progress and schedules are Student distributions; best settings (`tuning`) and scores are drawn; an
average over forms is a mixture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws.fitting import least_squares
from scalinglab.laws.fitting.data.points import shaped
from scalinglab.laws.fitting.solution import Solution, sizes_of
from scalinglab.laws.fitting.uncertainty import profile
from scalinglab.laws.fitting.uncertainty.diagnostics import Diagnosis, diagnose
from scalinglab.laws.fitting.uncertainty.form_error import FormError, Places
from scalinglab.laws.fitting.uncertainty.profile import Bootstrap, bootstrap
from scalinglab.laws.fitting.uncertainty.shared_errors import SharedErrors
from scalinglab.results import distributions
from scalinglab.results.distributions import OPEN, Interval, reach


@dataclass(frozen=True)
class Quantity:
    """Numbers that follow from the parameters of a law.

    Attributes:
        value: (parameters (rows, p), which (rows,)) -> (rows,), `which` of the numbers; logarithms by `log`.
        log: (count,) whether `value` gives the logarithm of each.
        places: the same as sums of ln law over sizes, exactly or to first order; None where it is none.
        limits: (2, count) of `value`, beyond which an end was stopped by a bound and not by the points.
        unit: of `value`, of each that is no logarithm.
    """

    value: profile.Quantity
    log: np.ndarray
    places: Places | None = None
    limits: np.ndarray | None = None
    unit: np.ndarray | float = 1.0

    @property
    def count(self) -> int:
        """How many numbers."""
        return len(self.log)

    def at(self, parameters: np.ndarray) -> np.ndarray:
        """(rows, count) all numbers at parameters (rows, p)."""
        rows = np.repeat(parameters, self.count, axis=0)
        found = self.value(rows, np.tile(np.arange(self.count), len(parameters)))
        return np.asarray(found).reshape(len(parameters), self.count)

    def natural(self, values: np.ndarray) -> np.ndarray:
        """Numbers (…, count) from what `value` gives."""
        with np.errstate(over="ignore"):  # an end that is open is infinite
            return np.where(self.log, np.exp(np.where(self.log, values, 0.0)), values * self.unit)

    def inner(self, numbers: np.ndarray) -> np.ndarray:
        """The inverse of `natural`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.log, np.log(np.where(self.log, numbers, 1.0)), numbers / self.unit)

    def opened(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ends of `value`, infinite beyond the limits."""
        if self.limits is None:
            return low, high
        return np.where(low <= self.limits[0], -np.inf, low), np.where(high >= self.limits[1], np.inf, high)


def law_at(law: Solution, x: np.ndarray) -> Quantity:
    """The law at sizes x (variables, n)."""
    if law.log:
        return sum_of_logs(law, Places.values(x))
    value = _quietly(lambda parameters, which: _curves(law, x[:, which, None], parameters)[:, 0])
    return Quantity(value, np.zeros(x.shape[1], bool), Places.values(x))


def sum_of_logs(law: Solution, places: Places) -> Quantity:
    """exp of Σ weight · ln law over places: the law, or the ratio of the law at two sizes."""

    def value(parameters: np.ndarray, which: np.ndarray) -> np.ndarray:
        logs = np.log(_curves(law, places.sizes[:, which], parameters))
        return np.asarray(np.sum(places.weight[which] * logs, axis=1))

    return Quantity(_quietly(value), np.ones(len(places.weight), bool), places)


def _curves(law: Solution, x: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """(rows, m) the law at sizes x (variables, rows, m) with parameters (rows, p)."""
    columns = (parameters[:, j, None] for j in range(parameters.shape[1]))
    found = law.form.function(x if len(x) > 1 else x[0], *columns)
    return np.broadcast_to(found, x.shape[1:])


def _quietly(value: profile.Quantity) -> profile.Quantity:
    """A form may leave its range on the way; NaN and infinity are then what they are."""

    def quiet(parameters: np.ndarray, which: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return value(parameters, which)

    return quiet


def parameters_of(law: Solution) -> Quantity:
    """The free parameters, in the form's order, and last the exponent, where the form has a free one."""
    names, problem = law.form.names, law.problem
    exponent = law.form.exponent is not None and not isinstance(law.form.exponent, float)
    logs, units = problem.logs, problem.units

    def value(parameters: np.ndarray, which: np.ndarray) -> np.ndarray:
        free = which < len(names)
        column = np.where(free, which, 0)
        found = parameters[np.arange(len(which)), column]
        found = np.where(logs[column], np.log(np.maximum(found, least_squares.TINY)), found / units[column])
        if not free.all():
            named = law.form.expand({n: parameters[~free, j] for j, n in enumerate(names)})
            found[~free] = law.form.get_exponent(named)
        return found

    limits = np.tile([[-np.inf], [np.inf]], len(names) + exponent)
    bounded = {p.name: p for p in law.form.parameters}
    if exponent and (p := bounded.get(str(law.form.exponent))) is not None:
        margin = 1e-6 * (p.high - p.low) if np.isfinite(p.high - p.low) else 0.0
        limits[:, -1] = p.low + margin, p.high - margin
    every = np.r_[logs, np.zeros(int(exponent), bool)]
    return Quantity(value, every, limits=limits, unit=np.r_[units, np.ones(int(exponent))])


def bounds_of(law: Solution) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of `parameters_of`; the exponent has none."""
    form = law.form
    exponent = [(-np.inf, np.inf)] * (form.exponent is not None and not isinstance(form.exponent, float))
    low, high = np.array([*((p.low, p.high) for p in form.parameters), *exponent]).T
    return low, high


@dataclass(frozen=True, kw_only=True)
class OfLaw:
    """What is known of numbers that follow from a fitted law, in units of `quantity.value`.

    Attributes:
        method: "profile" (noise even, points independent), "bootstrap" (over runs), or "auto": the bootstrap
            where runs have several points each, else the profile averaged over what the noise may be.
        drawn: the refits of "bootstrap", where they are kept.
        measured: whether it is one more run at the one place of each number.
        diagnosis: gives that of the law, where it is kept.
        shared: errors that runs of one size share; by default none.
        form_error: what the form may miss; by default nothing.
    """

    law: Solution
    quantity: Quantity
    method: str = "auto"
    drawn: Bootstrap | None = None
    measured: bool = False
    diagnosis: Callable[[], Diagnosis] | None = None
    shared: SharedErrors | None = None
    form_error: FormError | None = None

    def ends(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """The ends, each (count,); infinite where open."""
        law, quantity, places = self.law, self.quantity, self.quantity.places
        centre, judged = quantity.at(law.values[None])[0], None
        if self.drawn is not None:
            values = quantity.natural(quantity.at(self.drawn.values))
            low, high = map(quantity.inner, self.drawn.known(values).ends(level))
        else:
            # a parameter at its bound was not estimated: counted for the law at a size and not for others
            threshold = law.quantile(level) if places is not None else reach(level, law.dof)
            low, high = np.full(quantity.count, -np.inf), np.full(quantity.count, np.inf)
            if np.isfinite(threshold):
                low, high = quantity.opened(*profile.along(law, quantity.value, quantity.count, threshold))
            if self.method == "auto":
                judged = (self.diagnosis() if self.diagnosis is not None else diagnose(law)).noise

        def at(values: np.ndarray) -> np.ndarray:
            return np.asarray(quantity.at(values[None])[0])

        if self.measured:
            noise = law.quantile(level) * law.residual_std
            low, high = centre - np.hypot(centre - low, noise), centre + np.hypot(high - centre, noise)
        if self.shared is not None:
            wider = self.shared.widened(at, centre, (low, high), level, self.measured)
            low, high = quantity.opened(*wider)
        if judged is not None:
            where = None if places is None else (places.sizes[0], places.weight)
            wider = judged.widened(at, centre, (low, high), level, where, self.measured)
            low, high = quantity.opened(*wider)
        if self.form_error is not None and places is not None:
            halves = np.abs([low - centre, high - centre])
            below, above = self.form_error.ends(places, level, halves, self.measured)
            low, high = centre - below, centre + above
        return low, high


def known(law: Solution, quantity: Quantity, method: str = "auto", **options: Any) -> OfLaw:
    """What is known of a quantity; `options` of `OfLaw` and, where refits are not given, of `bootstrap`."""
    if method not in ("auto", "profile", "bootstrap"):
        raise BadInput(f"method={method!r} must be 'auto', 'profile' or 'bootstrap'")
    mine = {name: options.pop(name) for name in OfLaw.__dataclass_fields__ if name in options}
    resampled = method == "bootstrap" or (method == "auto" and law.points.resampled)
    if mine.get("drawn") is None and resampled:
        mine["drawn"] = bootstrap(law, **options)
    return OfLaw(law=law, quantity=quantity, method=method, **mine)


def interval(
    law: Solution,
    quantity: Quantity,
    level: float = 0.95,
    method: str = "auto",
    *,
    bounds: tuple[Any, Any] | None = None,
    **options: Any,
) -> Interval:
    """The interval of every number, its ends (count,) each; `options` of `known`."""
    found = known(law, quantity, method, **options)
    return distributions.interval(found, level, natural=quantity.natural, bounds=bounds)


def median(
    law: Solution,
    quantity: Quantity,
    method: str = "auto",
    *,
    drawn: Bootstrap | None = None,
    shared: SharedErrors | None = None,
    form_error: FormError | None = None,
) -> np.ndarray:
    """(count,) the middle of the interval of every number, with the same options.

    The fitted number is what the form gives. Where the residuals show an error of the form, or one that runs
    of a size share, the numbers that are likely lie to one side of it; half of them lie below the median.
    """
    if form_error is not None and form_error.shows and quantity.places is not None:
        # which counts shared errors beside those of the form
        above = form_error.quantiles(quantity.places, (0.5,))[0]
        return quantity.natural(quantity.at(law.values[None])[0] + above)
    middle = np.median(quantity.at(law.values[None] if drawn is None else drawn.values), axis=0)
    if shared is not None and shared.shows:
        halves = [  # the ends of either half of what is likely, without and with shared errors
            [quantity.inner(e) for e in interval(law, quantity, 0.5, method, drawn=drawn, shared=errors)]
            for errors in (None, shared)
        ]
        ends = np.array(halves)  # (2, 2, count)
        known = np.isfinite(ends).all(axis=(0, 1))  # of an interval without ends there is no middle
        alone, together = np.where(known, ends, 0.0).mean(axis=1)
        middle = middle + together - alone
    return quantity.natural(middle)


def of_law(
    law: Solution, x: Any, level: float = 0.95, method: str = "auto", of: str = "law", **options: Any
) -> Interval:
    """The interval of the law, or of one more measurement, at x; `options` of `interval`."""
    if of not in ("law", "measurement"):
        raise BadInput(f"of={of!r} must be 'law' or 'measurement'")
    inputs = sizes_of(law.form, x)
    quantity = law_at(law, inputs.reshape(len(inputs), -1))
    ends = interval(law, quantity, level, method, measured=of == "measurement", **options)
    return ends.through(lambda end: shaped(end, inputs.shape[1:]))


def of_parameters(
    law: Solution,
    level: float = 0.95,
    method: str = "auto",
    *,
    diagnosis: Callable[[], Diagnosis] | None = None,
) -> dict[str, Interval]:
    """Intervals of every free parameter, and of `exponent`; an infinite end is not determined.

    A parameter's end at its bound is reported as the bound; the exponent's end there is infinite, since
    the bound and not the data stopped it. An exponent that is fixed is its own interval.
    """
    names, exponent = law.form.names, law.form.exponent
    fixed = {"exponent": Interval(exponent, exponent)} if isinstance(exponent, float) else {}
    if law.dof < 1:
        return dict.fromkeys((*names, "exponent"), OPEN) | fixed
    quantity = parameters_of(law)
    resampled = method == "auto" and law.points.resampled
    way: dict[str, Any] = {"method": "profile" if resampled else method, "diagnosis": diagnosis}
    found = interval(law, quantity, level, **way, bounds=bounds_of(law))
    if resampled:  # what the profile leaves open, resampled points cannot close
        closed = np.isfinite(found).all(axis=0)
        found = interval(law, quantity, level).where(closed, found)
    return dict(zip((*names, "exponent"), found.each(), strict=False)) | fixed
