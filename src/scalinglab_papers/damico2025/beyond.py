"""Beyond the paper: training at a fixed complexity, width at fixed data, when to stop, how long to train.

- `fixed_complexity`: a network held at the complexity R (`checkpoints.projection`) is what the perceptron
  at fixed norm is. Does it reach the error that free training has when it passes R, and the optimum at R_opt?
- `width`: at fixed data, do the curves of networks of several widths fall on one master curve?
- `stop_by_norm`: is the optimal norm, extrapolated from sizes up to a third of the largest, where the largest
  should stop?
- `optimal_norm_in_time`: eq. 4 is about the norm of the smallest test error, which lies near the elbow for a
  model that overfits, and at the end of the training for one that does not. Which sizes have passed their
  optimum, and does γ₂ still change with the time?
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.ticker import NullFormatter

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.figures.collapse import draw_collapse, plain_ticks, sizes_legend
from scalinglab.figures.style import INK, PALETTE, colors, headroom, loglog, panels, panels_for
from scalinglab.laws.learning_curves.collapse import collapse
from scalinglab.laws.learning_curves.dynamical import stopping_point
from scalinglab.laws.learning_curves.mean_curves import FEWEST_POINTS, SizeCurve, size_curves
from scalinglab.laws.learning_curves.shape import optimum
from scalinglab.results.estimate import FEWEST, Estimate, slope
from scalinglab.studies import trained
from scalinglab.studies.draws import loglog_figure
from scalinglab.studies.registry import Reproduction
from scalinglab.studies.verdict import Row, mean
from scalinglab_papers.damico2025.curves import DEVIATES, analysed, small_print
from scalinglab_papers.damico2025.pairs import OURS, Pair, pairs, together

SETTING = {"model": "cnn", "initialization": "customary", "measure": ["norm"]}
# data, training set, epochs, batch, rate, width, seeds
SCALES = {
    "smoke": {"dataset": "digits", "n_data": 160, "epochs": 8, "batch_size": 64, "learning_rate": 1e-2,
              "width": 0.0625, "checkpoints_per_decade": 5, "evaluate_at_most": 160, "test_size": 200},
    "laptop": {"dataset": "mnist", "n_data": 750, "epochs": 60, "batch_size": 128, "learning_rate": 1e-3,
               "width": 0.125, "checkpoints_per_decade": 6, "test_size": 2000},
    "gpu": {"dataset": "cifar10", "n_data": 8000, "epochs": 20, "batch_size": 128, "learning_rate": 1e-3,
            "width": 1.0, "precision": "bf16", "graphs": True, "checkpoints_from": 1.0,
            "evaluate_at_most": 2000},
}  # fmt: skip
TARGETS = {"smoke": 2, "laptop": 4, "gpu": 5}  # complexities
SEEDS = {"smoke": 2, "laptop": 2, "gpu": 3}
WIDTHS = {
    "smoke": [0.03125, 0.0625, 0.125], "laptop": [0.0625, 0.125, 0.25], "gpu": [0.25, 0.5, 1.0, 2.0],
}  # fmt: skip
SAME = 0.1  # a relative difference of errors that would matter


# --- a fixed complexity ----------------------------------------------------------------------------------


def fixed_complexity(scale: str) -> Reproduction:
    """Error of networks trained at several fixed complexities against the curve of free training."""
    base = {**SETTING, **SCALES[scale]}
    free = trained.runs([{**base, "seed": s} for s in range(SEEDS[scale])], "free complexity")
    reached = free.frame.groupby("run").tail(1)["norm"].median()
    start = free.frame.groupby("run").head(1)["norm"].median()
    targets = np.geomspace(start, reached, TARGETS[scale] + 1)[1:]
    fixed = trained.runs(
        [{**base, "seed": s, "complexity": float(f"{r:.3g}")} for r in targets for s in range(SEEDS[scale])],
        "fixed complexity",
    )
    figure, axis = loglog_figure(
        "spectral complexity R", "test error", "free and fixed complexity", size=(5.2, 3.8)
    )
    for _, run in free.frame.groupby("run"):
        axis.plot(run["norm"], run["test_error"], "-", color=PALETTE[0], linewidth=1)
    ends = fixed.frame.groupby("run").tail(1).sort_values(["complexity", "seed"])
    axis.plot(ends["norm"], ends["test_error"], "o", color=PALETTE[1], label="trained at fixed R")
    axis.plot([], [], color=PALETTE[0], label="free training")
    axis.legend()
    best = free.frame.groupby("seed")["test_error"].min().to_numpy()  # pairs are those of one seed
    rows = []
    for place, (complexity, part) in enumerate(ends.groupby("complexity"), start=1):
        passing = [_at(run, float(complexity)) for _, run in free.frame.groupby("seed")]
        change = np.log(part["test_error"].to_numpy() / np.array(passing))
        rows.append(
            _ratio(f"R {place} of {len(targets)}: ln of its error over that of free training there", change,
                   f"R = {complexity:.3g}; 0 where a fixed complexity is as good as passing it")
        )  # fmt: skip
    lowest = ends.groupby("complexity")["test_error"].mean().idxmin()
    reached_best = ends[ends["complexity"] == lowest]["test_error"].to_numpy()
    name = "best R: ln of its error over the smallest of free training"
    note = f"R = {lowest:.3g}; 0 where fixed complexity reaches the optimum"
    rows.append(_ratio(name, np.log(reached_best / best), note))
    return Reproduction(_both(free, fixed), figure, tuple(rows))


def _both(free: Curves, fixed: Curves) -> Curves:
    return Curves(pd.concat([free.frame, fixed.frame], ignore_index=True), settings=fixed.settings)


def _at(run: pd.DataFrame, norm: float) -> float:
    """Test error of a run where it passes a norm, between its checkpoints."""
    run = run.sort_values("step")
    return float(np.interp(np.log(norm), np.log(run["norm"]), run["test_error"]))


def _ratio(name: str, change: np.ndarray, note: str) -> Row:
    found = mean(change)
    return found.row(name, expected=0.0, resolution=SAME, note=note)


# --- width -----------------------------------------------------------------------------------------------


def width(scale: str) -> Reproduction:
    """Curves of several widths at one training set, rescaled by their optima."""
    base = {**SETTING, **SCALES[scale]}
    curves = trained.runs(
        [{**base, "width": w, "seed": s} for w in WIDTHS[scale] for s in range(SEEDS[scale])], "width"
    )
    found = collapse(curves, by="optimum", size="width")
    figure, axes = panels(1, 2, size=(4.2, 3.4))
    left = loglog(axes[0, 0], "spectral complexity R", "test error", f"P = {base['n_data']:,}")
    for shade, one in zip(colors(WIDTHS[scale]), WIDTHS[scale], strict=True):
        for _, run in curves.select(width=one).frame.groupby("run"):
            left.plot(run["norm"], run["test_error"], color=shade, linewidth=1)
    sizes_legend(left, np.array(WIDTHS[scale]), "width", loc="lower left")
    draw_collapse(axes[0, 1], found, "R", "test error", "rescaled by the optima")
    plain_ticks(axes[0, 1], "y")
    number = mean(found.deviation[np.isfinite(found.deviation)])
    best = curves.frame.groupby(["width", "seed"])["test_error"].min()
    largest, smallest = best[max(WIDTHS[scale])], best[min(WIDTHS[scale])]
    gain = np.log(largest.to_numpy() / smallest.to_numpy())
    each = ", ".join(f"{value:.3g} at {width:g}" for width, value in best.groupby("width").mean().items())
    rows = (
        number.row(
            "rms deviation of the widths from one master curve", expected=DEVIATES, relation="<",
            note="relative; rescaled by the optima; n counts the widths",
        ),
        Row("ln of the smallest error, widest over narrowest", mean(gain).value, mean(gain).stderr, len(gain),
            note=f"below 0 where width helps at fixed data; smallest errors, by width: {each}"),
    )  # fmt: skip
    return Reproduction(curves, figure, rows)


# --- when to stop ----------------------------------------------------------------------------------------


def stop_by_norm(scale: str) -> Reproduction:
    """Error at the norm that smaller sizes predict for the largest, over the smallest error there."""
    made = [pair for pair in analysed(scale) if len(pair.runs) >= 4]
    if not made:
        raise BadInput("no pair has four sizes: three to extrapolate from and one to test")
    figure, axes = panels_for(len(made), 6, size=(2.9, 2.3))
    rows = []
    for axis, pair in zip(axes, made, strict=True):
        last, smaller = pair.runs[-1], smaller_sizes(pair.runs)
        predicted = stopping_point(smaller, last.size)
        loglog(axis, "norm", "test error", f"{pair.label}\nP = {last.size:,.6g}")
        axis.plot(np.exp(last.x), np.exp(last.y), ".-", color=PALETTE[0], linewidth=0.8, markersize=3)
        axis.axvline(predicted.value, color=INK, linestyle="--", linewidth=1, label="predicted optimum")
        axis.axvspan(predicted.low, predicted.high, color=INK, alpha=0.08, linewidth=0)
        axis.set_xlim(np.exp(last.x[0]), np.exp(last.x[-1]) * 1.5)
        axis.legend()
        ends = [regret(last, norm) for norm in (predicted.low, predicted.high)]
        cost, error = regret(last, predicted.value), float(np.ptp(ends)) / 4
        rows.append(
            Row(
                f"{pair.label}: excess error when P = {last.size:,.6g} stops at the predicted norm", cost,
                max(error, 1e-4), expected=SAME, relation="<",
                note=f"relative; from {len(smaller)} sizes up to {smaller[-1].size:,.6g}: "
                f"{predicted.value:.3g} [{predicted.low:.2g}, {predicted.high:.2g}]; "
                f"to train to the end costs {regret(last, float(np.exp(last.x[-1]))):.2g}; "
                "error: from the ends of the interval",
            )
        )  # fmt: skip
    small_print(axes)
    return Reproduction(together(made), figure, tuple(rows))


def smaller_sizes(runs: list[SizeCurve]) -> list[SizeCurve]:
    """The sizes to extrapolate from: up to a third of the largest, or, where these are not three, more."""
    for share in (1 / 3, 3 / 4):
        smaller = [run for run in runs if run.size <= share * runs[-1].size]
        if len(smaller) >= 3:
            return smaller
    return runs[:-1]


def regret(curve: SizeCurve, norm: float) -> float:
    """Smoothed error where a curve passes a norm, or at its end, over its smallest, less one."""
    place = float(np.clip(np.log(norm), curve.x[0], curve.x[-1]))
    return float(np.exp(curve.smoothed(np.array([place]))[0] - curve.smoothed.values.min()) - 1)


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
    return Reproduction(together(made), figure, tuple(rows))


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
