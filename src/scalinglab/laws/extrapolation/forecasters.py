"""The forecasts of one curve, their backtests, and how they are averaged: see `stacking`.

Two forms, each with several memories, and a trend continue a falling curve from its first points:

    power_law_offset     y    = E + A x^−c,   E, A ≥ 0    (a pure power law where E = 0)
    log_offset           ln y = E + A x^−c,   A ≥ 0       (the local exponent dies out, not the curve)

Real curves follow one form only for a stretch, so a point counts by how recent it is,
w ∝ exp(−ln(x_last/x)/memory), and by the stretch of ln x that it stands for. E and A are linear and solved
for exactly at every exponent of a grid; the forecast is the average over the grid by likelihood, because a
short stretch seldom determines the exponent, and the best one alone would be an accident of the noise. All
memories and exponents are one array operation, so that a curve can be forecast from every one of its points.

The damped trend assumes no form: a line through the recent ln y against ln x, whose slope dies out ahead,

    ln y(h) = a + b ℓ (1 − e^(−h/ℓ)),   h = ln(x/x_last),

as published curves bend after the last point that was measured. It needs points that are close in ln x.

The band around them: at the distance h = ln(x/x_last) the error of ln y has the variance

    s² + (V(h) + D h²)(1 + FEW/m),

- s², the noise: the scatter of ln y around the line through its two neighbours, recent points first. A
  curve that was made monotone hides its noise, and what follows is raw: there s is multiplied by HIDDEN;
- V(h), the weighted variance of the forecasts that are averaged;
- D, the drift: (PRIOR (SLOPE s₁)² + m d)/(PRIOR + m), between what the backtests of this curve give (d, the
  part of their squared errors that is neither noise nor disagreement, from m effective cuts) and a share
  of the recent slope s₁, which is what other curves of that steepness do. With few cuts the second counts,
  so that eight points give a usable band;
- FEW: the weights of the average were chosen on the same cuts.

Beyond about twice the range (h > REACH) the slope itself may change: (CHANGE s₂ (h − REACH) h)² is added, s₂
the larger of the recent slope and that of the whole curve. CHANGE was chosen on forecasts of published image
curves at ten times their range (benchmarks/forecasts.py).

A curve that rose by r in ln y may do so again: r² per unit of distance, up to one, is added to D h². For a
curve that still rises r is infinite, and so is the band: it is not continued. Its distribution is Student's t
with PRIOR + m − 1 degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from scalinglab.laws import weighing
from scalinglab.laws.fitting.data.points import FEWEST_FOR_AN_OFFSET
from scalinglab.results.distributions import LEAST_SPREAD, Student

# measured: benchmarks/extrapolation.py, as docs/benchmarks/extrapolation-protocol.md says
EXPONENTS = np.geomspace(0.01, 4.0, 48)  # search: a grid
MEMORIES = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)  # in units of ln x
NAMES = (
    "last_value",
    *(f"{form}@{memory:g}" for form in ("power_law_offset", "log_offset") for memory in MEMORIES),
)
TREND_MEMORY = 0.15  # in ln x
DAMPING = 0.9  # ℓ, in ln x
SMALLEST_VARIANCE = 1e-8  # guard: of ln y; no curve is known better than to 0.01 %


def forecast(log_x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Forecast ln y at ln x = `at` from the points (ln x, y), ascending.

    Returns:
        (forecasts, at), in the order of `NAMES`.
    """
    past, ahead = log_x - log_x[-1], at - log_x[-1]
    recent = np.exp(past[None] / np.array(MEMORIES)[:, None]) * _stretch(log_x)
    weights = recent / recent.sum(axis=1, keepdims=True)
    effective = 1.0 / (weights**2).sum(axis=1)
    last = np.full((1, at.size), np.log(y[-1]))
    basis = np.exp(-EXPONENTS[:, None] * past)  # (exponents, points)
    further = np.exp(-EXPONENTS[:, None] * ahead)[:, None]  # (exponents, 1, at)
    targets, weight = np.stack([y, np.log(y)]), np.stack([weights / y**2, weights])
    offset, logs = _average(basis, targets, weight, further, effective)
    return np.concatenate([last, offset, logs])


@dataclass(frozen=True)
class Line:
    """A weighted line through recent points, ln y = level + slope · ln(x/x_last), of so many points."""

    level: float
    slope: float
    points: float


def recent_line(log_x: np.ndarray, y: np.ndarray, memory: float) -> Line:
    """The line through ln y against ln x in which points fade with their distance from the end."""
    past, logs = log_x - log_x[-1], np.log(y)
    weight = np.exp(past / memory) * _stretch(log_x)
    weight = weight / weight.sum()
    centre, mean = weight @ past, weight @ logs
    slope = weight @ ((past - centre) * (logs - mean)) / (weight @ (past - centre) ** 2)
    return Line(float(mean - slope * centre), float(slope), float(1.0 / (weight @ weight)))


def _stretch(log_x: np.ndarray) -> np.ndarray:
    """(n,) the stretch of ln x that each point stands for, as np.gradient gives it for values."""
    between = np.diff(log_x)
    return np.concatenate([between[:1], 0.5 * (between[1:] + between[:-1]), between[-1:]])


def damped_trend(log_x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Forecast ln y at ln x = `at`, (at,), by the recent line with its slope dying out."""
    line = recent_line(log_x, y, TREND_MEMORY)
    ahead = np.maximum(at - log_x[-1], 0.0)
    return np.asarray(line.level + line.slope * DAMPING * -np.expm1(-ahead / DAMPING))


def _average(
    basis: np.ndarray, target: np.ndarray, weights: np.ndarray, further: np.ndarray, effective: np.ndarray
) -> np.ndarray:
    """(2, memories, at) ln y of E + A x^−c, averaged over c by likelihood: of y with E ≥ 0, and of ln y.

    Args:
        basis: (exponents, points).
        target: (2, points).
        weights: (2, memories, points).
        further: (exponents, 1, at).
        effective: (memories,) how many points count.
    """
    over_points, each = weights.swapaxes(1, 2), target[:, None]
    ones = weights.sum(axis=2)[:, None]  # (2, 1, memories), as are value and square
    value, square = each @ over_points, each**2 @ over_points
    power, powers = basis @ over_points, basis**2 @ over_points  # (2, exponents, memories)
    product = (basis * each) @ over_points
    determinant = ones * powers - power**2 + 1e-300
    slope = (ones * product - power * value) / determinant
    floor = (powers * value - power * product) / determinant
    slope[0] = np.where(floor[0] < 0, product[0] / powers[0], slope[0])
    floor[0] = np.maximum(floor[0], 0.0)
    rising = slope < 0
    slope, floor = np.where(rising, 0.0, slope), np.where(rising, value / ones, floor)
    misfit = square + ones * floor**2 + powers * slope**2
    misfit = misfit + 2 * (slope * floor * power - floor * value - slope * product)
    least = misfit.min(axis=1, keepdims=True)
    variance = np.maximum(least, SMALLEST_VARIANCE) * effective / np.maximum(effective - 3.0, 1.0)
    likelihood = np.exp(-effective * (misfit - least) / (2.0 * variance))
    share = likelihood / likelihood.sum(axis=1, keepdims=True)
    curve = floor[..., None] + slope[..., None] * further
    curve[0] = np.log(curve[0])
    found: np.ndarray = np.einsum("fem,fema->fma", share, curve)
    return found


# measured: benchmarks/extrapolation.py, as docs/benchmarks/extrapolation-protocol.md says
RECENT_SCATTER = np.median(MEMORIES)  # defined: in ln x, how fast old points fade from the noise
HIDDEN = 1.6  # how much larger than its scatter the noise of a monotone curve is
PRIOR = 12.0  # how many cuts the prior of the drift counts for
SLOPE = 0.15  # the prior drift, as a share of the recent slope
SLOPE_MEMORY = 2 * TREND_MEMORY  # defined: in ln x; a slope takes twice the points of a level
FEW = 4.0  # the weights were chosen on the same cuts: variances grow by 1 + FEW/cuts
REACH = 0.75  # in ln x: how far the slope is taken as it is
CHANGE = 0.1  # measured: benchmarks/forecasts.py; part by which the slope may change for each unit beyond


def band(
    ahead: np.ndarray,
    noise: float,
    disagreement: np.ndarray,
    drift: float,
    slope: float,
    cuts: float,
    rise: float = 0.0,
    steepest: float = 0.0,
) -> Student:
    """The distribution of ln y around the forecast at the distances `ahead` (n,), by the module's equation.

    Args:
        noise: s², its factor for monotone curves included.
        disagreement: (n,) V(h).
        drift: d, per squared distance.
        slope: s₁, of ln y against ln x.
        cuts: m.
        rise: r.
        steepest: s₂.
    """
    distance = np.maximum(ahead, 0.0)
    per_distance = (PRIOR * (SLOPE * slope) ** 2 + cuts * drift) / (PRIOR + cuts)
    again = np.where(distance > 0, rise, 0.0) * np.minimum(np.maximum(distance, 1e-12), 1.0)
    growing = disagreement + per_distance * distance**2 + again**2
    change = CHANGE * steepest * np.maximum(distance - REACH, 0.0) * distance
    scale = np.sqrt(noise + growing * (1.0 + FEW / cuts) + change**2)
    return Student(np.zeros_like(scale), np.maximum(scale, LEAST_SPREAD), PRIOR + cuts - 1.0)


def scatter(log_x: np.ndarray, y: np.ndarray, lag: int = 1) -> float:
    """The variance of one ln y about the line through its two neighbours; recent points count more.

    Args:
        lag: how many points away these are: near ones share errors that are correlated along a curve.
    """
    before, at, after = slice(None, -2 * lag), slice(lag, -lag), slice(2 * lag, None)
    share = (log_x[after] - log_x[at]) / (log_x[after] - log_x[before])
    rest = np.log(y)[at] - share * np.log(y)[before] - (1 - share) * np.log(y)[after]
    weight = np.exp((log_x[at] - log_x[-1]) / RECENT_SCATTER)
    return float(np.sum(weight * rest**2 / (1 + share**2 + (1 - share) ** 2)) / weight.sum())


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
    effective = recent_line(log_x, y, TREND_MEMORY).points
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
