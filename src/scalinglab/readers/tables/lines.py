"""JSON lines as rows of plain values, read one by one.

Nested objects are unfolded, ``{"eval": {"loss": 3.1}}`` gives ``eval.loss``. Arrays of many values, such as
histograms, are neither settings nor measurements: they are left out, so that a log takes the memory of its
numbers, whatever else it holds. Long texts are shortened; their columns stay where they are asked for.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from scalinglab.curves.columns import is_numeric, is_seed
from scalinglab.curves.files import frame_of_rows, json_line, json_object
from scalinglab.curves.names import TEST, TRAIN, quantity
from scalinglab.curves.numbers import cell
from scalinglab.errors import BadInput
from scalinglab.readers.tables.headers import (
    SIZES,
    is_name,
    is_size,
    model_sizes,
    role_of_letter,
    roles,
    sized,
)
from scalinglab.readers.tables.remarks import LEFT_OUT, NOTES, is_long, shortened
from scalinglab.support.words import counted

MOST_VALUES = 50  # of an array
FEWEST_BY_SIZE = 3  # numbers under names that are sizes
DEEPEST_OBJECT = 8  # levels of a JSON object
_VALUES = {"value", "valuecurrent", "current", "last", "val"}  # of a metric in a list of them
_OF_RUNS = {*SIZES, "seed", "learning_rate", "batch_size", "depth", "model", "run"}


def table_of_lines(lines: Iterable[str], path: Path) -> pd.DataFrame:
    """The table of the file `path`, which has a JSON object in every line."""
    cut: list[str] = []
    frame = _table(_objects(lines, path, cut))
    numbers = [c for c in frame if is_numeric(frame[c])]
    words = frame[numbers].isna().all(axis=1)
    if numbers and words.any() and (frame[words].isna().all() | frame[~words].notna().any()).all():
        frame, attrs = frame[~words].reset_index(drop=True), frame.attrs
        frame.attrs = attrs
        cut.append(f"left out: {counted(int(words.sum()), 'line')} without a number")
    frame.attrs[NOTES] = cut
    return frame


def _objects(lines: Iterable[str], path: Path, cut: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects with their places; a last line without its end is being written, and is named in `cut`."""
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        try:
            if line.strip():
                yield where, json_object(line, where)
        except BadInput:
            if number == 1 or line.endswith("\n"):
                raise
            cut.append(f"line {number} is cut short: left out")


def table_of_rows(rows: Iterable[dict[str, Any]], path: Path) -> pd.DataFrame:
    """The table of the file `path`, which is a list of JSON objects."""
    return _table(((f"{path}, row {number}", row) for number, row in enumerate(rows, 1)))


def _table(rows: Iterable[tuple[str, dict[str, Any]]]) -> pd.DataFrame:
    """The table of rows, each with its place in the file."""
    left_out: dict[str, None] = {}
    frame = frame_of_rows((_plain(row, left_out, where) for where, row in rows))
    frame.attrs[LEFT_OUT] = list(left_out)
    return frame


def _plain(row: dict[str, Any], left_out: dict[str, None], where: str) -> dict[str, Any]:
    """The numbers and short texts of a row, nested objects flattened."""
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


def literal(text: str) -> Any:
    """A value as Python or JSON writes it; None if it is neither."""
    for read in (loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return None


def loads(text: str | bytes) -> Any:
    """JSON, with integers of more digits than a number of an experiment has as floats."""
    return json.loads(text, parse_int=whole)


def whole(digits: str) -> int | float:
    """An integer, or a float where it has more digits than a float."""
    return int(digits) if len(digits) <= 18 else float(digits)


def records_of(document: Any) -> list[dict[str, Any]]:
    """The rows of the table that a nested document holds, each with the settings that stand above it.

    Rows are objects in a list, objects with the same keys under different names (the names of runs), or lists
    of equal length. Of several tables the outermost is taken in which a size varies and something was
    measured; otherwise a single run; otherwise the outermost table with a measurement.

    >>> records_of({"lr": 0.1, "runs": {"a": {"N": 1, "loss": 3.0}, "b": {"N": 2, "loss": 2.0}}})[1]
    {'lr': 0.1, 'run': 'b', 'N': 2, 'loss': 2.0}
    """
    tables: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for path, row in _records(document, (), {}):
        tables.setdefault(path, []).append(row)
    several = [rows for _, rows in sorted(tables.items(), key=lambda found: len(found[0])) if len(rows) > 1]
    ranked = [rows for rows in several if _varies(rows) and _measures(rows)]
    one = [row for row in tables.get((), []) if any(map(is_name, row))]
    if one and (not several or (_measures(one) and any(map(is_size, one[0])))):
        ranked.append(one)
    return next(iter([*ranked, *filter(_measures, several), *several, one]))


def _records(
    node: Any, path: tuple[str, ...], above: dict[str, Any]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every row in a document, with the place of its table: names of runs are no part of that."""
    if isinstance(node, list):
        for item in node:
            if isinstance(item, dict):
                yield from _records(item, (*path, "[]"), above)
        return
    if not isinstance(node, dict) or len(path) > DEEPEST_OBJECT:
        return
    name = path[-1] if path else "value"
    columns = _columns_of(node, name) if name != "[]" else {}  # lists in a row are its own
    alike = _alike(node) if not columns else {}
    inner = {k: v for k, v in node.items() if k not in alike and k not in columns and _has_rows(v)}
    plain = dict(unfolded({k: v for k, v in node.items() if not (k in alike or k in columns or k in inner)}))
    settings = above | {k: v for k, v in plain.items() if not _OF_RUNS.isdisjoint(roles(k))}
    if plain:
        yield path, above | plain
    counted = any(quantity(c) is None and "learning_rate" not in roles(c) for c in columns)
    for epoch, values in enumerate(zip(*columns.values()), 1):
        yield (
            (*path, "columns"),
            settings | ({} if counted else {"epoch": epoch}) | dict(zip(columns, values)),
        )
    for name, run in alike.items():
        group = settings.get("run") if path[-1:] == ("{}",) else None
        named = {"run": name} if group is None else {"group": group, "run": f"{group} {name}"}
        named |= {"size": name} if _are_sizes(alike) else {}
        yield from _records(run, (*path, "{}"), settings | named)
    for name, part in inner.items():
        yield from _records(part, (*path, str(name)), settings)


def _columns_of(node: dict[str, Any], name: str = "value") -> dict[str, list[Any]]:
    """Lists of equal length, the objects by row number that pandas writes, or numbers by size, as columns."""
    results = [_values_of_seeds(value) for value in node.values()]
    if len(node) >= FEWEST_BY_SIZE and all(map(_is_measured, results)):
        sizes = [found for key in node if (found := sized(str(key))) is not None]
        if len(sizes) == len(node) and len({word for word, _, _ in sizes}) == 1:
            values = [size for _, size, _ in sizes]
            word = sizes[0][0] or "size"
            key = role_of_letter(word, max(values)) or word
            return {key: values, name if quantity(name) else "value": results}
    inner = [v for v in node.values() if isinstance(v, dict)]
    if len(inner) > 1 and len(inner) == len(node):
        rows = [*inner[0]]
        numbered = rows == [*map(str, range(len(rows)))]
        alike = all([*v] == rows for v in inner) and not any(map(is_name, rows))
        if alike and (numbered or sum(map(is_name, node)) > 1):
            return {name: [*v.values()] for name, v in node.items()}
    seeds = {
        f"{k} {seed}": each
        for k, v in node.items() if isinstance(v, dict) and quantity(k)
        for seed, each in v.items() if _is_seed_key(seed)
    }  # fmt: skip
    lists = {
        k: v for k, v in (node | seeds).items()
        if isinstance(v, list) and not any(isinstance(each, dict) for each in v)
    }  # fmt: skip
    lengths = [len(v) for k, v in lists.items() if is_name(k)]
    length = max(lengths, key=lengths.count) if lengths else 0
    equal = {k: v for k, v in lists.items() if len(v) == length}
    return equal if length > 1 and len(equal) > 1 else {}


def _is_seed_key(key: Any) -> bool:
    """Whether a key is that of one seed: seed_0, "seed 3"."""
    return is_seed(str(key).rstrip("0123456789_- "))


def _values_of_seeds(value: Any) -> Any:
    """The list of values in {"seed_0": 0.3, "seed_1": 0.2}; anything else as it is."""
    return [*value.values()] if isinstance(value, dict) and value and all(map(_is_seed_key, value)) else value


def _are_sizes(names: Iterable[str]) -> bool:
    """Whether names are sizes, such as 1000, 2000, 5000, and not a running count."""
    numbers = [found.value for n in names if (found := cell(str(n))) is not None and not found.word]
    return len(numbers) == len([*names]) and sorted(numbers) not in (
        [*range(k, k + len(numbers))] for k in (0, 1)
    )


def _is_measured(value: Any) -> bool:
    """Whether a value is a number, or numbers of several seeds."""
    return all(isinstance(each, (int, float)) for each in (value if isinstance(value, list) else [value]))


def _alike(node: dict[str, Any]) -> dict[str, Any]:
    """The objects (or lists of rows) below one another that have keys in common: runs, or groups of them."""
    inner = {k: _keys(v) for k, v in node.items() if _keys(v)}
    counts = Counter(key for keys in inner.values() for key in keys)
    shared = {key for key, count in counts.items() if count > 1}
    found = {k: node[k] for k, keys in inner.items() if len(shared & keys) > 0.5 * len(keys)}
    if all(str(k).lower() in (*TRAIN, *TEST) and _holds_values(v) for k, v in found.items()):
        return {}  # what was measured of one run, in training and test
    return found if len(found) > 1 and not any(map(is_name, found)) else {}


def _holds_values(value: Any) -> bool:
    return isinstance(value, dict) and not any(isinstance(v, (dict, list)) for v in value.values())


def _keys(value: Any) -> set[tuple[str, bool]]:
    rows = value if isinstance(value, list) else [value]
    if not rows or not all(isinstance(row, dict) for row in rows):
        return set()
    return {(str(key), isinstance(value, dict)) for row in rows[:2] for key, value in row.items()}


def _has_rows(value: Any) -> bool:
    """Whether a table stands in a value: a list of objects, equal lists, or objects alike."""
    if isinstance(value, list):
        return sum(isinstance(item, dict) for item in value) > 1 and not _named_values(value)
    if not isinstance(value, dict):
        return False
    return bool(_columns_of(value) or _alike(value)) or any(map(_has_rows, value.values()))


def holds_rows(row: dict[str, Any]) -> bool:
    """Whether a row has a list of evaluations within it."""
    return any(_has_rows(value) and _measures(value) for value in row.values() if isinstance(value, list))


def names_a_result(columns: Iterable[Any]) -> bool:
    """Whether names say both a size and a measurement."""
    names = [str(name) for name in columns]
    sized = any(is_size(n) or n in ("n", "d") or model_sizes(n) for n in names)
    return sized and _measures([dict.fromkeys(names)])


def _varies(rows: list[dict[str, Any]]) -> bool:
    sizes = [name for name in rows[0] if is_size(name)]
    return any(len({str(row.get(name)) for row in rows}) > 1 for name in sizes)


def _measures(rows: list[dict[str, Any]]) -> bool:
    return any(
        (found := quantity(name)) is not None and not found.is_spread for row in rows[:9] for name in row
    )


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
        if isinstance(value, list) and len(value) == 1:  # of one evaluation
            value = value[0]
        if isinstance(value, dict) and {"metric", "variant", "value"} <= {*value}:  # ClearML's, under hashes
            yield f"{value['metric']}.{value['variant']}", value["value"]
        elif isinstance(value, dict) and value.get("name") == key and "value" in value:
            yield f"config.{key}", value["value"]
        elif isinstance(value, dict) and depth < DEEPEST_OBJECT:
            yield from unfolded(value, f"{prefix}{key}.", depth + 1)
        else:
            yield f"{prefix}{key}", value


def _named_values(values: list[Any]) -> dict[str, Any]:
    """A list of names and values, ``[{"name": "val_loss", "value": 3.1}]``, as an object; else nothing."""
    value = (
        next((k for k in values[0] if k.lower() in _VALUES), "")
        if values and isinstance(values[0], dict)
        else ""
    )
    if not value or not all(isinstance(each, dict) and value in each for each in values):
        return {}
    names = [k for k in values[0] if k.lower().endswith(("name", "metric", "key", "type"))]
    key = next((k for k in names if all(isinstance(v.get(k), str) for v in values)), None)
    found = {each[key]: each[value] for each in values} if key else {}
    return found if len(found) == len(values) else {}


def _short_array(values: list[Any]) -> str | None:
    """A short array of plain values as text, which can be a setting."""
    if len(values) > MOST_VALUES or any(isinstance(value, (dict, list)) for value in values):
        return None
    return json_line(values)
