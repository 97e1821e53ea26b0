"""Files that were made to break a reader get a message that names what is wrong, never a traceback."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput

BASE = {"n_data": [1, 2], "test_loss": [0.5, 0.4]}


def table(names, *columns):
    return pa.Table.from_arrays([pa.array(column) for column in columns], names=names)


LINES = {
    "deep object": ('{"a":' * 100_000, "line 1 is nested too deeply"),
    "deep list": ('{"n_data":1,"test_loss":1,"x":' + "[" * 100_000, "line 1 is nested too deeply"),
    "400 digits": (
        '{"n_data":' + "9" * 400 + ',"test_loss":1}',
        "n_data has a number of 400 digits.*1.8e308: 999",
    ),
    "5000 digits": ('{"n_data":' + "9" * 5000 + ',"test_loss":1}', "line 1 is not a JSON object"),
    "text among numbers": (
        '{"n_data":1,"test_loss":"abc"}\n{"n_data":2,"test_loss":1}',
        "test_loss must hold.*'abc'",
    ),
    "half a character": ('{"n_data":1,"test_loss":1,"model":"\\ud800"}', "cannot be read.*surrogates"),
}
TABLES = {
    "the loss twice": (
        table(["n_data", "test_loss", "test_loss"], [1], [1.0], [2.0]),
        "two columns.*'test_loss'",
    ),
    "the size twice": (table(["n_data", "n_data", "test_loss"], [1], [2], [1.0]), "two columns.*'n_data'"),
    "lists as losses": (
        pa.table({"n_data": [1], "test_loss": [[1.0, 2.0]]}),
        r"test_loss must.*'\[1.0, 2.0\]'",
    ),
    "lists as sizes": (
        pa.table({"n_data": [[1]], "test_loss": [1.0]}),
        r"n_data must hold numbers, not '\[1\]'",
    ),
    "no settings": (
        pa.table(BASE).replace_schema_metadata({"scalinglab.settings": "5"}),
        "list of settings is '5'",
    ),
    "deep settings": (
        pa.table(BASE).replace_schema_metadata({"scalinglab.settings": "[" * 100_000}),
        "too deeply",
    ),
}


@pytest.mark.parametrize(("text", "message"), LINES.values(), ids=LINES.keys())
def test_hostile_lines_are_named(tmp_path, text, message):
    path = tmp_path / "log.jsonl"
    path.write_text(text + "\n")
    with pytest.raises(BadInput, match=message):
        sl.read(path)


@pytest.mark.parametrize(("content", "message"), TABLES.values(), ids=TABLES.keys())
def test_hostile_tables_are_named(tmp_path, content, message):
    path = tmp_path / "log.parquet"
    pq.write_table(content, path)
    with pytest.raises(BadInput, match=message):
        sl.read(path)


def test_a_csv_file_with_a_number_of_400_digits_is_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("n_data,test_loss\n" + "9" * 400 + ",0.5\n100,0.4\n")
    with pytest.raises(BadInput, match=r"n_data.* 400 "):
        sl.read(path)


def test_columns_of_lists_become_text_that_tells_runs_apart(tmp_path):
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({**BASE, "widths": [[1, 2], [3]], "deep": [[[1]], []]}), path)
    curves = sl.read(path)
    assert curves["widths"].tolist() == ["[1, 2]", "[3]"]
    assert curves["deep"].tolist() == ["[[1]]", "[]"]
    assert len(curves.runs) == 2


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_sizes_beyond_64_bits_are_numbers(tmp_path, ending):
    path = tmp_path / f"log.{ending}"
    lines = {"csv": "n_data,test_loss\n{0},0.5\n100,0.4\n", "jsonl": '{{"n_data":{0},"test_loss":0.5}}\n'}
    path.write_text(lines[ending].format(2**70))
    assert sl.read(path)["n_data"][0] == 2.0**70


def test_seeds_beyond_64_bits_stay_apart():
    seeds = [2**70, 2**70 + 1]
    curves = sl.Curves({"n_data": [5, 5], "seed": seeds, "test_loss": [0.5, 0.4]})
    assert len(curves.runs) == 2
    assert len(sl.Curves({"n_data": [5] * 3, "seed": [*seeds, None], "test_loss": [0.5, 0.4, 0.3]}).runs) == 3
    assert sl.Curves({"n_data": [2**70, 100], "test_loss": [0.5, 0.4]})["n_data"].tolist() == [2.0**70, 100.0]
    with pytest.raises(BadInput, match=r"n_data.* 401 "):
        sl.Curves({"n_data": [10**400, 100], "test_loss": [0.5, 0.4]})


def test_seeds_beyond_64_bits_stay_apart_in_a_file(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(f"n_data,seed,test_loss\n5,{2**70},0.5\n5,{2**70 + 1},0.4\n")
    assert sl.read(path)["seed"].tolist() == [2**70, 2**70 + 1]


def test_a_text_with_half_a_character_is_named():
    with pytest.raises(BadInput, match="surrogates"):
        sl.Curves({"n_data": [1], "test_loss": [0.5], "model": ["\ud800"]})
