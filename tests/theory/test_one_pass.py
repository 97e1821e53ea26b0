"""One-pass training against whole covariances, mean-field theory and simulations with error bars."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scalinglab.errors import BadInput
from scalinglab.simulate.random_features import sign_descent as simulated_signs
from scalinglab.simulate.random_features import train
from scalinglab.spectrum import Spectrum
from scalinglab.theory import dmft, one_pass
from scalinglab.theory.one_pass import moments, phases

SMALL = Spectrum.power_law(1.8, 1.3, 12)
OPTIMIZERS = (
    one_pass.OnePassSGD(0.15, 2),
    one_pass.HeavyBall(0.04, 2, 0.7),
    one_pass.AdaptedMomentum(0.1, 2, 0.05, decay=0.5, memory=4),
)


def covariances(optimizer, steps: int, n_params: int, seed: int, noise: float) -> np.ndarray:
    """Losses from the whole covariance of weights and running means: no eigenvectors, no compression."""
    values, power = SMALL.eigenvalues, SMALL.target_power
    a = np.random.default_rng(seed).standard_normal((n_params, len(values))) / math.sqrt(n_params)
    push, covariance = a.T @ a, np.diag(values)
    size = len(values)
    start = np.sqrt(power / values)
    second = np.zeros((2 * size, 2 * size))
    second[:size, :size] = np.outer(start, start)
    found = []
    for t in range(steps + 1):
        own = second[:size, :size]
        loss = float(np.trace(covariance @ own)) + noise**2
        found.append(loss)
        short, long, forget = optimizer.coefficients(t)
        drift, one = push @ covariance, np.eye(size)
        h, m = short + long, 1 - forget
        matrix = np.block([[one - h * drift, -long * m * one], [drift, m * one]])
        spread = push @ (loss * covariance + covariance @ own @ covariance) @ push / optimizer.batch_size
        gain = np.block([[h * h * spread, -h * spread], [-h * spread, spread]])
        second = matrix @ second @ matrix.T + gain
    return np.array(found)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_losses_are_those_of_whole_covariances(optimizer) -> None:
    expected = covariances(optimizer, 60, 7, 3, 0.2)
    features = one_pass.drawn_modes(SMALL, 7, 3)
    found = one_pass.solve(SMALL, np.arange(61), optimizer, 7, 0.2, features=features)
    np.testing.assert_allclose(found.test_loss, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("spectral", "modes_", "n_params"),
    [(1.5, 10**9, 50), (0.7, 400, 100), pytest.param(1.2, 30, 60, marks=pytest.mark.slow)],
)
def test_contour_is_the_drift_of_mean_field_theory(spectral: float, modes_: int, n_params: int) -> None:
    spectrum = Spectrum.power_law(2.0, spectral, modes_)
    rate, steps = 0.5 / spectrum.trace, np.array([0, 1, 30, 1000, 10**6])
    expected = dmft.solve(spectrum, steps, n_params, dynamics=dmft.GradientDescent(rate)).test_loss
    quiet = one_pass.OnePassSGD(rate, 1e15)  # batches without noise
    found = one_pass.solve(spectrum, steps, quiet, n_params).test_loss
    # a power law of 30 modes and 60 features is learnt exponentially: the sum ends at its round-off
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-8)


def test_mean_field_theory_is_the_limit_without_a_modes_own_noise() -> None:
    spectrum = Spectrum.power_law(2.5, 1.5, 1000)
    expected = dmft.one_pass(spectrum, np.full(150, 0.2), 1, n_params=100, noise=0.1).test_loss
    sgd = one_pass.OnePassSGD(0.2, 1)
    found = one_pass.solve(spectrum, np.arange(151), sgd, 100, 0.1, mean_field=True).test_loss
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.nightly
def test_late_steps_agree_with_the_panels_of_mean_field_theory() -> None:
    spectrum, sgd = Spectrum.power_law(2.5, 1.5, 10**9), one_pass.OnePassSGD(0.2, 1)
    steps = np.round(np.geomspace(1e2, 1e5, 4))
    expected = dmft.solve(spectrum, steps, 1000, dynamics=sgd).test_loss
    found = one_pass.solve(spectrum, steps, sgd, 1000, mean_field=True).test_loss
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize(
    "optimizer", [OPTIMIZERS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in OPTIMIZERS[1:])]
)
def test_late_steps_continue_the_recursion(optimizer) -> None:
    steps = np.array([moments.DIRECT - 48, moments.DIRECT + 452, 2 * moments.DIRECT])
    found = one_pass.solve(SMALL, steps, optimizer, 7, 0.2, features=one_pass.drawn_modes(SMALL, 7, 3))
    expected = covariances(optimizer, int(steps[-1]), 7, 3, 0.2)[steps]
    np.testing.assert_allclose(found.test_loss, expected, rtol=2e-6)


@pytest.mark.parametrize("optimizer", [one_pass.OnePassSGD(0.15, 1), OPTIMIZERS[2]])
def test_simulation(optimizer) -> None:
    spectrum, steps = Spectrum.power_law(1.8, 1.3, 40), np.array([5, 15, 30])
    table = train(spectrum, steps, dynamics=optimizer, noise=0.3, draws=1000, seed=5)
    mean = table.average("seed").frame.sort_values("time")
    error = mean["test_loss_stderr"].to_numpy()
    exact = one_pass.solve(spectrum, steps, optimizer, noise=0.3).test_loss
    assert np.all(np.abs(mean["test_loss"].to_numpy() - exact) < 4 * error)
    assert np.all(error < 0.015 * exact)


def test_divergence_is_recorded() -> None:
    found = one_pass.solve(SMALL, [0, 5, 100_000], one_pass.OnePassSGD(1.5, 1)).test_loss
    assert np.isfinite(found[:2]).all()
    assert found[2] == math.inf


def test_long_memory_needs_a_draw_of_features() -> None:
    with pytest.raises(BadInput, match="drawn_modes"):
        one_pass.solve(SMALL, [10], OPTIMIZERS[1], n_params=100)
    with pytest.raises(BadInput, match="n_params"):
        one_pass.solve(SMALL, [10], OPTIMIZERS[0], n_params=0)
    with pytest.raises(BadInput, match="noise"):
        one_pass.solve(SMALL, [10], OPTIMIZERS[0], noise=-1)
    for wrong in ({"long_rate": -1}, {"memory": 0.5}, {"batch_size": 0}):
        with pytest.raises(BadInput, match=next(iter(wrong))):
            one_pass.AdaptedMomentum(
                **{"learning_rate": 0.1, "batch_size": 1, "long_rate": 0, "decay": 0, **wrong}
            )
    with pytest.raises(BadInput, match="momentum"):
        one_pass.HeavyBall(0.1, 1, 1.0)


def test_curves_hold_the_setting() -> None:
    frame = one_pass.solve(SMALL, [1, 10], OPTIMIZERS[0]).curves().frame
    assert list(frame["time"]) == [1, 10]
    assert set(frame["learning_rate"]) == {0.15}
    assert set(frame["spectral_exponent"]) == {1.3}


def printed(alpha: float, beta: float) -> dict[str, tuple[float, float]]:
    """Exponents of the loss and of the size in every phase, as in table 2 of arXiv 2405.15074."""
    a, b = alpha, beta
    power = 2 * a + 2 * b - 1
    return {
        "Ia": (power / (2 * a + 1), 1 / (2 * a + 1)),
        "Ib": (a + b - 0.5, 0.5),
        "Ic": (a * power / (3 * a + 2 * b - 1 - 2 * a * b), power / (2 * (3 * a + 2 * b - 1 - 2 * a * b))),
        "II": (power / (2 * (a + b)), b / (a + b)),
        "III": ((4 * a - 1) / (4 * a), 0.5),
        "IVa": (a, 0.5),
        "IVb": ((1 - 2 * a) * power / (2 * (2 * b - a - 2 * a * b)), (b - a) / (2 * b - a - 2 * a * b)),
    }


@pytest.mark.parametrize(
    ("name", "alpha", "beta"),
    [("Ia", 0.8, 0.3), ("Ia", 1.4, -0.2), ("Ib", 0.35, 0.35), ("Ib", 0.2, 0.4), ("Ic", 0.2, 0.9),
     ("II", 1.0, 0.7), ("III", 0.7, 1.2), ("IVa", 0.4, 0.9), ("IVb", 0.27, 0.9)],
)  # fmt: skip
def test_phases_and_their_exponents(name: str, alpha: float, beta: float) -> None:
    found = phases.phase(alpha, beta)
    assert found.name == name
    assert (found.loss, found.size) == pytest.approx(printed(alpha, beta)[name], rel=1e-9)


@pytest.mark.parametrize(
    ("line", "low", "high", "expected"),
    [(lambda x: (x, 0.3), 0.3, 0.9, 0.5), (lambda x: (0.8, x), 0.3, 0.7, 0.5),
     (lambda x: (1.0, x), 0.6, 1.8, 1.0), (lambda x: (x, 1.5), 0.4, 0.6, 0.5),
     (lambda x: (0.4, x), 0.3, 0.9, 0.5), (lambda x: (0.2, x), 0.35, 0.9, 0.5),
     (lambda x: (x, 0.9), 0.27, 0.4, 1 - 1 / math.sqrt(2)), (lambda x: (x, 0.9), 0.2, 0.28, 0.25)],
)  # fmt: skip
def test_boundaries_of_phases(line, low: float, high: float, expected: float) -> None:
    near = [phases.phase(*line(x)).name for x in (low, expected - 1e-6, expected + 1e-6, high)]
    assert near[0] == near[1] != near[2] == near[3]


def test_no_phase_without_a_finite_target() -> None:
    with pytest.raises(BadInput, match="alpha \\+ beta"):
        phases.phase(0.2, 0.2)


@pytest.mark.parametrize("batch", [math.nan, 0.0, -1.0])
def test_the_stable_rate_of_no_batch_is_refused(batch: float) -> None:
    with pytest.raises(BadInput, match="batch_size"):
        phases.stable_rate(SMALL, batch)


@pytest.mark.nightly  # the record of theory/phases has the exponents of another phase
def test_frontier_has_the_exponents_of_its_phase() -> None:
    found = phases.compute_optimal(0.8, 0.3, [1e9, 1e11])
    expected = phases.phase(0.8, 0.3)
    loss, size, _ = found.local_exponents()
    assert (loss[0], size[0]) == pytest.approx((expected.loss, expected.size), rel=0.02)


@pytest.mark.parametrize(
    ("exponents", "n_params"), [((1.8, 1.3), math.inf), pytest.param((1.5, 0.6), 40, marks=pytest.mark.slow)]
)
def test_sign_descent_against_drawn_examples(exponents: tuple[float, float], n_params: float) -> None:
    spectrum, rate, noise = Spectrum.power_law(*exponents, 60), 0.004, 1.5
    drawn = simulated_signs(spectrum, [100, 400], rate, noise, n_params, draws=200).average("seed").frame
    found = one_pass.sign_descent(spectrum, [100, 400], rate, noise, n_params)
    # the arcsin of correlations is above its argument, by up to 4 % of the rates of the first modes
    error = drawn["test_loss_stderr"].to_numpy()
    assert np.all(np.abs(drawn["test_loss"].to_numpy() - found) < 4 * error + 0.02 * (found - noise**2))
    assert np.all(found < one_pass.sign_descent(spectrum, [50, 200], rate, noise, n_params))


def test_sign_descent_on_features_is_a_flow_at_first_and_ends_at_its_floor() -> None:
    spectrum, size, noise = Spectrum.power_law(1.8, 0.7, 500), 50, 30.0
    deviation = math.sqrt(spectrum.trace / size)
    steps = np.array([1e5, 1e6, 1e7])
    flow = dmft.solve(spectrum, 2e-7 * steps / (math.pi * deviation * noise), size).test_loss
    found = one_pass.sign_descent(spectrum, steps, 1e-7, noise, size) - noise**2
    np.testing.assert_allclose(found, flow, rtol=3e-3)  # L/2σ² of the rate
    end = one_pass.sign_descent(spectrum, 1e9, 1e-3, 1.0, size)
    floor = math.pi / 4 * 1e-3 * math.sqrt(size * spectrum.trace * end)
    assert end == pytest.approx(1 + dmft.final(spectrum, size).test_loss + floor, rel=1e-6)
    assert one_pass.sign_descent(spectrum, 0, 1e-3, 1.0, size) == pytest.approx(
        1 + spectrum.target_power.sum()
    )


def test_the_first_step_of_sign_descent_takes_what_its_rates_say() -> None:
    spectrum, rate = Spectrum.power_law(1.9, 3.0, 40), 1e-6
    start, after = one_pass.sign_descent(spectrum, [0, 1], rate, 1.0)
    pull = 4 * rate / math.pi * np.sqrt(spectrum.eigenvalues) / math.sqrt(start)
    assert start - after == pytest.approx(float(pull @ spectrum.target_power), rel=1e-3)


def test_sign_descent_on_features_has_the_exponent_of_sgd() -> None:
    spectrum = Spectrum.power_law(1.9, 1.5, 10**12)
    losses = one_pass.sign_descent(spectrum, [1e12, 1e13], 1e-12, 1.0, 1e6) - 1
    assert np.log10(losses[0] / losses[1]) == pytest.approx(0.9 / 1.5, rel=0.02)


def test_sign_descent_has_twice_the_exponent_of_sgd_and_a_floor() -> None:
    spectrum, rate = Spectrum.power_law(1.9, 3.0, 10**9), 1e-12
    losses = one_pass.sign_descent(spectrum, [1e15, 1e16], rate, 1.0) - 1
    assert np.log10(losses[0] / losses[1]) == pytest.approx(2 * 0.9 / 3.0, rel=0.02)
    few = Spectrum.power_law(1.9, 3.0, 40)
    floor = math.pi / 4 * 1e-4 * np.sqrt(few.eigenvalues).sum()
    assert one_pass.sign_descent(few, 10**8, 1e-4, 1.0) - 1 == pytest.approx(floor, rel=1e-3)
    bright = Spectrum(4 * few.eigenvalues, few.target_power)
    highest = math.pi / 8 * 0.5 / 2  # 4 η √λ / (π σ) = 1/2 at λ = 4, σ = 0.5
    assert one_pass.sign_descent(bright, 1, 0.999 * highest, 0.5) > 0.25
    with pytest.raises(BadInput, match="small"):
        one_pass.sign_descent(bright, 1, 1.001 * highest, 0.5)
