"""``scalinglab theory``: solve the exactly solvable models."""

from __future__ import annotations

from scalinglab.cli.theory import bottlenecks, dmft, kernel, perceptron  # noqa: F401  # they add commands
from scalinglab.cli.theory.group import app

__all__ = ["app"]
