"""Which rows of a table are fitted: of one kind, each once, one of each run; and what to say of them.

A column may separate the rows of one size: two evaluation sets must not pass for one noisy one. A linear
model of ln y has a free constant for each size that several values of the column share, or, where no size is
shared, a parabola in the logarithms of the sizes. The F test asks whether an effect of each value of the
column, and its slope in the sizes, leave less than chance would.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from scalinglab.curves import OUTCOME, PROGRESS, SETTING, Curves
from scalinglab.curves.columns import (
    IDENTITY,
    MODEL_AND_DATA,
    SAME_SIZE,
    explained_by_ranks,
    is_seed,
    rank_correlation,
    size_groups,
    standard_name,
)
from scalinglab.curves.names import quantity
from scalinglab.errors import BadInput, MixedRows, nearest
from scalinglab.laws.fitting.statistics import f_pvalue
from scalinglab.results.types import Reason

# measured: `benchmarks/chosen.py tables`: of 108,686 pairs of runs of one size 86 measure the same to five
# digits by chance (799 to four), whatever their settings; digits from which on runs of one setting are copies
DIGITS_OF_COPIES = 5
_SIZE_WORD = r"(?i)\d|tiny|nano|micro|mini|small|base|medium|large|huge|big|giant|\bx?[sml]\b"
SIGNIFICANT = 0.01  # convention: of all columns that are tested together
# convention: part of a variance that rounding, or another count of FLOPs, leaves; of ln size, rounding
ROUNDED = 0.01
STOPPED = 0.9  # of the progress of the longest run of its settings: what a finished run has
SHAPE = ("width", "depth")  # of a network, which its number of parameters contains


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


def one_kind(frame: pd.DataFrame, names: list[str], called: Mapping[str, str] | None = None) -> None:
    """A law is of one kind of network on one kind of data, and one of a size is not one of two.

    Args:
        called: what columns are called in the table that was read, by their names here.
    """
    for size, other in (MODEL_AND_DATA, MODEL_AND_DATA[::-1]):
        if names == [size] and other in frame and _differs_at_one(frame, size, other):
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
            # names of single runs are no choice where headings above the rows tell kinds apart
            headings = frame["section"].nunique() if "section" in frame and frame[column].is_unique else 0
            raise mixed(frame, "section" if 1 < headings < len(frame) else column, called)


def mixed(
    frame: pd.DataFrame, column: str, called: Mapping[str, str] | None = None, why: str = ""
) -> MixedRows:
    """The refusal of rows of several kinds, with the choices."""
    theirs = (called or {}).get(column, column)
    known = [*frame[column].dropna().unique()]
    kinds = [*([None] if frame[column].isna().any() else []), *known]
    names = ["none" if v is None else v if isinstance(v, str) else f"{v:.6g}" for v in kinds]
    shown = ", ".join(names[:4]) + ("…" if len(kinds) > 4 else "")
    choice = shlex.quote(f"{theirs}={names[-len(known)]}")
    return MixedRows(
        f"the rows mix {len(kinds)} values of {theirs} ({shown}){why}: choose one "
        f"(--where {choice}), or fit all together (mixed=True, laws fit --mixed)",
        column, theirs, tuple(kinds),
    )  # fmt: skip


def one_category(
    frame: pd.DataFrame,
    names: list[str],
    y: str,
    recipe: Sequence[str],
    called: Mapping[str, str] | None = None,
) -> None:
    """Refuse rows that a column of any name separates beyond their scatter: two evaluation sets, two recipes.

    Args:
        frame: the rows that are fitted.
        recipe: columns of which the best value of each size is taken already.
        called: as for `one_kind`.
    """
    known = {*names, *recipe, *PROGRESS, *OUTCOME, *MODEL_AND_DATA, *IDENTITY, y, "__run"}
    # of a law along the steps of runs every row counts: each run may be the only one of its kind
    along = "__run" in frame and frame.groupby("__run")[names].nunique().max().max() > 1
    single = frame if along or "__run" not in frame else frame.drop_duplicates("__run", keep="last")
    numeric = {c for c in SETTING if c in frame and pd.api.types.is_numeric_dtype(frame[c])}  # see `doubts`
    if "n_params" not in names:  # a network's size is a category where no law is of it
        numeric -= {*SHAPE}
    free = [c for c in map(str, frame.columns) if c not in known | numeric and not is_seed(c)]
    free = [c for c in free if quantity(c) is None]  # another measurement goes with y, and is no category
    recurring = [c for c in free if 1 < single[c].nunique(dropna=False) <= len(single) / 2]
    recurring = [c for c in recurring if not any(_restates(single, c, x) for x in names)]
    if along:  # seconds per step are measured of each run, and no kind of runs
        runs = frame["__run"].nunique()
        recurring = [c for c in recurring if single[c].nunique() < runs or _is_chosen(single[c])]
    texts = [c for c in recurring if not pd.api.types.is_float_dtype(single[c])]
    tested = {c: splits(single, names, y, c) for c in (*texts, *_recurring(single[recurring]))}
    found = {c: p for c, p in tested.items() if p is not None}
    if len(texts) > 1:  # each hides in the scatter that another makes
        together = single.groupby(texts, dropna=False).ngroup()
        p = splits(single.assign(__kind=together), names, y, "__kind")
        if p is not None and p < SIGNIFICANT / (len(tested) + 1):
            found[min(texts, key=lambda c: found.get(c, 1.0))] = p
    for column, p in found.items():
        if p < SIGNIFICANT / (len(tested) + (len(texts) > 1)):
            raise mixed(single, column, called, f", and {y} differs between them beyond its scatter")


def also_explained(frame: pd.DataFrame, names: list[str], y: str, fixed: list[str]) -> list[Reason]:
    """Numbers of no known name that change y beside the sizes, and that a law of the sizes leaves out.

    Numbers that were chosen have three digits or fewer; those that were measured are results as y is. Of
    a law of n_params these are also the width and the depth of a network.
    """
    if "__run" in frame:
        frame = frame.drop_duplicates("__run", keep="last")
    shape = {*SHAPE} if "n_params" in names else set()
    known = {*names, *SETTING, *PROGRESS, *OUTCOME, y} - shape
    free = [c for c in frame[fixed].select_dtypes("number") if c not in known and quantity(c) is None]
    chosen = [c for c in free if c in shape or (not is_seed(c) and _is_chosen(frame[c]))]
    chosen = [c for c in chosen if not _is_product(frame, c, names)]
    tested = {c: explains(frame, names, y, c) for c in chosen}
    tested = {c: p for c, p in tested.items() if p is not None and p < SIGNIFICANT / len(tested)}
    return [Reason("also_explained", column=c, y=y, p=p, sizes=",".join(names)) for c, p in tested.items()]


def _is_chosen(values: pd.Series) -> bool:
    """Whether these are texts, or numbers of three digits or fewer; numbers that were measured have more."""
    numeric = pd.api.types.is_numeric_dtype(values)
    return not numeric or bool((values.map(lambda v: float(f"{v:.3g}")) == values).all())


def _is_product(frame: pd.DataFrame, column: str, names: list[str]) -> bool:
    """Whether numbers are a product of whole powers of the sizes, but for rounding: a budget is 6 N D."""
    known = frame[[column, *names]].dropna()
    if len(known) < 3 or not (known > 0).all(axis=None):
        return False
    logs = np.log(known.to_numpy(float))
    logs -= logs.mean(axis=0)
    number, sizes = logs[:, 0], logs[:, 1:]
    powers = np.round(np.linalg.lstsq(sizes, number, rcond=1e-9)[0])
    return bool(np.var(number - sizes @ powers) < ROUNDED * np.var(number))


def _restates(frame: pd.DataFrame, column: str, size: str) -> bool:
    """Whether numbers grow with a size, one for each: steps beside tokens."""
    pairs = frame[[column, size]].drop_duplicates().sort_values(size)
    return pd.api.types.is_numeric_dtype(pairs[column]) and bool((pairs.diff().dropna() > 0).all(axis=None))


def _differs_at_one(frame: pd.DataFrame, size: str, other: str) -> bool:
    """Whether points of one size, to `SAME_SIZE`, differ in the other by more than that."""
    known = frame[[size, other]].dropna()
    others = known[other].groupby(size_groups(known[size]))
    return bool((others.agg(lambda values: size_groups(values).max()) > 0).any())


def _names_sizes(frame: pd.DataFrame, names: list[str]) -> bool:
    """Whether each value of `model` names one value of a variable ("70M", "int4"), or one row of all of them.

    With compute and a second variable the size of the model follows, so that its names count, too. A name for
    each n_data names no size, they may be networks of three kinds, but where its numbers grow with it: "25%".
    """
    model = frame["model"].astype(str)
    number = model.str.extract(r"(\d+(?:\.\d+)?)", expand=False).astype(float)
    if names == ["n_data"] and number.nunique() > 2 and rank_correlation(number, frame["n_data"]) > 0.999:
        return True
    if model.nunique() == 2 and not model.str.contains(_SIZE_WORD).all():
        return False  # two networks of different kinds have different sizes, too
    follows = "compute" in names and len(names) > 1 and "n_params" in frame
    each = [*([n] for n in names), names, *([["n_params"]] if follows else [])]
    each = [columns for columns in each if columns != ["n_data"]]
    return any(
        len(frame[columns].drop_duplicates())
        == model.nunique()
        == len(frame[columns].assign(model=model).drop_duplicates())
        for columns in each
    )


def without_copies(frame: pd.DataFrame, y: str) -> tuple[pd.DataFrame, list[Reason]]:
    """Rows that are in the table twice count once, where no two runs can be so alike.

    Two runs may well share an error of 123 in 700. That they also share the name, the seed or a second
    measurement is no chance, nor that every row of a table is there equally often, with many digits.
    """
    numbered = {"run", "repeat"} <= {*frame.columns}  # by the reader: no names of their own
    compared = frame.drop(columns=["run", "repeat"]) if numbered else frame
    copies = compared.duplicated().to_numpy()
    often = compared.groupby([*compared.columns], dropna=False).size() if copies.any() else pd.Series([1])
    certain = often.nunique() == 1 or any(_tells_runs_apart(frame[c], y) for c in compared)
    many_digits = (digits(frame[y]) >= DIGITS_OF_COPIES).to_numpy(bool)
    if often.nunique() == 1 and often.iloc[0] > 1:  # every row equally often: most of them tell
        many_digits = many_digits | (many_digits.mean() > 0.5)
    exact = copies & certain & many_digits
    notes = []
    if exact.any():
        notes.append(Reason("copies_counted_once", rows=int(exact.sum())))
    if left := int((copies & ~exact).sum()):
        notes.append(Reason("copies_counted_twice", rows=left))
    return frame[~exact], notes


def _tells_runs_apart(column: pd.Series, y: str) -> bool:
    """Whether two runs differ in this column: a name, a seed, or a second measurement."""
    name = str(column.name)
    if name in ("run", "run_name") or is_seed(name):
        return True
    measured = name not in (y, *SETTING, *PROGRESS) and pd.api.types.is_float_dtype(column)
    return measured and bool((digits(column) >= DIGITS_OF_COPIES).mean() > 0.5) and column.nunique() > 1


def digits(numbers: pd.Series) -> pd.Series:
    """How many significant digits each number has, or its text.

    >>> digits(pd.Series([2.345, 1200.0, 1e-07, np.nan])).tolist()
    [4, 2, 1, 0]
    """
    return numbers.map(repr).str.replace(r"e.*|[^0-9]", "", regex=True).str.strip("0").str.len()


def doubts(frame: pd.DataFrame, names: list[str], fixed: list[str]) -> list[Reason]:
    """What else may separate these rows, of the columns that are fixed within a run; and diverged runs."""
    notes = []
    settings = [c for c in SETTING if c in fixed and not is_seed(c)]
    for column in (c for c in (*settings, *_recurring(frame[fixed])) if c not in names):
        if frame.groupby(names)[column].nunique().max() > 1:  # a spread that would pass for noise
            kinds = sorted(frame[column].dropna().unique())
            words = [v if isinstance(v, str) else f"{v:.6g}" for v in kinds[:4]]
            shown = (*words, *["…"][: len(kinds) - 4])
            code = "settings_differ" if column in SETTING else "unknown_differs"
            notes.append(Reason(code, column=column, values=shown, first=str(kinds[0])))
    notes += _along(frame, names)
    if {"run", "status"} <= {*frame.columns}:
        lost = frame.loc[frame["status"] == "diverged", "run"].nunique()
        if lost:
            notes.append(Reason("diverged_count", runs=int(lost)))
    return notes


def _along(frame: pd.DataFrame, names: list[str]) -> list[Reason]:
    """A note where a law of one variable is of networks and data that both grow."""
    sizes = [c for c in MODEL_AND_DATA if c in frame and frame[c].max() > (1 + SAME_SIZE) * frame[c].min()]
    if len(sizes) < 2 or len(names) > 1 or names[0] not in (*MODEL_AND_DATA, "compute"):
        return []
    return [Reason("both_vary", x=names[0])]


def _recurring(frame: pd.DataFrame) -> list[str]:
    """Columns of numbers of no known name whose values recur, as those of a setting do."""
    known = {*SETTING, *PROGRESS, *OUTCOME, "run"}
    free = [c for c in frame.select_dtypes("number") if c not in known and not is_seed(c)]
    return [c for c in free if len(frame) >= 2 * frame[c].nunique() and frame[c].value_counts().min() > 1]


def rises(y: str) -> bool:
    """Whether higher is better: y is an accuracy.

    >>> rises("test_accuracy"), rises("val_acc"), rises("test_error"), rises("1 - accuracy")
    (True, True, False, False)
    """
    return bool(re.fullmatch(r"(?:[a-z]+_)?acc(?:uracy)?", standard_name(y)))


def cost(values: pd.Series, y: str) -> pd.Series:
    """What is lower the better y is."""
    return -values if rises(y) else values


def fixed_within_runs(frame: pd.DataFrame, runs: np.ndarray) -> list[str]:
    """Columns with one value in each run; a rate that decays is neither its recipe nor its size."""
    count = len(pd.unique(runs))
    fixed = []
    for column in map(str, frame.columns):
        if pd.api.types.is_numeric_dtype(frame[column]) or column in SETTING:
            pairs = pd.DataFrame({"run": runs, "value": frame[column].to_numpy()})
            if len(pairs.dropna().drop_duplicates()) <= count:
                fixed.append(column)
    return fixed


def reduced(
    frame: pd.DataFrame, keys: list[str], y: str, reduce: str, by: list[str]
) -> tuple[pd.DataFrame, list[Reason]]:
    """The rows that count where a run has several at one x, and what was done; empty if nothing was.

    Args:
        by: the columns that identify a run.
    """
    if reduce == "all" or not frame.duplicated(keys).any():
        return frame, []
    if reduce == "last":
        progress = [c for c in PROGRESS if c in frame]
        ordered = frame.sort_values(progress[0], kind="stable") if progress else frame
        kept = ordered.groupby(keys, sort=False).tail(1)
        return kept, [Reason("last_rows", rows=len(kept), of=len(frame), by=tuple(by))]
    known = frame[frame[y].notna()].reset_index(drop=True)
    kept = known.loc[cost(known[y], y).groupby([known[key] for key in keys], sort=False).idxmin()]
    best = "highest" if rises(y) else "lowest"
    notes = [Reason("best_rows", best=best, y=y, rows=len(kept), of=len(frame), by=tuple(by))]
    if lost := len(frame[keys].drop_duplicates()) - len(kept):
        notes.append(Reason("left_out_value", runs=lost, y=y))
    return kept, notes


def without_stopped(
    frame: pd.DataFrame, runs: np.ndarray, settings: Sequence[str]
) -> tuple[pd.DataFrame, np.ndarray, list[Reason]]:
    """Without runs that stopped early where a run of the same settings went on: crashed, and repeated."""
    progress = next((c for c in PROGRESS if c in frame and pd.api.types.is_numeric_dtype(frame[c])), None)
    same = [c for c in settings if c in frame]
    if progress is None or not same or not pd.Series(runs).duplicated().any():
        return frame, runs, []
    longest = frame[progress].groupby([frame[c] for c in same], dropna=False).transform("max")
    stopped = frame[progress].groupby(runs).transform("max") < STOPPED * longest
    kept = ~(stopped & pd.Series(runs, frame.index).duplicated(keep=False)).to_numpy()
    lost = len(set(runs) - set(runs[kept]))
    return frame[kept], runs[kept], [Reason("left_out_stopped", runs=lost)] if lost else []


def thinned(frame: pd.DataFrame, runs: np.ndarray, seen: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The last checkpoint of each run and those nearest to each halving of the data seen, and their runs.

    Checkpoints that lie closer tell little more: their errors go together.
    """
    logs = np.log2(frame[seen].to_numpy(float))
    last = pd.Series(logs).groupby(runs).transform("max").to_numpy()
    halvings = np.round(last - logs)
    away = pd.Series(np.abs(last - logs - halvings))
    kept = np.sort(away.groupby([runs, halvings]).idxmin().to_numpy())
    return frame.iloc[kept], runs[kept]


def run_names(
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
    distinct = named.progress_columns or [c for c in named.measurement_columns if c != y]
    return (runs, list(named.setting_columns)) if distinct else each


MOST_VALUES = 50  # guard: of a column, beyond which it names rows and no kinds of them
NOISE = 1e-9  # guard: of ln y, below which values are equal


def splits(frame: pd.DataFrame, names: list[str], y: str, column: str) -> float | None:
    """The p-value of an effect of the column on y at equal sizes; None where the rows cannot tell.

    Args:
        frame: one row of each run.
        names: the columns of sizes.
    """
    known = frame[np.isfinite(frame[[*names, y]].to_numpy(float)).all(axis=1)]
    values, sizes = known[y].to_numpy(float), known[names].to_numpy(float)
    if len(known) < 3 or not 1 < known[column].nunique(dropna=False) <= MOST_VALUES or (sizes <= 0).any():
        return None
    outcome = np.log(values) if (values > 0).all() else values
    logs = np.log(sizes)
    group = pd.factorize(known[column], use_na_sentinel=False)[0]
    cell = known.groupby([size_groups(known[name], ROUNDED) for name in names]).ngroup().to_numpy()
    groups_of_cell = pd.Series(group).groupby(cell).transform("nunique").to_numpy()
    shared = groups_of_cell > 1
    if shared.any():
        cells = cell[shared]

        def within(columns: np.ndarray) -> np.ndarray:
            means = pd.DataFrame(columns).groupby(cells).transform("mean")
            return np.asarray(columns - means.to_numpy())

        found = _f_test(
            outcome[shared], within, len(np.unique(cells)), _each_value(group[shared]), logs[shared]
        )
        if found is not None:  # a few sizes that are shared by chance do not tell
            return found
    if not _overlap(logs, group, cell) or _follows(known[column], logs):
        return None
    return _beside_sizes(outcome, logs, _each_value(group))


def explains(frame: pd.DataFrame, names: list[str], y: str, column: str) -> float | None:
    """The p-value of an effect of a number on y beside that of the sizes, a parabola in it; as `splits`.

    A positive number counts by its logarithm: products of powers of the sizes, such as tokens per parameter,
    then say nothing beside them.
    """
    known = frame[np.isfinite(frame[[*names, y, column]].to_numpy(float)).all(axis=1)]
    number = known[column].to_numpy(float)
    if len(known) < 3 or np.ptp(number) == 0 or not (known[[*names, y]] > 0).all(axis=None):
        return None  # shares of a mixture may be 0
    logs = np.log(known[names].to_numpy(float))
    number = np.log(number) if (number > 0).all() else number
    centred = (number - number.mean()) / number.std()
    return _beside_sizes(np.log(known[y].to_numpy(float)), logs, np.column_stack([centred, centred**2]))


def _each_value(group: np.ndarray) -> np.ndarray:
    return pd.get_dummies(pd.Series(group)).to_numpy(float)


def _beside_sizes(outcome: np.ndarray, logs: np.ndarray, effects: np.ndarray) -> float | None:
    parabola = _parabola(logs)

    def beside(columns: np.ndarray) -> np.ndarray:
        return np.asarray(columns - parabola @ np.linalg.lstsq(parabola, columns, rcond=1e-9)[0])

    return _f_test(outcome, beside, int(np.linalg.matrix_rank(parabola)), effects, logs)


def _overlap(logs: np.ndarray, group: np.ndarray, cell: np.ndarray) -> bool:
    """Whether each value of the column has several sizes, between which lie sizes of others."""
    if pd.Series(cell).groupby(group).nunique().min() < 2:
        return False
    total = logs.sum(axis=1)
    ends = pd.Series(total).groupby(group).agg(["min", "max"])
    return bool(ends["min"].max() < ends["max"].min())


def _follows(column: pd.Series, logs: np.ndarray) -> bool:
    """Whether numbers go with the sizes, as planned tokens or tokens per parameter do: no kinds of runs."""
    if not pd.api.types.is_numeric_dtype(column):
        return False
    return explained_by_ranks(column, [*logs.T]) > 0.5


def _parabola(logs: np.ndarray) -> np.ndarray:
    centred = logs - logs.mean(axis=0)
    pairs = [centred[:, i] * centred[:, j] for i in range(logs.shape[1]) for j in range(i, logs.shape[1])]
    return np.column_stack([np.ones(len(logs)), centred, *pairs])


def _f_test(
    outcome: np.ndarray,
    rest: Callable[[np.ndarray], np.ndarray],
    used: int,
    effects: np.ndarray,
    logs: np.ndarray,
) -> float | None:
    """The smaller p-value, doubled, of effects alone and of effects with slopes.

    Args:
        rest: what the model of the sizes leaves of columns, (runs, columns).
        used: its number of parameters.
        effects: (runs, columns) of the column.
    """
    centred = logs - logs.mean(axis=0)
    slopes = np.column_stack([effects * centred[:, [k]] for k in range(logs.shape[1])])
    left = rest(outcome[:, None])[:, 0]
    before, floor = float(left @ left), len(outcome) * NOISE**2
    tests = []
    for more, least in ((effects, 1), (np.column_stack([effects, slopes]), 2 * logs.shape[1] + 2)):
        columns = rest(more)
        fitted, _, rank, _ = np.linalg.lstsq(columns, left, rcond=1e-9)
        free = len(outcome) - used - int(rank)
        if free < least or not rank:
            continue
        after = float(np.square(left - columns @ fitted).sum())
        tests.append(f_pvalue(before - after, int(rank), max(after, floor), free))
    return min(1.0, len(tests) * min(tests)) if tests else None
