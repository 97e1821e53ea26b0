"""Estimates with their uncertainty, and the function that makes every printed interval.

`interval` takes the distribution of a number, one of four:

- `Draws`: resampled, simulated or posterior values;
- `Student`: an estimate with its standard error (infinite degrees of freedom: a Gaussian), also with
  different scales on the two sides;
- `Mixture`: a weighted average of these, over noise models, forms or forecasts;
- `laws.fitting.uncertainty.intervals.OfLaw`: a number that follows from a fitted law, with the uncertainty of
  the points, of the noise and of the form.

An undetermined number has an infinite end (0 for a positive number), an unknown one is NaN. A monotone
function of a number has the interval of the function's values at the ends (`Interval.through`).

>>> ends = interval(Student(np.log(2.0), 0.1), natural=np.exp)
>>> round(ends.low, 4), round(ends.high, 4)
(1.644, 2.433)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import special

from scalinglab.errors import BadInput
from scalinglab.support import words


class Interval(NamedTuple):
    """The two ends of an interval; numbers, or arrays of one shape."""

    low: Any
    high: Any

    @property
    def ratio(self) -> Any:
        """The high end over the low one: infinite where an end is open or not positive."""
        low, high = np.asarray(self.low, float), np.asarray(self.high, float)
        return np.divide(high, low, out=np.full(high.shape, np.inf), where=low > 0)

    def through(self, function: Callable[[Any], Any]) -> Interval:
        """The interval of a monotone function of the number."""
        ends = function(self.low), function(self.high)
        return Interval(*map(_plain, (np.minimum(*ends), np.maximum(*ends))))

    def where(self, known: Any, otherwise: Interval) -> Interval:
        """Its ends where `known` (of both ends, or a pair), elsewhere those of `otherwise`."""
        low, high = known if isinstance(known, tuple) else (known, known)
        return Interval(
            _plain(np.where(low, self.low, otherwise.low)), _plain(np.where(high, self.high, otherwise.high))
        )

    def each(self) -> list[Interval]:
        """The n intervals whose ends are arrays (n,)."""
        return list(map(Interval, np.asarray(self.low).tolist(), np.asarray(self.high).tolist()))


class WithEnds:
    """A result that has a low and a high end."""

    low: Any
    high: Any

    @property
    def interval(self) -> Interval:
        """The two ends."""
        return Interval(self.low, self.high)


OPEN = Interval(-np.inf, np.inf)  # of an undetermined number
UNKNOWN = Interval(np.nan, np.nan)


class Distribution(Protocol):
    """The distribution of a number, or of an array of them."""

    def ends(self, level: float) -> tuple[Any, Any]:
        """The ends of the central interval that has this probability."""


def interval(
    known: Distribution,
    level: float = 0.95,
    *,
    natural: Callable[[Any], Any] | None = None,
    holding: Any = None,
    bounds: tuple[Any, Any] | None = None,
) -> Interval:
    """The central interval of a distribution, at a level.

    Args:
        natural: makes the number from what is distributed, such as `np.exp` from its logarithm.
        holding: the reported value: the interval is extended to contain it.
        bounds: the limits of the number.
    """
    check_level(level)
    low, high = known.ends(level)
    if holding is not None:
        low, high = np.minimum(low, holding), np.maximum(high, holding)
    if natural is not None:
        with np.errstate(over="ignore"):  # an end that is open is infinite
            low, high = natural(low), natural(high)
    if bounds is not None:
        # an end within rounding of a limit is the limit: a floor of 0, not of 8e-19
        width = np.subtract(high, low)
        rounding = 1e-12 * np.where(np.isfinite(width), width, 0.0)
        low = np.where(low - rounding <= bounds[0], bounds[0], low)
        high = np.where(high + rounding >= bounds[1], bounds[1], high)
    return Interval(_plain(low), _plain(high))


def _plain(end: Any) -> Any:
    """An array without dimensions as a float."""
    return float(end) if np.ndim(end) == 0 else np.asarray(end)


def check_level(level: float) -> None:
    """Refuse a level outside (0, 1)."""
    if not 0 < level < 1:
        raise BadInput(f"level={level!r} must lie between 0 and 1, as in 0.95")


def reach(level: float, dof: float = np.inf) -> float:
    """Student's two-sided quantile: how many standard errors an interval extends; infinite below dof = 1."""
    check_level(level)
    if dof == np.inf:
        return float(special.ndtri(0.5 + level / 2))
    return float(special.stdtrit(dof, 0.5 + level / 2)) if dof >= 1 else float("inf")


@dataclass(frozen=True, eq=False)
class Draws:
    """Drawn values; NaN are ignored.

    Attributes:
        values: (draws, …).
        weights: (draws,) of the values, (draws,) too; equal by default.
        runs: the number of runs that were resampled. Resampling G runs understates spread by √(1 − 1/G) and
            has Gaussian tails; the percentiles are widened so that a mean of G values gets exactly Student's
            interval (Hesterberg 2015).

    >>> interval(Draws([1.0, 2.0, np.nan, 3.0])), interval(Draws([1.0, np.inf, np.inf]))
    (Interval(low=1.05, high=2.95), Interval(low=1.0, high=inf))
    """

    values: Any
    weights: Any = None
    runs: int | None = None

    def ends(self, level: float) -> tuple[Any, Any]:
        """The percentiles."""
        values = np.asarray(self.values, float)
        if self.runs is not None:
            wider = np.sqrt(self.runs / (self.runs - 1)) * reach(level, self.runs - 1)
            level = 1 - 2 * float(special.ndtr(-wider))
        tails = 0.5 - level / 2, 0.5 + level / 2
        if self.weights is not None:
            order = np.argsort(values, kind="stable")
            place = np.searchsorted(np.cumsum(np.asarray(self.weights, float)[order]), tails)
            low, high = values[order][np.minimum(place, len(values) - 1)]
            return low, high
        quantile: Any = np.nanquantile if np.isnan(values).any() else np.quantile
        if np.isinf(values).any():  # there is nothing to interpolate between two of them, or beside one
            low, high = quantile(values, tails, axis=0, method="nearest")
        else:
            low, high = quantile(values, tails, axis=0)
        return low, high


LEAST_SPREAD = 1e-12  # guard: of a logarithm, in place of none


@dataclass(frozen=True, eq=False)
class Student:
    """middle + spread · t with Student's t; a Gaussian where the degrees of freedom are infinite.

    Attributes:
        middle: the median.
        spread: (…) its scale, such as the standard error.
        dof: degrees of freedom; below one the scale is unknown, and the ends are open.
        below: (…) the scale below the median, if it differs.
    """

    middle: Any
    spread: Any
    dof: float = np.inf
    below: Any = None

    @classmethod
    def of_ends(cls, middle: Any, low: Any, high: Any, *, level: float, dof: float = np.inf) -> Student:
        """The distribution whose interval at this level has these ends."""
        down, up = (
            np.maximum(half, LEAST_SPREAD) / reach(level, dof) for half in (middle - low, high - middle)
        )
        return cls(middle, up, dof, down)

    def stretched(self, factor: Any) -> Student:
        """With its scales multiplied by a factor."""
        below = None if self.below is None else self.below * factor
        return replace(self, spread=self.spread * factor, below=below)

    def ends(self, level: float) -> tuple[Any, Any]:
        """Middle ± scale · quantile."""
        quantile, below = reach(level, self.dof), self.spread if self.below is None else self.below
        return self.middle - quantile * below, self.middle + quantile * self.spread

    def at(self, normal: Any) -> Any:
        """The quantiles at standard normal numbers, for a Gaussian."""
        spread = self.spread if self.below is None else np.where(normal < 0, self.below, self.spread)
        return self.middle + normal * spread

    def log_density(self, value: Any) -> np.ndarray:
        """ln of the density."""
        deviation = np.asarray(value - self.middle)
        spread = self.spread if self.below is None else np.where(deviation < 0, self.below, self.spread)
        return np.asarray(student_log_density(deviation / spread, self.dof) - np.log(spread))


def student_log_density(t: np.ndarray, dof: float) -> np.ndarray:
    """ln of the density of Student's distribution; a million degrees of freedom stand for more."""
    half = min(dof, 1e6) / 2
    scale = special.gammaln(half + 0.5) - special.gammaln(half) - np.log(2 * np.pi * half) / 2
    return np.asarray(scale - (half + 0.5) * np.log1p(t**2 / (2 * half)))


FARTHEST = 300.0  # guard: of a logarithm, in place of an infinite end


@dataclass(frozen=True, eq=False)
class Mixture:
    """A weighted average of distributions; each end uses the scales on its side.

    Attributes:
        parts: with medians (parts, numbers).
        weight: (parts,), summing to 1.
        open_parts: whether parts may have open ends. These are put `FARTHEST` away, and an end of the average
            that is more than half as far from its mean is open, too.
    """

    parts: Student
    weight: np.ndarray
    open_parts: bool = False

    def ends(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Its quantiles."""
        parts, found = self.parts, []
        for side, spread in ((-1, parts.spread if parts.below is None else parts.below), (1, parts.spread)):
            if self.open_parts:
                spread = np.minimum(spread, FARTHEST / reach(level, parts.dof))
            end = mixture_quantile(parts.middle, spread, self.weight, parts.dof, 0.5 + side * level / 2)
            if self.open_parts:
                far = np.abs(end - self.weight @ parts.middle) > FARTHEST / 2
                end = np.where(far, side * np.inf, end)
            found.append(end)
        return found[0], found[1]


def of_average(middle: Any, ends: Any, weight: np.ndarray, level: float = 0.95, **options: Any) -> Interval:
    """The interval of an average, of the medians (parts, numbers) and the intervals that its parts give.

    Args:
        ends: low and high, each (parts, numbers), at this level; they may be open.
        weight: (parts,), summing to 1.
        options: of `interval`.
    """
    parts = Student.of_ends(middle, *ends, level=level)
    return interval(Mixture(parts, weight, open_parts=True), level, **options)


def mixture_quantile(
    middle: np.ndarray, spread: np.ndarray, weight: np.ndarray, dof: float, share: float
) -> np.ndarray:
    """(quantities,) of averages of Student distributions (k, quantities) with weights (k,).

    Newton's method within a bracket, then bisection: a distribution of almost no spread is a step.
    """
    each = middle + spread * special.stdtrit(dof, share)
    low, high = each.min(axis=0), each.max(axis=0)
    place, close = (low + high) / 2, 1e-13 * (high - low)
    for step in range(60):
        t = (place - middle) / spread
        excess = weight @ special.stdtr(dof, t) - share
        low, high = np.where(excess < 0, place, low), np.where(excess < 0, high, place)
        with np.errstate(all="ignore"):  # far from all of them the density is 0
            density = np.exp(student_log_density(t, dof))
            newton = place - excess / (weight @ (density / spread))
        tried = np.where((low <= newton) & (newton <= high) & (step < 12), newton, (low + high) / 2)
        last, place = place, np.where(np.abs(excess) < 1e-14, place, tried)
        if np.all(np.abs(place - last) <= close + 1e-15 * np.abs(place)):
            break
    return np.asarray(place)


@dataclass(frozen=True)
class Estimate(WithEnds):
    """A number with its uncertainty; what is not known is NaN.

    Attributes:
        value: the best value.
        stderr: its standard error.
        low, high: its interval, at 95 % where its maker does not say otherwise.
        unit: what is counted, such as "tokens" or "FLOPs"; empty for a pure number.
    """

    value: float
    stderr: float = math.nan
    low: float = math.nan
    high: float = math.nan
    unit: str = field(default="", kw_only=True)

    @classmethod
    def from_stderr(cls, value: float, stderr: float, dof: float, level: float = 0.95) -> Estimate:
        """With Student's interval: value ± t · stderr, t the quantile for `dof` degrees of freedom.

        >>> round(Estimate.from_stderr(0.5, 0.1, dof=3).low, 6)
        0.181755
        """
        ends = interval(Student(value, stderr, max(dof, 1)), level)
        return Estimate(float(value), float(stderr), *ends)

    @classmethod
    def from_draws(cls, value: float, draws: Any, level: float = 0.95) -> Estimate:
        """With the spread and the percentiles of resampled values.

        >>> found = Estimate.from_draws(2.0, [1.0, 2.0, 3.0])
        >>> round(found.stderr, 6), round(found.low, 6), round(found.high, 6)
        (1.0, 1.05, 2.95)
        """
        with np.errstate(invalid="ignore"):  # of draws that are infinite
            stderr = float(np.std(draws, ddof=1))
        return Estimate(float(value), stderr, *interval(Draws(draws), level))

    def to_dict(self) -> dict[str, float | str | None]:
        """As plain values, for JSON; None where a number is not known."""
        numbers = {name: getattr(self, name) for name in ("value", "stderr", "low", "high")}
        return {name: None if math.isnan(n) else n for name, n in numbers.items()} | {"unit": self.unit}

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, self.stderr, -self.high, -self.low, unit=self.unit)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return words.UNKNOWN
        if not math.isfinite(self.stderr):  # an error that is not known is not written
            return f"{self.value:.4g}"
        digits = 4
        if self.stderr > 0:  # two digits of the error, but not those of rounding
            digits = min(max(0, 1 - math.floor(math.log10(self.stderr))), 6)
        return f"{self.value:.{digits}f} ± {self.stderr:.{digits}f}"


HOLDS, FAILS, CANNOT_TELL = "holds", "fails", "cannot tell"


def median_scale(r: np.ndarray) -> float:
    """The standard deviation of Gaussian noise from the median of |r|, robust against outliers."""
    return float(1.4826 * np.median(np.abs(r)))


def jitter_of(logs: np.ndarray) -> float:
    """The noise of a curve from the median of its second differences, robust against a bend."""
    return median_scale(np.diff(logs, 2)) / float(np.sqrt(6.0))


def product(first: Estimate, second: Estimate, dof: float) -> Estimate:
    """The product of two independent estimates; relative errors add in squares."""
    value = first.value * second.value
    error = math.hypot(first.stderr * second.value, second.stderr * first.value)
    return Estimate.from_stderr(value, error, dof)


def is_zero(difference: Estimate, resolution: float) -> str:
    """Whether a number that should be zero is: "holds", "fails" or "cannot tell".

    It fails where its interval leaves out zero, it holds where the interval holds zero and lies within
    ± `resolution`, the smallest difference that matters, and undecided otherwise.

    >>> is_zero(Estimate(0.02, 0.01, -0.005, 0.045), 0.05)
    'holds'
    """
    low, high = difference.low, difference.high
    if not (math.isfinite(low) and math.isfinite(high)):
        return CANNOT_TELL
    if low > 0 or high < 0:
        return FAILS
    return HOLDS if -resolution < low and high < resolution else CANNOT_TELL


# of anything whose scatter is asked for: points of a line, runs to resample, repeats of a size; two leave one
# degree of freedom, whose Student quantile is 13, or none
FEWEST = 3


def slopes(x: Any, y: Any) -> np.ndarray:
    """The least-squares slope of each row of y, (…, n), against x, (n,); NaN where x is one point.

    >>> slopes([0.0, 1.0, 2.0], [[0.0, 1.0, 2.0], [1.0, 1.0, 4.0]]).tolist()
    [1.0, 1.5]
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.size < 2:
        return np.full(y.shape[:-1], np.nan)
    centred = x - x.mean()
    return np.asarray(y @ centred / (centred @ centred))


def slope(x: Any, y: Any) -> Estimate:
    """The least-squares slope of y against x, with the standard error that the residuals give.

    The exponent c of y ∝ x^c is ``slope(np.log(x), np.log(y))``. Two points have a slope and no error.

    >>> found = slope([0.0, 1.0, 2.0, 3.0], [0.0, 2.0, 4.0, 6.4])
    >>> round(found.value, 6), round(found.stderr, 6)
    (2.12, 0.069282)
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    value = float(slopes(x, y))
    if x.size < FEWEST:
        return Estimate(value)
    return Estimate.from_stderr(
        value, _scatter(x, y, value) / float(np.linalg.norm(x - x.mean())), x.size - 2
    )


def _scatter(x: np.ndarray, y: np.ndarray, value: float) -> float:
    """Standard deviation of the points around the line of this slope."""
    residuals = y - y.mean() - value * (x - x.mean())
    return math.sqrt(float(residuals @ residuals) / (x.size - 2))
