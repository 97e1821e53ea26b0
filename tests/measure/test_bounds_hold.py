"""A bound that is given holds: no Jacobian exceeds it. Else it is NaN, and the reason stands beside it."""

from __future__ import annotations

import math
import random

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from scalinglab import measure


class RMSNorm(nn.Module):
    """As language models write it."""

    def __init__(self, dim: int, gain: float = 1.0) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(gain * torch.ones(dim)), 1e-6

    def forward(self, x):
        return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)).type_as(
            x
        ) * self.weight


class SwiGLU(nn.Module):
    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(dim, hidden), nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class GatedAttention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.gate, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = (
            a.view(n, t, self.heads, d // self.heads).transpose(1, 2) for a in self.qkv(x).chunk(3, -1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(torch.sigmoid(self.gate(x)) * y.transpose(1, 2).reshape(n, t, d))


class WrittenAttention(nn.Module):
    """Attention with a causal mask, written out."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads, self.attn, self.proj = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.register_buffer("mask", torch.tril(torch.ones(32, 32)).view(1, 1, 32, 32))

    def forward(self, x):
        n, t, d = x.size()
        q, k, v = self.attn(x).split(d, dim=2)
        q, k, v = (a.view(n, t, self.heads, d // self.heads).transpose(1, 2) for a in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(n, t, d))


class Residual(nn.Module):
    def __init__(self, branch: nn.Module) -> None:
        super().__init__()
        self.branch = branch

    def forward(self, x):
        return x + self.branch(x)


class Function(nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Gain(nn.Module):
    def __init__(self, dim: int, size: float) -> None:
        super().__init__()
        self.gain, self.shift = nn.Parameter(size * torch.randn(dim)), nn.Parameter(torch.randn(dim))

    def forward(self, x):
        return x * self.gain + self.shift


class Bilinear(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        return self.a(x) @ self.b(x).mT @ x


class Rotary(nn.Module):
    """Rotated queries and keys with fewer heads of keys than of queries, as Llama has them."""

    def __init__(self, dim: int, heads: int, groups: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, dim // heads
        self.q, self.o = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.k, self.v = (nn.Linear(dim, groups * self.size, bias=False) for _ in range(2))

    def forward(self, x):
        n, t, d = x.shape
        angles = torch.outer(torch.arange(t), 10000.0 ** (-torch.arange(0, self.size, 2) / self.size))
        cos, sin = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()

        def rotate(a):
            first, second = a[..., : self.size // 2], a[..., self.size // 2 :]
            return a * cos + torch.cat((-second, first), dim=-1) * sin

        q = rotate(self.q(x).view(n, t, self.heads, self.size).transpose(1, 2))
        k = rotate(self.k(x).view(n, t, self.groups, self.size).transpose(1, 2))
        v = self.v(x).view(n, t, self.groups, self.size).transpose(1, 2)
        times = self.heads // self.groups
        k, v = (a[:, :, None].expand(n, self.groups, times, t, self.size).reshape(n, self.heads, t, self.size)
                for a in (k, v))  # fmt: skip
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(n, t, d))


class Llama(nn.Module):
    """One block of Llama on tokens."""

    def __init__(self, vocabulary: int = 17, dim: int = 8) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.attention, self.mlp = Rotary(dim, 4, 2), SwiGLU(dim, 12)
        self.norm1, self.norm2, self.norm = RMSNorm(dim, 0.7), nn.RMSNorm(dim), RMSNorm(dim)
        self.head = nn.Linear(dim, vocabulary, bias=False)

    def vectors(self, x):
        x = x + self.attention(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return self.head(self.norm(x))

    def forward(self, tokens):
        return self.vectors(self.embed(tokens))


class GPT(nn.Module):
    """GPT-2 as it is usually written: positions by arange, a tied head."""

    def __init__(self, vocabulary: int = 17, dim: int = 8, block: int = 16) -> None:
        super().__init__()
        self.block, self.wte, self.wpe = block, nn.Embedding(vocabulary, dim), nn.Embedding(block, dim)
        self.ln_1, self.ln_2, self.ln_f = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = WrittenAttention(dim, 2)
        self.mlp = nn.Sequential(
            nn.Linear(dim, 4 * dim), nn.GELU(approximate="tanh"), nn.Linear(4 * dim, dim)
        )
        self.head = nn.Linear(dim, vocabulary, bias=False)
        self.head.weight = self.wte.weight

    def vectors(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return self.head(self.ln_f(x))

    def forward(self, tokens):
        _, length = tokens.size()
        assert length <= self.block
        return self.vectors(self.wte(tokens) + self.wpe(torch.arange(0, length, device=tokens.device)))


def steepest(function, inputs: torch.Tensor) -> float:
    """The largest singular value of the Jacobian over the inputs."""
    largest = 0.0
    with sdpa_kernel(SDPBackend.MATH):  # the fused kernel has no batched derivative
        for x in inputs:
            jacobian = torch.func.jacrev(lambda v: function(v[None])[0])(x).detach().double()
            largest = max(largest, float(torch.linalg.matrix_norm(jacobian.reshape(-1, x.numel()), 2)))
    return largest


KINDS = {
    "SwiGLU": lambda d: nn.Sequential(nn.Linear(d, d), SwiGLU(d, 2 * d)),
    "RMSNorm": lambda d: nn.Sequential(nn.Linear(d, d), RMSNorm(d, 5.0), nn.Linear(d, d)),
    "gain": lambda d: nn.Sequential(nn.Linear(d, d), Gain(d, 50.0), nn.Linear(d, d)),
    "power": lambda d: nn.Sequential(nn.Linear(d, d), Function(lambda x: x**3), nn.Linear(d, d)),
    "exponential": lambda d: nn.Sequential(nn.Linear(d, d), Function(torch.exp), nn.Linear(d, d)),
    "matmul": lambda d: nn.Sequential(nn.Linear(d, d), Bilinear(d)),
    "gated attention": lambda d: nn.Sequential(nn.LayerNorm(d), GatedAttention(d, 2)),
    "weight norm": lambda d: nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(d, d)), nn.Tanh(), nn.Linear(d, d)
    ),
    "Conv1d": lambda d: nn.Sequential(
        nn.Conv1d(4, 6, 3, padding=1, stride=2), nn.ReLU(), nn.Conv1d(6, 4, 2), nn.Flatten()
    ),
}


@pytest.mark.parametrize("scale", [pytest.param(0.5, marks=pytest.mark.slow), 4.0])
@pytest.mark.parametrize("kind", KINDS)
def test_nine_kinds_of_modules_have_bounds_that_hold(kind: str, scale: float) -> None:
    torch.manual_seed(0)
    model = KINDS[kind](6)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= scale
    inputs = torch.randn(12, 4, 6)
    found = measure.norms(model, (4, 6), inputs=inputs)
    assert math.isfinite(found["log_spectral"])
    assert steepest(model, inputs) <= found["spectral"]
    needs_ball = kind in ("SwiGLU", "power", "exponential", "matmul")
    assert ("radius" in found) == needs_ball
    alone = measure.norms(model, (4, 6))
    assert math.isnan(alone["spectral"]) == needs_ball == ("missing" in alone)
    if needs_ball:
        assert math.isnan(alone["spectral_complexity"])
        assert found["radius"] == pytest.approx(float(inputs.flatten(1).norm(dim=1).max()))


class Added(nn.Module):
    """addmm, as in Conv1D of GPT-2; with factors there is no rule."""

    def __init__(self, **factors: float) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(6, 5)), nn.Parameter(torch.randn(5))
        self.factors = factors

    def forward(self, x):
        return torch.addmm(self.bias, x, self.weight, **self.factors)


def test_written_products_have_the_largest_singular_value_of_their_matrix() -> None:
    torch.manual_seed(0)
    model, matrix, first = Added(), torch.randn(4, 4), nn.Linear(6, 6)
    nn.init.eye_(first.weight)
    largest = float(torch.linalg.matrix_norm(model.weight.detach(), 2))
    assert measure.norms(model, (6,))["spectral"] == pytest.approx(largest, rel=1e-3)
    assert math.isnan(measure.norms(nn.Sequential(first, Added(alpha=2.0)), (6,))["spectral"])
    wide = torch.randn(6, 12)
    for product, fixed in (
        (lambda x: matrix @ x, matrix), (lambda x: x.__rmatmul__(matrix), matrix), (lambda x: x @ wide, wide),
    ):  # fmt: skip
        found = measure.norms(nn.Sequential(first, Function(product)), (4, 6))["spectral"]
        assert found == pytest.approx(float(torch.linalg.matrix_norm(fixed, 2)), rel=1e-3)


@pytest.mark.parametrize("kind", [Llama, GPT])
def test_blocks_of_language_models_have_norms_flops_and_a_noise_scale(kind) -> None:
    torch.manual_seed(0)
    model = kind()
    tokens = torch.randint(0, 17, (6, 10))
    found = measure.norms(model, (10,))
    assert "missing" not in found
    vectors = model.embed(tokens) if kind is Llama else model.wte(tokens) + model.wpe(torch.arange(10))
    assert steepest(model.vectors, vectors.detach()) <= found["spectral"] < math.inf
    cost = measure.flops(model, (10,))
    dense = sum(
        p.numel() for n, p in model.named_parameters() if p.ndim == 2 and "wpe" not in n and "embed" not in n
    )
    assert cost.forward == 2 * 10 * dense + 2 * 2 * 10 * 10 * 8  # and the two products of attention

    def loss(outputs, targets):
        return F.cross_entropy(outputs.flatten(0, 1), targets.flatten())

    noise = measure.gradient_noise(model, tokens, tokens.roll(-1, 1), loss)
    assert noise.trace > 0


def random_branch(rng: random.Random, d: int) -> nn.Module:
    size = rng.choice([0.1, 1.0, 10.0])
    return rng.choice(
        [
            lambda: nn.Linear(d, d),
            lambda: SwiGLU(d, rng.choice([3, 9])),
            lambda: Gain(d, size),
            lambda: RMSNorm(d, size),
            lambda: nn.RMSNorm(d),
            lambda: nn.LayerNorm(d),
            lambda: GatedAttention(d, 2),
            lambda: WrittenAttention(d, 3),
            lambda: Rotary(d, 3, 1),
            lambda: Bilinear(d),
            lambda: nn.GELU(),
            lambda: nn.Sigmoid(),
            lambda: nn.Softplus(),
            lambda: nn.utils.parametrizations.weight_norm(nn.Linear(d, d)),
            lambda: nn.Softmax(-1),
            lambda: Function(torch.exp),
            lambda: Function(lambda x: x.pow(2)),
            lambda: Function(lambda x: x * x.mean(-1, keepdim=True)),
            lambda: Function(lambda x: x - x.mean(1, keepdim=True)),
            lambda: Function(lambda x: x * (x > 0)),
            lambda: Function(lambda x: torch.cat([x[:, 1:], x[:, :1]], 1)),
            lambda: Function(lambda x: x.sum(1, keepdim=True) + x),
            lambda: Function(lambda x: torch.where(x > 0, x, 0.1 * x)),
            lambda: Function(lambda x: x[:, [0, 0, 1, 1]]),
            lambda: nn.Sequential(nn.Conv1d(4, 4, 3, padding=1)),
            lambda: nn.MultiheadAttention(d, 2, batch_first=True),
            lambda: Function(lambda x: x / (1 + x.abs().sum())),
            lambda: Function(lambda x: x.cumsum(1)),
            lambda: Function(lambda x: F.normalize(x, dim=-1)),
            lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(d, d)),
            lambda: Function(lambda x: torch.maximum(x, 2 * x.flip(1))),
            lambda: Function(lambda x: x.amax(1, keepdim=True) * x),
            lambda: Function(lambda x: torch.einsum("ntd,nsd->nts", x, x) @ x),
            lambda: Function(lambda x: x.sqrt()),
            lambda: nn.Sequential(
                nn.Unflatten(1, (1, 4)),
                nn.Conv2d(1, 2, 3, padding=1),
                nn.AvgPool2d(1),
                nn.Flatten(1, 2),
                Function(lambda x: x[:, :4]),
            ),
        ]
    )()


class Attended(nn.Module):
    """PyTorch's attention, called with the same input three times."""

    def __init__(self, attention: nn.MultiheadAttention) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(attention.embed_dim), attention

    def forward(self, x):
        return self.attention(self.norm(x), self.norm(x), self.norm(x))[0]


def random_module(seed: int, d: int = 6) -> nn.Module:
    rng = random.Random(seed)
    torch.manual_seed(seed)
    parts: list[nn.Module] = [nn.Linear(d, d)]
    for _ in range(rng.randint(1, 4)):
        part = random_branch(rng, d)
        part = Attended(part) if isinstance(part, nn.MultiheadAttention) else part
        parts.append(Residual(part) if rng.random() < 0.5 else part)
    model = nn.Sequential(*parts)
    scale = rng.choice([0.3, 1.0, 3.0])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(scale).add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def exceeded(seeds: range) -> tuple[list[int], int]:
    """The modules whose Jacobian exceeds their bound, and how many have a bound at all."""
    wrong, bounded = [], 0
    for seed in seeds:
        model = random_module(seed)
        inputs = torch.randn(6, 4, 6)
        found = measure.norms(model, (4, 6), inputs=inputs)
        if math.isnan(found["spectral"]):
            assert found["missing"]
            continue
        bounded += 1
        if not steepest(model, inputs) <= found["spectral"] * (1 + 1e-5):
            wrong.append(seed)
    return wrong, bounded


def test_no_jacobian_of_random_modules_exceeds_a_bound_that_is_given() -> None:
    wrong, bounded = exceeded(range(10))
    assert not wrong
    assert bounded >= 5


@pytest.mark.nightly
def test_no_jacobian_of_a_hundred_random_modules_exceeds_a_bound_that_is_given() -> None:
    wrong, bounded = exceeded(range(20, 120))
    assert not wrong
    assert bounded >= 50


class VisionBlock(nn.Module):
    """Attention and a perceptron, each behind a norm, on (n, tokens, dim)."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.perceptron = nn.Sequential(
            nn.Linear(dim, 4 * dim), nn.GELU(), nn.Dropout(0.0), nn.Linear(4 * dim, dim), nn.Dropout(0.0)
        )

    def forward(self, x):
        y = self.before(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.perceptron(self.between(x))


class VisionTransformer(nn.Module):
    """The whole network of damico2025, small: patches, class token, positions, blocks, and a head."""

    def __init__(self, dim: int = 8, heads: int = 2, depth: int = 2, classes: int = 5) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, dim, 4, stride=4)
        self.token = nn.Parameter(torch.randn(1, 1, dim))
        self.positions = nn.Parameter(torch.randn(1, 1 + 4, dim))
        self.blocks = nn.ModuleList(VisionBlock(dim, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(len(x), -1, -1), x), dim=1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])

    def matrices(self):
        yield self.patches.weight.flatten(1)
        for block in self.blocks:
            yield from block.attention.in_proj_weight.chunk(3)
            yield block.attention.out_proj.weight
            yield from (layer.weight for layer in block.perceptron if isinstance(layer, nn.Linear))
        yield self.head.weight


@pytest.mark.parametrize("scale", [pytest.param(0.3, marks=pytest.mark.slow), 1.0, 3.0])
def test_the_vision_transformer_of_damico2025_is_read_whole(scale: float) -> None:
    """Its bound holds, and its norm as published is ln Π s + 3/2 ln Σ (t/s)^(2/3) of its matrices."""
    torch.manual_seed(0)
    model = VisionTransformer().eval()
    with torch.no_grad():
        for matrix in model.matrices():
            matrix *= scale
    images = torch.randn(12, 3, 8, 8)
    found = measure.norms(model, (3, 8, 8), inputs=images)
    assert "missing" not in found
    assert steepest(model, images) <= found["spectral"] < math.inf
    spectral = [float(torch.linalg.matrix_norm(m.detach().double(), 2)) for m in model.matrices()]
    rows = [float(m.detach().double().norm(dim=1).sum()) for m in model.matrices()]
    shares = sum((t / s) ** (2 / 3) for t, s in zip(rows, spectral, strict=True))
    expected = sum(map(math.log, spectral)) + 1.5 * math.log(shares)
    published = measure.norms(model, (3, 8, 8), "as_published")
    assert published["log_spectral_complexity"] == pytest.approx(expected, rel=1e-6)
