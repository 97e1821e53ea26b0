"""What the commands on tables share: which columns, which rows, where figures and results go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scalinglab.cli.output import emit, write
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from scalinglab.laws.tables import Table

File = Annotated[Path, typer.Argument(help="A store, or a .csv, .parquet or .jsonl file of any table.")]
X = Annotated[str, typer.Option("--x", help="The column of sizes.")]
Y = Annotated[str, typer.Option("--y", help="The column that was measured.")]
Where = Annotated[
    list[str] | None, typer.Option("--where", help="Only rows with COLUMN=VALUE; may be given again.")
]
Reduce = Annotated[
    str, typer.Option("--reduce", help="Which rows of a run count: auto, best (lowest y), last, all.")
]
Drop = Annotated[
    bool, typer.Option("--drop-bad", help="Drop points that cannot be used instead of stopping.")
]
Figure = Annotated[
    Path | None, typer.Option("--figure", help="Where the figure is written (.png, .pdf, .svg).")
]


NoFigure = Annotated[bool, typer.Option("--no-figure", help="Do not draw.")]


def conditions(where: list[str] | None) -> dict[str, str]:
    """``["model=CNN"]`` to ``{"model": "CNN"}``."""
    found = {}
    for text in where or []:
        column, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--where {text!r}: write COLUMN=VALUE, as in --where model=CNN")
        found[column.strip()] = value.strip()
    return found


def load(
    file: Path, x: str | list[str], y: str, where: list[str] | None, reduce: str, error: str | None = None
) -> Table:
    """The points that a command line asks for."""
    from scalinglab.laws.tables import points_of, read_table

    return points_of(read_table(file), x, y, error=error, reduce=reduce, where=conditions(where))


def draw(figure: Any, asked: Path | None, file: Path, kind: str) -> str:
    """Write a figure where it was asked for, by default beside nothing: in the working folder."""
    path = asked or Path(f"{file.resolve().stem}-{kind}.png")
    if path.suffix not in (".png", ".pdf", ".svg"):
        raise BadInput(f"--figure {path}: unknown ending {path.suffix!r}; use .png, .pdf or .svg")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return str(path)


def say(text: str, as_json: bool) -> None:
    """Print for a person; nothing where JSON goes to stdout."""
    if not as_json:
        print(text)


def finish(document: dict[str, Any], table: pd.DataFrame, as_json: bool, out: Path | None) -> None:
    """The machine's part of a result: JSON on stdout where asked, a file where asked, the figure's name."""
    if as_json:
        emit(document, table, as_json=True, out=out)
        return
    if "figure" in document:
        print(f"figure: {document['figure']}")
    if out is not None:
        write(document, table, out)
        print(f"written: {out}")
