"""How much less compute one recipe needs than another: `speedup(a, b)`.

Both recipes follow one law, that of A reached with e^s times less compute: L_B(C) = f(C), L_A(C) = f(C e^s),
with s constant, or s = s₀ + s₁ ln(C/C₀) where the factor may change with compute. f is a power law with or
without an offset. One joint fit gives s, and `uncertainty.intervals` its interval: of the profile where every
point is a run of its own, of refits to resampled residuals of whole runs where runs have several points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws.fitting.fit import automatic, fit
from scalinglab.laws.fitting.law import Law, bootstrap
from scalinglab.laws.fitting.uncertainty.intervals import Quantity, interval
from scalinglab.laws.forms.base import Form, Parameter
from scalinglab.laws.forms.one_variable import COARSE
from scalinglab.results.distributions import FEWEST, WithEnds, check_level
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.types import Reason, Remark, noted
from scalinglab.support.validation import checked

PARAMETERS = (
    Parameter("offset", 0.0, linear=True),
    Parameter("amplitude", 0.0, linear=True, log=True),
    Parameter("exponent", 0.0, 20.0, start=COARSE),
    Parameter("shift", -20.0, 20.0, start=(-0.7, 0.0, 0.7)),
    Parameter("drift", -5.0, 5.0, start=(0.0,)),
)


def _joint(without: set[str]) -> Form:
    """One law for both recipes; `place` is ln(C/C0), `faster` is 1 for A and 0 for B.

    Args:
        without: parameters that are 0: the offset, the drift.
    """
    free = tuple(p for p in PARAMETERS if p.name not in without)

    def function(x: Any, *values: Any) -> Any:
        named = dict.fromkeys(without, 0.0) | {p.name: v for p, v in zip(free, values, strict=True)}
        reach = np.log(x[0]) + x[1] * (named["shift"] + named["drift"] * x[2])
        return named["offset"] + named["amplitude"] * np.exp(-named["exponent"] * reach)

    return Form(
        "speedup", "E + A (C e^(shift + drift ln(C/C0)))^-c", free, function,
        variables=("compute", "faster", "place"), zeros=("faster", "place"),
    )  # fmt: skip


@dataclass(frozen=True)
class Speedup(NotebookResult, WithEnds):
    """How many times less compute A needs than B for the same loss.

    Attributes:
        factor: above 1 where A is better.
        low, high: its interval.
        level: of the interval.
        at: the compute (of A) that it holds for; two numbers for a range, over which ln(factor) is averaged.
        law: the joint fit.
        parallel: whether one factor was fitted for all computes.
        notes: what a reader should know about the runs.
    """

    factor: float
    low: float
    high: float
    level: float
    at: tuple[float, ...]
    law: Law
    parallel: bool
    notes: tuple[Reason, ...] = ()

    def predict(self, compute: Any, recipe: str) -> Any:
        """The loss of recipe "A" or "B" at a compute, by the joint fit."""
        spent, (seen, _, places) = np.asarray(compute, float), self.law.points.x
        start = np.log(seen).max() - places.max()  # from which the change of the factor is counted
        place = np.zeros_like(spent) if self.parallel else np.maximum(np.log(spent) - start, 0.0)
        return self.law.at((spent, np.full_like(spent, recipe == "A"), place))

    @property
    def remarks(self) -> Iterator[Remark]:
        where = "" if self.parallel else Reason("at_compute", at=tuple(self.at))
        found = {"low": self.low, "high": self.high, "factor": self.factor}
        code = "speedup"
        if not self.low > 1:
            found = {"low": 1 / self.high, "high": 1 / self.low, "factor": 1 / self.factor}
            code = "slowdown" if self.high < 1 else "no_speedup"
        yield Reason(code, where=where, level=self.level, **found)
        yield from noted(self.notes)


@checked
def speedup(
    a: Any, b: Any, *, at: Any = None, parallel: bool = True, form: str = "auto", level: float = 0.95,
    draws: int = 999, x: str = "compute", y: str = "loss", reduce: str = "auto",
    nan_policy: str = "raise",
) -> Speedup:  # fmt: skip
    """How many times less compute recipe A needs than recipe B to reach the same loss.

    Args:
        a, b: curves (a table, with columns x and y), or (compute, loss) or (compute, loss, runs) each.
        at: a compute, or two for a range; default: the range that both recipes cover. It matters where
            `parallel` is False.
        parallel: one factor at every compute; False lets ln(factor) change linearly with ln(compute), which
            five points a curve and more can show it.
        form: "power_law", "power_law_offset", or "auto", as in `scalinglab.laws.fit`.
        level: of the interval.
        draws: refits on resampled runs, where runs have several points each.
        x, y, reduce: columns, and which rows of a run count, where tables are given.
        nan_policy: "raise" on points that cannot be used, or "drop" them.

    >>> compute = np.geomspace(1e18, 1e21, 4)
    >>> loss = 2 * (compute / 1e18) ** -0.1
    >>> found = speedup((compute / 1.3, loss), (compute, loss))
    >>> round(found.factor, 6)
    1.3
    """
    check_level(level)
    sides = [_points(side, name, x, y, reduce) for side, name in ((a, "A"), (b, "B"))]
    law = _fit(sides, form, parallel, nan_policy)
    if law.dof < 1:
        raise BadInput(f"{len(law.points.y)} points leave nothing to judge the noise by: add a run or two")
    compute, is_a = law.points.x[:2]  # without those that were dropped
    place = _place(at, [compute[is_a == 1], compute[is_a == 0]])
    distance = 0.0 if parallel else float(np.mean(np.log(place)) - _start(sides))
    weights = np.array([{"shift": 1.0, "drift": distance}.get(name, 0.0) for name in law.form.names])
    factor = Quantity(lambda parameters, _: parameters @ weights, np.array([True]))
    # drawing runs may leave a recipe without any; flipping their residuals does not
    drawn = bootstrap(law, draws, scheme="wild") if law.points.resampled else None
    (low,), (high,) = interval(law, factor, level, drawn=drawn)
    first, last = compute.min(), compute.max()
    notes: tuple[Reason, ...] = ()
    if min(place) < first or max(place) > last:
        notes = (Reason("beyond_the_runs", first=float(first), last=float(last)),)
    value = float(np.exp(law.values @ weights))
    return Speedup(value, float(low), float(high), level, place, law, parallel, notes)


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
    without = {"drift"} if parallel else set()
    known = {"power_law": _joint({"offset"} | without), "power_law_offset": _joint(without)}
    if form not in (*known, "auto"):
        raise BadInput(f"form={form!r} must be 'auto', 'power_law' or 'power_law_offset'")
    chosen = known[automatic(compute) if form == "auto" else form]
    return fit(chosen, inputs, loss, loss="squared", runs=runs, nan_policy=nan_policy)
