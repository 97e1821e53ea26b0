"""Factors on the learning rate along a training of T steps, t = 0, 1, …, T − 1.

- cosine: (1 + cos(π t/T))/2;
- linear: 1 − t/T;
- wsd: 1, and over the last part c of the steps (T − t)/(c T) (warm-up, stable, decay);
- a function of the user's own of t or (t, T), or one of an optimizer that makes a scheduler of
  `torch.optim.lr_scheduler`: its learning rates over that of the run.

A warm-up of w steps multiplies any of them by min(1, (t + 1)/w).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from scalinglab.errors import BadInput
from scalinglab.train.own.references import call
from scalinglab.train.setting import Setting

COOLDOWN = 0.2  # of all steps, where none is given
OPTIMIZER = {"optimizer", "optim", "opt"}  # what functions call theirs


class Schedule:
    """The factors of all runs that share a step.

    Args:
        setting: of any of them.
    """

    def __init__(self, setting: Setting) -> None:
        self.kind, self.warmup = setting.schedule, setting.warmup
        self.cooldown = COOLDOWN if setting.cooldown is None else setting.cooldown
        self.own: Callable[..., Any] | None = setting.own("schedule") if setting.owns("schedule") else None
        self.constant = self.kind == "constant" and not self.warmup

    def factors(self, steps: Tensor, totals: Tensor, table: Tensor | None) -> Tensor:
        """Factors of the runs, (runs,).

        Args:
            steps: t, a scalar on the device.
            totals: T of each run, (runs,).
            table: what `table` gave for them.
        """
        part = (steps / totals).clamp(max=1.0)
        if table is not None:
            found = table.index_select(1, steps.long().clamp(max=table.shape[1] - 1).reshape(1))[:, 0]
        elif self.kind == "cosine":
            found = 0.5 * (1 + torch.cos(math.pi * part))
        elif self.kind == "linear":
            found = 1 - part
        elif self.kind == "wsd":
            found = ((1 - part) / self.cooldown).clamp(max=1.0)
        else:
            found = torch.ones_like(totals)
        if self.warmup:
            rise = self.warmup * totals if self.warmup < 1 else torch.full_like(totals, self.warmup)
            found = found * ((steps + 1) / rise.clamp(min=1.0)).clamp(max=1.0)
        return found

    def table(
        self, settings: Sequence[Setting], totals: Sequence[int], device: torch.device
    ) -> Tensor | None:
        """All factors of a function of the user's own, (runs, steps); None where the schedule is built in."""
        if self.own is None:
            return None
        given = [(total, s.learning_rate) for s, total in zip(settings, totals)]
        rows = {run: self._asked(*run, s) for run, s in zip(given, settings)}
        longest = max(totals)
        filled = [rows[run] + rows[run][-1:] * (longest - run[0]) for run in given]
        return torch.tensor(filled, dtype=torch.float32, device=device)

    def _asked(self, total: int, rate: float, setting: Setting) -> list[float]:
        """The factors at all steps of a run."""
        assert self.own is not None
        what = f"schedule = {self.kind!r} of {total} steps"
        try:
            names = [*inspect.signature(self.own).parameters]
            if of := OPTIMIZER & {*names}:
                found = self._of_scheduler(total, rate, setting, of.pop())
            elif len(names) == 1:  # as of torch.optim.lr_scheduler.LambdaLR
                found = [float(self.own(step)) for step in range(total)]
            else:
                found = [float(self.own(step, total)) for step in range(total)]
        except (TypeError, ValueError) as error:
            raise BadInput(
                f"{what}: {error}; it takes (step) or (step, steps) and returns the factor on the rate, "
                "or (optimizer) and returns a scheduler of torch.optim.lr_scheduler"
            ) from error
        for step, factor in enumerate(found):
            if not math.isfinite(factor) or factor < 0:
                raise BadInput(f"{what} is {factor} at step {step}: give 0 or more")
        return found

    def _of_scheduler(self, total: int, rate: float, setting: Setting, of: str) -> list[float]:
        """What a scheduler does with an optimizer, its argument `of`, that trains nothing."""
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=rate, momentum=0.5)
        offered = {**setting.as_given(), of: optimizer, "steps": total}
        scheduler = call(self.own, offered, "it")  # type: ignore[arg-type]
        found = []
        for _ in range(total):
            found.append(optimizer.param_groups[0]["lr"] / rate)
            if optimizer.param_groups[0]["momentum"] != 0.5:
                raise ValueError("it changes momentum too, which runs keep: leave that out (cycle_momentum)")
            optimizer.step()
            scheduler.step()
        return found
