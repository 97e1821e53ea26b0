"""Trainings that die at a step, and what begins again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from scalinglab.train.jobs import Group


class Killed(BaseException):
    """As a signal does: not an Exception."""


def watch(patch: pytest.MonkeyPatch, look: Callable[[Group], object]) -> None:
    """Look at each group before it goes on."""
    advance = Group.advance

    def looked(self: Group, steps: int) -> None:
        look(self)
        advance(self, steps)

    patch.setattr(Group, "advance", looked)


@contextmanager
def killed(step: int, death: type[BaseException] = Killed) -> Iterator[None]:
    """Groups that come to the step die."""

    def dies(group: Group) -> None:
        if group.step >= step:
            raise death

    with pytest.MonkeyPatch.context() as patch:
        watch(patch, dies)
        with pytest.raises(death):
            yield


def begun(patch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The number of runs in each group that begins from now on, and the step that it begins with."""
    groups: list[Group] = []
    seen: list[tuple[int, int]] = []

    def look(group: Group) -> None:
        if not any(group is one for one in groups):
            groups.append(group)
            seen.append((group.runs, group.step))

    watch(patch, look)
    return seen
