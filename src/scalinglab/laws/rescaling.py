"""Collapse: curves of several sizes on one master curve Φ, and how well it holds.

    y / y_scale(n) = Φ(x / x_scale(n))        (damico2025, eq. 5)

The scales are

- `by="optimum"`: the position and height of every curve's minimum (damico2025, Fig. 4);
- `by="position"`: the height of the minimum, and the position that makes the falling parts agree best
  (see `dynamical`), which a flat or noisy minimum does not blur;
- `by="exponents"`: x_scale = n^a and y_scale = n^−b with the a and b that make the collapse best, as in
  finite-size scaling.

The quality is that of Houdayer and Hartmann (2004): the mean squared deviation of every curve from the
master curve made by the *others*, in units of its uncertainty; about 1 where the curves agree within their
noise, much more where they do not. Because a tiny noise makes every collapse look bad, the deviations are
also given as they are, as relative errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from scalinglab.curves import Curves
from scalinglab.errors import BadInput, nearest
from scalinglab.laws.shape import LEVELS, Exponent, crossings, line, power_law_window
from scalinglab.laws.sizes import SizeCurve, size_curves

WAYS = ("optimum", "position", "exponents")
GRID = 80
FEWEST = 3  # sizes below which "they collapse" says nothing


@dataclass(frozen=True)
class Collapse:
    """A master curve and how well it holds.

    Attributes:
        x, y: (g,) the master curve Φ in rescaled units (of the sizes for which it holds).
        spread: (g,) relative standard deviation of those sizes around it.
        sizes: (s,) all sizes; `x_scale`, `y_scale`: (s,) what each was divided by.
        deviation: (s,) relative rms deviation of each size from the master curve of the others that hold.
        holds: (s,) whether the size belongs to the collapse; `holds_from`: the smallest that does, with all
            larger ones but the outliers; None where no three sizes agree.
        outliers: sizes above `holds_from` that do not follow.
        quality: mean squared deviation in units of the noise, over the sizes that hold.
        x_exponent, y_exponent: a and b of x_scale ∝ n^a and y_scale ∝ n^−b, over the sizes that hold.
        rescaled: the curves after rescaling: columns size, x, y.
    """

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
    x_exponent: Exponent
    y_exponent: Exponent
    rescaled: pd.DataFrame

    def summary(self) -> str:
        """The collapse as a person reads it."""
        held = "no three sizes agree" if self.holds_from is None else f"from {self.holds_from:g} up"
        odd = ", ".join(f"{size:g}" for size in self.outliers) or "none"
        worst = float(self.deviation[self.holds].max()) if self.holds.any() else float("nan")
        return "\n".join(
            [
                f"holds        {held} ({int(self.holds.sum())} of {self.sizes.size} sizes); outliers: {odd}",
                f"deviation    at most {100 * worst:.2g} % from the master curve of the others",
                f"quality      {self.quality:.3g}   (1: within the noise)",
                f"x scale      n^a,  a = {self.x_exponent}",
                f"y scale      n^−b, b = {self.y_exponent}",
            ]
        )


def collapse(
    curves: Curves | pd.DataFrame,
    x: str = "norm",
    y: str = "test_error",
    size: str = "n_data",
    by: str = "optimum",
    tolerance: float = 0.1,
) -> Collapse:
    """Rescale curves y(x) of several sizes onto one master curve.

    Args:
        curves: several runs of a size (seeds) are averaged.
        by: where the scales come from: "optimum", "position" or "exponents".
        tolerance: a size belongs to the collapse where its rms deviation from the master curve of the others
            is below this part of the value and of the curve's own descent in ln y (a curve that falls by 5 %
            in all cannot collapse to within 10 %), or within three times its own noise.
    """
    if by not in WAYS:
        raise BadInput(f"no way of rescaling {by!r}; {nearest(by, WAYS)}")
    if not tolerance > 0:
        raise BadInput(f"tolerance={tolerance} must be positive: the relative deviation that still counts")
    found = size_curves(curves, x, y, size)
    at = [int(np.argmin(c.smoothed.values)) for c in found]
    height = np.array([c.smoothed.values[i] for c, i in zip(found, at, strict=True)])
    position = np.array([c.smoothed.knots[i] for c, i in zip(found, at, strict=True)])
    if by == "position":
        centre = positions(found)
        position = centre + np.mean(position - centre)  # the master curve keeps its minimum near x = 1
    if by == "exponents":
        return _best_exponents(found, position, height, tolerance)
    return collapse_curves(found, position, height, tolerance)


def positions(found: list[SizeCurve]) -> np.ndarray:
    """(s,) ln x of each curve, averaged over the levels above its minimum that every curve passes."""
    windows = [power_law_window(curve) for curve in found]
    top = min(window.drop for window in windows)
    if not top > 0:
        raise BadInput("a curve that never falls has no position; use by='optimum' or drop that size")
    levels = np.linspace(0.0, top, LEVELS)
    return np.array([crossings(curve, levels).mean() for curve in found])


def collapse_curves(
    found: list[SizeCurve], position: np.ndarray, height: np.ndarray, tolerance: float = 0.1
) -> Collapse:
    """The collapse of these curves under the given scales (in logs)."""
    count = len(found)
    start, holds = count, np.zeros(count, bool)
    for first in range(count - FEWEST + 1):
        members = np.arange(first, count)
        good = _members(found, position, height, members, tolerance)
        if good[first] and good[members].sum() >= max(FEWEST, np.ceil(0.75 * members.size)):
            start, holds = first, good
            break
    judged = np.flatnonzero(holds) if holds.any() else np.arange(count)
    deviation = np.array([_deviation(found, position, height, i, judged)[0] for i in range(count)])
    scores = [_deviation(found, position, height, i, judged)[1] for i in judged]
    grid, master, spread = _master(found, position, height, judged)
    logs = np.log([curve.size for curve in found])
    rescaled = pd.concat(
        [
            pd.DataFrame({"size": c.size, "x": np.exp(c.x - p), "y": np.exp(c.y - h)})
            for c, p, h in zip(found, position, height, strict=True)
        ],
        ignore_index=True,
    )
    falling = line(logs[judged], height[judged])
    return Collapse(
        x=np.exp(grid),
        y=np.exp(master),
        spread=spread,
        sizes=np.exp(logs),
        x_scale=np.exp(position),
        y_scale=np.exp(height),
        deviation=deviation,
        holds=holds,
        holds_from=float(found[start].size) if holds.any() else None,
        outliers=tuple(float(found[i].size) for i in range(start, count) if not holds[i]),
        quality=float(np.nanmean(scores)),
        x_exponent=line(logs[judged], position[judged]),
        y_exponent=Exponent(-falling.value, falling.error),
        rescaled=rescaled,
    )


def _on_grid(
    found: list[SizeCurve], position: np.ndarray, height: np.ndarray, members: np.ndarray, grid: np.ndarray
) -> np.ndarray:
    """(members, grid) smoothed curves in rescaled logs; NaN outside their range."""
    return np.array(
        [
            np.interp(
                grid + position[i],
                found[i].smoothed.knots,
                found[i].smoothed.values,
                left=np.nan,
                right=np.nan,
            )
            - height[i]
            for i in members
        ]
    )


def _deviation(
    found: list[SizeCurve],
    position: np.ndarray,
    height: np.ndarray,
    one: int | np.integer,
    members: np.ndarray,
) -> tuple[float, float]:
    """How far curve `one` is from the mean of the other members: rms in ln y, and in units of the noise."""
    others = members[members != one]
    across = np.linspace(found[one].x[0], found[one].x[-1], GRID)
    grid, mine = across - position[one], found[one].smoothed(across) - height[one]
    rest = _on_grid(found, position, height, others, grid)
    present = np.isfinite(rest).sum(axis=0)
    shared = present >= min(2, others.size)
    if not shared.any():
        return float("nan"), float("nan")
    master = np.where(np.isfinite(rest), rest, 0.0).sum(axis=0)[shared] / present[shared]
    squared = (mine[shared] - master) ** 2
    noise = np.array([found[i].smoothed.noise for i in others])
    variance = found[one].smoothed.noise ** 2 + np.mean(noise**2) / present[shared]
    return float(np.sqrt(squared.mean())), float(np.mean(squared / np.maximum(variance, 1e-12)))


def _members(
    found: list[SizeCurve], position: np.ndarray, height: np.ndarray, members: np.ndarray, tolerance: float
) -> np.ndarray:
    """(s,) which of the members agree with the others; the worst is set aside until all that stay agree."""
    good = np.zeros(len(found), bool)
    good[members] = True
    while good.sum() >= FEWEST:
        inside = np.flatnonzero(good)
        far = np.array(
            [
                _deviation(found, position, height, i, inside)[0]
                / max(tolerance * min(1.0, _descent(found[i])), 3.0 * found[i].smoothed.noise)
                for i in inside
            ]
        )
        far = np.where(np.isfinite(far), far, np.inf)
        if far.max() <= 1.0:
            return good
        good[inside[int(np.argmax(far))]] = False
    return np.zeros(len(found), bool)


def _descent(curve: SizeCurve) -> float:
    """How far apart the highest and lowest points of the curve are, in ln y."""
    return float(np.ptp(curve.smoothed.values))


def _master(
    found: list[SizeCurve], position: np.ndarray, height: np.ndarray, members: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    low = min(found[i].x[0] - position[i] for i in members)
    high = max(found[i].x[-1] - position[i] for i in members)
    grid = np.linspace(low, high, GRID)
    values = _on_grid(found, position, height, members, grid)
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
    logs = np.log([curve.size for curve in found])
    start = np.array([line(logs, position).value, line(logs, height).value])
    # constants: the curves' mean optimum stays at (1, 1), so that the master curve reads as in the other ways
    offsets = position.mean() - start[0] * logs.mean(), height.mean() - start[1] * logs.mean()

    def spread(exponents: np.ndarray, members: np.ndarray) -> float:
        each = [
            _deviation(found, exponents[0] * logs, exponents[1] * logs, int(i), members)[0] for i in members
        ]
        return float(np.mean(np.square(each))) if np.all(np.isfinite(each)) else 1e3

    def search(members: np.ndarray, guess: np.ndarray) -> np.ndarray:
        steps = np.array([guess, guess * [1.2, 1.0], guess * [1.0, 1.2]]) + 1e-3 * np.eye(3, 2, -1)
        options = {"initial_simplex": steps, "xatol": 1e-4, "fatol": 1e-10, "maxiter": 120}
        found_there: np.ndarray = minimize(spread, guess, (members,), method="Nelder-Mead", options=options).x
        return found_there

    everyone = np.arange(len(found))
    best = search(everyone, start)
    without = np.array([search(everyone[everyone != i], best) for i in everyone])
    # the jackknife's error
    count = len(found)
    errors = np.sqrt((count - 1) / count * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    made = collapse_curves(found, best[0] * logs + offsets[0], best[1] * logs + offsets[1], tolerance)
    return replace(
        made,
        x_exponent=Exponent(float(best[0]), float(errors[0])),
        y_exponent=Exponent(float(-best[1]), float(errors[1])),
    )
