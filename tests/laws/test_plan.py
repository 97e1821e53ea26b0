"""Surfaces and plans: the compute-optimal point, three approaches, questions, next runs."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws import optimum, plan, surface
from scalinglab.laws.planning.three_ways import vertex
from tests.refusals import because

TRUE = {"E": 1.8, "A": 480.0, "B": 2100.0, "alpha": 0.35, "beta": 0.37}


def losses(n, d):
    return TRUE["E"] + TRUE["A"] * n ** -TRUE["alpha"] + TRUE["B"] * d ** -TRUE["beta"]


def runs(seed: int, noise: float = 0.004):
    """Ten sizes at each of seven computes."""
    rng = np.random.default_rng(seed)
    n, c = (v.ravel() for v in np.meshgrid(np.geomspace(3e7, 1e10, 10), np.geomspace(1e18, 1e22, 7)))
    d = c / (6 * n)
    keep = (d > 3e7) & (d < 1e13)
    n, d = n[keep], d[keep]
    return n, d, losses(n, d) * np.exp(noise * rng.standard_normal(n.size))


@pytest.fixture(scope="module")
def fitted():
    return surface.fit(*runs(0), form="chinchilla")


@pytest.fixture(scope="module")
def exact():
    return surface.fit(*runs(0, noise=0.0), form="chinchilla")


def data_folder() -> Path | None:
    named = os.environ.get("SCALINGLAB_DATA")
    for place in (named, Path(__file__).parents[2] / "../shared/data"):
        if place and (folder := Path(place) / "learning-curves").is_dir():
            return folder
    return None


needs_data = pytest.mark.skipif(
    data_folder() is None, reason="published curves are not at hand (SCALINGLAB_DATA)"
)


@needs_data  # the digitised points come without a licence, so they are not in the repository
@pytest.mark.data
def test_chinchilla_refit_reaches_the_known_optimum():
    table = pd.read_csv(data_folder() / "hoffmann2022" / "chinchilla.csv").nsmallest(240, "loss")
    found = surface.fit(table.n_params, table.n_data, table.loss, form="chinchilla")
    assert found.objective <= 1.0183e-3
    assert found.law.certificate.agree == 1.0
    values = (found.E, found.A, found.B, found.alpha, found.beta)
    assert values == pytest.approx((1.81722, 477.83, 2143.4, 0.34731, 0.36717), rel=1e-4)


def test_gemstones_refit_reaches_the_known_optimum():
    table = pd.read_csv(Path(__file__).parent / "published" / "gemstones2025.csv")
    assert len(table) == 220
    found = surface.fit(
        table.n_params, table.n_data, table.loss, runs=table.run_name, delta=1e-3, form="chinchilla"
    )
    assert found.objective <= 1.98162e-3
    assert (found.E, found.alpha, found.beta) == pytest.approx((2.1431, 0.2929, 0.7129), abs=2e-4)


def test_compute_optimal_is_the_lowest_point_of_its_isoflop_line(exact):
    best = exact.compute_optimal(1e23)
    n = np.geomspace(best.n_params / 30, best.n_params * 30, 20001)
    brute = n[np.argmin(losses(n, 1e23 / 6 / n))]
    assert best.n_params == pytest.approx(brute, rel=1e-3)
    assert 6 * best.n_params * best.n_data == pytest.approx(1e23)
    assert best.loss == pytest.approx(losses(best.n_params, best.n_data))
    assert best.exponent == pytest.approx(0.37 / 0.72, rel=1e-6)


def test_search_agrees_with_the_closed_form(exact):
    form = exact.law.form
    product = np.geomspace(1e17, 1e23, 5)
    closed, searched = (
        optimum.best_split(f, exact.law.values[None], product)[0, 0]
        for f in (form, replace(form, name="other"))
    )
    assert searched == pytest.approx(closed, rel=1e-6)


@pytest.mark.nightly
def test_intervals_of_the_optimum_hold_the_truth_in_most_samples(exact):
    truth = exact.compute_optimal(1e23, intervals=False)
    hits = 0
    for seed in range(8):
        low, high = surface.fit(*runs(seed)).compute_optimal(1e23).n_params_interval
        hits += low <= truth.n_params <= high
    assert hits >= 6  # P(fewer | 95 %) < 0.006


@pytest.mark.slow
def test_three_approaches_agree_on_a_known_surface(fitted):
    found = plan.approaches(*runs(0, 0.002), compute=1e23, draws=60)
    assert [row.name[0] for row in found.rows] == ["1", "2", "3"]
    best = surface.fit(*runs(0, 0.0)).compute_optimal(1e23, intervals=False).n_params
    for row in found.rows:
        assert row.exponent == pytest.approx(0.37 / 0.72, abs=0.06)
        assert row.exponent_interval.low <= row.exponent <= row.exponent_interval.high
        # parabolas are off by more than their scatter, which their intervals count with
        assert row.exponent_interval.low <= 0.37 / 0.72 <= row.exponent_interval.high
        assert row.n_params_interval.low <= best <= row.n_params_interval.high
    assert "approach" in found.summary()


def test_a_parabola_misses_the_bottom_of_a_lopsided_valley():
    n = np.geomspace(0.1, 10, 9)
    valley = n**-0.3 / 0.3 + n**0.7 / 0.7  # lowest at n = 1
    assert abs(np.log(vertex(n, valley))) > 0.1
    close = np.geomspace(0.8, 1.25, 9)
    assert vertex(close, close**-0.3 / 0.3 + close**0.7 / 0.7) == pytest.approx(1, abs=0.01)


def test_the_bias_of_an_approach_is_what_it_misses_on_a_known_surface():
    """Without noise: a lopsided valley, and sizes tried that drift against the optimum, move the exponent."""
    n, compute = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e12, 61), np.geomspace(1e18, 1e22, 9)))
    near = np.abs(np.log(n / (3e8 * (compute / 1e20) ** 0.6))) <= np.log(4)
    n, d = n[near], (compute / 6 / n)[near]
    loss = 1.8 + 480 * n**-0.35 + 2100 * d**-0.37
    found = plan.approaches(n, d, loss, compute=1e22, budgets=np.unique(compute), draws=5)
    for row in found[0], found[1]:
        assert row.bias == pytest.approx(row.exponent - 0.37 / 0.72, abs=1e-6)
        assert row.bias > 0.005
    assert np.isnan(found[2].bias)


X = np.geomspace(100, 1e5, 12)


def law(form="power_law_offset", noise=0.02, seed=1):
    rng = np.random.default_rng(seed)
    return sl.laws.fit(form, X, (0.05 + 3 * X**-0.4) * np.exp(noise * rng.standard_normal(X.size)))


def test_needed_data_inverts_the_law():
    fitted = law()
    answer = plan.size_for(fitted, 0.07)
    assert fitted.predict(answer.value) == pytest.approx(0.07, rel=1e-3)
    assert answer.low < answer.value < answer.high
    assert fitted.interval(answer.low).low == pytest.approx(0.07, rel=0.02)
    assert fitted.interval(answer.high).high == pytest.approx(0.07, rel=0.02)
    never = plan.size_for(fitted, 0.01)
    assert never.value == np.inf
    assert never.reason.code == "never"


def test_a_bend_is_seen_where_there_is_one():
    rng = np.random.default_rng(0)
    noise = np.exp(0.01 * rng.standard_normal(X.size))
    assert plan.still_power_law(X, 3 * X**-0.4 * noise).straight is True
    bent = plan.still_power_law(X, (0.05 + 3 * X**-0.4) * noise)
    assert bent.straight is False
    assert bent.reason.code == "flattens"
    few = plan.still_power_law(X[:4], 3 * X[:4] ** -0.4 * np.exp(0.05 * rng.standard_normal(4)))
    assert few.straight is None
    with pytest.raises(BadInput, check=because("few_sizes_for_a_bend", sizes=3)):
        plan.still_power_law(X[:3], X[:3])


@pytest.mark.nightly
def test_false_alarms_of_a_bend_come_at_their_rate():
    alarms = 0
    for seed in range(200):
        noise = np.exp(0.03 * np.random.default_rng(seed).standard_normal(X.size))
        alarms += plan.still_power_law(X, 3 * X**-0.4 * noise).straight is False
    assert 2 <= alarms <= 20  # 5 % of 200, P(outside) < 0.01


@pytest.mark.nightly
def test_next_runs_shrink_the_interval_as_promised():
    fitted = law()
    found = plan.next_runs(fitted, budget=6e5, at=1e6)
    assert found.cost.sum() <= 6e5
    assert np.all(np.diff([found.before, *found.after]) < 0)
    # measure what it proposes, many times: intervals shrink at least by the factor that was promised, and by
    # more, since more runs also tell more about how noise changes with size, which the promise leaves out
    x = np.r_[X, np.repeat(found.runs[:, 0], found.seeds)]
    widths = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = (0.05 + 3 * x**-0.4) * np.exp(0.02 * rng.standard_normal(x.size))
        both = [sl.laws.fit("power_law_offset", x[:n], y[:n]).interval(1e6) for n in (X.size, x.size)]
        widths.append([np.log(high / low) for low, high in both])
    before, after = np.mean(widths, axis=0)
    assert 0.5 < (after / before) / (found.after[-1] / found.before) < 1.1


@pytest.mark.slow
def test_next_runs_for_a_surface_respect_the_budget_and_the_shapes_tried(fitted):
    found = plan.next_runs(fitted, budget=1e22, compute=1e24)
    assert found.cost.sum() <= 1e22
    assert found.after[-1] < found.before
    n, d = fitted.law.points.x
    ratio = found.runs[:, 1] / found.runs[:, 0]
    assert ratio.min() >= (d / n).min() / 2
    assert ratio.max() <= (d / n).max() * 2
    with pytest.raises(BadInput, match=r"1 FLOPs .*5\.72e\+15"):
        plan.next_runs(fitted, budget=1.0, compute=1e24)
    largest = 6 * float((n * d).max())
    unasked = plan.next_runs(
        fitted, most=1
    )  # the largest run, or up to four times it where it is not worth it
    assert unasked.budget / largest == pytest.approx(4.0 if unasked.widened else 1.0)
    assert unasked.widened != plan.next_runs(fitted, budget=largest, most=1).worth_it
    assert 6 * unasked.target.prod() == pytest.approx(10 * largest)
    with pytest.raises(BadInput, match="budget="):
        plan.next_runs(fitted, compute=1e24, candidates=[[1e9, 1e10]], cost=[1.0])


@pytest.mark.slow
def test_sizes_on_one_line_do_not_make_a_surface():
    n, d, y = runs(0)
    with pytest.raises(
        BadInput, check=because("sizes_on_a_line", first="n_params", second="n_data", factor=20.0, power=1.0)
    ):
        surface.fit(n, 20 * n, 1.8 + 480 * n**-0.35 + 2100 * (20 * n) ** -0.37)
    with pytest.raises(BadInput, check=because("constant_size", size="n_params", value=1e6)):
        surface.fit(np.full_like(n, 1e6), d, y)
    held = surface.fit(n, 20 * n, 1.8 + 480 * n**-0.35, bounds={"B": (0, 0), "beta": (1, 1)})
    assert held.alpha == pytest.approx(0.35, abs=1e-6)  # with one variable's part known, the line is enough


def test_surface_errors_name_the_way_out(fitted):
    n, d, y = runs(0)
    with pytest.raises(BadInput, match="give n_unique="):
        surface.fit(n, d, y, form="data_constrained")
    with pytest.raises(BadInput, match="form='power_law'"):
        surface.fit(n, d, y, form="power_law")
    with pytest.raises(AttributeError, match=r"'gamma'.*: E, A, B"):
        _ = fitted.gamma
    with pytest.raises(BadInput, match="compute=-1 "):
        fitted.compute_optimal(-1)
    with pytest.raises(NotDetermined, check=because("too_far", compute=1e40)):
        fitted.compute_optimal([1e22, 1e40])
    assert fitted.compute_optimal(1e40, intervals=False).below < 1e-15


@pytest.mark.slow
def test_needed_outside_what_the_law_spans_is_said_and_not_made_up():
    x = np.geomspace(100, 1e5, 12)
    noise = np.exp(0.02 * np.random.default_rng(0).standard_normal(12))
    law = sl.laws.fit("power_law_offset", x, (0.05 + 3 * x**-0.4) * noise)
    much = sl.laws.plan.size_for(law, 50.0)
    assert (much.value, much.low) == (0.0, 0.0)
    assert much.high == pytest.approx(10.0)
    assert much.reason.code == "any_size"
    rising = sl.laws.fit("power_law", x, x**0.3 * noise)
    with pytest.raises(BadInput, match=r"y = 10$"):
        sl.laws.plan.size_for(rising, 10.0)
    with pytest.raises(BadInput, match="target=inf"):
        sl.laws.plan.size_for(law, np.inf)


def test_no_plan_is_made_without_an_estimate_of_the_noise():
    x = np.array([100.0, 300.0, 1000.0])
    law = sl.laws.fit("power_law_offset", x, 0.05 + 3 * x**-0.4)
    with pytest.raises(BadInput, match="3 points for 3 parameters"):
        sl.laws.plan.next_runs(law, budget=1e6, at=1e6)


@pytest.mark.parametrize(
    ("form", "bounds"),
    [
        ("chinchilla", {}),
        ("chinchilla", {"E": (1.8, 1.8)}),
        pytest.param("rosenfeld", {}, marks=pytest.mark.slow),
    ],
)
def test_the_optimum_is_the_same_in_any_unit_of_size(form, bounds):
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 7), np.geomspace(1e9, 1e12, 7)))
    loss = 1.8 + 480 * n**-0.35 + 2100 * d**-0.37
    compute = np.array([1e18, 6e18, 1e22])  # 6e18 is where √(n_params n_data) is 1 in billions
    plain, billions = (
        sl.laws.surface.fit(n * unit, d * unit, loss, form=form, bounds=bounds)
        .compute_optimal(compute * unit**2, intervals=False)
        .n_params
        / unit
        for unit in (1.0, 1e-9)
    )
    assert billions == pytest.approx(plain, rel=1e-4)
    sizes = np.geomspace(1e5, 1e12, 200_001)
    for total, found in zip(compute, plain, strict=True):
        along = 1.8 + 480 * sizes**-0.35 + 2100 * (total / 6 / sizes) ** -0.37
        assert found == pytest.approx(sizes[along.argmin()], rel=1e-3)


def test_a_loss_that_does_not_fall_with_size_has_no_optimum():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 8), np.geomspace(1e9, 1e12, 8)))
    noise = np.exp(0.003 * np.random.default_rng(0).standard_normal(64))
    fitted = sl.laws.surface.fit(n, d, (1.69 + 410.7 * d**-0.28) * noise, bounds={"A": (0, 1e-250)})
    with pytest.raises(BadInput, check=because("no_fall_in_fit", size="n_params")):
        fitted.compute_optimal(1e21)


def test_approaches_of_bad_budgets_are_an_error():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 7), np.geomspace(1e9, 1e12, 7)))
    loss = 1.8 + 480 * n**-0.35 + 2100 * d**-0.37
    with pytest.raises(BadInput, match="budgets=-1"):
        sl.laws.plan.approaches(n[1:], d[1:], loss[1:], compute=1e21, budgets=[-1, 1e20, 1e21])


@pytest.mark.slow
def test_candidates_are_runs_that_one_would_make():
    """The design has lopsided runs; the plan does not ask for more of them."""
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 6e10, 5), np.geomspace(2e9, 2e11, 5)))
    noise = np.exp(0.005 * np.random.default_rng(0).standard_normal(n.size))
    fitted = surface.fit(n, d, losses(n, d) * noise)
    found = plan.next_runs(fitted, budget=1e22, compute=1e24)
    best = np.asarray(fitted.compute_optimal(found.cost / found.seeds, intervals=False).n_params)
    assert len(found.runs)
    assert (np.abs(np.log(found.runs[:, 0] / best)) <= np.log(10) + 1e-9).all()


@pytest.mark.slow
def test_a_run_that_buys_nothing_is_not_worth_it(fitted):
    little = plan.next_runs(fitted, budget=1e18, compute=1e22)
    assert not little.worth_it
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 3), np.geomspace(2e9, 2e11, 3)))
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(n.size))
    poor = surface.fit(n, d, losses(n, d) * noise)
    much = plan.next_runs(poor, budget=1e23, compute=1e24)
    assert much.worth_it
    assert much.after[-1] <= 0.8 * much.before


@pytest.mark.slow
def test_a_plan_costs_no_more_than_it_is_worth(fitted):
    """A budget a thousand times larger does not buy a plan that narrows the interval by less than a tenth."""
    small = plan.next_runs(fitted, budget=1e22, compute=1e24, most=2)
    large = plan.next_runs(fitted, budget=1e25, compute=1e24, most=2)
    dearer = large.cost.sum() > 2 * small.cost.sum()
    assert not dearer or large.after[-1] < 0.95 * small.after[-1]


@pytest.mark.slow
def test_envelope_and_parabolas_of_few_model_sizes_have_intervals_that_hold():
    n, c = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 7), np.geomspace(1e19, 1e22, 5)))
    d = c / (6 * n)
    noise = np.exp(0.002 * np.random.default_rng(0).standard_normal(n.size))
    found = plan.approaches(n, d, losses(n, d) * noise, compute=1e23, draws=40)
    for row in found.rows:
        assert row.exponent_interval.low <= 0.37 / 0.72 <= row.exponent_interval.high
        assert row.exponent_interval.low <= row.exponent <= row.exponent_interval.high


@pytest.mark.slow
def test_the_cheapest_plan_with_most_of_the_gain_is_taken_and_no_tiny_runs():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e7, 1e10, 6), np.geomspace(1e9, 2e11, 6)))
    noise = np.exp(0.005 * np.random.default_rng(0).standard_normal(n.size))
    fitted = sl.laws.surface.fit(n, d, (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * noise)
    largest = 6e10 * 2e11
    whole = plan.next_runs(fitted, budget=largest, compute=10 * largest)
    most = plan.next_runs(fitted, budget=largest, compute=10 * largest, share=0.8)
    assert most.cost.sum() < whole.cost.sum()
    assert whole.before - most.after[-1] >= 0.7 * (whole.before - whole.after[-1])  # of widths, not variances
    assert (6 * most.runs.prod(axis=1) >= 0.01 * largest).all()
