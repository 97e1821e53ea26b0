"""The optimal noise of the same runs by two searches, and at shares of the training time.

If only the noise scale matters, a search over batch sizes at a fixed learning rate and one over learning
rates at a fixed batch find the same optimal noise (park2019, figures 1 and 2) and best accuracy (figure 3).

The paper's claim is about late times. At a constant learning rate a run of T/2 steps is the first half of a
run of T steps, so its checkpoints show what a shorter training would have found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.noise.optimum import OptimalNoise, in_common, optimal_noise, proportionality
from scalinglab.results.estimate import CANNOT_TELL, Estimate
from scalinglab.results.types import Reason, Remark, TableRows, Worded

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


# --- whether training was long enough --------------------------------------------------------------------

SETTLED, MOVING = "settled", "still moving"


@dataclass(frozen=True)
class OverTime(Worded):
    """The optimal noise at several shares of every run's training time.

    Attributes:
        shares: increasing, the last one 1.
        found: the optimum at each.
        ratio: for each share the optimum there over that at the end, the geometric mean over the widths that
            both use, with its 95 % interval over resampled runs.
        verdict: "settled", "still moving" or "cannot tell", by the ratio at half the time.
    """

    shares: tuple[float, ...]
    found: tuple[OptimalNoise, ...]
    ratio: tuple[Estimate, ...]
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """The whole result."""
        return {
            "shares": self.shares, "ratio": [asdict(r) for r in self.ratio], "verdict": self.verdict,
            "power": [asdict(one.power) for one in self.found], "noise": [one.noise for one in self.found],
        }  # fmt: skip

    @property
    def remarks(self) -> Iterator[Remark]:
        """What the summary says, as data."""
        rows = [
            {"share": share, "ratio": Reason("ends_short", of=ratio) if share < 1 else "1",
             "slope": one.slope, "p": one.power}
            for share, one, ratio in zip(self.shares, self.found, self.ratio, strict=True)
        ]  # fmt: skip
        yield TableRows("over_time", rows)
        yield Reason("over_time", verdict=self.verdict)


def over_time(
    curves: Curves, *, shares: Sequence[float] = (0.0625, 0.125, 0.25, 0.5, 1.0), **options: Any
) -> OverTime:
    """The optimal noise as a function of the training time.

    Args:
        curves: runs with several checkpoints each.
        shares: of each run's training time; 0.5 and 1 are always among them.
        options: of `optimal_noise`.
    """
    if not curves.progress_columns:
        raise BadInput("the table has no step, epoch or other progress: one row a run has no time dependence")
    wanted = sorted({*map(float, shares), 0.5, 1.0})
    found = []
    for share in wanted:
        try:
            found.append((share, optimal_noise(curves, share=share, **options)))
        except BadInput:
            if share in (0.5, 1.0):
                raise  # at an earlier time some width has not trained yet
    kept, optima = zip(*found, strict=True)
    ratios = tuple(ratio_of(one, optima[-1]) for one in optima)
    half = kept.index(0.5)
    verdict = verdict_on(ratios[half], bounded=optima[half].bounded and optima[-1].bounded)
    return OverTime(tuple(kept), tuple(optima), ratios, verdict)


def ratio_of(one: OptimalNoise, last: OptimalNoise) -> Estimate:
    """The optimum over the last one, in the geometric mean over the widths that both use."""
    widths, own, end = in_common(one, last)
    if not len(widths):
        return Estimate(float("nan"))
    value = float(np.exp(np.mean(np.log(one.noise[own] / last.noise[end]))))
    if not np.isfinite(one.noise_interval).all() or not np.isfinite(last.noise_interval).all():
        return Estimate(value)
    draws = np.exp(np.mean(np.log(one.draws[:, own] / last.draws[:, end]), axis=1))
    return Estimate.from_draws(value, draws)


def verdict_on(ratio: Estimate, *, bounded: bool) -> str:
    """Whether the optimum has come to rest, by its ratio; `bounded`: inside the search at both times."""
    if not (bounded and ratio.low <= ratio.high):
        return CANNOT_TELL  # an optimum at the end of the search stays there whatever it does
    if not ratio.low <= 1 <= ratio.high:
        return MOVING
    # settled where a change by a factor of two, one level of the usual search, is excluded
    return SETTLED if ratio.low > 0.5 and ratio.high < 2.0 else CANNOT_TELL
