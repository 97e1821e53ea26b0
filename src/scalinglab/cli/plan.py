"""``scalinglab plan``: what to expect, what is optimal, and what to run next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from scalinglab.cli import options as option
from scalinglab.cli.output import grid
from scalinglab.cli.tables import draw, finish, load, say
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    from scalinglab.laws import Law
    from scalinglab.laws.fitting.from_curves import Table
    from scalinglab.laws.surface import Surface

app = typer.Typer(help="What to expect, what is optimal, and what to run next.", no_args_is_help=True)


def _law(
    file: Any, x: str, y: str, form: str, column: Any, where: Any, reduce: str, drop_bad: bool, as_json: bool
) -> tuple[Law, list[str]]:
    """The law of one variable that a command asks for, and what was done to the rows."""
    from scalinglab.laws.fitting import fit as fitting

    table = load(file, x, y, where, reduce, column=column, as_json=as_json)
    options: dict[str, Any] = {
        "error": table.error, "runs": table.runs, "nan_policy": "drop" if drop_bad else "raise"
    }  # fmt: skip
    if form == "auto":
        form = fitting.choose(fitting.SIMPLE, table.x, table.y, **options)
    law = fitting.fit(form, table.x, table.y, **options)
    for note in law.points.notes:
        say(f"note: {note}", as_json)
    return law, [*table.notes, *law.points.notes]


def _surface(table: Table) -> Surface:
    from scalinglab.laws import surface

    n, d = table.x
    return surface.fit(n, d, table.y, runs=table.runs)


@app.command("optimal")
def optimal(
    file: option.File,
    compute: Annotated[str, typer.Option(help="FLOPs: '1e21', '1e20,1e22' or 'low:high:n'.")],
    n_params: option.Params = "n_params",
    n_data: option.Data = "n_data",
    y: option.Loss = "loss",
    drop_highest: option.DropHighest = 0,
    flops_per_param_example: option.FlopsPerParamExample = 6.0,
    column: option.Columns = None,
    where: option.Where = None,
    reduce: option.Reduce = "auto",
    drop_bad: option.DropBad = False,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """The n_params and n_data that reach the lowest loss with a compute.

    scalinglab plan optimal runs.csv --compute 1e21,1e23
    """
    points = load(
        file, [n_params, n_data], y, where, reduce, column=column,
        roles={"n_params": n_params, "n_data": n_data}, drop_highest=drop_highest,
        drop_bad=drop_bad, as_json=as_json,
    )  # fmt: skip
    fitted = _surface(points)
    best = fitted.compute_optimal(grid(compute), flops_per_param_example=flops_per_param_example)
    say(best.summary(), as_json)
    table = best.table()
    document = {"parameters": fitted.parameters, "optimal": table.to_dict("records")}
    finish({**document, "notes": list(points.notes)}, table, as_json, out)


@app.command("approaches")
def approaches(
    file: option.File,
    compute: Annotated[float, typer.Option(help="FLOPs at which to compare.")],
    n_params: option.Params = "n_params",
    n_data: option.Data = "n_data",
    y: option.Loss = "loss",
    drop_highest: option.DropHighest = 0,
    flops_per_param_example: option.FlopsPerParamExample = 6.0,
    column: option.Columns = None,
    where: option.Where = None,
    reduce: option.Reduce = "auto",
    drop_bad: option.DropBad = False,
    figure: option.Figure = None,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Envelope, isoFLOP parabolas and surface side by side, and the bias of parabolas.

    scalinglab plan approaches chinchilla.csv --compute 5.76e23 --drop-highest 5
    """
    import numpy as np
    import pandas as pd

    from scalinglab.laws import plan

    table = load(
        file, [n_params, n_data], y, where, reduce, column=column,
        roles={"n_params": n_params, "n_data": n_data}, drop_highest=drop_highest,
        drop_bad=drop_bad, as_json=as_json,
    )  # fmt: skip
    n, d = table.x
    found = plan.approaches(
        n, d, table.y, compute=compute, runs=table.runs, flops_per_param_example=flops_per_param_example
    )
    fitted = _surface(table)
    total = flops_per_param_example * n * d
    budgets = np.geomspace(np.quantile(total, 0.1), np.quantile(total, 0.9), 8)
    centred = plan.parabola_bias(fitted, budgets, flops_per_param_example=flops_per_param_example)
    drifting = plan.parabola_bias(fitted, budgets, flops_per_param_example=flops_per_param_example, drift=9.0)
    say(found.summary(), as_json)
    say("\n" + centred.summary(), as_json)
    say("\nthe same with the sizes tried drifting from 1/3 of the optimum to 3 times it", as_json)
    say(drifting.summary().split("\n", 1)[1], as_json)
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
    document: dict[str, Any] = {"approaches": rows, "parabola_bias": bias, "notes": list(table.notes)}
    if figure is not None:
        from scalinglab.figures import laws as figures

        document["figure"] = draw(
            figures.approaches(found, fitted, flops_per_param_example=flops_per_param_example),
            figure,
            file,
            "approaches",
        )
    finish(document, pd.DataFrame(rows), as_json, out)


@app.command("next")
def next_runs(
    file: option.File,
    budget: Annotated[float, typer.Option(help="FLOPs to spend.")],
    compute: Annotated[
        float | None, typer.Option(help="The compute whose best loss is to be predicted.")
    ] = None,
    at: Annotated[str | None, typer.Option(help="Or a size; for a surface 'n_params,n_data'.")] = None,
    x: Annotated[str | None, typer.Option("--x", help="One column of sizes instead of a surface.")] = None,
    n_params: option.Params = "n_params",
    n_data: option.Data = "n_data",
    y: option.Loss = "loss",
    form: option.FormName = "power_law_offset",
    cost: Annotated[float, typer.Option(help="With --x: FLOPs per unit of x.")] = 1.0,
    drop_highest: option.DropHighest = 0,
    flops_per_param_example: option.FlopsPerParamExample = 6.0,
    column: option.Columns = None,
    where: option.Where = None,
    reduce: option.Reduce = "auto",
    drop_bad: option.DropBad = False,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Which runs, within a budget, would shrink the interval of the prediction that matters most.

    scalinglab plan next chinchilla.csv --budget 1e22 --compute 5.76e23

    scalinglab plan next curves.csv --x n_data --y test_error --at 1e6 --budget 5e5
    """
    import pandas as pd

    from scalinglab.laws import plan

    target = None if at is None else grid(at)
    if x is not None:
        law, notes = _law(file, x, y, form, column, where, reduce, drop_bad, as_json)
        found = plan.next_runs(law, budget=budget, at=target, cost=lambda size: cost * size)
    else:
        points = load(
            file, [n_params, n_data], y, where, reduce, column=column,
            roles={"n_params": n_params, "n_data": n_data}, drop_highest=drop_highest,
            drop_bad=drop_bad, as_json=as_json,
        )  # fmt: skip
        fitted, notes = _surface(points), list(points.notes)
        found = plan.next_runs(
            fitted, budget=budget, at=target, compute=compute, flops_per_param_example=flops_per_param_example
        )
    say(found.summary(), as_json)
    table = pd.DataFrame(found.runs, columns=list(found.variables)).assign(
        seeds=found.seeds, flops=found.cost, half_width=found.after
    )
    document = {"prediction": found.prediction, "half_width": found.before, "budget": budget}
    finish({**document, "runs": table.to_dict("records"), "notes": notes}, table, as_json, out)


@app.command("sensitivity")
def sensitivity(
    file: option.File,
    compute: Annotated[float, typer.Option(help="FLOPs at which the optimum is compared.")],
    n_params: Annotated[
        str, typer.Option("--n-params", help="Column of parameters; others after commas.")
    ] = "n_params",
    n_data: option.Data = "n_data",
    y: option.Loss = "loss",
    flop_counts: Annotated[str | None, typer.Option(help="Columns of FLOPs counted in other ways.")] = None,
    drop_highest: option.DropHighest = 0,
    flops_per_param_example: option.FlopsPerParamExample = 6.0,
    column: option.Columns = None,
    where: option.Where = None,
    reduce: option.Reduce = "auto",
    drop_bad: option.DropBad = False,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """The same data under other choices: N, FLOPs, loss, weights, dropped points.

    scalinglab plan sensitivity chinchilla.csv --compute 5.76e23 --drop-highest 5
    """
    from scalinglab.laws import plan

    sizes = n_params.split(",")
    counted = flop_counts.split(",") if flop_counts else []
    names = [*sizes, n_data, *counted]
    table = load(
        file,
        names,
        y,
        where,
        reduce,
        column=column,
        roles={"n_data": n_data},
        drop_highest=drop_highest,
        drop_bad=drop_bad,
        as_json=as_json,
    )
    columns = dict(zip(names, table.x, strict=True))
    found = plan.sensitivity(
        {name: columns[name] for name in sizes}, columns[n_data], table.y, compute=compute,
        runs=table.runs, flops_per_param_example=flops_per_param_example,
        flop_counts={name: columns[name] for name in counted},
    )  # fmt: skip
    say(found.summary(), as_json)
    document = {"rows": found.table.to_dict("records"), "notes": list(table.notes)}
    finish(document, found.table, as_json, out)


@app.command("size-for")
def size_for(
    file: option.File,
    target: Annotated[float, typer.Option(help="The value of y that is wanted.")],
    x: option.X = "n_data",
    y: option.Y = "test_error",
    form: option.FormName = "auto",
    column: option.Columns = None,
    where: option.Where = None,
    reduce: option.Reduce = "auto",
    drop_bad: option.DropBad = False,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """How much data for an error?

    scalinglab plan size-for curves.csv --x n_data --y test_error --target 0.05
    """
    from scalinglab.laws import plan

    if not target > 0:
        raise BadInput(f"--target {target:g} must be positive: the value of {y} that is wanted")
    law, notes = _law(file, x, y, form, column, where, reduce, drop_bad, as_json)
    _answer(law, plan.size_for(law, target), notes, as_json, out)


@app.command("gain-from")
def gain_from(
    file: option.File,
    x: option.X = "n_data",
    y: option.Y = "test_error",
    form: option.FormName = "auto",
    start: Annotated[
        float | None, typer.Option("--from", help="From this x; by default the largest.")
    ] = None,
    factor: Annotated[float, typer.Option(help="How many times as much.")] = 2.0,
    column: option.Columns = None,
    where: option.Where = None,
    reduce: option.Reduce = "auto",
    drop_bad: option.DropBad = False,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """What does twice as much buy?

    scalinglab plan gain-from curves.csv --x n_data --y test_error
    """
    from scalinglab.laws import plan

    law, notes = _law(file, x, y, form, column, where, reduce, drop_bad, as_json)
    _answer(law, plan.gain_from(law, start, factor=factor), notes, as_json, out)


@app.command("bend")
def bend(
    file: option.File,
    x: option.X = "n_data",
    y: option.Y = "test_error",
    column: option.Columns = None,
    where: option.Where = None,
    reduce: option.Reduce = "auto",
    drop_bad: option.DropBad = False,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Is the curve still in its power law?

    scalinglab plan bend curves.csv --x n_data --y test_error
    """
    import pandas as pd

    from scalinglab.laws import plan

    table = load(file, x, y, where, reduce, column=column, as_json=as_json)
    found = plan.still_power_law(table.x, table.y, nan_policy="drop" if drop_bad else "raise")
    for note in found.notes:
        say(f"note: {note}", as_json)
    say(found.text, as_json)
    document = {**vars(found), "notes": [*table.notes, *found.notes]}
    finish(document, pd.DataFrame([document]).drop(columns="notes"), as_json, out)


def _answer(law: Law, answer: Any, notes: list[str], as_json: bool, out: Any) -> None:
    import pandas as pd

    say(f"{law.form.name}: {answer.text}", as_json)
    document = {"form": law.form.name, **vars(answer)}
    finish({**document, "notes": notes}, pd.DataFrame([document]), as_json, out)
