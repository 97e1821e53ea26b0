"""What the demonstration shows first: a prediction made before its measurement, and theory over simulation.

- The best test error of the largest size is predicted from the smaller sizes (`laws.extrapolate`), with the
  interval of one more run, and compared with every run of that size.
- The teacher–student perceptron (damico2025, section 2): a student with N weights of fixed norm learns load·N
  examples of a teacher by the logistic loss. `theory.perceptron` gives its test error for N → ∞;
  `simulate.perceptron` minimises the loss of small students. Nothing is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from scalinglab import laws, simulate, theory
from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.figures.style import PALETTE
from scalinglab.laws.extrapolation.stacking import Extrapolation
from scalinglab.report import sections
from scalinglab.report.page import Plot, Section
from scalinglab.report.plots import band, canvas, finish, legend_above, line, points
from scalinglab.results.distributions import Student, interval

LOADS = (1.0, 3.0, 10.0)  # examples per weight
NORMS = tuple(float(norm) for norm in np.geomspace(0.1, 100, 9))


@dataclass(frozen=True)
class TheoryCheck:
    """Theory and simulation at the same points.

    Attributes:
        table: one row a load and norm: `load`, `norm`, `exact` (theory), `measured` (mean over students) and
            `stderr`.
        n_params: weights of a student, N.
        seeds: students at every point.
    """

    table: pd.DataFrame
    n_params: int
    seeds: int

    @property
    def inside(self) -> int:
        """The number of points at which the 95 % interval of the simulation contains the theory."""
        low, high = interval(Student(self.table["measured"], self.table["stderr"], self.seeds - 1))
        return int(self.table["exact"].between(low, high).sum())

    @property
    def deviation(self) -> float:
        """Median over the points of |measured / exact − 1|."""
        return float((self.table["measured"] / self.table["exact"] - 1).abs().median())

    def sentence(self) -> str:
        """How well they agree, in words."""
        return (
            f"The exact error of infinitely large students and the mean of {self.seeds} simulated ones with "
            f"{self.n_params} weights differ by {100 * self.deviation:.1f} % (median of {len(self.table)} "
            f"points). The simulation's 95 % interval contains the theory at {self.inside} of "
            f"{len(self.table)} points. Nothing is fitted."
        )


def check(n_params: int = 200, seeds: int = 8) -> TheoryCheck:
    """Simulate students of N = `n_params` weights and compute the theory at the same loads and norms."""
    parts = []
    for load in LOADS:
        problem = simulate.perceptron.draw(load, n_params, seeds)
        students = simulate.perceptron.fixed_norm(problem, NORMS).frame.groupby("norm")["test_error"]
        found = pd.DataFrame({"measured": students.mean(), "stderr": students.sem()}).reset_index()
        exact = theory.perceptron.fixed_norm(load, found["norm"].to_numpy()).error
        parts.append(found.assign(load=load, exact=exact))
    table = pd.concat(parts, ignore_index=True)[["load", "norm", "exact", "measured", "stderr"]]
    return TheoryCheck(table, n_params, seeds)


GRID = 13  # sizes at which the prediction is drawn; the last one is the size predicted


@dataclass(frozen=True)
class Forecast:
    """The prediction for the largest size from the smaller ones.

    Attributes:
        size: training examples for which the prediction is made.
        sizes: training examples of the runs that it is made from.
        found: the prediction at sizes up to `size`, which is the last one; None where it was refused.
        refused: why there is none.
    """

    size: int
    sizes: tuple[int, ...]
    found: Extrapolation | None
    refused: str = ""

    @property
    def interval(self) -> tuple[float, float, float]:
        """Prediction, low end and high end at `size`; NaN where it was refused."""
        if self.found is None:
            return (float("nan"),) * 3
        return float(self.found.mean[-1]), float(self.found.low[-1]), float(self.found.high[-1])

    def sentence(self) -> str:
        """The prediction in words."""
        source = f"{len(self.sizes)} smaller sizes, {min(self.sizes):,} to {max(self.sizes):,} examples,"
        if self.found is None:
            return f"The {source} give no prediction at {self.size:,} examples: {self.refused}."
        mean, low, high = self.interval
        return (
            f"From the {source} one more run with {self.size:,} is predicted to reach a test error of "
            f"{mean:.4f}, with a {100 * self.found.level:.0f} % interval from {low:.4f} to {high:.4f}."
        )


def predict(curves: Curves, size: int) -> Forecast:
    """Predict the best test error of one run at `size` from the runs of smaller sizes alone."""
    smaller = curves.select(n_data=lambda column: column < size)
    sizes = tuple(int(n) for n in sorted(smaller.frame["n_data"].unique()))
    try:
        at = np.geomspace(min(sizes), size, GRID)
        found = laws.extrapolate(smaller, at=at, x="n_data", y="test_error", reduce="best")
    except BadInput as reason:
        return Forecast(size, sizes, None, str(reason))
    return Forecast(size, sizes, found)


@dataclass(frozen=True)
class Outcome:
    """Where the runs of the largest size fell.

    Attributes:
        forecast: what was predicted.
        errors: (runs,) best test error of every run of that size.
    """

    forecast: Forecast
    errors: np.ndarray

    @property
    def inside(self) -> int:
        """How many runs fell inside the interval."""
        _, low, high = self.forecast.interval
        return int(((self.errors >= low) & (self.errors <= high)).sum())

    @property
    def mean_inside(self) -> bool:
        """Whether the mean over the runs lies inside the interval."""
        _, low, high = self.forecast.interval
        return bool(low <= self.errors.mean() <= high)

    def sentence(self) -> str:
        """Where they fell, in words."""
        each = ", ".join(f"{error:.4f}" for error in self.errors)
        measured = f"Its {len(self.errors)} runs, trained after that, reach {each}"
        predicted, low, _ = self.forecast.interval
        if self.forecast.found is None:
            return f"{measured}."
        where = "inside" if self.mean_inside else "below" if self.errors.mean() < low else "above"
        return (
            f"{measured}. Their average, {self.errors.mean():.4f}, differs from the prediction by "
            f"{100 * (self.errors.mean() / predicted - 1):+.0f} % and lies {where} the interval; "
            f"{self.inside} of {len(self.errors)} runs are inside."
        )


def compare(forecast: Forecast, curves: Curves) -> Outcome:
    """Compare the prediction with the runs of the size that it was made for."""
    best = curves.select(n_data=forecast.size).best("test_error")
    return Outcome(forecast, best.frame["test_error"].to_numpy(float))


def opening(outcome: Outcome, checked: TheoryCheck, curves: Curves) -> list[Section]:
    """The prediction, the theory, then the learning curves; the laws and the runs follow."""
    later = [sections.learning_curves(curves), sections.against_norm(curves)]
    return [prediction(outcome, curves), exact_theory(checked), *(part for part in later if part)]


def prediction(outcome: Outcome, curves: Curves) -> Section:
    """What was predicted from the smaller sizes, and where the largest fell."""
    paragraphs = [
        outcome.forecast.sentence(),
        outcome.sentence(),
        "The prediction uses only the smaller sizes and was printed before the largest was trained. It is of "
        "the best checkpoint of a run.",
    ]
    caption = "Best test error against training examples: points are runs, the line and the band come from "
    return Section(
        "Predicted before it was trained",
        paragraphs,
        [Plot(predicted(outcome, curves), caption + "the filled points only; crosses were trained later.")],
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
        "A learner whose test error is known exactly: a student with one layer of weights learns from "
        "examples that a teacher of the same kind has labelled. The error depends on the load (examples per "
        "weight) and on the norm of the student's weights.",
        checked.sentence(),
        "The points of one load share the same students, so they lie above or below the line together. "
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
