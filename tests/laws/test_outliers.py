"""A wrong row among few: named, and no number that rests on it is given as an answer."""

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import NotDetermined
from scalinglab.laws import surface
from scalinglab.laws.fitting.fit import find_outlier, fit, outlier_note, without_few
from scalinglab.laws.fitting.uncertainty.linear import MOST_POINTS
from scalinglab.results import reason_of


def grid(seed: int = 0) -> pd.DataFrame:
    n, d = (v.ravel() for v in np.meshgrid([5e7, 1.5e8, 5e8, 1.5e9], [1e9, 4e9, 1.6e10, 6e10]))
    noise = np.exp(0.003 * np.random.default_rng(seed).standard_normal(16))
    return pd.DataFrame({"params": n, "tokens": d, "loss": (1.7 + 400 * n**-0.34 + 410 * d**-0.28) * noise})


def curve(seed: int = 0) -> pd.DataFrame:
    x = np.geomspace(1e3, 1e5, 7)
    noise = np.exp(0.01 * np.random.default_rng(seed).standard_normal(7))
    return pd.DataFrame({"n_data": x, "test_error": (0.05 + 3 * x**-0.4) * noise})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "factor"),
    [
        ("loss", 1.08),
        *(pytest.param(*one, marks=pytest.mark.nightly) for one in (("loss", 10), ("params", 1e-3))),
    ],
)
def test_a_wrong_row_of_a_surface_is_named_and_answers_are_those_of_the_others(column, factor):
    table = grid()
    table.loc[6, column] *= factor
    fitted = surface.fit(table.params, table.tokens, table.loss)
    outlier = find_outlier(fitted.law)
    assert outlier.details["at"] == {"n_params": table.params[6], "n_data": table.tokens[6]}
    others = table.drop(6)
    expected = surface.fit(others.params, others.tokens, others.loss).predict(outlier.details["at"])
    assert outlier.details["expected"] == pytest.approx(expected, rel=0.01 if column == "loss" else 0.5)
    assert outlier in fitted.law.points.notes
    found = sl.answer(table)
    notes = [note for note in found.notes if note.code == "outlier_left_out"]
    assert [note.details["measured"] for note in notes] == [table.loss[6]]
    assert found.surface.parameters == pytest.approx(sl.answer(others).surface.parameters, rel=1e-3)


def test_a_wrong_point_of_a_curve_is_named():
    table = curve()
    table.loc[3, "test_error"] *= 3
    (reason,) = sl.answer(table)["exponent"].reasons
    assert reason.details["at"] == {"n_data": table.n_data[3]}
    assert (reason.details["y"], reason.details["measured"]) == ("test_error", table.test_error[3])


@pytest.mark.slow
def test_noise_a_break_and_repeats_are_no_odd_points():
    for seed in range(6):
        table = curve(seed)
        assert find_outlier(sl.laws.fit("power_law_offset", table.n_data, table.test_error)) is None
    x = np.geomspace(1e3, 1e6, 9)
    broken = np.where(x < 5e4, (x / 5e4) ** -0.12, (x / 5e4) ** -0.6)
    assert find_outlier(sl.laws.fit("power_law_offset", x, broken)) is None
    assert find_outlier(sl.laws.fit("power_law_offset", [1e3, 2e3, 4e3, 8e3], [0.4, 0.1, 0.3, 0.2])) is None


@pytest.mark.slow
def test_a_wrong_point_among_few_gets_the_same_refusal_from_every_question():
    x = np.geomspace(1e3, 1e6, 8)
    table = pd.DataFrame({"n_data": x, "test_error": 0.05 + 3 * x**-0.4})
    table.loc[3, "test_error"] *= 1.4
    asked = {"x": "n_data", "y": "test_error"}
    note = sl.laws.fit("auto", table, **asked).points.notes[-1]
    assert note.details["at"] == {"n_data": x[3]}
    plan = sl.laws.plan
    for question in (
        lambda: sl.laws.extrapolate(table, at=1e7, **asked),
        lambda: plan.still_power_law(table, **asked),
        lambda: plan.size_for(table, 0.06, **asked),
        lambda: plan.size_for(table, 0.06, form="power_law_offset", **asked),
        lambda: plan.next_runs(table, budget=1e6, at=1e7, **asked),
    ):
        with pytest.raises(NotDetermined) as refused:
            question()
        assert reason_of(refused.value).details["at"] == {"n_data": x[3]}


@pytest.mark.slow
def test_a_wrong_row_of_a_surface_is_left_out_by_every_question():
    table = grid().rename(columns={"params": "n_params", "tokens": "n_data"})
    others = sl.read(table.drop(6))
    table.loc[6, "loss"] *= 1.3
    curves = sl.read(table)
    expected = surface.fit(others).parameters
    assert surface.fit(curves).parameters == pytest.approx(expected, rel=1e-3)
    assert sl.fit(curves).surface.parameters == pytest.approx(expected, rel=1e-3)
    wanted = {"budget": 1e22, "compute": 1e23}
    found, right = sl.laws.plan.next_runs(curves, **wanted), sl.laws.plan.next_runs(others, **wanted)
    assert found.prediction == pytest.approx(right.prediction, rel=1e-3)
    (note,) = (note for note in found.notes if note.code == "outlier_left_out")
    assert note.details["at"] == {"n_params": 5e8, "n_data": 4e9}


@pytest.mark.slow
def test_two_wrong_rows_of_sixteen_are_more_than_are_left_out():
    table = grid().rename(columns={"params": "n_params", "tokens": "n_data"})
    table.loc[[6, 9], "loss"] *= [1.3, 1.3]
    fitted = surface.fit(sl.read(table))
    assert sum(note.code == "outlier_left_out" for note in fitted.law.points.notes) <= 1


@pytest.mark.slow
def test_an_end_that_is_off_may_be_a_break():
    x = np.geomspace(1e3, 1e6, 10)
    y = (0.05 + 3 * x**-0.4) * np.exp(0.003 * np.random.default_rng(0).standard_normal(10))
    for place, may_break in ((0, True), (9, True), (8, False)):
        off = np.where(np.arange(10) == place, 0.7 * y, y)
        outlier = find_outlier(sl.laws.fit("power_law_offset", x, off))
        assert outlier.details["at"] == {"x": x[place]}
        assert outlier.code == ("outlier_at_an_end" if may_break else "outlier")


def test_many_runs_outweigh_a_wrong_one():
    x = np.geomspace(1e3, 1e6, 40)
    y = (0.05 + 3 * x**-0.4) * np.exp(0.003 * np.random.default_rng(0).standard_normal(40))
    y[20] *= 1.3
    law = sl.laws.fit("power_law_offset", x, y)
    assert [note.code for note in outlier_note(law)] == ["outlier"]
    few = sl.laws.fit("power_law_offset", x[::4], y[::4])
    with pytest.raises(NotDetermined) as refused:
        outlier_note(few)
    assert reason_of(refused.value).code == "outlier"


def test_a_point_is_odd_where_three_others_and_more_determine_the_law_of_separate_runs_in_logarithms():
    """Two parameters: of five points the other four leave two degrees of freedom, of four points one."""
    x = np.geomspace(1e3, 1e5, 5)
    y = 3 * x**-0.4 * np.where(np.arange(5) == 2, 1.5, 1.0)
    assert find_outlier(sl.laws.fit("power_law", x, y)).details["at"] == {"x": x[2]}
    assert find_outlier(sl.laws.fit("power_law", x[:4], y[:4])) is None
    assert find_outlier(sl.laws.fit("power_law", x, y, space="raw")) is None
    assert find_outlier(sl.laws.fit("power_law", x, y, runs=[0, 0, 1, 2, 3])) is None, (
        "points of a run move together"
    )


@pytest.mark.parametrize(("count", "named"), [(MOST_POINTS, True), (MOST_POINTS + 1, False)])
def test_very_many_points_outweigh_any_one(count: int, named: bool):
    x = np.geomspace(1e3, 1e5, count)
    y = 3 * x**-0.4 * np.where(np.arange(count) == 225, 1.5, 1.0)
    assert (find_outlier(sl.laws.fit("power_law", x, y)) is not None) == named


@pytest.mark.parametrize(("off", "named"), [(0.04, False), (0.06, True)])
def test_a_point_is_odd_from_five_percent_on_however_small_the_noise(off: float, named: bool):
    x = np.geomspace(1e3, 1e5, 12)
    y = 3 * x**-0.4 * np.exp(1e-5 * np.random.default_rng(0).standard_normal(12))
    y[5] *= np.exp(off)
    assert (find_outlier(sl.laws.fit("power_law", x, y)) is not None) == named


def chinchilla_runs(seed: int, low: int, noise: float = 0.005) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """100 runs of Hoffmann's law, and `low` more with few tokens, whose losses are 5 % to 30 % too high."""
    random = np.random.default_rng(seed)
    n = np.r_[random.uniform(7.5, 10, 100), random.uniform(9, 10, low)]
    d = np.r_[random.uniform(9, 11.5, 100), random.uniform(8.3, 8.8, low)]
    n, d = 10**n, 10**d
    loss = 1.82 + 480 * n**-0.35 + 2100 * d**-0.37
    raised = np.r_[np.zeros(100), np.linspace(0.05, 0.3, low)]
    return n, d, loss * np.exp(noise * random.standard_normal(len(n)) + raised)


@pytest.mark.parametrize(
    "seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]
)
def test_several_runs_that_err_together_are_told_from_those_that_follow(seed: int):
    n, d, loss = chinchilla_runs(seed, 8)
    law = fit("chinchilla", (n, d), loss)
    found = without_few(law)
    assert found is not None
    others, far = found
    assert {*law.points.y[far]} == {*loss[100:]}
    clean = fit("chinchilla", (n[:100], d[:100]), loss[:100])
    for name, value in clean.parameters.items():
        assert others.parameters[name] == pytest.approx(value, rel=1e-4)
    assert abs(others.parameters["beta"] - 0.37) < 0.05 < abs(law.parameters["beta"] - 0.37)


@pytest.mark.parametrize(
    ("wrong", "found"), [(9, True), (25, False), pytest.param(0, False, marks=pytest.mark.slow)]
)
def test_more_than_a_tenth_of_the_runs_is_more_than_few(wrong: int, found: bool):
    n, d, loss = chinchilla_runs(0, 0)
    far = np.random.default_rng(1).choice(100, wrong, replace=False)
    loss[far] *= 1.2
    others = without_few(fit("chinchilla", (n, d), loss))
    assert (others is not None) == found
    assert others is None or others[1].sum() == wrong


@pytest.mark.slow
def test_the_exponents_that_most_runs_show_are_beside_those_that_a_few_moved():
    n, d, loss = chinchilla_runs(3, 8)
    reasons = sl.answers.answer(pd.DataFrame({"params": n, "tokens": d, "loss": loss}))["exponent"].reasons
    said = next(reason for reason in reasons if reason.code == "few_miss")
    assert (said.details["count"], said.details["runs"]) == (8, 108)
    assert said.details["alpha"] == pytest.approx(0.35, abs=0.02)
    assert said.details["beta"] == pytest.approx(0.37, abs=0.04)
    assert 0.03 < said.details["low"] < 0.07
    assert 0.26 < said.details["high"] < 0.34
