"""Leave out times, messages and text samples, and shorten long texts.

Text columns are settings, which tell runs apart. Text that changes from row to row would make every row a
run, so it is left out, and `Curves.understood` says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

import pandas as pd

from scalinglab.curves.columns import PROGRESS, SETTING, is_numeric, is_seed
from scalinglab.readers.tables.runs import CHECKPOINTS, FEWEST_CHECKPOINTS
from scalinglab.readers.tables.values import TEXT

LONGEST_TEXT = 200  # characters of a value
PREFIX = 40  # characters of a longer one that are kept, before its hash
LEFT_OUT = "left_out"  # in a table's attrs: columns of which values were left out or shortened
GUESSED = "guessed"  # in a table's attrs: columns of which values alone say what they are
NOTES = "notes"  # in a table's attrs: remarks on the file
FEWEST_TEXTS = 6  # different texts within runs before they count as messages
NEARLY_ALL = 0.9  # of the texts differ where they are messages
# as ISO 8601 writes it, or as a clock: 2025-11-03 10:22, 0:12:40, 1 day, 3:02:11, 1h 12m
_TIME = (
    r"\s*(?:\d{4}-\d\d?-\d\d?(?:[T ]\d\d?:\d\d.*)?|(?:\d+ ?(?:d|days?),? ?)?\d+:\d\d:\d\d(?:\.\d+)?"
    r"|(?:\d+(?:\.\d+)? ?(?:d|h|hrs?|m|min|s|sec)\b\s*)+)\s*"
)


def without_remarks(
    frame: pd.DataFrame, asked: Collection[str], before: Collection[str] = ()
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """The table without times and messages, the names of the columns left out, and notes on shortened ones.

    Args:
        frame: under standard names.
        asked: columns that the caller named; they stay.
        before: columns from which arrays or long texts were removed on reading.
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
    # a date that recurs, such as the version of a data set, tells runs apart
    return bool(values.str.contains(r"[:a-z]").any() or values.nunique() >= NEARLY_ALL * len(values))


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


def with_short_texts(part: pd.DataFrame, left_out: dict[Any, None]) -> pd.DataFrame:
    """Some rows of a table with texts of at most `LONGEST_TEXT` characters; their columns in `left_out`."""
    texts = {name: column for name, column in part.items() if not is_numeric(column)}
    long = {str(name): column for name, column in texts.items() if _has_long(column)}
    left_out |= dict.fromkeys(long)
    return part.assign(**{name: [*map(shortened, column)] for name, column in long.items()})


def _has_long(column: pd.Series) -> bool:
    """Whether a column has a long text; by the library where it knows lengths, a hundred times faster."""
    if column.dtype == object:
        return any(map(is_long, column))
    return isinstance(column.dtype, pd.StringDtype) and bool((column.str.len() > LONGEST_TEXT).any())


def is_long(value: Any) -> bool:
    """Whether a value is a text of more than `LONGEST_TEXT` characters."""
    return isinstance(value, str) and len(value) > LONGEST_TEXT


def shortened(value: Any) -> Any:
    """A long text cut; long ones that differ differ still. Anything else as it is."""
    if not is_long(value):
        return value
    return f"{value[:PREFIX]}… {hashlib.sha256(value.encode(errors='surrogatepass')).hexdigest()[:12]}"
