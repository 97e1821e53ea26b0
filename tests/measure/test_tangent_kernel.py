"""The tangent kernel against finite differences, closed forms and plain automatic differentiation."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call, jacrev, vmap

from scalinglab import measure, nets
from scalinglab.errors import BadInput
from scalinglab.measure.tangent_kernel import layers, products
from scalinglab.theory import infinite_width

FAMILIES = {
    "mlp": ((1, 4, 4), {"hidden": 6}),
    "cnn": ((3, 8, 8), {"width": 0.1}),
    "resnet": ((3, 8, 8), {"width": 0.05}),
    "vit": ((3, 8, 8), {"width": 0.1, "depth": 1}),
}


def plain(model, x, other):
    """(n, classes, m, classes) from Jacobians of single examples by torch.func."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def single(parameters, one):
        return functional_call(model, {**parameters, **dict(model.named_buffers())}, (one[None],))[0]

    def jacobian(part):
        found = vmap(jacrev(single), in_dims=(None, 0))(parameters, part)
        return torch.cat([block.flatten(2) for block in found.values()], -1)

    return torch.einsum("nap,mbp->namb", jacobian(x), jacobian(other)).numpy()


def build(name, parameterization="ntk", n_classes=3):
    shape, options = FAMILIES[name]
    model = nets.build(name, shape, n_classes, parameterization=parameterization, seed=1, **options).double()
    return model.eval(), torch.randn(
        7, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )


@pytest.mark.parametrize("name", ["mlp", "cnn", pytest.param("resnet", marks=pytest.mark.slow), "vit"])
def test_every_kind_of_kernel_equals_that_of_plain_jacobians(name):
    model, x = build(name)
    full = plain(model, x, x)
    scale = np.abs(full).max()
    trace = np.einsum("nama->nm", full)
    found = measure.ntk(model, x, outputs="trace", batch_size=3)
    np.testing.assert_allclose(found, trace, atol=1e-10 * scale)
    np.testing.assert_allclose(measure.ntk(model, x), trace / 3, atol=1e-10 * scale)
    pseudo = np.einsum("namb->nm", full) / 3
    np.testing.assert_allclose(measure.ntk(model, x, outputs="pseudo"), pseudo, atol=1e-10 * scale)


def test_kernel_equals_finite_differences():
    torch.manual_seed(0)
    layers = nn.Conv2d(2, 3, 3, stride=2, padding=1), nn.GELU(), nn.Flatten(), nn.Linear(12, 2)
    model, x = nn.Sequential(*layers).double(), torch.randn(3, 2, 4, 4, dtype=torch.float64)
    parameters = dict(model.named_parameters())
    step, columns = 1e-6, []
    with torch.no_grad():
        for parameter in parameters.values():
            flat = parameter.view(-1)
            for place in range(len(flat)):
                flat[place] += step
                above = model(x)
                flat[place] -= 2 * step
                columns.append((above - model(x)) / (2 * step))
                flat[place] += step
    jacobian = torch.stack(columns, -1).numpy()
    expected = np.einsum("nap,map->nm", jacobian, jacobian)
    np.testing.assert_allclose(measure.ntk(model, x, outputs="trace"), expected, rtol=1e-6, atol=1e-7)


def test_little_memory_takes_more_passes_to_the_same_kernel():
    model, x = build("cnn")
    found = measure.ntk(model, x, memory=30_000)
    np.testing.assert_allclose(found, measure.ntk(model, x), rtol=1e-9, atol=1e-12)
    anatomy = layers.take_apart(model, x[:1])
    groups = products.passes(products.pieces(anatomy, 7, 4000), 7, 4000)
    assert len(groups) > 5
    assert all(sum(7 * products.stored_numbers(piece) for piece in group) <= 4000 for group in groups)


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_tiles_of_few_numbers_give_the_same_kernel(name, monkeypatch):
    model, x = build(name)
    whole = measure.ntk(model, x)
    monkeypatch.setattr(products, "TILE", 64)  # seven examples take several
    np.testing.assert_allclose(measure.ntk(model, x), whole, rtol=1e-9, atol=1e-12)


def test_every_derivative_is_computed_once(monkeypatch):
    """The benchmark's point: the number of examples differentiated does not grow with pairs of batches."""
    model, x = build("mlp")
    seen = []
    original = layers.Anatomy.factors
    monkeypatch.setattr(
        layers.Anatomy, "factors", lambda self, part, of: seen.append(len(part)) or original(self, part, of)
    )
    measure.ntk(model, x, batch_size=2)
    assert sum(seen) == len(x) + 1  # and the one on which layers are compared with autograd


def test_dense_layers_and_convolutions_at_few_positions_need_no_jacobian():
    model, x = build("cnn")
    found = products.pieces(layers.take_apart(model, x[:1]), 7, 10**9)
    kinds = {
        piece.layer.weight: type(piece).__name__ for piece in found if not isinstance(piece, products.Bias)
    }
    assert kinds["body.0.weight"] == "Written"  # 64 positions and 3 channels
    assert [kind for name, kind in kinds.items() if len(model.get_parameter(name).shape) == 2] == [
        "Structured"
    ] * 2


def test_shared_weights_other_layers_and_writing_in_place_are_right():
    class Squared(nn.Linear):
        def forward(self, x):
            return nn.functional.linear(x, self.weight**2, self.bias)

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.twice, self.norm = nn.Linear(4, 5), nn.Linear(5, 5), nn.GroupNorm(1, 5)
            self.last = Squared(5, 2)
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x):
            hidden = self.relu(self.first(x))
            return self.last(self.norm(self.twice(self.relu(self.twice(hidden)))))

    torch.manual_seed(0)
    model, x = Tied().double(), torch.randn(6, 4, dtype=torch.float64)
    anatomy = layers.take_apart(model, x[:1])
    assert [layer.weight for layer in anatomy.layers] == ["first.weight"]
    trace = np.einsum("nama->nm", plain(model, x, x))
    np.testing.assert_allclose(measure.ntk(model, x, outputs="trace"), trace, rtol=1e-9, atol=1e-12)


def test_gains_of_norms_are_known_layers_and_only_embeddings_are_left():
    for name, left in (("resnet", []), ("vit", ["body.0.class_token", "body.0.positions"])):
        model, x = build(name)
        assert list(layers.take_apart(model, x[:1]).other_parameters) == left


def test_kernel_of_a_linear_model_is_the_product_of_its_inputs():
    model = nn.Linear(4, 3).double()
    x = torch.randn(7, 4, dtype=torch.float64)
    expected = (x @ x.T + 1).numpy()
    np.testing.assert_allclose(measure.ntk(model, x), expected)
    single = x.numpy()  # arrays are taken in the precision of the network
    np.testing.assert_allclose(measure.ntk(model.float(), single), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("depth", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_kernel_of_a_wide_network_is_the_closed_form(depth):
    """Mean over eight initialisations of 1,024 units against the kernel of infinite width."""
    torch.manual_seed(0)
    x = torch.randn(5, 6, dtype=torch.float64)
    kernels = [
        measure.ntk(
            nets.build("mlp", (6,), 4, hidden=1024, depth=depth, parameterization="ntk", seed=s).double(), x
        )
        for s in range(8)
    ]
    # The theory draws weights of variance 2/n and multiplies nothing; here weights have variance 2 and a
    # multiplier 1/√n, so that its derivatives by weights are √2 times ours; biases start at zero.
    expected = infinite_width.ntk(x.numpy(), depth=depth) / 2
    bias = _bias_share(x.numpy(), depth)
    mean, spread = np.mean(kernels, axis=0), np.std(kernels, axis=0, ddof=1) / np.sqrt(8)
    assert np.abs(mean - (expected + bias)).max() < 6 * spread.max()
    assert spread.max() < 0.05 * expected.max()


def _bias_share(x, depth):
    """Biases enter as 1/n of a unit's fan-in: only the first layer's, 1/6, survives at infinite width."""
    share = np.full((len(x), len(x)), 1 / 6)
    nngp = x @ x.T * 2 / 6
    for _ in range(depth):
        lengths = np.sqrt(np.diag(nngp))
        angle = np.arccos(np.clip(nngp / np.outer(lengths, lengths), -1, 1))
        share = share * (np.pi - angle) / np.pi
        nngp = np.outer(lengths, lengths) * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
    return share


class Recurrent(nn.Module):
    """What `torch.func` has no rule for: a recurrent layer in both directions, or over sequences packed."""

    def __init__(self, packed=False):
        super().__init__()
        self.table, self.packed = nn.Embedding(9, 4), packed
        self.layer, self.last = nn.GRU(4, 3, batch_first=True, bidirectional=True), nn.Linear(6, 2)

    def forward(self, tokens):
        h = self.table(tokens)
        if self.packed:
            lengths = (tokens > 2).sum(1).clamp(min=1)
            h = nn.utils.rnn.pack_padded_sequence(h, lengths, batch_first=True, enforce_sorted=False)
        return self.last(self.layer(h)[1].transpose(0, 1).flatten(1))


class Branching(nn.Module):
    """In a batch an example would be computed otherwise than by itself."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 5), nn.Linear(5, 2)
        self.first.bias.requires_grad_(False)

    def forward(self, x):
        h = self.first(x)
        return self.last(h.relu() if h.mean() > 0 else h.tanh())


@pytest.mark.parametrize("make", [Recurrent, lambda: Recurrent(packed=True), Branching])
def test_each_example_counts_by_itself_and_trained_parameters_alone(make):
    torch.manual_seed(2)
    model, labels = make().double().eval(), torch.randint(0, 2, (7,))
    x = torch.randn(7, 6).double() if isinstance(model, Branching) else torch.randint(0, 9, (7, 6))
    trained = [p for p in model.parameters() if p.requires_grad]

    def gradient(value):
        found = torch.autograd.grad(value, trained, retain_graph=True, materialize_grads=True)
        return torch.cat([g.flatten() for g in found])

    outputs = [model(one[None])[0] for one in x]
    jacobian = torch.stack([torch.stack([gradient(a) for a in each]) for each in outputs])
    expected = torch.einsum("nap,map->nm", jacobian, jacobian).numpy()
    np.testing.assert_allclose(measure.ntk(model, x, outputs="trace"), expected, atol=1e-10 * expected.max())
    losses = [nn.functional.cross_entropy(each, y) for each, y in zip(outputs, labels)]
    each = torch.stack([gradient(loss) for loss in losses])
    found = measure.gradient_noise(model, x, labels)
    assert found.trace == pytest.approx(float(each.var(0).sum()), rel=1e-6)


def test_bad_input_is_named():
    model = nn.Linear(2, 3)
    with pytest.raises(BadInput, match="'trace'"):
        measure.ntk(model, torch.ones(1, 2), outputs="trce")
    with pytest.raises(BadInput, match="no inputs"):
        measure.ntk(model, torch.ones(0, 2))
    with pytest.raises(BadInput, match="memory = 0"):
        measure.ntk(model, torch.ones(1, 2), memory=0)
    x = torch.tensor([[1.0, 2.0], [0.5, -1.0]])
    np.testing.assert_allclose(measure.ntk(model, x, memory=1), measure.ntk(model, x))  # one number at a time
