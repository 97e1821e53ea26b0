"""Find which rows of a table belong to one run, and how much data each run has seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from scalinglab.curves import OUTCOME, PROGRESS, SETTING, is_seed
from scalinglab.curves.columns import (
    FLOPS_PER_PARAM_EXAMPLE,
    IDENTITY,
    is_numeric,
    run_names,
    size_groups,
    unit_of_data,
)
from scalinglab.curves.names import HYPERPARAMETERS, bare, is_setting, quantity
from scalinglab.readers.tables.headers import DATA, FEWEST_TOKENS
from scalinglab.support.words import counted

FEWEST_SEEN = 1e4  # examples of a training
CHECKPOINTS = ("step", "epoch", "examples", "time")  # a column of these says that rows are checkpoints
FEWEST_CHECKPOINTS = 8  # rows in which data grow with the step before they count as one run
FEWEST_SHARES, SUM_OF_SHARES = 3, 0.02  # columns of a mixture; by how much their sum may differ from one
FEWEST_EVEN = 16  # rows in which tokens or examples grow in even steps before they count as checkpoints


def declared_settings(frame: pd.DataFrame, asked: Iterable[str]) -> list[str]:
    """Settings that are not in the standard list: named by the caller, or known hyperparameters."""
    known = [
        c for c in frame.columns if bare(c) in HYPERPARAMETERS or (is_setting(c) and quantity(c) is None)
    ]
    if "run" in frame and known:
        changes = frame.groupby("run", dropna=False)[known].nunique(dropna=False).max() > 1
        known = [c for c in known if not changes[c]]
    known += _shares(frame)
    return [c for c in dict.fromkeys((*asked, *known)) if c not in (*IDENTITY, *PROGRESS, *OUTCOME)]


def _shares(frame: pd.DataFrame) -> list[str]:
    """Columns of numbers from 0 to 1 that sum to one in every row: the shares of a mixture of data."""
    free = [c for c in frame if is_numeric(frame[c]) and frame[c].dtype != bool and quantity(c) is None]
    parts = [c for c in free if c not in SETTING and frame[c].between(0, 1).all()]
    whole = (frame[parts].sum(axis=1) - 1).abs() < SUM_OF_SHARES
    return parts if len(parts) >= FEWEST_SHARES and whole.all() else []


def setting_columns(frame: pd.DataFrame, declared: list[str]) -> list[str]:
    """The columns that `Curves` takes for settings."""
    free = [c for c in frame.columns if c not in (*IDENTITY, *PROGRESS, *OUTCOME)]
    return [c for c in free if c in SETTING or c in declared or is_seed(c) or not is_numeric(frame[c])]


def lacks_data_of_isoflops(frame: pd.DataFrame) -> bool:
    """Whether models of several sizes have one compute (within 1 %), and no column says how much data.

    FLOPs that suffice for fewer than `FEWEST_SEEN` examples are those of one example, not of a run.
    """
    if any(name in frame for name in DATA):
        return False
    if not all(name in frame and is_numeric(frame[name]) for name in ("n_params", "compute")):
        return False
    compute = frame["compute"].where(_data_of_compute(frame) >= FEWEST_SEEN)
    return bool((frame.groupby(size_groups(compute, 0.01))["n_params"].nunique() > 1).any())


def _data_of_compute(frame: pd.DataFrame) -> pd.Series:
    return frame["compute"] / (FLOPS_PER_PARAM_EXAMPLE * frame["n_params"].where(frame["n_params"] > 0))


def with_data_of_isoflops(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """A table of isoFLOP curves with the data of each model, compute/(6 n_params), and what was assumed."""
    if not lacks_data_of_isoflops(frame):
        return frame, []
    data = _data_of_compute(frame)
    name = "tokens" if data.max() >= FEWEST_TOKENS else "n_data"
    note = f"{name} = compute / ({FLOPS_PER_PARAM_EXAMPLE:g} n_params), since no column says how much data"
    return frame.assign(**{name: data}), [note]


def without_copies(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[int], list[str]]:
    """The table without repeated rows of a named run, the places of these rows, and a note."""
    numbers = [c for c in frame if is_numeric(frame[c])]
    alike = frame[frame.duplicated(["run", *numbers], keep=False)] if "run" in frame else frame[:0]
    copies = alike.index[alike.astype(str).duplicated()].union(_under_other_names(frame, numbers))
    copies = copies.union(_logged_again(frame.drop(index=copies)))
    if not len(copies):
        return frame, [], []
    note = f"left out as copies of others, or logged again later: {counted(len(copies), 'row')}"
    places = np.flatnonzero(frame.index.isin(copies)).tolist()
    return frame.drop(index=copies).reset_index(drop=True), places, [note]


def _under_other_names(frame: pd.DataFrame, numbers: list[str]) -> pd.Index:
    """Rows with the numbers of another, such as "best" or DVC's workspace, in a table that has no repeats.

    If no setting occurs with two results, seeds were not repeated: equal results are those of one run.
    """
    results = [c for c in numbers if quantity(c) is not None]
    texts = [c for c in frame if c not in numbers]
    kinds = [*numbers, *(c for c in texts if 2 * frame[c].nunique() <= len(frame))]
    copies, settings = frame.duplicated(kinds), [c for c in kinds if c not in results]
    repeated = not settings or frame[~copies].duplicated(settings).any()
    if not results or repeated or {*texts} <= {*kinds} or 2 * copies.sum() >= len(frame):
        return frame.index[:0]
    return frame.index[copies]


def _logged_again(frame: pd.DataFrame) -> pd.Index:
    """Rows that a run logged twice because it resumed from an earlier checkpoint."""
    step = next((c for c in CHECKPOINTS if c in frame and is_numeric(frame[c])), None)
    if "run" not in frame or step is None or not frame.duplicated(["run", step]).any():
        return frame.index[:0]
    texts = ["run", *(c for c in frame if c != "run" and not is_numeric(frame[c]))]
    run, at = frame.groupby(texts, dropna=False, sort=False).ngroup(), frame[step]
    rows, back = pd.DataFrame({"run": run, "at": at}), at.groupby(run).diff() < 0
    once = ~rows.assign(piece=back.groupby(run).cumsum()).duplicated()
    goes_on = ~back | (at > at.groupby(run).transform("min"))
    filled = frame.notna().all(axis=1) | ~rows.duplicated(keep=False)
    return frame.index[rows.duplicated(keep="last") & (once & goes_on & filled).all()]


def find_runs(
    frame: pd.DataFrame, declared: list[str], names: dict[str, str]
) -> tuple[pd.DataFrame, list[str]]:
    """The table with a column `run`, and what was assumed.

    Args:
        declared: settings that are not in the standard list.
        names: what columns were called, theirs to ours; changed where `n_data` turns out to be data seen
            so far.
    """
    if (whole := _whole_rows(frame)) is not None:
        frame, notes = find_runs(whole, declared, names)
        return frame, [*notes, "rows of one checkpoint with a part of its measurements each are one"]
    if "run" in frame and _names_models(frame, names):
        frame = frame.rename(columns={"run": "model"})
        names |= {theirs: "model" for theirs, ours in names.items() if ours == "run"}
    if "run" in frame:
        frame, notes = _data_of_runs(frame, frame["run"], names)
        frame, changed = constant_settings(frame)
        frame, apart = _without_settings_alone(frame)
        return frame, [*notes, *changed, *apart]
    step = next((c for c in CHECKPOINTS if c in frame and is_numeric(frame[c])), None)
    if step is not None and _rate_is_scheduled(frame, declared, step):
        keys = [c for c in setting_columns(frame, declared) if c != "learning_rate"]
        return find_runs(_named(frame, keys), declared, names)
    if step == "examples" and _are_sizes(frame, declared, names):
        frame, step = frame.rename(columns={"examples": "n_data"}), None
        names["examples"] = "n_data"
    if step is None and (data := _even_tokens(frame, declared, names)) is not None:
        frame, notes = _by_setting(frame, declared, data, names)
        return frame, ["rows are checkpoints: tokens grow in even steps", *notes]
    return _by_row(frame, declared) if step is None else _by_setting(frame, declared, step, names)


def _without_settings_alone(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Without rows of a run's settings in the log of its checkpoints: nothing was measured in them."""
    measured = [c for c in frame if quantity(c) is not None and is_numeric(frame[c])]
    steps = [c for c in CHECKPOINTS if c in frame]
    alone = frame[[*measured, *steps]].isna().all(axis=1)
    if not measured or not steps or not alone.any() or not (~alone).groupby(frame["run"]).any().all():
        return frame, []
    kept = frame[~alone].reset_index(drop=True)
    return kept, [f"left out: {counted(int(alone.sum()), 'row')} of settings alone"]


def _rate_is_scheduled(frame: pd.DataFrame, declared: list[str], step: str) -> bool:
    """Whether the learning rate is that of each checkpoint: it changes between most, none of which recurs."""
    if "learning_rate" not in frame or frame["learning_rate"].nunique() <= len(frame) / 2:
        return False
    keys = [c for c in setting_columns(frame, declared) if c != "learning_rate"]
    if len(frame) < FEWEST_CHECKPOINTS or frame.duplicated([*keys, step]).any():
        return False
    # of a search over rates with the best step of each run, steps do not rise from row to row
    return bool(_pieces(frame, keys, step).max(initial=0) == _codes(frame, keys).max(initial=0))


def _whole_rows(frame: pd.DataFrame) -> pd.DataFrame | None:
    """A row for each checkpoint where measurements of one stand in rows of their own; else None.

    Lightning's CSVLogger writes the training loss in one row and the validation loss in the next.
    """
    measured = [c for c in frame if quantity(c) is not None and is_numeric(frame[c])]
    keys = [c for c in frame if c not in measured]
    gaps = len(measured) > 1 and frame[measured].isna().any(axis=None)
    if not gaps or not {*CHECKPOINTS} & {*keys} or not frame.duplicated(keys).any():
        return None
    checkpoints = frame.groupby(keys, dropna=False, sort=False, observed=True, as_index=False)[measured]
    apart = (checkpoints.count()[measured] <= 1).all(axis=None) and frame[measured].notna().any(axis=1).all()
    return checkpoints.first()[[*frame.columns]] if apart else None


def _names_models(frame: pd.DataFrame, names: Mapping[str, str]) -> bool:
    """Whether names recur at data sizes that are settings, or few, and not those of checkpoints."""
    data = next((c for c in ("tokens", "n_data") if c in frame and is_numeric(frame[c])), None)
    if data is None or "model" in frame or any(c in frame for c in CHECKPOINTS):
        return False
    sizes = frame.groupby("run")[data]
    few = sizes.size().max() < FEWEST_CHECKPOINTS and frame[data].nunique() < len(frame) / 2
    chosen = any(is_setting(theirs) for theirs, ours in names.items() if ours == data)
    once = sizes.nunique().min() > 1 and sizes.nunique().sum() == len(frame)
    return bool((few or chosen) and once)


def constant_settings(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Settings with numbers: filled in where they were logged once, renamed where they change within a run.

    A learning rate that decays becomes `current_learning_rate`, and its highest value the run's.
    """
    found = [c for c in frame.columns if c in SETTING and c != "n_data" and is_numeric(frame[c])]
    notes = []
    for name in found:
        runs = frame.groupby("run", dropna=False, sort=False)[name]
        if (runs.nunique() > 1).any():
            if f"current_{name}" in frame:
                continue
            frame = frame.rename(columns={name: f"current_{name}"})
            notes.append(f"{name} changes within runs: current_{name}")
            if name == "learning_rate":
                frame[name] = frame.groupby("run", dropna=False, sort=False)[f"current_{name}"].transform(
                    "max"
                )
                notes[-1] += f", and {name} its highest"
        elif frame[name].isna().any():
            frame = frame.assign(**{name: runs.transform("first")})
    return frame, notes


def _by_row(frame: pd.DataFrame, declared: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Each row is a run; equal settings are repeats."""
    notes = ["each row is a run"]
    if "tokens" in frame and "n_data" not in frame:
        frame = frame.assign(n_data=frame["tokens"])
    keys = [*setting_columns(frame, declared), *(c for c in ("tokens", "compute") if c in frame)]
    if not keys:
        return frame, []
    repeat = frame.groupby(keys, dropna=False, sort=False).cumcount()
    if repeat.any():
        frame, notes = frame.assign(repeat=repeat), ["each row is a run; rows of equal settings are repeats"]
        keys = [*keys, "repeat"]
    return _named(frame, keys), notes


def _by_setting(
    frame: pd.DataFrame, declared: list[str], step: str, names: dict[str, str]
) -> tuple[pd.DataFrame, list[str]]:
    """Rows of equal settings are checkpoints of one run."""
    data = next((c for c in ("tokens", "n_data") if c in frame and is_numeric(frame[c])), None)
    chosen = [c for c in setting_columns(frame, declared) if c != data]
    pieces = _pieces(frame, chosen, step)
    starts_again = pieces.max(initial=0) > _codes(frame, chosen).max(initial=0)
    notes: list[str] = []
    in_all = False
    if data is not None and _grow(frame[data], pieces):
        frame, notes = _data_of_runs(frame, pieces, names)
    elif data == "tokens" and "n_data" not in frame:  # tokens in all, in every row
        frame, in_all = frame.rename(columns={"tokens": "n_data"}), True
    keys = setting_columns(frame, declared)
    progress = [c for c in PROGRESS if c in frame]
    step = step if step in frame else "tokens"
    if starts_again and frame.duplicated([*keys, *progress]).any():
        repeat = _repeats(_codes(frame, keys), pieces)
        numbered = frame.assign(repeat=repeat)
        distinct = not numbered.duplicated([*keys, *progress, "repeat"]).any()
        if "repeat" not in frame and distinct and not distinguish(frame, _codes(frame, keys), pieces):
            frame, keys = numbered, [*keys, "repeat"]
            notes.append(f"a new run where {step} starts again")
    frame = _named(frame, keys)
    if keys:
        notes.append(f"runs identified by {', '.join(keys)}")
    if in_all:
        frame["tokens"] = frame["n_data"].where(~frame["run"].duplicated(keep="last"))
        notes.append("n_data = tokens")
    return frame, notes


def _named(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    frame = frame.copy(deep=False)
    frame.insert(0, "run", run_names(frame, keys))
    return frame


def _codes(frame: pd.DataFrame, keys: list[str]) -> np.ndarray:
    if not keys:
        return np.zeros(len(frame), dtype=int)
    return frame.groupby(keys, dropna=False, sort=False).ngroup().to_numpy()


def _pieces(frame: pd.DataFrame, keys: list[str], step: str) -> np.ndarray:
    """Within each setting, rows in the order of the table until the step starts again."""
    setting = _codes(frame, keys)
    order = np.argsort(setting, kind="stable")
    steps, sorted_setting = frame[step].to_numpy(float)[order], setting[order]
    begins = (np.diff(sorted_setting, prepend=-1) != 0) | ~(np.diff(steps, prepend=np.nan) > 0)
    pieces = np.empty(len(frame), dtype=int)
    pieces[order] = np.cumsum(begins) - 1
    return pieces


def _grow(data: pd.Series, pieces: np.ndarray) -> bool:
    """Whether numbers grow from row to row, in pieces long enough to be runs."""
    parts = data.groupby(pieces, sort=False)
    return bool(parts.size().median() >= FEWEST_CHECKPOINTS and (parts.diff().dropna() > 0).all())


def _even_tokens(frame: pd.DataFrame, declared: list[str], names: Mapping[str, str]) -> str | None:
    """The column of tokens, where these grow in even steps, as a training logs them.

    Token counts that were chosen for separate runs are few and spaced in the log.
    """
    data = next((c for c in ("tokens", "n_data") if c in frame and is_numeric(frame[c])), None)
    if data is None or (data == "n_data" and seen_name(frame, names) != "tokens"):
        return None
    return data if _grow_evenly(frame, declared, data) else None


def _are_sizes(frame: pd.DataFrame, declared: list[str], names: Mapping[str, str]) -> bool:
    """Whether a column called `examples` holds the data sizes of runs rather than their progress."""
    alone = not {"n_data", "tokens"} & {*frame.columns} and "examples" not in names.values()
    return alone and not _grow_evenly(frame, declared, "examples")


def _grow_evenly(frame: pd.DataFrame, declared: list[str], data: str) -> bool:
    pieces = _pieces(frame, [c for c in setting_columns(frame, declared) if c != data], data)
    parts = frame[data].groupby(pieces, sort=False)
    if parts.size().min() < FEWEST_EVEN:
        return False
    steps = parts.diff().groupby(pieces)
    return bool((steps.max() / steps.min() < 1.5).mean() > 0.9)


def _repeats(setting: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Which repeat of its setting each piece is."""
    distinct = pd.DataFrame({"setting": setting, "piece": pieces}).drop_duplicates("piece")
    number = distinct.groupby("setting", sort=False).cumcount()
    return pd.Series(pieces).map(dict(zip(distinct["piece"], number))).to_numpy()


def distinguish(frame: pd.DataFrame, setting: np.ndarray, pieces: np.ndarray) -> list[str]:
    """Columns of numbers that are constant in each piece and differ between pieces: settings.

    Such pieces are no repeats; `Curves` refuses them and names what they differ in.
    """
    lengths = np.unique(pieces, return_counts=True)[1]
    if lengths.max() < 2:
        return []
    free = [c for c in frame.columns if c not in PROGRESS and is_numeric(frame[c])]
    within = frame.groupby(pieces)[free].nunique().max()
    between = frame.groupby(setting)[free].nunique().max()
    return [c for c in free if within[c] <= 1 and between[c] > 1]


def _data_of_runs(
    frame: pd.DataFrame, runs: pd.Series | np.ndarray, names: dict[str, str]
) -> tuple[pd.DataFrame, list[str]]:
    """Data seen at each checkpoint and in all, where runs are known."""
    seen = "tokens"
    if "n_data" in frame and "tokens" not in frame:
        if not is_numeric(frame["n_data"]) or not (frame.groupby(runs)["n_data"].nunique() > 1).any():
            return frame, []
        seen = seen_name(frame, names)
        frame = frame.rename(columns={"n_data": seen})
        names.update({theirs: seen for theirs, ours in names.items() if ours == "n_data"})
    if seen not in frame or "n_data" in frame or not is_numeric(frame[seen]):
        return frame, []
    parts = frame.groupby(runs, sort=False)[seen]
    frame = frame.assign(n_data=parts.transform("max"))
    if (parts.nunique() > 1).any():
        return frame, [f"n_data = {seen} at the end of each run"]
    last = ~pd.Series(np.asarray(runs)).duplicated(keep="last")  # how much was seen before is not known
    return frame.assign(**{seen: frame[seen].where(last.to_numpy())}), [f"n_data = {seen}"]


def seen_name(frame: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Whether data that grow within runs are tokens or examples: by the name of their column, or by size."""
    theirs = next((theirs for theirs, ours in names.items() if ours == "n_data"), "n_data")
    by_name = "tok" in theirs.lower() or theirs == "D" or "examples" in frame
    return "tokens" if by_name else unit_of_data(frame)
