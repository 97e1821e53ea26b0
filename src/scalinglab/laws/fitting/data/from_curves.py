"""From what a user gives, a table of curves or arrays, to the points of a fit.

Every function that fits or plans takes ``(curves, x=, y=, reduce=, where=)`` as well as arrays, through
`points_from`; so does the command line. `points_of` decides which rows of a table count, and which runs they
come from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from scalinglab.curves import OUTCOME, PROGRESS, SETTING, Curves
from scalinglab.curves.columns import ACCURACIES, is_seed, measure_of, no_number, standard_name, tidy
from scalinglab.errors import BadInput, nearest
from scalinglab.laws.fitting.data import points

SEEN = ("tokens", "examples")  # columns of the data seen at each checkpoint
TUNED = ("optimizer", "learning_rate", "batch_size", "momentum", "weight_decay")  # one is chosen for a size
DIGITS = 5  # from which on two runs do not measure the same by chance
SIZES = ("n_params", "n_data")  # of a surface
REDUCE = ("auto", "best", "last", "all")


class Rows(TypedDict, total=False):
    """Which rows of a table count, beside x, y and reduce.

    Attributes:
        where: conditions ``{column: value}`` that rows must meet.
        nan_policy: "raise" on points that cannot be used, or "drop" them.
        drop_highest: how many points of the highest y to leave out.
        mixed: allow rows of several models, data sets, tasks or sources in one fit.
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
    """

    x: Any
    y: Any
    error: Any
    runs: Any
    notes: tuple[str, ...] = ()

    def keep(self, chosen: np.ndarray) -> Table:
        """Only the points that are chosen by a mask, (n,)."""
        error = None if self.error is None else self.error[chosen]
        return Table(self.x[..., chosen], self.y[chosen], error, self.runs[chosen], self.notes)

    def usable(self, names: Sequence[str]) -> Table:
        """Only the points that a surface of these variables can be fitted to; the notes count the others."""
        kept = points.check(tuple(self.x), self.y, names=tuple(names), runs=self.runs, nan_policy="drop")
        return Table(kept.x, kept.y, None, kept.runs, (*self.notes, *kept.notes))

    def without_highest(self, count: int) -> Table:
        """Without the points of the highest y; a missing y is not high, and is reported by `points.check`."""
        if not 0 <= count < len(self.y):
            raise BadInput(
                f"drop_highest={count} (--drop-highest) of {len(self.y)} points: give 0 or more, but not all"
            )
        order = np.argsort(np.where(np.isnan(self.y), -np.inf, self.y), kind="stable")
        return self.keep(np.argsort(order) < len(self.y) - count) if count else self


def is_table(data: Any) -> bool:
    """Whether this is a table of curves and not an array."""
    return isinstance(data, (Curves, pd.DataFrame))


def points_from(
    data: tuple[Any, ...],
    x: Any,
    y: Any,
    *,
    columns: tuple[str | Sequence[str], str | None] = ("n_data", None),
    arrays: tuple[str, ...] = ("x", "y"),
    error: Any = None,
    runs: Any = None,
    reduce: str = "auto",
    where: Mapping[str, Any] | None = None,
    nan_policy: str = "raise",
    drop_highest: int = 0,
    mixed: bool = False,
) -> Table:
    """The points that a function was called with: arrays, or columns of a table.

    Args:
        data: its positional arguments: ``(curves,)``, ``(x, y)`` or nothing, with `x` and `y` by name.
        x, y: names of columns of the table, or the arrays.
        columns: names of x and y where a table comes without; None for y: `curves.columns.measure_of`.
        arrays: what the arrays are called, the last one y; with more than two, x is a tuple of the others.
        error, runs: as in `scalinglab.laws.fit`; `error` names a column of the table.
        reduce, where, mixed, drop_highest, nan_policy: which rows of the table count (`points_of`, `Rows`).
    """
    if data and is_table(data[0]):
        if len(data) > 1 or runs is not None:
            extra = "runs=" if runs is not None else "a second positional argument"
            raise BadInput(
                f"{extra} beside a table: name its columns, x= and y=; its columns identify the runs"
            )
        wanted = columns[0] if x is None else x
        frame = data[0].frame if isinstance(data[0], Curves) else data[0]
        found = points_of(
            data[0], wanted, y or columns[1] or measure_of(frame),
            error=error, reduce=reduce, where=where, mixed=mixed,
        )  # fmt: skip
        if drop_highest and nan_policy == "drop" and not isinstance(wanted, str):
            found = found.usable(wanted)
        return found.without_highest(drop_highest)
    if where or reduce != "auto" or drop_highest:
        raise BadInput(
            "reduce=, where= and drop_highest= choose rows of a table: give Curves instead of arrays"
        )
    given = [*data, *(values for values in (x, y) if values is not None)]
    if len(given) != len(arrays) or any(isinstance(values, str) for values in given):
        raise BadInput(
            f"{len(given)} arrays: give {' and '.join(arrays)}, one value of each per point, or a table "
            "(sl.read) with the names of its columns, x= and y="
        )
    return Table(given[0] if len(given) == 2 else tuple(given[:-1]), given[-1], error, runs)


def points_of(
    curves: Curves | pd.DataFrame,
    x: str | Sequence[str],
    y: str,
    *,
    error: str | None = None,
    reduce: str = "auto",
    where: Mapping[str, Any] | None = None,
    mixed: bool = False,
) -> Table:
    """The points (x, y) of a table.

    Args:
        x: a column, or several for a surface.
        error: the column of y's standard error; by default, for one x, ``<y>_stderr`` where every row has
            one.
        reduce: which rows of a run with several rows at one x count: "best" (the lowest y), "last" (by
            progress), "all", or "auto": the best where there are several. But for "all", runs of one size
            that differ in their recipe (`TUNED`) are those of the best one.
        where: conditions ``{column: value}``; a value may be written as text.
        mixed: allow rows of several models, data sets, tasks or sources in one fit.
    """
    names = [x] if isinstance(x, str) else list(x)
    if isinstance(curves, Curves):
        names, y = [curves.resolve(name) for name in names], curves.resolve(y)
        error = error and curves.resolve(error)
        where = {curves.resolve(name): value for name, value in (where or {}).items()}
    frame = tidy(curves.frame if isinstance(curves, Curves) else curves)
    if frame.empty:
        raise BadInput("the table has no rows")
    _numeric(frame, [*names, y, *([error] if error else [])])
    if reduce not in REDUCE:
        raise BadInput(f"reduce={reduce!r}; {nearest(reduce, REDUCE)}")
    frame = select(frame, {name: str(value) for name, value in (where or {}).items()})
    if not mixed:
        _one_kind(frame, names)
    frame, notes = _without_copies(frame, y)
    if error is None and isinstance(x, str) and f"{y}_stderr" in frame:
        error, note = _standard_error(frame, f"{y}_stderr")
        notes.append(note)
    runs, identified_by = _run_names(frame, names, y, error)
    if not isinstance(x, str) and reduce == "auto" and _one_length(frame, names):
        reduce = "all"
        notes.append("n_data is the same in every run: every checkpoint counts, with the data seen there")
    if not isinstance(x, str) and reduce == "all":
        names = [_seen(frame, name) for name in names]
    # a surface takes one row of each run, with the tokens seen there; a curve along training takes them all
    keys = [name for name in names if isinstance(x, str) or name not in SEEN]
    frame, note = _reduced(frame.assign(__run=runs), ["__run", *keys], y, reduce)
    if note:
        notes.append(f"{note}; runs are identified by {', '.join(identified_by)}")
    if reduce != "all":
        frame, note = _tuned(frame, names, y)
        notes += [note] if note else []
    notes += _doubts(frame.drop(columns=["__run", y]), names)
    columns = frame[names].to_numpy(float).T
    measured, errors = frame[y].to_numpy(float), None if error is None else frame[error].to_numpy(float)
    if _in_percent(y, measured):
        notes.append(f"{y} is in percent: divided by 100")
        measured, errors = measured / 100, None if errors is None else errors / 100
    return Table(
        columns[0] if isinstance(x, str) else columns,
        measured,
        errors,
        frame["__run"].to_numpy(),
        tuple(notes),
    )


def _in_percent(name: str, values: np.ndarray) -> bool:
    """Whether an error rate or accuracy is written in percent: in its name, and with values of 1 to 100."""
    known = values[np.isfinite(values)]
    fraction = re.search(r"(?:^|[^a-z])(?:acc|accuracy|error|err|pass_rate)(?:[^a-z]|$)", name.lower())
    return bool(fraction and len(known) and 1 < known.max() <= 100 and known.min() >= 0)


def _seen(frame: pd.DataFrame, name: str) -> str:
    """The column of data seen at each checkpoint, where `n_data` is that of the whole run."""
    seen = [c for c in SEEN if c in frame and frame[c].notna().all() and (frame[c] > 0).all()]
    return seen[0] if name == "n_data" and seen else name


def _one_length(frame: pd.DataFrame, names: list[str]) -> bool:
    """Whether n_data does not vary from run to run and the data seen along them is in the table."""
    return "n_data" in names and frame["n_data"].nunique() < 2 and _seen(frame, "n_data") != "n_data"


def select(frame: pd.DataFrame, where: Mapping[str, str]) -> pd.DataFrame:
    """Rows that meet every condition, ``column = value`` as text, number, or true and false."""
    for column, value in where.items():
        if column not in frame:
            raise BadInput(f"no column {column!r} to select by; {nearest(column, map(str, frame.columns))}")
        if pd.api.types.is_bool_dtype(frame[column]):
            mask = (frame[column].astype(str).str.lower() == value.lower()).to_numpy()
        elif pd.api.types.is_numeric_dtype(frame[column]):
            try:  # seeds 100000 and 100001 differ, and so do weight decays of 0 and 1e-9
                mask = np.isclose(frame[column].to_numpy(float), float(value), rtol=1e-9, atol=0)
            except ValueError as wrong:
                raise BadInput(f"column {column!r} holds numbers: {value!r} is not one") from wrong
        else:
            mask = (frame[column].astype(str) == value).to_numpy()
        if not mask.any():
            kinds = [str(v) for v in frame[column].dropna().unique()]
            raise BadInput(f"no row has {column} = {value}; {nearest(value, kinds)}")
        frame = frame[mask]
    return frame


def _one_kind(frame: pd.DataFrame, names: list[str]) -> None:
    """A law is of one kind of network on one kind of data, and one of a size is not one of two."""
    for size, other in (SIZES, SIZES[::-1]):
        if names == [size] and other in frame and frame.groupby(size)[other].nunique().max() > 1:
            first = f"{frame[other].min():.12g}"
            raise BadInput(
                f"points of one {size} differ in {other}, so no law of {size} alone follows from them: fit a "
                f"surface of both (laws surface, surface.fit), choose one (--where {other}={first}), or fit "
                "all in one (mixed=True, laws fit --mixed)"
            )
    for column in ("model", "dataset", "task", "domain", "experiment", "source"):
        if column in frame and column not in names and frame[column].nunique(dropna=False) > 1:
            if column == "model" and _names_sizes(frame, names):
                continue
            kinds = [str(v) for v in frame[column].dropna().unique()]
            missing = ["none"] if frame[column].isna().any() else []
            shown = ", ".join([*missing, *kinds][:4]) + ("…" if len(kinds) + len(missing) > 4 else "")
            raise BadInput(
                f"the rows mix {len(kinds) + len(missing)} values of {column} ({shown}): choose one "
                f"(--where {column}={kinds[0]}), or fit all in one (mixed=True, laws fit --mixed)"
            )


def _names_sizes(frame: pd.DataFrame, names: list[str]) -> bool:
    """Whether each value of `model` names one value of a variable ("70M", "int4"), or one row of all of them.

    With compute and a second variable the size of the model follows, so that its names count, too.
    """
    model = frame["model"].astype(str)
    follows = "compute" in names and len(names) > 1 and "n_params" in frame
    each = [*([n] for n in names), names, *([["n_params"]] if follows else [])]
    return any(
        len(frame[columns].drop_duplicates())
        == model.nunique()
        == len(frame[columns].assign(model=model).drop_duplicates())
        for columns in each
    )


def _numeric(frame: pd.DataFrame, names: list[str]) -> None:
    """Refuse columns that are not there or do not hold numbers."""
    for name in names:
        if name not in frame:
            raise BadInput(f"no column {name!r}; {nearest(name, map(str, frame.columns))}")
        if not pd.api.types.is_numeric_dtype(frame[name]):
            wrong = no_number(frame[name])
            numbers = [str(c) for c in frame.select_dtypes("number")]
            raise BadInput(f"column {name!r} must hold numbers, not {wrong!r}; {nearest(name, numbers)}")


def _without_copies(frame: pd.DataFrame, y: str) -> tuple[pd.DataFrame, list[str]]:
    """Rows that are in the table twice count once, where y has too many digits for two runs to share it."""
    counted = frame.drop(columns=["run", "repeat"]) if "repeat" in frame and "run" in frame else frame
    copies = counted.duplicated().to_numpy()
    exact = copies & frame[y].map(lambda v: bool(np.isfinite(v)) and float(f"{v:.{DIGITS - 1}g}") != v)
    notes = []
    if exact.any():
        notes.append(f"{exact.sum()} rows are exact copies of another: counted once")
    if left := int((copies & ~exact).sum()):
        notes.append(f"{left} rows are exact copies of another and are counted twice; was a file read twice?")
    return frame[~exact], notes


def _doubts(frame: pd.DataFrame, names: list[str]) -> list[str]:
    """Notes on the rows that matter for a fit of them."""
    notes = []
    settings = [c for c in SETTING if c in frame and not is_seed(c)]
    for column in (c for c in (*settings, *_chosen(frame)) if c not in names):
        if frame.groupby(names)[column].nunique().max() > 1:  # a spread that would pass for noise
            kinds = sorted(frame[column].dropna().unique())
            words = [v if isinstance(v, str) else f"{v:.6g}" for v in kinds[:4]]
            shown = ", ".join([*words, *["…"][: len(kinds) - 4]])
            size = "" if column in SETTING else f"; if it is a size, --column n_params={column} says so"
            notes.append(
                f"points of one size differ in {column} ({shown}): "
                f"--where {column}={kinds[0]} takes one{size}"
            )
    if {"run", "status"} <= {*frame.columns}:
        lost = frame.loc[frame["status"] == "diverged", "run"].nunique()
        if lost:
            notes.append(f"diverged runs count too ({lost}): --where status=done leaves them out")
    return notes


def _chosen(frame: pd.DataFrame) -> list[str]:
    """Columns of numbers of no known name whose values recur, as those of a setting do."""
    known = {*SETTING, *PROGRESS, *OUTCOME, "run"}
    free = [c for c in frame.select_dtypes("number") if c not in known and not is_seed(c)]
    return [c for c in free if len(frame) >= 2 * frame[c].nunique() and frame[c].value_counts().min() > 1]


def _standard_error(frame: pd.DataFrame, column: str) -> tuple[str | None, str]:
    """The column, or None where some rows have no standard error (a mean of one run); and the note."""
    known = pd.to_numeric(frame[column], errors="coerce") > 0
    if known.all():
        return column, f"points count by their {column}"
    lost = int((~known).sum())
    return None, f"{column} is missing or zero in {lost} of {len(frame)} rows: all points count alike"


def _reduced(frame: pd.DataFrame, keys: list[str], y: str, reduce: str) -> tuple[pd.DataFrame, str]:
    """The rows that count where a run has several at one x, and what was done; empty if nothing was."""
    if reduce == "all" or not frame.duplicated(keys).any():
        return frame, ""
    if reduce == "last":
        progress = [c for c in PROGRESS if c in frame]
        ordered = frame.sort_values(progress[0], kind="stable") if progress else frame
        kept = ordered.groupby(keys, sort=False).tail(1)
        return kept, f"the last row of each run: {len(kept)} of {len(frame)} rows"
    known = frame[frame[y].notna()]
    kept = known.loc[known.groupby(keys, sort=False)[y].idxmin()]
    note = f"the lowest {y} of each run: {len(kept)} of {len(frame)} rows (other choices: last, all)"
    if lost := len(frame[keys].drop_duplicates()) - len(kept):
        note += f"; {lost} without any {y} are left out"
    return kept, note


def _tuned(frame: pd.DataFrame, names: list[str], y: str) -> tuple[pd.DataFrame, str]:
    """At each size the recipe with the best mean of y, where every run is a point; and what was done.

    A mean over learning rates, say, would be the law of no network.
    """
    recipe = [c for c in TUNED if c in frame and c not in names]
    varied = [c for c in recipe if (frame.groupby(names)[c].nunique(dropna=False) > 1).any()]
    if not varied or y in TUNED or frame["__run"].duplicated().any():  # the lowest rate is not the best
        return frame, ""
    score = (-frame[y] if y in ACCURACIES else frame[y]).fillna(np.inf)
    mean = score.groupby([frame[c] for c in (*names, *varied)], dropna=False).transform("mean")
    kept = frame[mean <= mean.groupby([frame[c] for c in names]).transform("min")]
    return kept, (
        f"at each size the {' and '.join(varied)} with the best {y}: {len(kept)} of {len(frame)} runs "
        "(reduce='all', --reduce all takes every one)"
    )


def _run_names(
    frame: pd.DataFrame, names: list[str], y: str, error: str | None
) -> tuple[np.ndarray, list[str]]:
    """The run of each row, and by which columns: those that name it, else its settings, else the row."""
    each = np.arange(len(frame)).astype(str), ["row"]
    for column in ("run", "run_name"):
        if column in frame:
            return frame[column].astype(str).to_numpy(), [column]
    # a "Learning Rate" that were taken for a measurement would make the best of all rates one run
    spelt = [c for c in map(str, frame.columns) if c not in SETTING and standard_name(c) in SETTING]
    settings = [*names, *(c for c in spelt if c not in names and c != y)]
    try:
        errors = [c for c in {error, f"{y}_stderr"} if c in frame]
        named = Curves(frame.drop(columns=errors).reset_index(drop=True), settings=settings)
    except BadInput:
        return each
    runs = named.frame["run"].to_numpy()
    # settings alone do not separate repeats from checkpoints: without progress or a second measurement, each
    # row is a run of its own
    told_apart = named.progress_columns or [c for c in named.measurement_columns if c != y]
    return (runs, list(named.setting_columns)) if told_apart else each
