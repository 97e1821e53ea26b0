"""States are written by a thread, and what they hold is freed by the thread that trains."""

from __future__ import annotations

import threading
import time
import weakref

import pytest

from scalinglab.train.checkpoints.saving import Saving


class Tensors:
    """Stands for tensors in pinned memory: freeing them acts on their stream."""


def test_tensors_of_a_state_are_freed_by_the_caller_and_not_by_the_writer() -> None:
    saving, freed_by, written_by = Saving(0.0), [], []
    for _ in range(20):
        tensors = Tensors()
        weakref.finalize(tensors, lambda: freed_by.append(threading.get_ident()))

        def write(held: Tensors = tensors) -> None:
            assert held is not None
            written_by.append(threading.get_ident())

        saving.write(write)
        del tensors, write
        time.sleep(0.002)  # the writer ends while the caller does something else
    saving.wait()
    saving.close()
    here = threading.get_ident()
    assert len(written_by) == 20
    assert here not in written_by
    assert freed_by == [here] * 20


def test_a_state_that_cannot_be_written_is_reported_and_the_next_one_is_written() -> None:
    saving, written = Saving(0.0), []

    def fails() -> None:
        raise OSError("no space left")

    saving.write(fails)
    with pytest.raises(OSError, match="no space left"):
        saving.wait()
    saving.write(lambda: written.append(1))
    saving.wait()
    saving.close()
    assert written == [1]


@pytest.mark.parametrize(("cost", "states"), [(0.1, 17), (2.0, 10), (8.0, 2)])
def test_states_are_written_every_minute_where_that_takes_two_percent_of_the_time(
    cost: float, states: int, clock
) -> None:
    clock.now = 0.0

    def write() -> None:
        clock.now += cost

    saving, written, last = Saving(60.0), 0, 0.0
    while clock.now < 1050:
        clock.now += 1  # of training
        if saving.due(last):
            saving.write(write)
            saving.wait()
            written, last = written + 1, clock.now
    saving.close()
    assert written == states
    assert written * cost <= 0.02 * clock.now
