"""`sl.fit`, `sl.predict` and their commands: one choice of form, rows and intervals, and sizes by name."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.answers import Fit
from scalinglab.cli import app
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws import surface


def runs(noise: float = 0.004) -> pd.DataFrame:
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 4), np.geomspace(2e9, 2e11, 4)))
    scatter = np.exp(noise * np.random.default_rng(0).standard_normal(n.size))
    return pd.DataFrame({"params": n, "tokens": d, "val_loss": truth(n, d) * scatter})


def truth(n: float | np.ndarray, d: float | np.ndarray) -> float | np.ndarray:
    return 1.8 + 480 * n**-0.35 + 2100 * d**-0.37


def curve(count: int = 9) -> pd.DataFrame:
    x = np.geomspace(1e3, 1e5, count)
    scatter = np.exp(0.01 * np.random.default_rng(0).standard_normal(count))
    return pd.DataFrame({"n_data": x, "test_error": (0.05 + 3 * x**-0.4) * scatter})


@pytest.fixture(scope="module")
def fitted() -> Fit:
    return sl.fit(runs())


def command(*words: object) -> dict:
    found = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_a_table_of_parameters_and_data_gets_the_surface_of_laws(fitted):
    table = runs()
    direct = surface.fit(table.params, table.tokens, table.val_loss)
    assert fitted.x == ("n_params", "n_data")
    assert fitted.parameters == pytest.approx(direct.parameters)
    assert fitted.chosen.units == {"n_params": "parameters", "n_data": "tokens"}


def test_a_prediction_holds_the_truth_and_is_that_of_the_surface(fitted):
    at = {"n_params": 3e10, "n_data": 6e11}
    found = sl.predict(runs(), at=at)
    assert found.low < found.mean < found.high
    assert found.low < truth(3e10, 6e11) < found.high
    assert (found.low, found.high) == pytest.approx(fitted.surface.interval(at))
    assert found.beyond == pytest.approx(3e10 * 6e11 / (1e10 * 2e11))
    narrow = fitted.predict(at, level=0.5)
    assert found.low < narrow.low < narrow.high < found.high


@pytest.mark.slow
def test_places_may_be_numbers_arrays_frames_or_a_file(fitted, tmp_path: Path):
    n, d = np.array([1e9, 3e10]), np.array([2e10, 6e11])
    one = [fitted.predict(n_params=a, n_data=b).mean for a, b in zip(n, d, strict=True)]
    assert fitted.predict({"n_params": n, "n_data": d}).mean == pytest.approx(one)
    frame = pd.DataFrame({"tokens": d, "params": n})
    frame.to_csv(tmp_path / "places.csv", index=False)
    assert sl.predict(runs(), at=frame).mean == pytest.approx(one)
    assert sl.predict(runs(), at=tmp_path / "places.csv").mean == pytest.approx(one)
    assert fitted.predict(n_params=1e9, n_data=d).mean.shape == (2,)
    assert fitted.predict(n_params=n[:, None], n_data=d).mean.shape == (2, 2)


def test_sizes_are_taken_by_name_alone(fitted):
    with pytest.raises(BadInput, match="by name"):
        fitted.predict([7e9, 6e10])
    with pytest.raises(BadInput, match="give n_data, too"):
        fitted.predict(n_params=7e9)
    with pytest.raises(BadInput, match=r"^width"):
        fitted.predict(n_params=7e9, n_data=6e10, width=3)
    with pytest.raises(BadInput, match=r"n_params=-1"):
        fitted.predict(n_params=-1, n_data=6e10)
    with pytest.raises(BadInput, match=r"level=95"):
        fitted.predict(n_params=7e9, n_data=6e10, level=95)


@pytest.mark.slow
def test_sizes_go_by_what_they_count_and_by_names_that_mean_them(fitted):
    there = fitted.predict(n_params=7e9, n_data=6e10).mean
    assert fitted.predict(parameters=7e9, tokens=6e10).mean == there
    assert sl.predict(runs(), at={"num_params": 7e9, "train_tokens": 6e10}).mean == there
    with pytest.raises(BadInput, match="active_params"):
        sl.predict(
            runs().assign(active_params=lambda t: t.params / 8), at={"active_params": 7e9, "tokens": 6e10},
            n_params="params",
        )  # fmt: skip


@pytest.mark.slow
def test_a_curve_is_continued_as_extrapolate_continues_it():
    table = curve()
    direct = sl.laws.extrapolate(table.n_data, table.test_error, at=[1e6, 4e5])
    found = sl.predict(table, at=[1e6, 4e5])
    assert found.mean == pytest.approx(direct.mean)
    assert found.low == pytest.approx(direct.low)
    assert sl.predict(table, at=1e6).high == pytest.approx(direct.high[0])
    form = sl.predict(table, at={"n_data": 1e6}, form="power_law_offset")
    law = sl.laws.fit("power_law_offset", table.n_data, table.test_error)
    assert (form.mean, form.low, form.high) == pytest.approx((law.predict(1e6), *law.interval(1e6)))


def test_an_accuracy_is_predicted_as_it_was_measured():
    table = curve().assign(test_error=lambda t: 1 - t.test_error).rename(columns={"test_error": "acc"})
    found, error = sl.predict(table, at=1e6, y="acc"), sl.predict(curve(), at=1e6)
    assert found.mean == pytest.approx(1 - error.mean)
    assert (found.low, found.high) == pytest.approx((1 - error.high, 1 - error.low))


def test_a_form_of_several_variables_takes_its_columns():
    found = sl.fit(runs(), x=["params", "tokens"], form="kaplan")
    assert found.law.form.name == "kaplan"
    assert not found.automatic
    with pytest.raises(BadInput, match=r"kaplan.*n_params and n_data"):
        sl.fit(runs(), x="params", form="kaplan")
    one = sl.fit(runs().iloc[:4], x="params", form="power_law_offset")
    assert one.x == ("n_params",)


def test_what_the_points_do_not_determine_is_refused():
    with pytest.raises(NotDetermined):
        sl.predict(curve(3), at=1e9)


@pytest.mark.slow
def test_the_commands_give_what_the_functions_give(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs().to_csv("runs.csv", index=False)
    curve().to_csv("curve.csv", index=False)
    pd.DataFrame({"params": [7e9], "tokens": [6e10]}).to_csv("places.csv", index=False)
    direct = sl.predict(runs(), at={"n_params": 7e9, "n_data": 6e10})
    for at in ("7e9,6e10", "n_data=60B,n_params=7B", "places.csv"):
        (row,) = command("predict", "runs.csv", "--at", at)["predictions"]
        assert (row["test_loss"], row["low"]) == pytest.approx((direct.mean, direct.low))
    (row,) = command("laws", "surface", "runs.csv", "--at", "7e9,6e10", "--no-figure")["predictions"]
    assert (row["test_loss"], row["high"]) == pytest.approx((direct.mean, direct.high))
    shown = command("predict", "curve.csv", "--at", "n_data=1e6", "--level", "0.9", "--figure", "p.png")
    assert shown["predictions"][0]["low"] == pytest.approx(sl.predict(curve(), at=1e6, level=0.9).low)
    found = command("fit", "curve.csv", "--form", "power_law", "--no-figure")
    law = sl.laws.fit("power_law", curve().n_data, curve().test_error)
    assert found["parameters"] == pytest.approx(law.parameters)
    drawn = command(
        "plot", "runs.csv", "--x", "params,tokens", "--y", "val_loss", "--form", "kaplan", "--figure",
        "plot.png",
    )  # fmt: skip
    assert (drawn["x"], drawn["y"]) == (["n_params", "n_data"], "test_loss")
    assert Path("plot.png").stat().st_size > 10_000
    kinds = pd.concat([curve().assign(recipe="a"), curve().assign(recipe="b")], ignore_index=True)
    kinds.loc[kinds.recipe == "b", "test_error"] *= 2
    kinds.to_csv("kinds.csv", index=False)
    drawn = command("plot", "kinds.csv", "--figure", "kinds.png")
    assert (drawn["x"], drawn["y"], Path("kinds.png").exists()) == (["n_data"], "test_error", True)
    refused = CliRunner().invoke(app, ["predict", "runs.csv", "--at", "7e9"])
    assert isinstance(refused.exception, BadInput)
    refused = CliRunner().invoke(app, ["predict", "runs.csv", "--at", "n_data=1e6"])
    assert "n_params" in str(refused.exception)


@pytest.mark.slow
def test_a_budget_may_be_called_flops(tmp_path: Path):
    runs().to_csv(tmp_path / "runs.csv", index=False)
    found = command("plan", "optimal", tmp_path / "runs.csv", "--flops", "1e22")
    assert found["optimal"][0]["compute"] == 1e22


@pytest.mark.slow
def test_a_table_in_percent_is_answered_in_percent():
    n = np.geomspace(1e3, 1e5, 7)
    share = 0.04 + 6 * n**-0.5
    whole = sl.predict(pd.DataFrame({"images": n, "error (%)": 100 * share}), at=3e5)
    plain = sl.predict(pd.DataFrame({"images": n, "test_error": share}), at=3e5)
    assert whole.mean == pytest.approx(plain.mean)  # results are fractions
    written = f"{100 * plain.mean:.4g} %"
    assert written in whole.summary()
    assert written not in plain.summary()
    said = sl.answer(pd.DataFrame({"images": n, "acc": 100 - 100 * share}))["ten times"]
    value = said.values["test_error"]
    assert value.unit == "fraction"
    assert f"{100 * value.value:.4g} %" in said.text
    assert f"{100 * (1 - value.value):.3g} %" in said.text


@pytest.mark.parametrize("effect", [0.0, 0.2])
def test_a_number_of_no_known_name_that_changes_y_is_named(effect: float):
    draw = np.random.default_rng(5)
    n, quality = 10 ** draw.uniform(7, 9.5, 24), draw.uniform(0.1, 0.9, 24).round(2)
    loss = 1.7 + 400 * n**-0.34 - effect * quality + 0.005 * draw.standard_normal(24)
    found = sl.fit(pd.DataFrame({"params": n, "quality": quality, "val_loss": loss}))
    named = [note.details["column"] for note in found.notes if note.code == "also_explained"]
    assert named == (["quality"] if effect else [])


@pytest.mark.slow
def test_shapes_of_networks_are_fitted_together_and_named_where_they_matter():
    draw = np.random.default_rng(7)
    width, depth = np.repeat([512, 704, 1088, 1472], 4), np.tile([6, 12, 24, 48], 4)
    n, tokens = 12.0 * depth * width**2, np.geomspace(1e9, 3e10, 10)
    deep = 0.02 * np.log(depth / 12) ** 2
    loss = np.exp(deep)[:, None] * (1.7 + 300 * n[:, None] ** -0.32 + 900 * tokens**-0.33)
    loss *= np.exp(0.002 * draw.standard_normal(len(n)))[:, None]
    rows = {
        "run_name": [f"m{k}" for k in range(len(n))], "n_params": n, "width": width, "depth": depth,
        "seconds_per_step": (n / 1e8) ** 0.9 * draw.uniform(0.9, 1.1, len(n)),
    }  # fmt: skip
    table = pd.DataFrame(rows).loc[np.repeat(np.arange(len(n)), len(tokens))]
    fit = sl.fit(table.assign(tokens=np.tile(tokens, len(n)), loss=loss.ravel()))
    assert fit.x == ("n_params", "n_data")
    # from 30e9 tokens down to 1e9 there are six checkpoints that lie nearest to a halving
    assert len(fit.chosen.table.y) == 6 * len(n)
    assert {note.details["column"] for note in fit.notes if note.code == "also_explained"} == {
        "width",
        "depth",
    }


def repeated(count: int = 48) -> pd.DataFrame:
    """Runs on few distinct tokens, which are repeated: the loss follows them and n_params."""
    draw = np.random.default_rng(11)
    n, unique = 10 ** draw.uniform(7, 9, count), draw.choice([1e8, 4e8, 1.5e9, 6e9], count)
    tokens = unique * 10 ** draw.uniform(0, 1.2, count)
    loss = 1.7 + 300 * n**-0.34 + 500 * (unique**0.8 * tokens**0.2) ** -0.33
    loss *= np.exp(0.002 * draw.standard_normal(count))
    return pd.DataFrame({"params": n, "tokens": tokens, "unique_tokens": unique, "val_loss": loss})


@pytest.mark.slow
def test_a_third_size_that_the_law_leaves_out_is_named_and_can_be_fitted():
    runs = repeated()
    plain = sl.fit(runs, form="chinchilla")
    (note,) = (note for note in plain.notes if note.code == "also_explained")
    assert note.details["column"] == "unique_tokens"
    whole = sl.fit(runs, x=["n_params", "n_data", "unique_tokens"])
    assert whole.law.form.variables == ("n_params", "n_data", "unique_tokens")
    assert whole.law.residual_std < 0.5 * plain.law.residual_std
    at = {"n_params": 3e9, "n_data": 6e10, "unique_tokens": 2e10}
    truth = 1.7 + 300 * 3e9**-0.34 + 500 * (2e10**0.8 * 6e10**0.2) ** -0.33
    found = whole.predict(at)
    assert found.low < truth < found.high
    assert found.mean == pytest.approx(truth, rel=0.02)
    whole.plot()


def test_products_of_the_sizes_explain_nothing_beside_them():
    runs = repeated()
    runs["unique_tokens"] = runs["tokens"] / runs["params"] ** 0.5  # planned by a rule
    otherwise = np.exp(0.05 * np.random.default_rng(0).standard_normal(len(runs)))  # FLOPs by another count
    budget = 6 * runs["params"] * runs["tokens"] * otherwise
    runs["budget"] = [float(f"{value:.2g}") for value in budget]
    runs["val_loss"] *= otherwise**-2  # which the loss follows, too
    assert not [note for note in sl.fit(runs, form="chinchilla").notes if note.code == "also_explained"]


@pytest.mark.slow
def test_one_odd_run_of_a_surface_is_left_out_and_named():
    table = runs()
    table.loc[2, "val_loss"] *= 1.3
    found = sl.fit(table, form="chinchilla")
    (note,) = (note for note in found.notes if note.code == "outlier_left_out")
    assert note.details["measured"] == table["val_loss"][2]
    without = sl.fit(table.drop(index=2), form="chinchilla")
    assert found.parameters == pytest.approx(without.parameters, rel=1e-6)
    table.loc[13, "val_loss"] *= 1.08  # two of sixteen are no exception
    with pytest.raises(NotDetermined, match="one run looks wrong"):
        sl.fit(table, form="chinchilla")


@pytest.mark.slow
def test_data_of_the_ratio_of_all_runs_are_no_size_and_those_of_another_are_refused():
    n = np.geomspace(7e7, 2e9, 6)
    runs = pd.DataFrame({"params": n, "tokens": 20 * n, "loss": 1.7 + 400 * n**-0.3})
    alone = sl.predict(runs, at={"n_params": 7e9})
    assert sl.predict(runs, at={"n_params": 7e9, "n_data": 1.4e11}).mean == alone.mean
    assert sl.predict(runs, at=pd.DataFrame({"n_params": [7e9], "tokens": [1.4e11]})).mean == [alone.mean]
    for data in ("n_data", "tokens"):
        with pytest.raises(BadInput, match=r"20 tokens per parameter.*140B tokens"):
            sl.predict(runs, at={"n_params": 7e9, data: 1.4e12})
    with pytest.raises(BadInput, match="width is no size"):
        sl.predict(runs, at={"n_params": 7e9, "width": 3})
