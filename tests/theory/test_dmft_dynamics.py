"""Filters of the training dynamics against their own equations, and the edges of the spectrum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

import scalinglab as sl
from scalinglab.spectrum import Nodes
from scalinglab.theory import dmft
from scalinglab.theory.dmft.solver.response import System
from tests.properties import examples

FREQUENCIES = np.array([-3.0, -1.0, -0.25, -0.01, 0.0, -0.4 + 0.3j])
TIMES = np.array([0.0, 0.1, 1.0, 4.0, 15.0])


def seen_through(spectrum: sl.Spectrum, n_params: float, n_data: float) -> System:
    ones = np.ones(len(spectrum.eigenvalues))
    return System(Nodes(spectrum.eigenvalues, ones, spectrum.target_power), 1 / n_params, 1 / n_data)


@pytest.mark.parametrize("momentum", [0.1, 0.24, 1.0, 6.0])
def test_gradient_flow_with_momentum_follows_its_differential_equation(momentum: float):
    """β f'' + f' = s f from f = 1 at rest."""
    flow = dmft.GradientFlow(momentum)
    frequencies = np.r_[FREQUENCIES, -1 / (4 * momentum)]  # the last with two equal roots
    for j, s in enumerate(frequencies):
        matrix = np.array([[0, 1], [s / momentum, -1 / momentum]])
        exact = np.array([expm(matrix * t) for t in TIMES])
        np.testing.assert_allclose(flow.filter(frequencies, TIMES)[:, j], exact[:, 0, 0], atol=1e-9)


@pytest.mark.parametrize("momentum", [0.0, 0.3, 0.9])
def test_gradient_descent_follows_its_recursion(momentum: float):
    """v(t+1) = (1 + μ + ηs) v(t) - μ v(t-1) from v(-1) = v(0) = 1."""
    descent = dmft.GradientDescent(0.7, momentum)
    steps = np.arange(30)
    frequencies = np.r_[FREQUENCIES, -((1 - momentum**0.5) ** 2) / 0.7]  # the last with two equal roots
    before, now = np.ones_like(frequencies), np.ones_like(frequencies)
    filters = []
    for _ in steps:
        filters.append(now)
        before, now = now, (1 + momentum + 0.7 * frequencies) * now - momentum * before
    np.testing.assert_allclose(descent.filter(frequencies, steps), filters, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "dynamics",
    [
        dmft.GradientFlow(), dmft.GradientFlow(0.2), dmft.GradientDescent(0.3),
        dmft.GradientDescent(0.3, 0.5),
    ],
)  # fmt: skip
def test_rate_is_the_inverse_of_frequency_and_the_derivative_that_of_differences(dynamics):
    s = -0.05
    rate = dynamics.rate(s)
    assert rate < 0
    value, slope = dynamics.frequency(np.array(rate))
    assert float(np.real(value)) == pytest.approx(s, rel=1e-12)
    up, down = (float(np.real(dynamics.frequency(np.array(rate + h))[0])) for h in (1e-6, -1e-6))
    assert float(np.real(slope)) == pytest.approx((up - down) / 2e-6, rel=1e-8)
    late = np.array([200.0, 201.0])
    grown = np.abs(dynamics.filter(np.array([s + 0j]), late)[:, 0])
    assert np.log(grown[1] / grown[0]) == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize(("learning_rate", "momentum"), [(0.5, 0.0), (1.2, 0.6)])
def test_descent_is_stable_up_to_two_times_one_plus_momentum(learning_rate: float, momentum: float):
    descent = dmft.GradientDescent(learning_rate, momentum)
    limit = 2 * (1 + momentum) / learning_rate
    late = np.array([4000])
    for largest, stable in ((0.999 * limit, True), (1.001 * limit, False)):
        assert descent.stable(largest) == stable
        assert (abs(descent.filter(np.array([-largest + 0j]), late)[0, 0]) < 1) == stable


@examples(25)
@given(ratio=st.floats(1.2, 40.0), n_modes=st.integers(2, 300), scale=st.floats(0.1, 10.0))
def test_edges_of_a_flat_spectrum_are_those_of_marchenko_and_pastur(ratio, n_modes, scale):
    """λ (1 ± √(M/N))² for N parameters and endless data, more parameters than modes; the same for data."""
    spectrum = sl.Spectrum(np.full(n_modes, scale), np.ones(n_modes))
    number = ratio * n_modes
    for sizes in ((number, np.inf), (np.inf, number)):
        response = seen_through(spectrum, *sizes)
        assert response.smallest_rate()[0] == pytest.approx(scale * (1 - ratio**-0.5) ** 2, rel=1e-6)
        assert response.largest_rate() == pytest.approx(scale * (1 + ratio**-0.5) ** 2, rel=1e-6)


def test_edges_of_two_projections_are_those_of_random_matrices():
    """The extreme eigenvalues of (AᵀA/N)(ΨᵀΨ/P), on average inside the edges by a multiple of M^(-2/3)."""
    modes, params, data = 100, 300, 500
    rng = np.random.default_rng(0)
    eigenvalues = np.linspace(1.0, 3.0, modes)
    found = []
    for _ in range(12):
        a = rng.standard_normal((params, modes))
        psi = rng.standard_normal((data, modes)) * np.sqrt(eigenvalues)
        values = np.linalg.eigvals((a.T @ a / params) @ (psi.T @ psi / data)).real
        found.append((values.min(), values.max()))
    response = seen_through(sl.Spectrum(eigenvalues, np.ones(modes)), params, data)
    low, high = np.mean(found, axis=0)
    assert response.smallest_rate()[0] == pytest.approx(low, rel=0.1)
    assert response.smallest_rate()[0] < low
    assert response.largest_rate() == pytest.approx(high, rel=0.1)
    assert response.largest_rate() > high
