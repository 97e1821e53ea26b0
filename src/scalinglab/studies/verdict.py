"""One rule for every line of "paper vs measured": agrees, disagrees, or cannot tell.

A `Row` holds a measured number with its standard error and the number of independent draws behind it, and
the number it is compared with: the paper's, with its own error where it gives one, or what the theory gives
at the same size where the paper prints none. The verdict follows from these alone. Let

    h = q · √(stderr² + reference error²),

with q the 97.5 % quantile of Student's t with n − 1 degrees of freedom (of the normal distribution where
nothing was drawn). [measured − h, measured + h] is then a 95 % interval, and

- an equality *disagrees* where the interval leaves out the reference; it *agrees* where the interval holds
  the reference and leaves out both reference ± resolution, the smallest difference that would matter (a tenth
  of the reference by default); it *cannot tell* where the interval holds the reference and one of those;
- a claim "above" or "below" agrees where the whole interval lies on that side of the reference, disagrees
  where it lies on the other, and cannot tell where the interval holds the reference;
- a claim "in" is that the number lies between reference − resolution and reference + resolution: it agrees
  where the whole interval lies there, disagrees where all of it lies on one side, and cannot tell where it
  holds one of the two ends;
- without an error, or without a measured number, the verdict is "cannot tell".

One true statement in twenty disagrees by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.results.distributions import Estimate, Interval, Student, interval

LEVEL = 0.95  # convention: of every interval of a study
RESOLUTION = 0.1  # of the reference: the difference that an agreement must be able to exclude
NUMERICAL = 1e-6  # smallest error given to a number that a solver of the theory computes
RELATIONS = ("=", ">", "<", "in")
AGREES, DISAGREES, CANNOT_TELL = "agrees", "disagrees", "cannot tell"
VERDICTS = (AGREES, DISAGREES, CANNOT_TELL)


@dataclass(frozen=True)
class Row:
    """One line of a reproduction's table.

    Attributes:
        quantity: what was measured, in words.
        measured: our number; None where the data are not public or the run has not been done.
        stderr: one standard error of `measured`: over draws, or the numerical error of a computed number.
        n: independent seeds, draws or sizes behind `stderr`; None where nothing was drawn.
        paper: the number that the paper prints, or that its formula gives; None where it prints none.
        paper_stderr: one standard error of it, where the paper gives one or rounds.
        expected: where the paper prints no number, what its statement or the theory gives at the same size.
        relation: "=", or ">" or "<" where the claim is that `measured` lies above or below the reference, or
            "in" where it is that `measured` lies within `resolution` of the reference.
        resolution: for "=", the smallest difference that would matter; a tenth of the reference by default.
        note: where the numbers come from, and what explains a difference.
    """

    quantity: str
    measured: float | None
    stderr: float | None = None
    n: int | None = None
    paper: float | None = None
    paper_stderr: float | None = None
    expected: float | None = None
    relation: str = "="
    resolution: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("measured", "stderr", "paper", "paper_stderr", "expected", "resolution"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise BadInput(f"{self.quantity}: {name} = {value}: give a finite number, or None for none")
        for name in ("stderr", "paper_stderr"):
            if (value := getattr(self, name)) is not None and value < 0:
                raise BadInput(f"{self.quantity}: {name} = {value}: a standard error is not negative")
        if self.n is not None and self.n < 1:
            raise BadInput(f"{self.quantity}: n = {self.n}: give the number of draws, or None for none")
        if self.relation not in RELATIONS:
            raise BadInput(f"{self.quantity}: relation {self.relation!r}: choose from {', '.join(RELATIONS)}")
        if self.relation == "in" and not self.resolution:
            raise BadInput(f"{self.quantity}: relation 'in' has no range: give half its width as resolution")
        if self.paper is not None and self.expected is not None:
            raise BadInput(f"{self.quantity}: the paper prints {self.paper:g}: leave out what is expected")
        if self.paper is None and self.paper_stderr is not None:
            raise BadInput(f"{self.quantity}: an error of the paper's number without the number")

    @property
    def reference(self) -> float | None:
        """The number that `measured` is compared with: the paper's, else the expected one."""
        return self.expected if self.paper is None else self.paper

    def difference(self, level: float = LEVEL) -> Interval | None:
        """The interval of measured − reference; None without one of these, or without an error."""
        if self.measured is None or self.reference is None or self.stderr is None or self.n == 1:
            return None
        error = math.hypot(self.stderr, self.paper_stderr or 0.0)
        return Number(self.measured - self.reference, error, self.n).interval(level)

    @property
    def matters(self) -> float:
        """The smallest difference to the reference that would matter."""
        return RESOLUTION * abs(self.reference or 0.0) if self.resolution is None else self.resolution

    @property
    def sigmas(self) -> float | None:
        """(measured − reference)/error, with the errors of both combined."""
        if self.measured is None or self.reference is None or self.stderr is None:
            return None
        combined = math.hypot(self.stderr, self.paper_stderr or 0.0)
        return (self.measured - self.reference) / combined if combined else None

    @property
    def holds(self) -> bool:
        """Whether the whole 95 % interval lies in what is claimed, or so near that no difference matters."""
        if (ends := self.difference()) is None:
            return False
        if self.relation in (">", "<"):
            return bool(ends.low > 0 if self.relation == ">" else ends.high < 0)
        return bool(-self.matters < ends.low and ends.high < self.matters)

    def leaves_out(self, level: float = LEVEL) -> bool:
        """Whether the interval at this level leaves out all that is claimed."""
        if (ends := self.difference(level)) is None:
            return False
        if self.relation in (">", "<"):
            return bool(ends.high < 0 if self.relation == ">" else ends.low > 0)
        allowed = self.matters if self.relation == "in" else 0.0
        return bool(ends.low > allowed or ends.high < -allowed)

    @property
    def verdict(self) -> str | None:
        """One of `VERDICTS`; None where there is nothing to compare with."""
        if self.reference is None:
            return None
        return DISAGREES if self.leaves_out() else AGREES if self.holds else CANNOT_TELL

    def record(self) -> dict[str, Any]:
        """Every field and the verdict, for a file."""
        return {**asdict(self), "verdict": self.verdict}


def from_record(fields: dict[str, Any]) -> Row:
    """The row that `Row.record` wrote; its verdict is worked out anew."""
    return Row(**{name: value for name, value in fields.items() if name != "verdict"})


# --- numbers with an error -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number:
    """A value, its standard error and the independent draws behind it (None: computed, not drawn)."""

    value: float
    stderr: float
    n: int | None = None

    def interval(self, level: float = LEVEL) -> Interval:
        """Student's interval of n draws, the normal one of a computed number."""
        return interval(Student(self.value, self.stderr, math.inf if self.n is None else self.n - 1), level)

    def row(self, quantity: str, **reference: Any) -> Row:
        """A line of the table with this number as the measured one; `reference` as `Row` takes it."""
        return Row(quantity, self.value, self.stderr, self.n, **reference)

    def __str__(self) -> str:
        return str(Estimate(self.value, self.stderr))


def rounded(step: float) -> float:
    """Standard error of a number that is printed in units of `step`: it is uniform over one unit."""
    return step / math.sqrt(12)


def mean(values: Sequence[float] | np.ndarray) -> Number:
    """Mean of independent draws, with its standard error."""
    drawn = np.asarray(values, float)
    if drawn.ndim != 1 or len(drawn) < 2:
        raise BadInput(f"a mean with an error needs two draws or more, not shape {drawn.shape}")
    return Number(float(drawn.mean()), float(drawn.std(ddof=1) / math.sqrt(len(drawn))), len(drawn))


def jackknife(left_out: Sequence[float] | np.ndarray) -> float:
    """Standard error from n values that each leave out one of n members: √((n − 1)/n Σ (v − v̄)²)."""
    return float(np.std(left_out) * math.sqrt(len(left_out) - 1))


def quotient(above: np.ndarray, below: np.ndarray) -> Number:
    """Mean of `above` over mean of `below`, two numbers of the same draws, by the delta method."""
    value = float(np.mean(above) / np.mean(below))
    left = mean(np.asarray(above) - value * np.asarray(below))
    return Number(value, left.stderr / abs(float(np.mean(below))), left.n)


def ratio(above: Number, below: Number) -> Number:
    """Quotient of two means of independent draws."""
    value = above.value / below.value
    spread = math.hypot(above.stderr / above.value, below.stderr / below.value)
    return Number(value, abs(value) * spread, min(above.n or 1, below.n or 1))


def difference(first: Number, second: Number) -> Number:
    """Difference of two means of independent draws."""
    n = None if first.n is None or second.n is None else min(first.n, second.n)
    return Number(first.value - second.value, math.hypot(first.stderr, second.stderr), n)


def refined(coarse: float, fine: float) -> Number:
    """A number computed twice, the second time more finely: the change is its error, at least `NUMERICAL`."""
    return Number(fine, max(abs(fine - coarse), NUMERICAL * max(1.0, abs(fine))))


def largest(values: Sequence[float] | np.ndarray) -> Number:
    """Largest of a smooth function's values on an even grid.

    Between two points it lies higher by at most h²/8 times the curvature, which is the error.
    """
    on_grid = np.asarray(values, float)
    top = int(on_grid.argmax())
    height = float(on_grid[top])
    inside = 0 < top < len(on_grid) - 1
    bend = float(2 * height - on_grid[top - 1] - on_grid[top + 1]) if inside else 0.0
    return refined(height + bend / 8, height)


def limit(terms: Sequence[float] | np.ndarray) -> Number:
    """Limit of a sequence that converges geometrically, such as local slopes decade after decade.

    Aitken's extrapolation of the last three terms. Its error is the distance of the last term from it: what
    is left to go when the sequence ends, but at least `NUMERICAL`. A sequence that does not settle keeps its
    last term, with the last change as the error.
    """
    last = np.asarray(terms, float)[-3:]
    if len(last) < 3 or not np.isfinite(last).all():
        raise BadInput(f"a limit needs three finite terms, not {list(map(float, last))}")
    first, second = last[1] - last[0], last[2] - last[1]
    rounding = NUMERICAL * max(1.0, abs(last[2]))
    if abs(second) >= 0.9 * abs(first):
        return Number(float(last[2]), max(float(abs(second)), rounding))
    end = float(last[2] - second**2 / (second - first))
    return Number(end, max(abs(end - float(last[2])), rounding))


def local_slopes(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> np.ndarray:
    """Slopes d ln y/d ln x between neighbouring points."""
    return np.asarray(np.diff(np.log(np.asarray(y, float))) / np.diff(np.log(np.asarray(x, float))))


def decades(x: np.ndarray, y: np.ndarray) -> Number:
    """The exponent α of y ∝ x^−α: limit of the slopes of the last three decades, y interpolated in logs."""
    ends = np.log(x[-1] / 10.0 ** np.arange(4)[::-1])
    return limit(-np.diff(np.interp(ends, np.log(x), np.log(y))) / np.log(10))
