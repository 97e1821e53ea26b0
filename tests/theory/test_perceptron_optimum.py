"""The best sharpness, against a search that never uses the slope."""

from __future__ import annotations

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput

p = sl.theory.perceptron


@pytest.mark.parametrize("load", [0.05, 1.0, 5.0, 300.0])
def test_optimum_is_where_a_chebyshev_fit_of_the_error_is_smallest(load):
    found = p.optimal_sharpness(load)
    nodes = np.cos(np.pi * (np.arange(25) + 0.5) / 25)
    log_sharpness = np.log(found.sharpness) + 0.07 + 0.6 * nodes
    fitted = np.polynomial.chebyshev.Chebyshev.fit(
        log_sharpness, p.fixed_norm(load, np.exp(log_sharpness)).error, 24
    )
    roots = fitted.deriv().roots()
    inside = roots[(np.abs(roots.imag) < 1e-9) & (np.abs(roots.real - np.log(found.sharpness)) < 0.4)].real
    assert len(inside) == 1
    assert inside[0] == pytest.approx(np.log(found.sharpness), abs=1e-8 if load >= 1 else 1e-6)
    assert found.error == pytest.approx(fitted(inside[0]), rel=1e-12)


def test_no_neighbour_is_better():
    loads = np.geomspace(*p.solution.OPTIMUM_LOADS, 25)
    best = p.optimal_sharpness(loads)
    for factor in (0.99, 1.01):
        assert np.all(p.fixed_norm(loads, best.sharpness * factor).error > best.error)


def test_optimum_is_close_to_bayes_but_never_equal():
    loads = np.array([1.0, 10.0, 1e3])
    gap = p.optimal_sharpness(loads).error / p.bayes(loads).error - 1
    np.testing.assert_allclose(gap, [1.2e-4, 6.0e-4, 6.3e-4], rtol=0.05)


def test_best_sharpness_grows_linearly_and_its_error_falls_as_one_over_load():
    loads = np.array([1e3, 1e4])
    best = p.optimal_sharpness(loads)
    assert np.diff(np.log(best.sharpness))[0] / np.log(10) == pytest.approx(1, abs=1e-5)
    assert np.diff(np.log(best.error))[0] / np.log(10) == pytest.approx(-1, abs=1e-5)


def test_loads_where_the_minimum_is_too_shallow_are_refused():
    with pytest.raises(BadInput, match="shallow"):
        p.optimal_sharpness(1e-4)
