"""Curves from files and logs that others wrote."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from scalinglab.curves import Curves, rename
from scalinglab.errors import BadInput
from scalinglab.store import Store

__all__ = ["read"]


def read(path: str | Path, *, settings: Iterable[str] = (), **columns: str) -> Curves:
    """Read curves from a store's folder, or from a Parquet, CSV or JSON-lines file.

    Args:
        path: the folder or file.
        settings: columns that are settings although they are not in the standard list; stores and Parquet
            files written here remember theirs.
        columns: what a column is called there, as in ``read("log.csv", n_data="train_size")``.
    """
    path = Path(path)
    if path.is_dir():
        if not Store.is_store(path):
            raise BadInput(f"{path} is a folder, but not a store: it has neither sealed nor live runs")
        curves = Store(path).curves()
        if not columns and not settings:
            return curves
        known = [name for name in (*curves.settings, *settings) if name not in columns.values()]
        return Curves(rename(curves.frame, columns, path), settings=known)
    return Curves.read(path, settings=settings, **columns)
