"""What the published runs on repeated data say about R_D: the profile of the data-constrained law.

    SCALINGLAB_DATA=… python benchmarks/repeated_data.py [--figure docs/images/repeated-data.png]

182 published runs (Muennighoff et al. 2023, as in arXiv 2604.22753). For each half-life R_D (`repeat_data`)
all other parameters of E + A N'^-α + B D'^-α are fitted again; printed are Huber's objective (threshold 1e-3
of ln loss), the rms of ln loss, and the objective at the published parameters.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from scalinglab.data.tables import published_table
from scalinglab.laws import forms, surface

GRID = (4.0, 8.0, 12.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 200.0, 300.0, 1000.0)
PUBLISHED = {"E": 1.87, "A": 521.0, "B": 1488.0, "alpha": 0.353, "beta": 0.353, "repeat_data": 15.387756,
             "repeat_params": 5.309743}  # fmt: skip
DELTA = 1e-3
CHI_SQUARED = 3.84  # 95 % of one degree of freedom


def runs() -> pd.DataFrame:
    """The published runs."""
    files = (f"scalebench/data_constrained-{part}.parquet" for part in ("train", "test"))
    return pd.concat([published_table(file, "arXiv 2604.22753") for file in files])


def objective(errors: np.ndarray) -> float:
    """Huber's, summed."""
    size = np.abs(errors)
    return float(np.sum(np.where(size < DELTA, size**2 / 2, DELTA * (size - DELTA / 2))))


def density(errors: np.ndarray) -> float:
    """At zero, from the middle half of the errors."""
    width = float(np.quantile(np.abs(errors), 0.5))
    return 0.5 / (2 * width)


def main() -> None:
    """Print the profile; draw it where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    table = runs()
    n, d, unique, loss = (table[c].to_numpy(float) for c in ("params", "tokens", "unique_tokens", "loss"))
    sizes = {"n_params": n, "n_data": d, "n_unique": unique}
    print(f"{len(table)} runs\n| R_D | objective | rms of ln loss | alpha | R_N |")
    print("| --- | --- | --- | --- | --- |")
    rows = []
    for value in GRID:
        found = surface.fit(
            loss=loss, form="data_constrained", tie={"beta": "alpha"}, bounds={"repeat_data": (value, value)},
            delta=DELTA, **sizes,
        )  # fmt: skip
        errors = np.log(loss / found.predict(sizes))
        rows.append((value, objective(errors), float(np.sqrt(np.mean(errors**2))), density(errors)))
        print(f"| {value:g} | {rows[-1][1]:.5f} | {rows[-1][2]:.4f} | {found.alpha:.3f} "
              f"| {found.parameters['repeat_params']:.3g} |", flush=True)  # fmt: skip
    form = forms.get("data_constrained")
    errors = np.log(loss / form(np.array([n, d, unique]), **PUBLISHED))
    print(f"| published, 15.4 | {objective(errors):.5f} | {np.sqrt(np.mean(errors**2)):.4f} | 0.353 | 5.31 |")
    at, heights = np.array(rows)[:, 0], np.array(rows)[:, 1]
    close = at[heights <= 1.1 * heights.min()]
    print(f"within a tenth of the best objective: R_D from {close.min():g} to {close.max():g}")
    # of absolute errors: 4 f(0) times the difference of their sums is chi-squared, f(0) their density at 0
    ratio = 4 * np.array(rows)[np.argmin(heights), 3] * (heights - heights.min()) / DELTA
    inside = np.interp(np.geomspace(at[0], at[-1], 4001), at, ratio) <= CHI_SQUARED
    ends = np.geomspace(at[0], at[-1], 4001)[inside]
    print(f"95 % interval if runs erred independently: R_D from {ends.min():.3g} to {ends.max():.3g}")
    if asked.figure:
        draw(at, heights, asked.figure)


def draw(at: np.ndarray, heights: np.ndarray, path: Path) -> None:
    """The profile, with the published value."""
    from scalinglab.figures.style import panels

    figure, axes = panels(1, 1, size=(5.0, 3.2))
    axis = axes[0, 0]
    axis.set(
        xscale="log",
        xlabel="R_D, the half-life of repeated data (epochs)",
        ylabel="objective of the best fit",
    )
    axis.axhspan(heights.min(), 1.1 * heights.min(), alpha=0.15, label="within a tenth of the best")
    axis.plot(at, heights, "o-", markersize=3)
    axis.axvline(PUBLISHED["repeat_data"], linestyle=":", linewidth=1, label="published: 15.4")
    axis.legend(frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
