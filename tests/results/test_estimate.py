"""Estimates and slopes against SciPy's, and intervals that cover as often as they say."""

import numpy as np
import pytest
from scipy import stats

from scalinglab.results.distributions import Estimate, slope


def test_slope_is_that_of_linear_regression():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 5, 9)
    y = 3 - 1.3 * x + rng.normal(0, 0.4, 9)
    found, expected = slope(x, y), stats.linregress(x, y)
    assert found.value == pytest.approx(expected.slope, rel=1e-12)
    assert found.stderr == pytest.approx(expected.stderr, rel=1e-12)
    half = stats.t.ppf(0.975, 7) * expected.stderr
    assert (found.low, found.high) == pytest.approx((expected.slope - half, expected.slope + half), rel=1e-12)


def test_interval_of_a_slope_covers_as_often_as_it_says():
    rng = np.random.default_rng(1)
    x = np.arange(4.0)
    found = [slope(x, 0.5 * x + rng.normal(size=4)) for _ in range(2000)]
    covered = np.mean([one.low <= 0.5 <= one.high for one in found])
    assert covered == pytest.approx(0.95, abs=0.02)  # 4 standard deviations of a share of 2000


def test_two_points_have_a_slope_and_no_error():
    found = slope([1.0, 3.0], [0.0, 1.0])
    assert found.value == 0.5
    assert np.isnan([found.stderr, found.low, found.high]).all()


def test_minus_an_estimate_turns_its_interval_around():
    assert -Estimate(1.0, 0.5, 0.2, 1.9) == Estimate(-1.0, 0.5, -1.9, -0.2)


def test_written_with_two_digits_of_the_error():
    assert str(Estimate(0.123456, 0.0123)) == "0.123 ± 0.012"
    assert str(Estimate(12.3, float("nan"))) == "12.3"
    assert str(Estimate(2.5e-9, float("nan"))) == "2.5e-09"
    assert str(Estimate(float("nan"))) == "not determined"
