"""``scalinglab report``: the self-contained HTML report on a store or a file of curves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.output import emit
from scalinglab.cli.shared.tables import read_curves


def report(
    file: option.File,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File of the page, e.g. report.html.")
    ] = Path("report.html"),
    column: option.Columns = None,
    where: option.Where = None,
    title: Annotated[
        str | None, typer.Option(help="The page's title. Default: the name of the file or folder.")
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(help="Begin with this run of the store beside its theory: its name, or the beginning."),
    ] = None,
    as_json: option.Json = False,
) -> None:
    """Write one self-contained HTML page with interactive figures, tables and a summary in words.

    scalinglab report runs/ -o report.html

    scalinglab report runs/ --explain 3f2a

    scalinglab report curves.csv --title "Our sweep" --column n_data=train_size --where model=cnn
    """
    import scalinglab as sl

    curves = read_curves(file, where, column, as_json=as_json)
    opening = []
    if explain is not None:
        from scalinglab.report import explained_run

        opening = [explained_run.section(sl.explain(explain, store=file))]
    path = sl.report.write(curves, output, title or file.resolve().name, opening)
    document = {"report": str(path), "runs": len(curves.runs), "checkpoints": len(curves)}
    emit(document | ({"understood": curves.understood} if as_json else {}), as_json=as_json)
