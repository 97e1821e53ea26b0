"""`scalinglab reproduce check`: smoke records are reproduced and differences are named."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.studies import Entry, Reproduction, Row, check, entries, results
from scalinglab.studies.records import changed_constants, constants, differences, record_file
from scalinglab.studies.registry import papers
from tests import fake_study

ROW = Row("exponent", 0.5, 0.01, 8, paper=0.52, paper_stderr=0.02, resolution=0.05)


def made(*rows: Row) -> Reproduction:
    return Reproduction(sl.Curves({"n_data": [1, 2], "test_loss": [2.0, 1.0]}, source="theory"), None, rows)


def _read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def assert_git(folder: Path, *arguments: str) -> None:
    assert subprocess.run(["git", *arguments], cwd=folder).returncode == 0


def test_every_entry_that_runs_at_smoke_has_a_record():
    known = {key for paper in papers() for key in _read(record_file(paper))["entries"]}
    assert known == {key for key, entry in entries().items() if entry.built and "smoke" in entry.scales}


def test_records_name_the_commit_that_made_them():
    made_by = {
        key: one["commit"] for paper in papers() for key, one in _read(record_file(paper))["entries"].items()
    }
    assert [key for key, commit in made_by.items() if re.fullmatch("[0-9a-f]{10}", commit) is None] == []


def test_a_changed_package_is_marked_and_its_records_are_no_change(tmp_path: Path):
    package, core = tmp_path / "study", tmp_path / "core.py"
    code, kept = package / "figures.py", package / "smoke" / "demo.json"
    kept.parent.mkdir(parents=True)
    for path in (code, kept, core):
        path.write_text("1")
    assert_git(tmp_path, "init", "-q")
    assert_git(tmp_path, "add", ".")
    assert_git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "first")
    clean = results.commit(package)
    assert re.fullmatch("[0-9a-f]{10}", clean)
    kept.write_text('{"a": 1}')
    assert results.commit(package) == clean
    for path in (code, core):
        path.write_text("2")
        assert results.commit(package) == clean + "+"
        path.write_text("1")
    assert results.commit(tmp_path / "site-packages" / "study") is None


@pytest.mark.parametrize(
    "change",
    [{"measured": 0.508}, {"stderr": 0.0135}, {"paper": 0.6}, {"paper_stderr": 0.03}, {"n": 9},
     {"relation": "<"}, {"resolution": 0.0511}],
)  # fmt: skip
def test_a_changed_number_is_named(change: dict):
    (field, now), old = next(iter(change.items())), ROW.record()
    (found,) = differences({"table": [old]}, (replace(ROW, **change),))
    assert found == f"'exponent': {field} was {old[field]} and is {now}"


def test_a_changed_expectation_is_named():
    row = Row("exponent", 0.5, 0.01, 8, expected=0.52)
    assert differences({"table": [row.record()]}, (replace(row, expected=0.535),))
    assert differences({"table": [row.record()]}, (replace(row, expected=0.525),)) == ()


def test_rows_that_came_and_went_are_named():
    found = differences({"table": [ROW.record()]}, (replace(ROW, quantity="another"),))
    assert found == ("'exponent' is in the record only", "'another' is not in the record")


def test_rounding_and_less_than_half_a_standard_error_match():
    known = {"table": [ROW.record()]}
    assert differences(known, (ROW,)) == ()
    assert differences(known, (replace(ROW, measured=0.507),)) == ()  # 0.49 combined standard errors
    assert differences(known, (replace(ROW, stderr=0.0129),)) == ()
    exact = Row("x", 1.0, 1e-9, paper=1.0)
    known = {"table": [exact.record()]}
    assert differences(known, (replace(exact, measured=1.0 + 9e-7, stderr=9e-7),)) == ()
    assert differences(known, (replace(exact, measured=1.000002),))
    assert differences(known, (replace(exact, stderr=2e-6),))


def test_numbers_of_data_that_differ_between_machines_match_within_three_standard_errors():
    known = {"table": [ROW.record()]}
    assert differences(known, (replace(ROW, measured=0.54, stderr=0.02),), local_data=True) == ()
    assert differences(known, (replace(ROW, measured=0.55),), local_data=True)


def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *rows: Row) -> Path:
    sys.modules.pop("fake_study.paper", None)  # of an earlier study
    entry = Entry("paper/fig1", "a claim", scales=("smoke",), make="fake_study:make")
    return fake_study.install(monkeypatch, tmp_path, [entry], make=lambda scale: made(*rows))


def test_records_are_written_and_then_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    package = study(tmp_path, monkeypatch, ROW)
    (package / "paper.py").write_text("RATE = 0.1\nsizes = (1, 2)\n")
    missing = [one.differences for one in check("paper")]
    assert missing[0] == ("paper.RATE is not what the records were made with",)
    assert missing[1] == ("there is no record of it: scalinglab reproduce check --write writes one",)
    assert [one.differences for one in check("paper", write=True)] == [(), ()]
    assert (package / "smoke" / "paper.json").exists()
    found = [(one.key, one.rows, one.differences) for one in check("paper")]
    assert found == [("paper constants", 1, ()), ("paper/fig1", 1, ())]


@pytest.mark.parametrize(
    ("before", "after"),
    [("0.1", "0.2"), ("(1, 2)", "(1, 3)"), ("{'a': [1.0]}", "{'a': [2.0]}"), ("'x'", "'y'"),
     ("Scale(1, 2)", "Scale(1, 3)"), ("np.array([1.0, 2.0])", "np.array([1.0, 2.5])"),
     ("{'a': Scale(1, np.ones(2))}", "{'a': Scale(1, np.ones(3))}")],
)  # fmt: skip
def test_a_changed_constant_is_named(
    before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    head = "import numpy as np\nfrom typing import NamedTuple\nfrom dataclasses import dataclass\n"
    head += "@dataclass\nclass Scale:\n    n: int\n    m: object\n"
    digests = []
    for place, value in enumerate((before, before, after)):
        package = study(tmp_path / str(place), monkeypatch, ROW)
        (package / "paper.py").write_text(f"{head}TABLE = {value}\n")
        digests.append(constants("paper")["paper.TABLE"])
    assert digests[0] == digests[1] != digests[2]


def test_a_changed_claim_in_a_call_is_named_and_its_place_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    codes = (
        "def one():\n    row(paper=1.0)\n\ndef two():\n    row(1, expected=0.5 * x, relation='<')\n",
        "def two():\n    row(2, expected=0.5 * y, relation='<')\n\ndef one():\n    row(paper=1.0)\n",
        "def one():\n    row(paper=1.1)\n\ndef two():\n    row(1, expected=0.5 * x, relation='<')\n",
        "def one():\n    row(paper=1.0)\n\ndef two():\n    row(1, expected=0.5 * x, relation='>')\n",
    )
    found = []
    for place, code in enumerate(codes):
        package = study(tmp_path / str(place), monkeypatch, ROW)
        (package / "paper.py").write_text(code)
        found.append(constants("paper"))
    assert changed_constants(found[0], found[1]) == ()
    for other in found[2:]:
        assert changed_constants(found[0], other) == ("paper claims is not what the records were made with",)


@pytest.mark.parametrize(
    "after",
    ["sizes = {'smoke': 8, 'gpu': 512}[scale] - 1", "sizes = {'smoke': 8, 'gpu': 256}[scale] * 1.5",
     "sizes = {'smoke': 8, 'gpu': 256}[scale] - 2", "sizes = train(scale, rate=0.1)",
     "sizes = {'smoke': 8, 'gpu': 256}[scale] - 1 if scale > 2 else None",
     "sizes = train({'smoke': 8, 'gpu': 256}[scale] - 1, depth=2)"],
)  # fmt: skip
def test_a_changed_number_in_a_function_is_named_and_its_place_and_looks_are_none(
    after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = "sizes = {'smoke': 8, 'gpu': 256}[scale] - 1"
    moved = "def other(axis):\n    axis.legend(ncols=4)\n\n" + f"def fig(scale):\n    {before}\n"
    found = []
    for place, code in enumerate(
        (f"def fig(scale):\n    {before}\n", moved, f"def fig(scale):\n    {after}\n")
    ):
        package = study(tmp_path / str(place), monkeypatch, ROW)
        (package / "paper.py").write_text(code)
        found.append(constants("paper"))
    assert changed_constants(found[0], found[1]) == ()
    assert changed_constants(found[0], found[2]) == ("paper numbers is not what the records were made with",)


def test_constants_of_the_papers_are_those_of_their_records():
    """Numbers of the papers, rules and all scales: what scale smoke does not reach, too."""
    for paper in papers():
        assert changed_constants(_read(record_file(paper))["constants"], constants(paper)) == (), paper


@pytest.mark.parametrize("key", [
    "bordelon2024/fig4c", "damico2025/fig5", "damico2025/talk-bottlenecks",
    "field/hyperparameters", "field/mixtures", "park2019/table1", "park2019/table2", "park2019/table3",
    "theory/phase-boundaries", "theory/quanta",
])  # fmt: skip
def test_the_quickest_entries_are_their_records(key: str):
    """The others with the records themselves, beside the slow tests."""
    known = _read(record_file(key.split("/")[0]))["entries"][key]
    assert differences(known, results.run(key, "smoke")[0].table, entries()[key].local_data) == ()


def test_an_unknown_paper_is_named():
    with pytest.raises(BadInput, match="nobody2030"):
        list(check("nobody2030"))


def test_of_limited_minutes_the_quickest_entries_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sys.modules.pop("fake_study.paper", None)
    given = [Entry(f"paper/{name}", "a claim", scales=("smoke",), make="fake_study:make") for name in "abc"]
    package = fake_study.install(monkeypatch, tmp_path, given, make=lambda scale: made(ROW))
    list(check("paper", write=True))
    kept = package / "smoke" / "paper.json"
    document = _read(kept)
    for name, seconds in (("a", 9.0), ("b", 1.0), ("c", 5.0)):
        document["entries"][f"paper/{name}"]["seconds"] = seconds
    kept.write_text(json.dumps(document), encoding="utf-8")
    assert [one.key for one in check("paper")][1:] == ["paper/a", "paper/b", "paper/c"]
    assert [one.key for one in check("paper", minutes=10)][1:] == ["paper/b", "paper/c", "paper/a"]
    assert [one.key for one in check("paper", minutes=0.11)][1:] == ["paper/b", "paper/c"]  # 9 s is more
    assert [one.key for one in check("paper", minutes=0.05)][1:] == ["paper/b"]
    assert [one.key for one in check("paper", minutes=0)][1:] == []
