"""Scores from losses in two stages with the error carried along, and the optimum that counts inference."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.downstream import two_stage
from scalinglab.laws.planning.inference import inference_optimal

COMPUTE = np.geomspace(1e19, 1e22, 12)
LOSS = 1.7 + 40 * COMPUTE**-0.09


def test_error_from_loss_is_recovered_at_values_of_published_size():
    loss = np.linspace(2.2, 4.0, 15)
    law = sl.laws.fit("error_from_loss", loss, 0.850 - 2.08 * np.exp(-0.756 * loss), space="raw")
    assert law.parameters == pytest.approx({"ceiling": 0.850, "k": 2.08, "gamma": 0.756}, rel=1e-4)


def test_sigmoid_from_loss_is_recovered_with_its_chance_level():
    loss = np.linspace(0.4, 2.0, 21)
    score = 0.25 + 0.6 / (1 + np.exp(6 * (loss - 1.1)))
    law = sl.laws.fit("score_from_loss", loss, score, space="raw")
    assert list(law.parameters.values()) == pytest.approx([0.25, 0.6, 6.0, 1.1], rel=1e-4)
    assert law.derived["ceiling"] == pytest.approx(0.85, rel=1e-4)


def test_two_stages_predict_the_score_far_ahead():
    both = two_stage("power_law_offset", COMPUTE, LOSS, score=0.85 - 2.1 * np.exp(-0.76 * LOSS))
    ahead = 1.7 + 40 * 1e24**-0.09
    assert both.predict(1e24) == pytest.approx(0.85 - 2.1 * np.exp(-0.76 * ahead), rel=1e-4)


@pytest.mark.slow
def test_interval_of_two_stages_holds_a_new_measurement():
    hits = 0
    for seed in range(8):
        random = np.random.default_rng(seed)
        loss = LOSS * np.exp(0.003 * random.standard_normal(12))
        error = 0.85 - 2.1 * np.exp(-0.76 * loss) + 0.004 * random.standard_normal(12)
        both = two_stage("power_law_offset", COMPUTE, loss, score=error)
        low, high = both.interval(1e23, level=0.9, draws=100, seed=seed)
        truth = 1.7 + 40 * 1e23**-0.09
        hits += low <= 0.85 - 2.1 * np.exp(-0.76 * truth) + 0.004 * random.standard_normal() <= high
    assert hits >= 5  # 90 % of 8 within three standard deviations


@pytest.fixture(scope="module")
def surface():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e7, 1e10, 6), np.geomspace(1e9, 1e12, 6)))
    return sl.laws.surface.fit(n, d, 1.8172 + 477.83 * n**-0.34731 + 2143.4 * d**-0.36717)


def test_without_use_the_optimum_is_the_compute_optimal_one(surface):
    best = surface.compute_optimal(1e21, intervals=False)
    plan = inference_optimal(surface, best.loss, 0.0)
    assert plan.n_params == pytest.approx(best.n_params, rel=1e-3)
    assert plan.training == pytest.approx(1e21, rel=1e-4)
    assert plan.saved == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
def test_the_cheapest_model_is_that_of_a_fine_grid(surface):
    """Along the curve of equal loss, by the formula of the surface; with other FLOPs, too."""
    loss = surface.compute_optimal(1e21, intervals=False).loss
    n = np.geomspace(1e8, 1e10, 200001)
    with np.errstate(invalid="ignore"):
        d = ((loss - 1.8172 - 477.83 * n**-0.34731) / 2143.4) ** (-1 / 0.36717)
    sizes = []
    other = {"flops_per_param_example": 8.0, "flops_of_use": 1.0}
    for used, training, use, given in ((1e11, 6, 2, {}), (1e13, 6, 2, {}), (1e13, 8, 1, other)):
        found = inference_optimal(surface, loss, used, **given)
        cost = training * n * d + use * n * used
        best = np.nanargmin(cost)
        assert found.n_params == pytest.approx(n[best], rel=2e-3)
        assert found.n_data == pytest.approx(d[best], rel=1e-2)
        assert found.training + found.inference == pytest.approx(cost[best], rel=1e-6)
        alone = np.nanargmin(n * d)
        assert found.saved == pytest.approx(cost[alone] / cost[best] - 1, rel=1e-3)
        sizes.append(found.n_params)
    assert sizes[0] > sizes[2] > sizes[1], "the more use counts, the smaller the model"


@pytest.mark.slow
def test_a_model_that_is_used_has_the_interval_of_its_loss_and_says_how_far_it_is():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e9, 4), np.geomspace(2e9, 4e10, 4)))
    noise = np.random.default_rng(0).standard_normal(n.size)
    loss = 1.8172 + 477.83 * n**-0.34731 + 2143.4 * d**-0.36717
    fitted = sl.laws.surface.fit(n, d, loss * np.exp(0.003 * noise))
    found = inference_optimal(fitted, 2.4, 1e11)
    assert tuple(found.loss_interval) == tuple(fitted.interval(n_params=found.n_params, n_data=found.n_data))
    assert found.loss_interval.low < 2.4 < found.loss_interval.high
    assert found.beyond == pytest.approx(found.training / (6 * n * d).max())
    assert found.beyond > 1
    far = f"FLOPs in all, training {found.beyond:.3g} times the largest compute measured, if the exponents"
    assert far in found.summary()
    assert "measured" not in replace(found, beyond=0.5).summary()
    with pytest.raises(NotDetermined, match="do not determine the best model at"):
        inference_optimal(fitted, 1.9, 0.0)  # 1e5 times as far
    open_exponent = sl.laws.surface.fit(n, d, loss * np.exp(0.1 * noise))
    with pytest.raises(NotDetermined, match="16 runs do not determine"):
        inference_optimal(open_exponent, 2.4, 1e11)


def test_a_loss_below_the_floor_is_refused(surface):
    with pytest.raises(BadInput, match="below the floor"):
        inference_optimal(surface, 1.5, 1e12)


def test_interval_of_a_score_counts_its_scatter_and_the_error_of_its_law():
    """Among the points that of one more score; beyond them the law's error grows; stage one adds its own."""
    compute, sigma = np.geomspace(1e18, 1e22, 60), 0.005
    loss = 4 * (compute / 1e18) ** -0.08
    error = 0.85 - 2.1 * np.exp(-0.76 * loss) + sigma * np.random.default_rng(4).standard_normal(60)
    both = two_stage("power_law", compute, loss, score=error)
    (low, far_low), (high, far_high) = both.interval(np.array([1e20, 1e28]))
    assert high - low == pytest.approx(2 * 1.96 * sigma, rel=0.3)
    assert far_high - far_low > 4 * (high - low)
    noisy = loss * np.exp(0.1 * np.random.default_rng(5).standard_normal(60))
    low, high = two_stage("power_law", compute, noisy, score=error, scored_loss=loss).interval(1e22)
    exact_low, exact_high = both.interval(1e22)
    assert high - low > 2 * (exact_high - exact_low)


def test_interval_of_a_score_counts_the_scatter_of_the_loss():
    """With an exact law of the score, among many points, the score scatters by dε/dL times the loss's own."""
    compute, sigma = np.geomspace(1e18, 1e22, 200), 0.02
    exact = 4 * (compute / 1e18) ** -0.08
    loss = exact * np.exp(sigma * np.random.default_rng(6).standard_normal(200))
    both = two_stage("power_law", compute, loss, score=0.85 - 2.1 * np.exp(-0.76 * loss))
    low, high = both.interval(1e20)
    middle = 4 * 100**-0.08
    slope = 2.1 * 0.76 * np.exp(-0.76 * middle)
    assert high - low == pytest.approx(2 * 1.96 * sigma * middle * slope, rel=0.2)


def test_scores_and_predictions_are_drawn_against_the_loss():
    random = np.random.default_rng(7)
    error = 0.85 - 2.1 * np.exp(-0.76 * LOSS) + 0.004 * random.standard_normal(12)
    both = two_stage("power_law_offset", COMPUTE, LOSS, score=error)
    at = np.array([1e23, 1e24])
    axes = both.plot(at=at, level=0.9, x="loss", y="error")
    curve, measured, stars = axes.lines
    assert sorted(measured.get_ydata()) == pytest.approx(sorted(error))
    assert stars.get_xdata() == pytest.approx(both.loss.predict(at))
    assert stars.get_ydata() == pytest.approx(both.predict(at))
    (bars,) = axes.collections
    ends = np.array([segment[:, 1] for segment in bars.get_segments()]).T
    assert ends == pytest.approx(np.array(both.interval(at, 0.9)))
    assert curve.get_xdata().min() == pytest.approx(both.loss.predict(1e24))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("loss", "error")


def test_checkpoints_of_a_run_are_resampled_together():
    """Errors that a run's checkpoints share do not average out."""
    random = np.random.default_rng(3)
    run = np.repeat(np.arange(10), 20)
    loss = np.tile(np.linspace(2.2, 3.4, 20), 10)
    error = (
        0.85
        - 2.1 * np.exp(-0.76 * loss)
        + 0.02 * random.standard_normal(10)[run]
        + 0.001 * random.standard_normal(200)
    )
    sizes = np.geomspace(1e3, 1e6, 20), np.linspace(3.4, 2.2, 20)
    laws = [
        two_stage("power_law", *sizes, score=error, scored_loss=loss, scored_runs=labels)
        for labels in (run, None)
    ]
    together, apart = (sl.laws.bootstrap(law.score, draws=200).interval(2.5) for law in laws)
    assert together[1] - together[0] > 2 * (apart[1] - apart[0])


SIZES = [v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e9, 4), np.geomspace(1e9, 1e11, 4))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "sizes", "place", "times"),
    [
        ("power_law", COMPUTE, [1e23, 1e24], [10, 100]),
        ("chinchilla", SIZES, [[1e10], [2e11]], [20]),
        ("transfer", [*SIZES, np.tile([1e7, 2e7], 8)], [[1e9], [1e8], [1]], [np.nan]),
    ],
)
def test_how_far_beyond_the_runs_is_counted_in_parameters_times_data(form, sizes, place, times):
    size = np.atleast_2d(sizes).prod(axis=0)
    loss = 1 + 4 * (size / size.min()) ** -0.1
    both = two_stage(form, sizes if form == "power_law" else tuple(sizes), loss, score=0.1 * loss)
    names = both.loss.form.variables
    at = np.array(place) if len(names) == 1 else dict(zip(names, np.array(place), strict=True))
    assert both.beyond(at) == pytest.approx(times, nan_ok=True)


@pytest.mark.slow
def test_a_table_gives_what_its_columns_give_and_rows_without_a_score_count_for_the_loss():
    random = np.random.default_rng(1)
    loss = LOSS * np.exp(0.003 * random.standard_normal(12))
    error = 0.85 - 2.1 * np.exp(-0.76 * loss) + 0.004 * random.standard_normal(12)
    error[:2] = np.nan
    table = pd.DataFrame({"compute": COMPUTE, "loss": loss, "task_error": error})
    found = two_stage("auto", table, x="compute", y="loss", score="task_error")
    same = two_stage("power_law_offset", COMPUTE, loss, score=error)
    assert found.names == ("compute", "loss", "task_error")
    assert (len(found.loss.points.y), len(found.score.points.y)) == (12, 10)
    row = found.predictions(np.array([1e23]), 0.9).iloc[0]
    assert row["task_error"] == pytest.approx(same.predict(1e23))
    assert (row["low"], row["high"]) == pytest.approx(same.interval(1e23, 0.9))
    assert row["loss"] == pytest.approx(same.loss.predict(1e23))
    with pytest.raises(BadInput, match="needs a column of each of n_params, n_data"):
        two_stage("chinchilla", table, x="compute", y="loss", score="task_error")
