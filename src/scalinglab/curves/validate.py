"""What a table of curves must satisfy, and errors with the way out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab.curves.columns import ACCURACIES, MEASURES, NUMBERS, is_numeric, no_number, varying_columns
from scalinglab.curves.reading import listed
from scalinglab.errors import BadInput


@dataclass(frozen=True)
class Roles:
    """The columns of a table by their role."""

    settings: list[str]
    progress: list[str]
    measurements: list[str]


def validate(frame: pd.DataFrame, roles: Roles) -> None:
    """Raise `BadInput` where a role is missing, a value has the wrong kind, or a row stands twice."""
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
    """A setting has one value in a run; text that changes within a run is no measurement either."""
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
    """Each checkpoint of a run stands once."""
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
    """Whether the rows of each run lie together and its step grows, as in most tables: none stands twice.

    It takes a third of the memory and of the time of a search for duplicates.
    """
    codes, names = pd.factorize(run)
    same = codes[1:] == codes[:-1]
    grows = np.diff(step.to_numpy(float)) > 0
    return bool(grows[same].all()) and len(codes) - np.count_nonzero(same) == len(names)


def _listed(frame: pd.DataFrame) -> str:
    return listed([str(c) for c in frame.columns if c != "run"])
