"""Parts of what commands print and read: names, cells, lines, pairs and endings."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scalinglab.cli import output
from scalinglab.cli.options import whole
from scalinglab.cli.shared import options, tables
from scalinglab.errors import BadInput, NotDetermined


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("n_data", "n_data"), ("a_b_cde", "a_b_\ncde"), ("test_error_stderr", "test_error_\nstderr"),
        ("learning_rate", "learning_\nrate"), ("_hidden", "_hidden"), ("checkpoint", "checkpoint"),
    ],
)  # fmt: skip
def test_long_heads_break_at_the_underscore_nearest_to_the_middle(name: str, broken: str):
    assert output._broken(name) == broken


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "yes"), (np.bool_(False), "no"), (3, "3"), (0.123456789, "0.123457"), (np.float32(2.5), "2.5"),
     ("a", "a"), (1_000_000, "1000000")],
)  # fmt: skip
def test_a_value_on_the_screen(value: object, text: str):
    assert output.cell(value) == text


@pytest.mark.parametrize("value", [1.5, float("inf"), float("nan")])
def test_counts_are_whole(value: float):
    assert whole("--n", 1e9) == 10**9
    with pytest.raises(BadInput, match=r"--n .* must be a whole number"):
        whole("--n", value)


def test_a_line_as_wide_as_the_screen_is_not_broken(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert output.wrap("a" * 9 + " " + "b" * 10) == "a" * 9 + " " + "b" * 10
    assert output.wrap("  " + "a" * 9 + " " + "b" * 10) == "  " + "a" * 9 + "\n    " + "b" * 10
    assert output.wrap("one two-three-four-five-six\nnext") == "one\n  two-three-four-five-six\nnext"


def test_a_table_fits_its_screen_to_the_last_column():
    """Three characters between columns and one at the end: the widest table that fits keeps six digits."""
    table = pd.DataFrame({"a": [0.123456789], "b": ["x" * 40]})
    taken = len("0.123457") + output.TEXT + 3 * 2 + 1
    for width, number in ((taken, "0.123457"), (taken - 1, "0.12346"), (10, "0.123")):
        assert output._fit(table, [True, False], width)[1][0] == [number]


def test_numbers_stand_right_and_scalars_above_the_table(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    output.emit(
        {"law": "m4", "points": 3, "held": True, "nested": {"a": 1}, "x": [1.0, 22.0], "other": [1, 2, 3]},
        title="Title",
    )
    said = capsys.readouterr().out
    assert said.startswith("law: m4\npoints: 3\nheld: yes\nTitle")
    assert "nested" not in said
    assert "22" not in said  # the columns of the table are the longest arrays
    output.emit({}, pd.DataFrame({"number": [1.0, 22.0], "text": ["a", "bcd"]}))
    rows = capsys.readouterr().out.splitlines()[3:5]
    assert rows == ["│      1 │ a    │", "│     22 │ bcd  │"]


def test_the_machines_part_of_a_result(tmp_path: Path, capsys):
    document, table = {"figure": "law.png", "x": [1.0]}, pd.DataFrame({"x": [1.0]})
    tables.finish(document, table, False, tmp_path / "a.csv")
    assert capsys.readouterr().out == f"figure: law.png\nwritten: {tmp_path / 'a.csv'}\n"
    tables.finish({}, table, False, None)
    tables.say("words", True)
    assert capsys.readouterr().out == ""
    tables.finish(document, table, True, None)
    assert json.loads(capsys.readouterr().out) == document
    tables.say("words", False)
    assert capsys.readouterr().out == "words\n"


def test_a_figure_is_named_by_its_file_and_kind(tmp_path: Path, monkeypatch):
    class Drawn:
        def savefig(self, path: Path, dpi: float) -> None:
            path.write_text("figure")

    monkeypatch.chdir(tmp_path)
    assert tables.draw(Drawn(), None, Path("runs/curves.csv"), "law") == "curves-law.png"
    asked = tmp_path / "new" / "folder" / "a.pdf"
    for _ in range(2):  # the folder may be there
        assert tables.draw(Drawn(), asked, Path("curves.csv"), "law") == str(asked)
    assert asked.read_text() == "figure"


def test_pairs_of_the_command_line():
    assert tables.conditions(["model = a=b ", "seed=1"]) == {"model": "a=b", "seed": "1"}
    assert tables.conditions(None) == {}
    assert tables.renamed(["n_data=train size"]) == {"n_data": "train size"}
    assert tables.limits([" offset=0:inf"]) == {"offset": (0.0, float("inf"))}
    assert tables.beliefs(["alpha=0.35:0.1"]) == {"alpha": (0.35, 0.1)}
    assert tables.pairing("--tie", ["beta = alpha"], "") == {"beta": "alpha"}


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (tables.conditions, "model", "--where 'model': write COLUMN=VALUE"),
        (tables.renamed, "=size", "--column '=size': write OURS=THEIRS"),
        (tables.renamed, "n_data=", "--column 'n_data=': write OURS=THEIRS"),
        (tables.limits, "offset=1", "--bounds offset=1: write PARAMETER=LOW:HIGH"),
        (tables.beliefs, "beta=1:2:3", "--prior beta=1:2:3: write PARAMETER=VALUE:SPREAD"),
    ],
)  # fmt: skip
def test_pairs_that_cannot_be_read_are_refused(read, text: str, said: str):
    with pytest.raises(BadInput, match=re.escape(said)):
        read([text])


def test_endings_and_folders_are_tested_before_anything_is_computed(tmp_path: Path):
    check = options._by_ending("--out", ".csv", ".json")
    assert check(None) is None
    assert check(Path("a.json")) == Path("a.json")
    with pytest.raises(BadInput, match=r"--out a\.txt: unknown ending '\.txt'; use \.csv or \.json"):
        check(Path("a.txt"))
    file = tmp_path / "file"
    file.touch()
    assert options.a_folder(None) is None
    assert options.a_folder(tmp_path) == tmp_path
    with pytest.raises(BadInput, match="is a file"):
        options.a_folder(file)


def test_json_of_a_surface_has_no_value_that_the_runs_do_not_determine():
    fitted: Any = SimpleNamespace(parameters={"E": 1.8, "alpha": 0.35}, undetermined=("alpha",))
    assert tables.determined(fitted) == {"E": 1.8, "alpha": None}


def test_words_on_a_surface_speak_of_tokens_where_the_table_counts_them():
    text = "only 2 values of n_data in run_n_data: --where n_data=100 takes one"
    tokens = tables.Asked(pd.DataFrame({"n_data": [1e9], "tokens": [1e9]}), "x", "y", {}, "")
    assert tokens.worded(text) == "only 2 values of tokens in run_n_data: --where n_data=100 takes one"
    with pytest.raises(NotDetermined, match="only 2 values of tokens in"), tokens.in_words():
        raise NotDetermined(text)
    images = tables.Asked(pd.DataFrame({"n_data": [1e4]}), "x", "y", {}, "")
    assert images.worded(text) == text
