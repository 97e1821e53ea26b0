"""Runs of a pool in batches: the budget is kept, refits come in between, and the gain is real."""

import numpy as np
import pytest

import scalinglab as sl
from benchmarks.pool_in_batches import before_fit, sequence
from scalinglab.errors import BadInput

TRUTH = (0.1, 5.0, 0.4)
SIZES = np.geomspace(1e2, 1e5, 40)


def measure(places, noise=0.01, seed=0):
    random = np.random.default_rng([seed, *np.atleast_1d(places)])
    x = SIZES[places]
    return (TRUTH[0] + TRUTH[1] * x ** -TRUTH[2]) * np.exp(noise * random.standard_normal(len(x)))


@pytest.mark.nightly
def test_sequence_spends_no_more_than_the_budget_and_beats_the_cheapest():
    costs, target = SIZES, np.array([1e6])
    truth = TRUTH[0] + TRUTH[1] * target[0] ** -TRUTH[2]
    ours, cheap = [], []
    for seed in range(16):
        done = sequence(
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
    done = sequence(
        "power_law", SIZES, SIZES, [2e5], lambda i: 3 * SIZES[i] ** -0.3, budget=1e9, tolerance=0.2
    )
    assert done.spent < 1e9
    assert len(done.index) < len(SIZES)
    assert len(set(done.index)) == len(done.index), "each at most once"


@pytest.mark.slow
def test_sequence_refits_after_a_part_of_what_is_left():
    """A batch takes a quarter of what is left, or one run that costs more if no cheaper one is worth it."""
    batches = []

    def measured(places):
        batches.append(SIZES[places])
        return measure(places)

    sequence("power_law_offset", SIZES, SIZES, [1e6], measured, budget=5e4)
    left = 5e4 - np.cumsum([batch.sum() for batch in batches])
    assert len(batches) >= 4
    for batch, before in zip(batches[1:], left, strict=False):
        assert len(batch) == 1 or batch.sum() <= 0.25 * before * (1 + 1e-9)


@pytest.mark.slow
def test_pilot_covers_the_pool_for_half_of_the_budget():
    """One run more than the form has parameters, before the first fit."""
    batches = []

    def measured(places):
        batches.append(places)
        return measure(places)

    sequence("power_law_offset", SIZES, SIZES, [1e5], measured, budget=4e4)
    assert len(batches[0]) == 4
    assert SIZES[batches[0]].sum() <= 2e4
    assert SIZES[batches[0]].max() > 30 * SIZES[batches[0]].min()


@pytest.mark.slow
def test_sequence_goes_on_where_it_began():
    first = sequence("power_law_offset", SIZES, SIZES, [1e6], measure, budget=2e4)
    more = sequence(
        "power_law_offset", SIZES, SIZES, [1e6], measure, budget=5e4, start=(first.index, first.values)
    )
    assert more.index[: len(first.index)].tolist() == first.index.tolist()
    assert len(set(more.index)) == len(more.index)
    assert first.spent < more.spent <= 5e4


@pytest.mark.slow
def test_several_outputs_share_one_choice():
    """A second output that is twice the first wants the same runs."""
    one = sequence("power_law_offset", SIZES, SIZES, [1e6], measure, budget=2e4)
    both = sequence(
        "power_law_offset", SIZES, SIZES, [1e6], lambda i: np.outer(measure(i), [1, 2]), budget=2e4
    )
    assert both.index.tolist() == one.index.tolist()
    assert both.laws[1].predict(1e6) == pytest.approx(2 * one.laws[0].predict(1e6), rel=1e-4)


def test_bad_pools_are_refused():
    with pytest.raises(BadInput, match=r"40 candidates.*39 costs"):
        sequence("power_law", SIZES, SIZES[1:], [1e6], measure, budget=1.0)
    with pytest.raises(BadInput, match="one is 0"):
        sequence("power_law", SIZES, 0 * SIZES, [1e6], measure, budget=1.0)
    with pytest.raises(BadInput, match="budget=0"):
        sequence("power_law", SIZES, SIZES, [1e6], measure, budget=0)


def test_before_a_fit_what_is_known_after_a_run_is_that_of_a_gaussian():
    """A plane and a smooth part, conditioned with matrices written out, twice."""
    places, target = np.geomspace(10, 1e4, 6)[:, None], np.array([[2e4], [5e4]])
    state = before_fit(sl.laws.forms.get("power_law"), places, target)
    logs = np.log(np.vstack([places, target]))[:, 0]
    u = (logs - logs.mean()) / logs.std()
    apart = np.abs(np.subtract.outer(u, u)) * np.sqrt(5)
    prior = 1 + np.outer(u, u) + (1 + apart + apart**2 / 3) * np.exp(-apart)
    taken = []
    for place in (None, 1, 4):
        if place is not None:
            state, taken = state.with_run(place), [*taken, place]
        gain = prior[:, taken] @ np.linalg.inv(prior[np.ix_(taken, taken)] + 0.01 * np.eye(len(taken)))
        now = prior - gain @ prior[taken]
        assert state.own == pytest.approx(np.diag(now))
        assert state.cross == pytest.approx(now[:6, 6:])
        assert state.variance == pytest.approx(np.diag(now)[6:].mean())
        saved = [np.mean(now[i, 6:] ** 2) / (now[i, i] + 0.01) for i in range(6)]
        assert state.saved() == pytest.approx(saved)
