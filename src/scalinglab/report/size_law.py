"""The best value of every size and the law through it, computed; `sections.size_law` draws it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab.curves import Curves, is_seed
from scalinglab.curves.columns import MEASURES, varying_within
from scalinglab.errors import BadInput
from scalinglab.laws.fitting.data.from_curves import Table
from scalinglab.laws.fitting.fit import automatic, fit, outlier_note
from scalinglab.laws.fitting.law import Law
from scalinglab.results.types import Reason, reason_of


@dataclass(frozen=True)
class SizeLaw:
    """The best checkpoint of every run, averaged over runs of one size, and a law through the runs.

    Attributes:
        size, y: columns.
        table: one row a size: `size`, the other settings that vary, `mean`, `error` (its standard error) and
            `runs`; where other settings vary, of those with the lowest mean.
        others: settings other than seeds that vary within a size.
        law: the fitted law; None where there is none, and `problem` is the reason.
        runs: how many there are; `lost` of them have no y, `diverged` diverged and count.
    """

    size: str
    y: str
    table: pd.DataFrame
    others: list[str]
    law: Law | None
    problem: Reason | None
    runs: int
    lost: int
    diverged: int

    def curve(self, points: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Sizes, and the law with the ends of its 95 % interval there; open ends are cut off."""
        assert self.law is not None
        sizes = np.geomspace(self.table[self.size].min(), self.table[self.size].max(), points)
        # an open interval must not make the points small
        ends = self.table["mean"].min() / 30, 30 * self.table["mean"].max()
        low, high = (np.clip(end, *ends) for end in self.law.interval(sizes))
        return sizes, np.asarray(self.law.predict(sizes)), low, high


def size_column(curves: Curves) -> str | None:
    """The setting that the report compares: data size if it varies, else the next that does."""
    numeric = [c for c in curves.setting_columns if pd.api.types.is_numeric_dtype(curves.frame[c])]
    varied = [c for c in numeric if not is_seed(c) and curves.frame[c].nunique() > 1]
    preferred = [c for c in ("n_data", "n_params", "width") if c in varied]
    return next(iter([*preferred, *varied]), None)


def also_varied(curves: Curves, by: str) -> list[str]:
    """Settings other than seeds in which runs of one size differ."""
    settings = [c for c in curves.setting_columns if c not in curves.seed_columns]
    return varying_within(curves.frame, by, settings)


def size_law_of(curves: Curves, known: Law | None = None) -> SizeLaw | None:
    """The law of the best values against size; None where no size or no measurement varies.

    Args:
        known: the law that the answers give for these columns, so that a page has one exponent.
    """
    by = size_column(curves)
    y = next((c for c in MEASURES if c in curves.frame and curves.frame[c].notna().any()), None)
    if by is None or y is None:
        return None
    others = also_varied(curves, by)
    best = curves.best(y)
    groups = best.frame.groupby([by, *others], dropna=False)[y]
    table = pd.DataFrame({"mean": groups.mean(), "error": groups.sem(), "runs": groups.size()}).reset_index()
    if others:  # a mean over learning rates, say, would be the law of no network
        table = table.loc[table.groupby(by)["mean"].idxmin()].reset_index(drop=True)
    law: Law | None = None
    problem: Reason | None = None
    try:
        # every run counts, as in `laws fit`: a mean of means would hide how many stand behind it
        chosen = best.frame.merge(table[[by, *others]], on=[by, *others])
        sizes, values = (chosen[name].to_numpy(float) for name in (by, y))
        law = known or fit(automatic(sizes), Table(sizes, values, None, None, names=(by,), measured=y))
        outlier_note(law, y, x=by)  # refuses what the answers refuse
        if law.dof < 1:
            problem, law = law.unidentified, None
    except BadInput as reason:
        problem, law = reason_of(reason), None
    diverged = {*curves.frame.loc[curves.has_diverged, "run"]} & {*best.runs}
    lost = len(curves.runs) - len(best.runs)
    return SizeLaw(by, y, table, others, law, problem, len(curves.runs), lost, len(diverged))
