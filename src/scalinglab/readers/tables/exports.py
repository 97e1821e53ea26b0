"""Tables that W&B exports: of a chart (a column a run), of the list of runs, and a run's history."""

from __future__ import annotations

import re

import pandas as pd

LIST_OF_RUNS = ("Name", "State", "Runtime")
_ABOUT = (
    "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "Group", "Job Type", "Commit",
    "Hostname", "Command", "Github", "GPU Count", "GPU Type", "End Time", "Start Time", "Updated", "Host",
    "Project", "ID",
)  # fmt: skip
_CHART = re.compile(r"(?P<run>.+) - (?P<metric>.+?)(?P<range>__MIN|__MAX)?")
_AXES = ("Step", "_step", "step", "epoch", "Epoch", "trainer/global_step", "Relative Time (Process)")


def unfolded(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with a row for each run and step where it is one that W&B exports; as it is where not."""
    if {*LIST_OF_RUNS} <= {*frame.columns}:
        return frame.drop(columns=[c for c in _ABOUT if c in frame])
    if "_step" in frame and "_timestamp" in frame:
        return frame.drop(columns=[c for c in frame if str(c).startswith("_") and c != "_step"])
    return _from_chart(frame)


def _from_chart(frame: pd.DataFrame) -> pd.DataFrame:
    axis = next((c for c in _AXES if c in frame), None)
    cells = {c: found for c in frame if c != axis and (found := _CHART.fullmatch(str(c)))}
    if axis is None or not cells or len(cells) != len(frame.columns) - 1:
        return frame
    runs: dict[str, dict[str, pd.Series]] = {}
    for column, found in cells.items():
        if found["range"] is None:
            runs.setdefault(found["run"], {})[found["metric"]] = frame[column]
    parts = [
        pd.DataFrame({"run": run, axis: frame[axis], **metrics}).dropna(subset=list(metrics), how="all")
        for run, metrics in runs.items()
    ]
    return pd.concat(parts, ignore_index=True)
