"""Finished runs as Parquet: one file a run, or a pack of many, each with its records in the footer.

A footer holds ``{"runs": {name: record}, "metas": [...], "columns": [...], "replaces": [...]}``:
environments are shared by many runs and kept once; a pack names the packs that it takes the place of, so
that a crash between writing the new one and removing the old ones shows no run twice and brings none back.
Pages and footer carry checksums, so that a flipped bit is an error and not a number.
"""

from __future__ import annotations

import contextlib
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scalinglab.curves import PROGRESS, SETTING
from scalinglab.store.files import write_whole
from scalinglab.store.record import Record

_KEY = b"scalinglab"
COUNTS = ("step", "examples")  # whole numbers, unless somebody counts otherwise


@dataclass(frozen=True)
class Footer:
    """The records of a file, and the packs that it replaces."""

    records: dict[str, Record]
    replaces: tuple[str, ...] = ()


class Unreadable(Exception):
    """A sealed file that is truncated, damaged or no store file at all."""


def write(path: Path, table: pa.Table, records: Iterable[Record], replaces: Iterable[str] = ()) -> None:
    """Write runs into one Parquet file, whole or not at all."""
    metas: dict[str, int] = {}
    runs = {}
    for record in records:
        entry = asdict(record)
        entry["meta"] = metas.setdefault(_dumps(entry["meta"]), len(metas))
        runs[entry.pop("run")] = entry
    footer = {
        "format": 1, "columns": table.column_names, "runs": runs,
        "metas": [json.loads(meta) for meta in metas], "replaces": [*replaces],
    }  # fmt: skip
    text = _dumps(footer).encode()

    def to(partial: Path) -> None:
        with (
            partial.open("wb") as file,
            pq.ParquetWriter(
                file, table.schema, compression="zstd", store_schema=False, write_page_checksum=True
            ) as writer,
        ):
            writer.write_table(table)
            writer.add_key_value_metadata({_KEY: b"%08x" % zlib.crc32(text) + text})

    write_whole(path, to)


def read_footer(path: Path) -> Footer:
    """The records of a sealed file."""
    with _reading():
        metadata = pq.read_metadata(path)
        text = metadata.metadata[_KEY]
        if int(text[:8], 16) != zlib.crc32(text[8:]):
            raise ValueError("the checksum of the footer is wrong")
        footer = json.loads(text[8:])
        metas = footer["metas"]
        records = {
            run: Record(run=run, **{**entry, "meta": metas[entry["meta"]]})
            for run, entry in footer["runs"].items()
        }
        if metadata.schema.names != footer["columns"]:
            raise ValueError("the columns are not those that were written")
        if metadata.num_rows != sum(record.rows for record in records.values()):
            raise ValueError("the number of rows is not the one that was written")
        return Footer(records, tuple(footer["replaces"]))


def read_table(path: Path) -> pa.Table:
    """The rows of a sealed file, every page checked."""
    with _reading(), pq.ParquetFile(path, page_checksum_verification=True) as file:
        threads = file.metadata.num_rows > 100_000  # in a small file they cost more than they save
        table = file.read(use_threads=threads).replace_schema_metadata(None)
        table.validate(full=True)
        return table


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever a parser meets in a damaged file
        lines = str(error).splitlines() or ["unreadable"]
        raise Unreadable(f"{type(error).__name__}: {lines[0]}"[:300]) from error


def to_table(record: Record, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A run's rows as a table; a checkpoint written twice counts once, the later one.

    A standard setting that the rows bring, `n_params` say, holds for the whole run.
    """
    latest: dict[Any, Mapping[str, Any]] = {}
    for number, row in enumerate(rows):
        progress = tuple(row.get(name) for name in PROGRESS)
        latest[progress if any(p is not None for p in progress) else number] = row
    names = dict.fromkeys(name for row in latest.values() for name in row)
    constant = record.columns()
    constant |= {name: row[name] for row in latest.values() for name in row if name in SETTING}
    text = {"experiment": pa.string()}  # of one kind also where no run has one
    columns = {name: _array([value] * len(latest), text.get(name)) for name, value in constant.items()}
    columns |= {
        name: _array([row.get(name) for row in latest.values()], None if name in COUNTS else pa.float64())
        for name in names
        if name not in columns
    }
    return pa.table(columns)


def _array(values: list[Any], kind: pa.DataType | None = None) -> pa.Array:
    """The values as a column; measurements are of one kind in all files, which other readers ask for."""
    values = [None if isinstance(v, float) and math.isnan(v) else v for v in values]
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        pass  # integers beyond 64 bits, or numbers and text mixed
    if all(isinstance(v, (int, float, type(None))) for v in values):
        return pa.array([None if v is None else float(v) for v in values])
    return pa.array([None if v is None else str(v) for v in values])


def unite(tables: Sequence[pa.Table]) -> pa.Table:
    """Many tables as one: columns united by name, what a table lacks is null, numbers widened."""
    schemas = list({table.schema: None for table in tables})
    try:
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException:  # text in one run, a number in another: text in both
        schema = _common(schemas)
    return pa.concat_tables([_shape(table, schema) for table in tables])


def _common(schemas: Sequence[pa.Schema]) -> pa.Schema:
    kinds: dict[str, set[pa.DataType]] = {}
    for schema in schemas:
        for column in schema:
            kinds.setdefault(column.name, set()).add(column.type)
    return pa.schema([(name, _widest({k for k in found if k != pa.null()})) for name, found in kinds.items()])


def _widest(kinds: set[pa.DataType]) -> pa.DataType:
    if len(kinds) <= 1:
        return next(iter(kinds), pa.null())
    return pa.string() if pa.string() in kinds or pa.large_string() in kinds else pa.float64()


def _shape(table: pa.Table, schema: pa.Schema) -> pa.Table:
    if table.schema == schema:
        return table
    columns = []
    for column in schema:
        if column.name not in table.schema.names:
            columns.append(pa.nulls(len(table), column.type))
            continue
        found = table.column(column.name)
        if pa.types.is_boolean(found.type) and pa.types.is_floating(column.type):
            found = found.cast(pa.int8())  # Arrow has no direct way
        columns.append(found.cast(column.type, safe=False))
    return pa.Table.from_arrays(columns, schema=schema)


def _dumps(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
