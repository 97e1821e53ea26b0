"""Networks in evaluation mode, and examples in batches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torch import Tensor, nn


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode; afterwards every module of it is as it was, frozen ones too."""
    before = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, training in before.items():
            module.training = training


def batches(size: int, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Tensors of equal length in pieces of `size`."""
    for start in range(0, len(tensors[0]), size):
        yield tuple(tensor[start : start + size] for tensor in tensors)
