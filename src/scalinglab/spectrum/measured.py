"""The spectrum of a kernel matrix on n inputs, and what it says about the whole population.

A sample of n inputs resolves the modes k ≪ n. The rest of the spectrum shows in two numbers that are found by
leaving one input out, with μ_k the eigenvalues of K/n (bahri2021 eq. S12):

    κ/n = 1 / mean(1/μ_k), which solves n = Σ_k λ_k/(λ_k + κ/n),
    loss = mean_i ([K⁻¹y]_i / [K⁻¹]_ii)², the test loss of kernel interpolation with n examples.

To first order in k/n, where λ_k ~ k^-b, sampled eigenvalues and powers are

    μ_k = λ_k (1 − (k/n) (π/b) cot(π/b)),    (u_k·y)²/n = λ_k w_k² + loss/n.

`MeasuredSpectrum.completed` takes the resolved modes and continues them by two power laws, whose exponents
are those that give this κ and this loss. So theory on it is right for few examples and for n of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, lru_cache

import numpy as np
from scipy.optimize import brentq

from scalinglab.errors import BadInput
from scalinglab.spectrum.base import (
    MOST_MODES,
    Nodes,
    Spectrum,
    TailExponent,
    _compress,
    uniform_gauss,
)

TRUSTED = 4  # a spectrum of n inputs is good for n/4 examples
RESOLVED = 8  # n inputs resolve n/8 modes well enough for corrections of first order in k/n
LAST_MODE = 10**12  # of a completed tail
TAIL_ORDER = 10  # Gauss nodes in a panel of the tail
TAIL = (1.002, 20.0)  # exponents that tails may have


class MeasuredSpectrum(Spectrum):
    """Eigenvalues and power of a kernel matrix on n inputs, made by `Spectrum.from_kernel`.

    Attributes:
        n_samples: n, the inputs it was measured on.
        unresolved_eigenvalue: κ/n, what modes that the sample does not resolve add to each eigenvalue.
        left_out_loss: of kernel interpolation of every input from all others, summed over outputs.
        mean_square: of the targets, with the power of dropped modes.
    """

    def __init__(
        self, eigenvalues: np.ndarray, target_power: np.ndarray, n_samples: int,
        unresolved_eigenvalue: float, left_out_loss: float, mean_square: float,
    ) -> None:  # fmt: skip
        super().__init__(eigenvalues, target_power)
        self.n_samples, self.mean_square = n_samples, mean_square
        self.unresolved_eigenvalue, self.left_out_loss = unresolved_eigenvalue, left_out_loss

    @staticmethod
    def of(matrix: np.ndarray, targets: np.ndarray) -> MeasuredSpectrum:
        """See `Spectrum.from_kernel`."""
        kernel, y = np.asarray(matrix, float), np.asarray(targets, float)
        if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or len(y) != len(kernel):
            raise BadInput(f"kernel matrix {kernel.shape} and targets {y.shape} must be (n, n) and (n, ...)")
        if not np.allclose(kernel, kernel.T, rtol=1e-6, atol=1e-9 * np.abs(kernel).max()):
            raise BadInput("the kernel matrix is not symmetric; give (K + K.T)/2 if that is meant")
        n = len(kernel)
        y = y.reshape(n, -1)
        values, vectors = np.linalg.eigh(kernel / n)
        coefficients = vectors.T @ y
        power = np.sum(coefficients**2, axis=1) / n
        kept = np.flatnonzero(values > n * np.finfo(float).eps * values[-1])[::-1]
        unresolved, loss = 0.0, 0.0
        if len(kept) == n:  # else the sample resolves every mode of the kernel
            unresolved = n / float(np.sum(1 / values))
            diagonal = vectors**2 @ (1 / values)
            loss = float(np.mean(np.sum((vectors @ (coefficients / values[:, None])) ** 2, 1) / diagonal**2))
        return MeasuredSpectrum(
            values[kept], power[kept], n, unresolved, loss, float(np.mean(np.sum(y**2, 1)))
        )

    def trusted(self, n_data: float) -> None:
        """Raise for more examples than the sample tells about: n/4."""
        if math.isfinite(n_data) and n_data > self.n_samples / TRUSTED:
            raise BadInput(
                f"n_data = {n_data:g}: a kernel on {self.n_samples} inputs is good for up to "
                f"{self.n_samples // TRUSTED} examples; measure it on {math.ceil(TRUSTED * n_data)} inputs, "
                "or continue its tails by spectrum.completed()"
            )

    def population(self) -> tuple[np.ndarray, np.ndarray]:
        """λ_k and λ_k w_k² of the population for the first n/8 modes; the latter may be below zero."""
        n = self.n_samples
        if not self.unresolved_eigenvalue:
            return self.eigenvalues, self.target_power
        count = max(1, n // RESOLVED)
        k = np.arange(1, count + 1)
        values = self.eigenvalues[:count]
        for _ in range(3):  # the exponent is that of the corrected values
            values = self.eigenvalues[:count] / (1 + k / n * _repulsion(_local_exponent(values)))
        return values, self.target_power[:count] - self.left_out_loss / n

    def completed(self) -> Spectrum:
        """The population's spectrum: resolved modes, and power-law tails that hold the rest.

        A kernel that the sample resolves entirely (of rank below n) is returned as it is.
        """
        if not self.unresolved_eigenvalue:
            return Spectrum(self.eigenvalues, self.target_power)
        values, power = self.population()
        kappa, n = self.unresolved_eigenvalue, self.n_samples
        power_left = max(self.mean_square - float(np.maximum(power, 0.0).sum()), 0.0)

        def tail(spectral: float, task: float) -> CompletedSpectrum:
            return CompletedSpectrum(values, np.maximum(power, 0.0), spectral, task, power_left)

        def excess_modes(spectral: float) -> float:
            nodes = tail(spectral, 2.0).nodes()
            return float(nodes.count @ (nodes.eigenvalues / (nodes.eigenvalues + kappa))) - n

        spectral = _root(excess_modes, *TAIL)

        def excess_loss(task: float) -> float:
            nodes = tail(spectral, task).nodes()
            kept = kappa / (nodes.eigenvalues + kappa)
            return float(nodes.power @ kept**2 / (1 - nodes.count @ (1 - kept) ** 2 / n)) - self.left_out_loss

        return tail(spectral, _root(excess_loss, *TAIL))

    def tail_exponent(
        self, of: str = "eigenvalues", window: tuple[int, int] | None = None, level: float = 0.95
    ) -> TailExponent:
        """Exponents b or a of the population's modes, see `Spectrum.tail_exponent`.

        What unresolved modes add is taken off first; the default window is from 1 % to 10 % of the inputs,
        within the modes that are resolved, n/8.
        """
        values, power = self.population()
        n = self.n_samples
        if window is None:
            window = (max(2, n // 100), min(max(n // 10, 2), len(values)))
        if window[1] > len(values):
            raise BadInput(f"window {window}: {n} inputs resolve {len(values)} modes; measure more inputs")
        rest = max(self.mean_square - float(power.sum()), 0.0)
        powers = np.append(power, rest)  # the sums 1 − C(k) need what is beyond the last mode
        clean = _Unchecked(np.append(values, values[-1]), powers)
        return clean.tail_exponent(of, window, level)

    def summary(self) -> str:
        """Sizes and exponents in words."""
        lines = [
            f"kernel on {self.n_samples} inputs: {len(self.population()[0])} modes resolved, left-out loss "
            f"{self.left_out_loss / self.mean_square:.3g} of the target's power"
        ]
        for name, of in (("b, λ_k ~ k^-b", "eigenvalues"), ("a, λ_k w_k² ~ k^-a", "target_power")):
            try:
                found = self.tail_exponent(of)
            except BadInput as error:
                lines.append(f"{name}: {error}")
                continue
            lines.append(
                f"{name}: {found.value:.3g} ({found.low:.3g} to {found.high:.3g}) over modes "
                f"{found.window[0]} to {found.window[1]}"
            )
        return "\n".join(lines)


class _Unchecked(Spectrum):
    """Modes whose power may be slightly negative, as estimates are."""

    def __init__(self, eigenvalues: np.ndarray, target_power: np.ndarray) -> None:
        self._eigenvalues, self._target_power = eigenvalues, target_power

    @cached_property
    def total_power(self) -> float:
        """The sum of all powers."""
        return float(self._target_power.sum())


class CompletedSpectrum(Spectrum):
    """Resolved modes 1 … m and tails λ_k ~ k^-b and λ_k w_k² ~ k^-a beyond, to mode 10¹².

    Args:
        eigenvalues, target_power: of the resolved modes.
        spectral_exponent, task_exponent: b and a of the tails; the first continues the last modes.
        power_left: Σ_{k>m} λ_k w_k².
    """

    def __init__(
        self, eigenvalues: np.ndarray, target_power: np.ndarray, spectral_exponent: float,
        task_exponent: float, power_left: float,
    ) -> None:  # fmt: skip
        super().__init__(eigenvalues, target_power)
        self.resolved, self.power_left = len(eigenvalues), power_left
        self.spectral_exponent, self.task_exponent = spectral_exponent, task_exponent

    @property
    def n_modes(self) -> int:
        """The number of modes, resolved and in the tail."""
        return LAST_MODE

    @property
    def eigenvalues(self) -> np.ndarray:
        """Not built: the tail is too long."""
        raise BadInput(f"a completed spectrum has more than {MOST_MODES} modes; use nodes(), or mode(k)")

    @property
    def target_power(self) -> np.ndarray:
        """Not built: the tail is too long."""
        return self.eigenvalues

    def mode(self, k: int) -> tuple[float, float]:
        """λ_k and λ_k w_k² of one mode; k counts from 1 as in the papers."""
        index = self._index(k)
        if index < self.resolved:
            return float(self._eigenvalues[index]), float(self._target_power[index])
        value, power = self._tail(np.array([float(k)]))
        return float(value[0]), float(power[0])

    @cached_property
    def _level(self) -> float:
        """λ_k at the last resolved mode, read off the last half of them."""
        values = self._eigenvalues[self.resolved // 2 :]
        k = np.arange(self.resolved - len(values) + 1, self.resolved + 1)
        if len(k) <= 2:
            return float(values[-1])
        return math.exp(np.polyfit(np.log(k / self.resolved), np.log(values), 1)[1])

    def _tail(self, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """λ_k and λ_k w_k² beyond the resolved modes; the sum of the latter is an integral from m + 1/2."""
        start, a = self.resolved + 0.5, self.task_exponent
        value = self._level * (k / self.resolved) ** -self.spectral_exponent
        return value, self.power_left * (a - 1) / start * (k / start) ** -a

    def _power_up_to(self, k: np.ndarray) -> np.ndarray:
        head = np.append(0.0, np.cumsum(self._target_power))
        start = self.resolved + 0.5
        beyond = self.power_left * (1 - (np.maximum(k + 0.5, start) / start) ** (1 - self.task_exponent))
        return head[np.minimum(k, self.resolved)] + beyond

    def tail_exponent(
        self, of: str = "eigenvalues", window: tuple[int, int] | None = None, level: float = 0.95
    ) -> TailExponent:
        """The exponent that the tail was given; that of the measured spectrum has an interval."""
        value = self.spectral_exponent if of == "eigenvalues" else self.task_exponent
        return TailExponent(value, math.nan, math.nan, math.nan, (self.resolved + 1, LAST_MODE))

    def _compress(self, order: int) -> Nodes:
        head = _compress(self._eigenvalues, self._target_power, order)
        k, count = _tail_modes(self.resolved + 1)
        value, power = self._tail(k)
        held = power * count
        held[-1] += max(self.power_left - float(held.sum()), 0.0)  # never learnt by any number of examples
        shown = value > value[0] * np.finfo(float).tiny ** 0.5
        held[shown.nonzero()[0][-1]] += held[~shown].sum()
        parts = zip((head.eigenvalues, head.count, head.power), (value, count, held))
        return Nodes(*(np.append(one, two[shown]) for one, two in parts))

    def __repr__(self) -> str:
        return (
            f"CompletedSpectrum(resolved={self.resolved}, spectral_exponent={self.spectral_exponent:.4g}, "
            f"task_exponent={self.task_exponent:.4g}, total_power={self.total_power:.6g})"
        )


@lru_cache(maxsize=16)
def _tail_modes(first: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss quadrature of the modes of a tail from `first` on: nodes k and how many each stands for."""
    parts = []
    while first <= LAST_MODE:
        last = min(max(math.ceil(first * 1.5) - 1, first), LAST_MODE)
        k, count = uniform_gauss(last - first + 1, TAIL_ORDER)
        parts.append((first + k, count))
        first = last + 1
    return tuple(np.concatenate(column) for column in zip(*parts))  # type: ignore[return-value]


def _repulsion(exponent: float) -> float:
    """−(π/b) cot(π/b): the sum of 1/(u^b − 1) over the other modes, u = j/k."""
    return -math.pi / exponent / math.tan(math.pi / exponent)


def _local_exponent(values: np.ndarray) -> float:
    """b of λ_k ~ k^-b over the last decade or so of the resolved modes."""
    k = np.arange(1, len(values) + 1)
    late = k >= len(k) / 8
    if late.sum() < 3:
        return 2.0
    slope = np.polyfit(np.log(k[late]), np.log(values[late]), 1, w=1 / np.sqrt(k[late]))[0]
    return float(np.clip(-slope, 1.1, 8.0))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling or rising function vanishes; the nearer end where it does not."""
    ends = [function(low), function(high)]
    if ends[0] * ends[1] > 0:
        return (low, high)[int(np.argmin(np.abs(ends)))]
    return 1 + math.exp(
        brentq(lambda x: function(1 + math.exp(x)), math.log(low - 1), math.log(high - 1), xtol=1e-6)
    )
