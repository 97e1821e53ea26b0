"""The teacher–student perceptron with logistic loss: exact learning curves, optimum, margins, rules.

D'Amico, Bocchi and Negri 2025, section 2 and appendix A. A student on the sphere learns α examples per weight
by minimising the logistic loss of sharpness λ (eq. 1); as λ grows it goes from Hebb's rule past a nearly
Bayes-optimal point to maximal stability. Under the plain logistic loss, λ is the norm ‖w‖/√N. `penalised` is
the student under other losses with a penalty on its norm, structured inputs and noisy labels.
"""

from scalinglab.theory.perceptron.margins import (
    MarginDistribution,
    margin_distribution,
    storage_margin_distribution,
    storage_stability,
)
from scalinglab.theory.perceptron.penalised import LOSSES, Penalised, penalised
from scalinglab.theory.perceptron.rules import (
    LearningRule,
    bayes,
    gibbs,
    hebb,
    max_stability,
)
from scalinglab.theory.perceptron.solution import (
    FixedNorm,
    Optimum,
    fixed_norm,
    intermediate_error,
    optimal_sharpness,
)

__all__ = [
    "LOSSES", "FixedNorm", "LearningRule", "MarginDistribution", "Optimum", "Penalised", "bayes",
    "fixed_norm", "gibbs", "hebb", "intermediate_error", "margin_distribution", "max_stability",
    "optimal_sharpness", "penalised", "storage_margin_distribution", "storage_stability",
]  # fmt: skip
