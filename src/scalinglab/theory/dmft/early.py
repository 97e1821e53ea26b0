"""Early in training the loss is that of infinite N and P plus 1/N and 1/P (bordelon2024, App. D).

Expanding the two-frequency correlation to first order, with g = 1/(s + λ),

    ∂/∂(1/N):  D Σ λw²λ g²g' + D' Σ λw²λ g g'² + Σ λ g g' Σ λw²λ g g'
    ∂/∂(1/P):  D Σ λw²λ g²g' + D' Σ λw²λ g g'² + Σ λ² g g' (Σ λw² g g' + σ²/(s s'))

so the approach to the limit is 1/N and 1/P at any fixed time, whatever the task; only the late-time exponents
depend on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.dmft.dynamics import Dynamics, GradientFlow
from scalinglab.theory.dmft.losses import check_times
from scalinglab.theory.dmft.solver.correlation import Points, double_integral
from scalinglab.theory.dmft.solver.problem import Problem


@dataclass(frozen=True, eq=False)
class Early:
    """L ≈ limit + per_params/N + per_data/P; arrays of the shape of `times`.

    Attributes:
        limit: the loss of infinitely many features and examples, σ² included.
        per_params: the coefficient of 1/N.
        per_data: the coefficient of 1/P.
    """

    times: np.ndarray
    limit: np.ndarray
    per_params: np.ndarray
    per_data: np.ndarray

    def loss(self, n_params: float = math.inf, n_data: float = math.inf) -> np.ndarray:
        """The loss to first order."""
        return self.limit + self.per_params / n_params + self.per_data / n_data


@checked
def early(
    spectrum: Spectrum, times: ArrayLike, noise: float = 0.0, dynamics: Dynamics | None = None
) -> Early:
    """The test loss to first order in 1/N and 1/P, at any time (useful while the corrections are small)."""
    dynamics = GradientFlow() if dynamics is None else dynamics
    flat = check_times(times, dynamics.discrete)
    problem = Problem(spectrum, flat, math.inf, math.inf, dynamics)
    limit = problem.losses(noise, 1)["single"] + noise**2
    found = np.full((2, len(flat)), math.inf)
    for system, points in problem.points:
        same, cross = (
            _kernels(system.nodes.eigenvalues, system.nodes.count, system.nodes.power, points, noise, flip)
            for flip in (False, True)
        )
        amplitude = problem.filter(points.contour)
        for row in range(2):
            found[row, points.contour.times] = double_integral(amplitude, same[row], cross[row])
    shape = np.shape(times)
    return Early(np.asarray(times, float), *(values.reshape(shape) for values in (limit, *found)))


def _kernels(
    values: np.ndarray, count: np.ndarray, power: np.ndarray, points: Points, noise: float, conjugate: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The two derivatives at pairs of nodes."""
    half = len(points.kappa)
    left = points.parts[:half] + 1j * points.parts[half:]
    right = left.conj() if conjugate else left
    s = points.contour.s
    s_ = s.conj() if conjugate else s
    learnt = points.learnt[:, None]
    learnt_ = points.learnt.conj() if conjugate else points.learnt
    bent = (left**2 * (power * values)) @ right.T
    bent_ = (left * (power * values)) @ (right**2).T
    shared = learnt * bent + learnt_ * bent_
    modes, squares = ((left * (count * values**p)) @ right.T for p in (1, 2))
    signal, tilted = ((left * (power * values**p)) @ right.T for p in (0, 1))
    return shared + modes * tilted, shared + squares * (signal + noise**2 / (s[:, None] * s_))
