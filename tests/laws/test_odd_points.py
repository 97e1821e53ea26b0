"""A wrong row among few: named, and no number that rests on it is given as an answer."""

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.answers.words import odd_run
from scalinglab.errors import NotDetermined
from scalinglab.laws import surface
from scalinglab.laws.fitting.fit import odd_point


def grid(seed: int = 0) -> pd.DataFrame:
    n, d = (v.ravel() for v in np.meshgrid([5e7, 1.5e8, 5e8, 1.5e9], [1e9, 4e9, 1.6e10, 6e10]))
    noise = np.exp(0.003 * np.random.default_rng(seed).standard_normal(16))
    return pd.DataFrame({"params": n, "tokens": d, "loss": (1.7 + 400 * n**-0.34 + 410 * d**-0.28) * noise})


def curve(seed: int = 0) -> pd.DataFrame:
    x = np.geomspace(1e3, 1e5, 7)
    noise = np.exp(0.01 * np.random.default_rng(seed).standard_normal(7))
    return pd.DataFrame({"n_data": x, "test_error": (0.05 + 3 * x**-0.4) * noise})


@pytest.mark.parametrize(("column", "factor"), [("loss", 10), ("loss", 1.08), ("params", 1e-3)])
def test_a_wrong_row_of_a_surface_is_named_and_nothing_is_answered_from_it(column, factor):
    table = grid()
    table.loc[6, column] *= factor
    fitted = surface.fit(table.params, table.tokens, table.loss)
    odd = odd_point(fitted.law)
    assert odd.sizes == {"n_params": table.params[6], "n_data": table.tokens[6]}
    others = table.drop(6)
    expected = surface.fit(others.params, others.tokens, others.loss).predict(*odd.sizes.values())
    assert odd.expected == pytest.approx(expected, rel=0.01 if column == "loss" else 0.5)
    assert odd.sentence() in fitted.law.points.notes
    found = sl.answer(table)
    assert "does not follow the others" in found["exponent"]
    assert found.surface is None


def test_a_wrong_point_of_a_curve_is_named():
    table = curve()
    table.loc[3, "test_error"] *= 3
    said = sl.answer(table)["exponent"]
    assert "the run at n_data = 10k does not follow the others: test_error = 0.3" in said


def test_noise_a_break_and_repeats_are_no_odd_points():
    for seed in range(10):
        table = curve(seed)
        assert odd_point(sl.laws.fit("power_law_offset", table.n_data, table.test_error)) is None
    x = np.geomspace(1e3, 1e6, 9)
    broken = np.where(x < 5e4, (x / 5e4) ** -0.12, (x / 5e4) ** -0.6)
    assert odd_point(sl.laws.fit("power_law_offset", x, broken)) is None
    assert odd_point(sl.laws.fit("power_law_offset", [1e3, 2e3, 4e3, 8e3], [0.4, 0.1, 0.3, 0.2])) is None


def test_a_wrong_point_is_named_by_its_columns_in_every_result():
    x = np.geomspace(1e3, 1e6, 8)
    table = pd.DataFrame({"n_data": x, "test_error": 0.05 + 3 * x**-0.4})
    table.loc[3, "test_error"] *= 1.4
    asked = {"x": "n_data", "y": "test_error"}
    found = [
        sl.laws.fit("auto", table, **asked).points,
        sl.laws.extrapolate(table, at=1e7, **asked),
        sl.laws.plan.still_power_law(table, **asked),
        sl.laws.plan.gain_from(table, **asked),
    ]
    for each in found:
        assert "the run at n_data = 19.3k does not follow the others: test_error = " in each.notes[-1]


def test_many_runs_outweigh_a_wrong_one():
    x = np.geomspace(1e3, 1e6, 40)
    y = (0.05 + 3 * x**-0.4) * np.exp(0.003 * np.random.default_rng(0).standard_normal(40))
    y[20] *= 1.3
    law = sl.laws.fit("power_law_offset", x, y)
    assert "does not follow the others" in odd_run(law, "y")[0]
    few = sl.laws.fit("power_law_offset", x[::4], y[::4])
    with pytest.raises(NotDetermined, match="does not follow the others"):
        odd_run(few, "y")
