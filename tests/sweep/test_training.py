"""The runner that trains networks, from a grid to curves in a store."""

import pytest

pytest.importorskip("torch")

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.sweep import Grid, make_plan, training

BASE = {"model": "mlp", "dataset": "digits", "batch_size": 32, "steps": 6, "optimizer": "adam"}


def test_wider_networks_and_larger_batches_need_more_memory_and_longer_runs_cost_more():
    base = training.identity(BASE)
    assert training.memory(base | {"width": 2.0}) > training.memory(base)
    assert training.memory(base | {"batch_size": 64}) > training.memory(base)
    assert training.cost(base | {"steps": 60}) == 10 * training.cost(base)


def test_runs_of_one_architecture_are_packed_together():
    grid = Grid(
        BASE, axes={"width": [0.25, 0.5], "n_data": [64, 128], "learning_rate": [1e-3, 1e-2]}, seeds=2
    )
    plan = make_plan(grid, workers=2)
    assert len(plan.missing) == 16
    assert [len(task.settings) for task in plan.tasks] == [4, 4, 4, 4]
    for task in plan.tasks:
        assert len({setting["width"] for setting in task.settings}) == 1


def test_a_misspelt_setting_is_refused_before_anything_runs():
    with pytest.raises(BadInput, match=r"'learning_rat'.*'learning_rate'"):
        make_plan(Grid({**BASE, "learning_rat": 0.1}))


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"n_data": [64, 1439]}, "n_data=1439: digits has 1438 training examples"),
        ({"model_options": [{"hidden": 8}, {"hiden": 8}]}, "mlp takes no option 'hiden'"),
        ({"model": ["mlp", "resnet"], "depth": [18, 3]}, "a resnet has depth 18 or 34, not 3"),
    ],
)
def test_networks_that_cannot_be_built_are_refused_before_anything_runs(axes, message, tmp_path):
    setting = {name: value for name, value in BASE.items() if name not in axes}
    with pytest.raises(BadInput, match=message):
        sl.sweep.run(Grid(setting, axes=axes), tmp_path / "runs", workers=1)
    assert not (tmp_path / "runs").exists()


def test_a_device_that_is_not_here_fails_no_run(tmp_path):
    with pytest.raises(BadInput, match="device='cudda'"):
        sl.sweep.run(Grid(BASE), tmp_path / "runs", workers=1, device="cudda")
    assert not (tmp_path / "runs").exists()


def test_data_that_are_not_here_fail_no_run(tmp_path, monkeypatch):
    for variable in ("SCALINGLAB_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "nothing"))
    with pytest.raises(BadInput, match="scalinglab data get mnist"):
        sl.sweep.run(Grid({**BASE, "dataset": "mnist"}), tmp_path / "runs", workers=1)
    assert not (tmp_path / "runs").exists()


def test_what_planning_knows_of_the_data_is_what_they_are():
    digits = sl.data.load("digits")
    facts = sl.data.SOURCES["digits"]
    assert (facts.shape, facts.n_train) == (digits.input_shape, digits.n_data)


def test_larger_options_of_a_network_need_more_memory():
    wide = training.identity({**BASE, "model_options": {"hidden": 4096}})
    assert training.memory(wide) > 2 * training.memory(training.identity(BASE))


@pytest.mark.nightly
def test_a_sweep_gives_the_same_curves_as_training_by_hand(tmp_path):
    grid = Grid({**BASE, "width": 0.25}, axes={"n_data": [64, 128]}, seeds=2, experiment="small")
    swept = sl.sweep.run(grid, tmp_path, workers=1, device="cpu")
    by_hand = sl.train.run_many(grid.settings(), device="cpu", progress=False)
    key = ["run", "step"]
    left, right = (c.frame.sort_values(key, ignore_index=True) for c in (swept, by_hand))
    assert left[key].equals(right[key])
    assert left["test_loss"].tolist() == pytest.approx(right["test_loss"].tolist(), rel=1e-6)
    estimate = make_plan(Grid({**BASE, "steps": 50}), device="cpu").estimate()
    assert estimate["seconds"] > 0
    assert estimate["flops"] > 50 * 32 * 1000  # a few thousand weights, six operations each and more
