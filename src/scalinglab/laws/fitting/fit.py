"""Fit a form to points: `fit(form, x, y) -> Law`.

The fit minimises Σ_i w_i ρ(g(f(x_i; θ)) - g(y_i)), g the logarithm or the identity, ρ Huber's function or the
square (`laws.fitting.least_squares` has the method). With it comes a certificate: the objective reached,
the share of starts that reached it, the conditioning, and whether the data identify each parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scalinglab.deprecation import renamed_arguments
from scalinglab.errors import BadInput, NotConverged, nearest
from scalinglab.laws import forms
from scalinglab.laws.fitting import least_squares, points
from scalinglab.laws.fitting.law import Certificate, Law, problem_of, robust_scale
from scalinglab.laws.fitting.points import Points
from scalinglab.laws.forms.base import Form


@renamed_arguments(missing="nan_policy")
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
    nan_policy: str = "raise",
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
        nan_policy: "raise" on points that cannot be used, or "drop" them.

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
        nan_policy=nan_policy,
    )
    _enough(found, data)
    return fit_points(found, data, loss=loss, delta=delta, log=space == "log", starts=starts)


SIMPLE = ("power_law", "power_law_offset")  # what "auto" chooses from


def choose(candidates: Sequence[str | Form], x: Any, y: Any, **options: Any) -> str:
    """The name of the form with the lowest AICc (`scores`)."""
    return best(scores(candidates, x, y, **options))


def best(scored: Mapping[str, float]) -> str:
    """The name with the lowest score, the first of equals."""
    return min(scored, key=lambda name: scored[name])


def scores(candidates: Sequence[str | Form], x: Any, y: Any, **options: Any) -> dict[str, float]:
    """AICc, Akaike's criterion for few points, by the name of the form.

    All are fitted with squared errors here, so that their likelihoods compare. Forms that lack a parameter
    that is bounded are passed over; those with too many parameters for the points to judge score infinity.
    """
    options = {**options, "loss": "squared", "delta": None}
    known = dict.fromkeys(name for candidate in candidates for name in forms.get(candidate).names)
    for name in options.get("bounds") or ():
        if name not in known:
            tried = " or ".join(forms.get(candidate).name for candidate in candidates)
            raise BadInput(f"bounds for {name!r}: no such parameter in {tried}; {nearest(name, known)}")
    found: dict[str, float] = {}
    problems = []
    for candidate in candidates:
        try:
            law = fit(candidate, x, y, **options)
        except BadInput as error:
            problems.append(error)
            continue
        n, k = len(law.points.y), len(law.form.parameters) + 1
        squares = 2 * max(law.objective, 1e-28 * law.unit**2)
        penalty = 2 * k + 2 * k * (k + 1) / (n - k - 1) if n > k + 1 else np.inf
        found[law.form.name] = n * np.log(squares / n) + penalty
    if not found:
        raise problems[0]
    return found


def _enough(form: Form, data: Points) -> None:
    if not form.parameters:
        raise BadInput(f"the bounds hold every parameter of {form.name}: leave one free to be fitted")
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
    nodes = least_squares.grid_starts(squares, starts)
    if loss == "huber" and delta is not None:
        problem = replace(squares, delta=float(delta))
        minimum = least_squares.minimise(problem, nodes)
    else:
        problem = squares
        minimum = least_squares.minimise(problem, nodes, iterations=40 if loss == "huber" else 200)
        if loss == "huber":
            for _ in range(2):  # the threshold follows the scatter, and the scatter the fit
                best = minimum.z[[np.argmin(minimum.objective)]]
                threshold = 1.345 * robust_scale(squares.residuals(best)[0], len(form.parameters))
                if not threshold > 1e-9 * problem.unit:
                    break
                problem = replace(squares, delta=threshold)
                minimum = least_squares.minimise(problem, minimum.z)
    if not np.any(np.isfinite(minimum.objective)):
        raise NotConverged(f"{form.name} is not finite at any start: check the data's range and the bounds")
    return _law(problem, data, _polished(problem, _followed(problem, minimum)))


def _followed(problem: least_squares.Problem, minimum: least_squares.Minimum) -> least_squares.Minimum:
    """The best start followed until it rests: a curved valley takes more steps than every start is given."""
    z, objective, converged = minimum.z.copy(), minimum.objective.copy(), minimum.converged.copy()
    for _ in range(10):
        best = int(np.argmin(objective))
        if converged[best]:
            break
        further = least_squares.minimise(problem, z[[best]])
        z[best], objective[best], converged[best] = (
            further.z[0], further.objective[0], further.converged[0],
        )  # fmt: skip
    return least_squares.Minimum(z, objective, converged)


def _polished(problem: least_squares.Problem, minimum: least_squares.Minimum) -> least_squares.Minimum:
    """The starts that nearly reached the best, brought to rest, where reweighting converges slowly."""
    best = np.argmin(minimum.objective)
    residuals = problem.residuals(minimum.z[[best]])[0]
    if not problem.robust or np.median(np.abs(residuals)) <= problem.delta:
        return minimum
    z, objective, converged = minimum.z.copy(), minimum.objective.copy(), minimum.converged.copy()
    close = np.isclose(objective, objective[best], rtol=1e-6, atol=0)
    near = (objective <= objective[best] * 1.01) & ~close
    for i in [best, *np.flatnonzero(near)]:
        z[i], objective[i] = least_squares.polish(problem, z[i])
        converged[i] = True
    return least_squares.Minimum(z, objective, converged)


def _law(problem: least_squares.Problem, data: Points, minimum: least_squares.Minimum) -> Law:
    index = int(np.argmin(minimum.objective))
    z, objective = minimum.z[index], float(minimum.objective[index])
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
    dof = len(data.y) - len(form.parameters)
    parameters = dict(zip(form.names, map(float, values), strict=True))
    scale = _scale(problem, z, dof)
    return Law(form, {**parameters, **form.held}, data, certificate, problem.log, problem.delta, scale, dof)


def _scale(problem: least_squares.Problem, z: np.ndarray, dof: int) -> float:
    """The scale of 2ρ: E ψ²/E ψ', which is the residuals' variance for squares."""
    r = problem.residuals(z[None])[0]
    if dof < 1:
        return float("nan")
    pull, count = np.clip(r, -problem.delta, problem.delta), problem.count[0]
    inside = max(float(np.average(np.abs(r) <= problem.delta, weights=count)), 1 / len(r))
    correction = 1 + (len(r) - dof) / len(r) * (1 - inside) / inside  # Huber 1981, section 7.6
    return float(np.sum(count * pull**2) / dof / inside * correction)


def _condition(jacobian: np.ndarray) -> float:
    size = np.linalg.norm(jacobian, axis=0)
    if jacobian.shape[1] == 0:
        return 1.0
    if not np.all(size > 0):
        return float("inf")
    singular = np.linalg.svd(jacobian / size, compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0 else float("inf")
