"""The group ``scalinglab theory``, to which the modules beside it add their commands."""

from __future__ import annotations

import typer

app = typer.Typer(help="Solve the exactly solvable models.", no_args_is_help=True)


@app.callback()
def options() -> None:
    """Solve the exactly solvable models."""
