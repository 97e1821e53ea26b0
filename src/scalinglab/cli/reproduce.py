"""``scalinglab reproduce``: make a figure or table of a paper again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scalinglab.cli.options import Json, Out
from scalinglab.cli.output import emit

if TYPE_CHECKING:
    from scalinglab.papers import Entry

COLUMNS = ["key", "claim", "scales", "built"]


def reproduce(
    key: Annotated[
        str, typer.Argument(help="'list', a paper to list, or a key such as damico2025/fig1.")
    ] = "list",
    scale: Annotated[str, typer.Option(help="smoke, laptop, gpu or paper.")] = "laptop",
    results: Annotated[Path, typer.Option(help="Where figures, curves and tables are kept.")] = Path(
        "results"
    ),
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Make a figure or table of a paper again, with the paper's number beside the measured one.

    scalinglab reproduce list

    scalinglab reproduce damico2025

    scalinglab reproduce damico2025/fig1 --scale smoke
    """
    import pandas as pd

    from scalinglab import papers
    from scalinglab.papers.results import cells

    known = [entry for entry in papers.entries().values() if key.rstrip("/") in ("list", entry.paper)]
    if known:
        if as_json or out is not None:
            table = pd.DataFrame([(e.key, e.claim, e.scales, e.built) for e in known], columns=COLUMNS)
            emit({"entries": table.to_dict("records")}, table, as_json=as_json, out=out)
        else:
            _print_list(known)
        return
    made = papers.reproduce(key, scale, results)
    table = pd.DataFrame(
        [cells(row) for row in made.table], columns=["quantity", "paper", "measured", "agrees"]
    )
    document = {"key": key, "scale": scale, "folder": str(results / key / scale)}
    emit({**document, "table": table.to_dict("records")}, table, as_json=as_json, out=out)


def _print_list(known: list[Entry]) -> None:
    """One block a paper: what is built first to the eye, the claim in full."""
    from itertools import groupby

    from rich.console import Console
    from rich.table import Table

    console = Console()
    for paper, group in groupby(known, key=lambda entry: entry.paper):
        table = Table(title=paper, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for name in ("key", "built", "up to"):
            table.add_column(name, no_wrap=True)
        table.add_column("claim")
        for entry in group:
            mark = "[green]yes[/]" if entry.built else "[dim]not yet[/]"
            table.add_row(entry.key, mark, entry.scales[-1], entry.claim)
        console.print(table, "")
    built = sum(entry.built for entry in known)
    console.print(
        f"{built} of {len(known)} built; scalinglab reproduce KEY --scale smoke|laptop|gpu|paper",
        highlight=False,
    )
