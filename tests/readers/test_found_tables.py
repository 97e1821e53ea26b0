"""Where a table stands in its file: below titles, between lines of text, in a page, in nested objects."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

import scalinglab as sl
from scalinglab.answers.fitted import choose
from scalinglab.curves.columns import measure_of
from scalinglab.errors import BadInput

ROWS = [(2e7, 1e9, 3.91), (2e8, 1e9, 3.52), (2e7, 4e9, 3.6), (2e8, 4e9, 3.2)]
LINES = "".join(f"{n:.0f},{d:.0f},{y}\n" for n, d, y in ROWS)
CSV = f"params,tokens,val_loss\n{LINES}"
UNITS = "".join(f"{n / 1e6:g},{d / 1e9:g},{y}\n" for n, d, y in ROWS)
BARS = "| Params | Tokens | Val loss |\n|---|:--|--:|\n" + "".join(
    f"| {n:g} | {d:g} | **{y}** |\n" for n, d, y in ROWS
)
RECORDS = [{"model": {"n_params": n}, "data": {"tokens": d}, "eval": {"loss": y}} for n, d, y in ROWS]
FILES = {
    "title.csv": f"Sweep of May,,\nby A and B\n,,\n{CSV}",
    "units.csv": f"params,tokens,val_loss\nmillions,billions,nats\n{UNITS}",
    "groups.csv": f"model,,eval\nparams,tokens,loss\n{LINES}",
    "notes.csv": f"{CSV}\n* in nats, per token, of text\n",
    "again.csv": CSV + CSV,
    "mean.csv": f"{CSV}mean,,3.56\n",
    "broken.csv": f'"Params\n(M)","Tokens\n(B)","Val\nloss"\n{UNITS}',
    "page.md": f"# Runs\n\nAll of them.\n\n{BARS}\nMore soon.\n",
    "bars.txt": BARS,
    "table.tex": "\\begin{tabular}{@{}lrr@{}}\n\\toprule\nParams & Tokens & Val.\\ loss \\\\ \\midrule\n"
    + "".join(f"{n:g} & \\textbf{{{d:g}}} & ${y}\\pm 0.1$ \\\\\n" for n, d, y in ROWS)
    + "\\bottomrule\n\\end{tabular}",
    "page.html": f"<p>Runs</p>{pd.DataFrame(ROWS, columns=['params', 'tokens', 'val_loss']).to_html()}",
    "runs.yaml": "by: A\nruns:\n"
    + "".join(f"- {{params: {n:g}, tokens: {d:g}, val_loss: {y}}}\n" for n, d, y in ROWS),
    "names.json": json.dumps({f"run {k}": record for k, record in enumerate(RECORDS)}),
    "nested.json": json.dumps({"meta": {"seed": 1}, "results": RECORDS}),
    "split.json": json.dumps({"columns": ["params", "tokens", "val_loss"], "data": [*map(list, ROWS)]}),
    "pairs.log": "".join(f"N={n:g} D={d:g} loss={y}\n" for n, d, y in ROWS),
    "page.adoc": f"Runs\n\n{BARS}",
    "notes.org": f"* Runs\n{BARS.replace('|---|:--|--:|', '|---+---+---|')}",
    "runs.rst": "Runs\n====\n\n======  ======  ========\nParams  Tokens  Val loss\n======  ======  ========\n"
    + "".join(f"{n:.0e}   {d:.0e}   {y}\n" for n, d, y in ROWS)
    + "======  ======  ========\n",
    "runs.m": "% the runs\n% params tokens val_loss\n" + "".join(f"{n:g} {d:g} {y}\n" for n, d, y in ROWS),
    "job.out": "Loading cuda/12.1\n"
    + "".join(f"[rank0] ended: params={n:g} tokens={d:g} val_loss={y}\n" for n, d, y in ROWS)
    + "JOB DONE\n",
    "mail.txt": "Hi,\nthe val losses:\n"
    + "".join(f"- {n / 1e6:g}M params on {d / 1e9:g}B tokens -> {y}\n" for n, d, y in ROWS)
    + "Best,\nA.\n",
    "console.txt": "> summarise(runs)\n# A tibble: 4 x 3\n  params tokens val_loss\n   <dbl> <dbl> <dbl>\n"
    + "".join(f"{k} {n:g} {d:g} {y}\n" for k, (n, d, y) in enumerate(ROWS, 1)),
    "of_pdf.txt": "Table 3: All runs.\nParams (M) Tokens (B) Val. loss\n" + UNITS.replace(",", " "),
    "head.tex": "\\begin{tabular}{lcc}\n& \\multicolumn{2}{c}{Training tokens} \\\\\n\\cmidrule(lr){2-3}\n"
    f"Parameters & 1B & 4B \\\\\n\\midrule\n20M & {ROWS[0][2]} & {ROWS[2][2]} \\\\\n"
    f"200M & {ROWS[1][2]} & {ROWS[3][2]} \\\\\n\\end{{tabular}}\n\\caption{{Validation loss}}",
    "jobs.json": json.dumps([
        {"HyperParameters": {"n_params": str(n), "max_tokens": str(d)},
         "Metrics": [{"MetricName": "validation:loss", "Value": y}]} for n, d, y in ROWS
    ]),
    "runs.ipynb": json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "outputs": [
        {"data": {"text/html": pd.DataFrame(rows, columns=["params", "tokens", "val_loss"]).to_html()}}
        for rows in (ROWS[:2], ROWS)]}]}),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_the_table_in_a_file(tmp_path: Path, name: str):
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    curves = sl.read(tmp_path / name)
    y = "test_loss" if "test_loss" in curves.frame else "loss"
    found = curves.frame.drop_duplicates(["n_params", "n_data"]).sort_values(["n_data", "n_params"])
    np.testing.assert_allclose(found[["n_params", "n_data", y]].to_numpy(float), ROWS)


def test_a_unit_in_a_cell_holds_for_that_cell_alone():
    curves = sl.read({"Params (M)": ["8", "57", "1.1B"], "val loss": [3.7, 3.1, 2.5]})
    assert curves["n_params"].tolist() == [8e6, 57e6, 1.1e9]


@pytest.mark.parametrize(
    ("name", "written", "read"),
    [
        ("log10_mse", -1.0, 0.1),
        ("log2(val loss)", 2.0, 4.0),
        ("ln val loss", 0.0, 1.0),
        ("log_loss", 0.4, 0.4),
    ],
)
def test_a_logarithm_of_the_result_is_undone_where_its_name_says_the_base(name, written, read):
    curves = sl.read({"params": [1e6, 1e7, 1e8], name: [written, written / 2, written / 4]})
    assert curves.frame[measure_of(curves.frame)].iloc[0] == pytest.approx(read)


def test_means_among_the_seeds_and_copies_of_checkpoints_are_left_out(tmp_path: Path):
    rows = "".join(f"{n},0,{1 / n}\n{n},1,{1.2 / n}\n{n},mean,{1.1 / n}\n" for n in range(10, 60, 10))
    (tmp_path / "t.csv").write_text(f"n_train,seed,test_error\n{rows}")
    curves = sl.read(tmp_path / "t.csv")
    assert len(curves.frame) == 10
    assert "5 rows of means" in curves.understood
    steps = pd.DataFrame({"run": "a", "step": [1, 2, 2, 3], "val_loss": [3.0, 2.0, 2.0, 1.5]})
    assert sl.read(steps)["step"].tolist() == [1, 2, 3]


def test_hours_and_minutes_are_no_measurement():
    table = {
        "params": [1e6, 1e7],
        "val_loss": [3.0, 2.0],
        "time": ["0:12:40", "1:03:22"],
        "wall": ["3h 2m", "9h"],
    }
    assert not {"time", "wall"} & {*sl.read(table).frame}


def test_a_line_above_the_epochs_says_how_many_examples(tmp_path: Path):
    epochs = "Epoch {}: val loss {}\n"
    (tmp_path / "t.log").write_text("".join(
        f"= Training with {n:,} examples =\n" + "".join(epochs.format(k, 9 / n + 1 / k) for k in (1, 2))
        for n in (500, 1000, 20000)))  # fmt: skip
    assert sl.read(tmp_path / "t.log")["n_data"].tolist() == [500, 500, 1000, 1000, 20000, 20000]


def test_an_epoch_in_a_line_of_its_own_tells_the_lines_below_it(tmp_path: Path):
    epochs = "Epoch 1/2\n- val_loss: 1.8\nEpoch 2/2\n- val_loss: {}\n"
    (tmp_path / "t.log").write_text(
        "".join(f"Training on {n} samples\n" + epochs.format(9 / n) for n in (250, 500))
    )
    curves = sl.read(tmp_path / "t.log")
    assert curves.frame.groupby("n_data")["epoch"].apply(list).tolist() == [[1, 2], [1, 2]]


def test_sizes_that_are_keys_and_no_seconds_in_their_place(tmp_path: Path):
    sizes = {250: 0.5, 500: 0.4, 1000: 0.3}
    rows = {n: {"test_error": y, "train_seconds": n / 50} for n, y in sizes.items()}
    (tmp_path / "rows.json").write_text(json.dumps({"results": rows}))
    (tmp_path / "lists.json").write_text(
        json.dumps({"test_error": {f"n={n}": [y, y] for n, y in sizes.items()}})
    )
    for name, seeds in (("rows", 1), ("lists", 2)):
        assert sl.read(tmp_path / f"{name}.json")["n_data"].tolist() == [
            n for n in sizes for _ in range(seeds)
        ]
    folds = {
        "1": {"n": 250, "test_error": 0.5},
        "2": {"n": 500, "test_error": 0.4},
        "3": {"n": 900, "test_error": 0.3},
    }
    (tmp_path / "runs.json").write_text(json.dumps(folds))
    assert sl.read(tmp_path / "runs.json")["n_data"].tolist() == [250, 500, 900]


def test_arrays_that_numpy_saved_and_none_that_it_would_unpickle(tmp_path: Path):
    np.savez(tmp_path / "t.npz", n_train=[100, 200], test_err=[[0.4, 0.5], [0.2, 0.3]])
    assert sl.read(tmp_path / "t.npz")["test_error"].tolist() == [0.4, 0.5, 0.2, 0.3]
    np.savez(tmp_path / "o.npz", n_train=np.array([{}, 1], dtype=object))
    with pytest.raises(BadInput):
        sl.read(tmp_path / "o.npz")


def test_titles_footnotes_and_means_are_said(tmp_path: Path):
    for name, said in (
        ("title.csv", "Sweep of May"),
        ("notes.csv", "1 line of text"),
        ("mean.csv", "1 row of means"),
    ):
        (tmp_path / name).write_text(FILES[name])
        assert said in sl.read(tmp_path / name).understood


def test_lines_between_rows_become_a_column(tmp_path: Path):
    (tmp_path / "t.csv").write_text(f"params,tokens,val_loss\nBaseline,,\n{LINES}Ours,,\n{LINES}")
    assert sl.read(tmp_path / "t.csv").frame.groupby("section").size().to_dict() == {"Baseline": 4, "Ours": 4}
    head = "tokens (B),val loss\n"
    (tmp_path / "t.csv").write_text(f"19M model,\n{head}1,3.5\n4,3.2\n,\n160M model,\n{head}1,3.1\n4,2.9\n")
    assert sl.read(tmp_path / "t.csv")["n_params"].tolist() == [19e6, 19e6, 160e6, 160e6]


def test_a_page_with_two_tables_is_refused_and_a_sheet_of_notes_is_passed_over(tmp_path: Path):
    (tmp_path / "t.md").write_text(f"{BARS}\n\n{BARS.replace('Tokens', 'Steps')}")
    with pytest.raises(BadInput, match="has 2 tables"):
        sl.read(tmp_path / "t.md")
    with pd.ExcelWriter(tmp_path / "t.xlsx", engine="openpyxl") as book:
        cells = [["Sweep", None, None], [None] * 3, ["params", "tokens", "val_loss"], *map(list, ROWS)]
        pd.DataFrame(cells).to_excel(book, sheet_name="runs", header=False, index=False)
        pd.DataFrame([["by", "A"], ["of", "May"]]).to_excel(
            book, sheet_name="notes", header=False, index=False
        )
    assert len(sl.read(tmp_path / "t.xlsx").frame) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n;acc (%)\n100;0.71\n200;0.8\n", "percent below one, or fractions"),
        ("log(N),loss\n8,3.0\n9,2.5\n", "may be log10 or ln"),
        ("params,log loss\n1e8,0.1\n1e9,-0.2\n", "may be log10 or ln"),
        ("N_active,N_total,D,loss\n1e6,4e6,1e8,3\n2e6,9e6,1e8,2\n", "N_active and N_total: say which"),
        ("params (M),loss\n19000000000000,3\n70000000000000,2\n", "in ones or times"),
    ],
)
def test_two_readings_are_both_named(tmp_path: Path, text: str, message: str):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(BadInput, match=message):
        sl.read(tmp_path / "t.csv")


def test_measurements_of_runs_that_did_not_end_are_left_out_and_counted():
    table = {"params": [1e6, 1e7, 1e8], "val_loss": [3.0, 11.0, 2.0], "status": ["ok", "diverged", "ok"]}
    curves = sl.read(table)
    assert np.isnan(curves["test_loss"]).tolist() == [False, True, False]
    assert "measurements of 1 of 3 runs left out: status is diverged" in curves.understood


def test_names_behind_a_number_sign_below_a_title_and_values_without_names(tmp_path: Path):
    (tmp_path / "t.csv").write_text(
        "Sweep,,\n# params,Tokens,Val loss\n19M,1B tokens,3.5\n160M,2B tokens,3.1\n"
    )
    curves = sl.read(tmp_path / "t.csv")
    assert curves.frame[["n_params", "n_data", "test_loss"]].to_numpy().tolist() == [
        [19e6, 1e9, 3.5],
        [160e6, 2e9, 3.1],
    ]
    (tmp_path / "t.csv").write_text("# the runs\n19M,1B tokens,3.5\n160M,2B tokens,3.1\n410M,4B tokens,2.8\n")
    with pytest.raises(BadInput, match=r"19M, 1B tokens, 3\.5"):
        sl.read(tmp_path / "t.csv")


SIZES, LOSSES = [4e7, 9e7, 2.1e8, 5.3e8], [3.04, 2.749, 2.517, 2.33]
TRAINED, ERRORS = [800, 2400, 7200, 21600], [0.3136, 0.2148, 0.1539, 0.1114]


@pytest.mark.parametrize(("columns", "measured"), [
    ({"loss": LOSSES, "val": [1.05 * v for v in LOSSES]}, "test_loss"),
    ({"loss": LOSSES, "err": [v / 20 for v in LOSSES], "dev": [1.05 * v for v in LOSSES]}, "test_loss"),
    ({"train": LOSSES, "val": [1.05 * v for v in LOSSES]}, "loss"),
    ({"loss": LOSSES, "val": [5000, 5001, 5002, 5003]}, "loss"),  # of examples
])  # fmt: skip
def test_a_split_alone_names_what_is_measured_beside_it(columns: dict[str, list], measured: str):
    read = sl.read({"params": SIZES, **columns})
    factor = 1 if columns.get("val", [0])[0] == 5000 else 1.05
    assert read[measured].tolist() == pytest.approx([factor * v for v in LOSSES])
    assert "n_data" not in read.frame


def test_results_of_the_training_and_the_test_in_percent_are_no_shares():
    shares = ["1%", "10%", "50%", "100%"]
    assert sl.read({"subset": shares, "acc": [50, 66, 73, 77]})["n_data"].tolist() == [0.01, 0.1, 0.5, 1.0]
    assert sl.read({"subset": shares, "images": [600, 6000, 30000, 60000], "acc": [50, 66, 73, 77]})[
        "n_data"
    ].tolist() == [600, 6000, 30000, 60000]
    with pytest.raises(BadInput):
        choose(sl.read({"train": shares, "test": ["50%", "66%", "73%", "77%"]}))


@pytest.mark.parametrize("statistics", [["mean", "std"], ["count", "mean", "std"], ["mean", "sem"], None])
def test_statistics_of_groups_under_their_measurement(tmp_path: Path, statistics: list[str] | None):
    runs = pd.DataFrame({"n_train": TRAINED * 3, "test_error": ERRORS * 3, "train_error": [0.01] * 12})
    groups = runs.groupby("n_train")[["train_error", "test_error"]]
    (groups.agg(statistics) if statistics else groups.describe()).to_csv(tmp_path / "runs.csv")
    read = sl.read(tmp_path / "runs.csv")
    assert (read["n_data"].tolist(), read["test_error"].tolist()) == (TRAINED, pytest.approx(ERRORS))


def test_a_perplexity_beside_its_loss_is_no_second_measurement():
    table = {"params": SIZES, "eval/pile/loss": LOSSES}
    own = sl.read(table | {"eval/pile/ppl": [round(float(np.exp(v)), 2) for v in LOSSES]})
    assert choose(own).y == "test_loss"
    with pytest.raises(BadInput, match="eval/pile/loss, eval/c4/ppl"):
        choose(sl.read(table | {"eval/c4/ppl": [float(np.exp(1.1 * v)) for v in LOSSES]}))


def test_settings_are_no_measurement(tmp_path: Path):
    rows = [{"hyperparameters": {"params": n, "mult": k}} for k, n in enumerate(SIZES, 1)]
    with pytest.raises(BadInput, match=r"config\.mult"):
        choose(sl.read([{"config.params": n, "config.mult": k} for k, n in enumerate(SIZES, 1)]))
    path = tmp_path / "runs.json"
    results = [
        row | {"results": [{"set": "c4", "loss": loss}]} for row, loss in zip(rows, LOSSES, strict=True)
    ]
    path.write_text(json.dumps(results))
    assert choose(sl.read(path)).table.y.tolist() == LOSSES


def _lines(line: str) -> str:
    """A line for each run; M is its size in millions."""
    rows = zip(SIZES, LOSSES, strict=True)
    return "".join(line.format(n=n, M=f"{n / 1e6:g}M", v=v) + "\n" for n, v in rows)


TEXTS = {
    "polars.txt": "shape: (4, 2)\n┌───┬──────┐\n│ size ┆ val_loss │\n│ ---  ┆ ---  │\n│ str  ┆ f64 │\n"
    "╞═══╪══════╡\n" + _lines("│ {M} ┆ {v} │") + "└──┴──┘\n",
    "letter.md": "Hi,\nval losses so far:\n```\nsize  val_loss\n" + _lines("{M}  {v}") + "```\nBest, Anna\n",
    "minutes.txt": "All done, val loss:\n" + _lines("{M}/4B: {v}") + "Next: 3B\n",
    "documents.yaml": _lines("---\nparams: {n:.0f}\nresult:\n  val_loss: {v}"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_tables_in_texts_of_many_kinds(tmp_path: Path, name: str):
    path = tmp_path / name
    path.write_text(TEXTS[name])
    read = sl.read(path)
    assert read["n_params"].tolist() == SIZES
    assert read["loss" if name == "minutes.txt" else "test_loss"].tolist() == LOSSES


def test_two_tables_in_a_text_are_not_taken_for_one(tmp_path: Path):
    table = "size  val_loss\n" + _lines("{M}  {v}")
    path = tmp_path / "two.txt"
    path.write_text(f"A:\n{table}B:\n{table}")
    with pytest.raises(BadInput):
        sl.read(path)
    bars = "| size | loss |\n|--|--|\n" + _lines("| {M} | {v} |")
    headed = tmp_path / "two.md"
    headed.write_text(f"## Dense\n\n{bars}\n## Sparse\n\n{bars.replace('3.04', '3.05')}")
    assert {*sl.read(headed)["table"]} == {"Dense", "Sparse"}


def test_a_zip_is_what_it_holds(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as packed:
        for n, error in zip(TRAINED, ERRORS, strict=True):
            packed.writestr(f"runs/n{n}_seed1.csv", f"step,test_error\n1,0.9\n2,{error}\n")
        packed.writestr("__MACOSX/runs/._n800_seed1.csv", b"\0\1")
    read = choose(sl.read(tmp_path / "runs.zip")).table
    assert dict(zip(read.x, read.y, strict=True)) == dict(zip(TRAINED, ERRORS, strict=True))
    with zipfile.ZipFile(tmp_path / "none.zip", "w"):
        pass
    with pytest.raises(BadInput, match="no files"):
        sl.read(tmp_path / "none.zip")


@pytest.mark.parametrize(("name", "read"), [
    ("n{}/seed0", True), ("bert-train{}", True), ("train_{:05d}", False), ("gpt-n{:.1}", False),
])  # fmt: skip
def test_sizes_in_names_of_runs(name: str, read: bool):
    values = [*TRAINED] if read else [6, 12, 24, 48]
    names = [name.replace(":.1", "").format(n) for n in values]
    table = sl.read({"run": np.repeat(names, 2), "step": [1, 2] * 4, "test_error": np.repeat(ERRORS, 2)})
    assert ("n_data" in table.frame) == read
    if read:
        assert {*table["n_data"]} == {*values}


def test_a_corner_or_a_title_says_what_a_wide_table_holds(tmp_path: Path):
    rows = "".join(f"seed {s}," + ",".join(f"{100 * e:.2f}" for e in ERRORS) + "\n" for s in range(3))
    corner = tmp_path / "corner.csv"
    corner.write_text("error (%)," + ",".join(f"{n} samples" for n in TRAINED) + f"\n{rows}mean,"
                      + ",".join(f"{100 * e:.2f}" for e in ERRORS) + "\n")  # fmt: skip
    title = tmp_path / "title.csv"
    title.write_text("Test error vs. training set size\n\nseed;" + ";".join(map(str, TRAINED)) + "\n"
                     + rows.replace("seed ", "").replace(",", ";").replace(".", ","))  # fmt: skip
    for path in (corner, title):
        found = choose(sl.read(path)).table
        assert len(found.y) == 12
        assert found.y[found.x == 800] == pytest.approx([ERRORS[0]] * 3)


def test_two_languages_are_two_measurements():
    table = {"N": SIZES, "loss_en": LOSSES, "loss_de": [1.2 * v for v in LOSSES]}
    with pytest.raises(BadInput, match="loss_en, loss_de"):
        choose(sl.read(table))
    assert sl.read({"N": SIZES, "perte de validation": LOSSES})["test_loss"].tolist() == LOSSES


def test_a_mean_with_its_deviation_in_the_name_is_the_mean():
    cells = [f"{v}±0.004" for v in LOSSES]
    assert choose(sl.read({"N": SIZES, "loss (mean ± std)": cells})).table.y.tolist() == LOSSES


def test_steps_of_all_steps_and_times_with_units_are_numbers(tmp_path: Path):
    for n, loss in zip(SIZES, LOSSES, strict=True):
        lines = "".join(
            f"step:{k}/300 val_loss:{loss + 0.1 * (300 - k)} train_time:{k}ms\n" for k in (100, 200, 300)
        )
        (tmp_path / f"gpt_{n / 1e6:g}M.txt").write_text(f"import os\n=====\nRunning Python 3, torch\n{lines}")
    read = choose(sl.read(tmp_path)).table
    assert dict(zip(read.x, read.y, strict=True)) == pytest.approx(dict(zip(SIZES, LOSSES, strict=True)))


def test_kinds_in_the_last_row_of_a_column_a_run_are_no_footnote(tmp_path: Path) -> None:
    sizes, kinds = ("20000000", "20000000", "200000000", "200000000"), ("adamw", "muon", "adamw", "muon")
    rows = (
        ("", *"abcd"),
        ("params", *sizes),
        ("val loss", "3.9", "3.5", "3.2", "2.9"),
        ("optimizer", *kinds),
    )
    path = tmp_path / "runs.csv"
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    assert sl.read(path).frame.sort_values("run")["optimizer"].tolist() == [*kinds]
    path.write_text("".join(",".join(row) + "\n" for row in (*rows[:3], ("by A", " B", "", "", ""))))
    frame = sl.read(path).frame
    assert "optimizer" not in frame
    assert len(frame) == 4


def test_losses_of_training_and_test_are_columns_of_a_run(tmp_path: Path) -> None:
    kinds = ("adamw", "muon", "adamw", "muon")
    runs = [
        {"optimizer": kind, "n_params": n, "summary": {"eval": {"loss": y}, "train": {"loss": y - 0.1}}}
        for kind, (n, _, y) in zip(kinds, ROWS, strict=True)
    ]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(runs))
    frame = sl.read(path).frame
    assert frame["optimizer"].tolist() == [*kinds]
    assert frame["test_loss"].tolist() == [y for *_, y in ROWS]
    assert frame["train_loss"].tolist() == [y - 0.1 for *_, y in ROWS]


EXAMPLES, MISTAKES = [100, 400, 1600, 6400], [0.31, 0.2, 0.13, 0.09]


def matlab(path: Path) -> None:
    savemat(path, {"n_train": EXAMPLES, "test_error": MISTAKES, "note": "two layers"})


def stata(path: Path) -> None:
    pd.DataFrame({"n_train": EXAMPLES, "test_error": MISTAKES}).to_stata(path, write_index=False)


def plotly(path: Path) -> None:
    axes = {"xaxis": {"title": {"text": "Training examples"}}, "yaxis": {"title": "Test error"}}
    path.write_text(json.dumps({"data": [{"x": EXAMPLES, "y": MISTAKES}], "layout": axes}))


def pgfplots(path: Path) -> None:
    points = " ".join(f"({n}, {e}) +- (0, 0.01)" for n, e in zip(EXAMPLES, MISTAKES))
    labels = "xlabel={Training examples},\nylabel={Test error},"
    path.write_text(f"\\begin{{loglogaxis}}[\n{labels}]\n\\addplot coordinates {{{points}}};")


def of_r(path: Path) -> None:
    sizes, errors = (", ".join(map(str, values)) for values in ([f"{n}L" for n in EXAMPLES], MISTAKES))
    path.write_text(f"structure(list(n_train = c({sizes}),\n  test_error = c({errors})))\n")


def rounds(path: Path) -> None:
    blocks = (
        f"Number of data points in the train set: {n}\n[100]\tvalid's error: {e + 0.1:.2f}\n"
        f"[200]\tvalid's error: {e + 0.02:.2f}\nbest iteration is:\n[141]\tvalid's error: {e}\n"
        for n, e in zip(EXAMPLES, MISTAKES)
    )
    path.write_text("".join(blocks))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.R", of_r),
        ("a.log", rounds),
    ],
)
def test_points_in_the_files_of_other_programs(tmp_path: Path, name: str, write: Callable[[Path], None]):
    write(tmp_path / name)
    chosen = choose(sl.read(tmp_path / name))
    assert (chosen.x, chosen.y) == (("n_data",), "test_error")
    assert chosen.table.x.tolist() == EXAMPLES
    assert chosen.table.y == pytest.approx(MISTAKES)


@pytest.mark.parametrize(
    ("name", "write"), [("a.mat", matlab), ("a.dta", stata), ("a.json", plotly), ("a.tex", pgfplots)]
)
def test_other_files_of_programs_are_refused(tmp_path: Path, name: str, write: Callable[[Path], None]):
    write(tmp_path / name)
    with pytest.raises(BadInput, match=r"save (?:it|the table) as|write a list of objects"):
        sl.read(tmp_path / name)


def test_a_page_of_a_wiki_is_refused(tmp_path: Path):
    path = tmp_path / "wiki.txt"
    path.write_text("{|\n! Params !! Val loss\n" + _lines("|-\n| {n:g} || {v}") + "|}\n")
    with pytest.raises(BadInput, match="columns named by numbers"):
        sl.read(path)


def test_a_cell_over_several_rows_of_a_page_is_in_each_of_them(tmp_path: Path):
    rows = (
        "<tr>" + (f'<td rowspan="2">{n:g}</td>' if k % 2 == 0 else "") + f"<td>{d:g}</td><td>{y}</td></tr>"
        for k, (n, d, y) in enumerate(sorted(ROWS))
    )  # fmt: skip
    head = "<tr><th>Params</th><th>Tokens</th><th>Val loss</th></tr>"
    (tmp_path / "grid.html").write_text(f"<table>{head}{''.join(rows)}</table>")
    frame = sl.read(tmp_path / "grid.html").frame
    assert frame[["n_params", "tokens", "test_loss"]].to_numpy().tolist() == [list(r) for r in sorted(ROWS)]


def test_a_printed_table_is_read_whole_where_some_of_its_texts_have_digits(tmp_path: Path):
    table = pd.DataFrame({"n_params": [2e7, 8e7, 3e8] * 2, "dataset": ["c4"] * 3 + ["pile"] * 3,
                          "val_loss": [3.2, 2.9, 2.6, 2.8, 2.5, 2.3]})  # fmt: skip
    (tmp_path / "printed.txt").write_text(table.to_string(index=False))
    assert sl.read(tmp_path / "printed.txt").frame["dataset"].tolist() == table["dataset"].tolist()


def test_a_printed_table_with_rows_left_out_is_refused(tmp_path: Path):
    (tmp_path / "printed.txt").write_text("params  loss\n1e6 3.2\n...\n1e8 2.9\n1e9 2.2\n")
    with pytest.raises(BadInput, match="no table found"):
        sl.read(tmp_path / "printed.txt")


def test_events_of_a_training_are_rows_of_its_checkpoints(tmp_path: Path):
    log = tmp_path / "log.jsonl"
    events = [
        event
        for n, rate in ((100, 0.5), (200, 0.6), (400, 0.7))
        for event in (
            {"event": "start", "run": f"r{n}", "n_demos": n},
            {"event": "train", "run": f"r{n}", "step": 10, "train_loss": 1 / n},
            {"event": "eval", "run": f"r{n}", "step": 10, "success_rate": rate},
        )
    ]
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    frame = sl.read(log).frame
    assert frame["n_data"].tolist() == [100, 200, 400]
    assert frame["test_accuracy"].tolist() == [0.5, 0.6, 0.7]
    assert frame["train_loss"].tolist() == [0.01, 0.005, 0.0025]


def test_a_validation_loss_below_a_log_is_that_of_its_last_step(tmp_path: Path):
    for n, loss in ((10, 3.5), (20, 3.25), (40, 3.0)):
        lines = "".join(f"step {k} | train loss {loss + 1 / k:.3f}\n" for k in (1, 2, 4))
        text = f"number of parameters: {n}M\n{lines}final validation loss: {loss}\n"
        (tmp_path / f"job-{n}.out").write_text(text)
    found = choose(sl.read(tmp_path), "n_params")
    assert found.y == "test_loss"
    assert found.table.x.tolist() == [1e7, 2e7, 4e7]
    assert found.table.y.tolist() == [3.5, 3.25, 3.0]
