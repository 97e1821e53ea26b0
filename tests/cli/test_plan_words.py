"""``scalinglab plan``: what the options become when a plan is made."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.laws import plan

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

    def next_runs(frame: pd.DataFrame, **options: Any) -> Any:
        seen.append(options)
        raise BadInput("seen")

    monkeypatch.setattr(plan, "next_runs", next_runs)
    return seen


@pytest.mark.parametrize(
    ("words", "form", "x", "at"),
    [
        (["--at", "1e6"], None, "n_data", [1e6]),  # one size: a law of one variable
        (["--at", "1e6", "--form", "auto"], None, "n_data", [1e6]),
        (["--at", "1e9,1e11"], None, ["n_params", "n_data"], [1e9, 1e11]),
        (["--at", "1e9", "--x", "n_params"], None, "n_params", [1e9]),
        (["--at", "1e6", "--form", "power_law"], "power_law", "n_data", [1e6]),
        (["--compute", "1e21"], None, ["n_params", "n_data"], None),
        (["--compute", "1e21", "--form", "chinchilla"], "chinchilla", ["n_params", "n_data"], None),
    ],
)
def test_the_next_run_is_of_one_variable_where_one_size_or_column_is_given(runs, asked, words, form, x, at):
    with pytest.raises(BadInput, match="seen"):
        run("next", runs, "--budget", "1e20", *words)
    (found,) = asked
    assert (found["form"].name if found["form"] else None) == form
    assert found["x"] == x
    assert (None if found["at"] is None else found["at"].tolist()) == at
    assert found["budget"] == 1e20
    assert ("compute" in found) == (x == ["n_params", "n_data"])


def test_the_cost_of_a_run_of_one_variable_is_its_size_or_so_many_flops_each(runs, asked):
    for words in ([], ["--cost", "3e9"]):
        with pytest.raises(BadInput, match="seen"):
            run("next", runs, "--budget", "1e20", "--at", "1e6", *words)
    plain, priced = asked
    assert "cost" not in plain
    assert priced["cost"](10.0) == 3e10


def test_approaches_are_compared_at_budgets_between_a_tenth_and_nine_tenths_of_the_runs(runs, monkeypatch):
    seen: list[Any] = []
    points = SimpleNamespace(x=np.array([N, D]))
    ends = SimpleNamespace(low=0.4, high=0.6)
    row = SimpleNamespace(
        name="envelope",
        exponent=0.5,
        exponent_interval=ends,
        n_params=1e9,
        n_params_interval=ends,
        n_data=1e10,
    )
    found = SimpleNamespace(
        surface=SimpleNamespace(law=SimpleNamespace(points=points)), rows=[row], notes=("two dropped",),
        summary=lambda: "three ways",
    )  # fmt: skip

    def parabola_bias(surface: Any, budgets: np.ndarray, **options: Any) -> Any:
        seen.append((budgets, options))
        bias = np.array([0.51, 0.52]) + 0.1 * ("drift" in options)
        return SimpleNamespace(
            span=[2, 4], exponent=0.5, exponents=bias, summary=lambda: f"head {len(seen)}\nrows {len(seen)}"
        )

    monkeypatch.setattr(plan, "approaches", lambda frame, **options: found)
    monkeypatch.setattr(plan, "parabola_bias", parabola_bias)
    result = json.loads(run("approaches", runs, "--compute", "1e21", "--json").output)
    total = 6 * N * D
    for budgets, options in seen:
        assert budgets == pytest.approx(np.geomspace(np.quantile(total, 0.1), np.quantile(total, 0.9), 8))
        assert options["flops_per_param_example"] == 6.0
    assert [options.get("drift") for _, options in seen] == [None, 9.0]
    assert result["approaches"][0]["a_low"] == 0.4
    assert result["parabola_bias"][1] == pytest.approx(
        {"span": 4, "a_true": 0.5, "a_centred": 0.52, "a_drifting": 0.62}
    )
    said = run("approaches", runs, "--compute", "1e21").output
    assert "note: two dropped\nthree ways\n\nhead 4\nrows 4\n\nthe same with" in said
    assert said.count("head") == 1  # of the second table the rows alone
