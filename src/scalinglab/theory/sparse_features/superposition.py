r"""Superposition: n sparse features in m dimensions (Liu, Liu, Gore 2025, arXiv 2505.10465).

Feature i is active with probability p_i and then has a value u, uniform on [0, 2]. The model is
y = ReLU(Wᵀ W x + b), its loss Σ_i E (y_i − x_i)².

- Weak superposition: the m most frequent features have a dimension each, the others are answered by their
  mean. The loss is Σ_{i>m} (p_i ⟨u²⟩ − p_i² ⟨u⟩²) ~ m^−(α−1) for p_i ~ i^-α: it depends on the frequencies.
- Strong superposition: all features have random unit vectors, whose overlaps have variance 1/m. The others
  add to y_i a Gaussian number of variance V/m, V = Σ_j x_j² over what is active, and b_i is the best bias:

      L = Σ_i min_b [ p_i E (ReLU(u + b + ξ) − u)² + (1 − p_i) E ReLU(b + ξ)² ],   ξ ~ N(0, V/m).

  All of it scales with the variance once the interference is smaller than u: L ~ 1/m for any frequencies.

The solvable form of the model is ours: vectors are random and not trained, as training makes overlaps of the
same order, 1/m.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from scalinglab.errors import BadInput
from scalinglab.support.validation import checked
from scalinglab.theory.sparse_features.frequencies import probabilities

__all__ = ["strong", "weak"]

MEAN, SECOND = 1.0, 4 / 3  # of a value that is uniform on [0, 2]
VALUES = np.polynomial.legendre.leggauss(24)
RARE = 0.01  # frequencies below are counted together
SAMPLE = 2**15  # draws of what is active at once, in BODY and TAIL parts
BODY, TAIL = 20, 16  # few are active often, and the largest sums decide: the tail is cut finer
BIASES = np.linspace(0.0, 7.0, 71)  # −b in units of the interference
LEVELS = 30  # frequencies at which the loss of a feature is computed; between them ln L is interpolated


@checked
def weak(frequencies: np.ndarray, dimension: int) -> float:
    """The loss where the most frequent features have a dimension each."""
    given = np.sort(probabilities(frequencies))[::-1]
    rest = given[_checked(dimension, len(given)) :]
    return float(np.sum(rest * SECOND - (rest * MEAN) ** 2))


@checked
def strong(frequencies: np.ndarray, dimension: int, seed: int = 0) -> float:
    """The loss where all features share the dimensions.

    Args:
        frequencies: p_i, (n,).
        dimension: m.
        seed: of the draws of what is active at once, from which the distribution of V is taken.
    """
    given = probabilities(frequencies)
    squares, shares = activity(given, seed)
    scales = np.sqrt(squares / _checked(dimension, math.inf))
    present = given[given > 0]
    if not present.size:
        return 0.0
    low, high = float(present.min()), float(present.max())
    levels = np.geomspace(low, high, LEVELS) if high > low * (1 + 1e-9) else np.array([low])
    losses = np.array([best_bias(level, scales, shares)[1] for level in levels])
    return float(np.exp(np.interp(np.log(present), np.log(levels), np.log(losses))).sum())


def activity(frequencies: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """V = Σ x², the squared length of what is active: values and their shares, finer in the upper tail.

    V depends on the number of active features alone. Rare features are many: their number is Poisson.
    """
    rng = np.random.default_rng(seed)
    often = frequencies[frequencies > RARE]
    count = rng.poisson(frequencies[frequencies <= RARE].sum(), SAMPLE)
    for one in often:
        count = count + (rng.random(SAMPLE) < one)
    squares = (2 * rng.random((SAMPLE, int(count.max(initial=0))))) ** 2
    sizes = np.sort(np.sum(squares * (np.arange(squares.shape[1]) < count[:, None]), axis=1))
    tail = 0.1 * 10 ** -np.linspace(0, 3, TAIL)  # shares above the edges
    edges = np.unique((SAMPLE * np.concatenate([np.linspace(0, 0.9, BODY), 1 - tail, [1.0]])).astype(int))
    parts = np.split(sizes, edges[1:-1])
    return np.array([part.mean() for part in parts]), np.diff(edges) / SAMPLE


def best_bias(frequency: float, scales: np.ndarray, shares: np.ndarray) -> tuple[float, float]:
    """The bias b with the smallest loss of a feature, and that loss; `scales` of ξ and their shares."""
    typical = math.sqrt(float(shares @ scales**2)) or 1e-12
    losses = np.array([feature_loss(frequency, -t * typical, scales, shares) for t in BIASES])
    best = int(np.argmin(losses))
    return float(-BIASES[best] * typical), float(losses[best])


def feature_loss(frequency: float, bias: float, scales: np.ndarray, shares: np.ndarray) -> float:
    """E (y − x)² of one feature with a given bias, averaged over its value and over the interference."""
    nodes, weights = VALUES
    u, sigma = (nodes + 1)[:, None], np.maximum(scales, 1e-100)[None]
    first, second = _rectified(u + bias, sigma)
    active = (weights / 2) @ (second - 2 * u * first + u * u)
    _, silent = _rectified(np.array(bias), sigma[0])
    return float(shares @ (frequency * active + (1 - frequency) * silent))


def _rectified(mean: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E ReLU(X) and E ReLU(X)² of X ~ N(mean, sigma²)."""
    z = mean / sigma
    below, density = ndtr(z), np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return mean * below + sigma * density, (mean * mean + sigma * sigma) * below + mean * sigma * density


def _checked(dimension: int, most: float) -> int:
    if not 1 <= dimension <= most:
        raise BadInput(f"dimension = {dimension} must be from 1 to {most:g}")
    return int(dimension)
