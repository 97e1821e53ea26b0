"""What an audit finds in tables with one fault each, and what it does not find in a clean one."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput


def isoflops(seed: int = 0, noise: float = 0.001) -> pd.DataFrame:
    """Five computes of nine sizes around N* ∝ C^0.5."""
    random = np.random.default_rng(seed)
    rows = []
    for compute in np.geomspace(1e18, 1e20, 5):
        best = 1e8 * (compute / 1e18) ** 0.5
        for size in best * np.geomspace(0.25, 4, 9):
            loss = 2 + (compute / 1e18) ** -0.1 * (1 + 0.05 * np.log(size / best) ** 2)
            rows.append((compute, size, compute / 6 / size, loss * np.exp(noise * random.standard_normal())))
    return pd.DataFrame(rows, columns=["budget", "params", "tokens", "loss"])


def kinds(table, **columns):
    return {doubt.kind: doubt for doubt in sl.audit(table, **columns).doubts}


@pytest.mark.parametrize("seed", range(3))
def test_a_clean_study_has_no_doubts(seed):
    assert sl.audit(isoflops(seed)).doubts == ()


def test_rows_that_are_there_twice_are_found():
    table = isoflops()
    found = kinds(pd.concat([table, table.iloc[[3, 7]]], ignore_index=True))
    assert found["duplicates"].rows == (45, 46)


def test_a_curve_of_few_sizes_is_found():
    table = isoflops()
    few = table.drop(index=[0, 1, 2, 7, 8]).reset_index(drop=True)
    found = kinds(few)
    assert {*found} == {"few_points"}
    assert found["few_points"].rows == (0, 1, 2, 3)


def test_a_curve_whose_minimum_is_at_an_end_is_found():
    """The largest compute with sizes below its best one only: the minima of the others do not change."""
    table = isoflops()
    low = table[(table.budget < 5e19) | (table.params < 0.6e9)].reset_index(drop=True)
    extra = table[table.budget > 5e19].iloc[:1]
    more = [
        extra.assign(params=extra.params * f, loss=extra.loss * (1 + 0.03 * (1 / f - 1))) for f in (0.5, 0.7)
    ]
    low = pd.concat([low, *more], ignore_index=True)
    found = kinds(low)["off_centre"]
    assert {*found.rows} == {*np.flatnonzero(low.budget > 5e19)}
    assert found.what.details["side"] == "large"
    assert found.after == pytest.approx(0.5, abs=0.05)


def test_a_run_off_its_parabola_is_found_and_the_exponent_without_it_is_given():
    table = isoflops()
    table.loc[13, "loss"] *= 1.05
    found = kinds(table)
    assert {*found} == {"outlying"}
    assert found["outlying"].rows == (13,)
    assert found["outlying"].after == pytest.approx(0.5, abs=0.02)


def test_a_compute_that_counts_otherwise_is_found_and_rows_only_where_one_run_differs():
    table = isoflops().assign(budget=lambda t: t.budget / 1.35)
    assert kinds(table)["other_flops"].rows == ()
    assert kinds(table)["other_flops"].what.details["high"] == pytest.approx(1.35)


def test_counts_of_parameters_that_change_the_exponent_are_found_unasked():
    """With embeddings that grow as the cube root of the others the best size grows more slowly."""
    table = isoflops().rename(columns={"params": "params_transformer"})
    table["params_total"] = table.params_transformer + 5e8 * (table.params_transformer / 1e8) ** (1 / 3)
    found = kinds(table)["counted_parameters"]
    assert found.before == pytest.approx(0.5, abs=0.02)
    assert found.after < 0.45
    assert len(found.what.details["exponents"]) == 2


def test_mixed_schedules_and_unfinished_runs_are_found():
    table = isoflops().assign(lr_schedule="cosine", status="finished")
    table.loc[5, "lr_schedule"] = "constant"
    table.loc[[6, 9], "status"] = "crashed"
    found = kinds(table)
    assert found["mixed_schedules"].rows == (5,)
    assert found["unfinished"].rows == (6, 9)


def test_a_best_rate_at_the_edge_of_its_grid_is_found():
    rate, size = (v.ravel() for v in np.meshgrid([1e-4, 3e-4, 1e-3, 3e-3], [1e7, 1e8, 1e9]))
    best = np.where(size < 5e8, 5e-4, 1e-5)
    loss = 3 * (size / 1e7) ** -0.05 * (1 + 0.02 * np.log(rate / best) ** 2)
    table = pd.DataFrame({"n_params": size, "n_data": 20 * size, "learning_rate": rate, "loss": loss})
    assert kinds(table)["edge_of_grid"].rows == (8,)


def test_one_undertuned_size_is_found():
    size = np.geomspace(1e7, 1e9, 9)
    random = np.random.default_rng(0)
    loss = 4 * (size / 1e7) ** -0.08 * np.exp(0.002 * random.standard_normal(9))
    loss[4] *= 1.05
    assert kinds(pd.DataFrame({"n_params": size, "loss": loss}))["undertuned"].rows == (4,)


def test_a_score_better_than_its_loss_allows_is_found():
    random = np.random.default_rng(1)
    loss = np.linspace(3.5, 2.0, 24)
    score = 0.9 / (1 + np.exp(4 * (loss - 2.5))) + 0.005 * random.standard_normal(24)
    score[10] += 0.15
    table = pd.DataFrame(
        {"n_params": np.geomspace(1e7, 1e10, 24), "loss": loss, "accuracy": score.clip(0, 1)}
    )
    assert kinds(table)["contaminated"].rows == (10,)


def test_the_command_says_the_same(tmp_path):
    table = isoflops()
    table.loc[13, "loss"] *= 1.05
    table.rename(columns={"loss": "our_loss"}).assign(set="a").to_csv(tmp_path / "t.csv", index=False)
    words = ["audit", str(tmp_path / "t.csv"), "--column", "loss=our_loss", "--where", "set=a"]
    told = CliRunner().invoke(app, [*words, "--json"])
    assert json.loads(told.output)["doubts"][0]["rows"] == [13]
    shown = CliRunner().invoke(app, words).output
    assert "1 doubt on 1 of 45 rows" in shown


def test_an_empty_table_is_refused():
    with pytest.raises(BadInput, match="no rows"):
        sl.audit(isoflops().iloc[:0])
