"""Figures of fitted laws: points with error bars, the law, its interval, its slope, residuals below."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.deprecation import renamed_arguments
from scalinglab.errors import BadInput
from scalinglab.figures.style import (
    INK,
    MUTED,
    PALETTE,
    SEQUENTIAL,
    band,
    loglog,
    panels,
    points,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scalinglab.laws import Law
    from scalinglab.laws.planning.hoffmann import Approaches
    from scalinglab.laws.surface import Surface


def law(
    fitted: Law, *, x: str = "x", y: str = "y", title: str = "", beyond: float = 3.0, level: float = 0.95
) -> Figure:
    """A law over its points, with its interval, and the residuals below.

    Args:
        fitted: a law of one variable.
        x, y: labels of the axes.
        beyond: how far the law is drawn past the largest point, as a factor.
        level: of the interval.
    """
    data = fitted.points
    figure, axes = panels(2, 1, size=(5.2, 2.6), sharex=True, gridspec_kw={"height_ratios": [3, 1]})
    top, below = axes[:, 0]
    grid = np.geomspace(data.x.min() / 1.2, data.x.max() * beyond, 60)
    curve = np.asarray(fitted.predict(grid))
    low, high = fitted.interval(grid, level)
    lowest, highest = min(data.y.min(), curve.min()), max(data.y.max(), curve.max())
    room = 3 * (highest - lowest)  # an open interval must not make the points small
    ends = (data.y.min() / 30, 3 * highest) if data.y.min() > 0 else (lowest - room, highest + room)
    band(top, grid, np.clip(low, *ends), np.clip(high, *ends), color=PALETTE[0])
    inside = grid <= data.x.max()
    top.plot(grid[inside], curve[inside], color=PALETTE[0], label=fitted.form.name.replace("_", " "))
    top.plot(grid[~inside], curve[~inside], color=PALETTE[0], linestyle="--")
    points(top, data.x, data.y, data.error, color=INK, label="measured", zorder=3)
    if data.y.min() > 0:
        loglog(top, "", y, title)
    else:
        top.set(xscale="log", ylabel=y, title=title)
    # a falling law leaves this corner free; at the line the words would cover points
    top.annotate(_slope_text(fitted), (0.98, 0.95), xycoords="axes fraction", ha="right", va="top", color=INK)
    top.legend(loc="lower left")
    residuals = fitted.residuals
    unit, factor = ("residual / %", 100.0) if fitted.log else ("residual", 1.0)
    spread = None
    if data.error is not None:
        spread = factor * (data.error / data.y if fitted.log else data.error)
    below.axhline(0, color=PALETTE[0], linewidth=1)
    points(below, data.x, factor * residuals, spread, color=INK)
    below.set(xlabel=x, ylabel=unit, xscale="log")
    limit = 1.15 * np.max(np.abs(factor * residuals) + (0 if spread is None else spread)) + 1e-12
    below.set_ylim(-limit, limit)
    return figure


def _slope_text(fitted: Law) -> str:
    if fitted.form.exponent is None:
        return ""
    if isinstance(fitted.form.exponent, float):
        return f"exponent {fitted.exponent:.3f}, held"
    if fitted.unidentified:
        return "exponent not identified"
    low, high = fitted.parameter_intervals["exponent"]
    return f"exponent {fitted.exponent:.3f} [{low:.3f}, {high:.3f}]"


@renamed_arguments(flops="flops_per_param_example")
def surface(
    fitted: Surface,
    *,
    compute: Any = None,
    flops_per_param_example: float = 6.0,
    title: str = "",
    loss: str = "loss",
) -> Figure:
    """A surface: its points and the compute-optimal line left, residuals right."""
    n, d = fitted.law.points.x[:2]
    y = fitted.law.points.y
    figure, axes = panels(1, 2, size=(4.6, 3.6))
    left, right = axes[0]
    drawn = left.scatter(
        n,
        y,
        c=np.log10(flops_per_param_example * n * d),
        cmap=SEQUENTIAL,
        s=14,
        edgecolors="white",
        linewidths=0.3,
    )
    figure.colorbar(drawn, ax=left, label="log10 FLOPs")
    budgets = np.geomspace(
        (flops_per_param_example * n * d).min(), (flops_per_param_example * n * d).max(), 6
    )
    for budget in budgets:
        sizes = np.geomspace(n.min(), n.max(), 60)
        data = budget / flops_per_param_example / sizes
        seen = (data > d.min() / 3) & (data < d.max() * 3)
        left.plot(sizes[seen], fitted.predict(sizes[seen], data[seen]), color=MUTED, linewidth=0.8)
    farthest = budgets[-1] * 10 if compute is None else max(budgets[-1], np.max(compute))
    along = np.geomspace(budgets[0], farthest, 40)
    with suppress(BadInput):  # a loss that does not fall with one of the sizes has no optimum
        optimal = fitted.compute_optimal(
            along, flops_per_param_example=flops_per_param_example, intervals=False
        )
        left.plot(optimal.n_params, optimal.loss, color=PALETTE[1], label="compute-optimal")
    if compute is not None:
        best = fitted.compute_optimal(np.atleast_1d(compute), flops_per_param_example=flops_per_param_example)
        left.errorbar(
            best.n_params, best.loss, fmt="*", color=PALETTE[1], markersize=9,
            xerr=np.abs(np.array(best.n_params_interval) - best.n_params),
            yerr=np.abs(np.array(best.loss_interval) - best.loss),
        )  # fmt: skip
    loglog(left, "n_params", loss, title or fitted.law.form.name)
    if left.get_legend_handles_labels()[1]:
        left.legend(loc="upper right", frameon=False)
    right.axhline(0, color=MUTED, linewidth=1)
    right.scatter(
        flops_per_param_example * n * d, 100 * fitted.law.residuals, c=np.log10(n), cmap=SEQUENTIAL, s=12
    )
    right.set(xscale="log", xlabel="FLOPs", ylabel="residual / %", title="measured minus surface")
    return figure


@renamed_arguments(flops="flops_per_param_example")
def approaches(found: Approaches, fitted: Surface, *, flops_per_param_example: float = 6.0) -> Figure:
    """The three ways to the compute-optimal model, over each other."""
    figure, axes = panels(1, 1, size=(5.2, 3.6))
    axis = axes[0, 0]
    first = min(row.compute.min() for row in found.rows if len(row.compute))
    grid = np.geomspace(first, max(found.compute, first * 100), 40)
    for row, color in zip(found.rows, PALETTE, strict=False):
        if len(row.compute):
            points(axis, row.compute, row.best, color=color, markersize=3)
            line = row.n_params * (grid / found.compute) ** row.exponent
        else:
            line = np.asarray(
                fitted.compute_optimal(
                    grid, flops_per_param_example=flops_per_param_example, intervals=False
                ).n_params
            )
        axis.plot(grid, line, color=color, label=f"{row.name}: a = {row.exponent:.3f}")
    loglog(axis, "FLOPs", "optimal n_params")
    axis.legend(frameon=False)
    return figure
