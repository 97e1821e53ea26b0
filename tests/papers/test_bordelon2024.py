"""The figures of bordelon2024 run at scale smoke and what they claim of the theory holds."""

import pytest

from scalinglab.papers.registry import entry

FIGURES = (
    "fig2b",
    "fig2c",
    "fig2d",
    "fig3",
    "fig4a",
    "fig4b",
    "fig4c",
    "fig5a",
    "fig5b",
    "fig7",
    "fig8",
    "exponents",
)


@pytest.mark.parametrize("key", FIGURES)
def test_the_figure_is_made_and_agrees(key):
    made = entry(f"bordelon2024/{key}").function()("smoke")
    assert made.figure is not None
    assert {"theory"} <= set(made.curves["source"])
    wrong = [row.quantity for row in made.table if row.agrees is False]
    assert not wrong
