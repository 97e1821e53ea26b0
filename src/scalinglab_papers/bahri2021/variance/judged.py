"""What the variance-limited figures share: differences of losses, judged far above another size, and drawn.

The claim is an exponent of 1 in a size (D, or the width) that is far above another one (P, or D). It is
judged on all sizes above the other one by the rule of `exponents`, and on those `FAR` times above it. In the
figures points outside the range of the exponent are hollow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scalinglab.figures import style
from scalinglab.studies import trained
from scalinglab.studies.verdict import Row, quotient
from scalinglab_papers.bahri2021 import exponents
from scalinglab_papers.bahri2021.exponents import Exponent, difference_row
from scalinglab_papers.bahri2021.students import draw_points

if TYPE_CHECKING:
    from scalinglab.train import Setting

FAR = 2  # sizes of that many times the parameters, or the examples, are far above them


@dataclass(frozen=True)
class Judged:
    """Differences of losses whose exponent in a size is 1 where this size is far above another one.

    Attributes:
        sizes: (n,).
        excess: differences, (seeds, n).
        ratios: of each size to the other one, (n,).
        words: the subscript of α, the size and the other size.
    """

    sizes: np.ndarray
    excess: np.ndarray
    ratios: np.ndarray
    words: tuple[str, str, str]

    def exponent(self, factor: float) -> Exponent | None:
        """Of sizes above so many times the other one; None where it is lost in noise."""
        above = self.ratios > factor
        return exponents.of_differences(self.sizes[above], self.excess[:, above])

    def rows(self, name: str, note: str) -> list[Row]:
        """The exponents of sizes above, and far above where three or more are, and the coefficient."""
        subscript, size, other = self.words
        n, far = len(self.excess), (self.ratios > FAR).sum()
        name_of = f"{name}: α_{subscript}, {size} >"
        rows = [difference_row(f"{name_of} {other}", self.exponent(1), n, note, paper=1.0)]
        if 3 <= far < (self.ratios > 1).sum():
            claim = f"the claim is for {size} ≫ {other}"
            rows.append(difference_row(f"{name_of} {FAR} {other}", self.exponent(FAR), n, claim, paper=1.0))
        return [*rows, self._coefficient(name)]

    def _coefficient(self, name: str) -> Row:
        """c of c/size from the larger sizes over c from the smaller: 1 where O(1/size) is all there is."""
        above, size = self.ratios > 1, self.words[1]
        products = self.excess[:, above] * self.sizes[above]
        half = products.shape[1] // 2
        ratio = quotient(products[:, -half:].mean(1), products[:, :half].mean(1))
        note = f"expected: a bound O(1/{size}) that is reached with one coefficient; excess loss times size: "
        return ratio.row(
            f"{name}: coefficient of 1/{size} in the larger half of the sizes over that in the smaller",
            expected=1.0, note=note + ", ".join(f"{product:.3g}" for product in products.mean(0)),
        )  # fmt: skip


def draw(
    axis: Any, sizes: np.ndarray, values: np.ndarray, alpha: Exponent | None, color: Any, name: str
) -> None:  # fmt: skip
    """Means of differences with their errors, and the law on its range; means below zero are not shown."""
    centre, error = values.mean(0), values.std(0, ddof=1) / np.sqrt(len(values))
    shown = centre > 0
    label = f"{name}: {alpha or 'lost in noise'}"
    draw_points(axis, sizes[shown], centre[shown], error[shown], alpha, color, label)


def finish(axis: Any) -> None:
    """A line of slope −1 above the points, and the legend; an empty panel is left out."""
    if not axis.has_data():
        axis.set_axis_off()
        return
    box = axis.dataLim
    ends = np.array([box.x0, box.x1])
    axis.plot(ends, 2 * box.y1 * ends[0] / ends, color=style.INK, lw=1, ls=":", label="slope −1")
    style.legend_below(axis)


def measured(
    settings: Sequence[Mapping[str, Any]],
    experiment: str,
    losses: Callable[[Sequence[Setting]], Iterator[list[dict[str, float]]]],
    **measurement: Any,
) -> pd.DataFrame:
    """The rows that `losses` gives for these settings; `measurement` belongs to their identity."""
    from scalinglab.support.progress import track
    from scalinglab.train import Setting

    def measure(left: Sequence[Mapping[str, Any]]) -> Iterator[list[dict[str, float]]]:
        plain = [{name: value for name, value in one.items() if name not in measurement} for one in left]
        return track(losses([Setting.from_dict(one) for one in plain]), experiment, total=len(left))

    whole = [{**Setting.from_dict(one).identity(), **measurement} for one in settings]
    return trained.measured(whole, experiment, measure).frame
