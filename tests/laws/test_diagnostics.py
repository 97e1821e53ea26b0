"""Residuals that are not what a fit assumes: seen, said, and covered."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

import scalinglab as sl
from scalinglab.laws.fitting import bend, statistics
from scalinglab.laws.fitting.bend import Bend, BendFamily, Residuals
from scalinglab.laws.fitting.uncertainty import diagnostics, intervals
from scalinglab.laws.fitting.uncertainty.form_error import Places
from scalinglab.laws.fitting.uncertainty.intervals import of_parameters
from scalinglab.laws.fitting.uncertainty.linear import MOST_POINTS, LinearFit, independent

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
    ends = [law.interval(FAR, method="profile") if plain else law.interval(FAR) for law in laws]
    return np.mean([low[0] <= truth(FAR)[0] <= high[0] for low, high in ends])


@pytest.mark.nightly
def test_pvalues_are_uniform_where_the_fit_is_right():
    rng = np.random.default_rng(0)
    found = [fitted(0.03 * rng.standard_normal(32)).diagnosis for _ in range(40)]
    for values in (
        np.array([d.correlation_pvalue for d in found]),
        np.array([d.bend.pvalue for d in found]),
        np.array([d.noise_pvalue for d in found]),
    ):
        assert 0.35 < values.mean() < 0.65
        assert np.mean(values < 0.2) < 0.4


@pytest.mark.slow
def test_correlated_noise_is_said_and_covered():
    rng = np.random.default_rng(1)
    laws = [fitted(0.03 * autocorrelated(rng, 32)) for _ in range(20)]
    assert held(laws, plain=True) < 0.75  # what the independence of points claims
    assert held(laws) >= 0.8
    assert np.mean([law.diagnosis.correlation_pvalue < 0.05 for law in laws[:10]]) > 0.6


@pytest.mark.slow
def test_a_break_that_the_form_lacks_is_placed_said_and_covered():
    rng = np.random.default_rng(2)

    def broken(x):
        x = np.asarray(x, float)
        return 3 * x**-0.4 * (1 + (x / 3e3) ** 5) ** (0.2 / 5)

    laws = [fitted(0.02 * rng.standard_normal(32), broken, "power_law") for _ in range(12)]
    assert held(laws, broken, plain=True) < 0.2
    assert held(laws, broken) > 0.9
    places = [law.diagnosis.bend.place for law in laws]
    assert 1e3 < np.median(places) < 1e4
    assert all(law.diagnosis.bend.located for law in laws)
    changes = [law.diagnosis.bend.change for law in laws]
    assert np.median(changes) == pytest.approx(-0.2, abs=0.05), "it flattens by this much"
    assert not any(law.diagnosis.bend.steepens for law in laws)


@pytest.mark.nightly
def test_noise_that_grows_with_size_is_estimated_and_covered():
    rng = np.random.default_rng(3)
    x = np.repeat(X[::2], 4)
    laws = []
    for _ in range(20):
        noise = 0.01 * (x / 100) ** 0.35 * rng.standard_normal(x.size)
        laws.append(sl.laws.fit("power_law_offset", x, law_of(x) * np.exp(noise)))
    ends = np.array([law.interval(1e6) for law in laws])
    assert np.mean((ends[:, 0] <= law_of(1e6)) & (law_of(1e6) <= ends[:, 1])) >= 0.9
    plain = np.array([law.interval(1e6, method="profile") for law in laws[:12]])
    assert np.median(np.ptp(np.log(ends[:12]), axis=1) / np.ptp(np.log(plain), axis=1)) > 1.3
    exponents = [law.diagnosis.noise_exponent for law in laws]
    assert 0.3 < np.median(exponents) < 0.6  # 0.35, and cautiously more
    assert laws[0].diagnosis.noise_pvalue < 0.05


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
    low, high = found.known(ROW[None]).ends(0.9)
    assert np.mean(drawn < low[0]) == pytest.approx(0.05, abs=0.004)
    assert np.mean(drawn > high[0]) == pytest.approx(0.05, abs=0.004)


@pytest.mark.slow
@pytest.mark.parametrize("slope", [*(pytest.param(s, marks=pytest.mark.nightly) for s in (-0.35, 0.0)), 0.35])
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
            low, high = found.known(np.array([[[1.0, at[0] - 8]]]), at).ends(0.95)
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
    assert found.known(ROW[None]).ends(0.95)[1][0] < 10 * plain.known(ROW[None]).ends(0.95)[1][0] + 0.1


@pytest.mark.parametrize("count", [5, 7])
def test_few_points_are_not_tested_but_averaged_over_noise(count):
    x = np.geomspace(1e3, 1e5, count)
    law = sl.laws.fit("power_law", x, law_of(x) * np.exp(0.02 * np.arange(count) % 0.03))
    assert not law.diagnosis.reasons
    assert np.isnan(law.diagnosis.noise_pvalue)
    low, high = law.interval(1e6)
    assert low < law.predict(1e6) < high
    assert np.log(high / low) > 1.05 * np.ptp(np.log(law.interval(1e6, method="profile")))


def test_given_errors_are_believed():
    x, error = X[:9], X[:9] ** 0.4 * law_of(X[:9]) / 1000
    y = law_of(x) + error * np.random.default_rng(8).standard_normal(9)
    law = sl.laws.fit("power_law_offset", x, y, error=error)
    assert law.diagnosis.noise_exponent == 0
    assert law.diagnosis.correlation == 0
    assert law.interval(1e4) == pytest.approx(law.interval(1e4, method="profile"), rel=1e-6)


@pytest.mark.nightly
def test_exponents_interval_counts_with_the_noise_too():
    rng = np.random.default_rng(9)
    laws = [fitted(0.03 * autocorrelated(rng, 32)) for _ in range(40)]
    holds = lambda ends: ends["exponent"].low <= 0.4 <= ends["exponent"].high  # noqa: E731
    assert np.mean([holds(law.parameter_intervals) for law in laws]) >= 0.85
    assert np.mean([holds(of_parameters(law, method="profile")) for law in laws[:24]]) < 0.75


@pytest.mark.slow
def test_many_points_are_judged_in_blocks():
    rng = np.random.default_rng(10)
    x = np.geomspace(100, 1e5, 20_000)
    law = sl.laws.fit("power_law", x, 3 * x**-0.4 * np.exp(0.03 * rng.standard_normal(x.size)))
    assert len(LinearFit(law).logs) == MOST_POINTS
    low, high = law.interval(1e6)
    ratio = np.log(high / low) / np.ptp(np.log(law.interval(1e6, method="profile")))
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


LINEAR = LinearFit(LINE)
RESIDUALS = Residuals.of(LINEAR.measured, LINEAR.design)
HINGES = BendFamily(RESIDUALS, bend.hinges(LOGS, LOGS[2:-2])[..., None])
HAT = FULL @ np.linalg.inv(FULL.T @ FULL) @ FULL.T


def test_residuals_of_the_linearised_fit_are_those_of_a_regression_in_logs():
    np.testing.assert_allclose(RESIDUALS.values, LOG_Y - HAT @ LOG_Y, atol=1e-9)
    np.testing.assert_allclose(RESIDUALS.unfitted, 1 - np.diag(HAT), atol=1e-9)
    assert RESIDUALS.dof == 10


def test_a_hinge_explains_what_a_regression_with_it_does():
    expected = [1 - squares_left(np.maximum(LOGS - at, 0)) / squares_left() for at in LOGS[2:-2]]
    np.testing.assert_allclose(HINGES.shares, expected, atol=1e-7)
    assert HINGES.best == np.argmax(expected)
    assert HINGES.squares_left == pytest.approx(squares_left(np.maximum(LOGS - LOGS[2 + HINGES.best], 0)))
    design = np.column_stack([FULL, np.maximum(LOGS - LOGS[2 + HINGES.best], 0)])
    beta, (squares,), _, _ = np.linalg.lstsq(design, LOG_Y, rcond=None)
    error = np.sqrt(squares / 9 * np.linalg.inv(design.T @ design)[2, 2])
    assert HINGES.coefficient() == pytest.approx((beta[2], error))


def test_correlation_and_trend_are_those_of_durbin_and_watson_and_of_squares_against_size():
    """p-values by draws of these very statistics, of least squares on noise."""
    noise = np.random.default_rng(0).standard_normal((bend.DRAWS, 12))
    trend = LOGS - LOGS.mean()

    def statistics_of(y):
        r = y - HAT @ y
        squares = r**2 / (1 - np.diag(HAT))
        return r[1:] @ r[:-1] / (r @ r), abs(squares @ trend) / squares.mean()

    here, drawn = statistics_of(LOG_Y), np.array([statistics_of(y) for y in noise])
    found = LINE.diagnosis
    assert found.correlation_pvalue == np.mean(drawn[:, 0] >= here[0])
    assert found.noise_pvalue == np.mean(drawn[:, 1] >= here[1])


def test_the_break_is_judged_by_draws_of_the_largest_part_that_a_hinge_explains():
    noise = np.random.default_rng(0).standard_normal((bend.DRAWS, 12))
    r = noise - noise @ HAT
    columns = np.maximum(LOGS - LOGS[2:-2, None], 0) @ (np.eye(12) - HAT)
    largest = np.max((r @ columns.T) ** 2 / np.sum(columns**2, axis=1), axis=1) / np.sum(r**2, axis=1)
    found = LINE.diagnosis.bend
    assert found.pvalue == np.mean(largest >= HINGES.shares.max())
    assert found.seen is False
    assert np.isnan(found.place)


def test_drawn_residuals_have_the_covariance_of_a_fit_to_correlated_noise():
    for rho in (0.0, 0.7):
        drawn = RESIDUALS.drawn(rho)
        assert drawn.shape == (bend.DRAWS, 12)
        rest = np.eye(12) - HAT
        covariance = rest @ (rho ** np.abs(np.subtract.outer(np.arange(12), np.arange(12)))) @ rest
        spread = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / 1000)
        assert np.max(np.abs(drawn.T @ drawn / 1000 - covariance) / spread) < 4


def gradient(at):
    return LINEAR.slopes(lambda values: np.log(LINE.form.function(at, *values)), len(at))


def test_half_width_is_that_of_a_line_through_points():
    at = np.array([4.0, 8.0, 13.0])
    rows = gradient(np.exp(at))
    np.testing.assert_allclose(rows * LINEAR.scale, np.column_stack([np.ones(3), -at]), rtol=1e-8)
    deviation = np.sqrt(squares_left() / 10)
    away = 1 / 12 + (at - LOGS.mean()) ** 2 / np.sum((LOGS - LOGS.mean()) ** 2)
    student = stats.t.ppf(0.95, 10)
    for measured in (False, True):
        expected = student * deviation * np.sqrt(away + measured)
        np.testing.assert_allclose(LINEAR.half_width(rows, 0.9, measured), expected, rtol=1e-5)


def test_bends_are_hinges_over_the_possible_places_and_a_parabola():
    found, at = diagnostics.Bends.of(HINGES, LOGS[2:-2], LOGS), np.array([4.0, 8.0, 13.0])
    places = found.places
    assert len(places) == diagnostics.TRIED_PLACES
    np.testing.assert_allclose(np.diff(places), places[1] - places[0])
    left = np.array([squares_left(np.maximum(LOGS - at, 0)) for at in LOGS[2:-2]])
    excluded = (left / left.min() - 1) * 8 > 2 * stats.f.ppf(0.99, 2, 8)
    kept, half = LOGS[2:-2][~excluded], (LOGS[1] - LOGS[0]) / 2
    assert (places[0], places[-1]) == pytest.approx((kept[0] - half, kept[-1] + half))
    np.testing.assert_allclose(found.at(at)[:-1], np.clip(at - places[:, None], 0, None))
    np.testing.assert_allclose(found.at(at)[-1], ((at - LOGS.mean()) / 6) ** 2)
    assert found.share.sum() == pytest.approx(1)
    assert found.share[-1] == 0.5


def test_noise_of_given_errors_does_not_depend_on_size():
    x, y = LINE.points.x, LINE.points.y
    given, unknown = (sl.laws.fit("power_law", x, y, error=error) for error in (0.05 * y, None))
    assert given.diagnosis.noise_exponent == 0
    assert unknown.diagnosis.noise_exponent != 0


@pytest.mark.parametrize("repeats", [40, 200])  # points beyond 500 are judged in blocks
def test_noise_beyond_the_points_is_that_of_the_nearest_one(repeats):
    """Of one more run: a law known exactly leaves the noise, which is not continued beyond the points."""
    x = np.repeat(np.geomspace(10, 1e3, 9), repeats)
    noise = np.exp(0.02 * (x / 10) ** 0.4 * np.random.default_rng(6).standard_normal(x.size))
    law = sl.laws.fit("power_law", x, 3 * x**-0.5 * noise)
    low, high = law.interval(np.array([10.0, 1e3, 1e4]), of="measurement")
    smallest, largest, beyond = np.log(high / low) / 2 / stats.norm.ppf(0.975)
    assert smallest == pytest.approx(0.02, rel=0.15)
    assert largest == pytest.approx(0.02 * 100**0.4, rel=0.15)
    assert beyond == pytest.approx(largest, rel=0.1)


def test_what_was_rejected_is_a_reason_and_nothing_else():
    found = diagnostics.Diagnosis(Bend(0.03, place=1234.0), 0.0004, 0.01, LINE.diagnosis.noise)
    assert codes(found) == ["bends_off_the_form", "correlated", "noise_changes"]
    uncorrelated = replace(found, correlation_pvalue=bend.SIGNIFICANT)
    assert codes(uncorrelated) == ["bends_off_the_form", "noise_changes"]
    assert codes(replace(found, noise_pvalue=bend.SIGNIFICANT)) == ["bends_off_the_form", "correlated"]
    assert codes(replace(found, bend=Bend(bend.SIGNIFICANT))) == ["correlated", "noise_changes"]
    assert codes(replace(found, bend=Bend(0.03))) == ["means_off_the_form", "correlated", "noise_changes"]


def codes(found: diagnostics.Diagnosis) -> list[str]:
    return [reason.code for reason in found.reasons]


def test_hubers_estimate_solves_both_of_its_equations():
    """Σ ψ(r/σ) J = 0 and Σ ψ(r/σ)² = (n − p) E ψ(z)²: his Proposal 2."""
    y = np.random.default_rng(12).standard_t(2, 12)
    (beta,), (sigma,), (variance,), _ = statistics.huber_fits(DESIGN[None], y[None], 1.5)
    ratio = (y - DESIGN @ beta) / sigma
    cut = np.clip(ratio, -1.5, 1.5)
    assert np.any(np.abs(ratio) > 1.5)
    mean_square, _ = integrate.quad(
        lambda z: np.clip(z, -1.5, 1.5) ** 2 * stats.norm.pdf(z), -12, 12, points=[-1.5, 1.5]
    )
    assert statistics.clipped_mean_square(1.5) == pytest.approx(mean_square)
    assert DESIGN.T @ cut == pytest.approx(np.zeros(3), abs=0.02)
    assert cut @ cut / 9 == pytest.approx(mean_square, rel=0.02)
    within = np.mean(np.abs(ratio) <= 1.5)
    assert variance == pytest.approx(sigma**2 * (cut @ cut) / 9 / within**2)


def test_a_direction_that_is_in_the_span_of_the_others_is_not_free():
    columns = np.column_stack([np.ones(5), np.arange(5.0), 2 - 3 * np.arange(5.0), np.arange(5.0) ** 2])
    assert independent(columns).tolist() == [True, True, False, True]
    columns[0, 2] += 1e-4
    assert independent(columns)[2]
    columns[:, 2] = [1e-200, 0, 0, 0, 0]  # its square is zero, and a unit of it cannot be divided by
    assert independent(columns).tolist() == [True, True, False, True]


def widened(law, quantity, ends, level, measured=False):
    where = None if quantity.places is None else (quantity.places.sizes[0], quantity.places.weight)
    centre = quantity.at(law.values[None])[0]
    return law.diagnosis.noise.widened(
        lambda values: quantity.at(values[None])[0], centre, ends, level, where, measured
    )


@pytest.mark.parametrize("measured", [False, True])
def test_widened_ends_of_the_usual_interval_are_those_of_the_average(measured):
    """Whatever the interval, it is scaled by average over usual: so the usual one becomes the average's."""
    models, at = LINE.diagnosis.noise, np.exp(np.array([4.0, 13.0]))
    quantity, rows, centre = intervals.law_at(LINE, at[None]), gradient(at), np.log(LINE.predict(at))
    inside = np.clip(np.log(at), LOGS[0], LOGS[-1])  # noise beyond the points is that of the nearest one
    half = LINEAR.half_width(rows, 0.9, measured)
    below, above = models.average.known(rows[None], inside if measured else None).ends(0.9)
    low, high = widened(LINE, quantity, (centre - half, centre + half), 0.9, measured)
    np.testing.assert_allclose(low - centre, np.minimum(below, 0), rtol=1e-7)
    np.testing.assert_allclose(high - centre, np.maximum(above, 0), rtol=1e-7)
    low, high = widened(LINE, quantity, (np.full(2, -np.inf), centre + half), 0.9, measured)
    assert np.isinf(low).all(), "an open end stays open"


def test_a_ratio_and_parameters_are_widened_by_the_same_average():
    models, at = LINE.diagnosis.noise, np.exp(np.array([4.0, 13.0]))
    ratio = intervals.sum_of_logs(LINE, Places(at[None, None], np.array([[-1.0, 1.0]])))
    rows = {"ratio": np.diff(gradient(at), axis=0), "parameters": np.eye(2)[[0, 1, 1]] / LINEAR.scale}
    for name, quantity in (("ratio", ratio), ("parameters", intervals.parameters_of(LINE))):
        centre, half = quantity.at(LINE.values[None])[0], LINEAR.half_width(rows[name], 0.9, False)
        below, above = models.average.known(rows[name][None]).ends(0.9)
        low, high = widened(LINE, quantity, (centre - half, centre + half), 0.9)
        np.testing.assert_allclose(low - centre, below, rtol=1e-6)
        np.testing.assert_allclose(high - centre, above, rtol=1e-6)


def test_with_a_bend_the_interval_holds_both_continuations():
    y = np.exp(-0.4 * np.minimum(LOGS, 8) - 0.1 * np.maximum(LOGS - 8, 0) + 0.004 * RNG.standard_normal(12))
    law = sl.laws.fit("power_law", np.exp(LOGS), y, loss="squared")
    models, at = law.diagnosis.noise, np.exp(np.array([13.0]))
    assert law.diagnosis.bend.change == pytest.approx(-0.3, abs=0.02)
    linear, quantity, centre = (
        LinearFit(law),
        intervals.law_at(law, at[None]),
        np.log(law.predict(at)),
    )
    rows = linear.slopes(lambda values: np.log(law.form.function(at, *values)), 1)
    half = linear.half_width(rows, 0.9, False)
    low, high = widened(law, quantity, (centre - half, centre + half), 0.9)
    rest = [np.sum((np.log(y) - d @ np.linalg.lstsq(d, np.log(y), rcond=None)[0]) ** 2) for d in (
        FULL, np.column_stack([FULL, np.maximum(LOGS - np.log(law.diagnosis.bend.place), 0)])
    )]  # fmt: skip
    straight = np.sqrt(rest[1] / rest[0] * 10 / 8) * half  # the scatter is that around the bend
    columns = models.bends.at(np.array([13.0]))
    designs = np.concatenate([np.broadcast_to(rows, (len(columns), 1, 2)), columns[..., None]], axis=-1)
    below, above = models.bent.known(designs).ends(0.9)
    assert low[0] == pytest.approx(min(centre - straight, centre + below)[0], rel=1e-5)
    assert high[0] == pytest.approx(max(centre + straight, centre + above)[0], rel=1e-5)
    assert low[0] < -0.4 * 8 - 0.1 * 5 < high[0]


def test_correlation_is_judged_by_the_residuals_of_each_fit():
    """Those of a bend are correlated around the form without a hinge, and not around the hinge."""
    rng = np.random.default_rng(33)
    y = np.exp(-0.4 * np.minimum(LOGS, 8) - 0.1 * np.maximum(LOGS - 8, 0) + 0.03 * rng.standard_normal(12))
    law = sl.laws.fit("power_law", np.exp(LOGS), y, loss="squared")
    found = law.diagnosis
    assert found.correlation_pvalue > diagnostics.SUSPECTED
    assert found.noise.bent.correlation.max() == 0
    assert found.noise.average.correlation.max() > 0
    both, line = (
        law.parameter_intervals["exponent"],
        of_parameters(law, method="profile")["exponent"],
    )
    assert both.low < 0.1 < line.low < line.high < 0.4 < both.high  # before and after the bend


@pytest.mark.nightly
def test_points_of_one_run_count_with_correlation_that_twelve_do_not_show():
    x, count = np.geomspace(100, 1e5, 12), np.zeros(2, int)
    for seed in range(20):
        y = law_of(x) * np.exp(0.03 * autocorrelated(np.random.default_rng([21, seed]), 12))
        for k, runs in enumerate((None, np.zeros(12))):
            low, high = sl.laws.fit("power_law_offset", x, y, runs=runs).interval(1e3)
            count[k] += low <= law_of(1e3) <= high
    assert count[0] < 17  # as of separate runs: about 70 %
    assert count[1] >= 17  # P(fewer | 95 %) < 0.02
