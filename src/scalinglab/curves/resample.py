"""Interpolation of the curves of runs onto a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scalinglab.errors import BadInput


def make_grid(x: str, values: np.ndarray, at: Sequence[float] | np.ndarray | int, log: bool) -> np.ndarray:
    """The grid asked for: `at` itself, or so many points from the smallest to the largest value."""
    if len(values) == 0:
        raise BadInput(f"{x} is null everywhere: there is nothing to interpolate along")
    if log and values.min() <= 0:
        raise BadInput(f"{x} reaches {values.min():g}, which has no logarithm; pass log=False")
    if isinstance(at, (int, np.integer)):
        if at < 2:
            raise BadInput(f"at={at}: a grid needs two points or more")
        return (np.geomspace if log else np.linspace)(values.min(), values.max(), int(at))
    grid = np.unique(np.asarray(at, float))
    if len(grid) == 0 or not np.isfinite(grid).all() or (log and grid[0] <= 0):
        raise BadInput(f"at={at!r}: the grid needs finite values{', all positive' if log else ''}")
    return grid


def on_grid(grid: np.ndarray, x: np.ndarray, table: np.ndarray, log: bool) -> np.ndarray:
    """The columns of one run at the points of the grid: shape (points, columns)."""
    result = np.full((len(grid), table.shape[1]), np.nan)
    known = np.isfinite(table) & np.isfinite(x)[:, None]
    whole = known.all(axis=0)
    for column in np.flatnonzero(~whole & known.any(axis=0)):  # columns with gaps have places of their own
        rows = known[:, column]
        result[:, [column]] = on_grid(grid, x[rows], table[rows][:, [column]], log)
    if whole.any():
        result[:, whole] = _on_grid_whole(grid, x, table[:, whole], log)
    return result


def _on_grid_whole(grid: np.ndarray, x: np.ndarray, table: np.ndarray, log: bool) -> np.ndarray:
    places, count = np.unique(x, return_counts=True)
    values = table[np.argsort(x, kind="stable")]
    if len(places) < len(x):
        values = np.add.reduceat(values, np.cumsum(count) - count) / count[:, None]
    positive = log & (values > 0).all(axis=0)
    values = np.log(values, out=values.copy(), where=positive)
    outside = (grid < places[0]) | (grid > places[-1])
    right = np.searchsorted(places, grid).clip(min(1, len(places) - 1), len(places) - 1)
    left = np.maximum(right - 1, 0)
    distance = _log_ratio if log else np.subtract
    width = np.where(right > left, distance(places[right], places[left]), 1.0)
    weight = (distance(grid, places[left]) / width)[:, None]
    result = (1 - weight) * values[left] + weight * values[right]
    result[outside] = np.nan
    return np.exp(result, out=result, where=positive)


def _log_ratio(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """ln(high/low), exact for neighbours in the last bit, whose logarithms are equal."""
    change = np.zeros(np.broadcast_shapes(high.shape, low.shape))
    near = np.abs(high - low) <= low / 2
    np.divide(high - low, low, out=change, where=near)
    return np.where(near, np.log1p(change), np.log(high) - np.log(low))
