"""On a GPU: norms that are captured and replayed are those that are measured plainly."""

from __future__ import annotations

import copy

import pytest
import torch

from scalinglab import measure, nets
from scalinglab.measure.network_norms.cuda_graphs import measurement_stream
from scalinglab.measure.network_norms.lanczos import spectral_norm
from scalinglab.measure.network_norms.operators import ConvGeometry, _pad, _patches
from scalinglab.measure.network_norms.tracker import NAMES
from scalinglab.train import jobs
from scalinglab.train.setting import Setting

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
    # the compiler calls what it deprecates, and advises to use TF32
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch", "ignore:TensorFloat32 tensor cores"),
]
SHAPE = (3, 8, 8)
OPTIONS = {"mlp": {}, "cnn": {"width": 0.5}, "resnet": {"width": 0.25}, "vit": {"width": 0.25, "depth": 2}}


def stacked(models: list[torch.nn.Module]) -> dict[str, torch.Tensor]:
    parameters, buffers = torch.func.stack_module_state(models)
    return {**{k: v.detach() for k, v in parameters.items()}, **buffers}


def move(weights: dict[str, torch.Tensor], size: float) -> None:
    """A step of a training: in place."""
    for tensor in weights.values():
        if tensor.is_floating_point():
            tensor *= 1 + size * torch.rand_like(tensor)


def captured(tracker: measure.NormTracker) -> set[str]:
    """Which parts of a measurement are replayed."""
    return {name for reader in tracker.readers.made.values() for name in reader.replays.made}


def check(found, weights, model, definition, what, rtol=5e-3) -> None:
    """That norms are those of the weights, measured plainly and exactly on the CPU.

    Followed norms are estimates: where two singular values lie close they may hold on to the second for a
    while. Weights move by a tenth of the norm and more from one turn to the next.
    """
    here = {key: value.cpu() for key, value in weights.items()}
    model = copy.deepcopy(model).cpu()
    expected = measure.NormTracker(model, SHAPE, definition, NAMES, 1e-5, capture=False).measure(here)
    for key, value in expected.items():
        torch.testing.assert_close(found[key], value, rtol=rtol, atol=1e-6, msg=f"{key} in {what}")


@pytest.mark.parametrize("definition", ["bartlett", "as_published"])
@pytest.mark.parametrize("replicas", [1, 4])
@pytest.mark.parametrize("name", list(OPTIONS))
def test_replayed_norms_are_those_of_the_weights_as_they_are_now(name, replicas, definition) -> None:
    torch.manual_seed(0)
    models = [nets.build(name, SHAPE, 5, seed=seed, **OPTIONS[name]) for seed in range(replicas)]
    there = {key: value.cuda() for key, value in stacked(models).items()}
    tracker = measure.NormTracker(models[0].cuda(), SHAPE, definition, tolerance=1e-5)
    plainly = measure.NormTracker(models[0], SHAPE, definition, tolerance=1e-5, capture=False)
    for turn in range(4):
        move(there, 0.05)
        found = tracker.measure(there)
        for key, value in plainly.measure(there).items():
            torch.testing.assert_close(found[key], value, rtol=1e-3, atol=1e-6, msg=f"{key} in turn {turn}")
        # the product of a ResNet's 20 norms, each of which may be late; in a turn it grows by a half
        check(found, there, models[0], definition, f"turn {turn}", rtol=0.05 if name == "resnet" else 5e-3)
        assert "read" in captured(tracker)


def test_a_replay_equals_a_plain_measurement_from_the_same_start_to_the_bit() -> None:
    model = nets.build("cnn", SHAPE, 5, width=0.5, seed=0).cuda()
    tracker = measure.NormTracker(model, SHAPE)
    for _ in range(3):
        tracker.measure()
    plainly = measure.NormTracker(model, SHAPE, capture=False)
    plainly.state = {key: value.clone() for key, value in tracker.state.items()}
    replayed = tracker.measure()
    plain = plainly.measure()
    assert "read" in captured(tracker)
    assert not captured(plainly)
    for key, value in plain.items():
        assert torch.equal(value, replayed[key]), key
    for key, vectors in plainly.state.items():
        assert torch.equal(vectors, tracker.state[key]), key


def four_networks(name: str) -> tuple:
    """A network, weights of four, trackers of them that share graphs, and a stream for each."""
    torch.manual_seed(0)
    models = [nets.build(name, SHAPE, 5, seed=seed, **OPTIONS[name]).cuda() for seed in range(4)]
    first = measure.NormTracker(models[0], SHAPE, tolerance=1e-5)
    trackers = [measure.NormTracker(models[0], SHAPE, tolerance=1e-5, readers=first.readers) for _ in models]
    return models[0], [stacked([m]) for m in models], trackers, [torch.cuda.Stream() for _ in models]


@pytest.mark.parametrize("name", ["cnn", "resnet"])
def test_trackers_that_share_graphs_give_the_norms_of_their_own_weights_on_any_stream(name) -> None:
    model, weights, trackers, streams = four_networks(name)
    for k, own in enumerate(weights):
        move(own, 0.2 * k)
    busy = torch.randn(2000, 2000, device="cuda")
    torch.cuda.synchronize()
    for turn in range(6):
        found = []
        for own, tracker, stream in zip(weights, trackers, streams, strict=True):
            with torch.cuda.stream(stream):  # no one waits for anyone, as when groups train
                for _ in range(3):
                    busy @ busy
                move(own, 0.02)
                found.append(tracker.measure(own))
                for _ in range(3):
                    busy @ busy
        torch.cuda.synchronize()
        for k, (norms, own) in enumerate(zip(found, weights, strict=True)):
            # other weights are far off; a singular vector that overtakes is found a little late
            check(norms, own, model, "bartlett", f"turn {turn}, tracker {k}", rtol=5e-3)
    assert len(trackers[0].readers.made) == 1


def test_what_was_begun_is_of_the_weights_as_they_were_whatever_comes_after() -> None:
    model, weights, trackers, streams = four_networks("cnn")
    busy = torch.randn(2000, 2000, device="cuda")
    torch.cuda.synchronize()
    for turn in range(6):
        begun, then = [], []
        for own, tracker, stream in zip(weights, trackers, streams, strict=True):
            with torch.cuda.stream(stream):
                move(own, 0.02)
                then.append({key: value.clone() for key, value in own.items()})
                begun.append(tracker.begin(own))
                for _ in range(3):  # training goes on
                    busy @ busy
                    move(own, 0.05)
        found = []
        for measurement, stream in zip(begun, streams, strict=True):
            with torch.cuda.stream(stream):
                found.append(measurement.result())
        torch.cuda.synchronize()
        for k, (norms, own) in enumerate(zip(found, then, strict=True)):
            check(norms, own, model, "bartlett", f"turn {turn}, tracker {k}", rtol=5e-3)


def test_what_takes_the_memory_of_a_tracker_that_is_gone_is_not_written_over() -> None:
    """Vectors of the last measurement are written late, after their tracker and another tensor came."""
    device = torch.device("cuda", torch.cuda.current_device())
    model = nets.build("cnn", SHAPE, 5, width=0.25, seed=0).to(device)
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        tracker = measure.NormTracker(model, SHAPE)
        for _ in range(4):  # until they start from singular vectors, and need no further block
            tracker.measure()
        shapes, readers = [vectors.shape for vectors in tracker.state.values()], tracker.readers
        begun = tracker.begin()
        torch.cuda.synchronize()
        with measurement_stream(device, after_current=False):
            torch.cuda._sleep(1 << 30)  # half a second
        begun.result()
        del begun, tracker
        others = [torch.zeros(shape, device=device) for shape in shapes * 8]
    torch.cuda.synchronize()
    assert readers.made
    assert shapes
    assert not any(bool(other.any()) for other in others)


def test_weights_that_are_replaced_by_some_of_them_are_captured_anew() -> None:
    models = [nets.build("cnn", SHAPE, 5, width=0.25, seed=seed) for seed in range(3)]
    there = {key: value.cuda() for key, value in stacked(models).items()}
    tracker = measure.NormTracker(models[0].cuda(), SHAPE)
    for _ in range(4):
        whole = tracker.measure(there)
    kept = {key: value[[0, 2]] for key, value in there.items()}
    tracker.state = {key: value[[0, 2]] for key, value in tracker.state.items()}
    del there
    for _ in range(4):
        found = tracker.measure(kept)
        torch.testing.assert_close(
            found["spectral_complexity"], whole["spectral_complexity"][[0, 2]], rtol=5e-3, atol=0
        )


def test_the_iteration_goes_on_where_a_replayed_block_was_not_enough() -> None:
    generator = torch.Generator().manual_seed(0)
    model = torch.nn.Linear(300, 200).cuda()
    tracker = measure.NormTracker(model, (300,), tolerance=1e-6)
    for _ in range(8):
        with torch.no_grad():
            model.weight.copy_(torch.randn(200, 300, generator=generator))  # far from the last start
        found = float(tracker.measure()["spectral"])
        exact = float(torch.linalg.matrix_norm(model.weight.detach().double(), 2))
        assert found == pytest.approx(exact, rel=1e-5)
    assert captured(tracker) == {"read"}


def test_tensor_cores_stay_out_of_it() -> None:
    weight = torch.randn(2, 300, 400, generator=torch.Generator().manual_seed(0))
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        found = spectral_norm(weight.cuda(), tolerance=1e-6).norm
        assert torch.backends.cuda.matmul.allow_tf32
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    torch.testing.assert_close(found, torch.linalg.matrix_norm(weight.double(), 2), rtol=3e-6, atol=0)


@pytest.mark.parametrize("geometry", [ConvGeometry(3, (9, 8), (2, 1), (2, 0)), ConvGeometry(3, (9, 9))])
def test_patches_of_a_stack_are_those_of_each_image(geometry) -> None:
    x = torch.randn(5, 3, *geometry.image, device="cuda")
    padded = _pad(x, geometry, (3, 3))
    expected = torch.nn.functional.unfold(padded, 3, stride=geometry.stride)
    assert torch.equal(_patches(x, geometry, (3, 3)), expected)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("options", [{}, {"compile": True, "precision": "bf16"}])
def test_a_group_that_trains_is_measured_by_replays(options, stream) -> None:
    values = {"model": "cnn", "dataset": "digits", "width": 0.25, "n_data": 300, "steps": 400, "graphs": True}
    settings = [Setting.from_dict({**values, **options, "seed": seed}) for seed in range(3)]
    with torch.cuda.stream(torch.cuda.Stream() if stream else None):
        group = jobs.build(settings, torch.device("cuda"))
        measuring = jobs.Measure(group)
        for turn in range(7):
            if turn == 5:
                group.keep([0, 2])
                measuring.keep([0, 2])
            group.advance(12)
            rows = measuring(list(range(group.runs)))
            for r, row in enumerate(rows):
                exact = measure.norms(group.module(r).eval(), group.resident.input_shape, tolerance=1e-5)
                group.model.train()
                assert row["norm"] == pytest.approx(exact["spectral_complexity"], rel=1e-2), (turn, r)
                assert row["norm_l2"] == pytest.approx(exact["l2"], rel=1e-5)
            assert "read" in captured(measuring.norms[0][0])


def test_kernels_are_diagonalised_on_the_gpu():
    root = torch.randn(300, 400, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    matrix = (root @ root.T).numpy()
    torch.cuda.reset_peak_memory_stats()
    values, vectors = measure.eigh(matrix)
    assert torch.cuda.max_memory_allocated() > matrix.nbytes
    assert abs((vectors * values) @ vectors.T - matrix).max() < 1e-9 * values[-1]
