"""Figures of the optimal SGD noise: searches by width, the optimum against width, advice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.figures.style import (
    MUTED,
    PALETTE,
    band,
    colors,
    hollow,
    loglog,
    panels,
    points,
    sparse,
    through_middle,
)
from scalinglab.support.words import UNKNOWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scalinglab.laws.noise import OptimalNoise
    from scalinglab.laws.planning.sgd_noise_advice import NoiseAdvice

NAMES = {
    "normalized_noise_scale": "normalized noise scale ḡ / loss⁻¹",
    "noise_scale": "noise scale g",
    "widening_factor": "widening factor w",
    "width": "width (multiple of the base)",
    "learning_rate": "learning rate",
    "batch_size": "batch size",
}


def label(column: str) -> str:
    """A column in words, with its unit."""
    return NAMES.get(column, column.replace("_", " "))


def noise(found: OptimalNoise) -> Figure:
    """The searches of all widths left, the optimum against width right."""
    figure, axes = panels(1, 2, size=(4.4, 3.4))
    draw_searches(axes[0, 0], found)
    draw_optimum(axes[0, 1], found)
    return figure


def draw_searches(axis: Axes, found: OptimalNoise, title: str = "") -> None:
    """Mean score against the level, one curve a width; the best interval of each is drawn thick."""
    sign = -1.0 if found.y.endswith("loss") else 1.0
    for one, width, low, high, color in zip(
        found.searches, found.width, found.low, found.high, colors(found.width), strict=True
    ):
        use = one.usable
        level, mean, error = one.level[use], sign * one.mean[use], one.stderr[use]
        points(axis, level, mean, error, color=color, fmt="o-", linewidth=1, markersize=3, label=f"{width:g}")
        best = (level >= low * (1 - 1e-6)) & (level <= high * (1 + 1e-6))
        axis.plot(level[best], mean[best], color=color, linewidth=3.5, alpha=0.6, solid_capstyle="round")
    y = "test accuracy" if found.y.endswith("error") else label(found.y)
    _log_axis(axis, label(found.x), y)
    if sign > 0:  # runs far beyond the optimum must not make the maxima flat
        top, spread = found.accuracy.max(), np.ptp(found.accuracy)
        bottom = top - max(4 * spread, 10 * found.stderr.max(), 0.005)
        axis.set_ylim(max(bottom, axis.get_ylim()[0]), top + 0.15 * (top - bottom))
    axis.set_title(title)
    axis.legend(title=found.width_column.replace("_", " "), fontsize=7)


def _log_axis(axis: Axes, x: str, y: str) -> None:
    """A logarithmic x axis with few labels."""
    axis.set(xscale="log", xlabel=x, ylabel=y)
    sparse(axis.xaxis)


def draw_optimum(axis: Axes, found: OptimalNoise, color: str = PALETTE[0], name: str = "") -> None:
    """Optimum against width: best intervals thin, 95 % intervals of the middle thick, both lines."""
    w = found.width
    if np.isfinite(found.noise_interval).all():
        axis.vlines(w, *found.noise_interval, color=color, linewidth=4, alpha=0.25)
    spread = np.array([found.noise - found.low, found.high - found.noise])
    points(axis, w, found.noise, spread, color=color, label=name or "middle of the best interval")
    if found.edge.any():
        axis.plot(w[found.edge], found.noise[found.edge], "o", **hollow(color), zorder=5,
                  label="at the end of the search")  # fmt: skip
    grid = np.geomspace(w.min() / 1.15, w.max() * 1.15, 30)
    p = found.power
    axis.plot(grid, found.slope * grid, color=color, linewidth=1, linestyle="--", label="a w")
    if np.isfinite(p.value):
        line, *sides = (
            through_middle(w[found.used], found.noise[found.used], exponent, grid)
            for exponent in (p.value, p.low, p.high)
        )
        axis.plot(grid, line, color=color, label=f"w^p, p = {p.value:.2f}")
        if np.isfinite(p.low):
            band(axis, grid, np.minimum(*sides), np.maximum(*sides), color=color, alpha=0.08)
    loglog(axis, label(found.width_column), f"optimal {label(found.x)}")
    sparse(axis.yaxis)
    verdict = "not decided" if found.verdict == "cannot tell" else found.verdict
    claim = f": p = {found.claim:g} {verdict}" if np.isfinite(found.claim) else ""
    shown = f"{p.value:.2f} [{p.low:.2f}, {p.high:.2f}]" if np.isfinite(p.value) else UNKNOWN
    axis.set_title(f"p = {shown}{claim}", fontsize=9)
    axis.legend(fontsize=7)


def around(estimates: Any) -> np.ndarray:
    """Distances from the value to both ends, for error bars."""
    return np.array([[e.value - e.low, e.high - e.value] for e in estimates]).clip(0).T


def advice(found: NoiseAdvice) -> Figure:
    """The optimum continued to another width left, the batch size that it takes right."""
    figure, axes = panels(1, 2, size=(4.4, 3.4))
    left, right = axes[0]
    optima = found.found
    draw_optimum(left, optima)
    units = found.widening_factor / found.width if np.isfinite(found.widening_factor) else 1.0
    w = found.width * units
    star = {"fmt": "*", "markersize": 11, "color": PALETTE[1]}
    points(left, [w], [found.noise.value], around([found.noise]), label=f"width {found.width:g}", **star)
    left.legend(fontsize=7)
    grows = 1.0 if found.scheme == "standard" else 0.0
    reach = found.critical_width.value * units
    far = min(reach, 100 * w) if np.isfinite(reach) else 10 * w
    grid = np.geomspace(optima.width[0], 1.5 * max(far, w), 60)
    batch = found.batch_size_there.value * (grid / w) ** (grows - optima.power.value)
    right.plot(grid, batch, color=PALETTE[0], label=f"at learning rate {found.learning_rate:g}")
    points(right, [w], [found.batch_size_there.value], around([found.batch_size_there]), **star)
    right.axhline(1, color=MUTED, linestyle="--", linewidth=1)
    loglog(right, label(optima.width_column), "best batch size")
    right.set_title("below a batch of one the optimum is out of reach", fontsize=9)
    right.legend(fontsize=7)
    return figure
