"""How much less compute one recipe needs than another: `speedup(a, b)`.

Both recipes follow one law, that of A reached with e^s times less compute: L_B(C) = f(C), L_A(C) = f(C e^s),
with s constant, or s = s₀ + s₁ ln(C/C₀) where the factor may change with compute. f is a power law with or
without an offset. One joint fit gives s. Its interval comes from resampling runs: the residuals of whole
runs, corrected for leverage, are drawn again, the law is refitted and s is studentised (a bootstrap-t), since
with four points a curve percentiles alone are too narrow. Fewer than 24 runs of one point each have too few
residuals to draw from: there the noise is drawn from a Gaussian of their size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws.fitting import least_squares
from scalinglab.laws.fitting.fit import best, fit, scores
from scalinglab.laws.fitting.law import Interval, Law
from scalinglab.laws.fitting.resampling import leverage
from scalinglab.laws.forms.base import Form, Parameter
from scalinglab.results.notebook import NotebookResult
from scalinglab.support.words import percent

EXPONENTS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0)
FEWEST = 3  # points a curve
FEWEST_RESIDUALS = 24  # runs from which residuals themselves are resampled


SHIFT = Parameter("shift", -20.0, 20.0, start=(-0.7, 0.0, 0.7))
DRIFT = Parameter("drift", -5.0, 5.0, start=(0.0,))


def _joint(with_offset: bool, with_drift: bool) -> Form:
    """One law for both recipes; `place` is ln(C/C0), `faster` is 1 for A and 0 for B."""
    parameters = (
        *((Parameter("offset", 0.0, linear=True),) if with_offset else ()),
        Parameter("amplitude", 0.0, linear=True, log=True),
        Parameter("exponent", 0.0, 20.0, start=EXPONENTS),
        SHIFT,
        *((DRIFT,) if with_drift else ()),
    )

    def split(values: tuple[Any, ...]) -> tuple[Any, Any, Any, Any, Any]:
        offset, rest = (values[0], values[1:]) if with_offset else (0.0, values)
        return offset, *rest[:3], rest[3] if with_drift else 0.0

    def function(x: Any, *values: Any) -> Any:
        offset, amplitude, exponent, shift, drift = split(values)
        speed = x[1] * (shift + drift * x[2])
        return offset + amplitude * np.exp(-exponent * (np.log(x[0]) + speed))

    def gradient(x: Any, *values: Any) -> tuple[Any, ...]:
        _, amplitude, exponent, shift, drift = split(values)
        reach = np.log(x[0]) + x[1] * (shift + drift * x[2])
        power = np.exp(-exponent * reach)
        slope = -amplitude * exponent * power * x[1]
        parts = (power, -amplitude * power * reach, slope)
        return (
            *((np.ones_like(power),) if with_offset else ()), *parts, *((slope * x[2],) if with_drift else ())
        )  # fmt: skip

    equation = ("E + " if with_offset else "") + "A (C e^(shift" + (
        " + drift ln(C/C0)" if with_drift else "") + "))^-c"  # fmt: skip
    return Form(
        "speedup", equation, parameters, function, gradient=gradient,
        variables=("compute", "faster", "place"), zeros=("faster", "place"),
    )  # fmt: skip


@dataclass(frozen=True)
class Speedup(NotebookResult):
    """How many times less compute A needs than B for the same loss.

    Attributes:
        factor: above 1 where A is better.
        low, high: its interval, from resampling runs.
        level: of the interval.
        at: the compute (of A) that it holds for; two numbers for a range, over which ln(factor) is averaged.
        law: the joint fit.
        draws: refits behind the interval.
        parallel: whether one factor was fitted for all computes.
        notes: what a reader should know about the runs.
    """

    factor: float
    low: float
    high: float
    level: float
    at: tuple[float, ...]
    law: Law
    draws: int
    parallel: bool
    notes: tuple[str, ...] = ()

    @property
    def interval(self) -> Interval:
        """The two ends."""
        return Interval(self.low, self.high)

    def predict(self, compute: Any, recipe: str) -> Any:
        """The loss of recipe "A" or "B" at a compute, by the joint fit."""
        spent, (seen, _, places) = np.asarray(compute, float), self.law.points.x
        start = np.log(seen).max() - places.max()  # from which the change of the factor is counted
        place = np.zeros_like(spent) if self.parallel else np.maximum(np.log(spent) - start, 0.0)
        return self.law.predict((spent, np.full_like(spent, recipe == "A"), place))

    def summary(self) -> str:
        """The answer in a sentence."""
        place = " … ".join(f"{c:.3g}" for c in self.at)
        where = f" at a compute of {place}" if not self.parallel else ""
        best = f"best estimate {self.factor:.3g} times"
        if self.low > 1:
            text = f"A needs {self.low:.3g}–{self.high:.3g} times less compute than B"
        elif self.high < 1:
            text = f"A needs {1 / self.high:.3g}–{1 / self.low:.3g} times more compute than B"
            best = f"best estimate {1 / self.factor:.3g} times"
        else:
            text = f"no significant difference: {self.low:.3g}–{self.high:.3g} times less compute than B"
        lines = [
            f"{text}{where} ({percent(self.level)}; {best})",
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)


def speedup(
    a: Any, b: Any, *, at: Any = None, parallel: bool = True, form: str = "auto", level: float = 0.9,
    draws: int = 999, seed: int = 0, x: str = "compute", y: str = "loss", reduce: str = "auto",
    nan_policy: str = "raise",
) -> Speedup:  # fmt: skip
    """How many times less compute recipe A needs than recipe B to reach the same loss.

    Args:
        a, b: curves (a table, with columns x and y), or (compute, loss) or (compute, loss, runs) each.
        at: a compute, or two for a range; default: the range that both recipes cover. It matters where
            `parallel` is False.
        parallel: one factor at every compute; False lets ln(factor) change linearly with ln(compute), which
            five points a curve and more can show it.
        form: "power_law", "power_law_offset", or "auto", the better by AICc.
        level: of the interval.
        draws: refits on resampled runs.
        seed: of the resampling.
        x, y, reduce: columns, and which rows of a run count, where tables are given.
        nan_policy: "raise" on points that cannot be used, or "drop" them.

    >>> compute = np.geomspace(1e18, 1e21, 4)
    >>> loss = 2 * (compute / 1e18) ** -0.1
    >>> found = speedup((compute / 1.3, loss), (compute, loss))
    >>> round(found.factor, 6)
    1.3
    """
    if not 0 < level < 1:
        raise BadInput(f"level={level!r} must lie between 0 and 1, as in 0.9")
    sides = [_points(side, name, x, y, reduce) for side, name in ((a, "A"), (b, "B"))]
    law = _fit(sides, form, parallel, nan_policy)
    compute, is_a = law.points.x[:2]  # without those that were dropped
    place = _place(at, [compute[is_a == 1], compute[is_a == 0]])
    weights = np.array([1.0, 0.0 if parallel else float(np.mean(np.log(place)) - _start(sides))])
    value = float(weights @ _shifts(law, law.values[None])[0])
    spread = _spread(law, law.coordinates[None], weights)[0]
    t = _studentised(law, weights, value, draws, seed)
    # the k-th of n draws has k/(n + 1) below it on average
    tails = np.quantile(t, [0.5 + level / 2, 0.5 - level / 2], method="weibull")
    low, high = value - tails * spread
    return Speedup(
        float(np.exp(value)), float(np.exp(low)), float(np.exp(high)), level, place, law, draws, parallel,
        _notes(place, compute),
    )  # fmt: skip


def _notes(place: tuple[float, ...], compute: np.ndarray) -> tuple[str, ...]:
    """A note where a compute lies outside the runs of both recipes."""
    low, high = compute.min(), compute.max()
    if low <= min(place) and max(place) <= high:
        return ()
    return (f"the runs cover {low:.3g} … {high:.3g}: beyond them the answer rests on the form of the law",)


def _points(side: Any, name: str, x: str, y: str, reduce: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute, loss and run of every point of a recipe."""
    if isinstance(side, (tuple, list)):
        if len(side) not in (2, 3):
            raise BadInput(
                f"recipe {name} holds {len(side)} arrays: give (compute, loss) or (compute, loss, runs)"
            )
        compute, loss = (np.asarray(v, float).ravel() for v in side[:2])
        runs = np.asarray(side[2]).ravel() if len(side) == 3 else np.arange(len(compute))
    else:
        from scalinglab.laws.fitting.data.from_curves import points_of

        table = points_of(side, x, y, reduce=reduce)
        compute, loss, runs = table.x, table.y, table.runs
    if not len(compute) == len(loss) == len(runs):
        raise BadInput(f"recipe {name} has {len(compute)} computes and {len(loss)} losses: give one of each")
    if len(np.unique(compute)) < FEWEST:
        raise BadInput(
            f"recipe {name} has {len(np.unique(compute))} computes: a speedup needs {FEWEST} or more"
        )
    return compute, loss, runs


def _start(sides: list[Any]) -> float:
    """ln of the lowest compute, from which the change of the factor is counted."""
    compute = np.concatenate([side[0] for side in sides])
    return float(np.log(np.min(compute, where=compute > 0, initial=np.inf)))


def _place(at: Any, computes: list[np.ndarray]) -> tuple[float, ...]:
    if at is not None:
        place = tuple(float(v) for v in np.atleast_1d(np.asarray(at, float)))
        if len(place) > 2 or not all(v > 0 for v in place):
            raise BadInput(f"at={at!r} must be a positive compute, or two for a range")
        return place
    low = max(compute.min() for compute in computes)
    high = min(compute.max() for compute in computes)
    if low >= high:
        raise BadInput("the recipes share no range of compute: give at=, a compute or two for a range")
    return float(low), float(high)


def _fit(sides: list[Any], form: str, parallel: bool, nan_policy: str = "raise") -> Law:
    compute = np.concatenate([side[0] for side in sides])
    faster = np.concatenate([np.full(len(side[0]), 1.0 - i) for i, side in enumerate(sides)])
    runs = [f"{name}{run}" for name, side in zip("ab", sides, strict=True) for run in side[2]]
    inputs = (
        compute,
        faster,
        np.zeros(len(compute)) if parallel else np.maximum(np.log(compute) - _start(sides), 0.0),
    )
    loss = np.concatenate([side[1] for side in sides])
    known = {"power_law": _joint(False, not parallel), "power_law_offset": _joint(True, not parallel)}
    if form not in (*known, "auto"):
        raise BadInput(f"form={form!r} must be 'auto', 'power_law' or 'power_law_offset'")
    options: dict[str, Any] = {"loss": "squared", "runs": runs, "nan_policy": nan_policy}
    if form == "auto":
        form = best({name: scores([law], inputs, loss, **options)[law.name] for name, law in known.items()})
    return fit(known[form], inputs, loss, **options)


def _shifts(law: Law, values: np.ndarray) -> np.ndarray:
    """(sets, 2): shift and drift of every parameter set."""
    names = law.form.names
    held = np.zeros(len(values))
    return np.stack([values[:, names.index(n)] if n in names else held for n in ("shift", "drift")], axis=1)


def _spread(law: Law, z: np.ndarray, weights: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """The standard error of ln(factor) in the linearised fit of every data set."""
    problem = law.problem if y is None else replace(law.problem, y=y)
    jacobian = problem.jacobian(z) * np.sqrt(problem.counts)[..., None]
    r = problem.residuals(z)
    dof = max(r.shape[1] - z.shape[1], 1)
    gram = np.einsum("bnp,bnq->bpq", jacobian, jacobian)
    size = 1 / np.sqrt(np.maximum(np.einsum("bpp->bp", gram), least_squares.TINY))
    inverse = np.linalg.pinv(gram * size[:, :, None] * size[:, None], hermitian=True)
    inverse = inverse * size[:, :, None] * size[:, None]
    names = law.form.names
    g = np.array([weights[("shift", "drift").index(n)] if n in ("shift", "drift") else 0.0 for n in names])
    variance = np.sum(r**2, axis=1) / dof * np.einsum("p,bpq,q->b", g, inverse, g)
    return np.asarray(np.sqrt(np.maximum(variance, 1e-30)))


def _studentised(law: Law, weights: np.ndarray, value: float, draws: int, seed: int) -> np.ndarray:
    """(ln factor − best)/standard error of refits to resampled residuals, whole runs at a time."""
    if law.dof < 1:
        raise BadInput(f"{len(law.points.y)} points leave nothing to judge the noise by: add a run or two")
    random = np.random.default_rng(seed)
    labels, which = np.unique(law.points.runs, return_inverse=True)
    corrected = law.residuals / np.sqrt(np.maximum(1 - leverage(law), 0.05))
    if len(labels) == len(which) < FEWEST_RESIDUALS:
        # a handful of residuals has no tails to draw from: noise of their size, which makes Student's t
        scale = np.sqrt(float(law.residuals @ law.residuals) / law.dof)
        noise = scale * random.standard_normal((draws, len(labels)))
    elif len(labels) == len(which):
        noise = (corrected - corrected.mean())[random.integers(len(labels), size=(draws, len(labels)))]
    else:
        noise = random.choice([-1.0, 1.0], size=(draws, len(labels)))[:, which] * corrected
    y = law.predict(law.points.x) * np.exp(noise)
    problem = replace(law.problem, y=y)
    found = least_squares.minimise(problem, np.tile(law.coordinates, (draws, 1)), iterations=60)
    moved = _shifts(law, problem.to_parameters(found.z)) @ weights - value
    return np.asarray(moved / _spread(law, found.z, weights, y))
