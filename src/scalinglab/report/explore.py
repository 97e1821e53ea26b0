"""The runs as a figure whose axes, colours and rows the reader of a page picks."""

from __future__ import annotations

from typing import Any

import pandas as pd

from scalinglab.curves import Curves
from scalinglab.curves.columns import is_numeric
from scalinglab.report.numbers import line_column, measures
from scalinglab.report.page import Section
from scalinglab.report.plots import label

MOST_ROWS = 2000  # points that a browser draws at once
MOST_VALUES = 30  # of a column that groups or filters
TITLE = "Pick axes and runs"


def section(curves: Curves) -> Section | None:
    """The last row of every run; None where there are fewer than two columns of numbers to draw."""
    table = rows_of(curves)
    numbers = [c for c in table if is_numeric(table[c]) and table[c].nunique() > 1]
    y = next((c for c in measures(curves) if c in numbers), None)
    likely = (line_column(curves), "compute", "n_data", "n_params", *numbers)
    x = next((c for c in likely if c in numbers), None)
    if x is None or y is None or x == y:
        return None
    groups = [c for c in table if 1 < table[c].nunique() <= MOST_VALUES and c != y]
    kinds = [c for c in groups if not is_numeric(table[c]) and table[c].nunique() < len(table)]
    kinds += [c for c in ("n_params", "n_data") if c in groups and c != x]
    picked: dict[str, Any] = {
        "rows": {c: _plain(table[c]) for c in table}, "numbers": numbers, "groups": groups, "x": x, "y": y,
        "colour": kinds[0] if kinds else "", "names": {c: label(c) for c in table},
    }  # fmt: skip
    return Section(TITLE, explore=picked)


def rows_of(curves: Curves) -> pd.DataFrame:
    """The last checkpoint of every run, at most `MOST_ROWS` of them."""
    last = curves.frame.drop_duplicates("run", keep="last").drop(columns=["run"])
    step = -(-len(last) // MOST_ROWS)
    kept = last.iloc[::step]
    return kept.loc[:, [c for c in kept if kept[c].notna().any() and not str(c).endswith("_stderr")]]


def _plain(column: pd.Series) -> list[Any]:
    if is_numeric(column):
        return [None if v != v or abs(v) == float("inf") else float(f"{v:.6g}") for v in column.astype(float)]
    return [str(v) for v in column]
