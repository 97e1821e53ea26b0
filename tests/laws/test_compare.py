"""Speedups of one recipe over another: the identity, shifted laws, and intervals that hold."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws.compare import Speedup

COMPUTE = np.geomspace(1e18, 1e21, 4)


def recipe(factor=1.0, noise=0.0, seed=0, offset=1.5, compute=COMPUTE):
    random = np.random.default_rng(seed)
    loss = offset + 2 * (factor * compute / 1e18) ** -0.12
    return compute, loss * np.exp(noise * random.standard_normal(len(compute)))


@pytest.mark.parametrize(
    "factor",
    [pytest.param(0.5, marks=pytest.mark.slow), 1.0, 1.07, pytest.param(3.0, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("offset", [0.0, 1.5])
def test_noise_free_shift_is_the_speedup(factor, offset):
    form = "power_law_offset" if offset else "power_law"
    found = sl.laws.speedup(recipe(factor, offset=offset), recipe(offset=offset), form=form)
    assert found.factor == pytest.approx(factor, rel=1e-6)


def test_a_factor_that_grows_with_compute_is_told_at_a_compute():
    compute = np.geomspace(1e18, 1e22, 8)
    loss = 1.5 + 2 * (compute / 1e18) ** -0.12
    gain = 1.2 * (compute / 1e18) ** 0.05
    faster = 1.5 + 2 * (gain * compute / 1e18) ** -0.12
    for at, expected in ((1e18, 1.2), (1e22, 1.2 * 1e4**0.05)):
        found = sl.laws.speedup((compute, faster), (compute, loss), at=at, parallel=False)
        assert found.factor == pytest.approx(expected, rel=1e-4)


@pytest.mark.nightly
def test_intervals_of_four_points_a_curve_hold():
    """30 data sets; benchmarks/speedup.py has the full study: 90 % intervals hold 88–92 %."""
    factor, hits = 1.3, 0
    for seed in range(30):
        a, b = recipe(factor, 0.005, 2 * seed), recipe(1.0, 0.005, 2 * seed + 1)
        found = sl.laws.speedup(a, b, form="power_law_offset")
        hits += found.low <= factor <= found.high
    assert hits >= 22  # 90 % of 30 within three standard deviations


def test_sentence_tells_better_worse_and_no_difference():
    def told(factor):
        return sl.laws.speedup(recipe(factor, 0.002, 5), recipe(1.0, 0.002, 6)).summary()

    assert "times less compute than B" in told(2.0)
    assert "times the compute of B" in told(0.5)
    assert "no significant difference" in told(1.0)


def test_tables_are_taken_as_well_as_arrays():
    frames = [pd.DataFrame({"compute": c, "loss": y}) for c, y in (recipe(1.4), recipe())]
    assert sl.laws.speedup(*frames).factor == pytest.approx(1.4, rel=1e-5)


def test_points_of_one_run_are_resampled_together():
    """Runs that are wrong as a whole: the interval widens beyond that of independent points."""
    random = np.random.default_rng(3)
    compute = np.tile(COMPUTE, 3)
    runs = np.repeat(np.arange(3), 4)

    def side(factor):
        level = 0.02 * random.standard_normal(3)
        return (1.5 + 2 * (factor * compute / 1e18) ** -0.12) * np.exp(level[runs])

    a, b = side(1.2), side(1.0)
    together = sl.laws.speedup((compute, a, runs), (compute, b, runs), draws=299)
    apart = sl.laws.speedup((compute, a), (compute, b), draws=299)
    assert together.high / together.low > 1.15 * apart.high / apart.low


@pytest.mark.slow
def test_points_that_are_dropped_count_nowhere():
    """Neither in the range that both recipes cover, nor in the note on what lies beyond the runs."""
    compute, loss = recipe(1.3, compute=np.geomspace(1e18, 1e21, 6))
    kept = sl.laws.speedup((compute, loss), recipe())
    unknown = np.r_[compute, np.nan, 1e30], np.r_[loss, 2.0, np.nan]
    for parallel in (True, False):
        found = sl.laws.speedup(unknown, recipe(), nan_policy="drop", parallel=parallel)
        assert found.at == kept.at
        assert found.notes == ()
        assert found.factor == pytest.approx(1.3, rel=1e-3)
    beyond = sl.laws.speedup(unknown, recipe(), at=1e25, nan_policy="drop")
    assert beyond.notes[0].details == pytest.approx({"first": 1e18, "last": 1e21})


def test_bad_recipes_say_what_is_wrong():
    with pytest.raises(BadInput, match=r"recipe A .*2 computes"):
        sl.laws.speedup((COMPUTE[:2], COMPUTE[:2]), recipe())
    with pytest.raises(BadInput, match=r"recipe B .*1 arrays"):
        sl.laws.speedup(recipe(), (COMPUTE,))
    with pytest.raises(BadInput, match="'auto'"):
        sl.laws.speedup(recipe(), recipe(), form="m4")
    with pytest.raises(BadInput, match="share no range"):
        sl.laws.speedup(recipe(compute=COMPUTE * 1e9), recipe())


@pytest.mark.parametrize(("at", "parallel"), [(None, True), (1e20, False), ((1e19, 1e22), False)])
def test_the_gap_that_is_drawn_lies_between_the_two_laws(at, parallel):
    """At one loss, from A's law to B's, with the ends of the interval; the factor grows with compute here."""
    random = np.random.default_rng(4)
    compute = np.geomspace(1e18, 1e21, 8)
    speeds = (1.3 if parallel else 1.3 * (compute / 1e18) ** 0.05), 1.0
    losses = [2 * (s * compute / 1e18) ** -0.1 * np.exp(0.004 * random.standard_normal(8)) for s in speeds]
    a, b = ((compute, loss) for loss in losses)
    found = sl.laws.speedup(a, b, at=at, parallel=parallel, form="power_law")
    axes = found.plot(x="FLOPs", y="nats")
    place = np.exp(np.mean(np.log(found.at)))
    gap = next(line for line in axes.lines if len(line.get_xdata()) == 2)
    assert gap.get_xdata() == pytest.approx([place, place * found.factor])
    on_laws = [found.predict(c, recipe) for c, recipe in zip(gap.get_xdata(), "AB", strict=True)]
    assert gap.get_ydata() == pytest.approx(on_laws, rel=1e-9)
    (bar,) = (c.get_segments()[0] for c in axes.collections)
    assert bar[:, 0] == pytest.approx([place * found.low, place * found.high])
    shown = [line.get_ydata() for line in axes.lines if line.get_marker() == "o"]
    assert [sorted(y) for y in shown] == [pytest.approx(sorted(loss)) for loss in losses]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("FLOPs", "nats")


def test_a_speedup_and_its_interval_are_those_of_nonlinear_least_squares():
    """Little noise: the profile is then Student's interval of the linearised fit."""
    random, compute = np.random.default_rng(0), np.geomspace(1e18, 1e21, 6)
    losses = [2 * (f * compute / 1e18) ** -0.1 * np.exp(1e-3 * random.standard_normal(6)) for f in (1.4, 1.0)]
    logs, faster = np.log(np.tile(compute, 2) / 1e18), np.repeat([1.0, 0.0], 6)

    def model(x, amplitude, exponent, shift, drift=0.0):
        return amplitude - exponent * (logs + faster * (shift + drift * logs))

    for parallel, at, place in (
        (True, None, (1e18, 1e21)),
        (False, 1e20, (1e20,)),
        (False, [5e18, 1e20], None),
    ):
        start = (0.7, 0.1, 0.3) if parallel else (0.7, 0.1, 0.3, 0.0)
        best, covariance = optimize.curve_fit(
            model, logs, np.log(np.concatenate(losses)), p0=start, xtol=1e-13, ftol=1e-13
        )
        found = sl.laws.speedup(
            (compute, losses[0]), (compute, losses[1]), at=at, parallel=parallel, form="power_law", level=0.9
        )
        assert found.at == (place or tuple(at))
        g = np.r_[0, 0, 1, np.full(0 if parallel else 1, np.mean(np.log(np.array(found.at) / 1e18)))]
        assert found.law.dof == 12 - len(start)
        assert np.log(found.factor) == pytest.approx(g @ best, abs=1e-5)
        half = stats.t.ppf(0.95, found.law.dof) * np.sqrt(g @ covariance @ g)
        assert np.log(found.high / found.factor) == pytest.approx(half, rel=0.02)
        assert np.log(found.factor / found.low) == pytest.approx(half, rel=0.02)
        assert found.interval == (found.low, found.high)


def test_a_speedup_is_told_with_where_it_holds():
    made = Speedup(1.5, 1.2, 2.0, 0.9, (1e18, 1e21), None, parallel=True)  # type: ignore[arg-type]
    assert made.summary() == "A needs 1.2 to 2 times less compute than B (90 %; best estimate 1.5 times)"
    worse = Speedup(0.5, 0.4, 0.8, 0.9, (1e18,), None, parallel=False)  # type: ignore[arg-type]
    told = "A needs 1.25 to 2.5 times the compute of B at a compute of 1e+18 (90 %; best estimate 2 times)"
    assert worse.summary() == told
    for low, high in ((1.0, 2.0), (0.5, 1.0)):
        same = Speedup(1.0, low, high, 0.9, (1e18,), None, parallel=True)  # type: ignore[arg-type]
        assert same.summary().startswith("no significant difference")


@pytest.mark.slow
def test_a_speedup_holds_where_both_recipes_were_run_and_is_noted_beyond():
    a, b = recipe(1.3, 0.002, 1), recipe(1.0, 0.002, 2, compute=10 * COMPUTE)
    assert sl.laws.speedup(a, b).at == (1e19, 1e21)
    for at, count in ((1e18, 0), ((1e18, 1e22), 0), (9e17, 1), ((1e19, 1.1e22), 1)):
        notes = sl.laws.speedup(a, b, at=at).notes
        assert len(notes) == count
        assert all(note.details == pytest.approx({"first": 1e18, "last": 1e22}) for note in notes)
    for wrong in ([1, 2, 3], 0.0, [-1, 2]):
        with pytest.raises(BadInput, match="must be a positive compute, or two"):
            sl.laws.speedup(a, b, at=wrong)
    with pytest.raises(BadInput, match="share no range"):
        sl.laws.speedup(a, recipe(compute=1e3 * COMPUTE))


def test_one_point_too_few_for_the_noise_is_refused():
    compute = np.array([1.0, 10.0, 100.0])
    loss = compute**-0.1
    with pytest.raises(BadInput, match="level=1"):
        sl.laws.speedup((compute, loss), (compute, loss), level=1)
    with pytest.raises(BadInput, match=r"recipe A .*3 computes.*2 losses"):
        sl.laws.speedup((compute, loss[:2]), (compute, loss))
