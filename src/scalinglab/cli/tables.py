"""Options that choose a table and its points, shared by commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scalinglab.cli.options import Columns, File, Variables, Where
from scalinglab.cli.output import Output, say
from scalinglab.errors import BadInput
from scalinglab.results.types import Reason, renaming

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from scalinglab.answers.fitted import Chosen
    from scalinglab.curves import Curves
    from scalinglab.laws import surface as laws
    from scalinglab.laws.forms.base import Form
    from scalinglab.readers.tables import Understood


def read_table(
    file: Path, column: Columns | None, settings: Sequence[str] = (), roles: Mapping[str, str] | None = None,
    printed: bool = True,
) -> Understood:  # fmt: skip
    """Any table, a store's folder, a file or logs, under standard names.

    Args:
        printed: whether what was understood is printed here.
    """
    from scalinglab import readers

    table = readers.read_table(file, settings=settings, likely=roles, **(column or {}))
    if not len(table.frame):
        raise BadInput(f"the store {file} holds no runs with a checkpoint yet")
    if printed:
        say(f"read {table.line}")
    return table


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A table of curves, and which of its rows count."""

    file: File
    column: Columns | None = None
    where: Where | None = None

    def curves(
        self, settings: Sequence[str] = (), printed: bool = True, roles: Mapping[str, str] | None = None
    ) -> Curves:
        """The chosen rows; others need not fit in with them.

        Args:
            settings: columns that the command takes for settings, whatever they are called.
            printed: whether what was understood is printed before the result.
            roles: which columns are n_params and n_data, ours to theirs.
        """
        from scalinglab.laws.fitting.data.rows import select

        where = self.where or {}
        table = read_table(self.file, self.column, settings, roles, printed=printed)
        return table.curves(select(table.frame, {table.resolve(n): value for n, value in where.items()}))


def with_notes(
    chosen: Chosen, document: Mapping[str, Any], table: pd.DataFrame | Sequence[Mapping[str, Any]], text: str,
    notes: Sequence[Reason], **more: Any,
) -> Output:  # fmt: skip
    """A result with what was done to the rows: before its text, and in its document."""
    done = (*chosen.lost, *notes)
    lines = [*(f"note: {note}" for note in done), text]
    return Output({**document, "notes": note_rows(chosen, notes)}, table, "\n".join(lines), **more)


def note_rows(chosen: Chosen, notes: Sequence[Reason]) -> list[dict[str, Any]]:
    """What was done to the rows, for the document of a result."""
    read = Reason("read", text=chosen.curves.understood)
    return [note.to_dict() for note in (*chosen.lost, *notes, read)]


@dataclass(frozen=True, kw_only=True)
class Table(Rows):
    """A table from which points are taken, and how.

    Args:
        mixed: fit rows of several models, data sets, sources or recipes together as one law.
    """

    reduce: str = "auto"
    drop_bad: bool = False
    mixed: bool = False

    @property
    def policy(self) -> dict[str, Any]:
        """What is done about points that cannot be used, as functions of laws take it."""
        return {"nan_policy": "drop" if self.drop_bad else "raise"}

    def choose(
        self, x: str | Sequence[str] | Mapping[str, str] | None = None, y: str | None = None,
        form: str | Form = "auto", *, roles: Mapping[str, str] | None = None, **more: Any,
    ) -> Chosen:  # fmt: skip
        """The columns and points that `answers.fitted.choose` takes from the table."""
        from scalinglab.answers.fitted import choose

        names = [x] if isinstance(x, str) else [*x.values()] if isinstance(x, Mapping) else x or ()
        curves = self.curves(names, roles=roles)
        return choose(curves, x, y, form, reduce=self.reduce, mixed=self.mixed, **more)


@dataclass(frozen=True, kw_only=True)
class Surface(Table):
    """A table with a loss at several n_params and n_data.

    Args:
        drop_highest: number of highest losses to leave out, e.g. 5.
    """

    y: str | None = None
    drop_highest: int = 0
    flops_per_param_example: float = 6.0

    def columns_of(self, form: Form, named: Variables | None) -> dict[str, str]:
        """The columns of a form's variables: those of --var, else their names."""
        named = named or {}
        if wrong := [n for n in named if n not in form.variables]:
            raise BadInput(f"--var {wrong[0]}: {form.name} has {', '.join(form.variables)}")
        return {v: named.get(v, v) for v in form.variables}

    def choose_surface(self, form: str | Form = "auto", named: Variables | None = None) -> Chosen:
        """The points of a surface: of n_params and n_data, or of the variables of another form.

        Args:
            form: whose variables are sizes; "auto": n_params and n_data.
            named: the columns of its variables, of --var.
        """
        from scalinglab.laws import forms

        columns = self.columns_of(forms.get("chinchilla" if form == "auto" else form), named)
        roles: dict[str, str] = {role: columns[role] for role in ("n_params", "n_data") if role in columns}
        x = None if form == "auto" and not named else columns
        return self.choose(x, self.y, form, roles=roles, sizes=2, drop_highest=self.drop_highest)

    def fitted(self) -> tuple[Chosen, laws.Surface]:
        """The points and the surface of n_params and n_data."""
        chosen = self.choose_surface()
        with renaming(chosen.names):
            found = chosen.fit(**self.policy)
        assert found.surface is not None  # of two sizes
        return chosen, found.surface

    @property
    def cost(self) -> dict[str, Any]:
        """What an example costs, as functions of laws take it."""
        return {"flops_per_param_example": self.flops_per_param_example}
