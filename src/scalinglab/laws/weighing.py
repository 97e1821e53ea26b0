"""How much each of several forms, forecasts or models counts.

Which of them is right is asked by the probability that each gave to what was measured (`shares`), best to
points that it had not seen (`by_backtests`), and serves intervals. Which average predicts best, of forecasts
none of which is the law, is asked by squared errors (`smallest_on_simplex`): those that err in opposite
directions cancel. Where nothing tells them apart, as schedules of three runs, all count the same.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.linalg import solve_triangular

BLOCKS = 3  # search: in which later points are predicted, each from all that come before
HOPELESS = 8.0  # search: logarithm of the odds from which on one that is behind is not asked again


def shares(log: np.ndarray, least: float = 0.0) -> np.ndarray:
    """Of each, from ln of its probability up to a constant; they sum to 1, and small ones are 0.

    Those below half of `least` are left out; up to one and a half times it a share fades, so that none comes
    or goes at once. Where all probabilities are 0, or not known, so are all shares.
    """
    log = np.nan_to_num(log, nan=-np.inf, neginf=-np.inf)
    if not np.isfinite(log.max()):
        return np.zeros_like(log)
    found = np.exp(log - log.max())  # of exp(log) all may be 0
    if least:
        found = found * np.clip(found / (least * found.sum()) - 0.5, 0.0, 1.0)
    return np.asarray(found / found.sum())


def cuts(count: int, least: int = 0) -> np.ndarray:
    """From how many of `count` points each prediction is made: half of them, or `least`; more; all."""
    return np.unique(np.linspace(max(count // 2, least), count, BLOCKS + 1).astype(int))


def by_backtests(
    prior: np.ndarray, density: Callable[[int, int, int], float], cuts: np.ndarray, least: float = 0.0
) -> np.ndarray:
    """The `shares` of candidates by the densities that they gave to later points (O'Hagan 1995).

    Args:
        prior: (candidates,) ln of what each counts by before.
        density: of a candidate, made from so many points: ln of the density of the next up to a number.
    """
    log = np.array(prior, float)
    for seen, until in pairwise(cuts):
        for each, asked in enumerate(log > log.max() - HOPELESS):
            log[each] = log[each] + density(each, seen, until) if asked else -np.inf
        log[np.isnan(log)] = -np.inf
    return shares(log, least)


def smallest_on_simplex(matrix: np.ndarray) -> np.ndarray:
    """argmin wᵀMw over w ≥ 0, Σw = 1, M positive definite.

    The minimum of vᵀMv/2 − Σv over v ≥ 0 points in the same direction (same conditions of optimality), and
    with M = LLᵀ that is the non-negative least-squares problem Lᵀv ≈ L⁻¹1, which is solved exactly.
    """
    from scipy.optimize import nnls  # which a surface does not need, and is slow to load

    # where nothing errs, as on a constant curve, every average is as good
    scaled = matrix / max(np.trace(matrix), 1e-300) + 1e-12 * np.eye(len(matrix))
    lower = np.linalg.cholesky(scaled)
    # forms that nearly agree are exchanged many times: three rounds a form, the default, do not always do
    v, _ = nnls(lower.T, solve_triangular(lower, np.ones(len(matrix)), lower=True), maxiter=100 * len(matrix))
    return np.asarray(v / v.sum())
