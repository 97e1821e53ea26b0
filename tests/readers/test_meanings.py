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
        ("parâmetros (M)", "tokens de treino (B)", "perda de validação"),
        ("параметры (млн)", "токены (млрд)", "потери на валидации"),
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


def test_a_size_and_a_measurement_of_unknown_names_that_follow_each_other():
    series = [100, 300, 1000, 3000]
    curves = sl.read({"n_series": series, "horizon": [24] * 4, "test MASE": [0.9, 0.7, 0.6, 0.5]})
    assert curves["n_data"].tolist() == series
    assert curves["loss"].tolist() == [0.9, 0.7, 0.6, 0.5]
    unrelated = sl.read({"n_series": series, "n_params": [1, 2, 3, 4], "test MASE": [0.7, 0.9, 0.5, 0.8]})
    assert "n_data" not in unrelated.frame


def test_hours_in_cells_are_data_under_a_name_of_data():
    curves = sl.read({"training data": ["10 h", "30 h", "100 h"], "CER %": [20.0, 14.0, 9.0]})
    assert curves["n_data"].tolist() == [10, 30, 100]
    assert next(c.unit for c in curves.reading.columns if c.ours == "n_data") == "hours"
    assert "n_data" not in sl.read({"time": ["10 h", "30 h"], "n_params": [1, 2], "loss": [3.0, 2.0]}).frame


@pytest.mark.parametrize(
    ("texts", "values"),
    [(["1.9×10⁷", "4.1×10⁸", "10⁹"], [1.9e7, 4.1e8, 1e9]), (["2^8", "2^9", "2**10"], [256, 512, 1024])],
)
def test_powers_in_cells(texts: list[str], values: list[float]):
    assert sl.read({"n_params": texts, "loss": [3.0, 2.0, 1.0]})["n_params"].tolist() == values


def test_a_footnote_is_no_power():
    assert sl.read({"n_params": [1, 2], "loss": ["3.21¹", "10²"]})["loss"].tolist() == [3.21, 10]


def test_dictionaries_that_were_printed(tmp_path: Path):
    path = tmp_path / "prints.txt"
    path.write_text("".join(f"{{'name': 'r{n}', 'n_params': {n}, 'val_loss': {9 / n}}}\n" for n in (1, 2, 3)))
    assert sl.read(path)["test_loss"].tolist() == [9, 4.5, 3]
    path.write_text("{'n_params': 1, 'val_loss': open('x')}\n" * 3)
    with pytest.raises(BadInput, match="no object"):
        sl.read(path)


def test_a_model_that_is_written_once_for_its_rows():
    table = {
        "Model": ["10M", None, "20M", None],
        "Tokens": ["1B", "2B"] * 2,
        "Val loss": [3.5, 3.4, 3.3, 3.2],
    }
    assert sl.read(table)["n_params"].tolist() == [1e7, 1e7, 2e7, 2e7]


def test_a_paste_of_sizes_and_losses(tmp_path: Path):
    (tmp_path / "t.txt").write_text("ana 10:32\nperplexities: \n19M -> 41.2\n70M -> 30.1\n160M -> 25.3\n")
    curves = sl.read(tmp_path / "t.txt")
    assert curves["n_params"].tolist() == [19e6, 70e6, 160e6]
    (tmp_path / "t.txt").write_text("ppl (val):\n19M -> 41.2\n70M -> 30.1\n160M -> 25.3\n")
    assert np.exp(sl.read(tmp_path / "t.txt")["loss"]) == pytest.approx([41.2, 30.1, 25.3])


def test_words_before_the_numbers_of_a_line_name_its_run(tmp_path: Path):
    (tmp_path / "t.txt").write_text("small: 19M params, 3.4\nbase: 70M params, 3.1\nxl: 160M params, 2.9\n")
    curves = sl.read(tmp_path / "t.txt")
    assert curves.runs == ["small", "base", "xl"]
    assert curves["n_params"].tolist() == [19e6, 70e6, 160e6]


@pytest.mark.parametrize(("line", "role"), [
    ("- {}M params: val loss {}", "n_params"), ("* {}M params -> val loss {}", "n_params"),
    ("- {}k images: val loss {}", "n_data"), ("- {}k reviews: val loss {}", "n_data"),
])  # fmt: skip
def test_items_of_a_list_name_a_size_before_their_mark(tmp_path: Path, line: str, role: str):
    sizes, losses = (15, 45, 125, 350), (3.92, 3.51, 3.18, 2.93)
    path = tmp_path / "notes.md"
    path.write_text("# Sweep\n\n" + "\n".join(line.format(*each) for each in zip(sizes, losses)))
    read = sl.read(path)
    assert read[role].tolist() == [each * (1e6 if "M" in line else 1e3) for each in sizes]
    assert read["test_loss"].tolist() == [*losses]


def test_words_that_recur_before_the_numbers_of_lines_are_kept(tmp_path: Path):
    path = tmp_path / "notes.txt"
    rows = [("adam", 15, 3.9), ("adam", 45, 3.5), ("sgd", 15, 4.4), ("sgd", 45, 4.0)]
    path.write_text("\n".join(f"- {kind} {size}M params: {loss}" for kind, size, loss in rows))
    assert sl.read(path)["label"].tolist() == ["adam", "adam", "sgd", "sgd"]


def test_a_largest_number_of_tokens_is_that_of_the_training_where_it_is_so_many():
    sizes = {"cfg.n_params": [1e7, 1e7, 5e7, 5e7], "val_loss": [3.9, 3.6, 3.5, 3.2]}
    assert sl.read(sizes | {"cfg.max_tokens": [1e9, 4e9] * 2})["tokens"].tolist() == [1e9, 4e9] * 2
    assert "tokens" not in sl.read(sizes | {"cfg.max_tokens": [4096, 512, 512, 4096]}).frame


def test_a_size_of_no_known_name_is_the_one_that_the_measurement_follows():
    kept = ["21/50", "30/50", "40/50"]
    curves = sl.read({"env_steps": ["1M", "2M", "5M"], "gpu_hours": [1, 2, 5], "kept": kept})
    assert curves["n_data"].tolist() == [1e6, 2e6, 5e6]
    assert curves.data_unit == "env_steps"
    assert curves["kept"].tolist() == [0.42, 0.6, 0.8]


def test_two_sizes_of_no_known_name_are_not_guessed():
    table = {"alpha": [10, 20, 50, 90], "beta": [3, 9, 20, 70], "val_loss": [3.0, 2.5, 2.2, 2.0]}
    with pytest.raises(BadInput, match="n_data"):
        sl.read(table)


def test_deviations_below_the_runs_are_left_out_where_they_are_those_of_the_rows(tmp_path: Path):
    rows = "fold 0,0.30,0.20\nfold 1,0.34,0.22\n"
    (tmp_path / "t.csv").write_text(f"fold,n=100,n=200\n{rows}mean,0.32,0.21\nstd,0.0283,0.0141\n")
    assert len(sl.read(tmp_path / "t.csv").frame) == 4
    (tmp_path / "t.csv").write_text(f"fold,n=100,n=200\n{rows}max,0.5,0.4\n")
    assert len(sl.read(tmp_path / "t.csv").frame) == 6


def test_numbers_in_latex_and_seeds_in_cells():
    curves = sl.read({"run": ["seed=0", "seed=1"] * 2, "n_train": [100, 100, 200, 200],
                      "acc": ["$71.3 \\pm 0.2$", "72.0", "$80.0$", "81\\%"]})  # fmt: skip
    assert curves["seed"].astype(int).tolist() == [0, 1, 0, 1]


def test_names_of_runs_that_recur_beside_their_numbers_are_a_family():
    names = [f"{word}-{size}M" for word in ("cosine", "wsd") for size in (20, 70, 200)]
    table = {"run_name": names, "n_params": [2e7, 7e7, 2e8] * 2, "val_loss": [3.4, 3.1, 2.9, 3.5, 3.2, 3.0]}
    assert sl.read(table)["family"].tolist() == ["cosine"] * 3 + ["wsd"] * 3
    assert "family" not in sl.read(table | {"run_name": [f"fox-{k}" for k in range(6)]}).frame
    shapes = [f"fox-{width}x{k}" for width in (254, 514) for k in (3, 5, 7)]
    assert "family" not in sl.read(table | {"run_name": shapes}).frame


def test_a_size_and_its_result_in_lines_of_their_own(tmp_path: Path):
    text = "".join(f"== config {k}: n_params={n}\nepoch done\n>>> test loss = {y}\n" for k, n, y in (
        (0, 10000000, 3.4), (1, 20000000, 3.1), (2, 40000000, 2.9)))  # fmt: skip
    (tmp_path / "t.log").write_text(text)
    curves = sl.read(tmp_path / "t.log")
    assert curves.frame[["n_params", "test_loss"]].to_numpy().tolist() == [[1e7, 3.4], [2e7, 3.1], [4e7, 2.9]]


def test_groups_that_are_named_in_a_row_of_their_own(tmp_path: Path):
    rows = "{}M params,,\n,tokens,loss\n,1B,{}\n,3B,{}\n"
    (tmp_path / "t.csv").write_text(rows.format(19, 4.3, 4.0) + rows.format(70, 3.8, 3.5))
    curves = sl.read(tmp_path / "t.csv")
    assert curves.frame[["n_params", "n_data", "loss"]].to_numpy().tolist() == [
        [19e6, 1e9, 4.3], [19e6, 3e9, 4.0], [70e6, 1e9, 3.8], [70e6, 3e9, 3.5],
    ]  # fmt: skip


def test_data_over_parameters_is_a_ratio_and_no_size():
    curves = sl.read({"size": ["14M", "31M", "70M"], "D/N": [20, 20, 20], "loss": [4.9, 4.2, 3.6]})
    assert curves["n_params"].tolist() == [14e6, 31e6, 70e6]
    assert curves["n_data"].tolist() == [280e6, 620e6, 1400e6]


def test_texts_on_a_run_are_no_settings():
    table = pd.DataFrame(
        {
            "n_train": [1000, 2000, 4000, 8000], "commit": ["a1", "a1", "b2", "b2"],
            "out_dir": [f"/runs/{k}" for k in range(4)], "schedule": ["wsd", "cosine"] * 2,
            "val_error": ["0.3", "diverged", "n/a", "0.2"],
        }
    )  # fmt: skip
    columns = {column.ours: column for column in sl.read(table).reading.columns}
    assert [columns[name].role for name in ("commit", "out_dir", "schedule")] == ["about", "about", "setting"]
    assert "diverged 1, no value 1" in columns["test_error"].change
