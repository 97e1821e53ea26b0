"""A capture begins and ends whatever happens in it, and collects no garbage meanwhile."""

from __future__ import annotations

import gc

import pytest
import torch

from scalinglab.measure.network_norms.cuda_graphs import captured

MADE: list[Graph] = []


class Graph:
    """Stands for a CUDA graph."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        MADE.append(self)

    def capture_begin(self, **_: object) -> None:
        self.calls.append("begin")

    def capture_end(self) -> None:
        self.calls.append("end")

    def pool(self) -> tuple[int, int]:
        return (0, len(MADE))


@pytest.fixture(autouse=True)
def graphs(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)


def test_no_garbage_is_collected_in_a_capture() -> None:
    assert gc.isenabled()
    graph, result = captured(lambda: gc.isenabled())
    assert result is False
    assert graph.calls == ["begin", "end"]
    assert gc.isenabled()


def test_a_capture_that_fails_ends_and_lets_garbage_be_collected_again() -> None:
    def fails() -> None:
        raise ValueError("in a capture")

    with pytest.raises(ValueError, match="in a capture"):
        captured(fails)
    assert MADE[-1].calls == ["begin", "end"]
    assert gc.isenabled()


def test_collection_that_the_caller_switched_off_stays_off() -> None:
    gc.disable()
    try:
        captured(lambda: None)
        assert not gc.isenabled()
    finally:
        gc.enable()
