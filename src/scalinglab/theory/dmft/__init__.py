"""Dynamical mean-field theory of random features in training: L(time, n_params, n_data).

`solve` gives every loss at any time, `final` the end of training and ridge regression in closed form, `early`
the corrections in 1/N and 1/P, `optimal_stopping` the best time to stop; `one_pass` is SGD under a schedule
of learning rates and `best_schedule` the schedule that ends lowest; `white` is the model with all eigenvalues
equal.
"""

from scalinglab.theory.dmft import white
from scalinglab.theory.dmft.dynamics import GradientDescent, GradientFlow, MultiPassSGD, OnePassSGD
from scalinglab.theory.dmft.losses import Early, Solution, early, solve
from scalinglab.theory.dmft.schedules import ScheduledSGD, best_schedule, one_pass
from scalinglab.theory.dmft.stationary import Final, final
from scalinglab.theory.dmft.white import Stopping, optimal_stopping

__all__ = [
    "Early", "Final", "GradientDescent", "GradientFlow", "MultiPassSGD", "OnePassSGD", "ScheduledSGD",
    "Solution", "Stopping", "best_schedule", "early", "final", "one_pass", "optimal_stopping", "solve",
    "white",
]  # fmt: skip
