"""Functions of single entries: activations, softmax, powers, masks."""

from __future__ import annotations

import math
from functools import cache, partial, reduce
from typing import Any

import torch
from torch import fx, nn

from scalinglab.measure.network_norms.graph import RADIUS
from scalinglab.measure.network_norms.reading import extents
from scalinglab.measure.network_norms.reading.extents import (
    Extent,
    Norms,
    Unbounded,
    log_of,
    log_sum,
)
from scalinglab.measure.network_norms.reading.layers import BATCH
from scalinglab.measure.network_norms.reading.nodes import Nodes, arguments_of

# largest slope of each activation, rounded up
SLOPES = {
    "relu": 1.0, "relu6": 1.0, "leaky_relu": 1.0, "tanh": 1.0, "hardtanh": 1.0, "softplus": 1.0, "elu": 1.0,
    "celu": 1.0, "sigmoid": 0.25, "gelu": 1.1290, "silu": 1.0999, "mish": 1.0885, "selu": 1.7581,
    "hardswish": 1.5, "hardsigmoid": 1 / 6, "logsigmoid": 1.0, "softsign": 1.0, "tanhshrink": 1.0, "abs":
    1.0, "neg": 1.0, "sin": 1.0, "cos": 1.0, "erf": 1.1284, "atan": 1.0, "arctan": 1.0, "clamp": 1.0,
    "clamp_min": 1.0, "clamp_max": 1.0, "amax": 1.0, "amin": 1.0, "logsumexp": 1.0,
}  # fmt: skip
BOUNDS = {
    "tanh": 1.0, "sigmoid": 1.0, "hardsigmoid": 1.0, "softsign": 1.0, "sin": 1.0, "cos": 1.0, "erf": 1.0,
    "atan": math.pi / 2, "arctan": math.pi / 2, "relu6": 6.0,
}  # fmt: skip
SHRINKING = {"relu", "gelu", "silu", "mish", "hardswish"}  # |f(x)| ≤ |x|, though the slope is more


class Elementwise(Nodes):
    """Rules of functions of single entries."""

    def _activation(self, node: fx.Node, name: str, what: str, module: nn.Module | None = None) -> None:
        slope, source = SLOPES[name], node.all_input_nodes[0]
        values = arguments_of(node, ("input", "negative_slope" if name == "leaky_relu" else "alpha"))
        extra = values[1] if isinstance(values[1], (int, float)) else None
        if name == "leaky_relu":
            extra = getattr(module, "negative_slope", extra)
        elif name in ("elu", "celu"):
            extra = getattr(module, "alpha", extra) if name == "elu" else None
        if extra is not None and name in ("leaky_relu", "elu"):
            slope = max(slope, abs(float(extra)))
        self._factor(node, source, slope, what)
        shape = self.shapes[node.name]
        if self.shapes[source.name] != shape:
            self._set_extent(node, [source], lambda norms, inner: extents.moved(inner, math.log(slope)))
            return
        counts = (1, shape[-1] if shape else 1, max(1.0, math.prod(shape) / BATCH))
        log_factor = 0.0 if name in SHRINKING else math.log(slope)
        at_zero = cache(lambda: self._at_zero(node))

        def size(norms: Norms, inner: Extent) -> Extent:
            """|f(x)| ≤ |f(0)| + slope |x|."""
            parts = [extent + log_factor for extent in inner]
            if log_one := at_zero():
                shifts = [log_of(log_one * math.sqrt(count), parts[0]) for count in counts]
                parts = [*map(log_sum, parts, shifts)]
            if name in BOUNDS:
                parts[0] = torch.minimum(parts[0], log_of(BOUNDS[name], parts[0]))
            return Extent(*parts)

        self._set_extent(node, [source], size)

    def _at_zero(self, node: fx.Node) -> float:
        if node.op == "call_module":
            return float(self.modules[str(node.target)](torch.zeros(1)).abs().max())
        args, kwargs = fx.map_arg((node.args, node.kwargs), lambda n: torch.zeros(1))
        return float(node.target(*args, **kwargs).abs().max())  # type: ignore[operator]

    def _slope(self, node: fx.Node) -> None:
        name = node.meta["name"]
        if any(self._depends(n) for n in node.all_input_nodes[1:]):
            raise Unbounded(f"{name} with limits that depend on the input has no rule")
        self._activation(node, name, name)

    def _softmax(self, node: fx.Node, axis: Any, log: bool, what: str) -> None:
        """‖diag(p) − p pᵀ‖ ≤ 1/2; of its logarithm ‖1 − 1 pᵀ‖ ≤ √n, where p is one of n classes."""
        source, shape = node.all_input_nodes[0], self.shapes[node.name]
        axis = -1 if axis is None else int(axis)
        self._factor(node, source, math.sqrt(shape[axis]) if log else 0.5, what)
        rows = 0.5 * math.log(max(1.0, math.prod(shape) / BATCH / shape[axis]))

        def size(norms: Norms) -> Extent:
            one = torch.zeros_like(norms[RADIUS])
            return Extent(one, one if axis in (-1, len(shape) - 1) else one + rows, one + rows)

        if not log:
            self._set_extent(node, [], size)

    def _softmax_function(self, node: fx.Node) -> None:
        name = node.meta["name"]
        self._softmax(node, arguments_of(node, ("input", "dim"))[1], name == "log_softmax", name)

    def _exponential(self, node: fx.Node) -> None:
        source = node.all_input_nodes[0]
        inner, shape = self.extent(source), self.shapes[node.name]
        self._add_up(node, [(source, lambda norms: inner(norms).entry.exp())])
        each = 0.5 * math.log(max(1.0, math.prod(shape) / BATCH))

        self._set_extent(node, [source], lambda norms, e: (x := e.entry.exp(), x + each, x + each))

    def _power(self, node: fx.Node) -> None:
        power = 2.0 if node.meta["name"] == "square" else arguments_of(node, ("input", "exponent"))[1]
        source = node.all_input_nodes[0]
        if not isinstance(power, (int, float)) or power < 1:
            raise Unbounded(f"the power {power} has no bounded slope")
        inner = self.extent(source)
        self._add_up(node, [(source, lambda norms: math.log(power) + (power - 1) * inner(norms).entry)])
        self._set_extent(node, [source], lambda norms, e: [part + (power - 1) * e.entry for part in e])

    def _fill(self, node: fx.Node) -> None:
        """masked_fill(x, mask, value), and where(mask, x, y)."""
        if node.meta["name"] == "where":
            _, x, other = [*node.args, None, None][:3]
        else:
            x, _, other = [*node.args, *node.kwargs.values(), None, None][:3]
        chosen = [n for n in (x, other) if isinstance(n, fx.Node) and self._depends(n)]
        self.graph.has_concatenation |= len(chosen) > 1
        self._in_quadrature(node, chosen)
        parts = [partial(self._broadcast, part, node) for part in (x, other) if part is not None]
        self._set_extent(node, parts, lambda norms, *both: reduce(extents.added, both))
