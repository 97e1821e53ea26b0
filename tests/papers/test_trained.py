"""Runs behind the figures: trained once, kept in one store for each paper and scale."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

import scalinglab as sl
from scalinglab.papers import Entry, Reproduction, Row, trained
from scalinglab.papers import results as kept
from scalinglab.store import Store

SETTING = {
    "model": "mlp", "dataset": "digits", "n_data": 32, "steps": 3, "model_options": {"hidden": 4},
    "measure": (), "test_size": 20,
}  # fmt: skip


def test_what_the_store_holds_is_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    settings = [{**SETTING, "seed": seed} for seed in (0, 1)]
    with trained.kept_in(tmp_path):
        first = trained.runs(settings[:1], "fig")
        whole = trained.runs(settings, "fig")
    assert set(first.runs) < set(whole.runs)
    assert set(Store(tmp_path).records()) == set(whole.runs)
    from scalinglab.train import engine

    monkeypatch.setattr(engine, "Job", None)  # nothing is left to train
    with trained.kept_in(tmp_path):
        again = trained.runs(settings, "fig")
    assert again.frame["test_loss"].to_list() == whole.frame["test_loss"].to_list()


def test_without_a_store_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert len(trained.runs([SETTING], "fig").runs) == 1
    assert not list(tmp_path.iterdir())


def test_reproduce_keeps_runs_beside_the_figures_of_a_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def make(scale: str) -> Reproduction:
        return Reproduction(trained.runs([SETTING], "fig"), None, (Row("loss", 1.0),))

    entry = Entry("demo/fake", "a claim", scales=("smoke",), make="unused:unused")
    monkeypatch.setattr(Entry, "function", lambda self: make)
    monkeypatch.setattr(kept, "entry", lambda key: entry)
    kept.reproduce("demo/fake", "smoke", tmp_path)
    assert len(sl.read(tmp_path / "demo" / "runs" / "smoke").runs) == 1
