"""What a form is: a family of curves y = f(x; parameters), as data; and forms by name.

A `Form` holds its parameters with bounds, which of them enter linearly, where a fit starts, and one function
that broadcasts. Most published surfaces are sums of products of powers: `sum_of_powers` makes their value and
their derivatives from the equation, E + A N^-alpha + B D^-beta, so that it is written once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from scalinglab.errors import BadInput, nearest
from scalinglab.results.types import Reason
from scalinglab.support import extensions
from scalinglab.support.slopes import slopes
from scalinglab.support.validation import checked

Start = Callable[[np.ndarray, np.ndarray], Any]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a form.

    Attributes:
        name: a word.
        low, high: bounds; the ends are allowed.
        linear: the form is linear in it (y = Σ linear_j · basis_j(x)), so that a fit solves for it.
        log: a fit steps in its logarithm; for positive scales.
        start: values from which a fit starts where the parameter is not linear, or a function of (x, y).
        prior: (value, spread) of a Gaussian prior, None for none; the spread of a parameter that is stepped
            in its logarithm is that of the logarithm.
    """

    name: str
    low: float = -np.inf
    high: float = np.inf
    linear: bool = False
    log: bool = False
    start: Sequence[float] | Start = (1.0,)
    prior: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise BadInput(f"parameter {self.name!r}: low={self.low:g} must be below high={self.high:g}")
        if self.log and self.low < 0:
            raise BadInput(f"parameter {self.name!r} is stepped in its logarithm: give low=0 or more")
        if self.prior is not None:
            self._check_prior(*self.prior)

    def _check_prior(self, value: float, spread: float) -> None:
        if not (np.isfinite(value) and np.isfinite(spread) and spread > 0):
            raise BadInput(
                f"prior of {self.name!r}: ({value:g}, {spread:g}) must be finite, the spread positive"
            )
        if not self.low <= value <= self.high or (self.log and value <= 0):
            raise BadInput(
                f"prior of {self.name!r}: {value:g} must lie within its bounds, {self.low:g} … {self.high:g}"
            )

    def starts(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The values from which a fit starts, inside the bounds."""
        values = self.start(x, y) if callable(self.start) else self.start
        return np.clip(np.atleast_1d(np.asarray(values, float)), self.low, self.high)


@dataclass(frozen=True)
class Form:
    """A family of curves.

    Attributes:
        name: what `fit` and the command line call it.
        equation: as readable text.
        parameters: in the order in which `function` takes them after x.
        function: (x, *parameters) -> y; plain NumPy that broadcasts.
        exponent: the parameter that is the law's exponent, a function of all of them, or None; a number where
            `bounded` holds it.
        derived: (parameters by name) -> further quantities by name, such as thresholds.
        complete: (x, y, starts by name) -> start values, by name, of parameters that follow from the others.
        gradient: (x, *parameters) -> the derivatives of `function` by each parameter, where `function` takes
            steps that `slopes` does not know.
        rescale: (parameters of the curve of y/b over x/a, a, b) -> parameters of the curve of y over x; where
            it is there a fit works in standardised units, and its result does not depend on those given.
        variables: what x is; a surface has two or more, and its function takes x of shape (variables, …).
        zeros: variables that may be zero (a share of a mixture, say); the others must be positive.
        doc: one line on where it comes from, with the number of the equation.
        automatic: whether "auto" may choose it for a surface of its variables.
        fixed: parameters that `bounded` holds at a value.
        tied: parameters that `tying` sets equal to another.
    """

    name: str
    equation: str
    parameters: tuple[Parameter, ...]
    function: Callable[..., Any]
    exponent: str | float | Callable[[Mapping[str, Any]], Any] | None = None
    derived: Callable[[Mapping[str, float]], dict[str, float]] | None = None
    complete: Callable[[Any, Any, Mapping[str, Any]], dict[str, Any]] | None = None
    gradient: Callable[..., tuple[Any, ...]] | None = None
    rescale: Callable[[Mapping[str, float], float, float], dict[str, float]] | None = None
    variables: tuple[str, ...] = ("x",)
    zeros: tuple[str, ...] = ()
    doc: str = ""
    automatic: bool = True
    fixed: Mapping[str, float] = field(default_factory=dict)
    tied: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise BadInput(f"form {self.name!r} names a parameter twice: {', '.join(self.names)}")
        if isinstance(self.exponent, str) and self.exponent not in self.names:
            raise BadInput(
                f"form {self.name!r}: exponent={self.exponent!r}; {nearest(self.exponent, self.names)}"
            )

    def equation_of(self, left: str = "y") -> str:
        """The equation with its left side, which one that y follows from only implicitly has itself."""
        has_left = self.equation.startswith(f"{left} = ") or re.search(r"\by\b.* = ", self.equation)
        return self.equation if has_left else f"{left} = {self.equation}"

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names in order."""
        return tuple(p.name for p in self.parameters)

    @property
    def unknown(self) -> int:
        """How many parameters have no prior: what so many sizes, or more, determine."""
        return sum(p.prior is None for p in self.parameters)

    def __call__(self, x: Any, *values: Any, **named: Any) -> Any:
        """The curve at x, for parameters in order or by name."""
        if wrong := [n for n in named if n not in self.names]:
            raise BadInput(
                f"form {self.name!r} has no parameter {wrong[0]!r}; {nearest(wrong[0], self.names)}"
            )
        given = dict(zip(self.names, values))
        if twice := [n for n in named if n in given]:
            raise BadInput(f"form {self.name!r}: {twice[0]!r} is given in order and by name; give it once")
        given |= named
        if len(values) > len(self.names) or len(given) < len(self.names):
            absent = [n for n in self.names if n not in given]
            problem = f"{', '.join(absent)} missing" if absent else f"{len(values)} values were given"
            raise BadInput(f"form {self.name!r} takes {', '.join(self.names)}: {problem}")
        return self.function(np.asarray(x, float), *(given[n] for n in self.names))

    def gradient_at(self, x: Any, *values: Any) -> tuple[Any, ...] | None:
        """The derivatives of the curve by each parameter; None where they are for differences to find."""
        return self.gradient(x, *values) if self.gradient else slopes(self.function, x, values)

    @property
    def rescalable(self) -> bool:
        """Whether the fit may work in other units: none is part of a bound, prior, fixed or tied value."""
        if self.rescale is None or self.fixed or self.tied:
            return False
        moved = self.rescale(dict.fromkeys(self.names, 1.5), 2.0, 3.0)
        free = (0.0, -np.inf, np.inf)
        return all(
            p.prior is None and (moved[p.name] == 1.5 or (p.low in free and p.high in free))
            for p in self.parameters
        )

    def get_exponent(self, values: Mapping[str, Any]) -> Any:
        """The exponent that these parameters give, None where the form has none."""
        if callable(self.exponent):
            return self.exponent(values)
        return values[self.exponent] if isinstance(self.exponent, str) else self.exponent

    def expand(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The free parameters with those that are fixed or tied."""
        found = {**values, **self.fixed}
        return found | {name: found[other] for name, other in self.tied.items()}

    def given(self, name: str) -> Reason:
        """Why a parameter is not free."""
        return Reason("tied", to=self.tied[name]) if name in self.tied else Reason("fixed")

    def with_priors(self, priors: Mapping[str, tuple[float, float]]) -> Form:
        """The same form with (value, spread) priors on some parameters; see `Parameter`."""
        for name in priors:
            self._known(name, "prior of")
        changed = (replace(p, prior=priors[p.name]) if p.name in priors else p for p in self.parameters)
        return replace(self, parameters=tuple(changed)) if priors else self

    def tying(self, tie: Mapping[str, str]) -> Form:
        """The same form with some parameters set equal to others, ``{"beta": "alpha"}``."""
        for name, other in tie.items():
            self._known(name, "tie")
            self._known(other, "tie")
            if other == name or other in tie:
                raise BadInput(f"tie {name}={other}: {other!r} must be another parameter, itself not tied")
        return _reduced(self, {}, tie) if tie else self

    def _known(self, name: str, what: str) -> None:
        if name not in self.names:
            raise BadInput(f"{what} {name!r}: {self.name} has no such parameter; {nearest(name, self.names)}")

    def bounded(self, bounds: Mapping[str, tuple[float, float]]) -> Form:
        """The same form with other bounds; ``(v, v)`` holds a parameter at v."""
        if not bounds:
            return self
        for name, ends in bounds.items():
            if name not in self.names:
                raise BadInput(
                    f"bounds for {name!r}: {self.name} has no such parameter; {nearest(name, self.names)}"
                )
            try:
                low, high = map(float, ends)
            except (TypeError, ValueError) as error:
                raise BadInput(f"bounds of {name!r}: {ends!r} must be two numbers, (low, high)") from error
            if not low <= high:
                raise BadInput(f"bounds of {name!r}: low={low:g} must not exceed high={high:g}")
        fixed = {n: float(low) for n, (low, high) in bounds.items() if low == high}
        free = []
        for p in self.parameters:
            if p.name in bounds and p.name not in fixed:
                low, high = map(float, bounds[p.name])
                p = replace(p, low=low, high=high, log=p.log and low >= 0)
            free.append(p)
        changed = replace(self, parameters=tuple(free))
        return _reduced(changed, fixed, {}) if fixed else changed


def _reduced(form: Form, fixed: Mapping[str, float], tie: Mapping[str, str]) -> Form:
    """`form` without some parameters: those that are held at a value, and those that equal another."""
    linear = {p.name for p in form.parameters if p.linear}
    free = tuple(
        replace(p, linear=p.linear and all(n in linear for n, other in tie.items() if other == p.name))
        for p in form.parameters
        if p.name not in fixed and p.name not in tie
    )
    names, given, derived = [p.name for p in free], form.complete, form.derived

    def everything(values: Mapping[str, Any]) -> dict[str, Any]:
        known = {**values, **fixed}
        return known | {name: known[other] for name, other in tie.items() if other in known}

    def function(x: Any, *values: Any) -> Any:
        known = everything(dict(zip(names, values, strict=True)))
        return form.function(x, *(known[name] for name in form.names))

    def complete(x: Any, y: Any, starts: Mapping[str, Any]) -> dict[str, Any]:
        assert given is not None
        return {k: v for k, v in given(x, y, everything(starts)).items() if k in names}

    return replace(
        form, parameters=free, function=function, gradient=None, complete=complete if given else None,
        exponent=_exponent(form, fixed, tie, everything),
        derived=(lambda values: derived(everything(values))) if derived else None,
        fixed={**form.fixed, **fixed}, tied={**form.tied, **tie},
    )  # fmt: skip


def _exponent(
    form: Form, fixed: Mapping[str, float], tie: Mapping[str, str],
    everything: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> Any:  # fmt: skip
    if isinstance(form.exponent, str):
        return fixed.get(form.exponent, tie.get(form.exponent, form.exponent))
    if not callable(whole := form.exponent):
        return whole
    try:
        return float(whole(fixed))  # what follows from fixed parameters alone is fixed, too
    except KeyError:
        return lambda values: whole(everything(values))


FORMS: dict[str, Form] = {}
_FAMILIES: dict[str, Callable[..., Form]] = {}


@checked
def register_form(form: Form, *aliases: str) -> Form:
    """Add a form, under its name and aliases, for `fit` and the command line."""
    for name in (form.name, *aliases):
        FORMS[name] = form
    return form


def family(pattern: str) -> Callable[[Callable[..., Form]], Callable[..., Form]]:
    """Add forms without end: whatever name matches the pattern is made from the pattern's groups."""

    def add(make: Callable[..., Form]) -> Callable[..., Form]:
        _FAMILIES[pattern] = make
        return make

    return add


def load(name: str) -> Form:
    """The form ``module:attribute`` of the user's own code, or what a function of that name makes.

    Modules of the working folder are found, too.
    """
    found = extensions.load(name, "form")
    form = found() if callable(found) and not isinstance(found, Form) else found
    if not isinstance(form, Form):
        raise BadInput(f"form {name!r} is a {type(form).__name__}: it must be a scalinglab.laws.Form")
    return form


@checked
def get(form: str | Form) -> Form:
    """The form of that name, or an error that names the nearest one; a `Form` is returned as it is.

    ``module:attribute`` loads a form from the user's own code.
    """
    if isinstance(form, Form):
        return form
    if not isinstance(form, str):
        raise BadInput(f"form={form!r} must be a name, such as 'power_law', or a Form")
    if ":" in form:
        return load(form)
    for pattern, make in _FAMILIES.items():
        if match := re.fullmatch(pattern, form):
            return make(*match.groups())
    if form in FORMS:
        return FORMS[form]
    raise BadInput(f"no form {form!r}; {nearest(form, FORMS)}")


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
        log, value, found = logs(x), dict(zip(names, values, strict=True)), []
        for term in terms:
            (scale,) = (base for base, _, exponent in term if not exponent)
            powers = [value[exponent] * (sign * log[base]) for base, sign, exponent in term if exponent]
            # no sum begins at 0: it would be one more step to take derivatives of
            found.append(value[scale] * np.exp(reduce(add, powers)) if powers else value[scale])
        return reduce(add, found)

    return Form(name, equation, parameters, function, variables=variables, **more)
