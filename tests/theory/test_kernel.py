"""Learning curves of kernel regression against exact arithmetic, closed forms, limits and simulation."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalinglab import Spectrum
from scalinglab.errors import BadInput, NotConverged
from scalinglab.theory import kernel
from tests.properties import examples


def in_fifty_digits(eigenvalues, power, n, ridge=0.0, noise=0.0):
    """Eq. S12 with a ridge and noise, solved by bisection in 50 digits: loss, κ, γ."""
    with mpmath.workdps(50):
        lam = [mpmath.mpf(float(v)) for v in eigenvalues]
        tp = [mpmath.mpf(float(v)) for v in power]
        n, ridge, noise = mpmath.mpf(n), mpmath.mpf(ridge), mpmath.mpf(noise)

        low, high = mpmath.mpf(-200), mpmath.mpf(50)  # of log κ
        for _ in range(190):
            kappa = mpmath.e ** ((low + high) / 2)
            above = 1 - ridge / kappa > sum(v / (kappa + n * v) for v in lam)
            low, high = (low, mpmath.log(kappa)) if above else (mpmath.log(kappa), high)
        gamma = sum(n * v**2 / (kappa + n * v) ** 2 for v in lam)
        bias = sum(p * kappa**2 / (kappa + n * v) ** 2 for p, v in zip(tp, lam))
        return float((bias + noise**2) / (1 - gamma)), float(kappa), float(gamma)


@pytest.mark.parametrize(
    ("n", "ridge", "noise"),
    [(55, 0, 0.3), pytest.param(119, 0, 0.1, marks=pytest.mark.slow), (500, 0.7, 0.2)],
)
def test_curve_agrees_with_fifty_digit_arithmetic_to_1e_10(n, ridge, noise):
    rng = np.random.default_rng(0)
    eigenvalues = np.sort(rng.pareto(0.7, 120))[::-1] + 1e-3
    power = eigenvalues * rng.normal(size=120) ** 2
    found = kernel.learning_curve(Spectrum(eigenvalues, power), n, ridge, noise)
    loss, kappa, gamma = in_fifty_digits(eigenvalues, power, n, ridge, noise)
    assert found.loss == pytest.approx(loss, rel=1e-10)
    assert found.kappa == pytest.approx(kappa, rel=1e-10)
    assert found.gamma == pytest.approx(gamma, rel=1e-10)


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_compressed_spectrum_agrees_with_the_sum_over_a_million_modes(noise):
    spectrum = Spectrum.power_law(1.7, 1.3, n_modes=10**6)
    n_data = np.array([1.0, 30.0, 1e3, 1e5, 9e5, 999_999.0])
    found = kernel.learning_curve(spectrum, n_data, noise=noise)
    lam, power = spectrum.eigenvalues, spectrum.target_power
    for n, kappa, loss in zip(n_data, found.kappa, found.loss):
        share = kappa / (kappa + n * lam)
        if n < 9.5e5:
            assert (1 - share).sum() == pytest.approx(n, rel=1e-10)  # κ = Σ κλ/(κ + nλ)
        else:
            assert share.sum() == pytest.approx(10**6 - n, rel=1e-10)
        free = ((1 - share) * share).sum() / n
        assert loss == pytest.approx(((power * share**2).sum() + noise**2) / free, rel=1e-10)


def test_a_billion_examples_of_a_billion_modes():
    """κ = L exactly for constant w², at every size up to 1e9 (the fixed point and the loss meet)."""
    spectrum = Spectrum.power_law(1.4, 1.4, n_modes=10**9)
    found = kernel.learning_curve(spectrum, np.append(np.geomspace(1, 9e8, 40), 10**9 - 1))
    np.testing.assert_allclose(found.loss, found.kappa, rtol=1e-10)
    assert (np.diff(found.loss) < 0).all()


@pytest.mark.parametrize(("a", "b"), [(1.5, 1.5), (1.5, 1.25), (2.5, 1.6), (4.5, 1.3)])
def test_asymptotic_law_with_its_constant(a, b):
    """The curve approaches c·n^-α from both branches (a below and above 2b + 1)."""
    law = kernel.asymptotic_law(a, b)
    spectrum = Spectrum.power_law(a, b, n_modes=10**40)
    n = np.array([1e3, 1e4, 1e5])
    away = np.abs(kernel.learning_curve(spectrum, n).loss / law.predict(n) - 1)
    assert (np.diff(away) < 0).all()
    assert away[-1] < 2e-3
    assert law.exponent == pytest.approx(min(a - 1, 2 * b))


def test_noise_ends_in_a_plateau_of_b_sigma_squared():
    law = kernel.asymptotic_law(1.8, 1.5, noise=0.3)
    loss = kernel.learning_curve(Spectrum.power_law(1.8, 1.5, n_modes=10**40), 1e7, noise=0.3).loss
    assert law.offset == pytest.approx(1.5 * 0.09)
    assert loss == pytest.approx(float(law.predict(1e7)), rel=1e-4)


def test_white_spectrum_has_its_elementary_double_descent():
    """(1 − n/M) w² + σ²/(1 − n/M) below n = M, σ²/(1 − M/n) above, infinite at n = M."""
    spectrum = Spectrum(np.full(50, 0.02), np.full(50, 0.02))
    n = np.array([1.0, 10, 30, 49, 51, 80, 500])
    found = kernel.learning_curve(spectrum, n, noise=0.3)
    below = (1 - n / 50) + 0.09 / np.abs(1 - n / 50)
    expected = np.where(n < 50, below, 0.09 / (1 - 50 / np.maximum(n, 51)))
    np.testing.assert_allclose(found.loss, expected, rtol=1e-12)
    assert np.isinf(kernel.learning_curve(spectrum, 50, noise=0.3).loss)
    curve = kernel.learning_curve(spectrum, np.arange(1, 120), noise=0.3)
    assert curve.peaks().tolist() == [50]


def test_two_levels_far_apart_descend_three_times():
    """A peak where each level is exhausted: multiple descent."""
    lam = np.r_[np.ones(30), np.full(300, 1e-6)]
    curve = kernel.learning_curve(Spectrum(lam, lam), np.arange(5, 600), noise=0.2)
    first, second = curve.peaks()
    assert abs(first - 30) <= 2
    assert second == 330


@pytest.mark.slow
def test_theory_lies_within_the_error_bars_of_simulated_kernel_regression():
    """Gaussian features, 400 draws: loss and single modes, with ridge and noise."""
    rng = np.random.default_rng(2)
    modes, noise, draws = 60, 0.3, 400
    lam = np.arange(1, modes + 1.0) ** -1.5
    weights = rng.normal(size=modes)
    spectrum = Spectrum(lam, lam * weights**2)
    for n, ridge in ((20, 0.0), (20, 0.5), (150, 0.5)):
        x = rng.normal(size=(draws, n, modes)) * np.sqrt(lam)
        y = x @ weights + noise * rng.normal(size=(draws, n))
        gram = x @ x.transpose(0, 2, 1) + ridge * np.eye(n)
        fitted = np.einsum("dnm,dn->dm", x, np.linalg.solve(gram, y[..., None])[..., 0])
        error = lam * (weights - fitted) ** 2
        found = kernel.learning_curve(spectrum, n, ridge, noise)
        total = error.sum(1) + noise**2
        spread = total.std(ddof=1) / np.sqrt(draws)
        assert spread < 0.02 * found.loss  # the test has power
        assert total.mean() == pytest.approx(float(found.loss), abs=3 * spread + 0.015 * found.loss)
        for k in (0, 3, 20):
            spread = error[:, k].std(ddof=1) / np.sqrt(draws)
            assert error[:, k].mean() == pytest.approx(
                found.mode_loss[k], abs=4 * spread + 0.03 * found.mode_loss[k]
            )
            assert found.loss_of_mode(k + 1) == pytest.approx(found.mode_loss[k], rel=1e-12)


@examples(40)
@given(
    a=st.floats(1.05, 4),
    b=st.floats(1.05, 3),
    n=st.floats(0, 400),
    ridge=st.sampled_from([0.0, 1e-6, 0.1, 10.0]),
    noise=st.floats(0, 1),
)
def test_modes_and_noise_sum_to_the_loss(a, b, n, ridge, noise):
    found = kernel.learning_curve(Spectrum.power_law(a, b, n_modes=200), n, ridge, noise)
    if np.isfinite(found.loss) and abs(n - 200) > 1e-6:
        assert found.mode_loss.sum() + noise**2 == pytest.approx(float(found.loss), rel=1e-9)


def test_best_ridge_is_the_noise_to_signal_ratio_for_constant_weights():
    spectrum = Spectrum(np.arange(1, 301) ** -1.5, 4 * np.arange(1, 301) ** -1.5)  # w² = 4
    best = kernel.optimal_ridge(spectrum, [3, 60, 299, 300, 1000], noise=0.5)
    np.testing.assert_allclose(best.ridge, 0.25 / 4, rtol=1e-6)
    assert (kernel.optimal_ridge(spectrum, [3, 60]).ridge == 0).all()  # no noise, no ridge


@pytest.mark.parametrize("n", [20.0, 300.0, 3000.0])
def test_best_ridge_is_a_minimum_of_the_learning_curve(n):
    spectrum = Spectrum.power_law(2.2, 1.3, n_modes=2000)
    best = kernel.optimal_ridge(spectrum, n, noise=0.4)
    scan = kernel.learning_curve(spectrum, n, np.geomspace(1e-9, 1e3, 4000), 0.4).loss
    assert best.ridge > 0
    assert best.loss <= scan.min() * (1 + 1e-12)
    assert best.loss == pytest.approx(scan.min(), rel=1e-4)


def test_optimal_ridge_removes_double_descent():
    spectrum = Spectrum.power_law(1.5, 1.2, n_modes=100)
    n = np.arange(5, 400, 5)
    assert kernel.learning_curve(spectrum, n, noise=0.5).peaks().size > 0
    assert (np.diff(kernel.optimal_ridge(spectrum, n, noise=0.5).loss) < 0).all()


def test_no_data_gives_the_zero_predictor_and_bad_input_is_named():
    spectrum = Spectrum.power_law(n_modes=100)
    assert kernel.learning_curve(spectrum, 0, noise=0.1).loss == pytest.approx(spectrum.total_power + 0.01)
    with pytest.raises(BadInput, match=r"n_data = \[-1"):
        kernel.learning_curve(spectrum, [-1.0, 2.0])
    with pytest.raises(BadInput, match="ridge"):
        kernel.learning_curve(spectrum, 5, ridge=np.nan)
    with pytest.raises(BadInput, match="loss_of_mode"):
        _ = kernel.learning_curve(Spectrum.power_law(n_modes=10**9), 10).mode_loss
    with pytest.raises(BadInput, match="above 1"):
        kernel.asymptotic_law(1.5, 0.9)


def test_a_root_that_alternates_in_its_last_digits_is_accepted_and_a_larger_swing_is_not():
    def swinging(by):
        signs = iter([1.0, -1.0] * 100)
        return lambda u: (np.full_like(u, next(signs) * by), np.ones_like(u))

    low, high, start = np.array([0.0]), np.array([2000.0]), np.array([1000.0])
    found = kernel.increasing_root(swinging(1e-10), low, high, start)  # 1e-13 of the root
    assert found == pytest.approx(1000.0, abs=1e-9)
    with pytest.raises(NotConverged, match=r"1\.0e-06"):
        kernel.increasing_root(swinging(1e-6), low, high, start)
