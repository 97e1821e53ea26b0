"""What every rule uses: the Lipschitz constant of a node, and bounds on its size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, fx, nn

from scalinglab.measure.network_norms.graph import RADIUS, Graph, Reading, Stack
from scalinglab.measure.network_norms.reading import extents
from scalinglab.measure.network_norms.reading.extents import (
    Extent,
    ExtentOf,
    Norms,
    Unbounded,
    log_of,
    log_sum,
)
from scalinglab.measure.network_norms.reading.layers import BATCH
from scalinglab.measure.network_norms.reading.recording import Recording

# functions that leave the numbers as they are
KEEPS = {
    "contiguous", "to", "float", "double", "half", "bfloat16", "type_as", "type", "clone", "detach",
    "dropout", "alpha_dropout", "data", "requires_grad", "positive", "cpu", "cuda", "dropout1d",
    "dropout2d",
}  # fmt: skip


class Nodes:
    """The nodes of a recording, and the graph that is made of them."""

    def __init__(self, recording: Recording, modules: dict[str, nn.Module], names: dict[int, str]) -> None:
        self.recording, self.shapes = recording, recording.shapes
        self.modules, self.names = modules, names
        self.graph = Graph()
        self.made: dict[str, Callable[[], ExtentOf]] = {}
        self.extents: dict[str, ExtentOf] = {}
        self.radial: set[str] = set()  # nodes whose extent depends on the radius of the inputs
        self.used_radius = False  # by what is being read
        self.reasons: dict[str, str] = {}
        self.bound_reasons: dict[str, str] = {}
        self.folded: dict[str, fx.Node] = {}  # batch norm node -> node of the layer that it is folded into
        self.rms_norms: dict[str, tuple[fx.Node, float]] = {}

    def _depends(self, node: fx.Node) -> bool:
        found = self.recording
        return node.name in found.from_input and node.name not in found.discrete

    def _is_fixed(self, node: Any) -> bool:
        return isinstance(node, fx.Node) and node.name not in self.recording.from_input

    def _is_constant(self, operand: Any) -> bool:
        """Whether an operand has slope zero: a number, a parameter, or whole numbers such as a mask."""
        return not isinstance(operand, fx.Node) or not self._depends(operand)

    def _unknown(self, node: fx.Node, why: str) -> None:
        """A call whose slope is not known: the graph has no bound if its output depends on it."""
        where = f" (in {owner(node, self.recording)})" if owner(node, self.recording) else ""
        self.reasons[node.name] = f"{why}{where}"
        self._set(node, no_dependence)

    # -- the value of a node --------------------------------------------------------------------------

    def _note_constant(self, node: fx.Node, what: str, constant: float | None) -> None:
        self.graph.constants[str(node.target) if node.op == "call_module" else node.name] = (what, constant)

    def _set(self, node: fx.Node, value: Callable[[Norms], Tensor | None]) -> None:
        def step(values: dict[str, Tensor | None], norms: Norms) -> None:
            values[node.name] = value(norms)

        self.graph.steps.append(step)

    def _add_up(self, node: fx.Node, terms: Sequence[tuple[fx.Node, Callable[[Norms], Any]]]) -> None:
        """log Σ over the sources of slope × their own constant; sources that are constant do not count."""
        terms = [(source, slope) for source, slope in terms if self._depends(source)]

        def step(values: dict[str, Tensor | None], norms: Norms) -> None:
            logs = [v + slope(norms) for source, slope in terms if (v := values[source.name]) is not None]
            values[node.name] = logs[0] if len(logs) == 1 else log_sum(*logs) if logs else None

        if len(terms) > 1:
            self.graph.has_branches = True
        self.graph.steps.append(step)

    def _factor(self, node: fx.Node, source: fx.Node, factor: float, what: str) -> None:
        log_factor = math.log(factor) if factor > 0 else -math.inf
        if factor != 1.0:
            self._note_constant(node, what, factor)
        self._add_up(node, [(source, lambda norms: log_factor)])

    def _follow(self, node: fx.Node, source: fx.Node) -> None:
        """The same numbers."""
        self._factor(node, source, 1.0, "")
        old, new = ((self.shapes[n.name] or (1,))[-1] for n in (source, node))
        lost = 0.0 if old % new == 0 else 0.5 * math.log(new / old) if new % old == 0 else math.inf
        self._set_extent(node, [source], lambda norms, e: (e.entry, e.token + lost, e.length))

    # -- how large a node is --------------------------------------------------------------------------

    def _set_extent(
        self, node: fx.Node, sources: Sequence[fx.Node | Callable[[], ExtentOf]],
        size: Callable[..., Iterable[Tensor]],
    ) -> None:  # fmt: skip
        """Set how the extent of a node is computed, if a slope depends on it.

        Args:
            sources: nodes, or functions that give an extent.
            size: entry, token and length, from the norms and the extent of each source.
        """

        def make() -> ExtentOf:
            known = [self.extent(one) if isinstance(one, fx.Node) else one() for one in sources]
            # of several tensors that are returned each is a part, which has a shape
            settle = partial(self._settled, node) if self.shapes[node.name] else Extent
            return lambda norms: settle(*size(norms, *(extent(norms) for extent in known)))

        self.made[node.name] = make

    def _ball(self, norms: Norms) -> Extent:
        return Extent(norms[RADIUS], norms[RADIUS], norms[RADIUS])

    def extent(self, node: fx.Node) -> ExtentOf:
        """Bounds on a node over the ball; `Unbounded` where none is known."""
        self.graph.has_extents = True
        if node.name not in self.extents:
            if node.name not in self.made:
                raise Unbounded(
                    self.reasons.get(node.name) or f"nothing bounds what {called_name(node)} returns"
                )
            before, self.used_radius = self.used_radius, node.op == "placeholder"
            self.extents[node.name] = self.made[node.name]()
            if self.used_radius:
                self.radial.add(node.name)
            self.used_radius |= before
        self.used_radius |= node.name in self.radial
        return self.extents[node.name]

    def _weight_extent(self, node: fx.Node) -> ExtentOf:
        if node.name in self.recording.from_input:
            if stripped(node).name not in self.recording.masks:
                raise Unbounded("it depends on how large whole numbers are")
            return self._entries_at_most_one(node)
        if self._from_weights(node):
            return extents.reading(f"{node.name} of weights", self._computed(node), self.graph.readings)
        sizes = [float(size) for size in extents.sizes_of(self._current_value(node)[None].detach())]
        return lambda norms: Extent(*(log_of(size, norms[RADIUS]) for size in sizes))

    def _entries_at_most_one(self, node: fx.Node) -> ExtentOf:
        one = torch.zeros_like
        return lambda norms: self._settled(node, z := one(norms[RADIUS]), z + math.inf, z + math.inf)

    def _from_weights(self, node: fx.Node) -> bool:
        return any(n in self.recording.weights for n in ancestors(node))

    def _current_value(self, node: fx.Node) -> Tensor:
        return torch.as_tensor(self.recording.evaluate(node, {}))

    def _computed(self, node: fx.Node) -> Reading:
        """What a node that depends on parameters alone is, for every replica."""
        names = {self.recording.weights[n] for n in ancestors(node) if n in self.recording.weights}

        def value(state: Stack) -> Tensor:
            here = [name for name in names if name in state]
            count = len(next(iter(state.values())))
            each = [{name: state[name][r].detach() for name in here} for r in range(count)]
            return torch.stack([self.recording.evaluate(node, one) for one in each])

        return value

    def _examples(self, node: fx.Node) -> int:
        return BATCH if node.name in self.recording.from_input else 1

    def _settled(self, node: fx.Node, entry: Tensor, token: Tensor, length: Tensor) -> Extent:
        return extents.consistent(entry, token, length, self.shapes[node.name], self._examples(node))

    def _broadcast(self, source: Any, node: fx.Node) -> ExtentOf:
        """An operand of an elementwise function, in the shape of its result; numbers are operands too."""
        if not isinstance(source, fx.Node):
            size = abs(complex(source))
            shape = self.shapes[node.name]
            last, each = (shape[-1] if shape else 1), max(1.0, math.prod(shape) / BATCH)
            sizes = (size, size * math.sqrt(last), size * math.sqrt(each))
            return lambda norms: Extent(*(log_of(s, norms[RADIUS]) for s in sizes))
        inner, before, after = self.extent(source), self.shapes[source.name], self.shapes[node.name]
        copies = self._copies(source, node)
        return lambda norms: extents.spread_over(inner(norms), before, after, copies)

    def _copies(self, source: fx.Node, node: fx.Node) -> float:
        """How often each number of an operand counts in the result, for one example."""
        sizes = [math.prod(self.shapes[n.name]) / self._examples(n) for n in (node, source)]
        return max(1.0, sizes[0] / max(1.0, sizes[1]))

    def _log_max(self, name: str, scales: Reading | None) -> Callable[[Norms], Tensor]:
        """log max|scale|, read off the device."""
        if scales is None:
            return lambda norms: torch.zeros_like(norms[RADIUS])
        self.graph.readings[name] = lambda state: (
            scales(state).detach().double().abs().flatten(1).amax(1).log()
        )
        return lambda norms: norms[name]

    def _in_quadrature(self, node: fx.Node, sources: Sequence[fx.Node], copied: bool = True) -> None:
        copies = [0.5 * math.log(self._copies(source, node)) if copied else 0.0 for source in sources]

        def step(values: dict[str, Tensor | None], norms: Norms) -> None:
            found = [v + c for s, c in zip(sources, copies, strict=True) if (v := values[s.name]) is not None]
            values[node.name] = 0.5 * log_sum(*(2 * v for v in found)) if found else None

        self.graph.steps.append(step)


def parameter(name: str) -> Reading:
    """A parameter as it is."""
    return lambda state: state[name]


def log_length(name: str, rows: tuple[int, int] | None, factor: float) -> Reading:
    """log ‖factor · b‖ of a bias, or of some of its rows."""

    def read(state: Stack) -> Tensor:
        bias = state[name].detach().double() * factor
        return torch.linalg.vector_norm(bias if rows is None else bias[:, rows[0] : rows[1]], dim=1).log()

    return read


def log_one(norms: Norms) -> Tensor | None:
    """log 1."""
    return torch.zeros_like(norms[RADIUS])


def no_dependence(norms: Norms) -> Tensor | None:
    """No dependence on the input."""
    return None


def arguments_of(node: fx.Node, names: Sequence[str]) -> list[Any]:
    """Arguments by position or by name; None where one is not given."""
    args = [*node.args[: len(names)], *[None] * max(0, len(names) - len(node.args))]
    return [node.kwargs.get(name, arg) for name, arg in zip(names, args, strict=True)]


def is_call(node: Any, name: str) -> bool:
    """Whether a node calls a function of this name."""
    return isinstance(node, fx.Node) and node.meta.get("name") == name


def stripped(node: Any) -> Any:
    """The node before conversions of type, device and layout."""
    while isinstance(node, fx.Node) and node.meta.get("name") in KEEPS:
        node = node.args[0]
    return node


def ancestors(node: fx.Node, sources: Mapping[str, list[fx.Node]] | None = None) -> set[str]:
    """Names of a node and of all it is computed from; `sources` of some nodes stand for all of theirs."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.name not in found:
            found.add(one.name)
            waiting += (sources or {}).get(one.name, one.all_input_nodes)
    return found


def owner(node: fx.Node, recording: Recording) -> str:
    """The name of a parameter that a node is or is computed from, if any."""
    names = [recording.weights[n] for n in sorted(ancestors(node)) if n in recording.weights]
    direct = recording.weights.get(node.name)
    return direct or (names[0] if names and node.name not in recording.from_input else "")


def called_name(node: fx.Node) -> str:
    """The name of what a node calls, for messages."""
    return str(node.target if node.op == "call_module" else node.meta.get("name", node.name))
