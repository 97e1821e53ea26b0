"""Exponents of measured losses: a range of sizes chosen by rule, and an error over seeds.

Two forms are fitted by `scalinglab.laws.fit`: A x^−α, and E + A x^−α with a floor E (set by the other size or
by the optimizer). The range is the longest run of neighbouring sizes that follows one of the forms; ties go
to the simpler form, then to the larger sizes. The tests, each at 5 %:

- A x^−α: the residuals in ln loss have no curvature in ln size. The quadratic coefficient is found for each
  seed; the 95 % interval of its mean must contain 0.
- E + A x^−α: the same for the quadratic and the cubic coefficient of the residuals. The sizes after the first
  must not be constant (F test): any large α fits a single step down to a floor.
- Both: with few seeds the spread of a coefficient is poorly known, so the mean curve must also pass an F test
  against the scatter of the seeds.

A range has at least four sizes, five with a floor. If no range follows a form, A x^−α is fitted to the four
largest sizes and `follows` is False.

The error comes from refits on resampled seeds (`scalinglab.laws.bootstrap`), since the sizes of one seed
share a network and examples. Exponents that are compared use one range, the longest on which all their curves
follow one form, and the same resampled seeds: a curve that bends has another exponent on another range.

Differences of losses may be negative for a seed. A x^−α is fitted to their means by least squares in their
own units, weighted by errors that follow a power law in size. To first order α and the curvature are sums
over seeds, which gives their errors. If fewer than three means exceed two standard errors there is no
exponent. A claim about large sizes is judged with the next order, A x^−α (1 + e/x), which a pure power law
would absorb into α.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab import laws
from scalinglab.curves import Curves
from scalinglab.data.loading import source_of
from scalinglab.errors import BadInput
from scalinglab.results.distributions import Estimate
from scalinglab.studies import Number, Row, by_draw, mean

FEWEST = 4  # sizes in a range, one more with a floor
LOST = 0.5  # largest error of an exponent; beyond it the linearised error is meaningless


@dataclass(frozen=True)
class Exponent:
    """An exponent α of loss ∝ size^−α.

    Attributes:
        value, stderr: α and its standard error over seeds.
        n: independent seeds.
        first, last: the places of the smallest and of the largest size of the range.
        sizes: all sizes, (n_sizes,).
        follows: whether the range follows the form by the rule.
        amplitude, floor: A and E of the form; E is 0 for the power law.
        refits: exponents of resampled seeds, spread by `stderr`; none for differences of losses.
    """

    value: float
    stderr: float
    n: int
    first: int
    last: int
    sizes: np.ndarray
    follows: bool
    amplitude: float
    floor: float = 0.0
    refits: np.ndarray | None = None

    @property
    def chosen(self) -> slice:
        """The sizes of the range."""
        return slice(self.first, self.last + 1)

    def law(self, sizes: np.ndarray) -> np.ndarray:
        """The fitted law at these sizes."""
        return self.floor + self.amplitude * np.asarray(sizes, float) ** -self.value

    @property
    def range(self) -> str:
        """The smallest and the largest size of the range."""
        return f"{self.sizes[self.first]:g} to {self.sizes[self.last]:g}"

    @property
    def with_range(self) -> str:
        """The exponent and its range, for a legend."""
        return f"{self} ({self.range})"

    @property
    def note(self) -> str:
        """The range, for a table."""
        words = f"sizes {self.range}, {self.last - self.first + 1} of {len(self.sizes)}"
        if not self.follows:
            return f"{words}; no range follows a power law"
        return f"{words}, by rule" + (f"; with a floor of {self.floor:.2g}" if self.floor else "")

    def row(self, quantity: str, note: str = "", **reference: Any) -> Row:
        """A row of the table, `reference` as `Row` takes it; the note ends with the range."""
        words = f"{note}; {self.note}" if note else self.note
        return Row(quantity, self.value, self.stderr, self.n, note=words, **reference)

    def __str__(self) -> str:
        return str(Estimate(self.value, self.stderr))


def table(curves: Curves, size: str, y: str, seed: str = "seed") -> tuple[np.ndarray, np.ndarray]:
    """Sizes (n,), and values (seeds, n) of the last row of each run; seeds that lack a size are left out."""
    last = curves.frame.sort_values("step").groupby("run", as_index=False).last()
    sizes, values = by_draw(last, size, y, seed)
    if len(values) < 2:
        raise BadInput(f"{y} against {size}: {len(values)} seeds have all sizes, an error needs two or more")
    return sizes, values


def guessing(setting: Mapping[str, Any]) -> float:
    """The loss of a network that knows how frequent the classes are and nothing else."""
    groups = setting.get("superclass") or range(source_of(setting["dataset"]).n_classes)
    groups = range(20) if groups == "coarse" else groups
    shares = np.bincount(groups) / len(groups)
    if setting.get("loss") == "mse":
        return float(np.mean(shares * (1 - shares)))
    return float(-np.sum(shares * np.log(shares)))


def of_losses(sizes: np.ndarray, losses: np.ndarray, since: int = 0) -> Exponent:
    """The exponent of positive losses (seeds, sizes), averaged in the logarithm as in bahri2021 A.1.

    Args:
        since: the first place that may be in the range.
    """
    return of_several(sizes, losses, since=since)[0]


def of_several(sizes: np.ndarray, *curves: np.ndarray, since: int = 0) -> list[Exponent]:
    """The exponents of several curves, losses (seeds, sizes) of the same seeds, on one range."""
    if not all((losses > 0).all() for losses in curves):
        raise BadInput("losses must be positive; differences of losses go into of_differences")
    best = longest(len(sizes), FEWEST, lambda part: _all_fitted(sizes, curves, part, PURE), since)
    if best.length < len(sizes) - since:  # a floor counts where it has a longer range
        fewest = max(FEWEST, best.length) + 1
        floor = longest(len(sizes), fewest, lambda part: _all_fitted(sizes, curves, part, FLOOR), since)
        best = floor if floor.length else best
    if best.length:
        part, found = slice(best.first, best.first + best.length), best.law
    else:
        part = slice(max(len(sizes) - FEWEST, since), len(sizes))
        found = [_law(sizes, losses, part, PURE) for losses in curves]
    return [
        _exponent(law, sizes, losses, part, bool(best.length)) for law, losses in zip(found, curves)
    ]  # fmt: skip


def _exponent(law: Any, sizes: np.ndarray, losses: np.ndarray, part: slice, follows: bool) -> Exponent:
    refits = _refits(law, sizes[part], losses[:, part])
    return Exponent(
        law.parameters["exponent"], float(refits.std(ddof=1)), len(losses), part.start, part.stop - 1, sizes,
        follows,
        float(law.parameters["amplitude"]), float(law.parameters.get("offset", 0.0)), refits,
    )  # fmt: skip


def difference_of(a: Exponent, b: Exponent) -> Estimate:
    """α of a less α of b, both from `of_several`, with the error of the same resampled seeds."""
    assert a.refits is not None
    assert b.refits is not None
    return Estimate(a.value - b.value, float(np.std(a.refits - b.refits, ddof=1)))


PURE, FLOOR = ("power_law", 2), ("power_law_offset", 3)  # forms, and the degree up to which they are tested


@dataclass(frozen=True)
class Found:
    """The longest range that follows a form: its first place, its length (0: there is none), and the law."""

    first: int = 0
    length: int = 0
    law: Any = None


def longest(count: int, fewest: int, fitted: Callable[[slice], Any], since: int = 0) -> Found:
    """The longest range from `since` on that follows a law, of equals that of the largest sizes."""
    for length in range(count - since, min(fewest, count - since) - 1, -1):
        for first in range(count - length, since - 1, -1):
            if (law := fitted(slice(first, first + length))) is not None:
                return Found(first, length, law)
    return Found()


def _law(sizes: np.ndarray, losses: np.ndarray, part: slice, form: tuple[str, int]) -> Any:
    x, y = np.broadcast_arrays(sizes[part], losses[:, part])
    seeds = np.broadcast_to(np.arange(len(losses))[:, None], y.shape)
    return laws.fit(form[0], x.ravel(), y.ravel(), runs=seeds.ravel(), loss="squared")


def _fitted(sizes: np.ndarray, losses: np.ndarray, part: slice, form: tuple[str, int]) -> Any:
    """The law on a range, or None where the range does not follow it."""
    x, degree = sizes[part], form[1]
    if form == FLOOR and len(x) <= FEWEST:
        return None
    if len(x) <= degree:
        return _law(sizes, losses, part, form) if form == PURE and len(x) > 1 else None
    if form == FLOOR and not lacks_fit(np.log(losses[:, part][:, 1:]), 1):  # a step: no α is identified
        return None
    law = _law(sizes, losses, part, form)
    left = np.log(losses[:, part]) - np.log(law.predict(x))
    tested = [np.polyfit(np.log(x), left.T, k)[0] for k in range(2, degree + 1)]
    return law if all(map(is_zero, tested)) and not lacks_fit(left, degree) else None


def _all_fitted(sizes: np.ndarray, curves: Sequence[np.ndarray], part: slice, form: tuple[str, int]) -> Any:
    """The laws of all curves on a range, or None where one of them does not follow the form."""
    found = []
    for losses in curves:
        if (law := _fitted(sizes, losses, part, form)) is None:
            return None
        found.append(law)
    return found


def lacks_fit(left: np.ndarray, parameters: int) -> bool:
    """Whether what is left of ln loss, (seeds, sizes), is more than scatter by the F test at 5 %.

    Levels of seeds do not count. A law of as many parameters as sizes cannot lack fit.
    """
    from scipy.stats import f

    seeds, sizes = left.shape
    free = sizes - parameters
    if free < 1:
        return False
    mean_curve = left.mean(0)
    scatter = left - mean_curve - left.mean(1, keepdims=True) + left.mean()
    noise = np.sum(scatter**2) / ((seeds - 1) * (sizes - 1))
    distance = seeds * np.sum((mean_curve - mean_curve.mean()) ** 2) / free
    return bool(distance > f.ppf(0.95, free, (seeds - 1) * (sizes - 1)) * noise)


def _refits(law: Any, sizes: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Exponents whose standard deviation is the standard error of the law's."""
    if len(losses) < 3:  # two seeds cannot be resampled
        return np.asarray(-np.polyfit(np.log(sizes), np.log(losses).T, 1)[0] / np.sqrt(len(losses)))
    few = np.sqrt(len(losses) / (len(losses) - 1))  # resampled seeds spread less than new ones
    refits = laws.bootstrap(law, draws=400)
    return np.asarray(few * refits.values[:, law.form.names.index("exponent")])


def of_differences(sizes: np.ndarray, differences: np.ndarray) -> Exponent | None:
    """The exponent of the mean of differences (seeds, sizes), each of which may be negative.

    None where they are lost in noise.
    """
    error = differences.std(0, ddof=1) / np.sqrt(len(differences))
    if np.sum(differences.mean(0) > 2 * error) < min(3, len(sizes)):
        return None

    def straight(part: slice) -> bool | None:
        found = _power(sizes[part], differences[:, part])
        return True if len(sizes[part]) <= PURE[1] or is_zero(found.curvatures) else None

    best = longest(len(sizes), FEWEST, straight)
    first = best.first if best.length else max(len(sizes) - FEWEST, 0)
    part = slice(first, first + best.length if best.length else len(sizes))
    found = _power(sizes[part], differences[:, part])
    alpha = mean(found.exponents)
    return Exponent(
        alpha.value, alpha.stderr, len(differences), part.start, part.stop - 1, sizes, bool(best.length),
        found.amplitude,
    )  # fmt: skip


@dataclass(frozen=True)
class Power:
    """A x^−α fitted to means of differences; α, whose mean is the fit's, and the curvature of each seed."""

    amplitude: float
    exponents: np.ndarray
    curvatures: np.ndarray


def _power(sizes: np.ndarray, differences: np.ndarray) -> Power:
    """Least squares with the error of each mean; what a seed adds by the linearised fit."""
    from scipy.optimize import least_squares

    centre, error = differences.mean(0), _smooth_error(sizes, differences)
    middle = np.log(sizes).mean()
    x = np.log(sizes) - middle
    start = [np.log(np.average(np.abs(centre), weights=1 / error)), 1.0]
    steep = ([-np.inf, -10.0], [np.inf, 10.0])
    level, alpha = least_squares(lambda p: (centre - np.exp(p[0] - p[1] * x)) / error, start, bounds=steep).x
    law = np.exp(level - alpha * x)

    def coefficients(degree: int) -> np.ndarray:  # (degree + 1, seeds)
        slopes = (law / error)[:, None] * x[:, None] ** np.arange(degree + 1)
        return np.asarray(np.linalg.pinv(slopes) @ ((differences - law) / error).T)

    return Power(float(np.exp(level + alpha * middle)), alpha - coefficients(1)[1], coefficients(2)[2])


def with_next_order(sizes: np.ndarray, differences: np.ndarray) -> Number | None:
    """α of A x^−α (1 + e/x), fitted to means of differences (seeds, sizes); None: lost in noise.

    The error is that of each seed's part in the linearised fit.
    """
    from scipy.optimize import least_squares

    if len(sizes) < 3:
        return None
    centre, error = differences.mean(0), _smooth_error(sizes, differences)
    x = sizes / sizes[0]

    def left(p: np.ndarray) -> np.ndarray:
        return np.asarray((p[0] * x ** -p[1] * (1 + p[2] / x) - centre) / error)

    scales = [abs(centre[0]) or 1.0, 0.1, 0.1]
    found = least_squares(left, [centre[0], 1.0, 0.0], x_scale=scales)
    parts = np.linalg.pinv(found.jac)[1] @ ((differences - centre) / error).T
    alpha = mean(found.x[1] + parts)
    return alpha if alpha.stderr < LOST else None


def _smooth_error(sizes: np.ndarray, differences: np.ndarray) -> np.ndarray:
    """Standard errors of means of differences (seeds, sizes), as a power law: fewer weights to estimate."""
    error = differences.std(0, ddof=1) / np.sqrt(len(differences))
    error = np.maximum(error, 1e-9 * np.abs(differences.mean(0)).max())  # of differences without scatter
    x = np.log(sizes) - np.log(sizes).mean()
    return np.asarray(np.exp(np.polyval(np.polyfit(x, np.log(error), 1), x)))


def difference_row(quantity: str, found: Exponent | None, n: int, note: str, **reference: float) -> Row:
    """A row of the table for an exponent of differences, against ``paper=`` where there is one."""
    if found is not None:
        return found.row(quantity, note, **reference)
    lost = f"{note}; the differences are lost in noise"
    return Row(quantity, None, None, n, note=lost, **reference)  # type: ignore[arg-type]


def is_zero(coefficients: np.ndarray) -> bool:
    """Whether the mean of these coefficients, one a seed, has 0 inside its 95 % interval."""
    found = mean(coefficients)
    return bool(abs(found.value) <= found.interval().high - found.value)
