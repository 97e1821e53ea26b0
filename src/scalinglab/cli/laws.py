"""``scalinglab laws``: fit laws to curves that were measured anywhere."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from scalinglab.cli import laws_curves
from scalinglab.cli import options as option
from scalinglab.cli.output import grid
from scalinglab.cli.tables import draw, finish, limits, load, read_curves, say
from scalinglab.errors import BadInput

app = typer.Typer(help="Fit laws to curves that were measured anywhere.", no_args_is_help=True)


@app.command("fit")
def fit(
    file: option.File,
    x: option.X = "n_data",
    y: option.Y = "test_error",
    form: Annotated[
        str, typer.Option(help="A form, several with commas, or auto; 'laws forms' lists them.")
    ] = "auto",
    at: Annotated[
        str | None, typer.Option(help="Also predict here: '1e6' or '1e5,1e6' or 'low:high:n'.")
    ] = None,
    level: Annotated[float, typer.Option(help="Of the intervals of --at and of the figure.")] = 0.95,
    loss: Annotated[str, typer.Option(help="huber or squared.")] = "huber",
    space: Annotated[str, typer.Option(help="Residuals of log or raw values.")] = "log",
    bounds: option.Bounds = None,
    error: Annotated[str | None, typer.Option(help="The column of y's standard error.")] = None,
    column: option.Columns = None,
    where: option.Where = None,
    reduce: option.Reduce = "auto",
    drop_bad: option.DropBad = False,
    figure: option.Figure = None,
    no_figure: option.NoFigure = False,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Fit a law, say how sure it is, and draw it.

    scalinglab laws fit curves.csv --x n_data --y test_error

    scalinglab laws fit runs/ --form power_law_offset,broken_power_law --at 1e6

    scalinglab laws fit runs/ --form power_law_offset --bounds offset=0:0.02 --bounds exponent=0.5:0.5
    """
    import numpy as np
    import pandas as pd

    from scalinglab.laws.fitting import fit as fitting
    from scalinglab.laws.fitting.points import positive

    if not 0 < level < 1:
        raise BadInput(f"--level {level:g} must lie between 0 and 1, as in 0.95")
    sizes = None if at is None else grid(at)
    positive(at=sizes if sizes is not None else 1)
    table = load(file, x, y, where, reduce, column=column, error=error, as_json=as_json)
    options: dict[str, Any] = {
        "error": table.error, "runs": table.runs, "loss": loss, "space": space,
        "bounds": limits(bounds), "nan_policy": "drop" if drop_bad else "raise",
    }  # fmt: skip
    names = form.split(",")
    if form == "auto":
        scores = fitting.scores(fitting.SIMPLE, table.x, table.y, **options)
        names = [fitting.best(scores)]
    laws = [fitting.fit(name.strip(), table.x, table.y, **options) for name in names]
    if form == "auto":
        both = " and ".join(fitting.SIMPLE)
        why = f"the better of {both} by AICc"
        if np.isfinite(list(scores.values())).sum() < 2:
            why = f"the only one of {both} that these points and bounds can judge"
        say(f"form: {names[0]}, {why}", as_json)
    rows = []
    for law in laws:
        say(law.summary(), as_json)
        if sizes is not None:
            low, high = law.interval(sizes, level)
            for size, value, first, last in zip(sizes, law.predict(sizes), low, high, strict=True):
                say(f"  at {x} = {size:<10.4g} {value:.4g}   {level:.0%} [{first:.4g}, {last:.4g}]", as_json)
            columns = {"form": law.form.name, x: sizes, y: law.predict(sizes), "low": low, "high": high}
            rows.append(pd.DataFrame(columns))
    document: dict[str, Any] = {"laws": [law.to_dict() for law in laws], "notes": list(table.notes)}
    if not no_figure:
        from scalinglab.figures import laws as figures

        drawn = figures.law(laws[0], x=x, y=y, level=level)
        document["figure"] = draw(drawn, figure, file, "law")
    document["predictions"] = pd.concat(rows).to_dict("records") if rows else []
    parameters = [
        {"form": law.form.name, "parameter": n, "value": v, "low": ends[n].low, "high": ends[n].high}
        for law in laws
        for n, v in law.parameters.items()
        if n in (ends := law.parameter_intervals)
    ]
    finish(document, pd.concat(rows) if rows else pd.DataFrame(parameters), as_json, out)


@app.command("forms")
def list_forms(as_json: option.Json = False, out: option.Out = None) -> None:
    """List the forms that can be fitted.

    scalinglab laws forms
    """
    import pandas as pd

    from scalinglab.laws import forms

    rows = [
        {"form": name, "variables": ", ".join(f.variables), "equation": f.equation, "from": f.doc}
        for name, f in forms.FORMS.items()
    ]
    for row in rows:
        of = "" if row["variables"] == "x" else f"of {row['variables']}; "
        say(f"{row['form']:<19} {row['equation']}\n{'':<19} {of}{row['from']}", as_json)
    finish({"forms": rows}, pd.DataFrame(rows), as_json, out)


@app.command("surface")
def surface(
    file: option.File,
    n_params: option.Params = "n_params",
    n_data: option.Data = "n_data",
    y: option.Y = "loss",
    form: Annotated[
        str, typer.Option(help="chinchilla, rosenfeld, kaplan, with_time, data_constrained.")
    ] = "chinchilla",
    third: Annotated[
        str | None, typer.Option(help="The column of the third variable, where the form has one.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Huber's threshold on ln loss; inf for least squares.")] = 1e-3,
    bounds: option.Bounds = None,
    drop_highest: option.DropHighest = 0,
    compute: Annotated[str | None, typer.Option(help="FLOPs at which the best use is wanted.")] = None,
    column: option.Columns = None,
    where: option.Where = None,
    reduce: option.Reduce = "auto",
    drop_bad: option.DropBad = False,
    figure: option.Figure = None,
    no_figure: option.NoFigure = False,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Fit the loss as a surface over parameters and data.

    scalinglab laws surface chinchilla.csv --drop-highest 5 --compute 5.76e23
    """
    import pandas as pd

    from scalinglab.laws import surface as surfaces
    from scalinglab.laws.fitting.points import positive

    budgets = None if compute is None else grid(compute)
    positive(compute=budgets if budgets is not None else 1)
    columns = [n_params, n_data, *([third] if third else [])]
    table = load(
        file,
        columns,
        y,
        where,
        reduce,
        column=column,
        roles={"n_params": n_params, "n_data": n_data},
        drop_highest=drop_highest,
        as_json=as_json,
    )
    n, d, *rest = table.x
    extra = {"time": rest[0], "n_unique": rest[0]} if rest else {}
    fitted = surfaces.fit(
        n, d, table.y, form=form, delta=delta, runs=table.runs, bounds=limits(bounds),
        nan_policy="drop" if drop_bad else "raise", **extra,
    )  # fmt: skip
    say(fitted.summary(), as_json)
    document: dict[str, Any] = {
        "form": fitted.law.form.name, "parameters": fitted.parameters, "errors": fitted.errors,
        "intervals": fitted.bootstrap.parameter_intervals(), "objective": fitted.objective,
        "certificate": vars(fitted.certificate), "points": len(fitted.law.points.y),
        "notes": [*table.notes, *fitted.law.points.notes],
    }  # fmt: skip
    ends = document["intervals"]
    best = pd.DataFrame([
        {"parameter": n, "value": v, "low": ends[n].low, "high": ends[n].high}
        for n, v in fitted.parameters.items()
        if n in ends
    ])  # fmt: skip
    if budgets is not None:
        optimal = fitted.compute_optimal(budgets)
        say("\n" + optimal.summary(), as_json)
        best = optimal.table()
        document["compute_optimal"] = best.to_dict("records")
    if not no_figure and len(fitted.law.form.variables) == 2:
        from scalinglab.figures import laws as figures

        document["figure"] = draw(figures.surface(fitted, compute=budgets), figure, file, "surface")
    finish(document, best, as_json, out)


@app.command("noise")
def noise(
    file: option.File,
    x: option.X = "normalized_noise_scale",
    y: Annotated[str | None, typer.Option("--y", help="test_accuracy, test_error or a loss.")] = None,
    width: Annotated[str, typer.Option(help="The column of the width.")] = "width",
    column: option.Columns = None,
    where: option.Where = None,
    figure: option.Figure = None,
    no_figure: option.NoFigure = False,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Find the optimal SGD noise of every width and its slope.

    scalinglab laws noise runs/ --x normalized_noise_scale --y test_accuracy
    """
    import pandas as pd

    import scalinglab as sl

    found = sl.laws.optimal_noise(
        read_curves(file, where, column, settings=(x, width), as_json=as_json), x=x, y=y, width=width
    )
    say(found.summary(), as_json)
    columns = {
        n: getattr(found, n) for n in ("width", "noise", "low", "high", "accuracy", "stderr", "failed")
    }
    document: dict[str, Any] = {**columns, "slope": found.slope, "slope_error": found.slope_error}
    document["r_squared"] = found.r_squared
    if not no_figure:
        from scalinglab.figures import laws as figures

        document["figure"] = draw(figures.noise(found, y=x), figure, file, "noise")
    finish(document, pd.DataFrame(columns), as_json, out)


app.command("extrapolate")(laws_curves.extrapolate)
app.command("collapse")(laws_curves.collapse)
app.command("dynamical")(laws_curves.dynamical)
