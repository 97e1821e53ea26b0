"""Spectral complexity against matrices written out, the authors' formula, and its defining properties."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from scalinglab import measure, nets
from scalinglab.errors import BadInput
from scalinglab.measure.network_norms.tracker import own_state


def eq2(matrices: list[np.ndarray], factors: float = 1.0, columns=np.sum) -> float:
    """Equation 2 of damico2025 for a chain of matrices, `factors` the product of the other constants."""
    sigma = [np.linalg.norm(a, 2) for a in matrices]
    rows = [columns(np.linalg.norm(a, axis=1)) for a in matrices]
    total = sum((t / s) ** (2 / 3) for t, s in zip(rows, sigma, strict=True))
    return float(np.prod(sigma) * factors * total**1.5)


def as_matrix(function, shape: tuple[int, ...]) -> np.ndarray:
    """A linear map of images as a matrix, by applying it to every basis image."""
    basis = torch.eye(math.prod(shape), dtype=torch.float64).reshape(-1, *shape)
    return function(basis).detach().flatten(1).T.numpy()


def test_mlp_equals_equation_2_by_singular_value_decomposition():
    model = nets.build("mlp", (7,), 3, width=0.5, seed=0).double()
    weights = [p.detach().numpy() for p in model.parameters() if p.ndim == 2]
    found = measure.norms(model, (7,), tolerance=1e-9)
    assert found["spectral_complexity"] == pytest.approx(eq2(weights), rel=1e-8)
    assert found["log_spectral_complexity"] == pytest.approx(math.log(eq2(weights)), rel=1e-8)
    assert found["spectral"] == pytest.approx(np.prod([np.linalg.norm(w, 2) for w in weights]), rel=1e-8)
    assert found["l1"] == pytest.approx(sum(np.abs(w).sum() for w in weights), rel=1e-10)
    assert found["l2"] == pytest.approx(math.sqrt(sum((w**2).sum() for w in weights)), rel=1e-10)
    assert found["group21"] == pytest.approx(sum(np.linalg.norm(w, axis=1).sum() for w in weights), rel=1e-10)


def test_cnn_equals_equation_2_for_the_convolutions_written_as_matrices():
    torch.manual_seed(0)
    first, second = nn.Conv2d(2, 3, 3, padding=1), nn.Conv2d(3, 4, 3, stride=2, padding=1)
    dense = nn.Linear(4, 5)
    model = nn.Sequential(
        first, nn.ReLU(), nn.AvgPool2d(2), second, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), dense
    )
    model = model.double()
    matrices = [
        as_matrix(lambda x: F.conv2d(x, first.weight, padding=1), (2, 8, 8)),
        as_matrix(lambda x: F.conv2d(x, second.weight, stride=2, padding=1), (3, 4, 4)),
        dense.weight.detach().numpy(),
    ]
    pool = np.linalg.norm(as_matrix(nn.AvgPool2d(2), (3, 8, 8)), 2)
    average = measure.spectral_complexity(model, (2, 8, 8), "column_average", tolerance=1e-9)
    assert average.value == pytest.approx(eq2(matrices, pool, columns=np.mean), rel=1e-7)
    found = measure.norms(model, (2, 8, 8), tolerance=1e-9)  # both readings of (2,1) at once
    assert found["column_average"] == pytest.approx(average.value, rel=1e-7)
    assert found["log_column_average"] == pytest.approx(average.log_value, rel=1e-7)
    means = [np.linalg.norm(matrix, axis=1).mean() for matrix in matrices]
    assert found["group21_average"] == pytest.approx(sum(means), rel=1e-7)
    report = measure.spectral_complexity(model, (2, 8, 8), tolerance=1e-9)
    assert report.value == pytest.approx(eq2(matrices, pool), rel=1e-7)
    assert [layer.spectral for layer in report.layers] == pytest.approx(
        [np.linalg.norm(a, 2) for a in matrices], rel=1e-7
    )
    assert report.others == {"2": ("AvgPool2d", 0.5)}
    assert report.assumptions == ()


def test_batch_norm_is_folded_into_the_layer_before_it():
    torch.manual_seed(0)
    conv, norm = nn.Conv2d(2, 6, 3, padding=1), nn.BatchNorm2d(6)
    for tensor in (norm.weight, norm.running_var):
        tensor.data.uniform_(0.5, 2.0)
    model = nn.Sequential(conv, norm, nn.ReLU(), nn.Flatten(), nn.Linear(6 * 25, 3)).eval()
    fused = nn.utils.fusion.fuse_conv_bn_eval(conv, norm)
    plain = nn.Sequential(fused, *model[2:])
    ours, theirs = (measure.spectral_complexity(m, (2, 5, 5), tolerance=1e-6) for m in (model, plain))
    assert ours.value == pytest.approx(theirs.value, rel=1e-5)
    assert "batch norm" in ours.layers[0].kind
    assert any("running statistics" in text for text in ours.assumptions)


def test_a_residual_layer_is_equation_2_with_the_identity_as_reference():
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.map = nn.Linear(4, 4)

        def forward(self, x):
            return x + self.map(x)

    torch.manual_seed(0)
    model = nn.Sequential(Residual(), nn.ReLU(), Residual()).double()
    maps = [block.map.weight.detach().numpy() for block in (model[0], model[2])]
    # ‖A‖ = ‖1 + B‖ ≤ 1 + ‖B‖ and ‖Aᵀ − 1‖_{2,1} = ‖Bᵀ‖_{2,1}
    sigma = [1 + np.linalg.norm(b, 2) for b in maps]
    rows = [np.linalg.norm(b, axis=1).sum() for b in maps]
    expected = np.prod(sigma) * sum((t / s) ** (2 / 3) for t, s in zip(rows, sigma, strict=True)) ** 1.5
    report = measure.spectral_complexity(model, (4,))
    assert report.value == pytest.approx(expected, rel=1e-8)
    assert any("identity" in text for text in report.assumptions)


@pytest.mark.parametrize(
    "name",
    [
        "mlp",
        "cnn",
        "vit",
        *(pytest.param(k, marks=pytest.mark.slow) for k in ("lenet", "resnet", "wide_resnet")),
    ],
)
def test_no_pair_of_inputs_is_pulled_apart_by_more_than_the_lipschitz_constant(name):
    shape = {"mlp": (1, 8, 8), "lenet": (1, 12, 12)}.get(name, (3, 8, 8))
    options = {
        "resnet": {"stages": (1, 1), "width": 0.125},
        "wide_resnet": {"depth": 10, "width": 0.5},
        "vit": {"depth": 1, "width": 0.125},
    }.get(name, {"width": 0.25})
    model = nets.build(name, shape, 5, seed=0, **options)
    model(torch.randn(16, *shape))  # running statistics
    bound = math.exp(measure.spectral_complexity(model.eval(), shape).log_lipschitz)
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.float32)
    jacobian = torch.func.jacrev(lambda v: model(v[None])[0])(x).flatten(1)
    assert 0 < float(torch.linalg.matrix_norm(jacobian, 2).detach()) <= bound


def test_attention_never_exceeds_its_bound_even_with_sharp_patterns():
    for seed in range(20):
        torch.manual_seed(seed)
        layer = nets.Attention(4, 2)
        with torch.no_grad():
            for part in (layer.query, layer.key):
                part.weight.normal_(0, 0.1 + seed)
                part.bias.normal_(0, 0.1 + seed)
        model = nn.Sequential(layer)
        x = torch.randn(3, 4)
        x = x * torch.rand(3, 1) * 2.0 / x.norm(dim=1, keepdim=True)
        bound = math.exp(measure.spectral_complexity(model, (3, 4), inputs=x[None]).log_lipschitz)
        jacobian = torch.func.jacrev(lambda v, layer=layer: layer(v[None])[0])(x).reshape(12, 12)
        assert float(torch.linalg.matrix_norm(jacobian, 2).detach()) <= bound


def published_cnn(weights: list[np.ndarray]) -> float:
    """The authors' rule for plain networks: later layers' column sums, reshaped kernels."""
    matrices = [w.reshape(len(w), -1) for w in weights]
    sigma = [np.linalg.svd(m, compute_uv=False)[0] for m in matrices]
    columns = [np.sqrt((m**2).sum(0)).sum() for m in matrices]
    total = sum(sum(columns[i + 1 :]) ** (2 / 3) / sigma[i] ** (2 / 3) for i in range(len(sigma)))
    return float(np.prod(sigma) * total**1.5)


def test_as_published_leaves_blocks_out_whatever_their_norms_or_their_neighbours_are():
    models = [nets.build("resnet", (3, 8, 8), 5, width=0.125, seed=seed) for seed in range(3)]
    tracker = measure.NormTracker(models[0], (3, 8, 8), "as_published", which=("spectral_complexity",))
    alone = measure.norms(models[0], (3, 8, 8), "as_published")["spectral_complexity"]
    with torch.no_grad():
        next(models[1].parameters()).fill_(float("nan"))  # diverged
        dict(models[2].named_parameters())["body.3.branch.0.weight"].mul_(1e12)
    states = [own_state(model) for model in models]
    stacked = {name: torch.cat([state[name] for state in states]) for name in states[0]}
    found = tracker.measure(stacked)["spectral_complexity"]
    other = nets.build("resnet", (3, 8, 8), 5, width=0.125, seed=2)
    untouched = measure.norms(other, (3, 8, 8), "as_published")["spectral_complexity"]
    assert float(found[0]) == pytest.approx(alone, rel=1e-3)
    assert math.isnan(float(found[1]))
    assert float(found[2]) == pytest.approx(untouched, rel=1e-3)


@pytest.mark.slow
def test_as_published_follows_the_authors_code_for_cnn_resnet_and_vit():
    cnn = nets.build("cnn", (3, 8, 8), 10, width=0.25, seed=0)
    weights = [p.detach().double().numpy() for p in cnn.parameters() if p.ndim > 1]
    assert measure.norms(cnn, (3, 8, 8), "as_published")["spectral_complexity"] == pytest.approx(
        published_cnn(weights), rel=1e-4
    )
    resnet = nets.build("resnet", (3, 8, 8), 10, width=0.125, seed=0)
    weights = [p.detach().double().numpy() for p in resnet.parameters() if p.ndim > 1]
    report = measure.spectral_complexity(resnet, (3, 8, 8), "as_published")
    assert report.value == pytest.approx(published_cnn([weights[0], weights[-1]]), rel=1e-4)
    assert any("blocks" in text for text in report.assumptions)
    vit = nets.build("vit", (3, 8, 8), 10, width=0.25, seed=0)
    matrices = [p.detach().double().flatten(1).numpy() for p in vit.parameters() if p.ndim in (2, 4)]
    found = measure.norms(vit, (3, 8, 8), "as_published")
    assert found["spectral_complexity"] == pytest.approx(math.log(eq2(matrices)), rel=1e-4)
    assert found["spectral_complexity"] == found["log_spectral_complexity"]


def test_ntk_multipliers_count_as_part_of_the_weights():
    shape = (3, 8, 8)
    standard, ntk = (
        nets.build("cnn", shape, 5, width=0.125, parameterization=p, seed=0) for p in ("standard", "ntk")
    )
    first, second = measure.norms(standard, shape), measure.norms(ntk, shape)
    for name in ("spectral_complexity", "spectral"):
        assert second[name] == pytest.approx(first[name], rel=1e-3)  # the same draw, scaled
    assert second["l2"] > 2 * first["l2"]


def stacked(models: list[nn.Module]) -> dict[str, torch.Tensor]:
    parameters, buffers = torch.func.stack_module_state(models)
    return {**parameters, **buffers}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cnn", "resnet", "vit"])
def test_replicas_at_once_equal_replicas_one_by_one_and_a_warm_start_changes_nothing(name):
    shape, options = (3, 8, 8), {"width": 0.125, "depth": 2} if name == "vit" else {"width": 0.125}
    models = [nets.build(name, shape, 5, seed=seed, **options) for seed in range(3)]
    alone = [measure.norms(model, shape) for model in models]
    names = ("spectral_complexity", "spectral", "l1", "l2", "group21")
    tracker = measure.NormTracker(models[0], shape, which=names, tolerance=1e-4, capture=False)
    batched, again = tracker.measure(stacked(models)), tracker.measure(stacked(models))
    assert set(batched) == set(alone[0])
    for key, value in batched.items():
        expected = [one[key] for one in alone]
        assert value.tolist() == pytest.approx(expected, rel=5e-3), key
        assert again[key].tolist() == pytest.approx(expected, rel=5e-3), key


def test_tracker_follows_weights_that_move_and_marks_the_diverged():
    shape = (3, 8, 8)
    model = nets.build("cnn", shape, 5, width=0.125, seed=0)
    tracker = measure.NormTracker(model, shape)
    for _ in range(3):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.02 * torch.randn_like(parameter)
        expected = measure.norms(model, shape)["spectral_complexity"]
        assert float(tracker.measure()["spectral_complexity"]) == pytest.approx(expected, rel=5e-3)
    replicas = {name: torch.cat([p, p]) for name, p in stacked([model]).items()}
    replicas["body.0.weight"] = replicas["body.0.weight"].clone()
    replicas["body.0.weight"][1] = float("nan")
    tracker = measure.NormTracker(model, shape)
    found = tracker.measure(replicas)["spectral_complexity"]
    assert float(found[0]) == pytest.approx(expected, rel=5e-3)
    assert math.isnan(float(found[1]))


def test_log_norm_stays_finite_where_the_norm_overflows():
    model = nets.build("vit", (1, 8, 8), 5, width=0.125, depth=12, patch=4, seed=0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 300.0
    found = measure.norms(model, (1, 8, 8))
    assert found["spectral_complexity"] == math.inf
    assert 709 < found["log_spectral_complexity"] < math.inf


class Functional(nn.Module):
    """A network as people write them: functional calls, views, a residual sum in place."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.fc = nn.Linear(4, 5)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        y = torch.relu(self.conv2(x))
        y += x
        y = F.max_pool2d(y, 2)
        y = F.adaptive_avg_pool2d(y, 1)
        return self.fc(y.view(y.size(0), -1))


def test_functional_code_is_read_as_modules_are():
    torch.manual_seed(0)
    model = Functional()
    report = measure.spectral_complexity(model, (3, 8, 8))
    sigma = [layer.spectral for layer in report.layers]
    expected = sigma[0] * (1 + sigma[1]) * sigma[2] / 4  # the mean of 4 × 4 pixels has norm 1/4
    assert math.exp(report.log_lipschitz) == pytest.approx(expected, rel=1e-6)
    assert not any("taken to have" in text for text in report.assumptions)


def test_pytorchs_own_attention_gives_the_norms_of_ours():
    class Mixer(nn.Module):
        def __init__(self, theirs: nn.MultiheadAttention) -> None:
            super().__init__()
            self.norm, self.attention = nn.LayerNorm(12), theirs

        def forward(self, x):
            y = self.norm(x)
            mixed, _ = self.attention(y, y, y, need_weights=False)
            return x + mixed

    class Ours(nn.Module):
        def __init__(self, ours: nn.Module) -> None:
            super().__init__()
            self.norm, self.attention = nn.LayerNorm(12), ours

        def forward(self, x):
            return x + self.attention(self.norm(x))

    torch.manual_seed(0)
    ours, theirs = nets.Attention(12, 3), nn.MultiheadAttention(12, 3, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.out_proj.weight.copy_(ours.output.weight)
    first, second = (measure.spectral_complexity(m, (5, 12)) for m in (Ours(ours), Mixer(theirs)))
    assert first.log_value == pytest.approx(second.log_value, rel=1e-6)
    assert first.assumptions == second.assumptions


class Branching(nn.Module):
    """A forward pass that branches on its data, which cannot be traced."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(self, x):
        hidden = self.first(x).relu()
        return self.second(hidden) if hidden.sum() > -1 else self.second(-hidden)


class Unseen(torch.autograd.Function):
    """A function that leaves PyTorch on its way."""

    @staticmethod
    def forward(ctx, x):
        return torch.from_numpy(50.0 * x.detach().numpy())

    @staticmethod
    def backward(ctx, gradient):
        return 50.0 * gradient


class Applied(Branching):
    def forward(self, x):
        return self.second(Unseen.apply(self.first(x)))


class Overwriting(Branching):
    def forward(self, x):
        hidden = self.first(x)
        hidden[:, 0] = 50 * hidden[:, 1]
        return self.second(hidden)


@pytest.mark.parametrize("kind", [Branching, Applied, Overwriting])
def test_a_network_that_cannot_be_followed_has_layers_but_no_bound_and_says_why(kind):
    torch.manual_seed(0)
    model = kind()
    report = measure.spectral_complexity(model, (4,))
    assert math.isnan(report.log_lipschitz)
    assert math.isnan(report.log_value)
    assert report.missing
    assert report.missing in report.summary()
    found = measure.norms(model, (4,))
    assert found["missing"] == report.missing
    assert found["l2"] == pytest.approx(
        math.sqrt(sum(float(p.detach().square().sum()) for p in model.parameters()))
    )


def test_attention_along_the_examples_of_a_batch_has_no_bound():
    model = nn.Sequential(Attending(nn.MultiheadAttention(4, 2)))
    found = measure.norms(model, (5, 4))
    assert math.isnan(found["spectral"])
    assert "batch_first" in found["missing"]
    other = nn.Sequential(Attending(nn.MultiheadAttention(4, 2, batch_first=True)))
    other.load_state_dict(model.state_dict())
    assert found["spectral_complexity"] == measure.norms(other, (5, 4))["spectral_complexity"]
    assert math.isfinite(measure.norms(other, (5, 4), inputs=torch.randn(3, 5, 4))["spectral"])
    assert math.isfinite(measure.norms(model, (5, 4), "as_published")["spectral_complexity"])


class Attending(nn.Module):
    def __init__(self, attention: nn.MultiheadAttention) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(4), attention

    def forward(self, x):
        return x + self.attention(self.norm(x), self.norm(x), self.norm(x))[0]


def test_the_order_of_axes_and_windows_of_tokens_do_not_matter():
    class Mixer(nn.Module):
        """Attention in two windows of three tokens, with the axes in either order."""

        def __init__(self, batch_first: bool) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(4, 2, batch_first=batch_first)
            self.map, self.batch_first = nn.Linear(4, 4), batch_first

        def forward(self, x):
            x = x.reshape(-1, 3, 4)
            x = x if self.batch_first else x.transpose(0, 1)
            return self.map(self.attention(x, x, x)[0])

    torch.manual_seed(0)
    first, second = Mixer(True), Mixer(False)
    second.load_state_dict(first.state_dict())
    x = torch.randn(3, 6, 4)
    ours, other = (measure.spectral_complexity(model, (6, 4), inputs=x) for model in (first, second))
    assert ours.log_value == pytest.approx(other.log_value, rel=1e-9)
    assert ours.log_lipschitz == pytest.approx(other.log_lipschitz, rel=1e-9)
    rows = float(first.map.weight.detach().norm(dim=1).sum())
    assert ours.layers[-1].rows == pytest.approx(6 * rows, rel=1e-6)
    with FlopCounterMode(display=False) as counter:
        first(x.requires_grad_())
    assert measure.flops(first, (6, 4), 3) == measure.flops(second, (6, 4), 3)
    assert measure.flops(first, (6, 4), 3).forward == counter.get_total_flops()


def test_pytorchs_encoder_is_read_layer_by_layer():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
    encoder = nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))

    class Plain(nn.Module):
        """The same with our attention."""

        def __init__(self, theirs: nn.TransformerEncoderLayer) -> None:
            super().__init__()
            self.norm1, self.norm2 = theirs.norm1, theirs.norm2
            self.mlp = nn.Sequential(theirs.linear1, nn.ReLU(), theirs.linear2)
            self.attention = nets.Attention(8, 2)
            packed = theirs.self_attn.in_proj_weight.detach().chunk(3)
            with torch.no_grad():
                for part, weight in zip(("query", "key", "value"), packed, strict=True):
                    getattr(self.attention, part).weight.copy_(weight)
                self.attention.output.weight.copy_(theirs.self_attn.out_proj.weight)

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    plain = nn.Sequential(*(Plain(layer) for layer in encoder[0].layers))
    ours, theirs = (measure.spectral_complexity(model, (5, 8)) for model in (plain, encoder))
    assert theirs.log_value == pytest.approx(ours.log_value, rel=1e-6)
    assert theirs.assumptions == ours.assumptions
    assert torch.backends.mha.get_fastpath_enabled()


def test_a_bare_layer_is_a_network_of_one_and_a_layer_used_twice_counts_twice():
    layer = nn.Linear(6, 6)
    weight = layer.weight.detach().double().numpy()
    assert measure.norms(layer, (6,))["spectral_complexity"] == pytest.approx(eq2([weight]), rel=1e-6)
    batched = measure.NormTracker(layer, (6,), tolerance=1e-4).measure(
        {"weight": layer.weight[None], "bias": layer.bias[None]}
    )
    assert float(batched["spectral_complexity"]) == pytest.approx(eq2([weight]), rel=1e-6)
    twice = measure.spectral_complexity(nn.Sequential(layer, nn.ReLU(), layer), (6,))
    assert twice.value == pytest.approx(eq2([weight, weight]), rel=1e-6)
    assert [part.name for part in twice.layers] == ["0", "0 (use 2)"]


def test_what_enters_a_sum_twice_counts_twice():
    class Doubled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.map = nn.Linear(5, 5)

        def forward(self, x):
            y = self.map(x)
            return torch.add(y + y, torch.cat([y, y], -1)[:, :5], alpha=3)

    torch.manual_seed(0)
    model = Doubled()
    sigma = float(torch.linalg.matrix_norm(model.map.weight.detach(), 2))
    found = measure.spectral_complexity(model, (5,)).log_lipschitz
    assert math.exp(found) == pytest.approx((2 + 3 * math.sqrt(2)) * sigma, rel=1e-6)


def test_layers_that_share_a_weight_are_two_layers():
    first, second = nn.Linear(6, 6), nn.Linear(6, 6)
    second.weight = first.weight
    weight = first.weight.detach().double().numpy()
    found = measure.spectral_complexity(nn.Sequential(first, nn.ReLU(), second), (6,))
    assert found.value == pytest.approx(eq2([weight, weight]), rel=1e-6)
    assert [part.name for part in found.layers] == ["0", "2"]


def test_a_network_that_returns_more_than_logits_is_read_by_its_logits():
    class Labelled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.map = nn.Linear(4, 3)

        def forward(self, x):
            logits = self.map(x)
            return {"loss": logits.sum(), "logits": logits}

    model = Labelled()
    assert measure.norms(model, (4,)) == pytest.approx(measure.norms(model.map, (4,)))


def test_a_tensor_given_by_keyword_is_followed():
    class Keyworded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 5), nn.Linear(5, 3)

        def forward(self, x):
            return self.last(torch.relu(input=self.first(x)))

    model = Keyworded()
    plain = nn.Sequential(model.first, nn.ReLU(), model.last)
    assert measure.norms(model, (4,)) == pytest.approx(measure.norms(plain, (4,)))


def test_arguments_after_the_input_keep_their_defaults():
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.map = nn.Linear(4, 3)

        def forward(self, x, mask=None, *, scale=2.0, **others):
            x = x if mask is None else x * mask
            return self.map(x) * scale

    model = Masked()
    found = measure.spectral_complexity(model, (4,))
    sigma = float(torch.linalg.matrix_norm(model.map.weight.detach(), 2))
    assert math.exp(found.log_lipschitz) == pytest.approx(2 * sigma, rel=1e-6)
    assert found.assumptions == ()


@pytest.mark.slow
def test_the_network_inside_a_wrapper_is_measured():
    model = nets.build("mlp", (4,), 3, width=0.1, seed=0)
    expected = measure.norms(model, (4,))
    for wrapper in (torch.compile(model, backend="eager"), nn.DataParallel(model)):
        assert measure.norms(wrapper, (4,)) == pytest.approx(expected)
        assert measure.flops(wrapper, (4,)) == measure.flops(model, (4,))


def test_branches_and_networks_of_zeros_have_norms():
    model = nets.build("resnet", (3, 8, 8), 5, width=0.125, stages=(1,), channels=(64,), seed=0)
    with torch.no_grad():
        model.body[3].branch[-1].weight.zero_()  # the gain of the last batch norm, as many initialise it
    report = measure.spectral_complexity(model, (3, 8, 8))
    branch = [layer for layer in report.layers if "branch" in layer.name]
    assert [layer.share for layer in branch] == [0.0, 0.0]
    outer = [layer for layer in report.layers if "branch" not in layer.name]
    sigma, rows = ([getattr(layer, key) for layer in outer] for key in ("spectral", "rows"))
    expected = np.prod(sigma) / 8 * sum((t / s) ** (2 / 3) for t, s in zip(rows, sigma, strict=True)) ** 1.5
    assert report.value == pytest.approx(expected, rel=1e-6)
    with torch.no_grad():
        model.body[-1].weight.zero_()
    assert measure.norms(model, (3, 8, 8))["spectral_complexity"] == 0.0


def test_norms_work_inside_inference_mode_and_autocast():
    model = nets.build("cnn", (3, 8, 8), 5, width=0.5, seed=0)
    expected = measure.norms(model, (3, 8, 8))["spectral_complexity"]
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        assert measure.norms(model, (3, 8, 8))["spectral_complexity"] == pytest.approx(expected, rel=1e-3)


# layer, shape of its input, and how far its bound may be above the norm of its matrix
BOUNDED = {
    "to more pixels": (nn.AdaptiveAvgPool2d(6), (2, 2, 2), 1),  # as VGG does to small images: norm 3
    "to no divisor": (nn.AdaptiveAvgPool2d(4), (2, 5, 5), 1.11),
    "padding not counted": (nn.AvgPool2d(2, 2, 1, count_include_pad=False), (2, 4, 4), 1),
    "a last window beyond the edge": (nn.AvgPool2d(2, 2, ceil_mode=True), (2, 3, 3), 1),
    "a divisor of its own": (nn.AvgPool2d(2, 2, divisor_override=1), (2, 4, 4), 1),
    "a line": (nn.AvgPool1d(3), (2, 9), 1),
    "a line to one": (nn.AdaptiveAvgPool1d(1), (2, 9), 1),
    "a volume": (nn.AvgPool3d(2), (2, 4, 4, 4), 1),
}


@pytest.mark.parametrize("case", BOUNDED)
def test_a_pool_is_bounded_by_the_norm_of_its_matrix(case):
    pool, shape, above = BOUNDED[case]
    exact = np.linalg.norm(as_matrix(pool, shape), 2)
    model = nn.Sequential(pool, nn.Flatten(), nn.LazyLinear(2))
    found = measure.spectral_complexity(model, shape).others.get("0", ("", 1.0))[1]  # 1 is not listed
    assert exact * (1 - 1e-9) <= found <= above * exact * (1 + 1e-9)


def test_a_maximum_grows_by_the_windows_that_see_an_entry():
    for pool, windows in ((nn.MaxPool1d(2), 1), (nn.MaxPool1d(3, 2), 2), (nn.MaxPool1d(2, 2, dilation=2), 2)):
        model = nn.Sequential(nn.Linear(9, 9), pool, nn.Flatten(), nn.LazyLinear(2))
        found = measure.spectral_complexity(model, (2, 9)).others
        assert found.get("1", ("", 1.0))[1] == pytest.approx(math.sqrt(windows))


def test_scaling_one_layer_scales_the_complexity():
    model = nets.build("lenet", (1, 12, 12), 5, width=2, seed=0)
    before = measure.norms(model, (1, 12, 12))["spectral_complexity"]
    with torch.no_grad():
        model.body[0].weight *= 3.0
    assert measure.norms(model, (1, 12, 12))["spectral_complexity"] == pytest.approx(3 * before, rel=1e-3)


def test_bad_input_names_what_is_wrong():
    model = nets.build("mlp", (4,), 3)
    readers = measure.NormTracker(model, (4,)).readers
    for call, message in (
        (lambda: measure.norms(model, (5,)), "cannot take inputs"),
        (lambda: measure.norms(model, (4,), definition="bartlet"), "did you mean 'bartlett'"),
        (lambda: measure.NormTracker(model, (4,), which=("l3",)), "unknown norm"),
        (lambda: measure.NormTracker(model, (4,), which=("l2",), readers=readers), "cannot be shared"),
        (lambda: measure.norms(nn.Sequential(nn.LayerNorm(4)), (4,)), "no dense"),
    ):
        with pytest.raises(BadInput, match=message):
            call()
