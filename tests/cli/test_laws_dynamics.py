"""``laws extrapolate``, ``collapse`` and ``dynamical``: one line on a CSV, a table, a figure, JSON."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput
from tests.laws.synthetic import family, lucky, other_shapes_below
from tests.refusals import because

SIZES = (500, 1000, 2000, 4000, 8000, 16000)


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def curves(tmp_path):
    path = tmp_path / "curves.csv"
    family(SIZES, 0.5, 1.0, noise=0.01, seeds=2).to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_dynamical_prints_the_exponents_and_draws(curves, tmp_path):
    figure = tmp_path / "laws.png"
    said = run("laws", "dynamical", str(curves), "--figure", str(figure))
    assert "gamma_predicted" in said
    assert figure.stat().st_size > 10_000
    document = json.loads(run("laws", "dynamical", str(curves), "--size", "n_data", "--json", "--no-figure"))
    assert document["gamma_measured"]["value"] == pytest.approx(0.5, abs=0.02)
    assert len(document["table"]) == len(SIZES)


def test_rows_without_runs_or_steps_are_the_curve_of_their_size(tmp_path):
    """As in published tables of means: n_data, norm, test_error."""
    table = family(SIZES, 0.5, 1.0, noise=0.01, seeds=1)[["n_data", "norm", "test_error"]]
    table.to_csv(tmp_path / "means.csv", index=False)
    document = json.loads(run("laws", "collapse", str(tmp_path / "means.csv"), "--json", "--no-figure"))
    assert document["quality"] == pytest.approx(sl.laws.collapse(table).quality)
    assert document["holds_from"] == SIZES[0]


@pytest.mark.slow
def test_collapse_prints_the_sizes_for_which_it_holds(curves, tmp_path):
    figure, table = tmp_path / "collapse.svg", tmp_path / "master.csv"
    said = run("laws", "collapse", str(curves), "--figure", str(figure), "--out", str(table))
    assert "holds" in said
    assert figure.exists()
    assert {"size", "x", "y"} <= set(pd.read_csv(table).columns)
    document = json.loads(
        run("laws", "collapse", str(curves), "--by", "position", "--size", "n_data", "--json", "--no-figure")
    )
    assert document["holds_from"] == SIZES[0]


@pytest.mark.slow
def test_cli_report_and_api_tell_of_the_same_collapse(tmp_path):
    """The collapse is planted from 2000 up; lucky single points make smallest and smoothed errors differ."""
    path = tmp_path / "curves.csv"
    table = lucky(other_shapes_below((*SIZES, 32000), 2, noise=0.005, seeds=2))
    table.to_csv(path, index=False)
    laws = json.loads(run("laws", "dynamical", str(path), "--json", "--no-figure"))
    alone = json.loads(run("laws", "collapse", str(path), "--json", "--no-figure"))
    told = [
        laws["collapse_from"],
        laws["collapse"]["holds_from"],
        alone["holds_from"],
        sl.laws.dynamical(table).collapse_from,
        sl.laws.collapse(table).holds_from,
    ]
    assert told == [2000.0] * 5
    said = [run("laws", command, str(path), "--no-figure") for command in ("dynamical", "collapse")]
    assert all("from 2,000 up (5 of 7 sizes)" in text for text in said)
    page = sl.report.build(sl.Curves(table))
    assert page.count("from 2,000 examples up (5 of 7 sizes)") == 2  # in words and beside the figure


@pytest.mark.slow
def test_extrapolate_predicts_from_a_csv(tmp_path):
    path, figure = tmp_path / "curve.csv", tmp_path / "further.png"
    n = np.geomspace(100, 10_000, 20)
    pd.DataFrame({"n_data": n, "test_error": 0.1 + 3 * n**-0.5}).to_csv(path, index=False)
    said = run("laws", "extrapolate", str(path), "--at", "20000,40000", "--figure", str(figure))
    assert "backtests" in said
    assert figure.exists()
    document = json.loads(run("laws", "extrapolate", str(path), "--at", "40000", "--json", "--no-figure"))
    assert document["test_error"][0] == pytest.approx(0.115, rel=0.01)
    pd.DataFrame({"n_data": n[:4], "test_error": n[:4] ** -0.5}).to_csv(path, index=False)
    with pytest.raises(BadInput, check=because("too_far_beyond", sizes=4)):
        run("laws", "extrapolate", str(path), "--at", "40000")


@pytest.mark.slow
def test_where_chooses_rows_before_they_must_make_curves(tmp_path):
    """Two networks in one file, told apart by a number that no standard setting stands for."""
    first, second = (family(SIZES, gamma, 1.0, noise=0.01) for gamma in (0.5, 0.3))
    path = tmp_path / "both.csv"
    pd.concat([first.assign(Net=1), second.assign(Net=2)]).to_csv(path, index=False)
    found = json.loads(run("laws", "dynamical", str(path), "--where", "Net=2", "--json", "--no-figure"))
    assert found["gamma_measured"]["value"] == pytest.approx(0.3, abs=0.02)
    page = tmp_path / "report.html"
    told = json.loads(run("report", str(path), "--where", "Net=2", "-o", str(page), "--json"))
    assert told["checkpoints"] == len(second)
    assert "roughly as data^−0.30" in page.read_text()
    with pytest.raises(BadInput, match="two rows for the same run"):
        run("report", str(path), "-o", str(page))


def test_collapse_of_a_store_knows_the_settings_that_its_runs_declared(tmp_path):
    both = pd.concat([family(SIZES).assign(dropout=rate) for rate in (0.1, 0.2)])
    sl.Store(tmp_path / "runs").add(sl.Curves(both, settings=["dropout"]))
    words = ("laws", "collapse", str(tmp_path / "runs"), "--no-figure")
    with pytest.raises(BadInput, match=r"'dropout' \(0.1, 0.2\).*n_data"):
        run(*words)
    assert "holds" in run(*words, "--where", "dropout=0.1")
