"""The norm at which to stop, on curves whose optima are known."""

import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves.dynamical import dynamical, stopping_norm
from tests.laws.synthetic import valleys


def test_the_optimal_norm_of_a_larger_size_is_extrapolated():
    found = stopping_norm(valleys(60.0), at=64_000)
    assert found.low < 2 * 64_000**0.8 < found.high
    assert found.value == pytest.approx(2 * 64_000**0.8, rel=0.2)
    far = stopping_norm(valleys(60.0), at=640_000)
    assert far.stderr > found.stderr


@pytest.mark.parametrize("at", [0, -5.0])
def test_a_size_that_is_none_is_refused(at):
    with pytest.raises(BadInput, match="at="):
        stopping_norm(valleys(60.0), at=at)


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
