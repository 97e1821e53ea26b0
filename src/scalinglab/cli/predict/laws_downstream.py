"""``scalinglab laws downstream``: the score of a model from its size, by way of its loss."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.option_sets import Drawing, Table, takes
from scalinglab.cli.shared.output import grid
from scalinglab.errors import BadInput
from scalinglab.support.words import percent

PAIR = ("n_params", "n_data")


@takes(table=Table, drawing=Drawing)
def downstream(
    table: Table,
    drawing: Drawing,
    score: Annotated[
        str, typer.Option(help="The column of the score, e.g. error; rows without one count for the loss.")
    ],
    x: Annotated[
        str, typer.Option("--x", help="The column of the size, or one of each variable: n_params,n_data.")
    ] = "compute",
    y: option.Loss = None,
    form: Annotated[
        str, typer.Option(help="Score from loss: error_from_loss or score_from_loss (a sigmoid).")
    ] = "error_from_loss",
    loss_form: Annotated[
        str | None,
        typer.Option(help="Loss from size. Default: power_law_offset; chinchilla of two columns."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="Predict at these x, e.g. 1e23,1e24; of several columns at one value of each."),
    ] = None,
    compute: Annotated[
        str | None, typer.Option(help="Predict for the best n_params and n_data at these FLOPs, e.g. 1e24.")
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals, e.g. 0.95.")] = 0.95,
    flops_per_param_example: option.FlopsPerParamExample = 6.0,
) -> None:
    """Predict a score in two stages: the loss from sizes, then the score from the loss.

    scalinglab laws downstream runs.csv --score error --at 1e24

    scalinglab laws downstream runs.csv --score error --x n_params,n_data --compute 1e24

    scalinglab laws downstream runs.csv --score accuracy --form score_from_loss --at 1e24
    """
    import pandas as pd

    from scalinglab.laws.downstream import form_of_loss, two_stage
    from scalinglab.laws.fitting.data.points import positive

    if at is not None and compute is not None:
        raise BadInput("--at and --compute both say where to predict: give one of them")
    names = [name.strip() for name in x.split(",")]
    first = form_of_loss(loss_form or "auto", len(names))
    roles = {role: name for role, name in zip(first.variables, names, strict=False) if role in PAIR}
    asked = table.ask(names if len(names) > 1 else x, y, roles=roles, usual="loss", score=score)
    both = two_stage(first, asked.frame, second=form, **asked.points)
    places = None
    if compute is not None:
        places = both.optimal_sizes(grid(compute), flops_per_param_example=flops_per_param_example)
    elif at is not None:
        places = grid(at)
        positive(at=places)
        if len(names) > 1 and len(places) != len(names):
            raise BadInput(f"--at {at}: give one value of each of {', '.join(first.variables)}")
        places = places if len(names) == 1 else places[:, None]
    rows = pd.DataFrame() if places is None else both.predictions(places, level)
    rows = rows.rename(columns=dict(zip(both.names, (*names, asked.y, score), strict=True)))  # as typed
    table.say(both.summary())
    for row in rows.to_dict("records"):
        where = ", ".join(f"{name} = {row[name]:.4g}" for name in names)
        values = f"{asked.y} {row[asked.y]:.4g}, {score} {row[score]:.4g}"
        far = f"   {row['beyond']:.3g} times the largest run" if row["beyond"] > 1 else ""
        table.say(f"  at {where}: {values}   {percent(level)} [{row['low']:.4g}, {row['high']:.4g}]{far}")
    document: dict[str, Any] = {
        "loss": both.loss.to_dict(), "score": both.score.to_dict(), "level": level,
        "predictions": rows.to_dict("records"), "notes": asked.notes(both.notes),
    }  # fmt: skip

    def figure() -> Any:
        return both.plot(at=places, level=level, x=asked.y, y=score).figure

    document |= drawing.draw(figure, table.file, "downstream")
    table.finish(document, rows)
