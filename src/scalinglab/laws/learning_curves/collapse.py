"""Collapse: curves of several sizes on one master curve Φ, and how well it holds.

    y / y_scale(n) = Φ(x / x_scale(n))        (damico2025, eq. 5)

The scales are

- `by="position"`, the default: the height of the minimum, and the position that makes the falling parts
  agree best, which a flat or noisy minimum does not blur. `dynamical` reads γ₂ off these positions and
  carries this collapse: its `collapse_from` is the `holds_from` here. A curve without a falling part that
  stands out of its noise has no position and does not belong;
- `by="optimum"`: the position and height of every curve's minimum (damico2025, Fig. 4);
- `by="exponents"`: x_scale = n^a and y_scale = n^−b with the a and b that make the collapse best, as in
  finite-size scaling.

Heights and positions are those of the smoothed curve: the smallest of many noisy points lies below it by an
amount that depends on the noise of that size alone, and would tear curves apart that agree.

Curves are judged from where their power law begins (`alignment`): the plateau of an untrained model does not
scale. The quality is that of Houdayer and Hartmann (2004): the mean squared deviation of every curve from
the master curve made by the *others*, in units of its uncertainty; about 1 where the curves agree within
their noise, much more where they do not. Because a tiny noise makes every collapse look bad, the deviations
are also given as they are, as relative errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from scalinglab.curves import Curves
from scalinglab.errors import BadInput, nearest
from scalinglab.estimate import Estimate, slope
from scalinglab.laws.learning_curves.mean_curves import SizeCurve, left_out, size_curves
from scalinglab.laws.learning_curves.quality import GRID, Family
from scalinglab.laws.learning_curves.shape import level_crossings, power_law_window

WAYS = ("position", "optimum", "exponents")
SCALES = {
    "position": "divided by place of the falling part, height of the minimum",
    "optimum": "divided by place and height of the minimum",
    "exponents": "divided by the powers of the size that make the collapse best",
}
FEWEST = 3  # sizes below which a collapse is no evidence


@dataclass(frozen=True)
class Collapse:
    """A master curve and how well it holds.

    Attributes:
        by: where the scales come from: "position", "optimum" or "exponents".
        x, y: (g,) the master curve Φ in rescaled units (of the sizes for which it holds).
        spread: (g,) relative standard deviation of those sizes around it.
        sizes: (s,) all sizes; `x_scale`, `y_scale`: (s,) what each was divided by (NaN: no position).
        deviation: (s,) relative rms deviation of each size from the master curve of the others that hold.
        holds: (s,) whether the size belongs to the collapse; `holds_from`: the smallest that does, with all
            larger ones but the outliers; None where no three sizes agree.
        outliers: sizes above `holds_from` that do not follow.
        quality: mean squared deviation in units of the noise, over the sizes that hold.
        x_exponent, y_exponent: a and b of x_scale ∝ n^a and y_scale ∝ n^−b, over the sizes that hold.
        rescaled: the curves after rescaling: columns size, x, y.
        notes: what could not be used.
    """

    by: str
    x: np.ndarray
    y: np.ndarray
    spread: np.ndarray
    sizes: np.ndarray
    x_scale: np.ndarray
    y_scale: np.ndarray
    deviation: np.ndarray
    holds: np.ndarray
    holds_from: float | None
    outliers: tuple[float, ...]
    quality: float
    x_exponent: Estimate
    y_exponent: Estimate
    rescaled: pd.DataFrame
    notes: tuple[str, ...] = ()

    def extent(self, unit: str = "") -> str:
        """Which sizes collapse, in the words of CLI, report and papers: "from 1,770 up (5 of 8 sizes)"."""
        if self.holds_from is None:
            return "for no three sizes"
        first = f"{self.holds_from:,.10g} {unit}".strip()
        return f"from {first} up ({int(self.holds.sum())} of {self.sizes.size} sizes)"

    def summary(self) -> str:
        """The collapse as readable text."""
        odd = ", ".join(f"{size:,.10g}" for size in self.outliers) or "none"
        far = "no master curve to deviate from"
        if self.holds.any():
            far = (
                f"at most {100 * self.deviation[self.holds].max():.2g} % from the master curve of the others"
            )
        return "\n".join(
            [
                f"{'by ' + self.by:<12} {SCALES[self.by]}",
                f"holds        {self.extent()}; outliers: {odd}",
                f"deviation    {far}",
                f"quality      {self.quality:.3g}   (1: within the noise)",
                f"x scale      n^a,  a = {self.x_exponent}",
                f"y scale      n^−b, b = {self.y_exponent}",
                *(f"note: {note}" for note in self.notes),
            ]
        )


def collapse(
    curves: Curves | pd.DataFrame,
    x: str = "norm",
    y: str = "test_error",
    size: str = "n_data",
    by: str = "position",
    tolerance: float = 0.1,
) -> Collapse:
    """Rescale curves y(x) of several sizes onto one master curve.

    Args:
        curves: several runs of a size (seeds) are averaged.
        by: where the scales come from: "position", "optimum" or "exponents".
        tolerance: a size belongs to the collapse where its rms deviation from the master curve of the others
            is below this part of the value and of the curve's own descent in ln y (a curve that falls by 5 %
            in all cannot collapse to within 10 %), or within three times its own noise.
    """
    if by not in WAYS:
        raise BadInput(f"no way of rescaling {by!r}; {nearest(by, WAYS)}")
    if not tolerance > 0:
        raise BadInput(f"tolerance={tolerance} must be positive: the relative deviation that still counts")
    found = size_curves(curves, x, y, size)
    notes = left_out(curves, found, x, y, size)
    if by == "position":
        _, places = level_crossings(found, [power_law_window(curve) for curve in found])
        return replace(collapse_at(found, places.mean(axis=1), tolerance), notes=notes)
    position, height = _minima(found)
    if by == "exponents":
        return replace(_best_exponents(found, position, height, tolerance), notes=notes)
    return replace(collapse_curves(found, position, height, tolerance, by), notes=notes)


def collapse_at(found: list[SizeCurve], position: np.ndarray, tolerance: float = 0.1) -> Collapse:
    """The collapse of these curves at the positions (s,) ln x of their falling parts, NaN where none is."""
    minimum, height = _minima(found)
    offset = np.nanmean(minimum - position)  # one for all: the master curve keeps its minimum near x = 1
    return collapse_curves(found, position + offset, height, tolerance, "position")


def _minima(found: list[SizeCurve]) -> tuple[np.ndarray, np.ndarray]:
    """(s,) and (s,): ln x and ln y of the minimum of every smoothed curve."""
    at = [int(np.argmin(c.smoothed.values)) for c in found]
    position = np.array([c.smoothed.knots[i] for c, i in zip(found, at, strict=True)])
    return position, np.array([c.smoothed.values[i] for c, i in zip(found, at, strict=True)])


def collapse_curves(
    found: list[SizeCurve], position: np.ndarray, height: np.ndarray, tolerance: float, by: str
) -> Collapse:
    """The collapse of these curves under the given scales, in logs; a position of NaN does not belong."""
    family = Family.of(found)
    holds = _holding(family, position, height, tolerance)
    start = int(np.argmax(holds)) if holds.any() else len(found)
    judged = np.flatnonzero(holds if holds.any() else np.isfinite(position))
    deviation, score = family.deviations(position, height, judged)
    grid, master, spread = _master(family, position, height, judged)
    logs = np.log([curve.size for curve in found])
    rescaled = pd.concat(
        [
            pd.DataFrame({"size": c.size, "x": np.exp(c.x - p), "y": np.exp(c.y - h)})
            for c, p, h in zip(found, position, height, strict=True)
            if np.isfinite(p)
        ],
        ignore_index=True,
    )
    falling = slope(logs[judged], height[judged])
    return Collapse(
        by=by,
        x=np.exp(grid),
        y=np.exp(master),
        spread=spread,
        sizes=np.array([curve.size for curve in found]),
        x_scale=np.exp(position),
        y_scale=np.exp(height),
        deviation=deviation,
        holds=holds,
        holds_from=float(found[start].size) if holds.any() else None,
        outliers=tuple(float(found[i].size) for i in range(start, len(found)) if not holds[i]),
        quality=float(np.nanmean(score[judged])),
        x_exponent=slope(logs[judged], position[judged]),
        y_exponent=-falling,
        rescaled=rescaled,
    )


def _holding(family: Family, position: np.ndarray, height: np.ndarray, tolerance: float) -> np.ndarray:
    """(s,) the sizes that collapse: from as small a one as possible, with three of four above it or more."""
    count = position.size
    allowed = np.maximum(tolerance * np.minimum(1.0, family.descent), 3.0 * family.noise)
    for first in range(count - FEWEST + 1):
        good = (np.arange(count) >= first) & np.isfinite(position)
        # the worst is set aside until all that stay agree
        while good[first] and good.sum() >= max(FEWEST, 0.75 * (count - first)):
            far = family.deviations(position, height, np.flatnonzero(good))[0] / allowed
            far = np.where(good, np.where(np.isfinite(far), far, np.inf), 0.0)
            if far.max() <= 1.0:
                return good
            good[int(np.argmax(far))] = False
    return np.zeros(count, bool)


def _master(
    family: Family, position: np.ndarray, height: np.ndarray, members: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ln x, ln Φ and the spread around it, over the part that at least two members reach."""
    low = (family.across[:, 0] - position)[members].min()
    high = (family.across[:, -1] - position)[members].max()
    grid = np.linspace(low, high, GRID)
    values = family.shifted(grid, position, height)[members]
    present = np.isfinite(values).sum(axis=0)
    keep = present >= min(2, len(members))
    values, present = values[:, keep], present[keep]
    mean = np.nansum(values, axis=0) / present
    spread = np.sqrt(np.nansum((values - mean) ** 2, axis=0) / np.maximum(present - 1, 1))
    return grid[keep], mean, spread


def _best_exponents(
    found: list[SizeCurve], position: np.ndarray, height: np.ndarray, tolerance: float
) -> Collapse:
    """The collapse under the powers of the size that make it best; errors by leaving out each size."""
    family, count = Family.of(found), len(found)
    logs = np.log([curve.size for curve in found])
    start = np.array([slope(logs, position).value, slope(logs, height).value])
    # constants: the curves' mean optimum stays at (1, 1), so that the master curve reads as in the other ways
    offsets = position.mean() - start[0] * logs.mean(), height.mean() - start[1] * logs.mean()

    def spread(exponents: np.ndarray, members: np.ndarray) -> float:
        each = family.deviations(exponents[0] * logs, exponents[1] * logs, members)[0][members]
        return float(np.mean(each**2)) if np.all(np.isfinite(each)) else 1e3

    def search(members: np.ndarray, guess: np.ndarray) -> np.ndarray:
        steps = np.array([guess, guess * [1.2, 1.0], guess * [1.0, 1.2]]) + 1e-3 * np.eye(3, 2, -1)
        options = {"initial_simplex": steps, "xatol": 1e-4, "fatol": 1e-10, "maxiter": 120}
        reached: np.ndarray = minimize(spread, guess, (members,), method="Nelder-Mead", options=options).x
        return reached

    everyone = np.arange(count)
    best = search(everyone, start)
    without = np.array([search(everyone[everyone != i], best) for i in everyone])
    jackknife = np.sqrt((count - 1) / count * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    made = collapse_curves(
        found, best[0] * logs + offsets[0], best[1] * logs + offsets[1], tolerance, "exponents"
    )
    return replace(
        made,
        x_exponent=Estimate(float(best[0]), float(jackknife[0])),
        y_exponent=Estimate(float(-best[1]), float(jackknife[1])),
    )
