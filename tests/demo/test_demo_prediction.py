"""The demonstration's prediction and its theory check, on curves with a known law and on tiny perceptrons."""

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.demo import digits, forecast
from scalinglab.demo.forecast import Forecast, Outcome, opening

SIZES = (40, 66, 108, 177, 290, 476, 780)


def curves(largest: float) -> sl.Curves:
    """Runs on test_error = n^−1/2 with 3 % of scatter, and runs at 1,280 examples near `largest`."""
    random = np.random.default_rng(3)
    rows = []
    for size, height in [*((n, n**-0.5) for n in SIZES), (1280, largest)]:
        for seed in range(4):
            best = height * np.exp(0.03 * random.standard_normal())
            for step, error in ((1, 2 * best), (10, best), (100, 1.2 * best)):
                rows.append((size, seed, step, float(step), error))
    frame = pd.DataFrame(rows, columns=["n_data", "seed", "step", "norm", "test_error"])
    return sl.Curves(frame, settings=["n_data", "seed"])


@pytest.fixture(scope="module")
def following() -> tuple[sl.Curves, Forecast]:
    """Curves whose largest size follows the law, and their prediction."""
    table = curves(1280**-0.5)
    return table, forecast.predict(table, 1280)


@pytest.mark.slow
def test_the_prediction_holds_what_follows_the_law_and_leaves_out_what_does_not(following):
    above = curves(3 * 1280**-0.5)
    first, second = following[1], forecast.predict(above, 1280)
    assert first.interval == second.interval, "it knows nothing of the largest size"
    assert first.sizes == SIZES
    for (table, inside), runs_inside, place in (
        ((following[0], True), (3, 4), "inside"), ((above, False), (0,), "above"),
    ):  # fmt: skip
        outcome = forecast.compare(first, table)
        assert outcome.inside in runs_inside
        assert outcome.mean_inside is inside
        assert f"{place} the interval" in outcome.sentence()


def test_the_prediction_is_that_of_laws_extrapolate(following):
    smaller = following[0].select(n_data=list(SIZES))
    expected = sl.laws.extrapolate(smaller, at=1280, x="n_data", y="test_error")
    found = following[1].interval
    assert found == pytest.approx((expected.mean[0], expected.low[0], expected.high[0]), rel=1e-6)
    assert found[0] == pytest.approx(1280**-0.5, rel=0.1)


def test_too_few_sizes_are_refused_with_the_reason_and_the_runs_are_still_shown():
    few = curves(0.03).select(n_data=[290, 476, 780, 1280])
    outcome = forecast.compare(forecast.predict(few, 1280), few)
    assert "no prediction at 1,280 examples: 3 sizes" in outcome.forecast.sentence()
    assert "inside" not in outcome.sentence()
    assert len(outcome.errors) == 4


def test_runs_below_between_and_above_the_interval_are_told_apart(following):
    known = following[1]
    _, low, high = known.interval
    assert Outcome(known, np.array([0.9 * low, low, high, 1.1 * high])).inside == 2
    assert "below the interval; 0 of 2" in Outcome(known, np.array([0.5, 0.6]) * low).sentence()
    assert np.isnan(Forecast(10, (1, 2), None, "few").interval).all()


def test_the_smaller_plan_leaves_out_the_largest_size_alone():
    plan = digits.PLANS["laptop"]
    assert {*plan.sizes} - {*plan.smaller.sizes} == {max(plan.sizes)}
    ids = {tuple(sorted(setting.items())) for setting in plan.grid().settings()}
    assert {
        tuple(sorted(setting.items())) for setting in plan.smaller.grid().settings()
    } < ids  # kept runs count


@pytest.mark.slow
def test_simulated_perceptrons_follow_the_exact_theory():
    checked = forecast.check(n_params=60, seeds=8)
    assert len(checked.table) == len(forecast.LOADS) * len(forecast.NORMS)
    assert checked.deviation < 0.1  # a student of 60 weights scatters by several percent
    assert checked.inside > len(checked.table) / 2
    wrong = forecast.TheoryCheck(checked.table.assign(exact=1.5 * checked.table["exact"]), 60, 8)
    assert wrong.inside == 0
    assert wrong.deviation > 0.2


@pytest.mark.slow
def test_the_report_begins_with_prediction_and_theory_and_the_laws_come_later():
    table = curves(0.03)
    outcome = forecast.compare(forecast.predict(table, 1280), table)
    parts = opening(outcome, forecast.check(n_params=20, seeds=2), table)
    assert [part.title for part in parts] == [
        "Predicted before it was trained",
        "Exact theory over a simulation",
        "Learning curves",
        "Error against norm",
    ]
    page = sl.report.build(table, opening=parts)
    titles = [page.index(f"<h2>{part.title}</h2>") for part in parts]
    assert titles == sorted(titles)
    assert titles[-1] < page.index("<h2>Runs</h2>")
    assert page.count("<h2>Learning curves</h2>") == 1
    assert outcome.sentence() in page.replace("\N{NO-BREAK SPACE}", " ")
