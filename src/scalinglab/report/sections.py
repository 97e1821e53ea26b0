"""The sections of the report: figures, tables and sentences of what `numbers`, `answers` and `laws` compute.

Each is a function from curves to a `Section`, or None where the curves do not have what it shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from scalinglab.answers import Answers
from scalinglab.curves import Curves, is_seed
from scalinglab.curves.columns import is_numeric
from scalinglab.errors import BadInput
from scalinglab.figures.data import laws_of_error, laws_of_norm
from scalinglab.figures.style import PALETTE
from scalinglab.laws.learning_curves.collapse import Collapse
from scalinglab.laws.learning_curves.dynamical import Dynamical, dynamical
from scalinglab.report import numbers
from scalinglab.report.numbers import line_column, measures
from scalinglab.report.page import Plot, Section
from scalinglab.report.plots import (
    by_size,
    canvas,
    data_unit,
    finish,
    label,
    legend_above,
    line,
    points,
    styles_in_words,
    worded,
)
from scalinglab.results.findings import paragraph
from scalinglab.results.types import Reason
from scalinglab.support.words import counted as number_of

if TYPE_CHECKING:
    from scalinglab.explanations import Explanation

LISTED = 200  # rows of a table of runs or points


def counted(curves: Curves) -> str:
    """How many runs there are, and checkpoints where runs have several."""
    runs, rows = len(curves.runs), len(curves)
    return number_of(runs, "run") + (f", {number_of(rows, 'checkpoint')}" if rows > runs else "")


def learning_curves(curves: Curves) -> Section | None:
    """Loss and error against training time, one line a size."""
    found = numbers.learning_curves_of(curves)
    if found is None or found.x is None:
        return None
    x, by, shown = found.x, found.by, found.started
    plots = [Plot(by_size(shown, x, y, by), f"{label(y)} against {label(x)}".capitalize()) for y in found.y]
    text = [f"Coloured by {label(by)}." if by != "run" else "", styles_in_words(shown, by)]
    if found.averaged:
        text.insert(0, "Lines are means over seeds, bands one standard error.")
    return Section("Learning curves", [" ".join(filter(None, text))], plots)


def against_norm(curves: Curves) -> Section | None:
    """Test error against the norm of the network, and the norm against time."""
    found = numbers.norm_curves_of(curves)
    if found is None:
        return None
    plots = [
        Plot(
            by_size(found.curves, "norm", "test_error", found.by),
            "Test error against the norm of the network at the same time.",
        )
    ]
    if found.x is not None:
        figure = by_size(found.started, found.x, "norm", found.by)
        plots.append(Plot(figure, "Growth of the norm during training."))
    text = "The same runs against the norm of the network instead of time."
    if found.by == "n_data" and found.curves.frame["n_data"].nunique() > 1:
        text += (
            " Where curves coincide early in training, more data lets a run follow the common curve further."
        )
    return Section("Error against norm", [text], plots)


def runs(curves: Curves, limit: int = LISTED) -> Section:
    """The runs themselves, as text: setting, and the best and last measurement."""
    found = numbers.runs_of(curves)
    text = [f"{counted(curves)}."]
    if found.constant:
        text.append(
            "In all runs: " + ", ".join(f"{label(k)} {worded(k, v)}" for k, v in found.constant.items()) + "."
        )
    if len(found.table) > limit:
        text.append(f"The first {limit} are listed; the CSV has all.")
    if curves.reading:  # without the path: a page may be sent to others
        text.insert(1, f"As read: {curves.reading.contents}.")
    names = {"diverged_at": "diverged at", "n_params": label("n_params"), "n_data": label("n_data")}
    table = found.table.head(limit)
    if len(curves) == len(curves.runs):  # the best, the last and the only checkpoint are one
        table = table.drop(columns=["checkpoints", "best"], errors="ignore")
        names |= {"last": label(found.y or "")}
    elif found.y is not None:
        names |= {"best": f"best {label(found.y)}", "last": f"last {label(found.y)}"}
    for seed in filter(is_seed, table.columns):
        table = table.assign(**{seed: table[seed].astype(str)})  # a name, not an amount
    for size in {"n_params", "n_data"} & set(table.select_dtypes("number")):
        if table[size].min() >= 1000:  # read off a figure, they are not whole; a share of the data is small
            table = table.assign(**{size: table[size].round()})
    return Section("Runs", text, tables=[("", table.rename(columns=names), found.table)])


def the_law(answered: Answers | Reason) -> Section | None:
    """The parameters of a law of one size, which the card draws, and what to know about them."""
    if not isinstance(answered, Answers) or answered.fit is None or answered.fit.surface is not None:
        return None
    fit, law = answered.fit, answered.fit.law
    text = [f"{law.form.equation_of()}."]
    text += [f"Note: {note}." for note in (*fit.chosen.lost, *law.notes)]
    if law.unidentified:
        text.append(f"The exponent is not determined by these points: {law.unidentified}.")
    text += [paragraph(str(reason)) for reason in law.diagnosis.reasons]
    if law.diagnosis.bend.located:  # then these are not the parameters of this curve
        return Section("The law", text)
    table = numbers.parameter_table(law.parameters, law.parameter_intervals, law.undetermined)
    return Section("The law", text, tables=[("The law", table)])


def dynamical_laws(curves: Curves) -> list[Section]:
    """The laws of error against norm and data: the reading, the exponents, the collapse, the power laws."""
    if numbers.size_column(curves) != "n_data" or not {"norm", "test_error"} <= set(curves.frame.columns):
        return []
    try:
        found = dynamical(curves)
    except BadInput as reason:
        return [Section("The laws", [f"No dynamical law can be read off these curves: {reason}."])]
    return [in_words(found), the_collapse(found), the_laws(found)]


def in_words(found: Dynamical) -> Section:
    """The reading of the laws, and their exponents."""
    table = pd.DataFrame(
        [
            (name, e.value, e.stderr, f"{e.low:.3g} … {e.high:.3g}")
            for name, e in numbers.exponents_of(found).items()
        ],
        columns=["exponent", "value", "standard error", "95 % interval"],
    )
    text = [
        *numbers.of_dynamical(found, data_unit()),
        *(paragraph(note) for note in found.notes),
    ]
    return Section("In words", text, tables=[("Exponents", table)])


def the_collapse(found: Dynamical) -> Section:
    """The rescaled curves, and for which sizes they are one."""
    extent = "No three sizes fall on one master curve."
    if found.collapse_from is not None:
        extent = f"The dashed master curve holds {found.collapse.extent(data_unit())}."
    text = f"Each curve is divided by the height of its optimum and by its position along the norm. {extent}"
    caption = "Test error over the smallest, against norm over the curve's position."
    return Section("The collapse", [text], [Plot(collapsed(found.collapse), caption)])


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
                "Norm at the minimum of each curve, and position of its falling part (see γ₂).",
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
    figure = canvas("n_data", "test_error")
    laws = laws_of_error(found)
    points(figure, laws[0].sizes, laws[0].values, found.table["y_optimum_error"], "best of each size")
    for law, dash in zip(laws, ("solid", "dash"), strict=True):
        name = f"{law.name}: −{law.exponent.value:.2f} ± {law.exponent.stderr:.2f}"
        line(figure, law.sizes, law.line, name, dash=dash)
    return finish(legend_above(figure))


def norm_against_data(found: Dynamical) -> go.Figure:
    """Where the curves lie along the norm, with the power laws through it."""
    figure = canvas("n_data", "norm")
    for law, color in zip(laws_of_norm(found), PALETTE, strict=False):
        points(figure, law.sizes, law.values, name=law.name, color=color)
        line(figure, law.sizes, law.line, f"{law.exponent.value:.2f} ± {law.exponent.stderr:.2f}", color)
    return finish(legend_above(figure))


def explained_run(found: Explanation) -> Section:
    """Measured points over the solved curve, and what they say, for a report's opening."""
    figure = canvas("step", "test loss")
    points(figure, found.steps, found.measured)
    good = np.isfinite(found.theory)
    if good.any():
        line(figure, found.steps[good], found.theory[good], "solved from the initial kernel")
        if found.redrawn is not None:
            line(figure, found.steps, found.redrawn, "descent with the kernel on other draws", dash="dot")
        if found.trained_features is not None:
            line(figure, found.steps, found.trained_features, "solved with trained features", dash="dash")
    caption = "Measured test loss and the loss solved from the network's kernel before training."
    plots = [Plot(finish(legend_above(figure)), caption)]
    table = ("Measured and solved loss", found.table())
    return Section("Where is this run?", found.summary().split("\n"), plots, [table])


MOST_ROWS = 2000  # points that a browser draws at once
MOST_VALUES = 30  # of a column that groups or filters
TITLE = "Pick axes and runs"


def pick_axes(curves: Curves) -> Section | None:
    """The last row of every run; None where there are fewer than two columns of numbers to draw."""
    table = rows_of(curves)
    numbers = [c for c in table if is_numeric(table[c]) and table[c].nunique() > 1]
    y = next((c for c in measures(curves) if c in numbers), None)
    likely = (line_column(curves), "compute", "n_data", "n_params", *numbers)
    x = next((c for c in likely if c in numbers), None)
    if x is None or y is None or x == y:
        return None
    groups = [c for c in table if 1 < table[c].nunique() <= MOST_VALUES and c != y]
    kinds = [c for c in groups if not is_numeric(table[c]) and table[c].nunique() < len(table)]
    kinds += [c for c in ("n_params", "n_data") if c in groups and c != x]
    picked: dict[str, Any] = {
        "rows": {c: _plain(table[c]) for c in table}, "numbers": numbers, "groups": groups, "x": x, "y": y,
        "colour": kinds[0] if kinds else "", "names": {c: label(c) for c in table},
    }  # fmt: skip
    return Section(TITLE, explore=picked)


def rows_of(curves: Curves) -> pd.DataFrame:
    """The last checkpoint of every run, at most `MOST_ROWS` of them."""
    last = curves.frame.drop_duplicates("run", keep="last").drop(columns=["run"])
    step = -(-len(last) // MOST_ROWS)
    kept = last.iloc[::step]
    return kept.loc[:, [c for c in kept if kept[c].notna().any() and not str(c).endswith("_stderr")]]


def _plain(column: pd.Series) -> list[Any]:
    if is_numeric(column):
        return [None if v != v or abs(v) == float("inf") else float(f"{v:.6g}") for v in column.astype(float)]
    return [str(v) for v in column]
