"""``scalinglab report``: the self-contained HTML report on a store or a file of curves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scalinglab.cli.options import Columns, Json
from scalinglab.cli.output import emit
from scalinglab.cli.tables import renamed


def report(
    source: Annotated[str, typer.Argument(help="A store, or a .parquet, .csv or .jsonl file of curves.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the page is written.")] = Path(
        "report.html"
    ),
    column: Columns = None,
    title: Annotated[str, typer.Option(help="The page's title.")] = "Learning curves",
    as_json: Json = False,
) -> None:
    """Write one self-contained HTML page with interactive figures, tables and a reading in words.

    scalinglab report runs/ -o report.html

    scalinglab report curves.csv --title "Our sweep" --column n_data=train_size
    """
    import scalinglab as sl

    curves = sl.read(source, **renamed(column))
    path = sl.report.write(curves, output, title)
    document = {"report": str(path), "runs": len(curves.runs), "checkpoints": len(curves)}
    emit(document, as_json=as_json)
