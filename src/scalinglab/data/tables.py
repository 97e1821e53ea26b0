"""Published learning curves: where their tables lie."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from scalinglab.data.sources import search_path

FOLDERS = {"damico2025-curves": Path("learning-curves") / "damico2025"}


def tables_of(name: str) -> list[pd.DataFrame]:
    """The tables of a set of published curves, in the order of their names; none where they are not here."""
    for place in search_path():
        if files := sorted((place / FOLDERS[name]).glob("*.csv")):
            return [pd.read_csv(file) for file in files]
    return []
