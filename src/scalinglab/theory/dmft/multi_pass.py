r"""SGD that sees its P examples many times: batches, any schedule, momentum, weight decay, label noise.

Along an eigenvector of K̂ = ΦᵀΦ/P with eigenvalue x the residual of the labels y is f_t(x) y on average over
batches, f_t being the filter of gradient descent under the schedule. Around it the weights scatter with a
variance m_t(x). The gradient of B examples, drawn from the P, has along that direction the variance

    x (L + c(x)) / B

with L the train loss and c(x) the share of this direction in it: its eigenvector on the data set is taken as
Gaussian and independent of the residuals (so c is Wick's term, which mean-field theory drops; B examples
without replacement have (1 − B/P)/(1 − 1/P) of it). Hence, without momentum,

    m ← (1 − η_t (x + δ))² m + η_t² x L/B,

and with momentum the same for the second moments of weights and running mean. Averages over data and
features need single resolvents only, with κ, D, R₁ and W of `solver.correlation` at s = −x:

    Σ_i (y·v_i)²/(P (s + x_i)) = R₁ (σ² + κ W)/s,  Σ_i x_i/(s + x_i) = D,  Tr AΛAᵀ/N (s + K̂)⁻¹ = D/R₁,

the first for the train loss of descent, the others for what m adds to train and to test loss. The test loss
of descent is the integral over two frequencies of `solver.problem`. What c adds to m is counted in the test
loss as in the train loss: it matters for the largest eigenvalues, whose directions the data determine well.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.spectrum import Spectrum
from scalinglab.theory.dmft.dynamics import Dynamics, MultiPassSGD
from scalinglab.theory.dmft.modes import ANGLE, surround
from scalinglab.theory.dmft.solver.problem import LARGEST, Problem, decompose

MOST_STEPS = 100_000  # guard: each step is made, for all nodes
ACCURACY, COARSE = 1e-9, 1e-6  # of integrals; the second where momentum leaves only a narrow contour
NARROW, NARROWEST = 0.15, 0.01  # angles below which integrals are coarse, and refused
LENS = np.geomspace(1e-6, 1e6, 200)  # where along the contour its growth is looked at


def losses(
    spectrum: Spectrum,
    times: np.ndarray,
    n_params: float,
    n_data: float,
    noise: float,
    dynamics: MultiPassSGD,
    ensemble: float,
) -> tuple[dict[str, np.ndarray], bool]:
    """All losses at the given steps, and whether training is stable; each model draws its own batches."""
    problem = drift(spectrum, times, n_params, n_data, dynamics)
    found = problem.losses(noise, ensemble)
    alone = found["train_loss"] if ensemble == 1 else problem.losses(noise, 1)["train_loss"]
    train, test, stable = _scatter(problem, n_data, noise, dynamics)
    added = train - alone
    found["single"] = found["single"] + test + added  # `test` is what m adds beyond the train loss
    found["train_loss"] = found["train_loss"] + added / ensemble
    with np.errstate(invalid="ignore"):
        found["gap"] = np.where(np.isfinite(train), found["single"] + noise**2 - train, math.inf)
    return decompose(found), stable


def drift(
    spectrum: Spectrum, times: np.ndarray, n_params: float, n_data: float, dynamics: MultiPassSGD
) -> Problem:
    """Descent without the noise of batches, on one contour that serves all steps."""
    last = int(times.max(initial=0))
    if math.isinf(n_data):
        raise BadInput("n_data is infinite, so that no example is seen twice: use OnePassSGD")
    if dynamics.distinct and dynamics.batch_size > n_data:
        raise BadInput(f"batch_size = {dynamics.batch_size:g} distinct examples of n_data = {n_data:g}")
    if last > MOST_STEPS:
        raise BadInput(f"time {last}: SGD on a fixed data set is stepped, {MOST_STEPS} steps at most")
    filtering = cast("Dynamics", dynamics)  # with a contour given, its filter is all that is asked for
    problem = Problem(spectrum, times, n_params, n_data, filtering)
    if not problem.stable:
        raise BadInput(
            f"learning_rate = {dynamics.learning_rate:g} times the largest eigenvalue, {problem.largest:g} "
            f"(plus weight_decay), must stay below 2 (1 + momentum) = {2 * (1 + dynamics.momentum):g}"
        )
    reach = 2 * (1 + dynamics.momentum) / dynamics.learning_rate - dynamics.weight_decay
    beyond = problem.largest * min(1.5, math.sqrt(max(1.02, reach / problem.largest)))
    angle = _angle(dynamics, beyond, _share(dynamics, n_data))
    progress = float(dynamics.rates(last).sum()) / (1 - dynamics.momentum)
    slowest = 1 / max(progress, 1 / problem.largest)
    contour = surround(beyond, slowest, angle, ACCURACY if angle > NARROW else COARSE, len(times))
    return Problem(spectrum, times, n_params, n_data, filtering, contour)


def _share(dynamics: MultiPassSGD, n_data: float) -> float:
    """The variance of a batch's gradient over that of one example."""
    left = (1 - dynamics.batch_size / n_data) / (1 - 1 / n_data) if dynamics.distinct and n_data > 1 else 1.0
    return left / dynamics.batch_size


def _matrices(x: np.ndarray, rate: float, dynamics: MultiPassSGD) -> tuple[np.ndarray, np.ndarray]:
    """One step of E θ², E θy, E y²: the matrix at every x, (nodes, 3, 3), and what noise of g adds, (3,)."""
    pull, kept, one = x + dynamics.weight_decay, dynamics.momentum, np.ones_like(x)
    mean = np.stack([pull * pull, 2 * kept * pull, kept * kept * one], -1)  # y ← μ y + g
    mixed = np.stack([pull, kept * one, 0 * one], -1)
    same = np.stack([one, 0 * one, 0 * one], -1)
    matrix = np.stack([same - 2 * rate * mixed + rate * rate * mean, mixed - rate * mean, mean], -2)
    return matrix, np.array([rate * rate, -rate, 1.0])


def _angle(dynamics: MultiPassSGD, beyond: float, share: float) -> float:
    """Half of the widest angle at which no moment grows from step to step along the contour."""

    def quiet(angle: float) -> bool:
        y = LENS * np.exp(-1j * angle)
        x = beyond * y / (1 + y)
        matrix, gain = _matrices(x, dynamics.learning_rate, dynamics)
        matrix[:, :, 0] += share * (x * x)[:, None] * gain
        return bool(np.abs(np.linalg.eigvals(matrix)).max() <= 1 + 1e-9)

    low, high = 0.0, 2 * ANGLE
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if quiet(middle) else (low, middle)
    if low / 2 < NARROWEST:
        raise BadInput(
            f"learning_rate = {dynamics.learning_rate:g}, batch_size = {dynamics.batch_size:g} and momentum "
            f"= {dynamics.momentum:g}: the noise of the largest eigenvalue feeds itself, or oscillates too "
            "long; take a smaller rate, a larger batch or less momentum"
        )
    return low / 2


def _scatter(
    problem: Problem, n_data: float, noise: float, dynamics: MultiPassSGD
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Train loss, what m adds to the test loss beyond the train loss, and whether training is stable."""
    (_, points), times = problem.points[0], problem.times
    weight, x = 2 * points.contour.weight, -points.contour.s
    power = -weight * points.data_response * (noise**2 + points.kappa * points.overlap) / x
    on_train, on_test = weight * points.learnt, weight * points.learnt / points.data_response
    share, last = _share(dynamics, n_data), int(times.max(initial=0))
    rates = np.append(dynamics.rates(last), 0.0)
    spread, own = np.zeros((2, len(x), 3), complex)  # moments driven by L per direction; by c, weighted
    known: dict[float, tuple[float, float]] = {}
    wanted, steps = set(times), {}
    for t, left in enumerate(dynamics.filters(-x, last)):
        parts = left * left * power + spread[:, 0] * on_train + own[:, 0]
        loss = float(parts.real.sum())
        if not loss < LARGEST:
            break
        if t in wanted:
            known[t] = loss, float((spread[:, 0] * (on_test - on_train)).real.sum())
        if (rate := float(rates[t])) not in steps:
            steps = {rate: _matrices(x, rate, dynamics)}
        matrix, gain = steps[rate]
        spread = np.einsum("jab,jb->ja", matrix, spread) + (share * loss * x)[:, None] * gain
        own = np.einsum("jab,jb->ja", matrix, own) + (share * x * x * parts)[:, None] * gain
    train, extra = np.array([known.get(t, (math.inf, 0.0)) for t in times]).reshape(-1, 2).T
    return train, extra, _feedback(x, on_train, share, dynamics) < 1


def _feedback(x: np.ndarray, on_train: np.ndarray, share: float, dynamics: MultiPassSGD) -> float:
    """Gain of the noise loop at the highest rate: the train loss caused by the noise of a train loss of 1."""
    matrix, gain = _matrices(x, dynamics.learning_rate, dynamics)
    steady = np.linalg.solve(np.eye(3) - matrix, (share * x)[:, None, None] * gain[:, None])
    variance = steady[:, 0, 0]
    return float((variance / (1 - x * variance) * on_train).real.sum())
