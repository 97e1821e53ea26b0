"""Frequencies of features or tasks."""

from __future__ import annotations

import math

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.support.validation import checked


@checked
def zipf(count: int, exponent: float, total: float = 1.0) -> np.ndarray:
    """p_i ~ i^-exponent for i = 1 … count, whose sum is `total`, the mean number that is active at once.

    >>> zipf(4, 1.0).round(2).tolist()
    [0.48, 0.24, 0.16, 0.12]
    """
    if count < 1 or not (math.isfinite(exponent) and exponent >= 0):
        raise BadInput(f"count = {count} must be 1 or more, and exponent = {exponent} zero or more")
    weights = np.arange(1, count + 1, dtype=float) ** -exponent
    found: np.ndarray = total * weights / weights.sum()
    return probabilities(found)


def probabilities(frequencies: np.ndarray) -> np.ndarray:
    """Frequencies, refused where they are no probabilities."""
    given = np.asarray(frequencies, float)
    if given.ndim != 1 or not given.size or not np.all((given >= 0) & (given <= 1)):
        raise BadInput(
            f"frequencies must be a list of probabilities; the largest of these is {given.max(initial=0):g}"
        )
    return given
