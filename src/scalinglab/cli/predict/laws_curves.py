"""``scalinglab laws extrapolate | collapse | dynamical``: laws of whole curves."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.option_sets import Drawing, Rows, Table, takes
from scalinglab.cli.shared.output import grid, plain


@takes(table=Table, drawing=Drawing)
def extrapolate(
    table: Table,
    drawing: Drawing,
    at: Annotated[str, typer.Option(help="Sizes at which to predict: '1e6', '1e5,1e6' or 'low:high:n'.")],
    x: option.X = "n_data",
    y: option.Y = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals, e.g. 0.95.")] = 0.95,
) -> None:
    """Continue a curve: several forms, judged by backtests on its own points, averaged.

    scalinglab laws extrapolate curves.csv --x n_data --y test_error --at 1e5,1e6
    """
    import pandas as pd

    import scalinglab as sl

    asked = table.ask(x, y)
    y = asked.y
    found = sl.laws.extrapolate(asked.frame, at=grid(at), level=level, **asked.points)
    table.say(found.summary())
    columns = {x: found.at, y: found.mean, "low": found.low, "high": found.high}
    document: dict[str, Any] = {**columns, "weights": found.weights, "backtest_error": found.backtest_error}
    document |= {"level": found.level, "notes": asked.notes(found.notes)}

    def figure() -> Any:
        from scalinglab.figures import collapse as figures

        points = found.points
        assert points is not None
        return figures.extrapolation(found, points.x, points.y, x_label=x, y_label=y)

    document |= drawing.draw(figure, table.file, "extrapolation")
    table.finish(document, pd.DataFrame(columns))


@takes(rows=Rows, drawing=Drawing)
def collapse(
    rows: Rows,
    drawing: Drawing,
    x: option.Along = "norm",
    y: option.Y = None,
    size: option.Size = "n_data",
    by: Annotated[
        str,
        typer.Option(
            help="Scale that divides each curve: its position (as in laws dynamical), its optimum, "
            "powers of the size with the best exponents, or (critical) these with a fitted critical point."
        ),
    ] = "position",
    tolerance: Annotated[
        float,
        typer.Option(help="Largest relative deviation that counts as collapsed, e.g. 0.1."),
    ] = 0.1,
) -> None:
    """Rescale curves of several sizes onto one master curve, and measure the quality of the collapse.

    scalinglab laws collapse curves.csv --x norm --y test_error

    scalinglab laws collapse percolation.csv --x p --y spans --size L --by critical
    """
    import scalinglab as sl
    from scalinglab.curves.columns import measure_of

    curves = rows.curves((size, x) if by == "critical" else (), (size, x, *([y] if y else [])))
    y = y or measure_of(curves.frame, curves.setting_columns)
    found = sl.laws.collapse(curves, x=x, y=y, size=size, by=by, tolerance=tolerance)
    rows.say(found.summary())
    document = _plain(found)

    def figure() -> Any:
        from scalinglab.figures import collapse as figures

        return figures.collapse(found, x=x, y=y, size=size)

    document |= drawing.draw(figure, rows.file, "collapse")
    rows.finish(document, found.rescaled)


@takes(rows=Rows, drawing=Drawing)
def dynamical(
    rows: Rows,
    drawing: Drawing,
    x: option.Along = "norm",
    y: option.Y = None,
    size: option.Size = "n_data",
) -> None:
    """Read the dynamical laws off error-against-norm curves at several sizes.

    scalinglab laws dynamical curves.csv --x norm --y test_error
    """
    import scalinglab as sl
    from scalinglab.curves.columns import measure_of

    curves = rows.curves(wanted=(size, x, *([y] if y else [])))
    y = y or measure_of(curves.frame, curves.setting_columns)
    found = sl.laws.dynamical(curves, x=x, y=y, size=size)
    rows.say(found.summary())
    document = {**_plain(found), "collapse_from": found.collapse_from}

    def figure() -> Any:
        from scalinglab.figures import collapse as figures
        from scalinglab.laws.learning_curves.mean_curves import size_curves

        return figures.dynamical(found, size_curves(curves, x, y, size), x, y, size)

    document |= drawing.draw(figure, rows.file, "dynamical")
    rows.finish(document, found.table)


def _plain(result: Any) -> dict[str, Any]:
    """A result's fields as plain values; tables become lists of rows."""
    import pandas as pd

    document: dict[str, Any] = {}
    for name, value in vars(result).items():
        if isinstance(value, pd.DataFrame):
            document[name] = value.to_dict("records")
        elif hasattr(value, "__dataclass_fields__"):
            document[name] = _plain(value)
        else:
            document[name] = plain(value)
    return document
