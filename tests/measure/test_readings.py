"""Margins, cost, noise and dimension against closed forms and other counters."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from scalinglab import data, measure, nets
from scalinglab.errors import BadInput

FAMILIES = {
    "mlp": ((1, 8, 8), {}),
    "lenet": ((1, 12, 12), {"width": 2}),
    "cnn": ((3, 8, 8), {"width": 0.25}),
    "myrtle": ((3, 8, 8), {}),
    "resnet": ((3, 8, 8), {"width": 0.125}),
    "wide_resnet": ((3, 8, 8), {"width": 2, "depth": 10}),
    "vit": ((3, 8, 8), {"width": 0.25, "depth": 2}),
}

# --- cost ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_flops_of_forward_pass_and_training_step_equal_the_profilers(name):
    shape, options = FAMILIES[name]
    model = nets.build(name, shape, 5, **options)
    found = measure.flops(model, shape, batch_size=3)
    x = torch.randn(3, *shape)
    with FlopCounterMode(display=False) as forward:
        outputs = model(x)
    with FlopCounterMode(display=False) as backward:
        outputs.sum().backward()
    assert found.forward == forward.get_total_flops()
    assert found.step == forward.get_total_flops() + backward.get_total_flops()
    assert found.n_params == sum(p.numel() for p in model.parameters())
    assert sum(found.layers.values()) == found.forward


# --- margins ---------------------------------------------------------------------------------------------


def test_margins_are_differences_of_logits_over_complexity_and_input_scale():
    model = nn.Sequential(nn.Linear(2, 3, bias=False))
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    x, y = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]]), torch.tensor([0, 1, 0])
    found = measure.margins(model, x, y)
    assert found.raw.tolist() == pytest.approx([1.0, 0.0, -1.0])
    weight = model[0].weight.detach().numpy()
    complexity = np.linalg.norm(weight, axis=1).sum()  # one layer: ‖A‖ · ‖Aᵀ‖_{2,1} / ‖A‖
    scale = math.sqrt(1 + 1 + 25) / 3
    assert found.normalized.tolist() == pytest.approx(
        [1 / (complexity * scale), 0.0, -1 / (complexity * scale)]
    )
    assert found.error == pytest.approx(2 / 3)
    assert found.quantiles(normalized=False)[0.5] == pytest.approx(0.0)
    assert "3 margins" in found.summary()


def test_margins_do_not_depend_on_batches_and_leave_the_mode_as_it_was():
    model = nets.build("cnn", (3, 8, 8), 5, width=0.125, dropout=0.5, seed=0).train()
    x, y = torch.randn(10, 3, 8, 8), torch.randint(5, (10,))
    first, second = (measure.margins(model, x, y, batch_size=size) for size in (3, 10))
    np.testing.assert_allclose(first.raw, second.raw, rtol=1e-4, atol=1e-6)
    assert model.training
    with pytest.raises(BadInput, match="labels"):
        measure.margins(model, x, y[:3])
    with pytest.raises(BadInput, match=r"outputs .*5"):
        measure.margins(model, x, y + 5)
    with pytest.raises(BadInput, match="integer"):
        measure.margins(model, x, y.float())


def test_arrays_are_as_good_as_tensors():
    model = nets.build("mlp", (1, 8, 8), 10, width=0.1, seed=0)
    digits = data.load("digits")
    x, y = digits.inputs(rows=slice(0, 20)), digits.train_y[:20]
    tensors = torch.tensor(x), torch.tensor(y)
    assert np.array_equal(measure.margins(model, x, y).raw, measure.margins(model, *tensors).raw)
    assert measure.gradient_noise(model, x, y) == measure.gradient_noise(model, *tensors)
    assert np.array_equal(measure.ntk(model, x[:3]), measure.ntk(model, tensors[0][:3]))
    doubles = x.astype(float)  # as NumPy has them; a network takes them in its own precision
    assert np.array_equal(measure.margins(model, doubles, y).raw, measure.margins(model, x, y).raw)
    assert np.array_equal(measure.ntk(model, doubles[:3]), measure.ntk(model, x[:3]))


# --- noise -----------------------------------------------------------------------------------------------


def test_noise_scales_are_equations_2_to_5_of_park2019():
    assert measure.noise_scale(0.1, 32, 3200) == pytest.approx(10.0)
    assert measure.noise_scale(0.1, 32, 3200, momentum=0.9) == pytest.approx(100.0)
    common = {"learning_rate": 10.0, "batch_size": 24, "n_data": 55_000, "momentum": 0.9}
    g = 10.0 * 55_000 / 24 / 0.1
    assert measure.normalized_noise_scale(**common, width=6, parameterization="ntk") == pytest.approx(g / 2)
    assert measure.normalized_noise_scale(**common, width=6) == pytest.approx(6 * g / 2)
    batches = np.array([16, 32])
    np.testing.assert_allclose(measure.noise_scale(0.1, batches, 3200), [20.0, 10.0])
    for bad in ({"momentum": 1.0}, {"batch_size": 0}, {"learning_rate": -1.0}):
        with pytest.raises(BadInput, match=next(iter(bad))):
            measure.noise_scale(**{**common, **bad})
    with pytest.raises(BadInput, match="standard"):
        measure.normalized_noise_scale(**common, parameterization="mup")


def test_gradient_noise_equals_the_covariance_of_single_gradients():
    torch.manual_seed(0)
    model = nn.Linear(4, 3).double()
    x, y = torch.randn(50, 4, dtype=torch.float64), torch.randint(3, (50,))
    rows = []
    for one, label in zip(x, y, strict=True):
        loss = F.cross_entropy(model(one[None]), label[None])
        rows.append(
            torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))]).numpy()
        )
    covariance = np.cov(np.array(rows).T)
    mean = np.mean(rows, axis=0)
    found = measure.gradient_noise(model, x, y, batch_size=7)
    assert found.trace == pytest.approx(np.trace(covariance), rel=1e-10)
    assert found.gradient_square == pytest.approx(mean @ mean - np.trace(covariance) / 50, rel=1e-8)
    assert found.simple_noise_scale == pytest.approx(found.trace / found.gradient_square)


# --- dimension -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["neighbours", "two_nn"])
@pytest.mark.parametrize("d", [1, 5])
def test_dimension_of_a_flat_cloud_in_a_larger_space(method, d):
    rng = np.random.default_rng(d)
    rotation = np.linalg.qr(rng.normal(size=(20, 20)))[0][:d]
    points = rng.uniform(size=(1500, d)) @ rotation
    found = measure.dimension(points, method=method)
    # the border lowers it a little, more in higher dimension
    assert d * (0.98 - 0.02 * d) - 4 * found.stderr < found.value < d + 4 * found.stderr
    assert float(found) == found.value
    assert method in found.summary()


@pytest.mark.parametrize("method", ["two_nn", pytest.param("neighbours", marks=pytest.mark.slow)])
def test_error_of_the_dimension_is_its_spread_between_samples(method):
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, size=(80, 400, 2))
    torus = np.stack([np.cos(angles), np.sin(angles)], -1).reshape(80, 400, 4)  # no border
    found = [measure.dimension(sample, method=method) for sample in torus]
    ratio = np.std([f.value for f in found], ddof=1) / np.mean([f.stderr for f in found])
    assert 0.75 < ratio < 1.33  # 80 samples know their spread to 8 %


def test_duplicates_and_subsets_do_not_matter_and_bad_input_is_named():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(500, 3))
    once, twice = measure.dimension(points), measure.dimension(np.concatenate([points, points[:250]]))
    assert once.value == pytest.approx(twice.value)
    assert twice.n == 500
    part = measure.dimension(points, max_points=200)
    assert abs(part.value - once.value) < 4 * part.stderr
    for call, message in (
        (lambda: measure.dimension(points, method="two-nn"), "did you mean 'two_nn'"),
        (lambda: measure.dimension(points[:3]), "points"),
        (lambda: measure.dimension(points * np.nan), "NaN"),
    ):
        with pytest.raises(BadInput, match=message):
            call()


# --- all of them -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["norms", "margins", "gradient_noise", "ntk"])
def test_measuring_leaves_every_module_in_the_mode_it_had(name):
    model = nets.build("cnn", (3, 8, 8), 4, width=0.125, batch_norm=True, seed=0).train()
    frozen = next(module for module in model.modules() if isinstance(module, nn.BatchNorm2d)).eval()
    x, y = torch.randn(6, 3, 8, 8, generator=torch.Generator().manual_seed(0)), torch.arange(6) % 4
    arguments = {"norms": ((3, 8, 8),), "ntk": (x,)}.get(name, (x, y))
    getattr(measure, name)(model, *arguments)
    assert [module for module in model.modules() if not module.training] == [frozen]


def test_two_classes_have_margins_and_one_output_has_none():
    torch.manual_seed(0)
    model, x = nn.Linear(3, 2, bias=False), torch.randn(5, 3)
    found = measure.margins(model, x, torch.tensor([0, 1, 0, 1, 1]))
    logits = model(x).detach().double()
    signs = torch.tensor([1.0, -1.0, 1.0, -1.0, -1.0])
    assert found.raw == pytest.approx((signs * (logits[:, 0] - logits[:, 1])).numpy())
    with pytest.raises(BadInput, match=r"\(5, 1\)"):
        measure.margins(nn.Linear(3, 1), x, torch.zeros(5, dtype=torch.long))
    with pytest.raises(BadInput, match=r"from 0 to 2, .* 2"):
        measure.margins(model, x, torch.tensor([0, 1, 2, 1, 1]))


def test_operations_are_counted_of_a_network_without_numbers():
    """The engine counts operations before weights are drawn: on the device "meta"."""
    with torch.device("meta"):
        empty = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2))
    drawn = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2))
    assert measure.flops(empty, (6,), 3) == measure.flops(drawn, (6,), 3)
