"""Linearised networks: the engine, the eigenbasis and the network itself agree where they must."""

import numpy as np
import pytest
import torch

from scalinglab import measure, nets, train
from scalinglab.errors import BadInput
from scalinglab.train.batches import dataset_of
from scalinglab.train.setting import Setting
from tests.train.linearized_reference import solve_linearized

SETTING = {
    "model": "mlp", "dataset": "digits", "n_data": 40, "model_options": {"hidden": 16}, "loss": "mse",
    "parameterization": "ntk", "optimizer": "sgd", "learning_rate": 2.0, "full_batch": True, "steps": 100,
    "checkpoints_per_decade": 3, "test_size": 60, "measure": [],
}  # fmt: skip


def data(setting):
    dataset = dataset_of(setting)
    few = dataset.order(setting.seed_of("data"))[: setting.n_data]
    x, test = torch.as_tensor(dataset.inputs("train")[few]), torch.as_tensor(dataset.inputs("test"))
    return (x, np.eye(10)[dataset.train_y[few]]), (test, np.eye(10)[dataset.test_y])


def network(setting):
    return nets.build("mlp", (1, 8, 8), 10, hidden=16, parameterization="ntk", seed=setting.seed_of("init"))


@pytest.mark.slow
def test_engine_follows_the_solution_in_the_eigenbasis():
    setting = Setting.from_dict(SETTING | {"linearized": True, "momentum": 0.8})
    curves = train.run(setting, progress=False).frame
    exact = solve_linearized(
        network(setting), *data(setting), steps=curves["step"], learning_rate=2.0, momentum=0.8
    ).frame
    for column in ("train_loss", "test_loss"):
        np.testing.assert_allclose(curves[column], exact[column], rtol=2e-3)
    assert curves["train_loss"].iloc[-1] < 0.3 * curves["train_loss"].iloc[0]


@pytest.mark.slow
def test_network_and_linearisation_start_together_and_part():
    def losses(**extra):
        return [train.run(SETTING | extra | own, progress=False).frame for own in ({"linearized": True}, {})]

    lazy, rich = losses(learning_rate=0.002, steps=10)
    np.testing.assert_allclose(lazy["test_loss"], rich["test_loss"], rtol=1e-3)
    lazy, rich = losses()
    assert abs(np.log(lazy["train_loss"].iloc[-1] / rich["train_loss"].iloc[-1])) > 0.05
    assert lazy["compute"].tolist() == rich["compute"].tolist()
    assert lazy["run"].iloc[0] != rich["run"].iloc[0]


@pytest.mark.slow
def test_stacked_runs_keep_their_own_points():
    settings = [SETTING | {"linearized": True, "steps": 10, "seed": seed} for seed in range(3)]
    together = train.run_many(settings, progress=False).frame
    for setting in settings:
        alone = train.run(setting, progress=False).frame
        mine = together[together["seed"] == setting["seed"]]
        np.testing.assert_allclose(mine["test_loss"], alone["test_loss"], rtol=1e-4)


@pytest.mark.parametrize("name", ["cnn", "vit"])
def test_linearisation_is_linear_and_keeps_its_kernel(name):
    torch.manual_seed(0)
    model = nets.build(
        name, (3, 8, 8), 2, width=0.1, seed=0, **({"depth": 1} if name == "vit" else {})
    ).double()
    x = torch.randn(3, 3, 8, 8, dtype=torch.float64)
    kernel, before = measure.ntk(model, x), model(x).detach()
    lazy = nets.Linearized(model)
    torch.testing.assert_close(lazy(x).detach(), before)
    direction = [torch.randn_like(p) for p in lazy.parameters()]
    moved = []
    for _ in range(2):
        with torch.no_grad():
            for p, d in zip(lazy.parameters(), direction):
                p += 0.5 * d
            moved.append(lazy(x))
    torch.testing.assert_close(moved[1] - before, 2 * (moved[0] - before))
    np.testing.assert_allclose(measure.ntk(lazy, x), kernel, rtol=1e-8)


def test_default_is_the_network_and_names_of_runs_stay():
    plain = Setting.from_dict(SETTING)
    assert Setting.from_dict(SETTING | {"linearized": False}).run == plain.run
    assert "linearized" not in plain.identity()


def test_what_cannot_be_linearised_is_refused():
    with pytest.raises(BadInput, match="no norms"):
        Setting.from_dict(SETTING | {"linearized": True, "measure": ["norm"]})
    with pytest.raises(BadInput, match="without compilation"):
        Setting.from_dict(SETTING | {"linearized": True, "compile": True})
    with pytest.raises(BadInput, match="without batch normalisation"):
        nets.Linearized(nets.build("resnet", (3, 8, 8), 2, width=0.1))
