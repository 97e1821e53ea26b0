"""`scalinglab reproduce check`: smoke records are reproduced and differences are named."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.studies import Entry, Reproduction, Row, check, entries, results
from scalinglab.studies import records as module
from scalinglab.studies.records import differences, record_file
from scalinglab.studies.registry import papers

ROW = Row("exponent", 0.5, 0.01, 8, paper=0.52, paper_stderr=0.02)


def made(*rows: Row) -> Reproduction:
    return Reproduction(sl.Curves({"n_data": [1, 2], "test_loss": [2.0, 1.0]}, source="theory"), None, rows)


def _read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def assert_git(folder: Path, *arguments: str) -> None:
    assert subprocess.run(["git", *arguments], cwd=folder).returncode == 0


def test_every_entry_that_runs_at_smoke_has_a_record():
    known = {key for paper in papers() for key in _read(record_file(paper))}
    assert known == {key for key, entry in entries().items() if entry.built and "smoke" in entry.scales}


def test_records_name_the_commit_that_made_them():
    made_by = {key: one["commit"] for paper in papers() for key, one in _read(record_file(paper)).items()}
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
    ("now", "message"),
    [
        (replace(ROW, measured=0.6), "measured was 0.5"),
        (replace(ROW, paper=0.6), "paper was 0.52"),
        (replace(ROW, n=9), "n was 8"),
        (replace(ROW, quantity="another"), "in the record only"),
    ],
)
def test_a_changed_row_is_named(now: Row, message: str):
    assert any(message in text for text in differences({"table": [ROW.record()]}, (now,)))


def test_rounding_and_less_than_three_standard_errors_match():
    known = {"table": [ROW.record()]}
    assert differences(known, (ROW,)) == ()
    assert differences(known, (replace(ROW, measured=0.5 + 3e-7, stderr=0.0),)) == ()
    assert differences(known, (replace(ROW, measured=0.54),)) == ()  # 2.8 combined standard errors
    exact = Row("x", 1.0, 1e-9, paper=1.0)
    assert differences({"table": [exact.record()]}, (replace(exact, measured=1.0001),))


def test_records_are_written_and_then_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    entry = Entry("demo/fake", "a claim", scales=("smoke",), make="unused:unused")
    monkeypatch.setattr(module, "runnable", lambda paper: [entry])
    monkeypatch.setattr(module, "run", lambda key, scale: (made(ROW), 0.1))
    monkeypatch.setattr(module, "record", lambda made, *_: {"table": [row.record() for row in made.table]})
    assert [one.differences for one in check("demo", records=tmp_path)] == [
        ("there is no record of it: scalinglab reproduce check --write writes one",)
    ]
    assert [one.differences for one in check("demo", write=True, records=tmp_path)] == [()]
    assert [(one.key, one.rows, one.differences) for one in check("demo", records=tmp_path)] == [
        ("demo/fake", 1, ())
    ]


def test_an_unknown_paper_is_named():
    with pytest.raises(BadInput, match="nobody2030"):
        list(check("nobody2030"))
