"""Tables that are read part by part are the same as those read at once, and bounded in memory."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.cli.tables import Rows, Table
from scalinglab.curves import files
from scalinglab.readers.tables.markup import rows_of_pairs

ROWS = 400


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PART_BYTES", 500)
    monkeypatch.setattr(files, "PART", 7)


def varied() -> pd.DataFrame:
    """Columns that begin late, end early, change their type, or are empty."""
    step = np.arange(ROWS)
    return pd.DataFrame(
        {
            "step": step,
            "loss": 3 + 1 / (step + 1),
            "whole": np.where(step < 300, step, step + 0.5),
            "late": np.where(step < 200, np.nan, step),
            "early": np.where(step < 200, step, np.nan),
            "count": pd.array([*[pd.NA] * 203, *range(203, ROWS)], dtype="Int64"),  # 29 parts of 7
            "empty": np.nan,
            "flag": step % 2 == 0,
            "note": np.where(step > 100, "text", None),
            "large": [2**70 + int(k) for k in step],
        }
    )


@pytest.mark.parametrize("ending", [pytest.param("tsv", marks=pytest.mark.slow), "jsonl", "csv.gz"])
def test_a_table_of_many_parts_is_the_table_of_one(tmp_path: Path, ending: str, request):
    path, table = tmp_path / f"log.{ending}", varied()
    if ending == "jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    whole = sl.read(path).frame
    request.getfixturevalue("in_parts")
    pd.testing.assert_frame_equal(sl.read(path).frame, whole)
    assert whole["late"].notna().sum() == whole["early"].notna().sum() == 200


def test_numbers_before_a_text_stay_as_they_were_written(tmp_path: Path, in_parts: None):
    """19M in the last row: 0012 in the first part is a text too, and 1.50 as it was written."""
    sizes = ["0012"] * 100 + ["1.50"] * 100 + ["19M"]
    names = ["0012"] * 100 + ["1.50"] * 100 + ["large"]
    table = pd.DataFrame({"params": sizes, "kind": names, "step": range(201), "loss": 1.0})
    table.to_csv(tmp_path / "a.csv", index=False)
    curves = sl.read(tmp_path / "a.csv")
    assert sorted(set(curves["n_params"])) == [1.5, 12, 19_000_000]
    assert set(curves["kind"]) == {"0012", "1.50", "large"}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_table_of_too_many_numbers_keeps_those_that_are_known_or_asked_for(
    tmp_path: Path, ending: str, in_parts: None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "MOST_NUMBERS", 5 * 60)
    table = pd.DataFrame({f"metric {k}": np.arange(60) / (k + 1) for k in range(8)})
    table = table.assign(step=range(60), **{"eval/loss": 1.0, "kind": "a", "lr": 0.1})
    path = tmp_path / f"log.{ending}"
    if ending == "parquet":
        table.to_parquet(path)
    elif ending == "csv":
        table.to_csv(path, index=False)
    else:
        table.to_json(path, orient="records", lines=True)
    curves = sl.read(path)
    assert curves.measurement_columns == ["metric 0", "test_loss"]
    assert {"step", "kind", "learning_rate"} <= {*curves.frame}
    assert re.search("left out of more than .* numbers: metric 7, metric 6", curves.understood)
    assert sl.read(path, extra="metric 7")["extra"].tolist() == table["metric 7"].tolist()
    asked = Table(file=path, where={"metric 4": "1"}).query("step", "metric 3", error="metric 5")
    assert {"metric 3", "metric 4", "metric 5"} <= {*asked.frame}
    curves = Rows(file=path, where={"metric 4": "0"}).curves(wanted=("metric 3",))
    assert {"metric 3", "metric 4"} <= {*curves.frame}


def test_sizes_under_any_name_that_is_read_stay_in_a_large_table(tmp_path: Path, in_parts: None, monkeypatch):
    monkeypatch.setattr(files, "MOST_NUMBERS", 2 * ROWS)
    sizes = np.repeat([20.0, 60, 180, 540], ROWS // 4)
    table = pd.DataFrame(
        {"Params (M)": sizes, "tokens_b": np.arange(1.0, ROWS + 1), "val_ppl": 20.0, "zzz": 1.0}
    )
    table.to_csv(tmp_path / "large.csv", index=False)
    curves = sl.read(tmp_path / "large.csv")
    assert set(curves["n_params"]) == {2e7, 6e7, 1.8e8, 5.4e8}
    assert curves["tokens"].max() == ROWS * 1e9
    assert curves["test_loss"] == pytest.approx(np.log(20))
    assert "zzz" not in curves.frame
    assert "zzz" in sl.read(tmp_path / "large.csv", wanted=["zzz"]).frame
    letters = table.set_axis(["n", "d", "zzz", "loss"], axis=1).assign(
        n=sizes * 1e6, d=np.arange(1, ROWS + 1) * 1e9
    )
    letters.to_csv(tmp_path / "letters.csv", index=False)
    assert {"n_params", "tokens", "loss"} <= {*sl.read(tmp_path / "letters.csv").frame}


def test_a_long_word_takes_no_longer_than_many_short_ones():
    spent = []
    for line in ("0 " + "x" * 20_000, "0 " + "x " * 10_000):
        start = time.process_time()
        assert rows_of_pairs([line]) == []
        spent.append(time.process_time() - start)
    assert spent[0] < 10 * spent[1] + 0.1  # 12 seconds where every letter of a word may begin a name
    assert rows_of_pairs(["(N=1e7 D=1e9)"]) == [{"N": "1e7", "D": "1e9"}]


def test_long_texts_of_a_text_file_are_shortened_and_named(tmp_path: Path):
    texts = [f"{k} " + "x" * 5000 for k in range(3)]
    table = pd.DataFrame({"n_data": [10, 20, 40], "sample": texts, "loss": [3.0, 2.0, 1.5]})
    table.to_csv(tmp_path / "a.csv", index=False)
    assert "sample" in sl.read(tmp_path / "a.csv").understood
    kept = sl.read(tmp_path / "a.csv", settings=["sample"])["sample"]
    assert len(set(kept)) == 3
    assert max(map(len, kept)) < 60
