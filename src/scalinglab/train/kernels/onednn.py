"""Products of small matrices on an ARM processor, with oneDNN (fast for large ones) disabled.

PyTorch hands fp32 products to oneDNN there, which takes longer to begin with a small matrix than to multiply
it. Small networks train 10 to 35 % faster without it, large ones as fast (benchmarks/small_products.py).
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from scalinglab.train.setting import Setting

LARGE = 1e9  # operations of a run's step from which the library is used


def suits(setting: Setting, device: torch.device, flops: float) -> bool:
    """Whether the network of a setting, with so many operations a step, is faster without oneDNN."""
    is_arm = platform.machine().lower() in ("aarch64", "arm64")
    return is_arm and device.type == "cpu" and setting.precision == "fp32" and flops < LARGE


@contextmanager
def small_products(wanted: bool) -> Iterator[None]:
    """Context in which oneDNN is disabled."""
    if not wanted:
        yield
        return
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(before)
