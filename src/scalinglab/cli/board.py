"""``scalinglab board``: a live page that follows a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scalinglab.cli.options import a_folder


def board(
    store: Annotated[Path, typer.Argument(help="The store to follow.", callback=a_folder)] = Path("runs"),
    host: Annotated[
        str, typer.Option(help="0.0.0.0 lets other machines look, too, with a token that is printed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where it listens.")] = 8000,
    refresh: Annotated[float, typer.Option(help="Seconds between two looks at a running sweep.")] = 5.0,
    allow: Annotated[
        list[str] | None, typer.Option(help="A further name under which it may be asked for. Repeatable.")
    ] = None,
) -> None:
    """Serve a page that follows a running sweep; Ctrl-C ends it.

    scalinglab board runs/
    """
    from scalinglab.board import serve

    serve(store, host=host, port=port, refresh=refresh, allow=allow or [])
