"""Students of free norm: gradient descent on the plain logistic loss, as in Fig. 1 of D'Amico et al. 2025.

The loss is (N/P) Σ ln(1 + e^{−2Δ}), eq. 1 at λ = 1 without a constraint, so that the norm ‖w‖/√N of the
student plays the part of the sharpness. Descent starts at zero and so begins along Hebb's rule. Two ways:

- "gradient": plain gradient descent at a constant learning rate, the paper's 10⁶ steps;
- "line_search": the learning rate doubles while the loss falls enough (Armijo) and halves where it does not.

Gradient flow traces one path whatever its speed, so the last one follows the first to larger norms in fewer
steps. It also starts slowly: no step changes the norm by more than a share.

Inputs are float32 as drawn, weights are double: late steps are far below the last digit of a float32 weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.errors import BadInput, nearest
from scalinglab.simulate.perceptron.problem import Problem, observe, rows
from scalinglab.support.validation import checked
from scalinglab.support.work import track

if TYPE_CHECKING:
    from torch import Tensor

    from scalinglab.curves import Curves

METHODS = ("gradient", "line_search")
# of "line_search": the largest relative change of the norm in a step, and the norm after the first one
GROWTH, START = 0.05, 0.01


@checked
def free_norm(
    problem: Problem,
    steps: int = 1000,
    learning_rate: float = 0.1,
    *,
    method: str = "gradient",
    until: float = math.inf,
    checkpoints: int = 80,
) -> Curves:
    """Train every seed's student from zero and observe it at log-spaced steps.

    Args:
        problem: from `draw`.
        steps: steps at most.
        learning_rate: of the loss N·mean ln(1 + e^{−2Δ}); stable below 2α/(1+√α)².
        method: "gradient" or "line_search".
        until: stop when every seed's norm exceeds this.
        checkpoints: how many observations, evenly spaced in ln(step).

    Returns:
        Curves with a run a seed: `step`, `time` (sum of learning rates), `norm` (‖w‖/√N), `test_error`,
        `overlap`, `train_loss` (mean of ln(1+e^{−2Δ})), `train_error` and margins at unit norm.
    """
    from scalinglab.curves import Curves

    _check(steps, learning_rate, method)
    import torch

    seeds, n_params = len(problem.seeds), problem.n_params
    double: dict[str, Any] = {"dtype": torch.float64, "device": problem.examples.device}
    walk = _Walk(
        weights=torch.zeros(seeds, n_params, **double),
        margins=torch.zeros(seeds, problem.n_data, **double),
        rate=torch.full((seeds, 1), learning_rate, **double),
        time=torch.zeros(seeds, 1, **double),
    )
    advance: dict[str, Any] = {
        "gradient": lambda: _gradient(problem, walk, learning_rate),
        "line_search": lambda: _line_search(problem, walk),
    }
    step, marks = 0, np.unique(np.geomspace(1, steps, checkpoints).round().astype(int))
    observed: list[dict[str, Any]] = []
    setting = {"optimizer": method, "learning_rate": learning_rate}
    for mark in track(marks, f"free norm, {method}", total=len(marks)):
        while step < mark:
            advance[method]()
            step += 1
        margins = walk.margins = problem.margins(walk.weights).double()
        loss = torch.nn.functional.softplus(-2 * margins).mean(dim=1).cpu().numpy()
        found = observe(problem, walk.weights, margins)
        observed.append(found | {"step": step, "time": walk.time[:, 0].tolist(), "train_loss": loss})
        if found["norm"].min() > until or not np.isfinite(found["norm"]).all():
            break
    columns: dict[str, Any] = rows(problem, observed) | setting
    return _with_divergence(Curves(columns, settings=["inputs", "labels"], source="simulate"))


def _with_divergence(curves: Curves) -> Curves:
    """Add the step at which the norm of a run stops being finite, and its status."""
    from scalinglab.curves import Curves

    frame = curves.frame
    lost = frame[~np.isfinite(frame["norm"])].groupby("run")["step"].min()
    frame["diverged_at"] = frame["run"].map(lost)
    frame["status"] = np.where(frame["diverged_at"].isna(), "done", "diverged")
    return Curves(frame, settings=["inputs", "labels"])


@dataclass
class _Walk:
    """State of the descent: (seeds, …) tensors, updated in place."""

    weights: Tensor
    margins: Tensor  # kept up to date by the methods that change them along with the weights
    rate: Tensor
    time: Tensor


def _descent(problem: Problem, margins: Tensor) -> Tensor:
    """−∇ of the loss N·mean ln(1 + e^{−2Δ}), which is of order one in each weight."""
    return problem.pull((-2 * margins).sigmoid()).double() * (2 * problem.n_params / problem.n_data)


def _gradient(problem: Problem, walk: _Walk, learning_rate: float) -> None:
    """One plain step in as few operations as possible: it runs a million times."""
    scale = 1 / math.sqrt(problem.n_params)
    product = problem.examples @ walk.weights.to(problem.examples.dtype)[:, :, None]
    force = product.mul_(-2 * scale).sigmoid_()
    step = (force.transpose(1, 2) @ problem.examples)[:, 0]
    walk.weights.add_(step, alpha=learning_rate * scale * 2 * problem.n_params / problem.n_data)
    walk.time.add_(learning_rate)


def _line_search(problem: Problem, walk: _Walk) -> None:
    import torch

    descent = _descent(problem, walk.margins)
    square = (descent**2).sum(dim=1, keepdim=True)
    # the rate at which the norm changes by the share GROWTH, or becomes START at first
    norm = walk.weights.norm(dim=1, keepdim=True)
    first = START * math.sqrt(descent.shape[1])
    allowed = torch.where(norm > 0, GROWTH * norm, first) / descent.norm(dim=1, keepdim=True)
    begun = walk.time > 0
    rate = torch.where(begun, torch.minimum(2 * walk.rate, allowed), allowed)
    change = problem.margins(descent).double()
    before = _loss(problem, walk.margins)
    for _ in range(60):
        after = _loss(problem, walk.margins + rate * change)
        poor = after > before - 0.75 * rate * square
        if not bool(poor.any()):
            break
        rate = torch.where(poor, rate / 2, rate)
    walk.rate = rate
    walk.weights.add_(descent * rate)
    walk.margins = walk.margins + change * rate  # made exact again at every checkpoint
    walk.time.add_(rate)


def _loss(problem: Problem, margins: Tensor) -> Tensor:
    import torch

    return torch.nn.functional.softplus(-2 * margins).mean(dim=1, keepdim=True) * problem.n_params


def _check(steps: int, learning_rate: float, method: str) -> None:
    if method not in METHODS:
        raise BadInput(f"no method {method!r}; {nearest(method, METHODS)}")
    if steps < 1:
        raise BadInput(f"steps={steps} must be 1 or more")
    if not (learning_rate > 0 and math.isfinite(learning_rate)):
        raise BadInput(f"learning_rate={learning_rate:g} must be positive")
