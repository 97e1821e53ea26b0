"""Shape of a curve that matters for its continuation: its range, whether it was made monotone, or rises.

Nothing is corrected in silence. Three doublings show how a curve goes on: one to begin with and two that show
what a doubling does. Beyond sizes that cover a smaller factor r the interval is 8/r times as wide. A curve
that was made monotone needs eight *different* values: those that repeat the one before were not measured
there, and hide how the curve goes on. The other two are notes: a monotone curve has a wider band, and so has
one with a rise that is over; a curve that rises at its end is not continued.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from scalinglab.errors import NotDetermined
from scalinglab.laws.extrapolation.forecasters import scatter
from scalinglab.laws.fitting.bend import SIGNIFICANT
from scalinglab.laws.fitting.data.points import FEWEST_SIZES
from scalinglab.results.distributions import Interval, Student, interval, jitter_of
from scalinglab.results.types import Reason

# measured: benchmarks/extrapolation.py --cuts --refused; largest over smallest size, three doublings
LEAST_RANGE = 8.0
# measured: benchmarks/extrapolation.py --minima: with 1, 2 and 3 intervals hold 94, 92 and 92 ± 4 %; equal
# neighbours that no continuous measurement has
TIES = 2
RISE = 5.0  # convention: standard deviations of the noise from which on a rise is a discovery …
SMALLEST_RISE = 0.01  # guard: … and part of y, where a smoothed or rounded curve shows no noise


def require_continuable(x: np.ndarray, y: np.ndarray) -> None:
    """Refuse to continue a piece of a curve that does not show how it goes on.

    Args:
        x, y: one value of each size, ascending.

    Raises:
        NotDetermined: a smoothed curve of fewer than eight values.
    """
    steps = np.diff(y)
    repeated = int(np.sum(steps == 0))
    if repeats_values(steps) and x.size - repeated < FEWEST_SIZES:
        counts = {"repeated": repeated, "values": x.size, "left": x.size - repeated, "needed": FEWEST_SIZES}
        raise NotDetermined(Reason("smoothed", **counts))


def short_range(x: np.ndarray) -> tuple[Reason, ...]:
    """The note on sizes (n,), ascending, of less than three doublings, with the factor of the intervals."""
    covered = float(x[-1] / x[0])
    if covered >= (1 - 1e-6) * LEAST_RANGE:
        return ()
    factors = {"covered": covered, "least": LEAST_RANGE, "factor": LEAST_RANGE / covered}
    return (Reason("short_range", sizes=x.size, **factors),)


def widened(x: np.ndarray, at: np.ndarray, mean: np.ndarray, ends: Interval, level: float) -> Interval:
    """The interval at `at`, wider beyond sizes x, ascending, that cover too little."""
    short = short_range(x)
    if not short:
        return ends
    factor = np.where(at > x[-1], short[0].details["factor"], 1.0)
    with np.errstate(divide="ignore"):
        known = Student.of_ends(*np.log([mean, *ends]), level=level)
    return interval(known.stretched(factor), level, natural=np.exp)


@dataclass(frozen=True)
class Shape:
    """The shape of a curve.

    Attributes:
        monotone: whether it was smoothed to never rise.
        rise: the largest rise of ln y above an earlier value, where it stands out of the noise; else 0.
        rising: whether it still rises at its end.
        notes: what a reader should know.
    """

    monotone: bool
    rise: float
    rising: bool
    notes: tuple[Reason, ...]


def shape_of(log_x: np.ndarray, y: np.ndarray, slope: float) -> Shape:
    """Judge the points (ln x, y), ascending; `slope` is that of ln y against ln x at the end."""
    if made_monotone(log_x, y):
        return Shape(True, 0.0, False, (Reason("made_monotone"),))
    logs = np.log(y)
    above = logs - np.minimum.accumulate(logs)
    top = int(np.argmax(above))
    rise = float(above[top])
    if rise < max(RISE * jitter_of(logs), SMALLEST_RISE):
        return Shape(False, 0.0, False, ())
    start = int(np.argmin(logs[: top + 1]))
    rising = slope > 0 and above[-1] > 0.5 * rise
    ends = {"start": float(np.exp(log_x[start])), "top": float(np.exp(log_x[top]))}
    note = Reason("still_rises" if rising else "rose", rise=float(100 * np.expm1(rise)), **ends)
    return Shape(False, rise, bool(rising), (note,))


def made_monotone(log_x: np.ndarray, y: np.ndarray) -> bool:
    """Whether the curve was smoothed to never rise.

    It never rises, and either repeats values exactly or has steps so uneven that independent noise of that
    size would have made it rise somewhere with a probability of 95 % or more.
    """
    steps = np.diff(np.log(y))
    if y.size < FEWEST_SIZES or np.any(steps > 0) or not np.any(steps < 0):
        return False
    if repeats_values(steps):
        return True
    noise = np.sqrt(max(scatter(log_x, y), 1e-24))
    return bool(np.sum(special.log_ndtr(-steps / (np.sqrt(2) * noise))) < np.log(SIGNIFICANT))


def repeats_values(steps: np.ndarray) -> bool:
    """Whether a curve with these steps of y never rises, falls, and repeats values as no measurement does."""
    return bool(np.all(steps <= 0) and np.any(steps < 0) and np.sum(steps == 0) >= TIES)
