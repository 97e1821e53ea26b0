"""Spectrum: kernel eigenvalues λ_k and the target's power λ_k w_k² in each mode.

It goes into every linear theory and simulation; it is made from exponents (`PowerLaw`), or measured on a real
network (`MeasuredSpectrum`, and `CompletedSpectrum` with tails for what its sample does not resolve).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from scalinglab.errors import BadInput, nearest
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.spectrum.nodes import (
    KEPT,
    LAST_MODE,
    ORDER,
    PANEL,
    TAIL_ORDER,
    TAIL_PANEL,
    Nodes,
    check,
    compress,
    panels_of_modes,
)
from scalinglab.spectrum.samples import (
    STRETCHES,
    Eigh,
    Sample,
    TailExponent,
    modes_of,
    population_eigenvalues,
    population_power,
    root,
    slopes_exponent,
    with_interval,
)

MOST_MODES = 50_000_000  # arrays longer than this are refused
TRUSTED = 4  # a spectrum of n inputs is good for n/4 examples
TAIL = (1.002, 20.0)  # exponents that tails may have


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
        check(values, values > 0, "eigenvalues", "positive; drop the others and add their power to the noise")
        check(power, power >= 0, "target_power", "zero or more")
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
        their mean and the interval is Student's: it measures how well one exponent describes the window. The
        task exponent is read off the sums 1 − C(k) ~ k^-(a−1), which do not suffer from modes without power.

        Args:
            of: "eigenvalues" or "target_power".
            window: first and last mode, both included; default: from 1 % to 10 % of the modes.
            level: of the interval.
        """
        _check_of(of)
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
        return slopes_exponent(k, values, shift, level)

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
        return compress(self.eigenvalues, self.target_power, order)

    @property
    def setting(self) -> dict[str, float]:
        """Columns of a table of curves that say which spectrum it is: the exponents of a power law."""
        return {}

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
    def from_kernel(matrix: np.ndarray, targets: np.ndarray, eigh: Eigh = np.linalg.eigh) -> MeasuredSpectrum:
        """The spectrum of a measured kernel matrix, and of the targets in its eigenvectors.

        With K(X, X)/n = Σ λ_k u_k u_kᵀ over n inputs, the target power of a mode is (u_k·y)²/n, summed over
        outputs, so that all modes together hold the mean of y². Eigenvalues below the round-off of the
        largest carry no information: their modes are dropped and their power with them (`total_power`
        against `mean_square` shows how much; add it to the noise).

        Args:
            matrix: K(x_i, x_j), symmetric, shape (n, n).
            targets: y, shape (n,) or (n, outputs).
            eigh: What diagonalises; `measure.eigh` uses a GPU where there is one.

        Returns:
            Modes in the order of falling eigenvalues. Theories take them for up to n/4 examples;
            `completed()` continues them by tails for more, `tail_exponent` gives exponents with intervals.
        """
        modes, features = modes_of(matrix, targets, eigh)
        y = np.asarray(targets, float).reshape(len(features), -1)
        return MeasuredSpectrum(*modes, Sample(features, y, eigh))

    def trusted(self, n_data: float) -> None:
        """Raise where the spectrum does not determine so many examples; measured ones do."""


def _check_of(of: str) -> None:
    """Raise where a spectrum has no tail of that name."""
    if of not in ("eigenvalues", "target_power"):
        raise BadInput(f"no tail of {of!r}; {nearest(of, ('eigenvalues', 'target_power'))}")


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
    def setting(self) -> dict[str, float]:
        return {"task_exponent": self.task_exponent, "spectral_exponent": self.spectral_exponent}

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
        _check_of(of)
        value = self.spectral_exponent if of == "eigenvalues" else self.task_exponent
        return TailExponent(value, 0.0, value, value, window or (1, self.n_modes))

    def _compress(self, order: int) -> Nodes:
        order = KEPT if self._n_modes <= KEPT else order
        ratio = PANEL ** (1 / max(1.0, self.spectral_exponent))  # PANEL in λ, and in k for flat spectra
        k, count = panels_of_modes(1, self._n_modes, ratio, order)
        return Nodes(k**-self.spectral_exponent, count, count * k**-self.task_exponent)

    def __repr__(self) -> str:
        return (
            f"PowerLaw(task_exponent={self.task_exponent:g}, "
            f"spectral_exponent={self.spectral_exponent:g}, n_modes={self._n_modes})"
        )


class MeasuredSpectrum(Worded, Spectrum):
    """Eigenvalues and power of a kernel matrix on n inputs, made by `Spectrum.from_kernel`.

    Attributes:
        n_samples: n, the inputs it was measured on.
        unresolved_eigenvalue: κ/n, what modes that the sample does not resolve add to each eigenvalue.
        left_out_loss: of kernel interpolation of every input from all others, summed over outputs.
        mean_square: of the targets, with the power of dropped modes.
        sample: the inputs in the largest modes, n²/4 doubles, whose halves give the exponents' intervals.
    """

    def __init__(
        self, eigenvalues: np.ndarray, target_power: np.ndarray, n_samples: int,
        unresolved_eigenvalue: float, left_out_loss: float, mean_square: float, sample: Sample,
    ) -> None:  # fmt: skip
        super().__init__(eigenvalues, target_power)
        self.sample = sample
        self.n_samples, self.mean_square = n_samples, mean_square
        self.unresolved_eigenvalue, self.left_out_loss = unresolved_eigenvalue, left_out_loss

    def trusted(self, n_data: float) -> None:
        """Raise for more examples than the sample determines: n/4."""
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
        values = population_eigenvalues(self.eigenvalues, n)
        return values, population_power(self.target_power, self.mean_square, values, n)

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

        spectral = root(excess_modes, *TAIL)

        def excess_loss(task: float) -> float:
            nodes = tail(spectral, task).nodes()
            kept = kappa / (nodes.eigenvalues + kappa)
            return float(nodes.power @ kept**2 / (1 - nodes.count @ (1 - kept) ** 2 / n)) - self.left_out_loss

        return tail(spectral, root(excess_loss, *TAIL))

    def tail_exponent(
        self, of: str = "eigenvalues", window: tuple[int, int] | None = None, level: float = 0.95
    ) -> TailExponent:
        """Exponents b or a of the population's modes, see `Spectrum.tail_exponent`.

        What unresolved modes add is taken off first; the default window is from 1 % to 10 % of the inputs,
        within the modes that are resolved, n/8. The interval is that of the sample: where the population's
        exponent over this window may be, by what it is on random halves of the inputs (see `halves`). Beyond
        mode n/4, which a kernel of finite rank may have, it is that of the slopes.
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
        found = clean.tail_exponent(of, window, level)
        if window[1] > self.sample.features.shape[1]:
            return found
        return with_interval(found, self.sample.exponents(of, window), level)

    @property
    def remarks(self) -> Iterator[Remark]:
        exponents = {"eigenvalues": Reason("tail_b"), "target_power": Reason("tail_a")}
        if self.mean_square == 0:
            del exponents["target_power"]
            predictable = Reason("targets_zero")
        else:
            predictable = Reason("predictable", left=self.left_out_loss / self.mean_square)
        modes = len(self.population()[0])
        yield Reason("kernel", inputs=self.n_samples, modes=modes, predictable=predictable)
        for of, name in exponents.items():
            try:
                found = self.tail_exponent(of)
            except BadInput as error:
                yield Reason("tail_refused", name=name, why=str(error))
                continue
            first, last = found.window
            yield Reason(
                "tail", name=name, value=found.value, low=found.low, high=found.high, first=first, last=last
            )


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
        _check_of(of)
        value = self.spectral_exponent if of == "eigenvalues" else self.task_exponent
        return TailExponent(value, math.nan, math.nan, math.nan, (self.resolved + 1, LAST_MODE))

    def _compress(self, order: int) -> Nodes:
        head = compress(self._eigenvalues, self._target_power, order)
        k, count = panels_of_modes(self.resolved + 1, LAST_MODE, TAIL_PANEL, TAIL_ORDER)
        value, power = self._tail(k)
        powers = power * count
        # never learnt by any number of examples
        powers[-1] += max(self.power_left - float(powers.sum()), 0.0)
        shown = value > value[0] * np.finfo(float).tiny ** 0.5
        powers[shown.nonzero()[0][-1]] += powers[~shown].sum()
        parts = zip((head.eigenvalues, head.count, head.power), (value, count, powers))
        return Nodes(*(np.append(one, two[shown]) for one, two in parts))

    def __repr__(self) -> str:
        return (
            f"CompletedSpectrum(resolved={self.resolved}, spectral_exponent={self.spectral_exponent:.4g}, "
            f"task_exponent={self.task_exponent:.4g}, total_power={self.total_power:.6g})"
        )
