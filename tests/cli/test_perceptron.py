"""The perceptron on the command line."""

from __future__ import annotations

import json

import numpy as np
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
    assert "above_bayes" in out.read_text()
    assert result.exit_code == 0


def test_simulation_stands_beside_the_theory():
    pytest.importorskip("torch")
    result = run(
        "simulate", "perceptron", "--load", "3", "--size", "40", "--seeds", "2", "--sharpness", "1", "--json"
    )
    document = json.loads(result.stdout)
    assert document["theory"][0] == pytest.approx(float(sl.theory.perceptron.fixed_norm(3.0, 1.0).error))
    free = json.loads(
        run("simulate", "perceptron", "--load", "3", "--size", "20", "--steps", "5", "--json").stdout
    )
    assert free["step"][-1] == 5


def test_a_load_out_of_range_is_bad_input():
    with pytest.raises(BadInput, match="load=-1 must be positive: it is the number of examples"):
        run("theory", "perceptron", "--load", "-1", "--sharpness", "1")
