"""Curves from files and logs that others wrote."""

from __future__ import annotations

from pathlib import Path

from scalinglab.curves import Curves, rename
from scalinglab.errors import BadInput
from scalinglab.store import Store

__all__ = ["read"]


def read(path: str | Path, **columns: str) -> Curves:
    """Read curves from a store's folder, or from a Parquet, CSV or JSON-lines file.

    Args:
        path: the folder or file.
        columns: what a column is called there, as in ``read("log.csv", n_data="train_size")``.
    """
    path = Path(path)
    if path.is_dir():
        if not Store.is_store(path):
            raise BadInput(f"{path} is a folder, but not a store: it has neither sealed nor live runs")
        curves = Store(path).curves()
        return Curves(rename(curves.frame, columns, path), settings=curves.settings) if columns else curves
    return Curves.read(path, **columns)
