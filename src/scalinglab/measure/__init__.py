"""What can be read off a network: norms, margins, kernels, dimension, noise scale."""
