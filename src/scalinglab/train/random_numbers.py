"""Random numbers that depend on where they are used and on nothing else.

h(key, counter) is the finaliser of SplitMix64 (Steele et al. 2014). Every draw of the engine (order of
examples, augmentation, dropout) is h of a run's seed, the step and a position: no generator holds a state,
so a run draws the same numbers beside any neighbours, on any device, and after it was resumed.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

# mixed into the keys, so that draws for different purposes are independent under one seed
ORDER, AUGMENT, DROPOUT = 1, 2, 3


def _signed(value: int) -> int:
    # PyTorch multiplies signed integers; modulo 2⁶⁴ the products have the same bits
    return value - (1 << 64) if value >= 1 << 63 else value


_GOLDEN = _signed(0x9E3779B97F4A7C15)
_INVERSE = _signed(pow(_GOLDEN, -1, 1 << 64))
_FIRST = _signed(0xBF58476D1CE4E5B9)
_SECOND = _signed(0x94D049BB133111EB)


def mix(key: Tensor | int, counter: Tensor | int) -> Tensor:
    """Sixty-four random bits of each counter under each key, int64, shapes broadcast."""
    if isinstance(counter, int):  # no tensor is made of it: a captured graph may not copy from the host
        z = torch.as_tensor(_signed((counter + 1) * _GOLDEN % (1 << 64)) + key)
    elif isinstance(key, int):
        z = (counter + 1) * _GOLDEN + key
    else:
        # (counter + 1) golden + key, with the key added first: of positions, whose range it can bound,
        # torch.compile would compute the product in unbounded integers, which do not fit into 64 bits
        z = (counter + 1 + key * _INVERSE) * _GOLDEN
    # shifts of int64 repeat the sign bit: the masks make them those of unsigned integers
    z = (z ^ ((z >> 30) & ((1 << 34) - 1))) * _FIRST
    z = (z ^ ((z >> 27) & ((1 << 37) - 1))) * _SECOND
    return z ^ ((z >> 31) & ((1 << 33) - 1))


def keys(seeds: list[int], purpose: int, device: torch.device | str = "cpu") -> Tensor:
    """One key a run, (runs,), different for each purpose."""
    return mix(mix(0, torch.tensor(seeds, dtype=torch.int64, device=device)), purpose)


def uniform(key: Tensor, counter: Tensor) -> Tensor:
    """Numbers in [0, 1), float32."""
    # 24 bits, which float32 holds exactly: no number is rounded up to 1
    return ((mix(key, counter) >> 40) & ((1 << 24) - 1)).to(torch.float32) * 2.0**-24


class Dropout(nn.Dropout):
    """Dropout whose mask is a function of the buffer `key`, which the engine sets at every step."""

    key: Tensor

    def __init__(self, probability: float, position: int) -> None:
        super().__init__(probability)
        self.position = position
        self.register_buffer("key", torch.zeros((), dtype=torch.int64))

    def forward(self, input: Tensor) -> Tensor:
        """Set a random part to zero and scale the rest, in training."""
        if not self.training or self.p == 0:
            return input
        counter = torch.arange(input.numel(), device=input.device).reshape(input.shape)
        keep = uniform(mix(self.key, self.position), counter) >= self.p
        return torch.where(keep, input / (1 - self.p), torch.zeros_like(input))


def seed_dropout(model: nn.Module) -> None:
    """Replace every `nn.Dropout` that drops, in place, by one with a key."""
    # a module that stands in two places is replaced in both
    for position, (name, module) in enumerate(list(model.named_modules(remove_duplicate=False))):
        if isinstance(module, nn.Dropout) and module.p and name:
            parent = model.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], Dropout(module.p, position))


def dropout_keys(model: nn.Module) -> list[str]:
    """Names of the buffers that hold the keys of dropout."""
    return [f"{name}.key" for name, module in model.named_modules() if isinstance(module, Dropout)]
