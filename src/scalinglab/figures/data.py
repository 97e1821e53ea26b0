"""The numbers that figures draw, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import numpy as np

from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE
from scalinglab.figures.style import PALETTE, colors, through_middle

if TYPE_CHECKING:
    from scalinglab.laws import Law
    from scalinglab.laws.learning_curves.dynamical import Dynamical
    from scalinglab.laws.surface import Surface
    from scalinglab.results.distributions import Estimate


class LawCurve(NamedTuple):
    """A law along its variable with its interval, each (places,); `inside`: within its points."""

    x: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    inside: np.ndarray


def law_curve(fitted: Law, farthest: float, level: float) -> LawCurve:
    """A law of one variable from just below its points to `farthest`."""
    sizes = fitted.points.x
    x = np.geomspace(sizes.min() / 1.2, farthest, 60)
    return LawCurve(x, np.asarray(fitted.predict(x)), *fitted.interval(x, level), x <= sizes.max())


def visible(y: np.ndarray, curves: list[LawCurve]) -> tuple[float, float]:
    """Limits of y for intervals, so that an open interval does not make the points small."""
    lowest, highest = min(y.min(), *(c.y.min() for c in curves)), max(y.max(), *(c.y.max() for c in curves))
    if y.min() > 0:
        return float(y.min() / 30), float(3 * highest)
    return float(lowest - 3 * (highest - lowest)), float(highest + 3 * (highest - lowest))


class KindAhead(NamedTuple):
    """The runs of one kind of rows, and the prediction at ten times as much, with its interval.

    Attributes:
        x, y: of its points: compute in FLOPs where parameters and data vary, else its size.
        at: the size or compute of the prediction.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    is_compute: bool
    at: float
    value: float
    low: float
    high: float
    color: str


def kinds_ahead(found: Any) -> list[KindAhead]:
    """The kinds of a table that have a prediction, of its `Answers`."""
    tenfold = [f for f in found.findings if f.question == "ten times" and f.values]
    hues = PALETTE if len(tenfold) <= len(PALETTE) else [mpl.colors.to_hex(each) for each in colors(tenfold)]
    drawn = []
    for finding, color in zip(tenfold, hues, strict=False):
        name, (value,) = finding.facts["kind"], finding.values.values()
        fit = found.kinds[name].fit
        surface = "compute" in finding.facts
        x = fit.chosen.compute if surface else np.atleast_2d(fit.chosen.table.x)[0]
        at = finding.facts["compute" if surface else "at"]
        ends = float(value.value), float(value.low), float(value.high)
        drawn.append(KindAhead(name, x, fit.chosen.table.y, surface, at, *ends, color))
    return drawn


@dataclass(frozen=True)
class Isoflop:
    """Loss against parameters at one compute.

    Attributes:
        compute: FLOPs.
        n_params, loss: of the runs nearest to this compute, (runs,).
        sizes, fitted: the surface at this compute, near the data that were run, (points,).
    """

    compute: float
    n_params: np.ndarray
    loss: np.ndarray
    sizes: np.ndarray
    fitted: np.ndarray


def isoflops(
    fitted: Surface, budgets: np.ndarray | int, flops_per_param_example: float = FLOPS_PER_PARAM_EXAMPLE
) -> list[Isoflop]:
    """The runs by the nearest of these computes, or of so many over theirs, and the surface there."""
    n, d = fitted.law.points.x[:2]
    spent = flops_per_param_example * n * d
    computes = np.geomspace(spent.min(), spent.max(), budgets) if isinstance(budgets, int) else budgets
    nearest = np.abs(np.log(spent[:, None] / computes)).argmin(axis=1)
    sizes = np.geomspace(n.min() / 2, n.max() * 2, 80)
    found = []
    for i, compute in enumerate(computes):
        data, own = compute / flops_per_param_example / sizes, nearest == i
        seen = (data > d.min() / 3) & (data < d.max() * 3)
        at = dict(zip(fitted.law.form.variables, (sizes[seen], data[seen]), strict=True))
        losses = np.asarray(fitted.predict(at))
        found.append(Isoflop(float(compute), n[own], fitted.law.points.y[own], sizes[seen], losses))
    return found


@dataclass(frozen=True)
class PowerLaw:
    """Points, and the power law with this exponent through their middle; arrays of one length."""

    name: str
    sizes: np.ndarray
    values: np.ndarray
    exponent: Estimate
    sign: int = 1

    @property
    def line(self) -> np.ndarray:
        """The law at the sizes."""
        return through_middle(self.sizes, self.values, self.sign * self.exponent.value)


def laws_of_error(found: Dynamical) -> list[PowerLaw]:
    """Best error against data: by the direct fit, and by the product of the other two exponents."""
    sizes, best = (found.table[c].to_numpy(float) for c in ("size", "y_optimum"))
    named = {"measured": found.gamma_measured, "γ₁·γ₂": found.gamma_predicted}
    return [PowerLaw(name, sizes, best, exponent, -1) for name, exponent in named.items()]


def laws_of_norm(found: Dynamical) -> list[PowerLaw]:
    """Where the curves lie along the norm: their raw minima, and the position that the collapse gives."""
    table, kept = found.table, found.table[found.table["resolved"]]
    return [
        PowerLaw(name, rows["size"].to_numpy(float), rows[column].to_numpy(float), exponent)
        for rows, column, exponent, name in (
            (table, "x_optimum", found.gamma_2_optimum, "minimum"),
            (kept, "position", found.gamma_2, "falling part, γ₂"),
        )
    ]
