"""Sizes and FLOPs of a table that look as if they were counted in another unit."""

from __future__ import annotations

import numpy as np

from scalinglab.curves import Curves
from scalinglab.laws.optimum import FLOPS_PER_PARAM_EXAMPLE
from scalinglab.support.words import count

FEWEST = 1e4  # tokens, or parameters with fractions, below which a size may be in a larger unit
OTHER_COUNT = 0.05  # of ln FLOPs, by which a table counts them otherwise


def doubts(curves: Curves) -> list[str]:
    """Notes on sizes and FLOPs that look as if they were counted in another unit."""
    unit = curves.data_unit
    frame = curves.frame.drop_duplicates("run", keep="last")
    n, d = frame["n_params"], frame["n_data"]
    notes = []
    if d.max() < FEWEST if unit == "tokens" else n.max() < FEWEST and (n % 1).any():
        notes.append(
            f"only {count(n.max())} parameters and {count(d.max())} {unit}? Sizes in millions or billions "
            "have the unit in the name of their column, as in 'params (M)' and 'tokens (B)'"
        )
    if "compute" in frame:
        ratio = float((frame["compute"] / (FLOPS_PER_PARAM_EXAMPLE * n * d)).median())
        if abs(np.log(ratio)) > OTHER_COUNT:
            notes.append(
                f"FLOPs are counted here as {FLOPS_PER_PARAM_EXAMPLE:g} · parameters · {unit}; those of the "
                f"table are {ratio:.3g} times as many: laws surface, plan optimal and plan next take "
                f"--flops-per-param-example {ratio * FLOPS_PER_PARAM_EXAMPLE:.3g}"
            )
    return notes
