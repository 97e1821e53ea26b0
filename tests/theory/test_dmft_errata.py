"""The corrected equations of bordelon2024 hold, and the printed ones do not, in a direct simulation.

The arbiter shares nothing with the theory: random matrices A and Ψ are drawn and the resolvent of
K = (AᵀA/N)(ΨᵀΨ/P) is applied at one real frequency s (ridge regression), where
s·v(s) = (s + K)⁻¹ (s w − (AᵀA/N)Ψᵀσε/P) gives every order parameter. Each test is named after its equation.
"""

import math
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import scalinglab as sl
from tests.theory import direct_iteration

dmft = sl.theory.dmft
M, N, P, S, SIGMA = 240, 100, 150, 0.03, 0.9
SPECTRUM = sl.Spectrum.power_law(1.5, 1.25, M)
LAM, POWER = SPECTRUM.eigenvalues, SPECTRUM.target_power
WEIGHTS = np.sqrt(POWER / LAM)
FINITE = 0.01  # relative difference that the finite size is allowed


def model(rng):
    a = rng.standard_normal((N, M))
    return a, a.T @ a / N


def data(rng):
    psi = rng.standard_normal((P, M)) * np.sqrt(LAM)
    return psi, psi.T @ psi / P, SIGMA * rng.standard_normal(P)


def fields(b, psi, c, noise):
    """s v⁰, s v¹, s v² at frequency s."""
    v0 = np.linalg.solve(S * np.eye(M) + b @ c, S * WEIGHTS - b @ (psi.T @ noise) / P)
    v1 = psi @ v0 + noise
    return v0, v1, psi.T @ v1 / P


class Measured(NamedTuple):
    mean: float
    error: float

    def agrees(self, value):
        return abs(value - self.mean) < 3.5 * self.error + FINITE * self.mean

    def excludes(self, value):
        return abs(value - self.mean) > 5 * self.error + FINITE * self.mean


@pytest.fixture(scope="module")
def measured():
    """Means over draws of what the theory predicts, times s² where it is a correlation."""
    rows = []
    for seed in range(64):
        rng = np.random.default_rng(seed)
        (a, b), (_, b2) = model(rng), model(rng)
        (psi, c, noise), (psi2, c2, noise2) = data(rng), data(rng)
        v0, v1, v2 = fields(b, psi, c, noise)
        shared_data = fields(b2, psi, c, noise)[0]
        shared_params = fields(b, psi2, c2, noise2)[0]
        learnt = np.trace(np.linalg.solve(S * np.eye(M) + b @ c, b @ c))
        rows.append({
            "c0": LAM @ v0**2,
            "c1": np.mean(v1**2),
            "c2": v2 @ v2,
            "c3": np.mean((a @ v2) ** 2),
            "r1": 1 - learnt / P,  # tr Ψ(s + K)⁻¹(AᵀA/N)Ψᵀ/P²
            "r3": 1 - learnt / N,  # tr A(ΨᵀΨ/P)(s + K)⁻¹Aᵀ/N²: the same matrices in another order
            "ensemble": LAM @ (v0 * shared_data),
            "bags": LAM @ (v0 * shared_params),
        })  # fmt: skip
    table = {k: np.array([row[k] for row in rows]) for k in rows[0]}
    return SimpleNamespace(**{k: Measured(x.mean(), x.std(ddof=1) / len(x) ** 0.5) for k, x in table.items()})


@pytest.fixture(scope="module")
def theory():
    """R₁, R₃ and H at s from the corrected eqs. 10 and 11."""
    r1 = r3 = 1.0
    for _ in range(1_000):
        learnt = float(np.sum(LAM * r1 * r3 / (S + LAM * r1 * r3)))
        r1, r3 = 0.9 * r1 + 0.1 * (1 - learnt / P), 0.9 * r3 + 0.1 * (1 - learnt / N)
    return SimpleNamespace(r1=r1, r3=r3, h=1 / (S + LAM * r1 * r3))


def correlations(t, data_power=1, noise=SIGMA):
    """s² C₀ … s² C₃ from eq. 34; u² enters with λ_k^data_power in its variance; noise as in C₁."""
    hh, c1, c3 = t.h**2, 0.0, 0.0
    for _ in range(400):
        c0 = np.sum(LAM * hh * (WEIGHTS**2 + c3 / N + LAM**data_power / P * t.r3**2 * c1))
        c1 = t.r1**2 * (c0 + noise**2 / S**2)
        c2 = np.sum(LAM * hh * (S**2 * c1 / P + LAM * t.r1**2 * (WEIGHTS**2 + c3 / N)))
        c3 = t.r3**2 * c2
    return S**2 * np.array([c0, c1, c2, c3])


def differ(value, reference):
    return abs(value / reference - 1)


def test_eqs_8_and_23_scale_the_fields():
    rng = np.random.default_rng(0)
    psi = rng.standard_normal((P, M))
    v0 = rng.standard_normal(M)
    v1 = psi @ v0 / math.sqrt(M)
    exact = psi.T @ psi @ v0 / P
    np.testing.assert_allclose(math.sqrt(M) / P * psi.T @ v1, exact)
    assert differ((psi.T @ v1 / math.sqrt(P))[0], exact[0]) > 0.06


def test_eqs_11_and_31_responses(measured, theory):
    assert measured.r1.agrees(theory.r1)
    assert measured.r3.agrees(theory.r3)


def test_eq_30_closes_r1_with_r02(measured, theory):
    """Printed: R₁ = 1 + R₂₄R₁/α, the loop of the features in place of that of the data."""
    assert measured.r1.agrees(theory.r1)
    r1 = r3 = 1.0
    for _ in range(1_000):
        loop = -float(np.sum(LAM / (S + LAM * r1 * r3))) * r1
        r1, r3 = 0.9 * r1 + 0.1 / (1 - loop / P), 0.9 * r3 + 0.1 / (1 - loop / N)
    assert measured.r1.excludes(r1)


def test_eq_32_has_no_eigenvalue_at_u2(measured, theory):
    assert measured.c0.agrees(correlations(theory)[0])
    assert measured.c0.excludes(correlations(theory, data_power=3)[0])


def test_eq_34_with_noise(measured, theory):
    corrected, printed = correlations(theory), correlations(theory, noise=0.0)
    for index, name in enumerate(("c0", "c1", "c2", "c3")):
        assert getattr(measured, name).agrees(corrected[index]), name
        assert getattr(measured, name).excludes(printed[index]), name


def test_the_closed_form_is_the_solution_of_eq_34(theory):
    closed = dmft.final(SPECTRUM, N, P, SIGMA, ridge=S)
    c0, c1, _, _ = correlations(theory)
    assert closed.test_loss == pytest.approx(c0 + SIGMA**2, rel=1e-9)
    assert closed.train_loss == pytest.approx(c1, rel=1e-9)


def test_eq_78_lacks_one_over_m_in_the_proportional_scaling():
    """There the loss is Σ λw²/M; without 1/M the second line is M times too large."""
    alpha, w = P / M, np.ones(M)
    kappa = 1.0
    for _ in range(400):
        kappa *= np.mean(LAM * kappa / (LAM * alpha + kappa)) / kappa
    gamma = alpha * np.mean(LAM**2 / (LAM * alpha + kappa) ** 2)
    corrected = np.mean(LAM * w**2 * kappa**2 / (kappa + LAM * alpha) ** 2) / (1 - gamma)
    exact = dmft.final(sl.Spectrum(LAM, LAM * w**2 / M), n_data=P).test_loss
    assert corrected == pytest.approx(exact, rel=1e-9)
    assert M * corrected > 10 * exact


def test_eq_83_starts_from_c0(measured, theory):
    """v¹ = u¹ + R₀₂v¹/P with ⟨u¹u¹⟩ = C₀ + σ²: train = R₁² test; with C₁ in its place R₁ would be 1."""
    assert measured.c1.agrees(theory.r1**2 * (measured.c0.mean + SIGMA**2))
    assert measured.c1.excludes(measured.c0.mean + SIGMA**2)


def test_eqs_84_and_85_gap_at_high_frequency():
    """C₀ − C₁ = (c/P)(1/s + 1/s') C₁; the printed right side has C₁ itself besides."""
    s = 1e4
    found = dmft.final(SPECTRUM, N, P, ridge=s)
    gap = found.test_loss / found.train_loss - 1
    first_order = 2 * LAM.sum() / (P * s)
    assert gap == pytest.approx(first_order, rel=1e-3)
    assert 1 + first_order > 1000 * gap


def test_eqs_93_and_122_first_step():
    """E K = Λ with 1/P for the data, so H_k(1) = 1 − ηλ_k; with 1/N, or without λ_k in v², it is not."""
    eta = 0.2
    exact = dmft.solve(SPECTRUM, [1], N, P, dynamics=dmft.GradientDescent(eta)).transfer([1, 7])[0]
    np.testing.assert_allclose(exact, 1 - eta * LAM[[0, 6]], rtol=1e-12)
    draws = []
    for seed in range(40):
        rng = np.random.default_rng([1, seed])
        draws.append(np.diag(model(rng)[1] @ data(rng)[1])[[0, 6]])
    mean, error = np.mean(draws, 0), np.std(draws, 0, ddof=1) / math.sqrt(40)
    assert np.all(np.abs(mean - LAM[[0, 6]]) < 4 * error)
    for wrong in (LAM[[0, 6]] * P / N, np.ones(2)):
        assert np.any(np.abs(mean - wrong) > 8 * error)


def test_eq_96_closes_on_v3(measured, theory):
    """R₃ = 1/(1 − R₂₄/N) needs v³ on the right; with v¹ it would be 1 + R₂₄R₁/N."""
    loop = -float(np.sum(LAM * theory.h)) * theory.r1
    assert measured.r3.agrees(1 / (1 - loop / N))
    assert measured.r3.excludes(1 + loop * theory.r1 / N)


def test_eqs_98_to_101_models_that_share_data_or_features(measured, theory):
    hh, bias = theory.h**2, np.sum(POWER * theory.h**2)
    r1, r3 = theory.r1**2, theory.r3**2
    gamma0 = np.sum(LAM**2 * hh) * r1 * r3 / P
    noise = SIGMA**2 / S**2
    ensemble = (bias + noise) / (1 - gamma0) - noise
    assert measured.ensemble.agrees(S**2 * ensemble)
    printed = np.sum(LAM**2 * hh) * r1 / P  # γ₀ without R₃R₃'
    assert measured.ensemble.excludes(S**2 * ((bias + noise) / (1 - printed) - noise))
    assert measured.ensemble.excludes(S**2 * bias)  # 101 without its 1/(αB) term
    source = np.sum(LAM * POWER * hh) * r1
    bags = bias + np.sum(LAM * hh) / N * r3 * source / (1 - gamma0 * P / N)
    assert measured.bags.agrees(S**2 * bags)
    no_transfer = r3 * np.sum(LAM * POWER) * r1 / (1 - r3 * np.sum(LAM**2) / N)  # 98, 99 without HH'
    assert measured.bags.excludes(S**2 * (bias + np.sum(LAM * hh) / N * no_transfer))


def test_eq_111_has_the_inverse_root():
    nu, tau = 16.0, 2.0
    exact = float(dmft.white.solve(tau, nu).transfer(1))
    corrected = (math.exp(-tau * (1 + nu**-0.5)) + math.exp(-tau * (1 - nu**-0.5))) / 2
    printed = (math.exp(-tau * (1 + nu**0.5)) + math.exp(-tau * (1 - nu**0.5))) / 2
    assert differ(corrected, exact) < 0.03
    assert printed > 100 * exact


def test_eq_130_momentum_in_the_z_transform():
    """Without bottleneck H_k(t) follows from the recursion itself; z outside the unit circle."""
    eta, mu, lam, z = 0.3, 0.6, 0.4, 1.2
    h = [1.0, 1 - eta * lam]
    for _ in range(400):
        h.append((1 + mu - eta * lam) * h[-1] - mu * h[-2])
    transform = sum(x * z**-t for t, x in enumerate(h))
    loop = z - 1 - mu + mu / z + eta * lam
    assert transform == pytest.approx((z - mu) / loop, rel=1e-12)
    assert differ(z / (z - 1 - mu + mu / z + eta), transform) > 0.06  # the printed loop and source


def test_eq_131_descends():
    rng = np.random.default_rng(3)
    b, c = model(rng)[1], data(rng)[1]
    before = LAM @ WEIGHTS**2
    for sign in (-1, 1):
        after = LAM @ (WEIGHTS + sign * 0.1 * b @ c @ WEIGHTS) ** 2
        assert (after < before) == (sign < 0)


def test_eq_135_theta_is_singular_in_discrete_time():
    theta = 0.1 * np.tril(np.ones((12, 12)), -1)
    assert np.linalg.matrix_rank(theta) < 12
    exact = direct_iteration.gradient_descent(sl.Spectrum.power_law(1.5, 1.25, 20), 11, 8, 12)
    found = dmft.solve(
        sl.Spectrum.power_law(1.5, 1.25, 20), np.arange(12), 8, 12, dynamics=dmft.GradientDescent(0.1)
    )
    np.testing.assert_allclose(np.diag(exact.test), found.test_loss, rtol=1e-11)


def test_eqs_137_to_141_saturate_mode_by_mode():
    late = dmft.solve(SPECTRUM, [1e9], N, P).transfer([1, 50, 200])[0]
    r = 1 / dmft.final(SPECTRUM, N, P).kappa
    np.testing.assert_allclose(late, 1 / (1 + LAM[[0, 49, 199]] * r), rtol=1e-9)
    assert np.all(late[1:] > 5 / (1 + r))  # printed without λ_k


def test_eq_144_gives_time_the_exponent_of_the_params():
    found = sl.theory.bottlenecks.exponents(1.5, 1.25)
    r_t, r_n = found.time, found.params
    assert found.optimal_time == pytest.approx(r_n / (r_t + r_n))
    assert found.optimal_time > 1.2 * r_t / (r_t + r_n)  # as printed
