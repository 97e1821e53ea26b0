"""Exact solutions of the solvable models: perceptron, kernels, random features, mean-field dynamics.

Each model is a submodule that is loaded when it is first used: ``scalinglab.theory.perceptron`` and so on.
"""

from __future__ import annotations

from scalinglab.support.lazy import lazily

__all__ = [
    "bottlenecks", "dmft", "feature_learning", "infinite_width", "kernel", "manifolds",
    "nonlinear_features", "one_pass", "perceptron", "random_features", "sparse_features",
]  # fmt: skip

__getattr__, __dir__ = lazily(__name__, modules={name: name for name in __all__})
