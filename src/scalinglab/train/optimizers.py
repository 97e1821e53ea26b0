"""SGD, Nesterov momentum, Adam and AdamW on stacked parameters, one learning rate a run.

The updates are PyTorch's (`torch.optim`), to rounding:

- sgd, nesterov: u ← μ u + g (u = g at the first step); w ← w − ε u, or w − ε (g + μ u) for nesterov;
- adam: m ← β1 m + (1−β1) g, v ← β2 v + (1−β2) g²; w ← w − ε (m/(1−β1^t)) / (√(v/(1−β2^t)) + 1e-8);
- weight decay adds λ w to g, except in adamw, where w ← (1 − ε λ) w comes first.

ε follows the schedule (constant, or ε (1 + cos(π t/T))/2) on the device, times the parameterization's
factor for each parameter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from scalinglab import nets
from scalinglab.nets.parameterization import Network
from scalinglab.train.setting import Setting

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class Optimizer:
    """The state of an optimizer for a group of runs.

    Args:
        model: the network, which knows its parameterization's learning-rate factors.
        parameters: masters in fp32, by name, (runs, …).
        totals: training time of each run in steps, for the cosine schedule.
    """

    def __init__(
        self,
        model: Network,
        parameters: dict[str, Tensor],
        settings: Sequence[Setting],
        totals: Sequence[int],
    ) -> None:
        first = settings[0]
        device = next(iter(parameters.values())).device
        self.kind, self.momentum = first.optimizer, first.momentum or 0.0
        self.weight_decay, self.cosine = first.weight_decay, first.schedule == "cosine"
        self.masters = list(parameters.values())
        self.names = list(parameters)
        self.rates = torch.tensor([s.learning_rate for s in settings], device=device)
        self.totals = torch.tensor(totals, dtype=torch.float32, device=device)
        self.same_rate = len({s.learning_rate for s in settings}) == 1 and not self.cosine
        self.rate = first.learning_rate
        scales = nets.learning_rate_scales(model, first.optimizer)
        self.scales = [scales.get(name, 1.0) for name in self.names]
        self.adaptive = self.kind in ("adam", "adamw")
        slots = 2 if self.adaptive else 1 if self.momentum else 0
        self.slots = [[torch.zeros_like(p.detach()) for p in self.masters] for _ in range(slots)]
        self.steps = torch.zeros((), device=device)
        self.fused = self.adaptive and self.same_rate and set(self.scales) == {1.0} and not first.compile

    def state(self) -> list[Tensor]:
        """What must be kept to go on."""
        return [*(t for slot in self.slots for t in slot), self.steps]

    def take(self, other: Optimizer, rows: list[int]) -> None:
        """Take over some runs of another optimizer."""
        self.slots = [[t[rows] for t in slot] for slot in other.slots]
        self.steps.copy_(other.steps)

    def apply(self, gradients: Sequence[Tensor], working: dict[str, Tensor], counter: Tensor) -> None:
        """One update in place, of the masters and of working copies in another precision."""
        copies = [(w, p) for w, p in zip(working.values(), self.masters) if w is not p]
        if self.fused and not copies:
            self._fused(gradients)
            return
        self.steps += 1
        rates = self.rates
        if self.cosine:
            rates = rates * 0.5 * (1 + torch.cos(math.pi * (counter / self.totals).clamp(max=1.0)))
        for number, (p, g) in enumerate(zip(self.masters, gradients)):
            rate = (rates * self.scales[number]).view(-1, *[1] * (p.ndim - 1))
            self._one(number, p, g.to(p.dtype), rate)
        for copy, p in copies:
            copy.copy_(p)

    def _one(self, number: int, p: Tensor, g: Tensor, rate: Tensor) -> None:
        if self.weight_decay:
            if self.kind == "adamw":
                p.mul_(1 - rate * self.weight_decay)
            else:
                g = g + self.weight_decay * p
        if self.adaptive:
            m, v = self.slots[0][number], self.slots[1][number]
            m.lerp_(g, 1 - BETA1)
            v.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
            size = (v.sqrt() / (1 - BETA2**self.steps).sqrt()).add_(EPSILON)
            p.sub_(rate / (1 - BETA1**self.steps) * (m / size))
        elif self.momentum:
            u = self.slots[0][number]
            u.mul_(self.momentum).add_(g)
            p.sub_(rate * (g + self.momentum * u if self.kind == "nesterov" else u))
        else:
            p.sub_(rate * g)

    def _fused(self, gradients: Sequence[Tensor]) -> None:
        """Adam in one pass over memory, by the kernel of `torch.optim`."""
        function = torch._fused_adamw_ if self.kind == "adamw" else torch._fused_adam_
        self.steps += 1
        masters, steps = [p.detach() for p in self.masters], [self.steps] * len(self.masters)
        # the kernel walks through memory and does not look at strides
        gradients = [
            g if g.stride() == p.stride() else torch.empty_like(p).copy_(g)
            for g, p in zip(gradients, masters)
        ]
        function(
            masters, gradients, self.slots[0], self.slots[1], [], steps,
            lr=self.rate, beta1=BETA1, beta2=BETA2, weight_decay=self.weight_decay, eps=EPSILON,
            amsgrad=False, maximize=False,
        )  # fmt: skip
