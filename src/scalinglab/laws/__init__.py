"""Laws: forms, fits, uncertainty, extrapolation, collapse, plans.

`fit` takes a form and points and gives a `Law`; `surface.fit` does it for L(n_params, n_data). Names are
loaded when they are first used; no module here has the name of a function that is offered here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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

_HOME = {
    "bootstrap": "uncertainty", "collapse": "rescaling", "dynamical": "dynamics",
    "extrapolate": "extrapolation", "Form": "form", "Parameter": "form", "optimal_noise": "noise",
    "Certificate": "law", "Interval": "law", "Law": "law",
    "register": "forms", "sources": "error_budget",
}  # fmt: skip
_MODULES = ("forms", "plan", "surface", "uncertainty")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'scalinglab.laws' has no attribute {name!r}")
    if name in _MODULES:
        return importlib.import_module(f"scalinglab.laws.{name}")
    value = getattr(importlib.import_module(f"scalinglab.laws.{_HOME.get(name, 'fitting')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)  # what a person may want to complete, not what this file imports
