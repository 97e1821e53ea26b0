"""How a fit is written: a line a parameter, and what is sure about it."""

from types import SimpleNamespace

import numpy as np
import pytest

from scalinglab.results import fits
from scalinglab.results.fits import ParameterRow

SURE = SimpleNamespace(objective=0.125, starts=8, agree=0.5, converged=True, condition=20.0, at_bound=())
ROWS = (
    ParameterRow("exponent", 0.5, 0.4, 0.6, 0.05),
    ParameterRow("offset", 0.25, 0.0, 0.3, determined=False),
    ParameterRow("break", np.nan, 3.0, np.inf, determined=False),
    ParameterRow("shift", 2.0, given="fixed"),
    ParameterRow("ratio", 7.0),
)


def test_a_fit_in_lines():
    said = fits.summary("law: y = x", "9 points", ROWS, [("noise", 0.1)], SURE, ["it bends"], ["one run"])
    assert said.splitlines() == [
        "law: y = x",
        "  9 points",
        "  exponent       0.5          ± 0.05       95 % [0.4, 0.6]",
        "  offset         0.25         95 % [0, 0.3]  not identified",
        "  break          not determined; 95 % at least 3",
        "  shift          2            fixed",
        "  ratio          7",
        "  noise          0.1",
        "  it bends",
        "  note: one run",
    ]


@pytest.mark.parametrize(
    ("change", "end"),
    [({"condition": 1e6}, "1e+06"), ({"condition": 1.1e6}, "(above 1e6: some are NOT determined)"),
     ({"converged": False}, "; NOT converged")],
)  # fmt: skip
def test_what_is_wrong_with_an_optimum_is_said(change, end):
    found = SimpleNamespace(**{**vars(SURE), **change})
    assert fits.is_doubtful(found) == (change != {"condition": 1e6})
    assert fits.is_doubtful(SimpleNamespace(**{**vars(SURE), "agree": 1 / 8}))
    assert fits.convergence(SimpleNamespace(**{**vars(SURE), **change})).endswith(end)


@pytest.mark.parametrize(
    ("low", "high", "printed"),
    [(-np.inf, np.inf, "any value"), (-np.inf, 2.0, "at most 2"), (0.5, np.inf, "at least 0.5"),
     (0.5, 2.0, "anything from 0.5 to 2")],
)  # fmt: skip
def test_ranges_that_are_open(low, high, printed):
    assert fits.open_range(low, high) == printed


def test_the_table_of_a_notebook_has_the_parameters_that_were_fitted():
    table = fits.table(ROWS).set_index("parameter")
    assert table["determined"].to_dict() == {"exponent": "yes", "offset": "no", "break": "no"}
    assert np.isnan(table.loc["break", "value"])
