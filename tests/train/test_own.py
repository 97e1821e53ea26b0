"""Networks, data, losses, optimizers and schedules of the user's own, against plain PyTorch loops."""

from __future__ import annotations

import copy
import importlib
import json
import linecache
import math
from dataclasses import dataclass
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset
from typer.testing import CliRunner

from scalinglab import measure, sweep
from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.store import Store
from scalinglab.sweep.grid import Grid
from scalinglab.train import replicas, run, run_many
from scalinglab.train.batches import Stream, dataset_of
from scalinglab.train.engine import with_own
from tests.train.killed import begun, killed

STEPS, BATCH = 12, 16
SHORT = {"steps": STEPS, "batch_size": BATCH, "n_data": 60, "learning_rate": 0.01, "measure": []}


def classes(dimension: int = 6, n: int = 160, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, dimension, generator=generator)
    y = (x @ torch.randn(dimension, 3, generator=generator)).argmax(1)
    return x[:100], y[:100], x[100:], y[100:]


class Small(nn.Module):
    def __init__(self, width: int = 8, dropout: float = 0.0) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Dropout(dropout), nn.Linear(width, 3))

    def forward(self, x):
        return self.body(x)


class Normalized(nn.Module):
    """Batch norm, whose statistics must be those of a plain loop."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, x):
        return self.last(F.relu(self.norm(self.first(x))))


class Branching(nn.Module):
    """Control flow that depends on the data: no stack."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x):
        h = self.first(x)
        return self.last(h.relu() if h.mean() > 0 else h.tanh())


class Remembering(Small):
    """What it keeps in evaluation has a place of its own, into which no stack can be written."""

    def forward(self, x):
        if not self.training:
            x = torch.zeros(x.shape[0], 6).copy_(self.body[0].weight.sum() * 0 + x)
        return self.body(x)


class Force(Small):
    """Minus the gradient of an energy, as of interatomic potentials: evaluations need gradients, too."""

    def forward(self, x):
        x = x.detach().requires_grad_()
        energy = self.body(x).logsumexp(1).sum()
        return -torch.autograd.grad(energy, x, create_graph=True)[0][:, :3]


class Attending(nn.Module):
    """Fused attention, for which stacks have no rule."""

    def __init__(self) -> None:
        super().__init__()
        self.split, self.last = nn.Linear(2, 12), nn.Linear(12, 3)

    def forward(self, x):
        q, k, v = self.split(x.unflatten(1, (1, 3, 2))).chunk(3, dim=-1)  # one head: without it none is fused
        return self.last(F.scaled_dot_product_attention(q, k, v).flatten(1))


class Tied(nn.Module):
    """A language model whose head is its embedding, with a frozen table and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.mix = nn.Embedding(7, 8), nn.Linear(8, 8)
        self.head = nn.Linear(8, 7, bias=False)
        self.head.weight = self.embed.weight
        self.positions = nn.Parameter(torch.randn(5, 8), requires_grad=False)
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, tokens):
        h = self.embed(tokens) + self.positions
        return self.head(h + self.mix(h.cumsum(1) * self.scale))


class Noisy(Small):
    """Random numbers of PyTorch's generator, in training and in evaluation."""

    def forward(self, x):
        return self.body(F.dropout(x, 0.3, self.training) + 0.1 * torch.randn_like(x))


class Counting(Small):
    """A network that counts its passes."""

    passes = 0

    def forward(self, x):
        self.passes += 1
        return self.body(x) * (1 + 0.01 * self.passes)


def plain_loop(model, data, setting, loss, make_optimizer, schedule=None, clip=None):
    """A training loop as anybody writes it, over the batches that the engine takes; losses by step."""
    x, y, test_x, test_y = data
    (full,) = with_own([setting], {"model": model, "dataset": data, "loss": loss})
    subset = dataset_of(full).order(full.seed)[: full.n_data]
    batches = Stream([subset], [full.seed], [full.batch(full.n_data)], torch.device("cpu"), STEPS)
    torch.manual_seed(full.seed)
    network = model({}) if not isinstance(model, type) else model()
    optimizer = make_optimizer(network.parameters())
    rate, found = full.learning_rate, {}
    for step in range(STEPS):
        batches.fill(step, STEPS)
        index = batches.index(torch.tensor(step))[0, 0].long()
        for group in optimizer.param_groups:
            group["lr"] = rate * (schedule(step, STEPS) if schedule else 1.0)
        optimizer.zero_grad()
        loss(network(x[index]), y[index]).backward()
        if clip:
            nn.utils.clip_grad_norm_(network.parameters(), clip)
        optimizer.step()
        network.eval()
        found[step + 1] = float(loss(network(test_x), test_y).detach())  # `Force` needs gradients here
        network.train()
    return found, network


def cosine(step: int, steps: int) -> float:
    return 0.5 * (1 + math.cos(math.pi * step / steps))


def warm(step: int, steps: int) -> float:
    return min(1.0, (step + 1) / 4) * (1 - step / steps)


def agree(curves, expected: dict[int, float], tolerance: float = 2e-5) -> None:
    frame = curves.frame
    assert set(frame["step"]) <= set(expected)
    assert STEPS in set(frame["step"])
    wanted = [expected[step] for step in frame["step"]]
    np.testing.assert_allclose(frame["test_loss"], wanted, rtol=tolerance, atol=1e-6)


CASES = {
    "adamw": ({"optimizer": torch.optim.AdamW}, lambda p: torch.optim.AdamW(p), None, None),
    "adam betas": ({"optimizer": "adam", "beta1": 0.8, "beta2": 0.9},
                   lambda p: torch.optim.Adam(p, betas=(0.8, 0.9)), None, None),
    "sgd clipped": ({"optimizer": "sgd", "momentum": 0.9, "clip": 0.3},
                    lambda p: torch.optim.SGD(p, momentum=0.9), None, 0.3),
    "cosine": ({"optimizer": "adam", "schedule": "cosine"}, torch.optim.Adam, cosine, None),
    "own schedule": ({"optimizer": "adam", "schedule": cosine}, torch.optim.Adam, cosine, None),
    "linear": ({"optimizer": "adam", "schedule": "linear", "warmup": 4}, torch.optim.Adam, warm, None),
    "rmsprop": ({"optimizer": torch.optim.RMSprop}, torch.optim.RMSprop, None, None),
    "factory": ({"optimizer": lambda p, s: torch.optim.NAdam(p, lr=s["learning_rate"])},
                torch.optim.NAdam, cosine, None),
    "scheduler": ({"optimizer": "sgd", "schedule": partial(torch.optim.lr_scheduler.StepLR, step_size=4)},
                  torch.optim.SGD, lambda step, steps: 0.1 ** (step // 4), None),
    "factor of a step": ({"optimizer": "adam", "schedule": lambda step: 1 / (1 + step)}, torch.optim.Adam,
                         lambda step, steps: 1 / (1 + step), None),
    "scheduler of opt": ({"optimizer": "sgd",
                          "schedule": lambda opt: torch.optim.lr_scheduler.StepLR(opt, 4)}, torch.optim.SGD,
                         lambda step, steps: 0.1 ** (step // 4), None),
    "scheduler of all steps": ({"optimizer": "adam", "schedule": lambda optimizer, steps:
                                torch.optim.lr_scheduler.LinearLR(optimizer, 0.5, 1.0, steps)},
                               torch.optim.Adam, lambda step, steps: 0.5 + 0.5 * step / steps, None),
    "partial": ({"optimizer": partial(torch.optim.AdamW, lr=0.01, betas=(0.5, 0.8), weight_decay=0.3)},
                lambda p: torch.optim.AdamW(p, betas=(0.5, 0.8), weight_decay=0.3), None, None),
    "groups by modules": ({"optimizer": lambda model, s: torch.optim.AdamW(
                               [{"params": model.body[0].parameters(), "weight_decay": 0.5},
                                {"params": model.body[3].parameters()}], lr=s["learning_rate"])},
                          lambda p: torch.optim.AdamW([{"params": (p := [*p])[:2], "weight_decay": 0.5},
                                                       {"params": p[2:]}]), None, None),
}  # fmt: skip


SLOW = (
    "linear",
    "factor of a step",
    "scheduler of opt",
    "own schedule",
    "rmsprop",
    "scheduler of all steps",
    "partial",
)  # of a mechanism that others show, too


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (case in SLOW)) for case in CASES]
)
def test_the_curve_is_that_of_a_plain_loop(case: str) -> None:
    own, optimizer, schedule, clip = CASES[case]
    if case == "factory":
        own = {**own, "schedule": cosine}
    data = classes()
    setting = {**SHORT, "seed": 3, "checkpoints_per_decade": 5}
    expected, _ = plain_loop(Small, data, setting, F.cross_entropy, optimizer, schedule, clip)
    agree(run({**setting, **own}, model=Small, data=data, loss=F.cross_entropy), expected)


@pytest.mark.parametrize(
    "model",
    [Normalized, Branching, *(pytest.param(model, marks=pytest.mark.slow) for model in (Remembering, Force))],
)
def test_batch_norm_and_modules_that_do_not_stack_train_as_in_a_plain_loop(model) -> None:
    # sgd: the gradient of a bias before batch norm is zero but for rounding, which Adam would blow up
    data = classes()
    settings = [{**SHORT, "seed": seed, "optimizer": "sgd", "learning_rate": 0.1} for seed in (0, 1)]
    together = run_many(settings, model=model, data=data)
    for setting in settings:
        expected, _ = plain_loop(model, data, setting, F.cross_entropy, torch.optim.SGD)
        agree(together.select(seed=setting["seed"]), expected)


class OfParts(Small):
    """An input in two parts, one of them whole numbers beside a mask."""

    def forward(self, left, right, number, mask):
        assert (number.dtype, mask.dtype) == (torch.int64, torch.bool)
        return self.body(torch.cat([left, right.flatten(1)], 1)) * mask.all(1, keepdim=True) + number


class OfBatch(OfParts):
    def forward(self, batch):
        return super().forward(*(batch[name] for name in ("left", "right", "number", "mask")))


def in_parts(x):
    zeros = torch.zeros(len(x), 1)
    return {"left": x[:, :2], "right": x[:, 2:, None], "number": zeros.long(), "mask": zeros == 0}


class Examples(torch.utils.data.Dataset):
    def __init__(self, *parts):
        self.parts = parts

    def __len__(self):
        return len(self.parts[0]["left"])

    def __getitem__(self, k):
        x = {name: part[k] for name, part in self.parts[0].items()}
        return {**x, "label": int(self.parts[1][k])} if len(self.parts) > 1 else tuple(x.values())


@cache
def small_alone():
    """The curve of `Small` on tensors."""
    return run(SHORT, model=Small, data=classes()).frame


def pairs(*parts):
    """As an iterable without a length."""
    return ((x, int(y)) for x, y in zip(*parts))


@pytest.mark.filterwarnings("ignore:.*collates")
@pytest.mark.parametrize(
    ("model", "given", "parts"),
    [
        (Small, lambda x, y: (x, y), ("train", "val")),
        (Small, lambda x, y: DataLoader(TensorDataset(x, y), 7, shuffle=True), None),
        (Small, pairs, ("train", "val")),
        pytest.param(OfParts, lambda x, y: (tuple(in_parts(x).values()), y), None, marks=pytest.mark.slow),
        pytest.param(OfParts, lambda x, y: pairs(Examples(in_parts(x)), y), None, marks=pytest.mark.slow),
        (OfParts, lambda x, y: Examples(in_parts(x), y), None),
        (OfBatch, lambda x, y: {**in_parts(x), "labels": y}, ("train", "test")),
    ],
)
def test_data_are_the_same_in_whatever_form(model, given, parts) -> None:
    x, y, test_x, test_y = classes()
    data = given(x, y), given(test_x, test_y)
    found = run(SHORT, model=model, data=dict(zip(parts, data)) if parts else data).frame
    np.testing.assert_array_equal(found["test_loss"], small_alone()["test_loss"])
    np.testing.assert_array_equal(found["test_error"], small_alone()["test_error"])


@pytest.mark.parametrize("seeds", [1, 2])
def test_targets_of_several_parts_reach_a_loss_by_name(seeds: int) -> None:
    x, y, test_x, test_y = classes()
    weight, test_weight = x[:, 0].sigmoid(), test_x[:, 0].sigmoid()

    def weighted(outputs, targets):
        each = F.cross_entropy(outputs, targets["class"], reduction="none", label_smoothing=0.1)
        return (each * targets["weight"]).mean()

    def packed(outputs, targets):
        return weighted(outputs, {"class": targets[:, 0].long(), "weight": targets[:, 1]})

    settings = [{**SHORT, "seed": seed} for seed in range(seeds)]
    targets = [{"class": y, "weight": weight}, {"class": test_y, "weight": test_weight}]
    found = run_many(settings, model=Small, data=(x, targets[0], test_x, targets[1]), loss=weighted,
                     metrics={"again": weighted}).frame  # fmt: skip
    columns = [torch.stack([*target.values()], 1) for target in targets]
    expected = run_many(settings, model=Small, data=(x, columns[0], test_x, columns[1]), loss=packed).frame
    np.testing.assert_allclose(found["test_loss"], expected["test_loss"], rtol=1e-6)
    np.testing.assert_allclose(found["again"], found["test_loss"], rtol=1e-6)


@pytest.mark.parametrize("seeds", [1, 2])
def test_targets_that_pytorch_ignores_count_neither_in_loss_nor_in_error(seeds: int) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(0, 7, (140, 5), generator=generator)
    y = torch.where(torch.rand(x.shape, generator=generator) < 0.4, -100, (x + 1) % 7)
    data = (x[:80], y[:80], x[80:], y[80:])
    settings = [{**SHORT, "seed": seed, "optimizer": "adam"} for seed in range(seeds)]

    def loss(outputs, targets):
        return F.cross_entropy(outputs.flatten(0, 1), targets.flatten())

    def error(outputs, targets):
        return (outputs.argmax(-1) != targets)[targets != -100].float().mean()

    given = {"model": Tied, "data": data, "metrics": {"error": error}}
    ours, theirs = run_many(settings, **given).frame, run_many(settings, loss=loss, **given).frame
    np.testing.assert_allclose(ours["test_loss"], theirs["test_loss"], rtol=1e-5)
    np.testing.assert_allclose(ours["train_loss"], theirs["train_loss"], rtol=1e-5)
    np.testing.assert_allclose(ours["test_error"], ours["error"], rtol=1e-6)


def test_classes_in_a_column_have_an_error() -> None:
    x, y, test_x, test_y = classes()
    found = run(SHORT, model=Small, data=(x, y[:, None], test_x, test_y[:, None])).frame
    np.testing.assert_array_equal(found["test_error"], small_alone()["test_error"])


class Waves(nn.Module):
    """Complex weights."""

    def __init__(self) -> None:
        super().__init__()
        self.mix, self.last = nn.Parameter(torch.randn(4, 4, dtype=torch.cfloat)), nn.Linear(4, 3)

    def forward(self, x):
        return self.last((torch.fft.rfft(x) @ self.mix).abs())


@pytest.mark.parametrize(("name", "clip"), [("adam", None), ("sgd", 0.3)])
def test_complex_weights_are_trained_as_by_a_plain_loop(name: str, clip: float | None) -> None:
    data, setting = classes(), {**SHORT, "optimizer": name, "clip": clip, "checkpoints_per_decade": 5}
    optimizer = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[name]
    expected, _ = plain_loop(Waves, data, setting, F.cross_entropy, optimizer, clip=clip)
    agree(run({**setting, "seed": 0}, model=Waves, data=data), expected)


@dataclass(frozen=True)
class Outputs:
    """Several outputs, some of which are not there."""

    logits: torch.Tensor
    loss: torch.Tensor | None = None
    hidden: tuple[torch.Tensor, ...] = ()


class InFields(Small):
    def forward(self, x):
        return Outputs(self.body(x), hidden=(x,))


class WithNone(Small):
    def forward(self, x):
        return self.body(x), None


@cache
def small_by_adam(seeds: int):
    """The curves of `Small` itself."""
    settings = [{**SHORT, "optimizer": "adam", "seed": seed} for seed in range(seeds)]
    return run_many(settings, model=Small, data=classes()).frame


def lazy(setting):
    return nn.Sequential(nn.LazyLinear(8), nn.Tanh(), nn.LazyLinear(3))


def compiled(setting):
    return torch.compile(Small(), backend="eager")


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (InFields, "cross_entropy"),
        (InFields, lambda outputs, y: F.cross_entropy(outputs.logits, y)),
        (WithNone, lambda outputs, y: F.cross_entropy(outputs[0], y)),
        (lazy, "cross_entropy"),
        pytest.param(compiled, "cross_entropy", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("seeds", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_network_is_the_same_however_it_is_wrapped(model, loss, seeds: int) -> None:
    settings = [{**SHORT, "optimizer": "adam", "seed": seed} for seed in range(seeds)]
    found = run_many(settings, model=model, data=classes(), loss=loss).frame
    expected = small_by_adam(seeds)
    np.testing.assert_allclose(found["test_loss"], expected["test_loss"], rtol=1e-5)
    if loss == "cross_entropy":
        np.testing.assert_allclose(found["test_error"], expected["test_error"])


def test_tokens_with_tied_and_frozen_weights() -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(0, 7, (120, 5), generator=generator)
    data = (x[:80], (x[:80] + 1) % 7, x[80:], (x[80:] + 1) % 7)

    def loss(outputs, targets):
        return F.cross_entropy(outputs.flatten(0, 1), targets.flatten())

    setting = {**SHORT, "optimizer": "adam", "seed": 2}
    expected, network = plain_loop(Tied, data, setting, loss, torch.optim.Adam)
    own, built_in = run(setting, model=Tied, data=data, loss=loss), run(setting, model=Tied, data=data)
    agree(own, expected)
    agree(built_in, expected)
    with torch.no_grad():
        error = float((network.eval()(data[2]).argmax(-1) != data[3]).float().mean())
    assert built_in.frame["test_error"].iloc[-1] == pytest.approx(error)
    trained = sum(p.numel() for p in network.parameters() if p.requires_grad)
    assert built_in.frame["n_params"].iloc[-1] == trained


@pytest.mark.slow
def test_stacked_runs_are_those_one_by_one() -> None:
    settings = [{**SHORT, "seed": s, "n_data": n, "learning_rate": rate, "optimizer": "adamw", "width": 5}
                for s, n, rate in ((0, 60, 0.01), (1, 40, 0.02), (2, 80, 0.01))]  # fmt: skip
    own = {"model": lambda s: Small(s["width"], dropout=0.2), "data": classes(), "schedule": cosine}
    stacked, alone = (run_many(settings, max_stacked=most, **own).frame for most in (8, 1))
    stacked, alone = (f.sort_values(["run", "step"], ignore_index=True) for f in (stacked, alone))
    assert stacked["run"].tolist() == alone["run"].tolist()
    np.testing.assert_allclose(stacked["test_loss"], alone["test_loss"], rtol=1e-5)
    assert set(stacked["width"]) == {5}


@pytest.mark.slow
def test_stacked_attention_is_that_of_runs_one_by_one() -> None:
    settings = [{**SHORT, "seed": s, "steps": 40} for s in range(3)]
    own = {"model": Attending, "data": classes()}
    stacked, alone = (run_many(settings, max_stacked=most, **own).frame for most in (8, 1))
    stacked, alone = (f.sort_values(["run", "step"], ignore_index=True) for f in (stacked, alone))
    np.testing.assert_allclose(stacked["test_loss"], alone["test_loss"], rtol=1e-5)


@pytest.mark.slow
def test_regression_takes_the_mean_square_and_several_outputs_a_loss_of_their_own() -> None:
    x, _, test_x, _ = classes()
    data = (x, x.sum(1), test_x, test_x.sum(1))

    class Heads(nn.Module):
        def __init__(self, heads: bool = False) -> None:
            super().__init__()
            self.mean, self.spread, self.heads = nn.Linear(6, 1), nn.Linear(6, 1), heads

        def forward(self, x):
            return (self.mean(x), F.softplus(self.spread(x)) + 0.1) if self.heads else self.mean(x)

    plain = run({**SHORT, "optimizer": "sgd"}, model=Heads, data=data).frame
    assert set(plain["loss"]) == {"mse"}
    assert "test_error" not in plain
    assert plain["test_loss"].iloc[-1] < plain["test_loss"].iloc[0]

    def likelihood(outputs, targets):
        mean, spread = outputs
        return ((mean[:, 0] - targets).square() / spread[:, 0] ** 2 / 2 + spread[:, 0].log()).mean()

    def width_of_band(outputs, targets):
        return outputs[1].mean()

    settings = [{**SHORT, "heads": True, "seed": seed, "optimizer": "adam"} for seed in range(3)]
    own = {"model": Heads, "data": data, "loss": likelihood, "metrics": {"band": width_of_band}}
    stacked, alone = (run_many(settings, max_stacked=most, **own).frame for most in (8, 1))
    assert len(stacked) == len(alone)
    np.testing.assert_allclose(stacked["test_loss"], alone["test_loss"], rtol=1e-5)
    assert (stacked["band"] > 0.1).all()


@pytest.mark.parametrize(("outputs", "seeds"), [
    ((), 1), ((1,), 2), ((5, 1), 2),
    *(pytest.param(*one, marks=pytest.mark.slow) for one in (((), 2), ((5, 1), 1))),
])  # fmt: skip
def test_a_regression_is_the_mean_square_over_all_numbers_of_any_shape(outputs, seeds: int) -> None:
    """Outputs without an axis of their own, and sequences of them, were refused or averaged over runs."""
    x, _, test_x, _ = classes()
    count = math.prod(outputs)

    def model(setting):
        return nn.Sequential(nn.Linear(6, count), nn.Unflatten(1, outputs) if outputs else nn.Flatten(0))

    data = [(v, v[:, :count].sin().reshape(len(v), *outputs)) for v in (x, test_x)]
    settings = [{**SHORT, "optimizer": "adam", "seed": seed} for seed in range(seeds)]
    ours = run_many(settings, model=model, data=tuple(data)).frame
    theirs = run_many(settings, model=model, data=tuple(data), loss=nn.MSELoss()).frame
    np.testing.assert_allclose(ours["test_loss"], theirs["test_loss"], rtol=1e-5)
    np.testing.assert_allclose(ours["train_loss"], theirs["train_loss"], rtol=1e-5)


def test_averaged_weights_are_measured_and_not_trained() -> None:
    data, setting = classes(), {**SHORT, "optimizer": "adam", "seed": 1}
    plain, averaged = (
        run(setting, model=Small, data=data).frame,
        run({**setting, "ema": 0.8}, model=Small, data=data),
    )
    np.testing.assert_array_equal(plain["test_loss"], averaged.frame["test_loss"])
    (full,) = with_own([setting], {"model": Small, "dataset": data, "loss": "cross_entropy"})
    subset = dataset_of(full).order(1)[:60]
    batches = Stream([subset], [1], [BATCH], torch.device("cpu"), STEPS)
    torch.manual_seed(1)
    network = Small()
    average = copy.deepcopy(network)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for step in range(STEPS):
        batches.fill(step, STEPS)
        index = batches.index(torch.tensor(step))[0, 0].long()
        optimizer.zero_grad()
        F.cross_entropy(network(data[0][index]), data[1][index]).backward()
        optimizer.step()
        with torch.no_grad():
            for kept, now in zip(average.parameters(), network.parameters()):
                kept.mul_(0.8).add_(now, alpha=0.2)
    with torch.no_grad():
        expected = float(F.cross_entropy(average(data[2]), data[3]))
    assert averaged.frame["test_loss_ema"].iloc[-1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_a_network_that_draws_its_own_random_numbers_repeats_and_resumes(tmp_path) -> None:
    data, settings = classes(), [{**SHORT, "seed": seed} for seed in (0, 1)]
    torch.manual_seed(5)
    first = run_many(settings, model=Noisy, data=data).frame
    before = torch.get_rng_state()
    second = run_many(settings, model=Noisy, data=data).frame
    assert torch.equal(before, torch.get_rng_state())
    np.testing.assert_array_equal(first["test_loss"], second["test_loss"])


def test_norms_margins_and_noise_are_those_of_the_network_that_a_plain_loop_trains() -> None:
    data = classes()
    setting = {**SHORT, "seed": 3, "optimizer": "sgd", "measure": ["norm", "margin", "gradient_noise"]}
    _, network = plain_loop(Small, data, setting, F.cross_entropy, torch.optim.SGD)
    last = run(setting, model=Small, data=data, loss=F.cross_entropy).frame.iloc[-1]
    assert last["norm"] == pytest.approx(measure.norms(network, (6,))["spectral_complexity"], rel=1e-3)
    (full,) = with_own([setting], {"model": Small, "dataset": data, "loss": F.cross_entropy})
    subset = torch.from_numpy(dataset_of(full).order(3)[:60])
    x, y = data[0][subset], data[1][subset]
    found = measure.gradient_noise(network, x, y, F.cross_entropy)
    assert last["gradient_noise"] == pytest.approx(found.trace, rel=1e-3)
    with torch.no_grad():
        logits = network.eval()(x)
    own = logits.gather(1, y[:, None])[:, 0]
    margins = own - logits.scatter(1, y[:, None], -math.inf).amax(1)
    assert last["margin"] == pytest.approx(float(margins.median(0).values), abs=0.05)
    assert last["margin_min"] == pytest.approx(float(margins.min()), rel=1e-3)


class InPlace(nn.Module):
    """Writes to what it has computed."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x):
        h = self.first(x).mul(1)
        h += 0.1
        return self.last(F.relu_(h))


@pytest.mark.slow
@pytest.mark.parametrize("model", [Small, Tied, InPlace])
def test_traced_steps_give_the_same_bits(model, monkeypatch) -> None:
    data = classes()
    if model is Tied:
        x = torch.randint(0, 7, (120, 5), generator=torch.Generator().manual_seed(1))
        data = (x[:80], (x[:80] + 1) % 7, x[80:], (x[80:] + 1) % 7)
    settings = [{**SHORT, "seed": s, "steps": 40} for s in range(3)]

    def factory(s):
        return model(dropout=0.1) if model is Small else model()

    plain = run_many(settings, model=factory, data=data).frame
    traced = []
    original = replicas.Program.trace
    monkeypatch.setattr(replicas, "pays", lambda seconds: True)
    monkeypatch.setattr(
        replicas.Program, "trace", lambda self, *a: (original(self, *a), traced.append(self))[0]
    )
    monkeypatch.setattr(replicas, "_PROGRAMS", {})
    again = run_many(settings, model=factory, data=data).frame
    assert "gradients" in vars(traced[0])  # in the place of the method
    np.testing.assert_array_equal(plain["test_loss"], again["test_loss"])


@pytest.mark.slow
@pytest.mark.parametrize("case", ["stacked", "torch optimizer and batch norm", "random numbers"])
def test_a_killed_run_resumes_to_the_same_curve(case: str, tmp_path, monkeypatch) -> None:
    own = {"model": Small, "data": classes(), "schedule": cosine}
    if case != "stacked":
        model = Noisy if case == "random numbers" else Normalized
        own |= {"model": model, "optimizer": torch.optim.NAdam}
    settings = [{**SHORT, "steps": 30, "checkpoints_per_decade": 8, "seed": s, "ema": 0.9} for s in (0, 1)]
    whole = run_many(settings, **own).frame.sort_values(["run", "step"], ignore_index=True)
    with killed(12):
        run_many(settings, store=tmp_path, save_every=0, **own)
    seen = begun(monkeypatch)
    resumed = run_many(settings, store=tmp_path, **own).frame.sort_values(["run", "step"], ignore_index=True)
    assert max(step for _, step in seen) >= 10
    for name in ("step", "train_loss", "test_loss", "test_error", "test_loss_ema"):
        np.testing.assert_array_equal(resumed[name], whole[name])


# --- the store ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_done_is_not_trained_again_and_a_change_is_told(tmp_path) -> None:
    data, calls = classes(), []

    def factory(s):
        return Small(s.get("width", 4))

    settings = [{**SHORT, "seed": seed} for seed in (0, 1)]
    first = run_many(settings, model=factory, data=data, store=tmp_path)
    again = run_many(settings, model=factory, data=data, store=tmp_path,
                     extra=lambda model: calls.append(1) or {})  # fmt: skip
    assert not calls
    assert again.frame["run"].tolist() == first.frame["run"].tolist()

    def factory(s):
        return Small(s.get("width", 5))

    with pytest.warns(UserWarning, match="has changed since 2 runs"):
        other = run_many(settings, model=factory, data=data, store=tmp_path)
    assert not set(other.frame["run"]) & set(first.frame["run"])
    assert len(Store(tmp_path).records()) == 4


def test_a_version_stands_for_the_code(tmp_path) -> None:
    data, setting = classes(), {**SHORT, "seed": 0}
    first = run(setting, model=lambda s: Small(4), data=data, version="1", store=tmp_path)
    second = run(setting, model=lambda s: Small(5), data=data, version="1", store=tmp_path)
    assert second.frame["run"].tolist() == first.frame["run"].tolist()
    assert set(second.frame["n_params"]) == {6 * 4 + 4 + 4 * 3 + 3}


def test_what_cannot_be_read_asks_for_a_version() -> None:
    widths = (w for w in [4, 4, 4, 4, 4, 4])

    def factory(s):
        return Small(next(widths))

    with pytest.raises(BadInput, match="version"):
        run(SHORT, model=factory, data=classes())
    assert len(run(SHORT, model=factory, data=classes(), version="a").frame)


@pytest.mark.parametrize(
    ("model", "says"),
    [(Small, "3 runs train as one stack"), (Attending, "3 runs train as one stack"),
     (Normalized, "3 runs train as one stack"),
     (Branching, "one after the other: torch.func cannot stack it"),
     (Remembering, "one after the other: torch.func cannot stack it"),
     (Noisy, "random numbers of its own"), (Counting, "changes its attribute 'passes'")],
)  # fmt: skip
def test_how_runs_are_trained_is_said_in_one_line(model, says: str, capsys) -> None:
    run_many([{**SHORT, "steps": 1, "seed": seed} for seed in range(3)], model=model, data=classes())
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert says in said[0]


def test_a_factory_may_make_other_shapes_of_other_sizes() -> None:
    settings = [{**SHORT, "n_data": n, "seed": s} for n in (40, 60) for s in (0, 1)]
    frame = run_many(settings, model=lambda s: Small(s["n_data"] // 10), data=classes()).frame
    assert frame.groupby("n_data")["n_params"].unique().map(list).to_dict() == {40: [43], 60: [63]}


# --- in a file, and on the command line --------------------------------------------------------------------

MINE = """
import torch
from torch import nn
from torch.nn import functional as F

class Net(nn.Module):
    def __init__(self, n_outputs, width=8):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, n_outputs))
    def forward(self, x):
        return self.body(x)

def load(n=80):
    x = torch.randn(2 * n, 6, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    return x[:n], y[:n], x[n:], y[n:]

def loss(outputs, targets):
    return F.cross_entropy(outputs, targets, label_smoothing=0.1)

def decay(step, steps):
    return 1 - step / steps

def brier(outputs, targets):
    return (outputs.softmax(-1) - F.one_hot(targets, 3)).square().sum(-1).mean()
"""
GRID = """
[setting]
model = "{module}:Net"
dataset = "{module}:load"
loss = "{module}:loss"
optimizer = "torch.optim:NAdam"
schedule = "{module}:decay"
metrics = {{brier = "{module}:brier"}}
steps = 6
batch_size = 16
measure = []
width = 4
data_options = {{n = 60}}

[axes]
n_data = [20, 40]
"""


@pytest.mark.slow
def test_a_grid_in_toml_names_what_lies_beside_it(tmp_path, monkeypatch) -> None:
    (tmp_path / "toml_mine.py").write_text(MINE)
    (tmp_path / "grid.toml").write_text(GRID.format(module="toml_mine"))
    store = tmp_path / "runs"
    curves = sweep.run(tmp_path / "grid.toml", store, workers=1, progress=False)
    frame = curves.frame
    assert set(frame["n_data"]) == {20, 40}
    assert set(frame["model"]) == {"toml_mine:Net"}
    assert set(frame["width"]) == {4}
    assert frame["brier"].between(0, 2).all()
    here = run_many(Grid.read(tmp_path / "grid.toml"), progress=False).frame.sort_values(["run", "step"])
    np.testing.assert_allclose(
        here.sort_values(["run", "step"])["test_loss"],
        frame.sort_values(["run", "step"])["test_loss"],
        rtol=1e-6,
    )
    assert sweep.execute(tmp_path / "grid.toml", store, workers=1, progress=False).plan.tasks == ()
    # a changed function is another run, and said
    module = importlib.import_module("toml_mine")
    (tmp_path / "toml_mine.py").write_text(MINE.replace("nn.ReLU()", "nn.Tanh()"))
    linecache.checkcache()
    importlib.reload(module)
    with pytest.warns(UserWarning, match="model = 'toml_mine:Net'.* 2 runs"):
        plan = sweep.make_plan(Grid.read(tmp_path / "grid.toml"), Store(store))
    assert len(plan.missing) == 2


def test_the_command_line_takes_names(tmp_path, monkeypatch) -> None:
    (tmp_path / "line_mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    options = ["--model", "line_mine:Net", "--dataset", "line_mine:load", "--width", "4", "--n-data", "20,40"]
    options += [
        "--set",
        "loss=line_mine:loss",
        "--set",
        "metrics=line_mine:brier",
        "--set",
        "steps=4",
        "--json",
    ]
    result = CliRunner().invoke(app, ["train", *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    table = json.loads(result.stdout)["curves"]
    assert set(table["n_data"]) == {20, 40}
    assert set(table["n_params"]) == {6 * 4 + 4 + 4 * 3 + 3}
    assert all(0 <= value <= 2 for value in table["brier"])


REAL = tuple(v.float() for v in classes())
PAIRS = TensorDataset(*classes()[:2])


class Hidden(Small):
    def forward(self, x):
        return SimpleNamespace(logits=self.body(x))


class Recomputed(Small):
    def forward(self, x):
        return checkpoint(self.body, x, use_reentrant=False)


TRUTHS = tuple(v if v.ndim > 1 else v[:, None] > 0 for v in classes())


# --- what a first attempt gets wrong -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ({"model": lambda s: "no network"}, "no torch.nn.Module"),
        ({"model": "mine_that_is_not_there:Net"}, "mine_that_is_not_there"),
        ({"model": lambda s: nn.Linear(5, 3)}, r"cannot take a batch of inputs \(4, 6\)"),
        ({"model": Hidden}, "SimpleNamespace"),
        ({"model": Recomputed}, "without activation checkpointing"),
        (
            {"model": lambda s: nn.Linear(6, 1), "loss": F.binary_cross_entropy_with_logits, "data": TRUTHS},
            "targets of this loss as floats",
        ),
        ({"loss": lambda o, t: F.cross_entropy(o, t, reduction="none")}, "one number"),
        ({"model": lambda s: nn.Linear(6, 1), "loss": F.mse_loss, "data": REAL}, "target size"),
        ({"loss": nn.CrossEntropyLoss}, r"CrossEntropyLoss\(\)"),
        ({"data": tuple(v if v.ndim == 1 else v.byte() for v in classes())}, "images as floats"),
        ({"data": classes()[:2]}, "test"),
        ({"data": ({"x": 1}, {"x": 1})}, "one of x must be the target"),
        ({"data": (DataLoader(PAIRS, batch_size=None), PAIRS)}, "batches already"),
        ({"data": ([{"x": 1}], PAIRS)}, "one of x must be the target"),
        ({"data": ([(1, 2, 3)], PAIRS)}, "an example is a tuple"),
        ({"data": (iter([]), PAIRS)}, "no examples"),
        ({"data": ((((v := classes())[0], v[0][:5]), v[1]), v[2:])}, "one length"),
        (
            {"model": "mlp", "data": (((v := classes())[0], v[0]), v[1], (v[2], v[2]), v[3])},
            "takes one input",
        ),
        ({"data": (*classes()[:3], classes()[3][:5])}, "60 test inputs and 5 test targets"),
        ({"metrics": {"broken": lambda o, t: o.no_such_thing}}, "metrics.broken"),
        ({"optimizer": torch.optim.LBFGS}, "several times a step"),
        ({"schedule": lambda a, b, c: 1.0}, "takes .step. or .step, steps."),
        ({"schedule": "wds"}, "'wsd'"),
        ({"optimizer": "moun"}, "'muon'"),
        # made in the test: collecting tests would load the compiler of PyTorch
        (lambda: {"optimizer": torch.optim.Adam([torch.zeros(1)])}, "the class Adam"),
        (
            lambda: {"schedule": torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.zeros(1)]), 3)},
            "optimizer, steps: StepLR",
        ),
        ({"schedule": torch.optim.lr_scheduler.CosineAnnealingLR}, "it needs T_max"),
        ({"model": lambda inside, outside: nn.Linear(inside, outside)}, "needs inside, outside: give inside"),
        ({"data": tuple(v if v.ndim > 1 else v + 1 for v in classes())}, "classes are counted from 0"),
        ({"data": tuple(v if v.ndim > 1 else v.float() for v in classes())}, "classes as whole numbers"),
        ({"data": tuple(v if v.ndim > 1 else v.numpy().astype(str) for v in classes())}, "return_inverse"),
    ],
)
def test_what_is_wrong_is_said(own, says: str) -> None:
    given = {"model": Small, "data": classes(), **(own() if callable(own) else own)}
    with pytest.raises(BadInput, match=says):
        run_many([{**SHORT, "seed": 0}], **given)


def test_a_file_is_no_store(tmp_path) -> None:
    (tmp_path / "curves.csv").touch()
    with pytest.raises(BadInput, match="is a file"):
        run({**SHORT, "seed": 0}, model=Small, data=classes(), store=tmp_path / "curves.csv")


def test_options_that_the_class_does_not_take_and_misspelt_keys_are_refused() -> None:
    with pytest.raises(BadInput, match="'learning_rate'"):
        run({"n_data": 60, "steps": 2, "lr": 0.1}, model=lambda s: Small(), data=classes())
    with pytest.raises(BadInput, match="'patch'"):
        run({**SHORT, "patch": 4}, model=Small, data=classes())
    with pytest.raises(BadInput, match="'batch_size'"):
        run(
            {**{k: v for k, v in SHORT.items() if k != "batch_size"}, "batchsize": 4},
            model=Small,
            data=classes(),
        )
