"""Variance-limited networks: linearised training, and excess losses over a partition."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.func import functional_call, jvp

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.papers.bahri2021 import variance
from scalinglab.papers.bahri2021.linearized import final_loss
from scalinglab.store import Store
from scalinglab.train import Setting, run
from scalinglab.train.batches import Resident, dataset_of
from scalinglab.train.training_step import network, objective

WIDE = Setting(
    model="mlp", depth=2, model_options={"hidden": 32, "activation": "erf"}, parameterization="ntk",
    dataset="digits", n_data=12, test_size=15, loss="mse", optimizer="sgd", learning_rate=0.4,
    full_batch=True, steps=30, measure=(), seed=3, data_seed=0,
)  # fmt: skip


def trained_parameters(setting: Setting) -> float:
    """Test loss of the linearised network by gradient descent on its parameters, step by step."""
    resident = Resident(
        dataset_of(setting).subset(setting.n_data, setting.seed_of("data")), torch.device("cpu")
    )
    model = network(setting, resident).double().eval()
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    x, test = (resident.inputs(v).double() for v in (resident.train_x, resident.test_x))

    def outputs(moved: dict, at: torch.Tensor) -> torch.Tensor:
        value, change = jvp(lambda p: functional_call(model, p, (at,)), (start,), (moved,))
        return value + change

    moved = {name: torch.zeros_like(p) for name, p in start.items()}
    for _ in range(setting.steps):
        leaves = {name: p.detach().requires_grad_() for name, p in moved.items()}
        loss = objective(outputs(leaves, x)[None], resident.train_y[None], setting).sum()
        gradients = torch.autograd.grad(loss, list(leaves.values()))
        moved = {n: p - setting.learning_rate * g for (n, p), g in zip(moved.items(), gradients)}
    return float(objective(outputs(moved, test)[None], resident.test_y[None], setting))


@pytest.mark.filterwarnings("ignore:`torch.jit")  # which forward-mode derivatives load
@pytest.mark.parametrize("loss", ["mse", "cross_entropy"])
def test_kernel_steps_are_gradient_descent_on_the_linearised_network(loss: str):
    setting = replace(WIDE, loss=loss)
    assert final_loss(setting) == pytest.approx(trained_parameters(setting), rel=1e-5)


def test_wide_networks_approach_their_linearisation():
    gaps = []
    for hidden in (64, 1024):
        setting = replace(WIDE, model_options={"hidden": hidden, "activation": "erf"})
        trained = run(setting, progress=False).frame["test_loss"].iloc[-1]
        gaps.append(abs(trained - final_loss(setting)))
    assert gaps[1] < 0.25 * gaps[0]


def test_a_linearised_network_takes_plain_gradient_descent_only():
    with pytest.raises(BadInput, match="full-batch gradient descent"):
        final_loss(replace(WIDE, momentum=0.9))


def test_the_mean_over_a_partition_leaves_out_the_first_order():
    s = variance.DataScale((), 1408, (2, 8), 3, 20, 0.5)
    sizes, excess, table = variance.excess_loss(variance.Task("digits", pool=4, hidden=3), s)
    assert sizes == pytest.approx([1408 / 7, 1408])
    # a single draw of 176 examples differs from the whole set by far more than a partition's mean does
    assert (excess > 0).all()
    assert np.allclose(excess.mean(0), table.groupby("n_data")["excess_loss"].mean())


def test_an_unknown_activation_is_refused():
    from scalinglab import nets

    with pytest.raises(BadInput, match="did you mean 'erf'"):
        nets.build("mlp", (4,), 2, activation="erff")


def test_the_table_of_widths_is_read_again_from_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    small = variance.WidthScale("digits", 1, (8, 16), 2, (("erf", "mse"),), 6, 6, 3)
    monkeypatch.setitem(variance.WIDTH_SCALES, "smoke", small)
    made = variance.fig1_bottom_right("smoke")
    Store(tmp_path).add(made.curves)
    assert sorted(sl.read(tmp_path)["excess_loss"]) == sorted(made.curves["excess_loss"])
