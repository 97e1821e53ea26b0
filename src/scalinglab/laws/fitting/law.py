"""A law: a fitted form with what was fitted and how sure the fit is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from scalinglab.deprecation import renamed_attribute, renamed_fields
from scalinglab.errors import BadInput
from scalinglab.laws.fitting import least_squares
from scalinglab.laws.fitting.points import Points
from scalinglab.laws.forms.base import Form


class Interval(NamedTuple):
    """The two ends of an interval."""

    low: Any
    high: Any


@dataclass(frozen=True)
class Certificate:
    """How sure a fit is that it found the optimum.

    Attributes:
        objective: Σ w ρ(r) at the optimum.
        starts: how many starts were followed to a minimum.
        agree: the share of them that reached the same objective (to one part in a million).
        converged: whether the best one came to rest.
        condition: condition number of the scaled Jacobian; beyond 1e6 some combination is not determined.
        at_bound: parameters that ended at a bound.
    """

    objective: float
    starts: int
    agree: float
    converged: bool
    condition: float
    at_bound: tuple[str, ...]

    def summary(self) -> str:
        """In a line: how many starts agree, how well the parameters are told apart."""
        told = f"{self.agree:.0%} of {self.starts} starts agree; condition {self.condition:.2g}"
        return told + ("" if self.converged else "; NOT at rest")


@renamed_fields(freedom="dof")
@dataclass(frozen=True, repr=False)
class Law:
    """A fitted form with its uncertainty; made by `fit`.

    Attributes:
        form: the family of curves.
        parameters: the fitted values by name.
        points: what was fitted.
        certificate: how sure the fit is of its optimum.
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

    wave = renamed_attribute("wave", "lack_of_fit_pvalue")
    scatter = renamed_attribute("scatter", "residual_std")

    # --- what it says ----------------------------------------------------------------------------

    def predict(self, x: Any) -> Any:
        """The law at x (an array, or a pair of arrays for a surface)."""
        check_sizes(x, self.form)
        return _at(self.form, x, self.values)

    @property
    def values(self) -> np.ndarray:
        """The free parameters in the form's order."""
        return np.array([self.parameters[n] for n in self.form.names])

    @property
    def exponent(self) -> float:
        """The exponent; NaN where the data do not identify one (`summary` says why)."""
        return float("nan") if self.unidentified else self.best_exponent

    @property
    def best_exponent(self) -> float:
        """The exponent at the optimum, identified or not; NaN where the form has none."""
        found = self.form.get_exponent(self.parameters)
        return float("nan") if found is None else float(found)

    @property
    def derived(self) -> dict[str, float]:
        """What follows from the parameters, such as the thresholds of `damico`."""
        return dict(self.form.derived(self.parameters)) if self.form.derived else {}

    @property
    def objective(self) -> float:
        """Σ w ρ(r) at the optimum."""
        return self.certificate.objective

    @property
    def residuals(self) -> np.ndarray:
        """Measured minus law, of logarithms where the fit is in logs; not weighted."""
        law = self.predict(self.points.x)
        return np.log(self.points.y / law) if self.log else self.points.y - law

    @property
    def residual_std(self) -> float:
        """The standard deviation of one (weighted) residual; robust where the loss is."""
        r = self.problem.residuals(self.coordinates[None])[0, : len(self.points.y)]
        if np.isfinite(self.delta):
            return robust_scale(r, len(self.form.parameters))
        return float(np.sqrt(np.sum(r**2) / self.dof)) if self.dof > 0 else float("nan")

    @property
    def variance(self) -> float:
        """What the inverse of JᵀJ is multiplied by in the parameters' covariance: E ψ²/(E ψ')²."""
        r = self.problem.residuals(self.coordinates[None])[0, : len(self.points.y)]
        inside = float(np.average(np.abs(r) <= self.delta, weights=self.problem.count[0]))
        return self.scale / max(inside, 1 / len(r))

    @property
    def unit(self) -> float:
        """What residuals are measured against: 1 for logarithms, a typical y for raw values."""
        return self.problem.unit

    @property
    def lack_of_fit_pvalue(self) -> float:
        """How likely random residuals would move together, from size to size, as much as these do.

        Small where the form does not follow the data, and then intervals that trust the form are too narrow.
        Where sizes are repeated it is the F test of the sizes' mean residuals against the scatter at one
        size, else von Neumann's ratio of neighbours with its Gaussian approximation; neither depends on the
        order of the rows. NaN for surfaces, too few points, and residuals that are nothing but rounding.
        """
        r = self.residuals
        rounding = 1e-13 * (1 if self.log else np.max(np.abs(self.points.y)))
        if self.points.x.ndim > 1 or np.max(np.abs(r)) < rounding:
            return float("nan")
        _, which, counts = np.unique(self.points.x, return_inverse=True, return_counts=True)
        means, n = np.bincount(which, r) / counts, len(counts)
        within = float(np.sum((r - means[which]) ** 2))
        repeats, spare = len(r) - n, n - len(self.form.parameters)
        if repeats >= 3 and spare >= 1 and within > len(r) * rounding**2:
            ratio = float(np.sum(counts * means**2)) / spare / (within / repeats)
            return float(stats.f.sf(ratio, spare, repeats))
        if n < 8:
            return float("nan")
        means = means * np.sqrt(counts)
        ratio = float(np.sum(np.diff(means) ** 2) / np.sum((means - means.mean()) ** 2))
        return float(stats.norm.sf((1 - ratio / 2) * np.sqrt((n**2 - 1) / (n - 2))))

    # --- how sure it is --------------------------------------------------------------------------

    def interval(
        self, x: Any, level: float = 0.95, method: str = "auto", of: str = "law", **options: Any
    ) -> Interval:
        """The interval of the law at x.

        Args:
            level: of confidence.
            method: "profile" (likelihood, points independent), "bootstrap" (over runs), or "auto": the
                bootstrap where runs have several points each, the profile otherwise.
            of: "law" (where the curve is) or "measurement" (where one more point would fall).
        """
        from scalinglab.laws.fitting import uncertainty

        return uncertainty.interval(self, x, level, method, of, **options)

    @cached_property
    def parameter_intervals(self) -> dict[str, Interval]:
        """95 % profile interval of every parameter and of `exponent`; infinite ends are not determined."""
        from scalinglab.laws.fitting import uncertainty

        return uncertainty.parameter_profile(self)

    @cached_property
    def identified(self) -> dict[str, bool]:
        """For every free parameter whether the data, and not its bounds, close its 95 % interval.

        A natural zero (of an offset, say) may be an end; the two ends of a scale may not be open.
        """
        found = {}
        for p in self.form.parameters:
            low, high = self.parameter_intervals[p.name]
            open_low = not np.isfinite(low) or (low <= p.low and (p.log or p.low != 0))
            found[p.name] = not (open_low or not np.isfinite(high) or high >= p.high)
        return found

    @cached_property
    def unidentified(self) -> str:
        """Why the data do not identify the exponent; empty where they do."""
        if self.form.exponent is None:
            return f"{self.form.name} has no exponent"
        if isinstance(self.form.exponent, float):
            return ""  # it was not asked for
        if self.dof < 1:
            count = len(self.form.parameters)
            return f"{len(self.points.y)} points for {count} parameters: nothing is left to judge it by"
        low, high = self.parameter_intervals["exponent"]
        if np.isfinite(low) and np.isfinite(high):
            return ""
        ends = (
            f"from {low:.3g}"
            if np.isfinite(low)
            else f"up to {high:.3g}"
            if np.isfinite(high)
            else "of any size"
        )
        return f"exponents {ends} fit within the noise; take a simpler form, or points over a wider range"

    def summary(self) -> str:
        """What a person wants to know, in lines."""
        sizes, n = self.points.sizes, len(self.points.y)
        lines = [f"{self.form.name}: y = {self.form.equation}"]
        span = (
            "" if self.points.x.ndim > 1 else f", x = {self.points.x.min():.4g} … {self.points.x.max():.4g}"
        )
        lines.append(f"  {n} points at {sizes} sizes{span}")
        for name, value in self.parameters.items():
            if name in self.form.held or name in self.form.tied:
                why = "held" if name in self.form.held else f"tied to {self.form.tied[name]}"
                lines.append(f"  {name:<14} {value:<12.6g} {why}")
            else:
                ends = _ends(self.parameter_intervals[name])
                doubt = "" if self.identified[name] else "  not identified"
                lines.append(f"  {name:<14} {value:<12.6g} 95 % {ends}{doubt}")
        if callable(self.form.exponent):
            ends = _ends(self.parameter_intervals["exponent"])
            lines.append(f"  {'exponent':<14} {self.best_exponent:<12.6g} 95 % {ends}")
        for name, value in self.derived.items():
            if name not in self.parameters:
                lines.append(f"  {name:<14} {value:.6g}")
        unit = "of ln y" if self.log else "of y"
        dof = f"{self.dof} degree{'' if self.dof == 1 else 's'} of freedom"
        lines.append(f"  residual std   {self.residual_std:.3g} {unit} with {dof}")
        c = self.certificate
        lines.append(f"  objective      {c.objective:.6g}")
        lines.append(f"  certificate    {c.summary()}")
        if c.at_bound:
            lines.append(f"  at a bound     {', '.join(c.at_bound)}")
        if self.lack_of_fit_pvalue < 0.02:
            lines.append(
                f"  Lack of fit: residuals are correlated across sizes (p = {self.lack_of_fit_pvalue:.1g}); "
                "intervals that assume this form are too narrow"
            )
        if self.form.exponent is not None and self.unidentified:
            lines.append(f"  NOT IDENTIFIED: {self.unidentified}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.points.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "form": self.form.name,
            "equation": self.form.equation,
            "parameters": self.parameters,
            "intervals": {n: list(ends) for n, ends in self.parameter_intervals.items()},
            "exponent": self.exponent,
            "identified": not self.unidentified,
            "identified_parameters": self.identified,
            "problem": self.unidentified,
            "lack_of_fit_pvalue": self.lack_of_fit_pvalue,
            "derived": self.derived,
            "residual_std": self.residual_std,
            "points": len(self.points.y),
            "certificate": vars(self.certificate),
            "notes": list(self.points.notes),
        }

    def __repr__(self) -> str:
        values = ", ".join(f"{n}={v:.6g}" for n, v in self.parameters.items())
        return f"Law({self.form.name}: {values})"

    # --- for the rest of this room ---------------------------------------------------------------

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


def robust_scale(r: np.ndarray, count: int) -> float:
    """1.4826 times the median of |r|, corrected for the parameters that were fitted."""
    size = np.abs(r)
    correction = np.sqrt(len(r) / max(len(r) - count, 1))
    # the median of few residuals is fragile; half the standard deviation keeps it from collapsing
    return float(max(1.4826 * np.median(size), 0.5 * np.sqrt(np.mean(size**2))) * correction)


def _at(form: Form, x: Any, values: np.ndarray) -> Any:
    """The form at x for parameters (…, p); x may be a pair for a surface."""
    if len(form.variables) > 1:
        x = np.array(np.broadcast_arrays(*(np.asarray(v, float) for v in x)))
    else:
        x = np.asarray(x, float)
    found = form.function(x, *np.asarray(values, float))
    return float(found) if np.ndim(found) == 0 else np.asarray(found)


def _ends(interval: Interval) -> str:
    return f"[{interval.low:.4g}, {interval.high:.4g}]"


def check_sizes(x: Any, form: Form | None = None) -> None:
    """Sizes are positive, or 0 where the form allows it; at others a law would answer NaN or infinity."""
    several = form is not None and len(form.variables) > 1
    parts = x if several or isinstance(x, (tuple, list)) else [x]
    names = form.variables if form is not None and len(form.variables) == len(parts) else ("x",) * len(parts)
    for name, values in zip(names, parts, strict=True):
        flat = np.ravel(np.asarray(values, float))
        wrong = flat[flat < 0] if form is not None and name in form.zeros else flat[flat <= 0]
        if len(wrong):
            raise BadInput(f"{name}={wrong[0]:g} must be positive: laws are laws of sizes")


def level_quantile(level: float, dof: int) -> float:
    """Student's two-sided quantile."""
    if not 0 < level < 1:
        raise BadInput(f"level={level!r} must lie between 0 and 1, as in 0.95")
    return float(stats.t.ppf(0.5 + level / 2, dof)) if dof >= 1 else float("inf")
