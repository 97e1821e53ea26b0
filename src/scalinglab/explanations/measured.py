"""Slopes of measured losses: in time along the curve itself, in size over other runs."""

from __future__ import annotations

import math

import numpy as np

from scalinglab.curves import Curves
from scalinglab.explanations.case import Case
from scalinglab.results.estimate import slope
from scalinglab.train.setting import Setting


def slopes(case: Case, curves: Curves, setting: Setting | None) -> dict[str, float]:
    """Measured slopes by resource; those that nothing gives are left out."""
    found = {name: _slope(name, case, curves, setting) for name in ("time", "data", "params")}
    return {name: slope for name, slope in found.items() if math.isfinite(slope)}


def _slope(resource: str, case: Case, curves: Curves, setting: Setting | None) -> float:
    """The measured slope: of the curve itself in time, of runs that differ in size alone otherwise."""
    if resource == "time":
        last = case.steps[-1]
        if case.steps[0] > last / 2:
            return math.nan
        half = np.interp(math.log(last / 2), np.log(case.steps), np.log(case.test_loss))
        return float((math.log(case.test_loss[-1]) - half) / math.log(2))
    column = {"data": "n_data", "params": "width"}.get(resource)
    frame = curves.frame
    if setting is None or column not in frame or "run" not in frame:
        return math.nan
    last = frame.sort_values("step").groupby("run").tail(1)
    free = {"run", column, "seed", "init_seed", "order_seed", "data_seed", "batch_size", "n_params"}
    for name, value in setting.identity().items():
        if name in last and name not in free and not isinstance(value, (dict, list)):
            last = last[last[name] == value]
    last = last[last["test_loss"] > 0]
    if last[column].nunique() < 2:
        return math.nan
    return slope(np.log(last[column].astype(float)), np.log(last["test_loss"].astype(float))).value
