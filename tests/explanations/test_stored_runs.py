"""Explaining runs of a store: found by name, not trained again, measured slopes where there is no theory."""

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.results import Reason
from scalinglab.store import Store
from scalinglab.train.setting import Setting

CLASSIFY = {
    "model": "mlp", "dataset": "digits", "depth": 1, "model_options": {"hidden": 16}, "optimizer": "adam",
    "steps": 20, "batch_size": 16, "checkpoints_per_decade": 3, "measure": [], "test_size": 100,
    "evaluate_at_most": 50,
}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Runs of three data sizes and two widths, trained with cross-entropy."""
    path = tmp_path_factory.mktemp("classify")
    grid = [CLASSIFY | {"n_data": n, "width": w} for n in (50, 100, 200) for w in (1.0, 2.0)]
    sl.train.run_many(grid, store=path, progress=False)
    return path


def test_measured_slopes_stand_in_where_there_is_no_theory(store):
    name = Setting.from_dict(CLASSIFY | {"n_data": 100, "width": 1.0}).run
    found = sl.explain(name, store=store, samples=40)
    last = Store(store).curves().frame.sort_values("step").groupby("run").tail(1)
    for resource, column, same in (("data", "n_data", "width"), ("params", "width", "n_data")):
        part = last[last[same] == {"width": 1.0, "n_data": 100}[same]]
        slope = np.polyfit(np.log(part[column].astype(float)), np.log(part["test_loss"].astype(float)), 1)[0]
        assert found.slopes[resource] == pytest.approx(slope, rel=1e-9)
    slope = found.slopes["data"]
    doubled = Reason("measured_doubling", resource="examples", factor=2**slope, slope=slope)
    assert doubled in found.remarks
    assert "no_runs_beside" not in [remark.code for remark in found.remarks]
    assert found.to_dict()["measured_slopes"] == dict(found.slopes)
    assert not any(reason.code == "equal_epochs" for reason in found.outside)


def test_slopes_at_equal_epochs_are_named_as_such(tmp_path):
    """Where more examples are trained on for more steps."""
    by_epochs = {k: v for k, v in CLASSIFY.items() if k != "steps"} | {"epochs": 2}
    for n_data, named in ((50, False), (100, True)):  # a run alone has no slope in examples
        found = sl.explain(by_epochs | {"n_data": n_data}, store=tmp_path, samples=40)
        assert any(reason.code == "equal_epochs" for reason in found.outside) == named


def test_a_run_alone_in_its_store_says_which_slopes_are_missing(tmp_path):
    setting = CLASSIFY | {"n_data": 60}
    found = sl.explain(setting, store=tmp_path, samples=40)
    assert set(found.slopes) == {"time"}
    columns = ("n_data", "width")
    assert Reason("no_runs_beside", resources=("examples", "width"), columns=columns) in found.remarks


def test_an_unfinished_run_is_read_as_far_as_it_is_and_not_trained(tmp_path):
    setting = Setting.from_dict(CLASSIFY | {"n_data": 60})
    writer, _ = Store(tmp_path).resume(setting.identity())
    for step, loss in ((1, 2.0), (4, 1.0)):
        writer.append({"step": step, "test_loss": loss, "train_loss": loss})
    writer.close()
    found = sl.explain(setting.run, store=tmp_path, samples=40)
    np.testing.assert_array_equal(found.steps, [1, 4])
    assert found.slopes["time"] == pytest.approx(-0.5)
    assert not Store(tmp_path).done(setting.identity())


def test_names_that_do_not_match_get_those_that_are_there(store):
    runs = list(Store(store).records())
    with pytest.raises(BadInput, match=r"0 runs .*" + runs[0]):
        sl.explain("zz", store=store)
    with pytest.raises(BadInput, match=r"6 runs .*, …"):
        sl.explain("", store=store)


def test_what_cannot_be_read_is_refused_with_the_value_and_the_rule(tmp_path):
    with pytest.raises(BadInput, match="there are no runs in"):
        sl.explain("zz", store=tmp_path)
    with pytest.raises(BadInput, match=r"samples = 5: .*16"):
        sl.explain(CLASSIFY | {"n_data": 60}, samples=5)
    bad = tmp_path / "bad.toml"
    for text, words in (("model =", "not valid TOML"), ('modle = "mlp"', "did you mean 'model'")):
        bad.write_text(text)
        done = CliRunner().invoke(app, ["explain", str(bad)])
        assert isinstance(done.exception, BadInput)
        assert words in str(done.exception)


def test_runs_of_other_programs_are_refused_with_the_way_out(tmp_path):
    tracker = sl.Tracker(torch.nn.Linear(2, 1), n_data=4, store=tmp_path, seed=0, measure=())
    tracker(1, loss=torch.tensor(1.0))
    tracker.finish()
    name = next(iter(Store(tmp_path).records()))
    with pytest.raises(BadInput, match=r"sl\.explain\(curves, model, data"):
        sl.explain(name, store=tmp_path)


def test_a_language_model_gets_measured_slopes(tmp_path):
    setting = {
        "model": "decoder", "dataset": "text", "data_options": {"context": 8, "n_test": 8, "n_data": 16},
        "depth": 1, "model_options": {"dim": 8, "heads": 2}, "batch_size": 8, "steps": 10, "measure": [],
        "checkpoints_per_decade": 3, "evaluate_at_most": 8, "learning_rate": 0.02,
    }  # fmt: skip
    found = sl.explain(setting, store=tmp_path)
    assert found.kernel is None
    assert found.slopes["time"] < 0
    assert "squared loss" in found.summary()


@pytest.mark.slow
def test_more_examples_than_kernel_inputs_are_named():
    setting = CLASSIFY | {"n_data": 24, "loss": "mse", "optimizer": "sgd", "steps": 2, "learning_rate": 0.01}
    found = sl.explain(setting | {"measure": ["kernel"]}, samples=16)
    assert Reason("small_sample", inputs=16, n_data=found.n_data) in found.outside
    assert "kernel: drift" in found.summary()
    assert not any(r.code == "small_sample" for r in sl.explain(setting, samples=24).outside)


@pytest.mark.slow
def test_report_begins_with_the_explained_run(store, tmp_path):
    name = next(iter(Store(store).records()))
    page = tmp_path / "report.html"
    found = CliRunner().invoke(app, ["report", str(store), "-o", str(page), "--explain", name[:8]])
    assert found.exit_code == 0, found.output
    text = page.read_text()
    assert text.index("Where is this run?") < text.index("<h2>Runs</h2>")
    assert f"{name}: " in text
