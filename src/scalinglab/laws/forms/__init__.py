"""Forms: the families of curves that a law can follow, by name.

`one_variable` has y = f(x), `surfaces` the loss over parameters, data and time, `beyond_size` what else
shapes it: training, architecture, the shares of a data mixture; and scores from losses. Importing a module
adds its forms to `FORMS`, which `scalinglab laws forms` prints with their equations.
"""

from scalinglab.laws.forms import beyond_size, surfaces
from scalinglab.laws.forms.base import FORMS, Form, Parameter, get, register_form
from scalinglab.laws.forms.one_variable import broken_power_law

__all__ = [
    "FORMS", "Form", "Parameter", "beyond_size", "broken_power_law", "get", "register_form", "surfaces",
]  # fmt: skip
