"""Rules that turn each recorded call into a step of a `Graph`, which bounds the Lipschitz constant up to it.

Where the slope of a call depends on the size of its inputs, the step uses `extents`, bounds over all inputs
of a ball. A call without a rule makes the bound unknown: the graph names the call.
"""

from __future__ import annotations

from torch import Tensor, fx, nn

from scalinglab.measure.network_norms.reading.elementwise import SLOPES
from scalinglab.measure.network_norms.reading.extents import Unbounded
from scalinglab.measure.network_norms.reading.layers import is_attention
from scalinglab.measure.network_norms.reading.nodes import KEEPS, ancestors, log_one, no_dependence
from scalinglab.measure.network_norms.reading.products import Products
from scalinglab.measure.network_norms.reading.recording import Recording
from scalinglab.measure.network_norms.reading.sums import AVERAGED, AVERAGES, MAXIMA, MAXIMUM

MODULES = {
    nn.ReLU: "relu", nn.ReLU6: "relu6", nn.LeakyReLU: "leaky_relu", nn.Tanh: "tanh", nn.Hardtanh:
    "hardtanh", nn.Softplus: "softplus", nn.ELU: "elu", nn.CELU: "celu", nn.Sigmoid: "sigmoid", nn.GELU:
    "gelu", nn.SiLU: "silu", nn.Mish: "mish", nn.SELU: "selu", nn.Hardswish: "hardswish", nn.Hardsigmoid:
    "hardsigmoid", nn.LogSigmoid: "logsigmoid", nn.Softsign: "softsign", nn.Tanhshrink: "tanhshrink",
}  # fmt: skip
NEUTRAL = (nn.Identity, nn.Flatten, nn.Unflatten, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.AlphaDropout)
POOLS = (*MAXIMA, *AVERAGES)
NORMALISERS = (nn.LayerNorm, nn.GroupNorm)
MOVES = {
    "view", "reshape", "flatten", "transpose", "permute", "t", "T", "mT", "squeeze", "unsqueeze", "expand",
    "expand_as", "movedim", "moveaxis", "getitem", "narrow", "select", "index_select", "roll", "flip",
    "repeat", "repeat_interleave", "tile", "broadcast_to", "pad", "unfold", "chunk", "split", "unbind",
    "tensor_split", "diagonal", "triu", "tril", "unflatten", "view_as", "reshape_as", "split_with_sizes",
    "adjoint", "pixel_shuffle", "pixel_unshuffle",
}  # fmt: skip


def is_leaf(module: nn.Module) -> bool:
    """Whether a module is read as one piece, also if it is a subclass of PyTorch's.

    Weights that are made from others, as by weight norm, are not: then the functions inside are read.
    """
    if isinstance(module, (nn.Linear, nn.Conv2d)):
        return isinstance(module._parameters.get("weight"), Tensor)
    if isinstance(module, (nn.modules.batchnorm._BatchNorm, *NORMALISERS, *NEUTRAL, *POOLS)):
        return True
    if type(module) in MODULES or type(module) in (nn.Softmax, nn.LogSoftmax):
        return True
    if isinstance(module, nn.MultiheadAttention):
        return isinstance(module._parameters.get("in_proj_weight"), Tensor) and module.bias_k is None
    return is_attention(module)


class Rules(Products):
    """Turns the nodes of a recording into steps of a `Graph`."""

    def __init__(self, recording: Recording, modules: dict[str, nn.Module], names: dict[int, str]) -> None:
        super().__init__(recording, modules, names)
        assert recording.output is not None
        self.graph.output = recording.output.name
        products = [n for n in recording.graph.nodes if n.meta.get("name") in ("mul", "div")]
        self.rms_norms = {n.name: found for n in products if (found := self._root_mean_square(n)) is not None}
        reached = ancestors(recording.output, {name: [x] for name, (x, _) in self.rms_norms.items()})
        for node in recording.graph.nodes:
            if node.name in reached:
                self._node(node)
        self.graph.problems = list(dict.fromkeys([*recording.complaints, *self.reasons.values()]))
        self.graph.bound_problems = list(dict.fromkeys(self.bound_reasons.values()))

    def _node(self, node: fx.Node) -> None:
        depends = self._depends(node)
        if node.op == "placeholder":
            self._note_constant(node, "input", 1.0)
            self._set(node, log_one if depends else no_dependence)
            self.made[node.name] = lambda: self._ball
        elif not depends:
            self._set(node, no_dependence)
            self.made[node.name] = lambda: self._weight_extent(node)
        elif node.op == "call_module":
            self._module(node, self.modules[str(node.target)])
        else:
            self._function(node)

    def _module(self, node: fx.Node, module: nn.Module) -> None:
        name, source = str(node.target), node.all_input_nodes[0]
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            self._layer(node, source, name, module)
        elif isinstance(module, nn.modules.batchnorm._BatchNorm):
            self._batch_norm(node, source, name, module)
        elif isinstance(module, NORMALISERS):
            self._layer_norm(node, source, name, module)
        elif is_attention(module):
            self._attention(node, name, module)
        elif isinstance(module, NEUTRAL):
            self._follow(node, source)
        elif isinstance(module, POOLS):
            self._pooled_module(node, source, module)
        elif isinstance(module, (nn.Softmax, nn.LogSoftmax)):
            self._softmax(node, module.dim, isinstance(module, nn.LogSoftmax), type(module).__name__)
        else:
            self._activation(node, MODULES[type(module)], type(module).__name__, module)

    def _function(self, node: fx.Node) -> None:
        name = node.meta["name"]
        rule = getattr(self, f"_{RULES[name]}", None) if name in RULES else None
        if rule is None:
            self._unknown(node, f"{name} has no rule")
            return
        self.used_radius = False
        try:
            rule(node)
        except Unbounded as error:
            self._unknown(node, str(error))
        self.graph.needs_radius |= self.used_radius


# the method of `Rules` that reads a function of this name
RULES: dict[str, str] = {
    **dict.fromkeys(KEEPS, "keep"), **dict.fromkeys(MOVES, "move"), **dict.fromkeys(SLOPES, "slope"),
    "part": "part", "linear": "linear", "conv1d": "convolution", "conv2d": "convolution", "embedding":
    "embedding", **dict.fromkeys(("layer_norm", "rms_norm", "group_norm"), "normalizing"),
    "scaled_dot_product_attention": "dot_product_attention", **dict.fromkeys(("softmax", "log_softmax"),
    "softmax_function"), "exp": "exponential", "pow": "power", "square": "power", "masked_fill": "fill",
    "where": "fill", **dict.fromkeys(("maximum", "minimum", "max", "min"), "larger"), "add": "sum", "sub":
    "sum", **dict.fromkeys(("cat", "stack"), "concatenate"), **dict.fromkeys(("mean", "sum", "cumsum",
    "std"), "reduction"), **dict.fromkeys((*AVERAGED, *MAXIMUM),
    "pooled"), "mul": "product", "div": "product", **dict.fromkeys(("matmul",
    "rmatmul", "bmm", "mm"), "matrix_product"), "addmm": "added_product",
}  # fmt: skip
