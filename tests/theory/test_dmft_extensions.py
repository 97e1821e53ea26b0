"""Early-time corrections, the white model, one-pass SGD."""

import math

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.theory.dmft import sgd
from scalinglab.theory.dmft.solver.response import System

dmft = sl.theory.dmft
LARGE = sl.Spectrum.power_law(1.5, 1.25, n_modes=10_000)


@pytest.mark.parametrize(("n_params", "n_data"), [(1e6, math.inf), (math.inf, 1e6), (3e6, 1e6)])
def test_the_early_correction_is_the_first_order_of_the_solved_loss(n_params, n_data):
    times = np.array([0.1, 1.0, 10.0, 100.0])
    first = dmft.early(LARGE, times, noise=0.3)
    solved = dmft.solve(LARGE, times, n_params, n_data, noise=0.3).test_loss
    np.testing.assert_allclose(solved - first.limit, first.loss(n_params, n_data) - first.limit, rtol=1e-4)


def test_the_corrected_early_transfer_function_holds_where_the_printed_one_fails():
    """Eq. 81: the excess of H_k starts as t², the printed 1 − e^{−λt} as t."""
    times, n_params = np.array([1e-3, 1e-2]), 50.0
    value = LARGE.mode(2)[0]
    decay = np.exp(-value * times)
    excess = dmft.solve(LARGE, times, n_params).transfer(2) - decay
    first_order = LARGE.trace / value / n_params
    np.testing.assert_allclose(first_order * (1 - (1 + value * times) * decay), excess, rtol=0.01)
    assert np.all(first_order * (1 - decay) > 50 * excess)


@pytest.mark.parametrize(("model", "data"), [(0.5, 0.8), (2.0, 0.8), (0.9, math.inf), (3.0, 4.0)])
def test_the_cubic_of_the_white_model_gives_the_response(model, data):
    system = System(dmft.white.WHITE.nodes(), 1 / model, 1 / data)
    path = 0.6 * np.exp(1j * np.linspace(0, 2.7, 40))
    start = system.real_kappa(np.array([0.6]), system.final_kappa())
    np.testing.assert_allclose(
        dmft.white.kappa(path, model, data), system.kappa_along(path[None], start)[0], rtol=1e-10
    )


@pytest.mark.slow
def test_white_features_show_double_descent_that_early_stopping_removes():
    ratios, alpha = np.array([0.2, 0.4, 0.6, 0.75, 0.8, 0.85, 1.0, 1.6, 3.2]), 0.8
    late = [float(dmft.white.solve(1e4, nu, alpha).test_loss) for nu in ratios]
    stopped = [dmft.optimal_stopping(dmft.white.WHITE, nu, alpha).test_loss for nu in ratios]
    assert np.argmax(late) == list(ratios).index(alpha)
    assert late[-1] < late[0] < max(late)
    assert np.all(np.diff(stopped) < 0)
    assert np.all(np.array(stopped) <= np.array(late))


def test_stopping_at_the_best_time_is_a_minimum():
    found = dmft.optimal_stopping(LARGE, 64, 128)
    around = dmft.solve(LARGE, found.time * np.array([0.99, 1.0, 1.01]), 64, 128).test_loss
    assert around[1] < min(around[0], around[2])
    assert dmft.optimal_stopping(LARGE, n_params=64).time == math.inf


def test_slow_timescales_of_the_white_model_are_those_of_eqs_110_and_111():
    times = np.linspace(0, 3, 7)
    for ratio, tolerance in ((0.02, 1e-3), (200.0, 1e-4)):
        exact = dmft.white.solve(times, ratio).transfer(1)
        np.testing.assert_allclose(dmft.white.slow_transfer(times, ratio), exact, atol=tolerance)
    assert np.all(dmft.white.solve(times[1:], 10.0).transfer(1) > np.exp(-times[1:]))


@pytest.mark.parametrize(("times", "ratio"), [([0.0, math.nan], 2.0), ([1.0], math.nan), ([1.0], 0.0)])
def test_the_slow_transfer_of_what_is_no_number_is_refused(times, ratio):
    with pytest.raises(BadInput, match="model_ratio"):
        dmft.white.slow_transfer(times, ratio)


# --- one-pass SGD --------------------------------------------------------------------------------


def exact_sgd(spectrum, steps, rate, batch, noise):
    """Infinite features: E v_k² obeys a recursion of its own, mode by mode (mean-field noise)."""
    values, square = spectrum.eigenvalues, spectrum.target_power / spectrum.eigenvalues
    losses = []
    for _ in range(steps + 1):
        loss = float(values @ square)
        losses.append(loss + noise**2)
        square = (1 - rate * values) ** 2 * square + rate**2 * values / batch * (loss + noise**2)
    return np.array(losses)


def test_one_pass_sgd_matches_its_recursion_over_modes():
    spectrum = sl.Spectrum.power_law(1.5, 1.25, 300)
    found = dmft.solve(spectrum, np.arange(201), noise=0.3, dynamics=dmft.OnePassSGD(0.5, 8))
    np.testing.assert_allclose(found.test_loss, exact_sgd(spectrum, 200, 0.5, 8, 0.3), rtol=1e-11)
    np.testing.assert_array_equal(found.train_loss, found.test_loss)


def test_panels_of_doubling_length_continue_one_pass_sgd():
    spectrum = sl.Spectrum.power_law(1.5, 1.25, 50)
    times = np.array([100, sgd.DIRECT, sgd.DIRECT + 1, 3 * sgd.DIRECT])
    exact = exact_sgd(spectrum, int(times[-1]), 0.5, 8, 0.3)[times]
    found = dmft.solve(spectrum, times, noise=0.3, dynamics=dmft.OnePassSGD(0.5, 8))
    np.testing.assert_allclose(found.test_loss, exact, rtol=1e-9)


def test_huge_batches_make_sgd_gradient_descent():
    steps = np.array([0, 3, 40, 1000])
    sgd_loss = dmft.solve(LARGE, steps, 64, noise=0.2, dynamics=dmft.OnePassSGD(0.3, 1e12)).test_loss
    descent = dmft.solve(LARGE, steps, 64, noise=0.2, dynamics=dmft.GradientDescent(0.3)).test_loss
    np.testing.assert_allclose(sgd_loss, descent, rtol=1e-9)


@pytest.mark.slow
def test_sgd_with_too_small_a_batch_is_recorded_as_unstable():
    found = dmft.solve(LARGE, [0, 50, 100_000], 64, dynamics=dmft.OnePassSGD(0.9, 1))
    assert not found.stable
    assert found.test_loss[1] > 10 * found.test_loss[0]
    assert found.test_loss[2] == math.inf
