"""The shelf of sealed files: one file a run, and packs of many, read while others write and compact."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from scalinglab.store import parquet
from scalinglab.store.files import StoreError
from scalinglab.store.record import Record

T = TypeVar("T")
PACK_ROWS = 2_000_000  # packs larger than this are left alone when others are merged


class Shelf:
    """The folder `sealed` of a store.

    Reading needs no lock. What replaces files (`compact`, `discard`, `add`) does: the store holds it.

    Attributes:
        problems: files that could not be read, and why; filled by reading.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: dict[str, str] = {}
        self._footers: dict[tuple[str, int, int], parquet.Footer] = {}

    # --- reading ---------------------------------------------------------------------------------

    def read(self, rows: bool) -> tuple[dict[str, Record], list[pa.Table]]:
        """The records of all runs, and their rows if asked for."""

        def look() -> tuple[dict[str, Record], list[pa.Table]]:
            paths = [*self._singles(), *(self.path / name for name in self._packs())]
            names = {path.name for path in paths}
            self._footers = {key: footer for key, footer in self._footers.items() if key[0] in names}
            return self._load(paths, rows)[:2]

        return self._steady(look)

    def ended(self, run: str) -> str | None:
        """How a run ended, `unreadable` where its file is damaged, None where it is not here."""

        def own() -> str | None:
            try:
                return self._footer(self.single(run)).records[run].status
            except FileNotFoundError:
                return None
            except (parquet.Unreadable, KeyError):
                return "unreadable"

        def look() -> str | None:
            if found := own():
                return found
            packs = self._packs().values()
            return next((footer.records[run].status for footer in packs if run in footer.records), None)

        return own() or self._steady(look)

    def _steady(self, look: Callable[[], T]) -> T:
        """Look while no compaction moves runs from one file into another."""
        for attempt in range(100):
            names = self._pack_names()
            with contextlib.suppress(FileNotFoundError):  # moved under our eyes: look again
                found = look()
                if names == self._pack_names():
                    return found
            time.sleep(0.001 * attempt)
        raise StoreError(f"{self.path} changes faster than it can be read")

    def _load(self, paths: list[Path], rows: bool) -> tuple[dict[str, Record], list[pa.Table], list[Path]]:
        """Records and tables of files, and the files that could be read; a run counts once."""
        records: dict[str, Record] = {}
        tables, read = [], []
        for path in paths:
            try:
                footer = self._footer(path)
                table = parquet.read_table(path) if rows else None
            except parquet.Unreadable as error:
                self.problems[str(path)] = str(error)
                continue
            fresh = {run: record for run, record in footer.records.items() if run not in records}
            if table is not None:
                if len(fresh) < len(footer.records):
                    table = table.filter(pc.is_in(table["run"], pa.array(list(fresh), pa.string())))
                tables.append(table)
            records |= fresh
            read.append(path)
        return records, tables, read

    # --- writing ---------------------------------------------------------------------------------

    def add(self, table: pa.Table, records: Iterable[Record]) -> None:
        """Put many finished runs into a new pack."""
        parquet.write(self._new_pack(), table, records)

    def compact(self, running: Callable[[str], bool]) -> int:
        """Put the runs that are done into one pack; returns how many were moved."""
        self._tidy(running)
        packs = [self.path / name for name, footer in self._packs().items() if _rows(footer) < PACK_ROWS]
        singles = [path for path in self._singles() if self._over(path)]
        if not singles and len(packs) < 2:
            return 0
        records, tables, read = self._load([*singles, *packs], rows=True)
        if read:
            replaces = [path.name for path in read if path in packs]
            parquet.write(self._new_pack(), parquet.unite(tables), records.values(), replaces)
        for path in read:
            path.unlink(missing_ok=True)
        return len(set(singles) & set(read))

    def discard(self, run: str, running: Callable[[str], bool]) -> None:
        """Remove a run; a pack that holds it is replaced by one without it."""
        self._tidy(running)
        self.single(run).unlink(missing_ok=True)
        for name, footer in self._packs().items():
            if run not in footer.records:
                continue
            kept = [record for other, record in footer.records.items() if other != run]
            if kept:
                try:
                    table = parquet.read_table(self.path / name)
                except parquet.Unreadable as error:
                    raise StoreError(
                        f"{self.path / name}, which holds run {run}, is damaged: {error}"
                    ) from error
                table = table.filter(pc.not_equal(table["run"], run))
                parquet.write(self._new_pack(), table, kept, replaces=[name])
            (self.path / name).unlink(missing_ok=True)

    def _tidy(self, running: Callable[[str], bool]) -> None:
        """Remove what interrupted work left behind: packs that were replaced, files half-written."""
        packs = self._packs()
        for name in self._pack_names():
            if name not in packs and name in _replaced(packs):
                (self.path / name).unlink(missing_ok=True)
        for path in self.path.glob(".pack-*.partial"):  # only the holder of the lock writes packs
            path.unlink(missing_ok=True)
        for path in self.path.glob(".*.parquet.partial"):
            if not running(path.name.removeprefix(".").removesuffix(".parquet.partial")):
                path.unlink(missing_ok=True)

    # --- files -----------------------------------------------------------------------------------

    def single(self, run: str) -> Path:
        """The file of a run that is in no pack."""
        return self.path / f"{run}.parquet"

    def _singles(self) -> list[Path]:
        return sorted(p for p in self.path.glob("*.parquet") if not p.name.startswith(("pack-", ".")))

    def _new_pack(self) -> Path:
        return self.path / f"pack-{uuid.uuid4().hex[:16]}.parquet"

    def _pack_names(self) -> list[str]:
        try:  # the bare names: asked for at the start of every run, beside thousands of sealed ones
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        return sorted(name for name in names if name.startswith("pack-") and name.endswith(".parquet"))

    def _packs(self) -> dict[str, parquet.Footer]:
        """The packs that can be read and that no other pack replaces."""
        found = {}
        for name in self._pack_names():
            try:
                found[name] = self._footer(self.path / name)
            except parquet.Unreadable as error:
                self.problems[str(self.path / name)] = str(error)
        return {name: footer for name, footer in found.items() if name not in _replaced(found)}

    def _footer(self, path: Path) -> parquet.Footer:
        state = path.stat()
        key = (path.name, state.st_size, state.st_mtime_ns)
        if key not in self._footers:
            self._footers[key] = parquet.read_footer(path)
        return self._footers[key]

    def _over(self, path: Path) -> bool:
        """Whether a run's own file says that it is done or diverged."""
        try:
            records = self._footer(path).records.values()
        except (parquet.Unreadable, FileNotFoundError):
            return False
        return all(record.status in ("done", "diverged") for record in records)


def _rows(footer: parquet.Footer) -> int:
    return sum(record.rows for record in footer.records.values())


def _replaced(packs: Mapping[str, parquet.Footer]) -> set[str]:
    return {name for footer in packs.values() for name in footer.replaces}
