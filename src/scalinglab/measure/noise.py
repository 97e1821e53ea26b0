"""The gradient's own noise, and the scale that hyperparameters set (`scalinglab.sgd_noise`).

The gradient's own noise is measured by (McCandlish et al. 2018) tr Σ, the summed variance of single-example
gradients, and B_simple = tr Σ / |G|².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from scalinglab.errors import BadInput, nearest
from scalinglab.measure.evaluation import (
    as_inputs,
    batches,
    evaluating,
    initialised,
    jacobians,
    logits_of,
    trained,
)
from scalinglab.sgd_noise import noise_scale, normalized_noise_scale
from scalinglab.support.validation import checked

__all__ = [
    "GradientNoise", "gradient_noise", "noise_scale", "normalized_noise_scale",
]  # fmt: skip


@dataclass(frozen=True)
class GradientNoise:
    """Mean and spread of single-example gradients.

    Attributes:
        gradient_square: |G|², the squared length of the mean gradient, without the bias of a finite sample
            (it may come out negative where noise hides the gradient).
        trace: tr Σ, the summed variance of single-example gradients.
        n: Examples used.
    """

    gradient_square: float
    trace: float
    n: int

    @property
    def simple_noise_scale(self) -> float:
        """B_simple = tr Σ / |G|², the batch size at which noise and gradient are equal; inf if |G|² ≤ 0."""
        return self.trace / self.gradient_square if self.gradient_square > 0 else float("inf")


@torch.inference_mode(mode=False)
@checked
def gradient_noise(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    loss: str | Callable[[Tensor, Tensor], Tensor] = "cross_entropy",
    batch_size: int = 64,
) -> GradientNoise:
    """Measure the noise of single-example gradients, in evaluation mode.

    Args:
        model: A network (batch norm acts by its running statistics, or examples would not be single).
        x: Inputs (n, ...), tensors or arrays, n ≥ 2.
        y: Targets (n, ...).
        loss: "cross_entropy", "mse", or your own: a function of (outputs, targets) of a batch of one, which
            returns one number.
        batch_size: Gradients held at a time.
    """
    x, y = as_inputs(model, x), torch.as_tensor(y)
    if len(x) < 2 or len(x) != len(y):
        raise BadInput(f"{len(x)} inputs and {len(y)} targets: the gradient noise needs two pairs or more")
    if isinstance(loss, str) and loss not in ("cross_entropy", "mse"):
        raise BadInput(f"unknown loss {loss!r}: {nearest(loss, ('cross_entropy', 'mse'))}")
    measure: Callable[[Any, Tensor], Tensor]
    if callable(loss):
        measure = loss
    else:
        built_in = F.cross_entropy if loss == "cross_entropy" else F.mse_loss
        needed = f"loss = {loss!r} takes a tensor; give a function of (outputs, targets)"

        def measure(outputs: Any, target: Tensor) -> Tensor:
            return built_in(logits_of(outputs, needed), target)

    device = next(model.parameters()).device
    model = initialised(model, x[:1].to(device))
    parameters = trained(model)
    buffers = dict(model.named_buffers())

    def single(parameters: dict[str, Tensor], one: Tensor, target: Tensor) -> Tensor:
        value = measure(functional_call(model, {**parameters, **buffers}, (one[None],)), target[None])
        if value.numel() != 1:
            raise BadInput(
                f"the loss of one example is a tensor of shape {tuple(value.shape)}, and must be one number: "
                "average over what an example holds"
            )
        return value.reshape(())

    # float64: the trace is a difference of two sums that may be nearly equal
    total = {name: torch.zeros_like(p, dtype=torch.float64) for name, p in parameters.items()}
    squares = 0.0
    with evaluating(model), sdpa_kernel(SDPBackend.MATH):  # fused attention has no batched derivative
        for part, target in batches(batch_size, x, y):
            gradients = jacobians(single, parameters, part.to(device), target.to(device))
            for name, gradient in gradients.items():
                total[name] += gradient.sum(0, dtype=torch.float64)
                squares += float(gradient.double().square().sum())
    n = len(x)
    mean_square = sum(float((t / n).square().sum()) for t in total.values())
    trace = (squares - n * mean_square) / (n - 1)
    # the mean over n examples has |G|² + tr Σ/n on average
    return GradientNoise(mean_square - trace / n, trace, n)
