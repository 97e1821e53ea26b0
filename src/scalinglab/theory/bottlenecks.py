r"""Bottlenecks: the exponent of the loss in time, data and parameters, and how to spend compute.

For λ_k = k^-b and λ_k w_k² = k^-a each resource stops learning at some mode k⋆, and the loss is what lies
beyond it, Σ_{k>k⋆} k^-a ~ k⋆^-(a−1) (bordelon2024, eqs. 14, 15):

- time: k⋆ = t^{1/b}, so L ~ t^{−(a−1)/b};
- data: k⋆ = P, so L ~ P^{−(a−1)}; a smooth target (a − 1 > 2b) is limited by ridgeless regression itself
  instead, Σ λw²H² ~ κ² Σ w²/λ with κ ~ P^-b, hence P^{−min(a−1, 2b)};
- params: k⋆ = N likewise, but the final loss is Σ λw²H, linear in κ ~ N^-b, hence N^{−min(a−1, b)}. The talk
  damico2025-talk prints min(a−1, 2b) here too; the exact final loss and simulations give b.

Compute C = N t is best spent where two bottlenecks bind (App. M): for L = t^{−r_t} + N^{−r_N},
N ~ C^{r_t/(r_t+r_N)}, t ~ C^{r_N/(r_t+r_N)} and L ~ C^{−r_t r_N/(r_t+r_N)}; with the exponents above this is
C^{−(a−1)/(1+b)}, eq. 16. For smooth targets (a − 1 > b) the early-time correction N^-1 t^{−(b−1)/b} outlives
the final one and binds instead: N^-1 t^{−(b−1)/b} = t^{−(a−1)/b} gives C^{−(a−1)/a}, N ~ C^{(a−b)/a},
t ~ C^{b/a}. The printed exponents are kept beside ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scalinglab.errors import BadInput
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.support.work import track
from scalinglab.theory import dmft


@dataclass(frozen=True)
class Exponents(Worded):
    """Exponents of the loss (positive: L ~ x^-exponent) and of the compute-optimal sizes (N ~ C^exponent).

    Attributes:
        time: of t, at infinite data and params.
        data: of P, at infinite time and params.
        params: of N, at infinite time and data.
        compute: of C = N t along the optimum.
        optimal_params: how the best N grows with C.
        optimal_time: how the best t grows with C.
        printed_params: the exponent of N as printed in damico2025-talk, min(a−1, 2b).
        printed_compute: the exponent of C as printed in eq. 16, (a−1)/(1+b).
        saturated: which of "data", "params" are limited by b instead of the task.
    """

    time: float
    data: float
    params: float
    compute: float
    optimal_params: float
    optimal_time: float
    printed_params: float
    printed_compute: float
    saturated: tuple[str, ...]

    @property
    def remarks(self) -> Iterator[Remark]:
        yield Reason("time_limited", power=self.time)
        yield Reason("data_limited", power=self.data)
        yield Reason("params_limited", power=self.params)
        optimal = {"params": self.optimal_params, "time": self.optimal_time}
        yield Reason("compute_limited", power=self.compute, **optimal)
        if self.saturated:
            yield Reason("saturated", limits=tuple(self.saturated))


@checked
def exponents(task_exponent: float, spectral_exponent: float) -> Exponents:
    """All bottleneck exponents of a power-law spectrum (bordelon2024, eqs. 14 and 16).

    Args:
        task_exponent: a > 1 of λ_k w_k² = k^-a.
        spectral_exponent: b of λ_k = k^-b; b > 1 for a finite trace, else N and P do not limit alone.

    >>> found = exponents(1.5, 1.25)
    >>> found.time, found.data, found.params, round(found.compute, 4)
    (0.4, 0.5, 0.5, 0.2222)
    """
    a, b = float(task_exponent), float(spectral_exponent)
    if not (math.isfinite(a) and a > 1):
        raise BadInput(f"task_exponent = {a} must exceed 1, else the target has infinite power")
    if not (math.isfinite(b) and b > 0):
        raise BadInput(f"spectral_exponent = {b} must be positive")
    time, data, params = (a - 1) / b, min(a - 1, 2 * b), min(a - 1, b)
    if a - 1 <= b:
        compute, optimal_params, optimal_time = (a - 1) / (1 + b), 1 / (1 + b), b / (1 + b)
    else:  # the correction N^-1 t^{-(b-1)/b} binds before the final N^-b does
        compute, optimal_params, optimal_time = (a - 1) / a, (a - b) / a, b / a
    saturated = tuple(name for name, limit in (("data", 2 * b), ("params", b)) if a - 1 > limit)
    return Exponents(
        time, data, params, compute, optimal_params, optimal_time,
        printed_params=min(a - 1, 2 * b), printed_compute=(a - 1) / (1 + b), saturated=saturated,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Frontier:
    """The compute-optimal frontier; arrays of the length of `compute`.

    Attributes:
        compute: the budgets C = N t.
        n_params: the best N (not rounded).
        time: the best t = C/N.
        loss: the test loss there.
    """

    compute: np.ndarray
    n_params: np.ndarray
    time: np.ndarray
    loss: np.ndarray

    def local_exponents(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Local slopes d log/d log C of loss (positive: falling), N and t, at the middles of the budgets."""
        logs = [np.diff(np.log(x)) for x in (self.compute, self.loss, self.n_params, self.time)]
        return -logs[1] / logs[0], logs[2] / logs[0], logs[3] / logs[0]


@checked
def compute_optimal(
    spectrum: Spectrum,
    budgets: ArrayLike,
    n_data: float = math.inf,
    noise: float = 0.0,
    *,
    per_decade: int = 6,
) -> Frontier:
    """The exact frontier: the solved loss, minimised over N at fixed C = N t.

    Args:
        spectrum: eigenvalues and target power.
        budgets: C = N t, any positive numbers.
        n_data: P, infinite unless data is limited too.
        noise: σ of the label noise.
        per_decade: grid points of N a decade.
    """

    def losses(times: np.ndarray, size: float) -> np.ndarray:
        return dmft.solve(spectrum, times, size, n_data, noise).test_loss

    return frontier(losses, budgets, per_decade=per_decade)


@checked
def frontier(
    losses: Callable[[np.ndarray, float], np.ndarray],
    budgets: ArrayLike,
    *,
    smallest: float = 1.0,
    per_decade: int = 6,
) -> Frontier:
    """The frontier of any solved loss: its minimum over N at fixed C = N t.

    The loss is solved on a grid of N for all budgets at once; the minimum of each budget is then found from
    polynomials in the logs, first through the nearest grid points, then through five close ones.

    Args:
        losses: the losses at times (an array) of a model of size N.
        budgets: C = N t, any positive numbers.
        smallest: N from which the search begins, below every optimum.
        per_decade: grid points of N a decade.
    """
    compute = np.atleast_1d(np.asarray(budgets, float))
    if not (np.all(np.isfinite(compute)) and np.all(compute > 0)):
        raise BadInput(f"budgets must be positive and finite, not {compute.min()}")
    decades = np.log10(max(10, compute.max() / smallest))
    sizes = smallest * np.geomspace(1, 10**decades, 1 + math.ceil(per_decade * decades))
    loss = np.full((len(sizes), len(compute)), math.inf)
    for row, size in enumerate(track(sizes, "compute-optimal frontier")):
        loss[row] = losses(compute / size, size)
        rising = np.argmin(loss[: row + 1], axis=0)
        # the polynomial takes three points on each side of the smallest
        if np.all(rising < row - 4):  # past every minimum
            break
    best_size, best_loss = np.empty(len(compute)), np.empty(len(compute))
    for column, budget in enumerate(compute):

        def log_loss(log_size: float, budget: float = budget) -> float:
            size = math.exp(log_size)
            return math.log(losses(np.array([budget / size]), size)[0])

        known = np.isfinite(loss[:, column])
        middle = minimum_of_points(np.log(sizes[known]), np.log(loss[known, column]))
        while True:
            near = middle + np.array([-0.2, -0.1, 0.0, 0.1, 0.2])
            values = np.array([log_loss(x) for x in near])
            if 0 < np.argmin(values) < 4:
                break
            middle = float(near[np.argmin(values)])  # the grid was too coarse for its polynomial
        best = minimum_of_points(near, values)
        best_size[column], best_loss[column] = math.exp(best), math.exp(log_loss(best))
    return Frontier(compute, best_size, compute / best_size, best_loss)


@checked
def minimum_of_points(x: np.ndarray, y: np.ndarray) -> float:
    """The minimum of the polynomial through the seven points nearest to the smallest."""
    best = int(np.argmin(y))
    first = max(0, min(best - 3, len(x) - 7))
    x_near, y_near = x[first : first + 7] - x[best], y[first : first + 7]
    polynomial = np.polynomial.Polynomial.fit(x_near, y_near, len(x_near) - 1)
    roots = polynomial.deriv().roots()
    real = roots[np.abs(roots.imag) < 1e-9].real
    candidates = np.array([*real[(real >= x_near[0]) & (real <= x_near[-1])], 0.0])
    return float(x[best] + candidates[np.argmin(polynomial(candidates))])
