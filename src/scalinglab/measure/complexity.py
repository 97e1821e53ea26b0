"""Norms of a network: the spectral complexity of damico2025 eq. 2 (Bartlett et al. 2017), and others.

    R = Π_i ρ_i ‖A_i‖_σ · ( Σ_i ( ‖A_iᵀ − M_iᵀ‖_{2,1} / ‖A_i‖_σ )^{2/3} )^{3/2}

For networks with branches the product becomes the Lipschitz constant Λ of the whole network as a function
of its layers' norms (`scalinglab.measure.graph`), and each layer counts with its share ∂ log Λ / ∂ log ‖A_i‖
of it (1 for every layer of a chain). For a residual layer x + Bx that is eq. 2 with M = identity.

`definition="as_published"` is what the code published with damico2025 computes instead: the spectral norm
of a convolution is that of its reshaped kernel; layer i carries the (2,1) norms (over the columns) of all
*later* layers; in residual networks only the layers outside the blocks count; batch norm is ignored; for
transformers each layer carries its own (2,1) norm (over the rows) and log R is reported in place of R.

All norms are carried as logarithms in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from scalinglab.errors import BadInput, nearest
from scalinglab.measure.functional import fisher_rao, path_norm, paths_exist
from scalinglab.measure.graph import Graph, Layer, Stack, layer_weight, raw_weight
from scalinglab.measure.operators import ConvGeometry, rows_norm, spectral_norm
from scalinglab.measure.tracing import is_leaf, trace

DEFINITIONS = ("bartlett", "as_published")
NAMES = ("spectral_complexity", "spectral", "l1", "l2", "group21", "path")
Starts = dict[str, Tensor]  # layer -> right singular vectors, the warm start of the next measurement


@dataclass(frozen=True)
class LayerNorms:
    """What was found for one layer.

    Attributes:
        name: Name of the module.
        kind: "dense" or "convolution", and what was folded into it.
        spectral: ‖A‖_σ, the layer's Lipschitz constant.
        rows: ‖Aᵀ‖_{2,1} (for as_published the (2,1) norm that enters the layer's term).
        share: ∂ log Λ / ∂ log ‖A‖: 1 on the trunk of a network, less inside branches.
        error: Relative bound on the error of `spectral`.
    """

    name: str
    kind: str
    spectral: float
    rows: float
    share: float
    error: float


@dataclass(frozen=True)
class Report:
    """A spectral complexity with everything that went into it.

    Attributes:
        definition: "bartlett" or "as_published".
        value: R; inf where it overflows, log R for transformers as published.
        log_value: log R, always finite.
        log_lipschitz: log of the product (of the Lipschitz constant).
        layers: The linear layers.
        others: Lipschitz constants of the other modules that have one different from 1.
        assumptions: What had to be assumed, in words.
    """

    definition: str
    value: float
    log_value: float
    log_lipschitz: float
    layers: tuple[LayerNorms, ...]
    others: dict[str, tuple[str, float | None]]
    assumptions: tuple[str, ...]

    def summary(self) -> str:
        """A table for a person to read."""
        lines = [
            f"spectral complexity ({self.definition})  R = {self.value:.6g}   log R = {self.log_value:.6g}",
            f"{'layer':32s} {'kind':28s} {'spectral':>10s} {'(2,1)':>10s} {'share':>6s} {'error':>8s}",
        ]
        for layer in self.layers:
            lines.append(
                f"{layer.name:32s} {layer.kind:28s} {layer.spectral:10.4g} {layer.rows:10.4g} "
                f"{layer.share:6.3f} {layer.error:8.1e}"
            )
        for name, (what, constant) in self.others.items():
            shown = "from its weights" if constant is None else f"{constant:.4g}"
            lines.append(f"{name:32s} {what:28s} {shown:>10s}")
        lines += [f"assumed: {text}" for text in self.assumptions]
        return "\n".join(lines)


def norms(
    model: nn.Module,
    input_shape: tuple[int, ...],
    definition: str = "bartlett",
    tolerance: float = 1e-4,
    data: tuple[Tensor, Tensor] | None = None,
) -> dict[str, float]:
    """The norms of a network as plain numbers.

    Args:
        model: Any module made of dense and convolution layers, batch norm, layer norm, pooling, sums of
            branches and self-attention.
        input_shape: Shape of one input, without the batch axis.
        definition: Of the spectral complexity: "bartlett" or "as_published".
        tolerance: Relative tolerance of each layer's spectral norm.
        data: Inputs and class labels, for the Fisher–Rao norm.

    Returns:
        "spectral_complexity" (R) and "log_spectral_complexity"; "spectral" (the Lipschitz constant that
        the spectral norms give, their product in a chain) and "log_spectral"; "l1", "l2" (of all
        parameters); "group21" (Σ over layers and output units of the ℓ2 norm of incoming weights);
        "path" (the ℓ2 path norm; absent for networks with layer norm or attention, where paths have no
        meaning); "fisher_rao" where `data` are given.
    """
    found = NormTracker(model, input_shape, definition, NAMES, tolerance).measure()
    numbers = {name: float(value) for name, value in found.items()}
    if data is not None:
        numbers["fisher_rao"] = fisher_rao(model, *data)
    return numbers


def norms_batched(
    model: nn.Module,
    stacked: Stack,
    input_shape: tuple[int, ...],
    state: Starts | None = None,
    definition: str = "bartlett",
    which: tuple[str, ...] = NAMES,
    tolerance: float = 1e-4,
) -> tuple[dict[str, Tensor], Starts]:
    """The norms of many replicas of one network at once.

    Args:
        model: The network that the parameters belong to.
        stacked: Parameters and buffers by name, each with a leading axis of replicas.
        input_shape: Shape of one input, without the batch axis.
        state: What an earlier call returned, to start from.
        definition: As in `norms`.
        which: Names among "spectral_complexity", "spectral", "l1", "l2", "group21", "path".
        tolerance: As in `norms`.

    Returns:
        A dictionary as that of `norms` with tensors of shape (replicas,), float64 on the CPU, and the state
        to pass to the next call. A replica whose weights are not finite gets NaN.
    """
    tracker = NormTracker(model, input_shape, definition, which, tolerance)
    tracker.state = dict(state or {})
    return tracker.measure(stacked), tracker.state


class NormTracker:
    """Follows the norms of a network, or of many replicas of it, through a training.

    The graph is read once and every measurement starts from the singular vectors of the last one.

        tracker = NormTracker(model, (3, 32, 32))
        tracker.measure()                 # of the model's own parameters: tensors of shape (1,)
        tracker.measure(stacked)          # of replicas: tensors of shape (replicas,)
    """

    def __init__(
        self,
        model: nn.Module,
        input_shape: tuple[int, ...],
        definition: str = "bartlett",
        which: tuple[str, ...] = ("spectral_complexity", "spectral", "l1", "l2", "group21"),
        tolerance: float = 1e-3,
    ) -> None:
        if definition not in DEFINITIONS:
            raise BadInput(
                f"unknown definition {definition!r} of the norm: {nearest(definition, DEFINITIONS)}"
            )
        for name in which:
            if name not in NAMES:
                raise BadInput(f"unknown norm {name!r}: {nearest(name, NAMES)}")
        # a bare layer is a network of one
        self.prefix = "0." if is_leaf(model) else ""
        self.model = nn.Sequential(model) if self.prefix else model
        self.input_shape = tuple(input_shape)
        self.definition = definition
        self.which = tuple(which)
        self.tolerance = tolerance
        self.graph: Graph = trace(self.model, self.input_shape)
        self.state: Starts = {}
        if not self.graph.layers:
            raise BadInput(
                f"{type(model).__name__} has no dense or convolution layer: there is no norm to take"
            )

    @torch.inference_mode(mode=False)  # the shares of layers are derivatives
    @torch.no_grad()
    def measure(self, stacked: Stack | None = None) -> dict[str, Tensor]:
        """The norms of the replicas in `stacked`, or of the model itself."""
        if stacked is None:
            stacked = _stack(self.model)
        elif self.prefix:
            stacked = {self.prefix + name: tensor for name, tensor in stacked.items()}
        found: dict[str, Tensor] = {}
        if {"spectral_complexity", "spectral"} & set(self.which):
            complexity = self.complexity(stacked)
            found["spectral_complexity"] = complexity.log_value.exp()
            found["log_spectral_complexity"] = complexity.log_value
            if self.definition == "as_published" and self.graph.has_attention:
                found["spectral_complexity"] = complexity.log_value
            found["spectral"] = complexity.log_lipschitz.exp()
            found["log_spectral"] = complexity.log_lipschitz
        parameters = [stacked[name].flatten(1) for name, _ in self.model.named_parameters()]
        parameters = [p if p.dtype in (torch.float32, torch.float64) else p.float() for p in parameters]
        if "l1" in self.which:
            sums = [torch.linalg.vector_norm(p, 1, dim=1).double() for p in parameters]
            found["l1"] = torch.stack(sums).sum(0)
        if "l2" in self.which:
            squares = [torch.linalg.vector_norm(p, dim=1).double().square() for p in parameters]
            found["l2"] = torch.stack(squares).sum(0).sqrt()
        if "group21" in self.which:
            groups = [
                _group(layer, stacked, rows=self.definition == "bartlett") for layer in self.graph.layers
            ]
            found["group21"] = torch.stack(groups).sum(0)
        if "path" in self.which and paths_exist(self.model):
            found["path"] = path_norm(self.model, self.graph, stacked, self.input_shape)
        return {name: value.cpu() for name, value in found.items()}

    def complexity(self, stacked: Stack) -> Complexity:
        """The spectral complexity of each replica, by layers."""
        published = self.definition == "as_published"
        weights, rows = {}, {}
        for layer in self.graph.layers:
            if published:
                weight = weights[layer.name] = (raw_weight(layer, stacked) * layer.multiplier).flatten(2)
                rows[layer.name] = rows_norm(weight if self.graph.has_attention else weight.mT)
            else:
                weight = weights[layer.name] = layer_weight(layer, stacked)
                rows[layer.name] = rows_norm(weight, layer.geometry, layer.positions)
        spectral, errors = self._spectral(weights, {} if published else self.graph.geometries)
        together = torch.stack(list(rows.values())).log().cpu()  # one wait for the device
        rows = dict(zip(rows, together, strict=True))
        with torch.enable_grad():
            leaves = {name: value.detach().requires_grad_(True) for name, value in spectral.items()}
            total = self.graph.log_lipschitz(stacked, leaves)
            grads = torch.autograd.grad(total.sum(), list(leaves.values()), allow_unused=True)
        shares = {
            name: torch.zeros_like(total) if grad is None else grad
            for name, grad in zip(leaves, grads, strict=True)
        }
        names = [layer.name for layer in self.graph.layers]
        if published:
            return _as_published(names, spectral, rows, shares, errors, self.graph)
        terms = torch.stack([(2 / 3) * (shares[n].log() + rows[n] - spectral[n]) for n in names])
        zero = torch.stack([rows[n] == -math.inf for n in names])
        terms = torch.where(zero, -math.inf, terms)  # a layer of zeros has no part in the sum
        log_value = total.detach() + 1.5 * torch.logsumexp(terms, 0)
        return Complexity(log_value, total.detach(), spectral, rows, shares, errors)

    def _spectral(
        self, weights: dict[str, Tensor], geometries: dict[str, ConvGeometry | None]
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """log ‖A‖_σ of each layer and its error; layers of one form are iterated on together."""
        forms: dict[tuple[object, ...], list[str]] = {}
        for name, weight in weights.items():
            forms.setdefault((weight.shape, geometries.get(name)), []).append(name)
        spectral, errors = {}, {}
        for (_, geometry), names in forms.items():
            one = len(names) == 1
            weight = weights[names[0]] if one else torch.cat([weights[name] for name in names])
            starts = [self.state[name] for name in names if name in self.state]
            start = torch.cat(starts) if len(starts) == len(names) else None
            result = spectral_norm(weight, geometry, start, self.tolerance)  # type: ignore[arg-type]
            parts = zip(
                names, *(t.chunk(len(names)) for t in (result.norm, result.error, result.vector)), strict=True
            )
            for name, norm, error, vector in parts:
                spectral[name], errors[name], self.state[name] = norm.log(), error, vector
        return {name: spectral[name] for name in weights}, errors


@dataclass(frozen=True)
class Complexity:
    """A spectral complexity of each replica: logarithms, by layer where it is a dictionary."""

    log_value: Tensor
    log_lipschitz: Tensor
    log_spectral: dict[str, Tensor]
    log_rows: dict[str, Tensor]
    shares: dict[str, Tensor]
    errors: dict[str, Tensor]


def _as_published(
    names: list[str],
    spectral: dict[str, Tensor],
    columns: dict[str, Tensor],
    shares: dict[str, Tensor],
    errors: dict[str, Tensor],
    graph: Graph,
) -> Complexity:
    if graph.has_branches and not graph.has_attention:  # the layers inside residual blocks are missing
        names = [name for name in names if bool((shares[name] > 1 - 1e-9).all())]
    product = torch.stack([spectral[name] for name in names]).sum(0)
    carried = {}
    for position, name in enumerate(names):
        later = [columns[n] for n in names[position + 1 :]]
        if graph.has_attention:
            carried[name] = columns[name]
        else:
            carried[name] = (
                torch.logsumexp(torch.stack(later), 0) if later else torch.full_like(product, -math.inf)
            )
    terms = torch.stack([(2 / 3) * (carried[name] - spectral[name]) for name in names])
    log_value = product + 1.5 * torch.logsumexp(terms, 0)
    ones = {name: torch.ones_like(product) for name in names}
    kept = {name: spectral[name] for name in names}
    return Complexity(log_value, product, kept, carried, ones, errors)


def spectral_complexity(
    model: nn.Module,
    input_shape: tuple[int, ...],
    definition: str = "bartlett",
    tolerance: float = 1e-4,
) -> Report:
    """The spectral complexity of a network with each layer's part in it and what was assumed.

    Args:
        model: As in `norms`.
        input_shape: Shape of one input, without the batch axis.
        definition: "bartlett" (eq. 2 for the true operators) or "as_published".
        tolerance: Relative tolerance of each layer's spectral norm.
    """
    tracker = NormTracker(model, input_shape, definition, ("spectral_complexity",), tolerance)
    with torch.inference_mode(mode=False), torch.no_grad():
        found = tracker.complexity(_stack(tracker.model))
    graph = tracker.graph
    published = definition == "as_published"
    kinds = {layer.name: _kind(layer, published) for layer in graph.layers}
    layers = tuple(
        LayerNorms(
            name,
            kinds[name],
            math.exp(float(found.log_spectral[name])),
            math.exp(float(found.log_rows[name])),
            float(found.shares[name]),
            float(found.errors[name]),
        )
        for name in found.log_spectral
    )
    log_value = float(found.log_value)
    if published:
        assumptions = [
            "a convolution's spectral norm is that of its reshaped kernel",
            "batch norm is ignored",
        ]
        if graph.has_attention:
            assumptions += [
                "R stands for log R",
                "every matrix of attention is one factor; layer norm is ignored",
            ]
        else:
            assumptions.append("each layer carries the (2,1) norms, over columns, of the layers after it")
        if graph.has_branches and not graph.has_attention:
            assumptions.append("layers inside residual blocks are left out")
        value = log_value if graph.has_attention else math.exp(log_value) if log_value < 709 else math.inf
    else:
        assumptions = list(graph.assumptions)
        if graph.has_branches:
            assumptions.append(
                "branches that meet in a sum: their Lipschitz constants add; a residual branch has the "
                "identity (or its shortcut) as reference"
            )
        if any(layer.norm for layer in graph.layers):
            assumptions.append(
                "batch norm acts by its running statistics and is folded into the layer before it"
            )
        value = math.exp(log_value) if log_value < 709 else math.inf
    others = {} if published else {n: c for n, c in graph.constants.items() if c[1] != 1.0}
    return Report(
        definition, value, log_value, float(found.log_lipschitz), layers, others, tuple(assumptions)
    )


def _kind(layer: Layer, published: bool) -> str:
    kind = "dense" if layer.geometry is None else "convolution"
    if layer.positions > 1:
        kind += f" on {layer.positions} tokens"
    return kind + (" with batch norm" if layer.norm and not published else "")


def _stack(model: nn.Module) -> Stack:
    """The model's own parameters and buffers as one replica."""
    named = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {name: tensor.detach()[None] for name, tensor in named.items()}


def _group(layer: Layer, stacked: Stack, rows: bool) -> Tensor:
    matrix = raw_weight(layer, stacked).flatten(2)
    return torch.linalg.vector_norm(matrix, dim=2 if rows else 1).sum(1, dtype=torch.float64)
