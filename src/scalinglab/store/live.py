"""A run in progress: JSON lines in its own file, the header first, then one line a checkpoint.

Each line is written in one call when it is appended, so that it survives a killed writer, and
ends with a checksum, the CRC-32 of itself and of all lines before it: a line that was changed, lost or moved
is noticed. A last line that was cut short is left out on reading and cut off on resuming. NaN is written as
null and infinity as 1e999, which every JSON reader takes and reads as infinity.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from scalinglab._version import __version__
from scalinglab.curves import IDENTITY, OUTCOME, PROGRESS, SETTING, json_line, plain, run_name
from scalinglab.curves.columns import REASONS
from scalinglab.errors import BadInput
from scalinglab.store.files import (
    NewerFormat,
    RunBusy,
    StoreError,
    StoreWarning,
    lock,
    newer,
    open_to_lock,
    quarantine_path,
    reading,
    write_whole,
    writing,
)
from scalinglab.store.record import FORMAT, SEALED, Record, encodable
from scalinglab.support.words import counted

Row = dict[str, Any]
_PLAIN = (float, int, bool, type(None))
_RESERVED = (*IDENTITY, *(name for name in OUTCOME if name not in REASONS))
# JSON has integers of any size, columns of measurements are float64
LARGEST = int(sys.float_info.max)
_END = re.compile(rb', "crc32": "([0-9a-f]{8})"\}$')
_HEADER = ("setting", "source", "experiment", "meta", "started")


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
        # unbuffered: what `append` returned from is with the system, and outlives this process
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        self._end = 0
        self._sum = 0  # the checksum of the last line
        self._seal = seal

    @property
    def run(self) -> str:
        """The run's name."""
        return self.record.run

    @property
    def descriptor(self) -> int:
        """The open file, which holds the run's lock."""
        return self._file.fileno()

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
        # the file first: a row that could not be written is not among those that are sealed
        self._write(checked)
        self.rows.append(checked)

    def seal(
        self, status: str = "done", *, error: str | None = None, diverged_at: float | None = None
    ) -> None:
        """Finish the run and turn it into a Parquet file.

        Args:
            status: `done`, `diverged` or `failed`.
            error: what went wrong, for a failed run.
            diverged_at: the progress at which it diverged; by default the last row's.
        """
        if status not in SEALED:
            raise BadInput(f"status={status!r} must be one of {', '.join(SEALED)}")
        if self.closed:
            raise BadInput(f"run {self.run} is closed already")
        if status == "diverged" and diverged_at is None:
            last = self.rows[-1] if self.rows else {}
            diverged_at = next((last[name] for name in PROGRESS if last.get(name) is not None), 0)
        record = replace(
            self.record, status=status, error=error, finished=time.time(), diverged_at=diverged_at
        )
        # before the live file goes: a run killed in between is in both, and readers take the sealed one
        self._seal(record, self.rows)
        with contextlib.suppress(PermissionError):  # Windows keeps open files; start and unfinished clean up
            self.path.unlink(missing_ok=True)  # before unlocking: else listed as unfinished
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
        with contextlib.closing(self):  # what cannot be sealed stays unfinished, and can be resumed
            if error is None:
                self.seal("done")
            elif isinstance(error, Exception) and not isinstance(error, StoreError):
                self.seal("failed", error="".join(traceback.format_exception(error)))
            # else Ctrl-C, or a store that cannot write: the run can go on later

    def begin(self) -> None:
        """Begin the run from nothing; an intact earlier attempt is discarded, a damaged one copied first.

        Raises:
            NewerFormat: a later version wrote the earlier attempt.
        """
        self._earlier("begins anew")
        self._write_header()

    def _write_header(self) -> None:
        self._file.truncate(0)
        self._end = self._sum = 0
        record = self.record
        header = {
            "scalinglab": FORMAT, "version": __version__, "run": self.run, "setting": record.setting,
            "source": record.source, "experiment": record.experiment, "meta": record.meta,
            "started": record.started,
        }  # fmt: skip
        self._write(header)

    def resume(self) -> None:
        """Load the rows of an earlier writer; a truncated last line is removed, a damaged file copied."""
        found = self._earlier("goes on from the rows before it")
        if found.record is None:  # killed before the header was whole
            self._write_header()
            return
        with writing(self.path):
            # a line appended after half of another would be read as damaged
            self._file.truncate(found.end)
        rows = found.rows
        self.record, self.rows, self._end, self._sum = found.record, rows, found.end, found.sum
        # settings that the rows brought, such as n_params, may not change after a resume either
        self.constant |= {name: row[name] for row in rows for name in row if name in SETTING}

    def _earlier(self, action: str) -> Parsed:
        """What an earlier writer left; a damaged file is copied, since it is about to lose its end.

        Args:
            action: what the run does now, for the warning.
        """
        self._file.seek(0)
        data = self._file.read()
        found = parse(data, self.run)
        if found.problem:
            copy = self._quarantine_copy(data)
            warnings.warn(
                f"{self.path}: {found.problem}; run {self.run} {action} ({counted(len(found.rows), 'row')} "
                f"intact), and the file as it was is kept as {copy}",
                StoreWarning, stacklevel=5,
            )  # fmt: skip
        return found

    def _quarantine_copy(self, data: bytes) -> Path:
        copy = quarantine_path(self.path, self.path.parent.parent)
        write_whole(copy, lambda partial: partial.write_bytes(data))
        return copy

    def _write(self, values: Mapping[str, Any]) -> None:
        text, total = _line(values, self._sum)
        line = memoryview(text)
        with writing(self.path):
            try:
                self._file.seek(self._end)
                done = 0
                # a raw file may take a part of a line only, on a disk that is almost full
                while done < len(line):
                    done += self._file.write(line[done:]) or 0
            except OSError:
                with contextlib.suppress(OSError):
                    # take back what was written of it: a shorter line that comes next would not cover all
                    self._file.truncate(self._end)
                raise
        self._end += len(line)
        self._sum = total


def _line(values: Mapping[str, Any], total: int) -> tuple[bytes, int]:
    """A line with its checksum, which goes on from `total`, that of the line before."""
    text = json_line(values)[:-1].encode()
    total = zlib.crc32(text, total)
    return text + b', "crc32": "%08x"}\n' % total, total


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
        elif name in REASONS:
            value = None if value is None else str(value)
        elif not isinstance(name, str) or not isinstance(value, (int, float, type(None))):
            raise BadInput(
                f"run {run}: {name}={value!r} in a row; a cell holds one number, text belongs to the setting"
            )
        elif isinstance(value, int) and abs(value) > LARGEST:
            raise BadInput(f"run {run}: {name} has {len(str(value))} digits, more than a number can hold")
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


@dataclass(frozen=True)
class Parsed:
    """What a live file holds.

    Attributes:
        record: of the run; None if not even the header is whole.
        rows: up to the first damaged line.
        end: where the last good line ends, in bytes.
        sum: the checksum of the last good line.
        problem: what is wrong with the file, if anything.
    """

    record: Record | None
    rows: list[Row]
    end: int
    sum: int
    problem: str | None = None


def parse(data: bytes, run: str) -> Parsed:
    """Read a live file. A last line without its end is a writer at work or killed, not an error.

    Raises:
        NewerFormat: a later version wrote it.
    """
    record: Record | None = None
    rows: list[Row] = []
    end = total = 0
    *lines, _ = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            values, total = _checked(line, total)
            if record is None:
                record = _header(values, run)
            else:
                rows.append(_row(values))
        except NewerFormat:
            raise
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            return Parsed(record, rows, end, total, f"line {number} is damaged ({_reason(error)})")
        end += len(line) + 1
    return Parsed(replace(record, rows=len(rows)) if record else None, rows, end, total)


def _checked(line: bytes, total: int) -> tuple[dict[str, Any], int]:
    """A line's values without the checksum, and the checksum that goes on from `total`."""
    found = _END.search(line)
    if found is None:
        raise ValueError("it has no checksum")
    content = line[: found.start()]
    total = zlib.crc32(content, total)
    if int(found[1], 16) != total:
        raise ValueError("its checksum is wrong")
    return json.loads(content + b"}"), total  # text that ends with a brace is an object or no JSON


def _header(values: dict[str, Any], run: str) -> Record:
    """The record in a first line."""
    format_ = values["scalinglab"]
    if not isinstance(format_, int):
        raise ValueError(f"its format is {ascii(format_)[:40]}")
    if format_ > FORMAT:
        raise NewerFormat(newer(f"run {run}", values.get("version")))
    record = Record.from_dict({"run": run, **{name: values[name] for name in _HEADER}})
    # the name is the hash of the setting: this file was copied or renamed
    if run_name(record.setting) != run:
        raise ValueError("its setting is not that of the run")
    return record


def _row(values: dict[str, Any]) -> Row:
    for name, value in values.items():
        if not (encodable(name) and isinstance(value, (int, float, str, type(None))) and encodable(value)):
            raise ValueError(f"{name!a} is no number")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise ValueError(f"{name} is beyond what a number can hold")
    return values


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def read(path: Path) -> tuple[Record, list[Row], str | None]:
    """Read a live file without disturbing its writer; FileNotFoundError where it was sealed meanwhile."""
    with reading(path):
        found = parse(path.read_bytes(), path.stem)
        status = "running" if busy(path) else "unfinished"
    return replace(found.record or Record(run=path.stem), status=status), found.rows, found.problem


def busy(path: Path) -> bool:
    """Whether a running process is writing the file."""
    with reading(path):
        # for reading alone: a lock needs no more, and those who may not write can ask, too
        descriptor = os.open(path, os.O_RDONLY)
    try:
        return not lock(descriptor, path)
    finally:
        os.close(descriptor)


def take(path: Path) -> int:
    """Open a live file, created if missing, and take its lock."""
    # a tenth of a second: far longer than `busy` holds a lock
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
