"""Finished runs as Parquet: one file a run, or a pack of many, each with its records in the footer.

A footer holds ``{"format": 1, "version": …, "runs": {name: record}, "metas": [...], "columns": [...],
"replaces": [...], "data": [length, checksum]}``: environments are shared by many runs and kept once; a pack
names the packs that it takes the place of, so that a crash between writing the new one and removing the old
ones shows no run twice and brings none back. Pages and footer carry checksums, so that a flipped bit is an
error and not a number.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scalinglab._version import __version__
from scalinglab.store.files import Damaged, NewerFormat, StoreError, newer, reading, write_whole
from scalinglab.store.record import FORMAT, Record

_KEY = b"scalinglab"
_FIELDS = {field.name for field in fields(Record)}
GROUPS = 64  # parts of a file, of which damage takes one by one
GROUP_ROWS = 16_384  # of a part at most
_LARGE = 2**24  # bytes from which a file is mapped into memory instead of read


@dataclass(frozen=True)
class Footer:
    """The records of a file, the packs that it replaces, and length and checksum of its data.

    `columns` and `checksum` are of the file's rows and of the footer's text.
    """

    records: dict[str, Record]
    replaces: tuple[str, ...] = ()
    data: tuple[int, int] = (0, 0)
    columns: tuple[str, ...] = ()
    checksum: int | None = None


def write(
    path: Path,
    table: pa.Table,
    records: Iterable[Record],
    replaces: Iterable[str] = (),
    before: Callable[[Path], None] | None = None,
) -> None:
    """Write runs into one Parquet file, whole or not at all.

    Args:
        path: the file.
        table: the rows of all runs.
        records: of the runs.
        replaces: names of the packs that it takes the place of.
        before: called with the file that is complete but still under its temporary name.
    """
    metas: dict[str, int] = {}
    runs = {}
    for record in records:
        entry = {name: getattr(record, name) for name in _FIELDS}
        entry["meta"] = metas.setdefault(_dumps(entry["meta"]), len(metas))
        runs[entry.pop("run")] = entry
    footer = {
        "format": FORMAT, "version": __version__, "columns": table.column_names, "runs": runs,
        "metas": [json.loads(meta) for meta in metas], "replaces": [*replaces],
    }  # fmt: skip

    def to(partial: Path) -> None:
        with (
            _SummedFile(partial, "w") as file,
            pq.ParquetWriter(
                file, table.schema, compression="zstd", store_schema=False, write_page_checksum=True
            ) as writer,
        ):
            for part in _parts(table):
                writer.write_table(part)
            text = _dumps({**footer, "data": [file.tell(), file.sum]}).encode()
            writer.add_key_value_metadata({_KEY: b"%08x" % zlib.crc32(text) + text})
        if before is not None:
            before(partial)

    write_whole(path, to)


class _SummedFile(io.FileIO):
    """A file that adds up the checksum of what is written to it."""

    sum = 0

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self.sum = zlib.crc32(view, self.sum)
        done = 0
        while done < len(view):
            done += super().write(view[done:]) or 0
        return done


def check_data(path: Path) -> None:
    """Compare all bytes before the footer with their checksum, page headers included."""
    length, expected = read_footer(path).data
    total = 0
    with reading(path), path.open("rb") as file:
        while length > 0 and (part := file.read(min(length, 2**22))):
            total = zlib.crc32(part, total)
            length -= len(part)
    if length or total != expected:
        raise Damaged(f"{path} is damaged: the checksum of its data is wrong")


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    """The table in parts that end where a run does, so that damage to one costs few runs."""
    size = min(GROUP_ROWS, -(-len(table) // GROUPS))
    runs = table["run"].combine_chunks()
    ends = [*np.flatnonzero(pc.not_equal(runs[1:], runs[:-1])) + 1, len(table)] if len(table) else [0]
    start = 0
    for end in ends:
        if end - start >= size or end == ends[-1]:
            yield table.slice(start, end - start)
            start = end


# --- reading -------------------------------------------------------------------------------------


def open_source(path: Path) -> pa.NativeFile:
    """The bytes of a file, as Arrow reads them."""
    with reading(path):
        if path.stat().st_size < _LARGE:
            return pa.BufferReader(path.read_bytes())
        path.open("rb").close()  # Python's errors are exact, Arrow's are not
        return pa.memory_map(str(path))


def read_footer(path: Path) -> Footer:
    """The records of a sealed file."""
    with open_source(path) as source, parsing(path):
        return footer_of(pq.read_metadata(source), path)


def read(path: Path, known: Footer | None = None) -> tuple[Footer, pa.Table]:
    """The records and the rows of a sealed file, every page checked.

    Args:
        path: the file.
        known: its footer as it was read before, so that the same text need not be parsed twice.
    """
    with open_source(path) as source, parsing(path):
        file = pq.ParquetFile(source, page_checksum_verification=True)
        footer = footer_of(file.metadata, path, known)
        threads = file.metadata.num_rows > 100_000  # in a small file they cost more than they save
        table = file.read(use_threads=threads).replace_schema_metadata(None)
        # checksums of pages leave out the headers, which say where values begin and end
        table.validate(full=True)
        return footer, table


def salvage(path: Path, tail: bytes | None) -> tuple[Footer, pa.Table, set[str]]:
    """What is intact in a damaged file: its footer, the rows of intact runs, and the names of the others.

    Args:
        path: the file.
        tail: a copy of its end, from before it was damaged; the file's own end is used without one.

    Raises:
        Damaged: nothing can be read.
    """
    with reading(path):
        data = path.read_bytes()
    if tail is not None:
        length = int.from_bytes(tail[:8], "little")
        end = tail[8:]
        # a file that was cut short gets its old length: parts are found by where they began
        data = data[: length - len(end)].ljust(length - len(end), b"\0") + end
    with parsing(path):
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        footer = footer_of(file.metadata, path)
        tables = []
        for number in range(file.metadata.num_row_groups):
            with contextlib.suppress(Exception):  # whatever a parser meets in a damaged page
                table = file.read_row_group(number, use_threads=False).replace_schema_metadata(None)
                table.validate(full=True)
                tables.append(table)
        if not tables:
            raise ValueError("no part of it is intact")
        table = pa.concat_tables(tables)
        counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(table["run"]).to_pylist()}
        lost = {run for run, record in footer.records.items() if counts.get(run, 0) != record.rows}
        kept = pa.array([run for run in footer.records if run not in lost], pa.string())
        return footer, table.filter(pc.is_in(table["run"], kept)), lost


def tail_of(path: Path) -> bytes:
    """A copy of a file's end, which holds its records and where everything lies: what `salvage` needs."""
    with reading(path), path.open("rb") as file:
        size = file.seek(-8, os.SEEK_END) + 8
        length = int.from_bytes(file.read(4), "little") + 8
        file.seek(-length, os.SEEK_END)
        return size.to_bytes(8, "little") + file.read()


def footer_of(metadata: pq.FileMetaData, path: Path, known: Footer | None = None) -> Footer:
    """The footer out of a Parquet file's metadata, checked against them."""
    text = metadata.metadata[_KEY]
    checksum = zlib.crc32(text[8:])
    if int(text[:8], 16) != checksum:
        raise ValueError("the checksum of the footer is wrong")
    footer = known if known and known.checksum == checksum else _parsed(text[8:], checksum, path)
    if tuple(metadata.schema.names) != footer.columns:
        raise ValueError("the columns are not those that were written")
    if metadata.num_rows != sum(record.rows for record in footer.records.values()):
        raise ValueError("the number of rows is not the one that was written")
    return footer


def _parsed(text: bytes, checksum: int, path: Path) -> Footer:
    footer = json.loads(text)
    if footer["format"] > FORMAT:
        raise NewerFormat(newer(str(path), footer.get("version")))
    metas = footer["metas"]
    unknown = {name for entry in footer["runs"].values() for name in entry} - _FIELDS
    if unknown:
        raise NewerFormat(newer(str(path), footer.get("version", metas[0].get("version") if metas else None)))
    records = {
        run: Record.from_dict({"run": run, **entry, "meta": metas[entry["meta"]]})
        for run, entry in footer["runs"].items()
    }
    length, expected = footer["data"]
    return Footer(records, tuple(footer["replaces"]), (length, expected), tuple(footer["columns"]), checksum)


@contextlib.contextmanager
def parsing(path: Path) -> Iterator[None]:
    """Turn whatever a parser meets in a damaged file into `Damaged`."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        # in a small file a damaged length asks for the memory
        if isinstance(error, MemoryError) and path.stat().st_size >= _LARGE:
            raise StoreError(f"cannot read {path}: out of memory") from error
        lines = str(error).splitlines() or ["unreadable"]
        raise Damaged(f"{path} is damaged: {type(error).__name__}: {lines[0]}"[:400]) from error


def _dumps(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
