"""Where to stop: the optimal norm of a larger data set, extrapolated from smaller ones.

    ln λ_opt(P) = ln k₂ + γ₂ ln P        (damico2025, eq. 4)

is fitted by least squares to the optima of the curves at hand, and continued to the size asked for. Its error
is that of a new observation on the line: optima scatter around it. A run of that size can then be stopped
when its norm comes there (`Tracker(stop_at_norm=…)`), without a test set being looked at.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves.mean_curves import SizeCurve, size_curves
from scalinglab.laws.learning_curves.shape import optimum
from scalinglab.results.estimate import FEWEST, Estimate, new_point
from scalinglab.support.validation import checked


@checked
def stopping_norm(
    curves: Curves | pd.DataFrame,
    at: float,
    x: str = "norm",
    y: str = "test_error",
    size: str = "n_data",
    seed: int = 0,
) -> Estimate:
    """The norm at which the error of a run on `at` examples is expected to be smallest.

    Args:
        curves: one model on one data set at three sizes or more.
        at: the size asked for.
        x, y, size, seed: as in `dynamical`.

    Returns:
        The geometric best value, with a 95 % interval; `stderr` is that of its logarithm.
    """
    return stopping_point(size_curves(curves, x, y, size), at, seed)


def stopping_point(found: list[SizeCurve], at: float, seed: int = 0) -> Estimate:
    """`stopping_norm` of curves that are averaged already."""
    if len(found) < FEWEST:
        raise BadInput(f"{len(found)} sizes: the optimal norm of another one needs three or more")
    if not at > 0:
        raise BadInput(f"at={at!r} must be a positive size")
    generator = np.random.default_rng(seed)
    sizes = np.log([curve.size for curve in found])
    logs = new_point(sizes, [optimum(curve, generator).x for curve in found], float(np.log(at)))
    value, low, high = np.exp([logs.value, logs.low, logs.high]).tolist()
    return Estimate(value, logs.stderr, low, high)
