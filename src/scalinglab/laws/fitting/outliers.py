"""A point that does not follow the others: a misprint, another unit, a run that went wrong.

With few points, one bad point bends the fit. The test uses deleted residuals: with RSS the sum of squares of
all n points and RSS_i that of the fit without point i,

    F = (RSS − RSS_i)/(RSS_i/(n − 1 − p)),

with p parameters. The point with the largest F is reported where Gaussian noise gives so large a deviation in
less than a share `UNLIKELY` of all tables; heavy tails, or noise that changes with size, give more. At an end
of a curve the reason says that the curve may also break there.

Several outliers hide each other from this test: `without_few` finds them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from scalinglab.laws.fitting.data.points import MOST_SCATTER, Points
from scalinglab.laws.fitting.solution import Solution
from scalinglab.laws.fitting.uncertainty.linear import MOST_POINTS
from scalinglab.laws.fitting.uncertainty.profile import leverage
from scalinglab.results.distributions import median_scale
from scalinglab.results.sentences import Column
from scalinglab.results.types import Reason

# search: linearised deleted residual, in standard deviations, from which points are refitted without; three
# points of Gaussian noise have one of 4 with probability 2e-4, which is more than `UNLIKELY`
SUSPECT = 4.0
TRIED = 6  # search: candidates, each of which costs one fit
UNLIKELY = 1e-4  # convention: level of the test, the share of tables of Gaussian noise that have such a point
FAR = 5.0  # convention: distance of an outlier of a group from the fit to the others, over their scatter
FEW = 0.1  # convention: largest share of the points that may be outliers
ROUNDS = 20  # search: iterations of least trimmed squares, at most

CODES = ("outlier", "outlier_at_an_end")
LEFT_OUT = "outlier_left_out"


def unlikely(deviations: np.ndarray | float, number: int, dof: float = np.inf) -> np.ndarray:
    """Flag deviations (in standard deviations) too large for Gaussian noise in `number` points.

    Args:
        number: points in the table (Bonferroni's correction).
        dof: degrees of freedom of the estimated standard deviation.
    """
    return np.asarray(number * 2 * special.stdtr(dof, -np.abs(deviations)) < UNLIKELY)


def find(law: Solution, refit: Callable[[Points], Solution]) -> Reason | None:
    """Find the one outlier, with the value that the fit without it predicts there; None without one.

    Args:
        law: a fit to logarithms, of one point a run, in any number of variables.
        refit: fits the form by least squares to other points.
    """
    data, dof = law.points, law.dof - 1
    if dof < 2 or data.blocked or not law.log or len(data.y) > MOST_POINTS:
        return None
    if np.max(_deleted(law)) < SUSPECT:
        return None
    whole = refit(data)
    tried = np.argsort(np.abs(whole.residuals) / (1 - leverage(whole)))[::-1][:TRIED]
    rows = np.arange(len(data.y))
    place, others = min(((i, refit(data.keep(rows != i))) for i in tried), key=lambda one: one[1].objective)
    ratio = (whole.objective / max(others.objective, 1e-24) - 1) * dof
    at = data.x[..., place]
    expected = float(np.ravel(others.at(tuple(at) if data.x.ndim > 1 else at))[0])
    off = abs(np.log(data.y[place] / expected))
    if not unlikely(np.sqrt(max(ratio, 0.0)), len(data.y), dof) or off < MOST_SCATTER:
        return None
    names = map(Column, law.form.variables)
    sizes = dict(zip(names, map(float, np.atleast_1d(at)), strict=True))
    code = "outlier_at_an_end" if data.x.ndim == 1 and at in (data.x[0], data.x[-1]) else "outlier"
    return Reason(code, at=sizes, y=Column("y"), measured=float(data.y[place]), expected=expected)


def without_few(
    law: Solution, refit: Callable[[Points, np.ndarray, str], Solution]
) -> tuple[Solution, np.ndarray] | None:
    """Fit without a group of outliers: the fit and a mask of the outliers; None without any, or above 10 %.

    Least trimmed squares (Rousseeuw 1984): fit the 90 % of points nearest to the previous fit until they are
    the same points. Starts: all points, and all but the tenth at either end of each variable, where outliers
    mostly lie. Points farther than `FAR` times the scatter from the best of these fits are the outliers.

    Args:
        refit: fits the form to other points, from given values, with a loss.
    """
    data = law.points
    most = int(np.ceil((1 - FEW) * len(data.y)))
    fits: dict[bytes, Solution] = {}  # starts meet in the same points

    def nearest(others: Solution, count: int | None) -> tuple[Solution, np.ndarray]:
        kept = np.zeros(len(data.y), bool)
        for _ in range(ROUNDS):
            off = np.abs(np.log(data.y / others.at(tuple(data.x) if data.x.ndim > 1 else data.x)))
            near = off <= (FAR * median_scale(off) if count is None else np.sort(off)[count - 1])
            if (near == kept).all() or near.sum() < most:
                return others, near
            if near.tobytes() not in fits:
                fits[near.tobytes()] = refit(data.keep(near), others.values[None], "squared")
            kept, others = near, fits[near.tobytes()]
        return others, kept

    orders = [np.argsort(x, kind="stable") for x in np.atleast_2d(data.x)]
    ends = [end for order in orders for end in (order[:most], order[-most:])]
    starts = (law, *(refit(data.keep(end), law.values[None], "squared") for end in ends))
    trimmed = min((nearest(start, most)[0] for start in starts), key=lambda one: one.objective)
    others, kept = nearest(trimmed, None)
    if kept.all() or kept.sum() < most:
        return None
    return refit(data.keep(kept), others.values[None], "huber"), ~kept


def _deleted(law: Solution) -> np.ndarray:
    """(n,) |deleted residuals| of the linearised fit, in standard deviations of the other points."""
    squared = law.residuals**2 / (1 - leverage(law))
    rest = np.maximum(np.sum(law.residuals**2) - squared, 1e-24) / max(law.dof - 1, 1)
    return np.asarray(np.sqrt(squared / rest))
