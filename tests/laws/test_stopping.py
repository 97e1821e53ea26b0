"""The optimum in time and the norm at which to stop, on curves whose optima are known."""

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves.dynamical import dynamical, stopping_norm
from scalinglab.laws.learning_curves.optimum_in_time import optimum_in_time


def valleys(end: float, sizes=(1000, 2000, 4000, 8000), noise: float = 0.002) -> sl.Curves:
    """ln ε = 0.05 (ln λ − ln λ_opt)² + const with λ_opt = 2 P^0.8 and λ = 10 P^0.5 · epoch; to an epoch."""
    random = np.random.default_rng(1)
    parts = []
    for size in sizes:
        epoch = np.geomspace(0.5, end, 40)
        norm, best = 10 * size**0.5 * epoch, 2 * size**0.8
        error = 0.1 * np.exp(0.05 * np.log(norm / best) ** 2 + noise * random.standard_normal(40))
        columns = {"n_data": size, "seed": 0, "epoch": epoch, "norm": norm, "test_error": error}
        parts.append(pd.DataFrame(columns))
    return sl.Curves(pd.concat(parts, ignore_index=True), source="train")


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


def test_a_table_without_time_is_refused():
    table = sl.Curves(valleys(5.0).frame.drop(columns="epoch"))
    with pytest.raises(BadInput, match="no column 'epoch'"):
        optimum_in_time(table)


def test_the_optimal_norm_of_a_larger_size_is_extrapolated():
    found = stopping_norm(valleys(60.0), at=64_000)
    assert found.low < 2 * 64_000**0.8 < found.high
    assert found.value == pytest.approx(2 * 64_000**0.8, rel=0.2)
    far = stopping_norm(valleys(60.0), at=640_000)
    assert far.stderr > found.stderr


@pytest.mark.parametrize("at", [0, -5.0])
def test_a_size_that_is_none_is_refused(at):
    with pytest.raises(BadInput, match="positive size"):
        stopping_norm(valleys(60.0), at=at)


def test_the_verdict_on_gamma_uses_our_own_error():
    table = valleys(60.0).frame
    found = dynamical(sl.Curves(table))
    assert found.verdict("optimum") in ("holds", "fails", "cannot tell")
    assert found.difference("optimum").value == pytest.approx(
        found.gamma_1.value * found.gamma_2_optimum.value - found.gamma_measured.value
    )
    # all optima have one height, so γ = 0, and γ₁γ₂ is not: the laws do not combine here
    assert found.verdict("optimum") == "fails"
    assert "fails" in found.summary()
    with pytest.raises(BadInput, match="by='middle'"):
        found.difference("middle")
