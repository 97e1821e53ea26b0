"""The result of a collapse: a master curve and how well it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab.results.estimate import Estimate
from scalinglab.results.types import Reason, Remark, Worded, noted

WAYS = ("position", "optimum", "exponents", "critical")
# convention: a size belongs that deviates by at most this many times its noise, 1 in 400 by chance
WITHIN = 3.0
# judged: benchmarks/collapse.py, 1.2 or less within noise but for flat minima; quality above which curves
# differ
GOOD = 3.0


@dataclass(frozen=True)
class Collapse(Worded):
    """A master curve and how well it holds.

    Attributes:
        by: where the scales come from: "position", "optimum", "exponents" or "critical".
        x, y: (g,) the master curve Φ in rescaled units (of the sizes for which it holds).
        spread: (g,) relative standard deviation of those sizes around it (by "critical": in units of y).
        sizes: (s,) all sizes; `x_scale`, `y_scale`: (s,) what each was divided by (NaN: no position).
        deviation: (s,) relative rms deviation of each size from the master curve of the others that hold.
        holds: (s,) whether the size belongs to the collapse; `holds_from`: the smallest that does, with all
            larger ones but the outliers; None where no three sizes agree.
        outliers: sizes above `holds_from` that do not follow.
        quality: mean squared deviation of points from the master curve of the other sizes, in units of the
            noise; about 1 within noise.
        x_exponent, y_exponent: a and b of x_scale ∝ n^a and y_scale ∝ n^−b, over the sizes that hold.
        rescaled: the curves after rescaling: columns size, x, y.
        notes: what could not be used.
        critical: x_c, by "critical" alone; ν = −1/`x_exponent` then.
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
    critical: Estimate | None = None

    def extent(self, unit: str = "") -> Reason:
        """Which sizes collapse: "from 1,770 up (5 of 8 sizes)"; `unit` of the sizes."""
        if self.holds_from is None:
            return Reason("collapse_nowhere")
        sizes = {"size": self.holds_from, "holding": int(self.holds.sum()), "sizes": self.sizes.size}
        return Reason("collapse_extent", unit=f" {unit}" if unit else "", **sizes)

    @property
    def remarks(self) -> Iterator[Remark]:
        """What the summary says, as data."""
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
        if self.critical is not None:
            yield Reason("collapse_critical", place=self.critical, nu=-1 / self.x_exponent.value)
        yield from noted(self.notes)
