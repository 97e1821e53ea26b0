"""Curves: the table that theory, simulation, training and readers write, and everything else reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scalinglab.curves.columns import (
    IDENTITY,
    OUTCOME,
    PROGRESS,
    SETTING,
    SOURCES,
    Roles,
    is_missing,
    is_numeric,
    is_seed,
    measure_of,
    outcome,
    rename,
    run_names,
    tidy,
    unit_of_data,
    validate,
    varying_columns,
)
from scalinglab.curves.files import frame_of, read_table, write_table
from scalinglab.curves.reading import Reading
from scalinglab.curves.resample import make_grid, on_grid
from scalinglab.errors import BadInput, nearest
from scalinglab.results.notebook import drawn
from scalinglab.support.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False, eq=False)
class Curves:
    """Learning curves as a table.

    Args:
        frame: columns by name; anything that `pandas.DataFrame` takes.
        settings: names of columns that are settings although they are not in the standard list.
        names: what columns were called where they were read, theirs to ours.
        reading: what was understood of the table that was read, column by column.

    Where `run` is missing it is made from the setting columns. The table is validated and copied: a
    `Curves` is never changed, every method returns a new one.
    """

    frame: pd.DataFrame
    settings: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    reading: Reading | None = None

    def __init__(
        self,
        data: pd.DataFrame | Mapping[str, Any],
        *,
        settings: Iterable[str] = (),
        source: str | None = None,
        experiment: str | None = None,
        names: Mapping[str, str] | None = None,
        reading: Reading | None = None,
    ) -> None:
        try:
            frame = frame_of(data).reset_index(drop=True)
        except ValueError as error:
            raise BadInput(f"these columns do not make a table: {error}") from error
        if not frame.columns.is_unique:
            raise BadInput(f"two columns are called {frame.columns[frame.columns.duplicated()][0]!r}")
        if source is not None and source not in SOURCES:
            raise BadInput(f"source={source!r}: {nearest(source, SOURCES)}")
        given = {"source": source, "experiment": experiment}
        frame = tidy(frame.assign(**{name: value for name, value in given.items() if value is not None}))
        settings = tuple(dict.fromkeys(settings))
        if unknown := [name for name in settings if name not in frame]:
            raise BadInput(f"settings={unknown} are not columns; {nearest(unknown[0], frame.columns)}")
        if wrong := [name for name in settings if name in (*IDENTITY, *PROGRESS, *OUTCOME)]:
            raise BadInput(f"settings={wrong} have another role already and cannot be settings")
        object.__setattr__(self, "frame", frame)
        object.__setattr__(self, "settings", settings)
        object.__setattr__(self, "names", dict(names or {}))
        object.__setattr__(self, "reading", reading)
        if "run" not in frame:
            named = [*self.setting_columns, *(name for name in IDENTITY[1:] if name in frame)]
            frame.insert(0, "run", run_names(frame, named))
        object.__setattr__(self, "frame", outcome(frame))
        validate(self.frame, Roles(self.setting_columns, self.progress_columns, self.measurement_columns))

    @property
    def understood(self) -> str:
        """One line on what was recognised in the table that was read; empty if none was."""
        return self.reading.line if self.reading else ""

    # --- roles -----------------------------------------------------------------------------------

    @property
    def setting_columns(self) -> list[str]:
        """Columns that are constant in a run: the standard ones, those declared, seeds, and text columns."""
        free = [c for c in self.frame.columns if c not in (*IDENTITY, *PROGRESS, *OUTCOME)]
        named = [*SETTING, *self.settings, *filter(is_seed, free)]
        return [c for c in free if c in named or not is_numeric(self.frame[c])]

    @property
    def varying_settings(self) -> list[str]:
        """Settings, seeds included, that are not the same in all rows."""
        return varying_columns(self.frame, self.setting_columns)

    @property
    def seed_columns(self) -> list[str]:
        """Settings that only identify the random numbers of a run: runs that differ in these are repeats."""
        return [c for c in self.setting_columns if is_seed(c)]

    @property
    def progress_columns(self) -> list[str]:
        """Columns of progress: how far a run has come."""
        return [c for c in self.frame.columns if c in PROGRESS]

    @property
    def measurement_columns(self) -> list[str]:
        """Columns that were measured (or computed) at each checkpoint."""
        other = {*IDENTITY, *PROGRESS, *OUTCOME, *self.setting_columns}
        return [c for c in self.frame.columns if c not in other]

    @property
    def data_unit(self) -> str:
        """What `n_data` counts: tokens in tables of language models, examples in others."""
        return self.unit_of("n_data") or unit_of_data(self.frame)

    def unit_of(self, column: str) -> str:
        """What a column counts, where the table that was read says so; else empty."""
        read = () if self.reading is None else self.reading.columns
        return next((c.unit for c in read if c.ours == column), "")

    @property
    def runs(self) -> list[str]:
        """The names of the runs, in order of appearance."""
        return list(self.frame["run"].unique())

    @property
    def has_diverged(self) -> np.ndarray:
        """(rows,) whether the run of each row diverged: by `status`, or because it has a `diverged_at`."""
        diverged = np.zeros(len(self), bool)
        if "status" in self.frame:
            diverged |= (self.frame["status"] == "diverged").to_numpy(bool)
        if "diverged_at" in self.frame:
            diverged |= self.frame["diverged_at"].notna().to_numpy()
        return diverged

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, column: str) -> np.ndarray:
        """One column as an array."""
        return self.frame[self._known(column)].to_numpy()

    def _known(self, *columns: str) -> str:
        for column in columns:
            if column not in self.frame:
                raise BadInput(f"no column {column!r} in these curves; {nearest(column, self.frame.columns)}")
        return columns[0]

    def resolve(self, column: str) -> str:
        """The name of a column here, given by this name or by the one it had where it was read.

        The name is returned as it is where there is no such column, for the error that names it.
        """
        name = column if column in self.frame else self.names.get(column, column)
        # a loss that is not named as of training is that of the test
        is_test = name == "loss" and name not in self.frame and "test_loss" in self.frame
        return "test_loss" if is_test else name

    def _like(self, frame: pd.DataFrame) -> Curves:
        settings = [name for name in self.settings if name in frame]
        return Curves(frame, settings=settings, names=self.names, reading=self.reading)

    # --- working with them -----------------------------------------------------------------------

    def select(self, **conditions: Any) -> Curves:
        """Rows that meet every condition.

        A condition is a value, a list of values, a `slice(low, high)` (both ends included), or a function
        from the column to a mask.

        >>> c = Curves({"n_data": [10, 10, 20], "step": [1, 2, 1], "test_error": [0.5, 0.4, 0.3]})
        >>> len(c.select(n_data=10)), len(c.select(test_error=slice(None, 0.4)))
        (2, 2)
        """
        mask = pd.Series(True, index=self.frame.index)
        for column, condition in conditions.items():
            self._known(column)
            mask &= _matches(self.frame[column], condition)
        return self._like(self.frame[mask])

    def average(self, over: str | Sequence[str] | None = None, on: str | None = None) -> Curves:
        """Mean over a setting: each measurement m becomes m and m_stderr, with the number of rows in count.

        Args:
            over: the setting, or several, whose values are averaged out; default: all seeds.
            on: the column at whose equal values runs are averaged; by default the first progress column
                they have. After ``interpolate("norm")`` this is ``on="norm"``.

        The standard error is null where only one run has the value; nulls do not enter the mean.
        """
        names = [over] if isinstance(over, str) else list(self.seed_columns if over is None else over)
        if not names:
            raise BadInput("there is no seed to average over: name the setting, as in average('width')")
        for name in names:
            self._known(name)
            if name not in self.setting_columns:
                raise BadInput(f"cannot average over {name!r}: it is not a setting of these curves")
        keys = [c for c in self.setting_columns if c not in names]
        keys += [c for c in IDENTITY[1:] if c in self.frame]
        frame = self.frame[keys].copy()
        if on is not None:
            frame["_value"] = self.frame[self._known(on)]
        elif self.progress_columns:
            frame["_column"], frame["_value"] = self._main_progress()
        if frame.columns.empty:
            raise BadInput(
                f"nothing is left to group by once {', '.join(names)} is averaged out; "
                "keep a setting or a step"
            )
        group = frame.groupby(list(frame.columns), dropna=False, sort=False).ngroup().to_numpy()
        measured = [c for c in self.measurement_columns if c != on]
        together = [c for c in (*self.progress_columns, on) if c is not None and c not in keys]
        groups = self.frame[measured].groupby(group, sort=False)
        count = groups.count()
        spread = groups.std(ddof=1) / np.sqrt(count.where(count > 0))
        parts = [
            self.frame[keys].groupby(group, sort=False).nth(0).reset_index(drop=True),
            self.frame[list(dict.fromkeys(together))].groupby(group, sort=False).mean(),
            groups.mean(), spread.add_suffix("_stderr"), groups.size().rename("count"),
        ]  # fmt: skip
        averaged = pd.concat(parts, axis=1)
        whole = [c for c in self.progress_columns if self.frame[c].dtype.kind == "i"]
        averaged = averaged.astype({c: int for c in whole if (averaged[c] % 1 == 0).all()})
        if len(averaged) == len(self) > 1 and len(self.frame[names].drop_duplicates()) > 1:
            raise BadInput(f"no two rows differ in {', '.join(names)} alone: {self._way_to_average(names)}")
        return self._like(averaged)

    def _way_to_average(self, names: list[str]) -> str:
        """What to do where averaging over these settings leaves every row alone."""
        seeds = [c for c in self.seed_columns if c not in names and self.frame[c].nunique() > 1]
        if seeds:
            every = ", ".join(repr(name) for name in (*names, *seeds))
            return f"{', '.join(seeds)} varies with it; average([{every}]) averages over both"
        return "bring the runs to common checkpoints with interpolate(x), then average(on=x)"

    def best(self, y: str = "test_error") -> Curves:
        """The best checkpoint of every run: the row at which `y` is smallest, the earliest of equals.

        Args:
            y: what is minimised.

        A run in which `y` is null throughout has no best checkpoint and no row.
        """
        if not is_numeric(self.frame[self._known(y)]):
            raise BadInput(f"{y} holds text: the best checkpoint is that with the smallest number")
        run, order = self._ordered()
        values = self.frame[y].to_numpy(float)[order]
        # by run, then value; sorting is stable, so the earliest of equals comes first and nulls last
        ranked = np.lexsort((values, run[order]))
        first = ranked[np.unique(run[order][ranked], return_index=True)[1]]
        return self._like(self.frame.iloc[order[first[~np.isnan(values[first])]]])

    def _ordered(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of each row's run, and the order by run and progress."""
        run, _ = pd.factorize(self.frame["run"])
        progress = self._main_progress()[1] if self.progress_columns else np.zeros(len(run))
        return run, np.lexsort((progress, run))

    def _main_progress(self) -> tuple[np.ndarray, np.ndarray]:
        """For each row the first progress column that it has, by number, and the value there."""
        table = self.frame[[name for name in PROGRESS if name in self.frame]].to_numpy(float)
        column = (~np.isnan(table)).argmax(axis=1)
        return column, table[np.arange(len(table)), column]

    def interpolate(self, x: str, at: Sequence[float] | np.ndarray | int = 50, log: bool = True) -> Curves:
        """Every run on one common grid of `x`, by linear interpolation (of ln y against ln x where `log`).

        Args:
            x: the column that becomes the grid, `step` or `norm` say; runs are ordered by it, and rows of a
                run that share an x are averaged.
            at: the grid, or its number of points between the smallest and largest x present.
            log: interpolate against ln x, and in ln y for columns that are positive in the whole run.

        Outside a run's own range the value is null: nothing is extrapolated.
        """
        self._known(x)
        if x not in (*self.progress_columns, *self.measurement_columns):
            raise BadInput(f"{x!r} does not change within a run; interpolate along a step or a measurement")
        values = self.frame[x].to_numpy(float)
        grid = make_grid(x, values[np.isfinite(values)], at, log)
        varying = [c for c in (*self.progress_columns, *self.measurement_columns) if c != x]
        table = self.frame[varying].to_numpy(float)
        run, _ = pd.factorize(self.frame["run"])
        order = np.argsort(run, kind="stable")
        starts = np.flatnonzero(np.diff(run[order], prepend=-1))
        parts = [on_grid(grid, values[rows], table[rows], log) for rows in np.split(order, starts[1:])]
        keep = self.frame[[c for c in self.frame.columns if c != x and c not in varying]]
        frame = keep.iloc[np.repeat(order[starts], len(grid))].reset_index(drop=True)
        frame[x] = np.tile(grid, len(parts))
        columns = pd.DataFrame(np.concatenate(parts), columns=varying)
        return self._like(pd.concat([frame, columns], axis=1))

    @staticmethod
    def concat(parts: Iterable[Curves]) -> Curves:
        """Many tables as one; columns are united by name, what a part lacks is null."""
        parts = list(parts)
        if not parts:
            raise BadInput("nothing to concatenate: give at least one Curves")
        names = list(dict.fromkeys(name for part in parts for name in part.frame.columns))
        # a column that is null throughout must not decide the type of the others
        frames = [part.frame.dropna(axis=1, how="all") for part in parts if len(part)] or [parts[0].frame]
        settings = [name for part in parts for name in part.settings]
        return Curves(pd.concat(frames, ignore_index=True).reindex(columns=names), settings=settings)

    # --- files -----------------------------------------------------------------------------------

    def write(self, path: str | Path) -> Path:
        """Write to `.parquet`, `.csv` or `.jsonl`, by the ending; the file appears whole or not at all."""
        write_table(self.frame, self.settings, Path(path))
        return Path(path)

    @staticmethod
    def read(path: str | Path, *, settings: Iterable[str] = (), **columns: str) -> Curves:
        """Read a file that `write` wrote, or any table.

        Args:
            path: a `.parquet`, `.csv` or `.jsonl` file.
            settings: columns that are settings although they are not in the standard list. Parquet files
                remember them, the other formats do not.
            columns: what a column is called there, as in ``n_data="train_size"``.
        """
        frame, declared = read_table(Path(path))
        return Curves(rename(frame, columns, path), settings=[*declared, *settings])

    # --- for people ------------------------------------------------------------------------------

    def __repr__(self) -> str:
        lines = [f"Curves: {counted(len(self.runs), 'run')}, {counted(len(self), 'row')}"]
        if "status" in self.frame:
            kinds = self.frame.drop_duplicates("run")["status"].value_counts()
            lines[0] += f" ({', '.join(f'{number} {kind}' for kind, number in kinds.items())})"
        columns = {"settings": self.varying_settings, "progress": self.progress_columns}
        for title, names in {**columns, "measured": self.measurement_columns}.items():
            shown = [_describe(self.frame[c]) for c in names[:8]]
            more = [f"and {len(names) - 8} more"] if len(names) > 8 else []
            if names:
                lines.append(f"  {title}: " + ", ".join(shown + more))
        if self.understood:
            lines.append(f"  read from {self.understood}")
        return "\n".join(lines)

    @property
    def default_measure(self) -> str:
        """The column that is fitted and drawn where none is named."""
        return measure_of(self.frame, self.setting_columns)

    def plot(self, axes: Axes | None = None, **options: Any) -> Axes:
        """Draw the curves, on `axes` or on a figure of their own, and return the axes.

        Args:
            axes: of matplotlib.
            options: `x` and `y`, columns, and `by`, the setting that colours are for; by default the
                progress, the measure that a law is fitted to, and the first setting that differs.
        """
        return drawn(self, axes, **options)

    def _repr_html_(self) -> str:
        return f"<pre>{self!r}</pre>" + str(self.frame.head(10).to_html())


def _matches(column: pd.Series, condition: Any) -> pd.Series:
    if callable(condition):
        function: Callable[[pd.Series], Any] = condition
        return pd.Series(function(column), index=column.index).astype(bool)
    if isinstance(condition, slice):
        low = True if condition.start is None else column >= condition.start
        high = True if condition.stop is None else column <= condition.stop
        return pd.Series(True, index=column.index) & low & high
    if isinstance(condition, (list, tuple, set, np.ndarray)):
        return column.isin(list(condition))
    return column.isna() if is_missing(condition) else column == condition


def _describe(column: pd.Series) -> str:
    values = column.dropna()
    if values.empty:
        return f"{column.name} (empty)"
    if is_numeric(column):
        low, high = values.min(), values.max()
        return f"{column.name} {low:g}" if low == high else f"{column.name} {low:g}…{high:g}"
    kinds = list(values.unique())
    return f"{column.name} {', '.join(map(str, kinds[:3]))}{'…' if len(kinds) > 3 else ''}"
