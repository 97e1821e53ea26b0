"""``scalinglab store``: check, compact and export a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from scalinglab.cli.options import ARGUMENT, ending
from scalinglab.cli.output import Output
from scalinglab.cli.registry import command
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    from scalinglab.store import Store

Place = Annotated[Path, ARGUMENT]
KINDS = ("run", "pack", "live", "state", "arrays", "index", "grid")


def _store(path: Path) -> Store:
    import scalinglab as sl

    if not sl.Store.is_store(path):
        raise BadInput(f"{path} is not a store: it has neither sealed nor live runs")
    return sl.Store(path)


@command("store verify", out=False)
def verify(path: Place, repair: bool = False) -> Output:
    """Check every file against its checksum; exit with status 1 if one is damaged.

    The intact runs of a damaged pack are read all the same; --repair writes them into a new pack.

    scalinglab store verify runs/

    scalinglab store verify runs/ --repair

    Args:
        path: the folder of the store, e.g. runs/.
        repair: move damaged files into PATH/damaged; delete nothing.
    """
    import pandas as pd

    store = _store(path)
    found = store.verify()
    moved = store.repair() if repair else {}
    damaged = [f for f in found if f.problem]
    reasons = moved if repair else store.problems if damaged else {}
    problems = {str(f.path): reasons.get(str(f.path), f.problem) for f in damaged}
    rows = []
    for kind in KINDS:
        mine = [f for f in found if f.kind == kind]
        counts = {"checked": len(mine), "runs": sum(f.runs for f in mine)}
        rows.append({"files": kind, **counts, "damaged": sum(f in damaged for f in mine)})
    document = {
        "store": str(path), "checked": len(found), "damaged": len(problems), "problems": problems,
        "moved": moved, "kinds": rows,
    }  # fmt: skip
    lines = [*map(str, problems.values()), *(f"moved: {place}" for place in moved)]
    return Output(document, pd.DataFrame(rows), footer="\n".join(lines), status=1 if problems else 0)


@command("store compact", out=False)
def compact(path: Place) -> Output:
    """Merge finished runs into one file, which loads faster; safe while other processes write.

    scalinglab store compact runs/

    Args:
        path: the folder of the store, e.g. runs/.
    """
    store = _store(path)
    return Output({"store": str(path), "runs_moved": store.compact(), "runs": len(store.records())})


@command("store export", out=False)
def export(
    path: Place,
    out: Annotated[Path | None, ending(".parquet", ".csv", ".jsonl")] = None,
    failed: bool = False,
) -> Output:
    """Write all curves into one table.

    scalinglab store export runs/ --out runs.csv --failed

    Args:
        path: the folder of the store, e.g. runs/.
        out: a .parquet, .csv or .jsonl file, e.g. runs.csv. Default: PATH with .parquet.
        failed: include the rows of failed runs.
    """
    file = out or path.resolve().with_suffix(".parquet")
    curves = _store(path).curves(failed=failed)
    curves.write(file)
    return Output({"written": str(file), "runs": len(curves.runs), "rows": len(curves)})
