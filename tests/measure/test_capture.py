"""What is captured on a GPU, without one: graphs are played back by calling again, streams are of paper."""

import contextlib
import dataclasses
import math

import pytest
import torch
from torch import nn

from scalinglab import measure, nets
from scalinglab.measure.network_norms import cuda_graphs, device_reads
from scalinglab.measure.network_norms.cuda_graphs import (
    Replays,
    follow,
    measurement_stream,
    side_by_side,
    turn,
)
from scalinglab.measure.network_norms.tracker import own_state

SHAPE = (3, 8, 8)


def put(old, new):
    """Write a result over an earlier one, where that lies."""
    if isinstance(old, torch.Tensor):
        old.copy_(new.clone())
    elif isinstance(old, (list, tuple)):
        for one, other in zip(old, new, strict=True):
            put(one, other)
    elif dataclasses.is_dataclass(old):
        for field in dataclasses.fields(old):
            put(getattr(old, field.name), getattr(new, field.name))


class Recalled(Replays):
    """Plays back the function that it "captured" by calling it, with results where the first ones lie."""

    def __init__(self, device, wanted):
        super().__init__(device, wanted)
        self.captures = True
        self.calls = []

    def __call__(self, name, function, trial=None):
        plain = name not in self.tried
        self.calls.append((name, plain))
        if plain:
            self.tried.add(name)
            if trial is None:
                return function()
            trial()
        if name not in self.made:
            self.made[name] = (function, function())
        else:
            put(self.made[name][1], self.made[name][0]())
        return self.made[name][1]


@pytest.fixture
def recalled(monkeypatch):
    monkeypatch.setattr(device_reads, "Replays", Recalled)


def stacked(models):
    parameters, buffers = torch.func.stack_module_state(models)
    return {**{k: v.detach() for k, v in parameters.items()}, **buffers}


def move(tensors, size):
    with torch.no_grad():
        for tensor in tensors:
            tensor += size * torch.randn_like(tensor)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "definition"),
    [("mlp", "as_published"), ("cnn", "bartlett"), ("cnn", "as_published"), ("resnet", "as_published"),
     ("wide_resnet", "bartlett"), ("vit", "bartlett")],
)  # fmt: skip
def test_what_runs_on_the_device_never_asks_what_it_found(name, definition, recalled):
    # a CUDA graph can be captured of such a sequence only; tensors without numbers cannot be asked
    options = {"wide_resnet": {"depth": 10}, "vit": {"depth": 2}}.get(name, {})
    models = [nets.build(name, SHAPE, 5, width=0.25, seed=seed, **options) for seed in range(3)]
    plan = measure.NormTracker(models[0], SHAPE, definition).readers.plan
    reader = device_reads.Reader(plan, {key: value.to("meta") for key, value in stacked(models).items()})
    reader.launch({key: value.to("meta") for key, value in stacked(models).items()}, {})
    (found,) = reader.arriving.host
    assert found.is_meta
    assert len(found) == sum(math.prod(shape) for _, _, shape in reader.places)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cnn", pytest.param("resnet", marks=pytest.mark.nightly)])
def test_norms_are_the_same_where_they_are_replayed(name, monkeypatch):
    model = nets.build(name, SHAPE, 5, width=0.1, seed=0).double()
    torch.manual_seed(0)
    for tolerance in (1e-3, 1e-9):
        plain, replayed = (measure.NormTracker(model, SHAPE, tolerance=tolerance) for _ in "ab")
        with monkeypatch.context() as here:
            here.setattr(device_reads, "Replays", Recalled)
            replayed.readers.of(own_state(model))
        for _ in range(3):
            expected, found = plain.measure(), replayed.measure()
            for key, value in expected.items():
                assert float(found[key]) == pytest.approx(float(value), rel=1e-9), key
            move(model.parameters(), 1e-5)
        (reader,) = replayed.readers.made.values()
        assert [plain for name, plain in reader.replays.calls if name == "read"] == [True, *[False] * 2]
    assert set(reader.replays.made) == {"read"}


def three_networks():
    """Networks, a tracker of its own for each, and trackers that share what is captured."""
    torch.manual_seed(0)
    models = [nets.build("cnn", SHAPE, 5, width=0.1, seed=seed) for seed in range(3)]
    first = measure.NormTracker(models[0], SHAPE)
    shared = [measure.NormTracker(models[0], SHAPE, readers=first.readers) for _ in models]
    return models, [measure.NormTracker(model, SHAPE) for model in models], shared


@pytest.mark.slow
def test_trackers_that_share_what_is_captured_give_the_norms_of_their_own_weights(recalled):
    models, alone, shared = three_networks()
    for _ in range(3):
        for model, own, other in zip(models, alone, shared, strict=True):
            move(model.parameters(), 0.02)
            expected, found = own.measure(), other.measure(stacked([model]))
            assert all(torch.equal(found[key], value) for key, value in expected.items())
            assert all(torch.equal(other.state[key], value) for key, value in own.state.items())
    (reader,) = shared[0].readers.made.values()
    assert [plain for name, plain in reader.replays.calls if name == "read"] == [True, *[False] * 8]


@pytest.mark.slow
def test_a_measurement_that_was_begun_is_of_the_weights_as_they_were(recalled):
    models, alone, shared = three_networks()
    for _ in range(3):
        expected = [tracker.measure() for tracker in alone]
        begun = [tracker.begin(stacked([model])) for tracker, model in zip(shared, models, strict=True)]
        for model in models:
            move(model.parameters(), 0.1)
        for own, other, wanted, found in zip(alone, shared, expected, begun, strict=True):
            assert all(torch.equal(found.result()[key], value) for key, value in wanted.items())
            assert all(torch.equal(other.state[key], value) for key, value in own.state.items())


def test_memory_of_vectors_is_kept_until_they_are_written(recalled, monkeypatch):
    """They belong to the stream that trains, which may free them while the one that measures writes them."""
    kept: set[int] = set()
    monkeypatch.setattr(torch.Tensor, "is_cuda", True)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: None)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda vectors, stream: kept.add(vectors.data_ptr()))
    tracker = measure.NormTracker(nets.build("mlp", SHAPE, 5, width=0.5, seed=0), SHAPE)
    tracker.measure()
    assert tracker.state
    assert {vectors.data_ptr() for vectors in tracker.state.values()} == kept


def test_one_tracker_may_begin_again_before_it_asks(recalled):
    model = nets.build("cnn", SHAPE, 5, width=0.25, seed=0)
    tracker, plain = measure.NormTracker(model, SHAPE), measure.NormTracker(model, SHAPE)
    begun = []
    for _ in range(3):
        begun.append((tracker.begin(), plain.measure()))
        move(model.parameters(), 0.02)
    for late, expected in begun:
        assert all(torch.equal(late.result()[key], value) for key, value in expected.items())


def test_what_fails_is_told_to_whom_it_belongs(recalled):
    model = nets.build("mlp", (60,), 5, width=0.5, seed=0)
    hopeless = measure.NormTracker(model, (60,))
    hopeless.tolerance = "small"  # with which nothing can be compared
    other = measure.NormTracker(model, (60,), readers=hopeless.readers)
    failed = hopeless.begin()
    assert float(other.measure()["spectral"]) > 0
    for _ in range(2):
        with pytest.raises(TypeError):
            failed.result()


def test_a_stack_of_another_size_has_a_graph_of_its_own_and_only_a_few_are_kept(recalled):
    models = [nets.build("mlp", (20,), 5, seed=seed) for seed in range(8)]
    tracker = measure.NormTracker(models[0], (20,))
    whole = tracker.measure(stacked(models))
    for count in range(7, 0, -1):
        tracker.state = {name: vectors[:count] for name, vectors in tracker.state.items()}
        found = tracker.measure(stacked(models[:count]))
        torch.testing.assert_close(found["spectral"], whole["spectral"][:count], rtol=1e-3, atol=0)
    assert [reader.replicas for reader in tracker.readers.made.values()] == [4, 3, 2, 1]


def test_large_networks_are_neither_copied_nor_captured(monkeypatch):
    wanted = []
    monkeypatch.setattr(
        device_reads, "Replays", lambda device, capture: wanted.append(capture) or Replays(device)
    )
    for largest in (10**3, 10**6):
        monkeypatch.setattr(device_reads, "LARGEST", largest)
        measure.NormTracker(nn.Linear(60, 60), (60,)).measure()
    assert wanted == [False, True]


# --- streams -----------------------------------------------------------------------------------------------


class Paper:
    """A stream on which everything is written down; `now` is the current one."""

    now: "Paper"

    def __init__(self, name, log):
        self.name, self.log = name, log

    def wait_stream(self, other):
        self.log.append(f"{self.name} waits for {other.name}")

    def wait_event(self, event):
        self.log.append(f"{self.name} waits for the event of {event.recorded}")


class Event:
    recorded = "nobody"

    def record(self, stream):
        self.recorded = stream.name


@pytest.fixture
def streams(monkeypatch):
    log: list[str] = []
    trunk, *sides = (Paper(name, log) for name in ("trunk", "a", "b"))
    made = cuda_graphs.Streams(trunk, sides, Event())

    @contextlib.contextmanager
    def on(stream):
        before, Paper.now = Paper.now, stream
        yield
        Paper.now = before

    Paper.now = trunk
    monkeypatch.setitem(cuda_graphs.STREAMS, torch.device("cuda"), made)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Paper.now)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    monkeypatch.setattr(torch.cuda, "stream", on)
    return log, on


def test_branches_begin_after_what_was_before_and_meet_in_what_comes_after(streams):
    log, _ = streams

    def work(k):
        log.append(f"{k} on {Paper.now.name}")
        return k

    found = side_by_side([lambda k=k: work(k) for k in range(3)], torch.device("cuda"))
    assert found == [0, 1, 2]
    assert log == [
        "a waits for trunk", "b waits for trunk", "0 on a", "1 on b", "2 on a", "trunk waits for a",
        "trunk waits for b",
    ]  # fmt: skip
    log.clear()
    assert side_by_side([lambda: work(0)], torch.device("cuda")) == [0]
    assert side_by_side([lambda: work(0), lambda: work(1)], torch.device("cpu")) == [0, 1]
    assert log == ["0 on trunk", "0 on trunk", "1 on trunk"]


def test_a_measurement_runs_beside_the_streams_that_it_serves(streams):
    log, on = streams
    gpu = torch.device("cuda")
    one, other = Paper("one", log), Paper("other", log)
    for stream in (one, other):
        with on(stream), turn(gpu):
            follow(gpu)  # the copies of the last one are still read
            log.append(f"copies on {Paper.now.name}")
            with contextlib.suppress(ValueError), measurement_stream(gpu, after_current=True):
                log.append(f"reads on {Paper.now.name}")
                raise ValueError
    with on(one):
        log.append("trains on one")
        with turn(gpu), measurement_stream(gpu, after_current=False):  # not after the training
            log.append(f"vectors on {Paper.now.name}")
        follow(gpu)
    assert log == [
        "one waits for the event of nobody", "copies on one", "trunk waits for one", "reads on trunk",
        "other waits for the event of trunk", "copies on other", "trunk waits for other", "reads on trunk",
        "trains on one", "vectors on trunk", "one waits for the event of trunk",
    ]  # fmt: skip
