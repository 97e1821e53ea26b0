"""On a GPU: graphs, compilation and streams compute what plain steps compute."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from scalinglab.measure.free_memory import free_memory
from scalinglab.measure.network_norms.cuda_graphs import captured
from scalinglab.train import engine, jobs, memory, run_many
from scalinglab.train.setting import Setting
from tests.train.killed import killed

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
    # the compiler calls what it deprecates, advises to use TF32, and asks tensors for gradients
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning:torch",
        "ignore:TensorFloat32 tensor cores",
        "ignore:The .grad attribute of a Tensor that is not a leaf",
    ),
]
CNN = {"model": "cnn", "dataset": "digits", "width": 0.25, "n_data": 300, "batch_size": 32, "steps": 60}


def group(device: str = "cuda", **values):
    return jobs.build([Setting.from_dict({"measure": [], **CNN, **values})], torch.device(device))


@pytest.mark.parametrize(
    "extra",
    [{}, {"batch_norm": True}, {"augment": "crop_flip"}, {"optimizer": "nesterov"}, {"schedule": "cosine"}],
)
def test_captured_steps_equal_plain_steps(extra: dict) -> None:
    plain, captured = group(**extra), group(graphs=True, **extra)
    for g in (plain, captured):
        g.advance(21)  # two captured blocks of eight and five single steps
    for name, value in plain.parameters.items():
        assert torch.allclose(value, captured.parameters[name], rtol=1e-4, atol=1e-5), name
    assert int(captured.clock.counter) == 21


def test_stacked_networks_with_batch_norm_are_measured() -> None:
    setting = {**CNN, "batch_norm": True, "steps": 4}
    frame = run_many([{**setting, "seed": seed} for seed in range(3)], device="cuda", progress=False).frame
    assert np.isfinite(frame["test_loss"]).all()


def test_a_captured_run_crosses_blocks_of_indices() -> None:
    plain, captured = group(batch_size=250), group(batch_size=250, graphs=True)
    steps = plain.stream.fill(0, 10**9) + 13
    for g in (plain, captured):
        g.advance(steps)
    assert torch.equal(plain.stream.orders, captured.stream.orders)
    for name, value in plain.parameters.items():
        assert torch.allclose(value, captured.parameters[name], rtol=1e-2, atol=1e-3), name


def test_cpu_and_gpu_agree_to_rounding() -> None:
    here, there = group("cpu"), group()
    for g in (here, there):
        g.advance(8)
    for name, value in here.parameters.items():
        assert torch.allclose(value, there.parameters[name].cpu(), rtol=1e-3, atol=1e-4), name


def test_runs_on_streams_repeat_their_bits() -> None:
    settings = [{**CNN, "seed": seed, "graphs": True, "n_data": 200 + 30 * seed} for seed in range(6)]
    first, second = (run_many(settings, device="cuda", max_stacked=1).frame for _ in range(2))
    alone = run_many(settings[3:4], device="cuda").frame
    for column in ("train_loss", "test_loss", "norm"):
        assert np.array_equal(first[column], second[column])
        assert np.array_equal(alone[column], first[first.seed == 3][column])


def test_compiled_steps_equal_plain_steps() -> None:
    plain, compiled = group(), group(graphs=True, compile=True)
    for g in (plain, compiled):
        g.advance(20)
    for name, value in plain.parameters.items():
        assert torch.allclose(value, compiled.parameters[name], rtol=1e-2, atol=1e-3), name


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_a_compiled_network_in_low_precision_trains_as_the_plain_one(precision: str) -> None:
    fast = {"graphs": True, "compile": True, "precision": precision, "batch_size": 128}
    plain, low = group(batch_size=128), group(**fast)
    for g in (plain, low):
        g.advance(16)
    losses = [g.evaluate([0])[0]["train_loss"] for g in (plain, low)]
    assert losses[1] == pytest.approx(losses[0], rel=0.03)
    for name in (n for n in plain.parameters if n.endswith("weight")):
        value = plain.parameters[name]
        assert (value - low.parameters[name]).norm() < 0.03 * value.norm(), name


def test_a_killed_captured_run_resumes_to_the_same_bits(tmp_path) -> None:
    settings = [{**CNN, "graphs": True, "batch_norm": True}]
    whole = run_many(settings, device="cuda").frame
    with killed(30):
        run_many(settings, device="cuda", store=tmp_path, save_every=0)
    resumed = run_many(settings, device="cuda", store=tmp_path).frame.sort_values("step")
    for column in ("train_loss", "test_loss", "norm"):
        assert np.array_equal(resumed[column], whole[column]), column


def test_stacked_runs_equal_runs_by_themselves() -> None:
    settings = [{**CNN, "seed": seed, "graphs": True, "steps": 10} for seed in range(4)]
    stacked, alone = (run_many(settings, device="cuda", max_stacked=n).frame for n in (4, 1))
    key = ["seed", "step"]
    a, b = (f.sort_values(key)["test_loss"].to_numpy() for f in (stacked, alone))
    assert np.allclose(a, b, rtol=1e-2)


def test_states_are_written_while_other_runs_are_captured(tmp_path) -> None:
    vit = {"model": "vit", "depth": 1, "width": 0.25, "batch_size": 32, "model_options": {"patch": 4}}
    # more runs than streams, and sizes that need evaluations of their own: captures until the end
    settings = [
        {**CNN, **vit, "graphs": True, "n_data": 100 + 20 * k, "steps": 60 - k, "checkpoints_per_decade": 20}
        for k in range(24)
    ]
    stored = run_many(settings, device="cuda", store=tmp_path, save_every=0, max_stacked=1).frame
    plain = run_many(settings, device="cuda", max_stacked=1).frame
    key = ["n_data", "step"]
    a, b = (f.sort_values(key)["test_loss"].to_numpy() for f in (stored, plain))
    assert np.array_equal(a, b)


@pytest.fixture
def bounded() -> Iterator[float]:
    """Bytes that this process may take of the GPU, beside others that do not count then: 8 GB."""
    total = torch.cuda.mem_get_info()[1]
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(8e9 / total)
    yield 8e9
    torch.cuda.set_per_process_memory_fraction(1.0)


def test_the_memory_of_a_captured_graph_is_free_when_the_graph_is_gone(bounded: float) -> None:
    device, size = torch.device("cuda"), 1 << 30
    before = free_memory(device)
    assert 0.5 * bounded < before <= bounded
    with torch.cuda.stream(torch.cuda.Stream()):
        graph, made = captured(lambda: torch.zeros(size, dtype=torch.uint8, device=device))
        graph.replay()
    torch.cuda.synchronize()
    assert before - free_memory(device) == pytest.approx(size, rel=0.1)
    del made  # its place is kept for the next replay
    assert before - free_memory(device) == pytest.approx(size, rel=0.1)
    del graph
    gc.collect()
    assert before - free_memory(device) < 0.1 * size


def test_runs_train_as_far_as_memory_goes_and_ended_ones_release_theirs(bounded, monkeypatch) -> None:
    common = {**CNN, "steps": 12, "graphs": True, "measure": []}
    small, large = ([{**common, "width": w, "seed": seed} for seed in range(3)] for w in (4.0, 5.0))
    beside: list[int] = []
    fits = engine.fits_beside

    def watched(job, active, limit) -> bool:
        found = fits(job, active, limit)
        beside.append(len(active) + found)
        return found

    monkeypatch.setattr(engine, "fits_beside", watched)
    for settings in (small, large):
        beside.clear()
        within = run_many(settings, device="cuda", max_stacked=1, progress=False).frame
        most = max(beside)
        torch.cuda.set_per_process_memory_fraction(1.0)
        without_bound = run_many(settings, device="cuda", max_stacked=1, progress=False).frame
        assert np.array_equal(within["test_loss"], without_bound["test_loss"])
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(bounded / torch.cuda.mem_get_info()[1])
    each = memory.of_group([Setting.from_dict(large[0])])
    assert int(memory.SHARE * bounded / each) == 2
    assert most == 2  # of the large ones within the bound
