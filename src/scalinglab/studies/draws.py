"""Values of independent draws (seeds) at several sizes: as a table, as an array, as points with errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def by_draw(
    frame: pd.DataFrame, size: str, value: str = "test_loss", draw: str = "seed"
) -> tuple[np.ndarray, np.ndarray]:
    """Sizes (n,), and values (draws, n); draws that lack a size are left out."""
    wide = frame.pivot_table(index=draw, columns=size, values=value).dropna()
    return wide.columns.to_numpy(float), wide.to_numpy(float)


def as_frame(sizes: np.ndarray, values: np.ndarray, size: str = "n_data", **common: Any) -> pd.DataFrame:
    """Losses (draws, n) at n sizes as a table with one row for each, and further columns."""
    draw, at = np.meshgrid(np.arange(len(values)), sizes, indexing="ij")
    columns = {**common, "seed": draw.ravel(), size: at.ravel()}
    return pd.DataFrame({**columns, "test_loss": values.ravel()})


def draw_means(axis: Axes, sizes: np.ndarray, values: np.ndarray, **look: Any) -> None:
    """Means over draws of values (draws, n), with their standard errors."""
    from scalinglab.figures import style

    error = values.std(0, ddof=1) / np.sqrt(len(values))
    style.points(axis, sizes, values.mean(0), error, **look)
