"""Whether a curve still follows its power law: the numbers in the answer."""

import re

import numpy as np
import pytest

from scalinglab.laws import plan

X = np.geomspace(100.0, 1e6, 25)


def noise(seed: int, size: float) -> np.ndarray:
    return np.exp(size * np.random.default_rng(seed).standard_normal(X.size))


@pytest.mark.parametrize("exponent", [0.25, 0.4, 1.1])
def test_the_exponent_of_a_straight_curve_is_printed(exponent: float):
    ripple = np.exp(0.005 * (-1.0) ** np.arange(X.size))  # scatter that bends nothing
    found = plan.still_power_law(X, 3 * X**-exponent * ripple)
    assert found.straight is True
    printed = float(re.search(r"yes: exponent ([0-9.]+)", found.summary()).group(1))
    assert printed == pytest.approx(exponent, abs=0.005)


@pytest.mark.parametrize(("curvature", "how"), [(0.02, "flattens"), (-0.02, "steepens")])
def test_the_local_exponents_of_a_bent_curve_are_those_at_its_ends(curvature: float, how: str):
    """ln y = 1 - 0.5 u + c u²: the exponent is 0.5 - 2 c u at each end."""
    u = np.log(X)
    start, end = 0.5 - 2 * curvature * u[0], 0.5 - 2 * curvature * u[-1]
    found = plan.still_power_law(X, np.exp(1 - 0.5 * u + curvature * u**2) * noise(1, 1e-4))
    assert found.straight is False
    assert found.change == pytest.approx(end - start, rel=0.01)
    assert found.low < end - start < found.high
    assert (found.exponent_first, found.exponent_last) == pytest.approx((start, end), abs=0.01)
    assert found.p_value < 1e-6
    said = re.search(r"no: it (\w+); the local exponent goes from ([-0-9.]+) to ([-0-9.]+)", found.summary())
    assert said.group(1) == how
    assert (float(said.group(2)), float(said.group(3))) == pytest.approx((start, end), abs=0.002)


def test_a_noisy_curve_is_neither_straight_nor_bent():
    found = plan.still_power_law(X, 3 * X**-0.1 * noise(2, 0.3))
    assert found.straight is None
    assert "cannot tell" in found.summary()
