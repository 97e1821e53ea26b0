"""Tables with sizes, seeds, runs or measurements as columns come out with a row for each measurement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput, NotDetermined

N, D = [19e6, 160e6, 1.4e9], [1e9, 10e9]
LOSS = np.array([[4.1, 3.6], [3.5, 3.0], [3.0, 2.5]])
EXAMPLES, ERRORS = [1000, 4000, 16000], np.array([[0.30, 0.31], [0.20, 0.21], [0.10, 0.12]])


def surface(curves: sl.Curves) -> list[list[float]]:
    """Rows of n_params, n_data and the loss, in order."""
    name = "loss" if "loss" in curves.frame else "test_loss"
    return sorted(curves.frame[["n_params", "n_data", name]].to_numpy(float).tolist())


@pytest.mark.parametrize(
    ("columns", "index", "corner"),
    [
        (["1B", "10B"], ["19M", "160M", "1.4B"], "params"),
        (["1B tokens", "10B tokens"], ["19M", "160M", "1.4B"], "N"),
        (["1e9", "1e10"], N, "N \\ D"), (["loss_1B", "loss_10B"], N, "params"),
        (["tokens=1B", "tokens=10B"], ["gpt-19m", "gpt-160m", "gpt-1.4b"], "model"),
    ],
)  # fmt: skip
def test_sizes_as_columns_either_way_round(columns: list[str], index: list, corner: str):
    table = pd.DataFrame(LOSS, columns=columns)
    table.insert(0, corner, index)
    expected = sorted([n, d, LOSS[i, j]] for i, n in enumerate(N) for j, d in enumerate(D))
    assert surface(sl.read(table)) == expected
    turned = pd.DataFrame(LOSS.T, columns=["19M", "160M", "1.4B"]).assign(tokens=["1B", "10B"])
    assert surface(sl.read(turned)) == expected


@pytest.mark.parametrize("names", [["seed0", "seed1"], ["run 1", "run 2"], ["test_err_s0", "test_err_s1"]])
def test_seeds_as_columns(names: list[str]):
    curves = sl.read(pd.DataFrame(ERRORS, columns=names).assign(n_train=EXAMPLES))
    y = "test_error" if "test_error" in curves.frame else "loss"
    found = curves.frame.sort_values(["n_data", "seed"])[y].to_numpy().reshape(3, 2)
    np.testing.assert_array_equal(found, ERRORS)
    rising = sl.read(pd.DataFrame(1 - ERRORS, columns=["seed0", "seed1"]).assign(n_train=EXAMPLES))
    assert sl.answer(rising).y == "test_error"  # values that rise with size are accuracies


def test_measurements_in_rows():
    rows = [
        (n, name, value) for n in EXAMPLES for name, value in (("val_loss", 1e3 / n), ("train_loss", 1e2 / n))
    ]
    curves = sl.read(pd.DataFrame(rows, columns=["n_train", "metric", "value"]))
    assert curves["test_loss"].tolist() == [1e3 / n for n in EXAMPLES]
    assert curves["train_loss"].tolist() == [1e2 / n for n in EXAMPLES]
    splits = pd.DataFrame(
        {"n_train": EXAMPLES * 2, "split": ["train"] * 3 + ["test"] * 3, "error": [0.1] * 3 + [0.3, 0.2, 0.1]}
    )
    assert sl.read(splits)["test_error"].tolist() == [0.3, 0.2, 0.1]
    turned = pd.DataFrame({"Params": ["Val loss"], "19M": [4.1], "160M": [3.5]})
    assert sl.read(turned).frame[["n_params", "test_loss"]].to_numpy().tolist() == [[19e6, 4.1], [160e6, 3.5]]


def test_sizes_in_the_names_of_models_and_their_families():
    names = ["Pythia-70M", "Pythia-160M", "Pythia-1.4B"]
    curves = sl.read({"model": names, "loss": [3.0, 2.8, 2.4]})
    assert curves["n_params"].tolist() == [70e6, 160e6, 1.4e9]
    assert "family" not in curves.frame
    mixed = sl.read({"model": [*names, "opt-125m"], "loss": [3.0, 2.8, 2.4, 3.1]})
    assert {*mixed["family"]} == {"Pythia", "opt"}
    runs = {"run": [f"{kind}-d=96_l={k}" for kind in ("c4", "rpj") for k in range(4)], "loss": [3.0] * 8}
    assert len({*sl.read(runs)["family"]}) == 2
    assert "family" not in sl.read({**runs, "train_set": ["c4"] * 4 + ["rpj"] * 4}).frame
    for both in (["N70M_D10B", "N160M_D3B"], ["a-70M-10Btok", "a-160M-3Btok"], ["x70M-10B", "x160M-3B"]):
        read = sl.read({"run": both, "loss": [3.0, 2.8]}).frame
        assert read[["n_params", "n_data"]].to_numpy().tolist() == [[70e6, 10e9], [160e6, 3e9]], both
    for unclear in (["a-70M-10M", "a-20M-30M"], ["ctx-2k", "ctx-8k"]):
        assert "n_params" not in sl.read({"run": unclear, "step": [1, 1], "loss": [3.0, 2.8]}).frame
    folds = sl.read({"n_train": [10, 20], "fold0_acc": [0.5, 0.6], "fold1_acc": [0.4, 0.7]})
    assert folds["test_accuracy"].tolist() == [0.5, 0.6, 0.4, 0.7]


def test_two_files_are_enough_to_read_sizes_from_their_names(tmp_path):
    for size, loss in ((1000, 0.5), (4000, 0.3)):
        pd.DataFrame({"step": [1, 2], "loss": [2 * loss, loss]}).to_csv(
            tmp_path / f"trainsize{size}_seed0.csv", index=False
        )
    found = sl.read(tmp_path).frame
    assert found.groupby("n_data")["loss"].min().to_dict() == {1000: 0.5, 4000: 0.3}


def test_a_title_says_what_cells_are_and_in_which_unit(tmp_path):
    rows = ["# CIFAR-10 test error (%), ResNet-18", "|seed|250 imgs|1k imgs|", "|--|--|--|", "|0|72.9|44.1|"]
    (tmp_path / "seeds.md").write_text("\n".join([*rows, "|1|71.8|44.6|"]))
    read = sl.read(tmp_path / "seeds.md").frame.sort_values(["seed", "n_data"])
    assert read["n_data"].tolist() == [250, 1000] * 2
    assert read["test_error"].tolist() == pytest.approx([0.729, 0.441, 0.718, 0.446])


@pytest.mark.parametrize(("corner", "names"), [("lr", ["0.25", "0.5"]), ("log2(lr)", ["-2", "-1"])])
def test_a_corner_names_rates_as_columns(corner: str, names: list[str]):
    curves = sl.read(
        pd.DataFrame({f"width \\ {corner}": [64, 256], names[0]: [3.1, 2.9], names[1]: [3.3, None]})
    )
    rows = curves.frame[["width", "learning_rate", "loss"]].to_numpy().tolist()
    assert sorted(rows) == [[64, 0.25, 3.1], [64, 0.5, 3.3], [256, 0.25, 2.9]]


def test_lines_of_one_file_are_one_row(tmp_path):
    lines = [f"{a}.log:number of parameters: {n}M\n{a}.log:step 90: val loss {v}\n" for a, n, v in
             (("nano", 10.65, 3.58), ("mini", 29.94, 3.30), ("base", 84.95, 3.07))]  # fmt: skip
    (tmp_path / "grep.txt").write_text("".join(lines))
    read = sl.read(tmp_path / "grep.txt").frame[["n_params", "test_loss"]]
    assert read.to_numpy().tolist() == [[10.65e6, 3.58], [29.94e6, 3.30], [84.95e6, 3.07]]


def test_measurements_of_a_checkpoint_in_rows_of_their_own():
    rows = {"n_train": [10, 10, 20, 20], "step": [9] * 4, "train_loss": [0.5, None, 0.4, None]}
    read = sl.read({**rows, "val_loss": [None, 0.7, None, 0.6]}).frame
    assert read[["n_data", "train_loss", "test_loss"]].to_numpy().tolist() == [[10, 0.5, 0.7], [20, 0.4, 0.6]]
    repeated = sl.read({**rows, "val_loss": [0.8, 0.7, 0.7, 0.6]}).frame
    assert sorted(repeated["test_loss"]) == [0.6, 0.7, 0.7, 0.8]  # two losses of one checkpoint: two rows


def test_a_mean_beside_its_seeds_names_them_and_is_no_run():
    seeds = np.array([[70.0, 71.0, 72.6], [80.2, 80.6, 81.0], [90.0, 90.4, 91.4]])
    table = pd.DataFrame(seeds, columns=["Run 1", "Run 2", "Run 3"])
    table.insert(0, "train images", EXAMPLES)
    table = table.assign(**{"Avg test acc": seeds.mean(axis=1).round(1), "Std": seeds.std(axis=1).round(2)})
    read = sl.read(table)
    assert sorted(read["test_accuracy"]) == pytest.approx(np.sort(seeds.ravel()) / 100)


def test_printed_steps_in_files_named_by_their_size(tmp_path: Path):
    for size, end in ((1000, 0.9), (3000, 0.7), (9000, 0.6)):
        losses = [(k, end + 1 / k, end + 2 / k) for k in (1, 2, 3)]
        lines = [f"epoch {k}/3 | train loss {a:.4f} | val loss {b:.4f} | 3.2s" for k, a, b in losses]
        (tmp_path / f"n{size}.log").write_text("\n".join(["model: resnet18, 11M params", *lines]))
    read = sl.read(tmp_path)
    assert read.frame.groupby("n_data")["epoch"].max().to_dict() == {1000: 3, 3000: 3, 9000: 3}


def test_runs_of_several_kinds_along_training_are_not_one():
    seen, floors = np.array([1e8, 3e8, 1e9, 3e9, 1e10]), {"B/32": 0.3, "B/16": 0.2, "L/14": 0.1}
    rows = [(kind, n, low + 9 * n**-0.2) for kind, low in floors.items() for n in seen]
    with pytest.raises(NotDetermined, match="backbone"):
        sl.fit(pd.DataFrame(rows, columns=["backbone", "samples seen", "test error"]))


def test_what_improves_along_training_alone_is_not_fitted_to_sizes():
    rows = [
        {"run": f"r{n}", "n_data": n, "epoch": k, "val_acc": 0.3 + 0.1 * k, "val_loss": 20 * n**-0.3 + 1 / k}
        for n in (1e3, 3e3, 9e3, 27e3) for k in (1, 2, 3, 4)
    ]  # fmt: skip
    assert sl.fit(pd.DataFrame(rows)).y == "test_loss"


def test_numbers_without_names_are_refused(tmp_path):
    np.savetxt(tmp_path / "errors.txt", [[1000, 0.52], [2000, 0.43], [4000, 0.36], [8000, 0.3]])
    with pytest.raises(BadInput, match="needs them in its first line"):
        sl.read(tmp_path / "errors.txt")


def test_how_many_answers_a_score_is_of_is_a_setting():
    curves = sl.read({"params": [1e8, 1e8, 1e9, 1e9], "k": [1, 10, 1, 10], "pass@k": [0.1, 0.3, 0.2, 0.5]})
    assert "k" in curves.settings
    assert "n_data" not in curves.frame
    assert curves["test_accuracy"].tolist() == [0.1, 0.3, 0.2, 0.5]
