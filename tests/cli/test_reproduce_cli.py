"""``scalinglab reproduce`` lists, reproduces and checks entries; here of two papers of an installed study."""

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.studies import Entry, Reproduction, Row
from scalinglab.studies.trained import run_storage
from tests import fake_study

ENTRIES = [
    Entry("one/fig1", "it falls", ("smoke", "laptop", "gpu"), "fake_study:falls", laptop_minutes=2.0),
    Entry("one/fig2", "it rises", ("smoke",), "fake_study:rises", judged_in="one/fig1", laptop_minutes=0.35),
    Entry("one/fig3", "it is not built", ("smoke",)),
    Entry("two/fig1", "it stays", ("laptop",), "fake_study:falls", laptop_minutes=0.002),
    Entry("three/fig1", "it is checked", ("smoke",), "fake_study:falls"),
]
MEASURED = {"slope": 0.5}


@pytest.fixture(autouse=True)
def reproduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The scale and the storage with which entries were reproduced; results go to an empty folder.

    Of these one/fig1 has been measured, and its claim says that the slope is one.
    """
    found: list[tuple[Any, ...]] = []

    def falls(scale: str) -> Reproduction:
        found.append((scale, run_storage()))
        curves = sl.Curves({"n_data": [1, 2], "test_error": [0.5, 0.4]}, source="theory")
        return Reproduction(curves, None, (Row("slope", MEASURED["slope"], 0.1, 3, expected=0.5),))

    def rises(scale: str) -> Reproduction:
        raise BadInput("needs a GPU")

    package = fake_study.install(monkeypatch, tmp_path / "site", ENTRIES, falls=falls, rises=rises)
    row = Row("slope", 0.5, 0.1, 30, paper=1.0).record()
    for name, text in {
        "measured/one/fig1.json": json.dumps({"key": "one/fig1", "table": [row]}),
        "claims/one.toml": "[[claim]]\nsays = 'the slope is one'\nentries = ['fig1']\ncause = 'few sizes'\n",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, encoding="utf-8")
    sys.modules[fake_study.NAME].MEASURED = package / "measured"  # type: ignore[attr-defined]
    monkeypatch.chdir(tmp_path)
    return found


def run(*words: str) -> Any:
    return CliRunner(env={"COLUMNS": "140"}).invoke(app, ["reproduce", *words])


def test_the_list_has_a_block_for_each_paper_and_counts_what_has_a_record():
    listed = run("one/").output
    lines = {line.split()[0]: line for line in listed.splitlines() if line.startswith("  ")}
    assert list(lines) == ["one/fig1", "one/fig2", "one/fig3"]
    assert "up to gpu     laptop 2 min" in lines["one/fig1"]
    assert "laptop 21 s " in lines["one/fig2"]
    assert "it rises (judged in one/fig1)" in lines["one/fig2"]
    assert "laptop not built" in lines["one/fig3"]
    assert "1 of 3 measured, 2 without a record; 2 built" in listed
    assert "not measured" not in lines["one/fig1"]
    assert lines["one/fig2"].endswith("(not measured)")
    alone = run("two").output
    assert "laptop 1 s " in alone
    assert "1 of 1 built; there are no records here" in alone
    whole = run("list").output
    assert whole.index("demo/digits") < whole.index("one/fig1") < whole.index("two/fig1")


def test_the_list_of_what_is_missing():
    missing = run("list", "--missing").output
    assert "one/fig2" in missing
    assert "one/fig3" in missing
    assert "  one/fig1" not in missing


def test_claims_are_printed_with_their_verdicts_and_causes():
    said = run("claims", "--paper", "one").output
    assert "disagrees     one/fig1: the slope is one" in said
    assert "few sizes; cause not tested" in said
    first, second = json.loads(run("claims", "--paper", "one", "--json").output)["claims"]
    assert (first["verdict"], first["rows"], first["holding"], first["failing"]) == ("disagrees", 1, 0, 1)
    assert (second["claim"], second["verdict"]) == ("it is not built", "not measured")


def test_the_list_as_a_table(tmp_path: Path):
    run("one", "--out", str(tmp_path / "list.csv"))
    table = pd.read_csv(tmp_path / "list.csv")
    assert table["key"].tolist() == ["one/fig1", "one/fig2", "one/fig3"]
    assert table["built"].tolist() == [True, True, False]
    assert table["measured"].tolist() == [True, False, False]
    entries = json.loads(run("one", "--json").output)["entries"]
    assert [entry["laptop_minutes"] for entry in entries] == [2.0, 0.35, None]


def test_one_entry_is_made_at_scale_laptop_unless_asked_otherwise(reproduced):
    document = json.loads(run("one/fig1", "--json").output)
    assert document["scale"] == "laptop"
    assert document["folder"] == "results/one/fig1/laptop"
    assert [row["quantity"] for row in document["table"]] == ["slope"]
    options = ("--results", "r", "--store", "s", "--only", "CNN", "--only", "ViT", "--minutes", "2")
    assert "key: one/fig1" in run("one/fig1", "--scale", "gpu", *options).output
    assert Path("r/one/fig1/gpu/record.json").exists()
    (first, default), (second, given) = reproduced
    assert (first, default.store, default.only, default.minutes) == (
        "laptop", Path("results/one/runs/laptop"), (), None,
    )  # fmt: skip
    assert (second, given.store, given.only, given.minutes) == ("gpu", Path("s"), ("CNN", "ViT"), 2.0)


def test_a_paper_at_a_scale_makes_what_is_built_and_names_what_cannot_run():
    result = run("one", "--scale", "smoke", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["left_out"] == {"one/fig2": "needs a GPU"}
    assert list(document["tables"]) == ["one/fig1"]
    assert "1/2 one/fig1\n2/2 one/fig2\n    left out: needs a GPU\n" in result.stderr
    assert run("two", "--scale", "laptop").exit_code == 0


@pytest.mark.parametrize("key", ["one", "one/fig1"])
def test_an_interrupted_command_says_that_it_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path, key: str):
    def interrupted(scale: str) -> Reproduction:
        raise KeyboardInterrupt

    fake_study.install(monkeypatch, tmp_path / "another", ENTRIES, falls=interrupted, rises=interrupted)
    result = run(key, "--scale", "smoke")
    assert result.exit_code == 130
    assert "stopped; runs that were stored are kept" in result.stderr


def test_a_check_ends_with_1_where_a_record_differs(monkeypatch: pytest.MonkeyPatch):
    assert "2 records written, 0 differ" in run("check", "--paper", "three", "--write").stdout
    assert "1 records checked, 0 differ" in run("check", "--paper", "three", "--minutes", "0").stdout
    matching = run("check", "--paper", "three")
    assert matching.exit_code == 0
    assert [line.split()[-1] for line in matching.stdout.splitlines()[:2]] == ["matches", "matches"]
    monkeypatch.setitem(MEASURED, "slope", 0.9)
    result = run("check", "--paper", "three", "--out", "check.csv")
    assert result.exit_code == 1
    assert "2 records checked, 1 differ" in result.stdout
    assert pd.read_csv("check.csv")["key"].tolist() == ["three constants", "three/fig1"]
    assert json.loads(run("check", "--paper", "three", "--json").stdout)["differ"] == ["three/fig1"]


@pytest.mark.parametrize(
    ("words", "message"),
    [(["list", "--paper", "one"], "go with 'scalinglab reproduce check'"),
     (["one/fig1", "--missing"], "--missing goes with"), (["list", "--scale", "smoke"], "--scale goes with"),
     (["one", "--scale", "huge"], "no scale 'huge'"), (["two", "--scale", "smoke"], "no entry of two")],
)  # fmt: skip
def test_options_that_do_not_go_together_are_refused(words, message):
    assert message in str(run(*words).exception)
