import numpy as np
import pandas as pd
import pytest

from scalinglab.errors import BadInput
from scalinglab.laws.rescaling import collapse
from tests.laws.synthetic import family

SIZES = (500, 1000, 2000, 4000, 8000, 16000, 32000)


@pytest.mark.parametrize("by", ["optimum", "position", "exponents"])
def test_curves_of_one_master_curve_collapse_onto_it(by):
    """The plateau breaks the collapse at small norms; far below it, Φ is exact."""
    table = family(SIZES, 0.5, 1.0, noise=0.01, plateau=1e6)
    found = collapse(table, by=by)
    assert found.holds_from == SIZES[0]
    assert found.outliers == ()
    assert found.x_exponent.value == pytest.approx(1.0, abs=0.05)
    assert found.y_exponent.value == pytest.approx(0.5, abs=0.02)
    assert found.deviation.max() < 0.05
    assert found.quality < (10 if by == "optimum" else 5)  # a flat minimum is placed less well
    # Φ = y/y_opt against x/x_opt, known in closed form up to the place of its minimum
    z = np.geomspace(0.05, 5, 40)
    law = z**-0.5 * (1 + z**4) ** 0.15
    best = z[np.argmin(law)]
    expected = np.interp(np.log(found.x), np.log(z / best), law / law.min())
    inner = (found.x > 0.1) & (found.x < 3)
    assert np.max(np.abs(np.log(found.y / expected))[inner]) < 0.12


def test_free_exponents_find_a_collapse_that_has_no_minimum():
    """Any x and y: relaxation y = n^−0.3 exp(−t/n^0.7), which only falls."""
    rows = []
    for n in (10, 20, 40, 80, 160):
        t = np.geomspace(0.05, 2.0, 30) * n**0.7
        rows.append(pd.DataFrame({"width": n, "step": t, "test_loss": n**-0.3 * (0.1 + np.exp(-t / n**0.7))}))
    found = collapse(pd.concat(rows), x="step", y="test_loss", size="width", by="exponents")
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


def test_unrelated_curves_do_not_collapse():
    parts = [family([n, 2 * n], g) for n, g in ((100, 0.1), (400, 0.6), (1600, 1.4))]
    found = collapse(pd.concat(parts), tolerance=0.03)
    assert found.holds_from is None
    assert "no three sizes agree" in found.summary()


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="did you mean 'optimum'"):
        collapse(family(SIZES), by="optimun")
    with pytest.raises(BadInput, match="positive"):
        collapse(family(SIZES), tolerance=0)
