"""Norms of a network: the spectral complexity of damico2025 eq. 2 (Bartlett et al. 2017), and others.

    R = Π_i ρ_i ‖A_i‖_σ · ( Σ_i ( ‖A_iᵀ − M_iᵀ‖_{2,1} / ‖A_i‖_σ )^{2/3} )^{3/2}

For networks with branches the product becomes the Lipschitz constant Λ of the whole network as a function
of its layers' norms (`network_norms.graph`), and each layer counts with its share ∂ log Λ / ∂ log ‖A_i‖
of it (1 for every layer of a chain). For a residual layer x + Bx that is eq. 2 with M = identity.

`definition="column_average"` reads ‖·‖_{2,1} as the text of damico2025 does, as the average of the ℓ2 norms
of the columns; Bartlett et al. and the talk on damico2025 sum them, which is `definition="bartlett"`.

`definition="as_published"` is what the code published with damico2025 computes instead: the spectral norm
of a convolution is that of its reshaped kernel; layer i carries the (2,1) norms (over the columns) of all
*later* layers; in residual networks only the layers outside the blocks count; batch norm is ignored; for
transformers each layer carries its own (2,1) norm (over the rows) and log R is reported in place of R.

All norms are carried as logarithms in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from scalinglab.measure.evaluation import unwrapped
from scalinglab.measure.network_norms.graph import Graph, Layer
from scalinglab.measure.network_norms.tracker import NormTracker, own_state
from scalinglab.results.types import Reason, Remark, TableRows, Worded
from scalinglab.support.validation import checked


@dataclass(frozen=True)
class LayerNorms:
    """What was found for one layer.

    Attributes:
        name: Name of the module.
        kind: "dense" or "convolution", and what was folded into it.
        spectral: ‖A‖_σ, the layer's Lipschitz constant.
        rows: ‖Aᵀ‖_{2,1}: the (2,1) norm that enters the layer's term, by the definition.
        share: ∂ log Λ / ∂ log ‖A‖: 1 on the trunk of a network, less inside branches.
        error: Relative bound on the error of `spectral`: the true norm is at most (1 + error) · spectral, but
            for one in `lanczos.FAILURE` = 10⁻⁴ of the random starts.
    """

    name: str
    kind: str
    spectral: float
    rows: float
    share: float
    error: float


@dataclass(frozen=True)
class Report(Worded):
    """A spectral complexity with everything that went into it.

    Attributes:
        definition: "bartlett", "column_average" or "as_published".
        value: R; inf where it overflows, log R for transformers as published.
        log_value: log R, always finite.
        log_lipschitz: log of the bound on the Lipschitz constant (of the product, as published).
        layers: The linear layers.
        others: Lipschitz constants of the other modules that have one different from 1.
        assumptions: What had to be assumed, in words.
        radius: The bound holds for inputs of at most this ℓ2 length; None where it holds for all.
        missing: Why a number is NaN, in words.
    """

    definition: str
    value: float
    log_value: float
    log_lipschitz: float
    layers: tuple[LayerNorms, ...]
    others: dict[str, tuple[str, float | None]]
    assumptions: tuple[str, ...]
    radius: float | None = None
    missing: str | None = None

    @property
    def remarks(self) -> Iterator[Remark]:
        yield Reason("complexity", definition=self.definition, value=self.value, log=self.log_value)
        rows: list[dict[str, object]] = [
            {"name": layer.name, "kind": layer.kind, "spectral": f"{layer.spectral:.4g}",
             "rows": f"{layer.rows:.4g}", "share": f"{layer.share:.3f}", "error": f"{layer.error:.1e}"}
            for layer in self.layers
        ]  # fmt: skip
        for name, (kind, constant) in self.others.items():
            spectral = Reason("from_weights") if constant is None else f"{constant:.4g}"
            rows.append(
                {"name": name, "kind": kind, "spectral": spectral, "rows": "", "share": "", "error": ""}
            )
        yield TableRows("norms", rows)
        yield from (Reason("assumed", text=text) for text in self.assumptions)
        if self.radius is not None:
            yield Reason("within_radius", radius=self.radius)
        if self.missing:
            yield Reason("not_known", what=self.missing)


@checked
def norms(
    model: nn.Module,
    input_shape: tuple[int, ...],
    definition: str = "bartlett",
    tolerance: float = 1e-4,
    inputs: Tensor | None = None,
) -> dict[str, Any]:
    """The norms of a network as plain numbers.

    "spectral" is a bound on the Lipschitz constant: no slope of the network exceeds it. The slope of a
    product, an exponential or attention depends on how large inputs are; then it holds for inputs of ℓ2
    length at most "radius", the largest of `inputs`. What is not known is NaN, and "missing" says why.

    Args:
        model: Any module of dense and convolution layers, norms, pooling, sums and products of branches, and
            attention. Tokens may be its inputs: then norms are those of the map from their vectors.
        input_shape: Shape of one input, without the batch axis.
        definition: Of the spectral complexity: "bartlett" (sum over columns), "column_average" or
            "as_published".
        tolerance: Relative tolerance of each layer's spectral norm.
        inputs: Examples (n, *input_shape) that the ball contains on which the bound is to hold.

    Returns:
        "spectral_complexity" (R) and "log_spectral_complexity"; "spectral" (the bound on the Lipschitz
        constant that the spectral norms give, their product in a chain; as published always this product)
        and "log_spectral"; "l1", "l2" (of all parameters); "group21" (Σ over layers and output units of the
        ℓ2 norm of incoming weights) and "group21_average" (Σ over layers of the average over the rows of the
        layer's operator);
        "column_average" (R with that average for the sum) and "log_column_average"; "radius" where the bound
        depends on it; "missing", a text, where something is NaN.
    """
    network = unwrapped(model)
    tracker = NormTracker(
        network, input_shape, definition, tolerance=tolerance, capture=False, radius=radius_of(inputs)
    )
    numbers: dict[str, Any] = {name: float(value) for name, value in tracker.measure().items()}
    if tracker.needs_radius and tracker.radius is not None:
        numbers["radius"] = tracker.radius
    if tracker.missing is not None:
        numbers["missing"] = tracker.missing
    return numbers


@checked
def spectral_complexity(
    model: nn.Module,
    input_shape: tuple[int, ...],
    definition: str = "bartlett",
    tolerance: float = 1e-4,
    inputs: Tensor | None = None,
) -> Report:
    """The spectral complexity of a network with each layer's part in it and what was assumed.

    Args:
        model: As in `norms`.
        input_shape: Shape of one input, without the batch axis.
        definition: "bartlett" (eq. 2 for the true operators), "column_average" (the same with the average
            over columns for their sum) or "as_published".
        tolerance: Relative tolerance of each layer's spectral norm.
        inputs: As in `norms`.
    """
    network, which = unwrapped(model), ("spectral_complexity",)
    tracker = NormTracker(
        network, input_shape, definition, which, tolerance, capture=False, radius=radius_of(inputs)
    )
    found = tracker.complexity(own_state(tracker.model))
    graph = tracker.graph
    published = definition == "as_published"
    kinds = {layer.name: _kind(layer, published) for layer in graph.layers}
    layers = tuple(
        LayerNorms(
            name,
            kinds[name],
            math.exp(found.log_spectral[place, 0]),
            math.exp(found.log_rows[place, 0]),
            float(found.shares[place, 0]),
            float(found.errors[name][0]),
        )
        for place, name in enumerate(found.names)
    )
    log_value = float(found.log_value[0])
    value = math.exp(log_value) if log_value < 709 else math.inf  # the largest float is e^709.8
    if published and graph.has_attention:
        value = log_value
    assumptions = _published_assumptions(graph) if published else _assumptions(graph)
    others = {} if published else {n: c for n, c in graph.constants.items() if c[1] != 1.0}
    radius = tracker.radius if tracker.needs_radius else None
    log_lipschitz, missing = float(found.log_lipschitz[0]), tracker.missing
    return Report(definition, value, log_value, log_lipschitz, layers, others, assumptions, radius, missing)


def radius_of(inputs: Tensor | None) -> float | None:
    """The largest ℓ2 length of an example; None for tokens, which have none."""
    if inputs is None or not (inputs := torch.as_tensor(inputs)).is_floating_point():
        return None
    return float(torch.linalg.vector_norm(inputs.detach().double().flatten(1), dim=1).max())


def _published_assumptions(graph: Graph) -> tuple[str, ...]:
    """What the published code assumes of this network."""
    found = ["a convolution's spectral norm is that of its reshaped kernel", "batch norm is ignored"]
    if graph.has_attention:
        found += ["R stands for log R", "every matrix of attention is one factor; layer norm is ignored"]
    else:
        found.append("each layer carries the (2,1) norms, over columns, of the layers after it")
        if graph.has_branches:
            found.append("layers inside residual blocks are left out")
    return tuple(found)


def _assumptions(graph: Graph) -> tuple[str, ...]:
    """What the bound assumes of this network."""
    found = list(graph.assumptions)
    if graph.has_branches:
        found.append(
            "branches that meet in a sum: their Lipschitz constants add; a residual branch has the "
            "identity (or its shortcut) as reference"
        )
    if any(layer.norm for layer in graph.layers):
        found.append("batch norm acts by its running statistics and is folded into the layer before it")
    return tuple(found)


def _kind(layer: Layer, published: bool) -> str:
    kind = "dense" if layer.geometry is None else "convolution"
    if layer.positions > 1:
        kind += f" on {layer.positions} tokens"
    return kind + (" with batch norm" if layer.norm and not published else "")
