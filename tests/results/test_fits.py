"""How a fit is written: a line a parameter, and what is sure about it."""

from dataclasses import replace

import numpy as np
import pytest

from scalinglab.laws.fitting.solution import Certificate
from scalinglab.results import Reason, fits
from scalinglab.results.fits import ParameterRow

SURE = Certificate(objective=0.125, starts=8, agree=0.5, converged=True, condition=20.0, at_bound=())
ROWS = (
    ParameterRow("exponent", 0.5, 0.4, 0.6, 0.05),
    ParameterRow("offset", 0.25, 0.0, 0.3, determined=False),
    ParameterRow("break", np.nan, 3.0, np.inf, determined=False),
    ParameterRow("shift", 2.0, given=Reason("fixed")),
    ParameterRow("ratio", 7.0),
    ParameterRow("slope", 1.5, 1.0, 2.0),
    ParameterRow("beta", 0.453, 0.45, 0.88, 0.08, median=0.5641),
)


def test_parameters_in_lines():
    assert [str(row.remark) for row in ROWS] == [
        "exponent       0.5          ± 0.05       95 % [0.4, 0.6]",
        "offset         0.25         95 % [0, 0.3]  not identified",
        "break          not determined; 95 % at least 3",
        "shift          2            fixed",
        "ratio          7",
        "slope          1.5          95 % [1, 2]",
        "beta           0.453        median 0.564    95 % [0.45, 0.88]",
    ]


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({"condition": 1e6}, []),
        ({"condition": 1.1e6}, ["convergence"]),
        ({"converged": False}, ["convergence"]),
        ({"agree": 1 / 8}, ["convergence"]),
        ({"agree": 1.0, "starts": 1}, []),
        ({"at_bound": ("a",)}, ["at_a_bound"]),
    ],
)
def test_what_is_wrong_with_an_optimum_is_said(change, codes):
    found = replace(SURE, **change)
    assert [remark.code for remark in found.remarks] == codes
    assert found.doubtful == ("convergence" in codes)


def test_convergence_says_what_is_lost():
    lost, stopped = (
        str(next(replace(SURE, **c).remarks)) for c in ({"condition": 2e6}, {"converged": False})
    )
    assert lost.endswith("parameters 2e+06 (above 1e6: some are NOT determined)")
    assert stopped.endswith("parameters 20; NOT converged")


@pytest.mark.parametrize(
    ("low", "high", "printed"),
    [(-np.inf, np.inf, "any value"), (-np.inf, 2.0, "at most 2"), (0.5, np.inf, "at least 0.5"),
     (0.5, 2.0, "anything from 0.5 to 2")],
)  # fmt: skip
def test_ranges_that_are_open(low, high, printed):
    assert str(fits.open_range(low, high)) == printed


def test_the_table_of_a_notebook_has_the_parameters_that_were_fitted():
    table = fits.table(ROWS).set_index("parameter")
    determined = {"exponent": "yes", "offset": "no", "break": "no", "slope": "yes", "beta": "yes"}
    assert table["determined"].to_dict() == determined
    assert np.isnan(table.loc["break", "value"])
