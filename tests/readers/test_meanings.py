"""Which column is what: one choice over all columns, with what they say about each other."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput

N = np.array([1e7, 1e7, 1e8, 1e8, 1e9, 1e9])
D = np.array([1e9, 1e10] * 3)
LOSS = 1.7 + 400 * N**-0.34 + 400 * D**-0.28
EXPERTS = {"active params": N, "total params": N * [2, 9, 3, 9, 5, 2], "tokens": D, "val_loss": LOSS}


def test_compute_decides_which_parameters_are_meant():
    with pytest.raises(BadInput, match=r"active params.*total params"):
        sl.read(EXPERTS)
    np.testing.assert_array_equal(sl.read({**EXPERTS, "FLOPs": 6 * N * D})["n_params"], N)
    total = EXPERTS["total params"]
    np.testing.assert_array_equal(sl.read({**EXPERTS, "FLOPs": 6 * total * D})["n_params"], total)


def test_a_letter_with_a_word_is_a_count_of_parameters():
    table = {"N_act (M)": N / 1e6, "N_tot (M)": 3 * N / 1e6 + [0, 1, 2, 3, 4, 5], "tokens": D, "loss": LOSS}
    with pytest.raises(BadInput, match=r"N_act.*N_tot"):
        sl.read(table)
    del table["N_tot (M)"]
    np.testing.assert_allclose(sl.read(table)["n_params"], N)


def test_a_size_that_varies_wins_over_one_that_does_not():
    curves = sl.read(
        {"train_size": [50_000] * 3, "num_samples": [100, 200, 400], "test_error": [0.3, 0.2, 0.1]}
    )
    assert curves["n_data"].tolist() == [100, 200, 400]


def test_two_columns_that_fit_equally_well_are_both_named():
    curves = sl.read({"n_params": N, "wiki loss": LOSS, "code loss": LOSS - 0.3})
    assert "test_loss" not in curves.frame
    assert any("wiki loss" in note and "code loss" in note for note in curves.reading.notes)


def test_an_unnamed_measurement_falls_or_rises_with_every_size():
    table = pd.DataFrame({"params": N, "tokens": D})
    np.testing.assert_array_equal(sl.read(table.assign(value=LOSS))["loss"], LOSS)
    rising = np.linspace(0.1, 0.9, 6)
    np.testing.assert_allclose(sl.read(table.assign(value=rising))["test_error"], 1 - rising)
    neither = sl.read(table.assign(value=[3.0, 1, 4, 1, 5, 9]))
    assert "loss" not in neither.frame
    assert "test_error" not in neither.frame


@pytest.mark.parametrize("name", ["Tokens/Parameter", "tokens_per_param", "D/N", "token-parameter ratio"])
def test_tokens_per_parameter(name: str):
    curves = sl.read({"Parameters": N, name: D / N, "val loss": LOSS})
    np.testing.assert_allclose(curves["n_data"], D)


@pytest.mark.parametrize(
    ("size", "data", "loss"),
    [
        ("Modellgröße (Mio. Parameter)", "Trainingstoken (Mrd.)", "Validierungsverlust"),
        ("paramètres (M)", "jetons d'entraînement (Md)", "perte de validation"),
    ],
)
def test_names_in_other_languages(size: str, data: str, loss: str):
    curves = sl.read({size: N / 1e6, data: D / 1e9, loss: LOSS})
    np.testing.assert_allclose(curves["n_params"], N)
    np.testing.assert_allclose(curves["n_data"], D)
    np.testing.assert_array_equal(curves["test_loss"], LOSS)


def test_whatever_is_counted_of_a_training_is_data_where_a_measurement_follows():
    clicks = [1_000, 2_000, 4_000, 8_000]
    assert sl.read({"train_clicks": clicks, "test_error": [0.4, 0.3, 0.2, 0.1]})["n_data"].tolist() == clicks
    flat = sl.read({"train_clicks": clicks, "test_error": [0.1, 0.4, 0.2, 0.3], "n_params": [1, 2, 3, 4]})
    assert "n_data" not in flat.frame


def test_a_row_of_means_below_the_runs_is_left_out(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("model,params,val loss\na,10M,3.5\nb,20M,3.3\nc,40M,3.1\nAverage,,3.3\n")
    curves = sl.read(path)
    assert curves["n_params"].tolist() == [1e7, 2e7, 4e7]
    path.write_text("model,params,val loss\nmin,10M,3.5\nbase,20M,3.3\nmax,40M,3.1\n")  # names of models
    assert len(sl.read(path).frame) == 3


def test_what_a_training_printed(tmp_path: Path):
    for size in (10, 20, 40):
        lines = [
            f"step {s}: train loss {4 - s / 9:.4f}, val loss {5 - s / 9 - size / 99:.4f}" for s in range(9)
        ]
        lines += [f"iter {s}: loss 4.1, time 310.20ms" for s in range(30)]
        place = tmp_path / f"out-{size}"
        place.mkdir()
        (place / "train.log").write_text("\n".join([f"number of parameters: {size:.2f}M", *lines]))
    curves = sl.read(tmp_path)
    assert curves.frame["run"].nunique() == 3
    ends = curves.frame.groupby("n_params")["test_loss"].min()
    np.testing.assert_allclose(ends, [5 - 8 / 9 - size / 99 for size in (10, 20, 40)], atol=1e-4)


def test_alignment_in_markdown_may_be_a_single_dash(tmp_path: Path):
    path = tmp_path / "README.md"
    path.write_text(
        "# Models\n\n| #Params | val loss |\n|:-:|-:|\n| 10M | **3.5** |\n| 20M | 3.3 |\n| 40M | 3.1 |\n"
    )
    assert sl.read(path)["test_loss"].tolist() == [3.5, 3.3, 3.1]
