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
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from scalinglab.errors import BadInput, nearest
from scalinglab.measure.capture import Replays
from scalinglab.measure.functional import path_norm, paths_exist
from scalinglab.measure.graph import Graph, Layer, Stack, layer_weight, raw_weight
from scalinglab.measure.operators import full_precision, rows_norm
from scalinglab.measure.spectral import (
    FIRST,
    LOOK,
    ROOM,
    Floats,
    Krylov,
    Ritz,
    Space,
    begin,
    extend,
    extend_within,
    flat_coefficients,
    gram,
    is_small,
    look,
    ritz_vectors,
    root_of_gram,
)
from scalinglab.measure.tracing import is_leaf, trace

DEFINITIONS = ("bartlett", "as_published")
CHEAP = ("spectral_complexity", "spectral", "l1", "l2", "group21")
NAMES = (*CHEAP, "path")
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
        which: tuple[str, ...] = CHEAP,
        tolerance: float = 1e-3,
        graph: Graph | None = None,
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
        self.graph: Graph = trace(self.model, self.input_shape) if graph is None else graph
        self.state: Starts = {}
        self.replays = Replays()
        self.spaces: dict[tuple[str, ...], Space] = {}
        self._coefficients: Tensor | None = None
        self._shares: Floats | None = None  # where they are the same for all weights
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
        found: dict[str, Floats] = {}
        with full_precision(next(iter(stacked.values())).device):
            reading, numbers = self._read(stacked)
            complexity = self._complexity(reading, numbers) if self._wants_layers else None
        if complexity is not None:
            log_value, log_lipschitz = complexity.log_value, complexity.log_lipschitz
            is_log = self.definition == "as_published" and self.graph.has_attention
            with np.errstate(over="ignore"):
                found["spectral_complexity"] = log_value if is_log else np.exp(log_value)
                found["log_spectral_complexity"] = log_value
                found["spectral"], found["log_spectral"] = np.exp(log_lipschitz), log_lipschitz
        found |= {name: numbers[name] for name in ("l1", "l2", "group21") if name in numbers}
        tensors = {name: torch.from_numpy(value.copy()) for name, value in found.items()}
        if "path" in self.which and paths_exist(self.model):
            tensors["path"] = path_norm(self.model, self.graph, stacked, self.input_shape).cpu()
        return tensors

    @torch.inference_mode(mode=False)
    @torch.no_grad()
    def complexity(self, stacked: Stack) -> Complexity:
        """The spectral complexity of each replica, by layers."""
        with full_precision(next(iter(stacked.values())).device):
            return self._complexity(*self._read(stacked))

    @property
    def _wants_layers(self) -> bool:
        return bool({"spectral_complexity", "spectral"} & set(self.which))

    # --- on the device, without waiting for it -------------------------------------------------------

    def _read(self, stacked: Stack) -> tuple[Reading, dict[str, Floats]]:
        """Everything that has to be read off the weights, and its numbers on the host."""
        inputs = [*stacked.values(), *self.state.values()]
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
                krylov = begin(weight, geometry, start)  # type: ignore[arg-type]
                krylov = extend(krylov, min(FIRST, krylov.basis.shape[2]))
            forms.append(Form(tuple(names), weight, rows, krylov))
        return forms

    # --- on the host ---------------------------------------------------------------------------------

    def _complexity(self, reading: Reading, numbers: dict[str, Floats]) -> Complexity:
        layers = self.graph.layers
        names = [layer.name for layer in layers]
        norms, errors = self._spectral(reading.forms, numbers)
        found: dict[str, Floats] = {}
        for form in reading.forms:
            parts = numbers[f"{form.key} rows"].reshape(len(form.names), -1)
            found |= dict(zip(form.names, parts, strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):  # layers of zeros and diverged replicas
            spectral = np.log(np.stack([norms[name] for name in names]))
            rows = np.log(np.stack([found[name] for name in names]))
            if self.definition == "bartlett":
                rows += np.log([[layer.positions] for layer in layers])
            total, shares = self._lipschitz(names, spectral, numbers)
            if self.definition == "as_published":
                return _as_published(names, spectral, rows, shares, errors, self.graph)
            terms = (2 / 3) * (np.log(shares) + rows - spectral)
            terms[rows == -math.inf] = -math.inf  # a layer of zeros has no part in the sum
            log_value = total + 1.5 * _log_sum(terms)
        return Complexity(log_value, total, tuple(names), spectral, rows, shares, errors)

    def _lipschitz(
        self, names: list[str], spectral: Floats, numbers: dict[str, Floats]
    ) -> tuple[Floats, Floats]:
        """log Λ (replicas,) and its derivatives by the layers' log norms (layers, replicas)."""
        fixed = self.graph.only_adds and self._shares is not None
        leaf = torch.from_numpy(spectral.copy()).requires_grad_(not fixed)
        others = {name: torch.from_numpy(numbers[name]) for name in self.graph.readings}
        with torch.set_grad_enabled(not fixed):
            total = self.graph.log_lipschitz(dict(zip(names, leaf.unbind(0), strict=True)) | others)
            if not fixed:
                shares = torch.autograd.grad(total.sum(), leaf)[0].numpy()
                self._shares = shares[:, :1] if self.graph.only_adds else None
        if self._shares is not None:
            shares = np.broadcast_to(self._shares, spectral.shape)
        return total.detach().numpy(), shares

    def _spectral(
        self, forms: tuple[Form, ...], numbers: dict[str, Floats]
    ) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """‖A‖_σ of each layer and its error, (replicas,); the iteration goes on where it has to."""
        krylovs = {form.names: form.krylov for form in forms if form.krylov is not None}
        entries = {form.names: numbers[f"{form.key} entries"] for form in forms if form.krylov is not None}
        ritz = {names: Ritz(krylov, self.tolerance) for names, krylov in krylovs.items()}
        while entries:
            exact = look([ritz[names] for names in entries], list(entries.values()))
            pending = [names for names, done in zip(entries, exact, strict=True) if not done]
            for names in pending:
                krylovs[names] = self._more(names, krylovs[names], ritz[names].next_block)
            entries = {names: krylovs[names].entries.double().cpu().numpy() for names in pending}
        if krylovs:
            self._keep({names: (ritz[names], krylov) for names, krylov in krylovs.items()})
        norms: dict[str, Floats] = {}
        errors: dict[str, Floats] = {}
        for form in forms:
            if form.names in ritz:
                norm, error = ritz[form.names].norm, ritz[form.names].error
            else:
                norm = root_of_gram(numbers[f"{form.key} gram"])
                error = np.zeros_like(norm)
            shape = (len(form.names), -1)
            norms |= dict(zip(form.names, norm.reshape(shape), strict=True))
            errors |= dict(zip(form.names, error.reshape(shape), strict=True))
        return norms, errors

    def _more(self, names: tuple[str, ...], krylov: Krylov, steps: int) -> Krylov:
        """A block more: in a space that stays, where it is replayed, or by itself."""
        if not self.replays.used_on(krylov.weight.device) or krylov.steps + steps > ROOM or steps < LOOK:
            return extend(krylov, steps)
        space = self.spaces.get(names)
        if space is None or not space.fits(krylov):
            space = self.spaces[names] = Space.like(krylov)
        if krylov.basis is not space.basis:
            krylov = space.take(krylov)
        found = self.replays(
            ("more", names),
            lambda: extend_within(krylov.weight, krylov.geometry, space),
            [krylov.weight, space.basis, space.position],
        )
        return replace(krylov, entries=torch.cat([krylov.entries, found], 1))

    def _keep(self, found: dict[tuple[str, ...], tuple[Ritz, Krylov]]) -> None:
        """Vectors for the next start, put where the last ones lie if they fit: graphs read them there."""
        first = next(iter(found.values()))[1].basis
        coefficients = flat_coefficients([ritz for ritz, _ in found.values()], first.dtype)
        if self._coefficients is None or self._coefficients.shape != coefficients.shape:
            self._coefficients = torch.empty_like(coefficients, device=first.device)
        on_device = self._coefficients.copy_(coefficients)

        def keep() -> None:
            vectors = ritz_vectors(list(found.values()), on_device)
            for names, vector in zip(found, vectors, strict=True):
                for name, part in zip(names, vector.chunk(len(names)), strict=True):
                    if _same_kind(self.state.get(name), part):
                        self.state[name].copy_(part)
                    else:
                        self.state[name] = part.clone()

        bases = [krylov.basis for _, krylov in found.values()]
        kept = [self.state.get(name) for names in found for name in names]
        lies = [vector for vector in kept if vector is not None]
        if len(lies) == len(kept) and all(ritz.steps <= FIRST for ritz, _ in found.values()):
            self.replays(("keep", len(on_device)), keep, [on_device, *bases, *lies])
        else:
            keep()


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

    def fetch(self) -> dict[str, Floats]:
        """The numbers, on the host."""
        flat, start, numbers = self.flat.cpu().numpy(), 0, {}
        for name, shape in self.shapes.items():
            end = start + shape.numel()
            numbers[name] = flat[start:end].reshape(shape)
            start = end
        return numbers


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

    log_value: Floats
    log_lipschitz: Floats
    names: tuple[str, ...]
    log_spectral: Floats
    log_rows: Floats
    shares: Floats
    errors: dict[str, Floats]


def _as_published(
    names: list[str],
    spectral: Floats,
    columns: Floats,
    shares: Floats,
    errors: dict[str, Floats],
    graph: Graph,
) -> Complexity:
    if graph.has_branches and not graph.has_attention:  # the layers inside residual blocks are missing
        outside = np.asarray((shares > 1 - 1e-9).all(1))
        names = [name for name, is_outside in zip(names, outside, strict=True) if is_outside]
        spectral, columns = spectral[outside], columns[outside]
    product = spectral.sum(0)
    carried = columns
    if not graph.has_attention:  # the sum over all later layers; nothing comes after the last
        later = np.logaddexp.accumulate(columns[::-1])[::-1]
        carried = np.concatenate([later[1:], np.full_like(later[:1], -math.inf)])
    log_value = product + 1.5 * _log_sum((2 / 3) * (carried - spectral))
    return Complexity(log_value, product, tuple(names), spectral, carried, np.ones_like(spectral), errors)


def _log_sum(logs: Floats) -> Floats:
    """log Σ exp over the first axis."""
    return np.logaddexp.reduce(logs, axis=0)


def _same_kind(one: Tensor | None, other: Tensor) -> bool:
    """Whether one can be copied into the other as it is."""
    if one is None:
        return False
    return (one.shape, one.dtype, one.device) == (other.shape, other.dtype, other.device)


def own_state(model: nn.Module) -> Stack:
    """The model's own parameters and buffers as one replica."""
    named = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {name: tensor.detach()[None] for name, tensor in named.items()}


def _group(layer: Layer, stacked: Stack, rows: bool) -> Tensor:
    matrix = raw_weight(layer, stacked).flatten(2)
    return torch.linalg.vector_norm(matrix, dim=2 if rows else 1).sum(1, dtype=torch.float64)
