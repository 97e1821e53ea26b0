"""A prediction made before the measurement: the largest size's best test error, from the smaller sizes.

The prediction is that of `laws.extrapolate`; its interval is that of one more run. Every run of the largest
size is then compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalinglab import laws
from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.extrapolation.stacking import Extrapolation

GRID = 13  # sizes at which the prediction is drawn; the last one is the size predicted


@dataclass(frozen=True)
class Forecast:
    """What the smaller sizes say of the largest one.

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
