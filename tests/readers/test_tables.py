"""Tables as they are found: names, numbers, separators, compression, and which rows are one run."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalinglab as sl
from scalinglab.curves.names import aliases
from scalinglab.curves.numbers import number
from scalinglab.errors import BadInput
from scalinglab.readers.tables import files
from scalinglab.support import work

TABLE = "params,tokens,val_loss\n19M,1B,3.5\n125M,2B,3.1\n1.3B,26B,2.3\n"


def training_logs(checkpoints: int = 40) -> pd.DataFrame:
    """Six runs, three sizes and two token counts, a row a checkpoint."""
    rows = [
        {"run_name": f"{n:g}-{d:g}", "params": n, "step": k, "tokens": d * k / checkpoints,
         "loss": 1.7 + 400 * n**-0.34 + 400 * (d * k / checkpoints) ** -0.28}
        for n in (1e7, 1e8, 1e9) for d in (1e9, 4e9) for k in range(1, checkpoints + 1)
    ]  # fmt: skip
    return pd.DataFrame(rows)


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("19M", 19e6), ("1.3B", 1.3e9), ("1e9", 1e9), ("36.4%", 0.364), ("1,000", 1000), ("12k", 12e3),
        ("1,234,567.5", 1234567.5), ("2T", 2e12), (" 7 ", 7), ("-0.5", -0.5), ("−3", -3), ("1_000_000", 1e6),
        ("350 M", 350e6), ("inf", np.inf), ("0.1e-3", 1e-4), ("100 %", 1.0), ("2.5E+3", 2500),
    ],
)  # fmt: skip
def test_numbers_as_they_are_written(text: str, value: float):
    assert number(text) == value


@pytest.mark.parametrize(
    "text", ["cnn", "1,00", "1,0000", "0,123", "1.2.3", "M", "%", "3 4", "0x10", "1" * 500]
)
def test_what_is_no_number_stays_text(text: str):
    assert number(text) is None


POWERS_OF_TEN = {
    0: [""], 3: ["k", "thousand", "Tsd.", "тыс", "千"], 4: ["万", "萬"], 8: ["亿", "億"],
    6: ["M", "Mn", "Mio.", "million",
        "Millionen", "millones", "milhões", "milioni", "miljoen", "млн", "百万"],
    9: ["B", "G", "bn", "Mrd.", "Md", "billion", "Milliarden", "miliardi", "miljard", "млрд", "十亿", "十億"],
    12: ["T", "trillion", "万亿", "兆"],
}  # fmt: skip


def test_words_for_powers_of_ten_are_known_in_several_languages():
    found = {power: [number(f"3 {word}".strip()) for word in words] for power, words in POWERS_OF_TEN.items()}
    assert found == {power: [3 * 10.0**power] * len(words) for power, words in POWERS_OF_TEN.items()}


@pytest.mark.parametrize(("text", "value"), [("31,6 Mio", 31.6e6), ("3,2 Mrd.", 3.2e9), ("1,5k", 1.5e3)])
def test_a_decimal_comma_stands_before_words_for_powers_of_ten(text: str, value: float):
    assert number(text, decimal_comma=True) == pytest.approx(value)


@given(st.floats(1e-300, 1e300), st.sampled_from(["", "k", "M", "B", "T"]))
def test_a_suffix_is_a_power_of_ten_exactly(value: float, suffix: str):
    scale = {"": 0, "k": 3, "M": 6, "B": 9, "T": 12}[suffix]
    digits = f"{value:.6f}" if 1e-3 < value < 1e12 else f"{value:.6e}"
    mantissa, _, power = digits.partition("e")
    assert number(digits + suffix) == float(f"{mantissa}e{int(power or 0) + scale}")


def test_a_column_with_one_word_in_it_stays_text_and_is_named(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("n_params,test_loss\n19M,3.5\nlots,3.1\n")
    with pytest.raises(BadInput, match=r"n_params.*'lots'"):
        sl.read(path)


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("val_loss", "test_loss"), ("eval_loss", "test_loss"), ("eval/loss", "test_loss"),
        ("valid.loss", "test_loss"), ("Loss/validation", "test_loss"), ("train/loss", "train_loss"),
        ("lr", "learning_rate"), ("tokens", "tokens"), ("N", "n_params"), ("params", "n_params"),
        ("flops", "compute"), ("FLOPs", "compute"), ("trial", "seed"), ("rep", "seed"),
        ("wd", "weight_decay"),
        ("config.lr", "learning_rate"), ("hparams/batch_size", "batch_size"), ("global_step", "step"),
        ("iteration", "step"), ("run_name", "run"), ("Training Tokens", "tokens"),
        ("val_acc", "test_accuracy"),
    ],
)  # fmt: skip
def test_usual_names_are_recognised(theirs: str, ours: str):
    assert aliases([theirs])[ours] == [theirs]


@pytest.mark.parametrize(
    "name", ["n", "d", "c", "gloss", "valuation_loss", "loss_scale", "seedling", "lr_mult"]
)
def test_other_names_stay(name: str):
    assert not aliases([name])


def test_a_standard_name_is_not_replaced_and_one_of_two_aliases_is_taken():
    table = sl.read(
        {"n_data": [1, 2], "test_loss": [2, 1], "val_loss": [3, 2], "lr": [1, 1], "peak_lr": [2, 2]}
    )
    assert table["test_loss"].tolist() == [2, 1]
    assert table["val_loss"].tolist() == [3, 2]
    assert table["learning_rate"].tolist() == [1, 1]


def test_a_learning_rate_that_decays_is_a_setting_by_its_highest_value():
    frame = pd.DataFrame(
        {"run": list("aabb"), "step": [1, 2, 1, 2], "lr": [1, 0.5, 1, 0.5], "loss": [3, 2, 3, 2.0]}
    )
    curves = sl.read(frame)
    assert curves.measurement_columns == ["current_learning_rate", "loss"]
    assert curves["learning_rate"].tolist() == [1.0] * 4
    assert sl.read(frame.assign(lr=[1, 1, 2, 2])).setting_columns == ["learning_rate"]


def test_what_was_understood_is_one_line():
    line = sl.read(
        pd.DataFrame({"N": ["19M", "1.3B"], "D": [1e9, 2e9], "eval/acc": ["36.4%", "40%"], "lr": 1.0})
    ).understood
    assert "\n" not in line
    for part in (
        "2 runs, 2 rows", "n_params ← N", "tokens ← D", "test_accuracy ← eval/acc", "learning_rate ← lr",
        "n_params 19M read as 19000000", "test_accuracy 36.4% read as 0.364",
        "test_error = 1 − test_accuracy",
        "settings that vary: n_params, n_data", "each row is a run",
    ):  # fmt: skip
        assert part in line


def test_percent_are_fractions_with_and_without_the_sign():
    tables = [
        {"n_data": [1, 2, 3], "err": ["40%", "30%", "0.5%"]}, {"n_data": [1, 2, 3], "err": [40, 30, 0.5]},
        {"n_data": [1, 2, 3], "err (%)": [40, 30, 0.5]}, {"n_data": [1, 2, 3], "test_acc": [60, 70, 99.5]},
    ]  # fmt: skip
    for table in tables:
        named = {} if "test_acc" in table else {"test_error": next(c for c in table if c != "n_data")}
        np.testing.assert_allclose(sl.read(table, **named)["test_error"], [0.4, 0.3, 0.005], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "ours"), [("error rate", "test_error"), ("err", "test_error"), ("nll", "loss")]
)
def test_an_error_or_loss_of_no_split_is_the_measurement_where_it_is_the_only_one(name, ours):
    assert sl.read({"n_data": [100, 200], name: [0.3, 0.2]})[ours].tolist() == [0.3, 0.2]
    beside = sl.read({"n_data": [100, 200], "val_loss": [2.0, 1.5], name: [0.3, 0.2]})
    assert ours not in beside.frame
    assert beside[name].tolist() == [0.3, 0.2]


def test_an_error_beside_an_accuracy_is_not_taken_for_the_measurement():
    """It may be the accuracy's standard error."""
    table = pd.DataFrame({"n_data": [100, 200], "top1": [0.6, 0.7], "error": [0.01, 0.02]})
    for curves in (sl.read(table, accuracy="top1"), sl.read(table.assign(accuracy=[0.5, 0.6]))):
        assert "test_error" not in curves.frame
        assert curves["error"].tolist() == [0.01, 0.02]
    np.testing.assert_allclose(sl.read(table)["test_error"], [0.4, 0.3])


def test_times_and_messages_are_no_settings():
    """A time in every row would make each row a run of its own."""
    steps, sizes = [1, 2, 3] * 2, [10, 10, 10, 20, 20, 20]
    when = [f"2024-01-0{1 + i // 3}T10:00:0{i}" for i in range(6)]
    table = pd.DataFrame({"time of day": when, "step": steps, "n_params": sizes, "val_loss": 1.0})
    for frame in (table, table.assign(**{"time of day": pd.to_datetime(when)})):
        curves = sl.read(frame)
        assert len(curves.runs) == 2
        assert "left out, neither a setting nor a measurement: time of day" in curves.understood
    told = table.assign(run=["a"] * 3 + ["b"] * 3, sample=list("uvwxyz"), optimizer="adam")
    assert "left out, neither a setting nor a measurement: time of day, sample" in sl.read(told).understood
    free = pd.DataFrame({"step": range(8), "said": [f"line {i}" for i in range(8)], "val_loss": 1.0})
    assert len(sl.read(free).runs) == 1
    assert len(sl.read(free.assign(said=["a"] * 4 + ["b"] * 4, step=[*range(4)] * 2)).runs) == 2  # a setting
    assert len(sl.read(free, settings=["said"]).runs) == 8  # asked for
    with pytest.raises(BadInput, match=r"gap .*run a.*'0\.1' to 'soon'"):
        sl.read(told.assign(gap=["0.1", "soon", "0.3"] * 2))


def test_texts_that_recur_within_a_run_are_refused():
    """Left out, they would mix measurements of different kinds in one curve."""
    splits = pd.DataFrame({"run": "a", "step": range(1, 7), "split": ["train", "test"] * 3, "loss": 1.0})
    assert sl.read(splits).measurement_columns == ["test_loss", "train_loss"]  # a column each
    tasks = ["arc", "hellaswag", "piqa"]
    evaluated = pd.DataFrame({"run": list("aaabbb"), "n_data": [10] * 3 + [20] * 3, "task": tasks * 2})
    for table in (evaluated, evaluated[:3], evaluated.assign(task=[f"task {i}" for i in range(6)])):
        with pytest.raises(BadInput, match=r"task.*run a"):
            sl.read(table.assign(test_error=0.5))
    said = [f"sample {max(i, 1)}" for i in range(12)]  # one of them twice
    log = pd.DataFrame({"run": "a", "step": range(12), "said": said, "loss": 1.0})
    assert "measurement: said" in sl.read(log).understood


@pytest.mark.parametrize(
    "steps", [[100] * 8, [100] * 4 + [200] * 4, [100, 100, 200, 200, 400, 400, 800, 800]]
)
def test_a_text_that_tells_runs_of_the_same_step_apart_is_a_setting(steps):
    table = pd.DataFrame({"step": steps, "recipe": [f"r{i}" for i in range(8)], "test_error": 0.5})
    curves = sl.read(table)
    assert "runs identified by recipe" in curves.understood
    assert len(curves.runs) == 8
    assert not curves.seed_columns
    logs = pd.DataFrame({"step": [*range(5)] * 2, "said": [f"line {i}" for i in range(10)], "loss": 1.0})
    assert len(sl.read(logs).runs) == 2


def test_long_texts_stay_where_they_are_asked_for_and_go_from_all_rows_where_not(tmp_path: Path):
    commands = ["x" * 190, "y" * 210, "y" * 209 + "z"]
    rows = [{"n_data": 10, "cmd": command, "test_error": 0.5} for command in commands]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    for source in (path, tmp_path):  # a file, and a folder of them
        plain = sl.read(source)
        assert "cmd" not in plain.frame
        assert "measurement: cmd" in plain.understood
        asked = sl.read(source, settings=["cmd"])
        assert asked.frame["cmd"].nunique() == 3
        assert asked.frame["cmd"].str[:40].tolist() == [command[:40] for command in commands]
        assert asked.frame["cmd"].str.len().max() <= 200
        assert "shortened or left out: cmd" in asked.understood
    path.write_text("\n".join(json.dumps(row | {"run": row["cmd"]}) for row in rows))
    assert len(sl.read(path).runs) == 3
    path.write_text('{"n_data": 1, "eval": {"loss": 1.0}, "eval.loss": 2.0}')
    with pytest.raises(BadInput, match=r"line 1 .*'eval\.loss'"):
        sl.read(path)


def test_json_lines_with_nested_objects_arrays_and_texts(tmp_path: Path):
    rows = [
        {"step": i % 4, "config": {"lr": 0.1, "betas": [0.9, 0.95 + i // 4]}, "eval": {"loss": 1.0 / (i + 1)},
         "histogram": [float(i)] * 64, "said": "x" * 300, "parts": [[1], {}]}
        for i in range(8)
    ]  # fmt: skip
    for name in ("log.jsonl", "log.json"):
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
        curves = sl.read(tmp_path / name)
        assert curves["test_loss"].tolist() == [1.0 / (i + 1) for i in range(8)]
        assert curves["learning_rate"].tolist() == [0.1] * 8
        betas = curves.frame.groupby("run", sort=False)["config.betas"].first()
        assert betas.tolist() == ["[0.9, 0.95]", "[0.9, 1.95]"]
        assert "measurement: histogram, said, parts" in curves.understood
    deep = '{"n_data":1,"test_loss":{"a":1},"x":' + "[" * 900 + "]" * 900 + "}"
    (tmp_path / "deep.jsonl").write_text(deep)
    assert list(sl.read(tmp_path / "deep.jsonl").frame) == ["run", "n_data", "test_loss"]


def test_a_loss_of_three_decimals_is_no_thousands(tmp_path: Path):
    (tmp_path / "loss.csv").write_text("Parameter;val loss\n30000000;4,081\n100000000;3,430\n")
    assert sl.read(tmp_path / "loss.csv")["test_loss"].tolist() == [4.081, 3.43]
    (tmp_path / "size.csv").write_text("n_train;test_error\n1,000;0.4\n20,000;0.3\n")
    assert sl.read(tmp_path / "size.csv")["n_data"].tolist() == [1000, 20000]


@pytest.mark.parametrize(
    ("losses", "read"),
    [
        (["1,234.5", "900.5"], [1234.5, 900.5]),
        (["1,234", "900.5"], [1234, 900.5]),
        (["4,081", "3,430"], [4.081, 3.43]),
        (["4,081", "3,43"], [4.081, 3.43]),
    ],
)
def test_the_decimal_comma_of_a_loss_says_nothing_about_sizes(tmp_path: Path, losses, read):
    text = "n_train;val loss\n1,000;{}\n20,000;{}\n".format(*losses)
    (tmp_path / "t.csv").write_text(text)
    curves = sl.read(tmp_path / "t.csv")
    assert curves["n_data"].tolist() == [1000, 20000]
    assert curves["test_loss"].tolist() == read


def test_a_decimal_comma_elsewhere_counts_where_thousands_are_not_likely(tmp_path: Path):
    (tmp_path / "t.csv").write_text("n_data;gain;test_error\n1,000;1,000;0,4\n20,000;2,000;0,3\n")
    curves = sl.read(tmp_path / "t.csv")
    assert curves["gain"].tolist() == [1, 2]
    assert curves["n_data"].tolist() == [1000, 20000]


def test_d_counts_tokens_where_it_is_large_and_examples_where_it_is_small():
    assert sl.read({"N": [1e6, 1e7], "D": [1e9, 1e10], "loss": [3, 2]}).data_unit == "tokens"
    assert sl.read({"n_params": [1e8, 1e9], "n_data": [2e9, 3e11], "loss": [3, 2]}).data_unit == "tokens"
    images = sl.read({"N": [1e6, 1e7], "D": [1000, 50_000], "loss": [3, 2]})
    assert images.data_unit == "examples"
    assert images["n_data"].tolist() == [1000, 50_000]


# --- runs ----------------------------------------------------------------------------------------


def same(a: sl.Curves, b: sl.Curves) -> None:
    for column in ("n_params", "n_data", "step"):
        np.testing.assert_array_equal(a[column], b[column])
    groups = [pd.factorize(c.frame["run"])[0] for c in (a, b)]
    np.testing.assert_array_equal(*groups)


def test_six_runs_stay_six_whichever_way_tokens_are_named(tmp_path: Path):
    logs = training_logs()
    logs.to_csv(tmp_path / "t.csv", index=False)
    recognised = sl.read(tmp_path / "t.csv")
    assert len(recognised.runs) == 6
    assert sorted(set(recognised["n_data"])) == [1e9, 4e9]
    np.testing.assert_array_equal(recognised["tokens"], logs["tokens"])
    same(recognised, sl.read(tmp_path / "t.csv", n_data="tokens"))
    same(recognised, sl.read(logs.rename(columns={"tokens": "seen_toks"}), n_data="seen_toks"))
    same(recognised, sl.read(logs.drop(columns="run_name")))
    same(recognised, sl.read(logs.drop(columns="run_name"), n_data="tokens"))
    without_step = sl.read(logs.drop(columns=["run_name", "step"]), n_data="tokens")
    assert len(without_step.runs) == 6
    sl.Store(tmp_path / "runs").add(sl.read(logs, n_data="tokens"))
    kept = sl.read(tmp_path / "runs")
    assert len(kept.runs) == 6
    assert sorted(kept["tokens"]) == sorted(logs["tokens"])


def test_a_result_table_of_three_sizes_and_two_token_counts_is_six_runs():
    last = training_logs().groupby("run_name").tail(1)
    for columns in (["params", "tokens", "loss"], ["params", "step", "tokens", "loss"]):
        assert len(sl.read(last[columns]).runs) == 6
    many = pd.DataFrame({"N": np.repeat([1e7, 1e8], 20), "tokens": np.tile(np.geomspace(1e8, 1e11, 20), 2)})
    assert len(sl.read(many.assign(loss=3.0)).runs) == 40  # chosen in the log: no checkpoints


def test_sizes_of_data_are_settings_although_they_grow_with_the_rows():
    rows = [(n, step, 1 / n + 1 / step) for n in (100, 200, 400) for step in range(1, 30)]
    assert len(sl.read(pd.DataFrame(rows, columns=["train_size", "step", "loss"])).runs) == 3
    even = pd.DataFrame(
        {"train_size": np.arange(1, 31) * 1000, "loss": 1.0}
    )  # as scikit-learn's learning_curve
    assert len(sl.read(even).runs) == 30


def test_tokens_in_all_are_known_at_the_end_only():
    frame = pd.DataFrame(
        {"params": 1e6, "tokens": np.repeat([1e9, 2e9], 3), "step": [1, 2, 3] * 2, "loss": 3.0}
    )
    table = sl.read(frame)
    assert len(table.runs) == 2
    assert table["n_data"].tolist() == [1e9] * 3 + [2e9] * 3
    np.testing.assert_array_equal(table["tokens"], [np.nan, np.nan, 1e9, np.nan, np.nan, 2e9])


def test_repeats_without_a_seed_are_runs_of_their_own():
    table = sl.read({"n_data": [100, 100, 200, 200], "test_error": [0.5, 0.52, 0.4, 0.41]})
    assert len(table.runs) == 4
    assert table.average()["count"].tolist() == [2, 2]
    steps = pd.DataFrame({"n_data": 100, "step": [1, 2, 3] * 2, "loss": [3, 2, 1, 3.1, 2.1, 1.1]})
    assert len(sl.read(steps).runs) == 2
    assert "a new run where step starts again" in sl.read(steps).understood
    with pytest.raises(BadInput, match="loss, depths"):  # two networks are no repeats
        sl.read(steps.assign(depths=[2] * 3 + [3] * 3))


# --- files ---------------------------------------------------------------------------------------


def write(folder: Path, name: str) -> Path:
    frame = pd.DataFrame(
        {"params": ["19M", "125M", "1.3B"], "tokens": ["1B", "2B", "26B"], "val_loss": [3.5, 3.1, 2.3]}
    )
    path = folder / name
    packed = gzip.compress if name.endswith(".gz") else bytes
    texts = {
        "csv": TABLE, "tsv": TABLE.replace(",", "\t"), "semicolon.csv": TABLE.replace(",", ";"),
        "comma.csv": TABLE.replace(",", ";").replace(".", ","), "bar.txt": TABLE.replace(",", "|"),
        "json": json.dumps(frame.to_dict("records")), "columns.json": json.dumps(frame.to_dict("list")),
        "nested.json": json.dumps({"version": 1, "data": frame.to_dict("records")}),
        "pandas.json": frame.to_json(),
        "jsonl": frame.to_json(orient="records", lines=True),
    }  # fmt: skip
    kind = name.removeprefix("t.").removesuffix(".gz")
    if kind == "xlsx":
        frame.to_excel(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        path.write_bytes(packed(texts[kind].encode()))
    return path


@pytest.mark.parametrize(
    "name",
    ["t.csv", "t.tsv", "t.semicolon.csv", "t.comma.csv", "t.bar.txt", "t.json", "t.columns.json",
     "t.nested.json",
     "t.pandas.json", "t.jsonl", "t.xlsx", "t.parquet", "t.csv.gz", "t.tsv.gz", "t.jsonl.gz", "t.json.gz"],
)  # fmt: skip
def test_one_table_in_every_kind_of_file(tmp_path: Path, name: str):
    table = sl.read(write(tmp_path, name))
    assert table["n_params"].tolist() == [19e6, 125e6, 1.3e9]
    assert table["n_data"].tolist() == [1e9, 2e9, 26e9]
    assert table["test_loss"].tolist() == [3.5, 3.1, 2.3]


def test_tables_in_memory_of_every_shape():
    frame = pd.DataFrame({"n_data": [1, 1, 2, 2], "seed": [0, 1, 0, 1], "test_error": [0.4, 0.5, 0.3, 0.2]})
    grouped = frame.groupby("n_data").mean()  # n_data is in the index
    assert sl.read(grouped)["n_data"].tolist() == [1, 2]
    assert sl.read(frame.to_dict("list")).runs == sl.read(frame).runs
    curves = sl.read(frame)
    assert sl.read(curves) is curves
    assert sl.read(curves, width="seed")["width"].tolist() == [0, 1, 0, 1]
    with pytest.raises(BadInput, match="no rows"):
        sl.read(frame[:0])


def test_bombs_and_depths_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "BEFORE_RATIO", 1 << 20)
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"n_data,loss\n" + b"1,1\n" * 2_000_000))
    with pytest.raises(BadInput, match="that is no table"):
        sl.read(bomb)
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/worksheets/sheet1.xml", b"0" * (8 << 20))
    with pytest.raises(BadInput, match="that is no table"):
        sl.read(tmp_path / "bomb.xlsx")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(BadInput, match="nested too deeply"):
        sl.read(tmp_path / "deep.json")
    (tmp_path / "deep.jsonl.gz").write_bytes(gzip.compress(b'{"a":' * 100_000))
    with pytest.raises(BadInput, match="nested too deeply"):
        sl.read(tmp_path / "deep.jsonl.gz")
    (tmp_path / "long.json").write_text(f'[{{"step": 1, "loss": {"9" * 400}}}, {{"step": 2, "loss": 1}}]')
    assert sl.read(tmp_path / "long.json")["loss"].tolist() == [np.inf, 1]
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(TABLE.encode() * 100)[:-20])
    with pytest.raises(BadInput, match=r"cut\.csv\.gz"):
        sl.read(tmp_path / "cut.csv.gz")
    (tmp_path / "gibberish.json").write_text('{"a": 3, "b": "x"}')
    with pytest.raises(BadInput, match="holds no table"):
        sl.read(tmp_path / "gibberish.json")


@pytest.mark.parametrize("name", ["large.csv", "large.tsv", "large.jsonl", "large.csv.gz", "large.jsonl.gz"])
def test_a_large_table_shows_how_much_of_it_was_read(tmp_path: Path, monkeypatch, name: str):
    table = pd.DataFrame({"n_data": np.arange(1, 4001), "test_error": 1 / np.arange(2, 4002)})
    if "json" in name:
        table.to_json(tmp_path / name, orient="records", lines=True)
    else:
        table.to_csv(tmp_path / name, index=False, sep="\t" if "tsv" in name else ",")
    monkeypatch.setattr(work, "LARGE", 1000)
    terminal = type("Terminal", (io.StringIO,), {"isatty": lambda self: True})()
    monkeypatch.setattr("sys.stderr", terminal)
    assert len(sl.read(tmp_path / name)) == 4000
    drawn = re.sub(r"\x1b\[[\d;?]*\w", "", terminal.getvalue())  # without colours
    assert name in drawn
    assert re.search(r" ([1-9][\d.]*)/\1 ", drawn)  # all of its bytes


@pytest.mark.parametrize(("count", "tokens", "runs"), [
    (16, lambda k: 1e9 * (k + 1), 2), (15, lambda k: 1e9 * (k + 1), 30), (16, lambda k: 1e9 * 1.3**k, 32),
])  # fmt: skip
def test_tokens_that_grow_evenly_over_many_rows_are_those_of_checkpoints(count: int, tokens, runs: int):
    """As a training logs them; chosen sizes of separate runs are few and spaced in their logarithm."""
    n, d = np.repeat([1e6, 1e7], count), np.tile(tokens(np.arange(count)), 2)
    found = sl.read(pd.DataFrame({"params": n, "tokens": d, "loss": 1.7 + 400 * n**-0.34 + 410 * d**-0.28}))
    assert len(found.runs) == runs


def test_examples_are_sizes_of_runs_unless_they_grow_as_in_a_training():
    sizes = {"params": [1e6] * 3 + [1e7] * 3, "examples": [1000, 4000, 16000] * 2}
    losses = {"loss": [3.0, 2.5, 2.2, 2.8, 2.3, 2.0]}
    curves = sl.read(sizes | losses)
    assert len(curves.runs) == 6
    assert curves["n_data"].tolist() == sizes["examples"]
    seen = {"params": sizes["params"], "examples_seen": sizes["examples"]} | losses
    assert len(sl.read(seen).runs) == 2
    logged = {"examples": [128 * k for k in range(1, 21)], "loss": [3 / k for k in range(1, 21)]}
    assert len(sl.read(logged).runs) == 1


def test_isoflop_curves_have_the_data_that_their_compute_bought():
    sizes, flops = [1e7, 4e7, 4e7, 2e8], [1e18, 1.004e18, 1e20, 1.003e20]
    table = {"params": sizes, "flops": flops, "loss": [3.5, 3.4, 2.6, 2.5]}
    curves = sl.read(table)
    assert curves["n_data"] == pytest.approx(np.array(flops) / 6 / sizes)
    assert curves.data_unit == "tokens"
    assert "tokens = compute / (6 n_params), since no column says how much data" in curves.understood
    assert len(curves.runs) == 4
    small = sl.read(table | {"flops": [1e13, 1e13, 1e14, 1e14]})
    assert small.data_unit == "examples"
    assert small["n_data"].max() == pytest.approx(1e14 / 6 / 4e7)
    said = {"tokens": [1e9, 2e9, 4e9, 8e9]}
    assert sl.read(table | said)["n_data"].tolist() == said["tokens"]
    line, forward = {"flops": [1e18, 4e18, 1.6e19, 6e19]}, {"flops": [4e9, 4e9, 8e9, 8e9]}
    for other in (line, forward):  # a size at each compute, and FLOPs of one image
        assert "n_data" not in sl.read(table | other).frame


@pytest.mark.parametrize("name", ["images", "Samples"])
def test_images_and_samples_are_the_data_where_nothing_else_is(name: str):
    alone = sl.read({name: [500, 1000, 2000], "error": [0.2, 0.15, 0.1]})
    assert alone["n_data"].tolist() == [500, 1000, 2000]
    beside = sl.read(
        {name: [100, 100, 100], "tokens": [1e9, 2e9, 4e9], "params": [1e6] * 3, "loss": [3, 2.5, 2]}
    )
    assert beside["n_data"].tolist() == [1e9, 2e9, 4e9]
