"""The same table through Python and the command line gives the same numbers."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput


def run(*words: object) -> dict:
    result = CliRunner().invoke(app, [*map(str, words), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def curves(tmp_path_factory) -> Path:
    """Learning curves of two models with seeds, checkpoints that overfit, and a learning rate that varies."""
    rng = np.random.default_rng(0)
    rows = []
    for model, scale in (("mlp", 3.0), ("cnn", 2.0)):
        for n_data in (100, 200, 400, 800, 1600, 3200, 6400, 12800):
            for seed in range(3):
                best = (0.02 + scale * n_data**-0.5) * np.exp(0.03 * rng.normal())
                for step, above in ((1, 1.5), (10, 1.0), (100, 1.2)):
                    rows.append((model, n_data, seed, step, best * above))
    path = tmp_path_factory.mktemp("same") / "curves.csv"
    columns = ["model", "n_data", "seed", "step", "test_error"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def surface(tmp_path_factory) -> Path:
    rng = np.random.default_rng(1)
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e9, 7), np.geomspace(1e8, 1e11, 7)))
    loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * np.exp(0.005 * rng.normal(size=n.size))
    table = {"n_params": n, "n_data": d, "loss": loss}
    path = tmp_path_factory.mktemp("same") / "surface.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    return path


CHOICES = [
    (("--where", "model=mlp"), {"where": {"model": "mlp"}}),
    (("--where", "model=cnn", "--reduce", "last"), {"where": {"model": "cnn"}, "reduce": "last"}),
    (("--where", "model=cnn", "--where", "seed=1"), {"where": {"model": "cnn", "seed": 1}}),
    (("--mixed", "--reduce", "all"), {"mixed": True, "reduce": "all"}),
]


@pytest.mark.parametrize(
    ("words", "rows"),
    [CHOICES[3], *(pytest.param(*one, marks=pytest.mark.slow) for one in CHOICES[:3])],
)
def test_fits_of_the_rows_asked_for(curves, words, rows):
    form = "auto" if words == CHOICES[0][0] else "power_law"  # which takes a third of the time
    told = run("laws", "fit", curves, "--no-figure", "--form", form, *words)["laws"][0]
    law = sl.laws.fit(form, sl.read(curves), x="n_data", y="test_error", **rows)
    assert law.form.name == told["form"]
    assert law.parameters == told["parameters"]
    assert len(law.points.y) == told["points"]
    assert [str(note) for note in law.notes] == [note["text"] for note in told["notes"]]


def test_auto_says_which_form_it_took_and_why():
    x = np.geomspace(10, 1e4, 12)
    law = sl.laws.fit("auto", x, 0.05 + 3 * x**-0.4)
    assert law.form.name == "power_law_offset"
    assert law.points.notes[0].code == "form_beside_power_law"
    assert sl.laws.fit("auto", x[:3], 3 * x[:3] ** -0.4).form.name == "power_law"


def test_auto_fits_what_an_accuracy_lacks_to_one():
    x = np.geomspace(10, 1e4, 12)
    law = sl.laws.fit("auto", x, 0.95 - 3 * x**-0.7)
    assert law.exponent == pytest.approx(0.7, abs=1e-6)
    assert law.points.complement


def test_extrapolations(curves):
    words = ("--at", "1e5", "--no-figure", "--where", "model=mlp")
    told = run("laws", "extrapolate", curves, *words)
    found = sl.laws.extrapolate(sl.read(curves), at=1e5, where={"model": "mlp"})
    assert [found.mean[0], found.low[0], found.high[0]] == [
        told[k][0] for k in ("test_error", "low", "high")
    ]  # fmt: skip


@pytest.mark.slow
def test_plans_of_one_size(curves):
    rows = {"where": {"model": "mlp"}}
    table, words = sl.read(curves), ("--where", "model=mlp")
    told = run("plan", "size-for", curves, "--target", 0.04, *words)
    found = sl.laws.plan.size_for(table, 0.04, **rows)
    assert (found.value, found.low, found.text) == tuple(told[k] for k in ("value", "low", "text"))
    told = run("plan", "bend", curves, *words)
    assert sl.laws.plan.still_power_law(table, **rows).p_value == told["p_value"]
    told = run(
        "plan", "next", curves, "--x", "n_data", "--y", "test_error", "--at", 1e5, "--budget", 1e5, *words
    )
    found = sl.laws.plan.next_runs(table, budget=1e5, at=1e5, x="n_data", y="test_error", **rows)
    assert found.prediction == told["prediction"]
    assert found.runs[:, 0].tolist() == [row["n_data"] for row in told["runs"]]


@pytest.mark.nightly
def test_surfaces_and_their_plans(surface):
    table = sl.read(surface)
    rows = {"y": "loss", "drop_highest": 2}
    told = run("laws", "surface", surface, "--no-figure", "--drop-highest", 2)
    fitted = sl.laws.surface.fit(table, x=("n_params", "n_data"), **rows)
    assert fitted.parameters == told["parameters"]
    assert len(fitted.law.points.y) == told["points"] == 47
    told = run("plan", "approaches", surface, "--compute", 1e21, "--drop-highest", 2)
    found = sl.laws.plan.approaches(table, compute=1e21, **rows)
    assert [row.n_params for row in found.rows] == [row["n_params"] for row in told["approaches"]]
    words = ("--compute", 1e22, "--budget", 1e20, "--drop-highest", 2, "--share", 0.9)
    told = run("plan", "next", surface, *words)
    found = sl.laws.plan.next_runs(table, compute=1e22, budget=1e20, share=0.9, **rows)
    assert found.cost.tolist() == [row["cost"] for row in told["runs"]]


@pytest.mark.slow
def test_arrays_and_a_table_of_them_give_the_same(surface):
    table = pd.read_csv(surface)
    n, d, loss = (table[name].to_numpy() for name in ("n_params", "n_data", "loss"))
    found = sl.laws.surface.fit(n, d, loss, form="chinchilla").parameters
    assert sl.laws.surface.fit(table, form="chinchilla").parameters == found
    assert sl.laws.surface.fit(n_params=n, n_data=d, loss=loss, form="chinchilla").parameters == found


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: sl.laws.fit("power_law", [1.0, 2.0]), "give x and y"),
        (lambda: sl.laws.fit("power_law", [1, 2], [2, 1], reduce="best"), "choose rows of a table"),
        (lambda: sl.laws.fit("power_law", [1, 2], [2, 1], where={"model": "a"}), "choose rows of a table"),
        (lambda: sl.laws.fit("power_law", pd.DataFrame({"n_data": [1]}), [2, 1]), "name its columns"),
        (lambda: sl.laws.surface.fit([1.0], [2.0]), "loss= is missing"),
        (lambda: sl.laws.plan.size_for([1.0], 0.1), "a list is not a law"),
        (lambda: sl.laws.plan.size_for(sl.laws.fit("power_law", [1, 2, 3], [3, 2, 1]), 1, x="x"), "already"),
        (lambda: sl.laws.extrapolate([1.0], [2.0]), "give at="),
    ],
)  # fmt: skip
def test_what_is_neither_arrays_nor_a_table_is_refused(call, told):
    with pytest.raises(BadInput, match=told):
        call()
