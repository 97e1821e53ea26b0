"""Random features at finite size: trained to the end (`static`), and along training (`dynamic`, `signs`)."""

from scalinglab.simulate.random_features.dynamic import sign_descent, train
from scalinglab.simulate.random_features.features import (
    FeaturePool,
    GaussianPool,
    NonlinearPool,
    relu_features,
)
from scalinglab.simulate.random_features.static import nested_loss, sweep

__all__ = [
    "FeaturePool", "GaussianPool", "NonlinearPool", "nested_loss", "relu_features", "sign_descent",
    "sweep", "train",
]  # fmt: skip
