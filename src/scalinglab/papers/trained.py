"""Networks behind the figures: every run is trained once, into one store for each paper and scale.

A figure's function asks for its runs with `runs`. `scalinglab reproduce` keeps them in
``results/<paper>/runs/<scale>/``: what is in the store is read, what is missing is trained, a run that was
interrupted goes on from its state. Figures that need the same runs share them. Without a store (scale smoke
under ``reproduce check``) runs are trained in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalinglab.curves import Curves
    from scalinglab.train.extra_measurements import Reading

_STORE: ContextVar[Path | None] = ContextVar("store of the runs", default=None)


@contextmanager
def kept_in(store: Path | None) -> Iterator[None]:
    """Context in which `runs` reads and continues this store; None keeps nothing."""
    token = _STORE.set(store)
    try:
        yield
    finally:
        _STORE.reset(token)


def runs(
    settings: Sequence[Mapping[str, Any]],
    experiment: str,
    *,
    max_stacked: int | None = None,
    extra: Reading | None = None,
) -> Curves:
    """The curves of these settings: read from the store where they are done, trained where they are not.

    Args:
        settings: as `scalinglab.train.run_many` takes them.
        experiment: the study that the runs belong to, such as "fig2".
        max_stacked: the largest number of runs whose parameters are stacked.
        extra: further columns, read off the network at every checkpoint.
    """
    from scalinglab.train import run_many  # loads torch

    return run_many(settings, store=_STORE.get(), experiment=experiment, max_stacked=max_stacked, extra=extra)


def on_gpu() -> bool:
    """Whether runs are trained on a GPU."""
    import torch

    return torch.cuda.is_available()
