"""The engine: right steps, right numbers, the same curve whoever runs beside and however often killed."""

from __future__ import annotations

import copy
import math
import shutil

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from scalinglab import data, nets
from scalinglab.errors import BadInput
from scalinglab.train import engine, jobs, run, run_many
from scalinglab.train.batches import Stream, dataset_of, transform_images
from scalinglab.train.replicas import Group, Resident
from scalinglab.train.setting import Setting

MLP = {"model": "mlp", "dataset": "digits", "width": 0.25, "n_data": 300, "batch_size": 32, "steps": 25}
TEACHER = {**MLP, "dataset": "teacher_student", "n_data": 100, "loss": "mse"}
CNN = {**MLP, "model": "cnn", "width": 0.1}


def group(*settings: dict) -> Group:
    return jobs.build([Setting.from_dict({"measure": [], **s}) for s in settings], torch.device("cpu"))


def last(curves, name: str) -> float:
    return float(curves.frame.sort_values("step")[name].iloc[-1])


OPTIMIZERS = {
    "adam": ({"optimizer": "adam"}, lambda p: torch.optim.Adam(p, 0.01)),
    "adam with decay": (
        {"optimizer": "adam", "weight_decay": 0.1},
        lambda p: torch.optim.Adam(p, 0.01, weight_decay=0.1),
    ),
    "adamw": (
        {"optimizer": "adamw", "weight_decay": 0.1},
        lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1),
    ),
    "sgd": ({"optimizer": "sgd"}, lambda p: torch.optim.SGD(p, 0.01)),
    "sgd with momentum": (
        {"optimizer": "sgd", "momentum": 0.8, "weight_decay": 0.1},
        lambda p: torch.optim.SGD(p, 0.01, momentum=0.8, weight_decay=0.1),
    ),
    "nesterov": (
        {"optimizer": "nesterov"},
        lambda p: torch.optim.SGD(p, 0.01, momentum=0.9, nesterov=True),
    ),
}


@pytest.mark.parametrize(
    ("name", "network", "beside"),
    [
        *((name, "mlp", 1) for name in OPTIMIZERS),
        ("adam", "mlp", 0),
        ("adam", "cnn", 1),
        ("nesterov", "cnn", 0),
    ],
)
def test_steps_equal_a_plain_loop_with_torch_optim(name: str, network: str, beside: int) -> None:
    """A loop as anybody would write it, on the same batches; `beside`: other runs train with it."""
    values, optimizer = OPTIMIZERS[name]
    setting = {**(MLP if network == "mlp" else CNN), "learning_rate": 0.01, "steps": 10, **values}
    others = [{**setting, "seed": 5, "learning_rate": 0.003}] * beside
    ours = group(setting, *others)
    indices = _indices(ours, 10)
    dataset = dataset_of(Setting.from_dict(setting))
    x, y = torch.tensor(dataset.inputs()), torch.tensor(dataset.train_y)
    model = nets.build(network, (1, 8, 8), 10, width=setting["width"], seed=0)
    plain = optimizer(model.parameters())
    for index in indices:
        plain.zero_grad()
        F.cross_entropy(model(x[index]), y[index]).backward()
        plain.step()
    ours.advance(10)
    for key, value in model.named_parameters():
        assert torch.allclose(ours.parameters[key][0], value, rtol=2e-4, atol=2e-5), key


def _indices(ours: Group, steps: int) -> list[torch.Tensor]:
    ours.stream.fill(0, 1)
    return [*ours.stream.index(torch.tensor(0), steps)[:, 0].long()]


def test_every_epoch_shows_every_example_once() -> None:
    subsets = [np.arange(100, 150), np.arange(37)]
    stream = Stream(subsets, [0, 1], [8, 8], torch.device("cpu"), longest=100)
    stream.fill(0, 1)
    seen = stream.index(torch.tensor(0), 20).transpose(0, 1).flatten(1)
    first = seen[0, :150].view(3, 50)
    assert all(sorted(epoch.tolist()) == list(range(100, 150)) for epoch in first)
    assert not torch.equal(first[0], first[1])
    second = seen[1, : 37 * 4].view(4, 37)
    assert all(sorted(epoch.tolist()) == list(range(37)) for epoch in second)


def test_windows_of_the_stream_join_without_a_seam() -> None:
    """The steps after those that were drawn first begin with the epoch that these left unfinished."""
    stream = Stream([np.arange(50)], [3], [8], torch.device("cpu"), longest=20)
    seen, step = [], 0
    while step < 50:  # 8 epochs
        end = stream.fill(step, 50)
        seen.append(stream.index(torch.tensor(step), end - step)[:, 0].flatten())
        step = end
    assert len(seen) > 1
    assert all(sorted(epoch.tolist()) == list(range(50)) for epoch in torch.cat(seen).view(8, 50))


def test_orders_of_different_seeds_are_independent_and_uniform() -> None:
    """Position of example 0 in 4,000 permutations of 8: χ² with 7 degrees of freedom stays below 24.3."""
    from scalinglab.train import random_numbers as rn

    epochs = rn.mix(rn.keys(list(range(40)), rn.ORDER)[:, None], torch.arange(100))
    order = rn.mix(epochs[..., None], torch.arange(8)).argsort(dim=-1)
    place = (order == 0).int().argmax(-1).flatten()
    counts = torch.bincount(place, minlength=8).double()
    assert float(((counts - 500) ** 2 / 500).sum()) < 24.3  # p = 0.001
    assert len({tuple(p.tolist()) for p in order[:, 0]}) == 40


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "rate"),
    [
        ("mlp", 1e-3), ("mlp", 1e-2), ("cnn", 1e-3), ("dropout", 1e-2), ("augmented", 1e-2),
        ("batch_norm", 1e-2), ("cosine", 1e-2), ("resnet", 1e-2), ("vit", 1e-3), ("vit dropout", 1e-2),
        ("wide_resnet", 1e-2),
    ],
)  # fmt: skip
def test_a_run_does_not_depend_on_who_ran_beside_it(kind: str, rate: float) -> None:
    extra: dict[str, dict] = {
        "mlp": {},
        "cnn": {},
        "dropout": {"dropout": 0.3},
        "augmented": {"augment": "crop_flip"},
        "batch_norm": {"batch_norm": True},
        "cosine": {"schedule": "cosine"},
        "resnet": {"model": "resnet", "width": 1.0, "model_options": {"stages": [1, 1], "channels": [4, 6]}},
        "wide_resnet": {"model": "wide_resnet", "width": 0.25, "depth": 10},
        "vit": {
            "model": "vit",
            "width": 0.25,
            "depth": 1,
            "optimizer": "sgd",  # keys' biases have no gradient: adam would blow up its rounding
            "model_options": {"patch": 4},
        },
    }
    extra["vit dropout"] = {**extra["vit"], "dropout": 0.3}
    base = {
        **(CNN if kind in ("cnn", "dropout", "augmented", "batch_norm") else MLP),
        **extra[kind],
        "steps": 8,
    }
    alone = group(base)
    crowd = group({**base, "seed": 7, "n_data": 200, "learning_rate": rate}, base, {**base, "seed": 9})
    for g in (alone, crowd):
        g.advance(8)
    for name, value in alone.parameters.items():
        assert torch.allclose(value[0], crowd.parameters[name][1], rtol=1e-3, atol=1e-4), name
    mine, theirs = alone.evaluate([0])[0], crowd.evaluate([1])[0]
    assert mine["test_loss"] == pytest.approx(theirs["test_loss"], rel=1e-3)


def test_evaluation_equals_a_plain_forward_pass() -> None:
    ours = group(MLP, {**MLP, "n_data": 200, "seed": 3})
    ours.advance(5)
    found = ours.evaluate([0, 1])
    dataset = dataset_of(Setting.from_dict(MLP))
    for r, n in enumerate((300, 200)):
        subset = dataset.subset(n, seed=ours.settings[r].seed)
        with torch.no_grad():
            model = ours.module(r).eval()
            for split, x, y in (
                ("train", subset.inputs(), subset.train_y),
                ("test", subset.inputs("test"), subset.test_y),
            ):
                logits = model(torch.tensor(x))
                assert found[r][f"{split}_loss"] == pytest.approx(
                    float(F.cross_entropy(logits, torch.tensor(y))), rel=1e-4
                )
                assert found[r][f"{split}_error"] == pytest.approx(
                    float((logits.argmax(1) != torch.tensor(y)).float().mean()), abs=1e-6
                )


def test_the_same_setting_gives_the_same_bits() -> None:
    first, second = (run({**CNN, "steps": 6}).frame for _ in range(2))
    assert first.equals(second)


def test_learning_happens_and_all_columns_are_there() -> None:
    curves = run({**MLP, "width": 1.0, "depth": 1, "n_data": 1000, "steps": None, "epochs": 10})
    assert last(curves, "test_error") < 0.12
    for name in ("epoch", "examples", "compute", "n_params", "norm", "norm_l2", "train_loss", "test_error"):
        assert curves.frame[name].notna().all(), name
    assert last(curves, "epoch") == pytest.approx(10, abs=0.1)
    # two operations a weight and example, forward and for each gradient; the first layer needs only one
    expected = 2 * 32 * (2 * 64 * 128 + 3 * 128 * 10) * last(curves, "step")
    assert last(curves, "compute") == pytest.approx(expected, rel=0.01)


def test_the_norm_in_a_row_is_that_of_the_network() -> None:
    from scalinglab.measure import norms

    wanted = {"measure": ["norm", "norm_as_published"]}
    ours = group({**CNN, **wanted}, {**CNN, "seed": 2, **wanted})
    measure = jobs.Measure(ours)
    for steps in (3, 4):
        ours.advance(steps)
        rows = measure([0, 1])
    for r in (0, 1):
        exact = norms(ours.module(r), (1, 8, 8), tolerance=1e-6)
        assert rows[r]["norm"] == pytest.approx(exact["spectral_complexity"], rel=5e-3)
        assert rows[r]["norm_l2"] == pytest.approx(exact["l2"], rel=1e-5)
        published = norms(ours.module(r), (1, 8, 8), definition="as_published")
        assert rows[r]["norm_as_published"] == pytest.approx(published["spectral_complexity"], rel=5e-3)
    some = measure([1])[0]  # one run of two, from the last vectors
    assert some["norm"] == pytest.approx(rows[1]["norm"], rel=1e-3)


def test_margins_are_those_of_the_network() -> None:
    frame = run({**MLP, "steps": 20, "measure": ["norm", "margin"]}).frame
    assert (frame.margin_low <= frame.margin).all()
    assert np.allclose(
        frame.margin_normalized / frame.margin, frame.margin_low**-1 * frame.margin_normalized_low
    )
    wrong = frame.train_error.iloc[-1]
    assert (frame.margin.iloc[-1] > 0) == (wrong < 0.5)


def test_the_histogram_of_margins_is_a_histogram() -> None:
    frame = run({**MLP, "steps": 20, "measure": ["norm", "margin_histogram"]}).frame
    bins = [c for c in frame if c.startswith("margin_bin_")]
    np.testing.assert_allclose(frame[bins].sum(axis=1), 1.0)
    assert (frame.margin_min <= frame.margin_low).all()
    assert (frame.margin_mean < frame.margin_max).all()
    np.testing.assert_allclose(
        frame.margin_normalized_min / frame.margin_min, frame.margin_normalized / frame.margin
    )
    width = (frame.margin_max - frame.margin_min) / len(bins)
    middles = [frame.margin_min + (k + 0.5) * width for k in range(len(bins))]
    coarse = sum(frame[name] * middle for name, middle in zip(bins, middles, strict=True))
    assert (np.abs(coarse - frame.margin_mean) <= width / 2 + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["cross_entropy", "mse"])
def test_measurements_on_examples_and_of_ones_own_are_those_of_the_network(loss: str) -> None:
    from scalinglab import measure

    base = {**CNN, "loss": loss, "n_data": 40, "steps": 6, "checkpoints_per_decade": 1}
    seen: list[torch.nn.Module] = []

    def own(model: torch.nn.Module) -> dict[str, float]:
        assert not model.training
        seen.append(copy.deepcopy(model))
        return {"outputs": float(model(torch.ones(1, 1, 8, 8)).detach().sum())}

    settings = [{**base, "seed": s, "measure": ["gradient_noise"]} for s in (0, 1)]
    frame = run_many(settings, extra=own, max_stacked=2).frame.sort_values(["step", "seed"])
    assert len(seen) == len(frame) == 4
    for (_, row), model in zip(frame.iterrows(), seen, strict=True):
        subset = data.load("digits").subset(40, seed=int(row.seed))
        x, y = torch.tensor(subset.inputs()), torch.tensor(subset.train_y)
        y = F.one_hot(y, 10).float() if loss == "mse" else y
        noise = measure.gradient_noise(model, x, y, loss)
        assert row.gradient_noise == pytest.approx(noise.trace, rel=1e-4)
        assert row.outputs == pytest.approx(float(model(torch.ones(1, 1, 8, 8)).detach().sum()), rel=1e-5)


@pytest.mark.slow
def test_runs_of_different_length_end_at_their_own_time() -> None:
    sizes = (40, 100, 300)
    settings = [{**MLP, "n_data": n, "steps": None, "epochs": 4} for n in sizes]
    curves = run_many(settings, max_stacked=3)
    for n in sizes:
        assert curves.select(n_data=n)["epoch"].max() == pytest.approx(4, abs=32 / n)
    alone = run(settings[2])
    assert last(alone, "test_loss") == pytest.approx(last(curves.select(n_data=300), "test_loss"), rel=1e-3)


def test_divergence_is_recorded_and_spares_the_neighbours() -> None:
    wild = {**MLP, "optimizer": "sgd", "learning_rate": 1e20, "seed": 1}
    tame = {**MLP, "optimizer": "sgd", "learning_rate": 0.05}
    curves = run_many([wild, tame], max_stacked=2)
    frame = curves.frame
    bad, good = (frame[frame.learning_rate == rate] for rate in (1e20, 0.05))
    assert set(bad.status) == {"diverged"}
    assert 1 <= bad.diverged_at.iloc[0] <= 3
    assert set(good.status) == {"done"}
    assert np.isfinite(good.test_loss).all()
    assert last(run(tame), "test_loss") == pytest.approx(good.test_loss.iloc[-1], rel=1e-3)


@pytest.mark.parametrize("steps", [1, 2])
def test_divergence_in_the_last_step_is_recorded(steps: int) -> None:
    """The loss before the last update is finite, what that update leaves is not."""
    frame = run(
        {**MLP, "optimizer": "sgd", "learning_rate": 1e30 if steps == 1 else 1e12, "steps": steps}
    ).frame
    assert set(frame.status) == {"diverged"}
    assert set(frame.diverged_at) == {steps}
    assert np.isnan(frame.train_loss.iloc[-1])  # the column is there, also where nothing else is in it


def test_hopeless_runs_are_given_up_by_the_rule_of_park2019() -> None:
    lazy = {**MLP, "learning_rate": 1e-9, "fail_below": 0.2, "steps": 100}
    frame = run(lazy).frame
    assert set(frame.status) == {"diverged"}
    assert 20 < frame.step.max() < 30  # the first checkpoint past 20 % of the time


def test_full_batch_gradient_descent_is_gradient_descent() -> None:
    """Two steps by hand on the whole set, loss and gradient by autograd on a plain module."""
    setting = {
        "model": "mlp", "dataset": "digits", "width": 0.1, "n_data": 200, "full_batch": True,
        "optimizer": "sgd", "learning_rate": 0.1, "loss": "mse", "steps": 2,
    }  # fmt: skip
    ours = group(setting)
    ours.advance(2)
    subset = dataset_of(Setting.from_dict(setting)).subset(200, 0)
    x, y = torch.tensor(subset.inputs()), F.one_hot(torch.tensor(subset.train_y), 10).float()
    model = nets.build("mlp", (1, 8, 8), 10, width=0.1, seed=0)
    for _ in range(2):
        gradients = torch.autograd.grad(F.mse_loss(model(x), y), list(model.parameters()))
        with torch.no_grad():
            for p, g in zip(model.parameters(), gradients, strict=True):
                p -= 0.1 * g
    for name, value in model.named_parameters():
        assert torch.allclose(ours.parameters[name][0], value, rtol=1e-4, atol=1e-6)
    assert last(run(setting), "batch_size") == 200


def test_the_cosine_schedule_ends_at_zero() -> None:
    ours = group({**MLP, "schedule": "cosine", "steps": 20})
    ours.advance(20)
    before = {k: v.detach().clone() for k, v in ours.parameters.items()}
    ours.advance(1)  # beyond the end the rate stays zero
    assert all(torch.equal(before[k], v) for k, v in ours.parameters.items())


def test_maximal_update_rates_reach_the_parameters() -> None:
    """Adam's first step moves every weight by its rate: 1/width of the base for hidden layers in mup."""
    wide = {**MLP, "width": 4.0, "depth": 2, "parameterization": "mup", "learning_rate": 1e-3, "steps": 1}
    ours = group(wide)
    before = {k: v.detach().clone() for k, v in ours.parameters.items()}
    scales = nets.learning_rate_scales(ours.model, "adam")
    ours.advance(1)
    moved = {k: float((v.detach() - before[k]).abs().max()) for k, v in ours.parameters.items()}
    assert {round(s, 6) for s in scales.values()} == {1.0, 0.25}
    for name, scale in scales.items():
        assert moved[name] == pytest.approx(1e-3 * scale, rel=0.01), name


@pytest.mark.slow
def test_a_student_learns_its_teacher() -> None:
    frame = run(
        {
            "model": "mlp", "dataset": "teacher_student", "data_options": {"dimension": 2, "n_data": 2000},
            "loss": "mse", "steps": 400, "batch_size": 64, "learning_rate": 3e-3, "schedule": "cosine",
        }
    ).frame  # fmt: skip
    assert "test_error" not in frame
    assert frame.test_loss.iloc[-1] < 0.02 * frame.test_loss.iloc[0]


def test_dropout_drops_the_fraction_and_keeps_the_mean() -> None:
    from scalinglab.train.random_numbers import Dropout

    layer = Dropout(0.3, 5)
    layer.key.fill_(12345)
    out = layer(torch.ones(200, 500))
    assert float((out == 0).float().mean()) == pytest.approx(0.3, abs=0.005)
    assert float(out.mean()) == pytest.approx(1, abs=0.01)
    layer.key.fill_(54321)
    assert not torch.equal(out, layer(torch.ones(200, 500)))
    assert torch.equal(layer.eval()(torch.ones(3)), torch.ones(3))


def test_bits_are_those_of_splitmix64() -> None:
    """Against the generator written with Python's integers."""
    from scalinglab.train.random_numbers import mix

    def splitmix(key: int, counter: int) -> int:
        mask = (1 << 64) - 1
        z = (key + (counter + 1) * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    keys, counters = [0, 1, 12345, (1 << 62) + 7], [0, 1, 999, 1 << 40]
    found = mix(torch.tensor(keys)[:, None], torch.tensor(counters))
    expected = [[splitmix(key, counter) for counter in counters] for key in keys]
    assert [[int(bits) % (1 << 64) for bits in row] for row in found] == expected
    assert [int(bits) % (1 << 64) for bits in mix(7, torch.tensor(counters))] == [
        splitmix(7, counter) for counter in counters
    ]
    for place, counter in enumerate(counters):
        found = mix(torch.tensor(keys), counter)
        assert [int(bits) % (1 << 64) for bits in found] == [row[place] for row in expected]


@pytest.mark.nightly  # the compiler takes 13 s on two cores, and more where it starts a process a core
@pytest.mark.skipif(shutil.which("g++") is None, reason="compiling for a CPU takes a C++ compiler")
@pytest.mark.filterwarnings("ignore")  # the compiler's own
def test_compiled_dropout_draws_the_same_masks() -> None:
    from scalinglab.train.random_numbers import Dropout

    layer = Dropout(0.3, 5)
    layer.key.fill_(12345)
    x = torch.rand(50, 20).t()  # one loop would do for a contiguous one
    assert torch.equal(torch.compile(layer)(x), layer(x))


def test_augmentation_only_flips_and_shifts() -> None:
    images = torch.arange(1, 1 + 40 * 8 * 8).view(1, 40, 8, 8, 1)
    moved = transform_images(images, "crop_flip", torch.tensor([99]))[0, ..., 0]
    padded = F.pad(images[0, ..., 0].float(), (4, 4, 4, 4)).long()
    seen = set()
    for n in range(40):
        candidates = {
            (i, j, f): (padded[n, i : i + 8, j : j + 8].flip(-1) if f else padded[n, i : i + 8, j : j + 8])
            for i in range(9) for j in range(9) for f in (False, True)
        }  # fmt: skip
        fits = [key for key, image in candidates.items() if torch.equal(image, moved[n])]
        assert len(fits) == 1
        seen.add(fits[0])
    assert len(seen) > 30
    assert {key[2] for key in seen} == {False, True}


def test_every_shift_of_a_crop_is_as_likely_as_another() -> None:
    images = torch.zeros(1, 9000, 9, 9, 1)
    images[:, :, 4, 4] = 1  # in the middle: no shift by 4 pixels loses it
    place = transform_images(images, "crop", torch.tensor([7]))[0, ..., 0].flatten(1).argmax(1)
    for shift in (place // 9, place % 9):
        counts = torch.bincount(shift, minlength=9).double()
        assert len(counts) == 9
        assert (counts - 1000).abs().max() < 4 * (9000 * 8 / 81) ** 0.5  # four standard deviations
    assert len(set(place.tolist())) == 81


@pytest.mark.slow
def test_affine_maps_turn_by_ten_degrees_and_shift_by_a_tenth() -> None:
    images, centre, arm = torch.zeros(1, 2000, 51, 51, 1), 25, 12
    images[:, :, centre, centre] = 1.0  # about which the image turns: it shows the shift alone
    blob = slice(centre + arm - 1, centre + arm + 2)
    images[:, :, centre - 1 : centre + 2, blob] = 2.0
    moved = transform_images(images, "affine", torch.tensor([5]))[0, ..., 0]
    at = (moved == 1.0).flatten(1).double().argmax(1)
    down, right = at // 51 - centre, at % 51 - centre
    for shift in (down, right):
        assert sorted(set(shift.tolist())) == list(range(-5, 6))
        assert float(shift.double().std()) == pytest.approx(5.1 / 3**0.5, rel=0.05)
    weight = (moved == 2.0).double()
    grid = torch.arange(51, dtype=torch.float64) - centre
    rows = (weight.sum(2) @ grid) / weight.sum((1, 2)) - down
    columns = (weight.sum(1) @ grid) / weight.sum((1, 2)) - right
    angle = torch.rad2deg(torch.atan2(rows, columns))
    assert float(angle.abs().max()) < 10 + 2  # half a pixel at twelve is two degrees
    assert float(angle.mean()) == pytest.approx(0, abs=0.5)
    assert float(angle.std()) == pytest.approx(10 / 3**0.5, rel=0.06)
    assert torch.hypot(rows, columns).sub(arm).abs().max() < 1


def test_transformed_test_images_change_the_test_loss_alone() -> None:
    options = {**CNN, "steps": 2, "augment": "crop"}
    plain, moved = (run({**options, "augment_test": yes}, progress=False).frame for yes in (False, True))
    assert plain["train_loss"].equals(moved["train_loss"])
    assert (plain["test_loss"] != moved["test_loss"]).all()
    with pytest.raises(BadInput, match="augment"):
        Setting.from_dict({**CNN, "steps": 2, "augment_test": True})


def test_defaults_that_are_written_out_do_not_rename_a_run() -> None:
    written = {"augment_test": False, "initialization_factor": 1.0, "online": False}
    assert Setting.from_dict({**CNN, "steps": 2, **written}).run == Setting.from_dict({**CNN, "steps": 2}).run
    small = Setting.from_dict({**CNN, "steps": 2, "initialization_factor": 0.05})
    assert small.run != Setting.from_dict({**CNN, "steps": 2}).run


def test_augmentation_changes_what_a_run_is_trained_on_and_nothing_else_does() -> None:
    losses = [
        run({**CNN, "steps": 2, "augment": augment}, progress=False).frame["test_loss"].iloc[-1]
        for augment in ("none", "flip", "none")
    ]
    assert losses[0] == losses[2] != losses[1]


def test_small_steps_are_stacked_and_large_ones_are_not() -> None:
    small, large = (Setting.from_dict({**MLP, "width": 8.0, "batch_size": batch}) for batch in (32, 300))
    assert engine.stack_size(small, torch.device("cpu")) > 1
    assert engine.stack_size(large, torch.device("cpu")) == 1


# --- precision -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a CPU without bf16 of its own
def test_bf16_keeps_masters_in_fp32_and_follows_fp32() -> None:
    full, half = group(MLP), group({**MLP, "precision": "bf16"})
    for g in (full, half):
        g.advance(25)
    assert all(p.dtype == torch.float32 for p in half.parameters.values())
    assert {w.dtype for w in half.working.values()} == {torch.bfloat16}
    a, b = full.evaluate([0])[0], half.evaluate([0])[0]
    assert b["test_loss"] == pytest.approx(a["test_loss"], rel=0.03)
    assert b["test_loss"] != a["test_loss"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
@pytest.mark.parametrize("kind", ["cnn", "batch_norm", "vit"])
def test_bf16_runs_alone_and_in_a_stack(kind: str) -> None:
    vit = {"model": "vit", "width": 0.25, "depth": 1, "model_options": {"patch": 4}}
    base = {**CNN, **{"cnn": {}, "batch_norm": {"batch_norm": True}, "vit": vit}[kind]}
    half = {**base, "precision": "bf16"}
    alone, stacked, full = group(half), group(half, {**half, "seed": 1}), group(base)
    losses = []
    for g in (alone, stacked, full):
        g.advance(8)
        losses.append(g.evaluate([0])[0]["test_loss"])
    assert losses[0] == pytest.approx(losses[1], rel=0.02)
    assert losses[0] == pytest.approx(losses[2], rel=0.05)


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({**MLP, "n_data": 5000}, "has 1438 training examples"),
        ({**MLP, "test_size": 5000}, "359 test examples"),
        ({**MLP, "dataset": "teacher_student", "n_data": 100}, "set loss='mse'"),
        ({**TEACHER, "fail_below": 0.2}, "is an accuracy"),
        ({**TEACHER, "measure": ["margin"]}, "is for classes"),
        ({**TEACHER, "augment": "flip"}, "is for images"),
        ({**MLP, "dataset": "teacher_student", "data_options": {"dim": 2}, "n_data": 10}, "dim"),
    ],
)
def test_settings_that_do_not_fit_the_data_are_refused(values: dict, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        run(values)


def test_no_settings_and_no_room_are_refused() -> None:
    with pytest.raises(BadInput, match="at least one"):
        run_many([])
    with pytest.raises(BadInput, match="list of settings"):
        run_many(MLP)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="must be a Setting or a mapping"):
        run(3)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="max_stacked=0"):
        run_many([MLP], max_stacked=0)


def test_groups_hold_what_can_share_a_step() -> None:
    settings = [
        Setting.from_dict(s) for s in (MLP, {**MLP, "seed": 1}, {**MLP, "width": 0.5}, {**MLP, "n_data": 20})
    ]
    sizes = sorted(len(g) for g in engine.group(settings, torch.device("cpu")))
    assert sizes == [1, 1, 2]  # another width, and a set smaller than the batch, stand alone


def test_resident_data_are_the_inputs() -> None:
    dataset = data.load("digits")
    resident = Resident(dataset, torch.device("cpu"))
    index = torch.tensor([[3, 1], [700, 2]])
    stored, y = resident.batch(index)
    assert np.allclose(resident.inputs(stored).numpy(), dataset.inputs()[index.numpy()])
    assert np.array_equal(y.numpy(), dataset.train_y[index.numpy()])
    assert math.isclose(float(resident.inputs(resident.test_x).std()), 1, rel_tol=0.1)


@pytest.mark.filterwarnings("error:There is a performance drop")
def test_stacked_resnets_are_evaluated_without_a_loop_over_runs() -> None:
    setting = {"model": "wide_resnet", "depth": 10, "dataset": "digits", "n_data": 20, "steps": 1}
    setting["test_size"] = 20
    found = group(*({**setting, "seed": seed} for seed in range(2))).evaluate([0, 1])
    alone = group({**setting, "seed": 1}).evaluate([0])
    assert found[1] == pytest.approx(alone[0], rel=1e-4)
