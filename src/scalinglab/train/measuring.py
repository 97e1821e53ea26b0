"""What is read off every run of a group at a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from scalinglab.measure import NormTracker, flops, margins
from scalinglab.measure.network_norms.device_reads import Readers
from scalinglab.measure.network_norms.tracker import CHEAP
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
PUBLISHED = {"spectral_complexity": "norm_as_published", "log_spectral_complexity": "norm_as_published_log"}
PATH = {"path": "norm_path"}

# what groups of one network share, by definition and norms: its graph, and what was captured to measure it
_READERS: WeakKeyDictionary[nn.Module, dict[tuple[str, tuple[str, ...]], Readers]] = WeakKeyDictionary()


class Measure:
    """Reads losses, errors, norms and compute; norms start from the last checkpoint's singular vectors."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.norms: list[tuple[NormTracker, dict[str, str]]] = []
        wanted = group.setting.measure
        if "norm" in wanted:
            self.norms.append((self._tracker(), NORMS))
        if "norm_as_published" in wanted:
            self.norms.append((self._tracker("as_published", which=("spectral_complexity",)), PUBLISHED))
        if "norm_path" in wanted:
            self.norms.append((self._tracker(which=("path",)), PATH))
        graph = self.norms[0][0].graph if self.norms else None
        cost = flops(group.model, group.resident.input_shape, group.batch_size, graph)
        self.n_params, self.flops = cost.n_params, cost.step

    def _tracker(self, definition: str = "bartlett", which: tuple[str, ...] = CHEAP) -> NormTracker:
        """A tracker of the group's network, which shares what groups of one architecture can share."""
        model, shape = self.group.model, self.group.resident.input_shape
        shared = _READERS.setdefault(model, {})
        graph = next((readers.plan.graph for readers in shared.values()), None)
        readers = shared.get((definition, which))
        tracker = NormTracker(model, shape, definition, which, graph=graph, readers=readers)
        shared[definition, which] = tracker.readers
        return tracker

    def __call__(self, rows: Sequence[int]) -> list[dict[str, float]]:
        """One row of the table for each of these runs."""
        group, step = self.group, self.group.step
        # a GPU reads norms and evaluates side by side, and the host puts norms together meanwhile
        begun = self._begin_norms(list(rows))
        evaluation = group.begin_evaluation(rows)
        norms, found = begun(), evaluation()
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
        return self._begin_norms(rows)()

    def _begin_norms(self, rows: list[int]) -> Callable[[], dict[str, list[float]]]:
        """Columns of norms, when they are asked for."""
        group = self.group
        stacked = {k: v.detach() for k, v in (*group.parameters.items(), *group.buffers.items())}
        begun = [(self._begin(tracker, stacked, rows), names) for tracker, names in self.norms]

        def collect() -> dict[str, list[float]]:
            columns: dict[str, list[float]] = {}
            for result, names in begun:
                columns |= {names[k]: v.tolist() for k, v in result().items() if k in names}
            return columns

        return collect

    def _begin(
        self, tracker: NormTracker, stacked: dict[str, Tensor], rows: list[int]
    ) -> Callable[[], dict[str, Tensor]]:
        """The norms of some of the runs; the first time all are measured, to have vectors for all.

        A GPU always measures all: it takes no longer, and a graph is captured for one number of runs.
        """
        every = {} if self.group.device.type == "cuda" else tracker.state
        if not every or rows == list(range(self.group.runs)):
            begun = tracker.begin(stacked)
            return lambda: {k: v[rows] for k, v in begun.result().items()}
        tracker.state = {k: v[rows] for k, v in every.items()}
        found = tracker.measure({k: v[rows] for k, v in stacked.items()})
        for name, vectors in tracker.state.items():
            every[name][rows] = vectors.to(every[name].dtype)
        tracker.state = every
        return lambda: found

    def keep(self, rows: list[int]) -> None:
        """Go on with some of the runs."""
        for tracker, _ in self.norms:
            tracker.state = {k: v[rows] for k, v in tracker.state.items()}

    def state(self) -> list[dict[str, Tensor]]:
        """What a resumed group needs."""
        return [{k: v.cpu().clone() for k, v in tracker.state.items()} for tracker, _ in self.norms]

    def restore(self, state: Sequence[dict[str, Any]]) -> None:
        """Take up where `state` left off."""
        for (tracker, _), kept in zip(self.norms, state, strict=True):
            tracker.state = {k: v.to(self.group.device) for k, v in kept.items()}
