"""Sums, averages and pools, and entries that are moved."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, fx, nn

from scalinglab.measure.network_norms.graph import RADIUS
from scalinglab.measure.network_norms.reading import extents
from scalinglab.measure.network_norms.reading.elementwise import Elementwise
from scalinglab.measure.network_norms.reading.extents import (
    Extent,
    ExtentOf,
    Norms,
    Unbounded,
    log_of,
    log_sum,
)
from scalinglab.measure.network_norms.reading.layers import BATCH, pair
from scalinglab.measure.network_norms.reading.nodes import given


class Sums(Elementwise):
    """Rules of sums and of movements."""

    def _sum(self, node: fx.Node) -> None:
        first, second = [*node.args, *(v for k, v in node.kwargs.items() if k == "other")][:2]
        alpha = abs(float(node.kwargs.get("alpha", 1.0)))  # type: ignore[arg-type]
        log_alpha = math.log(alpha) if alpha else -math.inf
        terms = []
        for operand, log in ((first, 0.0), (second, log_alpha)):
            if isinstance(operand, fx.Node):
                grow = log + 0.5 * math.log(self._copies(operand, node))
                terms.append((operand, lambda norms, grow=grow: torch.full_like(norms[RADIUS], grow)))
        self._add_up(node, terms)
        self.made[node.name] = lambda: self._summed(node, [first, second], alpha)

    def _summed(self, node: fx.Node, operands: list[Any], alpha: float) -> ExtentOf:
        one, two = (self._broadcast(operand, node) for operand in operands)

        def size(norms: Norms) -> Extent:
            other = two(norms)
            if alpha != 1.0:
                other = Extent(*(part + log_of(alpha, part) for part in other))
            return self._settled(node, *extents.added(one(norms), other))

        return size

    def _larger(self, node: fx.Node) -> None:
        """The larger or smaller of two tensors; of one, along an axis, its largest entries."""
        if len(node.args) > 1 and isinstance(node.args[1], fx.Node):
            self._fill_pair(node)
        else:
            self._factor(node, node.all_input_nodes[0], 1.0, "")
            source = node.all_input_nodes[0]
            shape = self.shapes[node.name] or self.shapes[source.name]

            def make() -> ExtentOf:
                inner = self.extent(source)
                return lambda norms: extents.same(inner(norms), 1.0, shape, BATCH)

            self.made[node.name] = make

    def _fill_pair(self, node: fx.Node) -> None:
        parts = [a for a in node.args if isinstance(a, fx.Node)]
        self.graph.has_concatenation = True
        self._in_quadrature(node, [p for p in parts if self._depends(p)])
        self.made[node.name] = lambda: self._summed(node, list(node.args[:2]), 1.0)

    def _concatenate(self, node: fx.Node) -> None:
        sources: list[fx.Node] = []
        fx.map_arg((node.args, node.kwargs), lambda n: sources.append(n))
        depending = [n for n in sources if self._depends(n)]
        self.graph.has_concatenation |= len(depending) > 1

        def step(values: dict[str, Tensor | None], norms: Norms) -> None:
            found = [v for s in depending if (v := values[s.name]) is not None]
            values[node.name] = (
                0.5 * log_sum(*(2 * v for v in found)) if len(found) > 1 else found[0] if found else None
            )

        self.graph.steps.append(step)

        def make() -> ExtentOf:
            parts = [self.extent(n) for n in sources]

            def size(norms: Norms) -> Extent:
                found = [part(norms) for part in parts]
                length = 0.5 * log_sum(*(2 * e.length for e in found))
                token = 0.5 * log_sum(*(2 * e.token for e in found))
                entry = torch.stack([e.entry for e in found]).amax(0)
                return self._settled(node, entry, token, length)

            return size

        self.made[node.name] = make

    def _reduction(self, node: fx.Node) -> None:
        """Sums and averages along axes."""
        source, name = node.all_input_nodes[0], node.meta["name"]
        count = math.prod(self.shapes[source.name]) / max(1, math.prod(self.shapes[node.name]))
        if len(self.shapes[node.name]) == 0:
            raise Unbounded(f"{name} over all examples of a batch mixes them")
        factor = {"mean": 1 / math.sqrt(count), "sum": math.sqrt(count), "cumsum": math.inf}.get(name, 1.0)
        if name == "cumsum":
            axis = given(node, ("input", "dim"))[1]
            factor = float(self.shapes[source.name][int(axis)])
        if name == "std":
            factor = 1 / math.sqrt(max(1.0, count - 1))
        self._factor(node, source, factor, name)
        largest = {"mean": 1.0, "sum": count, "cumsum": factor}.get(name, math.sqrt(count))

        def make() -> ExtentOf:
            inner = self.extent(source)

            def size(norms: Norms) -> Extent:
                extent = inner(norms)
                length = extent.length + log_of(factor, extent.length)
                return self._settled(node, extent.entry + log_of(largest, extent.entry), length, length)

            return size

        self.made[node.name] = make

    def _pooled(self, node: fx.Node) -> None:
        self._pooling(node, node.all_input_nodes[0], self._pool_of_function(node), node.meta["name"])

    def _pooling(self, node: fx.Node, source: fx.Node, module: nn.Module, what: str) -> None:
        factor = self._pool(source.name, node, module)
        self._factor(node, source, factor, what)
        shape = self.shapes[node.name]

        def make() -> ExtentOf:
            inner = self.extent(source)

            def size(norms: Norms) -> Extent:
                extent = inner(norms)
                length = extent.length + log_of(factor, extent.length)
                return extents.consistent(extent.entry, length, length, shape, BATCH)

            return size

        self.made[node.name] = make

    # -- entries that are moved -----------------------------------------------------------------------

    def _keep(self, node: fx.Node) -> None:
        self._follow(node, node.all_input_nodes[0])

    def _part(self, node: fx.Node) -> None:
        source = node.all_input_nodes[0]
        self._factor(node, source, 1.0, "")

        def make() -> ExtentOf:
            inner = self.extent(source)
            return lambda norms: self._settled(node, *inner(norms))

        self.made[node.name] = make

    def _move(self, node: fx.Node) -> None:
        source = node.all_input_nodes[0]
        if any(n.name in self.recording.from_input for n in node.all_input_nodes[1:]):
            raise Unbounded(f"{node.meta['name']} by places that depend on the input has no rule")
        if node.meta["name"] == "pad" and given(node, ("input", "pad", "mode", "value"))[3] not in (
            None,
            0,
            0.0,
        ):
            raise Unbounded("padding with other values than zero has no rule")

        def arguments(stands: Tensor) -> tuple[Any, Any]:
            found: tuple[Any, Any] = fx.map_arg(
                (node.args, node.kwargs), lambda n: stands if n is source else self._now(n)
            )
            return found

        before, after = self.shapes[source.name], self.shapes[node.name]
        copies, tokens = extents.movement(node.target, arguments, before, after)  # type: ignore[arg-type]
        self._factor(node, source, math.sqrt(copies), node.meta["name"])
        grow, mixed = 0.5 * math.log(copies), 0.5 * math.log(copies * tokens)

        def make() -> ExtentOf:
            inner = self.extent(source)

            def size(norms: Norms) -> Extent:
                entry, token, length = inner(norms)
                if not after:  # several tensors, each a part
                    return Extent(entry, token + mixed, length)
                return self._settled(node, entry, token + mixed, length + grow)

            return size

        self.made[node.name] = make

    # -- pools ----------------------------------------------------------------------------------------

    def _pool(self, source: str, node: fx.Node, module: nn.Module) -> float:
        height, width = self.shapes[source][2:]
        if isinstance(module, nn.AdaptiveAvgPool2d):
            out_height, out_width = self.shapes[node.name][2:]
            if height % out_height or width % out_width:
                return 1.0
            return math.sqrt(out_height * out_width / (height * width))
        kernel = pair(module.kernel_size)  # type: ignore
        stride = pair(module.stride if module.stride is not None else module.kernel_size)  # type: ignore
        overlap = math.prod(math.ceil(k / s) for k, s in zip(kernel, stride, strict=True))
        if isinstance(module, nn.MaxPool2d):
            return math.sqrt(overlap)
        return math.sqrt(overlap / math.prod(kernel))

    def _pool_of_function(self, node: fx.Node) -> nn.Module:
        arguments = list(node.args[1:])
        kernel = arguments[0] if arguments else node.kwargs.get("kernel_size", node.kwargs.get("output_size"))
        stride = arguments[1] if len(arguments) > 1 else node.kwargs.get("stride")
        if node.meta["name"] == "adaptive_avg_pool2d":
            return nn.AdaptiveAvgPool2d(kernel)  # type: ignore
        kind = nn.AvgPool2d if node.meta["name"] == "avg_pool2d" else nn.MaxPool2d
        return kind(kernel, stride or None)  # type: ignore
