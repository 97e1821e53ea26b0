"""How much each form of a surface counts: backtests on the runs of the largest compute.

Every form of the table's variables is fitted to the cheaper half of the runs and predicts the next sixth, is
refitted with it and predicts the next, and so on. What counts is the density that it gave to all runs that it
had not seen, together: with J the derivatives by the parameters at the runs it was fitted to, H at those that
it predicts, and s the scatter around the fit with ν degrees of freedom, the errors of ln L have Student's
distribution with ν degrees of freedom and the covariance

    s² (1 + H (JᵀJ)⁻¹ Hᵀ).

A form is marked down for missing what follows, and for not having known it. The product of these densities is
what the cheaper half leaves to say of each form (a partial Bayes factor, O'Hagan 1995); for what it spent on
the p parameters before, every form pays √a a parameter, a the runs of the cheaper half (Schwarz 1978).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy import special

from scalinglab.laws import forms
from scalinglab.laws.fitting import least_squares
from scalinglab.laws.fitting.data.points import Points
from scalinglab.laws.fitting.fit import fit_points
from scalinglab.laws.fitting.solution import LEAST_VARIANCE, Solution
from scalinglab.laws.fitting.statistics import mixture_quantile
from scalinglab.laws.forms.base import Form

BLOCKS = 3  # search: in which the half of larger compute is predicted, each from all that is cheaper
NEGLIGIBLE = 0.05  # search: weight below which a form is left out; each costs profiles of its own
OPEN = 300.0  # guard: of a logarithm, in place of an infinite end


def candidates(variables: Sequence[str]) -> tuple[Form, ...]:
    """The registered forms of these variables, those with fewest parameters first."""
    found = {form.name: form for form in forms.FORMS.values() if form.variables == tuple(variables)}
    return tuple(sorted((f for f in found.values() if f.automatic), key=lambda form: len(form.parameters)))


def cuts_of(runs: int, tried: Sequence[Form]) -> tuple[np.ndarray, tuple[Form, ...]]:
    """How many of the cheapest runs each prediction is made from, and the forms that can be judged.

    A form needs four runs a parameter: on 16 runs of a sum of two powers the average of all forms held the
    loss at the optimum in 12 of 16 draws, that form alone in 15 (tests of small designs).
    """
    able = tuple(form for form in tried if 4 * len(form.parameters) <= runs)
    if len(able) < 2:
        return np.zeros(0, int), able
    first = max(runs // 2, *(len(form.parameters) + 2 for form in able))
    return np.unique(np.linspace(first, runs, BLOCKS + 1).astype(int)), able


def weights(solutions: Mapping[str, Solution]) -> dict[str, float]:
    """The weight of each form, fitted to the same points; those below `NEGLIGIBLE` are left out.

    Of several points of a run, which move together, the one of the largest sizes counts.
    """
    data = next(iter(solutions.values())).points
    data = _some(data, data.ends_of_runs)
    cuts, able = cuts_of(len(data.y), [law.form for law in solutions.values()])
    if len(able) < 2:
        return {}
    scores = np.array([
        sum(_log_density(solutions[form.name], data, *ends) for ends in pairwise(cuts))
        - 0.5 * len(form.parameters) * np.log(cuts[0])
        for form in able
    ])  # fmt: skip
    scores = np.where(np.isfinite(scores), scores, -np.inf)
    if not np.isfinite(scores).any():
        return {}
    share = np.exp(scores - scores.max())
    share = np.where(share / share.sum() < NEGLIGIBLE, 0.0, share)
    return {form.name: float(w) for form, w in zip(able, share / share.sum(), strict=True) if w > 0}


def _some(data: Points, rows: np.ndarray) -> Points:
    error = None if data.error is None else data.error[rows]
    return replace(
        data, x=data.x[:, rows], y=data.y[rows], error=error, weight=data.weight[rows], runs=data.runs[rows]
    )


def _log_density(law: Solution, data: Points, seen: int, until: int) -> float:
    """ln of the density that the form, fitted to the `seen` cheapest runs, gives those up to `until`."""
    order = np.argsort(np.sum(np.log(np.maximum(data.x, least_squares.TINY)), axis=0), kind="stable")
    noise = law.noise or None
    early = fit_points(law.form, _some(data, order[:seen]), log=law.log, start=law.values[None], noise=noise)
    late = replace(early, points=_some(data, order[seen:until])).problem
    z, count = early.coordinates[None], until - seen
    known = early.problem.jacobian(z)[0]
    size = np.maximum(np.linalg.norm(known, axis=0), least_squares.TINY)
    # a direction that the runs do not see is not known, and would be infinitely uncertain: left out
    taken = (late.jacobian(z)[0][:count] / size) @ np.linalg.pinv(known / size, rcond=1e-8)
    root = np.linalg.cholesky(np.eye(count) + taken @ taken.T)
    errors = np.linalg.solve(root, late.residuals(z)[0, :count])
    dof = max(early.dof, 1)
    variance = max(early.residual_std**2, LEAST_VARIANCE * early.unit**2)
    return float(
        special.gammaln((dof + count) / 2) - special.gammaln(dof / 2)
        - count / 2 * np.log(dof * np.pi * variance) - np.log(np.diag(root)).sum()
        - (dof + count) / 2 * np.log1p(errors @ errors / variance / dof)
    )  # fmt: skip


def mixture_ends(
    middles: np.ndarray, ends: np.ndarray, weight: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """The ends, each (quantities,), of the average of what several forms say.

    Each form's distribution is taken for one Gaussian below its value and another above, with its own ends.

    Args:
        middles: (forms, quantities).
        ends: (forms, 2, quantities), infinite where open.
        weight: (forms,), summing to 1.
    """
    found = []
    usual = special.ndtri(0.5 + level / 2)
    for side, share in ((0, 0.5 - level / 2), (1, 0.5 + level / 2)):
        half = np.clip(np.abs(ends[:, side] - middles), 1e-12, OPEN)
        end = mixture_quantile(middles, half / usual, weight, np.inf, share)
        far = np.abs(end - weight @ middles) > OPEN / 2
        found.append(np.where(far, (2 * side - 1) * np.inf, end))
    return found[0], found[1]
