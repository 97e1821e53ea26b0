"""The report on runs of several parameters and data sizes: answers, isoFLOP curves, frontier, residuals.

What is computed (`isoflop_budgets`, `frontier`, `backtest`) and what is drawn are separate functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab.answers import Answers, answer, count
from scalinglab.curves import Curves
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.figures.style import INK, PALETTE, colors
from scalinglab.laws import surface as surfaces
from scalinglab.laws.fitting.statistics import level_quantile
from scalinglab.laws.optimum import FLOPS_PER_PARAM_EXAMPLE, Optimal
from scalinglab.laws.planning.hoffmann import default_budgets
from scalinglab.laws.surface import Surface
from scalinglab.report.page import Plot, Section
from scalinglab.report.plots import _hex, band, canvas, finish, legend_above, line, points

MOST_BUDGETS = 7  # isoFLOP curves in one figure
ENOUGH = 0.8  # share of runs that 95 % intervals hold below which a backtest has failed
HELD_BACK = 10.0  # the backtest predicts runs of more than a tenth of the largest compute from the others


def is_surface(curves: Curves) -> bool:
    """Whether parameters vary, and with them the data or what each run has seen."""
    frame = curves.frame
    varies = {
        c for c in ("n_params", "n_data", "tokens", "examples") if c in frame and frame[c].nunique() > 1
    }
    return "n_params" in varies and "n_data" in frame and len(varies) > 1 and "norm" not in frame


def of_runs(curves: Curves) -> list[Section]:
    """The sections on L(n_params, n_data); none where the table is not of that kind."""
    if not is_surface(curves):
        return []
    try:
        found = answer(curves)
    except BadInput:
        return []
    if "n_params" not in found.x:
        return []
    said = [s.text for s in found.statements]
    notes = [f"Note: {note}." for note in found.notes]
    sections = [Section("The answers", [*said, *notes])]
    if found.surface is None:
        return sections
    unit = curves.data_unit
    sections.append(isoflops(found.surface, found.y, unit))
    sections.extend(filter(None, [the_frontier(found.surface, found.y, unit), the_backtest(found)]))
    sections.append(the_fit(found.surface))
    return sections


# --- isoFLOP curves ------------------------------------------------------------------------------------


def spent(fitted: Surface) -> np.ndarray:
    """FLOPs of every point."""
    n, d = fitted.law.points.x[:2]
    return np.asarray(FLOPS_PER_PARAM_EXAMPLE * n * d)


def isoflop_budgets(fitted: Surface) -> np.ndarray:
    """The computes of the isoFLOP curves: those of the design where it has few, else spread over the runs."""
    found = default_budgets(spent(fitted))
    if len(found) <= MOST_BUDGETS:
        return found
    return np.geomspace(found[0], found[-1], MOST_BUDGETS)


def isoflops(fitted: Surface, y: str, unit: str) -> Section:
    """Loss against parameters at equal compute, with the minimum of every curve."""
    n, d = fitted.law.points.x[:2]
    budgets, total = isoflop_budgets(fitted), spent(fitted)
    nearest = np.abs(np.log(total[:, None] / budgets)).argmin(axis=1)
    figure = canvas("n_params", y)
    for i, (budget, shade) in enumerate(zip(budgets, map(_hex, colors(budgets)), strict=True)):
        own = nearest == i
        points(figure, n[own], fitted.law.points.y[own], name=f"{budget:.1e} FLOPs", color=shade)
        sizes = np.geomspace(n.min() / 1.5, n.max() * 1.5, 90)
        data = budget / FLOPS_PER_PARAM_EXAMPLE / sizes
        seen = (data > d.min() / 4) & (data < d.max() * 4)
        line(figure, sizes[seen], fitted.predict(sizes[seen], data[seen]), "fit", shade, legend=False)
    said = [
        f"Points are runs, coloured by the nearest of {len(budgets)} computes; lines are the fitted surface "
        "at that compute."
    ]
    try:
        best = fitted.compute_optimal(budgets, intervals=False)
        figure.add_scatter(
            x=best.n_params, y=best.loss, mode="markers", name="minimum",
            marker={"symbol": "diamond", "size": 10, "color": INK, "line": {"color": "white", "width": 1}},
            hovertemplate="%{x:.4g} parameters<extra>minimum</extra>",
        )  # fmt: skip
        said.append("Diamonds mark the minimum of each line, the compute-optimal model.")
    except ScalinglabError as reason:
        said.append(f"No minimum is marked: {reason}.")
    return Section("IsoFLOP curves", [" ".join(said)], [Plot(finish(figure), f"{y} at equal compute")])


# --- the frontier --------------------------------------------------------------------------------------


def frontier(fitted: Surface, beyond: float = 100.0) -> Optimal:
    """The compute-optimal models from the cheapest run to `beyond` times the most expensive one."""
    total = spent(fitted)
    return fitted.compute_optimal(np.geomspace(total.min(), total.max() * beyond, 25))


def the_frontier(fitted: Surface, y: str, unit: str) -> Section:
    """Optimal parameters and loss against compute, with bands, and as a table."""
    title = "Compute-optimal frontier"
    try:
        found = frontier(fitted)
        budgets = 10.0 ** np.arange(
            np.floor(np.log10(spent(fitted).max())), np.ceil(np.log10(found.compute[-1]))
        )
        table = fitted.compute_optimal(budgets).table()
    except ScalinglabError as reason:
        return Section(title, [f"Not determined: {reason}."])
    inside = found.beyond <= 1
    size, loss = canvas("compute", "n_params"), canvas("compute", y)
    size.update_yaxes(title_text="optimal parameters")
    loss.update_yaxes(title_text=f"best {y}")
    for figure, name, color in ((size, "n_params", PALETTE[0]), (loss, "loss", PALETTE[1])):
        low, high = getattr(found, f"{name}_interval")
        value = getattr(found, name)
        band(figure, found.compute, low, high, color)
        line(figure, found.compute[inside], value[inside], "within the runs", color)
        line(figure, found.compute[~inside], value[~inside], "beyond them", color, dash="dash")
    points(loss, spent(fitted), fitted.law.points.y, name="runs", color="#9aa1ad")
    shown = pd.DataFrame({
        "compute (FLOPs)": [f"{c:.0e}" for c in table["compute"]],
        "times the largest run": [f"{b:.3g}" for b in table["times_beyond"]],
        "parameters": [_range(r, "n_params") for r in table.to_dict("records")],
        unit: [_range(r, "n_data") for r in table.to_dict("records")],
        f"{unit} per parameter": [f"{v:.3g}" for v in table["data_per_param"]],
        y: [f"{r['loss']:.4g} [{r['loss_low']:.4g}, {r['loss_high']:.4g}]" for r in table.to_dict("records")],
    })  # fmt: skip
    said = (
        f"With k = 6 FLOPs per parameter and {unit.rstrip('s')}. Bands are 95 % intervals "
        f"({'profile likelihood' if found.method == 'profile' else 'bootstrap over runs'}); dashed lines lie "
        "beyond the largest run."
    )
    plots = [
        Plot(finish(legend_above(size)), "The compute-optimal number of parameters."),
        Plot(finish(legend_above(loss)), f"The best {y} that a compute can reach, over the runs."),
    ]
    return Section(title, [said], plots, [("Compute-optimal models, with 95 % intervals", shown)])


def _range(row: dict[str, float], name: str) -> str:
    return f"{count(row[name])} [{count(row[f'{name}_low'])}, {count(row[f'{name}_high'])}]"


# --- backtest ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Backtest:
    """The most expensive runs, predicted from the cheaper ones.

    Attributes:
        compute, measured, predicted, low, high: of every run that was held back, (runs,).
        cheaper: how many runs the prediction was made from.
    """

    compute: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    low: np.ndarray
    high: np.ndarray
    cheaper: int

    @property
    def error(self) -> float:
        """RMSLE: √mean (ln ŷ − ln y)²."""
        return float(np.sqrt(np.mean(np.log(self.predicted / self.measured) ** 2)))


def backtest(fitted: Surface) -> Backtest:
    """Refit on runs of at most a tenth of the largest compute, and predict the others."""
    data, total = fitted.law.points, spent(fitted)
    late = total > total.max() / HELD_BACK
    n, d = data.x[:2]
    early = surfaces.fit(
        n[~late], d[~late], data.y[~late], form=fitted.law.form, runs=data.runs[~late], seed=fitted.seed
    )
    if early.undetermined:
        raise BadInput(
            f"the {int((~late).sum())} cheaper runs do not determine {', '.join(early.undetermined)}"
        )
    low, high = early.interval(n[late], d[late])
    predicted = np.asarray(early.predict(n[late], d[late]))
    cheaper = len(np.unique(data.runs[~late]))
    # of a single run: its scatter is added in quadrature, in logarithms
    scatter = level_quantile(0.95, early.law.dof) * early.law.residual_std
    down, up = (np.hypot(np.log(end / predicted), scatter) for end in (low, high))
    return Backtest(
        total[late], data.y[late], predicted, predicted * np.exp(-down), predicted * np.exp(up), cheaper
    )


def the_backtest(found: Answers) -> Section:
    """Measured against predicted for the runs that were held back."""
    title = "Backtest"
    assert found.surface is not None
    try:
        test = backtest(found.surface)
    except ScalinglabError as reason:
        return Section(title, [f"The largest runs cannot be predicted from the others: {reason}."])
    figure = canvas("compute", found.y)
    order = np.argsort(test.compute)
    figure.add_scatter(
        x=test.compute[order], y=test.predicted[order], mode="markers", name="predicted, 95 %",
        marker={"size": 6, "color": PALETTE[1]},
        error_y={"type": "data", "symmetric": False, "array": (test.high - test.predicted)[order],
                 "arrayminus": (test.predicted - test.low)[order], "width": 0},
    )  # fmt: skip
    points(figure, test.compute, test.measured, name="measured")
    share = float(np.mean((test.low <= test.measured) & (test.measured <= test.high)))
    said = (
        f"The {len(test.measured)} points of more than a tenth of the largest compute, predicted by a "
        f"surface fitted to the {test.cheaper} cheaper runs alone: off by {100 * test.error:.2g} % (root "
        f"mean square); the 95 % intervals hold {100 * share:.0f} % of them."
    )
    if share < ENOUGH:
        said += " That is too few: beyond its runs this surface is less certain than its intervals say."
    return Section(title, [said], [Plot(finish(legend_above(figure)), "Predicted before, measured after.")])


# --- the fit -------------------------------------------------------------------------------------------


def the_fit(fitted: Surface) -> Section:
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
    rows = [
        (name, "not determined" if name in fitted.undetermined else f"{law.parameters[name]:.4g}",
         f"{low:.4g}", f"{high:.4g}")
        for name, (low, high) in fitted.parameter_intervals().items()
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["parameter", "value", "95 % from", "to"])
    lost = fitted.undetermined
    said = [f"L = {law.form.equation}, N parameters and D data, fitted to {len(law.points.y)} points."]
    if lost:
        said.append(f"These runs do not determine {', '.join(lost)}.")
    plot = Plot(finish(figure), "Residuals: a surface that holds leaves no trend with compute or size.")
    return Section("The fit", [" ".join(said)], [plot], [("The law", table)])


def _decades(values: np.ndarray) -> dict[str, object]:
    """Ticks of a colour bar in the sizes themselves."""
    ticks = np.linspace(np.log10(values.min()), np.log10(values.max()), 5)
    return {"tickvals": ticks.tolist(), "ticktext": [count(10.0**t) for t in ticks]}


__all__ = ["Backtest", "backtest", "frontier", "is_surface", "isoflop_budgets", "of_runs"]
