"""``scalinglab laws``: fit laws to curves that were measured anywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from scalinglab.cli import laws_curves
from scalinglab.cli import options as option
from scalinglab.cli.output import grid
from scalinglab.cli.tables import beliefs, draw, finish, limits, load, pairing, read_curves, say
from scalinglab.errors import BadInput

TIE = "PARAMETER=OTHER, as in --tie beta=alpha"

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
    prior: option.Priors = None,
    tie: option.Tie = None,
    error: Annotated[str | None, typer.Option(help="The column of y's standard error.")] = None,
    column: option.Columns = None,
    where: option.Where = None,
    reduce: option.Reduce = "auto",
    drop_bad: option.DropBad = False,
    mixed: option.Mixed = False,
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
    import pandas as pd

    from scalinglab.laws.fitting import fit as fitting
    from scalinglab.laws.fitting import rising
    from scalinglab.laws.fitting.points import positive

    if not 0 < level < 1:
        raise BadInput(f"--level {level:g} must lie between 0 and 1, as in 0.95")
    sizes = None if at is None else grid(at)
    positive(at=sizes if sizes is not None else 1)
    table = load(file, x, y, where, reduce, column=column, error=error, mixed=mixed, as_json=as_json)
    options: dict[str, Any] = {
        "error": table.error, "runs": table.runs, "loss": loss, "space": space,
        "bounds": limits(bounds), "priors": beliefs(prior), "tie": pairing("--tie", tie, TIE),
        "nan_policy": "drop" if drop_bad else "raise",
    }  # fmt: skip
    if form == "auto" and rising.is_complement(table.x, table.y):
        say(f"note: {rising.NOTE}", as_json)
        table, y = replace(table, y=1 - table.y, notes=(*table.notes, rising.NOTE)), f"1 - {y}"
    names = [fitting.automatic(table.x, options["bounds"])] if form == "auto" else form.split(",")
    laws = [fitting.fit(name.strip(), table.x, table.y, **options) for name in names]
    if form == "auto":
        say(_why_form(names[0], table, options), as_json)
    # with nothing else asked for, the prediction is that of `laws extrapolate`: one question, one answer
    plain = form == "auto" and not bounds and (space, loss) == ("log", "huber") and table.error is None
    rows = []
    for law in laws:
        say(law.summary(), as_json)
        if sizes is not None:
            found = (
                continued(table, sizes, level, options["nan_policy"])
                if plain
                else {"value": law.predict(sizes), **law.interval(sizes, level)._asdict()}
            )
            frame = pd.DataFrame({x: sizes, **found, "beyond": sizes / law.points.x.max()})
            for row in frame.itertuples(index=False):
                far = f"   {row.beyond:.3g} times the largest size" if row.beyond > 1 else ""
                at_size = f"  at {x} = {row[0]:<10.4g} {row.value:.4g}"
                say(f"{at_size}   {level:.0%} [{row.low:.4g}, {row.high:.4g}]{far}", as_json)
            frame.insert(0, "form", law.form.name)
            rows.append(frame.rename(columns={"value": y}))
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


def continued(table: Any, at: Any, level: float, nan_policy: str) -> dict[str, Any]:
    """What `laws extrapolate` says there: the prediction of one more run, with its interval."""
    import scalinglab as sl

    found = sl.laws.extrapolate(table.x, table.y, at=at, level=level, nan_policy=nan_policy)
    return {"value": found.mean, "low": found.low, "high": found.high}


def _why_form(name: str, table: Any, options: dict[str, Any]) -> str:
    """What "auto" stands for, and what the other form would have said."""
    from scalinglab.errors import ScalinglabError
    from scalinglab.laws.fitting import fit as fitting

    if name != fitting.AUTO:
        return (
            f"form: {name}; three sizes or fewer do not show whether the curve flattens, which it assumes not"
        )
    try:
        pure = fitting.fit("power_law", table.x, table.y, **{**options, "bounds": None})
    except ScalinglabError:
        return f"form: {name}"
    low, high = pure.parameter_intervals["exponent"]
    return (
        f"form: {name}, which contains power_law (offset = 0); without an offset the exponent would be "
        f"{pure.best_exponent:.3f} [{low:.3f}, {high:.3f}] at {100 * pure.residual_std:.2g} % scatter"
    )


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
        str, typer.Option(help="A form of several variables ('laws forms' lists them), or module:form.")
    ] = "chinchilla",
    variable: option.Variables = None,
    third: Annotated[
        str | None, typer.Option(help="The column of the third variable; the same as --var.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Huber's threshold on ln loss; inf for least squares. Default: 1e-3 from 10 runs a "
            "parameter on, else from the scatter."
        ),
    ] = None,
    space: Annotated[str, typer.Option(help="Residuals of log or raw values.")] = "log",
    bounds: option.Bounds = None,
    prior: option.Priors = None,
    tie: option.Tie = None,
    drop_highest: option.DropHighest = 0,
    compute: Annotated[str | None, typer.Option(help="FLOPs at which the best use is wanted.")] = None,
    column: option.Columns = None,
    where: option.Where = None,
    reduce: option.Reduce = "auto",
    drop_bad: option.DropBad = False,
    mixed: option.Mixed = False,
    figure: option.Figure = None,
    no_figure: option.NoFigure = False,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Fit the loss as a surface over parameters and data, or over whatever variables the form has.

    scalinglab laws surface chinchilla.csv --drop-highest 5 --compute 5.76e23

    scalinglab laws surface moe.csv --form routed_experts --var n_experts=E

    scalinglab laws surface runs.csv --tie beta=alpha --prior alpha=0.35:0.1
    """
    import pandas as pd

    from scalinglab.laws import forms
    from scalinglab.laws import surface as surfaces
    from scalinglab.laws.fitting.points import positive

    budgets = None if compute is None else grid(compute)
    positive(compute=budgets if budgets is not None else 1)
    chosen = forms.get(form)
    asked = pairing("--var", variable, "VARIABLE=COLUMN, as in --var n_experts=E")
    if wrong := [n for n in asked if n not in chosen.variables]:
        raise BadInput(f"--var {wrong[0]}: {chosen.name} has {', '.join(chosen.variables)}")
    usual = {"n_params": n_params, "n_data": n_data, **({chosen.variables[2]: third} if third else {})}
    columns = [asked.get(v, usual.get(v, v)) for v in chosen.variables]
    roles = {
        role: c for role, c in zip(chosen.variables, columns, strict=True) if role in ("n_params", "n_data")
    }
    table = load(
        file, columns, y, where, reduce, column=column, roles=roles, drop_highest=drop_highest, mixed=mixed,
        as_json=as_json,
    )  # fmt: skip
    fitted = surfaces.fit(
        loss=table.y, variables=dict(zip(chosen.variables, table.x, strict=True)), form=chosen,
        delta="auto" if delta is None else delta, space=space, runs=table.runs, bounds=limits(bounds),
        priors=beliefs(prior), tie=pairing("--tie", tie, TIE), nan_policy="drop" if drop_bad else "raise",
    )  # fmt: skip
    say(fitted.summary(), as_json)
    document: dict[str, Any] = {
        "form": fitted.law.form.name, "parameters": fitted.parameters, "errors": fitted.errors,
        "intervals": fitted.parameter_intervals(), "objective": fitted.objective,
        "certificate": vars(fitted.certificate), "points": len(fitted.law.points.y),
        "not_determined": list(fitted.undetermined), "interval_method": fitted.method,
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
    if not no_figure and fitted.law.form.variables == ("n_params", "n_data"):
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
