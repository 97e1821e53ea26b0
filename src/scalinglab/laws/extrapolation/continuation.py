"""A curve that is continued by `extrapolate` wherever it is asked, with the interface of a law.

Planning questions take it in place of a `Law`, so that they give the same numbers as `laws extrapolate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.errors import NotDetermined
from scalinglab.laws.extrapolation import few_points
from scalinglab.laws.extrapolation.stacking import extrapolate
from scalinglab.laws.fitting.data import points, rising
from scalinglab.laws.fitting.data.points import FEWEST_SIZES, Points
from scalinglab.results.distributions import Interval


@dataclass(frozen=True)
class Continuation:
    """Points and what `extrapolate` gives for them at sizes from the smallest on."""

    points: Points

    @property
    def name(self) -> str:
        """What the prediction rests on."""
        return few_points.OFFSET_FORM if self.points.sizes < FEWEST_SIZES else "forms averaged by backtests"

    def predict(self, x: Any) -> np.ndarray:
        """The curve at x, (n,)."""
        return self._at(x, 0.95)[0]

    def interval(self, x: Any, level: float = 0.95) -> Interval:
        """Where one more run would fall at x; open ends are 0 and infinity."""
        return self._at(x, level)[1]

    def _at(self, x: Any, level: float) -> tuple[np.ndarray, Interval]:
        at = np.atleast_1d(np.asarray(x, float))
        if self.points.sizes < FEWEST_SIZES:
            return few_points.ends(self.points, at, level)
        found = extrapolate(self.points.x, self.points.y, at=at, level=level)
        return found.mean, found.interval


def continuation(x: Any, y: Any, nan_policy: str = "raise") -> Continuation:
    """The continuation of the points (x, y) of one variable.

    Raises:
        NotDetermined: fewer than four sizes.
    """
    data = points.check(x, y, nan_policy=nan_policy)
    if rising.is_complement(data.x, data.y):
        raise NotDetermined(f"{rising.NOTE}; ask this question of 1 - y")
    if data.sizes < FEWEST_SIZES:
        few_points.law_of(data)
    return Continuation(data)
