"""Models that are right at the points of a manifold: how their loss falls with the number of points."""

import numpy as np
import pytest

from scalinglab.errors import BadInput
from scalinglab.theory import manifolds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimension", "manifold"),
    [(2, "sphere"), (3, "torus"), pytest.param(4, "cube", marks=pytest.mark.nightly)],
)
def test_theorems_1_and_2_are_met_by_nearest_neighbours(dimension, manifold):
    """A Lipschitz loss falls with 1/d, the squared error with 2/d; never slower than the bound allows."""
    sizes = np.array([250, 500, 1000, 2000])

    def target(points):
        return np.sin(2 * np.pi * points[:, 0]) + 0.5 * np.cos(2 * np.pi * points[:, -1])

    for power in (1.0, 2.0):
        losses = manifolds.interpolation_losses(manifold, dimension, sizes, target, power=power, draws=20)
        slopes = -np.polyfit(np.log(sizes), np.log(losses).T, 1)[0]
        error = slopes.std(ddof=1) / np.sqrt(len(slopes))
        expected = power / dimension
        assert error < 0.1 * expected
        assert slopes.mean() == pytest.approx(expected, abs=3 * error + 0.12 * expected)


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="'sphere'"):
        manifolds.sample("spere", 2, 3)
    with pytest.raises(BadInput, match="dimension = 0"):
        manifolds.sample("cube", 0, 10)


@pytest.mark.parametrize("manifold", ["torus", "sphere"])
def test_neighbours_are_those_of_all_distances_along_the_manifold(manifold):
    train, test = (manifolds.sample(manifold, 2, n, seed) for n, seed in ((40, 0), (30, 1)))
    if manifold == "sphere":
        apart = np.arccos(np.clip(test @ train.T, -1, 1))
    else:
        away = np.abs(test[:, None] - train)
        apart = np.linalg.norm(np.minimum(away, 1 - away), axis=-1)
    distance, index = manifolds.nearest_neighbours(manifold, train, test)
    assert index.tolist() == apart.argmin(axis=1).tolist()
    assert distance == pytest.approx(apart.min(axis=1))
