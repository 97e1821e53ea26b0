"""The Lipschitz constants that the rules know, against slopes measured by automatic differentiation."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scalinglab import measure, nets

ELEMENTWISE = [
    nn.ReLU(), nn.ReLU6(), nn.LeakyReLU(0.1), nn.LeakyReLU(3.0), nn.Tanh(), nn.Hardtanh(), nn.Softplus(),
    nn.ELU(), nn.Sigmoid(), nn.GELU(), nn.SiLU(), nn.Mish(), nn.SELU(), nn.CELU(), nn.Hardswish(),
    nn.LogSigmoid(), nn.Softsign(), nn.Tanhshrink(),
]  # fmt: skip
FUNCTIONS = [
    F.relu, torch.relu, F.leaky_relu, torch.tanh, F.tanh, torch.sigmoid, F.gelu, F.silu, F.elu, F.softplus,
    torch.abs, torch.neg, torch.sin, torch.cos, torch.erf, torch.atan,
]  # fmt: skip
METHODS = ["relu", "tanh", "sigmoid", "abs"]


def name(function) -> str:
    if isinstance(function, nn.Module):
        return str(function)
    return f"function {function.__name__}" if callable(function) else f"method {function}"


class Between(nn.Module):
    """A function between two layers of norm 1."""

    def __init__(self, function) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        if isinstance(function, nn.Module):
            self.inner = function
        self.function = function
        with torch.no_grad():
            for layer in (self.first, self.second):
                layer.weight.copy_(torch.eye(4))

    def forward(self, x):
        x = self.first(x)
        if isinstance(self.function, str):
            x = getattr(x, self.function)()
        else:
            x = self.function(x)
        return self.second(x)


def steepest(function) -> float:
    """The largest slope on a fine grid."""
    x = torch.linspace(-12, 12, 480_001, dtype=torch.float64, requires_grad=True)
    y = getattr(x, function)() if isinstance(function, str) else function(x)
    return float(torch.autograd.grad(y.sum(), x)[0].abs().max())


@pytest.mark.parametrize("function", [*ELEMENTWISE, *FUNCTIONS, *METHODS], ids=name)
def test_constant_of_an_activation_is_its_largest_slope(function):
    constant = measure.norms(Between(function), (4,))["spectral"]
    slope = steepest(function)
    assert slope <= constant * (1 + 1e-9)  # it is a bound
    assert constant == pytest.approx(slope, rel=2e-4)  # and no larger than rounding up makes it


@pytest.mark.parametrize("activation", [nn.Softmax(1), nn.LogSoftmax(1)], ids=str)
@pytest.mark.parametrize("classes", [2, 5])
def test_constants_of_softmax_bound_every_jacobian_and_are_approached(activation, classes):
    """‖diag(p) - p pᵀ‖ ≤ 1/2, at p = (1/2, 1/2, 0 …); ‖1 - 1 pᵀ‖ ≤ √n, where p is one class."""
    model = nn.Sequential(nn.Linear(classes, classes), activation, nn.Linear(classes, classes))
    with torch.no_grad():
        model[0].weight.copy_(torch.eye(classes))
        model[2].weight.copy_(torch.eye(classes))
    constant = measure.norms(model, (classes,))["spectral"]
    rng = np.random.default_rng(0)
    edge = np.full(classes, -40.0)
    points = [*(4 * rng.standard_normal((40, classes))), np.r_[40.0, edge[1:]], np.r_[40.0, 40.0, edge[2:]]]
    found = []
    for point in points:
        jacobian = torch.autograd.functional.jacobian(activation, torch.tensor(point)[None])[0, :, 0]
        found.append(float(torch.linalg.matrix_norm(jacobian, 2)))
    assert max(found) <= constant * (1 + 1e-9)
    assert constant == pytest.approx(max(found), rel=1e-6)


@pytest.mark.parametrize("normed", [False, True])
def test_attention_counts_and_is_bounded_by_the_written_formulas(normed: bool):
    """In R it is √heads ‖O‖ ‖V‖ (√n + (1+√n) r² scale ‖Q‖ ‖K‖) with r = √dim, after a norm √dim max|γ| + ‖β‖.

    The bound is ‖O‖ ‖V‖ (√n + scale r ‖K‖ (r ‖Q‖ + √n (r ‖Q‖ + ‖b‖))) with r the length of a token at most,
    and of a layer norm max|γ|/√ε.
    """
    tokens, dim, heads = 7, 6, 2
    torch.manual_seed(0)
    attention = nets.Attention(dim, heads)
    model = nn.Sequential(nn.LayerNorm(dim), attention) if normed else nn.Sequential(attention)
    with torch.no_grad():
        attention.query.bias.copy_(torch.linspace(0.0, 1.0, dim))
    radius, gain = math.sqrt(dim), 1.0
    if normed:
        with torch.no_grad():
            model[0].weight.copy_(torch.linspace(-0.5, 1.5, dim))
            model[0].bias.copy_(torch.linspace(0.0, 0.4, dim))
        gain = 1.5
        radius = math.sqrt(dim) * gain + float(torch.linalg.vector_norm(model[0].bias.detach()))
    norm = {
        name: float(torch.linalg.matrix_norm(getattr(attention, name).weight.detach().double(), 2))
        for name in ("query", "key", "value", "output")
    }
    root, scale = math.sqrt(tokens), 1 / math.sqrt(dim / heads)
    mixing = root + (1 + root) * radius**2 * scale * norm["query"] * norm["key"]
    expected = gain * math.sqrt(heads) * norm["output"] * norm["value"] * mixing
    inputs = torch.randn(5, tokens, dim)
    found = measure.spectral_complexity(model, (tokens, dim), inputs=inputs)
    shares = {layer.name.split(".")[-1]: layer.share for layer in found.layers}
    pattern = (1 + root) * radius**2 * scale * norm["query"] * norm["key"] / mixing
    assert shares == pytest.approx({"query": pattern, "key": pattern, "value": 1.0, "output": 1.0}, rel=1e-5)
    terms = sum((layer.share * layer.rows / layer.spectral) ** (2 / 3) for layer in found.layers) ** 1.5
    assert found.log_value == pytest.approx(math.log(expected * terms), abs=1e-5)
    r = radius if normed else float(inputs.flatten(1).norm(dim=1).max())
    bias = float(attention.query.bias.detach().norm())
    keys = scale * r * norm["key"] * (r * norm["query"] + root * (r * norm["query"] + bias))
    bound = norm["output"] * norm["value"] * (root + keys) * (gain / math.sqrt(1e-5) if normed else 1.0)
    assert found.log_lipschitz == pytest.approx(math.log(bound), abs=1e-5)
    assert found.radius == (None if normed else pytest.approx(r))


def test_the_published_number_is_log_r_for_attention_and_r_without():
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    found = measure.spectral_complexity(plain, (4,), "as_published")
    assert found.value == pytest.approx(math.exp(found.log_value), rel=1e-12)
    assert not any("log R" in said for said in found.assumptions)
    mixing = nn.Sequential(nn.LayerNorm(4), nets.Attention(4, 2))
    found = measure.spectral_complexity(mixing, (5, 4), "as_published")
    assert found.value == found.log_value
    assert "R stands for log R" in found.assumptions
    ours = measure.spectral_complexity(mixing, (5, 4))
    assert ours.value == pytest.approx(math.exp(ours.log_value), rel=1e-12)
