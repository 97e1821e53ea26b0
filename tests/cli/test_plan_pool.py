"""``plan next`` from a pool, and ``laws speedup``: what is chosen, and the exit status of the gate."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import NotDetermined
from scalinglab.laws.planning import candidates

PAGE = Path(__file__).parents[2] / "docs" / "laws" / "recipes.md"


@pytest.mark.slow
def test_pool_chooses_affordable_experiments_for_any_form(tmp_path):
    x = np.geomspace(1e2, 1e4, 12)
    runs = pd.DataFrame({"n_params": np.tile(x, 3), "n_data": np.repeat([1e5, 3e5, 1e6], 12)})
    noise = np.exp(0.003 * np.random.default_rng(0).standard_normal(36))
    runs["loss"] = (1.8 + 20 * runs.n_params**-0.4 + 30 * runs.n_data**-0.3) * noise
    runs.to_csv(tmp_path / "runs.csv", index=False)
    pool = pd.DataFrame({"n_params": np.geomspace(1e2, 1e6, 9), "n_data": 1e7})
    pool["price"] = np.geomspace(1, 1e4, 9)
    pool.to_csv(tmp_path / "pool.csv", index=False)
    pd.DataFrame({"n_params": [1e7], "n_data": [1e8]}).to_csv(tmp_path / "target.csv", index=False)
    tables = ["--pool", str(tmp_path / "pool.csv"), "--target", str(tmp_path / "target.csv")]

    def planned(*more: str) -> dict[str, Any]:
        words = ["--budget", "500", "--cost", "price", *more, "--json"]
        done = CliRunner().invoke(app, ["plan", "next", str(tmp_path / "runs.csv"), *tables, *words])
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    found = planned("--form", "chinchilla")
    runs = found["runs"]
    assert sum(run["cost"] for run in runs) <= 500
    assert runs[-1]["half_width"] < found["half_width"]
    assert [run["n_params"] for run in runs] == [pool.n_params[run["row"]] for run in runs]
    assert [run["cost"] for run in runs] == [pool.price[run["row"]] * run["seeds"] for run in runs]


def random_table(seed: int) -> tuple[pd.DataFrame, str | None, list[str], list[float]]:
    """Runs, the form to name, the columns of sizes and a target: curves and surfaces of several forms."""
    rng = np.random.default_rng(seed)
    kind = seed % 5
    if kind < 3:  # a curve: no form named, a power law, one with a floor
        x = np.geomspace(10 ** rng.uniform(2, 4), 10 ** rng.uniform(5, 7), int(rng.integers(7, 13)))
        floor = rng.uniform(0.02, 0.1) if kind != 1 else 0.0
        y = floor + rng.uniform(1, 5) * x ** -rng.uniform(0.2, 0.5)
        form, names, target = [None, "power_law", "power_law_offset"][kind], ["n_data"], [8 * x.max()]
        sizes = x[:, None]
    else:
        n, d = np.meshgrid(np.geomspace(1e7, 10 ** rng.uniform(9, 10), 5), np.geomspace(1e9, 1e11, 5))
        sizes = np.stack([n.ravel(), d.ravel()], axis=1)
        terms = 480 * sizes[:, 0] ** -rng.uniform(0.3, 0.4), 2100 * sizes[:, 1] ** -rng.uniform(0.33, 0.4)
        y, names, target = 1.8 + sum(terms), ["n_params", "n_data"], [*(5 * sizes.max(axis=0))]
        form = "chinchilla" if kind == 3 else "rosenfeld"
    table = pd.DataFrame(sizes, columns=names)
    noise = np.exp(rng.uniform(0.002, 0.02) * rng.standard_normal(len(y)))
    return table.assign(loss=y * noise), form, names, target


def one_plan(tmp_path: Path, seed: int) -> None:
    """`plan next`, and the same given the candidates that it generates: the same runs and intervals."""
    table, form, names, target = random_table(seed)
    curve = len(names) == 1
    if curve:
        law = sl.laws.fit(form or "auto", table, x="n_data", y="loss")
    else:
        law = sl.laws.surface.fit(table, form=form).law
    grid = candidates.plausible_runs(law, optimum=not curve)
    pool = pd.DataFrame(grid, columns=names).assign(cost=grid[:, 0] if curve else 6 * grid.prod(axis=1))
    budget = float(np.quantile(pool["cost"], 0.8))
    if not curve:  # plan next passes over runs far smaller than the largest
        largest = 6 * float(law.points.x.prod(axis=0).max())
        pool = pool[candidates.large_enough(grid, pool["cost"].to_numpy(), largest, budget)]
    files = {"runs": table, "pool": pool, "target": pd.DataFrame([target], columns=names)}
    for name, frame in files.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    paths = {name: str(tmp_path / f"{name}.csv") for name in files}
    shared = [paths["runs"], "--budget", str(budget), "--y", "loss", "--json"]
    shared += ["--x", "n_data"] if curve else []
    shared += ["--form", form] if form else []
    generated = CliRunner().invoke(app, ["plan", "next", *shared, "--at", ",".join(map(str, target))])
    given = CliRunner().invoke(
        app, ["plan", "next", *shared, "--pool", paths["pool"], "--target", paths["target"]]
    )
    assert generated.exit_code == given.exit_code, (generated.output, given.output)
    if generated.exit_code:  # a curve that by chance bends away from its form: refused alike
        assert isinstance(generated.exception, NotDetermined)
        assert str(generated.exception) == str(given.exception)
        return
    first, second = json.loads(generated.output), json.loads(given.output)
    assert second["half_width"] == pytest.approx(first["half_width"], rel=0.01)
    assert len(first["runs"]) == len(second["runs"])
    for one, other in zip(first["runs"], second["runs"], strict=True):
        for column in (*names, "seeds", "cost", "half_width"):
            assert other[column] == pytest.approx(one[column], rel=1e-6)


@pytest.mark.parametrize(
    "seed",
    [pytest.param(k, marks=pytest.mark.slow if k < 2 else pytest.mark.nightly) for k in range(50)],
)
def test_runs_that_are_generated_and_given_make_one_plan_on_fifty_tables(tmp_path, seed):
    one_plan(tmp_path, seed)


@pytest.mark.slow
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


@pytest.mark.slow
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
