"""Tables that are read part by part are the same as those read at once."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.curves import files
from scalinglab.readers.tables.markup import rows_of_pairs

LONG = "0" * (1 << 16)  # behind the point of the first number: rows seem as long, and 256 make a part of 8 MB


def varied(rows: int) -> pd.DataFrame:
    """Columns that begin late, end early, change their type, or are empty, in some part of them."""
    step = np.arange(rows)
    return pd.DataFrame(
        {
            "step": step,
            "loss": 3 + 1 / (step + 1),
            "whole": np.where(step < rows - 100, step, step + 0.5),
            "late": np.where(step < rows - 200, np.nan, step),
            "early": np.where(step < 200, step, np.nan),
            "count": pd.array([*[pd.NA] * (rows - 200), *range(200)], dtype="Int64"),
            "empty": np.nan,
            "flag": step % 2 == 0,
            "note": np.where(step > rows - 300, "text", None),
            "large": [2**70 + int(k) for k in step],
        }
    )


@pytest.mark.parametrize("ending", [pytest.param("tsv", marks=pytest.mark.slow), "jsonl", "csv.gz"])
def test_a_table_of_many_parts_is_the_table_of_one(tmp_path: Path, ending: str):
    path, table = tmp_path / f"log.{ending}", varied(2 * files.PART + 5 if ending == "jsonl" else 1000)
    whole = sl.read(table).frame
    if ending == "jsonl":
        table.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        table["loss"] = table["loss"].map(repr)
        table.loc[0, "loss"] += LONG
        table.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    found = sl.read(path).frame
    pd.testing.assert_frame_equal(found[whole.columns], whole, check_dtype=False, rtol=1e-12)
    assert whole["late"].notna().sum() == whole["early"].notna().sum() == 200


def test_numbers_before_a_text_stay_as_they_were_written(tmp_path: Path):
    """19M in the last row: 0012 in the first part is a text too, and 1.50 as it was written."""
    sizes = ["0012"] * 500 + ["1.50"] * 500 + ["19M"]
    names = ["0012"] * 500 + ["1.50"] * 500 + ["large"]
    table = pd.DataFrame({"params": sizes, "kind": names, "step": range(1001), "loss": "1.0"})
    table.loc[0, "loss"] += LONG
    table.to_csv(tmp_path / "a.csv", index=False)
    curves = sl.read(tmp_path / "a.csv")
    assert sorted(set(curves["n_params"])) == [1.5, 12, 19_000_000]
    assert set(curves["kind"]) == {"0012", "1.50", "large"}


@pytest.mark.parametrize("letter", "x1")
def test_a_long_word_takes_no_longer_than_many_short_ones(letter: str):
    spent = []
    for line in ("0 " + letter * 20_000, "0 " + f"{letter} " * 10_000):
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
