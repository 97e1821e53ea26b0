"""Batch norm, layer norm, RMS norm."""

from __future__ import annotations

import math
from functools import partial

from torch import Tensor, fx, nn

from scalinglab.measure.network_norms.graph import WORST, Reading, Stack, batch_norm_scale
from scalinglab.measure.network_norms.reading import extents
from scalinglab.measure.network_norms.reading.extents import Extent, Norms, Unbounded, log_sum
from scalinglab.measure.network_norms.reading.layers import BATCH
from scalinglab.measure.network_norms.reading.linear import Linear
from scalinglab.measure.network_norms.reading.nodes import arguments_of, is_call, parameter, stripped


class Normalising(Linear):
    """Rules of norms."""

    def _batch_norm(self, node: fx.Node, source: fx.Node, name: str, module: nn.Module) -> None:
        epsilon = float(module.eps)  # type: ignore
        if not module.track_running_stats:
            self._unknown(node, f"batch norm without running statistics ({name}) has no bound")
            return
        layer = self.folded.get(node.name)
        if layer is not None:
            self._factor(node, source, 1.0, "batch norm")
        else:
            self._note_constant(node, "batch norm, a diagonal layer of its own", None)
            self._scale(node, source, lambda state: batch_norm_scale(state, name, epsilon))

        def shift(state: Stack) -> Tensor:
            """What is added: β + s (b − mean), with b the bias of the layer before."""
            center = -state[f"{name}.running_mean"].detach().double()
            if layer is not None and f"{layer.target}.bias" in state:
                factor = float(getattr(self.modules[str(layer.target)], "bias_multiplier", 1.0))
                center = center + factor * state[f"{layer.target}.bias"].detach().double()
            value = center * batch_norm_scale(state, name, epsilon)
            return value + state[f"{name}.bias"].detach().double() if f"{name}.bias" in state else value

        shape = self.shapes[node.name]
        positions = 0.5 * math.log(max(1.0, math.prod(shape) / BATCH / shape[1]))

        def size(norms: Norms, inner: Extent, more: Extent) -> Extent:
            factor = 0.0 if layer is not None else norms[f"{node.name} scale"]
            length = log_sum(inner.length + factor, more.length + positions)
            return Extent(log_sum(inner.entry + factor, more.entry), length, length)

        added = partial(extents.reading, f"{name} shift", shift, self.graph.readings)
        self._set_extent(node, [source, added], size)

    def _layer_norm(self, node: fx.Node, source: fx.Node, name: str, module: nn.Module) -> None:
        self._note_constant(node, "layer norm", None)
        gain = shift = None
        if getattr(module, "weight", None) is not None:
            gain = parameter(f"{name}.weight")
        if getattr(module, "bias", None) is not None:
            shift = parameter(f"{name}.bias")
        if isinstance(module, nn.GroupNorm):
            size = math.prod(self.shapes[node.name][1:]) // module.num_groups
        else:
            size = math.prod(module.normalized_shape)  # type: ignore
        self._normalize(node, source, float(module.eps), size, gain, shift, "layer norm")  # type: ignore

    def _normalizing(self, node: fx.Node) -> None:
        """Layer norm, RMS norm and group norm as functions."""
        name = node.meta["name"]
        if name == "group_norm":
            x, groups, weight, bias, eps = arguments_of(
                node, ("input", "num_groups", "weight", "bias", "eps")
            )
            size = math.prod(self.shapes[node.name][1:]) // int(groups)
        elif name == "layer_norm":
            x, shape, weight, bias, eps = arguments_of(
                node, ("input", "normalized_shape", "weight", "bias", "eps")
            )
            size = math.prod(shape)
        else:
            x, shape, weight, eps = arguments_of(node, ("input", "normalized_shape", "weight", "eps"))
            size, bias = math.prod(shape), None
        if any(part is not None and not self._is_fixed(part) for part in (weight, bias)):
            raise Unbounded(f"{name} with a gain that depends on the input has no rule")
        small = 1.2e-7 if name == "rms_norm" else 1e-5
        gain, shift = (None if part is None else self._computed(part) for part in (weight, bias))
        self._normalize(node, x, small if eps is None else float(eps), size, gain, shift, name)

    def _normalize(
        self, node: fx.Node, source: fx.Node, epsilon: float, size: int, gain: Reading | None,
        shift: Reading | None, what: str,
    ) -> None:  # fmt: skip
        """(x − mean)/√(variance + ε), or x/√(mean x² + ε): slope at most 1/√ε, length at most √size."""
        graph, log_size = self.graph, 0.5 * math.log(size)
        graph.has_conventions = True
        text = (
            f"{what.replace('_', ' ')}: R counts it with its gain max|γ|, as for inputs of standard "
            "deviation 1; the bound on the slope is max|γ|/√ε"
        )
        if text not in graph.assumptions:
            graph.assumptions.append(text)
        steepest = -0.5 * math.log(max(epsilon, 1e-300))
        gained = self._log_max(f"{node.name} scale", gain)
        self._add_up(node, [(source, lambda norms: gained(norms) + steepest * norms[WORST])])

        shape, examples = self.shapes[node.name], self._examples(node)
        blocks = 0.5 * math.log(max(1.0, math.prod(shape) / examples / size))

        def bound(norms: Norms, *added: Extent) -> Extent:
            entry = block = gained(norms) + log_size
            for more in added:
                entry, block = log_sum(entry, more.entry), log_sum(block, more.length)
            whole = size % (shape[-1] or 1) == 0  # else a block is no set of tokens
            return Extent(entry, block if whole else block + blocks, block + blocks)

        shifts = [] if shift is None else [
            partial(extents.reading, f"{node.name} shift", shift, graph.readings)
        ]  # fmt: skip
        self._set_extent(node, shifts, bound)

    def _scale(self, node: fx.Node, source: fx.Node, scales: Reading) -> None:
        """A diagonal layer: its constant is the largest of its scales."""
        self._add_up(node, [(source, self._log_max(f"{node.name} scale", scales))])

    def _root_mean_square(self, node: fx.Node) -> tuple[fx.Node, float] | None:
        """x and ε where a product or quotient is x/√(mean x² + ε) written out."""
        first, second = [*node.args, None][:2]
        pairs = [(first, second)] if node.meta["name"] == "div" else [(first, second), (second, first)]
        root = "sqrt" if node.meta["name"] == "div" else "rsqrt"
        for x, scale in pairs:
            scale = stripped(scale)
            if not (isinstance(x, fx.Node) and is_call(scale, root)):
                continue
            total = scale.args[0]
            if not is_call(total, "add") or not isinstance(total.args[1], (int, float)):
                continue
            mean = stripped(total.args[0])
            if not is_call(mean, "mean"):
                continue
            square = stripped(mean.args[0])
            squares = is_call(square, "square") or (is_call(square, "pow") and square.args[1] == 2)
            squares |= is_call(square, "mul") and square.args[0] is square.args[1]
            of = square.args[0] if squares else None
            last = self.shapes[x.name][:-1] == self.shapes[mean.name][:-1] and self.shapes[mean.name][-1] == 1
            if of is not None and stripped(of) is stripped(x) and last:
                return x, float(total.args[1])
        return None
