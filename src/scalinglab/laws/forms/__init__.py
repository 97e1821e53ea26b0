"""Forms: the families of curves that a law can follow, by name.

`one_variable` has y = f(x), `surfaces` the loss over parameters, data and time, `architecture` experts, bits,
vocabulary and streams, `training` over-training, learning rate, transfer and distillation, `mixtures` the
shares of a data mixture, `downstream` scores from losses. Importing a module adds its forms to `FORMS`, which
`scalinglab laws forms` prints with their equations.
"""

from scalinglab.laws.forms import architecture, downstream, mixtures, surfaces, training
from scalinglab.laws.forms.base import FORMS, Form, Parameter, get, register_form
from scalinglab.laws.forms.one_variable import broken_power_law

__all__ = [
    "FORMS", "Form", "Parameter", "architecture", "broken_power_law", "downstream", "get",
    "mixtures", "register_form", "surfaces", "training",
]  # fmt: skip
