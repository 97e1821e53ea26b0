"""Tables in files: Parquet, CSV and JSON lines.

Values come back as they were: floats with all their digits, text that looks like a number as text,
missing as null. JSON has no infinity; it is written as 1e999, which JSON readers take for it.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from scalinglab.curves.names import PROGRESS, aliases
from scalinglab.errors import BadInput
from scalinglab.support.progress import opened
from scalinglab.support.whole_files import write_whole

_SETTINGS = b"scalinglab.settings"  # in a Parquet file: the columns that were declared as settings
_TEXT = {"run": str, "source": str, "experiment": str}
_OLD_PANDAS = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if _OLD_PANDAS else {}  # the default since 3.1

SPACES = r"\s+"  # the separator of columns that are aligned by spaces
SAMPLE = 1 << 16  # of a file, to see how it is written
PART = 2_000  # rows that are held as dictionaries at one time
BLOCK = 50  # parts in a block
_INTEGER = re.compile(r"[+-]?[0-9]+")


def json_line(values: Mapping[str, Any] | list[Any]) -> str:
    """A dictionary (or list) as one line of strict JSON: NaN is null, infinity 1e999."""
    try:
        return json.dumps(values, allow_nan=False)
    except ValueError:
        return _json(values)


def _json(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "null" if math.isnan(value) else ("1e999" if value > 0 else "-1e999")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(k))}: {_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_json, value)) + "]"
    return json.dumps(value)


def write_table(frame: pd.DataFrame, settings: Iterable[str], path: Path) -> None:
    """Write by the ending; the file appears whole or not at all."""
    write = by_ending(path, {".parquet": _write_parquet, ".csv": _write_csv, **_jsonl(_write_lines)})
    write_whole(path, lambda partial: write(frame, tuple(settings), partial))


def read_table(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read by the ending; also the columns declared as settings, where the format keeps them.

    A table without rows is an error: most likely the wrong file was given.
    """
    if not path.exists():
        raise BadInput(f"{path} does not exist")
    read = by_ending(path, {".parquet": _read_parquet, ".csv": _read_csv, **_jsonl(_read_lines)})
    try:
        frame, settings = read(path)
    except BadInput:
        raise
    except RecursionError as error:
        raise BadInput(f"{path} cannot be read: it is nested too deeply") from error
    except (OSError, ValueError) as error:  # Arrow's and pandas' parsers raise one of these
        reason = str(error).splitlines()[0].removeprefix("Error tokenizing data. C error: ")
        raise BadInput(f"{path} cannot be read: {reason}") from error
    if frame.empty:
        names = f", only the names {', '.join(map(str, frame.columns))}" if len(frame.columns) else ""
        raise BadInput(
            f"{path} has no rows{names}: a table of curves has a row for every measurement, under names such "
            "as n_data, step, test_error"
        )
    return frame, settings


def frame_of(data: Any) -> pd.DataFrame:
    """Python's values as a table, the same with every version of pandas.

    Raises:
        ValueError: the columns do not fit together, or a text has a lone surrogate.
    """
    try:
        frame = pd.DataFrame(data)
    except OverflowError:  # pandas 2, where an integer is beyond the largest float; `Curves` names it
        frame = pd.DataFrame(data, dtype=object)
    for _, column in frame.items():
        if column.dtype == object:  # all text before pandas 3, which refuses what is not Unicode by itself
            "".join(value for value in column if isinstance(value, str)).encode()
    return frame


def frame_of_rows(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """A table of rows, put into columns part by part: rows as dictionaries take ten times their numbers.

    Columns are joined one by one, so that memory holds the table once, and a column and a part more. Parts
    are first joined to blocks, whose columns are large enough for the system to take them back when freed.
    """
    left = iter(rows)
    first = frame_of(list(islice(left, PART)))
    if len(first) < PART:
        return first
    names, blocks, parts = dict.fromkeys(first.columns), list[_Columns](), [_Columns.of(first)]
    while some := list(islice(left, PART)):
        part = frame_of(some)
        names |= dict.fromkeys(part.columns)
        parts.append(_Columns.of(part))
        if len(parts) == BLOCK:
            blocks, parts = [*blocks, _Columns.joined(parts)], []
    blocks += parts
    return pd.DataFrame({name: _joined(name, blocks) for name in names}, copy=False)


@dataclass
class _Columns:
    """Some rows, column by column, each with memory of its own.

    Columns that are empty are left out: they have no type to agree with those of other rows.
    """

    length: int
    values: dict[Any, pd.Series]

    @classmethod
    def of(cls, part: pd.DataFrame) -> _Columns:
        """The columns of a table."""
        return cls(len(part), {name: column.copy() for name, column in part.items() if column.notna().any()})

    @classmethod
    def joined(cls, parts: list[_Columns]) -> _Columns:
        """The rows of several, which lose theirs."""
        names = dict.fromkeys(name for part in parts for name in part.values)
        return cls(sum(part.length for part in parts), {name: _joined(name, parts) for name in names})


def _joined(name: Any, parts: list[_Columns]) -> pd.Series:
    """One column of all parts, which it leaves."""
    pieces = [
        part.values.pop(name).to_frame() if name in part.values else pd.DataFrame(index=range(part.length))
        for part in parts
    ]
    joined = pd.concat(pieces, ignore_index=True)
    return joined[name] if name in joined else pd.Series(None, index=joined.index, dtype=object)


def by_ending(path: Path, table: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """The entry for a file's ending."""
    if path.suffix.lower() not in table:
        raise BadInput(f"{path}: unknown ending {path.suffix!r}; use one of {', '.join(table)}")
    return table[path.suffix.lower()]


def _jsonl(function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    return {".jsonl": function, ".ndjson": function}


def _write_parquet(frame: pd.DataFrame, settings: tuple[str, ...], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {**(table.schema.metadata or {}), _SETTINGS: json.dumps(settings).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path, compression="zstd")


def _read_parquet(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        table = file.read()
    settings = json.loads((table.schema.metadata or {}).get(_SETTINGS, b"[]"))
    if not isinstance(settings, list) or not all(isinstance(name, str) for name in settings):
        raise BadInput(f"{path} cannot be read: its list of settings is {str(settings)[:60]!r}")
    if twice := [name for name, times in Counter(table.column_names).items() if times > 1]:
        raise BadInput(f"{path}: two columns are called {twice[0]!r}; rename one of them")
    return table.to_pandas(), tuple(name for name in settings if name in table.column_names)


def _write_csv(frame: pd.DataFrame, settings: tuple[str, ...], path: Path) -> None:
    import pyarrow as pa
    from pyarrow import csv

    csv.write_csv(pa.Table.from_pandas(frame, preserve_index=False), path)  # pandas takes forty times longer


def _read_csv(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    # a run's hash may look like a number: 1234e567
    with opened(path) as file:
        first = file.peek(SAMPLE)[:SAMPLE].decode(errors="replace").splitlines()
        return with_integers(named_columns(pd.read_csv(file, dtype=_TEXT, **_EXACT), first, path)), ()


def width(line: str, separator: str = ",") -> int:
    """How many values a line has.

    >>> width('1,"a,b",3'), width('"n data"  loss', SPACES)
    (3, 2)
    """
    if separator == SPACES:
        return len(re.findall(r'"[^"]*"|\S+', line))
    return re.sub(r'"[^"]*"', "", line).count(separator) + 1


def named_columns(
    frame: pd.DataFrame, lines: Iterable[str], path: Path, separator: str = ","
) -> pd.DataFrame:
    """The table of a text file, each value under its own name.

    Where rows have more values than there are names, pandas takes the first for names of rows and shifts the
    rest: right for the numbers of rows that R writes, wrong for a separator at the end of each row.

    Args:
        lines: the file's first.
    """
    widths = [width(line, separator) for line in islice(filter(str.strip, lines), 2)]
    if widths[1:] <= widths[:1] and frame.index.equals(pd.RangeIndex(len(frame))):
        return frame
    extra = frame.index.nlevels
    rows = frame.reset_index()
    if frame.iloc[:, -extra:].isna().all(axis=None):
        return rows.iloc[:, :-extra].set_axis(frame.columns, axis=1)
    numbered = [[*map(str, range(first, first + len(frame)))] for first in (0, 1)]
    counts = {"seed", *PROGRESS} & {*aliases(frame.columns[:1])}  # epochs begin at 0 or 1, too
    if extra == 1 and [*map(str, frame.index)] in numbered and not counts:
        return frame.reset_index(drop=True)
    raise BadInput(
        f"{path}: a row has {rows.shape[1]} values and the first line {frame.shape[1]} names: name each"
    )


def with_integers(frame: pd.DataFrame) -> pd.DataFrame:
    """Integers beyond 64 bits as Python's: pandas before version 3 leaves a column of them as text."""
    found = {}
    for name in frame.columns:
        column = frame[name]
        texts = column.dropna() if column.dtype == object and name not in _TEXT else ()
        if len(texts) and all(isinstance(text, str) and _INTEGER.fullmatch(text) for text in texts):
            values = [int(value) if isinstance(value, str) else value for value in column]
            found[name] = pd.Series(values, column.index, dtype=object)
    return frame.assign(**found)


def _write_lines(frame: pd.DataFrame, settings: tuple[str, ...], path: Path) -> None:
    columns = [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame]
    names = list(map(str, frame.columns))
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json_line(dict(zip(names, row))) + "\n" for row in zip(*columns))


def _read_lines(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    def row(number: int, line: str) -> dict[str, Any]:
        try:
            return dict(json.loads(line))
        except (ValueError, TypeError) as error:
            raise BadInput(f"{path}, line {number} is not a JSON object: {line[:60]!r}") from error
        except RecursionError as error:
            raise BadInput(f"{path}, line {number} is nested too deeply: {line[:60]!r}") from error

    with opened(path) as file:
        lines = enumerate(io.TextIOWrapper(file, encoding="utf-8"), 1)
        return frame_of_rows(row(n, line) for n, line in lines if line.strip()), ()
