"""The parts of a search for the optimal noise, against formulas and cases written out."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.noise import (
    comparisons,
    optimum,
    runs,
    stability,
)
from scalinglab.results.distributions import Estimate
from scalinglab.results.types import Reason

LEVELS = np.array([1.0, 2.0, 4.0, 8.0])
SEARCH = runs.Search(
    LEVELS,
    tuple(np.array(s) for s in ([0.8, 0.9], [0.95, 0.97, 0.96], [0.94], [0.5])),
    np.array([2, 3, 1, 3]),
)


def test_a_level_counts_where_three_quarters_of_its_runs_trained():
    assert SEARCH.usable.tolist() == [True, True, True, False]
    assert SEARCH.mean.tolist() == pytest.approx([0.85, 0.96, 0.94, -np.inf])
    pooled = np.sqrt((0.005 + 2 * 0.0001) / 3)  # variances 0.005 and 0.0001 with 1 and 2 degrees of freedom
    assert SEARCH.pooled_deviation == pytest.approx(pooled)
    spread = [np.sqrt(0.005 / 2), 0.01 / np.sqrt(3), pooled, pooled]
    assert SEARCH.stderr == pytest.approx(spread)
    assert SEARCH.repeated
    ones = runs.Search(LEVELS[:2], (np.array([0.5]), np.array([0.7])), np.array([1, 1]))
    assert not ones.repeated
    assert ones.pooled_deviation == 0
    three = runs.Search(LEVELS[:1], (np.array([0.5] * 3),), np.array([4]))
    assert three.usable.tolist() == [True]


def test_runs_are_grouped_by_level_and_rounding_does_not_split_one():
    found = runs.search(
        np.array([2.0, 2.0 * (1 + 1e-12), 4.0, 2.0]),
        np.array([0.1, 0.2, 0.3, 0.4]),
        np.array([True, True, True, False]),
    )
    assert found.level == pytest.approx([2.0, 4.0])
    assert [s.tolist() for s in found.scores] == [[0.1, 0.2], [0.3]]
    assert found.tried.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("mean", "stderr", "ends"),
    [
        ([1.0, 3.0, 5.0, 3.9, 4.5], [1.0, 1.0, 0.5, 1.0, 1.0], (2, 2)),  # 4.5 is not next to the best
        ([1.0, 4.0, 5.0, 4.2, 4.5], [9.0, 9.0, 0.5, 9.0, 9.0], (1, 4)),
        ([5.0, 4.9, 1.0, 5.0, 0.0], [0.1] * 5, (0, 1)),
    ],
)
def test_the_best_interval_holds_neighbours_within_standard_errors_of_the_best(mean, stderr, ends):
    low, high = runs.select(np.array([mean, mean[::-1]]), np.array([stderr, stderr[::-1]]))
    assert (low[0], high[0]) == ends
    if ends != (0, 1):  # where two are equally good the first is taken
        assert (4 - high[1], 4 - low[1]) == ends


def test_resampled_means_have_the_spread_of_the_runs():
    found = runs.Search(
        LEVELS[:3], (np.array([1.0, 2.0, 6.0]), np.array([4.0]), np.array([])), np.array([3, 1, 2])
    )
    means, stderrs = runs.resampled(found, 20_000, (0, 1))
    variance = np.var([1.0, 2.0, 6.0], ddof=1)
    assert means[:, 0].mean() == pytest.approx(3.0, abs=0.05)
    assert means[:, 0].var() == pytest.approx(variance / 3, rel=0.03), (
        "not the smaller one of a plain bootstrap"
    )
    assert (stderrs[:, 0] ** 2).mean() == pytest.approx(variance / 3, rel=0.05)
    assert means[:, 1].mean() == pytest.approx(4.0, abs=0.06)
    assert means[:, 1].std() == pytest.approx(np.sqrt(variance), rel=0.03)
    assert stderrs[0, 1] == pytest.approx(np.sqrt(variance))
    assert np.isinf(means[:, 2]).all()
    assert (stderrs[:, 2] == 0).all()


def test_optima_are_drawn_within_half_a_step_of_the_search():
    random = np.random.default_rng(0)
    low, high = np.full(20_000, 1), np.full(20_000, 2)
    found = runs.middles(LEVELS, low, high, random)
    assert found.min() == pytest.approx((np.sqrt(2) + 2 * np.sqrt(2)) / 2, rel=0.02)
    assert found.max() == pytest.approx((2 * np.sqrt(2) + 4 * np.sqrt(2)) / 2, rel=0.02)
    one = runs.middles(LEVELS, low, low, random)
    assert (one.min(), one.max()) == pytest.approx((np.sqrt(2), 2 * np.sqrt(2)), rel=0.01)
    assert np.log(one).mean() == pytest.approx(np.log(2), abs=0.01), "evenly in the log"
    edge = runs.middles(LEVELS, np.zeros(20_000, int), np.zeros(20_000, int), random)
    assert (edge.min(), edge.max()) == pytest.approx((1 / np.sqrt(2), np.sqrt(2)), rel=0.01)
    assert runs.middles(LEVELS[:1], low[:3], low[:3], random).tolist() == [1.0, 1.0, 1.0]


def test_an_interval_is_open_where_it_ends_with_the_search():
    low, high = np.array([0, 1, 1]), np.array([2, 2, 3])
    assert runs.open_ended(SEARCH, low, high).tolist() == [True, False, True]
    first, last, best, stderr, edge = runs.interval_of(SEARCH)
    assert (first, last, best) == (2.0, 2.0, pytest.approx(0.96))
    assert stderr == pytest.approx(0.01 / np.sqrt(3))
    assert not edge


# --- laws of the width ------------------------------------------------------------


def test_power_and_proportionality_are_least_squares():
    width, noise = np.array([1.0, 2.0, 4.0, 8.0]), np.array([[1.1, 1.8, 4.4, 7.9], [1.0, 1.0, 1.0, 1.0]])
    exponent = np.polyfit(np.log(width), np.log(noise[0]), 1)[0]
    assert optimum.powers(width, noise) == pytest.approx([exponent, 0.0], abs=1e-12)
    assert np.isnan(optimum.powers(width[:1], noise[:, :1])).all()
    slope = np.linalg.lstsq(width[:, None], noise[0], rcond=None)[0][0]
    assert optimum.proportionality(width, noise)[0] == pytest.approx(slope)


def test_a_number_of_the_optima_has_the_percentiles_of_those_that_can_be_computed():
    width, noise = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0])
    drawn = np.array([[1.0, 2.0, 4.0], [1.0, 1.0, 1.0], [np.nan, 2.0, 4.0]])
    found = optimum.statistic(optimum.powers, width, noise, drawn)
    assert (found.value, found.low, found.high) == pytest.approx((1.0, 0.025, 0.975))
    assert np.isnan(optimum.statistic(optimum.powers, width, noise, None).low)
    assert np.isnan(optimum.statistic(optimum.powers, width[:1], noise[:1], drawn[:, :1]).value)


def estimate(low, high):
    return Estimate((low + high) / 2, (high - low) / 4, low, high)


@pytest.mark.parametrize(
    ("interval", "claim", "closed", "repeated", "verdict", "why"),
    [
        ((0.5, 1.5), 1.0, 3, True, "holds",
         Reason("noise_holds", low=0.5, high=1.5, claim=1.0, others=("0",))),
        ((0.5, 0.9), 1.0, 3, True, "fails", Reason("noise_excludes", low=0.5, high=0.9, claim=1.0)),
        ((1.1, 1.9), 1.0, 3, True, "fails", Reason("noise_excludes", low=1.1, high=1.9, claim=1.0)),
        ((-0.1, 1.5), 1.0, 3, True, "cannot tell", "noise_holds_zero"),
        ((-0.5, 0.5), 0.0, 3, True, "holds",
         Reason("noise_holds", low=-0.5, high=0.5, claim=0.0, others=("-1", "1"))),
        ((-0.5, 1.5), 0.0, 3, True, "cannot tell",
         Reason("noise_holds_other", low=-0.5, high=1.5, claim=0.0, other=1.0)),
        ((-1.5, 0.5), 0.0, 3, True, "cannot tell",
         Reason("noise_holds_other", low=-1.5, high=0.5, claim=0.0, other=-1.0)),
        ((-1.5, -0.5), -1.0, 3, True, "holds", "noise_holds"),
        ((0.5, 1.5), 1.0, 2, True, "cannot tell", Reason("noise_few_inside", closed=2, needed=3)),
        ((0.5, 1.5), 1.0, 3, False, "cannot tell", "noise_run_once"),
        ((0.5, 1.5), np.nan, 3, True, "cannot tell", "noise_claim_unknown"),
        ((np.nan, np.nan), 1.0, 3, True, "cannot tell", "noise_one_width"),
    ],
)  # fmt: skip
def test_verdicts_on_a_power(interval, claim, closed, repeated, verdict, why):
    found = optimum.verdict_on(estimate(*interval), claim, closed, repeated)
    assert found[0] == verdict
    assert why in (found[1], found[1].code)


@pytest.mark.parametrize(
    ("ratio", "bounded", "verdict"),
    [
        ((0.8, 1.3), True, "settled"),
        ((0.4, 1.3), True, "cannot tell"),
        ((0.8, 2.1), True, "cannot tell"),
        ((1.1, 1.3), True, "still moving"),
        ((0.6, 0.9), True, "still moving"),
        ((0.8, 1.3), False, "cannot tell"),
        ((0.5, 1.3), True, "cannot tell"),
        ((0.8, 2.0), True, "cannot tell"),
        ((np.nan, np.nan), True, "cannot tell"),
    ],
)
def test_verdicts_on_time(ratio, bounded, verdict):
    assert comparisons.verdict_on(estimate(*ratio), bounded=bounded) == verdict


def test_ratio_of_optima_is_a_geometric_mean_over_the_widths_that_both_use():
    def found(noise, used, draws):
        return SimpleNamespace(
            width=np.array([1.0, 2.0, 4.0]),
            used=np.array(used),
            noise=np.array(noise),
            draws=np.array(draws),
            noise_interval=np.ones((2, 3)),
        )

    one = found([1.0, 2.0, 3.0], [True, True, False], [[1.0, 2.0, 3.0], [2.0, 2.0, 3.0]])
    last = found([2.0, 2.0, 9.0], [True, True, True], [[2.0, 2.0, 9.0], [2.0, 8.0, 9.0]])
    ratio = comparisons.ratio_of(one, last)
    assert ratio.value == pytest.approx(np.sqrt(0.5))
    drawn = [np.sqrt(0.5), np.sqrt(0.25)]
    assert ratio.low == pytest.approx(np.quantile(drawn, 0.025))
    none = found([1.0, 2.0, 3.0], [False, False, False], [[1.0, 2.0, 3.0]])
    assert np.isnan(comparisons.ratio_of(none, last).value)
    one.noise_interval = np.full((2, 3), np.nan)
    assert np.isnan(comparisons.ratio_of(one, last).low)


# --- stability ------------------------------------------------------------


def test_largest_stable_rate_is_where_half_of_the_runs_fail_for_good():
    rates = np.array([1.0, 2.0, 4.0, 8.0])
    shares = np.array([
        [0.0, 0.25, 0.75, 1.0], [0.6, 0.0, 0.5, 1.0],  # 0.5 is no success
        [0.5, 0.6, 1.0, 1.0], [0.0, 0.6, 1.0, 0.4],  # below and above the search
    ])  # fmt: skip
    expected = [2 * np.sqrt(2), 4.0, np.nan, np.nan]
    assert comparisons.half_fail(rates, shares) == pytest.approx(expected, nan_ok=True)
    assert comparisons.half_fail(rates, shares[:1], np.array([0.5])) == pytest.approx([4.0])


def test_none_of_two_failures_is_not_never():
    """Resampled failures use (failures + 1/2)/(runs + 1): two runs of each rate leave the crossing open."""
    rows = [
        {"width": w, "learning_rate": rate, "seed": seed, "test_error": 0.1, "diverged": rate > 4 / w}
        for w in (1.0, 2.0, 4.0) for rate in 2.0 ** np.arange(-3, 6) for seed in range(2)
    ]  # fmt: skip
    found = stability(Curves(pd.DataFrame(rows), settings=["width", "learning_rate"]))
    assert found.largest == pytest.approx(4 * np.sqrt(2) / found.width)
    assert found.exponent.value == pytest.approx(-1.0)
    # half a step alone would give a factor of 2 between the ends
    assert np.all(found.largest_interval[1] / found.largest_interval[0] > 3)


# --- ends of runs ------------------------------------------------------------


def curves(**columns):
    rows = {
        "run": np.repeat(list("abcd"), 3),
        "step": np.tile([10, 20, 40], 4),
        "width": np.repeat([1.0, 2.0], 6),
        "batch_size": np.repeat([8, 16, 8, 16], 3),
        "test_error": np.tile([0.95, 0.5, 0.2], 4),
    }
    return Curves(pd.DataFrame(rows | columns), settings=["width", "batch_size"])


def test_the_end_of_a_run_is_its_last_checkpoint_within_a_share_of_its_time():
    found = runs.ends(curves(), "batch_size")
    assert found.score.tolist() == pytest.approx([0.8] * 4)
    assert found.trained.all()
    assert runs.ends(curves(), "batch_size", share=0.5).score == pytest.approx([0.5] * 4)
    assert runs.ends(curves(), "batch_size", share=0.49).score == pytest.approx([0.05] * 4)
    assert not runs.ends(curves(), "batch_size", share=0.49).trained.any(), "no better than chance"
    assert runs.ends(curves(), "batch_size", share=0.49, trained_above=0.04).trained.all()
    with pytest.raises(BadInput, match=r"0\.2"):
        runs.ends(curves(), "batch_size", share=0.2)
    for wrong in (0.0, 1.1):
        with pytest.raises(BadInput, match="more than 0 and at most 1"):
            runs.ends(curves(), "batch_size", share=wrong)
    with pytest.raises(BadInput, match=r"batch_size.* 0"):
        runs.ends(curves(batch_size=np.repeat([0, 16, 8, 16], 3)), "batch_size")
    with pytest.raises(BadInput, match=r"width.* -1"):
        runs.ends(curves(width=np.repeat([-1.0, 2.0], 6)), "batch_size")


def test_scores_are_larger_where_runs_are_better():
    loss = runs.ends(curves(test_loss=np.tile([3.0, 2.0, 1.5], 4)), "batch_size", "test_loss")
    assert loss.score == pytest.approx([-1.5] * 4)
    assert loss.is_loss
    assert loss.trained.all(), "a loss is not compared with chance"
    accuracy = runs.ends(curves(test_accuracy=np.tile([0.1, 0.5, 0.9], 4)), "batch_size")
    assert accuracy.y == "test_accuracy"
    assert accuracy.score == pytest.approx([0.9] * 4)
    assert not accuracy.is_loss
    assert accuracy.widths.tolist() == [1.0, 2.0]
    assert accuracy.multiple().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("x", "scheme", "claim"),
    [
        ("batch_size", ["ntk"] * 4, -1.0),
        ("batch_size", ["standard"] * 4, 0.0),
        ("learning_rate", ["ntk"] * 4, 1.0),
        ("noise_scale", ["standard"] * 4, 0.0),
        ("anything", ["ntk", "standard"] * 2, 1.0),
        ("batch_size", ["ntk", "standard"] * 2, np.nan),
        ("batch_size", ["mup"] * 4, np.nan),
    ],
)
def test_claims_of_the_paper_by_what_was_searched_and_scheme(x, scheme, claim):
    ends = runs.Ends(pd.DataFrame({"parameterization": scheme}), *[np.ones(4)] * 4, x, "test_error", "width")
    assert ends.claim() == pytest.approx(claim, nan_ok=True)
