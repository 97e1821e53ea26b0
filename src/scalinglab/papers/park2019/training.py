"""Runs of park2019's experiments: read from a store where they are done, trained where they are missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scalinglab.curves import Curves

_TRAINED: dict[tuple[str, ...], Curves] = {}  # without a store: entries of one process share their runs


def trained(settings: list[dict[str, Any]], store: Path | None) -> Curves:
    """The curves of these settings; what a store has of them is not trained again.

    Args:
        settings: of `scales`.
        store: where runs are kept and continued; None keeps them in memory.
    """
    from scalinglab import train

    wanted = [train.Setting(**own) for own in settings]
    if store is not None:
        return train.run_many(wanted, store=store, experiment="park2019")
    key = tuple(one.run for one in wanted)
    if key not in _TRAINED:
        _TRAINED[key] = train.run_many(wanted, progress=False, experiment="park2019")
    return _TRAINED[key]
