"""Tables that may mean something else than was read are refused with the choices; what is named is fitted."""

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import NotDetermined

N = np.array([1e6, 3e6, 1e7, 3e7, 1e8, 3e8])
LOSS = 1.8 + 60 * N**-0.22
MIXED = np.array([2, 0, 5, 1, 4, 3])


def code_of(table: dict[str, object], **named: str) -> str:
    """The reason of the refusal; empty where a law is fitted."""
    try:
        sl.fit(pd.DataFrame(table), **named)
    except NotDetermined as refusal:
        return getattr(refusal.args[0], "code", "message")
    return ""


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ({"params": N, "tokens": 20 * N[MIXED] / 1e5, "loss": LOSS}, "tokens_of_a_param"),
        ({"params": N, "tokens": 20 * N[MIXED], "compute": N**2 / 1e9, "loss": LOSS}, "flops_of_a_param"),
        ({"train imgs /1e6": N / 1e6, "error": LOSS / 10}, "unknown_unit"),
        ({"params": [1e6, np.nan, 1e7, np.nan, 1e8, 3e8], "loss": LOSS}, "sizes_lacking"),
        ({"params": N, "tokens": 20 * N, "loss": np.exp(LOSS) * 4}, "no_loss"),
        ({"params": N, "loss": LOSS[[3, 0, 5, 2, 4, 1]]}, "does_not_follow"),
        ({"params": N, "train_loss": LOSS, "dev thing": LOSS + 0.1}, "other_result"),
    ],
)
def test_what_no_run_has_is_refused(table: dict[str, object], code: str):
    assert code_of(table) == code


def test_the_same_tables_are_fitted_once_columns_are_named():
    table = {"params": N, "loss": LOSS[[3, 0, 5, 2, 4, 1]]}
    assert code_of(table, x="n_params", y="loss") == ""
    assert code_of({"params": N, "loss": LOSS}) == ""


def test_columns_that_values_alone_tell_are_marked_as_guesses():
    table = pd.DataFrame({"cells": N, "loss": LOSS})
    read = {column.theirs: column for column in sl.read(table).reading.columns}
    assert not read["cells"].sure
    assert read["loss"].sure
