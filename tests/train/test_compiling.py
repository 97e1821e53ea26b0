"""Compiled code on disk is found again for the same passes of a function, and for no others."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch import Tensor

from scalinglab.train.kernels.compiling import compiled


def scaled_square(factor: float) -> type[torch.autograd.Function]:
    """x² with a derivative that is `factor` times the right one."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:  # type: ignore[override]
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
            (x,) = ctx.saved_tensors
            return factor * 2 * x * gradient

    return Square


def key_on_disk(function: type[torch.autograd.Function]) -> str:
    """The name under which the compiler keeps the code of this function."""
    from torch._functorch._aot_autograd.autograd_cache import autograd_cache_key
    from torch._functorch._aot_autograd.schemas import AOTConfig

    if "compiler_config_extra" not in inspect.signature(autograd_cache_key).parameters:
        pytest.skip("this PyTorch names its compiled code in another way")
    found: list[str] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> torch.fx.GraphModule:
        config = AOTConfig(None, None, None, None, {}, 0, 0, False)  # type: ignore[arg-type]
        found.append(autograd_cache_key(graph, inputs, config, None)[0])
        return graph

    torch._dynamo.reset()
    torch.compile(function.apply, dynamic=False, backend=backend)(torch.ones(3, requires_grad=True))
    return found[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.slow
def test_code_is_kept_by_both_passes_of_a_function() -> None:
    compiled(lambda x: x)  # allows it
    first, again, other = (key_on_disk(scaled_square(factor)) for factor in (1.0, 1.0, 3.0))
    assert first == again
    assert first != other
