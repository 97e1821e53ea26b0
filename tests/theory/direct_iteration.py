"""The time × time recipe of bordelon2024 (App. L.1), errata corrected: slow, and independent of the solver.

Matrices over steps are iterated to the fixed point of eqs. 135 and 136 (Θ is singular in discrete time, so
the first is used as R_{0,2,k} = −[I + λ_k Θ R₃ R₁]⁻¹ Θ R₃; C₃ = R₃ C₂ R₃ᵀ). No frequency, no contour, no
compression of the spectrum; M·T³ work an iteration. Use it to check `solve` on small systems.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scalinglab.errors import NotConverged
from scalinglab.spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class Matrices:
    """Order parameters of gradient descent at steps 0 … T, shape (T + 1, T + 1) unless stated otherwise.

    Attributes:
        test: C₀(t, u), without σ²; its diagonal is the test loss.
        train: C₁(t, u); its diagonal is the train loss.
        data_response, params_response: R₁ and R₃.
        transfer: H_k(t), shape (modes, T + 1).
        learning_rate: η of the steps.
    """

    test: np.ndarray
    train: np.ndarray
    data_response: np.ndarray
    params_response: np.ndarray
    transfer: np.ndarray
    learning_rate: float

    def flow(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Test (without σ²) and train loss of gradient flow: e^{sτ} = Σ_j Poisson(j; τ/η) (1 + ηs)^j."""
        mean = np.asarray(times, float)[:, None] / self.learning_rate
        j = np.arange(len(self.test))
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.where(mean > 0, j * np.log(mean), np.where(j == 0, 0.0, -math.inf))
        weight = np.exp(log - mean - np.array([math.lgamma(n + 1.0) for n in j]))
        if weight.sum(axis=1).min() < 1 - 1e-12:
            raise NotConverged(f"{len(j) - 1} steps are too few for flow until time {mean.max():g}·η")
        return tuple(np.einsum("tj,jl,tl->t", weight, c, weight) for c in (self.test, self.train))  # type: ignore[return-value]


def gradient_descent(
    spectrum: Spectrum,
    steps: int,
    n_params: float,
    n_data: float,
    noise: float = 0.0,
    learning_rate: float | np.ndarray = 0.1,
    momentum: float = 0.0,
) -> Matrices:
    """Iterate the matrices of gradient descent with momentum to their fixed point.

    Args:
        learning_rate: η, or one for every step, shape (steps,), without momentum.
    """
    size = steps + 1
    values = spectrum.eigenvalues[:, None, None]
    squares = (spectrum.target_power / spectrum.eigenvalues)[:, None, None]  # w_k²
    identity, ones = np.eye(size), np.ones((size, size))
    # v = v(0) − Θ v⁴: the gradient at step u moves step t > u by η (1 + μ + … + μ^{t−u−1})
    lag = np.maximum(np.subtract.outer(np.arange(size), np.arange(size)), 0)
    rates = np.broadcast_to(
        np.append(learning_rate, 0.0) if np.ndim(learning_rate) else learning_rate, (size,)
    )
    theta = rates * (1 - momentum**lag) / (1 - momentum) if momentum else rates * (lag > 0)

    data, params = identity, identity
    for _ in range(20 * size):
        before = data, params
        loop = -np.linalg.solve(identity + values * (theta @ params @ data), (theta @ params)[None])
        data = np.linalg.inv(identity - (values * loop).sum(0) / n_data)
        inner = -values * np.linalg.solve(identity + values * (data @ theta @ params), (data @ theta)[None])
        params = np.linalg.inv(identity - inner.sum(0) / n_params)
        if _moved(before, (data, params)) < 1e-15:
            break
    else:
        raise NotConverged("the response matrices did not reach a fixed point")

    outer = np.linalg.inv(identity + values * (theta @ params @ data))
    middle = np.linalg.inv(identity + values * (data @ theta @ params))
    test = train = features = np.zeros((size, size))
    for _ in range(200 * size):
        last = test, features
        source = (
            squares * ones
            + theta @ (features / n_params + values / n_data * (params @ train @ params.T)) @ theta.T
        )
        test = (values * (outer @ source @ outer.swapaxes(1, 2))).sum(0)
        train = data @ (test + noise**2) @ data.T
        inside = (
            values / n_data * train
            + data
            @ (squares * values**2 * ones + values**2 / n_params * (theta @ features @ theta.T))
            @ data.T
        )
        features = params @ (middle @ inside @ middle.swapaxes(1, 2)).sum(0) @ params.T
        if _moved(last, (test, features)) < 1e-15:
            break
    else:
        raise NotConverged("the correlation matrices did not reach a fixed point")
    return Matrices(test, train, data, params, outer @ np.ones(size), float(np.mean(learning_rate)))


def _moved(before: tuple[np.ndarray, ...], after: tuple[np.ndarray, ...]) -> float:
    return max(float(np.abs(a - b).max() / (1 + np.abs(a).max())) for a, b in zip(after, before))
