"""One-pass SGD (bordelon2024, App. J.3): a Volterra equation for the loss.

Each step sees B fresh examples, so the data response is R₁ = 1 and the noise of a step is as large as the
loss of that step:

    L(t) = F(t) + Σ_{u<t} K(t − u) (L(u) + σ²)

F is the loss of gradient descent on the population with N features and
K(τ) = (η²/B) Σ_i x_i² (1 − ηx_i)^{2(τ−1)} over the eigenvalues x of the features' kernel. Models that share
the batches but not the features obey the same equation with the bias for F and Σ_k λ_k² h_k(τ)²/B for K, h_k
being the mean response of mode k. (For Gaussian data the noise has one more term, of relative size
1/(effective number of modes); mean-field theory drops it.)

The first steps are summed one by one; after that L is interpolated on panels whose length doubles, so a
million steps cost little more than a few thousand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.spectrum import Spectrum, uniform_gauss
from scalinglab.theory.dmft.dynamics import OnePassSGD
from scalinglab.theory.dmft.solver.correlation import mode_integral, single_integral
from scalinglab.theory.dmft.solver.problem import Problem, decompose
from scalinglab.theory.dmft.solver.response import resolvent_parts

DIRECT = 2048  # steps that are summed one by one
ORDER = 16  # interpolation nodes on a panel of doubling length

Function = Callable[[np.ndarray], np.ndarray]


def losses(
    spectrum: Spectrum,
    times: np.ndarray,
    n_params: float,
    n_data: float,
    noise: float,
    dynamics: OnePassSGD,
    ensemble: float,
) -> tuple[dict[str, np.ndarray], bool]:
    """Every loss at the given steps, and whether training is stable; an ensemble shares its batches."""
    if n_data != math.inf:
        raise BadInput(
            f"n_data = {n_data:g}: one-pass SGD never sees an example twice; leave n_data infinite and give "
            "batch_size, or train on a fixed data set with MultiPassSGD"
        )

    def problem(at: np.ndarray) -> Problem:
        return Problem(spectrum, at, n_params, math.inf, dynamics.mean)

    def single_kernel(lags: np.ndarray) -> np.ndarray:
        return _kernel(problem(2 * (lags - 1)), dynamics)

    def shared_kernel(lags: np.ndarray) -> np.ndarray:
        nodes = spectrum.nodes()
        response = _mode_response(problem(lags - 1), nodes.eigenvalues, dynamics.learning_rate)
        return response**2 @ (nodes.count * nodes.eigenvalues**2) / dynamics.batch_size

    whole = problem(np.zeros(1))
    stable = whole.stable and _total_kernel(whole, dynamics) < 1
    drift = problem(times).losses(0.0, 1)
    single = _volterra(lambda t: problem(t).losses(0.0, 1)["single"], single_kernel, noise**2, times, stable)
    shared = _volterra(lambda t: problem(t).losses(0.0, 1)["bias"], shared_kernel, noise**2, times, stable)
    with np.errstate(invalid="ignore"):  # of losses that diverge
        together = np.where(np.isfinite(single), shared + (single - shared) / ensemble, math.inf)
    found = {
        "single": single,
        "ensemble": shared,
        "bags": drift["single"],
        "bias": drift["bias"],
        "train_loss": together + noise**2,  # a fresh batch is a test set (133)
        "gap": np.zeros(len(times)),
    }
    return decompose(found), stable


def _kernel(problem: Problem, dynamics: OnePassSGD) -> np.ndarray:
    """(η²/B) Σ x² (1 − ηx)^t at the problem's times, by Σ x/(s + x) = D(κ(s))."""
    scale = dynamics.learning_rate**2 / dynamics.batch_size
    if problem.unlimited:
        nodes = problem.system.nodes
        decay = np.real(problem.dynamics.filter(-nodes.eigenvalues + 0j, problem.times))
        return scale * decay @ (nodes.count * nodes.eigenvalues**2)
    found = np.full(len(problem.times), math.inf)
    for _, points in problem.points:
        values = -points.contour.s * points.learnt
        found[points.contour.times] = single_integral(problem.filter(points.contour), values)
    return scale * found


def _mode_response(problem: Problem, eigenvalues: np.ndarray, rate: float) -> np.ndarray:
    """h_k = η ∮ f_t/(κ + λ_k), shape (times, eigenvalues)."""
    if problem.unlimited:
        return rate * np.real(problem.dynamics.filter(-eigenvalues + 0j, problem.times))
    found = np.full((len(problem.times), len(eigenvalues)), math.inf)
    for _, points in problem.points:
        weighted = problem.filter(points.contour)
        parts = np.concatenate(resolvent_parts(points.kappa, eigenvalues))
        found[points.contour.times] = mode_integral(weighted, parts)
    return rate * found


def _total_kernel(problem: Problem, dynamics: OnePassSGD) -> float:
    """Σ_τ K(τ) = (1/B) Σ x/(2/η − x): from 1 on the noise feeds itself and the loss grows without end."""
    system, far = problem.system, 2 / dynamics.learning_rate
    if far <= problem.largest:
        return math.inf
    # s(κ) increases from −∞ to −largest on κ < κ_edge < −λ₁
    edge = -system.left_edge()
    low, high = 0.0, math.log(1e3 * (1 + far / abs(edge)))
    for _ in range(80):
        middle = (low + high) / 2
        inside = system.frequency(np.array(edge * math.exp(middle)))[0] > -far
        low, high = (middle, high) if inside else (low, middle)
    learnt = system.learnt_modes(np.array(edge * math.exp((low + high) / 2)))[0]
    return float(-learnt) / dynamics.batch_size


def _volterra(drift: Function, kernel: Function, noise: float, times: np.ndarray, stable: bool) -> np.ndarray:
    """L(t) = F(t) + Σ_{u<t} K(t − u) (L(u) + noise) at whole steps t."""
    last = int(times.max(initial=0))
    direct = min(last, DIRECT) if last > DIRECT else last
    steps = np.arange(direct + 1, dtype=float)
    first, early = kernel(np.maximum(steps, 1)), np.array(drift(steps))
    total = np.empty(direct + 1)  # L + noise
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(direct + 1):
            total[t] = early[t] + noise + first[1 : t + 1][::-1] @ total[:t]
    found = np.full(len(times), math.inf)
    known = times <= direct
    found[known] = total[times[known].astype(int)] - noise
    if last > direct and stable:
        panels = _continue(drift, kernel, noise, total, first, last)
        found[~known] = panels(times[~known]) - noise
    return np.where(np.isnan(found), math.inf, found)


class _Panels:
    """A function of the step, exact up to DIRECT and interpolated on [DIRECT·2^j, DIRECT·2^{j+1}] above."""

    def __init__(self, start: np.ndarray) -> None:
        self.start = start
        self.nodes: list[np.ndarray] = []
        self.values: list[np.ndarray] = []

    @staticmethod
    def spread(panel: int) -> np.ndarray:
        """Whole steps near the Chebyshev points of a panel, its ends included."""
        low, high = DIRECT * 2.0**panel, DIRECT * 2.0 ** (panel + 1)
        points = np.cos(np.pi * np.arange(ORDER) / (ORDER - 1))
        return np.round((low + high) / 2 - (high - low) / 2 * points)

    def panel_of(self, at: np.ndarray) -> np.ndarray:
        """The number of the panel of each step, −1 below DIRECT."""
        return np.where(at < DIRECT, -1, np.floor(np.log2(np.maximum(at, DIRECT) / DIRECT))).astype(int)

    def __call__(self, at: np.ndarray) -> np.ndarray:
        at = np.asarray(at, float)
        panel = np.minimum(self.panel_of(at), len(self.nodes) - 1)
        found = np.empty(len(at))
        below = panel < 0
        found[below] = self.start[np.round(at[below]).astype(int)]
        for j in np.unique(panel[~below]):
            here = panel == j
            found[here] = interpolation(self.nodes[j], at[here]) @ self.values[j]
        return found


def interpolation(nodes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The matrix that takes values at `nodes` to the interpolating polynomial at `at` (barycentric)."""
    scaled, at = (nodes - nodes.mean()) / np.ptp(nodes), (at - nodes.mean()) / np.ptp(nodes)
    gaps = scaled[:, None] - scaled + np.eye(len(nodes))
    weights = 1 / (4 * gaps).prod(axis=1)
    difference = at[:, None] - scaled
    exact = difference == 0
    terms = weights / np.where(exact, 1, difference)
    matrix = np.where(exact.any(axis=1)[:, None], exact, terms)
    return matrix / matrix.sum(axis=1, keepdims=True)


def _continue(
    drift: Function, kernel: Function, noise: float, total: np.ndarray, first: np.ndarray, last: int
) -> _Panels:
    """Solve on doubling panels by collocation: Σ_u splits where L(u) or K(t − u) changes its panel."""
    count = max(1, math.ceil(math.log2(last / DIRECT)))
    lags = _Panels(first)
    for panel in range(count):
        lags.nodes.append(_Panels.spread(panel))
        lags.values.append(kernel(lags.nodes[-1]))
    loss = _Panels(total)
    for panel in range(count):
        nodes = _Panels.spread(panel)
        unknown = np.zeros((ORDER, ORDER))
        known = drift(nodes) + noise
        for row, t in enumerate(nodes):
            for low, high in _pieces(t, count):
                u, weight = uniform_gauss(int(high - low + 1)) if low >= DIRECT and t - high >= DIRECT else (
                    np.arange(high - low + 1), np.ones(int(high - low + 1))
                )  # fmt: skip
                u = low + u
                weight = weight * lags(t - u)
                if low >= DIRECT * 2.0**panel:
                    unknown[row] += weight @ interpolation(nodes, u)
                else:
                    known[row] += weight @ loss(u)
        loss.nodes.append(nodes)
        loss.values.append(np.linalg.solve(np.eye(ORDER) - unknown, known))
    return loss


def _pieces(t: float, count: int) -> list[tuple[float, float]]:
    """[0, t − 1] cut at the panels of u and of t − u: first and last step of every piece."""
    ends = DIRECT * 2.0 ** np.arange(count + 1)
    cuts = np.unique(np.concatenate([[0.0, t], ends[ends < t], (t - ends + 1)[(t - ends + 1 > 0)]]))
    return [(low, high - 1) for low, high in itertools.pairwise(cuts)]
