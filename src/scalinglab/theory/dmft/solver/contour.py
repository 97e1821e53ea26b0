"""Contours: an observable at time t is an integral of its transform around the spectrum of −K.

    observable(t) = ∮ ds/(2πi) f_t(s) transform(s)

Two contours, both in the upper half plane only (the lower is its conjugate), both with trapezoidal sums that
converge geometrically:

- late times: a hyperbola (Weideman and Trefethen 2007), one a decade of time, in the variable whose
  exponential the filter becomes; only the slow end of the spectrum matters, at any length of it;
- early times, and fast oscillations: an ellipse around the whole spectrum, as wide as the filter's growth
  outside it allows. It serves any entire filter and every time from 0 on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scalinglab.errors import NotConverged
from scalinglab.theory.dmft.dynamics import Dynamics

NODES = 32  # on the upper half of a hyperbola
RATIO = 10.0  # latest over earliest time on one hyperbola
ANGLE = 1.0236  # the best angle for that ratio
GROWTH = 3.0  # log of the filter's growth that an ellipse allows; costs twice as many digits, base e
MOST_NODES = 2048  # guard: pairs of frequencies cost the square of it, in time and memory


@dataclass(frozen=True, eq=False)
class Contour:
    """Nodes and weights on the upper half of a contour.

    Attributes:
        s: nodes, from the positive end round to the negative, shape (nodes,).
        weight: ds/(2πi) of each.
        times: which of the times asked for it serves.
        crossing: where the contour crosses the real axis to the right of the spectrum.
    """

    s: np.ndarray
    weight: np.ndarray
    times: np.ndarray
    crossing: float


def hyperbolas(
    dynamics: Dynamics, times: np.ndarray, indices: np.ndarray, centre: float = 0.0
) -> list[Contour]:
    """One hyperbola for each decade of `times[indices]`, around the spectrum to the left of s = centre."""
    if not indices.size:
        return []
    ordered = indices[np.argsort(times[indices])]
    decade = np.floor(np.log(times[ordered] / times[ordered[0]]) / math.log(RATIO) - 1e-9)
    opening = (math.pi - 2 * ANGLE) * RATIO + 4 * ANGLE - math.pi
    width = math.acosh(opening / ((4 * ANGLE - math.pi) * math.sin(ANGLE)))
    step = width / NODES
    u = (np.arange(NODES) + 0.5) * step
    contours = []
    for members in np.split(ordered, np.flatnonzero(np.diff(decade)) + 1):
        scale = (4 * math.pi * ANGLE - math.pi**2) / width * NODES / (RATIO * times[members[0]])
        shift = dynamics.rate(centre) if centre else 0.0
        rate = shift + scale * (1 - math.sin(ANGLE) * np.cosh(u) + 1j * math.cos(ANGLE) * np.sinh(u))
        along = scale * (-math.sin(ANGLE) * np.sinh(u) + 1j * math.cos(ANGLE) * np.cosh(u))
        s, slope = dynamics.frequency(rate)
        crossing, _ = dynamics.frequency(np.array(shift + scale * (1 - math.sin(ANGLE))))
        contours.append(Contour(s, step * along * slope / (2j * math.pi), members, float(crossing.real)))
    return contours


def ellipses(dynamics: Dynamics, times: np.ndarray, indices: np.ndarray, largest: float) -> list[Contour]:
    """Ellipses around the whole spectrum [−largest, 0]: one for all times, or one a decade if it is long."""
    if not indices.size:
        return []
    whole = _ellipse(dynamics, times, indices, largest)
    if len(whole.s) <= 4 * NODES:
        return [whole]
    decade = np.floor(np.log10(np.maximum(times[indices], 1e-3)))
    return [_ellipse(dynamics, times, indices[decade == d], largest) for d in np.unique(decade)]


def _ellipse(dynamics: Dynamics, times: np.ndarray, indices: np.ndarray, largest: float) -> Contour:
    largest = largest * (1 + 1e-6)
    size = _size(dynamics, float(times[indices].max()), largest)
    half = math.ceil(18 / size)
    if half > MOST_NODES:
        raise NotConverged(
            f"the dynamics {dynamics} oscillate too long (until time {times[indices].max():g}) for a contour "
            f"of {MOST_NODES} nodes; take less momentum, a smaller learning rate or earlier times"
        )
    angle = (np.arange(half) + 0.5) * math.pi / half
    s = largest / 2 * (np.cosh(size + 1j * angle) - 1)
    along = largest / 2 * 1j * np.sinh(size + 1j * angle)
    return Contour(s, along * (math.pi / half) / (2j * math.pi), indices, largest / 2 * (math.cosh(size) - 1))


def _size(dynamics: Dynamics, time: float, largest: float) -> float:
    """log ρ of the largest Bernstein ellipse on which the filter stays within e^GROWTH of its size inside."""
    angle = np.linspace(0, math.pi, 129)
    at = np.array([time])

    def log_magnitude(size: float) -> float:
        s = largest / 2 * (np.cosh(size + 1j * angle) - 1)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return float(np.log(np.nanmax(np.abs(dynamics.filter(s, at))) + 1e-300))

    inside = max(0.0, log_magnitude(0.0))
    low, high = 1e-4, 1.2
    if log_magnitude(high) <= inside + GROWTH:
        return high
    for _ in range(16):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if log_magnitude(middle) <= inside + GROWTH else (low, middle)
    return low
