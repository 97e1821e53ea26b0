"""Linear layers: modules, functions, tables of tokens."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, fx, nn

from scalinglab.measure.network_norms.graph import Layer, Reading, Stack
from scalinglab.measure.network_norms.operators import ConvGeometry
from scalinglab.measure.network_norms.reading import extents
from scalinglab.measure.network_norms.reading.extents import Extent, Norms, Unbounded, log_sum
from scalinglab.measure.network_norms.reading.layers import BATCH, make_layer, pair, use_of
from scalinglab.measure.network_norms.reading.nodes import arguments_of, log_one, owner
from scalinglab.measure.network_norms.reading.sums import Sums


class Linear(Sums):
    """Rules of linear layers."""

    def _layer(self, node: fx.Node, source: fx.Node, name: str, module: nn.Linear | nn.Conv2d) -> None:
        norm = None
        users = list(node.users)
        if len(users) == 1 and users[0].op == "call_module":
            after = self.modules[str(users[0].target)]
            if isinstance(after, nn.modules.batchnorm._BatchNorm) and after.track_running_stats:
                norm = (str(users[0].target), float(after.eps))
                self.folded[users[0].name] = node
        shapes = self.shapes[source.name], self.shapes[node.name]
        layer = make_layer(use_of(name, self.graph), self.names, module, *shapes, norm)
        bias: Reading | None = None
        if module.bias is not None:
            factor = float(getattr(module, "bias_multiplier", 1.0))

            def bias(state: Stack) -> Tensor:
                return factor * state[f"{name}.bias"]

        self._apply(node, source, layer, bias)

    def _apply(self, node: fx.Node, source: fx.Node, layer: Layer, bias: Reading | None) -> None:
        """A linear layer: the constant grows by its norm."""
        self.graph.layers.append(layer)
        self._add_up(node, [(source, lambda norms: norms[layer.name])])

        dense, positions = layer.geometry is None, 0.5 * math.log(max(1, layer.applications))

        def size(norms: Norms, inner: Extent, shift: Extent | None = None) -> Extent:
            token, length = (part + norms[layer.name] for part in (inner.token, inner.length))
            token = token if dense else length
            if shift is None:
                return Extent(token, token, length)
            over = shift.length + positions  # all positions have the same bias
            one = shift.length if dense else over
            return Extent(log_sum(token, shift.entry), log_sum(token, one), log_sum(length, over))

        shifts = []
        if bias is not None and layer.norm is None:  # of a folded batch norm the shift is one number
            shifts = [partial(extents.reading, f"{layer.name} bias", bias, self.graph.readings)]
        self._set_extent(node, [source, *shifts], size)

    def _linear(self, node: fx.Node) -> None:
        """y = x Wᵀ + b as a function."""
        x, weight, bias = [*arguments_of(node, ("input", "weight", "bias")), None, None][:3]
        self._matrix(node, x, weight, bias, transposed=False)

    def _matrix(self, node: fx.Node, x: Any, weight: Any, bias: Any, transposed: bool) -> None:
        if not isinstance(x, fx.Node) or not isinstance(weight, fx.Node):
            raise Unbounded("a product with a matrix that is no tensor")
        if not self._is_fixed(weight) or (bias is not None and not self._is_fixed(bias)):
            raise Unbounded("a layer whose weights depend on the input has no rule")
        shape = self.shapes[weight.name]
        if len(shape) != 2:
            raise Unbounded(f"a product with weights of {len(shape)} axes has no rule")
        outputs, inputs = shape[::-1] if transposed else shape
        applications = max(1, math.prod(self.shapes[x.name][:-1]) // BATCH)
        layer = Layer(
            use_of(self._name_of(weight), self.graph), self._weight(weight, "mT" if transposed else ""),
            positions=applications, size=(outputs, inputs), applications=applications,
        )  # fmt: skip
        self._apply(node, x, layer, None if bias is None else self._computed(bias))

    def _name_of(self, weight: fx.Node) -> str:
        """A name for a layer: that of its parameter, without what is common to all."""
        name = owner(weight, self.recording)
        return name.removesuffix(".weight").split(".parametrizations")[0] or weight.name

    def _weight(self, weight: fx.Node, change: str = "") -> str:
        """The name of a weight among parameters, or among those that are made from them."""
        if not change and weight.name in self.recording.weights:
            return self.recording.weights[weight.name]
        name, value = f"{weight.name} {change}".strip() + " (made from parameters)", self._computed(weight)
        turned: dict[str, Callable[[Tensor], Tensor]] = {
            "": lambda w: w, "mT": lambda w: w.mT.contiguous(), "row": lambda w: w.unsqueeze(-2)
        }  # fmt: skip
        self.graph.derived[name] = lambda state: turned[change](value(state))
        return name

    def _convolution(self, node: fx.Node) -> None:
        names = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
        defaults: tuple[Any, ...] = (None, None, None, 1, 0, 1, 1)
        x, weight, bias, stride, padding, dilation, groups = (
            arguments_of if arguments_of is not None else default
            for arguments_of, default in zip(arguments_of(node, names), defaults, strict=True)
        )
        if not self._is_fixed(weight) or (bias is not None and not self._is_fixed(bias)):
            raise Unbounded("a convolution whose weights depend on the input has no rule")
        line = node.meta["name"] == "conv1d"
        shape, inputs, outputs = (self.shapes[n.name] for n in (weight, x, node))

        def sides(value: Any, other: int) -> tuple[int, int]:
            return (other, pair(value)[-1]) if line else pair(value)

        geometry = ConvGeometry(
            inputs[1], (1, inputs[2]) if line else pair(inputs[2:]), sides(stride, 1),
            padding if isinstance(padding, str) else sides(padding, 0), sides(dilation, 1), int(groups),
        )  # fmt: skip
        layer = Layer(
            use_of(self._name_of(weight), self.graph), self._weight(weight, "row" if line else ""),
            geometry=geometry, size=(shape[0], math.prod(shape[1:])), applications=math.prod(outputs[2:]),
        )  # fmt: skip
        self._apply(node, x, layer, None if bias is None else self._computed(bias))

    def _embedding(self, node: fx.Node) -> None:
        table = node.args[1]
        assert isinstance(table, fx.Node)
        text = "tokens: norms are those of the map from their vectors to the output"
        if text not in self.graph.assumptions:
            self.graph.assumptions.append(text)
        self._set(node, log_one)
        rows = 0.5 * math.log(max(1.0, math.prod(self.shapes[node.name][:-1]) / BATCH))

        self._set_extent(node, [table], lambda norms, e: (e.entry, e.token, e.token + rows))
