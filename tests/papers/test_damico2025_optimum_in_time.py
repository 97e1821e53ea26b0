"""The optimum of curves that are cut at growing times, on curves whose optima are known."""

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.results.distributions import slope
from scalinglab_papers.damico2025.beyond import optimum_in_time
from tests.laws.synthetic import valleys


@pytest.mark.slow
def test_gamma_2_settles_at_its_value_once_every_size_has_passed_its_optimum():
    found = optimum_in_time(valleys(60.0))  # the largest optimum is at epoch 2.97
    last = found.slopes.iloc[-1]
    assert last["counted"] == last["sizes"] == 4
    assert found.last().value == pytest.approx(0.8, abs=0.05)
    assert found.last(counted=True).value == pytest.approx(found.last().value)
    assert abs(found.drift().value) < 0.05
    first = found.slopes.iloc[0]  # before any optimum: the norms where the curves are cut
    assert first["counted"] == 0
    assert first["gamma_2"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
def test_before_the_optimum_gamma_2_measures_how_long_was_trained():
    found = optimum_in_time(valleys(1.2))  # the smallest optimum is at epoch 1.6
    assert found.slopes["counted"].max() == 0
    assert found.last().value == pytest.approx(0.5, abs=0.05)  # of the norms at the end
    assert not np.isfinite(found.last(counted=True).value)


def test_a_size_with_six_points_in_all_leaves_one_time_and_counts_every_size_once():
    frame = valleys(60.0).frame
    few = frame[frame["n_data"] == 1000].iloc[[0, 8, 16, 24, 32, 39]]
    found = optimum_in_time(sl.Curves(pd.concat([few, frame[frame["n_data"] > 1000]]), source="train"))
    assert found.slopes["time"].tolist() == [pytest.approx(60.0)]
    assert found.slopes["sizes"].tolist() == [4]
    assert np.isnan(found.drift().value)


@pytest.mark.slow
def test_slopes_in_time_are_of_all_sizes_and_of_those_that_count():
    """V-shaped curves whose error is smallest at x = 3, 5, 11 and 19 times 100, one step a place."""
    rows = []
    for size, best in zip((100, 200, 400, 800), (3.0, 5.0, 11.0, 19.0), strict=True):
        x = np.geomspace(50, 6000, 40)
        error = 0.02 * np.exp(np.abs(np.log(x / (100 * best))))
        rows.append(pd.DataFrame({"n_data": size, "epoch": np.arange(1, 41), "norm": x, "test_error": error}))
    found = optimum_in_time(sl.Curves(pd.concat(rows), settings=["n_data"]))
    assert found.slopes["counted"].iloc[-1] == 4
    assert (found.slopes["counted"] < 3).any()
    for _, row in found.slopes.iterrows():
        part = found.table[found.table["time"] == row["time"]]
        for name, used in (("gamma_2", part), ("gamma_2_counted", part[part["counts"]])):
            if len(used) < 3:
                assert np.isnan(row[name])
                continue
            line = slope(np.log(used["size"]), np.log(used["x_optimum"]))
            assert (row[name], row[f"{name}_error"]) == pytest.approx((line.value, line.stderr), abs=1e-9)
        assert (row["sizes"], row["counted"]) == (len(part), part["counts"].sum())
