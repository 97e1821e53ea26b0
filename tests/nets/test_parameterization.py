"""The coordinate check: what grows with width, and what does not, in each parameterization.

Root mean squares over units, inputs and seeds are compared between a network and a wider one; the exponent
of width is log(ratio) / log(width ratio). One step of descent on a loss that is linear in the outputs is the
first function-space update; theory gives its exponent:

| scheme | pre-activations | outputs at start | hidden updates | output update |
| --- | --- | --- | --- | --- |
| standard, fixed learning rate | 0 | 0 | | +1 |
| ntk | 0 | 0 | −1/2 | 0 |
| mup (with its learning rates) | 0 | −1/2 | 0 | 0 |
"""

import math

import numpy as np
import pytest
import torch

from scalinglab import nets
from scalinglab.errors import BadInput

# family: input shape, options, narrow and wide
FAMILIES = {
    "mlp 1": ((1, 8, 8), {"depth": 1}, (1, 8)),
    "mlp 3": ((1, 8, 8), {"depth": 3}, (1, 8)),
    "lenet": ((1, 12, 12), {}, (4, 16)),
    "cnn": ((3, 6, 6), {}, (0.25, 1)),
    "myrtle": ((3, 8, 8), {}, (4, 16)),
    "resnet": ((3, 4, 4), {"stages": (1, 1), "channels": (16, 32)}, (1, 4)),
    "wide_resnet": ((3, 4, 4), {"depth": 10, "batch_norm": False}, (2, 6)),
    "vit": ((3, 8, 8), {"depth": 1, "dim": 64, "heads": 2}, (1, 4)),
    "decoder": ((6,), {"depth": 1, "dim": 64, "heads": 2}, (1, 4)),
}
# the two most expensive, whose kinds of layers others have too, are for the nightly run
COORDINATE_CHECK = [
    pytest.param(family, marks=[pytest.mark.nightly] * (family in ("myrtle", "wide_resnet")))
    for family in FAMILIES
]
SEEDS = {"myrtle": 5}  # whose channels are few; of others three


def observe(family: str, width: float, scheme: str, optimizer: str) -> dict[str, np.ndarray]:
    """Mean squares of pre-activations, of their change and of the outputs' change in one step."""
    shape, options, _ = FAMILIES[family]
    found: dict[str, list] = {"start": [], "change": []}
    for seed in range(SEEDS.get(family, 3)):
        model = nets.build(
            family.split()[0], shape, 5, width=width, parameterization=scheme, seed=seed, **options
        ).double()
        layers = [m for m in model.modules() if isinstance(m, (nets.Dense, nets.Conv))]
        seen: list[torch.Tensor] = []
        for layer in layers:
            layer.register_forward_hook(
                lambda module, inputs, output, seen=seen: seen.append(output.detach())
            )
        generator = torch.Generator().manual_seed(100 + seed)
        x = torch.randn(8, *shape, generator=generator, dtype=torch.float64)
        if family == "decoder":  # tokens of a vocabulary of five
            x = torch.randint(0, 5, (8, *shape), generator=generator)
        outputs = model(x)
        direction = torch.randn(outputs.shape, generator=generator, dtype=torch.float64)
        before, seen[:] = list(seen), []
        gradients = torch.autograd.grad((outputs * direction).mean(), list(model.parameters()))
        scales = nets.learning_rate_scales(model, optimizer)
        with torch.no_grad():
            for (name, parameter), gradient in zip(model.named_parameters(), gradients, strict=True):
                update = gradient if optimizer == "sgd" else gradient.sign()
                parameter -= 1e-6 * scales[name] * update
            model(x)
        found["start"].append([float(z.square().mean()) for z in before])
        found["change"].append([float((b - a).square().mean()) for a, b in zip(before, seen, strict=True)])
    return {key: np.mean(values, axis=0) for key, values in found.items()}


def exponents(family: str, scheme: str, optimizer: str = "sgd") -> dict[str, np.ndarray]:
    """Exponent of width of the root mean squares, by layer in the order they run; the last is the readout."""
    narrow, wide = FAMILIES[family][2]
    first, second = (observe(family, width, scheme, optimizer) for width in (narrow, wide))
    return {key: 0.5 * np.log(second[key] / first[key]) / math.log(wide / narrow) for key in first}


# a readout of a few random units scatters more than a mean over a layer
HIDDEN, READOUT = 0.15, 0.3


@pytest.mark.slow
@pytest.mark.parametrize("family", COORDINATE_CHECK)
def test_standard_keeps_preactivations_and_lets_the_first_update_grow_with_width(family):
    found = exponents(family, "standard")
    assert np.abs(found["start"][:-1]).max() < HIDDEN
    assert abs(found["start"][-1]) < READOUT
    # the part of the first layer's weights does not grow, so that the exponent comes near 1 from below
    assert 0.55 < found["change"][-1] < 1 + READOUT


@pytest.mark.slow
@pytest.mark.parametrize("family", COORDINATE_CHECK)
def test_ntk_keeps_preactivations_and_the_first_update_of_the_function(family):
    found = exponents(family, "ntk")
    assert np.abs(found["start"][:-1]).max() < HIDDEN
    assert abs(found["start"][-1]) < READOUT
    assert abs(found["change"][-1]) < READOUT
    if family != "wide_resnet":  # whose first layer is not widened
        assert np.abs(found["change"][:-1] + 0.5).max() < 2 * HIDDEN


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("family", COORDINATE_CHECK)
def test_mup_keeps_all_first_updates(family, optimizer):
    found = exponents(family, "mup", optimizer)
    assert np.abs(found["start"][:-1]).max() < (2 * HIDDEN if family == "vit" else HIDDEN)
    assert abs(found["start"][-1] + 0.5) < READOUT
    assert abs(found["change"][-1]) < READOUT
    hidden = found["change"][4 if family == "wide_resnet" else 0 : -1]  # see above
    assert np.abs(hidden).max() < (3 * HIDDEN if family == "vit" else 2 * HIDDEN)


def test_weights_are_drawn_as_equations_8_and_11_say():
    for scheme in ("standard", "ntk"):
        model = nets.build("cnn", (3, 16, 16), 10, parameterization=scheme, seed=0)
        for layer in model.modules():
            if isinstance(layer, (nets.Dense, nets.Conv)):
                fan_in = layer.weight[0].numel()
                variance = 2 / fan_in if scheme == "standard" else 2.0
                count = layer.weight.numel()
                assert float(layer.weight.detach().var()) == pytest.approx(
                    variance, rel=6 * math.sqrt(2 / count)
                )
                assert not layer.bias.any()
                scale = 1.0 if scheme == "standard" else 1 / math.sqrt(fan_in)
                assert layer.multiplier == layer.bias_multiplier == pytest.approx(scale)


def test_ntk_layer_computes_equation_10():
    model = nets.build("mlp", (5,), 3, hidden=4, depth=1, parameterization="ntk", seed=0)
    layer = model.body[1]
    with torch.no_grad():
        layer.bias.normal_()
    x = torch.randn(2, 5)
    torch.testing.assert_close(layer(x), (x @ layer.weight.T + layer.bias) / math.sqrt(5))


def test_mup_readout_scales_its_weights_but_not_its_bias():
    model = nets.build("mlp", (5,), 3, width=4, hidden=4, depth=1, parameterization="mup", seed=0)
    readout = model.body[-1]
    with torch.no_grad():
        readout.bias.normal_()
    h = torch.randn(2, 16)
    torch.testing.assert_close(readout(h), h @ readout.weight.T / 4 + readout.bias)
    conv = nets.Conv(2, 3, 3)
    conv.multiplier = 0.5
    image = torch.randn(1, 2, 4, 4)
    expected = 0.5 * torch.nn.functional.conv2d(image, conv.weight) + conv.bias[:, None, None]
    torch.testing.assert_close(conv(image), expected)


def test_mup_equals_standard_at_the_base_width():
    for name, shape, width in (
        ("cnn", (3, 8, 8), 1.0),
        ("lenet", (1, 12, 12), 2.0),
        ("wide_resnet", (3, 8, 8), 2.0),
    ):
        first, second = (
            nets.build(name, shape, 5, width=width, parameterization=p, seed=0).eval()
            for p in ("standard", "mup")
        )
        x = torch.randn(2, *shape)
        torch.testing.assert_close(first(x), second(x))
        assert set(nets.learning_rate_scales(second, "adam").values()) == {1.0}


def test_initializations_of_damico2025_have_their_scales():
    cnn = nets.build("cnn", (3, 8, 8), 10, initialization="customary", seed=0)
    reference = torch.nn.Conv2d(32, 64, 3)
    assert float(cnn.body[2].weight.detach().std()) == pytest.approx(
        float(reference.weight.detach().std()), rel=0.03
    )
    assert float(cnn.body[2].bias.detach().abs().max()) <= 1 / math.sqrt(32 * 9)
    resnet = nets.build("resnet", (3, 8, 8), 10, width=0.5, initialization="customary", seed=0)
    assert float(resnet.body[-1].weight.detach().std()) == pytest.approx(0.01, rel=0.1)
    last = resnet.body[-4].branch[-2].weight.detach()
    assert float(last.std()) == pytest.approx(math.sqrt(2 / (last.shape[0] * 9)), rel=0.02)
    vit = nets.build("vit", (3, 8, 8), 10, initialization="customary", seed=0)
    block = vit.body[1]
    assert float(block.mlp[0].weight.detach().std()) == pytest.approx(0.02, rel=0.02)
    packed = torch.nn.MultiheadAttention(192, 3).in_proj_weight.detach()
    assert float(block.attention.query.weight.detach().std()) == pytest.approx(float(packed.std()), rel=0.02)
    assert float(vit.body[0].class_token.detach().std()) == pytest.approx(0.02, rel=0.3)
    critical = nets.build("vit", (3, 8, 8), 10, seed=0, initialization="critical")
    assert float(critical.body[0].class_token.detach().std()) == pytest.approx(1.0, rel=0.3), "as patches"


def test_unknown_optimizer_is_named():
    with pytest.raises(BadInput, match="'adam'"):
        nets.learning_rate_scales(nets.build("mlp", (4,), 2), "adma")


def test_a_network_without_numbers_is_built_without_drawing() -> None:
    with torch.device("meta"):  # 400 TB, which could not be drawn
        model = nets.build("mlp", (3, 8, 8), 10, depth=2, hidden=10**7)
    assert all(parameter.is_meta for parameter in model.parameters())
    assert sum(parameter.numel() for parameter in model.parameters()) > 1e14


@pytest.mark.parametrize("family", ["cnn", "resnet", "vit"])
def test_the_initialization_factor_scales_weights_alone(family):
    options = {"initialization": "customary", "seed": 3, "width": 0.25}
    plain = dict(nets.build(family, (3, 8, 8), 10, **options).named_parameters())
    small = dict(nets.build(family, (3, 8, 8), 10, initialization_factor=0.05, **options).named_parameters())
    scaled = {name for name in plain if not torch.equal(plain[name], small[name])}
    matrices = {name for name, value in plain.items() if value.ndim in (2, 4) and name.endswith("weight")}
    assert scaled == matrices
    for name in scaled:
        torch.testing.assert_close(small[name], 0.05 * plain[name])
    with pytest.raises(BadInput, match="initialization_factor"):
        nets.build(family, (3, 8, 8), 10, initialization_factor=0.0)
