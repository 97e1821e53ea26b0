"""``scalinglab theory``: solve the exactly solvable models."""

from __future__ import annotations

import typer

app = typer.Typer(help="Solve the exactly solvable models.", no_args_is_help=True)


@app.callback()
def options() -> None:
    """Solve the exactly solvable models."""


# each module adds its commands to `app`
from scalinglab.cli.theory import bottlenecks, dmft, kernel, perceptron  # noqa: E402, F401
