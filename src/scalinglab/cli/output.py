"""Where every result goes: to JSON, into a file, or onto the screen as lines and a table."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.support.whole_files import write_whole

if TYPE_CHECKING:
    import pandas as pd


SHORT = 6  # a name that is not broken: little is won
TEXT = 24  # a column of text may become as narrow as this before numbers lose digits


_JSON: ContextVar[bool] = ContextVar("json", default=False)


def for_programs() -> bool:
    """Whether the command was asked for JSON, so that nothing else may be printed on stdout."""
    return _JSON.get()


def say(text: str) -> None:
    """Print text while a command computes; nothing where JSON goes to stdout."""
    if not for_programs():
        print(wrap(text))


@dataclass(frozen=True)
class Output:
    """What a command found, for programs, files and people.

    Attributes:
        document: the whole result, for JSON; arrays become lists, NaN and infinity null.
        table: its tabular part, for .csv and .parquet; default: the document's longest arrays.
        text: what is printed; default: the numbers and words of the document, and the table.
        shown: a narrower table for the screen.
        title: of the table on the screen.
        footer: what is printed at the end.
        figure: draws the figure.
        status: the exit status.
    """

    document: Mapping[str, Any]
    table: pd.DataFrame | None = None
    text: str | None = None
    shown: pd.DataFrame | None = None
    title: str = ""
    footer: str = ""
    figure: Callable[[], Any] | None = None
    status: int = 0


def render(
    make: Callable[[], Output | None], *, as_json: bool = False, out: Path | None = None,
    figure: Path | None = None,
) -> int:  # fmt: skip
    """Compute a result, print it, write its files and return the exit status.

    Args:
        out: the file of the result, by its ending.
        figure: the file of its figure; None: it is not drawn.
    """
    token = _JSON.set(as_json)
    try:
        found = make()
        if found is None:
            return 0
        document = dict(found.document)
        if figure is not None and found.figure is not None:
            document["figure"] = _draw(found.figure(), figure)
        table = _longest_arrays(document) if found.table is None else found.table
        if out is not None:
            write(document, table, out)
        if as_json:
            print(json.dumps(plain(document), allow_nan=False))
            return found.status
        if found.text is None:
            show(found.document, table if found.shown is None else found.shown, found.title)
        if found.text:
            print(wrap(found.text))
        # paths and commands to copy are not broken into lines
        lines = [f"figure: {figure}"] if "figure" in document else []
        lines += [f"written: {out}"] if out is not None else []
        print("".join(f"{line}\n" for line in (*lines, found.footer) if line), end="")
        return found.status
    finally:
        _JSON.reset(token)


def _longest_arrays(document: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    arrays = {k: np.ravel(v) for k, v in document.items() if isinstance(v, (np.ndarray, list, tuple))}
    size = max(map(len, arrays.values()), default=0)
    return pd.DataFrame({k: v for k, v in arrays.items() if len(v) == size})


def _draw(figure: Any, path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return str(path)


@contextmanager
def resumable() -> Iterator[None]:
    """Say on Ctrl-C that what is stored is kept."""
    try:
        yield
    except KeyboardInterrupt:
        print("stopped; runs that were stored are kept, and the same command continues", file=sys.stderr)
        raise


def write(document: Mapping[str, Any], table: pd.DataFrame, out: Path) -> None:
    """Write a result by the file's ending."""
    writers: dict[str, Any] = {
        ".json": lambda path: path.write_text(json.dumps(plain(document), allow_nan=False) + "\n"),
        ".csv": lambda path: table.to_csv(path, index=False),
        ".parquet": lambda path: table.to_parquet(path, index=False),
    }
    if out.suffix not in writers:
        raise BadInput(f"--out {out}: unknown ending {out.suffix!r}; use one of {', '.join(writers)}")
    write_whole(out, writers[out.suffix])


def show(document: Mapping[str, Any], table: pd.DataFrame, title: str = "", rows: int = 50) -> None:
    """Print scalars as lines and the table below them, thinned evenly to about `rows` lines."""
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    for key, value in document.items():
        if isinstance(value, (str, int, float, np.generic)):
            print(wrap(f"{key}: {cell(value)}"))
    if table.empty:
        return
    console = Console(markup=False, emoji=False)  # names and paths may look like either
    # evenly: a table with gaps here and there reads as if the values were missing
    step = -(-len(table) // rows)
    keep = np.union1d(np.arange(0, len(table), step), [len(table) - 1])
    shown = table.iloc[keep]
    numbers = [pd.api.types.is_numeric_dtype(shown[column]) for column in shown]
    heads, cells = _fit(shown, numbers, console.width)
    printed = Table(title=title or None, title_justify="left")
    for head, body, number in zip(heads, cells, numbers, strict=True):
        justify: Literal["left", "right"] = "right" if number else "left"
        # long paths and equations go on in the next line: text cut by an ellipsis cannot be copied;
        # a number that lost a digit is a wrong number
        least = _width([head, *body]) if number else None
        printed.add_column(head, justify=justify, min_width=least, overflow="fold")
    for values in zip(*cells, strict=True):
        printed.add_row(*values)
    console.print(printed, crop=False)
    if len(keep) < len(table):
        console.print(f"{len(keep)} of {len(table)} rows shown, one in {step}; --out FILE writes all of them")


def _fit(table: pd.DataFrame, numbers: list[bool], width: int) -> tuple[list[str], list[list[str]]]:
    """Heads and cells, column by column; where they are too wide heads break, then digits are rounded off."""
    names = [str(column) for column in table]
    for heads, digits in ((names, 6), *((list(map(_broken, names)), n) for n in (6, 5, 4, 3))):
        cells = [[cell(value, digits) for value in table[column]] for column in table]
        taken = sum(
            _width([head, *body]) if number else min(_width([head, *body]), TEXT)
            for head, body, number in zip(heads, cells, numbers, strict=True)
        )
        if taken + 3 * len(names) + 1 <= width:
            break
    return heads, cells


def _broken(name: str) -> str:
    """A column's name over two lines, at the underscore nearest to its middle."""
    if len(name) <= SHORT:
        return name
    breaks = [i + 1 for i, letter in enumerate(name) if letter == "_" and i]
    place = min(breaks, key=lambda i: abs(2 * i - len(name)), default=0)
    return f"{name[:place]}\n{name[place:]}" if place else name


def _width(texts: Sequence[str]) -> int:
    return max((len(line) for text in texts for line in text.splitlines()), default=0)


def wrap(text: str) -> str:
    """Text for the screen: what is wider goes on in the next line, indented; no word is broken."""
    width = shutil.get_terminal_size().columns

    def one(line: str) -> str:
        if len(line) <= width:
            return line
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        return textwrap.fill(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )

    return "\n".join(map(one, text.split("\n")))


def cell(value: Any, digits: int = 6) -> str:
    """A value formatted for display."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return f"{value:.{digits}g}" if isinstance(value, (float, np.floating)) else str(value)


def plain(value: Any) -> Any:
    """Arrays to lists, tables to rows, NaN and infinities to null, so that any JSON reader takes it."""
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return plain(value.to_dict("records"))
    if is_dataclass(value) and not isinstance(value, type):
        return plain(vars(value))
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
