"""The power p of values ∝ width^p, by least squares in logs."""

from __future__ import annotations

import numpy as np

from scalinglab.results.estimate import Estimate


def powers(width: np.ndarray, values: np.ndarray) -> np.ndarray:
    """p for each row of values (…, widths); NaN for one width."""
    if len(width) < 2:
        return np.full(values.shape[:-1], np.nan)
    centred = np.log(width) - np.log(width).mean()
    return np.asarray(np.log(values) @ centred / (centred @ centred))


def power(width: np.ndarray, values: np.ndarray, drawn: np.ndarray) -> Estimate:
    """p of measured values (widths,), with the error of resampled ones (draws, widths); NaN for one width."""
    if len(width) < 2:
        return Estimate(float("nan"))
    spread = powers(width, drawn)
    return Estimate.from_draws(float(powers(width, values)), spread[np.isfinite(spread)])
