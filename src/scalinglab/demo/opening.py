"""The first sections of the demonstration's report: the prediction, and theory over simulation."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from scalinglab import theory
from scalinglab.curves import Curves
from scalinglab.demo.forecast import Outcome
from scalinglab.demo.theory_check import TheoryCheck
from scalinglab.figures.style import PALETTE
from scalinglab.report import sections
from scalinglab.report.page import Plot, Section
from scalinglab.report.plots import band, canvas, finish, legend_above, line, points


def opening(outcome: Outcome, checked: TheoryCheck, curves: Curves) -> list[Section]:
    """The prediction, the theory, then the learning curves; the laws and the runs follow."""
    later = [sections.learning_curves(curves), sections.against_norm(curves)]
    return [prediction(outcome, curves), exact_theory(checked), *(part for part in later if part)]


def prediction(outcome: Outcome, curves: Curves) -> Section:
    """What was predicted from the smaller sizes, and where the largest fell."""
    paragraphs = [
        outcome.forecast.sentence(),
        outcome.sentence(),
        "The prediction uses the smaller sizes alone and was printed before the largest was trained. What "
        "counts is the best checkpoint of every run.",
    ]
    caption = "Best test error against training examples: points are runs, the line and the band come from "
    return Section(
        "Predicted before it was trained",
        paragraphs,
        [Plot(predicted(outcome, curves), caption + "the filled points alone; crosses were trained later.")],
    )


def predicted(outcome: Outcome, curves: Curves) -> go.Figure:
    """The runs of the smaller sizes, the prediction with its interval, and the runs of the largest size."""
    forecast = outcome.forecast
    figure = canvas("n_data", "test_error")
    if (found := forecast.found) is not None:
        band(figure, found.at, found.low, found.high, name=f"{100 * found.level:.0f} % interval of a run")
        line(figure, found.at, found.mean, "prediction", dash="dash")
    best = curves.best("test_error").frame
    smaller = best[best["n_data"] < forecast.size]
    points(figure, smaller["n_data"], smaller["test_error"], name="trained first")
    at = np.full(len(outcome.errors), forecast.size)
    points(figure, at, outcome.errors, name="trained after the prediction", color=PALETTE[1])
    figure.data[-1].update(marker={"symbol": "x", "size": 9})
    return finish(legend_above(figure))


def exact_theory(checked: TheoryCheck) -> Section:
    """The perceptron's exact error, with simulated students as points."""
    paragraphs = [
        "A learner for which the test error is known exactly: one layer of weights, the student, learns from "
        "examples that a teacher of the same kind has labelled. What matters is the load (examples per "
        "weight) and the norm of the student's weights.",
        checked.sentence(),
        "The points of one load share the same students, so that they lie above or below the line together. "
        "Students of finite size differ from the theory by about one over their size.",
    ]
    caption = "Test error of a perceptron against its norm: lines are theory, points simulation, bars one "
    return Section(
        "Exact theory over a simulation", paragraphs, [Plot(perceptron(checked), caption + "standard error.")]
    )


def perceptron(checked: TheoryCheck) -> go.Figure:
    """Theory as lines, simulated students as points, a colour for each load."""
    table = checked.table
    norms = np.geomspace(table["norm"].min(), table["norm"].max(), 60)
    figure = canvas("norm", "test_error")
    figure.update_layout(xaxis={"title": {"text": "norm of the student's weights"}})
    for (load, part), color in zip(table.groupby("load"), PALETTE, strict=False):
        exact = theory.perceptron.fixed_norm(load, norms).error
        line(figure, norms, exact, f"theory, load {load:g}", color)
        points(figure, part["norm"], part["measured"], part["stderr"], f"simulation, load {load:g}", color)
    return finish(legend_above(figure))
