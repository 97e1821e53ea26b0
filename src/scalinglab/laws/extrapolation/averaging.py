"""Backtests of the forecasts of one curve, and how the forecasts are averaged: see `stacking`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from scalinglab.laws import weighing
from scalinglab.laws.extrapolation import forecasters
from scalinglab.laws.extrapolation.bands import FEW
from scalinglab.laws.extrapolation.forecasters import MEMORIES, NAMES, damped_trend, forecast, recent_line
from scalinglab.laws.fitting.data.points import FEWEST_FOR_AN_OFFSET

# measured: benchmarks/extrapolation.py, as docs/benchmarks/extrapolation-protocol.md says, as are those of
# `bands` and `forecasters`
MOST_CUTS = 24
HORIZON = np.log(3.0)  # how far a backtest looks ahead, in ln x
NEAREST = 0.2  # errors at smaller distances in ln x count as if they were this far
RECENT = MEMORIES[-1]  # defined: a cut counts by exp(−distance from the end/RECENT), the longest memory
RIDGE = 0.3
CHOSEN = 2 * FEW  # defined: likewise of all that the backtests see, by 1 + CHOSEN/cuts
CLEARLY = 3.0  # the trend fades where the backtests of the forms are better by more than this, in variance
# defined: effective points within the memory of the trend; two give a line and nothing to judge it by, so
# that with so many none of it counts, with one more all
SPARSE = 2.0
SURE = 2.0  # convention: standard errors from which on backtests show that changes are foretold too small


@dataclass(frozen=True)
class Backtest:
    """One cut: where (ln x), how much it counts, distances ahead; of ln y: forecasts, trend and truth."""

    cut: float
    weight: float
    ahead: np.ndarray
    forecasts: np.ndarray
    trend: np.ndarray
    truth: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """(forms, at) of the forecasts."""
        return self.forecasts - self.truth

    def until(self, end: float) -> Backtest:
        """The same cut, compared with what lies up to ln x = `end` alone."""
        kept = self.ahead <= end - self.cut
        parts = {name: getattr(self, name)[..., kept] for name in ("ahead", "forecasts", "trend", "truth")}
        return replace(self, **parts)


def backtests(log_x: np.ndarray, y: np.ndarray) -> list[Backtest]:
    """The forecasts made from what lies before each of up to `MOST_CUTS` of the curve's points."""
    possible = np.arange(FEWEST_FOR_AN_OFFSET, log_x.size)
    kept = np.unique(np.linspace(0, possible.size - 1, min(MOST_CUTS, possible.size)).astype(int))
    tests = []
    for count in possible[kept]:
        cut = log_x[count - 1]
        later = (log_x > cut) & (log_x <= cut + HORIZON)
        later[count] = True  # the next point, however far
        known = log_x[:count], y[:count]
        tests.append(
            Backtest(
                cut=float(cut),
                weight=float(np.exp((cut - log_x[-1]) / RECENT)),
                ahead=log_x[later] - cut,
                forecasts=forecast(*known, log_x[later]),
                trend=damped_trend(*known, log_x[later]),
                truth=np.log(y[later]),
            )
        )
    return tests


def joined(tests: list[Backtest]) -> tuple[Backtest, np.ndarray, np.ndarray]:
    """All as one, (points,) how much each point counts, summing to 1, and (cuts,) where each begins."""
    sizes = np.array([test.ahead.size for test in tests])
    weight = np.array([test.weight for test in tests])
    names = ("ahead", "forecasts", "trend", "truth")
    parts = {name: np.concatenate([getattr(t, name) for t in tests], axis=-1) for name in names}
    share = np.repeat(weight / (sizes * weight.sum()), sizes)
    return Backtest(tests[-1].cut, float(weight.sum()), **parts), share, np.cumsum(sizes) - sizes


def stack(tests: list[Backtest]) -> np.ndarray:
    """The weights on the simplex that make the average best in the backtests."""
    every, share, _ = joined(tests)
    matrix = (every.errors * share) @ every.errors.T
    matrix = matrix + RIDGE * np.diag(np.diag(matrix))
    return weighing.smallest_on_simplex(matrix)


@dataclass(frozen=True)
class Method:
    """How the forecasts of one curve are averaged.

    Attributes:
        weights: (forms,) of the stack.
        dense: 1 where the points are dense enough for a trend, 0 where there is none.
        stacked: the part of the stack beside the trend.
        unit: variance of the stack's error per squared distance.
        cuts: effective number of cuts.
        stretch: what a change of ln y is multiplied by, where the backtests foretold too small ones.
    """

    weights: np.ndarray
    dense: float
    stacked: float
    unit: float
    cuts: float
    stretch: float = 1.0

    def kept(self, forecasts: np.ndarray, ahead: np.ndarray) -> np.ndarray:
        """(at,) the part of the stack's predicted change that is kept."""
        change = self.weights @ forecasts - forecasts[0]
        return np.asarray(
            self.dense + (1 - self.dense) * change**2 / (change**2 + self.unit * ahead**2 + 1e-30)
        )

    def combine(
        self, forecasts: np.ndarray, trend: np.ndarray, ahead: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(at,) the averaged forecast of ln y, and the variance of what is averaged around it."""
        last, stack = forecasts[0], self.weights @ forecasts
        by_trend = np.full_like(stack, self.dense * (1 - self.stacked))
        by_last = 1 - self.kept(forecasts, ahead)
        by_stack = 1 - by_trend - by_last
        mean = by_trend * trend + by_stack * stack + by_last * last
        variance = by_trend * (trend - mean) ** 2 + by_stack * (stack - mean) ** 2
        return last + self.stretch * (mean - last), variance + by_last * (last - mean) ** 2

    def named_weights(self) -> dict[str, float]:
        """By forecast, how much it counts before a change is shortened; they sum to 1."""
        trend = self.dense * (1 - self.stacked)
        return {
            "damped_trend": trend,
            **dict(zip(NAMES, ((1 - trend) * self.weights).tolist(), strict=True)),
        }


def method_of(log_x: np.ndarray, y: np.ndarray, tests: list[Backtest]) -> Method:
    """How the forecasts of this curve are averaged, by its backtests and its density."""
    weights = stack(tests)
    by_cut = np.array([test.weight for test in tests])
    cuts = float(by_cut.sum() ** 2 / (by_cut**2).sum())
    every, share, _ = joined(tests)
    errors = weights @ every.errors
    effective = recent_line(log_x, y, forecasters.TREND_MEMORY).points
    by_stack, by_trend = share @ errors**2, share @ (every.trend - every.truth) ** 2
    trust = min(1.0, CLEARLY * by_stack / max(by_trend, 1e-300))
    method = Method(
        weights=weights,
        dense=float(np.clip(effective - SPARSE, 0.0, 1.0)),
        stacked=1 - trust * (1 - 0.5 * len(tests) / MOST_CUTS),
        unit=float(share @ (errors / np.maximum(every.ahead, NEAREST)) ** 2 * (1.0 + CHOSEN / cuts)),
        cuts=cuts,
    )
    return replace(method, stretch=stretch_of(method, tests))


def stretch_of(method: Method, tests: list[Backtest]) -> float:
    """By what the changes that the method foretells are to be multiplied, by its backtests.

    Forecasts that are averaged, shortened and damped foretell too little of a short, smooth curve, again and
    again. The measured change over the one foretold, of every cut, has a mean and a standard error; what is
    within `SURE` of these from 1 is left as it is, and the rest shrinks by what is uncertain of it (James and
    Stein 1961). On long, noisy curves the cuts disagree, and nothing changes.
    """
    every, share, begins = joined(tests)
    foretold, measured = (
        (values - every.forecasts[0]) / every.ahead
        for values in (method.combine(every.forecasts, every.trend, every.ahead)[0], every.truth)
    )
    # of every cut, each of its points counting the same
    size, product = (np.add.reduceat(share * foretold * other, begins) for other in (foretold, measured))
    ratio = product / np.maximum(size, 1e-300)
    if not size.sum() > 0:  # no change was foretold
        return 1.0
    share = size / size.sum()
    more = float(share @ ratio - 1)
    cuts = 1 / float(share @ share)
    # a size is foretold from as many cuts as there are sizes within `HORIZON`: they are not independent
    repeated = float(share @ [test.ahead.size for test in tests])
    variance = float(share @ (ratio - 1 - more) ** 2) / max(cuts / repeated - 1, 0.5)
    kept = max(0.0, 1 - SURE**2 * variance / max(more**2, 1e-300))
    return 1 + kept * float(np.clip(more, -0.5, 1.0))
