"""``scalinglab laws downstream``: the score of a model from its size, by way of its loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.option_sets import Drawing, Table, takes
from scalinglab.cli.shared.output import grid
from scalinglab.errors import BadInput, nearest
from scalinglab.support.words import percent

if TYPE_CHECKING:
    from scalinglab.laws.downstream import TwoStage

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

    from scalinglab.laws import forms
    from scalinglab.laws.downstream import SECOND, two_stage
    from scalinglab.laws.fitting.data.from_curves import points_from

    if form not in SECOND:
        raise BadInput(f"--form {form}: {nearest(form, SECOND)}")
    names = [name.strip() for name in x.split(",")]
    first = forms.get(loss_form or ("power_law_offset" if len(names) == 1 else "chinchilla"))
    if len(names) != len(first.variables):
        raise BadInput(f"--x {x}: {first.name} needs a column of each of {', '.join(first.variables)}")
    roles = {role: name for role, name in zip(first.variables, names, strict=True) if role in PAIR}
    # the score stays with the rows that count, as a standard error does
    asked = table.ask(names if len(names) > 1 else x, y, roles=roles, usual="loss", error=score)
    found = points_from((asked.frame,), **asked.points)
    scored = np.isfinite(found.y) & ~np.isnan(found.error)
    both = two_stage(
        first, found.x, found.y, found.y[scored], found.error[scored], second=form, runs=found.runs,
        seen_runs=found.runs[scored], nan_policy=asked.rows["nan_policy"],
    )  # fmt: skip
    places = _places(both, at, compute, flops_per_param_example)
    rows = pd.DataFrame()
    if places is not None:
        low, high = both.interval(places, level)
        sizes = dict(zip(names, np.atleast_2d(places), strict=True))
        rows = pd.DataFrame({
            **sizes, asked.y: both.loss.predict(places), score: both.predict(places), "low": low,
            "high": high, "beyond": _beyond(both, places),
        })  # fmt: skip
    table.say("\n".join([both.summary(), *(f"note: {note}" for note in found.notes)]))
    for row in rows.to_dict("records"):
        where = ", ".join(f"{name} = {row[name]:.4g}" for name in names)
        values = f"{asked.y} {row[asked.y]:.4g}, {score} {row[score]:.4g}"
        far = f"   {row['beyond']:.3g} times the largest run" if row["beyond"] > 1 else ""
        table.say(f"  at {where}: {values}   {percent(level)} [{row['low']:.4g}, {row['high']:.4g}]{far}")
    document: dict[str, Any] = {
        "loss": both.loss.to_dict(), "score": both.score.to_dict(), "level": level,
        "predictions": rows.to_dict("records"), "notes": asked.notes(found.notes),
    }  # fmt: skip

    def figure() -> Any:
        return both.plot(at=places, level=level, x=asked.y, y=score).figure

    document |= drawing.draw(figure, table.file, "downstream")
    table.finish(document, rows)


def _beyond(both: TwoStage, places: np.ndarray) -> np.ndarray:
    """N D over that of the largest run, or so the only variable; nan for laws of other variables."""
    variables = both.loss.form.variables
    sizes = [v for v in variables if len(variables) == 1 or (v in PAIR and {*PAIR} <= {*variables})]
    if not sizes:
        return np.full(np.shape(places)[1:], np.nan)
    chosen = [variables.index(v) for v in sizes]
    asked, runs = (np.atleast_2d(v)[chosen].prod(axis=0) for v in (places, both.loss.points.x))
    return np.asarray(asked / runs.max())


def _places(both: TwoStage, at: str | None, compute: str | None, flops: float) -> np.ndarray | None:
    """The sizes to predict at, (sizes,) or (variables, sizes); None where none are asked for."""
    from scalinglab.laws.fitting.data.points import positive
    from scalinglab.laws.surface import Surface

    variables = both.loss.form.variables
    if at is not None and compute is not None:
        raise BadInput("--at and --compute both say where to predict: give one of them")
    if compute is not None:
        if variables != PAIR:
            raise BadInput(
                f"--compute finds the best n_params and n_data, and this law is of {', '.join(variables)}: "
                "give --x n_params,n_data, or --at instead"
            )
        best = Surface(both.loss).compute_optimal(grid(compute), flops_per_param_example=flops)
        return np.stack([best.n_params, best.n_data])
    if at is None:
        return None
    sizes = grid(at)
    positive(at=sizes)
    if len(variables) == 1:
        return sizes
    if len(sizes) != len(variables):
        raise BadInput(f"--at {at}: give one value of each of {', '.join(variables)}")
    return sizes[:, None]
