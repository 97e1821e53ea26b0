"""Answers from runs of one size: the law of one variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from scalinglab.answers.fitted import Chosen
from scalinglab.answers.result import FURTHER, Answers, find_points, next_run, of_accuracy, unanswered
from scalinglab.curves import PROGRESS
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.laws.extrapolation.stacking import extrapolate
from scalinglab.laws.fitting.law import Law, scatter_caution
from scalinglab.laws.planning import questions
from scalinglab.laws.planning.next_runs import nearer
from scalinglab.laws.planning.questions import Straightness
from scalinglab.results.distributions import Estimate, slope
from scalinglab.results.findings import ADD_UP, Finding
from scalinglab.results.sentences import Column
from scalinglab.results.types import Command, Reason, Status, reason_of

FALLEN = 0.5  # convention: of its highest, a learning rate at the end below which a run is not continued
OF_THE_FIT = ("form", "form_beside_power_law", "form_without_a_floor", "complement")  # notes of `fit` alone
OF_SEARCHES = ("best_recipe", "lowest_recipe", "lowest_of_search", "recipes_alike")  # notes on these
NEEDS_BOTH = Finding("compute-optimal", Status.REFUSED, reasons=(Reason("needs_both_sizes"),))


def answer_curve(chosen: Chosen) -> Answers:
    """The findings on y against the sizes x."""
    (x,), y, table = chosen.x, chosen.y, chosen.table
    asked = ("--x", x, "--y", y)
    best = [NEEDS_BOTH] if x in ("n_params", "compute") else []  # other tables ask for no model
    if any(note.code in OF_SEARCHES for note in table.notes):
        at = FURTHER * float(table.x.max())
        command = Command("plan hyperparameters", "--at", f"{x}={at:g}")
        best = [replace(NEEDS_BOTH, command=command)]
    found = Answers((find_points(chosen),), x, y, notes=table.notes)
    try:
        found = _add_law(found, chosen, asked)
    except ScalinglabError as error:
        usable = (table.y > 0).all() or (table.y < 0).all()
        command = Command("laws fit", *asked, *(() if usable else ("--drop-bad",)))
        return found.plus(unanswered("exponent", error, command), *best)
    try:
        found = _add_prediction(found, chosen, asked)
    except ScalinglabError as error:
        found = found.plus(unanswered("ten times", error, Command("laws fit", *asked)))
    return found.plus(*best)


def _add_law(found: Answers, chosen: Chosen, asked: Sequence[str]) -> Answers:
    """The answers with the exponent, and whether it is a power law."""
    x, law = found.x, (fitted := chosen.fit()).law
    y = f"1 - {found.y}" if law.points.complement else found.y
    notes = tuple(n for n in fitted.notes if n.code not in OF_THE_FIT)
    bend: Straightness | Reason
    try:
        bend = questions.still_power_law(law.points.x, law.points.y)
    except BadInput as error:
        bend = reason_of(error)
    exponent = find_exponent(law, bend, y, x, Command("laws fit", *asked), chosen.measured)
    undetermined = law.undetermined if exponent.status is Status.DETERMINED else law.form.names
    shape = find_shape(law, bend, Command("plan bend", *asked))
    return found.plus(exponent, shape, law=law, fit=fitted, notes=notes, undetermined=undetermined)


def _add_prediction(found: Answers, chosen: Chosen, asked: Sequence[str]) -> Answers:
    """The answers with what ten times as much gives, and the next run."""
    curves = chosen.curves
    x, y, law, table, unit = found.x, found.y, found.law, chosen.table, chosen.units[found.x]
    assert law is not None
    at = FURTHER * float(table.x.max())
    if falling := _falling_rate(chosen):
        return found.plus(unanswered("ten times", falling, Command("laws schedule")))
    further = extrapolate(table.x, table.y, at=nearer(at))
    value = chosen.measured(further.mean[-1], further.low[-1], further.high[-1])
    facts = {"x": x, "at": at, "unit": unit, **of_accuracy(curves, y)}
    tenfold = Finding(
        "ten times", Status.DETERMINED, {y: value}, scatter_caution(law.dof, law.points), facts,
        Command("laws extrapolate", *asked, "--at", f"{at:g}"),
    )  # fmt: skip
    found = found.plus(tenfold, extrapolation=further.only(-1))
    command = Command("plan next", *asked, "--at", f"{at:g}")
    if len(np.unique(table.runs)) == 1 < len(table.y):  # checkpoints: there is no shorter run to add
        return found.plus(unanswered("next run", Reason("one_run"), command))
    try:
        points = law.points
        known = extrapolate(points.x, points.y, at=nearer(at)) if points.complement else further
        planned = questions.next_runs(law, at=at, continued=known)
    except ScalinglabError as error:
        return found.plus(unanswered("next run", error, command, {"x": unit}))
    # sizes of networks do not add up to a cost
    score = y if law.points.complement else of_accuracy(curves, y).get("score")
    quantity = f"1 - {score}" if score else ""
    planned = replace(planned, variables=(x,), unit=unit if unit in ADD_UP else "", quantity=quantity)
    return found.plus(next_run(planned, {x: unit}, command), next_runs=planned)


def _falling_rate(chosen: Chosen) -> Reason | None:
    """Why the curve of one run cannot be continued: its learning rate falls, unlike that of a longer run."""
    (x,), frame = chosen.x, chosen.curves.frame
    if x not in PROGRESS or "current_learning_rate" not in frame or len(np.unique(chosen.table.runs)) > 1:
        return None
    last = float(frame.loc[frame[x].idxmax(), "current_learning_rate"])
    part = last / float(frame["current_learning_rate"].max())
    return Reason("rate_falls", part=part) if part < FALLEN else None


def find_exponent(
    law: Law, bend: Straightness | Reason, y: str, x: str, command: Command,
    measured: Callable[..., Estimate] = Estimate,
) -> Finding:  # fmt: skip
    """The exponent and the floor of a law, or why there is none.

    Args:
        measured: a value of y with its interval, written as the table does (`Chosen.measured`).
    """
    columns = {"y": Column(y), "x": Column(x)}
    refused: Reason | None = None
    if law.diagnosis.bend.located:
        refused = Reason("bends_away", **columns, at=law.diagnosis.bend.place)
    elif isinstance(bend, Straightness) and bend.steepens:
        refused = Reason("falls_faster", **columns)
    elif law.unidentified and not falls(law):
        refused = Reason("no_fall", **columns)
    elif law.unidentified:
        refused = Reason("exponent_open", **columns, because=law.unidentified)
    facts = {"y": y, "along": {"exponent": x}, "floor": "offset"}
    if refused is not None:
        return Finding("exponent", Status.NOT_DETERMINED, {}, (refused,), facts, command)
    made = {"exponent": Estimate, "offset": measured}
    ends = {n: {"low": float(low), "high": float(high)} for n, (low, high) in law.parameter_intervals.items()}
    known = {n: make(float(law.parameters[n]), **ends[n]) for n, make in made.items() if n in law.parameters}
    values = {"exponent": known["exponent"]}
    reasons: tuple[Reason, ...] = ()
    if "offset" not in law.parameters:
        reasons = (Reason("floor_assumed", sizes=law.points.sizes),)
    elif np.isfinite(known["offset"].high):
        values = known
    else:
        reasons = (Reason("floor_open"),)
    return Finding("exponent", Status.DETERMINED, values, reasons, facts, command)


def find_shape(law: Law, bend: Straightness | Reason, command: Command) -> Finding:
    """Whether the sizes lie on one power law, without a floor or with one."""
    if isinstance(bend, Reason):
        verdict, reason = "unknown", bend
    elif law.unidentified and not (bend.steepens or falls(law)):
        verdict, reason = "unknown", Reason("no_fall_seen")
    else:
        verdict = {True: "yes", False: "no", None: "unknown"}[bend.straight]
        reason = bend.reason
        flattens = bend.straight is False and not bend.steepens
        if flattens and "offset" in law.parameters and not law.diagnosis.bend.located:
            sure = law.parameter_intervals["offset"][0] > 0
            verdict = "with a floor" if sure else "perhaps with a floor"
    status = Status.NOT_DETERMINED if verdict == "unknown" else Status.DETERMINED
    return Finding("power law", status, {}, (reason,), {"verdict": verdict}, command)


def falls(law: Law) -> bool:
    """Whether y falls with x at all: by the 95 % interval of the slope of ln y against ln x."""
    return slope(np.log(law.points.x), np.log(law.points.y)).high < 0
