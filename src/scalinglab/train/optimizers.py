"""SGD, Nesterov momentum, Adam and AdamW on stacked parameters, one learning rate a run.

The updates are PyTorch's (`torch.optim`), to rounding:

- sgd, nesterov: u ← μ u + g (u = g at the first step); w ← w − ε u, or w − ε (g + μ u) for nesterov;
- adam: m ← β1 m + (1−β1) g, v ← β2 v + (1−β2) g²; w ← w − ε (m/(1−β1^t)) / (√(v/(1−β2^t)) + 1e-8);
- weight decay adds λ w to g, except in adamw, where w ← (1 − ε λ) w comes first.

m and u may be kept in bf16: they are widened, updated, used as they are then, and rounded.

ε follows the schedule (constant, or ε (1 + cos(π t/T))/2) on the device, times the parameterization's
factor for each parameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from scalinglab import nets
from scalinglab.nets.parameterization import Network
from scalinglab.train.setting import Setting

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@dataclass
class Moments:
    """Optimizer state of a group of runs.

    Attributes:
        slots: momenta (one list), or first and second moments (two), each like the parameters; the first
            list may be in less precision.
        steps: updates done, a float32 scalar on the device.
        rates, totals: learning rate and training time of each run, (runs,).
        rate: the learning rate, where all runs share one that never changes.
    """

    slots: list[list[Tensor]]
    steps: Tensor
    rates: Tensor
    totals: Tensor
    rate: float | None

    def tensors(self) -> list[Tensor]:
        """What must be kept to go on."""
        return [*(t for slot in self.slots for t in slot), self.steps]

    def restart(self, settings: Sequence[Setting], totals: Sequence[int]) -> None:
        """Go back to zero, in place, for other runs."""
        for tensor in self.tensors():
            tensor.zero_()
        rates = [s.learning_rate for s in settings]
        self.rates.copy_(torch.tensor(rates))
        self.totals.copy_(torch.tensor(totals, dtype=torch.float32))
        self.rate = rates[0] if len(set(rates)) == 1 else None

    def keep(self, rows: list[int]) -> None:
        """Go on with some of the runs."""
        self.slots = [[t[rows] for t in slot] for slot in self.slots]
        self.rates, self.totals = self.rates[rows], self.totals[rows]


class Rule:
    """How parameters are updated; the same for all runs of an architecture."""

    def __init__(self, setting: Setting, model: Network) -> None:
        self.kind, self.momentum = setting.optimizer, setting.momentum or 0.0
        self.weight_decay, self.cosine = setting.weight_decay, setting.schedule == "cosine"
        scales = nets.learning_rate_scales(model, setting.optimizer)
        self.scales = [scales.get(name, 1.0) for name, _ in model.named_parameters()]
        self.adaptive = self.kind in ("adam", "adamw")
        self.momentum_type = torch.bfloat16 if setting.momentum_precision == "bf16" else None
        self.can_fuse = (
            self.adaptive
            and set(self.scales) == {1.0}
            and not (self.cosine or self.momentum_type or setting.compile)
        )

    def start(
        self, parameters: dict[str, Tensor], settings: Sequence[Setting], totals: Sequence[int]
    ) -> Moments:
        """Moments of zero."""
        device = next(iter(parameters.values())).device
        count = 2 if self.adaptive else 1 if self.momentum else 0
        types = (self.momentum_type, None)[:count]
        slots = [[torch.zeros_like(p.detach(), dtype=kind) for p in parameters.values()] for kind in types]
        steps, rates, all_steps = (torch.zeros(size, device=device) for size in ([], *[[len(settings)]] * 2))
        moments = Moments(slots, steps, rates, all_steps, None)
        moments.restart(settings, totals)
        return moments

    def update(
        self, masters: list[Tensor], working: list[Tensor], gradients: Sequence[Tensor], moments: Moments
    ) -> None:
        """One update in place, of the masters and of working copies in another precision."""
        copies = [(w, p) for w, p in zip(working, masters) if w is not p]
        if self.can_fuse and moments.rate is not None:
            self._fused(masters, gradients, moments)
        else:
            self._plain(masters, gradients, moments)
        for copy, p in copies:
            copy.copy_(p)

    def _plain(self, masters: list[Tensor], gradients: Sequence[Tensor], moments: Moments) -> None:
        rates = moments.rates
        if self.cosine:
            rates = rates * 0.5 * (1 + torch.cos(math.pi * (moments.steps / moments.totals).clamp(max=1.0)))
        moments.steps += 1
        for number, (p, g) in enumerate(zip(masters, gradients)):
            rate = (rates * self.scales[number]).view(-1, *[1] * (p.ndim - 1))
            self._one(p, g.to(p.dtype), rate, [slot[number] for slot in moments.slots], moments.steps)

    def _one(self, p: Tensor, g: Tensor, rate: Tensor, slots: list[Tensor], steps: Tensor) -> None:
        if self.weight_decay:
            if self.kind == "adamw":
                p.mul_(1 - rate * self.weight_decay)
            else:
                g = g + self.weight_decay * p
        if self.adaptive:
            v = slots[1]
            m = _updated(slots[0], p.dtype, lambda m: m.lerp_(g, 1 - BETA1))
            v.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
            size = (v.sqrt() / (1 - BETA2**steps).sqrt()).add_(EPSILON)
            p.sub_(rate / (1 - BETA1**steps) * (m / size))
        elif self.momentum:
            u = _updated(slots[0], p.dtype, lambda u: u.mul_(self.momentum).add_(g))
            p.sub_(rate * (g + self.momentum * u if self.kind == "nesterov" else u))
        else:
            p.sub_(rate * g)

    def _fused(self, masters: list[Tensor], gradients: Sequence[Tensor], moments: Moments) -> None:
        """Adam in one pass over memory, by the kernel of `torch.optim`."""
        function = torch._fused_adamw_ if self.kind == "adamw" else torch._fused_adam_
        moments.steps += 1
        assert moments.rate is not None
        # the kernel walks through memory and looks neither at strides nor at types
        alike = [
            g if g.stride() == p.stride() and g.dtype == p.dtype else torch.empty_like(p).copy_(g)
            for g, p in zip(gradients, masters)
        ]
        function(
            [p.detach() for p in masters], alike, moments.slots[0], moments.slots[1], [],
            [moments.steps] * len(masters), lr=moments.rate, beta1=BETA1, beta2=BETA2,
            weight_decay=self.weight_decay, eps=EPSILON, amsgrad=False, maximize=False,
        )  # fmt: skip


def _updated(kept: Tensor, dtype: torch.dtype, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Change a tensor in place; what it is before it is rounded to the type that it is kept in."""
    if kept.dtype == dtype:
        return change(kept)
    wide = change(kept.to(dtype))
    kept.copy_(wide)
    return wide
