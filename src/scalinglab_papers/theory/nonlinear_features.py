"""Random features with a nonlinearity: what width buys at a fixed number of examples, solved and drawn."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.random_features import NonlinearPool, sweep
from scalinglab.spectrum import Spectrum
from scalinglab.studies import NUMERICAL, Number, Reproduction, Row, verdict
from scalinglab.theory import nonlinear_features as theory
from scalinglab.theory import random_features

MODES, N_DATA, NOISE, RIDGE = np.arange(1, 301.0), 150, 0.3, 1e-2
EIGENVALUES, POWER = MODES**-0.5 / np.sum(MODES**-0.5), MODES**-1.0 / np.sum(MODES**-1.0)
INPUTS = Spectrum(EIGENVALUES, POWER)
CASES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int, int]] = {  # activation, depth, inner width
    "linear": (lambda h: h, 1, 1),
    "tanh(2h)": (lambda h: np.tanh(2 * h), 1, 1),
    "ReLU": (lambda h: np.maximum(h, 0), 1, 1),
    "ReLU, three layers, 1000 inside": (lambda h: np.maximum(h, 0), 3, 1000),
    "ReLU, three layers, 100 inside": (lambda h: np.maximum(h, 0), 3, 100),
}
CHEAP = ("linear", "tanh(2h)", "ReLU", "ReLU, three layers, 100 inside")  # of scale smoke
DRAWN = {"smoke": (100,), "laptop": (40, 100, 300, 900)}
DRAWS = {"smoke": 8, "laptop": 40}


def nonlinear_features(scale: str) -> Reproduction:
    """Loss against width for four kinds of features at 150 examples."""
    figure, axes = style.panels(1, 1)
    axis = axes[0, 0]
    style.loglog(
        axis, "features N", "test loss", f"{N_DATA} examples, label noise {NOISE:g}, ridge {RIDGE:g}"
    )
    table: list[Row] = []
    parts: list[Curves] = []
    widths = np.round(np.geomspace(20, 5000, 40))
    for place, ((name, (activation, depth, inner)), color) in enumerate(zip(CASES.items(), style.PALETTE)):
        if scale == "smoke" and name not in CHEAP:
            continue
        spectrum = theory.equivalent(INPUTS, activation, depth, inner)
        noise = math.hypot(NOISE, spectrum.noise)
        found = random_features.learning_curve(spectrum, N_DATA, widths, RIDGE, noise)
        axis.plot(widths, found.loss, color=color, label=name)
        pool = NonlinearPool(INPUTS, activation, NOISE, depth, inner, name=name)
        drawn = sweep(pool, N_DATA, DRAWN[scale], ridge=RIDGE, draws=DRAWS[scale], seed=place)
        parts.append(drawn)
        for width, rows in drawn.frame.groupby("n_params"):
            losses = rows["test_loss"].to_numpy()
            exact = float(random_features.learning_curve(spectrum, N_DATA, width, RIDGE, noise).loss)
            ratio = verdict.mean(losses / exact)
            axis.errorbar([width], [losses.mean()], [ratio.stderr * exact], fmt="o", color=color)
            table.append(
                ratio.row(f"{name}, N = {width}: simulated over solved loss", expected=1.0, relation="in",
                          resolution=0.1, note=f"{DRAWS[scale]} draws, {len(MODES)} inputs")
            )  # fmt: skip
    axis.legend(fontsize=7)
    return Reproduction(Curves.concat(parts), figure, (*table, *limits()))


def limits() -> tuple[Row, ...]:
    """The parts of ReLU in closed form."""
    linear, rest = theory.parts(CASES["ReLU"][0], 1.0)
    return (
        Number(linear, NUMERICAL).row("ReLU: linear part", paper=0.25, resolution=1e-5),
        Number(rest, NUMERICAL).row(
            "ReLU: nonlinear part", paper=0.25 - 1 / (2 * np.pi), resolution=1e-5, note="1/4 − 1/2π"),
    )  # fmt: skip
