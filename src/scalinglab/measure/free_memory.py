"""How much of a GPU's memory this process may still take, and how it releases what it does not use."""

from __future__ import annotations

import weakref
from typing import Any

import torch

# memory pools of captured graphs: while a graph can be replayed nothing else uses its pool
_POOLS: weakref.WeakKeyDictionary[Any, tuple[int, ...]] = weakref.WeakKeyDictionary()


def hold_pool(graph: Any) -> None:
    """Count the memory of a captured graph as used for as long as the graph is there."""
    _POOLS[graph] = tuple(graph.pool())


def free_memory(device: torch.device) -> float:
    """Bytes that PyTorch can still allocate on a GPU.

    That is what is free there, within the process's own share, and what PyTorch keeps in its cache and can
    release: `torch.cuda.set_per_process_memory_fraction` bounds what it may reserve.
    """
    index = torch.cuda.current_device() if device.index is None else device.index
    return _left(index) + _cached(index)


def release_unused() -> None:
    """Release the cache of the current GPU, where that is more than what is left.

    PyTorch does so by itself where it runs out of memory, but not while a graph is captured. Nothing happens
    without CUDA.
    """
    if not torch.cuda.is_available():
        return
    index = torch.cuda.current_device()
    left, unused = _left(index), torch.cuda.memory_reserved(index) - torch.cuda.memory_allocated(index)
    if unused > left and _cached(index) > left:  # the first is cheap to ask, and bounds the second
        torch.cuda.empty_cache()


def _left(index: int) -> float:
    """Bytes that are not reserved yet."""
    free, total = torch.cuda.mem_get_info(index)
    fraction = getattr(torch.cuda, "get_per_process_memory_fraction", None)  # PyTorch 2.6 cannot tell
    share = total * (fraction(index) if fraction is not None else 1.0)
    return float(max(0.0, min(free, share - torch.cuda.memory_reserved(index))))


def _cached(index: int) -> float:
    """Bytes that are reserved and can be released: segments without a block in use, in no graph's pool."""
    pools = set(_POOLS.values())
    segments: list[dict[str, Any]] = torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call]
    return float(
        sum(
            segment["total_size"]
            for segment in segments
            if segment["device"] == index
            and segment["active_size"] == 0
            and tuple(segment["segment_pool_id"]) not in pools
        )
    )
