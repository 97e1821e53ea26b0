"""``scalinglab train``: a run from one line, kept where asked, the same as from Python."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
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


def test_somebody_who_keeps_nothing_is_told_how_to():
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
