"""Extrapolate a learning curve: several forms, judged by rolling backtests, averaged; with intervals.

1. *Forecasts* (`forecasts`): two forms with seven memories each, and "repeat the last value".
2. *Rolling backtests*: the curve is cut at many of its own points; every forecast is made from what lies
   before the cut and compared, in ln y, with what follows within a factor of three.
3. *Averaging*: the weights w ≥ 0, Σw = 1, that make the average best in the backtests,

       min_w Σ_cuts q_cut mean (Σ_j w_j e_j)² + ridge · Σ_j w_j² mean e_j²,

   with recent cuts counting more. Forms that err in opposite directions cancel; the ridge keeps the weights
   spread out where the backtests cannot tell them apart.
4. *Trust*: a predicted change δ of ln y, whose backtests err by a variance v at that distance, is kept to
   the part δ²/(δ² + v). A clean curve is followed; a noisy or short one stays near its last value.
5. *Intervals*: Student's t on the curve's own scatter, plus a drift that grows in proportion to the distance
   in ln x and is as large as the backtests' errors ask for.

Nothing but the points (x, y) goes into any of these; `at` is only where the result is evaluated. The
constants below are the same for every curve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from scalinglab.deprecation import renamed_arguments
from scalinglab.errors import BadInput
from scalinglab.laws.extrapolation import few_points
from scalinglab.laws.extrapolation.forecasters import NAMES, forecast
from scalinglab.laws.fitting import points, rising
from scalinglab.laws.fitting.from_curves import points_from
from scalinglab.notebook import Shown
from scalinglab.numbers_given import real_array

FEWEST_POINTS = 8  # sizes; below, `few_points` predicts by one law
FEWEST_BEFORE_A_CUT = 4
MOST_CUTS = 24
HORIZON = np.log(3.0)  # how far a backtest looks ahead, in ln x
NEAREST = 0.2  # errors at smaller distances in ln x count as if they were this far
RECENT = 3.0  # a cut counts by exp(−distance from the end/RECENT), in ln x
RIDGE = 0.3
CHOSEN = 8.0  # the weights were chosen on the same cuts: variances grow by 1 + CHOSEN/cuts


@dataclass(frozen=True)
class Extrapolation(Shown):
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
        notes: what a reader should know about the points.
        largest: the largest size measured.
        points: what was measured.
    """

    at: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    weights: dict[str, float]
    trust: np.ndarray
    backtest: pd.DataFrame
    level: float
    notes: tuple[str, ...] = ()
    largest: float = float("nan")
    points: points.Points | None = None

    @property
    def beyond(self) -> np.ndarray:
        """(n,) how many times the largest size measured each prediction lies."""
        return self.at / self.largest

    @property
    def backtest_error(self) -> float:
        """RMSLE of the backtests, cuts weighted as in the method; √mean (ln ŷ − ln y)²; NaN without any."""
        if self.backtest.empty:
            return float("nan")
        return _rmsle(self.backtest, "predicted")

    def notebook_table(self) -> pd.DataFrame:
        """One row a size."""
        return pd.DataFrame({
            "at": self.at, "mean": self.mean, "low": self.low, "high": self.high, "times_beyond": self.beyond
        })  # fmt: skip

    def summary(self) -> str:
        """The prediction as readable text."""
        lines = [
            f"{x:>12.4g}  {m:<10.4g} {100 * self.level:.0f} % {low:.4g} … {high:.4g}{_far(times)}"
            for x, m, low, high, times in zip(
                self.at, self.mean, self.low, self.high, self.beyond, strict=True
            )
        ]
        if self.backtest.empty:
            lines.append(f"{FEWEST_POINTS - 1} sizes or fewer: one law with an offset, profile interval")
            return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])
        heavy = sorted(self.weights.items(), key=lambda item: -item[1])[:4]
        lines.append("weights: " + ", ".join(f"{name} {weight:.2f}" for name, weight in heavy) + ", …")
        lines.append(
            f"backtests: {self.backtest['cut'].nunique()} cuts, error {self.backtest_error:.3g} of ln y "
            f"(repeating the last value {_rmsle(self.backtest, 'last_value'):.3g})"
        )
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _far(times: float) -> str:
    return f"   {times:.3g} times the largest size" if times > 1 else ""


@renamed_arguments(missing="nan_policy")
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
    if not 0 < level < 1:
        raise BadInput(f"level={level} must lie between 0 and 1, such as 0.95")
    table = points_from(tuple(data), x, y, reduce=reduce, where=where, mixed=mixed)
    sizes_given, measured = (
        np.ravel(real_array(name, values)) for name, values in (("x", table.x), ("y", table.y))
    )
    if is_rising := rising.is_complement(sizes_given, measured):
        measured = 1 - measured
    usable = points.check(sizes_given, measured, nan_policy=nan_policy)
    _refuse_decades(x=usable.x, y=usable.y)
    x_unit, y_unit = _unit(usable.x), _unit(usable.y)
    scaled = replace(usable, x=usable.x / x_unit, y=usable.y / y_unit)
    targets = targets / x_unit
    sizes, inverse = np.unique(scaled.x, return_inverse=True)
    values = np.bincount(inverse, scaled.y) / np.bincount(inverse)
    if sizes.size < FEWEST_POINTS:
        found = _from_one_law(scaled, targets, level)
    elif targets.min() < sizes[0]:
        raise BadInput(
            f"at={x_unit * targets.min():g} lies below the smallest size, {x_unit * sizes[0]:g}: curves are "
            "continued to "
            "larger sizes; a fitted form reaches smaller ones (laws.fit)"
        )
    else:
        found = _extrapolate(np.log(sizes), values, targets, level)
    notes = (*table.notes, *usable.notes)
    found = _in_units(found, x_unit, y_unit)
    found = replace(found, points=usable, notes=notes, largest=float(usable.x.max()))
    return _complement(found) if is_rising else found


DECADES = 100  # between the smallest and the largest value
ORDINARY = 1e30  # values beyond it, or below its inverse, are divided by a unit: their squares would overflow


def _refuse_decades(**values: np.ndarray) -> None:
    """Refuse values so far apart that no unit makes the squares of all of them ordinary numbers."""
    for name, given in values.items():
        low, high = float(given.min()), float(given.max())
        if np.log10(high) - np.log10(low) > DECADES:
            raise BadInput(
                f"{name} reaches from {low:g} to {high:g}, over more than {DECADES} decades: look for a "
                "wrong value, and leave it out"
            )


def _unit(values: np.ndarray) -> float:
    """A power of two near the values where they are extreme, by which they are divided exactly; 1 else."""
    middle = float(np.median(np.log2(values)))
    return 1.0 if abs(middle) < np.log2(ORDINARY) else float(2.0 ** np.clip(round(middle), -1000, 1000))


def _in_units(found: Extrapolation, x_unit: float, y_unit: float) -> Extrapolation:
    """The prediction of y/y_unit over x/x_unit as one of y over x."""
    if x_unit == y_unit == 1.0:
        return found
    units = {"cut": x_unit, "x": x_unit, "y": y_unit, "predicted": y_unit, "last_value": y_unit}
    backtest = found.backtest.assign(**{name: found.backtest[name] * unit for name, unit in units.items()})
    return replace(
        found, at=found.at * x_unit, mean=found.mean * y_unit, low=found.low * y_unit,
        high=found.high * y_unit, backtest=backtest,
    )  # fmt: skip


def _targets(at: Any) -> np.ndarray:
    """The sizes to predict at, (n,)."""
    if at is None:
        raise BadInput("give at=, the sizes to predict at")
    try:
        targets = np.atleast_1d(np.asarray(at, float))
    except (TypeError, ValueError) as error:
        raise BadInput(f"at={at!r}: give positive, finite numbers to predict at") from error
    if targets.ndim != 1 or not np.all(np.isfinite(targets)) or not np.all(targets > 0):
        raise BadInput(f"at={at!r}: give positive, finite numbers to predict at")
    return targets


def _from_one_law(data: points.Points, at: np.ndarray, level: float) -> Extrapolation:
    mean, low, high = few_points.predict(data, at, level)
    columns = ("cut", "x", "y", "predicted", "last_value", "weight")
    empty = pd.DataFrame({name: np.zeros(0) for name in columns})
    return Extrapolation(at, mean, low, high, {few_points.OFFSET_FORM: 1.0}, np.ones_like(at), empty, level)


def _complement(found: Extrapolation) -> Extrapolation:
    """The prediction of 1 - y as one of y."""
    backtest = found.backtest.assign(
        **{name: 1 - found.backtest[name] for name in ("y", "predicted", "last_value")}
    )
    return replace(
        found, mean=1 - found.mean, low=1 - found.high, high=1 - found.low, backtest=backtest,
        notes=(*found.notes, rising.NOTE),
        points=None if found.points is None else replace(found.points, y=1 - found.points.y),
    )  # fmt: skip


def _extrapolate(log_x: np.ndarray, y: np.ndarray, at: np.ndarray, level: float) -> Extrapolation:
    tests = _backtests(log_x, y)
    weights = _stack(tests)
    share = np.array([test.weight for test in tests])
    cuts = share.sum() ** 2 / (share**2).sum()
    # variance of the averaged forecast's error per unit of squared distance
    each = [np.mean((weights @ test.errors / np.maximum(test.ahead, NEAREST)) ** 2) for test in tests]
    unit = float(share @ each / share.sum() * (1.0 + CHOSEN / cuts))

    ahead = np.log(at) - log_x[-1]
    mean, trust = _combine(weights, forecast(log_x, y, np.log(at)), np.log(y[-1]), ahead, unit)
    inside = ahead <= 0
    mean[inside] = np.interp(np.log(at)[inside], log_x, np.log(y))
    scatter, drift = _scatter(log_x, y), _drift(tests, weights, _scatter(log_x, y))
    variance = (scatter + drift * np.maximum(ahead, 0.0) ** 2) * (1.0 + CHOSEN / cuts)
    spread = np.sqrt(variance) * stats.t.ppf(0.5 + level / 2, max(cuts - 1.0, 1.0))
    again = [_combine(weights, t.forecasts, t.forecasts[0, 0], t.ahead, unit)[0] for t in tests]
    repeated = [t.ahead.size for t in tests]
    last = np.concatenate([t.forecasts[0] for t in tests])
    cut = np.repeat([t.cut for t in tests], repeated)
    backtest = pd.DataFrame(
        {
            "cut": np.exp(cut),
            "x": np.exp(cut + np.concatenate([t.ahead for t in tests])),
            "y": np.exp(last - np.concatenate([t.errors[0] for t in tests])),
            "predicted": np.exp(np.concatenate(again)),
            "last_value": np.exp(last),
            "weight": np.repeat(share, repeated),
        }
    )
    return Extrapolation(
        at=at,
        mean=np.exp(mean),
        low=np.exp(mean - spread),
        high=np.exp(mean + spread),
        weights=dict(zip(NAMES, weights.tolist(), strict=True)),
        trust=np.where(inside, 1.0, trust),
        backtest=backtest,
        level=level,
    )


def _scatter(log_x: np.ndarray, y: np.ndarray) -> float:
    """The variance of one ln y about the line through its two neighbours."""
    share = (log_x[2:] - log_x[1:-1]) / (log_x[2:] - log_x[:-2])
    rest = np.log(y)[1:-1] - share * np.log(y)[:-2] - (1 - share) * np.log(y)[2:]
    return float(np.mean(rest**2 / (1 + share**2 + (1 - share) ** 2)))


def _drift(tests: list[_Backtest], weights: np.ndarray, scatter: float) -> float:
    """The variance per squared distance by which the average's errors exceed the scatter."""
    excess = sum(t.weight * np.mean(np.maximum((weights @ t.errors) ** 2 - scatter, 0.0)) for t in tests)
    return float(excess / sum(t.weight * np.mean(t.ahead**2) for t in tests))


def _combine(
    weights: np.ndarray, forecasts: np.ndarray, last: float, ahead: np.ndarray, unit: float
) -> tuple[np.ndarray, np.ndarray]:
    """The averaged forecast of ln y, drawn towards the last value as far as its errors ask for."""
    change = weights @ forecasts - last
    trust = change**2 / (change**2 + unit * ahead**2 + 1e-30)
    return last + trust * change, trust


@dataclass(frozen=True)
class _Backtest:
    """One cut: where (ln x), how much it counts, distances ahead, forecasts and their errors in ln y."""

    cut: float
    weight: float
    ahead: np.ndarray
    forecasts: np.ndarray
    errors: np.ndarray


def _backtests(log_x: np.ndarray, y: np.ndarray) -> list[_Backtest]:
    possible = np.arange(FEWEST_BEFORE_A_CUT, log_x.size)
    kept = np.unique(np.linspace(0, possible.size - 1, min(MOST_CUTS, possible.size)).astype(int))
    tests = []
    for count in possible[kept]:
        cut = log_x[count - 1]
        later = (log_x > cut) & (log_x <= cut + HORIZON)
        later[count] = True  # the next point, however far
        made = forecast(log_x[:count], y[:count], log_x[later])
        tests.append(
            _Backtest(
                cut=float(cut),
                weight=float(np.exp((cut - log_x[-1]) / RECENT)),
                ahead=log_x[later] - cut,
                forecasts=made,
                errors=made - np.log(y[later]),
            )
        )
    return tests


def _stack(tests: list[_Backtest]) -> np.ndarray:
    """The weights on the simplex that make the average best in the backtests."""
    products = sum(t.weight * (t.errors @ t.errors.T) / t.ahead.size for t in tests)
    matrix = np.asarray(products) / sum(t.weight for t in tests)
    matrix = matrix + RIDGE * np.diag(np.diag(matrix))
    return _smallest_on_simplex(matrix)


def _smallest_on_simplex(matrix: np.ndarray) -> np.ndarray:
    """argmin wᵀMw over w ≥ 0, Σw = 1, M positive definite.

    The minimum of vᵀMv/2 − Σv over v ≥ 0 points in the same direction (same conditions of optimality), and
    with M = LLᵀ that is the non-negative least-squares problem Lᵀv ≈ L⁻¹1, which is solved exactly.
    """
    # where nothing errs, as on a constant curve, every average is as good
    scaled = matrix / max(np.trace(matrix), 1e-300) + 1e-12 * np.eye(len(matrix))
    lower = np.linalg.cholesky(scaled)
    v, _ = nnls(lower.T, solve_triangular(lower, np.ones(len(matrix)), lower=True))
    return np.asarray(v / v.sum())


def _rmsle(table: pd.DataFrame, column: str) -> float:
    squared = np.log(table[column] / table["y"]) ** 2
    by_cut = squared.groupby(table["cut"]).mean()
    weight = table.groupby("cut")["weight"].first()
    return float(np.sqrt((by_cut * weight).sum() / weight.sum()))
