"""Layers for images on a CPU, exchanged for faster ones that compute the same.

All of them keep images in memory as (height, width, n, channels): a convolution then moves and adds whole
rows of n · channels numbers, batch normalisation sees a matrix, and pooling sees one image with
n · channels channels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from scalinglab.train.kernels import winograd
from scalinglab.train.kernels.im2col import Pair, Products, is_plain

POOLS = (nn.MaxPool2d, nn.AvgPool2d)


def use_products(model: nn.Module) -> None:
    """Replace every plain layer of a model by its fast form, in place."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d) and is_plain(module):
            vars(module)["_conv_forward"] = _Convolution(module)
        elif isinstance(module, POOLS) and not getattr(module, "return_indices", False):
            vars(module)["forward"] = partial(_pool, module.forward)
        elif isinstance(module, nn.BatchNorm2d):
            vars(module)["forward"] = partial(_normalize, module.forward)
        elif isinstance(module, nn.Flatten) and (module.start_dim, module.end_dim) == (1, -1):
            vars(module)["forward"] = _flatten


class _Convolution:
    def __init__(self, layer: nn.Conv2d) -> None:
        self.stride, self.padding = layer.stride, layer.padding

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        out = conv2d(x, weight, self.stride, self.padding)  # type: ignore[arg-type]
        return out if bias is None else out + bias[:, None, None]


def conv2d(x: Tensor, weight: Tensor, stride: Pair = (1, 1), padding: Pair = (0, 0)) -> Tensor:
    """Cross-correlate images (n, channels, height, width) with weights (out, channels, rows, columns)."""
    x = x.to(weight.dtype)  # as autocast does for PyTorch's own layers
    if not winograd.fits(x, weight, stride, padding):
        return Products.apply(x[None], weight[None], stride, padding).squeeze(0)  # type: ignore[no-any-return,no-untyped-call]
    piece = winograd.at_once(x, weight)
    if len(x) > piece:
        return torch.cat([conv2d(part, weight, stride, padding) for part in torch.split(x, piece)])
    return winograd.Winograd.apply(x[None], weight[None], padding)[0].squeeze(0)  # type: ignore[no-any-return,no-untyped-call]


def _pool(pool: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Pool (n, channels, height, width) as one image with n · channels channels, channels last."""
    n, channels, height, width = x.shape
    one = x.permute(2, 3, 0, 1).reshape(1, height, width, n * channels).permute(0, 3, 1, 2)
    out = pool(one).permute(0, 2, 3, 1)
    return out.reshape(*out.shape[1:3], n, channels).permute(2, 3, 0, 1)


def _normalize(normalize: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Batch normalisation of images as of a matrix, (height · width · n, channels)."""
    if x.ndim != 4:
        return normalize(x)
    last = x.permute(2, 3, 0, 1)
    return normalize(last.reshape(-1, x.shape[1])).view(last.shape).permute(2, 3, 0, 1)


def _flatten(x: Tensor) -> Tensor:
    """(n, channels · height · width), by the transpose of a matrix (height · width, n · channels)."""
    if x.ndim != 4:
        return x.flatten(1)
    n, channels, height, width = x.shape
    rows = x.permute(2, 3, 0, 1).reshape(height * width, n * channels)
    return _Transpose.apply(rows).view(n, channels * height * width)  # type: ignore[no-any-return,no-untyped-call]


class _Transpose(torch.autograd.Function):
    """The transpose of a matrix as a matrix of its own, backwards too."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.t().contiguous()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return _Transpose.apply(gradient)  # type: ignore[no-any-return,no-untyped-call]
