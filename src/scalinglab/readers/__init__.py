"""Curves from files and logs that others wrote."""

from __future__ import annotations

from pathlib import Path

from scalinglab.curves import Curves


def read(path: str | Path, **columns: str) -> Curves:
    """Read curves from a Parquet, CSV or JSON-lines file; `columns` renames, as in ``n_data="size"``."""
    return Curves.read(path, **columns)
