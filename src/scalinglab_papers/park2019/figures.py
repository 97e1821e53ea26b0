"""Figures of park2019 that no command draws: the optimum over the training time, stability."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import NullLocator

from scalinglab.figures.decisions import around
from scalinglab.figures.style import MUTED, PALETTE, axis_label, colors, loglog, panels, points, sparse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scalinglab.laws.noise import OverTime, Stability


def _shares(axis: Axes, found: OverTime) -> None:
    """Shares of the training time as fractions."""
    axis.set(xscale="log", xlabel="share of the training time T")
    axis.set_xticks(found.shares, [str(Fraction(share).limit_denominator(64)) for share in found.shares])
    axis.xaxis.set_minor_locator(NullLocator())


def draw_over_time(axis: Axes, found: OverTime, color: str = PALETTE[0], name: str = "") -> None:
    """Optimum over that at the end of training, with 95 % intervals."""
    ratios = found.ratio[:-1]
    values = np.array([e.value for e in ratios])
    points(axis, found.shares[:-1], values, around(ratios), color=color, label=name or None)
    axis.axhline(1, color=MUTED, linestyle="--", linewidth=1)
    _shares(axis, found)
    axis.set(yscale="log", ylabel="optimum / optimum at T")
    sparse(axis.yaxis)
    axis.set_title(f"from T/2 to T: {found.verdict}")


def stability(found: dict[str, Stability]) -> Figure:
    """Failure rates of each scheme, and the largest stable rate against width."""
    figure, axes = panels(1, len(found) + 1, size=(3.6, 3.2))
    last = axes[0, -1]
    for axis, (name, one), color in zip(axes[0], found.items(), PALETTE, strict=False):
        for width, share, shade in zip(one.width, one.failed, colors(one.width), strict=True):
            seen = np.isfinite(share)
            axis.plot(one.rates[seen], share[seen], "o-", color=shade, markersize=3, label=f"{width:g}")
        axis.set(xscale="log", xlabel="learning rate", ylabel="failed runs")
        axis.set_title(name)
        axis.legend(title=one.width_column.replace("_", " "), fontsize=7)
        c = one.exponent
        if not np.isfinite(one.largest).any():
            continue
        points(last, one.width, one.largest, np.abs(one.largest_interval - one.largest), color=color,
               label=f"{name}: w^{c.value:.2f} [{c.low:.2f}, {c.high:.2f}]")  # fmt: skip
    if last.has_data():
        loglog(last, axis_label(next(iter(found.values())).width_column), "largest stable learning rate")
        last.legend(fontsize=7)
    return figure
