"""Spectra measured on kernels: modes, tails and cumulative power."""

from functools import cache

import numpy as np
import pytest

from scalinglab import Spectrum
from scalinglab.errors import BadInput
from scalinglab.spectrum import CompletedSpectrum
from scalinglab.spectrum.samples import leakage
from scalinglab.theory import dmft, infinite_width, kernel


def test_white_spectrum_is_flat():
    spectrum = Spectrum.white(7, eigenvalue=2.0, target_power=0.5)
    assert spectrum.trace == pytest.approx(14)
    assert spectrum.total_power == pytest.approx(3.5)


def test_kernel_spectrum_holds_the_mean_square_of_the_targets():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 5)), rng.normal(size=(40, 3))
    matrix = infinite_width.ntk(x, depth=2)
    spectrum = Spectrum.from_kernel(matrix, y)
    assert spectrum.total_power == pytest.approx((y**2).sum() / 40)
    assert spectrum.trace == pytest.approx(np.trace(matrix) / 40)
    assert (np.diff(spectrum.eigenvalues) <= 0).all()
    assert spectrum.n_modes == 40


def test_modes_without_information_are_dropped():
    features = np.random.default_rng(0).normal(size=(30, 4))
    y = features @ np.arange(4.0)
    spectrum = Spectrum.from_kernel(features @ features.T, y)
    assert spectrum.n_modes == 4
    assert spectrum.total_power == pytest.approx((y**2).mean())


def test_targets_of_zero_have_no_power_and_no_loss():
    x = np.random.default_rng(0).normal(size=(100, 6))
    spectrum = Spectrum.from_kernel(infinite_width.ntk(x, depth=2), np.zeros(100))
    assert spectrum.unresolved_eigenvalue > 0, "not all modes are resolved"
    values, power = spectrum.population()
    assert (values > 0).all()
    assert (power == 0).all()
    assert spectrum.completed().total_power == 0
    first, *exponents = spectrum.summary().splitlines()
    assert first.endswith("the targets are all zero")
    assert [line[0] for line in exponents] == ["b"], "the targets have no exponent"
    assert "nan" not in spectrum.summary()


def test_measured_spectrum_predicts_kernel_regression_on_the_same_inputs():
    """Real data in small: the theory on the measured spectrum against fits on random subsets (60 draws)."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 6))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.tanh(3 * x[:, 0]) + x[:, 1] * x[:, 2]
    matrix = infinite_width.nngp(x, depth=1, bias_variance=0.1)
    predicted = kernel.learning_curve(Spectrum.from_kernel(matrix, y), 60, ridge=0.01).loss
    losses = []
    for _ in range(60):
        train = rng.choice(600, 60, replace=False)
        inner = matrix[np.ix_(train, train)] + 0.01 * np.eye(60)
        losses.append(np.mean((matrix[:, train] @ np.linalg.solve(inner, y[train]) - y) ** 2))
    error = np.std(losses, ddof=1) / np.sqrt(60)
    assert error < 0.05 * predicted
    assert np.mean(losses) == pytest.approx(float(predicted), abs=3 * error + 0.1 * predicted)


def test_tail_exponents_cover_the_truth_and_widen_with_noise():
    k = np.arange(1, 20_001.0)
    rng = np.random.default_rng(0)
    clean = Spectrum(k**-1.4, k**-1.9)
    assert clean.tail_exponent().value == pytest.approx(1.4, abs=1e-3)
    rough = Spectrum(
        np.sort(k**-1.4 * np.exp(0.3 * rng.normal(size=20_000)))[::-1], k**-1.9 * rng.chisquare(1, 20_000)
    )
    found = rough.tail_exponent()
    assert found.low < 1.4 < found.high
    assert found.high - found.low < 0.2
    # the missing modes steepen the sums a little: within 1/10 of the modes they matter by a few per cent
    assert rough.tail_exponent("target_power", window=(20, 200)).value == pytest.approx(1.9, abs=0.1)
    law = Spectrum.power_law(1.9, 1.4, n_modes=10**9)
    assert law.tail_exponent().value == 1.4
    assert law.tail_exponent("target_power").value == 1.9


def test_cumulative_power_of_a_billion_modes_agrees_with_direct_sums():
    k = np.array([0, 1, 10, 1000])
    explicit = Spectrum(np.arange(1, 1001) ** -1.3, np.arange(1, 1001) ** -1.8)
    law = Spectrum.power_law(1.8, 1.3, n_modes=1000)
    np.testing.assert_allclose(law.cumulative_power(k), explicit.cumulative_power(k), rtol=1e-12)
    assert explicit.cumulative_power(1000) == pytest.approx(1)
    assert Spectrum.power_law(2.0, 1.3, n_modes=10**9).cumulative_power(1) == pytest.approx(6 / np.pi**2)


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="not symmetric"):
        Spectrum.from_kernel(np.triu(np.ones((3, 3))), np.ones(3))
    with pytest.raises(BadInput, match=r"\(3, 3\).*\(4,\)"):
        Spectrum.from_kernel(np.eye(3), np.ones(4))
    with pytest.raises(BadInput, match="'target_power'"):
        Spectrum.power_law().tail_exponent("target_pwer")
    with pytest.raises(BadInput, match="at least 7"):
        Spectrum.white(100).tail_exponent(window=(3, 5))
    with pytest.raises(BadInput, match="whole numbers from 0"):
        Spectrum.white(10).cumulative_power(11)


# --- from a sample to the population ---------------------------------------------------------------------

TASK, SPECTRAL, SAMPLE, MODES = 1.8, 1.5, 800, 20_000


def sampled(seed, n=SAMPLE):
    """A kernel matrix and targets of Gaussian features with power laws of known exponents."""
    rng, k = np.random.default_rng(seed), np.arange(1, MODES + 1.0)
    features = rng.normal(size=(n, MODES))
    weights = k ** (-TASK / 2) * rng.choice([-1, 1], MODES)
    targets = features @ weights
    features *= k ** (-SPECTRAL / 2)
    return features @ features.T, targets  # a product with itself: half the operations


@cache
def measured_on(seed):
    """The spectrum of a sample, the same in all tests."""
    return Spectrum.from_kernel(*sampled(seed))


@pytest.mark.nightly
def test_completed_spectrum_predicts_the_population_for_as_many_examples_as_were_sampled():
    k = np.arange(1, MODES + 1.0)
    sizes = np.array([10, 50, 200, 400, 800])
    truth = kernel.learning_curve(Spectrum(k**-SPECTRAL, k**-TASK), sizes).loss
    measured = [measured_on(seed) for seed in range(3)]
    completed = [m.completed() for m in measured]
    ratio = np.mean([kernel.learning_curve(c, sizes).loss / truth for c in completed], axis=0)
    np.testing.assert_allclose(ratio, 1, atol=0.12)
    raw = (
        kernel.learning_curve(Spectrum(measured[0].eigenvalues, measured[0].target_power), sizes).loss / truth
    )
    assert raw[-2] < 0.6  # what the sample alone says for half as many examples
    assert np.mean([c.spectral_exponent for c in completed]) == pytest.approx(SPECTRAL, abs=0.1)
    assert np.mean([c.task_exponent for c in completed]) == pytest.approx(TASK, abs=0.1)
    for m, c in zip(measured, completed, strict=True):
        assert c.total_power == pytest.approx(m.mean_square)
        assert m.tail_exponent().value == pytest.approx(SPECTRAL, abs=0.1)
        assert m.tail_exponent("target_power").value == pytest.approx(TASK, abs=0.15)


def test_left_out_loss_is_that_of_fits_without_the_input():
    matrix, y = sampled(0, n=60)
    found = Spectrum.from_kernel(matrix, y)
    losses = []
    for i in range(60):
        others = np.arange(60) != i
        solved = np.linalg.solve(matrix[np.ix_(others, others)], y[others])
        losses.append((matrix[i, others] @ solved - y[i]) ** 2)
    assert found.left_out_loss == pytest.approx(np.mean(losses))


def test_more_examples_than_a_quarter_of_the_sample_are_refused():
    found = Spectrum.from_kernel(*sampled(0, n=100))
    kernel.learning_curve(found, 25)
    with pytest.raises(BadInput, match=r"25 examples.*120 inputs"):
        kernel.learning_curve(found, [10, 30])
    with pytest.raises(BadInput, match=r"completed\(\)"):
        dmft.solve(found, [1.0], n_data=30)
    assert kernel.learning_curve(found.completed(), 30).loss > 0
    assert dmft.solve(found.completed(), [1.0], n_data=30).test_loss > 0


def test_the_tail_of_a_completed_spectrum_holds_the_power_that_is_left():
    k = np.arange(1, 21.0)
    spectrum = CompletedSpectrum(k**-1.5, k**-2.5, 1.5, 2.5, power_left=0.03)
    beyond = sum(spectrum.mode(int(one))[1] for one in range(21, 3000))
    assert beyond == pytest.approx(0.03, rel=2e-3)  # to k = 3000 all but 5e-4 of it
    assert spectrum.mode(200)[0] == pytest.approx(200**-1.5)


@pytest.mark.slow
def test_modes_of_a_completed_spectrum_continue_without_a_step():
    spectrum = measured_on(0).completed()
    last, first = spectrum.mode(spectrum.resolved)[0], spectrum.mode(spectrum.resolved + 1)[0]
    assert first == pytest.approx(last, rel=0.2)
    share = spectrum.cumulative_power(np.array([10, spectrum.resolved, 10**6, spectrum.n_modes]))
    assert (np.diff(share) > 0).all()
    assert share[-1] == pytest.approx(1, abs=1e-3)
    with pytest.raises(BadInput, match="nodes"):
        _ = spectrum.eigenvalues


@pytest.mark.slow
def test_summary_gives_exponents_with_intervals():
    text = measured_on(0).summary()
    assert "kernel on 800 inputs: 100 modes resolved" in text
    assert "b, λ_k ~ k^-b: 1." in text


# --- corrections and intervals of exponents ----------------------------------------------------------------

FEW = np.arange(1, 1025.0)  # modes of a small population, λ_k = λ_k w_k² = k^-1.5


@pytest.fixture(scope="module")
def small_samples():
    """Spectra measured on 60 samples of 128 inputs with Gaussian features."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng([3, seed])
        features = rng.standard_normal((128, len(FEW)), dtype=np.float32)
        weights = (FEW**-0.75 * rng.choice([-1, 1], len(FEW))).astype(np.float32)
        kernel = ((features * (FEW**-1.5).astype(np.float32)) @ features.T).astype(float)
        found.append(Spectrum.from_kernel((kernel + kernel.T) / 2, (features @ weights).astype(float)))
    return found


@pytest.mark.parametrize(("task", "spectral"), [(1.05, 1.5), (1.5, 1.5), (1.3, 2.0), (2.0, 1.5), (2.5, 1.6)])
def test_leakage_is_the_double_sum_of_perturbation_theory(task, spectral):
    k, last = np.arange(1, 40_001.0), 200
    values, power = k**-spectral, k**-task
    total = sum(
        ((one**2 * power[last:] - values[last:] ** 2 * held) / (one - values[last:]) ** 2).sum()
        for one, held in zip(values[:last], power[:last])
    )
    tail = power[last:].sum() + k[-1] ** (1 - task) / (task - 1)
    beyond = last * k[-1] ** (1 - task) / (task - 1)  # of modes that are not in the sum, far from the first
    assert leakage(task, spectral) == pytest.approx((total + beyond) / (last * tail), rel=0.02)


def test_power_beyond_a_mode_is_that_of_the_population(small_samples):
    """Means over samples are known to 1.6 %; that at mode 16 of 128 inputs is 13 % short as it is sampled."""
    truth = np.array([(FEW[k:] ** -1.5).sum() for k in (10, 16)])
    found, shown = (
        np.mean([one.mean_square - np.cumsum(power(one))[[9, 15]] for one in small_samples], axis=0) / truth
        for power in (lambda one: one.population()[1], lambda one: one.target_power)
    )
    np.testing.assert_allclose(found, 1, atol=0.05)
    assert shown[1] < 0.9


@pytest.mark.slow
def test_standard_errors_of_exponents_are_their_scatter_over_samples(small_samples):
    """60 samples: the scatter is known to 9 %, the mean error to 2 %."""
    for of in ("eigenvalues", "target_power"):
        found = [one.tail_exponent(of, window=(2, 16)) for one in small_samples]
        scatter = np.std([one.value for one in found], ddof=1)
        claimed = np.sqrt(np.mean([one.stderr**2 for one in found]))
        assert claimed == pytest.approx(scatter, rel=0.25)
        truth = Spectrum(FEW**-1.5, FEW**-1.5).tail_exponent(of, window=(2, 16)).value
        assert np.mean([one.value for one in found]) == pytest.approx(truth, abs=3 * scatter / 60**0.5)
