"""Take curves that were read into a store, again and again while their logs grow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from scalinglab.curves import PROGRESS, Curves
from scalinglab.store import Store
from scalinglab.support.validation import checked


@dataclass(frozen=True)
class ImportResult:
    """Names of runs by what was done with them.

    Attributes:
        added: new in the store, under the names that they have there.
        updated: taken again because their logs have grown.
        unchanged: there already.
    """

    added: list[str]
    updated: list[str]
    unchanged: list[str]


@checked
def take_in(curves: Curves, store: Store | str | Path, *, origin: str = "") -> ImportResult:
    """Keep curves in a store.

    A run that is there with the same numbers stays, or is replaced where it has more rows now. A run of the
    same name with other numbers is another run, and gets a name of its own: two logs may both be called
    version_0.
    """
    kept = Store.of(store)
    here = {str(run): rows for run, rows in kept.curves().frame.groupby("run", sort=False)}
    taken = ImportResult([], [], [])
    names: dict[str, str] = {}
    for run, rows in curves.frame.groupby("run", sort=False):
        name, number = str(run), 1
        while name in here and not same_numbers(here[name], rows):
            number += 1
            name = f"{run}-{number}"
        names[str(run)] = name
        if name not in here:
            taken.added.append(name)
        elif len(rows) > len(here[name]):
            taken.updated.append(name)
        else:
            taken.unchanged.append(name)
    for name in taken.updated:
        kept.discard(name)
    frame = curves.frame.assign(run=curves.frame["run"].astype(str).map(names))
    kept.add(Curves(frame, settings=curves.settings), origin=origin)
    return taken


def same_numbers(old: pd.DataFrame, new: pd.DataFrame) -> bool:
    """Whether two tables agree wherever both have a number at the same checkpoint."""
    step = next((c for c in PROGRESS if c in old and c in new and old[c].notna().any()), None)
    both = [c for c in old.columns if c in new and pd.api.types.is_numeric_dtype(old[c]) and c != step]
    if step is None:
        pairs = (old[both].head(len(new)), new[both].head(len(old)))
    else:
        joined = old[[step, *both]].merge(new[[step, *both]], on=step, suffixes=("", "__new"))
        if joined.empty:
            return False
        pairs = (joined[both], joined[[f"{c}__new" for c in both]])
    a, b = (table.to_numpy(float) for table in pairs)
    return bool(np.all((a == b) | np.isnan(a) | np.isnan(b)))
