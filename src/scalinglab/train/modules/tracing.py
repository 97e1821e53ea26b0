"""Losses and gradients of a stack, traced once into the operations that they consist of.

For small networks a step on a CPU is mostly Python: `torch.vmap`, `functional_call` and the tape of autograd
look at every operation. Traced, the same operations are called one after another, forward and backward, and
give the same bits. To trace loads PyTorch's tracer, which takes seconds: it pays for trainings that last.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

# chosen: seconds of training that must be left; the tracer takes 3 s to load, once, and 0.1 s to trace
PAYS, PAYS_LOADED = 6.0, 0.5
TIMED = 24  # steps after which it is decided


def pays(seconds_left: float) -> bool:
    """Whether what is left to train is worth the tracing."""
    loaded = "torch.fx.experimental.proxy_tensor" in sys.modules
    return seconds_left > (PAYS_LOADED if loaded else PAYS)


def traced(function: Callable[..., Any], *examples: Any) -> Callable[..., Any] | None:
    """The function as a list of operations, for arguments of these shapes; None where it cannot be traced."""
    from torch.fx.experimental.proxy_tensor import make_fx

    try:
        graph = _without_identities(make_fx(function)(*examples))
    except Exception:  # whatever a network may do that a tracer cannot follow: it goes on as before
        return None

    def run(*arguments: Any) -> Any:
        with torch.no_grad():
            return graph(*arguments)

    return run


def _without_identities(graph: Any) -> Any:
    """The graph without operations that give back their argument: half of those that `torch.vmap` makes.

    Where an operation writes in place all of them stay, as one may be the copy that it writes to.
    """
    calls = [node for node in graph.graph.nodes if isinstance(node.target, torch._ops.OpOverload)]
    if any(node.target._schema.is_mutable for node in calls):
        return graph
    for node in calls:
        name, given = node.target._schema.name, node.args[0] if node.args else None
        if name not in _IDENTITIES or not isinstance(given, torch.fx.Node):
            continue
        before, after = (each.meta["tensor_meta"] for each in (given, node))
        same = (before.shape, before.stride, before.dtype) == (after.shape, after.stride, after.dtype)
        if same and (name != "aten::mul" or node.args[1:] == (1,)):
            node.replace_all_uses_with(given)
            graph.graph.erase_node(node)
    graph.recompile()
    return graph


_IDENTITIES = ("aten::expand", "aten::view", "aten::_unsafe_view", "aten::detach", "aten::mul")
