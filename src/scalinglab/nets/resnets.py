"""Residual networks: those of damico2025 (He et al. 2016) and wide ones (Zagoruyko & Komodakis 2016)."""

from __future__ import annotations

from torch import Tensor, nn

from scalinglab.errors import BadInput
from scalinglab.nets.convnets import image_sides
from scalinglab.nets.layers import BatchNorm, Conv, Dense, GlobalAvgPool


class BasicBlock(nn.Module):
    """relu(F(x) + shortcut(x)), F = two 3×3 convolutions, each normalised (He et al. 2016)."""

    def __init__(
        self, n_in: int, n_out: int, stride: int, batch_norm: bool, dropout: float, momentum: float
    ) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            Conv(n_in, n_out, 3, stride, 1, bias=not batch_norm),
            *_norm(n_out, batch_norm, momentum),
            nn.ReLU(),
            *([nn.Dropout(dropout)] if dropout else []),
            Conv(n_out, n_out, 3, 1, 1, bias=not batch_norm),
            *_norm(n_out, batch_norm, momentum),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or n_in != n_out:
            self.shortcut = nn.Sequential(
                Conv(n_in, n_out, 1, stride, bias=not batch_norm), *_norm(n_out, batch_norm, momentum)
            )
        self.activation = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        """Images to images."""
        return self.activation(self.branch(x) + self.shortcut(x))


class WideBlock(nn.Module):
    """F(a) + shortcut, a = relu(norm(x)): the pre-activation block of Zagoruyko & Komodakis (2016)."""

    def __init__(self, n_in: int, n_out: int, stride: int, batch_norm: bool, dropout: float) -> None:
        super().__init__()
        self.before = nn.Sequential(*_norm(n_in, batch_norm), nn.ReLU())
        self.branch = nn.Sequential(
            Conv(n_in, n_out, 3, stride, 1, bias=not batch_norm),
            *_norm(n_out, batch_norm),
            nn.ReLU(),
            *([nn.Dropout(dropout)] if dropout else []),
            Conv(n_out, n_out, 3, 1, 1, bias=not batch_norm),
        )
        # where shapes change, the shortcut starts after the activation
        self.projection = (
            Conv(n_in, n_out, 1, stride, bias=not batch_norm) if stride != 1 or n_in != n_out else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """Images to images."""
        active = self.before(x)
        shortcut = x if self.projection is None else self.projection(active)
        return self.branch(active) + shortcut


def resnet(
    input_shape: tuple[int, ...],
    n_classes: int,
    width: float,
    depth: int | None,
    batch_norm: bool | None,
    *,
    stages: tuple[int, ...] | None = None,
    channels: tuple[int, ...] | None = None,
    dropout: float = 0.0,
    norm_momentum: float = 0.1,
) -> nn.Module:
    """A 3×3 stem, stages of basic blocks (all but the first halve the image), mean over pixels, readout.

    Args:
        width: Factor on all channels.
        depth: 18 for stages (2, 2, 2, 2), 34 for (3, 4, 6, 3); None takes 34 for 100 classes or more.
        batch_norm: After every convolution (the default; no biases then).
        stages: Blocks in each stage, in place of `depth`.
        channels: Channels of each stage at width 1: (16, 32, 64, 128) for one-channel images, else
            (64, 128, 256, 512).
        dropout: Probability, inside the blocks.
        norm_momentum: Share of the latest batch in the running statistics of batch normalisation.
    """
    n_in, _, _ = image_sides("resnet", input_shape)
    known = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
    if stages is None:
        depth = (34 if n_classes >= 100 else 18) if depth is None else depth
        if depth not in known:
            raise BadInput(
                f"a resnet has depth 18 or 34, not {depth}: give the blocks of each stage as stages="
            )
        stages = known[depth]
    elif depth is not None:
        raise BadInput("give either depth or stages of a resnet, not both")
    if channels is None:
        channels = ((16, 32, 64, 128) if n_in == 1 else (64, 128, 256, 512))[: len(stages)]
    if len(channels) != len(stages):
        raise BadInput(f"channels = {channels} and stages = {stages} of a resnet must be equally long")
    norm = batch_norm is not False
    n_out = max(1, round(channels[0] * width))
    stem = Conv(n_in, n_out, 3, 1, 1, bias=not norm)
    layers: list[nn.Module] = [stem, *_norm(n_out, norm, norm_momentum), nn.ReLU()]
    n_in = n_out
    for stage, (blocks, base) in enumerate(zip(stages, channels, strict=True)):
        n_out = max(1, round(base * width))
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(BasicBlock(n_in, n_out, stride, norm, dropout, norm_momentum))
            n_in = n_out
    return nn.Sequential(*layers, GlobalAvgPool(), nn.Flatten(), Dense(n_in, n_classes))


def wide_resnet(
    input_shape: tuple[int, ...],
    n_classes: int,
    width: float,
    depth: int | None,
    batch_norm: bool | None,
    *,
    dropout: float = 0.0,
) -> nn.Module:
    """The wide residual network d-k: depth d = 6N + 4, width k; its first layer is not widened.

    Args:
        width: k, the factor on the 16, 32 and 64 channels of the three groups.
        depth: d; None takes 16 (N = 2, the WRN_w of park2019).
        batch_norm: Before every activation (the default; no biases in convolutions then).
        dropout: Probability, between the convolutions of a block.
    """
    depth = 16 if depth is None else depth
    if depth < 10 or (depth - 4) % 6:
        raise BadInput(f"a wide_resnet has depth 6N + 4 (10, 16, 22, 28, …), not {depth}")
    norm = batch_norm is not False
    channels, _, _ = image_sides("wide_resnet", input_shape)
    layers: list[nn.Module] = [Conv(channels, 16, 3, 1, 1, bias=not norm)]
    n_in = 16
    for group, base in enumerate((16, 32, 64)):
        n_out = max(1, round(base * width))
        for block in range((depth - 4) // 6):
            stride = 2 if group > 0 and block == 0 else 1
            layers.append(WideBlock(n_in, n_out, stride, norm, dropout))
            n_in = n_out
    layers += [*_norm(n_in, norm), nn.ReLU(), GlobalAvgPool(), nn.Flatten()]
    return nn.Sequential(*layers, Dense(n_in, n_classes))


def _norm(n: int, batch_norm: bool, momentum: float = 0.1) -> list[nn.Module]:
    return [BatchNorm(n, momentum=momentum)] if batch_norm else []
