"""Multi-layer perceptrons, the dLP_w of park2019 (section 3.3 and appendix I)."""

from __future__ import annotations

import math

from torch import nn

from scalinglab.errors import BadInput, nearest
from scalinglab.nets.layers import BatchNorm, Dense, Erf
from scalinglab.sgd_noise import MLP_UNITS

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "erf": Erf}
SHAPES = {"uniform": (1, 1, 1), "bottom_heavy": (4, 2, 1), "top_heavy": (1, 4, 4)}  # eq. 18


def mlp(
    input_shape: tuple[int, ...],
    n_classes: int,
    width: float,
    depth: int | None,
    batch_norm: bool | None,
    *,
    hidden: int = MLP_UNITS,
    shape: str = "uniform",
    dropout: float = 0.0,
    activation: str = "relu",
) -> nn.Module:
    """Hidden layers of ReLU (or erf) units.

    Args:
        input_shape: Shape of one input; it is flattened.
        n_classes: Number of logits.
        width: Factor on `hidden`.
        depth: Hidden layers (2; 3 for the heavy shapes).
        batch_norm: Normalise pre-activations (no biases then).
        hidden: Units of a hidden layer at width 1.
        shape: "uniform", or the three-layer shapes "bottom_heavy" [4w, 2w, w] and "top_heavy"
            [w, 4w, 4w].
        dropout: Probability, before every layer but the first.
        activation: "relu", or "erf" (bahri2021 figure 1).
    """
    if activation not in ACTIVATIONS:
        raise BadInput(f"unknown activation {activation!r} of an mlp: {nearest(activation, ACTIVATIONS)}")
    active = ACTIVATIONS[activation]
    if shape not in SHAPES:
        raise BadInput(f"unknown shape {shape!r} of an mlp: {nearest(shape, SHAPES)}")
    if shape != "uniform" and depth not in (None, 3):
        raise BadInput(f"an mlp of shape {shape!r} has 3 hidden layers, not {depth}: leave depth out")
    n_hidden = depth if depth is not None else (2 if shape == "uniform" else 3)
    factors = (1,) * n_hidden if shape == "uniform" else SHAPES[shape]
    layers: list[nn.Module] = [nn.Flatten()]
    n_in = math.prod(input_shape)
    for position, factor in enumerate(factors):
        n_out = max(1, round(hidden * width)) * factor
        if dropout and position:
            layers.append(nn.Dropout(dropout))
        layers.append(Dense(n_in, n_out, bias=not batch_norm))
        layers += [BatchNorm(n_out), active()] if batch_norm else [active()]
        n_in = n_out
    if dropout and factors:
        layers.append(nn.Dropout(dropout))
    return nn.Sequential(*layers, Dense(n_in, n_classes))
