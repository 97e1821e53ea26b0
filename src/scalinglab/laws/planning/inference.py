"""The model that reaches a loss with the least compute for training and inference together.

Sardana et al. 2024, eq. 2: minimise 6 N D + 2 N D_inf over N and D with L(N, D) = loss, D_inf the examples
(or tokens) that the model will process. Without inference this is the compute-optimal model; the more it is
used, the smaller it is and the longer it trains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from scalinglab.errors import BadInput
from scalinglab.laws.fitting.data.points import positive
from scalinglab.laws.surface import FLOPS_PER_PARAM_EXAMPLE, Surface
from scalinglab.results.distributions import Interval
from scalinglab.results.sentences import Column
from scalinglab.results.types import Reason, Remark, Worded

FLOPS_OF_USE = 2.0  # convention: per parameter and example: a forward pass
REACH = 12.0  # search: of ln n_params below the mean of the runs, and three times as far above


@dataclass(frozen=True)
class InferenceOptimal(Worded):
    """The cheapest model of a loss.

    Attributes:
        loss: to reach.
        used: examples that the model will process.
        n_params, n_data: of the cheapest model.
        training, inference: FLOPs of each.
        compute_optimal: (n_params, n_data) of the model that is cheapest to train.
        saved: how much more that model costs in all, as a fraction.
        loss_interval: 95 %, of the loss of the cheapest model.
        beyond: compute of its training over the largest compute of the runs.
    """

    loss: float
    used: float
    n_params: float
    n_data: float
    training: float
    inference: float
    compute_optimal: tuple[float, float]
    saved: float
    loss_interval: Interval
    beyond: float

    @property
    def remarks(self) -> Iterator[Remark]:
        (n, d), (low, high) = self.compute_optimal, self.loss_interval
        yield Reason(
            "inference", loss=self.loss, low=low, high=high, used=self.used, unit=Column("n_data"),
            n_params=self.n_params, n_data=self.n_data, cost=self.training + self.inference, n=n, d=d,
            far=Reason("inference_beyond", times=self.beyond) if self.beyond > 1 else "",
            more=100 * max(self.saved, 0.0),
        )  # fmt: skip


def inference_optimal(
    surface: Surface, loss: float, used: float, *,
    flops_per_param_example: float = FLOPS_PER_PARAM_EXAMPLE, flops_of_use: float = FLOPS_OF_USE,
) -> InferenceOptimal:  # fmt: skip
    """The model that reaches `loss` with the fewest FLOPs of training and inference.

    Args:
        surface: of n_params and n_data.
        loss: to reach; above the surface's floor.
        used: examples (or tokens) that it will process at inference; 0 for training alone.
        flops_per_param_example: of training.
        flops_of_use: per parameter and example (or token) at inference.

    Raises:
        NotDetermined: where `Surface.compute_optimal` refuses the compute of this model's training.
    """
    positive(loss=loss, flops_per_param_example=flops_per_param_example, flops_of_use=flops_of_use)
    if surface.law.form.variables != ("n_params", "n_data"):
        raise BadInput(f"{surface.law.form.name} is not a surface of n_params and n_data")
    if used < 0:
        raise BadInput(f"used={used:g} must be 0 or more examples (or tokens)")
    centre = float(np.mean(np.log(surface.law.points.x[0])))

    def data_for(log_n: float) -> float:
        """ln n_data at which a model of that size reaches the loss; infinite where it never does."""

        def above(log_d: float) -> float:
            return float(surface.predict(n_params=np.exp(log_n), n_data=np.exp(log_d))) - loss

        low, high = 0.0, 120.0
        if above(high) > 0:
            return np.inf
        return low if above(low) < 0 else float(optimize.brentq(above, low, high))

    def cost(log_n: float, life: float) -> float:
        log_d = data_for(log_n)
        use = np.log(max(life, 1e-300) * flops_of_use)
        return float(np.logaddexp(np.log(flops_per_param_example) + log_d, use) + log_n)

    def cheapest(life: float) -> float:
        sizes = np.linspace(centre - REACH, centre + 3 * REACH, 240)
        costs = np.array([cost(v, life) for v in sizes])
        if not np.isfinite(costs).any():
            raise BadInput(f"loss={loss:g} is reached by no model: it lies below the floor of this surface")
        best = int(np.argmin(costs))
        ends = sizes[max(best - 1, 0)], sizes[min(best + 1, len(sizes) - 1)]
        return float(optimize.minimize_scalar(cost, bounds=ends, args=(life,), method="bounded").x)

    alone, best = cheapest(0.0), cheapest(used)
    n, d = np.exp(best), np.exp(data_for(best))
    training, inference = flops_per_param_example * n * d, flops_of_use * n * used
    other = np.exp(cost(alone, used))
    optimal = surface.compute_optimal(training, flops_per_param_example=flops_per_param_example)
    return InferenceOptimal(
        float(loss), float(used), float(n), float(d), float(training), float(inference),
        (float(np.exp(alone)), float(np.exp(data_for(alone)))), float(other / (training + inference) - 1),
        surface.interval(n_params=n, n_data=d), float(optimal.beyond),
    )  # fmt: skip
