"""Columns of a table that are neither settings nor measurements: when a row was written, messages, samples.

A text is a setting, by which runs are told apart. Text that changes from row to row would make each row a run
of its own, so it is left out, and the line on what was understood says so.
"""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from scalinglab.curves.columns import PROGRESS, SETTING, is_numeric, is_seed
from scalinglab.readers.tables.runs import CHECKPOINTS, FEWEST_CHECKPOINTS
from scalinglab.readers.tables.values import TEXT

FEWEST_TEXTS = 6  # different texts within runs before they count as messages
NEARLY_ALL = 0.9  # of the texts differ where they are messages
_TIME = r"\s*\d{4}-\d\d?-\d\d?(?:[T ]\d\d?:\d\d.*)?\s*"  # as ISO 8601 writes it


def without_remarks(
    frame: pd.DataFrame, asked: Collection[str], before: Collection[str] = ()
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """The table without such columns, these columns, and notes on others.

    Args:
        frame: under standard names.
        asked: columns that were asked for, which stay.
        before: columns with arrays or long texts, in the table as far as they are short or shortened.
    """
    texts = [c for c in frame.columns if c not in (*TEXT, *asked) and not is_numeric(frame[c])]
    others = [c for c in texts if c not in before and not is_seed(c)]
    found = [c for c in others if is_time(frame[c]) or _is_remark(frame, c)]
    kept = frame.drop(columns=[*found, *(c for c in texts if c in before)])
    named = dict.fromkeys(c for c in (*before, *found) if c not in kept)
    partly = dict.fromkeys(c for c in before if c in kept)
    return kept, [*named], [f"long values shortened or left out: {', '.join(partly)}"] if partly else []


def is_time(column: pd.Series) -> bool:
    """Whether a column contains dates or times of day."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    values = column.dropna().astype(str)
    if not (len(values) and values.str.fullmatch(_TIME).all()):
        return False
    # a date that recurs, such as that of a data set, tells runs apart
    return bool(values.str.contains(":").any() or values.nunique() >= NEARLY_ALL * len(values))


def _is_remark(frame: pd.DataFrame, name: str) -> bool:
    """Whether a text differs in nearly all checkpoints of runs; without names of runs, in all of them.

    Texts that recur, such as the split of the data or the task, tell measurements apart: they stay, and
    `Curves` refuses them where they change within a run. A column with numbers among its texts is a
    measurement with a wrong value, which `Curves` names too.
    """
    if pd.to_numeric(frame[name], errors="coerce").notna().any():
        return False
    if "run" in frame:
        changes = (frame.groupby("run", dropna=False)[name].nunique() > 1).any()
        return bool(changes) and _differs(frame[name]) and _has_checkpoints(frame)
    if len(frame) < FEWEST_CHECKPOINTS or not (frame[name].notna().all() and frame[name].is_unique):
        return False
    return any(c in frame and is_numeric(frame[c]) and _grows(frame, c) for c in CHECKPOINTS)


def _differs(texts: pd.Series) -> bool:
    return texts.nunique() >= max(FEWEST_TEXTS, NEARLY_ALL * texts.count())


def _has_checkpoints(frame: pd.DataFrame) -> bool:
    """Whether progress, or data seen so far, tells the rows of a run apart, whatever the texts are."""
    progress = [c for c in (*PROGRESS, "n_data") if c in frame]
    return bool(progress) and not frame.duplicated(["run", *progress]).any()


def _grows(frame: pd.DataFrame, step: str) -> bool:
    """Whether the step grows from row to row, at equal settings: rows of one step each are separate runs."""
    settings = [c for c in frame.columns if (c in SETTING and c != "n_data") or is_seed(c)]
    steps = frame.groupby(settings, dropna=False)[step] if settings else frame[step]
    return bool((steps.diff() > 0).mean() >= 0.5)
