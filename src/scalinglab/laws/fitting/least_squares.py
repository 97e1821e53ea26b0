"""Least squares and Huber fits of one form to many data sets at once.

A fit minimises Σ_i c_i ρ(r_i) with r_i = w_i (g(f(x_i; θ)) - g(y_i)), g the logarithm or the identity: w is
one over the point's error, c how often it counts, and ρ is r²/2, or Huber's r²/2 for |r| < δ and δ(|r| - δ/2)
beyond. Two steps:

1. `grid_starts`: on a grid of the nonlinear parameters the linear ones are solved for, by weighted least
   squares within their bounds (variable projection), and the best nodes are kept.
2. `minimise`: projected Levenberg–Marquardt from every node (with iteratively reweighted residuals for
   Huber), vectorised over nodes and data sets: a thousand bootstrap refits are one call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, product

import numpy as np

from scalinglab.laws.forms.base import Form

LARGEST_SLOPE = 1e150  # guard: beyond it squares overflow
TINY = 1e-300  # guard: in place of 0 where it would divide, or its logarithm be taken
# guard: of the largest effect of a parameter on the residuals; what central differences resolve
RESOLVED = 1e-9
ORDINARY = (1e-3, 1e3)  # guard: sizes of parameters that are stepped as they are; squares of others run over
SHARED = ("logs", "bounds", "priors", "thresholds", "natural_scale")  # properties that all data sets share
FLAT = 1e-8  # search: of the objective; a step that promises less to first order starts at a minimum


@dataclass(frozen=True)
class Penalty:
    """A pseudo-measurement: quantity(parameters) = target, held with a stiffness, for every data set.

    The minimum under a penalty lies on the profile of the quantity: no other parameters reach a lower
    objective at the value that the quantity takes there.

    Attributes:
        quantity: (parameters (rows, p), rows (rows,)) -> values (rows,).
        target: (sets,).
        stiffness: (sets,); the penalty's residual is √stiffness (quantity - target).
    """

    quantity: Callable[[np.ndarray, np.ndarray], np.ndarray]
    target: np.ndarray
    stiffness: np.ndarray


@dataclass(frozen=True)
class Problem:
    """One form against one or many data sets, in the coordinates in which a fit steps.

    Attributes:
        form: the family of curves.
        x: (n,), or (variables, n) for a surface.
        y: (sets, n) or (1, n).
        weight: (sets, n) or (1, n), multiplies residuals.
        count: (sets, n) or (1, n), multiplies ρ; zero drops a point from a set.
        log: residuals of logarithms instead of raw values.
        delta: Huber's threshold, infinity for squares.
        penalty: a pseudo-measurement, not subject to Huber's threshold.
        rows: which data sets these are, for the penalty.
        noise: standard deviation of a residual, against which the parameters' priors are weighed; the prior
            of a parameter is one more residual, noise · (z - value)/spread. At 0 priors do not count.
        units: (p,) powers of two in which parameters are stepped that are not stepped in their logarithm, so
            that losses of 1e-200 are fitted as losses of 1 are; by default those of the first data set.
    """

    form: Form
    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    log: bool = True
    delta: float = np.inf
    penalty: Penalty | None = None
    rows: np.ndarray | None = None
    noise: float = 0.0
    units: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.units is None:
            object.__setattr__(self, "units", _units(self))

    def take(self, rows: np.ndarray) -> Problem:
        """The same problem for some of the data sets, repeated as asked."""
        y = self.y if self.y.shape[0] == 1 else self.y[rows]
        weight = self.weight if self.weight.shape[0] == 1 else self.weight[rows]
        same_counts = self.count.shape[0] == 1
        count = self.count if same_counts else self.count[rows]
        part = replace(
            self, y=y, weight=weight, count=count, rows=rows if self.rows is None else self.rows[rows]
        )
        # a part is taken at every step: what all data sets share is not computed again
        names = (*SHARED, "counts") if same_counts else SHARED
        part.__dict__.update({name: self.__dict__[name] for name in names if name in self.__dict__})
        return part

    # --- coordinates -----------------------------------------------------------------------------

    @cached_property
    def logs(self) -> np.ndarray:
        """Which parameters are stepped in their logarithm."""
        return np.array([p.log for p in self.form.parameters], bool)

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Bounds in coordinates."""
        low = np.array([p.low for p in self.form.parameters])
        high = np.array([p.high for p in self.form.parameters])
        return self.to_coordinates(low), self.to_coordinates(high)

    def to_coordinates(self, values: np.ndarray) -> np.ndarray:
        """Parameters (…, p) to coordinates."""
        logs = np.log(np.maximum(np.where(self.logs, values, 1), TINY))
        return np.where(self.logs, logs, values / self.units)

    def to_parameters(self, z: np.ndarray) -> np.ndarray:
        """Coordinates (…, p) to parameters."""
        # exp of more than 709 overflows; what is not stepped in its log would, too, hence the inner choice
        return np.where(self.logs, np.exp(np.minimum(np.where(self.logs, z, 0), 700)), z * self.units)

    # --- residuals -------------------------------------------------------------------------------

    def curve(self, z: np.ndarray) -> np.ndarray:
        """f at the points, (sets, n), for coordinates (sets, p)."""
        found = self.form.function(self.x, *self._inputs(z))
        shape = (*z.shape[:-1], self.x.shape[-1])
        return found if np.shape(found) == shape else np.broadcast_to(found, shape)

    def _inputs(self, z: np.ndarray) -> list[np.ndarray]:
        """The parameters, each (sets, 1), as the form's function takes them."""
        return list(self.to_parameters(z).T[..., None])

    def residuals(self, z: np.ndarray) -> np.ndarray:
        """Weighted residuals (sets, n); infinite where the form is not defined."""
        with np.errstate(all="ignore"):
            curve = self.curve(z)
            r = np.log(curve) - np.log(self.y) if self.log else curve - self.y
            r *= self.weight
            if not self.count.all():
                r = np.where(self.count > 0, r, 0.0)
            if self.penalty is not None:
                r = np.concatenate([r, self._penalised(z)[:, None]], axis=1)
            if len(self.priors):
                which, value, spread = self._prior_columns
                r = np.concatenate([r, self.noise * (z[:, which] - value) / spread], axis=1)
        return r if np.isfinite(r).all() else np.where(np.isfinite(r), r, np.inf)

    @cached_property
    def priors(self) -> np.ndarray:
        """(priors, 3): index, value and spread, in coordinates, of the priors that count."""
        with_prior = [(j, p) for j, p in enumerate(self.form.parameters) if p.prior is not None]
        if self.noise == 0 or not with_prior:
            return np.zeros((0, 3))
        found = np.array(
            [(j, np.log(p.prior[0]) if p.log else p.prior[0], p.prior[1]) for j, p in with_prior if p.prior]
        )
        found[:, 1:] /= self.units[[j for j, _ in with_prior], None]
        return found

    @property
    def pseudo(self) -> int:
        """How many residuals follow those of the points: the penalty's and the priors'."""
        return int(self.penalty is not None) + len(self.priors)

    @property
    def _prior_columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`priors` as columns: index, value and spread."""
        return self.priors[:, 0].astype(int), self.priors[:, 1], self.priors[:, 2]

    def _penalised(self, z: np.ndarray, repeats: int = 1) -> np.ndarray:
        """The residual of the penalty, (sets · repeats,), with every data set `repeats` times in a row."""
        assert self.penalty is not None
        penalty = self.penalty
        rows = np.arange(len(z) // repeats) if self.rows is None else self.rows
        rows = rows if repeats == 1 else np.repeat(rows, repeats)
        value = penalty.quantity(self.to_parameters(z), rows)
        return np.asarray(np.sqrt(penalty.stiffness[rows]) * (value - penalty.target[rows]))

    @cached_property
    def thresholds(self) -> np.ndarray:
        """Huber's threshold of every residual."""
        count = self.x.shape[-1]
        return np.r_[np.full(count, self.delta), np.full(self.pseudo, np.inf)]

    @cached_property
    def counts(self) -> np.ndarray:
        """How often every residual counts."""
        if not self.pseudo:
            return self.count
        return np.concatenate([self.count, np.ones((len(self.count), self.pseudo))], axis=1)

    @cached_property
    def natural_scale(self) -> np.ndarray:
        """A size, in the units of steps, for every parameter that is not stepped in its log."""
        return _sizes(self) / self.units

    @cached_property
    def unit(self) -> float:
        """What a residual is small or large against: 1 in logs, a typical y else."""
        return 1.0 if self.log else float(np.median(np.abs(self.y[0]))) or 1.0

    @property
    def robust(self) -> bool:
        """Whether large residuals count less than their square."""
        return bool(np.isfinite(self.delta))

    def objective(self, r: np.ndarray) -> np.ndarray:
        """Σ ρ(r) over the last axis."""
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.abs(r)
            within = np.minimum(size, self.thresholds) if self.robust else size
            found = np.sum(within * (size - 0.5 * within) * self.counts, axis=-1)
        return np.asarray(np.where(np.isfinite(found), found, np.inf))

    def jacobian(self, z: np.ndarray, r: np.ndarray | None = None) -> np.ndarray:
        """∂r/∂z, (sets, n, p): from the form's derivatives where they are known, else by differences.

        Args:
            r: the residuals there, where they are known: what the form costs once less.
        """
        inputs = self._inputs(z)
        shape = (len(z), self.x.shape[-1])
        with np.errstate(all="ignore"):
            columns = self.form.gradient_at(self.x, *inputs)
            if columns is None:
                return self._differences(z, self._residuals_of_each).transpose(0, 2, 1)
            scale = self.weight
            if self.log:
                curve = self.curve(z) if r is None else self.y * np.exp(r[:, : shape[1]] / self.weight)
                scale = scale / curve
            count = shape[1] + self.pseudo
            by_parameter = np.zeros((shape[0], z.shape[-1], count))  # whose rows are read together
            at_points = by_parameter[..., : shape[1]]
            for j, column in enumerate(columns):
                np.multiply(column, scale, out=at_points[:, j])
            at_points *= np.where(self.logs, self.to_parameters(z), self.units)[..., None]
            if not (at_points.max(initial=0) < LARGEST_SLOPE and at_points.min(initial=0) > -LARGEST_SLOPE):
                at_points[~(np.abs(at_points) < LARGEST_SLOPE)] = 0.0
        if self.penalty is not None:
            by_parameter[..., shape[1]] = self._differences(z, self._penalised)[..., 0]
        if len(self.priors):
            which, _, spread = self._prior_columns
            by_parameter[:, which, count - len(which) + np.arange(len(which))] = self.noise / spread
        return by_parameter.transpose(0, 2, 1)

    def _differences(self, z: np.ndarray, of: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
        """Derivatives (sets, p, …) by central differences that stay within the bounds.

        Args:
            of: (coordinates (sets · repeats, p), repeats) -> values (sets · repeats, …).
        """
        low, high = self.bounds
        # offsets near zero need a step on the scale of the data, not of themselves
        scale = np.where(self.logs, 1.0, np.maximum(np.abs(z), 1e-3 * self.natural_scale))
        step = 6e-6 * scale
        count = z.shape[-1]
        offsets = np.concatenate([np.eye(count), -np.eye(count)])
        ends = _clipped(z[:, None] + step[:, None] * offsets, low, high)  # (sets, 2p, p)
        width = np.einsum("bjj->bj", ends[:, :count] - ends[:, count:])
        with np.errstate(all="ignore"):
            values = of(ends.reshape(-1, count), 2 * count).reshape(len(z), 2, count, -1)
            slopes = (values[:, 0] - values[:, 1]) / width[..., None]
        return np.where(np.isfinite(slopes), slopes, 0.0)

    def _residuals_of_each(self, z: np.ndarray, repeats: int) -> np.ndarray:
        """`residuals` with every data set `repeats` times in a row."""
        return self.take(np.repeat(np.arange(len(z) // repeats), repeats)).residuals(z)


def _clipped(z: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """np.clip, which takes five times as long for a few numbers."""
    return np.asarray(np.minimum(np.maximum(z, low), high))


def _units(problem: Problem) -> np.ndarray:
    """Of every parameter 1, or where it is far from that the power of two next to its size."""
    if not any(not p.log for p in problem.form.parameters):
        return np.ones(len(problem.form.parameters))
    return _near_power_of_two(_sizes(problem))


def _near_power_of_two(size: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        power = np.exp2(np.round(np.log2(size)))
    usual = (size >= ORDINARY[0]) & (size <= ORDINARY[1])
    return np.where(usual | ~(np.isfinite(power) & (power > 0)), 1.0, power)


def _sizes(problem: Problem) -> np.ndarray:
    """A size for every parameter that is not stepped in its log: that of its starting values or of y."""
    x, y = problem.x, problem.y[0]
    scales = []
    for p in problem.form.parameters:
        if p.log:
            scales.append(1.0)
        elif p.linear:
            scales.append(float(np.median(np.abs(y))) or 1.0)
        else:
            scales.append(float(np.max(np.abs(p.starts(x, y)))) or 1.0)
    return np.array(scales)


# --- 1: starts -----------------------------------------------------------------------------------------


def grid_starts(problem: Problem, keep: int = 8, most: int = 3000) -> np.ndarray:
    """The `keep` best nodes of the grid for the first data set, as coordinates (nodes, p)."""
    form, x = problem.form, problem.x
    y = problem.y[0]
    values = [p.starts(x, y) if not p.linear else np.zeros(1) for p in form.parameters]
    nodes = np.array(list(product(*values)), float)
    if len(nodes) > most:
        nodes = nodes[np.linspace(0, len(nodes) - 1, most).astype(int)]
    if form.complete is not None:
        columns = {n: nodes[:, [j]] for j, n in enumerate(form.names)}
        with np.errstate(all="ignore"):
            found = form.complete(x, y, columns)
        for name, column in found.items():
            nodes[:, [form.names.index(name)]] = column
    linear = [j for j, p in enumerate(form.parameters) if p.linear]
    if linear:
        nodes = project(problem, nodes, linear)
    low = np.array([p.low for p in form.parameters])
    high = np.array([p.high for p in form.parameters])
    z = problem.to_coordinates(np.clip(nodes, low, high))
    first = problem.take(np.zeros(len(z), int))
    cost = first.objective(first.residuals(z))
    order = np.argsort(cost, kind="stable")
    order = order[np.isfinite(cost[order])][:keep]
    return z[order] if len(order) else z[:1]


def project(problem: Problem, nodes: np.ndarray, linear: list[int]) -> np.ndarray:
    """Solve for the linear parameters of every node, within their bounds, by weighted least squares.

    In log space the residual ln f - ln y is replaced by (f - y)/y: the same to first order, and linear.
    Bounded solutions are found by trying every subset of parameters held at their lower bound.
    """
    form, y = problem.form, problem.y[0]
    weight = problem.weight[0] * np.sqrt(problem.count[0]) / (y if problem.log else 1.0)

    def curve(amounts: np.ndarray) -> np.ndarray:
        """The curve of every node with these linear parameters, 0 where it is not finite."""
        at = nodes.copy()
        at[:, linear] = amounts
        with np.errstate(all="ignore"):
            found = form.function(problem.x, *(at[:, k, None] for k in range(nodes.shape[1])))
        return np.where(np.isfinite(found), found, 0.0) * np.ones((len(nodes), 1))

    constant = curve(np.zeros(len(linear)))  # what linear parameters that are held add
    one = float(_near_power_of_two(np.median(np.abs(y))))  # of their units
    design = np.stack([curve(unit) - constant for unit in one * np.eye(len(linear))], axis=-1)
    design = design * weight[:, None]
    size = np.maximum(np.sqrt(np.mean(design**2, axis=1)), TINY)  # columns to unit size: conditioning
    scaled = design / size[:, None]
    target = (y - constant) * weight
    floors = np.array([form.parameters[j].low for j in linear])
    floors = np.where(np.isfinite(floors), floors, -np.inf)
    floored = [i for i in range(len(linear)) if np.isfinite(floors[i])]
    best = np.full(len(nodes), np.inf)
    answer = np.ones((len(nodes), len(linear)))
    subsets = chain.from_iterable(combinations(floored, k) for k in range(len(floored) + 1))
    for fixed in subsets:
        free = [i for i in range(len(linear)) if i not in fixed]
        c = np.zeros_like(answer)
        for i in fixed:
            c[:, i] = floors[i] / one * size[:, i]
        rest = target - np.einsum("bni,bi->bn", scaled, c)
        if free:
            part = scaled[:, :, free]
            gram = np.einsum("bni,bnj->bij", part, part) + 1e-13 * y.size * np.eye(len(free))
            c[:, free] = np.linalg.solve(gram, np.einsum("bni,bn->bi", part, rest)[..., None])[..., 0]
        natural = c / size * one
        allowed = np.all(natural >= floors - 1e-12 * one, axis=1)
        cost = np.sum((target - np.einsum("bni,bi->bn", scaled, c)) ** 2, axis=1)
        better = allowed & (cost < best)
        best = np.where(better, cost, best)
        answer[better] = natural[better]
    solved = nodes.copy()
    solved[:, linear] = answer
    typical = np.median(np.abs(y)) / np.maximum(np.median(np.abs(design / weight[:, None]), axis=1), TINY)
    typical = typical * one
    for i, j in enumerate(linear):
        if form.parameters[j].log:  # a logarithm cannot start at zero
            solved[:, j] = np.maximum(solved[:, j], 1e-4 * typical[:, i])
    return solved


# --- 2: descent ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Minimum:
    """Where `minimise` arrived: coordinates (sets, p), objective (sets,), whether each has converged."""

    z: np.ndarray
    objective: np.ndarray
    converged: np.ndarray


MOST_SLOPES = 2**18  # search: derivatives taken at once, 2 MB, which stay in the cache
# search: curvature of Huber's ρ beyond the threshold over its weight; with 1, reweighting, steps are short,
# with 0, Newton's, they fail where few residuals are within (O'Leary 1990)
BEYOND = 0.5
CURVED = 0.5  # search: steps refused of late, each counting 0.8 of the next, from which on a valley is curved
PROBE = 0.1  # search: part of a step over which its curvature is measured
LARGEST_TURN = 0.375  # published: Transtrum and Sethna (2012), of half the acceleration over the step


def minimise(problem: Problem, z: np.ndarray, iterations: int = 200, tolerance: float = 1e-11) -> Minimum:
    """Projected Levenberg–Marquardt, one start a data set, all at once."""
    low, high = problem.bounds
    z = np.clip(np.array(z, float), low, high)
    r = problem.residuals(z)
    cost = problem.objective(r)
    damping, natural = np.full(len(z), 1e-3), problem.natural_scale
    done = ~np.isfinite(cost)
    quiet, crawling, refused = np.zeros(len(z), int), np.zeros(len(z), int), np.zeros(len(z))
    for _ in range(iterations):
        rows = np.flatnonzero(~done)
        if not len(rows):
            break
        part = problem.take(rows)
        curved = refused[rows] >= CURVED
        # memory that is new at every step is slow: derivatives of many data sets are taken part by part
        parts = 1 + rows.size * z.shape[1] * r.shape[1] // MOST_SLOPES
        if parts == 1:
            step, slope = _step(part, z[rows], r[rows], damping[rows], low, high, natural, curved)
        else:
            steps = [
                _step(problem.take(p), z[p], r[p], damping[p], low, high, natural, refused[p] >= CURVED)
                for p in np.array_split(rows, parts)
            ]
            step, slope = (np.concatenate(each) for each in zip(*steps, strict=True))
        trial = _clipped(z[rows] + step, low, high)
        r_trial = part.residuals(trial)
        cost_trial = part.objective(r_trial)
        better = cost_trial < cost[rows]
        gain = np.where(better, cost[rows] - cost_trial, 0.0)
        small = gain <= tolerance * np.abs(cost[rows]) + 1e-32 * problem.unit**2
        moved = np.max(np.abs(trial - z[rows]) / (1e-8 + np.abs(z[rows])), axis=1)
        accepted = rows[better]
        z[accepted], r[accepted], cost[accepted] = trial[better], r_trial[better], cost_trial[better]
        refused[rows] = 0.8 * refused[rows] + ~better
        damping[rows] = damping[rows] * np.where(better, np.where(curved, 0.7, 0.2), 4)
        damping[rows] = np.clip(damping[rows], 1e-12, 1e12)
        # converged: three times in a row neither a step nor a shorter one gains anything; a rejected step
        # counts only where its slope promised nothing: a parameter with hardly any effect makes steps so long
        # that they fail far from a minimum, too
        quiet[rows] = np.where(small, quiet[rows] + 1, 0)
        flat = (damping[rows] > 1e3) & (slope <= FLAT * np.abs(cost[rows]) + 1e-32 * problem.unit**2)
        stuck = (quiet[rows] >= 3) & (better | flat | (moved < 1e-9))
        # in a valley that the data do not close, steps go on for ever and gain nothing that matters
        crawling[rows] = np.where(gain <= 1e-5 * cost[rows], crawling[rows] + 1, 0)
        done[rows] = stuck | (damping[rows] >= 1e12) | (crawling[rows] >= 25)
    return Minimum(z, cost, done & np.isfinite(cost))


MET = 1e-6  # search: in coordinates; starts nearer than that have met


def minimise_together(problem: Problem, z: np.ndarray, tolerance: float) -> Minimum:
    """`minimise` for starts of one data set, of which those that have met are followed as one."""
    apart = np.abs(z[:, None] - z).max(axis=2) > MET * (1 + np.abs(z).max(axis=1))
    first = np.argmin(apart, axis=1)
    once, back = np.unique(first, return_inverse=True)
    found = minimise(problem, z[once], tolerance=tolerance)
    return Minimum(found.z[back], found.objective[back], found.converged[back])


def _step(
    problem: Problem, z: np.ndarray, r: np.ndarray, damping: np.ndarray, low: np.ndarray, high: np.ndarray,
    natural: np.ndarray, curved: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The damped step of every data set, (sets, p), and what it gains to first order, (sets,).

    In a `curved` valley (sets,) straight steps are short: half the acceleration of the geodesic is added to
    them, where it is the smaller part (Transtrum and Sethna 2012).
    """
    jacobian = problem.jacobian(z, r)
    weight = curvature = problem.counts
    if problem.robust:
        weight = weight * np.minimum(1.0, problem.thresholds / np.maximum(np.abs(r), TINY))
        curvature = np.where(weight < problem.counts, BEYOND * weight, weight)
    gradient = ((weight * r)[:, None] @ jacobian)[:, 0]
    hessian = jacobian.transpose(0, 2, 1) @ (curvature[..., None] * jacobian)
    # a parameter at its bound whose step leads outside stays there
    fixed = ((z <= low) & (gradient > 0)) | ((z >= high) & (gradient < 0))
    diagonal = np.einsum("bpp->bp", hessian)
    # what has less effect than differences resolve has no slope to step by
    effect = np.max(diagonal * natural**2, axis=1, keepdims=True)
    scale = np.maximum(diagonal, RESOLVED**2 * effect / natural**2 + TINY)
    size = 1 / np.sqrt(scale)
    scaled = hessian * size[:, :, None] * size[:, None, :]
    free = ~fixed
    scaled = scaled * free[:, :, None] * free[:, None, :]
    count = z.shape[1]
    scaled[:, np.arange(count), np.arange(count)] = np.where(free, 1.0 + damping[:, None], 1.0)
    right = np.where(free, -gradient * size, 0.0)
    step = np.linalg.solve(scaled, right[..., None])[..., 0] * size
    slope = -np.sum(step * gradient, axis=1)
    if curved is not None and curved.any():
        rows = np.flatnonzero(curved)
        z, r, jacobian, step_there = z[rows], r[rows], jacobian[rows], step[rows]
        weight = weight[rows] if len(weight) > 1 else weight
        with np.errstate(all="ignore"):  # the form may end before the step does
            there = problem.take(rows).residuals(_clipped(z + PROBE * step_there, low, high))
            bent = ((there - r) / PROBE - (jacobian @ step_there[..., None])[..., 0]) * 2 / PROBE
            pull = ((weight * bent)[:, None] @ jacobian)[:, 0]
            pull = np.where(free[rows] & np.isfinite(pull), pull, 0.0)
            turn = np.linalg.solve(scaled[rows], (-pull * size[rows])[..., None])[..., 0] / 2
            most = LARGEST_TURN * np.linalg.norm(step_there / size[rows], axis=1)
            smaller = np.linalg.norm(turn, axis=1) < most
            step[rows] += np.where(smaller[:, None], turn * size[rows], 0.0)
    return step, slope
