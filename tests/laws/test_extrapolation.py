import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.optimize import minimize
from scipy.stats import norm

import scalinglab as sl
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.extrapolation import forecasters
from scalinglab.laws.extrapolation.forecasters import (
    DAMPING,
    EXPONENTS,
    MEMORIES,
    NAMES,
    TREND_MEMORY,
    damped_trend,
    forecast,
    scatter,
)
from scalinglab.laws.extrapolation.shapes import made_monotone
from scalinglab.laws.extrapolation.stacking import continuation, extrapolate
from scalinglab.laws.weighing import smallest_on_simplex
from scalinglab.results import Reason
from tests.properties import examples
from tests.refusals import because

DATA = Path(os.environ.get("SCALINGLAB_DATA", Path(__file__).parents[3] / "shared" / "data"))
N = np.geomspace(100, 10_000, 30)


def test_clean_laws_are_continued_exactly():
    """Laws of either kind, without noise: half a percent at twice the range, two percent at eight times."""
    for law in (
        lambda x: 3 * x**-0.4,
        lambda x: 0.05 + 3 * x**-0.5,
        lambda x: np.exp(-3 + 20 * x**-0.5),
        lambda x: 0.3 + x**-0.2,
    ):
        found = extrapolate(N, law(N), at=[20_000, 80_000])
        assert np.abs(np.log(found.mean / law(found.at)))[0] < 0.005
        assert np.abs(np.log(found.mean / law(found.at)))[1] < 0.02
        assert np.all(found.trust > 0.99)


@pytest.mark.parametrize("sizes", [8, 12])
def test_a_short_smooth_curve_that_no_form_follows_is_not_shortened(sizes):
    """It steepens, so that every form foretells too little of its fall; its own backtests say so."""

    def falling(x):
        return np.exp(1 - 0.06 * np.log(x) - 0.004 * np.log(x / 1e3) ** 2)

    x = np.geomspace(1e3, 12e3, sizes)
    at = x[-1] * np.array([1.5, 3.0])
    ours = np.abs(np.log(extrapolate(x, falling(x), at=at).mean / falling(at)))
    slope, level = np.polyfit(np.log(x[-3:]), np.log(falling(x[-3:])), 1)
    straight = np.abs(level + slope * np.log(at) - np.log(falling(at)))
    assert (ours < straight / 2).all()


def test_a_curve_that_is_all_noise_stays_near_its_last_value():
    random = np.random.default_rng(1)
    y = 0.3 * np.exp(0.05 * random.standard_normal(30))
    found = extrapolate(N, y, at=30_000)
    assert np.abs(np.log(found.mean[0] / 0.3)) < 0.1
    assert found.low[0] < 0.3 < found.high[0]
    assert found.trust[0] < 0.5


def test_the_prediction_at_one_size_does_not_depend_on_the_others_asked_for():
    x = N[::3]
    y = 0.05 + 3 * x**-0.5 + 0.002 * np.sin(3 * np.arange(10))
    together = extrapolate(x, y, at=[12_000, 20_000, 1e6])
    for i, where in enumerate(together.at):
        alone = extrapolate(x, y, at=where)
        assert alone.mean[0] == pytest.approx(together.mean[i], rel=1e-12)
        assert alone.low[0] == pytest.approx(together.low[i], rel=1e-12)
        assert alone.weights == together.weights


def test_units_order_and_repeated_points_do_not_matter():
    random, x = np.random.default_rng(1), N[::3]
    y = (0.05 + 3 * x**-0.5) * np.exp(0.01 * random.standard_normal(10))
    reference = extrapolate(x, y, at=[20_000.0])
    scaled = extrapolate(1e6 * x, 100 * y, at=[2e10])
    assert scaled.mean[0] == pytest.approx(100 * reference.mean[0], rel=1e-6)
    order = random.permutation(10)
    moved = extrapolate(x[order], y[order], at=[20_000.0])
    assert moved.mean[0] == pytest.approx(reference.mean[0], rel=1e-9)
    split = extrapolate(np.repeat(x, 2), np.repeat(y, 2) * np.tile([0.9, 1.1], 10), at=[20_000.0])
    assert split.mean[0] == pytest.approx(reference.mean[0], rel=1e-9)


def test_weights_include_the_last_value_and_sum_to_one():
    found = extrapolate(N, 0.05 + 3 * N**-0.5, at=20_000)
    assert set(found.weights) == {"damped_trend", *NAMES}
    assert sum(found.weights.values()) == pytest.approx(1.0)
    assert min(found.weights.values()) >= 0
    assert {"cut", "x", "y", "predicted", "last_value"} <= set(found.backtest.columns)
    assert np.all(found.backtest["x"] > found.backtest["cut"])
    assert "backtests" in found.summary()


def test_inside_the_range_the_curve_is_interpolated():
    y = 3 * N**-0.4
    assert extrapolate(N, y, at=[500.0]).mean[0] == pytest.approx(3 * 500**-0.4, rel=1e-3)


def _noisy_curves(kind, count):
    random = np.random.default_rng(7)
    for _ in range(count):
        c, share, noise = random.uniform(0.2, 0.8), random.uniform(0, 0.8), random.choice([0.003, 0.01, 0.03])
        x = np.geomspace(100, 100 * 10 ** random.uniform(1.2, 2.5), random.integers(12, 50))
        far = np.geomspace(1.1, 2.2, 6) * x[-1]

        def law(n, c=c, share=share, kind=kind):
            z = n / 100.0
            fall = z**-c if kind == "offset" else z**-c * (1 + (z / 10) ** 2) ** (0.25 * c)  # one break
            return 0.5 * (share + (1 - share) * fall)

        y = law(x) * np.exp(noise * random.standard_normal(x.size))
        yield x, y, far, law(far) * np.exp(noise * random.standard_normal(far.size))


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["offset", "broken"])
def test_intervals_hold_as_much_as_they_promise(kind):
    """A case inside the forms and a misspecified one: nominal 95 % and 80 %, less two standard errors."""
    curves = list(_noisy_curves(kind, 50))
    for level, least in ((0.95, 0.92), (0.8, 0.74)):
        inside = []
        for x, y, far, truth in curves:
            found = extrapolate(x, y, at=far, level=level)
            inside.append(np.mean((truth >= found.low) & (truth <= found.high)))
        assert least <= np.mean(inside) <= 1.0
    assert np.mean(inside) < 0.97  # 80 % intervals are not simply enormous


@pytest.mark.slow
def test_average_pays_little_for_not_knowing_the_form():
    """Where an offset power law is the truth, fitting just that is best; the average comes near it."""
    errors = []
    for x, y, far, truth in _noisy_curves("offset", 12):
        right, wrong = (sl.laws.fit(form, x, y).predict(far) for form in ("power_law_offset", "power_law"))
        predictions = (extrapolate(x, y, at=far).mean, right, wrong, y[-1])
        errors.append([np.sqrt(np.mean(np.log(p / truth) ** 2)) for p in predictions])
    average, right, wrong, last = np.mean(errors, axis=0)
    assert right < average < 1.5 * right
    assert average < 0.5 * last
    assert average < 0.5 * wrong


def test_forecasts_agree_with_plain_least_squares_on_every_exponent():
    """The closed form against numpy's least squares, exponent by exponent, averaged by the same rule."""
    random = np.random.default_rng(2)
    x = np.log(np.geomspace(10, 1000, 15))
    y = np.exp(-0.8 + 2 * np.exp(-0.5 * x)) * np.exp(0.01 * random.standard_normal(15))
    at = np.array([7.5])
    made = dict(zip(NAMES, forecast(x, y, at)[:, 0], strict=True))
    for memory in MEMORIES:
        weight = np.exp((x - x[-1]) / memory) * np.gradient(x)
        weight /= weight.sum()
        effective = 1 / np.sum(weight**2)
        misfits, values = [], []
        for c in EXPONENTS:
            design = np.column_stack([np.ones(15), np.exp(-c * (x - x[-1]))])
            solution = np.linalg.lstsq(design * np.sqrt(weight)[:, None], np.log(y) * np.sqrt(weight))[0]
            if solution[1] < 0:
                solution = np.array([weight @ np.log(y), 0.0])
            misfits.append(weight @ (design @ solution - np.log(y)) ** 2)
            values.append(solution @ [1.0, np.exp(-c * (at[0] - x[-1]))])
        misfits = np.array(misfits)
        variance = misfits.min() * effective / max(effective - 3, 1)
        likelihood = np.exp(-effective * (misfits - misfits.min()) / (2 * variance))
        expected = likelihood @ values / likelihood.sum()
        assert made[f"log_offset@{memory:g}"] == pytest.approx(expected, abs=1e-6)


@examples(25)
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_weights_are_the_optimum_on_the_simplex(count, seed):
    factor = np.random.default_rng(seed).standard_normal((count, count + 2))
    matrix = factor @ factor.T + 0.05 * np.eye(count)
    w = smallest_on_simplex(matrix)
    reference = minimize(
        lambda v: v @ matrix @ v,
        np.full(count, 1 / count),
        jac=lambda v: 2 * matrix @ v,
        bounds=[(0, 1)] * count,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        options={"ftol": 1e-14},
    )
    assert w @ matrix @ w <= reference.fun * (1 + 1e-6) + 1e-12
    assert w.sum() == pytest.approx(1.0)


def test_bad_input_is_named():
    y = 3 * N**-0.4
    with pytest.raises(BadInput, check=because("few_sizes", sizes=3)):
        extrapolate(N[:3], y[:3], at=1e5)
    with pytest.raises(BadInput, match="positive"):
        extrapolate(N, y, at=[-1.0])
    with pytest.raises(BadInput, check=because("unusable_y", points=30)):
        extrapolate(N, y - 1.0, at=1e5)
    with pytest.raises(BadInput, match="level"):
        extrapolate(N, y, at=1e5, level=95)
    assert extrapolate(N, np.where(np.arange(30) == 3, np.nan, y), at=1e5, nan_policy="drop").mean[0] > 0


@pytest.mark.nightly
def test_public_curves_are_extrapolated_better_than_by_their_last_value():
    path = DATA / "learning-curves" / "alabdulmohsin2022" / "curves.csv"
    if not path.exists():
        pytest.skip(f"the published curves are not at {path}; set SCALINGLAB_DATA")
    scores: dict[str, list[tuple[float, float]]] = {}
    table = pd.read_csv(path).groupby(["domain", "task", "model", "is_train", "n_data"], as_index=False)
    for (domain, _, _), curve in table["loss"].mean().groupby(["domain", "task", "model"]):
        known, rest = curve[curve["is_train"] == 1], curve[curve["is_train"] == 0]
        found = extrapolate(known["n_data"], known["loss"], at=rest["n_data"])
        truth = rest["loss"].to_numpy()
        last = known.sort_values("n_data")["loss"].iloc[-1]
        rmsle = [np.sqrt(np.mean(np.log(p / truth) ** 2)) for p in (found.mean, last)]
        scores.setdefault(domain, []).append((rmsle[0], rmsle[1]))
    means = {domain: np.mean(values, axis=0) for domain, values in scores.items()}
    assert set(means) == {"IC", "NMT", "LM", "BB"}
    for ours, last in means.values():
        assert ours < last
    assert means["IC"][0] < 0.0265
    assert means["NMT"][0] < 0.0066
    assert means["LM"][0] < 0.00095
    assert means["BB"][0] < 0.0086


def test_a_constant_curve_stays_where_it_is():
    found = extrapolate(N, np.ones(N.size), at=[20_000.0, 1e6])
    assert found.mean == pytest.approx([1.0, 1.0])
    assert sum(found.weights.values()) == pytest.approx(1.0)


def test_nothing_is_claimed_below_the_smallest_size():
    with pytest.raises(BadInput, match=r"at=50 .*100"):
        extrapolate(N, 3 * N**-0.4, at=[N[0] / 2, 2e4])
    with pytest.raises(BadInput, match="at='far'"):
        extrapolate(N, 3 * N**-0.4, at="far")
    dropped = extrapolate([*N, 2e4], [*3 * N**-0.4, np.nan], at=3e4, nan_policy="drop")
    assert "1 of 31 points dropped: y is missing" in dropped.summary()


@pytest.mark.parametrize(("a", "b"), [(1e120, 1e150), (1e-120, 1e-250)])
def test_extreme_units_change_nothing(a, b):
    chance = np.random.default_rng(0)
    x = np.geomspace(100, 1e4, 10)
    y = (2 * x**-0.4 + 0.1) * np.exp(0.02 * chance.standard_normal(10))
    here, there = sl.laws.extrapolate(x, y, at=[3e4]), sl.laws.extrapolate(a * x, b * y, at=[a * 3e4])
    for name in ("mean", "low", "high"):
        np.testing.assert_allclose(getattr(there, name) / b, getattr(here, name), rtol=1e-4)
    np.testing.assert_allclose(there.backtest["y"] / b, here.backtest["y"], rtol=1e-9)
    np.testing.assert_allclose(there.beyond, here.beyond, rtol=1e-9)


def test_damped_trend_is_a_weighted_line_whose_slope_dies_out():
    """Against numpy's weighted polynomial fit and a numerical integral of the slope."""
    random = np.random.default_rng(3)
    x = np.log(np.geomspace(100, 10_000, 60))
    y = np.exp(-0.3 * (x - x[0])) * np.exp(0.01 * random.standard_normal(60))
    weight = np.exp((x - x[-1]) / TREND_MEMORY) * np.gradient(x)
    slope, level = np.polyfit(x - x[-1], np.log(y), 1, w=np.sqrt(weight))
    far = np.linspace(0, 1.5, 2001)
    integral = slope * trapezoid(np.exp(-far / DAMPING), far)
    assert damped_trend(x, y, np.array([x[-1] + 1.5]))[0] == pytest.approx(level + integral, abs=1e-6)


def test_trend_counts_where_points_are_dense_and_fades_on_a_clean_law():
    random = np.random.default_rng(5)
    noisy = 0.3 * np.exp(0.03 * random.standard_normal(60))
    dense, sparse = np.geomspace(100, 10_000, 60), np.geomspace(100, 10_000, 10)
    assert extrapolate(dense, noisy, at=2e4).weights["damped_trend"] == pytest.approx(0.5)
    assert extrapolate(sparse, noisy[:10] * sparse**-0.1, at=2e4).weights["damped_trend"] == 0
    assert extrapolate(dense, 0.05 + 3 * dense**-0.5, at=2e4).weights["damped_trend"] < 0.01


@pytest.mark.nightly
def test_six_points_give_a_band_that_is_usable_and_holds():
    random = np.random.default_rng(11)
    inside, widths, refused = [], [], 0
    for _ in range(100):
        exponent, floor = random.uniform(0.2, 0.6), random.uniform(0, 0.3)
        x = np.geomspace(100, 100 * 10 ** random.uniform(1, 1.6), 6)
        law = lambda n, c=exponent, e=floor: e + (1 - e) * (n / 100) ** -c  # noqa: E731
        y = law(x) * np.exp(0.01 * random.standard_normal(6))
        truth = law(2 * x[-1]) * np.exp(0.01 * random.standard_normal())
        try:
            found = extrapolate(x, y, at=2 * x[-1])
        except NotDetermined:  # noise alone looks like a curve that steepens in 2 of 100 sets
            refused += 1
            continue
        inside.append(found.low[0] <= truth <= found.high[0])
        widths.append(np.log(found.high[0] / found.low[0]) / 2)
    assert np.mean(inside) >= 0.9
    assert np.median(widths) < 0.4
    assert refused <= 5


def test_a_curve_that_never_rises_is_said_to_be_smoothed_and_gets_a_wider_band():
    random = np.random.default_rng(4)
    x = np.geomspace(100, 10_000, 60)
    raw = 3 * x**-0.3 * np.exp(0.02 * random.standard_normal(60))
    smoothed = np.minimum.accumulate(raw)
    found = extrapolate(x, smoothed, at=2e4)
    assert Reason("made_monotone") in found.notes
    assert not extrapolate(x, raw, at=2e4).notes
    assert not extrapolate(x, 3 * x**-0.3, at=2e4).notes  # falls without noise: no wonder
    assert made_monotone(np.log(x), smoothed)
    assert not made_monotone(np.log(x), raw)
    half = np.log(found.high[0] / found.low[0]) / 2
    assert half > 2 * np.sqrt(scatter(np.log(x), smoothed))


def test_a_curve_is_smoothed_where_noise_would_have_made_it_rise_with_a_probability_of_95_percent():
    """Two neighbours of which one is lower by d fall, too, with noise σ by the probability Φ(d/(√2 σ))."""
    log_x, falls = np.log(N), []
    for seed in range(60):
        steps = -np.random.default_rng(seed).gamma(1.0 + seed % 6, 0.01, len(N) - 1)
        y = np.exp(np.r_[0.0, np.cumsum(steps)])
        chance = norm.cdf(-steps / np.sqrt(2 * scatter(log_x, y)))
        falls.append(np.prod(chance))
        assert made_monotone(log_x, y) == (falls[-1] < 0.05)
    assert 0.2 < np.mean(np.array(falls) < 0.05) < 0.8


def _double_descent(x, place=2000.0, height=0.4):
    return 3 * x**-0.3 * np.exp(height * np.exp(-0.5 * (np.log(x / place) / 0.4) ** 2))


def test_a_curve_that_rose_gets_a_note_and_a_band_that_holds():
    random = np.random.default_rng(8)
    inside = []
    for place in np.geomspace(300, 2000, 10):
        x = np.geomspace(100, 6000, 40)
        y = _double_descent(x, place) * np.exp(0.005 * random.standard_normal(40))
        found = extrapolate(x, y, at=[7_500, 12_000])
        assert "rose" in {note.code for note in found.notes}
        truth = _double_descent(found.at, place)
        inside.extend((found.low <= truth) & (truth <= found.high))
    assert np.mean(inside) >= 0.9


def test_a_curve_that_still_rises_is_not_continued():
    x = np.geomspace(100, 2000, 40)
    with pytest.raises(NotDetermined, check=because("still_rises")):
        extrapolate(x, _double_descent(x), at=[1000.0, 3000.0])
    found = extrapolate(x, _double_descent(x), at=[1000.0])
    assert 0 < found.low[0] < _double_descent(1000.0) < found.high[0] < np.inf  # measured there


@pytest.mark.slow
def test_log_score_is_the_log_of_a_density_that_integrates_to_one():
    y = (0.05 + 3 * N**-0.5) * np.exp(0.02 * np.random.default_rng(6).standard_normal(30))
    found = extrapolate(N, y, at=20_000)
    values = np.geomspace(found.mean[0] / 5, found.mean[0] * 5, 20_001)
    same = extrapolate(N, y, at=np.full(values.size, 20_000.0))
    assert trapezoid(np.exp(same.log_score(values)), values) == pytest.approx(1.0, abs=2e-3)
    within = (values >= found.low[0]) & (values <= found.high[0])
    mass = trapezoid(np.exp(same.log_score(values))[within], values[within])
    assert mass == pytest.approx(0.95, abs=2e-3)


def test_few_sizes_of_a_curve_that_steepens_are_not_continued():
    """The law with an offset cannot follow the fall after an early plateau, near or far."""
    x = np.geomspace(1e3, 2e4, 6)
    y = np.exp(-0.1 * np.log(x / x[0]) - 0.03 * np.log(x / x[0]) ** 2)
    for at in (2.1e4, 2e5):
        with pytest.raises(NotDetermined, check=because("still_steepens")):
            extrapolate(x, y, at=at)
        with pytest.raises(NotDetermined, check=because("still_steepens")):
            continuation(x, y).interval(at)
    inside = extrapolate(x, y, at=x[-1])
    assert inside.low[0] < y[-1] < inside.high[0]
    law = 0.1 + 3 * x**-0.5
    assert extrapolate(x, law, at=2e5).notes[0].code == "rests_on_the_form"


def test_far_bands_allow_the_slope_to_change():
    """At most twice the range nothing is added; ten times on, a tenth of the slope per unit beyond 0.75."""
    ahead = np.log([2.0, 10.0])
    still = forecasters.band(ahead, 1e-6, np.zeros(2), 0.0, 0.0, 10.0)
    falling = forecasters.band(ahead, 1e-6, np.zeros(2), 0.0, 0.0, 10.0, steepest=0.3)
    added = np.sqrt(falling.spread**2 - still.spread**2)
    assert added == pytest.approx([0.0, 0.1 * 0.3 * (np.log(10) - 0.75) * np.log(10)], abs=1e-12)


@pytest.mark.slow
def test_more_checkpoints_of_a_log_do_not_widen_the_interval_and_it_holds():
    """The next points of a long log are too near to choose forecasts by: the interval was 3.6 times wider."""

    def law(steps):
        return 2.5 + 12 * np.asarray(steps) ** -0.45

    width, held = [], []
    for number in (100, 101, 400):
        steps = np.linspace(50, 20_000, number)
        for seed in range(8):
            rng = np.random.default_rng(seed)
            noise = np.exp(0.008 * rng.standard_normal(number + 1))
            found = sl.laws.extrapolate(steps, law(steps) * noise[:-1], at=4e4)
            width.append(np.log(found.high / found.low)[0])
            held.append(found.low[0] < law(4e4) * noise[-1] < found.high[0])
    fewer, *more = np.median(np.reshape(width, (3, 8)), axis=1)
    assert min(more) > 2 * 1.5 * 0.008
    assert max(more) < 1.2 * fewer
    assert min(sum(held[:16]), sum(held[:8] + held[16:])) >= 13
