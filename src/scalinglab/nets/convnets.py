"""Plain convolutional networks: LeNet-5 of park2019, a CNN (by default that of damico2025), Myrtle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from scalinglab.errors import BadInput
from scalinglab.nets.layers import BatchNorm, Conv, Dense


@dataclass(frozen=True)
class Form:
    """One form of the cnn: 3×3 convolutions, a max-pool 2 after some of them, dense layers."""

    channels: Sequence[int]
    pool_after: Sequence[int]  # counted from 1
    dense: Sequence[int]  # dense layers before the last
    dropout: float = 0.0
    padding: int = 1


# the CNNs of damico2025 on MNIST and CIFAR-10, and on CIFAR-100
FEW_CLASSES = Form((32, 64, 128), (2,), (512,))
MANY_CLASSES = Form((64, 128, 256, 512), (2, 4), (1024, 512), dropout=0.1)
MANY = 100  # classes
MYRTLE = {5: (2, 1, 1), 7: (2, 2, 2), 10: (3, 3, 3)}  # convolutions in each of the three stages


def lenet(
    input_shape: tuple[int, ...],
    n_classes: int,
    width: float,
    depth: int | None,
    batch_norm: bool | None,
    *,
    pool: str = "average",
    dropout: float = 0.0,
) -> nn.Module:
    """LeNet-5 with all channels and dense layers multiplied by width/2: width 2 is LeNet-5 itself.

    Args:
        input_shape: (channels, height, width); 28-pixel images are padded to 32 as in the original.
        width: The w of CNN_w in park2019.
        depth: Fixed by the architecture; leave it out.
        batch_norm: After every affine map but the last, before its ReLU (no biases then).
        pool: "average" (the original's subsampling) or "max".
        dropout: Probability, before the dense layers.
    """
    _no_depth("lenet", depth)
    if pool not in ("average", "max"):
        raise BadInput(f"unknown pool {pool!r} of a lenet: choose 'average' or 'max'")
    channels, height, breadth = image_sides("lenet", input_shape)
    first, second, third, fourth = (max(1, round(n * width / 2)) for n in (6, 16, 120, 84))
    padding = 2 if min(height, breadth) < 32 else 0
    sides = [((side + 2 * padding - 4) // 2 - 4) // 2 for side in (height, breadth)]
    if min(sides) < 1:
        raise BadInput(
            f"images of {height}×{breadth} pixels are too small for a lenet: give it 12×12 or more"
        )
    down = nn.AvgPool2d if pool == "average" else nn.MaxPool2d
    bias = not batch_norm
    drop = [nn.Dropout(dropout)] if dropout else []
    return nn.Sequential(
        Conv(channels, first, 5, padding=padding, bias=bias), *_activation(first, batch_norm), down(2),
        Conv(first, second, 5, bias=bias), *_activation(second, batch_norm), down(2),
        nn.Flatten(),
        Dense(second * sides[0] * sides[1], third, bias=bias), *_activation(third, batch_norm), *drop,
        Dense(third, fourth, bias=bias), *_activation(fourth, batch_norm), *drop,
        Dense(fourth, n_classes),
    )  # fmt: skip


def cnn(
    input_shape: tuple[int, ...],
    n_classes: int,
    width: float,
    depth: int | None,
    batch_norm: bool | None,
    *,
    channels: Sequence[int] | None = None,
    pool_after: Sequence[int] | None = None,
    dense: Sequence[int] | None = None,
    dropout: float | None = None,
    padding: int | None = None,
) -> nn.Module:
    """3×3 convolutions with ReLU and max-pooling, then dense layers.

    Args:
        width: Factor on all channels and hidden dense layers.
        depth: Fixed by the variant; leave it out.
        batch_norm: After every affine map but the last, before its ReLU (no biases then).
        channels: Of each convolution. This and the following: default by the number of classes
            (`FEW_CLASSES`, `MANY_CLASSES`).
        pool_after: The convolutions after which there is a max-pool, counted from 1.
        dense: Units of the dense layers before the last.
        dropout: Probability before the dense layers after the first.
        padding: Of the convolutions, in pixels.
    """
    _no_depth("cnn", depth)
    given: dict[str, Any] = {
        "channels": channels, "pool_after": pool_after, "dense": dense, "dropout": dropout,
        "padding": padding,
    }  # fmt: skip
    usual = MANY_CLASSES if n_classes >= MANY else FEW_CLASSES
    form = replace(usual, **{name: value for name, value in given.items() if value is not None})
    n_in, height, breadth = image_sides("cnn", input_shape)
    layers: list[nn.Module] = []
    for position, base in enumerate(form.channels, start=1):
        n_out = max(1, round(base * width))
        layers += [
            Conv(n_in, n_out, 3, padding=form.padding, bias=not batch_norm),
            *_activation(n_out, batch_norm),
        ]
        height, breadth = (side + 2 * form.padding - 2 for side in (height, breadth))
        if position in form.pool_after:
            layers.append(nn.MaxPool2d(2))
            height, breadth = height // 2, breadth // 2
        n_in = n_out
    if min(height, breadth) < 1:
        raise BadInput(f"images of {input_shape[1]}×{input_shape[2]} pixels are too small for this cnn")
    layers.append(nn.Flatten())
    n_in *= height * breadth
    for base in form.dense:
        n_out = max(1, round(base * width))
        layers += [Dense(n_in, n_out, bias=not batch_norm), *_activation(n_out, batch_norm)]
        layers += [nn.Dropout(form.dropout)] if form.dropout else []
        n_in = n_out
    return nn.Sequential(*layers, Dense(n_in, n_classes))


def myrtle(
    input_shape: tuple[int, ...],
    n_classes: int,
    width: float,
    depth: int | None,
    batch_norm: bool | None,
    *,
    channels: int = 8,
) -> nn.Module:
    """The Myrtle network (Shankar et al. 2020) that bahri2021 trains with 8 channels in figure 1.

    Args:
        input_shape: (channels, height, width), sides divisible by 8 and at least 8.
        width: Factor on `channels`.
        depth: 5, 7 or 10 layers with weights (5).
        batch_norm: After every convolution (no biases then).
        channels: Channels at width 1.
    """
    depth = 5 if depth is None else depth
    if depth not in MYRTLE:
        raise BadInput(f"a myrtle network has depth 5, 7 or 10, not {depth}")
    n_in, height, breadth = image_sides("myrtle", input_shape)
    if height % 8 or breadth % 8:
        raise BadInput(
            f"a myrtle network halves its images three times: {height}×{breadth} is not divisible by 8"
        )
    layers: list[nn.Module] = []
    n_out = max(1, round(channels * width))
    for repeats in MYRTLE[depth]:
        for _ in range(repeats):
            layers += [Conv(n_in, n_out, 3, padding=1, bias=not batch_norm), *_activation(n_out, batch_norm)]
            n_in = n_out
        layers.append(nn.AvgPool2d(2))
    layers += [nn.AvgPool2d((height // 8, breadth // 8)), nn.Flatten()]
    return nn.Sequential(*layers, Dense(n_in, n_classes))


def _activation(n: int, batch_norm: bool | None) -> list[nn.Module]:
    return [BatchNorm(n), nn.ReLU()] if batch_norm else [nn.ReLU()]


def image_sides(family: str, input_shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Channels, height and width of images, or `BadInput`."""
    if len(input_shape) != 3 or math.prod(input_shape) < 1:
        raise BadInput(f"a {family} takes images, input_shape = (channels, height, width), not {input_shape}")
    return input_shape[0], input_shape[1], input_shape[2]


def _no_depth(family: str, depth: int | None) -> None:
    if depth is not None:
        raise BadInput(f"the depth of a {family} is fixed: leave depth={depth} out")
