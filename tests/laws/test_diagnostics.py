"""Residuals that are not what a fit assumes: seen, said, and covered."""

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.laws.fitting import diagnostics, statistics
from scalinglab.laws.fitting.uncertainty import _profile_at, parameter_profile

X = np.geomspace(100, 1e5, 32)
FAR = np.array([1e6])


def law_of(x):
    return 0.05 + 3 * np.asarray(x, float) ** -0.4


def autocorrelated(rng, count, rho=0.8):
    noise = rng.standard_normal(count)
    for i in range(1, count):
        noise[i] = rho * noise[i - 1] + np.sqrt(1 - rho**2) * noise[i]
    return noise


def fitted(noise, truth=law_of, form="power_law_offset"):
    return sl.laws.fit(form, X, truth(X) * np.exp(noise))


def held(laws, truth=law_of, plain=False):
    ends = [_profile_at(law, FAR, 0.95) if plain else law.interval(FAR) for law in laws]
    return np.mean([low[0] <= truth(FAR)[0] <= high[0] for low, high in ends])


def test_pvalues_are_uniform_where_the_fit_is_right():
    rng = np.random.default_rng(0)
    found = [fitted(0.03 * rng.standard_normal(32)).diagnosis for _ in range(40)]
    for name in ("correlation_pvalue", "break_pvalue", "noise_pvalue"):
        values = np.array([getattr(d, name) for d in found])
        assert 0.35 < values.mean() < 0.65
        assert np.mean(values < 0.2) < 0.4


@pytest.mark.slow
def test_correlated_noise_is_said_and_covered():
    rng = np.random.default_rng(1)
    laws = [fitted(0.03 * autocorrelated(rng, 32)) for _ in range(30)]
    assert held(laws, plain=True) < 0.75  # what the independence of points claims
    assert held(laws) >= 0.8
    said = np.mean(["correlated across sizes" in law.summary() for law in laws[:10]])
    assert said > 0.6


@pytest.mark.slow
def test_a_break_that_the_form_lacks_is_placed_said_and_covered():
    rng = np.random.default_rng(2)

    def broken(x):
        x = np.asarray(x, float)
        return 3 * x**-0.4 * (1 + (x / 3e3) ** 5) ** (0.2 / 5)

    laws = [fitted(0.02 * rng.standard_normal(32), broken, "power_law") for _ in range(12)]
    assert held(laws, broken, plain=True) < 0.2
    assert held(laws, broken) > 0.9
    places = [law.diagnosis.break_at for law in laws]
    assert 1e3 < np.median(places) < 1e4
    assert "the points bend away from the form near" in laws[0].summary()


@pytest.mark.slow
def test_noise_that_grows_with_size_is_estimated_and_covered():
    rng = np.random.default_rng(3)
    x = np.repeat(X[::2], 4)
    laws = []
    for _ in range(30):
        noise = 0.01 * (x / 100) ** 0.35 * rng.standard_normal(x.size)
        laws.append(sl.laws.fit("power_law_offset", x, law_of(x) * np.exp(noise)))
    assert held(laws) >= 0.9
    wider = [np.ptp(np.log(law.interval(1e6))) / np.ptp(np.log(_profile_at(law, 1e6, 0.95))) for law in laws]
    assert np.median(wider) > 1.3
    exponents = [law.diagnosis.noise_exponent for law in laws]
    assert 0.3 < np.median(exponents) < 0.6  # 0.35, and cautiously more
    assert "Noise grows with size" in laws[0].summary()


DESIGN = np.column_stack([np.ones(12), np.linspace(-1, 1, 12), np.linspace(-1, 1, 12) ** 2])
LOGS = np.linspace(5, 11, 12)
ROW = np.array([[1.0, 1.5, 2.25]])


def dense(y, rho, gamma):
    """Estimate, covariance over σ², σ² and restricted log-likelihood with the matrices written out."""
    noise = np.exp(gamma * (LOGS - LOGS.mean()))
    omega = rho ** np.abs(np.subtract.outer(np.arange(12), np.arange(12))) * np.outer(noise, noise)
    inverse = np.linalg.inv(omega)
    information = DESIGN.T @ inverse @ DESIGN
    beta = np.linalg.solve(information, DESIGN.T @ inverse @ y)
    squares = (y - DESIGN @ beta) @ inverse @ (y - DESIGN @ beta)
    logs = [np.linalg.slogdet(m)[1] for m in (omega, information)]
    return beta, np.linalg.inv(information), squares / 9, -sum(logs) / 2 - 4.5 * np.log(squares)


def test_average_over_noise_is_that_of_dense_generalised_least_squares():
    y = np.random.default_rng(4).standard_normal(12)
    found = statistics.average_over_noise(DESIGN[None], y, LOGS, correlated=True, steepest=0.4)
    picked = np.argsort(-found.weight)[:15]
    likelihoods = []
    for k in picked:
        rho, gamma = found.correlation[k], found.noise_exponent[k]
        beta, covariance, variance, likelihood = dense(y, rho, gamma)
        np.testing.assert_allclose(found.shift[k], beta, rtol=1e-9)
        np.testing.assert_allclose(found.root[k] @ found.root[k].T, variance * covariance, atol=1e-12)
        prior = np.log(0.5 if rho == 0 else 0.5 / 6) - (gamma / 0.4) ** 2 / 2
        likelihoods.append(likelihood + prior)
    expected = np.array(likelihoods) - likelihoods[0]
    np.testing.assert_allclose(np.log(found.weight[picked] / found.weight[picked[0]]), expected, atol=1e-8)


def test_ends_are_quantiles_of_draws_from_the_average():
    rng = np.random.default_rng(5)
    found = statistics.average_over_noise(
        DESIGN[None], rng.standard_normal(12), LOGS, correlated=True, steepest=0.4
    )
    k = rng.choice(len(found.weight), 100_000, p=found.weight)
    spread = np.linalg.norm(ROW[0] @ found.root[k], axis=1)
    drawn = found.shift[k] @ ROW[0] + spread * rng.standard_t(found.dof, len(k))
    low, high = found.ends(ROW[None], 0.9)
    assert np.mean(drawn < low[0]) == pytest.approx(0.05, abs=0.004)
    assert np.mean(drawn > high[0]) == pytest.approx(0.05, abs=0.004)


@pytest.mark.parametrize("slope", [-0.35, 0.0, 0.35])
def test_average_holds_whether_noise_falls_or_grows(slope):
    """One measurement at the far end of a line in logs, from 12 sizes, where σ ∝ x^slope is not known."""
    rng = np.random.default_rng(6)
    design, at = np.column_stack([np.ones(12), LOGS - 8]), np.array([LOGS[-1]])
    scale = np.exp(slope * (LOGS - LOGS.mean()))
    held, usual = [], []
    for _ in range(300):
        y, new = scale * rng.standard_normal(12), scale[-1] * rng.standard_normal()
        for kept, uneven in ((held, True), (usual, False)):
            found = statistics.average_over_noise(
                design[None], y, LOGS, correlated=False, steepest=0.4 * uneven
            )
            low, high = found.ends(np.array([[[1.0, at[0] - 8]]]), 0.95, at)
            kept.append(low[0] <= new <= high[0])
    assert 0.90 <= np.mean(held) <= 0.985
    if slope:  # constant noise is too narrow where it grows, too wide where it falls
        assert np.mean(usual) < 0.85 if slope > 0 else np.mean(usual) > 0.98


def test_robust_average_ignores_an_outlier():
    y = 0.01 * np.random.default_rng(7).standard_normal(12)
    plain = statistics.average_over_noise(DESIGN[None], y, LOGS, correlated=False, steepest=0.4, robust=True)
    y[5] += 100
    found = statistics.average_over_noise(DESIGN[None], y, LOGS, correlated=False, steepest=0.4, robust=True)
    assert abs(found.weight @ found.shift[:, 0]) < 0.1
    assert found.ends(ROW[None], 0.95)[1][0] < 10 * plain.ends(ROW[None], 0.95)[1][0] + 0.1


@pytest.mark.parametrize("count", [5, 7])
def test_few_points_are_not_tested_but_averaged_over_noise(count):
    x = np.geomspace(1e3, 1e5, count)
    law = sl.laws.fit("power_law", x, law_of(x) * np.exp(0.02 * np.arange(count) % 0.03))
    assert not law.diagnosis.sentences
    assert np.isnan(law.diagnosis.noise_pvalue)
    low, high = law.interval(1e6)
    assert low < law.predict(1e6) < high
    assert np.log(high / low) > 1.05 * np.ptp(np.log(_profile_at(law, 1e6, 0.95)))


def test_given_errors_are_believed():
    x, error = X[:9], X[:9] ** 0.4 * law_of(X[:9]) / 1000
    y = law_of(x) + error * np.random.default_rng(8).standard_normal(9)
    law = sl.laws.fit("power_law_offset", x, y, error=error)
    assert law.diagnosis.noise_exponent == 0
    assert law.diagnosis.average.correlation.max() == 0
    assert law.interval(1e4) == pytest.approx(_profile_at(law, 1e4, 0.95), rel=1e-6)


@pytest.mark.slow
def test_exponents_interval_counts_with_the_noise_too():
    rng = np.random.default_rng(9)
    held, plain = [], []
    for _ in range(40):
        law = fitted(0.03 * autocorrelated(rng, 32))
        for kept, ends in ((held, law.parameter_intervals), (plain, parameter_profile(law))):
            kept.append(ends["exponent"].low <= 0.4 <= ends["exponent"].high)
    assert np.mean(plain) < 0.75
    assert np.mean(held) >= 0.85


def test_many_points_are_judged_in_blocks():
    rng = np.random.default_rng(10)
    x = np.geomspace(100, 1e5, 20_000)
    law = sl.laws.fit("power_law", x, 3 * x**-0.4 * np.exp(0.03 * rng.standard_normal(x.size)))
    assert len(law.diagnosis.tests.logs) == diagnostics.MOST_POINTS
    low, high = law.interval(1e6)
    ratio = np.log(high / low) / np.ptp(np.log(_profile_at(law, 1e6, 0.95)))
    assert ratio == pytest.approx(1, abs=0.25)
