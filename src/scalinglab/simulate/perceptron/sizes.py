"""From finite to infinite size: a weighted straight line in 1/N through averages over seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    from scalinglab.curves import Curves


@dataclass(frozen=True)
class InfiniteSize:
    """A quantity at N → ∞, for each load and sharpness in order.

    Attributes:
        load: examples per weight.
        sharpness: λ.
        value: the intercept of y = value + slope/N.
        stderr: its standard error, from the spread over seeds.
        slope: the finite-size correction.
        chi2: Σ (residual/error)² of the line, over `dof` degrees of freedom.
        dof: number of sizes less two.
    """

    load: np.ndarray
    sharpness: np.ndarray
    value: np.ndarray
    stderr: np.ndarray
    slope: np.ndarray
    chi2: np.ndarray
    dof: int


@checked
def infinite_size(curves: Curves, y: str = "test_error") -> InfiniteSize:
    """Extrapolate fixed-norm simulations of several sizes to N → ∞.

    Args:
        curves: from `fixed_norm` at two sizes or more, with two seeds or more each, concatenated.
        y: the measurement.
    """
    frame = curves.frame
    groups = frame.groupby(["load", "sharpness", "n_params"])[y].agg(["mean", "sem"]).reset_index()
    sizes = np.unique(groups["n_params"])
    if len(sizes) < 2 or groups["sem"].isna().any():
        raise BadInput("an extrapolation in 1/N needs two sizes or more and two seeds or more of each")
    found = []
    for (load, sharpness), group in groups.groupby(["load", "sharpness"]):
        if len(group) != len(sizes):
            raise BadInput(f"load={load:g}, sharpness={sharpness:g} is missing at some of the sizes")
        design = np.stack([np.ones(len(sizes)), 1 / group["n_params"].to_numpy()], axis=1)
        weight = 1 / group["sem"].to_numpy()
        covariance = np.linalg.inv((design * weight[:, None] ** 2).T @ design)
        line = covariance @ (design.T @ (weight**2 * group["mean"].to_numpy()))
        chi2 = float(np.sum((weight * (group["mean"].to_numpy() - design @ line)) ** 2))
        found.append((load, sharpness, line[0], np.sqrt(covariance[0, 0]), line[1], chi2))
    load, sharpness, value, error, slope, chi2 = np.array(found).T
    return InfiniteSize(load, sharpness, value, error, slope, chi2, dof=len(sizes) - 2)
