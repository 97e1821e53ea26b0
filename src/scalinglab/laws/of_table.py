"""The law of a table: what every command, answer and plan fits to the points that were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws import forms, surface
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.data.from_curves import Table
from scalinglab.laws.fitting.fit import fit, outlier_note
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.forms.base import Form
from scalinglab.laws.forms.surfaces import NAMES
from scalinglab.laws.surface import Surface

AUTOMATIC = ("auto", "search")  # forms that are chosen by the points


def fit_table(
    table: Table,
    form: str | Form | Sequence[str | Form] = "auto",
    variables: Sequence[str] = (),
    **options: Any,
) -> Law | Surface:
    """Fit the law of one column of sizes, or the surface of several.

    Args:
        table: the points, as `points_from` chooses them.
        form: of the law or surface, as in `laws.fit` and `surface.fit`.
        variables: of the form, for which the columns of sizes stand in this order; by default those of the
            form that is named, of "auto" the columns, or n_params and n_data for two that no form knows.
        options: of `laws.fit` or `surface.fit`.

    Raises:
        NotDetermined: runs are few, and one does not follow the others.
        BadInput: y rises with x, or the form has another number of variables.
    """
    several = np.ndim(table.x) > 1
    if not isinstance(form, str) or form not in AUTOMATIC:
        named = forms.get(form if isinstance(form, (str, Form)) else form[0])
        require_columns(named, table.names)
        variables = variables or named.variables
    found = _surface(table, form, variables, options) if several else _law(table, form, options)
    outlier_note(found.law if isinstance(found, Surface) else found)
    return found


def require_columns(form: Form, names: Sequence[str]) -> None:
    """Refuse a form of more or fewer variables than there are columns of sizes."""
    if len(form.variables) != len(names):
        shown, given = " and ".join(form.variables), " and ".join(names)
        several = "; 'laws surface' fits it" if len(form.variables) > len(names) == 1 else ""
        raise BadInput(
            f"{form.name} is a law of {shown}, and x= (--x) is {given}: name as many columns, or another form"
            + several
        )


def _law(table: Table, form: Any, options: dict[str, Any]) -> Law:
    columns = table.names[0], table.measured
    if form == "auto":
        points.is_complement(table.x, table.y, columns)  # refuses what rises
    law = fit(form, table, **options)
    points.refuse_beyond_one(law.form.name, law.points, *columns)
    return law


def _surface(table: Table, form: Any, variables: Sequence[str], options: dict[str, Any]) -> Surface:
    sizes = dict(zip(table.names, table.x, strict=True))
    spent = [sizes[name] for name in NAMES if name in sizes] or [*sizes.values()]
    rises_with = "compute" if {*NAMES} <= {*sizes} else table.names[0]
    points.refuse_rising(np.prod(spent, axis=0), table.y, (rises_with, table.measured))
    return surface.fit(table, x=tuple(variables or table.names), form=form, **options)
