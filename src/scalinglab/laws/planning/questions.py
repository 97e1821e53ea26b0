"""Planning with a fitted law: questions that have a number for an answer.

- `size_for(law, y)`: how much data (or whatever x is) for the error y?
- `gain_from(law, x)`: what does twice as much buy?
- `still_power_law(x, y)`: is the curve still in its power law?
- `next_runs(...)`: which runs would shrink the interval of the prediction that matters?
- `approaches(...)`, `parabola_bias(...)`: the three ways to the compute-optimal model.
- `sensitivity(...)`: the same data under other choices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from scalinglab.deprecation import renamed_arguments, renamed_names
from scalinglab.errors import BadInput
from scalinglab.estimate import Estimate
from scalinglab.laws.fitting import points, profile, uncertainty
from scalinglab.laws.fitting.law import Law, level_quantile
from scalinglab.laws.planning.hoffmann import Approaches, ParabolaBias, parabola_bias
from scalinglab.laws.planning.hoffmann import compare as approaches
from scalinglab.laws.planning.next_runs import NextRuns, next_runs
from scalinglab.laws.planning.sensitivity import Sensitivity, sensitivity

__all__ = [
    "Answer", "Approaches", "Bend", "NextRuns", "ParabolaBias", "Sensitivity", "approaches", "gain_from",
    "next_runs", "parabola_bias", "sensitivity", "size_for", "still_power_law",
]  # fmt: skip


@dataclass(frozen=True)
class Answer(Estimate):
    """A number with its interval; infinite where the law never gets there, 0 where it begins there."""

    text: str = ""

    def summary(self) -> str:
        """The answer in words."""
        return self.text


def size_for(law: Law, y: float, *, level: float = 0.95, farthest: float = 1e6) -> Answer:
    """The x at which a falling law reaches y: how much data for that error?

    The interval holds every x at which y lies within the law's interval.

    Args:
        farthest: how many times the largest x to look.
    """
    _one_variable(law)
    points.positive(y=y)
    low, high = law.points.x.min(), law.points.x.max()
    grid = np.geomspace(low / 10, high * farthest, 400)
    curve = np.asarray(law.predict(grid))
    if curve[-1] > curve[0]:
        raise BadInput(
            f"this {law.form.name} rises with x, from {curve[0]:.4g} to {curve[-1]:.4g}: more x does not "
            f"bring it down to y = {y:g}"
        )
    value = _crossing(grid, curve, y)
    coarse = np.geomspace(low / 10, high * farthest, 60)
    ends = law.interval(coarse, level)
    first, last = _crossing(coarse, ends.low, y), _crossing(coarse, ends.high, y)
    if value <= grid[0]:
        text = f"any x, as far as this form tells: y = {y:g} lies above {curve[0]:.4g} at x = {grid[0]:.3g}"
        return Answer(0.0, low=0.0, high=float(max(last, grid[0])), text=text)
    if np.isfinite(value):
        # sharpen the ends where the coarse grid left them
        near = np.geomspace(
            max(min(first, value) / 1.6, low / 10), min(max(last, value) * 1.6, high * farthest), 40
        )
        sharp = (
            law.interval(near, level) if np.isfinite(last) else law.interval(near[near <= value * 2], level)
        )
        near = near[: len(np.ravel(sharp.low))]
        first = min(_crossing(near, sharp.low, y), value)
        first = first if first > grid[0] else 0.0  # nothing was looked at below
        last = max(_crossing(near, sharp.high, y), value) if np.isfinite(last) else last
        text = f"x = {value:.4g} ({level:.0%}: {first:.4g} … {_bound(last)}) for y = {y:g}"
        if value > high:
            text += f"; {value / high:.3g} times beyond the largest point"
    else:
        floor = float(curve[-1])
        text = f"never, as far as this form tells: y = {y:g} lies below {floor:.4g} at x = {grid[-1]:.3g}"
        if np.isfinite(first):
            text += f"; within the {level:.0%} interval from x = {first:.4g} on"
    return Answer(float(value), low=float(first), high=float(last), text=text)


def _bound(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "no bound"


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


def gain_from(law: Law, x: float | None = None, *, factor: float = 2.0, level: float = 0.95) -> Answer:
    """What `factor` times as much x buys: the ratio of the law at factor·x to the law at x.

    Args:
        x: from where; by default the largest point.
    """
    _one_variable(law)
    if not factor > 0 or factor == 1:
        raise BadInput(f"factor={factor!r} must be positive and other than 1")
    if x is not None and not x > 0:
        raise BadInput(f"x={x!r} must be positive")
    start = float(law.points.x.max()) if x is None else float(x)
    both = np.array([start, factor * start])

    def ratio(parameters: np.ndarray, which: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            curve = law.form.function(both, *(parameters[:, j, None] for j in range(parameters.shape[1])))
            return np.log(curve[:, 1]) - np.log(curve[:, 0])

    before, after = law.predict(both)
    if law.points.blocked:
        draws = uncertainty.bootstrap(law)
        curves = draws.predict(both)
        low, high = np.quantile(curves[:, 1] / curves[:, 0], draws.tails(level))
    else:
        ends = profile.along(law, ratio, 1, level_quantile(level, law.dof))
        low, high = np.exp(ends[0][0]), np.exp(ends[1][0])
    value = float(after / before)
    text = (
        f"{factor:g} times x = {start:.4g} takes y from {before:.4g} to {after:.4g}: "
        f"{100 * (value - 1):+.3g} % ({level:.0%}: {100 * (low - 1):+.3g} … {100 * (high - 1):+.3g} %)"
    )
    return Answer(value, low=float(low), high=float(high), text=text)


@dataclass(frozen=True)
class Bend:
    """Whether points in log-log lie on a straight line.

    Attributes:
        straight: True, False, or None where the points could not have shown a bend that matters.
        change: of the local exponent from the first size to the last (negative: it flattens), with its 95 %
            interval.
        exponent_first, exponent_last: the local exponents there.
        p_value: of a straight line.
        notes: what a reader should know about the points.
    """

    straight: bool | None
    change: float
    low: float
    high: float
    exponent_first: float
    exponent_last: float
    p_value: float
    text: str
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """The answer in words."""
        return self.text


@renamed_arguments(missing="nan_policy")
def still_power_law(
    x: Any,
    y: Any,
    *,
    runs: Any = None,
    level: float = 0.95,
    matters: float = 0.25,
    nan_policy: str = "raise",
) -> Bend:
    """Is the curve still in its power law?

    Fits ln y = a - b u + c u² in u = ln x and asks whether c differs from zero. "Cannot tell" where the
    interval of the change of exponent reaches both zero and more than `matters` of the exponent.

    Args:
        runs: the run of each point, to refuse several points of one run, which are not independent
            evidence: average them first.
        nan_policy: "raise" on points that cannot be used, or "drop" them.
    """
    data = points.check(x, y, runs=runs, nan_policy=nan_policy)
    if data.blocked:
        raise BadInput(
            "several points of one run: average them, or give the points of each size without runs"
        )
    if data.sizes < 4:
        raise BadInput(f"{data.sizes} sizes cannot show a bend: give four or more")
    u, v = np.log(data.x), np.log(data.y)
    centre = (u.min() + u.max()) / 2
    span = np.ptp(u)
    design = np.vander((u - centre) / span, 3)
    coefficients, _, _, _ = np.linalg.lstsq(design, v, rcond=None)
    rest = v - design @ coefficients
    dof = len(v) - 3
    variance = max(rest @ rest / max(dof, 1), 1e-24)
    error = float(np.sqrt(variance * np.linalg.inv(design.T @ design)[0, 0]))
    second, first = coefficients[0], coefficients[1]
    # the local exponent is -dv/du = -(first + 2 second s)/span at s = (u - centre)/span, s from -1/2 to 1/2
    change, width = -2 * second / span, 2 * error / span * level_quantile(level, dof)
    start, end = -(first - second) / span, -(first + second) / span
    p = float(2 * stats.t.sf(abs(second) / error, dof)) if error > 0 else 0.0
    low, high = change - width, change + width
    mean = abs(first / span)
    if p < 1 - level and abs(change) > 1e-6:
        straight: bool | None = False
        how = "flattens" if abs(end) < abs(start) else "steepens"
        text = f"no: it {how}; the local exponent goes from {start:.3f} to {end:.3f} (p = {p:.2g})"
    elif max(abs(low), abs(high)) > matters * mean:
        straight = None
        text = (
            f"cannot tell: no bend is seen, but the exponent, {mean:.3f}, may change by {low:+.3f} … "
            f"{high:+.3f} over these sizes (p = {p:.2g}); more sizes or seeds would show it"
        )
    else:
        straight = True
        text = f"yes: exponent {mean:.3f}, changing by {low:+.3f} … {high:+.3f} at most (p = {p:.2g})"
    ends = float(low), float(high), float(start), float(end)
    return Bend(straight, float(change), *ends, p, text, data.notes)


def _one_variable(law: Law) -> None:
    if len(law.form.variables) > 1:
        raise BadInput(f"{law.form.name} is a surface; this question is for a law of one variable")


__getattr__ = renamed_names(__name__, {"needed": "size_for", "doubling": "gain_from"})
