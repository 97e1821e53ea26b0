"""The training of linearised networks, solved in the eigenbasis of their kernel.

With squared loss, gradient descent on the linearisation at θ0 acts on residuals r = f − y of P examples as

    r(t+1) = r(t) − (2 η/(P · outputs)) K r(t),    K = ∂f/∂θ ∂f/∂θᵀ, of shape (P · outputs, P · outputs),

which K's eigenvectors decouple; momentum acts on each by itself. What is learnt carries over to any other
input by K(x, X).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from scalinglab.curves import Curves
from scalinglab.measure import eigh
from scalinglab.measure.evaluation import batches, evaluating
from scalinglab.theory.dmft import GradientDescent


def solve_linearized(
    model: nn.Module,
    train: tuple[Tensor, ArrayLike],
    test: tuple[Tensor, ArrayLike],
    *,
    steps: Sequence[int] | np.ndarray,
    learning_rate: float,
    momentum: float = 0.0,
) -> Curves:
    """Gradient descent on all examples with squared loss, for the network linearised as it is now.

    Args:
        model: The network; any module.
        train, test: Inputs (n, …) and targets (n,) or (n, outputs).
        steps: At which losses are wanted, in any order.
        learning_rate: η, for a loss that is the mean over examples and outputs, as the engine's "mse".
        momentum: μ of the heavy ball.

    Returns:
        Curves with `step`, `train_loss` and `test_loss`.
    """
    (x, y), (test_x, test_y) = ((torch.as_tensor(a), np.asarray(b, float)) for a, b in (train, test))
    y, test_y = y.reshape(len(y), -1), test_y.reshape(len(test_y), -1)
    jacobian, test_jacobian = _jacobian(model, x), _jacobian(model, test_x)
    values, vectors = eigh(jacobian @ jacobian.T)
    cross = test_jacobian @ jacobian.T
    left, right = (_outputs(model, a) - b for a, b in ((x, y), (test_x, test_y)))
    return _descend(values, vectors, cross, left, right, np.asarray(steps), learning_rate, momentum)


def _descend(
    values: np.ndarray, vectors: np.ndarray, cross: np.ndarray, left: np.ndarray, right: np.ndarray,
    steps: np.ndarray, learning_rate: float, momentum: float,
) -> Curves:  # fmt: skip
    """Losses from residuals before training: `left` of the examples, `right` of test inputs."""
    rule = GradientDescent(2 * learning_rate / left.size, momentum)
    values = np.maximum(values, values[-1] * len(values) * np.finfo(float).eps)  # what rounding left
    factors = np.real(rule.filter(-values + 0j, np.ravel(steps)))  # (steps, modes)
    coefficients = vectors.T @ left.ravel()
    learnt = (cross @ vectors) * (coefficients / values)
    train_loss = np.square(factors * coefficients).mean(1)
    remaining = right.ravel() - (1 - factors) @ learnt.T
    return Curves(
        {"model": "linearized", "learning_rate": learning_rate, "momentum": momentum, "n_data": len(left),
         "step": np.ravel(steps), "train_loss": train_loss, "test_loss": np.square(remaining).mean(1)},
        source="theory",
    )  # fmt: skip


def _jacobian(model: nn.Module, x: Tensor) -> np.ndarray:
    """∂f/∂θ of all outputs of all examples, (examples · outputs, parameters)."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def single(parameters: dict[str, Tensor], one: Tensor) -> Tensor:
        return functional_call(model, parameters, (one[None],))[0]

    blocks = vmap(jacrev(single), in_dims=(None, 0))(parameters, x).values()
    return torch.cat([block.flatten(2) for block in blocks], -1).flatten(0, 1).double().numpy()


@torch.no_grad()
def _outputs(model: nn.Module, x: Tensor) -> np.ndarray:
    device = next(model.parameters()).device
    with evaluating(model):
        found = [model(part.to(device)).reshape(len(part), -1).double().cpu() for (part,) in batches(1000, x)]
    return torch.cat(found).numpy()  # type: ignore[no-any-return]
