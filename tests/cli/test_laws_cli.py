"""``scalinglab laws`` and ``scalinglab plan``: one line from a CSV to a table and a figure."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput


def run(*words: object) -> str:
    """What a command prints; for people it must fit a terminal of 80 columns."""
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, [str(w) for w in words])
    if result.exception is not None:
        raise result.exception
    if "--json" not in words:
        wide = [line for line in result.output.splitlines() if len(line) > 80]
        assert not wide, f"{words} prints lines wider than 80 columns"
    return result.output


@pytest.fixture
def curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Final errors at twelve sizes, three seeds each."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = np.repeat(np.geomspace(100, 1e5, 12).round(), 3)
    error = (0.05 + 3 * n**-0.6) * np.exp(0.02 * rng.standard_normal(n.size))
    pd.DataFrame({"n_data": n, "seed": np.tile([0, 1, 2], 12), "test_error": error}).to_csv(
        "curves.csv", index=False
    )
    return tmp_path / "curves.csv"


@pytest.fixture
def surface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n, c = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 8), np.geomspace(1e19, 1e22, 6)))
    d = c / (6 * n)
    loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * np.exp(0.003 * rng.standard_normal(n.size))
    pd.DataFrame({"n_params": n, "n_data": d, "loss": loss}).to_csv("surface.csv", index=False)
    return tmp_path / "surface.csv"


@pytest.mark.slow
def test_a_prior_counts_in_the_prediction_too(curves: Path):
    words = ("laws", "fit", curves, "--prior", "offset=0.02:0.0001", "--at", "1e7", "--no-figure", "--json")
    told = json.loads(run(*words))
    (law,), (predicted,) = told["laws"], told["predictions"]
    assert predicted["test_error"] == pytest.approx(
        law["parameters"]["offset"] + law["parameters"]["amplitude"] * 1e7 ** -law["parameters"]["exponent"]
    )


@pytest.mark.slow
def test_bounds_keep_a_parameter_within_them_or_hold_it(curves: Path):
    words = ("laws", "fit", curves, "--form", "power_law_offset", "--no-figure", "--json")
    (bounded,) = json.loads(run(*words, "--bounds", "offset=0:0.03"))["laws"]
    (held,) = json.loads(run(*words, "--bounds", "offset=0.04:0.04", "--bounds", "exponent=0:2"))["laws"]
    table = pd.read_csv(curves)
    limits = {"offset": (0.04, 0.04), "exponent": (0.0, 2.0)}
    law = sl.laws.fit("power_law_offset", table.n_data, table.test_error, bounds=limits)
    assert bounded["parameters"]["offset"] == pytest.approx(0.03)  # it is 0.05
    assert held["parameters"]["offset"] == 0.04
    assert held["parameters"] == pytest.approx(law.parameters)
    said = run("laws", "fit", curves, "--bounds", "offset=0.05:0.05", "--no-figure")
    assert "the form is power_law_offset" in said  # the only one with an offset
    assert re.search(r"offset +0.05 +fixed", said)


def test_bounds_of_a_surface(surface: Path):
    words = ("laws", "surface", surface, "--no-figure", "--json", "--bounds", "alpha=0.3:0.3")
    assert json.loads(run(*words))["parameters"]["alpha"] == 0.3


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ("offset", "--bounds 'offset': write PARAMETER=LOW:HIGH"),
        ("offset=0.1", "--bounds offset=0.1: write PARAMETER=LOW:HIGH"),
        ("offset=a:b", "--bounds offset=a:b: write PARAMETER=LOW:HIGH"),
        ("offset=0:1:2", "--bounds offset=0:1:2: write PARAMETER=LOW:HIGH"),
        ("offset=0.2:0.1", "low=0.2 must not exceed high=0.1"),
        ("ofset=0:0.1", "no such parameter; did you mean 'offset'"),
    ],
)
def test_wrong_bounds_are_told(curves: Path, bounds: str, said: str):
    words = ("laws", "fit", curves, "--form", "power_law_offset", "--no-figure")
    with pytest.raises(BadInput, match=re.escape(said)):
        run(*words, "--bounds", bounds)


def test_fit_as_json_is_one_document(curves: Path):
    document = json.loads(run("laws", "fit", curves, "--at", "1e6", "--json", "--no-figure"))
    (law,) = document["laws"]
    assert law["exponent"] == pytest.approx(0.6, abs=0.05)
    assert law["identified"] is True
    (prediction,) = document["predictions"]
    assert prediction["low"] < 0.05 + 3 * 1e6**-0.6 < prediction["high"]


@pytest.mark.slow
def test_out_writes_by_the_ending(curves: Path):
    run("laws", "fit", curves, "--at", "1e6", "--no-figure", "--out", "law.csv")
    assert list(pd.read_csv("law.csv").columns) == ["form", "n_data", "test_error", "low", "high", "beyond"]
    run("laws", "fit", curves, "--no-figure", "--out", "law.json")
    assert json.loads(Path("law.json").read_text())["laws"][0]["form"] == "power_law_offset"


@pytest.mark.nightly
def test_surface_and_optimum_from_a_csv(surface: Path):
    said = json.loads(run("laws", "surface", surface, "--compute", "1e23", "--json"))
    assert said["parameters"]["alpha"] == pytest.approx(0.35, abs=0.06)
    assert Path(said["figure"]).exists()
    (best,) = said["compute_optimal"]
    assert best["n_params_low"] < best["n_params"] < best["n_params_high"]
    assert "n_params" in run("plan", "optimal", surface, "--compute", "1e22,1e23")
    run("laws", "surface", surface, "--compute", "1e23", "--no-figure")


@pytest.mark.slow
def test_the_highest_losses_are_left_out(surface: Path):
    table = pd.read_csv(surface)
    wrong = table.loc[[3, 30]].assign(loss=50.0)  # two points no surface can meet
    pd.concat([wrong, table]).to_csv("wrong.csv", index=False)
    words = ("laws", "surface", "wrong.csv", "--form", "chinchilla", "--no-figure", "--json")
    clean = json.loads(run("laws", "surface", surface, *words[3:]))
    left_out = json.loads(run(*words, "--drop-highest", 2))
    assert left_out["points"] == len(table)
    assert left_out["parameters"] == pytest.approx(clean["parameters"], rel=1e-6)
    for count in (-1, len(table) + 2):
        with pytest.raises(BadInput, match=f"drop_highest={count}"):
            run(*words, "--drop-highest", count)


def test_a_size_for_an_accuracy_is_that_for_the_error_it_leaves(tmp_path: Path):
    n = np.geomspace(100, 1e5, 8)
    pd.DataFrame({"n_train": n, "accuracy": 100 - 200 * n**-0.3}).to_csv(tmp_path / "runs.csv", index=False)
    asked = ("plan", "size-for", tmp_path / "runs.csv", "--json", "--target")
    accurate, error = (json.loads(run(*asked, *more)) for more in (("0.95", "--y", "accuracy"), ("0.05",)))
    assert accurate["value"] == pytest.approx(40 ** (1 / 0.3), rel=0.01)
    assert accurate["value"] == pytest.approx(error["value"])
    with pytest.raises(BadInput, match="--target 95"):
        run(*asked, "95", "--y", "accuracy")


@pytest.mark.nightly
def test_plans_answer_from_a_csv(curves: Path, surface: Path):
    assert "for test error = 0.06" in " ".join(run("plan", "size-for", curves, "--target", "0.06").split())
    with pytest.raises(BadInput, match="--target -1"):
        run("plan", "size-for", curves, "--target", "-1")
    assert json.loads(run("plan", "bend", curves, "--json"))["straight"] is False
    said = run("plan", "next", curves, "--x", "n_data", "--y", "test_error", "--at", "1e6", "--budget", "3e5")
    assert "then ±" in said
    assert "FLOPs" in run("plan", "next", surface, "--budget", "1e21", "--compute", "1e23")
    words = ("plan", "next", surface, "--budget", "1e23", "--at", "1e10,1e12", "--var", "n_data=n_data")
    for form in ("rosenfeld", "kaplan"):  # any form of these variables
        assert "then ±" in run(*words, "--form", form)
    with pytest.raises(BadInput, match=r"--var bits: rosenfeld.*n_params, n_data"):
        run(*words, "--form", "rosenfeld", "--var", "bits=n_data")
    assert "2 parabolas" in run("plan", "approaches", surface, "--compute", "1e23")


def test_a_misspelt_bound_of_an_automatic_form_is_named(curves: Path):
    with pytest.raises(BadInput, match=r"power_law_offset.*'offset'"):
        run("laws", "fit", curves, "--no-figure", "--bounds", "ofset=0:0.1")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "command",
    [
        "laws surface {} --no-figure", "plan optimal {} --compute 1e22", "plan approaches {} --compute 1e22",
        "plan next {} --budget 1e21 --compute 1e23",
    ],
)  # fmt: skip
def test_a_missing_loss_is_left_out_and_counted(surface: Path, command: str):
    table = pd.read_csv(surface)
    table.loc[3, "loss"] = np.nan
    table.to_csv("gap.csv", index=False)
    words = command.format("gap.csv").split()
    for more in ((), ("--drop-highest", "1")):  # a missing loss is not a high one
        notes = json.loads(run(*words, *more, "--json"))["notes"]
        assert next(note for note in notes if note["code"] == "left_out_value")["runs"] == 1


@pytest.mark.parametrize(
    "command",
    [
        "laws extrapolate {} --at 1e6 --no-figure", "plan size-for {} --target 0.06",
        "plan bend {}", "plan next {} --x n_data --y test_error --at 1e6 --budget 1e5",
    ],
)  # fmt: skip
def test_dropped_points_are_counted_on_the_screen_and_in_json(curves: Path, command: str):
    table = pd.read_csv(curves)[::3]  # one seed
    table.loc[3, "test_error"] = 0.0
    table.to_csv("zero.csv", index=False)
    words = (*command.format("zero.csv").split(), "--drop-bad")
    if command.startswith("laws"):
        assert "1 of 12 points dropped" in run(*words)
    notes = json.loads(run(*words, "--json"))["notes"]
    dropped = next(note for note in notes if note["code"] == "dropped")
    assert (dropped["dropped"], dropped["points"]) == (1, 12)
    assert [(why["code"], why["value"]) for why in dropped["why"]] == [("value_not_positive", 0)]


@pytest.mark.slow
def test_a_surface_without_compute_writes_its_parameters(surface: Path):
    run("laws", "surface", surface, "--no-figure", "--out", "surface-law.csv")
    written = pd.read_csv("surface-law.csv").set_index("parameter")
    assert list(written.index) == ["E", "A", "B", "alpha", "beta"]
    assert (written["low"] < written["value"]).all()
    assert (written["value"] < written["high"]).all()


@pytest.mark.nightly
def test_a_model_that_is_used_more_is_planned_smaller_and_trained_longer(surface: Path):
    said = json.loads(run("plan", "inference", surface, "--loss", "2.5", "--used", "0,1e13", "--json"))
    alone, used = said["plans"]
    assert used["n_params"] < 0.5 * alone["n_params"]
    assert used["n_data"] > 2 * alone["n_data"]
    assert used["inference"] == pytest.approx(2 * used["n_params"] * 1e13)
    assert alone["saved"] == pytest.approx(0, abs=1e-9)
    assert 2.4 < used["loss_low"] < 2.5 < used["loss_high"] < 2.6
    plan = " ".join(run("plan", "inference", surface, "--loss", "2.5", "--used", "0").split())
    assert "would cost 0.0 % more" in plan
    assert "and 0 tokens of inference: " in plan


@pytest.mark.slow
def test_a_surface_without_an_optimum_is_still_drawn(surface: Path):
    run("laws", "surface", surface, "--bounds", "A=0:1e-250", "--figure", "flat.png")
    assert Path("flat.png").stat().st_size > 10_000
    with pytest.raises(BadInput, match="do not determine alpha and beta"):
        run("laws", "surface", surface, "--bounds", "A=0:1e-250", "--compute", "1e21", "--no-figure")


@pytest.mark.slow
def test_a_table_with_losses_only_needs_no_y(curves: Path):
    """What is fitted by default is the error, or the loss where a table has no errors."""
    table = pd.read_csv(curves)[::3]  # one seed
    table.rename(columns={"test_error": "val_loss"}).to_csv("losses.csv", index=False)
    named = run("laws", "fit", "losses.csv", "--y", "val_loss", "--at", "1e6", "--no-figure")
    assert run("laws", "fit", "losses.csv", "--at", "1e6", "--no-figure") == named
    for words in (
        ("laws", "extrapolate", "losses.csv", "--at", "1e6", "--no-figure"),
        ("plan", "size-for", "losses.csv", "--target", "0.052"),
        ("plan", "bend", "losses.csv"),
    ):
        assert run(*words) == run(*words, "--y", "test_loss")
    exact = sl.laws.fit("power_law_offset", sl.read("losses.csv"))
    assert (
        exact.parameters == sl.laws.fit("power_law_offset", sl.read("losses.csv"), y="test_loss").parameters
    )
    # an error comes before a loss
    both = table.assign(test_loss=2 * table["test_error"])
    law = sl.laws.fit("power_law", sl.Curves(both, source="read"))
    assert law.points.y.max() == pytest.approx(table["test_error"].max())
    table.assign(accuracy=1 - table["test_error"]).drop(columns="test_error").to_csv("acc.csv", index=False)
    assert "at 1M examples" in run("laws", "fit", "acc.csv", "--at", "1e6", "--no-figure")
    words = ("acc.csv", "--y", "accuracy", "--at", "1e6", "--no-figure")
    mean, low, high = (
        sl.laws.extrapolate(sl.read("acc.csv"), at=1e6, y="accuracy").notebook_table().iloc[0, 1:4]
    )
    assert f"accuracy {mean:.4g} (95 %: {low:.4g} to {high:.4g})" in run("laws", "fit", *words)
    refused = CliRunner().invoke(app, ["laws", "fit", *words, "--form", "power_law"])
    assert isinstance(refused.exception, BadInput)
    assert "would take it beyond 1" in str(refused.exception)


@pytest.fixture
def accuracies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Accuracies at eight sizes: the table and its columns, as words of a command."""
    monkeypatch.chdir(tmp_path)
    n = np.geomspace(100, 5e4, 8)
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(8))
    frame = pd.DataFrame({"n_data": n, "test_accuracy": 1 - (0.05 + 3 * n**-0.5) * noise})
    frame.to_csv("acc.csv", index=False)
    return ["acc.csv", "--x", "n_data", "--y", "test_accuracy"]


@pytest.mark.slow
def test_each_law_of_an_accuracy_predicts_the_accuracy(accuracies, monkeypatch):
    """The form auto fits 1 - y, others y (an exponential badly); both predict y, and are drawn as fitted."""
    from scalinglab.figures import laws as figures

    drawn, draw = [], figures.law
    monkeypatch.setattr(figures, "law", lambda *laws, **words: drawn.append(words) or draw(laws[0]))
    both = [*accuracies, "--form", "auto,exponential", "--at", "1e5", "--json"]
    told = json.loads(run("laws", "fit", *both))["predictions"]
    truth = 0.95 - 3 * 1e5**-0.5
    assert [row["test_accuracy"] for row in told] == pytest.approx([truth, truth], abs=0.15)
    assert all(row["low"] <= row["test_accuracy"] <= row["high"] for row in told)
    words = drawn[0]
    assert [float(p.value[0]) for p in words["predicted"]] == pytest.approx([1 - truth, truth], abs=0.15)
    assert words["y"] == "test_accuracy, or 1 - test_accuracy"


def test_no_plan_takes_an_accuracy_beyond_one(accuracies):
    words = ("plan", "next", *accuracies, "--at", "1e7", "--form", "power_law", "--budget", "1e6")
    with pytest.raises(
        BadInput, match="test_accuracy rises with n_data, and power_law would take it beyond 1"
    ):
        run(*words)


@pytest.mark.slow
def test_a_plan_names_its_quantity_and_unit(accuracies):
    words = ["plan", "next", *accuracies, "--at", "1e6", "--budget", "2e5", "--json", "--out", "plan.csv"]
    told = json.loads(run(*words))
    assert (told["quantity"], told["unit"]) == ("1 - test_accuracy", "examples")
    assert told["prediction"] == pytest.approx(0.053, abs=0.02)
    rows = pd.read_csv("plan.csv")
    assert list(rows) == ["n_data", "seeds", "cost", "unit", "half_width"]
    assert rows["cost"].tolist() == pytest.approx((rows["n_data"] * rows["seeds"]).tolist())
    assert set(rows["unit"]) == {"examples"}
    assert json.loads(run(*words, "--form", "auto")) == told
    assert json.loads(run(*words, "--cost", "1"))["unit"] == "FLOPs"
