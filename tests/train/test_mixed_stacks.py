"""Runs of different batch sizes in one stack: each is what it is by itself, whatever the others do."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from scalinglab.train import engine, jobs, replicas, run, run_many
from scalinglab.train.batches import Stream
from scalinglab.train.kernels import fused_mlp
from scalinglab.train.setting import Setting
from tests.train.killed import begun, killed, watch

CPU = torch.device("cpu")
MLP = {
    "model": "mlp", "depth": 1, "dataset": "digits", "width": 0.25, "n_data": 200, "batch_size": 8,
    "steps": 25, "parameterization": "ntk", "optimizer": "nesterov", "learning_rate": 0.5,
}  # fmt: skip
SEARCH = [{**MLP, "batch_size": batch, "seed": seed} for batch, seed in ((8, 0), (20, 1), (33, 2), (64, 3))]


def group(*settings: dict, device: torch.device = CPU) -> replicas.Group:
    return jobs.build([Setting.from_dict({"measure": [], **s}) for s in settings], device)


def ordered(curves):
    return curves.frame.sort_values(["run", "step"], ignore_index=True)


# --- the order of examples -----------------------------------------------------------------------


@pytest.mark.parametrize(("size", "batch"), [(50, 8), (50, 50), (37, 5), (100_000, 512)])
def test_a_run_beside_other_batches_sees_the_examples_of_the_run_by_itself(size, batch, monkeypatch) -> None:
    """Over several windows, and from anywhere (as after a resume)."""
    monkeypatch.setattr("scalinglab.train.batches.AHEAD", 300)
    subsets = [np.random.default_rng(r).permutation(size + 10)[:size] for r in (0, 1)]
    alone = Stream(subsets, [3, 4], [batch, batch], CPU, 1 << 16)
    mixed = Stream([*subsets[:1], np.arange(20), *subsets[1:]], [3, 9, 4], [batch, 20, batch], CPU, 1 << 16)
    assert mixed.windows.tolist()[0] % size == 0
    steps = [*range(60 if size < 1000 else 4), 500, 501, 7]
    for step in steps:
        assert mixed.fill(step, step + 1) == alone.fill(step, step + 1) == step + 1
        found = mixed.index(torch.tensor(step))[0, ::2, :batch]
        wanted = alone.index(torch.tensor(step))[0]
        if batch < size:
            assert torch.equal(found, wanted)
        else:  # a batch of all examples has no order
            assert torch.equal(found.sort(-1).values, wanted.sort(-1).values)
    assert alone.live is None
    assert mixed.live.sum(-1).tolist() == [batch, 20, batch]
    mixed.keep([2])
    assert mixed.live is None
    assert torch.equal(mixed.index(torch.tensor(7), 3)[0, 0], found[1])


def test_a_stream_says_how_far_it_reaches() -> None:
    stream = Stream([np.arange(30), np.arange(90)], [0, 1], [10, 3], CPU, 1 << 16)
    reach = stream.fill(0, 10**9)
    assert reach == min(int(w) // b for w, b in zip(stream.windows, (10, 3), strict=True))
    drawn = stream.orders.clone()
    assert stream.fill(reach - 1, reach) == reach
    assert torch.equal(drawn, stream.orders)  # nothing new was needed
    stream.fill(reach - 1, reach + 1)
    assert not torch.equal(drawn, stream.orders)


def test_a_short_training_draws_few_epochs() -> None:
    stream = Stream([np.arange(30)], [0], [10], CPU, longest=4)
    assert stream.orders.shape == (1, 60)  # two epochs are needed
    assert stream.fill(0, 4) == 4


# --- the same runs -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        "adam",
        "dropout",
        "augmented",
        *(pytest.param(k, marks=pytest.mark.slow) for k in ("nesterov", "cnn", "mse")),
    ],
)
def test_a_run_beside_other_batches_is_the_run_by_itself(kind: str) -> None:
    extra: dict[str, dict] = {
        "nesterov": {"label_smoothing": 0.1},
        "adam": {"optimizer": "adam", "learning_rate": 1e-3, "parameterization": "standard"},
        "dropout": {"dropout": 0.3},
        "cnn": {"model": "cnn", "width": 0.1, "depth": None, "learning_rate": 0.1},
        "mse": {"loss": "mse"},
        "augmented": {"augment": "crop_flip"},
    }
    settings = [{**s, **extra[kind], "steps": 6} for s in SEARCH[: 2 if kind == "cnn" else 4]]
    together = group(*settings)
    together.advance(6)
    for r, setting in enumerate(settings):
        alone = group(setting)
        alone.advance(6)
        for name, value in alone.parameters.items():
            assert torch.allclose(value[0], together.parameters[name][r], rtol=1e-3, atol=1e-5), (r, name)
        mine, theirs = alone.evaluate([0])[0], together.evaluate([r])[0]
        assert mine["train_loss"] == pytest.approx(theirs["train_loss"], rel=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
def test_mixed_batches_in_bf16_follow_the_run_by_itself() -> None:
    settings = [{**s, "precision": "bf16", "steps": 10} for s in SEARCH]
    together = group(*settings)
    together.advance(10)
    for r, setting in enumerate(settings):
        alone = group(setting)
        alone.advance(10)
        expected = alone.evaluate([0])[0]["train_loss"]
        assert together.evaluate([r])[0]["train_loss"] == pytest.approx(expected, rel=0.02)


@pytest.mark.slow
def test_rows_of_a_mixed_stack_are_those_of_single_runs() -> None:
    """Epochs, examples and compute follow each run's batch; runs of 5 epochs end at their own step."""
    settings = [{**s, "steps": None, "epochs": 5, "checkpoint_unit": "epoch"} for s in SEARCH]
    stacked = ordered(run_many(settings, device="cpu"))
    assert sorted(stacked.groupby("batch_size").step.max()) == [math.ceil(1000 / b) for b in (64, 33, 20, 8)]
    single = ordered(engine.Curves.concat([run(s, device="cpu") for s in settings]))
    assert stacked["step"].equals(single["step"])
    for name in ("epoch", "examples", "compute", "n_params", "batch_size"):
        assert np.array_equal(stacked[name], single[name]), name
    for name in ("train_loss", "test_loss", "norm"):
        assert np.allclose(stacked[name], single[name], rtol=2e-3), name


@pytest.mark.slow
def test_runs_that_end_leave_the_stack(monkeypatch) -> None:
    """One diverges, one ends early: the others go on in a smaller stack, of the largest batch left."""
    seen = []
    wild = {**SEARCH[3], "learning_rate": 1e30}
    short = {**SEARCH[2], "steps": 10}
    with monkeypatch.context() as patch:
        watch(patch, lambda group: seen.append((group.runs, max(group.batches))))
        frame = ordered(run_many([SEARCH[0], SEARCH[1], short, wild], device="cpu"))
    assert list(dict.fromkeys(seen)) == [(4, 64), (3, 33), (2, 20)]
    status = frame.groupby("batch_size").status.first()
    assert status.to_dict() == {8: "done", 20: "done", 33: "done", 64: "diverged"}
    assert frame[frame.batch_size == 64].diverged_at.iloc[0] <= 3
    for setting in (*SEARCH[:2], short):
        alone = run(setting, device="cpu").frame.sort_values("step")
        own = frame[frame.batch_size == setting["batch_size"]]
        assert np.allclose(own.test_loss, alone.test_loss, rtol=2e-3)


@pytest.mark.parametrize("at", [9, pytest.param(12, marks=pytest.mark.slow)])
def test_a_killed_mixed_stack_resumes_to_the_same_bits(at: int, tmp_path, monkeypatch) -> None:
    """Killed right after one of its runs has ended, with that checkpoint's state, or later."""
    settings = [*SEARCH[:2], {**SEARCH[2], "steps": 9}]
    whole = ordered(run_many(settings, device="cpu"))
    with killed(at):
        run_many(settings, store=tmp_path, save_every=0, device="cpu")
    seen = begun(monkeypatch)
    resumed = ordered(run_many(settings, store=tmp_path, device="cpu"))
    assert seen[0][0] == 2
    assert seen[0][1] >= min(at, 10)
    for name in ("run", "step", "train_loss", "test_loss", "norm", "status"):
        assert resumed[name].equals(whole[name]), name


# --- which runs share a stack --------------------------------------------------------------------


def groups(*changes: dict) -> list[int]:
    settings = [Setting.from_dict({**s, **change}) for s in SEARCH for change in changes]
    return sorted(len(g) for g in engine.group(settings, CPU))


def test_small_batches_of_small_perceptrons_share_a_stack_on_a_cpu() -> None:
    assert groups({}) == [4]
    assert groups({"dropout": 0.1}, {"learning_rate": 0.1, "dropout": 0.1}) == [8]
    assert groups({}, {"width": 0.5}) == [4, 4]
    assert groups({}, {"n_data": 60}) == [1, 7]  # a batch of all examples stays by itself
    for other in ({"batch_norm": True}, {"model": "cnn", "width": 0.1, "depth": None}, {"width": 20.0}):
        assert groups(other) == [1, 1, 1, 1], other
    large = [Setting.from_dict({**MLP, "batch_size": b}) for b in (64, 65, 128)]
    assert len(engine.group(large, CPU)) == 3


def test_on_a_gpu_batch_sizes_share_a_stack_where_there_are_kernels(kernels) -> None:
    def suits(**values) -> bool:
        return fused_mlp.suits(Setting.from_dict({**MLP, "graphs": True, **values}), torch.device("cuda"))

    kernels(True)
    assert suits()
    assert suits(precision="tf32", optimizer="sgd", depth=3, parameterization="standard")
    for other in (
        {"graphs": False}, {"dropout": 0.1}, {"batch_norm": True}, {"optimizer": "adam"}, {"compile": True},
        {"model": "cnn", "width": 0.1, "depth": None}, {"schedule": "cosine"}, {"precision": "bf16"},
        {"augment": "flip"}, {"loss": "mse"},
        {"model_options": {"dropout": 0.1}},
    ):  # fmt: skip
        assert not suits(**other), other
    assert fused_mlp.bracket(64) == fused_mlp.bracket(4) != fused_mlp.bracket(65)


def test_stacks_of_wide_networks_are_bounded_by_memory(kernels) -> None:
    """Weights and momenta, 8 bytes a parameter, within 2 GB."""
    kernels(True)
    gpu = torch.device("cuda")
    narrow, wide = (
        engine.stack_size(Setting.from_dict({**MLP, "depth": 2, "width": width, "graphs": True}), gpu)
        for width in (1.0, 16.0)
    )
    assert narrow == fused_mlp.STACK
    assert wide == pytest.approx(2e9 / (8 * (64 * 2048 + 2048**2 + 2048 * 10)), rel=0.05)


@pytest.mark.parametrize("most", [1, 16, 17, 32, 64, 65, 1000])
def test_updates_of_one_tile_of_examples_hold_the_largest_batch(most: int) -> None:
    update = fused_mlp.tiles(most)["update"]
    assert update["ROWS"] >= most or "TILES" not in update
    assert fused_mlp.tiles(most)["hidden_gradient"]["ROWS"] == fused_mlp.tiles(most)["forward"]["ROWS"]
