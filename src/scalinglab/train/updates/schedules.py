"""Factors on the learning rate along a training of T steps, t = 0, 1, …, T − 1.

- cosine: (1 + cos(π t/T))/2;
- linear: 1 − t/T;
- wsd: 1, and over the last part c of the steps (T − t)/(c T) (warm-up, stable, decay);
- a function of the user's own of (t, T).

A warm-up of w steps multiplies any of them by min(1, (t + 1)/w).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from scalinglab.errors import BadInput
from scalinglab.train.setting import Setting

COOLDOWN = 0.2  # of all steps, where none is given


class Schedule:
    """The factors of all runs that share a step.

    Args:
        setting: of any of them.
    """

    def __init__(self, setting: Setting) -> None:
        self.kind, self.warmup = setting.schedule, setting.warmup
        self.cooldown = COOLDOWN if setting.cooldown is None else setting.cooldown
        self.own: Callable[[int, int], Any] | None = (
            setting.own("schedule") if setting.owns("schedule") else None
        )
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

    def table(self, totals: Sequence[int], device: torch.device) -> Tensor | None:
        """All factors of a function of the user's own, (runs, steps); None where the schedule is built in."""
        if self.own is None:
            return None
        rows = {total: [self._asked(step, total) for step in range(total)] for total in set(totals)}
        longest = max(totals)
        filled = [rows[total] + rows[total][-1:] * (longest - total) for total in totals]
        return torch.tensor(filled, dtype=torch.float32, device=device)

    def _asked(self, step: int, total: int) -> float:
        assert self.own is not None
        try:
            factor = float(self.own(step, total))
        except (TypeError, ValueError) as error:
            raise BadInput(
                f"schedule = {self.kind!r} at step {step} of {total}: {error}; it takes (step, steps) and "
                "returns the factor on the learning rate"
            ) from error
        if not math.isfinite(factor) or factor < 0:
            raise BadInput(f"schedule = {self.kind!r} is {factor} at step {step} of {total}: give 0 or more")
        return factor
