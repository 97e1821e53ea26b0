"""The demonstration's own figure: dynamical laws on handwritten digits (damico2025, section 3)."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from scalinglab.studies import Entry, Reproduction, Row

if TYPE_CHECKING:
    from scalinglab.laws.learning_curves.dynamical import Dynamical

ENTRIES = (
    Entry(
        "demo/digits",
        "error against norm at eight data sizes of real digits, and whether its exponents multiply",
        scales=("smoke", "laptop"),
        make="scalinglab_papers.demo:digits",
        laptop_minutes=1.6,
    ),
)


def digits(scale: str) -> Reproduction:
    """The demonstration's figure and table."""
    from scalinglab import laws
    from scalinglab.demo.digits import PLANS, train
    from scalinglab.figures import collapse
    from scalinglab.laws.learning_curves.mean_curves import size_curves

    with tempfile.TemporaryDirectory() as folder:
        curves = train(PLANS[scale], folder)
    found = laws.dynamical(curves)
    by_size = size_curves(curves, "norm", "test_error", "n_data")
    figure = collapse.dynamical(found, by_size, size="training examples")
    return Reproduction(curves, figure, table(found))


def table(found: Dynamical) -> tuple[Row, ...]:
    """The exponents; the paper's claim is that the product of two gives the third."""
    from scalinglab.demo.digits import exponents

    sizes, numbers = len(found.table), exponents(found)
    difference = numbers.pop("γ₁γ₂ − γ")
    return (
        *(Row(name, exponent.value, exponent.stderr, sizes) for name, exponent in numbers.items()),
        Row("γ₁γ₂ − γ", difference.value, difference.stderr, sizes, expected=0.0,
            resolution=0.1 * abs(found.gamma_measured.value), note="damico2025: γ = γ₁γ₂"),
    )  # fmt: skip
