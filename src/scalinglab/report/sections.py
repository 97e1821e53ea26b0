"""What the report says about curves.

Each section is a function from curves to a `Section`, or None where they have nothing to say about it.
"""

from __future__ import annotations

import re

import pandas as pd
import plotly.graph_objects as go

from scalinglab.curves import Curves, is_seed
from scalinglab.curves.columns import MEASURES
from scalinglab.errors import BadInput
from scalinglab.figures.style import PALETTE, through_middle
from scalinglab.laws.learning_curves.collapse_result import Collapse
from scalinglab.laws.learning_curves.dynamical import Dynamical, dynamical
from scalinglab.report import reading
from scalinglab.report.page import Plot, Section
from scalinglab.report.plots import (
    band,
    by_size,
    canvas,
    data_unit,
    finish,
    label,
    legend_above,
    line,
    points,
    styles_in_words,
)
from scalinglab.report.size_law import size_column, size_law_of
from scalinglab.support.words import counted as number_of

# error bars, norms, and what a log keeps of the optimizer and the machine
NOT_MEASURED = re.compile(
    r"^norm(_|$)|_stderr$|^count$|(^|[^a-z])(lr|learning_rate|grad_norm|seconds|runtime|time|memory|nodes)"
    r"([^a-z]|$)"
)
PROGRESS = ("epoch", "step", "time", "examples", "compute")
LISTED = 200  # rows of a table of runs or points


def line_column(curves: Curves) -> str:
    """The column that gives lines their colours: the size, another setting that varies, or the run itself."""
    varied = [c for c in curves.varying_settings if not is_seed(c)]
    return size_column(curves) or next(iter(varied), "run")


def measures(curves: Curves) -> list[str]:
    """What was measured: errors and losses where there are any, else whatever is no norm and no error bar."""
    frame = curves.frame
    others = [c for c in curves.measurement_columns if not NOT_MEASURED.search(c.lower())]
    others.sort(key=lambda c: "loss" not in c and "error" not in c)  # stable: losses first
    known = [c for c in MEASURES if c in frame and frame[c].notna().any()]
    return known or [c for c in others if c not in MEASURES and frame[c].notna().any()]


def counted(curves: Curves) -> str:
    """How many runs and checkpoints there are."""
    return f"{number_of(len(curves.runs), 'run')}, {number_of(len(curves), 'checkpoint')}"


def seed_average(curves: Curves) -> Curves:
    """The mean over seeds, checkpoint by checkpoint; the curves themselves where no two can be averaged."""
    several = [c for c in curves.seed_columns if curves.frame[c].nunique() > 1]
    try:
        return curves.average(several) if several else curves
    except BadInput:  # a seed for every size, or no common checkpoints: each run is a line of its own
        return curves


def learning_curves(curves: Curves) -> Section | None:
    """Loss and error against training time, one line a size."""
    by = line_column(curves)
    x = next((c for c in PROGRESS if c in curves.frame and curves.frame[c].nunique() > 1), None)
    found = measures(curves)[:2]
    if x is None or not found or curves.frame.groupby("run").size().max() < 2:
        return None  # single points of runs are no curves
    mean = seed_average(curves)
    shown = mean.select(**{x: lambda column: column > 0})
    plots = [Plot(by_size(shown, x, y, by), f"{label(y)} against {label(x)}".capitalize()) for y in found]
    said = [f"Colours run with {label(by)}." if by != "run" else "", styles_in_words(shown, by)]
    if mean is not curves:
        said.insert(0, "Lines are means over seeds, bands one standard error.")
    return Section("Learning curves", [" ".join(filter(None, said))], plots)


def against_norm(curves: Curves) -> Section | None:
    """Test error against the norm of the network, and the norm against time."""
    by = line_column(curves)
    if not {"norm", "test_error"} <= set(curves.frame.columns):
        return None
    mean = seed_average(curves)
    x = next((c for c in PROGRESS if c in mean.frame), None)
    plots = [
        Plot(
            by_size(mean, "norm", "test_error", by),
            "Test error against the norm of the network at that time.",
        )
    ]
    if x is not None:
        shown = mean.select(**{x: lambda column: column > 0})
        plots.append(Plot(by_size(shown, x, "norm", by), "How the norm grows while the network trains."))
    text = (
        "Training makes the norm of the network grow. Seen against this norm instead of time, the early "
        "parts of the curves for all data sizes lie on one line; more data lets a run follow it further."
    )
    return Section("Error against norm", [text], plots)


def runs(curves: Curves, limit: int = LISTED) -> Section:
    """The runs themselves, as text: setting, and the best and last measurement."""
    frame = curves.frame
    y = next((c for c in MEASURES if c in frame and frame[c].notna().any()), None)
    names = curves.varying_settings
    constant = {c: frame[c].iloc[0] for c in curves.setting_columns if c not in names}
    groups = frame.groupby("run", sort=False)
    table = groups[names].first() if names else pd.DataFrame(index=groups.size().index)
    table["checkpoints"] = groups.size()
    if y is not None:
        table[f"best {label(y)}"] = groups[y].min()
        table[f"last {label(y)}"] = groups[y].last()
    if "status" in frame:
        table["status"] = groups["status"].last()
    if "diverged_at" in frame:
        table["diverged at"] = groups["diverged_at"].first()
    said = [f"{counted(curves)}."]
    if constant:
        said.append("The same in all: " + ", ".join(f"{k} {v}" for k, v in constant.items()) + ".")
    if len(table) > limit:
        said.append(f"The first {limit} are listed.")
    table = table.reset_index(drop=True).sort_values(names, kind="stable").head(limit)
    return Section("Runs", said, tables=[("", table)])


def size_law(curves: Curves) -> Section | None:
    """The best value of every run against its size, with a power law and its 95 % interval."""
    found = size_law_of(curves)
    if found is None:
        return None
    by, y, table, law = found.size, found.y, found.table, found.law
    title = f"{label(y)} against {label(by)}".capitalize()
    figure = canvas(by, y)
    points(figure, table[by], table["mean"], table["error"], "best of each size")
    if law is None:
        return Section(title, [f"No law was fitted: {found.problem}."], [Plot(finish(figure), title)])
    grid, values, low, high = found.curve()
    band(figure, grid, low, high)
    line(figure, grid, values, f"{law.form.equation}")
    rows = [(name, value, *law.parameter_intervals[name]) for name, value in law.parameters.items()]
    fitted = pd.DataFrame(rows, columns=["parameter", "value", "95 % from", "to"])
    said = ["The best checkpoint of every run, averaged over runs of the same size."]
    if found.lost:
        said.append(f"{found.lost} of {found.runs} runs have no {label(y)} and are left out.")
    if found.diverged:
        said.append(f"{found.diverged} of {found.runs} runs diverged and count with their best checkpoint.")
    if found.others:
        said.append(f"At each size the {', '.join(map(label, found.others))} with the lowest mean counts.")
    if law.unidentified:
        said.append(f"The exponent is not determined by these points: {law.unidentified}.")
    plots = [Plot(finish(legend_above(figure)), f"{title}, with the fitted law and its 95 % interval.")]
    listed = "The points" if len(table) <= LISTED else f"The points, the first {LISTED} of {len(table)}"
    return Section(title, said, plots, [("The law", fitted), (listed, table.head(LISTED))])


def dynamical_laws(curves: Curves) -> list[Section]:
    """The laws of error against norm and data: the reading, the exponents, the collapse, the power laws."""
    if size_column(curves) != "n_data" or not {"norm", "test_error"} <= set(curves.frame.columns):
        return []
    try:
        found = dynamical(curves)
    except BadInput as reason:
        complaint = Section("The laws", [f"No dynamical law can be read off these curves: {reason}."])
        plain = size_law(curves)
        return [complaint, plain] if plain else [complaint]
    return [in_words(found), the_collapse(found), the_laws(found)]


def in_words(found: Dynamical) -> Section:
    """The reading of the laws, and their exponents."""
    rows = [
        ("error against norm, early in training (γ₁)", found.gamma_1),
        ("norm of the optimum against data (γ₂), from the optima", found.gamma_2_optimum),
        ("the same, from the collapse, which uses the best errors", found.gamma_2),
        ("best error against data, by the product (γ₁·γ₂), optima", found.gamma_predicted_optimum),
        ("the same, collapse", found.gamma_predicted),
        ("best error against data, by a direct fit (γ)", found.gamma_measured),
    ]
    table = pd.DataFrame(
        [(name, e.value, e.stderr, f"{e.low:.3g} … {e.high:.3g}") for name, e in rows],
        columns=["exponent", "value", "standard error", "95 % interval"],
    )
    said = [
        *reading.of_dynamical(found, data_unit()),
        *(f"{note[0].upper()}{note[1:]}." for note in found.notes),
    ]
    return Section("In words", said, tables=[("Exponents", table)])


def the_collapse(found: Dynamical) -> Section:
    """The rescaled curves, and for which sizes they are one."""
    held = "No three sizes fall on one master curve."
    if found.collapse_from is not None:
        held = f"The dashed master curve holds {found.collapse.extent(data_unit())}."
    said = f"Each curve divided by the height of its optimum and by its position along the norm. {held}"
    caption = "Test error over the smallest, against norm over the curve's position."
    return Section("The collapse", [said], [Plot(collapsed(found.collapse), caption)])


def the_laws(found: Dynamical) -> Section:
    """The optimum of every size, with the power laws through them."""
    names = {
        "size": label("n_data"), "x_optimum": "optimal norm", "y_optimum": "best error",
        "y_optimum_error": "± error", "elbow": "elbow", "slope": "early slope", "kind": "after the optimum",
    }  # fmt: skip
    optima = found.table[list(names)].rename(columns=names)
    return Section(
        "The laws",
        ["Points are the optima of the curves, with one standard error; lines are fitted power laws."],
        [
            Plot(error_against_data(found), f"The best test error against the number of {label('n_data')}."),
            Plot(
                norm_against_data(found),
                "Where each curve lies along the norm: its minimum, and its falling part (see γ₂).",
            ),
        ],
        [("The optimum of every size", optima)],
    )


def collapsed(master: Collapse) -> go.Figure:
    """Rescaled curves with the master curve, where there is one."""
    frame = master.rescaled.rename(columns={"size": "n_data"})
    columns = {"x": "norm / position of the curve", "y": "error / smallest error"}
    renamed = Curves(frame.rename(columns=columns), settings=["n_data"])
    figure = by_size(renamed, columns["x"], columns["y"], "n_data", mode="markers")
    if master.holds.any():
        line(figure, master.x, master.y, "master curve", dash="dash")
    return finish(figure)


def error_against_data(found: Dynamical) -> go.Figure:
    """Best error against data, with the measured and the predicted power law."""
    sizes, best = found.table["size"], found.table["y_optimum"]
    figure = canvas("n_data", "test_error")
    points(figure, sizes, best, found.table["y_optimum_error"], "best of each size")
    for exponent, name, dash in (
        (found.gamma_measured, "measured", "solid"), (found.gamma_predicted, "γ₁·γ₂", "dash"),
    ):  # fmt: skip
        law = through_middle(sizes, best, -exponent.value)
        line(figure, sizes, law, f"{name}: −{exponent.value:.2f} ± {exponent.stderr:.2f}", dash=dash)
    return finish(legend_above(figure))


def norm_against_data(found: Dynamical) -> go.Figure:
    """Where the curves lie along the norm: their raw minima, and the position that the collapse gives."""
    table = found.table
    kept = table[table["resolved"]]
    figure = canvas("n_data", "norm")
    for rows, column, exponent, name, color in (
        (table, "x_optimum", found.gamma_2_optimum, "minimum", PALETTE[0]),
        (kept, "position", found.gamma_2, "falling part, γ₂", PALETTE[1]),
    ):  # fmt: skip
        points(figure, rows["size"], rows[column], name=name, color=color)
        law = through_middle(rows["size"], rows[column], exponent.value)
        line(figure, rows["size"], law, f"{exponent.value:.2f} ± {exponent.stderr:.2f}", color)
    return finish(legend_above(figure))
