"""The same table gives the same points whichever way it comes in, and ``--column`` is on every command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

import scalinglab as sl
from scalinglab.answers.fitted import choose
from scalinglab.cli import app
from scalinglab.cli.tables import Surface
from scalinglab.laws.fitting.data.from_curves import points_of
from tests.cli.test_laws_cli import run


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_every_command_that_reads_a_table_takes_names_of_columns():
    reading = {
        " ".join(path): {parameter.name for parameter in command.params}
        for path, command in commands(get_command(app))
        if {"file", "source", "files", "a"} & {parameter.name for parameter in command.params}
    }
    assert {"read", "report", "laws fit", "laws speedup", "laws schedule", "plan bend"} <= {*reading}
    assert [name for name, options in reading.items() if "column" not in options] == []


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = [
        {"run_name": f"{n:g}-{d:g}", "scale": n, "step": k, "seen": d * k / 20, "metric": loss}
        for n in (1e7, 3e7, 1e8, 3e8) for d in (1e9, 2e9, 4e9, 8e9) for k in range(1, 21)
        for loss in [(1.7 + 400 * n**-0.34 + 400 * (d * k / 20) ** -0.28) * np.exp(rng.normal(0, 1e-3))]
    ]  # fmt: skip
    path = tmp_path / "logs.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_csv_store_and_frame_give_the_same_runs_and_intervals(logs: Path, tmp_path: Path):
    columns = ["--column", "n_params=scale", "--column", "n_data=seen", "--column", "loss=metric"]
    store = tmp_path / "runs"
    assert json.loads(run("read", logs, "--store", store, *columns, "--json"))["runs_added"] == 16
    found = [
        json.loads(run("laws", "surface", *words, "--no-figure", "--json"))
        for words in (
            (logs, *columns),
            (store,),
            (logs, "--var", "n_params=scale", "--var", "n_data=seen", "--y", "metric"),
        )
    ]
    frame = sl.read(logs, n_params="scale", n_data="seen", loss="metric")
    table = points_of(frame, ["n_params", "n_data"], "loss")
    assert len(table.y) == len(set(table.runs)) == 16
    python = sl.laws.surface.fit(*table.x, table.y, runs=table.runs)
    for one in found:
        assert one["points"] == 16
        assert one["parameters"] == pytest.approx(python.parameters, rel=1e-6)
        for name, ends in one["intervals"].items():
            assert ends == pytest.approx(found[0]["intervals"][name], rel=1e-6)


def test_names_of_the_file_can_be_used_for_x_y_and_where(logs: Path):
    frame = pd.read_csv(logs).rename(columns={"scale": "params", "metric": "val_loss"})
    frame.assign(lr=np.where(frame.params > 2e8, 0.1, 0.2)).to_csv(logs, index=False)
    words = ("--x", "params", "--where", "lr=0.2", "--no-figure", "--json", "--form", "power_law")
    theirs, ours = (json.loads(run("laws", "fit", logs, "--y", y, *words)) for y in ("val_loss", "test_loss"))
    assert theirs["laws"] == ours["laws"]
    assert "n_params ← params, test_loss ← val_loss, learning_rate ← lr" in theirs["notes"][-1]["text"]


@pytest.mark.parametrize(
    ("measured", "fitted"),
    [
        (["loss"], "loss"),
        (["loss", "val_loss"], "test_loss"),  # `loss` is then that of training
        (["loss", "val_loss", "val_error"], "test_error"),
        (["val_loss", "val_error"], "test_error"),
        (["train_loss", "val_error"], "test_error"),
    ],
)
def test_a_surface_is_fitted_to_what_answer_fits(tmp_path: Path, measured: list[str], fitted: str):
    path = tmp_path / "t.csv"
    table = {"n_params": [1e6, 1e7, 1e6, 1e7], "n_data": [1e8, 1e8, 1e9, 1e9]}
    pd.DataFrame(table | {name: [0.5, 0.4, 0.35, 0.3] for name in measured}).to_csv(path, index=False)
    assert Surface(file=path).choose_surface().y == choose(sl.read(path)).y == fitted


def test_what_was_understood_is_said(logs: Path):
    words = ("laws", "fit", logs, "--x", "scale", "--y", "metric", "--mixed", "--no-figure")
    said = " ".join(run(*words).split())
    assert "read logs.csv: 16 runs, 320 rows; run ← run_name" in said


def test_the_card_comes_first_and_what_was_understood_behind_it(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("t.csv")
    n = np.geomspace(1e3, 1e6, 8)
    pd.DataFrame({"train_size": n, "err": 0.02 + 3 * n**-0.4}).to_csv(path, index=False)
    said = " ".join(run("answer", path).split())
    lines = [" ".join(finding.text.split()) for finding in sl.answer(path).card]
    assert said.startswith(" ".join(lines))
    assert said.index("read t.csv: 8 runs") > len(" ".join(lines))
