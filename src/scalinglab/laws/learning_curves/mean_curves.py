"""From a table of runs to one curve per size: what `collapse` and `dynamical` start from.

The runs of one size (its seeds) are put on one grid of ln x and averaged; each point carries the standard
error of that mean. Points are dropped, and counted, where x or the mean y is missing or not positive: both
live on log axes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.curves.columns import is_numeric, no_number, varying_within
from scalinglab.errors import BadInput, nearest
from scalinglab.laws.learning_curves.smoothing import Smooth, smooth
from scalinglab.results.estimate import FEWEST
from scalinglab.results.types import Reason

# defined: of a curve; three make a parabola, which smoothing leaves as it is, `FEWEST` more show the noise
FEWEST_POINTS = 3 + FEWEST


@dataclass(frozen=True)
class SizeCurve:
    """The mean curve of one size, in logs.

    Attributes:
        size: the data size (or another column that identifies the curves).
        x, y: (n,) ln x ascending and ln of the mean y over the runs.
        stderr: (n,) standard error of y over runs; None where there is one run, or the table is an average.
        runs: (r, n) y of the single runs on the same grid (NaN outside a run's range).
        smoothed: the curve without its noise.
        dropped: points left out because x or y was missing or not positive.
    """

    size: float
    x: np.ndarray
    y: np.ndarray
    stderr: np.ndarray | None
    runs: np.ndarray = field(repr=False)
    smoothed: Smooth = field(repr=False)
    dropped: int = 0


def size_curves(
    curves: Curves | pd.DataFrame, x: str, y: str, size: str, fewest_sizes: int = FEWEST
) -> list[SizeCurve]:
    """One mean curve for each size, smallest first."""
    table = curves if isinstance(curves, Curves) else Curves(curves)
    frame = table.frame
    _check_columns(frame, x, y, size)
    _one_experiment(table, size)
    made, short = [], []
    for value, rows in frame.dropna(subset=[size]).groupby(size, sort=True):
        curve = _mean_curve(float(value), rows, x, y, rows_are_a_curve=_rows_are_a_curve(table, x))
        if curve is None:
            short.append(float(value))
        else:
            made.append(curve)
    if len(made) < fewest_sizes:
        few = f" (fewer: {size} = {', '.join(f'{s:g}' for s in short)})" if short else ""
        raise BadInput(
            f"{len(made)} of {len(made) + len(short)} curves have {FEWEST_POINTS} usable points{few}: "
            f"a law across sizes needs at least {fewest_sizes}; does {size!r} identify the curves?"
        )
    return made


def _check_columns(frame: pd.DataFrame, x: str, y: str, size: str) -> None:
    """Refuse columns that cannot be curves y(x) of several sizes."""
    for column in (x, y, size):
        if column not in frame:
            raise BadInput(f"no column {column!r} in these curves; {nearest(column, frame.columns)}")
        if not is_numeric(frame[column]):
            raise BadInput(f"column {column!r} must hold numbers, not {no_number(frame[column])!r}")
    if len({x, y, size}) < 3:
        raise BadInput(f"x={x!r}, y={y!r} and size={size!r} must be three different columns")
    if (smallest := frame[size].min()) <= 0:
        raise BadInput(f"{size} = {smallest:g} must be positive: it is a size")


def left_out(
    curves: Curves | pd.DataFrame, found: list[SizeCurve], x: str, y: str, size: str
) -> tuple[Reason, ...]:
    """What `size_curves` could not use."""
    sizes = (curves.frame if isinstance(curves, Curves) else curves)[size]
    short = tuple(sorted(set(map(float, sizes.dropna())) - {curve.size for curve in found}))
    lost = sum(curve.dropped for curve in found)
    notes = []
    if short:
        notes.append(Reason("short_curves", size=size, sizes=short, needed=FEWEST_POINTS))
    if lost:
        notes.append(Reason("points_not_positive", points=lost, x=x, y=y))
    if missing := int(sizes.isna().sum()):
        notes.append(Reason("rows_without_size", rows=missing, size=size))
    return tuple(notes)


def _one_experiment(table: Curves, size: str) -> None:
    """A law is about one model on one data set: raise where the table holds several."""
    settings = [c for c in table.setting_columns if c not in table.seed_columns]
    for column in varying_within(table.frame, size, settings):
        found = ", ".join(map(str, list(table.frame[column].unique())[:5]))
        raise BadInput(
            f"the curves differ in {column!r} ({found}) at the same {size}: "
            f"select one, as in curves.select({column}=…) or --where {column}=…"
        )


ROW_COUNT = "repeat"  # the column in which readers count rows of equal settings, each taken for a run


def _rows_are_a_curve(table: Curves, x: str) -> bool:
    """Whether the rows of one size are points of one curve: the table tells neither runs nor progress."""
    named = {*table.seed_columns, *table.progress_columns} - {ROW_COUNT, x}
    return not named and (ROW_COUNT in table.frame or x in table.progress_columns)


def _mean_curve(
    size: float, rows: pd.DataFrame, x: str, y: str, *, rows_are_a_curve: bool
) -> SizeCurve | None:
    parts = []
    usable = rows[[x, y]].apply(pd.to_numeric, errors="coerce")
    # a run may reach zero error on a small test set: it still counts in the mean over runs
    good = (usable[x] > 0) & (usable[y] >= 0) & np.isfinite(usable).all(axis=1)
    runs = [run for _, run in rows[good].groupby("run", sort=False)]
    if rows_are_a_curve and all(len(run) == 1 for run in runs):
        runs = [rows[good]]
    for run in runs:
        # a norm may stand still between two checkpoints: one x, one value
        one = run.groupby(x, sort=True)[y].mean()
        if len(one) >= 2:
            parts.append((np.log(one.index.to_numpy(float)), one.to_numpy(float)))
    if not parts:
        return None
    grid, single = _common_grid(parts) if len(parts) > 1 else (parts[0][0], parts[0][1][None])
    mean = np.nanmean(single, axis=0)
    keep = mean > 0
    grid, single, mean = grid[keep], single[:, keep], mean[keep]
    if grid.size < FEWEST_POINTS:
        return None
    stderr = None
    if len(parts) > 1:
        present = np.isfinite(single).sum(axis=0)
        spread = np.nanstd(single, axis=0) * np.sqrt(present / np.maximum(present - 1, 1))
        stderr = spread / mean / np.sqrt(present)
    dropped = int((~good).sum() + (~keep).sum())
    return SizeCurve(size, grid, np.log(mean), stderr, single, smooth(grid, np.log(mean)), dropped)


def _common_grid(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """All runs of a size on one grid of ln x that at least half of them reach."""
    starts, ends = np.sort([p[0][0] for p in parts]), np.sort([p[0][-1] for p in parts])
    half = len(parts) // 2
    low, high = starts[half], ends[len(parts) - 1 - half]
    if high <= low:
        low, high = starts[0], ends[-1]
    count = int(np.clip(np.median([p[0].size for p in parts]), 2, 200))
    grid = np.linspace(low, high, count)
    single = np.array([np.interp(grid, a, b, left=np.nan, right=np.nan) for a, b in parts])
    keep = np.isfinite(single).any(axis=0)
    return grid[keep], single[:, keep]
