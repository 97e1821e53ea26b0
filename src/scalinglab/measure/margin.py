"""Classification margins, raw and normalised by the network's complexity.

    margin(x, y) = f(x)_y − max_{j≠y} f(x)_j,        normalised = margin / ( R · ‖X‖_F / n )

with R the spectral complexity, X the n inputs as rows (Bartlett et al. 2017; damico2025 figure 6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from scalinglab.errors import BadInput
from scalinglab.measure.evaluation import as_inputs, batches, evaluating, initialised, logits_of
from scalinglab.measure.network_norms.report import spectral_complexity
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.support.validation import checked


@dataclass(frozen=True)
class Margins(Worded):
    """Margins of the examples of a set.

    Attributes:
        raw: f(x)_y − max_{j≠y} f(x)_j, (n,); negative where the example is misclassified.
        normalized: Divided by complexity × input scale, (n,).
        log_complexity: log R.
        input_scale: ‖X‖_F / n.
    """

    raw: NDArray[np.float64]
    normalized: NDArray[np.float64]
    log_complexity: float
    input_scale: float

    def quantiles(
        self, levels: tuple[float, ...] = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0), normalized: bool = True
    ) -> dict[float, float]:
        """Quantiles of the margins by level; level 0 is the smallest margin."""
        values = self.normalized if normalized else self.raw
        return dict(zip(levels, np.quantile(values, levels).tolist(), strict=True))

    @property
    def error(self) -> float:
        """Fraction of examples with a margin that is not positive."""
        return float(np.mean(self.raw <= 0))

    @property
    def remarks(self) -> Iterator[Remark]:
        found = {"error": self.error, "log_complexity": self.log_complexity}
        yield Reason("margins", margins=len(self.raw), **found)
        raw = self.quantiles(normalized=False)
        for level, value in self.quantiles().items():
            yield Reason("margin_quantile", level=100 * level, raw=raw[level], normalised=value)


@torch.no_grad()
@checked
def margins(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    definition: str = "bartlett",
    log_complexity: float | None = None,
    batch_size: int = 1000,
) -> Margins:
    """Margins of examples under a network, in evaluation mode.

    Args:
        model: Maps inputs to at least two logits.
        x: Inputs (n, ...), tensors or arrays.
        y: Class labels (n,).
        definition: Of the spectral complexity, see `scalinglab.measure.network_norms.report`.
        log_complexity: log R if it is known already; otherwise it is measured.
        batch_size: Inputs passed through the network at a time.
    """
    x, y = as_inputs(model, x), torch.as_tensor(y)
    if len(x) != len(y) or len(x) == 0:
        raise BadInput(
            f"{len(x)} inputs and {len(y)} labels: margins need as many labels as inputs, and some"
        )
    if y.is_floating_point() or y.ndim != 1:
        raise BadInput(
            f"labels of type {y.dtype} and shape {tuple(y.shape)}: margins need an integer for each input"
        )
    device = next(model.parameters()).device
    model = initialised(model, x[:1].to(device))
    with evaluating(model):
        outputs = [model(part.to(device)) for (part,) in batches(batch_size, x)]
    logits = torch.cat([logits_of(part, "margins need its logits") for part in outputs]).double()
    if logits.ndim != 2 or logits.shape[1] < 2:
        raise BadInput(
            f"outputs of shape {tuple(logits.shape)}: margins need (n, classes) with two classes or more"
        )
    labels = y.to(device, torch.int64)[:, None]
    if int(labels.min()) < 0 or int(labels.max()) >= logits.shape[1]:
        raise BadInput(
            f"labels reach from {int(labels.min())} to {int(labels.max())}, outputs have {logits.shape[1]}"
        )
    own = logits.gather(1, labels).squeeze(1)
    best_other = logits.scatter(1, labels, -math.inf).amax(1)
    raw = (own - best_other).cpu().numpy()
    scale = float(torch.linalg.vector_norm(x.flatten().double())) / len(x)
    if log_complexity is None:
        log_complexity = spectral_complexity(model, tuple(x.shape[1:]), definition).log_value
    with np.errstate(divide="ignore"):
        # in logarithms: the complexity of a deep network may be beyond 1e308
        size = np.exp(np.log(np.abs(raw)) - log_complexity - math.log(max(scale, 1e-300)))
    return Margins(raw, np.sign(raw) * size, log_complexity, scale)
