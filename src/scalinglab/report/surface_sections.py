"""The report on runs of several parameters and data sizes: answers, isoFLOP curves, frontier, residuals.

What they show is computed in `surface_numbers`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from scalinglab.answers import Answers
from scalinglab.curves import Curves
from scalinglab.errors import ScalinglabError
from scalinglab.figures.style import INK, PALETTE
from scalinglab.laws.surface import Surface
from scalinglab.report.numbers import parameter_table
from scalinglab.report.page import Plot, Section
from scalinglab.report.plots import band, canvas, finish, label, legend_above, line, points, shades
from scalinglab.report.surface_numbers import (
    backtest,
    frontier,
    isoflops_of,
    minima_of,
    spent,
    whole_powers,
)
from scalinglab.results.findings import paragraph
from scalinglab.results.types import Reason, reason_of
from scalinglab.support.words import count, flops

ENOUGH = 0.8  # share of runs that 95 % intervals hold below which a backtest has failed


def of_runs(
    curves: Curves, found: Answers | Reason | None, best: pd.DataFrame | Reason | None = None
) -> list[Section]:
    """The sections on L(n_params, n_data); none where the table is not of that kind.

    Args:
        found: what the table answers.
        best: the `frontier` of its surface; computed where it is not given.
    """
    if not isinstance(found, Answers) or found.surface is None:
        return []
    unit = curves.data_unit
    sections = [isoflops(found.surface, found.y, unit)]
    best = frontier(found.surface) if best is None else best
    sections += [the_frontier(found.surface, best, found.y, unit), the_backtest(found, unit)]
    return [*sections, the_fit(found.surface, unit)]


def _why(reason: Reason, unit: str) -> str:
    return f"{reason.sentence({'n_params': 'parameters', 'n_data': unit})}."


# --- isoFLOP curves ------------------------------------------------------------------------------------


def isoflops(fitted: Surface, y: str, unit: str) -> Section:
    """Loss against parameters at equal compute, with the minimum of every curve."""
    figure = canvas("n_params", y)
    found = isoflops_of(fitted)
    for each, shade in zip(found, shades([each.compute for each in found]), strict=True):
        name, has_runs = flops(float(f"{each.compute:.2g}")), bool(each.n_params.size)
        if has_runs:
            points(figure, each.n_params, each.loss, name=name, color=shade)
        line(figure, each.sizes, each.fitted, "fit" if has_runs else name, shade, legend=not has_runs)
    text = [
        f"Points are {_points(fitted)}, coloured by the nearest of {len(found)} budgets; lines are the "
        "fitted surface at that compute."
    ]
    best = minima_of(fitted)
    if isinstance(best, Reason):
        text.append(f"No minimum is marked: {_why(best, unit)}")
    else:
        figure.add_scatter(
            x=best.n_params, y=best.loss, mode="markers", name="minimum",
            marker={"symbol": "diamond", "size": 10, "color": INK, "line": {"color": "white", "width": 1}},
            hovertemplate="%{x:.4g} parameters<extra>minimum</extra>",
        )  # fmt: skip
        text.append("Diamonds mark the minimum of each line: the best model if the form holds.")
    return Section(
        "IsoFLOP curves",
        [" ".join(text)],
        [Plot(finish(figure), f"{label(y).capitalize()} at equal compute.")],
    )


# --- the frontier --------------------------------------------------------------------------------------


def the_frontier(fitted: Surface, found: pd.DataFrame | Reason, y: str, unit: str) -> Section:
    """Optimal parameters against compute, with their band, and a table; the card draws the best loss."""
    title = "Compute-optimal frontier"
    if isinstance(found, Reason):
        return Section(title, [f"Not determined: {_why(found, unit)}"])
    table, found = whole_powers(found), found[found["times_below"] <= 1]
    inside = found["times_beyond"] <= 1
    size = canvas("compute", "n_params")
    size.update_yaxes(title_text="optimal parameters")
    band(size, found["compute"], found["n_params_low"], found["n_params_high"], PALETTE[0])
    for part, name, dash in ((inside, "within the runs", "solid"), (~inside, "beyond them", "dash")):
        line(size, found["compute"][part], found["n_params_median"][part], name, PALETTE[0], dash=dash)
    rows = table.to_dict("records")
    shown = pd.DataFrame({
        "compute (FLOPs)": [f"{c:.0e}" for c in table["compute"]],
        "× largest run": [f"{b:.3g}" for b in table["times_beyond"]],
        "parameters": [_range(r, "n_params") for r in rows],
        unit: [_range(r, "n_data") for r in rows],
        f"{unit} per parameter": [f"{r['n_data_median'] / r['n_params_median']:.3g}" for r in rows],
        label(y): [f"{r['loss_median']:.4g} [{r['loss_low']:.4g}, {r['loss_high']:.4g}]" for r in rows],
    })  # fmt: skip
    method = "profile likelihood" if fitted.method == "profile" else "bootstrap over runs"
    text = (
        f"At 6 FLOPs per parameter and {unit.rstrip('s')}. Lines are medians, bands 95 % intervals "
        f"({method}); dashed lines lie beyond the largest run."
    )
    plot = Plot(finish(legend_above(size)), "The compute-optimal number of parameters.")
    return Section(title, [text], [plot], [("Compute-optimal models, with 95 % intervals", shown, table)])


def _points(fitted: Surface) -> str:
    """What the points of a surface are."""
    points = fitted.law.points
    return "checkpoints" if points.blocked or points.checkpoints_of else "runs"


def _range(row: dict[str, float], name: str) -> str:
    low, high = count(row[f"{name}_low"]), count(row[f"{name}_high"])
    return f"{count(row[f'{name}_median'])} [{low}, {high}]"


# --- backtest ------------------------------------------------------------------------------------------


def the_backtest(found: Answers, unit: str) -> Section:
    """Measured against predicted for the runs that were held back."""
    title = "Backtest"
    assert found.surface is not None
    try:
        test = backtest(found.surface)
    except ScalinglabError as error:
        why = _why(reason_of(error), unit)
        return Section(title, [f"The largest runs cannot be predicted from the others: {why}"])
    figure = canvas("compute", found.y)
    order = np.argsort(test.compute)
    figure.add_scatter(
        x=test.compute[order], y=test.predicted[order], mode="markers", name="predicted, 95 %",
        marker={"size": 6, "color": PALETTE[1]},
        error_y={"type": "data", "symmetric": False, "array": (test.high - test.predicted)[order],
                 "arrayminus": (test.predicted - test.low)[order], "width": 0},
    )  # fmt: skip
    points(figure, test.compute, test.measured, name="measured")
    text = (
        f"The {len(test.measured)} points of more than a tenth of the largest compute, predicted by a "
        f"surface fitted to the {test.cheaper} cheaper ones: off by {100 * test.error:.2g} % (root "
        f"mean square); the 95 % intervals contain {100 * test.inside:.0f} % of them."
    )
    if test.inside < ENOUGH:
        text += " That is too few: beyond its runs this surface is less certain than its intervals say."
    return Section(
        title, [text], [Plot(finish(legend_above(figure)), "The largest runs, predicted from cheaper ones.")]
    )


# --- the fit -------------------------------------------------------------------------------------------


def the_fit(fitted: Surface, unit: str) -> Section:
    """Parameters with intervals, what is not determined, and the residuals."""
    law = fitted.law
    n, total = law.points.x[0], spent(fitted)
    figure = canvas("compute", "residual", log_y=False)
    figure.update_yaxes(title_text="measured minus surface / %", zeroline=True, zerolinecolor="#9aa1ad")
    figure.add_scatter(
        x=total, y=100 * law.residuals, mode="markers",
        marker={"size": 7, "color": np.log10(n), "colorscale": "Viridis",
                "line": {"color": "white", "width": 0.5},
                "colorbar": {"title": {"text": "parameters"}, "thickness": 12, **_decades(n)}},
        text=[f"{count(v)} parameters" for v in n], hovertemplate="%{text}: %{y:.2g} %<extra></extra>",
    )  # fmt: skip
    figure.update_layout(showlegend=False)
    lost = fitted.undetermined
    table = parameter_table({**law.parameters, **fitted.quoted}, fitted.parameter_intervals(), lost)
    text = [f"{law.form.equation_of('L')}, N parameters and D {unit}, fitted to {len(law.points.y)} points."]
    text += [paragraph(reason.sentence()) for reason in fitted.others_weigh]
    if lost:
        text.append(f"These runs do not determine {', '.join(lost)}.")
    plot = Plot(finish(figure), "Residuals: if the form holds, they show no trend with compute or size.")
    return Section("The fit", [" ".join(text)], [plot], [("The law", table)])


def _decades(values: np.ndarray) -> dict[str, object]:
    """Ticks of a colour bar in the sizes themselves."""
    ticks = np.linspace(np.log10(values.min()), np.log10(values.max()), 5)
    return {"tickvals": ticks.tolist(), "ticktext": [count(10.0**t) for t in ticks]}
