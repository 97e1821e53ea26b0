"""Runs of park2019's experiments, which many of its figures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scalinglab.curves import Curves, run_name
from scalinglab.papers.trained import kept, runs


def united(parts: Sequence[Curves]) -> Curves:
    """Curves of several searches as one table; a run that belongs to two of them is taken once."""
    seen: set[str] = set()
    fresh = []
    for part in parts:
        own = [run for run in part.runs if run not in seen]
        seen.update(own)
        if own:
            fresh.append(part.select(run=own))
    return Curves.concat(fresh)


_TRAINED: dict[str, Curves] = {}  # without a store: figures made by one process share their runs


def trained(settings: list[dict[str, Any]]) -> Curves:
    """The curves of these settings: read where they are kept, trained where they are missing."""
    if kept().store is not None:
        return runs(settings, "park2019")
    key = run_name({"settings": settings})
    if key not in _TRAINED:
        _TRAINED[key] = runs(settings, "park2019")
    return _TRAINED[key]
