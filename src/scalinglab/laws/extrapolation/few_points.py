"""Predictions from fewer than eight sizes: one law with an offset, and its profile interval.

Backtests need points to spare. With four to seven sizes the prediction is that of y = E + A x^-c, E ≥ 0, of
which the pure power law is the case E = 0: its profile interval runs over both forms, so that nothing is
chosen by a criterion that few points cannot feed. Intervals that stay open are refused.
"""

from __future__ import annotations

import numpy as np

from scalinglab.errors import NotDetermined
from scalinglab.laws.fitting.data.points import Points
from scalinglab.laws.fitting.fit import AUTO, FEWEST_FOR_AN_OFFSET, fit_points
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.forms import registry

MOST_SCATTER = 0.05  # of ln y; larger scatter at few sizes may be a bend that the form lacks
WIDEST = 100.0  # ratio of an interval's ends beyond which it is no answer
OFFSET_FORM = AUTO


def law_of(data: Points) -> Law:
    """The law behind the prediction.

    Raises:
        NotDetermined: fewer than four sizes, or a scatter that may be a bend.
    """
    if data.sizes < FEWEST_FOR_AN_OFFSET:
        raise NotDetermined(
            f"{data.sizes} sizes do not show whether the curve flattens, so nothing can be said beyond them: "
            f"measure at least {FEWEST_FOR_AN_OFFSET} sizes, better 6, or assume a form (laws.fit, --form)"
        )
    law = fit_points(registry.get(OFFSET_FORM), data)
    repeated = data.sizes < len(data.y) or data.error is not None
    if law.residual_std > MOST_SCATTER and not repeated:
        raise NotDetermined(
            f"the {data.sizes} sizes scatter by {law.residual_std:.0%} around E + A x^-c: from so few, noise "
            "and a bend look the same; repeat sizes with other seeds, measure 8 sizes or more, or assume a "
            "form (laws.fit, --form)"
        )
    return law


def ends(data: Points, at: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The law at `at` and the ends of the interval of one more run, each (at,); open ends 0 and infinity."""
    law = law_of(data)
    low, high = law.interval(at, level, of="measurement")
    return np.asarray(law.predict(at)), np.asarray(low), np.asarray(high)


def predict(data: Points, at: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`ends`, refused where an interval is too wide to be of use.

    Raises:
        NotDetermined: an interval that is open, or as wide as a factor of 100.
    """
    mean, low, high = ends(data, at, level)
    ratio = np.divide(high, low, out=np.full_like(high, np.inf), where=low > 0)
    if not (ratio < WIDEST).all():
        worst = int(np.argmax(ratio))
        raise NotDetermined(
            f"{len(data.y)} points at {data.sizes} sizes do not determine the value at {at[worst]:.3g}, "
            f"{at[worst] / data.x.max():.3g} times the largest size: anything from {low[worst]:.2g} to "
            f"{high[worst]:.2g} fits; add sizes"
        )
    return mean, low, high
