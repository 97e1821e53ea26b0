"""The teacher–student and storage perceptron at finite size: students of fixed and of free norm.

`draw` makes a batch of problems, one a seed; `fixed_norm` minimises the loss of eq. 1 of D'Amico et al. 2025
on the sphere, `free_norm` runs gradient descent without a constraint; `penalised` minimises
other losses with a penalty on the norm; `infinite_size` extrapolates in 1/N.
The exact counterpart is `scalinglab.theory.perceptron`.
"""

from scalinglab.simulate.perceptron.free import METHODS, free_norm
from scalinglab.simulate.perceptron.penalised import penalised
from scalinglab.simulate.perceptron.problem import InfiniteSize, Problem, draw, infinite_size
from scalinglab.simulate.perceptron.sphere import fixed_norm, minimisers

__all__ = [
    "METHODS", "InfiniteSize", "Problem", "draw", "fixed_norm", "free_norm", "infinite_size",
    "minimisers", "penalised",
]  # fmt: skip
