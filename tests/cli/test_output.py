"""Parts of what commands print and read: names, cells, lines, pairs and endings."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scalinglab.answers.fitted import choose
from scalinglab.cli import options, output, screen
from scalinglab.cli.options import whole
from scalinglab.cli.output import Output
from scalinglab.curves import Curves
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.results import Column, Reason
from scalinglab.results.types import renaming


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("n_data", "n_data"), ("a_b_cde", "a_b_\ncde"), ("test_error_stderr", "test_error_\nstderr"),
        ("learning_rate", "learning_\nrate"), ("_hidden", "_hidden"), ("checkpoint", "checkpoint"),
    ],
)  # fmt: skip
def test_long_heads_break_at_the_underscore_nearest_to_the_middle(name: str, broken: str):
    assert screen.broken_name(name) == broken


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "yes"), (np.bool_(False), "no"), (3, "3"), (0.123456789, "0.123457"), (np.float32(2.5), "2.5"),
     ("a", "a"), (1_000_000, "1000000")],
)  # fmt: skip
def test_a_value_on_the_screen(value: object, text: str):
    assert screen.cell(value) == text


@pytest.mark.parametrize("value", [1.5, float("inf"), float("nan")])
def test_counts_are_whole(value: float):
    assert whole("--n", 1e9) == 10**9
    with pytest.raises(BadInput, match="--n "):
        whole("--n", value)


def test_a_line_as_wide_as_the_screen_is_not_broken(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert output.wrap("a" * 9 + " " + "b" * 10) == "a" * 9 + " " + "b" * 10
    assert output.wrap("  " + "a" * 9 + " " + "b" * 10) == "  " + "a" * 9 + "\n    " + "b" * 10
    assert output.wrap("one two-three-four-five-six\nnext") == "one\n  two-three-four-five-six\nnext"


def test_a_table_fits_its_screen_to_the_last_column():
    """Three characters between columns and one at the end: the widest table that fits keeps six digits."""
    table = pd.DataFrame({"a": [0.123456789], "b": ["x" * 40]})
    taken = len("0.123457") + screen.TEXT + 3 * 2 + 1
    for width, number in ((taken, "0.123457"), (taken - 1, "0.12346"), (10, "0.123")):
        assert screen.fitted_cells(table, [True, False], width)[1][0] == [number]


def test_numbers_stand_right_and_scalars_above_the_table(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    document = {
        "law": "m4",
        "points": 3,
        "fixed": True,
        "nested": {"a": 1},
        "x": [1.0, 22.0],
        "more": [1, 2, 3],
    }
    output.render(lambda: Output(document, title="Title"))
    printed = capsys.readouterr().out
    assert printed.startswith("law: m4\npoints: 3\nfixed: yes\nTitle")
    assert "nested" not in printed
    assert "22" not in printed  # the columns of the table are the longest arrays
    output.render(lambda: Output({}, pd.DataFrame({"number": [1.0, 22.0], "text": ["a", "bcd"]})))
    rows = capsys.readouterr().out.splitlines()[3:5]
    assert rows == ["│      1 │ a    │", "│     22 │ bcd  │"]


class Drawn:
    def savefig(self, path: Path, dpi: float) -> None:
        path.write_text("figure")


def test_a_result_is_printed_and_written_where_it_was_asked_for(tmp_path: Path, capsys):
    found = Output(
        {"x": [1.0]}, pd.DataFrame({"x": [1.0]}), "words", figure=Drawn, footer="the end", status=3
    )
    figure, out = tmp_path / "new" / "law.pdf", tmp_path / "a.csv"
    assert output.render(lambda: found, out=out, figure=figure) == 3
    assert capsys.readouterr().out == f"words\nfigure: {figure}\nwritten: {out}\nthe end\n"
    assert figure.read_text() == "figure"
    assert out.read_text() == "x\n1.0\n"
    assert output.render(lambda: found, command="mine", as_json=True, figure=figure) == 3
    assert json.loads(capsys.readouterr().out) == {
        "schema": output.SCHEMA, "command": "mine", "x": [1.0], "figure": str(figure),
    }  # fmt: skip
    assert output.render(lambda: None) == 0
    assert capsys.readouterr().out == ""


def test_nothing_but_the_document_is_printed_for_programs(capsys):
    def compute() -> Output:
        output.say("half done")
        return Output({"json": output.for_programs()}, text="")

    output.render(compute, as_json=True)
    assert json.loads(capsys.readouterr().out)["json"] is True
    output.render(compute)
    assert capsys.readouterr().out == "half done\n"
    assert not output.for_programs()


@pytest.mark.parametrize(
    ("hint", "texts", "value"),
    [
        (options.Where, ["model = a=b ", "seed=1"], {"model": "a=b", "seed": "1"}),
        (options.Columns, ["n_data=train size"], {"n_data": "train size"}),
        (options.Bounds, [" offset=0:inf"], {"offset": (0.0, float("inf"))}),
        (options.Priors, ["alpha=0.35:0.1"], {"alpha": (0.35, 0.1)}),
        (options.Tie, ["beta = alpha"], {"beta": "alpha"}),
    ],
)
def test_pairs_of_the_command_line(hint, texts, value):
    assert hint.__metadata__[0].read("--option", texts) == value


@pytest.mark.parametrize(
    ("hint", "text", "shape"),
    [
        (options.Where, "model", "'model': write COLUMN=VALUE"),
        (options.Columns, "=size", "'=size': write OURS=THEIRS"),
        (options.Columns, "n_data=", "'n_data=': write OURS=THEIRS"),
        (options.Bounds, "offset=1", "offset=1: write PARAMETER=LOW:HIGH"),
        (options.Priors, "beta=1:2:3", "beta=1:2:3: write PARAMETER=VALUE:SPREAD"),
    ],
)  # fmt: skip
def test_pairs_that_cannot_be_read_are_refused(hint, text: str, shape: str):
    with pytest.raises(BadInput, match=re.escape(f"--option {shape}")):
        hint.__metadata__[0].read("--option", [text])


def test_endings_and_folders_are_tested_before_anything_is_computed(tmp_path: Path):
    check = options.ending(".csv", ".json").read
    assert check("--out", Path("a.json")) == Path("a.json")
    with pytest.raises(BadInput, match=r"--out a\.txt: .*'\.txt'.*\.csv.*\.json"):
        check("--out", Path("a.txt"))
    file = tmp_path / "file"
    file.touch()
    assert options.folder("--store", tmp_path) == tmp_path
    with pytest.raises(BadInput, match="is a file"):
        options.folder("--store", file)


def test_words_on_a_surface_speak_of_tokens_where_the_table_counts_them():
    sizes = {"n_params": [1e6, 1e6, 1e7], "n_data": [1e8, 1e9, 1e9], "loss": [4.0, 3.5, 3.0]}
    images = choose(Curves(sizes, source="read"), ("n_params", "n_data"))
    tokens = choose(Curves({**sizes, "tokens": sizes["n_data"]}, source="read"), ("n_params", "n_data"))
    assert (tokens.units["n_data"], tokens.names) == ("tokens", {"n_data": "tokens"})
    assert (images.units["n_data"], images.names) == ("examples", {})
    for chosen, name in ((tokens, "tokens"), (images, "n_data")):
        with pytest.raises(NotDetermined, match=f"different values of {name}:"), renaming(chosen.names):
            raise NotDetermined(Reason("few_values", size=Column("n_data"), values=2))
    with pytest.raises(BadInput, match="--where n_data=100"), renaming(tokens.names):
        raise BadInput("--where n_data=100 takes one")
