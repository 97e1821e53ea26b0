"""Our kernels for convolutions of few channels: values and gradients of PyTorch's.

On a GPU they are compiled; without one Triton interprets them, where it is installed.
"""

from __future__ import annotations

import copy

import pytest
import torch
from torch.nn import functional as F

from scalinglab import nets
from scalinglab.nets.layers import Conv
from scalinglab.train.kernels.gpu_layers import rewritten
from tests.train.interpreted import COMPUTES, DEVICE, GPU, check_interpreted, needs_triton

pytestmark = needs_triton

if not COMPUTES:

    def test_interpreted_kernels() -> None:
        check_interpreted(__file__)

else:
    TYPES = [torch.bfloat16, torch.float32] if GPU else [torch.float32]  # interpreted, bf16 is not exact
    SHAPES = [  # channels, outputs, window, stride, padding, image
        (3, 32, 3, 1, 1, (32, 32)),
        (1, 8, 3, 1, 1, (8, 8)),
        (1, 6, 5, 1, 2, (28, 28)),
        (3, 20, 5, 2, 0, (11, 14)),
        (4, 70, 3, 2, 1, (9, 9)),
        (4, 128, 5, 1, 1, (6, 7)),  # the most taps and outputs
    ]

    @pytest.mark.parametrize("dtype", TYPES)
    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("last", [True, False])
    def test_values_and_gradients(shape: tuple, dtype: torch.dtype, last: bool) -> None:
        from scalinglab.train.kernels.triton_conv import relu_convolution

        torch.manual_seed(0)
        channels, outputs, window, stride, padding, image = shape
        x = torch.randn(3, channels, *image, device=DEVICE).to(dtype)
        weight = torch.randn(outputs, channels, window, window, device=DEVICE).to(dtype)
        bias = torch.randn(outputs, device=DEVICE).to(dtype)
        if last:
            x, weight = (t.contiguous(memory_format=torch.channels_last) for t in (x, weight))
        wide = [t.double().cpu().requires_grad_() for t in (weight, bias)]
        wanted = F.relu(F.conv2d(x.double().cpu(), *wide, stride, padding))
        leaves = [t.clone().requires_grad_() for t in (weight, bias)]
        found = relu_convolution(x, *leaves, stride, padding)
        size = (channels * window**2 + 1) ** 0.5
        precision = {torch.bfloat16: 2.0**-8, torch.float32: 2.0**-10 if GPU else 1e-6}[dtype]
        torch.testing.assert_close(
            found.double().cpu(), wanted, rtol=2 * precision, atol=4 * precision * size
        )
        away = wanted.detach().abs() > 8 * precision * size  # elsewhere rounding decides on the sign
        cotangent = torch.randn(wanted.shape).to(dtype).double() * (away | (wanted == found.double().cpu()))
        wanted = torch.autograd.grad(wanted, wide, cotangent)
        got = torch.autograd.grad(found, leaves, cotangent.to(dtype).to(DEVICE))
        for ours, theirs in zip(got, wanted, strict=True):
            error = (ours.double().cpu() - theirs).norm() / theirs.norm()
            assert float(error) < 4 * precision

    @pytest.mark.parametrize("dtype", TYPES)
    @pytest.mark.parametrize(("channels", "outputs"), [(16, 16), (32, 64)])
    @pytest.mark.parametrize("image", [(8, 8), (7, 11)])
    def test_gradients_of_small_windows(
        channels: int, outputs: int, image: tuple, dtype: torch.dtype
    ) -> None:
        from scalinglab.train.kernels.triton_conv import SmallConv

        torch.manual_seed(0)
        plain = Conv(channels, outputs, 3, padding=1).double()
        ours = Conv(channels, outputs, 3, padding=1).to(DEVICE, dtype)
        assert SmallConv.takes(ours)
        ours.__class__ = SmallConv
        plain.load_state_dict(ours.state_dict())
        x = torch.randn(5, channels, *image).to(dtype)
        inputs = [x.double().requires_grad_(), x.to(DEVICE).requires_grad_()]
        found = ours(inputs[1])
        wanted = plain(inputs[0])
        cotangent = torch.randn(wanted.shape).to(dtype)
        precision = {torch.bfloat16: 2.0**-8, torch.float32: 2.0**-10 if GPU else 1e-6}[dtype]
        theirs = torch.autograd.grad(wanted, [inputs[0], *plain.parameters()], cotangent.double())
        got = torch.autograd.grad(found, [inputs[1], *ours.parameters()], cotangent.to(DEVICE))
        for a, b in zip((found.detach(), *got), (wanted.detach(), *theirs), strict=True):
            assert float((a.double().cpu() - b).norm() / b.norm()) < 4 * precision

    def test_nan_stays_nan() -> None:
        from scalinglab.train.kernels.triton_conv import relu_convolution

        x = torch.zeros(1, 1, 4, 4, device=DEVICE)
        x[0, 0, 0, 0] = float("nan")
        weight, bias = torch.ones(2, 1, 3, 3, device=DEVICE), -torch.ones(2, device=DEVICE)
        found = relu_convolution(x, weight, bias, 1, 1)[0, 0].cpu()
        assert found.isnan().nonzero().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
        assert float(found.nansum()) == 0

    def with_short_numbers(net: torch.nn.Module) -> torch.nn.Module:
        """The network with weights and inputs of products of 10 bits, as tensor cores take them in TF32."""

        def short(values: torch.Tensor) -> torch.Tensor:
            bits = values.detach().contiguous().view(torch.int32)
            return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)

        net = copy.deepcopy(net)
        for layer in net.modules():
            if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear)):
                layer.weight.data = short(layer.weight)
                layer.register_forward_pre_hook(lambda _, x: (x[0] + (short(x[0]) - x[0]).detach(),))
        return net

    @pytest.mark.parametrize("options", [{"width": 1.0}, {"width": 0.5, "parameterization": "ntk"}])
    @pytest.mark.parametrize("name", ["cnn", "lenet"])
    def test_a_network_with_our_kernels_is_the_same_function(name: str, options: dict) -> None:
        from scalinglab.train.kernels.triton_conv import ReluConv, SmallConv

        torch.manual_seed(0)
        net = nets.build(name, (3, 16, 16), 10, **options).to(DEVICE)
        other = rewritten(net, kernels=True)
        assert sum(isinstance(m, ReluConv) for m in other.modules()) == 1
        assert (
            sum(isinstance(m, SmallConv) for m in other.modules())
            == {"cnn": 1 + (options["width"] < 1), "lenet": 0}[name]
        )
        assert list(net.state_dict()) == list(other.state_dict())
        exact, coarse = copy.deepcopy(net).double(), with_short_numbers(net)
        x, y = torch.randn(6, 3, 16, 16, device=DEVICE), torch.arange(6, device=DEVICE)
        for model in (net, other, exact, coarse):
            F.cross_entropy(model(x.to(next(model.parameters()).dtype)), y).backward()
        for (label, a), b, c, d in zip(
            net.named_parameters(), *(m.parameters() for m in (other, exact, coarse)), strict=True
        ):
            theirs, ours, rounded = (float((p.grad - c.grad).norm() / c.grad.norm()) for p in (a, b, d))
            # a GPU rounds inputs of products, and where a sum is near zero that decides on the ReLU
            assert ours < (3 * max(theirs, rounded) + 1e-2 if GPU else 3 * theirs + 1e-5), label
