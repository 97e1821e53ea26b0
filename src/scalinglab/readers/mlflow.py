"""MLflow runs: the SQLite database of a tracking server, and the file store ``mlruns/``.

Both are read as they lie on disk, without the package mlflow: the database read-only, run by run; the file
store from ``<experiment>/<run>/{meta.yaml, params/, metrics/}``.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scalinglab.curves.numbers import number as as_number
from scalinglab.errors import require
from scalinglab.readers.binary import Advance
from scalinglab.readers.logs import LoggedRun, read_yaml, whole_lines

TABLES = {"runs", "params", "metrics", "experiments"}
STATUSES = {"FINISHED": "done", "FAILED": "failed", "KILLED": "failed", "RUNNING": "running"}
_FILE_STATUSES = {3: "done", 4: "failed", 5: "failed", 1: "running"}
MOST_PARAM = 1 << 16  # bytes of a parameter's file


def is_database(path: Path) -> bool:
    """Whether a file is an MLflow database, damaged ones included."""
    with path.open("rb") as file:
        head = file.read(1 << 20)
    if not head.startswith(b"SQLite format 3\0"):
        return False
    try:
        with contextlib.closing(_connect(path)) as database:
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {name for (name,) in names} >= TABLES
    except sqlite3.Error:
        return b"run_uuid" in head and b"lifecycle_stage" in head


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=5)
    database.execute("PRAGMA trusted_schema = OFF")
    return database


def read_database(path: Path, advance: Advance) -> Iterator[LoggedRun]:
    """The runs of a database that were not deleted, one after the other."""
    size = path.stat().st_size
    try:
        with contextlib.closing(_connect(path)) as database:
            runs = database.execute(
                "SELECT run_uuid, runs.name, status, experiments.name FROM runs LEFT JOIN experiments "
                "USING (experiment_id) WHERE runs.lifecycle_stage = 'active' ORDER BY start_time, run_uuid"
            ).fetchall()
            for uuid, name, status, experiment in runs:
                run = LoggedRun(str(name or uuid), status=STATUSES.get(str(status)))
                run.identity = f"mlflow {uuid}"
                for key, value in database.execute(
                    "SELECT key, value FROM params WHERE run_uuid = ?", (uuid,)
                ):
                    run.settings[str(key)] = setting_value(str(value))
                if len({row[3] for row in runs}) > 1:
                    run.settings.setdefault("experiment_name", str(experiment))
                rows = database.execute(
                    "SELECT key, step, value, is_nan FROM metrics WHERE run_uuid = ? ORDER BY timestamp",
                    (uuid,),
                )
                for key, step, value, is_nan in rows:
                    if isinstance(step, int) and isinstance(value, (int, float)):
                        run.points.add(str(key), step, float("nan") if is_nan else float(value))
                advance(size // len(runs))
                yield run
    except (sqlite3.Error, OverflowError) as error:
        broken = LoggedRun(path.name)
        broken.notes.append(f"the database is damaged ({error}): the rest of it is left out")
        yield broken


def is_file_store_run(folder: Path) -> bool:
    """Whether a folder is a run of the file store."""
    return (folder / "meta.yaml").is_file() and (folder / "metrics").is_dir()


def read_run(folder: Path, name: str, advance: Advance) -> LoggedRun:
    """One run of the file store."""
    meta = read_yaml(folder / "meta.yaml", require)
    run = LoggedRun(str(meta.get("run_name") or name), identity=f"mlflow {meta.get('run_id') or folder}")
    status = meta.get("status")
    run.status = _FILE_STATUSES.get(status) if isinstance(status, int) else STATUSES.get(str(status))
    for path in _files(folder / "params"):
        if path.stat().st_size <= MOST_PARAM:
            key = path.relative_to(folder / "params").as_posix()
            run.settings[key] = setting_value(path.read_text(encoding="utf-8", errors="replace"))
    for path in _files(folder / "metrics"):
        _read_metric(path, path.relative_to(folder / "metrics").as_posix(), run)
        advance(path.stat().st_size)
    return run


def _files(folder: Path) -> list[Path]:
    """Names with slashes are folders there."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _read_metric(path: Path, key: str, run: LoggedRun) -> None:
    """Lines of ``timestamp value step``; the step is missing in old ones."""
    bad = 0
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in whole_lines(file):
            words = line.split()
            try:
                run.points.add(key, int(words[2]) if len(words) > 2 else 0, float(words[1]))
            except (ValueError, IndexError):
                bad += 1
    if bad:
        run.notes.append(f"{key}: {bad} lines cannot be read")


def setting_value(value: str) -> Any:
    """Parameters are text in MLflow; numbers are numbers here."""
    if value in ("True", "False"):
        return value == "True"
    plain = as_number(value)
    if plain is None or plain != plain:
        return value
    return int(plain) if plain.is_integer() and abs(plain) < 2**53 else plain
