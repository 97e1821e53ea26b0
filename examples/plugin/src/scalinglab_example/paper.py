"""A figure of a paper, reproduced: a number that is judged against what the paper says."""

from __future__ import annotations

from scalinglab.curves import Curves
from scalinglab.studies import Entry, Reproduction, Row

ENTRIES = (
    Entry(
        "example2026/figure1",
        "the loss falls as the square root of the data",
        scales=("smoke",),
        make="scalinglab_example.paper:figure1",
    ),
)


def figure1(scale: str) -> Reproduction:
    """The exponent of a curve, beside the paper's 1/2."""
    import scalinglab as sl

    sizes = [100, 200, 400, 800, 1600]
    losses = [size**-0.5 for size in sizes]
    law = sl.laws.fit("power_law", sizes, losses)
    curves = Curves({"n_data": sizes, "test_loss": losses, "step": [1] * len(sizes)})
    row = Row("exponent", law.exponent, 0.01, len(sizes), expected=0.5)
    return Reproduction(curves, None, (row,))
