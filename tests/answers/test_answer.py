"""`sl.answer`: findings whose numbers are those of the results, refusals, JSON, and notebooks."""

import json
import shlex
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab import answers
from scalinglab.answers import Answers
from scalinglab.answers.fitted import choose
from scalinglab.cli import app
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws import surface
from scalinglab.laws.planning import questions
from scalinglab.readers.guards import doubts
from scalinglab.results import Command, Reason, Status
from scalinglab.results.types import reason_of
from tests.refusals import because


def runs(sizes: int = 4, data: int = 4, noise: float = 0.004, seed: int = 0) -> pd.DataFrame:
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, sizes), np.geomspace(2e9, 2e11, data)))
    scatter = np.exp(noise * np.random.default_rng(seed).standard_normal(n.size))
    return pd.DataFrame(
        {"params": n, "tokens": d, "val_loss": (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * scatter}
    )


def curve(count: int = 6) -> pd.DataFrame:
    x = np.geomspace(1e3, 1e5, count)
    scatter = np.exp(0.01 * np.random.default_rng(0).standard_normal(count))
    return pd.DataFrame({"n_data": x, "test_error": (0.05 + 3 * x**-0.4) * scatter})


@pytest.fixture(scope="module")
def found() -> Answers:
    return sl.answer(runs(), compute=1e22)


@pytest.fixture
def unplanned(monkeypatch):
    """Without the search for the next run, which takes half of the time of an answer."""

    def refuse(*_, **__):
        raise BadInput("not planned here")

    monkeypatch.setattr(questions, "next_runs", refuse)


def test_every_question_has_a_finding_with_a_sentence_and_a_command(found):
    questions = ["read", "exponent", "power law", "ten times", "compute-optimal", "next run"]
    assert [f.question for f in found.findings] == questions
    for finding in found.findings:
        assert finding.text.endswith(".")
        assert finding.status is Status.DETERMINED
    read = found["read"].facts
    assert (read["runs"], read["compute"]) == (16, pytest.approx((6 * 1e8 * 2e9, 6 * 1e10 * 2e11)))
    assert read["sizes"] == {"n_params": pytest.approx((1e8, 1e10)), "n_data": pytest.approx((2e9, 2e11))}
    assert read["units"] == {"n_params": "parameters", "n_data": "tokens"}
    *_, option, compute = found["ten times"].command.options
    assert (option, float(compute)) == ("--compute", pytest.approx(10 * 6 * 1e10 * 2e11))  # not the one asked


def test_findings_hold_the_numbers_of_the_results(found):
    alpha = found["exponent"].values["alpha"]
    assert alpha.value == found.surface.quoted["alpha"]
    assert found.to_dict()["parameters"]["alpha"] == {
        "value": alpha.value, "low": alpha.low, "high": alpha.high
    }  # fmt: skip
    best, values = found.optimal, found["compute-optimal"].values
    assert found["compute-optimal"].facts["compute"] == best.compute[2] == 1e22
    n, d, ratio = (values[name] for name in ("n_params", "n_data", "data_per_param"))
    assert (n.value, n.low, n.high) == (
        best.n_params_median[2], best.n_params_interval.low[2], best.n_params_interval.high[2]
    )  # fmt: skip
    assert (d.value, d.unit) == (best.n_data_median[2], "tokens")
    assert (ratio.value, ratio.low) == pytest.approx((d.value / n.value, d.low / n.high))
    assert values["test_loss"].value == best.loss_median[2]
    assert values["test_loss"].high == best.loss_interval.high[2]
    tenfold = found["ten times"]
    assert tenfold.facts == {"compute": best.compute[1], "now": best.loss_median[0]}
    assert tenfold.values["test_loss"].value == best.loss_median[1]
    assert tenfold.values["test_loss"].low == best.loss_interval.low[1]
    plan = found["next run"].facts
    assert plan["runs"][0]["n_params"] == found.next_runs.runs[0, 0]
    assert plan["cost"] == pytest.approx(found.next_runs.cost.sum())
    assert (plan["before"], plan["after"]) == (found.next_runs.before, found.next_runs.after[-1])
    direct = surface.fit(*(runs()[c] for c in ("params", "tokens", "val_loss"))).compute_optimal(1e22)
    assert (found.surface.bend.seen, best.caution) == (False, None)
    assert best.n_params[2] == pytest.approx(direct.n_params)
    assert best.n_params_interval.low[2] == pytest.approx(direct.n_params_interval.low, rel=1e-3)
    assert found["compute-optimal"].facts["beyond"] < 1  # 1e22 lies within the runs


@pytest.mark.parametrize("compute", [-1.0, 0.0, np.nan, np.inf])
def test_a_compute_that_is_none_is_refused(compute):
    with pytest.raises(BadInput, match="compute="):
        sl.answer(runs(3, 3), compute=compute)


def test_six_runs_get_a_reason_and_no_number():
    poor = sl.answer(runs(3, 2), compute=1e22)
    assert poor["exponent"].status is Status.NOT_DETERMINED
    assert poor["exponent"].reasons == (Reason("few_values", size="n_data", values=2),)
    assert poor.surface is None
    assert poor.optimal is None


@pytest.mark.slow
def test_a_grid_too_small_for_a_surface_gets_a_command_that_answers(tmp_path: Path, monkeypatch):
    """A curve with the other size held; runs that share no size have none, and get the report."""
    monkeypatch.chdir(tmp_path)
    runs(2, 3).to_csv("two.csv", index=False)
    command = sl.answer("two.csv").to_dict()["answers"][-1]["command"]
    assert "--x n_data --where n_params=" in command
    again = CliRunner().invoke(app, shlex.split(command)[1:])
    assert again.exit_code == 0, again.output
    assert "falls with exponent" in " ".join(again.output.split())
    apart = runs(2, 2).assign(n_params=[1e8, 1.1e8, 1.2e8, 1.3e8])
    assert sl.answer(apart)["exponent"].command == Command("report")


@pytest.mark.usefixtures("unplanned")
def test_one_variable_gets_the_law_and_the_prediction_of_extrapolate():
    table = curve()
    found = sl.answer(table)
    further = sl.laws.extrapolate(table.n_data, table.test_error, at=1e6)
    value = found["ten times"].values["test_error"]
    expected = (further.mean[0], further.low[0], further.high[0])
    assert (value.value, value.low, value.high) == pytest.approx(expected, rel=1e-9)
    assert found["ten times"].facts == {"x": "n_data", "at": pytest.approx(1e6), "unit": "examples"}
    assert found["exponent"].values["offset"].high == found.law.parameter_intervals["offset"].high
    assert "compute-optimal" not in {finding.question for finding in found.findings}
    sizes = table.assign(n_params=1e3 * table.n_data).drop(columns="n_data")
    assert sl.answer(sizes)["compute-optimal"].reasons == (Reason("needs_both_sizes"),)


def test_a_curve_with_a_break_gets_no_exponent_and_no_plan():
    x = np.geomspace(1e3, 1e6, 10)
    noise = np.exp(0.005 * np.random.default_rng(3).standard_normal(10))
    said = sl.answer(
        pd.DataFrame(
            {"n_data": x, "test_error": 0.6 * (x / 1e3) ** -0.1 * (1 + (x / 2e4) ** 2) ** -0.2 * noise}
        )
    )
    (reason,) = said["exponent"].reasons
    assert reason.code in ("bends_away", "falls_faster")
    assert said["exponent"].values == {}
    assert said["power law"].facts["verdict"] == "no"
    assert said["power law"].reasons[0].code == "steepens"
    assert said["next run"].status is Status.NOT_DETERMINED
    assert said.next_runs is None
    values = said.to_dict()["parameters"]
    assert {*values} >= {"exponent", "amplitude"}
    assert all(value == {"value": None, "low": None, "high": None} for value in values.values())


@pytest.mark.slow
def test_accuracy_reward_and_tables_without_sizes():
    table = curve(8)
    percent = table.assign(accuracy=100 * (1 - table.test_error)).drop(columns="test_error")
    (same,), (exact,) = (sl.answer(t).to_dict()["extrapolation"] for t in (percent, table))
    assert same == pytest.approx(exact)
    said = sl.answer(percent, y="accuracy")
    assert said["exponent"].facts["y"] == "1 - test_accuracy"
    assert said["next run"].facts["quantity"] == said.next_runs.quantity == "1 - test_accuracy"
    assert 0.9 < said.extrapolation.mean[0] < 0.97
    reward = sl.answer(table.assign(reward=np.log(table.n_data)).drop(columns="test_error"), y="reward")
    assert reward["exponent"].status is Status.NOT_DETERMINED
    assert "best score - score" in reward["exponent"].text
    with pytest.raises(BadInput, match="no size varies"):
        sl.answer(pd.DataFrame({"seed": [1, 2, 3], "loss": [1.0, 1.1, 1.2]}))


def test_trainings_that_differ_by_their_schedules_are_sent_to_laws_of_schedules():
    steps = np.arange(100, 4000, 100)
    one = pd.DataFrame({"step": steps, "lr": 1e-3, "loss": 2 + steps**-0.5})
    falls = one.assign(lr=1e-3 * (1 - steps / 5000), loss=2 + 0.9 * steps**-0.5)
    with pytest.raises(BadInput, match="laws schedule"):
        sl.answer(pd.concat([one.assign(run="constant"), falls.assign(run="linear")]))


@pytest.mark.nightly
def test_a_surface_that_bends_is_told_apart_from_one_that_does_not(tmp_path: Path, monkeypatch):
    straight, bent = runs(seed=3), runs(seed=3)
    u = np.log(bent.tokens / 2e10)  # of params it could be what runs of one size share
    bent["val_loss"] *= np.exp(0.01 * u**2)
    fits = [surface.fit(t.params, t.tokens, t.val_loss) for t in (straight, bent)]
    assert [fitted.bend.seen for fitted in fits] == [False, True]
    shape = sl.answer(bent)["power law"]
    assert shape.facts["verdict"] == "not quite"
    assert shape.reasons[0].details["p"] == pytest.approx(fits[1].bend.pvalue)
    # said wherever intervals beyond the runs are printed, and once
    best = [fitted.compute_optimal(1e24) for fitted in fits]
    for said in ([fitted.summary() for fitted in fits], [found.summary() for found in best]):
        assert [text.count("runs bend away from the form") for text in said] == [0, 1]
    monkeypatch.chdir(tmp_path)
    bent.to_csv("runs.csv")
    shown = CliRunner().invoke(app, ["laws", "surface", "runs.csv", "--compute", "1e24"])
    assert shown.output.count("runs bend away from the form") == 1
    within = fits[1].compute_optimal(1e20)
    assert "residuals bend" not in within.summary()


@pytest.mark.slow
def test_the_same_table_gives_the_same_answers_on_every_road(tmp_path: Path):
    """CSV, renamed columns, DataFrame and checkpoints of the same runs: same runs, same intervals."""
    table = runs(4, 4)
    table.to_csv(tmp_path / "ours.csv", index=False)
    table.rename(columns={"params": "N", "tokens": "seen_so_far"}).to_csv(
        tmp_path / "theirs.csv", index=False
    )
    steps = pd.concat([
        table.assign(run=range(16), step=k, tokens=table.tokens * k / 40, val_loss=table.val_loss + 40 - k)
        for k in range(1, 41)
    ])  # fmt: skip
    roads = [
        sl.answer(table), sl.answer(tmp_path / "ours.csv"),
        sl.answer(tmp_path / "theirs.csv", tokens="seen_so_far"), sl.answer(steps),
    ]  # fmt: skip
    first = roads[0].optimal
    for road in roads[1:]:
        assert len(np.unique(road.surface.law.points.runs)) == 16
        assert road.optimal.n_params_interval.low == pytest.approx(first.n_params_interval.low, rel=0.02)
        assert road.optimal.n_params_interval.high == pytest.approx(first.n_params_interval.high, rel=0.02)


@pytest.mark.slow
def test_command_prints_sentences_or_json(found, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked: list[float | None] = []
    monkeypatch.setattr(answers, "answer", lambda _, compute, **__: asked.append(compute) or found)
    runs(2, 3).to_csv("runs.csv", index=False)
    plain = CliRunner(env={"COLUMNS": "80"}).invoke(
        app, ["answer", "runs.csv", "--compute", "1e22", "--figure", "answer.png"], catch_exceptions=False
    )
    said = " ".join(plain.output.split())
    assert asked == [1e22]
    assert all(" ".join(f.text.split()) in said for f in found.findings)
    assert "scalinglab plan optimal runs.csv --y test_loss --compute 1e22" in said
    assert Path("answer.png").stat().st_size > 10_000
    wrong = CliRunner().invoke(app, ["answer", "runs.csv", "--compute", "1e22FLOP"])
    assert (wrong.exit_code, "--compute" in wrong.output) == (2, True)
    spoken = CliRunner().invoke(app, ["answer", "runs.csv", "--json"], catch_exceptions=False)
    document = json.loads(spoken.stdout)
    assert [row["text"] for row in document["answers"]] == [f.text for f in found.findings]
    assert document["answers"][4]["values"]["n_params"]["low"] == found.optimal.n_params_interval.low[2]
    assert document["worth_it"] is found.next_runs.worth_it
    assert document["parameters"]["beta"]["value"] == found.surface.quoted["beta"]
    assert document["compute_optimal"][2]["n_params"] == found.optimal.n_params[2]
    assert document["understood"].startswith("runs.csv: 6 runs")


# --- notebooks -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown(found) -> dict:
    points = curve(8)
    rows = []
    for n_data in (100, 200, 400, 800, 1600, 3200):
        norm = np.geomspace(1, 3 * n_data, 40)
        error = np.minimum(0.9 * norm**-0.5 * (1 + (norm / n_data) ** 1.5), 0.9)
        rows.append(pd.DataFrame({"n_data": n_data, "norm": norm, "test_error": error, "step": range(1, 41)}))
    return {
        "Law": sl.laws.fit("power_law_offset", points.n_data, points.test_error),
        "Surface": found.surface,
        "Optimal": found.optimal,
        "Extrapolation": sl.laws.extrapolate(points.n_data, points.test_error, at=[2e5, 1e6]),
        "NextRuns": found.next_runs,
        "Dynamical": sl.laws.dynamical(sl.Curves(pd.concat(rows, ignore_index=True))),
        "Answers": found,
    }


@pytest.mark.parametrize(
    "name", ["Law", "Surface", "Optimal", "Extrapolation", "NextRuns", "Dynamical", "Answers"]
)
def test_every_result_draws_itself_and_has_a_table_for_notebooks(shown, name):
    result = shown[name]
    assert type(result).__name__ == name
    html = result._repr_html_()
    assert ("<img" if name == "Answers" else "<table") in html
    assert "<pre>" in html
    axes = result.plot()
    assert isinstance(axes, matplotlib.axes.Axes)
    assert axes.lines or axes.collections
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    _, own = sl.figures.style.panels()
    assert result.plot(own[0, 0]) is own[0, 0]


@pytest.mark.nightly
def test_a_notebook_shows_answers_as_html_and_figures():
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [
        "%matplotlib inline\nimport numpy as np, pandas as pd, scalinglab as sl\n"
        "n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 4), np.geomspace(2e9, 2e11, 4)))\n"
        "noise = np.exp(0.004 * np.random.default_rng(0).standard_normal(16))\n"
        "found = sl.answer(pd.DataFrame({'N': n, 'tokens': d,"
        " 'loss': (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * noise}))",
        "found", "found.plot().figure", "found.surface", "found.optimal", "found.next_runs",
    ]  # fmt: skip
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbclient.NotebookClient(book, timeout=120).execute()
    outputs = [cell["outputs"][-1]["data"] for cell in book.cells[1:]]
    assert "Best model for" in outputs[0]["text/html"]
    assert "image/png" in outputs[1]
    for output in outputs[2:]:
        assert "<table" in output["text/html"]


@pytest.mark.usefixtures("unplanned")
def test_an_unknown_measurement_is_asked_for_instead_of_guessed():
    table = pd.DataFrame(
        {"params": ["19M", "70M", "160M", "410M"], "seen": [1, 2, 3, 4], "quality": [4, 3, 2.5, 2]}
    )
    with pytest.raises(BadInput, match=r"may be seen, quality.*--y seen"):
        sl.answer(table)
    assert sl.answer(table, test_loss="quality").y == "test_loss"


@pytest.mark.usefixtures("unplanned")
def test_a_single_measurement_needs_no_known_name():
    x = np.geomspace(1e3, 1e5, 6)
    assert sl.answer(pd.DataFrame({"n_train": x, "quality": 1 + 30 * x**-0.5})).y == "quality"


@pytest.mark.usefixtures("unplanned")
def test_settings_are_declared_as_in_read():
    with pytest.raises(BadInput, match=r"settings=\['clip'\]"):
        sl.answer(curve(), settings=["clip"])
    assert sl.answer(curve().assign(clip=1.0), settings=["clip"]).y == "test_error"


@pytest.mark.slow
@pytest.mark.usefixtures("unplanned")
def test_a_size_of_any_name_and_a_share_of_the_data_are_asked_for():
    table = curve().rename(columns={"n_data": "GPU-days"})
    assert sl.answer(table, x="GPU-days").x == "GPU-days"
    spaced = sl.answer(table.set_axis(["GPU hours", "test_error"], axis=1), x="GPU hours")
    command = spaced["exponent"].command.line()
    assert shlex.split(command)[3:] == ["TABLE.csv", "--x", "GPU hours", "--y", "test_error"]
    share = sl.answer(table.assign(**{"GPU-days": np.geomspace(0.01, 1, 6)}), n_data="GPU-days")
    assert share["ten times"].facts == {
        "x": "n_data", "at": pytest.approx(10), "unit": "times the whole set"
    }  # fmt: skip
    assert share.table == ("TABLE.csv", "--column", "n_data=GPU-days")
    score = pd.DataFrame(
        {"params": np.geomspace(1e6, 1e9, 5), "log_likelihood": [-4.0, -3.0, -2.5, -2.2, -2.0]}
    )
    assert "log_likelihood rises with n_params, from -4 to -2" in sl.answer(score)["exponent"].text


@pytest.mark.slow
@pytest.mark.usefixtures("unplanned")
def test_runs_that_diverged_are_left_out_and_counted():
    table = runs(4, 4)
    table.loc[[3, 7], "val_loss"] = np.nan, np.inf
    found = sl.answer(table, compute=1e40)
    best = found["compute-optimal"]
    assert (best.status, best.reasons[0].code) == (Status.NOT_DETERMINED, "too_far")
    assert (best.facts["compute"], best.facts["beyond"]) == pytest.approx((1.2e23, 10))
    assert best.values["n_params"].value == found.optimal.n_params_median[-1]
    assert found["read"].facts["runs"] == 14
    assert found["read"].reasons == (Reason("left_out_value", runs=2, y="test_loss"),)
    assert len(found.surface.law.points.y) == 14
    with pytest.raises(BadInput, match="test_loss"):
        sl.answer(table.assign(val_loss=np.nan, train_loss=1.0), y="test_loss")


@pytest.mark.slow
def test_commands_read_the_table_as_the_answer_did(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = curve().rename(columns={"n_data": "train images"}).assign(optimizer="sgd")
    pd.concat([table, table.assign(optimizer="adam")]).to_csv("mine.csv", index=False)
    asked = ["--column", "n_data=train images", "--where", "optimizer=sgd"]
    said = CliRunner().invoke(app, ["answer", "mine.csv", *asked, "--json"], catch_exceptions=False)
    commands = {row["question"]: row["command"] for row in json.loads(said.stdout)["answers"]}
    assert "mine.csv --column 'n_data=train images' --where optimizer=sgd --x n_data" in commands["exponent"]


def two_kinds() -> pd.DataFrame:
    worse = curve().assign(recipe="b", test_error=lambda t: 2 * t.test_error)
    return pd.concat([curve().assign(recipe="a"), worse])


def of_steps() -> pd.DataFrame:
    table = runs().rename(columns={"tokens": "step"})
    return table.assign(step=table["step"] / 1e6, run=[f"r{k}" for k in range(len(table))])


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("table", "options"),
    [
        (runs(), ()),
        (curve(), ()),
        (two_kinds(), ()),
        (of_steps(), ("--x", "n_params,step")),
    ],
)  # fmt: skip
def test_every_command_that_an_answer_offers_runs(table, options, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table.to_csv("mine.csv", index=False)
    said = CliRunner().invoke(app, ["answer", "mine.csv", *options, "--json"], catch_exceptions=False)
    commands = {row["command"] for row in json.loads(said.stdout)["answers"]} - {None}
    assert len(commands) > 1
    for command in commands:
        again = CliRunner().invoke(app, shlex.split(command)[1:])
        assert again.exit_code == 0, (command, again.output)


@pytest.mark.slow
def test_sizes_other_than_parameters_and_data_are_grown_one_by_one():
    table, x = of_steps(), ["n_params", "step"]
    with pytest.raises(NotDetermined, check=because("other_lengths")):
        sl.answer(table)
    found = sl.answer(table, x=x)
    grown = [finding for finding in found.findings if finding.question == "ten times"]
    assert [finding.facts["x"] for finding in grown] == x
    fit, largest = sl.fit(table, x=x), {name: table[c].max() for name, c in zip(x, ("params", "step"))}
    for finding in grown:
        expected = fit.predict(largest | {finding.facts["x"]: 10 * largest[finding.facts["x"]]})
        value = finding.values["test_loss"]
        assert (value.value, value.low, value.high) == (expected.mean, expected.low, expected.high)


@pytest.mark.slow
def test_a_curve_whose_values_are_only_rounded_is_answered():
    # an error of the form below every size that is tried explains all that these residuals show
    x = 100 * 2.0 ** np.arange(10)
    found = sl.answer(pd.DataFrame({"n_data": x, "test_error": (0.05 + 3 * x**-0.5).round(6)}))
    assert found["ten times"].values["test_error"].value == pytest.approx(0.05 + 3 * 512000**-0.5, rel=1e-4)
    assert found["exponent"].values["exponent"].value == pytest.approx(0.5, abs=1e-3)


@pytest.mark.slow
def test_a_table_that_was_pasted_twice_gives_the_same_answer():
    once, twice = sl.answer(curve()), sl.answer(pd.concat([curve()] * 2))
    assert twice.findings == once.findings
    assert Reason("copies_counted_once", rows=6) in twice.notes
    rounded = sl.answer(pd.concat([curve().round({"test_error": 2})] * 2))
    assert rounded["read"].facts["runs"] == 12  # repeats may well share two digits


@pytest.mark.slow
def test_the_plan_speaks_of_the_interval_that_was_printed():
    """Beyond seven sizes the interval of the prediction holds more than the noise that runs average out."""
    found = sl.answer(curve(12))
    printed = found["ten times"].values["test_error"]
    assert found.next_runs.before == pytest.approx((printed.high - printed.low) / 2 / printed.value)
    flat = curve().assign(test_error=[0.29, 0.31, 0.3, 0.285, 0.305, 0.295])
    assert sl.answer(flat, x="n_data", y="test_error")["next run"].status is Status.NOT_DETERMINED


def test_sizes_in_other_units_are_doubted():
    small = runs(4, 4).assign(params=lambda t: t.params / 1e6, tokens=lambda t: t.tokens / 1e9)
    whole = pd.DataFrame({"N": [10, 10, 1000, 1000], "D": [1, 100, 1, 100], "loss": [4.5, 3.8, 3.1, 2.3]})
    alone = pd.DataFrame({"params": [70, 160, 410, 1400], "loss": [3.9, 3.4, 3.0, 2.7]})
    for table, code in ((small, "small_sizes"), (whole, "small_n"), (alone, "small_sizes")):
        with pytest.raises(BadInput, check=because(code)):
            choose(sl.read(table))
    assert choose(sl.read(alone), x="n_params").x == ("n_params",), "counts as they stand"
    with pytest.raises(BadInput) as refused:
        choose(sl.read(whole))
    named = reason_of(refused.value).details["sizes"].split(",")
    assert choose(sl.read(whole), x=named).x == ("n_params", "n_data"), "the way out keeps both sizes"
    network = whole.assign(D=[1000, 4000, 1000, 4000])
    assert choose(sl.read(network)).x == ("n_params", "n_data"), "a small network"
    counted = runs(4, 4).assign(flops=lambda t: 8.4 * t.params * t.tokens)
    flops = doubts(sl.read(counted))[0]
    assert flops.code == "other_flops"
    assert (flops.details["ratio"], flops.details["theirs"]) == pytest.approx((1.4, 8.4))
    assert not doubts(sl.read(runs(4, 4).assign(flops=lambda t: 6 * t.params * t.tokens)))
    read_off = sl.read(
        runs(4, 4).rename(columns={"tokens": "n_data"}).assign(n_data=lambda t: t.n_data / 1e3)
    )
    assert read_off.data_unit == "examples"
    assert not doubts(read_off)  # 4.6e8 and a fraction is not in millions


@pytest.mark.slow
@pytest.mark.usefixtures("unplanned")
def test_a_flat_a_steepening_and_a_short_curve_get_no_exponent_that_looks_sure():
    flat = curve().assign(test_error=[0.3, 0.301, 0.299, 0.3005, 0.2998, 0.3002])
    said = sl.answer(flat, x="n_data", y="test_error")  # which reading asks for where y does not follow x
    assert said["exponent"].reasons == (Reason("no_fall", y="test_error", x="n_data"),)
    x = np.geomspace(1e6, 1e9, 7)
    steeper = pd.DataFrame({"params": x, "loss": np.where(x < 3e7, (x / 3e7) ** -0.02, (x / 3e7) ** -0.15)})
    assert sl.answer(steeper)["exponent"].reasons == (Reason("falls_faster", y="loss", x="n_params"),)
    short = sl.answer(curve(6)[::2])["exponent"]
    assert short.reasons == (Reason("floor_assumed", sizes=3),)
    assert list(short.values) == ["exponent"]


def test_one_training_gets_the_law_along_its_steps_and_no_shorter_runs_to_add():
    steps = 100 * 2 ** np.arange(8)
    found = sl.answer(pd.DataFrame({"steps": steps, "loss": 3 + 20 * steps**-0.5}))
    assert found.x == "step"
    assert found["ten times"].values["loss"].value == pytest.approx(3 + 20 * 128000**-0.5, rel=1e-3)
    assert found["next run"].reasons == (Reason("one_run"),)


def test_runs_on_one_line_get_the_law_along_it():
    line = runs(5).drop_duplicates("params").assign(tokens=lambda t: 20 * t.params)
    found = sl.answer(line)
    assert found.x == "n_params"
    note = next(note for note in found.notes if note.code == "law_at_a_ratio")
    assert (note.details["factor"], note.details["power"]) == pytest.approx((20, 1))
    assert note.details["data"] == "tokens"
    assert "both_vary" not in {note.code for note in found.notes}
    with pytest.raises(BadInput, check=because("sizes_on_a_line", second="n_data", factor=20.0)):
        sl.fit(line, x=["n_params", "n_data"])


@pytest.mark.slow
@pytest.mark.usefixtures("unplanned")
def test_a_loss_that_rises_with_parameters_is_said_to():
    n, d = (v.ravel() for v in np.meshgrid([1e6, 1e7, 1e8, 1e9], [1e6, 4e6, 1.6e7, 6.4e7]))
    found = sl.answer(
        pd.DataFrame({"params": n, "tokens": d, "loss": 2 + 0.08 * np.log10(n) + 300 * d**-0.4})
    )
    assert found["exponent"].reasons == (Reason("rises_with", y="loss", size="n_params"),)
    assert list(found["exponent"].values) == ["beta"]
    values = found.to_dict()["parameters"]
    assert values["alpha"]["value"] is values["alpha"]["low"] is None
    assert values["beta"]["value"] == found.surface.quoted["beta"]
    assert found["power law"].facts["verdict"] == "unknown"
    assert found["compute-optimal"].reasons == (Reason("loss_rises", size="n_params"),)
    assert found["next run"].reasons == (Reason("no_optimum"),)


@pytest.mark.nightly
def test_runs_of_nearly_one_size_do_not_show_a_power_law():
    n, d = (v.ravel() for v in np.meshgrid([1e8, 1.2e8, 1.4e8, 1.6e8], [1e9, 1.2e9, 1.5e9, 2e9]))
    noise = np.exp(0.003 * np.random.default_rng(0).standard_normal(16))
    table = pd.DataFrame({"params": n, "tokens": d, "loss": (1.7 + 400 * n**-0.34 + 410 * d**-0.28) * noise})
    assert sl.answer(table)["power law"].status is Status.NOT_DETERMINED


def test_rows_that_may_be_checkpoints_are_doubted():
    rows = runs(4, 4).assign(step=lambda t: t.tokens / 2e6, model=lambda t: t.params.map("net-{:.0f}".format))
    assert doubts(sl.read(rows))[0] == Reason("rows_as_runs", column="model")
    assert not doubts(sl.read(rows, run="model"))
    shuffled = rows.assign(step=np.random.default_rng(0).permutation(rows.step))
    assert not doubts(sl.read(shuffled)), "separate runs with their own batch sizes"


@pytest.mark.slow
def test_answers_print_as_sentences():
    found = sl.answer(curve())
    assert str(found) == found.summary()
    widths = sl.answer(curve().assign(width=2.0 ** np.arange(5, 11)).drop(columns="n_data"))
    assert widths["ten times"].facts == {"x": "width", "at": 10240, "unit": "width"}
    assert widths["next run"].facts["unit"] == widths.next_runs.unit == ""  # widths do not add up


@pytest.mark.usefixtures("unplanned")
def test_sizes_are_spoken_of_in_their_units():
    compute = np.geomspace(1e17, 1e20, 9)
    found = sl.answer(pd.DataFrame({"flops": compute, "eval_loss": 1.7 + 40 * compute**-0.09}))
    assert found["read"].facts["units"] == {"compute": "FLOPs"}
    assert found["ten times"].facts["unit"] == "FLOPs"
    assert found["exponent"].values["offset"].value == pytest.approx(1.7, rel=1e-3)


@pytest.mark.usefixtures("unplanned")
def test_answers_take_the_measurement_that_fits_take():
    x = np.geomspace(1e3, 1e5, 6)
    table = pd.DataFrame({"n_train": x, "val_loss": 0.2 + 30 * x**-0.6, "test acc (%)": 97 - 400 * x**-0.45})
    assert sl.answer(table).y == "test_error"
    assert sl.answer(table, y="val_loss").y == "test_loss"


@pytest.mark.parametrize("given", [pd.DataFrame, sl.Curves])
def test_isoflop_curves_without_their_data_are_answered_as_a_surface(given):
    table = pd.DataFrame({"n_params": [1e7, 4e7, 4e7, 2e8], "compute": [1e18, 1e18, 1e20, 1e20]})
    found = sl.answer(given(table.assign(run=list("abcd"), test_loss=[3.5, 3.4, 2.6, 2.5])))
    n_data = table["compute"] / (6 * table["n_params"])
    assert found["read"].facts["sizes"]["n_data"] == pytest.approx((n_data.min(), n_data.max()))
    assert "compute / (6 n_params)" in "".join(map(str, found.notes))


@pytest.mark.slow
def test_the_optimum_of_the_quoted_form_is_told_where_the_average_of_forms_is_elsewhere():
    draw = np.random.default_rng(0)
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(3e7, 3e9, 7), np.geomspace(1e9, 1e11, 7)))
    bend = np.where(d > 1e10, (d / 1e10) ** -0.5, 1.0)  # data are worth more beyond ten billion tokens
    loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37 * bend) * np.exp(0.001 * draw.standard_normal(len(n)))
    answers = sl.answer(pd.DataFrame({"params": n, "tokens": d, "loss": loss}))
    best = answers["compute-optimal"].values
    alone = sl.laws.surface.fit(n, d, loss, form="chinchilla")
    held = alone.compute_optimal(answers["compute-optimal"].facts["compute"], assume_form=True)
    told = best["n_params_if_the_form_holds"]
    assert told.value == pytest.approx(held.n_params_median, rel=0.02)
    assert abs(np.log(told.value / best["n_params"].value)) > np.log(1.5)


@pytest.mark.slow
def test_a_run_whose_learning_rate_falls_is_not_continued():
    step = np.arange(1, 60) * 100.0
    loss = 2.5 + 4 * step**-0.3
    falling = pd.DataFrame({"step": step, "lr": 1e-3 * (1 - 0.9 * step / step.max()), "loss": loss})
    found = sl.answer(falling)["ten times"]
    assert found.status is Status.NOT_DETERMINED
    assert found.reasons[0].code == "rate_falls"
    assert found.reasons[0].details["part"] == pytest.approx(0.1 / (1 - 0.9 / 59), rel=1e-3)
    assert sl.answer(falling.assign(lr=1e-3))["ten times"].status is Status.DETERMINED


@pytest.mark.slow
def test_a_search_over_rates_at_several_widths_names_the_command_that_finds_the_best_rate(unplanned):
    draw = np.random.default_rng(0)
    width, rate = (v.ravel() for v in np.meshgrid([128, 256, 512, 1024], 2.0 ** -np.arange(4, 13)))
    valley = 0.05 * (np.log2(rate) + 7 + np.log2(width / 128) / 2) ** 2
    loss = 2 + 20 * width**-0.5 + valley + 0.003 * draw.standard_normal(36)
    table = pd.DataFrame({"width": width, "lr": rate, "loss": loss})
    command = sl.answer(table)["compute-optimal"].command
    assert command == Command("plan hyperparameters", "--at", "width=10240")
    alone = sl.answer(table[table["lr"] == 2.0**-7])
    assert "compute-optimal" not in {finding.question for finding in alone.findings}


def test_a_surface_of_negative_values_asks_for_the_loss():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e7, 1e9, 4), np.geomspace(1e9, 1e11, 4)))
    table = pd.DataFrame({"n_params": n, "n_data": d, "loss": 480 * n**-0.35 + 2100 * d**-0.37 - 9})
    found = sl.answer(table)
    (reason,) = found["exponent"].reasons
    assert (reason.code, reason.details["points"]) == ("never_positive", 16)


@pytest.mark.nightly
def test_an_optimum_that_the_runs_leave_open_over_six_decades_is_refused():
    draw = np.random.default_rng(0)
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(2e8, 1.3e9, 4), np.geomspace(4e9, 2.5e11, 4)))
    error = (0.73 - 0.015 * np.log(n / 2e8) * np.log(d / 4e9) / 3) * np.exp(0.003 * draw.standard_normal(16))
    found = sl.answer(pd.DataFrame({"n_params": n, "n_data": d, "test_error": error}))["compute-optimal"]
    size = found.values.get("n_params")
    assert size is None or size.high < 1e6 * size.low


@pytest.mark.nightly
def test_without_a_best_split_ten_times_the_compute_grows_both_sizes_alike():
    """Runs whose loss hardly depends on tokens: the law at √10 times both sizes of the largest is known."""
    rng = np.random.default_rng(0)
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e7, 1e9, 5), np.geomspace(1e9, 3e10, 4)))
    loss = (1.8 + 400 * n**-0.35) * np.exp(0.004 * rng.standard_normal(20))
    found = sl.answer(pd.DataFrame({"params": n, "tokens": d, "loss": loss}))
    assert found["compute-optimal"].status is Status.NOT_DETERMINED
    tenfold = found["ten times"]
    root = np.sqrt(10)
    assert tenfold.facts["sizes"] == pytest.approx({"n_params": 1e9 * root, "n_data": 3e10 * root})
    assert tenfold.facts["compute"] == pytest.approx(1.8e21)
    assert tenfold.facts["now"] == pytest.approx(1.8 + 400 * 1e9**-0.35, rel=0.01)
    value = tenfold.values["loss"]
    assert value.low < 1.8 + 400 * (1e9 * root) ** -0.35 < value.high
    again = sl.predict(pd.DataFrame({"params": n, "tokens": d, "loss": loss}), at=tenfold.facts["sizes"])
    assert (again.mean, again.low, again.high) == (value.value, value.low, value.high)
    assert "as 3.16B parameters on 94.9B tokens" in tenfold.text


def recipes(*kinds: str) -> pd.DataFrame:
    """Curves that differ by far more than their scatter: 0.05 k + 3 k n^-0.4 of the kind k = 1, 2, …"""
    each = []
    for k, kind in enumerate(kinds, start=1):
        names = dict(zip(("backbone", "augmentation"), kind.split(), strict=False))
        each.append(curve().assign(**names, test_error=lambda t, k=k: k * t["test_error"]))
    return pd.concat(each, ignore_index=True)


@pytest.mark.slow
def test_rows_of_several_kinds_are_answered_one_by_one(unplanned):
    table = recipes("resnet", "vit", "mixer")
    found = sl.answer(table)
    ahead = [f for f in found.findings if f.question == "ten times"]
    assert [f.facts["kind"] for f in ahead] == ["resnet", "vit", "mixer"]
    for k, (finding, kind) in enumerate(zip(ahead, ("resnet", "vit", "mixer"), strict=True), start=1):
        assert (
            finding.values["test_error"].low
            <= k * (0.05 + 3 * 1e6**-0.4)
            <= finding.values["test_error"].high
        )
        assert finding.command == Command("answer", "--where", f"backbone={kind}")
    assert found.card == tuple(ahead)
    assert ahead[1].values == sl.answer(table[table["backbone"] == "vit"])["ten times"].values


@pytest.mark.slow
def test_kinds_within_kinds_are_answered_and_those_that_are_too_few_are_refused(unplanned):
    table = recipes("vit none", "vit strong", "resnet none")
    few = table[(table["backbone"] == "vit") | (table["n_data"] < 3e3)]
    ahead = [f for f in sl.answer(few).findings if f.question == "ten times"]
    assert {f.facts["kind"]: bool(f.values) for f in ahead} == {
        "vit, none": True, "vit, strong": True, "resnet": False
    }  # fmt: skip
    assert ahead[0].command == Command("answer", "--where", "backbone=vit", "--where", "augmentation=none")
    (note,) = (note for note in sl.answer(few).notes if note.code == "answered_by_kind")
    assert note.details["columns"] == ("backbone", "augmentation")


def test_many_kinds_and_rows_of_no_kind_are_refused_with_the_choices():
    with pytest.raises(NotDetermined, match=r"13 values of backbone.*--where backbone=a"):
        sl.answer(recipes(*"abcdefghijklm"))
    with pytest.raises(NotDetermined, match=r"\(none, vit\).*--where backbone=vit"):
        sl.answer(recipes("none", "vit").replace("none", None))
