"""The store itself: a folder with live runs, sealed runs and packs."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from scalinglab.curves import IDENTITY, OUTCOME, SOURCES, Curves, plain, run_name
from scalinglab.errors import BadInput, nearest
from scalinglab.store import live, sealed
from scalinglab.store.files import RunDone, StoreError, StoreWarning, locked
from scalinglab.store.live import Row, RunWriter
from scalinglab.store.record import Record, as_setting, environment

T = TypeVar("T")
PACK_ROWS = 2_000_000  # packs larger than this are left alone when others are merged


class Store:
    """Curves in a folder.

    Args:
        path: the folder; it is made when the first run starts.

    Any number of processes and machines may share it, as long as the file system has file locks. Sealed
    files never change: they are only added, and replaced by packs with the same content.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._live = self.path / "live"
        self._sealed = self.path / "sealed"
        self._footers: dict[tuple[str, int, int], sealed.Footer] = {}
        self._problems: dict[str, str] = {}

    def __repr__(self) -> str:
        counts: dict[str, int] = {}
        for record in self.records().values():
            counts[record.status] = counts.get(record.status, 0) + 1
        runs = ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))
        return f"Store {self.path}: {runs or 'no runs yet'}"

    @staticmethod
    def is_store(path: str | Path) -> bool:
        """Whether the folder holds a store."""
        return (Path(path) / "sealed").is_dir() or (Path(path) / "live").is_dir()

    # --- writing ---------------------------------------------------------------------------------

    def start(
        self, setting: Any, *, source: str = "train", experiment: str | None = None, **meta: Any
    ) -> RunWriter:
        """Begin a run, from nothing: what an unfinished or failed attempt left is thrown away.

        Args:
            setting: everything that defines the run, as a dictionary or dataclass; its hash is the name.
            source: `theory`, `simulate`, `train` or `read`.
            experiment: the study it belongs to.
            meta: anything else to keep with the run; version, environment and hardware are added.

        Raises:
            RunBusy: another process is writing this run.
            RunDone: the run is done already.
            StoreError: the folder cannot be written.
        """
        writer = self._open(setting, source, experiment, meta)
        writer._begin()
        return writer

    def resume(
        self, setting: Any, *, source: str = "train", experiment: str | None = None, **meta: Any
    ) -> tuple[RunWriter, list[Row]]:
        """Go on with an unfinished run: the writer and the rows that are there; a new run where none is."""
        writer = self._open(setting, source, experiment, meta)
        writer._continue()
        return writer, list(writer.rows)

    def _open(self, setting: Any, source: str, experiment: str | None, meta: Mapping[str, Any]) -> RunWriter:
        values = as_setting(setting)
        if source not in SOURCES:
            raise BadInput(f"source={source!r}: {nearest(source, SOURCES)}")
        run = run_name(values)
        record = Record(
            run=run, setting=plain(values), source=source, experiment=experiment,
            meta=environment() | _faithful(meta), started=time.time(),
        )  # fmt: skip
        path = self._live / f"{run}.jsonl"
        writer = RunWriter(path, live.take(path), record, self._seal)
        try:
            ended = self._ended(run)
            if ended in ("done", "diverged"):
                path.unlink(missing_ok=True)
                raise RunDone(f"run {run} is {ended} already; discard it first to do it again")
            if ended == "unreadable":
                raise StoreError(f"{self._single(run)} cannot be read; discard run {run} to do it again")
            self._single(run).unlink(missing_ok=True)
        except BaseException:
            writer.close()
            raise
        return writer

    def _seal(self, record: Record, rows: list[Row]) -> None:
        table = sealed.to_table(record, rows)
        sealed.write(self._single(record.run), table, [replace(record, rows=len(table))])

    def add(self, curves: Curves, **meta: Any) -> list[str]:
        """Keep finished curves, from a theory or from somebody's logs; runs that are here already stay.

        Returns the names of the runs that were added.
        """
        frame = curves.frame
        with locked(self._lock):
            here = self.records()
            names = [run for run in curves.runs if run not in here]
            if not names:
                return []
            frame = frame[frame["run"].isin(names)]
            settings = [c for c in curves.setting_columns if c in frame]
            first = frame.groupby("run", sort=False).first()
            sizes = frame.groupby("run", sort=False).size()
            context, now = environment() | _faithful(meta), time.time()
            records = []
            for run, cells in zip(first.index, first.to_dict("records"), strict=True):
                row = {name: plain(value) for name, value in cells.items() if not pd.isna(value)}
                record = Record(
                    run, {name: row[name] for name in settings if name in row}, "done",
                    source=row.get("source", "read"), experiment=row.get("experiment"),
                    meta=context, started=now, finished=now, rows=int(sizes[run]),
                )  # fmt: skip
                records.append(record)
            table = pa.Table.from_pandas(frame.drop(columns="status", errors="ignore"), preserve_index=False)
            table = table.append_column("status", pa.array(["done"] * len(frame)))
            sealed.write(self._pack(), table, records)
        return names

    def discard(self, run: str) -> None:
        """Remove a run, whatever its state; refused while it is being written."""
        path = self._live / f"{run}.jsonl"
        if path.exists():
            with contextlib.closing(RunWriter(path, live.take(path), Record(run), self._seal)):
                path.unlink(missing_ok=True)
        with locked(self._lock):
            self._single(run).unlink(missing_ok=True)
            for name, footer in self._packs().items():
                if run in footer.records:
                    self._rewrite(name, footer, without=run)

    # --- asking ----------------------------------------------------------------------------------

    def status(self, run: str | Mapping[str, Any]) -> str:
        """How a run stands: `missing`, `running`, `unfinished`, `done`, `diverged`, `failed` or `unreadable`.

        Args:
            run: its name or its setting.
        """
        name = run if isinstance(run, str) else run_name(as_setting(run))
        for _ in range(2):  # a run that is sealed between two looks is found at the second
            if ended := self._ended(name):
                return ended
            with contextlib.suppress(FileNotFoundError):
                return "running" if live.busy(self._live / f"{name}.jsonl") else "unfinished"
        return "missing"

    def done(self, setting: Any) -> bool:
        """Whether the run with this setting is sealed as done or diverged."""
        return self._ended(run_name(as_setting(setting))) in ("done", "diverged")

    def records(self) -> dict[str, Record]:
        """Every run that can be read, by name, without its rows."""
        found = {run: record for run, (record, _) in self._read_live().items()}
        return found | self._read_sealed(rows=False)[0]

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
        return dict(self._problems)

    def curves(self, live: bool = True, failed: bool = False, warn: bool = True) -> Curves:
        """All curves as one table, with the column `status`.

        Args:
            live: also what running and unfinished runs have written so far.
            failed: also the rows of runs that failed.
            warn: warn about files that cannot be read (they are in `problems` too).
        """
        self._problems = {}
        in_progress = self._read_live() if live else {}
        records, tables = self._read_sealed(rows=True)
        for run, (record, rows) in in_progress.items():
            if run not in records:
                records[run] = record
                if rows:
                    tables.append(sealed.to_table(record, rows))
        if warn:
            for path, reason in self._problems.items():
                warnings.warn(f"{path} cannot be read and is left out: {reason}", StoreWarning, stacklevel=2)
        table = sealed.unite(tables) if tables else pa.table({"run": pa.array([], pa.string())})
        if not failed and any(record.status == "failed" for record in records.values()):
            table = table.filter(pc.not_equal(table["status"], "failed"))
        names = dict.fromkeys(name for record in records.values() for name in record.setting)
        order = dict.fromkeys([*IDENTITY, *names, *OUTCOME, *table.column_names])
        frame = table.select([name for name in order if name in table.column_names]).to_pandas()
        return Curves(frame, settings=[name for name in names if name in frame])

    # --- packs -----------------------------------------------------------------------------------

    def compact(self) -> int:
        """Put the runs that are done into one file, which loads far faster; returns how many were moved.

        Safe at any time, beside writers and readers, and where it is interrupted. Failed runs stay apart,
        so that they can be tried again.
        """
        with locked(self._lock):
            self._tidy()
            packs = [
                self._sealed / name for name, footer in self._packs().items() if _rows(footer) < PACK_ROWS
            ]
            singles = [path for path in self._singles() if self._over(path)]
            if not singles and len(packs) < 2:
                return 0
            records, tables, read = self._load([*singles, *packs], rows=True)
            replaces = [path.name for path in read if path in packs]
            if read:
                sealed.write(self._pack(), sealed.unite(tables), records.values(), replaces)
            for path in read:
                path.unlink(missing_ok=True)
            return len(set(singles) & set(read))

    def _rewrite(self, name: str, footer: sealed.Footer, without: str) -> None:
        """Replace a pack by one that lacks a run."""
        path = self._sealed / name
        table = sealed.read_table(path)
        kept = [record for run, record in footer.records.items() if run != without]
        if kept:
            table = table.filter(pc.not_equal(table["run"], without))
            sealed.write(self._pack(), table, kept, replaces=[name])
        path.unlink(missing_ok=True)

    def _tidy(self) -> None:
        """Remove what interrupted work left behind: packs that were replaced, files half-written."""
        packs = self._packs()
        for path in self._sealed.glob("pack-*.parquet"):
            if path.name not in packs and path.name in _replaced(packs):
                path.unlink(missing_ok=True)
        for path in self._sealed.glob(".pack-*.partial"):  # only the holder of the lock writes packs
            path.unlink(missing_ok=True)
        for path in self._sealed.glob(".*.parquet.partial"):
            run = path.name.removeprefix(".").removesuffix(".parquet.partial")
            if self.status(run) != "running":
                path.unlink(missing_ok=True)

    def locked(self) -> AbstractContextManager[None]:
        """Keep every other process from compacting, adding and discarding; writers of runs go on."""
        return locked(self._lock)

    # --- files -----------------------------------------------------------------------------------

    @property
    def _lock(self) -> Path:
        return self.path / ".lock"

    def _single(self, run: str) -> Path:
        return self._sealed / f"{run}.parquet"

    def _singles(self) -> list[Path]:
        return sorted(p for p in self._sealed.glob("*.parquet") if not p.name.startswith(("pack-", ".")))

    def _pack(self) -> Path:
        return self._sealed / f"pack-{uuid.uuid4().hex[:16]}.parquet"

    def _pack_names(self) -> list[str]:
        return sorted(path.name for path in self._sealed.glob("pack-*.parquet"))

    def _packs(self) -> dict[str, sealed.Footer]:
        """The packs that can be read and that no other pack replaces."""
        found = {}
        for name in self._pack_names():
            try:
                found[name] = self._footer(self._sealed / name)
            except sealed.Unreadable as error:
                self._problems[str(self._sealed / name)] = str(error)
        return {name: footer for name, footer in found.items() if name not in _replaced(found)}

    def _steady(self, look: Callable[[], T]) -> T:
        """Look at the sealed files while no compaction moves runs from one file into another."""
        for attempt in range(100):
            names = self._pack_names()
            with contextlib.suppress(FileNotFoundError):  # moved under our eyes: look again
                found = look()
                if names == self._pack_names():
                    return found
            time.sleep(0.001 * attempt)
        raise StoreError(f"{self.path} changes faster than it can be read")

    def _footer(self, path: Path) -> sealed.Footer:
        state = path.stat()
        key = (path.name, state.st_size, state.st_mtime_ns)
        if key not in self._footers:
            self._footers[key] = sealed.read_footer(path)
        return self._footers[key]

    def _over(self, path: Path) -> bool:
        """Whether a run's own file says that it is done or diverged."""
        try:
            records = self._footer(path).records.values()
        except (sealed.Unreadable, FileNotFoundError):
            return False
        return all(record.status in ("done", "diverged") for record in records)

    def _ended(self, run: str) -> str | None:
        """How a sealed run ended, `unreadable` where its file is damaged, None where it is not sealed."""

        def look() -> str | None:
            path = self._single(run)
            if path.exists():
                try:
                    return self._footer(path).records[run].status
                except (sealed.Unreadable, KeyError):
                    return "unreadable"
            packs = self._packs().values()
            return next((footer.records[run].status for footer in packs if run in footer.records), None)

        return self._steady(look)

    def _load(self, paths: list[Path], rows: bool) -> tuple[dict[str, Record], list[pa.Table], list[Path]]:
        """Records and tables of sealed files, and the files that could be read; a run counts once."""
        records: dict[str, Record] = {}
        tables, read = [], []
        for path in paths:
            try:
                footer = self._footer(path)
                table = sealed.read_table(path) if rows else None
            except sealed.Unreadable as error:
                self._problems[str(path)] = str(error)
                continue
            fresh = {run: record for run, record in footer.records.items() if run not in records}
            if table is not None:
                if len(fresh) < len(footer.records):
                    table = table.filter(pc.is_in(table["run"], pa.array(list(fresh), pa.string())))
                tables.append(table)
            records |= fresh
            read.append(path)
        return records, tables, read

    def _read_sealed(self, rows: bool) -> tuple[dict[str, Record], list[pa.Table]]:
        def look() -> tuple[dict[str, Record], list[pa.Table]]:
            paths = [*self._singles(), *(self._sealed / name for name in self._packs())]
            return self._load(paths, rows)[:2]

        return self._steady(look)

    def _read_live(self) -> dict[str, tuple[Record, list[Row]]]:
        """Running and unfinished runs. Read before the sealed ones, so that none is missed on its way."""
        found = {}
        for path in sorted(self._live.glob("*.jsonl")):
            with contextlib.suppress(FileNotFoundError):  # sealed meanwhile
                record, rows, problem = live.read(path)
                found[record.run] = (record, rows)
                if problem:
                    self._problems[str(path)] = problem
        return found


def _faithful(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What goes with a run, as JSON keeps it; anything else by its text."""
    return dict(json.loads(json.dumps(plain(meta), default=str)))


def _rows(footer: sealed.Footer) -> int:
    return sum(record.rows for record in footer.records.values())


def _replaced(packs: Mapping[str, sealed.Footer]) -> set[str]:
    return {name for footer in packs.values() for name in footer.replaces}
