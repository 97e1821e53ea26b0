"""Parameters and floating-point operations of a network, counted from its layers.

A multiplication and an addition are two operations. A dense layer or convolution takes 2 · outputs · inputs ·
positions in the forward pass and as much again for each of its two gradients (the first layer needs none
with respect to its input); attention between n tokens of length d takes 4 n² d more. Everything else
(activations, norms, pooling) is left out, as is customary.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import nn

from scalinglab.errors import BadInput
from scalinglab.measure.network_norms.graph import Graph
from scalinglab.measure.network_norms.tracing import trace, unwrapped
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.support.validation import checked


@dataclass(frozen=True)
class Flops(Worded):
    """What a network costs.

    Attributes:
        n_params: Trainable numbers.
        forward: Operations of the forward pass of one batch.
        step: Operations of a training step on one batch, forward and backward.
        layers: Operations of the forward pass by layer.
    """

    n_params: int
    forward: int
    step: int
    layers: dict[str, int]

    @property
    def remarks(self) -> Iterator[Remark]:
        """What the summary says, as data."""
        yield Reason("flops", n_params=self.n_params, forward=self.forward, step=self.step)
        for name, flops in self.layers.items():
            yield Reason("flops_layer", name=name, flops=flops)


@checked
def flops(
    model: nn.Module, input_shape: tuple[int, ...], batch_size: int = 1, graph: Graph | None = None
) -> Flops:
    """Floating-point operations of one forward pass and one training step.

    Args:
        model: As in `scalinglab.measure.norms`.
        input_shape: Shape of one input, without the batch axis.
        batch_size: Examples in a batch.
        graph: Of the model, if it has been traced before.
    """
    if batch_size < 1:
        raise BadInput(f"batch_size = {batch_size}: a batch has at least one example")
    if graph is None:
        graph = trace(nn.Sequential(unwrapped(model)), input_shape)  # a bare layer is a network of one
    layers: dict[str, int] = {}
    backward = 0
    for layer in graph.layers:
        count = 2 * layer.size[0] * layer.size[1] * layer.applications * batch_size
        layers[layer.name.removeprefix("0.")] = count
        backward += count if layer.first else 2 * count
    for position, (windows, tokens, dim) in enumerate(graph.attentions):
        count = 4 * windows * tokens**2 * dim * batch_size
        layers[f"attention {position}"] = count
        backward += 2 * count
    for name, multiplications in graph.products.items():
        layers[name] = 2 * multiplications * batch_size
        backward += 2 * layers[name]
    forward = sum(layers.values())
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return Flops(trainable or sum(p.numel() for p in model.parameters()), forward, forward + backward, layers)
