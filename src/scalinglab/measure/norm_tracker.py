"""NormTracker: follows the norms of a network, or of many replicas of it, through a training.

A measurement has two parts. On the device, a fixed sequence of operations reads everything off the weights:
the first block of the Lanczos iteration for every layer, layers of one form together, the (2,1) norms and the
sums over parameters; nothing in it depends on what is found, so a GPU replays it as one captured graph. On
the host, the few numbers that come back are put together: singular values, the Lipschitz constant with its
derivatives, and the complexity (`scalinglab.measure.complexity`). Where a layer's singular value is not exact
enough yet, more blocks follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from scalinglab.errors import BadInput, nearest
from scalinglab.measure.capture import Replays
from scalinglab.measure.functional import path_norm, paths_exist
from scalinglab.measure.graph import Graph, Layer, Stack, layer_weight, raw_weight
from scalinglab.measure.operators import full_precision, rows_norm
from scalinglab.measure.spectral import (
    Floats,
    Krylov,
    Ritz,
    begin,
    extend,
    gram,
    is_small,
    look,
    ritz_vectors,
    root_of_gram,
)
from scalinglab.measure.tracing import is_leaf, trace

DEFINITIONS = ("bartlett", "as_published")
NAMES = ("spectral_complexity", "spectral", "l1", "l2", "group21", "path")
Starts = dict[str, Tensor]  # layer -> singular vectors, the warm start of the next measurement


class NormTracker:
    """Follows the norms of a network, or of many replicas of it, through a training.

    The graph is read once and every measurement starts from the singular vectors of the last one. On a GPU
    the third measurement of the same tensors, updated in place, captures what it launches, and later ones
    replay it.

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
        self.replays = Replays()
        if not self.graph.layers:
            raise BadInput(
                f"{type(model).__name__} has no dense or convolution layer: there is no norm to take"
            )

    @torch.inference_mode(mode=False)  # the shares of layers are derivatives
    @torch.no_grad()
    def measure(self, stacked: Stack | None = None) -> dict[str, Tensor]:
        """The norms of the replicas in `stacked`, or of the model itself."""
        if stacked is None:
            stacked = own_state(self.model)
        elif self.prefix:
            stacked = {self.prefix + name: tensor for name, tensor in stacked.items()}
        reading, numbers = self._read(stacked)
        found: dict[str, Tensor] = {}
        if self._wants_layers:
            complexity = self._complexity(reading, numbers)
            found["spectral_complexity"] = complexity.log_value.exp()
            found["log_spectral_complexity"] = complexity.log_value
            if self.definition == "as_published" and self.graph.has_attention:
                found["spectral_complexity"] = complexity.log_value
            found["spectral"] = complexity.log_lipschitz.exp()
            found["log_spectral"] = complexity.log_lipschitz
        found |= {name: numbers[name] for name in ("l1", "l2", "group21") if name in numbers}
        if "path" in self.which and paths_exist(self.model):
            found["path"] = path_norm(self.model, self.graph, stacked, self.input_shape).cpu()
        return found

    @torch.inference_mode(mode=False)
    @torch.no_grad()
    def complexity(self, stacked: Stack) -> Complexity:
        """The spectral complexity of each replica, by layers."""
        return self._complexity(*self._read(stacked))

    @property
    def _wants_layers(self) -> bool:
        return bool({"spectral_complexity", "spectral"} & set(self.which))

    # --- on the device, without waiting for it -------------------------------------------------------

    def _read(self, stacked: Stack) -> tuple[Reading, dict[str, Tensor]]:
        """Everything that has to be read off the weights, and its numbers on the host."""
        inputs = [*stacked.values(), *self.state.values()]
        with full_precision(inputs[0].device):
            reading = self.replays(("read", len(inputs[0])), lambda: self._reading(stacked), inputs)
        return reading, reading.fetch()

    def _reading(self, stacked: Stack) -> Reading:
        numbers: dict[str, Tensor] = {}
        forms = self._forms(stacked) if self._wants_layers else []
        for form in forms:
            numbers[f"{form.key} rows"] = form.rows
            if form.krylov is None:
                numbers[f"{form.key} gram"] = gram(form.weight)
            else:
                numbers[f"{form.key} entries"] = form.krylov.entries
        if self._wants_layers:
            numbers |= {name: read(stacked) for name, read in self.graph.readings.items()}
        parameters = [stacked[name].flatten(1) for name, _ in self.model.named_parameters()]
        parameters = [p if p.dtype in (torch.float32, torch.float64) else p.float() for p in parameters]
        if "l1" in self.which:
            numbers["l1"] = _lengths(parameters, 1).sum(0)
        if "l2" in self.which:
            numbers["l2"] = _lengths(parameters, 2).square().sum(0).sqrt()
        if "group21" in self.which:
            groups = [_group(layer, stacked, self.definition == "bartlett") for layer in self.graph.layers]
            numbers["group21"] = torch.stack(groups).sum(0)
        return Reading.of(forms, numbers)

    def _forms(self, stacked: Stack) -> list[Form]:
        """The layers' weights, those of one form together, after the first block of the iteration."""
        published = self.definition == "as_published"
        weights: dict[str, Tensor] = {}
        alike: dict[tuple[object, ...], list[str]] = {}
        for layer in self.graph.layers:
            if published:
                weight = (raw_weight(layer, stacked) * layer.multiplier).flatten(2)
            else:
                weight = layer_weight(layer, stacked)
            weights[layer.name] = weight
            alike.setdefault((weight.shape, None if published else layer.geometry), []).append(layer.name)
        forms = []
        for (_, geometry), names in alike.items():
            weight = weights[names[0]] if len(names) == 1 else torch.cat([weights[name] for name in names])
            if published:
                rows = rows_norm(weight if self.graph.has_attention else weight.mT)
            else:
                rows = rows_norm(weight, geometry)  # type: ignore[arg-type]
            krylov = None
            if not is_small(weight, geometry):  # type: ignore[arg-type]
                starts = [self.state[name] for name in names if name in self.state]
                start = torch.cat(starts) if len(starts) == len(names) else None
                krylov = extend(begin(weight, geometry, start))  # type: ignore[arg-type]
            forms.append(Form(tuple(names), weight, rows, krylov))
        return forms

    # --- on the host ---------------------------------------------------------------------------------

    def _complexity(self, reading: Reading, numbers: dict[str, Tensor]) -> Complexity:
        published = self.definition == "as_published"
        layers = self.graph.layers
        names = [layer.name for layer in layers]
        norms, errors = self._spectral(reading.forms, numbers)
        found: dict[str, Tensor] = {}
        for form in reading.forms:
            parts = numbers[f"{form.key} rows"].view(len(form.names), -1)
            found |= dict(zip(form.names, parts, strict=True))
        rows = torch.stack([found[layer.name] * (1 if published else layer.positions) for layer in layers])
        with np.errstate(divide="ignore"):
            leaf = torch.from_numpy(np.log(np.stack([norms[name] for name in names])))
        spectral, rows = leaf.detach().clone(), rows.log()
        with torch.enable_grad():
            leaf.requires_grad_(True)
            by_name = dict(zip(names, leaf.unbind(0), strict=True))
            total = self.graph.log_lipschitz(by_name | {name: numbers[name] for name in self.graph.readings})
            (shares,) = torch.autograd.grad(total.sum(), leaf)
        if published:
            return _as_published(names, spectral, rows, shares, errors, self.graph)
        terms = (2 / 3) * (shares.log() + rows - spectral)
        terms = torch.where(rows == -math.inf, -math.inf, terms)  # a layer of zeros has no part in the sum
        log_value = total.detach() + 1.5 * torch.logsumexp(terms, 0)
        return Complexity(log_value, total.detach(), tuple(names), spectral, rows, shares, errors)

    def _spectral(
        self, forms: tuple[Form, ...], numbers: dict[str, Tensor]
    ) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """‖A‖_σ of each layer and its error, (replicas,); the iteration goes on where it has to."""
        krylovs = {form.names: form.krylov for form in forms if form.krylov is not None}
        entries = {form.names: numbers[f"{form.key} entries"] for form in forms if form.krylov is not None}
        ritz = {names: Ritz(krylov, self.tolerance) for names, krylov in krylovs.items()}
        with full_precision(forms[0].weight.device):
            while entries:
                exact = look([ritz[names] for names in entries], list(entries.values()))
                pending = [names for names, done in zip(entries, exact, strict=True) if not done]
                for names in pending:
                    krylovs[names] = self._more(names, krylovs[names], ritz[names].next_block)
                entries = {names: krylovs[names].entries.double().cpu() for names in pending}
            vectors = ritz_vectors([(ritz[names], krylov) for names, krylov in krylovs.items()])
        for names, vector in zip(krylovs, vectors, strict=True):
            self._keep(names, vector)
        norms: dict[str, Floats] = {}
        errors: dict[str, Floats] = {}
        for form in forms:
            if form.names in ritz:
                norm, error = ritz[form.names].norm, ritz[form.names].error
            else:
                norm = root_of_gram(numbers[f"{form.key} gram"].numpy())
                error = np.zeros_like(norm)
            shape = (len(form.names), -1)
            norms |= dict(zip(form.names, norm.reshape(shape), strict=True))
            errors |= dict(zip(form.names, error.reshape(shape), strict=True))
        return norms, errors

    def _more(self, names: tuple[str, ...], krylov: Krylov, steps: int) -> Krylov:
        name = (names, krylov.steps, steps)
        return self.replays(name, lambda: extend(krylov, steps), krylov.tensors)

    def _keep(self, names: tuple[str, ...], vectors: Tensor) -> None:
        """Vectors for the next start, put where the last ones lie if they fit: graphs read them there."""
        for name, vector in zip(names, vectors.chunk(len(names)), strict=True):
            last = self.state.get(name)
            if last is not None and (last.shape, last.dtype, last.device) == (
                vector.shape,
                vector.dtype,
                vector.device,
            ):
                last.copy_(vector)
            else:
                self.state[name] = vector.clone()


@dataclass(frozen=True)
class Form:
    """Layers of one shape and geometry, with the replicas of one after those of the other.

    Attributes:
        names: Of the layers.
        weight: (layers · replicas, ...).
        rows: Their (2,1) norms, (layers · replicas,).
        krylov: The iteration after its first block; None where the matrix is small.
    """

    names: tuple[str, ...]
    weight: Tensor
    rows: Tensor
    krylov: Krylov | None

    @property
    def key(self) -> str:
        """A name for it."""
        return self.names[0]


@dataclass(frozen=True)
class Reading:
    """What was read on the device: its numbers lie in one tensor, so that the host waits once."""

    forms: tuple[Form, ...]
    shapes: dict[str, torch.Size]
    flat: Tensor

    @staticmethod
    def of(forms: list[Form], numbers: dict[str, Tensor]) -> Reading:
        """Lay numbers side by side."""
        parts = [value.double().flatten() for value in numbers.values()]
        shapes = {name: value.shape for name, value in numbers.items()}
        return Reading(tuple(forms), shapes, torch.cat(parts) if parts else torch.empty(0))

    def fetch(self) -> dict[str, Tensor]:
        """The numbers, float64 on the CPU."""
        parts = torch.split(self.flat.cpu(), [shape.numel() for shape in self.shapes.values()])
        return {
            name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }


def _lengths(parameters: list[Tensor], order: int) -> Tensor:
    """ℓ1 or ℓ2 norms of the replicas of each parameter, (parameters, replicas)."""
    return torch.stack([torch.linalg.vector_norm(p, order, dim=1) for p in parameters]).double()


@dataclass(frozen=True)
class Complexity:
    """A spectral complexity of each replica, and what is behind it for each layer that counts.

    Attributes:
        log_value, log_lipschitz: (replicas,).
        names: Of the layers.
        log_spectral, log_rows, shares: (layers, replicas).
        errors: Of the spectral norms, by layer.
    """

    log_value: Tensor
    log_lipschitz: Tensor
    names: tuple[str, ...]
    log_spectral: Tensor
    log_rows: Tensor
    shares: Tensor
    errors: dict[str, Floats]


def _as_published(
    names: list[str],
    spectral: Tensor,
    columns: Tensor,
    shares: Tensor,
    errors: dict[str, Floats],
    graph: Graph,
) -> Complexity:
    if graph.has_branches and not graph.has_attention:  # the layers inside residual blocks are missing
        outside = (shares > 1 - 1e-9).all(1)
        names = [name for name, is_outside in zip(names, outside.tolist(), strict=True) if is_outside]
        spectral, columns = spectral[outside], columns[outside]
    product = spectral.sum(0)
    carried = columns
    if not graph.has_attention:  # the sum over all later layers; nothing comes after the last
        later = columns.flip(0).logcumsumexp(0).flip(0)
        carried = torch.cat([later[1:], torch.full_like(later[:1], -math.inf)])
    log_value = product + 1.5 * torch.logsumexp((2 / 3) * (carried - spectral), 0)
    return Complexity(log_value, product, tuple(names), spectral, carried, torch.ones_like(spectral), errors)


def own_state(model: nn.Module) -> Stack:
    """The model's own parameters and buffers as one replica."""
    named = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {name: tensor.detach()[None] for name, tensor in named.items()}


def _group(layer: Layer, stacked: Stack, rows: bool) -> Tensor:
    matrix = raw_weight(layer, stacked).flatten(2)
    return torch.linalg.vector_norm(matrix, dim=2 if rows else 1).sum(1, dtype=torch.float64)
