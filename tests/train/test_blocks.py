"""One compiled block serves a whole transformer, and computes what the plain one computes."""

from __future__ import annotations

import pytest
import torch
from torch.func import functional_call

from scalinglab import nets
from scalinglab.train.kernels import blocks


def vit(**options: float) -> nets.Network:
    return nets.build("vit", (1, 8, 8), 10, width=0.0625, depth=3, patch=4, seed=0, **options)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the programs that a compiler was given."""
    sizes: list[int] = []

    def backend(graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> torch.fx.GraphModule:
        sizes.append(len(graph.graph.nodes))
        return graph

    program = torch.compile(blocks.Block.forward, dynamic=False, backend=backend)
    monkeypatch.setattr(blocks, "_program", lambda: program)
    return sizes


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute")  # the compiler looks at it
def test_one_program_serves_every_block(compilations: list[int]) -> None:
    plain = vit()
    compiled = blocks.compiled_blocks(plain)
    x = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    gradients = []
    for model in (plain, compiled):
        weights = {k: v.detach().clone().requires_grad_() for k, v in model.named_parameters()}
        loss = functional_call(model, weights, (x,)).square().sum()
        gradients.append(torch.autograd.grad(loss, list(weights.values())))
    assert len(compilations) == 1
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_the_original_stays_as_it_is() -> None:
    plain = vit()
    kinds = [type(module) for module in plain.modules()]
    compiled = blocks.compiled_blocks(plain)
    assert [type(module) for module in plain.modules()] == kinds != [type(m) for m in compiled.modules()]


def test_only_equal_blocks_repeat() -> None:
    assert blocks.repeats(vit())
    assert not blocks.repeats(vit(dropout=0.1))
    assert not blocks.repeats(nets.build("mlp", (1, 8, 8), 10))
