"""The perceptron on the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_theory_prints_one_json_document_with_the_solution():
    result = run("theory", "perceptron", "--load", "5", "--sharpness", "0.1:100:50", "--json")
    document = json.loads(result.stdout)
    exact = sl.theory.perceptron.fixed_norm(5.0, np.geomspace(0.1, 100, 50))
    np.testing.assert_allclose(document["error"], exact.error, rtol=1e-13)
    assert document["rules"]["bayes"][0] < min(document["error"])


def test_theory_without_sharpness_gives_the_optimum_of_each_load(tmp_path):
    out = tmp_path / "best.csv"
    result = run("theory", "perceptron", "--load", "1,10", "--out", str(out))
    assert result.exit_code == 0
    table, exact = pd.read_csv(out), sl.theory.perceptron
    assert list(table.columns[:4]) == ["load", "sharpness", "error", "above_bayes"]
    bayes = exact.bayes(np.array([1.0, 10.0])).error
    assert table["error"].to_numpy() == pytest.approx(exact.optimal_sharpness([1.0, 10.0]).error)
    assert table["above_bayes"].to_numpy() == pytest.approx(table["error"].to_numpy() / bayes - 1)


def test_simulation_stands_beside_the_theory():
    pytest.importorskip("torch")
    result = run(
        "simulate",
        "perceptron",
        "--load",
        "3",
        "--n-params",
        "40",
        "--seeds",
        "2",
        "--sharpness",
        "1",
        "--json",
    )
    document = json.loads(result.stdout)
    assert document["theory"][0] == pytest.approx(float(sl.theory.perceptron.fixed_norm(3.0, 1.0).error))


@pytest.mark.parametrize(
    ("seeds", "columns"), [(1, ["norm", "test_error"]), (2, ["norm", "test_error", "test_error_stderr"])]
)
def test_simulation_on_the_screen_has_the_columns_that_fit_and_a_file_has_all(tmp_path, seeds, columns):
    pytest.importorskip("torch")
    out = tmp_path / "curves.csv"
    words = ("simulate", "perceptron", "--load", "3", "--n-params", "20", "--seeds", str(seeds))
    said = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*words, "--sharpness", "1,2"]).output
    head = next(line for line in said.splitlines() if "norm" in line)
    assert head.replace("┃", " ").split() == [*columns, "theory", "train_loss", "margin_min"]
    assert f"perceptron, {seeds} seeds, N = 20, P = 60" in said
    run(*words, "--sharpness", "1,2", "--out", str(out))
    assert len(pd.read_csv(out)) == 2
    assert {"overlap", "inputs", "load"} <= set(pd.read_csv(out))


def test_a_load_out_of_range_is_bad_input():
    with pytest.raises(BadInput, match="load=-1"):
        run("theory", "perceptron", "--load", "-1", "--sharpness", "1")
