"""Sums, averages and pools, and entries that are moved."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, fx, nn

from scalinglab.measure.network_norms.reading import extents
from scalinglab.measure.network_norms.reading.elementwise import Elementwise
from scalinglab.measure.network_norms.reading.extents import Extent, Norms, Unbounded, log_sum
from scalinglab.measure.network_norms.reading.nodes import arguments_of

MAXIMA = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
MAXIMUM = {"max_pool1d", "max_pool2d", "max_pool3d", "boolean_dispatch"}  # the last as PyTorch calls them
AVERAGED = {f"{kind}avg_pool{axes}d" for kind in ("", "adaptive_") for axes in (1, 2, 3)}
AVERAGES = (
    nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d,
    nn.AdaptiveAvgPool3d,
)  # fmt: skip


def axes_of(name: str) -> int:
    """Axes over which a pool goes, from the name of its class or function."""
    return int(name.removesuffix("d")[-1])


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
                terms.append((operand, lambda norms, grow=grow: grow))
        self._add_up(node, terms)
        self._summed(node, [first, second], log_alpha)

    def _summed(self, node: fx.Node, operands: list[Any], log_alpha: float = 0.0) -> None:
        def size(norms: Norms, one: Extent, two: Extent) -> Extent:
            return extents.added(one, Extent(*(part + log_alpha for part in two)))

        self._set_extent(node, [partial(self._broadcast, operand, node) for operand in operands], size)

    def _larger(self, node: fx.Node) -> None:
        """The larger or smaller of two tensors; of one, along an axis, its largest entries."""
        if len(node.args) > 1 and isinstance(node.args[1], fx.Node):
            self._fill_pair(node)
        else:
            source = node.all_input_nodes[0]
            self._factor(node, source, 1.0, "")
            self._set_extent(node, [source], lambda norms, inner: extents.moved(inner))

    def _fill_pair(self, node: fx.Node) -> None:
        parts = [a for a in node.args if isinstance(a, fx.Node)]
        self.graph.has_concatenation = True
        self._in_quadrature(node, [p for p in parts if self._depends(p)])
        self._summed(node, list(node.args[:2]))

    def _concatenate(self, node: fx.Node) -> None:
        sources: list[fx.Node] = []
        fx.map_arg((node.args, node.kwargs), lambda n: sources.append(n))
        depending = [n for n in sources if self._depends(n)]
        self.graph.has_concatenation |= len(depending) > 1
        self._in_quadrature(node, depending, copied=False)

        def size(norms: Norms, *found: Extent) -> Extent:
            token, length = (0.5 * log_sum(*(2 * e[part] for e in found)) for part in (1, 2))
            return Extent(torch.stack([e.entry for e in found]).amax(0), token, length)

        self._set_extent(node, sources, size)

    def _reduction(self, node: fx.Node) -> None:
        """Sums and averages along axes."""
        source, name = node.all_input_nodes[0], node.meta["name"]
        count = math.prod(self.shapes[source.name]) / max(1, math.prod(self.shapes[node.name]))
        if len(self.shapes[node.name]) == 0:
            raise Unbounded(f"{name} over all examples of a batch mixes them")
        factor = {"mean": 1 / math.sqrt(count), "sum": math.sqrt(count), "cumsum": math.inf}.get(name, 1.0)
        if name == "cumsum":
            axis = arguments_of(node, ("input", "dim"))[1]
            factor = float(self.shapes[source.name][int(axis)])
        if name == "std":
            factor = 1 / math.sqrt(max(1.0, count - 1))
        self._factor(node, source, factor, name)
        largest = {"mean": 1.0, "sum": count, "cumsum": factor}.get(name, math.sqrt(count))
        self._shortened(node, source, factor, largest)

    def _pooled(self, node: fx.Node) -> None:
        name, source = node.meta["name"], node.all_input_nodes[0]
        if name in MAXIMUM:
            kernel, stride, _, dilation = arguments_of(
                node, ("input", "kernel_size", "stride", "padding", "dilation")
            )[1:]
            self._pooling(node, source, self._of_maxima(source, kernel, stride, dilation), 1.0, name)
        else:
            options = {key: value for key, value in node.kwargs.items() if key != "input"}
            call: Any = node.target
            pool = lambda x: call(x, *node.args[1:], **options)  # noqa: E731
            self._averaging(node, source, pool, name, axes_of(name))

    def _pooled_module(self, node: fx.Node, source: fx.Node, module: nn.Module) -> None:
        name: str = type(module).__name__
        if isinstance(module, MAXIMA):
            factor = self._of_maxima(source, module.kernel_size, module.stride, module.dilation)
            self._pooling(node, source, factor, 1.0, name)
        else:
            kind = next(kind for kind in AVERAGES if isinstance(module, kind))  # of a subclass, too
            self._averaging(node, source, module, name, axes_of(kind.__name__))

    def _averaging(
        self, node: fx.Node, source: fx.Node, pool: Callable[[Tensor], Tensor], name: str, axes: int
    ) -> None:
        """By Schur's test: a matrix's norm² is at most its largest sum of a row times that of a column."""
        with torch.enable_grad():
            ones = torch.ones(
                1,
                1,
                *self.shapes[source.name][-axes:],
                dtype=torch.float64,
                device="cpu",
                requires_grad=True,
            )
            rows = pool(ones)
            (columns,) = torch.autograd.grad(rows.sum(), ones)
        largest = float(rows.detach().max())
        self._pooling(node, source, math.sqrt(largest * float(columns.max())), largest, name)

    def _of_maxima(self, source: fx.Node, kernel: Any, stride: Any, dilation: Any) -> float:
        """The root of how many windows see an entry."""
        dimensions = len(self.shapes[source.name]) - 2
        each = (value if isinstance(value, tuple) else (value,) * dimensions for value in (
            kernel, stride or kernel, dilation or 1))  # fmt: skip
        return math.sqrt(math.prod(math.ceil(k * math.gcd(s, d) / s) for k, s, d in zip(*each, strict=True)))

    def _pooling(self, node: fx.Node, source: fx.Node, factor: float, largest: float, what: str) -> None:
        """A pool of this norm; no entry grows more than by the factor `largest`."""
        self._factor(node, source, factor, what)
        self._shortened(node, source, factor, max(largest, 1.0))

    def _shortened(self, node: fx.Node, source: fx.Node, factor: float, largest: float) -> None:
        """An example is longer by at most a factor, and an entry larger by the factor `largest`."""

        def size(norms: Norms, inner: Extent) -> Extent:
            length = inner.length + math.log(factor)
            return Extent(inner.entry + math.log(largest), length, length)

        self._set_extent(node, [source], size)

    # -- entries that are moved -----------------------------------------------------------------------

    def _keep(self, node: fx.Node) -> None:
        self._follow(node, node.all_input_nodes[0])

    def _part(self, node: fx.Node) -> None:
        source = node.all_input_nodes[0]
        self._factor(node, source, 1.0, "")
        self._set_extent(node, [source], lambda norms, inner: inner)

    def _move(self, node: fx.Node) -> None:
        source = node.all_input_nodes[0]
        if any(n.name in self.recording.from_input for n in node.all_input_nodes[1:]):
            raise Unbounded(f"{node.meta['name']} by places that depend on the input has no rule")
        if node.meta["name"] == "pad" and arguments_of(node, ("input", "pad", "mode", "value"))[3] not in (
            None,
            0,
            0.0,
        ):
            raise Unbounded("padding with other values than zero has no rule")

        def arguments(stands: Tensor) -> tuple[Any, Any]:
            found: tuple[Any, Any] = fx.map_arg(
                (node.args, node.kwargs), lambda n: stands if n is source else self._current_value(n)
            )
            return found

        before, after = self.shapes[source.name], self.shapes[node.name]
        copies, tokens = extents.movement(node.target, arguments, before)  # type: ignore[arg-type]
        self._factor(node, source, math.sqrt(copies), node.meta["name"])
        grow, mixed = 0.5 * math.log(copies) if after else 0.0, 0.5 * math.log(copies * tokens)
        self._set_extent(node, [source], lambda norms, e: (e.entry, e.token + mixed, e.length + grow))
