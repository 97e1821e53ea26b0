"""Does a surface bend with size in a way that its form lacks? A score test, and what to say about it."""

from __future__ import annotations

import numpy as np
from scipy import stats

from scalinglab.laws.fitting.fit import fit_points
from scalinglab.laws.fitting.law import Law

FEWEST_TO_SHOW_A_BEND = 16  # runs from which on residuals of a surface are tested for a bend
BENT = 0.01  # p-value below which a surface bends


def bend_pvalue(law: Law) -> float:
    """How likely residuals of a surface that holds would bend with sizes as much as these.

    The score test of adding (ln n_params)², ln n_params · ln n_data and (ln n_data)² to the surface, on
    Huber's residuals, which are orthogonal to the fitted parameters and do not take an outlier for a bend.
    NaN for few runs, and for several points of one run, which move together.
    """
    data = law.points
    if len(np.unique(data.runs)) < FEWEST_TO_SHOW_A_BEND or data.blocked or data.x.ndim < 2:
        return float("nan")
    robust = fit_points(law.form, data, log=law.log)
    r = np.clip(robust.residuals, -robust.delta, robust.delta)
    if np.max(np.abs(r)) < 1e-12:
        return float("nan")
    u, v = (np.log(s / np.exp(np.log(s).mean())) for s in data.x[:2])
    used, _ = np.linalg.qr(_unit(robust.problem.jacobian(robust.coordinates[None])[0][: len(r)]))
    added = np.column_stack([u * u, u * v, v * v])
    added, _ = np.linalg.qr(_unit(added - used @ (used.T @ added)))
    dof = len(r) - used.shape[1] - added.shape[1]
    explained = float(np.sum((added.T @ r) ** 2))
    ratio = explained / added.shape[1] / ((r @ r - explained) / dof)
    return float(stats.f.sf(ratio, added.shape[1], dof))


def caution(pvalue: float) -> str:
    """What a reader of the intervals should know; empty where no bend is seen."""
    if not pvalue < BENT:
        return ""
    return (
        f"residuals bend with size (p = {pvalue:.1g}), which the form does not; intervals of the loss and of "
        "the optimum allow for it, those of the parameters assume the form"
    )


def _unit(columns: np.ndarray) -> np.ndarray:
    return np.asarray(columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300))
