"""``scalinglab simulate``: draw the solvable models at finite size and train them."""

from __future__ import annotations

import typer

app = typer.Typer(help="Draw the solvable models at finite size and train them.", no_args_is_help=True)


@app.callback()
def options() -> None:
    """Draw the solvable models at finite size and train them."""
