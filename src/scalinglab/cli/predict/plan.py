"""``scalinglab plan``: what to expect, what is optimal, and what to run next."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from scalinglab.cli.predict import noise, plan_pool
from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.option_sets import Surface, Table, takes
from scalinglab.cli.shared.output import grid
from scalinglab.cli.shared.tables import Asked, determined, draw
from scalinglab.errors import BadInput

app = typer.Typer(
    help="Predict losses, find compute-optimal sizes and plan the next runs.", no_args_is_help=True
)


@app.command("optimal")
@takes(table=Surface)
def optimal(
    table: Surface,
    compute: Annotated[str, typer.Option(help="Compute in FLOPs: '1e21', '1e20,1e22' or 'low:high:n'.")],
) -> None:
    """Find the n_params and n_data with the lowest loss at a given compute.

    scalinglab plan optimal runs.csv --compute 1e21,1e23
    """
    from scalinglab.laws import surface
    from scalinglab.laws.fitting.fit import odd_run

    asked = table.ask_surface()
    with asked.in_words():
        fitted = surface.fit(asked.frame, **asked.points)
        odd_run(fitted.law, asked.y, n_params=table.n_params, n_data=table.n_data)  # as answer refuses it
        best = fitted.compute_optimal(grid(compute), flops_per_param_example=table.flops_per_param_example)
    _say(table, asked.worded(best.summary()), fitted.law.points.notes)
    rows = best.table()
    document = {"parameters": determined(fitted), "optimal": rows.to_dict("records")}
    table.finish({**document, "notes": asked.notes(fitted.law.points.notes)}, rows)


@app.command("inference")
@takes(table=Surface)
def inference(
    table: Surface,
    loss: Annotated[float, typer.Option(help="The loss to reach, e.g. 2.3; above the floor of the surface.")],
    used: Annotated[
        str, typer.Option(help="Tokens (or examples) that the model will process in use: '1e13' or '0,1e12'.")
    ],
) -> None:
    """Find the model that reaches a loss with the fewest FLOPs of training and use together.

    scalinglab plan inference runs.csv --loss 2.3 --used 0,1e12,1e13
    """
    import pandas as pd

    from scalinglab.laws import surface
    from scalinglab.laws.fitting.fit import odd_run
    from scalinglab.laws.planning.inference import inference_optimal

    asked = table.ask_surface()
    cost = {"flops_per_param_example": table.flops_per_param_example}
    with asked.in_words():
        fitted = surface.fit(asked.frame, **asked.points)
        odd_run(fitted.law, asked.y, n_params=table.n_params, n_data=table.n_data)
        plans = [inference_optimal(fitted, loss, amount, **cost) for amount in grid(used)]
    _say(table, asked.worded("\n".join(plan.summary() for plan in plans)), fitted.law.points.notes)
    rows = pd.DataFrame([vars(plan) for plan in plans]).drop(columns=["compute_optimal", "loss_interval"])
    rows[["loss_low", "loss_high"]] = [plan.loss_interval for plan in plans]
    document = {"parameters": determined(fitted), "plans": rows.to_dict("records")}
    table.finish({**document, "notes": asked.notes(fitted.law.points.notes)}, rows)


@app.command("approaches")
@takes(table=Surface)
def approaches(
    table: Surface,
    compute: Annotated[float, typer.Option(help="Compute in FLOPs at which to compare, e.g. 5.76e23.")],
    figure: option.Figure = None,
) -> None:
    """Envelope, isoFLOP parabolas and surface side by side, and the bias of parabolas.

    scalinglab plan approaches chinchilla.csv --compute 5.76e23 --drop-highest 5
    """
    import numpy as np
    import pandas as pd

    from scalinglab.laws import plan

    cost: dict[str, Any] = {"flops_per_param_example": table.flops_per_param_example}
    asked = table.ask_surface()
    with asked.in_words():
        found = plan.approaches(asked.frame, compute=compute, **asked.points, **cost)
    n, d = found.surface.law.points.x
    total = table.flops_per_param_example * n * d
    budgets = np.geomspace(np.quantile(total, 0.1), np.quantile(total, 0.9), 8)
    centred = plan.parabola_bias(found.surface, budgets, **cost)
    drifting = plan.parabola_bias(found.surface, budgets, drift=9.0, **cost)
    _say(table, asked.worded(found.summary()), found.notes)
    table.say("\n" + centred.summary())
    table.say("\nthe same with the sizes tried drifting from 1/3 of the optimum to 3 times it")
    table.say(drifting.summary().split("\n", 1)[1])
    rows = [
        {"approach": r.name, "a": r.exponent, "a_low": r.exponent_interval.low,
         "a_high": r.exponent_interval.high, "n_params": r.n_params, "n_params_low": r.n_params_interval.low,
         "n_params_high": r.n_params_interval.high, "n_data": r.n_data}
        for r in found.rows
    ]  # fmt: skip
    bias = [
        {"span": s, "a_true": centred.exponent, "a_centred": c, "a_drifting": e}
        for s, c, e in zip(centred.span, centred.exponents, drifting.exponents, strict=True)
    ]
    document: dict[str, Any] = {"approaches": rows, "parabola_bias": bias, "notes": asked.notes(found.notes)}
    if figure is not None:
        from scalinglab.figures import laws as figures

        drawn = figures.approaches(found, found.surface, **cost)
        document["figure"] = draw(drawn, figure, table.file, "approaches")
    table.finish(document, pd.DataFrame(rows))


@app.command("next")
@takes(table=Surface)
def next_runs(
    table: Surface,
    budget: Annotated[
        float,
        typer.Option(
            help="Cost to spend on new runs, e.g. 1e22: FLOPs of a surface or with --cost, else units of x."
        ),
    ],
    compute: Annotated[
        float | None,
        typer.Option(help="Target: predict the lowest loss at this compute in FLOPs, e.g. 5.76e23."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            help="Target: predict at this size, e.g. 1e6; for a surface a value of each variable of the "
            "form, e.g. 'n_params,n_data'."
        ),
    ] = None,
    x: Annotated[
        str | None,
        typer.Option(
            "--x",
            help="Fit a law of this one column instead of a surface. Default: n_data, with one size in --at.",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            help="Any form of 'scalinglab laws forms'. Default: auto, which is chinchilla, or with --x the "
            "form of 'laws fit --form auto'."
        ),
    ] = None,
    variable: option.Variables = None,
    cost: Annotated[
        float | None, typer.Option(help="With --x: FLOPs per unit of x, e.g. 1e9. Default: x is the cost.")
    ] = None,
    most: plan_pool.Most = 8,
    seeds: plan_pool.Seeds = 3,
    tolerance: plan_pool.Tolerance = 0.01,
) -> None:
    """Find the runs, within a budget, that shrink the interval of a target prediction most.

    With a list of possible runs, their costs and a whole region to predict: scalinglab plan pool.

    scalinglab plan next chinchilla.csv --budget 1e22 --compute 5.76e23

    scalinglab plan next curves.csv --x n_data --y test_error --at 1e6 --budget 5e5

    scalinglab plan next runs.csv --form precision --var bits=P --at 1e9,1e11,4 --budget 1e21
    """
    from scalinglab.laws import plan

    target = None if at is None else grid(at)
    if form in (None, "auto") and x is None and compute is None and target is not None and len(target) == 1:
        x = "n_data"  # one size is that of a law of one variable
    asked, columns, wanted = plan_pool.plan_of(table, form, x, variable)
    if len(columns) > 1:
        wanted["compute"] = compute
    elif cost is not None:
        wanted["cost"] = lambda size: cost * size
    with asked.in_words():
        found = plan.next_runs(
            asked.frame, budget=budget, at=target, most=most, seeds=seeds, tolerance=tolerance, **wanted,
            **asked.points,
        )  # fmt: skip
    if len(columns) == 1:
        found = replace(found, unit="FLOPs" if cost is not None else _unit(asked))
    plan_pool.finish_plan(table, asked, found)


@app.command("sensitivity")
@takes(table=Surface)
def sensitivity(
    table: Surface,
    compute: Annotated[
        float, typer.Option(help="Compute in FLOPs at which the optimum is compared, e.g. 5.76e23.")
    ],
    flop_counts: Annotated[
        str | None, typer.Option(help="Columns with other FLOP counts, separated by commas.")
    ] = None,
) -> None:
    """The same data under other choices: N, FLOPs, loss, weights, dropped points.

    Other ways to count parameters are columns after the first: --n-params n_params,n_not_embedded

    scalinglab plan sensitivity chinchilla.csv --compute 5.76e23 --drop-highest 5
    """
    from scalinglab.laws import plan

    first, *others = table.n_params.split(",")
    counted = flop_counts.split(",") if flop_counts else []
    asked = replace(table, n_params=first).ask_surface(more=[*others, *counted])
    n_params, n_data, *more = asked.x
    with asked.in_words():
        found = plan.sensitivity(
            asked.frame, compute=compute, x=((n_params, *more[: len(others)]), n_data), y=asked.y,
            flop_counts=more[len(others) :], flops_per_param_example=table.flops_per_param_example,
            **asked.rows,
        )  # fmt: skip
    _say(table, asked.worded(found.summary()), found.notes)
    document = {"rows": found.table.to_dict("records"), "notes": asked.notes(found.notes)}
    table.finish(document, found.table)


@app.command("size-for")
@takes(table=Table)
def size_for(
    table: Table,
    target: Annotated[float, typer.Option(help="The value of y to reach, e.g. 0.05.")],
    x: option.X = "n_data",
    y: option.Y = None,
    form: option.FormName = "auto",
) -> None:
    """Predict the size x at which y reaches a target.

    scalinglab plan size-for curves.csv --x n_data --y test_error --target 0.05
    """
    from scalinglab.laws import plan

    if not target > 0:
        raise BadInput(f"--target {target:g} must be positive: the value of {y or 'y'} to reach")
    asked = table.ask(x, y)
    _answer(table, asked, plan.size_for(asked.frame, target, form=form, **asked.points))


@app.command("gain-from")
@takes(table=Table)
def gain_from(
    table: Table,
    x: option.X = "n_data",
    y: option.Y = None,
    form: option.FormName = "auto",
    start: Annotated[
        float | None, typer.Option("--from", help="Start from this x, e.g. 1e5. Default: the largest.")
    ] = None,
    factor: Annotated[float, typer.Option(help="Factor by which x grows, e.g. 2.")] = 2.0,
) -> None:
    """Predict the change of y when x grows by a factor.

    scalinglab plan gain-from curves.csv --x n_data --y test_error
    """
    from scalinglab.laws import plan

    asked = table.ask(x, y)
    _answer(table, asked, plan.gain_from(asked.frame, start, factor=factor, form=form, **asked.points))


@app.command("bend")
@takes(table=Table)
def bend(table: Table, x: option.X = "n_data", y: option.Y = None) -> None:
    """Test whether the curve still follows its power law.

    scalinglab plan bend curves.csv --x n_data --y test_error
    """
    import pandas as pd

    from scalinglab.laws import plan

    asked = table.ask(x, y)
    found = plan.still_power_law(asked.frame, **asked.points)
    _say(table, found.text, found.notes)
    document = {**vars(found), "notes": asked.notes(found.notes)}
    table.finish(document, pd.DataFrame([document]).drop(columns="notes"))


def _say(table: Table, text: str, notes: tuple[str, ...]) -> None:
    """A result in words, after what was done to the rows."""
    for note in notes:
        table.say(f"note: {note}")
    table.say(text)


def _unit(asked: Asked) -> str:
    """What one unit of the column of sizes is."""
    from scalinglab.curves.columns import unit_of_data

    return unit_of_data(asked.frame) if asked.x == "n_data" else f"units of {asked.x}"


def _answer(table: Table, asked: Asked, answer: Any) -> None:
    import pandas as pd

    _say(table, f"{answer.form}: {answer.text}", answer.notes)
    document = {name: value for name, value in vars(answer).items() if name != "notes"}
    table.finish({**document, "notes": asked.notes(answer.notes)}, pd.DataFrame([document]))


app.command("pool")(plan_pool.pool)
app.command("noise")(noise.plan_noise)
