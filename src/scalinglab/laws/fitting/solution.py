"""Solution: a form with fitted parameters, without how sure they are.

Intervals, tests of residuals and plans are made from it; a `Law` is what a user reads of it, with intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.errors import BadInput, nearest
from scalinglab.laws.fitting import least_squares
from scalinglab.laws.fitting.data.points import Points, by_name
from scalinglab.laws.fitting.statistics import robust_scale
from scalinglab.laws.forms.base import Form, Parameter
from scalinglab.results.distributions import Interval, reach
from scalinglab.results.types import Reason

ROUNDING = 1e-9  # guard: residuals of ln y; below it the last digits of a fit decide, not the data
LEAST_VARIANCE = ROUNDING**2  # guard: likewise
# guard: condition number of the scaled Jacobian beyond which some combination is not determined
ILL_CONDITIONED = 1e6


def open_ended(intervals: Mapping[str, Interval]) -> tuple[str, ...]:
    """The parameters whose interval is open: their fitted values mean nothing."""
    return tuple(name for name, ends in intervals.items() if not np.isfinite(ends).all())


def closed(parameter: Parameter, ends: Interval) -> tuple[bool, bool]:
    """Which ends the points determine: one at a bound was stopped by it; a natural zero may be an end."""
    margin = 1e-6 * (parameter.high - parameter.low) if np.isfinite(parameter.high - parameter.low) else 0.0
    natural = parameter.low == 0 and not np.isfinite(parameter.high) and not parameter.log
    above = np.isfinite(ends.low) and (ends.low > parameter.low + margin or natural)
    return bool(above), bool(ends.high < parameter.high - margin)


@dataclass(frozen=True)
class Certificate:
    """Evidence that the fit found the global optimum and that the points determine the parameters.

    Attributes:
        objective: Σ w ρ(r) at the optimum.
        starts: how many starts were followed to a minimum.
        agree: the share of them that reached the same objective (to one part in a million).
        converged: whether the best one converged.
        condition: condition number of the scaled Jacobian; see `ILL_CONDITIONED`.
        at_bound: parameters that ended at a bound.
    """

    objective: float
    starts: int
    agree: float
    converged: bool
    condition: float
    at_bound: tuple[str, ...]

    @property
    def doubtful(self) -> bool:
        """Whether the search did not end, one start alone found the optimum, or the points leave it open."""
        alone = self.starts > 1 and self.agree * self.starts < 1.5
        return alone or not self.converged or self.condition > ILL_CONDITIONED

    @property
    def remarks(self) -> Iterator[Reason]:
        """What a summary says of it where it is doubtful, and which parameters ended at a bound."""
        if self.doubtful:
            yield Reason(
                "convergence", agree=self.agree, starts=self.starts, condition=self.condition,
                lost=Reason("ill_conditioned") if self.condition > ILL_CONDITIONED else "",
                stopped="" if self.converged else Reason("not_converged"),
            )  # fmt: skip
        if self.at_bound:
            yield Reason("at_a_bound", parameters=self.at_bound)


@dataclass(frozen=True, repr=False)
class Solution:
    """A form with fitted parameters.

    Attributes:
        form: the family of curves.
        parameters: the fitted values by name.
        points: what was fitted.
        certificate: evidence that the optimum was found.
        log: whether residuals are of logarithms.
        delta: Huber's threshold; infinity for squares.
        scale: what 2ρ is to be divided by: the variance of one residual where the loss is squared.
        dof: points minus parameters, those with a prior not counted.
        noise: what the priors were weighed against, 0 where there are none.
    """

    form: Form
    parameters: dict[str, float]
    points: Points
    certificate: Certificate
    log: bool
    delta: float
    scale: float
    dof: int
    noise: float = 0.0

    def at(self, x: Any) -> Any:
        """The law at x (an array, or a tuple of arrays for a surface)."""
        check_sizes(x, self.form)
        return _at(self.form, x, self.values)

    @property
    def values(self) -> np.ndarray:
        """The free parameters in the form's order."""
        return np.array([self.parameters[n] for n in self.form.names])

    @property
    def objective(self) -> float:
        """Σ w ρ(r) at the optimum."""
        return self.certificate.objective

    @property
    def residuals(self) -> np.ndarray:
        """Measured minus law, of logarithms where the fit is in logs; not weighted."""
        law = self.at(self.points.x)
        return np.log(self.points.y / law) if self.log else self.points.y - law

    @property
    def residual_std(self) -> float:
        """The standard deviation of one (weighted) residual; robust where the loss is."""
        r = self.problem.residuals(self.coordinates[None])[0, : len(self.points.y)]
        if np.isfinite(self.delta):
            return robust_scale(r, len(self.form.parameters))
        return float(np.sqrt(np.sum(r**2) / self.dof)) if self.dof > 0 else float("nan")

    @property
    def rms_residual(self) -> float:
        """The standard deviation of the residuals around the fit, outliers included."""
        return float(np.sqrt(np.sum(self.residuals**2) / max(self.dof, 1)))

    @property
    def variance(self) -> float:
        """What the inverse of JᵀJ is multiplied by in the parameters' covariance: E ψ²/(E ψ')²."""
        r = self.problem.residuals(self.coordinates[None])[0, : len(self.points.y)]
        inside = float(np.average(np.abs(r) <= self.delta, weights=self.problem.count[0]))
        return self.scale / max(inside, 1 / len(r))

    @property
    def at_bound(self) -> np.ndarray:
        """(parameters,) which of them ended at a bound."""
        return np.isin(self.form.names, self.certificate.at_bound)

    def quantile(self, level: float) -> float:
        """Student's two-sided quantile for the law at a size, in units of √`scale`.

        In a law of one variable a parameter at its bound was not estimated, and does not count: the variance
        of the residuals then has so many degrees of freedom more, and is smaller by their ratio.
        """
        at_bound = int(self.at_bound.sum())
        if self.dof < 1 or not at_bound or len(self.form.variables) > 1:
            return reach(level, self.dof)
        return reach(level, self.dof + at_bound) * float(np.sqrt(self.dof / (self.dof + at_bound)))

    @property
    def unit(self) -> float:
        """What residuals are measured against: 1 for logarithms, a typical y for raw values."""
        return self.problem.unit

    @property
    def problem(self) -> least_squares.Problem:
        """The problem that was solved."""
        return problem_of(self.form, self.points, self.log, self.delta, self.noise)

    @property
    def coordinates(self) -> np.ndarray:
        """The optimum in the coordinates in which the fit steps."""
        return self.problem.to_coordinates(self.values)


def problem_of(
    form: Form, data: Points, log: bool, delta: float, noise: float = 0.0
) -> least_squares.Problem:
    """The fitting problem of one data set."""
    weight = np.ones_like(data.y)
    if data.error is not None:
        relative = data.error / data.y if log else data.error
        # relative to a typical error, so that residuals keep their unit
        weight = np.exp(np.mean(np.log(relative))) / relative
    return least_squares.Problem(
        form, data.x, data.y[None], weight[None], data.weight[None], log, delta, noise=noise
    )


def _at(form: Form, x: Any, values: np.ndarray) -> Any:
    """The form at x for parameters (…, p); x may be a pair for a surface."""
    if len(form.variables) > 1:
        x = np.array(np.broadcast_arrays(*(np.asarray(v, float) for v in x)))
    else:
        x = np.asarray(x, float)
    found = form.function(x, *np.asarray(values, float))
    return float(found) if np.ndim(found) == 0 else np.asarray(found)


def in_order(form: Form, given: Any, named: Mapping[str, Any]) -> Any:
    """Sizes in the order in which the form takes them, from `points.by_name`.

    >>> from scalinglab.laws import forms
    >>> in_order(forms.get("chinchilla"), None, {"n_data": 2e10, "n_params": 1e9})
    (1000000000.0, 20000000000.0)
    """
    names = form.variables
    sizes = by_name(given, named, names)
    if lost := [name for name in names if name not in sizes]:
        raise BadInput(f"{form.name} is a law of {', '.join(names)}: give {lost[0]}=")
    if wrong := [name for name in named if name not in names]:
        raise BadInput(f"{form.name} has no {wrong[0]!r}; {nearest(wrong[0], names)}")
    return tuple(sizes[name] for name in names) if len(names) > 1 else sizes[names[0]]


def sizes_of(form: Form, x: Any) -> np.ndarray:
    """x, checked, as (variables, …)."""
    check_sizes(x, form)
    parts = x if len(form.variables) > 1 else [x]
    return np.array(np.broadcast_arrays(*(np.asarray(v, float) for v in parts)))


def check_sizes(x: Any, form: Form | None = None) -> None:
    """Sizes are positive, or 0 where the form allows it; at others a law would answer NaN or infinity."""
    several = form is not None and len(form.variables) > 1
    parts = x if several or isinstance(x, (tuple, list)) else [x]
    names = form.variables if form is not None and len(form.variables) == len(parts) else ("x",) * len(parts)
    for name, values in zip(names, parts, strict=True):
        flat = np.ravel(np.asarray(values, float))
        wrong = flat[flat < 0] if form is not None and name in form.zeros else flat[flat <= 0]
        if len(wrong):
            raise BadInput(f"{name}={wrong[0]:g} must be positive: it is a size")
