"""``scalinglab answer``: what a table of runs shows."""

from __future__ import annotations

from typing import Annotated

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.tables import draw, finish, read_curves, say


def _flops(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number, such as 1e22") from None


def answer(
    file: option.File,
    compute: Annotated[
        float | None,
        typer.Option(
            parser=_flops,
            help="FLOPs of the compute-optimal model, e.g. 1e22. Default: 10 times the largest run.",
        ),
    ] = None,
    x: Annotated[
        str | None,
        typer.Option("--x", help="The column of the size, e.g. n_data. Default: the one that varies."),
    ] = None,
    y: Annotated[str | None, typer.Option("--y", help="The column to predict, e.g. test_error.")] = None,
    column: option.Columns = None,
    where: option.Where = None,
    figure: option.Figure = None,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """The exponent, ten times as much, the compute-optimal model and the next run, in sentences.

    scalinglab answer runs.csv --compute 1e22

    scalinglab answer logs/
    """
    from dataclasses import replace

    from scalinglab import answers

    curves = read_curves(file, where, column, (x,) if x else (), (y,) if y else (), as_json=as_json)
    found = answers.answer(curves, compute, x=x, y=y)
    chosen = [("--column", c) for c in column or ()] + [("--where", w) for w in where or ()]
    found = replace(found, table=(str(file), *(word for option in chosen for word in option)))
    say(found.summary(), as_json)
    document = {"understood": curves.understood, **found.to_dict()}
    if figure is not None:
        document["figure"] = draw(found.plot().figure, figure, file, "answer")
    finish(document, found.notebook_table(), as_json, out)
