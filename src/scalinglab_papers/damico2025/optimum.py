"""The optimal norm and γ₂ as functions of the training time: which sizes have passed their optimum.

Eq. 4 of the paper is about the norm of the smallest test error, which lies near the elbow for a model that
overfits and at the end of the training for one that does not. In the second case it grows with the time.
"""

from __future__ import annotations

import math

import numpy as np
from matplotlib.ticker import NullFormatter

from scalinglab.errors import BadInput
from scalinglab.figures.collapse import plain_ticks, sizes_legend
from scalinglab.figures.style import PALETTE, colors, headroom, loglog, panels
from scalinglab.laws.learning_curves.optimum_in_time import OptimumInTime, optimum_in_time
from scalinglab.results.estimate import Estimate
from scalinglab.studies import trained
from scalinglab.studies.registry import Reproduction
from scalinglab.studies.verdict import Row
from scalinglab_papers.damico2025.curves import analysed
from scalinglab_papers.damico2025.pairs import OURS, Pair, pairs, together


def in_time(scale: str) -> Reproduction:
    """λ_opt(P) and γ₂ of curves that are cut at growing times; our runs, which alone have a time."""
    made = [pair for pair in pairs(scale, trained.run_storage()) if pair.origin == OURS]
    if not made:
        analysed(scale)  # says what is missing where there is nothing at all
        raise BadInput("the published curves leave out the time: train, or give a store with --store")
    found = [optimum_in_time(pair.curves) for pair in made]
    across = 2 if all(a.name == b.name for a, b in zip(made[::2], made[1::2], strict=False)) else 1
    figure, axes = panels(-(-len(made) // across), 2 * across, size=(3.5, 2.7))
    for (left, right), pair, one in zip(axes.reshape(-1, 2), made, found, strict=True):
        loglog(left, "epochs trained", "norm at the optimum", pair.label)
        sizes = np.sort(one.table["size"].unique())
        for shade, size in zip(colors(sizes), sizes, strict=True):
            part = one.table[one.table["size"] == size]
            left.plot(part["time"], part["x_optimum"], "-", color=shade, linewidth=0.9)
            for counts, fill in ((True, shade), (False, "white")):
                some = part[part["counts"] == counts]
                left.plot(
                    some["time"], some["x_optimum"], "o", color=shade, markerfacecolor=fill, markersize=4
                )
        left.yaxis.set_minor_formatter(NullFormatter())
        headroom(left)
        sizes_legend(left, sizes, "P; filled: passed", loc="upper left", ncols=3, columnspacing=1,
                     handlelength=1)  # fmt: skip
        right.set(xscale="log", xlabel="epochs trained", ylabel="γ₂ of the optima")
        for name, color, label in (
            ("gamma_2", PALETTE[0], "all sizes"), ("gamma_2_counted", PALETTE[1], "sizes that have passed")
        ):  # fmt: skip
            right.errorbar(one.slopes["time"], one.slopes[name], one.slopes[f"{name}_error"], fmt="o-",
                           color=color, label=label, markersize=4, linewidth=1)  # fmt: skip
        for axis in (left, right):
            plain_ticks(axis, "x")
        low, high = right.get_ylim()
        right.set_ylim(low, high + 0.3 * (high - low))  # for the legend
        right.legend(loc="upper left")
    rows = [row for pair, one in zip(made, found, strict=True) for row in _rows(pair, one)]
    return Reproduction(together(made), figure, tuple(rows))


def _rows(pair: Pair, found: OptimumInTime) -> list[Row]:
    last = found.slopes.iloc[-1]
    every, counted, drift = found.last(), found.last(counted=True), found.drift()
    ended = found.table[found.table["time"] == found.table["time"].max()]
    passed = ", ".join(f"{size:g}" for size in ended["size"][ended["counts"]]) or "none"
    n = int(last["sizes"]) - 1
    rows = [
        Row(f"{pair.label}: γ₂ of the optima, all sizes", every.value, every.stderr, n,
            note=f"after {last['time']:.3g} epochs; sizes that have passed their optimum: {passed}"),
        Row(f"{pair.label}: change of γ₂ by the last doubling of time", *_finite(drift), n, expected=0.0,
            resolution=0.1 * abs(every.value), note="0 where γ₂ has settled"),
    ]  # fmt: skip
    if math.isfinite(counted.stderr):
        rows.append(
            Row(f"{pair.label}: γ₂, sizes that have passed, less γ₂ of all", counted.value - every.value,
                math.hypot(counted.stderr, every.stderr), int(last["counted"]) - 1, expected=0.0,
                resolution=0.1 * abs(every.value), note=f"{int(last['counted'])} sizes; 0 where all count")
        )  # fmt: skip
    return rows


def _finite(value: Estimate) -> tuple[float | None, float | None]:
    known = math.isfinite(value.value) and math.isfinite(value.stderr)
    return (value.value, value.stderr) if known else (None, None)
