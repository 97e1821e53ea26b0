"""Tables that may mean something else than was read are refused with the choices; what is named is fitted."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import NotDetermined
from scalinglab.readers.guards import refuse_lost_numbers

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
        ({"train imgs /1e4": N / 1e4, "error": LOSS / 10}, "unknown_unit"),
        ({"params": [1e6, np.nan, 1e7, np.nan, 1e8, 3e8], "loss": LOSS}, "sizes_lacking"),
        ({"params": N, "tokens": 20 * N, "loss": np.exp(LOSS) * 4}, "no_loss"),
        ({"params": N, "loss": LOSS[[3, 0, 5, 2, 4, 1]]}, "does_not_follow"),
        ({"params": N, "train_loss": LOSS, "dev thing": LOSS + 0.1}, "other_result"),
        ({"Examples": N, "EM (%)": 90 - 9 * LOSS, "SQL valid (%)": 99 - 9 * LOSS}, "other_result"),
        ({"train images": N, "accuracy gain": 0.5 - LOSS / 10}, "difference_as_result"),
        ({"budget C (FLOPs)": N * 1e10, "hidden": range(6), "L_min": LOSS}, ""),
        ({"n_train": N / 7e5, "error": LOSS / 10}, "small_sizes"),
        (
            {
                "run": [f"r{k // 2}" for k in range(12)],
                "params": N.repeat(2),
                "top_k": [1, 4] * 6,
                "loss": np.stack([LOSS, 1.2 * LOSS], 1).ravel(),
            },
            "rows_of_runs",
        ),
        (
            {
                "n_data": np.repeat([1e3, 3e3, 1e4], 9),
                "flips": np.tile(np.geomspace(3, 711, 9), 3) * np.repeat([1, 1.3, 1.7], 9),
                "error": np.outer([0.5, 0.3, 0.2], 1 + np.linspace(-1, 1, 9) ** 2).ravel(),
            },
            "rising_rows",
        ),
        (
            {
                "run": [f"r{k}" for k in range(12)],
                "params": N.repeat(2),
                "step": [1000, 4000] * 6,
                "loss": np.stack([LOSS + 0.2, LOSS], 1).ravel(),
            },
            "other_lengths",
        ),
    ],
)
def test_what_no_run_has_is_refused(table: dict[str, object], code: str):
    assert code_of(table) == code


def test_the_same_tables_are_fitted_once_columns_are_named():
    table = {"params": N, "loss": LOSS[[3, 0, 5, 2, 4, 1]]}
    assert code_of(table, x="n_params", y="loss") == ""
    assert code_of({"params": N, "loss": LOSS}) == ""


def test_a_loss_beside_one_of_training_is_of_the_test():
    read = sl.read(pd.DataFrame({"params": N, "loss": LOSS, "train_loss": LOSS - 0.1}))
    np.testing.assert_allclose(read["test_loss"], LOSS)


def test_results_in_lines_that_no_row_has_are_refused(tmp_path: Path):
    lines = [f"{n:.0f}\t{loss:.4f}" for n, loss in zip(N, LOSS, strict=True)]
    path = tmp_path / "runs.tsv"
    path.write_text("\n".join(["params\tloss", *lines]), encoding="utf-8")
    table = sl.read(path).frame
    refuse_lost_numbers(path, table)  # every number is in a row
    with pytest.raises(NotDetermined) as refusal:
        refuse_lost_numbers(path, table.iloc[:3])
    assert refusal.value.args[0].details["lost"] == 3


def test_columns_that_values_alone_tell_are_marked_as_guesses():
    table = pd.DataFrame({"cells": N, "loss": LOSS})
    read = {column.theirs: column for column in sl.read(table).reading.columns}
    assert not read["cells"].sure
    assert read["loss"].sure


@pytest.mark.parametrize(("source", "code"), [("train", ""), ("read", "small_sizes")])
def test_counts_of_runs_made_here_are_as_they_stand(source: str, code: str):
    """A perceptron of 195 parameters is one; a table of others with so few may count in millions."""
    n, d = np.repeat([195.0, 390.0, 780.0, 1560.0], 4), np.tile([100.0, 200.0, 400.0, 800.0], 4)
    loss = 0.1 + 8 / n**0.6 + 5 / d**0.5
    frame = pd.DataFrame({"run": [f"r{k}" for k in range(16)], "n_params": n, "n_data": d, "test_loss": loss})
    assert code_of(frame.assign(source=source)) == code
