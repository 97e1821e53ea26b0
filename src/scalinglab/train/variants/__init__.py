"""Training other than plain: linearised networks, and training at a fixed spectral complexity."""
