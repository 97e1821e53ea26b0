"""Perceptrons with other losses: error against norm along the path of the ridge, solved and drawn."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import NullFormatter

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.perceptron import penalised as drawn
from scalinglab.spectrum import Spectrum
from scalinglab.studies import verdict
from scalinglab.studies.registry import Reproduction
from scalinglab.studies.verdict import NUMERICAL, Number, Row
from scalinglab.theory import perceptron
from scalinglab.theory.dmft.white import WHITE

SIZE, LOAD, FLIPS = 150, 3.0, 0.1
INPUTS = {
    "white inputs": Spectrum(np.ones(SIZE) / SIZE, np.ones(SIZE) / SIZE),
    "eigenvalues $k^{-1.25}$": Spectrum.power_law(1.5, 1.25, SIZE),
}
RIDGES = {"smoke": (0.1,), "laptop": (1.0, 0.1, 0.01)}
DRAWS = {"smoke": 8, "laptop": 60}
POINTS = {"smoke": 7, "laptop": 25}
LIMITS = (1e-4, 1e-5)


def perceptrons(scale: str) -> Reproduction:
    """Error against norm for four losses, white and structured inputs, with a tenth of the labels flipped."""
    figure, axes = style.panels(1, 2, sharey=True)
    table: list[Row] = []
    parts: list[Curves] = []
    for axis, (inputs, spectrum) in zip(axes[0], INPUTS.items()):
        trace = float(spectrum.eigenvalues.sum())
        at = np.array(RIDGES[scale]) * float(spectrum.eigenvalues.sum()) / SIZE
        path = np.unique(np.append(np.geomspace(20, 1e-3, POINTS[scale]) * trace / SIZE, at))
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel("standard deviation of w·x")
        axis.set_ylabel("test error")
        axis.set_title(f"{inputs}, {LOAD:g} examples a weight, {FLIPS:.0%} flipped")
        for place, (loss, color) in enumerate(zip(perceptron.LOSSES, style.PALETTE)):
            found = perceptron.penalised(spectrum, LOAD * SIZE, path, loss, flips=FLIPS)
            axis.plot(found.field, found.error, color=color, label=loss)
            draws = drawn(spectrum, int(LOAD * SIZE), at, loss, flips=FLIPS, draws=DRAWS[scale], seed=place)
            parts += [found.curves(), draws]
            means = draws.frame.groupby("ridge")[["field", "test_error"]]
            axis.errorbar(
                means.mean()["field"],
                means.mean()["test_error"],
                means.sem()["test_error"],
                fmt="o",
                color=color,
            )
            for value in at:
                errors = draws.frame[draws.frame["ridge"] == value]["test_error"].to_numpy()
                exact = float(found.error[np.flatnonzero(path == value)[0]])
                words = inputs.replace("$", "").replace("{", "").replace("}", "")
                table.append(
                    verdict.mean(errors / exact).row(
                        f"{words}, {loss}, ridge {value:.2g}: simulated over solved error", expected=1.0,
                        relation="in", resolution=0.05, note=f"{DRAWS[scale]} draws of {SIZE} weights")
                )  # fmt: skip
        axis.legend(fontsize=7)
    return Reproduction(Curves.concat(parts), figure, (*table, *limits()))


def limits() -> tuple[Row, ...]:
    """Closed forms and the solvers of single rules."""
    logistic = perceptron.penalised(WHITE, LOAD, 0.01)
    hinge = perceptron.penalised(WHITE, LOAD, 1e-4, "hinge")
    below, above = (perceptron.penalised(WHITE, load, LIMITS, flips=0.5).norm for load in (1.8, 2.2))
    fixed = perceptron.fixed_norm(LOAD, float(logistic.field) / 2)
    same = {"expected": 1.0, "relation": "in", "resolution": 1e-5}
    return (
        Number(float(logistic.error / fixed.error), NUMERICAL).row(
            "logistic loss: error over that of the student of the same norm", **same),
        Number(float(hinge.error / perceptron.max_stability(LOAD).error), NUMERICAL).row(
            "hinge loss, ridge 1e-4: error over that of maximal stability", **same),
        Number(float(below[1] / below[0]), 0.01).row(
            "random labels, 1.8 examples a weight: growth of the norm from ridge 1e-4 to 1e-5", expected=1.2,
            relation=">", note="separable up to 2 examples a weight (Cover 1965)"),
        Number(float(above[1] / above[0]), 0.01).row(
            "random labels, 2.2 examples a weight: growth of the norm from ridge 1e-4 to 1e-5", expected=1.2,
            relation="<", note="not separable"),
    )  # fmt: skip
