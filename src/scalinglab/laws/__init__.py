"""Laws: forms, fits, uncertainty, extrapolation, collapse, plans.

`fit` takes a form and points and gives a `Law`; `surface.fit` does it for L(n_params, n_data). Names are
loaded when they are first used; no module here has the name of a function that is offered here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalinglab.lazy import lazily

if TYPE_CHECKING:
    from scalinglab.laws import forms, plan, surface, uncertainty
    from scalinglab.laws.dynamics import dynamical
    from scalinglab.laws.error_budget import sources
    from scalinglab.laws.extrapolation import extrapolate
    from scalinglab.laws.fitting import fit
    from scalinglab.laws.form import Form, Parameter
    from scalinglab.laws.forms import register
    from scalinglab.laws.law import Certificate, Interval, Law
    from scalinglab.laws.noise import optimal_noise
    from scalinglab.laws.rescaling import collapse
    from scalinglab.laws.uncertainty import bootstrap

__all__ = [
    "Certificate", "Form", "Interval", "Law", "Parameter", "bootstrap", "collapse", "dynamical",
    "extrapolate", "fit", "forms", "optimal_noise", "plan", "register", "sources", "surface",
    "uncertainty",
]  # fmt: skip

__getattr__, __dir__ = lazily(
    __name__,
    {
        **dict.fromkeys(("forms", "plan", "surface", "uncertainty")),
        "Certificate": "law", "Form": "form", "Interval": "law", "Law": "law", "Parameter": "form",
        "bootstrap": "uncertainty", "collapse": "rescaling", "dynamical": "dynamics",
        "extrapolate": "extrapolation", "fit": "fitting", "optimal_noise": "noise", "register": "forms",
        "sources": "error_budget",
    },
)  # fmt: skip
