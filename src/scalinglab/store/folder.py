"""The store itself: a folder with live runs, sealed runs and packs."""

from __future__ import annotations

import contextlib
import json
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from scalinglab.curves import SOURCES, Curves, plain, run_name
from scalinglab.errors import BadInput, nearest
from scalinglab.store import live
from scalinglab.store.arrays import keep
from scalinglab.store.arrays import load as load_arrays
from scalinglab.store.columns import to_table
from scalinglab.store.files import Damaged, RunBusy, RunDone, StoreError, StoreWarning, locked
from scalinglab.store.live import Row, RunWriter
from scalinglab.store.loading import load
from scalinglab.store.record import Record, as_setting, environment, is_file_name
from scalinglab.store.sealed_runs import parquet
from scalinglab.store.sealed_runs.sealed_folder import READ_ERRORS, SealedFolder
from scalinglab.store.verify import FileCheck, verify

FOLDERS = ("live", "sealed", "index", "arrays", "grids", "state", "damaged", ".preflight")  # of a store
COMPACT_ROWS = 1_000_000  # of packs that are merged while runs are written
READ_SINGLES = 1024  # runs with a file of their own from which loading packs them first
COMPACT_SINGLES = 64  # runs with a file of their own before which nothing is compacted by itself


class Store:
    """Curves in a folder. A store promises:

    - a run is named by the hash of its setting, and has one writer at a time (`RunBusy`) and one result
      (`RunDone`);
    - a row that `RunWriter.append` returned from outlives a killed writer; `resume` finds it;
    - a run is sealed whole or not at all, whenever its writer is killed;
    - any number of processes write and read at once; a reader sees every sealed run once, with all its rows;
    - NaN, infinity and divergence come back as they were written;
    - what cannot be read is named in `problems`, costs no other run, and is never deleted;
    - a store that cannot be written raises `StoreError`, and what it contained before is intact.

    Any number of processes and machines may share it, as long as the file system has file locks. Sealed
    files never change: they are only added, and replaced by packs with the same content.

    Args:
        path: the folder; it is made when the first run starts.

    Raises:
        StoreError: one of its folders is a link, by which files would be written or removed elsewhere.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_file():
            raise BadInput(f"{self.path} is a file: a store is a folder, give another name")
        if linked := [name for name in FOLDERS if (self.path / name).is_symlink()]:
            raise StoreError(
                f"{self.path / linked[0]} is a link, which leads out of the store: put the folder itself in "
                "its place, or make the whole store a link"
            )
        self._live = self.path / "live"
        self._lock = self.path / ".lock"
        self._sealed = SealedFolder(self.path)

    def __repr__(self) -> str:
        counts: dict[str, int] = {}
        for record in self.records().values():
            counts[record.status] = counts.get(record.status, 0) + 1
        runs = ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))
        return f"Store {self.path}: {runs or 'no runs yet'}"

    @staticmethod
    def of(given: Store | str | Path) -> Store:
        """The store that a user gave: one, or the folder of one."""
        return Store(given) if isinstance(given, (str, Path)) else given

    @staticmethod
    def is_store(path: str | Path) -> bool:
        """Whether the folder holds a store."""
        return (Path(path) / "sealed").is_dir() or (Path(path) / "live").is_dir()

    # --- writing ---------------------------------------------------------------------------------

    def start(
        self, setting: Any, *, source: str = "train", experiment: str | None = None, **meta: Any
    ) -> RunWriter:
        """Start a run from scratch; data of an unfinished or failed attempt are discarded.

        Of a damaged attempt a copy is kept in the folder `damaged`.

        Args:
            setting: everything that defines the run, as a dictionary or dataclass; its hash is the name.
            source: `theory`, `simulate`, `train` or `read`.
            experiment: the study it belongs to.
            meta: anything else to keep with the run; version, environment and hardware are added.

        Raises:
            RunBusy: another process is writing this run.
            RunDone: the run is done already.
            NewerFormat: a later version began this run.
            StoreError: the folder cannot be written.
        """
        writer = self._open(setting, source, experiment, meta)
        with _closed_on_error(writer):
            writer.begin()
        return writer

    def resume(
        self, setting: Any, *, source: str = "train", experiment: str | None = None, **meta: Any
    ) -> tuple[RunWriter, list[Row]]:
        """Go on with an unfinished run: the writer and the rows that are there; a new run where none is."""
        writer = self._open(setting, source, experiment, meta)
        with _closed_on_error(writer):
            writer.resume()
        return writer, list(writer.rows)

    def _open(self, setting: Any, source: str, experiment: str | None, meta: Mapping[str, Any]) -> RunWriter:
        values = as_setting(setting)
        if source not in SOURCES:
            raise BadInput(f"source={source!r}: {nearest(source, SOURCES)}")
        run = run_name(values)
        record = Record(
            run=run, setting=plain(values), source=source, experiment=experiment,
            meta=environment() | _to_json(meta), started=time.time(),
        )  # fmt: skip
        self._sealed.prepare()
        path = self._live / f"{run}.jsonl"
        writer = RunWriter(path, live.take(path), record, self._seal)
        with _closed_on_error(writer):
            ended = self._sealed.ended(run)
            if ended in ("done", "diverged"):
                # it was made for this lock, or its writer was killed after it had sealed the run
                path.unlink(missing_ok=True)
                raise RunDone(
                    f"run {run} is {ended} already in {self.path}; to do it again, take another seed, "
                    f"or discard it first: sl.Store({str(self.path)!r}).discard({run!r})"
                )
            if ended == "unreadable":
                raise Damaged(
                    f"{self._sealed.single(run)} is damaged; discard run {run} to do it again, or move the "
                    f"file away: scalinglab store verify {self.path} --repair"
                )
            # only a failed attempt can be here, and this one replaces it
            self._sealed.single(run).unlink(missing_ok=True)
        return writer

    def _seal(self, record: Record, rows: list[Row]) -> None:
        table = to_table(record, rows)
        parquet.write(self._sealed.single(record.run), table, [replace(record, rows=len(table))])
        # one run in 128 compacts, chosen by its name: no writer counts, and none lists the folder for it
        if int(record.run[:2], 16) < 2 and self._sealed.count_singles() >= COMPACT_SINGLES:
            with contextlib.suppress(StoreError):  # the run is safe; another one compacts
                self._compact_some()

    def _compact_some(self) -> None:
        with locked(self._lock, wait=False) as acquired:
            if acquired:
                self._sealed.compact(self._running, COMPACT_ROWS)

    def _compact_many(self, warn: bool) -> None:
        """Compact a store of the user's own that has thousands of single files, with a warning."""
        if not (_own(self.path) and self._sealed.has_singles(READ_SINGLES)):
            return
        with contextlib.suppress(OSError), locked(self._lock, wait=False) as acquired:
            # a full or read-only disk, or another process that compacts: the runs load from their own files
            if acquired and warn:
                warnings.warn(
                    f"{self.path}: {self._sealed.count_singles()} runs have a file each; they are compacted "
                    "once, at about 2 ms a run, and load faster after that",
                    StoreWarning, stacklevel=4,
                )  # fmt: skip
            if acquired:
                self._sealed.compact(self._running, COMPACT_ROWS)

    def add(self, curves: Curves, **meta: Any) -> list[str]:
        """Keep finished curves, from a theory or from logs; runs already in the store are unchanged.

        Returns the names of the runs that were added.
        """
        frame = curves.frame
        with self.locked():
            here = self.records()
            names = [run for run in curves.runs if run not in here]
            if not names:
                return []
            frame = frame[frame["run"].isin(names)]
            known = frame["status"] if "status" in frame else pd.Series("done", index=frame.index)
            # no writer goes on with what is added: any other status would wait for one
            frame = frame.assign(status=known.where(known.isin(("done", "diverged")), "done"))
            settings = [c for c in curves.setting_columns if c in frame]
            first = frame.groupby("run", sort=False).first()
            sizes = frame.groupby("run", sort=False).size()
            context, now = environment() | _to_json(meta), time.time()
            records = []
            for run, cells in zip(first.index, first.to_dict("records"), strict=True):
                row = {name: plain(value) for name, value in cells.items() if not pd.isna(value)}
                record = Record(
                    run, {name: row[name] for name in settings if name in row}, row.get("status", "done"),
                    source=row.get("source", "read"), experiment=row.get("experiment"),
                    meta=context, started=now, finished=now, rows=int(sizes[run]),
                    diverged_at=row.get("diverged_at"),
                )  # fmt: skip
                records.append(record)
            self._sealed.add(pa.Table.from_pandas(frame, preserve_index=False), records)
        return names

    def discard(self, run: str) -> None:
        """Remove a run, whatever its state; refused while it is being written."""
        if is_file_name(run):
            path = self._live / f"{run}.jsonl"
            if path.exists():
                with contextlib.closing(self._grab(path)):
                    path.unlink(missing_ok=True)
        elif run not in self.records():  # names of runs that were added from tables may be paths
            raise BadInput(f"{self.path} has no run {run!r}")
        with self.locked():
            self._sealed.discard(run, self._running)

    # --- asking ----------------------------------------------------------------------------------

    def status(self, run: str | Mapping[str, Any]) -> str:
        """Status of a run: `missing`, `running`, `unfinished`, `done`, `diverged`, `failed` or `unreadable`.

        Args:
            run: its name or its setting.
        """
        name = run if isinstance(run, str) else run_name(as_setting(run))
        for _ in range(2):  # a run that is sealed between two looks is found at the second
            if ended := self._sealed.ended(name):
                return ended
            with contextlib.suppress(FileNotFoundError):
                if not is_file_name(name):  # no file of its own, in the store or elsewhere
                    return "missing"
                return "running" if live.busy(self._live / f"{name}.jsonl") else "unfinished"
        return "missing"

    def written(self, run: str) -> int:
        """Bytes that a run in progress has written so far; 0 if there is none of this name."""
        with contextlib.suppress(FileNotFoundError):
            return (self._live / f"{run}.jsonl").stat().st_size if is_file_name(run) else 0
        return 0

    def done(self, setting: Any) -> bool:
        """Whether the run with this setting is sealed as done or diverged."""
        return self._sealed.ended(run_name(as_setting(setting))) in ("done", "diverged")

    def record(self, run: str) -> Record:
        """The record of one run, sealed, running or unfinished."""
        if sealed := self._sealed.record(run):
            return sealed
        if is_file_name(run):
            with contextlib.suppress(FileNotFoundError):
                return live.read(self._live / f"{run}.jsonl")[0]
        if sealed := self._sealed.record(run):  # sealed between the two looks
            return sealed
        raise BadInput(f"{self.path} has no run {run!r}")

    def records(self) -> dict[str, Record]:
        """Every run that can be read, by name, without its rows."""
        found = {run: record for run, (record, _) in self._read_live().items()}
        return found | self._sealed.read(rows=False)[0]

    def unfinished(self) -> dict[str, Record]:
        """Runs whose writer is gone; `resume` or `start` them again, or `discard` them."""
        return {run: record for run, record in self.records().items() if record.status == "unfinished"}

    def failed(self) -> dict[str, Record]:
        """Runs that raised, with their tracebacks."""
        return {run: record for run, record in self.records().items() if record.status == "failed"}

    @property
    def problems(self) -> dict[str, str]:
        """Files that cannot be read, and why; everything else still loads."""
        self.curves(failed=True, warn=False)
        return {path: str(error) for path, error in self._sealed.problems.items()}

    def curves(self, live: bool = True, failed: bool = False, warn: bool = True) -> Curves:
        """All curves as one table, with the column `status`.

        Args:
            live: also what running and unfinished runs have written so far.
            failed: also the rows of runs that failed.
            warn: warn about files that cannot be read (they are in `problems` too).

        A thousand or more runs with a file each are compacted first, where the store belongs to this user and
        no other process compacts it: the next time they load from one file.
        """
        self._compact_many(warn)
        self._sealed.problems = {}
        in_progress = self._read_live() if live else {}
        records, tables = self._sealed.read(rows=True)
        for run, (record, rows) in in_progress.items():
            # sealed between the two readings, or by a writer that was killed before it removed its live file
            if run in records:
                continue
            records[run] = record
            if rows:
                tables.append(to_table(record, rows))
        curves, misfits = load(tables, records, failed)
        for run, reason in misfits.items():
            place = self._live / f"{run}.jsonl" if run in in_progress else self._sealed.place(run)
            self._sealed.problems[str(place)] = StoreError(f"{place}: run {run} is left out: {reason}")
        if warn:
            for error in self._sealed.problems.values():
                warnings.warn(f"{error}", StoreWarning, stacklevel=2)
        return curves

    def keep_arrays(self, run: str, step: int, arrays: Mapping[str, Any]) -> None:
        """Keep arrays of a run at a step beside its curves; those of the same step are replaced."""
        keep(self.path, run, step, arrays)

    def arrays(self, run: str) -> dict[int, dict[str, Any]]:
        """Arrays of a run by step and name, such as `kernel_eigenvalues`; empty if there are none."""
        return load_arrays(self.path, run)

    def compact(self) -> int:
        """Merge finished runs into one file, which loads far faster; returns how many were moved.

        Safe at any time, beside writers and readers, and where it is interrupted. Failed runs stay apart,
        so that they can be tried again.
        """
        with self.locked():
            self._clear_live()
            return self._sealed.compact(self._running)

    def repair(self) -> dict[str, str]:
        """Move damaged files into the folder `damaged`; intact runs of a damaged pack stay in the store.

        Nothing is deleted. Returns what was wrong, by the new paths of the files.

        Raises:
            NewerFormat: a later version wrote one of the files.
            Inaccessible: one of the files may not be read by this process.
        """
        with self.locked():
            moved = self._sealed.repair(self._running)
        return {path: str(error) for path, error in moved.items()}

    def verify(self) -> list[FileCheck]:
        """Every file of the store checked: sealed, live, packs, states, indexes and grids."""
        return verify(self.path)

    def locked(self) -> AbstractContextManager[bool]:
        """Keep every other process from compacting, adding and discarding; writers of runs go on."""
        return locked(self._lock)

    # --- files -----------------------------------------------------------------------------------

    def _running(self, run: str) -> bool:
        return self.status(run) == "running"

    def _clear_live(self) -> None:
        """Remove the live files of runs whose writer was killed after it had sealed them."""
        for path in self._live.glob("*.jsonl"):
            with contextlib.suppress(RunBusy, *READ_ERRORS):
                if self._sealed.ended(path.stem) is None:
                    continue
                with contextlib.closing(self._grab(path)):
                    # asked again under the lock: a failed run may have begun anew meanwhile
                    if self._sealed.ended(path.stem) is not None:
                        path.unlink(missing_ok=True)

    def _grab(self, path: Path) -> RunWriter:
        """Hold the lock of a live file."""
        return RunWriter(path, live.take(path), Record(path.stem), self._seal)

    def _read_live(self) -> dict[str, tuple[Record, list[Row]]]:
        """Running and unfinished runs. Read before the sealed ones, so that none is missed on its way."""
        found = {}
        for path in sorted(self._live.glob("*.jsonl")):
            with contextlib.suppress(FileNotFoundError):  # sealed meanwhile
                try:
                    record, rows, problem = live.read(path)
                except READ_ERRORS as error:
                    self._sealed.problems[str(path)] = error
                    continue
                found[record.run] = (record, rows)
                if problem:
                    self._sealed.problems[str(path)] = Damaged(f"{path}: {problem}")
        return found


def _own(path: Path) -> bool:
    """Whether a folder belongs to this user; files of others stay as they are."""
    return not hasattr(os, "getuid") or (path.exists() and path.stat().st_uid == os.getuid())


@contextlib.contextmanager
def _closed_on_error(writer: RunWriter) -> Iterator[None]:
    """Release a run's lock if it cannot be started."""
    try:
        yield
    except BaseException:
        if os.fstat(writer.descriptor).st_size == 0:  # its file is there for the lock alone
            writer.path.unlink(missing_ok=True)
        writer.close()
        raise


def _to_json(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What goes with a run, as JSON keeps it; anything else by its text."""
    return dict(json.loads(json.dumps(plain(meta), default=str)))
