"""The optimal noise by two searches and at shares of the training time, and the largest stable rate.

`compare`: if only the noise scale matters, a search over batch sizes at a fixed learning rate and one over
learning rates at a fixed batch size find the same optimal noise (park2019, figures 1 and 2) and best accuracy
(figure 3).

`over_time`: the paper's claim is about late times. At a constant learning rate a run of T/2 steps is the
first half of a run of T steps, so that checkpoints show what a shorter training would have found.

`stability` (park2019, appendix H): the largest stable learning rate of a width is where the share of runs
that fail crosses one half. The paper claims ε_max ∝ w^−1 in the standard scheme and a constant ε_max in the
NTK scheme, so that the normalized rate is constant in both. It is interpolated in logs between two rates;
intervals come from resampling runs within width and rate, and from half a step of the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.noise.optimum import (
    OptimalNoise,
    in_common,
    optimal_noise,
    powers,
    proportionality,
    statistic,
)
from scalinglab.laws.noise.runs import DRAWS, TRAINED_ABOVE, UNITS, ends
from scalinglab.results.distributions import CANNOT_TELL, Draws, Estimate, interval
from scalinglab.results.types import Reason, Remark, TableRows, Worded


@dataclass(frozen=True)
class Stability(Worded):
    """Largest stable learning rate by width.

    Attributes:
        width: (widths,), in the units of `width_column`.
        width_column: "widening_factor" (w of park2019), "width", or what was asked for.
        rates: (rates,), all learning rates that were tried.
        failed: (widths, rates), share of runs that failed; NaN where nothing was tried.
        largest: (widths,), rate at which half of the runs fail; NaN where the search does not reach it.
        largest_interval: (2, widths).
        exponent: c of largest ∝ width^c, through the widths that have one.
    """

    width: np.ndarray
    width_column: str
    rates: np.ndarray
    failed: np.ndarray
    largest: np.ndarray
    largest_interval: np.ndarray
    exponent: Estimate

    @property
    def remarks(self) -> Iterator[Remark]:
        rows = [
            {"w": w, "rate": rate,
             "ends": f"[{low:.3g}, {high:.3g}]" if np.isfinite(rate) else Reason("outside_search")}
            for w, rate, (low, high) in zip(self.width, self.largest, self.largest_interval.T, strict=True)
        ]  # fmt: skip
        yield TableRows("stability", rows, {"w": self.width_column})
        known = UNITS.get(self.width_column)
        unit = Reason("in_brackets", text=known) if known else ""
        yield Reason("stable_power", column=self.width_column, unit=unit, of=self.exponent)


def stability(curves: Curves, *, trained_above: float | None = None) -> Stability:
    """Failure rates by learning rate and width, and how the largest stable rate depends on width.

    Args:
        curves: runs at several learning rates and widths; a run fails that diverged.
        trained_above: runs that end at or below this accuracy fail as well; None counts divergence alone, as
            in the paper.
    """
    found = ends(
        curves, "learning_rate", trained_above=TRAINED_ABOVE if trained_above is None else trained_above
    )
    rates, index = np.unique(found.level, return_inverse=True)
    if len(rates) < 2:
        raise BadInput(f"learning_rate has the value {rates[0]:g} alone: stability needs a search over it")
    has_failed = ~found.trained
    if trained_above is None:
        has_failed = np.asarray(curves.has_diverged[found.frame.index] | ~np.isfinite(found.score))
    widths = found.widths
    count, failures = np.zeros((2, len(widths), len(rates)))
    place = np.searchsorted(widths, found.width)
    np.add.at(count, (place, index), 1)
    np.add.at(failures, (place, index), has_failed)
    with np.errstate(invalid="ignore"):
        share = failures / count
    random = np.random.default_rng(0)
    largest = np.array([half_fail(rates[tried], row[None, tried])[0] for row, tried in zip(share, count > 0)])
    drawn = np.full((DRAWS, len(widths)), np.nan)
    known_ends = np.full((2, len(widths)), np.nan)
    known = np.isfinite(largest)
    for k in range(len(widths)):
        tried = count[k] > 0
        runs = count[k, tried].astype(int)
        # Jeffreys' estimate of the probability of failure: none of five is not never
        chance = (failures[k, tried] + 0.5) / (runs + 1)
        shares = random.binomial(runs, chance, (DRAWS, len(runs))) / runs
        drawn[:, k] = half_fail(rates[tried], shares, random.uniform(-0.5, 0.5, DRAWS))
        if known[k]:
            known_ends[:, k] = interval(Draws(drawn[:, k]))
    exponent = statistic(powers, widths[known], largest[known], drawn[:, known])
    return Stability(widths, found.width_column, rates, share, largest, known_ends, exponent)


def half_fail(rates: np.ndarray, share: np.ndarray, shift: Any = 0.0) -> np.ndarray:
    """(rows,) the rate above which half of the runs fail, for each row of shares; NaN outside the search.

    Args:
        shift: by how many steps of the search each rate is shifted.
    """
    stable = share < 0.5
    last = share.shape[1] - 1 - stable[:, ::-1].argmax(axis=1)
    rows, after, log_rates = np.arange(len(share)), np.minimum(last + 1, share.shape[1] - 1), np.log(rates)
    low, high = share[rows, last], share[rows, after]
    with np.errstate(invalid="ignore", divide="ignore"):
        fraction = (0.5 - low) / (high - low)
        found = np.exp(log_rates[last] + (fraction + shift) * (log_rates[after] - log_rates[last]))
    return np.where(stable.any(axis=1) & ~stable[:, -1], found, np.nan)


VARIED = {"batch": ("batch_size", "learning_rate"), "rate": ("learning_rate", "batch_size")}


@dataclass(frozen=True)
class Compared(Worded):
    """Both searches; their ratio means little where an optimum may lie outside one (`OptimalNoise.bounded`).

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
    by_search = searches(curves)
    if missing := [name for name in VARIED if name not in by_search]:
        varied, fixed = VARIED[missing[0]]
        raise BadInput(f"no search over {varied}: no {fixed} has runs at two values of it or more")
    return compare_searches(by_search["batch"], by_search["rate"], **options)


def compare_searches(by_batch: Curves, by_rate: Curves, **options: Any) -> Compared:
    """`compare` for two tables, one of each search."""
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
    known_shares, optima = zip(*found, strict=True)
    ratios = tuple(ratio_of(one, optima[-1]) for one in optima)
    half = known_shares.index(0.5)
    verdict = verdict_on(ratios[half], bounded=optima[half].bounded and optima[-1].bounded)
    return OverTime(tuple(known_shares), tuple(optima), ratios, verdict)


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
    """Whether the optimum still moves, by its ratio; `bounded`: it lies inside the search at both times."""
    if not (bounded and ratio.low <= ratio.high):
        return CANNOT_TELL  # an optimum at the end of the search stays there whatever it does
    if not ratio.low <= 1 <= ratio.high:
        return MOVING
    # settled where a change by a factor of two, one level of the usual search, is excluded
    return SETTLED if ratio.low > 0.5 and ratio.high < 2.0 else CANNOT_TELL
