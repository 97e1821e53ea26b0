"""Laws: forms, fits, uncertainty, extrapolation, collapse, plans.

`fit` takes a form and points and gives a `Law`; `surface.fit` does it for L(n_params, n_data). Names are
loaded when they are first used; no module here has the name of a function that is offered here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalinglab.support.lazy import lazily

if TYPE_CHECKING:
    from scalinglab.laws import forms, schedule, surface
    from scalinglab.laws.compare import speedup
    from scalinglab.laws.extrapolation.stacking import extrapolate
    from scalinglab.laws.fitting.fit import fit
    from scalinglab.laws.fitting.law import Law, bootstrap
    from scalinglab.laws.fitting.solution import Certificate
    from scalinglab.laws.forms.base import Form, Parameter, register_form
    from scalinglab.laws.in_progress import final_loss
    from scalinglab.laws.learning_curves.collapse import collapse
    from scalinglab.laws.learning_curves.dynamical import dynamical
    from scalinglab.laws.mixing.shares import mixture
    from scalinglab.laws.noise import optimal_noise
    from scalinglab.laws.planning import questions as plan
    from scalinglab.laws.scores import downstream
    from scalinglab.laws.tuning.transfer import hyperparameters
    from scalinglab.results.distributions import Interval

__all__ = [
    "Certificate", "Form", "Interval", "Law", "Parameter", "bootstrap", "collapse", "downstream", "dynamical",
    "extrapolate", "final_loss", "fit", "forms", "hyperparameters", "mixture", "optimal_noise",
    "plan", "register_form", "schedule", "speedup", "surface",
]  # fmt: skip

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Certificate": "fitting.solution", "Form": "forms.base", "Interval": "fitting.solution",
        "Law": "fitting.law", "Parameter": "forms.base", "bootstrap": "fitting.law",
        "collapse": "learning_curves.collapse", "dynamical": "learning_curves.dynamical",
        "extrapolate": "extrapolation.stacking", "fit": "fitting.fit", "hyperparameters": "tuning.transfer",
        "mixture": "mixing.shares", "optimal_noise": "noise",
        "register_form": "forms.base", "speedup": "compare",
        "downstream": "scores", "final_loss": "in_progress",
    },
    modules={
        "forms": "forms", "plan": "planning.questions", "schedule": "schedule", "surface": "surface",
    },
)  # fmt: skip
