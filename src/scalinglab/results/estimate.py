"""Estimate: a number with its uncertainty, and the slope of a line, which is the commonest one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.support.words import UNKNOWN

if TYPE_CHECKING:
    from scalinglab.results.distributions import Interval


@dataclass(frozen=True)
class Estimate:
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
        from scalinglab.results.distributions import Student, interval

        ends = interval(Student(value, stderr, max(dof, 1)), level)
        return Estimate(float(value), float(stderr), *ends)

    @classmethod
    def from_draws(cls, value: float, draws: Any, level: float = 0.95) -> Estimate:
        """With the spread and the percentiles of resampled values.

        >>> found = Estimate.from_draws(2.0, [1.0, 2.0, 3.0])
        >>> round(found.stderr, 6), round(found.low, 6), round(found.high, 6)
        (1.0, 1.05, 2.95)
        """
        from scalinglab.results.distributions import Draws, interval

        with np.errstate(invalid="ignore"):  # of draws that are infinite
            stderr = float(np.std(draws, ddof=1))
        return Estimate(float(value), stderr, *interval(Draws(draws), level))

    @property
    def interval(self) -> Interval:
        """The two ends."""
        from scalinglab.results.distributions import Interval

        return Interval(self.low, self.high)

    def to_dict(self) -> dict[str, float | str | None]:
        """As plain values, for JSON; None where a number is not known."""
        numbers = {name: getattr(self, name) for name in ("value", "stderr", "low", "high")}
        return {name: None if math.isnan(n) else n for name, n in numbers.items()} | {"unit": self.unit}

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, self.stderr, -self.high, -self.low, unit=self.unit)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return UNKNOWN
        if not math.isfinite(self.stderr):  # an error that is not known is not written
            return f"{self.value:.4g}"
        digits = 4
        if self.stderr > 0:  # two digits of the error, but not those of rounding
            digits = min(max(0, 1 - math.floor(math.log10(self.stderr))), 6)
        return f"{self.value:.{digits}f} ± {self.stderr:.{digits}f}"


HOLDS, FAILS, CANNOT_TELL = "holds", "fails", "cannot tell"


def median_scale(r: np.ndarray) -> float:
    """The standard deviation of Gaussian noise, by the median of |r|: outliers hardly count."""
    return float(1.4826 * np.median(np.abs(r)))


def jitter_of(logs: np.ndarray) -> float:
    """Noise from second differences, robust against a bend: their median."""
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


def new_point(x: Any, y: Any, at: float) -> Estimate:
    """One more y at `at`, by the least-squares line through three points or more: it scatters as these do.

    >>> found = new_point([0.0, 1.0, 2.0, 3.0], [0.0, 2.0, 4.0, 6.4], at=4.0)
    >>> round(found.value, 6), round(found.stderr, 6)
    (8.4, 0.244949)
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    value, distance = float(slopes(x, y)), at - float(x.mean())
    share = 1 + 1 / x.size + distance**2 / float(np.sum((x - x.mean()) ** 2))
    return Estimate.from_stderr(
        float(y.mean()) + value * distance, _scatter(x, y, value) * math.sqrt(share), x.size - 2
    )


def _scatter(x: np.ndarray, y: np.ndarray, value: float) -> float:
    """Standard deviation of the points around the line of this slope."""
    residuals = y - y.mean() - value * (x - x.mean())
    return math.sqrt(float(residuals @ residuals) / (x.size - 2))
