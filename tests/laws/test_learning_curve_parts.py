"""The parts of collapse and dynamical laws, each against loops or a library that computes the same."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves import (
    collapse,
    dynamical,
    mean_curves,
    shape,
)
from scalinglab.laws.learning_curves.collapse import GRID, SHARED, CurveFamily
from scalinglab.laws.learning_curves.mean_curves import COUNTED, STIFFNESS, Smooth, smooth
from scalinglab.results.distributions import slope

RNG = np.random.default_rng(0)


# --- smoothing ------------------------------------------------------------

X = np.sort(RNG.uniform(0, 4, 30))
Y = np.sin(X) + 0.05 * RNG.standard_normal(30)


def test_smoothing_is_the_penalised_least_squares_of_its_equation():
    found = smooth(X, Y)
    knots = np.linspace(X[0], X[-1], 65)
    basis = np.array([np.interp(X, knots, unit) for unit in np.eye(65)]).T
    third = np.diff(np.eye(65), 3, axis=0)
    rest = Y - basis @ found.values
    assert found.residuals == pytest.approx(rest, abs=1e-9)
    scores = []
    weights = 1 / np.maximum(1, np.abs(rest) / (2 * 1.4826 * np.median(np.abs(rest))))
    for stiffness in STIFFNESS:
        penalised = np.vstack([basis * np.sqrt(weights)[:, None], np.sqrt(stiffness) * third])
        target = np.r_[Y * np.sqrt(weights), np.zeros(62)]
        curve = np.linalg.lstsq(penalised, target, rcond=None)[0]
        gram = basis.T @ (weights[:, None] * basis)
        dof = np.trace(np.linalg.solve(gram + stiffness * third.T @ third + 1e-9 * np.eye(65), gram))
        left = 1 - COUNTED * dof / 30
        scores.append(
            (np.mean(weights * (Y - basis @ curve) ** 2) / left**2 if left > 0 else np.inf, curve, dof)
        )
    _, curve, dof = min(scores, key=lambda score: score[0])
    assert found.values == pytest.approx(curve, abs=2e-3)
    assert found.dof == pytest.approx(dof, rel=0.02)
    scale = 1.4826 * np.median(np.abs(rest))
    assert found.noise == pytest.approx(scale * np.sqrt(30 / (30 - found.dof)))
    assert found.hat @ Y == pytest.approx(found.values)
    assert found(X) == pytest.approx(basis @ found.values)
    assert found.slope == pytest.approx(np.gradient(found.values, knots))


def test_a_spike_does_not_bend_a_smoothed_curve():
    spiked = Y.copy()
    spiked[12] += 5
    assert np.max(np.abs(smooth(X, spiked)(X) - smooth(X, Y)(X))) < 0.15
    for wrong in (X[:3], np.zeros(5)):
        with pytest.raises(BadInput, match="four points at different x"):
            smooth(wrong, wrong)
    assert smooth(X[:4], Y[:4]).values.size == 65


# --- the shape of one curve ------------------------------------------------------------


def made(values, x=(0.0, 6.4), noise=0.0, **more):
    """A curve whose smoothing is known: piecewise linear through these values."""
    knots = np.linspace(*x, len(values))
    values = np.asarray(values, float)
    smoothed = Smooth(knots, values, noise, 3.0, np.eye(len(values)), np.zeros(len(values)))
    given = {"size": 100.0, "x": knots, "y": values, "stderr": None, "runs": np.exp(values)[None]}
    return mean_curves.SizeCurve(**(given | {"smoothed": smoothed} | more))


V = np.r_[np.zeros(10), -0.1 * np.arange(1, 31), np.full(5, -3.0), -3 + 0.05 * np.arange(1, 21)]  # 65 values


def test_window_is_where_the_slope_is_at_least_half_of_the_steepest():
    falls = np.repeat([0.03, 0.06, 0.1, 0.06, 0.02, -0.05], [10, 10, 10, 10, 5, 19])
    curve = made(np.r_[0.0, -np.cumsum(falls)])
    found = shape.power_law_window(curve)
    assert (found.low, found.high) == pytest.approx((1.1, 3.9))
    inside = slope(curve.x[11:40], curve.y[11:40])
    assert (found.slope, found.slope_error) == pytest.approx((-inside.value, inside.stderr))
    assert found.drop == pytest.approx(curve.y[11] - curve.y.min())
    for noise, resolved in ((found.drop / 4.9, False), (found.drop / 5.1, True)):
        assert shape.power_law_window(made(curve.y, noise=noise)).resolved is resolved
    assert not shape.power_law_window(made(np.arange(65.0))).resolved, "lowest at its start"
    sparse = replace(curve, x=curve.x[[0, 20, 64]], y=curve.y[[0, 20, 64]])
    assert shape.power_law_window(sparse).slope == pytest.approx(np.mean(-np.gradient(curve.y, 0.1)[11:40]))
    straight = shape.power_law_window(made(-0.1 * np.arange(65)))
    assert (straight.low, straight.high) == pytest.approx((0.0, 6.4)), "all of it"


def test_an_optimum_overfits_where_the_curve_rises_by_three_times_its_noise():
    rng = np.random.default_rng
    for noise, kind in ((0.32, "overfits"), (0.34, "saturates")):
        found = shape.optimum(made(V, noise=noise), rng(0))
        assert found.kind == kind
        assert found.x == pytest.approx(3.9)
        assert found.y == -3
    assert shape.optimum(made(V[:45]), rng(0)).kind == "saturates"
    sure = shape.optimum(made(V), rng(0))
    assert (sure.x_low, sure.x_high, sure.y_error) == (sure.x, sure.x, 0.0)
    noisy = shape.optimum(made(V, noise=0.1), rng(0))
    drawn = V + 0.1 * rng(0).standard_normal((shape.RESAMPLES, 65))
    where = np.linspace(0, 6.4, 65)[np.argmin(drawn, axis=1)]
    assert noisy.x_low == pytest.approx(min(np.quantile(where, 0.16), 3.9))
    assert noisy.x_high == pytest.approx(max(np.quantile(where, 0.84), 3.9))
    assert noisy.y_error == pytest.approx(drawn.min(axis=1).std())


def test_three_runs_are_resampled_as_whole_runs():
    runs = np.exp(V) * np.array([[0.8], [1.0], [1.3]])
    runs[0, :5] = np.nan
    found = shape.optimum(made(V, runs=runs, noise=0.2), np.random.default_rng(0))
    picks = np.random.default_rng(0).integers(3, size=(shape.RESAMPLES, 3))
    drawn = np.log(np.array([runs[pick][:, 5:].mean(axis=0) for pick in picks]))
    assert found.y_error == pytest.approx(drawn.min(axis=1).std())
    two = shape.optimum(made(V, runs=runs[:2], noise=0.2), np.random.default_rng(0))
    noise = 0.2 * np.random.default_rng(0).standard_normal((shape.RESAMPLES, 65))
    assert two.y_error == pytest.approx((V + noise).min(axis=1).std())
    apart = replace(made(V, runs=runs[:2], noise=0.01), stderr=np.full(65, 9.0))
    apart.stderr[np.argmin(V)] = 0.3
    assert shape.optimum(apart, np.random.default_rng(0)).y_error == 0.3, "how far two runs lie apart there"


def test_levels_are_crossed_where_the_curve_last_comes_down_to_them():
    bumpy = np.r_[0.0, -2.0, -1.0, -3.0, -4.0, -3.5]
    curve = made(bumpy, x=(0, 5))
    assert shape.crossings(curve, np.array([0.0, 0.5, 1.0, 2.0, 2.9])) == pytest.approx(
        [4, 3.5, 3, 2.5, 2.05]
    )
    windows = [
        shape.Window(0, 1, 1, 0, drop, ok)
        for drop, ok in ((3.0, True), (2.0, True), (9.0, True), (1.0, False))
    ]
    levels, places = shape.level_crossings([curve] * 4, windows)
    assert (levels[0], levels[-1], levels.size) == (0.0, 2.0, 64)
    assert np.isnan(places[3]).all()
    assert places[0] == pytest.approx(shape.crossings(curve, levels))
    with pytest.raises(BadInput, match="only 2 of 3 sizes"):
        shape.level_crossings([curve] * 3, windows[1:])


# --- the mean curve of a size ------------------------------------------------------------


def curve_of(*runs):
    """The mean curve of one size, of runs (x, y)."""
    rows = [
        pd.DataFrame({"run": str(k), "n_data": 400, "norm": x, "err": y}) for k, (x, y) in enumerate(runs)
    ]
    (found,) = mean_curves.size_curves(pd.concat(rows), "norm", "err", "n_data", fewest_sizes=1)
    return found


def test_runs_of_one_size_are_averaged_on_what_half_of_them_reach():
    places = [np.linspace(a, b, n) for a, b, n in ((0, 4, 9), (1, 6, 9), (2, 5, 9))]
    found = curve_of(*((np.exp(x), 1 + 2 * x) for x in places))
    assert (found.x[0], found.x[-1], found.x.size) == pytest.approx((1.0, 5.0, 9))
    assert np.exp(found.y) == pytest.approx(1 + 2 * found.x)
    assert np.isnan(found.runs[0, -1])
    assert np.isfinite(found.runs[2, 4])
    apart = [np.linspace(a, a + 1, 24) for a in (0.0, 5.0)]
    found = curve_of(*((np.exp(x), 1 + x) for x in apart))
    assert (found.x[0], found.x[-1]) == pytest.approx((0.0, 6.0)), "all of it where they share nothing"


def test_mean_and_error_of_a_size_are_over_its_runs():
    x, levels = np.geomspace(1, 100, 12), np.array([1.0, 1.2, 1.7])
    first = np.append(x, [0.0, 5.0]), np.append(x**-0.3, [0.1, np.nan])  # two that cannot be used
    curve = curve_of(first, *((x, level * x**-0.3) for level in levels[1:]))
    assert curve.y == pytest.approx(
        np.log(np.array([np.interp(curve.x, np.log(x), x**-0.3) * v for v in levels]).mean(0))
    )
    assert curve.stderr == pytest.approx(np.full(curve.x.size, stats.sem(levels) / levels.mean()))
    assert curve.dropped == 2
    assert curve.runs.shape[0] == 3
    alone = curve_of((x, x**-0.3))
    assert alone.stderr is None
    assert alone.x == pytest.approx(np.log(x))
    fewest = mean_curves.FEWEST_POINTS
    assert curve_of((x[:fewest], x[:fewest] ** -0.3)).x.size == fewest
    with pytest.raises(BadInput, match="0 of 1 curves"):
        curve_of((x[: fewest - 1], x[: fewest - 1] ** -0.3))


def test_runs_of_one_row_are_a_curve_only_where_the_table_tells_no_runs():
    """Rows of a size without run, seed and step are its curve; last rows of twelve seeds are none."""
    x = np.geomspace(1, 100, 12)
    table = pd.concat(
        [pd.DataFrame({"n_data": n, "norm": n * x, "test_error": x**-0.3}) for n in (100, 200, 400)]
    )
    found = mean_curves.size_curves(sl.read(table), "norm", "test_error", "n_data")
    assert [curve.x.size for curve in found] == [12, 12, 12]
    seeds, runs = [*range(12)] * 3, [f"r{i}" for i in range(36)]
    for told in ({"seed": seeds}, {"run": runs}, {"run": runs, "seed": seeds, "step": 1000}):
        with pytest.raises(BadInput, match="0 of 3 curves"):
            mean_curves.size_curves(sl.read(table.assign(**told)), "norm", "test_error", "n_data")


# --- how well curves lie on each other ------------------------------------------------------------


def test_shifted_deviations_and_quality_are_those_of_loops():
    curves = [
        made(V + 0.3 * k + 0.02 * k * np.sin(np.arange(65)), x=(0.5 * k, 0.5 * k + 6.4), noise=0.02 * (k + 1))
        for k in range(4)
    ]
    found = CurveFamily.of(curves)
    assert found.across.shape == (4, GRID)
    position, height = 0.5 * np.arange(4.0) + 4, 0.3 * np.arange(4.0) - 3
    members = np.array([0, 1, 3])
    grid = found.across - position[:, None]

    def curve(k, at):
        x = at + position[k]
        inside = (x >= curves[k].x[0] - 1e-9) & (x <= curves[k].x[-1] + 1e-9)
        return np.where(inside, np.interp(x, curves[k].x, curves[k].y), np.nan) - height[k]

    expected = []
    for one in range(4):
        others = np.array([curve(k, grid[one]) for k in members if k != one])
        reach = np.isfinite(others).sum(0)
        shared = reach >= 2
        gap = curve(one, grid[one])[shared] - np.nanmean(others[:, shared], axis=0)
        expected.append(np.sqrt(np.mean(gap**2)))
    assert found.deviations(position, height, members) == pytest.approx(expected, rel=1e-6)
    typical = np.median(found.noise[members]) ** 2
    pooled = [
        (f * s**2 + SHARED * typical) / (f + SHARED) for f, s in zip(found.freedom, found.noise, strict=True)
    ]
    assert found.pooled(members) == pytest.approx(pooled)
    scores = []
    for one in members:
        x, y = found.points[one]
        others = [k for k in members if k != one]
        levels = np.array([curve(k, x - position[one]) for k in others])
        seen = np.isfinite(levels).sum(0) >= 2
        mean = levels[:, seen].mean(0)
        scores.append(y[seen] - height[one] - mean)
    gaps = np.concatenate(scores)
    none = replace(found, uncertainty=np.zeros_like(found.uncertainty), noise=np.full(4, 0.1))
    assert none.quality(position, height, members) == pytest.approx(np.mean(gaps**2) / 0.01, rel=1e-6)
    with_error = replace(none, uncertainty=np.full_like(found.uncertainty, 0.1))
    assert with_error.quality(position, height, members) == pytest.approx(
        np.mean(gaps**2) / (0.01 + 0.01 / 2), rel=1e-6
    )


def test_twice_the_error_of_an_exponent_is_its_interval():
    curves = [
        replace(made(V + 0.3 * k, x=(0.5 * k + k**2 / 50, 0.5 * k + k**2 / 50 + 6.4)), size=100.0 * 2**k)
        for k in range(4)
    ]
    position = np.array([curve.x[39] for curve in curves])
    found = collapse.collapse_at(curves, position)
    logs = np.log(found.sizes)
    pairs = (found.x_exponent, position), (-found.y_exponent, 0.3 * np.arange(4))
    for own, expected in ((own, slope(logs, values)) for own, values in pairs):
        assert (own.value, own.low, own.high) == pytest.approx((expected.value, expected.low, expected.high))
        assert 4 * own.stderr == pytest.approx(own.high - own.low)


@pytest.mark.slow
def test_the_table_of_dynamical_laws_holds_numbers_and_not_their_logarithms():
    curves = [replace(made(np.roll(V, k) - 0.1 * k, noise=0.01), size=100.0 * 2**k) for k in range(3)] + [
        replace(made(V - 0.3, noise=2.0), size=800.0)
    ]
    found = dynamical.laws_of(curves).table
    generator = np.random.default_rng(0)
    optima = [shape.optimum(curve, generator) for curve in curves]
    windows = [shape.power_law_window(curve) for curve in curves]
    logs = {
        "x_optimum": [o.x for o in optima], "x_optimum_low": [o.x_low for o in optima],
        "x_optimum_high": [o.x_high for o in optima], "y_optimum": [o.y for o in optima],
        "window_low": [w.low for w in windows], "elbow": [w.high for w in windows],
        "position": shape.level_crossings(curves, windows)[1].mean(axis=1),
    }  # fmt: skip
    for name, values in logs.items():
        assert found[name].tolist() == pytest.approx(np.exp(values).tolist(), nan_ok=True)
    assert found["y_optimum_error"].tolist() == pytest.approx([o.y_error * np.exp(o.y) for o in optima])
    slopes = [[w.slope, w.slope_error] for w in windows]
    assert found[["slope", "slope_error"]].to_numpy() == pytest.approx(np.array(slopes))
    assert found["kind"].tolist() == ["overfits", "overfits", "overfits", "saturates"]
    assert found["resolved"].tolist() == [True, True, True, False]


def test_a_minimum_between_two_knots_is_that_of_a_parabola():
    knots = np.linspace(0.0, 1.0, 11)
    expected = (
        ((knots - 0.437) ** 2 - 2, 4, (0.437, -2.0)), (-knots, 10, (1.0, -1.0)), (0 * knots, 0, (0.0, 0.0)),
    )  # fmt: skip
    for values, lowest, minimum in expected:
        smoothed = made(values, x=(0.0, 1.0)).smoothed
        assert smoothed.lowest == lowest
        assert smoothed.minimum() == pytest.approx(minimum)
