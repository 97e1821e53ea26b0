"""Promises of the theory that a small change of the code would break unseen."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.theory import bottlenecks, kernel, perceptron
from scalinglab.theory.dmft import OnePassSGD, sgd

SPECTRUM = sl.Spectrum.power_law(task_exponent=1.5, spectral_exponent=1.25, n_modes=200)


def test_loads_are_solved_over_the_range_that_is_promised_and_refused_beyond():
    found = perceptron.fixed_norm([1e-6, 1e12], 2.0)
    assert np.all(found.residual < 1e-9)
    for load in (0.9e-6, 1.1e12):
        with pytest.raises(BadInput, match=r"1e-06.*1e\+12"):
            perceptron.fixed_norm(load, 2.0)


def test_the_summary_of_solutions_names_one_error_or_their_range():
    one, two = perceptron.fixed_norm(5.0, 2.0), perceptron.fixed_norm([2.0, 5.0], 2.0)
    assert f"1 points: error {float(one.error):.6g}, equations" in one.summary()
    assert f"2 points: error {two.error[1]:.6g} to {two.error[0]:.6g}, equations" in two.summary()


def test_losses_of_modes_are_refused_where_they_would_not_fit():
    wide = sl.Spectrum.power_law(n_modes=10**6)
    with pytest.raises(BadInput, match=r"6\.0e\+07 numbers"):
        _ = kernel.learning_curve(wide, np.full(60, 10.0)).mode_loss


def test_budgets_below_one_have_a_frontier_too():
    found = bottlenecks.compute_optimal(SPECTRUM, [0.5])
    assert found.n_params * found.time == pytest.approx([0.5])
    with pytest.raises(BadInput, match=r"not 0\.0"):
        bottlenecks.compute_optimal(SPECTRUM, [0.0])


@pytest.mark.parametrize("n_params", [math.inf, 40.0])
def test_one_pass_sgd_is_stable_up_to_the_batch_that_the_kernels_sum_gives(n_params):
    """Σ_τ K(τ) = (1/B) Σ x/(2/η − x), over eigenvalues, those of drawn features at finite width."""
    rate = 0.8
    eigenvalues = np.arange(1, 201.0) ** -1.25
    if n_params < math.inf:
        draws = [np.random.default_rng(seed).standard_normal((40, 200)) for seed in range(40)]
        eigenvalues = np.array([np.linalg.eigvalsh((a * eigenvalues) @ a.T / 40) for a in draws])
    total = np.mean(np.sum(eigenvalues / (2 / rate - eigenvalues), axis=-1))
    assert 1.2 < total < 5
    for factor, stable in ((1.1, True), (0.9, False)):
        found = sgd.losses(
            SPECTRUM,
            np.array([1.0, 3.0]),
            n_params,
            math.inf,
            0.1,
            OnePassSGD(rate, batch_size=factor * total),
            1.0,
        )
        assert bool(found[1]) is stable


@pytest.mark.parametrize("load", [0.3, 2.0, 20.0])
def test_the_overlap_of_gibbs_learning_solves_its_saddle_point_equation(load):
    r = float(perceptron.gibbs(load).overlap)

    def integrand(t):
        return stats.norm.pdf(t) * math.exp(-r * t * t / 2) / stats.norm.sf(math.sqrt(r) * t)

    kernel = integrate.quad(integrand, -9, 9, epsabs=1e-12)[0]
    assert r / math.sqrt(1 - r) == pytest.approx(load / math.pi * kernel, rel=1e-7)
