"""One-pass SGD on random features under a learning-rate schedule η(t), and the schedule that ends lowest.

The filter of gradient descent on the population is f_t(s) = Π_{v<t} (1 + η_v s), entire in s, so the contours
of `solve` serve it as they are. With fresh batches of B examples the loss obeys the Volterra equation of
bordelon2024, App. J.3, no longer of the lag alone:

    L(t) = F(t) + Σ_{u<t} K(t, u) (L(u) + σ²),   K(t, u) = (η_u²/B) Σ_i x_i² Π_{u<v<t} (1 − η_v x_i)²

with F the loss of descent on the population with N features and x the eigenvalues of the features' kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from scalinglab.errors import BadInput
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.dmft.solver.contour import ellipses
from scalinglab.theory.dmft.solver.correlation import at_points, single_integral
from scalinglab.theory.dmft.solver.problem import Problem

MOST_STEPS = 4000  # the kernel is a matrix over steps


@dataclass(frozen=True, eq=False)
class ScheduledDescent:
    """Gradient descent v ← v − η_t K v with its own rate at every step."""

    rates: np.ndarray

    discrete = True

    def log_filter(self, s: np.ndarray) -> np.ndarray:
        """ln f_t(s) for t = 0 … T, shape (T + 1, s)."""
        steps = np.log(1 + np.asarray(self.rates, float)[:, None] * np.asarray(s, complex)[None] + 1e-300)
        return np.concatenate([np.zeros((1, len(s)), complex), np.cumsum(steps, axis=0)])

    def filter(self, s: np.ndarray, times: np.ndarray) -> np.ndarray:
        """f_t(s), shape (times, s)."""
        return np.exp(self.log_filter(s)[np.asarray(times, int)])

    def impulse(self, s: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Not defined: the response depends on when the gradient came, not on the lag alone."""
        raise BadInput("a schedule has no response of the lag alone; use a constant learning rate")

    def frequency(self, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """That of the mean rate; no hyperbola is asked for, since `settled` is never true."""
        mean = float(np.mean(self.rates))
        return np.expm1(rate) / mean, np.exp(rate) / mean

    def rate(self, s: float) -> float:
        """ln(1 + η s) on average."""
        return float(np.mean(np.log(np.maximum(1 + np.asarray(self.rates) * s, 1e-300))))

    def fast_rate(self, largest: float) -> float:
        """All follows the filter itself."""
        return -math.inf

    def settled(self, time: float, largest: float) -> bool:
        """Never: the ellipse serves every step."""
        return False

    def stable(self, largest: float) -> bool:
        """η λ < 2 at every step."""
        return bool(np.max(self.rates) * largest < 2)


@dataclass(frozen=True, eq=False)
class ScheduledSGD:
    """The losses of one-pass SGD under a schedule.

    Attributes:
        rates: (T,), η of every step.
        test_loss: (T + 1,), at steps 0 … T, σ² included.
        drift: (T + 1,), the loss of descent on the population, without the noise of batches.
    """

    rates: np.ndarray
    test_loss: np.ndarray
    drift: np.ndarray


@checked
def one_pass(
    spectrum: Spectrum, rates: np.ndarray, batch_size: float, n_params: float = math.inf, noise: float = 0.0
) -> ScheduledSGD:
    """Losses of one-pass SGD with rate `rates[t]` at step t.

    Args:
        rates: (T,), 0 or more, each below 2 over the largest eigenvalue.
        batch_size: B, fresh examples a step.
        n_params: N, random features; inf for the kernel itself.
        noise: σ of the labels; test_loss includes σ².
    """
    steps = _checked(rates, batch_size)
    dynamics = ScheduledDescent(steps)
    times = np.arange(len(steps) + 1, dtype=float)
    problem = Problem(spectrum, times, n_params, math.inf, dynamics)
    if not problem.stable:
        raise BadInput(
            f"the highest rate, {steps.max():g}, times the largest eigenvalue, {problem.largest:g}, must "
            "stay below 2"
        )
    drift = problem.losses(0.0, 1)["single"]
    kernel = _kernel(problem, dynamics) / batch_size
    total = np.empty(len(times))
    for t in range(len(times)):
        total[t] = drift[t] + noise**2 + kernel[t, :t] @ total[:t]
    return ScheduledSGD(steps, total, drift + noise**2)


@checked
def best_schedule(
    spectrum: Spectrum,
    steps: int,
    batch_size: float,
    n_params: float = math.inf,
    noise: float = 0.0,
    *,
    knots: int = 8,
    highest: float | None = None,
) -> ScheduledSGD:
    """The schedule, ln η linear between knots, whose last loss is the lowest.

    Args:
        steps: how many steps there are.
        knots: at equal distances, the first step and the last included.
        highest: rates stay below it; default 1 over the largest eigenvalue of the features' kernel.
    """
    largest = Problem(spectrum, np.zeros(1), n_params, math.inf, ScheduledDescent(np.ones(1))).largest
    top = 1 / largest if highest is None else highest
    places = np.linspace(0, steps - 1, knots)

    def rates(z: np.ndarray) -> np.ndarray:
        return np.exp(np.interp(np.arange(steps), places, np.minimum(z, math.log(top))))

    def last(z: np.ndarray) -> float:
        return math.log(one_pass(spectrum, rates(z), batch_size, n_params, noise).test_loss[-1])

    bounds = [(math.log(top) - 12, math.log(top))] * knots
    starts = [np.full(knots, math.log(top / 4)), math.log(top / 2) - np.linspace(0, 3, knots)]
    options = {"maxiter": 40}
    found = [optimize.minimize(last, z, method="L-BFGS-B", bounds=bounds, options=options) for z in starts]
    best = min(found, key=lambda f: f.fun).x
    return one_pass(spectrum, rates(best), batch_size, n_params, noise)


def _checked(rates: np.ndarray, batch_size: float) -> np.ndarray:
    steps = np.atleast_1d(np.asarray(rates, float))
    if steps.ndim != 1 or not len(steps) or len(steps) > MOST_STEPS:
        raise BadInput(f"rates must be a list of 1 to {MOST_STEPS} numbers, one a step")
    if (steps < 0).any() or not np.isfinite(steps).all():
        raise BadInput(f"rates must be 0 or more, and finite; one is {steps.min():g}")
    if not batch_size >= 1:
        raise BadInput(f"batch_size = {batch_size} must be 1 or more")
    return steps


def _kernel(problem: Problem, dynamics: ScheduledDescent) -> np.ndarray:
    """η_u² Σ x² Π_{u<v<t} (1 − η_v x)², shape (T + 1, T), zero for u ≥ t; by Σ x/(s + x) = D(κ(s))."""
    rates = dynamics.rates
    if problem.unlimited:
        nodes = problem.system.nodes
        s, values, half = -nodes.eigenvalues + 0j, nodes.count * nodes.eigenvalues**2 + 0j, 0.5
    else:
        # the filter squared grows as that of the same rates twice does: its contour serves both
        twice = ScheduledDescent(np.repeat(rates, 2))
        contour = ellipses(twice, np.array([2.0 * len(rates)]), np.array([0]), problem.largest)[0]
        points = at_points(problem.system, [contour], problem.system.final_kappa())[0]
        s, values, half = contour.s, -contour.s * points.learnt * contour.weight, 1.0
    logs = dynamics.log_filter(s)
    kernel = np.zeros((len(rates) + 1, len(rates)))
    for t in range(1, len(rates) + 1):
        between = np.exp(2 * (logs[t] - logs[1 : t + 1]))
        kernel[t, :t] = rates[:t] ** 2 * half * single_integral(between, values)
    return kernel
