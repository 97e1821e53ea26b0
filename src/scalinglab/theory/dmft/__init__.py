"""Dynamical mean-field theory of random features in training: L(time, n_params, n_data)."""

from scalinglab.theory.dmft.dynamics import GradientDescent, GradientFlow, OnePassSGD
from scalinglab.theory.dmft.losses import Solution, solve
from scalinglab.theory.dmft.problem import Responses
from scalinglab.theory.dmft.stationary import Final, final

__all__ = [
    "Final",
    "GradientDescent",
    "GradientFlow",
    "OnePassSGD",
    "Responses",
    "Solution",
    "final",
    "solve",
]
