"""Products of Jacobians: pieces of the parameters whose share of the kernel is computed at once.

A layer's share of the kernel is either the product of Jacobians that are written out, or, without them,

    Σ_st (δ_a(x, s) · δ_b(x', t)) (h(x, s) · h(x', t)),

whichever takes fewer operations: the second for dense layers and for convolutions at few positions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from scalinglab.measure.evaluation import jacobians
from scalinglab.measure.tangent_kernel.layers import Anatomy, Layer, layer_jacobian

TILE = 1 << 24  # numbers of an intermediate result, about
BLOCKS = 8  # of rows, where the kernel is symmetric and half of it is computed
ELEMENTWISE = 8  # operations of a product that one addition to the kernel takes as long as

Stored = tuple[Tensor, ...]


class Piece(Protocol):
    """Some of the parameters, and how their share of the kernel is computed."""

    @property
    def layer(self) -> Layer | None:
        """The layer whose factors are needed."""
        ...

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes, without examples, of the tensors that are stored for every example."""
        ...

    def add(self, gram: Tensor, stored: Stored) -> None:
        """Add the share of these parameters to the kernel, on and above its diagonal."""
        ...


def stored_numbers(piece: Piece) -> int:
    """Numbers stored for one example."""
    return sum(math.prod(shape) for shape in piece.shapes)


# --- Jacobians written out -----------------------------------------------------------------------------


class OneJacobian:
    """A piece of which one tensor is stored: the Jacobian."""

    def add(self, gram: Tensor, stored: Stored) -> None:
        """Add the products of Jacobians (n, directions, p), in double precision."""
        jacobian = stored[0].flatten(1)
        n = len(jacobian)
        size = max(1, TILE // (2 * n))
        for start in range(0, jacobian.shape[1], size):
            part = jacobian[:, start : start + size].double()
            for first, last in _cuts(n, -(-n // BLOCKS)):
                gram[first:last, first:].addmm_(part[first:last], part[first:].mT)


@dataclass(frozen=True)
class Written(OneJacobian):
    """The Jacobian by the weights of some outputs of a layer, (n, directions, channels · q)."""

    layer: Layer
    directions: int
    first: int
    last: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """One tensor."""
        return ((self.directions, (self.last - self.first) * self.layer.shape[1]),)

    def fill(self, stored: Stored, rows: slice, entered: Tensor, back: Tensor) -> None:
        """Compute the Jacobian of some examples."""
        for a in range(self.directions):
            stored[0][rows, a] = layer_jacobian(self.layer, entered, back[:, a], slice(self.first, self.last))


@dataclass(frozen=True)
class Bias(OneJacobian):
    """The Jacobian by a layer's bias, (n, directions, c)."""

    layer: Layer
    directions: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """One tensor."""
        return ((self.directions, self.layer.shape[0]),)

    def fill(self, stored: Stored, rows: slice, entered: Tensor, back: Tensor) -> None:
        """Compute the Jacobian of some examples."""
        for a in range(self.directions):
            stored[0][rows, a] = self.layer.bias_multiplier * self.layer.signals(back[:, a]).sum(1)


@dataclass(frozen=True)
class GenericJacobian(OneJacobian):
    """The Jacobian by entries of one parameter that belongs to no known layer, by `torch.func`."""

    name: str
    directions: int
    first: int
    last: int
    layer: None = None

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """One tensor."""
        return ((self.directions, self.last - self.first),)


def fill_generic(
    anatomy: Anatomy, pieces: list[tuple[GenericJacobian, Stored]], rows: slice, x: Tensor
) -> None:
    """Compute the Jacobian of some examples by all parameters that these pieces name."""
    wanted = {piece.name: anatomy.parameters[piece.name] for piece, _ in pieces}

    def outputs(some: dict[str, Tensor], one: Tensor) -> Tensor:
        return anatomy.directions @ anatomy.call({**anatomy.parameters, **some}, one[None])[0]

    found = jacobians(outputs, wanted, x)
    for piece, stored in pieces:
        stored[0][rows] = found[piece.name].flatten(2)[..., piece.first : piece.last]


# --- structured products ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Structured:
    """What enters a layer and what comes back to it, in place of its Jacobian."""

    layer: Layer
    directions: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The input as it enters, and δ."""
        channels, _, positions = self.layer.shape
        return (self.layer.input_shape, (self.directions, positions, channels))

    def fill(self, stored: Stored, rows: slice, entered: Tensor, back: Tensor) -> None:
        """Keep the factors of some examples."""
        stored[0][rows] = entered
        for a in range(self.directions):
            stored[1][rows, a] = self.layer.signals(back[:, a])

    def add(self, gram: Tensor, stored: Stored) -> None:
        """Add the share of these parameters to the kernel, in tiles of pairs of examples."""
        positions = self.layer.shape[2]
        size = max(1, math.isqrt(TILE) // positions)
        for first, last in _cuts(len(gram), size):
            patches, back = self._factors(stored, slice(first, last))
            for start, stop in _cuts(len(gram) - first, size):
                columns = slice(first + start, first + stop)
                others = self._factors(stored, columns)  # again for each tile: all of them would not fit
                product = (patches @ others[0].mT) * (back @ others[1].mT)
                pairs = product.view(last - first, positions, stop - start, positions)
                gram[first:last, columns] += pairs.sum((1, 3))

    def _factors(self, stored: Stored, rows: slice) -> tuple[Tensor, Tensor]:
        """Patches and δ of some examples, (examples · positions, inputs or directions · channels)."""
        back = stored[1][rows].transpose(1, 2).flatten(2)
        return self.layer.patches(stored[0][rows]).double().flatten(0, 1), back.double().flatten(0, 1)


# --- which of them ---------------------------------------------------------------------------------------


def pieces(anatomy: Anatomy, n: int, most: int) -> list[Piece]:
    """All parameters, in pieces that hold at most `most` numbers for n examples, where that can be."""
    directions = len(anatomy.directions)
    found: list[Piece] = []
    for layer in anatomy.layers:
        structured = Structured(layer, directions)
        if is_cheaper(layer, directions) and n * stored_numbers(structured) <= most:
            found.append(structured)
        else:
            rows = max(1, most // max(1, n * directions * layer.shape[1]))
            found += [Written(layer, directions, *cut) for cut in _cuts(layer.shape[0], rows)]
        if layer.bias is not None:
            found.append(Bias(layer, directions))
    for name in anatomy.other_parameters:
        columns = max(1, most // (n * directions))
        found += [
            GenericJacobian(name, directions, *cut)
            for cut in _cuts(anatomy.parameters[name].numel(), columns)
        ]
    return found


def is_cheaper(layer: Layer, directions: int) -> bool:
    """Whether the structured product takes fewer operations a pair of examples than written-out Jacobians."""
    channels, inputs, positions = layer.shape
    if layer.is_gain:
        return False
    structured = positions**2 * (inputs + directions * channels + ELEMENTWISE)
    return structured < directions * channels * inputs


def _cuts(total: int, size: int) -> Iterable[tuple[int, int]]:
    return ((start, min(start + size, total)) for start in range(0, total, size))


def passes(found: list[Piece], n: int, most: int) -> list[list[Piece]]:
    """Pieces that are computed in one pass over the examples: as many as memory allows."""
    groups: list[list[Piece]] = []
    free = 0
    for piece in found:
        size = n * stored_numbers(piece)
        if not groups or size > free:
            groups.append([])
            free = most
        groups[-1].append(piece)
        free -= size
    return groups
