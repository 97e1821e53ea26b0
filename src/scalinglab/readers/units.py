"""What may be counted otherwise than it was read: sizes and FLOPs in another unit, checkpoints as runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE
from scalinglab.errors import NotDetermined
from scalinglab.results.types import Reason

FEWEST = 1e4  # tokens of a training, parameters of a network: fewer may be in a larger unit
FEWEST_WHOLE = 10.0  # a number of examples that is no whole one, as 1.28, may be in a larger unit
FEWEST_EXAMPLES = 1e3  # beside as few parameters
FEWEST_PARAMS, MOST_IN_MILLIONS = 1e3, 1e6  # of the smallest and largest model, alone or beside tokens
OTHER_COUNT = 0.05  # of ln FLOPs, by which a table counts them otherwise


def doubts(curves: Curves) -> list[Reason]:
    """Notes on sizes, FLOPs and runs of n_params and n_data that look as if they were counted otherwise."""
    unit = curves.data_unit
    frame = curves.frame.drop_duplicates("run", keep="last")
    n, d = frame["n_params"], frame["n_data"]
    notes = []
    if "compute" in frame:
        ratio = float((frame["compute"] / (FLOPS_PER_PARAM_EXAMPLE * n * d)).median())
        if abs(np.log(ratio)) > OTHER_COUNT:
            counts = {"per": FLOPS_PER_PARAM_EXAMPLE, "theirs": ratio * FLOPS_PER_PARAM_EXAMPLE}
            notes.append(Reason("other_flops", ratio=ratio, unit=unit, **counts))
    if len(frame) == len(curves.frame) and _may_be_checkpoints(frame):
        named = "model" if "model" in frame and frame["model"].nunique() == n.nunique() else "THEIR_COLUMN"
        notes.append(Reason("rows_as_runs", column=named))
    return notes


def refuse_other_units(sizes: Mapping[str, np.ndarray], units: Mapping[str, str]) -> None:
    """Refuse sizes that no run has: they are counted in millions or billions, and no name says in which.

    Args:
        sizes: values by column, of those that nobody has named.
        units: what they count.
    """
    ends = {
        name: (float(np.nanmin(v)), float(np.nanmax(v))) for name, v in sizes.items() if np.isfinite(v).any()
    }
    doubtful = [name for name, (_, high) in ends.items() if units[name] == "tokens" and high < FEWEST]
    parts = "n_data" in ends and bool((sizes["n_data"] % 1 > 0).any())
    doubtful += (
        ["n_data"]
        if parts and units["n_data"] == "examples" and ends["n_data"][0] < FEWEST_WHOLE < ends["n_data"][1]
        else []
    )
    if "n_params" in ends:
        (low, high), parts = ends["n_params"], bool((sizes["n_params"] % 1 > 0).any())
        if units.get("n_data", "tokens") == "tokens":
            few = high < MOST_IN_MILLIONS and (low < FEWEST_PARAMS or parts)
        else:
            few = high < FEWEST and (ends["n_data"][1] < FEWEST_EXAMPLES or parts)
        doubtful += ["n_params"] if few else []
    for name in doubtful:
        low, high = ends[name]
        raise NotDetermined(
            Reason("small_sizes", low=low, high=high, sizes=",".join(sizes), unit=units[name])
        )


def _may_be_checkpoints(frame: pd.DataFrame) -> bool:
    """Whether rows of one n_params go on in step and data, as those of one training do."""
    step = next((c for c in ("step", "epoch") if c in frame and frame[c].nunique() > 1), None)
    if step is None:
        return False
    ordered = frame.sort_values(["n_params", step])
    within = ordered["n_params"].diff() == 0
    return bool(within.any() and (ordered[[step, "n_data"]].diff()[within] > 0).all(axis=None))
