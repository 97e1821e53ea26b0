"""Section 2.1 as numbers: corrections of order 1/D and 1/width of networks small enough to average over.

The networks, their limits and their coefficients are those of `stacks.averages`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.studies import Reproduction, Row, mean
from scalinglab_papers.bahri2021 import exponents
from scalinglab_papers.bahri2021.exponents import difference_row
from scalinglab_papers.bahri2021.variance.judged import Judged, draw


@dataclass(frozen=True)
class Scale:
    """One scale: sizes D and training sets of each, widths and pairs of initialisations of each."""

    sizes: tuple[int, ...]
    draws: int
    widths: tuple[int, ...]
    pairs: int
    activations: tuple[str, ...]


SCALES = {
    "smoke": Scale(sizes=(512, 1024, 2048), draws=200, widths=(8, 16, 32), pairs=100, activations=("erf",)),
    "laptop": Scale(
        sizes=(128, 512, 2048, 8192), draws=24_000, widths=(8, 16, 32, 64), pairs=18_000,
        activations=("erf", "relu"),
    ),
}  # fmt: skip


def section_2_1(scale: str) -> Reproduction:
    """The coefficient of 1/D by second derivatives, and the limit of infinite width by its kernel."""
    s = SCALES[scale]
    figure, axes = style.panels(1, 2, size=(4.6, 3.8))
    left = style.loglog(axes[0, 0], "examples D", "L(D) − L(∞)", "an average over training sets")
    right = style.loglog(axes[0, 1], "width w", "|L(w) − L(∞)|", "an average over initialisations")
    found = [_over_training_sets(left, s)]
    found += [
        _over_initializations(right, s, activation, color)
        for activation, color in zip(s.activations, style.PALETTE)
    ]
    for axis in (left, right):
        style.legend(axis)
    frame = pd.concat([table for _, table in found], ignore_index=True)
    curves = Curves(frame.assign(model="mlp"), settings=["task"], source="simulate")
    return Reproduction(curves, figure, tuple(row for rows, _ in found for row in rows))


def _over_training_sets(axis: Any, s: Scale) -> tuple[list[Row], pd.DataFrame]:
    from scalinglab_papers.bahri2021.stacks import averages

    task, sizes = averages.Task(24, noise=0.5, steps=30), np.array(s.sizes)
    excess, coefficient = averages.data_excess(task, sizes, s.draws), averages.data_coefficient(task)[2]
    rows = []
    for size, values in zip(s.sizes, (excess * sizes / coefficient).T):
        ratio, name = mean(values), f"coefficient of 1/D at D = {size}, over that of second derivatives"
        note = "expected: second derivatives of the trained loss in the weights of the examples"
        rows.append(ratio.row(name, expected=1.0, note=note))
    alpha = exponents.of_differences(sizes, excess)
    rows.append(difference_row("α_D", alpha, s.draws, "13 parameters, erf, mse", paper=1.0))
    draw(axis, sizes, excess, alpha, style.PALETTE[0], "13 parameters")
    axis.plot(sizes, coefficient / sizes, color=style.INK, lw=1, ls=":", label="second derivatives")
    return rows, pd.DataFrame({"task": "data", "n_data": sizes, "excess_loss": excess.mean(0)})


def _over_initializations(axis: Any, s: Scale, activation: str, color: Any) -> tuple[list[Row], pd.DataFrame]:
    from scalinglab_papers.bahri2021.stacks import averages

    task, widths = averages.Task(4, 8, 3, steps=60), np.array(s.widths)
    excess = np.stack([averages.width_excess(task, activation, width, s.pairs) for width in s.widths], 1)
    above = float(np.sign(excess.mean())) * excess
    judged = Judged(widths, above, widths / task.n_seen, ("W", "w", "D"))
    draw(axis, widths, above, judged.exponent(), color, activation)
    note = f"4 examples, {task.steps} steps, mse; less the loss of the infinitely wide network by its kernel"
    rows = judged.rows(activation, note)
    return rows, pd.DataFrame({"task": activation, "width": widths, "excess_loss": excess.mean(0)})
