"""Bottleneck exponents against the slopes of the solved losses, and the compute-optimal frontier."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import scalinglab as sl
from scalinglab.errors import BadInput

dmft, bottlenecks = sl.theory.dmft, sl.theory.bottlenecks
SIZES = np.array([1e3, 1e4])


def slope(values):
    return -math.log10(values[1] / values[0])


@pytest.mark.parametrize(("a", "b"), [(1.5, 1.25), (1.8, 1.6), (3.0, 1.25), (4.2, 1.4)])
def test_exponents_are_the_slopes_of_the_solved_losses(a, b):
    """Ordinary, params saturated at b, data saturated at 2b; the corrections die as a power of the size."""
    spectrum = sl.Spectrum.power_law(a, b, 10**15)
    found = bottlenecks.exponents(a, b)
    times = np.array([1e5, 1e6]) ** (1 if b < 1.5 else 1.2)
    time = dmft.solve(spectrum, times).test_loss
    assert -math.log(time[1] / time[0]) / math.log(times[1] / times[0]) == pytest.approx(found.time, rel=0.01)
    data = [dmft.final(spectrum, math.inf, size).test_loss for size in SIZES]
    params = [dmft.final(spectrum, size, math.inf).test_loss for size in SIZES]
    assert slope(data) == pytest.approx(found.data, rel=0.02)
    assert slope(params) == pytest.approx(found.params, rel=0.02)
    assert found.printed_params >= found.params


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(2.0, 1.5), (3.0, 1.25)])
def test_the_frontier_has_the_predicted_slopes(a, b):
    frontier = bottlenecks.compute_optimal(sl.Spectrum.power_law(a, b, 10**12), np.array([1e8, 1e9]))
    loss, params, time = (float(x[0]) for x in frontier.local_exponents())
    found = bottlenecks.exponents(a, b)
    assert loss == pytest.approx(found.compute, rel=0.01)
    assert params == pytest.approx(found.optimal_params, abs=0.01)
    assert time == pytest.approx(found.optimal_time, abs=0.01)


def test_local_exponents_of_powers_are_their_exponents():
    compute = np.array([1e3, 1e4, 5e7])
    powers = (5 * compute**power for power in (0.4, 0.6, -0.2))
    loss, params, time = bottlenecks.Frontier(compute, *powers).local_exponents()
    assert (loss, params, time) == (
        pytest.approx([0.2] * 2),
        pytest.approx([0.4] * 2),
        pytest.approx([0.6] * 2),
    )


@pytest.mark.slow
def test_the_frontier_is_the_minimum_of_the_solved_loss():
    spectrum, budget = sl.Spectrum.power_law(1.5, 1.25, 10**6), 1e5
    found = bottlenecks.compute_optimal(spectrum, [budget])
    exact = minimize_scalar(
        lambda x: float(dmft.solve(spectrum, budget / math.exp(x), math.exp(x)).test_loss),
        bounds=(3, 9),
        method="bounded",
        options={"xatol": 1e-7},
    )
    assert found.loss[0] == pytest.approx(exact.fun, rel=1e-9)
    assert math.log(found.n_params[0]) == pytest.approx(exact.x, abs=1e-3)
    assert found.n_params[0] * found.time[0] == pytest.approx(budget)


def test_the_paper_s_example():
    found = bottlenecks.exponents(1.5, 1.25)
    assert (found.time, found.data, found.params) == (0.4, 0.5, 0.5)
    assert found.compute == pytest.approx(0.5 / 2.25)
    assert (found.optimal_params, found.optimal_time) == pytest.approx((1 / 2.25, 1.25 / 2.25))
    assert found.saturated == ()


@pytest.mark.parametrize(("a", "b", "name"), [(1.0, 1.25, "task_exponent"), (1.5, -1, "spectral_exponent")])
def test_bad_exponents_are_refused_by_name(a, b, name):
    with pytest.raises(BadInput, match=name):
        bottlenecks.exponents(a, b)


@pytest.mark.slow
def test_simulated_models_saturate_at_b_not_2b():
    """a − 1 = 2 > b = 1.25: the final loss of drawn features falls as N^-b; min(a−1, 2b) would be N^-2."""
    spectrum, sizes = sl.Spectrum.power_law(3.0, 1.25, 600), (10, 40)
    means = [
        sl.simulate.random_features.train(spectrum, 1e12, size, draws=150).average("seed").frame.iloc[0]
        for size in sizes
    ]
    measured = -math.log(means[1].test_loss / means[0].test_loss) / math.log(4)
    error = math.hypot(*(mean.test_loss_stderr / mean.test_loss for mean in means)) / math.log(4)
    theory = [dmft.final(spectrum, size).test_loss for size in sizes]
    expected = -math.log(theory[1] / theory[0]) / math.log(4)
    assert abs(measured - expected) < 4 * error + 0.05
    assert error < 0.05
    assert measured + 6 * error < 1.75  # 2 is excluded


@pytest.mark.parametrize("place", [0.3, 2.6, 5.7])
def test_the_minimum_of_points_is_found_up_to_the_ends(place):
    x = np.arange(7.0)
    assert bottlenecks.minimum_of_points(x, (x - place) ** 2) == pytest.approx(place, abs=1e-9)
    x = np.arange(15.0)
    assert bottlenecks.minimum_of_points(x, (x - 8 - place) ** 4 / 10) == pytest.approx(8 + place, abs=1e-3)
