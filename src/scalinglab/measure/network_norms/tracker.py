"""NormTracker: follows the norms of a network, or of many replicas of it, through a training.

A measurement has two parts. On the device the iterations and sums over weights are computed
(`network_norms.device_reads`). On the host the few resulting numbers are combined: singular values, the
Lipschitz constant with its derivatives, and the complexity (`network_norms.report`). Where a singular value
is not exact enough yet, the device iterates further. Between the two parts a GPU can do other work
(`NormTracker.begin`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from scalinglab.errors import BadInput, nearest
from scalinglab.measure.network_norms.cuda_graphs import follow, turn
from scalinglab.measure.network_norms.device_reads import Plan, Reader, Readers, Starts
from scalinglab.measure.network_norms.graph import Graph, Stack
from scalinglab.measure.network_norms.lanczos import Floats, Ritz, look, root_of_gram
from scalinglab.measure.network_norms.operators import full_precision
from scalinglab.measure.network_norms.tracing import is_leaf, trace

DEFINITIONS = ("bartlett", "column_average", "as_published")
NAMES = ("spectral_complexity", "spectral", "l1", "l2", "group21")


class NormTracker:
    """Follows the norms of a network, or of many replicas of it, through a training.

    The graph is read once and every measurement starts from the singular vectors of the last one. On a GPU
    the first measurement captures what it launches, and later ones replay it; networks of more than a GiB
    are measured plainly.

        tracker = NormTracker(model, (3, 32, 32))
        tracker.measure()                 # of the model's own parameters: tensors of shape (1,)
        tracker.measure(stacked)          # of replicas: tensors of shape (replicas,)
        begun = tracker.begin(stacked)    # weights may change from here on
        begun.result()                    # the same as tracker.measure(stacked) there

    Args:
        model: The network, as in `scalinglab.measure.norms`.
        input_shape: Shape of one input, without the batch axis.
        definition: Of the spectral complexity: "bartlett", "column_average" or "as_published".
        which: Names among "spectral_complexity", "spectral", "l1", "l2", "group21".
        tolerance: Relative tolerance of each layer's spectral norm.
        graph: Of the model, if it has been traced before.
        readers: Those of another tracker of the same network, definition and norms: what one captures
            serves all.
        capture: Whether to capture anything: to measure once it is not worth the memory.
        radius: The largest ℓ2 length of an input, for networks whose slope depends on it.

    Attributes:
        radius: As given; it may be changed between measurements.
    """

    def __init__(
        self,
        model: nn.Module,
        input_shape: tuple[int, ...],
        definition: str = "bartlett",
        which: tuple[str, ...] = NAMES,
        tolerance: float = 1e-3,
        graph: Graph | None = None,
        readers: Readers | None = None,
        capture: bool = True,
        radius: float | None = None,
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
        self.definition = definition
        self.which = tuple(which)
        self.tolerance = tolerance
        if readers is None:
            graph = trace(self.model, input_shape) if graph is None else graph
            parameters = tuple(name for name, _ in self.model.named_parameters())
            readers = Readers(Plan(graph, parameters, definition, self.which), capture)
        plan = readers.plan
        if (plan.definition, plan.which) != (definition, self.which):
            raise BadInput(
                f"readers of {', '.join(plan.which)} ({plan.definition}) cannot be shared by a tracker of "
                f"{', '.join(self.which)} ({definition}): leave them out"
            )
        self.readers = readers
        self.graph: Graph = readers.plan.graph
        self.radius = radius
        self._state: Starts = {}
        self._begun: Measurement | None = None
        if not self.graph.layers:
            raise BadInput(
                f"{type(model).__name__} has no dense or convolution layer: there is no norm to take"
            )

    @property
    def needs_radius(self) -> bool:
        """Whether the bound depends on how large inputs are."""
        return self.graph.needs_radius or self.graph.bound_needs_radius

    @property
    def missing(self) -> str | None:
        """Why the spectral complexity, or the bound on the Lipschitz constant alone, is NaN; else None."""
        if self.definition == "as_published":  # a formula of the layers, and no bound
            return None
        return "; ".join(dict.fromkeys([*self._missing(False), *self._missing(True)])) or None

    def _missing(self, bound: bool) -> list[str]:
        graph = self.graph
        problems = [*graph.problems, *(graph.bound_problems if bound else [])]
        if self.radius is None and (graph.needs_radius or (bound and graph.bound_needs_radius)):
            problems.append("the slope depends on how large inputs are, and no inputs were given")
        return problems

    @property
    def state(self) -> Starts:
        """Singular vectors of the layers, after the last measurement that was begun."""
        if self._begun is not None:
            self._begun.finish()
        if self._state:
            follow(next(iter(self._state.values())).device)
        return self._state

    @state.setter
    def state(self, state: Starts) -> None:
        if self._begun is not None:
            self._begun.finish()
        self._state = state

    def measure(self, stacked: Stack | None = None) -> dict[str, Tensor]:
        """The norms of the replicas in `stacked`, or of the model itself."""
        return self.begin(stacked).result()

    @torch.inference_mode(mode=False)
    @torch.no_grad()
    def begin(self, stacked: Stack | None = None) -> Measurement:
        """Begin to measure; a GPU then does its part while the host goes on, until it asks for the result."""
        if stacked is None:
            stacked = own_state(self.model)
        elif self.prefix:
            stacked = {self.prefix + name: tensor for name, tensor in stacked.items()}
        return Measurement(self, self._with_derived(stacked))

    def _with_derived(self, stacked: Stack) -> Stack:
        """With the weights that are made from parameters."""
        return {**stacked, **{name: make(stacked) for name, make in self.graph.derived.items()}}

    @torch.inference_mode(mode=False)
    @torch.no_grad()
    def complexity(self, stacked: Stack) -> Complexity:
        """The spectral complexity of each replica, by layers; for trackers of that or of "spectral"."""
        numbers, layers = Measurement(self, self._with_derived(stacked)).read()
        assert layers is not None
        return self._complexity(numbers, layers)

    # --- the device, and what it has to be asked -----------------------------------------------------

    def _launch(self, stacked: Stack) -> Reader:
        """Launch everything on the device that does not depend on intermediate results."""
        reader = self.readers.of(stacked)
        reader.finish()
        reader.launch(stacked, self.state)
        return reader

    def _collect(self, reader: Reader) -> tuple[dict[str, Floats], Layers | None]:
        """All numbers, and the norms of the layers where they are wanted."""
        with reader.measurement_stream():
            numbers = reader.numbers()
            ritz = self._iterate(reader, numbers)
            self._state = reader.vectors(ritz)
        if not reader.forms:
            return numbers, None
        of_form = {
            form.key: (found.norm, found.error) for form, found in zip(reader.iterated, ritz, strict=True)
        }
        for form in reader.forms:
            if not form.size:
                norm = root_of_gram(numbers[f"{form.key} gram"])
                of_form[form.key] = norm, np.zeros_like(norm)

        def in_order(stacks: list[Floats]) -> Floats:
            """From stacks, one for each form, to (layers, replicas) in the order of the graph."""
            return np.concatenate(stacks).reshape(len(reader.order), -1)[reader.order]

        keys = [form.key for form in reader.forms]
        spectral, errors = (in_order([of_form[key][k] for key in keys]) for k in (0, 1))
        return numbers, Layers(spectral, errors, in_order([numbers[f"{key} rows"] for key in keys]))

    def _iterate(self, reader: Reader, numbers: dict[str, Floats]) -> list[Ritz]:
        """The singular values of the iterated forms; the iteration goes on where it has to."""
        ritz = [
            Ritz(reader.stack(form), form.size, self.tolerance, warm)
            for form, warm in zip(reader.iterated, reader.warm, strict=True)
        ]
        entries = {k: numbers[f"{form.key} entries"] for k, form in enumerate(reader.iterated)}
        while entries:
            exact = look([ritz[k] for k in entries], list(entries.values()))
            pending = {k: ritz[k].next_block for k, done in zip(entries, exact, strict=True) if not done}
            entries = reader.more(pending)
        return ritz

    # --- the host ------------------------------------------------------------------------------------

    def _complexity(self, numbers: dict[str, Floats], layers: Layers) -> Complexity:
        names = self.readers.plan.layers
        with np.errstate(divide="ignore", invalid="ignore"):  # layers of zeros and diverged replicas
            spectral, rows = np.log(layers.spectral), np.log(layers.rows)
            if self.definition != "as_published":
                rows += np.log([[layer.positions] for layer in self.graph.layers])
            errors = dict(zip(names, layers.errors, strict=True))
            if self.definition == "as_published":
                return _as_published(names, spectral, rows, self.readers.plan.outside, errors, self.graph)
            total, shares, bound = self._lipschitz(spectral, numbers)
            # the columns of Aᵀ: one for each output unit
            average = rows - np.log([[layer.size[0] * layer.applications] for layer in self.graph.layers])
            carried = average if self.definition == "column_average" else rows
            log_value = total + _log_terms(shares, carried, spectral)
            log_average = total + _log_terms(shares, average, spectral)
        group21_average = np.exp(average).sum(axis=0)
        return Complexity(
            log_value, bound, names, spectral, carried, shares, errors, log_average, group21_average
        )

    def _lipschitz(self, spectral: Floats, numbers: dict[str, Floats]) -> tuple[Floats, Floats, Floats]:
        """log Λ (replicas,), its derivatives by the layers' log norms (layers, replicas), and the bound."""
        nowhere = np.full_like(spectral, np.nan)
        if self._missing(bound=False):
            return nowhere[0], nowhere, nowhere[0]
        others = [numbers[name] for name in self.graph.readings]
        logs = np.concatenate([spectral, np.stack(others)]) if others else spectral
        if self.graph.only_adds:
            offset, shares = self.readers.plan.sum_of_logs
            counts = shares != 0  # what does not count may be infinite
            bound = total = offset + shares[counts] @ logs[counts]
            shares = np.broadcast_to(shares[:, None], logs.shape)
        else:
            radius = self.radius or 0.0
            total, shares = self.readers.plan.log_lipschitz(logs, radius)
            bound = total
            if self._missing(bound=True):
                bound = nowhere[0]
            elif self.graph.has_conventions:
                bound, _ = self.readers.plan.log_lipschitz(logs, radius, worst=True)
        return total, shares[: len(spectral)], bound


class Measurement:
    """Norms on the way. On a CPU, and where nothing is captured, they are there at once.

    Args:
        tracker: Which norms, and where iterations start.
        stacked: Parameters and buffers; on a GPU a copy of them is measured.
    """

    def __init__(self, tracker: NormTracker, stacked: Stack) -> None:
        self.tracker, self.device = tracker, next(iter(stacked.values())).device
        self.found: tuple[dict[str, Floats], Layers | None] | Exception = ({}, None)
        if not tracker.readers.plan.reads:
            return
        with full_precision(self.device), turn(self.device):
            self.reader = tracker._launch(stacked)
            self.reader.unfinished, tracker._begun = self.finish, self
            if not self.reader.replays.captures:  # nothing was copied, and weights may change
                self.finish()

    @torch.inference_mode(mode=False)
    @torch.no_grad()
    def finish(self) -> None:
        """Collect the results from the device; called by the next user of the same graphs if still open."""
        with full_precision(self.device), turn(self.device):
            if self.tracker._begun is not self:
                return
            self.reader.unfinished = self.tracker._begun = None
            try:
                self.found = self.tracker._collect(self.reader)
            except Exception as error:  # raised to the caller of this result, not to the next one
                self.found = error

    def ready(self) -> bool:
        """Whether the first reading has arrived: what is left to do hardly waits for the device."""
        return self.tracker._begun is not self or self.reader.free()

    def read(self) -> tuple[dict[str, Floats], Layers | None]:
        """All numbers, and the norms of the layers where they are wanted."""
        self.finish()
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    @torch.inference_mode(mode=False)  # the shares of layers are derivatives
    @torch.no_grad()
    def result(self) -> dict[str, Tensor]:
        """The norms by name, (replicas,)."""
        numbers, layers = self.read()
        tracker, found = self.tracker, dict[str, Floats]()
        if layers is not None:
            complexity = tracker._complexity(numbers, layers)
            log_value, log_lipschitz = complexity.log_value, complexity.log_lipschitz
            is_log = tracker.definition == "as_published" and tracker.graph.has_attention
            with np.errstate(over="ignore"):
                found["spectral_complexity"] = log_value if is_log else np.exp(log_value)
                found["log_spectral_complexity"] = log_value
                found["spectral"], found["log_spectral"] = np.exp(log_lipschitz), log_lipschitz
                if complexity.log_average is not None and complexity.group21_average is not None:
                    found["column_average"] = np.exp(complexity.log_average)
                    found["log_column_average"] = complexity.log_average
                    found["group21_average"] = complexity.group21_average
        found |= {name: numbers[name] for name in ("l1", "l2", "group21") if name in numbers}
        return {name: torch.from_numpy(value.copy()) for name, value in found.items()}


@dataclass(frozen=True)
class Layers:
    """Norms of the layers in the order of the graph, (layers, replicas): ‖A‖_σ, its error, and (2,1)."""

    spectral: Floats
    errors: Floats
    rows: Floats


@dataclass(frozen=True)
class Complexity:
    """A spectral complexity of each replica, and what is behind it for each layer that counts.

    Attributes:
        log_value, log_lipschitz: (replicas,) log R, and the log of the bound on the Lipschitz constant.
        names: Of the layers.
        log_spectral, log_rows, shares: (layers, replicas).
        errors: Of the spectral norms, by layer.
        log_average: (replicas,) log R with the average over columns in place of their sum; None as published.
        group21_average: (replicas,) the sum over layers of that average; None as published.
    """

    log_value: Floats
    log_lipschitz: Floats
    names: tuple[str, ...]
    log_spectral: Floats
    log_rows: Floats
    shares: Floats
    errors: dict[str, Floats]
    log_average: Floats | None = None
    group21_average: Floats | None = None


def _as_published(
    names: tuple[str, ...],
    spectral: Floats,
    columns: Floats,
    outside: NDArray[np.bool_],
    errors: dict[str, Floats],
    graph: Graph,
) -> Complexity:
    if graph.has_branches and not graph.has_attention:  # the layers inside residual blocks are missing
        names = tuple(name for name, is_outside in zip(names, outside, strict=True) if is_outside)
        spectral, columns = spectral[outside], columns[outside]
    product = spectral.sum(0)
    carried = columns
    if not graph.has_attention:  # the sum over all later layers; nothing comes after the last
        later = np.logaddexp.accumulate(columns[::-1])[::-1]
        carried = np.concatenate([later[1:], np.full_like(later[:1], -math.inf)])
    log_value = product + 1.5 * _log_sum((2 / 3) * (carried - spectral))
    return Complexity(log_value, product, names, spectral, carried, np.ones_like(spectral), errors)


def _log_terms(shares: Floats, rows: Floats, spectral: Floats) -> Floats:
    """log (Σ_i (share_i ‖A_iᵀ‖_{2,1} / ‖A_i‖_σ)^{2/3})^{3/2}: a layer of zeros has no part in the sum."""
    terms = (2 / 3) * (np.log(shares) + rows - spectral)
    terms[rows == -math.inf] = -math.inf
    return 1.5 * _log_sum(terms)


def _log_sum(logs: Floats) -> Floats:
    """log Σ exp over the first axis."""
    return np.logaddexp.reduce(logs, axis=0)


def own_state(model: nn.Module) -> Stack:
    """The model's own parameters and buffers as one replica."""
    named = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {name: tensor.detach()[None] for name, tensor in named.items()}
