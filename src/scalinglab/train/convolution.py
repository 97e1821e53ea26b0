"""Convolutions on a CPU as matrix products, for one network or a stack of them.

Patches of channels-last images are laid side by side (im2col), so that forward pass and both gradients are
products of large matrices, for a stack of networks batched products. This is faster than PyTorch's kernels
for few channels, and does not slow down when networks are stacked. One network with many channels uses
PyTorch's kernel for the forward pass and for the gradient of its input, which is a forward pass too, with
the kernel turned around; only the gradient of the weights is a product then.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def use_products(model: nn.Module) -> None:
    """Let every plain convolution of a model compute itself this way, in place."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d) and _plain(module):
            module._conv_forward = _Forward(module)  # type: ignore[method-assign,assignment]


def _plain(layer: nn.Conv2d) -> bool:
    fixed = layer.groups == 1 and set(layer.dilation) == {1} and layer.padding_mode == "zeros"
    return fixed and not isinstance(layer.padding, str)


class _Forward:
    def __init__(self, layer: nn.Conv2d) -> None:
        self.stride, self.padding = layer.stride, layer.padding

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        out = conv2d(x, weight, self.stride, self.padding)  # type: ignore[arg-type]
        return out if bias is None else out + bias[:, None, None]


def conv2d(
    x: Tensor, weight: Tensor, stride: tuple[int, int] = (1, 1), padding: tuple[int, int] = (0, 0)
) -> Tensor:
    """Cross-correlate images (n, channels, height, width) with weights (out, channels, rows, columns)."""
    x = x.to(weight.dtype)  # as autocast does for PyTorch's own layers
    return Products.apply(x[None], weight[None], stride, padding)[0]  # type: ignore[no-any-return,no-untyped-call]


class Products(torch.autograd.Function):
    """x (networks, n, channels, height, width), weight (networks, out, channels, rows, columns)."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, stride: tuple[int, int], padding: tuple[int, int]) -> Tensor:
        """Returns (networks, n, out, height, width), channels last in memory."""
        if _one_with_many(weight):
            return F.conv2d(x[0], weight[0], None, stride, padding)[None]
        columns, shape = _columns(x, weight.shape[-2:], stride, padding)
        out = _product(columns, _matrix(weight))
        return out.view(*shape, weight.shape[1]).permute(0, 1, 4, 2, 3)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the inputs: patches are made again in the backward pass, they would fill the memory."""
        x, weight, ctx.stride, ctx.padding = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:  # type: ignore[override]
        """Gradients of inputs and weights."""
        x, weight = ctx.saved_tensors
        last = gradient.permute(0, 1, 3, 4, 2).contiguous()
        rows = last.view(len(last), -1, last.shape[-1])
        to_x = to_weight = None
        if ctx.needs_input_grad[1]:
            columns, _ = _columns(x, weight.shape[-2:], ctx.stride, ctx.padding)
            product = _product(columns.mT, rows)
            spread = product.view(len(weight), *weight.shape[-2:], weight.shape[2], weight.shape[1])
            to_weight = spread.permute(0, 4, 3, 1, 2).contiguous()
        turned = [k - 1 - p for k, p in zip(weight.shape[-2:], ctx.padding)]
        if ctx.needs_input_grad[0] and _one_with_many(weight) and set(ctx.stride) == {1} and min(turned) >= 0:
            back = weight[0].flip(-2, -1).transpose(0, 1)
            to_x = F.conv2d(gradient[0], back, None, 1, turned)[None]
        elif ctx.needs_input_grad[0]:
            patches = _product(rows, _matrix(weight).mT)
            to_x = _gather(patches, x.shape, last.shape[2:4], weight.shape[-2:], ctx.stride, ctx.padding)
        return to_x, to_weight, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], x: Tensor, weight: Tensor, stride: Any, padding: Any
    ) -> tuple[Tensor, int]:
        """A stack of networks: fold its axis into the first."""
        parts = [
            t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
            for t, dim in zip((x, weight), in_dims)
        ]
        inner = parts[1].shape[1]
        folded = [t.flatten(0, 1) for t in parts]
        out = Products.apply(*folded, stride, padding)  # type: ignore[no-untyped-call]
        return out.unflatten(0, (info.batch_size, inner)), 0


def _one_with_many(weight: Tensor) -> bool:
    return len(weight) == 1 and min(weight.shape[1:3]) >= 16


def _product(a: Tensor, b: Tensor) -> Tensor:
    return torch.mm(a[0], b[0])[None] if len(a) == 1 else torch.bmm(a, b)


def _matrix(weight: Tensor) -> Tensor:
    """Weights as (networks, rows · columns · channels, out)."""
    return weight.permute(0, 3, 4, 2, 1).reshape(len(weight), -1, weight.shape[1])


def _columns(
    x: Tensor, kernel: tuple[int, ...] | torch.Size, stride: tuple[int, int], padding: tuple[int, int]
) -> tuple[Tensor, tuple[int, ...]]:
    """Patches, (networks, n · height · width, rows · columns · channels), and the sizes of the output."""
    networks, n, channels, height, width = x.shape
    last = x.permute(0, 1, 3, 4, 2)
    out = [(side + 2 * p - k) // s + 1 for side, p, k, s in zip((height, width), padding, kernel, stride)]
    if (*kernel, *stride) == (1, 1, 1, 1) and not any(padding):
        return last.reshape(networks, -1, channels), (networks, n, *out)
    padded = F.pad(last, (0, 0, padding[1], padding[1], padding[0], padding[0]))
    patches = x.new_empty(networks, n, *out, kernel[0] * kernel[1], channels)
    for place in range(kernel[0] * kernel[1]):
        i, j = divmod(place, kernel[1])
        patches[..., place, :] = padded[
            :, :, i : i + out[0] * stride[0] : stride[0], j : j + out[1] * stride[1] : stride[1]
        ]
    return patches.view(networks, n * out[0] * out[1], -1), (networks, n, *out)


def _gather(
    patches: Tensor,
    shape: torch.Size,
    out: Any,
    kernel: Any,
    stride: tuple[int, int],
    padding: tuple[int, int],
) -> Tensor:
    """The transpose of `_columns`: add patches back into images."""
    networks, n, channels, height, width = shape
    patches = patches.view(networks, n, *out, kernel[0] * kernel[1], channels)
    padded = patches.new_zeros(networks, n, height + 2 * padding[0], width + 2 * padding[1], channels)
    for place in range(kernel[0] * kernel[1]):
        i, j = divmod(place, kernel[1])
        padded[:, :, i : i + out[0] * stride[0] : stride[0], j : j + out[1] * stride[1] : stride[1]] += (
            patches[..., place, :]
        )
    image = padded[:, :, padding[0] : padding[0] + height, padding[1] : padding[1] + width]
    return image.permute(0, 1, 4, 2, 3)
