"""What the figures of bordelon2024 share: one table of theory and simulation, and how it is drawn.

Settings that the paper states (a = 1.5, b = 1.25, P = 128) are used; sizes that it does not state are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.papers.registry import Row
from scalinglab.progress import track
from scalinglab.simulate.random_features import train
from scalinglab.spectrum import Spectrum
from scalinglab.theory import dmft

TASK, SPECTRAL = 1.5, 1.25  # a and b of figures 2, 4 and 5
MODES = {"smoke": 200, "laptop": 2000}
DRAWS = {"smoke": 6, "laptop": 40}


def power_law(scale: str, task: float = TASK, spectral: float = SPECTRAL) -> Spectrum:
    """The power-law spectrum at the size of a scale."""
    return Spectrum.power_law(task, spectral, MODES[scale])


def both(
    spectrum: Spectrum,
    settings: Iterable[dict[str, Any]],
    times: np.ndarray,
    simulated: np.ndarray,
    draws: int,
    seed: int = 0,
) -> Curves:
    """Theory at `times` and `simulated`, simulation at `simulated`, for every setting, in one table."""
    parts = []
    for setting in track(list(settings), "theory and simulation"):
        at = np.unique(np.concatenate([times, simulated]))
        parts.append(dmft.solve(spectrum, at, **setting).curves())
        if math.isfinite(min(setting.get("n_params", math.inf), setting.get("n_data", math.inf))):
            parts.append(train(spectrum, simulated, **setting, draws=draws, seed=seed))
    return Curves.concat(parts)


def theory(curves: Curves, **setting: Any) -> pd.DataFrame:
    """Rows of the theory, by time."""
    return curves.select(source="theory", **setting).frame.sort_values("time")


def simulation(curves: Curves, **setting: Any) -> pd.DataFrame:
    """Mean, standard error and count over draws, by time."""
    chosen = curves.select(source="simulate", **setting)
    return chosen.average("seed").frame.sort_values("time") if len(chosen) else pd.DataFrame()


def draw(
    axis: Axes, curves: Curves, by: str, values: Iterable[float], y: str = "test_loss", name: str = ""
) -> None:
    """Theory as lines, simulation as points in a band of one standard deviation over draws."""
    values = list(values)
    for value, color in zip(values, style.colors(values)):
        lines = theory(curves, **{by: value})
        axis.plot(lines["time"], lines[y], color=color, label=f"{name or by} {size_name(value)}")
        mean = simulation(curves, **{by: value})
        if len(mean):
            spread = mean[f"{y}_stderr"] * np.sqrt(mean["count"])
            low = np.maximum(mean[y] - spread, mean[y] / 5)
            style.band(axis, mean["time"], low, mean[y] + spread, color=color)
            axis.plot(mean["time"], mean[y], "o", color=color, markeredgecolor="white", markeredgewidth=0.4)


def size_name(value: float) -> str:
    """A size as it is written in a legend."""
    return "∞" if math.isinf(value) else f"{value:g}"


def compare(curves: Curves, y: str = "test_loss", until: float = math.inf) -> pd.DataFrame:
    """Simulation beside theory at equal setting and time: columns y, y_stderr, count, expected."""
    mean = simulation(curves)
    keys = [k for k in ("n_params", "n_data", "ensemble", "bags", "time") if k in mean]
    expected = theory(curves)[[*keys, y]].rename(columns={y: "expected"})
    table = mean.merge(expected, on=keys)
    return table[table["time"] <= until]


def agreement(curves: Curves, y: str = "test_loss", until: float = math.inf, allowed: float = 0.05) -> Row:
    """How far the simulation is from the theory, as a row of the table."""
    table = compare(curves, y, until)
    table = table[table[f"{y}_stderr"] < 0.2 * table["expected"]]  # where there is something to compare
    relative = table[y] / table["expected"] - 1
    error = table[f"{y}_stderr"] / table["expected"]
    worst = int(np.argmax(np.abs(relative.to_numpy())))
    within = bool(np.all(np.abs(relative) < 4 * error + allowed))
    return Row(
        f"simulation over theory, {y.replace('_', ' ')}: largest relative difference",
        "dashed theory lies on the simulation",
        float(relative.iloc[worst]),
        float(error.iloc[worst]),
        within,
        f"every point within 4 standard errors + {allowed:.0%} for the finite size; "
        f"mean difference {float(relative.mean()):+.2%} over {len(table)} points of "
        f"{int(table['count'].max())} draws",
    )


def log_slope(x: np.ndarray, y: np.ndarray, error: np.ndarray | None = None) -> tuple[float, float | None]:
    """Least-squares slope of log y against log x, with its standard error from those of y."""
    lx, ly = np.log(np.asarray(x, float)), np.log(np.asarray(y, float))
    weight = np.ones(len(lx)) if error is None else (np.asarray(y) / np.asarray(error)) ** 2
    centre = np.average(lx, weights=weight)
    scale = float((weight * (lx - centre) ** 2).sum())
    value = float((weight * (lx - centre) * ly).sum() / scale)
    return value, None if error is None else scale**-0.5


def slope_row(
    quantity: str, paper: float, measured: float, tolerance: float, error: float | None = None, note: str = ""
) -> Row:
    """A slope against the paper's."""
    allowed = tolerance + (3 * error if error else 0)
    criterion = f"within {tolerance:g}" + (" + 3 standard errors" if error else "")
    return Row(
        quantity, paper, measured, error, abs(measured - paper) < allowed, f"{criterion}. {note}".strip()
    )


def guide(axis: Axes, x: np.ndarray, y: float, exponent: float, text: str, beside: bool = False) -> None:
    """A dashed power law through (x[0], y), with its exponent written below its end, or beside it."""
    axis.plot(x, y * (np.asarray(x) / x[0]) ** exponent, "--", color=style.INK, linewidth=1.0)
    end = float(y * (x[-1] / x[0]) ** exponent)
    place: dict[str, Any] = {"xytext": (-4, -6), "ha": "right", "va": "top"}
    if beside:
        place = {"xytext": (4, 0), "ha": "left", "va": "center"}
    style.slope(axis, float(x[-1]), end, text, **place)
