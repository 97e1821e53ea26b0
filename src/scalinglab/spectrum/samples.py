"""Modes of the population from a sample of n inputs: corrections and the slopes of tails.

A sample of n inputs resolves the modes k ≪ n. The rest of the spectrum shows in two numbers that are found by
leaving one input out, with μ_k the eigenvalues of K/n (bahri2021 eq. S12):

    κ/n = 1 / mean(1/μ_k), which solves n = Σ_k λ_k/(λ_k + κ/n),
    loss = mean_i ([K⁻¹y]_i / [K⁻¹]_ii)², the test loss of kernel interpolation with n examples.

A sample's modes are mixtures of the population's. To first order in 1/n, with p_k = λ_k w_k², the mean
eigenvalues and the power beyond mode k, R_k = Σ_{j>k} p_j, are those of perturbation theory,

    μ_k = λ_k (1 + (1/n) Σ_{j≠k} λ_j/(λ_k − λ_j)),
    sampled R_k = R_k − (1/n) Σ_{i≤k<j} (λ_i² p_j − λ_j² p_i)/(λ_i − λ_j)²,

and where λ_k ~ k^-b and p_k ~ k^-a,

    μ_k = λ_k (1 − (k/n) (π/b) cot(π/b)),    sampled R_k = R_k (1 − (k/n) g(a, b)).

`MeasuredSpectrum.completed` takes the resolved modes and continues them by two power laws, whose exponents
are those that give this κ and this loss. So theory on it is right for few examples and for n of them.

The sampling errors of a kernel's exponents come from random halves of its inputs. A mean over n/2 of n inputs
has the variance (2/n − 1/n) σ² = σ²/n about the mean over all of them, which is that of the mean over n
inputs about the population. So an exponent is read on random halves, over the same modes, and their standard
deviation is its standard error. Two simpler ways give intervals that are too wide:

- Slopes of neighbouring stretches share the mode between them: where one is too steep the next is too flat,
  so that their mean varies less than that of independent slopes.
- Leaving out one input at a time treats eigenvalues as independent. Eigenvalues of a sample repel each other,
  which shows only in samples that differ as much as halves do.

A half is diagonalised in the n/4 largest modes of the whole sample, which hold every mode that n inputs
resolve; that is 1/64 of the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from scalinglab.errors import BadInput
from scalinglab.results.distributions import Estimate

Eigh = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

STRETCHES = 6  # of a tail whose slopes are compared
FEATURES = 4  # n inputs keep features of n/4 modes, those that are resolved among them
RESOLVED = 8  # n inputs resolve n/8 modes well enough for corrections of first order in k/n


@dataclass(frozen=True)
class TailExponent(Estimate):
    """The exponent of a tail k^-value over the modes of `window`, with its interval."""

    window: tuple[int, int] = (0, 0)


def local_slopes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Slopes of y over x on stretches of equal length in x, by least squares weighted evenly in x."""
    edges = np.linspace(x[0], x[-1], STRETCHES + 1)
    grid = np.linspace(edges[:-1], edges[1:], 20)  # (20, stretches): evenly in x, whatever the points
    fine = np.interp(grid, x, y)
    centred = grid - grid.mean(0)
    return np.sum(centred * fine, 0) / np.sum(centred**2, 0)


def slopes_exponent(k: np.ndarray, values: np.ndarray, shift: float, level: float) -> TailExponent:
    """The exponent of values ~ k^-(exponent − shift): mean of `local_slopes`, with Student's interval."""
    slopes = local_slopes(np.log(k), np.log(np.maximum(values, np.finfo(float).tiny)))
    stderr = float(slopes.std(ddof=1) / len(slopes) ** 0.5)
    found = Estimate.from_stderr(shift - float(slopes.mean()), stderr, len(slopes) - 1, level)
    return TailExponent(found.value, found.stderr, found.low, found.high, (int(k[0]), int(k[-1])))


def repulsion(exponent: float) -> float:
    """−(π/b) cot(π/b): the sum of 1/(u^b − 1) over the other modes, u = j/k."""
    return -math.pi / exponent / math.tan(math.pi / exponent)


def leakage(task: float, spectral: float) -> float:
    """g(a, b), n/k times the share of the power beyond mode k that n inputs show in the first k modes.

    The double sum over modes i = s k and j = t k is an integral, of which that over s at t = u s is done:

        g = (a − 1) ∫_1^∞ (u^(2b−a) − 1) (1 − u^(a−2)) / ((2 − a) (u^b − 1)²) du.
    """
    a, b = task, spectral

    def integrand(x: float) -> float:  # x = ln u, so that both ends are smooth
        if x < 1e-5:
            return (2 * b - a) / b**2
        near_two = abs(a - 2) < 1e-9
        over_s = x * math.exp(-x) if near_two else (math.exp(-x) - math.exp((1 - a) * x)) / (a - 2)
        return -math.expm1((a - 2 * b) * x) * over_s / math.expm1(-b * x) ** 2

    return (a - 1) * float(quad(integrand, 0, 60 / min(a - 1, 1.0), limit=200)[0])


def _late_exponent(values: np.ndarray, default: float) -> float:
    """The exponent of values ~ k^-exponent over the last decade or so of the resolved modes."""
    k = np.arange(1, len(values) + 1)
    late = k >= len(k) / 8
    if late.sum() < 3:
        return default
    return -float(np.polyfit(np.log(k[late]), np.log(values[late]), 1, w=1 / np.sqrt(k[late]))[0])


def local_exponent(values: np.ndarray) -> float:
    """b of λ_k ~ k^-b over the last decade or so of the resolved modes."""
    return float(np.clip(_late_exponent(values, 2.0), 1.1, 8.0))


def unresolved_eigenvalue(sampled: np.ndarray) -> float:
    """κ/n, which the modes that n inputs do not resolve add to each of the n eigenvalues of K/n."""
    return len(sampled) / float(np.sum(1 / sampled))


def population_eigenvalues(sampled: np.ndarray, n: int) -> np.ndarray:
    """λ_k of the population for the first n/8 modes, from the eigenvalues μ_k of K/n on n inputs, falling."""
    count = max(1, n // RESOLVED)
    k = np.arange(1, count + 1)
    values = np.asarray(sampled[:count], float)
    for _ in range(3):  # the exponent is that of the corrected values
        values = sampled[:count] / (1 + k / n * repulsion(local_exponent(values)))
    return values


def population_power(sampled: np.ndarray, mean_square: float, eigenvalues: np.ndarray, n: int) -> np.ndarray:
    """λ_k w_k² of the population for the first modes, of which single ones may be below zero.

    Args:
        sampled: (u_k·y)²/n on n inputs, (modes,).
        mean_square: of the targets.
        eigenvalues: λ_k of the population for the first n/8 modes.
    """
    if mean_square == 0:
        return np.zeros(len(eigenvalues))
    k, spectral = np.arange(1, len(eigenvalues) + 1), local_exponent(eigenvalues)
    shown = np.maximum(mean_square - np.cumsum(sampled[: len(k)]), np.finfo(float).eps * mean_square)
    beyond = shown
    for _ in range(3):  # the exponent is that of the corrected values
        task = float(np.clip(1 + _late_exponent(beyond, 0.5), 1.02, 2 * spectral))
        beyond = shown / (1 - k / n * leakage(task, spectral))
    return -np.diff(beyond, prepend=mean_square)


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """The zero of a monotone function; where it has none, the end at which it is smaller."""
    ends = [function(low), function(high)]
    if ends[0] * ends[1] > 0:
        return (low, high)[int(np.argmin(np.abs(ends)))]
    return 1 + math.exp(
        brentq(lambda x: function(1 + math.exp(x)), math.log(low - 1), math.log(high - 1), xtol=1e-6)
    )


def modes_of(
    matrix: np.ndarray, targets: np.ndarray, eigh: Eigh = np.linalg.eigh
) -> tuple[tuple[np.ndarray, np.ndarray, int, float, float, float], np.ndarray]:
    """Modes of a kernel matrix (n, n) and of targets (n, ...), the largest first; see `MeasuredSpectrum`.

    Returns:
        Eigenvalues of K/n above round-off, the power of the targets in each, n, the harmonic mean of the
        eigenvalues (κ/n of the unresolved modes), the mean leave-one-out loss, the mean square of the
        targets; the fourth and fifth are 0 where the sample resolves every mode. And features (n, up to n/4),
        whose products are the matrix in its largest modes.
    """
    kernel, y = np.asarray(matrix, float), np.asarray(targets, float)
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or len(y) != len(kernel):
        raise BadInput(f"kernel matrix {kernel.shape} and targets {y.shape} must be (n, n) and (n, ...)")
    if not np.allclose(kernel, kernel.T, rtol=1e-6, atol=1e-9 * np.abs(kernel).max()):
        raise BadInput("the kernel matrix is not symmetric; give (K + K.T)/2 if that is meant")
    n = len(kernel)
    y = y.reshape(n, -1)
    values, vectors = eigh(kernel / n)
    coefficients = vectors.T @ y
    power = np.sum(coefficients**2, axis=1) / n
    kept = np.flatnonzero(values > n * np.finfo(float).eps * values[-1])[::-1]
    unresolved, loss = 0.0, 0.0
    if len(kept) == n:  # else the sample resolves every mode of the kernel
        unresolved = unresolved_eigenvalue(values)
        diagonal = vectors**2 @ (1 / values)
        loss = float(np.mean(np.sum((vectors @ (coefficients / values[:, None])) ** 2, 1) / diagonal**2))
    large = kept[: n // FEATURES]
    features = vectors[:, large] * np.sqrt(n * values[large])
    return (values[kept], power[kept], n, unresolved, loss, float(np.mean(np.sum(y**2, 1)))), features


HALVES = 24  # draws of half of the inputs: a standard error is known to 15 % by so many


@dataclass(frozen=True, eq=False)
class Sample:
    """The inputs of a measured kernel in its largest modes.

    Attributes:
        features: (n, up to n/4), whose products are the kernel's matrix in these modes; n²/4 doubles are
            kept, 200 MB for 10,000 inputs.
        targets: (n, outputs).
        eigh: what diagonalises.
    """

    features: np.ndarray
    targets: np.ndarray
    eigh: Eigh = np.linalg.eigh

    @cached_property
    def halves(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues and powers (halves, modes), the largest first, and the targets' mean squares."""
        n, rng = len(self.features), np.random.default_rng(0)
        found = []
        for _ in range(HALVES):
            chosen = np.sort(rng.permutation(n)[: n // 2])
            x, y = self.features[chosen], self.targets[chosen]
            values, vectors = self.eigh(x.T @ x / len(x))
            values = np.maximum(values, values[-1] * n * np.finfo(float).eps)
            power = np.sum((vectors.T @ (x.T @ y)) ** 2, axis=1) / (values * len(x) ** 2)
            found.append((values[::-1], power[::-1], np.mean(np.sum(y**2, 1))))
        values, power, squares = (np.array(part) for part in zip(*found))
        return values, power, squares

    def exponents(self, of: str, window: tuple[int, int]) -> np.ndarray:
        """Exponents of a tail, one a half, of modes as they are: corrections shift all halves alike.

        Args:
            of: "eigenvalues" or "target_power".
            window: first and last mode.
        """
        values, power, squares = self.halves
        modes = slice(window[0] - 1, window[1])
        k = np.arange(window[0], window[1] + 1)
        if of == "eigenvalues":
            tails, shift = values[:, modes], 0.0
        else:
            tails, shift = squares[:, None] - np.cumsum(power, axis=1)[:, modes], 1.0
        logs = np.log(np.maximum(tails, np.finfo(float).tiny))
        return np.array([shift - local_slopes(np.log(k), one).mean() for one in logs])


def with_interval(found: TailExponent, on_halves: np.ndarray, level: float) -> TailExponent:
    """An exponent with Student's interval from those on random halves."""
    stderr = float(np.std(on_halves, ddof=1))
    known = Estimate.from_stderr(found.value, stderr, len(on_halves) - 1, level)
    return replace(found, stderr=stderr, low=known.low, high=known.high)
