"""3×3 convolutions with four times fewer multiplications: Winograd's F(4×4, 3×3).

A tile of 4×4 outputs y is made of a tile of 6×6 inputs d and of the 3×3 weights g by (Lavin & Gray,
"Fast algorithms for convolutional neural networks", 2016, eq. 8)

    y = Aᵀ [U ⊙ V] A,  U = G g Gᵀ,  V = Bᵀ d B,

36 products instead of 144, summed over channels: for each of the 36 places of a transformed tile, one
product of matrices (tiles × channels) by (channels × out). Aᵀ, G and Bᵀ evaluate and interpolate
polynomials at 0, ±√½, ±√2 and ∞; the usual 0, ±1, ±2, ∞ lose twice as much to rounding in fp32. The
backward pass is the transpose of the forward pass, step by step:

    ∂M = A ∂y Aᵀ,  ∂U = Vᵀ ∂M,  ∂V = ∂M Uᵀ,  ∂g = Gᵀ ∂U G,  ∂d = B ∂V Bᵀ, added where tiles overlap.

Transforms go axis by axis, each in two sparse steps, which add whole rows of n · channels numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from scalinglab.train.kernels.im2col import Pair, fold, gradients, turned

OUT, IN = 4, 6  # sides of a tile of outputs and of a tile of inputs
P, Q = math.sqrt(0.5), math.sqrt(2.0)  # the points ±P and ±Q
FEWEST = 4  # channels in and out
ENOUGH = 1 << 23  # numbers to lay out and multiply as patches, about; with fewer, 36 products take longer
LARGEST = 1 << 24  # pixels · channels, in and out, of one piece of a batch

Step = Sequence[Sequence[float]]

# Bᵀ: d0 … d5 to even and odd parts, and to polynomials that vanish at all points but one
INPUT: tuple[Step, ...] = (
    (
        (0, 0, -2, 0, 1, 0),
        (0, -2, 0, 1, 0, 0),
        (0, 0, -0.5, 0, 1, 0),
        (0, -0.5, 0, 1, 0, 0),
        (-0.5, 0, 1, 0, 0, 0),
        (0, 0, 0, -0.5, 0, 1),
    ),
    (
        (0, 0, 1, 0, -2, 0),
        (1, P, 0, 0, 0, 0),
        (1, -P, 0, 0, 0, 0),
        (0, 0, 1, Q, 0, 0),
        (0, 0, 1, -Q, 0, 0),
        (0, 0, 0, -2, 0, 1),
    ),
)
# Aᵀ: m0 … m5 to sums and differences, and those to powers 0 … 3 of the points
OUTPUT: tuple[Step, ...] = (
    (
        (1, 0, 0, 0, 0, 0),
        (0, 1, 1, 0, 0, 0),
        (0, 1, -1, 0, 0, 0),
        (0, 0, 0, 1, 1, 0),
        (0, 0, 0, 1, -1, 0),
        (0, 0, 0, 0, 0, 1),
    ),
    (
        (1, 1, 0, 1, 0, 0),
        (0, 0, P, 0, Q, 0),
        (0, P**2, 0, Q**2, 0, 0),
        (0, 0, P**3, 0, Q**3, 1),
    ),
)
# G: powers 0 … 2 of each point over the product of its distances to the others; the last row is ∞
WEIGHTS = (
    (1, 0, 0),
    (-1 / 1.5, -P / 1.5, -(P**2) / 1.5),
    (-1 / 1.5, P / 1.5, -(P**2) / 1.5),
    (1 / 6, Q / 6, Q**2 / 6),
    (1 / 6, -Q / 6, Q**2 / 6),
    (0, 0, 1),
)
BOTH = torch.kron(*2 * [torch.tensor(WEIGHTS, dtype=torch.float64)])  # along columns and along rows


def fits(x: Tensor, weight: Tensor, stride: Pair, padding: Pair) -> bool:
    """Whether the convolution of images (n, channels, height, width) is one of these, and gains by it."""
    out, channels, *kernel = weight.shape
    if kernel != [3, 3] or tuple(stride) != (1, 1) or x.dtype not in (torch.float32, torch.float64):
        return False
    sides = _sides(x, padding)
    # tiles that stick out are computed whole: at least half of the multiplications must go
    saves = min(sides) > 0 and 8 * math.prod(_counts(sides)) <= math.prod(sides)
    return saves and min(out, channels) >= FEWEST and x.numel() * (out + 32) >= ENOUGH


def at_once(x: Tensor, weight: Tensor) -> int:
    """How many images to transform at once, for the memory that it takes."""
    return max(1, LARGEST // (math.prod(x.shape[-2:]) * sum(weight.shape[:2])))


class Winograd(torch.autograd.Function):
    """x (networks, n, channels, height, width), weight (networks, out, channels, 3, 3)."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, padding: Pair) -> tuple[Tensor, Tensor]:
        """Returns (networks, n, out, height, width), and V for the gradient."""
        tiles = _to_tiles(turned(x), padding)
        m = torch.bmm(_rows(tiles), _to_places(weight)).view(*tiles.shape[:-1], -1)
        return turned(_from_tiles(m, _sides(x, padding))), tiles

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        """Keep V: it takes little more memory than x."""
        x, weight, ctx.padding = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(x, weight, output[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, Tensor | None, None]:  # type: ignore[override]
        """Gradients of inputs and weights."""
        x, weight, tiles = ctx.saved_tensors
        needed = ctx.needs_input_grad
        if torch.is_grad_enabled():  # gradients of gradients: the steps below write in place
            return *gradients(x, weight, gradient, (1, 1), ctx.padding, needed), None
        to_x = to_weight = None
        m = _from_tiles_back(turned(gradient))
        if needed[0]:
            to_tiles = torch.bmm(_rows(m), _to_places(weight).mT).view(*m.shape[:-1], -1)
            to_x = turned(_to_tiles_back(to_tiles, x.shape[-2:], ctx.padding))
        if needed[1]:
            to_weight = _to_places_back(torch.bmm(_rows(tiles).mT, _rows(m)))
        return to_x, to_weight, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], x: Tensor, weight: Tensor, padding: Pair
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        """A stack of networks: fold its axis into the first."""
        folded, inner = fold(info, in_dims, x, weight)
        y, tiles = Winograd.apply(*folded, padding)  # type: ignore[no-untyped-call]
        shape = (info.batch_size, inner)
        return (y.unflatten(0, shape), tiles.unflatten(2, shape)), (0, 2)


def _sides(x: Tensor, padding: Pair) -> Pair:
    """Height and width of the output of images (…, height, width)."""
    return x.shape[-2] + 2 * padding[0] - 2, x.shape[-1] + 2 * padding[1] - 2


def _counts(sides: Pair) -> Pair:
    """How many tiles lie below and beside each other."""
    return math.ceil(sides[0] / OUT), math.ceil(sides[1] / OUT)


def _rows(tiles: Tensor) -> Tensor:
    """Transformed tiles (6, 6, networks, down, across, n, channels) as matrices, tiles × channels."""
    return tiles.flatten(0, 2).flatten(1, -2)


# --- transforms, each with its transpose ---------------------------------------------------------


def _to_places(weight: Tensor) -> Tensor:
    """U = G g Gᵀ, (6 · 6 · networks, channels, out)."""
    _, out, channels = weight.shape[:3]
    columns = weight.permute(4, 3, 0, 2, 1).reshape(9, -1)
    return (BOTH.to(weight.dtype) @ columns).view(-1, channels, out)


def _to_places_back(places: Tensor) -> Tensor:
    """Gᵀ U G, (networks, out, channels, 3, 3)."""
    _, channels, out = places.shape
    columns = BOTH.mT.to(places.dtype) @ places.view(IN * IN, -1)
    return columns.view(3, 3, -1, channels, out).permute(2, 4, 3, 1, 0).contiguous()


def _to_tiles(x: Tensor, padding: Pair) -> Tensor:
    """V = Bᵀ d B of images (networks, height, width, n, channels)."""
    networks, height, width, n, channels = x.shape
    down, across = _counts((height + 2 * padding[0] - 2, width + 2 * padding[1] - 2))
    image = x.new_zeros(networks, OUT * (down + 1), OUT * (across + 1), n, channels)
    image[:, padding[0] : padding[0] + height, padding[1] : padding[1] + width] = x
    rows = x.new_empty(IN, networks, down, OUT * (across + 1), n, channels)
    _apply(INPUT, [image[:, k : k + OUT * down : OUT] for k in range(IN)], rows.unbind())
    tiles = x.new_empty(IN, IN, networks, down, across, n, channels)
    _apply(INPUT, [rows[:, :, :, k : k + OUT * across : OUT] for k in range(IN)], tiles.unbind())
    return tiles


def _to_tiles_back(tiles: Tensor, sides: Sequence[int], padding: Pair) -> Tensor:
    """B V Bᵀ, added where tiles overlap: images (networks, *sides, n, channels)."""
    _, _, networks, down, across, n, channels = tiles.shape
    rows = tiles.new_empty(IN, networks, down, OUT * (across + 1), n, channels)
    rows[:, :, :, OUT * across :] = 0
    _apply(INPUT_BACK, tiles.unbind(), [rows[:, :, :, k : k + OUT * across : OUT] for k in range(IN)])
    image = tiles.new_empty(networks, OUT * (down + 1), OUT * (across + 1), n, channels)
    image[:, OUT * down :] = 0
    _apply(INPUT_BACK, rows.unbind(), [image[:, k : k + OUT * down : OUT] for k in range(IN)])
    return image[:, padding[0] : padding[0] + sides[0], padding[1] : padding[1] + sides[1]]


def _from_tiles(m: Tensor, sides: Pair) -> Tensor:
    """y = Aᵀ m A, images (networks, *sides, n, out)."""
    _, _, networks, down, across, n, out = m.shape
    columns = m.new_empty(OUT, *m.shape[1:])
    _apply(OUTPUT, m.unbind(), columns.unbind())
    y = m.new_empty(networks, down, OUT, across, OUT, n, out)
    _apply(OUTPUT, columns.unbind(1), y.permute(2, 4, 0, 1, 3, 5, 6).unbind())
    return y.view(networks, OUT * down, OUT * across, n, out)[:, : sides[0], : sides[1]]


def _from_tiles_back(y: Tensor) -> Tensor:
    """A y Aᵀ of images (networks, height, width, n, out)."""
    networks, height, width, n, out = y.shape
    down, across = _counts((height, width))
    if height % OUT or width % OUT:
        y = F.pad(y, (0, 0, 0, 0, 0, OUT * across - width, 0, OUT * down - height))
    y = y.reshape(networks, down, OUT, across, OUT, n, out)
    columns = y.new_empty(OUT, IN, networks, down, across, n, out)
    _apply(OUTPUT_BACK, y.permute(2, 4, 0, 1, 3, 5, 6).unbind(), columns.unbind(1))
    m = y.new_empty(IN, *columns.shape[1:])
    _apply(OUTPUT_BACK, columns.unbind(), m.unbind())
    return m


# --- steps ---------------------------------------------------------------------------------------


def _transposed(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(tuple(zip(*step)) for step in reversed(steps))


INPUT_BACK, OUTPUT_BACK = _transposed(INPUT), _transposed(OUTPUT)


def _apply(steps: tuple[Step, ...], parts: Sequence[Tensor], outs: Sequence[Tensor]) -> None:
    """Write what the steps make of some parts of an axis to other parts of it.

    Rows 4 and 5 of a tile of inputs are rows 0 and 1 of the next: what they get back is added.
    """
    for step in steps[:-1]:
        parts = [_sum(row, parts) for row in step]
    for k, (row, out) in enumerate(zip(steps[-1], outs)):
        if steps is INPUT_BACK and k >= OUT:
            out.add_(_sum(row, parts))
        else:
            _sum(row, parts, out)


def _sum(row: Sequence[float], parts: Sequence[Tensor], out: Tensor | None = None) -> Tensor:
    """Σ factor · part, beginning with a factor of 1 where there is one."""
    terms = [(factor, part) for factor, part in zip(row, parts) if factor]
    (factor, total), *rest = sorted(terms, key=lambda term: term[0] != 1)
    if factor != 1 or (out is not None and not rest):
        total = torch.mul(total, factor, out=out)
    for factor, part in rest:
        total = torch.add(total, part, alpha=factor, out=out)
    return total
