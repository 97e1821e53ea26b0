"""Layers for images on a CPU: PyTorch's own values and gradients, alone and stacked."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scalinglab import nets
from scalinglab.train.kernels import winograd
from scalinglab.train.kernels.cpu_layers import conv2d, use_products


@pytest.fixture(autouse=True)
def winograd_also_where_it_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(winograd, "ENOUGH", 0)


def images(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.double, requires_grad=True)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [
        ((3, 3), (1, 1), (1, 1)), ((3, 3), (2, 2), (1, 1)),
        ((5, 5), (1, 1), (0, 0)), ((1, 1), (1, 1), (0, 0)),
        ((1, 1), (2, 2), (0, 0)), ((3, 3), (1, 1), (3, 3)),
        ((3, 3), (1, 1), (0, 2)), ((2, 3), (1, 2), (1, 0)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("channels", [(4, 5), (17, 16)])
@pytest.mark.parametrize("stacked", [False, True])
def test_values_and_gradients_equal_pytorch(
    kernel: tuple, stride: tuple, padding: tuple, channels: tuple[int, int], stacked: bool
) -> None:
    torch.manual_seed(0)
    n_in, n_out = channels
    ours = lambda x, w: conv2d(x, w, stride, padding)  # noqa: E731
    if stacked:
        x, w = images(2, 3, n_in, 9, 8), images(2, n_out, n_in, *kernel)
        found = torch.vmap(ours)(x, w)
        expected = torch.stack(
            [F.conv2d(a, b, stride=stride, padding=padding) for a, b in zip(x, w, strict=True)]
        )
    else:
        x, w = images(3, n_in, 9, 8), images(n_out, n_in, *kernel)
        found, expected = ours(x, w), F.conv2d(x, w, stride=stride, padding=padding)
    assert torch.allclose(found, expected, atol=1e-10)
    direction = torch.randn_like(expected)
    mine = torch.autograd.grad(found, (x, w), direction)
    theirs = torch.autograd.grad(expected, (x, w), direction)
    for a, b in zip(mine, theirs, strict=True):
        assert torch.allclose(a, b, atol=1e-10)


def test_shared_inputs_meet_every_network_of_a_stack() -> None:
    x, w = images(3, 4, 6, 6), images(2, 5, 4, 3, 3)
    found = torch.vmap(lambda weight: conv2d(x, weight, (1, 1), (1, 1)))(w)
    expected = torch.stack([F.conv2d(x, weight, padding=1) for weight in w])
    assert torch.allclose(found, expected)


@pytest.mark.slow
def test_winograd_gradients_hold_numerically_for_tiles_that_stick_out() -> None:
    torch.manual_seed(0)
    x, w = images(2, 1, 2, 5, 3), images(2, 2, 2, 3, 3)
    assert torch.autograd.gradcheck(lambda x, w: winograd.Winograd.apply(x, w, (1, 2))[0], (x, w))


def test_winograd_can_be_differentiated_twice() -> None:
    torch.manual_seed(0)
    x, w = images(2, 16, 6, 8), images(16, 16, 3, 3)
    both = []
    for function in (lambda: conv2d(x, w, (1, 1), (1, 1)), lambda: F.conv2d(x, w, padding=1)):
        first = torch.autograd.grad(function().square().sum(), (x, w), create_graph=True)
        both.append(torch.autograd.grad(sum(g.square().sum() for g in first), (x, w)))
    for a, b in zip(*both, strict=True):
        assert torch.allclose(a, b, rtol=1e-9)


def test_winograd_loses_less_than_a_digit_more_to_rounding_than_pytorch() -> None:
    torch.manual_seed(0)
    ours = lambda x, w: conv2d(x, w, (1, 1), (1, 1))  # noqa: E731
    theirs = lambda x, w: F.conv2d(x, w, padding=1)  # noqa: E731
    for channels, out, side in ((32, 64, 28), (64, 128, 14)):
        x = torch.randn(8, channels, side, side).relu()
        w = torch.randn(out, channels, 3, 3) * (2 / (9 * channels)) ** 0.5
        direction = torch.randn(8, out, side, side)
        exact = value_and_gradients(theirs, x.double(), w.double(), direction.double())
        mine, other = (
            [float((v - e).norm() / e.norm()) for v, e in zip(values, exact, strict=True)]
            for values in (value_and_gradients(f, x, w, direction) for f in (ours, theirs))
        )
        assert all(m < 10 * t for m, t in zip(mine, other, strict=True)), (mine, other)
        assert max(mine) < 3e-6


def value_and_gradients(
    function: Callable[..., torch.Tensor], x: torch.Tensor, w: torch.Tensor, direction: torch.Tensor
) -> list[torch.Tensor]:
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    y = function(x, w)
    return [y.detach(), *torch.autograd.grad(y, (x, w), direction)]


def test_winograd_takes_a_large_batch_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    x, w = images(7, 16, 8, 8), images(16, 16, 3, 3)
    whole = conv2d(x, w, (1, 1), (1, 1))
    monkeypatch.setattr(winograd, "LARGEST", 3 * 8 * 8 * 32)
    pieces = conv2d(x, w, (1, 1), (1, 1))
    assert torch.allclose(whole, pieces)
    for a, b in zip(*(torch.autograd.grad(y.square().sum(), (x, w)) for y in (whole, pieces)), strict=True):
        assert torch.allclose(a, b)


@pytest.mark.parametrize(
    ("n", "side", "stride", "dtype", "channels", "expected"),
    [
        (128, 28, 1, torch.float32, 16, True),
        (128, 14, 1, torch.float32, 16, True),
        (8192, 2, 1, torch.float32, 16, False),  # a tile would be computed for a quarter of it
        (128, 28, 2, torch.float32, 16, False),
        (128, 28, 1, torch.bfloat16, 16, False),  # its points are not for eight bits
        (512, 28, 1, torch.float32, 3, False),
        (2, 28, 1, torch.float32, 16, False),  # too little to do for 36 products
    ],
)
def test_winograd_is_used_where_it_gains(
    monkeypatch: pytest.MonkeyPatch,
    n: int, side: int, stride: int, dtype: torch.dtype, channels: int, expected: bool,
) -> None:  # fmt: skip
    monkeypatch.undo()
    x, w = torch.empty(n, channels, side, side, dtype=dtype), torch.empty(16, channels, 3, 3, dtype=dtype)
    assert winograd.fits(x, w, (stride, stride), (1, 1)) is expected


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize(
    "layer",
    [nn.MaxPool2d(2), nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2), nn.Flatten(), nets.layers.BatchNorm(4)],
    ids=lambda layer: type(layer).__name__,
)
def test_exchanged_layers_compute_what_they_did(layer: nn.Module, stacked: bool) -> None:
    torch.manual_seed(0)
    ours, theirs = copy.deepcopy(layer).double(), copy.deepcopy(layer).double()
    use_products(nn.Sequential(ours))
    shape = (2, 3, 4, 7, 6) if stacked else (3, 4, 7, 6)
    # as a convolution leaves them: (…, height, width, n, channels) in memory
    x = torch.randn(*shape[:-4], *shape[-2:], *shape[-4:-2], dtype=torch.double).requires_grad_()
    last = x.movedim((-2, -1), (-4, -3))

    def apply(layer: nn.Module) -> torch.Tensor:
        def one(x: torch.Tensor) -> torch.Tensor:
            state = dict(layer.named_buffers())
            return torch.func.functional_call(layer, state, (x,))

        return torch.vmap(one)(last) if stacked else one(last)

    found, expected = apply(ours), apply(theirs)
    assert found.shape == expected.shape
    assert torch.allclose(found, expected)
    direction = torch.randn_like(expected)
    mine, other = (torch.autograd.grad(y, x, direction)[0] for y in (found, expected))
    assert torch.allclose(mine, other)


@pytest.mark.parametrize(("family", "width"), [("resnet", 0.1), ("cnn", 0.6), ("lenet", 6.0)])
def test_a_network_computes_the_same_with_products(family: str, width: float) -> None:
    model = nets.build(family, (3, 16, 16), 4, width=width, seed=0).double()
    x = torch.randn(2, 3, 16, 16, dtype=torch.double)
    found = []
    for _ in range(2):
        y = model(x)
        found.append([y.detach(), *torch.autograd.grad(y.square().sum(), list(model.parameters()))])
        use_products(model)
    for before, after in zip(*found, strict=True):
        assert torch.allclose(before, after, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "plain"),
    [
        ({"padding": 1}, True), ({"groups": 2}, False), ({"dilation": (1, 2)}, False),
        ({"padding_mode": "reflect"}, False), ({"padding": "same"}, False),
    ],
)  # fmt: skip
def test_only_plain_convolutions_become_products(options: dict, plain: bool) -> None:
    layer = nn.Sequential(nn.Conv2d(4, 6, 3, **options))
    use_products(layer)
    assert ("_conv_forward" in vars(layer[0])) is plain
