# ruff: noqa: E501  tables as they are written
"""Tables that are laid out unusually: read where that is certain, refused with the way out where not."""

from __future__ import annotations

import json
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.answers.fitted import choose
from scalinglab.curves.names import spelt
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.fitting.data.from_curves import points_of
from scalinglab.readers import ReadingWarning

ROWS = [(2e7, 1e9, 3.91), (2e8, 1e9, 3.52), (2e7, 4e9, 3.6), (2e8, 4e9, 3.2)]
TABLE = pd.DataFrame(ROWS, columns=["params", "tokens", "val_loss"])
CSV = TABLE.to_csv(index=False)


def check(curves: sl.Curves) -> None:
    frame = curves.frame.sort_values(["n_data", "n_params"])
    assert frame[["n_params", "tokens", "test_loss"]].to_numpy().tolist() == [list(row) for row in ROWS]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("comments.csv", f"# sweep of May\n# nats\n{CSV}".encode()),
        ("savetxt.csv", f"# sweep of May\n# {CSV}".encode()),
        ("savetxt.txt", f"#{CSV}".replace(",", " ").encode()),
        ("semicolons.csv", CSV.replace(",", ";").replace("\n", ";\n").encode()),
        ("spaces.txt", CSV.replace(",", "   ").encode()),
        ("commas.txt", CSV.encode()),
        ("excel.csv", CSV.replace(",", "\t").encode("utf-16")),
        ("index.csv", TABLE.to_csv().encode()),
        ("nested.json", json.dumps({"runs": [
            {"config": {"params": n, "tokens": d}, "eval": {"loss": y}} for n, d, y in ROWS
        ]}).encode()),
        ("units.csv", "\n".join(["Params (in millions),tokens_b,Val loss (nats)", *(
            f"{n / 1e6},{d / 1e9},{y}" for n, d, y in ROWS
        )]).encode()),
        ("ends.csv", CSV.replace("\n", ",\n").replace("val_loss,", "val_loss").encode()),
        ("r.txt", "\n".join(["params tokens val_loss", *(
            f"{i} {n} {d} {y}" for i, (n, d, y) in enumerate(ROWS, 1)
        )]).encode()),
    ],
)  # fmt: skip
def test_files_as_programs_write_them(tmp_path: Path, name: str, content: bytes):
    (tmp_path / name).write_bytes(content)
    curves = sl.read(tmp_path / name)
    check(curves)
    assert curves.measurement_columns == ["test_loss"]


class Polars:
    """A table of another library."""

    def to_pandas(self) -> pd.DataFrame:
        return TABLE


class Place:
    """A path of another library."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return self._path


def test_tables_of_other_libraries_and_lists_of_rows():
    check(sl.read(TABLE.to_dict("records")))
    check(sl.read(Polars()))
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        TABLE.to_csv(file.name, index=False)
        check(sl.read(Place(file.name)))
    levels = TABLE.set_axis([("config", "N"), ("config", "D"), ("eval", "loss")], axis=1)
    check(sl.read(levels.set_axis(pd.MultiIndex.from_tuples(levels.columns), axis=1)))
    with pytest.raises(BadInput, match="NoneType"):
        sl.read(None)


def test_a_misspelt_role_is_refused_and_an_alias_is_understood():
    with pytest.raises(BadInput, match=r"'ndata'.*'n_data'"):
        sl.read(TABLE, ndata="tokens")
    with pytest.raises(BadInput, match=r"computer=1e\+22"):
        sl.answer(TABLE, computer=1e22)
    assert "learning_rate" in sl.read(TABLE.assign(rate=[1e-3, 1e-3, 1e-4, 1e-4]), lr="rate").setting_columns
    for own in ("best_loss", "best_error"):
        assert sl.read(TABLE.assign(own=0.5), **{own: "own"})[own].tolist() == [0.5] * 4
    both = sl.read(TABLE.assign(own=0.5), test_loss="val_loss", val_loss="own").frame
    assert both["test_loss"].tolist() == TABLE.val_loss.tolist()
    assert both["val_loss"].tolist() == [0.5] * 4
    assert "test_loss_c4" in sl.read(TABLE.assign(c4=1.0), test_loss_c4="c4").frame


def test_an_error_beside_a_loss_is_not_taken_for_the_test_error():
    curves = sl.read({"n_data": [1e3, 1e4, 1e5], "nll": [1.5, 1.0, 0.7], "error": [0.01] * 3})
    assert sl.answer(curves).y == "loss"
    assert "(--column test_error=error) or a standard error (laws fit --error error)" in curves.understood
    named = sl.read({"n_data": [1e3, 1e4], "nll": [1.5, 1.0], "error": [0.3, 0.2]}, test_error="error")
    assert named["test_error"].tolist() == [0.3, 0.2]


def test_a_mean_over_seeds_is_the_measurement_and_its_spread_is_not():
    table = {"n_train": [1e3, 1e4], "test_err_mean": [0.3, 0.2], "test_err_std": [0.01, 0.02]}
    curves = sl.read(table)
    assert curves["test_error"].tolist() == [0.3, 0.2]
    assert curves.measurement_columns == ["test_error", "test_err_std"]


N = [1e6, 1e7, 1e8]
LOSSES = [4.0, 3.0, 2.0]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"val_loss": LOSSES, "lambada_ppl": N}, {"test_loss": LOSSES, "loss": None}),
        ({"val_loss": LOSSES, "perplexity": N}, {"test_loss": LOSSES, "loss": None}),
        ({"ppl": LOSSES, "perplexity": N}, {"loss": None}),
        ({"log_perplexity": LOSSES}, {"loss": None}),
        ({"eval_log_ppl": LOSSES}, {"test_loss": None, "loss": None}),
        ({"loss": LOSSES, "step time (ms)": LOSSES}, {"step time (ms)": LOSSES}),
        ({"loss": LOSSES, "lr (ks)": LOSSES}, {"lr (ks)": LOSSES}),
        ({"loss": LOSSES, "N_t": N}, {"N_t": N}),
        ({"loss": LOSSES, "params_a": LOSSES, "params_b": LOSSES}, {"params_b": LOSSES, "n_params": None}),
        ({"loss": LOSSES, "params_m": N}, {"params_m": N, "n_params": None}),
        ({"loss": LOSSES, "params_m": LOSSES}, {"n_params": [4e6, 3e6, 2e6]}),
        ({"loss": LOSSES, "params_thousands": LOSSES}, {"n_params": [4e3, 3e3, 2e3]}),
        ({"val_loss_avg": N, "val_loss": LOSSES}, {"test_loss": LOSSES, "val_loss_avg": N}),
        ({"loss": LOSSES, "Training (tokens)": N}, {"tokens": N}),
        ({"loss": LOSSES, "Training (FLOPs)": N}, {"compute": N}),
        ({"loss": LOSSES, "N (params)": N, "D (tokens)": N}, {"n_params": N, "tokens": N}),
    ],
)
def test_names_that_are_not_certain_change_no_number(
    table: dict[str, list[float]], expected: dict[str, list[float] | None]
):
    frame = sl.read({"n_data": [1, 2, 3], **table}).frame
    assert {name: frame[name].tolist() if name in frame else None for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("step,val_loss\n0,3.2,\n1,2.9,\n", None),
        ("step val_loss\n0 3.2\n1 2.9\n", None),
        ("step,val_loss\n0,3.2,7\n1,2.9,9\n", "a row has 3 values and the first line 2 names"),
        ("speed of it all\n20 3.9\n200 3.5\n", "lines have 2, 4 words"),
        ("step val_loss note\n0 3.2 ok\n1 2.9\n", "lines have 2, 3 words"),
        ("Results of May\nstep,val_loss\n0,3.2\n1,2.9\n", None),
    ],
)
def test_values_are_read_under_their_own_names_or_refused(tmp_path: Path, text: str, message: str | None):
    (tmp_path / "runs.csv").write_text(text)
    if message:
        with pytest.raises(BadInput, match=message):
            sl.read(tmp_path / "runs.csv")
        return
    frame = sl.read(tmp_path / "runs.csv").frame
    assert frame[["step", "test_loss"]].to_numpy().tolist() == [[0, 3.2], [1, 2.9]]


def test_a_perplexity_is_read_as_its_logarithm():
    curves = sl.read(TABLE.assign(val_ppl=np.exp(TABLE.val_loss)).drop(columns="val_loss"))
    assert curves["test_loss"] == pytest.approx(TABLE.val_loss.to_numpy())
    assert "test_loss = ln val_ppl" in curves.understood
    assert (
        "loss" not in sl.read({"n_data": [1, 2], "perplexity": [0.9, 0.8]}).frame
    )  # no perplexity is below 1


def test_a_column_a_size_is_read_where_it_can_only_be_one_size_and_refused_where_not():
    wide = pd.DataFrame({"step": [1, 2], "19M": [4.0, 3.5], "125M": [3.6, 3.1]})
    by_step = sl.read(wide).frame.sort_values(["n_params", "step"])
    assert by_step[["n_params", "step", "loss"]].to_numpy().tolist() == [
        [19e6, 1, 4.0], [19e6, 2, 3.5], [125e6, 1, 3.6], [125e6, 2, 3.1],
    ]  # fmt: skip
    by_params = sl.read(wide.rename(columns={"step": "params"}).assign(params=["1M", "2M"]))
    assert sorted({*by_params["n_data"]}) == [19e6, 125e6]
    assert len(sl.read(wide.assign(val_loss=[1.0, 2.0])).frame) == 2  # a metric called 125M beside a loss
    with pytest.raises(BadInput, match=r"\(500, 1000, …\).*n_params.*n_data"):
        sl.read({"seed": [0, 1], "500": [0.3, 0.2], "1000": [0.2, 0.1]})
    with pytest.raises(BadInput, match=r"19000000, 4\.1"):
        sl.read({"19000000": [1e7, 1e8], "4.1": [3.0, 2.0]})


def test_values_without_a_name_are_refused(tmp_path: Path):
    (tmp_path / "more.csv").write_text("n_data,loss\n100,1.5,7\n200,1.2,9\n")
    with pytest.raises(BadInput, match=r"3 values.* 2 names"):
        sl.read(tmp_path / "more.csv")


@pytest.mark.parametrize("word", ["diverged", "n/a", "OOM", "-", "killed (OOM)", "see notes"])
def test_a_word_among_losses_is_a_missing_value_that_is_counted(word: str):
    curves = sl.read({"params": [1e6, 1e7, 1e8], "loss": ["3.1", word, "2.5"]})
    assert np.isnan(curves["loss"]).tolist() == [False, True, False]
    column = next(column for column in curves.reading.columns if column.ours == "loss")
    assert column.missing == 1
    assert ("1 of 3 rows" in column.change) == (word not in ("n/a", "-"))
    with pytest.raises(BadInput, match=r"loss.*'3\.1x'"):
        sl.read({"params": [1e6, 1e7, 1e8], "loss": ["3.1x", "2.8", "2.5"]})


def test_dates_are_no_settings_unless_they_recur():
    versions = sl.read(TABLE.assign(dataset_version=["2023-01-01", "2024-01-01"] * 2))
    assert "dataset_version" in versions.setting_columns
    assert (
        "date"
        not in sl.read(TABLE.assign(date=["2024-05-01", "2024-05-02", "2024-05-03", "2024-05-04"])).frame
    )


def test_a_size_of_unknown_name_is_not_noise_in_silence():
    notes = points_of(sl.read(TABLE.rename(columns={"params": "scale"})), "n_data", "test_loss").notes
    differs = next(note for note in notes if note.code == "unknown_differs")
    assert (differs.details["column"], differs.details["values"]) == ("scale", ("2e+07", "2e+08"))


def test_a_missing_model_is_no_choice_to_offer():
    mixed = sl.read(TABLE.assign(model=[None, None, "gpt2", "gpt2"]))
    with pytest.raises(BadInput, match=r"model \(none, gpt2\).*--where model=gpt2"):
        points_of(mixed, ["n_params", "n_data"], "test_loss")


def test_tables_beside_logs_are_named(tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.csv").write_text("epoch,step,train_loss\n0,1,2.0\n0,2,1.5\n")
    (tmp_path / "run" / "hparams.yaml").write_text("lr: 0.1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sl.read(tmp_path)
    TABLE.to_csv(tmp_path / "runs.csv")
    with pytest.warns(ReadingWarning, match="runs.csv.* --kind table"):
        assert len(sl.read(tmp_path).frame) == 2


@pytest.mark.parametrize(
    ("sizes", "read"),
    [
        ({"n": [1e7, 1e8, 1e9], "d": [1e9, 2e9, 3e9]}, {"n_params": "n", "tokens": "d"}),
        ({"n": [2e4, 1e5, 1e6], "d": ["1B", "2B", "4B"]}, {"n_params": "n", "tokens": "d"}),
        ({"n": ["19M", "125M", "1.3B"]}, {"n_params": "n"}),
        ({"c": [1e18, 1e19, 1e20]}, {"compute": "c"}),
        ({"n": [100, 1000, 9999]}, {"n_data": "n"}),  # nothing else in the table
        ({"n": [3, 3, 5], "tokens": [1e9, 2e9, 4e9]}, {"tokens": "tokens"}),  # a number of seeds
        ({"n": [1e3, 1e4, 1e5], "params": [1e6, 1e7, 1e8]}, {"n_params": "params"}),
        ({"N": [1e6, 1e7, 1e8], "n": [1e8, 1e8, 2e8]}, {"n_params": "N"}),
    ],
)
def test_small_letters_are_read_where_their_size_leaves_no_doubt(sizes: dict, read: dict):
    curves = sl.read({**sizes, "loss": [3.0, 2.8, 2.5]})
    assert {ours: curves.names.get(theirs, theirs) for ours, theirs in read.items()} == {o: o for o in read}
    assert ("n" in curves.frame) == ("n" in sizes and "n" not in read.values())


def test_small_letters_of_small_numbers_are_refused_with_the_way_out():
    """A dimension and a number of examples, as of students and teachers."""
    with pytest.raises(BadInput, match="d, n, loss"):
        sl.read({"d": [2, 4, 8], "n": [100, 200, 400], "loss": [3.0, 2.8, 2.5]})


@pytest.mark.parametrize(
    ("header", "asked", "factor"),
    [
        ("time (m)", {}, 1), ("memory (G)", {}, 1), ("Params (M)", {}, 1e6), ("steps (k)", {}, 1e3),
        ("width of things (millions)", {}, 1e6), ("size (M)", {"n_params": "size (M)"}, 1e6),
        ("x_m", {"n_params": "x_m"}, 1),
    ],
)  # fmt: skip
def test_a_unit_in_brackets_multiplies_counts_alone(header: str, asked: dict, factor: float):
    curves = sl.read({"epoch": [1, 2, 3], header: [10.0, 20.0, 40.0], "loss": [3.0, 2.8, 2.5]}, **asked)
    name = curves.names.get(header, header)
    assert curves[name].tolist() == [10 * factor, 20 * factor, 40 * factor]
    assert (f"times {factor:g}" in curves.understood) == (factor != 1)


@pytest.mark.parametrize("name", ["log.csv", "log.tsv", "log.jsonl"])
def test_the_row_that_is_being_written_is_left_out(tmp_path: Path, name: str):
    table = pd.DataFrame(
        {"step": [1, 2, 3], "train_loss": [2.5, 2.25, 2.125], "val_loss": [3.5, 3.25, 3.125]}
    )
    path = tmp_path / name
    if name.endswith("jsonl"):
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False, sep="\t" if name.endswith("tsv") else ",")
    data = path.read_bytes().rstrip()
    path.write_bytes(data)  # no end of line, but every value
    assert sl.read(path)["test_loss"].tolist() == [3.5, 3.25, 3.125]
    path.write_bytes(data[: data.rindex(b"2.125") + 3])
    curves = sl.read(path)
    assert curves["train_loss"].tolist() == [2.5, 2.25]
    assert "cut short: left out" in curves.understood


def test_a_size_that_does_not_read_as_a_number_is_named():
    table = {"params": ["19M?", "125M?", "1.3B"], "n_data": [10, 20, 40], "loss": [3.0, 2.8, 2.5]}
    assert "params is text: '19M?' does not read as a number" in sl.read(table).understood
    with pytest.raises(BadInput, match=r"row 3: params = '30m\?'"):
        sl.read(
            table | {"params": ["n/a", "10m", "30m?"] * 2 + ["19M"], "n_data": range(7), "loss": range(7)}
        )
    with pytest.raises(BadInput, match="row 2: n_data = 'about 20'"):
        sl.read(table | {"n_data": ["10", "about 20", "40"]})


NAMED = {800: 0.9, 2400: 0.6, 7200: 0.5}


def sizes_of(path: Path) -> dict[float, float]:
    """What was measured, by size."""
    points = choose(sl.read(path)).table
    return dict(zip(points.x, points.y))


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("shares.md", "images | err\n-- | --\n1k (2%) | 0.3\n50k (full) | 0.1\n", {1e3: 0.3, 5e4: 0.1}),
        ("units.csv", "pretrain imgs [M],err\n1.28,0.3\n303,0.1\n", {1.28e6: 0.3, 303e6: 0.1}),
        ("words.csv", "training images in M,err\n1.28,0.3\n303,0.1\n", {1.28e6: 0.3, 303e6: 0.1}),
        ("top1.csv", "images,train_top1,top1\n1000,0.9,0.7\n8000,0.95,0.9\n", {1e3: 0.3, 8e3: 0.1}),
        ("bilder.csv", "Anzahl Bilder,Fehler\n1000,0.3\n8000,0.1\n", {1e3: 0.3, 8e3: 0.1}),
        ("sheet.csv", "# examples,err,who,,\n1000,0.3,ann,,\n8000,0.1,bob,,\n", {1e3: 0.3, 8e3: 0.1}),
        ("out.txt", ">>> a\n{'31M': {'val_loss': 4.1}, '90M': {'val_loss': 3.2}}\n", {31e6: 4.1, 90e6: 3.2}),
        ("grep.txt", "a/lm_30M.log:12:01 step=9 val_loss=4.1\na/lm_90M.log:12:02 step=9 val_loss=3.2\n",
         {30e6: 4.1, 90e6: 3.2}),
        ("histories.json", json.dumps({n: {"loss": [3, y], "val_loss": [4, y]} for n, y in NAMED.items()}),
         NAMED),
        ("val_loss_by_model_size.csv", "seed,17M,40M\n0,3.1,2.9\n", {17e6: 3.1, 40e6: 2.9}),
    ],
)  # fmt: skip
def test_what_a_person_reads_at_once(tmp_path: Path, name: str, text: str, read: dict[float, float]):
    (tmp_path / name).write_text(text)
    assert sizes_of(tmp_path / name) == pytest.approx(read)


def test_printed_frames_with_the_name_of_their_index(tmp_path: Path):
    table = pd.DataFrame(
        {"params": [3e7, 1e8] * 2, "tokens": [1e9, 1e9, 4e9, 4e9], "loss": [4.0, 3.7, 3.6, 3.3]}
    )
    (tmp_path / "pivot.txt").write_text(
        f"In [7]: wide\nOut[7]:\n{table.pivot(index='params', columns='tokens')['loss']}\n"
    )
    read = sl.read(tmp_path / "pivot.txt").frame.sort_values(["n_data", "n_params"])
    assert read[["n_params", "n_data", "loss"]].to_numpy().tolist() == table.to_numpy().tolist()


def test_files_named_by_sizes_tags_and_reports(tmp_path: Path):
    for width, loss in ((64, 0.9), (256, 0.5)):
        csv = f"Wall time,Step,Value\n1,10,2.0\n2,20,{loss}\n"
        (tmp_path / f"run-mlp_width{width}_eval-tag-loss_valid.csv").write_text(csv)
    assert sizes_of(tmp_path) == {64.0: 0.9, 256.0: 0.5}
    for params, loss in (("28,000,000", 1.4), ("60,000,000", 1.3)):
        (tmp_path / "reports" / loss.hex()).mkdir(parents=True)
        report = (
            f"- Number of parameters: {params}\n- Tokens : Params ratio: 20\n- Final validation bpb: {loss}\n"
        )
        (tmp_path / "reports" / loss.hex() / "report.md").write_text(report)
    assert sizes_of(tmp_path / "reports") == {28e6: 1.4, 60e6: 1.3}


def test_evaluations_inside_the_lines_of_runs(tmp_path: Path):
    lines = [
        {
            "config": {"n_params": n},
            "evals": [{"step": 10, "val_loss": loss + 1}, {"step": 20, "val_loss": loss}],
        }
        for n, loss in ((1e7, 3.5), (1e8, 3.0))
    ]
    (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    assert sizes_of(tmp_path / "runs.jsonl") == {1e7: 3.5, 1e8: 3.0}


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("typo.csv", "num_paramters,val_loss\n1e7,3.5\n1e8,3.0\n", {1e7: 3.5, 1e8: 3.0}),
        ("results.py", "# seeds\nVAL_LOSS = {\n'10M': [3.5, 3.5],\n'30M': [3.2, 3.2],\n'90M': [3.0, 3.0]}\n",
         {1e7: 3.5, 3e7: 3.2, 9e7: 3.0}),
        ("remarks.csv", "n_train,test_error,notes\n100,0.5,\n400,0.4,ok\n400,0.9,wrong split! do not use\n",
         {100: 0.5, 400: 0.4}),
        ("seeds.txt", "validation loss\n\n  size  seed 0  seed 1\n  10M   3.5     3.5\n  90M   3.0     3.0\n",
         {1e7: 3.5, 9e7: 3.0}),
        ("top.csv", "# imgs,train top-1,val top-1\n1000,0.9,0.5\n4000,0.9,0.75\n", {1000: 0.5, 4000: 0.25}),
        ("arrow.tex", "\\begin{tabular}{lr}\nParams & Val.~loss $\\downarrow$ \\\\\n"
         "10M & $3.500_{\\pm .003}$ \\\\\n90M & $\\mathbf{3.000}_{\\pm .004}$ \\\\\n\\end{tabular}\n",
         {1e7: 3.5, 9e7: 3.0}),
        ("sweep_val_loss.csv", "params,lr=1e-4,lr=3e-4,lr=1e-3,lr=3e-3\n10M,3.7,3.6,3.5,3.8\n"
         "30M,3.4,3.3,3.2,div.\n90M,3.1,3.0,3.05,3.3\n", {1e7: 3.5, 3e7: 3.2, 9e7: 3.0}),
    ],
)  # fmt: skip
def test_slips_scripts_remarks_and_sweeps(tmp_path: Path, name: str, text: str, read: dict[float, float]):
    (tmp_path / name).write_text(text)
    assert sizes_of(tmp_path / name) == pytest.approx(read)


def test_what_is_missing_or_written_otherwise_is_said(tmp_path: Path):
    lines = "params 10M val loss 3.5\nparams 30M val loss nan\nparams 90M val loss 3.0\n"
    (tmp_path / "log.txt").write_text(lines)
    assert "missing in 1 of 3 rows: test_loss" in sl.read(tmp_path / "log.txt").understood
    (tmp_path / "dots.csv").write_text("n_train;test_error\n500;0,5\n1.250;0,4\n")
    assert "n_data 1.250 read as 1250" in sl.read(tmp_path / "dots.csv").understood


@pytest.mark.parametrize("name", ["n_samplers", "stores", "trailing_loss", "num_perimeters"])
def test_other_words_are_no_slips(name: str):
    assert spelt(name) == name


N, LOSS = [2e7, 7e7, 2e8, 7e8], [3.91, 3.52, 3.2, 2.97]
SUBSETS, ERRORS = [400, 1200, 3600, 10800], [0.31, 0.22, 0.16, 0.12]


@pytest.mark.parametrize(
    ("name", "content", "column", "values"),
    [
        ("speech.csv", "Labelled data,WER (%)\n30 min,20.1\n1 h,15.2\n10h,8.1\n100 hours,5.0\n", "n_data", [0.5, 1, 10, 100]),
        ("pretraining.csv", "Params,Pretrain set,error\n" + "".join(f"{n:g},{d} imgs,{1 / n + 1 / k}\n" for n in N for k, d in ((3, "300k"), (12, "1.2M"))), "n_data", [3e5, 1.2e6] * 4),
        ("gpt.log", "".join(f"number of parameters: {n / 1e6:.0f}M\nnum decayed parameter tensors: 26, with {0.9 * n:,.0f} parameters\nstep 0: val loss 9.1\nstep 5: val loss {y}\n" for n, y in zip(N, LOSS)), "n_params", [n for n in N for _ in "ab"]),
        ("keras.log", "".join(f"Total params: {n:,.0f}\nNon-trainable params: 1,024\nEpoch 1: val loss = {y} (3s)\n" for n, y in zip(N, LOSS)), "n_params", N),
        ("folds.txt", "".join(f"== n_rows = {n:,} ==\nFold 1 | best_iter 9 | valid rmse {e}\nFold 2 | best_iter 8 | valid rmse {e}\n" for n, e in zip(SUBSETS, ERRORS)), "n_data", [n for n in SUBSETS for _ in "ab"]),
        ("words.txt", "".join(f"{n / 1e6:g}M params, {d}B tokens: val loss {y}\n" for n, y in zip(N, LOSS) for d in (1, 4)), "n_data", [1e9, 4e9] * 4),
        ("corner.md", "| tokens → / params ↓ | 1B | 4B |\n|---|---|---|\n" + "".join(f"| {n / 1e6:g}M | {y} | {y - 0.1} |\n" for n, y in zip(N, LOSS)), "n_params", [*N, *N]),
        ("memory.md", "Validation loss of models, memory in brackets.\n\n| | 20M | 70M | 200M | 700M |\n|---|---|---|---|---|\n| Full | " + " | ".join(f"{y} (0.4G)" for y in LOSS) + " |\n| Training tokens | 1B | 2B | 4B | 8B |\n", "tokens", [1e9, 2e9, 4e9, 8e9]),
        ("methods.csv", "Optimizer,60M,130M,350M,1B\nAdamW,3.9,3.5,3.2,2.9\n", "n_params", [6e7, 1.3e8, 3.5e8, 1e9]),
    ],
)  # fmt: skip
def test_what_is_counted_is_read_where_it_stands(tmp_path, name, content, column, values):
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert sl.read(tmp_path / name)[column].tolist() == values


@pytest.mark.parametrize(
    "name", ["n{:05d}.csv", "history_{:05d}samples.csv", "{:06d}/history.csv", "N{}.csv"]
)
def test_sizes_in_names_of_files_count_whatever_lies_beside_them(tmp_path, name):
    for n, error in zip(SUBSETS, ERRORS):
        path = tmp_path / name.format(n)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"epoch,val_loss\n0,2.3\n1,{error}\n")
    (tmp_path / "machine.json").write_text('{"os": "Linux", "gpus": 8}')
    curves = sl.read(tmp_path)
    assert curves.frame.groupby("n_data")["test_loss"].min().to_dict() == dict(zip(SUBSETS, ERRORS))
    assert [note for note in curves.reading.notes if "machine.json" in note]


def test_checkpoints_with_numbers_in_their_names_are_no_sizes(tmp_path):
    for n, error in zip((100, 200, 300, 400), ERRORS):
        (tmp_path / f"train_{n:05d}.csv").write_text(f"epoch,val_loss\n0,2.3\n1,{error}\n")
    with pytest.raises(BadInput, match="no size varies"):
        choose(sl.read(tmp_path))


def test_a_size_that_does_not_read_is_not_passed_over_for_one_by_its_values(tmp_path):
    text = "Labelled data,WER (%),fine-tuning steps\nten,24,12000\n1 h,10.5,13000\n10 h,6.1,20000\n100 h,3.8,80000\n960 h,2.8,320000\n"
    (tmp_path / "wer.csv").write_text(text)
    with pytest.raises(NotDetermined) as refused:
        choose(sl.read(tmp_path / "wer.csv"))
    (reason,) = refused.value.args
    assert (reason.code, reason.details["others"]) == ("size_unread", ("Labelled data",))


def test_flags_and_constants_are_no_results():
    rows = [
        {"n_params": n, "results": {"qa": {"exact_match,x": 1 - e, "alias": "qa"}}, "higher_is_better": {"qa": {"exact_match": True}}, "n-shot": {"acc": 5}}
        for n, e in zip(N, ERRORS)
    ]  # fmt: skip
    assert choose(sl.read([pd.json_normalize(row).iloc[0].to_dict() for row in rows])).y == "test_error"


@pytest.mark.parametrize("setting", ["params_lr", "params_dropout", "params_alpha"])
def test_of_the_trials_of_a_search_the_lowest_of_each_size_counts(tmp_path, setting):
    draws = np.random.default_rng(0)
    rows = ["number,value,datetime_start,user_attrs_n_params,state," + setting]
    for n, loss in zip(N, LOSS):
        values = [loss, *(loss * (1 + draws.uniform(0.01, 0.05, 5)))]
        rows += [f"{k},{v:.4f},2026-01-01,{n:.0f},COMPLETE,{draws.uniform(0.01, 1):.5f}" for k, v in enumerate(draws.permutation(values))]  # fmt: skip
        rows.append(f"6,{loss - 1},2026-01-01,{n:.0f},PRUNED,{draws.uniform(0.01, 1):.5f}")
    (tmp_path / "trials.csv").write_text("\n".join(rows))
    found = choose(sl.read(tmp_path / "trials.csv")).table
    assert sorted(found.y) == sorted(LOSS)
    note = next(note for note in found.notes if note.code == "lowest_of_search")
    assert (note.details["runs"], note.details["of"]) == (4, 24)


def test_columns_that_say_the_same_in_two_ways_are_asked_for(tmp_path):
    (tmp_path / "runs.csv").write_text(
        "params,best_val_loss,last_val_loss\n1e7,3.1,3.2\n1e8,2.7,2.9\n1e9,2.4,2.5\n"
    )
    with pytest.raises(NotDetermined, match="best_val_loss and last_val_loss"):
        sl.read(tmp_path / "runs.csv")
    assert sl.read(tmp_path / "runs.csv", test_loss="best_val_loss")["test_loss"].tolist() == [3.1, 2.7, 2.4]


def test_seconds_of_an_epoch_are_no_epochs_and_failed_runs_with_steps_are_left_out():
    table = {
        "params": N,
        "steps": [5, 15, 45, 45],
        "sec/epoch": [31.0, 62, 93, 124],
        "val_loss": [3.9, 9.9, 3.2, 2.9],
    }
    curves = sl.read(table | {"run": [*"abcd"], "status": ["done", "failed", "done", "done"]})
    assert "epoch" not in curves.frame
    assert curves.frame["test_loss"].dropna().tolist() == [3.9, 3.2, 2.9]


def test_a_printed_frame_has_names_and_cells_of_several_words(tmp_path):
    frame = pd.DataFrame(
        {
            "Labelled data": ["30 min", "1 h", "100 h"],
            "lr": "3e-4",
            "dev WER (%)": ["20.1 ± 0.2", "15.2 ± 0.1", "5.0 ± 0.1"],
        }
    )
    (tmp_path / "out.txt").write_text(frame.to_string() + "\n")
    curves = sl.read(tmp_path / "out.txt")
    assert curves["n_data"].tolist() == [0.5, 1, 100]
    assert curves["test_error"].tolist() == pytest.approx([0.201, 0.152, 0.05])


CHAT = ["125M / 2.5B tok: val 3.31", "250M / 5B tok: val 3.08", "500M / 10B tok: val 3.482", "1B / 20B tok: val 2.7"]  # fmt: skip


def test_a_size_before_tokens_is_of_the_model(tmp_path):
    (tmp_path / "chat.txt").write_text("\n".join(["done, numbers so far", *CHAT]))
    curves = sl.read(tmp_path / "chat.txt")
    assert curves["n_params"].tolist() == [125e6, 250e6, 500e6, 1e9]
    assert curves["n_data"].tolist() == [2.5e9, 5e9, 10e9, 20e9]


@pytest.mark.parametrize("line", ["it is 2.892, not 3.482", "typo, 500M / 10B tok is val 2.892"])
def test_a_line_that_corrects_another_is_refused(tmp_path, line):
    (tmp_path / "chat.txt").write_text("\n".join([*CHAT, line]))
    with pytest.raises(BadInput, match=r"500M / 10B tok: val 3\.482"):
        sl.read(tmp_path / "chat.txt")


def test_a_quantity_per_token_is_no_number_of_tokens(tmp_path):
    for n in N:
        (tmp_path / f"{n:.0f}.log").write_text(
            f"Number of parameters: {n:.0f}\nEstimated FLOPs per token: {6 * n:e}\n"
            f"Total number of training tokens: {20 * n:.0f}\nStep 00010 | Validation loss: 3.1\n"
        )
    assert sorted(sl.read(tmp_path)["n_data"]) == [20 * n for n in N]


@pytest.mark.parametrize(
    ("note", "left_out"),
    [
        ("diverged at 12k - ignore", True), ("loss diverged", True), ("broken data loader", True),
        ("bad seed, ignore", True), ("diverged at 12k, restarted", False), ("grad spike, ignored", False),
        ("lr lower as 3e-3 diverged", False), ("not diverged", False),
    ],
)  # fmt: skip
def test_notes_leave_rows_out_where_they_say_so(note, left_out):
    table = {"params": N, "val_loss": LOSS, "note": ["", note, "", ""]}
    assert np.isnan(sl.read(table)["test_loss"]).tolist() == [False, left_out, False, False]


def test_years_of_data_are_a_size_and_hours_ahead_are_none():
    years, lead = np.array([2, 5, 10, 20] * 2), np.repeat([24, 72], 4)
    table = {"train_years": years, "lead_h": lead, "rmse_z500": 40 + lead * 4 * years**-0.6}
    curves = sl.read(table)
    assert curves["n_data"].tolist() == years.tolist()
    with pytest.raises(NotDetermined, match="2 values of lead_h"):
        choose(curves)


def test_lines_of_a_split_between_bars_say_which_loss_it_is(tmp_path):
    for n, loss in zip(N, LOSS):
        text = f"train | num. shared model params: {n:.0f}\ntrain | num. expert model params: 0\nloaded 3,760 examples from: data/valid\n"  # fmt: skip
        text += "".join(
            f"INFO | train | epoch 00{e} | loss {loss - 1} | lr 0.1\nINFO | valid | epoch 00{e} | loss {loss}\n"
            for e in (1, 2)
        )
        (tmp_path / f"run-{loss}.log").write_text(text)
    curves = sl.read(tmp_path)
    assert "n_data" not in curves.frame
    assert {*zip(curves["n_params"], curves["test_loss"])} == {*zip(N, LOSS)}


def test_headings_above_rows_are_the_choice_where_names_are_of_single_runs(tmp_path):
    rows = [
        rf"\multicolumn{{3}}{{l}}{{{kind}}} \\ "
        + "".join(rf"{kind}-{size} & {n:.0f} & {loss} \\ " for size, n, loss in zip("STML", N, losses))
        for kind, losses in (("Dense", LOSS), ("MoE", [loss - 0.4 for loss in LOSS]))
    ]
    text = r"\begin{tabular}{lrr} Model & Params & Loss \\ " + "".join(rows) + r"\end{tabular}"
    (tmp_path / "table.tex").write_text(text)
    curves = sl.read(tmp_path / "table.tex")
    with pytest.raises(NotDetermined, match="2 values of section"):
        choose(curves)
    dense = sl.Curves(curves.frame[curves.frame["section"] == "Dense"])
    assert choose(dense).table.y.tolist() == [*LOSS]


def test_results_of_timm_count_parameters_in_millions():
    results = {"model": [*"abcd"], "top1": 100 - np.array(ERRORS) * 100, "top5": 99.0, "img_size": 224}
    table = results | {"param_count": ["5.72", "22.05", "86.57", "1,014.45"], "crop_pct": 0.9}
    assert sl.read(table)["n_params"].tolist() == [5.72e6, 22.05e6, 86.57e6, 1014.45e6]


@pytest.mark.parametrize("name", ["steps_to_target", "steps to 3.28"])
def test_steps_to_a_loss_are_a_result_and_no_size(name: str):
    batch = 2.0 ** np.arange(4, 13)
    found = sl.fit(pd.DataFrame({"batch": batch, name: np.round(2000 * (1 + 256 / batch))}), x="batch_size")
    assert found.y == name
    assert found.parameters["exponent"] == pytest.approx(1, abs=0.01)
    assert found.parameters["offset"] == pytest.approx(2000, rel=0.01)


def test_a_row_that_repeats_another_under_its_own_name_counts_once():
    sizes, losses = [1e6, 1e7, 1e8, 1e9], [3.91, 3.42, 3.08, 2.85]
    table = {"Experiment": ["workspace", *"abcd"], "n_params": [1e9, *sizes], "loss": [2.85, *losses]}
    assert sl.read(table)["n_params"].tolist() == [1e9, *sizes[:3]]
    seeds = {
        "id": [*"abcdef"],
        "n_data": [10, 10, 20, 20, 40, 40],
        "test_error": [0.3, 0.3, 0.2, 0.21, 0.1, 0.1],
    }
    assert len(sl.read(seeds).frame) == 6, "equal results of two seeds are no copies where others differ"


def test_numbers_below_settings_are_those_of_whole_runs():
    models = [(n, d) for n in (1e7, 1e8) for d in (1e6, 1e7, 1e8)]
    rows = [
        {
            "name": f"ViT-{n:.0e}",
            "config": {"params": n, "images_seen": d},
            "eval": {"loss": 1 + (n * d) ** -0.1},
        }
        for n, d in models
    ]
    curves = sl.read(pd.json_normalize(rows))
    assert sorted(zip(curves["n_params"], curves["n_data"])) == models
    assert len(curves.runs) == 6
    sweep = pd.DataFrame(
        {
            "name": ["s", "s", "m", "m"], "config.n_params": [1e7, 1e7, 1e8, 1e8], "config.steps": [100, 400] * 2,
            "config.tokens_per_step": 2**19, "val_loss": [3.9, 3.5, 3.4, 3.0],
        }
    )  # fmt: skip
    assert sl.read(sweep)["tokens"].tolist() == [100 * 2**19, 400 * 2**19] * 2


def test_models_in_columns_with_settings_and_a_loss_in_rows(tmp_path):
    rows = [
        "| | 125M | 350M | 1.3B |",
        "|---|---|---|---|",
        "| d_model | 768 | 1024 | 2048 |",
        "| Layers | 12 | 24 | 24 |",
    ]
    (tmp_path / "a.md").write_text("\n".join([*rows, "| Validation loss | 3.1 | 2.9 | 2.6 |"]))
    assert sl.read(tmp_path / "a.md")["n_params"].tolist() == [1.25e8, 3.5e8, 1.3e9]
    (tmp_path / "b.md").write_text(
        "\n".join([*rows, "| Tokens | 125M | 350M | 1.3B |", "| Test loss | 3.1 | 2.9 | 2.6 |"])
    )
    curves = sl.read(tmp_path / "b.md")
    assert curves["n_data"].tolist() == [1.25e8, 3.5e8, 1.3e9]
    assert "n_params" not in curves.frame


def test_checkpoints_of_a_run_that_failed_and_attempts_that_failed_are_left_out():
    steps = [100, 200, 300]
    runs = pd.DataFrame([(r, n, s, 3 - s / 1e3) for r, n in (("a", 1e6), ("b", 1e7)) for s in steps])
    log = pd.concat(
        [runs.assign(status="completed"), pd.DataFrame([("c", 3e6, 100, 9.0)]).assign(status="preempted")]
    )
    log.columns = ["run", "n_params", "step", "val_loss", "status"]
    assert {*sl.read(log)["run"]} == {"a", "b"}
    again = {"NAME": ["a", "b", "b"], "STATUS": ["Completed", "Aborted", "Completed"], "n_data": [10, 20, 20],
             "val/mAP50 (last)": [0.5, 0.1, 0.6]}  # fmt: skip
    curves = sl.read(again)
    assert curves["n_data"].tolist() == [10, 20]
    assert curves["test_error"].tolist() == pytest.approx([0.5, 0.4])


def test_names_and_values_of_training_and_test():
    rows = [
        (r, n, "loss", split, y)
        for r, n in (("a", 1e6), ("b", 1e7))
        for split, y in (("train", 2), ("val", 3))
    ]
    curves = sl.read(
        pd.DataFrame(rows, columns=["run", "n_params", "metric.name", "context.subset", "value"])
    )
    assert curves["train_loss"].tolist() == [2, 2]
    assert curves["test_loss"].tolist() == [3, 3]


def test_tokens_of_a_step_in_the_first_lines_of_a_log(tmp_path):
    lines = [f"step {s}: val loss {4 - s / 1e3}" for s in (100, 200, 300)]
    said = (
        "tokens per iteration will be: 491,520",
        "batch: 240 sequences x 2048 tokens = 491520 tokens per step",
    )
    for first in (*said, "491,520 tokens/step, lr 3e-4"):
        (tmp_path / "train.log").write_text("\n".join([first, *lines, ""]))
        assert sl.read(tmp_path / "train.log")["tokens"].tolist() == [49_152_000, 98_304_000, 147_456_000]


def test_an_opendocument_sheet(tmp_path):
    name = "urn:oasis:names:tc:opendocument:xmlns:"
    cell = "<t:table-cell {}/>"
    number = lambda value, kind="float": cell.format(f'o:value-type="{kind}" o:value="{value}"')  # noqa: E731
    text = lambda words: f"<t:table-cell><x:p>{words}</x:p></t:table-cell>"  # noqa: E731
    rows = [
        text("n_train") + text("Test error"),
        *(number(n) + number(e, "percentage") for n, e in ((100, 0.5), (1000, 0.25))),
    ]
    empty = (
        '<t:table-row t:number-rows-repeated="1048570">'
        + cell.format('t:number-columns-repeated="16384"')
        + "</t:table-row>"
    )
    rest = cell.format('t:number-columns-repeated="16382"')
    sheet = "".join(f"<t:table-row>{row}{rest}</t:table-row>" for row in rows)
    content = (
        f'<d xmlns:o="{name}office:1.0" xmlns:t="{name}table:1.0" xmlns:x="{name}text:1.0">'
        f'<t:table t:name="runs">{sheet}{empty}</t:table></d>'
    )
    with zipfile.ZipFile(tmp_path / "runs.ods", "w") as file:
        file.writestr("content.xml", content)
    curves = sl.read(tmp_path / "runs.ods")
    assert curves["n_data"].tolist() == [100, 1000]
    assert curves["test_error"].tolist() == [0.5, 0.25]


def test_a_title_with_commas_is_no_row_of_groups(tmp_path):
    (tmp_path / "t.csv").write_text("Scaling ladder, March\nparams,loss\n1e6,4.0\n1e7,3.5\n1e8,3.1\n")
    assert sl.read(tmp_path / "t.csv")["loss"].tolist() == [4.0, 3.5, 3.1]
    (tmp_path / "g.csv").write_text(",train,eval\nparams,loss,loss\n1e6,3.9,4.0\n1e7,3.4,3.5\n1e8,3.0,3.1\n")
    assert sl.read(tmp_path / "g.csv")["test_loss"].tolist() == [4.0, 3.5, 3.1]


def test_what_stands_behind_plus_minus_is_an_error_where_a_title_says_which(tmp_path):
    rows = [
        "| Train images | Accuracy (%) |",
        "|---|---|",
        "| 100 | 50.0 ± 2.0 |",
        "| 200 | 60.0 ± 1.0 |",
        "| 400 | 70.0 ± 1.0 |",
    ]
    for said, of in (("mean ± std of 4 seeds", 2), ("± standard error over four runs", 1)):
        (tmp_path / "t.md").write_text("\n".join([f"Results, {said}.", "", *rows, ""]))
        curves = sl.read(tmp_path / "t.md")
        assert curves["test_error_stderr"].tolist() == pytest.approx([0.02 / of, 0.01 / of, 0.01 / of])
        assert "weighted" in {note.code for note in points_of(curves, "n_data", "test_error").notes}
    (tmp_path / "t.md").write_text("\n".join(rows))
    curves = sl.read(tmp_path / "t.md")
    assert "test_error_stderr" not in curves.frame
    assert curves["test_accuracy_spread"].tolist() == pytest.approx([0.02, 0.01, 0.01])


def test_billions_of_images_are_no_tokens():
    rows = [(n, d, 1 + n**-0.1 + d**-0.1) for n in (1e7, 1e8, 1e9) for d in (1e9, 4e9, 2e10)]
    curves = sl.read(pd.DataFrame(rows, columns=["params", "n_images", "val_loss"]))
    assert len(curves.runs) == 9
    assert curves.data_unit == "examples"
    assert sl.read(curves.frame.drop(columns="run")).data_unit == "tokens"
