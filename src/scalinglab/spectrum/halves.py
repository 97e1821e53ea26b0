"""Sampling errors of a kernel's exponents, from random halves of its inputs.

A mean over n/2 of n inputs has the variance (2/n − 1/n) σ² = σ²/n about the mean over all of them, which is
that of the mean over n inputs about the population. So an exponent is read on random halves, over the same
modes, and their standard deviation is its standard error. Two simpler ways give intervals that are too wide:

- Slopes of neighbouring stretches share the scatter of the mode between them: where one is too steep the next
  is too flat, so that their mean scatters less than independent slopes do.
- Leaving out one input at a time takes eigenvalues for independent. Those of a sample repel each other where
  they are nearer than their scatter, which shows only in samples that differ by as much as that scatter.

A half is diagonalised in the n/4 largest modes of the whole sample, which hold every mode that n inputs
resolve; that is 1/64 of the work.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtrit

from scalinglab.spectrum.samples import Eigh, TailExponent, local_slopes

HALVES = 24


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
    half = float(stdtrit(len(on_halves) - 1, (1 + level) / 2)) * stderr
    return TailExponent(found.value, stderr, found.value - half, found.value + half, found.window)
