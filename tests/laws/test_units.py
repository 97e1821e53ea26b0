"""What is asked of losses does not depend on their unit, and no number that is none is printed."""

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.results.distributions import Estimate
from scalinglab.results.findings import Finding
from scalinglab.results.types import Status

X = np.geomspace(1e3, 1e6, 10)
Y = (3 * X**-0.3 + 0.05) * np.exp(0.01 * np.random.default_rng(0).standard_normal(10))


@pytest.mark.parametrize(
    ("form", "unit"),
    [("power_law_offset", 1e-290), pytest.param("shifted_power_law", 1e200, marks=pytest.mark.slow)],
)
def test_losses_in_any_unit_have_the_same_exponent_and_intervals(form, unit):
    law, other = sl.laws.fit(form, X, Y), sl.laws.fit(form, X, Y * unit)
    assert other.exponent == pytest.approx(law.exponent, rel=1e-6)
    assert other.certificate.converged
    for name, ends in law.parameter_intervals.items():
        scale = unit if name in ("offset", "amplitude") else 1.0
        assert np.array(other.parameter_intervals[name]) / scale == pytest.approx(np.array(ends), rel=1e-5)
    ends = np.array(law.interval(1e7))
    assert np.array(other.interval(1e7)) / unit == pytest.approx(ends, rel=1e-5)


@pytest.mark.slow
def test_a_surface_in_any_unit_has_the_same_exponents():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e8, 4), np.geomspace(1e8, 1e10, 4)))
    loss = 1.7 + 400 * n**-0.34 + 410 * d**-0.28
    loss *= np.exp(0.01 * np.random.default_rng(1).standard_normal(len(n)))
    first, second = (sl.laws.surface.fit(n, d, loss * unit).law.parameters for unit in (1.0, 1e-200))
    assert second["alpha"] == pytest.approx(first["alpha"], rel=1e-5)
    assert second["beta"] == pytest.approx(first["beta"], rel=1e-5)
    assert second["E"] / 1e-200 == pytest.approx(first["E"], rel=1e-5)


def says_nan(text):
    return any(word.strip("()[],;:±%.").lower() == "nan" for word in text.split())


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "floor"), [(1e-200, 0.0), (1e200, 0.05)])
def test_answers_of_losses_in_any_unit_are_those_of_ordinary_ones(unit, floor):
    y = (3 * X**-0.3 + floor) * np.exp(0.01 * np.random.default_rng(0).standard_normal(10))
    first, found = (sl.answer(pd.DataFrame({"n_data": X, "test_loss": y * u})) for u in (1.0, unit))
    assert not says_nan(found.summary())
    assert found["exponent"].status == first["exponent"].status
    assert found["exponent"].values["exponent"].value == pytest.approx(
        first["exponent"].values["exponent"].value, rel=1e-4
    )


@pytest.mark.parametrize("at", [9.2e18, 1e150, 1e300])
def test_an_extrapolation_far_beyond_the_data_has_numbers_or_a_reason(at):
    try:
        found = sl.laws.extrapolate(X, Y, at=at)
    except BadInput:
        return
    assert np.isfinite([found.mean, found.low, found.high]).all()


def test_squares_of_raw_values_beyond_numbers_are_refused():
    for unit in (1e-200, 1e200):
        with pytest.raises(BadInput, match="space='raw'"):
            sl.laws.fit("power_law", X, Y * unit, space="raw")


def test_a_finding_whose_number_is_none_is_not_determined():
    found = Finding("exponent", Status.DETERMINED, {"exponent": Estimate(float("nan"))}, facts={"y": "loss"})
    assert found.status is Status.NOT_DETERMINED
    assert [reason.code for reason in found.reasons] == ["no_number"]
    assert not says_nan(found.text)


def test_the_words_of_a_result_hold_no_nan():
    law = sl.laws.fit("power_law", [1.0, 10.0], [1.0, 0.5])  # no degrees of freedom: no scatter
    assert not says_nan(law.summary())
    assert "not determined" in law.summary()
