"""Networks small enough to average over: the corrections of order 1/D and 1/width as numbers (section 2.1).

*Data.* D examples are drawn with replacement from a population of N. Training then sees each example with a
weight w_i, its share of the D draws, and the test loss after T steps of gradient descent is a function of the
weights, L(w). Their mean is 1/N and their covariance (δ_ij/N − 1/N²)/D, so that

    E L(D) = L(1/N) + c/D + O(D^−2),   c = (Σ_i H_ii/N − Σ_ij H_ij/N²)/2,

with H the second derivatives of L at equal weights, taken through all steps. The other way is the mean over
draws; from each the first order Σ_i g_i (w_i − 1/N) is subtracted, whose mean is zero.

*Width.* f(x) = σ v·φ(σ W x/√d)/√width with standard normal v, W. At infinite width f is a Gaussian process
with covariance K, and gradient descent of (f − y)²/2 moves it by the tangent kernel Θ: with
A = 1 − (η/n) Θ(X, X) and B = (η/n) Θ(·, X) Σ_{s<T} A^s the outputs after T steps are f − B (f(X) − y). The
covariance of f is K at every width, so that the mean squared error of these outputs has one mean for all
widths, that of the limit. It is subtracted from the loss of each network, which leaves the correction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from scalinglab.theory.infinite_width import CRITICAL_WEIGHT_VARIANCE, Kernels, kernels

ACTIVATIONS = {"erf": torch.erf, "relu": torch.relu}
AT_ONCE = 1 << 22  # hidden units times examples, of all stacked networks


@dataclass(frozen=True)
class Task:
    """A random regression task and gradient descent on it.

    Attributes:
        size: of the targets.
        noise: standard deviation of the targets' noise.
    """

    n_seen: int
    n_unseen: int = 32
    dimension: int = 2
    size: float = 1.0
    noise: float = 0.0
    steps: int = 40
    rate: float = 0.5
    seed: int = 0

    def examples(self) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Inputs (n, dimension) and targets (n,), seen and unseen."""
        random = np.random.default_rng(self.seed)
        found = []
        for n in (self.n_seen, self.n_unseen):
            x = random.normal(size=(n, self.dimension))
            y = self.size * (np.sin(2 * x[:, 0]) + x[:, -1]) + self.noise * random.normal(size=n)
            found.append((torch.from_numpy(x), torch.from_numpy(y)))
        return found[0], found[1]


# --- data -------------------------------------------------------------------------------------------------

HIDDEN = 3


def loss_of_weights(task: Task, weights: Tensor) -> Tensor:
    """Test loss of a network of three hidden erf units, trained on examples of these weights, (n_seen,)."""
    (x, y), (unseen, target) = task.examples()
    random = np.random.default_rng([task.seed, 2])
    shapes = ((task.dimension, HIDDEN), (HIDDEN,), (HIDDEN,), (1,))
    values = [torch.from_numpy(random.normal(size=shape)) for shape in shapes]

    def outputs(at_values: list[Tensor], at: Tensor) -> Tensor:
        first, first_bias, last, last_bias = at_values
        return torch.erf(at @ first + first_bias) @ last + last_bias

    def training(*at_values: Tensor) -> Tensor:
        return (weights * (outputs(list(at_values), x) - y).square()).sum() / 2

    gradient = torch.func.grad(training, argnums=tuple(range(len(shapes))))
    for _ in range(task.steps):
        values = [value - task.rate * g for value, g in zip(values, gradient(*values))]
    return (outputs(values, unseen) - target).square().mean()


def data_coefficient(task: Task) -> tuple[float, np.ndarray, float]:
    """L at equal weights, its gradient (n_seen,), and c of c/D, by derivatives through the training."""
    equal = torch.full((task.n_seen,), 1 / task.n_seen, dtype=torch.float64)

    def loss(weights: Tensor) -> Tensor:
        return loss_of_weights(task, weights)

    hessian = torch.func.jacrev(torch.func.grad(loss))(equal)
    c = (hessian.trace() / task.n_seen - hessian.sum() / task.n_seen**2) / 2
    return float(loss(equal)), torch.func.grad(loss)(equal).numpy(), float(c)


def data_excess(task: Task, sizes: np.ndarray, draws: int) -> np.ndarray:
    """L(D) less that at equal weights and less the first order, (draws, sizes)."""
    limit, gradient, _ = data_coefficient(task)
    random = np.random.default_rng([task.seed, 1])
    trained = torch.vmap(lambda weights: loss_of_weights(task, weights), chunk_size=4096)
    found = []
    for size in sizes:
        shares = random.multinomial(size, np.full(task.n_seen, 1 / task.n_seen), draws) / size
        first = (shares - 1 / task.n_seen) @ gradient
        found.append(trained(torch.from_numpy(shares)).numpy() - limit - first)
    return np.stack(found, 1)


# --- width ------------------------------------------------------------------------------------------------


def moved_by_kernel(task: Task, activation: str) -> np.ndarray:
    """B, (n_unseen, n_seen)."""
    n, ntk = task.n_seen, _kernels(task, activation).ntk
    step = np.eye(n) - task.rate / n * ntk[:n, :n]
    powers = sum((np.linalg.matrix_power(step, s) for s in range(task.steps)), np.zeros((n, n)))
    return np.asarray(task.rate / n * ntk[n:, :n] @ powers)


def _kernels(task: Task, activation: str) -> Kernels:
    """Kernels between all inputs, the seen ones first."""
    (x, _), (unseen, _) = task.examples()
    return kernels(torch.cat([x, unseen]).numpy(), activation=activation)


def width_excess(task: Task, activation: str, width: int, draws: int) -> np.ndarray:
    """Test losses of networks less those of the same initial outputs at infinite width, (draws,).

    A draw is a pair of networks that start from (W, v) and from (W, −v).
    """
    at_once = max(1, AT_ONCE // (width * task.n_seen))
    random = torch.Generator().manual_seed(1000 * task.seed + width)
    found = []
    for start in range(0, draws, at_once):
        count = min(at_once, draws - start)
        first, last = (
            torch.randn(shape, generator=random, dtype=torch.float64)
            for shape in ((count, task.dimension, width), (count, width, 1))
        )
        found.append(sum(_excess(task, activation, first, sign * last) for sign in (1, -1)) / 2)
    return np.concatenate(found)


def _excess(task: Task, activation: str, first: Tensor, last: Tensor) -> np.ndarray:
    """Test losses of stacked networks less those at infinite width, (networks,)."""
    (x, y), (unseen, target) = task.examples()
    scale, moved = (
        CRITICAL_WEIGHT_VARIANCE[activation] ** 0.5,
        torch.from_numpy(moved_by_kernel(task, activation)),
    )

    def outputs(at: Tensor) -> Tensor:
        hidden = ACTIVATIONS[activation](scale * at @ first / task.dimension**0.5)
        return (scale * hidden @ last / last.shape[1] ** 0.5)[..., 0]

    at_limit = outputs(unseen) - (outputs(x) - y) @ moved.T
    for _ in range(task.steps):
        first, last = first.detach().requires_grad_(), last.detach().requires_grad_()
        loss = (outputs(x) - y).square().mean(1).sum() / 2
        by_first, by_last = torch.autograd.grad(loss, [first, last])
        first, last = first - task.rate * by_first, last - task.rate * by_last
    with torch.no_grad():
        found = [(values - target).square().mean(1) for values in (outputs(unseen), at_limit)]
    return np.asarray(found[0] - found[1])
