"""Runs behind the figures: trained once, kept in one store for each paper and scale."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("torch")

import scalinglab as sl
from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.store import Store
from scalinglab.store.record import Record
from scalinglab.studies import Entry, Reproduction, Row, results, trained
from tests import fake_study

SETTING = {
    "model": "mlp", "dataset": "digits", "n_data": 32, "steps": 3, "model_options": {"hidden": 4},
    "measure": (), "test_size": 20,
}  # fmt: skip


def test_what_the_store_holds_is_not_trained_again(tmp_path: Path):
    settings = [{**SETTING, "seed": seed} for seed in (0, 1)]
    with trained.storing_in(tmp_path):
        first = trained.runs(settings[:1], "fig")
        whole = trained.runs(settings, "fig")
    assert set(first.runs) < set(whole.runs)
    ended = {run: record.finished for run, record in Store(tmp_path).records().items()}
    assert set(ended) == set(whole.runs)
    with trained.storing_in(tmp_path):
        again = trained.runs(settings, "fig")
    assert {run: record.finished for run, record in Store(tmp_path).records().items()} == ended
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
    with trained.storing_in(table):
        one = trained.runs(settings[1:], "fig")
        with pytest.raises(BadInput, match="2 of the 3 runs"):
            trained.runs([*settings, {**SETTING, "seed": 2}], "fig")
    assert one.frame["seed"].unique().tolist() == [1]
    assert one.frame["test_loss"].to_list() == whole.select(seed=1).frame["test_loss"].to_list()


def test_reproduce_keeps_runs_beside_the_figures_of_a_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def make(scale: str) -> Reproduction:
        return Reproduction(trained.runs([SETTING], "fig"), None, (Row("loss", 1.0),))

    entry = Entry("paper/fig", "a claim", scales=("smoke",), make="fake_study:make")
    fake_study.install(monkeypatch, tmp_path / "site", [entry], make=make)
    results.reproduce("paper/fig", "smoke", tmp_path)
    assert len(sl.read(tmp_path / "paper" / "runs" / "smoke").runs) == 1


def test_the_time_of_training_counts_overlapping_runs_once(tmp_path: Path):
    settings = [{**SETTING, "seed": seed} for seed in (0, 1)]
    with trained.storing_in(tmp_path):
        curves = trained.runs(settings, "fig")
        found = trained.training(curves)
        records = Store(tmp_path).records().values()
    assert found is not None
    assert (found.runs, found.gpus) == (2, ())
    longest = max(r.finished for r in records) - min(r.started for r in records)
    assert 0 < found.seconds <= longest
    assert found.seconds >= max(r.finished - r.started for r in records)
    with trained.storing_in(tmp_path / "empty"):
        assert trained.training(curves) is None


def test_runs_behind_a_figure_count_without_being_in_its_table(tmp_path: Path):
    with trained.storing_in(tmp_path):
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

    with trained.storing_in(tmp_path):
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
    with trained.storing_in(table):
        assert results.trained_on(made) == ""
        table.with_suffix(".toml").write_text('gpu = "NVIDIA H200"')
        assert results.trained_on(made) == " (runs: NVIDIA H200)"
        table.with_suffix(".toml").write_text('host = "two cores"')
        assert results.trained_on(made) == " (runs: two cores)"


def records(spans: list[tuple[float, float]], **meta: str) -> list[Record]:
    return [Record(str(k), started=a, finished=b, meta=meta) for k, (a, b) in enumerate(spans)]


def test_a_run_that_lay_still_does_not_count_into_the_time():
    spans = [(10.0 * k + 1, 10.0 * k + 11) for k in range(9)] + [(1.0, 4001.0), (31.0, 76.0)]
    found = trained.training_of(records(spans))
    assert (found.runs, found.seconds) == (11, 90.0)


def test_rows_that_come_at_once_count_the_time_of_the_first():
    found = trained.training_of(records([(1.0, 51.0)] + 19 * [(51.0, 51.001)]))  # a stack of twenty
    assert found.seconds == pytest.approx(50.0, abs=0.01)


def test_a_run_that_was_interrupted_does_not_count_its_pause():
    spans = [(6.0, 13.0), (20.0, 30.0), *[(30.0, 31.0)] * 17, (40.0, 40_000.0)]
    found = trained.training_of([*records([(1.0, 11.0)]), *records(spans, gpu="H200")])
    assert found == trained.Training(21, 23.0, ("CPU", "H200"))  # 1 to 13, 20 to 31
