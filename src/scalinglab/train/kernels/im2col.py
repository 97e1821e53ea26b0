"""Convolutions on a CPU as matrix products, for one network or a stack of them.

Patches of images are laid side by side (im2col), so that forward pass and both gradients are products of
large matrices, for a stack of networks batched products. This is faster than PyTorch's kernels for few
channels, and does not slow down when networks are stacked. One network with many channels uses PyTorch's
kernel for the forward pass and for the gradient of its input, which is a forward pass too, with the kernel
turned around; only the gradient of the weights is a product then.

Here and in `winograd` images lie in memory as (networks, height, width, n, channels).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Pair = tuple[int, int]


def is_plain(layer: nn.Conv2d) -> bool:
    """Whether a convolution is one of patches with weights: whole, dense, padded with a number of zeros."""
    fixed = layer.groups == 1 and set(layer.dilation) == {1} and layer.padding_mode == "zeros"
    return fixed and not isinstance(layer.padding, str)


class Products(torch.autograd.Function):
    """x (networks, n, channels, height, width), weight (networks, out, channels, rows, columns)."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, stride: Pair, padding: Pair) -> Tensor:
        """Returns (networks, n, out, height, width)."""
        if _one_with_many(weight):
            return F.conv2d(x[0], weight[0], None, stride, padding)[None]
        columns, shape = _columns(turned(x), weight.shape[-2:], stride, padding)
        return turned(_product(columns, _matrix(weight)).view(*shape, weight.shape[1]))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Save the inputs only: patches are recomputed in the backward pass to save memory."""
        x, weight, ctx.stride, ctx.padding = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:  # type: ignore[override]
        """Gradients of inputs and weights."""
        x, weight = ctx.saved_tensors
        return *gradients(x, weight, gradient, ctx.stride, ctx.padding, ctx.needs_input_grad), None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], x: Tensor, weight: Tensor, stride: Pair, padding: Pair
    ) -> tuple[Tensor, int]:
        """A stack of networks: fold its axis into the first."""
        folded, inner = fold(info, in_dims, x, weight)
        out = Products.apply(*folded, stride, padding)  # type: ignore[no-untyped-call]
        return out.unflatten(0, (info.batch_size, inner)), 0


def gradients(
    x: Tensor, weight: Tensor, gradient: Tensor, stride: Pair, padding: Pair, needed: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of inputs and weights, in operations that can be differentiated again."""
    last = turned(gradient).contiguous()
    rows = last.view(len(last), -1, last.shape[-1])
    to_x = to_weight = None
    if needed[1]:
        columns, _ = _columns(turned(x), weight.shape[-2:], stride, padding)
        product = _product(columns.mT, rows)
        spread = product.view(len(weight), *weight.shape[-2:], weight.shape[2], weight.shape[1])
        to_weight = spread.permute(0, 4, 3, 1, 2).contiguous()
    around = [k - 1 - p for k, p in zip(weight.shape[-2:], padding)]
    if needed[0] and _one_with_many(weight) and set(stride) == {1} and min(around) >= 0:
        back = weight[0].flip(-2, -1).transpose(0, 1)
        to_x = F.conv2d(gradient[0], back, None, 1, around)[None]
    elif needed[0]:
        patches = _product(rows, _matrix(weight).mT)
        to_x = turned(_gather(patches, turned(x).shape, last.shape[1:3], weight.shape[-2:], stride, padding))
    return to_x, to_weight


def turned(x: Tensor) -> Tensor:
    """(networks, n, channels, height, width) as (networks, height, width, n, channels), and back."""
    return x.permute(0, 3, 4, 1, 2)


def fold(info: Any, in_dims: tuple[Any, ...], *tensors: Tensor) -> tuple[list[Tensor], int]:
    """Tensors (networks, …) of a stack, the stack's axis folded into their first; and how long that was."""
    parts = [
        t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
        for t, dim in zip(tensors, in_dims)
    ]
    return [t.flatten(0, 1) for t in parts], parts[-1].shape[1]


def _one_with_many(weight: Tensor) -> bool:
    return len(weight) == 1 and min(weight.shape[1:3]) >= 16 and weight.shape[-2:] != (1, 1)


def _product(a: Tensor, b: Tensor) -> Tensor:
    return torch.mm(a[0], b[0])[None] if len(a) == 1 else torch.bmm(a, b)


def _matrix(weight: Tensor) -> Tensor:
    """Weights as (networks, rows · columns · channels, out)."""
    return weight.permute(0, 3, 4, 2, 1).reshape(len(weight), -1, weight.shape[1])


def _columns(
    x: Tensor, kernel: Sequence[int], stride: Pair, padding: Pair
) -> tuple[Tensor, tuple[int, int, int, int]]:
    """Patches, (networks, height · width · n, rows · columns · channels), and the sizes of the output."""
    networks, height, width, n, channels = x.shape
    down, across = (
        (side + 2 * p - k) // s + 1 for side, p, k, s in zip((height, width), padding, kernel, stride)
    )
    if (*kernel, *stride) == (1, 1, 1, 1) and not any(padding):
        return x.reshape(networks, -1, channels), (networks, down, across, n)
    padded = F.pad(x, (0, 0, 0, 0, padding[1], padding[1], padding[0], padding[0]))
    patches = x.new_empty(networks, down, across, n, kernel[0] * kernel[1], channels)
    for place in range(kernel[0] * kernel[1]):
        rows, columns = _seen(place, (down, across), kernel, stride)
        patches[..., place, :] = padded[:, rows, columns]
    return patches.view(networks, down * across * n, -1), (networks, down, across, n)


def _gather(
    patches: Tensor, shape: torch.Size, out: Sequence[int], kernel: Sequence[int], stride: Pair, padding: Pair
) -> Tensor:
    """The transpose of `_columns`: add patches back into images."""
    networks, height, width, n, channels = shape
    patches = patches.view(networks, *out, n, kernel[0] * kernel[1], channels)
    padded = patches.new_zeros(networks, height + 2 * padding[0], width + 2 * padding[1], n, channels)
    for place in range(kernel[0] * kernel[1]):
        rows, columns = _seen(place, out, kernel, stride)
        padded[:, rows, columns] += patches[..., place, :]
    return padded[:, padding[0] : padding[0] + height, padding[1] : padding[1] + width]


def _seen(place: int, out: Sequence[int], kernel: Sequence[int], stride: Pair) -> list[slice]:
    """The rows and columns of a padded image that one weight of the kernel meets."""
    return [
        slice(start, start + side * s, s) for start, side, s in zip(divmod(place, kernel[1]), out, stride)
    ]
