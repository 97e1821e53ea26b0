"""What is read off the weights on the device, from which the host makes norms.

A fixed sequence of operations: the first block of the Lanczos iteration for every layer, layers of one form
together, the (2,1) norms and the sums over parameters. Nothing in it depends on what is found, so a GPU
replays it as one captured graph, with a branch for every form (`network_norms.cuda_graphs`). The graph reads
a copy of the weights, which serves all networks of an architecture: only the first one waits for a capture.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scalinglab.measure.network_norms.cuda_graphs import (
    Arriving,
    Replays,
    also_used_here,
    follow,
    measurement_stream,
    side_by_side,
    wait_for_last,
)
from scalinglab.measure.network_norms.graph import Graph, Layer, Stack, layer_weight, raw_weight
from scalinglab.measure.network_norms.lanczos import (
    FIRST,
    Floats,
    Krylov,
    Ritz,
    begin,
    extend,
    flat_coefficients,
    gram,
    is_small,
    ritz_vectors,
    vector_size,
)
from scalinglab.measure.network_norms.operators import ConvGeometry, rows_norm

TRIAL = 2  # steps of the iteration that is not kept, before the one that is captured
KINDS = 4  # shapes of stacks, of one network, whose graphs are kept
# bytes of weights from which nothing is captured: there launching costs little and a copy costs much
LARGEST = 1 << 30

# layer -> singular vectors (replicas, size), the warm start of the next measurement
Starts = dict[str, Tensor]
Places = list[tuple[str, slice, tuple[int, ...]]]  # name, part of a flat tensor, shape


@dataclass(frozen=True)
class Plan:
    """What is to be read.

    Attributes:
        graph: Of the network.
        parameters: Names of all its parameters.
        definition, which: As in `NormTracker`.
    """

    graph: Graph
    parameters: tuple[str, ...]
    definition: str
    which: tuple[str, ...]

    @property
    def published(self) -> bool:
        """Whether convolutions are taken as their reshaped kernels."""
        return self.definition == "as_published"

    @cached_property
    def wants_layers(self) -> bool:
        """Whether the norms of single layers are needed."""
        return bool({"spectral_complexity", "spectral"} & set(self.which))

    @cached_property
    def reads(self) -> bool:
        """Whether anything is read."""
        return self.wants_layers or bool({"l1", "l2", "group21"} & set(self.which))

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """Names of the layers."""
        return tuple(layer.name for layer in self.graph.layers)

    @cached_property
    def sum_of_logs(self) -> tuple[Floats, Floats]:
        """log Λ where all logs are zero, (1,), and its derivatives there: where it is a sum, all of it."""
        total, shares = self.log_lipschitz(np.zeros((len(self.layers) + len(self.graph.readings), 1)), 1.0)
        return total, shares[:, 0]

    @cached_property
    def outside(self) -> NDArray[np.bool_]:
        """Which layers are in no residual block: log Λ grows as their log norm does."""
        return self.sum_of_logs[1][: len(self.layers)] > 1 - 1e-9

    def log_lipschitz(self, logs: Floats, radius: float, worst: bool = False) -> tuple[Floats, Floats]:
        """log Λ (replicas,) and its derivatives by its arguments: logs of layers' norms, then readings.

        Args:
            logs: the arguments, (arguments, replicas).
            radius: of the ball of inputs.
            worst: the bound, in place of the Λ of the spectral complexity (`network_norms.graph`).
        """
        leaf = torch.from_numpy(logs).requires_grad_()
        with torch.enable_grad():
            names = (*self.layers, *self.graph.readings)
            total = self.graph.log_lipschitz(dict(zip(names, leaf.unbind(0), strict=True)), radius, worst)
            shares = torch.autograd.grad(total.sum(), leaf)[0]
        return total.detach().numpy(), shares.numpy()

    def forms(self, stacked: Stack) -> list[Form]:
        """The layers, those of one form together; the largest first: its branch takes longest."""
        if not self.wants_layers:
            return []
        alike: dict[tuple[tuple[int, ...], torch.dtype, ConvGeometry | None], list[Layer]] = {}
        for layer in self.graph.layers:
            tensor = stacked[layer.weight]
            outputs = tensor.shape[1] if layer.rows is None else layer.rows[1] - layer.rows[0]
            shape = (outputs, *tensor.shape[2:])
            if self.published:
                shape = (outputs, math.prod(shape[1:]))
            geometry = None if self.published else layer.geometry
            alike.setdefault((shape, tensor.dtype, geometry), []).append(layer)
        forms = [
            Form(tuple(layers), geometry, 0 if is_small(shape, geometry) else vector_size(shape, geometry))
            for (shape, _, geometry), layers in alike.items()
        ]
        return sorted(forms, key=lambda form: -form.work(stacked))


@dataclass(frozen=True)
class Form:
    """Layers of one shape and geometry: in a stack the replicas of one come after those of the other.

    Attributes:
        layers: Those layers.
        geometry: How a convolution is applied, None for a matrix.
        size: Length of the vectors that are iterated, 0 where the matrix is small and not iterated on.
    """

    layers: tuple[Layer, ...]
    geometry: ConvGeometry | None
    size: int

    @cached_property
    def key(self) -> str:
        """A name for it."""
        return self.layers[0].name

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the layers."""
        return tuple(layer.name for layer in self.layers)

    def work(self, stacked: Stack) -> int:
        """Numbers that a step of the iteration reads, about."""
        entries = self.size and 2 * stacked[self.layers[0].weight].numel() + FIRST * self.size
        return len(self.layers) * entries


@dataclass(frozen=True)
class Part:
    """What one branch of a reading found: numbers by name, and an iteration after its first block."""

    numbers: dict[str, Tensor]
    krylov: Krylov | None = None


@dataclass(frozen=True)
class Found:
    """What lies on the device: all numbers side by side, where each is, and the iterations."""

    flat: Tensor
    places: Places
    krylovs: list[Krylov]


class Reader:
    """Reads weights of given shapes: `launch`, `numbers`, then `more` as often as needed, then `vectors`.

    On a GPU, weights and start vectors are first copied to where graphs read them, and everything else is
    done on the `measurement_stream`: training may go on before the numbers are asked for. There is one
    reading at a time.

    Args:
        plan: What to read.
        stacked: Parameters and buffers of the shapes that will be read.
        capture: Whether to capture graphs, on a GPU.
    """

    def __init__(self, plan: Plan, stacked: Stack, capture: bool = True) -> None:
        first = next(iter(stacked.values()))
        self.plan, self.device, self.replicas = plan, first.device, len(first)
        self.forms = plan.forms(stacked)
        self.iterated = [form for form in self.forms if form.size]
        # where the layers of the graph stand among those of the forms
        names = [name for form in self.forms for name in form.names]
        self.order = [names.index(name) for name in plan.layers] if names else []
        self.replays = Replays(self.device, capture)
        # of the iterated forms: where the iterations stand, and whether they began near singular vectors
        self.krylovs: list[Krylov] = []
        self.warm: list[bool] = []
        self.weights: Stack = {}  # the copies
        self.starts: list[Tensor] = []  # for each iterated form, (layers · replicas, size)
        self.start_of: Starts = {}  # the same by layers
        self.targets: Starts = {}  # where the new vectors are put
        self.places: Places = []
        self.arriving: Arriving | None = None
        self.unfinished: Callable[[], object] | None = None  # ends the reading that was launched last
        if self.replays.captures:
            self._allocate(stacked)

    def _allocate(self, stacked: Stack) -> None:
        self.weights = {k: torch.empty_like(v) for k, v in stacked.items() if v.is_floating_point()}
        for form in self.iterated:
            dtype = stacked[form.layers[0].weight].dtype
            dtype = dtype if dtype in (torch.float32, torch.float64) else torch.float32
            start = torch.zeros(self.stack(form), form.size, dtype=dtype, device=self.device)
            self.starts.append(start)
            self.start_of |= dict(zip(form.names, start.chunk(len(form.layers)), strict=True))

    def stack(self, form: Form) -> int:
        """How many operators of a form there are."""
        return len(form.layers) * self.replicas

    # --- the first block, and everything else ----------------------------------------------------------

    def measurement_stream(self, after_current: bool = False) -> contextlib.AbstractContextManager[None]:
        """Where readings are made, but for the copies."""
        return (
            measurement_stream(self.device, after_current)
            if self.replays.captures
            else contextlib.nullcontext()
        )

    def launch(self, stacked: Stack, state: Starts) -> None:
        """Begin a reading; iterations start from `state` where it has vectors for a form."""
        self.warm = [
            all(name in state and state[name].shape == (self.replicas, form.size) for name in form.names)
            for form in self.iterated
        ]
        starts: list[Tensor | None]
        if self.replays.captures:
            follow(self.device)  # until then the last reading may need what is there
            self._copy(stacked, state)
            # allocated on the stream that reads them, so that it is safe to free them there once written
            self.targets = {name: torch.empty_like(start) for name, start in self.start_of.items()}
            stacked, starts = self.weights, [*self.starts]
        else:
            starts = [
                torch.cat([state[name] for name in form.names]) if warm else None
                for form, warm in zip(self.iterated, self.warm, strict=True)
            ]
        read = partial(self._read, stacked, starts)
        with self.measurement_stream(after_current=True):
            found = self.replays("read", partial(read, FIRST), trial=partial(read, TRIAL))
            self.arriving = Arriving(found.flat)
        self.places, self.krylovs = found.places, list(found.krylovs)

    def numbers(self) -> dict[str, Floats]:
        """All numbers of the reading, on the host; it may have to wait for them."""
        assert self.arriving is not None
        return _by_name(self.arriving.wait(), self.places)

    def _copy(self, stacked: Stack, state: Starts) -> None:
        torch._foreach_copy_([*self.weights.values()], [stacked[name] for name in self.weights])
        warm = [n for form, warm in zip(self.iterated, self.warm, strict=True) if warm for n in form.names]
        if warm:
            torch._foreach_copy_([self.start_of[name] for name in warm], [state[name] for name in warm])
        for start, is_warm in zip(self.starts, self.warm, strict=True):
            if not is_warm:
                start.zero_()

    def _read(self, stacked: Stack, starts: Sequence[Tensor | None], steps: int) -> Found:
        branches: list[Callable[[], Part]] = []
        start_of = dict(zip([form.key for form in self.iterated], starts, strict=True))
        for form in self.forms:
            branches.append(partial(self._form, form, stacked, start_of.get(form.key), steps))
        for name in ("l1", "l2", "group21"):
            if name in self.plan.which:
                branches.append(partial(self._sum, name, stacked))
        if self.plan.wants_layers and self.plan.graph.readings:
            readings = self.plan.graph.readings.items()
            branches.append(lambda: Part({name: read(stacked) for name, read in readings}))
        parts = side_by_side(branches, self.device)
        numbers = {name: value for part in parts for name, value in part.numbers.items()}
        krylovs = [part.krylov for part in parts if part.krylov is not None]
        return Found(*_flat(numbers), krylovs)

    def _form(self, form: Form, stacked: Stack, start: Tensor | None, steps: int) -> Part:
        """The iteration on a form, or the matrix that is diagonalised, and the (2,1) norms."""
        plan, key = self.plan, form.key
        if plan.published:
            weights = [(raw_weight(layer, stacked) * layer.multiplier).flatten(2) for layer in form.layers]
        else:
            weights = [layer_weight(layer, stacked) for layer in form.layers]
        weight = weights[0] if len(weights) == 1 else torch.cat(weights)
        if plan.published:
            rows = rows_norm(weight if plan.graph.has_attention else weight.mT)
        else:
            rows = rows_norm(weight, form.geometry)
        if not form.size:
            return Part({f"{key} rows": rows, f"{key} gram": gram(weight)})
        krylov = extend(begin(weight, form.geometry, start), min(steps, form.size))
        return Part({f"{key} rows": rows, f"{key} entries": krylov.entries.double()}, krylov)

    def _sum(self, name: str, stacked: Stack) -> Part:
        if name == "group21":
            groups = [_group(layer, stacked, not self.plan.published) for layer in self.plan.graph.layers]
            return Part({name: torch.stack(groups).sum(0)})
        parameters = [stacked[parameter].flatten(1) for parameter in self.plan.parameters]
        parameters = [p if p.dtype in (torch.float32, torch.float64) else p.float() for p in parameters]
        if name == "l1":
            return Part({name: _lengths(parameters, 1).sum(0)})
        return Part({name: _lengths(parameters, 2).square().sum(0).sqrt()})

    # --- what depends on what was found ------------------------------------------------------------------

    def more(self, wanted: dict[int, int]) -> dict[int, Floats]:
        """So many more steps for some of the iterated forms, by number; all their entries so far."""
        for k, steps in wanted.items():
            self.krylovs[k] = extend(self.krylovs[k], steps)
        if not wanted:
            return {}
        flat, places = _flat({str(k): self.krylovs[k].entries for k in wanted})
        return {int(k): entries for k, entries in _by_name(flat.cpu(), places).items()}

    def vectors(self, found: Sequence[Ritz]) -> Starts:
        """Singular vectors, the start of the next reading, from what was found for the iterated forms."""
        if not found:
            return {}
        # nothing waits for the device any more, but who uses the vectors has to `follow`
        coefficients = flat_coefficients(found, self.krylovs[0].basis.dtype)
        coefficients = coefficients.to(self.device, non_blocking=True)
        stacks = ritz_vectors(list(zip(found, self.krylovs, strict=True)), coefficients)
        self.krylovs = []
        made = {
            name: vectors
            for form, stack in zip(self.iterated, stacks, strict=True)
            for name, vectors in zip(form.names, stack.chunk(len(form.layers)), strict=True)
        }
        if not self.replays.captures:
            return made
        targets, self.targets = self.targets, {}
        torch._foreach_copy_([targets[name] for name in made], [*made.values()])
        # of the last reading nobody asks for them: they may be freed before they are written
        also_used_here(targets.values())
        return targets

    def free(self) -> bool:
        """Whether the reading that was launched last has arrived, or has been taken."""
        return self.unfinished is None or self.arriving is None or self.arriving.ready()

    def finish(self) -> None:
        """Finish the reading that was launched last, if it is still open."""
        if self.unfinished is not None:
            self.unfinished()


class Readers:
    """The readers of one network, by shapes: trackers that share them share what was captured."""

    def __init__(self, plan: Plan, capture: bool = True) -> None:
        self.plan, self.capture = plan, capture
        self.made: dict[tuple[object, ...], Reader] = {}

    def free(self) -> bool:
        """Whether no reading is on its way: one that began would wait for it first."""
        return all(reader.free() for reader in self.made.values())

    def of(self, stacked: Stack) -> Reader:
        """The one for weights of these shapes; only the latest few stay."""
        kind = tuple((name, t.shape, t.dtype, t.device) for name, t in stacked.items())
        if kind not in self.made:
            while len(self.made) >= KINDS:
                oldest = self.made.pop(next(iter(self.made)))
                oldest.finish()
                wait_for_last(oldest.device)
            size = sum(tensor.nbytes for tensor in stacked.values())
            self.made[kind] = Reader(self.plan, stacked, self.capture and size <= LARGEST)
        return self.made[kind]


def _flat(numbers: dict[str, Tensor]) -> tuple[Tensor, Places]:
    """Numbers in one tensor, so that the host waits once, and where each of them is in it."""
    places: Places = []
    for name, value in numbers.items():
        start = places[-1][1].stop if places else 0
        places.append((name, slice(start, start + value.numel()), tuple(value.shape)))
    return torch.cat([value.double().flatten() for value in numbers.values()]), places


def _by_name(flat: Tensor, places: Places) -> dict[str, Floats]:
    """Those numbers, from a tensor on the host."""
    values = flat.numpy()
    return {name: values[place].reshape(shape) for name, place, shape in places}


def _lengths(parameters: list[Tensor], order: int) -> Tensor:
    """ℓ1 or ℓ2 norms of the replicas of each parameter, (parameters, replicas)."""
    return torch.stack([torch.linalg.vector_norm(p, order, dim=1) for p in parameters]).double()


def _group(layer: Layer, stacked: Stack, rows: bool) -> Tensor:
    matrix = raw_weight(layer, stacked).flatten(2)
    return torch.linalg.vector_norm(matrix, dim=2 if rows else 1).sum(1, dtype=torch.float64)
