"""Values of independent draws (seeds) at several sizes: as a table, as an array, drawn with errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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


def loglog_figure(
    x: str, y: str, title: str = "", size: tuple[float, float] | None = None
) -> tuple[Figure, Axes]:
    """A figure of one panel with logarithmic axes."""
    from scalinglab.figures import style

    figure, axes = style.panels() if size is None else style.panels(size=size)
    return figure, style.loglog(axes[0, 0], x, y, title)


def draw_means(axis: Axes, sizes: np.ndarray, values: np.ndarray, **look: Any) -> None:
    """Means over draws of values (draws, n), with their standard errors."""
    from scalinglab.figures import style

    error = values.std(0, ddof=1) / np.sqrt(len(values))
    style.points(axis, sizes, values.mean(0), error, **look)


def draw_power(
    axis: Axes, sizes: np.ndarray, values: np.ndarray, exponent: float, color: Any, label: str
) -> None:
    """Means over draws of values (draws, n), and a dashed power law size^−exponent through their middle."""
    from scalinglab.figures import style

    draw_means(axis, sizes, values, color=color, label=label)
    law = style.through_middle(sizes, values.mean(0), -exponent)
    axis.plot(sizes, law, color=color, lw=1, ls="--")
