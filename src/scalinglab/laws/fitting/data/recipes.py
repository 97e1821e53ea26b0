"""Which recipe of each size counts, where runs of one size differ in how they were trained.

A mean over learning rates would be the law of no network: the best recipe of each size counts. But the best
of several means that differ by noise alone is too low, and intervals around it do not hold what they promise.
Recipes are therefore chosen from only where they differ by more than noise.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from scalinglab.laws.fitting.data.rows import cost
from scalinglab.support.words import counted

RECIPE = ("optimizer", "learning_rate", "batch_size", "momentum", "weight_decay")
SIGNIFICANT = 0.025  # of each of two tests: 5 % in all


def best_recipes(frame: pd.DataFrame, names: list[str], y: str, fixed: list[str]) -> tuple[pd.DataFrame, str]:
    """Of each size the runs of the recipe with the best mean of y; and what was done.

    Args:
        frame: one row of each run.
        names: the columns of sizes.
        fixed: columns that do not vary within a run.
    """
    recipe = [c for c in RECIPE if c in frame and c in fixed and c not in names]
    varied = [c for c in recipe if (frame.groupby(names)[c].nunique(dropna=False) > 1).any()]
    if not varied or y in RECIPE:  # the lowest rate is not the best
        return frame, ""
    size = frame.groupby(names, dropna=False).ngroup().to_numpy()
    tried = frame.groupby(varied, dropna=False).ngroup().to_numpy()
    score = cost(frame[y], y).fillna(np.inf)
    told = " and ".join(varied)
    if not _differ(score.groupby(size).rank().to_numpy(), size, tried):
        return frame, f"no {told} has a better {y} by more than noise: all {len(frame)} runs count"
    mean = score.groupby([size, tried]).transform("mean")
    kept = frame[mean <= mean.groupby(size).transform("min")]
    note = (
        f"at each size the {told} with the best {y}: {len(kept)} of {len(frame)} runs "
        "(mixed=True, laws fit --mixed takes every one)"
    )
    alone = int((kept.groupby(names).size() == 1).sum())
    if alone:
        note += (
            f"; at {counted(alone, 'size')} it is the best of single runs, which is too good by chance where "
            "their noise is not small beside the differences: a second seed tells"
        )
    return kept, note


def _differ(rank: np.ndarray, size: np.ndarray, recipe: np.ndarray) -> bool:
    """Whether recipes differ by more than noise, or no run is left to tell.

    F tests on ranks within each size: of an effect of each recipe that all sizes share, where noise is what
    it leaves; and, with repeats, of any differences at each size, where noise is the scatter of repeats.

    Args:
        rank: (runs,), of y among the runs of its size.
        size, recipe: (runs,), numbered from 0.
    """
    values = pd.Series(rank)
    within = (values - values.groupby(size).transform("mean")).to_numpy()
    shared = pd.get_dummies(pd.Series(recipe)).astype(float)
    shared = (shared - shared.groupby(size).transform("mean")).to_numpy()
    effect, _, used, _ = np.linalg.lstsq(shared, within, rcond=None)
    cells = values.groupby([size, recipe])
    models = [
        (within - shared @ effect, int(used)),
        ((values - cells.transform("mean")).to_numpy(), cells.ngroups - len(np.unique(size))),
    ]
    free = len(rank) - len(np.unique(size))
    tests = [_f_test(within, rest, used, free - used) for rest, used in models if free > used]
    return not tests or min(tests) < SIGNIFICANT


def _f_test(whole: np.ndarray, rest: np.ndarray, used: int, free: int) -> float:
    """The p-value of an effect with `used` parameters that leaves `rest` with `free` degrees of freedom."""
    from scipy import stats

    explained, left = whole @ whole - rest @ rest, rest @ rest
    if explained <= 1e-9 * (whole @ whole):
        return 1.0
    return float(stats.f.sf(explained / used / max(left / free, 1e-300), used, free))
