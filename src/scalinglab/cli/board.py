"""``scalinglab board``: a live page that follows a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scalinglab.cli.shared.options import a_folder


def board(
    store: Annotated[Path, typer.Argument(help="The store to show, e.g. runs/.", callback=a_folder)] = Path(
        "runs"
    ),
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; 0.0.0.0 also admits other machines, with a printed token."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on, e.g. 8000.")] = 8000,
    refresh: Annotated[float, typer.Option(help="Seconds between updates of the page, e.g. 5.")] = 5.0,
    allow: Annotated[
        list[str] | None, typer.Option(help="A further accepted host name, e.g. lab.example.org. Repeatable.")
    ] = None,
) -> None:
    """Serve a live page of a running sweep; Ctrl-C stops it.

    scalinglab board runs/
    """
    from scalinglab.board import serve

    serve(store, host=host, port=port, refresh=refresh, allow=allow or [])
