"""What can be read off a network: norms, margins, cost, kernels, dimension, noise scale."""

from scalinglab.errors import require

require("torch", "train", "measuring networks")

from scalinglab.measure.alignment import KernelReading, alignment, drift  # noqa: E402
from scalinglab.measure.cost import Flops, flops  # noqa: E402
from scalinglab.measure.eigen import eigh  # noqa: E402
from scalinglab.measure.intrinsic import Dimension, dimension  # noqa: E402
from scalinglab.measure.margin import Margins, margins  # noqa: E402
from scalinglab.measure.network_norms.lanczos import Spectral, spectral_norm  # noqa: E402
from scalinglab.measure.network_norms.operators import ConvGeometry  # noqa: E402
from scalinglab.measure.network_norms.report import Report, norms, spectral_complexity  # noqa: E402
from scalinglab.measure.network_norms.tracker import Complexity, NormTracker  # noqa: E402
from scalinglab.measure.noise import (  # noqa: E402
    GradientNoise,
    gradient_noise,
    noise_scale,
    normalized_noise_scale,
)
from scalinglab.measure.tangent_kernel import ntk  # noqa: E402

__all__ = [
    "Complexity", "ConvGeometry", "Dimension", "Flops", "GradientNoise", "KernelReading", "Margins",
    "NormTracker", "Report", "Spectral", "alignment", "dimension", "drift", "eigh",
    "flops", "gradient_noise", "margins", "noise_scale", "normalized_noise_scale",
    "norms", "ntk", "spectral_complexity", "spectral_norm",
]  # fmt: skip
