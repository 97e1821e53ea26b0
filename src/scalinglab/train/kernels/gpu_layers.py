"""Networks in another form, from which a compiler makes faster code for a GPU; the same function to rounding.

- Libraries have no good kernels for convolutions of very few channels or of single pixels with a stride.
  Patches laid side by side make them one product of matrices, in both directions.
- Max-pooling and ReLU commute. With the ReLU last it works on a quarter of the numbers, and nothing of the
  full size is kept for the backward pass.
- The backward pass of max-pooling is written for windows that may overlap; halves do not.
"""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scalinglab.nets.layers import Conv

Model = TypeVar("Model", bound=nn.Module)

FEW = 4  # channels; more are left to the library
ALIGNED = 8  # rows of a matrix have multiples of this many numbers, for the matrix units


def rewritten(model: Model) -> Model:
    """A copy in another form, with the same names and parameters."""
    model = copy.deepcopy(model)
    convolutions = [m for m in model.modules() if type(m) is Conv and is_plain(m)]
    for number, layer in enumerate(convolutions):
        few = number == 0 and layer.in_channels <= FEW  # the first needs no gradient of its input
        single = set(layer.kernel_size) == {1} and not any(layer.padding)
        if few or single:
            layer.__class__ = PatchConv
    for module in list(model.modules()):
        if type(module) is nn.MaxPool2d and _halves(module):
            module.__class__ = HalvingPool
        elif isinstance(module, nn.Sequential):
            _pool_first(module)
    return model


def is_plain(layer: nn.Conv2d) -> bool:
    """Whether a convolution is one of patches with weights: whole, dense, padded with a number of zeros."""
    fixed = layer.groups == 1 and set(layer.dilation) == {1} and layer.padding_mode == "zeros"
    return fixed and not isinstance(layer.padding, str)


def _halves(pool: nn.MaxPool2d) -> bool:
    window = [
        (n, n) if isinstance(n, int) else tuple(n)
        for n in (pool.kernel_size, pool.stride, pool.padding, pool.dilation)
    ]
    return window == [(2, 2), (2, 2), (0, 0), (1, 1)] and not (pool.ceil_mode or pool.return_indices)


def _pool_first(layers: nn.Sequential) -> None:
    """Swap every ReLU with the max-pooling that follows it."""
    for place, (first, second) in enumerate(pairwise(list(layers))):
        if type(first) is nn.ReLU and isinstance(second, nn.MaxPool2d):
            layers[place], layers[place + 1] = second, first


class PatchConv(Conv):
    """A convolution as the product of its patches with its weights."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        assert not isinstance(self.padding, str)
        return patches_conv2d(input.to(weight.dtype), weight, bias, self.stride, self.padding)


def patches_conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, ...] = (1, 1),
    padding: tuple[int, ...] = (0, 0),
) -> Tensor:
    """Cross-correlate images (n, channels, height, width); the result has its channels last in memory."""
    rows, columns = weight.shape[-2:]
    if rows == columns == 1 and not any(padding):
        patches = x[..., :: stride[0], :: stride[1]].permute(0, 2, 3, 1)
    else:
        padded = F.pad(x, (padding[1], padding[1], padding[0], padding[0]))
        windows = padded.unfold(2, rows, stride[0]).unfold(3, columns, stride[1])
        patches = windows.permute(0, 2, 3, 4, 5, 1).flatten(3)
    matrix = weight.permute(0, 2, 3, 1).flatten(1)
    fill = (0, -matrix.shape[1] % ALIGNED)
    return F.linear(F.pad(patches, fill), F.pad(matrix, fill), bias).permute(0, 3, 1, 2)


class HalvingPool(nn.MaxPool2d):
    """Max-pooling over windows of 2×2."""

    def forward(self, input: Tensor) -> Tensor:
        """Images to images of half the size."""
        if input.shape[-1] % 2 or input.shape[-2] % 2:
            return super().forward(input)
        return Halves.apply(input)[0]  # type: ignore[no-any-return,no-untyped-call]


class Halves(torch.autograd.Function):
    """The largest of four neighbours; of equal ones the first gets the gradient, as in PyTorch."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """Images (n, channels, height, width) to half their size, and which neighbour was taken, 0 to 3."""
        n, channels, height, width = x.shape
        fours = x.permute(0, 2, 3, 1).reshape(n, height // 2, 2, width // 2, 2, channels)
        best = fours[:, :, 0, :, 0]
        taken = torch.zeros_like(best, dtype=torch.int8)
        for number in (1, 2, 3):
            other = fours[:, :, number // 2, :, number % 2]
            better = (other > best) | other.isnan()
            best, taken = torch.where(better, other, best), torch.where(better, number, taken)
        return best.permute(0, 3, 1, 2), taken

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: tuple[Tensor, Tensor]) -> None:
        """Keep the choice."""
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> Tensor:  # type: ignore[override]
        """The gradient where the largest was, zero elsewhere."""
        (taken,) = ctx.saved_tensors
        last = gradient.permute(0, 2, 3, 1)
        number = torch.arange(4, dtype=torch.int8, device=last.device).view(2, 1, 2, 1)
        spread = torch.where(taken[:, :, None, :, None] == number, last[:, :, None, :, None], 0)
        return spread.flatten(3, 4).flatten(1, 2).permute(0, 3, 1, 2)
