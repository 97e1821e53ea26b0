"""From a module to the graph of its layers, with the rule for its Lipschitz constant.

The network is called once on a batch of zeros, and its calls are recorded (`reading.recording`);
`reading.rules` turn every call into a step that propagates a bound on the Lipschitz constant.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from scalinglab.errors import BadInput
from scalinglab.measure.evaluation import evaluating, initialised, on_zeros, zeros
from scalinglab.measure.network_norms.graph import Graph
from scalinglab.measure.network_norms.reading.layers import BATCH
from scalinglab.measure.network_norms.reading.recording import Recorder, Recording
from scalinglab.measure.network_norms.reading.rules import Rules, is_leaf

__all__ = ["is_leaf", "trace"]


def trace(model: nn.Module, input_shape: tuple[int, ...]) -> Graph:
    """Read the graph of `model` for inputs of `input_shape` (without the batch axis), numbers or tokens."""
    if next(model.parameters(), None) is None:
        return Graph()
    batch = zeros(model, input_shape, BATCH)
    kind = batch.device.type  # networks without numbers know no autocast
    full = contextlib.nullcontext() if kind == "meta" else torch.autocast(kind, enabled=False)
    with torch.inference_mode(mode=False), full, evaluating(model):
        recording = _record(model, batch)
    if recording.complaints and recording.output is not None:  # no bound, but layers: all of them count
        recording.from_input |= {node.name for node in recording.graph.nodes if node.op != "get_attr"}
    if recording.output is None or recording.output.name not in recording.from_input:
        raise BadInput("the output of the network does not depend on its input")
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return Rules(recording, dict(model.named_modules()), names).graph


def _record(model: nn.Module, batch: Tensor) -> Recording:
    """What the network calls on a batch of zeros."""

    def recorded(x: Tensor) -> Recording:
        # with derivatives: a tensor that needs one, and that was not recorded, is noticed
        with _slow_attention(), torch.enable_grad():
            return Recorder(initialised(model, x), is_leaf).run(x)

    return on_zeros(model, batch.clone().requires_grad_(), recorded)


@contextlib.contextmanager
def _slow_attention() -> Iterator[None]:
    """Switch off the fast path of PyTorch's transformers, a single function without a rule."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
