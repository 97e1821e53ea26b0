"""Rules and schedules against `torch.optim`, a decomposition, and formulas written out."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from scalinglab.train.setting import Setting
from scalinglab.train.updates.rules import Rule, hidden_matrices, orthogonalized, shortened
from scalinglab.train.updates.schedules import Schedule

RUNS = 2


def small() -> nn.Module:
    return nn.Sequential(nn.Embedding(5, 6), nn.Linear(6, 8), nn.Linear(8, 3))


def setting(**values) -> Setting:
    return Setting.from_dict(
        {"model": "mlp", "dataset": "digits", "steps": 10, "learning_rate": 0.01, **values}
    )


def updated(own: Setting, gradients: list[dict[str, torch.Tensor]]) -> tuple[dict, dict]:
    """Stacked parameters before and after some updates."""
    model = small()
    stacked = {
        name: torch.stack([p.detach() * (1 + k) for k in range(RUNS)]) for name, p in model.named_parameters()
    }
    before = {name: value.clone() for name, value in stacked.items()}
    rule = Rule(own, model)
    moments = rule.start(stacked, [own] * RUNS, [10] * RUNS)
    for found in gradients:
        masters = list(stacked.values())
        rule.update(masters, masters, [found[name] for name in stacked], moments)
    return before, stacked


def drawn(count: int = 4) -> list[dict[str, torch.Tensor]]:
    torch.manual_seed(0)
    shapes = {name: p.shape for name, p in small().named_parameters()}
    return [{name: torch.randn(RUNS, *shape) for name, shape in shapes.items()} for _ in range(count)]


def by_torch(before: dict, gradients: list[dict], make) -> dict[str, torch.Tensor]:
    """The same by optimizers of PyTorch, run by run and parameter by parameter."""
    after = {name: value.clone() for name, value in before.items()}
    for name, value in before.items():
        for r in range(RUNS):
            parameter = nn.Parameter(value[r].clone())
            optimizer = make(name, parameter)
            for found in gradients:
                parameter.grad = found[name][r].clone()
                optimizer.step()
            after[name][r] = parameter.detach()
    return after


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this PyTorch has no Muon")
def test_muon_is_that_of_torch_for_hidden_matrices_and_adamw_for_the_rest() -> None:
    assert hidden_matrices(small()) == {"1.weight"}  # neither the embedding nor the last
    gradients = drawn()
    before, after = updated(setting(optimizer="muon", weight_decay=0.1), gradients)

    def make(name, p):
        if name == "1.weight":
            return torch.optim.Muon([p], lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
        return torch.optim.AdamW([p], lr=0.01, betas=(0.9, 0.95), weight_decay=0.1)

    for name, expected in by_torch(before, gradients, make).items():
        torch.testing.assert_close(after[name], expected, rtol=1e-3, atol=2e-4)  # products in bf16


def test_the_update_of_muon_is_the_orthogonal_factor() -> None:
    """Newton–Schulz with these coefficients brings singular values to between 0.7 and 1.2 (Jordan et al.)."""
    torch.manual_seed(1)
    for shape in ((3, 12, 7), (3, 7, 12), (2, 6, 3, 2, 2)):
        g = torch.randn(shape)
        found = orthogonalized(g).flatten(2) / (0.2 * math.sqrt(max(g.flatten(2).shape[1:])))
        u, _, v = torch.linalg.svd(g.flatten(2), full_matrices=False)
        inside = u.mT @ found @ v.mT  # diagonal, in the basis of the gradient
        values = inside.diagonal(dim1=-2, dim2=-1)
        assert values.min() > 0.6
        assert values.max() < 1.3
        assert (inside - torch.diag_embed(values)).abs().max() < 0.05


def test_lion_is_the_published_rule() -> None:
    gradients = drawn()
    before, after = updated(setting(optimizer="lion", weight_decay=0.1, beta1=0.8), gradients)
    for name, value in before.items():
        w, m = value.clone(), torch.zeros_like(value)
        for found in gradients:  # Chen et al. 2023, algorithm 2
            g = found[name]
            w = w - 0.01 * (torch.sign(0.8 * m + 0.2 * g) + 0.1 * w)
            m = 0.99 * m + 0.01 * g
        torch.testing.assert_close(after[name], w, rtol=1e-5, atol=1e-6)


def test_gradients_are_shortened_run_by_run() -> None:
    g = [torch.tensor([[3.0, 0.0], [0.3, 0.0]]), torch.tensor([[4.0], [0.4]])]
    short = shortened(g, 1.0)
    torch.testing.assert_close(short[0], torch.tensor([[0.6, 0.0], [0.3, 0.0]]), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(short[1], torch.tensor([[0.8], [0.4]]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"schedule": "cosine"}, lambda t, total: 0.5 * (1 + math.cos(math.pi * t / total))),
        ({"schedule": "linear"}, lambda t, total: 1 - t / total),
        ({"schedule": "wsd", "cooldown": 0.5}, lambda t, total: min(1.0, (total - t) / (0.5 * total))),
        (
            {"schedule": "wsd", "warmup": 4},
            lambda t, total: min(1, (t + 1) / 4) * min(1, 5 * (1 - t / total)),
        ),
        ({"warmup": 0.25}, lambda t, total: min(1.0, (t + 1) / (0.25 * total))),
    ],
)
def test_schedules_are_their_formulas(values: dict, expected) -> None:
    totals = torch.tensor([20.0, 40.0])
    schedule = Schedule(setting(**values))
    for t in range(20):
        found = schedule.factors(torch.tensor(float(t)), totals, None).tolist()
        assert found == pytest.approx([expected(t, 20), expected(t, 40)], abs=1e-6)
