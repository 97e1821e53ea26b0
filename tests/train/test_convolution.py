"""Convolutions as products: PyTorch's own values and gradients, alone and stacked."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from scalinglab import nets
from scalinglab.train.convolution import conv2d, use_products


def images(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.double, requires_grad=True)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [(3, 1, 1), (3, 2, 1), (5, 1, 0), (1, 1, 0), (1, 2, 0), (3, 1, 0), (3, 1, 3)],
)
@pytest.mark.parametrize("channels", [(4, 5), (17, 16)])
@pytest.mark.parametrize("stacked", [False, True])
def test_values_and_gradients_equal_pytorch(
    kernel: int, stride: int, padding: int, channels: tuple[int, int], stacked: bool
) -> None:
    torch.manual_seed(0)
    n_in, n_out = channels
    ours = lambda x, w: conv2d(x, w, (stride, stride), (padding, padding))  # noqa: E731
    if stacked:
        x, w = images(2, 3, n_in, 9, 8), images(2, n_out, n_in, kernel, kernel)
        found = torch.vmap(ours)(x, w)
        expected = torch.stack(
            [F.conv2d(a, b, stride=stride, padding=padding) for a, b in zip(x, w, strict=True)]
        )
    else:
        x, w = images(3, n_in, 9, 8), images(n_out, n_in, kernel, kernel)
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


def test_a_network_computes_the_same_with_products() -> None:
    model = nets.build("resnet", (3, 16, 16), 4, width=0.1, seed=0).eval()
    x = torch.randn(2, 3, 16, 16)
    before = model(x)
    use_products(model)
    assert torch.allclose(model(x), before, atol=1e-5)
