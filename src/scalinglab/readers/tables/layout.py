"""Bring any layout to one row for each measurement: sizes, seeds, runs or measurements may be columns.

If column names are numbers and nothing says what they count, the table is refused and both readings are
named.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab.curves.columns import PROGRESS, is_numeric, is_seed, standard_name, tidy
from scalinglab.curves.names import SPREADS, TEST, TRAIN, bare, quantity
from scalinglab.curves.numbers import cell
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.readers.tables.headers import (
    CHECKPOINT,
    DATA,
    FEWEST_OF_A_MODEL,
    FEWEST_PARAMS,
    FEWEST_TOKENS,
    OF_UNITS,
    SIZES,
    header,
    is_name,
    model_sizes,
    names_sizes,
    role_of,
    role_of_letter,
    roles,
    sized,
)
from scalinglab.readers.tables.naming import is_known
from scalinglab.readers.tables.remarks import GUESSED, NOTES

LIST_OF_RUNS = ("Name", "State", "Runtime")
# exports of tools: the columns by which they are recognised, and those that are bookkeeping
_EXPORTS = (
    (LIST_OF_RUNS, r"State|Notes|User|Tags|Created|Runtime|Sweep|Group|Job Type|Commit|Hostname|Command"
     r"|Github|GPU Count|GPU Type|End Time|Start Time|Updated|Host|Project|ID"),  # W&B's runs
    (("_step", "_timestamp"), "_(?!step$).*"),  # the history of one
    (("number", "state", "value"), "number|duration|state|datetime_.*|system_attrs_.*"),  # Optuna
    (("Wall time", "Step", "Value"), "Wall time"),  # TensorBoard
    (("count", "mean", "std"), r"count|min|max|median|\d+(?:\.\d+)?%"),  # pandas' describe, of groups
)  # fmt: skip
# files of TensorBoard's curves, Keras' with the split behind the run: run-lm_19M_validation-tag-epoch_loss
OF_TENSORBOARD = re.compile(rf"(?:[._-]({'|'.join((*TRAIN, *TEST))}))?-tag-(.+)$")
_OF_TIMM = ("model", "top1", "top5", "param_count", "img_size", "crop_pct")  # parameters are in millions
_OF_EXPORTS = {"std": "mean_std"}
_CHART = re.compile(r"(?P<run>.+) - (?P<metric>.+?)(?P<range>__MIN|__MAX)?")
_AXES = ("Step", "_step", "step", "epoch", "Epoch", "trainer/global_step", "Relative Time (Process)")
_METRICS = ("metric", "metrics", "metric_name", "key", "name", "variable", "quantity", "measure")
_VALUE = ("value", "val", "score", "result", "metric_value")
_SEEDS = {"seed", "run", "rep", "repeat", "replicate", "trial", "fold", "split", "s", "r"}
_WHOLE = re.compile(r"(?<![\d.])\d{1,3}(?![\d.])")
_TITLE_PARTS = r"[,;:|()\[\]]|\. | / | (?:vs\.?|by|for|of|on|after|against|over|as|is|are) "
_OF_SEVERAL = re.compile(r"^(?:the|all|different|various|varying|several|increasing)\s+", re.IGNORECASE)
_CORNER = re.compile(r"(?:\s*[\\/|↓→×,]|\s+(?:vs\.?|by|x)(?=\s))+\s*")
_ROUND = {"1", "2", "2.5", "3", "4", "5", "8"}  # first digits of sizes that are chosen: 10B, 25B, 50B
_STATES = ("status", "state", "outcome", "run_state", "run_status")
_FAILED = (
    r"(?i)\s*(?:diverged?|crash(?:ed)?|fail(?:ed|ure)?|killed|oom|time ?out|aborted|pruned|running|queued"
    r"|pending|terminated|stopped|cancel+ed|preempted|interrupted|error)\b.*"
)
_FLAGS = ("diverged", "failed", "crashed", "unstable", "oom", "nan", "excluded", "outlier")
# of notes: that a run that was stopped went on
WENT_ON = r"(?<!not )(?<!never )\b(?:resumed?|restarted|rerun|continued|finished|completed)\b"
_REMARKS = ("comment", "comments", "note", "notes", "remark", "remarks")
_NOT_TO_USE = (
    rf"(?is)(?:.*\b(?:(?:do not|don['’]?t|not to) use|discard(?:ed)?|(?:ignore|exclude) (?:this|it))\b.*"
    rf"|\W*(?:ignored?|excluded?)\W*|(?:.*[-–—,;:.(!]\W*)?(?:ignore|exclude|invalid)\W*"
    rf"|(?!.*(?:{WENT_ON}|\b(?:fixed|repaired)\b))"
    r"\W*(?:(?:this|the|run|it|its|loss|training|is|was|has) )*(?:diverged|broken|invalid|blew up)\b.*)"
)
_PAIRS = r"[\w./@+~]+=[^,;&\s=]+(?:[,;&\s]+[\w./@+~]+=[^,;&\s=]+)*"
_NUMBERS = r"[\[(]?\s*\d+\.\d+(?:e-?\d+)?(?:[\s,;/]+\d+\.\d+(?:e-?\d+)?)+\s*[\])]?"  # 0.21, 0.22, 0.20
MOST_ATTRIBUTES = 40  # rows of a table that has its quantities in rows
SAME_MEAN = 5e-3  # of seeds, rounded
MOST_SEEDS = 50  # values in a list that are repeats of a measurement
_RECIPE = ("learning_rate", "batch_size", "weight_decay", "momentum")


@dataclass(frozen=True)
class Spread:
    """Columns that are one measurement at several sizes or seeds.

    Attributes:
        columns: for each of them the value that its name gives.
        key: what the values are: n_params, tokens, seed, model, ….
        measured: the name of the measurement; empty if the names do not say.
    """

    columns: dict[str, object]
    key: str
    measured: str


def rows_of(frame: pd.DataFrame, origin: str = "the table") -> pd.DataFrame:
    """The table with a row for each measurement, however it is laid out; as it is where it has one."""
    attrs = dict(frame.attrs)
    named = frame.set_axis([" ".join(str(c).split()) for c in frame.columns], axis=1)
    named, failed = _without_failed(tidy(_with_pairs(_from_lists(named))))
    named, of_tool = _without_bookkeeping(named)
    if notes := [*failed, *of_tool]:
        attrs = attrs | {NOTES: [*attrs.get(NOTES, ()), *notes]}
    for find in (_from_chart, _from_attributes, _from_names_and_values, _from_splits):
        if (found := find(named)) is not None:
            rows, note = found
            break
    else:
        rows, note = _from_wide(named, origin, attrs.get(NOTES, ()))
    if (tag := OF_TENSORBOARD.search(origin.removesuffix(".csv"))) and "Value" in rows:
        whole = (known := quantity(tag[2])) is None or known.split
        rows = rows.rename(columns={"Value": tag[2] if whole else " ".join(filter(None, tag.groups()))})
    attrs = attrs | {GUESSED: rows.attrs[GUESSED]} if GUESSED in rows.attrs else attrs
    rows.attrs = attrs | ({NOTES: [*attrs.get(NOTES, ()), note]} if note else {})
    return rows


Found = tuple[pd.DataFrame, str] | None


def _from_lists(frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each seed where a measurement is a list of them."""
    texts = [c for c in frame if not is_numeric(frame[c]) and quantity(c) is not None]
    lists = {c: found for c in texts if (found := [*map(_list, frame[c])]) and all(found)}
    plain = {q.name for c in frame if is_numeric(frame[c]) and (q := quantity(c)) is not None}
    if histories := [c for c in lists if (q := quantity(c)) is not None and q.name in plain]:
        return _from_lists(frame.drop(columns=histories))
    if not lists or any(is_seed(c) for c in frame):
        return frame
    frame = frame.assign(**lists)
    lengths = {len(value) for values in lists.values() for value in values}
    if len(lengths) > 1 or not 1 < next(iter(lengths)) <= MOST_SEEDS:
        return frame
    rows = frame.explode([*lists], ignore_index=True)
    return rows.assign(seed=[*range(next(iter(lengths)))] * len(frame))


def _list(value: object) -> list[float]:
    """The numbers of a list, also one that is written as a text; none where it is no such list."""
    if isinstance(value, str) and re.fullmatch(_NUMBERS, value):
        value = [float(each) for each in re.split(r"[\s,;/]+", value.strip("[]() "))]
    return value if isinstance(value, list) and all(isinstance(each, (int, float)) for each in value) else []


def _with_pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Cells such as n=1000, or "model.width=256,data.n=1e5" as overrides of Hydra are, as columns."""
    for column in [c for c in frame if not is_numeric(frame[c])]:
        texts = frame[column].astype(str).str.strip("'\"[] ")
        if not len(texts) or not texts.str.fullmatch(_PAIRS).all():
            continue
        rows = [dict(part.split("=", 1) for part in re.split(r"[,;&\s]+", text)) for text in texts]
        pairs = pd.DataFrame(rows, index=frame.index).dropna(axis=1)
        names = {key: _name_of_pair(key, pairs[key]) for key in pairs}
        known = [key for key, name in names.items() if role_of(name) in (*SIZES, "seed")]
        if known and not {*names.values()} & {*frame}:
            frame = frame.drop(columns=column).join(pairs.rename(columns=names))
    return frame


def _name_of_pair(key: str, values: pd.Series) -> str:
    """What a key in front of sizes names: data.n is the data, n the model where it is large."""
    letter, sizes = key.rpartition(".")[2].strip("+~"), [cell(value) for value in values]
    known = [size.value for size in sizes if size is not None]
    return (role_of_letter(letter, max(known)) if len(known) == len(sizes) else "") or key.strip("+~")


def _without_failed(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Remove the measurements of runs that failed or are marked as not to be used; and notes."""
    steps = [c for c in frame if {*CHECKPOINT} & {*roles(c)} and frame[c].nunique() > 1]
    models = [c for c in frame if {"run", "n_params"} & {*roles(c)}]
    texts = [c for c in frame if not is_numeric(frame[c])]
    patterns = {c: _FAILED for c in texts if standard_name(c) in _STATES}
    patterns |= {c: _NOT_TO_USE for c in texts if bare(c) in _REMARKS}
    patterns |= {c: r"(?i)1(?:\.0)?|true|yes" for c in frame if bare(c) in _FLAGS}
    measured = [c for c in frame if quantity(c) is not None or c == "L" or c.lower() in _VALUE]
    measured = [c for c in measured if c not in texts or _reads(frame[c])]
    notes = []
    for column, pattern in patterns.items() if measured else ():
        failed = frame[column].astype(str).str.fullmatch(pattern).to_numpy(bool)
        if steps and not models:
            continue  # of all checkpoints of a run
        known = failed & frame[measured].notna().any(axis=1).to_numpy()
        if known.any() and not failed.all():
            words = ", ".join(sorted({*frame.loc[known, column].astype(str)}))
            # checkpoints, or runs that were tried again under their names
            several = bool(models) and bool(frame.duplicated(models).any())
            rows = "rows" if several else "runs"
            notes.append(
                f"measurements of {int(known.sum())} of {len(frame)} {rows} left out: {column} is {words}"
            )
            if several:
                frame = frame[~failed].reset_index(drop=True)
            else:
                frame = frame.assign(**{c: frame[c].where(~failed) for c in measured})
    return frame, notes


def _without_bookkeeping(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Remove the bookkeeping columns of a tool's export, and number repeated names of runs; and notes."""
    export, about = next((each for each in _EXPORTS if {*each[0]} <= {*frame}), ((), ""))
    if export == LIST_OF_RUNS:
        again = frame.groupby("Name", dropna=False).cumcount()
        names = frame["Name"].astype(str)
        frame = frame.assign(Name=names.where(again == 0, names + " #" + (again + 1).astype(str)))
    if {*_OF_TIMM} <= {*frame} and _as_numbers(frame["param_count"]).max() < 1e5:
        frame = frame.rename(columns={"param_count": "param_count (M)"})
    if not export:
        return frame, []
    kept = frame[[c for c in frame if not re.fullmatch(about, c)]]
    short = {c: re.sub(r"^(params|user_attrs)_", "", c) for c in kept}
    settings = {c: f"params.{s}" for c, s in short.items() if c == f"params_{s}" and not is_known(s)}
    names = {c: _OF_EXPORTS.get(c, s) for c, s in (short | settings).items()}
    notes = ["the mean of each group"] if "mean" in export else []
    return kept.rename(columns=names) if len({*names.values()}) == len(names) else kept, notes


def _from_chart(frame: pd.DataFrame) -> Found:
    """W&B's export of a chart: a column for each run beside the steps, or also the steps of each run."""
    axis = next((c for c in frame if c in _AXES or {*roles(c)} & {*PROGRESS}), None)
    cells = {c: found for c in frame if c != axis and (found := _CHART.fullmatch(c))}
    turned = axis is None and all(is_name(found["run"]) for found in cells.values())  # step - run
    if not cells or (axis is None and not turned) or len(cells) + (axis is not None) != len(frame.columns):
        return None
    runs: dict[str, dict[str, pd.Series]] = {}
    for column, found in cells.items():
        if found["range"] is None:
            run, metric = found["metric" if turned else "run"], found["run" if turned else "metric"]
            runs.setdefault(run, {})[metric] = frame[column]
    steps = {} if axis is None else {axis: frame[axis]}
    parts = [
        pd.DataFrame({"run": run, **steps, **metrics}).dropna(subset=list(metrics), how="all")
        for run, metrics in runs.items()
    ]
    return pd.concat(parts, ignore_index=True), f"one column per run, {len(runs)} runs"


def _from_attributes(frame: pd.DataFrame) -> Found:
    """A row for each quantity and a column for each run."""
    if len(frame.columns) < 3 or len(frame) > MOST_ATTRIBUTES or is_numeric(frame.iloc[:, 0]):
        return None
    if frame.iloc[:, 0].isna().any():
        return None
    first, values = frame.columns[0], [*frame.iloc[:, 0].astype(str)]
    measured = [v for v in values if quantity(v) is not None]
    sizes = [v for v in (first, *values) if role_of(v) in SIZES]
    # 19M, 70M, … over the values, and no row repeats them
    across = "n_params" not in map(role_of, sizes) and all(sized(c) is not None for c in frame.columns[1:])
    across &= [cell(c) for c in frame.columns[1:]] not in [
        [cell(str(v)) for v in row] for row in frame.iloc[:, 1:].to_numpy()
    ]
    known = sum(quantity(v) is not None or bool(role_of(v)) for v in values)
    if not measured or not (sizes or across) or len({*values}) < len(values) or 3 * known < 2 * len(values):
        return None
    table = pd.DataFrame(frame.iloc[:, 1:].T.to_numpy(), columns=values)
    name = first if role_of(first) else "size" if across else "run"
    table.insert(0, name, [*frame.columns[1:]])
    return table.infer_objects(), "one column per run, one row per quantity"


def _from_names_and_values(frame: pd.DataFrame) -> Found:
    """A column that names the measurement and one that has its value."""
    value = next((c for c in frame if c.lower() in _VALUE and is_numeric(frame[c])), None)
    if value is None:
        return None
    for column in (c for c in frame if not is_numeric(frame[c])):
        names = frame[column].dropna().astype(str)
        known = [quantity(name) is not None for name in names.unique()]
        if len(names) < len(frame) or not (all(known) or (any(known) and column.lower() in _METRICS)):
            continue
        keys = [c for c in frame if c not in (column, value)]
        if keys and not frame.duplicated([*keys, column]).any():
            wide = frame.pivot(index=keys, columns=column, values=value).reset_index()
            wide.columns.name = None
            split = _from_splits(wide)
            return split[0] if split else wide, f"one row per measurement, named in {column}"
    return None


def _from_splits(frame: pd.DataFrame) -> Found:
    """Rows of the training and of the test, told apart by a column."""
    of_split = {c: q.split for c in frame if (q := quantity(c)) is not None and is_numeric(frame[c])}
    measured = [c for c, split in of_split.items() if not split]
    has = frame[[*of_split]].notna().any(axis=1)
    for column in (c for c in frame if measured and not is_numeric(frame[c])):
        if not all(str(v).lower() in (*TRAIN, *TEST) for v in frame[column][has].head(20)):
            continue
        kinds = {str(v): str(v).lower() for v in frame[column][has].unique()}
        is_split = len(kinds) > 1 and all(kind in (*TRAIN, *TEST) for kind in kinds.values())
        if not (is_split and sum(kind in TEST for kind in kinds.values()) == 1):
            continue
        if not has.all() or len(measured) < len(of_split):
            return _from_events(frame, column, has, measured), f"one row per event, named in {column}"
        keys = [c for c in frame if c not in (column, *measured)]
        if not keys or frame.duplicated([*keys, column]).any() or frame[column].isna().any():
            continue
        of_runs = [c for c in keys if role_of(c) not in CHECKPOINT]
        if of_runs and not frame.duplicated(of_runs).any():  # a split of runs: those that a fit is tested on
            continue
        wide = frame.pivot(index=keys, columns=column, values=measured)
        wide.columns = [f"{kinds[str(split)]}_{name}" for name, split in wide.columns]
        return wide.reset_index(), f"one row per split, named in {column}"
    return None


def _from_events(frame: pd.DataFrame, column: str, has: pd.Series, measured: list[str]) -> pd.DataFrame:
    """The rows of events in which something was measured, with what the others say of their run.

    Args:
        has: the rows in which something was.
        measured: columns whose names do not say whether of training or of test.
    """
    run = next((c for c in frame if "run" in roles(c)), None)
    runs = frame[run] if run else (~has & ~has.shift(fill_value=False).cummax()).cumsum()
    kinds = frame[column][has].astype(str).str.lower()
    again = [
        c for c in frame if c != column and {*frame[c].dropna().astype(str).str.lower()} <= {*TRAIN, *TEST}
    ]
    frame = frame.drop(columns=[column, *again])
    said = [c for c in frame if c not in (run, *measured) and frame[c][has].isna().all()]
    rows = frame.assign(**{c: frame[c].groupby(runs).transform("first") for c in said})[has]
    for name in measured:
        values = rows.pop(name)
        rows = rows.assign(**{f"{kind}_{name}": values.where(kinds == kind) for kind in kinds.unique()})
    keys = [c for c in rows if c == run or {*CHECKPOINT} & {*roles(c)}]
    if keys and not rows.assign(kind=kinds).duplicated([*keys, "kind"]).any():
        rows = rows.groupby(keys, sort=False, dropna=False, as_index=False).first()
    return rows.dropna(axis=1, how="all").reset_index(drop=True)


# --- columns that are sizes or seeds -----------------------------------------------------------------


def _from_wide(frame: pd.DataFrame, origin: str, notes: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """Rows of a table whose columns are sizes, seeds or models.

    A title above it, "ResNet-18, test error vs training set size", or its corner says what was measured; a
    title also says what the sizes are.
    """
    titles = [*notes, re.sub(r"\.\w+$", "", origin).replace("_", " ")]  # val_loss_by_model_size.csv
    titles = [re.sub(r"\s+in\s+(%|percent)", " (%)", title) for title in titles]
    parts = [part.strip() for title in titles for part in re.split(_TITLE_PARTS, title)]
    ends = [" ".join(words[k:]) for part in parts if (words := part.split()) for k in range(1, len(words))]
    title = next((part for part in (*parts, *ends) if _is_measured(part)), "")  # CIFAR-10 test error
    units = (re.search(rf"{re.escape(title)} ?([(\[][^)\]]+[)\]])", each) for each in titles if title)
    title = next((full for u in units if u and _is_measured(full := f"{title} {u[1]}")), title)
    words = parts[-1].split()  # lr_sweep_val_loss.csv
    parts += [" ".join(words[k:]) for k in range(1, len(words))]
    plain = [_OF_SEVERAL.sub("", part).strip() for part in parts]  # different training set sizes
    names = [*parts, *(part.removesuffix("s") for part in plain)]
    size = next((role for name in names if (role := role_of(name)) in SIZES), "")
    frame = _without_log(frame)
    first = str(frame.columns[0])
    if quantity(first) is not None and not is_numeric(frame[first]) and not _reads(frame[first]):
        frame, title = frame.rename(columns={first: _kind_of_rows(frame[first])}), first
    frame, mean = _without_means(frame)
    below, sizes_below = _without_sizes_in_rows(frame)
    found = _seeds(below) or _numbers(below, origin, size, [*sizes_below.index]) or _names(below)
    if found is None:
        return frame, ""
    frame = below
    index = [c for c in frame if c not in found.columns]
    corner = _corner(index) or _corner_of_text(frame, index)
    table = frame.rename(columns={index[0]: corner[0]}) if corner else frame
    index = [corner[0], *index[1:]] if corner else index
    rows = table.melt(index, [*found.columns], found.key, "__value")
    rows = rows.assign(**{name: rows[found.key].map(values) for name, values in sizes_below.iterrows()})
    rows[found.key] = rows[found.key].map(found.columns)
    rows = rows[rows["__value"].notna()].reset_index(drop=True)
    if not found.measured and (named := _from_names_and_values(rows.rename(columns={"__value": "value"}))):
        return named[0], f"a column for each {found.key}, {named[1]}"
    measured = found.measured or mean or title or _kind_of(rows, found.key, index)
    shown = ", ".join([*map(str, found.columns)][:3])
    note = f"columns are values of {found.key} ({shown}, …), cells are {measured}"
    rows = rows.rename(columns={"__value": measured})
    rows.attrs[GUESSED] = () if found.measured or mean or title else (measured,)
    return rows, note


def _without_sizes_in_rows(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split off rows with a size of each column, such as "Training tokens" below losses."""
    if is_numeric(frame.iloc[:, 0]):
        return frame, frame[:0]
    labels = frame.iloc[:, 0].astype(str)
    sizes = labels.map(role_of).isin(SIZES) & (labels.str.len() > 1) & ~labels.duplicated(keep=False)
    if sizes.all() or not sizes.any():
        return frame, frame[:0]
    return frame[~sizes].reset_index(drop=True), frame[sizes].set_index(frame.columns[0])


def _without_means(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Drop the mean and spread of seed columns, which are redundant; and the name of the mean."""
    seeds = [c for c in frame if (seed := _seed(c)) is not None and (seed[2] or quantity(seed[0]))]
    numbers = {seed[1] for c in seeds if (seed := _seed(c)) is not None}
    if len(seeds) < 2 or len(numbers) < len(seeds):  # the ends of a 95 % interval are no seeds
        return frame, ""
    mean = pd.DataFrame({c: _as_numbers(frame[c]) for c in seeds}).mean(axis=1)
    others = (c for c in frame if c not in seeds and (q := quantity(c)) is not None and not q.is_spread)
    means = [c for c in others if np.allclose(_as_numbers(frame[c]), mean, rtol=SAME_MEAN, equal_nan=True)]
    if len(means) != 1:
        return frame, ""
    spreads = [c for c in frame if c not in seeds and {*bare(c).split("_")} & SPREADS]
    return frame.drop(columns=[*means, *spreads]), means[0]


def _is_measured(name: str) -> bool:
    """Whether a name is a measurement and nothing else."""
    return (found := quantity(name)) is not None and not found.others


def _without_log(frame: pd.DataFrame) -> pd.DataFrame:
    """Powers as the names of columns where the corner says that they are logarithms: width \\ log2(lr)."""
    rows, *rest = [*map(str, frame.columns)]
    log = re.fullmatch(r"(.+\\\s*)log_?(2|10)[\s(]+(\w+)\)?\s*", rows)
    if not log or not all(re.fullmatch(r"[-−+]?\d+(\.\d+)?", name) for name in rest):
        return frame
    powers = [f"{int(log[2]) ** float(name.replace('−', '-')):.12g}" for name in rest]
    return frame.set_axis([log[1] + log[3], *powers], axis=1)


def _others(frame: pd.DataFrame, columns: Sequence[str]) -> list[str] | None:
    """The columns beside these; None if one of them is a measurement already, or these are no numbers."""
    others = [c for c in frame if c not in columns]
    measured = any((q := quantity(c)) is not None and not q.is_spread for c in others)
    numeric = all(is_numeric(frame[c]) or _reads(frame[c]) for c in columns)
    return None if measured or not numeric or not others else others


def _reads(column: pd.Series) -> bool:
    """Whether most texts of a column are numbers."""
    texts = column.dropna().astype(str)
    read = sum(any(cell(text, decimal_comma=comma) for comma in (False, True)) for text in texts)
    return len(texts) > 0 and read > 0.5 * len(texts)


def _seeds(frame: pd.DataFrame) -> Spread | None:
    """Columns seed0, seed1, …; run 1, run 2, …; test_err_s0, …; fold0_accuracy, …; 0, 1, 2 beside a size."""
    found = {c: seed for c in frame if (seed := _seed(c)) is not None and (seed[2] or quantity(seed[0]))}
    if not found and role_of(str(frame.columns[0])) in SIZES:  # as a pivot by seed has them
        found = {c: seed for c in frame.columns[1:] if (seed := _seed(c)) is not None and not seed[0]}
        found = found if len(found) == len(frame.columns) - 1 else {}
    numbers = sorted(number for _, number, _ in found.values())
    rest = {name for name, _, _ in found.values()}
    named = any(word for _, _, word in found.values())
    first = numbers[0] if named and numbers else min([*numbers[:1], 1])
    if len(found) < 2 or len(rest) > 1 or numbers != [*range(first, first + len(numbers))]:
        return None
    measured = rest.pop()
    if (measured and quantity(measured) is None) or _others(frame, [*found]) is None:
        return None
    return Spread({c: number for c, (_, number, _) in found.items()}, "seed", measured)


def _seed(name: str) -> tuple[str, int, bool] | None:
    """A name without its only number and the word of a seed; the number; and whether it had such a word."""
    numbers = _WHOLE.findall(name)
    words = [word for word in re.split(r"[\s_#./=:-]+", _WHOLE.sub(" ", name)) if word]
    rest = [word for word in words if word.lower() not in _SEEDS]
    return (" ".join(rest), int(numbers[0]), len(rest) < len(words)) if len(numbers) == 1 else None


def _numbers(
    frame: pd.DataFrame, origin: str, of_title: str = "", in_rows: Sequence[str] = ()
) -> Spread | None:
    """Columns whose names are sizes: 19M, 125M; loss_19M; n_train=1000; 1B tokens; or settings: lr=0.001.

    Args:
        of_title: what sizes are by the title.
        in_rows: other sizes of each column.
    """
    named = {c for c in frame if (q := quantity(c)) is not None and not q.others}  # val top-1
    found = {c: each for c in frame if c not in named and (each := sized(c)) and each[1] > 0}
    sizes = {c: size for c, (_, size, _) in found.items()}
    shown, first = ", ".join([*found][:3]), next(iter(found), "")
    alike = len({(word, unit) for word, _, unit in found.values()}) == 1
    known = any(role_of(c) or quantity(c) is not None for c in frame if c not in found)
    values = not alike and not known and 2 * len(found) >= len(frame.columns)
    if len(found) > 1 and (values or len(found) == len(frame.columns)):
        raise BadInput(
            f"{origin} has columns named by numbers ({shown}): names say what columns hold, and a file "
            "without names needs them in its first line"
        )
    if len(found) < 2 or not alike:
        return None
    others, (word, _, unit) = _others(frame, [*found]), found[first]
    if others is None or len({*sizes.values()}) < len(sizes):
        return None
    corner: tuple[str, str] | None = None
    measured = word if word and quantity(word) is not None else ""
    role = role_of(word) if word and not measured else OF_UNITS.get(unit, "")
    if "=" in first:  # n=1000
        role = role_of_letter(word, max(sizes.values())) or role
    of_recipe = role in _RECIPE and all("=" in c for c in found)  # lr=0.0003
    if (word or unit) and not measured and role not in SIZES and not of_recipe:
        return None
    if not role and (corner := _corner(others) or _corner_of_text(frame, others)):
        few = max(sizes.values()) < FEWEST_PARAMS
        role = corner[1] if few and header(corner[1]).scale > 1 else role_of(corner[1])  # D (B) over 1, 3, 10
    if measured and "@" in first and max(sizes.values()) < FEWEST_TOKENS:
        role = "step"  # val_loss@1000
    key = (
        role
        or _size_beside(others, in_rows, frame, [*sizes.values()])
        or of_title
        or _by_digits(sizes.values())
    )
    if key in frame and not corner:
        return None
    if not key:
        raise NotDetermined(
            f"{origin} has columns named by numbers ({shown}, …), which may be n_params or n_data: put the "
            f"name into them, as in n_params={first} or n_data={first}"
        )
    return Spread(dict(sizes), key, measured)


def _corner(others: Sequence[str]) -> tuple[str, str] | None:
    """The names of rows and of columns in the corner of a table: "N \\ D", "tokens → / params ↓"."""
    text = others[0].strip() if others else ""
    parts = [part for part in _CORNER.split(text) if part]
    if 0 <= text.find("→") < text.find("↓"):
        parts.reverse()
    rows, columns = map(role_of, parts) if len(parts) == 2 else ("", "")
    return (parts[0], parts[1]) if rows in SIZES and columns in (*SIZES, *_RECIPE) else None


def _corner_of_text(frame: pd.DataFrame, others: Sequence[str]) -> tuple[str, str] | None:
    """The name of the columns in the corner, where rows are seeds or runs: n_train over "seed 0"."""
    name = others[0] if others else ""
    if role_of(name) not in SIZES or is_numeric(frame[name]) or _reads(frame[name]):
        return None
    return _kind_of_rows(frame[name]), name


def _kind_of_rows(column: pd.Series) -> str:
    """What texts at the left of rows are: "seed 0", "seed 1", or names of runs."""
    rows = [*column.dropna().astype(str)]
    return "seed" if all((seed := _seed(row)) and not seed[0] for row in rows) else "run"


def _size_beside(
    others: Sequence[str], in_rows: Sequence[str], frame: pd.DataFrame, sizes: list[float]
) -> str:
    """What sizes in headers are beside these columns; empty if that is not certain."""
    beside = {each for c in (*others, *in_rows) for each in roles(c)}
    texts = [c for c in others if not is_numeric(frame[c]) and role_of(c) not in SIZES]
    if "n_params" in beside or any(names_sizes(frame[c]) for c in texts):
        return "tokens" if max(sizes) >= FEWEST_TOKENS else "n_data"
    large = min(sizes) >= FEWEST_PARAMS
    if beside & {*DATA}:
        return "n_params" if large else ""
    if beside & {*PROGRESS}:
        return "n_params" if min(sizes) >= 1e6 else ""
    return ""


def _by_digits(sizes: Collection[float]) -> str:
    """Parameters where sizes are as those of models, 60M and 130M: examples and tokens are chosen round."""
    digits = {f"{size:e}".partition("e")[0].rstrip(".0") for size in sizes}
    return "n_params" if min(sizes) >= FEWEST_OF_A_MODEL and not digits <= _ROUND else ""


def _names(frame: pd.DataFrame) -> Spread | None:
    """Columns named by models with their sizes: Pythia-70M, Pythia-160M."""
    columns = [c for c in frame if len(model_sizes(c)) == 1 and not role_of(c)]
    families = {c.replace(model_sizes(c)[0], "") for c in columns}
    if len(columns) < 2 or len(families) > 1 or _others(frame, columns) is None:
        return None
    if quantity(families.pop()) is not None:
        return None
    return Spread({c: c for c in columns}, "model", "")


def _kind_of(rows: pd.DataFrame, key: str, index: Sequence[str]) -> str:
    """What unnamed values are: an accuracy if they rise with every size, otherwise a loss."""
    values = _as_numbers(rows["__value"])
    if values.min() < 0 or values.max() > 100:
        return "loss"
    sizes = [_as_numbers(rows[c]) for c in (key, *index) if not is_seed(c) and c not in _RECIPE]
    logs = [np.log(size.where(size > 0)) for size in sizes if size.nunique() > 1]
    rising = [values.corr(each) for each in logs]
    return "accuracy" if rising and min(rising) > 0 else "loss"


def _as_numbers(column: pd.Series) -> pd.Series:
    if is_numeric(column):
        return column.astype(float)
    return column.map(lambda value: found.value if (found := cell(str(value))) else np.nan)
