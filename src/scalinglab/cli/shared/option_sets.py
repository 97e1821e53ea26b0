"""Sets of options that several commands share, each a dataclass; `takes` adds them to a command's own.

    @takes(rows=Table)
    def command(rows: Table, *, level: float = 0.95) -> None: ...

has the options of `Table` beside its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, get_type_hints

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.tables import Asked, ask, draw, finish, pairing, read_curves, say
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from scalinglab.curves import Curves
    from scalinglab.laws.forms.base import Form


def takes(**sets: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some sets; it gets each set as the argument of that name."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = get_type_hints(command, include_extras=True)
        asked = {
            name: parameter.replace(annotation=own[name], kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in inspect.signature(command).parameters.items()
            if name not in sets
        }
        shared: dict[str, inspect.Parameter] = {}
        for kind in sets.values():
            hints = get_type_hints(kind, include_extras=True)
            for field in fields(kind):
                default = inspect.Parameter.empty if field.default is MISSING else field.default
                shared[field.name] = inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
                )

        @wraps(command)
        def taking(**values: Any) -> None:
            given = {
                name: kind(**{field.name: values.pop(field.name) for field in fields(kind)})
                for name, kind in sets.items()
            }
            command(**given, **values)

        first, last = (
            {name: shared.pop(name) for name in names if name in shared}
            for names in (("file",), ("figure", "no_figure", "as_json", "out"))
        )
        parameters = {**first, **asked, **shared, **last}
        vars(taking)["__signature__"] = inspect.Signature(list(parameters.values()))
        taking.__annotations__ = {name: p.annotation for name, p in parameters.items()} | {"return": None}
        return taking

    return decorate


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where a result goes."""

    as_json: option.Json = False
    out: option.Out = None

    def say(self, text: str) -> None:
        """Print text; nothing where JSON goes to stdout."""
        say(text, self.as_json)

    def finish(self, document: dict[str, Any], table: pd.DataFrame) -> None:
        """Print JSON, write the file that was asked for, name the figure."""
        finish(document, table, self.as_json, self.out)


@dataclass(frozen=True, kw_only=True)
class Rows(Output):
    """A table of curves, which of its rows count, and where the result goes."""

    file: option.File
    column: option.Columns = None
    where: option.Where = None

    def curves(self, settings: tuple[str, ...] = (), wanted: tuple[str, ...] = ()) -> Curves:
        """The chosen rows; `settings` are columns that hold settings of runs, `wanted` others in use."""
        return read_curves(self.file, self.where, self.column, settings, wanted, as_json=self.as_json)


@dataclass(frozen=True, kw_only=True)
class Table(Rows):
    """A table from which points are taken, and how."""

    reduce: option.Reduce = "auto"
    drop_bad: option.DropBad = False
    mixed: option.Mixed = False

    def ask(
        self, x: str | list[str], y: str | None, *, roles: Mapping[str, str] | None = None, **rows: Any
    ) -> Asked:  # fmt: skip
        """The table and the arguments with which laws take points from it."""
        return ask(
            self.file, x, y, self.where, self.reduce, column=self.column, roles=roles,
            nan_policy="drop" if self.drop_bad else "raise", mixed=self.mixed, as_json=self.as_json, **rows,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Surface(Table):
    """A table with a loss at several n_params and n_data."""

    n_params: option.Params = "n_params"
    n_data: option.Data = "n_data"
    y: option.Loss = None
    drop_highest: option.DropHighest = 0
    flops_per_param_example: option.FlopsPerParamExample = 6.0

    def columns_of(
        self, form: Form, given: list[str] | None, more: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """The columns of a form's variables: those of --var, else --n-params and --n-data, else its names."""
        named = pairing("--var", given, "VARIABLE=COLUMN, as in --var n_experts=E")
        if wrong := [n for n in named if n not in form.variables]:
            raise BadInput(f"--var {wrong[0]}: {form.name} has {', '.join(form.variables)}")
        usual = {"n_params": self.n_params, "n_data": self.n_data, **(more or {})}
        return {v: named.get(v, usual.get(v, v)) for v in form.variables}

    def ask_surface(self, variables: Mapping[str, str] | None = None, more: Sequence[str] = ()) -> Asked:
        """The table and the arguments with which a surface is fitted to it.

        Args:
            variables: the form's variables and their columns; n_params and n_data by default.
            more: further columns.
        """
        variables = variables or {"n_params": self.n_params, "n_data": self.n_data}
        roles = {role: variables[role] for role in ("n_params", "n_data") if role in variables}
        return self.ask(
            [*variables.values(), *more], self.y, roles=roles, drop_highest=self.drop_highest, usual="loss"
        )


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Whether and where a figure is drawn."""

    figure: option.Figure = None
    no_figure: option.NoFigure = False

    def draw(self, make: Callable[[], Any], file: Any, kind: str) -> dict[str, str]:
        """The entry of the result that names the figure; empty where none is drawn."""
        return {} if self.no_figure else {"figure": draw(make(), self.figure, file, kind)}
