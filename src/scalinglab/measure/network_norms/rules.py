"""What each node of a traced network does to the Lipschitz constant from the input to it.

A node becomes a step of a `Graph` that carries the bound on; what had to be assumed is written down. A module
with weights that the rules do not know is refused: its norm would be wrong in silence.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

from scalinglab.errors import BadInput
from scalinglab.measure.network_norms.graph import Graph, Reading, Stack, batch_norm_scale
from scalinglab.measure.network_norms.layers import (
    PARTS,
    attention_layers,
    is_attention,
    make_layer,
    pair,
    sequences,
    unknown,
    use_of,
)

# largest slope of each activation; of the softmax the largest norm of its Jacobian, diag(p) - p pᵀ
SLOPES: dict[Any, float] = {
    nn.ReLU: 1.0, nn.ReLU6: 1.0, nn.LeakyReLU: 1.0, nn.Tanh: 1.0, nn.Hardtanh: 1.0, nn.Softplus: 1.0,
    nn.ELU: 1.0, nn.Sigmoid: 0.25, nn.GELU: 1.1290, nn.SiLU: 1.0999, nn.Mish: 1.0885, nn.SELU: 1.7581,
    nn.Softmax: 0.5,
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
                   "type_as", "long"}  # fmt: skip


SUMS = (operator.add, operator.iadd, torch.add, operator.sub, torch.sub, "add", "add_", "sub")
PRODUCTS = (operator.mul, torch.mul, "mul")
QUOTIENTS = (operator.truediv, torch.div, "div")
POOLS = (nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d)
POOL_FUNCTIONS = (F.max_pool2d, F.avg_pool2d, F.adaptive_avg_pool2d, torch.max_pool2d)


def _any_of(*kinds: type) -> Callable[[nn.Module], bool]:
    return lambda module: isinstance(module, kinds)


# the method of `Rules` that reads a module: the first whose condition holds
MODULE_RULES: tuple[tuple[Callable[[nn.Module], bool], str], ...] = (
    (_any_of(nn.Linear, nn.Conv2d), "_layer"),
    (_any_of(nn.modules.batchnorm._BatchNorm), "_batch_norm"),
    (_any_of(nn.LayerNorm, nn.GroupNorm), "_layer_norm"),
    (is_attention, "_attention"),
    (_any_of(*NEUTRAL), "_neutral_module"),
    (_any_of(*POOLS), "_pool_module"),
    (lambda module: type(module) in SLOPES, "_activation"),  # a subclass may do something else
    (_any_of(nn.LogSoftmax), "_log_softmax"),
)
# the method that reads a function or a tensor's method
FUNCTION_RULES: dict[Any, str] = {
    **dict.fromkeys(SUMS, "_sum"),
    **dict.fromkeys((torch.cat, torch.concat), "_concatenate"),
    **dict.fromkeys((*PRODUCTS, *QUOTIENTS), "_scaling"),
    **dict.fromkeys((*NEUTRAL_FUNCTIONS, *NEUTRAL_METHODS), "_neutral"),
    **dict.fromkeys((*FUNCTION_SLOPES, *METHOD_SLOPES), "_slope"),
    **dict.fromkeys((torch.mean, "mean"), "_mean"),
    F.embedding: "_lookup",
    **dict.fromkeys(POOL_FUNCTIONS, "_pooling"),
    **dict.fromkeys(("size", "dim", getattr), "_no_tensor"),
}


class Rules:
    """Turns fx nodes into steps of a `Graph`."""

    def __init__(
        self, traced: fx.GraphModule, shapes: dict[str, tuple[int, ...]], names: dict[int, str]
    ) -> None:
        self.modules = dict(traced.named_modules())
        self.shapes, self.names = shapes, names
        self.graph = Graph()
        self.folded: dict[str, str] = {}  # batch norm node -> node of the layer it is folded into
        self.bare: set[str] = set()  # nodes that no parameter has touched
        for node in traced.graph.nodes:
            self._node(node)

    # -- one node -------------------------------------------------------------------------------------

    def _node(self, node: fx.Node) -> None:
        self._touch(node)
        if node.op == "placeholder":
            if self.graph.steps and not node.users:
                return
            if self.graph.steps:
                raise BadInput(f"the network takes a second input {node.target!r}; norms are for one input")
            self._say(node, "input", 1.0)
            self._set(node, _zero)
        elif node.op == "get_attr":
            self._set(node, lambda norms: None)
        elif node.op == "output":
            self.graph.output = _result(node.args[0]).name
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
        for fits, rule in MODULE_RULES:
            if fits(module):
                getattr(self, rule)(node, source, name, module)
                return
        if any(parameter.ndim > 1 for parameter in module.parameters()):
            raise BadInput(unknown(module, name))
        self._assume(node, [source], type(module).__name__)

    def _function(self, node: fx.Node) -> None:
        if node.target in FUNCTION_RULES:
            getattr(self, FUNCTION_RULES[node.target])(node)
            return
        what = str(getattr(node.target, "__name__", node.target))
        if any(n.op == "get_attr" and len(self.shapes[n.name]) > 1 for n in node.all_input_nodes):
            raise BadInput(f"{what} applies weights outside of a layer: norms need them in a torch.nn module")
        self._assume(node, _sources(node), what)

    # -- modules without weights ----------------------------------------------------------------------

    def _neutral_module(self, node: fx.Node, source: str, _: str, module: nn.Module) -> None:
        self._factor(node, [source], 1.0, type(module).__name__)

    def _pool_module(self, node: fx.Node, source: str, _: str, module: nn.Module) -> None:
        self._factor(node, [source], self._pool(source, node, module), type(module).__name__)

    def _activation(self, node: fx.Node, source: str, _: str, module: nn.Module) -> None:
        slope = SLOPES[type(module)]
        if isinstance(module, nn.LeakyReLU):
            slope = max(1.0, abs(module.negative_slope))
        self._factor(node, [source], slope, type(module).__name__)

    def _log_softmax(self, node: fx.Node, source: str, _: str, module: nn.LogSoftmax) -> None:
        """‖1 - 1 pᵀ‖ = √n where p is one of n classes."""
        axis = -1 if module.dim is None else module.dim
        self._factor(node, [source], math.sqrt(self.shapes[node.name][axis]), "LogSoftmax")

    # -- functions and methods ------------------------------------------------------------------------

    def _scaling(self, node: fx.Node) -> None:
        sources = _sources(node)
        numbers = [a for a in node.args if isinstance(a, (int, float))]
        divides = node.target in QUOTIENTS
        if len(sources) == len(numbers) == 1 and not (divides and node.args[0] is numbers[0]):
            size = abs(float(numbers[0]))
            self._factor(node, sources, 1 / size if divides else size, "scaling")
        else:
            self._assume(node, sources, "product of tensors")

    def _neutral(self, node: fx.Node) -> None:
        self._factor(node, _sources(node), 1.0, str(getattr(node.target, "__name__", node.target)))

    def _slope(self, node: fx.Node) -> None:
        slope = {**FUNCTION_SLOPES, **METHOD_SLOPES}[node.target]
        self._factor(node, _sources(node), slope, str(getattr(node.target, "__name__", node.target)))

    def _mean(self, node: fx.Node) -> None:
        sources = _sources(node)
        count = math.prod(self.shapes[sources[0]]) / max(1, math.prod(self.shapes[node.name]))
        self._factor(node, sources, 1 / math.sqrt(count), "mean")

    def _pooling(self, node: fx.Node) -> None:
        sources, pool = _sources(node), self._pool_of_function(node)
        self._factor(node, sources, self._pool(sources[0], node, pool), str(node.target.__name__))  # type: ignore

    def _lookup(self, node: fx.Node) -> None:
        self.graph.assumptions.append("tokens: norms are those of the map from their vectors to the output")
        self._set(node, _zero)

    def _no_tensor(self, node: fx.Node) -> None:
        self._set(node, lambda norms: None)

    # -- what nodes do --------------------------------------------------------------------------------

    def _say(self, node: fx.Node, what: str, constant: float | None) -> None:
        self.graph.constants[str(node.target) if node.op == "call_module" else node.name] = (what, constant)

    def _set(self, node: fx.Node, value: Callable[[dict[str, Tensor]], Tensor | None]) -> None:
        def step(values: dict[str, Tensor | None], norms: dict[str, Tensor]) -> None:
            values[node.name] = value(norms)

        self.graph.steps.append(step)

    def _factor(self, node: fx.Node, sources: list[str], factor: float, what: str) -> None:
        log_factor = math.log(factor) if factor > 0 else -math.inf
        if factor != 1.0:
            self._say(node, what, factor)

        def step(values: dict[str, Tensor | None], norms: dict[str, Tensor]) -> None:
            value = next((values[s] for s in sources if values[s] is not None), None)
            values[node.name] = value + log_factor if value is not None and log_factor else value

        self.graph.steps.append(step)

    def _assume(self, node: fx.Node, sources: list[str], what: str) -> None:
        self.graph.assumptions.append(f"{what} ({node.name}) is taken to have Lipschitz constant 1")
        self._factor(node, sources, 1.0, what)
        self._say(node, what, 1.0)

    def _sum(self, node: fx.Node) -> None:
        sources = _operands(node)
        alpha = float(node.kwargs.get("alpha", 1.0))  # type: ignore[arg-type]
        logs = [0.0] * (len(sources) - 1) + [math.log(abs(alpha)) if alpha else -math.inf]

        def step(values: dict[str, Tensor | None], norms: dict[str, Tensor]) -> None:
            terms = [value + log for s, log in zip(sources, logs, strict=True)
                     if (value := values[s]) is not None]  # fmt: skip
            values[node.name] = torch.logsumexp(torch.stack(terms), 0) if terms else None

        constants = {n.name for n in node.all_input_nodes if n.op == "get_attr"}
        if len([s for s in sources if s not in constants]) > 1:
            self.graph.has_branches = True
        self.graph.steps.append(step)

    def _concatenate(self, node: fx.Node) -> None:
        sources = _operands(node)

        def step(values: dict[str, Tensor | None], norms: dict[str, Tensor]) -> None:
            terms = [2 * value for s in sources if (value := values[s]) is not None]
            values[node.name] = 0.5 * torch.logsumexp(torch.stack(terms), 0) if terms else None

        self.graph.has_concatenation = True
        self.graph.steps.append(step)

    def _layer(self, node: fx.Node, source: str, name: str, module: nn.Linear | nn.Conv2d) -> None:
        norm = None
        users = list(node.users)
        if len(users) == 1 and users[0].op == "call_module":
            after = self.modules[str(users[0].target)]
            if isinstance(after, nn.modules.batchnorm._BatchNorm) and after.track_running_stats:
                norm = (str(users[0].target), float(after.eps))
                self.folded[users[0].name] = node.name
        shapes = self.shapes[source], self.shapes[node.name]
        use, first = use_of(name, self.graph), source in self.bare
        layer = make_layer(use, self.names, module, *shapes, norm, first)
        self.graph.layers.append(layer)

        def step(values: dict[str, Tensor | None], norms: dict[str, Tensor]) -> None:
            value = values[source]
            values[node.name] = None if value is None else value + norms[layer.name]

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
        self._scale(node, source, lambda state: batch_norm_scale(state, name, epsilon))

    def _layer_norm(self, node: fx.Node, source: str, name: str, module: nn.Module) -> None:
        self._say(node, "layer norm", None)
        text = "layer norm: its Lipschitz constant is max|γ|, for inputs of standard deviation 1 or more"
        if text not in self.graph.assumptions:
            self.graph.assumptions.append(text)
        if getattr(module, "weight", None) is None:
            self._factor(node, [source], 1.0, "layer norm")
        else:
            self._scale(node, source, lambda state: state[f"{name}.weight"].detach().double())

    def _scale(self, node: fx.Node, source: str, scales: Reading) -> None:
        """A diagonal layer: its constant is the largest of its scales."""
        reading = f"{node.name} scale"
        self.graph.readings[reading] = lambda state: scales(state).abs().flatten(1).amax(1).log()

        def step(values: dict[str, Tensor | None], norms: dict[str, Tensor]) -> None:
            value = values[source]
            values[node.name] = None if value is None else value + norms[reading]

        self.graph.steps.append(step)

    def _attention(self, node: fx.Node, source: str, name: str, module: nn.Module) -> None:
        if len(_sources(node)) > 1 or len(self.shapes[source]) != 3:
            raise BadInput(f"attention {name}: norms are for self-attention on (n, tokens, dim)")
        windows, tokens, dim = sequences(module, self.shapes[source])
        self.graph.attentions.append((windows, tokens, dim))
        self._say(node, "attention", None)
        packed = isinstance(module, nn.MultiheadAttention)
        self.graph.layers += attention_layers(name, module, self.shapes[source], source in self.bare)
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
        root, radius = math.sqrt(tokens), f"{name} radius"

        def read_radius(state: Stack) -> Tensor:
            """log R."""
            if f"{norm_before}.weight" not in state:
                some = next(iter(state.values()))
                return torch.full((len(some),), 0.5 * math.log(dim), dtype=torch.float64, device=some.device)
            gain = state[f"{norm_before}.weight"].detach().double().abs().amax(1)
            shift = torch.linalg.vector_norm(state[f"{norm_before}.bias"].detach().double(), dim=1)
            return (math.sqrt(dim) * gain + shift).log()

        self.graph.readings[radius] = read_radius

        def step(values: dict[str, Tensor | None], norms: dict[str, Tensor]) -> None:
            value = values[source]
            if value is None:
                values[node.name] = None
                return
            query, key, content, output = (norms[f"{name}.{part}"] for part in PARTS)
            pattern = query + key + 2 * norms[radius] + math.log(scale * (1 + root))
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
        if node.target is F.adaptive_avg_pool2d:
            return nn.AdaptiveAvgPool2d(kernel)  # type: ignore
        kind = nn.AvgPool2d if node.target is F.avg_pool2d else nn.MaxPool2d
        return kind(kernel, stride or None)  # type: ignore


def _zero(norms: dict[str, Tensor]) -> Tensor | None:
    return torch.zeros_like(next(iter(norms.values())).detach())


def _sources(node: fx.Node) -> list[str]:
    return [n.name for n in node.all_input_nodes]


def _operands(node: fx.Node) -> list[str]:
    """As `_sources`, but what enters twice is named twice."""
    found: list[str] = []
    fx.map_arg((node.args, node.kwargs), lambda n: found.append(n.name))
    return found


def _result(returned: Any) -> fx.Node:
    """The logits among what a network returns."""
    if isinstance(returned, fx.Node):
        return returned
    if isinstance(returned, dict):
        return _result(returned.get("logits", next(iter(returned.values()))))
    return _result(returned[0])
