"""The table of a simulation: one row for each draw and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scalinglab.curves import Curves


def of_draws(
    setting: Mapping[str, Any], times: np.ndarray, settings: Sequence[str] = (), **losses: np.ndarray
) -> Curves:
    """Curves of independent draws, numbered by the column `seed`.

    Args:
        setting: columns that are the same in every row.
        times: (times,).
        settings: columns of `setting` that `Curves` does not know as settings.
        losses: measured columns by name, each (draws, times).
    """
    from scalinglab.curves import Curves

    draws = len(next(iter(losses.values())))
    seeds, at = np.meshgrid(np.arange(draws), times, indexing="ij")
    columns = {"seed": seeds.ravel(), "time": at.ravel()} | {k: np.ravel(v) for k, v in losses.items()}
    return Curves({**setting, **columns}, settings=list(settings), source="simulate")
