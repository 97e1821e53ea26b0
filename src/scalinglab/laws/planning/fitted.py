"""The law or surface that a plan starts from: as it was fitted, or fitted now to a table of curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from scalinglab.errors import BadInput
from scalinglab.laws import forms, surface
from scalinglab.laws.extrapolation.stacking import Continuation, continuation
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.data.from_curves import Rows, is_table, points_from
from scalinglab.laws.fitting.fit import fit, outlier_note, table_outlier_note
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.forms.base import Form
from scalinglab.laws.surface import Surface


def law_or_surface(
    given: Any, x: str | Sequence[str] | None, y: str | None, form: str | Form | None, reduce: str,
    options: Mapping[str, Any] | None = None, **rows: Unpack[Rows],
) -> Law | Surface:  # fmt: skip
    """A law or surface as it is, or that of a table: a law where x is one column, else a surface.

    Few runs of a table of which one does not follow the others are refused (`fit.outlier_note`).

    Args:
        given: a `Law`, a `Surface`, or a table of curves.
        x, y, reduce, rows: columns of the table and which rows of it count.
        form: of the law or surface; by default "auto" of one column x, else those of surfaces, averaged.
        options: of the fit to a table, as in `scalinglab.laws.fit`.
    """
    if not is_table(given):
        _no_columns(x, y, rows)
        if not isinstance(given, (Law, Surface)):
            raise BadInput(
                f"a {type(given).__name__} is not a law: give a Law (laws.fit) or a table of curves"
            )
        return given
    found = _of_table(given, x, y, form, reduce, options or {}, **rows)
    law = found.law if isinstance(found, Surface) else found
    columns = (law.form.variables, "loss") if isinstance(found, Surface) else ("n_data", None)
    table = points_from((given,), x, y, columns=columns, reduce=reduce, **_of_one(rows))
    outlier_note(law, table.measured, **dict(zip(law.form.variables, table.names, strict=True)))
    return found


def _of_table(
    given: Any, x: str | Sequence[str] | None, y: str | None, form: str | Form | None, reduce: str,
    options: Mapping[str, Any], **rows: Unpack[Rows],
) -> Law | Surface:  # fmt: skip
    if form is None and isinstance(x, str):
        return fit("auto", given, x=x, y=y, reduce=reduce, **options, **_of_one(rows))
    if form is None:
        return surface.fit(given, x=x, y=y, reduce=reduce, **options, **rows)
    chosen = forms.get(form)
    if len(chosen.variables) == 1:
        if x is not None and not isinstance(x, str):
            raise BadInput(f"{chosen.name} is a law of one variable, and x= names {len(x)}: give one")
        law = fit(chosen, given, x=x, y=y, reduce=reduce, **options, **_of_one(rows))
        points.refuse_beyond_one(law.form.name, law.points, x or "x", y or "y")
        return law
    if isinstance(x, str):
        raise BadInput(f"{chosen.name} is a surface over {', '.join(chosen.variables)}: x= names one, {x}")
    return surface.fit(given, x=x or chosen.variables, y=y, form=chosen, reduce=reduce, **options, **rows)


def law_or_continuation(
    given: Any, x: str | None, y: str | None, form: str, reduce: str, **rows: Unpack[Rows]
) -> Law | Continuation:
    """A law of one variable, or a continuation, as it is; or that of a table.

    The form "auto" of a table is the continuation that `extrapolate` gives: one question, one answer.
    """
    if isinstance(given, Continuation):
        _no_columns(x, y, rows)
        return given
    if is_table(given) and form == "auto":
        kept = _of_one(rows)
        policy = kept.pop("nan_policy", "raise")
        table = points_from((given,), x, y, reduce=reduce, **kept)
        found = continuation(table.x, table.y, nan_policy=policy)
        notes = (*table.notes, *found.points.notes, *table_outlier_note(table, policy))
        return replace(found, points=replace(found.points, notes=notes))
    law = law_or_surface(given, x, y, form, reduce, **rows)
    if isinstance(law, Surface) or len(law.form.variables) > 1:
        name = law.law.form.name if isinstance(law, Surface) else law.form.name
        raise BadInput(f"{name} is a surface; this question is for a law of one variable")
    return law


def column_names(
    given: Any, x: str | None, y: str | None, reduce: str, **rows: Unpack[Rows]
) -> tuple[str, str]:
    """What x and y are called: the columns that a law of a table takes; "x" and "y" of a law itself."""
    if not is_table(given):
        return x or "x", y or "y"
    table = points_from((given,), x, y, reduce=reduce, **_of_one(rows))
    return table.names[0], table.measured


def _of_one(rows: Rows) -> dict[str, Any]:
    """The choices of rows that a law of one variable knows."""
    return {name: value for name, value in rows.items() if name != "drop_highest"}


def _no_columns(x: Any, y: Any, rows: Rows) -> None:
    if x is not None or y is not None or rows:
        raise BadInput("x=, y= and choices of rows are for a table: this is a law already")
