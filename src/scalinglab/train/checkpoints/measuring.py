"""Measurements of every run of a group at a checkpoint."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from torch import Tensor, nn

from scalinglab.measure import Flops, NormTracker, flops, margins
from scalinglab.measure.network_norms.cuda_graphs import Arriving
from scalinglab.measure.network_norms.device_reads import Readers
from scalinglab.measure.network_norms.tracker import NAMES, Measurement
from scalinglab.support.work import phase
from scalinglab.train.evaluation import Evaluation
from scalinglab.train.replicas import Group
from scalinglab.train.training_step import probe

# name in `measure.norms` -> column
NORMS = {
    "spectral_complexity": "norm",
    "log_spectral_complexity": "norm_log",
    "spectral": "norm_spectral",
    "l1": "norm_l1",
    "l2": "norm_l2",
    "group21": "norm_group21",
    "column_average": "norm_column_average",
    "log_column_average": "norm_column_average_log",
    "group21_average": "norm_group21_average",
}
PUBLISHED = {"spectral_complexity": "norm_as_published", "log_spectral_complexity": "norm_as_published_log"}
MARGINS = {"margin", "margin_histogram"}
BINS = 40  # of the histogram of margins


class MeasureWarning(UserWarning):
    """Something that a setting asks for is not defined for its network."""


def bin_column(k: int) -> str:
    """The column that holds the fraction of margins in the k-th bin."""
    return f"margin_bin_{k:02d}"


@dataclass
class _Shared:
    """What groups of one network share: its cost, its graph of norms, and captured CUDA graphs."""

    cost: Flops | None = None
    readers: dict[tuple[str, tuple[str, ...]], Readers] = field(default_factory=dict)
    no_norms: str | None = None  # why there are none, of the user's own network; empty where there are


_SHARED: WeakKeyDictionary[nn.Module, _Shared] = WeakKeyDictionary()


class Measure:
    """Reads losses, errors, norms and compute; norms start from the last checkpoint's singular vectors."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.norms: list[tuple[NormTracker, dict[str, str]]] = []
        wanted = group.setting.measure if self._has_norms() else ()
        if "norm" in wanted:
            self.norms.append((self._tracker(), NORMS))
        if "norm_as_published" in wanted:
            self.norms.append((self._tracker("as_published", which=("spectral_complexity",)), PUBLISHED))
        shared = _SHARED.setdefault(group.model, _Shared())
        if shared.cost is None:
            shared.cost = self._cost()
        self.n_params, self.flops = shared.cost.n_params, shared.cost.step  # the latter for one example

    def _cost(self) -> Flops:
        """What a pass of one example costs."""
        model, data = self.group.model, self.group.resident
        if self.group.setting.owns("model"):
            return probe(self.group.setting).cost
        # a linearised network is charged what the network itself would take
        network: Any = getattr(model, "network", model)
        return flops(network, data.input_shape)

    def _has_norms(self) -> bool:
        """Whether norms are defined for the network; warns where they are not."""
        setting = self.group.setting
        if not setting.owns("model") or not any(name.startswith("norm") for name in setting.measure):
            return True
        shared = _SHARED.setdefault(self.group.model, _Shared())
        if shared.no_norms is None:
            try:
                numbers = {**self.group.parameters, **self.group.buffers}
                self._tracker().begin({k: v[:1].detach() for k, v in numbers.items()}).result()
                shared.no_norms = ""
            except Exception as error:  # whatever a network may do
                shared.no_norms = " ".join(str(error).split())
        if shared.no_norms:
            text = f"no norms of {setting.model}: {shared.no_norms}; measure=[] leaves them out"
            warnings.warn(text, MeasureWarning, stacklevel=2)
        return not shared.no_norms

    def _tracker(self, definition: str = "bartlett", which: tuple[str, ...] = NAMES) -> NormTracker:
        """A tracker of the group's network, which shares what groups of one architecture can share."""
        model, shape = self.group.model, self.group.resident.input_shape
        shared = _SHARED.setdefault(model, _Shared()).readers
        graph = next((readers.plan.graph for readers in shared.values()), None)
        readers = shared.get((definition, which))
        tracker = NormTracker(model, shape, definition, which, graph=graph, readers=readers)
        shared[definition, which] = tracker.readers
        return tracker

    def __call__(self, rows: Sequence[int]) -> list[dict[str, float]]:
        """One row of the table for each of these runs."""
        return self.begin(rows).result()

    def free(self) -> bool:
        """Whether a measurement can begin without waiting for that of another group."""
        return all(tracker.readers.free() for tracker, _ in self.norms)

    def begin(self, rows: Sequence[int]) -> Checkpoint:
        """Launch the measurements of a checkpoint; training may continue before the result is read."""
        # a GPU reads norms and evaluates side by side, and the host puts norms together meanwhile
        with phase("norms"):
            group = self.group
            stacked = {k: v.detach() for k, v in (*group.parameters.items(), *group.buffers.items())}
            norms = [(self._begin(tracker, stacked, list(rows)), names) for tracker, names in self.norms]
        with phase("evaluation"):
            return Checkpoint(self, list(rows), norms, self.group.begin_evaluation(rows))

    def row(self, r: int, step: int, found: dict[str, float]) -> dict[str, float]:
        """What is measured of a run, and how far it is."""
        group, batch = self.group, self.group.batches[r]
        progress = {
            "step": step,
            "epoch": step * batch / group.sizes[r],
            "examples": step * batch,
            "compute": float(step) * (self.flops * batch),
            "n_params": self.n_params,
        }
        if group.setting.full_batch:
            progress["batch_size"] = batch
        row = {**progress, **found}
        if MARGINS & set(group.setting.measure):
            row |= self._margins(r, row.get("norm_log"))
        return row

    def _margins(self, r: int, log_norm: float | None) -> dict[str, float]:
        """Margins of the training examples, raw and normalised (damico2025 figure 6).

        Their median, lower 5 %, mean and minimum; for "margin_histogram" also the largest and the fraction
        in each of `BINS` equal bins from the smallest to the largest.
        """
        group = self.group
        index = group.stream.subsets[r][: group.setting.evaluate_at_most]
        stored, y = group.resident.batch(index[None])
        found = margins(group.module(r), group.resident.inputs(stored)[0], y[0], log_complexity=log_norm)
        columns: dict[str, float] = {}
        for name, values in (("margin", found.raw), ("margin_normalized", found.normalized)):
            low, median = np.quantile(values, (0.05, 0.5))
            columns |= {name: median, f"{name}_low": low}
            columns |= {f"{name}_mean": values.mean(), f"{name}_min": values.min()}
        if "margin_histogram" in group.setting.measure:
            columns |= {"margin_max": found.raw.max(), "margin_normalized_max": found.normalized.max()}
            counts, _ = np.histogram(found.raw, bins=BINS)
            columns |= {bin_column(k): count / len(found.raw) for k, count in enumerate(counts)}
        return {name: float(value) for name, value in columns.items()}

    def _begin(self, tracker: NormTracker, stacked: dict[str, Tensor], rows: list[int]) -> Norms:
        """The norms of some of the runs; the first time all are measured, to have vectors for all.

        A GPU always measures all: it takes no longer, and a graph is captured for one number of runs.
        """
        every = {} if self.group.device.type == "cuda" else tracker.state
        if not every or rows == list(range(self.group.runs)):
            return Norms(tracker.begin(stacked), rows)
        tracker.state = {k: v[rows] for k, v in every.items()}
        found = tracker.begin({k: v[rows] for k, v in stacked.items()})
        for name, vectors in tracker.state.items():
            every[name][rows] = vectors.to(every[name].dtype)
        tracker.state = every
        return Norms(found, None)

    def keep(self, rows: list[int]) -> None:
        """Go on with some of the runs."""
        for tracker, _ in self.norms:
            tracker.state = {k: v[rows] for k, v in tracker.state.items()}

    def state(self) -> list[dict[str, Tensor]]:
        """What a resumed group needs."""
        return [{k: v.cpu().clone() for k, v in tracker.state.items()} for tracker, _ in self.norms]

    def restore(self, state: Sequence[dict[str, Any]]) -> None:
        """Restore the state saved by `state`."""
        for (tracker, _), kept in zip(self.norms, state, strict=True):
            tracker.state = {k: v.to(self.group.device) for k, v in kept.items()}


@dataclass(frozen=True)
class Norms:
    """Norms on their way: of these rows of what is measured, or of all of it."""

    begun: Measurement
    rows: list[int] | None

    def columns(self, names: dict[str, str]) -> dict[str, list[Any]]:
        """By column, one value a run; where a norm is NaN, `norm_missing` says why."""
        found = {names[k]: v for k, v in self.begun.result().items() if k in names}
        columns: dict[str, list[Any]] = {
            k: (v if self.rows is None else v[self.rows]).tolist() for k, v in found.items()
        }
        missing = self.begun.tracker.missing
        if missing is None or "norm" not in columns:
            return columns
        return {**columns, "norm_missing": [missing] * len(columns["norm"])}


class Checkpoint:
    """Measurements of some runs at one step, in transfer to the host."""

    def __init__(
        self,
        measure: Measure,
        rows: list[int],
        norms: list[tuple[Norms, dict[str, str]]],
        evaluation: Evaluation,
    ) -> None:
        self.measure, self.rows, self.norms, self.evaluation = measure, rows, norms, evaluation
        self.step = measure.group.step
        self.diverged = Arriving(measure.group.clock.diverged_at)

    def ready(self) -> bool:
        """Whether everything has arrived, so that `result` does not wait."""
        norms = all(norms.begun.ready() for norms, _ in self.norms)
        return norms and self.evaluation.ready() and self.diverged.ready()

    def result(self) -> list[dict[str, float]]:
        """One row of the table for each of the runs."""
        columns: dict[str, list[Any]] = {}
        with phase("norms"):
            for norms, names in self.norms:
                columns |= norms.columns(names)
        found = self.evaluation.result()
        return [
            self.measure.row(r, self.step, {**found[place], **{k: v[place] for k, v in columns.items()}})
            for place, r in enumerate(self.rows)
        ]

    def diverged_at(self) -> list[int]:
        """For each run of the group the step at which its loss was first not finite, −1 while it is."""
        return [int(step) for step in self.diverged.wait()]
