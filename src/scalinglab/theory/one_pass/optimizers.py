r"""Optimizers of one-pass training whose second moments close: SGD, momentum, and momentum of growing memory.

All are one rule, with gradient g of a fresh batch of B examples and a running mean y of gradients:

    y ← (1 − Δ_t) y + g,    θ ← θ − η_t g − ε_t y

- SGD: ε = 0 (`theory.dmft.OnePassSGD`);
- heavy ball with momentum μ: Δ = 1 − μ, η = 0, ε the learning rate;
- dimension-adapted momentum (Ferbach and others 2025, arXiv 2505.16098): Δ_t = δ/(δ + t), so that y remembers
  a share of the whole past, and ε_t = ε (1 + t)^−κ with κ = 1/b for eigenvalues λ_k ~ k^-b, b > 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from scalinglab.errors import BadInput
from scalinglab.theory.dmft.dynamics import OnePassSGD


@runtime_checkable
class Optimizer(Protocol):
    """Interface of an optimizer of one-pass training."""

    @property
    def batch_size(self) -> float:
        """B."""
        ...

    def coefficients(self, step: float) -> tuple[float, float, float]:
        """η, ε and Δ at a step."""
        ...

    @property
    def fastest(self) -> float:
        """The largest of η + ε over all steps: how far one gradient moves the weights at once."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether y acts on the weights."""
        ...

    def progress(self, steps: float) -> float:
        """The inverse of the slowest rate that has moved after so many steps."""
        ...


@dataclass(frozen=True)
class HeavyBall:
    """y ← μ y + g, θ ← θ − η y."""

    learning_rate: float
    batch_size: float
    momentum: float

    def __post_init__(self) -> None:
        OnePassSGD(self.learning_rate, self.batch_size)
        if not 0 <= self.momentum < 1:
            raise BadInput(f"momentum = {self.momentum} must be in [0, 1)")

    remembers = True

    @property
    def fastest(self) -> float:
        """η."""
        return self.learning_rate

    def coefficients(self, step: float) -> tuple[float, float, float]:
        """η = 0, ε and Δ = 1 − μ."""
        return 0.0, self.learning_rate, 1 - self.momentum

    def progress(self, steps: float) -> float:
        """η t/(1 − μ)."""
        return self.learning_rate * steps / (1 - self.momentum)


@dataclass(frozen=True)
class AdaptedMomentum:
    """Dimension-adapted momentum: Δ_t = δ/(δ + t), ε_t = ε (1 + t)^−κ.

    Attributes:
        learning_rate: η, of the gradient itself.
        batch_size: B.
        long_rate: ε, of the running mean.
        decay: κ, of ε with time; 1/b for a spectrum λ_k ~ k^-b.
        memory: δ; the running mean goes back t/δ steps.
    """

    learning_rate: float
    batch_size: float
    long_rate: float
    decay: float
    memory: float = 8.0

    def __post_init__(self) -> None:
        OnePassSGD(self.learning_rate, self.batch_size)
        for name in ("long_rate", "decay"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise BadInput(f"{name} = {getattr(self, name)} must be zero or more")
        if not self.memory >= 1:
            raise BadInput(f"memory = {self.memory}: δ must be 1 or more")

    remembers = True

    @property
    def fastest(self) -> float:
        """η + ε."""
        return self.learning_rate + self.long_rate

    def coefficients(self, step: float) -> tuple[float, float, float]:
        """η, ε_t and Δ_t."""
        long = self.long_rate * (1 + step) ** -self.decay
        return self.learning_rate, long, self.memory / (self.memory + step)

    def progress(self, steps: float) -> float:
        """η t + ε t^(2−κ)."""
        return self.learning_rate * steps + self.long_rate * steps ** max(0.0, 2 - self.decay)
