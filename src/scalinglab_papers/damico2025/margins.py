"""Figure 6, right: margins of a trained CNN, normalised by spectral complexity, beside the perceptron's.

The paper: as in the perceptron at growing sharpness, the mean of the margins falls during training and the
smallest of them grows. Both are followed from the first epoch on, as the authors measured, and from the
checkpoint on at which half of the training examples are classified correctly: before that there are no
margins to speak of.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from scalinglab.figures import style
from scalinglab.studies import Reproduction, Row, mean
from scalinglab_papers.damico2025 import study
from scalinglab_papers.damico2025.perceptron import FIG6_LOAD, draw_margins

SHOWN = 5  # histograms of one run
HALF = 0.5  # training error below which margins are followed
EXAMPLES = 10_000  # on which margins are measured at most


def fig6_right(scale: str) -> Reproduction:
    """Histograms of normalised margins through a training, their mean and minimum, and the perceptron's."""
    name = "CNN digits, margins" if scale == "smoke" else "CNN MNIST, margins"
    curves = study.required_runs(scale, name)
    runs = [run.sort_values("step") for _, run in curves.frame.groupby("run", sort=False)]
    runs.sort(key=lambda run: int(run["n_data"].iloc[0]))
    figure, axes = style.panels(1, 3, size=(3.9, 3.3))
    draw_margins(axes[0, 0], np.linspace(-1.0, 4.5, 300))
    axes[0, 0].set(xlabel="margin Δ", ylabel="density", ylim=(0, 2.5))
    axes[0, 0].set_title(f"perceptron, random labels, α = {FIG6_LOAD:g}")
    axes[0, 0].legend()
    _draw_histograms(axes[0, 1], runs[-1])
    _draw_course(axes[0, 2], runs)
    return Reproduction(curves, figure, rows(runs))


def followed_part(run: pd.DataFrame) -> pd.DataFrame:
    """The part of a run after its first epoch in which half of the examples are right; all where none is."""
    good = ((run["train_error"] < HALF) & (run["epoch"] >= 1 - 1e-6)).to_numpy()
    return run[np.maximum.accumulate(good)] if good.any() else run


# --- numbers ---------------------------------------------------------------------------------------------


def rows(runs: list[pd.DataFrame]) -> tuple[Row, ...]:
    """The change of the mean, run by run, and of the minimum, over the part that is followed."""
    made, grown = [], []
    for run in runs:
        part = followed_part(run)
        first, last = part.iloc[0], part.iloc[-1]
        unit = abs(float(first["margin_normalized_mean"]))
        change = float(last["margin_normalized_mean"]) / unit - 1
        error = float(np.hypot(_error_of_mean(first), _error_of_mean(last))) / unit
        size, spent = int(run["n_data"].iloc[0]), f"epochs {first['epoch']:.3g} to {last['epoch']:.3g}"
        made.append(
            Row(
                f"P = {size:,}: relative change of the mean of the normalised margins", change, error,
                min(size, EXAMPLES), expected=0.0, relation="<",
                note=f"{spent}; one run, the error is that over its examples; the paper: it decreases",
            )
        )  # fmt: skip
        grown.append(float(last["margin_normalized_min"] - first["margin_normalized_min"]) / unit)
    each = ", ".join(f"{value:.3g}" for value in grown)
    made.append(
        Row(
            "change of the smallest normalised margin, in units of the first mean", float(np.mean(grown)),
            mean(grown).stderr if len(grown) > 1 else None, len(grown), expected=0.0, relation=">",
            note=f"mean over training sizes; one by one: {each}; the paper: it increases",
        )
    )  # fmt: skip
    return tuple(made)


def _error_of_mean(row: pd.Series) -> float:
    """Standard error of the mean of the normalised margins over examples, from their histogram."""
    values, edges = density(row)
    middle, weights = (edges[1:] + edges[:-1]) / 2, values * np.diff(edges)
    spread = np.sqrt(np.sum(weights * middle**2) - np.sum(weights * middle) ** 2)
    return float(spread / np.sqrt(min(int(row["n_data"]), EXAMPLES)))


def density(row: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Density and edges of the histogram of normalised margins at one checkpoint."""
    bins = sorted(name for name in row.index if str(name).startswith("margin_bin_"))
    fractions = row[bins].to_numpy(float)
    edges = np.linspace(row["margin_normalized_min"], row["margin_normalized_max"], len(bins) + 1)
    return fractions / np.diff(edges), edges


# --- panels ----------------------------------------------------------------------------------------------


def _draw_histograms(axis: Axes, run: pd.DataFrame) -> None:
    part = followed_part(run)
    chosen = part.iloc[np.unique(np.linspace(0, len(part) - 1, SHOWN).round().astype(int))]
    unit = abs(float(part["margin_normalized_mean"].iloc[0]))
    for color, (_, row) in zip(style.colors(range(len(chosen))), chosen.iterrows(), strict=True):
        values, edges = density(row)
        axis.stairs(
            np.maximum(values * unit, 1e-9), edges / unit, color=color, label=f"epoch {row['epoch']:.3g}"
        )
    axis.set(xlabel="normalised margin / its first mean", ylabel="density", yscale="log", ylim=(1e-3, None))
    axis.set_title(f"CNN, P = {run['n_data'].iloc[0]:,}")
    axis.legend()


def _draw_course(axis: Axes, runs: list[pd.DataFrame]) -> None:
    for color, run in zip(style.colors(range(len(runs))), runs, strict=True):
        part = followed_part(run)
        unit = abs(float(part["margin_normalized_mean"].iloc[0]))
        size = f"P = {run['n_data'].iloc[0]:,}"
        axis.plot(part["epoch"], part["margin_normalized_mean"] / unit, color=color, label=f"mean, {size}")
        axis.plot(part["epoch"], part["margin_normalized_min"] / unit, "--", color=color, label="minimum")
    axis.axhline(0.0, color=style.MUTED, linewidth=0.6)
    axis.set(xscale="log", xlabel="epoch", ylabel="normalised margin / its first mean")
    axis.set_title("mean and minimum over training")
    axis.legend(fontsize=7, loc="lower right")
