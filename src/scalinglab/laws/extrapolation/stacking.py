"""Extrapolate a learning curve: forms judged by rolling backtests and a damped trend, averaged; with bands.

1. *Forecasts* (`forecasters`): two forms with seven memories each, "repeat the last value", and a damped
   local trend.
2. *Rolling backtests*: the curve is cut at many of its own points; every forecast is made from what lies
   before the cut and compared, in ln y, with what follows within a factor of three.
3. *Stack of forms*: the weights w ≥ 0, Σw = 1, that make the average of the forms best in the backtests,

       min_w Σ_cuts q_cut mean (Σ_j w_j e_j)² + ridge · Σ_j w_j² mean e_j²,

   with recent cuts counting more. Forms that err in opposite directions cancel; the ridge keeps the weights
   spread out where the backtests cannot tell them apart.
4. *Dense curves* (three effective points within the memory of the trend): the stack counts by half and the
   trend by half, and the stack by less where it was chosen on fewer than 24 cuts. Where the backtests of
   the stack are clearly better, as on a clean law, the trend fades.
5. *Sparse curves* (two effective points or fewer) have no trend: of a change δ of ln y that the stack
   predicts, and whose backtests err by a variance v at that distance, the part δ²/(δ² + v) is kept.
   In between the two are mixed in proportion.
6. *Stretch* (`stretch_of`): where the backtests of this average foretell changes that are too
   small by a factor that they agree on, as of short, smooth curves, changes are multiplied by it.
7. *Bands* (`band`): Student's t on noise, disagreement of the forecasts and drift.
8. *One law beside them* (`law_beside`): E + A x^-c with what its form may miss, which is all that fewer
   than eight sizes have (`few_points`), counts in the interval by its residuals and by the density that it
   gave to later sizes, over that of the stack with its band. Its interval is that of `form_error`, of a fit
   of squares: no noise that seems to fall with size, as that of smoothed points does.

Nothing but the points (x, y) goes into any of these; `at` is only where the result is evaluated. The
constants are the same for every curve; how they were chosen: docs/benchmarks/extrapolation-protocol.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws import weighing
from scalinglab.laws.extrapolation import few_points, forecasters
from scalinglab.laws.extrapolation.forecasters import (
    Backtest,
    backtests,
    damped_trend,
    forecast,
    joined,
    method_of,
    recent_line,
)
from scalinglab.laws.extrapolation.shapes import require_continuable, shape_of, short_range, widened
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.data.from_curves import points_from
from scalinglab.laws.fitting.data.points import FEWEST_FOR_AN_OFFSET, FEWEST_SIZES, Points
from scalinglab.laws.fitting.fit import table_outlier_note
from scalinglab.laws.fitting.statistics import rmsle
from scalinglab.laws.fitting.uncertainty.form_error import FormError, Places
from scalinglab.results.distributions import (
    Interval,
    Student,
    WithEnds,
    check_level,
    interval,
    of_average,
    reach,
)
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.types import Reason, Remark, noted, weighed
from scalinglab.support.validation import checked, real_array


@dataclass(frozen=True)
class Extrapolation(NotebookResult, WithEnds):
    """The continuation of a curve.

    Attributes:
        at: (n,) where.
        mean, low, high: (n,) the prediction and the ends of its interval (for the curve's own points: where
            a further measurement would fall).
        weights: by forecast, how much it counts in the average; they sum to 1.
        trust: (n,) the part of the predicted change from the last value that is kept.
        backtest: one row for each cut and later point: `cut` and `x`, `y` as measured, `predicted` as this
            method would have with the same weights, `last_value`, and `weight` of the cut.
        level: of the interval.
        band: the distribution of ln y around the prediction.
        notes: what a reader should know about the points.
        largest: the largest size measured.
        points: what was measured.
        law: the part of one law, E + A x^-c, in the interval, the rest being the forecasts'.
        rises: whether 1 - y was modelled, as of an accuracy; `band` is then that of ln (1 - y).
    """

    at: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    weights: dict[str, float]
    trust: np.ndarray
    backtest: pd.DataFrame
    level: float
    band: Student
    notes: tuple[Reason, ...] = ()
    largest: float = float("nan")
    points: points.Points | None = None
    law: float = 0.0
    rises: bool = False

    @property
    def beyond(self) -> np.ndarray:
        """(n,) how many times the largest size measured each prediction lies."""
        return self.at / self.largest

    def only(self, place: int) -> Extrapolation:
        """At one of its sizes."""
        kept = np.arange(self.at.size)[[place]]
        ends = {name: getattr(self, name)[kept] for name in ("at", "mean", "low", "high", "trust")}
        band = {"middle": self.band.middle[kept], "spread": self.band.spread[kept]}
        below = None if self.band.below is None else self.band.below[kept]
        return replace(self, **ends, band=replace(self.band, **band, below=below))

    def log_score(self, y: Any) -> np.ndarray:
        """(n,) ln of the predicted density of y, one measured value for each of `at`."""
        values, mean = np.asarray(y, float), self.mean
        if self.rises:
            values, mean = 1 - values, 1 - mean
        return np.asarray(self.band.log_density(np.log(values / mean)) - np.log(values))

    @property
    def backtest_error(self) -> float:
        """RMSLE of the backtests, cuts weighted as in the method; √mean (ln ŷ − ln y)²; NaN without any."""
        if self.backtest.empty:
            return float("nan")
        return rmsle_of(self.backtest, "predicted")

    def notebook_table(self) -> pd.DataFrame:
        """One row a size."""
        return pd.DataFrame({
            "at": self.at, "mean": self.mean, "low": self.low, "high": self.high, "times_beyond": self.beyond
        })  # fmt: skip

    @property
    def remarks(self) -> Iterator[Remark]:
        for x, mean, low, high, times in zip(
            self.at, self.mean, self.low, self.high, self.beyond, strict=True
        ):
            far = Reason("beyond_size", times=times) if times > 1 else ""
            yield Reason("extrapolated", x=x, mean=mean, low=low, high=high, level=self.level, far=far)
        if self.backtest.empty:
            yield Reason("one_law", sizes=FEWEST_SIZES - 1)
        else:
            heavy = sorted(self.weights.items(), key=lambda item: -item[1])[:4]
            yield Reason("weights", weights=weighed(dict(heavy)))
            cuts, last = self.backtest["cut"].nunique(), rmsle_of(self.backtest, "last_value")
            yield Reason("backtests", cuts=cuts, error=self.backtest_error, last=last)
        yield from noted(self.notes)


@checked
def extrapolate(
    *data: Any,
    at: Any = None,
    x: Any = None,
    y: Any = None,
    reduce: str = "auto",
    where: Mapping[str, Any] | None = None,
    mixed: bool = False,
    level: float = 0.95,
    nan_policy: str = "raise",
) -> Extrapolation:
    """Continue the curve y(x) to `at`: where one more run would fall.

    ``extrapolate(x, y, at=1e6)``, or ``extrapolate(curves, at=1e6, x="n_data", y="test_error")``. From eight
    sizes on by the forecasts and backtests above; from four sizes on by one law with an offset
    (`few_points`). This is the one prediction of the package: `laws fit --at`, `plan` and the report call it.

    Args:
        data: x and y as arrays, or a table: `Curves`, or a pandas frame under standard names.
        x: sizes, positive, repeated ones are merged; or the name of a column, "n_data" by default.
        y: errors or losses, positive, or a fraction that rises with x (an accuracy), modelled as 1 - y; or
            the name of a column, test_error (or test_loss, without errors) by default.
        reduce, where, mixed: which rows of a table count, as in `scalinglab.laws.fit`.
        at: where to predict; inside the range of x the curve is interpolated.
        level: of the interval.
        nan_policy: "raise" on points that cannot be used, or "drop" them.

    >>> import numpy as np
    >>> n = np.geomspace(100, 10_000, 20)
    >>> further = extrapolate(n, 0.1 + 5 * n**-0.5, at=40_000)
    >>> bool(abs(further.mean[0] / 0.125 - 1) < 0.01)
    True
    """
    if at is None and len(data) == 3:
        *data, at = data  # type: ignore[assignment]
    targets = _targets(at)
    check_level(level)
    table = points_from(tuple(data), x, y, reduce=reduce, where=where, mixed=mixed)
    sizes_given, measured = (
        np.ravel(real_array(name, values)) for name, values in (("x", table.x), ("y", table.y))
    )
    points.same_length(sizes_given, len(measured), "x")
    if is_rising := points.is_complement(sizes_given, measured):
        measured = 1 - measured
    usable = points.check(sizes_given, measured, nan_policy=nan_policy)
    found = _continued(usable, targets, level)
    notes = (*table.notes, *usable.notes, *found.notes, *table_outlier_note(table, nan_policy))
    found = replace(found, points=usable, notes=notes, largest=float(usable.x.max()))
    return _complement(found) if is_rising else found


def _continued(usable: points.Points, at: np.ndarray, level: float) -> Extrapolation:
    """The points continued to `at`: few sizes by one law, others by forecasts and backtests."""
    refuse_decades(x=usable.x, y=usable.y)
    x_unit, y_unit = unit_of(usable.x), unit_of(usable.y)
    scaled = replace(usable, x=usable.x / x_unit, y=usable.y / y_unit)
    targets = at / x_unit
    sizes, values = scaled.means()
    if sizes.size < FEWEST_SIZES:
        found = _from_one_law(scaled, targets, level)
    elif targets.min() < sizes[0]:
        raise BadInput(
            f"at={x_unit * targets.min():g} lies below the smallest size, {x_unit * sizes[0]:g}: predictions "
            "are for larger sizes; for smaller ones fit a form (scalinglab laws fit --at)"
        )
    else:
        if targets.max() > sizes[-1]:
            require_continuable(sizes, values)
        found = _of_many(sizes, values, targets, level)
    return _in_units(found, x_unit, y_unit)


# search: resolution of a long curve. Neighbours of 400 checkpoints are too near to choose by backtests: the
# interval at twice their steps was ± 6.7 % for noise of 0.8 %, and is ± 1.7 % from means of neighbours
MOST_SIZES = 80
LAGS = 25  # search: noise of a long curve is judged over this part of it, within which it may be correlated
KNOTS = 60  # search: sizes at which the interval of the law is found; between them it is interpolated
NEGLIGIBLE = 0.02  # search: weight below which the law is left out; it costs a profile
MOST_LOG = 650.0  # guard: of values and intervals; beyond exp of it lie no numbers
DECADES = 100  # guard: between the smallest and the largest value
# guard: values beyond it, or below its inverse, are divided by a unit; squares would overflow
ORDINARY = 1e30


def refuse_decades(**values: np.ndarray) -> None:
    """Refuse values so far apart that no unit makes the squares of all of them ordinary numbers."""
    for name, given in values.items():
        low, high = float(given.min()), float(given.max())
        if np.log10(high) - np.log10(low) > DECADES:
            raise BadInput(
                f"{name} reaches from {low:g} to {high:g}, over more than {DECADES} decades: look for a "
                "wrong value, and leave it out"
            )


def unit_of(values: np.ndarray) -> float:
    """A power of two near the values where they are extreme, by which they are divided exactly; 1 else."""
    middle = float(np.median(np.log2(values)))
    return 1.0 if abs(middle) < np.log2(ORDINARY) else float(2.0 ** np.clip(round(middle), -1000, 1000))


def _in_units(found: Extrapolation, x_unit: float, y_unit: float) -> Extrapolation:
    """The prediction of y/y_unit over x/x_unit as one of y over x."""
    if x_unit == y_unit == 1.0:
        return found
    units = {"cut": x_unit, "x": x_unit, "y": y_unit, "predicted": y_unit, "last_value": y_unit}
    backtest = found.backtest.assign(**{name: found.backtest[name] * unit for name, unit in units.items()})
    low, high = found.interval.through(lambda y: y * y_unit)
    return replace(
        found, at=found.at * x_unit, mean=found.mean * y_unit, low=low, high=high, backtest=backtest
    )


def _targets(at: Any) -> np.ndarray:
    """The sizes to predict at, (n,)."""
    if at is None:
        raise BadInput("give at=, the sizes to predict at")
    try:
        targets = np.atleast_1d(np.asarray(at, float))
    except (TypeError, ValueError) as error:
        raise BadInput(f"at={at!r}: give positive, finite numbers to predict at") from error
    if targets.ndim != 1 or targets.size == 0:
        raise BadInput(f"at={at!r}: give one size to predict at, or a list of them")
    if not (good := np.isfinite(targets) & (targets > 0)).all():
        raise BadInput(f"at={targets[~good][0]:g}: give positive, finite numbers to predict at")
    return targets


def _from_one_law(data: points.Points, at: np.ndarray, level: float) -> Extrapolation:
    mean, ends = few_points.predict(data, at, level)
    columns = ("cut", "x", "y", "predicted", "last_value", "weight")
    empty = pd.DataFrame({name: np.zeros(0) for name in columns})
    # the profile gives an interval and no density: that of two halves of Gaussians stands in
    band = Student.of_ends(np.zeros_like(mean), *np.log(ends / mean), level=level)
    weights = {few_points.OFFSET_FORM: 1.0}
    notes = few_points.caution(data, at)
    return Extrapolation(at, mean, *ends, weights, np.ones_like(at), empty, level, band, notes)


def _complement(found: Extrapolation) -> Extrapolation:
    """The prediction of 1 - y as one of y."""
    backtest = found.backtest.assign(
        **{name: 1 - found.backtest[name] for name in ("y", "predicted", "last_value")}
    )
    low, high = found.interval.through(lambda y: 1 - y)
    return replace(
        found, mean=1 - found.mean, low=low, high=high, backtest=backtest, rises=True,
        notes=(*found.notes, points.COMPLEMENT_NOTE),
        points=None if found.points is None else replace(found.points, y=1 - found.points.y),
    )  # fmt: skip


def _of_many(sizes: np.ndarray, values: np.ndarray, at: np.ndarray, level: float) -> Extrapolation:
    """Eight sizes and more: the stack and the law, wider beyond sizes that cover too little."""
    if sizes.size > MOST_SIZES:
        return _of_groups(sizes, values, at, level)
    curve = np.log(sizes).tobytes(), values.tobytes()  # arrays cannot be keys of a cache
    stack = _stacked(np.log(sizes), values, at, level, tests_of(*curve))
    if not np.isfinite(stack.high).all():
        raise NotDetermined(stack.notes[0])  # where the curve still rises
    found = _with_law(stack, *law_beside(*curve))
    if at.max() <= sizes[-1] or not (short := short_range(sizes)):
        return found
    ends = widened(sizes, at, found.mean, found.interval, level)
    return _with_ends(replace(found, notes=(*short, *found.notes)), ends)


def _of_groups(sizes: np.ndarray, values: np.ndarray, at: np.ndarray, level: float) -> Extrapolation:
    """Means of neighbouring points continued, and the interval of a single one around them."""
    each = -(-sizes.size // MOST_SIZES)
    starts = np.arange(-(-sizes.size % each), sizes.size, each).clip(0)  # the last group is full
    counts = np.diff([*starts, sizes.size])
    log_x, log_y = (np.add.reduceat(np.log(v), starts) / counts for v in (sizes, values))
    found = _of_many(np.exp(log_x), np.exp(log_y), at, level)
    # what the band lacks of the noise of one point: that of means is in it
    of_one = forecasters.scatter(np.log(sizes), values, sizes.size // LAGS)
    lacking = of_one - min(forecasters.scatter(log_x, np.exp(log_y)), of_one / each)
    single = reach(level) * np.sqrt(lacking)
    below, above = (np.hypot(np.log(end / found.mean), single) for end in (found.low, found.high))
    one_point = Student.of_ends(np.zeros_like(below), -below, above, level=level)
    return _with_ends(found, interval(one_point, level, natural=lambda off: found.mean * np.exp(off)))


def _with_ends(found: Extrapolation, ends: Interval) -> Extrapolation:
    """The prediction with another interval: a distribution of the same kind and of this width."""
    off = np.log(ends / found.mean)
    band = Student.of_ends(np.zeros_like(found.mean), *off, level=found.level, dof=found.band.dof)
    return replace(found, low=ends.low, high=ends.high, band=band)


def _with_law(stack: Extrapolation, share: float, errors: FormError | None) -> Extrapolation:
    """The interval of the stack and of the law of few points, each by the densities it gave later points.

    The prediction stays that of the stack, whose weights were chosen for it: of published curves of images,
    language and translation it errs less than the law's, whose strength is to know how far it may be wrong.
    The points of a curve that never rises may be means of raw ones, and hide noise as a monotone curve does.
    """
    at, level = stack.at, stack.level
    if errors is None or share < NEGLIGIBLE:
        return stack
    once = np.unique(at)
    once = once if once.size <= KNOTS else np.geomspace(once[0], once[-1], KNOTS)
    noise = forecasters.HIDDEN if np.all(np.diff(errors.law.points.y) < 0) else 1.0
    shares = (0.5, 0.5 - level / 2, 0.5 + level / 2)
    found = errors.quantiles(Places.values(once[None]), shares, noise**2)
    by_law = [np.interp(np.log(at), np.log(once), part) for part in found] + np.log(errors.law.at(at))
    middle, *ends_of_each = np.stack([by_law, np.log([stack.mean, stack.low, stack.high])], axis=1)
    ends = of_average(middle, ends_of_each, np.array([share, 1 - share]), level, natural=np.exp)
    return _with_ends(replace(stack, mean=np.clip(stack.mean, *ends), law=share), ends)


@lru_cache(maxsize=64)
def tests_of(log_sizes: bytes, values: bytes) -> list[Backtest]:
    """The backtests of a curve, which is asked for many sizes in turn."""
    return backtests(np.frombuffer(log_sizes), np.frombuffer(values))


@lru_cache(maxsize=64)
def law_beside(log_sizes: bytes, values: bytes) -> tuple[float, FormError | None]:
    """How much E + A x^-c, with what it may miss, counts beside the stack; and the law.

    Before any cut the law counts by the probability that its form holds, given its residuals, and by the
    `PRIOR` of the band; the stack by that of an error, and by the cuts there are to choose its weights. Then
    both are made from the first half of the sizes and predict the next sixth, are made with it and predict
    the next, and so on, and each counts by the density that it gave them. In what the law alone would refuse,
    or in a shape that it cannot have, it has no part.
    """
    log_x, y = np.frombuffer(log_sizes), np.frombuffer(values)
    slope = recent_line(log_x, y, forecasters.SLOPE_MEMORY).slope
    if not np.ptp(y) or shape_of(log_x, y, slope).notes:
        return 0.0, None
    x = np.exp(log_x)
    try:
        few_points.refuse_steepening(points.check(x, y))
        whole = few_points.law_of(points.check(x, y), loss="squared", starts=1)
    except NotDetermined:
        return 0.0, None
    errors, form = FormError(whole), whole.form
    if not errors.shows:
        return 0.0, None
    cuts, whole_tests = x.size - FEWEST_FOR_AN_OFFSET, tests_of(log_sizes, values)

    def density(one: int, count: int, until: int) -> float:
        later = slice(count, until)
        if one:
            tests = [test.until(log_x[count - 1]) for test in whole_tests if test.cut < log_x[count - 1]]
            stack = _stacked(log_x[:count], y[:count], x[later], 0.5, tests)
            return float(np.sum(stack.band.log_density(np.log(y[later] / stack.mean))))
        # one step from the whole law, whose noise is written out so that the step is made; no search
        data = points.check(x[:count], y[:count])
        early = FormError(replace(whole, points=data), noise=np.eye(count))
        if not early.shows:
            return -np.inf
        off = np.log(y[later] / whole.at(x[later]))
        return float(np.sum(early.log_density(Places.values(x[None, later]), off)))

    prior = np.array([np.log(forecasters.PRIOR / cuts) - special.logit(errors.chance), 0.0])
    share = weighing.by_backtests(prior, density, weighing.cuts(x.size, len(form.parameters) + 2))
    return float(share[0]), errors


def _stacked(
    log_x: np.ndarray, y: np.ndarray, at: np.ndarray, level: float, tests: list[Backtest]
) -> Extrapolation:
    """The stack of forecasts and the trend, with its band, by the backtests of these points."""
    method = method_of(log_x, y, tests)
    every, by_point, _ = joined(tests)
    again, apart = method.combine(every.forecasts, every.trend, every.ahead)
    ahead = np.log(at) - log_x[-1]
    made, trend = forecast(log_x, y, np.log(at)), damped_trend(log_x, y, np.log(at))
    mean, disagreement = method.combine(made, trend, ahead)
    inside = ahead <= 0
    mean[inside] = np.interp(np.log(at)[inside], log_x, np.log(y))
    slope = recent_line(log_x, y, forecasters.SLOPE_MEMORY).slope
    shape = shape_of(log_x, y, slope)
    noise = forecasters.scatter(log_x, y)
    band = forecasters.band(
        ahead,
        noise * (forecasters.HIDDEN**2 if shape.monotone else 1.0),
        np.where(inside, 0.0, disagreement),
        drift_of(by_point, every, again, apart + noise),
        slope,
        method.cuts,
        np.inf if shape.rising else shape.rise,
        max(abs(slope), abs(float(np.polyfit(log_x, np.log(y), 1)[0]))),
    )
    ends = interval(replace(band, middle=mean), level)  # infinite where the curve still rises
    if np.any(lost := np.isfinite(ends.high) & (np.maximum(-ends.low, ends.high) > MOST_LOG)):
        place = {"at": float(at[lost][0]), "beyond": float(np.exp(min(ahead[lost][0], MOST_LOG)))}
        sizes = {"points": len(y), "sizes": len(np.unique(log_x))}
        raise NotDetermined(Reason("value_open", **sizes, **place, low=0.0, high=float("inf")))
    return Extrapolation(
        at=at,
        mean=np.exp(mean),
        low=np.exp(ends.low),
        high=np.exp(ends.high),
        weights=method.named_weights(),
        trust=np.where(inside, 1.0, method.stretch * method.kept(made, ahead)),
        backtest=backtest_table(tests, again),
        level=level,
        notes=shape.notes,
        band=band,
    )


def drift_of(share: np.ndarray, every: Backtest, again: np.ndarray, known: np.ndarray) -> float:
    """The variance per squared distance that noise and disagreement leave of the average's squared errors.

    The band adds all three, so that an error for which the forecasts disagreed must not count twice.

    Args:
        share: (points,) how much each counts.
        every: the backtests, joined.
        again: (points,) what the average would have said.
        known: (points,) variance of the noise and of the forecasts around their average.
    """
    left = share @ ((again - every.truth) ** 2 - known)
    return float(max(left, 0.0) / (share @ every.ahead**2))


def backtest_table(tests: list[Backtest], again: np.ndarray) -> pd.DataFrame:
    """One row a point that was predicted: the cut, what was said, and what the last value would have said."""
    repeated, every = [t.ahead.size for t in tests], joined(tests)[0]
    cut = np.repeat([t.cut for t in tests], repeated)
    return pd.DataFrame(
        {
            "cut": np.exp(cut),
            "x": np.exp(cut + every.ahead),
            "y": np.exp(every.truth),
            "predicted": np.exp(again),
            "last_value": np.exp(every.forecasts[0]),
            "weight": np.repeat([t.weight for t in tests], repeated),
        }
    )


def rmsle_of(table: pd.DataFrame, column: str) -> float:
    """RMSLE of a column of a table of backtests: each cut counts by its weight, its points evenly."""
    points = table.groupby("cut")["cut"].transform("size")
    return rmsle(np.log(table[column] / table["y"]), table["weight"] / points)


@dataclass(frozen=True)
class Continuation:
    """Points and what `extrapolate` gives for them at sizes from the smallest on."""

    points: Points

    @property
    def name(self) -> str:
        """What the prediction rests on."""
        return few_points.OFFSET_FORM if self.points.sizes < FEWEST_SIZES else "forms averaged by backtests"

    def predict(self, x: Any) -> np.ndarray:
        """The curve at x, (n,)."""
        return self._at(x, 0.95)[0]

    def interval(self, x: Any, level: float = 0.95) -> Interval:
        """Where one more run would fall at x; open ends are 0 and infinity."""
        return self._at(x, level)[1]

    def _at(self, x: Any, level: float) -> tuple[np.ndarray, Interval]:
        at = np.atleast_1d(np.asarray(x, float))
        if self.points.sizes < FEWEST_SIZES:
            return few_points.ends(self.points, at, level)
        found = extrapolate(self.points.x, self.points.y, at=at, level=level)
        return found.mean, found.interval


def continuation(x: Any, y: Any, nan_policy: str = "raise") -> Continuation:
    """The continuation of the points (x, y) of one variable.

    Raises:
        NotDetermined: fewer than four sizes.
    """
    data = points.check(x, y, nan_policy=nan_policy)
    if points.is_complement(data.x, data.y):
        raise NotDetermined(f"{points.COMPLEMENT_NOTE}; ask this question of 1 - y")
    if data.sizes < FEWEST_SIZES:
        few_points.law_of(data)
    return Continuation(data)
