"""What results of several commands hold: predictions, forms, solved models."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from scalinglab.cli import app
from scalinglab.errors import BadInput


def run(*words: str) -> str:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_prediction_of_the_law_of_an_accuracys_complement_is_of_the_accuracy(tmp_path: Path):
    """With a bound the prediction is that of the law, which is of 1 - accuracy."""
    x = np.geomspace(10, 1e4, 12)
    pd.DataFrame({"n_data": x, "test_accuracy": 0.95 - 3 * x**-0.7}).to_csv(tmp_path / "t.csv", index=False)
    words = ("laws", "fit", str(tmp_path / "t.csv"), "--y", "test_accuracy", "--bounds", "offset=0.05:0.05")
    (row,) = json.loads(run(*words, "--at", "2e4", "--level", "0.9", "--no-figure", "--json"))["predictions"]
    assert row["test_accuracy"] == pytest.approx(0.95 - 3 * 2e4**-0.7, rel=1e-6)
    assert row["low"] <= row["test_accuracy"] <= row["high"]
    assert row["beyond"] == pytest.approx(2)


def test_a_file_has_every_column_of_a_solved_model_and_the_screen_those_that_fit(tmp_path: Path):
    words = ("theory", "dmft", "--n-params", "20", "--times", "1,2")
    head = next(line for line in run(*words).splitlines() if "test_loss" in line)
    assert head.replace("┃", " ").split() == ["time", "test_loss", "train_loss", "gap", "bias"]
    run(*words, "--out", str(tmp_path / "solved.csv"))
    assert {"variance_params", "variance_data", "variance_both"} <= set(pd.read_csv(tmp_path / "solved.csv"))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), True),
        (("--task-exponent", "1"), False),
        (("--spectral-exponent", "1"), False),
        (("--ridge", "0.1"), False),
    ],
)
def test_a_kernel_has_a_law_where_its_sums_converge_and_there_is_no_ridge(words, named):
    document = json.loads(run("theory", "kernel", "--n-data", "10,20", *words, "--json"))
    assert ("law_exponent" in document) == named


def test_bottlenecks_name_exponents_that_are_saturated():
    plain = json.loads(run("theory", "bottlenecks", "--json"))
    steep = json.loads(run("theory", "bottlenecks", "--task-exponent", "9", "--json"))
    assert plain["saturated"] == "none"
    assert steep["saturated"] not in ("none", "")


def test_two_numbers_are_no_sizes_where_data_grow_with_parameters(tmp_path: Path):
    n = np.geomspace(1e7, 1e9, 6)
    table = pd.DataFrame({"params": n, "tokens": 20 * n, "val_loss": 1.7 + 500 * n**-0.3})
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(BadInput, match="n_params alone"):
        run("predict", str(tmp_path / "t.csv"), "--at", "7e9,1.4e11")
