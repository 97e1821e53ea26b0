"""What can be read off a network: norms, margins, kernels, dimension, noise scale."""

from scalinglab.measure.norms import NormTracker, norms, norms_batched, spectral_complexity

__all__ = ["NormTracker", "norms", "norms_batched", "spectral_complexity"]
