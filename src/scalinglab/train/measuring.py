"""What is read off every run of a group at a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from scalinglab.measure import NormTracker, flops, margins
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
        cost = flops(group.model, group.resident.input_shape, group.batch_size)
        self.n_params, self.flops = cost.n_params, cost.step
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
            row = {**progress, **found[place], **{k: v[place] for k, v in norms.items()}}
            if "margin" in group.setting.measure:
                row |= self._margins(r, row.get("norm_log"))
            result.append(row)
        return result

    def _margins(self, r: int, log_norm: float | None) -> dict[str, float]:
        """Lower quantiles of the training examples' margins, raw and normalised (damico2025 figure 6)."""
        group = self.group
        index = group.stream.subsets[r][: group.setting.evaluate_at_most]
        stored, y = group.resident.batch(index[None])
        found = margins(group.module(r), group.resident.inputs(stored)[0], y[0], log_complexity=log_norm)
        raw, normal = found.quantiles((0.05, 0.5), normalized=False), found.quantiles((0.05, 0.5))
        columns = {"margin": raw[0.5], "margin_low": raw[0.05]}
        return columns | {"margin_normalized": normal[0.5], "margin_normalized_low": normal[0.05]}

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
        with group.program.evaluating():
            found = self.norms.measure(stacked)
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
