"""W&B runs as the client writes them to disk, online or offline: ``run-*.wandb``.

The file is a LevelDB log of `Record` messages. Of these the configuration, the history and the exit code are
read, each by its field's number, which protocol buffers never change; the package wandb is not needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scalinglab.readers.binary import LENGTH, VARINT, Advance, LevelLog, fields, text
from scalinglab.readers.logs import LoggedRun, decode_records, number
from scalinglab.readers.tables.lines import loads

PATTERN = "*.wandb"
HISTORY, CONFIG, RUN, EXIT = 2, 5, 17, 18  # of Record
LONGEST = 400  # characters of a number


def read(path: Path, name: str, advance: Advance) -> LoggedRun:
    """One run; a file without an exit record is of a run that is going on, or was killed."""
    run = LoggedRun(name, status="running")
    step = 0

    def decode(record: bytes) -> None:
        nonlocal step
        step = _read_record(record, run, step)

    if decode_records(run, path, LevelLog, decode, advance) and not run.points:
        run.notes.append(f"{path.name} holds no row: nothing was logged yet, or the file is cut short")
    return run


def _read_record(record: bytes, run: LoggedRun, step: int) -> int:
    for field, kind, value in fields(record):
        if kind != LENGTH:
            continue
        if field == HISTORY:
            return read_history(bytes(value), run, step)
        if field == CONFIG:
            _read_config(bytes(value), run)
        elif field == RUN:
            _read_run(bytes(value), run)
        elif field == EXIT:
            codes = [int(v) for n, k, v in fields(bytes(value)) if n == 1 and k == VARINT]
            run.status = "failed" if any(codes) else "done"
    return step


def read_history(history: bytes, run: LoggedRun, step: int) -> int:
    """Add one row and return the step that follows where none is given."""
    row: dict[str, float] = {}
    for field, kind, value in fields(history):
        if field == 1 and kind == LENGTH:
            name, data = _item(bytes(value))
            if (plain := plain_number(data)) is not None:
                row[name] = plain
        elif field == 2 and kind == LENGTH:
            step = next((int(v) for n, k, v in fields(bytes(value)) if n == 1 and k == VARINT), 0)
    if "_step" in row and abs(row["_step"]) < 2**53:
        step = int(row["_step"])
    for name, plain in row.items():
        if not name.startswith("_"):
            run.points.add(name, step, plain)
    return step + 1


def _item(item: bytes) -> tuple[str, bytes]:
    """The name of a value, nested keys joined by dots, and its JSON."""
    names, data = [], b""
    for field, kind, value in fields(item):
        if field in (1, 2) and kind == LENGTH:
            names.append(text(value))
        elif field == 16 and kind == LENGTH:
            data = bytes(value)
    return ".".join(names), data


def plain_number(data: bytes) -> float | None:
    """A number as W&B writes it in JSON, without a parser; None if it is something else."""
    if not data or data[:1] not in b'-0123456789NI"' or len(data) > LONGEST + 2:
        return None
    word = data.decode("ascii", "replace").strip('"')
    if data[:1] == b'"' and word not in ("NaN", "Infinity", "-Infinity"):
        return None
    try:
        return float(word)
    except ValueError:
        return None


def _read_config(config: bytes, run: LoggedRun) -> None:
    for field, kind, value in fields(config):
        if field == 1 and kind == LENGTH:
            name, data = _item(bytes(value))
            if not name.startswith("_wandb"):
                run.settings[name] = _setting(data)


def _setting(data: bytes) -> Any:
    try:
        value = loads(data)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and set(value) <= {"value", "desc"} and "value" in value:
        value = value["value"]
    return value if not isinstance(value, float) else number(value)


def _read_run(record: bytes, run: LoggedRun) -> None:
    for field, kind, value in fields(record):
        if kind != LENGTH:
            continue
        if field == 1:
            run.identity = f"wandb {text(value)}"
            run.name = run.name or text(value)
        elif field == 8 and value:
            run.name = text(value)
        elif field == 4:
            _read_config(bytes(value), run)
