"""``scalinglab reproduce`` lists, makes and checks entries; here of two papers that do not exist."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from scalinglab import studies
from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.studies.records import Checked
from scalinglab.studies.verdict import Row

ENTRIES = [
    studies.Entry("one/fig1", "it falls", ("smoke", "gpu"), make="m:f", laptop_minutes=2.0),
    studies.Entry("one/fig2", "it rises", ("smoke",), make="m:f", judged_in="one/fig1"),
    studies.Entry("one/fig3", "it is not built", ("smoke",)),
    studies.Entry("two/fig1", "it stays", ("laptop",), make="m:f"),
]


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What was reproduced, with its arguments."""
    made: list[tuple[Any, ...]] = []

    def reproduce(key: str, scale: str, results: Path, **training: Any) -> Any:
        made.append((key, scale, str(results), training))
        if key == "one/fig2":
            raise BadInput("needs a GPU")
        return studies.Reproduction(None, None, (Row("slope", 0.5, 0.1, 3, expected=0.5),))

    monkeypatch.setattr(studies, "entries", lambda: {entry.key: entry for entry in ENTRIES})
    monkeypatch.setattr(studies, "reproduce", reproduce)
    return made


def run(*words: str) -> Any:
    return CliRunner(env={"COLUMNS": "110"}).invoke(app, ["reproduce", *words])


def test_the_list_has_a_block_for_each_paper_and_counts_what_is_built():
    said = run("list").output
    assert said.index("one/fig1") < said.index("two/fig1")
    assert "one/fig1  gpu    2 min" in said
    assert "it rises (judged in one/fig1)" in said
    assert "3 of 4 built, 1 missing" in said
    missing = run("list", "--missing").output
    assert "one/fig3" in missing
    assert "one/fig1" not in missing
    assert "3 of 4 built, 1 missing" in missing
    assert "two/fig1" not in run("one/").output


def test_the_list_as_a_table(tmp_path: Path):
    run("one", "--out", str(tmp_path / "list.csv"))
    table = pd.read_csv(tmp_path / "list.csv")
    assert table["key"].tolist() == ["one/fig1", "one/fig2", "one/fig3"]
    assert table["built"].tolist() == [True, True, False]
    entries = json.loads(run("list", "--json").output)["entries"]
    assert [entry["laptop_minutes"] for entry in entries] == [2.0, None, None, None]


def test_one_entry_is_made_at_scale_laptop_unless_asked_otherwise(calls):
    document = json.loads(run("one/fig1", "--json").output)
    assert document["scale"] == "laptop"
    assert document["folder"] == "results/one/fig1/laptop"
    assert [row["quantity"] for row in document["table"]] == ["slope"]
    said = run(
        "one/fig1", "--scale", "gpu", "--results", "r", "--store", "s", "--only", "CNN", "--minutes", "2"
    )
    assert "key: one/fig1" in said.output
    assert calls == [
        ("one/fig1", "laptop", "results", {"store": None, "only": (), "minutes": None}),
        ("one/fig1", "gpu", "r", {"store": Path("s"), "only": ("CNN",), "minutes": 2.0}),
    ]


def test_a_paper_at_a_scale_makes_what_is_built_and_names_what_cannot_run(calls):
    result = run("one", "--scale", "smoke", "--json")
    assert result.exit_code == 1
    assert [call[0] for call in calls] == ["one/fig1", "one/fig2"]
    document = json.loads(result.stdout)
    assert document["left_out"] == {"one/fig2": "needs a GPU"}
    assert list(document["tables"]) == ["one/fig1"]
    assert "1/2 one/fig1\n2/2 one/fig2\n    left out: needs a GPU\n" in result.stderr
    assert run("two", "--scale", "laptop").exit_code == 0


@pytest.mark.parametrize("key", ["one", "one/fig1"])
def test_an_interrupted_command_says_that_it_goes_on(monkeypatch: pytest.MonkeyPatch, key: str):
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(studies, "reproduce", interrupted)
    result = run(key, "--scale", "smoke")
    assert result.exit_code == 130
    assert "stopped; runs that were stored are kept" in result.stderr


@pytest.mark.parametrize(
    ("write", "state", "last"), [((), "differs", "checked"), (("--write",), "written", "written")]
)
def test_a_check_ends_with_1_where_a_record_differs(monkeypatch, tmp_path, write, state, last):
    found = [Checked("one/fig1", 3, 1.25, ()), Checked("one/fig2", 12, 10.0, ("slope: 1, was 2",))]
    monkeypatch.setattr(studies, "check", lambda paper, write: iter(found))
    result = run("check", *write)
    assert result.exit_code == 1
    first, second, difference, count = result.stdout.splitlines()
    assert first.split() == ["one/fig1", "3", "rows", "1.2", "s", "written" if write else "matches"]
    assert second.split()[-1] == state
    assert difference == "    slope: 1, was 2"
    assert count == f"2 records {last}, 1 differ"
    assert json.loads(run("check", "--json").stdout)["differ"] == ["one/fig2"]
    result = run("check", "--out", str(tmp_path / "check.csv"))
    assert "one/fig1" in result.stderr
    assert pd.read_csv(tmp_path / "check.csv")["seconds"].tolist() == [1.25, 10.0]
    found.pop()
    assert run("check").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [(["list", "--paper", "one"], "go with 'scalinglab reproduce check'"),
     (["one/fig1", "--missing"], "--missing goes with"), (["list", "--scale", "smoke"], "--scale goes with"),
     (["one", "--scale", "huge"], "no scale 'huge'"), (["two", "--scale", "smoke"], "no entry of two")],
)  # fmt: skip
def test_options_that_do_not_go_together_are_refused(words, said):
    assert said in str(run(*words).exception)
