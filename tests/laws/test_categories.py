"""Rows of several kinds are not fitted as one, whatever the column is called that tells them apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws.fitting.data.from_curves import points_of
from scalinglab.laws.fitting.data.rows import splits

SIZES = 1000.0 * 2 ** np.arange(6)


def table(effect: float, seed: int, column: str = "eval set", sizes: np.ndarray = SIZES) -> pd.DataFrame:
    """Two kinds of runs at each size, the second worse by `effect`, with 2 % of noise."""
    rng = np.random.default_rng(seed)
    rows = [
        {"n_data": n, column: kind,
         "test_error": (0.02 + 3 * n**-0.35) * np.exp(shift + 0.02 * rng.standard_normal())}
        for n in sizes for kind, shift in (("c4", 0.0), ("wiki", effect))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def permuted(frame: pd.DataFrame, draws: int = 2000) -> float:
    """The share of tables with labels exchanged within sizes whose groups lie as far apart."""
    logs = np.log(frame["test_error"].to_numpy()).reshape(-1, 2)
    difference = logs[:, 1] - logs[:, 0]
    signs = np.random.default_rng(0).choice([-1, 1], (draws, len(difference)))
    return float(np.mean(np.abs((signs * difference).mean(axis=1)) >= np.abs(difference.mean())))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("effect", [0.0, 0.015])
def test_the_test_agrees_with_exchanging_labels(effect: float, seed: int):
    frame = table(effect, seed, sizes=np.geomspace(1e3, 1e5, 12))
    found, brute = splits(frame, ["n_data"], "test_error", "eval set"), permuted(frame)
    assert found is not None
    assert (found < 0.01) == (brute < 0.01) or 0.002 < brute < 0.05
    assert found <= 2.5 * max(brute, 0.01)  # of two tests, the smaller one doubled


@pytest.mark.nightly
def test_columns_that_do_not_matter_are_seldom_taken_for_kinds():
    found = [splits(table(0.0, seed), ["n_data"], "test_error", "eval set") for seed in range(300)]
    assert np.mean(np.array(found, float) < 0.01) <= 0.03  # 0.01 ± 0.006


@pytest.mark.parametrize("column", ["eval set", "recipe", "tokenizer", "Anything"])
def test_any_column_that_separates_is_refused_with_its_values(column: str):
    curves = sl.read(table(0.1, 0, column))
    with pytest.raises(BadInput, match=rf"2 values of {column} \(c4, wiki\).*--where '?{column}=c4'?"):
        points_of(curves, "n_data", "test_error")
    assert len(points_of(curves, "n_data", "test_error", where={column: "wiki"}).y) == 6
    assert len(points_of(curves, "n_data", "test_error", mixed=True).y) == 12


def test_kinds_of_sizes_that_are_not_shared_are_told_apart_where_they_overlap():
    both = [table(0.2, 0).iloc[::2], table(0.2, 1, sizes=1.5 * SIZES).iloc[1::2]]
    p = splits(pd.concat(both), ["n_data"], "test_error", "eval set")
    assert p is not None
    assert p < 1e-4
    apart = [table(0.2, 0).iloc[::2], table(0.2, 1, sizes=100 * SIZES).iloc[1::2]]
    assert splits(pd.concat(apart), ["n_data"], "test_error", "eval set") is None


def test_numbers_tell_kinds_apart_as_words_do_but_not_where_they_go_with_the_size():
    one, other = table(0.2, 0), table(0.2, 1, sizes=1.5 * SIZES)
    both = pd.concat([one.iloc[::2], other.iloc[1::2], one.iloc[[1]]])  # one size is shared by chance
    p = splits(both.assign(flag=both["eval set"].eq("wiki") + 0), ["n_data"], "test_error", "flag")
    assert p is not None
    assert p < 1e-4
    runs = table(0.0, 0, sizes=np.geomspace(1e3, 1e5, 12)).iloc[::2]
    planned = runs.assign(epochs=[1, 1, 1, 1, 2, 1, 2, 1, 2, 2, 2, 2]).assign(
        test_error=lambda t: t.test_error * t.epochs**-0.5
    )
    assert splits(planned, ["n_data"], "test_error", "epochs") is None


def test_a_column_that_does_not_matter_is_fitted_as_one():
    assert len(points_of(sl.read(table(0.0, 3, "cluster")), "n_data", "test_error").y) == 12


def test_a_constant_error_does_not_win_over_a_falling_loss():
    curves = sl.read({"n_train": SIZES, "test_error": 0.9, "test_loss": 3 * SIZES**-0.35})
    assert sl.answer(curves).y == "test_loss"


@pytest.mark.parametrize("column", ["optimizer", "setup"])
def test_a_recipe_that_no_two_runs_of_one_size_differ_in_separates_as_any_column_does(column: str) -> None:
    n = np.geomspace(2e7, 1e9, 12)
    noise = 0.003 * np.random.default_rng(3).standard_normal(12)
    kinds = np.array(["adamw", "muon"] * 6)
    loss = (1.7 + 400 * n**-0.34) * np.exp(noise)
    table = pd.DataFrame(
        {column: kinds, "n_params": n, "test_loss": np.where(kinds == "muon", 0.9, 1) * loss}
    )
    with pytest.raises(BadInput, match=f"2 values of {column}"):
        sl.laws.fit("power_law_offset", table, x="n_params", y="test_loss")
    alike = table.assign(test_loss=loss)
    assert len(sl.laws.fit("power_law_offset", alike, x="n_params", y="test_loss").points.y) == 12
