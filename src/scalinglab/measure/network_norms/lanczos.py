"""Spectral norms by Lanczos iteration on AᵀA, for a stack of operators of one form at once.

The iteration advances in blocks of a few steps. Nothing inside a block depends on what was found, so a GPU
runs it without waiting for the host, and can replay it as a captured graph (`extend`). Between two blocks the
host looks at the small tridiagonal matrices (`Ritz`): the largest eigenvalue θ of one belongs to a vector
with residual r, and an eigenvalue of AᵀA lies within r of θ, and within r²/(θ − λ) of it, with λ the next
eigenvalue (Kato and Temple), for which the next Ritz value plus its residual stands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from scalinglab.errors import BadInput, NotConverged
from scalinglab.measure.network_norms.operators import ConvGeometry, full_precision, normal_product

Floats = NDArray[np.float64]

FIRST = 12  # steps before the first look: fewer could not find a singular vector that has overtaken the start
LOOK = 4  # steps between two later looks
MAX_STEPS = 400
ROOM = 64  # steps that a captured iteration can take
_SMALL = 48  # up to this smaller side a dense matrix is diagonalised instead of iterated on
_MIXED = 0.1  # the random part of a warm start


@dataclass(frozen=True)
class Spectral:
    """Largest singular values, the vectors that show them and how exact they are.

    Attributes:
        norm: ‖A‖_σ, shape (replicas,), float64 on the CPU. A lower bound to rounding, exact within `error`;
            NaN where weights are not finite.
        vector: Singular vectors, (replicas, inputs), or outputs where a dense layer has fewer of those: the
            warm start of the next call (empty where the matrix was diagonalised).
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
    max_steps: int = MAX_STEPS,
) -> Spectral:
    """‖A‖_σ for each replica, by Lanczos iteration on AᵀA with full reorthogonalisation.

    It stops when the residual ‖AᵀA v − σ² v‖ and the gap to the next singular value bound the relative
    distance to a singular value by `tolerance`. That it is the largest one is not certain: after a random
    start the bound has to hold at two looks in a row, and a warm start is mixed with a random direction and
    takes at least `FIRST` steps, so that it finds another singular vector that has overtaken it.

    Args:
        weight: (replicas, out, in) for dense layers, (replicas, out, in / groups, height, width) for
            convolutions.
        geometry: How the kernel is applied; None for dense layers.
        start: `Spectral.vector` of an earlier, nearby weight.
        tolerance: Relative bound on the error.
        max_steps: Lanczos steps before `NotConverged` is raised.
    """
    weight = weight.detach()
    if weight.dtype not in (torch.float32, torch.float64):
        weight = weight.float()
    if is_small(weight.shape[1:], geometry):
        norm = torch.from_numpy(root_of_gram(gram(weight).cpu().numpy()))
        return Spectral(norm, weight.new_empty(len(weight), 0), torch.zeros_like(norm), 0)
    size = vector_size(weight.shape[1:], geometry)
    if start is not None:  # a start of another shape is none
        start = F.normalize(start, dim=1) if start.shape == (len(weight), size) else None
    with full_precision(weight.device):
        krylov = begin(weight, geometry, start)
        ritz = Ritz(len(weight), size, tolerance, start is not None, max_steps)
        while True:
            krylov = extend(krylov, ritz.next_block)
            if look([ritz], [krylov.entries.double().cpu().numpy()])[0]:
                break
        coefficients = flat_coefficients([ritz], weight.dtype).to(weight.device)
        norm, error = torch.from_numpy(ritz.norm), torch.from_numpy(ritz.error)
        return Spectral(norm, ritz_vectors([(ritz, krylov)], coefficients)[0], error, krylov.steps)


# --- small matrices --------------------------------------------------------------------------------------


def is_small(shape: Sequence[int], geometry: ConvGeometry | None) -> bool:
    """Whether a dense matrix of this shape is diagonalised instead of iterated on."""
    return geometry is None and min(shape) <= _SMALL


def gram(weight: Tensor) -> Tensor:
    """A Aᵀ or AᵀA, whichever is smaller, for each replica, float64."""
    double = weight.double()
    return double @ double.mT if weight.shape[1] <= weight.shape[2] else double.mT @ double


def root_of_gram(matrices: Floats) -> Floats:
    """‖A‖_σ from `gram`, NaN where it is not finite."""
    finite = np.asarray(np.isfinite(matrices).all((1, 2)))
    if not finite.all():
        matrices = np.where(finite[:, None, None], matrices, 0.0)
    values = np.linalg.eigvalsh(matrices)[:, -1]
    return np.where(finite, np.sqrt(np.maximum(values, 0.0)), math.nan)


# --- on the device: nothing here waits for it --------------------------------------------------------------


@dataclass(frozen=True)
class Krylov:
    """An orthonormal basis of a Krylov space of AᵀA, and AᵀA in it, for each operator of a stack.

    Attributes:
        weight, geometry: The operators.
        basis: (stack, steps + 1 or more, inputs); what follows the first steps + 1 does not count.
        entries: Diagonal and off-diagonal of the tridiagonal matrix, (stack, steps, 2); the last
            off-diagonal one is the length of what is left.
    """

    weight: Tensor
    geometry: ConvGeometry | None
    basis: Tensor
    entries: Tensor

    @property
    def steps(self) -> int:
        """Steps done."""
        return self.entries.shape[1]


def vector_size(shape: Sequence[int], geometry: ConvGeometry | None) -> int:
    """Length of the vectors that are iterated, for weights of this shape."""
    # the transpose of a matrix has the same norm, and shorter vectors if it is a long one
    return min(shape) if geometry is None else geometry.channels * math.prod(geometry.image)


def begin(weight: Tensor, geometry: ConvGeometry | None, start: Tensor | None) -> Krylov:
    """No step yet: random vectors, or near unit vectors `start` (stack, inputs); zeros are random vectors."""
    size = vector_size(weight.shape[1:], geometry)
    if geometry is not None:
        weight = weight.contiguous()
    elif weight.shape[2] > size:
        weight = weight.mT
    vector = _random(size, weight.dtype, weight.device).expand(len(weight), size)
    if start is not None:
        # a diverged replica leaves NaN
        start = torch.nan_to_num(start.to(weight.dtype), 0.0, 0.0, 0.0)
        vector = F.normalize(torch.add(start, vector, alpha=_MIXED), dim=1)
    return Krylov(weight, geometry, vector[:, None], weight.new_empty(len(weight), 0, 2))


@cache  # for good: captured graphs read it where it lies
def _random(size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    vector = torch.randn(size, generator=torch.Generator().manual_seed(0)).to(device, dtype)
    return vector / vector.norm()


def extend(krylov: Krylov, steps: int) -> Krylov:
    """So many Lanczos steps more."""
    weight, done = krylov.weight, krylov.steps
    stack, _, size = krylov.basis.shape
    basis = torch.empty(stack, done + steps + 1, size, dtype=weight.dtype, device=weight.device)
    basis[:, : done + 1] = krylov.basis[:, : done + 1]
    entries: list[Tensor] = []
    for step in range(done + 1, done + steps + 1):
        known = basis[:, :step]
        image, inner, length = _step(weight, krylov.geometry, known, known[:, -1])
        entries += [inner[:, -1], length]
        torch.div(image, length.clamp_min(torch.finfo(weight.dtype).tiny)[:, None], out=basis[:, step])
    found = torch.stack(entries, 1).view(stack, steps, 2)
    found = torch.cat([krylov.entries, found], 1) if done else found
    return replace(krylov, basis=basis, entries=found)


@dataclass(frozen=True)
class Space:
    """Room for `ROOM` steps that stays where it is, with zeros where no vector is yet.

    Every step in it is the same sequence of operations, wherever the iteration stands, so that one captured
    graph serves all blocks: a start from random vectors takes ten of them.

    Attributes:
        basis, entries: As those of `Krylov`, with `ROOM` steps.
        position: Of the last vector, (1,).
    """

    basis: Tensor
    entries: Tensor
    position: Tensor

    @staticmethod
    def like(krylov: Krylov) -> Space:
        """For a basis of this size."""
        stack, _, size = krylov.basis.shape
        basis = krylov.basis.new_zeros(stack, ROOM + 1, size)
        position = torch.zeros(1, dtype=torch.int64, device=basis.device)
        return Space(basis, basis.new_zeros(stack, ROOM, 2), position)

    def take(self, krylov: Krylov) -> None:
        """Put its steps here."""
        done = krylov.steps
        self.basis[:, : done + 1] = krylov.basis[:, : done + 1]
        self.basis[:, done + 1 :] = 0.0
        self.entries[:, :done] = krylov.entries
        self.position.fill_(done)


def extend_within(weight: Tensor, geometry: ConvGeometry | None, space: Space) -> None:
    """As `extend`, in place, by `LOOK` steps."""
    basis, position = space.basis, space.position
    places = position + torch.arange(LOOK, device=position.device)
    entries: list[Tensor] = []
    for _ in range(LOOK):
        image, inner, length = _step(weight, geometry, basis, basis.index_select(1, position)[:, 0])
        entries += [inner.index_select(1, position)[:, 0], length]
        position += 1
        image /= length.clamp_min(torch.finfo(weight.dtype).tiny)[:, None]
        basis.index_copy_(1, position, image[:, None])
    space.entries.index_copy_(1, places, torch.stack(entries, 1).view(len(basis), LOOK, 2))


def _step(
    weight: Tensor, geometry: ConvGeometry | None, known: Tensor, last: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """AᵀA on the last vector without what is known, its inner products with that, and the length left."""
    image = normal_product(weight, last, geometry)
    inner = _inner(known, image)
    image[:, None].baddbmm_(inner[:, None], known, alpha=-1)
    # twice is enough (Parlett), once is not: rounding would grow by diagonal / off-diagonal each step
    image[:, None].baddbmm_(_inner(known, image)[:, None], known, alpha=-1)
    return image, inner, torch.linalg.vector_norm(image, dim=1)


def _inner(known: Tensor, image: Tensor) -> Tensor:
    """Inner products of basis vectors (stack, steps, inputs) with a vector (stack, inputs)."""
    if known.device.type == "cpu":
        return (known @ image[:, :, None])[:, :, 0]
    return (known * image[:, None]).sum(2)  # a matrix product would leave such long sums to a few cores


# --- on the host -----------------------------------------------------------------------------------------


class Ritz:
    """The largest Ritz value of each operator of a stack, from the first look at which it is exact enough.

    After a random start it has to be so at two looks in a row. What is found for one operator does not
    depend on how long the others in the stack take.

    Attributes:
        norm, error: As in `Spectral`, (stack,).
        coefficients: Of the Ritz vectors in the basis, (stack, steps).

    Args:
        stack, size: Operators, and the length of their vectors.
        tolerance, max_steps: As in `spectral_norm`.
        warm: Whether the iteration began near singular vectors of earlier weights.
    """

    def __init__(
        self, stack: int, size: int, tolerance: float, warm: bool, max_steps: int = MAX_STEPS
    ) -> None:
        if not tolerance > 0:
            raise BadInput(f"tolerance = {tolerance}: give a positive relative tolerance, e.g. 1e-4")
        self.size, self.tolerance, self.limit, self.steps = size, tolerance, min(max_steps, size), 0
        self.norm, self.error = np.zeros(stack), np.full(stack, math.inf)
        self.coefficients = np.zeros((stack, 0))
        # A random start can stay with the second of two close singular values for a while, and look exact.
        self.wanted = 1 if warm else 2
        self.exact = np.zeros(stack, dtype=int)  # looks in a row at which it was exact enough

    @property
    def next_block(self) -> int:
        """Steps to take before the next look."""
        return min(LOOK if self.steps else FIRST, self.limit - self.steps)

    def take(self, top: Floats, vector: Floats, error: Floats) -> bool:
        """What `top_ritz` gives now; whether all are exact enough."""
        if self.steps == 0:  # the first look is mostly the last, and small networks are measured often
            self.norm, self.error, self.coefficients = np.sqrt(top), error, vector
        else:
            going = self.exact < self.wanted
            self.norm = np.where(going, np.sqrt(top), self.norm)
            self.error = np.where(going, error, self.error)
            kept = np.zeros_like(vector)
            kept[:, : self.steps] = self.coefficients
            self.coefficients = np.where(going[:, None], vector, kept)
        self.steps = vector.shape[1]
        self.exact = np.where((self.exact < self.wanted) & (error > self.tolerance), 0, self.exact + 1)
        if (self.exact >= self.wanted).all() or self.steps == self.size:
            return True
        if self.steps == self.limit:
            raise NotConverged(
                f"the spectral norm of a layer with {self.size} inputs is uncertain by "
                f"{self.error.max():.1e} after {self.limit} Lanczos steps: allow a larger tolerance "
                f"than {self.tolerance:g}, or more max_steps"
            )
        return False


def look(stacks: Sequence[Ritz], entries: Sequence[Floats]) -> list[bool]:
    """Let stacks take their `Krylov.entries` all together; whether each is exact enough."""
    found: dict[int, bool] = {}
    for steps in {e.shape[1] for e in entries}:  # all that go on have done as many, but for tiny layers
        places = [k for k, e in enumerate(entries) if e.shape[1] == steps]
        top, vector, error = top_ritz(np.concatenate([entries[k] for k in places]))
        start = 0
        for k in places:
            end = start + len(entries[k])
            found[k] = stacks[k].take(top[start:end], vector[start:end], error[start:end])
            start = end
    return [found[k] for k in range(len(entries))]


def top_ritz(entries: Floats) -> tuple[Floats, Floats, Floats]:
    """Largest eigenvalue of the tridiagonal matrices, its vector, and the relative error of its root."""
    finite = np.asarray(np.isfinite(entries).all((1, 2)))
    if not finite.all():
        entries = np.where(finite[:, None, None], entries, 0.0)
    diagonal, between = entries[:, :, 0], entries[:, :, 1]
    stack, steps = diagonal.shape
    matrix, place = np.zeros((stack, steps, steps)), np.arange(steps)
    matrix[:, place, place] = diagonal
    matrix[:, place[1:], place[:-1]] = between[:, :-1]  # the lower triangle is read
    values, vectors = np.linalg.eigh(matrix)
    top = np.maximum(values[:, -1], 0.0)
    residuals = between[:, -1:] * abs(vectors[:, -1])
    error = residuals[:, -1]
    if steps > 1:
        gap = top - values[:, -2] - residuals[:, -2]
        error = np.where(gap > error, error**2 / np.maximum(gap, 1e-300), error)
    # the relative error of σ is half that of σ²
    error = np.where(top > 0, 0.5 * error / np.maximum(top, 1e-300), 0.0)
    return np.where(finite, top, math.nan), vectors[..., -1], error


def ritz_vectors(found: Sequence[tuple[Ritz, Krylov]], coefficients: Tensor) -> list[Tensor]:
    """The Ritz vectors of each stack, (stack, inputs), from `flat_coefficients` on the device."""
    parts = torch.split_with_sizes(coefficients, [ritz.coefficients.size for ritz, _ in found])
    return [
        torch.bmm(part.view(-1, 1, ritz.steps).to(krylov.basis.dtype), krylov.basis[:, : ritz.steps])[:, 0]
        for part, (ritz, krylov) in zip(parts, found, strict=True)
    ]


def flat_coefficients(stacks: Sequence[Ritz], dtype: torch.dtype) -> Tensor:
    """All coefficients side by side, on the CPU: one copy brings them to the device."""
    return torch.from_numpy(np.concatenate([ritz.coefficients.ravel() for ritz in stacks])).to(dtype)
