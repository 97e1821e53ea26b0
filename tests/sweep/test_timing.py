"""The estimate of a task from short trainings, on a machine whose times are known."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pandas as pd
import pytest

from scalinglab.curves import Curves
from scalinglab.errors import ScalinglabError
from scalinglab.sweep import timing
from scalinglab.train import engine
from scalinglab.train.setting import Setting

RUN, STEP, CHECKPOINT = 0.02, 0.25e-3, 0.015  # seconds of the machine
GRID = [
    {"model": "cnn", "dataset": "mnist", "n_data": n, "epochs": 60, "seed": seed, "width": 1.0,
     "batch_size": 128, "checkpoints_per_decade": 10}
    for n in (1800, 57600) for seed in range(6)
]  # fmt: skip


class Machine:
    """Trains nothing: its clock goes on by what a training would take, with a delay at every other call."""

    def __init__(self, delay: float, clock: SimpleNamespace) -> None:
        self.calls, self.delay, self.clock, self.begun = [], delay, clock, clock.now
        self.runs: list[int] = []
        self.per_decade: list[int] = []

    def run_many(self, settings, progress: bool, device: str) -> Curves:
        assert not progress
        full = [Setting.from_dict(s) for s in settings]
        self.runs.append(len(full))
        self.per_decade.append(full[0].checkpoints_per_decade)
        steps = sum(s.total_steps(s.n_data) for s in full)
        checkpoints = sum(len(s.checkpoints(s.n_data)) for s in full)
        self.calls.append(steps // len(full))
        self.clock.now += RUN * len(full) + STEP * steps + CHECKPOINT * checkpoints
        self.clock.now += self.delay if len(self.calls) % 2 else 0.0
        rows = [
            {"run": s.run, "width": s.width, "batch_size": 128, "step": s.total_steps(s.n_data),
             "compute": 1e9 * s.total_steps(s.n_data), "test_loss": 1.0} for s in full
        ]  # fmt: skip
        return Curves(pd.DataFrame(rows))

    def stand_in(self, monkeypatch, mixed: bool) -> None:
        monkeypatch.setattr(engine, "run_many", self.run_many)
        monkeypatch.setattr(engine, "mixes", lambda *_: mixed)


def seconds_of(settings) -> float:
    full = [Setting.from_dict(s) for s in settings]
    steps = sum(s.total_steps(s.n_data) for s in full)
    return RUN * len(full) + STEP * steps + CHECKPOINT * sum(len(s.checkpoints(s.n_data)) for s in full)


@pytest.mark.parametrize("delay", [0.0, 0.1])
def test_an_estimate_on_a_gpu_holds_where_trainings_vary_by_a_tenth_of_a_second(
    monkeypatch, clock, delay
) -> None:
    machine = Machine(delay, clock)
    machine.stand_in(monkeypatch, mixed=False)
    found = timing.probe(GRID, "cuda")
    assert found["seconds"] == pytest.approx(seconds_of(GRID), rel=1e-6 if delay == 0 else 0.12)
    assert max(machine.calls) <= timing.MOST["cuda"]
    assert {*machine.runs} == {8}, "as many as train side by side"
    assert machine.per_decade == [1, 1, 1, 1, 10]  # the longest as in a study
    assert found["flops"] == pytest.approx(
        1e9 * sum(Setting.from_dict(s).total_steps(s["n_data"]) for s in GRID)
    )
    assert sum(found["trials"]) == pytest.approx(clock.now - machine.begun, abs=0.01)


@pytest.mark.parametrize(("device", "mixed"), [("cpu", False), ("cpu", True), ("cuda", True)])
def test_all_runs_are_timed_on_a_processor_and_in_a_mixed_stack(monkeypatch, clock, device, mixed) -> None:
    machine = Machine(0.0, clock)
    machine.stand_in(monkeypatch, mixed)
    assert timing.probe(GRID, device)["seconds"] == pytest.approx(seconds_of(GRID), rel=1e-6)
    assert {*machine.runs} == {len(GRID)}


def test_trials_of_a_slow_network_stay_short() -> None:
    short, longer = (1.0, [8, 8 * 16, 24]), (1.0 + 0.002 * 8 * 80, [8, 8 * 96, 32])  # 2 ms a step
    assert timing.enough_steps(short, longer, 2.5) == int(2.5 / (8 * 0.002))


@pytest.mark.parametrize(("loading", "driver"), [(1.5, 1.5), (60.0, 3.0)])
def test_on_a_gpu_a_start_is_timed_after_the_trials(monkeypatch, clock, loading, driver) -> None:
    """Of a worker whose task takes 3 seconds; the driver loads no more than a worker."""
    ended = []

    class Worker:
        def __init__(self, workers, devices):
            assert (workers, devices) == (1, ["cuda:0"])

        def submit(self, task):
            (short,) = task["settings"]
            assert (short["steps"], short["checkpoints_per_decade"]) == (1, 1)
            clock.now += 3.0

        def wait(self, seconds):
            return [{"ok": True}]

        def close(self):
            ended.append(True)

    def probed(settings, device):
        clock.now += 60.0
        return {"seconds": 1.0, "flops": 2.0}

    monkeypatch.setattr(timing, "LocalPool", Worker)
    monkeypatch.setattr(timing, "probe", probed)
    found = timing.trials_on_a_gpu([[GRID[0]], [GRID[1]]], "cuda:0", loading)
    assert ended
    assert found["start_up"] == pytest.approx(driver + 3.0)
    assert len(found["tasks"]) == 2


class Workers:
    """Pretend to time tasks, the last that was submitted first; worker k is ready after 2 + k seconds."""

    def __init__(self, fails: int | None) -> None:
        self.fails, self.running, self.most, self.killed = fails, [], 0, False

    def submit(self, task) -> None:
        assert "store" not in task, "it is timed"
        self.running.append(task)
        self.most = max(self.most, len(self.running))

    def wait(self, seconds):
        place, task = len(self.running) - 1, self.running.pop()
        if task["task"] == self.fails:
            return [{"task": task["task"], "ok": False, "kind": "died", "message": "killed by signal 9"}]
        probe = {"seconds": float(task["settings"][0]["seed"]), "flops": 1.0}
        return [
            {
                "task": task["task"],
                "ok": True,
                "probe": probe,
                "ready": time.time() + 2.0 + place,
                "seconds": {},
            }
        ]

    def kill(self) -> None:
        self.killed = True


@pytest.mark.parametrize(("loading", "driver"), [(1.5, 1.5), (60.0, 4.0)])
def test_on_processors_as_many_tasks_are_timed_at_a_time_as_a_sweep_has_workers(
    loading, driver, clock, monkeypatch
) -> None:
    pool = Workers(fails=None)
    monkeypatch.setattr(timing, "open_pool", lambda *asked: pool if asked[1] == 3 else None)
    found = timing.trials_side_by_side([[{"seed": k}] for k in range(7)], 3, "cpu", loading)
    assert [each["seconds"] for each in found["tasks"]] == [0, 1, 2, 3, 4, 5, 6]
    assert found["start_up"] == pytest.approx(driver + 2 + 2)  # the last worker is ready after 4 s
    assert pool.most == 3
    assert pool.killed


def test_a_trial_that_fails_says_why_and_leaves_no_worker(monkeypatch) -> None:
    pool = Workers(fails=1)
    monkeypatch.setattr(timing, "open_pool", lambda *_: pool)
    with pytest.raises(ScalinglabError, match="signal 9"):
        timing.trials_side_by_side([[{"seed": k}] for k in range(3)], 2, None, loading=0.0)
    assert pool.killed
