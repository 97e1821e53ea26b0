"""Dynamical scaling laws: how error falls with the norm of a network, and how its optimum moves with data.

From curves ε(λ) of test error against norm at several data sizes P (damico2025, sections 3–4, App. D):

    early phase     ε      = k₁ λ^−γ₁        (eq. 3; the same for every P, up to an elbow)
    optimum         λ_opt  = k₂ P^γ₂         (eq. 4)
    collapse        ε/ε_opt = Φ(λ/λ_opt)     (eq. 5; at large P)
    so              ε_opt  ∝ P^−γ,  γ = γ₁ γ₂   (eq. 6 between its thresholds)

No window is chosen by hand. Every curve is smoothed on log axes (`mean_curves`), and then

- its *optimum* is the smallest error; the error of its norm comes from resampling (of runs where there are
  several, else of residuals), and is large where the curve is flat;
- its *power-law window* is the part around the steepest descent in which the local slope is at least half of
  the steepest; the window ends at the *elbow*;
- γ₁ is the mean over sizes of the least-squares slopes in the windows, with the error of that mean (App. D);
- γ_measured is the slope of ln ε_opt against ln P over all sizes (App. D, Fig. 9);
- γ₂ comes from the collapse. If eq. 5 holds, the norm λ_u at which the error is u times its optimum grows as
  P^γ₂ for *every* u, not only at the optimum u = 1. The mean of ln λ_u over all levels that every curve
  passes between its window and its optimum is a position that a flat or noisy minimum does not blur; γ₂ is
  its slope against ln P. This is the least-squares collapse along the norm, in closed form. The slope of the
  raw optima is `gamma_2_optimum`.

The levels are relative to the heights ε_opt that γ_measured is fitted to. So γ₁γ₂ with γ₂ of the collapse is
not independent of γ_measured: their agreement only tests that the early phase is one power law and that the
curves collapse. With γ₂ of the raw optima, as the paper defines it, the prediction is independent of the
heights. Both are given, each with a verdict by its own error (`verdict`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves.collapse import Collapse, collapse_at
from scalinglab.laws.learning_curves.mean_curves import SizeCurve, left_out, size_curves
from scalinglab.laws.learning_curves.shape import level_crossings, optimum, power_law_window
from scalinglab.results.distributions import Estimate, is_zero, product, slope, slopes
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.types import Reason, Remark, noted
from scalinglab.support.validation import checked

WAYS = ("optimum", "collapse")
RESOLUTION = 0.1  # chosen: of γ; the smallest difference between γ₁γ₂ and γ that matters


@dataclass(frozen=True)
class Dynamical(NotebookResult):
    """The dynamical laws of one model on one data set.

    Attributes:
        table: one row a size: `size`, the optimum (`x_optimum` with `_low` and `_high` at one standard error,
            `y_optimum` with `_error`), the window (`window_low`, `elbow`), its `slope` with `_error`, the
            `position` that the collapse gives, `kind` (overfits or saturates) and `resolved`.
        gamma_1, gamma_2: exponents of the early phase and of the optimal norm.
        gamma_predicted: γ₁γ₂; error by propagation.
        gamma_measured: exponent of the smallest error against size.
        gamma_2_optimum: γ₂ from the positions of the raw optima alone, as the paper defines it.
        sigma: √(σ_pred² + σ_meas²), the scale on which the two are compared.
        collapse: the curves on one master curve, as `collapse(by="position")` gives it.
        notes: what could not be used.
    """

    table: pd.DataFrame
    gamma_1: Estimate
    gamma_2: Estimate
    gamma_predicted: Estimate
    gamma_measured: Estimate
    gamma_2_optimum: Estimate
    sigma: float
    collapse: Collapse
    notes: tuple[Reason, ...] = ()

    @property
    def gamma_predicted_optimum(self) -> Estimate:
        """γ₁γ₂ with γ₂ from the raw optima."""
        return product(self.gamma_1, self.gamma_2_optimum, self._dof)

    @property
    def _dof(self) -> int:
        return int(self.table["resolved"].sum()) - 2

    def difference(self, by: str = "optimum") -> Estimate:
        """γ₁γ₂ − γ_measured, with γ₂ from the "optimum" or from the "collapse"; errors add in squares."""
        if by not in WAYS:
            raise BadInput(f"by={by!r}; choose from: {', '.join(WAYS)}")
        predicted = self.gamma_predicted_optimum if by == "optimum" else self.gamma_predicted
        error = math.hypot(predicted.stderr, self.gamma_measured.stderr)
        return Estimate.from_stderr(predicted.value - self.gamma_measured.value, error, self._dof)

    def verdict(self, by: str = "optimum") -> str:
        """Whether γ₁γ₂ = γ by our own error: "holds" (to a tenth of γ), "fails" or "cannot tell"."""
        return is_zero(self.difference(by), RESOLUTION * abs(self.gamma_measured.value))

    @property
    def collapse_from(self) -> float | None:
        """The smallest size from which the curves fall on one master curve; None where no three do."""
        return self.collapse.holds_from

    def notebook_table(self) -> pd.DataFrame:
        """One row an exponent."""
        names = ("gamma_1", "gamma_2_optimum", "gamma_2", "gamma_predicted_optimum", "gamma_predicted",
                 "gamma_measured")  # fmt: skip
        rows = [(n, e.value, e.stderr, e.low, e.high) for n in names for e in [getattr(self, n)]]
        return pd.DataFrame(rows, columns=["exponent", "value", "stderr", "low", "high"])

    @property
    def remarks(self) -> Iterator[Remark]:
        yield Reason("gamma_1", value=self.gamma_1, sizes=int(self.table["resolved"].sum()))
        for name in ("gamma_2", "gamma_2_optimum", "gamma_measured"):
            yield Reason(name, value=getattr(self, name))
        for name, by in (("gamma_predicted_optimum", "optimum"), ("gamma_predicted", "collapse")):
            yield Reason(name, value=getattr(self, name), verdict=self.verdict(by))
        yield Reason("dynamical_sigma", value=self.sigma)
        yield Reason("dynamical_collapse", extent=self.collapse.extent())
        yield from noted(self.notes)


@checked
def dynamical(
    curves: Curves | pd.DataFrame, x: str = "norm", y: str = "test_error", size: str = "n_data", seed: int = 0
) -> Dynamical:
    r"""Fit the dynamical scaling laws of curves y(x) at several sizes.

    Args:
        curves: one model on one data set; several runs of a size (seeds) are averaged.
        x: what grows during training: a norm.
        y: what falls: an error or a loss, positive.
        size: the column that identifies each curve.
        seed: of the resampling behind the uncertainty of the optima.

    Raises:
        BadInput: fewer than three sizes, or none with a falling part that stands out of its noise.
    """
    found = size_curves(curves, x, y, size)
    return laws_of(found, left_out(curves, found, x, y, size), seed)


def laws_of(found: list[SizeCurve], notes: tuple[Reason, ...] = (), seed: int = 0) -> Dynamical:
    """`dynamical` of mean curves, one a size, which callers have already; `notes` come before its own."""
    generator = np.random.default_rng(seed)
    optima = [optimum(curve, generator) for curve in found]
    windows = [power_law_window(curve) for curve in found]
    resolved = np.array([w.resolved for w in windows])
    _, norms = level_crossings(found, windows)
    logs = np.log([curve.size for curve in found])
    early_slopes = np.array([w.slope for w in windows])[resolved]
    gamma_1 = Estimate.from_stderr(
        early_slopes.mean(), early_slopes.std(ddof=1) / np.sqrt(early_slopes.size), dof=early_slopes.size - 1
    )
    position = norms.mean(axis=1)
    each = slopes(logs[resolved], norms[resolved].T)
    sampled = slope(logs[resolved], position[resolved])
    # where the exponent depends on the level the collapse is imperfect: that is part of the error
    gamma_2 = Estimate.from_stderr(
        sampled.value, np.hypot(sampled.stderr, each.std()), dof=early_slopes.size - 2
    )
    measured = slope(logs, np.array([o.y for o in optima]))
    direct = slope(logs, np.array([o.x for o in optima]))
    predicted = product(gamma_1, gamma_2, dof=early_slopes.size - 2)
    height = np.exp([o.y for o in optima])
    table = pd.DataFrame(
        {
            "size": [curve.size for curve in found],
            "x_optimum": np.exp([o.x for o in optima]),
            "x_optimum_low": np.exp([o.x_low for o in optima]),
            "x_optimum_high": np.exp([o.x_high for o in optima]),
            "y_optimum": height,
            "y_optimum_error": height * [o.y_error for o in optima],
            "window_low": np.exp([w.low for w in windows]),
            "elbow": np.exp([w.high for w in windows]),
            "slope": [w.slope for w in windows],
            "slope_error": [w.slope_error for w in windows],
            "position": np.exp(position),
            "kind": [o.kind for o in optima],
            "resolved": resolved,
        }
    )
    return Dynamical(
        table=table,
        gamma_1=gamma_1,
        gamma_2=gamma_2,
        gamma_predicted=predicted,
        gamma_measured=-measured,
        gamma_2_optimum=direct,
        sigma=float(np.hypot(predicted.stderr, measured.stderr)),
        collapse=collapse_at(found, position),
        notes=(*notes, *_drift_note(logs[resolved], early_slopes)),
    )


def _drift_note(logs: np.ndarray, early_slopes: np.ndarray) -> tuple[Reason, ...]:
    """A note where the early slopes change with size, so that γ₁ is an average of different slopes."""
    trend = slope(logs, early_slopes)
    if not trend.low * trend.high > 0:  # the 95 % interval holds zero, or there is none
        return ()
    ends = {"first": float(early_slopes[np.argmin(logs)]), "last": float(early_slopes[np.argmax(logs)])}
    return (Reason("early_slopes_drift", **ends, trend=trend.value),)
