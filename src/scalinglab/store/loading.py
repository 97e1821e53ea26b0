"""From tables of runs to curves, without runs whose values do not fit a table of curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from scalinglab.curves import IDENTITY, OUTCOME, PROGRESS, Curves
from scalinglab.curves.columns import NUMBERS
from scalinglab.errors import BadInput
from scalinglab.store.columns import unite
from scalinglab.store.record import Record


def load(
    tables: Sequence[pa.Table], records: Mapping[str, Record], failed: bool
) -> tuple[Curves, dict[str, str]]:
    """All runs as one table of curves.

    Args:
        tables: the rows of the runs.
        records: of the runs, by name.
        failed: whether to keep the rows of runs that failed.

    Returns:
        The curves, and the runs that they lack because of what these hold, with the reasons.
    """
    table = unite(tables) if tables else pa.table({"run": pa.array([], pa.string())})
    if not failed and any(record.status == "failed" for record in records.values()):
        table = table.filter(pc.not_equal(table["status"], "failed"))
    names = dict.fromkeys(name for record in records.values() for name in record.setting)
    order = dict.fromkeys([*IDENTITY, *names, *OUTCOME, *table.column_names])
    frame = table.select([name for name in order if name in table.column_names]).to_pandas()
    frame, misfits = _numbers(frame)
    settings = [name for name in names if name in frame]
    try:
        return Curves(frame, settings=settings), misfits
    except BadInput as error:
        misfits |= _blame(frame, settings, error)
        return Curves(frame[~frame["run"].isin(list(misfits))], settings=settings), misfits


def _numbers(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """Columns that must hold numbers as numbers, without the runs that have text there."""
    misfits: dict[str, str] = {}
    changed = {}
    for name in (*NUMBERS, *PROGRESS):
        if name not in frame or pd.api.types.is_numeric_dtype(frame[name]):
            continue
        numbers = pd.to_numeric(frame[name], errors="coerce")
        for row in frame[numbers.isna() & frame[name].notna()].drop_duplicates("run").index:
            misfits[frame["run"][row]] = f"{name} must hold numbers, not {frame[name][row]!a}"
        changed[name] = numbers
    if not changed:
        return frame, misfits
    frame = frame.assign(**changed)
    return frame[~frame["run"].isin(list(misfits))].reset_index(drop=True), misfits


def _blame(frame: pd.DataFrame, settings: Sequence[str], error: BadInput) -> dict[str, str]:
    """The runs that are not valid curves on their own, found by bisection.

    Raises:
        BadInput: it is no single run's fault.
    """
    runs = list(dict.fromkeys(frame["run"]))
    if len(runs) == 1:
        return {runs[0]: str(error)}
    found: dict[str, str] = {}
    for half in (runs[: len(runs) // 2], runs[len(runs) // 2 :]):
        part = frame[frame["run"].isin(half)].reset_index(drop=True)
        try:
            Curves(part, settings=settings)
        except BadInput as reason:
            found |= _blame(part, settings, reason)
    if not found:
        raise error
    return found
