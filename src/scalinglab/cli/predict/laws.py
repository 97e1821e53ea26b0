"""``scalinglab laws``: fit laws to curves that were measured anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from scalinglab.cli.predict import laws_curves, laws_downstream, laws_recipes, noise
from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.option_sets import Drawing, Table, takes
from scalinglab.cli.shared.option_sets import Surface as SurfaceTable
from scalinglab.cli.shared.output import grid
from scalinglab.cli.shared.tables import Asked, beliefs, determined, finish, limits, pairing, say
from scalinglab.errors import BadInput
from scalinglab.support.words import percent

if TYPE_CHECKING:
    import pandas as pd

    from scalinglab.laws import Law

TIE = "PARAMETER=OTHER, as in --tie beta=alpha"

app = typer.Typer(help="Fit scaling laws to learning curves.", no_args_is_help=True)


@app.command("fit")
@takes(table=Table, drawing=Drawing)
def fit(
    table: Table,
    drawing: Drawing,
    x: option.X = "n_data",
    y: option.Y = None,
    form: Annotated[
        str,
        typer.Option(help="The form, e.g. power_law; several with commas, or auto; 'laws forms' lists all."),
    ] = "auto",
    at: Annotated[
        str | None, typer.Option(help="Also predict at these x: '1e6', '1e5,1e6' or 'low:high:n'.")
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals, e.g. 0.95.")] = 0.95,
    loss: Annotated[str, typer.Option(help="Loss on the residuals: huber or squared.")] = "huber",
    space: Annotated[str, typer.Option(help="Take residuals of 'log' or 'raw' values.")] = "log",
    bounds: option.Bounds = None,
    prior: option.Priors = None,
    tie: option.Tie = None,
    error: Annotated[
        str | None, typer.Option(help="The column with the standard error of y, e.g. test_error_stderr.")
    ] = None,
) -> None:
    """Fit a law, print its intervals and draw it.

    scalinglab laws fit curves.csv --x n_data --y test_error

    scalinglab laws fit runs/ --form power_law_offset,broken_power_law --at 1e6

    scalinglab laws fit runs/ --form power_law_offset --bounds offset=0:0.02 --bounds exponent=0.5:0.5
    """
    import pandas as pd

    import scalinglab as sl
    from scalinglab.laws.fitting.data import rising
    from scalinglab.laws.fitting.data.points import positive

    if not 0 < level < 1:
        raise BadInput(f"--level {level:g} must lie between 0 and 1, as in 0.95")
    sizes = None if at is None else grid(at)
    positive(at=sizes if sizes is not None else 1)
    asked = table.ask(x, y, error=error)
    y = asked.y
    options: dict[str, Any] = {
        "loss": loss, "space": space, "bounds": limits(bounds), "priors": beliefs(prior),
        "tie": pairing("--tie", tie, TIE), **asked.points,
    }  # fmt: skip
    laws = [sl.laws.fit(name.strip(), asked.frame, **options) for name in form.split(",")]
    for law in laws:
        rising.refuse_beyond_one(law.form.name, law.points, x, str(y))
    # with nothing else asked for, the prediction is that of `laws extrapolate`: one question, one answer
    unweighted = laws[0].points.error is None
    plain = (
        form == "auto" and not (bounds or prior or tie) and (space, loss) == ("log", "huber") and unweighted
    )
    # "auto" fits 1 - y of an accuracy, other forms y as it is; the predictions are of y
    complements = [rising.NOTE in law.points.notes for law in laws]
    rows = []
    for law, complement in zip(laws, complements, strict=True):
        table.say(law.summary())
        if sizes is not None:
            frame = _predicted(law, asked if plain else None, x, sizes, level, complement)
            _say_predicted(table, frame, x, str(y), level, "" if plain else ", if this form holds")
            frame.insert(0, "form", law.form.name)
            rows.append(frame.rename(columns={"value": y}))
    predicted = pd.concat(rows) if rows else None
    document: dict[str, Any] = {
        "laws": [law.to_dict() for law in laws], "notes": asked.notes(laws[0].points.notes),
        **drawing.draw(lambda: _figure(laws, complements, rows, x, str(y), level), table.file, "law"),
        "predictions": [] if predicted is None else predicted.to_dict("records"),
    }  # fmt: skip
    table.finish(document, _parameters(laws) if predicted is None else predicted)


def _say_predicted(table: Table, frame: pd.DataFrame, x: str, y: str, level: float, assumed: str) -> None:
    for row in frame.itertuples(index=False):
        far = f"   {row.beyond:.3g} times the largest size" if row.beyond > 1 else ""
        at_size = f"  at {x} = {row[0]:<10.4g} {y} {row.value:.4g}"
        table.say(f"{at_size}   {percent(level)} [{row.low:.4g}, {row.high:.4g}]{far}{assumed}")


def _figure(
    laws: list[Law], complements: list[bool], rows: list[pd.DataFrame], x: str, y: str, level: float
) -> Any:
    """Laws over their points, with the predictions; those of a law of 1 - y as the law is."""
    from scalinglab.figures import laws as figures

    predicted = []
    for frame, complement in zip(rows, complements, strict=False):  # no rows without --at
        at, value, low, high = frame[[x, y, "low", "high"]].to_numpy().T
        drawn = (1 - value, 1 - high, 1 - low) if complement else (value, low, high)
        predicted.append(figures.Predicted(at, *drawn))
    label = f"1 - {y}" if all(complements) else f"{y}, or 1 - {y}" if any(complements) else y
    return figures.law(*laws, x=x, y=label, level=level, predicted=predicted)


def _parameters(laws: list[Law]) -> pd.DataFrame:
    """The parameters of every law that have an interval."""
    import pandas as pd

    return pd.DataFrame([
        {"form": law.form.name, "parameter": n, "value": v, "low": ends[n].low, "high": ends[n].high}
        for law in laws
        for n, v in law.stated.items()
        if n in (ends := law.parameter_intervals)
    ])  # fmt: skip


def _predicted(
    law: Any, asked: Asked | None, x: str, sizes: Any, level: float, complement: bool
) -> pd.DataFrame:
    """The prediction of y at some sizes: of `laws extrapolate` for the table asked, else of the law.

    Args:
        complement: whether the law is of 1 - y.
    """
    import pandas as pd

    import scalinglab as sl

    if asked is None:
        low, high = law.interval(sizes, level)
        values = law.predict(sizes)
        if complement:
            values, low, high = 1 - values, 1 - high, 1 - low
    else:
        found = sl.laws.extrapolate(asked.frame, at=sizes, level=level, **asked.points)
        values, low, high = found.mean, found.low, found.high
    beyond = sizes / law.points.x.max()
    return pd.DataFrame({x: sizes, "value": values, "low": low, "high": high, "beyond": beyond})


@app.command("forms")
def list_forms(as_json: option.Json = False, out: option.Out = None) -> None:
    """List the forms that can be fitted.

    scalinglab laws forms
    """
    import pandas as pd

    from scalinglab.laws import forms

    rows = [
        {"form": name, "variables": ", ".join(f.variables), "equation": f.equation, "from": f.doc}
        for name, f in sorted(forms.FORMS.items(), key=lambda item: len(item[1].variables) > 1)
    ]
    wide = max(len(row["form"]) for row in rows)
    for row in rows:
        of = "" if row["variables"] == "x" else f"of {row['variables']}; "
        say(f"{row['form']:<{wide}} {row['equation']}\n{'':<{wide}} {of}{row['from']}", as_json)
    finish({"forms": rows}, pd.DataFrame(rows), as_json, out)


@app.command("surface")
@takes(table=SurfaceTable, drawing=Drawing)
def surface(
    table: SurfaceTable,
    drawing: Drawing,
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
    space: Annotated[str, typer.Option(help="Take residuals of 'log' or 'raw' values.")] = "log",
    bounds: option.Bounds = None,
    prior: option.Priors = None,
    tie: option.Tie = None,
    compute: Annotated[
        str | None,
        typer.Option(help="Compute in FLOPs at which to find the best n_params and n_data, e.g. 5.76e23."),
    ] = None,
) -> None:
    """Fit the loss as a surface over parameters and data, or over the variables of another form.

    scalinglab laws surface chinchilla.csv --drop-highest 5 --compute 5.76e23

    scalinglab laws surface moe.csv --form routed_experts --var n_experts=E

    scalinglab laws surface runs.csv --tie beta=alpha --prior alpha=0.35:0.1
    """

    from scalinglab.laws import forms
    from scalinglab.laws import surface as surfaces
    from scalinglab.laws.fitting.data.points import positive
    from scalinglab.laws.fitting.fit import odd_run

    budgets = None if compute is None else grid(compute)
    positive(compute=budgets if budgets is not None else 1)
    chosen = forms.get(form)
    columns = table.columns_of(chosen, variable, {chosen.variables[2]: third} if third else {})
    asked = table.ask_surface(columns)
    with asked.in_words():
        fitted = surfaces.fit(
            asked.frame, form=chosen, delta="auto" if delta is None else delta, space=space,
            bounds=limits(bounds), priors=beliefs(prior), tie=pairing("--tie", tie, TIE), **asked.points,
        )  # fmt: skip
    table.say(asked.worded(fitted.summary()))
    document: dict[str, Any] = {
        "form": fitted.law.form.name, "parameters": determined(fitted), "errors": fitted.errors,
        "intervals": fitted.parameter_intervals(), "objective": fitted.objective,
        "certificate": vars(fitted.certificate), "points": len(fitted.law.points.y),
        "not_determined": list(fitted.undetermined), "interval_method": fitted.method,
        "notes": asked.notes(fitted.law.points.notes),
    }  # fmt: skip
    best = fitted.notebook_table()
    if budgets is not None:
        with asked.in_words():
            odd_run(fitted.law, asked.y, **columns)  # as answer refuses it
            optimal = fitted.compute_optimal(budgets, flops_per_param_example=table.flops_per_param_example)
        table.say("\n" + asked.worded(optimal.summary(caution=False)))
        best = optimal.table()
        document["compute_optimal"] = best.to_dict("records")

    def figure() -> Any:
        from scalinglab.figures import laws as figures

        if fitted.law.form.variables != ("n_params", "n_data"):
            return figures.sections(fitted, loss=asked.y)
        return figures.surface(
            fitted, compute=budgets, flops_per_param_example=table.flops_per_param_example, loss=asked.y
        )

    document |= drawing.draw(figure, table.file, "surface")
    table.finish(document, best)


app.command("extrapolate")(laws_curves.extrapolate)
app.command("collapse")(laws_curves.collapse)
app.command("dynamical")(laws_curves.dynamical)
app.command("downstream")(laws_downstream.downstream)
app.command("speedup")(laws_recipes.speedup)
app.command("schedule")(laws_recipes.schedule)
app.command("noise")(noise.laws_noise)
