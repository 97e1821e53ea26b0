"""What is kept of large tables: short texts, and of too many numbers those with a known name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from typing import Any

import pandas as pd

from scalinglab.curves.columns import is_numeric
from scalinglab.readers.tables.naming import is_known

LONGEST_TEXT = 200  # characters of a value
PREFIX = 40  # characters of a longer one that are kept, before its hash
LEFT_OUT = "left_out"  # in a table's attrs: the columns with values that were left out or shortened
NOTES = "notes"  # in a table's attrs: remarks on the file


def unknown(wanted: Collection[str]) -> Callable[[Any], bool]:
    """Whether a column is neither asked for nor known by its name: it can be dropped."""
    return lambda column: not (column in wanted or is_known(column))


def with_short_texts(part: pd.DataFrame, left_out: dict[Any, None]) -> pd.DataFrame:
    """Some rows of a table with texts of at most `LONGEST_TEXT` characters; their columns in `left_out`."""
    texts = {name: column for name, column in part.items() if not is_numeric(column)}
    long = {str(name): column for name, column in texts.items() if _has_long(column)}
    left_out |= dict.fromkeys(long)
    return part.assign(**{name: [*map(shortened, column)] for name, column in long.items()})


def _has_long(column: pd.Series) -> bool:
    """Whether a column has a long text; by the library where it knows lengths, a hundred times faster."""
    if column.dtype == object:
        return any(map(is_long, column))
    return isinstance(column.dtype, pd.StringDtype) and bool((column.str.len() > LONGEST_TEXT).any())


def is_long(value: Any) -> bool:
    """Whether a value is a text of more than `LONGEST_TEXT` characters."""
    return isinstance(value, str) and len(value) > LONGEST_TEXT


def shortened(value: Any) -> Any:
    """A long text cut; long ones that differ differ still. Anything else as it is."""
    if not is_long(value):
        return value
    return f"{value[:PREFIX]}… {hashlib.sha256(value.encode(errors='surrogatepass')).hexdigest()[:12]}"
