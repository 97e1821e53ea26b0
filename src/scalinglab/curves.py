"""Curves: one tidy table of learning curves, one row a run and checkpoint.

Theories, simulations, training runs and readers of logs all write this table; laws, figures and reports
read it. A column has one of four roles:

- identity: `run` (hash of the setting), `source`, `experiment`;
- setting, constant in a run: `model`, `n_data`, `width`, `learning_rate`, `seed`, …;
- progress: `step`, `epoch`, `examples`, `compute` (FLOPs), `time`;
- measurement: `test_error` (a fraction, never percent), `test_loss`, `norm`, `norm_*`, ….

Missing values are null. A run that diverged keeps its rows and says so in `diverged`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.errors import BadInput, nearest

IDENTITY = ("run", "source", "experiment")
SETTING = (
    "model", "dataset", "n_data", "n_params", "width", "depth", "parameterization", "optimizer",
    "learning_rate", "batch_size", "momentum", "weight_decay", "seed",
    "task_exponent", "spectral_exponent", "load", "sharpness", "ensemble", "bags", "noise", "ridge",
)  # fmt: skip
PROGRESS = ("step", "epoch", "examples", "compute", "time")
OUTCOME = ("status", "diverged")  # how the run ended: neither chosen nor measured
SOURCES = ("theory", "simulate", "train", "read")


def run_name(setting: Mapping[str, Any]) -> str:
    """The name of a run: a hash of its setting, the same on every machine and in every session.

    >>> run_name({"n_data": 100, "seed": 0}) == run_name({"seed": 0, "n_data": 100})
    True
    """
    text = json.dumps({k: _plain(v) for k, v in setting.items() if not _missing(v)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)  # 100 and 100.0 are the same size
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


@dataclass(frozen=True, repr=False)
class Curves:
    """Learning curves as a table.

    Args:
        frame: columns by name; anything that `pandas.DataFrame` takes.
        settings: names of columns that are settings although they are not in the standard list.

    Where `run` is missing it is made from the setting columns. The table is validated and copied: a
    `Curves` is never changed, every method returns a new one.
    """

    frame: pd.DataFrame
    settings: tuple[str, ...] = ()

    def __init__(
        self,
        data: pd.DataFrame | Mapping[str, Any],
        *,
        settings: Iterable[str] = (),
        source: str | None = None,
        experiment: str | None = None,
    ) -> None:
        frame = pd.DataFrame(data).reset_index(drop=True)
        settings = tuple(dict.fromkeys(settings))
        frame = frame.assign(**{k: v for k, v in (("source", source), ("experiment", experiment)) if v})
        if unknown := [name for name in settings if name not in frame]:
            raise BadInput(f"settings={unknown} are not columns; {nearest(unknown[0], frame.columns)}")
        known = [c for c in frame.columns if c in SETTING or c in settings]
        if "run" not in frame:
            frame.insert(0, "run", _run_names(frame, [*known, *(c for c in IDENTITY[1:] if c in frame)]))
        object.__setattr__(self, "frame", frame)
        object.__setattr__(self, "settings", settings)
        _validate(self)

    # --- roles -----------------------------------------------------------------------------------

    @property
    def setting_columns(self) -> list[str]:
        """Columns that are constant in a run: the standard ones, those declared, and text columns."""
        text = [
            c
            for c in self.frame.columns
            if c not in (*IDENTITY, *PROGRESS, *OUTCOME) and not _numeric(self.frame[c])
        ]
        return [c for c in self.frame.columns if c in SETTING or c in self.settings or c in text]

    @property
    def progress_columns(self) -> list[str]:
        """Columns that say how far a run has come."""
        return [c for c in self.frame.columns if c in PROGRESS]

    @property
    def measurement_columns(self) -> list[str]:
        """Columns that were measured (or computed) at each checkpoint."""
        other = {*IDENTITY, *PROGRESS, *OUTCOME, *self.setting_columns}
        return [c for c in self.frame.columns if c not in other]

    @property
    def runs(self) -> list[str]:
        """The names of the runs, in order of appearance."""
        return list(self.frame["run"].unique())

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

    def _like(self, frame: pd.DataFrame, extra: Iterable[str] = ()) -> Curves:
        return Curves(frame, settings=[c for c in (*self.settings, *extra) if c in frame])

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

    def average(self, over: str | Sequence[str] = "seed") -> Curves:
        """Mean over a setting: each measurement m becomes m, m_stderr, with count.

        Rows are grouped by every other setting and by progress, so the runs that are averaged must share
        their checkpoints; `interpolate` first where they do not.
        """
        names = [over] if isinstance(over, str) else list(over)
        self._known(*names)
        if wrong := [n for n in names if n not in self.setting_columns]:
            raise BadInput(f"cannot average over {wrong[0]!r}: it is not a setting of these curves")
        keys = [c for c in self.setting_columns if c not in names] + self.progress_columns
        keys += [c for c in IDENTITY[1:] if c in self.frame]
        measured = [c for c in self.measurement_columns if _numeric(self.frame[c])]
        groups = (
            self.frame.groupby(keys, dropna=False, sort=False)[measured] if keys else self.frame[measured]
        )
        if not keys:
            raise BadInput(
                "nothing is left to group by; keep a setting or a progress column beside the average"
            )
        mean, spread, count = groups.mean(), groups.std(ddof=1), groups.count()
        stderr = (spread / np.sqrt(count)).add_suffix("_stderr")
        table = pd.concat([mean, stderr], axis=1)
        table["count"] = groups.size()
        return self._like(table.reset_index())

    def best(self, y: str = "test_error", smooth: int = 0) -> Curves:
        """The best checkpoint of every run: the row at which `y` is smallest.

        Args:
            smooth: half-width, in checkpoints, of the running mean that is minimised instead of the raw
                values, so that one lucky checkpoint does not win. The row returned holds raw values.
        """
        self._known(y)
        if smooth < 0:
            raise BadInput(f"smooth={smooth} must be 0 (raw) or a positive number of checkpoints")
        rows = []
        for _, group in self.frame.groupby("run", sort=False):
            ordered = group.sort_values(self.progress_columns[:1]) if self.progress_columns else group
            values = ordered[y].rolling(2 * smooth + 1, center=True, min_periods=1).mean()
            if values.notna().any():
                rows.append(values.idxmin())
        return self._like(self.frame.loc[rows])

    def interpolate(self, x: str, at: Sequence[float] | np.ndarray | int = 50, log: bool = True) -> Curves:
        """Every run on one common grid of `x`, by linear interpolation (of ln y against ln x where `log`).

        Args:
            x: the column that becomes the grid, `step` or `norm` say; runs are ordered by it.
            at: the grid, or its number of points between the smallest and largest x present.

        Outside a run's own range the value is null: nothing is extrapolated.
        """
        self._known(x)
        values = self.frame[x].to_numpy(float)
        if log and not np.all(values[np.isfinite(values)] > 0):
            raise BadInput(f"{x} has values that are not positive; pass log=False")
        if isinstance(at, (int, np.integer)):
            low, high = np.nanmin(values), np.nanmax(values)
            grid = np.geomspace(low, high, int(at)) if log else np.linspace(low, high, int(at))
        else:
            grid = np.asarray(at, float)
        keep = [c for c in (*IDENTITY, *self.setting_columns) if c in self.frame and c != x]
        measured = [
            c
            for c in (*self.progress_columns, *self.measurement_columns)
            if c != x and _numeric(self.frame[c])
        ]
        parts = []
        for _, group in self.frame.groupby("run", sort=False):
            part = {c: group[c].iloc[0] for c in keep}
            columns = {c: _interpolate(grid, group[x], group[c], log) for c in measured}
            parts.append(pd.DataFrame({**part, x: grid, **columns}))
        return Curves(pd.concat(parts, ignore_index=True), settings=[*self.settings])

    @staticmethod
    def concat(parts: Iterable[Curves]) -> Curves:
        """Many tables as one; columns are united by name, what a part lacks is null."""
        parts = list(parts)
        if not parts:
            raise BadInput("nothing to concatenate: give at least one Curves")
        frames = [p.frame.dropna(axis=1, how="all") for p in parts]
        names = [name for p in parts for name in p.settings]
        return Curves(pd.concat(frames, ignore_index=True), settings=names)

    # --- files -----------------------------------------------------------------------------------

    def write(self, path: str | Path) -> Path:
        """Write to `.parquet`, `.csv` or `.jsonl`, by the ending; the file appears whole or not at all."""
        path = Path(path)
        writer = _format(path, _WRITERS)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        writer(self.frame, partial)
        partial.replace(path)
        return path

    @staticmethod
    def read(path: str | Path, **columns: str) -> Curves:
        """Read a file that `write` wrote, or any table; `columns` renames, as in ``n_data="train_size"``."""
        path = Path(path)
        if not path.exists():
            raise BadInput(f"{path} does not exist")
        return Curves(rename(_format(path, _READERS)(path), columns, path))

    # --- for people ------------------------------------------------------------------------------

    def __repr__(self) -> str:
        varied = [c for c in self.setting_columns if self.frame[c].nunique(dropna=False) > 1]
        lines = [f"Curves: {len(self.runs)} runs, {len(self)} rows"]
        for title, names in (
            ("settings", varied), ("progress", self.progress_columns), ("measured", self.measurement_columns)
        ):  # fmt: skip
            if names:
                lines.append(f"  {title}: " + ", ".join(_describe(self.frame[c]) for c in names))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{self!r}</pre>" + str(self.frame.head(10).to_html())


def rename(frame: pd.DataFrame, columns: Mapping[str, str], path: str | Path) -> pd.DataFrame:
    """Give columns their standard names: `columns` maps the standard name to the one in `path`."""
    for original in columns.values():
        if original not in frame:
            raise BadInput(f"{path} has no column {original!r}; {nearest(original, frame.columns)}")
    return frame.rename(columns={original: standard for standard, original in columns.items()})


def _run_names(frame: pd.DataFrame, columns: list[str]) -> list[str]:
    if not columns:
        return [run_name({})] * len(frame)
    unique = frame[columns].drop_duplicates()
    names = {
        key: run_name(dict(zip(columns, key, strict=True)))
        for key in unique.astype(object).where(unique.notna(), None).itertuples(index=False, name=None)
    }
    keys = frame[columns].astype(object).where(frame[columns].notna(), None)
    return [names[key] for key in keys.itertuples(index=False, name=None)]


def _validate(curves: Curves) -> None:
    frame = curves.frame
    if frame.empty:
        return
    if not curves.measurement_columns:
        raise BadInput(
            f"no measurement among the columns {list(frame.columns)}: give one, such as test_error"
        )
    if not curves.progress_columns and not curves.setting_columns:
        raise BadInput(
            f"no setting and no progress among the columns {list(frame.columns)}: "
            "give one to plot against, such as n_data or step"
        )
    for column in (*curves.progress_columns, "train_error", "test_error", "train_loss", "test_loss", "norm"):
        if column in frame and not _numeric(frame[column]):
            example = next(v for v in frame[column] if not isinstance(v, (int, float)))
            raise BadInput(f"{column} must hold numbers, not {example!r}")
    for column in ("train_error", "test_error"):
        if column in frame and (worst := frame[column].max()) > 1:
            raise BadInput(
                f"{column} reaches {worst:g}: errors are fractions between 0 and 1; divide percent by 100"
            )
    keys = ["run", *curves.progress_columns]
    if curves.progress_columns and (repeated := frame.duplicated(keys)).any():
        row = frame.loc[repeated.idxmax(), keys].to_dict()
        raise BadInput(
            f"two rows for the same run and checkpoint, {row}: name the setting that tells them apart"
        )


def _numeric(column: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column))


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
    return column.isna() if _missing(condition) else column == condition


def _interpolate(grid: np.ndarray, x: pd.Series, y: pd.Series, log: bool) -> np.ndarray:
    known = pd.DataFrame({"x": x.astype(float), "y": y.astype(float)}).dropna().sort_values("x")
    known = known.drop_duplicates("x")
    if known.empty:
        return np.full(len(grid), np.nan)
    xs, ys = known["x"].to_numpy(), known["y"].to_numpy()
    if log and np.all(ys > 0):
        return np.exp(np.interp(np.log(grid), np.log(xs), np.log(ys), left=np.nan, right=np.nan))
    if log:
        grid, xs = np.log(grid), np.log(xs)
    return np.interp(grid, xs, ys, left=np.nan, right=np.nan)


def _describe(column: pd.Series) -> str:
    values = column.dropna()
    if values.empty:
        return f"{column.name} (empty)"
    if _numeric(column):
        low, high = values.min(), values.max()
        return f"{column.name} {low:g}" if low == high else f"{column.name} {low:g}…{high:g}"
    kinds = list(values.unique())
    return f"{column.name} {', '.join(map(str, kinds[:3]))}{'…' if len(kinds) > 3 else ''}"


_WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    ".parquet": lambda frame, path: frame.to_parquet(path, index=False),
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True, double_precision=15),
}
_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".parquet": pd.read_parquet,
    ".csv": pd.read_csv,
    ".jsonl": lambda path: pd.read_json(path, lines=True),
}


def _format(path: Path, table: dict[str, Any]) -> Any:
    if path.suffix not in table:
        raise BadInput(f"{path}: unknown ending {path.suffix!r}; use one of {', '.join(table)}")
    return table[path.suffix]
