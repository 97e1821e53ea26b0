"""Rows as Arrow tables: of one run, and of many with their columns united by name."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from scalinglab.curves import PROGRESS, SETTING
from scalinglab.curves.columns import REASONS
from scalinglab.store.record import Record

COUNTS = ("step", "examples")  # whole numbers by default


def to_table(record: Record, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A run's rows as a table; of duplicate checkpoints the later one is used.

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
        name: _array([row.get(name) for row in latest.values()], _kind(name))
        for name in names
        if name not in columns
    }
    return pa.table(columns)


def _kind(name: str) -> pa.DataType | None:
    """Of a measurement."""
    return pa.string() if name in REASONS else None if name in COUNTS else pa.float64()


def _array(values: list[Any], kind: pa.DataType | None = None) -> pa.Array:
    """The values as a column; measurements are of one kind in all files, which other readers ask for."""
    # as nulls, which pandas reads back as NaN: a column has one kind of missing value
    values = [None if isinstance(v, float) and math.isnan(v) else v for v in values]
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        pass  # integers beyond 64 bits, or numbers and text mixed
    if all(isinstance(v, (int, float, type(None))) for v in values):
        with contextlib.suppress(OverflowError):  # beyond 1.8e308, which only text can hold
            return pa.array([None if v is None else float(v) for v in values])
    return pa.array([None if v is None else str(v) for v in values])


def unite(tables: Sequence[pa.Table]) -> pa.Table:
    """Many tables as one: columns united by name, what a table lacks is null, numbers widened."""
    # thousands of runs have a few different schemas
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
        # a safe cast refuses whole numbers beyond 2⁵³, which lose digits as floats
        columns.append(found.cast(column.type, safe=False))
    return pa.Table.from_arrays(columns, schema=schema)
