"""``scalinglab laws schedule``: what goes into the fit and what comes out, with a law that is known."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.laws import schedule


class Known:
    """Loss 2 + rate whatever came before, known to 0.1."""

    misfit = 0.001

    @property
    def parameters(self) -> dict[str, float]:
        return {"L0": 2.0}

    def predict(self, plan: schedule.Schedule, steps: Any) -> np.ndarray:
        return 2 + np.interp(np.asarray(steps, float), plan.step, plan.rate)

    def interval(self, plan: schedule.Schedule, steps: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.predict(plan, steps) - 0.1, self.predict(plan, steps) + 0.1

    def best_schedule(self, steps: float, warmup: float) -> schedule.Schedule:
        return schedule.Schedule(np.array([warmup, 50.0, 100.0, steps]), np.array([0.4, 0.3, 0.2, 0.01]))

    def summary(self) -> str:
        return "a known law"


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What was fitted; two runs lie in the working folder, one with other names and without a loss."""
    seen: list[Any] = []

    def fit(runs: Any) -> Known:
        seen.append(runs)
        return Known()

    monkeypatch.setattr(schedule, "fit", fit)
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"step": [10, 20, 30], "lr": [0.4, 0.2, 0.1], "loss": [2.5, 2.3, 2.0]})
    frame.to_csv("cosine.csv", index=False)
    frame.assign(loss=[2.5, np.nan, 2.0]).set_axis(
        ["iteration", "learning_rate", "train_loss"], axis=1
    ).to_csv("other.csv", index=False)
    return seen


def run(*words: str) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["laws", "schedule", *words], catch_exceptions=False)


def test_runs_go_into_the_fit_with_their_schedules_under_any_names(fits):
    run("cosine.csv", "other.csv", "--warmup", "5")
    (runs,) = fits
    assert [list(steps) for _, steps, _ in runs] == [[10, 20, 30], [10, 30]]
    assert [list(losses) for _, _, losses in runs] == [[2.5, 2.3, 2.0], [2.5, 2.0]]
    plan = runs[0][0]
    assert np.interp([5, 10, 20], plan.step, plan.rate) == pytest.approx([0.4, 0.4, 0.2])
    pd.read_csv("cosine.csv").assign(run="first").to_csv("in_a_run.csv", index=False)
    run("in_a_run.csv")
    ((plan, _, _),) = fits.pop()
    assert np.interp([10, 20, 30], plan.step, plan.rate) == pytest.approx([0.4, 0.2, 0.1])
    frame = pd.read_csv("cosine.csv").set_axis(["step", "eta", "nll"], axis=1)
    frame.to_csv("named.csv", index=False)
    run("named.csv", "--column", "lr=eta", "--column", "loss=nll")
    ((plan, _, losses),) = fits[1]
    assert (plan.rate.max(), list(losses)) == (0.4, [2.5, 2.3, 2.0])


def test_runs_of_one_table_or_folder_are_fitted_and_predicted_each_with_its_schedule(fits, tmp_path: Path):
    one = pd.read_csv("cosine.csv")
    both = pd.concat([one.assign(run="a"), one.assign(run="b", lr=[0.4, 0.4, 0.1], loss=[2.6, 2.4, 2.1])])
    both.to_csv("both.csv", index=False)
    said = run("both.csv", "--predict", "both.csv").output
    (runs,) = fits
    assert [list(losses) for _, _, losses in runs] == [[2.5, 2.3, 2.0], [2.6, 2.4, 2.1]]
    assert [float(plan(20)) for plan, _, _ in runs] == pytest.approx([0.2, 0.4])
    assert "a: ends at 2.1000" in said
    assert "b: ends at 2.1000" in said
    (tmp_path / "logs").mkdir()
    for name in "ab":
        both[both.run == name].drop(columns="run").to_csv(tmp_path / "logs" / f"{name}.csv", index=False)
    run("logs")
    assert [list(losses) for _, _, losses in fits[1]] == [[2.5, 2.3, 2.0], [2.6, 2.4, 2.1]]


def test_predictions_are_compared_with_what_was_measured(fits, tmp_path: Path):
    said = run("cosine.csv", "--predict", "cosine.csv", "--out", "table.csv").output
    assert "cosine: ends at 2.1000, 95 % [2.0000, 2.2000]; mean absolute error 0.10000" in said
    table = pd.read_csv("table.csv")
    assert table["loss"].tolist() == pytest.approx([2.4, 2.2, 2.1])
    assert table["run"].unique().tolist() == ["cosine"]
    pd.read_csv("cosine.csv").drop(columns="loss").to_csv("plan.csv", index=False)
    said = run("cosine.csv", "--predict", "plan.csv").output
    assert "plan: ends at 2.1000" in said
    assert "mean absolute error" not in said
    document = json.loads(run("cosine.csv", "--predict", "plan.csv", "--json").output)
    assert [row["step"] for row in document["predictions"]] == [10, 20, 30]
    assert (document["parameters"], document["misfit"]) == ({"L0": 2.0}, 0.001)


def test_the_best_schedule_is_described_by_its_peak_and_its_end(fits):
    said = run("cosine.csv", "--best", "200", "--warmup", "5", "--out", "best.csv").output
    assert "best non-increasing schedule of 200 steps ends at 2.0100" in said
    assert "above half of its peak 0.4 until step 100, 0.01 at the end" in said
    assert pd.read_csv("best.csv")["rate"].tolist() == [0.4, 0.3, 0.2, 0.01]
    document = json.loads(run("cosine.csv", "--best", "200", "--json").output)
    assert document["best"]["loss"] == pytest.approx(2.01)
    assert document["predictions"] == []
    run("cosine.csv", "--best", "200", "--predict", "cosine.csv", "--out", "both.csv")
    assert "run" in pd.read_csv("both.csv")  # predictions that were asked for come first


@pytest.mark.parametrize(
    ("columns", "said"),
    [(["step", "loss"], "has no column 'lr'"), (["step", "lr"], "has no column 'loss'")],
)
def test_tables_without_a_column_are_named(fits, columns: list[str], said: str):
    pd.read_csv("cosine.csv")[columns].to_csv("short.csv", index=False)
    with pytest.raises(BadInput, match=f"short.csv {said}"):
        run("cosine.csv", "short.csv")
