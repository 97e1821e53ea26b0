"""Residuals that are not what a fit assumes: seen, said, and covered."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

import scalinglab as sl
from scalinglab.laws.fitting import diagnostics, statistics
from scalinglab.laws.fitting.solution import Interval
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


@pytest.mark.slow
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
    ends = np.array([law.interval(1e6) for law in laws])
    assert np.mean((ends[:, 0] <= law_of(1e6)) & (law_of(1e6) <= ends[:, 1])) >= 0.9
    plain = np.array([_profile_at(law, 1e6, 0.95) for law in laws[:12]])
    assert np.median(np.ptp(np.log(ends[:12]), axis=1) / np.ptp(np.log(plain), axis=1)) > 1.3
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
    found = statistics.average_over_noise(DESIGN[None], y, LOGS, correlated=True, steepest=1.0)
    picked = np.argsort(-found.weight)[:15]
    likelihoods = []
    for k in picked:
        rho, gamma = found.correlation[k], found.noise_exponent[k]
        beta, covariance, variance, likelihood = dense(y, rho, gamma)
        np.testing.assert_allclose(found.shift[k], beta, rtol=1e-9)
        np.testing.assert_allclose(found.root[k] @ found.root[k].T, variance * covariance, atol=1e-12)
        likelihoods.append(likelihood)
    expected = np.array(likelihoods) - likelihoods[0]
    np.testing.assert_allclose(np.log(found.weight[picked] / found.weight[picked[0]]), expected, atol=1e-8)


def test_noise_exponent_is_gaussian_where_few_residuals_are_left_and_flat_beyond():
    """Weights are those of dense matrices, with γ ~ N(0, 0.4²) below five degrees of freedom."""
    for n, gaussian in ((7, True), (8, False)):
        logs = np.linspace(0, 5, n)
        design = np.column_stack([np.ones(n), logs, logs**2])
        y = np.random.default_rng(n).standard_normal(n)
        found = statistics.average_over_noise(design[None], y, logs, correlated=False, steepest=1.0)
        expected = []
        for gamma in found.noise_exponent:
            noise = np.exp(gamma * (logs - logs.mean()))
            inverse = np.diag(noise**-2)
            information = design.T @ inverse @ design
            rest = y - design @ np.linalg.solve(information, design.T @ inverse @ y)
            likelihood = -np.log(noise).sum() - np.linalg.slogdet(information)[1] / 2
            likelihood -= (n - 3) / 2 * np.log(rest @ inverse @ rest)
            expected.append(likelihood - gaussian * (gamma / 0.4) ** 2 / 2)
        ratio = np.exp(np.array(expected) - max(expected))
        np.testing.assert_allclose(found.weight, ratio / ratio.sum(), rtol=1e-6)


def test_correlations_are_those_of_jeffreys_prior_up_to_the_longest_memory():
    """π(ρ) ∝ 1/√(1 − ρ²) over 0 … ρ_max: its first moment is (1 − √(1 − ρ_max²))/arcsin ρ_max."""
    for n in (12, 24, 200):
        most = np.exp(-1 / (4 * (n - 1)))
        found = statistics.correlations(n)
        assert np.mean(found) == pytest.approx((1 - np.sqrt(1 - most**2)) / np.arcsin(most), rel=0.01)
        assert found.min() > 0
        assert found.max() < most


def test_ends_are_quantiles_of_draws_from_the_average():
    rng = np.random.default_rng(5)
    found = statistics.average_over_noise(
        DESIGN[None], rng.standard_normal(12), LOGS, correlated=True, steepest=1.0
    )
    k = rng.choice(len(found.weight), 100_000, p=found.weight)
    spread = np.linalg.norm(ROW[0] @ found.root[k], axis=1)
    drawn = found.shift[k] @ ROW[0] + spread * rng.standard_t(found.dof, len(k))
    low, high = found.ends(ROW[None], 0.9)
    assert np.mean(drawn < low[0]) == pytest.approx(0.05, abs=0.004)
    assert np.mean(drawn > high[0]) == pytest.approx(0.05, abs=0.004)


@pytest.mark.slow
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
                design[None], y, LOGS, correlated=False, steepest=1.0 * uneven
            )
            low, high = found.ends(np.array([[[1.0, at[0] - 8]]]), 0.95, at)
            kept.append(low[0] <= new <= high[0])
    assert 0.90 <= np.mean(held) <= 0.985
    if slope:  # constant noise is too narrow where it grows, too wide where it falls
        assert np.mean(usual) < 0.85 if slope > 0 else np.mean(usual) > 0.98


def test_robust_average_ignores_an_outlier():
    y = 0.01 * np.random.default_rng(7).standard_normal(12)
    plain = statistics.average_over_noise(DESIGN[None], y, LOGS, correlated=False, steepest=1.0, robust=True)
    y[5] += 100
    found = statistics.average_over_noise(DESIGN[None], y, LOGS, correlated=False, steepest=1.0, robust=True)
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
    laws = [fitted(0.03 * autocorrelated(rng, 32)) for _ in range(40)]
    holds = lambda ends: ends["exponent"].low <= 0.4 <= ends["exponent"].high  # noqa: E731
    assert np.mean([holds(law.parameter_intervals) for law in laws]) >= 0.85
    assert np.mean([holds(parameter_profile(law)) for law in laws[:24]]) < 0.75


def test_many_points_are_judged_in_blocks():
    rng = np.random.default_rng(10)
    x = np.geomspace(100, 1e5, 20_000)
    law = sl.laws.fit("power_law", x, 3 * x**-0.4 * np.exp(0.03 * rng.standard_normal(x.size)))
    assert len(law.diagnosis.tests.logs) == diagnostics.MOST_POINTS
    low, high = law.interval(1e6)
    ratio = np.log(high / low) / np.ptp(np.log(_profile_at(law, 1e6, 0.95)))
    assert ratio == pytest.approx(1, abs=0.25)


# --- the linearised fit, against regressions written out ------------------------------------------------

RNG = np.random.default_rng(11)
NOISE = 0.05 * RNG.standard_normal(12)
LINE = sl.laws.fit("power_law", np.exp(LOGS), 3 * np.exp(-0.4 * LOGS) * np.exp(NOISE), loss="squared")
FULL = np.column_stack([np.ones(12), -LOGS])  # ln y = ln A − c ln x
LOG_Y = np.log(LINE.points.y)


def squares_left(*columns):
    design = np.column_stack([FULL, *columns])
    rest = LOG_Y - design @ np.linalg.lstsq(design, LOG_Y, rcond=None)[0]
    return rest @ rest


def test_statistics_of_residuals_are_those_of_a_regression_in_logs():
    tests = diagnostics._Tests(LINE)
    hat = FULL @ np.linalg.inv(FULL.T @ FULL) @ FULL.T
    rest = LOG_Y - hat @ LOG_Y
    np.testing.assert_allclose(tests.residuals, -rest, atol=1e-9)  # law − measured
    np.testing.assert_allclose(tests.left, 1 - np.diag(hat), atol=1e-9)
    assert tests.dof == 10
    durbin_watson = np.sum(np.diff(rest) ** 2) / np.sum(rest**2)
    ends = (rest[0] ** 2 + rest[-1] ** 2) / np.sum(rest**2)
    assert tests.alike(tests.residuals[None])[0] == pytest.approx((2 - ends - durbin_watson) / 2, rel=1e-8)
    np.testing.assert_allclose(tests.places, LOGS[2:-2])
    expected = [1 - squares_left(np.maximum(LOGS - at, 0)) / squares_left() for at in LOGS[2:-2]]
    np.testing.assert_allclose(tests.explained(tests.residuals[None])[0], expected, atol=1e-7)
    assert tests.bent(tests.residuals[None])[0] == pytest.approx(max(expected))
    assert tests.break_place() == LOGS[2:-2][np.argmax(expected)]
    left = np.sqrt((1 - max(expected)) * 10 / 8)
    assert tests.scatter_left() == pytest.approx(min(left, 1), abs=1e-7)
    student = rest**2 / (1 - np.diag(hat))
    trend = np.cov(student, LOGS, bias=True)[0, 1] * 12 / np.sqrt(12 * LOGS.var()) / student.mean()
    assert tests.noise_trend(tests.residuals[None])[0] == pytest.approx(trend, rel=1e-6)


def test_with_a_hinge_the_residuals_are_those_around_it():
    place = float(np.exp(LOGS[5]))
    tests = diagnostics._Tests(LINE, place)
    assert tests.residuals @ tests.residuals == pytest.approx(squares_left(np.maximum(LOGS - LOGS[5], 0)))
    assert tests.dof == 9


def test_drawn_residuals_have_the_covariance_of_a_fit_to_correlated_noise():
    tests = diagnostics._Tests(LINE)
    for rho in (0.0, 0.7):
        drawn = tests.projected(rho)
        assert drawn.shape == (diagnostics.DRAWS, 12)
        rest = np.eye(12) - tests.q @ tests.q.T
        covariance = rest @ (rho ** np.abs(np.subtract.outer(np.arange(12), np.arange(12)))) @ rest
        spread = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / 1000)
        assert np.max(np.abs(drawn.T @ drawn / 1000 - covariance) / spread) < 4


def test_usual_interval_is_that_of_a_line_through_points():
    tests, at = diagnostics._Tests(LINE), np.array([4.0, 8.0, 13.0])
    rows = tests.gradient(np.exp(at))
    np.testing.assert_allclose(rows * tests.scale, np.column_stack([np.ones(3), -at]), rtol=1e-8)
    deviation = np.sqrt(squares_left() / 10)
    away = 1 / 12 + (at - LOGS.mean()) ** 2 / np.sum((LOGS - LOGS.mean()) ** 2)
    student = stats.t.ppf(0.95, 10)
    np.testing.assert_allclose(tests.usual(rows, 0.9, False), student * deviation * np.sqrt(away), rtol=1e-5)
    measured = student * deviation * np.sqrt(away + 1)
    np.testing.assert_allclose(tests.usual(rows, 0.9, True), measured, rtol=1e-5)
    found = tests.parameter_rows()
    assert {name: log for name, (_, _, log) in found.items()} == {"amplitude": True, "exponent": False}
    assert found["exponent"][0] == pytest.approx(LINE.exponent)
    np.testing.assert_allclose(found["exponent"][1] * tests.scale, [0, 1], atol=1e-9)
    assert np.exp(found["amplitude"][0]) == pytest.approx(LINE.parameters["amplitude"])


def test_bends_are_hinges_over_the_possible_places_and_a_parabola():
    tests = diagnostics._Tests(LINE)
    places, at = tests.tried_places, np.array([4.0, 8.0, 13.0])
    assert len(places) == diagnostics.TRIED_PLACES
    np.testing.assert_allclose(np.diff(places), places[1] - places[0])
    left = np.array([squares_left(np.maximum(LOGS - at, 0)) for at in LOGS[2:-2]])
    excluded = (left / left.min() - 1) * 8 > 2 * stats.f.ppf(0.99, 2, 8)
    kept, half = LOGS[2:-2][~excluded], (LOGS[1] - LOGS[0]) / 2
    assert (places[0], places[-1]) == pytest.approx((kept[0] - half, kept[-1] + half))
    found = tests.bends(at)
    np.testing.assert_allclose(found[:-1], np.clip(at - places[:, None], 0, None))
    np.testing.assert_allclose(found[-1], ((at - LOGS.mean()) / 6) ** 2)


def test_noise_of_given_errors_does_not_depend_on_size():
    x, y = LINE.points.x, LINE.points.y
    given, unknown = (sl.laws.fit("power_law", x, y, error=error) for error in (0.05 * y, None))
    assert diagnostics._Tests(given).steepest_noise == 0
    assert diagnostics._Tests(unknown).steepest_noise == diagnostics.STEEPEST_NOISE


def test_noise_beyond_the_points_is_that_of_the_nearest_one():
    """Of one more run: a law known exactly leaves the noise, which is not continued beyond the points."""
    x = np.repeat(np.geomspace(10, 1e3, 9), 40)
    noise = np.exp(0.02 * (x / 10) ** 0.4 * np.random.default_rng(5).standard_normal(x.size))
    law = sl.laws.fit("power_law", x, 3 * x**-0.5 * noise)
    low, high = law.interval(np.array([10.0, 1e3, 1e4]), of="measurement")
    smallest, largest, beyond = np.log(high / low) / 2 / stats.norm.ppf(0.975)
    assert smallest == pytest.approx(0.02, rel=0.15)
    assert largest == pytest.approx(0.02 * 100**0.4, rel=0.15)
    assert beyond == pytest.approx(largest, rel=0.1)


def test_sentences_name_what_was_rejected_and_nothing_else():
    average = statistics.average_over_noise(FULL[None], NOISE, LOGS, correlated=True, steepest=1.0)
    found = diagnostics.Diagnosis(LINE, 0.0004, 0.03, 0.01, break_at=1234.0, average=average)
    bend, alike, noise = found.sentences
    assert "near x = 1.23e+03 (p = 0.03)" in bend
    assert f"(p < 0.001); intervals allow for a correlation of {found.correlation:.2g}" in alike
    assert found.correlation == pytest.approx(average.weight @ average.correlation)
    assert f"Noise {'grows' if found.noise_exponent > 0 else 'falls'} with size" in noise
    for name, one in (("break_pvalue", bend), ("correlation_pvalue", alike), ("noise_pvalue", noise)):
        at_limit = replace(found, **{name: diagnostics.REJECTED})
        assert len(at_limit.sentences) == 2
        assert one not in at_limit.sentences
    flipped = replace(average, noise_exponent=-average.noise_exponent)
    other = "falls" if found.noise_exponent > 0 else "grows"
    assert f"Noise {other}" in replace(found, average=flipped).sentences[2]


def test_hubers_estimate_solves_both_of_its_equations():
    """Σ ψ(r/σ) J = 0 and Σ ψ(r/σ)² = (n − p) E ψ(z)²: his Proposal 2."""
    y = np.random.default_rng(12).standard_t(2, 12)
    (beta,), (sigma,), (variance,) = statistics._huber(DESIGN[None], y[None], 1.5)
    ratio = (y - DESIGN @ beta) / sigma
    cut = np.clip(ratio, -1.5, 1.5)
    assert np.any(np.abs(ratio) > 1.5)
    mean_square, _ = integrate.quad(
        lambda z: np.clip(z, -1.5, 1.5) ** 2 * stats.norm.pdf(z), -12, 12, points=[-1.5, 1.5]
    )
    assert statistics._mean_square(1.5) == pytest.approx(mean_square)
    assert DESIGN.T @ cut == pytest.approx(np.zeros(3), abs=0.02)
    assert cut @ cut / 9 == pytest.approx(mean_square, rel=0.02)
    within = np.mean(np.abs(ratio) <= 1.5)
    assert variance == pytest.approx(sigma**2 * (cut @ cut) / 9 / within**2)


def test_blocks_are_means_of_neighbours():
    values = np.arange(10.0)[:, None]
    assert diagnostics._in_blocks(values, 10) is values
    assert diagnostics._in_blocks(values, 5)[:, 0].tolist() == [0.5, 2.5, 4.5, 6.5, 8.5]
    assert diagnostics._in_blocks(values, 9).shape == (9, 1)


def test_a_direction_that_is_in_the_span_of_the_others_is_not_free():
    columns = np.column_stack([np.ones(5), np.arange(5.0), 2 - 3 * np.arange(5.0), np.arange(5.0) ** 2])
    assert diagnostics.independent(columns).tolist() == [True, True, False, True]
    columns[0, 2] += 1e-4
    assert diagnostics.independent(columns)[2]
    columns[:, 2] = [1e-200, 0, 0, 0, 0]  # its square is zero, and a unit of it cannot be divided by
    assert diagnostics.independent(columns).tolist() == [True, True, False, True]


def test_adapted_ends_of_the_usual_interval_are_those_of_the_average():
    """Whatever the interval, it is scaled by average over usual: so the usual one becomes the average's."""
    found = LINE.diagnosis
    tests, at = found.tests, np.exp(np.array([4.0, 13.0]))
    rows, centre = tests.gradient(at), np.log(LINE.predict(at))
    inside = np.clip(np.log(at), LOGS[0], LOGS[-1])  # noise beyond the points is that of the nearest one
    for of, log_x in (("law", None), ("measurement", inside)):
        half = tests.usual(rows, 0.9, of == "measurement")
        below, above = found.average.ends(rows[None], 0.9, log_x)
        low, high = found.adapted(at, np.exp(centre - half), np.exp(centre + half), 0.9, of)
        np.testing.assert_allclose(np.log(low) - centre, np.minimum(below, 0), rtol=1e-8)
        np.testing.assert_allclose(np.log(high) - centre, np.maximum(above, 0), rtol=1e-8)
        one = found.adapted(at[1], np.exp(centre - half)[1], np.exp(centre + half)[1], 0.9, of)
        assert one == pytest.approx((low[1], high[1]))
        assert found.adapted(at[1], 0.0, np.inf, 0.9, of) == (0.0, np.inf)
    row, step = rows[1] - rows[0], centre[1] - centre[0]
    half = tests.usual(row[None], 0.9, False)[0]
    below, above = found.average.ends(row[None, None], 0.9)
    low, high = found.adapted_ratio(at, np.exp(step - half), np.exp(step + half), 0.9)
    assert (np.log(low), np.log(high)) == pytest.approx((step + below[0], step + above[0]))
    ends = {}
    for name, (value, row, log) in tests.parameter_rows().items():
        half = tests.usual(row[None], 0.9, False)[0]
        ends[name] = Interval(
            *(np.exp([value - half, value + half]) if log else (value - half, value + half))
        )
    adapted = found.adapted_parameters(ends, 0.9)
    for name, (value, row, log) in tests.parameter_rows().items():
        below, above = found.average.ends(row[None, None], 0.9)
        expected = value + below[0], value + above[0]
        assert adapted[name] == pytest.approx(tuple(np.exp(expected)) if log else expected)


def test_with_a_bend_the_interval_holds_both_continuations():
    y = np.exp(-0.4 * np.minimum(LOGS, 8) - 0.1 * np.maximum(LOGS - 8, 0) + 0.004 * RNG.standard_normal(12))
    found = sl.laws.fit("power_law", np.exp(LOGS), y, loss="squared").diagnosis
    assert found.bent is not None
    at, rows = np.exp(np.array([13.0])), found.tests.gradient(np.exp(np.array([13.0])))
    centre, half = np.log(found.law.predict(at)), found.tests.usual(rows, 0.9, False)
    low, high = (np.log(v) for v in found.adapted(at, *np.exp([centre - half, centre + half]), 0.9, "law"))
    straight = found.tests.scatter_left() * half
    design = diagnostics._with(rows, found.tests.bends(np.array([13.0])))
    below, above = found.bent.ends(design, 0.9)
    assert low[0] == pytest.approx(min(centre - straight, centre + below)[0])
    assert high[0] == pytest.approx(max(centre + straight, centre + above)[0])
    assert low[0] < -0.4 * 8 - 0.1 * 5 < high[0]


def test_correlation_is_judged_by_the_residuals_of_each_fit():
    """Those of a bend are correlated around the form without a hinge, and not around the hinge."""
    rng = np.random.default_rng(33)
    y = np.exp(-0.4 * np.minimum(LOGS, 8) - 0.1 * np.maximum(LOGS - 8, 0) + 0.03 * rng.standard_normal(12))
    law = sl.laws.fit("power_law", np.exp(LOGS), y, loss="squared")
    found = law.diagnosis
    assert found.correlation_pvalue > diagnostics.SUSPECTED
    assert found.bent.correlation.max() == 0
    assert found.average.correlation.max() > 0
    both, line = law.parameter_intervals["exponent"], parameter_profile(law)["exponent"]
    assert both.low < 0.1 < line.low < line.high < 0.4 < both.high  # before and after the bend


@pytest.mark.slow
def test_points_of_one_run_count_with_correlation_that_twelve_do_not_show():
    x, count = np.geomspace(100, 1e5, 12), np.zeros(2, int)
    for seed in range(20):
        y = law_of(x) * np.exp(0.03 * autocorrelated(np.random.default_rng([21, seed]), 12))
        for k, runs in enumerate((None, np.zeros(12))):
            low, high = sl.laws.fit("power_law_offset", x, y, runs=runs).interval(1e3)
            count[k] += low <= law_of(1e3) <= high
    assert count[0] < 17  # as of separate runs: about 70 %
    assert count[1] >= 17  # P(fewer | 95 %) < 0.02
