"""Answers: the findings of a table and the results behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.answers.fitted import PAIR, Chosen, Fit, score_of
from scalinglab.errors import ScalinglabError
from scalinglab.laws.extrapolation.stacking import Extrapolation
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.optimum import Optimal
from scalinglab.laws.planning.next_runs import NextRuns
from scalinglab.laws.surface import Surface
from scalinglab.results.findings import Finding, remarks_of
from scalinglab.results.notebook import NotebookResult, as_png, card_html
from scalinglab.results.types import SOME_TABLE, Command, Reason, Remark, Status, reason_of, written

if TYPE_CHECKING:
    import pandas as pd

    from scalinglab.curves import Curves

CARD = ("ten times", "compute-optimal", "next run")  # questions of the decision card
FURTHER = 10.0  # how many times beyond the data the answers look


@dataclass(frozen=True)
class Answers(NotebookResult):
    """What a table shows; made by `answer`. ``answers["exponent"]`` is the finding on a question.

    Attributes:
        findings: one a question, in order.
        x, y: the columns that were used; x is "n_params, n_data" for a surface.
        law, surface, extrapolation, optimal, next_runs, fit: the results behind the findings, or None.
        notes: what was done to the rows.
        undetermined: parameters of the law or surface to which the findings give no value.
        table: the file and the options that choose its columns and rows, for commands.
        kinds: where the rows are of several kinds, the answers of each; ``findings`` has the main ones.
    """

    findings: tuple[Finding, ...]
    x: str
    y: str
    law: Law | None = None
    surface: Surface | None = None
    extrapolation: Extrapolation | None = None
    optimal: Optimal | None = None
    next_runs: NextRuns | None = None
    fit: Fit | None = None
    notes: tuple[Reason, ...] = ()
    undetermined: tuple[str, ...] = ()
    table: tuple[str, ...] = SOME_TABLE
    kinds: Mapping[str, Answers] = field(default_factory=dict)

    def __getitem__(self, question: str) -> Finding:
        """The finding on read, exponent, power law, ten times, compute-optimal or next run."""
        for finding in self.findings:
            if finding.question == question:
                return finding
        raise KeyError(question)

    def plus(self, *findings: Finding, **results: Any) -> Answers:
        """The same with further findings, and with the results behind them."""
        return replace(self, findings=(*self.findings, *findings), **results)

    @property
    def card(self) -> tuple[Finding, ...]:
        """The findings on which one decides: ten times as much, the best model, the next run.

        Where the table cannot be fitted, the reason comes first.
        """
        found = [f for name in CARD for f in self.findings if f.question == name]
        predicted = {f.facts.get("kind") for f in found if f.question == CARD[0]}
        unfitted = (f for f in self.findings if f.question == "exponent" and not f.values)
        return (*(f for f in unfitted if f.facts.get("kind") not in predicted), *found)

    @property
    def details(self) -> tuple[Finding, ...]:
        """The other findings: what was read, the exponent, whether it is a power law."""
        return tuple(f for f in self.findings if f not in self.card)

    @property
    def remarks(self) -> Iterator[Remark]:
        """The card, then the rest, then the commands that show more."""
        return remarks_of(self.card, self.details, self.notes, self.table)

    def _repr_html_(self) -> str:
        """The card, its figure, and the rest folded."""
        rest = written(remarks_of((), self.details, self.notes))
        picture = None if self.fit is None and not self.kinds else as_png(self)
        return card_html([f.text for f in self.card], picture, rest)

    def notebook_table(self) -> pd.DataFrame:
        """One row a question."""
        import pandas as pd

        return pd.DataFrame([(f.question, f.text) for f in self.findings], columns=["question", "answer"])

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "x": self.x, "y": self.y, "answers": [f.to_dict(self.table) for f in self.findings],
            "notes": [note.to_dict() for note in self.notes],
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
        """Value and 95 % interval of each parameter; None where the findings give no value either."""
        ends = law.parameter_intervals if self.surface is None else self.surface.parameter_intervals()
        values = law.parameters if self.surface is None else self.surface.quoted
        return {
            name: dict.fromkeys(("value", "low", "high"))
            if name in self.undetermined
            else {"value": values[name], "low": float(ends[name].low), "high": float(ends[name].high)}
            for name in law.form.names
        }


def unanswered(
    question: str, why: Reason | ScalinglabError, command: Command, names: Mapping[str, str] = {}
) -> Finding:
    """The finding that the data do not answer a question."""
    reason = why if isinstance(why, Reason) else reason_of(why)
    return Finding(question, Status.NOT_DETERMINED, {}, (reason,), {}, command, names)


def find_points(chosen: Chosen) -> Finding:
    """What was measured: how many runs, their sizes, and y from the smallest to the largest of them."""
    table, y = chosen.table, chosen.table.y
    sizes = dict(zip(chosen.x, np.atleast_2d(table.x), strict=True))
    facts: dict[str, Any] = {
        "runs": table.checkpoints_of or len(np.unique(table.runs)), "y": chosen.y,
        "checkpoints": len(table.y) if table.checkpoints_of else 0, "units": dict(chosen.units),
        "sizes": {name: (float(size.min()), float(size.max())) for name, size in sizes.items()},
    }  # fmt: skip
    if chosen.is_surface:
        ends = (y.max(), y.min())
        if chosen.x == PAIR:
            facts["compute"] = (float(chosen.compute.min()), float(chosen.compute.max()))
    else:
        facts["values"] = len(np.unique(table.x))
        ends = tuple(y[table.x == end].mean() for end in (table.x.min(), table.x.max()))
    facts["ends"] = tuple(chosen.measured(end).value for end in ends)
    return Finding("read", Status.DETERMINED, reasons=chosen.lost, facts=facts, command=Command("report"))


def in_words(findings: tuple[Finding, ...], chosen: Chosen) -> tuple[Finding, ...]:
    """Findings with sizes called by what they count, and y as the table calls it."""
    names = {x: unit for x, unit in chosen.units.items() if unit not in ("", "FLOPs")}
    names[chosen.y] = chosen.called
    return tuple(replace(found, names={**names, **found.names}) for found in findings)


def of_accuracy(curves: Curves, y: str) -> dict[str, bool | str]:
    """Facts that say that y is one minus an accuracy of the table, and minus which score; empty otherwise."""
    if y != "test_error" or "test_accuracy" not in curves.frame:
        return {}
    score = score_of(curves)
    return {"of_accuracy": True} | ({"score": score} if score else {})


def next_run(planned: NextRuns, units: dict[str, str], command: Command) -> Finding:
    """The next runs, and whether they are worth it.

    Args:
        units: of each of the plan's sizes, by its column.
    """
    runs = [
        {**dict(zip(units, map(float, run), strict=True)), "seeds": int(seeds)}
        for run, seeds in zip(planned.runs, planned.seeds, strict=True)
    ]
    facts = {
        "runs": runs, "units": units, "worth_it": planned.worth_it, "cost": float(planned.cost.sum()),
        "unit": planned.unit, "budget": planned.budget, "quantity": planned.quantity,
        "before": planned.before, "after": float(planned.after[-1]) if runs else planned.before,
    }  # fmt: skip
    return Finding("next run", Status.DETERMINED, {}, (planned.verdict,), facts, command, units)
