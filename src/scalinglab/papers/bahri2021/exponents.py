"""Exponents of measured losses with an error over seeds, on a range of sizes that is chosen by rule.

The rule: of all ranges of at least four neighbouring sizes take the longest on which ln loss is straight in
ln size, and of several of one length that with the largest sizes. Straight means that the mean over seeds of
the quadratic coefficient of each seed's own curve has 0 inside its 95 % interval. Where no range is straight,
the four largest sizes are taken, and `straight` is False.

The exponent is that of the power law which `scalinglab.laws.fit` gives on this range, and its error comes
from refits on resampled seeds (`scalinglab.laws.bootstrap`): the sizes of one seed share their network and
their examples, seeds do not. Differences of losses, which may be negative for one seed, are averaged before
the logarithm is taken, with the same rule and resampling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scalinglab import laws
from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.estimate import Estimate
from scalinglab.papers.bahri2021 import linear
from scalinglab.papers.verdict import Row, mean, quantile

FEWEST = 4  # sizes in a range


@dataclass(frozen=True)
class Exponent:
    """An exponent α of loss ∝ size^−α.

    Attributes:
        value, stderr: α and its standard error over seeds.
        n: independent seeds.
        first, last: the places of the smallest and of the largest size of the range.
        sizes: all sizes, (n_sizes,).
        straight: whether the range is straight by the rule.
    """

    value: float
    stderr: float
    n: int
    first: int
    last: int
    sizes: np.ndarray
    straight: bool

    @property
    def chosen(self) -> slice:
        """The sizes of the range."""
        return slice(self.first, self.last + 1)

    @property
    def note(self) -> str:
        """The range, for a table."""
        low, high = self.sizes[self.first], self.sizes[self.last]
        told = f"sizes {low:g} to {high:g}, {self.last - self.first + 1} of {len(self.sizes)}, by rule"
        return told if self.straight else told + "; no range is straight"

    def row(self, quantity: str, note: str = "", **reference: float) -> Row:
        """A row of the table, against ``paper=`` or ``expected=``."""
        told = f"{note}; {self.note}" if note else self.note
        return Row(quantity, self.value, self.stderr, self.n, note=told, **reference)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return str(Estimate(self.value, self.stderr))


def table(curves: Curves, size: str, y: str, seed: str = "seed") -> tuple[np.ndarray, np.ndarray]:
    """Sizes (n,), and values (seeds, n) of the last row of each run; seeds that lack a size are left out."""
    last = curves.frame.sort_values("step").groupby("run", as_index=False).last()
    wide = last.pivot_table(index=seed, columns=size, values=y).dropna()
    if len(wide) < 2:
        raise BadInput(f"{y} against {size}: {len(wide)} seeds have all sizes, an error needs two or more")
    return wide.columns.to_numpy(float), wide.to_numpy(float)


def of_losses(sizes: np.ndarray, losses: np.ndarray) -> Exponent:
    """The exponent of positive losses (seeds, sizes), averaged in the logarithm as in bahri2021 A.1."""
    if not (losses > 0).all():
        raise BadInput("losses must be positive; differences of losses go into of_differences")
    first, last, straight = straight_range(sizes, lambda part: curvatures(sizes[part], losses[:, part]))
    part = slice(first, last + 1)
    x, y = np.broadcast_arrays(sizes[part], losses[:, part])
    seeds = np.broadcast_to(np.arange(len(losses))[:, None], y.shape)
    law = laws.fit("power_law", x.ravel(), y.ravel(), runs=seeds.ravel(), loss="squared")
    found = laws.bootstrap(law, draws=400) if len(losses) > 2 else None
    if found is None:  # two seeds cannot be resampled
        slopes = -np.polyfit(np.log(sizes[part]), np.log(losses[:, part]).T, 1)[0]
        return Exponent(law.best_exponent, mean(slopes).stderr, 2, first, last, sizes, straight)
    few = np.sqrt(len(losses) / (len(losses) - 1))  # resampled seeds spread less than new ones
    stderr = float(few * found.errors()["exponent"])
    return Exponent(law.best_exponent, stderr, len(losses), first, last, sizes, straight)


def of_differences(sizes: np.ndarray, differences: np.ndarray) -> Exponent:
    """The exponent of the mean of differences (seeds, sizes), each of which may be negative."""
    first, last, straight = straight_range(sizes, lambda part: _jackknifed(sizes[part], differences[:, part]))
    part = slice(first, last + 1)
    found = linear.exponent(sizes[part], differences[:, part], resamples=400)
    return Exponent(found.value, found.stderr, len(differences), first, last, sizes, straight)


def straight_range(
    sizes: np.ndarray, bend: Callable[[slice], np.ndarray], fewest: int = FEWEST
) -> tuple[int, int, bool]:
    """First and last place of the range that the rule gives, and whether it is straight.

    Args:
        bend: independent values of the quadratic coefficient on a range, one a seed.
    """
    count = len(sizes)
    if count < fewest:
        return 0, count - 1, count < 3 or is_straight(bend(slice(0, count)))
    for length in range(count, fewest - 1, -1):
        for first in range(count - length, -1, -1):
            if is_straight(bend(slice(first, first + length))):
                return first, first + length - 1, True
    return count - fewest, count - 1, False


def is_straight(bends: np.ndarray) -> bool:
    """Whether the mean of these coefficients has 0 inside its 95 % interval."""
    found = mean(bends)
    return bool(abs(found.value) <= quantile(found.n) * found.stderr)


def curvatures(sizes: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """The quadratic coefficient of ln loss in ln size of each seed, (seeds,)."""
    return np.asarray(np.polyfit(np.log(sizes), np.log(losses).T, 2)[0])


def _jackknifed(sizes: np.ndarray, differences: np.ndarray) -> np.ndarray:
    """Pseudo-values of the quadratic coefficient of the mean difference, one a seed; NaN: not positive."""
    total, count = differences.sum(0), len(differences)
    means = np.concatenate([total[None] / count, (total - differences) / (count - 1)])
    if not (means > 0).all():
        return np.full(count, np.nan)
    found = curvatures(sizes, means)
    return np.asarray(count * found[0] - (count - 1) * found[1:])
