"""Fit a form to points: `fit(form, x, y) -> Law`.

The fit minimises Σ_i w_i ρ(g(f(x_i; θ)) - g(y_i)), g the logarithm or the identity, ρ Huber's function or the
square (`scalinglab.laws.solve` has the method). With it comes a certificate: the objective reached, the share
of starts that reached it, the conditioning, and whether the data identify each parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from scalinglab.errors import BadInput, NotConverged
from scalinglab.laws import forms, points, solve
from scalinglab.laws.form import Form
from scalinglab.laws.points import Points


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
        freedom: points minus parameters.
    """

    form: Form
    parameters: dict[str, float]
    points: Points
    certificate: Certificate
    log: bool
    delta: float
    scale: float
    freedom: int

    # --- what it says ----------------------------------------------------------------------------

    def predict(self, x: Any) -> Any:
        """The law at x (an array, or a pair of arrays for a surface)."""
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
    def named_exponent(self) -> bool:
        """Whether the exponent is one of the parameters."""
        return isinstance(self.form.exponent, str)

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
    def scatter(self) -> float:
        """The standard deviation of one (weighted) residual; robust where the loss is."""
        r = self.problem.residuals(self.coordinates[None])[0]
        if np.isfinite(self.delta):
            return _robust_scale(r, len(self.form.parameters))
        return float(np.sqrt(np.sum(r**2) / self.freedom)) if self.freedom > 0 else float("nan")

    @property
    def variance(self) -> float:
        """What the inverse of JᵀJ is multiplied by in the parameters' covariance: E ψ²/(E ψ')²."""
        r = self.problem.residuals(self.coordinates[None])[0]
        inside = float(np.average(np.abs(r) <= self.delta, weights=self.problem.count[0]))
        return self.scale / max(inside, 1 / len(r))

    @property
    def wave(self) -> float:
        """How likely random residuals would follow each other as closely as these, from small x to large.

        Von Neumann's ratio with its Gaussian approximation; small where the form does not follow the data,
        and then intervals that trust the form are too narrow. NaN for surfaces and fewer than 8 points.
        """
        r, n = self.residuals, len(self.points.y)
        if n < 8 or self.points.x.ndim > 1 or not np.any(r):
            return float("nan")
        ratio = float(np.sum(np.diff(r) ** 2) / np.sum((r - r.mean()) ** 2))
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
        from scalinglab.laws import uncertainty

        return uncertainty.interval(self, x, level, method, of, **options)

    @cached_property
    def parameter_intervals(self) -> dict[str, Interval]:
        """95 % profile interval of every parameter and of `exponent`; infinite ends are not determined."""
        from scalinglab.laws import uncertainty

        return uncertainty.parameter_profile(self)

    @cached_property
    def unidentified(self) -> str:
        """Why the data do not identify the exponent; empty where they do."""
        if self.form.exponent is None:
            return f"{self.form.name} has no exponent"
        if self.freedom < 1:
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
            if name in self.form.held:
                lines.append(f"  {name:<12} {value:<12.6g} held")
            else:
                lines.append(f"  {name:<12} {value:<12.6g} 95 % {_ends(self.parameter_intervals[name])}")
        if self.form.exponent is not None and not self.named_exponent:
            ends = _ends(self.parameter_intervals["exponent"])
            lines.append(f"  {'exponent':<12} {self.best_exponent:<12.6g} 95 % {ends}")
        for name, value in self.derived.items():
            if name not in self.parameters:
                lines.append(f"  {name:<12} {value:.6g}")
        unit = "of ln y" if self.log else "of y"
        lines.append(f"  scatter      {self.scatter:.3g} {unit} with {self.freedom} degrees of freedom")
        c = self.certificate
        lines.append(
            f"  certificate  objective {c.objective:.6g}; {c.agree:.0%} of {c.starts} starts agree"
            f"; condition {c.condition:.2g}" + ("" if c.converged else "; NOT at rest")
        )
        if c.at_bound:
            lines.append(f"  at a bound   {', '.join(c.at_bound)}")
        if self.wave < 0.02:
            lines.append(
                f"  DOES NOT FOLLOW: residuals move together from size to size (p = {self.wave:.1g}); "
                "intervals that trust this form are too narrow"
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
            "problem": self.unidentified,
            "wave": self.wave,
            "derived": self.derived,
            "scatter": self.scatter,
            "points": len(self.points.y),
            "certificate": vars(self.certificate),
            "notes": list(self.points.notes),
        }

    def __repr__(self) -> str:
        values = ", ".join(f"{n}={v:.6g}" for n, v in self.parameters.items())
        return f"Law({self.form.name}: {values})"

    # --- for the rest of this room ---------------------------------------------------------------

    @property
    def problem(self) -> solve.Problem:
        """The problem that was solved."""
        return problem_of(self.form, self.points, self.log, self.delta)

    @property
    def coordinates(self) -> np.ndarray:
        """The optimum in the coordinates in which the fit steps."""
        return self.problem.to_coordinates(self.values)


def fit(
    form: str | Form,
    x: Any,
    y: Any,
    *,
    error: Any = None,
    weights: Any = None,
    runs: Any = None,
    loss: str = "huber",
    delta: float | None = None,
    space: str = "log",
    bounds: Mapping[str, tuple[float, float]] | None = None,
    starts: int = 8,
    missing: str = "raise",
) -> Law:
    """Fit a form to points.

    Args:
        form: a name ("power_law", "power_law_offset", "m1"…"m4", "broken_power_law_2", …) or a `Form`.
        x: sizes (positive); for a surface a tuple of arrays in the order of `form.variables`.
        y: what was measured.
        error: one standard error of each y; points then count by 1/error².
        weights: how often each point counts: what its ρ(r) is multiplied by.
        runs: the run that each point comes from, for the bootstrap.
        loss: "huber" (outliers count linearly) or "squared".
        delta: Huber's threshold in units of the residual; by default 1.345 standard deviations, found
            from the residuals, which loses 5 % of efficiency on Gaussian noise.
        space: residuals of "log" or "raw" values.
        bounds: (low, high) by parameter name; low = high holds it there.
        starts: how many of the best grid nodes are followed.
        missing: "raise" on points that cannot be used, or "drop" them.

    >>> import numpy as np
    >>> x = np.geomspace(100, 1e5, 12)
    >>> law = fit("power_law_offset", x, 0.05 + 3 * x**-0.4)
    >>> round(law.exponent, 8), round(law.parameters["offset"], 8)
    (0.4, 0.05)
    """
    if loss not in ("huber", "squared"):
        raise BadInput(f"loss={loss!r} must be 'huber' or 'squared'")
    if space not in ("log", "raw"):
        raise BadInput(f"space={space!r} must be 'log' or 'raw'")
    if delta is not None and not delta > 0:
        raise BadInput(f"delta={delta!r} must be positive")
    if starts < 1:
        raise BadInput(f"starts={starts} must be at least 1")
    found = forms.get(form).bounded(bounds or {})
    data = points.check(
        x,
        y,
        names=found.variables,
        error=error,
        weights=weights,
        runs=runs,
        log=space == "log",
        missing=missing,
    )
    _enough(found, data)
    return fit_points(found, data, loss=loss, delta=delta, log=space == "log", starts=starts)


def choose(candidates: Sequence[str | Form], x: Any, y: Any, **options: Any) -> str:
    """The name of the form with the lowest AICc, Akaike's criterion for few points.

    All are fitted with squared errors here, so that their likelihoods compare; forms with too many
    parameters for the points are passed over.
    """
    options = {**options, "loss": "squared", "delta": None}
    scores: dict[str, float] = {}
    problems = []
    for candidate in candidates:
        try:
            law = fit(candidate, x, y, **options)
        except BadInput as error:
            problems.append(error)
            continue
        n, k = len(law.points.y), len(law.form.parameters) + 1
        if n > k + 1:
            best = 2 * max(law.objective, 1e-28)
            scores[law.form.name] = n * np.log(best / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
    if not scores:
        if problems:
            raise problems[0]
        return forms.get(candidates[0]).name
    return min(scores, key=lambda name: scores[name])


def _enough(form: Form, data: Points) -> None:
    if data.sizes < len(form.parameters):
        raise BadInput(
            f"{form.name} has {len(form.parameters)} free parameters and the points have {data.sizes} sizes: "
            "measure more sizes, hold parameters (bounds), or take a form with fewer, such as power_law"
        )


def fit_points(
    form: Form,
    data: Points,
    *,
    loss: str = "huber",
    delta: float | None = None,
    log: bool = True,
    starts: int = 8,
) -> Law:
    """`fit` for points that are already checked."""
    squares = problem_of(form, data, log, np.inf)
    nodes = solve.grid_starts(squares, starts)
    if loss == "huber" and delta is not None:
        problem = replace(squares, delta=float(delta))
        minimum = solve.minimise(problem, nodes)
    else:
        problem = squares
        minimum = solve.minimise(problem, nodes, iterations=40 if loss == "huber" else 200)
        if loss == "huber":
            for _ in range(2):  # the threshold follows the scatter, and the scatter the fit
                best = minimum.z[np.argmin(minimum.objective)][None]
                threshold = 1.345 * _robust_scale(squares.residuals(best)[0], len(form.parameters))
                if not threshold > 1e-9:
                    break
                problem = replace(squares, delta=threshold)
                minimum = solve.minimise(problem, np.concatenate([best, minimum.z[1:]]))
    if not np.any(np.isfinite(minimum.objective)):
        raise NotConverged(f"{form.name} is not finite at any start: check the data's range and the bounds")
    best_index = int(np.argmin(minimum.objective))
    z, objective = minimum.z[best_index], float(minimum.objective[best_index])
    r = problem.residuals(z[None])[0]
    if problem.robust and np.median(np.abs(r)) > problem.delta:
        z, objective = solve.polish(problem, z)
    return _law(problem, data, z, minimum, best_index, objective)


def problem_of(form: Form, data: Points, log: bool, delta: float) -> solve.Problem:
    """The fitting problem of one data set."""
    weight = np.ones_like(data.y)
    if data.error is not None:
        relative = data.error / data.y if log else data.error
        # relative to a typical error, so that residuals keep their unit
        weight = np.exp(np.mean(np.log(relative))) / relative
    return solve.Problem(form, data.x, data.y[None], weight[None], data.weight[None], log, delta)


def _robust_scale(r: np.ndarray, count: int) -> float:
    """1.4826 times the median of |r|, corrected for the parameters that were fitted."""
    size = np.abs(r)
    correction = np.sqrt(len(r) / max(len(r) - count, 1))
    # the median of few residuals is fragile; half the standard deviation keeps it from collapsing
    return float(max(1.4826 * np.median(size), 0.5 * np.sqrt(np.mean(size**2))) * correction)


def _law(
    problem: solve.Problem, data: Points, z: np.ndarray, minimum: solve.Minimum, index: int, objective: float
) -> Law:
    form = problem.form
    values = problem.to_parameters(z)
    reached = minimum.objective <= minimum.objective[index] * (1 + 1e-6) + 1e-20
    low, high = problem.bounds
    held = (z <= low) | (z >= high)
    certificate = Certificate(
        objective=objective,
        starts=len(minimum.objective),
        agree=float(np.mean(reached)),
        converged=bool(minimum.converged[index]),
        condition=_condition(problem.jacobian(z[None])[0][:, ~held] * np.sqrt(problem.count[0])[:, None]),
        at_bound=tuple(n for n, at in zip(form.names, held, strict=True) if at),
    )
    freedom = len(data.y) - len(form.parameters)
    parameters = dict(zip(form.names, map(float, values), strict=True))
    scale = _scale(problem, z, freedom)
    return Law(
        form, {**parameters, **form.held}, data, certificate, problem.log, problem.delta, scale, freedom
    )


def _scale(problem: solve.Problem, z: np.ndarray, freedom: int) -> float:
    """The scale of 2ρ: E ψ²/E ψ', which is the residuals' variance for squares."""
    r = problem.residuals(z[None])[0]
    if freedom < 1:
        return float("nan")
    pull, count = np.clip(r, -problem.delta, problem.delta), problem.count[0]
    inside = max(float(np.average(np.abs(r) <= problem.delta, weights=count)), 1 / len(r))
    correction = 1 + (len(r) - freedom) / len(r) * (1 - inside) / inside  # Huber 1981, section 7.6
    return float(np.sum(count * pull**2) / freedom / inside * correction)


def _condition(jacobian: np.ndarray) -> float:
    size = np.linalg.norm(jacobian, axis=0)
    if jacobian.shape[1] == 0:
        return 1.0
    if not np.all(size > 0):
        return float("inf")
    singular = np.linalg.svd(jacobian / size, compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0 else float("inf")


def _at(form: Form, x: Any, values: np.ndarray) -> Any:
    """The form at x for parameters (…, p); x may be a pair for a surface."""
    if len(form.variables) > 1:
        x = np.array(np.broadcast_arrays(*(np.asarray(v, float) for v in x)))
    else:
        x = np.asarray(x, float)
    found = form.function(x, *np.asarray(values, float))
    return float(found) if np.ndim(found) == 0 else np.asarray(found)


def _ends(interval: Interval) -> str:
    low, high = interval
    return f"[{low:.4g}, {high:.4g}]" if np.isfinite(low) or np.isfinite(high) else "not determined"


def level_quantile(level: float, freedom: int) -> float:
    """Student's two-sided quantile."""
    if not 0 < level < 1:
        raise BadInput(f"level={level!r} must lie between 0 and 1, as in 0.95")
    return float(stats.t.ppf(0.5 + level / 2, freedom)) if freedom >= 1 else float("inf")
