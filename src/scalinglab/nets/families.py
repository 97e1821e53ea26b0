"""`build`: a network by the name of its family, at any width and in any parameterization.

Multi-layer perceptrons, the dLP_w of park2019 (section 3.3 and appendix I).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import torch
from torch import nn

from scalinglab.errors import BadInput, is_whole, nearest
from scalinglab.nets import convnets, resnets, transformers
from scalinglab.nets.layers import BatchNorm, Dense, Erf
from scalinglab.nets.parameterization import Network, initialize, parameterize, scale_draws
from scalinglab.sgd_noise import MLP_UNITS
from scalinglab.support.validation import checked

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


FAMILIES: dict[str, Callable[..., nn.Module]] = {
    "mlp": mlp,
    "lenet": convnets.lenet,
    "cnn": convnets.cnn,
    "myrtle": convnets.myrtle,
    "resnet": resnets.resnet,
    "wide_resnet": resnets.wide_resnet,
    "vit": transformers.vit,
    "decoder": transformers.decoder,
}
# the width that `mup` starts from, where it coincides with `standard`; 1 for the other families
BASE_WIDTH = {"lenet": 2.0, "wide_resnet": 2.0}


@checked
def build(
    name: str,
    input_shape: tuple[int, ...],
    n_classes: int,
    width: float = 1.0,
    depth: int | None = None,
    parameterization: str = "standard",
    batch_norm: bool | None = None,
    initialization: str = "critical",
    initialization_factor: float = 1.0,
    seed: int | None = None,
    **options: Any,
) -> Network:
    """Build a network.

    Args:
        name: A family: "mlp", "lenet", "cnn", "myrtle", "resnet", "wide_resnet", "vit", "decoder".
        input_shape: Shape of one input, (channels, height, width) for images, (context,) for a decoder.
        n_classes: Number of logits.
        width: Widening factor. It multiplies every hidden layer of the family's base; for "lenet" the
            factor is width/2 and for "wide_resnet" it is the k of d-k, as in park2019.
        depth: Hidden layers of an mlp, d of a wide resnet, blocks of a transformer; None: the family's own.
        parameterization: "standard", "ntk" or "mup" (see `scalinglab.nets.parameterization`).
        batch_norm: None takes the family's own: with it for residual networks, without for the others.
        initialization: "critical" (park2019: Gaussian, σ0² = 2), "torch" (PyTorch's default) or
            "customary" (per family: PyTorch's for cnn, He et al.'s for resnet, truncated Gaussians for vit).
        initialization_factor: Factor on the initial weights of convolutions and dense layers, not on biases,
            gains and embeddings.
        seed: Seed of the initial weights; None uses PyTorch's global generator.
        options: What only this family takes, e.g. `shape` (mlp), `channels` (cnn), `dropout`.

    Returns:
        A module that maps (n, *input_shape) to logits (n, n_classes); a decoder to (n, context, n_classes).
    """
    if name not in FAMILIES:
        raise BadInput(f"unknown network {name!r}: {nearest(name, FAMILIES)}")
    family = FAMILIES[name]
    if not isinstance(input_shape, Sequence) or not input_shape or not all(map(_is_count, input_shape)):
        raise BadInput(
            f"input_shape = {input_shape}: give the shape of one input, e.g. (3, 32, 32) or (784,)"
        )
    shape = tuple(int(side) for side in input_shape)
    if not _is_count(n_classes):
        raise BadInput(
            f"n_classes = {n_classes}: a network needs at least one output, a whole number of them"
        )
    if not isinstance(width, Real) or not 0 < width < math.inf:
        raise BadInput(f"width = {width}: the widening factor must be a positive number")
    if not isinstance(initialization_factor, Real) or not 0 < initialization_factor < math.inf:
        raise BadInput(f"initialization_factor = {initialization_factor}: give a positive number")
    if depth is not None and not _is_count(depth):
        raise BadInput(f"depth = {depth}: give a positive number of layers, or leave it out")
    if name == "mlp" and "hidden" not in options and width > 64:
        raise BadInput(
            f"width = {width:g} is a factor on the {MLP_UNITS} hidden units of an mlp, "
            f"{round(MLP_UNITS * width)} units: for {width:g} units write hidden={round(width)}; if the "
            f"factor is meant, add hidden={MLP_UNITS}"
        )
    known = [p.name for p in inspect.signature(family).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            raise BadInput(f"{name} takes no option {option!r}: {nearest(option, known)}")
        _check_option(option, options[option])
    model = Network(family(shape, n_classes, width, depth, batch_norm, **options), shape)
    with torch.device("meta"):
        base_width = BASE_WIDTH.get(name, 1.0)
        base = Network(family(shape, n_classes, base_width, depth, batch_norm, **options), shape)
    parameterize(model, base, parameterization, initialization, name)
    scale_draws(model, float(initialization_factor))
    return initialize(model, seed)


def _is_count(value: Any) -> bool:
    return is_whole(value) and bool(value >= 1)


def _check_option(name: str, value: Any) -> None:
    """The options of all families are counts, fractions or words."""
    if value is None:
        return
    if name == "dropout" and not (isinstance(value, Real) and 0 <= float(value) < 1):
        raise BadInput(f"dropout = {value}: a probability, from 0 to less than 1")
    if name in ("hidden", "patch", "dim", "heads", "expansion") and not _is_count(value):
        raise BadInput(f"{name} = {value}: give a positive whole number")
    several = ("stages", "channels", "pool_after", "dense")
    if name in several and isinstance(value, (list, tuple)) and not all(map(_is_count, value)):
        raise BadInput(f"{name} = {value}: give positive whole numbers")
    if name == "stages" and not (isinstance(value, (list, tuple)) and value):
        raise BadInput(f"stages = {value}: give the blocks of each stage, e.g. (2, 2, 2, 2)")
