"""Curves in files come back as they were."""

import json
import resource
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import scalinglab as sl
from scalinglab.curves import Curves, files
from scalinglab.curves import files as parts_of_tables
from scalinglab.errors import BadInput
from tests.properties import examples

FORMATS = ("parquet", "csv", "jsonl")
AWKWARD = {
    "run": ["1234567890123456", "1234567890123456", "12e4567890123456"],
    "model": ["cnn", "cnn", "007, \"quoted\" ∞"],
    "step": [1, 2, 1],
    "examples": [2**60 + 1, 2**60 + 3, 0],
    "test_loss": [0.1 + 0.2, np.nan, 5e-324],
    "norm": [np.inf, -np.inf, 1.7976931348623157e308],
    "stable": [True, False, True],
}  # fmt: skip


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_gives_back_every_value_exactly(tmp_path, ending):
    table = Curves(AWKWARD)
    path = table.write(tmp_path / "new" / f"curves.{ending}")
    back = sl.read(path)
    pd.testing.assert_frame_equal(back.frame, table.frame, check_exact=True)
    assert [p.name for p in path.parent.iterdir()] == [path.name]  # nothing left beside it


numbers = st.one_of(st.none(), st.floats(allow_nan=False), st.integers(-(2**53), 2**53))


@pytest.mark.parametrize("ending", FORMATS)
@examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(numbers, min_size=1, max_size=6), text=st.text("abc,;\"'0e.\n", min_size=1))
def test_any_values_survive_the_way_to_disk(tmp_path, ending, values, text):
    if not text.strip("0e.\n"):
        text += "x"  # a CSV cannot tell the text 007 from the number
    table = Curves({"step": range(len(values)), "norm": values, "model": text, "test_loss": 1.0})
    back = Curves.read(table.write(tmp_path / f"curves.{ending}"))
    np.testing.assert_array_equal(back["norm"].astype(float), table["norm"].astype(float))
    assert back.runs == table.runs
    assert set(back["model"]) == {text}


def test_parquet_remembers_declared_settings_and_others_take_them(tmp_path):
    table = Curves({"step": [1, 1], "patience": [3, 4], "norm": [1.0, 2.0]}, settings=["patience"])
    assert Curves.read(table.write(tmp_path / "a.parquet")).settings == ("patience",)
    path = table.write(tmp_path / "a.csv")
    assert Curves.read(path, settings=["patience"]).setting_columns == ["patience"]


def test_columns_of_a_foreign_file_are_renamed(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("train_size,err\n100,0.5\n200,0.4\n")
    table = sl.read(path, n_data="train_size", test_error="err")
    assert table["n_data"].tolist() == [100, 200]
    with pytest.raises(BadInput, match=r"'train_sise'.*'train_size'"):
        sl.read(path, n_data="train_sise")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.docx", "PK\0", "its ending '.docx' is not known"),
        ("a.xlsx", "no book", "a.xlsx cannot be read: File is not a zip file"),
        ("b.parquet", "not parquet at all", "b.parquet cannot be read"),
        ("c.csv", "", "c.csv is empty: a table has names and a row for every measurement"),
        ("ragged.csv", "n_data,loss\n1,2,3\n1,2,3,4\n", "column 3 has numbers and no name; name each"),
        (
            "head.csv",
            "n_data,test_error\n",
            "head.csv has no rows, only the names n_data, test_error: .* every",
        ),
        ("empty.jsonl", "\n", "empty.jsonl has no rows: a table of curves has a row for every measurement"),
        ("d.jsonl", '{"step": 1, "norm": 2}\n[oops\n', "d.jsonl, line 2 is not a JSON object"),
    ],
)
def test_unreadable_files_are_named_with_the_reason(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(BadInput, match=message):
        sl.read(tmp_path / name)


def test_missing_files_and_folders_that_are_no_store_are_named(tmp_path):
    with pytest.raises(BadInput, match=r"nowhere\.csv"):
        sl.read(tmp_path / "nowhere.csv")
    with pytest.raises(BadInput, match=r"nowhere\.csv"):
        sl.Curves.read(tmp_path / "nowhere.csv")
    with pytest.raises(BadInput, match="holds neither a store nor logs nor tables"):
        sl.read(tmp_path)


@pytest.mark.parametrize("text", ["=1+1", "+1", "@a", "'=1", "''+b", "\tx", "'quoted'", "-a"])
def test_cells_that_a_spreadsheet_would_execute_are_quoted_and_come_back(tmp_path, text):
    path = tmp_path / "t.csv"
    curves = sl.Curves(
        {"model": [text, "b"], "n_data": [1, 2], "test_error": [0.5, 0.25]}, settings=["model"]
    )
    curves.write(path)
    cells = [line.split(",") for line in path.read_text().splitlines()[1:]]
    assert not any(cell.strip('"').startswith(("=", "+", "@", "\t")) for row in cells for cell in row)
    assert sl.Curves.read(path)["model"].tolist() == [text, "b"]


@pytest.mark.slow
def test_a_table_of_a_million_columns_is_refused_at_once(tmp_path):
    path = tmp_path / "wide.csv"
    names = ",".join(f"c{k}" for k in range(1_000_000))
    path.write_text(names + "\n" + ",".join("1" * 1_000_000) + "\n")
    began = time.process_time()
    for read in (sl.Curves.read, sl.read):
        with pytest.raises(BadInput, match="columns or more"):
            read(path)
    assert time.process_time() - began < 4


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = Curves({"step": [1], "norm": [1.0]}).write(tmp_path / "a.jsonl")
    before = path.read_bytes()

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # fails as a full disk does
    try:
        with pytest.raises(OSError, match="File too large"):
            Curves({"step": range(1000), "norm": range(1000)}).write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_json_lines_of_many_parts_are_one_table(tmp_path):
    """Columns that begin late, end early, or are empty in a part; the same table as from one part."""
    path = tmp_path / "history.jsonl"
    count = 2 * parts_of_tables.PART + 2
    rows = [{"step": k, **({"loss": 1 / (k + 1)} if k % 3 else {}), **({"note": None} if k < 4 else {})}
            for k in range(count)]  # fmt: skip
    rows[-3]["late"] = "text"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    parts, _ = files.read_table(path)
    assert list(parts.columns) == ["step", "note", "loss", "late"]
    assert parts["step"].dtype == int
    np.testing.assert_array_equal(parts["step"], range(count))
    np.testing.assert_array_equal(parts["loss"], [row.get("loss", np.nan) for row in rows])
    assert parts["late"].dropna().to_dict() == {count - 3: "text"}
    rows[count // 2]["empty"] = rows[-1]["empty"] = None
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert list(files.read_table(path)[0].columns) == ["step", "note", "loss", "empty", "late"]
    path.write_text("")
    with pytest.raises(BadInput, match="no rows"):
        files.read_table(path)
