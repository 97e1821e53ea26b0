"""Answers from runs in which parameters and data vary: the surface L(N, D)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.answers.fitted import Chosen, Fit
from scalinglab.answers.result import FURTHER, Answers, find_points, next_run, of_accuracy, unanswered
from scalinglab.curves.columns import rank_correlation
from scalinglab.errors import NotDetermined, ScalinglabError
from scalinglab.laws.fitting import fit as fitting
from scalinglab.laws.fitting.bend import SIGNIFICANT
from scalinglab.laws.fitting.data.from_curves import Table
from scalinglab.laws.fitting.statistics import WIDE
from scalinglab.laws.optimum import Optimal, rises_with, too_far
from scalinglab.laws.planning import questions
from scalinglab.laws.surface import REFERENCE, Surface
from scalinglab.readers.guards import doubts
from scalinglab.results.distributions import Estimate
from scalinglab.results.findings import Finding, sized
from scalinglab.results.sentences import Column
from scalinglab.results.types import Command, Reason, Status
from scalinglab.support.words import flops

EXPONENTS = {"alpha": "n_params", "beta": "n_data"}
FEWEST_OF_A_CURVE = 3  # sizes, from which on an exponent has an interval
GROW_TOGETHER = 0.99  # rank correlation of parameters and data that makes their runs one curve
EXACT = 1e-9  # standard deviation of ln y, below which a table has no noise
APART = 1.5  # between the sizes of the average and of the quoted form, from which on both are said
NARROWER = 0.6  # convention: of the width of an interval in logarithms, below which another says more
OPEN = 100.0  # convention: between the ends of a best size, from which on it is not determined
MOST_SCATTER = 0.3  # of the spread of ln y, beyond which the form is not seen to hold


def answer_surface(selected: Chosen, compute: float | None) -> Answers:
    """The findings on y against parameters and data."""
    y, table = selected.y, selected.table
    names, chosen, read = dict(selected.units), ("--y", y), find_points(selected)
    doubted = doubts(selected.curves)
    try:
        if not (table.y > 0).any():
            raise NotDetermined(Reason("never_positive", points=len(table.y), y=Column(y)))
        fit = selected.fit()
    except ScalinglabError as error:
        curve = _longest_curve(table) if (table.y > 0).any() else ()
        command = Command("answer", *curve, "--y", y) if curve else Command("report")
        return Answers(
            (read, unanswered("exponent", error, command, names)),
            "n_params, n_data",
            y,
            notes=(*table.notes, *doubted),
        )
    fitted = fit.surface
    assert fitted is not None
    more = Command("laws surface", *chosen)
    findings = (
        read,
        find_exponents(fitted, y, names, more, selected.measured),
        find_shape(fitted, Command("report")),
    )
    found = Answers(
        findings, "n_params, n_data", y, fitted.law, fitted, fit=fit, notes=(*fit.notes, *doubted),
        undetermined=fitted.undetermined,
    )  # fmt: skip
    return _add_optimum(found, fit, compute)


def answer_sizes(selected: Chosen) -> Answers:
    """The findings on y against sizes that are not parameters and data: ten times each by itself."""
    fit, y, units = selected.fit(), selected.y, selected.units
    largest = dict(zip(selected.x, map(float, np.max(selected.table.x, axis=1)), strict=True))
    chosen = ("--x", ",".join(selected.x), "--y", y)
    findings = [find_points(selected)]
    for name in selected.x:
        at = {**largest, name: FURTHER * largest[name]}
        then = fit.predict(at)
        others = (sized(value, units[x], x) for x, value in largest.items() if x != name)
        facts = {"x": name, "unit": units[name], "at": at[name], "kind": f"at {' and '.join(others)}"}
        facts["average"] = True
        command = Command("predict", *chosen, "--at", ",".join(f"{x}={value:.6g}" for x, value in at.items()))
        values = {y: selected.measured(then.mean, then.low, then.high)}
        findings.append(Finding("ten times", Status.DETERMINED, values, then.notes, facts, command))
    return Answers(tuple(findings), ", ".join(selected.x), y, fit.law, fit=fit, notes=fit.notes)


def _add_optimum(found: Answers, fit: Fit, compute: float | None) -> Answers:
    """The answers with what ten times the compute gives, the compute-optimal model and the next run."""
    fitted, names, chosen = fit.surface, dict(fit.chosen.units), ("--y", fit.y)
    assert fitted is not None
    spent, accuracy = fit.chosen.compute, of_accuracy(fit.chosen.curves, fit.y)
    largest = float(spent.max())
    refused = None if compute is None else too_far(compute, spent)
    target = float(compute) if compute is not None and refused is None else FURTHER * largest
    plan = Command("plan next", *chosen, "--compute", flops(target, unit=""))
    try:
        best = fitted.compute_optimal([*dict.fromkeys((largest, FURTHER * largest, target))])
    except NotDetermined as error:
        return found.plus(
            *_both_grown(fit, accuracy),
            unanswered("compute-optimal", error, Command("laws surface", *chosen), names),
            unanswered("next run", Reason("no_optimum"), plan, names),
        )
    place = [*best.compute].index(target)
    ruled_out = fitted.weights.get(fitted.law.form.name, 0.0) < SIGNIFICANT
    contradicted = ruled_out and found["power law"].facts["verdict"] == "not quite"
    assumed = _if_the_form_holds(fitted, best, place, contradicted)
    form: dict[str, Any] = {"form": fitted.law.form.name, "contradicted": contradicted}
    if assumed is not None:
        there = {name: getattr(assumed, f"{name}_median")[0] for name in ("n_params", "n_data")}
        form["more_loss"] = max(float(fitted.median(there) / best.loss_median[place]) - 1, 0.0)

    def reached(i: int) -> tuple[dict[str, Estimate], dict[str, Any]]:
        """The result of the best model of the i-th compute, and facts about it."""
        ends = [end[i] for end in best.loss_interval]
        return _result(fit, float(best.compute[i]), best.loss_median[[0, i]], ends, accuracy)

    values, facts = reached(1)
    tenfold = Command("laws surface", *chosen, "--compute", flops(best.compute[1], unit=""))
    ten = Finding("ten times", Status.DETERMINED, values, (), facts, tenfold)
    optimal = Command("plan optimal", *chosen, "--compute", flops(target, unit=""))
    optimum = find_optimum(best, place, names, optimal, () if refused is None else (refused,), assumed, form)
    if target not in (largest, FURTHER * largest):  # else the sentence before says the result
        values, facts = reached(place)
        facts = {**facts, **optimum.facts, "y": fit.y}
        optimum = replace(optimum, values={**optimum.values, **values}, facts=facts)
    found = found.plus(ten, optimum, optimal=best)
    try:
        runs = questions.next_runs(fitted, at=(best.n_params[place], best.n_data[place]))
    except ScalinglabError as error:
        return found.plus(unanswered("next run", error, plan, names))
    score = accuracy.get("score")
    runs = replace(runs, quantity=f"1 - {score}" if score else "")
    return found.plus(next_run(runs, names, plan), next_runs=runs)


def _result(
    fit: Fit, compute: float, losses: Sequence[float], ends: Sequence[float], accuracy: Mapping[str, Any]
) -> tuple[dict[str, Estimate], dict[str, Any]]:
    """What a compute gives, of the losses now and then and the ends of the latter, with facts about it."""
    now, then = losses
    measured = fit.chosen.measured
    return {fit.y: measured(then, *ends)}, {"compute": compute, "now": measured(now).value, **accuracy}


def _both_grown(fit: Fit, accuracy: Mapping[str, bool | str]) -> tuple[Finding, ...]:
    """What ten times the compute gives where its best split is open: both sizes grow by the same factor."""
    spent = fit.chosen.compute
    largest = dict(zip(fit.x, fit.chosen.table.x[:, spent.argmax()], strict=True))
    sizes = {name: float(size * np.sqrt(FURTHER)) for name, size in largest.items()}
    try:
        now, then = fit.predict(largest), fit.predict(sizes)
    except ScalinglabError:
        return ()
    if not then.interval.ratio <= WIDE:
        return ()
    losses = now.mean, then.mean
    values, facts = _result(fit, FURTHER * float(spent.max()), losses, then.interval, accuracy)
    at = ",".join(f"{name}={size:.3g}" for name, size in sizes.items())
    command = Command("predict", "--y", fit.y, "--at", at)
    facts |= {"sizes": sizes}
    return (Finding("ten times", Status.DETERMINED, values, then.notes, facts, command, fit.chosen.units),)


def _if_the_form_holds(fitted: Surface, best: Optimal, i: int, contradicted: bool) -> Optimal | None:
    """The i-th optimum by the form whose exponents are quoted alone; None where that adds nothing.

    It adds something where its optimum differs from that of the average of forms, or where the interval of
    the average is wide and its own is narrower.

    Args:
        contradicted: whether the runs rule this form out.
    """
    alone, compute = fitted.alone, best.compute[[i]]
    try:
        of_form = alone.compute_optimal(compute, intervals=False).n_params[0]
        apart = abs(np.log(of_form / best.n_params_median[i])) > np.log(APART)
        wide = np.log([end[i] for end in best.n_params_interval])
        if not apart and np.ptp(wide) <= np.log(WIDE):
            return None
        assumed = alone.compute_optimal(compute, assume_form=True)
    except NotDetermined:
        return None
    width = np.ptp(np.log([end[0] for end in assumed.n_params_interval]))
    if apart:
        return assumed if width <= np.log(WIDE) or not contradicted else None
    return assumed if width <= NARROWER * np.ptp(wide) else None


def _longest_curve(table: Table) -> tuple[str, ...]:
    """The options that choose the longest curve along one variable with the other fixed; or none.

    Where no two runs share a size, all runs may be one curve, as with twenty tokens per parameter.
    """
    sizes, found = dict(zip(("n_params", "n_data"), table.x, strict=True)), []
    for x, fixed in (("n_data", "n_params"), ("n_params", "n_data")):
        for value in np.unique(sizes[fixed]):
            number = len(np.unique(sizes[x][sizes[fixed] == value]))
            found.append((number, ("--x", x, "--where", f"{fixed}={value:.10g}")))
    longest, options = max(found, key=lambda each: each[0])
    if longest >= FEWEST_OF_A_CURVE:
        return options
    apart = len(np.unique(sizes["n_params"])) == len(table.y) >= FEWEST_OF_A_CURVE
    grow_together = apart and rank_correlation(*map(pd.Series, table.x)) > GROW_TOGETHER
    return ("--x", "n_params") if grow_together else ()


def find_exponents(
    fitted: Surface, y: str, names: dict[str, str], command: Command, measured: Callable[..., Estimate]
) -> Finding:
    """α, β and the floor, each with its interval, or that it is not determined."""
    ends = fitted.parameter_intervals()
    lost = [name for name in EXPONENTS if name in fitted.undetermined]
    known = [name for name in EXPONENTS if name not in lost]
    values = {
        name: (measured if name == "E" else Estimate)(
            fitted.quoted[name], low=float(ends[name][0]), high=float(ends[name][1])
        )
        for name in [*known, "E"]
        if known and (name != "E" or (not lost and np.isfinite(ends["E"][1])))
    }
    rising_with = [n for n in lost if known and rises_with(fitted.law, [*EXPONENTS].index(n))]
    reasons = [Reason("rises_with", y=Column(y), size=Column(EXPONENTS[name])) for name in rising_with]
    if hidden := tuple(Column(EXPONENTS[name]) for name in lost if name not in rising_with):
        reasons.append(Reason("fall_open", y=Column(y), sizes=hidden))
    reasons += fitted.others_weigh
    if fitted.bend.seen and values:
        reasons += _few_that_miss(fitted)
    facts = {"y": y, "along": EXPONENTS, "floor": "E"}
    status = Status.DETERMINED if values else Status.NOT_DETERMINED
    return Finding("exponent", status, values, tuple(reasons), facts, command, names)


def find_shape(fitted: Surface, command: Command) -> Finding:
    """Whether a sum of two power laws follows the runs."""
    points, scatter, p = fitted.law.points, float(fitted.law.rms_residual), fitted.bend.pvalue
    spread = float(np.std(np.log(points.y)))
    ends = fitted.parameter_intervals()
    wide = any(
        high - low > fitted.parameters[name] for name, (low, high) in ends.items() if name in EXPONENTS
    )
    if scatter < EXACT:
        verdict, reason = "yes", Reason("passes_through")
    elif scatter > MOST_SCATTER * spread:
        verdict, reason = "unknown", Reason("mostly_scatter", scatter=scatter, spread=spread)
    elif fitted.bend.seen is None and points.blocked:
        verdict, reason = "unknown", Reason("checkpoints_move_together", scatter=scatter)
    elif fitted.bend.seen is None:
        verdict, reason = "unknown", Reason("few_runs_for_a_bend", scatter=scatter, runs=len(points.y))
    elif fitted.bend.seen:
        verdict, reason = "not quite", Reason("surface_bends", scatter=scatter, p=p)
    elif wide:
        verdict, reason = "unknown", Reason("exponents_too_wide", scatter=scatter)
    elif fitted.weights.get(REFERENCE, 0.0) < SIGNIFICANT:
        verdict, reason = "not quite", Reason("another_form_predicts", scatter=scatter)
    elif fitted.weights[REFERENCE] < 0.5:  # others are likelier together
        verdict, reason = "unknown", Reason("another_form_predicts", scatter=scatter)
    elif fitted.sharing > 1 - SIGNIFICANT:
        verdict, reason = "unknown", Reason("sizes_move_together", chance=fitted.sharing)
    else:
        verdict, reason = "yes", Reason("follows", scatter=scatter, p=p)
    status = Status.NOT_DETERMINED if verdict == "unknown" else Status.DETERMINED
    return Finding("power law", status, {}, (reason,), {"verdict": verdict}, command)


def _few_that_miss(fitted: Surface) -> tuple[Reason, ...]:
    """The exponents without the few runs that are far off the law, where there are such runs."""
    found = fitting.without_few(fitted.law)
    if found is None:
        return ()
    law, outliers = found
    data = fitted.law.points
    off = np.abs(np.log(data.y[outliers] / law.at(tuple(data.x[:, outliers]))))
    about = {name: law.parameters[name] for name in EXPONENTS}
    about |= {
        "count": int(outliers.sum()),
        "runs": len(outliers),
        "low": float(off.min()),
        "high": float(off.max()),
    }
    return (Reason("few_miss", sizes=tuple(map(Column, EXPONENTS.values())), **about),)


def _sizes(best: Optimal, i: int, names: dict[str, str]) -> dict[str, Estimate]:
    """The sizes of the i-th compute: the medians of their intervals."""
    ends = {name: tuple(float(end[i]) for end in getattr(best, f"{name}_interval")) for name in names}
    return {
        name: Estimate(float(getattr(best, f"{name}_median")[i]), low=low, high=high, unit=names[name])
        for name, (low, high) in ends.items()
    }


def find_optimum(
    best: Optimal, i: int, names: dict[str, str], command: Command, far: tuple[Reason, ...] = (),
    assumed: Optimal | None = None, form: Mapping[str, Any] = {},
) -> Finding:  # fmt: skip
    """The best model of the i-th compute.

    Args:
        far: why the compute that was asked for is refused, and another one is answered.
        assumed: the one of this compute if the form holds, which is said beside a wide interval, or where it
            differs.
        form: its name, whether the runs contradict it, and what its best model costs in loss.
    """
    values = _sizes(best, i, names)
    n, d = values["n_params"], values["n_data"]
    per = f"{names['n_data']} per parameter"
    low, high = n.interval.through(lambda size: n.value * d.value / size**2)  # their product is given
    values["data_per_param"] = Estimate(d.value / n.value, low=low, high=high, unit=per)
    spread = n.interval.ratio
    status = (
        Status.DETERMINED if spread <= WIDE else Status.RANGE if spread <= OPEN else Status.NOT_DETERMINED
    )
    if assumed is not None:
        fixed = _sizes(assumed, 0, names)
        values |= {f"{name}_if_the_form_holds": value for name, value in fixed.items()}
    facts = {
        "compute": float(best.compute[i]), "beyond": float(best.beyond[i]), "below": float(best.below[i]),
        **(form if assumed is not None else {}),
    }  # fmt: skip
    status = Status.NOT_DETERMINED if far else status
    return Finding("compute-optimal", status, values, far, facts, command, names)
