"""The parts of an extrapolation, each against its equation written out."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.extrapolation import few_points, forecasters, shapes, stacking
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.uncertainty import form_error
from scalinglab.results import Reason
from scalinglab.results.distributions import interval
from tests.refusals import because

RNG = np.random.default_rng(0)
LOGS = np.sort(RNG.uniform(4, 9, 20))
Y = np.exp(-0.3 * LOGS + 0.02 * RNG.standard_normal(20))
TESTS = forecasters.backtests(LOGS, Y)


def test_constants_are_those_that_the_protocol_froze():
    page = Path(__file__).parents[2] / "docs" / "benchmarks" / "extrapolation-protocol.md"
    rows = re.findall(r"^\| `(\w+)\.(\w+)` \| ([^|]+) \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) > 25
    for module, name, value in rows:
        found = getattr(import_module(f"scalinglab.laws.extrapolation.{module}"), name)
        expected = [float(v) for v in re.findall(r"[-\d.e]+", value)]
        assert np.ravel(found) == pytest.approx(expected, rel=1e-9), f"{module}.{name}"


def test_band_adds_the_variances_of_its_equation():
    ahead, apart = np.array([-0.5, 0.0, 0.5, 2.0]), np.array([0.0, 0.0, 0.01, 0.04])
    found = forecasters.band(ahead, 0.001, apart, drift=0.02, slope=-0.4, cuts=6.0, rise=0.3, steepest=0.5)
    for h, v, scale in zip(np.maximum(ahead, 0), apart, found.spread, strict=True):
        drift = (forecasters.PRIOR * (forecasters.SLOPE * 0.4) ** 2 + 6 * 0.02) / (forecasters.PRIOR + 6)
        again = (0.3 * min(h, 1)) ** 2
        change = (forecasters.CHANGE * 0.5 * max(h - forecasters.REACH, 0) * h) ** 2
        variance = 0.001 + (v + drift * h**2 + again) * (1 + forecasters.FEW / 6) + change
        assert scale == pytest.approx(np.sqrt(variance))
    assert found.dof == forecasters.PRIOR + 6 - 1
    assert interval(found, 0.9).high == pytest.approx(found.spread * stats.t.ppf(0.95, found.dof))
    assert np.exp(found.log_density(np.zeros(4))) == pytest.approx(stats.t.pdf(0, found.dof) / found.spread)
    still = forecasters.band(np.array([0.0, 0.1]), 0.0, np.zeros(2), 0.0, 0.0, 6.0, rise=np.inf)
    assert still.spread[0] < 1e-6, "where it was measured, a rise to come does not matter"
    assert np.isinf(still.spread[1])


def test_scatter_is_the_weighted_variance_about_the_line_through_the_neighbours():
    total, weights = 0.0, 0.0
    for i in range(1, 19):
        x, y = LOGS[[i - 1, i + 1]], np.log(Y)[[i - 1, i + 1]]
        line = np.polyval(np.polyfit(x, y, 1), LOGS[i])
        toward = np.polyval(np.polyfit(x, [1, 0], 1), LOGS[i])  # share of the left neighbour
        weight = np.exp((LOGS[i] - LOGS[-1]) / forecasters.RECENT_SCATTER)
        total += weight * (np.log(Y)[i] - line) ** 2 / (1 + toward**2 + (1 - toward) ** 2)
        weights += weight
    assert forecasters.scatter(LOGS, Y) == pytest.approx(total / weights, rel=1e-9)


# --- shapes -------------------------------------------------------------------------------------------------


def test_a_rise_counts_where_it_stands_out_of_the_noise():
    x = np.linspace(5, 9, 24)
    noise = 0.004 * (-1.0) ** np.arange(24)
    jitter = shapes.jitter_of(noise)
    assert jitter == pytest.approx(1.4826 * 4 * 0.004 / np.sqrt(6))
    for factor, seen in ((1.02, True), (0.9, False)):
        logs = -0.01 * np.arange(24.0) + noise
        logs[-1] = np.minimum.accumulate(logs)[-2] + factor * shapes.RISE * jitter
        found = shapes.shape_of(x, np.exp(logs), slope=-0.1)
        assert (found.rise > 0) == seen
        assert found.monotone is False
        assert found.rising is False, "the slope at the end falls"
        assert bool(found.notes) == seen
    smooth = -0.1 * x + np.where(np.arange(24) == 12, 0.05, 0.0)
    found = shapes.shape_of(x, np.exp(smooth), slope=0.3)
    low, top = smooth[:12].min(), smooth[12]
    assert found.rise == pytest.approx(top - low)
    assert not found.rising, "it is over"
    rose = {"rise": 100 * np.expm1(top - low), "start": np.exp(x[11]), "top": np.exp(x[12])}
    assert found.notes[0].code == "rose"
    assert found.notes[0].details == pytest.approx(rose)
    for rise, seen in ((0.009, False), (0.011, True)):  # without noise: a hundredth of y
        bump = np.where(np.arange(24) == 12, 0.1 * (x[1] - x[0]) + rise, 0.0)
        assert (shapes.shape_of(x, np.exp(-0.1 * x + bump), slope=0.3).rise > 0) == seen


def test_a_curve_rises_at_its_end_above_half_of_its_rise_only():
    x = np.linspace(5, 9, 24)
    for end, rising in ((0.3, False), (0.7, True)):
        logs = -np.minimum(np.arange(24.0), 12) * 0.1
        logs[16:20] += 1.0
        logs[20:] += end
        assert shapes.shape_of(x, np.exp(logs), slope=0.1).rising is rising
        assert shapes.shape_of(x, np.exp(logs), slope=-0.1).rising is False


def test_a_curve_was_smoothed_where_it_repeats_values_or_never_rises_against_its_noise():
    x = np.linspace(5, 9, 12)
    line = -0.2 * x
    two, one = line.copy(), line.copy()
    two[[3, 7]] = two[[2, 6]]
    one[3] = one[2]
    assert shapes.made_monotone(x, np.exp(two))
    assert not shapes.made_monotone(x[:7], np.exp(two[:7])), "fewer than eight points are no surprise"
    assert shapes.made_monotone(x[:8], np.exp(two[:8]))
    assert not shapes.made_monotone(x, np.exp(line)), "without noise it may well never rise"
    assert not shapes.made_monotone(x, np.ones(12)), "a constant was not smoothed"
    uneven = np.cumsum(-0.2 * (np.arange(12) % 2) - 1e-4)
    noise = np.sqrt(forecasters.scatter(x, np.exp(uneven)))
    chance = np.prod(stats.norm.cdf(-np.diff(uneven) / noise / np.sqrt(2)))
    assert chance < shapes.SIGNIFICANT
    assert shapes.made_monotone(x, np.exp(uneven))
    rising = uneven.copy()
    rising[5] = rising[4] + 1e-6
    assert not shapes.made_monotone(x, np.exp(rising))


# --- backtests and their average ----------------------------------------------------------------------------


def test_backtests_look_ahead_by_a_factor_of_three_from_every_point_but_the_first_four():
    assert [t.cut for t in TESTS] == LOGS[3:-1].tolist()
    for test, count in zip(TESTS, range(4, 20), strict=True):
        later = [i for i in range(count, 20) if i == count or LOGS[i] <= test.cut + np.log(3)]
        assert test.ahead == pytest.approx(LOGS[later] - test.cut)
        assert test.truth == pytest.approx(np.log(Y[later]))
        assert test.weight == pytest.approx(np.exp((test.cut - LOGS[-1]) / forecasters.RECENT))
        assert test.forecasts == pytest.approx(forecasters.forecast(LOGS[:count], Y[:count], LOGS[later]))
        assert test.trend == pytest.approx(forecasters.damped_trend(LOGS[:count], Y[:count], LOGS[later]))
        assert test.errors == pytest.approx(test.forecasts - test.truth)
    many = forecasters.backtests(np.linspace(4, 9, 60), np.exp(-np.linspace(1, 2, 60)))
    assert len(many) == forecasters.MOST_CUTS


def objective(weights):
    """Mean squared error of the average in the backtests, and the ridge on each forecast's own."""
    share = np.array([t.weight for t in TESTS])
    average = [np.mean((weights @ t.errors) ** 2) for t in TESTS]
    each = np.array([np.mean(t.errors**2, axis=1) for t in TESTS])
    return (share @ average + forecasters.RIDGE * (share @ each) @ weights**2) / share.sum()


def test_stack_is_the_best_average_in_the_backtests():
    weights = forecasters.stack(TESTS)
    assert weights.sum() == pytest.approx(1)
    best = objective(weights)
    for i in range(len(weights)):
        for j in np.flatnonzero(weights > 1e-3):
            moved = weights.copy()
            moved[[i, j]] += [1e-3, -1e-3] if i != j else 0
            assert objective(moved) >= best * (1 - 1e-9)


def test_method_is_that_of_the_backtests_written_out():
    method = forecasters.method_of(LOGS, Y, TESTS)
    share = np.array([t.weight for t in TESTS])
    assert method.cuts == pytest.approx(share.sum() ** 2 / np.sum(share**2))
    far = [
        np.mean((method.weights @ t.errors) ** 2 / np.maximum(t.ahead, forecasters.NEAREST) ** 2)
        for t in TESTS
    ]
    assert method.unit == pytest.approx(
        np.average(far, weights=share) * (1 + forecasters.CHOSEN / method.cuts)
    )
    effective = forecasters.recent_line(LOGS, Y, forecasters.TREND_MEMORY).points
    assert method.dense == pytest.approx(np.clip(effective - 2, 0, 1))
    stacked = share @ [np.mean((method.weights @ t.errors) ** 2) for t in TESTS]
    trend = share @ [np.mean((t.trend - t.truth) ** 2) for t in TESTS]
    trust = min(1, forecasters.CLEARLY * stacked / trend)
    assert method.stacked == pytest.approx(1 - trust * (1 - len(TESTS) / forecasters.MOST_CUTS / 2))


def test_average_is_a_mixture_of_trend_stack_and_last_value():
    forecasts, trend, ahead = (
        np.array([[1.0, 1.0], [0.6, 0.2], [0.8, 0.4]]),
        np.array([0.5, 0.1]),
        np.array([0.5, 1.5]),
    )
    method = forecasters.Method(np.array([0.2, 0.3, 0.5]), dense=0.4, stacked=0.3, unit=0.02, cuts=5.0)
    stack = np.array([0.2 + 0.18 + 0.4, 0.2 + 0.06 + 0.2])
    change = stack - 1.0
    kept = 0.4 + 0.6 * change**2 / (change**2 + 0.02 * ahead**2)
    assert method.kept(forecasts, ahead) == pytest.approx(kept)
    parts = np.array([np.full(2, 0.4 * 0.7), kept - 0.4 * 0.7, 1 - kept])
    values = np.array([trend, stack, np.ones(2)])
    mean = np.sum(parts * values, axis=0)
    found = method.combine(forecasts, trend, ahead)
    assert found[0] == pytest.approx(mean)
    assert found[1] == pytest.approx(np.sum(parts * (values - mean) ** 2, axis=0))
    weights = forecasters.Method(np.full(len(forecasters.NAMES), 1 / 15), 0.4, 0.3, 0.02, 5.0).named_weights()
    assert weights["damped_trend"] == pytest.approx(0.28)
    assert weights["last_value"] == pytest.approx(0.72 / 15)


def test_drift_is_what_noise_and_disagreement_leave_of_squared_errors_per_squared_distance():
    every, share, _ = forecasters.joined(TESTS)
    again = every.truth + 0.1 * every.ahead + 0.02
    noise, apart = 0.001, 0.03
    squares = sum(t.weight * np.mean((0.1 * t.ahead + 0.02) ** 2) for t in TESTS)
    distance = sum(t.weight * np.mean(t.ahead**2) for t in TESTS)
    left = squares - noise * sum(t.weight for t in TESTS) - apart * distance
    assert left < 0
    assert stacking.drift_of(share, every, again, noise + apart * every.ahead**2) == 0.0
    less = stacking.drift_of(share, every, again, noise + apart / 10 * every.ahead**2)
    assert less == pytest.approx(left / distance + 0.9 * apart)
    table = stacking.backtest_table(TESTS, again)
    first = TESTS[0]
    rows = table[np.isclose(table["cut"], np.exp(first.cut))]
    assert rows["x"].tolist() == pytest.approx(np.exp(first.cut + first.ahead).tolist())
    assert rows["last_value"].tolist() == pytest.approx([Y[3]] * len(first.ahead))
    errors = [np.mean((0.1 * t.ahead + 0.02) ** 2) for t in TESTS]
    expected = np.sqrt(np.average(errors, weights=[t.weight for t in TESTS]))
    assert stacking.rmsle_of(table, "predicted") == pytest.approx(expected)


def test_earlier_backtests_are_those_of_the_curve_cut_off_there():
    """Half the curve has them already: the same forecasts, compared with fewer points, and the same drift."""
    half, again = LOGS[:12], forecasters.backtests(LOGS[:12], Y[:12])
    cut_off = [test.until(half[-1]) for test in TESTS if test.cut < half[-1]]
    for mine, theirs in zip(cut_off, again, strict=True):
        assert mine.forecasts == pytest.approx(theirs.forecasts)
        assert mine.truth.tolist() == theirs.truth.tolist()
    one, other = (forecasters.method_of(half, Y[:12], tests) for tests in (cut_off, again))
    assert one.weights == pytest.approx(other.weights)
    assert [one.unit, one.cuts, one.stretch] == pytest.approx([other.unit, other.cuts, other.stretch])


def test_a_curve_that_never_rises_may_hide_noise_and_is_given_more_of_it():
    """Where the law counts alone its interval is that of a run of `HIDDEN` times the residuals' noise."""
    x = np.geomspace(1e3, 1e5, 16)
    noise = np.exp(0.006 * np.random.default_rng(8).standard_normal(16))
    for floor, times in ((0.05, forecasters.HIDDEN), (0.5, 1.0)):
        y = (floor + 3 * x**-0.4) * noise
        assert np.all(np.diff(y) < 0) == (times > 1)
        share, errors = stacking.law_beside(np.log(x).tobytes(), y.tobytes())
        assert share > 0.95
        at = form_error.Places.values(np.array([[1e5]]))
        low, high = errors.quantiles(at, (0.025, 0.975), times**2)[:, 0]
        found = stacking.extrapolate(x, y, at=1e5)
        assert np.log(found.high / found.low)[0] == pytest.approx(high - low, rel=0.15)
        assert times == 1 or high - low > 1.3 * np.ptp(errors.quantiles(at, (0.025, 0.975), 1.0))


def test_recent_line_counts_points_by_their_age_and_stretch():
    weight = np.exp((LOGS - LOGS[-1]) / 0.7) * np.gradient(np.arange(20.0) * 0 + LOGS, np.arange(20.0))
    slope, level = np.polyfit(LOGS - LOGS[-1], np.log(Y), 1, w=np.sqrt(weight))
    found = forecasters.recent_line(LOGS, Y, 0.7)
    assert (found.slope, found.level) == pytest.approx((slope, level))
    assert found.points == pytest.approx(weight.sum() ** 2 / np.sum(weight**2))


# --- units, limits, few sizes ----------------------------------------------------------------------------


def test_extreme_values_are_divided_by_a_power_of_two_and_ordinary_ones_are_not():
    assert stacking.unit_of(np.array([1e29, 1e29])) == 1.0
    assert stacking.unit_of(np.array([1e-29])) == 1.0
    for value in (1e31, 1e-31, 1e200):
        unit = stacking.unit_of(np.array([value]))
        assert np.log2(unit) == round(np.log2(value))
    stacking.refuse_decades(x=np.array([1e-50, 1e50]))
    with pytest.raises(BadInput, match="over more than 100 decades"):
        stacking.refuse_decades(x=np.array([1e-51, 1e50]))


def few(y, x=None):
    x = np.geomspace(1e3, 1e5, len(y)) if x is None else x
    return points.check(x, np.asarray(y, float))


def test_few_sizes_are_refused_where_they_scatter_unless_they_are_repeated():
    x = np.geomspace(1e3, 1e5, 6)
    bumps = 3 * x**-0.3 * np.exp(0.15 * np.array([1, -1, 1, -1, 1, -1]))
    with pytest.raises(NotDetermined, check=because("noise_or_bend", sizes=6)):
        few_points.law_of(few(bumps, x))
    assert few_points.law_of(few(np.r_[bumps, bumps[:1] * 1.1], np.r_[x, x[:1]])).dof == 4
    with pytest.raises(NotDetermined, check=because("few_sizes", sizes=3)):
        few_points.law_of(few([0.3, 0.2, 0.1]))
    assert few_points.law_of(few([0.3, 0.2, 0.14, 0.1])).form.name == "power_law_offset"


def test_few_sizes_are_continued_unless_they_steepen_with_a_caution_beyond_three_times_the_largest():
    x = np.geomspace(1e3, 1e5, 6)
    falls = np.exp(-0.1 * np.log(x / x[0]) - 0.03 * np.log(x / x[0]) ** 2)
    few_points.refuse_beginnings(few(falls, x), np.array([1e5]))
    with pytest.raises(NotDetermined, check=because("still_steepens", sizes=6)):
        few_points.refuse_beginnings(few(falls, x), np.array([1.0, 1.01e5]))
    few_points.refuse_beginnings(few(0.1 + 3 * x**-0.4, x), np.array([1e7]))
    flattens = few(0.1 + 3 * x**-0.4, x)
    assert few_points.caution(flattens, np.array([3e5])) == ()
    note = few_points.caution(flattens, np.array([1.0, 4e5]))[0]
    assert note == Reason("rests_on_the_form", sizes=6, beyond=4.0)


@pytest.mark.parametrize(("level", "refused"), [(0.99, False), (0.9901, True)])
def test_an_interval_of_a_factor_of_a_hundred_is_no_answer(level, refused):
    data, at = few([0.3, 0.2, 0.14, 0.1]), np.array([1e6, 1e8])
    ratio = few_points.ends(data, at, level)[1].ratio
    assert ratio[1] == pytest.approx(102 if refused else 98, abs=2)
    if refused:
        with pytest.raises(NotDetermined, check=because("value_open", at=1e8, beyond=1000.0)):
            few_points.predict(data, at, level)
    else:
        assert few_points.predict(data, at, level)[1].ratio.tolist() == ratio.tolist()
