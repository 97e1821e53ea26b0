"""Whether a column separates the rows of one size: two evaluation sets must not pass for one noisy one.

A linear model of ln y has a free constant for each size that several values of the column share, or, where no
size is shared, a parabola in the logarithms of the sizes. The F test asks whether an effect of each value of
the column, and its slope in the sizes, leave less than chance would.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from scalinglab.laws.fitting.statistics import f_pvalue

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
    cell = pd.DataFrame(np.round(logs, 2)).groupby([*range(len(names))]).ngroup().to_numpy()
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
    ranks = [pd.Series(values).rank() for values in (column.to_numpy(), *logs.T)]
    across = np.column_stack([np.ones(len(logs)), *ranks[1:]])
    left = ranks[0] - across @ np.linalg.lstsq(across, ranks[0], rcond=None)[0]
    return bool(np.var(left) < np.var(ranks[0]) / 2)


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
