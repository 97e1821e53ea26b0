"""The registry of reproductions: complete, loadable, and kept whole on disk."""

import importlib
import json
import sys
from pathlib import Path

import pytest

import scalinglab as sl
from scalinglab.errors import BadInput, MissingExtra
from scalinglab.studies import SCALES, Entry, Reproduction, Row, entries
from scalinglab.studies import results as kept

ENTRIES = entries()


def test_every_figure_of_the_papers_is_listed():
    for key in ("damico2025/fig9", "bahri2021/figS8", "bordelon2024/fig9d", "park2019/fig17", "demo/digits"):
        assert key in ENTRIES
    for key in ("hestness", "rosenfeld", "kaplan", "hoffmann", "weight-decay", "sgd", "norms"):
        assert f"damico2025/talk-{key}" in ENTRIES
    for key in ("theorem1", "theorem2", "fig5-left", "fig5-right", "fig1-top-left"):
        assert f"bahri2021/{key}" in ENTRIES
    assert {"bordelon2024/fig1a", "bordelon2024/fig1d", "park2019/critical-width"} <= ENTRIES.keys()


def test_numbers_are_judged_in_an_entry_that_is_built():
    judged = {entry.judged_in for entry in ENTRIES.values() if entry.judged_in}
    assert judged
    assert all(ENTRIES[key].built for key in judged)


@pytest.mark.parametrize("key", [key for key, entry in ENTRIES.items() if entry.built])
def test_what_is_built_has_a_function_and_known_scales(key: str):
    entry = ENTRIES[key]
    module, name = str(entry.make).split(":")
    assert callable(getattr(importlib.import_module(module), name))
    assert entry.scales
    assert set(entry.scales) <= set(SCALES)


def test_an_entry_that_is_not_built_says_so():
    with pytest.raises(BadInput, match="not built yet"):
        Entry("paper/fig1", "a claim").function()


def test_a_reproduction_is_kept_whole_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    curves = sl.Curves({"n_data": [10, 100], "test_error": [0.5, 0.25]}, source="theory")
    row = Row("exponent", 0.301, 0.002, 5, paper=0.3)
    made = Reproduction(curves, None, (row, Row("elbow", None, paper=7.0)))
    entry = Entry("demo/fake", "a claim", scales=("smoke",), make="unused:unused")
    monkeypatch.setattr(Entry, "function", lambda self: lambda scale: made)
    monkeypatch.setattr(kept, "entry", lambda key: entry)
    kept.reproduce("demo/fake", "smoke", tmp_path)
    folder = tmp_path / "demo" / "fake" / "smoke"
    record = json.loads((folder / "record.json").read_text())
    assert record["command"] == "scalinglab reproduce demo/fake --scale smoke"
    assert record["table"][0]["measured"] == 0.301
    assert record["table"][0]["verdict"] == "agrees"
    assert record["date"]
    assert record["hardware"]
    assert "commit" in record
    table = (folder / "table.md").read_text()
    assert "| exponent | 0.3 | 0.3010 ± 0.0020 | 5 | agrees |" in table
    assert "| elbow | 7 | – | – | cannot tell |" in table
    assert len(sl.read(folder)) == 2


def test_a_scale_that_a_figure_does_not_have_is_refused(tmp_path: Path):
    built = next(entry for entry in ENTRIES.values() if entry.built)
    with pytest.raises(BadInput, match="enormous"):
        kept.reproduce(built.key, "enormous", tmp_path)


def test_an_entry_that_trains_says_what_to_install_where_pytorch_is_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)

    def make(scale: str) -> Reproduction:
        import torch

        raise AssertionError(torch)

    monkeypatch.setattr(Entry, "function", lambda self: make)
    with pytest.raises(MissingExtra, match=r"demo/digits needs the package 'torch'.*scalinglab\[train\]"):
        kept.run("demo/digits", "smoke")
