"""A network, data and an optimizer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn


class Gated(nn.Module):
    """A gated layer between two dense ones.

    Parameters that the setting has by name are given: ``width`` where it has one, ``n_outputs`` and
    ``input_shape`` always.
    """

    def __init__(self, input_shape: tuple[int, ...], n_outputs: int, width: int = 16) -> None:
        super().__init__()
        self.values, self.gates = nn.Linear(input_shape[0], width), nn.Linear(input_shape[0], width)
        self.last = nn.Linear(width, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return self.last(self.values(x) * torch.sigmoid(self.gates(x)))  # type: ignore[no-any-return]


def circles(n: int = 500, noise: float = 0.1, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Two circles, one inside the other; the parameters are `data_options`."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 2, (2 * n,), generator=generator)
    angle = 2 * torch.pi * torch.rand(2 * n, generator=generator)
    x = (1.0 + y)[:, None] * torch.stack([angle.cos(), angle.sin()], dim=1)
    x = x + noise * torch.randn(x.shape, generator=generator)
    return x[:n], y[:n], x[n:], y[n:]


class Signs(torch.optim.Optimizer):
    """w ← w − ε sign(g)."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-3) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One update."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.sub_(group["lr"] * parameter.grad.sign())
