"""How well rescaled curves lie on each other: all pairs at once.

Each curve is compared, from where its power law begins (the plateau of an untrained model does not scale)
to its end, with the mean of the *other* members at the same rescaled x, as in the quality of a data collapse
by Houdayer and Hartmann (2004), Phys. Rev. B 70, 014418.

`deviations` compares smoothed curves, which tells how far apart they are; `quality` compares like with like:
the *points* of one curve, which scatter by its noise σ, with the master curve of the others, which is
smoothed and uncertain by the little noise that smoothing leaves,

    Q = mean over points of (y − Φ)² / (σ² + σ_Φ²),   about 1 where the curves agree within their noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from scalinglab.laws.learning_curves.mean_curves import SizeCurve
from scalinglab.laws.learning_curves.shape import power_law_window

GRID = 80  # search: places at which curves are compared, and those of a master curve: more than their knots
# measured: benchmarks/collapse.py, whose quality is about 1 with it where curves agree within their noise;
# points' worth of the median noise of all curves
SHARED = 10.0


@dataclass(frozen=True)
class Family:
    """Smoothed curves of several sizes, in logs, ready to be shifted against each other.

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
    def of(found: list[SizeCurve]) -> Family:
        """The family of these curves."""
        across = np.array([np.linspace(power_law_window(c).low, c.x[-1], GRID) for c in found])
        kept = [c.x >= grid[0] - 1e-9 for c, grid in zip(found, across, strict=True)]
        return Family(
            across=across,
            own=np.array([c.smoothed(grid) for c, grid in zip(found, across, strict=True)]),
            first=np.array([c.smoothed.knots[0] for c in found]),
            step=np.array([c.smoothed.knots[1] - c.smoothed.knots[0] for c in found]),
            values=np.array([c.smoothed.values for c in found]),
            noise=np.array([c.smoothed.noise for c in found]),
            freedom=np.array([max(c.x.size - c.smoothed.dof, 0.0) for c in found]),
            descent=np.array([np.ptp(c.smoothed.values) for c in found]),
            uncertainty=np.array([c.smoothed.noise * np.linalg.norm(c.smoothed.hat, axis=1) for c in found]),
            points=tuple((c.x[k], c.y[k]) for c, k in zip(found, kept, strict=True)),
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
        """(s,) variance of one point: the curve's own, drawn towards the median where few points tell it."""
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
            seen = present >= min(2, len(others))
            mean = np.nansum(master[:, seen], axis=0) / present[seen]
            variance = own[one] + np.nansum(left[:, seen] ** 2, axis=0) / present[seen] ** 2
            scores.append((y[seen] - height[one] - mean) ** 2 / variance)
        every = np.concatenate(scores)
        return float(every.mean()) if every.size else float("nan")
