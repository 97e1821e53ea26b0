"""``scalinglab laws extrapolate``, ``collapse`` and ``dynamical``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from scalinglab.cli.laws import Drop, Figure, File, Reduce, Where, X, Y, conditions, draw, finish, load, say
from scalinglab.cli.output import Json, Out, grid

Along = Annotated[str, typer.Option("--x", help="What grows during training: a norm, or a step.")]
Size = Annotated[str, typer.Option("--size", help="The column that tells the curves apart.")]
NoFigure = Annotated[bool, typer.Option("--no-figure", help="Do not draw.")]


def extrapolate(
    file: File,
    at: Annotated[str, typer.Option(help="Where: '1e6' or '1e5,1e6' or 'low:high:n'.")],
    x: X = "n_data",
    y: Y = "test_error",
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    where: Where = None,
    reduce: Reduce = "auto",
    drop_bad: Drop = False,
    figure: Figure = None,
    no_figure: NoFigure = False,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Continue a curve by several forms, judged by backtests on its own points.

    scalinglab laws extrapolate curves.csv --x n_data --y test_error --at 1e6
    """
    import pandas as pd

    import scalinglab as sl

    table = load(file, x, y, where, reduce)
    for note in table.notes:
        say(f"note: {note}", as_json)
    missing = "drop" if drop_bad else "raise"
    found = sl.laws.extrapolate(table.x, table.y, at=grid(at), level=level, missing=missing)
    say(found.summary(), as_json)
    rows = pd.DataFrame(
        {x: found.at, y: found.mean, "low": found.low, "high": found.high, "trust": found.trust}
    )
    document: dict[str, Any] = {
        "predictions": rows.to_dict("records"),
        "weights": found.weights,
        "backtest_error": found.backtest_error,
        "level": level,
        "notes": list(table.notes),
    }
    if not no_figure:
        from scalinglab.figures import collapse as figures

        drawn = figures.extrapolation(found, table.x, table.y, x_label=x, y_label=y)
        document["figure"] = draw(drawn, figure, file, "extrapolation")
    finish(document, rows, as_json, out)


def collapse(
    file: File,
    x: Along = "norm",
    y: Y = "test_error",
    size: Size = "n_data",
    by: Annotated[str, typer.Option(help="Scales from: optimum, position or exponents.")] = "optimum",
    tolerance: Annotated[float, typer.Option(help="Relative deviation that still counts.")] = 0.1,
    where: Where = None,
    figure: Figure = None,
    no_figure: NoFigure = False,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Rescale curves of several sizes onto one master curve, and say for which sizes it holds.

    scalinglab laws collapse runs/ --x norm --y test_error --by exponents
    """
    import pandas as pd

    import scalinglab as sl
    from scalinglab.laws.tables import read_table, select

    found = sl.laws.collapse(select(read_table(file), conditions(where)), x, y, size, by, tolerance)
    say(found.summary(), as_json)
    master = pd.DataFrame({"x": found.x, "y": found.y, "spread": found.spread})
    document: dict[str, Any] = {
        "holds_from": found.holds_from,
        "outliers": list(found.outliers),
        "quality": found.quality,
        "x_exponent": asdict(found.x_exponent),
        "y_exponent": asdict(found.y_exponent),
        "sizes": found.sizes,
        "x_scale": found.x_scale,
        "y_scale": found.y_scale,
        "deviation": found.deviation,
        "holds": found.holds,
        "master": master.to_dict("list"),
    }
    if not no_figure:
        from scalinglab.figures import collapse as figures

        document["figure"] = draw(figures.collapse(found, x, y, size), figure, file, "collapse")
    finish(document, master, as_json, out)


def dynamical(
    file: File,
    x: Along = "norm",
    y: Y = "test_error",
    size: Size = "n_data",
    where: Where = None,
    figure: Figure = None,
    no_figure: NoFigure = False,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Read the dynamical scaling laws off curves of error against norm at several sizes.

    scalinglab laws dynamical curves.csv --x norm --y test_error --size n_data
    """
    import scalinglab as sl
    from scalinglab.laws.tables import read_table, select

    curves = select(read_table(file), conditions(where))
    found = sl.laws.dynamical(curves, x, y, size)
    say(found.summary(), as_json)
    names = ("gamma_1", "gamma_2", "gamma_2_optimum", "gamma_predicted", "gamma_measured")
    document: dict[str, Any] = {name: asdict(getattr(found, name)) for name in names}
    document |= {"sigma": found.sigma, "agrees": found.agrees, "collapse_from": found.collapse_from}
    document["sizes"] = found.table.to_dict("records")
    if not no_figure:
        from scalinglab.figures import collapse as figures
        from scalinglab.laws.sizes import size_curves

        drawn = figures.dynamical(found, size_curves(curves, x, y, size), x, y, size)
        document["figure"] = draw(drawn, figure, file, "dynamical")
    finish(document, found.table, as_json, out)


def register(app: typer.Typer) -> None:
    """Add these commands to a group."""
    for command in (extrapolate, collapse, dynamical):
        app.command(command.__name__)(command)
