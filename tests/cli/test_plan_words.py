"""``scalinglab plan``: what the options become when a plan is made."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.laws import plan
from scalinglab.laws.fitting.data.from_curves import Table

N, D = (v.ravel() for v in np.meshgrid([1e6, 1e7, 1e8], [1e8, 1e9, 1e10]))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.csv"
    table = {"n_params": N, "n_data": D, "loss": 1.8 + 480 * N**-0.35 + 2100 * D**-0.37}
    pd.DataFrame(table).to_csv(path, index=False)
    return path


def run(*words: object) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["plan", *map(str, words)], catch_exceptions=False)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What `plan next` asked for."""
    seen: list[dict[str, Any]] = []

    def next_runs(table: Table, **options: Any) -> Any:
        seen.append({**options, "x": table.names})
        raise BadInput("seen")

    monkeypatch.setattr(plan, "next_runs", next_runs)
    return seen


def test_what_was_understood_of_a_table_is_printed_once(runs, asked):
    told = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["plan", "next", str(runs)])
    assert told.output.count("read runs.csv") == len(asked) == 1


def test_the_next_run_is_planned_without_options(runs, asked, tmp_path):
    with pytest.raises(BadInput, match="seen"):
        run("next", runs)
    one = tmp_path / "sizes.csv"
    pd.read_csv(runs).query("n_data == 1e10").drop(columns="n_data").to_csv(one, index=False)
    with pytest.raises(BadInput, match="seen"):
        run("next", one)
    assert [(a["x"], a["budget"], a["at"]) for a in asked] == [
        (("n_params", "n_data"), None, None), (("n_params",), None, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "form", "x", "at"),
    [
        (["--at", "1e6"], None, ("n_data",), [1e6]),  # one size: a law of one variable
        (["--at", "1e6", "--form", "auto"], None, ("n_data",), [1e6]),
        (["--at", "1e9,1e11"], None, ("n_params", "n_data"), [1e9, 1e11]),
        (["--at", "1e9", "--x", "n_params"], None, ("n_params",), [1e9]),
        (["--at", "1e6", "--form", "power_law"], "power_law", ("n_data",), [1e6]),
        (["--compute", "1e21"], None, ("n_params", "n_data"), None),
        (["--compute", "1e21", "--form", "chinchilla"], "chinchilla", ("n_params", "n_data"), None),
    ],
)
def test_the_next_run_is_of_one_variable_where_one_size_or_column_is_given(runs, asked, words, form, x, at):
    with pytest.raises(BadInput, match="seen"):
        run("next", runs, "--budget", "1e20", "--y", "loss", "--mixed", *words)
    (found,) = asked
    assert found["form"] == form
    assert found["x"] == x
    assert (None if found["at"] is None else found["at"].tolist()) == at
    assert found["budget"] == 1e20
    assert ("compute" in found) == (x == ("n_params", "n_data"))


def test_the_cost_of_a_run_of_one_variable_is_its_size_or_so_many_flops_each(runs, asked):
    for words in ([], ["--cost", "3e9"]):
        with pytest.raises(BadInput, match="seen"):
            run("next", runs, "--budget", "1e20", "--at", "1e6", "--y", "loss", "--mixed", *words)
    plain, priced = asked
    assert "cost" not in plain
    assert priced["cost"](10.0) == 3e10


@pytest.mark.slow
def test_approaches_state_the_bias_of_each(tmp_path: Path):
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e9, 10), np.geomspace(1e8, 1e11, 10)))
    runs = tmp_path / "runs.csv"
    loss = 1.8 + 480 * n**-0.35 + 2100 * d**-0.37
    pd.DataFrame({"n_params": n, "n_data": d, "loss": loss}).to_csv(runs, index=False)
    found = json.loads(run("approaches", runs, "--compute", "1e21", "--json").output)["approaches"]
    assert [row["approach"] for row in found] == ["1 envelope", "2 parabolas", "3 surface"]
    for row in found[:2]:  # without noise the bias is what the exponent is off by
        assert row["bias"] == pytest.approx(row["a"] - 0.37 / 0.72, abs=1e-3)
    assert found[2]["bias"] is None
