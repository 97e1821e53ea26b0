"""Collapse: curves of several sizes on one master curve Φ, and how well it holds.

    y / y_scale(n) = Φ(x / x_scale(n))        (damico2025, eq. 5)

The scales are

- `by="position"`, the default: the height of the minimum, and the position that makes the falling parts
  agree best, which a flat or noisy minimum does not blur. `dynamical` reads γ₂ off these positions and
  carries this collapse: its `collapse_from` is the `holds_from` here. A curve without a falling part that
  stands out of its noise has no position and does not belong;
- `by="optimum"`: the position and height of every curve's minimum (damico2025, Fig. 4);
- `by="exponents"`: x_scale = n^a and y_scale = n^−b with the a and b that make the collapse best
  (`scaling_fit`);
- `by="critical"`: the same on linear axes with x counted from a critical point x_c that is fitted, too, as in
  finite-size scaling (`critical`).

Heights and positions are those of the smoothed curve: the smallest of many noisy points lies below it by an
amount that depends on the noise of that size alone, and would tear curves apart that agree.

Curves are judged from where their power law begins (`alignment`): the plateau of an untrained model does not
scale. The quality is that of Houdayer and Hartmann (2004): the mean squared deviation of every curve from
the master curve made by the *others*, in units of its uncertainty; about 1 where the curves agree within
their noise (measured points are compared with the smoothed curve of the others, `quality`), much more where
they do not, and also where the scales themselves are uncertain, as the place of a flat minimum is. Because a
tiny noise makes every collapse look bad, the deviations are also given as they are, as relative errors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput, nearest
from scalinglab.laws.learning_curves import critical, scaling_fit
from scalinglab.laws.learning_curves.collapse_result import GOOD, WAYS, WITHIN, Collapse
from scalinglab.laws.learning_curves.mean_curves import SizeCurve, left_out, size_curves
from scalinglab.laws.learning_curves.quality import GRID, Family
from scalinglab.laws.learning_curves.shape import level_crossings, power_law_window
from scalinglab.results.estimate import FEWEST, Estimate, slope
from scalinglab.results.types import Reason
from scalinglab.support.validation import checked


@checked
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
        by: where the scales come from: "position", "optimum", "exponents" or "critical".
        tolerance: a size belongs to the collapse where its rms deviation from the master curve of the others
            is below this part of the value and of the curve's own descent in ln y (a curve that falls by 5 %
            in all cannot collapse to within 10 %), or within three times its own noise.
    """
    if by not in WAYS:
        raise BadInput(f"no way of rescaling {by!r}; {nearest(by, WAYS)}")
    if not tolerance > 0:
        raise BadInput(f"tolerance={tolerance} must be positive: the relative deviation that still counts")
    if by == "critical":
        return critical.collapse_at_critical_point(curves, x, y, size, tolerance)
    found = size_curves(curves, x, y, size)
    notes = left_out(curves, found, x, y, size)
    if by == "position":
        _, places = level_crossings(found, [power_law_window(curve) for curve in found])
        return replace(collapse_at(found, places.mean(axis=1), tolerance), notes=notes)
    if by == "exponents":
        return replace(_best_exponents(found, *_minima(found), tolerance), notes=notes)
    position, height = np.array([curve.smoothed.minimum() for curve in found]).T
    made = collapse_curves(found, position, height, tolerance, by)
    if made.quality > GOOD:
        notes += (Reason("optima_differ", quality=made.quality),)
    return replace(made, notes=notes)


def collapse_at(found: list[SizeCurve], position: np.ndarray, tolerance: float = 0.1) -> Collapse:
    """The collapse of these curves at the positions (s,) ln x of their falling parts, NaN where none is."""
    minimum, height = _minima(found)
    offset = np.nanmean(minimum - position)  # one for all: the master curve keeps its minimum near x = 1
    return collapse_curves(found, position + offset, height, tolerance, "position")


def _minima(found: list[SizeCurve]) -> tuple[np.ndarray, np.ndarray]:
    """(s,) and (s,): ln x and ln y of the lowest knot of every smoothed curve."""
    smoothed = [curve.smoothed for curve in found]
    return np.array([s.knots[s.lowest] for s in smoothed]), np.array([s.values[s.lowest] for s in smoothed])


def collapse_curves(
    found: list[SizeCurve], position: np.ndarray, height: np.ndarray, tolerance: float, by: str
) -> Collapse:
    """The collapse of these curves under the given scales, in logs; a position of NaN does not belong."""
    family = Family.of(found)
    holds = _holding(family, position, height, tolerance)
    start = int(np.argmax(holds)) if holds.any() else len(found)
    judged = np.flatnonzero(holds if holds.any() else np.isfinite(position))
    deviation = family.deviations(position, height, judged)
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
    falling = _for_two_sigma(slope(logs[judged], height[judged]))
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
        quality=family.quality(position, height, judged),
        x_exponent=_for_two_sigma(slope(logs[judged], position[judged])),
        y_exponent=-falling,
        rescaled=rescaled,
    )


def _for_two_sigma(found: Estimate) -> Estimate:
    """The same with an error of which twice makes its 95 % interval: few sizes are counted by Student's t."""
    return replace(found, stderr=(found.high - found.low) / 4)


def _holding(family: Family, position: np.ndarray, height: np.ndarray, tolerance: float) -> np.ndarray:
    """(s,) the sizes that collapse: from as small a one as possible, with three of four above it or more."""
    count = position.size
    allowed = np.maximum(tolerance * np.minimum(1.0, family.descent), WITHIN * family.noise)
    for first in range(count - FEWEST + 1):
        good = (np.arange(count) >= first) & np.isfinite(position)
        # the worst is left out until all others agree
        while good[first] and good.sum() >= max(FEWEST, 0.75 * (count - first)):
            far = family.deviations(position, height, np.flatnonzero(good)) / allowed
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
    """The collapse under the powers of the size that make it best."""
    family, logs = Family.of(found), np.log([curve.size for curve in found])
    counts = [len(x) for x, _ in family.points]
    noise = np.sqrt(family.pooled(np.arange(len(found))))
    points = scaling_fit.Points(
        np.repeat(np.arange(len(found)), counts), np.repeat(logs, counts),
        np.concatenate([x for x, _ in family.points]), np.concatenate([y for _, y in family.points]),
        np.repeat(noise, counts), critical=False,
    )  # fmt: skip
    guess = np.array([slope(logs, position).value, -slope(logs, height).value])
    steps = np.array([-0.6, -0.3, -0.1, 0.0, 0.1, 0.3, 0.6])  # a coarse grid of starts around the minima's
    starts = guess + np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    best = scaling_fit.fit(points, starts)
    a, b = best.values
    # constants: the curves' mean optimum stays at (1, 1), so that the master curve reads as in the other ways
    offsets = position.mean() - a * logs.mean(), height.mean() + b * logs.mean()
    made = collapse_curves(found, a * logs + offsets[0], -b * logs + offsets[1], tolerance, "exponents")
    return replace(made, x_exponent=best.estimates[0], y_exponent=best.estimates[1])
