"""Tables put together part by part: memory holds each number once, and a bounded number of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

Droppable: TypeAlias = Callable[[Any], bool]  # whether a column may be left out of a table too large
MOST_NUMBERS = 50_000_000  # of a table, 400 MB, beyond which droppable columns are left out
PART = 2_000  # rows that are held as dictionaries at one time
DROPPED = "dropped"  # in a table's attrs: the columns that were left out because it is too large


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
    """The rows of a table, part by part.

    Args:
        droppable: whether a column of numbers may be left out of a table of more than `MOST_NUMBERS`; the
            last ones go first. None keeps every column.
    """

    def __init__(self, droppable: Droppable | None = None) -> None:
        self._droppable = droppable
        self._rows = 0
        self._columns: dict[Any, _Column] = {}
        self._left_out: list[Any] = []

    def add(self, part: pd.DataFrame) -> None:
        """Add rows below the others."""
        for name, values in part.items():
            if name not in self._left_out:
                self._columns.setdefault(name, _Column(values.dtype)).add(values, self._rows)
        self._rows += len(part)
        numeric = {name: column.is_numeric for name, column in self._columns.items()}
        for name in columns_to_drop(numeric, self._rows, self._droppable):
            self._left_out.append(name)
            del self._columns[name]

    @property
    def mixed(self) -> list[Any]:
        """Columns that have numbers in one part and text in another."""
        return [name for name, column in self._columns.items() if column.is_mixed]

    def frame(self) -> pd.DataFrame:
        """The whole table, with the columns left out in its attrs; the parts are gone then."""
        columns = {name: column.whole(self._rows) for name, column in self._columns.items()}
        whole = pd.DataFrame(columns, copy=False)
        whole.attrs[DROPPED] = self._left_out
        return whole


class _Column:
    """A column that grows: numbers in one piece of memory, which grows in place, anything else in pieces.

    Args:
        empty: the type where no part has values: an empty part has no type to agree with those of others.
    """

    def __init__(self, empty: Any) -> None:
        self._empty = empty
        self._length = 0
        self._numbers: np.ndarray | None = None
        self._pieces: list[pd.Series] = []
        self._kinds: set[bool] = set()  # whether parts hold numbers

    @property
    def is_numeric(self) -> bool:
        return False not in self._kinds

    @property
    def is_mixed(self) -> bool:
        return len(self._kinds) > 1

    def add(self, values: pd.Series, row: int) -> None:
        """Add the values of the rows from `row` on."""
        if not values.notna().any():
            return
        self._kinds.add(pd.api.types.is_numeric_dtype(values))
        if not self._pieces and values.dtype in (np.int64, np.float64):
            self._add_numbers(values.to_numpy(), row)
            return
        if self._numbers is not None:
            self._pieces, self._numbers = [pd.Series(self._numbers[: self._length])], None
        self._pieces.append(values.set_axis(pd.RangeIndex(row, row + len(values))))

    def _add_numbers(self, values: np.ndarray, row: int) -> None:
        end, numbers = row + len(values), self._numbers
        numbers = np.empty(0, values.dtype) if numbers is None else numbers
        kind = np.result_type(numbers, values, float if row > self._length else values)
        numbers = numbers.astype(kind, copy=False)
        if end > len(numbers):
            numbers.resize(end + end // 8, refcheck=False)  # the system moves large arrays without a copy
        numbers[self._length : row] = np.nan if row > self._length else 0
        numbers[row:end] = values
        self._numbers, self._length = numbers, end

    def whole(self, rows: int) -> pd.Series:
        """The column of so many rows; it is empty afterwards."""
        numbers, self._numbers = self._numbers, None
        if numbers is not None:
            numbers = numbers if self._length == rows else numbers.astype(float)
            numbers.resize(rows, refcheck=False)
            numbers[self._length :] = np.nan if self._length < rows else 0
            return pd.Series(numbers, copy=False)
        if not self._pieces:
            return pd.Series(None, index=pd.RangeIndex(rows), dtype=self._empty)
        pieces, self._pieces = self._pieces, []
        return pd.concat(pieces).reindex(pd.RangeIndex(rows))


def columns_to_drop(numeric: dict[Any, bool], rows: int, droppable: Droppable | None) -> list[Any]:
    """The columns to leave out of a table of so many rows.

    Args:
        numeric: for each column, whether it holds numbers: a text may tell runs apart, and stays.
    """
    excess = len(numeric) - MOST_NUMBERS // max(rows, 1)
    if droppable is None or excess <= 0:
        return []
    return list(islice((name for name in reversed(numeric) if numeric[name] and droppable(name)), excess))


def frame_of_rows(rows: Iterable[dict[str, Any]], droppable: Droppable | None = None) -> pd.DataFrame:
    """A table of rows, which take ten times the memory of their numbers as dictionaries."""
    left = iter(rows)
    first = frame_of(list(islice(left, PART)))
    if len(first) < PART:
        return first
    parts = Parts(droppable)
    parts.add(first)
    while some := list(islice(left, PART)):
        parts.add(frame_of(some))
    return parts.frame()
