"""Tables in files: CSV, JSON, Parquet, Excel, OpenDocument, YAML, TOML, Markdown, LaTeX, HTML.

Text may be packed as .gz. The separator (comma, semicolon, tab, bar) is read off the file. Files that
`Curves.write` wrote come back as they were.
"""

from __future__ import annotations

import ast
import codecs
import csv
import gzip
import io
import json
import re
import tomllib
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice, takewhile
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import pandas as pd

from scalinglab.curves.columns import is_numeric
from scalinglab.curves.files import (
    SAMPLE,
    SPACES,
    errors_named,
    read_table,
    read_text,
    width,
    with_rows,
)
from scalinglab.curves.names import quantity
from scalinglab.curves.numbers import has_dots_for_thousands, number
from scalinglab.errors import BadInput, NoTable, require
from scalinglab.readers.tables.grid import (
    aligned,
    begins_with_names,
    ends_in_a_summary,
    names_quantity,
    table_of_cells,
    without_strays,
)
from scalinglab.readers.tables.headers import CHECKPOINT, roles
from scalinglab.readers.tables.lines import (
    holds_rows,
    literal,
    loads,
    names_a_result,
    records_of,
    row_of,
    table_of_lines,
    table_of_rows,
)
from scalinglab.readers.tables.markup import (
    FEWEST_ALIKE,
    holds_number,
    lists_by_name,
    rows_of_pairs,
    table_of_alike,
    tables_of_html,
    tables_of_latex,
    tables_of_markdown,
    tables_of_notebook,
)
from scalinglab.readers.tables.remarks import LEFT_OUT, NOTES, with_short_texts
from scalinglab.support.work import opened

MOST_BYTES = 8 << 30  # of a table once it is unpacked
MOST_RATIO = 300.0  # of unpacked to packed bytes; logs reach 50, a bomb 1000
BEFORE_RATIO = 64 << 20  # unpacked bytes below which the ratio does not matter
UTF_8 = "utf-8-sig"  # with or without a mark
SEPARATORS = (",", ";", "\t", "|")
MOST_OF_CELLS = 32 << 20  # bytes of a text file that may be read cell by cell, ten times slower
MOST_TITLES = 10  # lines above the names
FIRST_LINES = 30  # of a text file, to see where its names stand
_COMMA = re.compile(r"\s*[-+−]?\d+,\d+(?:e[-+]?\d+)?\s*%?\s*", re.IGNORECASE)
_DOT = re.compile(r"(?<![\d.])(?:\d+\.(?:\d{1,2}|\d{4,})(?!\d)|0\.\d)")  # no 1.000
_LOGS = (".txt", ".log", ".out", ".md")
_TABLES = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".xlsx", ".ods", ".parquet")  # in a folder
_YAML = (".yaml", ".yml")
_OF_TABLE, _OF_OFFICE, _OF_TEXT = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("table", "office", "text")
)
MOST_REPEATED = 2_000  # cells or rows that one element of an OpenDocument sheet stands for
_COMMENT = ("#", "%", "//")
_PROMPT = re.compile(r"^(?:(?:>>>|In \[\d*\]:|[$>] ).*(?:\n|$)|Out\[\d*\]:[ \t]*)", re.MULTILINE)
# of a script: RESULTS = {…}, or a list of rows
_SCRIPT = re.compile(r"(?:\s*#.*\n|\s*\n)*^[A-Za-z_]\w*\s*=\s*(?:\{|\[\s*[\[({])", re.MULTILINE)
# comments that name one column each: "# column 1: number of structures"
_NAME_OF_COLUMN = re.compile(r"[#%/]+\s*(?:col(?:umn)?\.?\s*)?\d+\s*[:=.)-]\s*(.*\S)", re.IGNORECASE)
_SIZE_IN = re.compile(r"\d+ ?[kKMB]? (?:[a-z]+ )?(?:images|examples|samples|tokens|params|parameters)\b")
_RULE = re.compile(r"[\s=+|:-]*(?:---|===)[\s=+|:-]*")  # between rows
_Reader: TypeAlias = Callable[[Path, bool], pd.DataFrame]


def is_table(path: Path, logs: bool = False) -> bool:
    """Whether a file's ending is one of a table, or of a text that a training may have printed."""
    return path.is_file() and _ending(path) in (_LOGS if logs else _TABLES)


def _ending(path: Path) -> str:
    """The ending of a file's name, without that of gzip."""
    return (Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix).lower()


def read_file(path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A table by what the file holds, and the columns that the file itself declares as settings."""
    if not path.exists():
        raise BadInput(f"{path} does not exist")
    packed, ending = path.suffix.lower() == ".gz", _ending(path)
    if not packed and ending == ".parquet":
        return read_table(path)
    if not path.stat().st_size:
        raise BadInput(f"{path} is empty: a table has names and a row for every measurement")
    with errors_named(path):
        readers: dict[str, _Reader] = {
            ".xlsx": _read_excel, ".ods": _read_opendocument, ".npz": _read_arrays,
        }  # fmt: skip
        reader = readers.get(ending) or _reader_of_text(path, packed, ending)
        frame = reader(path, packed)
    if ends_in_a_summary(frame):  # of records, too
        frame = without_strays(frame)
    return with_rows(_without_unnamed(frame), path), ()


def _reader_of_text(path: Path, packed: bool, ending: str) -> _Reader:
    """The reader for a text file, by its content; the ending decides where the content does not."""
    with path.open("rb") as file:
        if not packed and b"\0" in file.read(SAMPLE) and _encoding(path) == UTF_8:
            raise BadInput(
                f"{path}: not a text file, and its ending {ending or path.name!r} is not known: save the "
                "table as .csv, .xlsx, .parquet or .npz"
            )
    with _text(path, packed) as text:
        sample = text.read(SAMPLE)
    if ending in (*_YAML, ".toml"):
        return _read_document
    if ending in (".jsonl", ".ndjson"):
        return _read_lines
    if (_SCRIPT.search if ending == ".py" else _SCRIPT.match)(sample):
        return _read_document
    if ending == ".json" or re.match(r"\s*(?:\{(?!\|)|\[\s*[\[{])", sample):
        first = [line for line in sample.splitlines() if line.strip()][:2]
        if len(first) > 1 and all(map(_is_object, first)):  # also as Python prints them
            return _read_csv if first[0].lstrip().startswith("{'") else _read_lines
        return _read_notebook if '"nbformat"' in sample or ending == ".ipynb" else _read_document
    if path.stat().st_size <= MOST_OF_CELLS:
        for read, tables in _MARKUP.items():
            if tables(sample):
                return read
    return _read_csv


def _without_unnamed(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the row numbers that `DataFrame.to_csv` writes in front, and without empty last columns."""
    unnamed = [c for c in frame.columns if str(c).startswith("Unnamed: ")]
    numbers = [c for c in unnamed if c == "Unnamed: 0" and _counts_rows(frame[c])]
    return frame.drop(columns=[*numbers, *(c for c in unnamed if frame[c].isna().all())])


def _counts_rows(column: pd.Series) -> bool:
    values = pd.to_numeric(column, errors="coerce").to_numpy()
    return any(np.array_equal(values, start + np.arange(len(values))) for start in (0, 1))


class _Bounded(io.RawIOBase):
    """The bytes of a gzip file, refused once they are many more than a table has."""

    def __init__(self, path: Path, file: io.BufferedReader) -> None:
        self._path, self._packed = path, path.stat().st_size
        self._file, self._count = gzip.GzipFile(fileobj=file), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._file.read(len(buffer))
        buffer[: len(block)] = block
        self._count += len(block)
        too_dense = self._count > BEFORE_RATIO and self._count > MOST_RATIO * self._packed
        if too_dense or self._count > MOST_BYTES:
            raise BadInput(
                f"{self._path} unpacks {self._packed:,} bytes to more than {self._count:,}: "
                "that is no table; unpack it first if it is"
            )
        return len(block)

    def close(self) -> None:
        self._file.close()
        super().close()


def _encoding(path: Path) -> str:
    """UTF-8, UTF-16 where the file begins with its mark, as Excel's text files do, or that of Windows."""
    with path.open("rb") as file:
        sample = file.read(SAMPLE)
    if sample[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    try:
        codecs.getincrementaldecoder(UTF_8)().decode(sample)
    except UnicodeDecodeError:
        return UTF_8 if path.suffix.lower() == ".gz" or b"\0" in sample else "cp1252"
    return UTF_8


@contextmanager
def _text(path: Path, packed: bool) -> Iterator[IO[str]]:
    with opened(path) as file:
        raw = io.BufferedReader(_Bounded(path, file), 1 << 20) if packed else file
        text = io.TextIOWrapper(raw, encoding=_encoding(path))
        sample = "" if packed else file.peek(SAMPLE)[:SAMPLE].decode(errors="replace")
        yield io.StringIO(_PROMPT.sub("", text.read())) if _PROMPT.match(sample) else text


def _separator(sample: str, path: Path) -> str:
    """The separator that splits most lines into the same number of columns, the most columns winning."""
    if ".tsv" in path.suffixes:
        return "\t"
    lines = _rows(sample.splitlines())[:40]
    thousands = not any(re.search(r",(?!\d{3}(?!\d))", line) for line in lines)
    marks = [mark for mark in SEPARATORS if mark != "," or not thousands]
    counts = {mark: Counter(width(line, mark) - 1 for line in lines) for mark in marks}
    usual = {mark: max(n, key=lambda k: (n[k], k)) for mark, n in counts.items() if n}
    share = {mark: counts[mark][n] / len(lines) for mark, n in usual.items() if n}
    if not share or max(share.values()) <= 0.5:
        worded = [line for line in lines if len(line.split()) > 1 and not any(m in line for m in marks)]
        spaced = len(lines) > 1 and len(worded) > 0.5 * len(lines)
        return SPACES if spaced else max(SEPARATORS, key=lambda mark: width(lines[0], mark) if lines else 0)
    regular = [mark for mark, part in share.items() if part >= 0.9 * max(share.values())]
    # 0,5;0,7 has as many commas as columns: a semicolon or tab in the header decides
    return next((m for m in ("\t", ";", "|") if m in regular), ",")


def _rows(lines: Iterable[str]) -> list[str]:
    """Lines that are neither empty nor comments; "# params, tokens" below a title has the names."""
    found: list[str] = []
    last, lines = "", [line for line in lines if line.strip() and not _RULE.fullmatch(line)]
    if any(line.startswith("%WER") for line in lines):  # Kaldi's results
        return [line.lstrip("%") for line in lines if not line.startswith("#")]
    for line in lines:
        if line.startswith(_COMMENT):
            last = line
            continue
        if last and 0 < len(found) < MOST_TITLES and _names_columns(last, line):
            found.append(last)
        last = ""
        found.append(line)
    return found


def _with_headings(lines: Sequence[str]) -> Sequence[str]:
    """Keep comments that have a size and differ only in numbers: they are headings."""
    words = Counter(
        re.sub(r"\d+", "0", line) for line in lines if line.startswith(_COMMENT) and _SIZE_IN.search(line)
    )
    if max(words.values(), default=0) < FEWEST_ALIKE:
        return lines
    return [line.lstrip("#%/ ") if words[re.sub(r"\d+", "0", line)] > 1 else line for line in lines]


def _names_columns(comment: str, line: str) -> bool:
    """Whether a comment has a name for each value of the line below it."""
    for mark in SEPARATORS:
        names, values = (_fields(text, mark) for text in (comment, line))
        if len(names) == len(values) > 1 and _are_names(names, values):
            return True
    return False


def _are_names(names: list[str], values: list[str]) -> bool:
    """Whether the first of two lines has a known name and the second has none."""
    return any(map(names_quantity, names)) and not any(map(names_quantity, values))


def _refuse_titles(lines: Iterable[str], path: Path) -> None:
    """Spaces separate columns where every line has as many words as there are names; R adds row numbers."""
    rows = _rows(lines)
    words = [width(line, SPACES) for line in rows]
    if len({*words[1:]}) > 1 or words[1] - words[0] not in (0, 1):
        raise BadInput(
            f"{path}: no table found, its lines have {', '.join(map(str, sorted({*words})[:3]))} words "
            f"({rows[0].strip()[:40]!r}, …): separate columns by commas, quote names of several words, "
            "begin a title with #"
        )


def _read_csv(path: Path, packed: bool) -> pd.DataFrame:
    with _text(path, packed) as file:
        sample = file.read(SAMPLE)
    separator = _separator(sample, path)
    lines = sample.splitlines()
    comments = list(takewhile(lambda line: line.startswith(_COMMENT), lines))
    rows, left_out = _rows(_with_headings(lines)), dict[Any, None]()
    small = path.stat().st_size <= MOST_OF_CELLS
    cells = [*islice(_all_fields(rows, separator), FIRST_LINES)]
    named = _names(comments, rows, separator)
    if small and rows and not named:
        words = _of_words(path, packed, rows, cells, separator)
        if words is not None:
            return words
    if separator == SPACES and not named:
        with _text(path, packed) as file:
            whole = _rows(file) if small else []
        for rows_of_cells in aligned(whole):
            if (spaced := _with_numbers(rows_of_cells, path)) is not None:
                return spaced
        if measured := [row for row in rows_of_pairs(whole) if any(quantity(key) for key in row)]:
            return table_of_rows(measured, path)  # the size may be in the name of the file
        _refuse_titles(rows, path)
    if small and not named and not begins_with_names(cells):
        table = table_of_cells(_cells_of(path, packed, separator), path)
        table.attrs["decimal_comma"] = separator != ","
        return table
    try:
        frame = read_text(
            path, lambda: _text(path, packed), rows, separator,
            lambda part: with_short_texts(part, left_out), as_text=_dotted(cells, separator),
            skipinitialspace=True, skiprows=len(comments), names=named,
        )  # fmt: skip
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:  # as a footnote with separators
        table = (
            _with_numbers(_cells_of(path, packed, separator), path) if small and separator != SPACES else None
        )
        if table is None:
            reason = str(error).splitlines()[-1].rpartition("error: ")[2]
            raise NoTable(
                f"{path} holds no table that is known here ({reason}): save it as .csv, with a row of names "
                "and a row for every measurement, or as .xlsx"
            ) from error
        table.attrs["decimal_comma"] = separator != ","
        return table
    frame.attrs |= {LEFT_OUT: list(left_out), "decimal_comma": separator != ","}
    if not packed and len(frame) > 1 and _ends_within_a_row(path, len(frame.columns), separator):
        frame = frame.iloc[:-1]
        frame.attrs[NOTES] = ["the last row is cut short: left out"]
    return without_strays(_with_units(frame, comments))


def _with_units(frame: pd.DataFrame, comments: list[str]) -> pd.DataFrame:
    """Add units from comments, such as "# N in millions", to the names."""
    unit = r"((?:thousand|million|billion|trillion)s?)"
    units = re.findall(rf"(\w+)\s+(?:is |are |given |counted )?in {unit}", " ".join(comments))
    return frame.rename(columns={name: f"{name} ({unit})" for name, unit in units})


def _of_words(
    path: Path, packed: bool, rows: list[str], cells: list[list[str]], separator: str
) -> pd.DataFrame | None:
    """The table in lines of objects, of name–value pairs, or of text that differs only in numbers."""
    if (lists := lists_by_name("\n".join(rows))) and names_a_result(lists):
        return pd.DataFrame(lists)
    if all(map(_is_object, rows)):
        read: Callable[[list[str]], list[dict[str, Any]]] = lambda lines: [*map(_row, lines)]  # noqa: E731
    elif _names_pairs({key for row in rows_of_pairs(rows[:FIRST_LINES]) for key in row}):
        read = rows_of_pairs
    elif not _has_header(cells, separator, rows) and table_of_alike(rows):
        read = table_of_alike
    else:
        return None
    with _text(path, packed) as file:  # a heading may say what lines of numbers are
        return table_of_rows(
            read([*file] if read is table_of_alike else _rows(_with_headings([*file]))), path
        )


def _names_pairs(names: set[str]) -> bool:
    """Whether names are those of a result with its size, its run or its step: names may have the size."""
    known = {*CHECKPOINT, "run"}
    return names_a_result(names) or (any(map(quantity, names)) and any(known & {*roles(n)} for n in names))


def _has_header(cells: list[list[str]], separator: str, rows: list[str]) -> bool:
    """Whether a line has a known name, and the first as many columns as most lines."""
    if separator == SPACES:  # all lines of a table, and not those alone that have the same words
        names, below = next(([r for r in t if len(r) == len(t[-1])][:2] for t in aligned(rows)), ([""], [""]))
        worded = all(re.search(r"\w", text) for text in below)  # no "19M -> 3.2"
        return worded and not {*names} & {*below} and not any(map(holds_number, names))
    (usual, _), *_ = Counter(map(len, cells[1:])).most_common(1) or [(0, 0)]
    first = next((row for row in cells if len(row) == usual), [])
    names = [re.sub(r"[(\[].*?[)\]]", "", name) for name in first]  # AUROC (95% CI)
    return usual > 1 and any(names_quantity(name) and not holds_number(name) for name in names)


def _cells_of(path: Path, packed: bool, separator: str) -> list[list[str]]:
    """The cells of a text file in which the first line has no names, or lines have other lengths."""
    with _text(path, packed) as file:
        return [*_all_fields(_rows(file), separator)]


def _all_fields(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """The values of lines; a name in quotes may go on in the next one."""
    if separator == SPACES:
        return (_fields(line, separator) for line in lines)
    whole = (line if line.endswith("\n") else f"{line}\n" for line in lines)
    return csv.reader(whole, delimiter=separator, skipinitialspace=True)


def _dotted(cells: list[list[str]], separator: str) -> list[str]:
    """Columns with dots between thousands, in a file with decimal commas: 1.000 is no one."""
    if (
        separator == ","
        or len(cells) < 2
        or not any(_COMMA.fullmatch(text) for row in cells[1:] for text in row)
    ):
        return []
    columns = {name: [row[k] for row in cells[1:] if k < len(row)] for k, name in enumerate(cells[0])}
    return [c for c, texts in columns.items() if "." in "".join(texts) and has_dots_for_thousands(texts)]


def _read_markup(tables: Callable[[str], list[list[list[str]]]]) -> _Reader:
    """The reader of a page with a table in it."""

    def read(path: Path, packed: bool) -> pd.DataFrame:
        with _text(path, packed) as file:
            text = file.read()
        found = tables(text)
        if (rows := _list_of_metrics(found)) is not None:
            lines = [" ".join(line.split()) for line in text.splitlines() if not {*"│┃|"} & {*line}]
            return table_of_rows(rows_of_pairs([*lines, *rows]), path)
        titles = [rows[0][0] if rows and len(rows[0]) == 1 else "" for rows in found]
        named = len({*titles}) == len(titles) and all(titles)
        names = titles if named else [f"table {k}" for k in range(1, len(found) + 1)]
        read_ones = {name: _with_numbers(rows, path) for name, rows in zip(names, found)}
        return _only({name: table for name, table in read_ones.items() if table is not None}, path)

    return read


def _list_of_metrics(tables: list[list[list[str]]]) -> list[str] | None:
    """The lines of a table of two columns that lists what was measured of one run; None of any other."""
    if len(tables) != 1 or len(tables[0][-1]) != 2:
        return None
    pairs = [row for row in tables[0] if len(row) == 2 and number(row[1]) is not None]
    return [f"{n}: {v}" for n, v in pairs] if pairs and all(quantity(n) for n, _ in pairs) else None


def _with_numbers(rows: list[list[Any]], path: Path) -> pd.DataFrame | None:
    """The table in rows of cells; None if there is none, as in notes."""
    try:
        return table_of_cells(rows, path)
    except BadInput:
        return None


def _only(tables: dict[str, pd.DataFrame], path: Path) -> pd.DataFrame:
    """The table with a size and a measurement; several with the same names are stacked.

    If none has both, tables that name the same runs are joined.
    """
    results = {name: table for name, table in tables.items() if names_a_result(table.columns)}
    if not results and (joined := _joined([*tables.values()])) is not None:
        return joined
    results = results or tables
    if not tables:
        raise NoTable(f"{path} holds no table with names and rows of numbers")
    if len({tuple(table.columns) for table in results.values()}) > 1:
        shapes = "; ".join(
            f"{name}: {', '.join(map(str, t.columns[:4]))}" for name, t in [*results.items()][:3]
        )
        raise BadInput(f"{path} has {len(results)} tables ({shapes}): save the one that is meant as .csv")
    notes = [note for table in results.values() for note in table.attrs.get(NOTES, ())]
    if others := [name for name in tables if name not in results]:
        notes.append(f"taken of {len(tables)} tables: {', '.join(results)}")
    several = len(results) > 1
    frame = pd.concat([t.assign(table=n) if several else t for n, t in results.items()], ignore_index=True)
    plain = any(_DOT.search(v) for c in frame for v in frame[c] if isinstance(v, str))
    frame.attrs = {"decimal_comma": not plain} | ({NOTES: notes} if notes or others else {})
    return frame


def _joined(tables: list[pd.DataFrame]) -> pd.DataFrame | None:
    """Join tables of sizes and of results by the names of runs; None if these differ."""
    keys = [c for c in tables[0] if all(c in t and not is_numeric(t[c]) for t in tables)] if tables else []
    if len(tables) < 2 or len(keys) != 1:
        return None
    (key,) = keys
    names = [{*table[key]} for table in tables]
    alike = all(each == names[0] and len(each) == len(t) for each, t in zip(names, tables))
    columns = [c for table in tables for c in table if c != key]
    if not alike or len({*columns}) < len(columns):
        return None
    found = tables[0]
    for table in tables[1:]:
        found = found.merge(table, on=key)
    found.attrs = {NOTES: [f"{len(tables)} tables joined by {key}"]}
    return found


def _ends_within_a_row(path: Path, columns: int, separator: str) -> bool:
    """Whether the last line has neither its end nor all values: it is being written."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - SAMPLE, 0))
        last = file.read().decode(errors="replace").rpartition("\n")[2]
    return _encoding(path) != "utf-16" and bool(last.strip()) and width(last, separator) < columns


def _names(comments: list[str], rows: list[str], separator: str) -> list[str] | None:
    """Names in the last comment where numbers follow it, as `numpy.savetxt` writes them."""
    if not comments or not rows:
        return None
    names, values = (
        _fields(line, separator)
        for line in (re.sub(r"^(?:#+|%+(?! *of\b)|//)\s*(?=\w)", "", comments[-1]), rows[0])
    )
    numbered = [m[1] for line in comments if (m := _NAME_OF_COLUMN.match(line))]
    names = numbered if len(numbered) == len(values) else names
    numbers = [number(value, decimal_comma=separator != ",") is not None for value in values]
    named = all(numbers) or (any(numbers) and _are_names(names, values))
    fits = named and len(names) == len(values) > 1 - all(numbers)
    return [name or f"Unnamed: {k}" for k, name in enumerate(names)] if fits else None


def _fields(line: str, separator: str) -> list[str]:
    if separator == SPACES:
        line, separator = " ".join(line.split()), " "
    return next(csv.reader([line], delimiter=separator, skipinitialspace=True))


def _read_lines(path: Path, packed: bool) -> pd.DataFrame:
    with _text(path, packed) as file:
        first = file.readline()
        if _is_object(first) and holds_rows(_row(first)):  # a run in every line, with its evaluations
            return table_of_rows(records_of([*map(_row, (first, *filter(str.strip, file)))]), path)
    with _text(path, packed) as file:
        return table_of_lines(file, path)


def _read_document(path: Path, packed: bool) -> pd.DataFrame:
    return _table_of_document(_document(path, packed), path)


def _document(path: Path, packed: bool = False) -> Any:
    """What a file says in YAML or TOML, by its ending, in JSON or in Python."""
    with _text(path, packed) as file:
        text = file.read()
    ending = _ending(path)
    if ending in _YAML:
        yaml = require("yaml", "readers", "reading YAML files")
        try:
            documents = [each for each in yaml.safe_load_all(text) if each is not None]
        except yaml.YAMLError as error:
            raise BadInput(f"{path} is no YAML: {str(error).splitlines()[0]}") from error
        return documents if len(documents) != 1 else documents[0]
    try:
        return tomllib.loads(text) if ending == ".toml" else loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path} is no TOML: {error}") from error
    except json.JSONDecodeError as error:
        try:
            return _of_python(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise error from None


def _of_python(text: str) -> Any:
    """What a text in Python says: a value as it is printed, or the values that a script gives to names."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        found = {}
        for line in ast.parse(text).body:
            if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                with suppress(ValueError):  # computed
                    found[line.targets[0].id] = ast.literal_eval(line.value)
        return found


def row_of_document(path: Path) -> dict[str, Any]:
    """What a JSON or YAML file says, nested names joined: the settings of a run."""
    with errors_named(path):
        document = _document(path)
    if isinstance(document, list) and all(isinstance(each, str) and "=" in each for each in document):
        document = dict(each.split("=", 1) for each in document)  # Hydra's overrides
    return row_of(document) if isinstance(document, dict) else {}


def _table_of_document(document: Any, path: Path) -> pd.DataFrame:
    """The table in nested lists and dictionaries, wherever in them it stands."""
    if isinstance(document, dict):
        names, rows = (next((document[k] for k in keys if isinstance(document.get(k), list)), None) for keys
                       in (("columns", "header", "headers"), ("data", "rows", "values")))  # fmt: skip
        if names and rows and all(isinstance(row, list) for row in rows):  # pandas with orient="split"
            document = [names, *rows]
    if isinstance(document, list) and document and all(isinstance(row, list) for row in document):
        return table_of_cells(document, path)
    if rows := records_of(document):
        return table_of_rows(rows, path)
    raise NoTable(
        f'{path} holds no table: write a list of objects, [{{"n_params": 1e6, "loss": 3.2}}, …], '
        "or an object of columns"
    )


def _is_object(line: str) -> bool:
    return line.strip().startswith("{") and line.strip().endswith("}")


def _row(line: str) -> dict[str, Any]:
    """An object in a line, as JSON or as Python prints it."""
    if not isinstance(row := literal(line.strip()), dict):
        raise BadInput(f"{line.strip()[:60]!r} is no object")
    return row


def unpack(path: Path, folder: Path | None = None) -> None:
    """Unpack a zip file into a folder; refuse one that is much larger than tables are."""
    with errors_named(path), zipfile.ZipFile(path) as packed:
        size, sizes = path.stat().st_size, sum(entry.file_size for entry in packed.infolist())
        if sizes > MOST_BYTES or (sizes > BEFORE_RATIO and sizes > MOST_RATIO * size):
            raise BadInput(f"{path} unpacks {size:,} bytes to {sizes:,}: that is no table; save it as .csv")
        names = [name for name in packed.namelist() if not name.startswith("__MACOSX/")]
        if not names:
            raise BadInput(f"{path} holds no files")
        if folder is not None:
            packed.extractall(folder, names)


def _read_excel(path: Path, packed: bool) -> pd.DataFrame:
    require("openpyxl", "readers", "reading Excel files")
    unpack(path)
    from openpyxl import load_workbook

    with closing(load_workbook(path, read_only=True, data_only=True)) as book:
        sheets = {sheet.title: [[*map(_shown, row)] for row in sheet.rows] for sheet in book.worksheets}
    return _of_sheets(sheets, path)


def _of_sheets(sheets: dict[str, list[list[Any]]], path: Path) -> pd.DataFrame:
    """The table in the sheets of a workbook."""
    cells = {
        name: _apart([row for row in rows if any(v is not None for v in row)])
        for name, rows in sheets.items()
    }
    found = {str(n): table for n, rows in cells.items() if (table := _with_numbers(rows, path)) is not None}
    return _only(found, path) if found else pd.DataFrame()


def _shown(found: Any) -> Any:
    """The value of a cell, with % where the sheet shows it so: .71 is seen as 71 %."""
    value = found.value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and "%" in (found.number_format or ""):
        return f"{100 * value:.12g}%"
    return value


def _read_opendocument(path: Path, packed: bool) -> pd.DataFrame:
    """The sheets of an OpenDocument workbook, whose equal neighbours are one element with a count."""
    from xml.etree import ElementTree

    unpack(path)
    with zipfile.ZipFile(path) as book:
        content = ElementTree.fromstring(book.read("content.xml"))
    sheets: dict[str, list[list[Any]]] = {}
    for sheet in content.iter(_OF_TABLE + "table"):
        rows = sheets.setdefault(sheet.get(_OF_TABLE + "name", ""), [])
        for row in sheet.iter(_OF_TABLE + "table-row"):
            cells: list[Any] = []
            for cell in (c for c in row if c.tag.endswith("table-cell")):
                times = int(cell.get(_OF_TABLE + "number-columns-repeated", 1))
                cells += [_of_opendocument(cell)] * min(times, MOST_REPEATED)
            times = int(row.get(_OF_TABLE + "number-rows-repeated", 1))
            rows += [cells] * min(times, MOST_REPEATED) if any(value is not None for value in cells) else []
        columns = max((k + 1 for row in rows for k, value in enumerate(row) if value is not None), default=0)
        rows[:] = [row[:columns] for row in rows]
    return _of_sheets(sheets, path)


def _of_opendocument(cell: Any) -> Any:
    """The value of a cell, with % where the sheet shows it so; None of an empty one."""
    kind, value = cell.get(_OF_OFFICE + "value-type"), cell.get(_OF_OFFICE + "value")
    if kind in ("float", "currency"):
        return int(value) if value.isdecimal() else float(value)
    if kind == "percentage":
        return f"{100 * float(value):.12g}%"
    return "\n".join("".join(part.itertext()) for part in cell.findall(_OF_TEXT + "p")) or None


def _read_arrays(path: Path, packed: bool) -> pd.DataFrame:
    """Arrays of equal length that NumPy saved; an array of two dimensions has one column for each seed."""
    unpack(path)
    with np.load(path) as arrays:
        return _table_of_document({name: arrays[name].tolist() for name in arrays.files}, path)


def _apart(rows: list[list[Any]]) -> list[list[Any]]:
    """The rows of a sheet; those of a text with separators that was pasted into its first column, apart."""
    lines = [row[0] for row in rows if any(value is not None for value in row)]
    if not lines or max(map(len, rows)) > 1 or not all(isinstance(line, str) for line in lines):
        return rows
    mark = next((m for m in ("\t", ";", ",") if all(m in line for line in lines)), None)
    return rows if mark is None else [*_all_fields(lines, mark)]


_read_notebook = _read_markup(tables_of_notebook)
_MARKUP = {_read_markup(tables): tables for tables in (tables_of_latex, tables_of_html, tables_of_markdown)}
