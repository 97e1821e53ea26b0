"""Spectral norms by Lanczos iteration on AᵀA, for a stack of operators of one form at once.

The iteration advances in blocks of a few steps. Nothing inside a block depends on what was found, so a GPU
runs it without waiting for the host, and can replay the first one as a captured graph. Between two blocks the
host looks at the small tridiagonal matrices (`Ritz`). Their largest eigenvalue θ is a lower bound of ‖A‖².

After a random start there is a proven upper bound as well (van Dorsselaer, Hochstenbach and van der Vorst
2000). The Lanczos vectors are v_{j+1} = p_j(AᵀA) v_1, with polynomials p_j whose recurrence has the entries
of the tridiagonal matrix as coefficients. With u the top eigenvector, ‖A‖² = λ and γ = ⟨u, v_1⟩,

    γ² Σ_j p_j(λ)² = Σ_j ⟨u, v_{j+1}⟩² ≤ 1,

and the p_j grow beyond θ: if |γ| ≥ δ, then λ is below the x at which Σ_j p_j(x)² = 1/δ². A random unit vector
in n dimensions has |γ| < δ with probability at most δ √(2n/π), which is `FAILURE`.

After a warm start nothing is known of γ. A residual r then shows that an eigenvalue of AᵀA lies within r of
θ, and within r²/(θ − λ₂), with λ₂ the next eigenvalue (Kato and Temple), for which the next Ritz value plus
its residual stands: an estimate, for that eigenvalue need not be the largest.
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
from scalinglab.support.roots import bisect
from scalinglab.support.validation import checked

Floats = NDArray[np.float64]

FIRST = 12  # steps before the first look: fewer could not find a singular vector that has overtaken the start
LOOK = 4  # steps between two later looks
MAX_STEPS = 400  # guard: a spectrum without a gap would go on without end
_SMALL = 48  # up to this smaller side a dense matrix is diagonalised instead of iterated on
_MIXED = 0.1  # the random part of a warm start
FAILURE = 1e-4  # probability, over random starts, that a proven bound does not hold


@dataclass(frozen=True)
class Spectral:
    """Largest singular values, their singular vectors and error bounds.

    Attributes:
        norm: ‖A‖_σ, shape (replicas,), float64 on the CPU. A lower bound to rounding; NaN where weights are
            not finite.
        vector: Singular vectors, (replicas, inputs), or outputs where a dense layer has fewer of those: the
            warm start of the next call (empty where the matrix was diagonalised).
        error: Relative error of `norm`, (replicas,), on the CPU: ‖A‖_σ ≤ (1 + error) · norm.
        products: Applications of A and of Aᵀ that were needed (0 where the matrix was diagonalised).
        proven: Whether `error` is a bound, which fails with probability `FAILURE` over the random start;
            after a warm start it is an estimate, the distance to *a* singular value.
    """

    norm: Tensor
    vector: Tensor
    error: Tensor
    products: int
    proven: bool


@checked
def spectral_norm(
    weight: Tensor,
    geometry: ConvGeometry | None = None,
    start: Tensor | None = None,
    tolerance: float = 1e-4,
    max_steps: int = MAX_STEPS,
) -> Spectral:
    """‖A‖_σ for each replica, by Lanczos iteration on AᵀA with full reorthogonalisation.

    From a random start it stops when the proven bound on its relative error is `tolerance`. A warm start
    takes less: it stops when the residual ‖AᵀA v − σ² v‖ and the gap to the next singular value put a
    singular value within `tolerance`. That this is the largest one is likely, not proven: the start is mixed
    with a random direction and takes at least `FIRST` steps, to find a singular vector that has overtaken it.

    Args:
        weight: (replicas, out, in) for dense layers, (replicas, out, in / groups, height, width) for
            convolutions.
        geometry: How the kernel is applied; None for dense layers.
        start: `Spectral.vector` of an earlier, nearby weight.
        tolerance: Relative error at which it stops.
        max_steps: Lanczos steps before `NotConverged` is raised.
    """
    weight = weight.detach()
    if weight.dtype not in (torch.float32, torch.float64):
        weight = weight.float()
    if is_small(weight.shape[1:], geometry):
        norm = torch.from_numpy(root_of_gram(gram(weight).cpu().numpy()))
        return Spectral(norm, weight.new_empty(len(weight), 0), torch.zeros_like(norm), 0, True)
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
        norm, error = torch.from_numpy(ritz.norm), torch.from_numpy(ritz.tightened(krylov.entries))
        vectors = ritz_vectors([(ritz, krylov)], coefficients)[0]
        return Spectral(norm, vectors, error, krylov.steps, ritz.proven)


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
        basis: (stack, steps + 1, inputs).
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
    basis[:, : done + 1] = krylov.basis
    entries: list[Tensor] = []
    for step in range(done + 1, done + steps + 1):
        known = basis[:, :step]
        image, inner, length = _step(weight, krylov.geometry, known, known[:, -1])
        entries += [inner[:, -1], length]
        torch.div(image, length.clamp_min(torch.finfo(weight.dtype).tiny)[:, None], out=basis[:, step])
    found = torch.stack(entries, 1).view(stack, steps, 2)
    found = torch.cat([krylov.entries, found], 1) if done else found
    return replace(krylov, basis=basis, entries=found)


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

    What is found for one operator does not depend on how long the others in the stack take.

    Attributes:
        norm, error, proven: As in `Spectral`; the first two of shape (stack,).
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
        self.proven = not warm
        self.exact = np.zeros(stack, dtype=bool)

    def needs_proof(self, steps: int) -> bool:
        """Whether the error is to be proven after so many steps; a basis of everything proves itself."""
        return self.proven and steps < self.size

    def tightened(self, entries: Tensor) -> Floats:
        """The error, (stack,), as small as the matrices prove it where so far it is the tolerance."""
        if not self.needs_proof(self.steps):
            return self.error
        matrices = entries.double().cpu().numpy()
        top = top_ritz(matrices)[0]  # by now larger than when the norm was exact enough
        upper = np.sqrt(top) * (1 + proven_error(matrices, top, self.size, self.tolerance))
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(self.norm > 0, upper / self.norm - 1, 0.0)
        return np.fmin(self.error, least)

    @property
    def next_block(self) -> int:
        """Steps to take before the next look."""
        return min(LOOK if self.steps else FIRST, self.limit - self.steps)

    def take(
        self, entries: Floats, top: Floats, vector: Floats, error: Floats, growth: Floats | None
    ) -> bool:
        """The tridiagonal matrices, what `top_ritz` gives now, and `log_growth` at the tolerance.

        Returns:
            Whether all are exact enough.
        """
        going = ~self.exact
        whole = vector.shape[1] == self.size  # the basis spans everything
        if growth is not None:
            if vector.shape[1] < self.limit:
                empty = ~(top > 0)  # nothing to bound: no weights, or diverged ones
                reached = growth >= wanted_growth(self.size)
                error = np.where(empty, 0.0, np.where(reached, self.tolerance, math.inf))
            else:
                error = proven_error(entries, top, self.size, max(self.tolerance, 1.0))
        self.norm = np.where(going, np.sqrt(top), self.norm)
        self.error = np.where(going, error, self.error)
        kept = np.zeros_like(vector)
        kept[:, : self.steps] = self.coefficients
        self.coefficients = np.where(going[:, None], vector, kept)
        self.steps = vector.shape[1]
        self.exact |= going & (error <= self.tolerance)
        if self.exact.all() or whole:
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
        matrices = np.concatenate([entries[k] for k in places])
        top, vector, error = top_ritz(matrices)
        proving = any(stacks[k].needs_proof(steps) for k in places)
        most = np.concatenate([np.full(len(entries[k]), 1 + stacks[k].tolerance) for k in places])
        growth = log_growth(matrices, top * most**2) if proving else None
        start = 0
        for k in places:
            part = slice(start, start + len(entries[k]))
            grown = growth[part] if growth is not None and stacks[k].needs_proof(steps) else None
            found[k] = stacks[k].take(entries[k], top[part], vector[part], error[part], grown)
            start = part.stop
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


def proven_error(entries: Floats, top: Floats, size: int, tolerance: float) -> Floats:
    """Relative error of √top that is proven after a random start in `size` dimensions, (stack,).

    Where it is below `tolerance` it is found by bisection; inf where it is not.
    """
    wanted = wanted_growth(size)
    finite = np.isfinite(entries).all((1, 2))
    error = np.where(finite & (top > 0), math.inf, 0.0)  # nothing to bound: no weights, or diverged ones
    chosen = np.flatnonzero(error)
    chosen = chosen[log_growth(entries[chosen], top[chosen] * (1 + tolerance) ** 2) >= wanted]
    low, high = np.full(len(chosen), math.log(1e-16)), np.full(len(chosen), math.log(tolerance))
    if len(chosen):
        _, high = bisect(
            lambda e: log_growth(entries[chosen], top[chosen] * (1 + np.exp(e)) ** 2) >= wanted,
            low, high, rounds=12,  # 37 / 2¹²: to one percent
        )  # fmt: skip
    error[chosen] = np.exp(high)
    return error


def wanted_growth(size: int) -> float:
    """ln 1/δ, for a random start in `size` dimensions: what `log_growth` has to reach."""
    return math.log(1 / (FAILURE * math.sqrt(math.pi / (2 * size))))


def log_growth(entries: Floats, at: Floats) -> Floats:
    """½ ln Σ_j p_j(x)² of the polynomials of tridiagonal matrices (stack, steps, 2), at x (stack,)."""
    diagonal, between = entries[:, :, 0], np.maximum(entries[:, :, 1], 1e-300)
    before, now = np.zeros_like(at), np.ones_like(at)
    total, exponent = np.ones_like(at), np.zeros_like(at)
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(entries.shape[1]):
            linked = between[:, step - 1] * before if step else 0.0
            before, now = now, ((at - diagonal[:, step]) * now - linked) / between[:, step]
            total = total + now**2
            scale = np.maximum(abs(now), 1.0)
            before, now, total = before / scale, now / scale, total / scale**2
            exponent += np.log(scale)
        grown = exponent + 0.5 * np.log(total)
    return np.where(np.isnan(grown), math.inf, grown)  # an invariant space: the last one divides by zero


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
