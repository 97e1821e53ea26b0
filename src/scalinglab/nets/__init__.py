"""Network families, each with a width and a parameterization."""

from scalinglab.errors import require

require("torch", "train", "building networks")

from scalinglab.nets.families import FAMILIES, build  # noqa: E402
from scalinglab.nets.layers import Attention, BatchNorm, Conv, Dense  # noqa: E402
from scalinglab.nets.linearized import Linearized  # noqa: E402
from scalinglab.nets.parameterization import Network, initialize, learning_rate_scales  # noqa: E402

__all__ = [
    "FAMILIES", "Attention", "BatchNorm", "Conv", "Dense", "Linearized", "Network",
    "build", "initialize", "learning_rate_scales",
]  # fmt: skip
