"""Networks in another form compute what they computed, values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scalinglab import nets
from scalinglab.train.kernels.gpu_layers import HalvingPool, PatchConv, patches_conv2d, rewritten


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [
        ((3, 3), (1, 1), (1, 1)), ((5, 5), (2, 2), (0, 0)),
        ((3, 3), (2, 2), (1, 1)), ((1, 1), (2, 2), (0, 0)),
        ((1, 1), (2, 2), (1, 1)), ((1, 1), (2, 3), (0, 0)), ((3, 2), (2, 1), (0, 2)),
    ],
)  # fmt: skip
def test_patches_times_weights_is_the_convolution(
    channels: int, kernel: tuple, stride: tuple, padding: tuple
) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, channels, 9, 12, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(5, channels, *kernel, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(5, dtype=torch.float64, requires_grad=True)
    found = patches_conv2d(x, weight, bias, stride, padding)
    wanted = F.conv2d(x, weight, bias, stride, padding)
    torch.testing.assert_close(found, wanted)
    cotangent = torch.randn_like(wanted)
    for a, b in zip(*(torch.autograd.grad(out, (x, weight, bias), cotangent) for out in (found, wanted))):
        torch.testing.assert_close(a, b)


def halves(x: torch.Tensor, pool: nn.MaxPool2d) -> tuple[torch.Tensor, torch.Tensor]:
    x = x.clone().requires_grad_()
    out = pool(x)
    weights = torch.arange(out.numel(), dtype=out.dtype).view_as(out) + 1
    return out.detach(), torch.autograd.grad((out * weights).nansum(), x)[0]


def test_halves_are_pooled_as_pytorch_does_with_ties() -> None:
    torch.manual_seed(0)
    x = torch.randint(-1, 2, (3, 4, 6, 8)).double()  # few values: most windows have ties
    found, wanted = halves(x, HalvingPool(2)), halves(x, nn.MaxPool2d(2))
    assert torch.equal(found[0], wanted[0])
    assert torch.equal(found[1], wanted[1])


def test_a_pool_passes_nan_on() -> None:
    x = torch.zeros(1, 1, 2, 4)
    x[0, 0, 1, 0] = float("nan")
    assert HalvingPool(2)(x).isnan().flatten().tolist() == [True, False]


def test_an_odd_image_is_pooled_as_before() -> None:
    x = torch.randn(1, 2, 5, 7)
    assert torch.equal(HalvingPool(2)(x), nn.MaxPool2d(2)(x))


@pytest.mark.parametrize("options", [{"model": "cnn"}, {"model": "resnet", "width": 0.125}])
def test_a_rewritten_network_is_the_same_function_with_the_same_names(options: dict) -> None:
    torch.manual_seed(0)
    net = nets.build(options["model"], (3, 16, 16), 10, width=options.get("width", 0.25)).double()
    other = rewritten(net)
    assert not any(isinstance(m, PatchConv) for m in net.modules())
    assert any(isinstance(m, PatchConv) for m in other.modules())
    assert list(net.state_dict()) == list(other.state_dict())
    x, y = torch.randn(6, 3, 16, 16, dtype=torch.float64), torch.arange(6)
    for model in (net, other):
        F.cross_entropy(model(x), y).backward()
    for (name, a), b in zip(net.named_parameters(), other.parameters()):
        torch.testing.assert_close(a.grad, b.grad, msg=name)
    torch.testing.assert_close(net.eval()(x), other.eval()(x))


def test_a_stack_of_rewritten_networks_gives_each_its_own_gradient() -> None:
    torch.manual_seed(0)
    net = rewritten(nets.build("cnn", (3, 16, 16), 10, width=0.125).double())
    runs = [nets.build("cnn", (3, 16, 16), 10, width=0.125, seed=s).double() for s in range(3)]
    weights = {
        name: torch.stack([dict(r.named_parameters())[name].detach() for r in runs])
        for name, _ in net.named_parameters()
    }
    x = torch.randn(3, 4, 3, 16, 16, dtype=torch.float64)

    def loss(w: dict, images: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(net, w, (images,)).square().sum()

    together = torch.vmap(torch.func.grad(loss))(weights, x)
    for r, run in enumerate(runs):
        run(x[r]).square().sum().backward()
        for name, p in run.named_parameters():
            torch.testing.assert_close(together[name][r], p.grad, msg=name)


@pytest.mark.parametrize(
    ("pool", "halving"),
    [
        (nn.MaxPool2d(2), True), (nn.MaxPool2d((2, 2), stride=(2, 2)), True),
        (nn.MaxPool2d(2, stride=1), False), (nn.MaxPool2d(2, stride=(2, 1)), False),
        (nn.MaxPool2d((2, 3), stride=2), False), (nn.MaxPool2d(3, stride=2), False),
        (nn.MaxPool2d(2, padding=1), False), (nn.MaxPool2d(2, dilation=2), False),
        (nn.MaxPool2d(2, ceil_mode=True), False),
        (nn.MaxPool2d(2, return_indices=True), False),
    ],
)  # fmt: skip
def test_only_pools_that_halve_an_image_are_rewritten(pool: nn.MaxPool2d, halving: bool) -> None:
    other = rewritten(nn.Sequential(pool))
    assert isinstance(other[0], HalvingPool) is halving


def test_pooling_comes_before_relu() -> None:
    layers = rewritten(nn.Sequential(nn.ReLU(), nn.MaxPool2d(2), nn.ReLU()))
    assert [type(layer) for layer in layers] == [HalvingPool, nn.ReLU, nn.ReLU]


@pytest.mark.parametrize(
    ("channels", "options", "product"),
    [
        (4, {"kernel_size": 3, "padding": 1}, True), (5, {"kernel_size": 3, "padding": 1}, False),
        (5, {"kernel_size": 1, "stride": 2}, True), (5, {"kernel_size": 1, "padding": 1}, False),
        (4, {"kernel_size": 3, "groups": 2}, False), (4, {"kernel_size": 3, "dilation": (1, 2)}, False),
        (4, {"kernel_size": 3, "padding": 1, "padding_mode": "reflect"}, False),
        (4, {"kernel_size": 3, "padding": "same"}, False),
    ],
)  # fmt: skip
def test_plain_convolutions_of_few_channels_or_single_pixels_become_products(
    channels: int, options: dict, product: bool
) -> None:
    other = rewritten(nn.Sequential(nets.layers.Conv(channels, 6, **options)))
    assert isinstance(other[0], PatchConv) is product
