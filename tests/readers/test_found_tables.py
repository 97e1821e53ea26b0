"""Where a table stands in its file: below titles, between lines of text, in a page, in nested objects."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
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


def test_titles_footnotes_and_means_are_said(tmp_path: Path):
    for name, said in (
        ("title.csv", "Sweep of May"),
        ("notes.csv", "1 lines of text below"),
        ("mean.csv", "1 rows"),
    ):
        (tmp_path / name).write_text(FILES[name])
        assert said in sl.read(tmp_path / name).understood


def test_lines_between_rows_become_a_column(tmp_path: Path):
    (tmp_path / "t.csv").write_text(f"params,tokens,val_loss\nBaseline,,\n{LINES}Ours,,\n{LINES}")
    assert sl.read(tmp_path / "t.csv").frame.groupby("section").size().to_dict() == {"Baseline": 4, "Ours": 4}


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
    with pytest.raises(BadInput, match="a file without names needs them in its first line"):
        sl.read(tmp_path / "t.csv")
