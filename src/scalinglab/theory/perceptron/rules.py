r"""The classical learning rules of the teacher–student perceptron: Hebb, Gibbs, Bayes, maximal stability.

The horizontal lines of Fig. 1 of D'Amico et al. 2025 (see Engel and Van den Broeck 2001). At load α:

    Hebb                R = √(2α/(2α+π))
    Gibbs               R/√(1−R) = (α/π) ∫Dt exp(−Rt²/2)/H(√R t)
    Bayes               R_Bayes = √R_Gibbs
    maximal stability   the limit λ → ∞ of the fixed-norm saddle point, with the stability κ

and error = arccos(R)/π. For α → ∞ the errors fall as 0.399/√α, 0.625/α, 0.442/α and 0.500/α.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from scalinglab.errors import NotConverged
from scalinglab.support.validation import checked
from scalinglab.theory.perceptron.checks import load_array
from scalinglab.theory.perceptron.solution import fixed_norm

# trapezoidal nodes: spectrally accurate for these integrands, which are analytic and decay as a Gaussian
FIELD = np.arange(-48, 49) * 0.2
LOG_BELL = -0.5 * FIELD**2 + np.log(0.2 / np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class LearningRule:
    """Generalization of a learning rule.

    Attributes:
        load: examples per weight.
        overlap: cosine R of the angle between student and teacher.
        error: generalization error, arccos(R)/π.
        stability: the smallest margin over the norm, for maximal stability; None for the others.
    """

    load: np.ndarray
    overlap: np.ndarray
    error: np.ndarray
    stability: np.ndarray | None = None


def _from_tangent(load: np.ndarray, tangent: np.ndarray) -> LearningRule:
    return LearningRule(load, 1 / np.sqrt(1 + tangent**2), np.arctan(tangent) / np.pi)


@checked
def hebb(load: Any) -> LearningRule:
    """Hebb's rule, w ∝ Σ y x: the limit λ → 0.

    >>> round(float(hebb(5.0).error), 6)
    0.162614
    """
    loads = load_array(load)
    return _from_tangent(loads, np.sqrt(np.pi / (2 * loads)))


@checked
def bayes(load: Any) -> LearningRule:
    """The Bayes-optimal student, the centre of mass of the version space: no rule has a smaller error.

    >>> round(float(bayes(5.0).error), 6)
    0.083935
    """
    loads = load_array(load)
    return _from_tangent(loads, _bayes_tangent(loads))


@checked
def gibbs(load: Any) -> LearningRule:
    """A student drawn at random from those that make no training error.

    >>> round(float(gibbs(5.0).error), 6)
    0.118006
    """
    loads = load_array(load)
    tangent = _bayes_tangent(loads)  # R = cos² of the Bayes angle, so 1 − R² = sin²(1 + cos²)
    return _from_tangent(loads, tangent * np.sqrt(2 + tangent**2))


@checked
def max_stability(load: Any) -> LearningRule:
    """The student of largest margin, where gradient descent on the logistic loss ends: the limit λ → ∞.

    >>> found = max_stability(5.0)
    >>> round(float(found.error), 6), round(float(found.stability), 6)
    (0.093827, 0.19671)
    """
    found = fixed_norm(load, np.inf)
    return LearningRule(found.load, found.overlap, found.error, found.stability)


def _bayes_tangent(loads: np.ndarray) -> np.ndarray:
    """tan of the Bayes angle, 1/tan² = R/(1−R) with R of Gibbs: Newton's method for its logarithm."""
    log_tan = 0.5 * np.log(1 + np.pi / (2 * loads)) - 0.5 * np.log1p(loads)
    for _ in range(50):
        square = np.exp(2 * log_tan)
        overlap = 1 / (1 + square)
        kernel, by_overlap = _gibbs_kernel(overlap)
        residual = -log_tan - 0.5 * np.log1p(square) - np.log(loads / np.pi * kernel)
        slope = -1 - square * overlap + 2 * overlap**2 * square * by_overlap / kernel
        step = np.clip(-residual / slope, -2, 2)
        log_tan = log_tan + step
        if np.all(np.abs(step) < 1e-9):
            return np.exp(log_tan)
    raise NotConverged("the Gibbs equation was not solved in 50 Newton steps")


def _gibbs_kernel(overlap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """∫Dt exp(−Rt²/2)/H(√R t) and its derivative by R."""
    r = np.asarray(overlap)[..., None]
    u = np.sqrt(r) * FIELD
    log_tail = log_ndtr(-u)
    terms = np.exp(LOG_BELL - 0.5 * u**2 - log_tail)
    mills = np.exp(-0.5 * u**2 - log_tail) / np.sqrt(2 * np.pi)
    by_overlap = terms * (-0.5 * FIELD**2 + 0.5 * FIELD * mills / np.sqrt(r))
    return terms.sum(axis=-1), by_overlap.sum(axis=-1)
