"""The band of an extrapolation: noise, disagreement of the forecasts, and drift that grows with distance.

At the distance h = ln(x/x_last) the error of ln y has the variance

    s² + (V(h) + D h²)(1 + FEW/m),

- s², the noise: the scatter of ln y around the line through its two neighbours, recent points first. A
  curve that was made monotone hides its noise, and what follows is raw: there s is multiplied by HIDDEN;
- V(h), the weighted variance of the forecasts that are averaged;
- D, the drift: (PRIOR (SLOPE s₁)² + m d)/(PRIOR + m), between what the backtests of this curve give (d, the
  part of their squared errors that is neither noise nor disagreement, from m effective cuts) and a share
  of the recent slope s₁, which is what other curves of that steepness do. With few cuts the second counts,
  so that eight points give a usable band;
- FEW: the weights of the average were chosen on the same cuts.

Beyond about twice the range (h > REACH) the slope itself may change: (CHANGE s₂ (h − REACH) h)² is added, s₂
the larger of the recent slope and that of the whole curve. CHANGE was chosen on forecasts of published image
curves at ten times their range (benchmarks/forecasts.py).

A curve that rose by r in ln y may do so again: r² per unit of distance, up to one, is added to D h². For a
curve that still rises r is infinite, and so is the band: it is not continued.

Its distribution is Student's t with PRIOR + m − 1 degrees of freedom.
"""

from __future__ import annotations

import numpy as np

from scalinglab.laws.extrapolation.forecasters import MEMORIES, TREND_MEMORY
from scalinglab.results.distributions import LEAST_SPREAD, Student

# measured: benchmarks/extrapolation.py, as docs/benchmarks/extrapolation-protocol.md says
RECENT_SCATTER = np.median(MEMORIES)  # defined: in ln x, how fast old points fade from the noise
HIDDEN = 1.6  # how much larger than its scatter the noise of a monotone curve is
PRIOR = 12.0  # how many cuts the prior of the drift counts for
SLOPE = 0.15  # the prior drift, as a share of the recent slope
SLOPE_MEMORY = 2 * TREND_MEMORY  # defined: in ln x; a slope takes twice the points of a level
FEW = 4.0  # the weights were chosen on the same cuts: variances grow by 1 + FEW/cuts
REACH = 0.75  # in ln x: how far the slope is taken as it is
CHANGE = 0.1  # measured: benchmarks/forecasts.py; part by which the slope may change for each unit beyond


def band(
    ahead: np.ndarray,
    noise: float,
    disagreement: np.ndarray,
    drift: float,
    slope: float,
    cuts: float,
    rise: float = 0.0,
    steepest: float = 0.0,
) -> Student:
    """The distribution of ln y around the forecast at the distances `ahead` (n,), by the module's equation.

    Args:
        noise: s², its factor for monotone curves included.
        disagreement: (n,) V(h).
        drift: d, per squared distance.
        slope: s₁, of ln y against ln x.
        cuts: m.
        rise: r.
        steepest: s₂.
    """
    distance = np.maximum(ahead, 0.0)
    per_distance = (PRIOR * (SLOPE * slope) ** 2 + cuts * drift) / (PRIOR + cuts)
    again = np.where(distance > 0, rise, 0.0) * np.minimum(np.maximum(distance, 1e-12), 1.0)
    growing = disagreement + per_distance * distance**2 + again**2
    change = CHANGE * steepest * np.maximum(distance - REACH, 0.0) * distance
    scale = np.sqrt(noise + growing * (1.0 + FEW / cuts) + change**2)
    return Student(np.zeros_like(scale), np.maximum(scale, LEAST_SPREAD), PRIOR + cuts - 1.0)


def scatter(log_x: np.ndarray, y: np.ndarray) -> float:
    """The variance of one ln y about the line through its two neighbours; recent points count more."""
    share = (log_x[2:] - log_x[1:-1]) / (log_x[2:] - log_x[:-2])
    rest = np.log(y)[1:-1] - share * np.log(y)[:-2] - (1 - share) * np.log(y)[2:]
    weight = np.exp((log_x[1:-1] - log_x[-1]) / RECENT_SCATTER)
    return float(np.sum(weight * rest**2 / (1 + share**2 + (1 - share) ** 2)) / weight.sum())
