"""What a plan starts from: the law or surface, and the runs that one could make next.

Some variables of a form are sizes, to which the cost of a run is proportional; the others (bits, shares of
domains, a learning rate, unique tokens …) are settings. Candidates are the settings that were tried, at sizes
up to four times beyond the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws import forms
from scalinglab.laws.extrapolation.stacking import Continuation, continuation
from scalinglab.laws.fitting.data.from_curves import Rows, is_table, points_from
from scalinglab.laws.fitting.fit import table_outlier_note
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.fitting.statistics import WIDE
from scalinglab.laws.forms.base import Form
from scalinglab.laws.forms.surfaces import NAMES as PAIR
from scalinglab.laws.of_table import fit_table
from scalinglab.laws.optimum import NEAR, best_split
from scalinglab.laws.surface import Surface

SIZES = ("n_params", "n_data", "step", "compute", "non_vocab_params", "n_chars", "n_tuned")
BEYOND = 4.0  # chosen: times the largest size at hand
MOST_SETTINGS = 200  # search: that were tried and are tried again; a limit on time and memory


def price_of(names: tuple[str, ...], flops_per_param_example: float) -> tuple[Callable[..., Any], str]:
    """The cost of a run as a function of the form's variables, and its unit.

    It is flops_per_param_example times the product of the sizes; one size alone, or the only variable of a
    law, is the cost itself; without a size every run costs one.
    """
    sizes = [j for j, name in enumerate(names) if name in SIZES] if len(names) > 1 else [0]
    if len(sizes) > 1:
        return lambda *v: flops_per_param_example * np.prod([v[j] for j in sizes], axis=0), "FLOPs"
    if sizes:
        unit = "FLOPs" if names[sizes[0]] == "compute" else f"units of {names[sizes[0]]}"
        return lambda *v: v[sizes[0]], unit
    return lambda *v: np.ones_like(v[0]), "runs"


def large_enough(places: np.ndarray, prices: np.ndarray, largest: float, budget: float) -> np.ndarray:
    """(n,) which candidates are not far smaller than the largest run; all, if the budget pays for none."""
    large = prices >= largest / NEAR  # a small run tells of larger ones by the form alone
    return large if (large & (prices <= budget)).any() else np.ones(len(places), bool)


def checked_costs(costs: Any, count: int, budget: float) -> np.ndarray:
    """(candidates,) positive costs, one each, and a positive budget."""
    prices = np.asarray(costs, float).ravel()
    if len(prices) != count:
        raise BadInput(f"{count} candidates and {len(prices)} costs: give one cost each")
    if not ((prices > 0) & np.isfinite(prices)).all():
        raise BadInput(f"costs must be positive; one is {prices[~(prices > 0)][0]:g}")
    if not budget > 0:
        raise BadInput(f"budget={budget!r} must be a positive cost")
    return prices


def plausible_runs(law: Law, *, optimum: bool) -> np.ndarray:
    """(n, variables) runs to choose from.

    Args:
        optimum: whether the law is a surface with a best n_params for a compute.
    """
    x = np.atleast_2d(law.points.x)
    names = law.form.variables
    sizes = [j for j, name in enumerate(names) if name in SIZES]
    if len(x) == 1:
        return np.geomspace(x[0].min(), BEYOND * x[0].max(), 60)[:, None]
    if len(sizes) < len(x):
        return _at_tried_settings(x, sizes)
    grid = _size_grid(x, 25)
    grid = grid[_tried_shapes(x[:, law.points.ends_of_runs], grid)]  # of runs, not of their checkpoints
    if len(x) > 2 or not optimum:
        return grid
    best = best_split(law.form, law.values[None], grid[:, 0] * grid[:, 1])[0, 0]
    plausible = np.abs(np.log(grid[:, 0] / best)) <= np.log(WIDE)
    return grid[plausible] if plausible.any() else grid


def _size_grid(x: np.ndarray, count: int) -> np.ndarray:
    """(n, sizes) evenly in the log."""
    axes = [np.geomspace(v.min(), v.max() * BEYOND, count) for v in x]
    return np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)


def _tried_shapes(x: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Which of a grid of two sizes have a ratio near one that was tried; far from these the form may fail."""
    tried, ratio = x[1] / x[0], grid[:, 1] / grid[:, 0]
    return np.asarray((ratio >= tried.min() / 2) & (ratio <= tried.max() * 2))


def _at_tried_settings(x: np.ndarray, sizes: list[int]) -> np.ndarray:
    """The settings that were tried, at a grid of sizes; of a form without sizes also halfway between two."""
    others = [j for j in range(len(x)) if j not in sizes]
    settings = np.unique(x[others].T, axis=0)
    settings = settings[np.unique(np.linspace(0, len(settings) - 1, MOST_SETTINGS).astype(int))]
    if not sizes:  # shares halfway between two still sum to 1
        first, second = np.triu_indices(len(settings), 1)
        between = (settings[first] + settings[second]) / 2
        return np.unique(np.concatenate([settings, between[:: -(-len(between) // 2000) or 1]]), axis=0)
    grid = _size_grid(x[sizes], 12)
    if len(sizes) > 1:
        grid = grid[_tried_shapes(x[sizes], grid)]
    found = np.empty((len(settings) * len(grid), len(x)))
    found[:, others] = np.repeat(settings, len(grid), axis=0)
    found[:, sizes] = np.tile(grid, (len(settings), 1))
    # no more of a setting per size than was tried, so that unique tokens stay below tokens
    for j in others:
        for s in sizes:
            found = found[found[:, j] <= np.max(x[j] / x[s]) * found[:, s] * (1 + 1e-9)]
    return found


def law_or_surface(
    given: Any, x: str | Sequence[str] | None, y: str | None, form: str | Form | None, reduce: str,
    **rows: Unpack[Rows],
) -> Law | Surface:  # fmt: skip
    """A law or surface as it is, or that of a table: a law where x is one column, else a surface.

    Args:
        given: a `Law`, a `Surface`, or a table of curves.
        x, y, reduce, rows: columns of the table and which rows of it count.
        form: of the law or surface; by default "auto" of one column x, else those of surfaces, averaged.
    """
    if not is_table(given):
        _no_columns(x, y, rows)
        if not isinstance(given, (Law, Surface)):
            raise BadInput(
                f"a {type(given).__name__} is not a law: give a Law (laws.fit) or a table of curves"
            )
        return given
    variables = PAIR if form is None else forms.get(form).variables
    if isinstance(x, str) or len(variables) == 1:
        columns: tuple[Any, str | None] = "n_data", None
    else:
        columns = variables, "loss"
    table = points_from((given,), x, y, columns=columns, reduce=reduce, **rows)
    return fit_table(table, "auto" if form is None else form, nan_policy=rows.get("nan_policy", "raise"))


def law_or_continuation(
    given: Any, x: str | None, y: str | None, form: str, reduce: str, **rows: Unpack[Rows]
) -> tuple[Law | Continuation, str, str]:
    """A law of one variable or a continuation, as it is or of a table; and what x and y are called.

    With the form "auto" it is the continuation of `extrapolate`, so that both give the same answer.
    """
    names = "x", "y"
    if is_table(given):
        given = points_from((given,), x, y, reduce=reduce, **rows)
        names = given.names[0], given.measured
        policy = rows.get("nan_policy", "raise")
        if form == "auto":
            found = continuation(given.x, given.y, nan_policy=policy)
            notes = (*given.notes, *found.points.notes, *table_outlier_note(given, policy))
            return replace(found, points=replace(found.points, notes=notes)), *names
        return _of_one_variable(fit_table(given, form, nan_policy=policy)), *names
    if isinstance(given, Continuation):
        _no_columns(x, y, rows)
        return given, *names
    return _of_one_variable(law_or_surface(given, x, y, form, reduce, **rows)), *names


def _of_one_variable(law: Law | Surface) -> Law:
    if isinstance(law, Law) and len(law.form.variables) == 1:
        return law
    name = law.law.form.name if isinstance(law, Surface) else law.form.name
    raise BadInput(f"{name} is a surface; this question is for a law of one variable")


def _no_columns(x: Any, y: Any, rows: Rows) -> None:
    if x is not None or y is not None or rows:
        raise BadInput("x=, y= and choices of rows are for a table: this is a law already")
