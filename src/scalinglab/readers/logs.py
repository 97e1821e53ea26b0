"""What the readers of logs have in common: runs with settings and metrics, and the table that they become."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from scalinglab.curves import OUTCOME, PROGRESS, SETTING, json_line
from scalinglab.curves.columns import IDENTITY
from scalinglab.curves.names import aliases, bare, measurement
from scalinglab.curves.parts import MOST_NUMBERS

MOST_SETTINGS = 2_000
MOST_TEXT = 200  # characters of a setting
DEEPEST = 8  # levels of a nested configuration
LONGEST_LINE = 1 << 20  # characters of a row
TEXT_SETTINGS = ("model", "dataset", "optimizer", "parameterization")
# settings that say where and when a run was made, not what it is
_BOOKKEEPING = re.compile(
    r"(.*_)?(dir|path|file|folder|url|uri|uuid|timestamp|date|datetime|host|hostname|user|run_name|run_id"
    r"|logdir|device|port|group_name|project|entity|notes|tags)|_?wandb.*|hub_.*|save_.*|logging_.*|report_to"
    r"|log_.*|push_to_.*|dataloader_.*|.*_version"
)


class ReadingWarning(UserWarning):
    """A part of a log that cannot be read and was left out."""


@dataclass
class LoggedRun:
    """One run of a log.

    Attributes:
        name: what it is called, unique among the runs read together.
        settings: its configuration, nested or not.
        points: its metrics.
        status: `done`, `failed`, `running`; None where the log does not tell.
        notes: what could not be read.
        identity: runs of equal identity are one run that was resumed.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    points: Points = field(default_factory=lambda: Points())
    status: str | None = None
    notes: list[str] = field(default_factory=list)
    identity: str = ""


class Points:
    """Metrics against steps, 16 bytes a value whatever the log's size."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[array[int], array[float]]] = {}

    def __bool__(self) -> bool:
        return bool(self._values)

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics."""
        return list(self._values)

    def add(self, metric: str, step: int, value: float) -> None:
        """Add a value; a later one at the same step replaces it."""
        if metric not in self._values:
            self._values[metric] = array("q"), array("d")
        steps, values = self._values[metric]
        steps.append(max(min(step, 2**62), -(2**62)))
        values.append(value)

    def extend(self, other: Points) -> None:
        """Add all of another's values."""
        for metric in other.metrics:
            self.take(metric, other, metric)

    def take(self, name: str, other: Points, metric: str) -> None:
        """Add another's metric under a name."""
        steps, values = other._values[metric]
        mine = self._values.setdefault(name, (array("q"), array("d")))
        mine[0].extend(steps)
        mine[1].extend(values)

    def diverged(self) -> int | None:
        """The step from which on the loss is not finite, if it ends so; the training's where there is one.

        A loss that is NaN wherever it was not evaluated has such gaps all along.
        """
        losses = [m for m in self._values if "loss" in bare(m).split("_")]
        losses.sort(key=lambda m: standard(m) != "train_loss")
        if not losses:
            return None
        steps, values = self._values[losses[0]]
        finite = np.flatnonzero(np.isfinite(np.frombuffer(values)))
        ends = np.diff(finite, prepend=-1, append=len(values)) - 1  # lengths of gaps, the last is the end
        return int(steps[len(values) - int(ends[-1])]) if ends[-1] > ends[:-1].max(initial=0) else None

    def frame(self) -> tuple[pd.DataFrame, list[str]]:
        """One row a step, and the metrics left out because the table would not fit into memory."""
        steps = {m: np.frombuffer(s, np.int64) for m, (s, _) in self._values.items()}
        every = np.unique(np.concatenate(list(steps.values()))) if steps else np.zeros(0, np.int64)
        known = sorted(steps, key=lambda m: (measurement(m) is None, -len(steps[m])))
        kept = set(known[: max(MOST_NUMBERS // max(len(every), 1), 1)])
        columns: dict[str, np.ndarray] = {"step": every}
        for metric in sorted(m for m in kept if bare(m) != "step"):
            column = np.full(len(every), np.nan)
            column[np.searchsorted(every, steps[metric])] = np.frombuffer(self._values[metric][1])
            columns[metric] = column
        return pd.DataFrame(columns), [m for m in steps if m not in kept]


def whole_lines(file: IO[str]) -> Iterator[str]:
    """The lines of a file up to the last whole one: half a number is another number."""
    while line := file.readline(LONGEST_LINE):
        if line.endswith("\n"):
            yield line


def standard(metric: str) -> str:
    """The standard name of a metric: the plain loss of a log is the training's."""
    return "train_loss" if bare(metric) == "loss" else measurement(metric) or metric


def number(value: Any) -> float | None:
    """A logged value as a float; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer of four hundred digits
        return math.inf if value > 0 else -math.inf


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """A nested configuration as one level: ``{"optimizer": {"lr": 0.1}}`` gives ``optimizer.lr``.

    >>> flatten({"optimizer": {"lr": 0.1, "betas": [0.9, 0.95]}, "seed": 3})
    {'optimizer.lr': 0.1, 'optimizer.betas': '[0.9, 0.95]', 'seed': 3}
    """
    found: dict[str, Any] = {}

    def visit(value: Any, name: str, depth: int) -> None:
        if len(found) >= MOST_SETTINGS:
            return
        if isinstance(value, Mapping) and depth < DEEPEST:
            for key, inner in value.items():
                visit(inner, f"{name}.{key}" if name else str(key), depth + 1)
        elif isinstance(value, (bool, str)):
            found[name] = value[:MOST_TEXT] if isinstance(value, str) else value
        elif (plain := number(value)) is not None:
            found[name] = value if isinstance(value, int) and abs(plain) < 2**53 else plain
        elif _is_plain_list(value):
            found[name] = json_line([part if number(part) is None else number(part) for part in value])

    visit(config, "", 0)
    return found


@dataclass(frozen=True)
class LogTable:
    """All runs as one table.

    Attributes:
        frame: a row for each run and step.
        settings: its columns that are settings.
        names: what columns were called, theirs to ours.
        notes: what was left out.
    """

    frame: pd.DataFrame
    settings: list[str]
    names: dict[str, str]
    notes: list[str]


def _is_plain_list(value: Any) -> bool:
    """Whether a value is a short list of plain values; lists that share parts may unfold without end."""
    return (
        isinstance(value, (list, tuple))
        and len(value) <= 50
        and all(isinstance(part, (bool, str, int, float)) for part in value)
    )


def table(runs: Iterable[LoggedRun]) -> LogTable:
    """All runs as one table.

    Each run's metrics and settings get their standard names first, since logs of several kinds and ages call
    them differently. Settings that vary between runs become columns, and those that the laws know even where
    they do not.
    """
    every = list(runs)
    merged = _resumed(every)
    notes = [f"{run.name}: {note}" for run in every for note in run.notes]
    names: dict[str, str] = {}
    configs = _columns_of([_standard_settings(flatten(run.settings), names) for run in merged])
    frames = []
    for run, config in zip(merged, configs, strict=True):
        frame, left_out = run.points.frame()
        frame = _standard_metrics(frame, names)
        if left_out:
            notes.append(
                f"{run.name}: {len(left_out)} of {len(run.points.metrics)} metrics left out: too many"
            )
        diverged = run.points.diverged()
        status = "diverged" if diverged is not None else run.status
        chosen = {f"config.{name}" if name in frame else name: value for name, value in config.items()}
        frame = frame.assign(run=run.name, **chosen)
        if status is not None:
            frame["status"] = status
        if diverged is not None:
            frame["diverged_at"] = diverged
        frames.append(frame)
    together = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    known = dict.fromkeys(name for config in configs for name in config)
    settings = [column for name in known for column in (name, f"config.{name}") if column in together]
    return LogTable(together, settings, {t: o for t, o in names.items() if o in together}, notes)


def _standard_metrics(frame: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """Metrics under their standard names, where these are free."""
    renamed: dict[str, str] = {}
    for metric in map(str, frame.columns):
        ours = standard(metric)
        if ours != metric and ours not in frame and ours not in renamed.values():
            renamed[metric] = ours
    names.update(renamed)
    return frame.rename(columns=renamed)


def _standard_settings(config: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Settings under their standard names, by the last part of a nested name where that is theirs alone."""
    last = {name: re.split(r"[./]", name)[-1] for name in config}
    found = dict(config)
    for ours, theirs in aliases(dict.fromkeys(last.values())).items():
        candidates = [name for name in config if last[name] == theirs[0]]
        if ours in SETTING and ours not in found and len(candidates) == 1:
            if ours in TEXT_SETTINGS and not isinstance(found[candidates[0]], str):
                continue
            found[ours] = found.pop(candidates[0])
            names[candidates[0]] = ours
    return found


def _resumed(runs: Iterable[LoggedRun]) -> list[LoggedRun]:
    """Runs that were resumed as one; repeated names made unique."""
    found: dict[str, LoggedRun] = {}
    for run in runs:
        before = found.get(run.identity) if run.identity else None
        if before is not None:
            before.points.extend(run.points)
            before.settings |= run.settings
            before.status = run.status
            continue
        found[run.identity or f"run {len(found)}"] = run
    taken: dict[str, int] = {}
    kept = [run for run in found.values() if run.points]
    for run in kept:
        run.name = re.sub(r"[^\w.=+@-]+", "-", run.name).strip("-.") or "run"
        taken[run.name] = taken.get(run.name, 0) + 1
        if taken[run.name] > 1:
            run.name = f"{run.name}-{taken[run.name]}"
    return kept


def _columns_of(configs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The settings that become columns: those that vary, and those that the laws know."""
    names = {}
    for name in dict.fromkeys(name for config in configs for name in config):
        if name not in SETTING and _BOOKKEEPING.fullmatch(bare(name)):
            continue
        values = {json.dumps(config.get(name), default=str) for config in configs}
        if len(values) > 1 or name in SETTING:
            reserved = name in (*IDENTITY, *PROGRESS, *OUTCOME, "loss")
            names[name] = f"config.{name}" if reserved else name
    return [{names[n]: v for n, v in config.items() if n in names and v is not None} for config in configs]


def read_yaml(path: Path, require: Callable[..., Any]) -> dict[str, Any]:
    """A configuration in YAML, without making any object that it names; empty where there is none."""
    if not path.is_file() or path.stat().st_size > 4 << 20:
        return {}
    yaml = require("yaml", "readers", f"reading {path.name}")

    class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
        """Numbers, text, lists and dictionaries; anything else by its text or not at all."""

    def foreign(loader: Any, suffix: str, node: Any) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return loader.construct_scalar(node)
        return None

    Loader.add_multi_constructor("", foreign)
    try:
        with path.open("rb") as file:
            found = yaml.load(file, Loader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
