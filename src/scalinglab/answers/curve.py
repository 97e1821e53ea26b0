"""Answers from runs of one size: the law of one variable."""

from __future__ import annotations

import shlex

import numpy as np
from scipy import stats

from scalinglab.answers.result import Answers, Statement
from scalinglab.answers.words import FURTHER, finite, next_sentence, sentence, sized
from scalinglab.curves import Curves
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.laws.extrapolation.stacking import Extrapolation, extrapolate
from scalinglab.laws.fitting import fit as fitting
from scalinglab.laws.fitting.data import rising
from scalinglab.laws.fitting.data.from_curves import points_of
from scalinglab.laws.fitting.law import Law, scatter_caution
from scalinglab.laws.planning import questions
from scalinglab.laws.planning.next_runs import NextRuns
from scalinglab.support.words import count, counted

KNOWN_SCATTER = 3  # degrees of freedom from which on an interval is not narrow by chance alone
NEEDS_BOTH = "A compute-optimal model needs runs in which n_params and n_data vary, each on its own."
UNITS = {"compute": "FLOPs", "n_params": "parameters", "step": "steps", "epoch": "epochs"}


def of_curve(curves: Curves, x: str, y: str, place: str) -> Answers:
    """The sentences on y against the sizes x; `place` names the table in commands."""
    table, lost = finite(points_of(curves, x, y), y)
    unit = curves.data_unit if x in ("n_data", "tokens") else UNITS.get(x, x)
    sizes, values = table.x, table.y
    if unit == curves.data_unit and sizes.max() <= 1:  # a share of the data
        unit = x
    asked = f"{place} {shlex.join(['--x', x, '--y', y])}{' --drop-bad' if lost else ''}"
    ends = f"{count(sizes.min())} to {count(sizes.max())}{'' if unit == x else f' {unit}'}"
    said = [Statement(
        "read",
        f"{counted(len(np.unique(table.runs)), 'run')} at {counted(len(np.unique(sizes)), 'value')} of {x}, "
        f"{ends}; {y} from {values[np.argmin(sizes)]:.4g} to {values[np.argmax(sizes)]:.4g}.{lost}",
        f"scalinglab report {place}",
    )]  # fmt: skip
    law: Law | None = None
    further: Extrapolation | None = None
    planned: NextRuns | None = None
    undetermined: tuple[str, ...] = ()
    shown, notes = y, table.notes
    try:
        if rising.is_complement(sizes, values, (x, y)):
            values, shown = 1 - values, f"1 - {y}"
        fitted = fitting.fit(fitting.automatic(sizes), sizes, values, runs=table.runs, error=table.error)
        notes = (*notes, *fitting.odd_run(fitted, shown, x=x), *scatter_caution(fitted.dof, fitted.points))
        law, bend = fitted, _bend(sizes, values)
        refused = _no_exponent(law, bend, shown, x)
        undetermined = law.form.names if refused else law.undetermined
        said.append(
            Statement("exponent", refused or _exponent(law, shown, x), f"scalinglab laws fit {asked}")
        )
        straight = f"A power law? {_straight(law, bend)}"
        said.append(Statement("power law", straight, f"scalinglab plan bend {asked}"))
        budget, at = float(sizes.max()), FURTHER * float(sizes.max())
        further = extrapolate(sizes, table.y, at=at)
        said.append(Statement(
            "ten times",
            f"Ten times as much, {sized(at, unit, x)}: {y} = {further.mean[0]:.4g} "
            f"(95 % of runs like these: {further.low[0]:.4g} to {further.high[0]:.4g}), if the curve goes on "
            f"as it does.{_caution(law)}",
            f"scalinglab laws extrapolate {asked} --at {at:g}",
        ))  # fmt: skip
        part = shown != y
        planned, text = next_sentence(
            lambda: questions.next_runs(curves, x=x, y=y, budget=budget, at=at, nan_policy="drop"),
            unit,
            x,
            shown if part else "",
        )
        command = f"scalinglab plan next {asked} --at {at:g} --budget {budget:g}"
        said.append(Statement("next run", text, command))
    except ScalinglabError as reason:
        topic = "exponent" if law is None else "ten times"
        usable = "" if lost or (table.y > 0).all() or (table.y < 0).all() else " --drop-bad"
        command = f"scalinglab laws fit {asked}{usable}"
        said.append(Statement(topic, f"Not determined: {sentence(reason)}", command))
    said.append(Statement("compute-optimal", NEEDS_BOTH, "scalinglab plan optimal --help"))
    return Answers(
        tuple(said), x, y, law, extrapolation=further, next_runs=planned, notes=notes,
        undetermined=undetermined,
    )  # fmt: skip


def _bend(sizes: np.ndarray, values: np.ndarray) -> questions.Bend | str:
    """Whether the runs lie on a straight line in logarithms, or why that cannot be said."""
    try:
        return questions.still_power_law(sizes, values)
    except BadInput as reason:
        return sentence(reason)


def _no_exponent(law: Law, bend: questions.Bend | str, y: str, x: str) -> str:
    """Why no exponent is given; empty where one is."""
    if law.diagnosis.bent is not None:
        return (
            f"No single exponent: {y} bends away from a power law, with or without a floor, near {x} = "
            f"{count(law.diagnosis.break_at)}."
        )
    if isinstance(bend, questions.Bend) and bend.steepens:
        return (
            f"No single exponent: {y} falls faster and faster with {x}, which a power law, with or without a "
            "floor, does not."
        )
    if law.unidentified and not _falls(law):
        return f"{y} does not fall with {x}, as far as its scatter shows."
    if law.unidentified:
        return f"The exponent of {y} against {x} is not determined: {law.unidentified}."
    return ""


def _exponent(law: Law, y: str, x: str) -> str:
    low, high = law.parameter_intervals["exponent"]
    text = f"{y} falls as the power {law.exponent:.3f} of {x} (95 %: {low:.3f} to {high:.3f})"
    if "offset" not in law.parameters:
        return f"{text}, if it has no floor, which {law.points.sizes} sizes do not show."
    floor_low, floor_high = law.parameter_intervals["offset"]
    condition = ", if this form holds all the way" if np.isfinite(floor_high) else ""
    return f"{text}, towards a floor {_range(floor_low, floor_high)}{condition}."


def _falls(law: Law) -> bool:
    """Whether y falls with x at all: the slope of a straight line in logarithms, at the level of 95 %."""
    u, v = np.log(law.points.x), np.log(law.points.y)
    if np.ptp(v) == 0:
        return False
    return bool(stats.linregress(u, v, alternative="less").pvalue < 0.025)


def _caution(law: Law) -> str:
    """Of few degrees of freedom: points that happen to lie on a curve have narrow intervals that miss."""
    if law.dof >= KNOWN_SCATTER:
        return ""
    left = (
        f"{counted(len(law.points.y), 'run')} leave {counted(law.dof, 'degree')} of freedom for their scatter"
    )
    return f" {left}: repeat sizes with other seeds before you rely on a narrow interval."


def _range(low: float, high: float) -> str:
    if not np.isfinite(high):
        return "that these points do not determine"
    ends = f"{low:.3g}", f"{high:.3g}"
    return f"of {ends[0]}" if ends[0] == ends[1] else f"between {ends[0]} and {ends[1]}"


def _straight(law: Law, bend: questions.Bend | str) -> str:
    """Whether the sizes lie on one power law, without a floor or with one."""
    if isinstance(bend, str):
        return f"Cannot tell: {bend}"
    if bend.straight is None and law.unidentified and not _falls(law):
        return "Cannot tell: no fall is seen."
    text = f"{bend.text[0].upper()}{bend.text[1:]}."
    flattens = bend.straight is False and not bend.steepens
    if flattens and "offset" in law.parameters and law.diagnosis.bent is None:
        sure = law.parameter_intervals["offset"][0] > 0
        return f"With a floor, yes. Without one, {'no' if sure else 'probably not'}{text[2:]}"
    return text
