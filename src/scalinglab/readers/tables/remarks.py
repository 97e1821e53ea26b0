"""Columns of a table that are neither settings nor measurements: when a row was written, messages, samples.

A text is a setting, by which runs are told apart. Text that changes from row to row would make each row a run
of its own, so it is left out, and the line on what was understood says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pandas as pd

from scalinglab.curves.columns import is_numeric, is_seed
from scalinglab.readers.tables.naming import TEXT
from scalinglab.readers.tables.runs import CHECKPOINTS, FEWEST_CHECKPOINTS

_TIME = r"\s*\d{4}-\d\d?-\d\d?[T ]\d\d?:\d\d.*"  # as ISO 8601 writes it


def without_remarks(
    frame: pd.DataFrame, asked: Collection[str], before: Iterable[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """The table without such columns, and a note that names them.

    Args:
        frame: under standard names.
        asked: columns that were asked for, which stay.
        before: columns that were left out before.
    """
    texts = [c for c in frame.columns if c not in (*TEXT, *asked) and not is_numeric(frame[c])]
    found = [c for c in texts if not is_seed(c) and (_is_time(frame[c]) or _is_remark(frame, c))]
    named = [*before, *found]
    if not named:
        return frame, []
    return frame.drop(columns=found), [f"left out, neither a setting nor a measurement: {', '.join(named)}"]


def _is_time(column: pd.Series) -> bool:
    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    values = column.dropna().astype(str)
    return bool(len(values) and values.str.fullmatch(_TIME).all())


def _is_remark(frame: pd.DataFrame, name: str) -> bool:
    """Whether a text changes within runs; without names of runs, whether it differs in all checkpoints.

    A column with numbers among its texts is a measurement with a wrong value, which `Curves` names.
    """
    if pd.to_numeric(frame[name], errors="coerce").notna().any():
        return False
    if "run" in frame:
        return bool((frame.groupby("run", dropna=False)[name].nunique() > 1).any())
    if len(frame) < FEWEST_CHECKPOINTS or not any(c in frame for c in CHECKPOINTS):
        return False
    return bool(frame[name].notna().all() and frame[name].is_unique)
