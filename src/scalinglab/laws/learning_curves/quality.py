"""How well rescaled curves lie on each other: all pairs at once.

Each curve is compared, from where its power law begins (the plateau of an untrained model does not scale)
to its end, with the mean of the *other* members at the same rescaled x, as in the quality of a data collapse
by Houdayer and Hartmann (2004), Phys. Rev. B 70, 014418.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalinglab.laws.learning_curves.mean_curves import SizeCurve
from scalinglab.laws.learning_curves.shape import power_law_window

GRID = 80


@dataclass(frozen=True)
class Family:
    """Smoothed curves of several sizes, in logs, ready to be shifted against each other.

    Attributes:
        across, own: (s, g) a grid over the judged part of each curve, and its values there.
        first, step, values: (s,), (s,), (s, k) the knots of each curve and its values there.
        noise: (s,) scatter of its points; descent: (s,) its highest value above its lowest.
    """

    across: np.ndarray
    own: np.ndarray
    first: np.ndarray
    step: np.ndarray
    values: np.ndarray
    noise: np.ndarray
    descent: np.ndarray

    @staticmethod
    def of(found: list[SizeCurve]) -> Family:
        """The family of these curves."""
        across = np.array([np.linspace(power_law_window(c).low, c.x[-1], GRID) for c in found])
        return Family(
            across=across,
            own=np.array([c.smoothed(grid) for c, grid in zip(found, across, strict=True)]),
            first=np.array([c.smoothed.knots[0] for c in found]),
            step=np.array([c.smoothed.knots[1] - c.smoothed.knots[0] for c in found]),
            values=np.array([c.smoothed.values for c in found]),
            noise=np.array([c.smoothed.noise for c in found]),
            descent=np.array([np.ptp(c.smoothed.values) for c in found]),
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

    def deviations(
        self, position: np.ndarray, height: np.ndarray, members: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """How far each curve is from the mean of the other members: (s,) rms in ln y, and in noise units.

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
        noise = (there * self.noise[None, :, None] ** 2).sum(axis=1) / divisor**2 + self.noise[:, None] ** 2
        total = shared.sum(axis=1)
        judged = np.where(total > 0, total, np.nan)
        rms = np.sqrt(squared.sum(axis=1) / judged)
        score = (squared / np.maximum(noise, 1e-12)).sum(axis=1) / judged
        return rms, score
