"""Fit a form to points: `fit(x, y, form=…) -> Law`.

The fit minimises Σ_i w_i ρ(g(f(x_i; θ)) - g(y_i)), g the logarithm or the identity, ρ Huber's function or the
square (`laws.fitting.least_squares` has the method). With it comes a certificate: the objective reached,
the share of starts that reached it, the conditioning, and whether the data identify each parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from scalinglab.errors import BadInput, NotConverged, NotDetermined, ScalinglabError
from scalinglab.laws import forms
from scalinglab.laws.fitting import least_squares, outliers
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.data.from_curves import Table, points_from
from scalinglab.laws.fitting.data.points import Points
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.fitting.solution import ROUNDING, Certificate, Solution, problem_of
from scalinglab.laws.fitting.statistics import FEWEST_LEFT, robust_scale
from scalinglab.laws.forms.base import Form
from scalinglab.results.types import Reason
from scalinglab.support.validation import checked


@checked
def fit(
    *data: Any,
    form: str | Form = "auto",
    x: Any = None,
    y: Any = None,
    reduce: str = "auto",
    where: Mapping[str, Any] | None = None,
    mixed: bool = False,
    error: Any = None,
    weights: Any = None,
    runs: Any = None,
    loss: str = "huber",
    delta: float | None = None,
    space: str = "log",
    bounds: Mapping[str, tuple[float, float]] | None = None,
    priors: Mapping[str, tuple[float, float]] | None = None,
    tie: Mapping[str, str] | None = None,
    noise: float | None = None,
    starts: int = 8,
    nan_policy: str = "raise",
) -> Law:
    """Fit a form to points: ``fit(x, y, form=…)``, or ``fit(curves, form=…, x="n_data", y="test_error")``.

    The form may also come first, ``fit("power_law", x, y)``.

    Args:
        form: a name ("power_law", "power_law_offset", "m1"…"m4", "broken_power_law_2", …), a `Form`, or
            "auto": power_law_offset from four sizes on, power_law below (`automatic`); of a fraction that
            rises with x (an accuracy) it fits 1 - y.
        data: x and y as arrays, or a table: `Curves`, or a pandas frame under standard names.
        x: sizes (positive), for a surface a tuple of arrays in the order of `form.variables`; or the name of
            a column, "n_data" by default.
        y: what was measured; or the name of a column. Default: test_error, or test_loss where the table has
            no errors.
        reduce: which rows of a run count where a table has several at one x: "best" (the lowest y, of an
            accuracy the highest), "last"
            (by progress), "all", or "auto": the best where there are several.
        where: conditions ``{column: value}`` that rows of the table must meet.
        mixed: allow rows of several models, data sets, tasks or sources in one fit, and of all recipes.
        error: one standard error of each y; points then count by 1/error². Of a table the column, by
            default ``<y>_stderr``.
        weights: how often each point counts: what its ρ(r) is multiplied by.
        runs: the run that each point comes from, for the bootstrap.
        loss: "huber" (outliers count linearly) or "squared".
        delta: Huber's threshold in units of the residual; by default 1.345 standard deviations, found
            from the residuals, which loses 5 % of efficiency on Gaussian noise. With fewer than
            6 degrees of freedom residuals do not separate outliers from scatter, and squares are used.
        space: residuals of "log" or "raw" values.
        bounds: (low, high) by parameter name; low = high holds it there.
        priors: (value, spread) by parameter name: a Gaussian prior, of the logarithm where the parameter is
            stepped in its logarithm.
        tie: parameters that take the value of another, ``{"beta": "alpha"}``.
        noise: standard deviation of one residual, against which priors are weighed; default: estimated from
            the residuals.
        starts: how many of the best grid nodes are followed.
        nan_policy: "raise" on points that cannot be used, or "drop" them.

    >>> import numpy as np
    >>> x = np.geomspace(100, 1e5, 12)
    >>> law = fit("power_law_offset", x, 0.05 + 3 * x**-0.4)
    >>> round(law.exponent, 8), round(law.parameters["offset"], 8)
    (0.4, 0.05)
    """
    if data and (isinstance(data[0], (str, Form)) or len(data) == 3):
        form, data = data[0], data[1:]
    table = points_from(data, x, y, error=error, runs=runs, reduce=reduce, where=where, mixed=mixed)
    notes = table.notes
    if isinstance(form, str) and form == "auto":
        given: dict[str, Any] = {
            "weights": weights, "loss": loss, "delta": delta, "space": space, "bounds": bounds,
            "priors": priors, "tie": tie, "noise": noise, "starts": starts, "nan_policy": nan_policy,
        }  # fmt: skip
        form, table, chosen = _automatically(table, given)
        notes = (*chosen, *notes)
    _check_options(loss, space, delta, starts, noise)
    found = forms.get(form).tying(tie or {}).bounded(bounds or {}).with_priors(priors or {})
    usable = points.check(
        table.x, table.y, names=found.variables, zeros=found.zeros, error=table.error, weights=weights,
        runs=table.runs, log=space == "log", nan_policy=nan_policy,
    )  # fmt: skip
    usable = replace(
        usable, notes=(*notes, *usable.notes), complement=table.is_complement,
        checkpoints_of=table.checkpoints_of,
    )  # fmt: skip
    if space == "raw":
        _squarable(usable.y)
    _enough(found, usable)
    solved = fit_points(found, usable, loss=loss, delta=delta, log=space == "log", starts=starts, noise=noise)
    names = dict(zip(solved.form.variables, table.names, strict=False))  # arrays have none
    outlier = find_outlier(solved)
    outlying = () if outlier is None else (outlier.renamed({"y": table.measured, **names}),)
    notes = (*usable.notes, *outlying)
    return replace(solved, points=replace(usable, notes=notes))


def refit(law: Law, form: Form, **options: Any) -> Law:
    """The points of a law by another form, with the options of `fit_points`; notes are those of the law."""
    _enough(form, law.points)
    return fit_points(form, law.points, log=law.log, **options)


def _check_options(loss: str, space: str, delta: float | None, starts: int, noise: float | None) -> None:
    if loss not in ("huber", "squared"):
        raise BadInput(f"loss={loss!r} must be 'huber' or 'squared'")
    if space not in ("log", "raw"):
        raise BadInput(f"space={space!r} must be 'log' or 'raw'")
    if delta is not None and not delta > 0:
        raise BadInput(f"delta={delta!r} must be positive")
    if starts < 1:
        raise BadInput(f"starts={starts} must be at least 1")
    if noise is not None and not noise > 0:
        raise BadInput(f"noise={noise!r} must be positive: the standard deviation of one residual")


def _squarable(y: np.ndarray) -> None:
    """Refuse values whose squares doubles do not hold."""
    largest = float(np.abs(y).max())
    if not 1e-100 < largest < 1e100:
        raise BadInput(
            f"space='raw' squares y, and y = {largest:g} is beyond it: space='log', or other units"
        )


ENOUGH = 1e-6  # search: tolerance of fits whose objectives are compared
ROUGH = 1e-3  # search: of a fit that another goes on from
LAST = 1e-13  # search: of fits of absolute values, in which each step gains little
FIRST = 40  # search: steps, after which starts that have met are followed as one


def find_outlier(law: Solution) -> Reason | None:
    """The point that does not follow the others, and what the others give there; or None."""
    near: dict[str, Any] = {"loss": "squared", "start": law.values[None], "tolerance": ENOUGH}
    return outliers.find(law, lambda data: fit_points(law.form, data, **near))


def without_few(law: Solution) -> tuple[Solution, np.ndarray] | None:
    """`outliers.without_few` of a law in logarithms."""
    return outliers.without_few(
        law,
        lambda data, start, loss: fit_points(law.form, data, loss=loss, start=start, tolerance=ENOUGH),
    )


def outlier_note(law: Law) -> tuple[Reason, ...]:
    """The note of `fit` on the run that does not follow the others; none where all do.

    Raises:
        NotDetermined: the others are too few to outweigh it.
    """
    note = tuple(note for note in law.points.notes if note.code in outliers.CODES)
    if note and few_runs(law):
        raise NotDetermined(note[0])
    return note


def few_runs(law: Law) -> bool:
    """Whether the runs are too few to outweigh one that does not follow the others."""
    return len(np.unique(law.points.runs)) < points.MANY * len(law.form.parameters)


def table_outlier_note(table: Table, nan_policy: str = "raise") -> tuple[Reason, ...]:
    """`outlier_note` of a table of one variable; none of arrays, whose points the caller knows."""
    if not table.names:
        return ()
    try:
        law = fit("auto", table, nan_policy=nan_policy)
    except ScalinglabError:  # without a law there is none to follow
        return ()
    return outlier_note(law)


LEAST_NOISE = 1e-4  # guard: of ln y, against which priors are weighed: points on a curve would outweigh any
AUTO = "power_law_offset"  # the form of "auto": a pure power law is its case offset = 0


def automatic(x: Any, bounds: Mapping[str, tuple[float, float]] | None = None) -> str:
    """The form that "auto" stands for: E + A x^-c from four sizes on, A x^-c below.

    Choosing between the two by a criterion and then trusting the choice makes intervals too narrow: AICc
    cannot feed a third parameter with five points, and takes a curve that flattens for a power law. The
    profile of the offset form runs over both.
    """
    sizes = np.unique(np.asarray(x, float))
    enough = np.isfinite(sizes).sum() >= points.FEWEST_FOR_AN_OFFSET
    return AUTO if enough or "offset" in (bounds or {}) else "power_law"


def _automatically(table: Table, options: Mapping[str, Any]) -> tuple[str, Table, tuple[Reason, ...]]:
    """The form of "auto", the points that it is fitted to, and notes on both."""
    notes: tuple[Reason, ...] = ()
    if points.is_complement(np.ravel(np.asarray(table.x, float)), np.ravel(np.asarray(table.y, float))):
        table, notes = table.complement(), (points.COMPLEMENT_NOTE,)
    name = automatic(table.x, options["bounds"])
    return name, table, (_why(name, table, options), *notes)


def _why(name: str, table: Table, options: Mapping[str, Any]) -> Reason:
    """What "auto" stands for, and what the other form would have given."""
    if name != AUTO:
        return Reason("form_without_a_floor", form=name)
    try:
        others = {**options, "bounds": None, "error": table.error, "runs": table.runs}
        pure = fit("power_law", table.x, table.y, **others)
    except ScalinglabError:
        return Reason("form", form=name)
    beside = {"exponent": pure.parameters["exponent"], "scatter": pure.rms_residual}
    return Reason("form_beside_power_law", form=name, **beside)


def _enough(form: Form, data: Points) -> None:
    if not form.parameters:
        raise BadInput(f"the bounds hold every parameter of {form.name}: leave one free to be fitted")
    if data.sizes < form.unknown:
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
    noise: float | None = None,
    start: np.ndarray | None = None,
    tolerance: float = 1e-11,
) -> Law:
    """The law of `fit` for points that are already checked.

    Args:
        start: (starts, parameters), values to start from instead of the form's grid.
        tolerance: share of the objective that steps still gain.
    """
    if noise is None and any(p.prior is not None for p in form.parameters):
        options: dict[str, Any] = {"loss": loss, "delta": delta, "log": log, "starts": starts}
        # priors are weighed against the noise, which the fit itself gives: a rough, a closer and the full fit
        noise = 0.01 * problem_of(form, data, log, np.inf).unit
        law = fit_points(form, data, noise=noise, tolerance=max(tolerance, ROUGH), **options)
        for first, each in ((law.values[None], max(tolerance, ENOUGH)), (start, tolerance)):
            noise = max(law.residual_std, LEAST_NOISE * law.unit)
            law = fit_points(form, data, noise=noise, start=first, tolerance=each, **options)
        return law
    if log and form.rescalable:
        return _in_standard_units(form, data, loss=loss, delta=delta, starts=starts, noise=noise)
    squares = problem_of(form, data, log, np.inf, noise or 0.0)
    if delta is None and len(data.y) - len(form.parameters) < FEWEST_LEFT:
        loss = "squared"  # the median of so few residuals is no scatter
    if start is None:
        nodes = least_squares.grid_starts(squares, starts)
    else:
        nodes = squares.to_coordinates(np.atleast_2d(np.asarray(start, float)))
    if loss == "huber" and delta is not None:
        problem = replace(squares, delta=float(delta))
        most = FIRST if start is None else 0
        minimum = least_squares.minimise(problem, nodes, most, tolerance)
        minimum = least_squares.minimise_together(problem, minimum.z, tolerance)
    else:
        problem = squares
        # the residuals of a start that is given show the scatter
        most = 200 if loss != "huber" else FIRST if start is None else 0
        minimum = least_squares.minimise(problem, nodes, most, tolerance)
        if loss == "huber":
            for _ in range(2):  # the threshold follows the scatter, and the scatter the fit
                best = minimum.z[[np.argmin(minimum.objective)]]
                r = squares.residuals(best)[0, : len(data.y)]
                threshold = 1.345 * robust_scale(r, len(form.parameters))
                if not threshold > 1e-9 * problem.unit:
                    break
                problem = replace(squares, delta=threshold)
                minimum = least_squares.minimise_together(problem, minimum.z, tolerance)
    if not np.any(np.isfinite(minimum.objective)):
        raise NotConverged(f"{form.name} is not finite at any start: check the data's range and the bounds")
    rested = _followed(problem, minimum)
    solved = _solution(problem, data, rested if tolerance >= ENOUGH else _polished(problem, rested))
    if start is not None or not _stayed(solved, problem, nodes):
        return solved
    return replace(solved, certificate=replace(solved.certificate, converged=False))


def _stayed(solved: Solution, problem: least_squares.Problem, nodes: np.ndarray) -> bool:
    """Whether a fit that misses the points left no nonlinear parameter: it has not begun, wherever it is."""
    curved = [j for j, p in enumerate(problem.form.parameters) if not p.linear]
    if not curved or solved.rms_residual < ROUNDING * problem.unit:
        return False
    apart = np.abs(nodes[:, curved] - solved.coordinates[curved]).max(axis=1)
    return bool(apart.min() < ROUNDING)


DIGITS = 11  # guard: of the logarithms of standardised data: the same in whatever units they were given


def _in_standard_units(form: Form, data: Points, **options: Any) -> Law:
    """Fit y/b over x/a, with a and b the geometric means, and turn the parameters back.

    Forms with valleys that the data hardly close (m4, broken power laws) come to rest at places that depend
    on the units in which they step. Here they always step in the same.
    """
    logs = [np.log(values) for values in (data.x, data.y)]
    centres = [float(np.mean(log)) for log in logs]
    x, y = (np.exp(np.round(log - centre, DIGITS)) for log, centre in zip(logs, centres, strict=True))
    error = None if data.error is None else np.exp(np.log(data.error) - centres[1])
    law = fit_points(replace(form, rescale=None), replace(data, x=x, y=y, error=error), **options)
    assert form.rescale is not None
    units = [float(np.exp(centre)) for centre in centres]
    parameters = form.rescale({name: law.parameters[name] for name in form.names}, *units)
    return replace(law, form=form, parameters=parameters, points=data)


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
    residuals = problem.residuals(minimum.z[[best]])[0, : problem.x.shape[-1]]
    if not problem.robust or np.median(np.abs(residuals)) <= problem.delta:
        return minimum
    near = np.flatnonzero(minimum.objective <= minimum.objective[best] * 1.01)
    closer = least_squares.minimise_together(problem, minimum.z[near], LAST)
    z, objective, converged = minimum.z.copy(), minimum.objective.copy(), minimum.converged.copy()
    z[near], objective[near], converged[near] = closer.z, closer.objective, True
    return least_squares.Minimum(z, objective, converged)


def _solution(problem: least_squares.Problem, data: Points, minimum: least_squares.Minimum) -> Law:
    index = int(np.argmin(minimum.objective))
    z, objective = minimum.z[index], float(minimum.objective[index])
    form = problem.form
    values = problem.to_parameters(z)
    reached = minimum.objective <= minimum.objective[index] * (1 + 1e-6) + 1e-20
    low, high = problem.bounds
    at_bound = (z <= low) | (z >= high)
    certificate = Certificate(
        objective=objective,
        starts=len(minimum.objective),
        agree=float(np.mean(reached)),
        converged=bool(minimum.converged[index]),
        condition=condition_of(
            problem.jacobian(z[None])[0][:, ~at_bound] * np.sqrt(problem.counts[0])[:, None]
        ),
        at_bound=tuple(n for n, at in zip(form.names, at_bound, strict=True) if at),
    )
    dof = len(data.y) - len(form.parameters) + len(problem.priors)
    parameters = dict(zip(form.names, map(float, values), strict=True))
    scale = scale_of(problem, z, dof)
    return Law(
        form, form.expand(parameters), data, certificate, problem.log, problem.delta, scale, dof,
        problem.noise, fit_points,
    )  # fmt: skip


def scale_of(problem: least_squares.Problem, z: np.ndarray, dof: int) -> float:
    """The scale of 2ρ: E ψ²/E ψ', which is the residuals' variance for squares."""
    r = problem.residuals(z[None])[0, : problem.x.shape[-1]]
    if dof < 1:
        return float("nan")
    pull, count = np.clip(r, -problem.delta, problem.delta), problem.count[0]
    inside = max(float(np.average(np.abs(r) <= problem.delta, weights=count)), 1 / len(r))
    correction = 1 + (len(r) - dof) / len(r) * (1 - inside) / inside  # Huber 1981, section 7.6
    return float(np.sum(count * pull**2) / dof / inside * correction)


def condition_of(jacobian: np.ndarray) -> float:
    """The condition number with columns of length one: infinite where a parameter has no effect."""
    if jacobian.shape[1] == 0:
        return 1.0
    size = np.linalg.norm(jacobian, axis=0)
    if not np.all(size > 0):
        return float("inf")
    singular = np.linalg.svd(jacobian / size, compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0 else float("inf")
