"""Planning with a fitted law: questions that have a number for an answer.

- `size_for(law, target)`: how much data (or whatever x is) for the error y?
- `still_power_law(x, y)`: is the curve still in its power law?
- `next_runs(...)`: which runs would shrink the interval of the prediction that matters?
- `approaches(...)`: the three ways to the compute-optimal model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws import forms
from scalinglab.laws.extrapolation.stacking import Continuation
from scalinglab.laws.fitting import bend
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.data.from_curves import Rows, points_from
from scalinglab.laws.fitting.fit import AUTO, fit_points, table_outlier_note
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.planning.candidates import law_or_continuation
from scalinglab.laws.planning.next_runs import NextRuns, next_runs
from scalinglab.results.distributions import Estimate, Student, interval
from scalinglab.results.sentences import Column
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.support.lazy import lazily
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    from scalinglab.laws.planning.three_ways import Approaches, approaches

__all__ = [
    "Answer", "Approaches", "NextRuns", "Straightness", "approaches", "next_runs", "size_for",
    "still_power_law",
]  # fmt: skip
# loaded on first use: `answer` does not need it
__getattr__, _ = lazily(
    "scalinglab.laws.planning", {"Approaches": "three_ways", "approaches": "three_ways"}, onto=__name__
)

PLACES = 160  # search: sizes that are tried for a target; in between a law is straight on log axes


class Answered(Worded):
    """An answer in one sentence, with its reason as data."""

    reason: Reason

    @property
    def remarks(self) -> Iterable[Remark]:
        return (self.reason,)

    @property
    def text(self) -> str:
        """The answer in words."""
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "text": self.text, "reason": self.reason.to_dict()}


@dataclass(frozen=True, kw_only=True)
class Answer(Answered, Estimate):
    """A number with its interval; infinite where the law never reaches the target, 0 where it starts there.

    Attributes:
        reason: the answer as data.
        form: of the law, or the forms that `extrapolate` averages.
        notes: what was done to the points.
    """

    reason: Reason
    form: str = ""
    notes: tuple[Reason, ...] = ()


@checked
def size_for(
    given: Law | Continuation | Any,
    target: float,
    *,
    x: str | None = None,
    y: str | None = None,
    form: str = "auto",
    reduce: str = "auto",
    level: float = 0.95,
    farthest: float = 1e6,
    **rows: Unpack[Rows],
) -> Answer:
    """The x at which a falling law reaches y = target: how much data for that error?

    The interval holds every x at which the target lies within the law's interval.

    Args:
        given: a `Law` of one variable, a `Continuation`, or a table of curves.
        target: the y that is wanted.
        x, y, reduce, rows: columns of the table and which rows count, as in `scalinglab.laws.fit`.
        form: of the law fitted to the table; "auto" is the result of `extrapolate` for its points.
        farthest: how many times the largest x to look.

    A target that is a `Share` is printed in percent.
    """
    law, size, measured = law_or_continuation(given, x, y, form, reduce, **rows)
    points.positive(target=target)
    if "error" in measured and target >= 1 > law.points.y.max():
        raise BadInput(
            f"target={target:g}: {measured} is a fraction below 1 (percent are divided by 100 when they are "
            "read): give 0.05 for 5 % (--target also takes 5%); for an accuracy give 1 - accuracy"
        )
    grid = _search_grid(law, target, level, farthest)
    curve, (low, high) = np.asarray(law.predict(grid)), law.interval(grid, level)
    if curve[-1] > curve[0]:
        raise BadInput(
            f"this {_name(law)} rises with {size}, from {curve[0]:.4g} to {curve[-1]:.4g}: more {size} does "
            f"not bring it down to {measured} = {target:g}"
        )
    value, first, last = (_crossing(grid, values, target) for values in (curve, low, high))
    if value <= grid[0]:
        first, last = 0.0, max(last, grid[0])
    elif np.isfinite(value):
        first = first if grid[0] < first else 0.0  # nothing was looked at below
        first, last = min(first, value), max(last, value)
    asked = {"x": Column(size), "y": Column(measured), "target": target}
    ends = {"level": level, "low": float(first), "high": float(last)}
    if value <= grid[0]:
        value = 0.0
        code = "any_size_of_error" if "error" in measured and 1 - target < curve[0] else "any_size"
        reason = Reason(code, **asked, at=float(grid[0]), there=type(target)(curve[0]))
    elif np.isfinite(value) and value > (largest := law.points.x.max()):
        reason = Reason("size_beyond", **asked, **ends, value=float(value), beyond=float(value / largest))
    elif np.isfinite(value):
        reason = Reason("size_for", **asked, **ends, value=float(value))
    else:
        there = {"at": float(grid[-1]), "there": type(target)(curve[-1])}
        code = "never_but_perhaps" if np.isfinite(first) else "never"
        reason = Reason(code, **asked, **there, **ends)
    rests_on: dict[str, Any] = {"form": _name(law), "notes": law.points.notes}
    return Answer(float(value), low=float(first), high=float(last), reason=reason, **rests_on)


def _search_grid(law: Law | Continuation, target: float, level: float, farthest: float) -> np.ndarray:
    """The sizes to try, evenly in the log.

    A continuation begins at the smallest point, and ends at the largest where the target is reached by then.
    """
    low, high = float(law.points.x.min()), float(law.points.x.max())
    if isinstance(law, Law):
        return np.geomspace(low / 10, high * farthest, PLACES)
    reached = np.ravel(law.interval(np.array([high]), level).high)[0] <= target
    return np.geomspace(low, high if reached else high * farthest, PLACES)


def _crossing(x: np.ndarray, y: Any, level: float) -> float:
    """Where a falling curve first reaches a level, by interpolation in the logs; infinity if never."""
    y = np.maximum(np.asarray(y, float), 1e-300)
    below = np.flatnonzero(y <= level)
    if not len(below):
        return float("inf")
    i = int(below[0])
    if i == 0 or not np.isfinite(y[i - 1]):
        return float(x[i])
    share = (np.log(y[i - 1]) - np.log(level)) / (np.log(y[i - 1]) - np.log(y[i]))
    return float(np.exp(np.log(x[i - 1]) + share * np.log(x[i] / x[i - 1])))


def _name(law: Law | Continuation) -> str:
    return law.form.name if isinstance(law, Law) else law.name


@dataclass(frozen=True)
class Straightness(Answered):
    """Whether points in log-log lie on a straight line.

    Attributes:
        straight: True, False, or None where the points could not have shown a bend that matters.
        change: of the local exponent from the first size to the last (negative: it flattens), with its 95 %
            interval.
        exponent_first, exponent_last: the local exponents there.
        p_value: of a straight line.
        reason: what was seen.
        notes: what a reader should know about the points.
    """

    straight: bool | None
    change: float
    low: float
    high: float
    exponent_first: float
    exponent_last: float
    p_value: float
    reason: Reason
    notes: tuple[Reason, ...] = ()

    @property
    def steepens(self) -> bool:
        """Whether a bend is seen, and the curve falls faster beyond it."""
        return self.straight is False and abs(self.exponent_last) > abs(self.exponent_first)

    @property
    def remarks(self) -> Iterable[Remark]:
        code = {True: "still_straight", False: "no_more_straight", None: "perhaps_straight"}[self.straight]
        return (Reason(code, why=self.reason),)


@checked
def still_power_law(
    *data: Any,
    x: Any = None,
    y: Any = None,
    reduce: str = "auto",
    level: float = 0.95,
    matters: float = 0.25,
    where: Mapping[str, Any] | None = None,
    mixed: bool = False,
    nan_policy: str = "raise",
) -> Straightness:
    """Is the curve still in its power law? ``still_power_law(x, y)``, or ``still_power_law(curves)``.

    Fits ln y = a - b u + c u² in u = ln x and tests whether c differs from zero. Where the interval of the
    change of exponent holds both zero and more than `matters` of the exponent, an F test of the floor in E +
    A x^-c decides, since few points show a floor sooner than a parabola; else the answer is "cannot tell".
    Each test has the level `level`, so slightly more than 1 - level of straight curves are said to bend.

    Args:
        data: x and y as arrays, or a table of curves.
        x, y, reduce, where, mixed: columns of the table and which rows count, as in `scalinglab.laws.fit`.
        nan_policy: "raise" on points that cannot be used, or "drop" them.
    """
    table = points_from(data, x, y, reduce=reduce, where=where, mixed=mixed)
    used = points.check(table.x, table.y, nan_policy=nan_policy)
    if used.sizes < 4:
        raise BadInput(Reason("few_sizes_for_a_bend", sizes=used.sizes))
    notes = (*table.notes, *used.notes, *table_outlier_note(table, nan_policy))
    u, v = np.log(used.x), np.log(used.y)
    found = _bend_of_line(u, v, level, matters, notes)
    if found.straight is None and (floor := _floor(used)).pvalue < 1 - level:
        reason = Reason("floor_seen", p=floor.pvalue, parabola=found.p_value)
        return replace(found, straight=False, p_value=floor.pvalue, reason=reason)
    return found


def _floor(used: points.Points) -> bend.Bend:
    return bend.of_floor(*(fit_points(forms.get(name), used, loss="squared") for name in ("power_law", AUTO)))


def _bend_of_line(
    u: np.ndarray, v: np.ndarray, level: float, matters: float, notes: tuple[Reason, ...]
) -> Straightness:
    """The answer by a parabola of v = ln y in u = ln x."""
    fitted = bend.of_line(u, v)
    middle = (u.min() + u.max()) / 2
    mean = -float(np.polyfit(u - middle, v, 2)[1])  # the local exponent in the middle
    start, end = mean - fitted.change / 2, mean + fitted.change / 2
    low, high = interval(Student(fitted.change, fitted.change_error, fitted.dof), level)
    p = fitted.pvalue
    if p < 1 - level and abs(fitted.change) > 1e-6:
        straight: bool | None = False
        code, details = "flattens" if abs(end) < abs(start) else "steepens", {"first": start, "last": end}
    elif max(abs(low), abs(high)) > matters * abs(mean):
        straight, code = None, "bend_hidden"
        details = {"exponent": abs(mean), "low": low, "high": high}
    else:
        straight, code = True, "straight"
        details = {"exponent": abs(mean), "low": low, "high": high}
    return Straightness(
        straight, fitted.change, low, high, start, end, p, Reason(code, **details, p=p), notes
    )
