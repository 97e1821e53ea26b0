"""Figures 3, 4, 7, 8 and 9: published curves and our own side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scalinglab.errors import BadInput
from scalinglab.figures.collapse import (
    draw_collapse,
    draw_curves,
    draw_law,
    draw_predicted,
    plain_ticks,
    sizes_legend,
)
from scalinglab.figures.style import INK, PALETTE, colors, headroom, loglog, panels, panels_for
from scalinglab.laws.learning_curves.collapse import collapse
from scalinglab.studies import Reproduction, Row, trained
from scalinglab_papers.damico2025 import study
from scalinglab_papers.damico2025.pairs import AS_PUBLISHED, Pair, joined_curves, our_pairs, pairs
from scalinglab_papers.damico2025.published import MAY_CURVES

DEVIATES = 0.1  # a relative deviation from the master curve that would be seen
NORM_TOLERANCE = 1e-4  # relative, of a mean over measured norms
ONE_LAW = 0.1  # a spread of ln ε over sizes, at one norm in the early phase, that would be seen


def analysed(scale: str, version: str = MAY_CURVES.version) -> tuple[Pair, ...]:
    """The pairs of a scale, or an error where there is nothing at all."""
    made = pairs(scale, trained.run_storage(), version)
    if not made:
        raise BadInput(
            "there are neither published curves nor runs here: get the first with 'scalinglab data get "
            "damico2025-curves', train with --scale laptop, or read a store with --store"
        )
    return made


def _sheet(made: tuple[Pair, ...], draw: Callable[[Axes, Pair], None]) -> Figure:
    """A row for each network: its data sets, published beside ours, under the norm as published."""
    own = {(pair.name, pair.origin) for pair in made if pair.norm == AS_PUBLISHED}
    shown = [pair for pair in made if pair.norm == AS_PUBLISHED or (pair.name, pair.origin) not in own]
    order = {name: place for place, name in enumerate(study.PAIRS)}
    shown.sort(key=lambda pair: order.get(pair.name, -1))  # published first, as they were
    networks = list(dict.fromkeys(pair.name.split()[0] for pair in shown))
    lines = [[pair for pair in shown if pair.name.split()[0] == network] for network in networks]
    figure, axes = panels(len(lines), max(map(len, lines)), size=(3.2, 2.7))
    for line, pairs_ in zip(axes, lines, strict=True):
        for axis in line[len(pairs_) :]:
            axis.set_axis_off()
        for axis, pair in zip(line, pairs_):
            draw(axis, pair)
            axis.set(ylabel=axis.get_ylabel() if axis is line[0] else "")
    small_print(axes.ravel())
    return figure


def small_print(axes: np.ndarray) -> None:
    """Titles and legends for a sheet of many panels."""
    for axis in axes:
        axis.title.set_fontsize(8)
        if axis.get_legend():
            for words in (*axis.get_legend().get_texts(), axis.get_legend().get_title()):
                words.set_fontsize(6)


def plain_curves(axis: Axes, pair: Pair) -> None:
    """The mean curves of a pair without any law."""
    loglog(axis, "norm", "test error")
    for shade, curve in zip(colors(pair.runs), pair.runs, strict=True):
        axis.plot(np.exp(curve.x), np.exp(curve.y), ".-", color=shade, linewidth=0.7, markersize=2)


# --- Fig. 3 ----------------------------------------------------------------------------------------------


def fig3(scale: str) -> Reproduction:
    """Test error against norm; the early phase is one curve for every size, up to an elbow."""
    made = analysed(scale)

    def draw(axis: Axes, pair: Pair) -> None:
        title = f"{pair.title}\n" + ("" if pair.found is None else f"γ₁ = {pair.found.gamma_1}")
        if pair.found is None:
            plain_curves(axis, pair)
            axis.set_title(title)
        else:
            draw_curves(axis, pair.found, pair.runs, title=title)
        sizes_legend(axis, [run.size for run in pair.runs], "P", loc="best")
        plain_ticks(axis, "y")

    note = "the paper: one curve for every P; at norms that three sizes pass in their windows"
    rows = [early_row(pair, pair.label, note, expected=ONE_LAW, relation="<") for pair in made]
    return Reproduction(joined_curves(made), _sheet(made, draw), tuple(rows))


def early_row(pair: Pair, name: str, note: str, **claim: Any) -> Row:
    """A row on the spread of the curves of several sizes in the early phase."""
    spread, stderr = early_spread(pair) or (None, None)
    n = None if spread is None else len(pair.runs)
    quantity = f"{name}: spread of ln ε over sizes in the early phase"
    return Row(quantity, spread, stderr, n, **claim, note=note)


def early_spread(pair: Pair) -> tuple[float, float] | None:
    """Standard deviation over sizes of ln ε at equal norm within the power-law windows, with its error.

    The error is that of a standard deviation of as many sizes as pass, s/√(2(n − 1)).
    """
    if pair.found is None:
        return None
    table = pair.found.table
    low, high = np.log(table["window_low"].to_numpy()), np.log(table["elbow"].to_numpy())
    grid = np.linspace(low.min(), high.max(), 60)
    inside = (grid >= low[:, None]) & (grid <= high[:, None]) & table["resolved"].to_numpy()[:, None]
    values = np.array([run.smoothed(grid) for run in pair.runs])
    values = np.where(inside, values, np.nan)[:, inside.sum(axis=0) >= 3]
    if values.shape[1] == 0:
        return None
    deviations = values - np.nanmean(values, axis=0)
    present = np.isfinite(values).sum(axis=0)
    spread = float(np.sqrt(np.nansum(deviations**2) / (present - 1).sum()))
    return spread, spread / np.sqrt(2 * (float(present.mean()) - 1))


# --- Fig. 4 ----------------------------------------------------------------------------------------------


def fig4(scale: str) -> Reproduction:
    """Curves rescaled by their optima."""
    made = analysed(scale)
    masters = {pair.label: collapse(pair.curves, by="optimum") for pair in made}

    def draw(axis: Axes, pair: Pair) -> None:
        draw_collapse(axis, masters[pair.label], "norm", "test error", pair.title)
        plain_ticks(axis, "y")

    rows = []
    for label, master in masters.items():
        largest = master.deviation[-3:]
        seen = np.isfinite(largest).all()
        rows.append(
            Row(
                f"{label}: rms deviation of the three largest P from one curve",
                float(largest.mean()) if seen else None,
                float(largest.std(ddof=1) / np.sqrt(3)) if seen else None, 3, expected=DEVIATES, relation="<",
                note=f"relative; rescaled by the optima; the paper: collapse at large P; collapse "
                f"{master.extent()}",
            )
        )  # fmt: skip
    return Reproduction(joined_curves(made), _sheet(made, draw), tuple(rows))


# --- Fig. 7 ----------------------------------------------------------------------------------------------


def fig7(scale: str) -> Reproduction:
    """Test error and norm against epochs, and how often the norm falls; our runs only."""
    made = our_pairs(scale, trained.run_storage(), study.pairs_of(scale), from_epoch=0.0, laws=False)
    if not made:
        raise BadInput("figure 7 is about time, which the published curves leave out: train or give --store")
    by_name = {name: [pair for pair in made if pair.name == name] for name in (pair.name for pair in made)}
    each = 1 + max(map(len, by_name.values()))
    figure, axes = panels_for(each * len(by_name), each * min(3, len(by_name)), size=(2.5, 2.2))
    for (left, *others), (name, norms) in zip(axes.reshape(-1, each), by_name.items(), strict=True):
        loglog(left, "epoch", "test error", name)
        _draw_runs(left, norms[0], "test_error")
        sizes_legend(left, np.sort(norms[0].curves.frame["n_data"].unique()), "P", loc="lower left")
        for axis, pair in zip(others, norms, strict=False):
            loglog(axis, "epoch", "norm λ(t)", f"norm {pair.norm}")
            _draw_runs(axis, pair, "norm")
        for spare in others[len(norms) :]:
            spare.set_axis_off()
    small_print(axes)
    rows = [monotone(pair, "the paper: always monotone") for pair in made]
    return Reproduction(joined_curves(made), figure, tuple(rows))


def _draw_runs(axis: Axes, pair: Pair, column: str) -> None:
    """One thin line a run against epochs, coloured by training size."""
    frame = pair.curves.frame
    sizes = np.sort(frame["n_data"].unique())
    for shade, size in zip(colors(sizes), sizes, strict=True):
        for _, run in frame[frame["n_data"] == size].groupby("run"):
            axis.plot(run["epoch"], run[column], color=shade, linewidth=0.8)


def monotone(pair: Pair, note: str) -> Row:
    """A row on the largest fall of the norm of a run, mean over runs."""
    runs = (run["norm"].to_numpy(float) for _, run in pair.curves.frame.groupby("run"))
    falls = np.array([largest_fall(run) for run in runs])
    error = max(float(falls.std(ddof=1) / np.sqrt(len(falls))), NORM_TOLERANCE)
    never = int((falls == 0).sum())
    return Row(
        f"{pair.label}: largest relative fall of λ(t) from an earlier value, mean over runs",
        float(falls.mean()), error, len(falls), expected=0.0, resolution=0.01,
        note=f"monotone in {never} of {len(falls)} runs, largest fall {falls.max():.2g}; {note}",
    )  # fmt: skip


def largest_fall(norm: np.ndarray) -> float:
    """The largest 1 − λ(t)/max_{s≤t} λ(s) of a run: 0 where λ never falls."""
    norm = norm[np.isfinite(norm)]
    return float(np.max(1 - norm / np.maximum.accumulate(norm)))


# --- Figs. 8 and 9 ---------------------------------------------------------------------------------------


def fig8(scale: str) -> Reproduction:
    """Curves with the windows of γ₁, and optima against size, from which γ₂ is read."""
    made = [pair for pair in analysed(scale) if pair.found is not None]
    figure, axes = panels_for(2 * len(made), min(10, 2 * len(made)), size=(2.5, 2.2))
    for (left, right), pair in zip(axes.reshape(-1, 2), made, strict=True):
        found = pair.found
        assert found is not None
        table = found.table
        draw_curves(left, found, pair.runs, title=f"{pair.label}\nγ₁ = {found.gamma_1}")
        for _, row in table[table["resolved"]].iterrows():
            ends = np.array([row["window_low"], row["elbow"]])
            run = next(r for r in pair.runs if r.size == row["size"])
            middle = float(np.sqrt(ends.prod()))
            height = float(np.exp(run.smoothed(np.log(middle))))
            left.plot(ends, height * (ends / middle) ** -row["slope"], "--", color=INK, linewidth=0.6)
        headroom(left)
        sizes_legend(left, table["size"].to_numpy(), "P", loc="upper right", ncols=3, columnspacing=1,
                     handlelength=1)  # fmt: skip
        loglog(right, "P", "norm at the optimum")
        draw_law(right, table["size"], table["x_optimum"], found.gamma_2_optimum,
                 f"optimum {found.gamma_2_optimum}", low=table["x_optimum_low"],
                 high=table["x_optimum_high"], plain="x")  # fmt: skip
        kept = table[table["resolved"]]
        draw_law(right, kept["size"], kept["position"], found.gamma_2, f"collapse {found.gamma_2}",
                 color=PALETTE[1], plain="x")  # fmt: skip
        plain_ticks(left, "y")
        headroom(right)
        right.legend(loc="upper left")
    small_print(axes)
    return Reproduction(joined_curves(made), figure, ())


def fig9(scale: str) -> Reproduction:
    """Smallest error against size: measured, and with the slopes that both γ₂ predict."""
    made = tuple(pair for pair in analysed(scale) if pair.found is not None)

    def draw(axis: Axes, pair: Pair) -> None:
        found = pair.found
        assert found is not None
        table = found.table
        loglog(axis, "P", "smallest test error", pair.title)
        draw_law(axis, table["size"], table["y_optimum"], found.gamma_measured,
                 f"γ = {found.gamma_measured}", falling=True)  # fmt: skip
        draw_predicted(axis, found)
        axis.legend(loc="lower left", frameon=False)

    return Reproduction(joined_curves(made), _sheet(made, draw), ())
