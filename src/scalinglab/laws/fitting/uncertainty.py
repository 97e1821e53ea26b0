"""How sure a fitted law is: profile likelihood, bootstrap over runs, MINOS.

- `interval`: what `Law.interval` calls; profile where points are independent, averaged over what the noise
  may be (`diagnostics`), else bootstrap over runs.
- `parameter_intervals`: the same of the parameters and of the exponent.
- `parameter_profile`: profile intervals of the parameters and of the exponent.
- `minos`: the same parameters' intervals by iminuit, an independent implementation.
- `bootstrap`: refits on resampled runs (whole runs, never single points of a run).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from scalinglab.errors import BadInput, require
from scalinglab.laws.fitting import least_squares, profile
from scalinglab.laws.fitting.data.points import FEWEST_RUNS
from scalinglab.laws.fitting.diagnostics import diagnose
from scalinglab.laws.fitting.solution import LEAST_VARIANCE, Interval, Solution, check_sizes
from scalinglab.laws.fitting.statistics import level_quantile


def interval(
    law: Solution, x: Any, level: float = 0.95, method: str = "auto", of: str = "law", **options: Any
) -> Interval:
    """The interval of the law, or of one more measurement, at x; see `Law.interval`."""
    if of not in ("law", "measurement"):
        raise BadInput(f"of={of!r} must be 'law' or 'measurement'")
    automatic = method == "auto"
    if automatic:
        method = "bootstrap" if law.points.resampled else "profile"
    if method == "profile":
        low, high = _profile_at(law, x, level)
    elif method == "bootstrap":
        low, high = bootstrap(law, **options).interval(x, level)
    else:
        raise BadInput(f"method={method!r} must be 'auto', 'profile' or 'bootstrap'")
    if of == "measurement":
        low, high = _widen(law, x, low, high, level)
    if automatic and method == "profile":
        low, high = diagnose(law).adapted(x, low, high, level, of)
    return Interval(low, high)


def _profile_at(law: Solution, x: Any, level: float) -> tuple[Any, Any]:
    threshold = law.quantile(level)
    inputs = _inputs(law, x)
    shape, flat = inputs.shape[1:], inputs.reshape(len(inputs), -1)
    count = flat.shape[1]
    if not np.isfinite(threshold):
        ends = np.full(shape, 0.0 if law.log else -np.inf), np.full(shape, np.inf)
        return (float(ends[0]), float(ends[1])) if shape == () else ends

    def value(parameters: np.ndarray, which: np.ndarray) -> np.ndarray:
        sizes = flat[:, which, None] if len(flat) > 1 else flat[0, which, None]
        with np.errstate(all="ignore"):
            curve = law.form.function(sizes, *(parameters[:, j, None] for j in range(parameters.shape[1])))
            curve = np.broadcast_to(curve, (len(which), 1))[:, 0]
            return np.log(curve) if law.log else curve

    low, high = profile.along(law, value, count, threshold)
    if law.log:
        low, high = np.exp(low), np.exp(high)
    low, high = low.reshape(shape), high.reshape(shape)
    return (float(low), float(high)) if shape == () else (low, high)


def _inputs(law: Solution, x: Any) -> np.ndarray:
    """x as (variables, …)."""
    check_sizes(x, law.form)
    parts = x if len(law.form.variables) > 1 else [x]
    return np.array(np.broadcast_arrays(*(np.asarray(v, float) for v in parts)))


def _widen(law: Solution, x: Any, low: Any, high: Any, level: float) -> tuple[Any, Any]:
    """Add the scatter of one measurement to the law's interval, in quadrature."""
    noise = law.quantile(level) * law.residual_std
    centre = law.predict(x)
    if law.log:
        with np.errstate(divide="ignore"):
            down, up = np.log(centre) - np.log(low), np.log(high) - np.log(centre)
        return centre * np.exp(-np.hypot(down, noise)), centre * np.exp(np.hypot(up, noise))
    return centre - np.hypot(centre - low, noise), centre + np.hypot(high - centre, noise)


def parameter_intervals(law: Solution, level: float = 0.95) -> dict[str, Interval]:
    """Intervals of every free parameter, and of `exponent`; an infinite end is not determined.

    The profile, averaged over what the noise may be; where runs have several points each, the bootstrap over
    runs, from three runs on.
    """
    profiled = parameter_profile(law, level)
    if law.points.resampled:
        drawn = bootstrap(law).parameter_intervals(level)
        # what the profile leaves open, resampled points cannot close
        return {n: ends if np.isinf(ends).any() else drawn.get(n, ends) for n, ends in profiled.items()}
    return diagnose(law).adapted_parameters(profiled, level)


def parameter_profile(law: Solution, level: float = 0.95) -> dict[str, Interval]:
    """Profile intervals of every free parameter, and of `exponent`; an infinite end is not determined.

    A parameter's end at its bound is reported as the bound; the exponent's end there is infinite, since
    the bound and not the data stopped it. An exponent that is held is its own interval.
    """
    names, exponent = law.form.names, law.form.exponent
    known = {"exponent": Interval(exponent, exponent)} if isinstance(exponent, float) else {}
    threshold = level_quantile(level, law.dof)
    if not np.isfinite(threshold):
        return {n: Interval(-np.inf, np.inf) for n in (*names, "exponent")} | known
    logs = law.problem.logs
    has_exponent = exponent is not None and not known
    count = len(names) + has_exponent

    def value(parameters: np.ndarray, which: np.ndarray) -> np.ndarray:
        columns = np.where(logs, np.log(np.maximum(parameters, least_squares.TINY)), parameters)
        if has_exponent:
            named = {n: parameters[:, j] for j, n in enumerate(names)}
            exponents = np.broadcast_to(law.form.get_exponent(named), (len(parameters),))
            columns = np.column_stack([columns, exponents])
        return columns[np.arange(len(which)), which]

    low, high = profile.along(law, value, count, threshold)
    found = {}
    for j, p in enumerate(law.form.parameters):
        ends = (np.exp(low[j]), np.exp(high[j])) if logs[j] else (low[j], high[j])
        found[p.name] = Interval(float(max(ends[0], p.low)), float(min(ends[1], p.high)))
    if has_exponent:
        ends = float(low[-1]), float(high[-1])
        found["exponent"] = Interval(*_unless_bound(law, *ends))
    return found | known


def _unless_bound(law: Solution, low: float, high: float) -> tuple[float, float]:
    bounded = {p.name: p for p in law.form.parameters}
    if not isinstance(law.form.exponent, str) or law.form.exponent not in bounded:
        return low, high
    p = bounded[law.form.exponent]
    margin = 1e-6 * (p.high - p.low) if np.isfinite(p.high - p.low) else 0.0
    return (-np.inf if low <= p.low + margin else low), (np.inf if high >= p.high - margin else high)


def minos(law: Solution, level: float = 0.95) -> dict[str, Interval]:
    """Profile intervals of the parameters by iminuit's MINOS; an end it cannot find is infinite."""
    iminuit = require("iminuit", None, "profile intervals by MINOS")
    problem, names = law.problem, law.form.names
    threshold = level_quantile(level, law.dof)
    scatter = max(law.scale, LEAST_VARIANCE * law.unit**2)

    def cost(z: np.ndarray) -> float:
        value = float(problem.objective(problem.residuals(np.asarray(z)[None]))[0])
        return min(2 * value / scatter, 1e15)

    engine = iminuit.Minuit(cost, law.coordinates, name=list(names))
    engine.errordef, engine.strategy = threshold**2, 2
    low, high = problem.bounds
    engine.limits = list(zip(low, high, strict=True))
    engine.migrad()
    found = {}
    for j, name in enumerate(names):
        try:
            engine.minos(name)
            error = engine.merrors[name]
            ends = np.array([
                engine.values[name] + error.lower if error.lower_valid else -np.inf,
                engine.values[name] + error.upper if error.upper_valid else np.inf,
            ])  # fmt: skip
        except RuntimeError:
            ends = np.array([-np.inf, np.inf])
        found[name] = Interval(*(float(v) for v in (np.exp(ends) if problem.logs[j] else ends)))
    return found


# --- bootstrap -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bootstrap:
    """Refits of a law on resampled runs.

    Attributes:
        law: the fit to all points.
        values: (draws, parameters), the refitted parameters in the form's order.
        runs: how many runs there were to draw from.
        scheme: "resample" or "wild".
        failed: draws whose refit did not come to rest; they are kept.
    """

    law: Solution
    values: np.ndarray
    runs: int
    scheme: str
    failed: int

    def predict(self, x: Any) -> np.ndarray:
        """Every refit at x, (draws, …)."""
        inputs = _inputs(self.law, x)
        sizes = inputs if len(inputs) > 1 else inputs[0]
        extra = (1,) * (inputs.ndim - 1)
        columns = (self.values[:, j].reshape(-1, *extra) for j in range(self.values.shape[1]))
        sizes = sizes[:, None] if len(inputs) > 1 else sizes[None]
        return np.asarray(self.law.form.function(sizes, *columns))

    def interval(self, x: Any, level: float = 0.95) -> Interval:
        """The interval of the law at x, by expanded percentiles."""
        ends = np.quantile(self.predict(x), self.tails(level), axis=0)
        return Interval(*(float(e) if np.ndim(e) == 0 else e for e in ends))

    def parameter_intervals(self, level: float = 0.95) -> dict[str, Interval]:
        """The interval of every parameter and of `exponent`."""
        columns = {n: self.values[:, j] for j, n in enumerate(self.law.form.names)}
        if (exponent := self.law.form.get_exponent(self.law.form.expand(columns))) is not None:
            columns["exponent"] = np.broadcast_to(exponent, len(self.values))
        tails = self.tails(level)
        return {n: Interval(*map(float, np.quantile(c, tails))) for n, c in columns.items()}

    def errors(self) -> dict[str, float]:
        """One standard error of every parameter."""
        return {n: float(np.std(self.values[:, j], ddof=1)) for j, n in enumerate(self.law.form.names)}

    def tails(self, level: float) -> list[float]:
        """The two percentiles, as fractions, between which the interval lies."""
        # resampling G runs understates spread by √(1 - 1/G) and uses Gaussian tails; Hesterberg (2015)
        # widens the percentiles so that a mean of G values gets exactly Student's interval
        widened = stats.norm.cdf(-np.sqrt(self.runs / (self.runs - 1)) * level_quantile(level, self.runs - 1))
        return [float(widened), float(1 - widened)]


def bootstrap(law: Solution, draws: int = 1000, seed: int = 0, scheme: str = "auto") -> Bootstrap:
    """Refit the law to resampled runs, all at once.

    Args:
        draws: how many refits.
        seed: of the resampling.
        scheme: "resample" draws whole runs with replacement, for runs that cover several sizes each;
            "wild" keeps every size and flips the residuals of whole runs at random (with their leverage
            corrected), for runs that sit at one size each, where drawing runs would lose sizes; "auto"
            takes the one that fits. With ten runs a parameter and more, sizes are not lost.
    """
    data = law.points
    labels, which = np.unique(data.runs, return_inverse=True)
    if draws < 2:
        raise BadInput(f"draws={draws} must be at least 2")
    if len(labels) < FEWEST_RUNS:
        raise BadInput(
            f"a bootstrap over runs needs at least {FEWEST_RUNS} runs, these points come from {len(labels)}"
        )
    if scheme == "auto":
        many = len(labels) >= 10 * len(law.form.parameters)
        scheme = "resample" if many or _cover_sizes(data.x, which) else "wild"
    rng = np.random.default_rng(seed)
    problem = law.problem
    if scheme == "resample":
        drawn = rng.integers(len(labels), size=(draws, len(labels)))
        counts = np.zeros((draws, len(labels)))
        np.add.at(counts, (np.repeat(np.arange(draws), len(labels)), drawn.ravel()), 1)
        problem = replace(problem, count=problem.count * counts[:, which])
    elif scheme == "wild":
        problem = replace(problem, y=redrawn(law, draws, rng))
    else:
        raise BadInput(f"scheme={scheme!r} must be 'auto', 'resample' or 'wild'")
    found = least_squares.minimise(problem, np.tile(law.coordinates, (draws, 1)), iterations=100)
    values = problem.to_parameters(found.z)
    return Bootstrap(law, values, len(labels), scheme, int(np.sum(~found.converged)))


def redrawn(law: Solution, draws: int, rng: np.random.Generator) -> np.ndarray:
    """(draws, points) the law with residuals of whole runs flipped at random, their leverage corrected."""
    labels, which = np.unique(law.points.runs, return_inverse=True)
    flips = rng.choice([-1.0, 1.0], size=(draws, len(labels)))[:, which]
    noise = flips * law.residuals / np.sqrt(np.maximum(1 - leverage(law), 0.05))
    fitted = law.predict(law.points.x)
    return np.asarray(fitted * np.exp(noise) if law.log else fitted + noise)


def _cover_sizes(x: np.ndarray, which: np.ndarray) -> bool:
    """Whether runs cover several sizes each, on the whole."""
    flat = x if x.ndim == 1 else np.unique(x, axis=1, return_inverse=True)[1].ravel()
    pairs = {(int(w), float(s)) for w, s in zip(which, flat, strict=True)}
    return len(pairs) > 1.5 * len(np.unique(which))


def leverage(law: Solution) -> np.ndarray:
    """The diagonal of the hat matrix of the linearised fit."""
    jacobian = law.problem.jacobian(law.coordinates[None])[0] * np.sqrt(law.problem.counts[0])[:, None]
    size = np.maximum(np.linalg.norm(jacobian, axis=0), least_squares.TINY)
    q, _ = np.linalg.qr(jacobian / size)
    return np.sum(q**2, axis=1)[: len(law.points.y)]
