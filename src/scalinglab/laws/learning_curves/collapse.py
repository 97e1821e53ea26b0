"""Collapse: curves of several sizes on one master curve Φ, and how well they agree.

    y / y_scale(n) = Φ(x / x_scale(n))        (damico2025, eq. 5)

The scales are

- `by="position"`, the default: the height of the minimum, and the position at which the falling parts agree
  best, which a flat or noisy minimum does not blur. `dynamical` takes γ₂ from these positions. A curve whose
  falling part does not stand out of its noise has no position and does not belong;
- `by="optimum"`: the position and height of every curve's minimum (damico2025, Fig. 4).

Their powers of the size, x_scale ∝ n^a and y_scale ∝ n^−b, are the exponents of the collapse.

Heights and positions are those of the smoothed curve, because the smallest of many noisy points lies below
the curve by an amount that depends on the noise.

Curves are compared from where their power law begins (`CurveFamily`), since the plateau of an untrained model
does not scale. The quality is that of Houdayer and Hartmann (2004): the mean squared deviation of every curve
from the master curve of the *others*, in units of its uncertainty. It is about 1 where the curves agree
within their noise, and much more where they do not or where the scales are uncertain, as at a flat minimum.
With a tiny noise every collapse looks bad, so the relative deviations are given, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput, nearest
from scalinglab.laws.learning_curves.mean_curves import SizeCurve, left_out, size_curves
from scalinglab.laws.learning_curves.shape import level_crossings, power_law_window
from scalinglab.results.distributions import FEWEST, Estimate, slope
from scalinglab.results.types import Reason, Remark, Worded, noted
from scalinglab.support.validation import checked

WAYS = ("position", "optimum")
# convention: a size belongs that deviates by at most this many times its noise (more has a chance of 1 in
# 400)
WITHIN = 3.0
# judged: benchmarks/collapse.py: 1.2 or less within noise but for flat minima; above this quality curves
# differ
GOOD = 3.0
GRID = 80  # search: places at which curves are compared; more than their knots
# measured: benchmarks/collapse.py: the weight, in points, of the median noise of all curves; the quality of
# curves that agree within their noise is then about 1
SHARED = 10.0


@dataclass(frozen=True)
class Collapse(Worded):
    """A master curve and how well it holds.

    Attributes:
        by: where the scales come from: "position" or "optimum".
        x, y: (g,) the master curve Φ in rescaled units, of the sizes that belong to it.
        spread: (g,) relative standard deviation of those sizes around it.
        sizes: (s,) all sizes; `x_scale`, `y_scale`: (s,) what each was divided by (NaN: no position).
        deviation: (s,) relative rms deviation of each size from the master curve of the others that belong.
        holds: (s,) whether the size belongs to the collapse.
        holds_from: the smallest size that does; larger ones do, too, but for outliers. None where no three
            sizes agree.
        outliers: sizes above `holds_from` that do not belong.
        quality: mean squared deviation of points from the master curve of the other sizes, in units of the
            noise; about 1 within noise.
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
    notes: tuple[Reason, ...] = ()

    def extent(self, unit: str = "") -> Reason:
        """Which sizes collapse: "from 1,770 up (5 of 8 sizes)"; `unit` of the sizes."""
        if self.holds_from is None:
            return Reason("collapse_nowhere")
        sizes = {"size": self.holds_from, "holding": int(self.holds.sum()), "sizes": self.sizes.size}
        return Reason("collapse_extent", unit=f" {unit}" if unit else "", **sizes)

    @property
    def remarks(self) -> Iterator[Remark]:
        yield Reason(f"collapse_by_{self.by}")
        holds = "collapse_holds" if self.outliers else "collapse_holds_all"
        yield Reason(holds, extent=self.extent(), outliers=self.outliers)
        if self.holds.any():
            yield Reason("collapse_deviation", worst=100 * float(self.deviation[self.holds].max()))
        else:
            yield Reason("collapse_none")
        yield Reason("collapse_quality", quality=self.quality)
        yield Reason("collapse_x", power=self.x_exponent)
        yield Reason("collapse_y", power=self.y_exponent)
        yield from noted(self.notes)


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
        by: where the scales come from: "position" or "optimum".
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
    position, height = np.array([curve.smoothed.minimum() for curve in found]).T
    made = collapse_curves(found, position, height, tolerance, by)
    if made.quality > GOOD:
        notes += (Reason("optima_differ", quality=made.quality),)
    return replace(made, notes=notes)


def collapse_at(found: list[SizeCurve], position: np.ndarray, tolerance: float = 0.1) -> Collapse:
    """The collapse of curves at the positions (s,) ln x of their falling parts; NaN where there is none."""
    smoothed = [curve.smoothed for curve in found]
    minimum, height = np.array([(s.knots[s.lowest], s.values[s.lowest]) for s in smoothed]).T
    offset = np.nanmean(minimum - position)  # the same for all: the minimum of the master curve is near x = 1
    return collapse_curves(found, position + offset, height, tolerance, "position")


def collapse_curves(
    found: list[SizeCurve], position: np.ndarray, height: np.ndarray, tolerance: float, by: str
) -> Collapse:
    """The collapse of curves with these scales, in logs; a curve with a position of NaN does not belong."""
    family = CurveFamily.of(found)
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
    """The same with a standard error that is a quarter of its 95 % interval, which is by Student's t."""
    return replace(found, stderr=(found.high - found.low) / 4)


def _holding(family: CurveFamily, position: np.ndarray, height: np.ndarray, tolerance: float) -> np.ndarray:
    """(s,) the sizes that collapse: from the smallest possible one on at least three quarters of all."""
    count = position.size
    allowed = np.maximum(tolerance * np.minimum(1.0, family.descent), WITHIN * family.noise)
    for first in range(count - FEWEST + 1):
        members = (np.arange(count) >= first) & np.isfinite(position)
        # the worst is left out until all others agree
        while members[first] and members.sum() >= max(FEWEST, 0.75 * (count - first)):
            excess = family.deviations(position, height, np.flatnonzero(members)) / allowed
            excess = np.where(members, np.nan_to_num(excess, nan=np.inf, posinf=np.inf), 0.0)
            if excess.max() <= 1.0:
                return members
            members[int(np.argmax(excess))] = False
    return np.zeros(count, bool)


def _master(
    family: CurveFamily, position: np.ndarray, height: np.ndarray, members: np.ndarray
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


@dataclass(frozen=True)
class CurveFamily:
    """Smoothed curves of several sizes, in logs, to be shifted against each other.

    Each is compared, from where its power law begins to its end, with the mean of the *other* members at the
    same rescaled x. `deviations` compares smoothed curves; `quality` compares the *points* of one curve, with
    their noise σ, with the smoothed master curve of the others, with the error σ_Φ that smoothing leaves,

        Q = mean over points of (y − Φ)² / (σ² + σ_Φ²),   about 1 where the curves agree within their noise.

    Attributes:
        across, own: (s, g) a grid over the judged part of each curve, and its values there.
        first, step, values: (s,), (s,), (s, k) the knots of each curve and its values there.
        noise: (s,) scatter of its points; freedom: (s,) points less degrees of freedom of the smoothing.
        descent: (s,) its highest value above its lowest.
        uncertainty: (s, k) standard error of `values`: the noise that smoothing leaves.
        points: of each curve, ln x and ln y as measured, from where its power law begins.
    """

    across: np.ndarray
    own: np.ndarray
    first: np.ndarray
    step: np.ndarray
    values: np.ndarray
    noise: np.ndarray
    freedom: np.ndarray
    descent: np.ndarray
    uncertainty: np.ndarray
    points: tuple[tuple[np.ndarray, np.ndarray], ...]

    @staticmethod
    def of(found: list[SizeCurve]) -> CurveFamily:
        """The family of these curves."""
        across = np.array([np.linspace(power_law_window(c).low, c.x[-1], GRID) for c in found])
        in_power_law = [c.x >= grid[0] - 1e-9 for c, grid in zip(found, across, strict=True)]
        return CurveFamily(
            across=across,
            own=np.array([c.smoothed(grid) for c, grid in zip(found, across, strict=True)]),
            first=np.array([c.smoothed.knots[0] for c in found]),
            step=np.array([c.smoothed.knots[1] - c.smoothed.knots[0] for c in found]),
            values=np.array([c.smoothed.values for c in found]),
            noise=np.array([c.smoothed.noise for c in found]),
            freedom=np.array([max(c.x.size - c.smoothed.dof, 0.0) for c in found]),
            descent=np.array([np.ptp(c.smoothed.values) for c in found]),
            uncertainty=np.array([c.smoothed.noise * np.linalg.norm(c.smoothed.hat, axis=1) for c in found]),
            points=tuple((c.x[k], c.y[k]) for c, k in zip(found, in_power_law, strict=True)),
        )

    def shifted(self, grid: np.ndarray, position: np.ndarray, height: np.ndarray) -> np.ndarray:
        """Every curve at rescaled ln x: `grid` (…, g) gives (…, s, g), NaN outside a curve's range.

        A curve whose position is NaN has no place: it is NaN everywhere.
        """
        place = (grid[..., None, :] + (position - self.first)[:, None]) / self.step[:, None]
        last = self.values.shape[1] - 1
        left = np.clip(np.nan_to_num(place), 0, last - 1).astype(int)
        rows = np.arange(self.first.size)[:, None]
        part = place - left
        made = self.values[rows, left] * (1 - part) + self.values[rows, left + 1] * part - height[:, None]
        outside = (place < -1e-9) | (place > last + 1e-9)
        return np.where(outside, np.nan, made)

    def deviations(self, position: np.ndarray, height: np.ndarray, members: np.ndarray) -> np.ndarray:
        """How far each smoothed curve is from the mean of the other members: (s,) rms in ln y.

        Judged where at least two others reach (one, where there is only one other); NaN where none do.
        """
        count = self.first.size
        rest = self.shifted(self.across - position[:, None], position, height)  # (one, other, grid)
        there = np.isfinite(rest)
        there &= np.isin(np.arange(count), members)[None, :, None] & ~np.eye(count, dtype=bool)[:, :, None]
        present = there.sum(axis=1)
        others = there.any(axis=2).sum(axis=1)
        shared = present >= np.minimum(2, np.maximum(others, 1))[:, None]
        divisor = np.maximum(present, 1)
        master = np.where(there, rest, 0.0).sum(axis=1) / divisor
        squared = np.where(shared, (self.own - height[:, None] - master) ** 2, 0.0)
        total = shared.sum(axis=1)
        judged = np.where(total > 0, total, np.nan)
        return np.asarray(np.sqrt(squared.sum(axis=1) / judged))

    def pooled(self, members: np.ndarray) -> np.ndarray:
        """(s,) variance of one point: that of the curve, shrunk towards the median of all curves."""
        typical = float(np.median(self.noise[members]))
        pooled = (self.freedom * self.noise**2 + SHARED * typical**2) / (self.freedom + SHARED)
        return np.maximum(pooled, 1e-12)  # curves without noise are compared to 1e-6 of ln y

    def quality(self, position: np.ndarray, height: np.ndarray, members: np.ndarray) -> float:
        """Q of the members: squared deviations of their points from the others, in units of the noise."""
        error = replace(self, values=self.uncertainty)
        own = self.pooled(members)
        scores = []
        for one in members:
            others = members[members != one]
            x, y = self.points[one]
            master = self.shifted(x - position[one], position, height)[others]
            left = error.shifted(x - position[one], position, np.zeros_like(height))[others]
            present = np.isfinite(master).sum(axis=0)
            shared = present >= min(2, len(others))
            mean = np.nansum(master[:, shared], axis=0) / present[shared]
            variance = own[one] + np.nansum(left[:, shared] ** 2, axis=0) / present[shared] ** 2
            scores.append((y[shared] - height[one] - mean) ** 2 / variance)
        every = np.concatenate(scores)
        return float(every.mean()) if every.size else float("nan")
