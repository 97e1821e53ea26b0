"""The Lipschitz constant of a network as a function of the norms of its layers.

The network's graph is traced (`torch.fx`), and a bound on the Lipschitz constant from the input to every
node is carried along it, in logarithms: layers multiply, branches that meet in a sum add, concatenated
branches add in quadrature. What had to be assumed is written down.

For a chain of layers the result is Π ρ_i ‖A_i‖. For a residual block x + F(x) it is 1 + Lip(F): the block
at reference matrix zero inside F is the identity, which is what eq. 2 of damico2025 means by "reference
matrix: identity for residual layers".
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

from scalinglab.errors import BadInput
from scalinglab.measure.operators import ConvGeometry

# largest slope of each activation
SLOPES: dict[Any, float] = {
    nn.ReLU: 1.0, nn.ReLU6: 1.0, nn.LeakyReLU: 1.0, nn.Tanh: 1.0, nn.Hardtanh: 1.0, nn.Softplus: 1.0,
    nn.ELU: 1.0, nn.Sigmoid: 0.25, nn.GELU: 1.1290, nn.SiLU: 1.0999, nn.Mish: 1.0885, nn.SELU: 1.7581,
    nn.Softmax: 1.0, nn.LogSoftmax: math.sqrt(2.0),
}  # fmt: skip
FUNCTION_SLOPES: dict[Any, float] = {
    F.relu: 1.0, torch.relu: 1.0, F.leaky_relu: 1.0, torch.tanh: 1.0, F.tanh: 1.0, torch.sigmoid: 0.25,
    F.gelu: 1.1290, F.silu: 1.0999, F.elu: 1.0, F.softplus: 1.0, torch.abs: 1.0,
}  # fmt: skip
METHOD_SLOPES = {"relu": 1.0, "tanh": 1.0, "sigmoid": 0.25, "abs": 1.0}
NEUTRAL = (nn.Identity, nn.Flatten, nn.Unflatten, nn.Dropout, nn.Dropout2d, nn.AlphaDropout, nn.ZeroPad2d)
NEUTRAL_FUNCTIONS = {torch.flatten, torch.reshape, torch.squeeze, torch.unsqueeze, torch.permute,
                     torch.transpose, F.dropout, operator.getitem, F.pad}  # fmt: skip
NEUTRAL_METHODS = {"view", "reshape", "flatten", "transpose", "permute", "contiguous", "squeeze",
                   "unsqueeze", "expand", "expand_as", "to", "float", "clone", "detach", "movedim",
                   "type_as"}  # fmt: skip


@dataclass(frozen=True)
class Layer:
    """One linear map with weights, as it stands in a network.

    Attributes:
        name: Name of the module (with .query, .key, .value, .output inside attention).
        weight: Name of its weight parameter.
        rows: Rows of that parameter that belong to this map (packed attention), or None for all.
        geometry: How a convolution is applied, None for a dense layer.
        positions: How many times a dense layer is applied (tokens).
        multiplier: Factor on the weight in the forward pass.
        norm: Name of a batch norm folded into the layer, with its ε, or None.
        size: (outputs, inputs) of one application, inputs counted for one output.
        applications: How many times one output unit's weights are applied to one example.
        first: Whether it sees the data themselves, so that nothing is propagated back through it.
    """

    name: str
    weight: str
    rows: tuple[int, int] | None = None
    geometry: ConvGeometry | None = None
    positions: int = 1
    multiplier: float = 1.0
    norm: tuple[str, float] | None = None
    size: tuple[int, int] = (0, 0)
    applications: int = 1
    first: bool = False


Step = Callable[[dict[str, Tensor | None], dict[str, Tensor], dict[str, Tensor]], None]
Stack = dict[str, Tensor]  # parameters and buffers by name, with a leading axis of replicas


@dataclass
class Graph:
    """Layers of a network and the rule that makes a Lipschitz constant of their norms."""

    layers: list[Layer] = field(default_factory=list)
    steps: list[Callable[[dict[str, Tensor | None], Stack, dict[str, Tensor]], None]] = field(
        default_factory=list
    )
    constants: dict[str, tuple[str, float | None]] = field(default_factory=dict)  # node: (what, constant)
    assumptions: list[str] = field(default_factory=list)
    attentions: list[tuple[int, int]] = field(default_factory=list)  # tokens and dim of each
    has_branches: bool = False
    output: str = ""

    @property
    def has_attention(self) -> bool:
        """Whether there is attention anywhere in the network."""
        return bool(self.attentions)

    @property
    def geometries(self) -> dict[str, ConvGeometry | None]:
        """How each layer is applied."""
        return {layer.name: layer.geometry for layer in self.layers}

    def log_lipschitz(self, state: Stack, log_norms: dict[str, Tensor]) -> Tensor:
        """log of the Lipschitz constant of each replica, differentiable in the log norms; on the CPU."""
        values: dict[str, Tensor | None] = {}
        for step in self.steps:
            step(values, state, log_norms)
        result = values[self.output]
        if result is None:
            raise BadInput("the output of the network does not depend on its input")
        return result


class _Tracer(fx.Tracer):
    def is_leaf_module(self, module: nn.Module, qualified_name: str) -> bool:
        known = (nn.Linear, nn.Conv2d, nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm)
        return (
            isinstance(module, known)
            or is_attention(module)
            or super().is_leaf_module(module, qualified_name)
        )


def is_attention(module: nn.Module) -> bool:
    """Whether a module is self-attention whose matrices can be read."""
    names = ("query", "key", "value", "output")
    return isinstance(module, nn.MultiheadAttention) or all(
        isinstance(getattr(module, name, None), nn.Linear) for name in names
    )


def trace(model: nn.Module, input_shape: tuple[int, ...]) -> Graph:
    """Read the graph of `model` for inputs of `input_shape` (without the batch axis)."""
    training = model.training
    model.eval()
    try:
        try:
            traced = fx.GraphModule(model, _Tracer().trace(model))
            shapes = _Shapes(traced)
            parameter = next(model.parameters())
            with torch.no_grad():
                shapes.run(torch.zeros(2, *input_shape, dtype=parameter.dtype, device=parameter.device))
        except Exception as error:
            raise BadInput(
                f"the graph of {type(model).__name__} cannot be read for inputs of shape "
                f"{tuple(input_shape)}: {error}. Norms need a forward pass made of torch.nn layers "
                "that does not branch on its data"
            ) from error
        return _Reader(traced, shapes.seen).graph
    finally:
        model.train(training)


class _Shapes(fx.Interpreter):
    """Runs the graph once and keeps the shape of every node."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.seen: dict[str, tuple[int, ...]] = {}

    def run_node(self, n: fx.Node) -> Any:
        result = super().run_node(n)
        value = result[0] if isinstance(result, tuple) else result
        self.seen[n.name] = tuple(value.shape) if isinstance(value, Tensor) else ()
        return result


class _Reader:
    """Turns fx nodes into steps of a `Graph`."""

    def __init__(self, traced: fx.GraphModule, shapes: dict[str, tuple[int, ...]]) -> None:
        self.modules = dict(traced.named_modules())
        self.shapes = shapes
        self.graph = Graph()
        self.folded: dict[str, str] = {}  # batch norm node -> node of the layer it is folded into
        self.bare: set[str] = set()  # nodes that no parameter has touched
        for node in traced.graph.nodes:
            self._node(node)

    # -- one node -------------------------------------------------------------------------------------

    def _node(self, node: fx.Node) -> None:
        self._touch(node)
        if node.op == "placeholder":
            if self.graph.steps:
                raise BadInput(f"the network takes a second input {node.target!r}; norms are for one input")
            self._say(node, "input", 1.0)
            self._set(node, _zero)
        elif node.op == "get_attr":
            self._set(node, lambda state: None)
        elif node.op == "output":
            result = node.args[0]
            self.graph.output = (result if isinstance(result, fx.Node) else result[0]).name  # type: ignore
        elif node.op == "call_module":
            self._module(node, self.modules[str(node.target)])
        else:
            self._function(node)

    def _touch(self, node: fx.Node) -> None:
        owned = node.op == "get_attr"
        if node.op == "call_module":
            owned = any(True for _ in self.modules[str(node.target)].parameters())
        if not owned and all(n.name in self.bare for n in node.all_input_nodes):
            self.bare.add(node.name)

    def _module(self, node: fx.Node, module: nn.Module) -> None:
        source, name = _sources(node)[0], str(node.target)
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            self._layer(node, source, name, module)
        elif isinstance(module, nn.modules.batchnorm._BatchNorm):
            self._batch_norm(node, source, name, module)
        elif isinstance(module, (nn.LayerNorm, nn.GroupNorm)):
            self._layer_norm(node, source, name, module)
        elif is_attention(module):
            self._attention(node, source, name, module)
        elif isinstance(module, NEUTRAL):
            self._factor(node, [source], 1.0, type(module).__name__)
        elif isinstance(module, (nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d)):
            self._factor(node, [source], self._pool(source, node, module), type(module).__name__)
        elif type(module) in SLOPES:
            slope = SLOPES[type(module)]
            if isinstance(module, nn.LeakyReLU):
                slope = max(1.0, abs(module.negative_slope))
            self._factor(node, [source], slope, type(module).__name__)
        else:
            self._assume(node, [source], type(module).__name__)

    def _function(self, node: fx.Node) -> None:
        target, sources = node.target, _sources(node)
        if target in (operator.add, operator.iadd, torch.add, operator.sub, torch.sub, "add", "add_", "sub"):
            self._sum(node, sources)
        elif target in (torch.cat, torch.concat):
            self._concatenate(node, sources)
        elif target in (operator.mul, torch.mul, operator.truediv, torch.div, "mul", "div"):
            numbers = [a for a in node.args if isinstance(a, (int, float))]
            if len(sources) == 1 and len(numbers) == 1:
                divides = target in (operator.truediv, torch.div, "div")
                size = abs(float(numbers[0]))
                self._factor(node, sources, 1 / size if divides else size, "scaling")
            else:
                self._assume(node, sources, "product of two tensors")
        elif target in NEUTRAL_FUNCTIONS or target in NEUTRAL_METHODS:
            self._factor(node, sources, 1.0, str(getattr(target, "__name__", target)))
        elif target in FUNCTION_SLOPES or target in METHOD_SLOPES:
            slope = FUNCTION_SLOPES[target] if target in FUNCTION_SLOPES else METHOD_SLOPES[str(target)]
            self._factor(node, sources, slope, str(getattr(target, "__name__", target)))
        elif target in (torch.mean, "mean"):
            count = math.prod(self.shapes[sources[0]]) / max(1, math.prod(self.shapes[node.name]))
            self._factor(node, sources, 1 / math.sqrt(count), "mean")
        elif target in (F.max_pool2d, F.avg_pool2d, F.adaptive_avg_pool2d, torch.max_pool2d):
            pool = self._pool_of_function(node)
            self._factor(node, sources, self._pool(sources[0], node, pool), str(target.__name__))  # type: ignore
        elif target in ("size", "dim", getattr):
            self._set(node, lambda state: None)
        else:
            self._assume(node, sources, str(getattr(target, "__name__", target)))

    # -- what nodes do --------------------------------------------------------------------------------

    def _say(self, node: fx.Node, what: str, constant: float | None) -> None:
        self.graph.constants[str(node.target) if node.op == "call_module" else node.name] = (what, constant)

    def _set(self, node: fx.Node, value: Callable[[Stack], Tensor | None]) -> None:
        def step(values: dict[str, Tensor | None], state: Stack, norms: dict[str, Tensor]) -> None:
            values[node.name] = value(state)

        self.graph.steps.append(step)

    def _factor(self, node: fx.Node, sources: list[str], factor: float, what: str) -> None:
        log_factor = math.log(factor) if factor > 0 else -math.inf
        if factor != 1.0:
            self._say(node, what, factor)

        def step(values: dict[str, Tensor | None], state: Stack, norms: dict[str, Tensor]) -> None:
            value = next((values[s] for s in sources if values[s] is not None), None)
            values[node.name] = None if value is None else value + log_factor

        self.graph.steps.append(step)

    def _assume(self, node: fx.Node, sources: list[str], what: str) -> None:
        self.graph.assumptions.append(f"{what} ({node.name}) is taken to have Lipschitz constant 1")
        self._factor(node, sources, 1.0, what)
        self._say(node, what, 1.0)

    def _sum(self, node: fx.Node, sources: list[str]) -> None:
        def step(values: dict[str, Tensor | None], state: Stack, norms: dict[str, Tensor]) -> None:
            terms = [value for s in sources if (value := values[s]) is not None]
            values[node.name] = torch.logsumexp(torch.stack(terms), 0) if terms else None

        constants = {n.name for n in node.all_input_nodes if n.op == "get_attr"}
        if len([s for s in sources if s not in constants]) > 1:
            self.graph.has_branches = True
        self.graph.steps.append(step)

    def _concatenate(self, node: fx.Node, sources: list[str]) -> None:
        def step(values: dict[str, Tensor | None], state: Stack, norms: dict[str, Tensor]) -> None:
            terms = [2 * value for s in sources if (value := values[s]) is not None]
            values[node.name] = 0.5 * torch.logsumexp(torch.stack(terms), 0) if terms else None

        self.graph.steps.append(step)

    def _layer(self, node: fx.Node, source: str, name: str, module: nn.Linear | nn.Conv2d) -> None:
        shape = self.shapes[source]
        norm = None
        users = list(node.users)
        if len(users) == 1 and users[0].op == "call_module":
            after = self.modules[str(users[0].target)]
            if isinstance(after, nn.modules.batchnorm._BatchNorm) and after.track_running_stats:
                norm = (str(users[0].target), float(after.eps))
                self.folded[users[0].name] = node.name
        multiplier = float(getattr(module, "multiplier", 1.0))
        fan = math.prod(module.weight.shape[1:])
        common = {"multiplier": multiplier, "norm": norm, "first": source in self.bare}
        if isinstance(module, nn.Conv2d):
            padding = module.padding if isinstance(module.padding, str) else _pair(module.padding)
            geometry = ConvGeometry(
                shape[1], _pair(shape[2:]), _pair(module.stride), padding, _pair(module.dilation),
                module.groups, module.padding_mode,
            )  # fmt: skip
            pixels = math.prod(self.shapes[node.name][2:])
            layer = Layer(name, f"{name}.weight", None, geometry, 1, size=(module.out_channels, fan),
                          applications=pixels, **common)  # type: ignore[arg-type]  # fmt: skip
        else:
            positions = math.prod(shape[1:-1])
            layer = Layer(name, f"{name}.weight", None, None, positions, size=(module.out_features, fan),
                          applications=positions, **common)  # type: ignore[arg-type]  # fmt: skip
        self.graph.layers.append(layer)

        def step(values: dict[str, Tensor | None], state: Stack, norms: dict[str, Tensor]) -> None:
            value = values[source]
            values[node.name] = None if value is None else value + norms[name]

        self.graph.steps.append(step)

    def _batch_norm(self, node: fx.Node, source: str, name: str, module: nn.Module) -> None:
        if node.name in self.folded:
            self._factor(node, [source], 1.0, "batch norm")
            return
        epsilon = float(module.eps)  # type: ignore
        if not module.track_running_stats:
            self._assume(node, [source], "batch norm without running statistics")
            return
        self._say(node, "batch norm, a diagonal layer of its own", None)

        def step(values: dict[str, Tensor | None], state: Stack, norms: dict[str, Tensor]) -> None:
            value = values[source]
            size = batch_norm_scale(state, name, epsilon).abs().amax(-1).log().cpu()
            values[node.name] = None if value is None else value + size

        self.graph.steps.append(step)

    def _layer_norm(self, node: fx.Node, source: str, name: str, module: nn.Module) -> None:
        self._say(node, "layer norm", None)
        text = "layer norm: its Lipschitz constant is max|γ|, for inputs of standard deviation 1 or more"
        if text not in self.graph.assumptions:
            self.graph.assumptions.append(text)
        affine = getattr(module, "weight", None) is not None

        def step(values: dict[str, Tensor | None], state: Stack, norms: dict[str, Tensor]) -> None:
            value = values[source]
            size = (
                state[f"{name}.weight"].detach().double().abs().flatten(1).amax(1).log().cpu()
                if affine
                else 0.0
            )
            values[node.name] = None if value is None else value + size

        self.graph.steps.append(step)

    def _attention(self, node: fx.Node, source: str, name: str, module: nn.Module) -> None:
        _, tokens, dim = self.shapes[source]
        self.graph.attentions.append((tokens, dim))
        self._say(node, "attention", None)
        packed = isinstance(module, nn.MultiheadAttention)
        parts = ("query", "key", "value", "output")
        for position, part in enumerate(parts):
            full = f"{name}.{part}"
            weight, rows, multiplier = f"{full}.weight", None, 1.0
            if packed:
                weight = f"{name}.out_proj.weight" if part == "output" else f"{name}.in_proj_weight"
                rows = None if part == "output" else (position * dim, (position + 1) * dim)
            else:
                multiplier = float(getattr(getattr(module, part), "multiplier", 1.0))
            self.graph.layers.append(
                Layer(full, weight, rows, None, tokens, multiplier, size=(dim, dim), applications=tokens,
                      first=source in self.bare and part != "output")
            )  # fmt: skip
        heads = int(module.num_heads if packed else module.heads)  # type: ignore
        scale = 1 / math.sqrt(dim // heads) if packed else float(module.scale)  # type: ignore
        before = next((n for n in node.all_input_nodes if n.name == source), None)
        norm_before = None
        if before is not None and before.op == "call_module":
            candidate = self.modules[str(before.target)]
            if isinstance(candidate, nn.LayerNorm):
                norm_before = str(before.target)
        text = (
            "attention: Lipschitz constant √heads ‖O‖ ‖V‖ (√n + (1+√n) R² scale ‖Q‖ ‖K‖) for n tokens of "
            + ("length at most R = √dim max|γ| + ‖β‖, which the layer norm before it guarantees"
               if norm_before else "length assumed to be at most R = √dim")
        )  # fmt: skip
        if text not in self.graph.assumptions:
            self.graph.assumptions.append(text)
        root = math.sqrt(tokens)

        def step(values: dict[str, Tensor | None], state: Stack, norms: dict[str, Tensor]) -> None:
            value = values[source]
            if value is None:
                values[node.name] = None
                return
            radius = torch.full_like(value.detach(), math.sqrt(dim))
            if norm_before and f"{norm_before}.weight" in state:
                gain = state[f"{norm_before}.weight"].detach().double().abs().amax(1).cpu()
                shift = state[f"{norm_before}.bias"].detach().double().norm(dim=1).cpu()
                radius = math.sqrt(dim) * gain + shift
            query, key, content, output = (norms[f"{name}.{part}"] for part in parts)
            pattern = query + key + 2 * radius.log() + math.log(scale * (1 + root))
            mixing = torch.logaddexp(pattern, torch.full_like(pattern, math.log(root)))
            values[node.name] = value + output + content + mixing + 0.5 * math.log(heads)

        self.graph.steps.append(step)

    def _pool(self, source: str, node: fx.Node, module: nn.Module) -> float:
        height, width = self.shapes[source][2:]
        if isinstance(module, nn.AdaptiveAvgPool2d):
            out_height, out_width = self.shapes[node.name][2:]
            if height % out_height or width % out_width:
                self.graph.assumptions.append(
                    f"{node.name}: uneven average pooling is taken as averages of equal windows"
                )
            return math.sqrt(out_height * out_width / (height * width))
        kernel = _pair(module.kernel_size)  # type: ignore
        stride = _pair(module.stride if module.stride is not None else module.kernel_size)  # type: ignore
        overlap = math.prod(math.ceil(k / s) for k, s in zip(kernel, stride, strict=True))
        if isinstance(module, nn.MaxPool2d):
            return math.sqrt(overlap)
        return math.sqrt(overlap / math.prod(kernel))

    def _pool_of_function(self, node: fx.Node) -> nn.Module:
        arguments = list(node.args[1:])
        kernel = arguments[0] if arguments else node.kwargs.get("kernel_size", node.kwargs.get("output_size"))
        stride = arguments[1] if len(arguments) > 1 else node.kwargs.get("stride")
        if node.target is F.adaptive_avg_pool2d:
            return nn.AdaptiveAvgPool2d(kernel)  # type: ignore
        kind = nn.AvgPool2d if node.target is F.avg_pool2d else nn.MaxPool2d
        return kind(kernel, stride or None)  # type: ignore


def batch_norm_scale(state: Stack, name: str, epsilon: float) -> Tensor:
    """γ/√(running variance + ε) of a batch norm, (replicas, channels), float64."""
    variance = state[f"{name}.running_var"].detach().double()
    scale = (variance + epsilon).rsqrt()
    if f"{name}.weight" in state:
        scale = scale * state[f"{name}.weight"].detach().double()
    return scale


def layer_weight(layer: Layer, state: Stack) -> Tensor:
    """The weights that act in the forward pass: with multiplier and folded batch norm, for each replica."""
    weight = state[layer.weight].detach()
    if layer.rows is not None:
        weight = weight[:, layer.rows[0] : layer.rows[1]]
    if layer.norm is not None:
        scale = batch_norm_scale(state, *layer.norm).to(weight.dtype)
        weight = weight * scale.view(*scale.shape, *[1] * (weight.ndim - 2))
    return weight if layer.multiplier == 1.0 else weight * layer.multiplier


def _zero(state: Stack) -> Tensor | None:
    first = next(iter(state.values()))
    return torch.zeros(len(first), dtype=torch.float64)


def _sources(node: fx.Node) -> list[str]:
    return [n.name for n in node.all_input_nodes]


def _pair(value: Any) -> tuple[int, int]:
    if isinstance(value, int):
        return (value, value)
    pair = tuple(int(v) for v in value)
    return (pair[0], pair[-1])
