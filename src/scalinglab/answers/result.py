"""Answers: sentences, the results behind them, and the commands that show more."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scalinglab.laws.extrapolation.stacking import Extrapolation
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.optimum import Optimal
from scalinglab.laws.planning.next_runs import NextRuns
from scalinglab.laws.surface import Surface
from scalinglab.results.notebook import NotebookResult

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Statement:
    """One answer: what it is about, the sentence, and the command that shows more."""

    topic: str
    text: str
    command: str


@dataclass(frozen=True)
class Answers(NotebookResult):
    """What a table says, in sentences; made by `answer`.

    Attributes:
        statements: one a question, in order.
        x, y: the columns that were used; x is "n_params, n_data" for a surface.
        law, surface, extrapolation, optimal, next_runs: the results behind the sentences, where there are.
        notes: what was done to the rows.
        undetermined: parameters of the law or surface to which the sentences give no value.
    """

    statements: tuple[Statement, ...]
    x: str
    y: str
    law: Law | None = None
    surface: Surface | None = None
    extrapolation: Extrapolation | None = None
    optimal: Optimal | None = None
    next_runs: NextRuns | None = None
    notes: tuple[str, ...] = ()
    undetermined: tuple[str, ...] = ()

    def __getitem__(self, topic: str) -> str:
        """The sentence on a topic: read, exponent, power law, ten times, compute-optimal, next run."""
        for statement in self.statements:
            if statement.topic == topic:
                return statement.text
        raise KeyError(topic)

    def summary(self) -> str:
        """The sentences, each followed by the command that shows more."""
        lines = [f"{s.text}\n    {s.command}" for s in self.statements]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def notebook_table(self) -> pd.DataFrame:
        """One row a question."""
        import pandas as pd

        return pd.DataFrame([(s.topic, s.text) for s in self.statements], columns=["question", "answer"])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        document: dict[str, Any] = {
            "x": self.x, "y": self.y, "answers": [vars(s) for s in self.statements], "notes": list(self.notes)
        }  # fmt: skip
        if self.law is not None:
            document |= {"form": self.law.form.name, "equation": self.law.form.equation}
            document["parameters"] = self._parameters(self.law)
        if self.optimal is not None:
            document["compute_optimal"] = self.optimal.table().to_dict("records")
        if self.extrapolation is not None:
            document["extrapolation"] = self.extrapolation.notebook_table().to_dict("records")
        if self.next_runs is not None:
            document["next_runs"] = self.next_runs.notebook_table().to_dict("records")
            document["worth_it"] = self.next_runs.worth_it
        return document

    def _parameters(self, law: Law) -> dict[str, dict[str, float | None]]:
        """Value and 95 % interval of each parameter; None where the sentences give no value either."""
        ends = law.parameter_intervals if self.surface is None else self.surface.parameter_intervals()
        return {
            name: dict.fromkeys(("value", "low", "high"))
            if name in self.undetermined
            else {"value": law.parameters[name], "low": float(ends[name].low), "high": float(ends[name].high)}
            for name in law.form.names
        }


def arguments(path: str, columns: Iterable[str] = (), where: Iterable[str] = ()) -> str:
    """A file as a command line names it, with the columns and rows that were asked for.

    >>> arguments("runs.csv", ["n_data=train images"])
    "runs.csv --column 'n_data=train images'"
    """
    options = [*(("--column", c) for c in columns), *(("--where", w) for w in where)]
    return shlex.join([path, *(word for option in options for word in option)])


def at_place(found: Answers, place: str) -> Answers:
    """The same answers with the file's name, as of `arguments`, in the commands."""
    named = (replace(s, command=s.command.replace("TABLE.csv", place)) for s in found.statements)
    return replace(found, statements=tuple(named))
