"""Two ways to the same optimum: batch sizes at a fixed learning rate, and learning rates at a fixed batch.

If only the noise scale matters, both searches find the same optimal noise (park2019, figures 1 and 2) and the
same best accuracy (figure 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.noise.optimum import OptimalNoise, in_common, optimal_noise, proportionality
from scalinglab.results.estimate import Estimate
from scalinglab.results.types import Reason, Remark, Worded

VARIED = {"batch": ("batch_size", "learning_rate"), "rate": ("learning_rate", "batch_size")}


@dataclass(frozen=True)
class Compared(Worded):
    """Both searches.

    Where an optimum may lie outside one of them (`OptimalNoise.bounded`), neither number means much.

    Attributes:
        batch, rate: the optimum by batch sizes and by learning rates.
        ratio: a by batch over a by rate, with its 95 % interval over resampled runs.
        best_difference: the best score by batch minus that by rate, in the mean over common widths.
    """

    batch: OptimalNoise
    rate: OptimalNoise
    ratio: Estimate
    best_difference: Estimate

    @property
    def remarks(self) -> Iterator[Remark]:
        """What the summary says, as data."""
        yield Reason("by_batch")
        yield from self.batch.remarks
        yield from (Reason("blank"), Reason("by_rate"))
        yield from self.rate.remarks
        yield from (Reason("blank"), Reason("batch_over_rate", of=self.ratio))
        yield Reason("batch_minus_rate", of=self.best_difference)


def searches(curves: Curves) -> dict[str, Curves]:
    """The runs of each search: "batch" at the learning rate, "rate" at the batch size, with most levels.

    A table that holds one kind of search gives that one alone.
    """
    found = {}
    for name, (varied, fixed) in VARIED.items():
        if varied not in curves.frame or fixed not in curves.frame:
            continue
        levels = curves.frame.groupby(fixed)[varied].nunique()
        if len(levels) and levels.max() > 1:
            found[name] = curves.select(**{fixed: levels.idxmax()})
    if not found:
        raise BadInput("no search: neither batch_size at one learning_rate nor the reverse has two values")
    return found


def compare(curves: Curves, **options: Any) -> Compared:
    """The optimum by batch sizes against that by learning rates.

    Args:
        curves: runs of both searches.
        options: of `optimal_noise`.
    """
    both = searches(curves)
    if missing := [name for name in VARIED if name not in both]:
        varied, fixed = VARIED[missing[0]]
        raise BadInput(f"no search over {varied}: no {fixed} has runs at two values of it or more")
    return compare_searches(both["batch"], both["rate"], **options)


def compare_searches(by_batch: Curves, by_rate: Curves, **options: Any) -> Compared:
    """`compare` for runs of each search that are at hand apart."""
    batch = optimal_noise(by_batch, **options)
    rate = optimal_noise(by_rate, seed=1, **options)  # other runs, other draws
    widths, one, other = in_common(batch, rate)
    if not len(widths):
        raise BadInput("the two searches have no width in common at which both find an optimum")
    first, second = (
        proportionality(widths, np.vstack([found.noise, found.draws])[:, at])
        for found, at in ((batch, one), (rate, other))
    )
    ratios = first / second
    sign = -1.0 if batch.y.endswith("loss") else 1.0  # draws are scores: larger is better
    gain = sign * float(np.mean(batch.accuracy[one] - rate.accuracy[other]))
    gains = (batch.best_draws[:, one] - rate.best_draws[:, other]).mean(axis=1)
    return Compared(batch, rate, Estimate.from_draws(ratios[0], ratios[1:]), Estimate.from_draws(gain, gains))
