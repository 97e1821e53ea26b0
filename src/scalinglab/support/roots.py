"""Roots of many monotone functions at once, without derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def bisect(
    is_above: Callable[[np.ndarray], np.ndarray], low: Any, high: Any, rounds: int = 64
) -> tuple[np.ndarray, np.ndarray]:
    """Halve brackets around roots, elementwise.

    Args:
        is_above: whether points lie above the roots.
        low, high: the ends of the brackets.
        rounds: 64 find every digit.

    Returns:
        The ends of the brackets that are left.

    >>> low, high = bisect(lambda x: x**2 > np.array([2.0, 9.0]), [0.0, 0.0], [9.0, 9.0])
    >>> ((low + high) / 2).round(6).tolist()
    [1.414214, 3.0]
    """
    low, high = np.asarray(low, float), np.asarray(high, float)
    for _ in range(rounds):
        middle = (low + high) / 2
        above = is_above(middle)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return low, high
