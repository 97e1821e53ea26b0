"""Results on a terminal: names and numbers in lines, and a table that fits the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

SHORT = 6  # letters of a name that is not broken
TEXT = 24  # a column of text may become as narrow as this before numbers lose digits


def scalars(document: Mapping[str, Any]) -> list[str]:
    """The numbers and words of a document, one a line."""
    single = (str, int, float, np.generic)
    return [f"{key}: {cell(value)}" for key, value in document.items() if isinstance(value, single)]


def show(table: pd.DataFrame, title: str = "", rows: int = 50) -> None:
    """Print a table, thinned evenly to about `rows` lines."""
    from rich.console import Console
    from rich.table import Table

    if table.empty:
        return
    console = Console(markup=False, emoji=False)  # names and paths may look like either
    # evenly: a table with gaps here and there reads as if the values were missing
    step = -(-len(table) // rows)
    keep = np.union1d(np.arange(0, len(table), step), [len(table) - 1])
    shown = table.iloc[keep]
    numbers = [pd.api.types.is_numeric_dtype(shown[column]) for column in shown]
    heads, cells = fitted_cells(shown, numbers, console.width)
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


def fitted_cells(table: pd.DataFrame, numbers: list[bool], width: int) -> tuple[list[str], list[list[str]]]:
    """Heads and cells, column by column; where they are too wide heads break, then digits are rounded off."""
    names = [str(column) for column in table]
    for heads, digits in ((names, 6), *((list(map(broken_name, names)), n) for n in (6, 5, 4, 3))):
        cells = [[cell(value, digits) for value in table[column]] for column in table]
        taken = sum(
            _width([head, *body]) if number else min(_width([head, *body]), TEXT)
            for head, body, number in zip(heads, cells, numbers, strict=True)
        )
        if taken + 3 * len(names) + 1 <= width:
            break
    return heads, cells


def broken_name(name: str) -> str:
    """A column's name over two lines, at the underscore nearest to its middle."""
    if len(name) <= SHORT:
        return name
    breaks = [i + 1 for i, letter in enumerate(name) if letter == "_" and i]
    place = min(breaks, key=lambda i: abs(2 * i - len(name)), default=0)
    return f"{name[:place]}\n{name[place:]}" if place else name


def _width(texts: Sequence[str]) -> int:
    return max((len(line) for text in texts for line in text.splitlines()), default=0)


def cell(value: Any, digits: int = 6) -> str:
    """A value formatted for display."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if value is pd.NA or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return ""  # no number is no text either
    return f"{value:.{digits}g}" if isinstance(value, (float, np.floating)) else str(value)
