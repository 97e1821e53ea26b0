"""One-pass training on random features, exact for Gaussian data, and the phases of SGD.

`solve` gives the loss of SGD, heavy ball and dimension-adapted momentum at any step; `phases` says which
terms limit the loss at the best use of compute, and with which exponents.
"""

from scalinglab.theory.dmft.dynamics import OnePassSGD
from scalinglab.theory.dmft.modes import Modes, drawn_modes
from scalinglab.theory.one_pass import phases
from scalinglab.theory.one_pass.moments import OnePass, solve
from scalinglab.theory.one_pass.optimizers import AdaptedMomentum, HeavyBall, Optimizer
from scalinglab.theory.one_pass.sign_descent import sign_descent

__all__ = [
    "AdaptedMomentum", "HeavyBall", "Modes", "OnePass", "OnePassSGD", "Optimizer", "drawn_modes",
    "phases", "sign_descent", "solve",
]  # fmt: skip
