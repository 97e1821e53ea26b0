"""A run in progress: JSON lines in its own file, the header first, then one line a checkpoint.

Each line goes to the system in one piece as soon as it is appended, so that it outlives a killed writer.
A line that was cut short is left out on reading and cut off on resuming. NaN is written as null and
infinity as 1e999, which every JSON reader takes and reads as infinity.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from scalinglab.curves import PROGRESS, SETTING, json_line, plain
from scalinglab.errors import BadInput
from scalinglab.store.files import RunBusy, StoreError, lock, open_to_lock, writing
from scalinglab.store.record import SEALED, Record

Row = dict[str, Any]
_PLAIN = (float, int, bool, type(None))
_RESERVED = ("run", "source", "experiment", "status", "diverged")


class RunWriter:
    """Writes one run: `append` a row a checkpoint, then `seal`.

    As a context manager it seals the run as done at the end of the block, and as failed, with the
    traceback, where the block raises; after Ctrl-C the run stays unfinished. Made by `Store.start` and
    `Store.resume`.
    """

    def __init__(self, path: Path, descriptor: int, record: Record, seal: Callable[..., None]) -> None:
        self.path = path
        self.record = record
        self.rows: list[Row] = []
        self.constant = {name: plain(value) for name, value in record.setting.items()}
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        self._end = 0
        self._seal = seal

    @property
    def run(self) -> str:
        """The run's name."""
        return self.record.run

    @property
    def closed(self) -> bool:
        """Whether the run was sealed or left."""
        return self._file.closed

    def append(self, row: Mapping[str, Any] | None = None, **values: Any) -> None:
        """Add a checkpoint: progress and measurements by name.

        A checkpoint with the same progress as an earlier one replaces it.
        """
        if self.closed:
            raise BadInput(f"run {self.run} is closed; start or resume it to append")
        checked = _check({**(row or {}), **values}, self)
        self._write(checked)
        self.rows.append(checked)

    def seal(self, status: str = "done", *, error: str | None = None, at: float | None = None) -> None:
        """Finish the run and turn it into a Parquet file.

        Args:
            status: `done`, `diverged` or `failed`.
            error: what went wrong, for a failed run.
            at: where it diverged; the last row's progress where not given.
        """
        if status not in SEALED:
            raise BadInput(f"status={status!r} must be one of {', '.join(SEALED)}")
        if self.closed:
            raise BadInput(f"run {self.run} is closed already")
        if status == "diverged" and at is None:
            last = self.rows[-1] if self.rows else {}
            at = next((last[name] for name in PROGRESS if last.get(name) is not None), 0)
        record = replace(self.record, status=status, error=error, finished=time.time(), diverged=at)
        self._seal(record, self.rows)
        with contextlib.suppress(PermissionError):  # Windows keeps open files; start and unfinished clean up
            self.path.unlink(missing_ok=True)  # before the lock goes: nobody may take it for unfinished
        self.close()

    def close(self) -> None:
        """Leave the run as it is, unfinished; `Store.resume` goes on with it."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.closed:
            return
        if error is None:
            self.seal("done")
        elif isinstance(error, Exception) and not isinstance(error, StoreError):
            self.seal("failed", error="".join(traceback.format_exception(error)))
        else:  # Ctrl-C, or a store that cannot write: the run can go on later
            self.close()

    def _begin(self) -> None:
        self._file.truncate(0)
        self._end = 0
        header = {"scalinglab": 1, "run": self.run, "setting": self.record.setting}
        header |= {"source": self.record.source, "experiment": self.record.experiment}
        self._write(header | {"meta": self.record.meta, "started": self.record.started})

    def _continue(self) -> None:
        """Take up the rows of an earlier writer; what it left half-written is cut off."""
        self._file.seek(0)
        record, rows, end, _ = parse(self._file.read(), self.run)
        if record is None:  # killed before the header was whole
            self._begin()
            return
        with writing(self.path):
            self._file.truncate(end)
        self.record, self.rows, self._end = record, rows, end
        self.constant |= {name: row[name] for row in rows for name in row if name in SETTING}

    def _write(self, values: Mapping[str, Any]) -> None:
        line = memoryview((json_line(values) + "\n").encode())
        with writing(self.path):
            try:
                self._file.seek(self._end)
                done = 0
                while done < len(line):
                    done += self._file.write(line[done:]) or 0
            except OSError:
                with contextlib.suppress(OSError):
                    self._file.truncate(self._end)
                raise
        self._end += len(line)


def _check(row: Mapping[str, Any], writer: RunWriter) -> Row:
    """The row as plain numbers, or a clear error: one bad row would spoil the whole table."""
    run, constant = writer.run, writer.constant
    checked: Row = {}
    for name, value in row.items():
        value = value if type(value) in _PLAIN else _scalar(value)
        if name in _RESERVED:
            raise BadInput(f"run {run}: a row cannot set {name!r}, the store does")
        if name in constant or name in SETTING:
            if value != constant.setdefault(name, value):
                raise BadInput(
                    f"run {run}: {name}={value!r} in a row, but {name} is a setting, constant in a run, "
                    f"and was {constant[name]!r}; give what changes another name"
                )
            if name in writer.record.setting:
                continue
        elif not isinstance(name, str) or not isinstance(value, (int, float, type(None))):
            raise BadInput(
                f"run {run}: {name}={value!r} in a row; a cell holds one number, text belongs to the setting"
            )
        elif name in ("train_error", "test_error") and value is not None and value > 1:
            raise BadInput(f"run {run}: {name}={value:g}: errors are fractions; divide percent by 100")
        checked[name] = value
    if not checked:
        raise BadInput(f"run {run}: a row needs at least one value")
    return checked


def _scalar(value: Any) -> Any:
    """NumPy's and torch's single numbers as Python's."""
    try:
        return value.item() if hasattr(value, "item") else plain(value)
    except (ValueError, RuntimeError, TypeError):  # more than one number in it
        return plain(value.tolist())


def parse(data: bytes, run: str) -> tuple[Record | None, list[Row], int, str | None]:
    """Read a live file: the record, its rows, where the last good line ends, and what is wrong, if anything.

    A last line without its end is a writer at work or killed, not an error.
    """
    record: Record | None = None
    rows: list[Row] = []
    end = 0
    *lines, _ = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
            if record is None:
                record = Record(
                    run=run, setting=values["setting"], source=values["source"],
                    experiment=values["experiment"], meta=values["meta"], started=values["started"],
                )  # fmt: skip
            else:
                rows.append(dict(values))
        except (ValueError, KeyError, TypeError) as error:
            return record, rows, end, f"line {number} is damaged ({error})"
        end += len(line) + 1
    return (replace(record, rows=len(rows)) if record else None), rows, end, None


def read(path: Path) -> tuple[Record, list[Row], str | None]:
    """Read a live file without disturbing its writer; FileNotFoundError where it was sealed meanwhile."""
    record, rows, _, problem = parse(path.read_bytes(), path.stem)
    status = "running" if busy(path) else "unfinished"
    return replace(record or Record(run=path.stem), status=status), rows, problem


def busy(path: Path) -> bool:
    """Whether a living process is writing the file."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return not lock(descriptor, path)
    finally:
        os.close(descriptor)


def take(path: Path) -> int:
    """Open a live file, made where it is missing, and take its lock."""
    for _ in range(20):
        descriptor = open_to_lock(path)
        try:
            # the last holder may have sealed the run and removed the file after we opened it
            with contextlib.suppress(FileNotFoundError):
                if lock(descriptor, path) and os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        time.sleep(0.005)  # a reader that asks `busy` holds the lock for an instant
    raise RunBusy(f"run {path.stem} is being written by another process; wait for it, or stop it first")
