"""What is read off every run of a group at a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from scalinglab.measure import NormTracker
from scalinglab.train.replicas import Group

# name in `measure.norms` -> column
NORMS = {
    "spectral_complexity": "norm",
    "log_spectral_complexity": "norm_log",
    "spectral": "norm_spectral",
    "l1": "norm_l1",
    "l2": "norm_l2",
    "group21": "norm_group21",
}


class Measure:
    """Reads losses, errors, norms and compute; norms start from the last checkpoint's singular vectors."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.n_params = sum(p[0].numel() for p in group.parameters.values())
        self.flops = step_flops(group)
        self.norms: NormTracker | None = None
        if "norm" in group.setting.measure:
            self.norms = NormTracker(group.model, group.resident.input_shape)

    def __call__(self, rows: Sequence[int]) -> list[dict[str, float]]:
        """One row of the table for each of these runs."""
        group, step = self.group, self.group.step
        found = group.evaluate(rows)
        norms = self._norms(list(rows))
        result = []
        for place, r in enumerate(rows):
            progress = {
                "step": step,
                "epoch": step * group.batch_size / group.sizes[r],
                "examples": step * group.batch_size,
                "compute": float(step) * self.flops,
                "n_params": self.n_params,
            }
            if group.setting.full_batch:
                progress["batch_size"] = group.batch_size
            result.append({**progress, **found[place], **{k: v[place] for k, v in norms.items()}})
        return result

    def _norms(self, rows: list[int]) -> dict[str, list[float]]:
        if self.norms is None:
            return {}
        group = self.group
        whole = len(rows) == group.runs
        stacked = {k: v.detach() for k, v in (*group.parameters.items(), *group.buffers.items())}
        every = self.norms.state
        if not whole and every:
            stacked = {k: v[rows] for k, v in stacked.items()}
            self.norms.state = {k: v[rows] for k, v in every.items()}
        group.model.eval()
        found = self.norms.measure(stacked)
        group.model.train()
        if not whole and every:
            for name, vectors in self.norms.state.items():
                every[name][rows] = vectors.to(every[name].dtype)
            self.norms.state = every
        elif not whole:  # the first time: all were measured, to have vectors for all
            found = {k: v[rows] for k, v in found.items()}
        return {NORMS[k]: v.tolist() for k, v in found.items() if k in NORMS}

    def keep(self, rows: list[int]) -> None:
        """Go on with some of the runs."""
        if self.norms is not None:
            self.norms.state = {k: v[rows] for k, v in self.norms.state.items()}

    def state(self) -> dict[str, Tensor]:
        """What a resumed group needs."""
        return {} if self.norms is None else {k: v.cpu().clone() for k, v in self.norms.state.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up where `state` left off."""
        if self.norms is not None:
            self.norms.state = {k: v.to(self.group.device) for k, v in state.items()}


def step_flops(group: Group) -> int:
    """Floating-point operations of one training step of one run: three forward passes."""
    shape = (1, *group.resident.input_shape)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        group.model.eval()
        group.model(torch.zeros(shape, device=group.device))
        group.model.train()
    return 3 * counter.get_total_flops() * group.batch_size
