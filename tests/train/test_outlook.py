"""What a tracker says of the end of a run while it trains, on losses that follow a known curve."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import scalinglab as sl
from scalinglab.board import state
from scalinglab.laws import schedule
from scalinglab.train import outlook
from scalinglab.train.tracker import TrackerWarning, hugging_face_callback, lightning_callback

TOTAL = 400
PLAN = schedule.constant(0.1, TOTAL)


def falling(step: float) -> float:
    return 1.0 + (step / TOTAL) ** -0.5


ENOUGH = 1e9  # seconds, of which estimates may take their share


def followed(
    tracker: sl.Tracker,
    clock: SimpleNamespace,
    until: int = TOTAL,
    factor: float = 1.0,
    seconds: float = ENOUGH,
) -> None:
    clock.now += seconds
    for step in range(1, until + 1):
        tracker(step, loss=torch.tensor(falling(step) * (factor if step > 0.4 * TOTAL else 1.0)))


@pytest.mark.slow
def test_rows_say_where_a_run_is_heading(tmp_path, clock) -> None:
    with sl.Tracker(
        nn.Linear(2, 1), n_data=8, norms=False, per_decade=4, store=tmp_path, width=1, schedule=PLAN
    ) as tracker:
        followed(tracker, clock)
    frame = tracker.curves().frame.set_index("step")
    assert frame["final_loss"].isna().loc[:39].all()
    last = frame.loc[200:].dropna(subset=["final_loss"])
    assert (last["final_loss"] - 2).abs().max() < 0.02
    assert ((last["final_loss_low"] < 2) & (last["final_loss_high"] > 2)).all()
    assert frame["seconds_left"].iloc[-1] == 0
    (earlier,) = outlook.earlier_runs(sl.Store(tmp_path)).runs
    assert earlier.total == TOTAL


@pytest.mark.slow
def test_the_board_shows_a_run_in_progress_and_its_alarm(tmp_path, clock) -> None:
    tracker = sl.Tracker(nn.Linear(2, 1), n_data=8, norms=False, per_decade=4, store=tmp_path, schedule=PLAN)
    with pytest.warns(TrackerWarning, match="left the band"):
        followed(tracker, clock, until=260, factor=1.5)
    (row,) = state.outlook(sl.Store(tmp_path)).to_dict("records")
    assert row["state"] == "has left its band"
    assert float(row["final loss"]) == pytest.approx(tracker.outlook.latest.value, rel=1e-3)
    tracker.writer.close()


@pytest.mark.parametrize(("seconds", "estimated"), [(58.0, False), (59.0, True)])
def test_the_first_estimate_comes_after_a_minute(clock, seconds, estimated) -> None:
    """0.35 seconds are three thousandths of twice 58.3."""
    tracker = sl.Tracker(nn.Linear(2, 1), n_data=8, norms=False, per_decade=4, schedule=PLAN)
    followed(tracker, clock, 100, seconds=seconds)
    assert (tracker.outlook.latest is not None) == estimated
    assert tracker.outlook.spent == 0  # the clock stood


def test_losses_in_half_precision_are_averaged_to_their_own_digits() -> None:
    """Fifty of them, added up in half precision, are wrong by several percent."""
    total = 10_000
    tracker = sl.Tracker(nn.Linear(2, 1), n_data=8, norms=False, schedule=schedule.constant(0.1, total))
    for step in range(1, total // 20):
        tracker(step, loss=torch.tensor(3.015625, dtype=torch.bfloat16))
    assert tracker.measure(total // 20)["recent_loss"] == pytest.approx(3.015625, rel=1e-5)


def test_the_latest_losses_of_a_long_run_are_averaged_up_to_its_last_step(clock) -> None:
    total = 50_003
    ahead = outlook.Outlook(schedule.constant(0.1, total))
    for step in range(1, total + 1):
        ahead.add(step, float(step))
    assert ahead.columns(total - 1)["recent_loss"] == pytest.approx(
        total * (1 - 0.5 / outlook.PIECES), rel=1e-3
    )


@pytest.mark.slow
def test_the_trainers_schedulers_are_read_without_a_step(clock) -> None:
    optimizer = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.2)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
    found = outlook.planned(cosine, 100)
    assert found(50.0) == pytest.approx(0.1)
    assert cosine.last_epoch == 0
    linear = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / 100)
    assert outlook.planned(linear, 100)(25.0) == pytest.approx(0.15)
    assert outlook.planned(object(), 100) is None
    level = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)

    class Base:
        pass

    tracker = sl.Tracker(nn.Linear(2, 1), n_data=8, norms=False, per_decade=4)
    callback = hugging_face_callback(tracker, Base)
    callback.on_train_begin(None, SimpleNamespace(max_steps=100), None, lr_scheduler=level)
    clock.now += ENOUGH
    for step in range(1, 101):
        state = SimpleNamespace(global_step=step)
        callback.on_step_end(None, state, None)
        callback.on_log(None, state, None, logs={"loss": falling(4 * step)})
    assert tracker.outlook.latest.low < 2 < tracker.outlook.latest.high

    tracker = sl.Tracker(nn.Linear(2, 1), n_data=8, norms=False, per_decade=4)
    config = SimpleNamespace(interval="step", scheduler=cosine)
    trainer = SimpleNamespace(estimated_stepping_batches=100, lr_scheduler_configs=[config])
    lightning_callback(tracker, Base).on_train_start(trainer, None)
    assert np.allclose(tracker.outlook.plan.rate[-1], 0)


def test_numbers_beside_tensors_and_a_loss_that_cannot_be_read_leave_the_estimate_whole() -> None:
    ahead = outlook.Outlook(PLAN)
    for step in range(1, TOTAL // 2):
        ahead.add(step, falling(step) if step % 3 else torch.tensor(falling(step), dtype=torch.float64))
    before = ahead.columns(TOTAL // 2)["recent_loss"]
    for step in range(TOTAL // 2, TOTAL // 2 + 40):
        with suppress(TypeError):
            ahead.add(step, "none")
    assert before == pytest.approx(falling(TOTAL / 2), rel=0.02)
    assert ahead.columns(TOTAL // 2 + 40)["recent_loss"] == before
