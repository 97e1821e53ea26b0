"""Spectrum: kernel eigenvalues λ_k and the target's power λ_k w_k² in each mode.

It goes into every linear theory and simulation; it is made from exponents, or measured on a real network.

The theories need sums over modes of two kinds, Σ_k f(λ_k) and Σ_k λ_k w_k² f(λ_k), with functions f that are
smooth in log λ. `Spectrum.nodes` replaces them by sums over a few hundred weighted nodes: within a panel of
neighbouring modes the *discrete* measure Σ_k δ(λ − λ_k) has its own Gauss quadrature, positive and exact for
polynomials, so that nothing is lost at the ends of a panel as it would be with an integral in place of the
sum. The cost of a theory then no longer depends on the number of modes: 10⁹ of a power law are 600 nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.special import stdtrit

from scalinglab.errors import BadInput, nearest
from scalinglab.estimate import Estimate

if TYPE_CHECKING:
    from scalinglab.spectrum.measured import MeasuredSpectrum

ORDER = 20  # Gauss nodes a panel: 1e-12 for functions with poles 0.3 rad away from the spectrum
PANEL = 2.0  # ratio of the eigenvalues at the two ends of a panel
KEPT = 256  # spectra of up to so many modes are not compressed
STRETCHES = 6  # of a tail whose slopes are compared
MOST_MODES = 50_000_000  # arrays longer than this are refused


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


@dataclass(frozen=True)
class TailExponent(Estimate):
    """The exponent of a tail k^-value over the modes of `window`, with its interval."""

    window: tuple[int, int] = (0, 0)


class Spectrum:
    """Eigenvalues and target power, one entry a mode.

    Args:
        eigenvalues: λ_k > 0, shape (n_modes,).
        target_power: λ_k w_k² ≥ 0, shape (n_modes,); its sum is the loss of the zero predictor.
    """

    def __init__(self, eigenvalues: np.ndarray, target_power: np.ndarray) -> None:
        values, power = np.array(eigenvalues, float), np.array(target_power, float)
        if values.ndim != 1 or values.shape != power.shape or not values.size:
            raise BadInput(
                f"eigenvalues {values.shape} and target_power {power.shape} "
                "must be one-dimensional, of equal length and not empty"
            )
        _check(
            values, values > 0, "eigenvalues", "positive; drop the others and add their power to the noise"
        )
        _check(power, power >= 0, "target_power", "zero or more")
        values.flags.writeable = power.flags.writeable = False
        self._eigenvalues, self._target_power = values, power

    @property
    def eigenvalues(self) -> np.ndarray:
        """λ_k, shape (n_modes,)."""
        return self._eigenvalues

    @property
    def target_power(self) -> np.ndarray:
        """λ_k w_k², shape (n_modes,)."""
        return self._target_power

    @property
    def n_modes(self) -> int:
        """The number of modes."""
        return len(self.eigenvalues)

    def mode(self, k: int) -> tuple[float, float]:
        """λ_k and λ_k w_k² of one mode; k counts from 1 as in the papers."""
        index = self._index(k)
        return float(self.eigenvalues[index]), float(self.target_power[index])

    def _index(self, k: int) -> int:
        if not 1 <= k <= self.n_modes:
            raise BadInput(f"mode k = {k}: k runs from 1 to n_modes = {self.n_modes}")
        return int(k) - 1

    def cumulative_power(self, k: int | np.ndarray) -> np.ndarray:
        """C(k), the share of the target's power in the first k modes (bordelon2024, section 6).

        Modes are in the order given, which for measured spectra is that of falling eigenvalues.
        """
        return self._power_up_to(self._counts(k)) / self.total_power

    def _power_up_to(self, k: np.ndarray) -> np.ndarray:
        return np.append(0.0, np.cumsum(self.target_power))[k]

    def _counts(self, k: int | np.ndarray) -> np.ndarray:
        counts = np.asarray(k)
        if not ((counts >= 0) & (counts <= self.n_modes) & (counts == np.floor(counts))).all():
            raise BadInput(f"k = {k} must be whole numbers from 0 to n_modes = {self.n_modes}")
        return counts.astype(int)

    def tail_exponent(
        self, of: str = "eigenvalues", window: tuple[int, int] | None = None, level: float = 0.95
    ) -> TailExponent:
        """The exponent of a power-law tail, with an interval: b of λ_k ~ k^-b, or a of λ_k w_k² ~ k^-a.

        The window is cut into stretches of equal length in log k; each has its own slope, the exponent is
        their mean and the interval is Student's: it says how well one exponent describes the window. The
        task exponent is read off the sums 1 − C(k) ~ k^-(a−1), which do not suffer from modes without power.

        Args:
            of: "eigenvalues" or "target_power".
            window: first and last mode, both included; default: from 1 % to 10 % of the modes.
            level: of the interval.
        """
        if of not in ("eigenvalues", "target_power"):
            raise BadInput(f"no tail of {of!r}; {nearest(of, ('eigenvalues', 'target_power'))}")
        first, last = window or (max(2, self.n_modes // 100), max(self.n_modes // 10, 2))
        if not 1 <= first < last <= self.n_modes or last < first + STRETCHES:
            raise BadInput(
                f"window ({first}, {last}) must hold at least {STRETCHES + 1} of the {self.n_modes} modes"
            )
        k = np.arange(first, last + 1)
        if of == "eigenvalues":
            values, shift = np.sort(self.eigenvalues)[::-1][first - 1 : last], 0.0
        else:
            values, shift = self.total_power - self._power_up_to(k), 1.0
        slopes = _local_slopes(np.log(k), np.log(np.maximum(values, np.finfo(float).tiny)))
        stderr = float(slopes.std(ddof=1) / len(slopes) ** 0.5)
        half = float(stdtrit(len(slopes) - 1, (1 + level) / 2)) * stderr
        value = shift - float(slopes.mean())
        return TailExponent(value, stderr, value - half, value + half, (first, last))

    @cached_property
    def total_power(self) -> float:
        """Σ_k λ_k w_k², the loss of the zero predictor."""
        return math.fsum(self.nodes().power)

    @cached_property
    def trace(self) -> float:
        """Σ_k λ_k."""
        return math.fsum(self.nodes().count * self.nodes().eigenvalues)

    def nodes(self, order: int = ORDER) -> Nodes:
        """The spectrum compressed to a few hundred weighted nodes; spectra of up to 256 modes keep every one.

        Args:
            order: Gauss nodes a panel; more than the default only for functions with poles nearer to the
                spectrum than 0.3 rad, or for fast oscillating ones.
        """
        if order not in self._compressed:
            self._compressed[order] = self._compress(order)
        return self._compressed[order]

    @cached_property
    def _compressed(self) -> dict[int, Nodes]:
        return {}

    def _compress(self, order: int) -> Nodes:
        return _compress(self.eigenvalues, self.target_power, order)

    def __repr__(self) -> str:
        return f"Spectrum(n_modes={self.n_modes}, total_power={self.total_power:.6g}, trace={self.trace:.6g})"

    @staticmethod
    def power_law(
        task_exponent: float = 1.5, spectral_exponent: float = 1.25, n_modes: int = 10_000
    ) -> PowerLaw:
        """λ_k = k^-b and λ_k w_k² = k^-a, a the task, b the spectral exponent (bordelon2024).

        Nothing of length `n_modes` is built until `eigenvalues` or `target_power` is asked for.

        >>> Spectrum.power_law(1.5, 1.25, n_modes=10**9)
        PowerLaw(task_exponent=1.5, spectral_exponent=1.25, n_modes=1000000000)
        """
        return PowerLaw(task_exponent, spectral_exponent, n_modes)

    @staticmethod
    def white(n_modes: int, eigenvalue: float = 1.0, target_power: float = 1.0) -> Spectrum:
        """The same eigenvalue and the same target power in every mode."""
        return Spectrum(np.full(n_modes, float(eigenvalue)), np.full(n_modes, float(target_power)))

    @staticmethod
    def from_kernel(matrix: np.ndarray, targets: np.ndarray) -> MeasuredSpectrum:
        """The spectrum of a measured kernel matrix, and of the targets in its eigenvectors.

        With K(X, X)/n = Σ λ_k u_k u_kᵀ over n inputs, the target power of a mode is (u_k·y)²/n, summed over
        outputs, so that all modes together hold the mean of y². Eigenvalues below the round-off of the
        largest carry no information: their modes are dropped and their power with them (`total_power`
        against `mean_square` shows how much; add it to the noise).

        Args:
            matrix: K(x_i, x_j), symmetric, shape (n, n).
            targets: y, shape (n,) or (n, outputs).

        Returns:
            Modes in the order of falling eigenvalues. Theories take them for up to n/4 examples;
            `completed()` continues them by tails for more, `tail_exponent` gives exponents with intervals.
        """
        from scalinglab.spectrum.measured import MeasuredSpectrum

        return MeasuredSpectrum.of(matrix, targets)

    def trusted(self, n_data: float) -> None:
        """Raise where the spectrum says nothing about so many examples; measured ones do."""


class PowerLaw(Spectrum):
    """λ_k = k^-b and λ_k w_k² = k^-a for k = 1 … n_modes, made by `Spectrum.power_law`."""

    def __init__(self, task_exponent: float, spectral_exponent: float, n_modes: int) -> None:
        for name, value in (("task_exponent", task_exponent), ("spectral_exponent", spectral_exponent)):
            if not (math.isfinite(value) and value > 0):
                raise BadInput(f"{name} = {value} must be a positive number")
        if not (math.isfinite(n_modes) and n_modes >= 1 and n_modes == int(n_modes)):
            raise BadInput(f"n_modes = {n_modes} must be a whole number, 1 or more")
        if max(task_exponent, spectral_exponent) * math.log10(n_modes) > 300:
            raise BadInput(f"n_modes = {n_modes}: the last eigenvalue is below 1e-300; take fewer modes")
        self.task_exponent, self.spectral_exponent = float(task_exponent), float(spectral_exponent)
        self._n_modes = int(n_modes)

    @property
    def n_modes(self) -> int:
        """The number of modes."""
        return self._n_modes

    @cached_property
    def _modes(self) -> np.ndarray:
        if self._n_modes > MOST_MODES:
            raise BadInput(
                f"n_modes = {self._n_modes}: arrays of more than {MOST_MODES} modes are not built; "
                "use nodes(), as the theories do, or fewer modes"
            )
        return np.arange(1, self._n_modes + 1, dtype=float)

    @cached_property
    def eigenvalues(self) -> np.ndarray:  # type: ignore[override]
        """λ_k = k^-b, built on first use."""
        return self._modes**-self.spectral_exponent

    @cached_property
    def target_power(self) -> np.ndarray:  # type: ignore[override]
        """λ_k w_k² = k^-a, built on first use."""
        return self._modes**-self.task_exponent

    def mode(self, k: int) -> tuple[float, float]:
        """λ_k and λ_k w_k² of one mode; k counts from 1 as in the papers."""
        number = float(self._index(k) + 1)
        return number**-self.spectral_exponent, number**-self.task_exponent

    def _power_up_to(self, k: np.ndarray) -> np.ndarray:
        def partial_sum(count: int) -> float:
            return PowerLaw(self.task_exponent, self.spectral_exponent, count).total_power if count else 0.0

        return np.vectorize(partial_sum, otypes=[float])(k)

    def tail_exponent(
        self, of: str = "eigenvalues", window: tuple[int, int] | None = None, level: float = 0.95
    ) -> TailExponent:
        """The exponent it was made with, exact."""
        if of not in ("eigenvalues", "target_power"):
            raise BadInput(f"no tail of {of!r}; {nearest(of, ('eigenvalues', 'target_power'))}")
        value = self.spectral_exponent if of == "eigenvalues" else self.task_exponent
        return TailExponent(value, 0.0, value, value, window or (1, self.n_modes))

    def _compress(self, order: int) -> Nodes:
        k, count = (np.concatenate(parts) for parts in zip(*self._panels(order)))
        return Nodes(k**-self.spectral_exponent, count, count * k**-self.task_exponent)

    def _panels(self, order: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        if self._n_modes <= KEPT:
            order = KEPT
        ratio = PANEL ** (1 / max(1.0, self.spectral_exponent))  # PANEL in λ, and in k for flat spectra
        first = 1
        while first <= self._n_modes:
            last = min(max(math.ceil(first * ratio) - 1, first), self._n_modes)
            k, count = uniform_gauss(last - first + 1, order)
            yield first + k, count
            first = last + 1

    def __repr__(self) -> str:
        return (
            f"PowerLaw(task_exponent={self.task_exponent:g}, "
            f"spectral_exponent={self.spectral_exponent:g}, n_modes={self._n_modes})"
        )


def _local_slopes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Slopes of y over x on stretches of equal length in x, by least squares weighted evenly in x."""
    edges = np.linspace(x[0], x[-1], STRETCHES + 1)
    grid = np.linspace(edges[:-1], edges[1:], 20)  # (20, stretches): evenly in x, whatever the points
    fine = np.interp(grid, x, y)
    centred = grid - grid.mean(0)
    return np.sum(centred * fine, 0) / np.sum(centred**2, 0)


def _check(values: np.ndarray, holds: np.ndarray, name: str, rule: str) -> None:
    wrong = np.flatnonzero(~(holds & np.isfinite(values)))
    if wrong.size:
        raise BadInput(
            f"{name}[{wrong[0]}] = {values[wrong[0]]} ({wrong.size} such): {name} must be finite and {rule}"
        )


def uniform_gauss(size: int, order: int = ORDER) -> tuple[np.ndarray, np.ndarray]:
    """Gauss quadrature of Σ_{j=0}^{size−1} δ(x − j): nodes and weights (Gram's discrete polynomials)."""
    if size <= order:
        return np.arange(size, dtype=float), np.ones(size)
    j = np.arange(1, order, dtype=float)
    off_diagonal = j * np.sqrt((1 - (j / size) ** 2) / (4 * (4 * j**2 - 1)))  # in units of `size`
    x, vectors = eigh_tridiagonal(np.zeros(order), off_diagonal)
    return (size - 1) / 2 + size * x, size * vectors[0] ** 2


def _compress(values: np.ndarray, power: np.ndarray, order: int) -> Nodes:
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
