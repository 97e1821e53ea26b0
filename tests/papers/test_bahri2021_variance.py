"""Variance-limited networks: linearised training, and excess losses over a partition."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.func import functional_call, jvp
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.store import Store
from scalinglab.studies import trained
from scalinglab.train import Setting, run
from scalinglab.train.batches import Resident, dataset_of
from scalinglab.train.training_step import network, objective
from scalinglab_papers.bahri2021.stacks import descent, linearized
from scalinglab_papers.bahri2021.stacks.descent import partition_losses
from scalinglab_papers.bahri2021.stacks.linearized import losses_beside, tangent_kernel
from scalinglab_papers.bahri2021.variance import data, width
from scalinglab_papers.bahri2021.variance.judged import Judged

WIDE = Setting(
    model="mlp", depth=2, model_options={"hidden": 32, "activation": "erf"}, parameterization="ntk",
    dataset="digits", n_data=12, test_size=15, loss="mse", optimizer="sgd", learning_rate=0.4,
    full_batch=True, steps=30, measure=(), seed=3, data_seed=0,
)  # fmt: skip


def final_losses(settings: list[Setting]) -> list[tuple[float, float]]:
    """The last losses of each setting's network and of its linearisation."""
    return [(own[-1]["test_loss"], own[-1]["linearized_test_loss"]) for own in losses_beside(settings)]


def trained_parameters(setting: Setting) -> float:
    """Test loss of the linearised network by gradient descent on its parameters, step by step."""
    resident = Resident(
        dataset_of(setting).subset(setting.n_data, setting.seed_of("data")), torch.device("cpu")
    )
    model = network(setting, resident.dataset).double().eval()
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
@pytest.mark.slow
@pytest.mark.parametrize("loss", ["mse", "cross_entropy"])
def test_kernel_steps_are_gradient_descent_on_the_linearised_network(loss: str):
    settings = [replace(WIDE, loss=loss, seed=seed) for seed in (3, 4, 5)]
    found = [linear for _, linear in final_losses(settings)]
    assert found == pytest.approx([trained_parameters(one) for one in settings], rel=1e-5)
    assert len(set(found)) == 3


@pytest.mark.parametrize(
    ("loss", "activation"), [pytest.param("mse", "erf", marks=pytest.mark.slow), ("cross_entropy", "relu")]
)
def test_networks_of_a_stack_train_as_the_engine_trains_them(loss: str, activation: str):
    base = replace(WIDE, loss=loss, model_options={"hidden": 16, "activation": activation})
    settings = [replace(base, seed=seed) for seed in (0, 1)] + [replace(base, steps=9)]
    expected = [run(one, progress=False).frame["test_loss"].iloc[-1] for one in settings]
    assert [plain for plain, _ in final_losses(settings)] == pytest.approx(expected, rel=1e-5)


def test_losses_on_the_way_are_those_of_shorter_runs():
    long = replace(WIDE, checkpoints_per_decade=1)  # steps 1, 10, 30
    (rows,) = losses_beside([long])
    assert [row["step"] for row in rows] == [1, 10, 30]
    for row in rows:
        short = final_losses([replace(long, steps=int(row["step"]))])[0]
        assert (row["test_loss"], row["linearized_test_loss"]) == pytest.approx(short, rel=1e-6)


def test_the_kernel_of_a_stack_is_that_of_each_network():
    models = [
        sl.nets.build("mlp", (1, 3, 3), 4, hidden=7, parameterization="ntk", activation="relu", seed=seed)
        for seed in (0, 1)
    ]
    for model in models:
        with torch.no_grad():  # biases are drawn as zero
            [p.normal_() for name, p in model.named_parameters() if name.endswith("bias")]
    weights = {
        name: torch.stack([dict(model.named_parameters())[name].detach() for model in models])
        for name, _ in models[0].named_parameters()
    }
    x = torch.randn(5, 1, 3, 3, generator=torch.Generator().manual_seed(0))
    kernels, outputs = tangent_kernel(models[0], weights, x, 3)
    for model, kernel, output in zip(models, kernels, outputs):
        gradients = [
            torch.cat(
                [g.flatten() for g in torch.autograd.grad(one, [*model.parameters()], retain_graph=True)]
            )
            for one in model(x).flatten()
        ]
        full = torch.stack(gradients) @ torch.stack(gradients[:12]).T
        assert kernel.numpy() == pytest.approx(full.numpy(), rel=1e-4, abs=1e-5)
        assert output.detach().numpy() == pytest.approx(model(x).detach().numpy(), rel=1e-4, abs=1e-5)


class Largest(TorchDispatchMode):
    """The largest storage that an operation returned, in bytes."""

    bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        found = func(*args, **(kwargs or {}))
        for one in tree_leaves(found):
            if isinstance(one, torch.Tensor):
                self.bytes = max(self.bytes, one.untyped_storage().nbytes())
        return found


def test_the_kernel_of_a_stack_needs_no_copy_of_the_weights_for_every_input():
    stacked, n, hidden, classes, double = 2, 40, 64, 3, 8
    model = sl.nets.build("mlp", (4,), classes, hidden=hidden, parameterization="ntk", activation="relu")
    weights = {
        name: p.detach().expand(stacked, *p.shape).clone() for name, p in model.named_parameters()
    }  # fmt: skip
    with Largest() as largest:
        tangent_kernel(model, weights, torch.randn(n, 4), 5)
    assert largest.bytes <= stacked * n * classes * hidden * double  # δ_a(x) of all inputs
    assert largest.bytes < stacked * n * hidden**2 * double / 4


def test_widths_that_are_in_the_store_are_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    small = width.Scale("digits", 1, (8, 16), 3, (("erf", "mse"),), 6, 6, (3,))
    with trained.storing_in(tmp_path):
        _, first = width.excess_losses(width.losses_table(replace(small, widths=(8,))), "erf", "mse", 3)
        _, both = width.excess_losses(width.losses_table(small), "erf", "mse", 3)
        monkeypatch.setattr(linearized, "losses_beside", lambda left: iter(()) if not left else 1 / 0)
        _, again = width.excess_losses(width.losses_table(small), "erf", "mse", 3)
    assert (first[:, 0] == both[:, 0]).all()
    assert (again == both).all()


@pytest.mark.slow
def test_networks_that_share_their_initial_weights_are_those_trained_alone(monkeypatch: pytest.MonkeyPatch):
    drawn = linearized.initial_parameters
    count: list[int] = []
    monkeypatch.setattr(linearized, "STACKED", 2 * 4000)  # two networks a stack
    monkeypatch.setattr(
        linearized, "initial_parameters", lambda some, m: count.append(len(some)) or drawn(some, m)
    )  # fmt: skip
    kinds = [("relu", "mse", 0.3, 5), ("erf", "cross_entropy", 0.5, 5), ("erf", "cross_entropy", 0.5, 3)]
    settings = [
        replace(WIDE, seed=seed, loss=loss, learning_rate=rate, steps=steps,
                model_options={"hidden": 32, "activation": activation})
        for seed in (0, 1, 2) for activation, loss, rate, steps in kinds
    ]  # fmt: skip
    together = list(final_losses(settings))
    assert count == [2, 1]  # one draw for three kinds of network
    for one, found in zip(settings, together):
        assert found == pytest.approx(final_losses([one])[0], rel=1e-6)
    assert len(set(together)) == len(settings)


@pytest.mark.slow
def test_wide_networks_approach_their_linearisation():
    gaps = []
    for hidden in (64, 1024):
        setting = replace(WIDE, model_options={"hidden": hidden, "activation": "erf"})
        ((plain, linear),) = final_losses([setting])
        gaps.append(abs(plain - linear))
    assert gaps[1] < 0.25 * gaps[0]


def test_a_linearised_network_takes_plain_gradient_descent_only():
    with pytest.raises(BadInput, match=r"momentum=0\.9"):
        list(final_losses([replace(WIDE, momentum=0.9)]))
    with pytest.raises(BadInput, match="data_seed"):
        list(final_losses([replace(WIDE, data_seed=None)]))


SMALL = Setting(
    model="mlp", depth=2, model_options={"hidden": 3}, dataset="digits", pool=4, loss="cross_entropy",
    optimizer="sgd", learning_rate=0.5, full_batch=True, steps=20, measure=(), n_data=352, seed=0,
    checkpoints_per_decade=1,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", [1024, 88])
def test_the_loss_of_a_partition_is_the_mean_of_what_the_engine_trains_on_its_blocks(
    piece: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(descent, "PIECE", piece)
    settings = [replace(SMALL, seed=seed, n_data=n) for seed in (0, 3) for n in (704, 352)]
    for one, rows in zip(settings, partition_losses(settings, 1408), strict=True):
        blocks = 1408 // one.n_data
        alone = [run(replace(one, data_block=k), progress=False).frame for k in range(blocks)]
        assert [row["step"] for row in rows] == [1, 10, 20]
        for row in rows:
            losses = [float(f.loc[f["step"] == row["step"], "test_loss"].iloc[0]) for f in alone]
            assert row["test_loss"] == pytest.approx(np.mean(losses), rel=1e-5)
            assert row["networks"] == blocks
            assert row["n_params"] == alone[0]["n_params"].iloc[0]


@pytest.mark.parametrize("model", ["mlp", "myrtle"])
def test_networks_of_a_piece_have_the_outputs_of_each_alone(model: str):
    shape = {"depth": 2, "hidden": 5, "parameterization": "ntk"} if model == "mlp" else {"channels": 3}
    stacked = [sl.nets.build(model, (1, 8, 8), 4, seed=seed, **shape) for seed in range(6)]
    for one in stacked:
        with torch.no_grad():  # biases are drawn as zero
            [p.normal_() for name, p in one.named_parameters() if name.endswith("bias")]
    names = [name for name, _ in stacked[0].named_parameters()]
    weights = {n: torch.stack([dict(m.named_parameters())[n].detach() for m in stacked]) for n in names}
    x = torch.randn(2, 7, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    by_piece = {name: value.unflatten(0, (2, 3)) for name, value in weights.items()}
    found = descent.outputs_on_pieces(stacked[0], by_piece, x)
    expected = torch.stack([one(x[k // 3]) for k, one in enumerate(stacked)]).unflatten(0, (2, 3))
    assert found.numpy() == pytest.approx(expected.detach().numpy(), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(("rate", "rising"), [(0.5, 0), (60.0, 4)])
def test_networks_whose_training_loss_rises_are_counted(rate: float, rising: int):
    (rows,) = partition_losses([replace(SMALL, learning_rate=rate)], 1408)
    assert rows[-1]["networks_rose"] == rising


@pytest.mark.slow
def test_steps_below_the_rounding_of_a_weight_add_up():
    setting = replace(SMALL, learning_rate=4e-8, steps=250)
    resident = Resident(dataset_of(setting).subset(352, 0), torch.device("cpu"))
    model = network(setting, resident.dataset)
    weights = {name: torch.ones(1, *p.shape) for name, p in model.named_parameters()}
    x, y = resident.inputs(resident.train_x), resident.train_y[None]
    start = {name: value.clone().requires_grad_() for name, value in weights.items()}

    def losses(own: dict) -> torch.Tensor:
        return objective(descent.outputs(model, own, x), y, setting)

    slopes = torch.autograd.grad(losses(start).sum(), list(start.values()))
    list(descent.descend(weights, losses, setting, 352))
    moved = torch.cat([(w - 1).flatten() for w in weights.values()])
    expected = torch.cat([-1e-5 * g.flatten() for g in slopes])
    assert 1e-6 < expected.abs().max() < 250 * 6e-8  # a step by itself would be lost
    assert moved.numpy() == pytest.approx(expected.numpy(), abs=7e-8)  # half of the spacing of numbers near 1


def test_the_mean_over_a_partition_leaves_out_the_first_order():
    one = replace(
        SMALL, init_seed=0, learning_rate=0.002, steps=10
    )  # of small steps it is nearly all there is
    draws = partition_losses([replace(one, n_data=176, seed=seed) for seed in range(8)], 176)
    scatter = np.std([rows[-1]["test_loss"] for rows in draws], ddof=1) / np.sqrt(8)
    whole, parts = (
        rows[-1]["test_loss"]
        for rows in partition_losses([replace(one, n_data=n) for n in (1408, 176)], 1408)
    )
    assert 0 < parts - whole < 0.1 * scatter


@pytest.mark.slow
def test_excess_losses_are_those_of_sizes_without_replacement():
    s = data.Scale((), 1408, (2, 8), (10, 20), 0.5)
    table = data.excess_table(data.Task("digits", ((20, 3), (10, 5)), pool=4, hidden=3), s)
    sizes, excess = data.excess_losses(table, s.population, 20)
    assert sizes == pytest.approx([1408 / 7, 1408])
    assert excess.shape == (3, 2)
    assert data.excess_losses(table, s.population, 10)[1].shape == (5, 2)
    assert (excess > 0).all()


def test_sizes_below_the_other_one_are_not_judged():
    sizes, ratios = np.array([100.0, 300.0, 600.0, 1200.0, 2400.0]), np.array([0.5, 1.5, 3.0, 6.0, 12.0])
    level = 1 + 0.01 * np.linspace(-1, 1, 20)[:, None]  # of the seeds
    excess = level * 7 / sizes
    excess[:, 0] *= 5  # another regime
    judged = Judged(sizes, excess, ratios, ("D", "D", "P"))
    above, following = judged.rows("a network", "")
    assert (above.quantity, following.quantity) == (
        "a network: α_D, D > P",
        "a network: α_D with the next order",
    )
    assert (above.measured, following.measured) == pytest.approx((1, 1))
    assert "sizes 300 to 2400, 4 of 4" in above.note
    assert following.note.endswith("excess loss times size: 7, 7, 7, 7")
    assert (above.verdict, following.verdict) == (None, "agrees")
    assert [row.verdict for row in judged.rows("a network", "", last=False)] == [None, None]


def test_a_table_of_an_earlier_run_gives_its_rows_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where its data are not on this machine, too."""
    task = data.Task("digits", ((10, 3),), pool=4, hidden=3)
    monkeypatch.setitem(data.SCALES, "smoke", data.Scale((task,), 1408, (2, 4, 8), (10,), 0.5))
    first = data.fig1_top_left("smoke")
    first.curves.frame.drop(columns="run").to_csv(tmp_path / "kept.csv", index=False)
    monkeypatch.setattr(trained, "usable", lambda name: False)
    with trained.storing_in(tmp_path / "kept.csv"):
        again = data.fig1_top_left("smoke")
    for one, other in zip(first.table, again.table, strict=True):
        assert (one.quantity, one.note, one.paper) == (other.quantity, other.note, other.paper)
    assert "excess loss times size" in again.table[1].note


def test_permutations_that_scatter_most_are_named():
    excess = np.zeros((10, 2))
    excess[:, 1] = [3, -3, 3, -3, 3, -3, 1, -1, 1, -1]  # squares: 58 in all, 45 of the five largest
    assert data.variance_of_few(excess) == "5 of 10 permutations have 78% of the variance at the largest D"


@pytest.mark.slow
def test_a_task_counts_at_the_times_that_it_was_trained_for(monkeypatch: pytest.MonkeyPatch):
    long, short = data.Task("digits", ((20, 3),), pool=4, hidden=3), data.Task("digits", ((10, 3),), pool=4)
    monkeypatch.setitem(data.SCALES, "smoke", data.Scale((long, short), 1408, (2, 4, 8), (10, 20), 0.5))
    names = [row.quantity for row in data.fig1_top_left("smoke").table]
    assert [sum(f"{task.name}, {steps} steps" in name for name in names) > 0
            for task in (long, short) for steps in (10, 20)] == [True, True, True, False]  # fmt: skip


def test_an_unknown_activation_is_refused():
    from scalinglab import nets

    with pytest.raises(BadInput, match="'erf'"):
        nets.build("mlp", (4,), 2, activation="erff")


def test_the_table_of_widths_is_read_again_from_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    small = width.Scale("digits", 1, (8, 16), 2, (("erf", "mse"),), 6, 6, (3,))
    monkeypatch.setitem(width.SCALES, "smoke", small)
    made = width.fig1_bottom_right("smoke")
    Store(tmp_path).add(made.curves)
    assert sorted(sl.read(tmp_path)["excess_loss"]) == sorted(made.curves["excess_loss"])
