"""Forms: the families of curves that a law can follow, by name.

`one_variable` has y = f(x), `surfaces` the forms of several variables; importing either adds its forms to
`FORMS`.
"""

from scalinglab.deprecation import renamed_names
from scalinglab.laws.forms import surfaces
from scalinglab.laws.forms.base import Form, Parameter
from scalinglab.laws.forms.one_variable import broken_power_law, equation_6
from scalinglab.laws.forms.registry import FORMS, get, register_form

__all__ = ["FORMS", "Form", "Parameter", "broken_power_law", "equation_6", "get", "register_form", "surfaces"]

__getattr__ = renamed_names(__name__, {"register": "register_form"})
