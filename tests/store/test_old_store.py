"""A store that version 0.1 wrote: its columns had other names, its runs keep theirs."""

import shutil
from pathlib import Path

import pytest

from scalinglab import Store
from scalinglab.curves import run_name

OLD = Path(__file__).parent / "written_by_0.1"
SETTING = {"model": "mlp", "n_data": 100, "normalize": "unit"}


@pytest.fixture
def store(tmp_path):
    shutil.copytree(OLD, tmp_path / "runs")
    return Store(tmp_path / "runs")


def test_old_runs_are_read_under_the_names_of_today(store):
    frame = store.curves().frame
    assert not {"diverged", "normalise"} & {*frame.columns}
    assert set(frame["normalize"]) == {"unit"}
    ended = frame.groupby("seed")[["status", "diverged_at"]].first()
    assert ended["status"].tolist() == ["done", "diverged", "unfinished"]
    assert ended["diverged_at"].isna().tolist() == [True, False, True]
    assert ended["diverged_at"][1] == 0
    assert {record.diverged_at for record in store.records().values()} == {None, 0}


def test_old_runs_are_not_done_again_and_go_on_where_they_stopped(store):
    assert store.done({**SETTING, "seed": 0})
    assert store.done({**SETTING, "seed": 1})
    writer, rows = store.resume({**SETTING, "seed": 2})
    assert rows == [{"step": 0, "test_error": 0.9}]
    writer.seal()
    assert store.records()[run_name({**SETTING, "seed": 2})].setting == {**SETTING, "seed": 2}


def test_old_and_new_runs_are_compacted_into_one_file(store):
    with store.start({**SETTING, "seed": 3}) as run:
        run.append(step=0, test_error=0.7)
    before = store.curves().frame
    assert store.compact() == 3
    after = store.curves().frame
    assert set(after.columns) == set(before.columns)
    assert sorted(after["run"]) == sorted(before["run"])
