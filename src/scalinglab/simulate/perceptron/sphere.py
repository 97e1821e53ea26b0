"""Students on the sphere: minimise the fixed-norm logistic loss, eq. 1 of D'Amico et al. 2025.

The loss Σ V(Δ), V(Δ) = ln(1 + e^{−2λΔ})/λ, is convex in w and kept at ‖w‖² = N. Newton's method on the sphere
solves, in the plane tangent to it, (H + μ) d = −g with the Lagrange multiplier μ = −g·w/N, steps along d and
projects back. The certificate is the projected gradient over the gradient, the sine of the angle
between −g and w: at the minimum the gradient is radial. Sharpnesses are solved in order, each started from
the one before.

Gradients are double, whatever the examples are drawn in; H only has to point the way, and most of the work is
to form it, so it is formed in the precision of the examples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.errors import BadInput, NotConverged
from scalinglab.simulate.perceptron.problem import Problem, observe, rows
from scalinglab.support.validation import checked
from scalinglab.support.work import track

if TYPE_CHECKING:
    from torch import Tensor

    from scalinglab.curves import Curves

FACTOR = 2.0  # largest ratio of consecutive sharpnesses on the way to the wanted ones
BATCHED = 500  # weights up to which the matrices of all seeds are factorised together
NEGLIGIBLE = 1e-6  # of the largest curvature: such examples are left out where matrices are large


@checked
def fixed_norm(problem: Problem, sharpness: Any, tolerance: float = 1e-8, most: int = 100) -> Curves:
    """Minimise the loss on the sphere at each sharpness and observe the minimiser.

    Args:
        problem: from `draw`; it is solved in double precision.
        sharpness: λ, positive; one or many.
        tolerance: largest projected gradient over gradient that counts as a minimum.
        most: Newton steps at one sharpness.

    Returns:
        Curves with a run a seed and sharpness: `norm` (λ), `test_error`, `overlap`, `train_loss` (mean of V),
        `train_error`, margins, and the certificate `gradient`.
    """
    from scalinglab.curves import Curves

    wanted = np.unique(np.asarray(sharpness, float))
    if wanted.size == 0 or not np.all((wanted > 0) & np.isfinite(wanted)):
        raise BadInput(f"sharpness={sharpness} must be positive and finite; the limit 0 is Hebb's rule")
    import torch

    double = problem.to(dtype=torch.float64)
    observed = []
    for value, weights, certificate, steps in _on_the_way(double, problem.examples, wanted, tolerance, most):
        if value in wanted:
            margins = double.margins(weights)
            loss = torch.nn.functional.softplus(-2 * value * margins).mean(dim=1) / value
            found = observe(double, weights, margins) | {"norm": value, "sharpness": value}
            extra = {"train_loss": loss.cpu().numpy(), "gradient": certificate.cpu().numpy(), "steps": steps}
            observed.append(found | extra)
    return Curves(rows(problem, observed), settings=["inputs", "labels"], source="simulate")


@checked
def minimisers(problem: Problem, sharpness: float) -> Tensor:
    """The minimising weights themselves at one sharpness, (seeds, n_params), double."""
    import torch

    double = problem.to(dtype=torch.float64)
    *_, (_, weights, _, _) = _on_the_way(double, problem.examples, np.array([sharpness]), 1e-8, 100)
    return weights


def _on_the_way(
    double: Problem, examples: Tensor, wanted: np.ndarray, tolerance: float, most: int
) -> Iterator[tuple[float, Tensor, Tensor, int]]:
    """The minimisers at the sharpnesses of `path`, each started from the one before."""
    weights = _on_sphere(double.examples.sum(dim=1))  # Hebb's rule
    for value in track(path(wanted), "fixed norm"):
        allowed = tolerance if value in wanted else max(tolerance, 0.05)  # intermediate points may be inexact
        weights, certificate, steps = minimise(double, examples, weights, float(value), allowed, most)
        yield float(value), weights, certificate, steps


def path(wanted: np.ndarray) -> np.ndarray:
    """The wanted sharpnesses with steps between them where they are far apart."""
    values = [min(0.5, wanted[0])]
    for value in wanted:
        count = max(1, math.ceil(math.log(value / values[-1]) / math.log(FACTOR)))
        values += [*np.geomspace(values[-1], value, count + 1)[1:-1], value]
    return np.unique(values)


def minimise(
    problem: Problem, examples: Tensor, weights: Tensor, sharpness: float, tolerance: float, most: int
) -> tuple[Tensor, Tensor, int]:
    """Newton's method on the sphere for every seed; returns weights, certificates and the steps taken.

    The problem is double; `examples` are its examples in any precision, for the Hessian.
    """
    import torch

    n_params = problem.n_params
    margins = problem.margins(weights)
    for step in range(most + 1):
        # forces relative to the largest: at large λ all of them underflow together
        log_force = torch.nn.functional.logsigmoid(-2 * sharpness * margins)
        force = torch.exp(log_force - log_force.max(dim=1, keepdim=True).values)
        gradient = -2 * problem.pull(force)
        radial = (gradient * weights).sum(dim=1, keepdim=True) / n_params
        tangent = gradient - radial * weights
        certificate = tangent.norm(dim=1) / gradient.norm(dim=1)
        if bool((certificate < tolerance).all()):
            return weights, certificate, step
        curvature = 4 * sharpness / n_params * force * torch.sigmoid(2 * sharpness * margins)
        # |μ| keeps the matrix positive where a start is so poor that the gradient points inwards
        pair = _solve(examples, curvature, radial.abs(), torch.stack([tangent, weights], dim=2))
        along = (pair[:, :, 0] * weights).sum(dim=1) / (pair[:, :, 1] * weights).sum(dim=1)
        direction = -(pair[:, :, 0] - along[:, None] * pair[:, :, 1])
        weights, margins = _line_search(problem, weights, margins, direction, sharpness)
    worst = float(certificate.max())
    raise NotConverged(
        f"sharpness={sharpness:g}: the projected gradient is {worst:.1e} of the gradient after {most} Newton "
        f"steps, above tolerance={tolerance:g}"
    )


def _solve(examples: Tensor, curvature: Tensor, shift: Tensor, sides: Tensor) -> Tensor:
    """(Xᵀ D X + μ)⁻¹ of the sides for every seed: X (seeds, n_data, n_params), D on its diagonal, μ a number.

    Large matrices seed by seed: libraries' batched factorisations are made for small ones.
    """
    import torch

    if len(examples) > 1 and examples.shape[2] > BATCHED:
        every = (examples, curvature, shift, sides)
        return torch.cat([_solve(*(t[k : k + 1] for t in every)) for k in range(len(examples))])
    kind = examples.dtype
    if len(examples) == 1:
        bent = curvature[0] > NEGLIGIBLE * curvature.max()
        examples, curvature = examples[:, bent], curvature[:, bent]
    matrix = (examples.transpose(1, 2) * curvature[:, None, :].to(kind)) @ examples
    matrix.diagonal(dim1=1, dim2=2).add_(shift.to(kind))
    factor, failed = torch.linalg.cholesky_ex(matrix)
    if bool(failed.any()) and kind != sides.dtype:  # too close to singular for this precision
        return _solve(examples.to(sides.dtype), curvature, shift, sides)
    return torch.cholesky_solve(sides.to(kind), factor).to(sides.dtype)


def _line_search(
    problem: Problem, weights: Tensor, margins: Tensor, direction: Tensor, sharpness: float
) -> tuple[Tensor, Tensor]:
    """Halve the step, seed by seed, until the loss falls; margins are linear, so this costs one product."""
    import torch

    radius = math.sqrt(problem.n_params)
    change = problem.margins(direction)
    before = _log_loss(margins, sharpness)
    size = torch.ones_like(before)[:, None]
    for _ in range(40):
        moved = weights + size * direction
        shrink = radius / moved.norm(dim=1, keepdim=True)
        tried = (margins + size * change) * shrink
        # rounding of the logarithm hides the last improvements
        worse = ~(_log_loss(tried, sharpness) <= before + 1e-13)
        if not bool(worse.any()):
            break
        size = torch.where(worse[:, None], size / 2, size)
    moved = _on_sphere(moved)
    return moved, problem.margins(moved)


def _log_loss(margins: Tensor, sharpness: float) -> Tensor:
    """ln Σ ln(1 + e^{−2λΔ}), where the sum may underflow."""
    import torch

    exponent = -2 * sharpness * margins
    logs = torch.where(exponent > -30, torch.log(torch.nn.functional.softplus(exponent)), exponent)
    return torch.logsumexp(logs, dim=1)


def _on_sphere(weights: Tensor) -> Tensor:
    return weights * (math.sqrt(weights.shape[1]) / weights.norm(dim=1, keepdim=True))
