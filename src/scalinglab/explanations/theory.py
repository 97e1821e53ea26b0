"""The solved curve L(t, N, P) of a run, from the tangent kernel of its network before training.

With squared loss, the mean over outputs O, gradient descent with rate η acts on the residuals as

    f ← f − (2 η/(O P)) Σ Θ(x, x_μ) (f(x_μ) − y_μ),

so that a step of the theory (bordelon2024 eq. 121) has the rate 2 η/O for the kernel Θ averaged over outputs,
and its target is y − f0. The kernel is that of the network of this very size: N is in it. What doubling the
width buys is found from other draws of the network at this width and at twice the width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import optimize

from scalinglab.explanations.case import Case
from scalinglab.measure import eigh, ntk
from scalinglab.spectrum import MeasuredSpectrum, Spectrum
from scalinglab.theory import dmft, feature_learning

DRAWS = 12  # sets of examples whose losses are compared
FEWER_DRAWS = 5  # of more than MANY examples, whose kernels take seconds each
MANY = 1000  # examples, from which on a kernel takes seconds
REDRAWS = 3  # initialisations at each of the two widths
FEW = 500  # inputs on which their kernels are measured
RICHNESS = (math.log(1e-3), math.log(1e3))  # ln of c |z|², in which the richness is looked for


@dataclass(frozen=True, eq=False)
class Kernel:
    """The kernel of a run's network before training.

    Attributes:
        measured: its spectrum on the sample, exponents with intervals.
        spectrum: of the population, with completed tails.
        matrix: on the sample, (n, n).
        residual: y − f before training there, (n, outputs).
    """

    measured: MeasuredSpectrum
    spectrum: Spectrum
    matrix: np.ndarray
    residual: np.ndarray


def kernel_of(case: Case) -> Kernel:
    """Measure the kernel of a case, on a GPU where there is one."""
    if torch.cuda.is_available():
        case.model.to("cuda")
    matrix, residual = ntk(case.model, case.x), case.residual()
    measured = Spectrum.from_kernel(matrix, residual, eigh)
    return Kernel(measured, measured.completed(), matrix, residual)


def largest_rate(case: Case, kernel: Kernel) -> float:
    """The learning rate below which descent on the kernel is stable: 2 (1 + μ) over its largest eigenvalue.

    In units of the engine, whose loss is a mean over outputs: see the module's equation.
    """
    return (1 + case.momentum) * case.n_outputs / float(kernel.measured.eigenvalues[0])


def solve(case: Case, kernel: Kernel, steps: np.ndarray, n_data: float) -> np.ndarray:
    """Test losses, means over outputs, at steps; infinite where descent is unstable."""
    rate = 2 * case.learning_rate / case.n_outputs
    steps = np.round(np.asarray(steps, float))
    if case.online:
        dynamics: dmft.OnePassSGD | dmft.GradientDescent = dmft.OnePassSGD(rate, case.batch_size or n_data)
        n_data = math.inf
    else:
        dynamics = dmft.GradientDescent(rate, case.momentum)
    found = dmft.solve(kernel.spectrum, steps, n_data=n_data, dynamics=dynamics)
    if not found.stable:
        return np.full(len(steps), math.inf)
    return np.asarray(found.test_loss) / case.n_outputs


def trained_features(case: Case, kernel: Kernel, lazy: np.ndarray) -> tuple[float, np.ndarray]:
    """The richness whose curve lies nearest to the measured losses, and that curve at the checkpoints.

    `theory.feature_learning` for the run's kernel, examples and times: the solved lazy losses times what
    trained features make of them under gradient flow. Richness is the one number that is fitted, to ln L.
    """
    times = 2 * case.learning_rate / case.n_outputs / (1 - case.momentum) * np.round(case.steps)
    n_data = math.inf if case.online else case.n_data
    nodes = kernel.spectrum.nodes()
    learnt = -np.expm1(-nodes.eigenvalues * times[-1])
    readout = float(np.sum(nodes.power / nodes.eigenvalues * learnt**2))  # |z|² of the lazy model at the end

    def losses(richness: float) -> np.ndarray:
        return feature_learning.solve(kernel.spectrum, times, richness, n_data=n_data).test_loss

    flow = losses(0.0)

    def miss(log_richness: float) -> float:
        rich = lazy * losses(math.exp(log_richness) / readout) / flow
        return float(np.mean(np.log(case.test_loss / rich) ** 2))

    best = optimize.minimize_scalar(miss, bounds=RICHNESS, method="bounded", options={"xatol": 0.05}).x
    richness = math.exp(best) / readout
    return richness, lazy * losses(richness) / flow


def redrawn(case: Case, kernel: Kernel, steps: np.ndarray) -> np.ndarray:
    """Losses (draws, steps) of descent with the kernel on draws of P examples from the sample.

    No theory is in them, so their mean beside the solved loss is the theory's own error, and their scatter is
    that of one draw. No draws where the sample is smaller than twice the examples, nor online, where every
    batch is another draw.
    """
    n = len(kernel.matrix)
    if case.online or 2 * case.n_data > n:
        return np.empty((0, len(steps)))
    rng = np.random.default_rng(0)
    draws = DRAWS if case.n_data <= MANY else FEWER_DRAWS
    chosen = [np.sort(rng.permutation(n)[: case.n_data]) for _ in range(draws)]
    return np.array([descended(case, kernel, one, steps) for one in chosen])


def descended(case: Case, kernel: Kernel, chosen: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Losses (steps,), means over outputs, on all other inputs, of descent with the kernel on the chosen."""
    left = np.setdiff1d(np.arange(len(kernel.matrix)), chosen)
    values, vectors = eigh(kernel.matrix[np.ix_(chosen, chosen)] / len(chosen))
    values = np.maximum(values, values[-1] * len(values) * np.finfo(float).eps)
    rule = dmft.GradientDescent(2 * case.learning_rate / case.n_outputs, case.momentum)
    kept = np.real(rule.filter(-values + 0j, np.round(steps)))  # (steps, modes)
    target = vectors.T @ kernel.residual[chosen]  # (modes, outputs)
    weights = vectors @ np.concatenate([((1 - one) / values)[:, None] * target for one in kept], axis=1)
    learnt = kernel.matrix[np.ix_(left, chosen)] @ weights / len(chosen)
    learnt = learnt.reshape(len(left), len(kept), -1)
    return np.asarray(np.mean((kernel.residual[left][:, None] - learnt) ** 2, axis=(0, 2)))


@dataclass(frozen=True)
class Doubling:
    """Effect of doubling one resource on the test loss.

    Attributes:
        resource: "time", "data" or "params".
        factor: loss after over loss before; infinite where descent with the run's rate is unstable then.
        slope: ∂ ln L/∂ ln resource of the theory; nan there.
        error: of the factor, from other draws of the network; 0 where none is drawn.
        measured: the slope of measured curves; nan where there is none.
    """

    resource: str
    factor: float
    slope: float
    error: float = 0.0
    measured: float = math.nan


def doublings(case: Case, kernel: Kernel, step: float) -> list[Doubling]:
    """Change of the loss at a step from doubling time, data and width."""
    now = solve(case, kernel, np.array([step, 2 * step]), case.n_data)
    factors = {"time": now[1] / now[0]}
    if not case.online:
        factors["data"] = solve(case, kernel, np.array([step]), 2 * case.n_data)[0] / now[0]
    found = [Doubling(name, float(f), math.log(f) / math.log(2)) for name, f in factors.items()]
    if case.redraw is not None and case.width > 0:
        found.append(_wider(case, step))
    return found


def _wider(case: Case, step: float) -> Doubling:
    """Loss at twice the width over that at this width, each the mean over draws of the network.

    In standard parameterization the kernel grows with width, and a rate that is stable here may not be there.
    """
    losses = []
    for factor in (1.0, 2.0):
        for seed in range(REDRAWS):
            other = replace(case, model=case.redraw(10_000 + seed, factor), x=case.x[:FEW], y=case.y[:FEW])
            losses.append(solve(other, kernel_of(other), np.array([step]), case.n_data)[0])
    if not np.isfinite(losses).all():
        return Doubling("params", math.inf, math.nan)
    table = np.log(np.reshape(losses, (2, REDRAWS)))
    change = float(np.diff(table.mean(1))[0])
    error = math.sqrt(float(np.sum(table.var(1, ddof=1))) / REDRAWS)
    return Doubling("params", math.exp(change), change / math.log(2), math.exp(change) * error)


def never_learnt(case: Case, kernel: Kernel, loss: float) -> float:
    """Share of a loss that remains with a million times the data and unlimited training."""
    nodes = kernel.spectrum.nodes()
    modes = np.searchsorted(np.cumsum(nodes.count), 1e6 * case.n_data)
    kappa = float(nodes.eigenvalues[min(int(modes), len(nodes) - 1)])
    left = float(nodes.power @ (kappa / (nodes.eigenvalues + kappa)) ** 2) / case.n_outputs
    return min(left / loss, 1.0)
