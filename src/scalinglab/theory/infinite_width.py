r"""Kernels of infinitely wide fully connected networks, in closed form.

A network of L hidden layers in the parameterization h⁽ˡ⁺¹⁾ = σ_w W φ(h⁽ˡ⁾)/√width + σ_b b, all weights
standard normal, becomes a Gaussian process as its width grows, with the covariance (NNGP)

    K⁽⁰⁾(x, x') = σ_b² + σ_w² x·x'/dimension,
    K⁽ˡ⁺¹⁾ = σ_b² + σ_w² E[φ(u) φ(u')],   (u, u') ~ N(0, K⁽ˡ⁾),

and gradient descent moves it as kernel regression with the neural tangent kernel (NTK)

    Θ⁽⁰⁾ = K⁽⁰⁾,   Θ⁽ˡ⁺¹⁾ = K⁽ˡ⁺¹⁾ + σ_w² Θ⁽ˡ⁾ E[φ'(u) φ'(u')].

Both expectations are elementary for ReLU (arc-cosine kernels) and for erf. These are the kernels of
random fully connected networks in bahri2021, Figs. 3, 4 and S8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scalinglab.errors import BadInput, is_whole, nearest
from scalinglab.support.validation import checked

MOST_LAYERS = 100_000
# σ_w² at which signals neither vanish nor explode with depth, without biases
CRITICAL_WEIGHT_VARIANCE = {"relu": 2.0, "erf": np.pi / 4}

Moments = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Kernels:
    """Both kernels between two sets of inputs, each of shape (len(x), len(other))."""

    nngp: np.ndarray
    ntk: np.ndarray


@checked
def kernels(
    x: np.ndarray,
    other: np.ndarray | None = None,
    *,
    depth: int = 1,
    activation: str = "relu",
    weight_variance: float | None = None,
    bias_variance: float = 0.0,
) -> Kernels:
    """NNGP and NTK of a network with `depth` hidden layers.

    Args:
        x: inputs, shape (n, dimension).
        other: the second set of inputs, shape (m, dimension); default: `x` itself.
        depth: number of hidden layers, 0 for a linear model.
        activation: "relu" or "erf".
        weight_variance: σ_w²; default: the critical value (2 for ReLU, π/4 for erf).
        bias_variance: σ_b².

    Returns:
        The two kernels, shape (n, m) each.
    """
    if activation not in _MOMENTS:
        raise BadInput(f"activation {activation!r} is unknown; {nearest(activation, _MOMENTS)}")
    if not is_whole(depth) or not 0 <= depth <= MOST_LAYERS:
        raise BadInput(f"depth {depth} must be a whole number of hidden layers, from 0 to {MOST_LAYERS}")
    weight = CRITICAL_WEIGHT_VARIANCE[activation] if weight_variance is None else float(weight_variance)
    if not (0 < weight < np.inf and 0 <= bias_variance < np.inf):
        raise BadInput(
            f"weight_variance {weight} must be positive and bias_variance {bias_variance} not negative"
        )
    first, second = _inputs(x), _inputs(x if other is None else other)
    if first.shape[1] != second.shape[1]:
        raise BadInput(f"inputs of {first.shape[1]} and {second.shape[1]} dimensions have no common kernel")

    moments, dimension = _MOMENTS[activation], first.shape[1]
    nngp = bias_variance + weight * first @ second.T / dimension
    rows = bias_variance + weight * np.einsum("id,id->i", first, first) / dimension  # K(x, x)
    columns = bias_variance + weight * np.einsum("id,id->i", second, second) / dimension
    ntk = nngp.copy()
    for _ in range(int(depth)):
        if other is None:
            # acos loses half the digits where an input meets itself, unless its correlation is 1 to the bit
            np.fill_diagonal(nngp, rows)
        product, derivative = moments(nngp, rows, columns)
        nngp = bias_variance + weight * product
        ntk = nngp + weight * ntk * derivative
        rows = bias_variance + weight * moments(rows, rows, rows)[0]
        columns = bias_variance + weight * moments(columns, columns, columns)[0]
    if not (np.isfinite(nngp).all() and np.isfinite(ntk).all()):
        raise BadInput(
            f"with weight_variance {weight:g}, bias_variance {bias_variance:g} and depth {depth} the kernel "
            "of these inputs is beyond 1e308: scale the inputs, or take smaller variances"
        )
    return Kernels(nngp, ntk)


@checked
def nngp(x: np.ndarray, other: np.ndarray | None = None, **network: object) -> np.ndarray:
    """The NNGP kernel alone; see `kernels`."""
    return kernels(x, other, **network).nngp  # type: ignore[arg-type]


@checked
def ntk(x: np.ndarray, other: np.ndarray | None = None, **network: object) -> np.ndarray:
    """The neural tangent kernel alone; see `kernels`."""
    return kernels(x, other, **network).ntk  # type: ignore[arg-type]


def _inputs(x: np.ndarray) -> np.ndarray:
    array = np.asarray(x, float)
    if array.ndim != 2 or array.shape[1] == 0:
        raise BadInput(f"inputs of shape {array.shape} must be a table (n, dimension); flatten images first")
    return array


def _outer(kernel: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """K(x, x) K(x', x') for a table of pairs, or for the pairs themselves where `kernel` is a vector."""
    return rows * columns if kernel.ndim == 1 else np.outer(rows, columns)


def _relu(kernel: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E[φφ'] = √(K K')(sin θ + (π−θ) cos θ)/2π and E[φ'φ'] = (π−θ)/2π, cos θ the correlation."""
    scale = np.sqrt(_outer(kernel, rows, columns))
    # a correlation rounded to more than 1 has no angle; an input of zeros has scale 0
    cosine = np.clip(kernel / np.where(scale > 0, scale, 1.0), -1.0, 1.0)
    angle = np.pi - np.arccos(cosine)
    # 1 − cos² would cancel for inputs that are almost equal
    sine = np.sqrt((1 - cosine) * (1 + cosine))
    return scale * (sine + angle * cosine) / (2 * np.pi), angle / (2 * np.pi)


def _erf(kernel: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E[φφ'] = (2/π) asin(2K/√((1+2K)(1+2K'))) and E[φ'φ'] = (4/π)/√((1+2K)(1+2K') − 4K²)."""
    product = _outer(kernel, 1 + 2 * rows, 1 + 2 * columns)
    sine = np.clip(2 * kernel / np.sqrt(product), -1.0, 1.0)
    return 2 / np.pi * np.arcsin(sine), 4 / np.pi / np.sqrt(product - 4 * kernel**2)


_MOMENTS: dict[str, Moments] = {"relu": _relu, "erf": _erf}
