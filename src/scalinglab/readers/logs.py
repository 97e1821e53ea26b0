"""Shared by all readers of logs: runs with settings and metrics, and the table made of them."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pandas as pd

from scalinglab.curves import OUTCOME, PROGRESS, SETTING, json_line
from scalinglab.curves.columns import IDENTITY
from scalinglab.curves.names import aliases, bare
from scalinglab.readers.binary import Advance, Damaged, Records
from scalinglab.readers.points import MetricPoints, standard

MOST_SETTINGS = 2_000
LONGEST_SETTING = 200  # characters of a setting
DEEPEST_CONFIG = 8  # levels of a configuration
LONGEST_LINE = 1 << 20  # characters of a row
TEXT_SETTINGS = ("model", "dataset", "optimizer", "parameterization")
# settings that say where and when a run was made
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
        status: `done`, `failed`, `running`; None if the log does not contain it.
        notes: what could not be read.
        identity: runs of equal identity are one run that was resumed.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    points: MetricPoints = field(default_factory=lambda: MetricPoints())
    status: str | None = None
    notes: list[str] = field(default_factory=list)
    identity: str = ""


def decode_records(
    run: LoggedRun, path: Path, kind: type[Records], decode: Callable[[bytes], None], advance: Advance
) -> bool:
    """Decode the records of a binary log up to the first damaged one; False, with a note, if there is one."""
    problem = None
    with path.open("rb") as file:
        records = kind(file, advance)
        try:
            for record in records:
                decode(record)
        except (Damaged, struct.error, ValueError, RecursionError) as error:
            problem = str(error)
    problem = problem or (None if records.cut else records.problem)
    if problem:
        run.notes.append(f"{path.name} is damaged ({problem}): the rest of it is left out")
    return problem is None


def whole_lines(file: IO[str], cut: list[str] | None = None) -> Iterator[str]:
    """The complete lines of a file that are not too long; a line cut short may end within a number.

    Args:
        cut: receives the last line if it has no newline.
    """
    begins = True
    while line := file.readline(LONGEST_LINE):
        ends = line.endswith("\n")
        if begins and ends:
            yield line
        elif begins and cut is not None and len(line) < LONGEST_LINE:
            cut.append(line)
        begins = ends


def number(value: Any) -> float | None:
    """A logged value as a float; None if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer of four hundred digits
        return math.inf if value > 0 else -math.inf


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten a nested configuration: ``{"optimizer": {"lr": 0.1}}`` gives ``optimizer.lr``.

    >>> flatten({"optimizer": {"lr": 0.1, "betas": [0.9, 0.95]}, "seed": 3})
    {'optimizer.lr': 0.1, 'optimizer.betas': '[0.9, 0.95]', 'seed': 3}
    """
    found: dict[str, Any] = {}

    def visit(value: Any, name: str, depth: int) -> None:
        if len(found) >= MOST_SETTINGS:
            return
        if isinstance(value, Mapping) and depth < DEEPEST_CONFIG:
            for key, inner in value.items():
                visit(inner, f"{name}.{key}" if name else str(key), depth + 1)
        elif isinstance(value, (bool, str)):
            found[name] = value[:LONGEST_SETTING] if isinstance(value, str) else value
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
    """Whether a value is a short list of plain values; nested lists could unfold without end."""
    return (
        isinstance(value, (list, tuple))
        and len(value) <= 50
        and all(isinstance(part, (bool, str, int, float)) for part in value)
    )


def table(runs: Iterable[LoggedRun]) -> LogTable:
    """All runs as one table.

    Each run's metrics and settings get their standard names first, because loggers name them differently.
    Settings that vary between runs become columns; settings that the laws use always do.
    """
    every = list(runs)
    merged = _resumed(every)
    notes = [f"{run.name}: {note}" for run in every for note in run.notes]
    names: dict[str, str] = {}
    configs = _columns_of([standard_settings(flatten(run.settings), names) for run in merged])
    frames = []
    for run, config in zip(merged, configs, strict=True):
        frame, left_out = run.points.frame()
        frame = _standard_metrics(frame, names)
        if left_out:
            more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
            notes.append(
                f"{run.name}: too many values, metrics of unknown names left out: "
                f"{', '.join(left_out[:3])}{more}"
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


def standard_settings(config: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
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
    """Merge the parts of resumed runs, and make repeated names unique."""
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
    """The settings that become columns: those that vary, and those that the laws use."""
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
    """A configuration in YAML; no object that it names is constructed. Empty if there is none."""
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
