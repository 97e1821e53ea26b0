"""The SGD noise at which networks generalise best, and how it grows with width (park2019)."""

from scalinglab.laws.noise.comparisons import (
    Compared,
    OverTime,
    Stability,
    compare,
    compare_searches,
    over_time,
    searches,
    stability,
)
from scalinglab.laws.noise.optimum import OptimalNoise, optimal_noise
from scalinglab.laws.noise.runs import assume

__all__ = [
    "Compared", "OptimalNoise", "OverTime", "Stability", "assume", "compare", "compare_searches",
    "optimal_noise", "over_time", "searches", "stability",
]  # fmt: skip
