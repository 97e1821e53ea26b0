"""Options that no other test gives: each changes the result as it says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput
from tests.laws.synthetic import family


def run(line: str, *more: object) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*line.split(), *map(str, more), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(path: str, **columns: Any) -> str:
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


# --- laws --------------------------------------------------------------------------------------------------

X = np.geomspace(100, 1e5, 10)


@pytest.mark.slow
def test_points_with_a_standard_error_are_weighted_by_it():
    wrong = np.where(X[3] == X, 3.0, 1.0)
    table(
        "t.csv", n_data=X, test_error=(0.05 + 3 * X**-0.6) * wrong, stderr=1e-4 * np.where(wrong > 1, 1e6, 1)
    )
    words = "laws fit t.csv --form power_law_offset --loss squared --space raw --no-figure"
    (law,) = run(f"{words} --error stderr")["laws"]
    assert law["parameters"]["exponent"] == pytest.approx(0.6, abs=1e-3)
    (law,) = run(words)["laws"]
    assert law["parameters"]["exponent"] != pytest.approx(0.6, abs=1e-3)


def surface(path: str) -> str:
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e9, 5), np.geomspace(1e8, 1e11, 5)))
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(n.size))
    return table(path, n_params=n, n_data=d, val_loss=(1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * noise)


@pytest.mark.slow
def test_exponents_of_a_surface_are_tied_and_its_threshold_set():
    surface("t.csv")
    searched = run("laws surface t.csv --form search --var a=n_params --var b=n_data --no-figure")
    assert searched["form"] == "search"
    tied = run("laws surface t.csv --tie beta=alpha --no-figure")["parameters"]
    assert tied["beta"] == tied["alpha"]
    squares = run("laws surface t.csv --delta inf --no-figure")["parameters"]
    frame = pd.read_csv("t.csv")
    fitted = sl.laws.surface.fit(frame.n_params, frame.n_data, frame.val_loss, delta=np.inf)
    assert squares == pytest.approx(fitted.parameters)


def test_dynamical_laws_along_another_column():
    frame = family((500, 1000, 2000), 0.5, 1.0, noise=0.01, seeds=2)
    frame.to_csv("t.csv", index=False)
    frame.rename(columns={"norm": "distance"}).to_csv("other.csv", index=False)
    ours, theirs = (
        run("laws dynamical t.csv --no-figure"),
        run("laws dynamical other.csv --x distance --no-figure"),
    )
    assert theirs["gamma_1"] == ours["gamma_1"]


def recipes() -> None:
    compute = np.geomspace(1e18, 1e21, 6)
    for name, factor in (("new", 1.3), ("old", 1.0)):
        loss = 2 * (factor * compute / 1e18) ** -0.12
        table(f"{name}.csv", flops=compute, val=loss, run=range(6))


def test_speedup_by_other_columns():
    recipes()
    found = run("laws speedup new.csv old.csv --x flops --y val --no-figure --at 1e19,1e20")
    assert found["factor"] == pytest.approx(1.3, rel=1e-2)
    assert (found["form"], found["at"]) == ("power_law_offset", [1e19, 1e20])


def test_a_forecast_is_sealed_and_scored():
    table("t.csv", n_data=X, test_error=3 * X**-0.5)
    made = run("forecast make t.csv --at 2e5 --seal forecast.json")
    assert made["low"] <= made["mean"] <= made["high"]
    scored = run("forecast score forecast.json --tally scores.jsonl --measured", made["mean"])
    assert (scored["inside"], scored["scored"]) == (True, 1)
    assert len(Path("scores.jsonl").read_text().splitlines()) == 1


@pytest.mark.slow
def test_a_run_is_explained_from_its_store():
    setting = {"model": "mlp", "dataset": "digits", "n_data": 60, "steps": 20, "width": 0.25}
    run_name = sl.train.run_many([setting], store="runs", progress=False).frame["run"].iloc[0]
    found = run(f"explain {run_name} --store runs --samples 40")
    assert found["run"] == run_name


# --- runs --------------------------------------------------------------------------------------------------


def test_settings_of_a_trained_network():
    words = "train --n-data 40 --set steps=2 --learning-rate 0.01 --batch-size 20 --width 0.5"
    curves = run(words)["curves"]
    assert {curves[name][0] for name in ("learning_rate", "width")} == {0.01, 0.5}
    assert curves["batch_size"][0] == 20


def test_failed_runs_are_exported_where_asked_for():
    store = sl.Store("runs")
    with store.start({"n_data": 1}) as run_of:
        run_of.append(step=1, test_error=0.5)
    run_of = store.start({"n_data": 2})
    run_of.append(step=1, test_error=0.5)
    run_of.seal("failed", error="it could not be trained")
    assert [run("store export runs", *more)["runs"] for more in ((), ("--failed",))] == [1, 2]


@pytest.mark.slow
def test_a_report_has_its_title():
    table("t.csv", n_data=X, test_error=3 * X**-0.5)
    run("report t.csv -o page.html --title Sweep")
    assert "<title>Sweep</title>" in Path("page.html").read_text()


def test_a_set_is_copied_from_a_folder_that_has_it():
    with pytest.raises(BadInput):  # nothing is there
        run("data get mnist --from nothing")


GRID = """
runner = "tests.sweep.pretend"
seeds = 2
[axes]
size = [1, 2]
"""


def test_runs_are_stacked_up_to_a_number():
    Path("grid.toml").write_text(GRID)
    words = "sweep grid.toml --dry-run --workers 1 --max-stacked"
    assert [run(words, most)["tasks"] for most in (1, 2)] == [4, 2]


def test_jobs_for_slurm_are_written_and_not_submitted():
    pytest.importorskip("submitit")
    Path("grid.toml").write_text(GRID)
    shown = run("sweep grid.toml --engine slurm --partition gpu --gpus 2 --hours 4 --max-stacked 1 --dry-run")
    assert (shown["missing"], shown["tasks"]) == (4, 4)
    assert {"#SBATCH --partition=gpu", "#SBATCH --time=240", "#SBATCH --array=0-1%2"} <= {
        *shown["script"].splitlines()
    }
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("demo --full --folder t.csv", "t.csv is a file"),
        ("sweep grid.toml --address here:6379", "address is for engine='ray'"),
        ("sweep grid.toml --engine rai --cpus 2 --gpus 1", "rai"),
        ("laws downstream t.csv --score test_error --x n_data --loss nothing", "no column 'nothing'"),
        ("laws collapse t.csv --x n_data --tolerance 0", "tolerance=0.0 must be positive"),
        ("laws noise t.csv --x nothing", "nothing"),
        ("laws noise t.csv --x n_data --y nothing --width-column n_data", "nothing"),
        ("laws noise t.csv --x n_data --width-column nothing", "nothing"),
        ("laws noise t.csv --search bath", "--search bath: choose from"),
    ],
)
def test_what_cannot_be_used_is_named(line: str, told: str):
    Path("grid.toml").write_text(GRID)
    table("t.csv", n_data=X, test_error=3 * X**-0.5)
    with pytest.raises(BadInput, match=told):
        run(line)
