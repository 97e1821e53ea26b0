"""Exponents with an error over seeds, on a range of sizes that is chosen by rule."""

import numpy as np
import pytest

from scalinglab.errors import BadInput
from scalinglab_papers.bahri2021 import exponents

SIZES = 2.0 ** np.arange(4, 12)


def noisy(law: np.ndarray, seeds: int = 12, noise: float = 0.03, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    own = 0.2 * rng.standard_normal((seeds, 1))  # each seed has its own level, which is no error of a slope
    return law * np.exp(own + noise * rng.standard_normal((seeds, len(law))))


def test_a_power_law_keeps_all_sizes_and_its_exponent():
    found = exponents.of_losses(SIZES, noisy(3 * SIZES**-0.6))
    assert (found.first, found.last, found.follows) == (0, 7, True)
    assert abs(found.value - 0.6) < 3 * found.stderr
    assert 0.001 < found.stderr < 0.01
    assert found.row("α", paper=0.6).verdict == "agrees"


@pytest.mark.nightly
def test_the_error_holds_the_truth_as_often_as_it_says():
    rows = [exponents.of_losses(SIZES, noisy(SIZES**-0.6, 8, seed=k)).row("α", paper=0.6) for k in range(60)]
    assert sum(row.verdict == "disagrees" for row in rows) <= 7  # 3 expected


def test_sizes_that_bend_at_either_end_are_left_out():
    plateau = (1 + (SIZES / 60) ** 4) ** -0.25  # flat at small sizes
    found = exponents.of_losses(SIZES, noisy(plateau, noise=0.01))
    assert found.follows
    assert found.first >= 2
    assert found.last == 7


def test_a_floor_at_large_sizes_is_fitted():
    found = exponents.of_losses(SIZES, noisy(SIZES**-1.0 + 5e-3, noise=0.01))
    assert (found.first, found.last, found.follows) == (0, 7, True)
    assert found.value == pytest.approx(1, abs=3 * found.stderr)
    assert found.floor == pytest.approx(5e-3, rel=0.1)
    assert "with a floor" in found.note


def test_a_step_down_to_a_floor_has_no_exponent():
    step = noisy(np.r_[1.3, np.ones(7)], 4, noise=0.02)
    found = exponents.of_losses(SIZES, step)
    assert (found.first, found.last, found.floor) == (1, 7, 0.0)  # the flat part, by the power law
    assert abs(found.value) < 0.02
    own, other = exponents.of_several(SIZES, step, noisy(SIZES**-0.3, 4, noise=0.02, seed=1))
    assert exponents.difference_of(own, other).value == pytest.approx(-0.3, abs=0.05)


@pytest.mark.slow
def test_compared_exponents_share_their_range_and_their_seeds():
    straight, bent = SIZES**-0.4, SIZES**-0.4 * np.exp(0.3 * np.log(SIZES / SIZES[3]).clip(max=0) ** 2)
    steep = -0.4 + 0.1 * np.random.default_rng(2).standard_normal((12, 1))  # slopes that both curves share
    a, b = (
        noisy(law, noise=0.005, seed=k) * SIZES ** (steep + 0.4) for k, law in enumerate((straight, bent))
    )
    alone, (own, other) = exponents.of_losses(SIZES, a), exponents.of_several(SIZES, a, b)
    assert alone.first == 0 < own.first == other.first
    found = exponents.difference_of(own, other)
    assert abs(found.value) < 3 * found.stderr
    assert found.stderr < 0.2 * own.stderr


@pytest.mark.slow
def test_a_curve_that_bends_everywhere_is_called_so():
    bent = np.exp(-0.3 * np.log(SIZES) ** 2)
    found = exponents.of_losses(SIZES, noisy(bent, noise=0.001))
    assert not found.follows
    assert (found.first, found.last) == (4, 7)
    assert "no range follows" in found.note


def test_differences_may_be_negative_for_single_seeds():
    rng = np.random.default_rng(1)
    values = 5 / SIZES + 0.02 * rng.standard_normal((200, len(SIZES)))
    assert (values < 0).any()
    found = exponents.of_differences(SIZES[:5], values[:, :5])
    assert abs(found.value - 1) < 3 * found.stderr
    with pytest.raises(BadInput, match="of_differences"):
        exponents.of_losses(SIZES, values)


def test_sizes_whose_difference_is_lost_in_noise_hardly_count():
    covered, errors = 0, []
    for seed in range(40):
        noise = 0.01 * np.random.default_rng(seed).standard_normal((20, len(SIZES)))
        found = exponents.of_differences(SIZES, 5 / SIZES + noise)  # the last: 0.0024 ± 0.0022
        covered += abs(found.value - 1) < 2.1 * found.stderr
        errors.append(found.stderr)
    assert covered >= 34
    assert np.median(errors) < 0.02  # 0.13 with equal weights


def test_a_straight_curve_passes_the_test_of_fit_as_often_as_it_says():
    draws = [noisy(SIZES**-0.6, 3, 0.02, seed=k) for k in range(200)]
    left = [np.log(d) - np.polynomial.Polynomial.fit(np.log(SIZES), np.log(d).mean(0), 1)(np.log(SIZES))
            for d in draws]  # fmt: skip
    assert 3 <= sum(exponents.lacks_fit(one, 2) for one in left) <= 19  # 10 expected


@pytest.mark.nightly
def test_three_seeds_do_not_hide_sizes_off_the_line():
    off = SIZES**-0.2 * np.exp([0, 0, 0, 0.06, -0.06, 0, 0, 0])  # no curvature on the whole
    found = [exponents.of_losses(SIZES, noisy(off, 3, 0.01, seed=k)) for k in range(20)]
    assert sum(one.last == len(SIZES) - 1 and one.first == 0 for one in found) <= 3


def test_differences_that_are_lost_in_noise_have_no_exponent():
    noise = np.random.default_rng(0).standard_normal((20, 5))
    assert exponents.of_differences(SIZES[:5], 1e-3 / SIZES[:5] + noise) is None
    row = exponents.difference_row("α", None, 20, "a note", paper=1.0)
    assert (row.measured, row.verdict) == (None, "cannot tell")


def test_sizes_that_are_lost_in_noise_do_not_count():
    noise = np.random.default_rng(0).standard_normal((20, 7)) * 1e-4 * 8.0 ** np.arange(7)
    found = exponents.of_differences(SIZES[:7], 1 / SIZES[:7] + noise)  # 0.001 ± 5.9 at the last size
    alone = exponents.of_differences(SIZES[:5], 1 / SIZES[:5] + noise[:, :5])
    assert found is not None
    assert alone is not None
    assert (found.value, found.stderr) == pytest.approx((alone.value, alone.stderr), rel=0.02)
    assert found.law(SIZES[:4]) == pytest.approx(1 / SIZES[:4], rel=0.05)


@pytest.mark.slow
def test_the_error_of_differences_holds_the_truth_as_often_as_it_says():
    rng, held = np.random.default_rng(3), 0
    for _ in range(200):  # each draw has a coefficient of its own
        own, noise = rng.normal(1, 0.3, (20, 1)), 0.1 * rng.standard_normal((20, len(SIZES)))
        found = exponents.of_differences(SIZES, own / SIZES + SIZES**-0.5 * noise)
        held += exponents.difference_row("α", found, 20, "", paper=1.0).verdict != "disagrees"
    assert 180 <= held <= 198  # 190 expected


def test_the_next_order_is_no_other_exponent():
    """7/x + 20/x² on sizes from 10 on: a power law through them is steeper, with the next order it is 1."""
    random, found = np.random.default_rng(5), []
    for _ in range(100):
        noise = random.normal(size=(40, len(SIZES))) * 0.3 / SIZES
        found.append(exponents.with_next_order(SIZES, 7 / SIZES + 2 * SIZES[0] / SIZES**2 + noise))
    inside = [abs(one.value - 1) < 1.96 * one.stderr for one in found if one is not None]
    assert len(inside) == 100
    assert np.mean(inside) == pytest.approx(0.95, abs=0.066)  # three standard errors
    spread = np.std([one.value for one in found if one is not None])
    assert np.mean([one.stderr for one in found if one is not None]) == pytest.approx(spread, rel=0.22)
    pure = exponents.of_differences(SIZES, 7 / SIZES + 2 * SIZES[0] / SIZES**2 + noise)
    assert pure is not None
    assert pure.value - 1 > 3 * pure.stderr


def test_an_exponent_with_the_next_order_is_refused_where_it_is_lost_in_noise():
    noise = np.random.default_rng(6).normal(size=(40, len(SIZES)))
    assert exponents.with_next_order(SIZES, 1e-3 / SIZES + noise) is None
    assert exponents.with_next_order(SIZES[:2], 1 / SIZES[:2] + 1e-3 * noise[:, :2]) is None
