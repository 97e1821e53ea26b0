"""What was understood of a table, as data: its columns, assumptions, and what was left out.

The line that commands print and the table and JSON of ``scalinglab read --explain`` are made from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scalinglab.curves.names import quantity
from scalinglab.support.words import counted

MOST_LISTED = 5  # names in a list of the line


@dataclass(frozen=True)
class ColumnRead:
    """A column of a table, as it was understood.

    Attributes:
        theirs: its name in the table that was read; empty if the column was made from others.
        ours: its name here; empty if it was left out.
        role: `run`, `setting`, `seed`, `progress`, `measured`, `outcome`, `about` (a text on the run that is
            no setting, such as its commit), or `left out`.
        unit: what its numbers count or are measured in here, where that is known: "tokens", "nats".
        change: what was done to its values, "times 1e+06"; empty if they are as they were.
        missing: how many values are missing here.
        varies: whether it has more than one value.
        sure: whether its name or the caller says what it is, rather than its values alone.
    """

    theirs: str
    ours: str
    role: str
    unit: str = ""
    change: str = ""
    missing: int = 0
    varies: bool = True
    sure: bool = True


@dataclass(frozen=True)
class Reading:
    """What was understood of a table.

    Attributes:
        origin: what the table is called: its file, or "the table".
        runs, rows: how many it has.
        columns: one by one, in the order of the table.
        notes: what was assumed, and which rows or values were left out and why.
        copies: the places, from 0, of rows that were left out as exact copies of others.
    """

    origin: str
    runs: int
    rows: int
    columns: tuple[ColumnRead, ...] = ()
    notes: tuple[str, ...] = ()
    copies: tuple[int, ...] = ()

    @property
    def contents(self) -> str:
        """The line without the name of the file; of what was measured, losses, errors and accuracies."""
        kept = [c for c in self.columns if c.ours]
        measured = [c for c in kept if c.role == "measured"]
        known = [c for c in measured if c.unit or quantity(c.ours) is not None] or measured
        groups = {
            "": _renamed(kept),
            "settings that vary: ": [c.ours for c in kept if c.role == "setting" and c.varies],
            "seeds: ": [c.ours for c in kept if c.role == "seed" and c.varies],
            "progress: ": [c.ours for c in kept if c.role == "progress"],
            "measured: ": [c.ours + (f" ({c.unit})" if c.unit else "") for c in known],
        }
        parts = [f"{counted(self.runs, 'run')}, {counted(self.rows, 'row')}"]
        parts += [f"{title}{listed(names)}" for title, names in groups.items() if names]
        parts += [f"{c.ours} {c.change}" for c in kept if c.change and (c.role != "measured" or c in known)]
        if self.runs == self.rows:  # of checkpoints many have no evaluation
            gaps = {c.missing for c in known if c.theirs and "missing in" not in c.change} - {0, self.rows}
            for gap in sorted(gaps):
                names = [c.ours for c in known if c.theirs and c.missing == gap]
                parts.append(f"missing in {gap} of {counted(self.rows, 'row')}: {listed(names)}")
        parts += self.notes
        if left_out := [c.theirs for c in self.columns if c.role == "left out"]:
            parts.append(f"left out, neither a setting nor a measurement: {listed(left_out)}")
        if len(known) < len(measured) or any(len(g) > MOST_LISTED for g in (*groups.values(), left_out)):
            parts.append("every column: scalinglab read TABLE --explain")
        return "; ".join(parts)

    @property
    def line(self) -> str:
        """One line: the counts, which column is what, what was done to values, and what was left out."""
        return f"{self.origin}: {self.contents}"

    def rows_of_table(self) -> list[dict[str, Any]]:
        """The mapping as rows of a table, a row for each column."""
        return [asdict(column) for column in self.columns]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "origin": self.origin, "runs": self.runs, "rows": self.rows, "columns": self.rows_of_table(),
            "notes": list(self.notes), "line": self.line,
        }  # fmt: skip


def _renamed(columns: Sequence[ColumnRead]) -> list[str]:
    """``n_params ← params``, each of our names once."""
    found: dict[str, list[str]] = {}
    for column in columns:
        if column.theirs and column.theirs != column.ours:
            place = column.theirs.removeprefix("Unnamed: ")  # as pandas calls a column without a name
            named = column.theirs if place == column.theirs else f"column {int(place) + 1}"
            found.setdefault(column.ours, []).append(named)
    return [f"{ours} ← {' or '.join(theirs)}" for ours, theirs in found.items()]


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Names after one another, the first of many."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
