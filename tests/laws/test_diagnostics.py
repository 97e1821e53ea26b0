"""Residuals that are not what a fit assumes: seen, said, and covered."""

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.laws.fitting import diagnostics
from scalinglab.laws.fitting.uncertainty import _profile_at

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


def test_factor_is_that_of_simulated_fits():
    """Standard error under AR(1) noise over the one claimed, against refits of a line in logs."""
    rng = np.random.default_rng(4)
    law = sl.laws.fit("power_law", X, 3 * X**-0.3 * np.exp(0.01 * rng.standard_normal(32)), loss="squared")
    tests = diagnostics._Tests(law)
    at = np.array([1e6])
    design = np.column_stack([np.ones(32), np.log(X)])
    row = np.array([1.0, np.log(1e6)])
    errors, claimed = [], []
    for _ in range(4000):
        noise = autocorrelated(rng, 32, 0.6)
        solution, rss = np.linalg.lstsq(design, noise)[:2]
        errors.append(row @ solution)
        claimed.append(rss[0] / 30 * row @ np.linalg.solve(design.T @ design, row))
    expected = np.std(errors) / np.sqrt(np.mean(claimed))
    assert tests.factor(at, 0.6, 0.0)[0] == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("count", [5, 7])
def test_few_points_are_not_judged(count):
    x = X[:count]
    law = sl.laws.fit("power_law", x, law_of(x) * np.exp(0.02 * np.arange(count) % 0.03))
    assert not law.diagnosis.sentences
    assert law.interval(1e6) == pytest.approx(_profile_at(law, 1e6, 0.95))
