"""Numbers that a user gave, as arrays: real, of shapes that fit together, within what doubles can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalinglab.errors import BadInput

LARGEST = 1e150  # of numbers that are squared on the way


def real_array(name: str, values: Any) -> np.ndarray:
    """Values as floats; complex numbers, text and integers beyond 1e308 are refused by name."""
    given = np.asarray(values)
    if np.iscomplexobj(given):
        first = given.ravel()[0] if given.size else given.dtype
        raise BadInput(f"{name} holds complex numbers, such as {first}: give real ones")
    try:
        return given.astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"{name} must hold numbers: {error}") from error


def together(**values: Any) -> tuple[np.ndarray, ...]:
    """Arrays of one shape, or an error that names those that do not broadcast.

    >>> [array.shape for array in together(load=[1, 2, 3], sharpness=1.0)]
    [(3,), (3,)]
    """
    arrays = {name: real_array(name, value) for name, value in values.items()}
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items() if array.ndim)
        raise BadInput(f"these shapes do not broadcast: {shapes}; give one length") from None


def at_most(largest: float = LARGEST, **values: Any) -> None:
    """Refuse finite numbers so large that their squares or products are beyond what doubles hold."""
    for name, value in values.items():
        array = np.abs(np.asarray(value, float))
        if (wrong := array[np.isfinite(array) & (array > largest)]).size:
            raise BadInput(f"{name} = {wrong.flat[0]:g} is too large to compute with: at most {largest:g}")
