"""The layers that every network family is made of.

A dense or convolutional layer computes (park2019 eqs. 7 and 10)

    z = multiplier · (W y) + bias_multiplier · b

with both multipliers 1 in the standard scheme, 1/√n in the NTK scheme and 1/(relative width) for the
readout in the maximal-update scheme. All layers are plain modules without in-place operations, so a
network runs under ``torch.func.functional_call``, ``torch.vmap`` (``randomness="different"`` where there
is dropout), ``torch.compile`` and CUDA graphs.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Dense(nn.Linear):
    """A dense layer with the multipliers of its parameterization."""

    multiplier: float = 1.0
    bias_multiplier: float = 1.0
    gain: float = 2.0  # σ0², the variance of its critical initialisation times the fan-in

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer to the last axis of `input`."""
        if self.bias is None or self.multiplier == self.bias_multiplier:
            return scaled(F.linear(input, self.weight, self.bias), self.multiplier)
        return scaled(F.linear(input, self.weight), self.multiplier) + self.bias_multiplier * self.bias


class Conv(nn.Conv2d):
    """A convolution with the multipliers of its parameterization."""

    multiplier: float = 1.0
    bias_multiplier: float = 1.0
    gain: float = 2.0  # σ0², the variance of its critical initialisation times the fan-in

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer to images of shape (n, channels, height, width)."""
        if self.bias is None or self.multiplier == self.bias_multiplier:
            return scaled(self._conv_forward(input, self.weight, self.bias), self.multiplier)
        bias = (self.bias_multiplier * self.bias)[:, None, None]
        return scaled(self._conv_forward(input, self.weight, None), self.multiplier) + bias


class GlobalAvgPool(nn.AdaptiveAvgPool2d):
    """The mean over all pixels, (n, channels, 1, 1)."""

    def __init__(self) -> None:
        super().__init__(1)

    def forward(self, input: Tensor) -> Tensor:
        """Average images of shape (n, channels, height, width)."""
        # with channels last in memory PyTorch's own has no rule for `vmap`: it loops over a stack, and warns
        return super().forward(input.contiguous())


class Erf(nn.Module):
    """The error function, a smooth activation."""

    def forward(self, input: Tensor) -> Tensor:
        """erf of every unit."""
        return torch.erf(input)


class BatchNorm(nn.BatchNorm2d):
    """Batch normalisation that works under ``vmap`` and ``grad``.

    PyTorch's own layer writes its running statistics in place, which function transforms forbid. This
    one *assigns* the new statistics. ``functional_call`` hands assigned buffers back in the dictionary
    that it was given, so a functional training step reads them there::

        state = {**parameters, **buffers}
        logits = functional_call(model, state, (x,))
        new_buffers = {name: state[name] for name in buffers}

    Used as a plain module it behaves as ``nn.BatchNorm2d`` (and accepts (n, channels) too).
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalise each channel, by the batch in training and by the running statistics otherwise."""
        if not self.training:
            # not F.batch_norm, which asks for the layout in memory and so fails in a stack on a GPU
            return torch.native_batch_norm(
                input, self.weight, self.bias, self.running_mean, self.running_var, False, 0.0, self.eps
            )[0]
        out, mean, inverse_std = torch.native_batch_norm(
            input, self.weight, self.bias, None, None, True, 0.0, self.eps
        )
        count = input.numel() // input.shape[1]
        variance = (inverse_std.detach().pow(-2) - self.eps) * (count / max(count - 1, 1))
        keep = 1.0 - (self.momentum or 0.0)
        assert self.running_mean is not None
        assert self.running_var is not None
        self.running_mean = keep * self.running_mean + (1 - keep) * mean.detach().to(self.running_mean.dtype)
        self.running_var = keep * self.running_var + (1 - keep) * variance.to(self.running_var.dtype)
        return out


class Attention(nn.Module):
    """Multi-head self-attention: softmax(q kᵀ · scale) v, then the output projection.

    The attributes `query`, `key`, `value`, `output`, `heads` and `scale` are what norms are read from. With
    `causal` a token sees itself and those before it.
    """

    def __init__(self, dim: int, heads: int, dropout: float = 0.0, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.scale = 1.0 / math.sqrt(dim // heads)
        self.query, self.key, self.value = Dense(dim, dim), Dense(dim, dim), Dense(dim, dim)
        self.output = Dense(dim, dim)
        self.dropout = nn.Dropout(dropout)  # of the pattern

    def forward(self, tokens: Tensor) -> Tensor:
        """Mix tokens of shape (n, tokens, dim)."""
        split = (*tokens.shape[:-1], self.heads, tokens.shape[-1] // self.heads)
        query, key, value = (
            projection(tokens).reshape(split).transpose(-3, -2)
            for projection in (self.query, self.key, self.value)
        )
        # written out: images make few tokens, and the fused kernels know neither vmap nor forward mode
        scores = self.scale * (query @ key.mT)
        if self.causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        pattern = scores.softmax(-1)
        mixed = self.dropout(pattern) @ value
        return self.output(mixed.transpose(-3, -2).reshape(tokens.shape))


def scaled(x: Tensor, factor: float) -> Tensor:
    """A multiple, which costs nothing where the factor is 1."""
    return x if factor == 1.0 else factor * x
