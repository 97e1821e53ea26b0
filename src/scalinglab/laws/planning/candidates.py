"""Runs that one would make next, for any form: what they cost, and a grid of plausible ones.

Some variables of a form are sizes, which the cost of a run is proportional to; the others (bits, shares of
domains, a learning rate, unique tokens …) are settings. Candidates are the settings that were tried, at sizes
up to four times beyond the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.fitting.statistics import WIDE
from scalinglab.laws.optimum import NEAR, best_split

SIZES = ("n_params", "n_data", "step", "compute", "non_vocab_params", "n_chars", "n_tuned")
BEYOND = 4.0  # chosen: times the largest size at hand
MOST_SETTINGS = 200  # search: that were tried and are tried again; a limit on time and memory


def price_of(names: tuple[str, ...], flops_per_param_example: float) -> tuple[Callable[..., Any], str]:
    """What a run costs as a function of the form's variables, and its unit.

    Two sizes make flops_per_param_example · their product; one is the cost itself, as the only variable of a
    law is; without any, every run costs one.
    """
    sizes = [j for j, name in enumerate(names) if name in SIZES] if len(names) > 1 else [0]
    if len(sizes) > 1:
        return lambda *v: flops_per_param_example * np.prod([v[j] for j in sizes], axis=0), "FLOPs"
    if sizes:
        unit = "FLOPs" if names[sizes[0]] == "compute" else f"units of {names[sizes[0]]}"
        return lambda *v: v[sizes[0]], unit
    return lambda *v: np.ones_like(v[0]), "runs"


def large_enough(places: np.ndarray, prices: np.ndarray, largest: float, budget: float) -> np.ndarray:
    """(n,) which candidates are not far smaller than the largest run; all where none of these is paid for."""
    large = prices >= largest / NEAR  # what a smaller run tells of larger ones rests on the form alone
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
    """Far outside the shapes that were tried the form itself is in doubt, not only its parameters."""
    tried, ratio = x[1] / x[0], grid[:, 1] / grid[:, 0]
    return np.asarray((ratio >= tried.min() / 2) & (ratio <= tried.max() * 2))


def _at_tried_settings(x: np.ndarray, sizes: list[int]) -> np.ndarray:
    others = [j for j in range(len(x)) if j not in sizes]
    settings = np.unique(x[others].T, axis=0)
    settings = settings[np.unique(np.linspace(0, len(settings) - 1, MOST_SETTINGS).astype(int))]
    if not sizes:  # halfway between settings is one, also of shares that sum to 1
        first, second = np.triu_indices(len(settings), 1)
        between = (settings[first] + settings[second]) / 2
        return np.unique(np.concatenate([settings, between[:: -(-len(between) // 2000) or 1]]), axis=0)
    grid = _size_grid(x[sizes], 12)
    if len(sizes) > 1:
        grid = grid[_tried_shapes(x[sizes], grid)]
    found = np.empty((len(settings) * len(grid), len(x)))
    found[:, others] = np.repeat(settings, len(grid), axis=0)
    found[:, sizes] = np.tile(grid, (len(settings), 1))
    # no more of a setting per size than was tried: unique tokens stay below tokens
    for j in others:
        for s in sizes:
            found = found[found[:, j] <= np.max(x[j] / x[s]) * found[:, s] * (1 + 1e-9)]
    return found
