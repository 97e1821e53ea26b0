"""Floating-point operations of any module, counted while it runs: products of matrices and convolutions.

A multiplication and an addition are two operations; the backward pass takes as many again for each of the
two factors that needs a gradient (`scalinglab.measure.cost`, where layers are counted). PyTorch's own counter
loads its compiler, which takes seconds.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

_PRODUCTS = {
    torch.matmul, torch.mm, torch.bmm, torch.mv, torch.dot, Tensor.matmul, Tensor.__matmul__, Tensor.mm,
    Tensor.bmm, Tensor.__rmatmul__,
}  # fmt: skip
_CONVOLUTIONS = {F.conv1d, F.conv2d, F.conv3d, torch.conv1d, torch.conv2d, torch.conv3d}
_TRANSPOSED = {F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d}
_ADDED = {torch.addmm, torch.baddbmm, Tensor.addmm, Tensor.baddbmm}


class Operations(TorchFunctionMode):
    """Counts the operations of what is computed in its context.

    Attributes:
        forward, backward: operations.
    """

    def __init__(self) -> None:
        super().__init__()
        self.forward = self.backward = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, and count."""
        kwargs = kwargs or {}
        found = func(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            query, key, value = (args + tuple(kwargs.values()))[:3]
            self._add(2 * query.numel() * key.shape[-2], query, key)
            self._add(2 * query.numel() // query.shape[-1] * key.shape[-2] * value.shape[-1], query, value)
        elif func is torch.einsum and len(args) > 2:
            self._einsum(args[0], args[1:])
        elif (pair := _factors(func, args, kwargs)) is not None:
            self._add(2 * _size(func, *pair, found), *pair)
        return found

    def _einsum(self, equation: Any, operands: tuple[Any, ...]) -> None:
        if not isinstance(equation, str) or "..." in equation or len(operands) != 2:
            return
        sizes: dict[str, int] = {}
        for letters, operand in zip(equation.partition("->")[0].replace(" ", "").split(","), operands):
            sizes |= dict(zip(letters, operand.shape))
        self._add(2 * math.prod(sizes.values()), *operands)

    def _add(self, count: int, *factors: Tensor) -> None:
        self.forward += count
        self.backward += count * sum(factor.requires_grad for factor in factors)


def _factors(func: Any, args: Any, kwargs: Any) -> tuple[Tensor, Tensor] | None:
    """The two factors of a product or convolution."""
    if func in _ADDED:
        args = args[1:]
    elif func is not F.linear and func not in _PRODUCTS | _CONVOLUTIONS | _TRANSPOSED:
        return None
    given = (*args, *(kwargs[name] for name in ("input", "weight", "mat2", "other") if name in kwargs))
    return (given[0], given[1]) if len(given) > 1 else None


def _size(func: Any, left: Tensor, right: Tensor, result: Tensor) -> int:
    """Multiplications."""
    if func in _CONVOLUTIONS:  # weights are (outputs, inputs a group, …)
        return result.numel() * right[0].numel()
    if func in _TRANSPOSED:  # (inputs, outputs a group, …)
        return left.numel() * right[0].numel()
    return result.numel() * left.shape[-1]
