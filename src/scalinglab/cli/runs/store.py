"""``scalinglab store``: check, compact and export a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from scalinglab.cli.shared.options import Json
from scalinglab.cli.shared.output import emit
from scalinglab.errors import BadInput

app = typer.Typer(help="Check, compact and export a store.", no_args_is_help=True)
Folder = Annotated[Path, typer.Argument(help="The folder of the store, e.g. runs/.")]
KINDS = ("run", "pack", "live", "state", "index", "grid")


def _store(path: Path) -> Any:
    import scalinglab as sl

    if not sl.Store.is_store(path):
        raise BadInput(f"{path} is not a store: it has neither sealed nor live runs")
    return sl.Store(path)


@app.command()
def verify(
    path: Folder,
    repair: Annotated[
        bool, typer.Option("--repair", help="Move damaged files aside, into PATH/damaged; delete nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check every file against its checksum; exit with status 1 if one is damaged.

    The intact runs of a damaged pack are read all the same; --repair writes them into a new pack.

    scalinglab store verify runs/
    """
    import pandas as pd

    store = _store(path)
    found = store.verify()
    moved = store.repair() if repair else {}
    problems = store.problems if any(f.problem for f in found) and not repair else moved
    rows = []
    for kind in KINDS:
        mine = [f for f in found if f.kind == kind]
        damaged = [f for f in mine if f.problem]
        rows.append(
            {"files": kind, "checked": len(mine), "runs": sum(f.runs for f in mine), "damaged": len(damaged)}
        )
    problems_found = {str(f.path): problems.get(str(f.path), f.problem) for f in found if f.problem}
    document: dict[str, Any] = {"store": str(path), "checked": len(found), "damaged": len(problems_found)}
    document |= {"problems": problems_found, "moved": moved, "kinds": rows}
    emit(document, pd.DataFrame(rows), as_json=as_json)
    if not as_json:
        for reason in problems_found.values():
            print(reason)
        for place in moved:
            print(f"moved aside: {place}")
    if problems_found:
        raise typer.Exit(1)


@app.command()
def compact(path: Folder, as_json: Json = False) -> None:
    """Merge finished runs into one file, which loads faster; safe while other processes write.

    scalinglab store compact runs/
    """
    store = _store(path)
    emit({"store": str(path), "runs_moved": store.compact(), "runs": len(store.records())}, as_json=as_json)


@app.command()
def export(
    path: Folder,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A .parquet, .csv or .jsonl file, e.g. runs.csv. Default: PATH with .parquet."
        ),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Include the rows of failed runs.")] = False,
    as_json: Json = False,
) -> None:
    """Write all curves into one table.

    scalinglab store export runs/ --out runs.csv
    """
    file = out or path.resolve().with_suffix(".parquet")
    curves = _store(path).curves(failed=failed)
    curves.write(file)
    emit({"written": str(file), "runs": len(curves.runs), "rows": len(curves)}, as_json=as_json)
