"""What can be read off a network: norms, margins, cost, kernels, dimension, noise scale."""

from scalinglab.errors import require

require("torch", "train", "measuring networks")

from scalinglab.measure.complexity import (  # noqa: E402
    Report,
    norms,
    norms_batched,
    spectral_complexity,
)
from scalinglab.measure.cost import Flops, flops  # noqa: E402
from scalinglab.measure.functional import fisher_rao  # noqa: E402
from scalinglab.measure.intrinsic import Dimension, dimension  # noqa: E402
from scalinglab.measure.kernels import kernel_spectrum, ntk  # noqa: E402
from scalinglab.measure.margin import Margins, margins  # noqa: E402
from scalinglab.measure.noise import (  # noqa: E402
    GradientNoise,
    gradient_noise,
    noise_from_two_batches,
    noise_scale,
    normalized_noise_scale,
)
from scalinglab.measure.norm_tracker import Complexity, NormTracker  # noqa: E402
from scalinglab.measure.operators import ConvGeometry  # noqa: E402
from scalinglab.measure.spectral import Spectral, spectral_norm  # noqa: E402

__all__ = [
    "Complexity", "ConvGeometry", "Dimension", "Flops", "GradientNoise", "Margins", "NormTracker", "Report",
    "Spectral", "dimension", "fisher_rao", "flops", "gradient_noise", "kernel_spectrum", "margins",
    "noise_from_two_batches", "noise_scale", "normalized_noise_scale", "norms", "norms_batched", "ntk",
    "spectral_complexity", "spectral_norm",
]  # fmt: skip
