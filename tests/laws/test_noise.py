"""The optimal noise of a family of networks."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.laws.noise import best_interval


def family(slope: float = 3.0, seeds: int = 20, noise: float = 0.004) -> sl.Curves:
    """Accuracy falls off on both sides of noise = slope · width; a few runs do not train."""
    rng = np.random.default_rng(0)
    rows = []
    for width in (1, 2, 4, 8):
        for scale in slope * width * 2.0 ** np.arange(-4, 5, 0.5):
            for seed in range(seeds):
                accuracy = 0.9 - 0.01 * np.log2(scale / (slope * width)) ** 2 + noise * rng.standard_normal()
                failed = rng.uniform() < 0.02
                rows.append((width, scale, seed, 0.1 if failed else accuracy))
    columns = dict(
        zip(("width", "normalized_noise_scale", "seed", "test_accuracy"), np.array(rows).T, strict=True)
    )
    return sl.Curves(columns, settings=["normalized_noise_scale"])


def test_slope_of_noise_against_width_is_found():
    found = sl.laws.optimal_noise(family())
    assert found.slope == pytest.approx(3.0, rel=0.15)
    assert found.r_squared > 0.97
    assert np.all((found.low <= found.noise) & (found.noise <= found.high))
    assert not found.edge.any()
    assert 0 < found.failed.mean() < 0.06
    assert "R²" in found.summary()


def test_a_table_of_others_gives_the_same_answer(tmp_path):
    """Nobody declared the noise a setting, and runs that have no name end at their last step."""
    curves = family()
    frame = curves.frame.drop(columns="run")
    ends = sl.laws.optimal_noise(curves)
    assert sl.laws.optimal_noise(sl.Curves(frame)).slope == ends.slope
    begun = frame.assign(step=1, test_accuracy=0.1)
    pd.concat([frame.assign(step=2), begun]).assign(net="a").to_csv(tmp_path / "logs.csv", index=False)
    words = ["laws", "noise", str(tmp_path / "logs.csv"), "--where", "net=a", "--json", "--no-figure"]
    said = CliRunner().invoke(app, words, catch_exceptions=False).output
    assert json.loads(said)["slope"] == pytest.approx(ends.slope)
    with pytest.raises(BadInput, match="no row has net = b"):
        CliRunner().invoke(app, [*words, "--where", "net=b"], catch_exceptions=False)


def test_errors_and_accuracies_give_the_same_answer():
    curves = family()
    flipped = sl.Curves(
        curves.frame.assign(test_error=1 - curves.frame.test_accuracy).drop(columns="test_accuracy"),
        settings=["normalized_noise_scale"],
    )
    assert sl.laws.optimal_noise(flipped).slope == pytest.approx(sl.laws.optimal_noise(curves).slope)


def test_best_interval_stops_at_the_first_setting_that_is_worse():
    noise = np.repeat([1.0, 2.0, 4.0, 8.0, 16.0], 4)
    level = np.repeat([0.80, 0.899, 0.90, 0.80, 0.8995], 4)  # the last is good, but not next to the best
    score = level + np.tile([-0.002, 0.002, -0.002, 0.002], 5)
    low, high, best, stderr, edge = best_interval(noise, score)
    assert (low, high) == (2.0, 4.0)
    assert best == pytest.approx(0.90)
    assert stderr == pytest.approx(0.002 * np.sqrt(4 / 3) / 2)
    assert not edge


def test_an_optimum_at_the_end_of_the_search_is_flagged():
    score = np.repeat([0.7, 0.8, 0.9], 3) + np.tile([-0.001, 0, 0.001], 3)
    assert best_interval(np.repeat([1.0, 2.0, 4.0], 3), score)[4]


def test_missing_columns_and_untrained_widths_are_named():
    with pytest.raises(BadInput, match="normalized_noise_scale"):
        sl.laws.optimal_noise(family(), x="noise_scal")
    curves = family()
    dead = curves.frame.assign(
        test_accuracy=np.where(curves.frame.width == 4, 0.1, curves.frame.test_accuracy)
    )
    with pytest.raises(BadInput, match="width = 4 trained"):
        sl.laws.optimal_noise(sl.Curves(dead, settings=["normalized_noise_scale"]))
