"""Forms that are sums of products of powers, made from their equation: E + A N^-alpha + B D^-beta.

Most published surfaces are of this kind. Their value and their derivatives follow from the text, so that both
are written once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from scalinglab.laws.forms.base import Form, Parameter

FACTOR = re.compile(r"(\([^)]*\)|\w+)(?:\^(-?)(\w+))?")  # a parameter, or a quantity to the power of one


def sum_of_powers(
    name: str,
    equation: str,
    parameters: tuple[Parameter, ...],
    quantities: Mapping[str, str | tuple[str, float] | tuple[str, Callable[[Any], Any]]],
    **more: Any,
) -> Form:
    """The form of an equation: terms with " + " between them, each a product with " " between factors.

    Args:
        equation: what follows a comma explains its letters.
        quantities: by how the equation writes each, the variable it is; or that and what it is divided by; or
            that and its logarithm as a function of x. Of several that share a variable the first counts it.
        more: of `Form`.
    """
    variables = tuple(dict.fromkeys(q if isinstance(q, str) else q[0] for q in quantities.values()))
    terms = [
        [(base, -1.0 if sign else 1.0, exponent) for base, sign, exponent in FACTOR.findall(term)]
        for term in equation.partition(",")[0].split(" + ")
    ]
    names = [p.name for p in parameters]

    def logs(x: Any) -> dict[str, Any]:
        found = {}
        for text, given in quantities.items():
            variable, how = (given, 1.0) if isinstance(given, str) else given
            values = x[variables.index(variable)] if len(variables) > 1 else x
            found[text] = how(x) if callable(how) else np.log(values if how == 1.0 else values / how)
        return found

    def function(x: Any, *values: Any) -> Any:
        log, value, total = logs(x), dict(zip(names, values, strict=True)), 0.0
        for term in terms:
            (scale,) = (base for base, _, exponent in term if not exponent)
            slope = sum(value[exponent] * (sign * log[base]) for base, sign, exponent in term if exponent)
            total = total + value[scale] * np.exp(slope)
        return total

    return Form(name, equation, parameters, function, variables=variables, **more)
