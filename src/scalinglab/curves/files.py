"""Read and write tables as Parquet, CSV and JSON lines, in parts: memory holds each number once.

Values come back as they were: floats with all their digits, text that looks like a number as text,
missing as null. JSON has no infinity; it is written as 1e999, which JSON readers take for it.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import pandas as pd

from scalinglab.curves.names import PROGRESS, aliases
from scalinglab.errors import BadInput
from scalinglab.support.whole_files import write_whole
from scalinglab.support.work import opened

_SETTINGS = b"scalinglab.settings"  # in a Parquet file: the columns that were declared as settings
_TEXT = {"run": str, "source": str, "experiment": str}
_OLD_PANDAS = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if _OLD_PANDAS else {}  # the default since 3.1

SPACES = r"\s+"  # the separator of columns that are aligned by spaces
SAMPLE = 1 << 16  # of a file, to see how it is written
PART_BYTES = 8 << 20  # of a text file that are parsed at one time
MOST_COLUMNS = 20_000  # of a text file: a million take 85 s and 2.3 GB
# a cell that a spreadsheet would execute is written with a quote before it, which is removed on reading
_FORMULA = r"'*[=+@\t\r]"
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
    """Read by the ending; also the columns declared as settings, where the format keeps them."""
    if not path.exists():
        raise BadInput(f"{path} does not exist")
    read = by_ending(path, {".parquet": _read_parquet, ".csv": _read_csv, **_jsonl(_read_lines)})
    with errors_named(path):
        frame, settings = read(path)
    return with_rows(frame, path), settings


@contextmanager
def errors_named(path: Path) -> Iterator[None]:
    """Re-raise errors of the libraries that read a file as `BadInput` with its name and the reason."""
    try:
        yield
    except BadInput:
        raise
    except RecursionError as error:
        raise BadInput(f"{path} cannot be read: its values are nested too deeply") from error
    except (OSError, ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadInput(
            f"{path} cannot be read: {reason.removeprefix('Error tokenizing data. C error: ')}"
        ) from error


def with_rows(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The table; refuse one without rows, which is most likely the wrong file."""
    if frame.empty:
        names = f", only the names {', '.join(map(str, frame.columns))}" if len(frame.columns) else ""
        raise BadInput(
            f"{path} has no rows{names}: a table of curves has a row for every measurement, under names such "
            "as n_data, step, test_error"
        )
    return frame


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
        schema = file.schema_arrow
        settings = json.loads((schema.metadata or {}).get(_SETTINGS, b"[]"))
        if not isinstance(settings, list) or not all(isinstance(name, str) for name in settings):
            raise BadInput(f"{path} cannot be read: its list of settings is {str(settings)[:60]!r}")
        if twice := [name for name, times in Counter(schema.names).items() if times > 1]:
            raise BadInput(f"{path}: two columns are called {twice[0]!r}; rename one of them")
        table = file.read()
    frame = table.to_pandas(split_blocks=True, self_destruct=True)  # memory holds each column once
    return frame, tuple(name for name in settings if name in schema.names)


def _write_csv(frame: pd.DataFrame, settings: tuple[str, ...], path: Path) -> None:
    import pyarrow as pa
    from pyarrow import csv

    frame = _cells(frame, ("'", *"=+@\t\r"), _FORMULA, lambda cells: "'" + cells)
    csv.write_csv(pa.Table.from_pandas(frame, preserve_index=False), path)  # pandas takes forty times longer


def _cells(
    frame: pd.DataFrame, begins: tuple[str, ...], pattern: str, change: Callable[[pd.Series], pd.Series]
) -> pd.DataFrame:
    """The table with text cells that match a pattern changed; these begin with one of some characters."""
    changed = {}
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) or not isinstance(column.dropna().iloc[:1].squeeze(), str):
            continue
        texts = column if isinstance(column.dtype, pd.StringDtype) else column.astype(str)
        if not texts.str.startswith(begins, na=False).any():  # a tenth of the time of a pattern
            continue
        if (found := texts.str.match(pattern, na=False) & column.notna()).any():
            changed[name] = column.where(~found, change(texts))
    return frame.assign(**changed) if changed else frame


def _read_csv(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    with opened(path) as file:
        sample = file.peek(SAMPLE)[:SAMPLE].decode(errors="replace")
    frame = read_text(path, lambda: opened(path), sample.splitlines())
    return _cells(frame, ("'",), "'" + _FORMULA, lambda cells: cells.str[1:]), ()


def read_text(
    path: Path,
    open_file: Callable[[], AbstractContextManager[IO[Any]]],
    lines: list[str],
    separator: str = ",",
    change: Callable[[pd.DataFrame], pd.DataFrame] = lambda part: part,
    as_text: Iterable[str] = (),
    **options: Any,
) -> pd.DataFrame:
    """A table in a text file, read part by part.

    Args:
        lines: the first lines, without comments.
        change: what is done to each part.
        as_text: columns that stay text.
        options: of `pandas.read_csv`.
    """
    if len(lines) == 1 and len(lines[0]) > SAMPLE // 2:  # longer than the sample: how many columns?
        with open_file() as file:
            line = file.readline(32 * MOST_COLUMNS)
        columns = width(line if isinstance(line, str) else line.decode(errors="replace"), separator)
        if columns > MOST_COLUMNS:
            raise BadInput(
                f"{path} has {columns:,} columns or more, at most {MOST_COLUMNS:,} are read: write each "
                "measurement as a row"
            )
    rows = PART_BYTES * len(lines) // max(sum(map(len, lines)), 1)
    options |= {"sep": separator, "chunksize": max(rows, 1), **_EXACT}
    texts = _TEXT | dict.fromkeys(as_text, str)  # a run's hash may look like a number: 1234e567
    while True:
        parts = Parts()
        with open_file() as file, pd.read_csv(file, dtype=texts, **options) as reader:
            first, second = next(reader), next(reader, None)
            if _is_shifted(first, lines, separator):
                return with_integers(named_columns(pd.concat([first, second, *reader]), path))
            if second is None:
                return with_integers(change(first))
            for part in chain([first, second], reader):
                parts.add(change(part))
        if not parts.mixed:
            return with_integers(parts.frame())
        texts |= dict.fromkeys(parts.mixed, str)  # 19M in a later part: so that 1e6 before it stays as it is


def width(line: str, separator: str = ",") -> int:
    """How many values a line has.

    >>> width('1,"a,b",3'), width('"n data"  loss', SPACES)
    (3, 2)
    """
    if separator == SPACES:
        return len(re.findall(r'"[^"]*"|\S+', line))
    return re.sub(r'"[^"]*"', "", line).count(separator) + 1


def _is_shifted(frame: pd.DataFrame, lines: Iterable[str], separator: str) -> bool:
    """Whether rows have more values than names, so that pandas took the first ones as row labels."""
    widths = [width(line, separator) for line in islice(filter(str.strip, lines), 2)]
    return widths[1:] > widths[:1] or not frame.index.equals(pd.RangeIndex(len(frame)))


def named_columns(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Correct a table whose rows have more values than there are names.

    Pandas takes the first values as row labels: right for the row numbers of R, wrong for rows that end with
    a separator.
    """
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
    with opened(path) as file:
        lines = enumerate(io.TextIOWrapper(file, encoding="utf-8"), 1)
        rows = (json_object(line, f"{path}, line {n}") for n, line in lines if line.strip())
        return frame_of_rows(rows), ()


def json_object(text: str, where: str) -> dict[str, Any]:
    """The JSON object in a text; errors name its place `where`."""
    try:
        return dict(json.loads(text))
    except RecursionError as error:
        raise BadInput(f"{where} is nested too deeply: {text[:60]!r}") from error
    except (ValueError, TypeError) as error:
        raise BadInput(f"{where} is not a JSON object: {text[:60]!r}") from error


PART = 2_000  # rows that are held as dictionaries at one time


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


class Parts:
    """The rows of a table, part by part; the whole is put together column by column."""

    def __init__(self) -> None:
        self._rows = 0
        self._columns: dict[Any, list[pd.Series]] = {}
        self._empty: dict[Any, Any] = {}

    def add(self, part: pd.DataFrame) -> None:
        """Add rows below the others."""
        index = pd.RangeIndex(self._rows, self._rows + len(part))
        for name, values in part.items():
            pieces = self._columns.setdefault(name, [])
            self._empty.setdefault(name, values.dtype)
            if values.notna().any():  # an empty part has no type to agree with those of others
                pieces.append(values.set_axis(index))
        self._rows += len(part)

    @property
    def mixed(self) -> list[Any]:
        """Columns that have numbers in one part and text in another."""
        numeric = pd.api.types.is_numeric_dtype
        return [name for name, pieces in self._columns.items() if len({*map(numeric, pieces)}) > 1]

    def frame(self) -> pd.DataFrame:
        """The whole table; the parts are gone then."""
        index = pd.RangeIndex(self._rows)
        columns = {}
        for name in list(self._columns):
            pieces = self._columns.pop(name)
            whole = pd.concat(pieces) if pieces else pd.Series(None, dtype=self._empty[name])
            columns[name] = whole.reindex(index)
        return pd.DataFrame(columns, copy=False)


def frame_of_rows(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """A table of rows, which take ten times the memory of their numbers as dictionaries."""
    left = iter(rows)
    first = frame_of(list(islice(left, PART)))
    if len(first) < PART:
        return first
    parts = Parts()
    parts.add(first)
    while some := list(islice(left, PART)):
        parts.add(frame_of(some))
    return parts.frame()
