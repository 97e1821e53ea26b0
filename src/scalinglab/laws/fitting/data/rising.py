"""Metrics that rise with size: accuracies are modelled as 1 - y, others are refused with the way out.

Laws fall towards a floor. A fraction that rises with size (an accuracy, a pass rate) falls as 1 - y; a
reward or a score has no ceiling that the points determine.
"""

from __future__ import annotations

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws.fitting.data.points import Points
from scalinglab.results.types import Reason

ENDLESS = ("power_law", "power_law_offset")  # forms that rise without end where they rise
# measured: `benchmarks/chosen.py rises`: of curves that fall by twice their noise at most 2 % count as rising
# (8 % at 0.3), of those that rise by five times their noise nine in ten of three or four sizes; Kendall's τ
# of y against x
RISES = 0.5


def rises(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether y rises with x on the whole: in most pairs of sizes, and from the smallest to the largest."""
    sizes, which = np.unique(x, return_inverse=True)
    if len(sizes) < 3:
        return False
    means = np.bincount(which, y) / np.bincount(which)
    if not means[-1] > means[0]:
        return False
    from scipy import stats  # seldom needed, and slow to load

    return bool(stats.kendalltau(sizes, means).statistic > RISES)


def is_complement(x: np.ndarray, y: np.ndarray, names: tuple[str, str] = ("x", "y")) -> bool:
    """Whether 1 - y is to be modelled; refuses rising values that are no fractions, by their names."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if not rises(x, y):
        return False
    if ((y > 0) & (y < 1)).all():
        return True
    refuse(x, y, names)  # raises: y rises
    return False


def refuse(x: np.ndarray, y: np.ndarray, names: tuple[str, str] = ("x", "y")) -> None:
    """Refuse values that rise, by their names, with the way out."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if not rises(x, y):
        return
    percent = " (divide percentages by 100)" if ((y > 0) & (y <= 100)).all() and y.max() > 1 else ""
    negative = ", the negative of a log-likelihood" if (y < 0).all() else ""
    raise BadInput(
        f"{names[1]} rises with {names[0]}, from {y[np.argmin(x)]:.4g} to {y[np.argmax(x)]:.4g}, and laws "
        "here fall: of a score give what is missing to the best possible one, such as "
        f"1 - accuracy{percent}{negative} or best score - score; a loss that rises with size follows no such "
        "law"
    )


NOTE = Reason("complement")


def refuse_beyond_one(form: str, points: Points, x: str = "x", y: str = "y") -> None:
    """Refuse a fraction that rises, such as an accuracy, for a form that would take it beyond 1.

    Args:
        form: the name of the form that was fitted.
        points: that it was fitted to.
        x, y: what their columns are called.
    """
    if form not in ENDLESS or points.complement or not rises(points.x, points.y):
        return
    if (points.y < 1).all():
        raise BadInput(
            f"{y} rises with {x}, and {form} would take it beyond 1: leave the form out (auto), which models "
            f"1 - {y}, or fit the error"
        )
