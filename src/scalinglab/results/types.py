"""Parts of a result: its status, its reasons as data, and the command that shows more."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from scalinglab.errors import ScalinglabError
from scalinglab.results.lines import LINES, TABLES
from scalinglab.results.sentences import REASONS, Column, fill
from scalinglab.support.words import without_nan

if TYPE_CHECKING:
    import pandas as pd

SOME_TABLE = ("TABLE.csv",)  # in commands, if the data are not from a file


class Status(StrEnum):
    """How far the data answer a question."""

    DETERMINED = "determined"
    RANGE = "only a range"  # an interval too wide for its value to mean something
    NOT_DETERMINED = "not determined"
    REFUSED = "refused"  # the question does not apply to this table, or its values cannot be used


class Reason:
    """Why something is not determined, or what to know about a result: a code and the values of its sentence.

    The detail `of_kinds` names the kinds of rows that it is about, if not all.
    An error carries one in place of its message: ``raise NotDetermined(Reason("law_open"))``. Codes
    and their sentences stand in `scalinglab.results.sentences`.

    >>> Reason("message", text="no runs")
    Reason('message', text='no runs')
    """

    def __init__(self, code: str, /, **details: Any) -> None:
        self.code, self.details = code, details

    def sentence(self, names: Mapping[str, str] | None = None) -> str:
        """In words, without a full stop.

        Args:
            names: what columns are called, such as {"n_data": "tokens"}.
        """
        template = REASONS[self.code] if self.code in REASONS else LINES[self.code]
        whose = f"{', '.join(kinds)}: " if (kinds := self.details.get("of_kinds")) else ""
        return whose + fill(template, self.details, names)

    def renamed(self, names: Mapping[str, str]) -> Reason:
        """The same reason with other names of columns."""
        return Reason(self.code, **{k: _renamed(v, names) for k, v in self.details.items()})

    def to_dict(self) -> dict[str, Any]:
        """In JSON's types."""
        return {"code": self.code, "text": str(self), **as_json(self.details)}

    def __str__(self) -> str:
        return self.sentence()

    def __repr__(self) -> str:
        return f"Reason({', '.join([repr(self.code), *(f'{k}={v!r}' for k, v in self.details.items())])})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and (self.code, self.details) == (other.code, other.details)

    def __hash__(self) -> int:
        return hash((self.code, *self.details))


def as_json(value: Any) -> Any:
    """The value in JSON's types: arrays as lists, tables as rows, NaN and infinities as null."""
    import numpy as np
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return as_json(value.to_dict("records"))
    if isinstance(value, Reason):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return as_json(vars(value))
    if isinstance(value, Mapping):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return as_json(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_json(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Column):
        return Column(names.get(str(value), str(value)))
    if isinstance(value, Reason):
        return value.renamed(names)
    if isinstance(value, Mapping):
        return {_renamed(k, names): _renamed(v, names) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(_renamed(each, names) for each in value)
    return value


def reason_of(error: Exception) -> Reason:
    """The reason that an error carries; its message where it has none."""
    given = error.args[0] if error.args else ""
    return given if isinstance(given, Reason) else Reason("message", text=str(error).strip().rstrip("."))


@contextmanager
def renaming(names: Mapping[str, str]) -> Iterator[None]:
    """Errors with other names of columns."""
    try:
        yield
    except ScalinglabError as error:
        raise type(error)(reason_of(error).renamed(names)) from error


@dataclass(frozen=True)
class TableRows:
    """Rows of numbers of one kind, a line each; their columns stand in `scalinglab.results.lines`.

    Attributes:
        code: of its columns.
        rows: what their templates are filled with.
        heads: what columns are called, where that depends on the result.
        sizes: columns of sizes before the others; rows have their values as a tuple, `sizes`.
    """

    code: str
    rows: Sequence[Mapping[str, Any]]
    heads: Mapping[str, str] = field(default_factory=dict)
    sizes: Sequence[str] = ()

    def _cells(self, names: Mapping[str, str] | None = None) -> tuple[list[str], list[list[str]]]:
        """The names of columns, and lines of cells, the heads first."""
        sizes = {name: f"{{sizes[{i}]:.3g}}" for i, name in enumerate(self.sizes)}
        columns, called = {**sizes, **TABLES[self.code]}, {**(names or {}), **self.heads}
        lines = [[called.get(head, head).removeprefix("<") for head in columns]]
        return [*columns], lines + [
            [fill(cell, row, names) for cell in columns.values()] for row in self.rows
        ]

    def frame(self) -> pd.DataFrame:
        """As a table of words."""
        import pandas as pd

        _, (heads, *lines) = self._cells()
        return pd.DataFrame(lines, columns=heads)

    def sentence(self, names: Mapping[str, str] | None = None) -> str:
        """In lines, the heads first."""
        columns, lines = self._cells(names)
        wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = [
            [cell.ljust(n) if head.startswith("<") else cell.rjust(n)
             for head, cell, n in zip(columns, line, wide, strict=True)]
            for line in lines
        ]  # fmt: skip
        return "\n".join("  ".join(line).rstrip() for line in aligned)


Remark = Reason | TableRows  # one or more lines of a summary, as data


class Worded:
    """A result whose summary is written from data, its `remarks`."""

    if TYPE_CHECKING:  # results with a summary of their own have none

        @property
        def remarks(self) -> Iterable[Remark]:
            """What the summary says, as data."""
            raise NotImplementedError

        def to_dict(self) -> dict[str, Any]:
            """Everything as plain values, for JSON."""
            raise NotImplementedError

    def summary(self, names: Mapping[str, str] | None = None) -> str:
        """In words.

        Args:
            names: what sizes are called, such as {"n_data": "tokens"}.
        """
        return written(self.remarks, names)


def written(remarks: Iterable[Remark], names: Mapping[str, str] | None = None) -> str:
    """Remarks in lines, with sizes by the names that are given."""
    return without_nan("\n".join(remark.sentence(names).rstrip() for remark in remarks))


def noted(notes: Iterable[object]) -> list[Reason]:
    """Notes below a summary."""
    return [Reason("note", note=note) for note in notes]


def inside(remarks: Iterable[Reason], notes: Iterable[object] = ()) -> Iterator[Reason]:
    """Remarks indented below the fit that they belong to, then notes on its points."""
    yield from (Reason("inside", of=remark) for remark in (*remarks, *noted(notes)))


def weighed(weights: Mapping[str, float]) -> tuple[Reason, ...]:
    """Weights by name, as the details of a remark."""
    return tuple(Reason("weight", name=name, weight=weight) for name, weight in weights.items())


@dataclass(frozen=True)
class Command:
    """A command that shows more; the table is filled in when it is printed.

    >>> Command("laws fit", "--x", "train images").line(("runs.csv", "--where", "lr=0.1"))
    "scalinglab laws fit runs.csv --where lr=0.1 --x 'train images'"
    """

    name: str
    options: tuple[str, ...]

    def __init__(self, name: str, *options: str) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "options", options)

    def line(self, table: Sequence[str] = SOME_TABLE) -> str:
        """The command line.

        Args:
            table: the file, and the options that choose its columns and rows.
        """
        options = (re.sub(r"(?<=\de)\+?0*(?=\d)", "", option) for option in self.options)  # 1e6, not 1e+06
        return shlex.join(["scalinglab", *self.name.split(), *table, *options])
