"""Network families: sizes known from the papers, and use under function transforms."""

import copy

import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import functional as F

from scalinglab import nets
from scalinglab.errors import BadInput

SMALL = {  # a small network of each family
    "mlp": ((1, 8, 8), {"width": 0.25}),
    "lenet": ((1, 12, 12), {"width": 1.0}),
    "cnn": ((3, 8, 8), {"width": 0.125}),
    "myrtle": ((3, 8, 8), {}),
    "resnet": ((3, 8, 8), {"width": 0.0625}),
    "wide_resnet": ((3, 8, 8), {"width": 0.5, "depth": 10}),
    "vit": ((3, 8, 8), {"width": 0.125, "depth": 2}),
}


def small(name: str, **options):
    shape, own = SMALL[name]
    return nets.build(name, shape, 5, **{**own, "seed": 0, **options})


def n_parameters(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_lenet_5_is_width_2_and_has_its_61706_parameters():
    assert n_parameters(nets.build("lenet", (1, 28, 28), 10, width=2)) == 61_706
    assert n_parameters(nets.build("lenet", (1, 32, 32), 10, width=2)) == 61_706


@pytest.mark.parametrize(
    ("depth", "k", "millions"),
    [(40, 1, 0.6), (40, 2, 2.2), (16, 8, 11.0), (22, 8, 17.2), (28, 10, 36.5)],
)
def test_wide_resnets_have_the_sizes_of_zagoruyko_table_3(depth, k, millions):
    with torch.device("meta"):
        body = nets.FAMILIES["wide_resnet"]((3, 32, 32), 10, k, depth, None)
    assert n_parameters(body) / 1e6 == pytest.approx(millions, abs=0.06)


def test_resnets_have_the_known_sizes_of_resnet_18_and_34_for_small_images():
    with torch.device("meta"):
        assert n_parameters(nets.FAMILIES["resnet"]((3, 32, 32), 10, 1, None, None)) == 11_173_962
        assert n_parameters(nets.FAMILIES["resnet"]((3, 32, 32), 100, 1, None, None)) == 21_328_292


def test_cnn_of_damico2025_and_bahri2021_have_their_layers():
    shapes = [tuple(p.shape) for p in small("cnn", width=1.0).parameters() if p.ndim > 1]
    assert shapes == [(32, 3, 3, 3), (64, 32, 3, 3), (128, 64, 3, 3), (512, 128 * 16), (5, 512)]
    body = nets.build("cnn", (3, 32, 32), 100, width=0.125).body
    assert [m.out_channels for m in body if isinstance(m, torch.nn.Conv2d)] == [8, 16, 32, 64]
    assert [m.out_features for m in body if isinstance(m, torch.nn.Linear)] == [128, 64, 100]
    assert [m.p for m in body if isinstance(m, torch.nn.Dropout)] == [0.1, 0.1]
    table = nets.build(
        "cnn", (3, 32, 32), 10, channels=[50, 100, 100], pool_after=[1, 2], dense=[64], padding=0
    )
    assert [p.shape[0] for p in table.parameters() if p.ndim > 1] == [50, 100, 100, 64, 10]


def test_vit_sizes_follow_damico2025():
    for shape, classes, dim, depth, tokens in (
        ((1, 28, 28), 10, 128, 4, 17), ((3, 32, 32), 10, 192, 6, 65), ((3, 32, 32), 100, 256, 6, 65),
    ):  # fmt: skip
        with torch.device("meta"):
            body = nets.FAMILIES["vit"](shape, classes, 1, None, None)
        assert tuple(body[0].positions.shape) == (1, tokens, dim)
        assert sum(isinstance(m, nets.Attention) for m in body.modules()) == depth


def test_a_decoder_has_two_blocks_of_64_with_four_heads():
    """Weights of a block: 4 d² of attention and 8 d² of the mlp; with biases, embeddings and norms."""
    d, context, vocabulary = 64, 16, 50
    model = nets.build("decoder", (context,), vocabulary)
    block = (4 * d * d + 4 * d) + (8 * d * d + 5 * d) + 2 * 2 * d
    ends = (vocabulary + context) * d + 2 * d + (d * vocabulary + vocabulary)
    assert n_parameters(model) == 2 * block + ends
    assert [m.heads for m in model.modules() if isinstance(m, nets.Attention)] == [4, 4]


def test_heavy_mlps_have_the_widths_of_equation_18():
    widths = {"bottom_heavy": [512, 256, 128], "top_heavy": [128, 512, 512]}
    for shape, expected in widths.items():
        model = nets.build("mlp", (1, 8, 8), 10, shape=shape)
        assert [p.shape[0] for p in model.parameters() if p.ndim > 1] == [*expected, 10]


def test_attention_equals_pytorchs_multihead_attention():
    ours, theirs = nets.Attention(12, 3), torch.nn.MultiheadAttention(12, 3, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias)
    x = torch.randn(2, 5, 12)
    torch.testing.assert_close(ours(x), theirs(x, x, x)[0])


def test_batch_norm_equals_pytorchs_in_training_and_evaluation():
    ours, theirs = nets.BatchNorm(4), torch.nn.BatchNorm2d(4)
    for _ in range(3):
        x = 2 * torch.randn(6, 4, 3, 3) + 1
        torch.testing.assert_close(ours(x), theirs(x))
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    torch.testing.assert_close(ours.running_var, theirs.running_var)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x))


def replica_step(model, parameters, buffers, x, y):
    """Gradients and new buffers of one replica, as a training engine computes them."""

    def loss(parameters):
        state = {**parameters, **buffers}
        logits = functional_call(model, state, (x,))
        return F.cross_entropy(logits, y), {name: state[name] for name in buffers}

    return grad(loss, has_aux=True)(parameters)


@pytest.mark.parametrize("name", SMALL)
def test_replicas_under_vmap_have_the_gradients_and_buffers_of_single_networks(name):
    batch_norm = None if name == "vit" else True
    replicas = [small(name, seed=seed, batch_norm=batch_norm).double() for seed in range(3)]
    parameters, buffers = stack_module_state(replicas)
    torch.manual_seed(0)
    x, y = torch.randn(3, 4, *SMALL[name][0], dtype=torch.float64), torch.randint(5, (3, 4))
    skeleton = copy.deepcopy(replicas[0]).train()
    gradients, new_buffers = vmap(
        lambda p, b, x, y: replica_step(skeleton, p, b, x, y), randomness="different"
    )(parameters, buffers, x, y)
    for index, model in enumerate(replicas):
        F.cross_entropy(model(x[index]), y[index]).backward()
        for key, parameter in model.named_parameters():
            torch.testing.assert_close(gradients[key][index], parameter.grad, rtol=1e-8, atol=1e-10)
        for key, buffer in model.named_buffers():
            torch.testing.assert_close(new_buffers[key][index], buffer, rtol=1e-8, atol=1e-10)


def test_dropout_differs_between_replicas_under_vmap():
    model = small("cnn", dropout=0.5).train()
    parameters = {name: p.detach().expand(2, *p.shape) for name, p in model.named_parameters()}
    x = torch.randn(2, 3, 8, 8)
    out = vmap(lambda p: functional_call(model, p, (x,)), randomness="different")(parameters)
    assert not torch.allclose(out[0], out[1])


@pytest.mark.parametrize("name", SMALL)
def test_same_seed_gives_the_same_network_and_another_seed_another(name):
    first, again, other = small(name), small(name), small(name, seed=1)
    x = torch.randn(2, *SMALL[name][0])
    assert first.eval()(x).shape == (2, 5)
    torch.testing.assert_close(first(x), again.eval()(x), rtol=0, atol=0)
    assert not torch.allclose(first(x), other.eval()(x))
    nets.initialize(other, seed=0)
    torch.testing.assert_close(first(x), other(x), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "renset"}, "did you mean 'resnet'"),
        ({"parameterization": "nkt"}, "did you mean 'ntk'"),
        ({"width": 0.0}, "width"),
        ({"width": 128}, "hidden=128"),
        ({"depth": 0}, "depth"),
        ({"shpae": "uniform"}, "did you mean 'shape'"),
        ({"shape": "heavy"}, "shape"),
        ({"initialization": "torch", "parameterization": "ntk"}, "standard"),
        ({"name": "cnn", "input_shape": (64,)}, "images"),
        ({"name": "cnn", "chanels": [4]}, "did you mean 'channels'"),
        ({"name": "cnn", "depth": 3}, "fixed"),
        ({"name": "wide_resnet", "input_shape": (3, 8, 8), "depth": 12}, "6N"),
        ({"name": "vit", "input_shape": (3, 30, 30)}, "patch"),
        ({"name": "vit", "input_shape": (3, 32, 32), "batch_norm": True}, "layer norm"),
        ({"name": "lenet", "input_shape": (1, 8, 8)}, "too small"),
        ({"n_classes": 0}, "n_classes"),
        ({"input_shape": ()}, "input_shape"),
        ({"input_shape": 784}, "must be a sequence"),
        ({"n_classes": 10.5}, "whole number"),
        ({"width": "2"}, "must be a number"),
        ({"width": float("inf")}, "positive number"),
        ({"depth": 2.5}, "depth"),
        ({"dropout": 2}, "probability"),
        ({"hidden": 0}, "hidden = 0"),
        ({"name": "vit", "input_shape": (3, 32, 32), "heads": 0}, "heads = 0"),
        ({"name": "resnet", "input_shape": (3, 32, 32), "stages": ()}, "blocks of each stage"),
        ({"name": "CNN"}, "did you mean 'cnn'"),
    ],
)
def test_bad_input_names_what_is_wrong(change, message):
    good = {"name": "mlp", "input_shape": (1, 8, 8), "n_classes": 10}
    with pytest.raises(BadInput, match=message):
        nets.build(**{**good, **change})


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "options"), [("resnet", {"stages": (1, 1), "channels": (64, 128)}), ("vit", {"depth": 1})]
)
def test_a_training_step_is_one_graph_for_the_compiler(name, options):
    model = small(name, **options).train()
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    x = torch.randn(4, *SMALL[name][0])

    def step(state, x):
        state = dict(state)
        logits = functional_call(model, state, (x,))
        return logits, {name: value for name, value in state.items() if name.endswith("running_mean")}

    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)  # a break of the graph is an error
    expected, statistics = step(state, x)
    found, new_statistics = compiled(state, x)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    for key, value in statistics.items():
        torch.testing.assert_close(new_statistics[key], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["cnn", "lenet", "wide_resnet", "vit"])
def test_memory_format_does_not_change_the_function(name):
    model = small(name).eval()
    x = torch.randn(2, *SMALL[name][0])
    expected = model(x)
    model.to(memory_format=torch.channels_last)
    torch.testing.assert_close(model(x.to(memory_format=torch.channels_last)), expected, rtol=1e-4, atol=1e-5)


def test_the_share_of_the_latest_batch_in_running_statistics_is_an_option_of_resnets():
    images = torch.randn(16, 1, 8, 8)
    means = {}
    for momentum in (0.1, 0.5):
        torch.manual_seed(0)
        options = {"stages": (1,), "channels": (4,), "norm_momentum": momentum}
        model = nets.build("resnet", (1, 8, 8), 10, **options)
        model(images)
        means[momentum] = [m.running_mean for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert len(means[0.5]) == 3
    for slow, fast in zip(means[0.1], means[0.5], strict=True):
        assert torch.allclose(fast, 5 * slow, rtol=1e-4, atol=1e-6)
        assert fast.abs().max() > 0
