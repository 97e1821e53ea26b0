"""Curves from tables and logs that others wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput, nearest
from scalinglab.readers.tables import Understood, understand
from scalinglab.readers.tables.files import read_file
from scalinglab.store import Store

Source: TypeAlias = str | Path | pd.DataFrame | Mapping[str, Any] | Curves
__all__ = ["read", "read_table"]


def read(source: Source, *, settings: Iterable[str] = (), **columns: str) -> Curves:
    """Read curves from a store's folder, a file or a table in memory.

    Args:
        source: a folder; a .csv, .tsv, .json, .jsonl, .parquet or .xlsx file, text files also with .gz; or a
            pandas table.
        settings: columns that are settings although they are not in the standard list; stores and Parquet
            files written here remember theirs.
        columns: what a column is called there, as in ``read("log.csv", n_data="train_size")``. Usual names
            (val_loss, eval/loss, lr, tokens, params, flops, trial, …) are recognised without.

    What was understood is in one line, ``curves.understood``.

    >>> read({"N": ["19M", "125M"], "tokens": ["1B", "2B"], "eval/loss": [3.4, 3.1]})["n_params"].tolist()
    [19000000, 125000000]
    """
    settings = list(settings)
    if isinstance(source, Curves) and not columns and not settings:
        return source
    table = read_table(source, settings=settings, likely=None, **columns)
    if missing := [name for name in settings if table.resolve(name) not in table.frame]:
        raise BadInput(f"settings={missing} are not columns; {nearest(missing[0], table.frame.columns)}")
    return table.curves()


def read_table(
    source: Source, *, settings: Iterable[str] = (), likely: Mapping[str, str] | None = None, **columns: str
) -> Understood:
    """What `read` reads, before it is checked, so that a part of it can be used.

    Args:
        source, columns: as those of `read`.
        settings: as there; those that the table does not have are passed over.
        likely: columns as above that are passed over where the table does not have them, or has ours.
    """
    if isinstance(source, Curves):
        return understand(source.frame, columns, [*source.settings, *settings], likely=likely)
    if isinstance(source, (pd.DataFrame, Mapping)):
        return understand(_frame(source), columns, settings, likely=likely)
    path = Path(source)
    if path.is_dir():
        return _folder(path, columns, settings, likely)
    frame, declared = read_file(path)
    return understand(frame, columns, [*declared, *settings], likely=likely, origin=path.name)


def _frame(table: pd.DataFrame | Mapping[str, Any]) -> pd.DataFrame:
    try:
        frame = pd.DataFrame(table)
    except ValueError as error:
        raise BadInput(f"these columns do not make a table: {error}") from error
    if frame.empty:
        raise BadInput("the table has no rows: a table of curves has a row for every measurement")
    if isinstance(frame.columns, pd.MultiIndex):
        frame.columns = ["/".join(map(str, names)) for names in frame.columns]
    named = [name for name in frame.index.names if name is not None]  # groupby().mean() leaves keys there
    return frame.reset_index() if named else frame


def _folder(
    path: Path, columns: Mapping[str, str], settings: Iterable[str], likely: Mapping[str, str] | None
) -> Understood:
    if not Store.is_store(path):
        raise BadInput(f"{path} is a folder, but not a store: it has neither sealed nor live runs")
    curves = Store(path).curves()
    if not len(curves):
        return Understood(curves.frame, curves.settings, {}, f"{path}: no runs yet")
    return understand(curves.frame, columns, [*curves.settings, *settings], likely=likely, origin=str(path))
