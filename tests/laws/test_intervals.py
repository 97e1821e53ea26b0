"""Intervals: profiles against refits and closed forms, bootstraps over runs, coverage in small studies."""

import numpy as np
import pytest
from scipy import stats

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws.fitting.uncertainty import intervals
from scalinglab.laws.fitting.uncertainty.form_error import FormError, Places
from scalinglab.results.distributions import interval

X = np.geomspace(100, 1e5, 12)


def truth(x):
    return 0.05 + 3 * np.asarray(x) ** -0.4


def noisy(seed: int, noise: float = 0.03) -> np.ndarray:
    return truth(X) * np.exp(noise * np.random.default_rng(seed).standard_normal(X.size))


def test_profile_of_a_straight_line_is_the_textbook_interval():
    y = 2 * X**-0.3 * np.exp(0.05 * np.random.default_rng(0).standard_normal(X.size))
    law = sl.laws.fit("power_law", X, y, loss="squared")
    at = np.array([50.0, 3e3, 1e7])
    u, v = np.log(X), np.log(y)
    line = stats.linregress(u, v)
    rest = v - line.intercept - line.slope * u
    s = np.sqrt(rest @ rest / (X.size - 2))
    spread = s * np.sqrt(1 / X.size + (np.log(at) - u.mean()) ** 2 / np.sum((u - u.mean()) ** 2))
    half = stats.t.ppf(0.975, X.size - 2) * spread
    low, high = law.interval(at, method="profile")
    assert np.log(high / law.predict(at)) == pytest.approx(half, rel=3e-3)
    assert np.log(law.predict(at) / low) == pytest.approx(half, rel=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["huber", "squared"])
def test_a_fit_with_a_parameter_held_at_the_end_of_its_profile_is_worse_by_students_quantile(loss):
    """2 (S − S_min)/scale = t², by fits of their own with the parameter held."""
    y = noisy(1) * np.where(np.arange(X.size) == 3, 1.2, 1.0)  # an outlier, which Huber's function bounds
    law = sl.laws.fit("power_law_offset", X, y, loss=loss)
    quantile = stats.t.ppf(0.95, X.size - 3)
    options = {"loss": loss, "delta": law.delta if loss == "huber" else None}
    found = intervals.of_parameters(law, 0.9, "profile")
    assert set(found) == {"offset", "amplitude", "exponent"}
    for name, ends in found.items():
        assert ends.low < law.parameters[name] < ends.high
        for end in ends:
            held = sl.laws.fit("power_law_offset", X, y, bounds={name: (end, end)}, **options)
            worse = 2 * (held.objective - law.objective) / law.scale
            assert np.sqrt(worse) == pytest.approx(quantile, rel=3e-3)


def test_a_quantity_that_the_points_leave_open_has_an_infinite_end():
    """Two points beyond a floor: the exponent has a lower end and no upper one."""
    x = np.array([10.0, 1e3, 1e4, 1e5, 1e6])
    law = sl.laws.fit("power_law_offset", x, np.array([1.0, 0.1002, 0.0999, 0.1001, 0.0998]), loss="squared")
    low, high = law.parameter_intervals["exponent"]
    assert low > 0.5
    assert high == np.inf
    assert law.to_dict()["identified_parameters"]["exponent"] is False


def test_with_every_parameter_at_a_bound_the_walk_still_finds_the_end():
    """No direction is free where the fit stands, and none has a linear spread to start from."""
    x = np.geomspace(10, 1e4, 6)
    y, bounds = 1.9 * x**-0.4, {"amplitude": (2.0, 9.0), "exponent": (0.1, 0.3)}
    law = sl.laws.fit("power_law", x, y, bounds=bounds, loss="squared")
    assert set(law.certificate.at_bound) == {"amplitude", "exponent"}
    low, high = intervals.of_parameters(law, 0.9, "profile")["amplitude"]
    assert low == 2.0
    held = sl.laws.fit("power_law", x, y, bounds={**bounds, "amplitude": (high, high)}, loss="squared")
    worse = 2 * (held.objective - law.objective) / law.scale
    assert np.sqrt(worse) == pytest.approx(stats.t.ppf(0.95, 4), rel=3e-3)


def test_one_function_makes_the_interval_of_the_law_of_a_ratio_and_with_what_the_form_may_miss():
    law = sl.laws.fit("power_law_offset", X, noisy(3))
    at = np.array([1e3, 1e6])
    low, high = intervals.interval(law, intervals.law_at(law, at[None]), 0.9, "profile")
    assert np.array([low, high]) == pytest.approx(np.array(law.interval(at, 0.9, method="profile")))
    ratio = intervals.sum_of_logs(law, Places(at[None, None], np.array([[-1.0, 1.0]])))
    assert ratio.at(law.values[None])[0] == pytest.approx(np.diff(np.log(law.predict(at))))
    (low,), (high,) = intervals.interval(law, ratio, 0.9, "profile")
    assert low < law.predict(1e6) / law.predict(1e3) < high
    drawn = sl.laws.bootstrap(law, draws=500)
    (first,), (last,) = intervals.interval(law, ratio, 0.9, drawn=drawn)
    curves = drawn.predict(at)
    assert (first, last) == pytest.approx(interval(drawn.known(curves[:, 1] / curves[:, 0]), 0.9))
    wider = law.interval(1e6, of="measurement", form_error=FormError)
    assumed = law.interval(1e6, of="measurement")
    assert wider.low <= assumed.low < assumed.high <= wider.high
    assert np.log(wider.high / wider.low) > 1.01 * np.log(assumed.high / assumed.low)


def test_profile_is_lopsided_where_the_problem_is():
    law = sl.laws.fit("power_law_offset", X, noisy(4, noise=0.1))
    low, high = law.interval(1e7)
    up, down = np.log(high / law.predict(1e7)), np.log(law.predict(1e7) / low)
    assert down > 1.2 * up  # a floor can hide below the points, not above them


def test_interval_at_one_size_is_a_number_and_of_a_measurement_is_wider():
    law = sl.laws.fit("power_law_offset", X, noisy(0))
    low, high = law.interval(1e6)
    assert isinstance(low, float)
    assert low < law.predict(1e6) < high
    wide = law.interval(1e6, of="measurement")
    assert wide.low < low
    assert wide.high > high


def test_noise_free_data_have_no_width():
    law = sl.laws.fit("power_law_offset", X, truth(X))
    low, high = law.interval([1e6])
    assert low == pytest.approx(truth([1e6]), rel=1e-6)
    assert high == pytest.approx(truth([1e6]), rel=1e-6)


def test_no_freedom_means_no_interval():
    law = sl.laws.fit("power_law", X[:2], truth(X[:2]))
    assert law.interval(1e6) == (0.0, np.inf)
    assert np.isnan(law.exponent)
    assert law.unidentified.code == "no_freedom_left"


def test_level_orders_intervals_and_wrong_levels_are_refused():
    law = sl.laws.fit("power_law", X, noisy(0))
    narrow, wide = law.interval(1e6, 0.5), law.interval(1e6, 0.99)
    assert wide.low < narrow.low < narrow.high < wide.high
    with pytest.raises(BadInput, match=r"between 0 and 1"):
        law.interval(1e6, 95)
    with pytest.raises(BadInput, match="'auto', 'profile' or 'bootstrap'"):
        law.interval(1e6, method="magic")


def runs_of_curves(seed: int, runs: int = 12, within: float = 0.02, between: float = 0.05):
    """Runs that each cover every size and share a deviation: points of one run are not independent."""
    rng = np.random.default_rng(seed)
    shared = between * rng.standard_normal((runs, 1))
    y = truth(X) * np.exp(shared + within * rng.standard_normal((runs, X.size)))
    return np.tile(X, runs), y.ravel(), np.repeat(np.arange(runs), X.size)


@pytest.mark.slow
def test_bootstrap_resamples_runs_not_points():
    x, y, runs = runs_of_curves(0)
    blocked = sl.laws.fit("power_law_offset", x, y, runs=runs)
    blind = sl.laws.fit("power_law_offset", x, y)
    by_runs = sl.laws.bootstrap(blocked, draws=400)
    assert by_runs.runs == 12
    assert by_runs.scheme == "resample"
    wide = np.diff(np.log(by_runs.interval(1e3)))[0]
    narrow = np.diff(np.log(sl.laws.bootstrap(blind, draws=400).interval(1e3)))[0]
    assert wide > 2 * narrow  # the shared deviation of a run does not average out over its points
    assert blocked.interval(1e3) == pytest.approx(sl.laws.bootstrap(blocked).interval(1e3))


def test_bootstrap_error_of_a_shared_deviation_is_its_standard_error():
    x, y, runs = runs_of_curves(1, runs=40, within=0.005, between=0.05)
    law = sl.laws.fit("power_law_offset", x, y, runs=runs, loss="squared")
    drawn = np.log(sl.laws.bootstrap(law, draws=600).predict(1e3))
    assert np.std(drawn) == pytest.approx(0.05 / np.sqrt(40), rel=0.3)


def test_wild_bootstrap_keeps_every_size_and_agrees_with_the_linear_theory():
    rng = np.random.default_rng(2)
    x = np.repeat(X, 3)
    y = 2 * x**-0.3 * np.exp(0.05 * rng.standard_normal(x.size))
    law = sl.laws.fit("power_law", x, y, loss="squared", runs=np.arange(x.size))
    drawn = sl.laws.bootstrap(law, draws=2000, scheme="wild")
    line = stats.linregress(np.log(x), np.log(y))
    assert drawn.errors()["exponent"] == pytest.approx(line.stderr, rel=0.15)


def test_bootstrap_is_reproducible_and_refuses_too_few_runs():
    law = sl.laws.fit("power_law", X, noisy(0))
    assert np.array_equal(sl.laws.bootstrap(law, 50).values, sl.laws.bootstrap(law, 50).values)
    two = sl.laws.fit("power_law", X, noisy(0), runs=np.arange(X.size) % 2)
    with pytest.raises(BadInput, match="at least 3 runs"):
        sl.laws.bootstrap(two)


@pytest.mark.nightly
def test_profile_intervals_cover_the_truth():
    """60 data sets; the full study, with its limits on both sides, is benchmarks/coverage.py."""
    at = np.array([1e3, 1e6])
    hits = []
    for seed in range(60):
        low, high = sl.laws.fit("power_law_offset", X, noisy(seed)).interval(at)
        hits.append((low <= truth(at)) & (truth(at) <= high))
    assert np.all(np.sum(hits, axis=0) >= 52)  # P(fewer | 95 %) < 0.005


def test_the_interval_of_a_law_knows_of_runs():
    """Twelve runs over the same sizes, each with its own luck at all of them."""
    rng = np.random.default_rng(0)
    x = np.tile(np.geomspace(100, 1e4, 8), 12)
    runs = np.repeat(np.arange(12), 8)
    luck = 0.1 * rng.standard_normal(12)[runs]
    y = 3 * x**-0.4 * np.exp(luck + 0.001 * rng.standard_normal(x.size))
    ends = [
        sl.laws.fit("power_law_offset", x, y, runs=labels).interval(1e3, 0.6827, method)
        for labels, method in ((runs, "bootstrap"), (None, "profile"))
    ]
    aware, blind = (np.log(high / low) / 2 for low, high in ends)
    assert aware == pytest.approx(0.1 / np.sqrt(12), rel=0.5)
    assert blind < aware / 2


@pytest.mark.parametrize("seed", [4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (5, 6))])
def test_a_floor_that_is_fitted_as_zero_has_an_upper_end(seed: int):
    """Of a power law without a floor: the end where refits with a given floor miss the points too far."""
    x = np.repeat(np.geomspace(1e3, 1e6, 8), 3)
    y = 2 * x**-0.3 * np.exp(0.02 * np.random.default_rng(seed).standard_normal(24))
    law = sl.laws.fit("power_law_offset", x, y, loss="squared")
    assert law.parameters["offset"] == 0
    low, high = law.parameter_intervals["offset"]
    floors = np.linspace(2e-4, 0.01, 50)
    held = [sl.laws.fit("power_law_offset", x, y, loss="squared", bounds={"offset": (e, e)}) for e in floors]
    misses = np.sqrt(2 * (np.array([each.objective for each in held]) - law.objective) / law.scale)
    end = np.interp(stats.t.ppf(0.975, law.dof), misses, floors)
    assert low == 0
    assert end * 0.99 < high < 4 * end  # uneven noise may widen it
