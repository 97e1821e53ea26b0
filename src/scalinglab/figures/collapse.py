"""Figures of several sizes at once: curves, their collapse, their dynamical laws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.figures.data import laws_of_norm
from scalinglab.figures.style import INK, MUTED, PALETTE, colors, loglog, panels, points, through_middle
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scalinglab.laws.learning_curves.collapse import Collapse
    from scalinglab.laws.learning_curves.dynamical import Dynamical


# what x and y are divided by in each way of rescaling
UNITS = {"position": ("position", "smallest"), "optimum": ("optimum", "optimum")}


def sizes_legend(axis: Axes, sizes: Any, title: str = "size", **options: Any) -> None:
    """The smallest, middle and largest size in their colours; options are matplotlib's."""
    shades = colors(sizes)
    for i in sorted({0, len(sizes) // 2, len(sizes) - 1}):
        axis.plot([], [], color=shades[i], label=f"{sizes[i]:,.6g}")
    axis.legend(title=title, **options)


def plain_ticks(axis: Axes, which: str = "both") -> None:
    """Label 1, 2 and 5 of each decade with plain numbers: for axes that span a decade or two."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    for name in ("x", "y") if which == "both" else (which,):
        side = getattr(axis, f"{name}axis")
        low, high = sorted(getattr(axis, f"get_{name}lim")())
        if low > 0 and high / low < 300 and high < 1e6:
            every = LogLocator(subs=(1, 2, 5) if high / low < 30 else (1, 3))
            side.set_major_locator(every if high / low > 4 else MaxNLocator(5))
            side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
            side.set_minor_formatter(NullFormatter())


def draw_curves(
    axis: Axes, found: Dynamical, runs: Any, x: str = "norm", y: str = "test error", title: str = ""
) -> None:
    """Mean curves of every size with their optima (stars) and elbows (bars).

    Args:
        runs: the curves by size, as `mean_curves.size_curves` gives them.
    """
    loglog(axis, x, y, title)
    table = found.table
    for shade, curve, (_, row) in zip(colors(runs), runs, table.iterrows(), strict=True):
        axis.plot(np.exp(curve.x), np.exp(curve.y), ".-", color=shade, linewidth=0.7, markersize=2)
        axis.plot(row["x_optimum"], row["y_optimum"], "*", color=shade, markersize=8, markeredgecolor=INK,
                  markeredgewidth=0.4)  # fmt: skip
        at_elbow = float(np.exp(curve.smoothed(np.log(row["elbow"]))))
        axis.plot(row["elbow"], at_elbow, "|", color=INK, markersize=6, markeredgewidth=0.9)


def draw_collapse(axis: Axes, found: Collapse, x: str = "norm", y: str = "error", title: str = "") -> None:
    """Rescaled curves over the master curve; the sizes that do not belong to it are drawn thin and pale."""
    place, height = UNITS[found.by]
    loglog(axis, f"{x} / {place}", f"{y} / {height}", title)
    for shade, size, holds in zip(colors(found.sizes), found.sizes, found.holds, strict=True):
        part = found.rescaled[np.isclose(found.rescaled["size"], size)]
        axis.plot(part["x"], part["y"], ".-" if holds else "-", color=shade, markersize=2,
                  linewidth=0.8 if holds else 0.6, alpha=1.0 if holds else 0.4)  # fmt: skip
    if found.holds.any():
        axis.plot(found.x, found.y, color=INK, linewidth=1.6, linestyle=(0, (4, 2)), label="master curve Φ")
        axis.legend(frameon=False)


def draw_law(
    axis: Axes,
    sizes: Any,
    values: Any,
    exponent: Any,
    text: str,
    *,
    low: Any = None,
    high: Any = None,
    color: str = PALETTE[0],
    falling: bool = False,
    plain: str = "both",
    **line: Any,
) -> None:
    """Points against size with a power law of the given exponent through their middle.

    Args:
        low, high: ends of the points' error bars.
        falling: whether the law is values ∝ size^-exponent.
        plain: which axes get plain numbers, as in `plain_ticks`.
    """
    sizes, values = np.asarray(sizes, float), np.asarray(values, float)
    error = None if low is None else np.array([values - np.asarray(low), np.asarray(high) - values])
    points(axis, sizes, values, error, color=color)
    value = -exponent.value if falling else exponent.value
    ends = np.array([sizes.min(), sizes.max()])
    law = through_middle(sizes, values, value, ends)
    axis.plot(ends, law, color=color, linewidth=1.2, label=text, **line)
    plain_ticks(axis, plain)


@checked
def dynamical(
    found: Dynamical, runs: Any, x: str = "norm", y: str = "test error", size: str = "size"
) -> Figure:
    """The curves with their optima and elbows; where the optimum lies against size; its height."""
    figure, axes = panels(1, 3, size=(4.0, 3.3))
    draw_curves(axes[0, 0], found, runs, x, y, f"γ₁ = {found.gamma_1}")
    sizes_legend(axes[0, 0], found.table["size"].to_numpy(), size)
    table = found.table
    loglog(axes[0, 1], size, x, "where the optimum lies")
    optima, positions = laws_of_norm(found)
    draw_law(axes[0, 1], optima.sizes, optima.values, optima.exponent, f"optimum: {optima.exponent}",
             low=table["x_optimum_low"], high=table["x_optimum_high"])  # fmt: skip
    draw_law(axes[0, 1], positions.sizes, positions.values, positions.exponent,
             f"collapse: γ₂ = {positions.exponent}", color=PALETTE[1])  # fmt: skip
    axes[0, 1].legend(frameon=False)
    loglog(axes[0, 2], size, f"smallest {y}", "how good the optimum is")
    draw_law(axes[0, 2], table["size"], table["y_optimum"], found.gamma_measured,
             f"γ = {found.gamma_measured}", falling=True)  # fmt: skip
    draw_predicted(axes[0, 2], found)
    axes[0, 2].legend(frameon=False)
    return figure


def draw_predicted(axis: Axes, found: Dynamical) -> None:
    """The power laws of the height of the optimum that γ₁ and both γ₂ predict."""
    for name, gamma, color, style in (
        ("optima", found.gamma_predicted_optimum, PALETTE[2], ":"),
        ("collapse", found.gamma_predicted, PALETTE[1], "--"),
    ):
        law = through_middle(found.table["size"], found.table["y_optimum"], -gamma.value)
        axis.plot(found.table["size"], law, color=color, linewidth=1.2, linestyle=style,
                  label=f"γ₁γ₂ = {gamma}, {name}")  # fmt: skip


@checked
def collapse(found: Collapse, x: str = "norm", y: str = "test error", size: str = "size") -> Figure:
    """The collapse left, and how far each size is from the master curve right."""
    figure, axes = panels(1, 2, size=(4.6, 3.4))
    draw_collapse(axes[0, 0], found, x, y)
    right = axes[0, 1]
    right.set(xscale="log", yscale="log", xlabel=size, ylabel="rms deviation from Φ / %")
    right.plot(
        found.sizes[found.holds], 100 * found.deviation[found.holds], "o", color=PALETTE[0], label="holds"
    )
    right.plot(found.sizes[~found.holds], 100 * found.deviation[~found.holds], "o", color=MUTED,
               markerfacecolor="none", label="does not")  # fmt: skip
    plain_ticks(axes[0, 0], "y")
    plain_ticks(right)
    right.legend(frameon=False)
    return figure
