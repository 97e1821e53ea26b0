"""Figures 4, 8 and 9 and the tables of exponents, from the curves that the authors published.

Test error against norm for five of the nine pairs of model and data set is public; they are looked for as
``learning-curves/damico2025/*.csv`` under the folders of ``SCALINGLAB_DATA``. At scale smoke, or to see the
method at work on curves whose exponents are known, a family with γ₁ = 0.5 and γ₂ = 1 stands in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scalinglab.curves import Curves
from scalinglab.data.sources import VARIABLE, search_path
from scalinglab.errors import BadInput
from scalinglab.figures.collapse import (
    draw_collapse,
    draw_curves,
    draw_law,
    draw_predicted,
    plain_ticks,
    sizes_legend,
)
from scalinglab.figures.style import INK, PALETTE, headroom, loglog, panels
from scalinglab.laws.learning_curves.collapse import collapse
from scalinglab.laws.learning_curves.dynamical import Dynamical, dynamical
from scalinglab.laws.learning_curves.mean_curves import SizeCurve, size_curves
from scalinglab.papers.registry import Reproduction
from scalinglab.papers.verdict import Row, rounded

# γ_pred, γ_meas, σ
TABLE_1 = {
    "CNN MNIST": (0.88, 0.52, 0.38), "CNN CIFAR10": (0.28, 0.25, 0.07), "CNN CIFAR100": (0.16, 0.16, 0.03),
    "ResNet MNIST": (0.57, 0.69, 0.08), "ResNet CIFAR10": (0.50, 0.54, 0.05),
    "ResNet CIFAR100": (0.34, 0.37, 0.05), "ViT MNIST": (0.47, 0.54, 0.03), "ViT CIFAR10": (0.23, 0.20, 0.04),
    "ViT CIFAR100": (0.21, 0.11, 0.08),
}  # fmt: skip
TALK_TABLE_1 = {
    "CNN MNIST": (0.60, 0.55, 0.09), "CNN CIFAR10": (0.28, 0.25, 0.07), "CNN CIFAR100": (0.16, 0.16, 0.03),
    "ResNet MNIST": (0.57, 0.69, 0.08), "ResNet CIFAR10": (0.54, 0.56, 0.04),
    "ResNet CIFAR100": (0.31, 0.37, 0.03), "ViT MNIST": (0.47, 0.54, 0.03), "ViT CIFAR10": (0.23, 0.21, 0.03),
    "ViT CIFAR100": (0.14, 0.12, 0.04),
}  # fmt: skip
# γ₁, σ₁, γ₂, σ₂
TABLE_2 = {
    "CNN MNIST": (0.46, 0.05, 1.94, 0.80), "CNN CIFAR10": (0.21, 0.01, 1.32, 0.32),
    "CNN CIFAR100": (0.112, 0.003, 1.44, 0.22), "ResNet MNIST": (1.15, 0.14, 0.50, 0.02),
    "ResNet CIFAR10": (0.51, 0.02, 0.97, 0.09), "ResNet CIFAR100": (0.29, 0.01, 1.17, 0.17),
    "ViT MNIST": (0.14, 0.01, 3.41, 0.11), "ViT CIFAR10": (0.0105, 0.0003, 21.8, 3.3),
    "ViT CIFAR100": (0.0053, 0.0002, 39.7, 14.2),
}  # fmt: skip
STAND_IN = "planted γ₁ = 0.5, γ₂ = 1"
ABSENT = "the curves of this pair are not public"
PLANTED, PLANTED_EXPONENTS = (0.5, 0.5, 0.0), (0.5, 0.0, 1.0, 0.0)  # of the stand-in
ROUNDED = rounded(0.01)  # of numbers printed with two decimals
FAR = 0.1  # a relative deviation from the master curve that would be seen


@dataclass(frozen=True)
class Pair:
    """One model on one data set, analysed."""

    name: str
    curves: Curves
    runs: list[SizeCurve]
    found: Dynamical


@cache
def pairs(scale: str) -> tuple[Pair, ...]:
    """The published pairs, analysed; at scale smoke one family with known exponents."""
    if scale == "smoke":
        return (_pair(STAND_IN, planted()),)
    tables = [pd.read_csv(path) for path in sorted(_folder().glob("*.csv"))]
    named = {f"{t['model'].iloc[0]} {t['dataset'].iloc[0]}": t for t in tables}
    return tuple(_pair(name, named[name]) for name in TABLE_1 if name in named)


def _folder() -> Path:
    for place in search_path():
        if any((folder := place / "learning-curves" / "damico2025").glob("*.csv")):
            return folder
    raise BadInput(
        "the published curves of damico2025 are not here: put their tables (columns model, dataset, n_data, "
        f"norm, test_error) into learning-curves/damico2025/ and set {VARIABLE} to the folder above; "
        "--scale smoke runs without them"
    )


def _pair(name: str, table: pd.DataFrame) -> Pair:
    curves = Curves(table, source="read")
    return Pair(name, curves, size_curves(curves, "norm", "test_error", "n_data"), dynamical(curves))


def planted(noise: float = 0.01) -> pd.DataFrame:
    """ε = 0.3 λ^−0.5 (1 + (λ/λ_opt)⁴)^0.15 with λ_opt ∝ P: γ₁ = 0.5, γ₂ = 1, γ = 0.5; seven sizes."""
    random = np.random.default_rng(0)
    parts = []
    for size in 1000 * 2 ** np.arange(7):
        norm = np.geomspace(0.02, 30, 40) * size / 100
        error = 0.3 * norm**-0.5 * (1 + (norm * 100 / size) ** 4) ** 0.15
        error = np.minimum(error, 0.9) * np.exp(noise * random.standard_normal(40))
        parts.append(
            pd.DataFrame(
                {"model": "planted", "dataset": "none", "n_data": size, "norm": norm, "test_error": error}
            )
        )
    return pd.concat(parts, ignore_index=True)


def _together(made: tuple[Pair, ...]) -> Curves:
    return Curves.concat([pair.curves for pair in made])


def _grid(count: int) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels, three in a row."""
    rows = -(-count // 3)
    figure, axes = panels(rows, min(count, 3), size=(3.6, 3.0))
    for spare in axes.ravel()[count:]:
        spare.set_axis_off()
    return figure, list(axes.ravel()[:count])


# --- figures ---------------------------------------------------------------------------------------------


def fig4(scale: str) -> Reproduction:
    """Curves rescaled by their optima, one panel a pair."""
    made = pairs(scale)
    figure, axes = _grid(len(made))
    rows = []
    for axis, pair in zip(axes, made, strict=True):
        master = collapse(pair.curves, by="optimum")
        draw_collapse(axis, master, "norm", "test error", pair.name)
        plain_ticks(axis, "y")
        largest = master.deviation[-3:]
        seen = np.isfinite(largest).all()
        rows.append(
            Row(
                f"{pair.name}: rms deviation of the three largest P from one curve",
                float(largest.mean()) if seen else None,
                float(largest.std(ddof=1) / np.sqrt(3)) if seen else None, 3, expected=FAR, relation="<",
                note=f"relative; rescaled by the optima; the paper: collapse at large P; collapse "
                f"{master.extent()}",
            )
        )  # fmt: skip
    return Reproduction(_together(made), figure, tuple(rows))


def fig8(scale: str) -> Reproduction:
    """What the exponents are read off: rescaled curves with their power-law windows; optima against size."""
    made = pairs(scale)
    figure, axes = panels(2, len(made), size=(3.3, 3.0))
    for column, pair in zip(axes.T, made, strict=True):
        table = pair.found.table
        draw_curves(column[0], pair.found, pair.runs, title=f"{pair.name}\nγ₁ = {pair.found.gamma_1}")
        for _, row in table[table["resolved"]].iterrows():
            ends = np.array([row["window_low"], row["elbow"]])
            run = next(r for r in pair.runs if r.size == row["size"])
            middle = float(np.sqrt(ends.prod()))
            height = float(np.exp(run.smoothed(np.log(middle))))
            column[0].plot(ends, height * (ends / middle) ** -row["slope"], "--", color=INK, linewidth=0.6)
        headroom(column[0])
        sizes_legend(column[0], table["size"].to_numpy(), "P", loc="upper right", ncols=3, columnspacing=1,
                     handlelength=1)  # fmt: skip
        loglog(column[1], "P", "norm at the optimum")
        draw_law(column[1], table["size"], table["x_optimum"], pair.found.gamma_2_optimum,
                 f"optimum {pair.found.gamma_2_optimum}", low=table["x_optimum_low"],
                 high=table["x_optimum_high"], plain="x")  # fmt: skip
        kept = table[table["resolved"]]
        draw_law(column[1], kept["size"], kept["position"], pair.found.gamma_2,
                 f"γ₂ = {pair.found.gamma_2}", color=PALETTE[1], plain="x")  # fmt: skip
        plain_ticks(column[0], "y")
        headroom(column[1])
        column[1].legend(loc="upper left")
    return Reproduction(_together(made), figure, ())


def fig9(scale: str) -> Reproduction:
    """Smallest error against size: measured, and with the predicted slope."""
    made = pairs(scale)
    figure, axes = _grid(len(made))
    for axis, pair in zip(axes, made, strict=True):
        table, found = pair.found.table, pair.found
        loglog(axis, "P", "smallest test error", pair.name)
        draw_law(axis, table["size"], table["y_optimum"], found.gamma_measured,
                 f"γ = {found.gamma_measured}", falling=True)  # fmt: skip
        draw_predicted(axis, found)
        axis.legend(loc="lower left", frameon=False)
    return Reproduction(_together(made), figure, ())


# --- tables ----------------------------------------------------------------------------------------------


def table1(scale: str) -> Reproduction:
    """Predicted and measured exponents against the paper's Table 1."""
    made = pairs(scale)
    return Reproduction(_together(made), None, _compared_rows(made, TABLE_1))


def talk_table1(scale: str) -> Reproduction:
    """What the talk's newer table has changed in Table 1, and whether its two exponents agree."""
    made = pairs(scale)
    newer = {name: row for name, row in TALK_TABLE_1.items() if row != TABLE_1[name]}
    rows = [] if scale == "smoke" else list(_compared_rows(made, newer))
    for pair in made:
        ours, product = pair.found.gamma_measured, pair.found.gamma_predicted
        rows.append(
            Row(
                f"{pair.name}: γ₁γ₂ − γ measured", product.value - ours.value, pair.found.sigma,
                len(pair.runs), expected=0.0, resolution=0.1 * ours.value, note="the talk: compatible",
            )
        )  # fmt: skip
    return Reproduction(_together(made), None, tuple(rows))


def table2(scale: str) -> Reproduction:
    """γ₁ and γ₂ against the paper's Table 2."""
    made = {pair.name: pair for pair in pairs(scale)}
    rows = []
    for name in made if STAND_IN in made else TABLE_2:
        first, first_error, second, second_error = TABLE_2.get(name, PLANTED_EXPONENTS)
        for symbol, paper, sigma in (("γ₁", first, first_error), ("γ₂", second, second_error)):
            rows.append(_row(made.get(name), name, symbol, paper, sigma))
    return Reproduction(_together(tuple(made.values())), None, tuple(rows))


def _compared_rows(
    made: tuple[Pair, ...], published: dict[str, tuple[float, float, float]]
) -> tuple[Row, ...]:
    """γ measured and γ₁γ₂ of every published pair; of the stand-in at scale smoke."""
    here = {pair.name: pair for pair in made}
    rows = []
    for name in here if STAND_IN in here else published:
        predicted, measured, sigma = published.get(name, PLANTED)
        rows.append(_row(here.get(name), name, "γ measured", measured, ROUNDED))
        rows.append(_row(here.get(name), name, "γ₁γ₂", predicted, sigma))
    return tuple(rows)


NOTES = {
    "γ₁": "windows found by the data, not chosen",
    "γ₂": "of the optima",
    "γ measured": "all sizes, the smallest error of each curve; the paper's error is that of rounding",
    "γ₁γ₂": "γ₂ from the collapse, windows found by the data; the paper's error is its σ",
}


def _row(pair: Pair | None, name: str, symbol: str, paper: float, sigma: float) -> Row:
    """One exponent of one pair; n counts the data sizes that it is fitted to."""
    if pair is None:
        return Row(f"{name}: {symbol}", None, paper=paper, paper_stderr=sigma, note=ABSENT)
    found = {
        "γ₁": pair.found.gamma_1, "γ₂": pair.found.gamma_2_optimum,
        "γ measured": pair.found.gamma_measured, "γ₁γ₂": pair.found.gamma_predicted,
    }[symbol]  # fmt: skip
    if name == STAND_IN:  # of no paper
        return Row(f"{name}: {symbol}", found.value, found.stderr, len(pair.runs), expected=paper)
    return Row(
        f"{name}: {symbol}", found.value, found.stderr, len(pair.runs), paper=paper, paper_stderr=sigma,
        note=NOTES[symbol],
    )  # fmt: skip
