"""The empirical neural tangent kernel.

Θ_ab(x, x') = Σ_p ∂f_a(x)/∂θ_p · ∂f_b(x')/∂θ_p

Every derivative is computed once: the *parameters* are divided into pieces whose Jacobians of all examples
fit into the memory, and each piece adds its share to the kernel. Dense and convolutional layers go without
Jacobians where that is cheaper (`products`).
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from scalinglab.errors import BadInput, nearest
from scalinglab.measure.evaluation import as_inputs, evaluating, initialised
from scalinglab.measure.free_memory import free_memory
from scalinglab.measure.network_norms.operators import full_precision
from scalinglab.measure.tangent_kernel.layers import COMPARED, Anatomy, take_apart
from scalinglab.measure.tangent_kernel.products import (
    GenericJacobian,
    Piece,
    Stored,
    fill_generic,
    passes,
    pieces,
)
from scalinglab.support.validation import checked

OUTPUTS = ("mean", "trace", "pseudo")
MEMORY = 2**30  # bytes of Jacobians in memory on a CPU
SHARE = 0.3  # of a GPU's free memory
BATCH = {"cpu": 64, "cuda": 256}  # inputs in one pass through the network

__all__ = ["ntk"]


@torch.inference_mode(mode=False)
@checked
def ntk(
    model: nn.Module,
    x: Tensor,
    outputs: str = "mean",
    batch_size: int | None = None,
    memory: float | None = None,
) -> NDArray[np.float64]:
    """The Gram matrix of the empirical neural tangent kernel, (n, n), in evaluation mode.

    Args:
        model: A network with outputs (n, classes).
        x: Inputs (n, ...), tensors or arrays.
        outputs: "mean" over outputs of Θ_aa, or "trace", their sum; "pseudo", the kernel of Σ_a f_a/√classes,
            which needs one backward pass in place of one for each output.
        batch_size: Inputs in one pass through the network; default 64 on a CPU and 256 on a GPU, or as many
            as a quarter of the memory holds activations of.
        memory: Bytes of Jacobians at a time, which decides how many passes over the inputs there are;
            default 1 GiB, or 30 % of what a GPU has free.

    Returns:
        float64, in units of the model's parameters: with the standard parameterization it grows with width.

    >>> import torch
    >>> linear = torch.nn.Linear(2, 3)
    >>> ntk(linear, torch.tensor([[1.0, 0.0], [2.0, 1.0]]))  # x · x' + 1
    array([[2., 3.],
           [3., 6.]])
    """
    if outputs not in OUTPUTS:
        raise BadInput(f"unknown outputs {outputs!r} of the kernel: {nearest(outputs, OUTPUTS)}")
    if len(x) == 0:
        raise BadInput("the kernel of no inputs: give at least one")
    if memory is not None and not memory > 0:
        raise BadInput(f"memory = {memory}: give a positive number of bytes")
    x = as_inputs(model, x)
    parameter = next(model.parameters())
    device = parameter.device
    few = x[:: max(1, len(x) // COMPARED)].to(device)
    model = initialised(model, few[:1])
    with evaluating(model), full_precision(device):
        anatomy = take_apart(model, few)
        classes = anatomy.directions.shape[1]
        if outputs == "pseudo":
            anatomy = take_apart(model, few, torch.full((1, classes), classes**-0.5))
        n = len(x)
        gram = torch.zeros((n, n), dtype=torch.float64, device=device)
        limit = _memory(device, memory) / parameter.element_size()
        most = max(1, int(limit))
        size = batch_size or max(1, min(BATCH.get(device.type, 64), int(limit / 4 / anatomy.activations())))
        for group in passes(pieces(anatomy, n, most), n, most):
            tables = _filled(anatomy, group, x, size, parameter)
            for piece, stored in zip(group, tables):
                piece.add(gram, stored)
            del tables, stored  # before the next pass holds its own
        gram = gram.triu() + gram.triu(1).mT
    return gram.cpu().numpy() / (classes if outputs == "mean" else 1)  # type: ignore[no-any-return]


def _memory(device: torch.device, given: float | None) -> float:
    if given is not None:
        return given
    return SHARE * free_memory(device) if device.type == "cuda" else MEMORY


def _filled(anatomy: Anatomy, group: list[Piece], x: Tensor, size: int, like: Tensor) -> list[Stored]:
    """What the pieces of a pass hold of all inputs."""
    tables: list[Stored] = [
        tuple(torch.empty((len(x), *shape), dtype=like.dtype, device=like.device) for shape in piece.shapes)
        for piece in group
    ]
    layers = list(dict.fromkeys(piece.layer for piece in group if piece.layer is not None))
    generic = [(piece, stored) for piece, stored in zip(group, tables) if isinstance(piece, GenericJacobian)]
    for start in range(0, len(x), size):
        rows = slice(start, min(start + size, len(x)))
        part = x[rows].to(like.device)
        if layers:
            for layer, entered, back in anatomy.factors(part, layers):
                for piece, stored in zip(group, tables):
                    if piece.layer is layer:
                        piece.fill(stored, rows, entered, back)  # type: ignore[attr-defined]
        if generic:
            fill_generic(anatomy, generic, rows, part)
    return tables
