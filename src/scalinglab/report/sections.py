"""What the report says about curves.

Each section is a function from curves to a `Section`, or None where they have nothing to say about it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.report.page import Plot, Section
from scalinglab.report.plots import by_size, label

PROGRESS = ("epoch", "step", "time", "examples", "compute")
MEASURES = ("test_error", "test_loss", "train_error", "train_loss")


def size_column(curves: Curves) -> str | None:
    """The setting that the report compares: data size if it varies, else the next that does."""
    numeric = [c for c in curves.setting_columns if pd.api.types.is_numeric_dtype(curves.frame[c])]
    varied = [c for c in numeric if c != "seed" and curves.frame[c].nunique() > 1]
    preferred = [c for c in ("n_data", "n_params", "width") if c in varied]
    return next(iter([*preferred, *varied]), None)


def seed_average(curves: Curves) -> Curves:
    """The mean over seeds, checkpoint by checkpoint; the curves themselves where there is one seed."""
    several = "seed" in curves.frame and curves.frame["seed"].nunique() > 1
    return curves.average("seed") if several else curves


def learning_curves(curves: Curves) -> Section | None:
    """Loss and error against training time, one line a size."""
    by = size_column(curves)
    x = next((c for c in PROGRESS if c in curves.frame and curves.frame[c].nunique() > 1), None)
    found = [y for y in MEASURES if y in curves.frame and curves.frame[y].notna().any()][:2]
    if by is None or x is None or not found:
        return None
    mean = seed_average(curves)
    shown = mean.select(**{x: lambda column: column > 0})
    plots = [Plot(by_size(shown, x, y, by), f"{label(y)} against {label(x)}".capitalize()) for y in found]
    text = f"Lines are means over seeds, bands one standard error. Colours run with {label(by)}."
    return Section("Learning curves", [text], plots)


def against_norm(curves: Curves) -> Section | None:
    """Test error against the norm of the network, and the norm against time."""
    by = size_column(curves)
    if by is None or not {"norm", "test_error"} <= set(curves.frame.columns):
        return None
    mean = seed_average(curves)
    x = next((c for c in PROGRESS if c in mean.frame), None)
    plots = [
        Plot(
            by_size(mean, "norm", "test_error", by),
            "Test error against the norm of the network at that time.",
        )
    ]
    if x is not None:
        shown = mean.select(**{x: lambda column: column > 0})
        plots.append(Plot(by_size(shown, x, "norm", by), "How the norm grows while the network trains."))
    text = (
        "Training makes the norm of the network grow. Seen against this norm instead of time, the early "
        "parts of the curves for all data sizes lie on one line; more data lets a run follow it further."
    )
    return Section("Error against norm", [text], plots)


def runs(curves: Curves, limit: int = 200) -> Section:
    """The runs themselves, as text: setting, and the best and last measurement."""
    frame = curves.frame
    y = next((c for c in MEASURES if c in frame and frame[c].notna().any()), None)
    names = [c for c in curves.setting_columns if frame[c].nunique(dropna=False) > 1]
    constant = {c: frame[c].iloc[0] for c in curves.setting_columns if frame[c].nunique(dropna=False) == 1}
    groups = frame.groupby("run", sort=False)
    table = groups[names].first() if names else pd.DataFrame(index=groups.size().index)
    table["checkpoints"] = groups.size()
    if y is not None:
        table[f"best {label(y)}"] = groups[y].min()
        table[f"last {label(y)}"] = groups[y].last()
    if "diverged" in frame:
        diverged = groups["diverged"].max().fillna(0).astype(bool)
        table["diverged"] = np.where(diverged, "yes", "no")
    said = [f"{len(table)} runs, {len(frame)} checkpoints."]
    if constant:
        said.append("The same in all: " + ", ".join(f"{k} {v}" for k, v in constant.items()) + ".")
    if len(table) > limit:
        said.append(f"The first {limit} are listed.")
    table = table.reset_index(drop=True).sort_values(names, kind="stable").head(limit)
    return Section("Runs", said, tables=[("", table)])
