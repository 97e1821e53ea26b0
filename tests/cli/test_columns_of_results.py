"""What results of several commands hold: predictions, forms, solved models."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from scalinglab.cli import app
from scalinglab.cli.predict.laws import _predicted


def run(*words: str) -> str:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(("complement", "expected"), [(False, [0.2, 0.1, 0.4]), (True, [0.8, 0.6, 0.9])])
def test_a_prediction_of_the_law_of_an_accuracys_complement_is_of_the_accuracy(complement, expected):
    def law(x: Any) -> np.ndarray:
        return 20 / np.asarray(x)

    fitted = SimpleNamespace(
        points=SimpleNamespace(x=np.array([5.0, 50.0])), predict=law,
        interval=lambda x, level: (law(x) / 2, law(x) * 2) if level == 0.9 else None,
    )  # fmt: skip
    found = _predicted(fitted, None, "n_data", np.array([100.0]), 0.9, complement)
    assert found.columns.tolist() == ["n_data", "value", "low", "high", "beyond"]
    assert found.iloc[0].tolist() == pytest.approx([100.0, *expected, 2.0])


def test_forms_of_one_variable_come_first_and_others_name_their_variables():
    forms = json.loads(run("laws", "forms", "--json"))["forms"]
    several = ["," in form["variables"] for form in forms]
    assert several == sorted(several)
    assert any(several)
    said = run("laws", "forms")
    assert "of n_params, n_data; " in said
    assert "of x; " not in said


def test_a_file_has_every_column_of_a_solved_model_and_the_screen_those_that_fit(tmp_path: Path):
    words = ("theory", "dmft", "--n-modes", "30", "--n-params", "20", "--times", "1,2")
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
    document = json.loads(run("theory", "kernel", "--n-data", "10,20", "--n-modes", "100", *words, "--json"))
    assert ("law_exponent" in document) == named


def test_bottlenecks_name_exponents_that_are_saturated():
    plain = json.loads(run("theory", "bottlenecks", "--json"))
    steep = json.loads(run("theory", "bottlenecks", "--task-exponent", "9", "--json"))
    assert plain["saturated"] == "none"
    assert steep["saturated"] not in ("none", "")
