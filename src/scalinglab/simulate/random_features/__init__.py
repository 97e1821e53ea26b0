"""Random features at finite size: trained to the end (`static`), and along training (`dynamic`, `signs`)."""

from scalinglab.simulate.random_features.dynamic import train
from scalinglab.simulate.random_features.features import (
    FeaturePool,
    GaussianPool,
    NonlinearPool,
    relu_features,
)
from scalinglab.simulate.random_features.nested import nested_loss
from scalinglab.simulate.random_features.signs import sign_descent
from scalinglab.simulate.random_features.static import sweep

__all__ = [
    "FeaturePool",
    "GaussianPool",
    "NonlinearPool",
    "nested_loss",
    "relu_features",
    "sign_descent",
    "sweep",
    "train",
]
