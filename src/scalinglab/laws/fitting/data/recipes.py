"""Which recipe of each size counts, where runs of one size differ in how they were trained.

A mean over learning rates would be the law of no network: the best recipe of each size counts. But the best
of several means that differ by noise is too low, and intervals around it do not hold what they promise. So
recipes are chosen from only where they differ by more than noise, and at each size by the runs of the *other*
sizes (cross-fitting); its own runs say only which half of its recipes is the better one, from which it is
chosen. Only where every size shows the whole valley of one setting, which noise hardly draws, its lowest
counts. The model of the others is a parabola in the logarithms s of the settings, whose bottom moves as a
power of the size,

    ln loss = (size) + Σ a_i s_i + Σ b_ij s_i s_j + Σ c_i s_i ln size.

Settings that are no numbers have an effect of each value. Only the better half of the recipes of each size is
taken: runs that diverge have no part in it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from scalinglab.curves import is_seed
from scalinglab.laws.fitting.data.rows import cost, mixed, rises
from scalinglab.laws.fitting.statistics import f_pvalue
from scalinglab.results.distributions import FEWEST
from scalinglab.results.types import Reason

RECIPE = ("optimizer", "learning_rate", "batch_size", "momentum", "weight_decay")
FEWEST_OF_A_VALLEY = 4  # defined: values of a setting at a size, one more than a parabola has numbers
SIGNIFICANT = 0.05 / 3  # convention: of each of three tests, 5 % in all


def best_recipes(
    frame: pd.DataFrame, names: list[str], y: str, varied: list[str], called: Mapping[str, str] | None = None
) -> tuple[pd.DataFrame, list[Reason]]:
    """Of each size the runs of the recipe with the best mean of y; and what was done.

    Args:
        frame: one row of each run.
        names: the columns of sizes.
        varied: the parts of the recipe that are chosen from (`compared`).
        called: what columns were called, ours to theirs.

    Raises:
        BadInput: kinds of runs, such as optimizers, differ: the best of them alone would be a silent choice.
    """
    if not varied or y in RECIPE:  # the lowest rate is not the best
        return frame, []
    size = frame.groupby(names, dropna=False).ngroup().to_numpy()
    tried = frame.groupby(varied, dropna=False).ngroup().to_numpy()
    score, measured = cost(frame[y], y).fillna(np.inf), int(frame[y].notna().sum())
    valley = _valley(frame, names, varied)
    if not _differ(score.groupby(size).rank().to_numpy(), size, tried, valley):
        if not _is_search(frame, varied, size):
            return frame, [Reason("recipes_alike", recipe=tuple(varied), y=y, runs=measured)]
        kept = frame[score == score.groupby(size).transform("min")]
        return kept, [Reason("lowest_of_search", recipe=tuple(varied), y=y, runs=len(kept), of=measured)]
    mean = score.groupby([size, tried]).transform("mean")
    rank = mean.groupby(size).rank("dense").where(np.isfinite(mean), np.inf).to_numpy()
    chosen, judged = chosen_recipes(rank, _log_cost(frame[y], y), size, tried, valley)
    code = "best_recipe"
    if (rank[chosen] > 1).any() and len(varied) == 1 and _are_valleys(frame[varied[0]], rank, size):
        chosen, judged, code = rank == 1, np.full(len(rank), True), "lowest_recipe"
    kept, by_chance = frame[chosen], frame[chosen & ~judged]
    counts = {"y": y, "runs": len(kept), "of": measured}
    notes = [Reason(code, recipe=tuple(varied), **counts)]
    for column in (c for c in varied if not pd.api.types.is_numeric_dtype(frame[c])):
        if kept[column].nunique() < frame[column].nunique():  # kinds, each with a curve of its own
            raise mixed(frame, column, called, f", and {y} differs between them beyond its scatter")
    if alone := int((by_chance.groupby(names).size() == 1).sum()):
        notes.append(Reason("best_of_single_runs", recipe=tuple(varied), sizes=alone))
    return kept, notes


def compared(
    frame: pd.DataFrame, names: list[str], fixed: list[str], settings: Collection[str] = ()
) -> list[str]:
    """The parts of a recipe of which some size has several values, so that one of them can be the best.

    Args:
        frame, names: as of `best_recipes`.
        fixed: columns that do not vary within a run.
        settings: others, which count where each run has its own, drawn from a range.
    """
    size = frame.groupby(names, dropna=False).ngroup().to_numpy()
    drawn = [
        c for c in settings if not is_seed(c) and _is_search(frame, [c], size) and (frame[c] % 1 > 0).any()
    ]
    recipe = [c for c in dict.fromkeys((*RECIPE, *drawn)) if c in frame and c in fixed and c not in names]
    return [c for c in recipe if (frame.groupby(names)[c].nunique(dropna=False) > 1).any()]


def chosen_recipes(
    rank: np.ndarray, value: np.ndarray, size: np.ndarray, recipe: np.ndarray, terms: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(runs,) whether a run's recipe is chosen at its size; and whether the other sizes chose there.

    Where these cannot, the recipe of the lowest rank is.

    Args:
        rank: (runs,) of the recipe among those of its size, from 1; infinite where it diverged.
        value, size, recipe, terms: as of `_by_other_sizes`.
    """
    tried = pd.Series(recipe).groupby(size).transform("nunique").to_numpy()
    better = np.isfinite(rank) & (rank <= np.maximum(FEWEST, np.ceil(tried / 2)))
    expected = by_other_sizes(value, size, recipe, terms, better)
    judged = (tried == 1) | pd.Series(np.isfinite(expected)).groupby(size).transform("any").to_numpy()
    choice = pd.Series(np.where(judged, expected, rank))
    return (choice <= choice.groupby(size).transform("min")).to_numpy(), judged


def _is_search(frame: pd.DataFrame, varied: list[str], size: np.ndarray) -> bool:
    """Whether every run has settings of its own, drawn from a range: these are trials, and no repeats."""
    numbers = all(c in frame and pd.api.types.is_numeric_dtype(frame[c]) for c in varied)
    few = np.unique(size, return_counts=True)[1].min() < FEWEST_OF_A_VALLEY
    return numbers and not few and not frame.duplicated(varied).any()


def _are_valleys(setting: pd.Series, rank: np.ndarray, size: np.ndarray) -> bool:
    """Whether at every size the better half of a setting's values lies side by side around its lowest.

    They fall to it and rise again, and it is no end of them all. Noise alone draws that at one size of six
    where there are five values, one of 30 where there are seven.
    """
    for each in np.unique(size):
        ranks = pd.Series(rank[size == each]).groupby(setting[size == each].to_numpy()).min().to_numpy()
        count, lowest = len(ranks), int(np.argmin(ranks))
        better = np.flatnonzero(ranks <= np.ceil(count / 2))
        rises = np.diff(ranks[better]) * np.sign(better[1:] - lowest - 0.5)
        apart = np.ptp(better) >= len(better) or min(rises) < 0
        if count < FEWEST_OF_A_VALLEY or lowest in (0, count - 1) or apart:
            return False
    return pd.api.types.is_numeric_dtype(setting)


def _log_cost(values: pd.Series, y: str) -> np.ndarray:
    """(runs,) ln of y, of an accuracy ln (1 − y); y or −y where that has no logarithm."""
    found = cost(values, y) + ((1.0 if values.max() <= 1 else 100.0) if rises(y) else 0.0)
    return (np.log(found) if found.min() > 0 else found).to_numpy(float)


def _valley(frame: pd.DataFrame, names: list[str], varied: list[str]) -> np.ndarray:
    """(runs, terms) of the model of the loss, beside one constant of each size."""

    def centred(column: str) -> np.ndarray:
        values = frame[column].to_numpy(float)
        values = np.log(values) if (values > 0).all() else values
        return np.asarray(values - values.mean())

    numbers = [c for c in varied if pd.api.types.is_numeric_dtype(frame[c]) and frame[c].notna().all()]
    settings, sizes = [centred(c) for c in numbers], [centred(c) for c in names]
    pairs = [s * t for i, s in enumerate(settings) for t in (*settings[i:], *sizes)]
    others = [pd.get_dummies(frame[c], dummy_na=True).to_numpy(float) for c in varied if c not in numbers]
    return np.column_stack([*settings, *pairs, *others])


def by_other_sizes(
    value: np.ndarray, size: np.ndarray, recipe: np.ndarray, terms: np.ndarray, better: np.ndarray
) -> np.ndarray:
    """(runs,) value that the runs of the other sizes expect of its recipe, up to a constant of each size.

    Infinite for a run of the worse half of recipes or with a setting in words that no other size has tried,
    and at sizes of which the others cannot tell (no degree of freedom is left). Numbers need not be the same
    at several sizes: a rate between those of the others lies on their parabola.

    Args:
        value: (runs,), lower is better.
        size, recipe: (runs,), numbered from 0.
        terms: (runs, terms) of its model (`_valley`).
        better: (runs,), whether the recipe is in the better half of its size.
    """
    both = pd.DataFrame(np.column_stack([terms, value]))
    within = (both - both[better].groupby(size[better]).mean().reindex(size).to_numpy()).to_numpy()
    expected = np.full(len(value), np.inf)
    for each in np.unique(size):
        others = better & (size != each)
        effect, _, rank, _ = np.linalg.lstsq(within[others, :-1], within[others, -1], rcond=1e-9)
        unknown = np.any(terms[:, ~np.any(terms[others], axis=0)], axis=1)
        own = better & (size == each) & ~unknown
        if others.sum() - len(np.unique(size[others])) > rank:
            expected[own] = within[own, :-1] @ effect
    return pd.Series(expected).groupby([size, recipe]).transform("min").to_numpy()  # runs alike to the digit


def _differ(rank: np.ndarray, size: np.ndarray, recipe: np.ndarray, terms: np.ndarray) -> bool:
    """Whether recipes differ by more than noise, or no run is left to tell.

    F tests on ranks within each size: of an effect of each recipe that all sizes share, and of a valley whose
    bottom may move with size, where noise is what they leave; and, with repeats, of any differences at each
    size, where noise is the scatter of repeats.

    Args:
        rank: (runs,), of y among the runs of its size.
        size, recipe: (runs,), numbered from 0.
        terms: (runs, terms) of the valley (`_valley`).
    """
    values = pd.Series(rank)
    within = (values - values.groupby(size).transform("mean")).to_numpy()
    cells = values.groupby([size, recipe])
    models = [((values - cells.transform("mean")).to_numpy(), cells.ngroups - len(np.unique(size)))]
    for model in (pd.get_dummies(pd.Series(recipe)).astype(float), pd.DataFrame(terms)):
        columns = (model - model.groupby(size).transform("mean")).to_numpy()
        effect, _, used, _ = np.linalg.lstsq(columns, within, rcond=1e-9)
        models.append((within - columns @ effect, int(used)))
    free = len(rank) - len(np.unique(size))
    tests = [_f_test(within, rest, used, free - used) for rest, used in models if free > used]
    return not tests or min(tests) < SIGNIFICANT


def _f_test(whole: np.ndarray, rest: np.ndarray, used: int, free: int) -> float:
    """The p-value of an effect with `used` parameters that leaves `rest` with `free` degrees of freedom."""
    explained, left = whole @ whole - rest @ rest, rest @ rest
    if explained <= 1e-9 * (whole @ whole):
        return 1.0
    return f_pvalue(explained, used, max(left, 1e-300 * free), free)
