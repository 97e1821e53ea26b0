"""`scalinglab theory kernel` and `random-features`: what they print is what the library returns."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from scalinglab import Spectrum
from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.theory import kernel, random_features


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


def test_random_features_cover_every_pair_of_sizes(tmp_path):
    run("random-features", "--n-data", "10,100", "--n-params", "20,inf", "--out", str(tmp_path / "t.csv"))
    table = pd.read_csv(tmp_path / "t.csv")
    expected = random_features.learning_curve(
        Spectrum.power_law(1.5, 1.25, 10**9), [10, 10, 100, 100], [20, np.inf, 20, np.inf]
    )
    np.testing.assert_allclose(table["loss"], expected.loss)


def test_simulated_linear_models_lie_beside_their_theory():
    words = ["simulate", "linear-models", "--n-data", "20,80", "--n-params", "40", "--noise", "0.2", "--json"]
    document = json.loads(CliRunner().invoke(app, words).stdout)
    loss, error, theory = (np.array(document[name]) for name in ("test_loss", "stderr", "theory"))
    assert (np.abs(loss - theory) < 4 * error + 0.05 * theory).all()
    assert document["n_data"] == [20, 80]


def test_bad_input_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"none\.csv does not exist"):
        run("kernel", "--spectrum", str(tmp_path / "none.csv"))
    (tmp_path / "s.csv").write_text("eigenvalue,target_power\n1,1\n")
    with pytest.raises(BadInput, match="did you mean 'eigenvalue'"):
        run("kernel", "--spectrum", str(tmp_path / "s.csv"))
    with pytest.raises(BadInput, match="'best'"):
        run("kernel", "--ridge", "bst")
