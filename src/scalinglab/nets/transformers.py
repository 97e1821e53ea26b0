"""Transformers: the vision transformer of damico2025 (Dosovitskiy et al. 2021), and a small language model.

Both are pre-norm. The vision transformer reads a class token; the language model predicts, at every position
of a text, the token that comes next from those up to there (Radford et al. 2019).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scalinglab.errors import BadInput
from scalinglab.nets.convnets import image_sides
from scalinglab.nets.layers import Attention, Conv, Dense


class Tokens(nn.Module):
    """Patches, each mapped to a token; a class token before them; a learned position added to each."""

    def __init__(self, channels: int, patches: int, patch: int, dim: int) -> None:
        super().__init__()
        self.patches = Conv(channels, dim, patch, stride=patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.positions = nn.Parameter(torch.zeros(1, 1 + patches, dim))

    def forward(self, x: Tensor) -> Tensor:
        """Images (n, channels, height, width) to tokens (n, 1 + patches, dim)."""
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        first = self.class_token.expand(tokens.shape[0], -1, -1)
        return torch.cat((first, tokens), dim=1) + self.positions


class Block(nn.Module):
    """x + attention(norm x), then x + mlp(norm x)."""

    def __init__(self, dim: int, heads: int, expansion: int, dropout: float, causal: bool = False) -> None:
        super().__init__()
        drop = [nn.Dropout(dropout)] if dropout else []
        self.norm_attention = nn.LayerNorm(dim)
        self.attention = Attention(dim, heads, dropout, causal)
        self.norm_mlp = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(
            Dense(dim, expansion * dim), nn.GELU(), *drop, Dense(expansion * dim, dim), *drop
        )

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens to tokens."""
        tokens = tokens + self.attention(self.norm_attention(tokens))
        return tokens + self.mlp(self.norm_mlp(tokens))


class ClassToken(nn.Module):
    """The first token."""

    def forward(self, tokens: Tensor) -> Tensor:
        """(n, tokens, dim) to (n, dim)."""
        return tokens[:, 0]


def vit(
    input_shape: tuple[int, ...],
    n_classes: int,
    width: float,
    depth: int | None,
    batch_norm: bool | None,
    *,
    patch: int | None = None,
    dim: int | None = None,
    heads: int | None = None,
    expansion: int = 4,
    dropout: float = 0.0,
) -> nn.Module:
    """A vision transformer.

    What is left out is taken from damico2025: one-channel images (MNIST) patch 7, dim 128, depth 4,
    heads 4; others patch 4, depth 6, and dim 192, heads 3 (CIFAR-10), or dim 256, heads 4 from 100
    classes on (CIFAR-100).

    Args:
        width: Factor on `dim`; the number of heads stays.
        depth: Blocks.
        batch_norm: A transformer has none; leave it out.
        patch: Side of a patch, a divisor of height and width.
        dim: Length of a token at width 1.
        heads: Attention heads, a divisor of the token length.
        expansion: Hidden units of a block's mlp, in token lengths.
        dropout: Probability, in attention and mlp.
    """
    if batch_norm:
        raise BadInput("a vit has layer norm, no batch norm: leave batch_norm out")
    channels, height, breadth = image_sides("vit", input_shape)
    own = (7, 128, 4, 4) if channels == 1 else (4, 192, 6, 3) if n_classes < 100 else (4, 256, 6, 4)
    patch, dim, heads = patch or own[0], dim or own[1], heads or own[3]
    depth = depth or own[2]
    if height % patch or breadth % patch:
        raise BadInput(
            f"patch = {patch} does not divide images of {height}×{breadth}: give a patch that does"
        )
    length = max(1, round(dim * width / heads)) * heads  # heads have equal parts of a token
    layers: list[nn.Module] = [Tokens(channels, height * breadth // patch**2, patch, length)]
    layers += [Block(length, heads, expansion, dropout) for _ in range(depth)]
    layers += [nn.LayerNorm(length), ClassToken()]
    _set_gains(layers)
    return nn.Sequential(*layers, Dense(length, n_classes))


def _set_gains(layers: list[nn.Module]) -> None:
    """Let critical initialisation keep the variance: 2 around a rectifier, 1 for a linear map."""
    for module in (m for layer in layers for m in layer.modules()):
        if isinstance(module, (Conv, Dense)):
            module.gain = 1.0
    for layer in layers:
        if isinstance(layer, Block):
            layer.mlp[0].gain = layer.mlp[-1].gain = 2.0  # type: ignore[union-attr,assignment]


class Embedding(nn.Module):
    """A vector for each token, and one for each position added to it."""

    def __init__(self, vocabulary: int, context: int, dim: int) -> None:
        super().__init__()
        self.token_embedding = nn.Parameter(torch.zeros(vocabulary, dim))
        self.position_embedding = nn.Parameter(torch.zeros(context, dim))

    def forward(self, x: Tensor) -> Tensor:
        """Token numbers (n, context), of any type, to vectors (n, context, dim)."""
        return F.embedding(x.long(), self.token_embedding) + self.position_embedding


def decoder(
    input_shape: tuple[int, ...],
    n_classes: int,
    width: float,
    depth: int | None,
    batch_norm: bool | None,
    *,
    dim: int = 64,
    heads: int = 4,
    expansion: int = 4,
    dropout: float = 0.0,
) -> nn.Module:
    """A decoder language model: logits (n, context, n_classes) of the next token at every position.

    Args:
        input_shape: (context,), tokens that it sees.
        n_classes: Size of the vocabulary.
        width: Factor on `dim`; the number of heads stays.
        depth: Blocks (2).
        batch_norm: It has layer norm; leave it out.
        dim: Length of a token's vector at width 1.
        heads: Attention heads.
        expansion: Hidden units of a block's mlp, in lengths of a vector.
        dropout: Probability, in attention and mlp.
    """
    if batch_norm:
        raise BadInput("a decoder has layer norm, no batch norm: leave batch_norm out")
    if len(input_shape) != 1:
        raise BadInput(
            f"a decoder takes rows of tokens, input_shape = (context,), not {input_shape}: use "
            "dataset = 'text'"
        )
    length = max(1, round(dim * width / heads)) * heads
    layers: list[nn.Module] = [Embedding(n_classes, input_shape[0], length)]
    layers += [Block(length, heads, expansion, dropout, causal=True) for _ in range(depth or 2)]
    layers.append(nn.LayerNorm(length))
    _set_gains(layers)
    return nn.Sequential(*layers, Dense(length, n_classes))
