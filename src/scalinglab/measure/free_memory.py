"""How much of a GPU's memory this process may still take, and how it releases what it does not use."""

from __future__ import annotations

import torch


def free_memory(device: torch.device) -> float:
    """Bytes that PyTorch can still allocate on a GPU.

    That is what is free there, with what PyTorch has reserved and not used, within the process's own share:
    `torch.cuda.set_per_process_memory_fraction` bounds what it may reserve.
    """
    return sum(_left(device))


def release_unused() -> None:
    """Release what is reserved on the current GPU and not used, where that is more than what is left.

    PyTorch does so by itself where it runs out of memory, but not while a graph is captured. Nothing happens
    without CUDA.
    """
    if not torch.cuda.is_available():
        return
    left, unused = _left(torch.device("cuda"))
    if unused > left:
        torch.cuda.empty_cache()


def _left(device: torch.device) -> tuple[float, float]:
    """Bytes that are not reserved yet, and those that are reserved and not used."""
    index = torch.cuda.current_device() if device.index is None else device.index
    free, total = torch.cuda.mem_get_info(index)
    reserved, used = torch.cuda.memory_reserved(index), torch.cuda.memory_allocated(index)
    fraction = getattr(torch.cuda, "get_per_process_memory_fraction", None)  # PyTorch 2.6 cannot tell
    share = total * (fraction(index) if fraction is not None else 1.0)
    return float(max(0.0, min(free, share - reserved))), float(reserved - used)
