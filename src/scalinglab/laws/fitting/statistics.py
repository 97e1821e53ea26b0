"""The few statistics that fits need: quantiles, a robust scale, and a test of the residuals."""

from __future__ import annotations

import numpy as np
from scipy import stats

from scalinglab.errors import BadInput


def level_quantile(level: float, dof: int) -> float:
    """Student's two-sided quantile."""
    if not 0 < level < 1:
        raise BadInput(f"level={level!r} must lie between 0 and 1, as in 0.95")
    return float(stats.t.ppf(0.5 + level / 2, dof)) if dof >= 1 else float("inf")


def robust_scale(r: np.ndarray, count: int) -> float:
    """1.4826 times the median of |r|, corrected for the parameters that were fitted."""
    size = np.abs(r)
    correction = np.sqrt(len(r) / max(len(r) - count, 1))
    # the median of few residuals is fragile; half the standard deviation keeps it from collapsing
    return float(max(1.4826 * np.median(size), 0.5 * np.sqrt(np.mean(size**2))) * correction)


def lack_of_fit(x: np.ndarray, r: np.ndarray, parameters: int, rounding: float) -> float:
    """The p-value of residuals that are independent from size to size.

    Where sizes are repeated it is the F test of the sizes' mean residuals against the scatter at one size,
    else von Neumann's ratio of neighbours with its Gaussian approximation; neither depends on the order of
    the rows. NaN for too few points, and for residuals that are nothing but rounding.

    Args:
        x: (n,) sizes.
        r: (n,) residuals.
        parameters: how many were fitted.
        rounding: the size of residuals that are rounding.
    """
    if np.max(np.abs(r)) < rounding:
        return float("nan")
    _, which, counts = np.unique(x, return_inverse=True, return_counts=True)
    means, n = np.bincount(which, r) / counts, len(counts)
    within = float(np.sum((r - means[which]) ** 2))
    repeats, spare = len(r) - n, n - parameters
    if repeats >= 3 and spare >= 1 and within > len(r) * rounding**2:
        ratio = float(np.sum(counts * means**2)) / spare / (within / repeats)
        return float(stats.f.sf(ratio, spare, repeats))
    if n < 8:
        return float("nan")
    means = means * np.sqrt(counts)
    ratio = float(np.sum(np.diff(means) ** 2) / np.sum((means - means.mean()) ** 2))
    return float(stats.norm.sf((1 - ratio / 2) * np.sqrt((n**2 - 1) / (n - 2))))
