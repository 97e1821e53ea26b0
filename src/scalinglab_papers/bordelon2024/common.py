"""Shared by the figures of bordelon2024: one table of theory and simulation, and how it is drawn.

Settings that the paper states (a = 1.5, b = 1.25, P = 128) are used; sizes that it does not state are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.random_features import train
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Number, Row, verdict
from scalinglab.support.work import track
from scalinglab.theory import dmft

TASK, SPECTRAL = 1.5, 1.25  # a and b of figures 2, 4 and 5
MODES = {"smoke": 200, "laptop": 2000}
DRAWS = {"smoke": 8, "laptop": 60}
AGREEMENT = 0.05  # a difference of simulation and theory that would matter
LETTERS = {"n_params": "N", "n_data": "P", "ensemble": "E", "model_ratio": "ν"}


def power_law(scale: str, task: float = TASK, spectral: float = SPECTRAL) -> Spectrum:
    """The power-law spectrum at the size of a scale."""
    return Spectrum.power_law(task, spectral, MODES[scale])


def theory_and_simulation(
    spectrum: Spectrum,
    settings: Iterable[dict[str, Any]],
    times: np.ndarray,
    simulated: np.ndarray,
    draws: int,
    figure: int,
) -> Curves:
    """Theory at `times` and `simulated`, simulation at `simulated`, for every setting, in one table.

    Every setting is drawn anew, and every figure: `figure` numbers it.
    """
    parts = []
    for place, setting in enumerate(track(list(settings), "theory and simulation")):
        at = np.unique(np.concatenate([times, simulated]))
        parts.append(dmft.solve(spectrum, at, **setting).curves())
        if math.isfinite(min(setting.get("n_params", math.inf), setting.get("n_data", math.inf))):
            parts.append(train(spectrum, simulated, **setting, draws=draws, seed=seed_of(figure, place)))
    return Curves.concat(parts)


def seed_of(figure: int, place: int) -> int:
    """The seed of a setting of a figure; no two share one, so that draws are independent."""
    return 1000 * figure + place


def theory(curves: Curves, **setting: Any) -> pd.DataFrame:
    """Rows of the theory, by time."""
    return curves.select(source="theory", **setting).frame.sort_values("time")


def simulation(curves: Curves, **setting: Any) -> pd.DataFrame:
    """Mean, standard error and count over draws, by time."""
    chosen = curves.select(source="simulate", **setting)
    return chosen.average("seed").frame.sort_values("time") if len(chosen) else pd.DataFrame()


def draw(
    axis: Axes, curves: Curves, by: str, values: Iterable[float], y: str = "test_loss", name: str = "",
    x: str = "time",
) -> None:  # fmt: skip
    """Theory as lines, simulation as points in a band of one standard deviation over draws."""
    values = list(values)
    for value, color in zip(values, style.colors(values)):
        lines = theory(curves, **{by: value})
        axis.plot(lines[x], lines[y], color=color, label=f"{name or by} {size_name(value)}")
        mean = simulation(curves, **{by: value})
        if len(mean):
            spread = mean[f"{y}_stderr"] * np.sqrt(mean["count"])
            low = np.maximum(mean[y] - spread, mean[y] / 5)
            style.band(axis, mean[x], low, mean[y] + spread, color=color)
            axis.plot(mean[x], mean[y], "o", color=color, markeredgecolor="white", markeredgewidth=0.4)


def size_name(value: float) -> str:
    """A size as it is written in a legend."""
    return "∞" if math.isinf(value) else f"{value:g}"


def relative(curves: Curves, y: str, until: float = math.inf, **setting: float) -> Number:
    """Simulation over theory − 1 at one setting, mean over times up to `until`, with its error over draws."""
    expected = theory(curves, **setting).set_index("time")[y]
    frame = curves.select(source="simulate", **setting).frame
    frame = frame[frame["time"] <= until]
    ratio = frame[y] / frame["time"].map(expected[~expected.index.duplicated()]) - 1
    return verdict.mean(ratio.groupby(frame["seed"]).mean().to_numpy())


def agreement(
    curves: Curves, settings: Iterable[Mapping[str, float]], y: str = "test_loss", until: float = math.inf
) -> list[Row]:
    """Rows on the relative difference of simulation and theory at each of these settings."""
    rows = []
    for setting in settings:
        found = relative(curves, y, until, **setting)
        name = ", ".join(f"{LETTERS[key]} = {size_name(value)}" for key, value in setting.items())
        ends = "" if math.isinf(until) else f" up to t = {until:g}"
        rows.append(
            found.row(
                f"{y.replace('_', ' ')} of simulation over theory − 1, {name}", expected=0.0,
                resolution=AGREEMENT,
                note=f"mean over times{ends}; the paper draws theory on simulation; the theory is for "
                "infinite sizes, systems of finite size lie above it by about 1/N",
            )
        )  # fmt: skip
    return rows


def extreme_sizes(name: str, sizes: Sequence[float]) -> list[dict[str, float]]:
    """The smallest and the largest finite size."""
    finite = [size for size in sizes if math.isfinite(size)]
    return [{name: size} for size in dict.fromkeys((min(finite), max(finite)))]


def loss_at(curves: Curves, time: float, **setting: float) -> Number:
    """Mean over draws of the simulated test loss at the simulated time nearest to `time`."""
    frame = curves.select(source="simulate", **setting).frame
    times = np.unique(frame["time"].to_numpy())
    nearest = times[np.argmin(abs(np.log(times / time)))]
    return verdict.mean(frame[frame["time"] == nearest]["test_loss"].to_numpy())


def log_slope(x: np.ndarray, y: np.ndarray, error: np.ndarray) -> tuple[float, float]:
    """Least-squares slope of log y against log x, with its standard error from those of y."""
    lx, ly = np.log(np.asarray(x, float)), np.log(np.asarray(y, float))
    weight = (np.asarray(y) / np.asarray(error)) ** 2
    centre = np.average(lx, weights=weight)
    scale = float((weight * (lx - centre) ** 2).sum())
    return float((weight * (lx - centre) * ly).sum() / scale), scale**-0.5


def slope_row(quantity: str, paper: float, x: np.ndarray, y: np.ndarray, note: str = "") -> Row:
    """An exact power law's exponent, from its local slopes at the last sizes, against the paper's."""
    slopes = verdict.local_slopes(x, y)
    found = verdict.limit(slopes)
    seen = f"limit of local slopes, the last {slopes[-1]:.5g}; the error is what is left to go"
    return found.row(quantity, paper=paper, note=f"{seen}. {note}".rstrip(" ."))


def guide(axis: Axes, x: np.ndarray, y: float, exponent: float, text: str, beside: bool = False) -> None:
    """A dashed power law through (x[0], y), with its exponent written below its end, or beside it."""
    axis.plot(x, y * (np.asarray(x) / x[0]) ** exponent, "--", color=style.INK, linewidth=1.0)
    end = float(y * (x[-1] / x[0]) ** exponent)
    place: dict[str, Any] = {"xytext": (-4, -6), "ha": "right", "va": "top"}
    if beside:
        place = {"xytext": (4, 0), "ha": "left", "va": "center"}
    style.slope(axis, float(x[-1]), end, text, **place)
