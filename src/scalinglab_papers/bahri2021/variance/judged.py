"""Shared by the variance-limited figures: differences of losses, judged far above another size, and drawn.

The claim is an exponent of 1 in a size (D, or the width) in the limit where it is far above another one (P,
or D). It is judged with the next order, A x^−α (1 + e/x), on all sizes above the other one, at the last of
the times. The exponent of a power law without it is reported. In the figures points outside the range of the
latter are hollow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scalinglab.figures import style
from scalinglab.studies import Row, trained
from scalinglab_papers.bahri2021 import exponents
from scalinglab_papers.bahri2021.exponents import Exponent, difference_row
from scalinglab_papers.bahri2021.students import draw_points

if TYPE_CHECKING:
    from scalinglab.train import Setting


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

    @property
    def above(self) -> np.ndarray:
        """The sizes above the other one."""
        return np.asarray(self.ratios > 1)

    def exponent(self) -> Exponent | None:
        """Exponent of a power law on the sizes above the other one; None if it is lost in noise."""
        return exponents.of_differences(self.sizes[self.above], self.excess[:, self.above])

    def rows(self, name: str, note: str, last: bool = True) -> list[Row]:
        """The exponent of a power law, reported; with the next order, judged at the last of the times."""
        subscript, size, other = self.words
        sizes, excess = self.sizes[self.above], self.excess[:, self.above]
        alpha = exponents.with_next_order(sizes, excess)
        products = ", ".join(f"{product:.3g}" for product in (excess * sizes).mean(0))
        words = f"fit of A {size}^−α (1 + e/{size}); excess loss times size: {products}"
        pure = f"{name}: α_{subscript}, {size} > {other}"
        return [
            difference_row(pure, self.exponent(), len(self.excess), note),
            Row(
                f"{name}: α_{subscript} with the next order",
                None if alpha is None else alpha.value, None if alpha is None else alpha.stderr,
                len(self.excess), paper=1.0 if last else None,
                note=words if alpha else f"the differences are lost in noise; {words}",
            ),
        ]  # fmt: skip


def stored_table() -> pd.DataFrame | None:
    """The table of differences that ``--store`` names, where it is a file: those of an earlier run."""
    store = trained.run_storage().store
    return pd.read_csv(store) if store is not None and store.is_file() else None


def draw(
    axis: Any, sizes: np.ndarray, values: np.ndarray, alpha: Exponent | None, color: Any, name: str
) -> None:  # fmt: skip
    """Means of differences with their errors, and the law on its range; means below zero are not shown."""
    centre, error = values.mean(0), values.std(0, ddof=1) / np.sqrt(len(values))
    shown = centre > 0
    label = f"{name}: {alpha or 'lost in noise'}"
    draw_points(axis, sizes[shown], centre[shown], error[shown], alpha, color, label)


def add_slope_and_legend(axis: Any) -> None:
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
    from scalinglab.support.work import track
    from scalinglab.train import Setting

    def measure(left: Sequence[Mapping[str, Any]]) -> Iterator[list[dict[str, float]]]:
        plain = [{name: value for name, value in one.items() if name not in measurement} for one in left]
        return track(losses([Setting.from_dict(one) for one in plain]), experiment, total=len(left))

    whole = [{**Setting.from_dict(one).identity(), **measurement} for one in settings]
    return trained.measured(whole, experiment, measure).frame
