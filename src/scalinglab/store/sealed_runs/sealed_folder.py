"""The folder of sealed files: one file a run, and packs of many, read while others write and compact."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from scalinglab.store.columns import unite
from scalinglab.store.files import (
    Damaged,
    Inaccessible,
    NewerFormat,
    StoreError,
    quarantine,
    reading,
    writing,
)
from scalinglab.store.record import Record, is_file_name
from scalinglab.store.sealed_runs import parquet
from scalinglab.store.sealed_runs.pack_index import (
    PackIndex,
    forget_index,
    index_of,
    indexed,
    read_index,
    read_tail,
    write_index,
)
from scalinglab.support.work import track

T = TypeVar("T")
MANY = 256  # files from which threads pay
PART = 1024  # single files that are packed at a time
PACK_ROWS = 2_000_000  # packs larger than this are left alone when others are merged
READ_ERRORS = (Damaged, NewerFormat, Inaccessible)  # of one file; the others still load


class SealedFolder:
    """The folder `sealed` of a store.

    Reading needs no lock. Replacing files (`compact`, `discard`, `add`, `repair`) does: the store holds it.

    Attributes:
        problems: what is wrong with files, by path; filled by reading.
    """

    def __init__(self, store: Path) -> None:
        self.store = store
        self.path = store / "sealed"
        self.index = store / "index"
        self.problems: dict[str, StoreError] = {}
        self._footers: dict[tuple[str, int, int], parquet.Footer] = {}
        self._indexes: dict[tuple[str, int], PackIndex] = {}

    def prepare(self) -> None:
        """Make the folders of a new store."""
        if self.path.exists():
            return
        with writing(self.path):
            # `sealed` comes last: where it is there, nothing is missing
            self.index.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(exist_ok=True)

    # --- reading ---------------------------------------------------------------------------------

    def read(self, rows: bool) -> tuple[dict[str, Record], list[pa.Table]]:
        """The records of all runs, and their rows if asked for."""

        def look() -> tuple[dict[str, Record], list[pa.Table]]:
            # single files first: a run that is packed meanwhile is found among the packs
            paths = [*self._singles(), *(self.path / name for name in self._packs())]
            names = {path.name for path in paths}
            self._footers = {key: footer for key, footer in self._footers.items() if key[0] in names}
            return self._load(paths, rows)[:2]

        return self._steady(look, self._listed)

    def ended(self, run: str) -> str | None:
        """How a run ended, `unreadable` where its file is damaged, None if it is not here.

        Raises:
            NewerFormat, Inaccessible: its file cannot be read here, though it may be intact.
        """

        def own() -> str | None:
            if not is_file_name(run):
                return None
            try:
                return self._footer(self.single(run)).records[run].status
            except FileNotFoundError:
                return None
            except (Damaged, KeyError):
                return "unreadable"

        return own() or self._steady(lambda: own() or self._ended_in_packs(run), self._pack_names)

    def record(self, run: str) -> Record | None:
        """The record of one run, None if it is not here."""
        return self._steady(lambda: self._record(run), self._listed)

    def _record(self, run: str) -> Record | None:
        if is_file_name(run) and self.single(run).exists():
            return self._footer(self.single(run)).records.get(run)
        return next((f.records[run] for f in self._packs().values() if f and run in f.records), None)

    def _ended_in_packs(self, run: str) -> str | None:
        indexes = {name: index for name in self._pack_names() if (index := self._index(name))}
        replaced = {name for index in indexes.values() for name in index.replaces}
        found = (index.ended(run) for name, index in indexes.items() if name not in replaced)
        return next((status for status in found if status), None)

    def _steady(self, look: Callable[[], T], names: Callable[[], list[str]]) -> T:
        """Retry until the list of packs is the same before and after the read."""
        for attempt in range(100):
            before = names()
            with contextlib.suppress(FileNotFoundError):  # compacted meanwhile
                found = look()
                if before == names():
                    return found
            # 5 s in all, longer each time: several packs may be replaced one after another
            time.sleep(0.001 * attempt)
        raise StoreError(f"{self.path} changes faster than it can be read")

    def _load(
        self, paths: list[Path], rows: bool, salvage: bool = True
    ) -> tuple[dict[str, Record], list[pa.Table], list[Path]]:
        """Records and tables of files, and the files that are intact; a run counts once.

        Args:
            paths: the files.
            rows: whether to read tables.
            salvage: whether to take the intact runs of damaged packs.
        """
        records: dict[str, Record] = {}
        tables, intact = [], []
        for path, found in self._each(paths, rows):
            if isinstance(found, StoreError):
                self.problems[str(path)] = found
                salvaged = self._salvage(path, found) if salvage else None
                if salvaged is None:
                    continue
                footer, table = salvaged
            else:
                intact.append(path)
                footer, table = found
            fresh = {run: record for run, record in footer.records.items() if run not in records}
            if table is not None and rows:
                if len(fresh) < len(footer.records):
                    table = table.filter(pc.is_in(table["run"], pa.array(list(fresh), pa.string())))
                tables.append(table)
            records |= fresh
        return records, tables, intact

    def _each(
        self, paths: list[Path], rows: bool
    ) -> Iterator[tuple[Path, tuple[parquet.Footer, pa.Table | None] | StoreError]]:
        """What each file holds, or what is wrong with it; many files are read by several threads."""

        known = {name: footer for (name, *_), footer in self._footers.items()}

        def one(path: Path) -> tuple[parquet.Footer, pa.Table | None] | StoreError:
            try:
                return parquet.read(path, known.get(path.name)) if rows else (self._footer(path), None)
            except READ_ERRORS as error:
                return error

        if len(paths) < MANY:
            yield from ((path, one(path)) for path in paths)
            return
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            for first in range(0, len(paths), MANY):  # an error ends the read after few more files
                part = paths[first : first + MANY]
                yield from zip(part, pool.map(one, part), strict=True)

    def _salvage(self, path: Path, error: StoreError) -> tuple[parquet.Footer, pa.Table] | None:
        """The intact runs of a damaged pack; what is lost is noted in `problems`."""
        if not (isinstance(error, Damaged) and _is_pack(path.name)):
            return None
        for tail in (None, read_tail(self.index, path.name)):
            with contextlib.suppress(Damaged):
                footer, table, lost = parquet.salvage(path, tail)
                kept = {run: record for run, record in footer.records.items() if run not in lost}
                named = ", ".join(sorted(lost)[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
                intact = f"; {len(kept)} of its {len(footer.records)} runs are intact"
                self.problems[str(path)] = Damaged(f"{error}{intact}" + (f", not {named}" if lost else ""))
                return parquet.Footer(kept, footer.replaces), table
        return None

    # --- writing ---------------------------------------------------------------------------------

    def add(self, table: pa.Table, records: Iterable[Record]) -> None:
        """Put many finished runs into a new pack."""
        self._write_pack(table, records)

    def compact(self, running: Callable[[str], bool], at_most: int = PACK_ROWS) -> int:
        """Put the runs that are done into packs; returns how many were moved.

        Thousands of single files are packed part by part, so that an interrupted compaction has done
        something and memory stays bounded.

        Args:
            running: whether a run is being written.
            at_most: rows of the packs that are merged with them. With less than `PACK_ROWS` a pack is merged
                only with as many rows as it has itself, so that no row is written more often than the
                logarithm of their number.
        """
        self._tidy(running)
        singles = self._singles()
        parts = [singles[first : first + PART] for first in range(0, len(singles), PART)] or [[]]
        moved = 0
        for number, part in enumerate(track(parts, "compacting") if len(parts) > 1 else parts, 1):
            ended = [path for path in part if self._over(path)]
            moved += self._merge(ended, at_most if number == len(parts) else 0)
        return moved

    def _merge(self, singles: list[Path], at_most: int) -> int:
        """Single runs and packs of at most so many rows as one pack; returns how many singles were moved."""
        gathered = sum(_rows(self._footer(path)) for path in singles)
        packs = []
        sizes = {name: _rows(footer) for name, footer in self._packs().items() if footer is not None}
        for name, size in sorted(sizes.items(), key=lambda item: item[1]):
            if size < at_most and (at_most == PACK_ROWS or size <= gathered):
                packs.append(self.path / name)
                gathered += size
        if not singles and len(packs) < 2:
            return 0
        records, tables, intact = self._load([*singles, *packs], rows=True, salvage=False)
        if intact:
            replaces = [path.name for path in intact if path in packs]
            self._write_pack(unite(tables), records.values(), replaces)
        # once the pack is on disk; damaged files stay for `repair`
        self._remove(intact)
        return len(set(singles) & set(intact))

    def discard(self, run: str, running: Callable[[str], bool]) -> None:
        """Remove a run; a pack that holds it is replaced by one without it."""
        self._tidy(running)
        if is_file_name(run):
            self.single(run).unlink(missing_ok=True)
        for name, footer in self._packs().items():
            if footer is None or run not in footer.records:
                continue
            kept = [record for other, record in footer.records.items() if other != run]
            if kept:
                try:
                    _, table = parquet.read(self.path / name)
                except Damaged as error:
                    raise StoreError(
                        f"{error}; move it away first, with scalinglab store verify --repair"
                    ) from error
                self._write_pack(table.filter(pc.not_equal(table["run"], run)), kept, [name])
            self._remove([self.path / name])

    def repair(self, running: Callable[[str], bool]) -> dict[str, StoreError]:
        """Move damaged files into the folder `damaged`; the intact runs of a damaged pack go into a new one.

        Returns what was wrong, by the new paths of the files.

        Raises:
            NewerFormat, Inaccessible: a file cannot be read here, though it may be intact.
        """
        self._tidy(running)
        self.problems = {}
        self.read(rows=True)
        for error in self.problems.values():
            if not isinstance(error, Damaged):
                raise error
        moved: dict[str, StoreError] = {}
        for place, error in self.problems.items():
            path = Path(place)
            if salvaged := self._salvage(path, error):
                footer, table = salvaged
                self._write_pack(table, footer.records.values())  # twice for an instant, never not at all
            moved[str(quarantine(path, self.store))] = error
            forget_index(self.index, [path.name])
        return moved

    def reindex(self) -> list[str]:
        """Build the indexes that packs lack; returns the names of these packs."""
        with writing(self.index):
            self.index.mkdir(parents=True, exist_ok=True)
        built = []
        for name in self._listed():
            try:
                read_index(self.index, name)
            except (FileNotFoundError, Damaged):
                with contextlib.suppress(*READ_ERRORS):
                    write_index(self.index, name, self.path / name)
                    built.append(name)
        return built

    def _write_pack(self, table: pa.Table, records: Iterable[Record], replaces: Iterable[str] = ()) -> None:
        self.reindex()
        # a new name each time: readers know footers and indexes by the names of packs
        pack = self.path / f"pack-{uuid.uuid4().hex[:16]}.parquet"
        # readers find a pack by its index, and look at it only where the pack is there too
        parquet.write(pack, table, records, replaces, lambda file: write_index(self.index, pack.name, file))

    def _remove(self, paths: Iterable[Path]) -> None:
        for path in paths:
            path.unlink(missing_ok=True)
        forget_index(self.index, [path.name for path in paths if _is_pack(path.name)])

    def _tidy(self, running: Callable[[str], bool]) -> None:
        """Remove what interrupted work left behind: packs that were replaced, files half-written."""
        packs = self._packs()
        for name, footer in packs.items():
            replaced = [self.path / old for old in (footer.replaces if footer else ())]
            left = [path for path in replaced if path.exists()]
            if left:
                with contextlib.suppress(Damaged):  # the pack that took their place must be whole
                    parquet.read(self.path / name)
                    self._remove(left)
        here = set(self._listed())
        forget_index(self.index, (indexed(self.index) or set()) - here)
        # only the holder of the lock writes packs and their indexes
        for path in (*self.path.glob(".pack-*.partial"), *self.index.glob(".*.partial")):
            path.unlink(missing_ok=True)
        for path in self.path.glob(".*.parquet.partial"):
            if not running(path.name.removeprefix(".").removesuffix(".parquet.partial")):
                path.unlink(missing_ok=True)

    # --- files -----------------------------------------------------------------------------------

    def single(self, run: str) -> Path:
        """The file of a run that is in no pack."""
        return self.path / f"{run}.parquet"

    def place(self, run: str) -> Path:
        """The file that holds a run."""
        for name, footer in self._packs().items():
            if footer is not None and run in footer.records and not self.single(run).exists():
                return self.path / name
        return self.single(run)

    def count_singles(self) -> int:
        """The number of runs with a file of their own."""
        return sum(_is_single(name) for name in self._names())

    def has_singles(self, number: int) -> bool:
        """Whether at least so many runs have a file of their own that can be put into a pack."""
        if self.count_singles() < number:
            return False
        ended = filter(self._over, self._singles())
        return sum(1 for _ in itertools.islice(ended, number)) == number

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.path)
        except FileNotFoundError:
            return []

    def _singles(self) -> list[Path]:
        return [self.path / name for name in sorted(filter(_is_single, self._names()))]

    def _listed(self) -> list[str]:
        """The packs of the folder, with or without an index."""
        return sorted(filter(_is_pack, self._names()))

    def _pack_names(self) -> list[str]:
        """The packs, found without listing the folder, which may hold thousands of single runs."""
        known = indexed(self.index)
        if known is None:  # the folder of indexes is gone: they are a cache
            return self._listed()
        folder = str(self.path)
        return sorted(name for name in known if os.path.exists(f"{folder}{os.sep}{name}"))

    def _packs(self) -> dict[str, parquet.Footer | None]:
        """The packs that no other replaces, with their footers; None if one cannot be read."""
        found: dict[str, parquet.Footer | None] = {}
        for name in self._listed():
            try:
                found[name] = self._footer(self.path / name)
            except READ_ERRORS:
                found[name] = None
        replaced = {name for footer in found.values() if footer for name in footer.replaces}
        return {name: footer for name, footer in found.items() if name not in replaced}

    def _footer(self, path: Path) -> parquet.Footer:
        with reading(path):
            state = path.stat()
        # the file of a failed run is replaced by one of the same name when the run is done again
        key = (path.name, state.st_size, state.st_mtime_ns)
        if key not in self._footers:
            self._footers[key] = parquet.read_footer(path)
        return self._footers[key]

    def _index(self, name: str) -> PackIndex | None:
        """The index of a pack; None if the pack is damaged."""
        size = os.stat(f"{self.path}{os.sep}{name}").st_size
        key = (name, size)
        if key not in self._indexes:
            try:
                self._indexes[key] = read_index(self.index, name)
            except (FileNotFoundError, Damaged):
                try:
                    self._indexes[key] = index_of(self._footer(self.path / name), size)
                except Damaged:
                    return None
        return self._indexes[key] if self._indexes[key].size == size else None

    def _over(self, path: Path) -> bool:
        """Whether a run's own file has it as done or diverged, and it fits into a table with others."""
        try:
            records = self._footer(path).records.values()
        except (*READ_ERRORS, FileNotFoundError):
            return False
        return all(r.status in ("done", "diverged") and not r.misfits for r in records)


def _is_pack(name: str) -> bool:
    return name.startswith("pack-") and name.endswith(".parquet")


def _is_single(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith(("pack-", "."))


def _rows(footer: parquet.Footer) -> int:
    return sum(record.rows for record in footer.records.values())
