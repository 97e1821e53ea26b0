"""The figures of bordelon2024 run at scale smoke and what they claim of the theory holds."""

from itertools import combinations

import numpy as np
import pytest

from scalinglab.errors import BadInput
from scalinglab.papers.bordelon2024 import common, frontier, networks
from scalinglab.papers.registry import entry
from scalinglab.simulate.random_features import train

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


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("key", FIGURES)
def test_the_figure_is_made_and_agrees(key):
    made = entry(f"bordelon2024/{key}").function()("smoke")
    assert made.figure is not None
    assert {"theory"} <= set(made.curves["source"])
    assert made.table
    assert all(row.stderr is not None for row in made.table)
    far = {row.quantity: row.sigmas for row in made.table if row.relation == "=" and abs(row.sigmas) > 3.5}
    assert not far
    assert all(row.verdict == "agrees" for row in made.table if row.relation != "=")


@pytest.mark.slow
def test_every_size_and_figure_draws_anew():
    spectrum = common.power_law("smoke")
    settings = [{"n_params": 8}, {"n_params": 16}]
    at = np.array([1.0, 100.0])
    losses = {
        (figure, setting["n_params"]): common.both(spectrum, settings, at, at, 400, figure).select(
            source="simulate", time=100.0, **setting
        )["test_loss"]
        for figure in (1, 2)
        for setting in settings
    }
    pairs = [np.corrcoef(a, b)[0, 1] for a, b in combinations(losses.values(), 2)]
    assert max(map(abs, pairs)) < 4 / np.sqrt(400)
    shared = [train(spectrum, at, **s, draws=400, seed=0) for s in settings]  # what nested draws would give
    nested = np.corrcoef(*(c.select(time=100.0)["test_loss"] for c in shared))[0, 1]
    assert nested > 0.3


@pytest.mark.slow
def test_simulation_over_theory_has_its_error_over_draws():
    """Of 40 repeats of eight draws each, their 95 % intervals hold the mean of all as often as they say."""
    spectrum, at = common.power_law("smoke"), np.array([1.0, 10.0])
    found = [
        common.relative(
            common.both(spectrum, [{"n_params": 32}], at, at, 8, figure), "test_loss", n_params=32
        )
        for figure in range(40)
    ]
    truth = np.mean([one.value for one in found])
    inside = [abs(one.value - truth) < 2.36 * one.stderr for one in found]
    assert all(one.n == 8 for one in found)
    assert np.mean(inside) >= 0.85


def test_exponents_are_judged_by_eq_14_and_the_talks_by_the_talk():
    assert frontier._printed(4.2, 1.4) == pytest.approx((3.2 / 1.4, 3.2, 3.2))
    made = entry("damico2025/talk-bottlenecks").function()("smoke")
    assert [row.paper for row in made.table] == [-2.8, -2.8]
    assert [row.verdict for row in made.table] == ["agrees", "disagrees"]


def test_spectra_of_networks_are_of_two_classes_of_held_out_images():
    x, y = networks.examples("smoke")
    assert len(x) == len(y) == networks.SCALES["smoke"].inputs
    assert len(np.unique(y.round(6))) == 2
    assert y.mean() == pytest.approx(0, abs=1e-9)
    with pytest.raises(BadInput, match="run at smoke, laptop, gpu"):
        networks.settings("paper")
