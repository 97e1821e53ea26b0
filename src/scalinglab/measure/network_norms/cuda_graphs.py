"""Functions of tensors at fixed addresses, captured as CUDA graphs and replayed.

Measuring the norms of a small network is hundreds of tiny kernels: on a GPU the time goes into launching
them, and then into waiting for one after the other. A captured graph is launched at once, and what does not
depend on each other runs side by side in it.

A graph keeps the streams it was captured on: with them their priority, and the workspace that libraries have
for each stream. Graphs that share a workspace must not run at the same time. Those made here are captured on
streams that nothing else uses, and all are replayed on one of them (`measurement_stream`). Other work on the
device, training or evaluation, runs concurrently.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from scalinglab.measure.free_memory import hold_pool, release_unused

Result = TypeVar("Result")

BRANCHES = 12  # streams beside the one that is captured
PRIORITY = -2  # training streams have −1: the host waits for a measurement, so it comes first


class Replays:
    """Calls functions; on a GPU a function is captured as a graph, and replayed when it is called again.

    Before the capture it is called plainly once, as libraries choose and allocate then: the first call is
    that one, unless a shorter `trial` of the same operations is given. A function must not wait for the
    device, and must read nothing that changes but the contents of tensors, which have to stay where they are.
    What it returns is overwritten by the next call. All calls are made on the `measurement_stream`.

    Args:
        device: Where the functions compute.
        wanted: Whether to capture anything, where it is a GPU.
        share_memory: Whether the graphs use the same memory, one after another: for functions that are never
            replayed side by side, and whose results are taken before any other is called.
    """

    def __init__(self, device: torch.device, wanted: bool = True, share_memory: bool = False) -> None:
        self.device = device
        self.share_memory = share_memory
        self.pool: Any = None
        self.captures = wanted and device.type == "cuda"
        self.tried: set[str] = set()
        self.made: dict[str, tuple[Any, Any]] = {}  # a graph, and what its function returned

    def __call__(
        self, name: str, function: Callable[[], Result], trial: Callable[[], object] | None = None
    ) -> Result:
        """`function()`, which is known by `name`."""
        if not self.captures:
            return function()
        if name not in self.tried:
            self.tried.add(name)
            if trial is None:
                return function()
            trial()
        if name not in self.made:
            self.made[name] = self._capture(function)
        graph, result = self.made[name]
        graph.replay()
        return result  # type: ignore[no-any-return]

    def _capture(self, function: Callable[[], Result]) -> tuple[Any, Result]:
        if self.share_memory and self.pool is None:
            self.pool = torch.cuda.graph_pool_handle()
        return captured(function, self.pool)


def captured(function: Callable[[], Result], pool: Any = None) -> tuple[Any, Result]:
    """A graph of what the function launches on the current stream, and what it returned.

    Other streams and threads go on meanwhile: unlike `torch.cuda.graph` this neither waits for the device nor
    returns free memory to it, unless little is left. No garbage is collected: freeing a tensor in pinned
    memory, or another graph, is not allowed in a capture.
    """
    release_unused()
    graph = torch.cuda.CUDAGraph()
    with _without_collection():
        # in the default mode an allocation of any other thread would end the capture with an error
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
        try:
            result = function()
        finally:
            graph.capture_end()
    hold_pool(graph)
    return graph, result


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def side_by_side(functions: Sequence[Callable[[], Result]], device: torch.device) -> list[Result]:
    """What the functions return; in a graph that is being captured each is a branch of its own.

    Nothing is freed on one stream and used on another meanwhile: what a function reads must be there before
    and stay, what it makes and drops is used again on its own stream only, and what it returns is alive
    until the branches have met. After that no stream but the current one is used.
    """
    captures = device.type == "cuda" and torch.cuda.is_current_stream_capturing()
    if not captures or len(functions) < 2:
        return [function() for function in functions]
    current = torch.cuda.current_stream(device)
    sides = _streams(device).sides[: len(functions)]
    for side in sides:
        # the side stream joins the capture; without the wait below the capture would fail at its end
        side.wait_stream(current)
    results = []
    for place, function in enumerate(functions):
        with torch.cuda.stream(sides[place % len(sides)]):
            results.append(function())
    for side in sides:
        current.wait_stream(side)
    return results


class Arriving:
    """Tensors as they are now, in asynchronous transfer from the device to the host."""

    def __init__(self, *tensors: Tensor) -> None:
        self.event: torch.cuda.Event | None = None
        if tensors[0].device.type == "cuda":
            # a copy into memory that is not pinned would make the host wait
            self.host = [torch.empty(t.shape, dtype=t.dtype, pin_memory=True) for t in tensors]
            for copy, tensor in zip(self.host, tensors):
                copy.copy_(tensor, non_blocking=True)
            self.event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self.event.record()  # type: ignore[no-untyped-call]
        else:
            # training goes on to change the tensors in place
            self.host = [t.clone() for t in tensors]

    def ready(self) -> bool:
        """Whether they have arrived."""
        return self.event is None or bool(self.event.query())  # type: ignore[no-untyped-call]

    def wait_all(self) -> list[Tensor]:
        """The tensors, on the host."""
        if self.event is not None:
            self.event.synchronize()  # type: ignore[no-untyped-call]
        return self.host

    def wait(self) -> Tensor:
        """The tensor, on the host, of a transfer of one."""
        (tensor,) = self.wait_all()
        return tensor


def turn(device: torch.device) -> contextlib.AbstractContextManager[object]:
    """The lock of a device: held while a measurement begins or ends there."""
    return _TURNS.setdefault(device, threading.RLock())


@contextlib.contextmanager
def measurement_stream(device: torch.device, after_current: bool) -> Iterator[None]:
    """Context of the stream of measurements; optionally it first waits for the current stream."""
    if device.type != "cuda":
        yield
        return
    streams = _streams(device)
    if after_current:
        streams.trunk.wait_stream(torch.cuda.current_stream(device))
    try:
        with torch.cuda.stream(streams.trunk):
            yield
    finally:
        streams.done.record(streams.trunk)


def follow(device: torch.device) -> None:
    """Make the current stream wait for launched measurements."""
    if device in STREAMS:
        torch.cuda.current_stream(device).wait_event(STREAMS[device].done)


def also_used_here(tensors: Iterable[Tensor]) -> None:
    """Let nothing else have the memory of another stream's tensors before the current stream is done."""
    for tensor in tensors:
        if tensor.is_cuda:
            tensor.record_stream(torch.cuda.current_stream(tensor.device))


def wait_for_last(device: torch.device) -> None:
    """Let the host wait for what measurements on a device launched, before memory of theirs is given up."""
    if device in STREAMS:
        STREAMS[device].done.synchronize()


@dataclass
class Streams:
    """`trunk` is the stream of measurements, `done` the end of what it got, `sides` are for branches."""

    trunk: torch.cuda.Stream
    sides: list[torch.cuda.Stream]
    done: torch.cuda.Event


_TURNS: dict[torch.device, threading.RLock] = {}
STREAMS: dict[torch.device, Streams] = {}


def _streams(device: torch.device) -> Streams:
    if device not in STREAMS:
        trunk, *sides = (
            torch.cuda.Stream(device, priority=PRIORITY)  # type: ignore[no-untyped-call]
            for _ in range(1 + BRANCHES)
        )
        one = torch.ones(1, 1, device=device)
        for stream in (trunk, *sides):  # their workspaces, outside of any graph's memory
            stream.wait_stream(torch.cuda.current_stream(device))
            with torch.cuda.stream(stream):
                torch.mm(one, one)
            torch.cuda.current_stream(device).wait_stream(stream)
        STREAMS[device] = Streams(trunk, sides, torch.cuda.Event())  # type: ignore[no-untyped-call]
    return STREAMS[device]
