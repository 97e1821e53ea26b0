"""Hugging Face Trainer: ``trainer_state.json`` of a run's last checkpoint, ``config.json``, safetensors.

The log of a checkpoint holds everything logged before it, so the last one is the run's. The number of
parameters is that of the elements of the tensors in the headers of the safetensors files; no tensor is read.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scalinglab.readers.binary import Advance
from scalinglab.readers.logs import LoggedRun, number
from scalinglab.readers.tables.lines import loads, whole

FILE = "trainer_state.json"
MOST_CONFIG = 16 << 20  # bytes
CHUNK = 1 << 20  # characters read at once; a row of a log is shorter
_NEXT = re.compile(r"[\s,]*")
MOST_HEADER = 100 << 20  # the format's own limit
_CLOCKS = ("_runtime", "_per_second")  # how fast, not how well
_FROM_STATE = ("train_batch_size", "num_train_epochs", "max_steps")
_FROM_CONFIG = (
    "model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "n_embd",
    "n_layer", "n_head", "intermediate_size", "max_position_embeddings",
)  # fmt: skip


def run_folder(state: Path) -> Path:
    """The folder of the run whose state a file is: the one above a checkpoint."""
    return state.parent.parent if state.parent.name.startswith("checkpoint-") else state.parent


def read(states: Iterable[Path], name: str, advance: Advance) -> LoggedRun:
    """One run from the states of its checkpoints: the latest that can be read."""
    run = LoggedRun(name)
    for path in sorted(states, key=checkpoint_step, reverse=True):
        advance(path.stat().st_size)
        if run.points:
            continue
        state = _read_state(path, run)
        run.settings |= {key: state[key] for key in _FROM_STATE if state.get(key) is not None}
        for folder in dict.fromkeys((run_folder(path), path.parent)):
            config = _json(folder / "config.json")
            run.settings |= {key: config[key] for key in _FROM_CONFIG if key in config}
            if count := parameters(folder):
                run.settings["n_params"] = count
    return run


def checkpoint_step(state: Path) -> float:
    """The step of a checkpoint; a state beside the checkpoints was written last."""
    number_of = state.parent.name.removeprefix("checkpoint-")
    return float(number_of) if number_of.isdecimal() and len(number_of) < 20 else math.inf


def _read_state(path: Path, run: LoggedRun) -> dict[str, Any]:
    """Add the rows of ``log_history`` one by one, and return what else the file holds."""
    decoder = json.JSONDecoder(parse_int=whole)
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(CHUNK)
        start = re.search(r'"log_history"\s*:\s*\[', text)
        if start is None:
            run.notes.append(f"{path.parent.name}/{path.name} has no log_history")
            return {}
        head, place = text[: start.end()], start.end()
        while True:
            if len(text) - place < CHUNK // 2:
                text, place = text[place:] + file.read(CHUNK), 0
            place = _NEXT.match(text, place).end()  # type: ignore[union-attr]
            if text[place : place + 1] == "]":
                break
            try:
                row, place = decoder.raw_decode(text, place)
            except (ValueError, RecursionError):
                run.notes.append(f"{path.parent.name}/{path.name} is cut short or damaged: read up to there")
                return {}
            if (
                isinstance(row, dict)
                and (step := number(row.get("step"))) is not None
                and math.isfinite(step)
            ):
                add_entry(run, row, int(step))
        rest = text[place:] + file.read(CHUNK)
    return _object(head + rest)


def add_entry(run: LoggedRun, row: dict[str, Any], step: int) -> None:
    """Add one entry of the trainer's `log_history` to the run."""
    summary = "train_runtime" in row  # the last row: its train_loss is the mean over the whole training
    for key, value in row.items():
        plain = number(value)
        if value in ("NaN", "Infinity", "-Infinity"):
            plain = float(value)
        if key == "step" or key.endswith(_CLOCKS) or (summary and key.startswith("train_")):
            continue
        if plain is not None:
            run.points.add(key, step, plain)


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file() or path.stat().st_size > MOST_CONFIG:
        return {}
    return _object(path.read_bytes())


def _object(text: str | bytes) -> dict[str, Any]:
    """A JSON object; empty if the text is none."""
    try:
        found = loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def parameters(folder: Path) -> int:
    """The number of elements of all tensors in a folder's safetensors files; 0 if there are none."""
    total = 0
    for path in sorted(folder.glob("*.safetensors")):
        if path.is_symlink() and not path.exists():
            continue
        for entry in _header(path).values():
            shape = entry.get("shape") if isinstance(entry, dict) else None
            if isinstance(shape, list) and all(isinstance(n, int) and 0 <= n < 2**48 for n in shape):
                total += math.prod(shape)
    return total if total < 2**60 else 0


def _header(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        head = file.read(8)
        if len(head) < 8:
            return {}
        (length,) = struct.unpack("<Q", head)
        if length > min(MOST_HEADER, path.stat().st_size):
            return {}
        found = _object(file.read(length))
    return {name: entry for name, entry in found.items() if name != "__metadata__"}
