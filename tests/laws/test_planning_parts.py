"""Plans and comparisons, each against a second way to the same number."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws import compare, plan
from scalinglab.laws.compare import Speedup
from scalinglab.laws.planning import candidates, hoffmann, next_runs, pool, questions

RNG = np.random.default_rng(0)
X = np.geomspace(100, 1e5, 10)
NOISE = RNG.standard_normal(10)
LAW = sl.laws.fit("power_law_offset", X, (0.05 + 3 * X**-0.4) * np.exp(0.02 * NOISE), loss="squared")


# --- questions ------------------------------------------------------------


def test_a_bend_is_the_t_test_of_a_parabola_in_logs():
    y = 3 * X**-0.4 * np.exp(0.03 * NOISE)
    found = plan.still_power_law(X, y, level=0.9)
    u = np.log(X)
    (second, first, _), covariance = np.polyfit(u, np.log(y), 2, cov=True)
    change = -2 * second * (u[-1] - u[0])
    width = 2 * np.sqrt(covariance[0, 0]) * (u[-1] - u[0]) * stats.t.ppf(0.95, 7)
    assert (found.change, found.low, found.high) == pytest.approx((change, change - width, change + width))
    ends = -(first + 2 * second * u[0]), -(first + 2 * second * u[-1])
    assert (found.exponent_first, found.exponent_last) == pytest.approx(ends)
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(second) / np.sqrt(covariance[0, 0]), 7))
    mean = (ends[0] + ends[1]) / 2
    largest = max(abs(found.low), abs(found.high))
    assert plan.still_power_law(X, y, level=0.9, matters=1.01 * largest / mean).straight is True
    told = plan.still_power_law(X, y, level=0.9, matters=0.99 * largest / mean)
    assert told.straight is None
    assert f"the exponent, {mean:.3f}, may change by {found.low:+.3f} … {found.high:+.3f}" in told.text
    assert plan.still_power_law(X, y, level=1 - 1.01 * found.p_value).straight is False
    assert plan.still_power_law(X, y, level=1 - 0.99 * found.p_value).straight is not False


def test_a_bend_is_named_by_its_direction():
    for power, word in ((-0.03, "steepens"), (0.02, "flattens")):
        y = np.exp(-0.6 * np.log(X / 100) + power * np.log(X / 100) ** 2)
        assert word in plan.still_power_law(X, y).text


def test_a_crossing_is_interpolated_in_logs():
    x = np.geomspace(1, 1e4, 5)
    assert questions._crossing(x, 3 * x**-0.5, 3 * 50**-0.5) == pytest.approx(50)
    assert questions._crossing(x, 3 * x**-0.5, 3 * 100**-0.5) == pytest.approx(100)
    assert questions._crossing(x, 3 * x**-0.5, 4.0) == 1.0, "already below at the first"
    assert questions._crossing(x, 3 * x**-0.5, 0.01) == np.inf
    assert questions._crossing(x, np.r_[np.inf, 1, 1, 1, 1], 2.0) == x[1]


@pytest.fixture
def tenth(monkeypatch):
    """Intervals of ± 10 %, so that it is known where they reach a target."""

    def interval(law, x, level=0.95):
        return sl.laws.Interval(0.9 * law.predict(x), 1.1 * law.predict(x))

    monkeypatch.setattr(sl.laws.Law, "interval", interval)


def inverse(law, y):
    a, c, e = (law.parameters.get(n, 0.0) for n in ("amplitude", "exponent", "offset"))
    return (a / (y - e)) ** (1 / c)


@pytest.mark.usefixtures("tenth")
def test_a_size_is_where_the_law_and_its_interval_reach_the_target():
    found = plan.size_for(LAW, 0.07, level=0.9)
    ends = [inverse(LAW, y) for y in (0.07, 0.07 / 0.9, 0.07 / 1.1)]
    assert (found.value, found.low, found.high) == pytest.approx(ends, rel=2e-3)
    assert f"(90 %: {found.low:.4g} … {found.high:.4g}) for y = 0.07" in found.text
    assert f"{found.value / 1e5:.3g} times beyond the largest point" in found.text
    inside = plan.size_for(LAW, float(LAW.predict(5e4)))
    assert inside.value == pytest.approx(5e4, rel=2e-3)
    assert "beyond" not in inside.text
    assert (found.form, found.notes) == ("power_law_offset", LAW.points.notes)
    floor = LAW.parameters["offset"]
    open_ended = plan.size_for(LAW, 1.05 * floor)  # 1.1 times the law never gets there
    assert open_ended.high == np.inf
    assert f"{open_ended.low:.4g} … no bound" in open_ended.text
    never = plan.size_for(LAW, 0.95 * floor)  # but 0.9 times the law does
    assert (never.value, never.high) == (np.inf, np.inf)
    assert never.low == pytest.approx(inverse(LAW, 0.95 / 0.9 * floor), rel=0.02)
    assert f"within the 95 % interval from x = {never.low:.4g} on" in never.text


@pytest.mark.usefixtures("tenth")
def test_a_size_is_looked_for_from_a_tenth_of_the_smallest_to_a_million_times_the_largest():
    line = sl.laws.fit("power_law", X, 3 * X**-0.4 * np.exp(0.001 * NOISE))
    near = plan.size_for(line, float(line.predict(10.5)))
    assert near.value == pytest.approx(10.5, rel=0.01)
    assert near.low == 0, "nothing was looked at below"
    below = plan.size_for(line, float(line.predict(9.0)))
    assert (below.value, below.low) == (0, 0)
    assert below.high == pytest.approx(max(inverse(line, line.predict(9.0) / 1.1), 10.0), rel=0.02)
    assert f"lies above {line.predict(10.0):.4g} at x = 10" in below.text
    assert plan.size_for(line, float(line.predict(0.9e11))).value == pytest.approx(0.9e11, rel=0.01)
    beyond = plan.size_for(line, float(line.predict(2e11)))
    assert beyond.value == np.inf
    assert f"y = {line.predict(2e11):g} lies below {line.predict(1e11):.4g} at x = 1e+11" in beyond.text
    assert np.isfinite(plan.size_for(line, float(line.predict(2e11)), farthest=1e7).value)


def test_a_gain_is_told_with_its_ends_in_percent():
    found = plan.gain_from(LAW, 1e5, factor=4.0)
    before, after = LAW.predict(1e5), LAW.predict(4e5)
    assert found.value == pytest.approx(after / before)
    assert found.text == (
        f"4 times x = 1e+05 takes y from {before:.4g} to {after:.4g}: {100 * (after / before - 1):+.3g} % "
        f"(95 %: {100 * (found.low - 1):+.3g} … {100 * (found.high - 1):+.3g} %)"
    )
    for wrong in (0.0, 1.0, -2.0):
        with pytest.raises(BadInput, match="must be positive and other than 1"):
            plan.gain_from(LAW, factor=wrong)
    with pytest.raises(BadInput, match="start=0 must be positive"):
        plan.gain_from(LAW, 0)
    curve = sl.laws.extrapolation.continuation.continuation(X, LAW.points.y)
    grown = plan.gain_from(curve, 1e5, factor=2.0)
    ends = sl.laws.extrapolate(X, LAW.points.y, at=[2e5])
    start = curve.predict(np.array([1e5]))[0]
    assert (grown.value, grown.low, grown.high) == pytest.approx(
        tuple(v[0] / start for v in (ends.mean, ends.low, ends.high))
    )


# --- speedups ------------------------------------------------------------


def recipes(seed=0, count=6, noise=0.01):
    rng, compute = np.random.default_rng(seed), np.geomspace(1e18, 1e21, count)
    loss = lambda gain: 2 * (gain * compute / 1e18) ** -0.1 * np.exp(noise * rng.standard_normal(count))  # noqa: E731
    return (compute, loss(1.4)), (compute, loss(1.0))


def test_error_of_a_speedup_is_that_of_nonlinear_least_squares():
    a, b = recipes()
    law = compare._fit([(*a, np.arange(6)), (*b, np.arange(6))], "power_law", parallel=False)
    faster = np.repeat([1.0, 0.0], 6)
    logs = np.log(np.tile(a[0], 2))

    def model(x, amplitude, exponent, shift, drift):
        return amplitude - exponent * (logs - np.log(1e18) + faster * (shift + drift * (logs - np.log(1e18))))

    found, covariance = optimize.curve_fit(
        model, logs, np.log(np.r_[a[1], b[1]]), p0=(0.7, 0.1, 0.3, 0.0), xtol=1e-13, ftol=1e-13
    )
    assert law.parameters["shift"] == pytest.approx(found[2], abs=1e-5)
    assert law.parameters["drift"] == pytest.approx(found[3], abs=1e-6)
    for weights in ([1.0, 0.0], [1.0, 3.0]):
        expected = np.sqrt(np.r_[0, 0, weights] @ covariance @ np.r_[0, 0, weights])
        spread = compare._spread(law, law.coordinates[None], np.array(weights))[0]
        assert spread == pytest.approx(expected, rel=1e-3)
    assert compare._shifts(law, law.values[None])[0] == pytest.approx(found[2:], abs=1e-5)


def test_interval_of_few_runs_is_near_students():
    a, b = recipes()
    found = sl.laws.speedup(a, b, form="power_law", level=0.9, draws=999)
    spread = compare._spread(found.law, found.law.coordinates[None], np.array([1.0, 0.0]))[0]
    half = stats.t.ppf(0.95, found.law.dof) * spread
    assert found.law.dof == 12 - 3
    assert np.log(found.high / found.factor) == pytest.approx(half, rel=0.15)
    assert np.log(found.factor / found.low) == pytest.approx(half, rel=0.15)
    assert found.at == (1e18, 1e21)
    assert found.interval == (found.low, found.high)
    assert found.draws == 999


def test_a_speedup_is_told_with_where_it_holds():
    made = Speedup(1.5, 1.2, 2.0, 0.9, (1e18, 1e21), None, 99, parallel=True)  # type: ignore[arg-type]
    assert made.summary() == "A needs 1.2–2 times less compute than B (90 %; best estimate 1.5 times)"
    worse = Speedup(0.5, 0.4, 0.8, 0.9, (1e18,), None, 99, parallel=False)  # type: ignore[arg-type]
    told = "A needs 1.25–2.5 times more compute than B at a compute of 1e+18 (90 %; best estimate 2 times)"
    assert worse.summary() == told
    for low, high in ((1.0, 2.0), (0.5, 1.0)):
        same = Speedup(1.0, low, high, 0.9, (1e18,), None, 99, parallel=True)  # type: ignore[arg-type]
        assert same.summary().startswith("no significant difference")


def test_a_speedup_beyond_all_runs_is_noted():
    compute = np.array([1.0, 10.0, 3.0, 30.0])
    assert compare._notes((1.0, 30.0), compute) == ()
    for place in ((0.9,), (2.0, 31.0)):
        assert "the runs cover 1 … 30" in compare._notes(place, compute)[0]


def test_places_of_a_speedup():
    computes = [np.array([1.0, 10.0, 100.0]), np.array([3.0, 30.0, 300.0])]
    assert compare._place(None, computes) == (3.0, 100.0)
    assert compare._place([5, 7], computes) == (5.0, 7.0)
    assert compare._start([(each, None, None) for each in computes]) == 0.0
    for wrong in ([1, 2, 3], 0.0, [-1, 2]):
        with pytest.raises(BadInput, match="must be a positive compute, or two"):
            compare._place(wrong, computes)
    touching = [computes[0], np.array([100.0, 1e3, 1e4])]
    with pytest.raises(BadInput, match="share no range"):
        compare._place(None, touching)


def test_one_point_too_few_for_the_noise_is_refused():
    compute = np.array([1.0, 10.0, 100.0])
    with pytest.raises(BadInput, match="level=1"):
        sl.laws.speedup((compute, compute), (compute, compute), level=1)
    with pytest.raises(BadInput, match="recipe A has 3 computes and 2 losses"):
        sl.laws.speedup((compute, compute[:2]), (compute, compute))


# --- three approaches ------------------------------------------------------------


def test_a_line_through_optima_needs_three_of_them():
    compute, best = np.array([1e18, 1e19, 1e20, 1e21]), np.array([1e8, np.nan, 1e9, 3e9])
    slope, intercept = np.polyfit(np.log(compute[[0, 2, 3]]), np.log(best[[0, 2, 3]]), 1)
    assert hoffmann._line(compute, best) == pytest.approx((slope, intercept))
    with pytest.raises(BadInput, match="seen at 2 of 4 computes"):
        hoffmann._line(compute, np.array([1e8, np.nan, 1e9, np.nan]))


def test_the_lowest_size_counts_only_between_others():
    n = np.array([1.0, 2.0, 4.0])
    assert hoffmann.lowest(n, np.array([2.0, 1.0, 3.0])) == 2.0
    assert np.isnan(hoffmann.lowest(n, np.array([1.0, 2.0, 3.0])))
    assert np.isnan(hoffmann.lowest(n, np.array([3.0, 2.0, 1.0])))
    assert np.isnan(hoffmann.lowest(n[:2], np.array([2.0, 1.0])))


def test_a_parabola_has_its_vertex_among_the_sizes_or_none():
    n = np.geomspace(1, 16, 5)
    u = np.log(n)
    assert hoffmann.vertex(n, 3 + 2 * (u - 1.3) ** 2) == pytest.approx(np.exp(1.3))
    assert hoffmann.vertex(n[:4], 3 + 2 * (u[:4] - 1.3) ** 2) == pytest.approx(np.exp(1.3))
    assert np.isnan(hoffmann.vertex(n[:3], 3 + 2 * (u[:3] - 1.3) ** 2))
    assert np.isnan(hoffmann.vertex(n, 3 - 2 * (u - 1.3) ** 2))
    assert np.isnan(hoffmann.vertex(n, 3 + 2 * (u + 0.1) ** 2)), "below the smallest"
    assert np.isnan(hoffmann.vertex(n, 3 + 2 * (u - 2.9) ** 2)), "above the largest"


def test_intervals_of_refits_leave_out_those_without_an_optimum():
    errors = np.r_[np.arange(-40.0, 61.0), np.nan]
    assert hoffmann._around(7.0, errors, 0.9) == pytest.approx((-48.0, 42.0)), "too high by ten"
    assert hoffmann._around(7.0, errors + 200, 0.9) == pytest.approx((-248.0, 7.0)), "reaches to the value"
    seven_eighths = np.where(np.arange(errors.size) % 8, errors, np.nan)
    assert np.isnan(hoffmann._around(7.0, seven_eighths, 0.9)).all(), "an eighth may lie beyond the ends"
    assert hoffmann._ends(sl.laws.Interval(1.0, 2.0), ".3f") == "[1.000, 2.000]"
    assert hoffmann._ends(sl.laws.Interval(np.nan, np.nan), ".3f") == "[not determined]"


# --- what one more run saves ------------------------------------------------------------


def with_points(law, sizes):
    """Variance of the prediction at the last size after runs at the others, by the normal equations."""
    rows = next_runs.rows_of(law, np.array(sizes)[:, None])
    jacobian = law.problem.jacobian(law.coordinates[None])[0]
    information = jacobian.T @ jacobian + rows[:-1].T @ rows[:-1]
    return law.variance * rows[-1] @ np.linalg.inv(information) @ rows[-1]


def test_what_next_runs_promise_is_the_variance_of_the_fit_with_them():
    found = plan.next_runs(LAW, budget=3e6, at=1e7, most=3)
    low, high = LAW.interval(1e7)
    assert found.before == pytest.approx((high - low) / 2 / LAW.predict(1e7)), "as laws fit --at prints it"
    made = np.repeat(found.runs[:, 0], found.seeds)
    left = with_points(LAW, [*made, 1e7]) / with_points(LAW, [1e7])
    assert found.after[-1] == pytest.approx(found.before * np.sqrt(left), rel=1e-4)
    assert found.seeds.sum() <= 3
    assert found.cost == pytest.approx(found.runs[:, 0] * found.seeds)
    assert found.runs.max() <= 4e5 * (1 + 1e-9), "up to four times the largest"
    assert found.runs.min() >= 100 * (1 - 1e-9)
    assert found.unit == "units of x"
    assert found.prediction == pytest.approx(LAW.predict(1e7))


def test_a_plan_counts_a_parameter_at_its_bound_as_its_law_does():
    """A floor at 0 was not estimated: Student's quantile and the variance have one degree of freedom more."""
    held = sl.laws.fit("power_law_offset", X, 3 * X**-0.4 * np.exp(0.03 * NOISE))
    assert held.certificate.at_bound == ("offset",)
    student = stats.t.ppf(0.975, held.dof + 1) * np.sqrt(held.dof / (held.dof + 1))
    assert held.quantile(0.95) == pytest.approx(student)
    found = plan.next_runs(held, budget=3e6, at=1e7, most=1)
    low, high = held.interval(1e7)
    assert found.before == pytest.approx((high - low) / 2 / held.predict(1e7))


def test_a_plan_without_a_form_narrows_the_printed_prediction_by_what_runs_tell():
    """Printed is also one more run's scatter, which stays: squares of widths differ by that of M⁻¹ alone."""
    y = (0.05 + 3 * X**-0.4) * np.exp(0.02 * NOISE)
    found = plan.next_runs(
        pd.DataFrame({"n_data": X, "test_error": y}), x="n_data", budget=1e6, at=1e6, most=3
    )
    printed = sl.laws.extrapolate(X, y, at=1e6)
    assert found.prediction == pytest.approx(printed.mean[0])
    assert found.before == pytest.approx((printed.high - printed.low)[0] / 2 / printed.mean[0])
    law = sl.laws.fit("power_law_offset", X, y)
    made = np.repeat(found.runs[:, 0], found.seeds)
    saved = law.quantile(0.95) ** 2 * (with_points(law, [1e6]) - with_points(law, [*made, 1e6]))
    assert found.before**2 - found.after[-1] ** 2 == pytest.approx(saved, rel=1e-3)


def test_next_runs_of_any_form_promise_the_variance_of_the_fit_with_them():
    """Three variables, of which bits are no size: tried values at sizes up to four times beyond."""
    grid = np.meshgrid(np.geomspace(1e7, 1e9, 4), np.geomspace(1e9, 1e11, 4), [3.0, 4.0, 6.0, 16.0])
    n, d, bits = (v.ravel() for v in grid)
    loss = 1.8 + 480 * (n * (1 - np.exp(-bits / 2))) ** -0.35 + 2100 * d**-0.37
    y = loss * np.exp(0.003 * np.random.default_rng(1).standard_normal(n.size))
    table = pd.DataFrame({"n_params": n, "n_data": d, "bits": bits, "loss": y})
    at = (1e10, 1e12, 5.0)
    found = plan.next_runs(table, form="precision", budget=1e21, at=at, most=3)
    law = sl.laws.surface.fit(table, form="precision").law
    assert found.variables == ("n_params", "n_data", "bits")
    assert set(found.runs[:, 2]) <= {3.0, 4.0, 6.0, 16.0}
    assert found.cost == pytest.approx(6 * found.runs[:, 0] * found.runs[:, 1] * found.seeds)
    made = np.vstack([np.repeat(found.runs, found.seeds, axis=0), at])
    rows = next_runs.rows_of(law, made)
    jacobian = law.problem.jacobian(law.coordinates[None])[0]
    left = np.linalg.inv(jacobian.T @ jacobian + rows[:-1].T @ rows[:-1])
    half = stats.t.ppf(0.975, law.dof) * np.sqrt(law.variance * rows[-1] @ left @ rows[-1])
    assert found.after[-1] == pytest.approx(half, rel=1e-3)
    with pytest.raises(BadInput, match="must hold 3 values: n_params, n_data, bits"):
        plan.next_runs(table, form="precision", budget=1e21, at=1e10)


def test_candidates_have_the_shapes_of_finished_runs_not_of_early_checkpoints():
    size, end = np.array([1e7, 1e8, 1e9]), np.array([2e10, 3e10, 1e10])
    n, run, d = np.repeat(size, 4), np.repeat(range(3), 4), np.outer(end, [1, 0.01, 0.1, 0.5]).ravel()
    law = sl.laws.fit("chinchilla", (n, d), 1.8 + 480 * n**-0.35 + 2100 * d**-0.37, runs=run)
    points = law.points
    assert sorted(points.x[1][points.ends_of_runs]) == sorted(end)
    grid = candidates.sane_runs(law, optimum=False)
    assert 0.5 * 10 <= (grid[:, 1] / grid[:, 0]).min() < 10, "half of the smallest of the ends, 10"


def test_next_runs_on_a_surface_are_the_best_of_all_and_promise_what_kriging_leaves():
    """Every candidate tried by itself, with what the form may miss; then all runs of a plan at once."""
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 5), np.geomspace(2e9, 2e11, 4)))
    bend = np.exp(0.002 * np.log(n / 1e9) ** 2 + 0.002 * np.random.default_rng(0).standard_normal(n.size))
    fitted = sl.laws.surface.fit(n, d, (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * bend)
    target, budget = (3e10, 6e11), 2e22
    grid = candidates.sane_runs(fitted.law, optimum=True)
    grid = grid[6 * grid.prod(axis=1) <= budget]
    known, noise = fitted.form_error.covariance(np.vstack([grid, target]).T)
    saved = known[:-1, -1] ** 2 / (np.diag(known)[:-1] + noise)
    thrifty, thorough = np.argmax(saved / grid.prod(axis=1)), np.argmax(saved)
    left = known[-1, -1] - saved
    best = thorough if left[thorough] < next_runs.NARROWER**2 * left[thrifty] else thrifty
    one = plan.next_runs(fitted, budget=budget, at=target, most=1)
    assert one.runs[0] == pytest.approx(grid[best])
    found = plan.next_runs(fitted, budget=budget, at=target, most=4)
    low, high = fitted.interval(*target)
    assert found.before == pytest.approx((high - low) / 2 / found.prediction), "as laws surface prints it"
    made = np.vstack([np.repeat(found.runs, found.seeds, axis=0), target])
    known, noise = fitted.form_error.covariance(made.T)
    measured = known[:-1, :-1] + noise * np.eye(len(made) - 1)
    rest = known[-1, -1] - known[-1, :-1] @ np.linalg.solve(measured, known[:-1, -1])
    assert found.after[-1] / found.before == pytest.approx(np.sqrt(rest / known[-1, -1]), rel=1e-6)


def test_candidates_stay_within_what_a_setting_allows():
    unique = np.array([1e8, 1e9, 1e9, 1e9, 1e10, 1e10])
    x = np.array([np.geomspace(1e7, 1e9, 6), unique * [1, 1, 4, 10, 1, 3], unique])
    found = candidates._at_tried_settings(x, [0, 1])
    assert (found[:, 2] <= found[:, 1] * (1 + 1e-6)).all(), "no more unique tokens than tokens"
    assert found[:, :2].max(axis=0) == pytest.approx(4 * x[:2].max(axis=1))
    shares = np.array([[0.2, 0.5, 0.9], [0.8, 0.5, 0.1]])
    mixed = candidates._at_tried_settings(shares, [])
    assert mixed.sum(axis=1) == pytest.approx(np.ones(6))
    assert candidates.price_of(("share_1", "share_2"), 6.0)[1] == "runs"
    cost, unit = candidates.price_of(("learning_rate", "batch_size", "n_params", "n_data"), 6.0)
    assert (cost(0.1, 32.0, 1e9, 1e10), unit) == (6e19, "FLOPs")
    cost, unit = candidates.price_of(("compute", "tokens_per_param"), 6.0)
    assert (cost(1e20, 20.0), unit) == (1e20, "FLOPs")


def test_next_runs_are_the_best_of_what_is_affordable():
    """One run at most: none of the candidates gives less variance, or less per cost."""
    sizes = np.array([50.0, 1e3, 2e4, 4e5])
    found = plan.next_runs(LAW, budget=1e6, at=1e7, candidates=sizes, most=1, cost=lambda x: np.sqrt(x))
    saved = with_points(LAW, [1e7]) - np.array([with_points(LAW, [s, 1e7]) for s in sizes])
    thrifty, thorough = sizes[np.argmax(saved / np.sqrt(sizes))], sizes[np.argmax(saved)]
    left = [with_points(LAW, [s, 1e7]) for s in (thrifty, thorough)]
    expected = thorough if left[1] < next_runs.NARROWER**2 * left[0] else thrifty
    assert found.runs.tolist() == [[expected]]
    assert found.unit == "of that cost"
    limited = plan.next_runs(LAW, budget=150.0, at=1e7, candidates=sizes, cost=lambda x: np.sqrt(x))
    assert limited.runs.max() <= 2e4, "a run of 4e5 costs 632"
    assert limited.cost.sum() <= 150
    repeated = plan.next_runs(LAW, budget=1e9, at=1e7, candidates=[4e5], seeds=2)
    assert repeated.seeds.tolist() == [2]
    for wrong, said in ((0.0, "budget=0.0"), (-1.0, "budget=-1.0")):
        with pytest.raises(BadInput, match=said):
            plan.next_runs(LAW, budget=wrong, at=1e7)
    with pytest.raises(BadInput, match=r"at=1, 2 must hold 1 value: x"):
        plan.next_runs(LAW, budget=1e6, at=(1, 2))
    with pytest.raises(BadInput, match="compute= needs a surface"):
        plan.next_runs(LAW, budget=1e6, compute=1e20)


# --- pools ------------------------------------------------------------


def test_a_belief_after_a_measurement_is_that_of_a_gaussian():
    """Conditioning written out with matrices, twice."""
    places, target = np.geomspace(10, 1e4, 6)[:, None], np.array([[2e4], [5e4]])
    state = pool._unfitted(places, target, zeros=False)
    both = np.vstack([places, target])
    spread = np.log(both).std()
    u = ((np.log(both) - np.log(both).mean()) / spread)[:, 0]
    prior = 1 + np.outer(u, u) + np.exp(-(np.subtract.outer(u, u) ** 2) / 2)
    taken = []
    for place in (None, 1, 4):
        if place is not None:
            state, taken = state.take(place), [*taken, place]
        gain = prior[:, taken] @ np.linalg.inv(prior[np.ix_(taken, taken)] + pool.NUGGET * np.eye(len(taken)))
        now = prior - gain @ prior[taken]
        assert state.own == pytest.approx(np.diag(now))
        assert state.cross == pytest.approx(now[:6, 6:])
        assert state.variance() == pytest.approx(np.diag(now)[6:].mean())
        saved = [np.mean(now[i, 6:] ** 2) / (now[i, i] + pool.NUGGET) for i in range(6)]
        assert state.saved() == pytest.approx(saved)


def test_a_belief_after_a_fit_adds_the_doubt_about_its_form():
    places, target = np.array([[50.0], [3e5], [1e6]]), np.array([[3e6]])
    state = pool._fitted(LAW, places, target, doubt=0.1)
    both = np.vstack([places, target])
    rows, known = next_runs.rows_of(LAW, both), np.log(X)
    logs = np.log(both)
    centre, spread = logs.mean(), logs.std()
    u, v = (logs[:, 0] - centre) / spread, (known - centre) / spread
    doubt = (0.1 * np.log(LAW.points.y).std()) ** 2
    near = lambda a, b: doubt * np.exp(-(np.subtract.outer(a, b) ** 2) / 2)  # noqa: E731
    seen = near(u, v) @ np.linalg.inv(near(v, v) + LAW.variance * np.eye(10)) @ near(v, u)
    jacobian = LAW.problem.jacobian(LAW.coordinates[None])[0]
    form = LAW.variance * rows @ np.linalg.inv(jacobian.T @ jacobian) @ rows.T
    now = form + near(u, u) - seen
    assert state.own == pytest.approx(np.diag(now), rel=1e-4)
    assert state.cross == pytest.approx(now[:3, 3:], rel=1e-4)
    assert state.column(1) == pytest.approx(now[:, 1], rel=1e-4)


def test_a_choice_is_told_in_a_table_and_pays_its_budget():
    made = pool.Chosen(np.array([3, 0]), np.array([2.0, 10.0]), 0.5, np.array([0.4, 0.25]))
    first, head, *rows = made.summary().splitlines()
    assert first == "standard deviation in the target now 0.5"
    assert head.split() == ["experiment", "cost", "then"]
    assert [row.split() for row in rows] == [["3", "2", "0.4"], ["0", "10", "0.25"]]
    none = pool.Chosen(np.zeros(0, int), np.zeros(0), 0.5, np.zeros(0))
    assert none.summary() == "standard deviation in the target 0.5; no affordable experiment reduces it"
    sizes, costs = np.geomspace(10, 1e6, 12), np.geomspace(1, 100, 12)
    found = pool.choose(LAW, sizes, costs, [3e6], budget=120.0, taken=[11], tolerance=0.01, most=3)
    assert 11 not in found.index
    assert len(found.index) <= 3
    assert found.cost.sum() <= 120
    assert np.all(np.diff([found.before, *found.after]) < 0)
    assert pool._cheapest(costs, [0, 1]) == costs[2]
    assert pool._cheapest(costs, range(12)) == np.inf


def test_few_points_that_flatten_show_a_floor_where_a_parabola_does_not():
    x = np.array([1e3, 3e3, 1e4, 3e4, 1e5])
    y = np.array([0.20346, 0.13699, 0.12002, 0.10759, 0.10286])  # 0.1 + 12 x^-0.7, 2 % noise
    found = plan.still_power_law(x, y)
    u, v = np.log(x), np.log(y)
    line = np.polyval(np.polyfit(u, v, 1), u) - v
    least = optimize.least_squares(lambda p: np.log(p[0] + np.exp(p[1] - p[2] * u)) - v, [0.1, 2.5, 0.7])
    f = (line @ line - 2 * least.cost) / (2 * least.cost / 2)
    assert found.straight is False
    assert found.p_value == pytest.approx(stats.f.sf(f, 1, 2) / 2, rel=1e-4)
    assert "flattens, as a floor shows" in found.text
    parabola = np.polyfit(u, v, 2, cov=True)
    assert 2 * stats.t.sf(abs(parabola[0][0]) / np.sqrt(parabola[1][0, 0]), 2) > 0.05
    straight = plan.still_power_law(x, 3 * x**-0.3 * np.exp([0.03, -0.03, 0.01, 0.03, -0.03]))
    assert straight.straight is None
