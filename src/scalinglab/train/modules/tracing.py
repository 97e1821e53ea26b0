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
        graph = make_fx(function)(*examples)
    except Exception:  # whatever a network may do that a tracer cannot follow: it goes on as before
        return None

    def run(*arguments: Any) -> Any:
        with torch.no_grad():
            return graph(*arguments)

    return run
