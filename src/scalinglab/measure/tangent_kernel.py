"""The empirical neural tangent kernel and its spectrum.

Θ_ab(x, x') = Σ_p ∂f_a(x)/∂θ_p · ∂f_b(x')/∂θ_p
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from scalinglab.errors import BadInput, nearest
from scalinglab.measure.functional import batches, evaluating
from scalinglab.spectrum import Spectrum

_MEMORY = 2**28  # numbers held at a time: 1 GiB in float32


@torch.inference_mode(mode=False)
def ntk(
    model: nn.Module,
    x: Tensor,
    x_other: Tensor | None = None,
    outputs: str = "mean",
    batch_size: int | None = None,
) -> NDArray[np.float64]:
    """The Gram matrix of the empirical neural tangent kernel, in evaluation mode.

    Args:
        model: A network with outputs (n, classes).
        x: Inputs (n, ...), tensors or arrays.
        x_other: Inputs of the second argument (m, ...); None for `x` itself.
        outputs: "mean": the mean over outputs of Θ_aa, shape (n, m); "full": (n, classes, m, classes).
        batch_size: Inputs whose Jacobians are held at a time; None fits them into about 1 GiB.

    Returns:
        float64, in units of the model's parameters: with the standard parameterization it grows with width.
    """
    if outputs not in ("mean", "full"):
        raise BadInput(f"unknown outputs {outputs!r} of the kernel: {nearest(outputs, ('mean', 'full'))}")
    if len(x) == 0 or (x_other is not None and len(x_other) == 0):
        raise BadInput("the kernel of no inputs: give at least one")
    x = torch.as_tensor(x)
    other = x if x_other is None else torch.as_tensor(x_other)
    device = next(model.parameters()).device
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    buffers = dict(model.named_buffers())

    def single(parameters: dict[str, Tensor], one: Tensor) -> Tensor:
        return functional_call(model, {**parameters, **buffers}, (one[None],)).flatten()

    def jacobian(part: Tensor) -> list[Tensor]:
        full = vmap(jacrev(single), in_dims=(None, 0))(parameters, part.to(device))
        return [block.flatten(2) for block in full.values()]  # (n, classes, parameters) for each tensor

    with evaluating(model):
        with torch.no_grad():
            classes = single(parameters, x[0].to(device)).numel()
        n_numbers = classes * sum(p.numel() for p in parameters.values())
        size = batch_size or max(1, min(len(x), len(other), _MEMORY // (2 * n_numbers)))
        gram = np.zeros((len(x), len(other)) if outputs == "mean" else (len(x), classes, len(other), classes))
        pattern = "nap,map->nm" if outputs == "mean" else "nap,mbp->namb"
        for i, (left,) in enumerate(batches(size, x)):
            first = jacobian(left)
            for j, (right,) in enumerate(batches(size, other)):
                if x_other is None and j < i:
                    continue
                second = first if x_other is None and j == i else jacobian(right)
                block = sum(
                    torch.einsum(pattern, a.double(), b.double()) for a, b in zip(first, second, strict=True)
                )
                values = block.cpu().numpy() / (classes if outputs == "mean" else 1)  # type: ignore[union-attr]
                rows, columns = slice(i * size, i * size + len(left)), slice(j * size, j * size + len(right))
                if outputs == "mean":
                    gram[rows, columns] = values
                    if x_other is None:
                        gram[columns, rows] = values.T
                else:
                    gram[rows, :, columns] = values
                    if x_other is None:
                        gram[columns, :, rows] = values.transpose(2, 3, 0, 1)
    return gram


def kernel_spectrum(gram: ArrayLike, targets: ArrayLike) -> Spectrum:
    """Eigenvalues of a kernel on a sample and the power of a target in its eigenvectors.

    With G v_k = n λ_k v_k: eigenvalue λ_k and power λ_k w_k² = Σ_outputs (v_k · y)² / n, so that the powers
    add up to the mean square of the target. Feed it to the theory of kernel regression.

    Args:
        gram: Symmetric Gram matrix (n, n).
        targets: Targets (n,) or (n, outputs).
    """
    matrix, y = np.asarray(gram, dtype=float), np.asarray(targets, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(y) != len(matrix):
        raise BadInput(
            f"a Gram matrix of shape {matrix.shape} and {len(y)} targets: give (n, n) and n targets"
        )
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    power = np.square(vectors.T @ y.reshape(len(y), -1)).sum(1) / len(y)
    keep = values > values[-1] * len(y) * np.finfo(float).eps  # what rounding left of rank deficiency
    return Spectrum(values[keep][::-1] / len(y), power[keep][::-1])
