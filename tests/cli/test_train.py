"""``scalinglab train``: a run from one line, kept where asked, the same as from Python."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.cli.commands.train import _last
from scalinglab.errors import BadInput


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["train", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_one_line_trains_what_the_same_setting_trains_in_python():
    told = json.loads(run("--n-data", "60", "--epochs", "2", "--set", "optimizer=sgd", "--json"))
    setting = {"model": "mlp", "dataset": "digits", "n_data": 60, "epochs": 2, "optimizer": "sgd", "seed": 0}
    curves = sl.train.run(setting, progress=False)
    assert told["curves"]["run"] == curves.frame["run"].tolist()
    assert told["curves"]["test_loss"] == pytest.approx(curves.frame["test_loss"].tolist())


def test_sizes_and_seeds_are_kept_and_not_trained_again(tmp_path):
    store, table = tmp_path / "runs", tmp_path / "curves.csv"
    words = ("--n-data", "40:80:2", "--seeds", "2", "--set", "steps=3", "--store", str(store))
    said = run(*words, "--out", str(table))
    assert f"scalinglab report {store}" in said
    frame = pd.read_csv(table)
    assert sorted(set(zip(frame["n_data"], frame["seed"], strict=True))) == [
        (40, 0),
        (40, 1),
        (80, 0),
        (80, 1),
    ]
    sealed = {path: path.stat().st_mtime_ns for path in store.rglob("*.parquet")}
    assert run(*words).splitlines()[:-1] == [line for line in said.splitlines()[:-1] if "written" not in line]
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*.parquet")} == sealed


@pytest.mark.parametrize(
    ("text", "sizes"), [("20,10,20", [20, 10]), ("10:80:3", [10, 28, 80]), ("3:4:3", [3, 4])]
)
def test_a_range_of_sizes_is_rounded_to_whole_examples_and_none_comes_twice(text: str, sizes: list[int]):
    told = json.loads(run("--n-data", text, "--set", "steps=1", "--json"))
    assert [*dict.fromkeys(told["curves"]["n_data"])] == sizes


def test_the_end_of_every_run_is_shown_with_its_best_error_and_what_did_not_end_well():
    rows = [
        {"run": run, "n_data": size, "seed": seed, "step": step, "test_error": error, "norm": None,
         "status": "done"}
        for run, size, seed in (("c", 20, 0), ("b", 10, 1), ("a", 10, 0))
        for step, error in ((1, 0.5), (2, 0.2 + seed / 10), (3, 0.3))
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    shown = _last(sl.Curves(frame))
    assert list(shown.columns) == ["n_data", "seed", "step", "test_error", "best_error"]
    assert shown.to_numpy().tolist() == [[10, 0, 3, 0.3, 0.2], [10, 1, 3, 0.3, 0.3], [20, 0, 3, 0.3, 0.2]]
    frame.loc[frame["run"] == "b", "status"] = "diverged"
    assert _last(sl.Curves(frame))["status"].tolist() == ["done", "diverged", "done"]
    assert "best_error" not in _last(sl.Curves(frame.drop(columns="test_error")))


def test_a_command_that_keeps_nothing_says_how_to_keep_runs():
    assert "--store FOLDER" in run("--n-data", "40", "--set", "steps=2")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--model", "cn"], "did you mean 'cnn'"),
        (["--dataset", "digit"], "did you mean 'digits'"),
        (["--n-data", "-5"], "n_data=-5 must be positive"),
        (["--n-data", "2.5"], "whole number"),
        (["--set", "optimiser=sgd"], "did you mean 'optimizer'"),
        (["--set", "steps"], "KEY=VALUE"),
        (["--set", "seed=3"], "use --seed"),
        (["--epochs", "3", "--set", "steps=4"], "exactly one of"),
    ],
)
def test_wrong_words_are_named(words, told):
    with pytest.raises(BadInput, match=told):
        run(*words)
