"""A forward pass on one batch, recorded as a graph of the functions and modules that it calls.

The network runs as it is, with its own sizes, loops and masks; its calls on tensors are recorded. Results
that depend neither on the input nor on parameters are constants. What cannot be recorded (numbers read from
tensors, tensors from elsewhere) is kept as a complaint, and then there is no bound.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.overrides import TorchFunctionMode

from scalinglab.errors import BadInput

State = Mapping[str, Tensor]  # parameters and buffers by name
READS = {"item", "tolist", "numpy", "bool", "float", "int", "index", "complex", "equal", "allclose"}
READING = ("__index__", "__int__", "__invert__")  # begin as those in place do
# operators with the operands in the other order, or in place
SAME = {
    "radd": "add", "iadd": "add", "rmul": "mul", "imul": "mul", "rsub": "sub", "isub": "sub", "itruediv":
    "div", "truediv": "div", "rtruediv": "rdiv", "true_divide": "div", "divide": "div", "multiply": "mul",
    "subtract": "sub", "negative": "neg", "rmatmul": "rmatmul", "ipow": "pow", "concat": "cat",
    "concatenate": "cat", "absolute": "abs", "swapaxes": "transpose", "swapdims": "transpose", "clip":
    "clamp", "hstack": "cat", "vstack": "cat",
}  # fmt: skip


@dataclass
class Recording:
    """What was recorded.

    Attributes:
        graph: Nodes in the order of the calls; `meta["name"]` is the plain name of a function.
        shapes: Of what each node returns, () where it is no tensor.
        weights: Nodes that are parameters or buffers, and their names.
        values: What those and constants were.
        from_input: Nodes that depend on the input.
        discrete: Those of them that depend on it only by whole numbers, such as tokens.
        masks: Nodes of true and false.
        complaints: What escaped the recording.
        output: The node of the logits.
    """

    graph: fx.Graph = field(default_factory=fx.Graph)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    weights: dict[str, str] = field(default_factory=dict)
    values: dict[str, Tensor] = field(default_factory=dict)
    from_input: set[str] = field(default_factory=set)
    discrete: set[str] = field(default_factory=set)
    masks: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)
    output: fx.Node | None = None

    def evaluate(self, node: fx.Node, state: State) -> Any:
        """The value of a node that depends on parameters alone, for other parameters."""
        if node.op == "get_attr":
            return state.get(self.weights.get(node.name, ""), self.values[node.name])
        if node.op != "call_function":
            raise BadInput(f"{node.name} is a module, and no function of parameters")
        args, kwargs = fx.map_arg((node.args, node.kwargs), lambda n: self.evaluate(n, state))
        return node.target(*args, **kwargs)  # type: ignore[operator]


class Recorder(TorchFunctionMode):
    """Records what is called while it is active.

    Args:
        model: the network.
        is_leaf: the modules that are recorded as one call.
    """

    def __init__(self, model: nn.Module, is_leaf: Callable[[nn.Module], bool]) -> None:
        super().__init__()
        self.found = Recording()
        self.model, self.is_leaf = model, is_leaf
        self.names = {id(tensor): name for name, tensor in model.named_buffers()}
        self.names |= {id(tensor): name for name, tensor in model.named_parameters()}
        self.nodes: dict[int, fx.Node] = {}
        self.kept: list[Tensor] = []  # what was seen stays, so that no other tensor gets its identity
        self.tokens: set[str] = set()  # nodes that depend on the input by tokens alone
        self.inside = 0  # leaves that are being called

    def run(self, x: Tensor) -> Recording:
        """Call the network on a batch."""
        placeholder = self.found.graph.placeholder("input")
        self.found.from_input.add(placeholder.name)
        if not x.is_floating_point():
            self.found.discrete.add(placeholder.name)
            self.tokens.add(placeholder.name)
        self._is(x, placeholder)
        hooks: list[Any] = []
        for name, module in self.model.named_modules():
            if self.is_leaf(module):
                hooks.append(module.register_forward_pre_hook(self._enter))
                hooks.append(module.register_forward_hook(self._leave(name), with_kwargs=True))
        try:
            with self:
                returned = self.model(x)
        finally:
            for hook in hooks:
                hook.remove()
        output = logits(returned)
        if output is not None:
            self.found.output = self._node(output)
        return self.found

    # -- what is called ---------------------------------------------------------------------------

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of PyTorch, and record it."""
        kwargs = kwargs or {}
        name = plain_name(function)
        if self.inside:
            return function(*args, **kwargs)
        if _in_place(function) and args and isinstance(args[0], Tensor) and args[0]._is_view():
            self._complain(f"{name} changes a part of a tensor in place")
        known = [node for tensor in _tensors((args, kwargs)) if (node := self._node(tensor))]
        returned = function(*args, **kwargs)
        if not known:
            return returned
        if not any(True for _ in _tensors(returned)):
            reads = name in READS or name == "setitem"
            if reads and any(n.name in self.found.from_input - self.tokens for n in known):
                self._complain(f"{name} takes values out of tensors, or puts them in one by one")
            return returned
        node = self.found.graph.create_node("call_function", function, *self._arguments(args, kwargs))
        node.meta["name"] = name
        self._returns(node, returned)
        return returned

    def _enter(self, module: nn.Module, inputs: Any) -> None:
        self.inside += 1

    def _leave(self, name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any, kwargs: Any, returned: Any) -> None:
            self.inside -= 1
            if self.inside:
                return
            arguments = self._arguments(args, kwargs)
            if again := self._twin(module, name, arguments):
                self._is(returned, again)
                return
            node = self.found.graph.create_node("call_module", name, *arguments)
            self._returns(node, returned[:1] if isinstance(returned, tuple) else returned)

        return hook

    def _twin(self, module: nn.Module, name: str, arguments: tuple[Any, Any]) -> fx.Node | None:
        """The same norm of the same input, called before, as in ``attention(n(x), n(x), n(x))``."""
        if not isinstance(module, (nn.LayerNorm, nn.RMSNorm)):
            return None
        nodes = (n for n in self.found.graph.nodes if n.op == "call_module" and n.target == name)
        return next((n for n in nodes if (n.args, dict(n.kwargs)) == arguments), None)

    def _arguments(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        def known(value: Any) -> Any:
            if isinstance(value, Tensor):
                return self._node(value) or self._constant(value)
            if isinstance(value, (tuple, list)):
                return type(value)(known(v) for v in value) if type(value) in (tuple, list) else value
            return {k: known(v) for k, v in value.items()} if type(value) is dict else value

        return known(tuple(args)), known(dict(kwargs))

    def _returns(self, node: fx.Node, returned: Any) -> None:
        """Every tensor that a call returns gets a node."""
        inputs = [n for n in node.all_input_nodes if n.name in self.found.from_input]
        whole = all(n.name in self.found.discrete for n in inputs)
        tokens = all(n.name in self.tokens for n in inputs) and node.meta.get("name") != "embedding"

        def settle(made: fx.Node) -> None:
            if inputs:
                self.found.from_input.add(made.name)
                if whole:
                    self.found.discrete.add(made.name)
                if tokens:
                    self.tokens.add(made.name)

        whole = whole and node.meta.get("name") != "embedding"  # its vectors are the input of the network
        settle(node)
        if isinstance(returned, Tensor):
            self._is(returned, node)
            return
        self.found.shapes[node.name] = ()
        for place, tensor in enumerate(returned if isinstance(returned, (tuple, list)) else ()):
            if isinstance(tensor, Tensor):
                part = self.found.graph.call_function(operator.getitem, (node, place))
                part.meta["name"] = "part"
                settle(part)
                self._is(tensor, part)

    # -- which tensor is which ----------------------------------------------------------------------

    def _is(self, tensor: Tensor, node: fx.Node) -> None:
        self.nodes[id(tensor)] = node
        self.kept.append(tensor)
        self.found.shapes[node.name] = tuple(tensor.shape)
        if node.op != "placeholder" and tensor.dtype in (torch.int64, torch.int32, torch.bool):
            self.found.discrete.add(node.name)
        if tensor.dtype == torch.bool:
            self.found.masks.add(node.name)

    def _node(self, tensor: Tensor) -> fx.Node | None:
        if id(tensor) in self.nodes:
            return self.nodes[id(tensor)]
        if (name := self.names.get(id(tensor))) is not None:
            node = self._constant(tensor, name.replace(".", "_"))
            self.found.weights[node.name] = name
            return node
        if tensor.requires_grad:  # it depends on a parameter or on the input, nobody knows how
            self._complain("a part of the forward pass is computed outside of PyTorch's functions")
        return None

    def _constant(self, tensor: Tensor, name: str = "constant") -> fx.Node:
        node = self.found.graph.create_node("get_attr", name)
        self.found.values[node.name] = tensor.detach()
        self._is(tensor, node)
        self.found.discrete.discard(node.name)
        return node

    def _complain(self, what: str) -> None:
        if what not in self.found.complaints:
            self.found.complaints.append(what)


def plain_name(function: Any) -> str:
    """The name of a function, method or attribute: "add" for `x + y`, `x.add_(y)` and `torch.add(x, y)`."""
    name = str(getattr(function, "__name__", function))
    if name == "__get__":
        name = str(getattr(function.__self__, "__name__", name))
    name = name.removeprefix("__").removesuffix("__").rstrip("_")
    return SAME.get(name, name)


def _in_place(function: Any) -> bool:
    name = str(getattr(function, "__name__", ""))
    if not (name.startswith("__") and name.endswith("__")):
        return name.endswith("_") and name != "requires_grad_"
    return name == "__setitem__" or (name.startswith("__i") and name not in READING)


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for inner in value:
            yield from _tensors(inner)
    elif isinstance(value, Mapping):
        yield from _tensors(list(value.values()))


def logits(returned: Any) -> Tensor | None:
    """The logits among what a network returns."""
    if isinstance(returned, Tensor) or returned is None:
        return returned
    if isinstance(returned, Mapping):
        return logits(returned.get("logits", next(iter(returned.values()))))
    if isinstance(returned, (tuple, list)):
        return logits(returned[0]) if returned else None
    return logits(getattr(returned, "logits", None))
