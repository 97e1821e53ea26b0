"""Runs of park2019's experiments, which many of its figures share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from scalinglab.curves import Curves
from scalinglab.studies.shared import shared
from scalinglab.studies.trained import runs


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


def trained(settings: list[dict[str, Any]]) -> Curves:
    """The curves of these settings: read where they are kept, trained where they are missing."""
    return _trained(json.dumps(settings))


@shared
def _trained(settings: str) -> Curves:
    return runs(json.loads(settings), "park2019")
