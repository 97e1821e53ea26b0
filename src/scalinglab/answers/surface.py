"""Answers from runs in which parameters and data vary: the surface L(N, D)."""

from __future__ import annotations

import shlex

import numpy as np
from scipy import stats

from scalinglab.answers.result import Answers, Statement
from scalinglab.answers.words import FURTHER, finite, in_units, next_sentence, sentence
from scalinglab.curves import Curves
from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE
from scalinglab.errors import NotDetermined, ScalinglabError
from scalinglab.laws.fitting.data import rising
from scalinglab.laws.fitting.data.from_curves import Table, points_of
from scalinglab.laws.fitting.fit import odd_run
from scalinglab.laws.optimum import WIDE, Optimal, rises_with, too_far
from scalinglab.laws.planning import questions
from scalinglab.laws.surface import Surface
from scalinglab.laws.surface import fit as fit_surface
from scalinglab.laws.surface_bend import BENT
from scalinglab.readers.units import doubts
from scalinglab.support.words import count, counted, two_digits

EXPONENTS = ("alpha", "beta")  # of parameters and data
FEWEST_OF_A_CURVE = 3  # sizes, from which on an exponent has an interval
GROW_TOGETHER = 0.99  # rank correlation of parameters and data that makes their runs one curve
EXACT = 1e-9  # standard deviation of ln y, below which a table has no noise
MOST_SCATTER = 0.3  # of the spread of ln y, beyond which the form is not seen to hold


def of_surface(curves: Curves, y: str, compute: float | None, place: str) -> Answers:
    """The sentences on y against parameters and data; `place` names the table in commands."""
    table, lost = finite(points_of(curves, ["n_params", "n_data"], y), y)
    n, d = table.x
    unit = curves.data_unit
    spent = FLOPS_PER_PARAM_EXAMPLE * n * d
    far = "" if compute is None else too_far(compute, spent)
    target = float(compute) if compute is not None and not far else FURTHER * float(spent.max())
    asked = f"--y {shlex.quote(y)}"
    report, chosen = f"scalinglab report {place}", f"{place} {asked}{' --drop-bad' if lost else ''}"
    more = f"scalinglab laws surface {chosen}"
    one_pass = " in one pass over them" if unit == "examples" else ""
    said = [Statement(
        "read",
        f"{counted(len(np.unique(table.runs)), 'run')} of {count(n.min())} to {count(n.max())} parameters on "
        f"{count(d.min())} to {count(d.max())} {unit}, {spent.min():.2g} to {spent.max():.2g} FLOPs{one_pass}"
        f"; {y} from {table.y.max():.4g} to {table.y.min():.4g}.{lost}",
        report,
    )]  # fmt: skip
    notes = (*table.notes, *doubts(curves))
    try:
        fitted, doubt = _fitted(table, spent, y, unit)
        notes = (*notes, *doubt)
    except ScalinglabError as reason:
        curve = _longest_curve(table)
        one = f"scalinglab answer {place} {curve} {asked}" if curve else report
        said.append(Statement("exponent", f"Not determined: {in_units(reason, unit)}", one))
        return Answers(tuple(said), "n_params, n_data", y, notes=notes)
    said.append(Statement("exponent", _exponents(fitted, y, unit), more))
    said.append(Statement("power law", f"A power law? {_follows(fitted)}", report))
    optimal, runs = None, None
    try:
        optimal = fitted.compute_optimal([float(spent.max()), FURTHER * float(spent.max()), target])
        tenfold = f"{more} --compute {optimal.compute[1]:.3g}"
        said.append(Statement("ten times", _ten_times(optimal, y), tenfold))
        refused = f"Not determined: {sentence(far)} " if far else ""
        said.append(Statement(
            "compute-optimal", f"{refused}{_optimal(optimal, 2, unit)}",
            f"scalinglab plan optimal {chosen} --compute {target:.3g}",
        ))  # fmt: skip
        runs, text = next_sentence(
            lambda: questions.next_runs(fitted, budget=float(spent.max()), compute=target), unit
        )
    except NotDetermined as reason:
        text = "Next run not determined: see the sentence above."
        said.append(Statement("compute-optimal", f"Not determined: {in_units(reason, unit)}", more))
    budget = f"--budget {spent.max():.2g} --compute {target:.3g}"
    said.append(Statement("next run", text, f"scalinglab plan next {chosen} {budget}"))
    return Answers(
        tuple(said), "n_params, n_data", y, fitted.law, fitted, optimal=optimal, next_runs=runs, notes=notes,
        undetermined=fitted.undetermined,
    )  # fmt: skip


def _fitted(table: Table, spent: np.ndarray, y: str, unit: str) -> tuple[Surface, tuple[str, ...]]:
    """The surface, and a note on a run that does not follow; few runs of which one does not are refused."""
    rising.refuse(spent, table.y, ("compute", y))
    fitted = fit_surface(*table.x, table.y, runs=table.runs)
    return fitted, odd_run(fitted.law, y, n_params="parameters", n_data=unit)


def _longest_curve(table: Table) -> str:
    """The options that choose the curve of most sizes, along one variable with the other held; or none.

    Where no two runs share a size, all of them may be one curve, as with twenty tokens per parameter.
    """
    sizes, found = dict(zip(("n_params", "n_data"), table.x, strict=True)), []
    for x, held in (("n_data", "n_params"), ("n_params", "n_data")):
        for value in np.unique(sizes[held]):
            number = len(np.unique(sizes[x][sizes[held] == value]))
            found.append((number, f"--x {x} --where {held}={value:.10g}"))
    longest, options = max(found, key=lambda each: each[0])
    if longest >= FEWEST_OF_A_CURVE:
        return options
    apart = len(np.unique(sizes["n_params"])) == len(table.y) >= FEWEST_OF_A_CURVE
    return "--x n_params" if apart and stats.spearmanr(*table.x).statistic > GROW_TOGETHER else ""


def _exponents(fitted: Surface, y: str, unit: str) -> str:
    """α, β and the floor, each with its interval, or in words that it is not determined."""
    ends = fitted.parameter_intervals()
    sizes = dict(zip(EXPONENTS, ("parameters", unit), strict=True))
    lost = [size for name, size in sizes.items() if name in fitted.undetermined]
    if len(lost) == len(sizes):
        return f"These runs determine neither the exponent of parameters nor that of {unit}."
    parts = [
        f"with {size} as the power {fitted.parameters[name]:.3f} (95 %: {ends[name][0]:.3f} to "
        f"{ends[name][1]:.3f})"
        for name, size in sizes.items()
        if size not in lost
    ]
    text = f"{'The loss' if 'loss' in y else y} falls {' and '.join(parts)}"
    if lost:
        how = (
            f"with {lost[0]} it rises"
            if rises_with(fitted.law, [*sizes.values()].index(lost[0]))
            else (f"how it falls with {lost[0]}, or whether, these runs do not determine")
        )
        return f"{text}; {how}."
    low, high = ends["E"]
    if not np.isfinite(high):
        return f"{text}."
    known = high - low < fitted.parameters["E"]
    floor = (
        f"{fitted.parameters['E']:.3g} (95 %: {low:.3g} to {high:.3g})" if known else f"at most {high:.3g}"
    )
    return f"{text}, towards a floor of {floor}."


def _follows(fitted: Surface) -> str:
    std = fitted.law.rms_residual
    scatter = f"{100 * std:.2g} %"
    within = f"follows the runs within {scatter} (standard deviation)"
    p = fitted.bend_pvalue
    spread = float(np.std(np.log(fitted.law.points.y)))
    if std < EXACT:
        return "Yes: a sum of two power laws passes through every run."
    if std > MOST_SCATTER * spread:
        return (
            f"Cannot tell: the runs scatter by {scatter} around a sum of two power laws, and differ by "
            f"no more than {100 * spread:.2g} % among each other."
        )
    if np.isnan(p):
        together = fitted.law.points.blocked
        few = "checkpoints of one run move together, and" if together else f"{len(fitted.law.points.y)} runs"
        return (
            f"Cannot tell: the runs scatter by {scatter} around a sum of two power laws; {few} do not "
            "show whether it bends."
        )
    if p < BENT:
        return (
            f"Not quite: residuals of {scatter} bend with size (p = {p:.1g}), which a sum of two power "
            "laws does not: intervals of loss and sizes below allow for it, those of the exponents do not."
        )
    ends = fitted.parameter_intervals()
    if any(high - low > fitted.parameters[name] for name, (low, high) in ends.items() if name in EXPONENTS):
        return (
            f"Cannot tell: a sum of two power laws {within}, but they leave its exponents too uncertain to "
            "show a bend."
        )
    if p < 0.05:
        return f"Probably: a sum of two power laws {within}, but a bend is not excluded (p = {p:.2g})."
    return f"Yes: a sum of two power laws {within}, and no bend is seen (p = {p:.2g})."


def _ten_times(best: Optimal, y: str) -> str:
    low, high = (end[1] for end in best.loss_interval)
    return (
        f"Ten times the largest run ({best.compute[1]:.2g} FLOPs) takes the best {y} from "
        f"{best.loss[0]:.4g} to {best.loss[1]:.4g} (95 %: {low:.4g} to {high:.4g}), if the exponents "
        "stay the same."
    )


def _optimal(best: Optimal, i: int, unit: str) -> str:
    n, d = best.n_params[i], best.n_data[i]
    (n_low, n_high), (d_low, d_high) = (
        (float(e.low[i]), float(e.high[i])) for e in (best.n_params_interval, best.n_data_interval)
    )
    beyond = best.beyond[i]
    far = f", {beyond:.3g} times the largest run" if beyond > 1 else ""
    if best.below[i] > 1:
        far = f", {best.below[i]:.3g} times less than the smallest run"
    start = f"For {best.compute[i]:.3g} FLOPs{far}: "
    if n_high / n_low > WIDE:
        return f"{start}{count(n_low)} to {count(n_high)} parameters; these runs do not say more."
    per = f"{unit} per parameter"
    return (
        f"{start}{count(n)} parameters (95 %: {count(n_low)} to {count(n_high)}) on {count(d)} "
        f"{unit} ({count(d_low)} to {count(d_high)}), {d / n:.3g} {per} "
        f"({two_digits(d_low / n_high)} to {two_digits(d_high / n_low)})."
    )
