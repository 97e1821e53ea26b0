"""The commands of the training dynamics print what the functions return."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput

SIZES = ["--task-exponent", "1.5", "--spectral-exponent", "1.25", "--n-params", "64", "--n-data", "128"]


def document(*words):
    result = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    return json.loads(result.stdout)


def test_dmft_prints_the_solved_losses_as_one_document():
    found = document("theory", "dmft", *SIZES, "--times", "1:1e6:100")
    solved = sl.theory.dmft.solve(sl.Spectrum.power_law(1.5, 1.25), np.geomspace(1, 1e6, 100), 64, 128)
    np.testing.assert_allclose(found["test_loss"], solved.test_loss, rtol=1e-14)
    np.testing.assert_allclose(found["train_loss"], solved.train_loss, rtol=1e-14)


@pytest.mark.parametrize("words", [["--n-params", "-1"], ["--times", "x"]])
def test_bad_options_are_refused(words):
    with pytest.raises(BadInput):
        CliRunner().invoke(app, ["theory", "dmft", *words], catch_exceptions=False)


def test_bottlenecks_prints_exponents_and_the_frontier():
    found = document("theory", "bottlenecks", "--budgets", "1e3")
    assert found["time"] == 0.4
    assert found["n_params"][0] * found["training_time"][0] == pytest.approx(1e3)
