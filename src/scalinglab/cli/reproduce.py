"""``scalinglab reproduce``: make a figure or table of a paper again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scalinglab.cli.output import Json, Out, emit


def reproduce(
    key: Annotated[str, typer.Argument(help="'list', or a key such as damico2025/fig1.")] = "list",
    scale: Annotated[str, typer.Option(help="smoke, laptop, gpu or paper.")] = "laptop",
    results: Annotated[Path, typer.Option(help="Where figures, curves and tables are kept.")] = Path(
        "results"
    ),
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Make a figure or table of a paper again, with the paper's number beside the measured one.

    scalinglab reproduce list

    scalinglab reproduce damico2025/fig1 --scale smoke
    """
    import pandas as pd

    from scalinglab import papers
    from scalinglab.papers.results import cells

    if key == "list":
        known = papers.entries().values()
        rows = [(e.key, "yes" if e.built else "not yet", ", ".join(e.scales), e.claim) for e in known]
        table = pd.DataFrame(rows, columns=["key", "built", "scales", "claim"])
        emit({"entries": table.to_dict("records")}, table, as_json=as_json, out=out)
        return
    made = papers.reproduce(key, scale, results)
    table = pd.DataFrame(
        [cells(row) for row in made.table], columns=["quantity", "paper", "measured", "agrees"]
    )
    document = {"key": key, "scale": scale, "folder": str(results / key / scale)}
    emit({**document, "table": table.to_dict("records")}, table, as_json=as_json, out=out)
