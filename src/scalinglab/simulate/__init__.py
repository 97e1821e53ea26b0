"""The solvable models at finite size, drawn at random and trained on this machine.

Each model is a submodule that is loaded when it is first used: ``scalinglab.simulate.perceptron`` and so on.
"""

from __future__ import annotations

from scalinglab.support.lazy import lazily

__all__ = ["feature_learning", "perceptron", "random_features", "sparse_features"]

__getattr__, __dir__ = lazily(__name__, modules={name: name for name in __all__})
