"""Validation of loads and sharpnesses."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.support.validation import real_array
from scalinglab.theory.perceptron.saddle import LOADS

SHARPEST = 1e10  # beyond, a peak of width 1/λ is too narrow for margins in double precision


def load_array(load: Any, low: float = LOADS[0], high: float = LOADS[1], why: str = "") -> np.ndarray:
    """Loads as floats, or an error that names the first one outside the range."""
    loads = real_array("load", load)
    bad = ~((loads >= low) & (loads <= high))
    if bad.any():
        first = loads[bad].flat[0]
        if not first > 0:
            raise BadInput(f"load={first:g} must be positive: it is the number of examples for each weight")
        reason = why or "the range in which the solution was checked to be accurate"
        raise BadInput(f"load={first:g} must lie between {low:g} and {high:g}: {reason}")
    return loads


def sharpness_array(sharpness: Any, finite: bool = False) -> np.ndarray:
    """Sharpnesses as floats: zero or more, infinity where the function has that limit."""
    values = real_array("sharpness", sharpness)
    bad = ~(values >= 0)
    if bad.any():
        raise BadInput(
            f"sharpness={values[bad].flat[0]:g} must be 0 (Hebb's rule), positive, or infinity "
            "(maximal stability)"
        )
    if finite and np.any(values > SHARPEST):
        raise BadInput(
            f"sharpness={values.max():g} has no density: a finite share of the margins equals the stability; "
            f"pass {SHARPEST:g} or less, or use max_stability or storage_stability"
        )
    return values
