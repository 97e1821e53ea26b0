"""JSON lines as rows of plain values, read one by one.

Nested objects are unfolded, ``{"eval": {"loss": 3.1}}`` gives ``eval.loss``. Arrays of many values, such as
histograms, are neither settings nor measurements: they are left out, so that a log takes the memory of its
numbers, whatever else it holds. Long texts are shortened; their columns stay where they are asked for.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from scalinglab.curves.columns import is_numeric
from scalinglab.curves.files import json_line
from scalinglab.curves.parts import Droppable, frame_of_rows
from scalinglab.errors import BadInput
from scalinglab.readers.tables.large import LEFT_OUT, NOTES, is_long, shortened

MOST_VALUES = 50  # of an array
DEEPEST_OBJECT = 8  # levels of a JSON object


def table_of_lines(lines: Iterable[str], path: Path, droppable: Droppable) -> pd.DataFrame:
    """The table of the file `path`, which has a JSON object in every line."""
    cut: list[str] = []
    frame = _table(_objects(lines, path, cut), droppable)
    frame.attrs[NOTES] = cut
    return frame


def _objects(lines: Iterable[str], path: Path, cut: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects with their places; a last line without its end is being written, and is named in `cut`."""
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        try:
            if line.strip():
                yield where, _object(line, where)
        except BadInput:
            if number == 1 or line.endswith("\n"):
                raise
            cut.append(f"line {number} is cut short: left out")


def table_of_rows(rows: Iterable[dict[str, Any]], path: Path, droppable: Droppable) -> pd.DataFrame:
    """The table of the file `path`, which is a list of JSON objects."""
    return _table(((f"{path}, row {number}", row) for number, row in enumerate(rows, 1)), droppable)


def _table(rows: Iterable[tuple[str, dict[str, Any]]], droppable: Droppable) -> pd.DataFrame:
    """The table of rows, each with its place in the file."""
    left_out: dict[str, None] = {}
    frame = frame_of_rows((_plain(row, left_out, where) for where, row in rows), droppable)
    frame.attrs[LEFT_OUT] = list(left_out)
    return frame


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except RecursionError as error:
        raise BadInput(f"{where} is nested too deeply: {text[:60]!r}") from error
    except (ValueError, TypeError) as error:
        raise BadInput(f"{where} is not a JSON object: {text[:60]!r}") from error


def _plain(row: dict[str, Any], left_out: dict[str, None], where: str) -> dict[str, Any]:
    """The row itself where it holds numbers and short texts; else what of it does."""
    if not any(map(_is_large, row.values())):
        return row
    found: dict[str, Any] = {}
    for name, value in unfolded(row):
        if name in found:
            raise BadInput(f"{where} has two values called {name!r}: rename one of them")
        short = _short_array(value) if isinstance(value, list) else value
        if (short is None and value is not None) or _is_large(short):
            left_out[name] = None
        if not isinstance(short, dict) and (short is not None or value is None):
            found[name] = shortened(short)
    return found


def with_objects(part: pd.DataFrame) -> pd.DataFrame:
    """Rows of a table with the dictionaries in its cells unfolded, as W&B's interface gives them.

    >>> with_objects(pd.DataFrame({"config": ["{'lr': 0.1, 'n_params': 9}"]})).to_dict("records")
    [{'config.lr': 0.1, 'config.n_params': 9}]
    """
    columns: dict[str, Any] = {}
    for name, column in part.items():
        objects = None if is_numeric(column) or not len(column) else _objects_of(column)
        if objects is None:
            columns[str(name)] = column
        else:
            inner = frame_of_rows(_plain(row, {}, str(name)) for row in objects)
            columns |= {f"{name}.{key}": inner[key].set_axis(column.index) for key in inner}
    return pd.DataFrame(columns) if [*columns] != [*part] else part


def _objects_of(column: pd.Series) -> list[dict[str, Any]] | None:
    """The dictionaries that the cells of a column are, in Python or JSON; None where one is none."""
    found = []
    for text in column:
        if not (isinstance(text, str) and text.startswith("{") and text.rstrip().endswith("}")):
            return None
        value = _literal(text)
        if not isinstance(value, dict):
            return None
        found.append({str(key): inner for key, inner in value.items()})
    return found


def _literal(text: str) -> Any:
    """A value as Python or JSON writes it; None where it is neither."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return None


def row_of(document: dict[str, Any]) -> dict[str, Any]:
    """The numbers and short texts of one run, which a file holds nested; long lists are left out."""
    return _plain(document, {}, "the file")


def _is_large(value: Any) -> bool:
    return isinstance(value, (dict, list)) or is_long(value)


def unfolded(row: dict[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """The values of a nested object, each with its whole name."""
    for key, value in row.items():
        if isinstance(value, list) and (named := _named_values(value)):
            value = named
        if isinstance(value, dict) and depth < DEEPEST_OBJECT:
            yield from unfolded(value, f"{prefix}{key}.", depth + 1)
        else:
            yield f"{prefix}{key}", value


def _named_values(values: list[Any]) -> dict[str, Any]:
    """A list of names and values, ``[{"name": "val_loss", "value": 3.1}]``, as an object; else nothing."""
    if not values or not all(isinstance(each, dict) and "value" in each for each in values):
        return {}
    key = next(
        (k for k in ("name", "metric", "key", "type") if all(isinstance(v.get(k), str) for v in values)), None
    )
    found = {each[key]: each["value"] for each in values} if key else {}
    return found if len(found) == len(values) else {}


def _short_array(values: list[Any]) -> str | None:
    """A short array of plain values as text, which can be a setting."""
    if len(values) > MOST_VALUES or any(isinstance(value, (dict, list)) for value in values):
        return None
    return json_line(values)
