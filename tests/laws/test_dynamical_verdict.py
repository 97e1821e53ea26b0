"""The verdict on γ of curves whose optima are known."""

import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves.dynamical import dynamical
from tests.laws.synthetic import valleys


def test_the_verdict_on_gamma_uses_our_own_error():
    table = valleys(60.0).frame
    found = dynamical(sl.Curves(table))
    assert found.verdict("optimum") in ("holds", "fails", "cannot tell")
    assert found.difference("optimum").value == pytest.approx(
        found.gamma_1.value * found.gamma_2_optimum.value - found.gamma_measured.value
    )
    # all optima have one height, so γ = 0, and γ₁γ₂ is not: the laws do not combine here
    assert found.verdict("optimum") == "fails"
    assert "fails" in found.summary()
    with pytest.raises(BadInput, match="by='middle'"):
        found.difference("middle")
