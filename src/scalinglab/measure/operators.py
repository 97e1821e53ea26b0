"""Spectral and (2,1) norms of the linear maps of a network, for many replicas at once.

A dense layer or a convolution is a linear operator A. Its spectral norm ‖A‖_σ is found by Lanczos
iteration on AᵀA, applied as the layer applies it (a convolution with its stride and padding is never
written as a matrix), and its (2,1) norm is

    ‖Aᵀ‖_{2,1} = Σ_rows ‖row of A‖_2 = Σ over output units of the ℓ2 norm of their incoming weights,

for a convolution the sum over all output positions, with the kernel cut at zero-padded borders.

Weights carry a leading axis of replicas: (replicas, *weight shape).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional as F

from scalinglab.errors import BadInput, NotConverged

_SMALL = 48  # up to this smaller side a dense matrix is diagonalised instead of iterated on


@dataclass(frozen=True)
class ConvGeometry:
    """What turns a kernel into an operator: how it is moved over images of `image` pixels."""

    channels: int
    image: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] | str = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    padding_mode: str = "zeros"

    def sides(self, kernel: tuple[int, ...]) -> list[int]:
        """Pixels added left, right, top and bottom (the order of `torch.nn.functional.pad`)."""
        sides: list[int] = []
        for axis in (1, 0):
            if self.padding == "same":
                total = self.dilation[axis] * (kernel[axis] - 1)
                sides += [total // 2, total - total // 2]
            else:
                amount = 0 if self.padding == "valid" else int(self.padding[axis])
                sides += [amount, amount]
        return sides


def conv_apply(weight: Tensor, x: Tensor, geometry: ConvGeometry) -> Tensor:
    """A x for each replica, (replicas, output channels, positions), for images x."""
    kernel = (weight.shape[-2], weight.shape[-1])
    padded = _pad(x, geometry, kernel)
    patches = F.unfold(padded, kernel, dilation=geometry.dilation, stride=geometry.stride)
    replicas, groups = len(weight), geometry.groups
    patches = patches.reshape(replicas * groups, -1, patches.shape[-1])
    out = weight.reshape(replicas * groups, weight.shape[1] // groups, -1) @ patches
    return out.reshape(replicas, weight.shape[1], -1)


def conv_adjoint(weight: Tensor, y: Tensor, geometry: ConvGeometry) -> Tensor:
    """Aᵀ y for each replica: y of shape (replicas, output channels, positions)."""
    kernel = (weight.shape[-2], weight.shape[-1])
    replicas, groups = len(weight), geometry.groups
    matrix = weight.reshape(replicas * groups, weight.shape[1] // groups, -1)
    patches = matrix.mT @ y.reshape(replicas * groups, weight.shape[1] // groups, -1)
    left, right, top, bottom = geometry.sides(kernel)
    size = (geometry.image[0] + top + bottom, geometry.image[1] + left + right)
    patches = patches.reshape(replicas, -1, patches.shape[-1])
    back = F.fold(patches, size, kernel, dilation=geometry.dilation, stride=geometry.stride)
    if geometry.padding_mode == "zeros":
        return back[..., top : size[0] - bottom, left : size[1] - right]
    # the transpose of any padding, by differentiating it
    with torch.enable_grad():
        x = torch.zeros(replicas, geometry.channels, *geometry.image, dtype=y.dtype, device=y.device)
        x.requires_grad_(True)
        return torch.autograd.grad(_pad(x, geometry, kernel), x, back)[0]


def _pad(x: Tensor, geometry: ConvGeometry, kernel: tuple[int, ...]) -> Tensor:
    sides = geometry.sides(kernel)
    if not any(sides):
        return x
    mode = "constant" if geometry.padding_mode == "zeros" else geometry.padding_mode
    return F.pad(x, sides, mode=mode)


@dataclass(frozen=True)
class Spectral:
    """Largest singular values, the vectors that show them and how exact they are.

    Attributes:
        norm: ‖A‖_σ, shape (replicas,), float64 on the CPU. A lower bound to rounding, exact within `error`;
            NaN where weights are not finite.
        vector: Right singular vectors, (replicas, inputs): the warm start of the next call (empty where the
            matrix was diagonalised).
        error: Bound on the relative distance to a singular value of A, (replicas,), on the CPU.
        products: Applications of A and of Aᵀ that were needed (0 where the matrix was diagonalised).
    """

    norm: Tensor
    vector: Tensor
    error: Tensor
    products: int


def spectral_norm(
    weight: Tensor,
    geometry: ConvGeometry | None = None,
    start: Tensor | None = None,
    tolerance: float = 1e-4,
    max_steps: int = 400,
) -> Spectral:
    """‖A‖_σ for each replica, by Lanczos iteration on AᵀA with full reorthogonalisation.

    It stops when the residual ‖AᵀA v − σ² v‖ and the gap to the next singular value bound the relative
    distance to a singular value by `tolerance`. A warm start is mixed with a random
    direction, so that it cannot hold on to a singular vector that another has overtaken.

    Args:
        weight: (replicas, out, in) for dense layers, (replicas, out, in / groups, height, width) for
            convolutions.
        geometry: How the kernel is applied; None for dense layers.
        start: `Spectral.vector` of an earlier, nearby weight.
        tolerance: Relative bound on the error.
        max_steps: Lanczos steps before `NotConverged` is raised.
    """
    if not tolerance > 0:
        raise BadInput(f"tolerance = {tolerance}: give a positive relative tolerance, e.g. 1e-4")
    weight = weight.detach()
    if weight.dtype not in (torch.float32, torch.float64):
        weight = weight.float()
    if geometry is None and min(weight.shape[1:]) <= _SMALL:
        return _diagonalise(weight)
    with _full_precision(), torch.autocast(weight.device.type, enabled=False):
        return _lanczos(weight, geometry, start, tolerance, max_steps)


def _diagonalise(weight: Tensor) -> Spectral:
    double = weight.double()
    gram = (double @ double.mT if weight.shape[1] <= weight.shape[2] else double.mT @ double).cpu()
    finite = torch.isfinite(gram).flatten(1).all(1)
    values = torch.linalg.eigvalsh(torch.where(finite[:, None, None], gram, 0.0))[:, -1]
    norm = torch.where(finite, values.clamp_min(0).sqrt(), math.nan)
    return Spectral(norm, weight.new_empty(len(weight), 0), torch.zeros_like(norm), 0)


def _lanczos(
    weight: Tensor, geometry: ConvGeometry | None, start: Tensor | None, tolerance: float, max_steps: int
) -> Spectral:
    replicas = len(weight)
    shape = (weight.shape[2],) if geometry is None else (geometry.channels, *geometry.image)
    size = math.prod(shape)
    limit = min(max_steps, size)
    basis = torch.empty(replicas, 16, size, dtype=weight.dtype, device=weight.device)
    basis[:, 0] = _start(weight, size, start)
    entries: list[Tensor] = []  # diagonal and off-diagonal, (replicas, 2)
    for step in range(1, limit + 1):
        known = basis[:, :step]
        image = _normal_product(weight, known[:, -1], geometry, shape)[:, None]
        inner = known @ image.mT
        diagonal = inner[:, -1, 0]
        image = torch.baddbmm(image, inner.mT, known, alpha=-1)
        image = torch.baddbmm(image, (known @ image.mT).mT, known, alpha=-1)  # twice is enough (Parlett)
        length = image[:, 0].norm(dim=1)
        entries.append(torch.stack([diagonal, length], 1))
        if step % 4 == 0 or step == limit:  # not at every step: a look waits for the device
            top, ritz, error = _top_ritz(torch.stack(entries, 1).double().cpu())
            if bool((error <= tolerance).all()) or step == size:
                right = (ritz[:, None, :].to(weight) @ known).squeeze(1)
                return Spectral(top.sqrt(), right, error, step)
        if step == basis.shape[1]:
            basis = torch.cat([basis, torch.empty_like(basis)], 1)
        basis[:, step] = image[:, 0] / length.clamp_min(torch.finfo(weight.dtype).tiny)[:, None]
    raise NotConverged(
        f"the spectral norm of a layer with {size} inputs is uncertain by {float(error.max()):.1e} "
        f"after {limit} Lanczos steps: allow a larger tolerance than {tolerance:g}, or more max_steps"
    )


def _start(weight: Tensor, size: int, start: Tensor | None) -> Tensor:
    """Unit vectors (replicas, size): random, or near `start`."""
    random = torch.randn(size, generator=torch.Generator().manual_seed(0)).to(weight)
    vector = (random / random.norm()).expand(len(weight), size)
    if start is None or start.shape != vector.shape:
        return vector
    length = start.norm(dim=1, keepdim=True)
    usable = torch.isfinite(length) & (length > 0)
    warm = torch.where(usable, start / length, 0.0).to(weight)
    return F.normalize(warm + torch.where(usable, 0.05, 1.0).to(weight) * vector, dim=1)


def _top_ritz(entries: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Largest eigenvalue of the tridiagonal matrices, its vector, and the relative error of its root.

    An eigenvalue of AᵀA lies within the residual r of the Ritz value θ; and within r²/(θ − λ) of it, with
    λ the next eigenvalue (Kato and Temple), for which the next Ritz value plus its residual stands.

    Args:
        entries: Diagonal and off-diagonal entries (replicas, steps, 2); the last off-diagonal one is the
            length of what is left.
    """
    finite = torch.isfinite(entries).flatten(1).all(1)
    diagonal, between = torch.where(finite[:, None, None], entries, 0.0).unbind(2)
    matrix = torch.diag_embed(diagonal)
    if diagonal.shape[1] > 1:
        matrix = matrix + torch.diag_embed(between[:, :-1], 1) + torch.diag_embed(between[:, :-1], -1)
    values, vectors = torch.linalg.eigh(matrix)
    top = values[:, -1].clamp_min(0)
    residuals = between[:, -1:] * vectors[:, -1].abs()
    error = residuals[:, -1]
    if diagonal.shape[1] > 1:
        gap = top - values[:, -2] - residuals[:, -2]
        error = torch.where(gap > error, error.square() / gap.clamp_min(1e-300), error)
    # the relative error of σ is half that of σ²
    error = torch.where(top > 0, 0.5 * error / top.clamp_min(1e-300), 0.0)
    return torch.where(finite, top, math.nan), vectors[..., -1], error


def _normal_product(
    weight: Tensor, vector: Tensor, geometry: ConvGeometry | None, shape: tuple[int, ...]
) -> Tensor:
    """AᵀA v for each replica."""
    if geometry is None:
        return (weight.mT @ (weight @ vector[:, :, None])).squeeze(-1)
    image = conv_apply(weight, vector.reshape(-1, *shape), geometry)
    return conv_adjoint(weight, image, geometry).reshape(len(weight), -1)


class _full_precision:
    """Switch TensorFloat-32 off: its 10 bits would limit the norms to 1e-3."""

    def __enter__(self) -> None:
        self.before = (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False

    def __exit__(self, *_: object) -> None:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = self.before


def rows_norm(weight: Tensor, geometry: ConvGeometry | None = None, positions: int = 1) -> Tensor:
    """‖Aᵀ‖_{2,1} for each replica, float64.

    Args:
        weight: As in `spectral_norm`.
        geometry: How the kernel is applied; None for dense layers.
        positions: How many times a dense layer is applied (tokens).
    """
    weight = weight.detach()
    if geometry is None:
        return positions * torch.linalg.vector_norm(weight, dim=-1).sum(-1, dtype=torch.float64)
    if geometry.padding_mode != "zeros" and geometry.padding_mode != "circular":
        raise BadInput(
            f"the (2,1) norm of a convolution padded by {geometry.padding_mode!r} is not available: "
            "its border units see pixels twice; use zeros or circular padding"
        )
    # each output unit sees the taps of its kernel that fall on the image: count units by that pattern
    kernel = (weight.shape[-2], weight.shape[-1])
    summed = weight.square().sum(2, dtype=torch.float64)  # (replicas, out, height, width)
    rows, row_counts = _patterns(geometry, 0, kernel, weight.device)
    columns, column_counts = _patterns(geometry, 1, kernel, weight.device)
    seen = rows @ summed @ columns.mT  # (replicas, out, row patterns, column patterns)
    return torch.einsum("rohw,h,w->r", seen.sqrt(), row_counts, column_counts)


@lru_cache(maxsize=1000)
def _patterns(
    geometry: ConvGeometry, axis: int, kernel: tuple[int, int], device: torch.device
) -> tuple[Tensor, Tensor]:
    """Which taps fall on the image along one axis, for each distinct case, and how often it occurs."""
    sides = geometry.sides(kernel)
    before, after = sides[2 - 2 * axis], sides[3 - 2 * axis]
    size, dilation = geometry.image[axis], geometry.dilation[axis]
    starts = range(-before, size + after - dilation * (kernel[axis] - 1), geometry.stride[axis])
    wraps = geometry.padding_mode == "circular"
    taps = [[float(wraps or 0 <= s + dilation * k < size) for k in range(kernel[axis])] for s in starts]
    patterns, counts = torch.unique(torch.tensor(taps, dtype=torch.float64), dim=0, return_counts=True)
    return patterns.to(device), counts.double().to(device)
