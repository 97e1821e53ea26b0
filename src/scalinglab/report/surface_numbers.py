"""What the report shows of a surface L(n_params, n_data), computed; `surface_sections` draws it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.figures.data import Isoflop, isoflops
from scalinglab.laws import surface as surfaces
from scalinglab.laws.fitting.solution import open_ended
from scalinglab.laws.fitting.statistics import rmsle
from scalinglab.laws.optimum import Optimal
from scalinglab.laws.planning.three_ways import default_budgets
from scalinglab.laws.surface import Surface
from scalinglab.results.types import Reason, reason_of

MOST_BUDGETS = 7  # isoFLOP curves in one figure
FEW_STEPS = 9  # of a surface whose intervals are profiles, each of which takes a fit
STEPS = 33  # places of the slider, and of a figure's line
AHEAD = 10.0  # times the largest size or compute, to which figures reach
FARTHEST = 100.0  # times the largest size or compute, to which the slider and compute-optimal sizes reach
HELD_BACK = 10.0  # the backtest predicts runs of more than a tenth of the largest compute from the others


def spent(fitted: Surface) -> np.ndarray:
    """FLOPs of every point."""
    n, d = fitted.law.points.x[:2]
    return np.asarray(FLOPS_PER_PARAM_EXAMPLE * n * d)


def isoflop_budgets(fitted: Surface) -> np.ndarray:
    """The computes of the isoFLOP curves: those of the design where it has few, else spread over the runs."""
    total = spent(fitted)
    found = default_budgets(total)
    return found if len(found) <= MOST_BUDGETS else np.geomspace(total.min(), total.max(), MOST_BUDGETS)


def isoflops_of(surface: Surface) -> list[Isoflop]:
    """The runs by the nearest compute of `isoflop_budgets`, and the surface there."""
    return isoflops(surface, isoflop_budgets(surface))


def minima_of(surface: Surface) -> Optimal | Reason:
    """The compute-optimal models of the isoFLOP curves, or why there are none."""
    if lost := [name for name in ("alpha", "beta") if name in surface.undetermined]:
        return Reason("other_surfaces_fit", parameters=tuple(lost))
    try:
        return surface.compute_optimal(isoflop_budgets(surface), intervals=False)
    except ScalinglabError as error:
        return reason_of(error)


def frontier(fitted: Surface) -> pd.DataFrame | Reason:
    """The compute-optimal models from the cheapest run to `FARTHEST` times the most expensive one.

    A row a compute, of which each takes a profile, so the page asks once: for the best loss and the slider of
    the card, the figure of the sizes, and the table at whole powers of ten. Where nothing is determined so
    far, to `AHEAD` times the most expensive run; the reason where that is not determined either.
    """
    total = spent(fitted)
    first, largest = total.min(), total.max()
    steps = STEPS if fitted.method == "bootstrap" else FEW_STEPS
    reason = Reason("no_optimum")
    for ahead in (FARTHEST, AHEAD):
        times = AHEAD ** (np.arange(steps // 3 * round(np.log10(ahead)) + 1) / (steps // 3))
        powers = 10.0 ** np.arange(np.floor(np.log10(largest)), np.ceil(np.log10(ahead * largest)))
        # the line of the card changes at the largest run
        budgets = np.unique(
            [*np.geomspace(first, largest, steps - steps // 3)[:-1], *largest * times, *powers]
        )
        try:
            return fitted.compute_optimal(budgets).table()
        except ScalinglabError as error:
            reason = reason_of(error)
    return reason


def whole_powers(frontier: pd.DataFrame) -> pd.DataFrame:
    """The rows of a frontier at whole powers of ten of compute, from the largest run on."""
    power = np.log10(frontier["compute"])
    late = power >= np.floor(np.log10(frontier["compute"] / frontier["times_beyond"]))
    return frontier[late & (np.abs(power - np.round(power)) < 1e-9)]


@dataclass(frozen=True)
class Backtest:
    """The most expensive runs, predicted from the cheaper ones.

    Attributes:
        compute, measured, predicted, low, high: of every run that was held back, (runs,).
        cheaper: how many points the prediction was made from.
    """

    compute: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    low: np.ndarray
    high: np.ndarray
    cheaper: int

    @property
    def inside(self) -> float:
        """The share of measured values that the intervals hold."""
        return float(np.mean((self.low <= self.measured) & (self.measured <= self.high)))

    @property
    def error(self) -> float:
        """RMSLE: √mean (ln ŷ − ln y)²."""
        return rmsle(np.log(self.predicted / self.measured))


def backtest(fitted: Surface) -> Backtest:
    """Refit on runs of at most a tenth of the largest compute, and predict the others."""
    data, total = fitted.law.points, spent(fitted)
    late = total > total.max() / HELD_BACK
    if len(fitted.law.form.parameters) >= (cheaper := int((~late).sum())):
        raise BadInput(
            f"only {cheaper} of {len(late)} cost a tenth of the largest compute or less: too few for a fit"
        )
    n, d = data.x[:2]
    early = surfaces.fit(
        n[~late],
        d[~late],
        data.y[~late],
        form="auto" if fitted.average else fitted.law.form,
        runs=data.runs[~late],
        seed=fitted.seed,
    )
    if lost := open_ended(early.parameter_intervals()):
        raise BadInput(f"the {cheaper} cheaper points do not determine {', '.join(lost)}")
    later = {"n_params": n[late], "n_data": d[late]}
    low, high = early.interval(later, of="measurement")
    predicted = np.clip(np.asarray(early.median(later)), low, high)
    return Backtest(total[late], data.y[late], predicted, np.asarray(low), np.asarray(high), cheaper)
