"""Beyond the paper: does the exponent γ₂ of the optimal norm depend on how long networks are trained?

Eq. 4 is about the norm at the smallest test error. A model that overfits reaches it near the elbow of its
curve; one that does not has it at the last checkpoint, where it measures the training time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.ticker import NullFormatter

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.figures.collapse import plain_ticks, sizes_legend
from scalinglab.figures.style import PALETTE, colors, headroom, loglog, panels_for
from scalinglab.laws.learning_curves.mean_curves import FEWEST_POINTS, size_curves
from scalinglab.laws.learning_curves.shape import optimum
from scalinglab.results.distributions import FEWEST, Estimate, slope
from scalinglab.studies import Reproduction, Row, trained
from scalinglab_papers.damico2025.curves import analysed, small_print
from scalinglab_papers.damico2025.pairs import OURS, Pair, joined_curves, pairs

CUTS = 8  # times, evenly in the log, up to the last that every size reaches


@dataclass(frozen=True)
class OptimumInTime:
    """Optima of curves that are cut at a series of times.

    Attributes:
        table: one row for each time and size: `time`, `size`, `x_optimum`, `counts`.
        slopes: one row a time: `time`, `gamma_2` with `gamma_2_error` over all sizes, the same with
            `_counted` over those that count, `sizes` and `counted`.
    """

    table: pd.DataFrame
    slopes: pd.DataFrame

    def last(self, counted: bool = False) -> Estimate:
        """γ₂ at the last time, over all sizes or over those that count; NaN where fewer than three do."""
        row, name = self.slopes.iloc[-1], "gamma_2_counted" if counted else "gamma_2"
        used = int(row["counted" if counted else "sizes"])
        if used < FEWEST:
            return Estimate(np.nan)
        return Estimate.from_stderr(row[name], row[f"{name}_error"], dof=used - 2)

    def drift(self) -> Estimate:
        """Change of γ₂ over all sizes by the last doubling of time, with the errors of both ends."""
        ends = self.slopes.dropna(subset=["gamma_2"])
        if len(ends) < 2:
            return Estimate(np.nan)
        last = ends.iloc[-1]
        half = ends.iloc[int(np.argmin(np.abs(np.log(2 * ends["time"].iloc[:-1] / last["time"]))))]
        error = float(np.hypot(last["gamma_2_error"], half["gamma_2_error"]))
        return Estimate.from_stderr(
            float(last["gamma_2"] - half["gamma_2"]), error, dof=int(last["sizes"]) - 2
        )


def optimum_in_time(curves: Curves) -> OptimumInTime:
    """Cut curves of test error against norm at a series of times, and find the optimum of each up to there.

    A run that still improves when it ends has its smallest error at its last point: λ_opt then measures how
    long it was trained, not where the optimum is. So at each time t λ_opt(P, t) is the optimum of the curve
    up to t, a size *counts* if its error has risen again after it by more than three times its noise
    ("overfits" and not "saturates"), and γ₂(t) is the slope of ln λ_opt against ln P over all sizes, and over
    those that count. γ₂ is known where the second agrees with the first and neither moves with t any more.

    Args:
        curves: one model on one data set, with `epoch`; several runs of a size are averaged.
    """
    frame, generator = curves.frame, np.random.default_rng(0)
    epochs = frame.groupby("n_data")["epoch"]
    end = float(epochs.max().min())
    first = float(epochs.apply(lambda t: np.sort(t.unique())[:FEWEST_POINTS][-1]).max())
    rows: list[dict[str, float]] = []
    for cut in np.geomspace(first, end, CUTS) if first < end else [end]:
        part = Curves(frame[frame["epoch"] <= cut * (1 + 1e-9)], settings=curves.settings)
        try:
            found = size_curves(part, "norm", "test_error", "n_data", fewest_sizes=1)
        except BadInput:  # too few points yet
            continue
        for curve in found:
            best = optimum(curve, generator)
            place = {"time": cut, "size": curve.size, "x_optimum": np.exp(best.x)}
            rows.append(place | {"counts": best.kind == "overfits"})
    if not rows:
        raise BadInput(f"no curve has enough points before epoch = {end:g}: measure more often")
    table = pd.DataFrame(rows)
    slopes = []
    for cut, part in table.groupby("time"):
        counted = part[part["counts"]]
        every, some = (
            slope(np.log(p["size"]), np.log(p["x_optimum"])) if len(p) >= FEWEST else Estimate(np.nan)
            for p in (part, counted)
        )
        slopes.append(
            {
                "time": cut, "gamma_2": every.value, "gamma_2_error": every.stderr,
                "gamma_2_counted": some.value, "gamma_2_counted_error": some.stderr,
                "sizes": len(part), "counted": len(counted),
            }
        )  # fmt: skip
    return OptimumInTime(table, pd.DataFrame(slopes))


def optimal_norm_in_time(scale: str) -> Reproduction:
    """λ_opt(P) and γ₂ of curves that are cut at growing times; our runs, which alone have a time."""
    made = [pair for pair in pairs(scale, trained.run_storage()) if pair.origin == OURS]
    if not made:
        analysed(scale)  # says what is missing where there is nothing at all
        raise BadInput("the published curves leave out the time: train, or give a store with --store")
    found = [optimum_in_time(pair.curves) for pair in made]
    figure, axes = panels_for(2 * len(made), min(8, 2 * len(made)), size=(2.7, 2.3))
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
    small_print(axes)
    rows = [row for pair, one in zip(made, found, strict=True) for row in _rows_in_time(pair, one)]
    return Reproduction(joined_curves(made), figure, tuple(rows))


def _rows_in_time(pair: Pair, found: OptimumInTime) -> list[Row]:
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
