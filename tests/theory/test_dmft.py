"""The dynamics solver against the time × time recipe, closed forms and limits."""

import math
from dataclasses import asdict

import numpy as np
import pytest
from scipy.integrate import quad

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.theory.dmft.solver.response import System
from tests.theory import direct_iteration

dmft = sl.theory.dmft
SMALL = sl.Spectrum.power_law(1.5, 1.25, n_modes=40)
LARGE = sl.Spectrum.power_law(1.5, 1.25, n_modes=10_000)
CASES = [
    (10, 20, 0.0),
    pytest.param(20, 10, 0.3, marks=pytest.mark.slow),
    pytest.param(15, 15, 0.2, marks=pytest.mark.slow),
    (math.inf, 12, 0.1),
    (12, math.inf, 0.5),
    (60, 80, 0.0),
]


# --- the independent method ----------------------------------------------------------------------


@pytest.mark.parametrize(("n_params", "n_data", "noise"), CASES)
def test_descent_and_flow_match_the_time_by_time_recipe(n_params, n_data, noise):
    rate, steps = 0.4, 40
    exact = direct_iteration.gradient_descent(SMALL, steps, n_params, n_data, noise, rate)
    found = dmft.solve(SMALL, np.arange(steps + 1), n_params, n_data, noise, dmft.GradientDescent(rate))
    np.testing.assert_allclose(found.test_loss, np.diag(exact.test) + noise**2, rtol=1e-11)
    np.testing.assert_allclose(found.train_loss, np.diag(exact.train), rtol=1e-11)
    np.testing.assert_allclose(found.transfer(np.arange(1, 41)), exact.transfer.T, atol=1e-12)
    times = np.array([0.0, 0.1, 1.0, 2.5])
    flow = dmft.solve(SMALL, times, n_params, n_data, noise)
    test, train = exact.flow(times)
    np.testing.assert_allclose(flow.test_loss, test + noise**2, rtol=1e-11)
    np.testing.assert_allclose(flow.train_loss, train, rtol=1e-11)


@pytest.mark.parametrize(("rate", "momentum"), [pytest.param(0.2, 0.5, marks=pytest.mark.slow), (0.1, 0.9)])
def test_momentum_matches_the_time_by_time_recipe(rate, momentum):
    exact = direct_iteration.gradient_descent(SMALL, 50, 10, 20, 0.3, rate, momentum)
    found = dmft.solve(SMALL, np.arange(51), 10, 20, 0.3, dmft.GradientDescent(rate, momentum))
    np.testing.assert_allclose(found.test_loss, np.diag(exact.test) + 0.09, rtol=1e-11)
    np.testing.assert_allclose(found.train_loss, np.diag(exact.train), rtol=1e-11)


# --- closed forms --------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [0.3, 0.9, 3.0])
def test_white_features_follow_the_marchenko_pastur_law(ratio):
    """λ_k = 1, infinite data: the loss is the mean of e^{−2xt} over the spectrum of AᵀA/N."""
    low, high = (1 - ratio**-0.5) ** 2, (1 + ratio**-0.5) ** 2

    def integrand(angle, t):  # x from low to high; its density is ν/(2πx) √((high−x)(x−low))
        x = (low + high) / 2 - (high - low) / 2 * math.cos(angle)
        return ratio / (2 * math.pi * x) * ((high - low) / 2 * math.sin(angle)) ** 2 * math.exp(-2 * x * t)

    times = [0.0, 0.1, 1.0, 5.0, 40.0]
    bulk = [quad(integrand, 0, math.pi, args=(t,), epsabs=1e-14, epsrel=1e-13)[0] for t in times]
    found = dmft.solve(sl.Spectrum([1.0], [1.0]), times, n_params=ratio)
    np.testing.assert_allclose(found.test_loss, np.array(bulk) + max(0, 1 - ratio), rtol=1e-10)


@pytest.mark.parametrize(
    ("n_params", "n_data", "noise"),
    [
        (64, 128, 0.1),
        (128, 64, 0.3),
        (math.inf, 100, 0.1),
        (100, math.inf, 0.5),
        (100, 101, 0.0),
        (3, 1e5, 0.1),
    ],
)
def test_late_losses_reach_the_closed_form_of_the_end(n_params, n_data, noise):
    for n_modes in (10_000, 10**9):
        spectrum = sl.Spectrum.power_law(1.5, 1.25, n_modes)
        late = dmft.solve(spectrum, [1e9, 1e11], n_params, n_data, noise, ensemble=2, bags=3)
        end = dmft.final(spectrum, n_params, n_data, noise, ensemble=2, bags=3)
        for name in ("test_loss", "train_loss", "bias", "variance_params", "variance_data", "variance_both"):
            np.testing.assert_allclose(
                getattr(late, name)[1], getattr(end, name), rtol=1e-9, atol=1e-12, err_msg=name
            )


@pytest.mark.parametrize(
    "dynamics", [dmft.GradientDescent(0.3), dmft.GradientDescent(0.3, 0.9), dmft.GradientFlow(2.0)]
)
def test_every_dynamics_ends_where_gradient_flow_does(dynamics):
    late = dmft.solve(LARGE, [1e9, 1e11], 64, 128, 0.3, dynamics).test_loss
    np.testing.assert_allclose(late, dmft.final(LARGE, 64, 128, 0.3).test_loss, rtol=1e-11)


def test_without_bottleneck_every_mode_decays_alone():
    times = np.array([0.0, 1.0, 1e3, 1e9])
    found = dmft.solve(LARGE, times, noise=0.2)
    exact = (LARGE.target_power * np.exp(-2 * LARGE.eigenvalues * times[:, None])).sum(axis=1)
    np.testing.assert_allclose(found.test_loss, exact + 0.04, rtol=1e-12)
    np.testing.assert_allclose(found.train_loss, found.test_loss, rtol=1e-12)


def test_huge_sizes_approach_no_bottleneck():
    times = np.array([0.5, 30.0, 2e3])
    near = dmft.solve(LARGE, times, n_params=1e11, n_data=1e11, noise=0.2)
    np.testing.assert_allclose(near.test_loss, dmft.solve(LARGE, times, noise=0.2).test_loss, rtol=1e-6)


def test_a_small_ridge_approaches_the_end_and_a_large_one_learns_nothing():
    end, near = (dmft.final(LARGE, 64, 128, 0.1, ridge, ensemble=2, bags=3) for ridge in (0.0, 1e-9))
    assert asdict(near) == pytest.approx(asdict(end), rel=1e-5)
    nothing = dmft.final(LARGE, 64, 128, 0.1, ridge=1e9).test_loss
    assert nothing == pytest.approx(LARGE.total_power + 0.01, rel=1e-6)


@pytest.mark.parametrize("n_params", [40, 100, math.inf])
def test_where_every_mode_is_learnt_the_noise_alone_is_left_as_of_least_squares(n_params):
    """Least squares with p of n: the test loss is σ²/(1 − p/n), the train loss σ² (1 − p/n)."""
    found = dmft.final(SMALL, n_params, n_data=100, noise=0.5)
    assert found.test_loss == pytest.approx(0.25 / (1 - 40 / 100))
    assert found.train_loss == pytest.approx(0.25 * (1 - 40 / 100))


def test_as_many_features_as_examples_diverge_as_the_root_of_time():
    times = np.geomspace(1e6, 1e9, 4)
    loss = dmft.solve(LARGE, times, n_params=100, n_data=100, noise=0.1).test_loss
    np.testing.assert_allclose(np.diff(np.log10(loss)), 0.5, atol=0.004)
    assert dmft.final(LARGE, 100, 100, 0.1).test_loss == math.inf


# --- consistency ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_params", "n_data"),
    [pytest.param(64, 128, marks=pytest.mark.slow), (128, 64), (50, 50), (math.inf, 30)],
)
def test_the_two_contours_agree_where_both_apply(n_params, n_data):
    class Early(dmft.GradientFlow):
        def settled(self, time, largest):
            return False  # an ellipse around the whole spectrum for every time

    times = np.geomspace(20, 1000, 6)
    late = dmft.solve(LARGE, times, n_params, n_data, 0.2)
    early = dmft.solve(LARGE, times, n_params, n_data, 0.2, Early())
    np.testing.assert_allclose(late.test_loss, early.test_loss, rtol=1e-10)
    np.testing.assert_allclose(late.train_loss, early.train_loss, rtol=1e-8, atol=1e-10)


def test_times_may_come_in_any_order_and_shape():
    times = np.array([[1e4, 0.0], [3.0, 7e8]])
    found = dmft.solve(LARGE, times, 64, 128)
    one_by_one = [dmft.solve(LARGE, t, 64, 128).test_loss for t in times.ravel()]
    np.testing.assert_allclose(found.test_loss.ravel(), one_by_one, rtol=1e-11)
    assert found.test_loss.shape == (2, 2)


def test_the_gap_is_test_minus_train_loss():
    found = dmft.solve(LARGE, np.geomspace(0.01, 1e6, 9), 64, 128, 0.3)
    np.testing.assert_allclose(found.gap, found.test_loss - found.train_loss, rtol=1e-9)


def test_one_model_is_bias_and_three_variances():
    one = dmft.solve(LARGE, [5.0, 500.0], 64, 128, 0.3)
    parts = one.bias + one.variance_params + one.variance_data + one.variance_both + 0.09
    np.testing.assert_allclose(parts, one.test_loss, rtol=1e-12)
    many = dmft.solve(LARGE, [5.0, 500.0], 64, 128, 0.3, ensemble=math.inf, bags=math.inf)
    np.testing.assert_allclose(many.test_loss, one.bias + 0.09, rtol=1e-12)
    transfer = one.transfer(np.arange(1, LARGE.n_modes + 1))
    np.testing.assert_allclose((LARGE.target_power * transfer**2).sum(-1), one.bias, rtol=1e-11)


def test_small_learning_rates_and_momenta_approach_gradient_flow():
    flow = dmft.solve(LARGE, [2.0, 200.0], 64, 128).test_loss
    steps = dmft.solve(LARGE, [20_000, 2_000_000], 64, 128, dynamics=dmft.GradientDescent(1e-4)).test_loss
    heavy = dmft.solve(LARGE, [2.0, 200.0], 64, 128, dynamics=dmft.GradientFlow(1e-5)).test_loss
    np.testing.assert_allclose(steps, flow, rtol=1e-4)
    np.testing.assert_allclose(heavy, flow, rtol=1e-4)


def test_vanishing_losses_keep_their_relative_accuracy():
    """Train loss with more features than examples: e^{−2xt} of the slowest eigenvalue at late times."""
    times = np.array([40.0, 80.0, 120.0, 160.0])
    spectrum = sl.Spectrum([1.0], [1.0])
    train = dmft.solve(spectrum, times, n_params=math.inf, n_data=0.25).train_loss
    low, high = 1.0, 9.0  # of ΨΨᵀ/P with M = 4 P: (1 ± 2)²

    def integrand(angle, t):  # C₁ = (1/P) Σ x e^{−2xt} |u·w|² over the P eigenvalues x
        x = (low + high) / 2 - (high - low) / 2 * math.cos(angle)
        return ((high - low) / 2 * math.sin(angle)) ** 2 / (2 * math.pi) * math.exp(-2 * (x - low) * t)

    exact = [math.exp(-2 * low * t) * quad(integrand, 0, math.pi, args=(t,), epsrel=1e-12)[0] for t in times]
    shape = train / np.array(exact)
    np.testing.assert_allclose(shape, shape[0], rtol=1e-8)
    assert train[-1] < 1e-130


def test_a_learning_rate_beyond_the_edge_is_recorded_as_unstable():
    found = dmft.solve(LARGE, [0, 10, 10_000], 64, 128, dynamics=dmft.GradientDescent(2.0))
    assert not found.stable
    assert found.test_loss[1] > found.test_loss[0]
    assert found.test_loss[2] == math.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": [-1.0]}, "time -1.0"),
        ({"times": [math.inf]}, "final"),
        ({"n_params": 0}, "n_params = 0"),
        ({"noise": -1}, "noise = -1"),
        ({"ensemble": 0}, "ensemble = 0"),
        ({"times": [0.5], "dynamics": dmft.GradientDescent(0.1)}, "whole steps"),
        ({"dynamics": dmft.OnePassSGD(0.1, 8), "n_data": 10}, "batch_size"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, message):
    with pytest.raises(BadInput, match=message):
        dmft.solve(SMALL, **{"times": [1.0], **arguments})


def test_the_curves_carry_the_setting():
    curves = dmft.solve(LARGE, [1.0, 2.0], 64, 128, 0.1, dmft.GradientFlow(0.5)).curves()
    assert curves["n_params"].tolist() == [64, 64]
    assert curves["task_exponent"].tolist() == [1.5, 1.5]
    assert set(curves["source"]) == {"theory"}
    batches = dmft.solve(LARGE, [1.0], 64, 128, 0.1, dmft.MultiPassSGD(0.01, 4)).curves()
    assert {name: batches[name].tolist() for name in ("learning_rate", "batch_size")} == {
        "learning_rate": [0.01], "batch_size": [4]
    }  # fmt: skip


def random_problem(seed):
    """Any spectrum, any sizes, any stable dynamics."""
    rng = np.random.default_rng(seed)
    modes = int(10 ** rng.uniform(0, 3))
    spectrum = [
        sl.Spectrum.power_law(rng.uniform(1.1, 4), rng.uniform(0.5, 3), int(10 ** rng.uniform(0, 10))),
        sl.Spectrum(np.exp(rng.uniform(-12, 3, modes)), rng.exponential(size=modes)),
        sl.Spectrum(rng.uniform(0.5, 2, modes), rng.exponential(size=modes)),
    ][seed % 3]
    n_params = rng.choice([math.inf, 10 ** rng.uniform(-0.5, 5)])
    n_data = rng.choice([math.inf, 10 ** rng.uniform(-0.5, 5), n_params])
    top = System(spectrum.nodes(), 1 / n_params, 1 / n_data).largest_rate()
    momentum = rng.uniform(0, 0.8)
    dynamics = [
        dmft.GradientFlow(),
        dmft.GradientFlow(rng.uniform(0, 3) / top),
        dmft.GradientDescent(rng.uniform(0.05, 1.9) / top),
        dmft.GradientDescent(rng.uniform(0.05, 1.9) / top * (1 + momentum), momentum),
    ][rng.integers(4)]
    times = np.array([0, 1, 3, 20, 150, 2000, 1e5, 1e8])
    return (
        spectrum,
        times if dynamics.discrete else times / top,
        n_params,
        n_data,
        rng.choice([0, 0.3]),
        dynamics,
    )


@pytest.mark.parametrize("first", [0, pytest.param(12, marks=pytest.mark.slow)])
def test_any_problem_is_solved_and_its_losses_are_ordered(first):
    for seed in range(first, first + 12):
        problem = random_problem(seed)
        spectrum, noise = problem[0], problem[4]
        found = dmft.solve(*problem)
        start, small = spectrum.total_power + noise**2, 1e-9 * (spectrum.total_power + noise**2)
        assert np.all(np.isfinite(found.test_loss)), problem
        assert found.test_loss[0] == pytest.approx(start, rel=1e-10), problem
        assert np.all(found.bias >= 0), problem
        assert np.all(found.bias <= found.test_loss - noise**2 + small), problem
        for name in ("train_loss", "variance_params", "variance_data", "variance_both"):
            assert np.all(getattr(found, name) >= -small * np.maximum(1, found.test_loss)), (name, problem)
