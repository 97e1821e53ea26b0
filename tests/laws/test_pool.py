"""Choosing experiments from a pool with costs: what is saved is what a refit saves, and the gain is real."""

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws.planning import pool

TRUTH = (0.1, 5.0, 0.4)
SIZES = np.geomspace(1e2, 1e5, 40)


def measure(places, noise=0.01, seed=0):
    random = np.random.default_rng([seed, *np.atleast_1d(places)])
    x = SIZES[places]
    return (TRUTH[0] + TRUTH[1] * x ** -TRUTH[2]) * np.exp(noise * random.standard_normal(len(x)))


def start(seed=0):
    places = np.arange(0, 12)
    return places, measure(places, seed=seed)


def test_expected_deviation_is_that_of_the_refitted_covariance():
    """The deviation promised after the batch against JᵀJ with the batch's rows added, from scratch."""
    places, y = start()
    law = sl.laws.fit("power_law_offset", SIZES[places], y, loss="squared")
    found = pool.choose(law, SIZES, SIZES, [1e6], budget=3e4, taken=places, doubt=0.0)
    x = np.concatenate([SIZES[places], SIZES[found.index]])

    def slopes(at):
        e, a, c = (law.parameters[n] for n in ("offset", "amplitude", "exponent"))
        curve = e + a * at**-c
        return np.stack([np.ones_like(at), at**-c, -a * at**-c * np.log(at)], axis=-1) / curve[:, None]

    jacobian, target = slopes(x), slopes(np.array([1e6]))[0]
    expected = np.sqrt(law.variance * target @ np.linalg.inv(jacobian.T @ jacobian) @ target)
    assert found.after[-1] == pytest.approx(expected, rel=1e-4)
    assert found.cost.sum() <= 3e4
    assert len(set(found.index) & set(places)) == 0


@pytest.mark.slow
def test_sequence_spends_no_more_than_the_budget_and_beats_the_cheapest():
    costs, target = SIZES, np.array([1e6])
    truth = TRUTH[0] + TRUTH[1] * target[0] ** -TRUTH[2]
    ours, cheap = [], []
    for seed in range(16):
        done = pool.sequence(
            "power_law_offset", SIZES, costs, target, lambda i, s=seed: measure(i, seed=s), budget=5e4
        )
        assert done.spent <= 5e4
        assert done.spent == pytest.approx(costs[done.index].sum())
        ours.append(done.laws[0].predict(target)[0] / truth - 1)
        first = np.flatnonzero(np.cumsum(costs) <= 5e4)
        law = sl.laws.fit("power_law_offset", SIZES[first], measure(first, seed=seed))
        cheap.append(law.predict(target)[0] / truth - 1)
    assert np.sqrt(np.mean(np.square(ours))) < 0.9 * np.sqrt(np.mean(np.square(cheap)))


def test_sequence_stops_where_nothing_is_worth_its_cost():
    done = pool.sequence(
        "power_law", SIZES, SIZES, [2e5], lambda i: 3 * SIZES[i] ** -0.3, budget=1e9, tolerance=0.2
    )
    assert "saves 20 %" in done.stopped
    assert len(done.index) < len(SIZES)


def test_sequence_refits_after_a_part_of_what_is_left():
    """A batch takes a quarter of what is left, or one run that costs more if no cheaper one is worth it."""
    batches = []

    def measured(places):
        batches.append(SIZES[places])
        return measure(places)

    pool.sequence("power_law_offset", SIZES, SIZES, [1e6], measured, budget=5e4)
    left = 5e4 - np.cumsum([batch.sum() for batch in batches])
    assert len(batches) >= 4
    for batch, before in zip(batches[1:], left, strict=False):
        assert len(batch) == 1 or batch.sum() <= 0.25 * before * (1 + 1e-9)


def test_doubt_about_the_form_counts_by_default():
    places, y = start()
    law = sl.laws.fit("power_law_offset", SIZES[places], y)
    trusting = pool.choose(law, SIZES, SIZES, [1e6], budget=3e4, taken=places, doubt=0.0)
    doubting = pool.choose(law, SIZES, SIZES, [1e6], budget=3e4, taken=places)
    assert doubting.after[-1] > 1.02 * trusting.after[-1]


def test_pilot_covers_the_pool_and_stays_in_its_budget():
    places = pool.pilot(SIZES, SIZES, [1e5], budget=2e4, count=6)
    assert places.cost.sum() <= 2e4
    assert len(places.index) == 6
    assert SIZES[places.index].max() > 30 * SIZES[places.index].min()


def test_several_outputs_share_one_choice():
    places, y = start()
    laws = [sl.laws.fit("power_law", SIZES[places], v) for v in (y, 2 * y)]
    one = pool.choose(laws[0], SIZES, SIZES, [1e6], budget=1e4, taken=places)
    both = pool.choose(laws, SIZES, SIZES, [1e6], budget=1e4, taken=places)
    assert both.index.tolist() == one.index.tolist()
    assert both.before == pytest.approx(np.sqrt(2) * one.before, rel=1e-6)


def test_bad_pools_say_what_is_wrong():
    places, y = start()
    law = sl.laws.fit("power_law", SIZES[places], y)
    with pytest.raises(BadInput, match="40 experiments and 39 costs"):
        pool.choose(law, SIZES, SIZES[1:], [1e6], budget=1.0)
    with pytest.raises(BadInput, match="costs must be positive"):
        pool.choose(law, SIZES, 0 * SIZES, [1e6], budget=1.0)
    with pytest.raises(BadInput, match="budget=0"):
        pool.choose(law, SIZES, SIZES, [1e6], budget=0)


def test_doubt_about_the_form_prefers_experiments_near_the_target():
    """A law that seems exact is best told by cheap runs; where its form is doubted they tell less."""
    places = np.arange(0, 12, 2)
    law = sl.laws.fit("power_law", SIZES[places], measure(places, seed=0))
    sure, doubting = (
        pool.choose(law, SIZES, SIZES, [1e6], budget=3e4, taken=places, doubt=doubt, tolerance=0.0)
        for doubt in (0.0, 0.02)
    )
    assert SIZES[doubting.index].max() > 3 * SIZES[sure.index].max()
    assert doubting.before > sure.before


def test_pilot_goes_on_where_it_began():
    """Places that were measured are neither taken again nor counted as unknown."""
    first = pool.pilot(SIZES, SIZES, [1e5], budget=2e4, count=3)
    more = pool.pilot(SIZES, SIZES, [1e5], budget=2e4, count=3, taken=list(first.index))
    assert not set(first.index) & set(more.index)
    assert more.before == pytest.approx(first.after[-1])
