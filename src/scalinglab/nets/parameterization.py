"""How weights are drawn and scaled with width: standard, NTK and maximal update.

With n the fan-in of a layer (channels × kernel area for a convolution), σ0² = 2, and r the width of a
layer relative to the same layer at the family's base width (1; 2 for lenet and wide_resnet):

| scheme | multiplier | bias multiplier | weight variance | learning rate, SGD | learning rate, Adam |
| --- | --- | --- | --- | --- | --- |
| standard (park2019 eqs. 7, 8) | 1 | 1 | σ0²/n | 1 | 1 |
| ntk (park2019 eqs. 10, 11) | 1/√n | 1/√n | σ0² | 1 | 1 |
| mup, first layer and vectors | 1 | 1 | σ0²/n | r_out | 1 |
| mup, hidden layers | 1 | 1 | σ0²/n | 1 | 1/r_in |
| mup, readout | 1/r_in | 1 | σ0² r_in/n | r_in | 1 |

Biases start at zero. `mup` is table 8 of Yang et al., "Tensor Programs V" (2022); at the base width
it coincides with `standard`; its learning rates come from `learning_rate_scales`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from scalinglab.errors import BadInput, nearest
from scalinglab.nets.layers import Attention, Conv, Dense
from scalinglab.support.validation import checked

SCHEMES = ("standard", "ntk", "mup")
INITIALIZATIONS = ("critical", "torch", "customary")


@dataclass(frozen=True)
class Draw:
    """How one parameter is drawn: a distribution and its standard deviation (or bound, or value)."""

    kind: str  # "normal", "uniform" (± size), "truncated" (normal, cut at ± 2), "constant"
    size: float

    def fill(self, tensor: Tensor, generator: torch.Generator | None) -> None:
        """Draw `tensor` in place."""
        if self.kind == "normal":
            nn.init.normal_(tensor, 0.0, self.size, generator=generator)
        elif self.kind == "uniform":
            nn.init.uniform_(tensor, -self.size, self.size, generator=generator)
        elif self.kind == "truncated":
            nn.init.trunc_normal_(tensor, std=self.size, generator=generator)
        else:
            nn.init.constant_(tensor, self.size)


class Network(nn.Module):
    """A network that knows how its parameters are drawn and how its learning rates scale.

    Attributes:
        body: The layers.
        draws: For each parameter, how it is drawn.
        rate_scales: For each parameter, the factor on the learning rate for SGD and for Adam.
        input_shape: Shape of one input.
    """

    def __init__(self, body: nn.Module, input_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.body = body
        self.input_shape = input_shape
        self.draws: dict[str, Draw] = {}
        self.rate_scales: dict[str, tuple[float, float]] = {}

    def forward(self, x: Tensor) -> Tensor:
        """Logits of shape (n, classes)."""
        return self.body(x)


def parameterize(model: Network, base: Network, scheme: str, initialization: str, family: str) -> None:
    """Set multipliers, draws and learning-rate scales of `model`, whose form at the base width is `base`."""
    if scheme not in SCHEMES:
        raise BadInput(f"unknown parameterization {scheme!r}: {nearest(scheme, SCHEMES)}")
    if initialization not in INITIALIZATIONS:
        raise BadInput(
            f"unknown initialization {initialization!r}: {nearest(initialization, INITIALIZATIONS)}"
        )
    if initialization != "critical" and scheme != "standard":
        raise BadInput(
            f"initialization {initialization!r} fixes its own scales and goes with "
            f"parameterization='standard' only, not {scheme!r}"
        )
    last = [name for name, module in model.named_modules() if isinstance(module, (Dense, Conv))][-1]
    bases = dict(base.named_modules())
    shapes = {name: parameter.shape for name, parameter in base.named_parameters()}
    for name, module in model.named_modules():
        if isinstance(module, (Dense, Conv)):
            _layer(model, name, module, bases[name], scheme, initialization, family, name == last)
        elif isinstance(module, Attention) and scheme == "mup":
            # tensor programs V: logits over the head dimension, equal to 1/√ of it at the base width
            module.scale *= math.sqrt(bases[name].query.in_features / module.query.in_features)  # type: ignore[union-attr,arg-type]
    for name, parameter in model.named_parameters():
        if name not in model.draws:  # gains, shifts, embeddings
            ratio = parameter.shape[-1] / shapes[name][-1]
            model.rate_scales[name] = (ratio if scheme == "mup" else 1.0, 1.0)
            model.draws[name] = _vector(name, initialization)


def _layer(
    model: Network,
    name: str,
    layer: Dense | Conv,
    base: nn.Module,
    scheme: str,
    initialization: str,
    family: str,
    is_last: bool,
) -> None:
    fan_in, fan_out = _fans(layer)
    base_in, base_out = _fans(base)  # type: ignore[arg-type]
    ratio_in, ratio_out = fan_in / base_in, fan_out / base_out
    variance, multiplier, bias_multiplier = layer.gain / fan_in, 1.0, 1.0
    rates, bias_rates = (1.0, 1.0), (1.0, 1.0)
    if scheme == "ntk":
        multiplier = bias_multiplier = 1 / math.sqrt(fan_in)
        variance *= fan_in
    elif scheme == "mup":
        bias_rates = (ratio_out, 1.0)
        if is_last:
            multiplier, variance, rates = 1 / ratio_in, variance * ratio_in, (ratio_in, 1.0)
        elif ratio_in == 1.0:
            rates = (ratio_out, 1.0)
        else:
            rates = (1.0, 1.0 / ratio_in)
    layer.multiplier, layer.bias_multiplier = multiplier, bias_multiplier
    weight, bias = Draw("normal", math.sqrt(variance)), Draw("constant", 0.0)
    if initialization == "torch" or (initialization == "customary" and family == "cnn"):
        weight = bias = Draw("uniform", 1 / math.sqrt(fan_in))
    elif initialization == "customary" and family == "resnet":
        weight = Draw("normal", 0.01 if is_last else math.sqrt(2 / _fans(layer, back=True)[0]))
    elif initialization == "customary" and family == "vit":
        weight = Draw("truncated", 0.02)
        if name.rsplit(".", 1)[-1] in ("query", "key", "value"):  # one Xavier matrix (3 dim × dim)
            weight = Draw("uniform", math.sqrt(6 / (4 * fan_in)))
    model.draws[f"{name}.weight"], model.rate_scales[f"{name}.weight"] = weight, rates
    if layer.bias is not None:
        model.draws[f"{name}.bias"], model.rate_scales[f"{name}.bias"] = bias, bias_rates


def scale_draws(model: Network, factor: float) -> None:
    """Multiply the initial weights of convolutions and dense layers by a factor."""
    for name, module in model.named_modules():
        if isinstance(module, (Dense, Conv)):
            drawn = model.draws[f"{name}.weight"]
            model.draws[f"{name}.weight"] = Draw(drawn.kind, factor * drawn.size)


def _fans(layer: Dense | Conv, back: bool = False) -> tuple[int, int]:
    """Inputs to one unit and the number of units; `back`: inputs to one unit of the backward pass."""
    weight = layer.weight
    area = math.prod(weight.shape[2:])
    if back:
        return weight.shape[0] * area, weight.shape[1]
    return weight.shape[1] * area, weight.shape[0]


def _vector(name: str, initialization: str) -> Draw:
    if name.endswith(("class_token", "embedding")) and initialization == "critical":
        # as large as the tokens of patches: layer norm would blow up the gradients of a small one
        return Draw("normal", 1.0)
    if name.endswith(("class_token", "positions", "embedding")):
        return Draw("truncated", 0.02)
    return Draw("constant", 1.0 if name.endswith("weight") else 0.0)


@checked
def initialize(model: Network, seed: int | None = None) -> Network:
    """Draw all parameters anew, in place; the same seed gives the same network.

    One without numbers (device "meta") is left alone: PyTorch would load its compiler to draw them.

    Args:
        model: A network from `build`.
        seed: Seed of the draw; None uses PyTorch's global generator.
    """
    if any(parameter.is_meta for parameter in model.parameters()):
        return model
    drawn = draw(model, seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(drawn[name])
        for module in model.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.reset_running_stats()
    return model


def draw(model: Network, seed: int | None = None) -> dict[str, Tensor]:
    """Initial values of all parameters by name, in the host's memory; the network stays as it is.

    The draw does not depend on the device or on what the parameters are now, so one network serves to draw
    the initial weights of many runs.
    """
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    drawn = {}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn[name] = torch.empty(parameter.shape, dtype=parameter.dtype)
            model.draws[name].fill(drawn[name], generator)
    return drawn


@checked
def learning_rate_scales(model: Network, optimizer: str) -> dict[str, float]:
    """The factor on the learning rate of each parameter: 1 unless the parameterization is `mup`.

    Args:
        model: A network from `build`.
        optimizer: "sgd" or "nesterov" (updates linear in the gradient), "adam" or "adamw".
    """
    known = {"sgd": 0, "nesterov": 0, "adam": 1, "adamw": 1}
    if optimizer not in known:
        raise BadInput(f"unknown optimizer {optimizer!r}: {nearest(optimizer, known)}")
    return {name: scales[known[optimizer]] for name, scales in model.rate_scales.items()}
