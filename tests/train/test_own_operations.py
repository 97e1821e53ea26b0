"""Operations that are counted while a module runs, against the count from layers and by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scalinglab import nets
from scalinglab.measure import flops
from scalinglab.train.modules.networks import cost, trained_names


@pytest.mark.parametrize(
    ("name", "shape", "options"),
    [("mlp", (12,), {"width": 0.1}), ("cnn", (3, 32, 32), {"width": 0.1}),
     ("resnet", (3, 16, 16), {"width": 0.05}), ("vit", (1, 28, 28), {"width": 0.25, "depth": 1})],
)  # fmt: skip
def test_counts_are_those_from_layers(name: str, shape: tuple[int, ...], options: dict) -> None:
    model = nets.build(name, shape, 10, **options)
    counted, from_layers = cost(model, torch.zeros(1, *shape), trained_names(model)), flops(model, shape)
    assert counted.n_params == from_layers.n_params
    assert counted.forward == from_layers.forward
    assert counted.step == from_layers.step


def test_functions_are_counted_as_layers_are() -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.frozen = nn.Parameter(torch.ones(6, 4)), nn.Linear(4, 5)
            self.frozen.requires_grad_(False)

        def forward(self, x):
            h = torch.einsum("nti,io->nto", x, self.w)  # 3 positions
            h = F.scaled_dot_product_attention(h, h, h)  # 3 × 3 × 4, twice
            return self.frozen(h)

    model = Mixed()
    found = cost(model, torch.ones(1, 3, 6), trained_names(model))
    products = {"einsum": 2 * 3 * 6 * 4, "attention": 2 * 2 * 3 * 3 * 4, "frozen": 2 * 3 * 4 * 5}
    assert found.forward == sum(products.values())
    assert found.step - found.forward == products["einsum"] + 2 * products["attention"] + products["frozen"]
    assert found.n_params == 24
