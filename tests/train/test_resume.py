"""Killed, failed and discarded runs: what is done again gives the curve of a run that nothing happened to."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from scalinglab.store import Store, StoreError, StoreWarning
from scalinglab.train import jobs, run, run_many
from scalinglab.train.checkpoints import state
from scalinglab.train.engine import train_into
from scalinglab.train.setting import Setting
from tests.train.killed import Killed, begun, killed

MLP = {"model": "mlp", "dataset": "digits", "width": 0.25, "n_data": 300, "batch_size": 32, "steps": 25}
CNN = {**MLP, "model": "cnn", "width": 0.1}


def killed_at(step: int, settings: list[dict], store, death: type[BaseException] = Killed) -> None:
    """Train into a store until a step, and die there."""
    with killed(step, death):
        run_many(settings, store=store, save_every=0)


def ordered(curves):
    return curves.frame.sort_values(["run", "step"], ignore_index=True)


# between two checkpoints, and at one
@pytest.mark.parametrize(
    ("number", "step"), [(signal.SIGTERM, 7), pytest.param(signal.SIGINT, 10, marks=pytest.mark.slow)]
)
def test_a_training_that_is_asked_to_end_saves_its_state_there(number, step, tmp_path, monkeypatch) -> None:
    settings = [{**MLP, "seed": seed, "measure": []} for seed in range(2)]
    whole = run_many(settings, store=tmp_path / "whole")
    advance = jobs.Group.advance

    def asked(self, steps: int) -> None:
        advance(self, min(steps, step - self.step) if self.step < step else steps)
        if self.step == step:
            signal.raise_signal(number)

    with monkeypatch.context() as patch:
        patch.setattr(jobs.Group, "advance", asked)
        with pytest.raises(KeyboardInterrupt, match="same store goes on"):
            run_many(settings, store=tmp_path / "left")  # no state was due before
    assert {record.status for record in Store(tmp_path / "left").records().values()} == {"unfinished"}
    seen = begun(monkeypatch)
    again = run_many(settings, store=tmp_path / "left")
    assert seen == [(2, step)]
    assert ordered(again).equals(ordered(whole))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mlp", "cnn with batch norm", "several"])
def test_a_killed_run_resumes_to_the_same_curve(kind: str, tmp_path, monkeypatch) -> None:
    base = {**CNN, "batch_norm": True} if kind.startswith("cnn") else MLP
    base = {**base, "steps": 30, "checkpoints_per_decade": 8}
    sizes = [(seed, 200 + 50 * seed) for seed in range(3)]
    settings = [{**base, "seed": s, "n_data": n} for s, n in sizes] if kind == "several" else [base]
    whole = ordered(run_many(settings))
    killed_at(12, settings, tmp_path)
    seen = begun(monkeypatch)
    resumed = ordered(run_many(settings, store=tmp_path))
    assert seen[0][1] >= 10  # it went on, it did not start again
    assert (resumed.status == "done").all()
    for name in ("step", "train_loss", "test_loss", "test_error", "norm", "norm_l1"):
        assert np.array_equal(resumed[name], whole[name]), name
    assert not list((tmp_path / "state").glob("*"))


DIES = """
import os, signal, sys
from scalinglab.train import engine, jobs
advance = jobs.Group.advance

def dies(group, steps):
    if group.step >= 12:
        os.kill(os.getpid(), signal.SIGKILL)
    advance(group, steps)

jobs.Group.advance = dies
engine.run_many([{}], store=sys.argv[1], save_every=0, progress=False)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_process_that_is_killed_outright_leaves_what_it_takes_to_go_on(tmp_path, monkeypatch) -> None:
    code = DIES.replace("[{}]", repr([CNN]))
    same = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}  # threads decide how sums round
    words = [sys.executable, "-c", code, str(tmp_path)]
    dead = subprocess.run(words, capture_output=True, text=True, env=same)
    assert dead.returncode == -signal.SIGKILL, dead.stderr
    seen = begun(monkeypatch)
    resumed = ordered(run(CNN, store=tmp_path))
    assert seen[0][1] >= 10
    whole = ordered(run(CNN))
    for name in ("step", "train_loss", "test_loss", "norm"):
        # where arrays lie in memory decides how sums round, and two processes place them differently
        assert np.allclose(resumed[name], whole[name], rtol=2e-6, atol=0), name


@pytest.mark.slow
@pytest.mark.parametrize("early", ["done", "diverged"])
def test_a_group_of_which_some_runs_have_ended_resumes_to_the_same_curves(
    early, tmp_path, monkeypatch
) -> None:
    base = {**MLP, "optimizer": "sgd", "learning_rate": 0.05, "steps": None, "epochs": 10}
    settings = [{**base, "n_data": n} for n in (64, 128, 300)]
    if early == "diverged":
        settings = [{**settings[2], "learning_rate": rate} for rate in (1e20, 0.02, 0.05)]
    whole = ordered(run_many(settings))
    killed_at(45, settings, tmp_path)
    ended = [run for run in whole["run"].unique() if Store(tmp_path).status(run) in ("done", "diverged")]
    assert 1 <= len(ended) <= 2
    seen = begun(monkeypatch)
    resumed = ordered(run_many(settings, store=tmp_path))
    assert [step >= 40 for _, step in seen] == [True]  # it went on
    for name in ("run", "step", "train_loss", "test_loss", "norm", "status"):
        assert resumed[name].equals(whole[name]), name
    assert not list((tmp_path / "state").glob("*"))


@pytest.mark.slow
def test_runs_that_ended_after_the_last_state_train_along_to_the_same_bits(tmp_path, monkeypatch) -> None:
    settings = [{**MLP, "n_data": n, "steps": None, "epochs": 10} for n in (64, 300)]
    whole = ordered(run_many(settings))
    state, earlier = tmp_path / "state", tmp_path / "earlier"
    killed_at(10, settings, tmp_path)
    shutil.copytree(state, earlier)
    killed_at(45, settings, tmp_path)
    shutil.rmtree(state)
    earlier.rename(state)  # as if none had been saved since
    seen = begun(monkeypatch)
    resumed = ordered(run_many(settings, store=tmp_path))
    assert seen == [(2, 10)]
    assert np.array_equal(resumed.test_loss, whole.test_loss)


@pytest.mark.slow
def test_part_of_a_killed_group_goes_on_by_itself(tmp_path, monkeypatch) -> None:
    settings = [{**MLP, "seed": seed} for seed in range(3)]
    killed_at(12, settings, tmp_path)
    seen = begun(monkeypatch)
    some = ordered(run_many(settings[:2], store=tmp_path))
    assert seen == [(2, 13)]  # the checkpoint after step 12
    assert np.allclose(some.test_loss, ordered(run_many(settings[:2])).test_loss, rtol=1e-4)
    run_many(settings, store=tmp_path)
    assert seen[-1] == (3, 13)
    assert not list((tmp_path / "state").glob("*"))


@pytest.mark.slow
def test_runs_left_of_a_group_get_the_bits_of_a_training_without_interruption(tmp_path, monkeypatch) -> None:
    settings = [Setting.from_dict({**MLP, "seed": seed}).identity() for seed in range(3)]
    whole = ordered(run_many(settings))
    train_into(Store(tmp_path), settings, settings)
    for name in (Setting.from_dict(settings[0]).run, Setting.from_dict(settings[2]).run):
        Store(tmp_path).discard(name)
    seen = begun(monkeypatch)
    train_into(Store(tmp_path), settings[::2], settings)
    assert seen == [(3, 0)]  # the one that is done trains along
    again = ordered(Store(tmp_path).curves())
    for name in ("run", "step", "train_loss", "test_loss", "norm"):
        assert again[name].equals(whole[name]), name
    alone = ordered(run_many(settings[::2]))
    assert not alone.test_loss.equals(again[again.run.isin(alone.run)].reset_index().test_loss)  # it matters
    before = len(seen)
    train_into(Store(tmp_path), settings, settings)
    assert len(seen) == before  # what is done is not done again


def test_a_failed_run_that_is_done_again_has_its_whole_curve(tmp_path, monkeypatch) -> None:
    killed_at(12, [MLP], tmp_path, death=RuntimeError)
    assert ordered(run(MLP, store=tmp_path)).step.equals(ordered(run(MLP)).step)


def test_a_discarded_run_does_not_go_on_from_its_state(tmp_path, monkeypatch) -> None:
    killed_at(12, [MLP], tmp_path)
    Store(tmp_path).discard(Setting.from_dict(MLP).run)
    assert ordered(run(MLP, store=tmp_path)).step.equals(ordered(run(MLP)).step)


def test_what_is_done_is_not_done_again(tmp_path) -> None:
    first = run_many([MLP], store=tmp_path)
    records = Store(tmp_path).records()
    assert ordered(run_many([MLP], store=tmp_path)).equals(ordered(first))
    assert Store(tmp_path).records() == records, "with the times at which it began and ended"


def test_an_error_in_one_group_is_kept_with_its_runs(tmp_path) -> None:
    killed_at(0, [MLP], tmp_path, death=ZeroDivisionError)
    (record,) = Store(tmp_path).failed().values()
    assert "ZeroDivisionError" in record.error


@pytest.mark.slow
def test_a_disk_that_cannot_take_the_state_stops_the_runs_and_loses_nothing(tmp_path, monkeypatch) -> None:
    resource = pytest.importorskip("resource")
    settings = [{**MLP, "seed": seed} for seed in range(2)]
    whole = ordered(run_many(settings))
    killed_at(12, settings, tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))  # rows and sealed runs are smaller
    try:
        with pytest.raises(StoreError, match=r"\.pt: File too large"):
            run_many(settings, store=tmp_path, save_every=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {record.status for record in Store(tmp_path).records().values()} == {"unfinished"}
    seen = begun(monkeypatch)
    resumed = ordered(run_many(settings, store=tmp_path))
    assert seen == [(2, 13)]  # the state before is still there
    assert np.array_equal(resumed.test_loss, whole.test_loss)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "left"),
    [("json", 20), ("pt", 3000), *(pytest.param("pt", k, marks=pytest.mark.nightly) for k in (0, -1))],
)
def test_a_damaged_state_lets_the_runs_begin_anew(ending, left, tmp_path, monkeypatch) -> None:
    killed_at(12, [MLP], tmp_path)
    (path,) = (tmp_path / "state").glob(f"*.{ending}")
    path.write_bytes(path.read_bytes()[:left])
    with pytest.warns(StoreWarning, match=rf"{path.name} is damaged.*start again"):
        again = ordered(run(MLP, store=tmp_path))
    assert again.test_loss.equals(ordered(run(MLP)).test_loss)
    assert (tmp_path / "damaged" / path.name).exists()


@pytest.mark.parametrize("ending", ["json", "pt"])
def test_no_flipped_bit_in_a_state_is_used(ending, tmp_path, monkeypatch) -> None:
    killed_at(12, [MLP], tmp_path)
    (path,) = (tmp_path / "state").glob(f"*.{ending}")
    data, (name,) = path.read_bytes(), [Setting.from_dict(MLP).run]
    chance = random.Random(0)
    for _ in range(60):
        place = chance.randrange(len(data))
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :])
        with pytest.warns(StoreWarning, match="is damaged"):
            found = (
                state.load(tmp_path / "state", [name]) if ending == "pt" else state.groups(tmp_path / "state")
            )
        assert not found
    path.write_bytes(data)
    assert state.load(tmp_path / "state", [name])["group"]["step"] == 13
