"""Compiled functions, whose code is kept on disk between processes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A function compiled for fixed shapes when it is first called.

    By default PyTorch keeps no derivatives on disk where a function has passes of its own
    (`torch.autograd.Function`), and traces them anew in every process. Both passes are traced into the graph
    under which the code is kept, so code of other passes is never found.
    """
    from torch._functorch import config

    if hasattr(config, "autograd_cache_allow_custom_autograd_functions"):
        config.autograd_cache_allow_custom_autograd_functions = True
    return torch.compile(function, dynamic=False)


def hash_ahead() -> None:
    """Begin to hash PyTorch's and Triton's files, by which compiled code is found, in another thread.

    The compiler does so when it first looks for code, and then waits for the disk.
    """

    def hash_files() -> None:
        with contextlib.suppress(Exception):  # another version of PyTorch: the compiler does it itself
            from torch._inductor.codecache import CacheBase, torch_key

            torch_key()
            CacheBase.get_system()

    threading.Thread(target=hash_files, name="scalinglab-hash", daemon=True).start()
