"""Forecast of the final loss of a run in progress, in less than a hundredth of the run's time.

A run is divided into 200 pieces. Of each piece up to 20 losses are kept on the device, and read once as their
mean. `Outlook.columns` calls `scalinglab.laws.final_loss` at checkpoints, as often as the time allows.
"""

from __future__ import annotations

import copy
import math
import time
from typing import Any

import numpy as np
import torch
from torch import optim

from scalinglab.errors import NotDetermined
from scalinglab.laws.in_progress import LEAST, FinalLoss, Study, final_loss
from scalinglab.laws.schedule import Schedule
from scalinglab.results.types import Reason, reason_of
from scalinglab.store import Store

PIECES = 200  # of a run: its final loss is foretold from so many averages
LOSSES = 20  # of a piece: 4 000 of a run are enough
KNOTS = 400  # of a schedule that is read off PyTorch's
SHARE = 0.003  # of a run's time that estimates may take; calls take twice that of steps of 1 ms
FIRST = 0.35  # measured: seconds of the first estimate, for each run that it reads, 0.02 to 0.3
MOST_EARLIER = 8  # finished runs that are read, the largest networks first


class Outlook:
    """The forecast of a run's final loss.

    Args:
        plan: the schedule of the whole run.
        store: whose finished runs are the earlier ones.

    Attributes:
        latest: the latest estimate.
        due: the step from which on a loss counts again; the last one does.
        reason: why there is none, None where there is one.
        spent: seconds that estimates have taken.
    """

    def __init__(self, plan: Schedule, store: Store | None = None) -> None:
        self.plan, self._store = plan, store
        self.latest: FinalLoss | None = None
        self.reason: Reason | None = None
        self._steps: list[float] = []
        self._losses: list[float] = []
        self._waiting: list[Any] = []
        self._piece = 0
        self.due = -math.inf
        self._study: Study | None = None
        self._begun, self._first, self._cost = time.perf_counter(), 0.0, FIRST
        self.spent = 0.0

    def add(self, step: int, loss: Any) -> None:
        """Add the loss of a step; a tensor is read at the end of a piece only."""
        if step < self.due:
            return
        self._first = self._first or step
        self.due = min(step + self.plan.total / (PIECES * LOSSES), self.plan.total)
        self._waiting.append(loss.detach() if isinstance(loss, torch.Tensor) else loss)
        piece = int(step * PIECES / self.plan.total)
        if piece > self._piece:
            self._piece = piece
            losses, self._waiting = self._waiting, []
            device = next((v.device for v in losses if isinstance(v, torch.Tensor)), None)
            # read as one tensor: the host waits for the device once a piece
            mean = float(torch.stack([torch.as_tensor(v, device=device) for v in losses]).float().mean())
            self._steps.append(float(step))
            self._losses.append(mean)

    def columns(self, step: int) -> dict[str, float]:
        """Columns of a row: `recent_loss`, `seconds_left`, and a new forecast if the time allows one."""
        found = {"recent_loss": self._losses[-1]} if self._losses else {}
        elapsed = time.perf_counter() - self._begun
        if step > self._first:
            found["seconds_left"] = elapsed / (step - self._first) * max(self.plan.total - step, 0.0)
        # at first twice the share of the time so far: the rest is for later estimates
        time_for_it = SHARE * min(2 * elapsed, elapsed + found.get("seconds_left", 0.0)) - self.spent
        if step < LEAST * self.plan.total or self._cost > time_for_it:
            return found
        begun = time.perf_counter()
        try:
            if self._study is None:
                self._study = earlier_runs(self._store) if self._store is not None else Study(())
                self._cost = FIRST * len(self._study.runs)
                if self._cost > time_for_it:
                    return found
            self.latest = final_loss(self._steps, self._losses, schedule=self.plan, like=self._study)
            self.reason = None
        except NotDetermined as error:
            self.reason = reason_of(error)
            return found
        finally:
            self._cost = max(time.perf_counter() - begun, self._cost if self.latest is None else 0.0)
            self.spent += time.perf_counter() - begun
        one = self.latest
        return found | {
            "final_loss": one.value, "final_loss_low": one.low, "final_loss_high": one.high,
            "on_track": float(one.on_track),
        }  # fmt: skip


def earlier_runs(store: Store) -> Study:
    """The finished runs of a store that kept their schedule and their losses, by number of parameters."""
    done = {
        name: record for name, record in store.records().items()
        if record.status == "done" and "schedule" in record.meta
    }  # fmt: skip
    frame = store.curves(live=False, warn=False).frame if done else None
    if frame is None or not {"recent_loss", "step", "n_params"} <= {*frame}:
        return Study(())
    found: list[tuple[float, tuple[Schedule, Any, Any]]] = []
    for name, rows in frame[frame["run"].isin(done)].dropna(subset=["recent_loss"]).groupby("run"):
        knots = done[str(name)].meta["schedule"]
        plan = Schedule(np.array(knots["step"]), np.array(knots["rate"]))
        rows = rows[rows["step"] <= plan.total].sort_values("step")
        if len(rows) and rows["step"].iloc[-1] > (1 - 1 / PIECES) * plan.total:
            found.append((float(rows["n_params"].iloc[-1]), (plan, rows["step"], rows["recent_loss"])))
    found.sort(key=lambda one: -one[0])
    groups: dict[str, list[tuple[Schedule, Any, Any]]] = {}
    for size, run in found[:MOST_EARLIER]:
        groups.setdefault(f"{size:.0f}", []).append(run)
    return Study.of(groups)


def planned(scheduler: Any, total: int) -> Schedule | None:
    """The schedule of one of PyTorch's schedulers, read without taking steps; None where that is impossible.

    `LambdaLR`, which the Hugging Face Trainer uses, and those with a closed form, as `CosineAnnealingLR`.
    """
    steps = np.unique(np.linspace(0, total, KNOTS + 1).astype(int))
    # a copy: the epoch is set below, and the training goes on with its own
    ahead = copy.copy(scheduler)
    if isinstance(scheduler, optim.lr_scheduler.LambdaLR):
        rates = [scheduler.base_lrs[0] * scheduler.lr_lambdas[0](int(step)) for step in steps]
    elif hasattr(scheduler, "_get_closed_form_lr"):
        rates = []
        for step in steps:
            ahead.last_epoch = int(step)
            rates.append(float(ahead._get_closed_form_lr()[0]))
    else:
        return None
    return Schedule(steps.astype(float), np.array(rates, float))
