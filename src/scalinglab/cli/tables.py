"""Options that choose a table and its points, shared by commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scalinglab.cli.options import Columns, File, Variables, Where
from scalinglab.cli.output import Output, say
from scalinglab.errors import BadInput, ScalinglabError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from scalinglab.curves import Curves
    from scalinglab.laws import surface as laws
    from scalinglab.laws.forms.base import Form
    from scalinglab.readers.tables import Understood
    from scalinglab.results.types import Reason


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

    def curves(self, settings: Sequence[str] = (), printed: bool = True) -> Curves:
        """The chosen rows; others need not fit in with them.

        Args:
            settings: columns that the command takes for settings, whatever they are called.
            printed: whether what was understood is printed before the result.
        """
        from scalinglab.laws.fitting.data.rows import select

        where = self.where or {}
        table = read_table(self.file, self.column, settings, printed=printed)
        return table.curves(select(table.frame, {table.resolve(n): value for n, value in where.items()}))


@dataclass(frozen=True)
class TableQuery:
    """A table, and the arguments with which laws take their points from it.

    Attributes:
        frame: the table under standard names.
        x, y: the columns asked for, as they are called there.
        rows: which rows count: `reduce`, `where`, `nan_policy`, `drop_highest`.
        line: what was understood of the table.
        beside: further columns, as they are called there.
    """

    frame: pd.DataFrame
    x: Any
    y: str
    rows: dict[str, Any]
    line: str
    beside: tuple[str, ...] = ()

    @property
    def points(self) -> dict[str, Any]:
        """The arguments beside the table: ``laws.fit(form, query.frame, **query.points)``."""
        return {"x": self.x, "y": self.y, **self.rows}

    @property
    def unit(self) -> str:
        """What n_data counts: tokens or examples."""
        from scalinglab.curves.columns import unit_of_data

        return unit_of_data(self.frame)

    @property
    def names(self) -> dict[str, str]:
        """What columns are called in texts on a surface: n_data is tokens where it counts these."""
        return {"n_data": "tokens"} if self.unit == "tokens" else {}

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors of a surface with columns by their `names`."""
        from scalinglab.results.types import reason_of

        try:
            yield
        except ScalinglabError as error:
            raise type(error)(reason_of(error).renamed(self.names)) from error

    def output(
        self,
        document: Mapping[str, Any],
        table: pd.DataFrame | Sequence[Mapping[str, Any]],
        text: str,
        notes: Sequence[Reason],
        **more: Any,
    ) -> Output:
        """A result with what was done to the rows: before its text, and in its document."""
        lines = [*(f"note: {note}" for note in notes), text]
        return Output({**document, "notes": self.notes(notes)}, table, "\n".join(lines), **more)

    def notes(self, notes: Sequence[Reason]) -> list[dict[str, Any]]:
        """What was done to the rows, for the result."""
        from scalinglab.results.types import Reason

        return [note.to_dict() for note in (*notes, Reason("read", text=self.line))]


@dataclass(frozen=True, kw_only=True)
class Table(Rows):
    """A table from which points are taken, and how.

    Args:
        mixed: fit rows of several models, data sets, sources or recipes together as one law.
    """

    reduce: str = "auto"
    drop_bad: bool = False
    mixed: bool = False

    def query(
        self, x: str | list[str] | None, y: str | None, *, roles: Mapping[str, str] | None = None,
        error: str | None = None, usual: str | None = None, beside: Sequence[str] = (), **rows: Any,
    ) -> TableQuery:  # fmt: skip
        """The table, and how points are taken; columns go by their standard names or by those in the file.

        Args:
            x: None for the size that varies, as `answer` chooses it.
            y: the column; None for the usual one, else that of `curves.columns.measure_of`.
            roles: which of the columns asked for are n_params and n_data, ours to theirs.
            error: the column of y's standard error.
            usual: the column to prefer where y is not given, or that of the test.
            beside: further columns that are measured, as a score beside a loss.
            rows: further choices of rows, as `drop_highest`.
        """
        from scalinglab.answers.fitted import varying_sizes
        from scalinglab.curves.columns import measure_of

        names, where = [x] if isinstance(x, str) else x or [], self.where or {}
        table = read_table(self.file, self.column, names, roles)
        if x is None:
            names = [x := varying_sizes(table.curves(), single=True)[0]]
        of_run = {theirs: ours for ours, theirs in (roles or {}).items()}
        columns = [table.resolve(name, of_run.get(name)) for name in names]
        rows |= {
            "reduce": self.reduce, "where": {table.resolve(n): value for n, value in where.items()},
            "nan_policy": "drop" if self.drop_bad else "raise", "mixed": self.mixed,
        }  # fmt: skip
        if error:
            rows["error"] = table.resolve(error)
        # by its name here first: beside a loss of the test, a file's `loss` is that of training
        preferred = (usual, f"test_{usual}", table.resolve(usual)) if usual else ()
        default = next(
            (name for name in preferred if name in table.frame), measure_of(table.frame, table.settings)
        )
        measured = table.resolve(y) if y else default
        return TableQuery(
            table.frame, columns[0] if isinstance(x, str) else columns, measured, rows, table.line,
            tuple(table.resolve(name) for name in beside),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Surface(Table):
    """A table with a loss at several n_params and n_data.

    Args:
        n_params: the column of the number of parameters, e.g. n_params.
        n_data: the column of the data size in examples or tokens, e.g. n_data.
        y: the column of the loss. Default: loss, else the measurement there is.
        drop_highest: number of highest losses to leave out, e.g. 5.
    """

    n_params: str = "n_params"
    n_data: str = "n_data"
    y: str | None = None
    drop_highest: int = 0
    flops_per_param_example: float = 6.0

    def columns_of(self, form: Form, named: Variables | None) -> dict[str, str]:
        """The columns of a form's variables: those of --var, else --n-params and --n-data, else its names."""
        named = named or {}
        if wrong := [n for n in named if n not in form.variables]:
            raise BadInput(f"--var {wrong[0]}: {form.name} has {', '.join(form.variables)}")
        usual = {"n_params": self.n_params, "n_data": self.n_data}
        return {v: named.get(v, usual.get(v, v)) for v in form.variables}

    def fitted(self) -> tuple[TableQuery, laws.Surface]:
        """The surface of the table; few runs with an outlier are refused, as `answer` does."""
        from scalinglab.laws import surface
        from scalinglab.laws.fitting.fit import outlier_note

        query = self.query_surface()
        with query.named():
            found = surface.fit(query.frame, **query.points)
            outlier_note(found.law, query.y, n_params=self.n_params, n_data=self.n_data)
        return query, found

    @property
    def cost(self) -> dict[str, Any]:
        """What an example costs, as functions of laws take it."""
        return {"flops_per_param_example": self.flops_per_param_example}

    def query_surface(self, variables: Mapping[str, str] | None = None) -> TableQuery:
        """The table and how points of a surface are taken from it.

        Args:
            variables: the form's variables and their columns; n_params and n_data by default.
        """
        variables = variables or {"n_params": self.n_params, "n_data": self.n_data}
        roles = {role: variables[role] for role in ("n_params", "n_data") if role in variables}
        return self.query(
            [*variables.values()], self.y, roles=roles, drop_highest=self.drop_highest, usual="loss"
        )
