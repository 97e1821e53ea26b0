"""`scalinglab theory kernel`: what it prints is what the library returns."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from scalinglab import Spectrum
from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.theory import kernel


def run(*words):
    result = CliRunner().invoke(app, ["theory", *words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_kernel_prints_the_learning_curve_as_one_document():
    document = json.loads(
        run("kernel", "--n-data", "1:1e9:4", "--task-exponent", "1.5", "--spectral-exponent", "1.5", "--json")
    )
    expected = kernel.learning_curve(Spectrum.power_law(1.5, 1.5, 10**9), np.geomspace(1, 1e9, 4))
    np.testing.assert_allclose(document["loss"][:3], expected.loss[:3], rtol=1e-12)
    assert document["law_exponent"] == pytest.approx(0.5)
    assert len(document["kappa"]) == len(document["gamma"]) == 4


def test_kernel_finds_the_best_ridge_for_a_measured_spectrum(tmp_path):
    k = np.arange(1, 101.0)
    pd.DataFrame({"eigenvalues": k**-1.5, "target_power": 4 * k**-1.5}).to_csv(
        tmp_path / "s.csv", index=False
    )
    document = json.loads(
        run(
            "kernel",
            "--n-data",
            "20,50",
            "--spectrum",
            str(tmp_path / "s.csv"),
            "--ridge",
            "best",
            "--noise",
            "0.2",
            "--json",
        )
    )
    np.testing.assert_allclose(document["ridge"], 0.04 / 4, rtol=1e-6)


def test_bad_input_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"none\.csv"):
        run("kernel", "--spectrum", str(tmp_path / "none.csv"))
    (tmp_path / "s.csv").write_text("eigenvalue,target_power\n1,1\n")
    with pytest.raises(BadInput, match="'eigenvalue'"):
        run("kernel", "--spectrum", str(tmp_path / "s.csv"))
    with pytest.raises(BadInput, match="'best'"):
        run("kernel", "--ridge", "bst")
