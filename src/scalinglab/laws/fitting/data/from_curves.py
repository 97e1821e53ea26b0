"""From what a user gives, a table of curves or arrays, to the points of a fit.

Every function that fits or plans takes ``(curves, x=, y=, reduce=, where=)`` as well as arrays, through
`points_from`; so does the command line. `points_of` takes the rows of a table that count (`rows`), as points.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.curves.columns import MEASURES, measure_of, no_number, tidy
from scalinglab.curves.names import aliases, counted_twice, quantity, standing_for
from scalinglab.curves.reading import listed
from scalinglab.errors import BadInput, nearest
from scalinglab.laws.fitting.data import points, rows
from scalinglab.laws.fitting.data.recipes import best_recipes, compared
from scalinglab.results.sentences import Column
from scalinglab.results.types import Reason

DATA_SEEN = ("tokens", "examples")  # columns of the data seen at each checkpoint
REDUCE = ("auto", "best", "last", "all")


class Rows(TypedDict, total=False):
    """Which rows of a table count, beside x, y and reduce.

    Attributes:
        where: conditions ``{column: value}`` that rows must meet.
        nan_policy: "raise" on points that cannot be used, or "drop" them.
        drop_highest: how many points of the highest y to leave out.
        mixed: allow rows of several models, data sets, tasks or sources in one fit, and of all recipes.
    """

    where: Mapping[str, Any] | None
    nan_policy: str
    drop_highest: int
    mixed: bool


@dataclass(frozen=True)
class Table:
    """Columns ready to be fitted.

    Attributes:
        x: (n,), or (variables, n) where several columns were asked for.
        y: (n,).
        error: one standard error of y, where the table has it.
        runs: (n,), which run each point comes from; None where arrays came without.
        notes: what was done to the rows.
        names, measured: what x (one or several) and y are called; arrays have no names.
        beside: (n,) another measurement of the same rows, where one was asked for.
        is_complement: whether y is 1 - y of what was measured.
        checkpoints_of: of how many runs the points are checkpoints; 0 where each run has its own points.
    """

    x: Any
    y: Any
    error: Any
    runs: Any
    notes: tuple[Reason, ...] = ()
    names: tuple[str, ...] = ()
    measured: str = "y"
    beside: Any = None
    is_complement: bool = False
    checkpoints_of: int = 0

    def keep(self, chosen: np.ndarray) -> Table:
        """Only the points that are chosen by a mask, (n,)."""
        error, beside = (None if v is None else v[chosen] for v in (self.error, self.beside))
        return replace(
            self, x=self.x[..., chosen], y=self.y[chosen], error=error, runs=self.runs[chosen], beside=beside
        )

    def complement(self) -> Table:
        """The points of 1 - y."""
        values = 1 - np.asarray(self.y, float)
        return replace(self, y=values, measured=f"1 - {self.measured}", is_complement=True)

    def usable(self, names: Sequence[str]) -> Table:
        """Only the points that a surface of these variables can be fitted to; the notes count the others."""
        kept = points.check(tuple(self.x), self.y, names=tuple(names), runs=self.runs, nan_policy="drop")
        notes = (*self.notes, *kept.notes)
        return replace(self, x=kept.x, y=kept.y, error=None, runs=kept.runs, notes=notes)

    def finite(self, positive: bool = True) -> tuple[Table, tuple[Reason, ...]]:
        """The points with a positive (or finite) size and a finite y, and what was left out."""
        sizes = np.atleast_2d(np.asarray(self.x, float))
        counts = np.isfinite(sizes) & (sizes > 0) if positive else np.isfinite(sizes)
        known, sized = np.isfinite(self.y), counts.all(axis=0)
        if not known.any():
            raise BadInput(f"no run has a finite {self.measured}: name another column with y= (--y)")
        table, lost = self, list[Reason]()
        if not sized.all():
            lost.append(Reason("left_out_size", points=int((~sized).sum())))
            table, known = table.keep(sized), known[sized]
        if not known.all():
            runs = {*table.runs} - {*table.runs[known]}
            lost.append(Reason("left_out_value", runs=len(runs), y=Column(self.measured)))
            table = table.keep(known)
        return table, tuple(lost)

    def without_highest(self, count: int) -> Table:
        """Without the points of the highest y; a missing y is not high, and is reported by `points.check`."""
        if not 0 <= count < len(self.y):
            raise BadInput(
                f"drop_highest={count} (--drop-highest) of {len(self.y)} points: give 0 or more, but not all"
            )
        order = np.argsort(np.where(np.isnan(self.y), -np.inf, self.y), kind="stable")
        return self.keep(np.argsort(order) < len(self.y) - count) if count else self


def is_table(data: Any) -> bool:
    """Whether this is a table of curves, or its points, and not an array."""
    return isinstance(data, (Curves, pd.DataFrame, Table))


def under_names(table: Any, wanted: Sequence[str]) -> Any:
    """The table with columns under the standard names that are wanted, where it writes them otherwise."""
    if not isinstance(table, pd.DataFrame):  # the reader has named those of curves
        return table
    names = standing_for(table.columns, wanted)
    active, others = counted_twice(aliases(table.columns).get("n_params", ()))
    if active and "n_params" in names.values():
        raise BadInput(
            f"n_params: the table has {active[0]} and {others[0]}; ask for one of them by its own name"
        )
    return table.rename(columns=names)


def _measured(table: Curves | pd.DataFrame) -> str:
    if isinstance(table, Curves):
        return measure_of(table.frame, table.setting_columns)
    return measure_of(table)


def points_from(
    data: tuple[Any, ...],
    x: Any,
    y: Any,
    *,
    columns: tuple[str | Sequence[str], str | None] = ("n_data", None),
    error: Any = None,
    runs: Any = None,
    reduce: str = "auto",
    where: Mapping[str, Any] | None = None,
    nan_policy: str = "raise",
    drop_highest: int = 0,
    mixed: bool = False,
    beside: str | None = None,
) -> Table:
    """The points that a function was called with: arrays, or columns of a table.

    Args:
        data: its positional arguments: ``(curves,)``, ``(x, y)``, a `Table`, or nothing, with `x` and `y`
            by name.
        x, y: names of columns of the table, or the arrays.
        columns: names of x and y where a table comes without; None for y: `curves.columns.measure_of`.
        error, runs: as in `scalinglab.laws.fit`; `error` names a column of the table.
        reduce, where, mixed, drop_highest, nan_policy: which rows of the table count (`points_of`, `Rows`).
        beside: a column of the table that is taken along, as a score beside a loss.
    """
    if data and isinstance(data[0], Table):
        return data[0] if error is None else replace(data[0], error=error)
    if data and is_table(data[0]):
        if len(data) > 1 or runs is not None:
            extra = "runs=" if runs is not None else "a second positional argument"
            raise BadInput(
                f"{extra} beside a table: name its columns, x= and y=; its columns identify the runs"
            )
        wanted = columns[0] if x is None else x
        found = points_of(
            data[0], wanted, y or columns[1] or _measured(data[0]),
            error=error, reduce=reduce, where=where, mixed=mixed, beside=beside,
        )  # fmt: skip
        # what was not measured is no mistake, as in an answer; a share, say, may be 0
        found, lost = found.finite(positive=False)
        found = replace(found, notes=(*found.notes, *lost))
        if drop_highest and nan_policy == "drop" and not isinstance(wanted, str):
            found = found.usable(wanted)
        return found.without_highest(drop_highest)
    if where or reduce != "auto" or drop_highest:
        raise BadInput(
            "reduce=, where= and drop_highest= choose rows of a table: give Curves instead of arrays"
        )
    given = [*data, *(values for values in (x, y) if values is not None)]
    if len(given) != 2 or any(isinstance(values, str) for values in given):
        raise BadInput(
            f"{len(given)} arrays: give x and y, one value of each per point, or a table "
            "(sl.read) with the names of its columns, x= and y="
        )
    return Table(given[0], given[1], error, runs)


def losses_of_runs(
    table: Any,
    columns: Sequence[str],
    y: str | None,
    positive: Sequence[str],
    *,
    reduce: str = "auto",
    where: Mapping[str, Any] | None = None,
) -> tuple[Table, np.ndarray]:
    """Losses against the columns that runs vary, of all recipes, and (n,) which of them can be counted.

    Args:
        positive: which of the columns must be positive; the others may be 0.
    """
    found = points_from((table,), columns, y, reduce=reduce, where=where, mixed=True)
    if rows.rises(str(found.measured)):
        raise BadInput(f"{found.measured} rises as it gets better: give an error, 1 - {found.measured}")
    values, loss = np.asarray(found.x, float), np.asarray(found.y, float)
    sizes = values[[columns.index(name) for name in positive]]
    usable = np.isfinite(values).all(axis=0) & np.isfinite(loss) & (loss > 0)
    return found, usable & (sizes > 0).all(axis=0)


def points_of(
    curves: Curves | pd.DataFrame,
    x: str | Sequence[str],
    y: str,
    *,
    error: str | None = None,
    reduce: str = "auto",
    where: Mapping[str, Any] | None = None,
    mixed: bool = False,
    beside: str | None = None,
) -> Table:
    """The points (x, y) of a table.

    Args:
        x: a column, or several for a surface.
        error: the column of y's standard error; by default, for one x, ``<y>_stderr`` where every row has
            one.
        reduce: which rows of a run with several rows at one x count: "best" (the lowest y, of an accuracy the
            highest), "last" (by progress), "all", or "auto": the best where there are several.
        where: conditions ``{column: value}``; a value may be written as text.
        mixed: allow rows of several models, data sets, tasks or sources in one fit, and of all recipes
            (`recipes.RECIPE`); by default each size is that of its best recipe, where they differ.
        beside: another measurement that stays with the rows that count; it chooses none, and may be missing.
    """
    several = not isinstance(x, str)
    names = list(x) if several else [str(x)]
    called: dict[str, str] = {}
    if isinstance(curves, Curves):
        called = {ours: theirs for theirs, ours in curves.names.items()}
        names, y = [curves.resolve(name) for name in names], curves.resolve(y)
        error, beside = error and curves.resolve(error), beside and curves.resolve(beside)
        where = {curves.resolve(name): value for name, value in (where or {}).items()}
    frame = tidy(curves.frame if isinstance(curves, Curves) else curves)
    if frame.empty:
        raise BadInput("the table has no rows")
    numeric(frame, [*names, y, *filter(None, (error, beside))])
    if reduce not in REDUCE:
        raise BadInput(f"reduce={reduce!r}; {nearest(reduce, REDUCE)}")
    frame = rows.select(frame, {name: str(value) for name, value in (where or {}).items()})
    if not mixed:
        rows.one_kind(frame[frame[names].notna().all(axis=1)], names, called)  # others are left out
    frame, notes = rows.without_copies(frame, y)
    if error is None and not several and f"{y}_stderr" in frame:
        error, note = _standard_error(frame, f"{y}_stderr")
        notes.append(note)
    runs, identified_by = rows.run_names(frame.drop(columns=[beside] if beside else []), names, y, error)
    if reduce != "all":
        frame, runs, done = rows.without_stopped(frame, runs, getattr(curves, "setting_columns", ()))
        notes += done
    thin = several and reduce == "auto" and _one_length(frame, names)
    if thin:  # else a law of n_data would have one n_data
        frame, runs = rows.thinned(frame, runs, _seen(frame, "n_data"))
        reduce = "all"
        notes.append(Reason("checkpoints"))
    if several and reduce == "all":
        names = [_seen(frame, name) for name in names]
    # a surface takes one row of each run, with the tokens seen there; a curve along training takes them all
    keys = [name for name in names if not several or name not in DATA_SEEN]
    fixed = rows.fixed_within_runs(frame, runs)
    frame, done = rows.reduced(frame.assign(__run=runs), ["__run", *keys], y, reduce, identified_by)
    notes += done
    if not mixed:
        recipe = compared(frame, names, fixed, getattr(curves, "settings", ()))
        if not frame["__run"].duplicated().any():
            frame, done = best_recipes(frame, names, y, recipe, called)
            notes += done
        rows.one_category(frame, names, y, recipe, called)
    fixed = [column for column in fixed if column != y]
    doubted = rows.doubts(frame[frame[y].notna()], names, fixed)
    named = {note.details.get("column") for note in doubted}
    notes += doubted + rows.also_explained(frame, names, y, [c for c in fixed if c not in named])
    found = _as_fractions(_columns(frame, names, y, error), y, notes)
    if thin:  # what they share with others of their n_params is known (`shared_errors`)
        found = replace(found, runs=np.arange(len(found.y)), checkpoints_of=len(np.unique(found.runs)))
    if beside is not None:
        found = replace(found, beside=frame[beside].to_numpy(float))
    return found if several else replace(found, x=found.x[0])


def _columns(frame: pd.DataFrame, names: list[str], y: str, error: str | None) -> Table:
    """The points of these rows; x is (variables, n)."""
    errors = None if error is None else frame[error].to_numpy(float)
    return Table(
        frame[names].to_numpy(float).T, frame[y].to_numpy(float), errors, frame["__run"].to_numpy(),
        names=tuple(names), measured=y,
    )  # fmt: skip


def _as_fractions(table: Table, y: str, notes: list[Reason]) -> Table:
    """The points with these notes, and without percent."""
    if not is_in_percent(y, table.y):
        return replace(table, notes=tuple(notes))
    error = None if table.error is None else table.error / 100
    return replace(table, y=table.y / 100, error=error, notes=(*notes, Reason("percent", y=y)))


def is_in_percent(name: str, values: np.ndarray) -> bool:
    """Whether an error rate or accuracy is written in percent: in its name, and with values of 1 to 100."""
    known = values[np.isfinite(values)]
    fraction = re.search(r"(?:^|[^a-z])(?:acc|accuracy|error|err|pass_rate)(?:[^a-z]|$)", name.lower())
    return bool(fraction and len(known) and 1 < known.max() <= 100 and known.min() >= 0)


def _seen(frame: pd.DataFrame, name: str) -> str:
    """The column of data seen at each checkpoint, where `n_data` is that of the whole run."""
    seen = [c for c in DATA_SEEN if c in frame and frame[c].notna().all() and (frame[c] > 0).all()]
    return seen[0] if name == "n_data" and seen else name


def _one_length(frame: pd.DataFrame, names: list[str]) -> bool:
    """Whether n_data does not vary from run to run and the data seen along them is in the table."""
    return "n_data" in names and frame["n_data"].nunique() < 2 and _seen(frame, "n_data") != "n_data"


def numeric(frame: pd.DataFrame, names: list[str]) -> None:
    """Refuse columns that are not there or do not hold numbers."""
    for name in names:
        if name not in frame:
            several = [str(c) for c in frame if (q := quantity(c)) is not None and not q.is_spread]
            if name == MEASURES[0] and len(several) > 1:
                named = "name one with y= (--y), or loss= (--loss) of a score"
                raise BadInput(f"several columns were measured, {listed(several)}: {named}")
            raise BadInput(f"no column {name!r}; {nearest(name, map(str, frame.columns))}")
        if not pd.api.types.is_numeric_dtype(frame[name]):
            wrong = no_number(frame[name])
            numbers = [str(c) for c in frame.select_dtypes("number")]
            raise BadInput(f"column {name!r} must hold numbers, not {wrong!r}; {nearest(name, numbers)}")


def _standard_error(frame: pd.DataFrame, column: str) -> tuple[str | None, Reason]:
    """The column, or None where some rows have no standard error (a mean of one run); and the note."""
    known = pd.to_numeric(frame[column], errors="coerce") > 0
    if known.all():
        return column, Reason("weighted", column=column)
    lost = int((~known).sum())
    return None, Reason("error_missing", column=column, lost=lost, rows=len(frame))
