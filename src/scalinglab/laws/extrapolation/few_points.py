"""Predictions from fewer than eight sizes: one law with an offset, and its profile interval.

Backtests need points to spare. With four to seven sizes the prediction is that of y = E + A x^-c, E ≥ 0, of
which the pure power law is the case E = 0: its profile interval runs over both forms, so that nothing is
chosen by a criterion that few points cannot feed, and allows for what the form may miss (`form_error`).
Intervals that stay open are refused. So is everything beyond the largest size where the curve still steepens
on log axes, since the law cannot follow a curve that bends down, or was smoothed (`shapes`). So is a way
beyond the largest size that is longer, in ln x, than one and a half times the range of the sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalinglab.errors import NotDetermined
from scalinglab.laws.extrapolation.forecasters import HORIZON
from scalinglab.laws.extrapolation.shapes import require_continuable, short_range, widened
from scalinglab.laws.fitting import bend
from scalinglab.laws.fitting.data.points import FEWEST_FOR_AN_OFFSET, MOST_SCATTER, Points
from scalinglab.laws.fitting.fit import AUTO, fit_points
from scalinglab.laws.fitting.law import Law, scatter_caution
from scalinglab.laws.fitting.statistics import WIDE
from scalinglab.laws.fitting.uncertainty.form_error import FormError
from scalinglab.laws.forms import base
from scalinglab.results.distributions import OPEN, Interval
from scalinglab.results.types import Reason

OFFSET_FORM = AUTO
# defined: times the largest size, beyond which few points need a caution: as far as backtests look
FAR = np.exp(HORIZON)
# measured: `benchmarks/chosen.py ahead`: 95 % intervals hold 99, 98 and 91 ± 4 % of public curves up to 0.5,
# 1 and 1.5 ranges of ln x beyond the largest size, 85 ± 5 and 82 ± 5 % up to 2 and 3
MOST_AHEAD = 1.5


def law_of(data: Points, **options: Any) -> Law:
    """The law behind the prediction, fitted with these options of `fit_points`.

    Raises:
        NotDetermined: fewer than four sizes, or a scatter that may be a bend.
    """
    if data.sizes < FEWEST_FOR_AN_OFFSET:
        raise NotDetermined(Reason("few_sizes", sizes=data.sizes, needed=FEWEST_FOR_AN_OFFSET))
    law = fit_points(base.get(OFFSET_FORM), data, **options)
    repeated = data.sizes < len(data.y) or data.error is not None
    if law.residual_std > MOST_SCATTER and not repeated:
        scatter = float(law.residual_std)
        raise NotDetermined(Reason("noise_or_bend", sizes=data.sizes, scatter=scatter))
    return law


def ends(data: Points, at: np.ndarray, level: float) -> tuple[np.ndarray, Interval]:
    """The law at `at`, (at,), and the interval of one more run; open ends are 0 and infinity."""
    law, determined = law_of(data), at <= furthest(data)
    refuse_beginnings(data, at)
    laws, weight = law.by_sizes
    mean = np.exp(weight @ np.log([each.predict(at) for each in laws]))
    law_ends = law.interval(at, level, of="measurement", form_error=FormError)
    found = widened(data.means()[0], at, mean, law_ends, level)
    return mean, found.where(determined, OPEN.through(np.exp))


def furthest(data: Points) -> float:
    """The largest size for which these few sizes can tell anything."""
    smallest, largest = float(data.x.min()), float(data.x.max())
    return largest * reach_of(smallest, largest)


def reach_of(smallest: float, largest: float) -> float:
    """How many times beyond the largest size (or compute, or width) sizes of this range tell anything."""
    return (largest / smallest) ** MOST_AHEAD


def refuse_beginnings(data: Points, at: np.ndarray) -> None:
    """Refuse to continue what E + A x^-c may not follow: a smoothed curve, or one that bends down."""
    if at.max() <= data.x.max():
        return
    require_continuable(*data.means())
    refuse_steepening(data)


def refuse_steepening(data: Points) -> None:
    """Refuse to continue by E + A x^-c a curve that bends down.

    Raises:
        NotDetermined: it does, significantly.
    """
    found = bend.of_line(np.log(data.x), np.log(data.y))
    if found.steepens:
        raise NotDetermined(Reason("still_steepens", sizes=data.sizes, p=float(found.pvalue)))


def predict(data: Points, at: np.ndarray, level: float) -> tuple[np.ndarray, Interval]:
    """`ends`, refused where an interval is too wide to be of use.

    Raises:
        NotDetermined: an interval that is open, or as wide as a factor of 100; a size too far beyond.
    """
    if data.sizes >= FEWEST_FOR_AN_OFFSET and at.max() > furthest(data):
        largest = data.x.max()
        factors = {
            "covered": float(largest / data.x.min()),
            "beyond": float(at.max() / largest),
            "most": float(furthest(data) / largest),
        }
        raise NotDetermined(Reason("too_far_beyond", sizes=data.sizes, **factors))
    mean, found = ends(data, at, level)
    if not (found.ratio < WIDE**2).all():
        worst = int(np.argmax(found.ratio))
        place = {"at": float(at[worst]), "beyond": float(at[worst] / data.x.max())}
        ends_there = {"low": float(found.low[worst]), "high": float(found.high[worst])}
        points = {"points": len(data.y), "sizes": data.sizes}
        raise NotDetermined(Reason("value_open", **points, **place, **ends_there))
    return mean, found


def caution(data: Points, at: np.ndarray) -> tuple[Reason, ...]:
    """Notes where the interval rests on the form alone, or on a scatter that hardly shows."""
    notes = scatter_caution(len(data.y) - len(base.get(OFFSET_FORM).parameters), data)
    further = at.max() / data.x.max()
    if further > 1:
        notes = (*short_range(data.means()[0]), *notes)
    if further > FAR:
        notes = (Reason("rests_on_the_form", sizes=data.sizes, beyond=float(further)), *notes)
    return notes
