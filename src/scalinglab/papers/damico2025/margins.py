"""Figure 6, right: margins of a trained CNN, normalised by spectral complexity, beside the perceptron's.

The paper: as in the perceptron at growing sharpness, the mean of the margins falls during training and the
smallest of them grows. Both are followed from the checkpoint on at which half of the training examples are
classified correctly: before that there are no margins to speak of.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from scalinglab.errors import BadInput
from scalinglab.figures import style
from scalinglab.papers import trained
from scalinglab.papers.damico2025 import study
from scalinglab.papers.damico2025.perceptron import FIG6_LOAD, FIG6_SHARPNESSES
from scalinglab.papers.registry import Reproduction
from scalinglab.papers.verdict import Row, mean
from scalinglab.theory import perceptron as theory

SHOWN = 5  # histograms of one run
HALF = 0.5  # training error below which margins are followed


def fig6_right(scale: str) -> Reproduction:
    """Histograms of normalised margins through a training, their mean and minimum, and the perceptron's."""
    name = "CNN digits, margins" if scale == "smoke" else "CNN MNIST, margins"
    study.train(scale, trained.kept(), [name])
    curves = study.trained(scale, trained.kept(), name)
    if curves is None:
        raise BadInput(f"no runs of {name!r} at scale {scale!r}: train them, or give a store with --store")
    runs = [run.sort_values("step") for _, run in curves.frame.groupby("run", sort=False)]
    largest = max(runs, key=lambda run: run["n_data"].iloc[0])
    figure, axes = style.panels(1, 3, size=(3.9, 3.3))
    _draw_perceptron(axes[0, 0])
    _draw_histograms(axes[0, 1], largest)
    _draw_course(axes[0, 2], runs)
    return Reproduction(curves, figure, rows(runs))


def followed(run: pd.DataFrame) -> pd.DataFrame:
    """The part of a run from which on half of its training examples are right; all of it where never."""
    good = (run["train_error"] < HALF).to_numpy()
    return run[np.maximum.accumulate(good)] if good.any() else run


def rows(runs: list[pd.DataFrame]) -> tuple[Row, ...]:
    """The change of mean and minimum over training, in units of the mean where the part followed begins."""
    changes: dict[str, list[float]] = {"mean": [], "min": []}
    for run in runs:
        part = followed(run)
        unit = abs(float(part["margin_normalized_mean"].iloc[0]))
        for which, found in changes.items():
            values = part[f"margin_normalized_{which}"].to_numpy(float)
            found.append(float(values[-1] - values[0]) / unit)
    made = []
    for which, name, relation, words in (
        ("mean", "mean", "<", "decreases"), ("min", "minimum", ">", "increases")
    ):  # fmt: skip
        values = changes[which]
        each = ", ".join(f"{value:+.2g}" for value in values)
        error = mean(values).stderr if len(values) > 1 else None
        made.append(
            Row(
                f"normalised margins: change of their {name} over training", float(np.mean(values)), error,
                len(values), expected=0.0, relation=relation,
                note=f"in units of the mean when half of the examples are right; runs: {each}; "
                f"the paper: it {words}",
            )
        )  # fmt: skip
    return tuple(made)


def density(row: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Density and edges of the histogram of normalised margins at one checkpoint."""
    bins = sorted(name for name in row.index if str(name).startswith("margin_bin_"))
    fractions = row[bins].to_numpy(float)
    edges = np.linspace(row["margin_normalized_min"], row["margin_normalized_max"], len(bins) + 1)
    return fractions / np.diff(edges), edges


def _draw_perceptron(axis: Axes) -> None:
    exact = theory.storage_margin_distribution(FIG6_LOAD, FIG6_SHARPNESSES)
    margins = np.linspace(-1.0, 4.5, 300)
    for color, column, value in zip(
        style.colors(FIG6_SHARPNESSES), exact.density(margins[:, None]).T, FIG6_SHARPNESSES, strict=True
    ):
        axis.plot(margins, column, color=color, label=f"λ = {value:g}")
    axis.set(xlabel="margin Δ", ylabel="density", ylim=(0, 2.5))
    axis.set_title(f"perceptron, random labels, α = {FIG6_LOAD:g}")
    axis.legend()


def _draw_histograms(axis: Axes, run: pd.DataFrame) -> None:
    part = followed(run)
    chosen = part.iloc[np.unique(np.linspace(0, len(part) - 1, SHOWN).round().astype(int))]
    for color, (_, row) in zip(style.colors(range(len(chosen))), chosen.iterrows(), strict=True):
        values, edges = density(row)
        axis.stairs(values, edges, color=color, label=f"epoch {row['epoch']:.3g}")
    axis.set(xlabel="margin / (R ‖X‖/n)", ylabel="density")
    axis.set_title(f"CNN, P = {run['n_data'].iloc[0]:,}")
    axis.ticklabel_format(axis="both", style="sci", scilimits=(-2, 3))
    axis.legend()


def _draw_course(axis: Axes, runs: list[pd.DataFrame]) -> None:
    for color, run in zip(style.colors(range(len(runs))), runs, strict=True):
        unit = abs(float(followed(run)["margin_normalized_mean"].iloc[0]))
        size = f"P = {run['n_data'].iloc[0]:,}"
        axis.plot(run["epoch"], run["margin_normalized_mean"] / unit, color=color, label=f"mean, {size}")
        axis.plot(run["epoch"], run["margin_normalized_min"] / unit, "--", color=color, label="minimum")
    axis.set(xscale="log", xlabel="epoch", ylabel="normalised margin / mean at half right")
    axis.set_yscale("symlog", linthresh=0.1)
    axis.set_title("mean and minimum over training")
    axis.legend(fontsize=7)
