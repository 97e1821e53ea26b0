"""One answer from a table: `answer(table, compute=None)`.

What a practitioner came for, in sentences with units: the exponent and how sure it is, whether it is a power
law at all, what ten times as much gives, the compute-optimal model, which run to make next and whether it is
worth it. A question that the data do not answer gets the sentence that says why. Every sentence carries the
command that shows more.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab import readers
from scalinglab.curves import Curves
from scalinglab.curves.columns import measure_of
from scalinglab.errors import BadInput, NotDetermined, ScalinglabError
from scalinglab.laws.extrapolation.stacking import Extrapolation, extrapolate
from scalinglab.laws.fitting import fit as fitting
from scalinglab.laws.fitting.data import rising
from scalinglab.laws.fitting.data.from_curves import DATA_SEEN, Table, points_of
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.optimum import FLOPS_PER_PARAM_EXAMPLE, WIDE, Optimal
from scalinglab.laws.planning import questions
from scalinglab.laws.planning.next_runs import NextRuns
from scalinglab.laws.surface import Surface
from scalinglab.laws.surface import fit as fit_surface
from scalinglab.laws.surface_bend import BENT, FEWEST_TO_SHOW_A_BEND
from scalinglab.support.notebook import Shown
from scalinglab.support.words import count, counted, two_digits

if TYPE_CHECKING:
    import pandas as pd

MEASURED = ("loss", "validation_loss", "val_loss", "eval_loss", "accuracy")
UNITS = {"compute": "FLOPs", "n_params": "parameters", "step": "steps", "epoch": "epochs"}
ADD_UP = ("examples", "tokens", "FLOPs", "steps", "epochs")  # costs; sizes of networks are none
SIZES = ("n_data", "n_params", "tokens", "examples", "compute", "width")
FURTHER = 10.0  # how many times beyond the data the answers look
FEWEST_OF_A_CURVE = 3  # sizes, from which on an exponent has an interval
FEWEST = 1e4  # tokens, or parameters with fractions, below which a size may be in a larger unit
OTHER_COUNT = 0.05  # of ln FLOPs, by which a table counts them otherwise


@dataclass(frozen=True)
class Statement:
    """One answer: what it is about, the sentence, and the command that shows more."""

    topic: str
    text: str
    command: str


@dataclass(frozen=True)
class Answers(Shown):
    """What a table says, in sentences; made by `answer`.

    Attributes:
        statements: one a question, in order.
        x, y: the columns that were used; x is "n_params, n_data" for a surface.
        law, surface, extrapolation, optimal, next_runs: the results behind the sentences, where there are.
        notes: what was done to the rows.
    """

    statements: tuple[Statement, ...]
    x: str
    y: str
    law: Law | None = None
    surface: Surface | None = None
    extrapolation: Extrapolation | None = None
    optimal: Optimal | None = None
    next_runs: NextRuns | None = None
    notes: tuple[str, ...] = ()

    def __getitem__(self, topic: str) -> str:
        """The sentence on a topic: read, exponent, power law, ten times, compute-optimal, next run."""
        for statement in self.statements:
            if statement.topic == topic:
                return statement.text
        raise KeyError(topic)

    def summary(self) -> str:
        """The sentences, each followed by the command that shows more."""
        lines = [f"{s.text}\n    {s.command}" for s in self.statements]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def notebook_table(self) -> pd.DataFrame:
        """One row a question."""
        import pandas as pd

        return pd.DataFrame([(s.topic, s.text) for s in self.statements], columns=["question", "answer"])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        document: dict[str, Any] = {
            "x": self.x, "y": self.y, "answers": [vars(s) for s in self.statements], "notes": list(self.notes)
        }  # fmt: skip
        if self.law is not None:
            document["law"] = self.law.to_dict()
        if self.surface is not None:
            document["parameters"] = {
                n: {"value": None if n in self.surface.undetermined else self.surface.parameters[n],
                    "low": low, "high": high}
                for n, (low, high) in self.surface.parameter_intervals().items()
            }  # fmt: skip
        if self.optimal is not None:
            document["compute_optimal"] = self.optimal.table().to_dict("records")
        if self.extrapolation is not None:
            document["extrapolation"] = self.extrapolation.notebook_table().to_dict("records")
        if self.next_runs is not None:
            document["next_runs"] = self.next_runs.notebook_table().to_dict("records")
            document["worth_it"] = self.next_runs.worth_it
        return document


def answer(
    table: Any, compute: float | None = None, *, x: str | None = None, y: str | None = None,
    settings: Iterable[str] = (), **columns: str,
) -> Answers:  # fmt: skip
    """What a table of runs says, in sentences.

    Args:
        table: a `Curves`, a DataFrame, or the path of a table, a store or a folder of logs.
        compute: FLOPs at which the compute-optimal model is wanted; ten times the largest run by default.
        x: the column of sizes; by default n_params and n_data together where both vary.
        y: the column that was measured; by default the test error, test loss or accuracy that the table
            has, as in `scalinglab.laws.fit`.
        settings, columns: as in `scalinglab.read`.

    >>> import numpy as np, pandas as pd
    >>> n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 5), np.geomspace(2e9, 2e11, 5)))
    >>> loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * np.tile([1.001, 0.999, 1.0, 1.001, 0.999], 5)
    >>> found = answer(pd.DataFrame({"n_params": n, "tokens": d, "loss": loss}), compute=1e22)
    >>> found["compute-optimal"].startswith("For 1e+22 FLOPs")
    True
    """
    declared = [*settings]
    given = isinstance(table, Curves) and not columns and not declared
    curves = table if given else readers.read(table, settings=[*declared, *([x] if x else [])], **columns)
    path = os.fspath(table) if isinstance(table, (str, os.PathLike)) else "TABLE.csv"
    place = arguments(path, [f"{ours}={theirs}" for ours, theirs in columns.items()])
    measured = curves.resolve(y) if y else _measured(curves)
    varied = [c for c in SIZES if c in curves.frame and curves.frame[c].nunique() > 1]
    seen = any(name in varied for name in DATA_SEEN)  # a run of one length still sees more data as it goes
    if x is None and "n_params" in varied and ("n_data" in varied or (seen and "n_data" in curves.frame)):
        return _of_surface(curves, measured, compute, place)
    size = curves.resolve(x) if x else next(iter(varied), None)
    if size is None:
        raise BadInput(
            f"no size varies in this table: it has none of {', '.join(SIZES)} with two values or more; name "
            "the column of sizes with x= (--x)"
        )
    return _of_curve(curves, size, measured, place)


def _measured(curves: Curves) -> str:
    for name in (measure_of(curves.frame), *MEASURED):
        if curves.resolve(name) in curves.frame and curves.frame[curves.resolve(name)].notna().any():
            return curves.resolve(name)
    if len(curves.measurement_columns) == 1:
        return str(curves.measurement_columns[0])
    others = ", ".join(curves.measurement_columns) or "nothing"
    raise BadInput(
        f"no column is known to be a loss, an error or an accuracy (measured: {others}): name it with y= "
        "(--y), or say what columns are with --column test_loss=THEIRS"
    )


# --- parameters and data -------------------------------------------------------------------------------


def _of_surface(curves: Curves, y: str, compute: float | None, place: str) -> Answers:
    table, lost = _finite(points_of(curves, ["n_params", "n_data"], y), y)
    n, d = table.x
    unit = curves.data_unit
    spent = FLOPS_PER_PARAM_EXAMPLE * n * d
    target = float(compute) if compute is not None else FURTHER * float(spent.max())
    asked = f"--y {shlex.quote(y)}"
    report, chosen = f"scalinglab report {place}", f"{place} {asked}{' --drop-bad' if lost else ''}"
    more = f"scalinglab laws surface {chosen}"
    said = [Statement(
        "read",
        f"{counted(len(np.unique(table.runs)), 'run')} of {count(n.min())} to {count(n.max())} parameters on "
        f"{count(d.min())} to {count(d.max())} {unit}, {spent.min():.2g} to {spent.max():.2g} FLOPs; "
        f"{y} from {table.y.max():.4g} to {table.y.min():.4g}.{lost}",
        report,
    )]  # fmt: skip
    notes = (*table.notes, *doubts(curves))
    try:
        if rising.rises(spent, table.y):
            raise NotDetermined(f"{y} rises with compute: give a loss or an error, such as 1 - accuracy")
        fitted = fit_surface(n, d, table.y, runs=table.runs)
    except ScalinglabError as reason:
        curve = _longest_curve(table)
        one = f"scalinglab answer {place} {curve} {asked}" if curve else report
        said.append(Statement("exponent", f"Not determined: {_sentence(reason)}", one))
        return Answers(tuple(said), "n_params, n_data", y, notes=notes)
    said.append(Statement("exponent", _exponents(fitted, unit), more))
    said.append(Statement("power law", f"A power law? {_follows(fitted)}", report))
    optimal, runs = None, None
    try:
        optimal = fitted.compute_optimal([float(spent.max()), FURTHER * float(spent.max()), target])
        said.append(Statement("ten times", _ten_times(optimal, y), f"{more} --compute {target:.3g}"))
        said.append(Statement(
            "compute-optimal", _optimal(optimal, 2, unit),
            f"scalinglab plan optimal {chosen} --compute {target:.3g}",
        ))  # fmt: skip
        runs, text = _next(
            lambda: questions.next_runs(fitted, budget=float(spent.max()), compute=target), unit
        )
    except NotDetermined as reason:
        text = "Add runs first, as the sentence above says."
        said.append(Statement("compute-optimal", f"Not determined: {_sentence(reason)}", more))
    budget = f"--budget {spent.max():.2g} --compute {target:.3g}"
    said.append(Statement("next run", text, f"scalinglab plan next {chosen} {budget}"))
    return Answers(tuple(said), "n_params, n_data", y, fitted.law, fitted, None, optimal, runs, notes)


def _longest_curve(table: Table) -> str:
    """The options that choose the curve of most sizes, along one variable with the other held; or none."""
    sizes, found = dict(zip(("n_params", "n_data"), table.x, strict=True)), []
    for x, held in (("n_data", "n_params"), ("n_params", "n_data")):
        for value in np.unique(sizes[held]):
            number = len(np.unique(sizes[x][sizes[held] == value]))
            found.append((number, f"--x {x} --where {held}={value:.10g}"))
    longest, options = max(found, key=lambda each: each[0])
    return options if longest >= FEWEST_OF_A_CURVE else ""


def doubts(curves: Curves) -> list[str]:
    """Notes on sizes and FLOPs that look as if they were counted in another unit."""
    unit = curves.data_unit
    frame = curves.frame.drop_duplicates("run", keep="last")
    n, d = frame["n_params"], frame["n_data"]
    notes = []
    if d.max() < FEWEST if unit == "tokens" else n.max() < FEWEST and (n % 1).any():
        notes.append(
            f"only {count(n.max())} parameters and {count(d.max())} {unit}? Sizes in millions or billions "
            "have the unit in the name of their column, as in 'params (M)' and 'tokens (B)'"
        )
    if "compute" in frame:
        ratio = float((frame["compute"] / (FLOPS_PER_PARAM_EXAMPLE * n * d)).median())
        if abs(np.log(ratio)) > OTHER_COUNT:
            notes.append(
                f"FLOPs are counted here as {FLOPS_PER_PARAM_EXAMPLE:g} · parameters · {unit}; those of the "
                f"table are {ratio:.3g} times as many: laws surface, plan optimal and plan next take "
                f"--flops-per-param-example {ratio * FLOPS_PER_PARAM_EXAMPLE:.3g}"
            )
    return notes


def _exponents(fitted: Surface, unit: str) -> str:
    """α, β and the floor, each with its interval, or in words that it is not determined."""
    ends = fitted.parameter_intervals()
    words = {"alpha": "with parameters as the power", "beta": f"with {unit} as the power"}
    parts = []
    for name, how in words.items():
        if name in fitted.undetermined:
            parts.append(f"{how} {name}, which these runs do not determine")
        else:
            low, high = ends[name]
            parts.append(f"{how} {fitted.parameters[name]:.3f} (95 %: {low:.3f} to {high:.3f})")
    if {*words} <= {*fitted.undetermined}:
        return f"These runs determine neither the exponent of parameters nor that of {unit}."
    low, high = ends["E"]
    if not np.isfinite(high):
        return f"The loss falls {' and '.join(parts)}."
    known = high - low < fitted.parameters["E"]
    floor = (
        f"{fitted.parameters['E']:.3g} (95 %: {low:.3g} to {high:.3g})" if known else f"at most {high:.3g}"
    )
    return f"The loss falls {' and '.join(parts)}, towards a floor of {floor}."


def _follows(fitted: Surface) -> str:
    scatter = 100 * fitted.law.residual_std
    p = fitted.bend_pvalue
    if np.isnan(p):
        return (
            f"Cannot tell: the runs scatter by {scatter:.2g} % around a sum of two power laws; "
            f"fewer than {FEWEST_TO_SHOW_A_BEND} runs, or checkpoints that move together, do not show "
            "whether it bends."
        )
    if p < BENT:
        return (
            f"Not quite: residuals of {scatter:.2g} % bend with size (p = {p:.1g}), which a sum of two power "
            "laws does not; the intervals of loss and sizes below allow for it."
        )
    if p < 0.05:
        return (
            f"Probably: a sum of two power laws follows the runs within {scatter:.2g} %, but a bend is not "
            f"excluded (p = {p:.2g})."
        )
    return (
        f"Yes: a sum of two power laws follows the runs within {scatter:.2g} %, and no bend is seen "
        f"(p = {p:.2g})."
    )


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
    start = f"For {best.compute[i]:.3g} FLOPs{far}: "
    if n_high / n_low > WIDE:
        return f"{start}{count(n_low)} to {count(n_high)} parameters; these runs do not say more."
    per = f"{unit} per parameter"
    return (
        f"{start}{count(n)} parameters (95 %: {count(n_low)} to {count(n_high)}) on {count(d)} "
        f"{unit} ({count(d_low)} to {count(d_high)}), {d / n:.3g} {per} "
        f"({two_digits(d_low / n_high)} to {two_digits(d_high / n_low)})."
    )


# --- one size ------------------------------------------------------------------------------------------


def _of_curve(curves: Curves, x: str, y: str, place: str) -> Answers:
    table, lost = _finite(points_of(curves, x, y), y)
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
    shown = y
    try:
        if rising.is_complement(sizes, values, (x, y)):
            values, shown = 1 - values, f"1 - {y}"
        law = fitting.fit(fitting.automatic(sizes), sizes, values, runs=table.runs, error=table.error)
        said.append(Statement("exponent", _exponent(law, shown, x), f"scalinglab laws fit {asked}"))
        straight = f"A power law? {_straight(table, values, law)}"
        said.append(Statement("power law", straight, f"scalinglab plan bend {asked}"))
        budget, at = float(sizes.max()), FURTHER * float(sizes.max())
        further = extrapolate(sizes, table.y, at=at)
        said.append(Statement(
            "ten times",
            f"Ten times as much, {_sized(at, unit, x)}: {y} = {further.mean[0]:.4g} "
            f"(95 % of runs like these: {further.low[0]:.4g} to {further.high[0]:.4g}).",
            f"scalinglab laws extrapolate {asked} --at {at:g}",
        ))  # fmt: skip
        part = shown != y
        planned, text = _next(
            lambda: questions.next_runs(curves, x=x, y=y, budget=budget, at=at, nan_policy="drop"),
            unit,
            x,
            shown if part else "",
        )
        command = f"scalinglab plan next {asked} --at {at:g} --budget {budget:g}"
        said.append(Statement("next run", text, command))
    except ScalinglabError as reason:
        topic = "exponent" if law is None else "ten times"
        said.append(Statement(topic, f"Not determined: {_sentence(reason)}", f"scalinglab laws fit {asked}"))
    missing = "n_params" if x != "n_params" else "n_data"
    varies = missing in curves.frame and curves.frame[missing].nunique() > 1
    said.append(Statement(
        "compute-optimal",
        f"A compute-optimal model needs runs in which {missing} varies, {'on its own' if varies else 'too'}.",
        "scalinglab plan optimal --help",
    ))  # fmt: skip
    return Answers(tuple(said), x, y, law, extrapolation=further, next_runs=planned, notes=table.notes)


def _exponent(law: Law, y: str, x: str) -> str:
    if law.unidentified:
        return f"The exponent of {y} against {x} is not determined: {law.unidentified}."
    if law.diagnosis.bent is not None:
        return (
            f"No single exponent: {y} bends away from a power law, with or without a floor, near {x} = "
            f"{count(law.diagnosis.break_at)}."
        )
    low, high = law.parameter_intervals["exponent"]
    text = f"{y} falls as the power {law.exponent:.3f} of {x} (95 %: {low:.3f} to {high:.3f})"
    if "offset" in law.parameters:
        floor_low, floor_high = law.parameter_intervals["offset"]
        text += f", towards a floor {_range(floor_low, floor_high)}"
    return f"{text}."


def _range(low: float, high: float) -> str:
    if not np.isfinite(high):
        return "that these points do not determine"
    ends = f"{low:.3g}", f"{high:.3g}"
    return f"of {ends[0]}" if ends[0] == ends[1] else f"between {ends[0]} and {ends[1]}"


def _straight(table: Table, values: np.ndarray, law: Law) -> str:
    """Whether the means of the sizes lie on one power law, without a floor or with one."""
    sizes, which = np.unique(table.x, return_inverse=True)
    means = np.exp(np.bincount(which, np.log(values)) / np.bincount(which))
    try:
        found = questions.still_power_law(sizes, means)
    except BadInput as reason:
        return f"Cannot tell: {_sentence(reason)}"
    text = f"{found.text[0].upper()}{found.text[1:]}."
    if text.startswith("No: it flattens") and "offset" in law.parameters and law.diagnosis.bent is None:
        return f"With a floor, yes. Without one, n{text[1:]}"
    return text


def _finite(table: Table, y: str) -> tuple[Table, str]:
    """The points with a finite y, and the sentence on runs left out: one that diverged has no loss."""
    known = np.isfinite(table.y)
    if known.all():
        return table, ""
    if not known.any():
        raise BadInput(f"no run has a finite {y}: name another column with y= (--y)")
    lost = {*table.runs} - {*table.runs[known]}
    return table.keep(known), f" Left out: {counted(len(lost), 'run')} without a finite {y}."


def arguments(path: str, columns: Iterable[str] = (), where: Iterable[str] = ()) -> str:
    """A file as a command line names it, with the columns and rows that were asked for.

    >>> arguments("runs.csv", ["n_data=train images"])
    "runs.csv --column 'n_data=train images'"
    """
    options = [*(("--column", c) for c in columns), *(("--where", w) for w in where)]
    return shlex.join([path, *(word for option in options for word in option)])


def at_place(found: Answers, place: str) -> Answers:
    """The same answers with the file's name, as of `arguments`, in the commands."""
    named = (replace(s, command=s.command.replace("TABLE.csv", place)) for s in found.statements)
    return replace(found, statements=tuple(named))


# --- words ---------------------------------------------------------------------------------------------


MOST_NAMED = 3  # runs of a plan that a sentence names


def _next(
    plan: Callable[[], NextRuns], unit: str, size: str = "", quantity: str = ""
) -> tuple[NextRuns | None, str]:
    """The next runs and whether they are worth it, or why none can be named.

    Args:
        unit: of the data, or of the one size.
        size: the column of the one size.
        quantity: what is predicted where that is not y itself.
    """
    try:
        found = plan()
    except ScalinglabError as reason:
        return None, f"Next run not determined: {_sentence(reason)}"
    found = replace(found, quantity=quantity)
    if found.unit.startswith("units of"):
        found = replace(found, unit=unit if unit in ADD_UP else "")
    if not len(found.runs):
        return found, f"{found.verdict[0].upper()}{found.verdict[1:]}."
    units = {"n_params": "parameters", "n_data": unit, "x": unit}
    named = []
    for run, seeds in zip(found.runs[:MOST_NAMED], found.seeds, strict=False):
        sizes = " on ".join(
            _sized(float(f"{v:.3g}"), units.get(n, n), size or n)
            for n, v in zip(found.variables, run, strict=True)
        )
        named.append(sizes + (f" ({seeds} seeds)" if seeds > 1 else ""))
    left = len(found.runs) - len(named)
    named += [f"{left} more"] if left else []
    return found, f"Next: {', then '.join(named)}. {found.verdict[0].upper()}{found.verdict[1:]}."


def _sized(value: float, unit: str, name: str) -> str:
    """20M parameters; width 128."""
    said = count(round(value) if value > 10 else value)
    return f"{name} {said}" if unit == name else f"{said} {unit}"


def _sentence(reason: Exception) -> str:
    text = str(reason).strip().rstrip(".")
    return f"{text}."
