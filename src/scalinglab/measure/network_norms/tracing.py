"""Reading a network: from a module to its layers and the rule of its Lipschitz constant.

The network is traced (`torch.fx`) and run once on zeros for the shapes; `network_norms.rules` makes of
every node a step that carries a bound on the Lipschitz constant. A network that cannot be traced is taken as
a chain of its layers.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, fx, nn

from scalinglab.errors import BadInput
from scalinglab.measure.evaluation import evaluating
from scalinglab.measure.network_norms.graph import Graph
from scalinglab.measure.network_norms.layers import (
    BATCH,
    attention_layers,
    is_attention,
    make_layer,
    sequences,
    unknown,
    use_of,
)
from scalinglab.measure.network_norms.rules import NEUTRAL, Rules

LEAVES = (nn.Linear, nn.Conv2d, nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm, *NEUTRAL)


class _Tracer(fx.Tracer):
    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> Any:
        """The network's arguments: the first is the input, those after it keep their defaults."""
        function, args = super().create_args_for_root(root_fn, is_module, concrete_args)
        parameters = list(inspect.signature(inspect.unwrap(root_fn)).parameters.values())
        if all(p.kind is not p.VAR_POSITIONAL for p in parameters):
            for place, parameter in list(enumerate(parameters[: len(args)]))[2:]:
                if parameter.default is not parameter.empty and isinstance(args[place], fx.Proxy):
                    self.graph.erase_node(args[place].node)
                    args[place] = parameter.default
        return function, args

    def is_leaf_module(self, module: nn.Module, qualified_name: str) -> bool:
        if isinstance(module, (nn.TransformerEncoder, nn.TransformerEncoderLayer)):
            return False
        return is_leaf(module) or super().is_leaf_module(module, qualified_name)

    def call_module(self, m: nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        """Read PyTorch's encoder as its layers: it asks about shapes, which a graph does not know."""
        if isinstance(m, nn.TransformerEncoder) and len(args) == 1 and not kwargs:
            layers = [*m.layers, *([] if m.norm is None else [m.norm])]
            return functools.reduce(lambda x, layer: layer(x), layers, args[0])
        return super().call_module(m, forward, args, kwargs)


def is_leaf(module: nn.Module) -> bool:
    """Whether a module is read as one piece, also if it is a subclass of PyTorch's."""
    return isinstance(module, LEAVES) or is_attention(module)


def unwrapped(model: nn.Module) -> nn.Module:
    """The network inside what compiles it or spreads it over devices."""
    while True:
        if isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):  # of torch.compile
            model = inner
        elif isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = model.module
        else:
            return model


def trace(model: nn.Module, input_shape: tuple[int, ...]) -> Graph:
    """Read the graph of `model` for inputs of `input_shape` (without the batch axis)."""
    if next(model.parameters(), None) is None:
        return Graph()
    parameter = next(model.parameters())
    zeros = torch.zeros(BATCH, *input_shape, dtype=parameter.dtype, device=parameter.device)
    with evaluating(model), torch.no_grad():
        try:
            model(zeros)
        except Exception as error:
            raise BadInput(
                f"{type(model).__name__} cannot take inputs of shape {tuple(input_shape)}: {error}"
            ) from error
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        try:
            with _slow_attention():
                traced = fx.GraphModule(model, _Tracer().trace(model))
                shapes = _Shapes(traced)
                shapes.run(zeros)
        except Exception as error:  # whatever a forward pass may do that fx cannot follow
            return _in_order(model, zeros, names, str(error).split("\n")[0])
        return Rules(traced, shapes.seen, names).graph


@contextlib.contextmanager
def _slow_attention() -> Iterator[None]:
    """PyTorch's transformers layer by layer: their fast path asks about the inputs."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _in_order(model: nn.Module, zeros: Tensor, names: dict[int, str], reason: str) -> Graph:
    """Without a graph: the layers as one chain, in the order in which they run."""
    graph = Graph(output="chain")
    graph.assumptions.append(
        f"the graph could not be traced ({reason}): layers are taken as one chain in the order they run, "
        "without sums of branches, attention patterns, norms and pooling between them"
    )

    known = (nn.Linear, nn.Conv2d, nn.MultiheadAttention)
    for name, module in model.named_modules():
        own = [f"{name}.{p}".strip(".") for p, w in module.named_parameters(recurse=False) if w.ndim > 1]
        if own and not isinstance(module, known):
            if type(module).__module__.startswith("torch.nn"):
                raise BadInput(unknown(module, name))
            graph.assumptions.append(f"{', '.join(own)}: outside of layers, left out")

    def record(name: str) -> Callable[..., None]:
        def hook(module: Any, inputs: tuple[Tensor, ...], named: dict[str, Tensor], output: Any) -> None:
            first, shape = not graph.layers, tuple((*inputs, *named.values())[0].shape)
            if isinstance(module, nn.MultiheadAttention):
                graph.attentions.append(sequences(module, shape))
                graph.layers.extend(attention_layers(name, module, shape, first))
                return
            use, shapes = use_of(name, graph), (shape, tuple(output.shape))
            graph.layers.append(make_layer(use, names, module, *shapes, None, first))

        return hook

    handles = [
        module.register_forward_hook(record(name), with_kwargs=True)
        for name, module in model.named_modules()
        if isinstance(module, known)
    ]
    try:
        model(zeros)
    finally:
        for handle in handles:
            handle.remove()

    def chain(values: dict[str, Tensor | None], norms: dict[str, Tensor]) -> None:
        values["chain"] = torch.stack([norms[layer.name] for layer in graph.layers]).sum(0)

    graph.steps.append(chain)
    return graph


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
