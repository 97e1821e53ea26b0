"""The shape of one learning curve on log axes: its optimum, its power-law window, its level crossings.

Everything is read off the smoothed curve (`smoothing`); nothing is chosen by hand. `dynamical` and
`collapse` put the shapes of several sizes together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.learning_curves.mean_curves import SizeCurve
from scalinglab.results.distributions import FEWEST, Draws, Estimate, interval, jitter_of, slope
from scalinglab.results.types import Reason

# search: at which positions are read; about one a knot of the smoothed curve, which knows no more
LEVELS = 64
STEEP = 0.5  # convention: full width at half maximum; the window is where the slope is at least this part
# guard: factor of x over a falling part, below which x hardly varies and its power says nothing; those of the
# published curves of D'Amico et al. (2025) have 1.8 and more
LEAST_FACTOR = 1.2
RESAMPLES = 200  # search: of a curve; an end of a Gaussian's 68 % interval is then known to 5 % of its width


@dataclass(frozen=True)
class Optimum:
    """The best point of a curve, in logs, with what one standard error spans; overfits or saturates."""

    x: float
    y: float
    x_low: float
    x_high: float
    y_error: float
    kind: str


def optimum(curve: SizeCurve, generator: np.random.Generator) -> Optimum:
    """The optimum of one curve: the smallest mean error, at the minimum of the smoothed curve."""
    smoothed = curve.smoothed
    replicas = _replicas(curve, generator) @ smoothed.hat.T
    where = smoothed.knots[np.argmin(replicas, axis=1)]
    at = smoothed.lowest
    x = float(smoothed.knots[at])
    low, high = interval(Draws(where), 0.68, holding=x)
    rise = smoothed.values[-1] - smoothed.values[at]
    error = float(replicas.min(axis=1).std())
    if curve.stderr is not None and len(curve.runs) < FEWEST:  # too few to draw from, yet they lie apart
        error = max(error, float(curve.stderr[np.argmin(curve.y)]))
    overfits = at < smoothed.knots.size - 1 and rise > 3.0 * max(smoothed.noise, 1e-12)
    return Optimum(
        x=x,
        y=float(curve.y.min()),
        x_low=low,
        x_high=high,
        y_error=error,
        kind="overfits" if overfits else "saturates",
    )


def _replicas(curve: SizeCurve, generator: np.random.Generator) -> np.ndarray:
    """(RESAMPLES, n) curves that might have been measured instead: other runs, or other noise."""
    runs = curve.runs
    if runs.shape[0] >= FEWEST:
        picks = generator.integers(runs.shape[0], size=(RESAMPLES, runs.shape[0]))
        drawn = runs[picks]
        present = np.isfinite(drawn)
        total = np.where(present, drawn, 0.0).sum(axis=1)
        mean = total / np.maximum(present.sum(axis=1), 1)
        return np.where(present.any(axis=1), np.log(np.where(mean > 0, mean, 1.0)), curve.y)
    fitted = curve.smoothed(curve.x)
    return fitted + curve.smoothed.noise * generator.standard_normal((RESAMPLES, curve.x.size))


@dataclass(frozen=True)
class Window:
    """The power-law part of a curve, in logs; `drop` is ln ε from its start to the optimum."""

    low: float
    high: float
    slope: float
    slope_error: float
    drop: float
    resolved: bool


def power_law_window(curve: SizeCurve) -> Window:
    """The stretch around the steepest descent where the slope is at least half of the steepest."""
    smoothed = curve.smoothed
    at = smoothed.lowest
    steepness = -smoothed.slope
    peak = int(np.argmax(steepness[: at + 1]))
    steep = steepness >= STEEP * steepness[peak]
    first = peak - int(np.argmin(steep[: peak + 1][::-1])) + 1 if not steep[: peak + 1].all() else 0
    after = steep[peak:]
    last = peak + (int(np.argmin(after)) - 1 if not after.all() else after.size - 1)
    low, high = float(smoothed.knots[first]), float(smoothed.knots[last])
    inside = (curve.x >= low - 1e-9) & (curve.x <= high + 1e-9)
    if inside.sum() >= FEWEST:
        fall = -slope(curve.x[inside], curve.y[inside])
    else:
        fall = Estimate(float(steepness[first : last + 1].mean()))
    drop = float(smoothed.values[first] - smoothed.values[at])
    # noise from second differences, too: what a smooth curve of any shape cannot explain
    stands_out = at > 0 and drop > 5.0 * max(smoothed.noise, jitter_of(curve.y))
    resolved = bool(stands_out and high - low > np.log(LEAST_FACTOR))
    return Window(low, high, fall.value, fall.stderr, drop, resolved)


def level_crossings(found: list[SizeCurve], windows: list[Window]) -> tuple[np.ndarray, np.ndarray]:
    """Where every curve comes down to the same levels: (levels,) ln u and (s, levels) ln x at u · y_opt.

    The levels are those that every curve with a resolved window passes between the window and its minimum;
    a curve without one has no place along x, and NaN here.
    """
    resolved = np.array([window.resolved for window in windows])
    if resolved.sum() < FEWEST:
        narrow = [np.exp(w.high - w.low) for w in windows if w.high - w.low <= np.log(LEAST_FACTOR)]
        if len(found) - len(narrow) < FEWEST:
            raise NotDetermined(
                Reason("fall_over_no_range", factor=float(np.median(narrow)), least=LEAST_FACTOR)
            )
        raise BadInput(
            f"only {int(resolved.sum())} of {len(found)} sizes have a falling part that stands out of their "
            "noise, and neither exponents nor positions can be read off the others: train longer or average "
            "more seeds (collapse by='optimum' needs no falling part)"
        )
    top = min(window.drop for window in windows if window.resolved)
    levels = np.linspace(0.0, top, LEVELS)
    places = np.full((len(found), LEVELS), np.nan)
    places[resolved] = [crossings(curve, levels) for curve, keep in zip(found, resolved, strict=True) if keep]
    return levels, places


def crossings(curve: SizeCurve, levels: np.ndarray) -> np.ndarray:
    """(levels,) ln x at which the smoothed curve last comes down to `levels` above its minimum."""
    smoothed = curve.smoothed
    at = smoothed.lowest
    above = np.maximum.accumulate(smoothed.values[: at + 1][::-1]) - smoothed.values[at]
    return np.interp(levels, above, smoothed.knots[: at + 1][::-1])
