"""How much each form of a surface counts: backtests on the runs of the largest compute.

Every form of the table's variables is fitted to the cheaper half of the runs and predicts the next sixth, is
refitted with it and predicts the next, and so on. What counts is the density that it gave to all runs that it
had not seen, together: the restricted likelihood of earlier and later runs over that of the earlier ones, of
the form linearised at its fit to the earlier ones. With independent errors, J the derivatives by the
parameters at the runs it was fitted to, H at those that it predicts, and s the scatter around the fit with ν
degrees of freedom, that is Student's distribution with ν degrees of freedom and the covariance

    s² (1 + H (JᵀJ)⁻¹ Hᵀ).

Errors that runs of one size share are averaged over (`shared_errors`): an offset of a size is no bend. So is
what the form may miss, with the prior that its intervals have (`form_error`; ρ is part of the slopes of the
first form, the same for all): forms that all err are not told apart as if one of them were exact. What no
such error explains is an outlier, and is drawn in.

The product of these densities is what the cheaper half leaves to say of each form (`weighing.by_backtests`).
How well it fits that half counts, too, with the priors of its parameters, and for one without a prior that
tells as much as one run (Kass and Wasserman 1995): of a runs it costs √a. Without it, forms that backtests do
not tell apart were told apart by their number of parameters alone, whatever the cheaper half said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scalinglab.laws import forms, weighing
from scalinglab.laws.fitting.data.points import Points
from scalinglab.laws.fitting.fit import fit_points
from scalinglab.laws.fitting.solution import ROUNDING, Solution
from scalinglab.laws.fitting.statistics import average_of
from scalinglab.laws.fitting.uncertainty import shared_errors
from scalinglab.laws.fitting.uncertainty.form_error import MOST, FormError
from scalinglab.laws.fitting.uncertainty.linear import independent
from scalinglab.laws.forms.base import Form

NEGLIGIBLE = 0.05  # search: weight around which a form fades out; each costs profiles of its own


def candidates(variables: Sequence[str]) -> tuple[Form, ...]:
    """The registered forms of these variables, those with fewest parameters first."""
    found = {form.name: form for form in forms.FORMS.values() if form.variables == tuple(variables)}
    return tuple(sorted((f for f in found.values() if f.automatic), key=lambda form: len(form.parameters)))


def judged(runs: int, tried: Sequence[Form]) -> tuple[Form, ...]:
    """The forms that so many runs can judge.

    A form needs four runs a parameter without a prior: on 16 runs of a sum of two powers the average of all
    forms held the loss at the optimum in 12 of 16 draws, that form alone in 15 (tests of small designs).
    """
    return tuple(form for form in tried if 4 * form.unknown <= runs)


def weights(solutions: Mapping[str, Solution]) -> dict[str, float]:
    """The weight of each form, fitted to the same points; those around `NEGLIGIBLE` fade out.

    Of several points of a run, which move together, the one of the largest sizes counts.
    """
    data = next(iter(solutions.values())).points
    rows = data.ends_of_runs
    data = data.keep(rows[:: -(-len(rows) // MOST)])
    able = judged(len(data.y), [law.form for law in solutions.values()])
    if len(able) < 2:
        return {}
    cuts = weighing.cuts(len(data.y), max(len(form.parameters) for form in able) + 2)
    laws = [solutions[form.name] for form in able]
    order = data.by_size
    errors = {count: FormError(replace(laws[0], points=data.keep(order[:count]))) for count in cuts}

    def density(one: int, seen: int, until: int) -> float:
        return log_density_of(laws[one], data, seen, until, errors, first=seen == cuts[0])

    share = weighing.by_backtests(np.zeros(len(able)), density, cuts, NEGLIGIBLE)
    return {form.name: float(w) for form, w in zip(able, share, strict=True) if w > 0}


def log_density_of(
    law: Solution, data: Points, seen: int, until: int, errors: Mapping[int, FormError] | None = None,
    first: bool = False,
) -> float:  # fmt: skip
    """ln of the density that the form, fitted to the `seen` cheapest runs, gives those up to `until`.

    Args:
        errors: by count of the cheapest runs, what forms may miss of these; by default nothing.
        first: that of the runs seen counts, too, with a prior that tells as much as one of them.
    """
    order = data.by_size
    noise, tolerance = (
        law.noise or None,
        1e-3 / seen,
    )  # of the objective, of which ln density is half of `seen`
    near: dict[str, Any] = {"start": law.values[None], "noise": noise, "tolerance": tolerance}
    early = fit_points(law.form, data.keep(order[:seen]), log=law.log, **near)
    both = replace(early, points=data.keep(order[:until]))
    jacobian = both.problem.jacobian(both.coordinates[None])[0]  # after the runs the priors
    measured = -both.problem.residuals(both.coordinates[None])[0]
    jacobian = np.where(early.at_bound, 0.0, jacobian)
    # a direction that the earlier runs do not see is not known, and would be infinitely uncertain: left out.
    # So is one at a bound: the score would be that of a form beyond it, as of one with a negative floor
    earlier = np.delete(jacobian, np.arange(seen, until), axis=0)
    free = independent(earlier)
    size = np.linalg.norm(earlier[:, free], axis=0)
    values = np.column_stack([jacobian[:, free] / size, measured])
    # runs on a curve: what rounding leaves counts as noise, alternating so that no form follows it
    values[:until, -1] += ROUNDING * both.unit * (-1.0) ** np.arange(until)
    pulls = values[until:][values[until:, :-1].any(axis=1)]
    with np.errstate(divide="ignore"):
        sizes, places = shared_errors.groups(both, np.log(both.points.x).T)

    def evidence(count: int) -> float:
        shown, missed = values[:count].copy(), None if errors is None else errors[count]
        if missed is not None and missed.shows:
            shown[:, -1] -= missed.measured - missed.residuals  # outliers, which would pass for noise
        shared = shared_errors.several(sizes[:count], data.checkpoints_of > 0)
        white, prior, _, ratio = shared_errors.whitened(shown, sizes[:count], places[:count], shared)
        own = 1 / np.sqrt(1 + ratio)  # noise of a run, over that of the fit, by which its priors count
        if missed is not None and missed.shows:
            # before the residuals, a form that errs is as likely as one that holds
            further, less = missed.whitened(shown)
            white, prior = np.concatenate([white, further]), np.r_[prior, less] - np.log(2)
            own = np.r_[own, np.full(len(less), np.sqrt(missed.run_variance) / (noise or 1.0))]
        white = np.concatenate([white, own[:, None, None] * pulls], axis=1)
        prior = prior + len(pulls) * np.log(own)
        return average_of(white[..., :-1], white[..., -1], prior, robust=False).evidence

    if not first:
        return evidence(until) - evidence(seen)
    # the prior where the form fits best has the density |XᵀX|^(1/2) (2π a s²)^(−p/2); directions that are
    # left out, which later runs see, cost as much as the others
    seen_by = pulls[:, :-1].any(axis=0)
    root = np.abs(np.diag(np.linalg.qr(values[:seen, :-1][:, ~seen_by], mode="r")))
    variance = np.sum(values[:seen, -1] ** 2) / (seen - len(root))
    spent = 0.5 * law.form.unknown * np.log(seen)
    density = np.sum(np.log(root / np.sqrt(2 * np.pi * variance))) + np.sum(np.log(pulls[:, :-1].sum(axis=1)))
    return evidence(until) + float(density) - spent
