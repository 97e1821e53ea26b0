"""Attention: modules, and PyTorch's function."""

from __future__ import annotations

import math

import torch
from torch import Tensor, fx, nn

from scalinglab.measure.network_norms.graph import WORST, Stack
from scalinglab.measure.network_norms.reading.extents import Extent, ExtentOf, Norms, Unbounded, log_sum
from scalinglab.measure.network_norms.reading.layers import BATCH, PARTS, attention_layers, sequences
from scalinglab.measure.network_norms.reading.nodes import arguments_of, log_length
from scalinglab.measure.network_norms.reading.normalising import Normalising


class Attention(Normalising):
    """Rules of attention."""

    def _attention(self, node: fx.Node, name: str, module: nn.Module) -> None:
        """Attention of n tokens, each of length at most R: with q = Qx + b, k, v without their biases,

        ‖dy‖ ≤ √n ‖V‖ ‖dx_v‖ + scale |v| (|k| ‖Q‖ ‖dx_q‖ + √n |q| ‖K‖ ‖dx_k‖)
        """
        sources = [n for n in node.args if isinstance(n, fx.Node)]
        sources += [n for key in ("query", "key", "value") if isinstance(n := node.kwargs.get(key), fx.Node)]
        # our own module has one input for queries, keys and values; PyTorch's may have a mask after its three
        sources = (sources * 3)[:3] if len(sources) == 1 else sources[:3]
        shape = self.shapes[sources[0].name] if sources else ()
        if len(sources) < 3 or any(self.shapes[n.name] != shape for n in sources) or len(shape) != 3:
            self._unknown(node, f"attention {name} is not on three inputs of shape (n, tokens, dim)")
            return
        windows, tokens, dim = sequences(module, shape)
        packed = isinstance(module, nn.MultiheadAttention)
        if packed and not module.batch_first and shape[0] == BATCH != shape[1]:  # type: ignore
            self.bound_reasons[node.name] = (
                f"attention {name} is along the examples of a batch (batch_first=False on inputs of shape "
                "(n, tokens, dim)): the output of one example depends on the others"
            )
            shape = (shape[1], shape[0], dim)
            windows, tokens, dim = sequences(module, shape)
        self.graph.has_attention = True
        self._note_constant(node, "attention", None)
        self.graph.layers += attention_layers(name, module, shape)
        heads = int(module.num_heads if packed else module.heads)  # type: ignore
        scale = 1 / math.sqrt(dim // heads) if packed else float(module.scale)  # type: ignore
        root, log_scale = 0.5 * math.log(tokens), math.log(scale)
        self.graph.has_conventions = True
        radius = self._conventional_radius(name, sources[0], dim)
        text = (
            "attention: R counts √heads ‖O‖ ‖V‖ (√n + (1+√n) R² scale ‖Q‖ ‖K‖) for n tokens of "
            + ("length at most R = √dim max|γ| + ‖β‖, which the layer norm before it guarantees"
               if self._norm_before(sources[0]) else "length R = √dim")
        )  # fmt: skip
        if text not in self.graph.assumptions:
            self.graph.assumptions.append(text)
        biases = self._attention_biases(name, module, dim)
        self.used_radius, sizes = False, list[ExtentOf]()
        try:
            sizes = [self.extent(source) for source in sources]
        except Unbounded as error:
            self.bound_reasons[node.name] = str(error)
        self.graph.bound_needs_radius |= self.used_radius

        def step(values: dict[str, Tensor | None], norms: Norms) -> None:
            if (value := values[sources[0].name]) is None:
                values[node.name] = None
                return
            query, key, content, output = (norms[f"{name}.{part}"] for part in PARTS)
            if not bool(norms[WORST].any()) or not sizes:
                pattern = query + key + 2 * norms[radius] + math.log(scale * (1 + math.sqrt(tokens)))
                mixing = log_sum(pattern, torch.full_like(pattern, root))
                values[node.name] = value + output + content + mixing + 0.5 * math.log(heads)
                return
            q, k, v = (size(norms).token for size in sizes)
            long_query = query + q if biases[0] is None else log_sum(query + q, norms[biases[0]])
            constants = [values[s.name] for s in sources]
            terms = [
                (constants[2], content + root),
                (constants[0], log_scale + content + v + key + k + query),
                (constants[1], log_scale + content + v + root + long_query + key),
            ]
            values[node.name] = output + log_sum(*(c + t for c, t in terms if c is not None))

        self.graph.steps.append(step)

        def size(norms: Norms, inner: Extent) -> Extent:
            value = inner.token + norms[f"{name}.value"]
            if biases[1] is not None:
                value = log_sum(value, norms[biases[1]])
            token = value + 0.5 * math.log(heads) + norms[f"{name}.output"]
            if biases[2] is not None:
                token = log_sum(token, norms[biases[2]])
            return Extent(token, token, token + 0.5 * math.log(windows * tokens))

        self._set_extent(node, [sources[2]], size)

    def _attention_biases(self, name: str, module: nn.Module, dim: int) -> list[str | None]:
        """Readings of log ‖b‖ of queries, values and outputs, where they have a bias."""
        found: list[str | None] = []
        for place, part in ((0, "query"), (2, "value"), (3, "output")):
            rows = None
            if isinstance(module, nn.MultiheadAttention):
                bias, key = (
                    (module.out_proj.bias, f"{name}.out_proj.bias")
                    if part == "output"
                    else (module.in_proj_bias, f"{name}.in_proj_bias")
                )
                rows = None if part == "output" else (place * dim, (place + 1) * dim)
                factor = 1.0
            else:
                projection = getattr(module, part)
                bias, key = projection.bias, f"{name}.{part}.bias"
                factor = float(getattr(projection, "bias_multiplier", 1.0))
            if bias is None:
                found.append(None)
                continue
            self.graph.readings[f"{name} {part} bias"] = log_length(key, rows, factor)
            found.append(f"{name} {part} bias")
        return found

    def _norm_before(self, source: fx.Node) -> str | None:
        if source.op == "call_module" and isinstance(self.modules[str(source.target)], nn.LayerNorm):
            return str(source.target)
        return None

    def _conventional_radius(self, name: str, source: fx.Node, dim: int) -> str:
        before, radius = self._norm_before(source), f"{name} radius"

        def read(state: Stack) -> Tensor:
            """log R."""
            if f"{before}.weight" not in state:
                some = next(iter(state.values()))
                return torch.full((len(some),), 0.5 * math.log(dim), dtype=torch.float64, device=some.device)
            gain = state[f"{before}.weight"].detach().double().abs().amax(1)
            size = math.sqrt(dim) * gain
            if f"{before}.bias" in state:
                size = size + torch.linalg.vector_norm(state[f"{before}.bias"].detach().double(), dim=1)
            return size.log()

        self.graph.readings[radius] = read
        return radius

    def _dot_product_attention(self, node: fx.Node) -> None:
        """softmax(scale q kᵀ) v as a function, on (…, tokens, dim of a head)."""
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
        q, k, v, mask, _, _, scale, grouped = arguments_of(node, names)
        if mask is not None and not self._is_fixed(mask) and self._depends(mask):
            raise Unbounded("attention with a mask that depends on the input has no rule")
        dim, tokens = self.shapes[q.name][-1], self.shapes[k.name][-2]
        groups = self.shapes[q.name][-3] / self.shapes[k.name][-3] if grouped else 1.0
        root, shared = 0.5 * math.log(tokens), 0.5 * math.log(groups)
        log_scale = math.log(abs(float(scale)) if scale is not None else 1 / math.sqrt(dim))
        long_q, long_k, long_v = (self.extent(n) for n in (q, k, v))
        self._add_up(node, [
            (v, lambda norms: root + shared),
            (q, lambda norms: log_scale + long_v(norms).token + long_k(norms).token),
            (k, lambda norms: log_scale + long_v(norms).token + long_q(norms).token + root + shared),
        ])  # fmt: skip
        positions = 0.5 * math.log(max(1.0, math.prod(self.shapes[node.name][:-1]) / BATCH))
        self._set_extent(node, [v], lambda norms, e: (e.entry, e.token, e.token + positions))
