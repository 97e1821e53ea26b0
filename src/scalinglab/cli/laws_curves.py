"""``scalinglab laws extrapolate | collapse | dynamical``: laws of whole curves."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from scalinglab.cli.output import Json, Out, grid, plain
from scalinglab.cli.tables import (
    Drop,
    Figure,
    File,
    NoFigure,
    Reduce,
    Where,
    X,
    Y,
    conditions,
    draw,
    finish,
    load,
    say,
)

Along = Annotated[str, typer.Option("--x", help="The column that grows during training, a norm.")]
Size = Annotated[str, typer.Option("--size", help="The column that tells the curves apart.")]


def extrapolate(
    file: File,
    at: Annotated[str, typer.Option(help="Where to predict: '1e6', '1e5,1e6' or 'low:high:n'.")],
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
    """Continue a curve: several forms, judged by backtests on its own points, averaged.

    scalinglab laws extrapolate curves.csv --x n_data --y test_error --at 1e5,1e6
    """
    import pandas as pd

    import scalinglab as sl

    table = load(file, x, y, where, reduce)
    missing = "drop" if drop_bad else "raise"
    found = sl.laws.extrapolate(table.x, table.y, at=grid(at), level=level, missing=missing)
    for note in table.notes:
        say(f"note: {note}", as_json)
    say(found.summary(), as_json)
    columns = {x: found.at, y: found.mean, "low": found.low, "high": found.high}
    document: dict[str, Any] = {**columns, "weights": found.weights, "backtest_error": found.backtest_error}
    document["notes"] = list(table.notes)
    if not no_figure:
        from scalinglab.figures import collapse as figures

        drawn = figures.extrapolation(found, table.x, table.y, x_label=x, y_label=y)
        document["figure"] = draw(drawn, figure, file, "extrapolation")
    finish(document, pd.DataFrame(columns), as_json, out)


def collapse(
    file: File,
    x: Along = "norm",
    y: Y = "test_error",
    size: Size = "n_data",
    by: Annotated[str, typer.Option(help="optimum, position or exponents.")] = "optimum",
    tolerance: Annotated[float, typer.Option(help="Relative deviation that still counts.")] = 0.1,
    where: Where = None,
    figure: Figure = None,
    no_figure: NoFigure = False,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Rescale curves of several sizes onto one master curve, and say how well it holds.

    scalinglab laws collapse curves.csv --x norm --y test_error
    """
    import scalinglab as sl
    from scalinglab.laws.tables import read_table, select

    frame = select(read_table(file), conditions(where))
    found = sl.laws.collapse(frame, x=x, y=y, size=size, by=by, tolerance=tolerance)
    say(found.summary(), as_json)
    document = _plain(found)
    if not no_figure:
        from scalinglab.figures import collapse as figures

        document["figure"] = draw(figures.collapse(found, x=x, y=y, size=size), figure, file, "collapse")
    finish(document, found.rescaled, as_json, out)


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
    """Read the dynamical laws off error-against-norm curves at several sizes.

    scalinglab laws dynamical curves.csv --x norm --y test_error
    """
    import scalinglab as sl
    from scalinglab.laws.tables import read_table, select

    frame = select(read_table(file), conditions(where))
    found = sl.laws.dynamical(frame, x=x, y=y, size=size)
    say(found.summary(), as_json)
    document = _plain(found)
    if not no_figure:
        from scalinglab.figures import collapse as figures
        from scalinglab.laws.sizes import size_curves

        drawn = figures.dynamical(found, size_curves(frame, x, y, size), x, y, size)
        document["figure"] = draw(drawn, figure, file, "dynamical")
    finish(document, found.table, as_json, out)


def _plain(result: Any) -> dict[str, Any]:
    """A result's fields as plain values; tables become lists of rows."""
    import pandas as pd

    document: dict[str, Any] = {}
    for name, value in vars(result).items():
        if isinstance(value, pd.DataFrame):
            document[name] = value.to_dict("records")
        elif hasattr(value, "value") and hasattr(value, "error"):
            document[name] = {"value": value.value, "error": value.error}
        elif hasattr(value, "__dataclass_fields__"):
            document[name] = _plain(value)
        else:
            document[name] = plain(value)
    return document
