"""Figures behind decisions: valleys over settings, mixtures, and the best SGD noise against width."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.figures.style import (
    MUTED,
    PALETTE,
    axis_label,
    band,
    colors,
    hollow,
    log_x,
    loglog,
    panels,
    points,
    sparse,
    through_middle,
)
from scalinglab.laws.tuning.transfer import value_of
from scalinglab.support.validation import checked
from scalinglab.support.words import UNKNOWN, count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scalinglab.laws.mixing.shares import Mixture, Proposal
    from scalinglab.laws.noise import OptimalNoise
    from scalinglab.laws.tuning.transfer import Hyperparameters

SHOWN = 6  # sizes whose valleys are drawn
HIGHEST = 4.0  # windows above the best run up to which a valley is drawn


@checked
def hyperparameters(found: Hyperparameters) -> Figure:
    """Above, the valley of each setting at several sizes; below, its minima, the law and the prediction.

    A point of a valley is the lowest loss at that value, whatever the other settings were. Sizes are
    given by their product.
    """
    names = list(found.settings)
    figure, axes = panels(2, len(names), size=(4.6, 3.0))
    for i, name in enumerate(names):
        _valleys(axes[0, i], found, i, name)
        optima(axes[1, i], found, name)
    return figure


def _valleys(axes: Axes, found: Hyperparameters, i: int, name: str) -> None:
    cells = found.valleys.cells
    order = np.argsort([c.size.sum() for c in cells])
    chosen = order[np.unique(np.linspace(0, len(order) - 1, min(SHOWN, len(order))).round().astype(int))]
    top = HIGHEST * found.valleys.window
    floor = np.linalg.inv(found.valleys.hessian)[i]  # along it the others are at their best
    floor = floor / floor[i]
    for k, shade in zip(chosen, colors(chosen), strict=True):
        cell, least, best = cells[k], found.valleys.offsets[k], found.valleys.optima[k]
        places = np.unique(cell.z[:, i])
        lowest = np.array([cell.y[cell.z[:, i] == z].min() for z in places])
        near = lowest - least < top
        axes.plot(value_of(name, places[near]), 100 * (lowest[near] - least), "o", color=shade, markersize=3)
        steps = np.linspace(places[near].min(), places[near].max(), 80) if near.any() else places
        along = found.valleys.above((steps - best[i])[:, None] * floor)
        axes.plot(value_of(name, steps), 100 * along, color=shade, linewidth=1.0)
        label = ", ".join(count(float(np.exp(s))) for s in cell.size)
        axes.plot(value_of(name, best[i]), 0.0, "v", color=shade, markersize=6, label=label)
    log_x(axes, xlabel=name, ylabel="ln loss above the valley / %", title="valleys and minima")
    axes.set_ylim(-25 * found.valleys.window, 100 * top)
    axes.legend(title=", ".join(found.law_sizes), fontsize=7)


def optima(axes: Axes, found: Hyperparameters, name: str | None = None) -> None:
    """Best runs and minima of one setting, by default the first, against its law, and the prediction."""
    name = name or next(iter(found.settings))
    i = [*found.settings].index(name)
    sizes = np.array([c.size for c in found.valleys.cells])
    law = np.array([found.law.at(size)[0][i] for size in sizes])
    minima, best = found.valleys.optima[:, i], np.array([c.best[i] for c in found.valleys.cells])
    one = found.settings[name]
    along = [*value_of(name, law), one.value]
    ends = [min(along), max(along)]
    axes.plot(ends, ends, color=MUTED, linewidth=1.0, label="the law")
    axes.plot(value_of(name, law), value_of(name, best), "o", color=MUTED, markersize=3, label="best run")
    axes.plot(
        value_of(name, law), value_of(name, minima), "v", color=PALETTE[0], label="minimum of the valley"
    )
    span = [[one.value - one.low], [one.high - one.value]]
    axes.errorbar([one.value], [one.value], yerr=span, fmt="*", color=PALETTE[1], markersize=11, capsize=3,
                  label="prediction")  # fmt: skip
    powers = " · ".join(f"{size}$^{{{power:.2f}}}$" for size, power in one.exponents.items())
    loglog(axes, f"{name} by the law", f"best {name}", f"∝ {powers}")
    for axis in (axes.xaxis, axes.yaxis):
        sparse(axis)
    axes.legend(fontsize=7)


@checked
def mixture(found: Mixture, others: pd.DataFrame | None = None) -> Figure:
    """Predicted against measured loss of runs left out, ranks of others, and the proposal.

    Args:
        found: the fitted mixtures.
        others: measured mixtures that were not fitted, of the same or another size: their ranks count.
    """
    figure, axes = panels(1, 3, size=(4.2, 3.4))
    left, middle, right = axes[0]
    left_out(left, found)
    if others is not None and found.y in others:
        predicted = found.predict(others)["mean"].to_numpy()
        rank, measured = (np.argsort(np.argsort(v)) + 1 for v in (predicted, others[found.y].to_numpy()))
        middle.plot(rank, measured, "o", color=PALETTE[1], markersize=2.5)
        middle.set(xlabel="rank by prediction", ylabel="measured rank", title="runs that were not fitted")
    else:
        middle.hist(100 * found.errors, bins="auto", color=PALETTE[0])
        middle.set(xlabel="error of a run left out / %", ylabel="runs", title="errors")
    bars(right, found.best(), dict(zip(found.shares, found.runs[found.loss.argmin()], strict=True)))
    return figure


def left_out(axes: Axes, found: Mixture) -> None:
    """The measured loss of every run against what the others predict."""
    ends = [found.loss.min(), found.loss.max()]
    axes.plot(ends, ends, color=MUTED, linewidth=1.0)
    axes.plot(np.exp(found.model.left_out), found.loss, "o", color=PALETTE[0], markersize=2.5)
    axes.set(xlabel=f"{found.y} by the other runs", ylabel=f"measured {found.y}", title="runs, each left out")


def bars(axes: Axes, best: Proposal, least: Mapping[str, float] | None = None) -> None:
    """The ten largest shares of a proposal, and of the best run where it is given, from half a percent on."""
    largest = {name: max(share, (least or {}).get(name, 0.0)) for name, share in best.shares.items()}
    shown = [name for name in sorted(largest, key=lambda name: largest[name])[-10:] if largest[name] > 0.005]
    places, one = np.arange(len(shown)), best.loss
    axes.barh(places + 0.2, [best.shares[n] for n in shown], 0.4, color=PALETTE[1], label="proposal")
    if least is not None:
        axes.barh(places - 0.2, [least[n] for n in shown], 0.4, color=MUTED, label="best run")
    axes.set_yticks(places, [n.removeprefix("share_") for n in shown])
    axes.set(xlabel="share", title=f"proposal: loss {one.value:.4g} [{one.low:.4g}, {one.high:.4g}]")
    axes.legend(loc="lower right")


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
    y = "test accuracy" if found.y.endswith("error") else axis_label(found.y)
    axis.set(xscale="log", xlabel=axis_label(found.x), ylabel=y)
    sparse(axis.xaxis)
    if sign > 0:  # runs far beyond the optimum must not make the maxima flat
        top, spread = found.accuracy.max(), np.ptp(found.accuracy)
        bottom = top - max(4 * spread, 10 * found.stderr.max(), 0.005)
        axis.set_ylim(max(bottom, axis.get_ylim()[0]), top + 0.15 * (top - bottom))
    axis.set_title(title)
    axis.legend(title=found.width_column.replace("_", " "), fontsize=7)


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
    loglog(axis, axis_label(found.width_column), f"optimal {axis_label(found.x)}")
    sparse(axis.yaxis)
    verdict = "not decided" if found.verdict == "cannot tell" else found.verdict
    claim = f": p = {found.claim:g} {verdict}" if np.isfinite(found.claim) else ""
    shown = f"{p.value:.2f} [{p.low:.2f}, {p.high:.2f}]" if np.isfinite(p.value) else UNKNOWN
    axis.set_title(f"p = {shown}{claim}", fontsize=9)
    axis.legend(fontsize=7)


def around(estimates: Any) -> np.ndarray:
    """Distances from the value to both ends, for error bars."""
    return np.array([[e.value - e.low, e.high - e.value] for e in estimates]).clip(0).T
