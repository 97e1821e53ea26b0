"""Training dynamics that the theory solves, each given by its filter f_t(s).

The residual weights follow v(t) = f_t(−K) v(0) with K = (AᵀA/N)(ΨᵀΨ/P), and f_t is entire in s:

- gradient flow, dv/dt = s v: f = e^{st} (bordelon2024, eq. 7);
- with momentum, β v'' + v' = s v and v'(0) = 0: f = (p₊ e^{p₋t} − p₋ e^{p₊t})/(p₊ − p₋), β p² + p = s (126);
- gradient descent, v(t+1) = (1 + ηs) v(t): f = (1 + ηs)^t (121);
- with momentum, v(t+1) = (1 + μ + ηs) v(t) − μ v(t−1), from the two roots of z + μ/z = 1 + μ + ηs (129).

So one solution of the theory in s serves all of them.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from scalinglab.errors import BadInput

NEGLIGIBLE = 40.0  # e^-40 is below the round-off of whatever it is added to


class Dynamics(Protocol):
    """Interface of a training dynamics."""

    @property
    def discrete(self) -> bool:
        """Whether time counts steps."""
        ...

    def filter(self, s: np.ndarray, times: np.ndarray) -> np.ndarray:
        """f_t(s), shape (times, s)."""
        ...

    def frequency(self, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The s whose filter grows as e^{rate·t} at late times, and ds/d rate."""
        ...

    def rate(self, s: float) -> float:
        """The inverse of `frequency` near s = 0, for real s."""
        ...

    def fast_rate(self, largest: float) -> float:
        """The rate at which all dies out that does not follow the slow root, on the spectrum [0, largest]."""
        ...

    def settled(self, time: float, largest: float) -> bool:
        """Whether after `time` only the slow end of the spectrum [0, largest] is still moving."""
        ...

    def stable(self, largest: float) -> bool:
        """Whether training converges when the largest eigenvalue of K is `largest`."""
        ...


@dataclass(frozen=True)
class GradientFlow:
    """Gradient flow in the time of eq. 7; momentum is β of (β ∂²ₜ + ∂ₜ) v = −K v, eq. 126."""

    momentum: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.momentum < math.inf:
            raise BadInput(
                f"momentum = {self.momentum}: the β of gradient flow must be 0 or more, and finite"
            )

    discrete = False

    def _roots(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        root = _apart(np.sqrt(1 + 4 * self.momentum * s + 0j))
        slow = 2 * s / (1 + root)
        return slow, -1 / self.momentum - slow

    def filter(self, s: np.ndarray, times: np.ndarray) -> np.ndarray:
        """f_t(s), shape (times, s)."""
        t = np.asarray(times, float)[:, None]
        if self.momentum == 0:
            return np.exp(s * t)
        slow, fast = self._roots(s)
        return (slow * np.exp(fast * t) - fast * np.exp(slow * t)) / (slow - fast)

    def frequency(self, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """s = p + β p² and its derivative."""
        return rate * (1 + self.momentum * rate), 1 + 2 * self.momentum * rate

    def rate(self, s: float) -> float:
        """The slow root p of β p² + p = s."""
        return 2 * s / (1 + math.sqrt(max(0.0, 1 + 4 * self.momentum * s)))

    def fast_rate(self, largest: float) -> float:
        """−1/(2β), of the oscillations; everything follows the slow root where there is no momentum."""
        return -1 / (2 * self.momentum) if self.momentum else -math.inf

    def settled(self, time: float, largest: float) -> bool:
        """Whether after `time` only the slow end of the spectrum [0, largest] is still moving."""
        return largest * time >= 50 and self.fast_rate(largest) * time <= -NEGLIGIBLE

    def stable(self, largest: float) -> bool:
        """Gradient flow always converges."""
        return True


@dataclass(frozen=True)
class GradientDescent:
    """Gradient descent in steps: v ← v − η K v (121), with heavy-ball momentum μ (128).

    Learning rate times step is the time of gradient flow, as long as η times the largest eigenvalue of K
    stays well below 2.
    """

    learning_rate: float
    momentum: float = 0.0

    def __post_init__(self) -> None:
        _positive_rate(self.learning_rate)
        if not 0 <= self.momentum < 1:
            raise BadInput(f"momentum = {self.momentum}: μ of gradient descent must be in [0, 1)")

    discrete = True

    def _roots(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log of the larger root of z² − (1 + μ + ηs) z + μ = 0, exact to the last digit near z = 1; μ/z."""
        step = self.learning_rate * np.asarray(s)
        middle = (1 + self.momentum + step) / 2 + 0j
        root = np.sqrt(middle - math.sqrt(self.momentum)) * np.sqrt(middle + math.sqrt(self.momentum))
        root = _apart(np.where(np.abs(middle + root) >= np.abs(middle - root), root, -root))
        rate = _log1p(step / ((1 - self.momentum - step) / 2 + root))
        return rate, self.momentum * np.exp(-rate)

    def filter(self, s: np.ndarray, times: np.ndarray) -> np.ndarray:
        """f_t(s), shape (times, s)."""
        t = np.asarray(times, float)[:, None]
        if self.momentum == 0:
            return np.exp(t * _log1p(self.learning_rate * s + 0j))
        rate, small = self._roots(s)
        large = np.exp(rate)
        slow, fast = (large - self.momentum) * np.exp(rate * t), (self.momentum - small) * small**t
        return (slow + fast) / (large - small)

    def frequency(self, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """s = (z − 1)(z − μ)/(ηz) with z = e^rate, and its derivative."""
        z, away = np.exp(rate), np.expm1(rate)
        s = away * (1 - self.momentum / z) / self.learning_rate
        return s, (z - self.momentum / z) / self.learning_rate

    def rate(self, s: float) -> float:
        """log of the larger root z."""
        return float(self._roots(np.array(complex(s)))[0].real)

    def fast_rate(self, largest: float) -> float:
        """log √μ, of the oscillations, or that of the fastest eigenvalue where its step overshoots."""
        rates = [0.5 * math.log(self.momentum) if self.momentum else -math.inf]
        end = complex(self._roots(np.array([complex(-largest)]))[0][0])
        return max(*rates, end.real) if math.cos(end.imag) < 0 else rates[0]

    def settled(self, time: float, largest: float) -> bool:
        """Whether after `time` only the slow end of the spectrum [0, largest] is still moving."""
        slow_enough = self.learning_rate * largest * time >= 50 * (1 - self.momentum)
        return time >= 12 and slow_enough and self.fast_rate(largest) * time <= -NEGLIGIBLE

    def stable(self, largest: float) -> bool:
        """η λ < 2 (1 + μ) for the largest eigenvalue of K."""
        return self.learning_rate * largest < 2 * (1 + self.momentum)


@dataclass(frozen=True)
class OnePassSGD:
    """Stochastic gradient descent on `batch_size` fresh examples a step, each used once (App. J.3)."""

    learning_rate: float
    batch_size: float

    def __post_init__(self) -> None:
        _positive_rate(self.learning_rate)
        if not self.batch_size >= 1:
            raise BadInput(f"batch_size = {self.batch_size} must be 1 or more")

    discrete = True

    @property
    def mean(self) -> GradientDescent:
        """Its mean over batches: gradient descent on the population."""
        return GradientDescent(self.learning_rate)

    # as an optimizer of `theory.one_pass`: θ ← θ − η g, without a running mean of gradients

    remembers = False

    @property
    def fastest(self) -> float:
        """η."""
        return self.learning_rate

    def coefficients(self, step: float) -> tuple[float, float, float]:
        """η, no rate of a running mean, and nothing kept of it."""
        return self.learning_rate, 0.0, 1.0

    def progress(self, steps: float) -> float:
        """η t."""
        return self.learning_rate * steps


@dataclass(frozen=True)
class MultiPassSGD:
    """SGD on a fixed data set: y ← μ y + g, θ ← θ − η_t y, g the gradient of a batch plus δ θ.

    Attributes:
        learning_rate: η, of every step or the height of the schedule.
        batch_size: B, examples drawn anew at every step; P·passes/B steps see each `passes` times.
        momentum: μ in [0, 1).
        weight_decay: δ ≥ 0, of the penalty δ|θ|²/2.
        schedule: factors of η in [0, 1], one a step; constant where there are none.
        distinct: draw the examples of a batch without replacement.
    """

    learning_rate: float
    batch_size: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    schedule: tuple[float, ...] = ()
    distinct: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "schedule", tuple(float(factor) for factor in self.schedule))
        GradientDescent(self.learning_rate, self.momentum)
        OnePassSGD(self.learning_rate, self.batch_size)
        if not 0 <= self.weight_decay < math.inf:
            raise BadInput(f"weight_decay = {self.weight_decay} must be 0 or more, and finite")
        wrong = [factor for factor in self.schedule if not 0 <= factor <= 1]
        if wrong:
            raise BadInput(
                f"schedule has {wrong[0]:g}: factors of the learning rate must lie in [0, 1]; learning_rate "
                "is the height"
            )

    discrete = True

    @property
    def schedule_name(self) -> str:
        """A name for the schedule in tables of curves: its length and a checksum."""
        factors = np.array(self.schedule)
        return f"{len(factors)} factors {zlib.crc32(factors.tobytes()):08x}" if self.schedule else "constant"

    def rates(self, steps: int) -> np.ndarray:
        """η of the first steps, (steps,)."""
        if self.schedule and steps > len(self.schedule):
            raise BadInput(f"step {steps} is beyond the schedule, which has {len(self.schedule)} factors")
        factors = np.array(self.schedule[:steps]) if self.schedule else np.ones(steps)
        return self.learning_rate * factors

    def filters(self, s: np.ndarray, steps: int) -> Iterator[np.ndarray]:
        """f_t(s) for t = 0 … steps: what is left of the labels along eigenvalue −s without batch noise."""
        learnt, mean = np.zeros_like(s), np.zeros_like(s)  # θ and y per unit of Φᵀlabels/P
        yield 1 + s * learnt
        for rate in self.rates(steps):
            mean = self.momentum * mean + (self.weight_decay - s) * learnt - 1
            learnt = learnt - rate * mean
            yield 1 + s * learnt

    def filter(self, s: np.ndarray, times: np.ndarray) -> np.ndarray:
        """f_t(s), shape (times, s)."""
        kept: dict[float, np.ndarray] = {}
        for t, left in enumerate(self.filters(s, int(np.max(times, initial=0)))):
            if t in times:
                kept[t] = left
        return np.array([kept[t] for t in times]).reshape(len(times), len(s))

    def stable(self, largest: float) -> bool:
        """η (λ + δ) < 2 (1 + μ) for the largest eigenvalue of K."""
        return self.learning_rate * (largest + self.weight_decay) < 2 * (1 + self.momentum)


def setting_of(dynamics: object) -> dict[str, object]:
    """Columns of a table of curves that say how they were trained."""
    names = ("learning_rate", "momentum", "batch_size", "weight_decay")
    found = {name: getattr(dynamics, name) for name in names if hasattr(dynamics, name)}
    if isinstance(dynamics, MultiPassSGD):
        found["schedule"] = dynamics.schedule_name
    return {"optimizer": type(dynamics).__name__, **found}


def _positive_rate(value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise BadInput(f"learning_rate = {value} must be a positive number")


def _log1p(z: np.ndarray) -> np.ndarray:
    """log(1 + z) for complex z, exact to the last digit near 0: NumPy's loses what a late time multiplies."""
    x, y = z.real, z.imag
    square = x * (2 + x) + y * y  # |1 + z|² − 1
    near = square > -0.5
    size = np.where(near, np.log1p(np.where(near, square, 0.0)) / 2, np.log(np.abs(1 + z) + 1e-300))
    return size + 1j * np.arctan2(y, 1 + x)


def _apart(root: np.ndarray) -> np.ndarray:
    """Half the distance of two roots, 1e-6 at least: filters are even in it and change by 1e-12."""
    return np.where(np.abs(root) < 1e-6, 1e-6, root)
