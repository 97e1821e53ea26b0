"""The linear layers of a network, made from its modules and the shapes of what goes through them."""

from __future__ import annotations

import math
from typing import Any

from torch import nn

from scalinglab.measure.network_norms.graph import Graph, Layer
from scalinglab.measure.network_norms.operators import ConvGeometry

BATCH = 2  # examples in the batch with which a network is traced


def is_attention(module: nn.Module) -> bool:
    """Whether a module is self-attention whose matrices can be read."""
    maps = (getattr(module, name, None) for name in ("query", "key", "value", "output"))
    own = all(isinstance(linear, nn.Linear) for linear in maps) and hasattr(module, "heads")
    return isinstance(module, nn.MultiheadAttention) or (own and hasattr(module, "scale"))


def use_of(name: str, graph: Graph) -> str:
    """The name of a layer: that of its module, and which use of it this is."""
    uses = sum(layer.name.split(" ")[0] == name for layer in graph.layers)
    return name if uses == 0 else f"{name} (use {uses + 1})"


def make_layer(
    name: str,
    names: dict[int, str],
    module: nn.Linear | nn.Conv2d,
    inputs: tuple[int, ...],
    outputs: tuple[int, ...],
    norm: tuple[str, float] | None,
) -> Layer:
    """A dense or convolution layer from shapes of inputs and outputs; `names` are those of parameters."""
    geometry, positions, applications = None, 1, max(1, math.prod(inputs[:-1]) // BATCH)
    if isinstance(module, nn.Conv2d):
        padding = module.padding if isinstance(module.padding, str) else pair(module.padding)
        geometry = ConvGeometry(
            inputs[1], pair(inputs[2:]), pair(module.stride), padding, pair(module.dilation),
            module.groups, module.padding_mode,
        )  # fmt: skip
        applications = math.prod(outputs[2:])
    else:
        positions = applications
    return Layer(
        name,
        names[id(module.weight)],
        geometry=geometry,
        positions=positions,
        multiplier=float(getattr(module, "multiplier", 1.0)),
        norm=norm,
        size=(module.weight.shape[0], math.prod(module.weight.shape[1:])),
        applications=applications,
    )


PARTS = ("query", "key", "value", "output")


def sequences(module: nn.Module, inputs: tuple[int, ...]) -> tuple[int, int, int]:
    """Sequences that attention sees of one example, their tokens, and the length of a token."""
    examples, tokens, dim = inputs
    if isinstance(module, nn.MultiheadAttention) and not module.batch_first:
        examples, tokens = tokens, examples
    return max(1, examples // BATCH), tokens, dim


def attention_layers(name: str, module: nn.Module, inputs: tuple[int, ...]) -> list[Layer]:
    """The four matrices of attention, each applied to every token."""
    windows, tokens, dim = sequences(module, inputs)
    positions = windows * tokens
    layers = []
    for position, part in enumerate(PARTS):
        full = f"{name}.{part}"
        weight, rows, multiplier = f"{full}.weight", None, 1.0
        if isinstance(module, nn.MultiheadAttention):
            weight = f"{name}.out_proj.weight" if part == "output" else f"{name}.in_proj_weight"
            rows = None if part == "output" else (position * dim, (position + 1) * dim)
        else:
            multiplier = float(getattr(getattr(module, part), "multiplier", 1.0))
        layers.append(
            Layer(full, weight, rows, None, positions, multiplier, size=(dim, dim), applications=positions)
        )
    return layers


def pair(value: Any) -> tuple[int, int]:
    """Height and width, from one number or two."""
    if isinstance(value, int):
        return (value, value)
    pair = tuple(int(v) for v in value)
    return (pair[0], pair[-1])
