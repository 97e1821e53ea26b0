"""Blocks of a transformer, compiled once for all of them.

A compiler takes the time that the length of a program asks for: a whole vision transformer of six blocks,
forward and backward, takes minutes. Its blocks differ in their weights only, so one compiled block serves
all, and what lies between them (patches, the readout, the loss) is left as it is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import TypeVar

import torch
from torch import Tensor, nn

from scalinglab.nets.transformers import Block

Model = TypeVar("Model", bound=nn.Module)


def repeats(model: nn.Module) -> bool:
    """Whether a network has blocks that one compiled program serves: without dropout, whose masks differ."""
    blocks = [m for m in model.modules() if isinstance(m, Block)]
    return len(blocks) > 1 and not any(isinstance(m, nn.Dropout) and m.p for b in blocks for m in b.modules())


def compiled_blocks(model: Model) -> Model:
    """A copy whose blocks are compiled; the same names and parameters."""
    model = copy.deepcopy(model)
    for module in model.modules():
        if isinstance(module, Block):
            module.__class__ = CompiledBlock
    return model


class CompiledBlock(Block):
    """A block that runs the program compiled for all blocks of its shape."""

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens to tokens."""
        return _program()(self, tokens)


@cache
def _program() -> Callable[[Block, Tensor], Tensor]:
    return torch.compile(Block.forward, dynamic=False)
