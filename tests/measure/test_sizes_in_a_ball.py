"""How large activations are in the ball of the inputs: y * y and y yᵀ have twice the slope of y times it.

Each bound is that of its rule by hand: entries, tokens (rows) and all of an example are bounded, the inputs
by the radius R in each of the three, and each is at most what the others allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scalinglab import measure

SHAPE = (4, 6)
R = 3.0
ROWS, COLUMNS = SHAPE
WEIGHT = torch.randn(5, 6, generator=torch.Generator().manual_seed(0))
BIAS = torch.tensor([0.3, -0.9, 0.1, 0.0, 0.4])
MATRIX = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
NORM = float(torch.linalg.matrix_norm(WEIGHT.double(), 2))
MIXED = float(torch.linalg.matrix_norm(MATRIX.double(), 2))
LENGTH = float(BIAS.double().norm())


def affine() -> nn.Linear:
    """x ↦ Wx + b of each row."""
    layer = nn.Linear(6, 5)
    layer.load_state_dict({"weight": WEIGHT, "bias": BIAS})
    return layer


def plain() -> nn.Linear:
    """x ↦ x, since a network has a layer."""
    layer = nn.Linear(6, 6, bias=False)
    layer.load_state_dict({"weight": torch.eye(6)})
    return layer


class Of(nn.Module):
    """A function of what a layer gives."""

    def __init__(self, function: Callable[[Tensor], Tensor], layer: nn.Module | None = None) -> None:
        super().__init__()
        self.function, self.layer = function, layer or plain()

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.layer(x))


def bound(model: nn.Module, shape: tuple[int, ...] = SHAPE) -> float:
    """The bound of the slope where inputs have at most the length R."""
    inputs = torch.ones(2, *shape)
    inputs[0] *= R / inputs[0].norm()
    inputs[1] *= 0.5 * R / inputs[1].norm()
    found = measure.norms(model, shape, inputs=inputs)
    assert found["radius"] == pytest.approx(R)
    return float(found["spectral"])


# (what y is, its slope, its largest entry)
ENTRIES: dict[str, tuple[Callable[[Tensor], Tensor], float, float]] = {
    "x": (lambda x: x, 1, R),
    "moved by a number": (lambda x: x + 2, 1, R + 2),
    "scaled": (lambda x: -3 * x, 3, 3 * R),
    "divided": (lambda x: x / 4, 1 / 4, R / 4),
    "a sum with a share": (lambda x: torch.add(x, x, alpha=0.5), 1.5, 1.5 * R),
    "a difference": (lambda x: x - 2 * x, 3, 3 * R),
    "beside its double": (lambda x: torch.cat([x, 2 * x], -1), math.sqrt(5), 2 * R),
    "below its double": (lambda x: torch.cat([x, 2 * x], 1), math.sqrt(5), 2 * R),
    "mean of rows": (lambda x: x.mean(1), 1 / math.sqrt(ROWS), R / math.sqrt(ROWS)),
    "mean of columns": (lambda x: x.mean(2), 1 / math.sqrt(COLUMNS), R / math.sqrt(COLUMNS)),
    "sum of rows": (lambda x: x.sum(1), math.sqrt(ROWS), R * math.sqrt(ROWS)),
    "running sum": (lambda x: x.cumsum(1), ROWS, ROWS * R),
    "turned": (lambda x: x.transpose(1, 2), 1, R),
    "in one row": (lambda x: x.flatten(1), 1, R),
    "in two rows": (lambda x: x.reshape(-1, 2, 12), 1, R),
    "a part": (lambda x: x[:, 1:3], 1, R),
    "the larger": (lambda x: torch.maximum(x, 2 * x), math.sqrt(5), 3 * R),
    "mixed rows": (lambda x: MATRIX @ x, MIXED, MIXED * R),
    "three copies": (lambda x: x[:, None].expand(-1, 3, -1, -1), math.sqrt(3), R),
    "padded": (lambda x: F.pad(x, (1, 1)), 1, R),
    "a square": (lambda x: x * x, 2 * R, R * R),
    "times its mean": (
        lambda x: x * x.mean(2, keepdim=True),
        2 * R / math.sqrt(COLUMNS),
        R * R / math.sqrt(COLUMNS),
    ),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_largest_entries(name: str) -> None:
    """d(y²) = 2 y dy: at most twice the largest entry times the slope."""
    function, slope, entry = ENTRIES[name]
    assert bound(Of(lambda x: function(x) * function(x))) == pytest.approx(2 * slope * entry, rel=3e-4)


def test_entries_rows_and_lengths_of_a_layer_with_a_bias() -> None:
    """A row of Wx + b is at most R‖W‖ + ‖b‖ long, an entry max|b| above R‖W‖, all rows √4 ‖b‖."""
    grown = R * NORM
    entry = grown + float(BIAS.abs().max())
    assert bound(Of(lambda y: y * y, affine())) == pytest.approx(2 * NORM * entry, rel=3e-4)
    largest = min(grown + 2 * LENGTH, 2 * (grown + LENGTH))
    assert bound(Of(lambda y: y @ y.mT, affine())) == pytest.approx(2 * NORM * largest, rel=3e-4)


def test_a_layer_applied_to_positions_of_a_picture_is_bounded_by_all_of_it() -> None:
    """A kernel sees several pixels: each channel is bounded by the whole length; a bias is everywhere."""
    layer = nn.Conv2d(2, 3, 2)
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([0.5, -1.0, 0.25]))
    norm = measure.norms(layer, (2, 4, 4))["spectral"]
    found = bound(Of(lambda y: y * y, layer), (2, 4, 4))
    assert found == pytest.approx(2 * norm * (R * norm + 1.0), rel=3e-4)


def test_a_product_with_parameters_is_bounded_by_the_largest() -> None:
    class Gain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gain = nn.Parameter(torch.tensor([0.5, -2.0, 1.0, 0.0, 0.3, 1.5]))

        def forward(self, x: Tensor) -> Tensor:
            return x * self.gain

    class Under(Gain):
        def forward(self, x: Tensor) -> Tensor:
            return x / (self.gain.abs() + 0.1)

    for model, largest in ((Gain(), 2.0), (Under(), 10.0)):
        assert bound(Of(lambda y: y * y, nn.Sequential(model, plain()))) == pytest.approx(
            2 * largest**2 * R, rel=3e-4
        )


def test_products_of_matrices() -> None:
    """d(AB) is at most ‖A‖‖dB‖ + ‖B‖‖dA‖; a constant matrix in between multiplies by its own norm."""
    assert bound(Of(lambda x: x @ x.mT)) == pytest.approx(2 * R, rel=3e-4)
    assert bound(Of(lambda x: x.mT @ x @ x.mT)) == pytest.approx(3 * R**2, rel=3e-4)
    assert bound(Of(lambda x: (2 * x) @ (x.mT @ MATRIX))) == pytest.approx(4 * R * MIXED, rel=3e-4)


@pytest.mark.parametrize(
    ("options", "scale", "groups"),
    [({}, 1 / math.sqrt(COLUMNS), 1), ({"scale": 0.2}, 0.2, 1), ({"enable_gqa": True}, 1 / math.sqrt(3), 2)],
)
def test_attention_of_tokens_in_a_ball(options: dict, scale: float, groups: int) -> None:
    """√n of the values, and R² times the scale of the queries, √n of that of the keys; shared by groups."""

    def attend(x: Tensor) -> Tensor:
        if groups == 1:
            return F.scaled_dot_product_attention(x, x, x, **options)
        heads = x.reshape(-1, ROWS, 2, 3).transpose(1, 2)  # two heads of queries for one of keys and values
        return F.scaled_dot_product_attention(heads, heads[:, :1], heads[:, :1], **options)

    of_values, of_keys = math.sqrt(ROWS * groups), math.sqrt(ROWS * groups)
    expected = of_values + scale * R**2 + scale * R**2 * of_keys
    assert bound(Of(attend)) == pytest.approx(expected, rel=3e-4)


def test_batch_norm_moves_by_what_is_left_of_the_bias_before_it() -> None:
    """s (Wx + b - mean) + β: one layer of slope ‖sW‖, whose entries are moved by s (b - mean) + β."""
    norm = nn.BatchNorm1d(5, eps=0.0).eval()
    scale, mean, shift = (torch.tensor(v) for v in (
        [0.5, -2.0, 1.0, 0.1, 1.5], [0.1, 0.4, -0.3, 0.0, 0.2], [0.2, 0.1, -0.7, 0.0, 0.3]
    ))  # fmt: skip
    norm.load_state_dict({**norm.state_dict(), "weight": scale, "bias": shift, "running_mean": mean})
    slope = float(torch.linalg.matrix_norm((scale[:, None] * WEIGHT).double(), 2))
    entry = R * slope + float((scale * (BIAS - mean) + shift).abs().max())
    found = bound(Of(lambda y: y * y, nn.Sequential(affine(), norm)).eval(), (6,))
    assert found == pytest.approx(2 * slope * entry, rel=3e-4)


def test_a_norm_has_the_length_of_its_gain_and_the_slope_of_its_epsilon() -> None:
    layer = nn.LayerNorm(6, eps=0.01)
    gain, shift = torch.tensor([0.5, -2.0, 1.0, 0.1, 0.3, 1.5]), torch.tensor([0.2, 0.1, -0.7, 0.0, 0.3, 0.4])
    layer.load_state_dict({"weight": gain, "bias": shift})
    slope, entry = 2.0 / math.sqrt(0.01), 2.0 * math.sqrt(COLUMNS) + 0.7
    found = measure.norms(Of(lambda y: y * y, nn.Sequential(plain(), layer)), SHAPE)
    assert found["spectral"] == pytest.approx(2 * slope * entry, rel=3e-4)
    rows = math.sqrt(ROWS) * (2.0 * math.sqrt(COLUMNS) + float(shift.norm()))
    found = measure.norms(Of(lambda y: y @ y.mT, nn.Sequential(plain(), layer)), SHAPE)
    assert found["spectral"] == pytest.approx(2 * slope * rows, rel=3e-4)


def test_a_spread_has_the_slope_of_its_degrees_of_freedom() -> None:
    found = measure.norms(Of(lambda x: x.std(2)), SHAPE)["spectral"]
    assert found == pytest.approx(1 / math.sqrt(COLUMNS - 1), rel=3e-4)


def test_a_quotient_by_a_mask_has_no_bounded_slope() -> None:
    product, quotient = Of(lambda x: x * (x > 0).float()), Of(lambda x: x / (x > 0).float())
    assert measure.norms(product, SHAPE)["spectral"] == pytest.approx(1, rel=3e-4)
    assert math.isnan(measure.norms(quotient, SHAPE)["spectral"])


def test_a_token_of_attention_is_moved_by_the_biases_of_values_and_outputs() -> None:
    layer = nn.MultiheadAttention(6, 2, batch_first=True)
    with torch.no_grad():
        for block, size in zip(layer.in_proj_weight.chunk(3), (0.1, 0.2, 2.0), strict=True):
            block.copy_(size * torch.eye(6))
        layer.out_proj.weight.copy_(0.5 * torch.eye(6))
        layer.in_proj_bias.copy_(torch.linspace(-0.5, 0.6, 18))
        layer.out_proj.bias.copy_(torch.linspace(0.1, 0.9, 6))
    of_values, of_outputs = (float(b.detach().norm()) for b in (layer.in_proj_bias[12:], layer.out_proj.bias))
    token = math.sqrt(2) * 0.5 * (2.0 * R + of_values) + of_outputs
    slope, of_square = (bound(Attending(layer, power)) for power in (1, 2))
    assert of_square == pytest.approx(2 * slope * token, rel=3e-4)


class Attending(nn.Module):
    """A power of the entries of a layer's attention to itself."""

    def __init__(self, layer: nn.Module, power: int) -> None:
        super().__init__()
        self.layer, self.power = layer, power

    def forward(self, x: Tensor) -> Tensor:
        y = self.layer(x, x, x, need_weights=False)[0]
        return y * y if self.power == 2 else y
