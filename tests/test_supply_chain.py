"""The release check of what is installed beside this package: it passes here, and notices every fault."""

import importlib
import json
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[1] / "tools"


@pytest.fixture
def supply_chain(monkeypatch, tmp_path):
    """The tool, on copies of its files."""
    monkeypatch.syspath_prepend(str(TOOLS))
    monkeypatch.delitem(sys.modules, "supply_chain", raising=False)
    tool = importlib.import_module("supply_chain")
    for name in ("LOCK", "BILL", "CONSTRAINTS"):
        copy = tmp_path / getattr(tool, name).name
        copy.write_bytes(getattr(tool, name).read_bytes())
        monkeypatch.setattr(tool, name, copy)
    return tool


def test_everything_is_locked_by_hash_and_every_licence_is_allowed(supply_chain):
    assert supply_chain.problems() == []
    locked = supply_chain.pins(supply_chain.LOCK.read_text())
    asked = supply_chain.tomllib.loads((TOOLS.parent / "pyproject.toml").read_text())["project"][
        "dependencies"
    ]
    assert {supply_chain.name_of(text.partition(">")[0]) for text in asked} <= set(locked)
    assert len(locked) > 150


FIRST = '"expression": "Apache-2.0"'


FAULTS = (
    # file, what is replaced, by what, what is told
        ("LOCK", "numpy==", "numpy==9", "numpy: "),
        ("LOCK", "    --hash=sha256:", "    --hash=md5:", "has no hash"),
        ("LOCK", "\n", "\n--index-url https://index.example/simple\n", "names a host or a path"),
        ("LOCK", "\n", "\nleft-pad==1.0 \\\n    --hash=sha256:" + "0" * 64 + "\n", "without a version in"),
        ("BILL", '"version": "2', '"version": "99.2', "is not the same in bill-of-materials"),
        ("BILL", FIRST, FIRST.replace("Apache-2.0", "AGPL-3.0-only"), "'AGPL-3.0-only' is not one of"),
        ("CONSTRAINTS", "scipy==", "scipy==9", "scipy: "),
)  # fmt: skip


def test_every_fault_is_told(supply_chain):
    for file, old, new, _ in FAULTS:
        path = getattr(supply_chain, file)
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
    problems = supply_chain.problems()
    assert [told for *_, told in FAULTS if not any(told in problem for problem in problems)] == []


def test_a_package_that_no_one_asks_for_says_who_needs_it(supply_chain):
    assert "# needed by wandb" in supply_chain.LOCK.read_text()
    names = [c["name"] for c in json.loads(supply_chain.BILL.read_text())["components"]]
    assert "cwevals" in names


def test_licences_in_a_packages_own_words_are_read(supply_chain):
    mit = {"license": "Copyright somebody", "classifier": ["License :: OSI Approved :: MIT License"]}
    assert supply_chain.licence(mit) == "MIT"
    assert supply_chain.licence({"license_expression": "GPL-3.0 AND MIT"}) == "GPL-3.0 AND MIT"
    assert supply_chain.licence({"license": "All rights reserved"}) == ""
    assert not supply_chain.acceptable("GPL-3.0 AND MIT")
