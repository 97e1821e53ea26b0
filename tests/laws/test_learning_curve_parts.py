"""The parts of collapse and dynamical laws, each against loops or a library that computes the same."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.interpolate import make_lsq_spline

import scalinglab as sl
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.learning_curves import (
    collapse,
    critical,
    dynamical,
    mean_curves,
    optimum_in_time,
    scaling_fit,
    shape,
)
from scalinglab.laws.learning_curves.quality import GRID, SHARED, Family
from scalinglab.laws.learning_curves.smoothing import COUNTED, STIFFNESS, Smooth, smooth
from scalinglab.laws.learning_curves.stopping import stopping_point
from scalinglab.results.estimate import Estimate, slope

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
    curve = made(V, runs=runs)
    found = np.exp(shape._replicas(curve, np.random.default_rng(0)))
    picks = np.random.default_rng(0).integers(3, size=(shape.RESAMPLES, 3))
    assert found.shape == (200, 65)
    for row, pick in zip(found, picks, strict=True):
        assert row[10:] == pytest.approx(runs[pick].mean(axis=0)[10:])
        there = runs[pick][:, 0][~np.isnan(runs[pick][:, 0])]
        assert row[0] == pytest.approx(there.mean() if there.size else np.exp(V[0]))
    two = made(V, runs=runs[:2], noise=0.2)
    drawn = shape._replicas(two, np.random.default_rng(0)) - V
    assert drawn.std() == pytest.approx(0.2, rel=0.03)


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


def test_runs_of_one_size_are_averaged_on_what_half_of_them_reach():
    parts = [
        (np.linspace(a, b, n), np.linspace(a, b, n) * 2) for a, b, n in ((0, 4, 9), (1, 6, 9), (2, 5, 5))
    ]
    grid, single = mean_curves._common_grid(parts)
    assert (grid[0], grid[-1], grid.size) == (1.0, 5.0, 9)
    assert np.nanmean(single, axis=0) == pytest.approx(2 * grid)
    assert np.isnan(single[0, -1])
    assert np.isfinite(single[2, 4])
    apart = [(np.array([0.0, 1.0]), np.array([1.0, 2.0])), (np.array([5.0, 6.0]), np.array([3.0, 4.0]))]
    grid, _ = mean_curves._common_grid(apart)
    assert (grid[0], grid[-1]) == (0.0, 6.0), "all of it where they share nothing"


def test_mean_and_error_of_a_size_are_over_its_runs():
    x = np.geomspace(1, 100, 12)
    rows = pd.concat(
        [
            pd.DataFrame({"run": str(k), "norm": x, "err": level * x**-0.3})
            for k, level in enumerate((1.0, 1.2, 1.7))
        ]
    )
    rows = pd.concat([rows, pd.DataFrame({"run": "0", "norm": [0.0, 5.0], "err": [0.1, np.nan]})])
    curve = mean_curves._mean_curve(400.0, rows, "norm", "err")
    levels = np.array([1.0, 1.2, 1.7])
    assert curve.y == pytest.approx(
        np.log(np.array([np.interp(curve.x, np.log(x), x**-0.3) * v for v in levels]).mean(0))
    )
    assert curve.stderr == pytest.approx(np.full(curve.x.size, stats.sem(levels) / levels.mean()))
    assert curve.dropped == 2
    assert curve.runs.shape[0] == 3
    alone = mean_curves._mean_curve(400.0, rows[rows["run"] == "1"], "norm", "err")
    assert alone.stderr is None
    assert alone.x == pytest.approx(np.log(x))
    few = rows[(rows["run"] == "1")].head(mean_curves.FEWEST_POINTS - 1)
    assert mean_curves._mean_curve(400.0, few, "norm", "err") is None


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
    found = Family.of(curves)
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


def test_minima_and_two_sigma():
    position, height = collapse._minima([made(V), made(V + 1, x=(1, 7.4))])
    assert position == pytest.approx([3.9, 4.9])
    assert height == pytest.approx([-3, -2])
    found = slope([0.0, 1.0, 2.0], [0.0, 1.1, 1.9])
    doubled = collapse._for_two_sigma(found)
    assert 4 * doubled.stderr == pytest.approx(found.high - found.low)
    assert doubled.value == found.value


# --- exponents of a collapse ------------------------------------------------------------


def planted(seed=0, noise=0.01, critical_point=False):
    """Points on one master curve: four sizes, a = −0.7, b = 0.4, and x_c = 0.6."""
    rng, which = np.random.default_rng(seed), np.repeat(np.arange(4), 25)
    log_size = np.log(np.array([8.0, 16.0, 32.0, 64.0]))[which]
    u = np.tile(np.linspace(-2, 2, 25), 4)
    if not critical_point:
        x, y = u - 0.7 * log_size, np.cos(u) - 0.4 * log_size
        return scaling_fit.Points(
            which, log_size, x, y + noise * rng.standard_normal(100), np.full(100, noise), False
        )
    x, y = 0.6 + u * np.exp(-0.7 * log_size), np.cos(u) * np.exp(-0.4 * log_size)
    y = y * (1 + noise * rng.standard_normal(100))
    return scaling_fit.Points(which, log_size, x, y, noise * np.abs(y) + 1e-3, True)


def test_points_are_rescaled_as_the_equation_says():
    points = planted(noise=0.0)
    x, y, _ = points.rescaled(np.array([-0.7, 0.4]))
    assert y == pytest.approx(np.cos(x))
    points = planted(noise=0.0, critical_point=True)
    x, y, noise = points.rescaled(np.array([-0.7, 0.4, 0.6]))
    assert y == pytest.approx(np.cos(x))
    assert noise == pytest.approx(points.noise * np.exp(0.4 * points.log_size))
    assert set(points.of([1, 3]).which) == {1, 3}


@pytest.mark.parametrize("critical_point", [False, True])
def test_exponents_of_a_collapse_come_back_with_errors_that_hold(critical_point):
    truth = np.array([-0.7, 0.4, 0.6])[: 3 if critical_point else 2]
    pulls = []
    for seed in range(6):
        points = planted(seed, critical_point=critical_point)
        found = scaling_fit.fit(points, truth + np.array([[0.1] * truth.size, [-0.2] * truth.size]))
        pulls.append((found.values - truth) / [e.stderr for e in found.estimates])
        assert found.noise_factor == pytest.approx(1.0, abs=0.3) or critical_point
    assert np.sqrt(np.mean(np.square(pulls))) == pytest.approx(1.0, abs=0.65)
    assert np.max(np.abs(pulls)) < 4


def test_master_is_the_least_squares_spline_with_its_covariance():
    points = planted()
    x, y, noise = points.rescaled(np.array([-0.7, 0.4]))
    master = scaling_fit.master_of(points, np.array([-0.7, 0.4]), 8, factor=2.0)
    order = np.argsort(x)
    spline = make_lsq_spline(x[order], y[order], master.knots, 3)
    at = np.linspace(-1.9, 1.9, 7)
    level, error = master(at)
    assert level == pytest.approx(spline(at), abs=1e-7)
    basis = np.array([make_lsq_spline(x[order], unit[order], master.knots, 3)(at) for unit in np.eye(100)]).T
    assert error == pytest.approx(2.0 * noise[0] * np.linalg.norm(basis, axis=1), rel=1e-4)
    assert master.ends == pytest.approx((x.min(), x.max()), abs=1e-6)
    assert np.isnan(master(np.array([x.min() - 0.1, x.max() + 0.1]))[0]).all()
    rest = scaling_fit.projected(points, np.array([-0.7, 0.4]), 8)
    assert rest == pytest.approx((y - spline(np.clip(x, *master.ends))) / noise, abs=1e-5)
    few = scaling_fit.master_of(points.of([0]), np.array([-0.7, 0.4]), 20)
    assert few.coefficients.size == 12, "half as many as there are points"


def test_correlated_neighbours_of_one_curve_widen_the_errors():
    points = SimpleNamespace(which=np.array([0, 0, 0, 1, 1]))
    r = np.array([1.0, 2.0, 1.0, -5.0, -4.0])
    rho = (2 + 2 + 20) / (2.5 + 2.5 + 20.5)
    assert rho > 0.9
    assert scaling_fit._together(points, r) == pytest.approx(1.9 / 0.1), "at most 0.9"
    r = np.array([1.0, 0.5, -0.2, 1.0, 0.3])
    rho = (0.5 - 0.1 + 0.3) / ((1 + 0.25) / 2 + (0.25 + 0.04) / 2 + (1 + 0.09) / 2)
    assert scaling_fit._together(points, r) == pytest.approx((1 + rho) / (1 - rho))
    assert scaling_fit._together(points, np.array([1.0, -1.0, 1.0, 1.0, -1.0])) == 1.0, "at least 0"


@pytest.mark.slow
def test_errors_of_exponents_hold_where_one_size_is_noisier_than_stated():
    """The largest size scatters four times as much as its noise says, and tells most of the exponents."""
    truth, pulls = np.array([-0.7, 0.4]), []
    for seed in range(16):
        points = planted(seed)
        extra = 0.039 * np.random.default_rng(100 + seed).standard_normal(100)
        noisier = replace(points, y=points.y + np.where(points.which == 3, extra, 0.0))
        found = scaling_fit.fit(noisier, truth + np.array([[0.1, 0.1]]))
        pulls.append((found.values - truth) / [e.stderr for e in found.estimates])
    assert 0.6 < np.sqrt(np.mean(np.square(pulls))) < 1.05


def test_exponents_are_averaged_over_splines_and_their_differences_are_errors():
    one, other = (
        scaling_fit.ScalingFit(np.array([at, 0.4]), (Estimate(at, 0.03), Estimate(0.4, 0.01)), count, 1.0)
        for at, count in ((-0.6, 8), (-0.8, 11))
    )
    found = scaling_fit._averaged([one, other], np.array([0.25, 0.75]), 50)
    assert found.values == pytest.approx([-0.75, 0.4])
    expected = 0.25 * np.hypot(0.03, 0.15) + 0.75 * np.hypot(0.03, 0.05)
    assert [e.stderr for e in found.estimates] == pytest.approx([expected, 0.01])
    assert found.coefficients == 11


def test_one_size_does_not_determine_exponents():
    points = planted().of([2])
    with pytest.raises(NotDetermined, match="do not determine the exponents"):
        scaling_fit.fit(points, np.array([[-0.7, 0.4]]))


# --- critical points ------------------------------------------------------------


def test_noise_at_a_critical_point_is_that_of_repeats_or_of_the_scatter():
    own = pd.DataFrame({"mean": [1.0, 2.0, 3.0], "std": [0.2, 0.0, 0.4], "count": [4, 4, 3]})
    error = np.array([0.1, 0.0, 0.4 / np.sqrt(3)])
    least = critical.LEAST_NOISE * np.sqrt(np.mean(error**2))
    found = critical._noise(own, np.arange(3.0), own["mean"].to_numpy())
    assert found == pytest.approx([0.1, least, 0.4 / np.sqrt(3)])
    single = pd.DataFrame({"mean": Y, "std": np.nan, "count": 1})
    assert critical._noise(single, X, Y) == pytest.approx(np.full(30, smooth(X, Y).noise))
    rows = [np.tile([k, 0.0, 0.0, 0.0, noise], (5, 1)) for k, noise in enumerate((0.1, 0.2, 0.4))]
    assert critical._pooled([r.copy() for r in rows], single=False)[0][0, 4] == 0.1
    pooled = critical._pooled([r.copy() for r in rows], single=True)
    assert pooled[0][0, 4] ** 2 == pytest.approx((5 * 0.01 + critical.SHARED * 0.04) / (5 + critical.SHARED))


def test_a_size_is_judged_by_the_master_of_the_others():
    points = planted(critical_point=True)
    found = scaling_fit.ScalingFit(np.array([-0.7, 0.4, 0.6]), (), 11, 1.0)
    judged = critical._judge(points, found, 1, np.arange(4))
    master = scaling_fit.master_of(points.of([0, 2, 3]), found.values, 11, 1.0)
    x, y, noise = points.of([1]).rescaled(found.values)
    level, error = master(x)
    seen = np.isfinite(level)
    assert judged.scores == pytest.approx(((y - level) ** 2 / (noise**2 + error**2))[seen])
    relative = np.sqrt(np.mean((y - level)[seen] ** 2)) / np.sqrt(np.mean(level[seen] ** 2))
    assert judged.deviation == pytest.approx(relative)
    far = replace(points, x=np.where(points.which == 1, 50.0 + points.x, points.x))
    assert critical._judge(far, found, 1, np.arange(4)).deviation == np.inf


# --- optima of sizes ------------------------------------------------------------


def test_where_to_stop_is_a_new_observation_on_the_line_of_optima():
    sizes = (100.0, 200.0, 400.0, 900.0)
    curves = [replace(made(np.roll(V, k)), size=size) for k, size in zip((0, 3, 5, 10), sizes, strict=True)]
    optima = [curve.x[np.argmin(curve.y)] for curve in curves]
    found = stopping_point(curves, 5000.0)
    fit = stats.linregress(np.log(sizes), optima)
    rest = np.array(optima) - fit.intercept - fit.slope * np.log(sizes)
    distance = np.log(5000) - np.mean(np.log(sizes))
    spread = np.sum((np.log(sizes) - np.mean(np.log(sizes))) ** 2)
    error = np.sqrt(rest @ rest / 2 * (1 + 1 / 4 + distance**2 / spread))
    assert np.log(found.value) == pytest.approx(fit.intercept + fit.slope * np.log(5000))
    assert found.stderr == pytest.approx(error)
    assert np.log(found.high / found.value) == pytest.approx(stats.t.ppf(0.975, 2) * error)
    with pytest.raises(BadInput, match="2 sizes: the optimal norm"):
        stopping_point(curves[:2], 5000.0)
    with pytest.raises(BadInput, match="at=0"):
        stopping_point(curves, 0)


def test_slopes_in_time_are_of_all_sizes_and_of_those_that_count():
    sizes = np.array([100.0, 200.0, 400.0, 800.0])
    optima = np.array([3.0, 5.0, 11.0, 19.0])
    table = pd.DataFrame(
        {"time": 1.0, "size": sizes, "x_optimum": optima, "counts": [False, True, True, True]}
    )
    few = table.assign(time=2.0, counts=[False, False, True, True])
    found = optimum_in_time._slopes(pd.concat([table, few])).set_index("time")
    every = stats.linregress(np.log(sizes), np.log(optima))
    some = stats.linregress(np.log(sizes[1:]), np.log(optima[1:]))
    assert found.loc[1.0, ["gamma_2", "gamma_2_error"]].tolist() == pytest.approx([every.slope, every.stderr])
    assert found.loc[1.0, ["gamma_2_counted", "gamma_2_counted_error"]].tolist() == pytest.approx(
        [some.slope, some.stderr]
    )
    assert found.loc[2.0, ["sizes", "counted"]].tolist() == [4, 2]
    assert np.isnan(found.loc[2.0, "gamma_2_counted"])
    told = optimum_in_time.OptimumInTime(table, found.reset_index()).summary().splitlines()
    assert told[1].split() == [
        "1",
        f"{every.slope:.3f}",
        "±",
        f"{every.stderr:.3f}",
        f"{some.slope:.3f}",
        "±",
        f"{some.stderr:.3f}",
        "3",
        "of",
        "4",
    ]
    assert "–" in told[2]


def test_the_table_of_dynamical_laws_holds_numbers_and_not_their_logarithms():
    optima = [
        shape.Optimum(1.0, -2.0, 0.8, 1.3, 0.05, "overfits"),
        shape.Optimum(2.0, -3.0, 1.7, 2.4, 0.02, "saturates"),
    ]
    windows = [shape.Window(0.1, 0.9, 0.5, 0.01, 1.5, True), shape.Window(0.2, 1.9, 0.6, 0.02, 2.5, False)]
    found = dynamical._table([100.0, 200.0], optima, windows, np.array([0.5, 1.5]))
    logs = {
        "x_optimum": (1.0, 2.0),
        "x_optimum_low": (0.8, 1.7),
        "x_optimum_high": (1.3, 2.4),
        "y_optimum": (-2.0, -3.0),
        "window_low": (0.1, 0.2),
        "elbow": (0.9, 1.9),
        "position": (0.5, 1.5),
    }
    for name, values in logs.items():
        assert found[name].tolist() == pytest.approx(np.exp(values).tolist())
    assert found["y_optimum_error"].tolist() == pytest.approx([0.05 * np.exp(-2), 0.02 * np.exp(-3)])
    assert found[["slope", "slope_error"]].to_numpy().tolist() == [[0.5, 0.01], [0.6, 0.02]]
    assert found["kind"].tolist() == ["overfits", "saturates"]
    assert found["resolved"].tolist() == [True, False]


def test_a_minimum_between_two_knots_is_that_of_a_parabola():
    knots = np.linspace(0.0, 1.0, 11)

    def curve(values):
        return SimpleNamespace(smoothed=SimpleNamespace(knots=knots, values=values))

    made = [curve((knots - 0.437) ** 2 - 2), curve(-knots), curve(np.zeros(11))]
    lowest, _ = collapse._minima(made)
    assert lowest.tolist() == [pytest.approx(0.4), 1.0, 0.0]
    position, height = collapse._between_knots(made)
    assert position.tolist() == [pytest.approx(0.437), 1.0, 0.0]
    assert height.tolist() == [pytest.approx(-2), -1.0, 0.0]
