"""Few sizes of public image curves: does the interval hold the points that follow?

The first half of each of these curves was smoothed by its authors, the second is raw. An interval takes the
scatter of the points that it was given for that of the next one. So it is judged on points of the same kind:
the second half smoothed in the same way. Against raw points an interval from smoothed ones is too narrow, and
nothing in these shows it; the table says by how much. Few raw ones are not continued: the raw half covers a
factor of 2 at most.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import scalinglab as sl
from scalinglab.data.tables import published_table
from scalinglab.errors import NotDetermined

POINTS = 10  # of each curve that are predicted
SMOOTHED = 0.05  # in ln x to either side: about the spacing of the smoothed half
FURTHEST = 10.0  # times the largest size given


@dataclass
class Held:
    """Over curves, the share of points that their interval holds; how many curves were refused."""

    shares: list[float] = field(default_factory=list)
    refused: int = 0

    def __str__(self) -> str:
        mean, error = np.mean(self.shares), np.std(self.shares) / np.sqrt(len(self.shares))
        return f"{100 * mean:.1f} ± {100 * error:.1f} % held, {self.refused} refused"


def public_curves(count: int) -> None:
    """Print what intervals from `count` sizes of each curve hold."""
    table = published_table("alabdulmohsin2022/curves.csv", "arXiv 2209.06640")
    curves = [
        curve.groupby(["is_train", "n_data"])["loss"].mean()
        for _, curve in table[table["domain"] == "IC"].groupby(["task", "model"])
    ]
    for name, reach in (("last decade", 10.0), ("whole range", np.inf)):
        same, raw = Held(), Held()
        for curve in curves:
            given, later = curve[1], curve[0]
            first = max(given.index.min(), given.index.max() / reach)
            at = spread_over(later[later.index <= FURTHEST * given.index.max()])
            smooth = _smoothed(later, at.index.to_numpy(float))
            _judge(_near(given, first, given.index.max(), count), at.index, (same, smooth), (raw, at))
        start = f"{count} sizes over the {name} of the smoothed half"
        print(f"{start}, smoothed points that follow: {same}")
        print(f"{start}, raw points that follow: {raw}", flush=True)


def _judge(given: pd.Series, at: pd.Index, *asked: tuple[Held, Any]) -> None:
    """Continue the points given to `at`, and add the share of each kind of later points in the interval."""
    try:
        found = sl.laws.extrapolate(given.index.to_numpy(float), given.to_numpy(), at=at.to_numpy(float))
    except NotDetermined:
        for held, _ in asked:
            held.refused += 1
        return
    for held, later in asked:
        values = np.asarray(later)
        held.shares.append(float(np.mean((found.low <= values) & (values <= found.high))))


def _near(curve: pd.Series, first: float, last: float, count: int) -> pd.Series:
    """The points nearest to `count` sizes, even in the logarithm."""
    sizes = np.log(curve.index.to_numpy(float))
    near = [int(np.argmin(np.abs(sizes - at))) for at in np.linspace(np.log(first), np.log(last), count)]
    return curve.iloc[np.unique(near)]


def spread_over(curve: pd.Series) -> pd.Series:
    """At most `POINTS` of a curve, over all of it."""
    return curve.iloc[np.unique(np.linspace(0, len(curve) - 1, POINTS).round().astype(int))]


def _smoothed(curve: pd.Series, at: np.ndarray) -> np.ndarray:
    """(at,) the mean of ln y near each size, as y."""
    near_by = np.abs(np.log(curve.index.to_numpy(float) / at[:, None])) <= SMOOTHED
    return np.exp(near_by @ np.log(curve.to_numpy()) / near_by.sum(axis=1))
