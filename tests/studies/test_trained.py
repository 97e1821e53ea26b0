"""Runs behind the figures: trained once, kept in one store for each paper and scale."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("torch")

import scalinglab as sl
from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.store import Store
from scalinglab.store.record import Record
from scalinglab.studies import Entry, Reproduction, Row, trained
from scalinglab.studies import results as kept

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


def test_runs_are_read_from_a_table_of_curves_or_named_as_missing(tmp_path: Path):
    settings = [{**SETTING, "seed": seed} for seed in (0, 1)]
    table = tmp_path / "curves.parquet"
    whole = trained.runs(settings, "fig")
    whole.write(table)
    with trained.kept_in(table):
        one = trained.runs(settings[1:], "fig")
        with pytest.raises(BadInput, match="2 of the 3 runs"):
            trained.runs([*settings, {**SETTING, "seed": 2}], "fig")
    assert one.frame["seed"].unique().tolist() == [1]
    assert one.frame["test_loss"].to_list() == whole.select(seed=1).frame["test_loss"].to_list()


def test_reproduce_keeps_runs_beside_the_figures_of_a_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def make(scale: str) -> Reproduction:
        return Reproduction(trained.runs([SETTING], "fig"), None, (Row("loss", 1.0),))

    entry = Entry("demo/fake", "a claim", scales=("smoke",), make="unused:unused")
    monkeypatch.setattr(Entry, "function", lambda self: make)
    monkeypatch.setattr(kept, "entry", lambda key: entry)
    kept.reproduce("demo/fake", "smoke", tmp_path)
    assert len(sl.read(tmp_path / "demo" / "runs" / "smoke").runs) == 1


def test_the_time_of_training_counts_overlapping_runs_once(tmp_path: Path):
    settings = [{**SETTING, "seed": seed} for seed in (0, 1)]
    with trained.kept_in(tmp_path):
        curves = trained.runs(settings, "fig")
        found = trained.training(curves)
        records = Store(tmp_path).records().values()
    assert found is not None
    assert (found.runs, found.gpus) == (2, ())
    longest = max(r.finished for r in records) - min(r.started for r in records)
    assert 0 < found.seconds <= longest
    assert found.seconds >= max(r.finished - r.started for r in records)
    with trained.kept_in(tmp_path / "empty"):
        assert trained.training(curves) is None


def test_runs_behind_a_figure_count_without_being_in_its_table(tmp_path: Path):
    with trained.kept_in(tmp_path):
        trained.runs([SETTING], "fig")
        found = trained.training(Curves(pd.DataFrame({"model": ["mlp"], "test_loss": [1.0]}), source="train"))
    assert found is not None
    assert found.runs == 1


def test_rows_that_are_measured_are_kept_one_by_one(tmp_path: Path):
    settings = [{"model": "x", "seed": seed} for seed in range(3)]

    def measure(left: Sequence[Mapping[str, Any]]) -> Iterator[list[dict[str, float]]]:
        for one in left:
            if one["seed"] == 2 and len(left) == 3:
                raise KeyboardInterrupt
            yield [{"step": step, "test_loss": float(len(left))} for step in (1, 2)]

    with trained.kept_in(tmp_path):
        with pytest.raises(KeyboardInterrupt):
            trained.measured(settings, "fig", measure)
        found = trained.measured(settings, "fig", measure).frame.sort_values(["seed", "step"])
    assert found["test_loss"].tolist() == [3.0, 3.0, 3.0, 3.0, 1.0, 1.0]
    in_memory = trained.measured(settings[:2], "fig", measure)
    assert sorted(in_memory.runs) == sorted(found["run"].unique()[:2])


def test_the_record_of_a_table_of_curves_names_the_gpu_that_trained_it(tmp_path: Path):
    made = Reproduction(sl.Curves({"n_data": [1], "test_error": [0.5]}), None, ())
    table = tmp_path / "gpu.parquet"
    made.curves.write(table)
    with trained.kept_in(table):
        assert kept.trained_on(made) == ""
        table.with_suffix(".toml").write_text('gpu = "NVIDIA H200"')
        assert kept.trained_on(made) == " (runs: NVIDIA H200)"
        table.with_suffix(".toml").write_text('host = "two cores"')
        assert kept.trained_on(made) == " (runs: two cores)"


def test_a_run_that_lay_still_does_not_count_into_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    spans = [(10.0 * k, 10.0 * k + 10) for k in range(9)] + [(0.0, 4000.0), (30.0, 75.0)]
    records = {str(k): Record(str(k), started=1 + a, finished=1 + b) for k, (a, b) in enumerate(spans)}
    monkeypatch.setattr(Store, "records", lambda self: records)
    frame = pd.DataFrame({"run": list(records), "model": "mlp", "test_loss": 1.0})
    with trained.kept_in(tmp_path):
        found = trained.training(Curves(frame, source="train"))
    assert found is not None
    assert (found.runs, found.seconds) == (11, 90.0)


def test_rows_that_come_at_once_count_the_time_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    spans = [(1.0, 51.0)] + 19 * [(51.0, 51.001)]  # a stack of twenty
    records = {str(k): Record(str(k), started=a, finished=b) for k, (a, b) in enumerate(spans)}
    monkeypatch.setattr(Store, "records", lambda self: records)
    frame = pd.DataFrame({"run": list(records), "model": "mlp", "test_loss": 1.0})
    with trained.kept_in(tmp_path):
        found = trained.training(Curves(frame, source="train"))
    assert found is not None
    assert found.seconds == pytest.approx(50.0, abs=0.01)


def test_a_run_that_was_interrupted_does_not_count_its_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    spans = [(1.0, 11.0), (6.0, 13.0), (20.0, 30.0), *[(30.0, 31.0)] * 17, (40.0, 40_000.0)]
    records = {
        str(k): SimpleNamespace(started=start, finished=end, meta={"gpu": "H200" if k else None})
        for k, (start, end) in enumerate(spans)
    }
    monkeypatch.setattr(Store, "records", lambda self: records)
    Store(tmp_path)
    curves = SimpleNamespace(runs=list(records))
    with trained.kept_in(tmp_path):
        found = trained.training(curves)
    assert found == trained.Training(21, 23.0, ("CPU", "H200"))  # 1 to 13, 20 to 31
