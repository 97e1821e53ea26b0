"""Write results as JSON, into a file, or on the screen as lines and a table."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalinglab.errors import BadInput
from scalinglab.results.types import as_json
from scalinglab.support.whole_files import write_whole
from scalinglab.support.words import unbroken, without_nan

if TYPE_CHECKING:
    import pandas as pd


SCHEMA = 1  # of documents for programs: a field that is removed or changes its type raises it
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
        table: its tabular part, for .csv and .parquet, or rows or columns of it; default: the document's
            longest arrays.
        text: what is printed; default: the numbers and words of the document, and the table.
        shown: a narrower table for the screen, which is printed beside a text, too.
        title: of the table on the screen.
        footer: what is printed at the end.
        figure: draws the figure.
        status: the exit status.
    """

    document: Mapping[str, Any]
    table: pd.DataFrame | Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None
    text: str | None = None
    shown: pd.DataFrame | None = None
    title: str = ""
    footer: str = ""
    figure: Callable[[], Any] | None = None
    status: int = 0


def render(
    make: Callable[[], Output | None], *, command: str = "", as_json: bool = False, out: Path | None = None,
    figure: Path | None = None,
) -> int:  # fmt: skip
    """Compute a result, print it, write its files and return the exit status.

    Args:
        command: its name, for JSON.
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
        table = _table_of(document if found.table is None else found.table, longest=found.table is None)
        if out is not None:
            write(document, table, out)
        if as_json:
            print_document(command, document)
            return found.status
        if found.text is None or found.shown is not None:
            from scalinglab.cli.screen import scalars, show

            if found.text is None:
                print("".join(f"{wrap(line)}\n" for line in scalars(found.document)), end="")
            show(table if found.shown is None else found.shown, found.title)
        if found.text:
            print(wrap(found.text))
        # not wrapped: they hold paths and commands to copy
        lines = [f"figure: {figure}"] if "figure" in document else []
        lines += [f"written: {out}"] if out is not None else []
        print("".join(f"{line}\n" for line in (*lines, found.footer) if line), end="")
        return found.status
    finally:
        _JSON.reset(token)


def with_header(command: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """A result in plain values, with the version of its schema and the command that it is of."""
    return {"schema": SCHEMA, "command": command, **as_json(document)}


def print_document(command: str, document: Mapping[str, Any]) -> None:
    """Print a result for programs: one line of JSON, as docs/reference/results.schema.json describes it."""
    print(json.dumps(with_header(command, document), allow_nan=False))


def _table_of(given: Any, longest: bool) -> pd.DataFrame:
    """A table from rows or columns; of a document its longest arrays."""
    import numpy as np
    import pandas as pd

    if longest:
        arrays = {k: np.ravel(v) for k, v in given.items() if isinstance(v, (np.ndarray, list, tuple))}
        size = max(map(len, arrays.values()), default=0)
        given = {k: v for k, v in arrays.items() if len(v) == size}
    return given if isinstance(given, pd.DataFrame) else pd.DataFrame(given)


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
        ".json": lambda path: path.write_text(json.dumps(as_json(document), allow_nan=False) + "\n"),
        ".csv": lambda path: table.to_csv(path, index=False),
        ".parquet": lambda path: table.to_parquet(path, index=False),
    }
    if out.suffix not in writers:
        raise BadInput(f"--out {out}: unknown ending {out.suffix!r}; use one of {', '.join(writers)}")
    write_whole(out, writers[out.suffix])


def wrap(text: str) -> str:
    """Break lines that are wider than the screen, indenting what follows; no word or command is broken."""
    width = shutil.get_terminal_size().columns

    def one(line: str) -> str:
        if len(line) <= width or line.lstrip().startswith("scalinglab "):  # commands are copied
            return line
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        filled = textwrap.fill(
            unbroken(line), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        return filled.replace("\xa0", " ")

    return "\n".join(map(one, without_nan(text).split("\n")))
