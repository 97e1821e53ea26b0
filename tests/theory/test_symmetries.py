"""Relations that hold whatever the numbers: symmetries, scalings, limits and monotony of the theories."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalinglab as sl
from scalinglab.errors import BadInput, NotConverged
from scalinglab.theory import dmft, kernel, perceptron, random_features
from scalinglab.theory.dmft.solver.response import System
from tests.properties import examples
from tests.theory import direct_iteration

SPECTRUM = sl.Spectrum.power_law(1.5, 1.25, 60)
positive = st.floats(0.05, 20.0)


# --- kernel ridge regression -------------------------------------------------------------------------


@examples(25)
@given(scale=positive, n=st.floats(1, 50), ridge=positive, noise=st.floats(0, 1))
def test_units_of_a_kernel_are_those_of_its_ridge(scale, n, ridge, noise):
    """K → cK with ridge → c·ridge changes κ by c and the loss not at all."""
    scaled = sl.Spectrum(scale * SPECTRUM.eigenvalues, SPECTRUM.target_power)
    one = kernel.learning_curve(SPECTRUM, n, ridge, noise)
    other = kernel.learning_curve(scaled, n, scale * ridge, noise)
    assert float(other.loss) == pytest.approx(float(one.loss), rel=1e-9)
    assert float(other.kappa) == pytest.approx(scale * float(one.kappa), rel=1e-9)
    assert float(other.gamma) == pytest.approx(float(one.gamma), rel=1e-9)


@examples(25)
@given(scale=positive, n=st.floats(0, 200), ridge=positive, noise=st.floats(0, 1))
def test_the_loss_of_kernel_regression_is_quadratic_in_the_target(scale, n, ridge, noise):
    scaled = sl.Spectrum(SPECTRUM.eigenvalues, scale**2 * SPECTRUM.target_power)
    one = float(kernel.learning_curve(SPECTRUM, n, ridge, noise).loss)
    other = float(kernel.learning_curve(scaled, n, ridge, scale * noise).loss)
    assert other == pytest.approx(scale**2 * one, rel=1e-9)


def test_kappa_falls_from_ridge_and_trace_to_the_ridge():
    n = np.r_[0.0, np.geomspace(0.1, 1e6, 60)]
    found = kernel.learning_curve(SPECTRUM, n, 0.3)
    assert (np.diff(found.kappa) < 0).all()
    assert found.kappa[0] == pytest.approx(0.3 + SPECTRUM.eigenvalues.sum(), rel=1e-9)
    assert found.kappa[1] == pytest.approx(found.kappa[0], rel=0.1)  # it begins where no data leave it
    assert found.kappa[-1] == pytest.approx(0.3, rel=1e-3)
    assert ((found.gamma >= 0) & (found.gamma < 1)).all()


# --- random features ---------------------------------------------------------------------------------


@examples(15)
@given(p=st.floats(5, 80), d=st.floats(5, 80), ridge=st.sampled_from([1e-4, 0.05, 2.0, 40.0]))
def test_a_ridge_of_random_features_solves_its_own_equation_however_large(p, d, ridge):
    """κ (1 - z/P)(D - z) = ridge with z = Σ λ/(κ + λ)."""
    kappa = float(random_features.learning_curve(SPECTRUM, d, p, ridge=ridge).kappa)
    z = np.sum(SPECTRUM.eigenvalues / (kappa + SPECTRUM.eigenvalues))
    assert kappa * (1 - z / p) * (d - z) == pytest.approx(ridge, rel=1e-6)


# --- dynamical mean-field theory ---------------------------------------------------------------------


@examples(6)
@given(scale=positive, n=st.sampled_from([20.0, 45.0, math.inf]), p=st.sampled_from([30.0, 80.0, math.inf]))
def test_time_counts_in_units_of_the_eigenvalues(scale, n, p):
    times = np.array([0.0, 0.3, 5.0, 80.0])
    scaled = sl.Spectrum(scale * SPECTRUM.eigenvalues, SPECTRUM.target_power)
    one = dmft.solve(SPECTRUM, times, n, p, 0.2)
    other = dmft.solve(scaled, times / scale, n, p, 0.2)
    np.testing.assert_allclose(other.test_loss, one.test_loss, rtol=1e-7)
    np.testing.assert_allclose(other.train_loss, one.train_loss, rtol=1e-7)


def test_training_begins_at_the_target_and_only_noise_can_make_it_worse():
    times = np.r_[0.0, np.geomspace(0.01, 1e4, 40)]
    for n in (15.0, 40.0, 1e9):
        found = dmft.solve(SPECTRUM, times, n, math.inf)
        assert found.test_loss[0] == pytest.approx(SPECTRUM.target_power.sum(), rel=1e-9)
        assert (np.diff(found.test_loss) < 1e-12).all()
    losses = [float(dmft.solve(SPECTRUM, 50.0, n, 200.0).test_loss) for n in (10, 20, 40, 80, 1e6)]
    assert (np.diff(losses) < 0).all()  # more parameters never hurt without noise at this many data


@pytest.mark.parametrize("sizes", [(15.0, math.inf), (40.0, 90.0)])
def test_slopes_of_the_response_are_those_of_differences(sizes):
    """dD/dκ and ds/dκ, on the real axis and off it."""
    system = System(SPECTRUM.nodes(), *(1 / size for size in sizes))
    for kappa in (0.3, 2.0, 0.3 + 0.2j):
        here, step = np.array(kappa), 1e-6
        for function in (system.learnt_modes, system.frequency):
            up, down = function(here + step)[0], function(here - step)[0]
            assert complex(function(here)[1]) == pytest.approx(complex((up - down) / (2 * step)), rel=1e-6)


def test_flow_from_too_few_steps_of_descent_is_refused():
    spectrum = sl.Spectrum.power_law(1.5, 1.25, 8)
    steps = direct_iteration.gradient_descent(spectrum, 12, 5.0, 6.0)
    assert np.isfinite(steps.flow([0.05])[0]).all()
    with pytest.raises(NotConverged, match="12 steps"):
        steps.flow([0.05, 3.0])


def test_momentum_of_one_never_forgets_and_is_refused():
    with pytest.raises(BadInput, match=r"must be in \[0, 1\)"):
        dmft.GradientDescent(0.1, 1.0)
    assert dmft.GradientDescent(0.1, 0.999).momentum == 0.999


def test_the_root_of_white_features_lies_on_the_physical_sheet():
    """It solves the cubic, grows as s far out, and follows s continuously down to the real axis."""
    for ratios in ((0.5, math.inf), (0.4, 3.0), (2.0, 0.7)):
        s = np.geomspace(1e-3, 1e4, 200) * np.exp(0.4j)
        kappa = dmft.white.kappa(s, *ratios)
        nu, alpha = ratios
        cubic = (kappa + 1 - 1 / alpha) * (kappa + 1 - 1 / nu) * kappa - s * (1 + kappa) ** 2
        np.testing.assert_allclose(np.abs(cubic) / (np.abs(s) * np.abs(1 + kappa) ** 2), 0, atol=1e-8)
        assert abs(kappa[-1] / s[-1] - 1) < 1e-3
        assert np.abs(np.diff(np.log(kappa))).max() < 0.2
        assert ((np.angle(kappa) > -1e-9) & (np.angle(kappa) < 0.4 + 1e-9)).all()


# --- perceptron ------------------------------------------------------------------------


@examples(12)
@given(load=st.floats(0.05, 50.0), more=st.floats(1.05, 3.0))
def test_no_rule_beats_bayes_and_every_rule_learns_from_more_data(load, more):
    best = float(perceptron.bayes(load).error)
    for rule in (perceptron.hebb, perceptron.gibbs, perceptron.max_stability):
        error = float(rule(load).error)
        assert best <= error * (1 + 1e-9)
        assert float(rule(more * load).error) < error < 0.5
        assert error == pytest.approx(math.acos(float(rule(load).overlap)) / math.pi, rel=1e-9)
