"""Convert text columns to numbers, and keep what was written beside them: units, %, ±, words."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from scalinglab.curves.columns import IDENTITY, is_numeric, is_seed
from scalinglab.curves.names import quantity
from scalinglab.curves.numbers import (
    Numbers,
    has_decimal_comma,
    has_dots_for_thousands,
    may_have_decimal_comma,
    number,
    numbers,
)
from scalinglab.readers.tables.headers import counts_examples, roles

TEXT = (*IDENTITY, "model", "dataset", "optimizer", "parameterization", "status")  # never read as numbers
COUNTS = ("n_data", "n_params", "step", "examples", "tokens", "batch_size")  # whole: 1,000 is a thousand


@dataclass
class Values:
    """A table in which texts that are numbers are numbers.

    Args:
        frame: the table, with text as it was found.
        decimal_comma: whether commas may be decimal points.

    Attributes:
        frame: the table.
        read: the columns that were text, by name: what was written beside the numbers.
        changes: notes on how values were read, by column.
    """

    frame: pd.DataFrame
    decimal_comma: bool
    read: dict[str, Numbers] = field(default_factory=dict)
    changes: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        texts = [c for c in self.frame.columns if not is_numeric(self.frame[c])]
        texts = [c for c in texts if not {c, *roles(c)} & {*TEXT}]
        certain = self.decimal_comma and any(has_decimal_comma(self.frame[c]) for c in texts)
        for column in texts:
            values = self.frame[column]
            if is_seed(column) and set(map(type, values.dropna())) == {int}:
                continue  # beyond 64 bits, where floats would merge seeds
            comma = self._has_decimal_comma(column) or (certain and not self._keeps_commas(column))
            found = numbers(values, decimal_comma=comma, any_word=quantity(column) is not None)
            if found is not None:
                self._take(column, found)

    def _take(self, column: str, found: Numbers) -> None:
        """Replace a text column by its numbers, and note how they were read."""
        before = self.frame[column]
        self.read[column] = found
        self.frame[column] = found.values
        texts = before[found.values.notna()].astype(str).drop_duplicates()
        changed = (k for k, text in texts.items() if not _is_plain(text, found.values[k]))
        if (first := next(changed, None)) is not None:  # also 1.250, where commas are decimal points
            self.changes.setdefault(column, []).append(f"{texts[first]} read as {found.values[first]:.10g}")
        if found.words:
            missing = int(found.values.isna().sum())
            named = found.words[:4]
            others = missing - sum(count for _, count in named)
            named = (*named, *([("no value", others)] if others else []))
            words = ", ".join(f"{word} {count}" for word, count in named)
            self.changes.setdefault(column, []).append(
                f"missing in {missing} of {len(before)} rows ({words})"
            )

    def _has_decimal_comma(self, column: str) -> bool:
        """Whether commas are decimal points: as in 0,364, and in 4,081 where it is a loss."""
        values = self.frame[column]
        if not self.decimal_comma:
            return False
        return has_decimal_comma(values) or (quantity(column) is not None and may_have_decimal_comma(values))

    def _keeps_commas(self, column: str) -> bool:
        """Whether commas separate thousands, in a table with decimal commas: in counts, but not in 1.000."""
        is_count = column in COUNTS or bool({*COUNTS} & {*roles(column)}) or counts_examples(column)
        return is_count and not has_dots_for_thousands([*self.frame[column].dropna().astype(str)])

    def wrong(self, column: str) -> pd.Series:
        """The texts of a column that are not numbers."""
        known = self.frame[column].dropna().astype(str)
        comma = self._has_decimal_comma(column)
        return known[[number(text, decimal_comma=comma) is None for text in known]]


def _is_plain(text: str, value: float) -> bool:
    """Whether a text is a number as programs write it, with this value."""
    try:
        return float(text) == value and "_" not in text
    except ValueError:
        return False
