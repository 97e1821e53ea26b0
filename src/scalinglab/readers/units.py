"""What may be counted otherwise than it was read: sizes and FLOPs in another unit, checkpoints as runs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE
from scalinglab.results.types import Reason

FEWEST = 1e4  # tokens or parameters below which sizes may be in a larger unit
FEWEST_EXAMPLES = 1e3  # beside as few parameters
OTHER_COUNT = 0.05  # of ln FLOPs, by which a table counts them otherwise


def doubts(curves: Curves) -> list[Reason]:
    """Notes on sizes, FLOPs and runs of n_params and n_data that look as if they were counted otherwise."""
    unit = curves.data_unit
    frame = curves.frame.drop_duplicates("run", keep="last")
    n, d = frame["n_params"], frame["n_data"]
    notes = []
    if may_be_in_larger_unit(n, d, unit):
        largest = {"n_params": float(n.max()), "n_data": float(d.max())}
        notes.append(Reason("small_sizes", **largest, unit=unit))
    if "compute" in frame:
        ratio = float((frame["compute"] / (FLOPS_PER_PARAM_EXAMPLE * n * d)).median())
        if abs(np.log(ratio)) > OTHER_COUNT:
            counts = {"per": FLOPS_PER_PARAM_EXAMPLE, "theirs": ratio * FLOPS_PER_PARAM_EXAMPLE}
            notes.append(Reason("other_flops", ratio=ratio, unit=unit, **counts))
    if len(frame) == len(curves.frame) and _may_be_checkpoints(frame):
        named = "model" if "model" in frame and frame["model"].nunique() == n.nunique() else "THEIR_COLUMN"
        notes.append(Reason("rows_as_runs", column=named))
    return notes


def may_be_in_larger_unit(n: pd.Series, d: pd.Series, unit: str) -> bool:
    """Whether sizes are so small that they may be counted in millions or billions."""
    if unit == "tokens":
        return bool(d.max() < FEWEST)
    return bool(n.max() < FEWEST and (d.max() < FEWEST_EXAMPLES or (n % 1).any()))


def _may_be_checkpoints(frame: pd.DataFrame) -> bool:
    """Whether rows of one n_params go on in step and data, as those of one training do."""
    step = next((c for c in ("step", "epoch") if c in frame and frame[c].nunique() > 1), None)
    if step is None:
        return False
    ordered = frame.sort_values(["n_params", step])
    within = ordered["n_params"].diff() == 0
    return bool(within.any() and (ordered[[step, "n_data"]].diff()[within] > 0).all(axis=None))
