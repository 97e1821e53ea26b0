"""Figures behind decisions: valleys over settings, and mixtures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from scalinglab.figures.style import MUTED, PALETTE, colors, log_x, loglog, panels, sparse
from scalinglab.laws.tuning.transfer import value_of
from scalinglab.support.validation import checked
from scalinglab.support.words import count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scalinglab.laws.mixing.shares import Mixture, Proposal
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
