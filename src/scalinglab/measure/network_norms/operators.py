"""The linear maps of a network as operators, and their (2,1) norms, for many replicas at once.

A dense layer or a convolution is a linear operator A, applied as the layer applies it: a convolution with
its stride and padding is never written as a matrix. Its spectral norm follows from products with AᵀA
(`scalinglab.measure.network_norms.lanczos`), and its (2,1) norm is

    ‖Aᵀ‖_{2,1} = Σ_rows ‖row of A‖_2 = Σ over output units of the ℓ2 norm of their incoming weights,

for a convolution the sum over all output positions, with the kernel cut at zero-padded borders.

Weights carry a leading axis of replicas: (replicas, *weight shape).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional as F

from scalinglab.errors import BadInput

# entries of a matrix from which a GPU multiplies it with a vector faster by itself than in a batch: libraries
# divide a product of matrices over few processors if one of them is a vector
_LARGE = 1 << 20


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

    @property
    def even_padding(self) -> tuple[int, int] | None:
        """Zeros added on both sides of each axis, or None where padding is not that."""
        if self.padding_mode != "zeros" or self.padding == "same":
            return None
        return (0, 0) if self.padding == "valid" else (int(self.padding[0]), int(self.padding[1]))

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


def normal_product(weight: Tensor, vector: Tensor, geometry: ConvGeometry | None) -> Tensor:
    """AᵀA v for each replica: vectors (replicas, inputs)."""
    if geometry is None:
        return _apply(weight.mT, _apply(weight, vector))
    image = conv_apply(weight, vector.reshape(-1, geometry.channels, *geometry.image), geometry)
    return conv_adjoint(weight, image, geometry).flatten(1)


def _apply(matrix: Tensor, vector: Tensor) -> Tensor:
    """Matrices (replicas, n, m) times vectors (replicas, m)."""
    if len(matrix) == 1:
        return torch.mv(matrix[0], vector[0])[None]
    if matrix.device.type != "cpu" and matrix[0].numel() > _LARGE:
        return torch.stack([torch.mv(one, x) for one, x in zip(matrix, vector, strict=True)])
    return torch.bmm(matrix, vector[:, :, None])[:, :, 0]


def _multiply(a: Tensor, b: Tensor) -> Tensor:
    return torch.mm(a[0], b[0])[None] if len(a) == 1 else torch.bmm(a, b)


def conv_apply(weight: Tensor, x: Tensor, geometry: ConvGeometry) -> Tensor:
    """A x for each replica, (replicas, output channels, positions), for images x."""
    replicas, groups = len(weight), geometry.groups
    patches = _patches(x, geometry, (weight.shape[-2], weight.shape[-1]))
    patches = patches.reshape(replicas * groups, -1, patches.shape[-1])
    out = _multiply(weight.reshape(replicas * groups, weight.shape[1] // groups, -1), patches)
    return out.reshape(replicas, weight.shape[1], -1)


def conv_adjoint(weight: Tensor, y: Tensor, geometry: ConvGeometry) -> Tensor:
    """Aᵀ y for each replica: y of shape (replicas, output channels, positions)."""
    kernel = (weight.shape[-2], weight.shape[-1])
    replicas, groups = len(weight), geometry.groups
    matrix = weight.reshape(replicas * groups, weight.shape[1] // groups, -1)
    patches = _multiply(matrix.mT, y.reshape(replicas * groups, weight.shape[1] // groups, -1))
    patches = patches.reshape(replicas, -1, patches.shape[-1])
    moved = {"dilation": geometry.dilation, "stride": geometry.stride}
    if (padding := geometry.even_padding) is not None:
        return F.fold(patches, geometry.image, kernel, padding=padding, **moved)
    left, right, top, bottom = geometry.sides(kernel)
    size = (geometry.image[0] + top + bottom, geometry.image[1] + left + right)
    back = F.fold(patches, size, kernel, **moved)
    if geometry.padding_mode == "zeros":
        return back[..., top : size[0] - bottom, left : size[1] - right]
    # the transpose of any padding, by differentiating it
    with torch.enable_grad():
        x = torch.zeros(replicas, geometry.channels, *geometry.image, dtype=y.dtype, device=y.device)
        x.requires_grad_(True)
        return torch.autograd.grad(_pad(x, geometry, kernel), x, back)[0]


def _patches(x: Tensor, geometry: ConvGeometry, kernel: tuple[int, int]) -> Tensor:
    """What the kernel sees at each position, (replicas, channels · taps, positions)."""
    moved = {"dilation": geometry.dilation, "stride": geometry.stride}
    if x.device.type != "cpu" and len(x) > 2:
        return _windows(_pad(x, geometry, kernel), geometry, kernel)
    if (padding := geometry.even_padding) is not None:
        return F.unfold(x, kernel, padding=padding, **moved)
    return F.unfold(_pad(x, geometry, kernel), kernel, **moved)


def _windows(padded: Tensor, geometry: ConvGeometry, kernel: tuple[int, int]) -> Tensor:
    """`unfold` of a whole stack at once, for which PyTorch's launches a kernel for each image on a GPU."""
    replicas, channels, *sides = padded.shape
    out = [
        (side - d * (k - 1) - 1) // s + 1
        for side, d, k, s in zip(sides, geometry.dilation, kernel, geometry.stride, strict=True)
    ]
    along, down, *pixel = padded.stride()
    taps = [d * p for d, p in zip(geometry.dilation, pixel, strict=True)]
    steps = [s * p for s, p in zip(geometry.stride, pixel, strict=True)]
    windows = padded.as_strided((replicas, channels, *kernel, *out), (along, down, *taps, *steps))
    return windows.reshape(replicas, channels * math.prod(kernel), math.prod(out))


def _pad(x: Tensor, geometry: ConvGeometry, kernel: tuple[int, ...]) -> Tensor:
    sides = geometry.sides(kernel)
    if not any(sides):
        return x
    mode = "constant" if geometry.padding_mode == "zeros" else geometry.padding_mode
    return F.pad(x, sides, mode=mode)


@contextlib.contextmanager
def full_precision(device: torch.device) -> Iterator[None]:
    """Neither TensorFloat-32 nor autocast: their few bits would limit the norms to 1e-3."""
    products, convolutions = torch.backends.cuda.matmul, torch.backends.cudnn
    before = (products.allow_tf32, convolutions.allow_tf32)
    products.allow_tf32 = convolutions.allow_tf32 = False
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        products.allow_tf32, convolutions.allow_tf32 = before


def rows_norm(weight: Tensor, geometry: ConvGeometry | None = None) -> Tensor:
    """‖Aᵀ‖_{2,1} for each replica, float64.

    Args:
        weight: As in `scalinglab.measure.network_norms.lanczos.spectral_norm`.
        geometry: How the kernel is applied; None for dense layers.
    """
    weight = weight.detach()
    if geometry is None:
        return torch.linalg.vector_norm(weight, dim=-1).sum(-1, dtype=torch.float64)
    if geometry.padding_mode != "zeros" and geometry.padding_mode != "circular":
        raise BadInput(
            f"the (2,1) norm of a convolution padded by {geometry.padding_mode!r} is not available: "
            "its border units see pixels twice; use zeros or circular padding"
        )
    # each output unit sees the taps of its kernel that fall on the image: count units by that pattern
    taps = torch.linalg.vector_norm(weight, dim=2).double().square().flatten(2)
    patterns, counts = _patterns(geometry, (weight.shape[-2], weight.shape[-1]), weight.device)
    return ((taps @ patterns).sqrt() @ counts).sum(1)


@cache  # for good: captured graphs read them where they lie
def _patterns(geometry: ConvGeometry, kernel: tuple[int, int], device: torch.device) -> tuple[Tensor, Tensor]:
    """Which taps fall on the image, for each distinct case, (taps, cases), and how often it occurs."""
    rows, columns = (_patterns_along(geometry, axis, kernel) for axis in (0, 1))
    patterns, counts = (torch.kron(a, b) for a, b in zip(rows, columns, strict=True))
    return patterns.mT.contiguous().to(device), counts.to(device)


def _patterns_along(geometry: ConvGeometry, axis: int, kernel: tuple[int, int]) -> tuple[Tensor, Tensor]:
    sides = geometry.sides(kernel)
    before, after = sides[2 - 2 * axis], sides[3 - 2 * axis]
    size, dilation = geometry.image[axis], geometry.dilation[axis]
    starts = range(-before, size + after - dilation * (kernel[axis] - 1), geometry.stride[axis])
    wraps = geometry.padding_mode == "circular"
    taps = [[float(wraps or 0 <= s + dilation * k < size) for k in range(kernel[axis])] for s in starts]
    patterns, counts = torch.unique(torch.tensor(taps, dtype=torch.float64), dim=0, return_counts=True)
    return patterns, counts.double()
