"""Runs train side by side as far as a GPU's memory goes; no GPU is needed to see it."""

from __future__ import annotations

import gc
import time
import weakref
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
import torch

from scalinglab import data, nets
from scalinglab.measure.free_memory import free_memory, hold_pool
from scalinglab.measure.network_norms.cuda_graphs import captured
from scalinglab.support import work
from scalinglab.support.work import Request
from scalinglab.sweep import training
from scalinglab.train import engine, jobs, memory, run_many
from scalinglab.train.kernels import fused_mlp
from scalinglab.train.setting import Setting

GPU = torch.device("cuda")
CNN = {"model": "cnn", "dataset": "cifar10", "n_data": 1000, "steps": 1, "batch_size": 32, "measure": []}
GB = 1e9


class Graph:
    """Stands for a CUDA graph with a memory pool of its own."""

    def capture_begin(self, **_) -> None:
        pass

    def capture_end(self) -> None:
        pass

    def pool(self) -> tuple[int, int]:
        return (0, 7)


def segments(cached: float, pooled: float) -> list[dict]:
    """Of PyTorch's memory on this GPU and another: free ones, those of `Graph`, and one that is in use."""
    return [
        {"device": device, "total_size": size, "active_size": active, "segment_pool_id": pool}
        for device, size, active, pool in [
            (3, cached / 2, 0, (0, 0)),
            (3, cached / 2, 0, (0, 0)),
            (3, pooled, 0, (0, 7)),
            (3, 9 * GB, 1, (0, 0)),
            (0, 9 * GB, 0, (0, 0)),
        ]
    ]


def gpu(
    monkeypatch, free: float, share: float = 1.0, reserved: float = 0.0, cached: float = 0.0,
    pooled: float = 0.0,
) -> None:  # fmt: skip
    """A GPU that says so about its memory."""
    readings = {
        "is_available": lambda: True,
        "current_device": lambda: 3,
        "mem_get_info": lambda index: {3: (free, 140 * GB)}[index],
        "get_per_process_memory_fraction": lambda index: {3: share}[index],
        "memory_reserved": lambda index: {3: reserved, GPU: reserved}[index],
        "memory_allocated": lambda index: {3: reserved - cached - pooled}[index],
        "memory_snapshot": lambda: segments(cached, pooled),
        "stream": lambda stream: nullcontext(),
        "empty_cache": lambda: None,
    }
    for name, reading in readings.items():
        monkeypatch.setattr(torch.cuda, name, reading, raising=False)


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ({"free": 100 * GB}, 100),
        ({"free": 100 * GB, "share": 0.3}, 42),  # of 140
        ({"free": 20 * GB, "share": 0.3}, 20),  # others hold the rest
        ({"free": 100 * GB, "share": 0.3, "reserved": 30 * GB, "cached": 20 * GB}, 32),  # 12 more, 20 unused
        ({"free": 100 * GB, "share": 0.3, "reserved": 50 * GB, "cached": 5 * GB}, 5),  # it was set too late
    ],
)
def test_free_memory_is_within_the_process_share(says, expected, monkeypatch) -> None:
    gpu(monkeypatch, **says)
    assert free_memory(GPU) == pytest.approx(expected * GB)


@pytest.mark.parametrize(
    ("says", "released"),
    [
        ({"free": 100 * GB, "reserved": 30 * GB, "cached": 20 * GB}, 0),
        ({"free": 100 * GB, "share": 0.3, "reserved": 30 * GB, "cached": 20 * GB}, 1),  # 12 left, 20 unused
        ({"free": 10 * GB, "reserved": 30 * GB, "cached": 20 * GB}, 1),
        ({"free": 10 * GB, "reserved": 30 * GB, "cached": 5 * GB}, 0),
        ({"free": 10 * GB, "reserved": 30 * GB, "pooled": 20 * GB}, 0),  # it would release nothing
    ],
)
def test_unused_memory_is_released_before_a_capture_where_little_is_left(says, released, monkeypatch):
    gpu(monkeypatch, **says)
    emptied: list[bool] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(True))

    before = Graph()
    hold_pool(before)

    class Watched(Graph):
        def capture_begin(self, **_) -> None:
            assert len(emptied) == released

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Watched)
    assert captured(lambda: 7)[1] == 7
    assert len(emptied) == released


def test_the_pool_of_a_graph_is_not_free_until_the_graph_is_gone(monkeypatch) -> None:
    gpu(monkeypatch, free=10 * GB, reserved=50 * GB, cached=2 * GB, pooled=30 * GB)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    graph, _ = captured(lambda: None)
    assert free_memory(GPU) == 12 * GB
    del graph
    gc.collect()
    assert free_memory(GPU) == 42 * GB


@dataclass
class Beside:
    """The jobs at work, and their sizes at every turn."""

    at_work: list[Pretended] = field(default_factory=list)
    seen: list[list[float]] = field(default_factory=list)


class Pretended:
    """A job of so many gigabytes, which takes three turns and notes how many are at work beside it."""

    def __init__(self, size: float, steps: int = 10, beside: Beside | None = None) -> None:
        self.beside = beside or Beside()
        self.memory, self.schedules = size * GB, {"run": [steps]}
        self.settings = [SimpleNamespace(run="run")]

    def leave(self) -> None:
        raise AssertionError("nobody asked for the end")

    def work(self):
        self.beside.at_work.append(self)
        for _ in range(3):
            self.beside.seen.append([job.memory / GB for job in self.beside.at_work])
            yield 1
        self.beside.at_work.remove(self)


@pytest.fixture
def sizes_are(monkeypatch):
    """Sets weights, activations and those of the largest layer that every network has."""
    return lambda *sizes: monkeypatch.setattr(memory, "sizes", lambda setting: sizes)


@pytest.fixture
def pretended(monkeypatch):
    monkeypatch.setattr(engine, "_draw_ahead", lambda *_: None)
    monkeypatch.setattr(engine, "streams", lambda device, count: list(range(count)))
    return Beside()


@pytest.mark.parametrize(
    ("says", "sizes", "most"),
    [
        ({"free": 140 * GB}, [2] * 20, 8),  # as many as there are streams
        ({"free": 140 * GB, "share": 0.42}, [14] * 6, 3),  # 0.8 · 58.8 GB
        ({"free": 30 * GB, "share": 0.42}, [14] * 6, 1),
        ({"free": 10 * GB}, [30, 30], 1),  # more than there is: one at a time, and it may fail
    ],
)
def test_as_many_jobs_are_at_work_as_memory_holds(says, sizes, most, pretended, monkeypatch) -> None:
    gpu(monkeypatch, **says)
    rows = list(engine.work_through([Pretended(size, beside=pretended) for size in sizes], GPU, Request()))
    assert len(rows) == 3 * len(sizes)  # all of them came to their end
    assert max(map(len, pretended.seen)) == most


def test_a_large_job_waits_for_memory_and_small_ones_behind_it_wait_with_it(pretended, monkeypatch) -> None:
    gpu(monkeypatch, free=50 * GB)  # 40 of it
    jobs_ = [Pretended(size, steps, pretended) for size, steps in ((30, 100), (20, 90), (1, 10))]
    list(engine.work_through(jobs_, GPU, Request()))
    assert [30.0] in pretended.seen
    assert [30.0, 20.0] not in pretended.seen
    assert [20.0, 1.0] in pretended.seen


def test_while_no_job_can_go_on_all_the_time_counts_as_waiting(pretended, monkeypatch) -> None:
    gpu(monkeypatch, free=140 * GB)
    asked: list[float] = []

    def ready() -> bool:
        time.sleep(0.01)  # what it takes to ask
        asked.append(time.perf_counter())
        return len(asked) > 5

    class Waiting(Pretended):
        def work(self):
            yield 1
            yield ready
            yield 1

    before = work.SECONDS["waiting for the GPU"]
    assert len(list(engine.work_through([Waiting(1)], GPU, Request()))) == 2
    assert len(asked) == 7  # once before the wait, five times in it, and once more by the turn itself
    assert work.SECONDS["waiting for the GPU"] - before > 0.9 * 5 * 0.01


def test_runs_that_have_ended_hold_no_memory(monkeypatch) -> None:
    made: list[weakref.ref] = []
    build = jobs.build
    gc.freeze()  # searched is what this test makes

    def watched(*arguments):
        gc.collect()
        assert not [group for group in made if group() is not None]
        group = build(*arguments)
        made.append(weakref.ref(group))
        return group

    monkeypatch.setattr(jobs, "build", watched)
    small = {"model": "mlp", "dataset": "digits", "width": 0.1, "n_data": 64, "steps": 2}
    curves = run_many([{**small, "seed": seed} for seed in range(3)], device="cpu", max_stacked=1)
    assert len(made) == 3
    assert curves.frame["seed"].nunique() == 3


@pytest.mark.slow
@pytest.mark.parametrize("model", ["mlp", "lenet", "cnn", "myrtle", "resnet", "wide_resnet", "vit"])
@pytest.mark.parametrize("dataset", ["cifar10", "cifar100"])
def test_the_parameters_that_memory_is_estimated_from_are_those_of_the_network(model, dataset) -> None:
    source = data.SOURCES[dataset]
    with torch.device("meta"):
        network = nets.build(model, source.shape, source.n_classes, width=2)
    s = Setting.from_dict({"model": model, "dataset": dataset, "width": 2.0, "n_data": 100, "steps": 1})
    weights, activations, largest = memory.sizes(s)
    assert weights == sum(p.numel() for p in network.parameters())
    assert activations > largest > 10


def test_what_is_evaluated_at_once_counts_for_a_group_and_not_for_each_run(sizes_are) -> None:
    sizes_are(7000, 500, 90)  # weights, activations, a layer's
    plain, fast, normed, captured = (
        Setting.from_dict({**CNN, **more})
        for more in (
            {},
            {"precision": "bf16", "compile": True, "graphs": True},
            {"measure": ["norm", "norm_as_published"]},
            {"graphs": True},
        )
    )
    trained, evaluated = 4 * (5 * 7000 + 3 * 500 * 32), 4 * 3 * 90 * 4096
    assert memory.examples_at_once(plain) == 4096
    assert memory.of_group([plain]) == trained + evaluated
    assert memory.of_group([plain] * 3) == 3 * trained + evaluated
    assert memory.of_group([fast]) == 4 * 5 * 7000 + 2 * 3 * (500 * 32 + 90 * 4096)
    assert memory.of_run(normed, GPU) == trained + 2 * 4 * 7000
    assert memory.of_group([captured]) == 4 * 5 * 7000 + 2 * (trained - 4 * 5 * 7000 + evaluated)
    wide = 160 * 32 * 32  # of a Wide ResNet of width 10
    sizes_are(7000, 500, wide)
    assert memory.examples_at_once(plain) == 1024  # 2 GB hold 1,092
    assert memory.examples_at_once(fast) == 2048


def test_batches_of_a_stack_are_as_large_as_the_largest(sizes_are) -> None:
    sizes_are(7000, 500, 90)
    common = {"model": "mlp", "dataset": "mnist", "n_data": 1000, "steps": 1}
    small, large = (Setting.from_dict({**common, "batch_size": batch}) for batch in (8, 128))
    assert memory.of_group([small, large]) == memory.of_group([large, large])
    assert memory.of_group([small, large]) > memory.of_group([small, small])


def test_kernels_and_graphs_of_a_gpu_count_there_alone(monkeypatch, sizes_are) -> None:
    monkeypatch.setattr(fused_mlp, "find_spec", lambda name: name)  # Triton is here
    sizes_are(7000, 500, 90)
    common = {"dataset": "mnist", "n_data": 1000, "steps": 1, "batch_size": 32, "measure": [], "graphs": True}
    fused, captured = (
        Setting.from_dict({**common, "model": model, "optimizer": "sgd"}) for model in ("mlp", "cnn")
    )
    for s, copies in ((fused, 2), (captured, 5)):
        assert memory.of_run(s, GPU) == 4 * (copies * 7000 + 2 * 3 * 500 * 32)
        assert memory.of_run(s, torch.device("cpu")) == 4 * (5 * 7000 + 3 * 500 * 32)
        assert training.memory(dict(s.identity()), "cpu") == 4 * (5 * 7000 + 3 * 500 * 32)


# widths that no other test has: sizes are computed once for each
@pytest.mark.parametrize(("allocated", "place", "width"), [(10**8, "cpu", 0.23), (100, "meta", 0.27)])
def test_large_networks_are_not_allocated_to_find_their_sizes(allocated, place, width, monkeypatch) -> None:
    seen = []
    to_empty = torch.nn.Module.to_empty

    def watched(module, *, device):
        seen.append(device.type)
        return to_empty(module, device=device)

    monkeypatch.setattr(torch.nn.Module, "to_empty", watched)
    monkeypatch.setattr(memory, "ALLOCATED", allocated)
    weights, activations, largest = memory.sizes(Setting.from_dict({**CNN, "width": width}))
    assert seen == [place]
    network = nets.build("cnn", (3, 32, 32), 10, width=width)
    assert weights == sum(p.numel() for p in network.parameters())
    assert activations > largest > 32 * 32


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_an_evaluation_counts_by_the_examples_that_it_takes(precision, sizes_are) -> None:
    sizes_are(0, 0, 90)  # nothing but evaluations
    s = Setting.from_dict({**CNN, "precision": precision})
    size = 2 if precision == "bf16" else 4
    assert memory.of_group([s]) == size * 3 * 90 * memory.MOST_EXAMPLES


@pytest.mark.parametrize(
    ("dataset", "shape", "classes"), [("mnist", (1, 28, 28), 10), ("cifar100", (3, 32, 32), 100)]
)
def test_weights_are_those_of_the_network_for_images_of_that_set(dataset, shape, classes) -> None:
    weights, activations, largest = memory.sizes(Setting.from_dict({**CNN, "dataset": dataset, "width": 0.1}))
    assert weights == sum(p.numel() for p in nets.build("cnn", shape, classes, width=0.1).parameters())
    assert activations > largest > shape[1] * shape[2]


def test_only_the_latest_four_sets_stay_on_a_device() -> None:
    sets = [data.load("digits").normalize("none") for _ in range(5)]
    first, *latest = [jobs.resident_of(one, torch.device("cpu")) for one in sets]
    assert [jobs.resident_of(one, torch.device("cpu")) for one in sets[1:]] == latest, "placed once"
    assert jobs.resident_of(sets[0], torch.device("cpu")) is not first


@pytest.mark.parametrize(
    ("optimizer", "moments"), [({"optimizer": "sgd"}, 0), ({"optimizer": "sgd", "momentum": 0.9}, 1), ({}, 2)]
)
def test_an_optimizer_holds_the_moments_that_it_needs(optimizer: dict, moments: int) -> None:
    setting = {"model": "mlp", "dataset": "digits", "n_data": 50, "steps": 1, "measure": [], **optimizer}
    group = jobs.build([Setting.from_dict(setting)], torch.device("cpu"))
    assert len(group.moments.slots) == moments


def test_activations_are_those_of_one_example() -> None:
    setting = {"model": "mlp", "depth": 1, "model_options": {"hidden": 4}, "dataset": "digits", "steps": 1}
    weights, activations, largest = memory.sizes(Setting.from_dict(setting))
    assert weights == 64 * 4 + 4 + 4 * 10 + 10
    assert activations == 64 + 4 + 4 + 10  # flattened pixels, hidden units before and after ReLU, classes
    assert largest == 64


def test_pooled_images_are_counted_as_small_as_they_are() -> None:
    weights, _, _ = memory.sizes(Setting.from_dict({**CNN, "dataset": "mnist", "pool": 2}))
    assert weights == sum(p.numel() for p in nets.build("cnn", (1, 14, 14), 10).parameters())
