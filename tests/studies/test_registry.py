"""The registry of reproductions: found by entry points, complete, loadable, and stored whole."""

import json
import sys
from pathlib import Path

import pytest

import scalinglab as sl
from scalinglab.errors import BadInput, MissingExtra
from scalinglab.studies import SCALES, Entry, Reproduction, Row, entries, entry, results
from scalinglab.studies.registry import papers
from tests import fake_study

ENTRIES = entries()
SMOKE = Entry("paper/fig1", "a claim", scales=("smoke",), make="fake_study:make")


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


def test_what_is_built_has_a_function_and_known_scales():
    for one in (one for one in ENTRIES.values() if one.built):
        assert callable(one.function()), one.key
        assert set(one.scales) <= set(SCALES), one.key
        assert one.scales, one.key


def test_an_entry_that_is_not_built_says_so():
    with pytest.raises(BadInput, match="not built yet"):
        Entry("paper/fig1", "a claim").function()


def test_an_installed_package_adds_its_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = Reproduction(sl.Curves({"n_data": [1, 2], "test_error": [0.5, 0.4]}), None, ())
    fake_study.install(monkeypatch, tmp_path, [SMOKE], make=lambda scale: made)
    assert papers()[-1] == "paper"
    assert entry("paper/fig1") == SMOKE
    assert results.run("paper/fig1", "smoke")[0] is made
    with pytest.raises(BadInput, match=r"is a paper: .* paper/fig1"):
        entry("paper")
    with pytest.raises(BadInput, match="paper/fig1"):
        entry("paper/fig2")


def test_an_entry_that_another_package_has_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_study.install(monkeypatch, tmp_path, [Entry("demo/digits", "another claim")])
    with pytest.raises(BadInput, match=r"demo/digits.*fake_study"):
        entries()


def test_a_reproduction_is_written_whole_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    curves = sl.Curves({"n_data": [10, 100], "test_error": [0.5, 0.25]}, source="theory")
    row = Row("exponent", 0.301, 0.002, 5, paper=0.3)
    made = Reproduction(curves, None, (row, Row("elbow", None, paper=7.0)))
    fake_study.install(monkeypatch, tmp_path / "site", [SMOKE], make=lambda scale: made)
    results.reproduce("paper/fig1", "smoke", tmp_path)
    folder = tmp_path / "paper" / "fig1" / "smoke"
    record = json.loads((folder / "record.json").read_text())
    assert record["command"] == "scalinglab reproduce paper/fig1 --scale smoke"
    assert record["table"][0]["measured"] == 0.301
    assert record["table"][0]["verdict"] == "agrees"
    assert record["date"]
    assert record["hardware"]
    assert record["commit"] is None  # the package lies in no repository
    table = (folder / "table.md").read_text()
    assert "| exponent | 0.3 | 0.3010 ± 0.0020 | 5 | agrees |" in table
    assert "| elbow | 7 | – | – | cannot tell |" in table
    assert len(sl.read(folder)) == 2


@pytest.mark.parametrize("scale", ["enormous", "gpu"])
def test_a_scale_that_a_figure_does_not_have_is_refused(
    scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fake_study.install(monkeypatch, tmp_path, [SMOKE])
    with pytest.raises(BadInput, match=scale):
        results.reproduce("paper/fig1", scale, tmp_path)


def test_an_entry_that_trains_says_what_to_install_where_pytorch_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "torch", None)

    def make(scale: str) -> Reproduction:
        import torch

        raise AssertionError(torch)

    fake_study.install(monkeypatch, tmp_path, [SMOKE], make=make)
    with pytest.raises(MissingExtra, match=r"paper/fig1.*'torch'.*scalinglab\[train\]"):
        results.run("paper/fig1", "smoke")
