"""Forms by name: what `fit` and the command line can be asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from scalinglab.errors import BadInput, nearest
from scalinglab.laws.forms.base import Form
from scalinglab.support import extensions
from scalinglab.support.validation import checked

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
    """The form ``module:attribute`` of the user's own code; modules of the working folder are found, too."""
    return made(name, extensions.load(name, "form"))


def made(name: str, found: Any) -> Form:
    """A form from a form, or from a function that makes one."""
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
    if form not in (more := extensions.names("forms")):
        raise BadInput(f"no form {form!r}; {nearest(form, [*FORMS, *more])}")
    return made(form, extensions.added("forms", form))
