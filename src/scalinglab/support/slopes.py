"""The derivatives of a form by its parameters, from the function that gives the curve.

The function is called once with parameters that remember what is made of them. Every elementary step keeps
the slopes by its inputs, and these are multiplied back from the curve to each parameter (reverse
accumulation; Griewank and Walther 2008): exact to rounding, for about three curves' cost however many
parameters there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from scipy.special import expit

Slope = Callable[..., Any]  # of the result and the inputs


def _first(y: Any, a: Any, b: Any) -> Any:
    """By the first of two, of which the larger counts: half where they are equal."""
    return (a > b) + 0.5 * (a == b)


def softplus(x: Any) -> Any:
    """ln(1 + e^x), as `np.logaddexp(0, x)` and faster."""
    if isinstance(x, Traced):
        return x.made_by(softplus, (x,))
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


# defined: of every elementary step the slopes by its inputs; None where it is 1
RULES: dict[Any, tuple[Slope | None, ...]] = {
    np.add: (None, None),
    np.subtract: (None, lambda y, a, b: -1.0),
    np.multiply: (lambda y, a, b: b, lambda y, a, b: a),
    np.divide: (lambda y, a, b: 1 / b, lambda y, a, b: -y / b),
    np.power: (lambda y, a, b: b * a ** (b - 1), lambda y, a, b: y * np.log(a)),
    np.negative: (lambda y, a: -1.0,),
    np.positive: (None,),
    np.square: (lambda y, a: 2 * a,),
    np.sqrt: (lambda y, a: 0.5 / y,),
    np.exp: (lambda y, a: y,),
    np.expm1: (lambda y, a: y + 1,),
    np.log: (lambda y, a: 1 / a,),
    np.log1p: (lambda y, a: 1 / (1 + a),),
    np.abs: (lambda y, a: np.sign(a),),
    np.maximum: (_first, lambda y, a, b: _first(y, b, a)),
    np.minimum: (lambda y, a, b: _first(y, b, a), _first),
    np.logaddexp: (lambda y, a, b: np.exp(a - y), lambda y, a, b: np.exp(b - y)),
    np.hypot: (lambda y, a, b: a / y, lambda y, a, b: b / y),
    np.where: (None, lambda y, c, a, b: np.where(c, 1.0, 0.0), lambda y, c, a, b: np.where(c, 0.0, 1.0)),
    expit: (lambda y, a: y * (1 - y),),
    softplus: (lambda y, a: np.exp(a - y),),
}
ONE = 1.0  # the slope of the curve by itself: whatever it would multiply is taken as it is
STEPS = (np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.sign)


class Traced(NDArrayOperatorsMixin):
    """A number that follows from parameters, with its slopes by what it was made of.

    Attributes:
        value: the number.
        parents: what it was made of, each with the slope; None for 1.
        tape: all numbers of one curve, in the order in which they were made.
    """

    __slots__ = ("parents", "slope", "tape", "value")

    def __init__(self, value: Any, tape: list[Traced], parents: Sequence[tuple[Traced, Any]] = ()) -> None:
        self.value, self.parents, self.tape = value, parents, tape
        self.slope: Any = None  # of the curve by this number
        tape.append(self)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("an array of its values would lose the slopes")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        return self.made_by(ufunc, inputs)

    def __array_function__(self, function: Any, _: Any, inputs: tuple[Any, ...], options: Any) -> Any:
        return NotImplemented if options else self.made_by(function, inputs)

    def made_by(self, function: Any, inputs: tuple[Any, ...]) -> Any:
        """function(*inputs), of which this number is one; plain where it has no slope anywhere."""
        values = [given.value if isinstance(given, Traced) else given for given in inputs]
        rules = RULES.get(function)
        if rules is None:
            return function(*values) if function in STEPS else NotImplemented
        found = function(*values)
        parents = [
            (given, None if rule is None else rule(found, *values))
            for given, rule in zip(inputs, rules, strict=True)
            if isinstance(given, Traced)
        ]
        return Traced(found, self.tape, parents)


def without_slopes(value: Any) -> Any:
    """The value of a number, without its slopes."""
    return value.value if isinstance(value, Traced) else value


def slopes(function: Callable[..., Any], x: Any, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The derivatives of function(x, *values) by each of the values, which broadcast to the curve.

    None where the function takes a step that has no rule here.
    """
    tape: list[Traced] = []
    leaves = [Traced(value, tape) for value in values]
    try:
        curve = function(x, *leaves)
    except TypeError:
        return None
    if not isinstance(curve, Traced):
        return None
    curve.slope = ONE
    for number in reversed(tape):
        if number.slope is None:
            continue
        for parent, slope in number.parents:
            if number.slope is ONE and slope is not None:
                part = slope
            else:
                part = number.slope if slope is None else number.slope * slope
            parent.slope = part if parent.slope is None else parent.slope + part
    return tuple(0.0 if leaf.slope is None else leaf.slope for leaf in leaves)
