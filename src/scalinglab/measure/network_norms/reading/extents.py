"""Bounds on the size of activations for inputs in a ball.

An `Extent` bounds, over all inputs of the ball, the largest entry of a tensor, the largest ℓ2 length along
its last axis (of a token) and the ℓ2 length of everything that belongs to one example; in logarithms,
(replicas,).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from scalinglab.measure.network_norms.graph import Reading, Stack


class Extent(NamedTuple):
    """Logarithms of bounds on entries, on vectors of the last axis and on all of an example."""

    entry: Tensor
    token: Tensor
    length: Tensor


Norms = dict[str, Tensor]
ExtentOf = Callable[[Norms], Extent]


class Unbounded(Exception):
    """No bound on an activation is known; the text says why."""


def consistent(entry: Tensor, token: Tensor, length: Tensor, shape: Sequence[int], examples: int) -> Extent:
    """The three bounds, each made as small as the others allow; `shape` counts `examples` examples."""
    last, size = (shape[-1] if shape else 1), max(1.0, math.prod(shape) / examples)
    vectors = max(1.0, size / last)
    token = _least(token, length, entry + 0.5 * math.log(last))
    length = _least(length, token + 0.5 * math.log(vectors))
    return Extent(_least(entry, token), token, length)


def _least(*logs: Tensor) -> Tensor:
    smallest = logs[0]
    for log in logs[1:]:
        smallest = torch.minimum(smallest, log)
    return smallest


def log_sum(*logs: Tensor) -> Tensor:
    """log Σ exp, where all may be −∞ too."""
    total = logs[0]
    for log in logs[1:]:
        total = torch.logaddexp(total, log)
    return total


def log_of(number: float, like: Tensor) -> Tensor:
    """The logarithm of a number for every replica."""
    return torch.full_like(like.detach(), math.log(number) if number > 0 else -math.inf)


def moved(extent: Extent, log_factor: float = 0.0) -> Extent:
    """Everything times a number; entries may have moved, so that the last axis holds others."""
    length = extent.length + log_factor
    return Extent(extent.entry + log_factor, length, length)


def spread_over(extent: Extent, before: Sequence[int], after: Sequence[int], copies: float) -> Extent:
    """Broadcast from one shape to another, with so many copies of every number."""
    last, now = (before[-1] if before else 1), (after[-1] if after else 1)
    return Extent(
        extent.entry,
        extent.token + 0.5 * math.log(max(1.0, now / last)),
        extent.length + 0.5 * math.log(max(1.0, copies)),
    )


def added(first: Extent, second: Extent) -> Extent:
    """Of a sum."""
    return Extent(*(log_sum(a, b) for a, b in zip(first, second, strict=True)))


def sizes_of(value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The largest entry, the largest length along the last axis and the length of a tensor (replicas, …)."""
    flat = value.detach().abs().to(torch.float64).reshape(len(value), -1)
    tokens = value.detach().abs().to(torch.float64)
    tokens = tokens.reshape(len(value), -1, value.shape[-1] if value.ndim > 1 else 1)
    return (
        flat.amax(1),
        torch.linalg.vector_norm(tokens, dim=2).amax(1),
        torch.linalg.vector_norm(flat, dim=1),
    )


def reading(name: str, value: Reading, readings: dict[str, Reading]) -> ExtentOf:
    """The extent of what is computed from parameters alone, read off the device with the norms."""
    parts = ("entry", "token", "length")
    for place, part in enumerate(parts):
        readings[f"{name} {part}"] = _log_size(value, place)
    return lambda norms: Extent(*(norms[f"{name} {part}"] for part in parts))


def _log_size(value: Reading, place: int) -> Reading:
    def read(state: Stack) -> Tensor:
        return sizes_of(value(state))[place].log()

    return read


def movement(
    function: Callable[..., Any], arguments: Callable[[Any], tuple[Any, Any]], shape: Sequence[int]
) -> tuple[float, float]:
    """For a function that moves entries: the most copies of one entry, and of old tokens in a new one.

    The function is applied to the numbers' own places, and to those of the tokens that they belong to.

    Args:
        function: moves or copies entries, and may add zeros.
        arguments: the arguments around a tensor that stands for the input.
        shape: of the input.
    """
    size, last = math.prod(shape), (shape[-1] if shape else 1)
    places = torch.arange(1, size + 1, dtype=torch.float64).reshape(tuple(shape))
    args, kwargs = arguments(places)
    counts = torch.bincount(_flat(function(*args, **kwargs)).long(), minlength=2)[1:]
    tokens = torch.div(places - 1, last, rounding_mode="floor") + 1
    args, kwargs = arguments(tokens)
    rows = function(*args, **kwargs)
    if not isinstance(rows, Tensor):
        rows = rows[0]
    rows = rows.reshape(-1, rows.shape[-1] if rows.ndim else 1).sort(1).values
    distinct = (rows[:, 1:] != rows[:, :-1]).sum(1).max() + 1 if rows.shape[1] > 1 else 1
    return max(1.0, float(counts.max())), float(distinct)


def _flat(value: Any) -> Tensor:
    return value.flatten() if isinstance(value, Tensor) else torch.cat([v.flatten() for v in value])
