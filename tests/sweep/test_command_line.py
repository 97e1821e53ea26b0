"""``scalinglab sweep`` and ``scalinglab board`` from the shell's side."""

import json
import os
import sys

import pytest

from scalinglab.cli import main
from scalinglab.store import Store
from tests.warm import run_scalinglab

GRID = """
experiment = "shell"
runner = "tests.sweep.pretend"
seeds = 2
[axes]
size = [1, 2]
trouble = ["none", "raise"]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path


def scalinglab(folder, *arguments):
    return run_scalinglab(arguments, folder, env={"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})


@pytest.mark.slow
def test_a_sweep_lists_its_failures_exits_with_1_and_can_be_done_again_from_its_store(folder):
    dry = scalinglab(folder, "sweep", "grid.toml", "--dry-run", "--json")
    assert dry.returncode == 0, dry.stderr
    assert json.loads(dry.stdout)["runs"] == 8
    assert json.loads(dry.stdout)["missing"] == 8
    assert not (folder / "runs").exists()  # nothing was done
    first = scalinglab(folder, "sweep", "grid.toml", "--workers", "2")
    assert first.returncode == 1
    assert "8 runs: 4 done, 4 failed" in first.stdout
    failed = "'trouble': 'raise'}: RuntimeError: this network cannot be trained"
    assert failed in " ".join(first.stdout.split())  # lines are wrapped
    assert "'pause'" not in first.stdout  # which is the same in all runs
    assert "--retry-failed" in first.stdout
    assert "Traceback" not in first.stdout + first.stderr
    again = scalinglab(folder, "sweep", "--from", "runs", "--store", "other", "--json")
    said = json.loads(again.stdout)
    assert said.pop("seconds") > 0
    assert set(said.pop("phases")) <= {"imports"}  # this runner tells none of its own
    told = {"command": "sweep", "schema": 1}
    assert said == {**told, "store": "other", "runs": 8, "done": 4, "failed": 4}
    left, right = (Store(folder / name).curves().frame for name in ("runs", "other"))
    assert left["test_loss"].sort_values().tolist() == right["test_loss"].sort_values().tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep"], "give a grid file or --from STORE"),
        (["sweep", "none.toml"], "none.toml does not exist"),
        (["sweep", "grid.toml", "--engine", "rya"], "did you mean 'ray'"),
        (["board", "nowhere"], "nowhere does not exist"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(folder, monkeypatch, typed, capsys, arguments, message):
    monkeypatch.chdir(folder)
    typed(*arguments)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert message in told
    assert len(told.strip().splitlines()) == 1
