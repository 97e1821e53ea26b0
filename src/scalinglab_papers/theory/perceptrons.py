"""Perceptrons with other losses: error against norm along the path of the ridge, solved and drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.ticker import NullFormatter

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.perceptron import penalised as drawn
from scalinglab.spectrum import Spectrum
from scalinglab.studies import NUMERICAL, Number, Reproduction, Row, verdict
from scalinglab.theory import perceptron
from scalinglab.theory.dmft.white import WHITE

SIZE, LOAD, FLIPS = 150, 3.0, 0.1
INPUTS: dict[str, Callable[[int], Spectrum]] = {
    "white inputs": lambda size: Spectrum(np.ones(size) / size, np.ones(size) / size),
    "eigenvalues $k^{-1.25}$": lambda size: Spectrum.power_law(1.5, 1.25, size),
}
RIDGES = {"smoke": (0.1,), "laptop": (1.0, 0.1, 0.01)}
DRAWS = {"smoke": 8, "laptop": 60}
POINTS = {"smoke": 7, "laptop": 25}
LIMITS = (1e-4, 1e-5)
# and draws
SIZES = {"smoke": ((10, 40), (20, 20)), "laptop": ((20, 4800), (40, 2400), (80, 600), (160, 150))}
COMPARED = {"smoke": ("square",), "laptop": tuple(perceptron.LOSSES)}  # at these sizes


def perceptrons(scale: str) -> Reproduction:
    """Error against norm for four losses, white and structured inputs, with a tenth of the labels flipped."""
    figure, axes = style.panels(1, 2, sharey=True)
    table: list[Row] = []
    parts: list[Curves] = []
    for axis, (inputs, of_size) in zip(axes[0], INPUTS.items()):
        spectrum = of_size(SIZE)
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
                table.append(
                    verdict.mean(errors / exact).row(
                        f"{_words(inputs)}, {loss}, ridge {value:.2g}: simulated over solved error",
                        expected=1.0, relation="in", resolution=0.05,
                        note=f"{DRAWS[scale]} draws of {SIZE} weights")
                )  # fmt: skip
        axis.legend(fontsize=7)
    return Reproduction(Curves.concat(parts), figure, (*table, *sizes(scale), *limits()))


def sizes(scale: str) -> list[Row]:
    """Simulated over solved error at several sizes, a straight line in 1/N: its end and its slope."""
    rows = []
    for inputs, of_size in INPUTS.items():
        for place, loss in enumerate(COMPARED[scale]):
            means = []
            for size, draws in SIZES[scale]:
                spectrum, ridge = of_size(size), 0.1 * of_size(size).trace / size
                exact = perceptron.penalised(spectrum, LOAD * size, ridge, loss, flips=FLIPS).error
                drawn_ = drawn(spectrum, int(LOAD * size), ridge, loss, flips=FLIPS, draws=draws, seed=place)
                means.append(verdict.mean(drawn_.frame["test_error"].to_numpy() / float(exact)))
            inverse = [1 / size for size, _ in SIZES[scale]]
            line, covariance = np.polyfit(
                inverse, [m.value for m in means], 1, w=[1 / m.stderr for m in means], cov="unscaled"
            )
            slope, end = (Number(float(v), float(e)) for v, e in zip(line, np.sqrt(np.diag(covariance))))
            note = f"N = {', '.join(str(size) for size, _ in SIZES[scale])}; straight line in 1/N"
            rows += [
                end.row(f"{_words(inputs)}, {loss}: simulated over solved error as N → ∞", expected=1.0,
                        relation="in", resolution=0.02, note=note),
                slope.row(f"{_words(inputs)}, {loss}: N times the share that draws are above the theory",
                          expected=0.0, relation="<", note=note),
            ]  # fmt: skip
    return rows


def _words(inputs: str) -> str:
    return inputs.replace("$", "").replace("{", "").replace("}", "")


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
