"""SGD, Nesterov momentum, Adam, AdamW, Lion and Muon on stacked parameters, one learning rate a run.

The updates are PyTorch's (`torch.optim`), to rounding:

- sgd, nesterov: u ← μ u + g (u = g at the first step); w ← w − ε u, or w − ε (g + μ u) for nesterov;
- adam: m ← β1 m + (1−β1) g, v ← β2 v + (1−β2) g²; w ← w − ε (m/(1−β1^t)) / (√(v/(1−β2^t)) + 1e-8);
- lion (Chen et al. 2023): w ← w − ε sign(β1 m + (1−β1) g), then m ← β2 m + (1−β2) g;
- muon (Jordan et al. 2024; Liu et al. 2025) for matrices: m ← μ m + (1−μ) g, and w ← w − 0.2 ε √max(a, b) O,
  with O the orthogonal factor of (1−μ) g + μ m, of a × b, by five Newton–Schulz steps in bf16. Vectors,
  embeddings and the last matrix are updated by adamw;
- weight decay adds λ w to g, except in adamw, lion and muon, where w ← (1 − ε λ) w comes first.

A gradient longer than `clip`, over all parameters of a run, is shortened to it first.

m and u may be kept in bf16: they are widened, updated, used as they are then, and rounded.

ε follows the schedule (`updates.schedules`) on the device, times the parameterization's factor for each
parameter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from scalinglab import nets
from scalinglab.nets.parameterization import Network
from scalinglab.train.modules.networks import trained_names
from scalinglab.train.setting import Setting
from scalinglab.train.updates.schedules import Schedule

EPSILON = 1e-8  # PyTorch's of Adam, so that a run here is a run there
BETAS = {"adam": (0.9, 0.999), "adamw": (0.9, 0.999), "lion": (0.9, 0.99), "muon": (0.9, 0.95)}
SLOTS = {"adam": 2, "adamw": 2, "lion": 1, "muon": 2}
NEWTON_SCHULZ, ORTHOGONAL_STEPS = (3.4445, -4.7750, 2.0315), 5  # Jordan et al. 2024
RMS = 0.2  # of an update of muon, as that of adamw (Liu et al. 2025)


@dataclass
class Moments:
    """Optimizer state of a group of runs.

    Attributes:
        slots: momenta (one list), or first and second moments (two), each like the parameters.
        steps: updates done, a float32 scalar on the device.
        rates, totals: learning rate and training time of each run, (runs,).
        rate: the learning rate, where all runs share one that never changes.
        schedule: of the learning rate.
        table: its factors, where it is a function of the user's own.
    """

    slots: list[list[Tensor]]
    steps: Tensor
    rates: Tensor
    totals: Tensor
    rate: float | None
    schedule: Schedule
    table: Tensor | None

    def tensors(self) -> list[Tensor]:
        """What must be kept to go on."""
        return [*(t for slot in self.slots for t in slot), self.steps]

    def more(self) -> dict[str, Any]:
        """What else must be kept: nothing."""
        return {}

    def restore(self, kept: dict[str, Any]) -> None:
        """Restore what `more` gave."""

    def keep(self, rows: list[int], parameters: dict[str, Tensor]) -> None:
        """Go on with some of the runs, whose parameters lie elsewhere now."""
        self.slots = [[t[rows] for t in slot] for slot in self.slots]
        self.rates, self.totals = self.rates[rows], self.totals[rows]
        self.table = None if self.table is None else self.table[rows]


class Rule:
    """The update of the parameters, for all runs of an architecture."""

    captures = True  # whether an update can be a part of a CUDA graph

    def __init__(self, setting: Setting, model: nn.Module) -> None:
        self.kind, self.momentum = setting.optimizer, setting.momentum or 0.0
        self.weight_decay, self.clip = setting.weight_decay, setting.clip
        self.schedule = Schedule(setting)
        beta1, beta2 = BETAS.get(self.kind, (0.0, 0.0))
        self.beta1 = beta1 if setting.beta1 is None else setting.beta1
        self.beta2 = beta2 if setting.beta2 is None else setting.beta2
        names = trained_names(model)
        scales = nets.learning_rate_scales(model, setting.optimizer) if isinstance(model, Network) else {}
        self.scales = [scales.get(name, 1.0) for name in names]
        matrices = hidden_matrices(model) if self.kind == "muon" else set[str]()
        self.orthogonal = [name in matrices for name in names]
        self.adaptive = self.kind in ("adam", "adamw")
        plain = set(self.scales) == {1.0} and self.schedule.constant
        self.can_fuse = self.adaptive and plain and not setting.compile

    def start(
        self, parameters: dict[str, Tensor], settings: Sequence[Setting], totals: Sequence[int]
    ) -> Moments:
        """Moments of zero."""
        device = next(iter(parameters.values())).device
        count = SLOTS.get(self.kind, 1 if self.momentum else 0)
        slots = [[torch.zeros_like(p.detach()) for p in as_real(parameters.values())] for _ in range(count)]
        rates = [s.learning_rate for s in settings]
        return Moments(
            slots, torch.zeros([], device=device), torch.tensor(rates, device=device),
            torch.tensor(totals, dtype=torch.float32, device=device),
            rates[0] if len(set(rates)) == 1 else None, self.schedule,
            self.schedule.table(settings, totals, device),
        )  # fmt: skip

    def update(
        self, masters: list[Tensor], working: list[Tensor], gradients: Sequence[Tensor], moments: Moments
    ) -> None:
        """One update in place, of the masters and of working copies in another precision."""
        copies = [(w, p) for w, p in zip(working, masters) if w is not p]
        masters, gradients = (as_real(part) for part in (masters, gradients))
        if self.clip is not None:
            gradients = shortened(gradients, self.clip)
        if self.can_fuse and moments.rate is not None:
            self._fused(masters, gradients, moments)
        else:
            self._plain(masters, gradients, moments)
        for copy, p in copies:
            copy.copy_(p)

    def _plain(self, masters: list[Tensor], gradients: Sequence[Tensor], moments: Moments) -> None:
        rates = moments.rates
        if not self.schedule.constant:
            rates = rates * self.schedule.factors(moments.steps, moments.totals, moments.table)
        moments.steps += 1
        for number, (p, g) in enumerate(zip(masters, gradients)):
            rate = (rates * self.scales[number]).view(-1, *[1] * (p.ndim - 1))
            slots = [slot[number] for slot in moments.slots]
            self._one(p, g.to(p.dtype), rate, slots, moments.steps, self.orthogonal[number])

    def _one(
        self, p: Tensor, g: Tensor, rate: Tensor, slots: list[Tensor], steps: Tensor, orthogonal: bool
    ) -> None:
        if self.weight_decay:
            if self.kind in ("adamw", "lion", "muon"):
                p.mul_(1 - rate * self.weight_decay)
            else:
                g = g + self.weight_decay * p
        if orthogonal:
            m = slots[0].lerp_(g, 1 - self.momentum)
            p.sub_(rate * orthogonalized(g.lerp(m, self.momentum)))
        elif self.kind == "lion":
            p.sub_(rate * slots[0].lerp(g, 1 - self.beta1).sign())
            slots[0].lerp_(g, 1 - self.beta2)
        elif self.adaptive or self.kind == "muon":
            m, v = slots
            m.lerp_(g, 1 - self.beta1)
            v.mul_(self.beta2).addcmul_(g, g, value=1 - self.beta2)
            size = (v.sqrt() / (1 - self.beta2**steps).sqrt()).add_(EPSILON)
            p.sub_(rate / (1 - self.beta1**steps) * (m / size))
        elif self.momentum:
            u = slots[0].mul_(self.momentum).add_(g)
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
            [moments.steps] * len(masters), lr=moments.rate, beta1=self.beta1, beta2=self.beta2,
            weight_decay=self.weight_decay, eps=EPSILON, amsgrad=False, maximize=False,
        )  # fmt: skip


def as_real(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Tensors, of complex numbers as pairs of real ones in the same memory, as in PyTorch's optimizers."""
    return [torch.view_as_real(t) if t.is_complex() else t for t in tensors]


def shortened(gradients: Sequence[Tensor], most: float) -> list[Tensor]:
    """Gradients of each run, all parameters together, no longer than this (as `clip_grad_norm_`)."""
    square = sum(g.float().flatten(1).square().sum(1) for g in as_real(gradients))
    assert isinstance(square, Tensor)
    factor = (most / (square.sqrt() + 1e-6)).clamp(max=1.0)
    return [g * factor.to(g.dtype).view(-1, *[1] * (g.ndim - 1)) for g in gradients]


def hidden_matrices(model: nn.Module) -> set[str]:
    """Parameters that muon makes orthogonal: two axes or more, but for embeddings and the last of them."""
    tables = {
        f"{name}.weight".removeprefix(".")
        for name, module in model.named_modules()
        if isinstance(module, (nn.Embedding, nn.EmbeddingBag))
    }
    matrices = [name for name, p in model.named_parameters() if p.requires_grad and p.ndim > 1]
    return {name for name in matrices[:-1] if name not in tables and "embed" not in name}


def orthogonalized(update: Tensor) -> Tensor:
    """0.2 √max(a, b) times the orthogonal factor, about, of matrices (runs, a, b, …), axes after a joined."""
    x = update.flatten(2)
    rows, columns = x.shape[1:]
    # bf16 is what tensor cores are fast in; CPUs are not, and some have no product in it
    x = x.to(torch.bfloat16 if x.is_cuda else torch.float32)
    x = x.mT if rows > columns else x
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    a, b, c = NEWTON_SCHULZ
    for _ in range(ORTHOGONAL_STEPS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    x = x.mT if rows > columns else x
    return RMS * math.sqrt(max(rows, columns)) * x.to(update.dtype).view_as(update)
