"""``scalinglab plan pool``: the next runs from a list of possible ones with costs; and what plans print."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.option_sets import Surface, takes
from scalinglab.cli.shared.tables import Asked, read_table
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    import numpy as np

    from scalinglab.laws.planning.next_runs import NextRuns

Most = Annotated[int, typer.Option(help="Largest number of runs to choose, e.g. 4.")]
Seeds = Annotated[int, typer.Option(help="Largest number of runs of one size, e.g. 1.")]
Tolerance = Annotated[float, typer.Option(help="Leave out runs that narrow the interval by less than this.")]


@takes(table=Surface)
def pool(
    table: Surface,
    candidates: Annotated[
        Path, typer.Option("--pool", help="Table of possible runs, one per row, e.g. pool.csv.")
    ],
    target: Annotated[
        Path, typer.Option(help="Table of the points to predict, one per row, e.g. target.csv.")
    ],
    budget: Annotated[float, typer.Option(help="Budget, in the unit of the cost, e.g. 1e21.")],
    cost: Annotated[str, typer.Option(help="The column of costs in the pool.")] = "cost",
    x: Annotated[
        str | None, typer.Option("--x", help="Fit a law of this one column instead of a surface.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(help="Any form of 'scalinglab laws forms'. Default: as in 'scalinglab plan next'."),
    ] = None,
    variable: option.Variables = None,
    space: Annotated[str, typer.Option(help="Take residuals of 'log' or 'raw' values.")] = "log",
    most: Most = 8,
    seeds: Seeds = 3,
    tolerance: Tolerance = 0.01,
) -> None:
    """Which runs of a pool shrink the intervals of predictions most, within a budget; for any form.

    As 'scalinglab plan next', with the possible runs and their costs given, and several points to predict.
    Run the batch, add its results to the runs, and ask again, until none is worth its cost.

    scalinglab plan pool runs.csv --pool pool.csv --target target.csv --budget 1e21 --form data_constrained
    """
    from scalinglab.laws import plan

    asked, columns, wanted = plan_of(table, form, x, variable)
    could = read_table(candidates, table.column, as_json=table.as_json)
    goal = read_table(target, table.column, as_json=table.as_json)

    def values(read: Any, names: list[str]) -> np.ndarray:
        resolved = [read.resolve(name) for name in names]
        if missing := [n for n, there in zip(names, resolved, strict=True) if there not in read.frame]:
            raise BadInput(f"no column {missing[0]!r}: name it with --var VARIABLE=COLUMN or --cost")
        return read.frame[resolved].to_numpy(float)  # type: ignore[no-any-return]

    with asked.in_words():
        found = plan.next_runs(
            asked.frame, budget=budget, at=values(goal, columns), candidates=values(could, columns),
            cost=values(could, [cost])[:, 0], most=most, seeds=seeds, tolerance=tolerance,
            options={"space": space}, **wanted, **asked.points,
        )  # fmt: skip
    finish_plan(table, asked, found, row=found.index)


def plan_of(
    table: Surface, form: str | None, x: str | None, variable: list[str] | None
) -> tuple[Asked, list[str], dict[str, Any]]:
    """The table, the columns of a run's variables, and the form and FLOP count, that a plan starts from."""
    from scalinglab.laws import forms

    named = None if form == "auto" else form
    chosen = forms.get(named or ("chinchilla" if x is None else "power_law_offset"))
    wanted: dict[str, Any] = {"form": chosen if named else None}
    if len(chosen.variables) == 1:
        column = x or "n_data"
        return table.ask(column, table.y), [column], wanted
    columns = table.columns_of(chosen, variable)
    wanted["flops_per_param_example"] = table.flops_per_param_example
    return table.ask_surface(columns), [*columns.values()], wanted


def finish_plan(table: Surface, asked: Asked, found: NextRuns, **more: Any) -> None:
    """Print a plan and write it out; `more` are further columns of its runs."""
    if len(found.variables) == 1:
        of = f"1 - {asked.y}" if found.quantity else ""
        found = replace(found, variables=(str(asked.x),), quantity=of)
    for note in found.notes:
        table.say(f"note: {note}")
    table.say(asked.worded(found.summary()))
    rows = found.notebook_table().assign(**more)
    rows.insert(rows.columns.get_loc("cost") + 1, "unit", found.unit)
    prediction = found.prediction if len(found.prediction) > 1 else float(found.prediction[0])
    document = {
        "quantity": found.quantity or asked.y, "prediction": prediction, "half_width": found.before,
        "budget": found.budget, "unit": found.unit, "worth_it": found.worth_it, "verdict": found.verdict,
        "runs": rows.to_dict("records"), "notes": asked.notes(found.notes),
    }  # fmt: skip
    table.finish(document, rows)
