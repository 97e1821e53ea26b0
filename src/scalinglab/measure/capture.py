"""Functions of tensors that lie still, captured as CUDA graphs and replayed.

Measuring the norms of a small network is hundreds of tiny kernels: on a GPU the time goes into launching
them. Weights are updated in place while a network trains, so what was launched once can be launched again as
one graph that reads them where they lie.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

Result = TypeVar("Result")
Place = tuple[Any, ...]

_SIDE: dict[torch.device, torch.cuda.Stream] = {}


class Replays:
    """Calls functions; on a GPU, one that is called again with tensors in the same places is captured.

    The first call is a plain one: libraries choose and allocate then. The second call captures, and replays;
    later ones replay. Tensors that moved start this anew, so nothing has to be told when they are replaced.
    A function must not wait for the device, and must read nothing that changes but `inputs`. What it returns
    is overwritten by the next call.
    """

    def __init__(self) -> None:
        self.made: dict[object, _Made] = {}

    def used_on(self, device: torch.device) -> bool:
        """Whether anything is captured there."""
        return device.type == "cuda"

    def __call__(self, name: object, function: Callable[[], Result], inputs: Sequence[Tensor]) -> Result:
        """`function()`, which is known by `name` and reads `inputs`."""
        device = inputs[0].device
        if not self.used_on(device):
            return function()
        places: Place = tuple((t.data_ptr(), t.shape, t.stride(), t.dtype) for t in inputs)
        made = self.made.get(name)
        if made is None or made.places != places:
            self.made[name] = _Made(places)
            with _aside(device):
                return function()
        if made.graph is None:
            made.graph = torch.cuda.CUDAGraph()
            with _aside(device):
                # not by torch.cuda.graph, which returns all free memory to the device first
                made.graph.capture_begin(capture_error_mode="thread_local")
                try:
                    made.result = function()
                finally:
                    made.graph.capture_end()
        made.graph.replay()
        return made.result  # type: ignore[no-any-return]


@dataclass
class _Made:
    places: Place
    graph: torch.cuda.CUDAGraph | None = None
    result: Any = None


@contextlib.contextmanager
def _aside(device: torch.device) -> Iterator[None]:
    """On a stream that can be captured: the current one, or beside the default one.

    Groups of runs train on streams of their own. Each is captured on its own, because a graph keeps the
    workspace that libraries have for the stream it was captured on.
    """
    current = torch.cuda.current_stream(device)
    if current != torch.cuda.default_stream(device):
        yield
        return
    if device not in _SIDE:
        _SIDE[device] = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    side = _SIDE[device]
    side.wait_stream(current)
    with torch.cuda.stream(side):
        yield
    current.wait_stream(side)
