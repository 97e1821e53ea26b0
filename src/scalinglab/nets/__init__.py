"""Network families, each with a width and a parameterization."""

from scalinglab.nets.build import FAMILIES, build
from scalinglab.nets.layers import Attention, BatchNorm, Conv, Dense
from scalinglab.nets.parameterization import Network, initialize, learning_rate_scales

__all__ = [
    "FAMILIES", "Attention", "BatchNorm", "Conv", "Dense", "Network",
    "build", "initialize", "learning_rate_scales",
]  # fmt: skip
