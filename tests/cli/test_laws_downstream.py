"""``scalinglab laws downstream``: a score from sizes by way of the loss."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput, NotDetermined

PAGE = Path(__file__).parents[2] / "docs" / "laws" / "parameters-and-data.md"


def run(*words: object) -> str:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["laws", "downstream", *map(str, words)])
    if result.exception is not None:
        raise result.exception
    return result.output


def error_of(loss):
    return 0.85 - 2.1 * np.exp(-0.76 * loss)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Models of 25 sizes on a known surface and a known law of the error; three were not scored."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    n, c = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 3e9, 5), np.geomspace(1e19, 1e21, 5)))
    d = c / 6 / n
    loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * np.exp(0.003 * random.standard_normal(25))
    error = error_of(loss) + 0.003 * random.standard_normal(25)
    error[:3] = np.nan
    table = {"params": n, "tokens": d, "val_loss": loss, "task_error": error, "correct": 1 - error}
    pd.DataFrame(table).to_csv("runs.csv", index=False)
    return tmp_path / "runs.csv"


SURFACE = ("--x", "params,tokens")


def test_same_numbers_as_python_and_the_truth_lies_in_the_interval(runs: Path):
    words = (runs, *SURFACE, "--score", "task_error", "--no-figure", "--json")
    told = json.loads(run(*words, "--at", "1e10,2e11", "--level", 0.99))
    table = pd.read_csv(runs)
    both = sl.laws.two_stage(
        "chinchilla", (table.params, table.tokens), table.val_loss, score=table.task_error
    )
    (row,) = told["predictions"]
    assert row["task_error"] == pytest.approx(both.predict(n_params=1e10, n_data=2e11), rel=1e-9)
    assert [row["low"], row["high"]] == pytest.approx(
        both.interval(n_params=1e10, n_data=2e11, level=0.99), rel=1e-6
    )
    assert told["loss"]["parameters"] == pytest.approx(both.loss.parameters)
    assert told["score"]["parameters"] == pytest.approx(both.score.parameters)
    assert (told["loss"]["points"], told["score"]["points"]) == (25, 22)
    assert row["low"] < error_of(1.8 + 480 * 1e10**-0.35 + 2100 * 2e11**-0.37) < row["high"]


def test_a_score_far_beyond_the_runs_is_refused_as_the_optimum_is(runs: Path):
    with pytest.raises(NotDetermined, match=r"do not determine the best model at 1e\+35 FLOPs"):
        run(runs, *SURFACE, "--score", "task_error", "--compute", 1e35)


@pytest.mark.slow
def test_score_of_the_best_model_for_a_compute(runs: Path):
    words = (*SURFACE, "--score", "task_error", "--compute", 1e23, "--level", 0.99)
    (row,) = json.loads(run(runs, *words, "--figure", "score.png", "--json"))["predictions"]
    table = pd.read_csv(runs)
    fitted = sl.laws.surface.fit(table.params, table.tokens, table.val_loss, delta=np.inf)
    best = fitted.compute_optimal(1e23, intervals=False)
    assert 6 * row["params"] * row["tokens"] == pytest.approx(1e23)
    assert row["beyond"] == pytest.approx(1e23 / (6 * table.params * table.tokens).max())
    assert row["params"] == pytest.approx(best.n_params, rel=0.1)
    grid = np.geomspace(1e9, 1e12, 2001)
    truth = error_of(np.min(1.8 + 480 * grid**-0.35 + 2100 * (1e23 / 6 / grid) ** -0.37))
    assert row["low"] < truth < row["high"]
    assert row["high"] - row["low"] < 0.05
    assert Path("score.png").stat().st_size > 10_000


def test_an_accuracy_is_a_sigmoid_of_the_loss(tmp_path: Path):
    compute = np.geomspace(1e18, 1e22, 16)
    loss = 1.7 + 40 * compute**-0.09
    accuracy = 0.25 + 0.6 / (1 + np.exp(8 * (loss - 2.4)))
    table = pd.DataFrame({"flops": compute, "loss": loss, "correct": accuracy})
    table.to_csv(tmp_path / "runs.csv", index=False)
    words = (tmp_path / "runs.csv", "--score", "correct", "--no-figure", "--at", 1e24)
    said = run(*words, "--form", "score_from_loss")
    ahead = 1.7 + 40 * 1e24**-0.09
    expected = 0.25 + 0.6 / (1 + np.exp(8 * (ahead - 2.4)))
    assert f"at compute = 1e+24: loss {ahead:.4g}, correct {expected:.4g}" in said
    with pytest.raises(
        BadInput, match="falls with the loss, and error_from_loss rises: take score_from_loss"
    ):
        run(*words)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--score", "task_eror"), "no column 'task_eror'; did you mean 'task_error'"),
        (("--score", "task_error", "--form", "score_from_los"), "did you mean 'score_from_loss'"),
        (("--score", "task_error", "--form", "score_from_loss"), "take error_from_loss"),
        (("--score", "task_error", "--at", "1e10"), "--at: give one value of each of n_params, n_data"),
        (("--score", "task_error", "--at", "-1,1e9"), "positive"),
        (("--score", "task_error", "--at", "1,1", "--compute", "1"), "give one of them"),
        (("--score", "task_error", "--at", "1e10,1e11", "--level", "95"), "between 0 and 1"),
        (("--score", "task_error", "--loss-form", "power_law"), "power_law needs a column of each of x"),
        (
            ("--score", "task_error", "--x", "params", "--mixed", "--compute", "1e22"),
            "best n_params and n_data for a compute",
        ),
        (("--score", "task_error", "--where", "tokens=1"), "no row has"),
    ],
)
def test_wrong_input_is_refused_with_the_way_out(runs: Path, words: tuple[str, ...], told: str):
    given = words if "--x" in words else (*SURFACE, *words)
    with pytest.raises(BadInput, match=re.escape(told)):
        run(runs, *given, "--no-figure")


@pytest.mark.slow
def test_page_shows_what_the_command_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    section = PAGE.read_text(encoding="utf-8").split("## From loss to a score")[1]
    (code,) = re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    exec(code, {})  # writes the table
    ((line, shown),) = re.findall(
        r"^```\nscalinglab laws downstream ([^\n]*)\n```.*?```text\n(.*?)^```",
        section,
        re.DOTALL | re.MULTILINE,
    )
    assert shown.strip() in run(*shlex.split(line), "--no-figure")
