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


@pytest.mark.slow
def test_without_x_the_sizes_are_those_that_the_table_has(runs: Path):
    words = ("--score", "task_error", "--no-figure", "--json", "--at", "4e9,1e11", "--chance", 0.9)
    asked, told = (json.loads(run(runs, *more, *words))["predictions"] for more in (SURFACE, ()))
    assert [*told[0].values()] == [*asked[0].values()]


@pytest.mark.slow
def test_same_numbers_as_python_and_the_truth_lies_in_the_interval(runs: Path):
    words = (runs, *SURFACE, "--score", "task_error", "--no-figure", "--json", "--reduce", "last")
    told = json.loads(run(*words, "--at", "4e9,1e11", "--level", 0.99, "--chance", 0.9))
    table = pd.read_csv(runs).rename(columns={"params": "n_params", "tokens": "n_data"})
    found = sl.laws.downstream(
        table,
        loss="val_loss",
        score="task_error",
        chance=0.9,
        at={"n_params": 4e9, "n_data": 1e11},
        level=0.99,
    )
    (row,) = told["predictions"]
    assert [row["task_error"], row["low"], row["high"]] == pytest.approx([found.mean, found.low, found.high])
    assert told["scores"]["runs"] == 22
    assert row["low"] < error_of(1.8 + 480 * 4e9**-0.35 + 2100 * 1e11**-0.37) < row["high"]
    known = json.loads(run(*words))
    assert (known["predictions"], known["scores"]["best"]) == ([], 0.0)


def test_several_losses_are_averaged(runs: Path):
    table = pd.read_csv(runs)
    table["other"] = table.val_loss**1.5
    table.to_csv(runs, index=False)
    words = (runs, *SURFACE, "--score", "correct", "--loss", "val_loss,other", "--json")
    weights = json.loads(run(*words, "--no-figure"))["scores"]["weights"]
    assert {*weights} == {"test_loss", "other"}


@pytest.mark.slow
def test_score_of_the_best_model_for_a_compute(runs: Path):
    words = (*SURFACE, "--score", "task_error", "--compute", 4e21, "--level", 0.99)
    (row,) = json.loads(run(runs, *words, "--figure", "score.png", "--json"))["predictions"]
    table = pd.read_csv(runs)
    fitted = sl.laws.surface.fit(table.params, table.tokens, table.val_loss, form="chinchilla")
    best = fitted.compute_optimal(4e21, intervals=False)
    assert 6 * row["params"] * row["tokens"] == pytest.approx(4e21)
    assert row["beyond"] == pytest.approx(4e21 / (6 * table.params * table.tokens).max())
    assert row["params"] == pytest.approx(best.n_params, rel=0.1)
    grid = np.geomspace(1e9, 1e12, 2001)
    truth = error_of(np.min(1.8 + 480 * grid**-0.35 + 2100 * (4e21 / 6 / grid) ** -0.37))
    assert row["low"] < truth < row["high"]
    assert row["high"] - row["low"] < 0.15
    assert Path("score.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--score", "task_eror"), "no column 'task_eror'; did you mean 'task_error'"),
        (("--score", "task_error", "--at", "1e10"), "--at: give one value of each of params, tokens"),
        (("--score", "task_error", "--at", "-1,1e9"), "positive"),
        (("--score", "task_error", "--at", "1,1", "--compute", "1"), "give one of them"),
        (("--score", "task_error", "--at", "1e10,1e11", "--level", "95"), "between 0 and 1"),
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


@pytest.mark.slow
def test_a_narrow_interval_may_be_demanded(runs: Path):
    words = (runs, *SURFACE, "--score", "task_error", "--no-figure", "--json", "--at", "4e9,1e11")
    (row,) = json.loads(run(*words))["predictions"]
    width = (row["high"] - row["low"]) / (1 - row["task_error"])
    assert json.loads(run(*words, "--widest", 1.01 * width))["predictions"] == [row]
    with pytest.raises(NotDetermined):
        run(*words, "--widest", 0.99 * width)
