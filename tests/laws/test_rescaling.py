import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves.collapse import collapse
from scalinglab.laws.learning_curves.dynamical import dynamical
from scalinglab.results.distributions import Estimate
from scalinglab.results.types import Reason
from tests.laws.synthetic import family, lucky, other_shapes_below

SIZES = (500, 1000, 2000, 4000, 8000, 16000, 32000)


@pytest.mark.parametrize("by", ["optimum", "position"])
def test_curves_of_one_master_curve_collapse_onto_it(by):
    """The plateau breaks the collapse at small norms; far below it, Φ is exact."""
    table = family(SIZES, 0.5, 1.0, noise=0.01, plateau=1e6)
    found = collapse(table, by=by)
    assert found.holds_from == SIZES[0]
    assert found.outliers == ()
    assert found.x_exponent.value == pytest.approx(1.0, abs=0.05)
    assert found.y_exponent.value == pytest.approx(0.5, abs=0.02)
    assert found.deviation.max() < 0.05
    assert found.quality < (10 if by == "optimum" else 2)  # a flat minimum is placed less well
    assert (found.quality > 3) == ("optima_differ" in {note.code for note in found.notes})
    # Φ = y/y_opt against x/x_opt, known in closed form up to the place of its minimum
    z = np.geomspace(0.05, 5, 40)
    law = z**-0.5 * (1 + z**4) ** 0.15
    best = z[np.argmin(law)]
    expected = np.interp(np.log(found.x), np.log(z / best), law / law.min())
    inner = (found.x > 0.1) & (found.x < 3)
    assert np.max(np.abs(np.log(found.y / expected))[inner]) < 0.12


def test_positions_find_a_collapse_that_has_no_minimum():
    """Any x and y: relaxation y = n^−0.3 exp(−t/n^0.7), which only falls."""
    rows = []
    for n in (10, 20, 40, 80, 160):
        t = np.geomspace(0.05, 2.0, 30) * n**0.7
        rows.append(pd.DataFrame({"width": n, "step": t, "test_loss": n**-0.3 * (0.1 + np.exp(-t / n**0.7))}))
    found = collapse(pd.concat(rows), x="step", y="test_loss", size="width")
    assert found.x_exponent.value == pytest.approx(0.7, abs=0.02)
    assert found.y_exponent.value == pytest.approx(0.3, abs=0.02)
    assert found.deviation.max() < 0.01


def test_sizes_that_do_not_follow_are_named():
    table = family(SIZES, plateau=1e6, noise=0.005)
    odd = table["n_data"] == 8000
    table.loc[odd, "test_error"] *= np.exp(0.5 * np.sin(2 * np.log(table.loc[odd, "norm"])))
    found = collapse(table)
    assert found.outliers == (8000.0,)
    small = family(SIZES[3:], plateau=1e6)
    flat = family(SIZES[:3], gamma_1=0.1, plateau=1e6)
    assert collapse(pd.concat([flat, small])).holds_from == SIZES[3]


@pytest.mark.parametrize(
    ("first", "noise"),
    [
        (0, 0.01),
        pytest.param(1, 0.0, marks=pytest.mark.slow),
        pytest.param(3, 0.01, marks=pytest.mark.slow),
        (4, 0.0),
    ],
)
def test_the_collapse_begins_at_the_size_where_it_was_planted(first, noise):
    table = other_shapes_below(SIZES, first, noise=noise)
    found = collapse(table)
    assert found.holds_from == SIZES[first]
    assert found.holds.tolist() == [i >= first for i in range(len(SIZES))]
    laws = dynamical(table)
    assert laws.collapse_from == SIZES[first]
    assert_frame_equal(laws.collapse.rescaled, found.rescaled)


@pytest.mark.parametrize("first", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_a_lucky_smallest_error_does_not_decide_which_sizes_collapse(first):
    """The height is that of the smoothed curve: a single low point would shift a whole curve by a third."""
    table = lucky(other_shapes_below(SIZES, first, noise=0.005))
    assert collapse(table).holds_from == dynamical(table).collapse_from == SIZES[first]


def test_a_size_without_a_falling_part_has_no_position_and_moves_no_other():
    table = family(SIZES, plateau=1e6, noise=0.005)
    random, own = np.random.default_rng(0), table["n_data"] == SIZES[2]
    table.loc[own, "test_error"] = 0.1 * np.exp(0.05 * random.standard_normal(own.sum()))
    found, without = collapse(table), collapse(table[~own])
    assert found.outliers == (SIZES[2],)
    assert np.isnan(found.x_scale[2])
    assert found.holds_from == dynamical(table).collapse_from == without.holds_from == SIZES[0]
    np.testing.assert_allclose(np.delete(found.x_scale, 2), without.x_scale)
    assert SIZES[2] not in found.rescaled["size"].to_numpy()


def test_unrelated_curves_do_not_collapse():
    parts = [family([n, 2 * n], g) for n, g in ((100, 0.1), (400, 0.6), (1600, 1.4))]
    found = collapse(pd.concat(parts), tolerance=0.03)
    assert found.holds_from is None
    assert "for no three sizes" in found.summary()


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="'optimum'"):
        collapse(family(SIZES), by="optimun")
    flat = family(SIZES).assign(test_error=0.1)
    with pytest.raises(BadInput, match="by='optimum'"):
        collapse(flat)
    with pytest.raises(BadInput, match="positive"):
        collapse(family(SIZES), tolerance=0)


def test_what_could_not_be_used_is_said():
    curves = family(SIZES, noise=0.01)
    sizes = sorted(curves["n_data"].unique())
    curves.loc[curves["n_data"] == sizes[1], "test_error"] = np.nan
    curves.loc[curves.index[curves["n_data"] == sizes[2]][:3], "test_error"] = -1.0
    for found in (collapse(curves), dynamical(curves)):
        assert found.notes == (
            Reason("short_curves", size="n_data", sizes=(float(sizes[1]),), needed=6),
            Reason("points_not_positive", points=3, x="norm", y="test_error"),
        )
        assert f"note: {found.notes[0]}" in found.summary()
        assert sizes[1] not in getattr(found, "collapse", found).sizes


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (lambda t: t.assign(n_data=t.n_data - t.n_data.min()), {}, "n_data = 0 must be positive"),
        (lambda t: t, {"x": "test_error"}, "three different columns"),
        (lambda t: t.assign(kind="a"), {"size": "kind"}, "'kind' must hold numbers, not 'a'"),
    ],
)
def test_columns_that_make_no_collapse_are_named(change, options, said):
    with pytest.raises(BadInput, match=said):
        collapse(change(family(SIZES)), **options)


def test_exponents_are_not_printed_to_the_digits_of_rounding():
    assert str(Estimate(0.49999999999999817, 1e-15)) == "0.500000 ± 0.000000"
    assert str(Estimate(0.1234567, 0.0123)) == "0.123 ± 0.012"


@pytest.mark.parametrize("noise", [0.003, pytest.param(0.03, marks=pytest.mark.slow)])
def test_quality_is_about_one_within_noise_and_more_where_curves_differ(noise):
    table = family(SIZES, noise=noise, plateau=1e6, seed=1)
    found = collapse(table)
    assert 0.7 < found.quality < 1.6
    odd = table["n_data"] == 4000
    table.loc[odd, "test_error"] *= 1 + 4 * noise * np.sin(3 * np.log(table.loc[odd, "norm"]))
    assert collapse(table, tolerance=1.0).quality > found.quality + 0.7


@pytest.mark.slow
def test_exponents_hold_the_truth_within_two_standard_errors():
    scores = []
    for seed in range(12):
        found = collapse(family(SIZES[::2], noise=0.02, plateau=1e6, seed=seed))
        scores += [(found.x_exponent.value - 1.0) / found.x_exponent.stderr]
        scores += [(found.y_exponent.value - 0.5) / found.y_exponent.stderr]
    assert np.mean(np.abs(scores) <= 2) >= 0.79  # 95 % of 24, less three standard errors
    assert 0.6 < np.sqrt(np.mean(np.square(scores))) < 1.5
