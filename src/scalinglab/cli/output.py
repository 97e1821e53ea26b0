"""Where every result goes: to JSON, into a file, or onto the screen as lines and a table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from scalinglab.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd


def emit(
    document: Mapping[str, Any],
    table: pd.DataFrame | None = None,
    *,
    as_json: bool = False,
    out: Path | None = None,
    title: str = "",
) -> None:
    """Print a result: as JSON, into a file, or as a table for a person.

    Args:
        document: the whole result; arrays become lists, NaN and infinity become null.
        table: its tabular part, one row a point; the document's arrays of equal length where not given.
    """
    import pandas as pd

    if table is None:
        arrays = {k: np.ravel(v) for k, v in document.items() if isinstance(v, (np.ndarray, list, tuple))}
        size = max(map(len, arrays.values()), default=0)
        table = pd.DataFrame({k: v for k, v in arrays.items() if len(v) == size})
    if out is not None:
        write(document, table, out)
    if as_json:
        print(json.dumps(plain(document), allow_nan=False))
    else:
        show(document, table, title)
        if out is not None:
            print(f"written: {out}")


def write(document: Mapping[str, Any], table: pd.DataFrame, out: Path) -> None:
    """Write a result by the file's ending."""
    writers: dict[str, Any] = {
        ".json": lambda path: path.write_text(json.dumps(plain(document), allow_nan=False) + "\n"),
        ".csv": lambda path: table.to_csv(path, index=False),
        ".parquet": lambda path: table.to_parquet(path, index=False),
    }
    if out.suffix not in writers:
        raise BadInput(f"--out {out}: unknown ending {out.suffix!r}; use one of {', '.join(writers)}")
    out.parent.mkdir(parents=True, exist_ok=True)
    writers[out.suffix](out)


def show(document: Mapping[str, Any], table: pd.DataFrame, title: str = "", rows: int = 40) -> None:
    """Print scalars as lines and the table below them, thinned to `rows` lines."""
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, emoji=False)  # names and paths may look like either
    for key, value in document.items():
        if isinstance(value, (str, int, float, np.generic)):
            console.print(f"{key}: {cell(value)}", highlight=False)
    if table.empty:
        return
    printed = Table(title=title or None, title_justify="left")
    for column in table.columns:
        text = not pd.api.types.is_numeric_dtype(table[column])
        justify: Literal["left", "right"] = "left" if text else "right"
        # long paths and equations go on in the next line: nobody can copy what ends in an ellipsis
        printed.add_column(str(column), justify=justify, no_wrap=not text, overflow="fold")
    keep = np.unique(np.linspace(0, len(table) - 1, min(rows, len(table))).astype(int))
    for values in table.iloc[keep].itertuples(index=False, name=None):
        printed.add_row(*map(cell, values))
    console.print(printed)
    if len(keep) < len(table):
        console.print(f"{len(keep)} of {len(table)} rows shown; --out FILE writes all of them")


def cell(value: Any) -> str:
    """A value as a person reads it."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


def plain(value: Any) -> Any:
    """Arrays to lists, NaN and infinities to null, so that any JSON reader takes it."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def grid(text: str) -> np.ndarray:
    """Numbers from the command line: ``5``, ``1,2,4``, or ``low:high:points`` spaced evenly in the log.

    >>> grid("1:100:3").tolist()
    [1.0, 10.0, 100.0]
    """
    rule = f"{text!r} is not a number, a list '1,2,4' or a log range 'low:high:points'"
    try:
        if ":" in text:
            low, high, points = text.split(":")
            if not (0 < float(low) < float(high) and int(points) >= 2):
                raise BadInput(f"{text!r}: a log range needs 0 < low < high and two points or more")
            return np.geomspace(float(low), float(high), int(points))
        return np.array([float(part) for part in text.split(",")])
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput(rule) from error
