"""``plan pool`` and ``laws speedup`` from tables: what is chosen, and the exit status of the gate."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from scalinglab.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "laws" / "recipes.md"


def test_pool_chooses_affordable_experiments_for_any_form(tmp_path):
    x = np.geomspace(1e2, 1e4, 12)
    runs = pd.DataFrame({"n_params": np.tile(x, 2), "n_data": np.repeat([1e5, 1e6], 12)})
    noise = np.exp(0.003 * np.random.default_rng(0).standard_normal(24))
    runs["loss"] = (1.8 + 20 * runs.n_params**-0.4 + 30 * runs.n_data**-0.3) * noise
    runs.to_csv(tmp_path / "runs.csv", index=False)
    pool = pd.DataFrame({"n_params": np.geomspace(1e2, 1e6, 9), "n_data": 1e7})
    pool["price"] = np.geomspace(1, 1e4, 9)
    pool.to_csv(tmp_path / "pool.csv", index=False)
    pd.DataFrame({"n_params": [1e7], "n_data": [1e8]}).to_csv(tmp_path / "target.csv", index=False)
    done = CliRunner().invoke(app, [
        "plan", "pool", str(tmp_path / "runs.csv"), "--pool", str(tmp_path / "pool.csv"),
        "--target", str(tmp_path / "target.csv"), "--budget", "500", "--cost", "price", "--json",
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert sum(found["cost"]) <= 500
    assert found["after"][-1] < found["before"]


def test_speedup_is_a_gate_by_its_exit_status(tmp_path):
    compute = np.geomspace(1e18, 1e21, 5)
    for name, factor in (("new", 1.3), ("old", 1.0)):
        noise = np.exp(0.001 * np.random.default_rng(int(10 * factor)).standard_normal(5))
        loss = (1.5 + 2 * (factor * compute / 1e18) ** -0.12) * noise
        pd.DataFrame({"compute": compute, "loss": loss}).to_csv(tmp_path / f"{name}.csv", index=False)
    files = str(tmp_path / "new.csv"), str(tmp_path / "old.csv")
    command = ["laws", "speedup", *files, "--json", "--no-figure"]
    passed = CliRunner().invoke(app, [*command, "--at-least", "1.1"])
    assert passed.exit_code == 0, passed.output
    assert json.loads(passed.output)["passed"]
    assert CliRunner().invoke(app, [*command, "--at-least", "1.6"]).exit_code == 1


def test_page_of_recipes_shows_what_the_command_prints_and_draws(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    exec(code, {})  # writes the tables
    line, shown = re.findall(
        r"^scalinglab (laws speedup .*?)\n.*?```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE
    )[0]
    done = CliRunner(env={"COLUMNS": "80"}).invoke(app, line.split())
    assert done.exit_code == 0, done.output
    assert f"{shown}figure: speedup.png" in done.output
    assert Path("speedup.png").stat().st_size > 10_000
