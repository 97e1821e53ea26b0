"""Weighted nodes in place of the modes of a spectrum.

The theories need sums over modes of two kinds, Σ_k f(λ_k) and Σ_k λ_k w_k² f(λ_k), with functions f that are
smooth in log λ. `Spectrum.nodes` replaces them by sums over a few hundred weighted nodes: within a panel of
neighbouring modes the *discrete* measure Σ_k δ(λ − λ_k) has its own Gauss quadrature, positive and exact for
polynomials, so that nothing is lost at the ends of a panel as it would be with an integral in place of the
sum. The cost of a theory then no longer depends on the number of modes: 10⁹ of a power law are 600 nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import eigh_tridiagonal

from scalinglab.errors import BadInput

ORDER = 20  # Gauss nodes a panel: 1e-12 for functions with poles 0.3 rad away from the spectrum
PANEL = 2.0  # ratio of the eigenvalues at the two ends of a panel
KEPT = 256  # spectra of up to so many modes are not compressed
LAST_MODE = 10**12  # of a completed tail
TAIL_PANEL, TAIL_ORDER = (
    1.5,
    10,
)  # of the tail: ratio of the modes at the two ends of a panel, its Gauss nodes


@dataclass(frozen=True, eq=False)
class Nodes:
    """A spectrum compressed to weighted nodes.

    For f smooth in log λ, Σ_k f(λ_k) = Σ count·f(eigenvalues) and
    Σ_k λ_k w_k² f(λ_k) = Σ power·f(eigenvalues).

    Attributes:
        eigenvalues: λ > 0 of each node, shape (n_nodes,).
        count: how many modes the node stands for, ≥ 0.
        power: how much target power it stands for, ≥ 0.
    """

    eigenvalues: np.ndarray
    count: np.ndarray
    power: np.ndarray

    def __len__(self) -> int:
        return len(self.eigenvalues)


def check(values: np.ndarray, holds: np.ndarray, name: str, rule: str) -> None:
    """Raise where a value is not finite or does not hold to its rule."""
    wrong = np.flatnonzero(~(holds & np.isfinite(values)))
    if wrong.size:
        raise BadInput(
            f"{name}[{wrong[0]}] = {values[wrong[0]]} ({wrong.size} such): {name} must be finite and {rule}"
        )


def uniform_gauss(size: int, order: int = ORDER) -> tuple[np.ndarray, np.ndarray]:
    """Gauss quadrature of Σ_{j=0}^{size−1} δ(x − j): nodes and weights (Gram's discrete polynomials)."""
    if size <= order:
        return np.arange(size, dtype=float), np.ones(size)
    j, number = np.arange(1, order, dtype=float), float(size)  # NumPy 1 has no integers beyond 64 bits
    off_diagonal = j * np.sqrt((1 - (j / number) ** 2) / (4 * (4 * j**2 - 1)))  # in units of `size`
    x, vectors = eigh_tridiagonal(np.zeros(order), off_diagonal)
    return (size - 1) / 2 + number * x, number * vectors[0] ** 2


def compress(values: np.ndarray, power: np.ndarray, order: int) -> Nodes:
    """Nodes of any spectrum: in each panel of λ the Gauss quadrature of the modes and that of the power."""
    if len(values) <= KEPT:
        return Nodes(values, np.ones(len(values)), power)
    descending = np.argsort(values)[::-1]
    values, power = values[descending], power[descending]
    panel = np.floor(np.log(values[0] / values) / math.log(PANEL))
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for group in np.split(np.arange(len(values)), np.flatnonzero(np.diff(panel)) + 1):
        members, weight = values[group], power[group]
        if len(group) <= 2 * order:  # two quadratures would not be shorter
            parts.append((members, np.ones(len(group)), weight))
            continue
        modes, count = _gauss(members, np.ones(len(group)), order)
        parts.append((modes, count, np.zeros(len(modes))))
        if weight.any():
            modes, weight = _gauss(members, weight, order)
            parts.append((modes, np.zeros(len(modes)), weight))
    return Nodes(*(np.concatenate(column) for column in zip(*parts)))


@lru_cache(maxsize=16)
def panels_of_modes(first: int, last: int, ratio: float, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss quadrature of the modes first … last, in panels whose ends have this ratio.

    Returns:
        Nodes k and how many modes each stands for.
    """
    parts = []
    while first <= last:
        end = min(max(math.ceil(first * ratio) - 1, first), last)
        k, count = uniform_gauss(end - first + 1, order)
        parts.append((float(first) + k, count))  # NumPy 1 has no integers beyond 64 bits
        first = end + 1
    return tuple(np.concatenate(column) for column in zip(*parts))  # type: ignore[return-value]


def _gauss(x: np.ndarray, weight: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss quadrature of Σ_i weight_i δ(x − x_i) by Lanczos with full reorthogonalisation."""
    centre, half = (x[0] + x[-1]) / 2, abs(x[0] - x[-1]) / 2 or 1.0
    scaled, total = (x - centre) / half, float(weight.sum())
    basis = [np.sqrt(weight / total)]
    diagonal, off_diagonal = [], []
    while True:
        next_ = scaled * basis[-1]
        diagonal.append(float(next_ @ basis[-1]))
        known = np.array(basis)
        for _ in range(2):
            next_ = next_ - known.T @ (known @ next_)
        length = float(np.linalg.norm(next_))
        if len(basis) == order or length < 1e-13:  # the second: no more than len(basis) distinct values
            break
        off_diagonal.append(length)
        basis.append(next_ / length)
    nodes, vectors = eigh_tridiagonal(np.array(diagonal), np.array(off_diagonal))
    return centre + half * nodes, total * vectors[0] ** 2
