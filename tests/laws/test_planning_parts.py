"""Plans and comparisons, each against a second way to the same number."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws import plan
from scalinglab.laws.fitting.uncertainty.form_error import FormError
from scalinglab.laws.fitting.uncertainty.shared_errors import SharedErrors
from scalinglab.laws.planning import candidates, posterior, three_ways

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
    ends = {"low": found.low, "high": found.high, "p": found.p_value}
    assert told.reason.code == "bend_hidden"
    assert told.reason.details == pytest.approx({"exponent": mean, **ends})
    assert plan.still_power_law(X, y, level=1 - 1.01 * found.p_value).straight is False
    assert plan.still_power_law(X, y, level=1 - 0.99 * found.p_value).straight is not False


def test_a_bend_is_named_by_its_direction():
    for power, word in ((-0.03, "steepens"), (0.02, "flattens")):
        y = np.exp(-0.6 * np.log(X / 100) + power * np.log(X / 100) ** 2)
        assert plan.still_power_law(X, y).reason.code == word


class Tenth(sl.laws.Law):
    """A law with intervals of ± 10 %, so that it is known where they reach a target."""

    def interval(self, x, level=0.95, *_, **__):
        return sl.laws.Interval(0.9 * self.predict(x), 1.1 * self.predict(x))


def with_tenths(law):
    return Tenth(**{field.name: getattr(law, field.name) for field in fields(law)})


def inverse(law, y):
    a, c, e = (law.parameters.get(n, 0.0) for n in ("amplitude", "exponent", "offset"))
    return (a / (y - e)) ** (1 / c)


def test_a_size_is_where_the_law_and_its_interval_reach_the_target():
    law = with_tenths(LAW)
    found = plan.size_for(law, 0.07, level=0.9)
    ends = [inverse(LAW, y) for y in (0.07, 0.07 / 0.9, 0.07 / 1.1)]
    assert (found.value, found.low, found.high) == pytest.approx(ends, rel=2e-3)
    assert found.reason.code == "size_beyond"
    assert found.reason.details["beyond"] == pytest.approx(found.value / 1e5)
    assert (found.reason.details["level"], found.reason.details["target"]) == (0.9, 0.07)
    inside = plan.size_for(law, float(LAW.predict(5e4)))
    assert inside.value == pytest.approx(5e4, rel=2e-3)
    assert inside.reason.code == "size_for"
    assert (found.form, found.notes) == ("power_law_offset", LAW.points.notes)
    floor = LAW.parameters["offset"]
    open_ended = plan.size_for(law, 1.05 * floor)  # 1.1 times the law never gets there
    assert open_ended.high == np.inf
    never = plan.size_for(law, 0.95 * floor)  # but 0.9 times the law does
    assert (never.value, never.high) == (np.inf, np.inf)
    assert never.low == pytest.approx(inverse(LAW, 0.95 / 0.9 * floor), rel=0.02)
    assert (never.reason.code, never.reason.details["low"]) == ("never_but_perhaps", never.low)


def test_a_size_is_looked_for_from_a_tenth_of_the_smallest_to_a_million_times_the_largest():
    line = with_tenths(sl.laws.fit("power_law", X, 3 * X**-0.4 * np.exp(0.001 * NOISE)))
    exact = plan.size_for(line, float(line.predict(12345.0)))
    assert exact.value == pytest.approx(12345.0, rel=1e-6), "interpolated in the logarithms"
    near = plan.size_for(line, float(line.predict(10.5)))
    assert near.value == pytest.approx(10.5, rel=0.01)
    assert near.low == 0, "nothing was looked at below"
    below = plan.size_for(line, float(line.predict(9.0)))
    assert (below.value, below.low) == (0, 0)
    assert below.high == pytest.approx(max(inverse(line, line.predict(9.0) / 1.1), 10.0), rel=0.02)
    assert below.reason.code == "any_size"
    assert below.reason.details["there"] == pytest.approx(line.predict(10.0))
    assert below.reason.details["at"] == pytest.approx(10.0)
    assert plan.size_for(line, float(line.predict(0.9e11))).value == pytest.approx(0.9e11, rel=0.01)
    beyond = plan.size_for(line, float(line.predict(2e11)))
    assert beyond.value == np.inf
    assert beyond.reason.code in ("never", "never_but_perhaps")
    assert beyond.reason.details["there"] == pytest.approx(line.predict(1e11))
    assert np.isfinite(plan.size_for(line, float(line.predict(2e11)), farthest=1e7).value)


# --- three approaches ------------------------------------------------------------


@pytest.mark.slow
def test_the_exponent_of_an_approach_is_that_of_the_line_through_its_optima():
    n, c = (v.ravel() for v in np.meshgrid(np.geomspace(1e7, 3e10, 12), np.geomspace(1e18, 1e22, 5)))
    d = c / (6 * n)
    loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * np.exp(0.002 * np.random.default_rng(0).normal(size=60))
    found = plan.approaches(n, d, loss, compute=1e23, draws=5)
    for row in found.rows[:2]:
        seen = np.isfinite(row.best)
        slope, intercept = np.polyfit(np.log(row.compute[seen]), np.log(row.best[seen]), 1)
        assert row.exponent == pytest.approx(slope)
        assert row.n_params == pytest.approx(np.exp(intercept + slope * np.log(1e23)))
    small = n < 1e8  # all below the optimum of the larger computes
    with pytest.raises(BadInput, match=r"an optimal size is seen at [0-2] of"):
        plan.approaches(n[small], d[small], loss[small], compute=1e23, draws=5)


def test_the_lowest_size_counts_only_between_others():
    n = np.array([1.0, 2.0, 4.0])
    assert three_ways.lowest(n, np.array([2.0, 1.0, 3.0])) == 2.0
    assert np.isnan(three_ways.lowest(n, np.array([1.0, 2.0, 3.0])))
    assert np.isnan(three_ways.lowest(n, np.array([3.0, 2.0, 1.0])))
    assert np.isnan(three_ways.lowest(n[:2], np.array([2.0, 1.0])))


def test_a_parabola_has_its_vertex_among_the_sizes_or_none():
    n = np.geomspace(1, 16, 5)
    u = np.log(n)
    assert three_ways.vertex(n, 3 + 2 * (u - 1.3) ** 2) == pytest.approx(np.exp(1.3))
    assert three_ways.vertex(n[:4], 3 + 2 * (u[:4] - 1.3) ** 2) == pytest.approx(np.exp(1.3))
    assert np.isnan(three_ways.vertex(n[:3], 3 + 2 * (u[:3] - 1.3) ** 2))
    assert np.isnan(three_ways.vertex(n, 3 - 2 * (u - 1.3) ** 2))
    assert np.isnan(three_ways.vertex(n, 3 + 2 * (u + 0.1) ** 2)), "below the smallest"
    assert np.isnan(three_ways.vertex(n, 3 + 2 * (u - 2.9) ** 2)), "above the largest"


def test_intervals_of_refits_leave_out_those_without_an_optimum():
    errors = np.r_[np.arange(-40.0, 61.0), np.nan]
    around = three_ways.interval_from_errors
    assert around(7.0, errors, 0.9) == pytest.approx((-48.0, 42.0)), "too high by ten"
    assert around(7.0, errors + 200, 0.9) == pytest.approx((-248.0, 7.0)), "reaches to the value"
    seven_eighths = np.where(np.arange(errors.size) % 8, errors, np.nan)
    assert np.isnan(around(7.0, seven_eighths, 0.9)).all(), "an eighth may lie beyond the ends"


# --- what one more run saves ------------------------------------------------------------


def left_open(law, targets, made=(), weights=1.0):
    """(targets,) variance of what is not known there after runs `made`: universal kriging in one system.

    The error of the form has the kernel and the noise of `FormError`, and what runs of one size share that of
    `SharedErrors`; derivatives are by differences. Runs whose errors were given scatter in proportion to them
    around the noise of a typical one, and share as much; a run of weight w scatters as the mean of w runs;
    runs to come are typical.
    """
    error, points, targets = FormError(law), np.atleast_2d(law.points.x).T, np.atleast_2d(targets)
    known = np.vstack([points, np.reshape(made, (-1, points.shape[1]))])

    def log_law(values, x):
        return np.log(law.form.function(x if x.shape[0] > 1 else x[0], *values))

    def slopes(x):
        at = law.values
        steps = 1e-6 * np.maximum(np.abs(at), 1e-3)
        moves = np.diag(steps)
        return np.array([
            (log_law(at + m, x.T) - log_law(at - m, x.T)) / (2 * m.sum()) for m in moves
        ])  # fmt: skip

    trend, there = slopes(known), slopes(targets)
    size = np.linalg.norm(trend, axis=1, keepdims=True)
    trend, there = trend / size, there / size
    shared, own = SharedErrors(law), error.run_variance
    seen = error.covariance(known.T, known.T)
    relative = np.ones(len(known))
    if law.points.error is not None:
        relative[: len(points)] = law.points.error / law.points.y
        relative[: len(points)] /= stats.gmean(relative[: len(points)])
    if shared.shows:
        seen = seen + shared.between(known.T, known.T) * np.outer(relative, relative)
        own = own * shared.alone
    alone = relative**2
    alone[: len(points)] /= weights
    seen = seen + own * np.diag(alone)
    system = np.block([[seen, trend.T], [trend, np.zeros((len(trend),) * 2)]])
    with_targets = np.vstack([error.covariance(known.T, targets.T), there])
    return error.variance(targets.T) - np.sum(with_targets * np.linalg.solve(system, with_targets), axis=0)


def made_by(found):
    return np.repeat(found.runs, found.seeds, axis=0)


def test_what_next_runs_promise_is_the_variance_of_the_fit_with_them():
    found = plan.next_runs(LAW, budget=3e6, at=1e7, most=3)
    low, high = LAW.interval(1e7)
    assert found.before == pytest.approx((high - low) / 2 / LAW.predict(1e7)), "as laws fit --at prints it"
    left = left_open(LAW, [[1e7]], made_by(found)) / left_open(LAW, [[1e7]])
    assert found.after[-1] == pytest.approx(found.before * np.sqrt(left[0]), rel=1e-4)
    assert found.seeds.sum() <= 3
    assert found.cost == pytest.approx(found.runs[:, 0] * found.seeds)
    assert found.runs.max() <= 4e5 * (1 + 1e-9), "up to four times the largest"
    assert found.runs.min() >= 100 * (1 - 1e-9)
    assert found.unit == "units of x"
    assert found.prediction == pytest.approx([LAW.predict(1e7)])


@pytest.mark.parametrize("shared", [0.0, 0.01], ids=["of one size", "whose sizes share errors"])
def test_runs_count_by_their_given_errors_in_what_is_left_open(shared):
    """The largest error is nine times the least; the form misses a bend, which counts beside the noise."""
    rng = np.random.default_rng(4)
    error = rng.permutation(np.geomspace(0.001, 0.009, 20))
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 5), np.geomspace(2e9, 2e11, 4)))
    bend = 0.01 * np.log(n / 1e9) ** 2 + shared * np.tile(rng.standard_normal(5), 4)
    y = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * np.exp(bend + error * rng.normal(size=20))
    x, targets = (n, d) if shared else d, np.array([[3e10, 6e11]] if shared else [[6e11]])
    form = "chinchilla" if shared else "power_law_offset"
    law = sl.laws.fit(form, x, y, error=error * y, loss="squared")
    made = np.atleast_2d(law.points.x).max(axis=1) * [[0.7], [2.0]]
    found = posterior.after_fit(law, made, targets)
    left = [left_open(law, targets, made[:count])[0] for count in range(3)]
    told = [found.variance, found.with_run(0).variance, found.with_run(0).with_run(1).variance]
    assert told == pytest.approx(left, rel=1e-4)
    assert np.ptp(np.log(left)) > 0.01, "the runs tell something"


def test_runs_count_by_their_weights_in_what_is_left_open():
    weights = np.array([1.0, 4.0, 1.0, 2.0, 9.0, 1.0, 3.0, 1.0, 5.0, 1.0])
    law = sl.laws.fit("power_law", X, 3 * X**-0.4 * np.exp(0.1 * NOISE), weights=weights, loss="squared")
    found = posterior.after_fit(law, np.array([[1e4]]), np.array([[2e4]]))
    left = [left_open(law, [[2e4]], made, weights)[0] for made in ((), [[1e4]])]
    assert [found.variance, found.with_run(0).variance] == pytest.approx(left, rel=1e-4)
    assert left[0] != pytest.approx(left_open(law, [[2e4]])[0], rel=0.01), "weights matter"


def test_several_targets_count_by_their_mean_variance():
    """Runs of the ten cheapest sizes, each once; half-widths are root mean squares over the targets."""
    targets = np.array([[1e6], [1e7]])
    found = plan.next_runs(LAW, budget=1e9, at=targets, candidates=X, seeds=1, tolerance=0.0, most=4)
    halves = [(high - low) / 2 / LAW.predict(t) for t in targets[:, 0] for low, high in [LAW.interval(t)]]
    assert found.before == pytest.approx(np.sqrt(np.mean(np.square(halves))))
    for count in range(1, 5):
        left = left_open(LAW, targets, found.runs[:count]).mean() / left_open(LAW, targets).mean()
        assert found.after[count - 1] == pytest.approx(found.before * np.sqrt(left), rel=1e-4)
    assert X[found.index] == pytest.approx(found.runs[:, 0])
    assert found.seeds.tolist() == [1, 1, 1, 1]


def test_a_run_that_saves_less_than_the_tolerance_is_left_out():
    for tolerance in (0.01, 0.05):
        found = plan.next_runs(LAW, budget=1e9, at=1e7, tolerance=tolerance, seeds=1)
        steps = np.array([*found.after, found.after[-1]]) / [found.before, *found.after]
        assert (steps[:-1] <= 1 - 0.95 * tolerance).all()
    none = plan.next_runs(LAW, budget=1e9, at=1e7, tolerance=0.9)
    assert len(none.runs) == len(none.after) == 0
    assert not none.worth_it


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
    """The part of the law by what runs tell of it, the rest as much as they bring the target nearer."""
    y = (0.05 + 3 * X**-0.4) * np.exp(0.02 * NOISE)
    found = plan.next_runs(
        pd.DataFrame({"n_data": X, "test_error": y}), x="n_data", budget=1e6, at=1e6, most=3
    )
    times = max(found.runs.max() / X.max(), 1.0)
    printed = sl.laws.extrapolate(X, y, at=[1e6 / times, 1e6])
    nearer, half = (printed.high - printed.low) / 2 / printed.mean
    assert found.prediction == pytest.approx(printed.mean[1])
    assert found.before == pytest.approx(half)
    law = sl.laws.fit("power_law_offset", X, y)
    now, then = left_open(law, [[1e6]]), left_open(law, [[1e6]], made_by(found))
    narrowed = min(law.quantile(0.95) * np.sqrt(now[0]), half)
    left = narrowed**2 * then[0] / now[0]
    rest = (half**2 - narrowed**2) * (nearer / half) ** 2
    assert found.after[-1] ** 2 == pytest.approx(left + rest, rel=0.02)  # sizes between are interpolated


@pytest.mark.slow
def test_a_run_narrows_a_continued_curve_as_much_as_its_plan_says():
    ratios, sizes = [], np.geomspace(1e3, 1e5, 10)
    for seed in range(4):
        draw = np.random.default_rng(seed)
        y = (0.05 + 3 * sizes**-0.4) * np.exp(0.01 * draw.standard_normal(10))
        table = pd.DataFrame({"n_data": sizes, "test_error": y})
        planned = plan.next_runs(table, x="n_data", budget=4e5, at=1e6, candidates=[[4e5]], seeds=1)
        further = (0.05 + 3 * 4e5**-0.4) * np.exp(0.01 * draw.standard_normal())
        made = sl.laws.extrapolate(np.append(sizes, 4e5), np.append(y, further), at=1e6)
        ratios.append(float(planned.after[-1] / ((made.high - made.low)[0] / 2 / made.mean[0])))
    assert 0.7 < np.exp(np.mean(np.log(ratios))) < 2.0


@pytest.mark.slow
def test_without_a_budget_a_plan_takes_the_least_that_is_worth_it():
    y = (0.05 + 3 * X**-0.4) * np.exp(0.02 * NOISE)
    law = sl.laws.fit("power_law_offset", X, y)
    found = plan.next_runs(law, at=10 * X.max())
    tried = {
        times: plan.next_runs(law, at=10 * X.max(), budget=times * X.max(), share=0.8) for times in (1, 2, 4)
    }
    worth = [times for times, each in tried.items() if each.worth_it]
    assert found.budget == (worth[0] if worth else 4) * X.max()
    assert found.after.tolist() == tried[worth[0] if worth else 4].after.tolist()


def test_the_cheapest_plan_has_no_run_that_it_does_not_need():
    y = (0.05 + 3 * X**-0.4) * np.exp(0.02 * NOISE)
    law = sl.laws.fit("power_law_offset", X, y)
    whole = plan.next_runs(law, at=1e7, budget=1e6)
    part = plan.next_runs(law, at=1e7, budget=1e6, share=0.8)
    known, left = (found**2 for found in (whole.before, whole.after[-1]))
    enough = left + 0.2 * (known - left)
    assert part.after[-1] ** 2 <= enough * 1.001
    for each in range(len(part.runs)):
        others = [run for i, run in enumerate(part.runs) for _ in range(part.seeds[i]) if i != each]
        if others:
            then = left_open(law, [[1e7]], np.array(others))[0] / left_open(law, [[1e7]])[0]
            assert then * known > enough * 0.999


@pytest.mark.slow
def test_next_runs_of_any_form_promise_the_variance_of_the_fit_with_them():
    """Three variables, of which bits are no size: tried values at sizes up to four times beyond."""
    grid = np.meshgrid(np.geomspace(1e7, 1e9, 4), np.geomspace(1e9, 1e11, 4), [3.0, 4.0, 6.0, 16.0])
    n, d, bits = (v.ravel() for v in grid)
    loss = 1.8 + 480 * (n * (1 - np.exp(-bits / 2))) ** -0.35 + 2100 * d**-0.37
    y = loss * np.exp(0.003 * np.random.default_rng(1).standard_normal(n.size))
    table = pd.DataFrame({"n_params": n, "n_data": d, "bits": bits, "loss": y})
    at = (1e10, 1e12, 5.0)
    sizes = dict(zip(("n_params", "n_data", "bits"), at, strict=True))
    found = plan.next_runs(table, form="precision", budget=1e21, at=at, most=3)
    fitted = sl.laws.surface.fit(table, form="precision")
    low, high = fitted.interval(sizes)
    assert found.before == pytest.approx((high - low) / 2 / fitted.predict(sizes))
    assert found.variables == ("n_params", "n_data", "bits")
    assert set(found.runs[:, 2]) <= {3.0, 4.0, 6.0, 16.0}
    assert found.cost == pytest.approx(6 * found.runs[:, 0] * found.runs[:, 1] * found.seeds)
    left = left_open(fitted.law, [at], made_by(found)) / left_open(fitted.law, [at])
    assert found.after[-1] == pytest.approx(found.before * np.sqrt(left[0]), rel=1e-3)
    with pytest.raises(BadInput, match="3 values: n_params, n_data, bits"):
        plan.next_runs(table, form="precision", budget=1e21, at=1e10)


@pytest.mark.slow
def test_next_runs_on_a_surface_are_the_best_of_all():
    """Every candidate tried by itself, with what the form may miss; then all runs of a plan at once."""
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 5), np.geomspace(2e9, 2e11, 4)))
    bend = np.exp(0.002 * np.log(n / 1e9) ** 2 + 0.002 * np.random.default_rng(0).standard_normal(n.size))
    loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * bend
    fitted = sl.laws.surface.fit(n, d, loss, form="chinchilla")  # what one form leaves open is counted here
    target, budget = (3e10, 6e11), 2e22
    grid = np.array([(a, b) for a in np.geomspace(1e8, 2e10, 7) for b in np.geomspace(2e9, 4e11, 7)])
    costs = 6 * grid.prod(axis=1)
    now = left_open(fitted.law, [target])[0]
    left = np.array([left_open(fitted.law, [target], run)[0] for run in grid])
    worth = (costs <= budget) & (now - left > 0.001 * now)
    saved = np.where(worth, now - left, 0)
    thrifty, thorough = np.argmax(saved / costs), np.argmax(saved)
    best = thorough if left[thorough] < 0.9**2 * left[thrifty] else thrifty
    one = plan.next_runs(fitted, budget=budget, at=target, candidates=grid, most=1)
    assert one.index.tolist() == [best]
    found = plan.next_runs(fitted, budget=budget, at=target, most=4)
    low, high = fitted.interval(n_params=target[0], n_data=target[1])
    assert found.before == pytest.approx((high - low) / 2 / found.prediction[0]), "as laws surface prints it"
    rest = left_open(fitted.law, [target], made_by(found))[0]
    assert found.after[-1] / found.before == pytest.approx(np.sqrt(rest / now), rel=1e-4)


def test_next_runs_are_the_best_of_what_is_affordable():
    """One run at most: none of the candidates gives less variance, or less per cost."""
    sizes = np.array([50.0, 1e3, 2e4, 4e5])
    found = plan.next_runs(LAW, budget=1e6, at=1e7, candidates=sizes, most=1, cost=lambda x: np.sqrt(x))
    now, left = left_open(LAW, [[1e7]])[0], np.array([left_open(LAW, [[1e7]], s)[0] for s in sizes])
    saved = np.where(now - left > 0.001 * now, now - left, 0)
    thrifty, thorough = np.argmax(saved / np.sqrt(sizes)), np.argmax(saved)
    expected = thorough if left[thorough] < 0.9**2 * left[thrifty] else thrifty
    assert found.index.tolist() == [expected]
    assert found.unit == "of that cost"
    limited = plan.next_runs(LAW, budget=150.0, at=1e7, candidates=sizes, cost=np.sqrt(sizes))
    assert limited.runs.max() <= 2e4, "a run of 4e5 costs 632"
    assert limited.cost.sum() <= 150
    repeated = plan.next_runs(LAW, budget=1e9, at=1e7, candidates=[4e5], seeds=2)
    assert repeated.seeds.tolist() == [2]
    for wrong, said in ((0.0, "budget=0.0"), (-1.0, "budget=-1.0")):
        with pytest.raises(BadInput, match=said):
            plan.next_runs(LAW, budget=wrong, at=1e7)
    with pytest.raises(BadInput, match=r"at=1, 2 .*: x"):
        plan.next_runs(LAW, budget=1e6, at=(1, 2))
    with pytest.raises(BadInput, match="compute="):
        plan.next_runs(LAW, budget=1e6, compute=1e20)
    with pytest.raises(BadInput, match=r"4 candidates.*3 costs"):
        plan.next_runs(LAW, budget=1e6, at=1e7, candidates=sizes, cost=sizes[1:])


@pytest.mark.parametrize(("before", "after", "worth"), [
    (0.02, 0.0159, True), (0.02, 0.0161, False), (0.004, 0.0029, True),
    (0.004, 0.0031, False),  # less than 0.1 % of the prediction
    (5.0, 1.1, False),  # still open
])  # fmt: skip
def test_a_plan_is_worth_it_from_a_fifth_and_a_thousandth_on(before, after, worth):
    found = plan.next_runs(LAW, budget=1e6, at=1e7, most=1)
    assert replace(found, before=before, after=np.array([after])).worth_it is worth


def test_a_raw_fit_has_half_widths_relative_to_the_size_of_its_predictions():
    """Values below 0, in units of which nothing may depend."""
    y = -5 + 3 * (X / 100) ** -0.4 + 0.02 * NOISE
    widths = []
    for unit in (1.0, 1000.0):
        law = sl.laws.fit("power_law_offset", X, unit * y, space="raw", bounds={"offset": (-1e6, 1e6)})
        found = plan.next_runs(law, budget=1e6, at=1e6, most=2)
        low, high = law.interval(1e6)
        assert found.before == pytest.approx((high - low) / 2 / abs(law.predict(1e6)))
        widths.append([found.before, *found.after])
    assert widths[0] == pytest.approx(widths[1], rel=1e-3)


# --- candidates ------------------------------------------------------------


def test_candidates_have_the_shapes_of_finished_runs_not_of_early_checkpoints():
    size, end = np.array([1e7, 1e8, 1e9]), np.array([2e10, 3e10, 1e10])
    n, run, d = np.repeat(size, 4), np.repeat(range(3), 4), np.outer(end, [1, 0.01, 0.1, 0.5]).ravel()
    law = sl.laws.fit("chinchilla", (n, d), 1.8 + 480 * n**-0.35 + 2100 * d**-0.37, runs=run)
    points = law.points
    assert sorted(points.x[1][points.ends_of_runs]) == sorted(end)
    grid = candidates.plausible_runs(law, optimum=False)
    assert 0.5 * 10 <= (grid[:, 1] / grid[:, 0]).min() < 10, "half of the smallest of the ends, 10"


def test_candidates_stay_within_what_a_setting_allows():
    unique = np.array([1e8, 1e9, 1e9, 1e9, 1e10, 1e10])
    x = np.array([np.geomspace(1e7, 1e9, 6), unique * [1, 1, 4, 10, 1, 3], unique])
    loss = 1.8 + 480 * x[0] ** -0.35 + 2100 * x[1] ** -0.37
    repeats = {"repeat_data": (15, 15), "repeat_params": (5, 5)}
    law = sl.laws.fit("data_constrained", tuple(x), loss, bounds=repeats, starts=1)
    found = candidates.plausible_runs(law, optimum=False)
    assert (found[:, 2] <= found[:, 1] * (1 + 1e-6)).all(), "no more unique tokens than tokens"
    assert found[:, :2].max(axis=0) == pytest.approx(4 * x[:2].max(axis=1))
    shares = np.array([[0.2, 0.5, 0.9], [0.8, 0.5, 0.1]])
    law = sl.laws.fit("data_mixing_2", tuple(shares), 2 - shares[0], starts=1)
    mixed = candidates.plausible_runs(law, optimum=False)
    assert mixed.sum(axis=1) == pytest.approx(np.ones(6))
    assert candidates.price_of(("share_1", "share_2"), 6.0)[1] == "runs"
    cost, unit = candidates.price_of(("learning_rate", "batch_size", "n_params", "n_data"), 6.0)
    assert (cost(0.1, 32.0, 1e9, 1e10), unit) == (6e19, "FLOPs")
    cost, unit = candidates.price_of(("compute", "tokens_per_param"), 6.0)
    assert (cost(1e20, 20.0), unit) == (1e20, "FLOPs")


def test_a_run_of_a_size_whose_others_err_together_tells_less():
    """Beside one of a size of its own; and what two runs leave does not depend on which is made first."""
    sizes, data = np.geomspace(1e7, 1e10, 7), np.geomspace(1e9, 1e11, 5)
    n, d = (v.ravel() for v in np.meshgrid(sizes, data))
    law, rng = 1.8 + 480 * n**-0.35 + 2100 * d**-0.37, np.random.default_rng(5)
    own = 0.002 * rng.standard_normal(n.size)
    places, target = np.array([[sizes[5], 3e11], [sizes[5] * 1.5, 3e11]]), np.array([[3e10, 1e12]])

    def told(shared):
        fitted = sl.laws.fit("chinchilla", (n, d), law * np.exp(own + shared), loss="squared")
        state = posterior.after_fit(fitted, places, target)
        there = state.with_run(0).with_run(1).own, state.with_run(1).with_run(0).own
        assert there[0] == pytest.approx(there[1], rel=1e-6)
        return state.saved()

    same, another = told(0.01 * rng.standard_normal(7)[np.searchsorted(sizes, n)])
    alone, beside = told(0.0)
    assert same / another < 0.7 * alone / beside


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
    assert (found.reason.code, found.reason.details["p"]) == ("floor_seen", found.p_value)
    parabola = np.polyfit(u, v, 2, cov=True)
    assert 2 * stats.t.sf(abs(parabola[0][0]) / np.sqrt(parabola[1][0, 0]), 2) > 0.05
    straight = plan.still_power_law(x, 3 * x**-0.3 * np.exp([0.03, -0.03, 0.01, 0.03, -0.03]))
    assert straight.straight is None


def test_runs_to_choose_from_lie_within_a_factor_of_ten_of_the_best_size_for_their_compute():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 4), np.geomspace(2e9, 2e11, 4)))
    law = sl.laws.surface.fit(n, d, 1.7 + 400 * n**-0.34 + 410 * d**-0.28, form="chinchilla").law
    runs = candidates.plausible_runs(law, optimum=False)
    best = (0.34 * 400 / (0.28 * 410) * runs.prod(axis=1) ** 0.28) ** (
        1 / 0.62
    )  # where both slopes are equal
    near = np.abs(np.log10(runs[:, 0] / best)) <= 1
    assert 0 < near.sum() < len(runs)
    assert candidates.plausible_runs(law, optimum=True).tolist() == runs[near].tolist()
