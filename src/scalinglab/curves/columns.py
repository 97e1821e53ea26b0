"""The columns of the table: their roles and types, the names of runs, and validation."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves.names import SPREADS, bare, is_setting, quantity
from scalinglab.curves.numbers import number
from scalinglab.curves.reading import listed
from scalinglab.errors import BadInput, nearest

IDENTITY = ("run", "source", "experiment")
SETTING = (
    "model", "dataset", "n_data", "n_params", "width", "depth", "parameterization", "optimizer",
    "learning_rate", "batch_size", "momentum", "weight_decay", "seed",
    "task_exponent", "spectral_exponent", "load", "sharpness", "ensemble", "bags", "noise", "ridge",
)  # fmt: skip
PROGRESS = ("step", "epoch", "examples", "tokens", "compute", "time")
REPEATS = ("trial", "rep", "repeat", "replicate", "replica", "repetition", "fold")  # seeds under other names
REASONS = ("norm_missing",)  # words in a row: why a measurement is NaN
OUTCOME = ("status", "diverged_at", *REASONS)  # how the run ended: neither chosen nor measured
NUMBERS = ("train_error", "test_error", "train_loss", "test_loss", "norm", "n_data", "n_params")
MEASURES = ("test_error", "test_loss", "train_error", "train_loss", "loss")  # what a law is fitted to, first
ACCURACIES = ("test_accuracy", "accuracy")  # laws are of 1 - accuracy
MODEL_AND_DATA = ("n_params", "n_data")
CLEAR_RANK = 0.5  # correlation of a measurement with a size that it follows
# measured: `benchmarks/chosen.py tables`: neighbouring n_params of public studies differ by less than 0.003
# (57 % of them) or more than 0.03 (40 %); of ln size: sizes that differ by less are one, and less off a line
# they lie on it
SAME_SIZE = 0.03
MOST_EXAMPLES = 1e10  # of a data set; more must be tokens
FLOPS_PER_PARAM_EXAMPLE = 6.0  # per parameter and example: 2 forward, 4 backward
DEEPEST_CELL = 100  # levels of lists and dictionaries
SOURCES = ("theory", "simulate", "train", "read")


def measure_of(frame: pd.DataFrame, settings: Iterable[str] = ()) -> str:
    """The column to fit by default: the first of `MEASURES` that follows a size, an accuracy, the only other.

    For language models the loss comes first, since errors belong to single tasks. An error that is constant
    or stays at chance is passed over for a loss that falls. If nothing was measured, "test_error", so that
    the error message names it.

    Args:
        settings: columns that were chosen, beside the standard ones.
    """
    taken = (*IDENTITY, *SETTING, *PROGRESS, *OUTCOME, *settings)  # L as a size is read as "loss", a setting
    words = {c: bare(c).split("_") for c in frame if c not in taken}
    free = [c for c, each in words.items() if not {each[0], each[-1]} & SPREADS]
    known = [c for c in (*MEASURES, *ACCURACIES) if c in free and frame[c].notna().any()]
    likely = [c for c in free if frame[c].nunique() > 1] or free
    usual = likely[0] if len(likely) == 1 and not is_setting(likely[0]) else MEASURES[0]
    others = [c for c in free if c not in known and is_numeric(frame[c]) and frame[c].nunique() > 1]
    others = [c for c in others if (q := quantity(c)) is not None and not q.is_spread and q.split != "train"]
    if known and others and all("train" in c for c in known):
        return MEASURES[0]  # a choice that the training loss does not make
    varied = [c for c in known if frame[c].nunique() > 1]
    if "test_loss" in varied and unit_of_data(frame) == "tokens":
        varied = ["test_loss", *varied]
    first = next(iter(varied), next(iter(known), str(usual)))
    of_test = [c for c in varied if "train" not in c and c != first]
    if of_test and not _follows_a_size(frame, first):
        return next((c for c in of_test if _follows_a_size(frame, c)), first)
    return first


def _follows_a_size(frame: pd.DataFrame, measured: str) -> bool:
    """Whether values rise or fall with one of the sizes; True for a table without sizes.

    If runs differ in size, only their last rows count, because every run improves along its steps.
    """
    varied = [c for c in (*MODEL_AND_DATA, *PROGRESS) if c in frame and is_numeric(frame[c])]
    varied = [c for c in varied if frame[c].nunique() > 1]
    sizes = [c for c in varied if c in MODEL_AND_DATA] or varied
    if sizes != varied and "run" in frame:
        frame = frame[frame[measured].notna()].drop_duplicates("run", keep="last")
    ranks = (rank_correlation(frame[measured], frame[c]) for c in sizes)
    return not sizes or any(abs(rank) > CLEAR_RANK for rank in ranks)


def size_groups(sizes: Any, apart: float = SAME_SIZE) -> np.ndarray:
    """The number of each size's group, from the smallest; NaN where it is missing.

    A group holds the sizes that lie within `apart`, in ln size, of its smallest: they differ by rounding.

    >>> size_groups([1e9, 1.01e9, 2e9, np.nan, 7e8]).tolist()
    [1.0, 1.0, 2.0, nan, 0.0]
    """
    logs = np.log(np.maximum(np.asarray(sizes, float), 1e-300))
    ordered, smallest, place = np.unique(logs[~np.isnan(logs)]), list[float](), 0
    while place < len(ordered):
        smallest.append(ordered[place])
        place = int(np.searchsorted(ordered, ordered[place] + apart, side="right"))
    return np.where(np.isnan(logs), np.nan, np.searchsorted(smallest, logs, side="right") - 1.0)


def rank_correlation(one: pd.Series, other: pd.Series) -> float:
    """Spearman's correlation; NaN for constants. pandas' own would load scipy.stats."""
    known = one.notna() & other.notna()
    with np.errstate(invalid="ignore"):  # pandas before 3.1 divides by their zero spread
        return float(one[known].rank().corr(other[known].rank()))


def explained_by_ranks(values: Any, others: Sequence[Any]) -> float:
    """The share of the variance of the ranks of values that the ranks of other columns explain together."""
    ranks, *across = (pd.Series(np.asarray(each)).rank().to_numpy() for each in (values, *others))
    design = np.column_stack([np.ones(len(ranks)), *across])
    left = ranks - design @ np.linalg.lstsq(design, ranks, rcond=None)[0]
    return float(1 - np.var(left) / np.var(ranks)) if np.ptp(ranks) > 0 else 0.0


def unit_of_data(frame: pd.DataFrame) -> str:
    """What `n_data` counts: tokens in tables of language models, examples in others.

    More than `MOST_EXAMPLES` are tokens, whatever the column is called.
    """
    if "tokens" in frame:
        return "tokens"
    sizes = frame["n_data"] if "n_data" in frame else pd.Series(dtype=float)
    large = pd.api.types.is_numeric_dtype(sizes) and bool((sizes > MOST_EXAMPLES).any())
    return "tokens" if large else "examples"


def standard_name(column: Any) -> str:
    """A column's name as we would write it: "Seed #" is seed, "Learning Rate" learning_rate.

    >>> standard_name("config.Learning-Rate"), standard_name("dataSeed")
    ('learning_rate', 'data_seed')
    """
    last = re.split(r"[./]", str(column))[-1]
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", last).lower()).strip("_")


def is_seed(column: Any) -> bool:
    """Whether a column only identifies the random numbers of a run: seed, data_seed, trial, repeat, ….

    Runs that differ in seeds alone are repeats of one another, whichever seed it is.

    >>> [*filter(is_seed, ("seed", "data_seed", "seed_data", "Seed", "trial", "seedling_count", "n_seeds"))]
    ['seed', 'data_seed', 'seed_data', 'Seed', 'trial']
    """
    name = standard_name(column)
    words = name.split("_")
    return "seed" in (words[0], words[-1]) or name.removesuffix("_id") in REPEATS


def run_name(setting: Mapping[str, Any]) -> str:
    """The name of a run: a hash of its setting, the same on every machine and in every process.

    Missing values do not count, and 100 and 100.0 are the same.

    >>> run_name({"n_data": 100, "seed": 0}) == run_name({"seed": 0.0, "n_data": 100, "noise": None})
    True
    """
    known = {name: _canonical(value, name) for name, value in setting.items() if not is_missing(value)}
    text = json.dumps(known, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _canonical(value: Any, name: str) -> Any:
    value = plain(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, list):
        return [_canonical(v, name) for v in value]
    if isinstance(value, dict):
        return {k: _canonical(v, name) for k, v in value.items()}
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    raise BadInput(
        f"setting {name}={value!r} is a {type(value).__name__}; "
        "a setting holds numbers, text, true or false, lists and dictionaries of these"
    )


def plain(value: Any) -> Any:
    """The value in JSON's types, if that loses nothing."""
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(v) for v in value]
    if isinstance(value, PurePath):
        return str(value)
    return value.isoformat() if isinstance(value, date) else value


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN or pandas' NA."""
    return value is None or value is pd.NA or (isinstance(value, (float, np.floating)) and math.isnan(value))


def run_names(frame: pd.DataFrame, columns: list[str]) -> pd.api.extensions.ExtensionArray:
    """The name of each row's run, from its settings; each distinct setting is hashed once."""
    if not columns or frame.empty:
        group, distinct = np.zeros(len(frame), int), [dict[str, Any]()]
    else:
        group = frame.groupby(columns, dropna=False, sort=False).ngroup().to_numpy()
        _, first = np.unique(group, return_index=True)
        distinct = [dict(zip(columns, row)) for row in zip(*(frame[c].iloc[first].tolist() for c in columns))]
    # taken as text: a Python object a row would need three times the memory
    return pd.Series([run_name(setting) for setting in distinct]).array.take(group)


def varying(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The keys that do not have the same value in all of these settings, in order of appearance.

    >>> varying([{"width": 1, "seed": 0}, {"width": 1, "seed": 1, "noise": 0.1}])
    ['seed', 'noise']
    """
    each = list(settings)
    names = dict.fromkeys(name for setting in each for name in setting)
    return [name for name in names if any(s.get(name) != each[0].get(name) for s in each)]


def varying_columns(frame: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """Those of the columns that do not have the same value in all rows; missing is a value."""
    return [name for name in columns if frame[name].nunique(dropna=False) > 1]


def varying_within(frame: pd.DataFrame, by: str, columns: Iterable[str]) -> list[str]:
    """Those of the columns in which rows with the same value of `by` differ; missing is no value."""
    within = frame.groupby(by)
    return [name for name in columns if name != by and (within[name].nunique() > 1).any()]


def is_numeric(column: pd.Series) -> bool:
    """Whether a column holds numbers (or true and false)."""
    return bool(pd.api.types.is_numeric_dtype(column))


def no_number(column: pd.Series) -> Any:
    """The first value of a text column that cannot be read as a number, for the error message.

    >>> no_number(pd.Series(["0.5", None, "19M", "abc"]))
    'abc'
    """
    unreadable = column.notna() & column.map(lambda value: is_missing(number(str(value))))
    return column[unreadable].iloc[0] if unreadable.any() else column.dropna().iloc[0]


def tidy(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns as NumPy numbers or text: nullable, categorical and mixed columns are turned into these."""
    changed = {}
    for name in frame.columns:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = changed[name] = column.astype(column.cat.categories.dtype)
        extension = isinstance(column.dtype, pd.api.extensions.ExtensionDtype)
        if extension and pd.api.types.is_numeric_dtype(column):
            whole = not column.isna().any()
            changed[name] = column.to_numpy(column.dtype.numpy_dtype if whole else float, na_value=np.nan)
        elif column.dtype == object:
            kinds = set(map(type, column[column.notna()]))
            if all(issubclass(kind, (int, float, np.number, np.bool_)) for kind in kinds):
                changed[name] = _numbers(column)
            elif kinds & {list, tuple, dict, np.ndarray}:
                changed[name] = column.map(cell_text)
    return frame.assign(**changed) if changed else frame


def outcome(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn a column `diverged`, a step or yes and no (also 1 and 0), into the outcome of runs.

    >>> outcome(pd.DataFrame({"step": [1, 2], "diverged": [None, 7.0]})).to_dict("list")["status"]
    ['done', 'diverged']
    >>> outcome(pd.DataFrame({"step": [1, 2], "diverged": [0, 1]})).to_dict("list")
    {'step': [1, 2], 'status': ['done', 'diverged']}
    """
    if "diverged" not in frame or "diverged_at" in frame:
        return frame
    given = frame["diverged"]
    kinds = set(map(type, given.dropna()))
    is_flag = bool(kinds) and (kinds <= {bool, np.bool_} or {*given} <= {0, 1})  # a step is null elsewhere
    ended = given.eq(True) if is_flag else given.notna()
    if "run" in frame:  # the flag stood at the rows after the divergence
        ended = ended.groupby(frame["run"]).transform("any")
    named = frame.drop(columns="diverged") if is_flag else frame.rename(columns={"diverged": "diverged_at"})
    return named if "status" in frame else named.assign(status=np.where(ended, "diverged", "done"))


def _numbers(column: pd.Series) -> pd.Series:
    """Convert Python's numbers to NumPy's; integers beyond 64 bits become floats if they stay distinct."""
    known = column.dropna()
    if not any(isinstance(value, int) and not -(2**63) <= value < 2**64 for value in known):
        found = pd.to_numeric(column.astype(float) if len(known) < len(column) else column)
        return found if is_numeric(found) else column.astype(float)
    try:  # number by number: what pandas makes of such numbers depends on its version
        floats = pd.Series([np.nan if is_missing(v) else float(v) for v in column], column.index, float)
    except OverflowError:
        largest = max(known, key=abs)
        raise BadInput(
            f"{column.name} has a number of {len(str(abs(largest)))} digits, and numbers go up to 1.8e308: "
            f"{str(largest)[:20]}..."
        ) from None
    apart = len(set(known)) == floats.nunique()
    return floats if apart or column.name in (*NUMBERS, *PROGRESS) else column


def cell_text(value: Any) -> Any:
    """Lists and dictionaries, which a table cannot group by, as their JSON text."""
    if not isinstance(value, (list, tuple, dict, np.ndarray)):
        return value
    if _deeper(value, DEEPEST_CELL):
        raise BadInput("a cell holds lists within lists that are nested too deeply to be read")
    return json.dumps(plain(value), default=str)


def _deeper(value: Any, levels: int) -> bool:
    """Whether a value is nested more deeply than `levels`; Python's own limit depends on its version."""
    if not isinstance(value, (list, tuple, dict, np.ndarray)):
        return False
    inner = value.values() if isinstance(value, dict) else value
    inner = inner.ravel() if isinstance(inner, np.ndarray) else inner
    return levels == 0 or any(_deeper(part, levels - 1) for part in inner)


def rename(frame: pd.DataFrame, columns: Mapping[str, str], path: str | Path) -> pd.DataFrame:
    """Give columns their standard names: `columns` maps the standard name to the one in `path`."""
    for original in columns.values():
        if original not in frame:
            raise BadInput(f"{path} has no column {original!r}; {nearest(original, map(str, frame.columns))}")
    return frame.rename(columns={original: standard for standard, original in columns.items()})


@dataclass(frozen=True)
class Roles:
    """The columns of a table by their role."""

    settings: list[str]
    progress: list[str]
    measurements: list[str]


def validate(frame: pd.DataFrame, roles: Roles) -> None:
    """Raise `BadInput` if a role is missing, a value has the wrong type, or a checkpoint appears twice."""
    if frame.empty:
        return
    numbers = {*NUMBERS, *MEASURES, *ACCURACIES}
    if "loss" in frame and pd.to_numeric(frame["loss"], errors="coerce").isna().all():
        numbers -= {"loss"}  # a setting: "cross_entropy"
    for column in (*roles.progress, *(c for c in frame.columns if c in numbers)):
        if not is_numeric(frame[column]):
            raise BadInput(
                f"{column} must hold numbers, not {no_number(frame[column])!r}: leave missing values empty, "
                "and give standard errors a column of their own"
            )
    if not roles.measurements:
        raise BadInput(f"no measurement among the columns {_listed(frame)}: give one, such as test_error")
    if not roles.progress and not roles.settings:
        raise BadInput(
            f"no column of {_listed(frame)} says how large a run is, or how far it has come: if one does, "
            "say which (--column n_data=ITS_NAME, sl.read(file, n_data='its name')); also n_params, tokens, "
            "compute, step"
            + ("; 'plan mixture' fits mixtures of data" if any("share" in str(c) for c in frame) else "")
        )
    if frame["run"].isna().any():
        raise BadInput(
            f"row {int(frame['run'].isna().argmax())} has no run: name it, or leave the column out"
        )
    for column in ("train_error", "test_error"):
        if column in frame and (worst := frame[column].max()) > 1:
            raise BadInput(
                f"{column} reaches {worst:g}: errors are fractions between 0 and 1; divide percent by 100"
            )
    _validate_constant(frame, roles)
    _validate_distinct(frame, roles)


def _validate_constant(frame: pd.DataFrame, roles: Roles) -> None:
    """Refuse settings and text that change within a run."""
    run, names = pd.factorize(frame["run"])
    _, first = np.unique(run, return_index=True)
    for column in roles.settings:
        codes, _ = pd.factorize(frame[column], use_na_sentinel=False)
        changed = codes != codes[first][run]
        if not changed.any():
            continue
        row = int(changed.argmax())
        here, before = frame[column].iloc[row], frame[column].iloc[first[run[row]]]
        way_out = (
            "a setting has one value in a run, so rename the column if it was measured"
            if is_numeric(frame[column])
            else "a measurement must be a number, so drop the column or make it one"
        )
        raise BadInput(
            f"{column} changes within run {names[run[row]]}, from {before!r} to {here!r}: {way_out}"
        )


def _validate_distinct(frame: pd.DataFrame, roles: Roles) -> None:
    """Refuse a checkpoint that appears twice in a run."""
    if not roles.progress:
        return
    keys = ["run", *roles.progress]
    if _in_order(frame["run"], frame[keys[1]]):
        return
    placed = frame.loc[frame[keys[1:]].notna().any(axis=1), keys]
    if (repeated := placed.duplicated()).any():
        second = repeated.idxmax()
        row = placed.loc[second].dropna().to_dict()
        checkpoint = placed.groupby(keys, dropna=False).ngroup()
        pair = frame.loc[[(checkpoint == checkpoint[second]).idxmax(), second]]
        differing = list(map(str, varying_columns(pair, pair)))
        likely = next((c for c in differing if c not in (*MEASURES, *ACCURACIES)), "their name")
        way_out = (
            f"they differ in {', '.join(differing)}: name the one that tells runs apart, a repeat as in "
            f"sl.read(file, seed='{likely}'), --column seed='{likely}', another as in "
            f"sl.read(file, settings=['{likely}'])"
            if differing
            else "they are exact copies: drop one (frame.drop_duplicates())"
        )
        raise BadInput(f"two rows for the same run and checkpoint, {row}; {way_out}")


def _in_order(run: pd.Series, step: pd.Series) -> bool:
    """Whether rows are grouped by run with growing steps, so that no checkpoint can appear twice.

    This takes a third of the memory and time of a search for duplicates.
    """
    codes, names = pd.factorize(run)
    same = codes[1:] == codes[:-1]
    grows = np.diff(step.to_numpy(float)) > 0
    return bool(grows[same].all()) and len(codes) - np.count_nonzero(same) == len(names)


def _listed(frame: pd.DataFrame) -> str:
    return listed([str(c) for c in frame.columns if c != "run"])
